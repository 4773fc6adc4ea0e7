//! A queue's own facts: its configuration, its pause and its boosts. Counts, slots and order are derived and
//! live in `lanes`. A queue needs no row until something is said about it.
//!
//! | record | effect on the queue |
//! |---|---|
//! | `QueueConfigured` | the configuration is replaced whole; numbers act at once |
//! | `QueuePaused` | dispatch stops; adds and running work go on |
//! | `QueueResumed` | dispatch goes on |
//! | `QueueBoosted` | a head start for the whole queue or one key; 0 removes it |

use crate::ids::RecordSeq;
use crate::limits::*;
use crate::names::{Actor, KeyName, KeyValue, QueueName, Tag};
use crate::priority::Priority;
use crate::rate::Rate;
use crate::record::{Entry, Record};
use crate::retry::RetryPolicy;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Limits of each value of one key.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KeyLimit {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

/// Who runs already waits a little: each running slot of a key's value sets its others back by `step_ms ÷ weight`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fairness {
    pub key: KeyName,
    #[serde(default = "fair_step")]
    pub step_ms: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<KeyValue, u32>,
}

fn fair_step() -> u64 {
    FAIR_STEP_MS_DEFAULT
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BacklogFull {
    /// The new one is not let in.
    #[default]
    Refuse,
    /// The one that has waited longest makes room.
    DropOldest,
}

impl BacklogFull {
    fn is_refuse(&self) -> bool {
        *self == BacklogFull::Refuse
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QueueConfig {
    /// Leases at once, over all types and keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub keys: BTreeMap<KeyName, KeyLimit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fairness: Option<Fairness>,
    pub retry: RetryPolicy,
    pub heartbeat_ms: u32,
    pub budget_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backlog_max: Option<u32>,
    /// What becomes of an event's task when as many wait as may.
    #[serde(skip_serializing_if = "BacklogFull::is_refuse")]
    pub backlog_full: BacklogFull,
    /// Only tasks with this tag are picked; the others wait and `explain` says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub require_tag: Option<Tag>,
    /// Tasks that may be run now past the limits, waiting or running.
    pub override_slots: u32,
    pub idempotency_window_ms: u64,
}

impl Default for QueueConfig {
    fn default() -> QueueConfig {
        QueueConfig {
            concurrency: None,
            rate: None,
            keys: BTreeMap::new(),
            fairness: None,
            retry: RetryPolicy::default(),
            heartbeat_ms: HEARTBEAT_MS_DEFAULT,
            budget_ms: BUDGET_MS_DEFAULT,
            backlog_max: None,
            backlog_full: BacklogFull::Refuse,
            require_tag: None,
            override_slots: OVERRIDE_SLOTS_DEFAULT,
            idempotency_window_ms: IDEMPOTENCY_WINDOW_MS_DEFAULT,
        }
    }
}

impl QueueConfig {
    pub fn check(&self) -> Result<(), String> {
        fn within<T: PartialOrd + std::fmt::Display>(name: &str, value: T, low: T, high: T) -> Result<(), String> {
            if value < low || value > high { Err(format!("{name} must lie between {low} and {high}")) } else { Ok(()) }
        }
        self.retry.check()?;
        within("concurrency", self.concurrency.unwrap_or(1), 1, CONCURRENCY_MAX)?;
        within("backlog_max", self.backlog_max.unwrap_or(1), 1, BACKLOG_MAX)?;
        within("heartbeat_ms", self.heartbeat_ms, HEARTBEAT_MS_MIN, HEARTBEAT_MS_MAX)?;
        within("budget_ms", self.budget_ms, 1, BUDGET_MS_MAX)?;
        within("override_slots", self.override_slots, 0, OVERRIDE_SLOTS_MAX)?;
        within("idempotency_window_ms", self.idempotency_window_ms, 0, IDEMPOTENCY_WINDOW_MS_MAX)?;
        within("number of keys", self.keys.len(), 0, QUEUE_KEYS_MAX)?;
        self.rate.iter().chain(self.keys.values().filter_map(|k| k.rate.as_ref())).try_for_each(Rate::check)?;
        for (name, limit) in &self.keys {
            within(&format!("keys.{name}.concurrency"), limit.concurrency.unwrap_or(1), 1, CONCURRENCY_MAX)?;
        }
        if let Some(fairness) = &self.fairness {
            within("fairness.step_ms", fairness.step_ms, 1, FAIR_STEP_MS_MAX)?;
            within("number of fairness.weights", fairness.weights.len(), 0, QUEUE_WEIGHTS_MAX)?;
            for (value, weight) in &fairness.weights {
                within(&format!("fairness.weights.{value}"), *weight, 1, FAIR_WEIGHT_MAX)?;
            }
        }
        Ok(())
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Pause {
    pub since: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    pub reason: String,
    pub by: Actor,
}

/// What a boost is on: the whole queue, or the tasks that carry one key's value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct BoostOn {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<(KeyName, KeyValue)>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Queue {
    name: QueueName,
    last: RecordSeq,
    config: Arc<QueueConfig>,
    pause: Option<Pause>,
    boosts: BTreeMap<BoostOn, Priority>,
}

impl Queue {
    fn new(name: QueueName) -> Queue {
        Queue { name, last: RecordSeq::NONE, config: Arc::default(), pause: None, boosts: BTreeMap::new() }
    }

    /// The queue after one more of its records.
    pub fn fold(queue: Option<Queue>, name: &QueueName, entry: &Entry) -> Queue {
        let mut queue = queue.unwrap_or_else(|| Queue::new(name.clone()));
        match &entry.record {
            Record::QueueConfigured { config, .. } => queue.config = config.clone(),
            Record::QueuePaused { until, reason, by } => {
                queue.pause = Some(Pause { since: entry.at, until: *until, reason: reason.clone(), by: by.clone() });
            }
            Record::QueueResumed { .. } => queue.pause = None,
            Record::QueueBoosted { on, boost, .. } => {
                if *boost == Priority::NORMAL {
                    queue.boosts.remove(on);
                } else {
                    queue.boosts.insert(on.clone(), *boost);
                }
            }
            other => panic!("{} is not a record of a queue", other.kind()),
        }
        queue.last = entry.seq;
        queue
    }

    pub fn name(&self) -> &QueueName {
        &self.name
    }

    pub fn last(&self) -> RecordSeq {
        self.last
    }

    pub fn config(&self) -> &Arc<QueueConfig> {
        &self.config
    }

    pub fn pause(&self) -> Option<&Pause> {
        self.pause.as_ref()
    }

    pub fn boosts(&self) -> &BTreeMap<BoostOn, Priority> {
        &self.boosts
    }

    /// Rebuilds a queue from its row; the parts were checked when the row was decoded.
    pub(crate) fn from_parts(
        name: QueueName,
        last: RecordSeq,
        config: QueueConfig,
        pause: Option<Pause>,
        boosts: BTreeMap<BoostOn, Priority>,
    ) -> Queue {
        Queue { name, last, config: Arc::new(config), pause, boosts }
    }
}
