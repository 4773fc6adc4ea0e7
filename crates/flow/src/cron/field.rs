//! The text of a schedule: its fields, and the days they mean.

use super::Schedule;
use crate::source::short;
use jiff::civil::Date;

const MONTHS: [&str; 12] = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

const ALIASES: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// Longer ones are no schedule that anybody wrote.
const WRITTEN_BYTES_MAX: usize = 256;

struct Field {
    what: &'static str,
    least: u32,
    most: u32,
    /// How many different ones there are: Sunday is 0 and 7.
    different: u32,
    names: &'static [&'static str],
    /// After its end it begins again: `22-2` is a range.
    round: bool,
}

const SECOND: Field = Field { what: "seconds", least: 0, most: 59, different: 60, names: &[], round: true };
const MINUTE: Field = Field { what: "minutes", least: 0, most: 59, different: 60, names: &[], round: true };
const HOUR: Field = Field { what: "hours", least: 0, most: 23, different: 24, names: &[], round: true };
const DAY: Field = Field { what: "days of the month", least: 1, most: 31, different: 31, names: &[], round: false };
const MONTH: Field = Field { what: "months", least: 1, most: 12, different: 12, names: &MONTHS, round: true };
const WEEKDAY: Field = Field { what: "days of the week", least: 0, most: 7, different: 7, names: &WEEKDAYS, round: true };

/// Days of the month and of the week. If both are stated, one of them is enough; that is how cron has always read them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Days {
    month: u64,
    /// `L` is bit 0, `L-3` bit 3: so many before the last day.
    before_last: u64,
    /// `15W`: the weekday nearest to it, in the same month.
    nearest: u64,
    /// `LW`: the last day from Monday to Friday.
    last_workday: bool,
    week: u64,
    /// `5#3`: a bit for each week, by weekday.
    nth: [u8; 7],
    /// `5L`: the last one of the month.
    last_of: u64,
    by_month: bool,
    by_week: bool,
}

impl Days {
    pub fn has(&self, date: Date) -> bool {
        match (self.by_month, self.by_week) {
            (false, false) => true,
            (true, false) => self.has_of_month(date),
            (false, true) => self.has_of_week(date),
            (true, true) => self.has_of_month(date) || self.has_of_week(date),
        }
    }

    fn has_of_month(&self, date: Date) -> bool {
        let (day, last) = (i64::from(date.day()), i64::from(date.days_in_month()));
        if self.month & (1 << day) != 0 || self.before_last & (1 << (last - day)) != 0 {
            return true;
        }
        let weekday_of = |other: i64| (weekday(date) as i64 + other - day).rem_euclid(7);
        // A Saturday is replaced by the Friday before it, a Sunday by the Monday after, but never in another month.
        let workday = |wanted: i64| match weekday_of(wanted) {
            6 if wanted == 1 => 3,
            6 => wanted - 1,
            0 if wanted == last => last - 2,
            0 => wanted + 1,
            _ => wanted,
        };
        let is_wanted = |other: &i64| (1..=last).contains(other) && self.nearest & (1 << other) != 0;
        let near = (day - 2..=day + 2).filter(is_wanted).any(|wanted| workday(wanted) == day);
        let last_workday = last - [2, 0, 0, 0, 0, 0, 1][weekday_of(last) as usize];
        near || self.last_workday && day == last_workday
    }

    fn has_of_week(&self, date: Date) -> bool {
        let (day, weekday) = (date.day(), weekday(date));
        let nth = (day - 1) / 7;
        let last = day + 7 > date.days_in_month();
        self.week & (1 << weekday) != 0 || self.nth[weekday] & (1 << nth) != 0 || last && self.last_of & (1 << weekday) != 0
    }
}

fn weekday(date: Date) -> usize {
    date.weekday().to_sunday_zero_offset() as usize
}

pub fn parse(text: &str) -> Result<Schedule, String> {
    let written = text.trim();
    if written.len() > WRITTEN_BYTES_MAX {
        return Err(format!("a schedule has at most {WRITTEN_BYTES_MAX} bytes"));
    }
    let meant = match ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(written)) {
        Some((_, meant)) => meant,
        None if written.starts_with('@') => {
            let known: Vec<&str> = ALIASES.iter().map(|(alias, _)| *alias).collect();
            return Err(format!("`{}` is none of {}", short(written), known.join(", ")));
        }
        None => written,
    };
    let fields: Vec<&str> = meant.split_ascii_whitespace().collect();
    let (second, rest) = match fields.len() {
        5 => ("0", &fields[..]),
        6 => (fields[0], &fields[1..]),
        count => {
            return Err(format!(
                "a schedule has five fields (minute, hour, day of the month, month, day of the week) or six with seconds first; this has {count}"
            ));
        }
    };
    let mut days = Days::default();
    days.of_month(rest[2])?;
    days.of_week(rest[4])?;
    Ok(Schedule {
        written: written.into(),
        seconds: SECOND.bits(second)?,
        minutes: MINUTE.bits(rest[0])?,
        hours: HOUR.bits(rest[1])?,
        months: MONTH.bits(rest[3])?,
        days,
    })
}

impl Days {
    fn of_month(&mut self, field: &str) -> Result<(), String> {
        for item in field.split(',') {
            let upper = item.to_ascii_uppercase();
            if upper == "L" {
                self.before_last |= 1;
            } else if upper == "LW" || upper == "WL" {
                self.last_workday = true;
            } else if let Some(before) = upper.strip_prefix("L-") {
                let before = before.parse::<u32>().ok().filter(|before| (1..=30).contains(before));
                self.before_last |= 1 << before.ok_or_else(|| DAY.wrong(item, "L-1 to L-30 is expected"))?;
            } else if let Some(near) = upper.strip_suffix('W') {
                self.nearest |= 1 << DAY.number(near).map_err(|_| DAY.wrong(item, "a day such as 15W is expected"))?;
            } else {
                self.month |= DAY.item(item)?;
            }
        }
        self.by_month = self.month != DAY.all();
        Ok(())
    }

    fn of_week(&mut self, field: &str) -> Result<(), String> {
        for item in field.split(',') {
            let upper = item.to_ascii_uppercase();
            if let Some((day, nth)) = upper.split_once('#') {
                let day = WEEKDAY.number(day)? % 7;
                let nth = nth.parse::<u32>().ok().filter(|nth| (1..=5).contains(nth));
                let nth = nth.ok_or_else(|| WEEKDAY.wrong(item, "#1 to #5 is expected"))?;
                self.nth[day as usize] |= 1 << (nth - 1);
            } else if let Some(day) = upper.strip_suffix('L').filter(|day| !day.is_empty()) {
                self.last_of |= 1 << (WEEKDAY.number(day)? % 7);
            } else {
                self.week |= WEEKDAY.item(item)?;
            }
        }
        self.by_week = self.week != WEEKDAY.all();
        Ok(())
    }
}

impl Field {
    fn all(&self) -> u64 {
        (self.least..self.least + self.different).fold(0, |bits, number| bits | 1 << number)
    }

    fn wrong(&self, item: &str, expected: &str) -> String {
        format!("`{}` in the {}: {expected}", short(item), self.what)
    }

    fn bits(&self, field: &str) -> Result<u64, String> {
        field.split(',').try_fold(0, |bits, item| Ok(bits | self.item(item)?))
    }

    /// `*`, `5`, `1-5`, any of them with a step: `*/15`, `10/20`, `8-18/2`.
    fn item(&self, item: &str) -> Result<u64, String> {
        let (range, step) = match item.split_once('/') {
            None => (item, None),
            Some((range, step)) => {
                let step = step.parse::<u32>().ok().filter(|step| (1..=self.most).contains(step));
                let expected = format!("a step is a number from 1 to {}", self.most);
                (range, Some(step.ok_or_else(|| self.wrong(item, &expected))?))
            }
        };
        let end = self.least + self.different - 1;
        let (from, to) = match range.split_once('-') {
            _ if range == "*" || range == "?" => (self.least, end),
            Some((from, to)) => (self.number(from)?, self.number(to)?),
            None => {
                let number = self.number(range)?;
                (number, if step.is_some() { end.max(number) } else { number })
            }
        };
        if from > to && !self.round {
            return Err(self.wrong(item, "a range goes from the lower to the higher"));
        }
        let ahead = if from <= to { to - from } else { to + self.different - from };
        let number = |ahead: u32| self.least + (from - self.least + ahead) % self.different;
        Ok((0..=ahead).step_by(step.unwrap_or(1) as usize).fold(0, |bits, ahead| bits | 1 << number(ahead)))
    }

    fn number(&self, text: &str) -> Result<u32, String> {
        let named = self.names.iter().position(|name| name.eq_ignore_ascii_case(text)).map(|at| at as u32 + self.least);
        let digits = !text.is_empty() && text.len() <= 3 && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = named.or_else(|| text.parse().ok().filter(|_| digits));
        number.filter(|number| (self.least..=self.most).contains(number)).ok_or_else(|| {
            let names = match self.names {
                [first, .., last] => format!(" or a name from {first} to {last}"),
                _ => String::new(),
            };
            self.wrong(text, &format!("a number from {} to {}{names} is expected", self.least, self.most))
        })
    }
}
