//! Commands: what can be asked of the kernel. Each is decided in one file under `decide/`. Time and chance come in as
//! arguments; the strings in here were checked at the door.

use crate::bulk::{BulkWork, Meant};
use crate::event::{EventSpec, Handled};
use crate::handler::{Routed, Trigger};
use crate::ids::{BulkId, EventId, Fence, RecordSeq, RunId, TaskId};
use crate::message::Message;
use crate::names::*;
use crate::priority::Priority;
use crate::queue::{BoostOn, QueueConfig};
use crate::record::{Failure, Payload, ReleaseCause, TaskSpec};
use crate::run::{NodeAt, RunStatus};
use crate::task::Status;
use crate::time::Time;
use crate::watchdog::Standstill;
use std::collections::BTreeMap;
use std::sync::Arc;

pub use crate::decide::{NewFork, NewRevision, NewRun, NewWorkflow, Patched, Put};

#[derive(Clone, Debug)]
pub struct NewTask {
    pub spec: TaskSpec,
    /// Added to now when `spec.scheduled_for` is not given.
    pub delay_ms: u64,
    pub input: Payload,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done {
        output: Payload,
    },
    Failed {
        failure: Failure,
        retryable: bool,
        retry_after_ms: Option<u64>,
    },
    /// Handed back unburnt.
    Released,
}

/// When a paused queue goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseUntil {
    /// Not before someone resumes it.
    Resumed,
    At(Time),
    After {
        ms: u64,
    },
}

#[derive(Clone, Debug)]
pub enum Command {
    /// All of them or none.
    Add {
        tasks: Vec<NewTask>,
    },
    Cancel {
        task: TaskId,
        by: Actor,
        reason: String,
    },
    /// Into its queue (again), attempts starting over.
    Retry {
        task: TaskId,
        by: Actor,
    },
    /// Out of its queue: idle.
    Reset {
        task: TaskId,
        by: Actor,
    },
    /// Run now, past the limits. `worker` is one that waits for this type, if there is one.
    Start {
        task: TaskId,
        force: bool,
        worker: Option<WorkerName>,
        by: Actor,
    },
    Delete {
        task: TaskId,
        by: Actor,
    },
    Reprioritize {
        queue: QueueName,
        tasks: Vec<TaskId>,
        priority: Priority,
        by: Actor,
    },

    Lease {
        worker: WorkerName,
        types: Arc<[TypeName]>,
        queues: Arc<[QueueName]>,
        want: usize,
    },
    Finish {
        task: TaskId,
        fence: Fence,
        outcome: Outcome,
        jitter: u32,
    },
    /// The answer that granted this lease never arrived.
    Release {
        task: TaskId,
        fence: Fence,
        cause: ReleaseCause,
    },
    /// The worker fell silent for longer than its heartbeat.
    Lapse {
        task: TaskId,
        fence: Fence,
        jitter: u32,
    },
    /// The worker came back and did not name this lease: it lost it, or another goes by its name.
    Mislay {
        task: TaskId,
        fence: Fence,
        jitter: u32,
    },

    ConfigureQueue {
        queue: QueueName,
        config: Arc<QueueConfig>,
        by: Actor,
    },
    PauseQueue {
        queue: QueueName,
        until: PauseUntil,
        reason: String,
        by: Actor,
    },
    ResumeQueue {
        queue: QueueName,
        by: Actor,
    },
    BoostQueue {
        queue: QueueName,
        on: BoostOn,
        boost: Priority,
        by: Actor,
    },
    StartBulk {
        work: BulkWork,
        by: Actor,
        reason: String,
    },
    PutWorkflow {
        new: Box<NewWorkflow>,
        by: Actor,
    },
    /// All of them or none.
    PutWorkflows {
        new: Vec<NewWorkflow>,
        by: Actor,
    },
    /// No new runs of it start until it is enabled, whatever is put meanwhile.
    DisableWorkflow {
        workflow: WorkflowName,
        reason: String,
        by: Actor,
    },
    EnableWorkflow {
        workflow: WorkflowName,
        by: Actor,
    },
    StartRun {
        new: Box<NewRun>,
        by: Actor,
    },
    /// One that goes on from how another was.
    ForkRun {
        fork: Box<NewFork>,
        by: Actor,
    },
    CancelRun {
        run: RunId,
        by: Actor,
        reason: String,
    },
    PauseRun {
        run: RunId,
        by: Actor,
        reason: String,
    },
    ResumeRun {
        run: RunId,
        by: Actor,
    },
    /// What failed it, and what was cut off by that, goes again; with a node, only that.
    RetryRun {
        run: RunId,
        node: Option<Box<NodeAt>>,
        /// By this text.
        new: Option<Box<NewRevision>>,
        reason: String,
        by: Actor,
    },
    /// The node and what follows from it begin anew; with another text by that one.
    RestartRun {
        at: NodeAt,
        new: Option<Box<NewRevision>>,
        reason: String,
        by: Actor,
    },
    /// It is done, and gives this.
    SkipNode {
        at: NodeAt,
        output: Payload,
        reason: String,
        by: Actor,
    },
    /// It goes on by another text. `node`: one of it whose worker asks; `dry`: only what that would do is told.
    PatchRun {
        run: RunId,
        new: Box<NewRevision>,
        node: Option<NodeAt>,
        dry: bool,
        by: Actor,
    },
    /// One that has ended, with all that belongs to it.
    DeleteRun {
        run: RunId,
        by: Actor,
    },
    /// These grew old, or are too many.
    ExpireRuns {
        runs: Vec<RunId>,
    },
    /// To an approval.
    Answer {
        at: NodeAt,
        approved: bool,
        comment: String,
        by: Actor,
    },
    /// From another shard.
    Hear(Box<Message>),
    /// What runs held back goes on.
    ProceedRuns,
    /// Values that runs waited for are at hand, of so many bytes.
    TakeValues {
        values: Vec<(RecordSeq, usize)>,
    },
    CancelBulk {
        bulk: BulkId,
        by: Actor,
    },
    /// The next runs that a bulk over runs has come to, oldest first.
    AdvanceBulk {
        bulk: BulkId,
        /// Where it was when they were looked for: if it has moved on since, they are not meant.
        from: Option<RunId>,
        runs: Vec<Meant>,
        /// There are no more.
        done: bool,
    },
    RedriveTasks {
        queue: QueueName,
        tasks: Vec<TaskId>,
        by: Actor,
    },

    /// What happened, with what each handler makes of it by this revision of the registry.
    Emit {
        events: Vec<NewEvent>,
        revision: u32,
    },
    /// Handled once more.
    ReplayEvent {
        event: EventId,
        routed: Vec<Routed>,
        /// Of its data.
        bytes: u64,
        revision: u32,
        by: Actor,
    },
    /// These grew old. One stays whose work has not come to a good end, or did so at this instant or later.
    ExpireEvents {
        events: Vec<EventId>,
        before: Time,
    },
    PutRegistry {
        text: Payload,
        queues: BTreeMap<QueueName, Arc<QueueConfig>>,
        by: Actor,
    },
    PauseFamilies {
        families: Pattern,
        until: PauseUntil,
        reason: String,
        by: Actor,
    },
    ResumeFamilies {
        families: Pattern,
        by: Actor,
    },
    BoostFamilies {
        families: Pattern,
        boost: Priority,
        by: Actor,
    },
    /// A run does the work of this task from now on.
    HandOver {
        task: TaskId,
        fence: Fence,
        new: Box<NewRun>,
        by: Actor,
    },
    /// So many requests came to a webhook and were not believed.
    NoteRefused {
        webhook: WebhookName,
        requests: u32,
        reason: String,
    },
    /// So many signals came from Redis workers and fitted nothing that is out.
    NoteSignals {
        signals: u32,
        reason: String,
    },

    /// What the time has brought: budgets spent, pauses over, permits to forget.
    Due,
    /// The next chunk of a bulk that is due.
    Proceed,
    /// Something stands still; or it moves again, after so long.
    NoteStandstill {
        reason: Standstill,
        over_ms: Option<u64>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    pub task: TaskId,
    /// The key was used before, within its window: this is the task it made then.
    pub duplicate: bool,
}

/// An event as it comes in.
#[derive(Clone, Debug)]
pub struct NewEvent {
    pub spec: EventSpec,
    pub data: Payload,
    pub routed: Vec<Routed>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emitted {
    pub event: EventId,
    /// It came before; this is what became of it then.
    pub duplicate: bool,
    pub handled: Vec<Handled>,
    /// Runs that waited for it and go on with it, as far as they are noted.
    pub heard: Vec<RunId>,
}

/// A lease as the worker gets it; the input is read from its record at delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub task: TaskId,
    pub fence: Fence,
    pub queue: QueueName,
    pub kind: TypeName,
    pub attempt: u16,
    pub heartbeat_ms: u32,
    pub budget_ms: u64,
    pub created_at: Time,
    pub input: RecordSeq,
    pub idempotency_key: Option<IdempotencyKey>,
    /// The node of a run that it is the work of, and the generation.
    pub node: Option<(Box<NodeAt>, u32)>,
    /// What it is made of, and the newest record of the task: those before it name the events of a batch.
    pub trigger: Option<(Box<Trigger>, RecordSeq)>,
}

impl Grant {
    /// The same for every attempt at the same work, so that a worker can tell that it did this before.
    pub fn work_key(&self) -> Option<String> {
        match &self.node {
            Some((at, generation)) => Some(at.work_key(*generation)),
            // Its key tells it from others within a window alone.
            None if self.trigger.is_some() => None,
            None => self.idempotency_key.as_ref().map(|key| key.to_string()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Added(Vec<Added>),
    /// The task's status after the command.
    Task {
        task: TaskId,
        status: Status,
    },
    /// The outcome counted, or had counted before.
    Finished {
        duplicate: bool,
    },
    Leased(Vec<Grant>),
    Emitted(Vec<Emitted>),
    Registry {
        revision: u32,
    },
    /// A duplicate: the key was used before, and this is the run it made then.
    Started {
        run: RunId,
        duplicate: bool,
    },
    Run {
        run: RunId,
        status: RunStatus,
        /// It made a difference.
        changed: bool,
    },
    Patched(Box<Patched>),
    /// Unchanged: this version has the same text.
    Workflow {
        workflow: WorkflowName,
        version: u32,
        unchanged: bool,
    },
    Workflows(Vec<Put>),
    Bulk(BulkId),
    /// How many items were changed and how many were left as they were.
    Items {
        changed: usize,
        skipped: usize,
    },
    Done,
}
