//! The store in memory, for the simulator and for tests. The disk outlives the store: a crash is to drop the store and
//! open another one on the same disk. Faults are put in from outside and hit the next call they fit, so a run is the
//! same every time.

mod events;
mod rollups;
mod runs;

use crate::blobs::{BlobId, mentions};
use crate::chain::{self, Pace, Wanted, column};
use crate::rollups::{RollupCursor, RollupQuery, RollupReader, RollupRow, RollupStore};
use crate::store::{
    ApprovalQuery, Batch, Decoded, EventQuery, NodeQuery, Reader, RunQuery, Stamp, Store, StoreError, Stretch, TaskQuery,
};
use kernel::ids::{BulkId, EventId, RecordSeq, RunId, TaskId};
use kernel::names::{QueueName, WorkflowName};
use kernel::needs::{Begun, Need};
use kernel::record::{Entry, Payload};
use kernel::rollup::FailedAt;
use kernel::row::{BULKS, BadRow, EVENTS, NODES, REGISTRIES, RUNS, Row, TABLES, TASKS, Table, Value, WORKFLOWS};
use kernel::run::NodeAt;
use kernel::task::{Status, Task};
use kernel::time::Time;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::sync::{Arc, Mutex, MutexGuard};

/// What a disk can do to its store.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The commit fails and nothing was written.
    CommitLost,
    /// The commit fails although all of it was written.
    CommitKept,
    LoadFails,
    RowsFail,
}

impl Fault {
    pub const ALL: [Fault; 4] = [Fault::CommitLost, Fault::CommitKept, Fault::LoadFails, Fault::RowsFail];
}

/// What survives. Clones are the same disk.
#[derive(Clone, Default)]
pub struct MemoryDisk(Arc<Mutex<Disk>>);

#[derive(Default)]
struct Disk {
    durable: Durable,
    faults: VecDeque<Fault>,
    hits: [u64; Fault::ALL.len()],
}

type Rows = BTreeMap<Vec<Value>, Vec<Value>>;

/// The rows and records on the disk, for checkers to read.
#[derive(Clone, Default)]
pub struct Durable {
    tables: [Rows; TABLES.len()],
    entries: BTreeMap<RecordSeq, Entry>,
    /// What was forgotten: nobody can read it, but a test that watches a store wants to know what was written.
    pruned: BTreeMap<RecordSeq, Entry>,
    // As the indexes of a database: (queue, id) of dead letters, and (queue, key, id) of tasks with a key.
    dead: BTreeSet<(Arc<str>, i64)>,
    keyed: BTreeSet<(Arc<str>, Arc<str>, i64)>,
    /// Blobs, and the records that mention them.
    mentions: BTreeSet<(BlobId, RecordSeq)>,
    // And (key, id) of events with one.
    events: BTreeSet<(Arc<str>, i64)>,
    rollups: rollups::Rollups,
}

fn index_of(table: &'static Table) -> usize {
    TABLES.iter().position(|known| std::ptr::eq(*known, table)).expect("every table is one of the kernel's")
}

/// The columns of a task that the indexes and queries look at, found once.
struct TaskColumns {
    queue: usize,
    status: usize,
    idempotency_key: usize,
    node: usize,
}

impl TaskColumns {
    fn get() -> &'static TaskColumns {
        static COLUMNS: std::sync::LazyLock<TaskColumns> = std::sync::LazyLock::new(|| TaskColumns {
            queue: column(&TASKS, "queue"),
            status: column(&TASKS, "status"),
            idempotency_key: column(&TASKS, "idempotency_key"),
            node: column(&TASKS, "node"),
        });
        &COLUMNS
    }
}

fn text(value: &Value) -> Option<&Arc<str>> {
    if let Value::Text(text) = value { Some(text) } else { None }
}

fn has_status(values: &[Value], statuses: &[Status]) -> bool {
    text(&values[TaskColumns::get().status]).is_some_and(|status| statuses.iter().any(|wanted| wanted.as_str() == &**status))
}

/// What fails as the work of a run is the run's affair.
fn is_dead(values: &[Value]) -> bool {
    has_status(values, &[Status::Failed]) && values[TaskColumns::get().node] == Value::Null
}

impl Durable {
    /// Every row of a table, by primary key.
    pub fn rows(&self, table: &'static Table) -> impl DoubleEndedIterator<Item = &[Value]> {
        self.tables[index_of(table)].values().map(Vec::as_slice)
    }

    pub fn row(&self, table: &'static Table, key: &[Value]) -> Option<&[Value]> {
        self.tables[index_of(table)].get(key).map(Vec::as_slice)
    }

    /// Every record, oldest first.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.values()
    }

    /// Records after `after`, oldest first.
    pub fn entries_after(&self, after: RecordSeq) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.range((Excluded(after), Unbounded)).map(|(_, entry)| entry)
    }

    /// The same, with those that were forgotten since.
    pub fn written_after(&self, after: RecordSeq) -> Vec<&Entry> {
        let pruned = self.pruned.range((Excluded(after), Unbounded)).map(|(_, entry)| entry);
        let mut all: Vec<&Entry> = self.entries_after(after).chain(pruned).collect();
        all.sort_unstable_by_key(|entry| entry.seq);
        all
    }

    /// The records that mention a blob.
    pub fn mentions_of(&self, id: &BlobId) -> impl Iterator<Item = RecordSeq> {
        self.mentions.range((*id, RecordSeq::NONE)..=(*id, RecordSeq(u64::MAX))).map(|(_, seq)| *seq)
    }

    /// Every blob that records mention, by id.
    pub fn mentioned(&self) -> impl Iterator<Item = &(BlobId, RecordSeq)> {
        self.mentions.iter()
    }

    fn found(&self, table: &'static Table, key: &[Value]) -> Option<Row> {
        self.row(table, key).map(|values| Row { table, values: values.to_vec() })
    }

    fn task(&self, id: TaskId) -> Option<Row> {
        self.found(&TASKS, &[Value::Int(id.number())])
    }

    fn check(&self, batch: &Batch) -> Result<(), StoreError> {
        let mut new = FxHashSet::default();
        for entry in &batch.entries {
            if self.entries.contains_key(&entry.seq) || !new.insert(entry.seq) {
                return Err(StoreError::Failed(format!("record {} was written already", entry.seq.0)));
            }
        }
        Ok(())
    }

    fn write(&mut self, batch: &Batch) {
        for entry in &batch.entries {
            self.entries.insert(entry.seq, entry.clone());
        }
        self.mentions.extend(batch.mentioned().map(|(seq, blob)| (blob, seq)));
        for row in &batch.puts {
            let table = index_of(row.table);
            if row.table == &TASKS {
                self.unindex(row.key());
                self.index(&row.values);
            }
            if row.table == &EVENTS {
                self.index_event(&row.values);
            }
            match self.tables[table].get_mut(row.key()) {
                Some(values) => values.clone_from(&row.values),
                None => drop(self.tables[table].insert(row.key().to_vec(), row.values.clone())),
            }
        }
        for (table, key) in &batch.deletes {
            if *table == &TASKS {
                self.unindex(key);
            }
            let gone = self.tables[index_of(table)].remove(key);
            if let Some(gone) = gone.filter(|_| *table == &EVENTS) {
                self.unindex_event(&gone);
            }
        }
        for last in &batch.prunes {
            let mut at = *last;
            while let Some(entry) = self.entries.remove(&at) {
                at = entry.prev;
                self.rollups.forget(&entry);
                if entry.payload.as_ref().is_some_and(|payload| !mentions(payload.text()).is_empty()) {
                    self.mentions.retain(|(_, seq)| *seq != entry.seq);
                }
                self.pruned.insert(entry.seq, entry);
            }
        }
    }

    fn index(&mut self, values: &[Value]) {
        let columns = TaskColumns::get();
        let (Value::Int(id), Some(queue)) = (&values[0], text(&values[columns.queue])) else { return };
        if is_dead(values) {
            self.dead.insert((queue.clone(), *id));
        }
        if let Some(key) = text(&values[columns.idempotency_key]) {
            self.keyed.insert((queue.clone(), key.clone(), *id));
        }
    }

    fn unindex(&mut self, key: &[Value]) {
        let columns = TaskColumns::get();
        let Some(values) = self.tables[index_of(&TASKS)].get(key) else { return };
        let (Value::Int(id), Some(queue)) = (&values[0], text(&values[columns.queue])) else { return };
        if is_dead(values) {
            self.dead.remove(&(queue.clone(), *id));
        }
        if let Some(key) = text(&values[columns.idempotency_key]) {
            self.keyed.remove(&(queue.clone(), key.clone(), *id));
        }
    }

    fn needed(&self, need: &Need) -> Result<Vec<Row>, StoreError> {
        let task = |id: i64| self.found(&TASKS, &[Value::Int(id)]);
        Ok(match need {
            Need::Task(id) => self.task(*id).into_iter().collect(),
            Need::Idempotency { queue, key, before } => {
                let of = |id| (queue.shared().clone(), key.shared().clone(), id);
                let youngest = self.keyed.range(of(i64::MIN)..of(before.number())).next_back();
                youngest.and_then(|(_, _, id)| task(*id)).into_iter().collect()
            }
            Need::Dead { queue, after, upto, limit } => {
                let of = |id| (queue.shared().clone(), id);
                let after = after.map_or(-1, TaskId::number);
                if after >= upto.number() {
                    return Ok(Vec::new());
                }
                let range = (Excluded(of(after)), Included(of(upto.number())));
                self.dead.range(range).take(*limit).filter_map(|(_, id)| task(*id)).collect()
            }
            Need::Run(id) => self.found(&RUNS, &[Value::Int(id.number())]).into_iter().collect(),
            Need::RunWhole(id) => self.found(&RUNS, &[Value::Int(id.number())]).into_iter().chain(self.parts(*id)).collect(),
            Need::RunKey { workflow, key } => self.run_by_key(workflow, key).into_iter().collect(),
            Need::RunParts { runs, limit } => runs.iter().flat_map(|run| self.parts(*run)).take(*limit).collect(),
            Need::RunsEnded { before, keep, limit } => self.runs_ended(*before, *keep, *limit),
            Need::Event(id) => self.found(&EVENTS, &[Value::Int(id.number())]).into_iter().collect(),
            Need::EventKey(key) => self.event_by_key(key).into_iter().collect(),
            Need::EventsNamed { name, after, limit } => self.events_named(name, *after, *limit),
            Need::EventsOld { before, after, limit } => self.events_old(*before, *after, *limit),
        })
    }
}

impl MemoryDisk {
    pub fn new() -> MemoryDisk {
        MemoryDisk::default()
    }

    /// A store on this disk. Who opens a second one while the first lives has two writers, and that is on purpose: a
    /// simulator may want to see what happens.
    pub fn open(&self) -> Memory {
        Memory { disk: self.clone() }
    }

    pub fn open_reader(&self) -> impl Reader + use<> {
        MemoryReader { disk: self.clone(), held: None }
    }

    /// Hits the next call that it fits; faults for the same call hit one call each, in the order they were put in.
    pub fn inject(&self, fault: Fault) {
        self.lock().faults.push_back(fault);
    }

    /// How often this fault has hit.
    pub fn hits(&self, fault: Fault) -> u64 {
        self.lock().hits[fault as usize]
    }

    /// Looks at what is durable.
    pub fn read<T>(&self, look: impl FnOnce(&Durable) -> T) -> T {
        look(&self.lock().durable)
    }

    /// Changes what is durable behind the store's back, as a bad disk would.
    pub fn spoil(&self, table: &'static Table, key: &[Value], change: impl FnOnce(&mut [Value])) {
        let mut disk = self.lock();
        if let Some(values) = disk.durable.tables[index_of(table)].get_mut(key) {
            change(values);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Disk> {
        // A panic elsewhere (a broken invariant that the simulator caught) leaves the disk as it was.
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Disk {
    fn fault(&mut self, fits: &[Fault]) -> Option<Fault> {
        let at = self.faults.iter().position(|fault| fits.contains(fault))?;
        let fault = self.faults.remove(at)?;
        self.hits[fault as usize] += 1;
        Some(fault)
    }
}

fn injected(what: &str) -> StoreError {
    StoreError::Failed(format!("injected: {what}"))
}

pub struct Memory {
    disk: MemoryDisk,
}

impl Store for Memory {
    fn load(&mut self, each: &mut dyn FnMut(Row)) -> Result<(), StoreError> {
        let mut disk = self.disk.lock();
        if disk.fault(&[Fault::LoadFails]).is_some() {
            return Err(injected("the load fails"));
        }
        let whole = disk.durable.runs_whole();
        let mut rows = Vec::new();
        for table in TABLES {
            let is_live = |values: &&[Value]| match table.name {
                "bulks" => values[column(table, "status")] == Value::from("open"),
                "tasks" => has_status(values, &[Status::Idle, Status::Queued, Status::Running]),
                "runs" => runs::is_live(values),
                "frames" | "nodes" => whole.contains(&values[0]),
                "events" => false,
                _ => true,
            };
            let live = disk.durable.rows(table).filter(is_live);
            rows.extend(live.map(|values| Row { table, values: values.to_vec() }));
        }
        // Who takes a row may read others of the same disk.
        drop(disk);
        rows.into_iter().for_each(each);
        Ok(())
    }

    fn last_at_us(&mut self) -> Result<i64, StoreError> {
        Ok(self.disk.lock().durable.entries().next_back().map_or(0, |entry| entry.at.us()))
    }

    fn begun(&mut self, nodes: &[RecordSeq]) -> Result<Vec<Vec<Begun>>, StoreError> {
        let disk = self.disk.lock();
        nodes.iter().map(|last| chain::begun(&disk.durable, *last)).collect()
    }

    fn payload(&mut self, record: RecordSeq) -> Result<Option<Payload>, StoreError> {
        Ok(self.disk.lock().durable.entries.get(&record).and_then(|entry| entry.payload.clone()))
    }

    fn rows(&mut self, needs: &[Need]) -> Result<Vec<Row>, StoreError> {
        let mut disk = self.disk.lock();
        if disk.fault(&[Fault::RowsFail]).is_some() {
            return Err(injected("the rows cannot be read"));
        }
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        for need in needs {
            let new = |row: &Row| seen.insert((row.table.name, row.key().to_vec()));
            found.extend(disk.durable.needed(need)?.into_iter().filter(new));
        }
        Ok(found)
    }

    fn commit(&mut self, batch: &Batch) -> Result<(), StoreError> {
        let mut disk = self.disk.lock();
        if batch.is_empty() {
            return Ok(());
        }
        match disk.fault(&[Fault::CommitLost, Fault::CommitKept]) {
            Some(Fault::CommitLost) => Err(injected("the commit is lost")),
            fault => {
                disk.durable.check(batch)?;
                disk.durable.write(batch);
                if fault.is_some() { Err(injected("the commit is kept, but nobody is told")) } else { Ok(()) }
            }
        }
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        Ok(Box::new(MemoryReader { disk: self.disk.clone(), held: None }))
    }

    fn rollups(&self) -> Result<Box<dyn RollupStore>, StoreError> {
        Ok(Box::new(self.disk.clone()))
    }

    fn describe(&self) -> String {
        "memory".into()
    }
}

impl RollupReader for MemoryReader {
    fn rollup_cursor(&mut self) -> Result<RollupCursor, StoreError> {
        Ok(self.read(|durable| durable.rollups().cursor()))
    }

    fn rollups(&mut self, query: &RollupQuery, each: &mut dyn FnMut(RollupRow)) -> Result<u64, StoreError> {
        let (found, rows) = self.read(|durable| durable.rollups().rows(query));
        rows.into_iter().for_each(each);
        Ok(found)
    }

    fn rollup_failures(&mut self, query: &RollupQuery) -> Result<Vec<FailedAt>, StoreError> {
        Ok(self.read(|durable| durable.rollups().failures(query)))
    }
}

struct MemoryReader {
    disk: MemoryDisk,
    held: Option<Box<Durable>>,
}

impl MemoryReader {
    fn read<T>(&self, look: impl FnOnce(&Durable) -> T) -> T {
        match &self.held {
            Some(held) => look(held),
            None => self.disk.read(look),
        }
    }
}

impl Reader for MemoryReader {
    fn task(&mut self, id: TaskId) -> Result<Option<Row>, StoreError> {
        Ok(self.read(|durable| durable.task(id)))
    }

    fn tasks(&mut self, query: &TaskQuery) -> Result<Vec<Row>, StoreError> {
        self.read(|durable| {
            let mut found = Vec::new();
            for values in durable.rows(&TASKS).rev() {
                if found.len() == query.limit {
                    break;
                }
                let task = Task::from_row(values)?;
                let card = task.card();
                let fits = query.before.is_none_or(|before| card.id() < before)
                    && query.queue.as_ref().is_none_or(|queue| queue == card.route().queue())
                    && query.status.is_none_or(|status| status == task.status())
                    && query.tag.as_ref().is_none_or(|tag| card.tags().contains(tag))
                    && (!query.dead || is_dead(values))
                    && query.filter.matches(card);
                if fits {
                    found.push(Row { table: &TASKS, values: values.to_vec() });
                }
            }
            Ok(found)
        })
    }

    fn dead_counts(&mut self) -> Result<Vec<(QueueName, u64)>, StoreError> {
        self.read(|durable| {
            let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
            durable.dead.iter().for_each(|(queue, _)| *counts.entry(queue).or_default() += 1);
            let named = counts.into_iter().map(|(queue, count)| Ok((QueueName::parse(queue)?, count)));
            let named: Result<Vec<_>, kernel::names::BadName> = named.collect();
            Ok(named.map_err(|bad| BadRow { table: TASKS.name, column: "queue", why: bad.to_string() })?)
        })
    }

    fn dead_families(&mut self) -> Result<Vec<(QueueName, Arc<str>, u64)>, StoreError> {
        self.read(|durable| {
            let mut counts: BTreeMap<(QueueName, Arc<str>), u64> = BTreeMap::new();
            for row in durable.dead.iter().filter_map(|(_, id)| durable.found(&TASKS, &[Value::Int(*id)])) {
                let task = Task::from_row(&row.values)?;
                let route = task.card().route();
                let family = route.family().map_or_else(|| route.queue().shared().clone(), |family| family.shared().clone());
                *counts.entry((route.queue().clone(), family)).or_default() += 1;
            }
            Ok(counts.into_iter().map(|((queue, family), count)| (queue, family, count)).collect())
        })
    }

    fn event(&mut self, id: EventId) -> Result<Option<Row>, StoreError> {
        Ok(self.read(|durable| durable.found(&EVENTS, &[Value::Int(id.number())])))
    }

    fn events(&mut self, query: &EventQuery) -> Result<Vec<Row>, StoreError> {
        self.read(|durable| durable.events(query))
    }

    fn events_old(&mut self, before: Time, after: Option<EventId>, limit: usize) -> Result<Vec<Row>, StoreError> {
        Ok(self.read(|durable| durable.events_old(before, after, limit)))
    }

    fn registry(&mut self) -> Result<Option<Row>, StoreError> {
        let row = |values: &[Value]| Row { table: &REGISTRIES, values: values.to_vec() };
        Ok(self.read(|durable| durable.rows(&REGISTRIES).next().map(row)))
    }

    fn bulk(&mut self, id: BulkId) -> Result<Option<Row>, StoreError> {
        Ok(self.read(|durable| durable.found(&BULKS, &[Value::Int(id.number())])))
    }

    fn bulks(&mut self, limit: usize) -> Result<Vec<Row>, StoreError> {
        let row = |values: &[Value]| Row { table: &BULKS, values: values.to_vec() };
        Ok(self.read(|durable| durable.rows(&BULKS).rev().take(limit).map(row).collect()))
    }

    fn workflow(&mut self, name: &WorkflowName, version: Option<u32>) -> Result<Option<Row>, StoreError> {
        Ok(self.read(|durable| match version {
            Some(version) => durable.found(&WORKFLOWS, &[name.shared().into(), Value::Int(version.into())]),
            None => durable.workflow_versions(name).pop(),
        }))
    }

    fn workflows(&mut self) -> Result<Vec<Row>, StoreError> {
        Ok(self.read(Durable::workflows_newest))
    }

    fn workflow_versions(&mut self, name: &WorkflowName) -> Result<Vec<Row>, StoreError> {
        Ok(self.read(|durable| durable.workflow_versions(name).into_iter().rev().collect()))
    }

    fn run(&mut self, id: RunId) -> Result<Option<Row>, StoreError> {
        Ok(self.read(|durable| durable.found(&RUNS, &[Value::Int(id.number())])))
    }

    fn runs(&mut self, query: &RunQuery) -> Result<Vec<Row>, StoreError> {
        Ok(self.read(|durable| durable.runs(query))?)
    }

    fn runs_ended(&mut self, before: kernel::time::Time, keep: usize, limit: usize) -> Result<Vec<Row>, StoreError> {
        Ok(self.read(|durable| durable.runs_ended(before, keep, limit)))
    }

    fn frames(&mut self, run: RunId, limit: usize) -> Result<Vec<Row>, StoreError> {
        Ok(self.read(|durable| durable.frames_of(run).take(limit).collect()))
    }

    fn nodes(&mut self, query: &NodeQuery) -> Result<Vec<Row>, StoreError> {
        Ok(self.read(|durable| durable.nodes(query)))
    }

    fn node(&mut self, at: &NodeAt) -> Result<Option<Row>, StoreError> {
        let key = [Value::Int(at.run.number()), at.frame.to_string().as_str().into(), at.node.shared().into()];
        Ok(self.read(|durable| durable.found(&NODES, &key)))
    }

    fn approvals(&mut self, query: &ApprovalQuery) -> Result<Vec<Row>, StoreError> {
        Ok(self.read(|durable| durable.approvals(query)))
    }

    fn run_history(&mut self, run: RunId, after: RecordSeq, limit: usize, tasks: bool) -> Result<Vec<Entry>, StoreError> {
        self.read(|durable| chain::run_history(durable, &Wanted { run, after, limit, tasks }, Pace::USUAL))
    }

    fn run_stamps(&mut self, run: RunId) -> Result<Vec<Stamp>, StoreError> {
        self.read(|durable| chain::run_stamps(durable, run, Pace::WHOLE))
    }

    fn entries(&mut self, records: &[RecordSeq]) -> Result<Vec<Decoded>, StoreError> {
        let bare = |entry: &Entry| Ok(Entry { payload: None, ..entry.clone() });
        Ok(self.read(|durable| records.iter().filter_map(|seq| durable.entries.get(seq).map(bare)).collect()))
    }

    fn payloads(&mut self, records: &[RecordSeq]) -> Result<Vec<Option<Payload>>, StoreError> {
        Ok(self.read(|durable| {
            let payload = |seq| durable.entries.get(seq).and_then(|entry: &Entry| entry.payload.clone());
            records.iter().map(payload).collect()
        }))
    }

    fn blobs_mentioned(&mut self, blobs: &[BlobId]) -> Result<Vec<bool>, StoreError> {
        Ok(self.read(|durable| blobs.iter().map(|id| durable.mentions_of(id).next().is_some()).collect()))
    }

    fn mentioned_by(&mut self, record: RecordSeq) -> Result<Vec<BlobId>, StoreError> {
        Ok(self.read(|durable| durable.mentions.iter().filter(|(_, seq)| *seq == record).map(|(id, _)| *id).collect()))
    }

    fn mentions(&mut self, after: Option<&BlobId>, limit: usize) -> Result<Vec<(BlobId, RecordSeq)>, StoreError> {
        Ok(self.read(|durable| {
            let mut found: Vec<(BlobId, RecordSeq)> = durable.mentions.iter().copied().collect();
            found.dedup_by_key(|(id, _)| *id);
            found.into_iter().filter(|(id, _)| after.is_none_or(|after| id > after)).take(limit).collect()
        }))
    }

    fn valued_by(&mut self, blob: &BlobId) -> Result<Option<RecordSeq>, StoreError> {
        let text = Payload::blob(&blob.to_string());
        Ok(self.read(|durable| {
            let is_value = |seq: &RecordSeq| durable.entries.get(seq).is_some_and(|entry| entry.payload.as_ref() == Some(&text));
            durable.mentions_of(blob).find(is_value)
        }))
    }

    fn history(&mut self, last: RecordSeq, limit: usize) -> Result<Vec<Entry>, StoreError> {
        self.read(|durable| chain::history(durable, last, limit))
    }

    fn stretch(&mut self, after: RecordSeq, limit: usize, owners: &[&str]) -> Result<Stretch, StoreError> {
        Ok(self.read(|durable| {
            let mut found = Stretch::default();
            for entry in durable.entries_after(after).take(limit) {
                let owner = entry.owner.to_string();
                if owners.iter().any(|begins| owner.starts_with(begins)) {
                    found.entries.push(Entry { payload: None, ..entry.clone() });
                }
                found.passed += 1;
                found.end = Some((entry.seq, entry.at));
            }
            found
        }))
    }

    fn last_record(&mut self) -> Result<RecordSeq, StoreError> {
        Ok(self.read(|durable| durable.entries().next_back().map_or(RecordSeq::NONE, |entry| entry.seq)))
    }

    fn scan(&mut self, table: &'static Table, each: &mut dyn FnMut(Row)) -> Result<(), StoreError> {
        self.read(|durable| durable.rows(table).for_each(|values| each(Row { table, values: values.to_vec() })));
        Ok(())
    }

    fn scan_records(&mut self, each: &mut dyn FnMut(Decoded)) -> Result<(), StoreError> {
        self.read(|durable| durable.entries().for_each(|entry| each(Ok(entry.clone()))));
        Ok(())
    }

    fn hold(&mut self) -> Result<(), StoreError> {
        self.held = Some(Box::new(self.disk.read(Durable::clone)));
        Ok(())
    }

    fn release(&mut self) -> Result<(), StoreError> {
        self.held = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{self, scribe};

    #[test]
    fn memory_conforms() {
        conformance::check(|| {
            let disk = MemoryDisk::new();
            Box::new(move || Box::new(disk.open()))
        });
    }

    /// Commits one task a batch and gives what each commit said, and which tasks are on the disk.
    fn check(faults: &[Fault], expected: &str) {
        let disk = MemoryDisk::new();
        faults.iter().for_each(|fault| disk.inject(*fault));
        let (mut store, mut scribe, mut said) = (disk.open(), scribe::Scribe::new(), String::new());
        for id in 1..=3 {
            scribe.add(scribe::task(id), scribe::plain("ci"));
            said += if store.commit(&scribe.batch()).is_ok() { "ok " } else { "failed " };
        }
        said += if store.load(&mut |_| {}).is_ok() { "loaded " } else { "unloaded " };
        said += if store.rows(&[]).is_ok() { "rows:" } else { "unread:" };
        disk.read(|durable| durable.rows(&TASKS).for_each(|values| said += &format!(" {}", values[0])));
        assert_eq!(said, expected, "{faults:?}");
        let hits: u64 = Fault::ALL.iter().map(|fault| disk.hits(*fault)).sum();
        assert_eq!(hits, faults.len() as u64);
    }

    #[test]
    fn each_fault_hits_once() {
        check(&[], "ok ok ok loaded rows: 1 2 3");
        check(&[Fault::CommitLost], "failed ok ok loaded rows: 2 3");
        check(&[Fault::CommitKept], "failed ok ok loaded rows: 1 2 3");
        check(&[Fault::CommitKept, Fault::CommitLost], "failed failed ok loaded rows: 1 3");
        check(&[Fault::LoadFails], "ok ok ok unloaded rows: 1 2 3");
        check(&[Fault::RowsFail, Fault::CommitLost], "failed ok ok loaded unread: 2 3");
    }
}
