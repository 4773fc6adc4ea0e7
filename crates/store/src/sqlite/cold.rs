//! How the writer finds the cold rows that a command needs, and a moment of a database as chains are walked in it.

use super::reader::SLOW;
use super::{bind, statements};
use crate::chain::{self, Moment};
use crate::store::{Decoded, Stamp, StoreError};
use kernel::ids::{EventId, RecordSeq, RunId, TaskId};
use kernel::needs::{Begun, Need};
use kernel::record::{Entry, Payload};
use kernel::row::{EVENTS, FRAMES, NODES, RUNS, Row, TASKS, Table, Value};
use kernel::time::Time;
use rusqlite::{Connection, OptionalExtension};
use statements::{COLD, RUN_ENDED_AT_OFFSET};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A limit as SQLite wants it.
pub(super) fn limited(limit: usize) -> Value {
    Value::Int(i64::try_from(limit).unwrap_or(i64::MAX))
}

pub(super) fn rows(db: &Connection, needs: &[Need]) -> Result<Vec<Row>, StoreError> {
    let mut found = Found { db, rows: Vec::new(), seen: BTreeSet::new() };
    for need in needs {
        match need {
            Need::Task(id) => _ = found.add(&TASKS, &COLD.task, &[Value::Int(id.number())])?,
            Need::Idempotency { queue, key, before } => {
                let parameters = [queue.shared().into(), key.shared().into(), Value::Int(before.number())];
                _ = found.add(&TASKS, &COLD.by_idempotency_key, &parameters)?;
            }
            Need::Dead { queue, after, upto, limit } => {
                let after = Value::Int(after.map_or(-1, TaskId::number));
                let parameters = [queue.shared().into(), after, Value::Int(upto.number()), limited(*limit)];
                _ = found.add(&TASKS, &COLD.dead, &parameters)?;
            }
            Need::Run(id) => _ = found.add(&RUNS, &COLD.run, &[Value::Int(id.number())])?,
            Need::RunWhole(id) => {
                found.add(&RUNS, &COLD.run, &[Value::Int(id.number())])?;
                found.parts(*id, usize::MAX)?;
            }
            Need::RunKey { workflow, key } => {
                found.add(&RUNS, &COLD.run_by_key, &[workflow.shared().into(), key.shared().into()])?;
            }
            Need::RunParts { runs, limit } => {
                let mut room = *limit;
                for run in runs {
                    room -= found.parts(*run, room)?;
                    if room == 0 {
                        break;
                    }
                }
            }
            Need::RunsEnded { before, keep, limit } => found.runs_ended(*before, *keep, *limit)?,
            Need::Event(id) => _ = found.add(&EVENTS, &COLD.event, &[Value::Int(id.number())])?,
            Need::EventKey(key) => _ = found.add(&EVENTS, &COLD.event_by_key, &[key.shared().into()])?,
            Need::EventsNamed { name, after, limit } => {
                let parameters = [name.shared().into(), Value::Int(after.number()), limited(*limit)];
                found.add(&EVENTS, &COLD.events_named, &parameters)?;
            }
            Need::EventsOld { before, after, limit } => {
                let after = Value::Int(after.map_or(-1, EventId::number));
                found.add(&EVENTS, &COLD.events_old, &[(*before).into(), after, limited(*limit)])?;
            }
        }
    }
    Ok(found.rows)
}

pub(super) fn payload(db: &Connection, record: RecordSeq) -> Result<Option<Payload>, StoreError> {
    let mut select = db.prepare_cached("SELECT payload FROM records WHERE seq = ?")?;
    let found = select.query_row([record.0 as i64], |row| row.get::<_, Option<Arc<str>>>(0)).optional()?;
    Ok(found.flatten().map(Payload))
}

pub(super) fn begun(db: &Connection, nodes: &[RecordSeq]) -> Result<Vec<Vec<Begun>>, StoreError> {
    let now = Now { db, is_late: &|| false };
    nodes.iter().map(|last| chain::begun(&now, *last)).collect()
}

struct Found<'a> {
    db: &'a Connection,
    rows: Vec<Row>,
    seen: BTreeSet<(&'static str, Vec<Value>)>,
}

impl Found<'_> {
    /// Those of the rows that are new; says how many there were in all.
    fn add(&mut self, table: &'static Table, sql: &str, parameters: &[Value]) -> Result<usize, StoreError> {
        let mut select = self.db.prepare_cached(sql)?;
        bind(&mut select, parameters)?;
        let mut rows = select.raw_query();
        let mut count = 0;
        while let Some(row) = rows.next()? {
            let row = statements::row(table, row)?;
            count += 1;
            if self.seen.insert((table.name, row.key().to_vec())) {
                self.rows.push(row);
            }
        }
        Ok(count)
    }

    /// The first frames and then nodes of a run, so many in all; says how many there were.
    fn parts(&mut self, run: RunId, limit: usize) -> Result<usize, StoreError> {
        let frames = self.add(&FRAMES, &COLD.run_frames, &[Value::Int(run.number()), limited(limit)])?;
        if frames == limit {
            return Ok(frames);
        }
        let nodes = self.add(&NODES, &COLD.run_nodes, &[Value::Int(run.number()), limited(limit - frames)])?;
        Ok(frames + nodes)
    }

    fn runs_ended(&mut self, before: Time, keep: usize, limit: usize) -> Result<(), StoreError> {
        // Whatever ended before a run that is wanted is wanted as well, so the younger of the two bounds is the one.
        let mut at_offset = self.db.prepare_cached(RUN_ENDED_AT_OFFSET)?;
        bind(&mut at_offset, &[limited(keep)])?;
        let mut rows = at_offset.raw_query();
        let beyond = rows.next()?.map(|row| Ok::<_, rusqlite::Error>((row.get(0)?, row.get(1)?))).transpose()?;
        let upto: (i64, i64) = beyond.unwrap_or((i64::MIN, i64::MIN)).max((before.us().saturating_sub(1), i64::MAX));
        self.add(&RUNS, &COLD.runs_ended, &[Value::Int(upto.0), Value::Int(upto.1), limited(limit)])?;
        Ok(())
    }
}

/// Numbers that lie so close together are read in one go, with those between them.
const DENSE: u64 = 4;

/// These records, in the order of their numbers, without their payloads.
pub(super) fn entries(db: &Connection, records: &[RecordSeq], is_late: &dyn Fn() -> bool) -> Result<Vec<Decoded>, StoreError> {
    let (Some(first), Some(last)) = (records.first(), records.last()) else { return Ok(Vec::new()) };
    let mut found = Vec::with_capacity(records.len());
    if last.0.saturating_sub(first.0) <= records.len() as u64 * DENSE {
        let sql = format!("{} WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq", statements::SELECT_RECORD_BARE);
        let mut select = db.prepare_cached(&sql)?;
        let (mut rows, mut wanted) = (select.query([first.0 as i64, last.0 as i64])?, records.iter().peekable());
        while let Some(row) = rows.next()? {
            let seq = RecordSeq(row.get::<_, i64>(0)?.max(0) as u64);
            while wanted.next_if(|wanted| **wanted < seq).is_some() {}
            if wanted.next_if(|wanted| **wanted == seq).is_some() {
                found.push(statements::entry(row));
            }
        }
        return Ok(found);
    }
    let mut select = db.prepare_cached(statements::RECORD_BARE)?;
    for seq in records {
        if is_late() {
            return Err(StoreError::Slow(SLOW.into()));
        }
        found.extend(select.query_row([seq.0 as i64], |row| Ok(statements::entry(row))).optional()?);
    }
    Ok(found)
}

/// What a connection sees now. A moment only while nothing is committed meanwhile: the writer's own, or a transaction.
pub(super) struct Now<'a> {
    pub db: &'a Connection,
    /// Many short statements are bounded in time between them.
    pub is_late: &'a dyn Fn() -> bool,
}

impl Moment for Now<'_> {
    fn record(&self, seq: RecordSeq, payload: bool) -> Result<Option<Entry>, StoreError> {
        if (self.is_late)() {
            return Err(StoreError::Slow(SLOW.into()));
        }
        let sql = if payload { statements::RECORD } else { statements::RECORD_BARE };
        let mut select = self.db.prepare_cached(sql)?;
        let entry = select.query_row([seq.0 as i64], |row| Ok(statements::entry(row))).optional()?;
        Ok(entry.transpose().map_err(|(_, bad)| bad)?)
    }

    fn lasts(&self, table: &'static Table, number: i64, limit: usize) -> Result<Vec<RecordSeq>, StoreError> {
        let (first, name) = (table.columns[0].0, table.name);
        let mut select = self.db.prepare_cached(&format!("SELECT \"last\" FROM {name} WHERE {first} = ?1 LIMIT ?2"))?;
        let mut lasts = Vec::new();
        let mut rows = select.query([number, i64::try_from(limit).unwrap_or(i64::MAX)])?;
        while let Some(row) = rows.next()? {
            // One below zero is no record's, as is 0.
            lasts.push(RecordSeq(row.get::<_, i64>(0)?.max(0) as u64));
        }
        Ok(lasts)
    }

    fn scan(&self, after: RecordSeq, each: &mut dyn FnMut(Stamp, &str) -> Result<bool, StoreError>) -> Result<(), StoreError> {
        let mut select = self.db.prepare_cached("SELECT seq, at, owner FROM records WHERE seq > ?1 ORDER BY seq")?;
        let mut rows = select.query([after.0 as i64])?;
        while let Some(row) = rows.next()? {
            // What is no text is nobody's.
            let owner = row.get_ref(2)?.as_str().unwrap_or_default();
            let at = Time::from_us(row.get_ref(1)?.as_i64().unwrap_or_default());
            if !each(Stamp { seq: RecordSeq(row.get::<_, i64>(0)? as u64), at }, owner)? {
                break;
            }
        }
        Ok(())
    }

    fn first_of(&self, run: RunId) -> Result<Option<RecordSeq>, StoreError> {
        let mut select = self.db.prepare_cached("SELECT input FROM runs WHERE id = ?1")?;
        let first: Option<i64> = select.query_row([run.number()], |row| row.get(0)).optional()?;
        Ok(first.map(|first| RecordSeq(first.max(0) as u64)))
    }

    fn run_of(&self, task: TaskId) -> Result<Option<RunId>, StoreError> {
        let mut select = self.db.prepare_cached("SELECT node ->> 'run' FROM tasks WHERE id = ?1")?;
        let run: Option<Option<String>> = select.query_row([task.number()], |row| row.get(0)).optional()?;
        Ok(run.flatten().and_then(|run| RunId::parse(&run)))
    }
}
