//! Into the queue again (retry, redrive) and out of it (reset).

use crate::command::Reply;
use crate::ids::{BulkId, TaskId};
use crate::names::{Actor, QueueName};
use crate::record::Record;
use crate::rejection::Rejection;
use crate::step::Step;
use crate::task::{Status, Task};

pub(super) fn retry(step: &mut Step<'_>, task: TaskId, by: &Actor) -> Result<Reply, Rejection> {
    let found = super::find(step.state(), task)?;
    super::not_of_run(found, "retry")?;
    match found {
        Task::Idle(_) | Task::Failed(_) | Task::Cancelled(_) => {
            // The cap holds off newcomers; what failed or was cancelled was let in once, here as in a redrive.
            let queue = found.card().route().queue();
            let max = step.state().config(queue).backlog_max.filter(|_| matches!(found, Task::Idle(_)));
            if let Some(max) = max.filter(|max| step.state().backlog(queue) >= *max as usize) {
                return Err(Rejection::BacklogFull { queue: queue.clone(), max });
            }
            queue_again(step, task, by, None);
            Ok(Reply::Task { task, status: Status::Queued })
        }
        other => {
            let allowed = "idle, failed or cancelled";
            Err(Rejection::WrongState { task, status: other.status(), verb: "retry", allowed })
        }
    }
}

/// Dead letters by their ids; what is not a dead letter of this queue is skipped and counted.
pub(super) fn redrive(step: &mut Step<'_>, queue: &QueueName, tasks: &[TaskId], by: &Actor) -> Result<Reply, Rejection> {
    if let Some(task) = tasks.iter().find(|task| step.state().task(**task).is_none()) {
        return Err(Rejection::TaskNotFound { task: *task });
    }
    let mut changed = 0;
    for task in tasks {
        let dead = |found: &Task| matches!(found, Task::Failed(_)) && found.card().route().queue() == queue;
        // What failed in a run is the run's affair.
        if step.state().task(*task).is_some_and(|found| dead(found) && found.card().node().is_none()) {
            queue_again(step, *task, by, None);
            changed += 1;
        }
    }
    Ok(Reply::Items { changed, skipped: tasks.len() - changed })
}

/// Attempts start over; a schedule that an idle task was given still holds.
pub(super) fn queue_again(step: &mut Step<'_>, task: TaskId, by: &Actor, bulk: Option<BulkId>) {
    let scheduled = step.state().task(task).and_then(|task| task.card().scheduled_for());
    let ready_at = scheduled.map_or(step.now(), |scheduled| scheduled.max(step.now()));
    let ended = ended_blockers(step, task);
    step.record_task(task, Record::TaskQueued { ready_at, run_now: false, by: by.clone(), bulk });
    forget_blockers(step, task, ended);
}

/// Blockers that ended while the task was cancelled and did not hear of it.
fn ended_blockers(step: &Step<'_>, task: TaskId) -> Vec<TaskId> {
    let Some(found) = step.state().task(task) else { return Vec::new() };
    let left = super::blockers(step.state(), found);
    found.card().blocked_by().iter().filter(|blocker| !left.contains(blocker)).copied().collect()
}

fn forget_blockers(step: &mut Step<'_>, task: TaskId, ended: Vec<TaskId>) {
    for blocker in ended {
        step.record_task(task, Record::TaskUnblocked { blocker });
    }
}

pub(super) fn reset(step: &mut Step<'_>, task: TaskId, by: &Actor) -> Result<Reply, Rejection> {
    super::not_of_run(super::find(step.state(), task)?, "reset")?;
    match super::find(step.state(), task)? {
        // Whoever asks for it from now on would be told as well, though it is not done any more.
        Task::Done(_) if step.state().is_telling(task) => return Err(Rejection::StillTelling { task }),
        Task::Queued(_) | Task::Done(_) | Task::Failed(_) | Task::Cancelled(_) => {
            let ended = ended_blockers(step, task);
            step.record_task(task, Record::TaskReset { by: by.clone() });
            forget_blockers(step, task, ended);
        }
        Task::Idle(_) => {}
        other @ Task::Running(_) => {
            return Err(Rejection::WrongState { task, status: other.status(), verb: "reset", allowed: "not running" });
        }
    }
    Ok(Reply::Task { task, status: Status::Idle })
}

#[cfg(test)]
mod tests;
