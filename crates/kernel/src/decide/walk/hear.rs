//! Waiting for an event. One that comes is held against those who wait for its name: they are found by what they ask of it,
//! and only those who ask more, or nothing that could be found by, are asked each. Who begins to wait looks back at what came
//! since its run began.

use super::{done, fail, ir, live, state};
use crate::eval::{EXPRESSION_FAILED, Evaluated, EventFacts, Json, Scope, Shape, View};
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
use std::collections::BTreeMap;

/// Whether an event is the one.
enum Met {
    Yes,
    No,
    /// That depends on values that are not at hand.
    Missing(Vec<RecordSeq>),
    /// That can never be known, and not because of the event.
    Failed(Failure),
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
    let text: Box<str> = match &json.view {
        View::Null | View::Bool(_) | View::Text(_) => text.into(),
        View::Int(int) => int.to_string().into(),
        View::List(_) => return None,
        // Beyond 64 bits they may be more exact than this.
        View::Other => match text.parse().ok()? {
            number if f64::abs(number) >= 9e18 => return None,
            number if f64::fract(number) == 0.0 => (number as i64).to_string().into(),
            _ => text.into(),
        },
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
            Met::Failed(failure) => fail(step, &spot, failure),
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
            Evaluated::Value(_) => return Met::No,
            Evaluated::Failed(failure) => return unknown(step, event, failure),
        }
    }
    let Some((expr, scope)) = asked else { return Met::Yes };
    match step.eval(&ir, expr, &scope) {
        Evaluated::Value(Json { view: View::Bool(true), .. }) => Met::Yes,
        Evaluated::Missing(values) => Met::Missing(values),
        Evaluated::Value(_) => Met::No,
        Evaluated::Failed(failure) => unknown(step, event, failure),
    }
}

/// What is asked of an event cannot be answered. One that lacks what is asked for, or whose data is lost, is another one; what
/// the run has lost makes it fail.
fn unknown(step: &mut Step<'_>, event: &EventFacts, failure: Failure) -> Met {
    if failure.code == EXPRESSION_FAILED {
        return Met::No;
    }
    match step.gather(&Shape::At(event.data)) {
        Evaluated::Value(_) => Met::Failed(failure),
        Evaluated::Missing(values) => Met::Missing(values),
        Evaluated::Failed(_) => Met::No,
    }
}

/// This is the one. Its data is the node's own from here on: events are kept for a time, runs for another.
fn hear(step: &mut Step<'_>, spot: &Spot, event: EventId, data: Payload) {
    if let Some(unhandled) = step.state().event(event).filter(|event| event.notes_who_hears()).map(Event::is_unhandled) {
        step.record_event(event, Record::EventHeard { run: spot.run, unhandled }, None);
    }
    done(step, spot, Told::Own, Went::Heard(event), Some(data));
}

/// Those that look back see the events that were loaded for them.
pub(in crate::decide) fn look_back(step: &mut Step<'_>) {
    let mut at_hand: BTreeMap<EventName, Vec<Event>> = BTreeMap::new();
    for spot in step.state().runs.awaits.due().to_vec() {
        if step.is_full() {
            break;
        }
        let Some(after) = step.state().runs.awaits.wants_after(&spot) else { continue };
        let Some(name) = state(step, &spot).and_then(|state| state.awaiting()).map(|awaiting| awaiting.event.clone()) else {
            step.awaits().looked(&spot);
            continue;
        };
        let named = at_hand.entry(name).or_insert_with_key(|name| step.state().events_named(name));
        let from = named.partition_point(|event| event.id() <= after);
        let page: Vec<Event> = named[from..].iter().take(LOOK_EVENTS_MAX).cloned().collect();
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
    if let Some((event, data)) = step.awaits().take_found(spot) {
        hear(step, spot, event, data);
        return caught_up(step);
    }
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
                Evaluated::Value(json) if step.state().event(event.id()).is_some() => {
                    hear(step, spot, event.id(), json.payload);
                    return caught_up(step);
                }
                // To note who hears it, it has to be at hand.
                Evaluated::Value(json) => return step.awaits().found(spot, event.id(), json.payload),
                Evaluated::Missing(values) => {
                    missing.extend(values);
                    break;
                }
                Evaluated::Failed(_) => passed += 1,
            },
            // So is whether what cannot be known matters.
            Met::Failed(_) if !missing.is_empty() => break,
            Met::Failed(failure) => {
                fail(step, spot, failure);
                return caught_up(step);
            }
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
