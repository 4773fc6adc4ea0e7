//! What a worker may do by the lease that it holds, where queues and runs are both in sight.

use super::Turn;
use crate::request::Held;
use kernel::command::{Command, NewRevision, Reply};
use kernel::ids::{Fence, RunId, TaskId};
use kernel::names::Actor;
use kernel::rejection::Rejection;
use kernel::run::NodeAt;
use kernel::task::Task;

impl Turn<'_> {
    pub(super) fn heartbeat(&mut self, task: TaskId, fence: Fence) -> Held {
        let lease = self.step.state().task(task).and_then(Task::lease).filter(|lease| lease.fence() == fence);
        let held = match lease {
            None => Held { task, held: false, cancel: true, heartbeat_ms: 0 },
            Some(lease) => Held { task, held: true, cancel: lease.ending().is_some(), heartbeat_ms: lease.heartbeat_ms() },
        };
        if held.held {
            self.presence.beat(task, self.step.now());
        }
        held
    }

    /// By the worker of one of its nodes. Runs do not know of queues, so whether it still works there is found out here; one
    /// that was told to stop does not.
    pub(super) fn patch(
        &mut self,
        run: RunId,
        new: Option<Box<NewRevision>>,
        node: Option<&NodeAt>,
        dry: bool,
        (task, fence): (TaskId, Fence),
    ) -> Result<Reply, Rejection> {
        let lost = Rejection::LeaseLost { task };
        let found = self.step.state().task(task).ok_or(lost.clone())?;
        let lease = Task::lease(found).filter(|lease| lease.fence() == fence && lease.ending().is_none()).ok_or(lost)?;
        let Some(at) = found.card().node().filter(|at| at.run == run) else {
            return Err(Rejection::Invalid { why: format!("{task} is no work of {run}: a worker may patch only its own run") });
        };
        let by = Actor::parse(lease.worker().as_str()).map_err(|bad| Rejection::Invalid { why: bad.to_string() })?;
        if let Some(other) = node.filter(|node| *node != at) {
            let why = format!("{task} is the work of {}, not of {}: leave `node_id` out", at.show(), other.show());
            return Err(Rejection::Invalid { why });
        }
        // Nothing is to be changed, and yet only a worker that holds its lease is told so.
        let Some(new) = new else { return Ok(Reply::Done) };
        let node = Some(at.clone());
        self.run(&Command::PatchRun { run, new, node, dry, by })
    }
}
