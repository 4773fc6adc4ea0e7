//! Rows: the state as plain columns, the same for every store. A row is written from an entity and read back with
//! every check; what does not pass names its column. Payloads are not here: they ride with the records.

mod events;
mod runs;

pub use events::{CONTROLS, EVENTS, REGISTRIES};
pub use runs::{FRAMES, FrameRow, NODES, NodeRow, RUNS, WORKFLOWS};

use crate::bulk::{Bulk, BulkStatus, BulkWork};
use crate::handler::Trigger;
use crate::hold::Hold;
use crate::ids::{BulkId, EventId, Fence, RecordSeq, RunId, TaskId};
use crate::lease::{Ending, Lease};
use crate::names::*;
use crate::priority::Priority;
use crate::queue::Queue;
use crate::record::{CancelCause, Failure, KeyRef, Owner};
use crate::route::Route;
use crate::run::NodeAt;
use crate::shard::Shard;
use crate::task::{Card, More, Phase, Settled, Status, Task};
use crate::time::Time;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::sync::{Arc, LazyLock};
use thiserror::Error;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Value {
    Null,
    Int(i64),
    Text(Arc<str>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Int(int) => write!(f, "{int}"),
            Value::Text(text) => write!(f, "{text:?}"),
        }
    }
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    Int,
    Text,
}

/// A table's shape. The first `key` columns are its primary key.
#[derive(Debug, PartialEq, Eq)]
pub struct Table {
    pub name: &'static str,
    pub key: usize,
    pub columns: &'static [(&'static str, Kind)],
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    pub table: &'static Table,
    pub values: Vec<Value>,
}

impl Row {
    pub fn key(&self) -> &[Value] {
        &self.values[..self.table.key]
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{table}.{column}: {why}")]
pub struct BadRow {
    pub table: &'static str,
    pub column: &'static str,
    pub why: String,
}

pub static TASKS: Table = Table {
    name: "tasks",
    key: 1,
    columns: &[
        ("id", Kind::Int),
        ("last", Kind::Int),
        ("queue", Kind::Text),
        ("type", Kind::Text),
        ("status", Kind::Text),
        ("priority", Kind::Int),
        ("attempt", Kind::Int),
        ("created_at", Kind::Int),
        ("input", Kind::Int),
        ("since", Kind::Int),
        ("ready_at", Kind::Int),
        ("run_now", Kind::Int),
        ("expedited", Kind::Int),
        ("worker", Kind::Text),
        ("fence", Kind::Int),
        ("heartbeat_ms", Kind::Int),
        ("budget_until", Kind::Int),
        ("cause", Kind::Text),
        ("cause_by", Kind::Text),
        ("cause_reason", Kind::Text),
        ("settled_fence", Kind::Int),
        ("settled_digest", Kind::Int),
        ("keys", Kind::Text),
        ("tags", Kind::Text),
        ("blocked_by", Kind::Text),
        ("scheduled_for", Kind::Int),
        ("idempotency_key", Kind::Text),
        ("retry", Kind::Text),
        ("budget_ms", Kind::Int),
        ("error_code", Kind::Text),
        ("error_message", Kind::Text),
        ("node", Kind::Text),
        ("generation", Kind::Int),
        ("held", Kind::Int),
        ("pause", Kind::Int),
        ("start_by", Kind::Int),
        ("trigger", Kind::Text),
        ("run", Kind::Int),
    ],
};

pub static QUEUES: Table = Table {
    name: "queues",
    key: 1,
    columns: &[("name", Kind::Text), ("last", Kind::Int), ("config", Kind::Text), ("pause", Kind::Text), ("boosts", Kind::Text)],
};

/// Rate of the queue as a whole: `name` and `value` are empty.
pub static KEYS: Table = Table {
    name: "keys",
    key: 3,
    columns: &[("queue", Kind::Text), ("name", Kind::Text), ("value", Kind::Text), ("last", Kind::Int), ("arrival", Kind::Int)],
};

pub static BULKS: Table = Table {
    name: "bulks",
    key: 1,
    columns: &[
        ("id", Kind::Int),
        ("last", Kind::Int),
        ("status", Kind::Text),
        ("work", Kind::Text),
        ("started_by", Kind::Text),
        ("reason", Kind::Text),
        ("started_at", Kind::Int),
        ("finished_at", Kind::Int),
        ("after", Kind::Int),
        ("items", Kind::Int),
        ("skipped", Kind::Int),
        ("resume_at", Kind::Int),
        ("refused", Kind::Text),
    ],
};

pub static SHARDS: Table = Table {
    name: "shards",
    key: 1,
    columns: &[
        ("id", Kind::Int),
        ("last", Kind::Int),
        ("ids", Kind::Int),
        ("records", Kind::Int),
        ("at", Kind::Int),
        ("behind", Kind::Int),
    ],
};

/// In the order in which they are loaded.
pub static TABLES: [&Table; 12] =
    [&SHARDS, &QUEUES, &KEYS, &BULKS, &TASKS, &WORKFLOWS, &RUNS, &FRAMES, &NODES, &REGISTRIES, &CONTROLS, &EVENTS];

impl Owner {
    /// Where its row stands: the table and its key there.
    pub fn place(&self, shard: u16) -> (&'static Table, Vec<Value>) {
        let number = Value::Int;
        match self {
            Owner::Shard => (&SHARDS, vec![number(shard.into())]),
            Owner::Task(id) => (&TASKS, vec![number(id.number())]),
            Owner::Queue(name) => (&QUEUES, vec![name.shared().into()]),
            Owner::Key(of) => {
                let (name, value) = key_columns(of);
                (&KEYS, vec![of.queue.shared().into(), name, value])
            }
            Owner::Bulk(id) => (&BULKS, vec![number(id.number())]),
            Owner::Event(id) => (&EVENTS, vec![number(id.number())]),
            Owner::Registry => (&REGISTRIES, vec![number(shard.into())]),
            Owner::Families(families) => (&CONTROLS, vec![families.shared().into()]),
            Owner::Workflow(name, version) => (&WORKFLOWS, vec![name.shared().into(), number((*version).into())]),
            Owner::Run(id) => (&RUNS, vec![number(id.number())]),
            Owner::Frame(run, path) => (&FRAMES, vec![number(run.number()), path.to_string().as_str().into()]),
            Owner::Node(NodeAt { run, frame, node }) => {
                (&NODES, vec![number(run.number()), frame.to_string().as_str().into(), node.shared().into()])
            }
        }
    }
}

impl From<Time> for Value {
    fn from(time: Time) -> Value {
        Value::Int(time.us())
    }
}

impl From<i64> for Value {
    fn from(int: i64) -> Value {
        Value::Int(int)
    }
}

impl From<RecordSeq> for Value {
    fn from(seq: RecordSeq) -> Value {
        Value::Int(seq.0 as i64)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

impl From<&Arc<str>> for Value {
    fn from(text: &Arc<str>) -> Value {
        Value::Text(text.clone())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

fn json<T: Serialize>(value: &T) -> Value {
    Value::from(serde_json::to_string(value).expect("kernel types have a JSON form").as_str())
}

fn json_list<T: Serialize>(list: &[T]) -> Value {
    if list.is_empty() { Value::Null } else { json(&list) }
}

/// Reads a row column by column, in order; the first misfit ends it.
struct Columns<'a> {
    table: &'static Table,
    values: &'a [Value],
    at: usize,
}

impl<'a> Columns<'a> {
    fn new(table: &'static Table, values: &'a [Value]) -> Result<Columns<'a>, BadRow> {
        if values.len() != table.columns.len() {
            let why = format!("{} columns instead of {}", values.len(), table.columns.len());
            return Err(BadRow { table: table.name, column: "*", why });
        }
        Ok(Columns { table, values, at: 0 })
    }

    fn next(&mut self) -> &'a Value {
        self.at += 1;
        &self.values[self.at - 1]
    }

    /// About the column just read.
    fn bad(&self, why: impl Into<String>) -> BadRow {
        BadRow { table: self.table.name, column: self.table.columns[self.at - 1].0, why: why.into() }
    }

    fn bad_at(&self, column: &'static str, why: impl Into<String>) -> BadRow {
        BadRow { table: self.table.name, column, why: why.into() }
    }

    fn int_or_null(&mut self) -> Result<Option<i64>, BadRow> {
        match self.next() {
            Value::Null => Ok(None),
            Value::Int(int) => Ok(Some(*int)),
            Value::Text(_) => Err(self.bad("text where a number belongs")),
        }
    }

    fn int(&mut self) -> Result<i64, BadRow> {
        self.int_or_null()?.ok_or_else(|| self.bad("null where a number belongs"))
    }

    fn within<T: TryFrom<i64>>(&mut self) -> Result<T, BadRow> {
        let int = self.int()?;
        T::try_from(int).map_err(|_| self.bad(format!("{int} is out of range")))
    }

    fn seq(&mut self) -> Result<RecordSeq, BadRow> {
        self.within().map(RecordSeq)
    }

    fn time(&mut self) -> Result<Time, BadRow> {
        self.int().map(Time::from_us)
    }

    fn time_or_null(&mut self) -> Result<Option<Time>, BadRow> {
        Ok(self.int_or_null()?.map(Time::from_us))
    }

    fn flag(&mut self) -> Result<bool, BadRow> {
        match self.int_or_null()? {
            None => Ok(false),
            Some(1) => Ok(true),
            Some(other) => Err(self.bad(format!("{other} is neither null nor 1"))),
        }
    }

    fn hold(&mut self) -> Result<Hold, BadRow> {
        let held = self.flag()?;
        let pause = self.int_or_null()?.map(u32::try_from).transpose().map_err(|_| self.bad("out of range"))?.unwrap_or(0);
        if held && pause == 0 { Err(self.bad("missing on one that is held")) } else { Ok(Hold { pause, held }) }
    }

    fn text_or_null(&mut self) -> Result<Option<&'a str>, BadRow> {
        match self.next() {
            Value::Null => Ok(None),
            Value::Text(text) => Ok(Some(text)),
            Value::Int(_) => Err(self.bad("a number where text belongs")),
        }
    }

    fn text(&mut self) -> Result<&'a str, BadRow> {
        self.text_or_null()?.ok_or_else(|| self.bad("null where text belongs"))
    }

    fn name<T>(&mut self, parse: impl Fn(&str) -> Result<T, BadName>) -> Result<T, BadRow> {
        let text = self.text()?;
        parse(text).map_err(|bad| self.bad(bad.to_string()))
    }

    fn name_or_null<T>(&mut self, parse: impl Fn(&str) -> Result<T, BadName>) -> Result<Option<T>, BadRow> {
        let text = self.text_or_null()?;
        text.map(parse).transpose().map_err(|bad| self.bad(bad.to_string()))
    }

    fn json_or_null<T: DeserializeOwned>(&mut self) -> Result<Option<T>, BadRow> {
        let text = self.text_or_null()?;
        text.map(serde_json::from_str).transpose().map_err(|error| self.bad(error.to_string()))
    }

    fn json<T: DeserializeOwned>(&mut self) -> Result<T, BadRow> {
        self.json_or_null()?.ok_or_else(|| self.bad("null where JSON belongs"))
    }
}

/// Every row has one of these: shared, not allocated.
static STATUS_TEXTS: LazyLock<[Arc<str>; 6]> = LazyLock::new(|| Status::ALL.map(|status| status.as_str().into()));

fn flag(value: bool) -> Value {
    if value { Value::Int(1) } else { Value::Null }
}

impl Task {
    pub fn to_row(&self) -> Row {
        let card = self.card();
        let mut values = Vec::with_capacity(TASKS.columns.len());
        values.extend([
            Value::Int(card.id.number()),
            card.last.into(),
            card.route.queue().shared().into(),
            card.route.kind().shared().into(),
            Value::Text(STATUS_TEXTS[self.status() as usize].clone()),
            Value::Int(card.priority.head_start_s().into()),
            Value::Int(card.attempt.into()),
            card.created_at.into(),
            card.input.into(),
        ]);
        match self {
            Task::Idle(_) => values.extend(std::iter::repeat_n(Value::Null, 11)),
            Task::Queued(queued) => {
                values.extend([
                    queued.since().into(),
                    queued.ready_at().into(),
                    flag(queued.is_run_now()),
                    flag(queued.is_expedited()),
                ]);
                values.extend(std::iter::repeat_n(Value::Null, 7));
            }
            Task::Running(running) => {
                let lease = running.lease();
                values.extend([
                    lease.since.into(),
                    lease.ready_at.into(),
                    flag(lease.run_now),
                    flag(lease.expedited),
                    lease.worker.shared().into(),
                    lease.fence.0.into(),
                    Value::Int(lease.heartbeat_ms.into()),
                    lease.budget_until.into(),
                ]);
                values.extend(match &lease.ending {
                    None => [Value::Null, Value::Null, Value::Null],
                    Some(Ending::TimedOut) => ["timed_out".into(), Value::Null, Value::Null],
                    Some(Ending::Cancel { by, reason }) => ["cancel".into(), by.shared().into(), reason.as_str().into()],
                });
            }
            Task::Done(_) | Task::Failed(_) => {
                values.push(self.finished_at().into());
                values.extend(std::iter::repeat_n(Value::Null, 10));
            }
            Task::Cancelled(cancelled) => {
                values.push(self.finished_at().into());
                values.extend(std::iter::repeat_n(Value::Null, 7));
                let (cause, by, reason) = &*cancelled.why;
                values.extend([cause.as_str().into(), by.shared().into(), reason.as_str().into()]);
            }
        }
        if card.settled == Settled::default() {
            values.extend([Value::Null, Value::Null]);
        } else {
            values.extend([card.settled.fence.into(), Value::Int(card.settled.digest as i64)]);
        }
        values.push(json_list(card.route.keys()));
        match &card.more {
            None => values.extend(std::iter::repeat_n(Value::Null, 14)),
            Some(more) => values.extend([
                json_list(&more.tags),
                json_list(&more.blocked_by),
                more.scheduled_for.into(),
                more.idempotency_key.as_ref().map(IdempotencyKey::shared).into(),
                more.retry.map_or(Value::Null, |retry| json(&retry)),
                more.budget_ms.map(|ms| ms as i64).into(),
                more.failure.as_ref().map(|failure| failure.code.as_str()).into(),
                more.failure.as_ref().map(|failure| failure.message.as_str()).into(),
                more.node.as_ref().map_or(Value::Null, json),
                Some(i64::from(more.generation)).filter(|generation| *generation > 0).into(),
                flag(more.hold.held),
                Some(i64::from(more.hold.pause)).filter(|pause| *pause > 0).into(),
                more.start_by.into(),
                more.trigger.as_ref().map_or(Value::Null, json),
            ]),
        }
        values.push(self.lease().and_then(Lease::run).map(RunId::number).into());
        Row { table: &TASKS, values }
    }

    pub fn from_row(values: &[Value]) -> Result<Task, BadRow> {
        let mut c = Columns::new(&TASKS, values)?;
        let id = c.int()?;
        let id = TaskId::from_number(id).ok_or_else(|| c.bad("not a task's id"))?;
        let last = c.seq()?;
        let queue = c.name(QueueName::parse)?;
        let kind = c.name(TypeName::parse)?;
        let status = c.text()?;
        let status = Status::parse(status).ok_or_else(|| c.bad(format!("`{status}` is not a status")))?;
        let priority = c.int()?;
        let priority = Priority::seconds(priority).ok_or_else(|| c.bad("out of range"))?;
        let attempt = c.within()?;
        let created_at = c.time()?;
        let input = c.seq()?;
        let since = c.time_or_null()?;
        let ready_at = c.time_or_null()?;
        let run_now = c.flag()?;
        let expedited = c.flag()?;
        let worker = c.name_or_null(WorkerName::parse)?;
        let fence = c.int_or_null()?;
        let heartbeat_ms = c.int_or_null()?;
        let budget_until = c.time_or_null()?;
        let cause = c.text_or_null()?;
        let cause_by = c.name_or_null(Actor::parse)?;
        let cause_reason = c.text_or_null()?;
        let settled = match (c.int_or_null()?, c.int_or_null()?) {
            (None, None) => Settled::default(),
            (Some(fence), Some(digest)) if fence > 0 => Settled { fence: RecordSeq(fence as u64), digest: digest as u64 },
            _ => return Err(c.bad("needs its fence, and the fence needs it")),
        };
        let keys: Vec<(KeyName, KeyValue)> = c.json_or_null()?.unwrap_or_default();
        if !keys.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(c.bad("not sorted by name"));
        }
        let tags: Vec<Tag> = c.json_or_null()?.unwrap_or_default();
        let blocked_by = c.json_or_null()?.unwrap_or_default();
        let scheduled_for = c.time_or_null()?;
        let idempotency_key = c.name_or_null(IdempotencyKey::parse)?;
        let retry = c.json_or_null()?;
        let budget_ms = c.int_or_null()?;
        let budget_ms = budget_ms.map(u64::try_from).transpose().map_err(|_| c.bad("negative"))?;
        let failure = match (c.text_or_null()?, c.text_or_null()?) {
            (None, None) => None,
            (Some(code), Some(message)) => Some(Failure { code: code.into(), message: message.into() }),
            _ => return Err(c.bad("needs its code, and the code needs it")),
        };
        let node = c.json_or_null()?;
        let generation = c.int_or_null()?.map(u32::try_from).transpose().map_err(|_| c.bad("out of range"))?.unwrap_or(0);
        let hold = c.hold()?;
        let start_by = c.time_or_null()?;
        let trigger: Option<Box<Trigger>> = c.json_or_null()?;
        let run = c.int_or_null()?;
        let run = run.map(|run| RunId::from_number(run).ok_or_else(|| c.bad("not a run's id"))).transpose()?;

        let null = |column: &'static str, is_null: bool| {
            if is_null { Ok(()) } else { Err(c.bad_at(column, format!("set on a task that is {status}"))) }
        };
        let need = |column: &'static str| c.bad_at(column, format!("missing on a task that is {status}"));
        if status != Status::Running {
            null("worker", worker.is_none())?;
            null("fence", fence.is_none())?;
            null("heartbeat_ms", heartbeat_ms.is_none())?;
            null("budget_until", budget_until.is_none())?;
            null("run", run.is_none())?;
        }
        if !matches!(status, Status::Queued | Status::Running) {
            null("ready_at", ready_at.is_none())?;
            null("run_now", !run_now)?;
            null("expedited", !expedited)?;
        }
        if !matches!(status, Status::Queued | Status::Running) {
            null("held", !hold.held)?;
            null("pause", hold.pause == 0)?;
        }
        if !matches!(status, Status::Running | Status::Cancelled) {
            null("cause", cause.is_none())?;
            null("cause_by", cause_by.is_none())?;
            null("cause_reason", cause_reason.is_none())?;
        }
        let since_or = || since.ok_or_else(|| need("since"));
        let phase = match status {
            Status::Idle => {
                null("since", since.is_none())?;
                Phase::Idle
            }
            Status::Queued => {
                Phase::Queued { since: since_or()?, ready_at: ready_at.ok_or_else(|| need("ready_at"))?, run_now, expedited }
            }
            Status::Running => {
                let ending = match (cause, cause_by, cause_reason) {
                    (None, None, None) => None,
                    (Some("timed_out"), None, None) => Some(Ending::TimedOut),
                    (Some("cancel"), Some(by), Some(reason)) => Some(Ending::Cancel { by, reason: reason.into() }),
                    _ => return Err(c.bad_at("cause", "not an ending")),
                };
                Phase::Running(Box::new(Lease {
                    fence: Fence(RecordSeq(fence.and_then(|f| u64::try_from(f).ok()).ok_or_else(|| need("fence"))?)),
                    worker: worker.ok_or_else(|| need("worker"))?,
                    since: since_or()?,
                    heartbeat_ms: heartbeat_ms.and_then(|ms| u32::try_from(ms).ok()).ok_or_else(|| need("heartbeat_ms"))?,
                    budget_until: budget_until.ok_or_else(|| need("budget_until"))?,
                    run_now,
                    ready_at: ready_at.ok_or_else(|| need("ready_at"))?,
                    expedited,
                    ending,
                    run,
                }))
            }
            Status::Done => Phase::Done { at: since_or()? },
            Status::Failed => Phase::Failed { at: since_or()? },
            Status::Cancelled => {
                let cause = match cause {
                    Some("asked") => CancelCause::Asked,
                    Some("cleared") => CancelCause::Cleared,
                    Some("expired") => CancelCause::Expired,
                    Some("shed") => CancelCause::Shed,
                    Some("replaced") => CancelCause::Replaced,
                    _ => return Err(c.bad_at("cause", "not a cause")),
                };
                let by = cause_by.ok_or_else(|| need("cause_by"))?;
                let reason = cause_reason.ok_or_else(|| need("cause_reason"))?;
                Phase::Cancelled { at: since_or()?, why: Box::new((cause, by, reason.into())) }
            }
        };
        let tags = tags.into();
        let family = trigger.as_ref().map(|trigger| trigger.name.family());
        let critical = trigger.as_ref().is_some_and(|trigger| trigger.critical);
        let more = More {
            tags,
            blocked_by,
            scheduled_for,
            idempotency_key,
            retry,
            budget_ms,
            failure,
            node,
            generation,
            hold,
            start_by,
            trigger,
        };
        let card = Card {
            id,
            last,
            route: Arc::new(Route::of(queue, kind, keys, family, critical)),
            created_at,
            input,
            settled,
            priority,
            attempt,
            more: Card::boxed(more),
        };
        Ok(Task::from_parts(card, phase))
    }
}

impl Queue {
    pub fn to_row(&self) -> Row {
        let boosts: Vec<_> = self.boosts().iter().collect();
        let values = vec![
            self.name().shared().into(),
            self.last().into(),
            json(&**self.config()),
            self.pause().map_or(Value::Null, json),
            json_list(&boosts),
        ];
        Row { table: &QUEUES, values }
    }

    pub fn from_row(values: &[Value]) -> Result<Queue, BadRow> {
        let mut c = Columns::new(&QUEUES, values)?;
        let name = c.name(QueueName::parse)?;
        let last = c.seq()?;
        let config: crate::queue::QueueConfig = c.json()?;
        config.check().map_err(|why| c.bad(why))?;
        let pause = c.json_or_null()?;
        let boosts: Vec<(crate::queue::BoostOn, Priority)> = c.json_or_null()?.unwrap_or_default();
        Ok(Queue::from_parts(name, last, config, pause, boosts.into_iter().collect()))
    }
}

/// Name and value, empty for the queue as a whole.
fn key_columns(of: &KeyRef) -> (Value, Value) {
    match &of.key {
        None => (Value::from(""), Value::from("")),
        Some((name, value)) => (name.shared().into(), value.shared().into()),
    }
}

/// The rate's memory of one key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Permits {
    pub key: KeyRef,
    pub last: RecordSeq,
    pub arrival: Time,
}

impl Permits {
    pub fn to_row(&self) -> Row {
        let (name, value) = key_columns(&self.key);
        Row { table: &KEYS, values: vec![self.key.queue.shared().into(), name, value, self.last.into(), self.arrival.into()] }
    }

    pub fn from_row(values: &[Value]) -> Result<Permits, BadRow> {
        let mut c = Columns::new(&KEYS, values)?;
        let queue = c.name(QueueName::parse)?;
        let name = c.text()?;
        let value = c.text()?;
        let key = if name.is_empty() && value.is_empty() {
            None
        } else {
            let name = KeyName::parse(name).map_err(|bad| c.bad(bad.to_string()))?;
            Some((name, KeyValue::parse(value).map_err(|bad| c.bad(bad.to_string()))?))
        };
        Ok(Permits { key: KeyRef::new(queue, key), last: c.seq()?, arrival: c.time()? })
    }
}

impl Bulk {
    pub fn to_row(&self) -> Row {
        let values = vec![
            Value::Int(self.id.number()),
            self.last.into(),
            self.status.as_str().into(),
            json(&self.work),
            self.by.shared().into(),
            self.reason.as_str().into(),
            self.started_at.into(),
            self.finished_at.into(),
            self.after.map(TaskId::number).or(self.after_run.map(RunId::number)).into(),
            Value::Int(self.items as i64),
            Value::Int(self.skipped as i64),
            self.resume_at.into(),
            json_list(&self.refused),
        ];
        Row { table: &BULKS, values }
    }

    pub fn from_row(values: &[Value]) -> Result<Bulk, BadRow> {
        let mut c = Columns::new(&BULKS, values)?;
        let id = c.int()?;
        let id = BulkId::from_number(id).ok_or_else(|| c.bad("not a bulk's id"))?;
        let last = c.seq()?;
        let status = c.text()?;
        let status = BulkStatus::parse(status).ok_or_else(|| c.bad(format!("`{status}` is not a status")))?;
        let work: BulkWork = c.json()?;
        let by = c.name(Actor::parse)?;
        let reason = c.text()?.to_owned();
        let started_at = c.time()?;
        let finished_at = c.time_or_null()?;
        let after = c.int_or_null()?;
        let (after, after_run) = match work.is_over_runs() {
            false => (after.map(|n| TaskId::from_number(n).ok_or_else(|| c.bad("not a task's id"))).transpose()?, None),
            true => (None, after.map(|n| RunId::from_number(n).ok_or_else(|| c.bad("not a run's id"))).transpose()?),
        };
        let items = c.within()?;
        let skipped = c.within()?;
        let resume_at = c.time_or_null()?;
        let refused = c.json_or_null()?.unwrap_or_default();
        if (status == BulkStatus::Open) != finished_at.is_none() {
            return Err(c.bad_at("finished_at", format!("does not fit a bulk that is {}", status.as_str())));
        }
        Ok(Bulk {
            id,
            last,
            status,
            work,
            by,
            reason,
            started_at,
            finished_at,
            after,
            after_run,
            items,
            skipped,
            resume_at,
            refused,
        })
    }
}

impl Shard {
    pub fn to_row(&self) -> Row {
        let values = vec![
            Value::Int(self.id.into()),
            self.last.into(),
            Value::Int(self.ids_reserved as i64),
            Value::Int(self.records_reserved as i64),
            self.at.into(),
            self.behind.map(EventId::number).into(),
        ];
        Row { table: &SHARDS, values }
    }

    pub fn from_row(values: &[Value]) -> Result<Shard, BadRow> {
        let mut c = Columns::new(&SHARDS, values)?;
        let id = c.within()?;
        let last = c.seq()?;
        let ids_reserved: u64 = c.within()?;
        let records_reserved: u64 = c.within()?;
        let at = c.time()?;
        let behind = c.int_or_null()?;
        let behind = behind.map(|event| EventId::from_number(event).ok_or_else(|| c.bad("not an event's id"))).transpose()?;
        if last.0 >= records_reserved {
            return Err(c.bad_at("records", "lies before its own record"));
        }
        Ok(Shard { behind, ..Shard::resumed(id, last, ids_reserved, records_reserved, at) })
    }
}

#[cfg(test)]
mod tests;
