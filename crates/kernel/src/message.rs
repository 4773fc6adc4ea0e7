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
    /// To a run: the task of one of its nodes has ended.
    TaskEnded {
        at: NodeAt,
        task: TaskId,
        result: Ending,
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
        matches!(self, Message::Enqueue { .. } | Message::Withdraw { .. } | Message::Withhold { .. })
    }
}
