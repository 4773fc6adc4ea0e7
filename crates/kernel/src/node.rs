//! The node machine: one node in one frame of one run. [`Slot::fold`] is the table below as code.
//!
//! | from | may become | by |
//! |---|---|---|
//! | waiting | working, asking, sleeping, awaiting, calling, turning, spreading | `NodeStarted` |
//! | waiting | done | `NodeDone` (what the engine decides at once) |
//! | waiting | skipped | `NodeSkipped` |
//! | waiting | failed | `NodeFailed` (an expression that does not work out) |
//! | any that was started | done, failed | `NodeDone`, `NodeFailed` |
//! | any that has not ended | cancelled | `NodeCancelled` |
//! | awaiting | awaiting | `NodeLooked` (no event that came before is the one) |
//! | calling | waiting | `NodeReopened` (what it called is to go on and cannot) |
//! | failed, cancelled | waiting; calling, turning, spreading if it was that | `NodeReopened` |
//! | any | waiting | `NodeReset` |
//! | any that was turning or spreading | the same again | `NodeRewound` |
//! | any but done and skipped | done | `NodeSet` |

use crate::frame::Cause;
use crate::ids::{EventId, RecordSeq, RunId, TaskId};
use crate::ir::OnError;
use crate::names::{EventName, NodeId};
use crate::record::{Entry, Failure, Record};
use crate::run::ValueAt;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// A node's place in a frame.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Slot {
    pub(crate) last: RecordSeq,
    /// The record by which it stopped waiting. Tokens that came later are taken in, and nothing it gives holds them.
    pub(crate) entered: RecordSeq,
    pub(crate) state: NodeState,
    /// What one that has ended was at, if it was started.
    pub(crate) was: Option<Box<Was>>,
    pub(crate) ended_at: Option<Time>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Was {
    pub since: Time,
    pub at: Started,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum NodeState {
    #[default]
    Waiting,
    Started {
        since: Time,
        at: Started,
    },
    Done {
        output: Output,
        went: Went,
    },
    Failed {
        failure: Box<Failure>,
        then: OnError,
    },
    Skipped(Cause),
    Cancelled,
}

/// What a node that was started is at.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Started {
    /// A worker's task.
    Working {
        task: TaskId,
    },
    /// A run of its own, tried again so often.
    Calling {
        run: RunId,
        #[serde(default, skip_serializing_if = "is_zero")]
        again: u32,
    },
    /// Somebody has to answer.
    Asking {
        until: Option<Time>,
    },
    Sleeping {
        until: Time,
    },
    /// An event has to come.
    Awaiting(Box<Awaiting>),
    /// A loop; the first turn's `last`.
    Turning {
        init: ValueAt,
        /// Turns beyond so many that are of generations before this one are undone.
        #[serde(default, skip_serializing_if = "is_zero")]
        kept: u32,
        #[serde(default, skip_serializing_if = "is_zero")]
        generation: u32,
    },
    /// An each, over so many items.
    Spreading {
        items: ValueAt,
        count: u32,
        /// It is tried again, and what failed in it before with it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
        /// That of the run when it was entered: items of earlier ones are undone.
        #[serde(default, skip_serializing_if = "is_zero")]
        generation: u32,
    },
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Awaiting {
    pub event: EventName,
    /// What is read of an event, and what that has to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<(Box<str>, Box<str>)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// Only what came after this may be the one.
    pub after: EventId,
    /// What came before it was entered has yet to be looked at.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub looking: bool,
}

fn is_zero(again: &u32) -> bool {
    *again == 0
}

/// What a node that is done gave.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Output {
    At(ValueAt),
    /// What it was given.
    Passed,
}

/// Which way a node that is done went.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Went {
    Done,
    Rule(u16),
    Default,
    Named(NodeId),
    /// By this event.
    Heard(EventId),
    Reject,
    Timeout,
    Max,
}

/// How a node ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ended<'a> {
    Done(&'a Went),
    Failed(OnError),
    Skipped(Cause),
    Cancelled,
}

/// What a record says of an output. `Own` is the payload of the record itself.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    Own,
    Passed,
    At(ValueAt),
}

impl Went {
    /// The event, if it was one.
    pub fn heard(&self) -> Option<EventId> {
        if let Went::Heard(event) = self { Some(*event) } else { None }
    }
}

impl NodeState {
    /// What it waits for, if that is an event.
    pub fn awaiting(&self) -> Option<&Awaiting> {
        match self {
            NodeState::Started { at: Started::Awaiting(awaiting), .. } => Some(awaiting),
            _ => None,
        }
    }

    /// The event by which it is done.
    pub fn heard(&self) -> Option<EventId> {
        match self {
            NodeState::Done { went, .. } => went.heard(),
            _ => None,
        }
    }

    pub fn ended(&self) -> Option<Ended<'_>> {
        match self {
            NodeState::Waiting | NodeState::Started { .. } => None,
            NodeState::Done { went, .. } => Some(Ended::Done(went)),
            NodeState::Failed { then, .. } => Some(Ended::Failed(*then)),
            NodeState::Skipped(cause) => Some(Ended::Skipped(*cause)),
            NodeState::Cancelled => Some(Ended::Cancelled),
        }
    }

    pub const fn as_str(&self) -> &'static str {
        match self {
            NodeState::Waiting => "waiting",
            NodeState::Started { at: Started::Asking { .. }, .. } => "asking",
            NodeState::Started { at: Started::Sleeping { .. }, .. } => "sleeping",
            NodeState::Started { at: Started::Awaiting(_), .. } => "awaiting",
            NodeState::Started { .. } => "running",
            NodeState::Done { .. } => "done",
            NodeState::Failed { .. } => "failed",
            NodeState::Skipped(_) => "skipped",
            NodeState::Cancelled => "cancelled",
        }
    }
}

impl Started {
    pub const fn as_str(&self) -> &'static str {
        match self {
            Started::Working { .. } => "working",
            Started::Calling { .. } => "calling",
            Started::Asking { .. } => "asking",
            Started::Sleeping { .. } => "sleeping",
            Started::Awaiting(_) => "awaiting",
            Started::Turning { .. } => "turning",
            Started::Spreading { .. } => "spreading",
        }
    }
}

impl Slot {
    pub fn state(&self) -> &NodeState {
        &self.state
    }

    pub fn last(&self) -> RecordSeq {
        self.last
    }

    pub fn ended_at(&self) -> Option<Time> {
        self.ended_at
    }

    /// What it is at, or was, and since when.
    pub fn work(&self) -> Option<(Time, &Started)> {
        match (&self.state, &self.was) {
            (NodeState::Started { since, at }, _) => Some((*since, at)),
            (_, Some(was)) => Some((was.since, &was.at)),
            _ => None,
        }
    }

    pub(crate) fn fold(mut self, entry: &Entry) -> Slot {
        use NodeState::*;
        let waited = self.state == Waiting;
        if let Started { since, at } = &self.state {
            self.was = Some(Box::new(Was { since: *since, at: at.clone() }));
        }
        let state = match (self.state, &entry.record) {
            (Waiting, Record::NodeStarted { at }) => Started { since: entry.at, at: at.own(entry.seq) },
            (Waiting | Started { .. }, Record::NodeDone { output, went }) => {
                Done { output: output.stored(entry.seq), went: went.clone() }
            }
            (Waiting | Started { .. }, Record::NodeFailed { failure, then }) => {
                Failed { failure: Box::new(failure.clone()), then: *then }
            }
            (Started { since, at: self::Started::Awaiting(mut awaiting) }, Record::NodeLooked {}) => {
                awaiting.looking = false;
                Started { since, at: self::Started::Awaiting(awaiting) }
            }
            (Waiting, Record::NodeSkipped { cause, .. }) => Skipped(*cause),
            (Waiting | Started { .. }, Record::NodeCancelled {}) => Cancelled,
            (Started { at: self::Started::Calling { .. }, .. }, Record::NodeReopened { .. }) => Waiting,
            (Failed { .. } | Cancelled, Record::NodeReopened { only, .. }) => {
                match self.was.as_deref().and_then(|was| Some((was.since, was.at.again(*only)?))) {
                    Some((since, at)) => Started { since, at },
                    None => Waiting,
                }
            }
            (_, Record::NodeReset {}) => Waiting,
            (state @ (Started { .. } | Done { .. } | Failed { .. } | Cancelled), Record::NodeRewound { turns, generation }) => {
                let ended_well = matches!(state, Started { .. } | Done { .. });
                match self.was.as_deref().and_then(|was| Some((was.since, was.at.rewound(*turns, *generation, ended_well)?))) {
                    Some((since, at)) => Started { since, at },
                    None => panic!("{}: nothing in it can be restarted", entry.owner),
                }
            }
            (Waiting | Started { .. } | Failed { .. } | Cancelled, Record::NodeSet { .. }) => {
                Done { output: Output::At(ValueAt::Record(entry.seq)), went: Went::Done }
            }
            (state, record) => panic!("{}: {} does not fit a node that is {}", entry.owner, record.kind(), state.as_str()),
        };
        let entered = match (&state, waited) {
            (Waiting, _) => RecordSeq::NONE,
            (_, true) => entry.seq,
            (_, false) => self.entered,
        };
        let ended = state.ended().is_some();
        let was = self.was.filter(|_| ended);
        Slot { last: entry.seq, entered, state, was, ended_at: ended.then_some(entry.at) }
    }
}

impl Told {
    fn stored(self, seq: RecordSeq) -> Output {
        match self {
            Told::Own => Output::At(ValueAt::Record(seq)),
            Told::Passed => Output::Passed,
            Told::At(value) => Output::At(value.at(seq)),
        }
    }
}

impl Started {
    /// What was worked out for it lies in its own record.
    fn own(&self, seq: RecordSeq) -> Started {
        match self {
            Started::Turning { init, kept, generation } => {
                Started::Turning { init: init.at(seq), kept: *kept, generation: *generation }
            }
            Started::Spreading { items, count, again, generation } => {
                Started::Spreading { items: items.at(seq), count: *count, again: *again, generation: *generation }
            }
            other => other.clone(),
        }
    }

    /// What a loop or an each goes on with in which something was restarted. What had failed in an each is tried again only if it
    /// had not got over that.
    fn rewound(&self, turns: u32, generation: u32, well: bool) -> Option<Started> {
        match self {
            Started::Turning { init, .. } => Some(Started::Turning { init: *init, kept: turns, generation }),
            Started::Spreading { items, count, again, generation } => {
                let (items, count, generation) = (*items, *count, *generation);
                Some(Started::Spreading { items, count, again: *again || !well, generation })
            }
            _ => None,
        }
    }

    /// What a node that is tried again goes on with: its frames, or the run it called. `None`: it begins anew.
    pub fn again(&self, only: bool) -> Option<Started> {
        match self {
            Started::Turning { .. } => Some(self.clone()),
            Started::Spreading { items, count, generation, .. } => {
                Some(Started::Spreading { items: *items, count: *count, again: !only, generation: *generation })
            }
            Started::Calling { .. } if crate::defect("call_begun_anew") => None,
            Started::Calling { run, again } => Some(Started::Calling { run: *run, again: again + 1 }),
            Started::Working { .. } | Started::Asking { .. } | Started::Sleeping { .. } | Started::Awaiting(_) => None,
        }
    }
}
