use super::*;
use crate::conformance::sample::sample;
use crate::conformance::scribe::{Scribe, plain, task};
use crate::memory::MemoryDisk;
use crate::sqlite::Sqlite;
use crate::store::{Batch, Store};
use kernel::row::{Kind, TASKS, Table};
use rusqlite::Connection;
use rusqlite::types::Value as SqlValue;
use tempfile::TempDir;

/// The sample in a database that no server holds, and a connection to damage it with.
struct Damaged {
    db: Connection,
    reader: Box<dyn Reader>,
    _dir: TempDir,
}

impl Damaged {
    fn new() -> Damaged {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Sqlite::open(dir.path()).unwrap();
        sample().1.iter().for_each(|batch| store.commit(batch).unwrap());
        drop(store);
        let db = Connection::open(dir.path().join("signaller.db")).unwrap();
        db.execute_batch("PRAGMA synchronous = OFF").unwrap();
        let reader = Box::new(Sqlite::open_reader(dir.path()).unwrap());
        Damaged { db, reader, _dir: dir }
    }

    fn verify(&mut self) -> Report {
        verify(&mut *self.reader, &mut |_| {}).unwrap()
    }

    /// What is named once the damage is done: `table.column` and the owner of each difference, sorted.
    fn named_after(&mut self, damage: &str) -> Vec<String> {
        self.db.execute_batch(damage).unwrap();
        named(&self.verify())
    }
}

fn named(report: &Report) -> Vec<String> {
    let name = |d: &Difference| format!("{}.{} {}", d.table, d.column, d.owner).trim_end().to_owned();
    let mut named: Vec<String> = report.differences.iter().map(name).collect();
    named.sort();
    named
}

fn to_sql(value: &Value) -> SqlValue {
    match value {
        Value::Null => SqlValue::Null,
        Value::Int(int) => SqlValue::Integer(*int),
        Value::Text(text) => SqlValue::Text(text.to_string()),
    }
}

fn set(db: &Connection, table: &Table, key: &[Value], column: &str, value: &Value) {
    let conditions: Vec<String> = table.columns[..table.key].iter().map(|(name, _)| format!("\"{name}\" = ?")).collect();
    let sql = format!("UPDATE {} SET \"{column}\" = ? WHERE {}", table.name, conditions.join(" AND "));
    let parameters = std::iter::once(value).chain(key).map(to_sql);
    let changed = db.execute(&sql, rusqlite::params_from_iter(parameters)).unwrap();
    assert_eq!(changed, 1, "{sql}");
}

/// Values that this column does not hold but could.
fn flips(value: &Value, kind: Kind, is_nullable: bool) -> Vec<Value> {
    let mut flips = match (value, kind) {
        (Value::Int(int), _) => vec![Value::Int(int.wrapping_add(100_000)), Value::Int(int.wrapping_neg().wrapping_sub(1))],
        (Value::Text(text), _) => vec![Value::from(format!("{text}x").as_str()), Value::from("")],
        (Value::Null, Kind::Int) => vec![Value::Int(0), Value::Int(12_345)],
        (Value::Null, Kind::Text) => vec![Value::from(""), Value::from("[]"), Value::from("flipped")],
    };
    if is_nullable && *value != Value::Null {
        flips.push(Value::Null);
    }
    flips.retain(|flip| flip != value);
    flips
}

#[test]
fn a_sound_database_is_clean() {
    let (_, batches) = sample();
    let mut damaged = Damaged::new();
    let mut told = Vec::new();
    let report = verify(&mut *damaged.reader, &mut |records| told.push(records)).unwrap();
    assert_eq!(report.differences, []);
    assert!(report.is_clean());
    let records: usize = batches.iter().map(|batch| batch.entries.len()).sum();
    assert_eq!(report.records, records as u64);
    assert_eq!(told.last(), Some(&report.records));
    assert!(report.rows > 30);
}

#[test]
fn every_flipped_column_is_named() {
    let mut damaged = Damaged::new();
    let mut flipped = 0;
    for table in TABLES {
        let mut rows = Vec::new();
        damaged.reader.scan(table, &mut |row| rows.push(row)).unwrap();
        for (row, (at, (column, kind))) in rows.iter().flat_map(|row| table.columns.iter().enumerate().map(move |c| (row, c))) {
            let sql =
                format!("SELECT \"notnull\" = 0 AND pk = 0 FROM pragma_table_info('{}') WHERE name = '{column}'", table.name);
            let is_nullable = damaged.db.query_row(&sql, [], |row| row.get(0)).unwrap();
            for flip in flips(&row.values[at], *kind, is_nullable) {
                set(&damaged.db, table, row.key(), column, &flip);
                let mut key = row.key().to_vec();
                let report = damaged.verify();
                let places: Vec<(&str, &str, Vec<Value>)> =
                    report.differences.iter().map(|d| (d.table, d.column, d.key.clone())).collect();
                if at < table.key {
                    key[at] = flip.clone();
                    let (extra, missing) = ((table.name, "*", key.clone()), (table.name, "*", row.key().to_vec()));
                    // What belongs to it misses it, and is named as well.
                    let (own, others): (Vec<_>, Vec<_>) = places.into_iter().partition(|(name, ..)| *name == table.name);
                    assert_eq!(own, [extra, missing], "{}.{column} = {flip}", table.name);
                    let may_miss: &[(&str, &str)] = match table.name {
                        "workflows" => &[("runs", "workflow")],
                        "runs" => &[("frames", "run"), ("nodes", "run")],
                        _ => &[],
                    };
                    let is_expected = |(table, column, _): &(&str, &str, Vec<Value>)| may_miss.contains(&(table, column));
                    assert!(others.iter().all(is_expected), "{}.{column} = {flip}: {others:?}", table.name);
                } else {
                    assert_eq!(places, [(table.name, *column, key.clone())], "{}.{column} = {flip}", table.name);
                    let difference = &report.differences[0];
                    assert_eq!(difference.stored, clipped(&flip.to_string()));
                    assert_eq!(difference.folded, clipped(&row.values[at].to_string()));
                }
                set(&damaged.db, table, &key, column, &row.values[at]);
                flipped += 1;
            }
        }
    }
    assert!(flipped > 1_000, "only {flipped}");
    assert!(damaged.verify().is_clean());
}

#[test]
fn every_record_that_is_touched_is_missed() {
    let mut damaged = Damaged::new();
    let entries: Vec<Entry> = sample().1.into_iter().flat_map(|batch| batch.entries).collect();
    // A history without all but its end is one that was pruned.
    let pruned = |entry: &Entry| {
        let end = entries.iter().find(|end| end.owner == entry.owner && matches!(end.record, Record::TaskDeleted { .. }));
        end.is_some_and(|end| end.prev == entry.seq && entry.prev.0 == 0)
    };
    for entry in entries.iter().filter(|entry| !pruned(entry)) {
        let (seq, owner, prev) = (entry.seq.0, entry.owner.to_string(), entry.prev.0);
        damaged.db.execute_batch("CREATE TEMP TABLE sound AS SELECT * FROM records").unwrap();
        for (damage, column) in [
            (format!("DELETE FROM records WHERE seq = {seq}"), None),
            (format!("UPDATE records SET owner = 'task-zz' WHERE seq = {seq}"), None),
            (format!("UPDATE records SET owner = 'nobody' WHERE seq = {seq}"), Some("owner")),
            (format!("UPDATE records SET body = '{{}}' WHERE seq = {seq}"), Some("body")),
            (format!("UPDATE records SET body = substr(body, 2) WHERE seq = {seq}"), Some("body")),
            (format!("UPDATE records SET body = CAST(x'ff' AS TEXT) WHERE seq = {seq}"), Some("body")),
            (format!("UPDATE records SET prev = prev + 1 WHERE seq = {seq}"), Some("prev")),
            (format!("UPDATE records SET prev = -1 WHERE seq = {seq}"), Some("prev")),
            (format!("UPDATE records SET at = 0 WHERE seq = {seq} AND seq > 1"), Some("at")),
            (format!("UPDATE records SET payload = '{{' WHERE seq = {seq}"), Some("payload")),
            (format!("UPDATE records SET seq = -1 WHERE seq = {seq}"), None),
            (format!("UPDATE records SET seq = 500 WHERE seq = {seq}"), None),
        ] {
            damaged.db.execute_batch(&damage).unwrap();
            let report = damaged.verify();
            let is_first = seq == 1 && column == Some("at");
            assert!(!report.is_clean() || is_first, "{damage} ({owner}, prev {prev}) goes unseen");
            if let Some(column) = column.filter(|_| !is_first) {
                let is_named = |d: &Difference| d.table == "records" && d.column == column && d.key == [Value::Int(seq as i64)];
                assert!(report.differences.iter().any(is_named), "{damage}: {:?}", report.differences);
            }
            damaged.db.execute_batch("DELETE FROM records; INSERT INTO records SELECT * FROM sound").unwrap();
        }
        damaged.db.execute_batch("DROP TABLE sound").unwrap();
    }
    assert!(damaged.verify().is_clean());
}

#[test]
fn damage_is_named_with_its_owner() {
    for (damage, expected) in [
        ("DELETE FROM tasks WHERE id = 2", vec!["tasks.* task-2"]),
        ("DELETE FROM queues WHERE name = 'held'", vec!["queues.* queue:held"]),
        ("DELETE FROM keys WHERE value = 'acme'", vec!["keys.* key:ci|tenant=acme"]),
        ("DELETE FROM keys WHERE name = ''", vec!["keys.* rate:ci"]),
        ("DELETE FROM shards", vec!["shards.* shard"]),
        ("DELETE FROM nodes WHERE run = 102 AND frame = 'rounds[1]'", vec!["nodes.* run-36/rounds[1]/check"]),
        ("DELETE FROM frames WHERE path = 'rounds[1].check[3]'", vec!["frames.* run-36/rounds[1].check[3]"]),
        // What belongs to a run that is not there.
        ("DELETE FROM runs WHERE id = 106", vec!["nodes.run run-3a//fix", "nodes.run run-3a//late", "runs.* run-3a"]),
        ("DELETE FROM runs WHERE id = 108", vec!["frames.run run-3c/rounds[0]", "nodes.run run-3c//ask", "runs.* run-3c"]),
        // Even if nobody knows of that run any more.
        (
            "DELETE FROM runs WHERE id = 106; DELETE FROM records WHERE owner = 'run-3a'",
            vec!["nodes.run run-3a//fix", "nodes.run run-3a//late"],
        ),
        // A live run follows a workflow; one that has ended does not need it.
        (
            "DELETE FROM workflows WHERE name = 'refund'",
            vec![
                "runs.workflow run-34",
                "runs.workflow run-3f",
                "workflows.* workflow:1:refund",
                "workflows.* workflow:2:refund",
            ],
        ),
        (
            "DELETE FROM workflows WHERE version = 2; DELETE FROM records WHERE owner = 'workflow:2:refund'",
            vec!["runs.workflow run-34", "runs.workflow run-3f"],
        ),
        ("INSERT INTO workflows VALUES ('a b', 1, 1, 1, 'ada', '', NULL)", vec!["workflows.*"]),
        ("INSERT INTO workflows VALUES ('lint', 2, 1, 1, 'ada', '', NULL)", vec!["workflows.* workflow:2:lint"]),
        ("INSERT INTO frames VALUES (102, '', 1, 'open', NULL, 0)", vec!["frames.*"]),
        ("INSERT INTO frames VALUES (102, 'a[01]', 1, 'open', NULL, 0)", vec!["frames.*"]),
        ("INSERT INTO frames VALUES (999, 'a[1]', 1, 'open', NULL, 0)", vec!["frames.* run-z7/a[1]"]),
        (
            "UPDATE nodes SET frame = 'rounds[7]' WHERE node = 'check'",
            vec!["nodes.* run-36/rounds[1]/check", "nodes.* run-36/rounds[7]/check"],
        ),
        ("UPDATE runs SET live = NULL WHERE id = 103", vec!["runs.live run-37"]),
        ("INSERT INTO queues VALUES ('new', 1, '{}', NULL, NULL)", vec!["queues.* queue:new"]),
        ("INSERT INTO queues VALUES ('a b', 1, '{}', NULL, NULL)", vec!["queues.*"]),
        ("INSERT INTO keys VALUES ('ci', '', 'half', 1, 1)", vec!["keys.*"]),
        ("UPDATE tasks SET queue = CAST(x'ff' AS TEXT) WHERE id = 2", vec!["tasks.queue task-2"]),
        ("UPDATE tasks SET status = 'done', since = 5 WHERE id = 2", vec!["tasks.since task-2", "tasks.status task-2"]),
        // A history that cannot have happened: leased before it was added.
        (
            "UPDATE records SET body = '{\"record\":\"task_done\",\"digest\":1}' WHERE owner = 'task-2'",
            vec!["records.body task-2"],
        ),
        (
            "UPDATE records SET body = '{\"record\":\"queue_resumed\",\"by\":\"ada\"}' WHERE owner = 'rate:ci' AND prev = 0",
            vec!["records.body rate:ci"],
        ),
        ("UPDATE records SET payload = '' WHERE owner = 'task-2'", vec!["records.payload task-2"]),
        ("UPDATE records SET payload = 'blob:sha256-0' WHERE owner = 'task-2'", vec!["records.payload task-2"]),
        // An owner's last record lost: the row is ahead of its history. Its first one lost: there is no history.
        ("DELETE FROM records WHERE owner = 'task-1' AND prev > 0", vec!["tasks.last task-1", "tasks.priority task-1"]),
        ("DELETE FROM records WHERE owner = 'task-1' AND prev = 0", vec!["records.body task-1", "records.prev task-1"]),
    ] {
        assert_eq!(Damaged::new().named_after(damage), expected, "{damage}");
    }
}

#[test]
fn many_passes_find_what_one_pass_finds() {
    let mut damaged = Damaged::new();
    let damage = "UPDATE tasks SET attempt = attempt + 1; UPDATE queues SET pause = '{}' ; DELETE FROM bulks WHERE id = 41;
        INSERT INTO keys VALUES ('x', '', '', 1, 1); UPDATE records SET body = 'no' WHERE seq IN (3, 30);
        UPDATE records SET at = 7 WHERE seq IN (5, 50); UPDATE records SET payload = 'no' WHERE owner = 'task-3'";
    let one = damaged.named_after(damage);
    assert!(one.len() > 30);
    let whole = damaged.verify();
    for records_per_pass in [1, 7, 50, 1_000_000] {
        let mut told = Vec::new();
        let report = verify_in_passes(&mut *damaged.reader, &mut |n| told.push(n), records_per_pass).unwrap();
        assert_eq!(named(&report), one, "{records_per_pass}");
        assert_eq!((report.records, report.rows), (whole.records, whole.rows));
        assert!(told.is_sorted() && told.last() == Some(&report.records));
    }
}

#[test]
fn differences_are_counted_beyond_those_kept() {
    let disk = MemoryDisk::new();
    let mut scribe = Scribe::new();
    for id in 1..=1_100 {
        scribe.add(task(id), plain("ci"));
    }
    let rows_alone = Batch { puts: scribe.batch().puts, ..Batch::default() };
    disk.open().commit(&rows_alone).unwrap();
    let report = verify(&mut *disk.open().reader().unwrap(), &mut |_| {}).unwrap();
    assert_eq!((report.differences.len(), report.differences_total), (DIFFERENCES_KEPT_MAX, 1_100));
    assert_eq!((report.rows, report.records), (1_100, 0));
    assert_eq!(report.differences[0].sentence, "tasks holds a row for 1, but its history says there is none");
}

#[test]
fn sentences_say_what_is_wrong() {
    let disk = MemoryDisk::new();
    sample().1.iter().for_each(|batch| disk.open().commit(batch).unwrap());
    disk.spoil(&TASKS, &[Value::Int(2)], |values| values[4] = Value::from("idle"));
    let report = verify(&mut *disk.open().reader().unwrap(), &mut |_| {}).unwrap();
    let sentences: Vec<&str> = report.differences.iter().map(|difference| &*difference.sentence).collect();
    assert_eq!(sentences, [r#"tasks.status of task-2 is "idle", but its history says "queued""#]);
}

#[test]
fn a_database_in_use_is_clean_at_every_moment() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Sqlite::open(dir.path()).unwrap();
    let mut scribe = Scribe::new();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut reader = Sqlite::open_reader(dir.path()).unwrap();
        let is_over = &is_over;
        let verifier = scope.spawn(move || {
            let mut rounds = 0;
            while !is_over.load(std::sync::atomic::Ordering::Acquire) {
                assert_eq!(verify(&mut reader, &mut |_| {}).unwrap().differences, []);
                rounds += 1;
            }
            rounds
        });
        for id in 1..=200 {
            scribe.add(task(id), plain("ci"));
            if id > 1 {
                scribe.done(task(id - 1), "null");
            }
            store.commit(&scribe.batch()).unwrap();
        }
        is_over.store(true, std::sync::atomic::Ordering::Release);
        assert!(verifier.join().unwrap() > 0);
    });
}
