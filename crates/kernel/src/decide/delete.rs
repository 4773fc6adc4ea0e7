//! Delete a task that does not run. Those it blocked inherit its own blockers, so a chain does not break open.

use crate::command::Reply;
use crate::ids::TaskId;
use crate::limits::{CHUNK_ITEMS_MAX, TASK_BLOCKERS_MAX};
use crate::names::Actor;
use crate::record::Record;
use crate::rejection::Rejection;
use crate::step::Step;
use crate::task::{Status, Task};

pub(super) fn decide(step: &mut Step<'_>, task: TaskId, by: &Actor) -> Result<Reply, Rejection> {
    let found = super::find(step.state(), task)?;
    let status = found.status();
    if matches!(found, Task::Running(_)) {
        return Err(Rejection::WrongState { task, status, verb: "delete", allowed: "not running" });
    }
    let inherited = found.card().blocked_by().to_vec();
    let dependents: Vec<TaskId> = step.state().dependents(task).into_iter().flatten().copied().collect();
    if dependents.len() > CHUNK_ITEMS_MAX {
        let why = format!("{} tasks wait for {task}, more than one batch may change; clear or delete some first", dependents.len());
        return Err(Rejection::Invalid { why });
    }
    for dependent in dependents {
        let before = step.state().task(dependent).expect("a dependent is live").card().blocked_by().to_vec();
        let mut blocked_by: Vec<TaskId> = before.into_iter().filter(|blocker| *blocker != task).collect();
        for blocker in &inherited {
            if !blocked_by.contains(blocker) && blocked_by.len() < TASK_BLOCKERS_MAX {
                blocked_by.push(*blocker);
            }
        }
        step.record_task(dependent, Record::TaskBlockersChanged { blocked_by, deleted: task });
    }
    step.record_task(task, Record::TaskDeleted { by: by.clone() });
    Ok(Reply::Task { task, status: if status == Status::Queued { Status::Cancelled } else { status } })
}
