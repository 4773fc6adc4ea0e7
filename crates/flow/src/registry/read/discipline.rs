//! What a handler or a queue says of waiting, gathering and giving up.

use super::expression::{event_expr, flag, word};
use super::limit::slots;
use crate::define::fields::Fields;
use crate::define::scalars::{duration, int, name, priority, wrong};
use crate::problem::{Problem, Problems};
use crate::registry::handler::*;
use crate::source::{Data, Entry, Value};
use kernel::limits::*;
use kernel::names::{KeyName, KeyValue, Tag};
use kernel::queue::BacklogFull;
use std::collections::BTreeMap;
use std::sync::Arc;

pub fn gathering(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Gathering> {
    let (debounced, batched) = (fields.take("debounce"), fields.take("batch"));
    match (debounced, batched) {
        (Some(_), Some(other)) => {
            let problem = Problem::new(&other.key_at, "`debounce` keeps the newest event and `batch` all of them: leave one out");
            problems.add(problem);
            None
        }
        (Some(entry), None) => debounce(&entry.value, problems),
        (None, Some(entry)) => batch(&entry.value, problems),
        (None, None) => None,
    }
}

/// `10s`, or `{period: 10s, max_wait: 1m, key: …}`.
fn debounce(value: &Value, problems: &mut Problems) -> Option<Gathering> {
    if let Data::Text(_) = &value.data {
        return window(value, problems).map(|period_ms| Gathering::Debounce { period_ms, max_wait_ms: None, key: None });
    }
    let mut fields = Fields::of(value, "`debounce`", problems)?;
    let period_ms = fields.require("period", problems).and_then(|entry| window(&entry.value, problems));
    let waited = fields.take("max_wait");
    let max_wait_ms = waited.and_then(|entry| window(&entry.value, problems));
    let key = fields.take("key").and_then(|entry| event_expr(&entry.value, problems));
    fields.finish(problems);
    if let (Some(entry), Some(max_wait_ms), Some(period_ms)) = (waited, max_wait_ms, period_ms)
        && max_wait_ms < period_ms
    {
        problems.say(&entry.value.at, "`max_wait` is shorter than `period`");
    }
    Some(Gathering::Debounce { period_ms: period_ms?, max_wait_ms, key })
}

fn batch(value: &Value, problems: &mut Problems) -> Option<Gathering> {
    let mut fields = Fields::of(value, "`batch`", problems)?;
    let size = fields.require("size", problems).and_then(|entry| int(&entry.value, 2, i64::from(WINDOW_EVENTS_MAX), problems));
    let timeout_ms = fields.require("timeout", problems).and_then(|entry| window(&entry.value, problems));
    let key = fields.take("key").and_then(|entry| event_expr(&entry.value, problems));
    fields.finish(problems);
    Some(Gathering::Batch { size: size? as u32, timeout_ms: timeout_ms?, key })
}

fn window(value: &Value, problems: &mut Problems) -> Option<u64> {
    let ms = duration(value, problems)?;
    if ms > WINDOW_MS_MAX {
        problems.say(&value.at, format!("a window is open for at most {}d", WINDOW_MS_MAX / 86_400_000));
        return None;
    }
    Some(ms)
}

const NEXT: [(&str, bool); 2] = [("skip", false), ("replace", true)];

/// `skip`, `replace`, or `{next: skip, key: …}`.
pub fn singleton(value: &Value, problems: &mut Problems) -> Option<Single> {
    if let Data::Text(_) = &value.data {
        return word(value, &NEXT, problems).map(|replace| Single { replace, key: None });
    }
    let mut fields = Fields::of(value, "`singleton`", problems)?;
    let replace = fields.require("next", problems).and_then(|entry| word(&entry.value, &NEXT, problems));
    let key = fields.take("key").and_then(|entry| event_expr(&entry.value, problems));
    fields.finish(problems);
    Some(Single { replace: replace?, key })
}

/// `1h`, or `{window: 1h, key: …}`.
pub fn dedup(value: &Value, problems: &mut Problems) -> Option<Deduping> {
    if let Data::Text(_) = &value.data {
        return duration(value, problems).map(|window_ms| Deduping { window_ms, key: None });
    }
    let mut fields = Fields::of(value, "`dedup`", problems)?;
    let window_ms = fields.require("window", problems).and_then(|entry| duration(&entry.value, problems));
    let key = fields.take("key").and_then(|entry| event_expr(&entry.value, problems));
    fields.finish(problems);
    Some(Deduping { window_ms: window_ms?, key })
}

/// What concerns a queue as a whole, whoever says it; `keys` are those that can be named.
pub fn statements(fields: &mut Fields<'_>, keys: &[KeyName], problems: &mut Problems) -> Statements {
    Statements {
        fairness: stated(fields.take("fairness"), problems, |value, problems| fairness(value, keys, problems)),
        backlog: stated(fields.take("backlog"), problems, backlog),
        heartbeat_ms: stated(fields.take("heartbeat"), problems, heartbeat),
        require_tag: stated(fields.take("require_tag"), problems, |value, problems| name(value, Tag::parse, problems)),
    }
}

fn stated<T>(
    entry: Option<&Entry>,
    problems: &mut Problems,
    read: impl FnOnce(&Value, &mut Problems) -> Option<T>,
) -> Option<Stated<T>> {
    let entry = entry?;
    read(&entry.value, problems).map(|value| Stated { value, at: entry.key_at.clone() })
}

fn fairness(value: &Value, keys: &[KeyName], problems: &mut Problems) -> Option<FairRule> {
    let mut fields = Fields::of(value, "`fairness`", problems)?;
    let by = fields.require("key", problems).and_then(|entry| {
        let written = if let Data::Text(text) = &entry.value.data { &*text.text } else { "" };
        match keys.iter().find(|key| key.as_str() == written) {
            Some(key) => Some(FairBy::Key(key.clone())),
            None => event_expr(&entry.value, problems).map(|expr| FairBy::Expr(Arc::new(expr))),
        }
    });
    let step_ms = fields.take("step").and_then(|entry| {
        let ms = duration(&entry.value, problems)?;
        if ms > FAIR_STEP_MS_MAX {
            problems.say(&entry.value.at, format!("a step is at most {}h", FAIR_STEP_MS_MAX / 3_600_000));
        }
        Some(ms)
    });
    let weights = fields.take("weights").map(|entry| weights(&entry.value, problems)).unwrap_or_default();
    fields.finish(problems);
    Some(FairRule { by: by?, step_ms: step_ms.unwrap_or(FAIR_STEP_MS_DEFAULT), weights })
}

fn weights(value: &Value, problems: &mut Problems) -> BTreeMap<KeyValue, u32> {
    let Data::Map(entries) = &value.data else {
        wrong(value, "a map from values of the key to their weights", problems);
        return BTreeMap::new();
    };
    if entries.len() > QUEUE_WEIGHTS_MAX {
        problems.say(&value.at, format!("there are {} weights; there may be {QUEUE_WEIGHTS_MAX}", entries.len()));
        return BTreeMap::new();
    }
    let mut weights = BTreeMap::new();
    for entry in entries {
        let weight = int(&entry.value, 1, i64::from(FAIR_WEIGHT_MAX), problems);
        match KeyValue::parse(&entry.key) {
            Ok(key) => weights.extend(weight.map(|weight| (key, weight as u32))),
            Err(bad) => problems.say(&entry.key_at, bad.to_string()),
        }
    }
    weights
}

const FULL: [(&str, BacklogFull); 2] = [("refuse", BacklogFull::Refuse), ("drop_oldest", BacklogFull::DropOldest)];

/// `1000`, or `{max: 1000, full: drop_oldest}`.
fn backlog(value: &Value, problems: &mut Problems) -> Option<Backlog> {
    let most = |value: &Value, problems: &mut Problems| int(value, 1, i64::from(BACKLOG_MAX), problems).map(|max| max as u32);
    if let Data::Int(_) = &value.data {
        return most(value, problems).map(|max| Backlog { max, full: BacklogFull::Refuse });
    }
    let mut fields = Fields::of(value, "`backlog`", problems)?;
    let max = fields.require("max", problems).and_then(|entry| most(&entry.value, problems));
    let full = fields.take("full").and_then(|entry| word(&entry.value, &FULL, problems));
    fields.finish(problems);
    Some(Backlog { max: max?, full: full.unwrap_or_default() })
}

fn heartbeat(value: &Value, problems: &mut Problems) -> Option<u32> {
    let ms = duration(value, problems)?;
    let within = u32::try_from(ms).ok().filter(|ms| (HEARTBEAT_MS_MIN..=HEARTBEAT_MS_MAX).contains(ms));
    if within.is_none() {
        let told = format!("a heartbeat lies between {HEARTBEAT_MS_MIN}ms and {}m", HEARTBEAT_MS_MAX / 60_000);
        problems.say(&value.at, told);
    }
    within
}

/// `{priority: [background, high], concurrency: [1, 20], pause: true, shed: false, batch: true}`.
pub fn bounds(value: &Value, problems: &mut Problems) -> Option<Bounds> {
    let mut fields = Fields::of(value, "`bounds`", problems)?;
    let priority = fields.take("priority").and_then(|entry| span(&entry.value, problems, priority));
    let concurrency = fields.take("concurrency").and_then(|entry| span(&entry.value, problems, slots));
    let mut may = |key| fields.take(key).and_then(|entry: &Entry| flag(&entry.value, problems));
    let (pause, shed, batch) = (may("pause"), may("shed"), may("batch"));
    fields.finish(problems);
    // What is not named may not be done.
    let may = |may: Option<bool>| may.unwrap_or(false);
    Some(Bounds { priority, concurrency, pause: may(pause), shed: may(shed), batch: may(batch) })
}

/// `[low, high]`.
fn span<T: PartialOrd>(
    value: &Value,
    problems: &mut Problems,
    one: impl Fn(&Value, &mut Problems) -> Option<T>,
) -> Option<(T, T)> {
    let Data::List(ends) = &value.data else {
        wrong(value, "a list of two, the least and the most", problems);
        return None;
    };
    let [low, high] = &ends[..] else {
        problems.say(&value.at, "two are expected here, the least and the most");
        return None;
    };
    let (low, high) = (one(low, problems)?, one(high, problems)?);
    if low > high {
        problems.say(&value.at, "the least comes first, then the most");
        return None;
    }
    Some((low, high))
}
