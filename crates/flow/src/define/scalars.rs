//! Single values: names, numbers within bounds, durations, priorities, retries, ids of nodes.

use super::Target;
use super::fields::Fields;
use crate::limits::*;
use crate::problem::{Problem, Problems};
use crate::source::{Data, Value, short};
use kernel::names::BadName;
use kernel::priority::Priority;
use kernel::retry::RetryPolicy;
use std::sync::Arc;

/// What was expected, and what is there instead.
pub fn wrong(value: &Value, expected: &str, problems: &mut Problems) {
    let shown = match &value.data {
        Data::Text(text) => format!("`{}`", short(&text.text)),
        Data::Int(number) => format!("`{number}`"),
        Data::Wide(digits) => format!("`{}`", short(digits)),
        Data::Float(number) => format!("`{number}`"),
        Data::Bool(boolean) => format!("`{boolean}`"),
        _ => value.kind().to_owned(),
    };
    problems.say(&value.at, format!("{expected} is expected, not {shown}"));
}

pub fn text(value: &Value, problems: &mut Problems) -> Option<Arc<str>> {
    match &value.data {
        Data::Text(text) => Some(text.text.clone()),
        Data::Int(_) | Data::Wide(_) | Data::Float(_) | Data::Bool(_) => {
            wrong(value, "a text (in quotes)", problems);
            None
        }
        _ => {
            wrong(value, "a text", problems);
            None
        }
    }
}

pub fn text_up_to(value: &Value, bytes_max: usize, problems: &mut Problems) -> Option<Arc<str>> {
    let text = text(value, problems)?;
    if text.len() > bytes_max {
        problems.say(&value.at, format!("the text has {} bytes; it may have {bytes_max}", text.len()));
        return None;
    }
    Some(text)
}

pub fn name<T>(value: &Value, parse: fn(&str) -> Result<T, BadName>, problems: &mut Problems) -> Option<T> {
    let text = text(value, problems)?;
    match parse(&text) {
        Ok(name) => Some(name),
        Err(bad) => {
            let problem = Problem::new(&value.at, bad.to_string());
            let slug = slug(&text);
            let suggestion = (parse(&slug).is_ok()).then(|| format!("for example `{slug}`"));
            problems.add(Problem { suggestion, ..problem });
            None
        }
    }
}

/// What a legal name close to this text would be; empty where nothing is. Without the letters of other scripts it may be a word
/// that nobody meant.
pub fn slug(text: &str) -> String {
    if text.chars().any(|c| c.is_alphanumeric() && !c.is_ascii()) {
        return String::new();
    }
    let lower: String =
        text.chars().take(64).map(|c| if c.is_ascii_alphanumeric() || c == '_' { c.to_ascii_lowercase() } else { '-' }).collect();
    lower.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

pub fn int(value: &Value, least: i64, most: i64, problems: &mut Problems) -> Option<i64> {
    match value.data {
        Data::Int(number) if (least..=most).contains(&number) => Some(number),
        _ => {
            let quoted = matches!(&value.data, Data::Text(text) if text.text.parse::<i64>().is_ok());
            let expected =
                if quoted { "an integer without quotes".to_owned() } else { format!("an integer from {least} to {most}") };
            wrong(value, &expected, problems);
            None
        }
    }
}

pub fn version(value: &Value, loose: bool, problems: &mut Problems) -> Option<u32> {
    // Lists of edges have versions such as "1.0"; what counts is the first number.
    if let (true, Data::Text(text)) = (loose, &value.data) {
        let major = text.text.split('.').next().and_then(|major| major.parse::<i64>().ok());
        if let Some(major) = major.filter(|major| (1..=VERSION_MAX).contains(major)) {
            return Some(major as u32);
        }
    }
    if let (true, Data::Float(number)) = (loose, &value.data)
        && *number >= 1.0
        && *number <= VERSION_MAX as f64
    {
        return Some(*number as u32);
    }
    int(value, 1, VERSION_MAX, problems).map(|version| version as u32)
}

pub fn list<T>(
    value: &Value,
    items_max: usize,
    problems: &mut Problems,
    mut one: impl FnMut(&Value, &mut Problems) -> Option<T>,
) -> Vec<T> {
    let Data::List(values) = &value.data else {
        wrong(value, "a list", problems);
        return Vec::new();
    };
    if values.len() > items_max {
        problems.say(&value.at, format!("the list has {} items; it may have {items_max}", values.len()));
        return Vec::new();
    }
    values.iter().filter_map(|value| one(value, problems)).collect()
}

const UNITS_MS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// `500ms`, `10s`, `5m`, `2h`, `3d`, and sums such as `1h30m`.
pub fn parse_duration_ms(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut total_ms: u64 = 0;
    while !rest.is_empty() || total_ms == 0 && rest.len() == text.len() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let count: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (_, unit_ms) = UNITS_MS.into_iter().find(|(unit, _)| *unit == &rest[..letters])?;
        rest = &rest[letters..];
        total_ms = count.checked_mul(unit_ms)?.checked_add(total_ms)?;
    }
    Some(total_ms)
}

/// The duration that somebody wrote in other words: `5 min`, `2 hours`, `1.5h`, `1w`.
fn meant_duration(text: &str) -> Option<String> {
    const WORDS: [(&str, u64); 24] = [
        ("ms", 1),
        ("msec", 1),
        ("msecs", 1),
        ("millis", 1),
        ("s", 1_000),
        ("sec", 1_000),
        ("secs", 1_000),
        ("second", 1_000),
        ("seconds", 1_000),
        ("m", 60_000),
        ("min", 60_000),
        ("mins", 60_000),
        ("minute", 60_000),
        ("minutes", 60_000),
        ("h", 3_600_000),
        ("hr", 3_600_000),
        ("hrs", 3_600_000),
        ("hour", 3_600_000),
        ("hours", 3_600_000),
        ("d", 86_400_000),
        ("day", 86_400_000),
        ("days", 86_400_000),
        ("w", 604_800_000),
        ("weeks", 604_800_000),
    ];
    let text: String = text.chars().take(64).filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_lowercase();
    let (mut rest, mut total_ms) = (text.as_str(), 0.0);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|digits| *digits > 0)?;
        let count: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (_, unit_ms) = WORDS.into_iter().find(|(word, _)| *word == &rest[..letters])?;
        rest = &rest[letters..];
        total_ms += count * unit_ms as f64;
    }
    if !(1.0..=DURATION_MS_MAX as f64).contains(&total_ms) {
        return None;
    }
    Some(show_duration(total_ms.round() as u64))
}

/// As `parse_duration_ms` reads it.
pub fn show_duration(ms: u64) -> String {
    let (mut left_ms, mut shown) = (ms, String::new());
    for (unit, unit_ms) in UNITS_MS.into_iter().rev() {
        if left_ms >= unit_ms {
            shown.push_str(&format!("{}{unit}", left_ms / unit_ms));
            left_ms %= unit_ms;
        }
    }
    if shown.is_empty() { "0s".to_owned() } else { shown }
}

/// At least a millisecond, at most `DURATION_MS_MAX`.
pub fn duration(value: &Value, problems: &mut Problems) -> Option<u64> {
    let ms = match &value.data {
        Data::Text(text) => parse_duration_ms(&text.text),
        Data::Int(number) => {
            let problem = Problem::new(&value.at, format!("`{number}` is a number without a unit"));
            problems.add(problem.suggest(format!("write `{number}s` or `{number}ms`")));
            return None;
        }
        _ => None,
    };
    match ms {
        Some(ms) => in_bounds(value, ms, problems),
        None => {
            let meant = if let Data::Text(text) = &value.data { meant_duration(&text.text) } else { None };
            let mut told = Problems::default();
            wrong(value, "a duration such as 500ms, 30s, 5m, 2h or 1d", &mut told);
            for problem in told.into_sorted() {
                problems.add(match &meant {
                    Some(meant) => problem.suggest(format!("write `{meant}`")),
                    None => problem,
                });
            }
            None
        }
    }
}

pub fn duration_ms(value: &Value, problems: &mut Problems) -> Option<u64> {
    int(value, 1, DURATION_MS_MAX as i64, problems).map(|ms| ms as u64)
}

fn in_bounds(value: &Value, ms: u64, problems: &mut Problems) -> Option<u64> {
    if (1..=DURATION_MS_MAX).contains(&ms) {
        return Some(ms);
    }
    wrong(value, "a duration from 1ms to 366d", problems);
    None
}

pub fn priority(value: &Value, problems: &mut Problems) -> Option<Priority> {
    let priority = match &value.data {
        Data::Text(text) => Priority::parse(&text.text),
        Data::Int(seconds) => Priority::seconds(*seconds),
        _ => None,
    };
    if priority.is_none() {
        wrong(value, "critical, high, normal, background or a head start in seconds", problems);
    }
    priority
}

pub fn retry(value: &Value, problems: &mut Problems) -> Option<RetryPolicy> {
    let mut fields = Fields::of(value, "`retry`", problems)?;
    let before = problems.count();
    let mut policy = RetryPolicy::default();
    if let Some(entry) = fields.take("attempts") {
        let most = i64::from(kernel::limits::ATTEMPTS_MAX);
        policy.attempts = int(&entry.value, 1, most, problems).unwrap_or(1) as u16;
    }
    if let Some(entry) = fields.take("backoff") {
        policy.backoff_ms = duration(&entry.value, problems).unwrap_or(1);
        policy.backoff_max_ms = policy.backoff_max_ms.max(policy.backoff_ms);
    }
    if let Some(entry) = fields.take("backoff_max") {
        policy.backoff_max_ms = duration(&entry.value, problems).unwrap_or(policy.backoff_ms);
        if policy.backoff_max_ms < policy.backoff_ms {
            problems.say(&entry.value.at, "`backoff_max` is shorter than `backoff`");
        }
    }
    if let Some(entry) = fields.take("jitter") {
        policy.jitter_percent = percent(&entry.value, problems).unwrap_or(0);
    }
    fields.finish(problems);
    if let (true, Err(why)) = (problems.count() == before, policy.check()) {
        problems.say(&value.at, why);
    }
    (problems.count() == before).then_some(policy)
}

fn percent(value: &Value, problems: &mut Problems) -> Option<u8> {
    let number = match &value.data {
        Data::Int(number) => Some(*number),
        Data::Text(text) => text.text.strip_suffix('%').and_then(|number| number.parse().ok()),
        _ => None,
    };
    let percent = number.and_then(|number| u8::try_from(number).ok()).filter(|percent| *percent <= 100);
    if percent.is_none() {
        wrong(value, "a percentage from 0 to 100", problems);
    }
    percent
}

/// One id, or a list of them.
pub fn targets(value: &Value, problems: &mut Problems) -> Vec<Target> {
    let one = |value: &Value, problems: &mut Problems| {
        let id = match &value.data {
            Data::Text(text) => Some(text.text.clone()),
            Data::Int(number) => Some(number.to_string().into()),
            Data::Wide(digits) => Some(digits.clone()),
            _ => None,
        };
        if id.is_none() {
            wrong(value, "the id of a node", problems);
        }
        id.map(|id| Target { id, at: value.at.clone() })
    };
    match &value.data {
        Data::List(_) => list(value, NODES_MAX, problems, one),
        Data::Text(_) | Data::Int(_) | Data::Wide(_) => one(value, problems).into_iter().collect(),
        _ => {
            wrong(value, "the id of a node or a list of them", problems);
            Vec::new()
        }
    }
}

/// As `targets`, and there must be one.
pub fn some_targets(value: &Value, problems: &mut Problems) -> Vec<Target> {
    if matches!(&value.data, Data::List(values) if values.is_empty()) {
        problems.say(&value.at, "at least one node is expected, not an empty list");
    }
    targets(value, problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_in_other_words_is_understood_and_told() {
        for (text, meant) in [
            ("5min", Some("5m")),
            ("5 min", Some("5m")),
            ("1.5h", Some("1h30m")),
            ("2 Hours", Some("2h")),
            ("1w", Some("7d")),
            ("90 seconds", Some("1m30s")),
            ("1h 30 min", Some("1h30m")),
            ("5 apples", None),
            ("5", None),
            ("0 s", None),
            ("", None),
            ("99999999999999 weeks", None),
            ("..h", None),
        ] {
            assert_eq!(meant_duration(text).as_deref(), meant, "{text}");
        }
    }

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, ms) in [
            ("48h", Some(172_800_000)),
            ("30s", Some(30_000)),
            ("500ms", Some(500)),
            ("1d", Some(86_400_000)),
            ("1h30m", Some(5_400_000)),
            ("0s", Some(0)),
            ("", None),
            ("5", None),
            ("h", None),
            ("5 s", None),
            ("-5s", None),
            ("1.5h", None),
            ("5x", None),
            ("99999999999999999999d", None),
            ("999999999999999d", None),
        ] {
            assert_eq!(parse_duration_ms(text), ms, "{text}");
        }
    }
}
