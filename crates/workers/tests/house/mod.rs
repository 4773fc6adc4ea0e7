//! An engine in memory, a worker in it, and what became of tasks, told as their records tell it.

#![allow(dead_code, reason = "each file of tests uses some of it")]

use engine::{Answer, Engine, EngineOptions, Heard, Request, Subscription};
use kernel::command::{Command, NewTask, Reply};
use kernel::ids::TaskId;
use kernel::names::{Actor, IdempotencyKey, QueueName, TypeName};
use kernel::queue::QueueConfig;
use kernel::record::{Entry, Owner, Payload, Record, TaskSpec};
use kernel::retry::RetryPolicy;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use store::BlobStore;
use store::blobs::MemoryBlobs;
use store::memory::MemoryDisk;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use workers::inside::{self, Performs, Place};

/// Tests that hang end; none waits so long.
pub const PATIENCE: Duration = Duration::from_secs(30);

pub struct House {
    pub engine: Engine,
    pub disk: MemoryDisk,
    heard: Subscription,
    told: Vec<Entry>,
}

pub struct Working {
    stop: Option<oneshot::Sender<()>>,
    loops: JoinHandle<()>,
}

impl Working {
    pub fn stop(&mut self) {
        _ = self.stop.take().expect("it is stopped once").send(());
    }

    /// As a process is: it says nothing to anybody.
    pub fn kill(self) {
        self.loops.abort();
    }

    pub async fn ended(self) {
        within(self.loops).await.expect("the worker does not panic");
    }
}

pub async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it comes to an end")
}

impl House {
    pub fn open() -> House {
        House::over(MemoryDisk::default())
    }

    pub fn over(disk: MemoryDisk) -> House {
        House::with(disk, Arc::<MemoryBlobs>::default(), PATIENCE)
    }

    /// Its blobs lie there.
    pub fn keeping(blobs: Arc<dyn BlobStore>) -> House {
        House::with(MemoryDisk::default(), blobs, PATIENCE)
    }

    /// Its engine stops after so long whatever still runs.
    pub fn stopping_within(stop_limit: Duration) -> House {
        House::with(MemoryDisk::default(), Arc::<MemoryBlobs>::default(), stop_limit)
    }

    pub fn with(disk: MemoryDisk, blobs: Arc<dyn BlobStore>, stop_limit: Duration) -> House {
        let options = EngineOptions { stop_limit, ..EngineOptions::default() };
        let engine = Engine::open(Box::new(disk.open()), blobs, options).expect("it opens");
        let heard = engine.subscribe();
        House { engine, disk, heard, told: Vec::new() }
    }

    /// A worker starts.
    pub fn work(&self, performs: impl Performs, place: Place) -> Working {
        let (stop, stopped) = oneshot::channel();
        let stopped = async move { _ = stopped.await };
        let loops = tokio::spawn(inside::work(self.engine.clone(), Arc::new(performs), place, stopped));
        Working { stop: Some(stop), loops }
    }

    pub async fn command(&self, command: Command) -> Reply {
        match self.engine.ask(Request::Command(command)).await {
            Ok(Answer::Reply(Ok(reply))) => reply,
            other => panic!("{other:?}"),
        }
    }

    pub async fn configure(&self, config: QueueConfig) {
        let (queue, by) = (QueueName::parse("q").unwrap(), Actor::parse("ann").unwrap());
        self.command(Command::ConfigureQueue { queue, config: Arc::new(config), by }).await;
    }

    pub async fn add(&self, kind: &str, input: &str, key: Option<&str>) -> TaskId {
        let retry = RetryPolicy { attempts: 3, backoff_ms: 1, backoff_max_ms: 1, jitter_percent: 0 };
        let spec = TaskSpec {
            idempotency_key: key.map(|key| IdempotencyKey::parse(key).unwrap()),
            retry: Some(retry),
            ..TaskSpec::new(QueueName::parse("q").unwrap(), TypeName::parse(kind).unwrap())
        };
        let tasks = vec![NewTask { spec, delay_ms: 0, input: Payload(input.into()) }];
        match self.command(Command::Add { tasks }).await {
            Reply::Added(added) => added[0].task,
            other => panic!("{other:?}"),
        }
    }

    pub async fn cancel(&self, task: TaskId) {
        self.command(Command::Cancel { task, by: Actor::parse("ann").unwrap(), reason: String::new() }).await;
    }

    /// Waits until this is recorded of the task.
    pub async fn until(&mut self, task: TaskId, recorded: impl Fn(&Record) -> bool) -> Record {
        let recorded = |entry: &&Entry| entry.owner == Owner::Task(task) && recorded(&entry.record);
        loop {
            if let Some(entry) = self.told.iter().find(recorded) {
                return entry.record.clone();
            }
            match within(self.heard.next()).await {
                // Some may have been read already, when others were missed.
                Heard::Records(entries) => {
                    let last = self.told.last().map(|entry| entry.seq);
                    self.told.extend(entries.iter().filter(|entry| Some(entry.seq) > last).cloned());
                }
                Heard::Missed => {
                    self.told = self.engine.read(|reader| reader.records(kernel::ids::RecordSeq(0), 100_000)).unwrap();
                }
                Heard::Ended => panic!("the engine ended; {task} has no such record in {:#?}", self.told),
            }
        }
    }

    /// Waits until the task has ended, and says how.
    pub async fn end(&mut self, task: TaskId) -> String {
        let ends = |record: &Record| {
            matches!(record, Record::TaskDone { .. } | Record::TaskFailed { .. } | Record::TaskCancelled { .. })
        };
        self.until(task, ends).await;
        let story = self.story(task);
        story.rsplit("; ").next().unwrap_or_default().to_owned()
    }

    /// What was recorded of a task so far, attempt by attempt.
    pub fn story(&self, task: TaskId) -> String {
        let mut words = Vec::new();
        for entry in self.told.iter().filter(|entry| entry.owner == Owner::Task(task)) {
            let word = match &entry.record {
                Record::TaskLeased { .. } => "leased".to_owned(),
                Record::TaskReleased { .. } => "released".to_owned(),
                Record::TaskRetried { failure, .. } => format!("retried {}: {}", failure.code, failure.message),
                Record::TaskFailed { failure, .. } => format!("failed {}: {}", failure.code, failure.message),
                Record::TaskDone { .. } => "done".to_owned(),
                Record::TaskCancelled { .. } => "cancelled".to_owned(),
                _ => continue,
            };
            words.push(word);
        }
        words.join("; ")
    }

    /// What a task that is done gave.
    pub fn output(&self, task: TaskId) -> String {
        let done = |entry: &&Entry| entry.owner == Owner::Task(task) && matches!(entry.record, Record::TaskDone { .. });
        let seq = self.told.iter().find(done).expect("it is done").seq;
        let payload = self.engine.payload(seq).unwrap();
        payload.expect("it is there").text().to_owned()
    }

    pub fn told(&self) -> &[Entry] {
        &self.told
    }
}
