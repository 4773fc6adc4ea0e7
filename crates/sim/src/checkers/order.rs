//! Eligible first, then order: judged by brute force over all waiting tasks, just before each lease.

use super::{Check, Scene, ensure};
use kernel::command::Command;
use kernel::names::{QueueName, TypeName};
use kernel::record::{Entry, Owner, Record};

/// With more waiting than this, one lease in eight is looked at.
const CROWD: usize = 500;

pub fn leased(scene: &Scene<'_>, entry: &Entry) -> Check {
    let (Owner::Task(id), Record::TaskLeased { worker, .. }) = (&entry.owner, &entry.record) else { return Ok(()) };
    let (model, turn) = (scene.model, scene.turn);
    let started = turn.commands().any(|command| matches!(command, Command::Start { task, .. } if task == id));
    let Some(task) = model.task(*id).filter(|_| !started) else { return Ok(()) };
    let obstacle = model.obstacle(task, turn.now);
    ensure(obstacle.is_none(), || format!("{id} was leased although it is {}", obstacle.unwrap_or_default()))?;
    // Brute force over thousands, thousands of times a tick, would take the time of all other worlds together.
    let spared = model.queued.len() > CROWD && !entry.seq.0.is_multiple_of(8);
    if model.is_lagging() || spared {
        return Ok(());
    }
    let place = model.place(task);
    let mut passed = None;
    for (types, queues) in scene.presence.asked(turn, worker) {
        match model.next(types, queues, turn.now) {
            Some(first) if first < place => passed = Some(first),
            _ => return Ok(()),
        }
    }
    match passed {
        Some(first) => Err(format!("{id} at {place:?} was leased to {worker} before {} at {first:?}", first.task())),
        None => Ok(()),
    }
}

/// What the engine would hand out next, to whoever might ask.
pub fn next(scene: &Scene<'_>) -> Check {
    let (Some(core), model) = (scene.core, scene.model) else { return Ok(()) };
    if scene.turn.reloaded || model.is_lagging() || !model.sweeping.is_empty() {
        return Ok(());
    }
    for (types, queues) in questions(scene) {
        let expected = model.next(&types, &queues, scene.turn.now).map(|place| place.task());
        let picked = core.state().pick(&types, &queues);
        ensure(picked == expected, || format!("{types:?} in {queues:?} would get {picked:?} instead of {expected:?}"))?;
        let ready = core.state().has_ready(&types, &queues);
        ensure(ready == expected.is_some(), || format!("{types:?} in {queues:?}: has_ready is {ready}, next is {expected:?}"))?;
    }
    Ok(())
}

/// Every type alone, all of them, and all of them in each queue.
pub fn questions(scene: &Scene<'_>) -> Vec<(Vec<TypeName>, Vec<QueueName>)> {
    let waiting = || scene.model.queued.iter().map(|id| &scene.model.tasks[id]);
    let mut types: Vec<TypeName> = waiting().map(|task| task.kind.clone()).collect();
    types.sort();
    types.dedup();
    let mut queues: Vec<QueueName> = waiting().map(|task| task.queue.clone()).collect();
    queues.sort();
    queues.dedup();
    let each = types.iter().map(|kind| (vec![kind.clone()], Vec::new()));
    let all = [(types.clone(), Vec::new())];
    let within = queues.iter().map(|queue| (types.clone(), vec![queue.clone()]));
    let other = [(types.clone(), queues.iter().skip(1).cloned().collect())];
    each.chain(all.clone()).chain(within).chain(other).collect()
}

/// Work that can move does not wait beside a worker that waits for it.
pub fn offered(scene: &Scene<'_>) -> Check {
    let (model, turn) = (scene.model, scene.turn);
    let stopping = scene.presence.stopping || scene.presence.perhaps_stopping;
    let settled = !turn.reloaded && !stopping && model.sweeping.is_empty() && !model.is_lagging();
    if scene.core.is_none() || !settled {
        return Ok(());
    }
    for (ticket, poll) in &scene.presence.polls {
        let next = model.next(&poll.types, &poll.queues, turn.now);
        ensure(next.is_none(), || format!("{next:?} waits while poll {ticket:?} of {} waits for it", poll.worker))?;
    }
    Ok(())
}
