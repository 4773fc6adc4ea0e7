//! One tick as the checkers see it: what went in, what became durable, and what came out.

use crate::checkers::Made;
use engine::{Answer, Decided, Leaving, Request, Ticket, Work};
use kernel::command::{Command, Outcome};
use kernel::ids::{Fence, RecordSeq, TaskId};
use kernel::record::Entry;
use kernel::task::Status;
use kernel::time::Time;
use rustc_hash::{FxHashMap, FxHashSet};

#[derive(Debug, Default)]
pub struct Turn {
    pub now: Time,
    pub idle: bool,
    pub requests: Vec<(Ticket, Request)>,
    /// Leases are not given out any more, since before this tick.
    pub stopping: bool,
    /// What became durable in it, in order.
    pub entries: Vec<Entry>,
    /// How many of them the model knows already.
    pub folded: usize,
    pub answers: Vec<(Ticket, Answer)>,
    /// The records the engine told of.
    pub told: Vec<Entry>,
    pub next: Option<Time>,
    pub reloaded: bool,
    /// Leases of a failed commit that nobody was told of: they go back in.
    pub untold: Vec<(TaskId, Fence)>,
    pub drained: bool,
    /// Values that runs wait for.
    pub missing: Vec<RecordSeq>,
    /// Leases that ended in it.
    pub ended: FxHashSet<(TaskId, RecordSeq)>,
    /// Leases whose worker was not to stop before, and is now.
    pub to_stop: Vec<(TaskId, Fence)>,
    /// A run that was deleted is gone.
    pub run_gone: bool,
    /// What the events in it make, by the words of the design.
    pub made: Vec<Made>,
    /// Every status each touched task had in it, the one before it first; `None`: it did not exist.
    pub statuses: FxHashMap<TaskId, Vec<Option<Status>>>,
}

impl Turn {
    pub fn decided(&mut self, decided: &Decided) {
        // What waits for the parcel goes on when that is back, which is before this turn ends.
        self.next = if decided.ahead { Some(self.now) } else { decided.next };
        self.drained = decided.drained;
    }

    /// What left with the commit.
    pub fn left(&mut self, leaving: Option<Leaving>) {
        let Leaving { answers, entries, missing } = leaving.expect("it was committed");
        (self.answers, self.told, self.missing) = (answers, entries, missing);
    }

    pub fn works(&self) -> impl Iterator<Item = &Work> {
        self.requests.iter().filter_map(|(_, request)| if let Request::Work(work) = request { Some(work) } else { None })
    }

    /// The leases that somebody said to be worked on.
    pub fn named(&self) -> impl Iterator<Item = (TaskId, Fence)> {
        self.requests.iter().flat_map(|(_, request)| named(request))
    }

    pub fn commands(&self) -> impl Iterator<Item = &Command> {
        self.requests.iter().filter_map(|(_, request)| if let Request::Command(command) = request { Some(command) } else { None })
    }

    /// The outcomes that were reported for this lease.
    pub fn reports(&self, task: TaskId, fence: RecordSeq) -> impl Iterator<Item = &Outcome> {
        let told = self.works().flat_map(|work| &work.results).map(|report| (report.task, report.fence, &report.outcome));
        let said = self.commands().filter_map(|command| match command {
            Command::Finish { task, fence, outcome, .. } => Some((*task, *fence, outcome)),
            _ => None,
        });
        told.chain(said).filter(move |(of, by, _)| *of == task && by.0 == fence).map(|(_, _, outcome)| outcome)
    }

    pub fn request(&self, ticket: Ticket) -> Option<&Request> {
        self.requests.iter().find(|(known, _)| *known == ticket).map(|(_, request)| request)
    }

    /// The records of this tick that come before the one being looked at.
    pub fn before(&self) -> &[Entry] {
        &self.entries[..self.folded]
    }
}

/// The leases that this request says to be worked on.
pub fn named(request: &Request) -> Vec<(TaskId, Fence)> {
    match request {
        Request::Work(work) => work.holding.iter().map(|held| (held.task, held.fence)).collect(),
        Request::Beat { leases } => leases.clone(),
        _ => Vec::new(),
    }
}
