//! Records as the outside sees them: in a task's history and in the stream. They mirror the kernel's, less what only the
//! kernel needs (digests), with times as the rest of the API has them.

use super::{AnswerView, BulkWorkView, HandledView, NodeWork, ReleasedCause, RunRefused, RunSpecView, TaskSpecView};
use super::{CancelCause, Cursor, Instant, KeyPair, Priority, Problem, QueueConfig, TaskError, way};
use kernel::ids::{BulkId, EventId, RunId, TaskId};
use kernel::limits::IDS_MAX;
use kernel::names::*;
use kernel::record::{Entry, Owner, Record, ReleaseCause};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// The stream sends a comment at least so often, so that a silent connection is a dead one.
pub const STREAM_COMMENT_EVERY_MS: u64 = 15_000;
/// The name of the event that says: the cursor is gone, read the state afresh.
pub const STREAM_RESET: &str = "reset";
/// What a worker said, on the stream.
pub const STREAM_LOG: &str = "task_log";
/// How far it said it was.
pub const STREAM_PROGRESS: &str = "task_progress";

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RecordView {
    pub seq: Cursor,
    pub at: Instant,
    /// Whose history it belongs to: `task-9m2`, `queue:ci`, `bulk-3`, `key:ci|tenant=acme`, `rate:ci`, `shard`,
    /// `event-7`, `registry`, `family:github/*`, `workflow:3:refund`, `run-7`, a turn or item `run-7/rounds[1]`, a node `run-7/rounds[1]/lint`.
    pub owner: String,
    pub record: RecordBody,
}

impl From<&Entry> for RecordView {
    fn from(entry: &Entry) -> RecordView {
        RecordView {
            seq: Cursor(entry.seq),
            at: entry.at.into(),
            owner: match &entry.owner {
                Owner::Node(at) => at.show(),
                owner => owner.to_string(),
            },
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
    /// Records of these runs, of their turns, items and nodes, and of their tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Kinds: `task_done,task_failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
    /// Also what workers say, as events `task_log` and `task_progress` that have no id: a listener that comes back does not hear them again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub logs: bool,
}

/// An empty list lets everything through.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StreamFilter {
    pub queues: Vec<QueueName>,
    pub tasks: Vec<TaskId>,
    pub runs: Vec<RunId>,
    pub kinds: Vec<&'static str>,
    pub logs: bool,
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
        let run = |text: &str| RunId::parse(text).ok_or_else(|| Problem::invalid(format!("`{text}` is not a run id")));
        let kind = |text: &str| {
            let known = Record::KINDS.into_iter().find(|kind| *kind == text);
            known.ok_or_else(|| Problem::invalid(format!("`{text}` is no kind of record; one of {}", Record::KINDS.join(", "))))
        };
        Ok(StreamFilter {
            queues: each(&self.queue, |text| Ok(QueueName::parse(text)?))?,
            tasks: each(&self.task, task)?,
            runs: each(&self.run, run)?,
            kinds: each(&self.record, kind)?,
            logs: self.logs,
        })
    }
}

/// The body of a record; `record` says which.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "record", rename_all = "snake_case")]
#[rustfmt::skip]
pub enum RecordBody {
    IdsReserved { ids: u64, records: u64 },
    RunsExpired { #[schema(value_type = Vec<String>)] runs: Vec<RunId> },
    /// These grew old and are gone, with the tasks they made.
    EventsExpired { #[schema(value_type = Vec<String>)] events: Vec<EventId> },
    /// So many requests to a webhook were not believed.
    RequestsRefused { #[schema(value_type = String)] webhook: WebhookName, requests: u32, reason: String },
    SignalsRefused { signals: u32, reason: String },
    WatchdogTripped { reason: String },
    WatchdogRecovered { reason: String, lasted_ms: u64 },
    WaitsBehind { #[schema(value_type = String)] after: EventId },
    WaitsCaughtUp {},

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
    /// Its run is paused, for the so manieth time.
    TaskHeld { pause: u32 },
    TaskLetGo { pause: u32 },
    TaskRetried { error: TaskError, retry_at: Instant },
    TaskDone {},
    TaskFailed { error: TaskError },
    TaskCancelled { cause: CancelCause, #[schema(value_type = String)] by: Actor, reason: String },
    /// Another event came into its window; `newer`: that is its input from now on.
    TaskDebounced {
        #[schema(value_type = String)] event: EventId,
        newer: bool,
        ready_at: Instant,
        #[serde(default, skip_serializing_if = "Option::is_none")] start_by: Option<Instant>,
    },
    /// Another event came into its batch; `full`: it need not wait for more.
    TaskBatched {
        #[schema(value_type = String)] event: EventId,
        full: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")] ready_at: Option<Instant>,
    },
    /// A run does its work.
    TaskHandedOver { #[schema(value_type = String)] run: RunId },
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

    FamilyPaused {
        #[serde(default, skip_serializing_if = "Option::is_none")] until: Option<Instant>,
        reason: String,
        #[schema(value_type = String)] by: Actor,
    },
    FamilyResumed { #[schema(value_type = String)] by: Actor, expired: bool },
    FamilyBoosted { #[schema(value_type = i32)] seconds: Priority, #[schema(value_type = String)] by: Actor },

    EventReceived {
        #[schema(value_type = String)] name: EventName,
        /// The one its sender gave it.
        #[serde(default, skip_serializing_if = "Option::is_none")] #[schema(value_type = Option<String>)] id: Option<EventKey>,
        #[serde(default)] handled: Vec<HandledView>,
    },
    EventReplayed { #[serde(default)] handled: Vec<HandledView>, #[schema(value_type = String)] by: Actor },
    EventHeard { #[schema(value_type = String)] run: RunId },
    RegistryPut {
        revision: u32,
        #[schema(value_type = Vec<String>)] queues: Vec<QueueName>,
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
    BulkRunsAdvanced {
        #[schema(value_type = String)] after: RunId,
        items: u32, skipped: u32,
        #[serde(default, skip_serializing_if = "Vec::is_empty")] refused: Vec<RunRefused>,
        #[serde(default, skip_serializing_if = "Option::is_none")] resume_at: Option<Instant>,
    },

    WorkflowPut { #[schema(value_type = String)] by: Actor },
    WorkflowDisabled { reason: String, #[schema(value_type = String)] by: Actor },
    WorkflowEnabled { #[schema(value_type = String)] by: Actor },

    RunStarted { spec: Box<RunSpecView>, #[schema(value_type = String)] by: Actor },
    /// `told`: all that it works on has heard of it; otherwise that goes on until `run_told`.
    RunPaused { reason: String, #[schema(value_type = String)] by: Actor, told: bool },
    RunResumed { #[schema(value_type = String)] by: Actor, told: bool },
    /// The run that called it is paused.
    RunHeld { pause: u32, told: bool },
    RunLetGo { pause: u32, told: bool },
    RunTold {},
    RunDone { closed: bool },
    RunFailed {
        error: TaskError,
        #[serde(default, skip_serializing_if = "Option::is_none")] node: Option<String>,
        closed: bool,
    },
    RunCancelled { reason: String, #[schema(value_type = String)] by: Actor, closed: bool },
    RunClosed {},
    RunReopened {
        #[serde(default, skip_serializing_if = "Option::is_none")] deadline: Option<Instant>,
        /// How often it was, with this.
        again: u32,
        #[serde(default, skip_serializing_if = "String::is_empty")] reason: String,
        #[schema(value_type = String)] by: Actor,
    },
    /// `node` and what follows from it begin anew.
    RunRestarted {
        node: String,
        generation: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")] deadline: Option<Instant>,
        reason: String,
        #[schema(value_type = String)] by: Actor,
    },
    /// It follows another text. `node`: whose worker asked for it; `more`: what is under way goes on being looked at until
    /// `run_followed`; `changes`: what is different, in a run's history.
    RunPatched {
        revision: u32,
        description: String,
        #[serde(default, skip_serializing_if = "Option::is_none")] node: Option<String>,
        /// The turn or item that follows it, and nothing else does.
        #[serde(default, skip_serializing_if = "Option::is_none")] only: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")] deadline: Option<Instant>,
        #[schema(value_type = String)] by: Actor,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")] more: bool,
        #[serde(default, skip_serializing_if = "Vec::is_empty")] changes: Vec<String>,
    },
    /// What was under way when it was patched and can follow its text does.
    RunFollowed {},
    RunDeleting { #[schema(value_type = String)] by: Actor, expired: bool },
    RunDeleted { #[schema(value_type = String)] workflow: WorkflowName, #[schema(value_type = String)] by: Actor },

    /// `revision`: of the run's texts, the one it follows.
    FrameOpened { #[serde(default)] revision: u32 },
    FrameDone {},
    FrameFailed { error: TaskError },
    FrameDropped {},
    FrameReopened { #[serde(default)] revision: u32 },
    FramePatched { revision: u32 },
    /// Something in it begins anew: it is taken up again when there is room.
    FrameReset {},

    NodeStarted { #[serde(flatten)] work: NodeWork },
    /// `heard`: the event, of one that waited for it; `answer`: of an approval, in a run's history.
    NodeDone {
        #[serde(default, skip_serializing_if = "Option::is_none")] way: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")] #[schema(value_type = Option<String>)] heard: Option<EventId>,
        #[serde(default, skip_serializing_if = "Option::is_none")] answer: Option<AnswerView>,
    },
    /// `then`: what that means, `fail`, `to` or `ignore`.
    NodeFailed { error: TaskError, then: String },
    /// `cause`: `untaken` or `failed`; `why`: what made it so, in a run's history.
    NodeSkipped { cause: String, #[serde(default, skip_serializing_if = "Option::is_none")] why: Option<String> },
    NodeCancelled {},
    NodeReopened { #[schema(value_type = String)] by: Actor },
    /// Undone by a restart.
    NodeReset {},
    /// Something in it was restarted; of a loop so many turns stay.
    NodeRewound { turns: u32, generation: u32 },
    NodeLooked {},
    /// Somebody said what it gives.
    NodeSet { reason: String, #[schema(value_type = String)] by: Actor },

    /// A newer server's record that this client does not know.
    #[serde(other, skip_serializing)]
    Unknown,
}

impl From<&Record> for RecordBody {
    fn from(record: &Record) -> RecordBody {
        use RecordBody as Wire;
        match record.clone() {
            Record::IdsReserved { ids, records } => Wire::IdsReserved { ids, records },
            Record::RunsExpired { runs } => Wire::RunsExpired { runs },
            Record::EventsExpired { events } => Wire::EventsExpired { events },
            Record::RequestsRefused { webhook, requests, reason } => Wire::RequestsRefused { webhook, requests, reason },
            Record::SignalsRefused { signals, reason } => Wire::SignalsRefused { signals, reason },
            Record::TaskDebounced { event, newer, ready_at, start_by, .. } => {
                let (newer, ready_at, start_by) = (newer.is_some(), ready_at.into(), start_by.map(Instant));
                Wire::TaskDebounced { event, newer, ready_at, start_by }
            }
            Record::TaskBatched { event, full, ready_at, .. } => {
                Wire::TaskBatched { event, full, ready_at: ready_at.map(Instant) }
            }
            Record::TaskHandedOver { run } => Wire::TaskHandedOver { run },
            Record::FamilyPaused { until, reason, by } => Wire::FamilyPaused { until: until.map(Instant), reason, by },
            Record::FamilyResumed { by, expired } => Wire::FamilyResumed { by, expired },
            Record::FamilyBoosted { boost, by } => Wire::FamilyBoosted { seconds: Priority(boost), by },
            Record::EventReceived { spec, handled } => {
                let handled = handled.iter().map(HandledView::from).collect();
                Wire::EventReceived { name: spec.name, id: spec.key, handled }
            }
            Record::EventReplayed { handled, by } => {
                Wire::EventReplayed { handled: handled.iter().map(HandledView::from).collect(), by }
            }
            Record::EventHeard { run, .. } => Wire::EventHeard { run },
            Record::RegistryPut { revision, queues, by } => {
                Wire::RegistryPut { revision, queues: queues.into_iter().collect(), by }
            }
            Record::WatchdogTripped { reason } => Wire::WatchdogTripped { reason: reason.to_string() },
            Record::WatchdogRecovered { reason, lasted_ms } => Wire::WatchdogRecovered { reason: reason.to_string(), lasted_ms },
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
            Record::TaskHeld { pause } => Wire::TaskHeld { pause },
            Record::TaskLetGo { pause } => Wire::TaskLetGo { pause },
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
            Record::BulkRunsAdvanced { after, items, skipped, refused, resume_at } => {
                let refused = refused.into_iter().map(RunRefused::from).collect();
                Wire::BulkRunsAdvanced { after, items, skipped, refused, resume_at: resume_at.map(Instant) }
            }
            Record::WorkflowPut { by } => Wire::WorkflowPut { by },
            Record::WorkflowDisabled { reason, by } => Wire::WorkflowDisabled { reason, by },
            Record::WorkflowEnabled { by } => Wire::WorkflowEnabled { by },
            Record::RunStarted { spec, by } => Wire::RunStarted { spec: Box::new(RunSpecView::from(&*spec)), by },
            Record::RunPaused { reason, by, told } => Wire::RunPaused { reason, by, told },
            Record::RunResumed { by, told } => Wire::RunResumed { by, told },
            Record::RunHeld { pause, told } => Wire::RunHeld { pause, told },
            Record::RunLetGo { pause, told } => Wire::RunLetGo { pause, told },
            Record::RunTold {} => Wire::RunTold {},
            Record::RunDone { closed, .. } => Wire::RunDone { closed },
            Record::RunFailed { failure, node, closed } => {
                Wire::RunFailed { error: TaskError::from(&failure), node: node.map(|at| at.show()), closed }
            }
            Record::RunCancelled { reason, by, closed } => Wire::RunCancelled { reason, by, closed },
            Record::RunClosed {} => Wire::RunClosed {},
            Record::RunReopened { deadline, again, reason, by, anew: _ } => {
                Wire::RunReopened { deadline: deadline.map(Instant), again, reason, by }
            }
            Record::RunDeleting { by, expired } => Wire::RunDeleting { by, expired },
            Record::RunDeleted { workflow, by } => Wire::RunDeleted { workflow, by },
            Record::RunRestarted { node, generation, deadline, reason, by, anew: _ } => {
                let (node, deadline) = (super::place(&node.frame, &node.node), deadline.map(Instant));
                Wire::RunRestarted { node, generation, deadline, reason, by }
            }
            Record::RunPatched { revision, description, node, only, deadline, by, more } => {
                let (node, deadline) = (node.map(|at| super::place(&at.frame, &at.node)), deadline.map(Instant));
                let only = only.map(|frame| frame.to_string());
                Wire::RunPatched { revision, description, node, only, deadline, by, more, changes: Vec::new() }
            }
            Record::RunFollowed {} => Wire::RunFollowed {},
            Record::FrameOpened { revision } => Wire::FrameOpened { revision },
            Record::FrameDone { .. } => Wire::FrameDone {},
            Record::FrameFailed { failure } => Wire::FrameFailed { error: TaskError::from(&failure) },
            Record::FrameDropped {} => Wire::FrameDropped {},
            Record::FrameReopened { revision } => Wire::FrameReopened { revision },
            Record::FramePatched { revision } => Wire::FramePatched { revision },
            Record::FrameReset {} => Wire::FrameReset {},
            Record::NodeStarted { at } => Wire::NodeStarted { work: NodeWork::from(&at) },
            Record::NodeDone { went, .. } => Wire::NodeDone { way: way(&went), heard: went.heard(), answer: None },
            Record::NodeFailed { failure, then } => {
                Wire::NodeFailed { error: TaskError::from(&failure), then: then.as_str().to_owned() }
            }
            Record::NodeSkipped { cause } => Wire::NodeSkipped { cause: cause.as_str().to_owned(), why: None },
            Record::NodeCancelled {} => Wire::NodeCancelled {},
            Record::NodeReopened { by, .. } => Wire::NodeReopened { by },
            Record::NodeReset {} => Wire::NodeReset {},
            Record::WaitsBehind { after } => Wire::WaitsBehind { after },
            Record::WaitsCaughtUp {} => Wire::WaitsCaughtUp {},
            Record::NodeLooked {} => Wire::NodeLooked {},
            Record::NodeRewound { turns, generation } => Wire::NodeRewound { turns, generation },
            Record::NodeSet { reason, by } => Wire::NodeSet { reason, by },
        }
    }
}
