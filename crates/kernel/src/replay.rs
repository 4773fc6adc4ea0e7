//! A run as it was: its records and those of its tasks, folded one by one, in their order, up to whichever is wanted. Of what
//! its history does not hold any more, the last that is known stays, and it is told. Nothing is decided here.
//!
//! What is past is kept, other than in memory while the run goes on: whoever looks back looks at all of it.

use crate::explain::{Cause, Explanation, Queues, RunExplanation, explain_run};
use crate::ids::{RecordSeq, RunId, TaskId};
use crate::ir::Ir;
use crate::lease::Ending;
use crate::record::{Entry, Owner, Record, TaskSpec};
use crate::route::Route;
use crate::run::NodeAt;
use crate::runs::{Copied, Live, Rewind};
use crate::state::State;
use crate::task::{Queued, Running, Status, Task};
use crate::time::{Time, span};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

#[derive(Debug)]
pub struct Replay {
    run: RunId,
    state: State,
    tasks: FxHashMap<TaskId, Task>,
    routes: FxHashSet<Arc<Route>>,
    /// How it ended, as long as it has.
    ending: Option<Record>,
    /// The node that it was restarted from last, and by which record.
    restarted: Option<(NodeAt, RecordSeq)>,
    lost: BTreeMap<Owner, Lost>,
}

/// Where the history of an owner ends: this record does not follow what is known of it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Lost {
    /// Its last record that is known; none if its beginning is gone.
    pub known: RecordSeq,
    pub at: RecordSeq,
}

impl Replay {
    pub fn new(run: RunId) -> Replay {
        Replay {
            run,
            state: State::new(0),
            tasks: FxHashMap::default(),
            routes: FxHashSet::default(),
            ending: None,
            restarted: None,
            lost: BTreeMap::new(),
        }
    }

    /// What the run goes by from the next record on.
    pub fn define(&mut self, ir: Arc<Ir>) {
        self.state.put_workflow(ir);
    }

    /// What the next record, a patch, has it follow.
    pub fn revise(&mut self, revision: u32, ir: Arc<Ir>) {
        self.state.learn_revision(self.run, revision, Ok(ir));
    }

    /// One more record. Says whether it follows what is known; one that does not changes nothing.
    pub fn take(&mut self, entry: &Entry) -> bool {
        let known = self.last_of(&entry.owner);
        if known != Some(entry.prev) {
            let lost = Lost { known: known.unwrap_or(RecordSeq::NONE), at: entry.seq };
            self.lost.entry(entry.owner.clone()).or_insert(lost);
            return false;
        }
        match &entry.owner {
            Owner::Task(id) => {
                let routes = &mut self.routes;
                if let Some(task) = Task::fold(self.tasks.remove(id), *id, entry, |spec| shared(routes, spec)) {
                    self.tasks.insert(*id, task);
                }
            }
            owner => {
                if *owner == Owner::Run(self.run) {
                    match &entry.record {
                        ending @ (Record::RunDone { .. } | Record::RunFailed { .. } | Record::RunCancelled { .. }) => {
                            self.ending = Some(ending.clone());
                        }
                        Record::RunReopened { .. } => self.ending = None,
                        Record::RunRestarted { node, .. } => {
                            (self.ending, self.restarted) = (None, Some((node.clone(), entry.seq)));
                        }
                        _ => {}
                    }
                }
                self.state.replay_run(entry);
            }
        }
        true
    }

    /// The last record that is known of an owner. `None`: it is not of this run, or what it stands in is not known.
    fn last_of(&self, owner: &Owner) -> Option<RecordSeq> {
        match (owner, self.live()) {
            (Owner::Task(id), _) => Some(self.tasks.get(id).map_or(RecordSeq::NONE, |task| task.card().last())),
            (Owner::Run(run), None) => Some(RecordSeq::NONE).filter(|_| *run == self.run),
            (owner, live) => live?.last_of_owner(owner),
        }
    }

    /// `None`: the record that began it is not there, or the one that deleted it is.
    pub fn live(&self) -> Option<&Live> {
        self.state.live_run(self.run)
    }

    /// What another run takes along from here, without what is to begin anew there; nothing if it had not begun. In the midst of
    /// a restart it is as after it.
    pub fn copied(&self, from: Option<&Rewind>) -> Vec<Copied> {
        let Some(live) = self.live() else { return Vec::new() };
        let undoing = self.restarted.as_ref().and_then(|(at, since)| Some((live.rewind(at)?, *since)));
        live.copied(from, undoing.as_ref().map(|(rewind, since)| (rewind, *since)))
    }

    pub fn task(&self, task: TaskId) -> Option<&Task> {
        self.tasks.get(&task)
    }

    /// The record by which it ended.
    pub fn ending(&self) -> Option<&Record> {
        self.ending.as_ref()
    }

    /// Whose history is not whole, and where it breaks off.
    pub fn lost(&self) -> impl Iterator<Item = (&Owner, Lost)> {
        self.lost.iter().map(|(owner, lost)| (owner, *lost))
    }

    /// What it waited for, as far as its own history tells: what its queues and their workers were like is not in there.
    pub fn explain(&self, now: Time) -> Option<RunExplanation> {
        let told = |task: TaskId| self.tasks.get(&task).map(|task| told(task, now));
        let likeness = |task: TaskId| {
            let mut hasher = FxHasher::default();
            let found = self.tasks.get(&task).map(|task| {
                let later = matches!(task, Task::Queued(queued) if queued.ready_at() > now);
                let stopping = matches!(task, Task::Running(running) if running.lease().ending().is_some());
                (task.status(), later, stopping, task.card().is_held(), task.card().route())
            });
            found.hash(&mut hasher);
            hasher.finish()
        };
        explain_run(&self.state, self.run, &Queues { told: &told, likeness: &likeness }, now)
    }
}

fn shared(routes: &mut FxHashSet<Arc<Route>>, spec: &TaskSpec) -> Arc<Route> {
    let route = Arc::new(Route::for_spec(spec));
    if let Some(known) = routes.get(&route) {
        return known.clone();
    }
    routes.insert(route.clone());
    route
}

/// How a task stood, by its own records.
fn told(task: &Task, now: Time) -> Explanation {
    let id = task.card().id();
    let (mut causes, mut since) = (Vec::new(), task.finished_at());
    let sentence = match task {
        Task::Idle(_) => format!("{id} is in no queue."),
        Task::Queued(queued) => {
            since = Some(queued.since());
            causes.push(waits(task, queued, now));
            format!("{id} waits: {}.", causes[0].sentence)
        }
        Task::Running(running) => {
            since = Some(running.lease().since());
            works(id, running, now)
        }
        // The node has yet to hear of it.
        Task::Done(_) | Task::Failed(_) | Task::Cancelled(_) => format!("{id} is {}.", task.status()),
    };
    let eta = causes.first().and_then(|cause| cause.eta);
    let unknown = causes.first().filter(|cause| cause.eta.is_none() && task.status() == Status::Queued);
    let eta_reason = unknown.map(|_| "this is how it was then; its history says when it went on".to_owned());
    Explanation {
        task: id,
        status: task.status(),
        sentence,
        blocked_on: causes,
        since,
        eta,
        eta_reason,
        next_actions: Vec::new(),
    }
}

fn waits(task: &Task, queued: &Queued, now: Time) -> Cause {
    let (queue, since) = (task.card().route().queue(), Some(queued.since()));
    if task.card().is_held() {
        return Cause { code: "held", sentence: "its run is paused".to_owned(), since, eta: None };
    }
    if queued.ready_at() > now {
        let left = span(queued.ready_at().ms_since(now));
        let why = task.card().failure().map(|failure| format!(", after {}: {}", failure.code, failure.message));
        let sentence = format!("it is to be tried in {left}{}", why.unwrap_or_default());
        return Cause { code: "backoff", sentence, since, eta: Some(queued.ready_at()) };
    }
    let sentence = format!(
        "no worker has taken it from queue `{queue}` for {}; what limits, pauses and workers that had then is not in the run's history",
        span(now.ms_since(queued.since()))
    );
    Cause { code: "queued", sentence, since, eta: None }
}

fn works(id: TaskId, running: &Running, now: Time) -> String {
    let lease = running.lease();
    let (worker, since) = (lease.worker(), span(now.ms_since(lease.since())));
    match lease.ending() {
        None => format!("{id} is running on worker {worker} for {since}."),
        Some(Ending::Cancel { by, .. }) => format!("{id} is being stopped: {by} asked worker {worker} to."),
        Some(Ending::TimedOut) => format!("{id} is being stopped: it ran longer than its time budget on worker {worker}."),
    }
}
