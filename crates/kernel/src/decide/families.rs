//! What is said about families of events: pause, resume and boosts. It stands before their tasks in whatever queue.

use super::queue::pause_end;
use crate::command::{PauseUntil, Reply};
use crate::limits::FAMILIES_MAX;
use crate::names::{Actor, Pattern};
use crate::priority::Priority;
use crate::record::Record;
use crate::rejection::Rejection;
use crate::step::Step;

fn room(step: &Step<'_>, families: &Pattern) -> Result<(), Rejection> {
    let full = step.state().control(families).is_none() && step.state().controls().count() >= FAMILIES_MAX;
    if full { Err(Rejection::FamiliesTaken { max: FAMILIES_MAX }) } else { Ok(()) }
}

pub(super) fn pause(
    step: &mut Step<'_>,
    families: &Pattern,
    until: PauseUntil,
    reason: &str,
    by: &Actor,
) -> Result<Reply, Rejection> {
    let until = pause_end(until, step.now())?;
    room(step, families)?;
    step.record_families(families, Record::FamilyPaused { until, reason: reason.to_owned(), by: by.clone() });
    Ok(Reply::Done)
}

/// Resuming what is not paused changes nothing and is no mistake.
pub(super) fn resume(step: &mut Step<'_>, families: &Pattern, by: &Actor) -> Result<Reply, Rejection> {
    if step.state().control(families).is_some_and(|control| control.pause().is_some()) {
        step.record_families(families, Record::FamilyResumed { by: by.clone(), expired: false });
    }
    Ok(Reply::Done)
}

pub(super) fn boost(step: &mut Step<'_>, families: &Pattern, boost: Priority, by: &Actor) -> Result<Reply, Rejection> {
    let before = step.state().control(families).map_or(Priority::NORMAL, |control| control.boost());
    if before != boost {
        room(step, families)?;
        step.record_families(families, Record::FamilyBoosted { boost, by: by.clone() });
    }
    Ok(Reply::Done)
}

#[cfg(test)]
mod tests;
