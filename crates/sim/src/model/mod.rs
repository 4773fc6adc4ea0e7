//! What is true, folded from the durable records alone and kept apart from the kernel's state: tasks, queues, permits,
//! bulks, and the slots that leases hold. The checkers ask it; it never asks the engine.

pub mod events;
mod handling;
mod order;
pub mod runs;
mod task;
pub mod walk;

use events::Events;
pub use handling::{Deed, Happening, Plan};
pub use order::{interval_us, permit_at};
use runs::Runs;
pub use task::{LeaseModel, TaskModel};

use kernel::bulk::BulkWork;
use kernel::ids::{BulkId, RecordSeq, RunId, TaskId};
use kernel::limits::CHUNK_ITEMS_MAX;
use kernel::names::{Actor, IdempotencyKey, KeyName, KeyValue, QueueName};
use kernel::priority::Priority;
use kernel::queue::QueueConfig;
use kernel::rate::Rate;
use kernel::record::{Entry, KeyRef, Owner, Record};
use kernel::task::Status;
use kernel::time::Time;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub struct QueueModel {
    pub last: RecordSeq,
    pub config: Arc<QueueConfig>,
    /// Paused: until when, if that is known.
    pub pause: Option<Option<Time>>,
    /// On the queue, and on its keys.
    pub boost: Priority,
    pub boosts: FxHashMap<(KeyName, KeyValue), Priority>,
}

#[derive(Clone, Debug)]
pub struct BulkModel {
    pub first: RecordSeq,
    pub last: RecordSeq,
    pub open: bool,
    pub work: BulkWork,
    pub by: Actor,
    pub started_at: Time,
    pub after: Option<TaskId>,
    pub after_run: Option<RunId>,
    pub items: u64,
    pub skipped: u64,
    pub resume_at: Option<Time>,
}

/// Starts under one rate, as long as it stays the same.
#[derive(Clone, Debug, Default)]
pub struct Starts {
    pub rate: Option<Rate>,
    pub at: Vec<Time>,
}

/// Tasks of one queue by what they hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Leases that take ordinary slots.
    pub slots: u32,
    /// Held by runs, which take none.
    pub in_runs: u32,
    /// Started by hand, waiting or running.
    pub overrides: u32,
}

#[derive(Clone, Debug, Default)]
pub struct Model {
    pub last: RecordSeq,
    pub at: Time,
    pub shard_last: RecordSeq,
    pub tasks: FxHashMap<TaskId, TaskModel>,
    pub queued: BTreeSet<TaskId>,
    pub running: BTreeSet<TaskId>,
    pub queues: FxHashMap<QueueName, QueueModel>,
    pub arrivals: FxHashMap<KeyRef, (RecordSeq, Time)>,
    /// Permits of a lease whose own record is yet to come, with the arrival before each.
    pub taking: Vec<(KeyRef, Time)>,
    pub bulks: BTreeMap<BulkId, BulkModel>,
    pub runs: Runs,
    pub events: Events,
    pub held: FxHashMap<QueueName, Held>,
    /// Ordinary slots taken, by key.
    pub slots: FxHashMap<KeyRef, u32>,
    pub starts: FxHashMap<KeyRef, Starts>,
    pub by_idempotency_key: FxHashMap<(QueueName, IdempotencyKey), BTreeSet<TaskId>>,
    pub added: u64,
    pub deleted: u64,
    /// When the last tick was, and how many timers it left for the next.
    ticked_at: Time,
    timers_left: usize,
    /// Queues whose required tag changed, and the ticks in which their tasks may still be placed by the old one.
    pub sweeping: BTreeMap<QueueName, usize>,
}

impl Model {
    pub fn config(&self, queue: &QueueName) -> Arc<QueueConfig> {
        self.queues.get(queue).map(|queue| queue.config.clone()).unwrap_or_default()
    }

    pub fn task(&self, id: TaskId) -> Option<&TaskModel> {
        self.tasks.get(&id)
    }

    pub fn held(&self, queue: &QueueName) -> Held {
        self.held.get(queue).cloned().unwrap_or_default()
    }

    pub fn of_queue<'a>(&'a self, queue: &'a QueueName) -> impl Iterator<Item = &'a TaskModel> {
        self.queued.iter().map(|id| &self.tasks[id]).filter(move |task| task.queue == *queue)
    }

    /// Those that workers hold.
    pub fn leases(&self) -> impl Iterator<Item = (TaskId, &LeaseModel)> {
        let leases = self.running.iter().filter_map(|id| Some((*id, self.tasks[id].lease.as_ref()?)));
        leases.filter(|(_, lease)| lease.run.is_none())
    }

    pub fn live(&self) -> usize {
        self.queued.len() + self.running.len()
    }

    /// The record that this owner's next one must follow.
    pub fn last_of(&self, owner: &Owner) -> RecordSeq {
        let last = match owner {
            Owner::Shard => Some(self.shard_last),
            Owner::Task(id) => self.tasks.get(id).map(|task| task.last),
            Owner::Queue(name) => self.queues.get(name).map(|queue| queue.last),
            Owner::Key(key) => self.arrivals.get(key).map(|(last, _)| *last),
            Owner::Bulk(id) => self.bulks.get(id).map(|bulk| bulk.last),
            Owner::Workflow(name, version) => self.runs.workflows.get(&(name.clone(), *version)).map(|(last, _)| *last),
            Owner::Run(id) => self.runs.runs.get(id).map(|run| run.last),
            Owner::Frame(run, path) => self.runs.last_of_frame(*run, path),
            Owner::Node(at) => self.runs.nodes.get(at).map(|node| node.last),
            Owner::Event(id) => self.events.events.get(id).map(|event| event.last),
            Owner::Registry => Some(self.events.registry.last),
            Owner::Families(families) => self.events.controls.get(families).map(|control| control.last),
        };
        last.unwrap_or(RecordSeq::NONE)
    }

    /// One more record. What cannot follow is told.
    pub fn fold(&mut self, entry: &Entry) -> Result<(), String> {
        match &entry.owner {
            Owner::Shard => {
                self.shard_last = entry.seq;
                if let Record::EventsExpired { events } = &entry.record {
                    self.expire_events(events)?;
                }
            }
            Owner::Task(id) => {
                self.taking.clear();
                self.fold_task(*id, entry)?;
            }
            Owner::Queue(name) => self.fold_queue(name, entry)?,
            Owner::Key(key) => match &entry.record {
                Record::PermitTaken { arrival } => {
                    let before = self.arrivals.insert(key.clone(), (entry.seq, *arrival));
                    let before = before.map_or(Time::ZERO, |(_, arrival)| arrival);
                    // Taking a permit moves the arrival on; only a new rate brings it nearer. What is dropped or not is
                    // no lease.
                    if *arrival > before && !events::is_drop_key(key) {
                        self.taking.push((key.clone(), before));
                    }
                }
                Record::PermitsForgotten {} => drop(self.arrivals.remove(key)),
                other => return Err(format!("{} is not a record of a key", other.kind())),
            },
            Owner::Bulk(id) => self.fold_bulk(*id, entry)?,
            Owner::Workflow(name, version) => self.runs.fold_workflow(name, *version, entry)?,
            Owner::Run(id) => self.runs.fold_run(*id, entry)?,
            Owner::Frame(run, path) => self.runs.fold_frame(*run, path, entry)?,
            Owner::Node(at) => self.runs.fold_node(at, entry)?,
            Owner::Event(id) => self.events.fold_event(*id, entry)?,
            Owner::Registry => self.events.fold_registry(entry)?,
            Owner::Families(families) => self.events.fold_families(families, entry)?,
        }
        (self.last, self.at) = (entry.seq, entry.at);
        Ok(())
    }

    fn fold_task(&mut self, id: TaskId, entry: &Entry) -> Result<(), String> {
        let before = self.tasks.remove(&id);
        if let Some(task) = &before {
            self.count(task, false);
        }
        match &entry.record {
            Record::TaskAdded { spec } => {
                self.added += 1;
                if let Some(at) = &spec.node {
                    self.runs.tasks.entry(at.run).or_default().push(id);
                }
            }
            Record::TaskDeleted { .. } => self.deleted += 1,
            _ => {}
        }
        let after = TaskModel::fold(before.clone(), id, entry)?;
        if let (Some(task), Record::TaskLeased { run_now: false, .. }) = (&after, &entry.record)
            && !task.expedited
        {
            self.start(&task.clone(), entry.at);
        }
        let key = |task: &TaskModel| task.idempotency_key.clone().map(|key| (task.queue.clone(), key));
        match after {
            Some(task) => {
                self.count(&task, true);
                // Who comes while a sweep is under way is swept with the others.
                if !self.sweeping.is_empty() && self.queued.len() >= CHUNK_ITEMS_MAX {
                    let ticks = self.sweeping.len() * (1 + self.queued.len() / CHUNK_ITEMS_MAX);
                    self.sweeping.values_mut().for_each(|left| *left = ticks.max(*left));
                }
                if let Some(key) = key(&task) {
                    self.by_idempotency_key.entry(key).or_default().insert(id);
                }
                self.tasks.insert(id, task);
            }
            None => {
                if let Some(made) = before.as_ref().and_then(key).and_then(|key| self.by_idempotency_key.get_mut(&key)) {
                    made.remove(&id);
                }
            }
        }
        Ok(())
    }

    fn count(&mut self, task: &TaskModel, more: bool) {
        let step = |count: &mut u32| *count = if more { *count + 1 } else { *count - 1 };
        let index = match task.status {
            Status::Queued => &mut self.queued,
            Status::Running => &mut self.running,
            _ => return,
        };
        _ = if more { index.insert(task.id) } else { index.remove(&task.id) };
        let held = self.held.entry(task.queue.clone()).or_default();
        if task.in_run() {
            step(&mut held.in_runs);
        } else if task.run_now {
            step(&mut held.overrides);
        } else if task.status == Status::Running {
            step(&mut held.slots);
        }
        if task.status == Status::Running && !task.run_now {
            // A run's hold takes the slots of its handler alone.
            let mine = |key: &&KeyRef| !task.in_run() || key.key.as_ref().is_some_and(|(name, _)| task.is_own_key(name));
            for key in task.key_refs.iter().filter(mine) {
                step(self.slots.entry(key.clone()).or_default());
            }
        }
    }

    /// The keys, the queue itself among them, whose rates this task's start counts against.
    pub fn rated(&self, task: &TaskModel) -> Vec<(KeyRef, Rate)> {
        let config = self.config(&task.queue);
        let total = config.rate.map(|rate| (KeyRef::new(task.queue.clone(), None), rate));
        let keyed = task.keys.iter().zip(&task.key_refs).filter_map(|((name, _), key)| {
            let rate = config.keys.get(name).and_then(|limit| limit.rate)?;
            Some((key.clone(), rate))
        });
        total.into_iter().chain(keyed).collect()
    }

    fn start(&mut self, task: &TaskModel, at: Time) {
        for (key, rate) in self.rated(task) {
            let starts = self.starts.entry(key).or_default();
            if starts.rate != Some(rate) {
                *starts = Starts { rate: Some(rate), at: Vec::new() };
            }
            starts.at.push(at);
        }
    }

    fn fold_queue(&mut self, name: &QueueName, entry: &Entry) -> Result<(), String> {
        let configured = matches!(entry.record, Record::QueueConfigured { .. });
        let waiting = configured && self.of_queue(name).next().is_some();
        let queue = self.queues.entry(name.clone()).or_default();
        queue.last = entry.seq;
        match &entry.record {
            Record::QueueConfigured { config, .. } => {
                if queue.config.require_tag != config.require_tag && waiting {
                    // One chunk a tick, and the queues one after another.
                    self.sweeping.insert(name.clone(), 0);
                    let ticks = self.sweeping.len() * (1 + self.queued.len() / CHUNK_ITEMS_MAX);
                    self.sweeping.values_mut().for_each(|left| *left = ticks);
                }
                queue.config = config.clone();
                // A rate that went and came back is a new one: what started meanwhile was not counted.
                let config = config.clone();
                self.starts.retain(|key, starts| {
                    let rate = match &key.key {
                        None => config.rate,
                        Some((key, _)) => config.keys.get(key).and_then(|limit| limit.rate),
                    };
                    key.queue != *name || starts.rate == rate
                });
            }
            Record::QueuePaused { until, .. } => queue.pause = Some(*until),
            Record::QueueResumed { .. } => queue.pause = None,
            Record::QueueBoosted { on, boost, .. } => match &on.key {
                None => queue.boost = *boost,
                Some(key) => drop(queue.boosts.insert(key.clone(), *boost)),
            },
            other => return Err(format!("{} is not a record of a queue", other.kind())),
        }
        Ok(())
    }

    fn fold_bulk(&mut self, id: BulkId, entry: &Entry) -> Result<(), String> {
        if let Record::BulkStarted { work, by, .. } = &entry.record {
            let bulk = BulkModel {
                first: entry.seq,
                last: entry.seq,
                open: true,
                work: (**work).clone(),
                by: by.clone(),
                started_at: entry.at,
                after: None,
                after_run: None,
                items: 0,
                skipped: 0,
                resume_at: None,
            };
            return self.bulks.insert(id, bulk).map_or(Ok(()), |_| Err(format!("{id} was started twice")));
        }
        let bulk = self.bulks.get_mut(&id).filter(|bulk| bulk.open).ok_or_else(|| format!("{id} is not open"))?;
        bulk.last = entry.seq;
        match &entry.record {
            Record::BulkAdvanced { after, items, skipped, resume_at } => {
                (bulk.after, bulk.resume_at) = (Some(*after), *resume_at);
                bulk.items += u64::from(*items);
                bulk.skipped += u64::from(*skipped);
            }
            Record::BulkRunsAdvanced { after, items, skipped, resume_at, .. } => {
                (bulk.after_run, bulk.resume_at) = (Some(*after), *resume_at);
                bulk.items += u64::from(*items);
                bulk.skipped += u64::from(*skipped);
            }
            Record::BulkFinished { items, skipped } => {
                bulk.open = false;
                bulk.items += u64::from(*items);
                bulk.skipped += u64::from(*skipped);
            }
            Record::BulkCancelled { .. } => bulk.open = false,
            other => return Err(format!("{} is not a record of a bulk", other.kind())),
        }
        Ok(())
    }

    /// A tick begins: one chunk of the sweeps is done in it, and one of what time has brought.
    pub fn tick(&mut self, now: Time) {
        let fresh = |at: Time| at > self.ticked_at && at <= now;
        if self.queued.len() > CHUNK_ITEMS_MAX || self.arrivals.len() > CHUNK_ITEMS_MAX {
            let tasks = self.queued.iter().filter(|id| fresh(self.tasks[id].ready_at)).count();
            // Every arrival may be a gate that opens.
            let gates = self.arrivals.values().filter(|(_, arrival)| *arrival > self.ticked_at).count();
            self.timers_left += tasks + gates;
        }
        self.timers_left = self.timers_left.saturating_sub(CHUNK_ITEMS_MAX);
        self.ticked_at = now;
        self.sweeping.values_mut().for_each(|left| *left -= 1);
        self.sweeping.retain(|_, left| *left > 0);
    }

    /// Memory was loaded again: every task was placed anew.
    pub fn reloaded(&mut self, now: Time) {
        self.sweeping.clear();
        (self.timers_left, self.ticked_at) = (0, now);
    }

    /// More was due at once than a tick moves: what may run is known only after the next ones.
    pub fn is_lagging(&self) -> bool {
        self.timers_left > 0
    }

    /// A part of a run that is being deleted went, or what an old event made, without a record.
    pub fn forget_task(&mut self, id: TaskId) {
        if let Some(task) = self.tasks.remove(&id) {
            self.count(&task, false);
            let key = task.idempotency_key.map(|key| (task.queue, key));
            if let Some(made) = key.and_then(|key| self.by_idempotency_key.get_mut(&key)) {
                made.remove(&id);
            }
            self.deleted += 1;
        }
    }

    pub fn task_of(&self, owner: &Owner) -> Option<&TaskModel> {
        if let Owner::Task(id) = owner { self.task(*id) } else { None }
    }
}
