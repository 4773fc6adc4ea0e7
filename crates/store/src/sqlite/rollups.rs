//! Roll-ups in SQLite: a connection of their own adds them. SQLite lets one write at a time, and whoever finds it taken sleeps
//! and looks again, which under load could go on for ever; so the two take turns at a [`Turnstile`] instead.

use super::{BUSY_WAIT, Role, bind, connect};
use crate::rollups::{FAILURES_KEPT, RollupBatch, RollupCursor, RollupQuery, RollupRow, RollupStore, moved};
use crate::store::StoreError;
use kernel::ids::RecordSeq;
use kernel::names::{Pattern, QueueName};
use kernel::rollup::{FailedAt, Minute, Rollup, RollupKey};
use kernel::row::{BadRow, Value};
use kernel::time::Time;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const CURSOR: &str = "SELECT seq, at, lost, lost_at FROM rollup_cursor WHERE id = 0";

const ADVANCE: &str = "INSERT INTO rollup_cursor (id, seq, at, lost, lost_at) VALUES (0, ?, ?, 0, 0)
    ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, at = excluded.at";

/// Who waits goes next: holding the door, it is alone in front of the room.
#[derive(Default)]
pub(super) struct Turnstile {
    door: Mutex<()>,
    room: Mutex<()>,
}

impl Turnstile {
    pub(super) fn pass(&self) -> MutexGuard<'_, ()> {
        // Nothing is in there that a panic could leave half done.
        let _door = self.door.lock().unwrap_or_else(PoisonError::into_inner);
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct SqliteRollups {
    db: Connection,
    turnstile: Arc<Turnstile>,
    /// The server's own handle to the database, see [`super::place::open`]; let go after the connection.
    _file: Arc<File>,
}

impl SqliteRollups {
    pub(super) fn open(path: &Path, file: Arc<File>, turnstile: Arc<Turnstile>) -> Result<SqliteRollups, StoreError> {
        let db = connect(path, Role::Rollups)?;
        db.busy_timeout(BUSY_WAIT)?;
        Ok(SqliteRollups { db, turnstile, _file: file })
    }
}

impl RollupStore for SqliteRollups {
    fn cursor(&mut self) -> Result<RollupCursor, StoreError> {
        cursor(&self.db)
    }

    fn add(&mut self, batch: &RollupBatch) -> Result<(), StoreError> {
        let _turn = self.turnstile.pass();
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let at = cursor(&transaction)?.seq;
        if at != batch.after {
            return Err(moved(batch, at));
        }
        add_rows(&transaction, batch)?;
        add_failures(&transaction, &batch.projection.failures)?;
        if let Some(from) = batch.keep_from {
            transaction.prepare_cached("DELETE FROM rollups WHERE minute < ?")?.execute([from.0])?;
        }
        transaction.prepare_cached(ADVANCE)?.execute([batch.upto.0 as i64, batch.at.us()])?;
        Ok(transaction.commit()?)
    }
}

fn add_rows(db: &Transaction<'_>, batch: &RollupBatch) -> Result<(), StoreError> {
    let mut select = db.prepare_cached("SELECT body FROM rollups WHERE minute = ? AND queue = ? AND family = ?")?;
    let mut upsert = db.prepare_cached(
        "INSERT INTO rollups (minute, queue, family, body) VALUES (?, ?, ?, ?)
        ON CONFLICT (minute, queue, family) DO UPDATE SET body = excluded.body",
    )?;
    for (key, row) in &batch.projection.rows {
        let place = (key.minute.0, key.queue.as_str(), &*key.family);
        let known: Option<String> = select.query_row(place, |row| row.get(0)).optional()?;
        let mut sum = known.map_or_else(|| Ok(Rollup::default()), |body| decode(&body))?;
        sum.merge(row);
        let body = serde_json::to_string(&sum).expect("a roll-up has a JSON form");
        upsert.execute((place.0, place.1, place.2, body))?;
    }
    Ok(())
}

fn add_failures(db: &Transaction<'_>, failures: &[FailedAt]) -> Result<(), StoreError> {
    let mut insert = db.prepare_cached("INSERT INTO rollup_failures (queue, family, seq, at) VALUES (?, ?, ?, ?)")?;
    let mut of: Vec<(&QueueName, &Arc<str>)> = Vec::new();
    for failed in failures {
        insert.execute((failed.queue.as_str(), &*failed.family, failed.seq.0 as i64, failed.at.us()))?;
        of.push((&failed.queue, &failed.family));
    }
    of.sort_unstable();
    of.dedup();
    let mut forget = db.prepare_cached(
        "DELETE FROM rollup_failures WHERE queue = ?1 AND family = ?2 AND seq <= (SELECT seq FROM rollup_failures
        WHERE queue = ?1 AND family = ?2 ORDER BY seq DESC LIMIT 1 OFFSET ?3)",
    )?;
    for (queue, family) in of {
        forget.execute((queue.as_str(), &**family, FAILURES_KEPT as i64))?;
    }
    Ok(())
}

/// What a record was that is forgotten now.
pub(super) struct Forgotten {
    pub seq: i64,
    pub at: i64,
    pub is_tasks: bool,
}

/// Histories are forgotten: of those of tasks, what was not folded yet will never be.
pub(super) fn forget(db: &Transaction<'_>, forgotten: &[Forgotten]) -> Result<(), StoreError> {
    let folded = cursor(db)?.seq.0 as i64;
    let lost = || forgotten.iter().filter(|record| record.is_tasks && record.seq > folded);
    if let Some(lost_at) = lost().map(|record| record.at).max() {
        let mut tell = db.prepare_cached("UPDATE rollup_cursor SET lost = lost + ?, lost_at = max(lost_at, ?)")?;
        tell.execute([lost().count() as i64, lost_at])?;
    }
    Ok(())
}

pub(super) fn cursor(db: &Connection) -> Result<RollupCursor, StoreError> {
    let cursor = db.prepare_cached(CURSOR)?.query_row([], |row| {
        let seq = RecordSeq(row.get::<_, i64>(0)? as u64);
        let (at, lost, lost_at) = (Time::from_us(row.get(1)?), row.get::<_, i64>(2)? as u64, Time::from_us(row.get(3)?));
        Ok(RollupCursor { seq, at, lost, lost_at })
    });
    // Whoever emptied the tables gets them anew.
    Ok(cursor.optional()?.unwrap_or_default())
}

/// The conditions that all queries share, and their parameters.
fn conditions(query: &RollupQuery) -> (String, Vec<Value>) {
    let (mut sql, mut parameters) = (String::new(), Vec::new());
    if let Some(queue) = &query.queue {
        sql.push_str(" AND queue = ?");
        parameters.push(queue.shared().into());
    }
    if let Some(family) = &query.family {
        match Pattern::parse(family).ok().and_then(|_| family.strip_suffix('*')) {
            None => {
                sql.push_str(" AND family = ?");
                parameters.push(family.as_str().into());
            }
            Some("") => {}
            // As `Pattern::covers` has it: names hold nothing that a glob would take for its own.
            Some(stem) => {
                sql.push_str(" AND (family = ? OR family GLOB ?)");
                parameters.extend([stem[..stem.len() - 1].into(), family.as_str().into()]);
            }
        }
    }
    (sql, parameters)
}

pub(super) fn rows(db: &Connection, query: &RollupQuery, each: &mut dyn FnMut(RollupRow)) -> Result<u64, StoreError> {
    let (rest, mut parameters) = conditions(query);
    let (from, to) = (query.from.map_or(i64::MIN, |from| from.0), query.to.map_or(i64::MAX, |to| to.0));
    parameters.splice(0..0, [Value::Int(from), Value::Int(to)]);
    let mut select = db.prepare_cached(&format!(
        "SELECT minute, queue, family, body FROM rollups WHERE minute >= ? AND minute <= ?{rest}
        ORDER BY minute DESC, queue, family LIMIT ?"
    ))?;
    parameters.push(super::cold::limited(query.limit));
    bind(&mut select, &parameters)?;
    let (mut rows, mut read) = (select.raw_query(), 0);
    while let Some(row) = rows.next()? {
        read += 1;
        let text = |at| row.get_ref(at).map(|value| value.as_str().unwrap_or_default());
        let key = RollupKey { minute: Minute(row.get(0)?), queue: name(text(1)?)?, family: text(2)?.into() };
        each((key, decode(text(3)?)?));
    }
    if read < query.limit {
        return Ok(read as u64);
    }
    // Only then there may be more of them.
    parameters.pop();
    let mut count = db.prepare_cached(&format!("SELECT count(*) FROM rollups WHERE minute >= ? AND minute <= ?{rest}"))?;
    bind(&mut count, &parameters)?;
    let found: i64 = count.raw_query().next()?.map_or(Ok(0), |row| row.get(0))?;
    Ok(found as u64)
}

pub(super) fn failures(db: &Connection, query: &RollupQuery) -> Result<Vec<FailedAt>, StoreError> {
    let (rest, mut parameters) = conditions(query);
    let from = query.from.map_or(i64::MIN, |from| from.start().us());
    let to = query.to.map_or(i64::MAX, |to| Minute(to.0 + 1).start().us());
    parameters.splice(0..0, [Value::Int(from), Value::Int(to)]);
    parameters.push(super::cold::limited(query.limit));
    let mut select = db.prepare_cached(&format!(
        "SELECT queue, family, seq, at FROM rollup_failures WHERE at >= ? AND at < ?{rest} ORDER BY seq DESC LIMIT ?"
    ))?;
    bind(&mut select, &parameters)?;
    let (mut rows, mut read) = (select.raw_query(), Vec::new());
    while let Some(row) = rows.next()? {
        let (queue, family): (String, String) = (row.get(0)?, row.get(1)?);
        let seq = RecordSeq(row.get::<_, i64>(2)? as u64);
        read.push(FailedAt { queue: name(&queue)?, family: family.into(), seq, at: Time::from_us(row.get(3)?) });
    }
    Ok(read)
}

fn name(queue: &str) -> Result<QueueName, StoreError> {
    Ok(QueueName::parse(queue).map_err(|bad| BadRow { table: "rollups", column: "queue", why: bad.to_string() })?)
}

fn decode(body: &str) -> Result<Rollup, StoreError> {
    let bad = |error: serde_json::Error| BadRow { table: "rollups", column: "body", why: error.to_string() };
    Ok(serde_json::from_str(body).map_err(bad)?)
}
