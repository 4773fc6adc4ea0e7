//! What can be asked of the engine, and what it answers. A request is a command for the kernel, a worker's report, or
//! a look at what only the writer knows.

use kernel::bulk::{Bulk, BulkWork, Meant};
use kernel::command::{Command, Grant, NewRevision, Outcome, Reply};
use kernel::explain::{Explanation, RunExplanation};
use kernel::ids::{Fence, RecordSeq, RunId, TaskId};
use kernel::limits::BATCH_ITEMS_MAX;
use kernel::names::{Pattern, QueueName, TypeName, WorkerName};
use kernel::record::Payload;
use kernel::registry::Control;
use kernel::rejection::Rejection;
use kernel::run::NodeAt;
use kernel::state::{Counts, FamilyDepth, QueueSummary};
use kernel::time::Time;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct Report {
    pub task: TaskId,
    pub fence: Fence,
    pub outcome: Outcome,
}

#[derive(Clone, Debug)]
pub struct Holding {
    pub task: TaskId,
    pub fence: Fence,
}

/// One round trip of a worker: results, heartbeats and the wish for more.
#[derive(Clone, Debug)]
pub struct Work {
    pub worker: WorkerName,
    pub types: Arc<[TypeName]>,
    pub queues: Arc<[QueueName]>,
    pub want: usize,
    pub wait_ms: u64,
    pub results: Vec<Report>,
    pub holding: Vec<Holding>,
}

#[derive(Clone, Debug)]
pub enum Request {
    Command(Command),
    Work(Work),
    /// A worker changes the run that it works in: the lease is its right.
    PatchHeld {
        run: RunId,
        /// None: its text stays as it is.
        new: Option<Box<NewRevision>>,
        /// The node that it says it works at, if it says so.
        node: Option<Box<NodeAt>>,
        dry: bool,
        task: TaskId,
        fence: Fence,
    },
    /// The connection of this poll is gone: whatever it was granted was not delivered.
    Gone {
        poll: Ticket,
    },
    /// These grants could not be handed over.
    Undelivered {
        grants: Vec<(TaskId, Fence)>,
    },
    /// Whoever holds these is still there: it says nothing of its other leases.
    Beat {
        leases: Vec<(TaskId, Fence)>,
    },
    /// The leases of this worker.
    Leases {
        worker: WorkerName,
    },
    Explain {
        task: TaskId,
    },
    ExplainRun {
        run: RunId,
    },
    /// Values that runs waited for, by the records that hold them; `None`: there is none.
    Values(Vec<(RecordSeq, Option<Payload>)>),
    Queue {
        queue: QueueName,
    },
    Queues,
    /// What there is of the families that this pattern covers, or of all. What no event made is of its queue's name.
    Depths {
        families: Option<Pattern>,
    },
    /// How many tasks a bulk would change now.
    WouldChange {
        work: BulkWork,
    },
    /// Bulks over runs that are under way.
    RunBulks,
    Status,
    /// Do work and workers wait for each other?
    Backlog,
    /// Memory is to be read again from the store.
    Reload,
    /// Lease no more; let what runs finish.
    Stop,
}

impl Request {
    /// How much of a batch it fills.
    pub fn items(&self) -> usize {
        let items = match self {
            Request::Command(Command::Add { tasks }) => tasks.iter().map(|new| 1 + new.spec.blocked_by.len()).sum(),
            Request::Command(Command::Emit { events, .. }) => events.iter().map(|new| 1 + new.routed.len()).sum(),
            Request::Command(Command::ReplayEvent { routed, .. }) => 1 + routed.len(),
            Request::Command(Command::ExpireEvents { events, .. }) => events.len(),
            Request::Command(Command::Reprioritize { tasks, .. } | Command::RedriveTasks { tasks, .. }) => tasks.len(),
            Request::Command(Command::AdvanceBulk { runs, .. }) => runs.len(),
            Request::Work(work) => work.results.len() + work.want.min(64) + work.holding.len() / 8,
            _ => 1,
        };
        items.clamp(1, BATCH_ITEMS_MAX)
    }

    /// How many bytes of payload it carries.
    pub fn bytes(&self) -> usize {
        let output = |report: &Report| if let Outcome::Done { output } = &report.outcome { output.text().len() } else { 0 };
        let revised = |meant: &Meant| if let Meant::Revised(_, new) = meant { new.payload.text().len() } else { 0 };
        match self {
            Request::Command(Command::Add { tasks }) => tasks.iter().map(|new| new.input.text().len()).sum(),
            Request::Command(Command::Emit { events, .. }) => events.iter().map(|new| new.data.text().len()).sum(),
            Request::Command(Command::StartRun { new, .. } | Command::HandOver { new, .. }) => new.input.text().len(),
            Request::Command(Command::AdvanceBulk { runs, .. }) => runs.iter().map(revised).sum(),
            Request::Command(Command::PatchRun { new, .. }) | Request::PatchHeld { new: Some(new), .. } => {
                new.payload.text().len()
            }
            Request::Work(work) => work.results.iter().map(output).sum(),
            _ => 0,
        }
    }

    /// Leases that were granted and did not arrive.
    pub fn given_back(&self) -> &[(TaskId, Fence)] {
        if let Request::Undelivered { grants } = self { grants } else { &[] }
    }

    /// A bulk that somebody has to drive.
    pub(crate) fn starts_run_bulk(&self) -> bool {
        matches!(self, Request::Command(Command::StartBulk { work, .. }) if work.is_over_runs())
    }

    /// New work may be refused when the inbox is full; results, heartbeats and control never.
    pub fn is_new_work(&self) -> bool {
        matches!(self, Request::Command(Command::Add { .. } | Command::StartRun { .. } | Command::Emit { .. }))
    }
}

/// The number a request's answer is matched by.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket(pub u64);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub task: TaskId,
    /// The lease is still this worker's; the heartbeat counted.
    pub held: bool,
    /// Please stop: it was cancelled or ran too long.
    pub cancel: bool,
    pub heartbeat_ms: u32,
}

/// A grant and, when it is still in memory, its input; otherwise the door reads it from `grant.input`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub grant: Grant,
    pub input: Option<Payload>,
}

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Worked {
    /// In the order of the reports: accepted (`true`: it had counted before), or why not.
    pub results: Vec<(TaskId, Result<bool, Rejection>)>,
    pub holding: Vec<Held>,
    pub deliveries: Vec<Delivery>,
    pub stopping: bool,
}

#[derive(Clone, Debug)]
pub struct WorkerSummary {
    pub worker: WorkerName,
    pub types: Arc<[TypeName]>,
    pub asked_at: Time,
    pub holding: usize,
    pub waiting: bool,
}

impl WorkerSummary {
    /// It does work that no worker outside is given.
    pub fn is_own(&self) -> bool {
        self.types.iter().all(|kind| kind.as_str().starts_with('@')) && !self.types.is_empty()
    }
}

#[derive(Clone, Debug)]
pub struct StatusSummary {
    pub now: Time,
    pub shard: u16,
    pub up_since: Time,
    /// What and where the store is, and what troubles it.
    pub store: String,
    pub stopping: bool,
    pub counts: Counts,
    pub bulks: usize,
    /// Runs that have not ended, or not come to rest.
    pub runs: usize,
    pub commits: u64,
    pub commits_failed: u64,
    pub last_record: RecordSeq,
    /// Of the registry in force; 0: there is none.
    pub registry: u32,
    /// What was said about families.
    pub controls: Vec<Control>,
    pub workers: Vec<WorkerSummary>,
}

/// Whether there is work that may run and a worker that waits for it; and how many leases were granted so far.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    pub idle: bool,
    pub granted: u64,
}

#[derive(Clone, Debug)]
pub enum Answer {
    Reply(Result<Reply, Rejection>),
    Worked(Worked),
    Leases(Vec<(TaskId, Fence)>),
    Explained(Result<Box<Explanation>, Rejection>),
    RunExplained(Result<Box<RunExplanation>, Rejection>),
    Queue {
        summary: Box<QueueSummary>,
        bulks: Vec<Bulk>,
    },
    Queues(Vec<QueueSummary>),
    Depths(Vec<FamilyDepth>),
    /// So many, or more than could be looked at.
    WouldChange {
        tasks: usize,
        more: bool,
    },
    RunBulks(Vec<Bulk>),
    Status(Box<StatusSummary>),
    Backlog(Backlog),
    Noted,
    /// The commit failed: it may or may not have happened. Ask, or send it again with the same idempotency key.
    UnknownOutcome,
    /// Shutting down: nothing new is taken.
    Stopping,
}

impl Answer {
    /// The leases it hands over.
    pub fn grants(&self) -> impl Iterator<Item = (TaskId, Fence)> {
        let worked = if let Answer::Worked(worked) = self { Some(worked) } else { None };
        worked.into_iter().flat_map(|worked| &worked.deliveries).map(|delivery| (delivery.grant.task, delivery.grant.fence))
    }
}
