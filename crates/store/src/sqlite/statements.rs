//! Statements made once from the kernel's description of its tables, and the way of values in and out of SQLite.

use kernel::record::{Entry, Owner, Payload, Record};
use kernel::row::{BadRow, EVENTS, FRAMES, NODES, RUNS, Row, TABLES, TASKS, Table, Value};
use kernel::{ids::RecordSeq, time::Time};
use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};
use std::sync::LazyLock;

/// The statements of one table.
pub(super) struct TableSql {
    pub upsert: String,
    /// The same for [`ROWS_AT_ONCE`] rows.
    pub upsert_many: String,
    pub delete: String,
    /// `SELECT` every column, in the kernel's order, `FROM` the table; a condition may follow.
    pub select: String,
    /// The key's columns, as `ORDER BY` wants them.
    pub key: String,
}

static ALL: LazyLock<[TableSql; TABLES.len()]> = LazyLock::new(|| TABLES.map(TableSql::new));

/// How the writer finds cold rows.
pub(super) struct ColdSql {
    pub task: String,
    pub by_idempotency_key: String,
    pub dead: String,
    pub run: String,
    pub run_frames: String,
    pub run_nodes: String,
    pub run_by_key: String,
    pub runs_ended: String,
    pub event: String,
    pub event_by_key: String,
    pub events_named: String,
    pub events_old: String,
}

pub(super) static COLD: LazyLock<ColdSql> = LazyLock::new(|| {
    let events = &of(&EVENTS).select;
    let (tasks, runs, frames, nodes) = (&of(&TASKS).select, &of(&RUNS).select, &of(&FRAMES).select, &of(&NODES).select);
    ColdSql {
        task: format!("{tasks} WHERE id = ?1"),
        by_idempotency_key: format!("{tasks} WHERE queue = ?1 AND idempotency_key = ?2 AND id < ?3 ORDER BY id DESC LIMIT 1"),
        // What an index leaves out is written out, or SQLite would not see that it fits.
        dead: format!("{tasks} WHERE queue = ?1 AND {DEAD} AND id > ?2 AND id <= ?3 ORDER BY id LIMIT ?4"),
        run: format!("{runs} WHERE id = ?1"),
        run_frames: format!("{frames} WHERE run = ?1 ORDER BY path LIMIT ?2"),
        run_nodes: format!("{nodes} WHERE run = ?1 ORDER BY frame, node LIMIT ?2"),
        run_by_key: format!("{runs} WHERE workflow = ?1 AND idempotency_key = ?2 ORDER BY id DESC LIMIT 1"),
        runs_ended: format!("{runs} WHERE {ENDED} AND (ended_at, id) <= (?1, ?2) ORDER BY ended_at, id LIMIT ?3"),
        event: format!("{events} WHERE id = ?1"),
        event_by_key: format!("{events} WHERE key = ?1 ORDER BY id DESC LIMIT 1"),
        events_named: format!("{events} WHERE name = ?1 AND id > ?2 ORDER BY id LIMIT ?3"),
        // Ids rise with the time they are received at: what comes after so many is younger than these.
        events_old: format!("SELECT * FROM ({events} WHERE id > ?2 ORDER BY id LIMIT ?3) WHERE received_at < ?1"),
    }
});

/// A task that is a dead letter.
pub(super) const DEAD: &str = "status = 'failed' AND node IS NULL";
const ENDED: &str = "ended_at IS NOT NULL AND deleting IS NULL AND parent IS NULL";

/// The youngest of the runs that have ended, by their end, with so many younger ones before it.
pub(super) const RUN_ENDED_AT_OFFSET: &str =
    "SELECT ended_at, id FROM runs WHERE ended_at IS NOT NULL AND deleting IS NULL AND parent IS NULL
    ORDER BY ended_at DESC, id DESC LIMIT 1 OFFSET ?1";

/// Rows that one statement writes where there are as many: to begin and end a statement costs as much as a row.
pub(super) const ROWS_AT_ONCE: usize = 16;
pub(super) const RECORD_COLUMNS: usize = 6;

pub(super) const INSERT_RECORD: &str =
    "INSERT INTO records (seq, prev, at, owner, body, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

/// The same for [`ROWS_AT_ONCE`] records.
pub(super) static INSERT_RECORDS: LazyLock<String> = LazyLock::new(|| {
    let row = |at: usize| {
        let places: Vec<String> = (1..=RECORD_COLUMNS).map(|place| format!("?{}", at * RECORD_COLUMNS + place)).collect();
        format!("({})", places.join(", "))
    };
    let rows: Vec<String> = (0..ROWS_AT_ONCE).map(row).collect();
    format!("INSERT INTO records (seq, prev, at, owner, body, payload) VALUES {}", rows.join(", "))
});

/// Gives the owner's record before it, when it was written, whether that owner is a task, and whether it may mention blobs.
pub(super) const DELETE_RECORD: &str = "DELETE FROM records WHERE seq = ?1
    RETURNING prev, at, substr(owner, 1, 5) = 'task-', ifnull(instr(payload, 'blob:sha256-') > 0, 0)";

/// What [`entry`] reads, in its order.
pub(super) const SELECT_RECORD: &str = "SELECT seq, prev, at, owner, body, payload FROM records";
pub(super) const SELECT_RECORD_BARE: &str = "SELECT seq, prev, at, owner, body, NULL FROM records";

/// One record.
pub(super) const RECORD: &str = "SELECT seq, prev, at, owner, body, payload FROM records WHERE seq = ?1";
pub(super) const RECORD_BARE: &str = "SELECT seq, prev, at, owner, body, NULL FROM records WHERE seq = ?1";

/// Where a table stands in `TABLES`.
pub(super) fn index_of(table: &'static Table) -> usize {
    TABLES.iter().position(|known| std::ptr::eq(*known, table)).expect("every table is one of the kernel's")
}

pub(super) fn of(table: &'static Table) -> &'static TableSql {
    &ALL[index_of(table)]
}

impl TableSql {
    fn new(table: &'static Table) -> TableSql {
        // Quoted, because `last`, `after` and `type` are words of SQL as well.
        let quoted: Vec<String> = table.columns.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        let (key, rest) = quoted.split_at(table.key);
        let places: Vec<String> = (1..=quoted.len()).map(|place| format!("?{place}")).collect();
        let many = |rows: usize| {
            let row = |at: usize| {
                let places: Vec<String> = (1..=quoted.len()).map(|place| format!("?{}", at * quoted.len() + place)).collect();
                format!("({})", places.join(", "))
            };
            (0..rows).map(row).collect::<Vec<_>>().join(", ")
        };
        let updates: Vec<String> = rest.iter().map(|column| format!("{column} = excluded.{column}")).collect();
        let matches: Vec<String> = key.iter().zip(&places).map(|(column, place)| format!("{column} = {place}")).collect();
        let (name, columns, keys) = (table.name, quoted.join(", "), key.join(", "));
        let upsert = |rows: usize| {
            let (values, updates) = (many(rows), updates.join(", "));
            format!("INSERT INTO {name} ({columns}) VALUES {values} ON CONFLICT ({keys}) DO UPDATE SET {updates}")
        };
        TableSql {
            upsert: upsert(1),
            upsert_many: upsert(ROWS_AT_ONCE),
            delete: format!("DELETE FROM {name} WHERE {}", matches.join(" AND ")),
            select: format!("SELECT {columns} FROM {name}"),
            key: keys,
        }
    }
}

/// A kernel value as a parameter, without a copy on our side.
pub(super) struct Bound<'a>(pub &'a Value);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => ValueRef::Null,
            Value::Int(int) => ValueRef::Integer(*int),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

/// Text that was put together in a buffer, as a parameter.
pub(super) struct Bytes<'a>(pub &'a [u8]);

impl ToSql for Bytes<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0)))
    }
}

/// Reads a row that was selected with [`TableSql::select`].
pub(super) fn row(table: &'static Table, from: &rusqlite::Row<'_>) -> Result<Row, BadRow> {
    let mut values = Vec::with_capacity(table.columns.len());
    for (at, (column, _)) in table.columns.iter().enumerate() {
        let value = value(from.get_ref_unwrap(at)).map_err(|why| BadRow { table: table.name, column, why })?;
        values.push(value);
    }
    Ok(Row { table, values })
}

/// The same for one who looks for damage: what is not text comes as text with the damage shown.
pub(super) fn row_unchecked(table: &'static Table, from: &rusqlite::Row<'_>) -> Row {
    let read = |at| {
        let stored = from.get_ref_unwrap(at);
        value(stored).unwrap_or_else(|why| match stored {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Value::from(String::from_utf8_lossy(bytes).as_ref()),
            _ => Value::from(why.as_str()),
        })
    };
    Row { table, values: (0..table.columns.len()).map(read).collect() }
}

fn value(stored: ValueRef<'_>) -> Result<Value, String> {
    match stored {
        ValueRef::Null => Ok(Value::Null),
        ValueRef::Integer(int) => Ok(Value::Int(int)),
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).map(Value::from).map_err(|error| format!("not UTF-8: {error}")),
        ValueRef::Real(real) => Err(format!("{real} where a whole number or text belongs")),
        ValueRef::Blob(_) => Err("bytes where a number or text belongs".into()),
    }
}

/// Reads a record that was selected with [`SELECT_RECORD`].
pub(super) fn entry(from: &rusqlite::Row<'_>) -> Result<Entry, (RecordSeq, BadRow)> {
    let seq = from.get_ref_unwrap(0).as_i64().unwrap_or_default();
    let bad = |column: &'static str, why: String| {
        (RecordSeq(seq as u64), BadRow { table: "records", column, why: format!("record {seq}: {why}") })
    };
    let number =
        |column, number: i64| u64::try_from(number).map(RecordSeq).map_err(|_| bad(column, format!("{number} is negative")));
    let int = |at, column| from.get_ref_unwrap(at).as_i64().map_err(|error| bad(column, error.to_string()));
    let text = |at, column| from.get_ref_unwrap(at).as_str().map_err(|error| bad(column, error.to_string()));

    let owner = text(3, "owner")?;
    let owner = Owner::parse(owner).ok_or_else(|| bad("owner", format!("`{owner}` is not an owner")))?;
    let record: Record = serde_json::from_str(text(4, "body")?).map_err(|error| bad("body", error.to_string()))?;
    let payload = match from.get_ref_unwrap(5) {
        ValueRef::Null => None,
        _ => Some(Payload(text(5, "payload")?.into())),
    };
    Ok(Entry {
        seq: number("seq", seq)?,
        prev: number("prev", int(1, "prev")?)?,
        at: Time::from_us(int(2, "at")?),
        owner,
        record,
        payload,
    })
}
