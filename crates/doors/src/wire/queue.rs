//! Queues: configuration, pause, and how a queue is shown. The configuration mirrors the kernel's, so that history may
//! stay frozen while the API grows, and so that the kernel knows nothing of OpenAPI.

use super::object::objects;
use super::{BulkView, Instant, KeyPair, Priority, Problem, TaskFilter};
use kernel::command::PauseUntil;
use kernel::names::*;
use kernel::queue as inner;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::{IntoParams, ToSchema};

objects!(Retry, Rate, KeyLimit, Fairness, QueueConfig, QueuePut, QueuePause, QueueDrain, QueueClear);

/// When a failed attempt is tried again.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default, remote = "Self")]
pub struct Retry {
    /// Attempts in all, the first included.
    pub attempts: u16,
    /// Wait after the first failure; it doubles after each further one.
    pub backoff_ms: u64,
    pub backoff_max_ms: u64,
    /// How much of the wait, in percent, chance may add.
    pub jitter_percent: u8,
}

impl Default for Retry {
    fn default() -> Retry {
        kernel::retry::RetryPolicy::default().into()
    }
}

impl From<kernel::retry::RetryPolicy> for Retry {
    fn from(policy: kernel::retry::RetryPolicy) -> Retry {
        let kernel::retry::RetryPolicy { attempts, backoff_ms, backoff_max_ms, jitter_percent } = policy;
        Retry { attempts, backoff_ms, backoff_max_ms, jitter_percent }
    }
}

impl From<Retry> for kernel::retry::RetryPolicy {
    fn from(retry: Retry) -> kernel::retry::RetryPolicy {
        let Retry { attempts, backoff_ms, backoff_max_ms, jitter_percent } = retry;
        kernel::retry::RetryPolicy { attempts, backoff_ms, backoff_max_ms, jitter_percent }
    }
}

/// `count` starts per `per_ms`, at most `burst` at once.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Rate {
    pub count: u32,
    pub per_ms: u64,
    #[serde(default = "one")]
    pub burst: u32,
}

fn one() -> u32 {
    1
}

impl From<kernel::rate::Rate> for Rate {
    fn from(rate: kernel::rate::Rate) -> Rate {
        Rate { count: rate.count, per_ms: rate.per_ms, burst: rate.burst }
    }
}

impl From<Rate> for kernel::rate::Rate {
    fn from(rate: Rate) -> kernel::rate::Rate {
        kernel::rate::Rate { count: rate.count, per_ms: rate.per_ms, burst: rate.burst }
    }
}

/// Limits of each value of one key.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default, remote = "Self")]
pub struct KeyLimit {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

/// Who runs already waits a little: each running task of a key's value sets its others back by `step_ms ÷ weight`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Fairness {
    #[schema(value_type = String)]
    pub key: KeyName,
    #[serde(default = "step")]
    pub step_ms: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = std::collections::HashMap<String, u32>)]
    pub weights: BTreeMap<KeyValue, u32>,
}

fn step() -> u64 {
    kernel::limits::FAIR_STEP_MS_DEFAULT
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BacklogFull {
    #[default]
    Refuse,
    DropOldest,
}

impl BacklogFull {
    fn is_refuse(&self) -> bool {
        *self == BacklogFull::Refuse
    }
}

impl From<inner::BacklogFull> for BacklogFull {
    fn from(full: inner::BacklogFull) -> BacklogFull {
        match full {
            inner::BacklogFull::Refuse => BacklogFull::Refuse,
            inner::BacklogFull::DropOldest => BacklogFull::DropOldest,
        }
    }
}

impl From<BacklogFull> for inner::BacklogFull {
    fn from(full: BacklogFull) -> inner::BacklogFull {
        match full {
            BacklogFull::Refuse => inner::BacklogFull::Refuse,
            BacklogFull::DropOldest => inner::BacklogFull::DropOldest,
        }
    }
}

/// The whole configuration of a queue; what is left out has its default.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default, remote = "Self")]
pub struct QueueConfig {
    /// Tasks running at once, over all types and keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = std::collections::HashMap<String, KeyLimit>)]
    pub keys: BTreeMap<KeyName, KeyLimit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fairness: Option<Fairness>,
    pub retry: Retry,
    /// A worker silent for longer has lost its lease.
    pub heartbeat_ms: u32,
    /// How long one attempt may run.
    pub budget_ms: u64,
    /// As many tasks may wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backlog_max: Option<u32>,
    /// What becomes of one more then: it is refused, or the one that has waited longest makes room.
    #[serde(skip_serializing_if = "BacklogFull::is_refuse")]
    pub backlog_full: BacklogFull,
    /// Only tasks with this tag are picked; the others wait and `explain` says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub require_tag: Option<Tag>,
    /// Tasks that may be run now past the limits, waiting or running.
    pub override_slots: u32,
    /// How long an idempotency key is remembered.
    pub idempotency_window_ms: u64,
}

impl Default for QueueConfig {
    fn default() -> QueueConfig {
        QueueConfig::from(&inner::QueueConfig::default())
    }
}

impl From<&inner::QueueConfig> for QueueConfig {
    fn from(config: &inner::QueueConfig) -> QueueConfig {
        let key = |(name, limit): (&KeyName, &inner::KeyLimit)| {
            (name.clone(), KeyLimit { concurrency: limit.concurrency, rate: limit.rate.map(Rate::from) })
        };
        let fairness = |fairness: &inner::Fairness| Fairness {
            key: fairness.key.clone(),
            step_ms: fairness.step_ms,
            weights: fairness.weights.clone(),
        };
        QueueConfig {
            concurrency: config.concurrency,
            rate: config.rate.map(Rate::from),
            keys: config.keys.iter().map(key).collect(),
            fairness: config.fairness.as_ref().map(fairness),
            retry: config.retry.into(),
            heartbeat_ms: config.heartbeat_ms,
            budget_ms: config.budget_ms,
            backlog_max: config.backlog_max,
            backlog_full: config.backlog_full.into(),
            require_tag: config.require_tag.clone(),
            override_slots: config.override_slots,
            idempotency_window_ms: config.idempotency_window_ms,
        }
    }
}

impl QueueConfig {
    /// The kernel's configuration, checked.
    pub fn into_kernel(self) -> Result<inner::QueueConfig, Problem> {
        let key = |(name, limit): (KeyName, KeyLimit)| {
            (name, inner::KeyLimit { concurrency: limit.concurrency, rate: limit.rate.map(Into::into) })
        };
        let fairness = |Fairness { key, step_ms, weights }| inner::Fairness { key, step_ms, weights };
        let config = inner::QueueConfig {
            concurrency: self.concurrency,
            rate: self.rate.map(Into::into),
            keys: self.keys.into_iter().map(key).collect(),
            fairness: self.fairness.map(fairness),
            retry: self.retry.into(),
            heartbeat_ms: self.heartbeat_ms,
            budget_ms: self.budget_ms,
            backlog_max: self.backlog_max,
            backlog_full: self.backlog_full.into(),
            require_tag: self.require_tag,
            override_slots: self.override_slots,
            idempotency_window_ms: self.idempotency_window_ms,
        };
        config.check().map_err(Problem::invalid)?;
        Ok(config)
    }
}

/// Replaces the configuration whole.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct QueuePut {
    pub config: QueueConfig,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
}

/// Stops handing out tasks until it is resumed, until an instant, or for a while.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct QueuePause {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Instant>,
    /// Instead of `until`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
}

impl QueuePause {
    pub fn until(&self) -> Result<PauseUntil, Problem> {
        pause_until(self.until, self.for_ms)
    }
}

pub(super) fn pause_until(until: Option<Instant>, for_ms: Option<u64>) -> Result<PauseUntil, Problem> {
    match (until, for_ms) {
        (Some(_), Some(_)) => Err(Problem::invalid("until and for_ms exclude each other")),
        (Some(until), None) => Ok(PauseUntil::At(until.0)),
        (None, Some(0)) => Err(Problem::invalid("for_ms must be at least 1")),
        (None, Some(ms)) => Ok(PauseUntil::After { ms }),
        (None, None) => Ok(PauseUntil::Resumed),
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct QueueDrain {
    /// Only those that fit; without one everything that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<TaskFilter>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct QueueClear {
    /// Only those that fit; without one everything that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<TaskFilter>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Cancel nothing: say how many would be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct QueueView {
    #[schema(value_type = String)]
    pub queue: QueueName,
    pub config: QueueConfig,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<PauseView>,
    #[serde(default)]
    pub boosts: Vec<BoostView>,
    pub counts: Counts,
    /// When the one that waits longest was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_at: Option<Instant>,
    /// Bulks under way on this queue.
    #[serde(default)]
    pub bulks: Vec<BulkView>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PauseView {
    pub since: Instant,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Instant>,
    pub reason: String,
    #[schema(value_type = String)]
    pub by: Actor,
}

impl From<&inner::Pause> for PauseView {
    fn from(pause: &inner::Pause) -> PauseView {
        PauseView {
            since: pause.since.into(),
            until: pause.until.map(Instant),
            reason: pause.reason.clone(),
            by: pause.by.clone(),
        }
    }
}

/// A head start for the whole queue, or for the tasks that carry one key's value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct BoostView {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyPair>,
    #[schema(value_type = i32)]
    pub seconds: Priority,
}

impl From<(&inner::BoostOn, &kernel::priority::Priority)> for BoostView {
    fn from((on, boost): (&inner::BoostOn, &kernel::priority::Priority)) -> BoostView {
        BoostView { key: on.key.as_ref().map(KeyPair::from), seconds: Priority(*boost) }
    }
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Counts {
    /// All that wait: ready, scheduled, blocked or held.
    pub queued: u64,
    /// Could be picked now, as far as the task itself goes.
    pub ready: u64,
    /// Wait for their instant.
    pub scheduled: u64,
    /// Wait for other tasks.
    pub blocked: u64,
    /// Their runs are paused.
    pub held: u64,
    /// Workers hold them.
    pub running: u64,
    /// Their runs hold them until these end: tasks of handlers that start a workflow. They are not among `running`.
    pub in_runs: u64,
    /// Hold an override slot, waiting or running.
    pub overrides: u64,
    /// Dead letters.
    pub dead: u64,
}

impl Counts {
    /// Of both together.
    pub fn plus(&self, other: &Counts) -> Counts {
        Counts {
            queued: self.queued + other.queued,
            ready: self.ready + other.ready,
            scheduled: self.scheduled + other.scheduled,
            blocked: self.blocked + other.blocked,
            held: self.held + other.held,
            running: self.running + other.running,
            in_runs: self.in_runs + other.in_runs,
            overrides: self.overrides + other.overrides,
            dead: self.dead + other.dead,
        }
    }
}

/// Which queues to list.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct QueueQuery {
    /// Count only what events of this family made, or of those that a pattern such as `github/*` covers, and list only the queues
    /// that hold some. What no event made is of the family that its queue is called. `oldest_at` is left out
    /// where others wait, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub family: Option<Pattern>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct QueueList {
    pub queues: Vec<QueueView>,
    /// What may be a mistake: there is nothing of that family, but of some below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
