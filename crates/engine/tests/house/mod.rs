//! The engine's tick with a store in memory, workers that poll, and a clock that is moved by hand.

#![allow(dead_code, reason = "each test file uses a part of this")]

use engine::{Answer, Core, Delivery, Report, Request, Ticked, Ticket, Work};
use flow::Language;
use kernel::command::{Command, Outcome, Reply};
use kernel::decide::{NewRun, NewWorkflow};
use kernel::ids::RunId;
use kernel::names::{Actor, TypeName, WorkerName};
use kernel::record::{Entry, Failure, Owner, Payload, Record};
use kernel::rejection::Rejection;
use kernel::run::{NodeAt, RunSpec, RunStatus};
use kernel::time::Time;
use serde_json::Value;
use std::sync::Arc;
use store::blobs::MemoryBlobs;
use store::memory::MemoryDisk;

/// A house with one worker for every type; what it answers is told by a function of type and input.
pub struct House {
    pub disk: MemoryDisk,
    pub blobs: Arc<MemoryBlobs>,
    pub core: Core,
    pub now: Time,
    pub tickets: u64,
    pub entries: Vec<Entry>,
    pub types: Arc<[TypeName]>,
}

pub type Worker = fn(&str, &Value) -> Result<Value, &'static str>;

impl House {
    pub fn new(types: &[&str]) -> House {
        let (disk, blobs) = (MemoryDisk::default(), Arc::<MemoryBlobs>::default());
        let now = Time::from_us(1_700_000_000_000_000);
        let core = Core::open(Box::new(disk.open()), blobs.clone(), 0, now).unwrap();
        let types = types.iter().map(|kind| TypeName::parse(kind).unwrap()).collect();
        House { disk, blobs, core, now, tickets: 0, entries: Vec::new(), types }
    }

    pub fn restart(&mut self) {
        self.core = Core::open(Box::new(self.disk.open()), self.blobs.clone(), 0, self.now).unwrap();
    }

    pub fn tick(&mut self, request: Option<Request>) -> Vec<Answer> {
        self.now = self.now.plus_ms(1);
        let mut requests: Vec<(Ticket, Request)> = Vec::new();
        requests.extend(request.map(|request| (Ticket(self.tickets), request)));
        let mut answers = Vec::new();
        loop {
            self.tickets += 1;
            let Ticked { answers: more, entries, missing, next, reloaded, .. } = self.core.tick(self.now, 1, requests, true);
            assert_eq!(reloaded, None);
            // Values that were handed in are only noted.
            answers.extend(more.into_iter().map(|(_, answer)| answer).filter(|answer| !matches!(answer, Answer::Noted)));
            self.entries.extend(entries);
            if missing.is_empty() && next.is_none_or(|at| at > self.now) {
                return answers;
            }
            let mut reader = self.core.reader().unwrap();
            let value = |seq| (seq, engine::payload(&mut *reader, &*self.blobs, seq).unwrap_or(None));
            let values: Vec<_> = missing.into_iter().map(value).collect();
            requests = if values.is_empty() { Vec::new() } else { vec![(Ticket(self.tickets), Request::Values(values))] };
        }
    }

    pub fn ask(&mut self, command: Command) -> Result<Reply, Rejection> {
        match self.tick(Some(Request::Command(command))).pop() {
            Some(Answer::Reply(reply)) => reply,
            other => panic!("{other:?}"),
        }
    }

    pub fn put(&mut self, text: &str) -> u32 {
        let compiled = flow::compile(text.as_bytes(), &Language).unwrap_or_else(|problems| panic!("{problems:?}"));
        let (name, version) = (compiled.ir.workflow.clone(), None);
        let new = NewWorkflow { name, version, text: text.into(), ir: Arc::new(compiled.ir) };
        match self.ask(Command::PutWorkflow { new: Box::new(new), by: actor() }) {
            Ok(Reply::Workflow { version, .. }) => version,
            other => panic!("{other:?}"),
        }
    }

    pub fn start(&mut self, workflow: &str, input: Value) -> RunId {
        let workflow = kernel::names::WorkflowName::parse(workflow).unwrap();
        let spec = RunSpec::new(workflow.clone(), 0);
        let new = NewRun { workflow, version: None, spec, input: Payload(input.to_string().into()) };
        match self.ask(Command::StartRun { new: Box::new(new), by: actor() }) {
            Ok(Reply::Started { run, .. }) => run,
            other => panic!("{other:?}"),
        }
    }

    pub fn poll(&mut self, want: usize, results: Vec<Report>) -> Vec<Delivery> {
        let worker = WorkerName::parse("w").unwrap();
        let (types, queues) = (self.types.clone(), [].into());
        let work = Work { worker, types, queues, want, wait_ms: 0, results, holding: Vec::new() };
        match self.tick(Some(Request::Work(work))).pop() {
            Some(Answer::Worked(worked)) => {
                worked.results.iter().for_each(|(task, result)| assert!(result.is_ok(), "{task}: {result:?}"));
                worked.deliveries
            }
            other => panic!("{other:?}"),
        }
    }

    pub fn inputs(&mut self, deliveries: &[Delivery]) -> Vec<(String, Value)> {
        let mut reader = self.core.reader().unwrap();
        let filled = self.core.fill(deliveries, &mut *reader).unwrap();
        assert!(filled.failed.is_empty(), "{:?}", filled.failed);
        let input = |delivery: &Delivery| {
            let text = delivery.input.as_ref().unwrap().text();
            (delivery.grant.kind.to_string(), serde_json::from_str(text).unwrap())
        };
        filled.deliveries.iter().map(input).collect()
    }

    /// Works until nothing is to be had.
    pub fn work(&mut self, worker: Worker) {
        let mut results = Vec::new();
        loop {
            let deliveries = self.poll(1_000, std::mem::take(&mut results));
            if deliveries.is_empty() {
                return;
            }
            let inputs = self.inputs(&deliveries);
            for (delivery, (kind, input)) in deliveries.iter().zip(inputs) {
                let outcome = match worker(&kind, &input) {
                    Ok(output) => Outcome::Done { output: Payload(output.to_string().into()) },
                    Err(code) => {
                        let failure = Failure { code: code.into(), message: "no".into() };
                        Outcome::Failed { failure, retryable: false, retry_after_ms: None }
                    }
                };
                results.push(Report { task: delivery.grant.task, fence: delivery.grant.fence, outcome });
            }
        }
    }

    pub fn status(&self, run: RunId) -> RunStatus {
        let ended =
            self.entries.iter().rev().filter(|entry| entry.owner == Owner::Run(run)).find_map(|entry| match entry.record {
                Record::RunDone { .. } => Some(RunStatus::Done),
                Record::RunFailed { .. } => Some(RunStatus::Failed),
                Record::RunCancelled { .. } => Some(RunStatus::Cancelled),
                Record::RunStarted { .. } | Record::RunReopened { .. } => Some(RunStatus::Running),
                _ => None,
            });
        ended.unwrap()
    }

    pub fn output(&self, run: RunId) -> Value {
        let mut reader = self.core.reader().unwrap();
        let row = reader.run(run).unwrap().unwrap();
        let stored = kernel::run::Run::from_row(&row.values).unwrap();
        let kernel::run::ValueAt::Record(seq) = stored.output() else { return Value::Null };
        let payload = engine::payload(&mut *reader, &*self.blobs, seq).unwrap().unwrap();
        serde_json::from_str(payload.text()).unwrap()
    }

    pub fn rows(&self, table: &'static kernel::row::Table) -> usize {
        let mut count = 0;
        self.core.reader().unwrap().scan(table, &mut |_| count += 1).unwrap();
        count
    }

    pub fn verify(&self) {
        let mut reader = self.core.reader().unwrap();
        let found = store::verify::verify(&mut *reader, &mut |_| {}).unwrap();
        assert!(found.differences.is_empty(), "{:?}", found.differences);
    }
}

pub fn actor() -> Actor {
    Actor::parse("ann").unwrap()
}

pub fn at(text: &str) -> NodeAt {
    NodeAt::parse(text).unwrap()
}

pub fn echo(_: &str, input: &Value) -> Result<Value, &'static str> {
    Ok(input.clone())
}
