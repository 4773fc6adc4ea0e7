//! The store in one SQLite file: `<dir>/signaller.db`, with `<dir>/lock` held by the server that writes it (what workers say lies
//! beside it). Write-ahead log, one fsync a commit, checkpoints off the writer. The tables are plain: `sqlite3` may look at any time.

mod blobs;
mod checkpoint;
mod cold;
mod events;
mod logs;
pub(crate) mod place;
mod reader;
mod rollups;
mod runs;
mod schema;
mod statements;

pub use reader::SqliteReader;

use crate::logs::LogStore;
use crate::rollups::RollupStore;
use crate::store::{Batch, Reader, Store, StoreError};
use checkpoint::{Checkpoints, LOG_BYTES_AHEAD, LOG_BYTES_KEPT, MARKS};
use kernel::ids::RecordSeq;
use kernel::needs::{Begun, Need};
use kernel::record::{Entry, Payload};
use kernel::row::{BULKS, CONTROLS, FRAMES, KEYS, NODES, QUEUES, REGISTRIES, RUNS, Row, SHARDS, TABLES, TASKS, Value, WORKFLOWS};
use rollups::{Forgotten, SqliteRollups, Turnstile};
use rusqlite::{CachedStatement, Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, TransactionBehavior};
use statements::{Bound, Bytes, RECORD_COLUMNS, ROWS_AT_ONCE};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How long a connection waits for a lock that another one holds for a moment.
const BUSY_WAIT: Duration = Duration::from_secs(5);
const STATEMENTS_CACHED: usize = 64;

/// Frames and nodes that belong in memory.
const WHOLE: &str = "WHERE run IN (SELECT id FROM runs WHERE live = 1 AND deleting IS NULL)";

/// The writer. One per directory, over all processes.
pub struct Sqlite {
    // In the order in which they must be let go: the thread, the connection, the file, the lock.
    checkpoints: Checkpoints,
    db: Connection,
    file: Arc<File>,
    /// Frames in the log after the last commit, told by SQLite itself.
    log_frames: Arc<AtomicU32>,
    turnstile: Arc<Turnstile>,
    path: PathBuf,
    dir: PathBuf,
    _lock: File,
}

/// What a connection is for.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Role {
    Writer,
    Checkpointer,
    /// Writes, too, but its commits need not be durable before the writer's next.
    Rollups,
    Reader,
}

fn connect(path: &Path, role: Role) -> Result<Connection, StoreError> {
    let mode = match role {
        Role::Writer => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        Role::Checkpointer | Role::Rollups => OpenFlags::SQLITE_OPEN_READ_WRITE,
        Role::Reader => OpenFlags::SQLITE_OPEN_READ_ONLY,
    };
    // A connection is used by one thread at a time, which the types see to, so SQLite need not lock it.
    let db = Connection::open_with_flags(path, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|error| StoreError::Failed(format!("{} cannot be opened: {error}", path.display())))?;
    db.busy_timeout(BUSY_WAIT)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS_CACHED);
    if role != Role::Reader {
        let mode: String = db.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
        if mode != "wal" {
            let path = path.display();
            return Err(StoreError::Failed(format!("{path} cannot have a write-ahead log: its file system does not allow it")));
        }
        db.pragma_update(None, "synchronous", if role == Role::Rollups { "NORMAL" } else { "FULL" })?;
        // On macOS an ordinary fsync stops at the disk's own cache.
        db.execute_batch("PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON")?;
        db.pragma_update(None, "wal_autocheckpoint", 0)?;
        db.pragma_update(None, "journal_size_limit", LOG_BYTES_KEPT)?;
    }
    let cache_kib = if role == Role::Writer { 16 * 1_024 } else { 8 * 1_024 };
    db.pragma_update(None, "cache_size", -cache_kib)?;
    db.execute_batch("PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF")?;
    Ok(db)
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => StoreError::Slow(reader::SLOW.into()),
            _ => StoreError::Failed(error.to_string()),
        }
    }
}

impl Sqlite {
    /// Opens the data in `dir` for writing: makes it if it is missing, takes the lock, brings the tables up to date.
    pub fn open(dir: &Path) -> Result<Sqlite, StoreError> {
        Sqlite::open_marked(dir, MARKS)
    }

    fn open_marked(dir: &Path, marks: checkpoint::Marks) -> Result<Sqlite, StoreError> {
        place::create(dir)?;
        let lock = place::lock(dir)?;
        let path = place::database(dir);
        let mut db = connect(&path, Role::Writer)?;
        schema::migrate(&mut db, &path)?;
        place::sync(dir).map_err(|error| StoreError::Failed(format!("{} cannot be made durable: {error}", dir.display())))?;
        let log_frames = Arc::new(AtomicU32::new(0));
        let seen = log_frames.clone();
        db.wal_hook(Some(move |_: &mut _, pages| {
            seen.store(u32::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))?;
        place::lengthen(&place::log(dir), LOG_BYTES_AHEAD)?;
        let file = place::open(&path)?;
        let checkpoints = Checkpoints::start(connect(&path, Role::Checkpointer)?, file.clone(), marks, BUSY_WAIT)?;
        Ok(Sqlite { checkpoints, db, file, log_frames, turnstile: Arc::default(), path, dir: dir.to_owned(), _lock: lock })
    }

    /// Opens the data in `dir` for reading alone, whether a server is using it or not.
    pub fn open_reader(dir: &Path) -> Result<SqliteReader, StoreError> {
        let path = place::database(dir);
        if !path.is_file() {
            return Err(StoreError::Failed(format!("there is no database at {}", path.display())));
        }
        let db = connect(&path, Role::Reader)?;
        schema::require_current(&db, &path)?;
        SqliteReader::new(db, None)
    }

    fn write(&mut self, batch: &Batch) -> Result<(), StoreError> {
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        insert_records(&transaction, batch)?;
        blobs::insert(&transaction, batch)?;
        put_rows(&transaction, &batch.puts)?;
        for (table, key) in &batch.deletes {
            let mut delete = transaction.prepare_cached(&statements::of(table).delete)?;
            bind(&mut delete, key)?;
            delete.raw_execute()?;
        }
        prune(&transaction, &batch.prunes)?;
        Ok(transaction.commit()?)
    }
}

/// Forgets histories, from their last records back to their first.
fn prune(transaction: &Transaction<'_>, lasts: &[RecordSeq]) -> Result<(), StoreError> {
    if lasts.is_empty() {
        return Ok(());
    }
    let mut forgotten = Vec::new();
    let mut delete = transaction.prepare_cached(statements::DELETE_RECORD)?;
    for last in lasts {
        let mut next = Some(last.0 as i64).filter(|seq| *seq > 0);
        while let Some(seq) = next {
            let record = delete.query_row([seq], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))).optional()?;
            next = record.map(|(prev, ..): (i64, i64, bool, bool)| prev).filter(|prev| *prev > 0);
            if record.is_some_and(|(.., mentions)| mentions) {
                blobs::forget(transaction, seq)?;
            }
            forgotten.extend(record.map(|(_, at, is_tasks, _)| Forgotten { seq, at, is_tasks }));
        }
    }
    rollups::forget(transaction, &forgotten)
}

fn bind(statement: &mut CachedStatement<'_>, values: &[Value]) -> rusqlite::Result<()> {
    // Most columns of most rows are null: forgetting all bindings at once is cheaper than binding each null.
    statement.clear_bindings();
    bind_from(statement, 0, values)
}

fn bind_from(statement: &mut CachedStatement<'_>, first: usize, values: &[Value]) -> rusqlite::Result<()> {
    for (at, value) in values.iter().enumerate().filter(|(_, value)| **value != Value::Null) {
        statement.raw_bind_parameter(first + at + 1, Bound(value))?;
    }
    Ok(())
}

fn insert_records(db: &Connection, batch: &Batch) -> Result<(), StoreError> {
    let mut texts = batch.written().each();
    let mut next = || texts.next().expect("each record is written out");
    let (many, rest) = batch.entries.as_chunks::<ROWS_AT_ONCE>();
    if !many.is_empty() {
        let mut insert = db.prepare_cached(&statements::INSERT_RECORDS)?;
        for some in many {
            for (at, entry) in some.iter().enumerate() {
                bind_record(&mut insert, at * RECORD_COLUMNS, entry, next())?;
            }
            insert.raw_execute()?;
        }
    }
    if !rest.is_empty() {
        let mut insert = db.prepare_cached(statements::INSERT_RECORD)?;
        for entry in rest {
            bind_record(&mut insert, 0, entry, next())?;
            insert.raw_execute()?;
        }
    }
    Ok(())
}

fn bind_record(insert: &mut CachedStatement<'_>, first: usize, entry: &Entry, texts: (&[u8], &[u8])) -> rusqlite::Result<()> {
    insert.raw_bind_parameter(first + 1, entry.seq.0 as i64)?;
    insert.raw_bind_parameter(first + 2, entry.prev.0 as i64)?;
    insert.raw_bind_parameter(first + 3, entry.at.us())?;
    insert.raw_bind_parameter(first + 4, Bytes(texts.0))?;
    insert.raw_bind_parameter(first + 5, Bytes(texts.1))?;
    insert.raw_bind_parameter(first + 6, entry.payload.as_ref().map(|payload| payload.text()))
}

/// Each row once; those of one table together.
fn put_rows(db: &Connection, rows: &[Row]) -> Result<(), StoreError> {
    let mut tables: [Vec<&Row>; TABLES.len()] = Default::default();
    for row in rows {
        tables[statements::index_of(row.table)].push(row);
    }
    for (table, rows) in TABLES.iter().zip(&tables) {
        let sql = statements::of(table);
        let (many, rest) = rows.as_chunks::<ROWS_AT_ONCE>();
        if !many.is_empty() {
            let mut upsert = db.prepare_cached(&sql.upsert_many)?;
            for some in many {
                upsert.clear_bindings();
                for (at, row) in some.iter().enumerate() {
                    bind_from(&mut upsert, at * table.columns.len(), &row.values)?;
                }
                upsert.raw_execute()?;
            }
        }
        if !rest.is_empty() {
            let mut upsert = db.prepare_cached(&sql.upsert)?;
            for row in rest {
                bind(&mut upsert, &row.values)?;
                upsert.raw_execute()?;
            }
        }
    }
    Ok(())
}

impl Store for Sqlite {
    fn load(&mut self, each: &mut dyn FnMut(Row)) -> Result<(), StoreError> {
        let wanted = [
            (&SHARDS, ""),
            (&QUEUES, ""),
            (&KEYS, ""),
            (&BULKS, "WHERE status = 'open'"),
            (&TASKS, "WHERE status IN ('idle', 'queued', 'running')"),
            (&WORKFLOWS, ""),
            (&RUNS, "WHERE live = 1"),
            (&FRAMES, WHOLE),
            (&NODES, WHOLE),
            (&REGISTRIES, ""),
            (&CONTROLS, ""),
        ];
        for (table, condition) in wanted {
            let sql = statements::of(table);
            let mut select = self.db.prepare(&format!("{} {condition} ORDER BY {}", sql.select, sql.key))?;
            let mut rows = select.query([])?;
            while let Some(row) = rows.next()? {
                each(statements::row(table, row)?);
            }
        }
        Ok(())
    }

    fn last_at_us(&mut self) -> Result<i64, StoreError> {
        let newest = self.db.query_row("SELECT at FROM records ORDER BY seq DESC LIMIT 1", [], |row| row.get(0));
        Ok(newest.optional()?.unwrap_or(0))
    }

    fn rows(&mut self, needs: &[Need]) -> Result<Vec<Row>, StoreError> {
        cold::rows(&self.db, needs)
    }

    fn begun(&mut self, nodes: &[RecordSeq]) -> Result<Vec<Vec<Begun>>, StoreError> {
        cold::begun(&self.db, nodes)
    }

    fn payload(&mut self, record: RecordSeq) -> Result<Option<Payload>, StoreError> {
        cold::payload(&self.db, record)
    }

    fn commit(&mut self, batch: &Batch) -> Result<(), StoreError> {
        if batch.is_empty() {
            return Ok(());
        }
        let turnstile = self.turnstile.clone();
        let _turn = turnstile.pass();
        self.write(batch)?;
        self.checkpoints.after_commit(&self.db, self.log_frames.load(Ordering::Relaxed));
        Ok(())
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        Ok(Box::new(SqliteReader::new(connect(&self.path, Role::Reader)?, Some(self.file.clone()))?))
    }

    fn logs(&self) -> Result<Box<dyn LogStore>, StoreError> {
        Ok(Box::new(logs::SqliteLogs::open(&self.dir)?))
    }

    fn rollups(&self) -> Result<Box<dyn RollupStore>, StoreError> {
        Ok(Box::new(SqliteRollups::open(&self.path, self.file.clone(), self.turnstile.clone())?))
    }

    fn describe(&self) -> String {
        let version: &str = rusqlite::version();
        let trouble = self.checkpoints.trouble().map(|trouble| format!("; its log cannot be moved: {trouble}"));
        format!("SQLite {version} in {}{}", self.dir.display(), trouble.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests;
