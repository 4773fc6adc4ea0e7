//! What the time has brought: time budgets that are spent, pauses that are over, tasks that did not start in time.

use crate::command::Reply;
use crate::ids::TaskId;
use crate::limits::CHUNK_ITEMS_MAX;
use crate::names::Actor;
use crate::record::{CancelCause, Record};
use crate::state::Due;
use crate::step::Step;

pub(super) fn decide(step: &mut Step<'_>) -> Reply {
    for due in step.state().due(step.now(), CHUNK_ITEMS_MAX) {
        match due {
            Due::Budget(task) => _ = step.record_task(task, Record::TaskTimedOut {}),
            Due::Pause(queue) => {
                let paused = step.state().queue(&queue).and_then(|queue| queue.pause());
                let by = paused.map(|pause| pause.by.clone()).unwrap_or_else(|| Actor::parse("clock").expect("a name"));
                step.record_queue(&queue, Record::QueueResumed { by, expired: true });
            }
            Due::Start(task) => expire(step, task),
            Due::Families(families) => {
                let pause = step.state().control(&families).and_then(|control| control.pause());
                let by = pause.map_or_else(super::itself, |pause| pause.by.clone());
                step.record_families(&families, Record::FamilyResumed { by, expired: true });
            }
        }
    }
    Reply::Done
}

/// It did not start when it should have.
pub(super) fn expire(step: &mut Step<'_>, task: TaskId) {
    let (by, reason) = (super::itself(), "it did not start in time".to_owned());
    step.record_task(task, Record::TaskCancelled { cause: CancelCause::Expired, by, reason, digest: None });
}

#[cfg(test)]
mod tests;
