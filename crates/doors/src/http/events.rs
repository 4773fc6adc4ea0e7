//! `/v1/events`: what happened, in and out.

use super::Door;
use super::answer::{Json, No, checked, unexpected};
use super::body::{Body, Named, Params};
use super::values::{is_another, value};
use crate::wire::*;
use axum::extract::State;
use axum::http::StatusCode;
use engine::Answer;
use kernel::command::{Emitted, Reply};
use kernel::event::{Event, EventSpec, Outcome};
use kernel::ids::EventId;
use kernel::names::EventName;
use kernel::record::{Entry, Payload, Record};
use kernel::rejection::Rejection;
use kernel::rollup::UNHANDLED;
use kernel::run::{Run, ValueAt};
use kernel::task::Task;
use std::collections::BTreeSet;
use std::time::Duration;
use store::{Reader, StoreError};

/// Take an event in: durable when it is answered, with what each handler makes of it.
#[utoipa::path(post, path = "/v1/events", tag = "events", request_body = EventEmit,
    responses((status = 201, body = EventEmitted), (status = 200, body = EventEmitted, description = "an event with this id came before")))]
pub async fn emit(State(door): State<Door>, Body(event): Body<EventEmit>) -> Result<(StatusCode, Json<EventEmitted>), No> {
    let taken = take(&door, vec![event.into_spec()?], Duration::ZERO).await?;
    let emitted = taken.first().map(EventEmitted::from).expect("one event was taken in");
    let status = if emitted.duplicate { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(emitted)))
}

/// Take many events in, in order.
#[utoipa::path(post, path = "/v1/events/batch", tag = "events", request_body = EventsEmit,
    responses((status = 201, body = EventsEmitted)))]
pub async fn emit_many(
    State(door): State<Door>,
    Body(events): Body<EventsEmit>,
) -> Result<(StatusCode, Json<EventsEmitted>), No> {
    let taken = take(&door, events.into_specs()?, Duration::ZERO).await?;
    Ok((StatusCode::CREATED, Json(EventsEmitted { events: taken.iter().map(EventEmitted::from).collect() })))
}

/// An event that was taken in, or had been before.
pub struct Taken {
    pub emitted: Emitted,
    /// It had been, with another name or other data.
    pub differs: bool,
}

impl From<&Taken> for EventEmitted {
    fn from(taken: &Taken) -> EventEmitted {
        EventEmitted::new(&taken.emitted, taken.differs)
    }
}

pub async fn take(door: &Door, events: Vec<(EventSpec, Payload)>, patience: Duration) -> Result<Vec<Taken>, No> {
    // Only what has an id can have come before.
    let sent = |(spec, data): &(EventSpec, Payload)| spec.key.is_some().then(|| (spec.name.clone(), data.clone()));
    let sent: Vec<Option<(EventName, Payload)>> = events.iter().map(sent).collect();
    let emitted = emitted(checked(door.engine.emit(events, patience).await?)?)?;
    let again = emitted.iter().zip(sent).filter(|(emitted, _)| emitted.duplicate);
    let again: Vec<(EventId, (EventName, Payload))> = again.filter_map(|(emitted, sent)| Some((emitted.event, sent?))).collect();
    let other = if again.is_empty() { BTreeSet::new() } else { others(door, again).await? };
    let differs = |emitted: &Emitted| emitted.duplicate && other.contains(&emitted.event);
    Ok(emitted.into_iter().map(|emitted| Taken { differs: differs(&emitted), emitted }).collect())
}

/// Of events that came again, those that were others before. Of one whose data is gone, nobody can say.
async fn others(door: &Door, again: Vec<(EventId, (EventName, Payload))>) -> Result<BTreeSet<EventId>, No> {
    door.blocking(move |engine| {
        let mut others = BTreeSet::new();
        for (event, (name, data)) in again {
            let kept = engine.read(|reader| reader.event(event)?.map(|row| Ok(Event::from_row(&row.values)?)).transpose());
            let is_other_name = kept.as_ref().is_ok_and(|kept| kept.as_ref().is_some_and(|kept| kept.spec().name != name));
            if is_other_name || is_another(engine, kept.map(|kept| kept.map(|kept| kept.data())), &data) {
                others.insert(event);
            }
        }
        Ok(others)
    })
    .await
}

fn emitted(answer: Answer) -> Result<Vec<Emitted>, No> {
    match answer {
        Answer::Reply(Ok(Reply::Emitted(emitted))) => Ok(emitted),
        Answer::Reply(Err(no)) => Err(no.into()),
        other => Err(unexpected(&other)),
    }
}

/// List events, newest first.
#[utoipa::path(get, path = "/v1/events", tag = "events", params(EventQuery), responses((status = 200, body = EventList)))]
pub async fn list(State(door): State<Door>, Params(query): Params<EventQuery>) -> Result<Json<EventList>, No> {
    let limit = page_limit(query.limit)?;
    let wrong = |cursor: &str| {
        let fix = "send the `next` of the page before, or leave it out for the first page";
        Problem::new("invalid", format!("`{cursor}` is not a cursor of this list"), fix)
    };
    let before = query.cursor.as_deref().map(|cursor| EventId::parse(cursor).ok_or_else(|| wrong(cursor))).transpose()?;
    let (outcome, unhandled) = match query.outcome.as_deref() {
        None => (None, query.unhandled),
        Some(UNHANDLED) => (None, true),
        Some(name) if Outcome::NAMES.contains(&name) => (Some(name.into()), query.unhandled),
        Some(name) => {
            let shown: String = name.chars().take(40).collect();
            let why = format!("outcome: `{shown}` is none of {}, {UNHANDLED}", Outcome::NAMES.join(", "));
            return Err(Problem::invalid(why).into());
        }
    };
    // One more than shown tells whether there is a next page.
    let asked = store::EventQuery {
        pattern: query.name,
        unhandled,
        outcome,
        handler: query.handler,
        key: query.id,
        since: query.since.map(|since| since.0),
        before,
        limit: limit + 1,
        ..store::EventQuery::default()
    };
    let rows = door.read(move |reader| reader.events(&asked)).await?;
    let more = rows.len() > limit;
    let shown = rows.iter().take(limit).map(|row| Ok(EventView::from(&Event::from_row(&row.values)?)));
    let events = shown.collect::<Result<Vec<_>, No>>()?;
    let next = events.last().filter(|_| more).map(|event| event.event.to_string());
    Ok(Json(EventList { events, next }))
}

/// Show an event with its data and what became of it.
#[utoipa::path(get, path = "/v1/events/{event}", tag = "events", params(("event" = String, Path)),
    responses((status = 200, body = EventView)))]
pub async fn show(State(door): State<Door>, Named(event): Named<EventId>) -> Result<Json<EventView>, No> {
    let found = door.blocking(move |engine| {
        let found = engine.read(|reader| {
            let Some(row) = reader.event(event)? else { return Ok(None) };
            let found = Event::from_row(&row.values)?;
            let mut view = EventView::from(&found);
            view.handled.iter_mut().try_for_each(|handled| stands(reader, handled))?;
            Ok(Some((found.data(), view)))
        })?;
        let Some((data, view)) = found else { return Ok(None) };
        Ok(Some(EventView { data: value(engine, ValueAt::Record(data))?, ..view }))
    });
    Ok(Json(found.await?.ok_or(Rejection::EventNotFound { event })?))
}

/// Records of a task that are looked through for the run that it was handed over to.
const HANDED_WITHIN: usize = 100;

/// How what it became is now.
fn stands(reader: &mut dyn Reader, handled: &mut HandledView) -> Result<(), StoreError> {
    let Some(row) = handled.task.map(|task| reader.task(task)).transpose()?.flatten() else { return Ok(()) };
    let task = Task::from_row(&row.values)?;
    handled.status = Some(task.status().into());
    if task.card().trigger().is_none_or(|trigger| trigger.workflow.is_none()) {
        return Ok(());
    }
    let history = reader.history(task.card().last(), HANDED_WITHIN)?;
    let over = |entry: &Entry| if let Record::TaskHandedOver { run } = &entry.record { Some(*run) } else { None };
    handled.run = history.iter().find_map(over);
    if let Some(row) = handled.run.map(|run| reader.run(run)).transpose()?.flatten() {
        handled.run_status = Some(Run::from_row(&row.values)?.status().into());
    }
    Ok(())
}

/// Handle an event once more, by the registry in force; that it came before is no reason not to.
#[utoipa::path(post, path = "/v1/events/{event}/replay", tag = "events", params(("event" = String, Path)), request_body = Signed,
    responses((status = 200, body = EventEmitted)))]
pub async fn replay(
    State(door): State<Door>,
    Named(event): Named<EventId>,
    Body(body): Body<Signed>,
) -> Result<Json<EventEmitted>, No> {
    let by = signed_by(body.by);
    let answer = door.blocking(move |engine| engine.replay_event(event, &by)).await?;
    let answer = checked(answer.ok_or(Rejection::EventNotFound { event })?)?;
    Ok(Json(emitted(answer)?.first().map(|emitted| EventEmitted::new(emitted, false)).expect("one event was handled")))
}
