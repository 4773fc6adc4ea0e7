//! Rows of events, of the registry and of what was said about families.

use super::{BadRow, Columns, Kind, Row, Table, Value, flag, json, json_list};
use crate::event::{Event, EventSpec, Handled};
use crate::ids::EventId;
use crate::names::{Actor, EventKey, EventName, KeyValue, Pattern, QueueName};
use crate::priority::Priority;
use crate::registry::{Control, Registry};
use std::collections::BTreeSet;

/// `unhandled`: no handler took it, and no run heard it. `data`: the record whose payload is its data.
pub static EVENTS: Table = Table {
    name: "events",
    key: 1,
    columns: &[
        ("id", Kind::Int),
        ("last", Kind::Int),
        ("name", Kind::Text),
        ("family", Kind::Text),
        ("key", Kind::Text),
        ("received_at", Kind::Int),
        ("data", Kind::Int),
        ("unhandled", Kind::Int),
        ("handled", Kind::Text),
        ("replays", Kind::Int),
        ("source", Kind::Text),
        ("ts", Kind::Int),
        ("priority", Kind::Int),
        ("dedup_key", Kind::Text),
        ("correlation_id", Kind::Text),
        ("causation_id", Kind::Text),
        ("heard", Kind::Text),
    ],
};

pub static REGISTRIES: Table = Table {
    name: "registries",
    key: 1,
    columns: &[
        ("shard", Kind::Int),
        ("last", Kind::Int),
        ("revision", Kind::Int),
        ("put_at", Kind::Int),
        ("put_by", Kind::Text),
        ("queues", Kind::Text),
    ],
};

pub static CONTROLS: Table = Table {
    name: "controls",
    key: 1,
    columns: &[("families", Kind::Text), ("last", Kind::Int), ("pause", Kind::Text), ("boost", Kind::Int)],
};

impl Event {
    pub fn to_row(&self) -> Row {
        let EventSpec { name, key, source, ts, priority, dedup_key, correlation_id, causation_id } = &self.spec;
        let values = vec![
            Value::Int(self.id.number()),
            self.last.into(),
            name.shared().into(),
            name.family().shared().into(),
            key.as_ref().map(EventKey::shared).into(),
            self.received_at.into(),
            self.data.into(),
            flag(self.is_unhandled()),
            json_list(&self.handled),
            Some(i64::from(self.replays)).filter(|replays| *replays > 0).into(),
            source.as_deref().into(),
            (*ts).into(),
            priority.map(|priority| i64::from(priority.head_start_s())).into(),
            dedup_key.as_ref().map(KeyValue::shared).into(),
            correlation_id.as_deref().into(),
            causation_id.as_deref().into(),
            json_list(&self.heard),
        ];
        Row { table: &EVENTS, values }
    }

    pub fn from_row(values: &[Value]) -> Result<Event, BadRow> {
        let mut c = Columns::new(&EVENTS, values)?;
        let id = c.int()?;
        let id = EventId::from_number(id).ok_or_else(|| c.bad("not an event's id"))?;
        let last = c.seq()?;
        let name = c.name(EventName::parse)?;
        let family = c.text()?;
        if family != name.family().as_str() {
            return Err(c.bad("not the family of its name"));
        }
        let key = c.name_or_null(EventKey::parse)?;
        let received_at = c.time()?;
        let data = c.seq()?;
        let unhandled = c.flag()?;
        let handled: Vec<Handled> = c.json_or_null()?.unwrap_or_default();
        let replays = c.int_or_null()?.map(u32::try_from).transpose().map_err(|_| c.bad("out of range"))?.unwrap_or(0);
        let source = c.text_or_null()?.map(Into::into);
        let ts = c.time_or_null()?;
        let priority = c.int_or_null()?;
        let priority = priority.map(|s| Priority::seconds(s).ok_or_else(|| c.bad("out of range"))).transpose()?;
        let dedup_key = c.name_or_null(KeyValue::parse)?;
        let correlation_id = c.text_or_null()?.map(Into::into);
        let causation_id = c.text_or_null()?.map(Into::into);
        let spec = EventSpec { name, key, source, ts, priority, dedup_key, correlation_id, causation_id };
        let heard = c.json_or_null()?.unwrap_or_default();
        let event = Event { id, last, data, received_at, spec, handled, replays, heard };
        if event.is_unhandled() != unhandled {
            return Err(c.bad("does not fit `unhandled`"));
        }
        Ok(event)
    }
}

impl Registry {
    pub fn to_row(&self, shard: u16) -> Row {
        let queues: Vec<&QueueName> = self.queues.iter().collect();
        let values = vec![
            Value::Int(shard.into()),
            self.last.into(),
            Value::Int(self.revision.into()),
            self.put_at.into(),
            self.by.as_ref().map(Actor::shared).into(),
            json_list(&queues),
        ];
        Row { table: &REGISTRIES, values }
    }

    pub fn from_row(values: &[Value]) -> Result<Registry, BadRow> {
        let mut c = Columns::new(&REGISTRIES, values)?;
        let _shard: u16 = c.within()?;
        let last = c.seq()?;
        let revision = c.within()?;
        let put_at = c.time()?;
        let by = c.name_or_null(Actor::parse)?;
        let queues: BTreeSet<QueueName> = c.json_or_null()?.unwrap_or_default();
        Ok(Registry { last, revision, put_at, by, queues })
    }
}

impl Control {
    pub fn to_row(&self) -> Row {
        let values = vec![
            self.families.shared().into(),
            self.last.into(),
            self.pause.as_ref().map_or(Value::Null, json),
            Value::Int(self.boost.head_start_s().into()),
        ];
        Row { table: &CONTROLS, values }
    }

    pub fn from_row(values: &[Value]) -> Result<Control, BadRow> {
        let mut c = Columns::new(&CONTROLS, values)?;
        let families = c.name(Pattern::parse)?;
        let last = c.seq()?;
        let pause = c.json_or_null()?;
        let boost = c.int()?;
        let boost = Priority::seconds(boost).ok_or_else(|| c.bad("out of range"))?;
        Ok(Control { families, last, pause, boost })
    }
}
