//! Writes histories for tests: takes records, folds them as the engine's state does, and gives batches as the engine's
//! tick does. It decides nothing, so a test may write what no engine would.

use crate::fold::{self, Fold};
use crate::store::Batch;
use kernel::frame::FramePath;
use kernel::ids::{BulkId, EventId, RecordSeq, RunId, TaskId};
use kernel::names::{Actor, NodeId, QueueName, TypeName, WorkflowName};
use kernel::node::{Started, Told, Went};
use kernel::record::{Entry, Owner, Payload, Record, TaskSpec};
use kernel::row::Row;
use kernel::run::{NodeAt, RunSpec};
use kernel::time::Time;
use kernel::workflow::Workflow;
use std::collections::BTreeSet;

pub struct Scribe {
    fold: Fold,
    seq: u64,
    now: Time,
    entries: Vec<Entry>,
    dirty: BTreeSet<Owner>,
    prunes: Vec<RecordSeq>,
}

impl Default for Scribe {
    fn default() -> Scribe {
        Scribe::new()
    }
}

impl Scribe {
    pub fn new() -> Scribe {
        let (fold, entries, dirty, prunes) = Default::default();
        Scribe { fold, seq: 0, now: Time::from_ms(1_700_000_000_000), entries, dirty, prunes }
    }

    /// The next record's number and time; both only rise.
    pub fn advance(&mut self, seq: u64, at: Time) {
        assert!(seq > self.seq && at >= self.now, "numbers and times only rise");
        (self.seq, self.now) = (seq - 1, at.plus_us(-1));
    }

    pub fn record(&mut self, owner: Owner, record: Record) -> RecordSeq {
        self.record_with(owner, record, None)
    }

    pub fn record_with(&mut self, owner: Owner, record: Record, payload: Option<Payload>) -> RecordSeq {
        self.seq += 1;
        self.now = self.now.plus_us(1);
        let (seq, prev) = (RecordSeq(self.seq), self.fold.last(&owner));
        let entry = Entry { seq, prev, at: self.now, owner: owner.clone(), record, payload };
        self.fold.apply(&entry);
        self.dirty.insert(owner);
        self.entries.push(entry);
        seq
    }

    /// Takes an owner away with its history, as the parts of a run go that is deleted.
    pub fn forget(&mut self, owner: &Owner) {
        self.prunes.push(self.fold.last(owner));
        self.fold.take(owner);
        self.dirty.insert(owner.clone());
    }

    /// What happened since the last one.
    pub fn batch(&mut self) -> Batch {
        let (entries, prunes) = (std::mem::take(&mut self.entries), std::mem::take(&mut self.prunes));
        let mut batch = Batch { entries, prunes, ..Batch::default() };
        for owner in std::mem::take(&mut self.dirty) {
            match self.fold.row(&owner) {
                Some(row) => batch.puts.push(row),
                None => batch.deletes.push(fold::place(&owner)),
            }
        }
        batch
    }

    pub fn row(&self, owner: &Owner) -> Option<Row> {
        self.fold.row(owner)
    }

    pub fn task_row(&self, id: TaskId) -> Row {
        self.fold.row(&Owner::Task(id)).expect("the test has added it")
    }

    pub fn last(&self, owner: &Owner) -> RecordSeq {
        self.fold.last(owner)
    }

    pub fn now(&self) -> Time {
        self.now
    }

    // Records that tests write again and again.

    pub fn add(&mut self, id: TaskId, spec: TaskSpec) -> RecordSeq {
        let input = Payload(format!(r#"{{"of":"{id}"}}"#).into());
        self.record_with(Owner::Task(id), Record::TaskAdded { spec: Box::new(spec) }, Some(input))
    }

    pub fn lease(&mut self, id: TaskId) -> RecordSeq {
        let worker = kernel::names::WorkerName::parse("w1").expect("a good name");
        let budget_until = self.now.plus_ms(60_000);
        let lease = Record::TaskLeased { worker, attempt: 1, heartbeat_ms: 30_000, budget_until, run_now: false };
        self.record(Owner::Task(id), lease)
    }

    pub fn put(&mut self, name: &str, version: u32, text: &str) -> RecordSeq {
        let put = Record::WorkflowPut { by: actor("ada") };
        self.record_with(Owner::Workflow(flow(name), version), put, Some(Workflow::payload(text)))
    }

    pub fn disable(&mut self, name: &str, version: u32) -> RecordSeq {
        let record = Record::WorkflowDisabled { reason: "größer \"als\"".into(), by: actor("ada") };
        self.record(Owner::Workflow(flow(name), version), record)
    }

    pub fn enable(&mut self, name: &str, version: u32) -> RecordSeq {
        self.record(Owner::Workflow(flow(name), version), Record::WorkflowEnabled { by: actor("ada") })
    }

    pub fn start(&mut self, id: RunId, spec: RunSpec) -> RecordSeq {
        let input = Payload(format!(r#"{{"of":"{id}"}}"#).into());
        self.record_with(Owner::Run(id), Record::RunStarted { spec: Box::new(spec), by: actor("ada") }, Some(input))
    }

    /// Starts a node's work, and its task.
    pub fn work(&mut self, at: &NodeAt, id: TaskId) -> RecordSeq {
        self.record(Owner::Node(at.clone()), Record::NodeStarted { at: Started::Working { task: id } });
        self.add(id, TaskSpec { node: Some(Box::new(at.clone())), ..plain("ci") })
    }

    /// Starts a node's work and ends it.
    pub fn worked(&mut self, at: &NodeAt, id: TaskId) -> RecordSeq {
        self.work(at, id);
        let output = self.done(id, r#"{"ok":true}"#);
        let done = Record::NodeDone { output: Told::At(kernel::run::ValueAt::Record(output)), went: Went::Done };
        self.record(Owner::Node(at.clone()), done)
    }

    pub fn done(&mut self, id: TaskId, output: &str) -> RecordSeq {
        self.lease(id);
        let output = Payload(output.into());
        self.record_with(Owner::Task(id), Record::TaskDone { digest: output.digest() }, Some(output))
    }

    pub fn failed(&mut self, id: TaskId, code: &str) -> RecordSeq {
        self.lease(id);
        let failure = kernel::record::Failure { code: code.into(), message: format!("{code} happened") };
        self.record(Owner::Task(id), Record::TaskFailed { failure, digest: 7 })
    }
}

pub fn task(sequence: u64) -> TaskId {
    TaskId::new(sequence, 0)
}

pub fn event(number: u64) -> EventId {
    EventId::new(number, 0)
}

pub fn bulk(sequence: u64) -> BulkId {
    BulkId::new(sequence, 0)
}

pub fn run(sequence: u64) -> RunId {
    RunId::new(sequence, 0)
}

pub fn flow(name: &str) -> WorkflowName {
    WorkflowName::parse(name).expect("a good name")
}

pub fn path(text: &str) -> FramePath {
    FramePath::parse(text).expect("the path of a frame")
}

/// A node of a run; the frame's path as text, empty for the run's own.
pub fn node(sequence: u64, frame: &str, node: &str) -> NodeAt {
    NodeAt { run: run(sequence), frame: path(frame), node: NodeId::parse(node).expect("a good name") }
}

/// A run of a workflow with nothing special about it.
pub fn plain_run(workflow: &str) -> RunSpec {
    RunSpec::new(flow(workflow), 1)
}

pub fn queue(name: &str) -> QueueName {
    QueueName::parse(name).expect("a good name")
}

pub fn actor(name: &str) -> Actor {
    Actor::parse(name).expect("a good name")
}

/// A task of a queue with nothing special about it.
pub fn plain(name: &str) -> TaskSpec {
    TaskSpec::new(queue(name), TypeName::parse("lint").expect("a good name"))
}
