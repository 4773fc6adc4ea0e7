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
    Enqueue {
        task: TaskId,
        spec: Box<TaskSpec>,
        input: Payload,
    },
    /// To a queue: nobody wants the outcome of this task any more.
    Withdraw {
        task: TaskId,
        by: Actor,
        reason: String,
    },
    /// To a queue: the run is paused; if no worker has taken this task, give it back.
    Withhold {
        task: TaskId,
    },
    /// To a queue: the run is being deleted; if this task has ended, it goes with it, and the run hears that it has. While a
    /// worker is at it nothing happens: the run asks again.
    ForgetTask {
        task: TaskId,
        run: RunId,
    },
    /// To a queue: if this task waits for nothing but a worker, since when? Otherwise there is no answer.
    AskTask {
        task: TaskId,
        at: NodeAt,
    },
    /// To a run: the task of one of its nodes has ended.
    TaskEnded {
        at: NodeAt,
        task: TaskId,
        result: Ending,
    },
    /// To a run that is being deleted: no queue knows of this task any more.
    TaskForgotten {
        run: RunId,
        task: TaskId,
    },
    /// To a run: the task of one of its nodes could have been taken since then, and was not.
    TaskWaits {
        at: NodeAt,
        task: TaskId,
        since: Time,
    },
    /// To a shard of runs: this run, once.
    StartRun {
        run: RunId,
        spec: Box<RunSpec>,
        input: Payload,
        by: Actor,
    },
    CancelRun {
        run: RunId,
        by: Actor,
        reason: String,
    },
    /// To a run: one that a node of it called has ended.
    RunEnded {
        at: NodeAt,
        run: RunId,
        result: Ending,
    },
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
    /// Given back: the run was paused.
    Withheld,
}

impl Message {
    /// Whether it is for a queue; the others are for runs.
    pub fn is_for_queues(&self) -> bool {
        match self {
            Message::Enqueue { .. } | Message::Withdraw { .. } | Message::Withhold { .. } => true,
            Message::ForgetTask { .. } | Message::AskTask { .. } => true,
            Message::TaskEnded { .. } | Message::TaskForgotten { .. } | Message::TaskWaits { .. } => false,
            Message::StartRun { .. } | Message::CancelRun { .. } | Message::RunEnded { .. } => false,
        }
    }
}
