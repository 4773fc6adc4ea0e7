//! One kernel told what to do step by step, where chance has no say: for what has to come in a certain order.

use super::book::Book;
use super::shard::Shard;
use super::{Compiled, START_MS, actor};
use kernel::command::{Command, Grant, NewRevision, NewRun, NewWorkflow, Outcome, Patched, Reply};
use kernel::ids::{RunId, TaskId};
use kernel::ir::Ir;
use kernel::limits::{CHUNK_ITEMS_MAX, STEP_RECORDS_MAX};
use kernel::message::Message;
use kernel::names::{TypeName, WorkerName, WorkflowName};
use kernel::node::NodeState;
use kernel::record::{Entry, Failure, Payload};
use kernel::rejection::Rejection;
use kernel::run::{NodeAt, RunSpec};
use kernel::task::Task;
use kernel::time::Time;
use serde_json::Value as Json;
use std::sync::Arc;

/// What one batch may write, whatever is asked.
const RECORDS_MAX: usize = STEP_RECORDS_MAX + CHUNK_ITEMS_MAX;

pub struct Desk {
    pub shard: Shard,
    book: Book,
    pub now: Time,
    pub entries: Vec<Entry>,
    pub outbox: Vec<Message>,
    pub batches: usize,
}

impl Desk {
    pub fn new(workflows: &[Compiled], elsewhere: fn(&Message) -> bool) -> Desk {
        let irs: Vec<Arc<Ir>> = workflows.iter().map(|workflow| workflow.ir.clone()).collect();
        let (shard, book) = (Shard::new(0, elsewhere), Book::new(&irs, 0, 1, 1));
        let (entries, outbox) = (Vec::new(), Vec::new());
        let mut desk = Desk { shard, book, now: Time::from_ms(START_MS), entries, outbox, batches: 0 };
        for put in workflows {
            let name = put.ir.workflow.clone();
            let new = NewWorkflow { name, version: Some(1), text: put.text.clone(), ir: put.ir.clone() };
            desk.ask(Command::PutWorkflow { new: Box::new(new), by: actor() });
        }
        desk
    }

    pub fn try_to(&mut self, command: Command) -> Result<Reply, Rejection> {
        self.now = self.now.plus_ms(1);
        let (reply, stepped) = self.shard.ask(&command, self.now, &mut self.book);
        let many = stepped.entries.len();
        assert!(many <= RECORDS_MAX, "{many} records in one batch of {command:?}");
        self.batches += 1;
        self.entries.extend(stepped.entries);
        self.outbox.extend(stepped.outbox);
        reply
    }

    pub fn ask(&mut self, command: Command) -> Reply {
        self.try_to(command.clone()).unwrap_or_else(|no| panic!("{command:?}: {no}"))
    }

    pub fn hear(&mut self, message: Message) {
        self.ask(Command::Hear(Box::new(message)));
    }

    pub fn start(&mut self, workflow: &str, input: &Json, deadline: Option<Time>) -> RunId {
        let workflow = WorkflowName::parse(workflow).expect("a name");
        let spec = RunSpec { deadline, ..RunSpec::new(workflow.clone(), 1) };
        let new = NewRun { workflow, version: None, spec, input: Payload(input.to_string().into()) };
        let reply = self.ask(Command::StartRun { new: Box::new(new), by: actor() });
        let Reply::Started { run, .. } = reply else { panic!("{reply:?} is no run") };
        run
    }

    pub fn pause(&mut self, run: RunId) {
        self.ask(Command::PauseRun { run, by: actor(), reason: "wait".into() });
    }

    pub fn resume(&mut self, run: RunId) {
        self.ask(Command::ResumeRun { run, by: actor() });
    }

    pub fn cancel(&mut self, run: RunId) {
        self.ask(Command::CancelRun { run, by: actor(), reason: "enough".into() });
    }

    pub fn retry(&mut self, run: RunId) {
        self.ask(Command::RetryRun { run, node: None, new: None, reason: String::new(), by: actor() });
    }

    /// By this text from here on.
    pub fn patch(&mut self, run: RunId, text: &Json, dry: bool) -> Patched {
        let base = self.shard.state.live_run(run).expect("it is under way").run().revision();
        let payload = Payload(serde_json::json!({"text": text.to_string(), "operations": []}).to_string().into());
        let ir = super::book::revised(1, &payload);
        self.book.programs(&ir);
        let new = Box::new(NewRevision { base, ir, payload, description: String::new(), alone: false });
        let reply = self.ask(Command::PatchRun { run, new, node: None, dry, by: actor() });
        let Reply::Patched(patched) = reply else { panic!("{reply:?} is no patch") };
        *patched
    }

    /// Begins anew from there.
    pub fn rewind(&mut self, place: &str) {
        let at = NodeAt::parse(place).expect("a node");
        self.ask(Command::RestartRun { at, new: None, reason: "again".into(), by: actor() });
    }

    pub fn restart(&mut self) {
        self.shard.restart(self.now);
        self.book.forget();
    }

    /// One batch of what goes on by itself.
    pub fn proceed(&mut self) {
        self.ask(Command::ProceedRuns);
    }

    /// Until nothing does; with a restart after so many batches.
    pub fn settle(&mut self, restart_after: Option<usize>) {
        let mut batches = 0;
        while self.shard.state.runs_wait() {
            self.proceed();
            batches += 1;
            assert!(batches < 1_000, "it goes on for ever");
            if restart_after == Some(batches) {
                self.restart();
            }
        }
    }

    pub fn lease(&mut self, want: usize) -> Vec<Grant> {
        let types = ["x", "y"].map(|kind| TypeName::parse(kind).expect("a name")).to_vec().into();
        let worker = WorkerName::parse("w").expect("a name");
        let reply = self.ask(Command::Lease { worker, types, queues: [].into(), want });
        let Reply::Leased(grants) = reply else { panic!("{reply:?} is no lease") };
        grants
    }

    pub fn done(&mut self, grant: &Grant) {
        let outcome = Outcome::Done { output: Payload("1".into()) };
        self.ask(Command::Finish { task: grant.task, fence: grant.fence, outcome, jitter: 0 });
    }

    pub fn fail(&mut self, grant: &Grant, retryable: bool) {
        let failure = Failure { code: "oops".into(), message: "no".into() };
        let outcome = Outcome::Failed { failure, retryable, retry_after_ms: None };
        self.ask(Command::Finish { task: grant.task, fence: grant.fence, outcome, jitter: 0 });
    }

    pub fn task(&self, task: TaskId) -> &Task {
        self.shard.state.task(task).expect("it is under way")
    }

    pub fn held(&self) -> usize {
        self.shard.state.tasks().filter(|task| task.card().is_held()).count()
    }

    /// As its node in the run's own frame is; of a run that is under way.
    pub fn node(&self, run: RunId, node: &str) -> NodeState {
        let live = self.shard.state.live_run(run).expect("it is under way");
        let ix = live.ir().find(&kernel::names::NodeId::parse(node).expect("an id")).expect("a node of it");
        live.frame(&kernel::frame::FramePath::root()).expect("its own").node(ix).clone()
    }

    pub fn at(&self, run: RunId, node: &str) -> NodeAt {
        let node = kernel::names::NodeId::parse(node).expect("an id");
        NodeAt { run, frame: kernel::frame::FramePath::root(), node }
    }

    /// The records of a kind, and whose they are.
    pub fn owners(&self, kind: &str) -> Vec<String> {
        self.entries.iter().filter(|entry| entry.record.kind() == kind).map(|entry| entry.owner.to_string()).collect()
    }
}
