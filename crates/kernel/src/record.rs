//! Records: facts in the past tense, each belonging to one owner. A record that was ever released never changes
//! meaning; new meaning gets a new variant. Payloads ride beside a record, not in it.

use crate::bulk::{BulkWork, Refusal};
use crate::event::{EventSpec, Handled};
use crate::frame::{Cause, FramePath};
use crate::handler::Trigger;
use crate::ids::{BulkId, EventId, RecordSeq, RunId, TaskId};
use crate::ir::OnError;
use crate::names::*;
use crate::node::{Started, Told, Went};
use crate::priority::Priority;
use crate::queue::{BoostOn, QueueConfig};
use crate::retry::RetryPolicy;
use crate::run::{NodeAt, RunSpec, ValueAt};
use crate::time::Time;
use crate::watchdog::Standstill;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

pub use crate::owner::{KeyRef, Owner};

const BLOB: &str = "blob:";

/// JSON text, checked at the door and never looked into by the kernel; or `blob:…`, which stands for one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Payload(pub Arc<str>);

impl Payload {
    pub fn null() -> Payload {
        Payload("null".into())
    }

    pub fn text(&self) -> &str {
        &self.0
    }

    /// What stands for a value in the blob store. No JSON begins so.
    pub fn blob(id: &str) -> Payload {
        Payload(format!("{BLOB}{id}").into())
    }

    pub fn blob_id(&self) -> Option<&str> {
        self.0.strip_prefix(BLOB)
    }

    pub fn is_blob(&self) -> bool {
        self.0.starts_with(BLOB)
    }

    /// FNV-1a over the text: stable over versions and machines, used to tell a resent outcome from another one.
    pub fn digest(&self) -> u64 {
        fnv1a(0xcbf2_9ce4_8422_2325, self.0.as_bytes())
    }
}

pub(crate) fn fnv1a(seed: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(seed, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Handing back is an outcome too, and may be sent again.
pub(crate) const RELEASED_DIGEST: u64 = 1;

/// Why a worker's attempt did not succeed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Failure {
    pub code: String,
    pub message: String,
}

/// How a cancelled task came to be so.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelCause {
    /// Someone asked for it.
    Asked,
    /// The queue was cleared.
    Cleared,
    /// It did not start in time.
    Expired,
    /// It made room: its queue was full, or load was shed.
    Shed,
    /// One that came later took its place.
    Replaced,
}

impl CancelCause {
    pub const fn as_str(self) -> &'static str {
        match self {
            CancelCause::Asked => "asked",
            CancelCause::Cleared => "cleared",
            CancelCause::Expired => "expired",
            CancelCause::Shed => "shed",
            CancelCause::Replaced => "replaced",
        }
    }
}

/// Why a lease was handed back without burning its attempt.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReleaseCause {
    /// The worker gave it back.
    Worker,
    /// The answer that granted it never reached the worker.
    Undelivered,
}

/// What a task is told to be when it is added.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TaskSpec {
    pub queue: QueueName,
    #[serde(rename = "type")]
    pub kind: TypeName,
    #[serde(default, skip_serializing_if = "is_normal")]
    pub priority: Priority,
    /// Sorted by name, one value each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<(KeyName, KeyValue)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_for: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryPolicy>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_ms: Option<u64>,
    /// Added without entering its queue.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idle: bool,
    /// The node of a run that it is the work of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Box<NodeAt>>,
    /// The generation of that run it belongs to.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub generation: u32,
    /// Cancelled unless it starts before this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_by: Option<Time>,
    /// The event it is made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Box<Trigger>>,
    /// The record whose payload is its input, where that is not the one that adds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<RecordSeq>,
}

impl TaskSpec {
    /// With nothing special about it.
    pub fn new(queue: QueueName, kind: TypeName) -> TaskSpec {
        TaskSpec {
            queue,
            kind,
            priority: Priority::NORMAL,
            keys: Vec::new(),
            tags: Vec::new(),
            blocked_by: Vec::new(),
            scheduled_for: None,
            idempotency_key: None,
            retry: None,
            budget_ms: None,
            idle: false,
            node: None,
            generation: 0,
            start_by: None,
            trigger: None,
            input: None,
        }
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_normal(priority: &Priority) -> bool {
    *priority == Priority::NORMAL
}

/// An event that took the place of one that happened before it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Newer {
    pub input: RecordSeq,
    pub happened_at: Time,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    // Shard
    IdsReserved {
        ids: u64,
        records: u64,
    },
    RunsExpired {
        runs: Vec<RunId>,
    },
    /// These grew old and are gone.
    EventsExpired {
        events: Vec<EventId>,
    },
    /// So many requests came to a webhook and were not believed.
    RequestsRefused {
        webhook: WebhookName,
        requests: u32,
        reason: String,
    },
    /// So many signals of Redis workers fitted nothing that is out.
    SignalsRefused {
        signals: u32,
        reason: String,
    },
    WatchdogTripped {
        reason: Standstill,
    },
    WatchdogRecovered {
        reason: Standstill,
        lasted_ms: u64,
    },
    /// An event found more who wait than one batch can look at: they may not have seen what came after this one.
    WaitsBehind {
        after: EventId,
    },
    WaitsCaughtUp {},

    // Task. The payload of `TaskAdded` is its input, of `TaskDone` its output.
    TaskAdded {
        spec: Box<TaskSpec>,
    },
    TaskQueued {
        ready_at: Time,
        run_now: bool,
        by: Actor,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bulk: Option<BulkId>,
    },
    TaskRunNow {
        by: Actor,
    },
    TaskUnblocked {
        blocker: TaskId,
    },
    TaskBlockersChanged {
        blocked_by: Vec<TaskId>,
        deleted: TaskId,
    },
    TaskReprioritized {
        priority: Priority,
        by: Actor,
    },
    TaskExpedited {
        bulk: BulkId,
    },
    TaskLeased {
        worker: WorkerName,
        attempt: u16,
        heartbeat_ms: u32,
        budget_until: Time,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        run_now: bool,
    },
    TaskReleased {
        cause: ReleaseCause,
    },
    TaskCancelRequested {
        by: Actor,
        reason: String,
    },
    TaskTimedOut {},
    /// Its run is paused: queued, it waits until it is let go; running, it will when it comes back.
    TaskHeld {
        pause: u32,
    },
    TaskLetGo {
        pause: u32,
    },
    TaskRetried {
        failure: Failure,
        retry_at: Time,
        digest: u64,
    },
    TaskDone {
        digest: u64,
    },
    TaskFailed {
        failure: Failure,
        digest: u64,
    },
    TaskCancelled {
        cause: CancelCause,
        by: Actor,
        reason: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<u64>,
    },
    /// Another event came into its window; with `newer`, that is its input from now on.
    TaskDebounced {
        event: EventId,
        name: EventName,
        newer: Option<Newer>,
        ready_at: Time,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start_by: Option<Time>,
    },
    /// Another event came into its batch.
    TaskBatched {
        event: EventId,
        name: EventName,
        input: RecordSeq,
        /// Of its data, or of all that is handed over of it.
        bytes: u64,
        /// It is full: it need not wait for more.
        full: bool,
        /// Full, it starts no earlier than this; at once, when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ready_at: Option<Time>,
    },
    /// Its work is this run: that holds it until it ends.
    TaskHandedOver {
        run: RunId,
    },
    TaskReset {
        by: Actor,
    },
    /// All that is left of it, so it says where it was.
    TaskDeleted {
        queue: QueueName,
        by: Actor,
    },

    // Queue
    QueueConfigured {
        config: Arc<QueueConfig>,
        by: Actor,
    },
    QueuePaused {
        until: Option<Time>,
        reason: String,
        by: Actor,
    },
    QueueResumed {
        by: Actor,
        #[serde(default)]
        expired: bool,
    },
    QueueBoosted {
        on: BoostOn,
        boost: Priority,
        by: Actor,
    },

    // Families
    FamilyPaused {
        until: Option<Time>,
        reason: String,
        by: Actor,
    },
    FamilyResumed {
        by: Actor,
        #[serde(default)]
        expired: bool,
    },
    FamilyBoosted {
        boost: Priority,
        by: Actor,
    },

    // Event. The payload of `EventReceived` is its data.
    EventReceived {
        spec: Box<EventSpec>,
        handled: Vec<Handled>,
    },
    EventReplayed {
        handled: Vec<Handled>,
        by: Actor,
    },
    /// A run that waited for it goes on with it. Only the first ones are noted here.
    EventHeard {
        run: RunId,
        /// Until then nobody had taken it.
        #[serde(default)]
        unhandled: bool,
    },

    // Registry. The payload of `RegistryPut` is its text.
    RegistryPut {
        revision: u32,
        queues: BTreeSet<QueueName>,
        by: Actor,
    },

    // Limit key
    PermitTaken {
        arrival: Time,
    },
    PermitsForgotten {},

    // Bulk
    BulkStarted {
        work: Box<BulkWork>,
        by: Actor,
        reason: String,
    },
    BulkAdvanced {
        after: TaskId,
        items: u32,
        skipped: u32,
        resume_at: Option<Time>,
    },
    BulkFinished {
        items: u32,
        skipped: u32,
    },
    BulkCancelled {
        by: Actor,
    },
    BulkRunsAdvanced {
        after: RunId,
        items: u32,
        skipped: u32,
        /// The first that were left as they were, of the whole bulk.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        refused: Vec<Refusal>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resume_at: Option<Time>,
    },

    // Workflow. The payload of `WorkflowPut` is its text.
    WorkflowPut {
        by: Actor,
    },
    WorkflowDisabled {
        reason: String,
        by: Actor,
    },
    WorkflowEnabled {
        by: Actor,
    },

    // Run. The payload of `RunStarted` is its input, of `RunDone` its output. `closed`: no frame is left open. `told`: all
    // that it works on has heard of the pause or of its end; otherwise that goes on until `RunTold`.
    RunStarted {
        spec: Box<RunSpec>,
        by: Actor,
    },
    RunPaused {
        reason: String,
        by: Actor,
        told: bool,
    },
    RunResumed {
        by: Actor,
        told: bool,
    },
    /// The run that called it is paused.
    RunHeld {
        pause: u32,
        told: bool,
    },
    RunLetGo {
        pause: u32,
        told: bool,
    },
    RunTold {},
    RunDone {
        output: ValueAt,
        closed: bool,
    },
    RunFailed {
        failure: Failure,
        node: Option<NodeAt>,
        closed: bool,
    },
    RunCancelled {
        reason: String,
        by: Actor,
        closed: bool,
    },
    RunClosed {},
    RunReopened {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Time>,
        /// How often it was, with this.
        again: u32,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
        by: Actor,
        /// Its time counts from here.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        anew: bool,
    },
    /// A node of it and all that follows from that are undone, and begin anew.
    RunRestarted {
        node: NodeAt,
        generation: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Time>,
        reason: String,
        by: Actor,
        /// It had ended: its time counts from here.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        anew: bool,
    },
    /// It goes on by another text; the payload has that and the operations that made it.
    RunPatched {
        revision: u32,
        description: String,
        /// The node whose worker asked for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<NodeAt>,
        /// The turn or item that follows it, and nothing else does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        only: Option<FramePath>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Time>,
        by: Actor,
        /// Not all turns and items under way were looked at: that goes on until `RunFollowed`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        more: bool,
    },
    /// Of what was under way when it was patched, all that can follow its text does.
    RunFollowed {},
    RunDeleting {
        by: Actor,
        /// It grew old, or there are too many.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        expired: bool,
    },
    /// All that is left of it, so it says what it was.
    RunDeleted {
        workflow: WorkflowName,
        by: Actor,
    },

    // Frame, of a loop or an each. The payload of `FrameDone` is its output.
    // `revision`: the text it follows from then on.
    FrameOpened {
        #[serde(default, skip_serializing_if = "is_zero")]
        revision: u32,
    },
    FrameDone {
        output: ValueAt,
    },
    FrameFailed {
        failure: Failure,
    },
    FrameDropped {},
    FrameReopened {
        #[serde(default, skip_serializing_if = "is_zero")]
        revision: u32,
    },
    /// The run was patched, and what has begun in it fits.
    FramePatched {
        revision: u32,
    },
    /// Something in it begins anew: it is to be taken up again.
    FrameReset {},

    // Node. The payload of `NodeStarted` is what it asks or spreads over, of `NodeDone` its output.
    NodeStarted {
        at: Started,
    },
    NodeDone {
        output: Told,
        went: Went,
    },
    NodeFailed {
        failure: Failure,
        then: OnError,
    },
    NodeSkipped {
        cause: Cause,
    },
    NodeCancelled {},
    NodeReopened {
        by: Actor,
        /// Of an each: only the item that was named is tried again; others that failed stay as they are.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        only: bool,
    },
    /// Undone by a restart: it waits, as if it had never begun.
    NodeReset {},
    /// A loop or an each in which something was restarted goes on; of a loop so many turns stay.
    NodeRewound {
        turns: u32,
        generation: u32,
    },
    /// It waits for an event, and none that came before it was entered is the one.
    NodeLooked {},
    /// Somebody said what it gives; the payload is that.
    NodeSet {
        reason: String,
        by: Actor,
    },
}

impl Record {
    pub const KINDS: [&'static str; 85] = [
        "ids_reserved",
        "runs_expired",
        "task_added",
        "task_queued",
        "task_run_now",
        "task_unblocked",
        "task_blockers_changed",
        "task_reprioritized",
        "task_expedited",
        "task_leased",
        "task_released",
        "task_cancel_requested",
        "task_timed_out",
        "task_held",
        "task_let_go",
        "task_retried",
        "task_done",
        "task_failed",
        "task_cancelled",
        "task_reset",
        "task_deleted",
        "queue_configured",
        "queue_paused",
        "queue_resumed",
        "queue_boosted",
        "permit_taken",
        "permits_forgotten",
        "bulk_started",
        "bulk_advanced",
        "bulk_finished",
        "bulk_cancelled",
        "workflow_put",
        "workflow_disabled",
        "workflow_enabled",
        "run_started",
        "run_paused",
        "run_resumed",
        "run_held",
        "run_let_go",
        "run_told",
        "run_done",
        "run_failed",
        "run_cancelled",
        "run_closed",
        "run_reopened",
        "run_deleting",
        "run_deleted",
        "frame_opened",
        "frame_done",
        "frame_failed",
        "frame_dropped",
        "frame_reopened",
        "node_started",
        "node_done",
        "node_failed",
        "node_skipped",
        "node_cancelled",
        "node_reopened",
        "run_restarted",
        "run_patched",
        "frame_patched",
        "node_reset",
        "node_rewound",
        "node_set",
        "bulk_runs_advanced",
        "run_followed",
        "frame_reset",
        "events_expired",
        "requests_refused",
        "task_debounced",
        "task_batched",
        "task_handed_over",
        "family_paused",
        "family_resumed",
        "family_boosted",
        "event_received",
        "event_replayed",
        "registry_put",
        "watchdog_tripped",
        "watchdog_recovered",
        "waits_behind",
        "waits_caught_up",
        "node_looked",
        "event_heard",
        "signals_refused",
    ];

    /// With it a task or a run that was under way is over: no other record ends one (`State::apply` checks it).
    pub const fn is_end(&self) -> bool {
        use Record::*;
        matches!(self, TaskDone { .. } | TaskFailed { .. } | TaskCancelled { .. } | TaskDeleted { .. })
            || matches!(self, RunDone { .. } | RunFailed { .. } | RunCancelled { .. } | RunDeleted { .. })
    }

    pub const fn kind(&self) -> &'static str {
        let index = match self {
            Record::IdsReserved { .. } => 0,
            Record::RunsExpired { .. } => 1,
            Record::TaskAdded { .. } => 2,
            Record::TaskQueued { .. } => 3,
            Record::TaskRunNow { .. } => 4,
            Record::TaskUnblocked { .. } => 5,
            Record::TaskBlockersChanged { .. } => 6,
            Record::TaskReprioritized { .. } => 7,
            Record::TaskExpedited { .. } => 8,
            Record::TaskLeased { .. } => 9,
            Record::TaskReleased { .. } => 10,
            Record::TaskCancelRequested { .. } => 11,
            Record::TaskTimedOut {} => 12,
            Record::TaskHeld { .. } => 13,
            Record::TaskLetGo { .. } => 14,
            Record::TaskRetried { .. } => 15,
            Record::TaskDone { .. } => 16,
            Record::TaskFailed { .. } => 17,
            Record::TaskCancelled { .. } => 18,
            Record::TaskReset { .. } => 19,
            Record::TaskDeleted { .. } => 20,
            Record::QueueConfigured { .. } => 21,
            Record::QueuePaused { .. } => 22,
            Record::QueueResumed { .. } => 23,
            Record::QueueBoosted { .. } => 24,
            Record::PermitTaken { .. } => 25,
            Record::PermitsForgotten {} => 26,
            Record::BulkStarted { .. } => 27,
            Record::BulkAdvanced { .. } => 28,
            Record::BulkFinished { .. } => 29,
            Record::BulkCancelled { .. } => 30,
            Record::WorkflowPut { .. } => 31,
            Record::WorkflowDisabled { .. } => 32,
            Record::WorkflowEnabled { .. } => 33,
            Record::RunStarted { .. } => 34,
            Record::RunPaused { .. } => 35,
            Record::RunResumed { .. } => 36,
            Record::RunHeld { .. } => 37,
            Record::RunLetGo { .. } => 38,
            Record::RunTold {} => 39,
            Record::RunDone { .. } => 40,
            Record::RunFailed { .. } => 41,
            Record::RunCancelled { .. } => 42,
            Record::RunClosed {} => 43,
            Record::RunReopened { .. } => 44,
            Record::RunDeleting { .. } => 45,
            Record::RunDeleted { .. } => 46,
            Record::FrameOpened { .. } => 47,
            Record::FrameDone { .. } => 48,
            Record::FrameFailed { .. } => 49,
            Record::FrameDropped {} => 50,
            Record::FrameReopened { .. } => 51,
            Record::NodeStarted { .. } => 52,
            Record::NodeDone { .. } => 53,
            Record::NodeFailed { .. } => 54,
            Record::NodeSkipped { .. } => 55,
            Record::NodeCancelled {} => 56,
            Record::NodeReopened { .. } => 57,
            Record::RunRestarted { .. } => 58,
            Record::RunPatched { .. } => 59,
            Record::FramePatched { .. } => 60,
            Record::NodeReset {} => 61,
            Record::NodeRewound { .. } => 62,
            Record::NodeSet { .. } => 63,
            Record::BulkRunsAdvanced { .. } => 64,
            Record::RunFollowed {} => 65,
            Record::FrameReset {} => 66,
            Record::EventsExpired { .. } => 67,
            Record::RequestsRefused { .. } => 68,
            Record::TaskDebounced { .. } => 69,
            Record::TaskBatched { .. } => 70,
            Record::TaskHandedOver { .. } => 71,
            Record::FamilyPaused { .. } => 72,
            Record::FamilyResumed { .. } => 73,
            Record::FamilyBoosted { .. } => 74,
            Record::EventReceived { .. } => 75,
            Record::EventReplayed { .. } => 76,
            Record::RegistryPut { .. } => 77,
            Record::WatchdogTripped { .. } => 78,
            Record::WatchdogRecovered { .. } => 79,
            Record::WaitsBehind { .. } => 80,
            Record::WaitsCaughtUp {} => 81,
            Record::NodeLooked {} => 82,
            Record::EventHeard { .. } => 83,
            Record::SignalsRefused { .. } => 84,
        };
        Record::KINDS[index]
    }
}

/// A record with its place in history. `prev` is the owner's record before this one: histories are chains, so
/// reading one needs no index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub seq: RecordSeq,
    pub prev: RecordSeq,
    pub at: Time,
    pub owner: Owner,
    pub record: Record,
    pub payload: Option<Payload>,
}
