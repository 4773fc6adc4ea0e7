//! What is said about a queue: its configuration, pause, resume and boosts.

use crate::command::{PauseUntil, Reply};
use crate::limits::{CHUNK_ITEMS_MAX, QUEUE_BOOSTS_MAX, QUEUES_MAX, TIME_US_MAX};
use crate::names::{Actor, QueueName};
use crate::priority::Priority;
use crate::queue::{BoostOn, QueueConfig};
use crate::record::{KeyRef, Record};
use crate::rejection::Rejection;
use crate::step::Step;
use crate::time::Time;
use std::sync::Arc;

pub(super) fn configure(
    step: &mut Step<'_>,
    queue: &QueueName,
    config: &Arc<QueueConfig>,
    by: &Actor,
) -> Result<Reply, Rejection> {
    config.check().map_err(|why| Rejection::Invalid { why })?;
    if step.state().registry().queues().contains(queue) {
        return Err(Rejection::QueueInRegistry { queue: queue.clone() });
    }
    room(step, queue)?;
    set(step, queue, config, by);
    Ok(Reply::Done)
}

pub(super) fn set(step: &mut Step<'_>, queue: &QueueName, config: &Arc<QueueConfig>, by: &Actor) {
    if step.state().queue(queue).is_none_or(|now| now.config() != config) {
        step.record_queue(queue, Record::QueueConfigured { config: config.clone(), by: by.clone() });
        ease_permits(step, queue, config);
    }
}

/// What is said about a queue stays in memory, so it may not be said about ever new ones.
fn room(step: &Step<'_>, queue: &QueueName) -> Result<(), Rejection> {
    let full = step.state().queue(queue).is_none() && step.state().queues_stated() >= QUEUES_MAX;
    if full { Err(Rejection::QueuesTaken { max: QUEUES_MAX }) } else { Ok(()) }
}

/// Changed numbers act at once: a key that took its permits under a slower rate owes no more than a whole burst of the
/// new one, spent now. At most a chunk of keys is eased; the others wait as they were told.
fn ease_permits(step: &mut Step<'_>, queue: &QueueName, config: &QueueConfig) {
    let now = step.now();
    let rate = |key: &KeyRef| match &key.key {
        None => config.rate,
        Some((name, _)) => config.keys.get(name).and_then(|limit| limit.rate),
    };
    let eased = step.state().lanes.arrivals(queue).filter_map(|(key, before)| {
        let arrival = rate(&key)?.arrival_max(now);
        (before > arrival).then_some((key, arrival))
    });
    let mut eased: Vec<(KeyRef, Time)> = eased.collect();
    eased.sort_unstable();
    eased.truncate(CHUNK_ITEMS_MAX);
    for (key, arrival) in eased {
        step.record_key(&key, Record::PermitTaken { arrival });
    }
}

pub(super) fn pause(
    step: &mut Step<'_>,
    queue: &QueueName,
    until: PauseUntil,
    reason: &str,
    by: &Actor,
) -> Result<Reply, Rejection> {
    let until = pause_end(until, step.now())?;
    room(step, queue)?;
    step.record_queue(queue, Record::QueuePaused { until, reason: reason.to_owned(), by: by.clone() });
    Ok(Reply::Done)
}

/// The instant at which a pause ends by itself.
pub(super) fn pause_end(until: PauseUntil, now: Time) -> Result<Option<Time>, Rejection> {
    let until = match until {
        PauseUntil::Resumed => None,
        PauseUntil::At(until) => Some(until),
        PauseUntil::After { ms } => Some(now.plus_ms(ms)),
    };
    if until.is_some_and(|until| until <= now) {
        return Err(Rejection::Invalid { why: "the pause would be over already".into() });
    }
    if until.is_some_and(|until| until.us() > TIME_US_MAX) {
        return Err(Rejection::Invalid { why: "the pause would reach beyond the year 9999".into() });
    }
    Ok(until)
}

/// Resuming what is not paused changes nothing and is no mistake.
pub(super) fn resume(step: &mut Step<'_>, queue: &QueueName, by: &Actor) -> Result<Reply, Rejection> {
    if step.state().queue(queue).is_some_and(|queue| queue.pause().is_some()) {
        step.record_queue(queue, Record::QueueResumed { by: by.clone(), expired: false });
    }
    Ok(Reply::Done)
}

pub(super) fn boost(
    step: &mut Step<'_>,
    queue: &QueueName,
    on: &BoostOn,
    boost: Priority,
    by: &Actor,
) -> Result<Reply, Rejection> {
    let boosts = step.state().queue(queue).map(|queue| queue.boosts());
    let known = boosts.is_some_and(|boosts| boosts.contains_key(on));
    if !known && boost == Priority::NORMAL {
        return Ok(Reply::Done);
    }
    if !known && boosts.is_some_and(|boosts| boosts.len() >= QUEUE_BOOSTS_MAX) {
        return Err(Rejection::BoostsTaken { queue: queue.clone(), max: QUEUE_BOOSTS_MAX });
    }
    room(step, queue)?;
    step.record_queue(queue, Record::QueueBoosted { on: on.clone(), boost, by: by.clone() });
    Ok(Reply::Done)
}

#[cfg(test)]
mod tests;
