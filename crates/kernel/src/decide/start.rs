//! Run now: past the limits, through one of the queue's override slots. With a worker waiting it is leased at once;
//! without one it goes first in line.

use crate::command::Reply;
use crate::ids::TaskId;
use crate::names::{Actor, WorkerName};
use crate::record::Record;
use crate::rejection::Rejection;
use crate::step::Step;
use crate::task::{Status, Task};

pub(super) fn decide(
    step: &mut Step<'_>,
    task: TaskId,
    force: bool,
    worker: Option<&WorkerName>,
    by: &Actor,
) -> Result<Reply, Rejection> {
    let found = super::find(step.state(), task)?;
    super::not_of_run(found, "start")?;
    let status = found.status();
    if !matches!(found, Task::Idle(_) | Task::Queued(_)) {
        return Err(Rejection::WrongState { task, status, verb: "start", allowed: "idle or queued" });
    }
    let ahead = matches!(found, Task::Queued(queued) if queued.is_run_now());
    if !ahead {
        if let Some(by) = found.card().blocked_by().first().filter(|_| !force) {
            return Err(Rejection::Blocked { task, by: *by });
        }
        let queue = found.card().route().queue();
        let max = step.state().config(queue).override_slots;
        let taken = step.state().queue_summary(queue).depth.overrides;
        if taken >= max as usize && !crate::defect("overrides_unbounded") {
            return Err(Rejection::OverridesTaken { queue: queue.clone(), max });
        }
    }
    if let Some(worker) = worker {
        let grant = super::lease::lease(step, task, worker, true);
        return Ok(Reply::Leased(vec![grant]));
    }
    match status {
        Status::Idle => {
            let record = Record::TaskQueued { ready_at: step.now(), run_now: true, by: by.clone(), bulk: None };
            step.record_task(task, record);
        }
        _ if !ahead => _ = step.record_task(task, Record::TaskRunNow { by: by.clone() }),
        _ => {}
    }
    Ok(Reply::Task { task, status: Status::Queued })
}

#[cfg(test)]
mod tests;
