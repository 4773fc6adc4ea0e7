//! A writer that does not come to an end: it is told, it is on record when it moves again, and when it does not the engine ends
//! and nothing that was acknowledged is lost.

use engine::{Answer, Engine, EngineOptions, Request, Stopped, WatchdogOptions};
use kernel::command::{Command, NewTask, Reply};
use kernel::ids::{RecordSeq, TaskId};
use kernel::names::{QueueName, TypeName};
use kernel::needs::{Begun, Need};
use kernel::record::{Entry, Payload, Record, TaskSpec};
use kernel::row::Row;
use kernel::watchdog::Standstill;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use store::memory::{Memory, MemoryDisk};
use store::{Batch, Reader, RollupStore, Store, StoreError};

/// Shut, no commit comes to its end.
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
}

struct Hanging {
    inner: Memory,
    gate: Arc<Gate>,
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
        drop(self.gate.changed.wait_while(self.gate.shut.lock().unwrap(), |shut| *shut).unwrap());
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

fn open(disk: &MemoryDisk, gate: &Arc<Gate>, exit_after: Duration) -> Engine {
    let store = Hanging { inner: disk.open(), gate: gate.clone() };
    let watchdog = WatchdogOptions { after: Duration::from_millis(100), exit_after };
    let blobs: Arc<store::blobs::MemoryBlobs> = Arc::default();
    Engine::open(Box::new(store), blobs, EngineOptions { watchdog, ..EngineOptions::default() }).unwrap()
}

fn add() -> Request {
    let spec = TaskSpec::new(QueueName::parse("q").unwrap(), TypeName::parse("t").unwrap());
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

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[test]
fn a_commit_that_hangs_is_told_and_on_record_when_it_has_ended() {
    let (disk, gate) = (MemoryDisk::new(), Arc::<Gate>::default());
    let engine = open(&disk, &gate, Duration::from_secs(600));
    assert_eq!(engine.watchdog().trips, 0);
    gate.set(true);
    let asking = engine.clone();
    let task = std::thread::spawn(move || added(asking.ask_blocking(add()).unwrap()));
    until("it is told", || engine.watchdog().tripped.is_some_and(|tripped| tripped.reason == Standstill::TickHung));
    assert!(engine.watchdog().tripped.unwrap().to_string().starts_with("the writer has not finished a batch for"));
    gate.set(false);
    let task = task.join().unwrap();
    until("it moves again", || engine.watchdog().tripped.is_none());
    let shard = || -> Vec<Record> {
        let of_watchdog =
            |entry: &&Entry| matches!(entry.record, Record::WatchdogTripped { .. } | Record::WatchdogRecovered { .. });
        disk.read(|durable| durable.entries().filter(of_watchdog).map(|entry| entry.record.clone()).collect())
    };
    until("both are on record", || shard().len() == 2);
    assert_eq!(shard()[0], Record::WatchdogTripped { reason: Standstill::TickHung });
    assert!(matches!(shard()[1], Record::WatchdogRecovered { reason: Standstill::TickHung, lasted_ms: 100.. }));
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
    let again = open(&disk, &Arc::default(), Duration::from_secs(600));
    assert!(again.read(|reader| reader.task(acknowledged)).unwrap().is_some());
    assert_eq!(wait(again.stop()), Stopped::Drained);
    gate.set(false);
    _ = hanging.join();
}

#[test]
fn memory_is_read_again_when_that_is_wanted() {
    let disk = MemoryDisk::new();
    let engine = open(&disk, &Arc::default(), Duration::from_secs(600));
    let task = added(engine.ask_blocking(add()).unwrap());
    assert!(matches!(engine.ask_blocking(Request::Reload), Ok(Answer::Noted)));
    assert!(matches!(engine.ask_blocking(Request::Explain { task }), Ok(Answer::Explained(Ok(_)))));
    assert!(matches!(engine.ask_blocking(Request::Backlog), Ok(Answer::Backlog(backlog)) if !backlog.idle));
    assert_eq!(wait(engine.stop()), Stopped::Drained);
}
