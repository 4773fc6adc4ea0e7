//! Runs that are being deleted: which of them go on when, what is left of each as far as it was loaded for the batch, and
//! which of its tasks the queues have forgotten. All of it is derived, or asked for again after a restart.

use crate::ids::{RecordSeq, RunId, TaskId};
use crate::limits::CHUNK_ITEMS_MAX;
use crate::needs::Begun;
use crate::record::Owner;
use crate::run::NodeAt;
use crate::time::Time;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(crate) struct Leaving {
    runs: BTreeMap<RunId, Leave>,
    /// The same by when they go on.
    due: BTreeSet<(Time, RunId)>,
    /// Those of which parts were loaded for this batch.
    at_hand: BTreeSet<RunId>,
}

#[derive(Debug, Default)]
struct Leave {
    goes_on: Time,
    parts: Parts,
    /// Tasks that their queues were asked to forget, and have not said so.
    asked: BTreeSet<TaskId>,
    forgotten: BTreeSet<TaskId>,
}

/// What is left of a run, as far as it was loaded.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub owners: Vec<(Owner, RecordSeq)>,
    /// Tasks that its nodes had queued.
    pub tasks: Vec<TaskId>,
    /// Runs that it called.
    pub calls: Vec<(RunId, NodeAt)>,
    /// There is no more of it.
    pub is_all: bool,
}

impl Leaving {
    pub fn insert(&mut self, run: RunId) {
        let leave = self.runs.entry(run).or_default();
        self.due.insert((leave.goes_on, run));
    }

    pub fn remove(&mut self, run: RunId) {
        if let Some(leave) = self.runs.remove(&run) {
            self.due.remove(&(leave.goes_on, run));
            self.at_hand.remove(&run);
        }
    }

    pub fn contains(&self, run: RunId) -> bool {
        self.runs.contains_key(&run)
    }

    pub fn len(&self) -> usize {
        self.runs.len()
    }

    pub fn next(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Whose turn it is.
    pub fn due(&self, now: Time) -> Vec<RunId> {
        self.due.iter().take_while(|(at, _)| *at <= now).take(CHUNK_ITEMS_MAX).map(|(_, run)| *run).collect()
    }

    pub fn goes_on(&mut self, run: RunId, at: Time) {
        if let Some(leave) = self.runs.get_mut(&run) {
            self.due.remove(&(leave.goes_on, run));
            leave.goes_on = at;
            self.due.insert((at, run));
        }
    }

    // ---- Parts, for one batch -----------------------------------------------------------------------------------

    /// A frame or a node of it.
    pub fn take(&mut self, run: RunId, owner: Owner, last: RecordSeq) {
        if let Some(leave) = self.runs.get_mut(&run) {
            leave.parts.owners.push((owner, last));
        }
    }

    /// Parts of these were looked for in this order, so many in all. Where that was not enough it is not known what is left.
    pub fn looked_for(&mut self, runs: &[RunId], limit: usize) {
        let mut room = limit;
        for run in runs {
            let Some(leave) = self.runs.get_mut(run) else { continue };
            if room == 0 {
                return;
            }
            leave.parts.is_all = leave.parts.owners.len() < room;
            room = room.saturating_sub(leave.parts.owners.len());
            leave.asked.clear();
            self.at_hand.insert(*run);
        }
    }

    /// The nodes that were loaded.
    pub fn nodes(&self) -> impl Iterator<Item = (&NodeAt, RecordSeq)> {
        let owners = self.at_hand.iter().flat_map(|run| &self.runs[run].parts.owners);
        owners.filter_map(|(owner, last)| if let Owner::Node(at) = owner { Some((at, *last)) } else { None })
    }

    /// What a node that was loaded has had done by others.
    pub fn take_begun(&mut self, at: &NodeAt, begun: Begun) {
        let Some(leave) = self.runs.get_mut(&at.run) else { return };
        match begun {
            Begun::Task(task) => leave.parts.tasks.push(task),
            Begun::Run(run) => leave.parts.calls.push((run, at.clone())),
        }
    }

    pub fn tasks(&self) -> impl Iterator<Item = TaskId> {
        let leaves = self.at_hand.iter().map(|run| &self.runs[run]);
        leaves.flat_map(|leave| leave.parts.tasks.iter().filter(|task| !leave.forgotten.contains(task)).copied())
    }

    pub fn calls(&self) -> impl Iterator<Item = RunId> {
        self.at_hand.iter().flat_map(|run| &self.runs[run].parts.calls).map(|(run, _)| *run)
    }

    pub fn at_hand(&self) -> Vec<RunId> {
        self.at_hand.iter().filter(|run| self.runs[run].asked.is_empty()).copied().collect()
    }

    /// The tasks whose queues have yet to forget them; they are asked now, and again at `again` if they do not answer.
    pub fn ask(&mut self, run: RunId, again: Time) -> Vec<TaskId> {
        let Some(leave) = self.runs.get_mut(&run) else { return Vec::new() };
        let Leave { parts, asked, forgotten, .. } = leave;
        asked.extend(parts.tasks.iter().filter(|task| !forgotten.contains(task)));
        let tasks: Vec<TaskId> = asked.iter().copied().collect();
        if !tasks.is_empty() {
            self.goes_on(run, again);
        }
        tasks
    }

    /// A queue knows nothing of this task any more. `true`: nor of any other that was asked for, and the parts are at hand.
    pub fn forgot(&mut self, run: RunId, task: TaskId) -> bool {
        let Some(leave) = self.runs.get_mut(&run) else { return false };
        if !leave.asked.remove(&task) {
            return false;
        }
        leave.forgotten.insert(task);
        if !leave.asked.is_empty() {
            return false;
        }
        let at_hand = self.at_hand.contains(&run);
        if !at_hand {
            self.goes_on(run, Time::ZERO);
        }
        at_hand
    }

    /// The parts that were loaded, once. The run goes on at once with what is left, unless it is told to rest.
    pub fn take_parts(&mut self, run: RunId) -> Option<Parts> {
        if !self.at_hand.remove(&run) {
            return None;
        }
        self.goes_on(run, Time::ZERO);
        let leave = self.runs.get_mut(&run)?;
        leave.forgotten.clear();
        Some(std::mem::take(&mut leave.parts))
    }

    /// After the batch nothing is known of what is left.
    pub fn cool(&mut self) {
        for run in std::mem::take(&mut self.at_hand) {
            self.runs.get_mut(&run).expect("it is being deleted").parts = Parts::default();
        }
    }
}
