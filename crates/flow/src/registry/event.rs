//! An event as expressions see it. It is put together once, of what the handlers that may take it read and of nothing else (`reads`): data
//! that nobody asks for is never parsed. Each name has the same type for every event, so that what fits one fits all: what a
//! sender did not say is an empty text.

use super::reads::Reads;
use crate::expr::{Bound, Budget, EvalError, Expr, Names, Root, Scope};
use crate::instant;
use crate::limits::{ROUTE_BUILT_BYTES_MAX, ROUTE_COST_MAX};
use crate::wide::{self, Seen};
use kernel::event::EventSpec;
use kernel::names::{KeyValue, clip};
use kernel::priority::Priority;
use kernel::time::Time;
use serde_json::{Map, Value as Json};

/// What `event` holds.
pub const EVENT_KEYS: [&str; 11] =
    ["name", "id", "family", "source", "ts", "received_at", "priority", "dedup_key", "correlation_id", "causation_id", "data"];
pub(super) const DATA: usize = EVENT_KEYS.len() - 1;

/// An event on its way in.
#[derive(Copy, Clone, Debug)]
pub struct Arrival<'a> {
    pub spec: &'a EventSpec,
    /// Of an event whose sender gave it no id.
    pub id: &'a str,
    pub received_at: Time,
    /// JSON text.
    pub data: &'a str,
}

impl<'a> Arrival<'a> {
    /// The sender's id, if it gave one.
    pub fn id(&self) -> &'a str {
        self.spec.key.as_ref().map_or(self.id, |key| key.as_str())
    }
}

/// An expression over `event`.
#[derive(Debug)]
pub struct EventExpr {
    expr: Expr,
    reads: Reads,
}

impl EventExpr {
    pub fn new(expr: Expr) -> EventExpr {
        EventExpr { reads: Reads::of(&expr), expr }
    }

    pub fn names() -> Names<'static> {
        Names::of_event(&EVENT_KEYS)
    }

    pub fn reads(&self) -> &Reads {
        &self.reads
    }

    pub fn source(&self) -> &str {
        self.expr.source()
    }

    pub fn flag(&self, event: &BoundEvent, budget: &mut Budget) -> Result<bool, String> {
        self.see(event)?;
        self.expr.eval_flag(event, budget).map_err(told)
    }

    /// The value of a key; `None` where it is null or an empty text: such an event is not counted by it.
    pub fn key(&self, event: &BoundEvent, budget: &mut Budget) -> Result<Option<KeyValue>, String> {
        self.see(event)?;
        match self.expr.eval(event, budget).map_err(told)? {
            Json::Null => Ok(None),
            Json::Bool(value) => self.value(&value.to_string()),
            Json::Number(value) => self.value(&value.to_string()),
            Json::String(text) => match wide::seen(&text) {
                Seen::Text(text) | Seen::Integer(text) => self.value(text),
            },
            Json::Array(_) | Json::Object(_) => {
                Err(format!("{}: a key is a text, a number or a boolean; this gives a list or a map", self.source()))
            }
        }
    }

    fn value(&self, text: &str) -> Result<Option<KeyValue>, String> {
        if text.is_empty() {
            return Ok(None);
        }
        KeyValue::parse(text).map(Some).map_err(|bad| format!("{}: {bad}", self.source()))
    }

    /// A level or a head start in seconds.
    pub fn priority(&self, event: &BoundEvent, budget: &mut Budget) -> Result<Priority, String> {
        self.see(event)?;
        let found = self.expr.eval(event, budget).map_err(told)?;
        let priority = match &found {
            Json::String(text) => Priority::parse(text),
            Json::Number(number) => number.as_i64().and_then(Priority::seconds),
            _ => None,
        };
        priority.ok_or_else(|| {
            let shown = clip(&found.to_string(), 100);
            format!("{}: critical, high, normal, background or a number of seconds is expected, not {shown}", self.source())
        })
    }

    /// Data that could not be read fails those who read it.
    fn see(&self, event: &BoundEvent) -> Result<(), String> {
        match &event.unreadable {
            Some(why) if self.reads.has(DATA) => Err(format!("{}: {why}", self.source())),
            _ => Ok(()),
        }
    }
}

fn told(error: EvalError) -> String {
    error.to_string()
}

/// What all expressions of one handler may cost for one event.
pub fn budget() -> Budget {
    Budget::new(ROUTE_COST_MAX, ROUTE_BUILT_BYTES_MAX)
}

/// The part of an event that somebody reads.
pub struct BoundEvent {
    event: Json,
    unreadable: Option<&'static str>,
}

impl BoundEvent {
    pub fn bind(arrival: &Arrival<'_>, reads: &Reads) -> BoundEvent {
        let mut event = Map::new();
        let mut unreadable = None;
        for (at, key) in EVENT_KEYS.into_iter().enumerate().filter(|(at, _)| reads.has(*at)) {
            let value = if at == DATA {
                reads.data(arrival.data).unwrap_or_else(|_| {
                    unreadable = Some("the event's data is not JSON");
                    Json::Null
                })
            } else {
                said(arrival, key)
            };
            event.insert(key.to_owned(), value);
        }
        BoundEvent { event: Json::Object(event), unreadable }
    }
}

/// What its sender and the clock say of it; of its data nothing.
pub(crate) fn said(arrival: &Arrival<'_>, key: &str) -> Json {
    let spec = arrival.spec;
    let text = |text: Option<&str>| Json::from(&*wide::text(text.unwrap_or_default()));
    match key {
        "name" => text(Some(spec.name.as_str())),
        "id" => text(Some(arrival.id())),
        "family" => text(Some(spec.name.family().as_str())),
        "source" => text(spec.source.as_deref()),
        "ts" => instant::show(spec.ts.unwrap_or(arrival.received_at).us()).into(),
        "received_at" => instant::show(arrival.received_at.us()).into(),
        "priority" => spec.priority.unwrap_or_default().head_start_s().into(),
        "dedup_key" => text(spec.dedup_key.as_ref().map(|key| key.as_str())),
        "correlation_id" => text(spec.correlation_id.as_deref()),
        "causation_id" => text(spec.causation_id.as_deref()),
        _ => Json::Null,
    }
}

impl Scope for BoundEvent {
    fn root(&self, root: Root) -> Option<Bound<'_>> {
        (root == Root::Event).then_some(Bound::Json(&self.event))
    }

    fn node_output(&self, _: &str) -> Option<Bound<'_>> {
        None
    }

    fn node_status(&self, _: &str) -> Option<&str> {
        None
    }

    fn node_error(&self, _: &str) -> Option<&Json> {
        None
    }
}
