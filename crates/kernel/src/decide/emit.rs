//! Events in. Each is kept with what became of it at each handler; tasks, windows and drops follow in the same batch. The
//! order of a handler's disciplines: dedup, drop-rate, an open window, singleton, backlog. An event that came before is
//! answered as it was then.

mod plan;

use crate::command::{Emitted, NewEvent, Reply};
use crate::event::{EventSpec, Handled, lets_go};
use crate::handler::Routed;
use crate::ids::{EventId, RecordSeq};
use crate::names::Actor;
use crate::record::{CancelCause, Newer, Record};
use crate::rejection::Rejection;
use crate::step::Step;
use crate::task::Task;
use crate::time::Time;
use plan::{Deed, Planned, Planner};

pub(super) fn decide(step: &mut Step<'_>, events: &[NewEvent], revision: u32) -> Result<Reply, Rejection> {
    current(step, revision)?;
    let emitted = events.iter().map(|new| emit(step, new)).collect();
    Ok(Reply::Emitted(emitted))
}

/// What was routed by another revision is routed again.
fn current(step: &Step<'_>, expected: u32) -> Result<(), Rejection> {
    let revision = step.state().registry().revision();
    let stale = revision != expected && !crate::defect("registry_unchecked");
    if stale { Err(Rejection::RegistryChanged { expected, revision }) } else { Ok(()) }
}

fn emit(step: &mut Step<'_>, new: &NewEvent) -> Emitted {
    if let Some(key) = new.spec.key.as_ref().filter(|_| !crate::defect("event_key_ignored"))
        && let Some(event) = step.state().event_by_key(key)
    {
        let (handled, heard) = (event.handled().to_vec(), event.heard().to_vec());
        return Emitted { event: event.id(), duplicate: true, handled, heard };
    }
    let event = step.new_event();
    // By a clock that goes ahead nothing is newer than what comes now.
    let happened_at = new.spec.ts.unwrap_or(step.now()).min(step.now());
    let about = About { event, spec: &new.spec, happened_at, bytes: new.data.text().len() as u64 };
    let (handled, planned) = plan_all(step, &about, &new.routed, false);
    let record = Record::EventReceived { spec: Box::new(new.spec.clone()), handled: handled.clone() };
    let data = step.record_event(event, record, Some(new.data.clone()));
    carry_out(step, &about, data, planned);
    super::walk::offer(step, event, &new.data);
    let heard = step.state().event(event).map_or_else(Vec::new, |event| event.heard().to_vec());
    Emitted { event, duplicate: false, handled, heard }
}

pub(super) fn replay(
    step: &mut Step<'_>,
    event: EventId,
    routed: &[Routed],
    bytes: u64,
    revision: u32,
    by: &Actor,
) -> Result<Reply, Rejection> {
    current(step, revision)?;
    let found = step.state().event(event).ok_or(Rejection::EventNotFound { event })?;
    if !found.may_be_replayed() {
        return Err(Rejection::Invalid { why: format!("{event} was replayed {} times already", found.replays()) });
    }
    let (spec, data, happened_at) = (found.spec().clone(), found.data(), found.happened_at());
    let about = About { event, spec: &spec, happened_at, bytes };
    let (handled, planned) = plan_all(step, &about, routed, true);
    step.record_event(event, Record::EventReplayed { handled: handled.clone(), by: by.clone() }, None);
    carry_out(step, &about, data, planned);
    Ok(Reply::Emitted(vec![Emitted { event, duplicate: false, handled, heard: Vec::new() }]))
}

/// An event that is being handled.
struct About<'a> {
    event: EventId,
    spec: &'a EventSpec,
    happened_at: Time,
    /// Of its data.
    bytes: u64,
}

fn plan_all(step: &mut Step<'_>, about: &About<'_>, routed: &[Routed], again: bool) -> (Vec<Handled>, Vec<Planned>) {
    let mut planner = Planner::new(about.event, about.spec, about.happened_at, about.bytes, again);
    let mut planned = Vec::with_capacity(routed.len());
    let handled = routed
        .iter()
        .map(|routed| {
            let (outcome, plan) = planner.plan(step, routed);
            planned.extend(plan);
            Handled::new(routed.handler.clone(), &routed.queue, outcome)
        })
        .collect();
    (handled, planned)
}

fn carry_out(step: &mut Step<'_>, about: &About<'_>, data: RecordSeq, planned: Vec<Planned>) {
    let (event, spec, happened_at) = (about.event, about.spec, about.happened_at);
    for Planned { permit, gone, deed } in planned {
        if let Some((key, arrival)) = permit {
            step.record_key(&key, Record::PermitTaken { arrival });
            super::lease::forget_permits(step);
        }
        for (task, cause, reason) in gone {
            make_way(step, task, cause, reason);
        }
        match deed {
            Deed::Nothing => {}
            Deed::Add(task, mut new) => {
                new.input = Some(data);
                step.record_task(task, Record::TaskAdded { spec: new });
            }
            Deed::Debounce { task, newer, ready_at, start_by } => {
                let newer = newer.then_some(Newer { input: data, happened_at });
                let name = spec.name.clone();
                step.record_task(task, Record::TaskDebounced { event, name, newer, ready_at, start_by });
            }
            Deed::Batch { task, full, ready_at, bytes } => {
                let name = spec.name.clone();
                step.record_task(task, Record::TaskBatched { event, name, input: data, bytes, full, ready_at });
            }
        }
    }
}

/// One that waits is cancelled; one that runs is asked to stop.
fn make_way(step: &mut Step<'_>, task: crate::ids::TaskId, cause: CancelCause, reason: &'static str) {
    let by = super::itself();
    match step.state().task(task) {
        Some(Task::Queued(_)) => {
            step.record_task(task, Record::TaskCancelled { cause, by, reason: reason.into(), digest: None });
        }
        Some(Task::Running(_)) => _ = super::cancel::decide(step, task, &by, reason),
        _ => {}
    }
}

/// With the tasks they made. What has not come to a good end, or did so of late, or is waited for, keeps its events.
pub(super) fn expire(step: &mut Step<'_>, events: &[EventId], before: Time) -> Reply {
    let (mut gone, now) = (Vec::new(), step.now());
    for id in events {
        let state = step.state();
        let Some(event) = state.event(*id) else { continue };
        let tasks: Vec<_> = event.handled().iter().filter_map(|handled| handled.outcome.made()).collect();
        let kept = tasks.iter().filter_map(|task| state.task(*task)).any(|task| {
            let waited_for = state.dependents(task.card().id()).is_some();
            !lets_go(task, before, now) || waited_for
        });
        if kept {
            continue;
        }
        tasks.into_iter().for_each(|task| step.forget_task(task));
        step.forget_event(*id);
        gone.push(*id);
    }
    let (changed, skipped) = (gone.len(), events.len() - gone.len());
    if !gone.is_empty() {
        step.record_shard(Record::EventsExpired { events: gone });
    }
    Reply::Items { changed, skipped }
}

#[cfg(test)]
mod props;
#[cfg(test)]
mod tests;
