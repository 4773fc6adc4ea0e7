//! The run machine, and where a run's values are.
//!
//! | from | may become | by |
//! |---|---|---|
//! | – | running | `RunStarted` |
//! | running | done, failed, cancelled | `RunDone`, `RunFailed`, `RunCancelled` |
//! | failed, cancelled | running | `RunReopened` |
//! | any | running, of the next generation | `RunRestarted` |
//! | any but running | the same, deleting | `RunDeleting` |
//! | deleting | – | `RunDeleted` |
//!
//! Paused is a field of a running run: by somebody (`RunPaused`, `RunResumed`), or with the run that called it (`RunHeld`,
//! `RunLetGo`); it goes on when it is neither. So is that it was patched and not all under way has been looked at since
//! (`RunPatched`, `RunFollowed`). One that has ended stays live until every frame below it is closed.

use crate::frame::FramePath;
use crate::hold::Hold;
use crate::ids::{EventId, RecordSeq, RunId, TaskId};
use crate::names::*;
use crate::priority::Priority;
use crate::record::{Entry, Failure, Record};
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// Where a value is; values themselves are not in memory. **Invariant**: the record is one of the shard the run lives on, so its
/// number is enough. What comes from a queue or a run elsewhere is carried along and written again
/// ([`Ending::Carried`](crate::message::Ending)); a called run lives on the shard of its caller.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueAt {
    Null,
    /// The payload of the record that says so.
    Own,
    /// The payload of this record.
    Record(RecordSeq),
    /// One item of the list that is the payload of this record.
    Item(RecordSeq, u32),
}

impl ValueAt {
    /// As it is kept: what a record holds itself is found by that record's number.
    pub(crate) fn at(self, seq: RecordSeq) -> ValueAt {
        if self == ValueAt::Own { ValueAt::Record(seq) } else { self }
    }
}

impl ValueAt {
    /// One item of a list.
    pub(crate) fn item(self, index: u32) -> ValueAt {
        match self {
            ValueAt::Record(seq) => ValueAt::Item(seq, index),
            // A list within a list is written out before it is spread over.
            _ => ValueAt::Null,
        }
    }
}

/// One node of one frame of one run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct NodeAt {
    pub run: RunId,
    #[serde(default, skip_serializing_if = "FramePath::is_root")]
    pub frame: FramePath,
    pub node: NodeId,
}

impl NodeAt {
    /// `run-7/pay`, `run-7/rounds[1]/pay`
    pub fn show(&self) -> String {
        let dash = if self.frame.is_root() { "" } else { "/" };
        format!("{}/{}{dash}{}", self.run, self.frame, self.node)
    }
}

impl NodeAt {
    /// `run-7/0/rounds[1].check[4]/lint`: the same over retries.
    pub fn work_key(&self, generation: u32) -> String {
        let slash = if self.frame.is_root() { "" } else { "/" };
        format!("{}/{generation}/{}{slash}{}", self.run, self.frame, self.node)
    }

    /// The other way around from [`NodeAt::show`].
    pub fn parse(text: &str) -> Option<NodeAt> {
        let (run, rest) = text.split_once('/')?;
        let (frame, node) = rest.rsplit_once('/').unwrap_or(("", rest));
        Some(NodeAt { run: RunId::parse(run)?, frame: FramePath::parse(frame)?, node: NodeId::parse(node).ok()? })
    }
}

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RunStatus {
    Running,
    Done,
    Failed,
    Cancelled,
}

impl RunStatus {
    pub const ALL: [RunStatus; 4] = [RunStatus::Running, RunStatus::Done, RunStatus::Failed, RunStatus::Cancelled];

    pub const fn as_str(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Done => "done",
            RunStatus::Failed => "failed",
            RunStatus::Cancelled => "cancelled",
        }
    }

    pub fn parse(text: &str) -> Option<RunStatus> {
        RunStatus::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

/// A change of a run's definition: the record whose payload holds the text.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Patch {
    Own(RecordSeq),
    /// Only a turn or an item follows it.
    Alone {
        alone: RecordSeq,
    },
}

impl Patch {
    fn record(self) -> RecordSeq {
        match self {
            Patch::Own(record) | Patch::Alone { alone: record } => record,
        }
    }
}

/// Where a run was forked from another.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Origin {
    pub run: RunId,
    /// It goes on from how that one was after this record.
    pub record: RecordSeq,
    /// And from before this node, if one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeAt>,
    /// When the first of them began, if that one was forked itself; as an event that came then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<EventId>,
}

impl Origin {
    /// When the first run began that this goes back to.
    pub fn began(&self) -> Option<EventId> {
        self.since.or_else(|| EventId::from_number(self.run.number()))
    }
}

/// What a run is told to be when it starts. The payload of `RunStarted` is its input.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunSpec {
    pub workflow: WorkflowName,
    pub version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
    /// The node that called it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<NodeAt>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Time>,
    /// How long whoever started it gave it; `deadline` is the earlier of that and what its text says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_ms: Option<u64>,
    /// How many runs called one another down to it.
    #[serde(default, skip_serializing_if = "is_none")]
    pub depth: u16,
    /// The run it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Box<Origin>>,
    /// The task that was handed over to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The event it was started for, the newest if several: waits look back to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<EventId>,
}

impl RunSpec {
    /// With nothing special about it.
    pub fn new(workflow: WorkflowName, version: u32) -> RunSpec {
        RunSpec {
            workflow,
            version,
            priority: None,
            tags: Vec::new(),
            idempotency_key: None,
            parent: None,
            deadline: None,
            asked_ms: None,
            depth: 0,
            origin: None,
            task: None,
            event: None,
        }
    }
}

fn is_none(depth: &u16) -> bool {
    *depth == 0
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunPause {
    pub since: Time,
    pub reason: String,
    pub by: Actor,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Deleting {
    pub by: Actor,
    /// It grew old, or there were too many.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub expired: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    pub(crate) id: RunId,
    pub(crate) last: RecordSeq,
    pub(crate) status: RunStatus,
    /// In memory: it runs, or has frames to close.
    pub(crate) live: bool,
    /// What belongs to it is being deleted, chunk by chunk; it goes last.
    pub(crate) deleting: Option<Box<Deleting>>,
    pub(crate) spec: Box<RunSpec>,
    /// How often it was restarted.
    pub(crate) generation: u32,
    /// What changed its definition, in order.
    pub(crate) patches: Box<[Patch]>,
    pub(crate) input: RecordSeq,
    pub(crate) output: ValueAt,
    pub(crate) failure: Option<Box<Failure>>,
    /// In its own right.
    pub(crate) pause: Option<Box<RunPause>>,
    /// By the pauses of the run that called it.
    pub(crate) hold: Hold,
    /// How often it was paused, one way or the other.
    pub(crate) pauses: u32,
    /// Not all that it works on has heard that it is paused, or is not any more.
    pub(crate) telling: bool,
    /// Not all turns and items under way have been looked at since it was patched.
    pub(crate) following: bool,
    /// How often it was tried again.
    pub(crate) again: u32,
    /// How long it was given.
    pub(crate) given_ms: Option<u64>,
    pub(crate) started_at: Time,
    /// When it last went on after an end.
    pub(crate) opened_at: Option<Time>,
    pub(crate) ended_at: Option<Time>,
}

impl Run {
    /// `None`: it was deleted.
    pub fn fold(run: Option<Run>, id: RunId, entry: &Entry) -> Option<Run> {
        use RunStatus::*;
        let mut run = match (run, &entry.record) {
            (None, Record::RunStarted { spec, .. }) => Run {
                id,
                last: entry.seq,
                status: Running,
                live: true,
                deleting: None,
                spec: spec.clone(),
                generation: 0,
                patches: Box::default(),
                input: entry.seq,
                output: ValueAt::Null,
                failure: None,
                pause: None,
                hold: Hold::default(),
                pauses: 0,
                telling: false,
                following: false,
                again: 0,
                given_ms: spec.deadline.map(|deadline| deadline.ms_since(entry.at)),
                started_at: entry.at,
                opened_at: None,
                ended_at: None,
            },
            (Some(run), Record::RunPaused { reason, by, told }) if run.status == Running => {
                let pause = RunPause { since: entry.at, reason: reason.clone(), by: by.clone() };
                let pauses = run.pauses + u32::from(!run.is_paused());
                Run { pause: Some(Box::new(pause)), pauses, telling: !told, ..run }
            }
            (Some(run), Record::RunResumed { told, .. }) if run.status == Running => Run { pause: None, telling: !told, ..run },
            (Some(run), Record::RunHeld { pause, told }) if run.status == Running => {
                let pauses = run.pauses + u32::from(!run.is_paused());
                Run { hold: Hold { pause: *pause, held: true }, pauses, telling: !told, ..run }
            }
            (Some(run), Record::RunLetGo { pause, told }) if run.status == Running => {
                Run { hold: Hold { pause: *pause, held: false }, telling: !told, ..run }
            }
            (Some(run), Record::RunTold {}) if run.telling => Run { telling: false, ..run },
            (Some(run), Record::RunDone { output, closed }) if run.status == Running => {
                Run { status: Done, output: output.at(entry.seq), ..run.ended(entry, *closed) }
            }
            (Some(run), Record::RunFailed { failure, closed, .. }) if run.status == Running => {
                Run { status: Failed, failure: Some(Box::new(failure.clone())), ..run.ended(entry, *closed) }
            }
            (Some(run), Record::RunCancelled { closed, .. }) if run.status == Running => {
                Run { status: Cancelled, ..run.ended(entry, *closed) }
            }
            (Some(run), Record::RunClosed {}) if run.status != Running && run.live => Run { live: false, ..run },
            (Some(mut run), Record::RunReopened { deadline, again, anew, .. })
                if matches!(run.status, Failed | Cancelled) && !run.live =>
            {
                run.spec.deadline = *deadline;
                let opened_at = if *anew { Some(entry.at) } else { run.opened_at };
                Run { status: Running, live: true, failure: None, ended_at: None, again: *again, opened_at, ..run }
            }
            (Some(mut run), Record::RunRestarted { generation, deadline, anew, .. })
                if run.deleting.is_none() && (run.status == Running || !run.live) =>
            {
                run.spec.deadline = *deadline;
                let (output, generation) = (ValueAt::Null, *generation);
                let opened_at = if *anew { Some(entry.at) } else { run.opened_at };
                Run { status: Running, live: true, failure: None, ended_at: None, output, generation, opened_at, ..run }
            }
            (Some(mut run), Record::RunPatched { revision, deadline, only, more, .. })
                if run.deleting.is_none() && *revision == run.revision() + 1 =>
            {
                if run.spec.deadline != *deadline {
                    run.given_ms = deadline.map(|deadline| deadline.ms_since(run.opened_at.unwrap_or(run.started_at)));
                }
                run.spec.deadline = *deadline;
                let patch = if only.is_some() { Patch::Alone { alone: entry.seq } } else { Patch::Own(entry.seq) };
                let patches = run.patches.iter().copied().chain([patch]).collect();
                Run { patches, following: *more, ..run }
            }
            (Some(run), Record::RunFollowed {}) if run.following => Run { following: false, ..run },
            (Some(run), Record::RunDeleting { by, expired }) if !run.live => {
                Run { live: true, deleting: Some(Box::new(Deleting { by: by.clone(), expired: *expired })), ..run }
            }
            (Some(run), Record::RunDeleted { .. }) if run.deleting.is_some() => {
                drop(run);
                return None;
            }
            (_, record) => panic!("{id}: {} does not fit its history", record.kind()),
        };
        run.last = entry.seq;
        Some(run)
    }

    fn ended(self, entry: &Entry, closed: bool) -> Run {
        let hold = self.hold.ended();
        Run { pause: None, hold, telling: false, following: false, ended_at: Some(entry.at), live: !closed, ..self }
    }

    pub fn id(&self) -> RunId {
        self.id
    }

    pub fn last(&self) -> RecordSeq {
        self.last
    }

    pub fn status(&self) -> RunStatus {
        self.status
    }

    pub fn spec(&self) -> &RunSpec {
        &self.spec
    }

    pub fn pause(&self) -> Option<&RunPause> {
        self.pause.as_deref()
    }

    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// How often its definition was changed.
    pub fn revision(&self) -> u32 {
        self.patches.len() as u32
    }

    /// The revision that its own frame follows: the newest but for those of a turn or an item alone.
    pub fn follows(&self) -> u32 {
        self.patches.iter().rposition(|patch| matches!(patch, Patch::Own(_))).map_or(0, |at| at as u32 + 1)
    }

    /// Only a turn or an item follows it, and keeps it.
    pub(crate) fn is_alone(&self, revision: u32) -> bool {
        let patch = (revision as usize).checked_sub(1).and_then(|at| self.patches.get(at));
        matches!(patch, Some(Patch::Alone { .. }))
    }

    /// The one that a revision is to be held against: the newest before it that the run's own frame followed.
    pub fn before(&self, revision: u32) -> Option<u32> {
        let before = (revision as usize).checked_sub(1)?;
        let own = self.patches.iter().take(before).rposition(|patch| matches!(patch, Patch::Own(_)));
        Some(own.map_or(0, |at| at as u32 + 1))
    }

    /// The record that made a revision; `None`: it is the text of its version.
    pub fn patch(&self, revision: u32) -> Option<RecordSeq> {
        self.patches.get((revision as usize).checked_sub(1)?).map(|patch| patch.record())
    }

    /// Nothing has happened to it since its text was changed.
    pub(crate) fn is_fresh(&self) -> bool {
        self.patches.last().is_some_and(|patch| patch.record() == self.last)
    }

    /// The record whose payload is the input.
    pub fn input(&self) -> RecordSeq {
        self.input
    }

    pub fn output(&self) -> ValueAt {
        self.output
    }

    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_deref()
    }

    pub fn started_at(&self) -> Time {
        self.started_at
    }

    /// When it was started, or last went on after an end: its time counts from there.
    pub fn opened_at(&self) -> Time {
        self.opened_at.unwrap_or_else(|| {
            // One that was tried again before that was kept says so by its deadline.
            let by_deadline = self.spec.deadline.zip(self.given_ms.filter(|ms| self.again > 0 && *ms > 0));
            by_deadline.map_or(self.started_at, |(deadline, ms)| deadline.plus_us(-(ms as i64).saturating_mul(1_000)))
        })
    }

    pub fn ended_at(&self) -> Option<Time> {
        self.ended_at
    }

    pub fn is_live(&self) -> bool {
        self.live
    }

    pub fn is_deleting(&self) -> bool {
        self.deleting.is_some()
    }

    /// In its own right, or with the run that called it.
    pub fn is_paused(&self) -> bool {
        self.pause.is_some() || self.is_held()
    }

    /// The run that called it is paused.
    pub fn is_held(&self) -> bool {
        self.hold.held
    }

    /// Not all that it works on has heard that it is paused, or is not any more.
    pub fn is_telling(&self) -> bool {
        self.telling
    }

    /// Not all turns and items under way have been looked at since it was patched.
    pub fn is_following(&self) -> bool {
        self.following
    }

    /// How often it was tried again.
    pub fn again(&self) -> u32 {
        self.again
    }
}
