//! The kernel at work, with everything around it that a run needs: one kernel, or one for runs and one for queues with a
//! mailbox between them that is late and tells things twice; flow's evaluator over values that are not always at hand;
//! workers and people who answer from the table of outcomes; and chance, which decides what happens next, including that the
//! engine is started anew from its rows. After every record it is checked what holds always, see [`ledger`].

mod book;
mod changes;
mod checks;
mod desk;
mod ledger;
mod removal;
mod replays;
mod shard;
mod workers;

use crate::chance::Chance;
use crate::outcomes::{Answer, Outcomes};
use crate::reference::Expected;
use book::Book;
pub use book::revised;
pub use desk::Desk;
use kernel::command::{Command, NewRun, NewWorkflow, Outcome, Reply};
use kernel::ids::{Fence, RunId, TaskId};
use kernel::ir::{EachFailure, Ir, Join, NodeKind};
use kernel::message::Message;
use kernel::names::{Actor, WorkflowName};
use kernel::record::{Failure, Owner, Payload, Record};
use kernel::rejection::Rejection;
use kernel::run::{RunSpec, RunStatus};
use kernel::time::Time;
use ledger::Ledger;
use replays::Album;
use serde_json::Value as Json;
use shard::Shard;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// What chance may do beside its choice of the order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ways {
    /// Runs and queues in a kernel each.
    pub apart: bool,
    pub missing_percent: u64,
    /// So dear are expressions that few of them fill a batch.
    pub dearer: u64,
    pub restart_percent: u64,
    pub pause_percent: u64,
    /// Cancel the run after so many commands.
    pub cancel_after: Option<usize>,
    /// The run is to be over by then.
    pub deadline_ms: Option<u64>,
    /// Patch it, restart it from somewhere, or say what a node of it gives.
    pub change_percent: u64,
}

/// Commands until a run must have ended: far more than any needs.
const COMMANDS_MAX: usize = 20_000;
const START_MS: i64 = 1_767_225_600_000;
/// Longer than all steps of the clock between two advances together.
const HASTE_MS: u64 = 60_000;
/// Shorter than any time budget.
const PATIENCE_MS: u64 = 10_000;

struct Held {
    task: TaskId,
    fence: Fence,
    instance: String,
    /// `None`: its worker falls silent.
    outcome: Option<Outcome>,
}

/// A definition, as text and compiled.
#[derive(Clone)]
pub struct Compiled {
    pub text: Arc<str>,
    pub ir: Arc<Ir>,
}

pub struct House<'a> {
    workflows: Vec<Compiled>,
    outcomes: &'a Outcomes,
    expected: Option<&'a Expected>,
    ways: Ways,
    chance: Chance,
    now: Time,
    /// The runs' first; the queues' is the same if there is but one.
    shards: Vec<Shard>,
    book: Book,
    pub ledger: Ledger,
    pub root: RunId,
    leases: Vec<Held>,
    /// Outcomes that were told, to be told again.
    told: Vec<Held>,
    /// Attempts that count, by task.
    burnt: BTreeMap<TaskId, u16>,
    paused: BTreeSet<RunId>,
    /// To the runs, and to the queues.
    mail: [VecDeque<Message>; 2],
    heard: [Vec<Message>; 2],
    /// The texts of the run, and which of them it follows: others are of a turn or an item alone.
    pub texts: Vec<Json>,
    pub own: usize,
    /// How often it was changed, and may be.
    changes: usize,
    /// It goes on from how another was: what was past there has not come about in it.
    pub forked: bool,
    /// What workers were given last.
    pub inputs: BTreeMap<String, Option<Json>>,
    pub commands: usize,
    album: Album,
    /// Of one command.
    pub records_max: usize,
}

pub fn actor() -> Actor {
    Actor::parse("ann").expect("a name")
}

impl<'a> House<'a> {
    pub fn new(
        workflows: &[Compiled],
        outcomes: &'a Outcomes,
        expected: Option<&'a Expected>,
        ways: Ways,
        seed: u64,
    ) -> House<'a> {
        let shards = match ways.apart {
            false => vec![Shard::new(0, |_| false)],
            true => vec![Shard::new(0, Message::is_for_queues), Shard::new(1, |message| !message.is_for_queues())],
        };
        let irs: Vec<Arc<Ir>> = workflows.iter().map(|workflow| workflow.ir.clone()).collect();
        let mut ledger = Ledger::new(&irs);
        irs.iter().for_each(|ir| note_kinds(ir, &mut ledger.occurred));
        House {
            workflows: workflows.to_vec(),
            outcomes,
            expected,
            ways,
            chance: Chance::new(seed),
            now: Time::from_ms(START_MS),
            shards,
            book: Book::new(&irs, ways.missing_percent, ways.dearer, seed),
            ledger,
            root: RunId::MAX,
            leases: Vec::new(),
            told: Vec::new(),
            burnt: BTreeMap::new(),
            paused: BTreeSet::new(),
            mail: Default::default(),
            heard: Default::default(),
            texts: Vec::new(),
            own: 0,
            changes: 0,
            forked: false,
            inputs: BTreeMap::new(),
            commands: 0,
            album: Album::default(),
            records_max: 0,
        }
    }

    fn queues(&self) -> usize {
        self.shards.len() - 1
    }

    fn ask(&mut self, shard: usize, command: &Command) -> Result<Reply, Rejection> {
        self.commands += 1;
        assert!(self.commands < COMMANDS_MAX, "the run does not end");
        let (reply, stepped) = self.shards[shard].ask(command, self.now, &mut self.book);
        self.records_max = self.records_max.max(stepped.entries.len());
        if shard == 0 {
            stepped.entries.iter().for_each(|entry| self.ledger.take(entry));
            for entry in &stepped.entries {
                // It is given another when it comes about again.
                if let (Owner::Node(at), Record::NodeReset {}) = (&entry.owner, &entry.record) {
                    self.inputs.remove(&self.ledger.instance(at));
                }
            }
            self.ledger.folded.let_go();
            self.compare();
            self.nothing_lags();
            self.items_have_room();
            self.nobody_is_abandoned();
            self.pauses_go_down();
            self.album.entries.extend(stepped.entries);
            self.take_pictures();
        }
        self.post(stepped.outbox);
        reply
    }

    fn post(&mut self, outbox: Vec<Message>) {
        for message in outbox {
            self.mail[usize::from(message.is_for_queues())].push_back(message);
        }
    }

    /// Puts the workflows, and starts the run.
    pub fn start(&mut self, workflow: &str, input: &Json) {
        for put in self.workflows.clone() {
            let name = put.ir.workflow.clone();
            let new = NewWorkflow { name, version: Some(1), text: put.text.clone(), ir: put.ir.clone() };
            let reply = self.ask(0, &Command::PutWorkflow { new: Box::new(new), by: actor() });
            assert!(reply.is_ok(), "{reply:?}");
        }
        let of_it = self.workflows.iter().find(|put| put.ir.workflow.as_str() == workflow).expect("it is one of them");
        (self.texts, self.own) = (vec![serde_json::from_str(&of_it.text).expect("a definition is JSON")], 0);
        let workflow = WorkflowName::parse(workflow).expect("a name");
        let deadline = self.ways.deadline_ms.map(|ms| self.now.plus_ms(ms));
        let spec = RunSpec { deadline, ..RunSpec::new(workflow.clone(), 1) };
        let new = NewRun { workflow, version: None, spec, input: Payload(input.to_string().into()) };
        let reply = self.ask(0, &Command::StartRun { new: Box::new(new), by: actor() });
        let Ok(Reply::Started { run, .. }) = reply else { panic!("{reply:?} is no run") };
        self.root = run;
    }

    /// Tries a run that has ended again, with other outcomes. `false`: there is nothing to try.
    pub fn retry(&mut self, outcomes: &'a Outcomes, expected: Option<&'a Expected>) -> bool {
        (self.outcomes, self.expected) = (outcomes, expected);
        self.ways.cancel_after = None;
        match self.ask(0, &Command::RetryRun { run: self.root, node: None, new: None, reason: String::new(), by: actor() }) {
            Ok(_) => true,
            Err(Rejection::NothingToRetry { .. }) => false,
            Err(other) => panic!("{other}"),
        }
    }

    /// Until nothing is left to do.
    pub fn live(&mut self) {
        while !self.is_over() {
            self.act();
        }
        self.nothing_is_left();
    }

    fn is_over(&self) -> bool {
        let closed = |run: &RunId| self.ledger.folded.live_run(*run).is_some_and(|live| live.is_closed());
        let quiet = self.leases.is_empty() && self.mail.iter().all(VecDeque::is_empty) && !self.shards[0].state.runs_wait();
        quiet && self.ledger.runs.keys().all(closed) && self.book_is_even()
    }

    fn book_is_even(&self) -> bool {
        let counts = self.shards[self.queues()].state.counts();
        counts.queued + counts.running + counts.idle == 0
    }

    fn act(&mut self) {
        if self.ways.cancel_after.is_some_and(|after| self.commands > after) {
            self.ways.cancel_after = None;
            let ended = self.ledger.ended_runs.contains_key(&self.root);
            let reply = self.ask(0, &Command::CancelRun { run: self.root, by: actor(), reason: "enough".into() });
            assert_eq!(reply.is_ok(), !ended, "{reply:?}");
        }
        if self.chance.percent(self.ways.restart_percent) {
            self.restart();
        }
        if self.chance.percent(self.ways.pause_percent) {
            self.pause();
        }
        if self.chance.percent(self.ways.change_percent) {
            self.change();
        }
        self.now = self.now.plus_us(self.chance.below(1_000) as i64);
        let weights = [
            if self.shards[0].state.runs_wait() { 20 } else { 0 },
            if self.shards[self.queues()].state.counts().queued > 0 { 20 } else { 0 },
            self.leases.len().min(4) * 8,
            self.ledger.asking.len().min(4) * 8,
            4,
            if self.mail.iter().any(|mail| !mail.is_empty()) { 25 } else { 0 },
            if self.paused.is_empty() { 0 } else { 8 },
            if self.told.is_empty() { 0 } else { 1 },
        ];
        match self.chance.weighted(&weights) {
            0 => self.fetch(),
            1 => self.lease(),
            2 => {
                let at = self.chance.below(self.leases.len());
                self.finish(at);
            }
            3 => {
                let at = self.chance.below(self.ledger.asking.len());
                let key = self.ledger.asking.keys().nth(at).expect("one of them").clone();
                self.answer(&key);
            }
            4 => self.advance(),
            5 => self.deliver(),
            6 => self.resume(),
            _ => self.tell_again(),
        }
    }

    /// Values come one by one or all together.
    fn fetch(&mut self) {
        let missing: Vec<_> = self.shards[0].state.values_missing().collect();
        let many = self.chance.from(1, missing.len().max(1));
        let values = missing.into_iter().take(many).map(|seq| (seq, 1)).collect();
        _ = self.ask(0, &Command::TakeValues { values });
        _ = self.ask(0, &Command::ProceedRuns);
    }

    fn restart(&mut self) {
        let shard = self.chance.below(self.shards.len());
        self.shards[shard].restart(self.now);
        self.ledger.occurred.insert("restart".into());
        self.book.forget();
        self.compare();
    }

    fn pause(&mut self) {
        let at = self.chance.below(self.ledger.runs.len());
        let run = *self.ledger.runs.keys().nth(at).expect("one of them");
        if self.ask(0, &Command::PauseRun { run, by: actor(), reason: "wait".into() }).is_ok() {
            self.paused.insert(run);
        }
    }

    fn resume(&mut self) {
        if let Some(run) = self.paused.pop_first() {
            let reply = self.ask(0, &Command::ResumeRun { run, by: actor() });
            let held = self.ledger.folded.live_run(run).is_some_and(|live| live.run().is_held());
            assert!(reply.is_ok() || held || self.ledger.ended_runs.contains_key(&run), "{reply:?}");
        }
    }

    fn said(&self, key: &str, until: Option<Time>) -> Answer {
        match self.outcomes.answer(key) {
            Answer::Never if until.is_none() => Answer::Yes,
            answer => answer,
        }
    }

    fn answer(&mut self, key: &str) {
        let (at, until) = self.ledger.asking[key].clone();
        let approved = match self.said(key, until) {
            Answer::Never => return,
            answer => answer == Answer::Yes,
        };
        let counts = self.ledger.folded.live_run(at.run).is_some_and(|live| live.goes_on(&at.frame));
        let reply = self.ask(0, &Command::Answer { at, approved, comment: String::new(), by: actor() });
        assert_eq!(reply.is_ok(), counts, "{reply:?}");
    }

    /// To the next instant at which something moves by itself. Who will answer does so before it is too late.
    fn advance(&mut self) {
        // The supervisor looks often; nothing changes if it is passed over.
        let due = self.shards.iter().filter_map(|shard| shard.state.next_due(self.now)).min();
        let wake = self.shards[0].state.next_wake().filter(|_| self.chance.percent(50));
        let Some(next) = wake.or(due) else { return };
        let next = next.max(self.now.plus_ms(1));
        // A value does not take as long as the clock leaps.
        if next.ms_since(self.now) > PATIENCE_MS && self.shards[0].state.values_missing().next().is_some() {
            return self.fetch();
        }
        let late = |(key, (_, until)): &(&String, &(_, Option<Time>))| {
            until.is_some_and(|until| until <= next.plus_ms(HASTE_MS)) && self.said(key, *until) != Answer::Never
        };
        if let Some((key, _)) = self.ledger.asking.iter().find(late) {
            let key = key.clone();
            return self.answer(&key);
        }
        if next.ms_since(self.now) > PATIENCE_MS && !self.leases.is_empty() {
            return self.finish(0);
        }
        self.now = next;
        _ = self.ask(self.queues(), &Command::Due);
        _ = self.ask(0, &Command::ProceedRuns);
    }

    /// In order, but some of it late, and some of it again.
    fn deliver(&mut self) {
        let side = usize::from(self.mail[0].is_empty() || (!self.mail[1].is_empty() && self.chance.percent(50)));
        for _ in 0..self.chance.from(1, self.mail[side].len()) {
            let message = self.mail[side].pop_front().expect("there is mail");
            self.heard[side].push(message.clone());
            _ = self.ask(side, &Command::Hear(Box::new(message)));
            if self.chance.percent(25) {
                let again = self.chance.one(&self.heard[side]).clone();
                self.ledger.occurred.insert("heard twice".into());
                _ = self.ask(side, &Command::Hear(Box::new(again)));
            }
        }
    }

    pub fn now(&self) -> Time {
        self.now
    }

    /// How the run ended, and what it gave.
    pub fn result(&self) -> (RunStatus, Json) {
        let (status, output) = self.ledger.ended_runs[&self.root];
        (status, self.book.value(output))
    }

    /// Nodes, turns and items of the run.
    pub fn begun(&self) -> u32 {
        self.ledger.folded.live_run(self.root).map_or(0, |live| live.steps())
    }

    /// Why it failed.
    pub fn failure(&self) -> Option<&Failure> {
        self.ledger.folded.live_run(self.root).and_then(|live| live.run().failure())
    }

    pub fn output(&self, at: kernel::run::ValueAt) -> Json {
        self.book.value(at)
    }

    pub fn missed(&self) -> usize {
        self.book.missed()
    }
}

fn note_kinds(ir: &Ir, occurred: &mut BTreeSet<String>) {
    for node in &ir.nodes {
        if node.ins.len() > 1 {
            occurred.insert(match node.join {
                Join::All => "join all".into(),
                Join::NOf(1) => "join any".into(),
                Join::NOf(_) => "join n_of".into(),
            });
        }
        if let NodeKind::Each { on_failure, .. } = node.kind {
            occurred.insert(match on_failure {
                EachFailure::Fast => "each fail_fast".into(),
                EachFailure::WaitAll => "each wait_all".into(),
                EachFailure::Tolerate(_) => "each tolerate".into(),
            });
        }
    }
}
