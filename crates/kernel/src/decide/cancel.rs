//! Cancel a task. One that waits is cancelled at once; one that runs is asked to stop, and keeps its slots until its
//! worker confirms or falls silent. Whoever asks twice hears the same, so that who heard nothing may ask again.

use crate::command::Reply;
use crate::ids::TaskId;
use crate::lease::Ending;
use crate::message::Message;
use crate::names::Actor;
use crate::record::{CancelCause, Record};
use crate::rejection::Rejection;
use crate::step::Step;
use crate::task::{Status, Task};

pub(super) fn decide(step: &mut Step<'_>, task: TaskId, by: &Actor, reason: &str) -> Result<Reply, Rejection> {
    let (by, reason) = (by.clone(), reason.to_owned());
    match super::find(step.state(), task)? {
        Task::Queued(_) => {
            step.record_task(task, Record::TaskCancelled { cause: CancelCause::Asked, by, reason, digest: None });
            Ok(Reply::Task { task, status: Status::Cancelled })
        }
        Task::Running(running) => {
            // A task that timed out may still be cancelled, so that it is not retried.
            if !matches!(running.lease().ending(), Some(Ending::Cancel { .. })) {
                let run = running.lease().run();
                step.record_task(task, Record::TaskCancelRequested { by: by.clone(), reason: reason.clone() });
                if let Some(run) = run {
                    step.send(Message::StopRun { run, task, by, reason });
                }
            }
            Ok(Reply::Task { task, status: Status::Running })
        }
        Task::Cancelled(_) => Ok(Reply::Task { task, status: Status::Cancelled }),
        other => Err(Rejection::WrongState { task, status: other.status(), verb: "cancel", allowed: "queued or running" }),
    }
}

#[cfg(test)]
mod tests;
