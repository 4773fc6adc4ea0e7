//! A run fails for its deadline when that has come, and as stalled only when all it waits for is a worker, and has for long.

use super::{Check, Scene, ensure};
use crate::model::runs::NodeState;
use kernel::node::Started;
use kernel::record::{Entry, Owner, Record};
use kernel::task::Status;

pub fn lost(scene: &Scene<'_>, entry: &Entry) -> Check {
    let (Owner::Run(id), Record::RunFailed { failure, node: None, .. }) = (&entry.owner, &entry.record) else { return Ok(()) };
    let Some(run) = scene.model.runs.runs.get(id) else { return Ok(()) };
    match failure.code.as_str() {
        "deadline" => ensure(run.deadline.is_some_and(|at| at <= entry.at), || format!("{id} was late at {:?}", run.deadline)),
        "stalled" => {
            ensure(!run.paused, || format!("{id} stalled while it was paused"))?;
            let mut youngest = None;
            for (at, node) in scene.model.runs.nodes_of(*id) {
                let NodeState::Started(work) = &node.state else { continue };
                // What was undone is only being stopped.
                if scene.model.runs.is_undone(*id, &at.frame) {
                    continue;
                }
                let task = match work {
                    Started::Turning { .. } | Started::Spreading { .. } => continue,
                    Started::Working { task } => scene.model.task(*task).filter(|task| task.status == Status::Queued),
                    Started::Asking { .. } | Started::Sleeping { .. } | Started::Awaiting(_) | Started::Calling { .. } => None,
                };
                let Some(task) = task else { return Err(format!("{id} stalled while {} is {work:?}", at.show())) };
                youngest = youngest.max(Some(task.since.max(task.ready_at)));
            }
            let long = youngest.is_some_and(|since| since.plus_ms(run.ir.limits.stall_ms) <= entry.at);
            ensure(long, || format!("{id} stalled, having waited since {youngest:?}"))
        }
        _ => Ok(()),
    }
}
