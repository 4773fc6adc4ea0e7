//! Who waits for an event hears the first that is the one, of all that came since it may, and none of them is lost on it. What
//! is asked of events is told here by hand, for each workflow that waits.

use super::{Check, Scene, ensure};
use crate::model::events::EventModel;
use crate::model::runs::NodeState;
use kernel::event::Outcome;
use kernel::ids::EventId;
use kernel::limits::EVENT_HEARD_MAX;
use kernel::node::{Awaiting, Started, Went};
use kernel::record::{Entry, Owner, Payload, Record};
use kernel::run::NodeAt;
use serde_json::Value as Json;
use std::ops::Bound::{Excluded, Unbounded};

fn is_the_one(workflow: &str, awaiting: &Awaiting, event: &EventModel) -> bool {
    let data: serde_json::Value = serde_json::from_str(event.data.text()).unwrap_or_default();
    let n = data["n"].as_i64();
    let fits = match (workflow, &awaiting.key) {
        ("wait-any", _) => true,
        ("wait-loop", _) => n.is_some_and(|n| n > 4),
        (_, Some((of, value))) => &**of == "event.data.n" && n.is_some_and(|n| n.to_string() == **value),
        (_, None) => false,
    };
    let in_time = awaiting.until.is_none_or(|until| event.received_at < until);
    event.name == awaiting.event && in_time && fits
}

fn first_of(scene: &Scene<'_>, at: &NodeAt, awaiting: &Awaiting) -> Option<EventId> {
    let run = scene.model.runs.runs.get(&at.run)?;
    let came = scene.model.events.events.range((Excluded(awaiting.after), Unbounded));
    came.filter(|(_, event)| is_the_one(run.workflow.as_str(), awaiting, event)).map(|(id, _)| *id).next()
}

fn awaiting<'a>(scene: &'a Scene<'_>, at: &NodeAt) -> Option<&'a Awaiting> {
    match scene.model.runs.node(at) {
        NodeState::Started(Started::Awaiting(awaiting)) => Some(awaiting),
        _ => None,
    }
}

/// Whoever hears an event is noted with it.
pub fn noted(scene: &Scene<'_>, entry: &Entry) -> Check {
    match (&entry.owner, &entry.record) {
        (Owner::Event(id), Record::EventHeard { run, unhandled }) => {
            let event = scene.model.events.events.get(id).ok_or_else(|| format!("{id} is not there to be heard"))?;
            let taken = event.handled.iter().any(|handled| !matches!(handled.outcome, Outcome::Shadow { .. }));
            let first = event.heard.is_empty() && !taken;
            ensure(first == *unhandled, || format!("{id} was heard by {run} as unhandled: {unhandled}, not {first}"))?;
            let hears = |later: &Entry| {
                let heard = matches!(later.record, Record::NodeDone { went: Went::Heard(heard), .. } if heard == *id);
                later.seq > entry.seq && heard && matches!(&later.owner, Owner::Node(at) if at.run == *run)
            };
            ensure(scene.turn.entries.iter().any(hears), || format!("{run} is noted to have heard {id}, and did not"))
        }
        (Owner::Node(at), Record::NodeDone { went: Went::Heard(id), .. }) => {
            let Some(event) = scene.model.events.events.get(id) else { return Ok(()) };
            let noted = event.heard.contains(&at.run) || event.heard.len() == EVENT_HEARD_MAX;
            ensure(noted, || format!("{} heard {id}, which only {:?} are noted to have", at.show(), event.heard))
        }
        _ => Ok(()),
    }
}

pub fn heard(scene: &Scene<'_>, entry: &Entry) -> Check {
    let Owner::Node(at) = &entry.owner else { return Ok(()) };
    match &entry.record {
        Record::NodeStarted { at: Started::Awaiting(began) } => {
            let after = may_hear_after(scene, at).ok_or_else(|| format!("{} waits in no run", at.show()))?;
            ensure(began.after == after, || format!("{} looks back to {}, not to {after}", at.show(), began.after))
        }
        Record::NodeDone { went: Went::Heard(event), .. } => {
            let awaiting = awaiting(scene, at).ok_or_else(|| format!("{} heard {event}, and did not wait", at.show()))?;
            let first = first_of(scene, at, awaiting);
            ensure(first == Some(*event), || format!("{} heard {event}, not {first:?}", at.show()))?;
            let data = scene.model.events.events.get(event).map(|event| &event.data);
            // The same value, if perhaps not the same text.
            let json = |payload: Option<&Payload>| payload.and_then(|payload| serde_json::from_str(payload.text()).ok());
            let (given, sent): (Option<Json>, Option<Json>) = (json(entry.payload.as_ref()), json(data));
            ensure(given.is_some() && given == sent, || format!("{} was given {:?}, not {data:?}", at.show(), entry.payload))
        }
        Record::NodeDone { went: Went::Timeout, .. } | Record::NodeFailed { .. } => {
            let Some(awaiting) = awaiting(scene, at) else { return Ok(()) };
            let missed = first_of(scene, at, awaiting);
            ensure(missed.is_none(), || format!("{} gave up, and {missed:?} had come", at.show()))
        }
        _ => Ok(()),
    }
}

/// The run's beginning or the event it was begun for, and what the turn before heard.
fn may_hear_after(scene: &Scene<'_>, at: &NodeAt) -> Option<EventId> {
    let runs = &scene.model.runs;
    let run = runs.runs.get(&at.run)?;
    let since = run.event.map_or(at.run.number(), |event| event.number().min(at.run.number()));
    let turns = runs.nodes_of(at.run).filter(|(of, _)| {
        let looped = run.workflow.as_str() == "wait-loop" && of.frame.depth() == 1 && at.frame.depth() == 1;
        looped && of.node == at.node && of.frame < at.frame && !runs.is_undone(of.run, &of.frame)
    });
    let heard =
        turns.filter_map(|(_, node)| if let NodeState::Done(Went::Heard(event)) = &node.state { Some(*event) } else { None });
    EventId::from_number(since).into_iter().chain(heard).max()
}

pub fn none_missed(scene: &Scene<'_>) -> Check {
    let Some(core) = scene.core.filter(|_| !scene.turn.reloaded && !scene.fetching) else { return Ok(()) };
    let moved = |entry: &Entry| {
        let looks = matches!(entry.record, Record::NodeStarted { .. } | Record::NodeLooked {} | Record::WaitsCaughtUp {});
        looks || matches!(entry.record, Record::EventReceived { .. })
    };
    if core.state().runs_wait() || !(scene.thorough || scene.turn.entries.iter().any(moved)) {
        return Ok(());
    }
    let runs = &scene.model.runs;
    for (id, _) in runs.running() {
        for (at, node) in runs.nodes_of(id) {
            let NodeState::Started(Started::Awaiting(awaiting)) = &node.state else { continue };
            if runs.is_wanted(id, &at.frame) {
                ensure(!awaiting.looking, || format!("{} has yet to look back, and nothing does", at.show()))?;
                let missed = first_of(scene, at, awaiting);
                ensure(missed.is_none(), || format!("{} still waits, and {missed:?} has come", at.show()))?;
            }
        }
    }
    Ok(())
}
