//! Lease tasks to a worker: the next by order among those that may run, one after another, each taking all its slots
//! and permits together.

use crate::command::{Grant, Reply};
use crate::ids::{Fence, TaskId};
use crate::message::Message;
use crate::names::{QueueName, TypeName, WorkerName};
use crate::record::Record;
use crate::rejection::Rejection;
use crate::run::NodeAt;
use crate::state::Place;
use crate::step::Step;
use crate::task::Task;

/// Permit rows kept before those that have said nothing for a while are dropped, two for each new one.
const PERMITS_KEPT: usize = 1_000;
/// Permit rows kept before those are dropped that say nothing any more.
const PERMITS_CROWD: usize = 20_000;
/// A key that is used again soon is cheaper to keep than to forget and to write anew.
const PERMITS_REST_US: i64 = 10_000_000;

pub(super) fn decide(
    step: &mut Step<'_>,
    worker: &WorkerName,
    types: &[TypeName],
    queues: &[QueueName],
    want: usize,
) -> Result<Reply, Rejection> {
    let mut grants = Vec::new();
    while grants.len() < want {
        let Some(task) = step.state().pick(types, queues) else { break };
        // Where very much is due at once, its hour may have passed before its turn to be cancelled has come.
        let late = step.state().task(task).and_then(|task| task.card().start_by()).is_some_and(|by| by <= step.now());
        if late && step.is_full() {
            break;
        }
        if late {
            super::due::expire(step, task);
            continue;
        }
        grants.push(grant(step, task, worker));
    }
    Ok(Reply::Leased(grants))
}

/// Leases this very task, which the caller found free to run.
pub(super) fn grant(step: &mut Step<'_>, task: TaskId, worker: &WorkerName) -> Grant {
    let run_now = match step.state().task(task) {
        Some(Task::Queued(queued)) => queued.is_run_now(),
        _ => true,
    };
    lease(step, task, worker, run_now)
}

pub(super) fn lease(step: &mut Step<'_>, task: TaskId, worker: &WorkerName, run_now: bool) -> Grant {
    let now = step.now();
    let card = step.state().task(task).expect("a picked task is live").card();
    let route = card.route().clone();
    let config = step.state().config(route.queue());
    let expedited = matches!(step.state().task(task), Some(Task::Queued(queued)) if queued.is_expedited());
    let grant = Grant {
        task,
        fence: Fence(crate::ids::RecordSeq::NONE),
        queue: route.queue().clone(),
        kind: route.kind().clone(),
        attempt: card.attempt() + 1,
        heartbeat_ms: config.heartbeat_ms,
        budget_ms: card.budget_ms().unwrap_or(config.budget_ms),
        created_at: card.created_at(),
        input: card.input(),
        idempotency_key: card.idempotency_key().cloned(),
        node: card.node().map(|at| (Box::new(at.clone()), card.generation())),
        trigger: card.trigger().map(|trigger| (Box::new(trigger.clone()), card.last())),
    };
    if !run_now && !expedited && !crate::defect("permit_not_recorded") {
        let Place::Lane(lane, _) = step.state().place(task) else { panic!("{task} was picked from a lane") };
        for (key, arrival) in step.state().lanes.permits_of(lane as usize, now) {
            step.record_key(&key, Record::PermitTaken { arrival });
            forget_permits(step);
        }
    }
    let record = Record::TaskLeased {
        worker: worker.clone(),
        attempt: grant.attempt,
        heartbeat_ms: grant.heartbeat_ms,
        budget_until: now.plus_ms(grant.budget_ms),
        run_now,
    };
    let fence = Fence(step.record_task(task, record));
    Grant { fence, ..grant }
}

/// An arrival in the past says nothing: a key that was never used has the same. Dropping two, the oldest first, with
/// each new one bounds them without a timer.
pub(super) fn forget_permits(step: &mut Step<'_>) {
    let (kept, now) = (step.state().permits.len(), step.now());
    let until = match kept {
        0..=PERMITS_KEPT => return,
        _ if kept > PERMITS_CROWD => now,
        _ => now.plus_us(-PERMITS_REST_US),
    };
    for key in step.state().permits.oldest(until, 2) {
        step.record_key(&key, Record::PermitsForgotten {});
    }
}

/// A run asks since when one of its tasks has waited for nothing but a worker. Of one that is taken, or that waits for its
/// hour, its queue or a limit, nothing is said.
pub(super) fn waits(step: &mut Step<'_>, task: TaskId, at: NodeAt) {
    let state = step.state();
    let Some(found @ Task::Queued(queued)) = state.task(task) else { return };
    let route = found.card().route();
    let ready = matches!(state.place(task), Place::Lane(..) | Place::Override(_));
    let paused = state.queue(route.queue()).is_some_and(|queue| queue.pause().is_some());
    if ready && !paused && state.lanes.obstacles(route, queued.is_expedited(), step.now()).is_empty() {
        let since = queued.since().max(queued.ready_at());
        step.send(Message::TaskWaits { at, task, since });
    }
}

#[cfg(test)]
mod tests;
