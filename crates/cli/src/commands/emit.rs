//! `signaller emit`: something happened. One event from the command line, or many from a file.

use super::task::read_json;
use super::{Session, priority};
use crate::ndjson::{Lines, half_way, when_there_is_room};
use crate::output::{Answer, Outcome};
use crate::units::count_of;
use clap::Args;
use doors::wire::{EventEmit, EventEmitted, EventTrace, EventsEmit, EventsEmitted, Instant, Priority};
use kernel::names::{EventKey, EventName, KeyValue};
use serde::Serialize;
use std::collections::BTreeMap;

/// Send an event: the handlers of the registry that take it do the rest
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  signaller emit github/push -d '{\"ref\":\"refs/heads/main\"}'
  signaller emit order/paid --id order-7 -d @order.json --trace checkout-19
  producer | signaller emit --ndjson -")]
pub struct EmitArgs {
    /// What happened, such as github/push
    #[arg(value_name = "NAME", value_parser = EventName::parse, required_unless_present = "ndjson", conflicts_with = "ndjson")]
    name: Option<EventName>,
    /// Its data: JSON, @FILE, or - for stdin
    #[arg(short, long, value_name = "JSON")]
    data: Option<String>,
    /// Sent again with the same id, it is the same event
    #[arg(long, value_name = "ID", value_parser = EventKey::parse)]
    id: Option<EventKey>,
    /// Who or what sends it
    #[arg(long, value_name = "TEXT")]
    source: Option<String>,
    /// When it happened, such as 2026-11-15T08:57:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    ts: Option<Instant>,
    /// For the tasks it makes: critical, high, normal, background, or a head start in seconds
    #[arg(long, value_parser = priority, allow_hyphen_values = true)]
    priority: Option<Priority>,
    /// By which handlers that ask for it tell that one came before
    #[arg(long, value_name = "KEY", value_parser = KeyValue::parse)]
    dedup_key: Option<KeyValue>,
    /// What it belongs to: the id that events of one story share (trace.correlation_id)
    #[arg(long, value_name = "ID")]
    trace: Option<String>,
    /// What brought it about: the id of an event or a request (trace.causation_id)
    #[arg(long, value_name = "ID")]
    cause: Option<String>,
    /// Send many: a file (or - for stdin) with one event a line, as JSON
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "id", "source", "ts", "priority", "dedup_key", "trace", "cause"])]
    ndjson: Option<String>,
}

pub fn run(args: EmitArgs, session: &Session) -> Outcome {
    if let Some(source) = &args.ndjson {
        return many(source, session);
    }
    let Some(name) = args.name else { return Err(crate::output::Failure::usage("a NAME is missing")) };
    let event = EventEmit {
        id: args.id,
        source: args.source,
        ts: args.ts,
        data: args.data.as_deref().map(|data| read_json("-d", data)).transpose()?,
        priority: args.priority,
        dedup_key: args.dedup_key,
        trace: trace(args.trace, args.cause),
        ..EventEmit::named(name.clone())
    };
    let emitted: EventEmitted = session.client.post("/v1/events", &event)?;
    Ok(told(&name, &emitted))
}

/// As the envelope has it; nothing where nothing is said.
fn trace(correlation_id: Option<String>, causation_id: Option<String>) -> Option<EventTrace> {
    Some(EventTrace { correlation_id, causation_id }).filter(|trace| *trace != EventTrace::default())
}

/// What became of one.
pub fn told(name: &EventName, emitted: &EventEmitted) -> Answer {
    let id = emitted.event;
    let taken = emitted.handled.iter().any(|handled| handled.outcome != "shadow");
    let nobody = !taken && emitted.heard.is_empty();
    let mut text = match (emitted.duplicate, nobody) {
        (true, _) if emitted.differs => {
            format!("{id} had come before with this id, and with another name or other data: those stay, nothing happens twice.")
        }
        (true, _) => format!("{id} had come before with this id; nothing happens twice."),
        (false, true) => format!("{id} is kept: no handler took this {name}."),
        (false, false) => format!("{id}: {name}."),
    };
    for handled in &emitted.handled {
        text.push_str(&format!("\n  {}: {}, {}", handled.handler, handled.outcome, handled.why));
    }
    for run in &emitted.heard {
        text.push_str(&format!("\n  {run} had waited for it, and goes on"));
    }
    let answer = Answer::new(emitted, text).next(format!("event show {id}"), "it whole, with what became of it");
    match (emitted.handled.iter().find_map(|handled| handled.task), emitted.heard.first()) {
        (Some(task), _) => answer.next(format!("task explain {task}"), "see what its task waits for"),
        (None, Some(run)) => answer.next(format!("run show {run}"), "how far it has come"),
        (None, None) => answer.next("registry simulate -e EVENT", "why no handler takes such an event"),
    }
}

#[derive(Default, Serialize)]
struct Tally {
    emitted: u64,
    duplicates: u64,
    /// Of the duplicates, those that were others before.
    #[serde(skip_serializing_if = "doors::wire::is_zero")]
    differing: u64,
    unhandled: u64,
    /// Those that runs had waited for.
    #[serde(skip_serializing_if = "doors::wire::is_zero")]
    heard: u64,
    /// How often handlers came to each outcome.
    outcomes: BTreeMap<String, u64>,
    /// The last line of the file that was taken.
    lines: u64,
}

fn many(source: &str, session: &Session) -> Outcome {
    let mut tally = Tally::default();
    let file = Lines { source, doing: "sending", example: "{\"name\":\"github/push\",\"id\":\"delivery-7\",\"data\":{}}" };
    let (lines, sent) = file.send(session, |events| {
        let body = EventsEmit { events };
        let emitted = when_there_is_room(|| session.client.post::<EventsEmitted>("/v1/events/batch", &body))?;
        for event in emitted.events {
            if event.duplicate {
                tally.duplicates += 1;
                tally.differing += u64::from(event.differs);
                continue;
            }
            tally.emitted += 1;
            tally.unhandled += u64::from(event.handled.is_empty() && event.heard.is_empty());
            tally.heard += u64::from(!event.heard.is_empty());
            for handled in event.handled {
                *tally.outcomes.entry(handled.outcome).or_default() += 1;
            }
        }
        Ok(())
    });
    tally.lines = lines;
    sent.map_err(|failure| half_way(failure, lines, &tally))?;
    let mut became: Vec<String> = tally.outcomes.iter().map(|(outcome, many)| format!("{many} {outcome}")).collect();
    became.extend((tally.unhandled > 0).then(|| format!("{} taken by no handler", tally.unhandled)));
    became.extend((tally.heard > 0).then(|| format!("{} heard by runs", tally.heard)));
    let mut text = match tally.emitted + tally.duplicates {
        0 => "The file holds no event".to_owned(),
        _ if became.is_empty() => format!("Sent {}", count_of(tally.emitted, "event")),
        _ => format!("Sent {}: {}", count_of(tally.emitted, "event"), became.join(", ")),
    };
    if tally.duplicates > 0 {
        text.push_str(&format!("; {} more had come before", tally.duplicates));
        if tally.differing > 0 {
            text.push_str(&format!(", {} of them with other data, which stay as they were", tally.differing));
        }
    }
    Ok(Answer::new(&tally, text + ".").next("status", "see them wait and run"))
}
