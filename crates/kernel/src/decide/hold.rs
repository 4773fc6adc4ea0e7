//! The run of a task is paused: one that no worker has taken stays in its queue and is handed to nobody, with its attempts, its
//! backoff and its place; one that runs finishes its attempt, and stays when it comes back.

use crate::ids::TaskId;
use crate::record::Record;
use crate::step::Step;
use crate::task::{Card, Task};

pub(super) fn hold(step: &mut Step<'_>, task: TaskId, pause: u32) {
    let deaf = |task: &Task| matches!(task, Task::Running(_)) && crate::defect("hold_unheard");
    if card(step, task).is_some_and(|card| card.hold().is_news(pause)) && !step.state().task(task).is_some_and(deaf) {
        step.record_task(task, Record::TaskHeld { pause });
    }
}

pub(super) fn let_go(step: &mut Step<'_>, task: TaskId, pause: u32) {
    if card(step, task).is_some_and(|card| card.hold().is_over_by(pause)) {
        step.record_task(task, Record::TaskLetGo { pause });
    }
}

/// Of one that is under way; one that has ended hears nothing any more.
fn card<'a>(step: &'a Step<'_>, task: TaskId) -> Option<&'a Card> {
    step.state().task(task).filter(|task| matches!(task, Task::Queued(_) | Task::Running(_))).map(Task::card)
}

#[cfg(test)]
mod tests;
