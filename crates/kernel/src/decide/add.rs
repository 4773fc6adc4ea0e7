//! Add tasks: all of them or none. Where a full queue drops its oldest, these make way. A task whose idempotency key was used within the window is the one it made then.

use super::backlog;
use crate::command::{Added, NewTask, Reply};
use crate::ids::TaskId;
use crate::names::QueueName;
use crate::queue::BacklogFull;
use crate::record::{CancelCause, Payload, Record, TaskSpec};
use crate::rejection::Rejection;
use crate::state::State;
use crate::step::Step;
use crate::task::Status;
use crate::time::Time;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

pub(super) fn decide(step: &mut Step<'_>, tasks: &[NewTask]) -> Result<Reply, Rejection> {
    for task in check(step.state(), tasks, step.now())? {
        let (cause, by, reason) = (CancelCause::Shed, super::itself(), backlog::SHED.into());
        step.record_task(task, Record::TaskCancelled { cause, by, reason, digest: None });
    }
    let added = tasks.iter().map(|new| add(step, new)).collect();
    Ok(Reply::Added(added))
}

/// Those that make way for them.
fn check(state: &State, tasks: &[NewTask], now: Time) -> Result<Vec<TaskId>, Rejection> {
    let mut entering: BTreeMap<&QueueName, usize> = BTreeMap::new();
    let mut keys = FxHashSet::default();
    // What they wait for, or are the same as, does not make way for them.
    let mut needed: FxHashSet<TaskId> = FxHashSet::default();
    for new in tasks {
        if let Some(task) = state.duplicate_of(&new.spec, now) {
            needed.insert(task);
            continue;
        }
        // A key that stands twice in one add makes one task.
        if let Some(key) = &new.spec.idempotency_key
            && !keys.insert((&new.spec.queue, key))
            && state.config(&new.spec.queue).idempotency_window_ms > 0
        {
            continue;
        }
        if let Some(blocker) = new.spec.blocked_by.iter().find(|blocker| state.task(**blocker).is_none()) {
            return Err(Rejection::BlockerNotFound { blocker: *blocker });
        }
        needed.extend(&new.spec.blocked_by);
        if !new.spec.idle {
            *entering.entry(&new.spec.queue).or_default() += 1;
        }
    }
    let mut gone = Vec::new();
    for (queue, entering) in entering {
        let config = state.config(queue);
        let Some(max) = config.backlog_max else { continue };
        let over = (state.backlog(queue) + entering).saturating_sub(max as usize);
        let drops = config.backlog_full == BacklogFull::DropOldest && entering <= max as usize;
        let before = gone.len();
        if over > 0 && drops {
            gone.extend(backlog::oldest(state, queue).filter(|task| !needed.contains(task)).take(over));
        }
        if gone.len() - before < over {
            return Err(Rejection::BacklogFull { queue: queue.clone(), max });
        }
    }
    Ok(gone)
}

fn add(step: &mut Step<'_>, new: &NewTask) -> Added {
    let now = step.now();
    if let Some(task) = step.state().duplicate_of(&new.spec, now) {
        return Added { task, duplicate: true };
    }
    let mut spec = new.spec.clone();
    spec.blocked_by.retain(|blocker| step.state().task(*blocker).is_some_and(|task| task.status() != Status::Done));
    if spec.scheduled_for.is_none() && new.delay_ms > 0 {
        spec.scheduled_for = Some(now.plus_ms(new.delay_ms));
    }
    let late = spec.start_by.is_some_and(|start_by| start_by <= now) && !spec.idle;
    let task = step.new_task();
    step.record_task_with(task, Record::TaskAdded { spec: Box::new(spec) }, Some(new.input.clone()));
    if late {
        super::due::expire(step, task);
    }
    Added { task, duplicate: false }
}

/// A run's task, by the id the run gave it: heard twice, it is added once. A full queue takes it: the run was let in.
pub(super) fn enqueue(step: &mut Step<'_>, task: TaskId, spec: TaskSpec, input: Payload) {
    if step.state().task(task).is_none() {
        step.record_task_with(task, Record::TaskAdded { spec: Box::new(spec) }, Some(input));
    }
}

#[cfg(test)]
mod tests;
