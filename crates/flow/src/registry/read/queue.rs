//! `queues:` → [`QueueRule`].

use super::discipline::statements;
use super::entries;
use super::expression::event_expr;
use super::limit::{plain_rate, slots};
use crate::define::fields::Fields;
use crate::define::scalars::{duration, int, retry};
use crate::problem::{Problem, Problems};
use crate::registry::queue::{QueueKey, QueueRule};
use crate::source::{Entry, short};
use kernel::limits::*;
use kernel::names::{KeyName, QueueName};
use kernel::queue::{KeyLimit, QueueConfig};
use std::sync::Arc;

pub fn queue(entry: &Entry, problems: &mut Problems) -> Option<QueueRule> {
    let name = QueueName::parse(&entry.key).map_err(|bad| problems.say(&entry.key_at, bad.to_string())).ok();
    let mut fields = Fields::of(&entry.value, format!("queue `{}`", short(&entry.key)), problems)?;
    let mut config = QueueConfig {
        concurrency: fields.take("concurrency").and_then(|entry| slots(&entry.value, problems)),
        rate: fields.take("rate").and_then(|entry| plain_rate(&entry.value, problems)),
        ..QueueConfig::default()
    };
    if let Some(retry) = fields.take("retry").and_then(|entry| retry(&entry.value, problems)) {
        config.retry = retry;
    }
    if let Some(budget_ms) = fields.take("timeout").and_then(|entry| duration(&entry.value, problems)) {
        config.budget_ms = budget_ms;
    }
    if let Some(entry) = fields.take("override_slots") {
        let most = i64::from(OVERRIDE_SLOTS_MAX);
        config.override_slots = int(&entry.value, 0, most, problems).unwrap_or(0) as u32;
    }
    if let Some(window_ms) = fields.take("idempotency_window").and_then(|entry| duration(&entry.value, problems)) {
        config.idempotency_window_ms = window_ms;
    }
    let keys = fields.take("keys").map_or(&[][..], |entry| entries(entry, TASK_KEYS_MAX, problems));
    let keys: Vec<QueueKey> = keys.iter().filter_map(|entry| key(entry, problems)).collect();
    let names: Vec<KeyName> = keys.iter().map(|key| key.name.clone()).collect();
    let states = statements(&mut fields, &names, problems);
    fields.finish(problems);
    Some(QueueRule { name: name?, at: entry.key_at.clone(), config, keys, states })
}

fn key(entry: &Entry, problems: &mut Problems) -> Option<QueueKey> {
    // Names with a dot or an @ are those of handlers' own limits.
    let name = match KeyName::parse(&entry.key) {
        Ok(name) if !name.as_str().contains(['.', '@']) => Some(name),
        Ok(_) => {
            let problem = Problem::new(&entry.key_at, format!("key `{}` may hold neither . nor @", short(&entry.key)));
            problems.add(problem.suggest("choose a plain word such as tenant"));
            None
        }
        Err(bad) => {
            problems.say(&entry.key_at, bad.to_string());
            None
        }
    };
    let mut fields = Fields::of(&entry.value, format!("key `{}`", short(&entry.key)), problems)?;
    let from = fields.take("key").map(|entry| event_expr(&entry.value, problems).map(Arc::new));
    let concurrency = fields.take("concurrency").and_then(|entry| slots(&entry.value, problems));
    let rate = fields.take("rate").and_then(|entry| plain_rate(&entry.value, problems));
    fields.finish(problems);
    Some(QueueKey { name: name?, from: from.flatten(), limit: KeyLimit { concurrency, rate } })
}
