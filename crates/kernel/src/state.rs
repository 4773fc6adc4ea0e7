//! The state of one shard: live entities without payloads, and what is derived from them. `apply` in here is the only
//! writer of facts; `advance` moves what time alone moves. Rows in, rows out: a state loaded from rows equals the one
//! that wrote them.

mod depths;
mod events;
mod permits;

pub use depths::{Depth, FamilyDepth};

use crate::bulk::{Bulk, BulkStatus, BulkWork};
use crate::event::Event;
use crate::ids::{BulkId, EventId, RecordSeq, RunId, TaskId};
use crate::ir::Ir;
use crate::lanes::{Flags, Ix, Lanes, QueueLine};
use crate::limits::CHUNK_ITEMS_MAX;
use crate::names::{IdempotencyKey, Pattern, QueueName, TypeName, WorkflowName};
use crate::needs::Begun;
use crate::queue::{Queue, QueueConfig};
use crate::record::{Entry, Owner, Record, TaskSpec};
use crate::registry::{Control, Registry};
use crate::row::{BULKS, BadRow, CONTROLS, EVENTS, KEYS, Permits, QUEUES, REGISTRIES, Row, SHARDS, TASKS, Value};
use crate::run::NodeAt;
use crate::runs::{Runs, WantedIr};
use crate::shard::Shard;
use crate::task::{Card, Task};
use crate::time::Time;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Where a task stands in the derived order, so that it can be taken out again whatever has changed since.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Place {
    Nowhere,
    /// Its run is paused.
    Held,
    Blocked,
    Later(Time),
    Override(Time),
    Lane(u32, i64),
    /// The lane whose slots it holds.
    Running(u32),
}

#[derive(Debug)]
struct Slot {
    task: Task,
    place: Place,
}

/// What falls due by itself and is a fact when it does.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Due {
    Budget(TaskId),
    Pause(QueueName),
    Start(TaskId),
    Families(Pattern),
}

#[derive(Debug)]
pub struct State {
    pub(crate) shard: Shard,
    tasks: FxHashMap<TaskId, Slot>,
    queues: FxHashMap<QueueName, Queue>,
    pub(crate) permits: permits::Book,
    bulks: BTreeMap<BulkId, Bulk>,
    pub(crate) runs: Runs,
    registry: Registry,
    controls: BTreeMap<Pattern, Control>,

    // Derived from here on.
    pub(crate) lanes: Lanes,
    dependents: FxHashMap<TaskId, BTreeSet<TaskId>>,
    later: BTreeSet<(Time, TaskId)>,
    due: BTreeSet<(Time, Due)>,
    by_idempotency_key: BTreeSet<(QueueName, IdempotencyKey, TaskId)>,
    running: BTreeSet<TaskId>,
    handled: events::Index,
    depths: depths::Depths,
    /// Finished, or loaded for one command: they leave memory after the commit.
    cooling: Vec<TaskId>,
    /// Closed bulks, likewise.
    closed: Vec<BulkId>,
    /// Queues whose required tag changed: their waiting tasks are placed anew, chunk by chunk.
    sweeps: Vec<(QueueName, Option<TaskId>)>,
    counts: Counts,
}

#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub idle: usize,
    pub queued: usize,
    pub running: usize,
}

/// What there is to know about a queue at a glance.
#[derive(Clone, Debug)]
pub struct QueueSummary {
    pub name: QueueName,
    pub queue: Option<Queue>,
    pub depth: Depth,
    /// When the one that waits longest was added.
    pub oldest: Option<Time>,
}

impl State {
    pub fn new(shard: u16) -> State {
        State {
            shard: Shard::new(shard),
            tasks: FxHashMap::default(),
            queues: FxHashMap::default(),
            permits: permits::Book::default(),
            bulks: BTreeMap::new(),
            runs: Runs::default(),
            registry: Registry::default(),
            controls: BTreeMap::new(),
            lanes: Lanes::default(),
            dependents: FxHashMap::default(),
            later: BTreeSet::new(),
            due: BTreeSet::new(),
            by_idempotency_key: BTreeSet::default(),
            running: BTreeSet::new(),
            handled: events::Index::default(),
            depths: depths::Depths::default(),
            cooling: Vec::new(),
            closed: Vec::new(),
            sweeps: Vec::new(),
            counts: Counts::default(),
        }
    }

    // ---- Rows in and out ----------------------------------------------------------------------------------------

    /// Takes a row at load (shard, queues, keys and bulks before tasks), or a cold task that a command needs.
    pub fn take_row(&mut self, row: &Row, now: Time) -> Result<(), BadRow> {
        let values = &row.values;
        if row.table == &TASKS {
            let mut task = Task::from_row(values)?;
            let route = self.lanes.shared(task.card().route().clone());
            *task.route_mut() = route;
            let id = task.card().id();
            if !self.tasks.contains_key(&id) {
                self.insert(id, task, now);
            }
        } else if row.table == &QUEUES {
            let queue = Queue::from_row(values)?;
            self.set_queue(queue, now);
        } else if row.table == &KEYS {
            let permits = Permits::from_row(values)?;
            self.set_permits(permits, now);
        } else if row.table == &BULKS {
            let bulk = Bulk::from_row(values)?;
            self.bulks.insert(bulk.id(), bulk);
        } else if row.table == &EVENTS {
            self.take_event(Event::from_row(values)?);
        } else if row.table == &REGISTRIES {
            self.registry = Registry::from_row(values)?;
        } else if row.table == &CONTROLS {
            let control = Control::from_row(values)?;
            self.set_control(&control.families().clone(), Some(control), now);
        } else if row.table == &SHARDS {
            self.shard = Shard::from_row(values)?;
        } else {
            self.runs.take_row(row)?;
        }
        Ok(())
    }

    /// The text that the row of a run or of a frame needs compiled before it can be taken.
    pub fn wants_ir(&self, row: &Row) -> Option<WantedIr> {
        self.runs.wants_ir(row)
    }

    /// What a text of a run compiled to, or why it does not any more: before the record or the row that follows it.
    pub fn learn_revision(&mut self, run: RunId, revision: u32, ir: Result<Arc<Ir>, Arc<str>>) {
        self.runs.learn_revision(run, revision, ir);
    }

    /// All rows of these runs were taken.
    pub fn took_whole(&mut self, runs: impl IntoIterator<Item = RunId>) {
        self.runs.took_whole(runs);
    }

    pub fn learn_ir(&mut self, name: &WorkflowName, version: u32, ir: Arc<Ir>) {
        self.runs.learn(name, version, ir);
    }

    /// It does not compile any more: runs of it are taken without their nodes, and fail.
    pub fn learn_bad_ir(&mut self, name: &WorkflowName, version: u32, why: String) {
        self.runs.learn_bad(name, version, why);
    }

    /// As [`Need::RunParts`](crate::needs::Need::RunParts) says it, and what was found was taken.
    pub fn looked_for_parts(&mut self, runs: &[RunId], limit: usize) {
        self.runs.leaving.looked_for(runs, limit);
    }

    /// The nodes among these parts, each with its last record: what they began is to be told.
    pub fn nodes_leaving(&self) -> Vec<(NodeAt, RecordSeq)> {
        self.runs.leaving.nodes().map(|(at, last)| (at.clone(), last)).collect()
    }

    pub fn take_begun(&mut self, at: &NodeAt, begun: Begun) {
        self.runs.leaving.take_begun(at, begun);
    }

    /// All rows were taken.
    pub fn loaded(&mut self) {
        let newest = EventId::new(self.shard.ids_next, self.shard.id);
        self.runs.loaded(newest, self.shard.behind);
    }

    /// Takes a finished task out of memory for good, and says which was its last record.
    pub(crate) fn forget(&mut self, id: TaskId) -> Option<RecordSeq> {
        let finished = self.tasks.get(&id).is_some_and(|slot| slot.task.status().is_finished());
        let slot = self.tasks.remove(&id).filter(|_| finished)?;
        self.forget_key(&slot.task);
        Some(slot.task.card().last())
    }

    /// The row of an owner as it is now; `Err` with its table and key when it is gone.
    pub fn row(&self, owner: &Owner) -> Result<Row, (&'static crate::row::Table, Vec<Value>)> {
        let row = match owner {
            Owner::Shard => Some(self.shard.to_row()),
            Owner::Task(id) => self.tasks.get(id).map(|slot| slot.task.to_row()),
            Owner::Queue(name) => self.queues.get(name).map(Queue::to_row),
            Owner::Key(key) => self.permits.get(key).map(Permits::to_row),
            Owner::Bulk(id) => self.bulks.get(id).map(Bulk::to_row),
            Owner::Event(id) => self.event(*id).map(Event::to_row),
            Owner::Registry => Some(self.registry.to_row(self.shard.id)),
            Owner::Families(families) => self.controls.get(families).map(Control::to_row),
            Owner::Workflow(..) | Owner::Run(_) | Owner::Frame(..) | Owner::Node(_) => self.runs.row(owner),
        };
        row.ok_or_else(|| owner.place(self.shard.id))
    }

    /// After a commit: what is finished lives in the store alone.
    pub fn cool(&mut self) {
        for id in std::mem::take(&mut self.cooling) {
            if self.tasks.get(&id).is_some_and(|slot| slot.task.status().is_finished()) {
                let slot = self.tasks.remove(&id).expect("it was there");
                self.forget_key(&slot.task);
            }
        }
        for id in std::mem::take(&mut self.closed) {
            self.bulks.remove(&id);
        }
        self.handled.cool();
        self.runs.cool();
    }

    // ---- Reading ------------------------------------------------------------------------------------------------

    pub fn task(&self, id: TaskId) -> Option<&Task> {
        self.tasks.get(&id).map(|slot| &slot.task)
    }

    pub(crate) fn place(&self, id: TaskId) -> Place {
        self.tasks.get(&id).map_or(Place::Nowhere, |slot| slot.place)
    }

    pub fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.tasks.values().map(|slot| &slot.task)
    }

    pub fn running(&self) -> impl Iterator<Item = &Task> {
        self.running.iter().map(|id| &self.tasks[id].task)
    }

    /// Finished tasks that are still in memory: of this batch, or loaded for it.
    pub(crate) fn cooling(&self) -> impl Iterator<Item = &Task> {
        self.cooling.iter().filter_map(|id| self.task(*id)).filter(|task| task.status().is_finished())
    }

    /// It is done, and has so many dependents that telling them takes more than one batch.
    pub(crate) fn is_telling(&self, blocker: TaskId) -> bool {
        self.bulks_open().any(|bulk| *bulk.work() == BulkWork::Unblock { blocker })
    }

    /// Queues that were said something about, and so have rows.
    pub(crate) fn queues_stated(&self) -> usize {
        self.queues.len()
    }

    pub fn queue(&self, name: &QueueName) -> Option<&Queue> {
        self.queues.get(name)
    }

    pub fn config(&self, name: &QueueName) -> Arc<QueueConfig> {
        self.queues.get(name).map(|queue| queue.config().clone()).unwrap_or_default()
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }

    pub fn bulk(&self, id: BulkId) -> Option<&Bulk> {
        self.bulks.get(&id)
    }

    pub fn bulks_open(&self) -> impl Iterator<Item = &Bulk> {
        self.bulks.values().filter(|bulk| bulk.status() == BulkStatus::Open)
    }

    /// The open bulk whose turn it is: the one that moved longest ago among those not resting. One over runs is moved by others.
    pub fn bulk_due(&self, now: Time) -> Option<&Bulk> {
        let by_itself = self.bulks_open().filter(|bulk| !bulk.work().is_over_runs());
        by_itself.filter(|bulk| bulk.resume_at().is_none_or(|at| at <= now)).min_by_key(|bulk| bulk.last())
    }

    pub fn permits(&self) -> impl Iterator<Item = &Permits> {
        self.permits.all()
    }

    /// The number of the newest record, committed or not.
    pub fn last_record(&self) -> RecordSeq {
        RecordSeq(self.shard.records_next - 1)
    }

    pub fn shard(&self) -> &Shard {
        &self.shard
    }

    /// The task that this spec's key made within its window. Only the youngest task of a key counts, and the one known
    /// here may not be it: a younger one that finished is in the store alone.
    pub(crate) fn duplicate_of(&self, spec: &TaskSpec, now: Time) -> Option<TaskId> {
        let key = spec.idempotency_key.as_ref()?;
        let window_ms = self.config(&spec.queue).idempotency_window_ms;
        let task = self.made_within(&spec.queue, key, window_ms, now);
        task.filter(|_| !crate::defect("idempotency_ignored"))
    }

    /// The youngest task that this key made, if that was within the window.
    pub(crate) fn made_within(&self, queue: &QueueName, key: &IdempotencyKey, window_ms: u64, now: Time) -> Option<TaskId> {
        let of = |id| (queue.clone(), key.clone(), id);
        let task = self.by_idempotency_key.range(of(TaskId::new(0, 0))..=of(TaskId::MAX)).next_back()?.2;
        let made_at = self.task(task)?.card().created_at();
        (now < made_at.plus_ms(window_ms)).then_some(task)
    }

    pub(crate) fn dependents(&self, blocker: TaskId) -> Option<&BTreeSet<TaskId>> {
        self.dependents.get(&blocker)
    }

    pub fn has_ready(&self, types: &[TypeName], queues: &[QueueName]) -> bool {
        self.lanes.has_ready(types, queues)
    }

    pub fn pick(&self, types: &[TypeName], queues: &[QueueName]) -> Option<TaskId> {
        self.lanes.pick(types, queues)
    }

    pub fn backlog(&self, queue: &QueueName) -> usize {
        self.lanes.line(queue).map_or(0, |line| line.members.len())
    }

    pub fn queue_summaries(&self) -> Vec<QueueSummary> {
        let mut all: Vec<QueueSummary> = self
            .lanes
            .lines()
            .map(|(name, line)| QueueSummary {
                name: name.clone(),
                queue: self.queues.get(name).cloned(),
                depth: line.depth(),
                oldest: self.oldest_of(line),
            })
            .collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    pub fn queue_summary(&self, name: &QueueName) -> QueueSummary {
        let line = self.lanes.line(name);
        QueueSummary {
            name: name.clone(),
            queue: self.queues.get(name).cloned(),
            depth: line.map(QueueLine::depth).unwrap_or_default(),
            oldest: line.and_then(|line| self.oldest_of(line)),
        }
    }

    fn oldest_of(&self, line: &QueueLine) -> Option<Time> {
        line.members.first().and_then(|task| self.task(*task)).map(|task| task.card().created_at())
    }

    // ---- Time ---------------------------------------------------------------------------------------------------

    /// The next instant at which something moves by itself; `Some(now)` or earlier when something is due already.
    pub fn next_due(&self, now: Time) -> Option<Time> {
        if !self.sweeps.is_empty() {
            return Some(now);
        }
        let by_itself = self.bulks_open().filter(|bulk| !bulk.work().is_over_runs());
        let bulk = by_itself.map(|bulk| bulk.resume_at().unwrap_or(now)).min();
        let later = self.later.first().map(|(at, _)| *at);
        let due = self.due.first().map(|(at, _)| *at);
        [bulk, later, due, self.lanes.next_due(), self.runs.next_due(now)].into_iter().flatten().min()
    }

    /// Moves what time alone moves: tasks whose hour has come enter their lanes, gates open, sweeps go on. These are
    /// derived, not facts, so nothing is recorded. Bounded; true when more is due at once.
    pub fn advance(&mut self, now: Time) -> bool {
        let mut more = self.lanes.advance(now, CHUNK_ITEMS_MAX);
        for _ in 0..CHUNK_ITEMS_MAX {
            match self.later.first() {
                Some((at, id)) if *at <= now && !crate::defect("late_timer") => self.replace(*id, now),
                _ => break,
            }
        }
        more |= self.later.first().is_some_and(|(at, _)| *at <= now);
        self.sweep(now);
        more | !self.sweeps.is_empty()
    }

    /// The next chunk of tasks whose queue requires another tag than before. Until all are placed anew the queue hands
    /// nothing out: neither what lacks the tag, nor the wrong one first.
    fn sweep(&mut self, now: Time) {
        let Some((queue, after)) = self.sweeps.pop() else { return };
        let from = after.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
        let members = self.lanes.line(&queue).map(|line| &line.members);
        let chunk: Vec<TaskId> = members
            .into_iter()
            .flat_map(|members| members.range((from, std::ops::Bound::Unbounded)))
            .take(CHUNK_ITEMS_MAX)
            .copied()
            .collect();
        chunk.iter().for_each(|id| self.replace(*id, now));
        if chunk.len() == CHUNK_ITEMS_MAX {
            self.sweeps.push((queue, chunk.last().copied()));
        } else {
            self.lanes.set_sweeping(&queue, false, now);
        }
    }

    /// Facts that fell due, at most `max`: spent budgets and pauses that are over.
    pub(crate) fn due(&self, now: Time, max: usize) -> Vec<Due> {
        self.due.iter().take_while(|(at, _)| *at <= now).take(max).map(|(_, due)| due.clone()).collect()
    }

    /// Runs go on by themselves now.
    pub fn has_runs_due(&self, now: Time) -> bool {
        self.runs.next_due(now).is_some_and(|at| at <= now)
    }

    /// Runs in memory.
    pub fn runs_live(&self) -> usize {
        self.runs.len()
    }

    pub fn has_due(&self, now: Time) -> bool {
        self.due.first().is_some_and(|(at, _)| *at <= now)
    }

    // ---- Apply: the only writer of facts ------------------------------------------------------------------------

    pub(crate) fn apply(&mut self, entry: &Entry) {
        match &entry.owner {
            Owner::Shard => {
                let shard = self.shard.clone();
                self.shard = shard.fold(entry);
            }
            Owner::Task(id) => {
                let task = self.take(*id, entry.at);
                let was_live = task.as_ref().is_some_and(|task| !task.has_ended());
                let lanes = &self.lanes;
                let shared = |spec: &TaskSpec| lanes.shared(Arc::new(crate::route::Route::for_spec(spec)));
                let task = Task::fold(task, *id, entry, shared);
                debug_assert!(!was_live || task.as_ref().is_some_and(|task| !task.has_ended()) || entry.record.is_end());
                if let Some(task) = task {
                    self.insert(*id, task, entry.at);
                }
                self.lanes.drop_emptied();
            }
            Owner::Queue(name) => {
                let queue = Queue::fold(self.queues.get(name).cloned(), name, entry);
                self.set_queue(queue, entry.at);
            }
            Owner::Key(key) => match &entry.record {
                Record::PermitTaken { arrival } => {
                    self.set_permits(Permits { key: key.clone(), last: entry.seq, arrival: *arrival }, entry.at);
                }
                Record::PermitsForgotten {} => {
                    self.permits.forget(key);
                    self.lanes.set_arrival(key, None, entry.at);
                    self.lanes.forget_if_empty(&key.queue);
                }
                other => panic!("{} is not a record of a key", other.kind()),
            },
            Owner::Bulk(id) => {
                let bulk = Bulk::fold(self.bulks.remove(id), *id, entry);
                if bulk.status() != BulkStatus::Open {
                    self.closed.push(*id);
                }
                self.bulks.insert(*id, bulk);
            }
            Owner::Event(id) => {
                if let Record::EventReceived { spec, .. } = &entry.record {
                    self.runs.awaits.received(&spec.name, *id);
                }
                let before = self.event(*id).cloned();
                self.take_event(Event::fold(before, *id, entry));
            }
            Owner::Registry => self.registry = Registry::fold(&self.registry, entry),
            Owner::Families(families) => {
                let control = Control::fold(self.controls.get(families).cloned(), families, entry);
                self.set_control(families, control, entry.at);
            }
            Owner::Workflow(..) | Owner::Run(_) | Owner::Frame(..) | Owner::Node(_) => self.runs.apply(entry),
        }
    }

    fn set_permits(&mut self, permits: Permits, now: Time) {
        self.lanes.set_arrival(&permits.key, Some(permits.arrival), now);
        self.permits.set(permits);
    }

    fn set_queue(&mut self, queue: Queue, now: Time) {
        let name = queue.name().clone();
        let before = self.queues.get(&name);
        let tag_before = before.and_then(|queue| queue.config().require_tag.clone());
        if let Some(until) = before.and_then(|queue| queue.pause()).and_then(|pause| pause.until) {
            self.due.remove(&(until, Due::Pause(name.clone())));
        }
        if let Some(until) = queue.pause().and_then(|pause| pause.until) {
            self.due.insert((until, Due::Pause(name.clone())));
        }
        self.lanes.configure(&name, Some(&queue), now);
        let sweep = tag_before != queue.config().require_tag && self.backlog(&name) > 0;
        self.queues.insert(name.clone(), queue);
        if sweep {
            self.lanes.set_sweeping(&name, true, now);
            self.sweeps.retain(|(swept, _)| *swept != name);
            self.sweeps.push((name, None));
            self.sweep(now);
        }
    }

    fn know_key(&mut self, card: &Card) {
        if let Some(key) = card.idempotency_key() {
            self.by_idempotency_key.insert((card.route().queue().clone(), key.clone(), card.id()));
        }
    }

    fn forget_key(&mut self, task: &Task) {
        let card = task.card();
        if let Some(key) = card.idempotency_key() {
            self.by_idempotency_key.remove(&(card.route().queue().clone(), key.clone(), card.id()));
        }
    }

    fn take(&mut self, id: TaskId, now: Time) -> Option<Task> {
        let Slot { task, place } = self.tasks.remove(&id)?;
        self.depths.leave(&task, place);
        self.unlink(&task, place, now);
        Some(task)
    }

    fn insert(&mut self, id: TaskId, task: Task, now: Time) {
        let place = self.link(&task, now);
        self.depths.enter(&task, place);
        self.tasks.insert(id, Slot { task, place });
    }

    /// Same task, new place: its hour has come, or its queue's rules changed.
    fn replace(&mut self, id: TaskId, now: Time) {
        let task = self.take(id, now).expect("a task in the order is live");
        self.insert(id, task, now);
        self.lanes.drop_emptied();
    }

    fn link(&mut self, task: &Task, now: Time) -> Place {
        let card = task.card();
        let id = card.id();
        let route = card.route();
        self.know_key(card);
        self.handled.link(task);
        match task {
            Task::Idle(_) => {
                self.counts.idle += 1;
                self.link_blockers(task);
                Place::Nowhere
            }
            Task::Queued(queued) => {
                self.counts.queued += 1;
                self.link_blockers(task);
                if let Some(start_by) = card.start_by() {
                    self.due.insert((start_by, Due::Start(id)));
                }
                let line = self.lanes.enter_queue(route.queue(), id);
                if card.is_held() {
                    line.held += 1;
                    Place::Held
                } else if queued.is_run_now() {
                    self.lanes.enter_overrides(route, queued.since(), id);
                    Place::Override(queued.since())
                } else if !card.blocked_by().is_empty() {
                    line.blocked += 1;
                    Place::Blocked
                } else if queued.ready_at() > now {
                    line.later += 1;
                    self.later.insert((queued.ready_at(), id));
                    Place::Later(queued.ready_at())
                } else {
                    let withheld = line.config().require_tag.as_ref().is_some_and(|tag| !card.tags().contains(tag));
                    let withheld = withheld && !crate::defect("tag_ignored");
                    let flags = Flags { withheld, expedited: queued.is_expedited() };
                    let order = queued.order();
                    let lane = self.lanes.enter_lane(route, flags, order, id, now);
                    Place::Lane(lane as u32, order)
                }
            }
            Task::Running(running) => {
                self.counts.running += 1;
                self.running.insert(id);
                let lease = running.lease();
                if lease.ending().is_none() && lease.run().is_none() {
                    self.due.insert((lease.budget_until(), Due::Budget(id)));
                }
                if crate::defect("slot_freed_early") && lease.ending().is_some() {
                    return Place::Nowhere;
                }
                let lane = self.lanes.start(route, lease, card.trigger().map(|trigger| &trigger.handler), now);
                Place::Running(lane as u32)
            }
            Task::Done(_) | Task::Failed(_) | Task::Cancelled(_) => {
                self.cooling.push(id);
                Place::Nowhere
            }
        }
    }

    fn unlink(&mut self, task: &Task, place: Place, now: Time) {
        let card = task.card();
        let id = card.id();
        let route = card.route();
        self.forget_key(task);
        self.handled.unlink(task);
        match task {
            Task::Idle(_) => {
                self.counts.idle -= 1;
                self.unlink_blockers(task);
            }
            Task::Queued(_) => {
                self.counts.queued -= 1;
                self.unlink_blockers(task);
                if let Some(start_by) = card.start_by() {
                    self.due.remove(&(start_by, Due::Start(id)));
                }
                let line = self.lanes.leave_queue(route.queue(), id);
                match place {
                    Place::Override(since) => self.lanes.leave_overrides(route, since, id),
                    Place::Held => line.held -= 1,
                    Place::Blocked => line.blocked -= 1,
                    Place::Later(at) => {
                        line.later -= 1;
                        self.later.remove(&(at, id));
                    }
                    Place::Lane(lane, order) => self.lanes.leave_lane(lane as Ix, order, id, now),
                    Place::Nowhere | Place::Running(_) => unreachable!("{id} is queued and nowhere"),
                }
                if !matches!(place, Place::Lane(..)) {
                    self.lanes.forget_if_empty(route.queue());
                }
            }
            Task::Running(running) => {
                self.counts.running -= 1;
                self.running.remove(&id);
                let lease = running.lease();
                self.due.remove(&(lease.budget_until(), Due::Budget(id)));
                if let Place::Running(lane) = place {
                    self.lanes.stop(lane as Ix, lease, card.trigger().map(|trigger| &trigger.handler), now);
                }
            }
            Task::Done(_) | Task::Failed(_) | Task::Cancelled(_) => {}
        }
    }

    fn link_blockers(&mut self, task: &Task) {
        for blocker in task.card().blocked_by() {
            self.dependents.entry(*blocker).or_default().insert(task.card().id());
        }
    }

    fn unlink_blockers(&mut self, task: &Task) {
        for blocker in task.card().blocked_by() {
            if let Some(dependents) = self.dependents.get_mut(blocker) {
                dependents.remove(&task.card().id());
                if dependents.is_empty() {
                    self.dependents.remove(blocker);
                }
            }
        }
    }
}
