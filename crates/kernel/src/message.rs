//! What queues and runs tell one another, and all they know of one another. On one shard a message is a follow-up in the
//! same batch. Between shards it goes through a mailbox, in the order it was sent, late perhaps and perhaps twice: each
//! is so made that hearing it again changes nothing. Only what was deleted meanwhile may come back by an old message; what
//! was sent after that one comes again as well, and deletes it again.

use crate::ids::{RunId, TaskId};
use crate::names::Actor;
use crate::record::{Failure, Payload, TaskSpec};
use crate::run::{NodeAt, RunSpec, ValueAt};
use crate::time::Time;

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
    /// To a queue: the run is being deleted; if this task has ended, it goes with it, and the run hears that it has. While a
    /// worker is at it nothing happens: the run asks again.
    ForgetTask { task: TaskId, run: RunId },
    /// To a queue: if this task waits for nothing but a worker, since when? Otherwise there is no answer.
    AskTask { task: TaskId, at: NodeAt },
    /// To a run: the task of one of its nodes has ended.
    TaskEnded { at: NodeAt, task: TaskId, result: Ending },
    /// To a run that is being deleted: no queue knows of this task any more.
    TaskForgotten { run: RunId, task: TaskId },
    /// To a run: the task of one of its nodes could have been taken since then, and was not.
    TaskWaits { at: NodeAt, task: TaskId, since: Time },
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
    /// To a run that a task was handed over to: nobody wants it any more.
    StopRun { run: RunId, task: TaskId, by: Actor, reason: String },
    /// To a queue: the run that this task was handed over to has ended.
    HandedBack { task: TaskId, run: RunId, result: Ending },
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
        match self {
            Message::Enqueue { .. } | Message::Withdraw { .. } | Message::Hold { .. } | Message::LetGo { .. } => true,
            Message::ForgetTask { .. } | Message::AskTask { .. } | Message::HandedBack { .. } => true,
            Message::TaskEnded { .. } | Message::TaskForgotten { .. } | Message::TaskWaits { .. } => false,
            Message::StartRun { .. } | Message::CancelRun { .. } | Message::RunEnded { .. } | Message::StopRun { .. } => false,
            Message::HoldRun { .. } | Message::LetRunGo { .. } | Message::RetryRun { .. } | Message::RunLost { .. } => false,
        }
    }
}
