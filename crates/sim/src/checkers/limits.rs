//! Limits bound leases at every instant: slots by queue and key, override slots apart, rates in every window.

use super::{Check, Scene, ensure};
use crate::model::events::is_drop_key;
use crate::model::{Held, interval_us};
use kernel::rate::Rate;
use kernel::record::{Entry, KeyRef, Owner, Record};
use kernel::task::Status;
use kernel::time::Time;
use std::collections::BTreeSet;

/// Starts remembered for each key: windows of up to so many are looked at.
const WINDOW_STARTS_MAX: usize = 64;

/// A limit that was lowered revokes nothing, so it is looked at where a slot is taken.
pub fn slots(scene: &Scene<'_>, entry: &Entry) -> Check {
    let (Owner::Task(id), Record::TaskLeased { run_now: false, .. }) = (&entry.owner, &entry.record) else { return Ok(()) };
    let Some(task) = scene.model.task(*id) else { return Ok(()) };
    let config = scene.model.config(&task.queue);
    let Held { slots, .. } = scene.model.held(&task.queue);
    if let Some(limit) = config.concurrency {
        ensure(slots < limit, || format!("{id} took slot {} of {limit} in {}", slots + 1, task.queue))?;
    }
    for key in &task.keys {
        let Some(limit) = config.keys.get(&key.0).and_then(|limit| limit.concurrency) else { continue };
        let taken = KeyRef::new(task.queue.clone(), Some(key.clone()));
        let taken = scene.model.slots.get(&taken).copied().unwrap_or(0);
        ensure(taken < limit, || format!("{id} took slot {} of {limit} for {key:?} in {}", taken + 1, task.queue))?;
    }
    Ok(())
}

pub fn overrides(scene: &Scene<'_>, entry: &Entry) -> Check {
    let Owner::Task(id) = &entry.owner else { return Ok(()) };
    let takes = match entry.record {
        Record::TaskQueued { run_now, .. } | Record::TaskLeased { run_now, .. } => run_now,
        Record::TaskRunNow { .. } => true,
        _ => false,
    };
    let Some(task) = scene.model.task(*id).filter(|_| takes) else { return Ok(()) };
    if task.run_now && matches!(task.status, Status::Queued | Status::Running) {
        return Ok(());
    }
    let (max, taken) = (scene.model.config(&task.queue).override_slots, scene.model.held(&task.queue).overrides);
    ensure(taken < max, || format!("{id} took override slot {} of {max} in {}", taken + 1, task.queue))
}

pub fn rates(scene: &Scene<'_>, entry: &Entry) -> Check {
    let (Owner::Task(id), Record::TaskLeased { run_now: false, .. }) = (&entry.owner, &entry.record) else { return Ok(()) };
    let Some(task) = scene.model.task(*id).filter(|task| !task.expedited) else { return Ok(()) };
    for (key, rate) in scene.model.rated(task) {
        let Some(starts) = scene.model.starts.get(&key).filter(|starts| starts.rate == Some(rate)) else { continue };
        for (back, from) in starts.at.iter().rev().take(WINDOW_STARTS_MAX).enumerate() {
            // burst + count × window ÷ per, in whole numbers.
            let started = back as i128 + 2;
            let window_us = i128::from(entry.at.us() - from.us());
            let over = (started - i128::from(rate.burst)) * i128::from(rate.per_ms) * 1_000;
            ensure(over <= i128::from(rate.count) * window_us, || {
                format!(
                    "{id} is start {started} of {:?} within {window_us} µs under {rate:?}",
                    Owner::Key(key.clone()).to_string()
                )
            })?;
        }
    }
    Ok(())
}

/// Every start under a rate leaves a permit behind, with the arrival that the algorithm says.
pub fn permits(scene: &Scene<'_>, entry: &Entry) -> Check {
    let model = scene.model;
    match (&entry.owner, &entry.record) {
        (Owner::Key(key), Record::PermitTaken { arrival }) => {
            // What events take, `events` knows.
            if is_drop_key(key) {
                return Ok(());
            }
            let config = model.config(&key.queue);
            let rate = match &key.key {
                None => config.rate,
                Some((name, _)) => config.keys.get(name).and_then(|limit| limit.rate),
            };
            let Some(rate) = rate else { return Err(format!("a permit of {} without a rate", entry.owner)) };
            let before = model.arrival(key);
            if *arrival < before {
                return eased(scene, entry, key, &rate, *arrival);
            }
            let expected = before.max(entry.at).plus_us(interval_us(&rate));
            ensure(*arrival == expected, || format!("the arrival of {} is {arrival:?}, not {expected:?}", entry.owner))
        }
        (Owner::Key(key), Record::PermitsForgotten {}) => {
            let arrival = model.arrival(key);
            ensure(arrival <= entry.at, || format!("{} was forgotten before its arrival {arrival:?}", entry.owner))
        }
        (Owner::Task(id), Record::TaskLeased { run_now, .. }) => {
            let Some(task) = model.task(*id) else { return Ok(()) };
            let expected = if *run_now || task.expedited { Vec::new() } else { model.rated(task) };
            let expected: BTreeSet<KeyRef> = expected.into_iter().map(|(key, _)| key).collect();
            let taken: BTreeSet<KeyRef> = model.taking.iter().map(|(key, _)| key.clone()).collect();
            ensure(taken == expected, || format!("{id} took permits of {taken:?} instead of {expected:?}"))
        }
        _ => Ok(()),
    }
}

/// A new rate acts at once: who took permits under a slower one owes a whole burst of the new one and no more.
fn eased(scene: &Scene<'_>, entry: &Entry, key: &KeyRef, rate: &Rate, arrival: Time) -> Check {
    let expected = entry.at.plus_us(interval_us(rate) * i64::from(rate.burst));
    let before = scene.turn.before().iter().rev().find(|entry| !matches!(entry.owner, Owner::Key(_) | Owner::Shard));
    let configured = before.is_some_and(|entry| {
        entry.owner == Owner::Queue(key.queue.clone()) && matches!(entry.record, Record::QueueConfigured { .. })
    });
    ensure(configured && arrival == expected, || format!("the arrival of {} was set back to {arrival:?}", entry.owner))
}
