//! Instants as texts of RFC 3339, such as `2027-01-31T09:00:00+01:00`.

/// Milliseconds since the Unix epoch, a fraction of one rounded up: nobody is woken early. `None`: no instant, or no day
/// of the calendar.
pub fn parse_ms(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let number = |from: usize, digits: usize| -> Option<i64> {
        let digits = bytes.get(from..from + digits)?;
        digits.iter().try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0')))
    };
    let mark = |at: usize, marks: &[u8]| bytes.get(at).filter(|byte| marks.contains(byte)).map(|_| ());
    let (year, month, day) = (number(0, 4)?, number(5, 2)?, number(8, 2)?);
    let (hour, minute, second) = (number(11, 2)?, number(14, 2)?, number(17, 2)?);
    for (at, marks) in [(4, "-"), (7, "-"), (10, "Tt "), (13, ":"), (16, ":")] {
        mark(at, marks.as_bytes())?;
    }
    let lawful = (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day);
    // A leap second is the second after it.
    if !lawful || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut at = 19;
    let mut fraction_ms = 0;
    if bytes.get(at) == Some(&b'.') {
        let digits = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=9).contains(&digits) {
            return None;
        }
        let billionths = number(at + 1, digits)? * 10_i64.pow(9 - digits as u32);
        fraction_ms = (billionths + 999_999) / 1_000_000;
        at += 1 + digits;
    }
    let (offset_minutes, end) = match bytes.get(at)? {
        b'Z' | b'z' => (0, at + 1),
        sign @ (b'+' | b'-') => {
            mark(at + 3, b":")?;
            let (hours, minutes) = (number(at + 1, 2)?, number(at + 4, 2)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            let minutes = hours * 60 + minutes;
            (if *sign == b'-' { -minutes } else { minutes }, at + 6)
        }
        _ => return None,
    };
    let seconds = days_before(year, month, day) * 86_400 + hour * 3_600 + (minute - offset_minutes) * 60 + second;
    (end == bytes.len()).then_some(seconds * 1_000 + fraction_ms)
}

/// In UTC, always with six digits after the second, so that texts sort as the instants do.
pub fn show(us: i64) -> String {
    let (seconds, fraction) = (us.div_euclid(1_000_000), us.rem_euclid(1_000_000));
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // As in `days_before`: eras of 400 years, that begin in March.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    let year = era * 400 + year;
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:06}Z")
}

fn days_of(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date. Years begin in March here, so that the leap day is a year's last.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = (153 * month + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + days - 719_468
}

#[cfg(test)]
mod tests {
    use super::{parse_ms, show};

    #[test]
    fn an_instant_is_shown_as_it_is_read() {
        assert_eq!(show(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(show(951_825_600_500_001), "2000-02-29T12:00:00.500001Z");
        for day in (-719_000_i64..2_900_000).step_by(13) {
            let ms = day * 86_400_000 + day.rem_euclid(86_400_000);
            assert_eq!(parse_ms(&show(ms * 1_000)), Some(ms), "{}", show(ms * 1_000));
        }
    }

    #[test]
    fn instants_are_milliseconds() {
        for (text, ms) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("1970-01-01t00:00:00.0000001z", Some(1)),
            ("1969-12-31 23:59:59Z", Some(-1_000)),
            ("2000-02-29T12:00:00.5Z", Some(951_825_600_500)),
            ("2027-01-31T09:00:00Z", Some(1_801_386_000_000)),
            ("2027-01-31T09:00:00+01:00", Some(1_801_382_400_000)),
            ("2027-01-31T09:00:00-05:30", Some(1_801_405_800_000)),
            ("2016-12-31T23:59:60Z", Some(1_483_228_800_000)),
            ("0000-03-01T00:00:00Z", Some(-62_162_035_200_000)),
            ("9999-12-31T23:59:59Z", Some(253_402_300_799_000)),
            ("2026-02-29T00:00:00Z", None),
            ("1900-02-29T00:00:00Z", None),
            ("2026-13-01T00:00:00Z", None),
            ("2026-01-00T00:00:00Z", None),
            ("2026-01-01T24:00:00Z", None),
            ("2026-01-01T00:00:00", None),
            ("2026-01-01T00:00:00Zulu", None),
            ("2026-01-01T00:00:00.Z", None),
            ("2026-01-01T00:00:00+1:00", None),
            ("2026-01-01T00:00:00+24:00", None),
            ("2026-01-01", None),
            ("ä", None),
            ("", None),
        ] {
            assert_eq!(parse_ms(text), ms, "{text}");
        }
    }
}
