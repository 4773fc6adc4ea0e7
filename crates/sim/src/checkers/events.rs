//! Events: each makes what the model says that it makes, once and wholly, and one that comes again makes nothing.

use super::{Check, Scene, ensure};
use crate::model::events::is_drop_key;
use crate::model::{Deed, Happening, Model, Plan};
use crate::turn::Turn;
use engine::{Answer, Request};
use kernel::command::{Command, Emitted, NewEvent, Reply};
use kernel::event::{Handled, Outcome};
use kernel::handler::Routed;
use kernel::ids::{EventId, RecordSeq, TaskId};
use kernel::names::{Actor, EventName};
use kernel::record::{CancelCause, Entry, Newer, Owner, Record};
use kernel::row::EVENTS;
use kernel::time::Time;

/// What one event, or its replay, makes.
#[derive(Clone, Debug)]
pub struct Made {
    event: EventId,
    /// Its record.
    seq: RecordSeq,
    /// The record that has its data.
    data: RecordSeq,
    happened_at: Time,
    name: EventName,
    plans: Vec<Plan>,
    /// What became of it, as the record says it.
    handled: Vec<Handled>,
}

/// By which revision somebody asked for this record, and what each handler was to make of it.
fn asked<'a>(turn: &'a Turn, entry: &Entry) -> Option<(u32, &'a [Routed], u64)> {
    turn.commands().find_map(|command| match (command, &entry.record) {
        (Command::Emit { events, revision }, Record::EventReceived { spec, .. }) => {
            // Each has data of its own.
            let same = |new: &&NewEvent| Some(&new.data) == entry.payload.as_ref() && new.spec == **spec;
            events.iter().find(same).map(|new| (*revision, &new.routed[..], new.data.text().len() as u64))
        }
        (Command::ReplayEvent { event, routed, bytes, revision, by: asker }, Record::EventReplayed { by, .. }) => {
            (entry.owner == Owner::Event(*event) && by == asker).then_some((*revision, &routed[..], *bytes))
        }
        _ => None,
    })
}

/// What the model says that this record of an event makes, before it is taken over.
pub fn made(model: &Model, turn: &Turn, entry: &Entry) -> Option<Made> {
    let Owner::Event(event) = entry.owner else { return None };
    let (_, routed, bytes) = asked(turn, entry)?;
    let (data, name, happened_at, again, handled) = match &entry.record {
        Record::EventReceived { spec, handled } => {
            (entry.seq, &spec.name, spec.ts.unwrap_or(entry.at).min(entry.at), false, handled)
        }
        Record::EventReplayed { handled, .. } => {
            let known = model.events.events.get(&event)?;
            (known.first, &known.name, known.happened_at, true, handled)
        }
        _ => return None,
    };
    let envelope_bytes = match &entry.record {
        Record::EventReceived { spec, .. } => spec.envelope_bytes(),
        _ => model.events.events.get(&event).map_or(0, |known| known.envelope_bytes),
    };
    let happening = Happening { event, name, happened_at, bytes, envelope_bytes, again, now: entry.at };
    let plans = model.plans(&happening, routed);
    let (seq, name, handled) = (entry.seq, name.clone(), handled.clone());
    Some(Made { event, seq, data, happened_at, name, plans, handled })
}

pub fn routed(scene: &Scene<'_>, entry: &Entry) -> Check {
    let Owner::Event(event) = entry.owner else { return Ok(()) };
    if let Record::EventHeard { .. } = entry.record {
        return Ok(());
    }
    let Some((revision, ..)) = asked(scene.turn, entry) else {
        return Err(format!("{} of {event} was not asked for", entry.record.kind()));
    };
    let current = scene.model.events.registry.revision;
    ensure(revision == current, || format!("{event} was routed by revision {revision}, and handled at {current}"))?;
    if let Record::EventReceived { spec, .. } = &entry.record {
        let earlier = spec.key.as_ref().and_then(|key| scene.model.events.by_key.get(key));
        ensure(earlier.is_none(), || format!("{event} has the id of {earlier:?}, which is there"))?;
    }
    Ok(())
}

pub fn handled(scene: &Scene<'_>, entry: &Entry) -> Check {
    let Some(Made { plans, handled, event, .. }) = made(scene.model, scene.turn, entry) else { return Ok(()) };
    ensure(plans.len() == handled.len(), || format!("{} of {} handlers handled {event}", handled.len(), plans.len()))?;
    for (plan, told) in plans.iter().zip(&handled) {
        let same = match (&plan.outcome, &told.outcome) {
            (Outcome::Queued { .. }, Outcome::Queued { task }) => scene.model.task(*task).is_none(),
            (expected, told) => expected == told,
        };
        ensure(same && plan.handler == told.handler, || {
            format!("{event} is {:?} at {}, and should be {:?}", told.outcome, told.handler, plan.outcome)
        })?;
    }
    Ok(())
}

/// Everything that events were to do was done, once, and nothing else.
pub fn carried_out(scene: &Scene<'_>) -> Check {
    let turn = scene.turn;
    let mut expected = 0;
    for made in &turn.made {
        for (plan, told) in made.plans.iter().zip(&made.handled) {
            let effects = effects(made, plan, &told.outcome);
            expected += effects.len();
            for (owner, record) in effects {
                let found = turn.entries.iter().filter(|entry| entry.seq > made.seq && entry.owner == owner);
                let count = found.filter(|entry| is_same(&record, &entry.record)).count();
                ensure(count == 1, || format!("{} at {}: {count} times {record:?} of {owner}", made.event, plan.handler))?;
            }
        }
    }
    let done = turn.entries.iter().filter(|entry| is_effect(scene, entry)).count();
    ensure(done == expected, || format!("events had {done} effects, and should have had {expected}"))
}

fn effects(made: &Made, plan: &Plan, told: &Outcome) -> Vec<(Owner, Record)> {
    let mut effects = Vec::new();
    if let Some((key, arrival)) = &plan.permit {
        effects.push((Owner::Key(key.clone()), Record::PermitTaken { arrival: *arrival }));
    }
    for (task, cause) in &plan.gone {
        let (by, reason) = (itself(), String::new());
        effects.push((Owner::Task(*task), Record::TaskCancelled { cause: *cause, by, reason, digest: None }));
    }
    let (event, name) = (made.event, made.name.clone());
    match (&plan.deed, told) {
        (Deed::Add(spec), Outcome::Queued { task }) => {
            let mut spec = spec.clone();
            spec.input = Some(made.data);
            effects.push((Owner::Task(*task), Record::TaskAdded { spec }));
        }
        (Deed::Debounce { task, newer, ready_at, start_by }, _) => {
            let newer = newer.then_some(Newer { input: made.data, happened_at: made.happened_at });
            let (ready_at, start_by) = (*ready_at, *start_by);
            effects.push((Owner::Task(*task), Record::TaskDebounced { event, name, newer, ready_at, start_by }));
        }
        (Deed::Batch { task, full, ready_at, bytes }, _) => {
            let (bytes, full, ready_at) = (*bytes, *full, *ready_at);
            let record = Record::TaskBatched { event, name, input: made.data, bytes, full, ready_at };
            effects.push((Owner::Task(*task), record));
        }
        _ => {}
    }
    effects
}

fn itself() -> Actor {
    Actor::parse("signaller").expect("a name")
}

/// One that runs is asked to stop instead; the words of it do not matter.
fn is_same(expected: &Record, found: &Record) -> bool {
    match (expected, found) {
        (Record::TaskCancelled { cause, .. }, Record::TaskCancelled { cause: found, .. }) => cause == found,
        (Record::TaskCancelled { cause, .. }, Record::TaskCancelRequested { by, .. }) => {
            *cause == CancelCause::Replaced && *by == itself()
        }
        (expected, found) => expected == found,
    }
}

/// An event of this tick was to make it go.
pub fn sheds(turn: &Turn, task: TaskId) -> bool {
    let mut gone = turn.made.iter().flat_map(|made| &made.plans).flat_map(|plan| &plan.gone);
    gone.any(|(gone, cause)| *gone == task && *cause == CancelCause::Shed)
}

fn is_effect(scene: &Scene<'_>, entry: &Entry) -> bool {
    match (&entry.owner, &entry.record) {
        (_, Record::TaskAdded { spec }) => spec.trigger.is_some(),
        (_, Record::TaskDebounced { .. } | Record::TaskBatched { .. }) => true,
        (_, Record::TaskCancelled { cause: CancelCause::Replaced, .. }) => true,
        // Adds shed as well; `causes` knows.
        (Owner::Task(id), Record::TaskCancelled { cause: CancelCause::Shed, by, .. }) => {
            *by == itself() && sheds(scene.turn, *id)
        }
        (Owner::Task(id), Record::TaskCancelRequested { by, .. }) => {
            // What runs do not want any more they take back, too.
            *by == itself() && scene.model.task(*id).is_none_or(|task| task.node.is_none())
        }
        (Owner::Key(key), Record::PermitTaken { .. }) => is_drop_key(key),
        _ => false,
    }
}

/// What was answered is what is kept; the same id gets the same answer.
pub fn answered(scene: &Scene<'_>) -> Check {
    for (ticket, answer) in scene.turn.answers.iter().filter(|_| !scene.turn.reloaded) {
        let Answer::Reply(Ok(reply)) = answer else { continue };
        match (reply, scene.turn.request(*ticket)) {
            (Reply::Emitted(emitted), Some(Request::Command(Command::Emit { events, .. }))) => {
                ensure(emitted.len() == events.len(), || format!("{} of {} emits were answered", emitted.len(), events.len()))?;
                events.iter().zip(emitted).try_for_each(|(new, emitted)| told(scene, new, emitted))?;
            }
            (Reply::Registry { revision }, _) => {
                let put = |entry: &Entry| matches!(&entry.record, Record::RegistryPut { revision: put, .. } if put == revision);
                ensure(scene.turn.entries.iter().any(put), || format!("revision {revision} was told to be put"))?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn told(scene: &Scene<'_>, new: &NewEvent, emitted: &Emitted) -> Check {
    let Emitted { event, duplicate, handled, heard } = emitted;
    let received = scene.turn.entries.iter().any(|entry| {
        let first = matches!(&entry.record, Record::EventReceived { handled: first, .. } if first == handled);
        entry.owner == Owner::Event(*event) && first && entry.payload.as_ref() == Some(&new.data)
    });
    ensure(received || *duplicate, || format!("{event} was acknowledged and is not durable as that"))?;
    // It may have gone in the same tick, and others may have heard it later in it.
    let Some(known) = scene.model.events.events.get(event).filter(|_| *duplicate) else { return Ok(()) };
    ensure(known.heard.starts_with(heard), || format!("{event} was told to be heard by {heard:?}, and is by {:?}", known.heard))?;
    let same = new.spec.key.is_some() && new.spec.key == known.key && known.handled.starts_with(handled);
    let replayed = scene.turn.made.iter().any(|made| made.event == *event);
    ensure(same && (replayed || known.handled.len() == handled.len()), || {
        format!("{event}, which came before, was told to be {handled:?}, and is {:?}", known.handled)
    })
}

/// What an event makes, it makes until that has ended: nothing of what is acknowledged is lost.
pub fn kept(scene: &Scene<'_>) -> Check {
    if !scene.thorough {
        return Ok(());
    }
    let stored = scene.disk.read(|durable| durable.rows(&EVENTS).count());
    let known = scene.model.events.events.len();
    ensure(stored == known, || format!("{stored} events are on the disk, and {known} should be"))
}
