//! A task is done: those that wait for it wait for one thing less. Very many of them make a bulk.

use super::bulk;
use crate::bulk::BulkWork;
use crate::ids::TaskId;
use crate::limits::CHUNK_ITEMS_MAX;
use crate::record::Record;
use crate::step::Step;

pub(super) fn decide(step: &mut Step<'_>, blocker: TaskId) {
    let waiting = step.state().dependents(blocker).map_or(0, |dependents| dependents.len());
    if waiting > CHUNK_ITEMS_MAX {
        let by = super::itself();
        bulk::open(step, BulkWork::Unblock { blocker }, &by, &format!("{blocker} is done"));
        return;
    }
    some(step, blocker, waiting);
}

/// Unblocks at most `max` of them; the order of ids is the order of the queue's ties.
pub(super) fn some(step: &mut Step<'_>, blocker: TaskId, max: usize) -> Vec<TaskId> {
    let dependents: Vec<TaskId> = step.state().dependents(blocker).into_iter().flatten().take(max).copied().collect();
    for task in &dependents {
        step.record_task(*task, Record::TaskUnblocked { blocker });
    }
    dependents
}

#[cfg(test)]
mod tests;
