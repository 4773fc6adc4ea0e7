//! Records as the outside sees them: in a task's history and in the stream. They mirror the kernel's, less what only the
//! kernel needs (digests), with times as the rest of the API has them.

use super::{CancelCause, Cursor, Instant, KeyPair, Priority, Problem, QueueConfig, Retry, TaskError, TaskFilter};
use kernel::bulk::BulkWork;
use kernel::ids::{BulkId, TaskId};
use kernel::limits::IDS_MAX;
use kernel::names::*;
use kernel::record::{Entry, Record, ReleaseCause, TaskSpec};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::{IntoParams, ToSchema};

/// The stream sends a comment at least so often, so that a silent connection is a dead one.
pub const STREAM_COMMENT_EVERY_MS: u64 = 15_000;
/// The name of the event that says: the cursor is gone, read the state afresh.
pub const STREAM_RESET: &str = "reset";

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RecordView {
    pub seq: Cursor,
    pub at: Instant,
    /// Whose history it belongs to: `task-9m2`, `queue:ci`, `bulk-3`, `key:ci|tenant=acme`, `rate:ci`, `shard`.
    pub owner: String,
    pub record: RecordBody,
}

impl From<&Entry> for RecordView {
    fn from(entry: &Entry) -> RecordView {
        RecordView {
            seq: Cursor(entry.seq),
            at: entry.at.into(),
            owner: entry.owner.to_string(),
            record: RecordBody::from(&entry.record),
        }
    }
}

/// A task's records, oldest first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct History {
    pub records: Vec<RecordView>,
}

/// Which records to stream; each list is separated by commas, and left out means all.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct StreamQuery {
    /// Records of these queues and of their tasks and keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Kinds: `task_done,task_failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
}

/// An empty list lets everything through.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StreamFilter {
    pub queues: Vec<QueueName>,
    pub tasks: Vec<TaskId>,
    pub kinds: Vec<&'static str>,
}

impl StreamQuery {
    pub fn filter(&self) -> Result<StreamFilter, Problem> {
        fn each<T>(list: &Option<String>, parse: impl Fn(&str) -> Result<T, Problem>) -> Result<Vec<T>, Problem> {
            let Some(list) = list else { return Ok(Vec::new()) };
            if list.split(',').count() > IDS_MAX {
                return Err(Problem::invalid(format!("a filter of the stream holds at most {IDS_MAX} entries")));
            }
            list.split(',').map(parse).collect()
        }
        let task = |text: &str| TaskId::parse(text).ok_or_else(|| Problem::invalid(format!("`{text}` is not a task id")));
        let kind = |text: &str| {
            let known = Record::KINDS.into_iter().find(|kind| *kind == text);
            known.ok_or_else(|| Problem::invalid(format!("`{text}` is no kind of record; one of {}", Record::KINDS.join(", "))))
        };
        Ok(StreamFilter {
            queues: each(&self.queue, |text| Ok(QueueName::parse(text)?))?,
            tasks: each(&self.task, task)?,
            kinds: each(&self.record, kind)?,
        })
    }
}

/// What a task was told to be when it was added.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TaskSpecView {
    #[schema(value_type = String)]
    pub queue: QueueName,
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    pub kind: TypeName,
    #[schema(value_type = i32)]
    pub priority: Priority,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = std::collections::HashMap<String, String>)]
    pub keys: BTreeMap<KeyName, KeyValue>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub tags: Vec<Tag>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub blocked_by: Vec<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_for: Option<Instant>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub idempotency_key: Option<IdempotencyKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idle: bool,
}

impl From<&TaskSpec> for TaskSpecView {
    fn from(spec: &TaskSpec) -> TaskSpecView {
        TaskSpecView {
            queue: spec.queue.clone(),
            kind: spec.kind.clone(),
            priority: Priority(spec.priority),
            keys: spec.keys.iter().cloned().collect(),
            tags: spec.tags.clone(),
            blocked_by: spec.blocked_by.clone(),
            scheduled_for: spec.scheduled_for.map(Instant),
            idempotency_key: spec.idempotency_key.clone(),
            retry: spec.retry.map(Retry::from),
            budget_ms: spec.budget_ms,
            idle: spec.idle,
        }
    }
}

/// Why a lease was handed back without burning its attempt.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReleasedCause {
    Worker,
    Undelivered,
}

/// The body of a record; `record` says which.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "record", rename_all = "snake_case")]
#[rustfmt::skip]
pub enum RecordBody {
    IdsReserved { ids: u64, records: u64 },

    TaskAdded { spec: Box<TaskSpecView> },
    TaskQueued {
        ready_at: Instant, run_now: bool,
        #[schema(value_type = String)] by: Actor,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[schema(value_type = Option<String>)] bulk: Option<BulkId>,
    },
    TaskRunNow { #[schema(value_type = String)] by: Actor },
    TaskUnblocked { #[schema(value_type = String)] blocker: TaskId },
    TaskBlockersChanged {
        #[schema(value_type = Vec<String>)] blocked_by: Vec<TaskId>,
        #[schema(value_type = String)] deleted: TaskId,
    },
    TaskReprioritized { #[schema(value_type = i32)] priority: Priority, #[schema(value_type = String)] by: Actor },
    TaskExpedited { #[schema(value_type = String)] bulk: BulkId },
    TaskLeased {
        #[schema(value_type = String)] worker: WorkerName,
        attempt: u16, heartbeat_ms: u32, budget_until: Instant, run_now: bool,
    },
    TaskReleased { cause: ReleasedCause },
    TaskCancelRequested { #[schema(value_type = String)] by: Actor, reason: String },
    TaskTimedOut {},
    TaskRetried { error: TaskError, retry_at: Instant },
    TaskDone {},
    TaskFailed { error: TaskError },
    TaskCancelled { cause: CancelCause, #[schema(value_type = String)] by: Actor, reason: String },
    TaskReset { #[schema(value_type = String)] by: Actor },
    TaskDeleted { #[schema(value_type = String)] queue: QueueName, #[schema(value_type = String)] by: Actor },

    QueueConfigured { config: Box<QueueConfig>, #[schema(value_type = String)] by: Actor },
    QueuePaused {
        #[serde(default, skip_serializing_if = "Option::is_none")] until: Option<Instant>,
        reason: String,
        #[schema(value_type = String)] by: Actor,
    },
    QueueResumed { #[schema(value_type = String)] by: Actor, expired: bool },
    QueueBoosted {
        #[serde(default, skip_serializing_if = "Option::is_none")] key: Option<KeyPair>,
        #[schema(value_type = i32)] seconds: Priority,
        #[schema(value_type = String)] by: Actor,
    },

    PermitTaken { arrival: Instant },
    PermitsForgotten {},

    BulkStarted { work: Box<BulkWorkView>, #[schema(value_type = String)] by: Actor, reason: String },
    BulkAdvanced {
        #[schema(value_type = String)] after: TaskId,
        items: u32, skipped: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")] resume_at: Option<Instant>,
    },
    BulkFinished { items: u32, skipped: u32 },
    BulkCancelled { #[schema(value_type = String)] by: Actor },

    /// A newer server's record that this client does not know.
    #[serde(other, skip_serializing)]
    Unknown,
}

impl From<&Record> for RecordBody {
    fn from(record: &Record) -> RecordBody {
        use RecordBody as Wire;
        match record.clone() {
            Record::IdsReserved { ids, records } => Wire::IdsReserved { ids, records },
            Record::TaskAdded { spec } => Wire::TaskAdded { spec: Box::new(TaskSpecView::from(&*spec)) },
            Record::TaskQueued { ready_at, run_now, by, bulk } => {
                Wire::TaskQueued { ready_at: ready_at.into(), run_now, by, bulk }
            }
            Record::TaskRunNow { by } => Wire::TaskRunNow { by },
            Record::TaskUnblocked { blocker } => Wire::TaskUnblocked { blocker },
            Record::TaskBlockersChanged { blocked_by, deleted } => Wire::TaskBlockersChanged { blocked_by, deleted },
            Record::TaskReprioritized { priority, by } => Wire::TaskReprioritized { priority: Priority(priority), by },
            Record::TaskExpedited { bulk } => Wire::TaskExpedited { bulk },
            Record::TaskLeased { worker, attempt, heartbeat_ms, budget_until, run_now } => {
                Wire::TaskLeased { worker, attempt, heartbeat_ms, budget_until: budget_until.into(), run_now }
            }
            Record::TaskReleased { cause } => Wire::TaskReleased {
                cause: match cause {
                    ReleaseCause::Worker => ReleasedCause::Worker,
                    ReleaseCause::Undelivered => ReleasedCause::Undelivered,
                },
            },
            Record::TaskCancelRequested { by, reason } => Wire::TaskCancelRequested { by, reason },
            Record::TaskTimedOut {} => Wire::TaskTimedOut {},
            Record::TaskRetried { failure, retry_at, .. } => {
                Wire::TaskRetried { error: TaskError::from(&failure), retry_at: retry_at.into() }
            }
            Record::TaskDone { .. } => Wire::TaskDone {},
            Record::TaskFailed { failure, .. } => Wire::TaskFailed { error: TaskError::from(&failure) },
            Record::TaskCancelled { cause, by, reason, .. } => Wire::TaskCancelled { cause: cause.into(), by, reason },
            Record::TaskReset { by } => Wire::TaskReset { by },
            Record::TaskDeleted { queue, by } => Wire::TaskDeleted { queue, by },
            Record::QueueConfigured { config, by } => Wire::QueueConfigured { config: Box::new(QueueConfig::from(&*config)), by },
            Record::QueuePaused { until, reason, by } => Wire::QueuePaused { until: until.map(Instant), reason, by },
            Record::QueueResumed { by, expired } => Wire::QueueResumed { by, expired },
            Record::QueueBoosted { on, boost, by } => {
                Wire::QueueBoosted { key: on.key.as_ref().map(KeyPair::from), seconds: Priority(boost), by }
            }
            Record::PermitTaken { arrival } => Wire::PermitTaken { arrival: arrival.into() },
            Record::PermitsForgotten {} => Wire::PermitsForgotten {},
            Record::BulkStarted { work, by, reason } => {
                Wire::BulkStarted { work: Box::new(BulkWorkView::from(&*work)), by, reason }
            }
            Record::BulkAdvanced { after, items, skipped, resume_at } => {
                Wire::BulkAdvanced { after, items, skipped, resume_at: resume_at.map(Instant) }
            }
            Record::BulkFinished { items, skipped } => Wire::BulkFinished { items, skipped },
            Record::BulkCancelled { by } => Wire::BulkCancelled { by },
        }
    }
}

/// What a bulk was told to do; `work` says which.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "work", rename_all = "snake_case")]
#[rustfmt::skip]
pub enum BulkWorkView {
    Clear { #[schema(value_type = String)] queue: QueueName, reason: String },
    Drain { #[schema(value_type = String)] queue: QueueName },
    Reprioritize {
        #[schema(value_type = String)] queue: QueueName,
        filter: TaskFilter,
        #[schema(value_type = i32)] priority: Priority,
    },
    Redrive {
        #[schema(value_type = String)] queue: QueueName,
        filter: TaskFilter,
        #[serde(default, skip_serializing_if = "Option::is_none")] per_s: Option<u32>,
    },
    Unblock { #[schema(value_type = String)] blocker: TaskId },
    #[serde(other, skip_serializing)]
    Unknown,
}

impl From<&BulkWork> for BulkWorkView {
    fn from(work: &BulkWork) -> BulkWorkView {
        match work.clone() {
            BulkWork::Clear { queue, reason, .. } => BulkWorkView::Clear { queue, reason },
            BulkWork::Drain { queue, .. } => BulkWorkView::Drain { queue },
            BulkWork::Reprioritize { queue, filter, priority, .. } => {
                BulkWorkView::Reprioritize { queue, filter: TaskFilter::from(&filter), priority: Priority(priority) }
            }
            BulkWork::Redrive { queue, filter, per_s, .. } => {
                BulkWorkView::Redrive { queue, filter: TaskFilter::from(&filter), per_s }
            }
            BulkWork::Unblock { blocker } => BulkWorkView::Unblock { blocker },
        }
    }
}
