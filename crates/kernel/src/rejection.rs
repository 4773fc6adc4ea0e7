//! Rejections: a deterministic "no" to the caller, with a stable code, a sentence, and what to do next.

use crate::frozen::Frozen;
use crate::ids::{BulkId, EventId, RunId, TaskId};
use crate::names::{Actor, QueueName, WorkflowName};
use crate::run::{NodeAt, RunStatus};
use crate::task::Status;
use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Rejection {
    #[error("there is no {task}")]
    TaskNotFound { task: TaskId },
    #[error("there is no {bulk}")]
    BulkNotFound { bulk: BulkId },
    #[error("{bulk} is closed already")]
    BulkClosed { bulk: BulkId },
    #[error("{task} is {status}: {verb} works only on a task that is {allowed}")]
    WrongState { task: TaskId, status: Status, verb: &'static str, allowed: &'static str },
    #[error("the lease of {task} is no longer this worker's")]
    LeaseLost { task: TaskId },
    #[error("{task} is blocked by {by}")]
    Blocked { task: TaskId, by: TaskId },
    #[error("queue `{queue}` has no override slot left of its {max}")]
    OverridesTaken { queue: QueueName, max: u32 },
    #[error("queue `{queue}` holds {max} waiting tasks and takes no more")]
    BacklogFull { queue: QueueName, max: u32 },
    #[error("{blocker}, named in blocked_by, does not exist")]
    BlockerNotFound { blocker: TaskId },
    #[error("{max} bulks are under way already")]
    BulksTaken { max: usize },
    #[error("queue `{queue}` has {max} boosts already")]
    BoostsTaken { queue: QueueName, max: usize },
    #[error("{max} queues are configured, paused or boosted already")]
    QueuesTaken { max: usize },
    #[error("those that wait for {task} are still being told that it is done")]
    StillTelling { task: TaskId },
    #[error("there is no {run}")]
    RunNotFound { run: RunId },
    #[error("{run} is {}: {}", .status.as_str(), match *.verb {
        "patch" => "what is done cannot be patched any more".to_owned(),
        "skip" => "nothing is left in it to skip".to_owned(),
        verb => format!("{verb} works only on a run that is running"),
    })]
    RunEnded { run: RunId, status: RunStatus, verb: &'static str },
    #[error("there is no workflow `{workflow}`{}", .version.map_or(String::new(), |version| format!(" with version {version}")))]
    WorkflowNotFound { workflow: WorkflowName, version: Option<u32> },
    #[error("there is no node {}", .at.show())]
    NodeNotFound { at: NodeAt },
    #[error("{} is {status}: there is nothing to answer", .at.show())]
    NotAsking { at: NodeAt, status: &'static str },
    #[error("{} asks {who}: {by} may not answer", .at.show())]
    NotAsked { at: NodeAt, by: Actor, who: String },
    #[error("{run} runs: only one that has ended can be deleted")]
    RunNotEnded { run: RunId },
    #[error("what was under way in {run} is still being stopped")]
    RunEnding { run: RunId },
    #[error("{run} is {}: only one that failed or was cancelled can be tried again", .status.as_str())]
    NotToRetry { run: RunId, status: RunStatus },
    #[error("{} is {status}: only a node that failed its run, or was cut off by that, can be tried again", .at.show())]
    NodeSettled { at: NodeAt, status: &'static str },
    #[error("nothing in {run} can be tried again: no node of it failed")]
    NothingToRetry { run: RunId },
    #[error("workflow `{workflow}` {}", if *.taken {
        format!("has version {version} already, with another text")
    } else {
        format!("is at version {newest}: an older one cannot be put")
    })]
    VersionTaken { workflow: WorkflowName, version: u32, newest: u32, taken: bool },
    #[error("workflow `{workflow}` was disabled by {by}{}: no new runs of it start", if .reason.is_empty() { String::new() } else { format!(" ({reason})") })]
    WorkflowDisabled { workflow: WorkflowName, by: Actor, reason: String },
    #[error("there are {max} versions of workflows already")]
    WorkflowsTaken { max: usize },
    #[error("all workflows together would have more than {max_bytes} bytes of text")]
    WorkflowTextsFull { max_bytes: usize },
    #[error("{task} is of {}: {verb} it through the run", .at.show())]
    OfRun { task: TaskId, at: NodeAt, verb: &'static str },
    #[error("{run} is at revision {revision}, not {expected}")]
    RevisionConflict { run: RunId, expected: u32, revision: u32 },
    #[error("{run} was patched {max} times already")]
    RevisionsTaken { run: RunId, max: u32 },
    #[error("{} is {status}: {frozen}", .at.show())]
    Frozen { at: NodeAt, status: &'static str, frozen: Frozen },
    #[error("{} has not begun: there is nothing to begin anew", .at.show())]
    NotBegun { at: NodeAt },
    #[error("{} is {status}: only a node that waits, is under way or failed its run can be skipped", .at.show())]
    NotToSkip { at: NodeAt, status: &'static str },
    #[error("there is no {event}")]
    EventNotFound { event: EventId },
    #[error("the registry is at revision {revision}, not {expected}")]
    RegistryChanged { expected: u32, revision: u32 },
    #[error("queue `{queue}` takes its rules from the registry")]
    QueueInRegistry { queue: QueueName },
    #[error("something is said about {max} patterns of families already")]
    FamiliesTaken { max: usize },
    #[error("{why}")]
    Invalid { why: String },
}

impl Rejection {
    pub const CODES: [&'static str; 38] = [
        "task_not_found",
        "bulk_not_found",
        "bulk_closed",
        "wrong_state",
        "lease_lost",
        "blocked",
        "overrides_taken",
        "backlog_full",
        "blocker_not_found",
        "bulks_taken",
        "boosts_taken",
        "queues_taken",
        "still_telling",
        "run_not_found",
        "run_ended",
        "workflow_not_found",
        "node_not_found",
        "not_asking",
        "not_asked",
        "run_not_ended",
        "run_ending",
        "not_to_retry",
        "node_settled",
        "nothing_to_retry",
        "version_taken",
        "workflows_taken",
        "of_run",
        "invalid",
        "workflow_disabled",
        "revision_conflict",
        "revisions_taken",
        "frozen",
        "not_begun",
        "not_to_skip",
        "event_not_found",
        "registry_changed",
        "queue_in_registry",
        "families_taken",
    ];

    pub const fn code(&self) -> &'static str {
        let index = match self {
            Rejection::TaskNotFound { .. } => 0,
            Rejection::BulkNotFound { .. } => 1,
            Rejection::BulkClosed { .. } => 2,
            Rejection::WrongState { .. } => 3,
            Rejection::LeaseLost { .. } => 4,
            Rejection::Blocked { .. } => 5,
            Rejection::OverridesTaken { .. } => 6,
            Rejection::BacklogFull { .. } => 7,
            Rejection::BlockerNotFound { .. } => 8,
            Rejection::BulksTaken { .. } => 9,
            Rejection::BoostsTaken { .. } => 10,
            Rejection::QueuesTaken { .. } => 11,
            Rejection::StillTelling { .. } => 12,
            Rejection::RunNotFound { .. } => 13,
            Rejection::RunEnded { .. } => 14,
            Rejection::WorkflowNotFound { .. } => 15,
            Rejection::NodeNotFound { .. } => 16,
            Rejection::NotAsking { .. } => 17,
            Rejection::NotAsked { .. } => 18,
            Rejection::RunNotEnded { .. } => 19,
            Rejection::RunEnding { .. } => 20,
            Rejection::NotToRetry { .. } => 21,
            Rejection::NodeSettled { .. } => 22,
            Rejection::NothingToRetry { .. } => 23,
            Rejection::VersionTaken { .. } => 24,
            Rejection::WorkflowsTaken { .. } | Rejection::WorkflowTextsFull { .. } => 25,
            Rejection::OfRun { .. } => 26,
            Rejection::Invalid { .. } => 27,
            Rejection::WorkflowDisabled { .. } => 28,
            Rejection::RevisionConflict { .. } => 29,
            Rejection::RevisionsTaken { .. } => 30,
            Rejection::Frozen { .. } => 31,
            Rejection::NotBegun { .. } => 32,
            Rejection::NotToSkip { .. } => 33,
            Rejection::EventNotFound { .. } => 34,
            Rejection::RegistryChanged { .. } => 35,
            Rejection::QueueInRegistry { .. } => 36,
            Rejection::FamiliesTaken { .. } => 37,
        };
        Rejection::CODES[index]
    }

    /// Commands that help, each with what it is for.
    pub fn next_actions(&self) -> Vec<(String, &'static str)> {
        let one = |command: String, what: &'static str| vec![(format!("signaller {command}"), what)];
        match self {
            Rejection::TaskNotFound { .. } => one("task list".into(), "those there are"),
            Rejection::BulkNotFound { .. } => one("bulk list".into(), "those there are"),
            Rejection::BulkClosed { bulk } => one(format!("bulk show {bulk}"), "what it did"),
            Rejection::WrongState { task, .. } => one(format!("task show {task}"), "how it stands"),
            Rejection::Blocked { by, .. } => one(format!("task explain {by}"), "why that one has not ended"),
            Rejection::OverridesTaken { queue, .. } => {
                one(format!("task list --queue {queue} --status running"), "what runs there")
            }
            Rejection::BacklogFull { queue, .. } | Rejection::BoostsTaken { queue, .. } => {
                one(format!("queue show {queue}"), "how it stands")
            }
            Rejection::BulksTaken { .. } => one("bulk list".into(), "what is under way"),
            Rejection::QueuesTaken { .. } => one("queue list".into(), "those there are"),
            Rejection::RunNotFound { .. } => one("run list --all".into(), "those there are"),
            Rejection::RunEnded { run, verb: "patch" | "skip", .. } => vec![
                (format!("signaller run show {run}"), "the nodes to restart it from"),
                (format!("signaller run fork {run} --dry-run"), "what a new run would take along"),
            ],
            Rejection::NotToRetry { run, status: RunStatus::Done } => {
                one(format!("run show {run}"), "the nodes to restart it from")
            }
            Rejection::NotToRetry { run, status: RunStatus::Running } => one(format!("run explain {run}"), "what it waits for"),
            Rejection::RunEnded { run, .. } | Rejection::NotToRetry { run, .. } | Rejection::NothingToRetry { run } => {
                one(format!("run show {run}"), "how it ended")
            }
            Rejection::WorkflowNotFound { workflow, version: Some(_) } => {
                one(format!("workflow show {workflow}"), "the versions there are")
            }
            Rejection::WorkflowNotFound { .. } => one("workflow list".into(), "those there are"),
            Rejection::NodeNotFound { at } => one(format!("run show {}", at.run), "the nodes there are"),
            Rejection::NotAsking { .. } => one("approval list".into(), "what waits for an answer"),
            Rejection::NotAsked { at, who, .. } => {
                let who = who.split(", ").next().unwrap_or("NAME");
                one(format!("approval answer {} --yes --by {who}", at.show()), "answer as one who is asked")
            }
            Rejection::RunNotEnded { run } => one(format!("run cancel {run}"), "end it first"),
            Rejection::RunEnding { run } => one(format!("run show {run}"), "see when it has come to rest"),
            Rejection::NodeSettled { at, status: "waiting" } => {
                one(format!("run retry {}", at.run), "try all again that failed it")
            }
            Rejection::NodeSettled { at, .. } => vec![
                (format!("signaller run retry {}", at.run), "try all again that failed it"),
                (format!("signaller run restart {}", at.show()), "begin it anew, with what follows"),
            ],
            Rejection::VersionTaken { workflow, .. } => one(format!("workflow show {workflow}"), "the versions there are"),
            Rejection::WorkflowDisabled { workflow, .. } => {
                one(format!("workflow enable {workflow}"), "let new runs of it start")
            }
            Rejection::OfRun { at, .. } => one(format!("run show {}", at.run), "how its run stands"),
            Rejection::RevisionConflict { run, .. } => one(format!("run definition {run}"), "its text as it is now"),
            Rejection::NotBegun { at } => one(format!("run explain {}", at.show()), "what it waits for"),
            Rejection::NotToSkip { at, .. } => one(format!("run restart {}", at.show()), "begin it anew, with what follows"),
            Rejection::RevisionsTaken { run, .. } => one(format!("run trace {run}"), "what was changed"),
            Rejection::Frozen { at, .. } => one(format!("run restart {}", at.show()), "undo it and what follows from it"),
            Rejection::EventNotFound { .. } => one("event list".into(), "those there are"),
            Rejection::RegistryChanged { .. } | Rejection::QueueInRegistry { .. } => {
                one("registry show".into(), "the one in force")
            }
            Rejection::FamiliesTaken { .. } => one("family list".into(), "what was said"),
            Rejection::LeaseLost { .. }
            | Rejection::BlockerNotFound { .. }
            | Rejection::StillTelling { .. }
            | Rejection::WorkflowsTaken { .. }
            | Rejection::WorkflowTextsFull { .. }
            | Rejection::Invalid { .. } => Vec::new(),
        }
    }

    /// What the caller can do about it.
    pub fn fix(&self) -> String {
        match self {
            Rejection::TaskNotFound { .. } => {
                "list tasks to find its id; one that was deleted is gone for good, and not every number was given".into()
            }
            Rejection::BulkNotFound { .. } => "list bulks to find its id".into(),
            Rejection::BulkClosed { .. } => "nothing is left to cancel; show the bulk to see what it did".into(),
            Rejection::WrongState { task, status, .. } => match status {
                Status::Idle => format!("retry {task} to queue it, or start it to run it now"),
                Status::Queued => format!("explain {task} to see what it waits for; reset or cancel it to take it out"),
                Status::Running => format!("cancel {task} first, or wait until it ends"),
                Status::Done => format!("reset {task} to make it idle, then retry it to run it again"),
                Status::Failed | Status::Cancelled => format!("retry {task} to queue it again, or reset it to idle"),
            },
            Rejection::LeaseLost { .. } => "drop this attempt's work; the task went on without it".into(),
            Rejection::Blocked { by, .. } => format!("finish {by} first, or start with force"),
            Rejection::OverridesTaken { .. } => {
                "wait until one that was started ends, or raise the queue's override_slots".into()
            }
            Rejection::BacklogFull { .. } => "add again later, add workers, or raise the queue's backlog_max".into(),
            Rejection::BlockerNotFound { .. } => "leave it out, or add the blocker first".into(),
            Rejection::BulksTaken { .. } => "wait until one ends, or cancel one".into(),
            Rejection::BoostsTaken { .. } => "remove a boost by setting it to 0".into(),
            Rejection::QueuesTaken { .. } => "use a queue that is there".into(),
            Rejection::StillTelling { .. } => "try again in a moment".into(),
            Rejection::RunNotFound { .. } => "list runs to find its id".into(),
            Rejection::RunEnded { run, verb: "patch" | "skip", .. } => {
                format!("restart it from a node, which takes --set and -f along: run restart {run}/NODE --set …; or fork it")
            }
            Rejection::RunEnded { .. } => "show the run to see how it ended".into(),
            Rejection::WorkflowNotFound { workflow, version: Some(_) } => {
                format!("show {workflow} to see the versions there are, or put this one")
            }
            Rejection::WorkflowNotFound { .. } => "list workflows, or put this one".into(),
            Rejection::NodeNotFound { .. } => "show the run to see its nodes".into(),
            Rejection::NotAsking { .. } => "list approvals to see what waits for an answer".into(),
            Rejection::NotAsked { who, .. } => format!("answer as one of: {who}"),
            Rejection::RunNotEnded { run } => format!("cancel {run} first, or wait until it ends"),
            Rejection::RunEnding { .. } => "try again in a moment".into(),
            Rejection::NotToRetry { run, status: RunStatus::Done } => {
                format!("restart it from a node, run restart {run}/NODE, or fork it")
            }
            Rejection::NotToRetry { run, .. } => format!("show {run} to see how it stands"),
            Rejection::NodeSettled { at, status: "waiting" } => {
                format!("retry {} without naming a node to take up all that failed it", at.run)
            }
            Rejection::NodeSettled { at, .. } => {
                let run = at.run;
                format!("retry {run} without naming a node to take up all that failed it, or restart it from this one")
            }
            Rejection::NothingToRetry { .. } => "start a new run".into(),
            Rejection::VersionTaken { newest, .. } => {
                format!("put it as version {}, or leave the version out to get the next", newest + 1)
            }
            Rejection::WorkflowDisabled { workflow, .. } => {
                format!("enable it with `signaller workflow enable {workflow}`, or ask who disabled it")
            }
            Rejection::WorkflowsTaken { .. } | Rejection::WorkflowTextsFull { .. } => "use one that is there".into(),
            Rejection::OfRun { at, .. } => format!("show {} to see its nodes; the task itself can only be cancelled", at.run),
            Rejection::RevisionConflict { revision, .. } => {
                format!("look at revision {revision}, and make the patch of that one")
            }
            Rejection::NotBegun { .. } => "patch it if it should be another, or restart from a node before it".into(),
            Rejection::NotToSkip { at, .. } => format!("restart {} from it, or from a node after it", at.run),
            Rejection::RevisionsTaken { run, .. } => format!("fork {run} with the definition you want"),
            Rejection::Frozen { status: "being stopped", .. } => "try again in a moment".into(),
            Rejection::Frozen { .. } => {
                "change what has not begun, or restart the run from that node: a restart takes the same --set, --unset and -f"
                    .into()
            }
            Rejection::EventNotFound { .. } => "list events to find its id; old ones are gone".into(),
            Rejection::RegistryChanged { .. } => "send it again".into(),
            Rejection::QueueInRegistry { .. } => "change it in the registry's file".into(),
            Rejection::FamiliesTaken { .. } => "resume one, or take a boost away by setting it to 0".into(),
            Rejection::Invalid { .. } => "correct the request and send it again".into(),
        }
    }
}
