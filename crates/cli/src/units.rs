//! Durations, rates and ages, as people write and read them.

use doors::wire::{Instant, Rate};
use kernel::time::Time;
use std::time::SystemTime;

const UNITS_MS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// `500ms`, `10s`, `5m`, `2h`, `3d`, and sums such as `1h30m`.
pub fn parse_duration_ms(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a duration such as 500ms, 10s, 5m, 2h or 3d");
    let mut rest = text.trim();
    let mut total_ms: u64 = 0;
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let count: u64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (_, unit_ms) = UNITS_MS.into_iter().find(|(unit, _)| *unit == &rest[..letters]).ok_or_else(wrong)?;
        rest = &rest[letters..];
        total_ms = count.checked_mul(unit_ms).and_then(|ms| total_ms.checked_add(ms)).ok_or_else(wrong)?;
    }
    Ok(total_ms)
}

/// From when on.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Since {
    AgoMs(u64),
    At(Instant),
}

impl Since {
    pub fn at(self) -> Instant {
        match self {
            Since::At(at) => at,
            Since::AgoMs(ms) => {
                let us = i64::try_from(ms.saturating_mul(1_000)).unwrap_or(i64::MAX);
                Instant(Time::from_us(now().0.us().saturating_sub(us).max(0)))
            }
        }
    }
}

/// A number below this, the year 1973, is hardly meant as milliseconds since 1970.
const SINCE_MS_MIN: u64 = 100_000_000_000;

/// A while ago such as `30m` or `-30m`, an instant, or milliseconds since 1970; 0 is all there is.
pub fn parse_since(text: &str) -> Result<Since, String> {
    if let Ok(ms) = parse_duration_ms(text.strip_prefix('-').unwrap_or(text)) {
        return Ok(Since::AgoMs(ms));
    }
    match text.parse::<i64>() {
        Ok(0) => return Ok(Since::At(Instant(Time::ZERO))),
        Ok(ms) if ms.unsigned_abs() < SINCE_MS_MIN => {
            let ago = ms.unsigned_abs();
            return Err(format!("`{text}` is a number without a unit: write {ago}s, {ago}m or {ago}h for a while ago"));
        }
        Ok(ms) if ms > 0 => return Ok(Since::At(Instant(Time::from_ms(ms)))),
        _ => {}
    }
    text.parse::<Instant>()
        .map(Since::At)
        .map_err(|why| format!("{why}, nor a while ago such as 30m, nor milliseconds since 1970"))
}

/// `100/s`, `10/m`, `5/10s`, with a burst `100/s:20`.
pub fn parse_rate(text: &str) -> Result<Rate, String> {
    let wrong = || format!("`{text}` is not a rate such as 100/s, 10/m or 100/s:20 (burst)");
    let (rate, burst) = text.split_once(':').unwrap_or((text, "1"));
    let (count, per) = rate.split_once('/').ok_or_else(wrong)?;
    let per = if per.starts_with(|c: char| c.is_ascii_digit()) { per.to_owned() } else { format!("1{per}") };
    let rate = Rate {
        count: count.parse().map_err(|_| wrong())?,
        per_ms: parse_duration_ms(&per).map_err(|_| wrong())?,
        burst: burst.parse().map_err(|_| wrong())?,
    };
    kernel::rate::Rate::from(rate).check().map_err(|why| format!("`{text}`: {why}"))?;
    Ok(rate)
}

/// A rate of whole tasks per second: `50`, `50/s`, `600/m`.
pub fn parse_per_second(text: &str) -> Result<u32, String> {
    let wrong = || format!("`{text}` is not a whole number of tasks a second, such as 50/s or 600/m; 1/s is the slowest");
    let rate = if text.contains('/') {
        parse_rate(text).map_err(|_| wrong())?
    } else {
        parse_rate(&format!("{text}/s")).map_err(|_| wrong())?
    };
    let per_s = u64::from(rate.count) * 1_000 / rate.per_ms;
    if rate.burst != 1 || per_s == 0 || per_s * rate.per_ms != u64::from(rate.count) * 1_000 {
        return Err(wrong());
    }
    u32::try_from(per_s).map_err(|_| wrong())
}

pub fn show_rate(rate: Rate) -> String {
    let per = match UNITS_MS.into_iter().find(|(_, unit_ms)| *unit_ms == rate.per_ms) {
        Some((unit, _)) => unit.to_owned(),
        None => show_exact_ms(rate.per_ms),
    };
    let burst = if rate.burst == 1 { String::new() } else { format!(":{}", rate.burst) };
    format!("{}/{per}{burst}", rate.count)
}

/// As it would be typed: `1h30m`.
pub fn show_exact_ms(ms: u64) -> String {
    if ms == 0 {
        return "0s".into();
    }
    let mut rest_ms = ms;
    let mut text = String::new();
    for (unit, unit_ms) in UNITS_MS.into_iter().rev() {
        let count = rest_ms / unit_ms;
        rest_ms %= unit_ms;
        if count > 0 {
            text.push_str(&format!("{count}{unit}"));
        }
    }
    text
}

/// About how long, rounded: `420 ms`, `3.2 s`, `5 min`, `2 h 5 min`, `3 d`.
pub fn show_about_ms(ms: u64) -> String {
    kernel::time::span(ms)
}

/// How long it is from one to the other.
pub fn show_between(from: Instant, to: Instant) -> String {
    show_about_ms(from.ms_until(to).max(0).unsigned_abs())
}

/// A place on a time line, to the millisecond: `0.420`, `5:12.345`, `2:05:12.345`.
pub fn show_offset(from: Instant, to: Instant) -> String {
    let ms = from.ms_until(to).max(0).unsigned_abs();
    let (s, rest) = (ms / 1_000, ms % 1_000);
    match s {
        0..60 => format!("{s}.{rest:03}"),
        60..3_600 => format!("{}:{:02}.{rest:03}", s / 60, s % 60),
        _ => format!("{}:{:02}:{:02}.{rest:03}", s / 3_600, s / 60 % 60, s % 60),
    }
}

/// `3 min ago`, `in 5 min`, `now`.
pub fn show_age(at: Instant, now: Instant) -> String {
    match at.ms_until(now) {
        ms if ms >= 1_000 => format!("{} ago", show_about_ms(ms.unsigned_abs())),
        ms if ms <= -1_000 => format!("in {}", show_about_ms(ms.unsigned_abs())),
        _ => "now".into(),
    }
}

pub fn now() -> Instant {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Instant(Time::from_us(i64::try_from(since.as_micros()).unwrap_or(i64::MAX)))
}

/// `1 task`, `2 tasks`.
pub fn count_of(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// `9,998`
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// `1 was`, `2 were`.
pub fn were(count: u64) -> String {
    format!("{count} {}", if count == 1 { "was" } else { "were" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_shown_as_typed() {
        for (text, ms, shown) in [
            ("500ms", 500, "500ms"),
            ("10s", 10_000, "10s"),
            ("90s", 90_000, "1m30s"),
            ("5m", 300_000, "5m"),
            ("2h", 7_200_000, "2h"),
            ("3d", 259_200_000, "3d"),
            ("1h30m", 5_400_000, "1h30m"),
            ("0s", 0, "0s"),
        ] {
            assert_eq!(parse_duration_ms(text), Ok(ms));
            assert_eq!(show_exact_ms(ms), shown);
        }
        for text in ["", "5", "m", "5 m", "5x", "-5s", "1.5h", "5m5", "99999999999999999999s", "300000000000000d", "5µs"] {
            assert!(parse_duration_ms(text).is_err(), "{text}");
        }
    }

    #[test]
    fn when_is_a_while_ago_or_an_instant_and_no_bare_number() {
        let at = |ms| Ok(Since::At(Instant(Time::from_ms(ms))));
        for (text, expected) in [
            ("30m", Ok(Since::AgoMs(1_800_000))),
            ("-1h", Ok(Since::AgoMs(3_600_000))),
            ("1794733020250", at(1_794_733_020_250)),
            ("2026-11-15T08:57:00.25Z", at(1_794_733_020_250)),
            ("0", at(0)),
            ("10", Err("write 10s, 10m or 10h")),
            ("-10", Err("write 10s, 10m or 10h")),
            ("1794733020", Err("without a unit")),
            ("-1794733020250", Err("is not a time")),
            ("yesterday", Err("nor a while ago such as 30m")),
            ("", Err("is not a time")),
        ] {
            match (parse_since(text), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{text}"),
                (Err(why), Err(part)) => assert!(why.contains(part), "{text}: {why}"),
                (found, expected) => panic!("{text}: {found:?} {expected:?}"),
            }
        }
    }

    #[test]
    fn rates_are_read_and_shown() {
        for (text, count, per_ms, burst) in [
            ("100/s", 100, 1_000, 1),
            ("10/m", 10, 60_000, 1),
            ("5/10s", 5, 10_000, 1),
            ("100/s:20", 100, 1_000, 20),
            ("1/h", 1, 3_600_000, 1),
        ] {
            let rate = Rate { count, per_ms, burst };
            assert_eq!(parse_rate(text), Ok(rate));
            assert_eq!(show_rate(rate), text);
        }
        for text in ["", "100", "/s", "100/", "0/s", "1/s:0", "1/0s", "x/s", "1/s:", "-1/s", "1/y"] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
        for (text, per_s) in
            [("50", Some(50)), ("50/s", Some(50)), ("600/m", Some(10)), ("1/m", None), ("50/s:2", None), ("0", None), ("x", None)]
        {
            assert_eq!(parse_per_second(text).ok(), per_s, "{text}");
        }
    }

    #[test]
    fn offsets_are_exact_and_line_up() {
        let start = Instant(Time::from_ms(1_000_000_000));
        for (ms, shown) in [(0, "0.000"), (420, "0.420"), (59_999, "59.999"), (60_001, "1:00.001"), (7_512_345, "2:05:12.345")] {
            assert_eq!(show_offset(start, Instant(Time::from_ms(1_000_000_000 + ms))), shown);
        }
    }

    #[test]
    fn ages_are_short() {
        let now = Instant(Time::from_ms(1_000_000_000));
        for (ms_ago, shown) in [
            (0, "now"),
            (999, "now"),
            (1_500, "1.5 s ago"),
            (9_949, "9.9 s ago"),
            (9_950, "10 s ago"),
            (42_000, "42 s ago"),
            (59_600, "1 min ago"),
            (185_000, "3 min ago"),
            (299_900, "5 min ago"),
            (3_599_000, "1 h ago"),
            (7_500_000, "2 h 5 min ago"),
            (7_200_000, "2 h ago"),
            (200_000_000, "2 d ago"),
            (-300_000, "in 5 min"),
            (-299_000, "in 5 min"),
        ] {
            assert_eq!(show_age(Instant(Time::from_ms(1_000_000_000 - ms_ago)), now), shown);
        }
    }
}
