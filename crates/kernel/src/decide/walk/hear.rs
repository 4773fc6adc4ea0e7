//! Waiting for an event. One that comes is held against those who wait for its name: they are found by what they ask of it,
//! and only those who ask more, or nothing that could be found by, are asked each. Who begins to wait looks back at what came
//! since its run began.

use super::{done, fail, ir, live, state};
use crate::eval::{Evaluated, EventFacts, Json, Scope, Shape, View};
use crate::event::Event;
use crate::ids::{EventId, RecordSeq};
use crate::ir::{NodeKind, On, WaitKey};
use crate::limits::{CHUNK_ITEMS_MAX, LOOK_EVENTS_MAX, LOOK_VALUES_MAX, WAIT_KEY_BYTES_MAX, WAITS_UNKEYED_MAX};
use crate::names::EventName;
use crate::node::{Awaiting, Started, Told, Went};
use crate::record::{Failure, Payload, Record};
use crate::run::ValueAt;
use crate::runs::{Held, Spot};
use crate::step::Step;

/// Whether an event is the one.
enum Met {
    Yes,
    No,
    /// That depends on values that are not at hand.
    Missing(Vec<RecordSeq>),
}

/// A node begins to wait.
pub(super) fn begin(step: &mut Step<'_>, spot: &Spot, event: &EventName, key: Option<(Box<str>, Box<str>)>) {
    let live = live(step, spot.run).expect("it is being entered");
    let ir = live.frame(&spot.frame).expect("it is being entered").ir.clone();
    let node = ir.node(spot.node);
    let awaits = &step.state().runs.awaits;
    if key.is_none() && awaits.unkeyed_count(event) >= WAITS_UNKEYED_MAX {
        let message = format!(
            "{WAITS_UNKEYED_MAX} runs already wait for `{event}` by nothing that tells them apart, such as `event.data.id == input.id` with a number or a text of at most {WAIT_KEY_BYTES_MAX} bytes"
        );
        return fail(step, spot, Failure { code: "too_many_waits".into(), message });
    }
    let after = live.waits_after(&spot.frame, &node.id);
    let looking = awaits.may_have_come(event, after) && !crate::defect("never_looks_back");
    let until = node.timeout_ms.map(|ms| step.now().plus_ms(ms));
    let at = Started::Awaiting(Box::new(Awaiting { event: event.clone(), key, until, after, looking }));
    step.record_node(spot, Record::NodeStarted { at }, None);
}

/// A value by which those who wait are found: the same text for what is equal. `None`: there is none, so each is asked.
pub(super) fn key_text(json: &Json) -> Option<Box<str>> {
    let text = json.payload.text();
    // Beyond this, whole numbers and others are not told apart.
    let exact = |number: f64| number.fract() == 0.0 && number.abs() < 9e15;
    let text: Box<str> = match &json.view {
        View::Null | View::Bool(_) | View::Text(_) => text.into(),
        View::Int(int) if exact(*int as f64) => int.to_string().into(),
        View::Int(_) | View::List(_) => return None,
        View::Other => {
            let number: f64 = text.parse().ok()?;
            if exact(number) {
                (number as i64).to_string().into()
            } else if number.abs() < 9e15 {
                text.into()
            } else {
                return None;
            }
        }
    };
    (text.len() <= WAIT_KEY_BYTES_MAX).then_some(text)
}

fn facts(event: &Event) -> EventFacts {
    let data = ValueAt::Record(event.data());
    EventFacts { id: event.id(), spec: event.spec().clone(), received_at: event.received_at(), data }
}

/// An event has come: whoever waits for it goes on.
pub(in crate::decide) fn offer(step: &mut Step<'_>, id: EventId, data: &Payload) {
    let event = step.state().event(id).expect("it has just come");
    let name = event.spec().name.clone();
    if !step.state().runs.awaits.is_awaited(&name) {
        return;
    }
    let facts = facts(event);
    let mut spots: Vec<(Spot, bool)> = Vec::new();
    let awaits = &step.state().runs.awaits;
    spots.extend(awaits.unkeyed(&name).map(|spot| (spot.clone(), false)));
    for (of, ir, expr) in awaits.asked_of(&name) {
        let nothing = Shape::At(ValueAt::Null);
        let (input, event) = (ValueAt::Null, Some(Box::new(facts.clone())));
        let run = crate::ids::RunId::new(0, 0);
        let scope = Scope { run, input, output: nothing, item: None, last: None, nodes: Vec::new(), event };
        // An event that has no such thing is not the one.
        if let Evaluated::Value(json) = step.eval(&ir, expr, &scope)
            && let Some(value) = key_text(&json)
        {
            let found = step.state().runs.awaits.by_key(&name, &of, &value);
            spots.extend(found.into_iter().map(|spot| (spot, true)));
        }
    }
    spots.sort_unstable();
    let mut woken = 0;
    for (spot, by_key) in spots {
        if step.state().runs.awaits.is_looking(&spot) {
            step.awaits().more(&spot);
            continue;
        }
        if step.is_full() || woken >= CHUNK_ITEMS_MAX {
            later(step, spot, id);
            continue;
        }
        match meets(step, &spot, &facts, by_key) {
            Met::No => {}
            Met::Yes => {
                woken += 1;
                hear(step, &spot, id, data.clone());
            }
            Met::Missing(_) => later(step, spot, id),
        }
    }
}

/// It is held against this event, and what comes after it, in a batch to come.
fn later(step: &mut Step<'_>, spot: Spot, event: EventId) {
    if crate::defect("waits_forgotten") {
        return;
    }
    let after = event.before();
    if step.state().shard.behind.is_none_or(|behind| behind > after) {
        step.record_shard(Record::WaitsBehind { after });
    }
    step.awaits().look(spot, after, false);
}

/// `by_key`: what it asks of the event first is known to hold.
fn meets(step: &mut Step<'_>, spot: &Spot, event: &EventFacts, by_key: bool) -> Met {
    let Some(awaiting) = state(step, spot).and_then(|state| state.awaiting()).cloned() else { return Met::No };
    let ir = ir(step, spot).expect("it has a state");
    let NodeKind::Wait { event: name, matches, key } = &ir.node(spot.node).kind else { return Met::No };
    let late = awaiting.until.is_some_and(|until| until <= event.received_at);
    if *name != event.spec.name || event.id <= awaiting.after || late {
        return Met::No;
    }
    let found = (by_key || awaiting.key.is_none()).then_some(true);
    let live = live(step, spot.run).expect("as above");
    let output = live.output_before(&spot.frame, spot.node);
    let scope = |expr| Scope {
        event: Some(Box::new(event.clone())),
        ..live.scope(&spot.frame, &ir, &ir.expr(expr).reads, output.clone())
    };
    let whole = matches!(key, Some(WaitKey { whole: true, .. })) && awaiting.key.is_some();
    let asked = matches.filter(|_| !(whole && by_key)).map(|expr| (expr, scope(expr)));
    let first = key.filter(|_| found.is_none()).map(|key| (key.of, scope(key.of)));
    if let Some((expr, scope)) = first {
        match step.eval(&ir, expr, &scope) {
            Evaluated::Value(json) if key_text(&json).as_ref() == awaiting.key.as_ref().map(|(_, value)| value) => {
                if whole {
                    return Met::Yes;
                }
            }
            Evaluated::Missing(values) => return Met::Missing(values),
            Evaluated::Value(_) | Evaluated::Failed(_) => return Met::No,
        }
    }
    let Some((expr, scope)) = asked else { return Met::Yes };
    match step.eval(&ir, expr, &scope) {
        Evaluated::Value(Json { view: View::Bool(true), .. }) => Met::Yes,
        Evaluated::Missing(values) => Met::Missing(values),
        // One that lacks what is asked for is another one.
        Evaluated::Value(_) | Evaluated::Failed(_) => Met::No,
    }
}

/// This is the one. Its data is the node's own from here on: events are kept for a time, runs for another.
fn hear(step: &mut Step<'_>, spot: &Spot, event: EventId, data: Payload) {
    done(step, spot, Told::Own, Went::Heard(event), Some(data));
}

/// Those that look back see the events that were loaded for them.
pub(in crate::decide) fn look_back(step: &mut Step<'_>) {
    for spot in step.state().runs.awaits.due().to_vec() {
        if step.is_full() {
            break;
        }
        let Some(after) = step.state().runs.awaits.wants_after(&spot) else { continue };
        let Some(name) = state(step, &spot).and_then(|state| state.awaiting()).map(|awaiting| awaiting.event.clone()) else {
            step.awaits().looked(&spot);
            continue;
        };
        let page = step.state().events_named(&name, after, LOOK_EVENTS_MAX);
        let more = page.len() == LOOK_EVENTS_MAX;
        step.awaits().take(&spot, page, more);
        look(step, &spot);
    }
    caught_up(step);
}

/// Whether this was the last that only the shard's mark stands for.
fn caught_up(step: &mut Step<'_>) {
    if step.state().shard.behind.is_some() && !step.state().runs.awaits.is_behind() {
        step.record_shard(Record::WaitsCaughtUp {});
    }
}

/// The first of its events that is the one, in the order in which they came.
pub(super) fn look(step: &mut Step<'_>, spot: &Spot) {
    let Some(page) = step.state().runs.awaits.page(spot).map(<[Event]>::to_vec) else { return };
    let (mut passed, mut missing) = (0, Vec::new());
    for event in &page {
        match meets(step, spot, &facts(event), false) {
            // What is fetched together is bounded.
            Met::Missing(values) => {
                missing.extend(values);
                if missing.len() >= LOOK_VALUES_MAX {
                    break;
                }
            }
            // Which is the first is known when those before it are.
            Met::Yes if !missing.is_empty() => break,
            Met::Yes => match step.gather(&Shape::At(ValueAt::Record(event.data()))) {
                Evaluated::Value(json) => {
                    hear(step, spot, event.id(), json.payload);
                    return caught_up(step);
                }
                Evaluated::Missing(values) => {
                    missing.extend(values);
                    break;
                }
                Evaluated::Failed(_) => passed += 1,
            },
            Met::No => passed += usize::from(missing.is_empty()),
        }
    }
    step.awaits().pass(spot, passed);
    if !missing.is_empty() {
        missing.sort_unstable();
        missing.dedup();
        return step.hold(Held::Node(spot.clone()), missing);
    }
    if step.awaits().is_through(spot) {
        looked(step, spot);
    }
}

/// None of those that came is the one.
fn looked(step: &mut Step<'_>, spot: &Spot) {
    let Some(awaiting) = state(step, spot).and_then(|state| state.awaiting()).cloned() else { return };
    if awaiting.looking {
        step.record_node(spot, Record::NodeLooked {}, None);
    } else {
        step.awaits().looked(spot);
    }
    if awaiting.until.is_some_and(|until| until <= step.now()) {
        late(step, spot);
    }
    caught_up(step);
}

/// It has waited long enough. Who looks back may yet find what came in time.
pub(super) fn late(step: &mut Step<'_>, spot: &Spot) {
    let awaiting = state(step, spot).and_then(|state| state.awaiting());
    let Some((name, until)) = awaiting.map(|awaiting| (awaiting.event.clone(), awaiting.until)) else { return };
    if step.state().runs.awaits.is_looking(spot) {
        return until.into_iter().for_each(|until| step.overlook(until, spot));
    }
    if super::frames::leads(step, spot, On::Timeout) {
        return done(step, spot, Told::Passed, Went::Timeout, None);
    }
    let message = format!("no event `{name}` that is the one came in time");
    fail(step, spot, Failure { code: "timed_out".into(), message });
}
