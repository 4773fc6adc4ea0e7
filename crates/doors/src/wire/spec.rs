//! What records tell of tasks, bulks, runs and nodes when they begin.

use super::{Instant, Priority, Retry, RunOrigin, TaskFilter, TriggerView};
use kernel::bulk::BulkWork;
use kernel::ids::{EventId, RunId, TaskId};
use kernel::names::*;
use kernel::node::Started;
use kernel::record::TaskSpec;
use kernel::run::RunSpec;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

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
    /// The node of a run that it is the work of, such as `run-7/pay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_by: Option<Instant>,
    /// What it was made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<TriggerView>,
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
            node: spec.node.as_ref().map(|at| at.show()),
            start_by: spec.start_by.map(Instant),
            trigger: spec.trigger.as_deref().map(TriggerView::from),
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

/// What a run was told to be when it was started.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RunSpecView {
    #[schema(value_type = String)]
    pub workflow: WorkflowName,
    pub version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i32>)]
    pub priority: Option<Priority>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub tags: Vec<Tag>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub idempotency_key: Option<IdempotencyKey>,
    /// The node that called it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The run that it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<RunOrigin>,
    /// The event it was started for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub event: Option<EventId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Instant>,
}

impl From<&RunSpec> for RunSpecView {
    fn from(spec: &RunSpec) -> RunSpecView {
        RunSpecView {
            workflow: spec.workflow.clone(),
            version: spec.version,
            priority: spec.priority.map(Priority),
            tags: spec.tags.clone(),
            idempotency_key: spec.idempotency_key.clone(),
            parent: spec.parent.as_ref().map(|at| at.show()),
            origin: spec.origin.as_deref().map(RunOrigin::from),
            event: spec.event,
            deadline: spec.deadline.map(Instant),
        }
    }
}

/// What a node that was started is at; `work` says which.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "work", rename_all = "snake_case")]
#[rustfmt::skip]
pub enum NodeWork {
    /// A worker's task.
    Working { #[schema(value_type = String)] task: TaskId },
    /// A run of its own.
    Calling { #[schema(value_type = String)] run: RunId },
    /// Somebody has to answer.
    Asking { #[serde(default, skip_serializing_if = "Option::is_none")] until: Option<Instant> },
    Sleeping { until: Instant },
    /// An event has to come.
    Awaiting {
        #[schema(value_type = String)] event: EventName,
        /// What of it has to be what.
        #[serde(default, skip_serializing_if = "Option::is_none")] key: Option<AwaitKey>,
        #[serde(default, skip_serializing_if = "Option::is_none")] until: Option<Instant>,
    },
    /// The turns of a loop.
    Turning {},
    /// The items of an each.
    Spreading { items: u32 },
    #[serde(other, skip_serializing)]
    Unknown,
}

/// `event.data.order` has to be `"o-7"`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct AwaitKey {
    pub of: String,
    #[schema(value_type = serde_json::Value)]
    pub is: serde_json::Value,
}

impl From<&(Box<str>, Box<str>)> for AwaitKey {
    fn from((of, is): &(Box<str>, Box<str>)) -> AwaitKey {
        AwaitKey { of: of.to_string(), is: serde_json::from_str(is).unwrap_or_default() }
    }
}

impl From<&Started> for NodeWork {
    fn from(started: &Started) -> NodeWork {
        match started {
            Started::Working { task } => NodeWork::Working { task: *task },
            Started::Calling { run, .. } => NodeWork::Calling { run: *run },
            Started::Asking { until } => NodeWork::Asking { until: until.map(Instant) },
            Started::Sleeping { until } => NodeWork::Sleeping { until: Instant(*until) },
            Started::Awaiting(awaiting) => NodeWork::Awaiting {
                event: awaiting.event.clone(),
                key: awaiting.key.as_ref().map(AwaitKey::from),
                until: awaiting.until.map(Instant),
            },
            Started::Turning { .. } => NodeWork::Turning {},
            Started::Spreading { count, .. } => NodeWork::Spreading { items: *count },
        }
    }
}

/// What a bulk was told to do; `work` says which.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "work", rename_all = "snake_case")]
#[rustfmt::skip]
pub enum BulkWorkView {
    Clear {
        #[schema(value_type = String)] queue: QueueName,
        reason: String,
        #[serde(default, skip_serializing_if = "Option::is_none")] filter: Option<TaskFilter>,
    },
    Drain {
        #[schema(value_type = String)] queue: QueueName,
        #[serde(default, skip_serializing_if = "Option::is_none")] filter: Option<TaskFilter>,
    },
    /// What waits of these families, in whatever queue, if its priority is no higher than `upto`.
    Shed {
        #[schema(value_type = Vec<String>)] families: Vec<Pattern>,
        #[schema(value_type = i32)] upto: Priority,
        reason: String,
    },
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
    /// Over the runs that `where` means.
    Runs {
        verb: String,
        r#where: String,
        #[serde(default, skip_serializing_if = "Option::is_none")] per_s: Option<u32>,
    },
    #[serde(other, skip_serializing)]
    Unknown,
}

impl From<&BulkWork> for BulkWorkView {
    fn from(work: &BulkWork) -> BulkWorkView {
        let some = |filter: &kernel::bulk::TaskFilter| Some(filter).filter(|filter| !filter.is_any()).map(TaskFilter::from);
        match work.clone() {
            BulkWork::Clear { queue, reason, filter, .. } => BulkWorkView::Clear { queue, reason, filter: some(&filter) },
            BulkWork::Drain { queue, filter, .. } => BulkWorkView::Drain { queue, filter: some(&filter) },
            BulkWork::Shed { families, priority, reason, .. } => {
                BulkWorkView::Shed { families, upto: Priority(priority), reason }
            }
            BulkWork::Reprioritize { queue, filter, priority, .. } => {
                BulkWorkView::Reprioritize { queue, filter: TaskFilter::from(&filter), priority: Priority(priority) }
            }
            BulkWork::Redrive { queue, filter, per_s, .. } => {
                BulkWorkView::Redrive { queue, filter: TaskFilter::from(&filter), per_s }
            }
            BulkWork::Unblock { blocker } => BulkWorkView::Unblock { blocker },
            BulkWork::Runs { verb, filter, per_s, .. } => {
                BulkWorkView::Runs { verb: verb.as_str().to_owned(), r#where: filter, per_s }
            }
        }
    }
}
