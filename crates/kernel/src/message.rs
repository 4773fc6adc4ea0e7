//! What queues and runs tell one another, and all they know of one another. On one shard a message is a follow-up in the
//! same batch. Between shards it goes through a mailbox, in the order it was sent, late perhaps and perhaps twice: each
//! is so made that hearing it again changes nothing.

use crate::ids::{RunId, TaskId};
use crate::names::Actor;
use crate::record::{Failure, Payload, TaskSpec};
use crate::run::{NodeAt, RunSpec, ValueAt};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// To a queue: this task, once.
    Enqueue { task: TaskId, spec: Box<TaskSpec>, input: Payload },
    /// To a queue: nobody wants the outcome of this task any more.
    Withdraw { task: TaskId, by: Actor, reason: String },
    /// To a queue: the run of this task is paused, for the so manieth time: it stays where it is.
    Hold { task: TaskId, pause: u32 },
    /// To a queue: that pause is over.
    LetGo { task: TaskId, pause: u32 },
    /// To a run: the task of one of its nodes has ended.
    TaskEnded { at: NodeAt, task: TaskId, result: Ending },
    /// To a shard of runs: this run, once.
    StartRun { run: RunId, spec: Box<RunSpec>, input: Payload, by: Actor },
    /// To a run that was called: nobody wants it any more. `again`: how often it was tried again, in this and what follows.
    CancelRun { run: RunId, again: u32, by: Actor, reason: String },
    /// To a run that was called: its caller is paused, for the so manieth time.
    HoldRun { run: RunId, pause: u32 },
    /// To a run that was called: that pause is over.
    LetRunGo { run: RunId, pause: u32 },
    /// To a run that was called and has ended: its caller is tried again, and it with it. `held`: by that pause.
    RetryRun { at: NodeAt, run: RunId, again: u32, held: Option<u32> },
    /// To a run: one that a node of it called cannot be tried again.
    RunLost { at: NodeAt, run: RunId, again: u32 },
    /// To a run: one that a node of it called has ended.
    RunEnded { at: NodeAt, run: RunId, again: u32, result: Ending },
}

/// How something that a node waits for has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Done(ValueAt),
    /// Done elsewhere: the value comes along.
    Carried(Payload),
    Failed(Failure),
    Cancelled {
        by: Actor,
        reason: String,
    },
}

impl Message {
    /// Whether it is for a queue; the others are for runs.
    pub fn is_for_queues(&self) -> bool {
        matches!(self, Message::Enqueue { .. } | Message::Withdraw { .. } | Message::Hold { .. } | Message::LetGo { .. })
    }
}
