//! What stands still, brought about: a commit that does not end, answers that do not get away, work that is not given to a worker
//! who waits for it. It is told, it is on record when it moves again, and when it does not the engine ends and nothing that was
//! acknowledged is lost.

use engine::{Answer, Engine, EngineOptions, Request, Stopped, WatchdogOptions, Work};
use kernel::command::{Command, NewTask, Reply};
use kernel::ids::{RecordSeq, TaskId};
use kernel::names::{QueueName, TypeName, WorkerName};
use kernel::needs::{Begun, Need};
use kernel::record::{Entry, Payload, Record, TaskSpec};
use kernel::row::Row;
use kernel::watchdog::Standstill;
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake};
use std::time::{Duration, Instant};
use store::memory::{Memory, MemoryDisk};
use store::{Batch, Reader, RollupStore, Store, StoreError};

/// Shut, nobody comes through: no commit to its end, or no answer to whom it is for.
#[derive(Default)]
struct Gate {
    shut: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    fn set(&self, shut: bool) {
        *self.shut.lock().unwrap() = shut;
        self.changed.notify_all();
    }

    fn pass(&self) {
        drop(self.changed.wait_while(self.shut.lock().unwrap(), |shut| *shut).unwrap());
    }
}

/// Whoever hands an answer over is held up by it.
impl Wake for Gate {
    fn wake(self: Arc<Gate>) {
        self.pass();
    }
}

struct Hanging {
    inner: Memory,
    gate: Arc<Gate>,
    /// What the writer is to do wrong from its next commit on.
    defect: Arc<Mutex<Option<&'static str>>>,
}

impl Store for Hanging {
    fn load(&mut self, each: &mut dyn FnMut(Row)) -> Result<(), StoreError> {
        self.inner.load(each)
    }

    fn last_at_us(&mut self) -> Result<i64, StoreError> {
        self.inner.last_at_us()
    }

    fn rows(&mut self, needs: &[Need]) -> Result<Vec<Row>, StoreError> {
        self.inner.rows(needs)
    }

    fn begun(&mut self, nodes: &[RecordSeq]) -> Result<Vec<Vec<Begun>>, StoreError> {
        self.inner.begun(nodes)
    }

    fn payload(&mut self, record: RecordSeq) -> Result<Option<Payload>, StoreError> {
        self.inner.payload(record)
    }

    fn commit(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.gate.pass();
        if std::thread::current().name() == Some("writer")
            && let Some(defect) = self.defect.lock().unwrap().take()
        {
            kernel::defects::activate(defect);
        }
        self.inner.commit(batch)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        self.inner.reader()
    }

    fn rollups(&self) -> Result<Box<dyn RollupStore>, StoreError> {
        self.inner.rollups()
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }
}

const AFTER: Duration = Duration::from_millis(100);
const NEVER: Duration = Duration::from_secs(600);

fn open(disk: &MemoryDisk, gate: &Arc<Gate>, exit_after: Duration) -> Engine {
    open_flawed(disk, gate, exit_after, &Arc::default())
}

fn open_flawed(disk: &MemoryDisk, gate: &Arc<Gate>, exit_after: Duration, defect: &Arc<Mutex<Option<&'static str>>>) -> Engine {
    let store = Hanging { inner: disk.open(), gate: gate.clone(), defect: defect.clone() };
    let watchdog = WatchdogOptions { after: AFTER, exit_after };
    let blobs: Arc<store::blobs::MemoryBlobs> = Arc::default();
    Engine::open(Box::new(store), blobs, EngineOptions { watchdog, ..EngineOptions::default() }).unwrap()
}

fn add() -> Request {
    add_of("t")
}

fn add_of(kind: &str) -> Request {
    let spec = TaskSpec::new(QueueName::parse("q").unwrap(), TypeName::parse(kind).unwrap());
    Request::Command(Command::Add { tasks: vec![NewTask { spec, delay_ms: 0, input: Payload::null() }] })
}

fn added(answer: Answer) -> TaskId {
    match answer {
        Answer::Reply(Ok(Reply::Added(added))) => added[0].task,
        other => panic!("{other:?}"),
    }
}

/// Waits until it is so.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let late = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < late, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What the watchdog has put on record.
fn noted(disk: &MemoryDisk) -> Vec<Record> {
    let of_watchdog = |entry: &&Entry| matches!(entry.record, Record::WatchdogTripped { .. } | Record::WatchdogRecovered { .. });
    disk.read(|durable| durable.entries().filter(of_watchdog).map(|entry| entry.record.clone()).collect())
}

fn trips(engine: &Engine, reason: Standstill) -> bool {
    engine.watchdog().tripped.is_some_and(|tripped| tripped.reason == reason)
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[test]
fn a_commit_that_hangs_is_told_and_on_record_when_it_has_ended() {
    let (disk, gate) = (MemoryDisk::new(), Arc::<Gate>::default());
    let engine = open(&disk, &gate, NEVER);
    assert_eq!(engine.watchdog().trips, 0);
    gate.set(true);
    let asking = engine.clone();
    let task = std::thread::spawn(move || added(asking.ask_blocking(add()).unwrap()));
    until("it is told", || trips(&engine, Standstill::TickHung));
    assert!(engine.watchdog().tripped.unwrap().to_string().starts_with("the writer has not finished a batch for"));
    gate.set(false);
    let task = task.join().unwrap();
    until("it moves again", || engine.watchdog().tripped.is_none());
    until("both are on record", || noted(&disk).len() == 2);
    assert_eq!(noted(&disk)[0], Record::WatchdogTripped { reason: Standstill::TickHung });
    assert!(matches!(noted(&disk)[1], Record::WatchdogRecovered { reason: Standstill::TickHung, lasted_ms: 100.. }));
    assert!(engine.read(|reader| reader.task(task)).unwrap().is_some());
    assert_eq!((wait(engine.stop()), engine.watchdog().trips), (Stopped::Drained, 1));
}

#[test]
fn a_commit_that_never_ends_ends_the_engine_and_loses_nothing() {
    let (disk, gate) = (MemoryDisk::new(), Arc::<Gate>::default());
    let engine = open(&disk, &gate, Duration::from_millis(300));
    let acknowledged = added(engine.ask_blocking(add()).unwrap());
    gate.set(true);
    let asking = engine.clone();
    let hanging = std::thread::spawn(move || asking.ask_blocking(add()).is_ok());
    let Stopped::Hung(why) = wait(engine.stopped()) else { panic!("it hangs") };
    assert!(why.contains("the writer has not finished a batch"), "{why}");
    assert!(!engine.is_up());

    // The process would be gone now.
    let again = open(&disk, &Arc::default(), NEVER);
    assert!(again.read(|reader| reader.task(acknowledged)).unwrap().is_some());
    assert_eq!(wait(again.stop()), Stopped::Drained);
    gate.set(false);
    _ = hanging.join();
}

#[test]
fn memory_is_read_again_when_that_is_wanted() {
    let disk = MemoryDisk::new();
    let engine = open(&disk, &Arc::default(), NEVER);
    let task = added(engine.ask_blocking(add()).unwrap());
    assert!(matches!(engine.ask_blocking(Request::Reload), Ok(Answer::Noted)));
    assert!(matches!(engine.ask_blocking(Request::Explain { task }), Ok(Answer::Explained(Ok(_)))));
    assert!(matches!(engine.ask_blocking(Request::Backlog), Ok(Answer::Backlog(backlog)) if !backlog.idle));
    assert_eq!(wait(engine.stop()), Stopped::Drained);
}

/// Asks for a task to be added, and does not let its answer in while `door` is shut.
fn add_behind(engine: &Engine, commits: &Gate, door: &Arc<Gate>) {
    // The answer must not be there before somebody waits for it.
    commits.set(true);
    let waker = door.clone().into();
    let mut asking = pin!(engine.ask(add()));
    assert!(matches!(asking.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Pending));
    door.set(true);
    commits.set(false);
    until("it is told", || trips(engine, Standstill::DispatchHung) || !engine.is_up());
    if engine.is_up() {
        door.set(false);
        added(wait(asking).unwrap());
    }
}

#[test]
fn answers_that_do_not_get_away_are_told_and_on_record_when_they_have() {
    let (disk, commits, door) = (MemoryDisk::new(), Arc::<Gate>::default(), Arc::<Gate>::default());
    let engine = open(&disk, &commits, NEVER);
    add_behind(&engine, &commits, &door);
    until("it moves again", || engine.watchdog().tripped.is_none());
    until("both are on record", || noted(&disk).len() == 2);
    assert_eq!(noted(&disk)[0], Record::WatchdogTripped { reason: Standstill::DispatchHung });
    assert!(matches!(noted(&disk)[1], Record::WatchdogRecovered { reason: Standstill::DispatchHung, lasted_ms: 100.. }));
    assert_eq!((wait(engine.stop()), engine.watchdog().trips), (Stopped::Drained, 1));
}

#[test]
fn answers_that_never_get_away_end_the_engine_and_lose_nothing() {
    let (disk, commits, door) = (MemoryDisk::new(), Arc::<Gate>::default(), Arc::<Gate>::default());
    let engine = open(&disk, &commits, AFTER);
    add_behind(&engine, &commits, &door);
    let Stopped::Hung(why) = wait(engine.stopped()) else { panic!("it hangs") };
    assert!(why.starts_with("what was committed has not left the writer for"), "{why}");
    let kept = disk.read(|durable| durable.entries().filter(|entry| matches!(entry.record, Record::TaskAdded { .. })).count());
    assert_eq!(kept, 1, "it was committed");
    door.set(false);
}

/// A worker waits, and a writer that offers nothing has work for it. Gives what the worker is told next.
fn work_not_given(disk: &MemoryDisk, exit_after: Duration) -> (Engine, std::thread::JoinHandle<Answer>) {
    let defect = Arc::new(Mutex::new(Some("nothing_offered")));
    let engine = open_flawed(disk, &Arc::default(), exit_after, &defect);
    // What it commits itself brings the writer to it; nobody asks for that.
    while defect.lock().unwrap().is_some() {
        added(engine.ask_blocking(add_of("u")).unwrap());
    }
    let (worker, types) = (WorkerName::parse("w").unwrap(), [TypeName::parse("t").unwrap()].into());
    let (queues, results, holding) = ([].into(), Vec::new(), Vec::new());
    let waiting = Request::Work(Work { worker, types, queues, want: 1, wait_ms: 60_000, results, holding });
    let asking = engine.clone();
    let worker = std::thread::spawn(move || asking.ask_blocking(waiting).unwrap_or(Answer::UnknownOutcome));
    until(
        "the worker waits",
        || matches!(engine.ask_blocking(Request::Status), Ok(Answer::Status(status)) if !status.workers.is_empty()),
    );
    added(engine.ask_blocking(add()).unwrap());
    (engine, worker)
}

#[test]
fn work_that_nobody_gives_to_a_worker_who_waits_is_told_and_memory_read_again_helps() {
    let disk = MemoryDisk::new();
    let (engine, worker) = work_not_given(&disk, NEVER);
    // Memory is read again, whoever waited is told to ask again, and so it gets its work.
    assert!(matches!(worker.join().unwrap(), Answer::UnknownOutcome));
    until("it is over", || engine.watchdog().tripped.is_none());
    until("both are on record", || noted(&disk).len() == 2);
    assert_eq!(noted(&disk)[0], Record::WatchdogTripped { reason: Standstill::BacklogIdle });
    assert!(matches!(noted(&disk)[1], Record::WatchdogRecovered { reason: Standstill::BacklogIdle, lasted_ms: 100.. }));
    assert_eq!((wait(engine.stop()), engine.watchdog().trips), (Stopped::Drained, 1));
}

#[test]
fn work_that_nobody_gives_to_a_worker_who_waits_ends_the_engine() {
    let disk = MemoryDisk::new();
    let (engine, worker) = work_not_given(&disk, AFTER);
    let Stopped::Hung(why) = wait(engine.stopped()) else { panic!("nothing moves") };
    assert!(why.starts_with("work that may run was not given to a worker that waits for it for"), "{why}");
    assert!(!engine.is_up());
    drop(worker);
    let again = open(&disk, &Arc::default(), NEVER);
    assert!(matches!(again.ask_blocking(Request::Backlog), Ok(Answer::Backlog(backlog)) if !backlog.idle));
    assert_eq!(
        disk.read(|durable| durable.rows(&kernel::row::TASKS).count()),
        disk.read(|durable| durable.entries().filter(|entry| matches!(entry.record, Record::TaskAdded { .. })).count())
    );
    assert_eq!(wait(again.stop()), Stopped::Drained);
}
