//! Every owner as its records make it: the kernel's folds, one beside the other. What `verify` compares the rows with,
//! and what the suite of tests writes its rows from. No state is derived and nothing is decided.

use kernel::bulk::Bulk;
use kernel::event::Event;
use kernel::frame::FramePath;
use kernel::ids::{BulkId, EventId, RecordSeq, RunId, TaskId};
use kernel::names::{NodeId, Pattern, QueueName, WorkflowName};
use kernel::queue::Queue;
use kernel::record::{Entry, KeyRef, Owner, Record, TaskSpec};
use kernel::registry::{Control, Registry};
use kernel::route::Route;
use kernel::row::{FrameRow, NodeRow, Permits, Row, Table, Value};
use kernel::run::{NodeAt, Run};
use kernel::shard::Shard;
use kernel::task::Task;
use kernel::workflow::Workflow;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// The one shard there is, so far.
const SHARD: u16 = 0;

#[derive(Default)]
pub(crate) struct Fold {
    shard: Option<(Shard, RecordSeq)>,
    queues: FxHashMap<QueueName, Queue>,
    permits: FxHashMap<KeyRef, Permits>,
    bulks: FxHashMap<BulkId, Bulk>,
    tasks: FxHashMap<TaskId, Task>,
    workflows: FxHashMap<(WorkflowName, u32), Workflow>,
    runs: FxHashMap<RunId, Run>,
    frames: FxHashMap<(RunId, FramePath), FrameRow>,
    nodes: FxHashMap<NodeAt, NodeRow>,
    events: FxHashMap<EventId, Event>,
    registry: Option<Registry>,
    controls: FxHashMap<Pattern, Control>,
    /// Shared by the tasks that go the same way, or a million of them would hold a million copies.
    routes: FxHashSet<Arc<Route>>,
}

impl Fold {
    /// The owner after one more of its records. A history that cannot have happened panics, and the owner is gone.
    pub(crate) fn apply(&mut self, entry: &Entry) {
        match &entry.owner {
            Owner::Shard => {
                let shard = self.shard.take().map_or_else(|| Shard::new(SHARD), |(shard, _)| shard);
                self.shard = Some((shard.fold(entry), entry.seq));
            }
            Owner::Task(id) => {
                let task = self.tasks.remove(id);
                let routes = &mut self.routes;
                if let Some(task) = Task::fold(task, *id, entry, |spec| shared(routes, spec)) {
                    self.tasks.insert(*id, task);
                }
            }
            Owner::Queue(name) => {
                let queue = Queue::fold(self.queues.remove(name), name, entry);
                self.queues.insert(name.clone(), queue);
            }
            Owner::Key(key) => {
                self.permits.remove(key);
                match &entry.record {
                    Record::PermitTaken { arrival } => {
                        let permits = Permits { key: key.clone(), last: entry.seq, arrival: *arrival };
                        self.permits.insert(key.clone(), permits);
                    }
                    Record::PermitsForgotten {} => {}
                    other => panic!("{} is not a record of a key", other.kind()),
                }
            }
            Owner::Bulk(id) => {
                let bulk = Bulk::fold(self.bulks.remove(id), *id, entry);
                self.bulks.insert(*id, bulk);
            }
            Owner::Workflow(name, version) => {
                let key = (name.clone(), *version);
                let workflow = Workflow::fold(self.workflows.remove(&key), name, *version, entry);
                self.workflows.insert(key, workflow);
            }
            Owner::Run(id) => {
                if let Some(run) = Run::fold(self.runs.remove(id), *id, entry) {
                    self.runs.insert(*id, run);
                }
            }
            Owner::Frame(run, path) => {
                let key = (*run, path.clone());
                let frame = FrameRow::fold(self.frames.remove(&key), *run, path, entry);
                self.frames.insert(key, frame);
            }
            Owner::Node(at) => {
                let node = NodeRow::fold(self.nodes.remove(at), at, entry);
                self.nodes.insert(at.clone(), node);
            }
            Owner::Event(id) => {
                let event = Event::fold(self.events.remove(id), *id, entry);
                self.events.insert(*id, event);
            }
            Owner::Registry => {
                let before = self.registry.take().unwrap_or_default();
                self.registry = Some(Registry::fold(&before, entry));
            }
            Owner::Families(families) => {
                if let Some(control) = Control::fold(self.controls.remove(families), families, entry) {
                    self.controls.insert(families.clone(), control);
                }
            }
        }
    }

    /// The owner's newest record; none for one that is not there, or no longer.
    pub(crate) fn last(&self, owner: &Owner) -> RecordSeq {
        let last = match owner {
            Owner::Shard => self.shard.as_ref().map(|(_, last)| *last),
            Owner::Task(id) => self.tasks.get(id).map(|task| task.card().last()),
            Owner::Queue(name) => self.queues.get(name).map(Queue::last),
            Owner::Key(key) => self.permits.get(key).map(|permits| permits.last),
            Owner::Bulk(id) => self.bulks.get(id).map(Bulk::last),
            Owner::Workflow(name, version) => self.workflows.get(&(name.clone(), *version)).map(Workflow::last),
            Owner::Run(id) => self.runs.get(id).map(Run::last),
            Owner::Frame(run, path) => self.frames.get(&(*run, path.clone())).map(|frame| frame.last),
            Owner::Node(at) => self.nodes.get(at).map(|node| node.slot.last()),
            Owner::Event(id) => self.events.get(id).map(Event::last),
            Owner::Registry => self.registry.as_ref().map(Registry::last),
            Owner::Families(families) => self.controls.get(families).map(Control::last),
        };
        last.unwrap_or(RecordSeq::NONE)
    }

    pub(crate) fn row(&self, owner: &Owner) -> Option<Row> {
        match owner {
            Owner::Shard => self.shard.as_ref().map(|(shard, _)| shard.to_row()),
            Owner::Task(id) => self.tasks.get(id).map(Task::to_row),
            Owner::Queue(name) => self.queues.get(name).map(Queue::to_row),
            Owner::Key(key) => self.permits.get(key).map(Permits::to_row),
            Owner::Bulk(id) => self.bulks.get(id).map(Bulk::to_row),
            Owner::Workflow(name, version) => self.workflows.get(&(name.clone(), *version)).map(Workflow::to_row),
            Owner::Run(id) => self.runs.get(id).map(Run::to_row),
            Owner::Frame(run, path) => self.frames.get(&(*run, path.clone())).map(FrameRow::to_row),
            Owner::Node(at) => self.nodes.get(at).map(NodeRow::to_row),
            Owner::Event(id) => self.events.get(id).map(Event::to_row),
            Owner::Registry => self.registry.as_ref().map(|registry| registry.to_row(SHARD)),
            Owner::Families(families) => self.controls.get(families).map(Control::to_row),
        }
    }

    /// Takes the owner out and gives its row.
    pub(crate) fn take(&mut self, owner: &Owner) -> Option<Row> {
        let row = self.row(owner);
        match owner {
            Owner::Shard => drop(self.shard.take()),
            Owner::Task(id) => drop(self.tasks.remove(id)),
            Owner::Queue(name) => drop(self.queues.remove(name)),
            Owner::Key(key) => drop(self.permits.remove(key)),
            Owner::Bulk(id) => drop(self.bulks.remove(id)),
            Owner::Workflow(name, version) => drop(self.workflows.remove(&(name.clone(), *version))),
            Owner::Run(id) => drop(self.runs.remove(id)),
            Owner::Frame(run, path) => drop(self.frames.remove(&(*run, path.clone()))),
            Owner::Node(at) => drop(self.nodes.remove(at)),
            Owner::Event(id) => drop(self.events.remove(id)),
            Owner::Registry => drop(self.registry.take()),
            Owner::Families(families) => drop(self.controls.remove(families)),
        }
        row
    }

    /// Everyone who is there, in a fixed order.
    pub(crate) fn owners(&self) -> Vec<Owner> {
        let shard = self.shard.iter().map(|_| Owner::Shard);
        let queues = self.queues.keys().cloned().map(Owner::Queue);
        let keys = self.permits.keys().cloned().map(Owner::Key);
        let bulks = self.bulks.keys().copied().map(Owner::Bulk);
        let tasks = self.tasks.keys().copied().map(Owner::Task);
        let workflows = self.workflows.keys().map(|(name, version)| Owner::Workflow(name.clone(), *version));
        let runs = self.runs.keys().copied().map(Owner::Run);
        let frames = self.frames.keys().map(|(run, path)| Owner::Frame(*run, path.clone()));
        let nodes = self.nodes.keys().cloned().map(Owner::Node);
        let mut owners: Vec<Owner> = shard.chain(queues).chain(keys).chain(bulks).chain(tasks).collect();
        owners.extend(workflows.chain(runs).chain(frames).chain(nodes));
        owners.extend(self.events.keys().copied().map(Owner::Event));
        owners.extend(self.registry.iter().map(|_| Owner::Registry));
        owners.extend(self.controls.keys().cloned().map(Owner::Families));
        owners.sort();
        owners
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

/// Where an owner's row stands.
pub(crate) fn place(owner: &Owner) -> (&'static Table, Vec<Value>) {
    owner.place(SHARD)
}

/// Whose row it is; `None` for a key that nobody can have.
pub(crate) fn owner(row: &Row) -> Option<Owner> {
    use Value::{Int, Text};
    match (row.table.name, row.key()) {
        ("tasks", [Int(id)]) => TaskId::from_number(*id).map(Owner::Task),
        ("bulks", [Int(id)]) => BulkId::from_number(*id).map(Owner::Bulk),
        ("shards", [Int(id)]) => Some(Owner::Shard).filter(|_| *id == i64::from(SHARD)),
        ("queues", [Text(name)]) => QueueName::parse(name).ok().map(Owner::Queue),
        // The same rules as for the text of an owner.
        ("keys", [Text(queue), Text(name), Text(value)]) => Owner::parse(&if name.is_empty() && value.is_empty() {
            format!("rate:{queue}")
        } else {
            format!("key:{queue}|{name}={value}")
        }),
        ("workflows", [Text(name), Int(version)]) => {
            Some(Owner::Workflow(WorkflowName::parse(name).ok()?, u32::try_from(*version).ok()?))
        }
        ("runs", [Int(id)]) => RunId::from_number(*id).map(Owner::Run),
        ("frames", [Int(run), Text(path)]) => {
            let path = FramePath::parse(path).filter(|path| !path.is_root())?;
            Some(Owner::Frame(RunId::from_number(*run)?, path))
        }
        ("nodes", [Int(run), Text(frame), Text(node)]) => {
            let (run, frame) = (RunId::from_number(*run)?, FramePath::parse(frame)?);
            Some(Owner::Node(NodeAt { run, frame, node: NodeId::parse(node).ok()? }))
        }
        ("events", [Int(id)]) => EventId::from_number(*id).map(Owner::Event),
        ("registries", [Int(id)]) => Some(Owner::Registry).filter(|_| *id == i64::from(SHARD)),
        ("controls", [Text(families)]) => Pattern::parse(families).ok().map(Owner::Families),
        _ => None,
    }
}
