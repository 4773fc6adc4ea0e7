//! Delete a task that does not run. Those it blocked inherit its own blockers, so a chain does not break open.

use crate::command::Reply;
use crate::ids::{RunId, TaskId};
use crate::limits::{CHUNK_ITEMS_MAX, TASK_BLOCKERS_MAX};
use crate::message::Message;
use crate::names::Actor;
use crate::record::{CancelCause, Record};
use crate::rejection::Rejection;
use crate::step::{FollowUp, Step};
use crate::task::{Status, Task};

pub(super) fn decide(step: &mut Step<'_>, task: TaskId, by: &Actor) -> Result<Reply, Rejection> {
    let found = super::find(step.state(), task)?;
    super::not_of_run(found, "delete")?;
    let status = found.status();
    if matches!(found, Task::Running(_)) {
        return Err(Rejection::WrongState { task, status, verb: "delete", allowed: "not running" });
    }
    let queue = found.card().route().queue().clone();
    let inherited = super::blockers(step.state(), found);
    let inherited = if crate::defect("blockers_not_handed_on") { Vec::new() } else { inherited };
    let dependents: Vec<TaskId> = step.state().dependents(task).into_iter().flatten().copied().collect();
    if dependents.len() > CHUNK_ITEMS_MAX {
        let why =
            format!("{} tasks wait for {task}, more than one batch may change; clear or delete some first", dependents.len());
        return Err(Rejection::Invalid { why });
    }
    let mut changes = Vec::with_capacity(dependents.len());
    for dependent in dependents {
        let before = step.state().task(dependent).expect("a dependent is live").card().blocked_by();
        let mut blocked_by: Vec<TaskId> = before.iter().filter(|blocker| **blocker != task).copied().collect();
        blocked_by.extend(inherited.iter().filter(|blocker| !before.contains(blocker)));
        if blocked_by.len() > TASK_BLOCKERS_MAX {
            let many = blocked_by.len();
            let why = format!(
                "{dependent} would wait for {many} tasks, more than {TASK_BLOCKERS_MAX}; delete or finish some of them first"
            );
            return Err(Rejection::Invalid { why });
        }
        changes.push((dependent, blocked_by));
    }
    for (dependent, blocked_by) in changes {
        step.record_task(dependent, Record::TaskBlockersChanged { blocked_by, deleted: task });
    }
    step.record_task(task, Record::TaskDeleted { queue, by: by.clone() });
    Ok(Reply::Task { task, status: if status == Status::Queued { Status::Cancelled } else { status } })
}

/// The run whose work it was is being deleted: it goes with it, and leaves nothing.
pub(super) fn forget(step: &mut Step<'_>, task: TaskId, run: RunId) {
    match step.state().task(task) {
        Some(Task::Running(_)) => return,
        // An old message brought it back.
        Some(Task::Queued(_)) => {
            let (by, reason) = (super::itself(), "its run is deleted".to_owned());
            step.record_task(task, Record::TaskCancelled { cause: CancelCause::Asked, by, reason, digest: None });
        }
        _ => {}
    }
    // Whoever waits for it would wait for ever.
    step.follow(FollowUp::Unblock { blocker: task });
    if !crate::defect("parts_left") {
        step.forget_task(task);
    }
    step.send(Message::TaskForgotten { run, task });
}

#[cfg(test)]
mod tests;
