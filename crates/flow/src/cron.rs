//! Cron schedules: five fields, or six with seconds first, in a time zone. A slot is an instant at which a schedule fires; slots are
//! whole seconds, and follow from the schedule and the zone alone.
//!
//! Where clocks are changed, what people mean by a schedule depends on its hours:
//! - One that names hours (`30 2 * * *`, `0 */2 * * *`) follows the clock on the wall. Slots in an hour that is skipped fire once,
//!   all of them together, at the first instant after the gap; in an hour that comes twice they fire the first time only.
//! - One for every hour (`*/15 * * * *`) follows time as it passes: no slot is missed and none is made up for, and an hour that
//!   comes twice has its slots both times.

mod field;
#[cfg(test)]
mod tests;

use field::Days;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};
use kernel::time::Time;

const DAY_S: i64 = 86_400;
/// No schedule is looked for any further: a 29 February on a given weekday comes at least every 40 years.
const HORIZON_S: i64 = 50 * 366 * DAY_S;
const HOURS_ALL: u64 = (1 << 24) - 1;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    written: Box<str>,
    /// A bit for each that it fires at.
    seconds: u64,
    minutes: u64,
    hours: u64,
    months: u64,
    days: Days,
}

/// Where a schedule is read.
#[derive(Clone, PartialEq, Debug)]
pub struct Zone {
    name: Box<str>,
    zone: TimeZone,
}

impl Zone {
    /// A name such as `Europe/Berlin`; `None` for one that is not known.
    pub fn parse(name: &str) -> Option<Zone> {
        let zone = TimeZoneDatabase::bundled().get(name).ok()?;
        Some(Zone { name: zone.iana_name().unwrap_or(name).into(), zone })
    }

    pub fn utc() -> Zone {
        Zone { name: "UTC".into(), zone: TimeZone::UTC }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// All that are known.
    pub fn names() -> impl Iterator<Item = String> {
        TimeZoneDatabase::bundled().available().map(|name| name.to_string()).collect::<Vec<_>>().into_iter()
    }

    fn offset_s(&self, at_s: i64) -> i64 {
        Timestamp::from_second(at_s).map_or(0, |at| i64::from(self.zone.to_offset(at).seconds()))
    }

    /// The last change of clocks until an instant, that one included.
    fn change_until(&self, at_s: i64) -> Option<i64> {
        let after = Timestamp::from_second(at_s + 1).ok()?;
        self.zone.preceding(after).next().map(|change| change.timestamp().as_second())
    }

    fn change_after(&self, at_s: i64) -> Option<i64> {
        let at = Timestamp::from_second(at_s).ok()?;
        self.zone.following(at).next().map(|change| change.timestamp().as_second())
    }
}

/// Slots of a stretch of time, oldest first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Slots {
    pub newest: Vec<Time>,
    /// There were more before them.
    pub more: bool,
}

impl Schedule {
    pub fn parse(text: &str) -> Result<Schedule, String> {
        let schedule = field::parse(text)?;
        let start = Time::from_ms(946_684_800_000);
        match schedule.next_after(start, &Zone::utc()) {
            Some(_) => Ok(schedule),
            None => Err(format!("`{text}` never fires: there is no such day")),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// The next slot after an instant; `None` only where time ends.
    pub fn next_after(&self, after: Time, zone: &Zone) -> Option<Time> {
        let mut start = after.us().div_euclid(1_000_000) + 1;
        let horizon = start.checked_add(HORIZON_S)?;
        let by_wall = self.hours != HOURS_ALL;
        // From one change of clocks to the next, what the wall shows is what has passed and something.
        while start < horizon {
            let offset = zone.offset_s(start);
            let mut from = start + offset;
            if let Some(change) = zone.change_until(start).filter(|_| by_wall) {
                let was = zone.offset_s(change - 1);
                if change == start && self.wall_slot(start + was, from).is_some() {
                    return Some(instant(start));
                }
                // What the wall has shown before the change it shows a second time.
                from = from.max(change + was);
            }
            let end = zone.change_after(start).unwrap_or(horizon).min(horizon);
            if let Some(slot) = self.wall_slot(from, end + offset) {
                return Some(instant(slot - offset));
            }
            start = end;
        }
        None
    }

    /// The last slot after one instant and until another, that one included.
    pub fn latest_between(&self, after: Time, until: Time, zone: &Zone) -> Option<Time> {
        let comes = |after: i64| self.next_after(instant(after), zone).filter(|slot| *slot <= until);
        let (mut before, mut past) = (after.us().div_euclid(1_000_000), until.us().div_euclid(1_000_000));
        let mut latest = comes(before)?;
        while before + 1 < past {
            let middle = before + (past - before) / 2;
            match comes(middle) {
                Some(slot) => (latest, before) = (slot, slot.us() / 1_000_000),
                None => past = middle,
            }
        }
        Some(latest)
    }

    /// The newest slots after one instant and until another, that one included; at most so many.
    pub fn slots_between(&self, after: Time, until: Time, zone: &Zone, most: usize) -> Slots {
        let next = |slot: Time| self.next_after(slot, zone).filter(|slot| *slot <= until);
        let first: Vec<Time> = std::iter::successors(next(after), |slot| next(*slot)).take(most.saturating_add(1)).collect();
        if first.len() <= most {
            return Slots { newest: first, more: false };
        }
        let before = |slot: Time| self.latest_between(after, slot.plus_us(-1_000_000), zone);
        let latest = self.latest_between(after, until, zone);
        let mut newest: Vec<Time> = std::iter::successors(latest, |slot| before(*slot)).take(most).collect();
        newest.reverse();
        Slots { newest, more: true }
    }

    /// The first slot in a stretch of what the wall shows, both in seconds as if it were UTC.
    fn wall_slot(&self, from: i64, to: i64) -> Option<i64> {
        let mut date = wall_date(from)?;
        let mut second = from.rem_euclid(DAY_S);
        loop {
            let midnight = day_start(date)?;
            if midnight >= to {
                return None;
            }
            if self.months & (1 << date.month()) == 0 {
                date = date.first_of_month().checked_add(jiff::Span::new().months(1)).ok()?;
                second = 0;
                continue;
            }
            let found = if self.days.has(date) { self.second_of_day(second) } else { None };
            if let Some(found) = found {
                return Some(midnight + found).filter(|slot| *slot < to);
            }
            date = date.tomorrow().ok()?;
            second = 0;
        }
    }

    /// The first second of a day, from one on, at which it fires.
    fn second_of_day(&self, from: i64) -> Option<i64> {
        let (hour, minute, second) = (from / 3_600, from / 60 % 60, from % 60);
        let later = |hour: i64, minute: i64| {
            let second = next_bit(self.seconds, 0)?;
            Some(hour * 3_600 + minute * 60 + second)
        };
        if self.hours & (1 << hour) != 0 {
            if self.minutes & (1 << minute) != 0
                && let Some(second) = next_bit(self.seconds, second)
            {
                return Some(hour * 3_600 + minute * 60 + second);
            }
            if let Some(minute) = next_bit(self.minutes, minute + 1) {
                return later(hour, minute);
            }
        }
        later(next_bit(self.hours, hour + 1)?, next_bit(self.minutes, 0)?)
    }
}

/// How late a slot fires: the same for the same name and slot, spread evenly up to `jitter_ms`.
pub fn jitter_ms(name: &str, slot: Time, jitter_ms: u64) -> u64 {
    // FNV-1a, and a last stir so that neighbours lie apart.
    let bytes = name.bytes().chain(slot.us().to_be_bytes());
    let mut hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    ((u128::from(hash) * (u128::from(jitter_ms) + 1)) >> 64) as u64
}

fn instant(at_s: i64) -> Time {
    Time::from_us(at_s.saturating_mul(1_000_000))
}

fn next_bit(bits: u64, from: i64) -> Option<i64> {
    let left = if from < 64 { bits >> from } else { 0 };
    (left != 0).then(|| from + i64::from(left.trailing_zeros()))
}

fn wall_date(wall_s: i64) -> Option<Date> {
    Timestamp::from_second(wall_s).ok().map(|at| Offset::UTC.to_datetime(at).date())
}

fn day_start(date: Date) -> Option<i64> {
    Offset::UTC.to_timestamp(date.at(0, 0, 0, 0)).ok().map(|at| at.as_second())
}
