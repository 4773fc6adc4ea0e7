//! Events in memory: what a database's indexes and conditions would say.

use super::{Durable, text};
use crate::chain::column;
use crate::store::{EventQuery, StoreError};
use kernel::event::{Event, Handled};
use kernel::ids::EventId;
use kernel::names::{EventKey, EventName};
use kernel::row::{EVENTS, Row, Value};
use kernel::time::Time;
use std::sync::Arc;

fn keyed(values: &[Value]) -> Option<(Arc<str>, i64)> {
    match (text(&values[column(&EVENTS, "key")]), &values[0]) {
        (Some(key), Value::Int(id)) => Some((key.clone(), *id)),
        _ => None,
    }
}

fn row(values: &[Value]) -> Row {
    Row { table: &EVENTS, values: values.to_vec() }
}

impl Durable {
    pub(super) fn index_event(&mut self, values: &[Value]) {
        self.events.extend(keyed(values));
    }

    pub(super) fn unindex_event(&mut self, values: &[Value]) {
        keyed(values).map(|keyed| self.events.remove(&keyed));
    }

    pub(super) fn event_by_key(&self, key: &EventKey) -> Option<Row> {
        let of = |id| (key.shared().clone(), id);
        let (_, id) = self.events.range(of(i64::MIN)..=of(i64::MAX)).next_back()?;
        self.found(&EVENTS, &[Value::Int(*id)])
    }

    pub(super) fn events_old(&self, before: Time, after: Option<EventId>, limit: usize) -> Vec<Row> {
        let at = column(&EVENTS, "received_at");
        let after = Value::Int(after.map_or(-1, EventId::number));
        let old = self.rows(&EVENTS).filter(|values| values[at] < Value::from(before) && values[0] > after);
        old.take(limit).map(row).collect()
    }

    pub(super) fn events_named(&self, name: &EventName, after: EventId, limit: usize) -> Vec<Row> {
        let (at, wanted) = (column(&EVENTS, "name"), Value::from(name.shared()));
        let after = Value::Int(after.number());
        self.rows(&EVENTS).filter(|values| values[at] == wanted && values[0] > after).take(limit).map(row).collect()
    }

    pub(super) fn events(&self, query: &EventQuery) -> Result<Vec<Row>, StoreError> {
        let mut found = Vec::new();
        let all: Box<dyn Iterator<Item = &[Value]>> =
            if query.oldest_first { Box::new(self.rows(&EVENTS)) } else { Box::new(self.rows(&EVENTS).rev()) };
        for values in all {
            if found.len() == query.limit {
                break;
            }
            let event = Event::from_row(values)?;
            let any = query.outcome.is_none() && query.handler.is_none();
            let became = |handled: &Handled| {
                query.outcome.as_ref().is_none_or(|outcome| **outcome == *handled.outcome.as_str())
                    && query.handler.as_ref().is_none_or(|handler| *handler == handled.handler)
            };
            let fits = query.before.is_none_or(|before| event.id() < before)
                && query.after.is_none_or(|after| event.id() > after)
                && query.pattern.as_ref().is_none_or(|pattern| pattern.matches(&event.spec().name))
                && (!query.unhandled || event.is_unhandled())
                && (any || event.handled().iter().any(became))
                && query.key.as_ref().is_none_or(|key| event.spec().key.as_ref() == Some(key))
                && query.since.is_none_or(|since| event.received_at() >= since);
            if fits {
                found.push(row(values));
            }
        }
        Ok(found)
    }
}
