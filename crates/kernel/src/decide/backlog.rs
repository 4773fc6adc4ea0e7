//! What makes way where a queue is full and drops its oldest.

use crate::ids::TaskId;
use crate::names::QueueName;
use crate::state::State;
use crate::task::Task;

pub(super) const SHED: &str = "its queue was full, and it had waited longest";

/// Those that wait in the queue and may make way, the one that came first first. What belongs to a run was let in with it; what
/// passes pauses or was started by hand does not make way either.
pub(super) fn oldest(state: &State, queue: &QueueName) -> impl Iterator<Item = TaskId> {
    let may_go = |task: &TaskId| match state.task(*task) {
        Some(Task::Queued(queued)) => {
            let card = queued.card();
            card.node().is_none() && !card.route().is_critical() && !queued.is_run_now()
        }
        _ => false,
    };
    let members = state.lanes.line(queue).map(|line| &line.members);
    members.into_iter().flatten().copied().filter(move |task| may_go(task))
}
