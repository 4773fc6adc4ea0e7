//! The statistics: whatever the chunks and the restarts between them, they are those of one pass.

use engine::{Answer, Engine, EngineOptions, Projector, Report, Request, Stopped, Work, rest_of_minute};
use kernel::command::{Command, NewTask, Outcome};
use kernel::ids::RecordSeq;
use kernel::names::{Actor, QueueName, TypeName, WorkerName};
use kernel::record::{Failure, Owner, Payload, Record, TaskSpec};
use kernel::rollup::{FailedAt, Minute, Projection, Rollup, RollupKey};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use store::conformance::sample::sample;
use store::conformance::scribe::{self, Scribe};
use store::memory::MemoryDisk;
use store::sqlite::Sqlite;
use store::{Reader, RollupCursor, RollupQuery, Store};

const KEEP: Duration = Duration::from_secs(3_600);
/// Longer than any history here.
const LONG: Duration = Duration::from_secs(60);

fn projector(store: &dyn Store) -> Projector {
    Projector::new(store.reader().unwrap(), store.rollups().unwrap(), KEEP)
}

type All = (RollupCursor, Vec<String>, Vec<FailedAt>);

fn all(reader: &mut dyn Reader) -> All {
    let query = RollupQuery { limit: usize::MAX, ..RollupQuery::default() };
    let mut rows = Vec::new();
    let mut each = |(key, row)| rows.push(format!("{key:?} {}", serde_json::to_string(&row as &Rollup).unwrap()));
    reader.rollups(&query, &mut each).unwrap();
    (reader.rollup_cursor().unwrap(), rows, reader.rollup_failures(&query).unwrap())
}

/// What the sample's roll-ups are when so many records are folded at once, by a new projector each time if wanted.
fn folded(store: &mut dyn Store, at_once: usize, anew: bool) -> All {
    let (_, batches) = sample();
    batches.iter().for_each(|batch| store.commit(batch).unwrap());
    let mut one = projector(store);
    while one.step(at_once).unwrap() {
        if anew {
            one = projector(store);
        }
    }
    all(&mut *store.reader().unwrap())
}

#[test]
fn stopped_after_any_record_it_goes_on_as_if_it_had_not() {
    let whole = folded(&mut MemoryDisk::new().open(), 100_000, false);
    assert!(whole.1.iter().any(|row| row.contains("\"completed\"") && row.contains("\"failed\"")), "{:?}", whole.1);
    for at_once in [1, 2, 3, 7, 50] {
        for anew in [false, true] {
            assert_eq!(folded(&mut MemoryDisk::new().open(), at_once, anew), whole, "{at_once} at once, anew: {anew}");
        }
    }
    for at_once in [1, 7, 100_000] {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(folded(&mut Sqlite::open(folder.path()).unwrap(), at_once, true), whole, "{at_once} at once");
    }
}

/// The figures of each minute and queue, less what nothing happened in.
fn figures(rows: impl IntoIterator<Item = (RollupKey, Rollup)>) -> BTreeMap<String, String> {
    let mut sums = BTreeMap::<RollupKey, Rollup>::new();
    rows.into_iter().for_each(|(key, row)| sums.entry(key).or_default().merge(&row));
    sums.retain(|_, row| *row != Rollup::default());
    sums.into_iter().map(|(key, row)| (format!("{key:?}"), serde_json::to_string(&row).unwrap())).collect()
}

#[test]
fn from_any_instant_on_it_counts_what_came_since() {
    let (mut store, mut scribe) = (MemoryDisk::new().open(), Scribe::new());
    let mut minutes = 28_333_334;
    for id in 1..=12 {
        scribe.add(scribe::task(id), scribe::plain(if id % 3 == 0 { "ci" } else { "lint" }));
        scribe.lease(scribe::task(id));
        if id % 4 == 0 {
            minutes += 1;
            let next = scribe.last(&Owner::Task(scribe::task(id))).0 + 1;
            scribe.advance(next, Minute(minutes).start());
        }
        scribe.record(Owner::Task(scribe::task(id)), Record::TaskDone { digest: 1 });
        store.commit(&scribe.batch()).unwrap();
    }
    while projector(&store).step(5).unwrap() {}
    let mut reader = store.reader().unwrap();
    let entries = reader.records(RecordSeq::NONE, 1_000).unwrap();
    for first in &entries {
        // Everything is followed, and what came since is counted.
        let (mut since, mut trails) = (Projection::default(), BTreeMap::new());
        for entry in &entries {
            let Owner::Task(task) = &entry.owner else { continue };
            let mut before = Projection::default();
            let into = if entry.at >= first.at { &mut since } else { &mut before };
            match trails.get_mut(task) {
                Some(trail) => into.take(entry, trail),
                None => trails.extend(into.begin(entry).map(|trail| (*task, trail))),
            }
        }
        let minute = Minute::of(first.at);
        let mut rows: Vec<_> = rest_of_minute(&mut *reader, first.at).unwrap().unwrap().rows.into_iter().collect();
        let query = RollupQuery { from: Some(Minute(minute.0 + 1)), limit: 1_000, ..RollupQuery::default() };
        reader.rollups(&query, &mut |row| rows.push(row)).unwrap();
        assert_eq!(figures(rows), figures(since.rows), "from {:?}", first.seq);
    }
    let after = entries.last().unwrap().at.plus_us(1);
    assert_eq!(rest_of_minute(&mut *reader, after).unwrap(), Some(Projection::default()));
}

#[test]
fn what_was_deleted_before_it_was_folded_is_lost_and_told() {
    let (mut store, mut scribe) = (MemoryDisk::new().open(), Scribe::new());
    for id in [1, 2] {
        scribe.add(scribe::task(id), scribe::plain("ci"));
        scribe.lease(scribe::task(id));
        scribe.record(Owner::Task(scribe::task(id)), Record::TaskDone { digest: 1 });
    }
    store.commit(&scribe.batch()).unwrap();
    let owner = Owner::Task(scribe::task(1));
    let last = scribe.last(&owner);
    scribe.record(owner, Record::TaskDeleted { queue: scribe::queue("ci"), by: scribe::actor("ada") });
    let mut batch = scribe.batch();
    batch.prunes = vec![last];
    store.commit(&batch).unwrap();
    assert!(!projector(&store).step(100).unwrap());
    let (cursor, rows, _) = all(&mut *store.reader().unwrap());
    assert_eq!(cursor.lost, 3);
    assert!(rows.len() == 1 && rows[0].contains(r#""added":1,"started":1,"completed":1"#), "{rows:?}");
}

fn open(disk: &MemoryDisk) -> Engine {
    let blobs: Arc<store::blobs::MemoryBlobs> = Arc::default();
    Engine::open(Box::new(disk.open()), blobs, EngineOptions::default()).unwrap()
}

fn ask(engine: &Engine, request: Request) -> Answer {
    engine.ask_blocking(request).unwrap()
}

/// Adds a task and has it worked off; gives back how it ended.
fn work(engine: &Engine, outcome: Outcome) {
    let (queue, kind) = (QueueName::parse("q").unwrap(), TypeName::parse("t").unwrap());
    let new = NewTask { spec: TaskSpec::new(queue, kind.clone()), delay_ms: 0, input: Payload::null() };
    ask(engine, Request::Command(Command::Add { tasks: vec![new] }));
    let poll = |want, results| {
        let (worker, queues) = (WorkerName::parse("w").unwrap(), Vec::new().into());
        Request::Work(Work { worker, types: vec![kind.clone()].into(), queues, want, wait_ms: 0, results, holding: vec![] })
    };
    let Answer::Worked(worked) = ask(engine, poll(1, Vec::new())) else { panic!("no work") };
    let grant = &worked.deliveries[0].grant;
    ask(engine, poll(0, vec![Report { task: grant.task, fence: grant.fence, outcome }]));
}

#[test]
fn an_engine_keeps_its_statistics_over_a_restart() {
    let disk = MemoryDisk::new();
    let engine = open(&disk);
    work(&engine, Outcome::Done { output: Payload::null() });
    let failure = Failure { code: "x".into(), message: "no".into() };
    work(&engine, Outcome::Failed { failure, retryable: false, retry_after_ms: None });
    let count = |engine: &Engine| {
        let newest = engine.read(|reader| reader.last_record()).unwrap();
        let state = engine.rollups_now(LONG).unwrap();
        assert!(state.cursor.seq >= newest && state.trouble.is_none(), "{state:?}");
        let query = RollupQuery { limit: 100, ..RollupQuery::default() };
        let mut sum = Rollup::default();
        engine.read(|reader| reader.rollups(&query, &mut |(_, row)| sum.merge(&row))).unwrap();
        (sum.added, sum.started, sum.completed, sum.failed, sum.wait.total(), sum.duration.total())
    };
    assert_eq!(count(&engine), (2, 2, 1, 1, 2, 2));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(engine.stop()), Stopped::Drained);
    let engine = open(&disk);
    assert_eq!(count(&engine), (2, 2, 1, 1, 2, 2));
    work(&engine, Outcome::Done { output: Payload::null() });
    let boost = Command::BoostQueue {
        queue: QueueName::parse("q").unwrap(),
        on: kernel::queue::BoostOn { key: None },
        boost: kernel::priority::Priority::HIGH,
        by: Actor::parse("ann").unwrap(),
    };
    ask(&engine, Request::Command(boost));
    assert_eq!(count(&engine), (3, 3, 2, 1, 3, 3));
}
