//! What the time has brought: time budgets that are spent, pauses that are over.

use crate::command::Reply;
use crate::limits::CHUNK_ITEMS_MAX;
use crate::names::Actor;
use crate::record::Record;
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
        }
    }
    Reply::Done
}

#[cfg(test)]
mod tests;
