//! Every owner as its records make it: the kernel's folds, one beside the other. What `verify` compares the rows with,
//! and what the suite of tests writes its rows from. No state is derived and nothing is decided.

use kernel::bulk::Bulk;
use kernel::ids::{BulkId, RecordSeq, TaskId};
use kernel::names::QueueName;
use kernel::queue::Queue;
use kernel::record::{Entry, KeyRef, Owner, Record, TaskSpec};
use kernel::route::Route;
use kernel::row::{BULKS, KEYS, Permits, QUEUES, Row, SHARDS, TASKS, Table, Value};
use kernel::shard::Shard;
use kernel::task::Task;
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
        let mut owners: Vec<Owner> = shard.chain(queues).chain(keys).chain(bulks).chain(tasks).collect();
        owners.sort();
        owners
    }
}

fn shared(routes: &mut FxHashSet<Arc<Route>>, spec: &TaskSpec) -> Arc<Route> {
    let route = Arc::new(Route::new(spec.queue.clone(), spec.kind.clone(), spec.keys.clone()));
    if let Some(known) = routes.get(&route) {
        return known.clone();
    }
    routes.insert(route.clone());
    route
}

/// Where an owner's row stands.
pub(crate) fn place(owner: &Owner) -> (&'static Table, Vec<Value>) {
    match owner {
        Owner::Shard => (&SHARDS, vec![Value::Int(SHARD.into())]),
        Owner::Task(id) => (&TASKS, vec![Value::Int(id.number())]),
        Owner::Queue(name) => (&QUEUES, vec![name.shared().into()]),
        Owner::Key(KeyRef { queue, key: None }) => (&KEYS, vec![queue.shared().into(), "".into(), "".into()]),
        Owner::Key(KeyRef { queue, key: Some((name, value)) }) => {
            (&KEYS, vec![queue.shared().into(), name.shared().into(), value.shared().into()])
        }
        Owner::Bulk(id) => (&BULKS, vec![Value::Int(id.number())]),
    }
}

/// Whose row it is; `None` for a key that nobody can have.
pub(crate) fn owner(row: &Row) -> Option<Owner> {
    let number = || match row.key() {
        [Value::Int(number)] => Some(*number),
        _ => None,
    };
    let texts = || row.key().iter().map(|value| if let Value::Text(text) = value { Some(&**text) } else { None });
    let texts: Option<Vec<&str>> = if row.table == &QUEUES || row.table == &KEYS { texts().collect() } else { None };
    if row.table == &TASKS {
        number().and_then(TaskId::from_number).map(Owner::Task)
    } else if row.table == &BULKS {
        number().and_then(BulkId::from_number).map(Owner::Bulk)
    } else if row.table == &SHARDS {
        number().filter(|number| *number == i64::from(SHARD)).map(|_| Owner::Shard)
    } else if row.table == &QUEUES {
        QueueName::parse(texts?.first()?).ok().map(Owner::Queue)
    } else {
        let [queue, name, value] = texts?[..] else { return None };
        // The same rules as for the text of an owner.
        Owner::parse(&if name.is_empty() && value.is_empty() {
            format!("rate:{queue}")
        } else {
            format!("key:{queue}|{name}={value}")
        })
    }
}
