//! Add tasks: all of them or none. A task whose idempotency key was used within the window is the one it made then.

use crate::command::{Added, NewTask, Reply};
use crate::ids::TaskId;
use crate::record::{Payload, Record, TaskSpec};
use crate::rejection::Rejection;
use crate::state::State;
use crate::step::Step;
use crate::task::Status;
use crate::time::Time;
use rustc_hash::{FxHashMap, FxHashSet};

pub(super) fn decide(step: &mut Step<'_>, tasks: &[NewTask]) -> Result<Reply, Rejection> {
    check(step.state(), tasks, step.now())?;
    let added = tasks.iter().map(|new| add(step, new)).collect();
    Ok(Reply::Added(added))
}

fn check(state: &State, tasks: &[NewTask], now: Time) -> Result<(), Rejection> {
    let mut entering: FxHashMap<_, usize> = FxHashMap::default();
    let mut keys = FxHashSet::default();
    for new in tasks {
        if state.duplicate_of(&new.spec, now).is_some() {
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
        if !new.spec.idle
            && let Some(max) = state.queue(&new.spec.queue).and_then(|queue| queue.config().backlog_max)
        {
            let entering = entering.entry(&new.spec.queue).or_default();
            *entering += 1;
            if state.backlog(&new.spec.queue) + *entering > max as usize {
                return Err(Rejection::BacklogFull { queue: new.spec.queue.clone(), max });
            }
        }
    }
    Ok(())
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
