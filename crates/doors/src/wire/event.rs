//! Events: how they come in, how they are shown, and what became of them.

use super::object::objects;
use super::task::{at_most, payload};
use super::{Instant, Priority, Problem, RunStatus, Status};
use kernel::command::Emitted;
use kernel::event::{Event, EventSpec, Handled, Outcome};
use kernel::handler::{Trigger, Window};
use kernel::ids::{EventId, RunId, TaskId};
use kernel::limits::{EMIT_EVENTS_MAX, EVENT_SOURCE_BYTES_MAX};
use kernel::names::*;
use kernel::record::Payload;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

objects!(EventEmit, EventsEmit, EventTrace);

/// Something that happened. Everything but `name` may be left out.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
#[schema(example = json!({"name": "github/push", "id": "delivery-7", "data": {"ref": "refs/heads/main"}}))]
pub struct EventEmit {
    /// Its family is the part before the last `/` or `.`.
    #[schema(value_type = String)]
    pub name: EventName,
    /// Sent again with the same id, it is the same event: the answer is the same and nothing happens twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub id: Option<EventKey>,
    /// Who or what sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// When it happened; now when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ts: Option<Instant>,
    /// Any JSON; null when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub data: Option<Box<RawValue>>,
    /// For the tasks it makes, unless their handler says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// By which handlers that ask for it tell that one came before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub dedup_key: Option<KeyValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<EventTrace>,
}

/// How events belong together, as their senders say it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default, remote = "Self")]
pub struct EventTrace {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
}

impl EventEmit {
    pub fn named(name: EventName) -> EventEmit {
        EventEmit { name, id: None, source: None, ts: None, data: None, priority: None, dedup_key: None, trace: None }
    }

    pub fn into_spec(self) -> Result<(EventSpec, Payload), Problem> {
        let trace = self.trace.unwrap_or_default();
        let short = |name: &str, text: Option<String>| match text {
            Some(text) if text.len() > EVENT_SOURCE_BYTES_MAX => {
                Err(Problem::invalid(format!("{name} is longer than {EVENT_SOURCE_BYTES_MAX} bytes")))
            }
            text => Ok(text.filter(|text| !text.is_empty()).map(String::into_boxed_str)),
        };
        for (name, text) in [("source", self.source.as_deref()), ("id", self.id.as_ref().map(|id| id.as_str()))] {
            if text.is_some_and(|text| text.starts_with("cron:")) {
                return Err(Problem::invalid(format!("{name} begins with `cron:`, as only those of the server's own crons do")));
            }
        }
        let spec = EventSpec {
            name: self.name,
            key: self.id,
            source: short("source", self.source)?,
            ts: self.ts.map(|instant| instant.0),
            priority: self.priority.map(|priority| priority.0),
            dedup_key: self.dedup_key,
            correlation_id: short("trace.correlation_id", trace.correlation_id)?,
            causation_id: short("trace.causation_id", trace.causation_id)?,
        };
        Ok((spec, payload("data", self.data)?))
    }
}

/// Several events. Each is taken for itself.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct EventsEmit {
    pub events: Vec<EventEmit>,
}

impl EventsEmit {
    pub fn into_specs(self) -> Result<Vec<(EventSpec, Payload)>, Problem> {
        if self.events.is_empty() {
            return Err(Problem::invalid("events is empty"));
        }
        at_most("events", self.events.len(), EMIT_EVENTS_MAX)?;
        let place = |(index, event): (usize, EventEmit)| {
            event.into_spec().map_err(|problem| Problem { message: format!("events[{index}]: {}", problem.message), ..problem })
        };
        self.events.into_iter().enumerate().map(place).collect()
    }
}

/// What became of an event: at each handler that takes it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct EventEmitted {
    #[schema(value_type = String)]
    pub event: EventId,
    /// It had come before: this is what became of it then.
    pub duplicate: bool,
    /// It had come before with another name or other data: those stay, and these are not kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub differs: bool,
    /// Empty, and nobody heard it: it is kept, and counted as unhandled.
    pub handled: Vec<HandledView>,
    /// Runs that waited for it and go on with it, the first ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub heard: Vec<RunId>,
}

impl EventEmitted {
    pub fn new(emitted: &Emitted, differs: bool) -> EventEmitted {
        let handled = emitted.handled.iter().map(HandledView::from).collect();
        let heard = emitted.heard.clone();
        EventEmitted { event: emitted.event, duplicate: emitted.duplicate, differs, handled, heard }
    }
}

/// In the order they were sent.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct EventsEmitted {
    pub events: Vec<EventEmitted>,
}

/// `outcome`: `queued`, `debounced`, `batched`, `duplicate`, `skipped`, `rate_dropped`, `backlog_dropped`, `failed` or `shadow`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct HandledView {
    #[schema(value_type = String)]
    pub handler: HandlerName,
    pub outcome: String,
    /// The task that stands for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub task: Option<TaskId>,
    /// How that task is now. Only where one event is shown, and the task is still there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// The run that does its work, and how that is now; likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub run: Option<RunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_status: Option<RunStatus>,
    /// A sentence.
    pub why: String,
}

impl From<&Handled> for HandledView {
    fn from(handled: &Handled) -> HandledView {
        HandledView {
            handler: handled.handler.clone(),
            outcome: handled.outcome.as_str().into(),
            task: handled.outcome.task(),
            status: None,
            run: None,
            run_status: None,
            why: match &handled.outcome {
                Outcome::Queued { task } => format!("it made {task}"),
                Outcome::Debounced { task, stale: false } => format!("it is the newest that {task} waits with"),
                Outcome::Debounced { task, stale: true } => format!("{task} waits with one that happened later"),
                Outcome::Batched { task } => format!("it joined the batch of {task}"),
                Outcome::Duplicate { task } => format!("one with the same key had made {task}"),
                Outcome::Skipped { task } => format!("{task} is under way, and there may be one only"),
                Outcome::RateDropped { key } => format!("too many came of late for key {key}"),
                Outcome::BacklogDropped { max } => format!("{max} wait in its queue, as many as may"),
                Outcome::Failed { message } => message.to_string(),
                Outcome::Shadow { failed: None } => format!("it would have gone to {} (shadow)", handled.handler),
                Outcome::Shadow { failed: Some(why) } => {
                    format!("it would have gone to {} (shadow), and failed there: {why}", handled.handler)
                }
            },
        }
    }
}

/// What a task was made of.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct TriggerView {
    /// The newest, where there are several.
    #[schema(value_type = String)]
    pub event: EventId,
    #[schema(value_type = String)]
    pub name: EventName,
    #[schema(value_type = String)]
    pub handler: HandlerName,
    /// A run of it does the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub workflow: Option<WorkflowName>,
    /// `debounce` or `batch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<String>,
    /// How many events came together in it.
    pub events: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub critical: bool,
}

impl From<&Trigger> for TriggerView {
    fn from(trigger: &Trigger) -> TriggerView {
        TriggerView {
            event: trigger.event,
            name: trigger.name.clone(),
            handler: trigger.handler.clone(),
            workflow: trigger.workflow.clone(),
            window: trigger.window.as_ref().map(|window| match window {
                Window::Debounce { .. } => "debounce".into(),
                Window::Batch { .. } => "batch".into(),
            }),
            events: trigger.window.as_ref().map_or(1, Window::events),
            critical: trigger.critical,
        }
    }
}

/// An event as it came. In lists `data` is left out.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct EventView {
    #[schema(value_type = String)]
    pub event: EventId,
    #[schema(value_type = String)]
    pub name: EventName,
    #[schema(value_type = String)]
    pub family: Family,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub id: Option<EventKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    pub received_at: Instant,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ts: Option<Instant>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub dedup_key: Option<KeyValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<EventTrace>,
    /// Empty, and nobody heard it: nobody took it.
    pub handled: Vec<HandledView>,
    /// Runs that waited for it and went on with it, the first ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub heard: Vec<RunId>,
    /// How often it was handled again.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub replays: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub data: Option<Box<RawValue>>,
}

impl From<&Event> for EventView {
    /// Without its data: that is read apart.
    fn from(event: &Event) -> EventView {
        let spec = event.spec();
        let text = |text: &Option<Box<str>>| text.as_deref().map(str::to_owned);
        let trace = EventTrace { correlation_id: text(&spec.correlation_id), causation_id: text(&spec.causation_id) };
        EventView {
            event: event.id(),
            name: spec.name.clone(),
            family: spec.name.family(),
            id: spec.key.clone(),
            source: text(&spec.source),
            received_at: event.received_at().into(),
            ts: spec.ts.map(Instant),
            priority: spec.priority.map(Priority),
            dedup_key: spec.dedup_key.clone(),
            trace: Some(trace).filter(|trace| *trace != EventTrace::default()),
            handled: event.handled().iter().map(HandledView::from).collect(),
            heard: event.heard().to_vec(),
            replays: event.replays(),
            data: None,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct EventList {
    pub events: Vec<EventView>,
    /// The cursor of the next page, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Which events to list, newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct EventQuery {
    /// A name, or all that begin alike: `github/*`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub name: Option<Pattern>,
    /// Those alone that nobody took.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unhandled: bool,
    /// Those alone of which this became at a handler: `queued`, `debounced`, `batched`, `duplicate`, `skipped`, `rate_dropped`,
    /// `backlog_dropped`, `failed` or `shadow`; or `unhandled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Those alone that this handler took, or would have; with `outcome`, at this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub handler: Option<HandlerName>,
    /// The one that came with this id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub id: Option<EventKey>,
    /// Those that came at this instant or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Instant>,
    /// From 1 to 1000; 50 when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}
