//! A read-only connection. Each answer is one short statement, or a few in a short transaction, so no reader keeps the log
//! from starting anew, and each is bounded in time, so no filter can keep a thread for ever.

use super::cold::{self, Now, limited};
use super::{bind, events, rollups, runs, statements};
use crate::blobs::BlobId;
use crate::chain::{self, Pace, Wanted};
use crate::rollups::{RollupCursor, RollupQuery, RollupReader, RollupRow};
use crate::store::{ApprovalQuery, Decoded, EventQuery, NodeQuery, Reader, RunQuery, Stamp, StoreError, Stretch, TaskQuery};
use kernel::ids::{BulkId, EventId, RecordSeq, RunId, TaskId};
use kernel::names::{EventName, QueueName, WorkflowName};
use kernel::needs::Need;
use kernel::record::{Entry, Payload};
use kernel::rollup::FailedAt;
use kernel::row::{BULKS, BadRow, EVENTS, FRAMES, NODES, REGISTRIES, RUNS, Row, TASKS, Table, Value, WORKFLOWS};
use kernel::run::NodeAt;
use kernel::time::Time;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const ANSWER_WITHIN: Duration = Duration::from_secs(5);
pub(super) const SLOW: &str = "the query was stopped because it took too long: narrow the filter, for example by queue or status";

/// How many steps of SQLite's machine lie between two looks at the clock: a fraction of a millisecond.
const STEPS_PER_LOOK: i32 = 10_000;

pub(super) const DEAD_COUNTS: &str =
    "SELECT queue, count(*) FROM tasks WHERE status = 'failed' AND node IS NULL GROUP BY queue ORDER BY queue";
/// By the names of the events that made them, too; null for what no event made.
pub(super) const DEAD_NAMES: &str =
    "SELECT queue, \"trigger\" ->> 'name', count(*) FROM tasks WHERE status = 'failed' AND node IS NULL GROUP BY 1, 2";

pub struct SqliteReader {
    db: Connection,
    clock: Arc<Clock>,
    answer_within: Duration,
    /// The server's own handle to the database, see [`super::place::open`]; let go after the connection.
    _file: Option<Arc<File>>,
}

/// When the running statement is to be stopped, for SQLite to ask from inside it.
struct Clock {
    start: Instant,
    stop_at_us: AtomicU64,
}

const NEVER: u64 = u64::MAX;

impl Clock {
    fn now_us(&self) -> u64 {
        self.start.elapsed().as_micros() as u64
    }

    fn is_late(&self) -> bool {
        let stop_at_us = self.stop_at_us.load(Ordering::Relaxed);
        stop_at_us != NEVER && self.now_us() >= stop_at_us
    }
}

impl SqliteReader {
    pub(super) fn new(mut db: Connection, file: Option<Arc<File>>) -> Result<SqliteReader, StoreError> {
        let clock = Arc::new(Clock { start: Instant::now(), stop_at_us: AtomicU64::new(NEVER) });
        let asked = clock.clone();
        db.progress_handler(STEPS_PER_LOOK, Some(move || asked.is_late()))?;
        Ok(SqliteReader { db, clock, answer_within: ANSWER_WITHIN, _file: file })
    }

    /// Every answer after this one has at most so much time.
    pub fn answer_within(&mut self, time: Duration) {
        self.answer_within = time;
    }

    fn bounded<T>(&self, read: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let stop_at_us = self.clock.now_us() + self.answer_within.as_micros() as u64;
        self.clock.stop_at_us.store(stop_at_us, Ordering::Relaxed);
        let answer = read(&self.db);
        self.clock.stop_at_us.store(NEVER, Ordering::Relaxed);
        answer
    }
}

pub(super) fn select_rows(
    db: &Connection,
    table: &'static Table,
    rest: &str,
    parameters: &[Value],
) -> Result<Vec<Row>, StoreError> {
    let mut select = db.prepare_cached(&format!("{} {rest}", statements::of(table).select))?;
    bind(&mut select, parameters)?;
    let (mut rows, mut found) = (select.raw_query(), Vec::new());
    while let Some(row) = rows.next()? {
        found.push(statements::row(table, row)?);
    }
    Ok(found)
}

/// The conditions of a query as SQL, with their parameters in order.
pub(super) fn conditions(query: &TaskQuery) -> (String, Vec<Value>) {
    let upto = query.before.map_or(i64::MAX, |before| before.number() - 1);
    let (mut sql, mut parameters) = (String::from("WHERE id <= ?"), vec![Value::Int(upto)]);
    if let Some(queue) = &query.queue {
        sql.push_str(" AND queue = ?");
        parameters.push(queue.shared().into());
    }
    if let Some(status) = query.status {
        // Written out instead of bound: only so does SQLite see that the index of dead letters fits.
        sql.push_str(&format!(" AND status = '{status}'"));
    }
    if query.dead {
        sql.push_str(&format!(" AND {}", statements::DEAD));
    }
    if let Some(kind) = &query.filter.kind {
        sql.push_str(" AND type = ?");
        parameters.push(kind.shared().into());
    }
    if let Some(code) = &query.filter.error_code {
        sql.push_str(" AND error_code = ?");
        parameters.push(code.as_str().into());
    }
    if let Some((name, value)) = &query.filter.key {
        sql.push_str(" AND EXISTS (SELECT 1 FROM json_each(keys) AS k WHERE k.value ->> 0 = ? AND k.value ->> 1 = ?)");
        parameters.extend([name.shared().into(), value.shared().into()]);
    }
    if let Some(pattern) = &query.filter.family {
        events::of_families(pattern, &mut sql, &mut parameters);
    }
    for tag in query.tag.iter().chain(&query.filter.tag) {
        sql.push_str(" AND EXISTS (SELECT 1 FROM json_each(tags) AS t WHERE t.value = ?)");
        parameters.push(tag.shared().into());
    }
    sql.push_str(" ORDER BY id DESC LIMIT ?");
    parameters.push(limited(query.limit));
    (sql, parameters)
}

impl RollupReader for SqliteReader {
    fn rollup_cursor(&mut self) -> Result<RollupCursor, StoreError> {
        self.bounded(rollups::cursor)
    }

    fn rollups(&mut self, query: &RollupQuery, each: &mut dyn FnMut(RollupRow)) -> Result<u64, StoreError> {
        self.bounded(|db| rollups::rows(db, query, each))
    }

    fn rollup_failures(&mut self, query: &RollupQuery) -> Result<Vec<FailedAt>, StoreError> {
        self.bounded(|db| rollups::failures(db, query))
    }
}

impl Reader for SqliteReader {
    fn task(&mut self, id: TaskId) -> Result<Option<Row>, StoreError> {
        self.bounded(|db| Ok(select_rows(db, &TASKS, "WHERE id = ?", &[Value::Int(id.number())])?.pop()))
    }

    fn tasks(&mut self, query: &TaskQuery) -> Result<Vec<Row>, StoreError> {
        let (sql, parameters) = conditions(query);
        self.bounded(|db| select_rows(db, &TASKS, &sql, &parameters))
    }

    fn dead_counts(&mut self) -> Result<Vec<(QueueName, u64)>, StoreError> {
        self.bounded(|db| {
            let mut select = db.prepare_cached(DEAD_COUNTS)?;
            let (mut rows, mut counts) = (select.query([])?, Vec::new());
            while let Some(row) = rows.next()? {
                let queue = QueueName::parse(&row.get::<_, String>(0)?);
                let queue = queue.map_err(|bad| BadRow { table: TASKS.name, column: "queue", why: bad.to_string() })?;
                counts.push((queue, row.get::<_, i64>(1)? as u64));
            }
            Ok(counts)
        })
    }

    fn dead_families(&mut self) -> Result<Vec<(QueueName, Arc<str>, u64)>, StoreError> {
        self.bounded(|db| {
            let mut select = db.prepare_cached(DEAD_NAMES)?;
            let (mut rows, mut counts) = (select.query([])?, BTreeMap::new());
            while let Some(row) = rows.next()? {
                let queue = QueueName::parse(&row.get::<_, String>(0)?);
                let queue = queue.map_err(|bad| BadRow { table: TASKS.name, column: "queue", why: bad.to_string() })?;
                let name = row.get::<_, Option<String>>(1)?.map(|name| EventName::parse(&name)).transpose();
                let name = name.map_err(|bad| BadRow { table: TASKS.name, column: "trigger", why: bad.to_string() })?;
                let family = name.map_or_else(|| queue.shared().clone(), |name| name.family().shared().clone());
                *counts.entry((queue, family)).or_insert(0) += row.get::<_, i64>(2)? as u64;
            }
            Ok(counts.into_iter().map(|((queue, family), count)| (queue, family, count)).collect())
        })
    }

    fn event(&mut self, id: EventId) -> Result<Option<Row>, StoreError> {
        self.bounded(|db| Ok(select_rows(db, &EVENTS, "WHERE id = ?", &[Value::Int(id.number())])?.pop()))
    }

    fn events(&mut self, query: &EventQuery) -> Result<Vec<Row>, StoreError> {
        let (sql, parameters) = events::events(query);
        self.bounded(|db| select_rows(db, &EVENTS, &sql, &parameters))
    }

    fn events_old(&mut self, before: Time, after: Option<EventId>, limit: usize) -> Result<Vec<Row>, StoreError> {
        self.bounded(|db| cold::rows(db, &[Need::EventsOld { before, after, limit }]))
    }

    fn registry(&mut self) -> Result<Option<Row>, StoreError> {
        self.bounded(|db| Ok(select_rows(db, &REGISTRIES, "LIMIT 1", &[])?.pop()))
    }

    fn bulk(&mut self, id: BulkId) -> Result<Option<Row>, StoreError> {
        self.bounded(|db| Ok(select_rows(db, &BULKS, "WHERE id = ?", &[Value::Int(id.number())])?.pop()))
    }

    fn bulks(&mut self, limit: usize) -> Result<Vec<Row>, StoreError> {
        self.bounded(|db| select_rows(db, &BULKS, "ORDER BY id DESC LIMIT ?", &[limited(limit)]))
    }

    fn workflow(&mut self, name: &WorkflowName, version: Option<u32>) -> Result<Option<Row>, StoreError> {
        let (sql, parameters) = runs::workflow(name, version);
        self.bounded(|db| Ok(select_rows(db, &WORKFLOWS, sql, &parameters)?.pop()))
    }

    fn workflows(&mut self) -> Result<Vec<Row>, StoreError> {
        self.bounded(|db| select_rows(db, &WORKFLOWS, runs::WORKFLOWS_NEWEST, &[]))
    }

    fn workflow_versions(&mut self, name: &WorkflowName) -> Result<Vec<Row>, StoreError> {
        self.bounded(|db| select_rows(db, &WORKFLOWS, "WHERE name = ? ORDER BY version DESC", &[name.shared().into()]))
    }

    fn run(&mut self, id: RunId) -> Result<Option<Row>, StoreError> {
        self.bounded(|db| Ok(select_rows(db, &RUNS, "WHERE id = ?", &[Value::Int(id.number())])?.pop()))
    }

    fn runs(&mut self, query: &RunQuery) -> Result<Vec<Row>, StoreError> {
        let (sql, parameters) = runs::runs(query);
        self.bounded(|db| select_rows(db, &RUNS, &sql, &parameters))
    }

    fn runs_ended(&mut self, before: Time, keep: usize, limit: usize) -> Result<Vec<Row>, StoreError> {
        self.bounded(|db| super::cold::rows(db, &[Need::RunsEnded { before, keep, limit }]))
    }

    fn frames(&mut self, run: RunId, limit: usize) -> Result<Vec<Row>, StoreError> {
        let parameters = [Value::Int(run.number()), limited(limit)];
        self.bounded(|db| select_rows(db, &FRAMES, "WHERE run = ? ORDER BY path LIMIT ?", &parameters))
    }

    fn nodes(&mut self, query: &NodeQuery) -> Result<Vec<Row>, StoreError> {
        let (sql, parameters) = runs::nodes(query);
        self.bounded(|db| select_rows(db, &NODES, &sql, &parameters))
    }

    fn node(&mut self, at: &NodeAt) -> Result<Option<Row>, StoreError> {
        let parameters = [Value::Int(at.run.number()), at.frame.to_string().as_str().into(), at.node.shared().into()];
        self.bounded(|db| Ok(select_rows(db, &NODES, "WHERE run = ? AND frame = ? AND node = ?", &parameters)?.pop()))
    }

    fn approvals(&mut self, query: &ApprovalQuery) -> Result<Vec<Row>, StoreError> {
        let (sql, parameters) = runs::approvals(query);
        self.bounded(|db| select_rows(db, &NODES, &sql, &parameters))
    }

    fn run_history(&mut self, run: RunId, after: RecordSeq, limit: usize, tasks: bool) -> Result<Vec<Entry>, StoreError> {
        self.bounded(|db| {
            // Rows and records of one moment, unless one is held already.
            let moment = if db.is_autocommit() { Some(db.unchecked_transaction()?) } else { None };
            let now = Now { db, is_late: &|| self.clock.is_late() };
            let entries = chain::run_history(&now, &Wanted { run, after, limit, tasks }, Pace::USUAL)?;
            moment.map(|moment| moment.finish()).transpose()?;
            Ok(entries)
        })
    }

    fn run_stamps(&mut self, run: RunId) -> Result<Vec<Stamp>, StoreError> {
        self.bounded(|db| {
            let moment = if db.is_autocommit() { Some(db.unchecked_transaction()?) } else { None };
            let stamps = chain::run_stamps(&Now { db, is_late: &|| self.clock.is_late() }, run, Pace::WHOLE)?;
            moment.map(|moment| moment.finish()).transpose()?;
            Ok(stamps)
        })
    }

    fn entries(&mut self, records: &[RecordSeq]) -> Result<Vec<Decoded>, StoreError> {
        self.bounded(|db| super::cold::entries(db, records, &|| self.clock.is_late()))
    }

    fn payloads(&mut self, records: &[RecordSeq]) -> Result<Vec<Option<Payload>>, StoreError> {
        self.bounded(|db| records.iter().map(|record| cold::payload(db, *record)).collect())
    }

    fn blobs_mentioned(&mut self, blobs: &[BlobId]) -> Result<Vec<bool>, StoreError> {
        self.bounded(|db| super::blobs::mentioned(db, blobs))
    }

    fn mentioned_by(&mut self, record: RecordSeq) -> Result<Vec<BlobId>, StoreError> {
        self.bounded(|db| super::blobs::mentioned_by(db, record))
    }

    fn mentions(&mut self, after: Option<&BlobId>, limit: usize) -> Result<Vec<(BlobId, RecordSeq)>, StoreError> {
        self.bounded(|db| super::blobs::mentions(db, after, limit))
    }

    fn valued_by(&mut self, blob: &BlobId) -> Result<Option<RecordSeq>, StoreError> {
        self.bounded(|db| super::blobs::valued_by(db, blob))
    }

    fn history(&mut self, last: RecordSeq, limit: usize) -> Result<Vec<Entry>, StoreError> {
        self.bounded(|db| chain::history(&Now { db, is_late: &|| self.clock.is_late() }, last, limit))
    }

    fn stretch(&mut self, after: RecordSeq, limit: usize, owners: &[&str]) -> Result<Stretch, StoreError> {
        self.bounded(|db| {
            let sql = format!("{} WHERE seq > ? ORDER BY seq LIMIT ?", statements::SELECT_RECORD_BARE);
            let mut select = db.prepare_cached(&sql)?;
            bind(&mut select, &[Value::Int(after.0 as i64), limited(limit)])?;
            let (mut rows, mut found) = (select.raw_query(), Stretch::default());
            while let Some(row) = rows.next()? {
                // One that is no text is found to be so by whoever reads it.
                let owner = row.get_ref_unwrap(3).as_str().unwrap_or("");
                if owner.is_empty() || owners.iter().any(|begins| owner.starts_with(begins)) {
                    found.entries.push(statements::entry(row).map_err(|(_, bad)| bad)?);
                }
                found.passed += 1;
                found.end = Some((RecordSeq(row.get::<_, i64>(0)? as u64), Time::from_us(row.get(2)?)));
            }
            Ok(found)
        })
    }

    fn last_record(&mut self) -> Result<RecordSeq, StoreError> {
        let newest: Option<i64> = self.db.query_row("SELECT max(seq) FROM records", [], |row| row.get(0))?;
        Ok(RecordSeq(newest.unwrap_or(0) as u64))
    }

    fn scan(&mut self, table: &'static Table, each: &mut dyn FnMut(Row)) -> Result<(), StoreError> {
        let sql = statements::of(table);
        let mut select = self.db.prepare(&format!("{} ORDER BY {}", sql.select, sql.key))?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            each(statements::row_unchecked(table, row));
        }
        Ok(())
    }

    fn scan_records(&mut self, each: &mut dyn FnMut(Decoded)) -> Result<(), StoreError> {
        let mut select = self.db.prepare(&format!("{} ORDER BY seq", statements::SELECT_RECORD))?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            each(statements::entry(row));
        }
        Ok(())
    }

    fn hold(&mut self) -> Result<(), StoreError> {
        // The moment is that of the first read, not of the BEGIN.
        Ok(self.db.execute_batch("BEGIN; SELECT 1 FROM shards LIMIT 1")?)
    }

    fn release(&mut self) -> Result<(), StoreError> {
        Ok(self.db.execute_batch("COMMIT")?)
    }
}
