//! `explain` names at least one cause for every task that waits, the right one, and an instant exactly when all causes
//! have one.

use super::{Check, Scene, ensure};
use crate::model::{TaskModel, permit_at};
use kernel::explain::{Facts, explain};
use kernel::task::Status;
use kernel::time::Time;

/// Tasks explained in an ordinary tick.
const TASKS_MAX: usize = 4;

pub fn causes(scene: &Scene<'_>) -> Check {
    let Some(core) = scene.core.filter(|_| !scene.turn.reloaded) else { return Ok(()) };
    let (model, now) = (scene.model, scene.turn.now);
    let facts = Facts { up_since: now, ..Facts::default() };
    let at = if model.queued.is_empty() { 0 } else { scene.turn.now.us() as usize % model.queued.len() };
    let count = if scene.thorough { usize::MAX } else { TASKS_MAX };
    for id in model.queued.iter().skip(if scene.thorough { 0 } else { at }).take(count) {
        let (task, expected) = (core.state().task(*id), &model.tasks[id]);
        let Some(task) = task else { return Err(format!("{id} is queued and not in memory")) };
        let told = explain(core.state(), task, &facts, now);
        ensure(told.status == Status::Queued && !told.blocked_on.is_empty(), || format!("{id} waits for nothing: {told:?}"))?;
        let all = told.blocked_on.iter().all(|cause| cause.eta.is_some());
        ensure(told.eta.is_some() == all && told.eta_reason.is_none() == all, || format!("{id} has a wrong eta: {told:?}"))?;
        let fits = told.blocked_on.iter().any(|cause| codes(model.obstacle(expected, now)).contains(&cause.code));
        ensure(fits, || format!("{id} is {:?}, but explain says {told:?}", model.obstacle(expected, now)))?;
        if let Some(eta) = told.eta {
            let exact = eta_of(scene, expected);
            ensure(eta == exact, || format!("{id} may run at {exact:?}, but explain says {told:?}"))?;
        }
    }
    // The others must at least be told about.
    for task in core.state().running() {
        explain(core.state(), task, &facts, now);
    }
    Ok(())
}

fn codes(obstacle: Option<&str>) -> &'static [&'static str] {
    match obstacle {
        Some("held") => &["run_paused"],
        Some("blocked") => &["blocked_by"],
        Some("not ready yet") => &["scheduled", "backoff", "debounce", "batch"],
        Some("of a paused family") => &["family_paused"],
        Some("without the required tag") => &["require_tag"],
        Some("paused") => &["queue_paused"],
        Some("behind the queue's slots") => &["queue_concurrency"],
        Some("behind a key's slots") => &["key_concurrency", "handler_concurrency", "singleton"],
        Some("behind a rate") => &["queue_rate", "key_rate", "handler_rate"],
        _ => &["run_now", "no_worker", "workers_busy", "behind"],
    }
}

/// The last of the instants it waits for.
fn eta_of(scene: &Scene<'_>, task: &TaskModel) -> Time {
    let queue = scene.model.queues.get(&task.queue).and_then(|queue| queue.pause.flatten());
    let family = task.family.iter().flat_map(|family| scene.model.events.pauses_of(family));
    let pause = queue.into_iter().chain(family).filter(|_| !task.is_critical());
    let rates = scene.model.rated(task).into_iter().map(|(key, rate)| permit_at(&rate, scene.model.arrival(&key)));
    let rates = rates.filter(|at| *at > scene.turn.now && !task.expedited);
    let ready = (task.ready_at > scene.turn.now).then_some(task.ready_at);
    pause.chain(rates).chain(ready).max().unwrap_or(Time::ZERO)
}
