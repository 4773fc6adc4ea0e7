use super::*;
use crate::chain::{self, Pace, Wanted};
use crate::conformance;
use crate::conformance::sample::{sample, tag};
use crate::conformance::scribe::{Scribe, flow, node, path, plain, plain_run, queue, run, task};
use crate::store::{ApprovalQuery, NodeQuery, RunQuery, Stamp, TaskQuery};
use crate::verify::verify;
use checkpoint::Marks;
use kernel::ids::RecordSeq;
use kernel::names::{IdempotencyKey, NodeId};
use kernel::record::{Owner, Record, TaskSpec};
use kernel::row::Table;
use kernel::run::{NodeAt, RunStatus};
use kernel::task::Status;
use statements::{COLD, RUN_ENDED_AT_OFFSET};
use tempfile::TempDir;

fn fresh() -> (TempDir, Sqlite) {
    let dir = tempfile::tempdir().unwrap();
    let store = Sqlite::open(dir.path()).unwrap();
    (dir, store)
}

fn with_sample() -> (TempDir, Sqlite) {
    let (dir, mut store) = fresh();
    sample().1.iter().for_each(|batch| store.commit(batch).unwrap());
    (dir, store)
}

#[test]
fn sqlite_conforms() {
    conformance::check(|| {
        let dir = tempfile::tempdir().unwrap();
        Box::new(move || Box::new(Sqlite::open(dir.path()).unwrap()))
    });
}

#[test]
fn one_server_at_a_time() {
    let (dir, store) = fresh();
    let Err(StoreError::Taken(sentence)) = Sqlite::open(dir.path()) else { panic!("opened twice") };
    let expected = format!(
        "another signaller (process {}) is using {}: stop it first, or give this one a directory of its own",
        std::process::id(),
        dir.path().display()
    );
    assert_eq!(sentence, expected);
    drop(store);
    Sqlite::open(dir.path()).unwrap();
}

#[test]
#[cfg(unix)]
fn the_directory_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("a/b");
    let store = Sqlite::open(&inner).unwrap();
    assert_eq!(std::fs::metadata(&inner).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(store.describe().starts_with("SQLite 3."), "{}", store.describe());
    assert!(store.describe().ends_with("a/b"), "{}", store.describe());
}

#[test]
fn commits_are_flushed_and_the_log_is_ours_to_move() {
    let (_dir, store) = fresh();
    let pragma = |name| store.db.pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0)).unwrap();
    for (name, expected) in [
        ("synchronous", 2),
        ("fullfsync", 1),
        ("checkpoint_fullfsync", 1),
        ("wal_autocheckpoint", 0),
        ("mmap_size", 0),
        ("temp_store", 2),
        ("page_size", 4_096),
        ("cache_size", -16_384),
        ("busy_timeout", 5_000),
    ] {
        // `mmap_size` answers nothing where it was compiled out.
        assert_eq!(pragma(name), rusqlite::types::Value::Integer(expected), "{name}");
    }
    assert_eq!(pragma("journal_mode"), rusqlite::types::Value::Text("wal".into()));
}

/// What a reader without the lock finds in a directory.
fn records_read(dir: &Path) -> u64 {
    let report = verify(&mut Sqlite::open_reader(dir).unwrap(), &mut |_| {}).unwrap();
    assert_eq!(report.differences, []);
    report.records
}

#[test]
fn a_reader_needs_no_server_and_minds_none() {
    let records: u64 = sample().1.iter().map(|batch| batch.entries.len() as u64).sum();
    let (dir, store) = with_sample();
    assert_eq!(records_read(dir.path()), records, "a server is running");
    // A server that was killed leaves the log behind, with nothing in the database itself.
    let crashed = tempfile::tempdir().unwrap();
    for name in ["signaller.db", "signaller.db-wal"] {
        std::fs::copy(dir.path().join(name), crashed.path().join(name)).unwrap();
    }
    assert_eq!(records_read(crashed.path()), records, "a server was killed");
    drop(store);
    assert_eq!(records_read(dir.path()), records, "a server has stopped");
    Sqlite::open(crashed.path()).unwrap();
    assert_eq!(records_read(crashed.path()), records, "a server was started again");
}

#[test]
fn a_reader_can_change_nothing() {
    let (dir, _store) = with_sample();
    let reader = connect(&place::database(dir.path()), Role::Reader).unwrap();
    assert!(reader.execute_batch("DELETE FROM tasks").is_err());
}

fn refusal<T>(opened: Result<T, StoreError>) -> String {
    match opened {
        Ok(_) => panic!("it opened"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_cannot_be_opened_is_refused_with_a_sentence() {
    let (dir, store) = fresh();
    drop(store);
    let path = place::database(dir.path());
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    for sentence in [refusal(Sqlite::open(dir.path())), refusal(Sqlite::open_reader(dir.path()))] {
        assert!(sentence.contains("was written by a newer signaller"), "{sentence}");
    }
    assert!(matches!(Sqlite::open(dir.path()), Err(StoreError::Newer(_))));

    std::fs::remove_file(&path).unwrap();
    assert!(refusal(Sqlite::open_reader(dir.path())).contains("there is no database at"));
    std::fs::write(&path, "this is no database, but it is long enough to look like one for a while".repeat(100)).unwrap();
    assert!(refusal(Sqlite::open(dir.path())).contains("not a database"));
    assert!(refusal(Sqlite::open(&path)).contains("cannot be made"), "a file where the directory belongs");
}

#[test]
fn a_query_that_takes_too_long_is_stopped() {
    let (dir, mut store) = fresh();
    let mut scribe = Scribe::new();
    for id in 1..=3_000 {
        scribe.add(task(id), TaskSpec { tags: vec![tag("a"), tag("b")], ..plain("ci") });
    }
    store.commit(&scribe.batch()).unwrap();
    let mut reader = Sqlite::open_reader(dir.path()).unwrap();
    let query = TaskQuery { tag: Some(tag("none")), limit: 10, ..TaskQuery::default() };
    assert_eq!(reader.tasks(&query).unwrap(), []);
    reader.answer_within(Duration::ZERO);
    let Err(StoreError::Slow(sentence)) = reader.tasks(&query) else { panic!("it was not stopped") };
    assert_eq!(sentence, reader::SLOW);
    // A scan of everything takes as long as it takes, and the reader goes on after a refusal.
    let mut rows = 0;
    reader.scan(&TASKS, &mut |_| rows += 1).unwrap();
    assert_eq!(rows, 3_000);
    reader.answer_within(Duration::from_secs(5));
    assert_eq!(reader.tasks(&query).unwrap(), []);
}

/// The steps by which SQLite goes about it.
fn plan(store: &Sqlite, sql: &str) -> Vec<String> {
    let mut plan = store.db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let (mut steps, mut plan) = (plan.raw_query(), Vec::new());
    while let Some(step) = steps.next().unwrap() {
        plan.push(step.get::<_, String>(3).unwrap());
    }
    plan
}

#[test]
fn cold_rows_and_lists_are_found_by_index() {
    let (_dir, store) = with_sample();
    let of = |table: &'static Table, rest: &str| format!("{} {rest}", statements::of(table).select);
    let tasks = |query: TaskQuery| of(&TASKS, &reader::conditions(&query).0);
    let runs_by = |query: RunQuery| of(&RUNS, &runs::runs(&query).0);
    let nodes = |query: NodeQuery| of(&NODES, &runs::nodes(&query).0);
    let ci = || TaskQuery { queue: Some(queue("ci")), ..TaskQuery::default() };
    let running = RunQuery { status: Some(RunStatus::Running), workflow: Some(flow("lint")), ..RunQuery::default() };
    let keyed = RunQuery {
        workflow: Some(flow("lint")),
        idempotency_key: Some(IdempotencyKey::parse("k").unwrap()),
        ..RunQuery::default()
    };
    let all = || NodeQuery::of(run(1), 10);
    let after = Some((path("a[0]"), NodeId::parse("b").unwrap()));
    let asking = |workflow, after| runs::approvals(&ApprovalQuery { workflow, after, limit: 1 }).0;
    let asked = Some((kernel::time::Time::ZERO, NodeAt { run: run(1), frame: path("a[0]"), node: NodeId::parse("b").unwrap() }));
    for (sql, index) in [
        (COLD.task.clone(), "PRIMARY KEY"),
        (COLD.by_idempotency_key.clone(), "tasks_idempotency"),
        (COLD.dead.clone(), "tasks_dead"),
        (reader::DEAD_COUNTS.into(), "tasks_dead"),
        (tasks(TaskQuery { dead: true, ..ci() }), "tasks_dead"),
        (tasks(TaskQuery { dead: true, status: Some(Status::Failed), ..ci() }), "tasks_dead"),
        (tasks(ci()), "PRIMARY KEY"),
        (tasks(TaskQuery::default()), "PRIMARY KEY"),
        (COLD.run.clone(), "PRIMARY KEY"),
        (COLD.run_frames.clone(), "PRIMARY KEY (run=?)"),
        (COLD.run_nodes.clone(), "PRIMARY KEY (run=?)"),
        (COLD.run_by_key.clone(), "runs_idempotency (workflow=? AND idempotency_key=?)"),
        (COLD.runs_ended.clone(), "runs_ended (ended_at>? AND ended_at<?)"),
        (RUN_ENDED_AT_OFFSET.into(), "COVERING INDEX runs_ended"),
        (runs_by(RunQuery::default()), "PRIMARY KEY"),
        (runs_by(running), "runs_live"),
        (runs_by(RunQuery { paused: Some(true), ..RunQuery::default() }), "runs_live"),
        (runs_by(keyed), "runs_idempotency"),
        (nodes(all()), "PRIMARY KEY (run=?)"),
        (nodes(NodeQuery { frame: Some(path("a[0]")), ..all() }), "PRIMARY KEY (run=? AND frame=?)"),
        (nodes(NodeQuery { after, ..all() }), "PRIMARY KEY (run=? AND (frame,node)>(?,?))"),
        (of(&NODES, &asking(None, None)), "nodes_asking"),
        (of(&NODES, &asking(None, asked.clone())), "nodes_asking (since>?)"),
        (of(&WORKFLOWS, runs::workflow(&flow("lint"), None).0), "name=?"),
    ] {
        let plan = plan(&store, &sql);
        assert!(plan.len() == 1 && plan[0].contains(index), "{sql}: {plan:?}");
    }
    // With a second table to look into: still nothing is scanned, and nothing sorted.
    for (sql, index) in [
        (of(&NODES, &asking(Some(flow("lint")), None)), "nodes_asking"),
        (of(&FRAMES, &format!("{WHOLE} ORDER BY run, path")), "runs_live"),
        (of(&NODES, &format!("{WHOLE} ORDER BY run, frame, node")), "runs_live"),
    ] {
        let plan = plan(&store, &sql);
        assert!(plan.iter().any(|step| step.contains(index)), "{sql}: {plan:?}");
        let slow = |step: &String| step.contains("TEMP B-TREE") || step == "SCAN nodes" || step == "SCAN frames";
        assert!(!plan.iter().any(slow), "{sql}: {plan:?}");
    }
}

#[test]
fn the_views_for_people_show_every_row() {
    let (_dir, store) = with_sample();
    for (view, table) in [
        ("readable_tasks", "tasks"),
        ("task_payloads", "tasks"),
        ("readable_records", "records"),
        ("readable_runs", "runs"),
        ("readable_nodes", "nodes"),
    ] {
        let rows = |name: &str| {
            let mut select = store.db.prepare(&format!("SELECT * FROM {name}")).unwrap();
            let columns = select.column_count();
            let (mut found, mut rows) = (0, select.raw_query());
            while let Some(row) = rows.next().unwrap() {
                (0..columns).for_each(|column| drop(row.get::<_, rusqlite::types::Value>(column).unwrap()));
                found += 1;
            }
            found
        };
        assert!(rows(view) > 0 && rows(view) == rows(table), "{view}");
    }
    let line = |sql: &str| store.db.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
    let paused = line("SELECT workflow || ' ' || paused || ' ' || started FROM readable_runs WHERE paused IS NOT NULL");
    assert!(paused.starts_with("lint \"quoted\" 2023-11-14 22:13:20."), "{paused}");
    assert_eq!(line("SELECT parent || ' ' || parent_node FROM readable_runs WHERE parent IS NOT NULL"), "run-34 sub");
    let asking = line(
        "SELECT group_concat(run || ' ' || workflow || ' ' || node) FROM readable_nodes WHERE status = 'started' AND work = 'asking'",
    );
    assert_eq!(asking, "100 refund ask,101 lint ask");
}

#[test]
fn a_long_history_is_stopped_too() {
    let (dir, mut store) = fresh();
    let mut scribe = Scribe::new();
    scribe.start(run(1), plain_run("lint"));
    for id in 1..=200 {
        scribe.worked(&node(1, "", &format!("n{id}")), task(id));
    }
    store.commit(&scribe.batch()).unwrap();
    let mut reader = Sqlite::open_reader(dir.path()).unwrap();
    reader.answer_within(Duration::ZERO);
    let slow = |answer: Result<Vec<Entry>, StoreError>| matches!(answer, Err(StoreError::Slow(_)));
    assert!(slow(reader.run_history(run(1), RecordSeq::NONE, 10, true)));
    assert!(slow(reader.history(RecordSeq(1), 10)));
    // The moment it was looking at is let go.
    assert!(reader.hold().and_then(|()| reader.release()).is_ok());
    reader.answer_within(Duration::from_secs(5));
    assert_eq!(reader.run_history(run(1), RecordSeq::NONE, usize::MAX, true).unwrap().len(), 1 + 200 * 5);
    // A moment that is held is the one that is looked at, and stays held.
    reader.hold().unwrap();
    scribe.record(
        Owner::Run(run(1)),
        Record::RunPaused { reason: String::new(), by: conformance::scribe::actor("ada"), told: true },
    );
    store.commit(&scribe.batch()).unwrap();
    let count = |reader: &mut SqliteReader| reader.run_history(run(1), RecordSeq::NONE, usize::MAX, false).unwrap().len();
    assert_eq!((count(&mut reader), count(&mut reader)), (1 + 200 * 2, 1 + 200 * 2));
    reader.release().unwrap();
    assert_eq!(count(&mut reader), 2 + 200 * 2);
}

/// However its records are looked for, a run's history is the same: along the chains alone, in the order of the records
/// alone, or from there on along the chains.
#[test]
fn a_history_is_the_same_whichever_way_it_is_read() {
    let (_dir, mut store) = with_sample();
    let mut scribe = sample().0;
    for id in 200..=210 {
        scribe.worked(&node(100, "", &format!("n{id}")), task(id));
        scribe.add(task(1_000 + id), plain("ci"));
    }
    store.commit(&scribe.batch()).unwrap();
    let now = cold::Now { db: &store.db, is_late: &|| false };
    let history =
        |wanted: &Wanted, walked_max, scanned_max| chain::run_history(&now, wanted, Pace { walked_max, scanned_max }).unwrap();
    for id in [100, 101, 102, 106, 109, 999] {
        for tasks in [false, true] {
            let whole = Wanted { run: run(id), after: RecordSeq::NONE, limit: usize::MAX, tasks };
            let all = history(&whole, usize::MAX, 0);
            for (walked_max, scanned_max) in [(0, 0), (0, 7), (0, usize::MAX), (40, 3), (usize::MAX, 0)] {
                let stamps = chain::run_stamps(&now, run(id), Pace { walked_max, scanned_max }).unwrap();
                let expected: Vec<Stamp> = all.iter().map(|entry| Stamp { seq: entry.seq, at: entry.at }).collect();
                assert!(!tasks || stamps == expected, "{id}: {walked_max} {scanned_max}");
            }
            assert!(id != 100 || all.len() > if tasks { 50 } else { 30 }, "{}", all.len());
            for (after, limit) in [(0, usize::MAX), (0, 3), (9, 1), (30, 20), (60, 0), (999_999, 5)] {
                let wanted = Wanted { after: RecordSeq(after), limit, ..whole };
                let rest: Vec<Entry> = all.iter().filter(|entry| entry.seq > wanted.after).take(limit).cloned().collect();
                for (walked_max, scanned_max) in [(0, 0), (0, 7), (0, 40), (0, usize::MAX), (5, 30), (40, 3), (usize::MAX, 0)] {
                    let found = history(&wanted, walked_max, scanned_max);
                    assert_eq!(found, rest, "{id} {tasks} after {after} limit {limit}: {walked_max} {scanned_max}");
                }
            }
        }
    }
}

/// What is damaged does not hide the rest: a chain that leads astray, a record that does not decode, one that is gone.
#[test]
fn a_damaged_history_is_found_as_far_as_it_goes() {
    let (dir, mut store) = fresh();
    let mut scribe = Scribe::new();
    scribe.start(run(1), plain_run("lint"));
    for id in 1..=3 {
        scribe.worked(&node(1, "", &format!("n{id}")), task(id));
        scribe.add(task(100 + id), plain("ci"));
    }
    store.commit(&scribe.batch()).unwrap();
    let mut reader = Sqlite::open_reader(dir.path()).unwrap();
    let whole: Vec<RecordSeq> = reader.run_stamps(run(1)).unwrap().iter().map(|stamp| stamp.seq).collect();
    assert_eq!(whole.len(), 1 + 3 * 5);
    let db = Connection::open(place::database(dir.path())).unwrap();
    let (astray, garbled, gone) = (whole[5], whole[10], whole[0]);
    db.execute("UPDATE records SET prev = seq WHERE seq = ?1", [astray.0 as i64]).unwrap();
    let stamps = |reader: &mut SqliteReader| -> Vec<RecordSeq> {
        reader.run_stamps(run(1)).unwrap().iter().map(|stamp| stamp.seq).collect()
    };
    assert_eq!(stamps(&mut reader), whole);
    db.execute("UPDATE records SET body = '{}' WHERE seq = ?1", [garbled.0 as i64]).unwrap();
    assert_eq!(stamps(&mut reader), whole);
    let bad: Vec<RecordSeq> =
        reader.entries(&whole).unwrap().iter().filter_map(|entry| entry.as_ref().err()).map(|e| e.0).collect();
    assert_eq!(bad, [garbled]);
    db.execute("DELETE FROM records WHERE seq = ?1", [gone.0 as i64]).unwrap();
    assert_eq!(stamps(&mut reader), whole[1..]);
    assert_eq!(reader.entries(&whole).unwrap().len(), whole.len() - 1);
}

/// Counts what is looked at: rows, and records of whoever.
struct Counting<'a> {
    now: cold::Now<'a>,
    looks: std::cell::Cell<usize>,
}

impl Counting<'_> {
    fn count(&self, looks: usize) {
        self.looks.set(self.looks.get() + looks);
    }
}

impl chain::Moment for Counting<'_> {
    fn record(&self, seq: RecordSeq, payload: bool) -> Result<Option<Entry>, StoreError> {
        self.count(1);
        self.now.record(seq, payload)
    }

    fn lasts(&self, table: &'static Table, number: i64, limit: usize) -> Result<Vec<RecordSeq>, StoreError> {
        let lasts = self.now.lasts(table, number, limit)?;
        self.count(lasts.len());
        Ok(lasts)
    }

    fn scan(&self, after: RecordSeq, each: &mut dyn FnMut(Stamp, &str) -> Result<bool, StoreError>) -> Result<(), StoreError> {
        self.now.scan(after, &mut |stamp, owner| {
            self.count(1);
            each(stamp, owner)
        })
    }

    fn first_of(&self, run: kernel::ids::RunId) -> Result<Option<RecordSeq>, StoreError> {
        self.now.first_of(run)
    }

    fn run_of(&self, task: kernel::ids::TaskId) -> Result<Option<kernel::ids::RunId>, StoreError> {
        self.count(1);
        self.now.run_of(task)
    }
}

#[test]
fn all_pages_of_a_wide_run_cost_what_they_hold() {
    let (_dir, mut store) = fresh();
    let mut scribe = Scribe::new();
    scribe.start(run(1), plain_run("lint"));
    for id in 1..=2_000 {
        scribe.worked(&node(1, "", &format!("n{id}")), task(id));
    }
    store.commit(&scribe.batch()).unwrap();
    let now = cold::Now { db: &store.db, is_late: &|| false };
    let counting = Counting { now, looks: std::cell::Cell::new(0) };
    let mut wanted = Wanted { run: run(1), after: RecordSeq::NONE, limit: 500, tasks: true };
    let pace = Pace { walked_max: 200, ..Pace::USUAL };
    let (mut records, mut pages) = (0, 0);
    loop {
        let page = chain::run_history(&counting, &wanted, pace).unwrap();
        let Some(last) = page.last() else { break };
        (wanted.after, records, pages) = (last.seq, records + page.len(), pages + 1);
    }
    assert_eq!((records, pages), (1 + 2_000 * 5, 21));
    // Each record is come across and then read, its task is asked for, and each page begins by finding that the run is wide.
    let most = 3 * records + (pages + 1) * (pace.walked_max + 1);
    assert!(counting.looks.get() <= most, "{} looks for {records} records", counting.looks.get());
}

#[test]
fn a_row_that_does_not_decode_is_named() {
    let (dir, mut store) = with_sample();
    let db = Connection::open(place::database(dir.path())).unwrap();
    db.execute_batch("UPDATE tasks SET worker = CAST(x'ff' AS TEXT) WHERE id = 10").unwrap();
    let mut reader = store.reader().unwrap();
    for sentence in [
        refusal(store.load(&mut |_| {})),
        refusal(store.rows(&[Need::Task(task(10))])),
        refusal(reader.task(task(10))),
        refusal(reader.tasks(&TaskQuery { limit: 100, ..TaskQuery::default() })),
    ] {
        assert!(sentence.contains("tasks.worker: not UTF-8"), "{sentence}");
    }
    db.execute_batch("UPDATE records SET prev = seq WHERE seq = 2; UPDATE records SET body = '{}' WHERE seq = 3").unwrap();
    let pay = "(SELECT \"last\" FROM nodes WHERE run = 100 AND node = 'pay')";
    db.execute_batch(&format!("UPDATE records SET prev = 2 WHERE seq = {pay}")).unwrap();
    let pay_last: i64 = db.query_row(&format!("SELECT {pay}"), [], |row| row.get(0)).unwrap();
    let pay_last = RecordSeq(pay_last as u64);
    for (sentence, part) in [
        (refusal(reader.history(RecordSeq(2), 10)), "records.prev: record 2: its chain leads astray"),
        (refusal(reader.history(RecordSeq(3), 10)), "records.body: record 3:"),
        (refusal(reader.records(RecordSeq(0), 10)), "records.body: record 3:"),
        (refusal(reader.run_history(run(100), RecordSeq(0), 10, true)), "its chain leads astray"),
        (refusal(store.begun(&[pay_last])), "its chain leads astray"),
    ] {
        assert!(sentence.contains(part), "{sentence}");
    }
}

fn log_bytes(dir: &Path) -> u64 {
    std::fs::metadata(dir.join("signaller.db-wal")).map_or(0, |file| file.len())
}

/// Commits batches of 50 tasks, one after the other.
struct Load {
    scribe: Scribe,
    tasks: u64,
    frames: u32,
}

impl Load {
    /// How often the log started anew meanwhile; stops at the first time if that is all that is asked.
    fn write(&mut self, store: &mut Sqlite, batches: u64, until_restart: bool) -> u64 {
        let mut restarts = 0;
        for _ in 0..batches {
            for _ in 0..50 {
                self.tasks += 1;
                let key = IdempotencyKey::parse(&format!("key {}", self.tasks)).unwrap();
                self.scribe.add(task(self.tasks), TaskSpec { idempotency_key: Some(key), ..plain("ci") });
            }
            store.commit(&self.scribe.batch()).unwrap();
            let frames = store.log_frames.load(Ordering::Relaxed);
            restarts += u64::from(frames < self.frames);
            self.frames = frames;
            if until_restart && restarts > 0 {
                break;
            }
        }
        restarts
    }
}

#[test]
fn the_log_starts_anew_under_load_and_after_a_reader_let_go() {
    let marks = Marks { round: 8, round_max: 16, wanted: 64, rest: 8, max: 256 };
    let dir = tempfile::tempdir().unwrap();
    let mut store = Sqlite::open_marked(dir.path(), marks).unwrap();
    let mut load = Load { scribe: Scribe::new(), tasks: 0, frames: 0 };
    // A batch takes a dozen frames; nothing but the writer's own new starts keeps the log from growing for ever.
    assert!(load.write(&mut store, 200, false) > 1);
    let mut reader = store.reader().unwrap();
    reader.hold().unwrap();
    // A moment at which the log was empty lies in the database alone and allows one more new start.
    assert!(load.write(&mut store, 60, false) <= 1, "a held moment keeps the log");
    assert!(load.frames > 2 * marks.max, "{} frames", load.frames);
    reader.release().unwrap();
    assert_eq!(load.write(&mut store, 1_000, true), 1);
    assert_eq!(store.checkpoints.trouble(), None);
    drop(reader);
    drop(store);
    assert_eq!(log_bytes(dir.path()), 0, "the last one out moves all of it");
    assert_eq!(records_read(dir.path()), load.tasks);
}

#[test]
fn a_log_cut_off_anywhere_holds_whole_batches() {
    let (dir, store) = with_sample();
    let mut records = vec![0];
    sample().1.iter().for_each(|batch| records.push(records.last().unwrap() + batch.entries.len() as u64));
    let mut log = std::fs::read(dir.path().join("signaller.db-wal")).unwrap();
    log.truncate(32 + store.log_frames.load(Ordering::Relaxed) as usize * checkpoint::FRAME_BYTES as usize);
    let mut seen = std::collections::BTreeSet::new();
    for part in 0..=60 {
        let cut = tempfile::tempdir().unwrap();
        std::fs::copy(place::database(dir.path()), place::database(cut.path())).unwrap();
        std::fs::write(cut.path().join("signaller.db-wal"), &log[..log.len() * part / 60]).unwrap();
        drop(Sqlite::open(cut.path()).unwrap());
        let found = records_read(cut.path());
        assert!(records.contains(&found), "{found} records are no whole number of batches");
        seen.insert(found);
    }
    assert!(seen.len() > 3, "{seen:?}");
    drop(store);
}

#[test]
fn a_full_disk_fails_the_commit_and_nothing_else() {
    let (_dir, mut store) = fresh();
    let mut load = Load { scribe: Scribe::new(), tasks: 0, frames: 0 };
    load.write(&mut store, 2, false);
    let pages: i64 = store.db.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    // A database that may not grow meets the same error as a disk that cannot hold it.
    let set_max =
        |store: &Sqlite, pages: i64| store.db.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())).unwrap();
    set_max(&store, pages);
    for id in 1_000..1_200 {
        load.scribe.add(task(id), plain("ci"));
    }
    let batch = load.scribe.batch();
    assert!(refusal(store.commit(&batch)).contains("full"));
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.last_record().unwrap().0, 100);
    set_max(&store, i64::from(u32::MAX) - 1);
    store.commit(&batch).unwrap();
    assert_eq!(reader.last_record().unwrap().0, 300);
}

#[test]
fn databases_of_every_release_are_brought_up_to_date() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/databases");
    let mut files: Vec<PathBuf> = std::fs::read_dir(fixtures).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "sql"));
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let format: i64 = file.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok()).expect("a number");
        let dir = tempfile::tempdir().unwrap();
        let old = Connection::open(place::database(dir.path())).unwrap();
        old.execute_batch(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(old.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0)).unwrap(), format);
        drop(old);
        drop(Sqlite::open(dir.path()).unwrap());
        assert!(records_read(dir.path()) > 50, "{}", file.display());
    }
}

/// A file as format 1 left it, with rows and records in it.
fn format_1(path: &Path, batches: &[Batch]) {
    let old = Connection::open(path).unwrap();
    old.execute_batch(include_str!("migrations/0001_spine.sql")).unwrap();
    old.pragma_update(None, "user_version", 1).unwrap();
    for batch in batches {
        insert_records(&old, batch).unwrap();
        for row in &batch.puts {
            // Some columns came later.
            let later = |name: &str| match row.table.name {
                "tasks" => ["node", "generation", "held", "pause", "start_by", "trigger", "run"].contains(&name),
                "bulks" => name == "refused",
                "shards" => name == "behind",
                _ => false,
            };
            let columns: Vec<_> = row.table.columns.iter().filter(|(name, _)| !later(name)).collect();
            let names: Vec<String> = columns.iter().map(|(name, _)| format!("\"{name}\"")).collect();
            let places = vec!["?"; columns.len()].join(", ");
            let sql = format!("INSERT OR REPLACE INTO {} ({}) VALUES ({places})", row.table.name, names.join(", "));
            old.execute(&sql, rusqlite::params_from_iter(row.values[..columns.len()].iter().map(Bound))).unwrap();
        }
        for (table, key) in &batch.deletes {
            let sql = &statements::of(table).delete;
            old.execute(sql, rusqlite::params_from_iter(key.iter().map(Bound))).unwrap();
        }
    }
}

#[test]
fn a_file_of_format_1_keeps_everything() {
    let is_old = |batch: &Batch| batch.puts.iter().all(|row| TABLES[..5].contains(&row.table));
    let batches: Vec<Batch> = sample().1.into_iter().take_while(is_old).collect();
    assert!(batches.len() > 5);
    let (new_dir, mut new) = fresh();
    batches.iter().for_each(|batch| new.commit(batch).unwrap());

    let dir = tempfile::tempdir().unwrap();
    format_1(&place::database(dir.path()), &batches);
    assert!(refusal(Sqlite::open_reader(dir.path())).contains("start the server once"));
    let mut store = Sqlite::open(dir.path()).unwrap();
    for table in TABLES {
        let rows = |store: &Sqlite| {
            let mut rows = Vec::new();
            store.reader().unwrap().scan(table, &mut |row| rows.push(row)).unwrap();
            rows
        };
        assert_eq!(rows(&store), rows(&new), "{}", table.name);
    }
    assert_eq!(records_read(dir.path()), records_read(new_dir.path()));
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.dead_counts().unwrap(), [(queue("ci"), 2)]);
    let schema = |store: &Sqlite| {
        let mut select = store.db.prepare("SELECT name, tbl_name FROM sqlite_schema ORDER BY name").unwrap();
        let named = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        named.collect::<Result<Vec<(String, String)>, _>>().unwrap()
    };
    assert_eq!(schema(&store), schema(&new));
    // And it goes on from there.
    let (_, all) = sample();
    all[batches.len()..].iter().for_each(|batch| store.commit(batch).unwrap());
    assert_eq!(records_read(dir.path()), all.iter().map(|batch| batch.entries.len() as u64).sum::<u64>());
}
