//! Tasks: what is asked of them and how they are shown.

use super::object::objects;
use super::{CancelCause, Instant, KeyPair, Priority, Problem, Retry, Status, TriggerView, fence_text, key_text, place};
use kernel::command::{Added, NewTask};
use kernel::ids::{Fence, RunId, TaskId};
use kernel::lease::{Ending, Lease};
use kernel::limits::*;
use kernel::names::*;
use kernel::readable::readable;
use kernel::record::{Failure, Payload, TaskSpec};
use kernel::task::Task;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use utoipa::{IntoParams, ToSchema};

objects!(TaskAdd, TasksAdd, TaskError, TaskCancel, TaskStart);

pub const LIST_LIMIT_DEFAULT: u32 = 50;
pub const LIST_LIMIT_MAX: u32 = 1_000;

/// A task to add. Everything but `type` may be left out.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
#[schema(example = json!({"type": "lint", "input": {"file": "a.rs"}, "priority": "high", "keys": {"tenant": "acme"}}))]
pub struct TaskAdd {
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    pub kind: TypeName,
    /// The type's own name when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub queue: Option<QueueName>,
    /// Any JSON; null when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub input: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// A value for each limit key it counts under.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = std::collections::HashMap<String, String>)]
    pub keys: BTreeMap<KeyName, KeyValue>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub tags: Vec<Tag>,
    /// Waits until each of these is done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub blocked_by: Vec<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_for: Option<Instant>,
    /// Instead of `scheduled_for`: so long after it is added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// Adding again with the same key answers the task it made the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub idempotency_key: Option<IdempotencyKey>,
    /// Instead of the queue's own policy, whole: what is left out of it has its default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// How long one attempt may run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_ms: Option<u64>,
    /// Added without entering its queue.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idle: bool,
    /// Cancelled unless it starts before this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_by: Option<Instant>,
}

impl TaskAdd {
    pub fn new(kind: TypeName) -> TaskAdd {
        TaskAdd {
            kind,
            queue: None,
            input: None,
            priority: None,
            keys: BTreeMap::new(),
            tags: Vec::new(),
            blocked_by: Vec::new(),
            scheduled_for: None,
            delay_ms: None,
            idempotency_key: None,
            retry: None,
            budget_ms: None,
            idle: false,
            start_by: None,
        }
    }

    pub fn into_new_task(self) -> Result<NewTask, Problem> {
        not_own(&self.kind)?;
        at_most("keys", self.keys.len(), TASK_KEYS_MAX)?;
        at_most("tags", self.tags.len(), TASK_TAGS_MAX)?;
        at_most("blocked_by", self.blocked_by.len(), TASK_BLOCKERS_MAX)?;
        if self.scheduled_for.is_some() && self.delay_ms.is_some() {
            return Err(Problem::invalid("scheduled_for and delay_ms exclude each other"));
        }
        if self.delay_ms.is_some_and(|ms| ms > TIME_US_MAX as u64 / 1_000) {
            return Err(Problem::invalid("delay_ms reaches beyond the year 9999"));
        }
        if self.budget_ms.is_some_and(|ms| ms == 0 || ms > BUDGET_MS_MAX) {
            return Err(Problem::invalid(format!("budget_ms must lie between 1 and {BUDGET_MS_MAX}")));
        }
        let retry = self.retry.map(kernel::retry::RetryPolicy::from);
        retry.map_or(Ok(()), |retry| retry.check()).map_err(Problem::invalid)?;
        let spec = TaskSpec {
            queue: match self.queue {
                Some(queue) => queue,
                None => QueueName::parse(self.kind.as_str())?,
            },
            kind: self.kind,
            priority: self.priority.unwrap_or_default().0,
            keys: self.keys.into_iter().collect(),
            tags: once_each(self.tags),
            blocked_by: once_each(self.blocked_by),
            scheduled_for: self.scheduled_for.map(|instant| instant.0),
            idempotency_key: self.idempotency_key,
            retry,
            budget_ms: self.budget_ms,
            idle: self.idle,
            node: None,
            generation: 0,
            start_by: self.start_by.map(|instant| instant.0),
            trigger: None,
            input: None,
        };
        Ok(NewTask { spec, delay_ms: self.delay_ms.unwrap_or(0), input: payload("input", self.input)? })
    }
}

/// What begins with `@` is done by the server itself.
pub(super) fn not_own(kind: &TypeName) -> Result<(), Problem> {
    match kind.as_str().starts_with('@') {
        true => Err(Problem::invalid(format!("type `{kind}` begins with @, as only the server's own do: name another"))),
        false => Ok(()),
    }
}

pub(super) fn at_most(name: &str, count: usize, max: usize) -> Result<(), Problem> {
    if count > max { Err(Problem::invalid(format!("{name} holds {count} entries; at most {max} are allowed"))) } else { Ok(()) }
}

pub(super) fn once_each<T: PartialEq>(values: Vec<T>) -> Vec<T> {
    let mut kept = Vec::with_capacity(values.len());
    for value in values {
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    kept
}

/// The text as it came, within its bound; what was left out is null.
pub fn payload(name: &str, raw: Option<Box<RawValue>>) -> Result<Payload, Problem> {
    let Some(raw) = raw else { return Ok(Payload::null()) };
    let bytes = raw.get().len();
    if bytes > PAYLOAD_BYTES_MAX {
        let message = format!("{name} is {bytes} bytes of JSON; at most {PAYLOAD_BYTES_MAX} are allowed");
        return Err(Problem::new("too_large", message, "keep the content elsewhere and send a reference to it"));
    }
    readable(raw.get()).map_err(|error| Problem::invalid(format!("{name} is JSON that not everyone can read: {error}")))?;
    Ok(Payload(raw.get().into()))
}

/// Several tasks: all of them are added, or none.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct TasksAdd {
    pub tasks: Vec<TaskAdd>,
}

impl TasksAdd {
    pub fn into_new_tasks(self) -> Result<Vec<NewTask>, Problem> {
        if self.tasks.is_empty() {
            return Err(Problem::invalid("tasks is empty"));
        }
        at_most("tasks", self.tasks.len(), ADD_TASKS_MAX)?;
        let blockers = self.tasks.iter().map(|task| task.blocked_by.len()).sum();
        at_most("blocked_by of all tasks together", blockers, ADD_BLOCKERS_MAX)?;
        let place = |(index, task): (usize, TaskAdd)| {
            task.into_new_task().map_err(|problem| Problem { message: format!("tasks[{index}]: {}", problem.message), ..problem })
        };
        self.tasks.into_iter().enumerate().map(place).collect()
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct TaskAdded {
    #[schema(value_type = String)]
    pub task: TaskId,
    /// The idempotency key was used before: this is the task it made then.
    pub duplicate: bool,
    /// And that was for another input, which was used; nothing of this request was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub input_differs: bool,
}

impl From<&Added> for TaskAdded {
    fn from(added: &Added) -> TaskAdded {
        TaskAdded { task: added.task, duplicate: added.duplicate, input_differs: false }
    }
}

/// In the order they were sent.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TasksAdded {
    pub tasks: Vec<TaskAdded>,
}

/// A task as it stands. In lists `input` and `output` are left out.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TaskView {
    #[schema(value_type = String)]
    pub task: TaskId,
    #[schema(value_type = String)]
    pub queue: QueueName,
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    pub kind: TypeName,
    pub status: Status,
    #[schema(value_type = i32)]
    pub priority: Priority,
    /// Attempts begun.
    pub attempt: u16,
    pub created_at: Instant,
    /// Since when it is queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Instant>,
    /// The instant its place in the queue counts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_at: Option<Instant>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_for: Option<Instant>,
    /// Its run is paused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    #[serde(default)]
    #[schema(value_type = std::collections::HashMap<String, String>)]
    pub keys: BTreeMap<KeyName, KeyValue>,
    #[serde(default)]
    #[schema(value_type = Vec<String>)]
    pub tags: Vec<Tag>,
    #[serde(default)]
    #[schema(value_type = Vec<String>)]
    pub blocked_by: Vec<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub idempotency_key: Option<IdempotencyKey>,
    /// The run it is work of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub run: Option<RunId>,
    /// The node of that run, such as `rounds[1].check[4]/lint`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Cancelled unless it starts before this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_by: Option<Instant>,
    /// What it was made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<TriggerView>,
    /// Waits on an override slot, past the queue's limits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub run_now: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Instant>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<CancelledView>,
    /// Of the last attempt that did not succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TaskError>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub input: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub output: Option<Box<RawValue>>,
}

impl From<&Task> for TaskView {
    /// Without input and output: those are read apart.
    fn from(task: &Task) -> TaskView {
        let card = task.card();
        let queued = match task {
            Task::Queued(queued) => Some(queued),
            _ => None,
        };
        let cancelled = task.cancelled_why().map(|(cause, by, reason)| CancelledView {
            cause: cause.into(),
            by: by.clone(),
            reason: reason.to_owned(),
        });
        TaskView {
            task: card.id(),
            queue: card.route().queue().clone(),
            kind: card.route().kind().clone(),
            status: task.status().into(),
            priority: Priority(card.priority()),
            attempt: card.attempt(),
            created_at: card.created_at().into(),
            since: queued.map(|queued| queued.since().into()),
            ready_at: queued.map(|queued| queued.ready_at().into()),
            scheduled_for: card.scheduled_for().map(Instant),
            held: card.is_held(),
            keys: card.route().keys().iter().cloned().collect(),
            tags: card.tags().to_vec(),
            blocked_by: card.blocked_by().to_vec(),
            idempotency_key: card.idempotency_key().cloned(),
            run: card.node().map(|at| at.run),
            node: card.node().map(|at| place(&at.frame, &at.node)),
            start_by: card.start_by().map(Instant),
            trigger: card.trigger().map(TriggerView::from),
            run_now: queued.is_some_and(|queued| queued.is_run_now()),
            lease: task.lease().map(LeaseView::from),
            finished_at: task.finished_at().map(Instant),
            cancelled,
            error: card.failure().map(TaskError::from),
            input: None,
            output: None,
        }
    }
}

/// Who works on it, and how long it may.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct LeaseView {
    #[schema(value_type = String)]
    pub worker: WorkerName,
    #[serde(with = "fence_text")]
    #[schema(value_type = String)]
    pub fence: Fence,
    pub since: Instant,
    pub heartbeat_ms: u32,
    pub budget_until: Instant,
    /// The run that does the work: no worker is heard of, and no budget counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub run: Option<RunId>,
    /// The worker has been asked to stop and has not answered yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<EndingView>,
    /// How far the worker is, from 0 to 1, and at what, by its own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl From<&Lease> for LeaseView {
    fn from(lease: &Lease) -> LeaseView {
        LeaseView {
            worker: lease.worker().clone(),
            fence: lease.fence(),
            since: lease.since().into(),
            heartbeat_ms: lease.heartbeat_ms(),
            budget_until: lease.budget_until().into(),
            run: lease.run(),
            ending: lease.ending().map(|ending| match ending {
                Ending::Cancel { .. } => EndingView::Cancel,
                Ending::TimedOut => EndingView::TimedOut,
            }),
            progress: None,
            message: None,
        }
    }
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndingView {
    Cancel,
    TimedOut,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CancelledView {
    pub cause: CancelCause,
    #[schema(value_type = String)]
    pub by: Actor,
    pub reason: String,
}

/// Why an attempt did not succeed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct TaskError {
    pub code: String,
    #[serde(default)]
    pub message: String,
}

impl From<&Failure> for TaskError {
    fn from(failure: &Failure) -> TaskError {
        TaskError { code: failure.code.clone(), message: failure.message.clone() }
    }
}

/// Which tasks to list: every given condition holds.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct TaskQuery {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub queue: Option<QueueName>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub kind: Option<TypeName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub tag: Option<Tag>,
    /// `name=value`
    #[serde(with = "key_text", skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>, example = "tenant=acme")]
    pub key: Option<KeyPair>,
    /// Code of the last failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// Made by events of this family, or of those that a pattern such as `github/*` covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub family: Option<Pattern>,
    /// 50 when left out, at most 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// `next` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Which dead letters of a queue to list: every given condition holds.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct DeadQuery {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub kind: Option<TypeName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub tag: Option<Tag>,
    /// `name=value`
    #[serde(with = "key_text", skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>, example = "tenant=acme")]
    pub key: Option<KeyPair>,
    /// Code of the last failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// Made by events of this family, or of those that a pattern such as `github/*` covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub family: Option<Pattern>,
    /// 50 when left out, at most 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// `next` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl DeadQuery {
    pub fn of(self, queue: QueueName) -> TaskQuery {
        let DeadQuery { kind, tag, key, error_code, family, limit, cursor } = self;
        TaskQuery { queue: Some(queue), status: Some(Status::Failed), kind, tag, key, error_code, family, limit, cursor }
    }
}

/// One page of a list.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// 50 when left out, at most 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// `next` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// How many a page holds, given what was asked for.
pub fn page_limit(asked: Option<u32>) -> Result<usize, Problem> {
    match asked.unwrap_or(LIST_LIMIT_DEFAULT) {
        limit @ 1..=LIST_LIMIT_MAX => Ok(limit as usize),
        many => Err(Problem::invalid(format!("between 1 and {LIST_LIMIT_MAX} may be asked for at once, and not {many}"))),
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TaskList {
    pub tasks: Vec<TaskView>,
    /// The cursor of the next page; null on the last.
    pub next: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct TaskCancel {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct TaskStart {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
    /// Even when it is blocked by other tasks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct TaskShowQuery {
    /// While it is not done, failed or cancelled, so long is waited for that; at most 60,000. It may still not be when the answer
    /// comes: look at `status`.
    pub wait_ms: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TaskDelete {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub by: Option<Actor>,
}

/// Where the task stands after the command. A deleted task is shown with the status it had, or as cancelled if it
/// was waiting.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TaskStatus {
    #[schema(value_type = String)]
    pub task: TaskId,
    pub status: Status,
}
