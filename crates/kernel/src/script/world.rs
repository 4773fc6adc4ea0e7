//! One state driven as the engine drives it, over rows kept in a map, in virtual time. After every command it proves
//! that the records fold to the rows, that the rows decode to what they came from, and that a state built from the
//! rows alone would go on exactly like the live one.

use crate::bulk::{Bulk, BulkStatus};
use crate::command::{Command, Reply};
use crate::decide;
use crate::event::Event;
use crate::explain::{Facts, explain};
use crate::ids::{BulkId, EventId, RecordSeq, TaskId};
use crate::limits::CHUNK_ITEMS_MAX;
use crate::names::{Pattern, QueueName, TypeName};
use crate::needs::{Need, needs};
use crate::queue::Queue;
use crate::record::{Entry, KeyRef, Owner, Record};
use crate::registry::{Control, Registry};
use crate::rejection::Rejection;
use crate::route::Route;
use crate::row::{BULKS, CONTROLS, EVENTS, KEYS, Permits, QUEUES, REGISTRIES, Row, SHARDS, TABLES, TASKS, Value};
use crate::shard::Shard;
use crate::state::{Depth, FamilyDepth, Place, State};
use crate::step::{Step, Stepped};
use crate::task::{Status, Task};
use crate::time::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What memory goes through after each commit. None of it may change an outcome.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Memory {
    /// Finished tasks leave it, as in the engine.
    Cools,
    /// Everything stays, as within one batch.
    Stays,
    /// All of it is lost and read again from the rows.
    Restarts,
}

pub(crate) struct World {
    pub(crate) state: State,
    pub(crate) now: Time,
    pub(crate) memory: Memory,
    /// Records and rows of the last command.
    pub(crate) stepped: Vec<Entry>,
    /// Records of all commands.
    pub(crate) history: Vec<Entry>,
    rows: BTreeMap<(&'static str, Vec<Value>), Row>,
    folded: Folded,
    last: BTreeMap<Owner, RecordSeq>,
    newest: RecordSeq,
    ids: BTreeSet<u64>,
}

/// Every owner as its records alone make it.
#[derive(Default)]
struct Folded {
    shard: Option<Shard>,
    tasks: BTreeMap<TaskId, Task>,
    queues: BTreeMap<QueueName, Queue>,
    permits: BTreeMap<KeyRef, Permits>,
    bulks: BTreeMap<BulkId, Bulk>,
    events: BTreeMap<EventId, Event>,
    registry: Option<Registry>,
    controls: BTreeMap<Pattern, Control>,
}

pub(crate) const START: Time = Time::from_ms(1_000_000_000);

impl World {
    pub(crate) fn new(memory: Memory) -> World {
        World {
            state: State::new(0),
            now: START,
            memory,
            stepped: Vec::new(),
            history: Vec::new(),
            rows: BTreeMap::new(),
            folded: Folded::default(),
            last: BTreeMap::new(),
            newest: RecordSeq::NONE,
            ids: BTreeSet::new(),
        }
    }

    /// One command, one commit.
    pub(crate) fn run(&mut self, command: &Command) -> Result<Reply, Rejection> {
        self.quiesce();
        self.fetch(command);
        let mut step = Step::new(&mut self.state, self.now);
        let reply = decide(&mut step, command);
        let stepped = step.finish();
        assert!(reply.is_ok() || stepped.entries.is_empty(), "{command:?} was refused and left a record");
        self.commit(stepped);
        reply
    }

    /// Moves what time moves, until nothing more is due at this instant.
    pub(crate) fn quiesce(&mut self) {
        while self.state.advance(self.now) {}
    }

    /// Lets the time pass, waking exactly when the state asks for it.
    pub(crate) fn advance(&mut self, to: Time) {
        loop {
            self.quiesce();
            match self.state.next_due(self.now) {
                Some(at) if at <= self.now => self.wake(),
                Some(at) if at <= to => self.now = at,
                _ => break,
            }
        }
        self.now = to;
        self.quiesce();
    }

    /// What the engine does at the start of a tick.
    pub(crate) fn wake(&mut self) {
        let (bulk, due) = (self.state.bulk_due(self.now).is_some(), self.state.has_due(self.now));
        assert!(bulk || due, "the state asked to be woken for nothing");
        if bulk {
            self.run(&Command::Proceed).expect("a bulk proceeds");
            let touched = self.stepped.iter().filter(|entry| matches!(entry.owner, Owner::Task(_))).count();
            assert!(touched <= CHUNK_ITEMS_MAX, "{touched} items in one chunk");
        }
        if due {
            self.run(&Command::Due).expect("the time passes");
        }
    }

    /// A task wherever it is, hot or cold.
    pub(crate) fn task(&self, id: TaskId) -> Option<Task> {
        self.state.task(id).cloned().or_else(|| {
            let row = self.rows.get(&(TASKS.name, vec![Value::Int(id.number())]))?;
            Some(Task::from_row(&row.values).expect("a stored row decodes"))
        })
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.values()
    }

    /// Every task there is, by id.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.folded.tasks.values()
    }

    pub(crate) fn bulk(&self, id: BulkId) -> Bulk {
        let row = &self.rows[&(BULKS.name, vec![Value::Int(id.number())])];
        Bulk::from_row(&row.values).expect("a stored row decodes")
    }

    fn fetch(&mut self, command: &Command) {
        // A row that was loaded may name others: at most its blockers, so two rounds are enough.
        for _ in 0..2 {
            let mut wanted = Vec::new();
            needs(command, &self.state, self.now, &mut wanted);
            for need in wanted {
                for row in self.answer(&need) {
                    self.state.take_row(&row, self.now).expect("a stored row decodes");
                }
            }
        }
    }

    fn answer(&self, need: &Need) -> Vec<Row> {
        let tasks = || {
            let rows = self.rows.values().filter(|row| row.table == &TASKS);
            rows.map(|row| (row.clone(), Task::from_row(&row.values).expect("a stored row decodes")))
        };
        match need {
            Need::Task(id) => self.rows.get(&(TASKS.name, vec![Value::Int(id.number())])).cloned().into_iter().collect(),
            Need::Idempotency { queue, key, before } => {
                let fits = |task: &Task| {
                    let card = task.card();
                    card.route().queue() == queue && card.idempotency_key() == Some(key) && card.id() < *before
                };
                tasks()
                    .filter(|(_, task)| fits(task))
                    .max_by_key(|(_, task)| task.card().id())
                    .map(|(row, _)| row)
                    .into_iter()
                    .collect()
            }
            Need::Dead { queue, after, upto, limit } => {
                let fits = |task: &Task| {
                    let id = task.card().id();
                    let within = after.is_none_or(|after| id > after) && id <= *upto;
                    within && task.status() == Status::Failed && task.card().route().queue() == queue
                };
                tasks().filter(|(_, task)| fits(task)).take(*limit).map(|(row, _)| row).collect()
            }
            Need::Event(id) => self.rows.get(&(EVENTS.name, vec![Value::Int(id.number())])).cloned().into_iter().collect(),
            Need::EventKey(key) => {
                let fits = |event: &&Event| event.spec().key.as_ref() == Some(key);
                self.folded.events.values().filter(fits).map(Event::to_row).collect()
            }
            Need::EventsNamed { .. } => panic!("no run is in these scripts"),
            Need::EventsOld { .. } => panic!("no command needs these"),
            Need::Run(_) | Need::RunWhole(_) | Need::RunKey { .. } | Need::RunParts { .. } | Need::RunsEnded { .. } => {
                panic!("no run is in these scripts")
            }
        }
    }

    // ---- The commit and its proofs ------------------------------------------------------------------------------

    fn commit(&mut self, stepped: Stepped) {
        let dirty: BTreeSet<&Owner> = stepped.dirty.iter().collect();
        for entry in &stepped.entries {
            assert!(dirty.contains(&entry.owner), "{} was changed and is not dirty", entry.owner);
            self.check_entry(entry);
        }
        for owner in &stepped.dirty {
            match self.state.row(owner) {
                Ok(row) => {
                    self.check_decodes(owner, &row);
                    assert_eq!(Some(&row), self.folded.row(owner).as_ref(), "{owner}: the row is not the fold of its records");
                    self.rows.insert((row.table.name, row.key().to_vec()), row);
                }
                Err((table, key)) => {
                    assert_eq!(None, self.folded.row(owner), "{owner}: gone, but not by its records");
                    self.rows.remove(&(table.name, key));
                }
            }
        }
        for (owner, last) in &stepped.forgotten {
            assert_eq!(self.last.remove(owner), Some(*last), "{owner} goes with its last record");
            let (table, key) = owner.place(0);
            assert!(self.rows.remove(&(table.name, key)).is_some(), "{owner} had a row");
            self.folded.forget(owner);
        }
        self.history.extend_from_slice(&stepped.entries);
        self.stepped = stepped.entries;
        match self.memory {
            Memory::Stays => {}
            Memory::Cools => self.state.cool(),
            Memory::Restarts => self.state = self.rebuilt(),
        }
    }

    fn check_entry(&mut self, entry: &Entry) {
        let Entry { seq, prev, owner, record, .. } = entry;
        assert!(*seq > self.newest, "{owner}: record {seq:?} after {:?}", self.newest);
        self.newest = *seq;
        assert_eq!(*prev, self.last.get(owner).copied().unwrap_or_default(), "{owner}: its chain is broken");
        self.last.insert(owner.clone(), *seq);
        let text = serde_json::to_string(record).expect("a record has a JSON form");
        assert_eq!(serde_json::from_str::<Record>(&text).as_ref().ok(), Some(record), "{text}");
        assert_eq!(Owner::parse(&owner.to_string()).as_ref(), Some(owner));
        let born = match (owner, record) {
            (Owner::Task(id), Record::TaskAdded { .. }) => Some(id.sequence()),
            (Owner::Bulk(id), Record::BulkStarted { .. }) => Some(id.sequence()),
            (Owner::Event(id), Record::EventReceived { .. }) => Some(id.sequence()),
            _ => None,
        };
        assert!(born.is_none_or(|id| self.ids.insert(id)), "{owner}: this id was given before");
        self.folded.apply(entry);
        if self.folded.row(owner).is_none() {
            self.last.remove(owner);
        }
    }

    fn check_decodes(&self, owner: &Owner, row: &Row) {
        let values = &row.values;
        match owner {
            Owner::Task(id) => assert_eq!(Task::from_row(values).as_ref().ok(), self.state.task(*id)),
            Owner::Queue(name) => assert_eq!(Queue::from_row(values).as_ref().ok(), self.state.queue(name)),
            Owner::Key(key) => {
                let live = self.state.permits().find(|permits| permits.key == *key);
                assert_eq!(Permits::from_row(values).as_ref().ok(), live);
            }
            Owner::Bulk(id) => assert_eq!(Bulk::from_row(values).as_ref().ok(), self.state.bulk(*id)),
            Owner::Event(id) => assert_eq!(Event::from_row(values).as_ref().ok(), self.state.event(*id)),
            Owner::Registry => assert_eq!(Registry::from_row(values).as_ref().ok(), Some(self.state.registry())),
            Owner::Families(families) => {
                assert_eq!(Control::from_row(values).as_ref().ok(), self.state.control(families));
            }
            Owner::Shard => assert_eq!(Shard::from_row(values).map(|shard| shard.to_row()).as_ref().ok(), Some(row)),
            Owner::Workflow(..) | Owner::Run(_) | Owner::Frame(..) | Owner::Node(_) => panic!("no run is in these scripts"),
        }
    }

    /// A state from the rows alone, loaded as the store loads it.
    pub(crate) fn rebuilt(&self) -> State {
        let mut state = State::new(0);
        for table in TABLES {
            for row in self.rows.values().filter(|row| row.table == table).filter(|row| is_live(row)) {
                state.take_row(row, self.now).expect("a stored row decodes");
            }
        }
        while state.advance(self.now) {}
        state
    }

    /// Fold ≡ live: whatever can be asked, both give the same answer.
    pub(crate) fn check_rebuilt(&mut self) {
        self.quiesce();
        let rebuilt = self.rebuilt();
        let (live, now) = (&self.state, self.now);
        assert_eq!(live.counts(), rebuilt.counts());
        assert_eq!(live.next_due(now), rebuilt.next_due(now), "next_due");
        let summaries = |state: &State| state.queue_summaries().iter().map(|q| format!("{q:?}")).collect::<Vec<_>>();
        assert_eq!(summaries(live), summaries(&rebuilt));
        let ids = |state: &State| state.running().map(|task| task.card().id()).collect::<Vec<_>>();
        assert_eq!(ids(live), ids(&rebuilt), "running");
        let routes: BTreeSet<(TypeName, QueueName)> = live.tasks().map(route).collect();
        for (kind, queue) in routes {
            let (kind, queue) = ([kind], [queue]);
            assert_eq!(live.pick(&kind, &[]), rebuilt.pick(&kind, &[]), "pick {kind:?}");
            assert_eq!(live.pick(&kind, &queue), rebuilt.pick(&kind, &queue), "pick {kind:?} from {queue:?}");
            assert_eq!(live.has_ready(&kind, &queue), rebuilt.pick(&kind, &queue).is_some());
        }
        for task in live.tasks().filter(|task| !task.status().is_finished()) {
            let id = task.card().id();
            assert_eq!(Some(task), rebuilt.task(id));
            assert_eq!(live.dependents(id), rebuilt.dependents(id), "dependents of {id}");
        }
        assert_eq!(live.gathering(), rebuilt.gathering(), "windows and singletons");
        let depths = |state: &State| FamilyDepth::sorted(state.depths_of(None));
        assert_eq!(depths(live), depths(&rebuilt), "families");
        assert_eq!(depths(live), counted(live), "families");
        assert_eq!(live.registry(), rebuilt.registry());
        assert!(live.controls().eq(rebuilt.controls()), "families");
        for task in live.tasks().filter(|task| !task.status().is_finished()).take(64) {
            let told = |state: &State| explain(state, task, &Facts::default(), now);
            assert_eq!(told(live).blocked_on.len(), told(&rebuilt).blocked_on.len(), "{:?}", told(live));
        }
    }
}

/// What there is of each family in each queue, one by one.
fn counted(state: &State) -> Vec<FamilyDepth> {
    let mut found: BTreeMap<(Arc<str>, bool, QueueName), Depth> = BTreeMap::new();
    for task in state.tasks() {
        let route = task.card().route();
        let family = route.family().map_or_else(|| route.queue().shared().clone(), |family| family.shared().clone());
        let mut depth = Depth::default();
        match (task, state.place(task.card().id())) {
            (Task::Queued(_), place) => {
                depth.queued = 1;
                depth.held = usize::from(matches!(place, Place::Held));
                depth.blocked = usize::from(matches!(place, Place::Blocked));
                depth.scheduled = usize::from(matches!(place, Place::Later(_)));
                depth.overrides = usize::from(matches!(place, Place::Override(_)));
            }
            (Task::Running(running), _) => match (running.lease().run(), running.lease().is_run_now()) {
                (Some(_), _) => depth.in_runs = 1,
                (None, true) => depth.overrides = 1,
                (None, false) => depth.running = 1,
            },
            _ => continue,
        }
        *found.entry((family, route.family().is_none(), route.queue().clone())).or_default() += depth;
    }
    found.into_iter().map(|((family, plain, queue), depth)| FamilyDepth { family, plain, queue, depth }).collect()
}

fn route(task: &Task) -> (TypeName, QueueName) {
    let route = task.card().route();
    (route.kind().clone(), route.queue().clone())
}

/// What a store hands over at load: everything but finished tasks and closed bulks.
fn is_live(row: &Row) -> bool {
    if row.table == &TASKS {
        !Task::from_row(&row.values).expect("a stored row decodes").status().is_finished()
    } else if row.table == &BULKS {
        Bulk::from_row(&row.values).expect("a stored row decodes").status() == BulkStatus::Open
    } else {
        [&QUEUES, &KEYS, &SHARDS, &REGISTRIES, &CONTROLS].contains(&row.table)
    }
}

impl Folded {
    fn apply(&mut self, entry: &Entry) {
        match &entry.owner {
            Owner::Shard => {
                let shard = self.shard.take().unwrap_or_else(|| Shard::new(0));
                self.shard = Some(shard.fold(entry));
            }
            Owner::Task(id) => {
                let task = Task::fold(self.tasks.remove(id), *id, entry, |spec| Arc::new(Route::for_spec(spec)));
                task.map(|task| self.tasks.insert(*id, task));
            }
            Owner::Queue(name) => {
                let queue = Queue::fold(self.queues.remove(name), name, entry);
                self.queues.insert(name.clone(), queue);
            }
            Owner::Key(key) => match &entry.record {
                Record::PermitTaken { arrival } => {
                    let permits = Permits { key: key.clone(), last: entry.seq, arrival: *arrival };
                    self.permits.insert(key.clone(), permits);
                }
                _ => _ = self.permits.remove(key),
            },
            Owner::Bulk(id) => {
                let bulk = Bulk::fold(self.bulks.remove(id), *id, entry);
                self.bulks.insert(*id, bulk);
            }
            Owner::Event(id) => {
                let event = Event::fold(self.events.remove(id), *id, entry);
                self.events.insert(*id, event);
            }
            Owner::Registry => self.registry = Some(Registry::fold(&self.registry.take().unwrap_or_default(), entry)),
            Owner::Families(families) => {
                let control = Control::fold(self.controls.remove(families), families, entry);
                control.map(|control| self.controls.insert(families.clone(), control));
            }
            Owner::Workflow(..) | Owner::Run(_) | Owner::Frame(..) | Owner::Node(_) => panic!("no run is in these scripts"),
        }
    }

    fn forget(&mut self, owner: &Owner) {
        match owner {
            Owner::Task(id) => _ = self.tasks.remove(id),
            Owner::Event(id) => _ = self.events.remove(id),
            other => panic!("{other} is never forgotten"),
        }
    }

    fn row(&self, owner: &Owner) -> Option<Row> {
        match owner {
            Owner::Shard => self.shard.as_ref().map(Shard::to_row),
            Owner::Task(id) => self.tasks.get(id).map(Task::to_row),
            Owner::Queue(name) => self.queues.get(name).map(Queue::to_row),
            Owner::Key(key) => self.permits.get(key).map(Permits::to_row),
            Owner::Bulk(id) => self.bulks.get(id).map(Bulk::to_row),
            Owner::Event(id) => self.events.get(id).map(Event::to_row),
            Owner::Registry => self.registry.as_ref().map(|registry| registry.to_row(0)),
            Owner::Families(families) => self.controls.get(families).map(Control::to_row),
            Owner::Workflow(..) | Owner::Run(_) | Owner::Frame(..) | Owner::Node(_) => panic!("no run is in these scripts"),
        }
    }
}
