//! Give tasks another priority in place, by their ids. A queue or a key is boosted instead; a filter makes a bulk.

use crate::command::Reply;
use crate::ids::TaskId;
use crate::names::{Actor, QueueName};
use crate::priority::Priority;
use crate::record::Record;
use crate::rejection::Rejection;
use crate::step::Step;
use crate::task::Task;

/// What is not of this queue, or has no place in an order any more, is skipped and counted.
pub(super) fn decide(
    step: &mut Step<'_>,
    queue: &QueueName,
    tasks: &[TaskId],
    priority: Priority,
    by: &Actor,
) -> Result<Reply, Rejection> {
    if let Some(task) = tasks.iter().find(|task| step.state().task(**task).is_none()) {
        return Err(Rejection::TaskNotFound { task: *task });
    }
    let mut changed = 0;
    for task in tasks {
        let ours = step.state().task(*task).is_some_and(|task| task.card().route().queue() == queue);
        changed += usize::from(ours && one(step, *task, priority, by));
    }
    Ok(Reply::Items { changed, skipped: tasks.len() - changed })
}

/// Only what still waits has a place in an order.
fn one(step: &mut Step<'_>, task: TaskId, priority: Priority, by: &Actor) -> bool {
    let waiting = step.state().task(task).is_some_and(|found| moves(found, priority));
    if waiting {
        step.record_task(task, Record::TaskReprioritized { priority, by: by.clone() });
    }
    waiting
}

pub(super) fn moves(task: &Task, priority: Priority) -> bool {
    matches!(task, Task::Idle(_) | Task::Queued(_)) && task.card().priority() != priority
}

#[cfg(test)]
mod tests;
