//! Lines of workers in a SQLite file of their own, `<dir>/logs.db`: whoever writes them never waits for the writer, nor it for
//! them. Commits wait for no disk.

use super::{BUSY_WAIT, STATEMENTS_CACHED};
use crate::logs::{LogLine, LogPage, LogStore, Progress, beyond};
use crate::store::StoreError;
use kernel::ids::{Fence, RecordSeq, TaskId};
use kernel::time::Time;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use std::path::Path;

/// A row of `log_tasks` is of everyone who said anything. Its `bytes` is a sum over the lines of a task, so that nobody has to read
/// all of them.
const TABLES: &str = "CREATE TABLE IF NOT EXISTS log_lines (task TEXT NOT NULL, n INTEGER NOT NULL, at INTEGER NOT NULL, fence INTEGER NOT NULL,
        text TEXT NOT NULL, PRIMARY KEY (task, n)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS log_tasks (task TEXT PRIMARY KEY, first INTEGER NOT NULL, next INTEGER NOT NULL, bytes INTEGER NOT NULL,
        last INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS log_progress (task TEXT PRIMARY KEY, at INTEGER NOT NULL, fence INTEGER NOT NULL,
        permille INTEGER NOT NULL, message TEXT) WITHOUT ROWID;";

pub(super) struct SqliteLogs(Connection);

impl SqliteLogs {
    pub(super) fn open(dir: &Path) -> Result<SqliteLogs, StoreError> {
        let path = dir.join("logs.db");
        let db = Connection::open(&path)
            .map_err(|error| StoreError::Failed(format!("{} cannot be opened: {error}", path.display())))?;
        db.busy_timeout(BUSY_WAIT)?;
        db.set_prepared_statement_cache_capacity(STATEMENTS_CACHED);
        let _: String = db.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
        db.pragma_update(None, "synchronous", "NORMAL")?;
        db.execute_batch("PRAGMA trusted_schema = OFF")?;
        db.execute_batch(TABLES)?;
        Ok(SqliteLogs(db))
    }
}

/// How it stands with the lines of one task.
struct Sums {
    first: i64,
    next: i64,
    bytes: i64,
}

fn sums(db: &Transaction<'_>, task: &str) -> Result<Sums, StoreError> {
    let mut select = db.prepare_cached("SELECT first, next, bytes FROM log_tasks WHERE task = ?")?;
    let found = select.query_row([task], |row| Ok(Sums { first: row.get(0)?, next: row.get(1)?, bytes: row.get(2)? }));
    Ok(found.optional()?.unwrap_or(Sums { first: 1, next: 1, bytes: 0 }))
}

/// The oldest make room.
fn trim(db: &Transaction<'_>, task: &str, sums: &mut Sums) -> Result<(), StoreError> {
    let mut lengths = db.prepare_cached("SELECT length(CAST(text AS BLOB)) FROM log_lines WHERE task = ? ORDER BY n")?;
    let lengths = lengths.query_map([task], |row| row.get::<_, i64>(0))?;
    let lengths: Vec<usize> = lengths.map(|bytes| Ok(bytes? as usize)).collect::<Result<_, StoreError>>()?;
    let gone = beyond(lengths.iter().copied(), sums.bytes as usize);
    if gone > 0 {
        sums.first += gone as i64;
        sums.bytes -= lengths[..gone].iter().sum::<usize>() as i64;
        db.prepare_cached("DELETE FROM log_lines WHERE task = ? AND n < ?")?.execute((task, sums.first))?;
    }
    Ok(())
}

impl LogStore for SqliteLogs {
    fn add(&mut self, lines: &[(TaskId, LogLine)], progress: &[(TaskId, Option<Progress>)]) -> Result<(), StoreError> {
        let transaction = self.0.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Each task once, its lines in their order.
        let mut by_task: Vec<(String, &LogLine)> = lines.iter().map(|(task, line)| (task.to_string(), line)).collect();
        by_task.sort_by(|(one, _), (other, _)| one.cmp(other));
        for said in by_task.chunk_by(|(one, _), (other, _)| one == other) {
            let task = said[0].0.as_str();
            let mut sums = sums(&transaction, task)?;
            let mut insert =
                transaction.prepare_cached("INSERT INTO log_lines (task, n, at, fence, text) VALUES (?, ?, ?, ?, ?)")?;
            for (_, line) in said {
                insert.execute((task, sums.next, line.at.us(), line.fence.0.0 as i64, &line.text))?;
                sums.next += 1;
                sums.bytes += line.text.len() as i64;
            }
            trim(&transaction, task, &mut sums)?;
            let last = said.iter().map(|(_, line)| line.at.us()).max();
            transaction
                .prepare_cached("INSERT OR REPLACE INTO log_tasks (task, first, next, bytes, last) VALUES (?, ?, ?, ?, ?)")?
                .execute((task, sums.first, sums.next, sums.bytes, last))?;
        }
        for (task, said) in progress {
            let task = task.to_string();
            let Some(said) = said else {
                transaction.prepare_cached("DELETE FROM log_progress WHERE task = ?")?.execute([task])?;
                continue;
            };
            transaction
                .prepare_cached(
                    "INSERT INTO log_tasks (task, first, next, bytes, last) VALUES (?, 1, 1, 0, ?)
                     ON CONFLICT (task) DO UPDATE SET last = max(last, excluded.last)",
                )?
                .execute((&task, said.at.us()))?;
            transaction
                .prepare_cached(
                    "INSERT OR REPLACE INTO log_progress (task, at, fence, permille, message) VALUES (?, ?, ?, ?, ?)",
                )?
                .execute((&task, said.at.us(), said.fence.0.0 as i64, said.permille, &said.message))?;
        }
        Ok(transaction.commit()?)
    }

    fn read(&mut self, task: TaskId, after: u64, limit: usize) -> Result<LogPage, StoreError> {
        let transaction = self.0.transaction()?;
        let task = task.to_string();
        let dropped = sums(&transaction, &task)?.first as u64 - 1;
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let mut select =
            transaction.prepare_cached("SELECT n, at, fence, text FROM log_lines WHERE task = ? AND n > ? ORDER BY n LIMIT ?")?;
        let rows = select.query_map((&task, after, limit as i64), |row| {
            let fence = Fence(RecordSeq(row.get::<_, i64>(2)? as u64));
            Ok((row.get::<_, i64>(0)? as u64, LogLine { at: Time::from_us(row.get(1)?), fence, text: row.get(3)? }))
        })?;
        let lines = rows.collect::<Result<_, _>>()?;
        let mut select = transaction.prepare_cached("SELECT at, fence, permille, message FROM log_progress WHERE task = ?")?;
        let progress = select.query_row([&task], |row| {
            let fence = Fence(RecordSeq(row.get::<_, i64>(1)? as u64));
            Ok(Progress { at: Time::from_us(row.get(0)?), fence, permille: row.get(2)?, message: row.get(3)? })
        });
        Ok(LogPage { lines, dropped, progress: progress.optional()? })
    }

    fn tasks(&mut self, after: Option<TaskId>, limit: usize) -> Result<Vec<TaskId>, StoreError> {
        let after = after.map(|task| task.to_string()).unwrap_or_default();
        let mut select = self.0.prepare_cached("SELECT task FROM log_tasks WHERE task > ? ORDER BY task LIMIT ?")?;
        named(select.query_map((after, limit as i64), |row| row.get(0))?)
    }

    fn oldest(&mut self, limit: usize) -> Result<Vec<TaskId>, StoreError> {
        let mut select = self.0.prepare_cached("SELECT task FROM log_tasks ORDER BY last, task LIMIT ?")?;
        named(select.query_map([limit as i64], |row| row.get(0))?)
    }

    fn forget(&mut self, tasks: &[TaskId]) -> Result<(), StoreError> {
        let transaction = self.0.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for table in ["log_lines", "log_progress", "log_tasks"] {
            let mut delete = transaction.prepare_cached(&format!("DELETE FROM {table} WHERE task = ?"))?;
            for task in tasks {
                delete.execute([task.to_string()])?;
            }
        }
        Ok(transaction.commit()?)
    }

    fn bytes(&mut self) -> Result<u64, StoreError> {
        let sum = "SELECT (SELECT COALESCE(SUM(bytes), 0) FROM log_tasks)
            + (SELECT COALESCE(SUM(LENGTH(CAST(message AS BLOB))), 0) FROM log_progress)";
        let sum: i64 = self.0.query_row(sum, [], |row| row.get(0))?;
        Ok(sum as u64)
    }
}

/// What is no name of a task is nobody's.
fn named(rows: impl Iterator<Item = rusqlite::Result<String>>) -> Result<Vec<TaskId>, StoreError> {
    let rows = rows.collect::<Result<Vec<String>, _>>()?;
    Ok(rows.iter().filter_map(|name| TaskId::parse(name)).collect())
}
