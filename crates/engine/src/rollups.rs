//! Statistics by the minute, off the writer: a thread reads what was committed, folds it into roll-ups and adds them to those
//! that are kept, with the place it has come to, in one commit. A trail of each live task says what a record alone does not;
//! trails are kept while there is room and read from the history when there was not, so nothing hangs on memory and a restart
//! goes on exactly where it was. It sleeps until something was committed, and then looks once a second at most.

use kernel::ids::{RecordSeq, TaskId};
use kernel::names::Family;
use kernel::record::{Entry, Owner, Record};
use kernel::rollup::{Minute, Projection, Trail};
use kernel::time::Time;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use store::{Reader, RollupBatch, RollupCursor, RollupStore, StoreError, Stretch};

/// Records folded in one go.
const RECORDS_AT_ONCE: usize = 2_000;
/// Whose records are folded, by how they are called: tasks, queues and events.
const COUNTED: [&str; 3] = ["task-", "queue:", "event-"];
/// Trails kept in memory, in two generations.
const TRAILS_MAX: usize = 200_000;
/// Records that are folded while somebody waits.
const REST_RECORDS_MAX: usize = 5_000;
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What is known of the tasks whose records are to come. When the young ones are many, the old ones go.
#[derive(Default)]
struct Trails {
    young: FxHashMap<TaskId, Trail>,
    old: FxHashMap<TaskId, Trail>,
}

impl Trails {
    fn take(&mut self, task: TaskId) -> Option<Trail> {
        self.young.remove(&task).or_else(|| self.old.remove(&task))
    }

    fn put(&mut self, task: TaskId, trail: Trail) {
        if self.young.len() >= TRAILS_MAX / 2 {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(task, trail);
    }
}

/// Folds records; what it has to know of their tasks it reads.
#[derive(Default)]
struct Folder {
    trails: Trails,
    projection: Projection,
}

impl Folder {
    fn take(&mut self, entry: &Entry, reader: &mut dyn Reader) -> Result<(), StoreError> {
        match &entry.owner {
            Owner::Task(task) => self.take_task(*task, entry, reader),
            Owner::Queue(queue) => {
                self.projection.take_queue(queue, entry);
                Ok(())
            }
            Owner::Event(_) => {
                if let Some(family) = family_of(entry, reader)? {
                    self.projection.take_event(&family, entry);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn take_task(&mut self, task: TaskId, entry: &Entry, reader: &mut dyn Reader) -> Result<(), StoreError> {
        let kept = self.trails.take(task);
        if let Some(trail) = self.projection.begin(entry) {
            self.trails.put(task, trail);
            return Ok(());
        }
        if matches!(entry.record, Record::TaskDeleted { .. }) {
            return Ok(());
        }
        let known = match kept.filter(|trail| trail.last() == entry.prev) {
            Some(trail) => Some(trail),
            None => trail_before(entry, reader)?,
        };
        // A task whose history is gone meanwhile: the store has counted it as lost.
        let Some(mut trail) = known else { return Ok(()) };
        self.projection.take(entry, &mut trail);
        let over = matches!(entry.record, Record::TaskDone { .. } | Record::TaskFailed { .. } | Record::TaskCancelled { .. });
        if !over {
            self.trails.put(task, trail);
        }
        Ok(())
    }
}

/// Of an event: its first record has its name. `None`: it is gone meanwhile.
fn family_of(entry: &Entry, reader: &mut dyn Reader) -> Result<Option<Family>, StoreError> {
    let mut found = entry.clone();
    loop {
        if let Record::EventReceived { spec, .. } = &found.record {
            return Ok(Some(spec.name.family()));
        }
        let before = reader.entries(&[found.prev])?.pop();
        let Some(before) = before else { return Ok(None) };
        found = before.map_err(|(_, bad)| bad)?;
    }
}

/// From the history, back to the task's first record.
fn trail_before(entry: &Entry, reader: &mut dyn Reader) -> Result<Option<Trail>, StoreError> {
    let (mut chain, mut seq) = (Vec::new(), entry.prev);
    while seq != RecordSeq::NONE {
        let Some(found) = reader.entries(&[seq])?.pop() else { return Ok(None) };
        let before = found.map_err(|(_, bad)| bad)?;
        seq = before.prev;
        chain.push(before);
    }
    let Some(mut trail) = chain.last().and_then(Trail::begin) else { return Ok(None) };
    chain.iter().rev().skip(1).for_each(|entry| trail.follow(entry));
    Ok(Some(trail))
}

/// What happened from this instant to the end of its minute, straight from the records; `None`: that is too much, and whoever
/// asks has to take the whole minute.
pub fn rest_of_minute(reader: &mut dyn Reader, from: Time) -> Result<Option<Projection>, StoreError> {
    let end = Minute(Minute::of(from).0 + 1).start();
    // The last record before it; times rise with numbers.
    let (mut before, mut beyond) = (RecordSeq::NONE, reader.last_record()?);
    while before < beyond {
        let middle = RecordSeq(before.0 + (beyond.0 - before.0) / 2);
        match reader.records(middle, 1)?.first() {
            Some(entry) if entry.at < from => before = entry.seq,
            _ => beyond = middle,
        }
    }
    let mut entries = reader.records(before, REST_RECORDS_MAX + 1)?;
    let within = entries.partition_point(|entry| entry.at < end);
    if within > REST_RECORDS_MAX {
        return Ok(None);
    }
    entries.truncate(within);
    let mut folder = Folder::default();
    for entry in &entries {
        folder.take(entry, reader)?;
    }
    Ok(Some(folder.projection))
}

/// Folds the records of a store, a chunk at a time.
pub struct Projector {
    reader: Box<dyn Reader>,
    rollups: Box<dyn RollupStore>,
    folder: Folder,
    keep: Duration,
}

impl Projector {
    /// `keep`: how long roll-ups are kept.
    pub fn new(reader: Box<dyn Reader>, rollups: Box<dyn RollupStore>, keep: Duration) -> Projector {
        Projector { reader, rollups, folder: Folder::default(), keep }
    }

    pub fn cursor(&mut self) -> Result<RollupCursor, StoreError> {
        self.rollups.cursor()
    }

    /// Folds the next records, `limit` at most; false: there were none left.
    pub fn step(&mut self, limit: usize) -> Result<bool, StoreError> {
        let stepped = self.fold(limit);
        if stepped.is_err() {
            // They may be ahead of what was written.
            self.folder = Folder::default();
        }
        stepped
    }

    fn fold(&mut self, limit: usize) -> Result<bool, StoreError> {
        let after = self.rollups.cursor()?.seq;
        let Stretch { entries, passed, end } = self.reader.stretch(after, limit, &COUNTED)?;
        let Some((upto, at)) = end else { return Ok(false) };
        for entry in &entries {
            self.folder.take(entry, &mut *self.reader)?;
        }
        let projection = std::mem::take(&mut self.folder.projection);
        let keep_us = i64::try_from(self.keep.as_micros()).unwrap_or(i64::MAX);
        let keep_from = Some(Minute::of(Time::from_us(at.us().saturating_sub(keep_us))));
        self.rollups.add(&RollupBatch { after, upto, at, projection, keep_from })?;
        Ok(passed == limit)
    }
}

/// Where the projector and those who wait for it meet.
#[derive(Default)]
pub(crate) struct Desk {
    now: Mutex<Work>,
    changed: Condvar,
}

#[derive(Default)]
struct Work {
    /// Something was committed since the last look.
    news: bool,
    /// Since when something waits to be folded.
    behind_since: Option<Instant>,
    /// Somebody waits for the next look.
    hurry: bool,
    closed: bool,
    cursor: RollupCursor,
    keep: Duration,
    trouble: Option<String>,
}

impl Work {
    fn state(&self, wanted: RecordSeq) -> RollupState {
        let (cursor, keep, trouble) = (self.cursor, self.keep, self.trouble.clone());
        let lag = self.behind_since.map_or(Duration::ZERO, |since| since.elapsed());
        RollupState { cursor, is_behind: cursor.seq < wanted, lag, keep, trouble }
    }
}

/// How far the roll-ups are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RollupState {
    pub cursor: RollupCursor,
    /// Records that were asked for are not in them.
    pub is_behind: bool,
    /// How long something has waited to be in them.
    pub lag: Duration,
    /// How long they are kept.
    pub keep: Duration,
    /// Why they do not get further, if they do not.
    pub trouble: Option<String>,
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, Work> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something was committed.
    pub fn ring(&self) {
        let mut work = self.lock();
        if !std::mem::replace(&mut work.news, true) {
            work.behind_since.get_or_insert_with(Instant::now);
            self.changed.notify_all();
        }
    }

    /// Nothing more will be.
    pub fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    pub fn state(&self) -> RollupState {
        self.lock().state(RecordSeq::NONE)
    }

    /// Waits until all records up to this one are folded, but no longer than `within`.
    pub fn reach(&self, seq: RecordSeq, within: Duration) -> RollupState {
        let mut work = self.lock();
        if work.cursor.seq < seq && !work.closed {
            (work.news, work.hurry) = (true, true);
            self.changed.notify_all();
            let behind = |work: &mut Work| work.cursor.seq < seq && !work.closed;
            work = self.changed.wait_timeout_while(work, within, behind).unwrap_or_else(PoisonError::into_inner).0;
        }
        work.state(seq)
    }

    /// Waits for the next look, not before `earliest` unless somebody is in a hurry; false: there is none.
    fn wait(&self, earliest: Instant) -> bool {
        let idle = |work: &mut Work| !work.news && !work.closed;
        let work = self.changed.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner);
        let early = |work: &mut Work| !work.hurry && !work.closed;
        let rest = earliest.saturating_duration_since(Instant::now());
        let mut work = self.changed.wait_timeout_while(work, rest, early).unwrap_or_else(PoisonError::into_inner).0;
        (work.news, work.hurry) = (false, false);
        !work.closed
    }

    /// How far a look has come, and whether there is more to fold; false: nobody wants to know any more.
    fn told(&self, outcome: Result<(RollupCursor, bool), &StoreError>) -> bool {
        let mut work = self.lock();
        match outcome {
            Ok((cursor, more)) => {
                (work.cursor, work.trouble) = (cursor, None);
                if !more {
                    work.behind_since = work.news.then(Instant::now);
                }
            }
            Err(error) => {
                if work.trouble.is_none() {
                    tracing::warn!(%error, "the statistics cannot be brought up to date; they will be as soon as that works again");
                }
                // To be tried again.
                (work.news, work.trouble) = (true, Some(error.to_string()));
            }
        }
        self.changed.notify_all();
        !work.closed
    }
}

/// Folds until the desk is closed.
pub(crate) fn start(desk: Arc<Desk>, mut projector: Projector) -> Result<(), StoreError> {
    let cursor = projector.cursor()?;
    let mut work = desk.lock();
    (work.cursor, work.keep) = (cursor, projector.keep);
    drop(work);
    desk.ring();
    let thread = std::thread::Builder::new().name("rollups".into());
    let started = thread.spawn(move || {
        let mut looked_at = Instant::now();
        while desk.wait(looked_at) {
            loop {
                let outcome = projector.step(RECORDS_AT_ONCE).and_then(|more| Ok((projector.cursor()?, more)));
                let more = matches!(outcome, Ok((_, true)));
                if !desk.told(outcome.as_ref().copied()) || !more {
                    break;
                }
            }
            looked_at = Instant::now() + LOOK_EVERY;
        }
    });
    started.map(|_| ()).map_err(|error| StoreError::Failed(format!("cannot start the roll-ups' thread: {error}")))
}
