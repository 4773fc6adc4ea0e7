//! How the writer finds the cold rows that a command needs, and a moment of a database as chains are walked in it.

use super::reader::SLOW;
use super::{bind, statements};
use crate::chain::{self, Begun, Moment};
use crate::store::StoreError;
use kernel::ids::{RecordSeq, RunId, TaskId};
use kernel::needs::Need;
use kernel::record::Entry;
use kernel::row::{FRAMES, NODES, RUNS, Row, TASKS, Table, Value};
use kernel::time::Time;
use rusqlite::{Connection, OptionalExtension};
use statements::{COLD, RUN_ENDED_AT_OFFSET};
use std::collections::BTreeSet;

/// A limit as SQLite wants it.
pub(super) fn limited(limit: usize) -> Value {
    Value::Int(i64::try_from(limit).unwrap_or(i64::MAX))
}

pub(super) fn rows(db: &Connection, needs: &[Need]) -> Result<Vec<Row>, StoreError> {
    let mut found = Found { db, rows: Vec::new(), seen: BTreeSet::new() };
    for need in needs {
        match need {
            Need::Task(id) => found.task(*id)?,
            Need::Idempotency { queue, key, before } => {
                let parameters = [queue.shared().into(), key.shared().into(), Value::Int(before.number())];
                found.add(&TASKS, &COLD.by_idempotency_key, &parameters)?;
            }
            Need::Dead { queue, after, upto, limit } => {
                let after = Value::Int(after.map_or(-1, TaskId::number));
                let parameters = [queue.shared().into(), after, Value::Int(upto.number()), limited(*limit)];
                found.add(&TASKS, &COLD.dead, &parameters)?;
            }
            Need::Run(id) => found.add(&RUNS, &COLD.run, &[Value::Int(id.number())])?,
            Need::RunWhole(id) => {
                found.add(&RUNS, &COLD.run, &[Value::Int(id.number())])?;
                found.parts(*id, usize::MAX)?;
            }
            Need::RunKey { workflow, key } => {
                found.add(&RUNS, &COLD.run_by_key, &[workflow.shared().into(), key.shared().into()])?;
            }
            Need::RunParts { run, limit } => {
                for last in found.parts(*run, *limit)? {
                    for begun in chain::begun(&Now { db, is_late: &|| false }, last)? {
                        match begun {
                            Begun::Task(task) => found.task(task)?,
                            Begun::Run(run) => found.add(&RUNS, &COLD.run, &[Value::Int(run.number())])?,
                        }
                    }
                }
            }
            Need::RunsEnded { before, keep, limit } => found.runs_ended(*before, *keep, *limit)?,
        }
    }
    Ok(found.rows)
}

struct Found<'a> {
    db: &'a Connection,
    rows: Vec<Row>,
    seen: BTreeSet<(&'static str, Vec<Value>)>,
}

impl Found<'_> {
    /// Those of the rows that are new; gives all of them to `each`.
    fn add_each(
        &mut self,
        table: &'static Table,
        sql: &str,
        parameters: &[Value],
        mut each: impl FnMut(&Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut select = self.db.prepare_cached(sql)?;
        bind(&mut select, parameters)?;
        let mut rows = select.raw_query();
        while let Some(row) = rows.next()? {
            let row = statements::row(table, row)?;
            each(&row)?;
            if self.seen.insert((table.name, row.key().to_vec())) {
                self.rows.push(row);
            }
        }
        Ok(())
    }

    fn add(&mut self, table: &'static Table, sql: &str, parameters: &[Value]) -> Result<(), StoreError> {
        self.add_each(table, sql, parameters, |_| Ok(()))
    }

    fn task(&mut self, id: TaskId) -> Result<(), StoreError> {
        self.add(&TASKS, &COLD.task, &[Value::Int(id.number())])
    }

    /// The first frames and then nodes of a run, so many in all; gives the last records of the nodes.
    fn parts(&mut self, run: RunId, limit: usize) -> Result<Vec<RecordSeq>, StoreError> {
        let (mut frames, mut nodes) = (0, Vec::new());
        self.add_each(&FRAMES, &COLD.run_frames, &[Value::Int(run.number()), limited(limit)], |_| {
            frames += 1;
            Ok(())
        })?;
        self.add_each(&NODES, &COLD.run_nodes, &[Value::Int(run.number()), limited(limit - frames)], |row| {
            nodes.push(chain::last_of(&NODES, &row.values)?);
            Ok(())
        })?;
        Ok(nodes)
    }

    fn runs_ended(&mut self, before: Time, keep: usize, limit: usize) -> Result<(), StoreError> {
        // Whatever ended before a run that is wanted is wanted as well, so the younger of the two bounds is the one.
        let mut at_offset = self.db.prepare_cached(RUN_ENDED_AT_OFFSET)?;
        bind(&mut at_offset, &[limited(keep)])?;
        let mut rows = at_offset.raw_query();
        let beyond = rows.next()?.map(|row| Ok::<_, rusqlite::Error>((row.get(0)?, row.get(1)?))).transpose()?;
        let upto: (i64, i64) = beyond.unwrap_or((i64::MIN, i64::MIN)).max((before.us().saturating_sub(1), i64::MAX));
        self.add(&RUNS, &COLD.runs_ended, &[Value::Int(upto.0), Value::Int(upto.1), limited(limit)])
    }
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

    fn lasts(&self, table: &'static Table, number: i64) -> Result<Vec<RecordSeq>, StoreError> {
        let (first, name) = (table.columns[0].0, table.name);
        let mut select = self.db.prepare_cached(&format!("SELECT \"last\" FROM {name} WHERE {first} = ?1"))?;
        let mut lasts = Vec::new();
        let mut rows = select.query([number])?;
        while let Some(row) = rows.next()? {
            // One below zero is no record's, as is 0.
            lasts.push(RecordSeq(row.get::<_, i64>(0)?.max(0) as u64));
        }
        Ok(lasts)
    }
}
