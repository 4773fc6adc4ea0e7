//! `signaller event`: what came in, and what became of it.

use super::emit::told;
use super::{Session, not_id, other_id};
use crate::client::with_query;
use crate::json_text::pretty;
use crate::output::{Answer, Outcome};
use crate::plain::plain_text;
use crate::table::{cell, facts, short, table};
use crate::units::{Since, now, parse_since, show_age};
use clap::{Args, Subcommand};
use doors::wire::{EventEmitted, EventList, EventQuery, EventView, RegistryView, Signed, Status};
use kernel::ids::EventId;
use kernel::limits::EVENT_HEARD_MAX;
use kernel::names::{EventKey, HandlerName, Pattern};

/// Events: list, show and replay them; see those that nobody handles
#[derive(Args, Debug)]
pub struct EventArgs {
    #[command(subcommand)]
    command: EventCommand,
}

#[derive(Subcommand, Debug)]
enum EventCommand {
    /// List events, newest first
    #[command(
        after_help = "Examples:\n  signaller event list\n  signaller event list --name 'github/*' --since 1h\n  signaller event list --outcome rate_dropped --handler mail"
    )]
    List(ListArgs),
    /// List events that no handler took, newest first
    #[command(after_help = "Examples:\n  signaller event unhandled\n  signaller event unhandled --name 'github/*'")]
    Unhandled(ListArgs),
    /// Show one event with its data and what became of it
    #[command(after_help = "Examples:\n  signaller event show event-9m2")]
    Show {
        /// The event, by its id
        #[arg(value_name = "EVENT", value_parser = event_id)]
        event: EventId,
    },
    /// Handle an event once more, by the registry in force
    #[command(after_help = "Examples:\n  signaller event replay event-9m2")]
    Replay {
        /// The event, by its id
        #[arg(value_name = "EVENT", value_parser = event_id)]
        event: EventId,
    },
}

#[derive(Args, Debug)]
struct ListArgs {
    /// Only those with this name, or all that begin alike: 'github/*'
    #[arg(long, value_name = "PATTERN", value_parser = Pattern::parse)]
    name: Option<Pattern>,
    /// Only the one that came with this id
    #[arg(long, value_name = "ID", value_parser = EventKey::parse)]
    id: Option<EventKey>,
    /// Only those of which this became at a handler: queued, debounced, batched, duplicate, skipped, rate_dropped,
    /// backlog_dropped, failed or shadow; or unhandled
    #[arg(long)]
    outcome: Option<String>,
    /// Only those that this handler took, or would have; with --outcome, at this one
    #[arg(long, value_parser = HandlerName::parse)]
    handler: Option<HandlerName>,
    /// Only those that came from then on: a while ago such as 30m, an instant, or milliseconds since 1970
    #[arg(long, value_name = "WHEN", value_parser = parse_since, allow_hyphen_values = true)]
    since: Option<Since>,
    /// How many [default: 50, at most 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: Option<u32>,
    /// Go on where the page before ended
    #[arg(long)]
    cursor: Option<String>,
}

pub fn event_id(text: &str) -> Result<EventId, String> {
    EventId::parse(text).ok_or_else(|| match other_id(text) {
        Some(_) => not_id(text, "event", "event-9m2"),
        // Senders give events ids of their own.
        None => format!(
            "{}; if it is the id that its sender gave it, `signaller event list --id '{text}'` finds it",
            not_id(text, "event", "event-9m2")
        ),
    })
}

pub fn run(args: EventArgs, session: &Session) -> Outcome {
    match args.command {
        EventCommand::List(args) => list(args, false, session),
        EventCommand::Unhandled(args) => list(args, true, session),
        EventCommand::Show { event } => show(event, session),
        EventCommand::Replay { event } => {
            let view: EventView = session.client.get(&format!("/v1/events/{event}"))?;
            let body = Signed { by: Some(session.by.clone()) };
            let emitted: EventEmitted = session.client.post(&format!("/v1/events/{event}/replay"), &body)?;
            Ok(told(&view.name, &emitted))
        }
    }
}

fn list(args: ListArgs, unhandled: bool, session: &Session) -> Outcome {
    let ListArgs { name, id, outcome, handler, since, limit, cursor } = args;
    let since = since.map(|since| since.at());
    let query = EventQuery { name, unhandled, outcome, handler, id, since, limit, cursor };
    let list: EventList = session.client.get(&with_query("/v1/events", &query))?;
    if list.events.is_empty() {
        let became = query.outcome.is_some() || query.handler.is_some();
        let any = became || query.name.is_some() || query.id.is_some() || query.since.is_some() || query.cursor.is_some();
        let text = match (any, unhandled) {
            (true, _) => format!("No event fits.{}", doubt(session, &query)),
            (false, true) => "Every event that is kept was taken by a handler, or heard by a run.".to_owned(),
            (false, false) => "No event has come yet. Send one: signaller emit NAME -d '{…}'".to_owned(),
        };
        return Ok(Answer::new(&list, text));
    }
    let now = now();
    let rows = list.events.iter().map(|event| {
        let handled = event.handled.iter().map(|handled| format!("{} {}", handled.handler, handled.outcome));
        let heard = event.heard.iter().map(|run| format!("{run} heard"));
        let handled = handled.chain(heard).collect::<Vec<_>>().join(", ");
        vec![
            cell(event.event),
            cell(&event.name),
            cell(event.id.as_ref().map_or_else(String::new, ToString::to_string)),
            cell(show_age(event.received_at, now)),
            cell(if handled.is_empty() { "nobody".to_owned() } else { handled }),
        ]
    });
    let mut text = table(&session.screen, &["EVENT", "NAME", "ID", "CAME", "HANDLED BY"], rows);
    let answer = |text: String| Answer::new(&list, text).next("event show EVENT", "one of them whole");
    let Some(next) = &list.next else { return Ok(answer(text)) };
    text.push_str(&format!("\n\nThere is more: add --cursor {next}"));
    Ok(answer(text))
}

/// What may be a slip of the pen, where nothing was found.
fn doubt(session: &Session, query: &EventQuery) -> String {
    if let Some(handler) = &query.handler
        && let Ok(registry) = session.client.get::<RegistryView>("/v1/registry")
        && !registry.handlers.contains(handler)
    {
        let known: Vec<String> = registry.handlers.iter().map(ToString::to_string).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return format!(" The registry in force has no handler {handler}; it has: {}.", short(&known, 200));
    }
    match &query.name {
        Some(name) if !name.as_str().ends_with('*') => format!(" All that begin alike are --name '{name}/*'."),
        _ => String::new(),
    }
}

fn show(event: EventId, session: &Session) -> Outcome {
    let view: EventView = session.client.get(&format!("/v1/events/{event}"))?;
    let mut lines = vec![
        ("event", view.event.to_string()),
        ("name", view.name.to_string()),
        ("family", view.family.to_string()),
        ("came", show_age(view.received_at, now())),
    ];
    let mut say = |name, text: Option<String>| lines.extend(text.map(|text| (name, plain_text(&text).into_owned())));
    say("id", view.id.as_ref().map(ToString::to_string));
    say("source", view.source.clone());
    say("happened", view.ts.map(|ts| ts.to_string()));
    if let Some(trace) = &view.trace {
        say("trace", trace.correlation_id.clone());
        say("cause", trace.causation_id.clone());
    }
    say("dedup key", view.dedup_key.as_ref().map(ToString::to_string));
    say("replayed", (view.replays > 0).then(|| format!("{} times", view.replays)));
    say("data", view.data.as_ref().map(|data| pretty(data.get())));
    if view.heard.is_empty() && view.handled.iter().all(|handled| handled.outcome == "shadow") {
        say("handled", Some("by nobody: it is kept".into()));
    }
    for handled in &view.handled {
        let now = match (handled.status, &handled.run, handled.run_status) {
            (Some(Status::Running), Some(run), Some(status)) => format!("; held by {run}, which is {status}"),
            (Some(task), Some(run), Some(status)) => format!("; it is {task} now, and {run}, which it started, is {status}"),
            (Some(task), Some(run), None) => format!("; it is {task} now, and {run}, which it started, is gone"),
            (Some(task), None, _) => format!("; it is {task} now"),
            (None, ..) => String::new(),
        };
        say("handled", Some(format!("{}: {}, {}{now}", handled.handler, handled.outcome, handled.why)));
    }
    if !view.heard.is_empty() {
        let runs: Vec<String> = view.heard.iter().map(ToString::to_string).collect();
        let more = if runs.len() < EVENT_HEARD_MAX { "" } else { ", and perhaps more" };
        say("heard", Some(format!("by {}{more}", runs.join(", "))));
    }
    let mut answer = Answer::new(&view, facts(&session.screen, &lines));
    for task in view.handled.iter().filter_map(|handled| handled.task).take(3) {
        answer = answer.next(format!("task show {task}"), "what it made");
    }
    Ok(answer.next(format!("event replay {event}"), "handle it once more"))
}
