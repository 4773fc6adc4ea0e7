//! Chains of records, walked the same way in every store: back from an owner's last record to its first, and over all
//! owners that make up a run. Where a run has very many, the records are read as they were written instead, and those of
//! others let go by: a page costs what it holds, not what the run does.

use crate::store::{Stamp, StoreError};
use kernel::ids::{RecordSeq, RunId, TaskId};
use kernel::needs::Begun;
use kernel::node::Started;
use kernel::record::{Entry, Record};
use kernel::row::{BadRow, FRAMES, NODES, RUNS, TASKS, Table, Value};
use rustc_hash::FxHashMap;
use std::collections::BinaryHeap;

/// Rows and records of one moment.
pub(crate) trait Moment {
    /// A record, with or without its payload.
    fn record(&self, seq: RecordSeq, payload: bool) -> Result<Option<Entry>, StoreError>;

    /// The last records of the rows whose key begins with this number, of so many rows at most.
    fn lasts(&self, table: &'static Table, number: i64, limit: usize) -> Result<Vec<RecordSeq>, StoreError>;

    /// Hands over the records after `after` and their owners as texts, oldest first, until it has enough.
    fn scan(&self, after: RecordSeq, each: &mut dyn FnMut(Stamp, &str) -> Result<bool, StoreError>) -> Result<(), StoreError>;

    /// The first record of a run; `None` where it has no row.
    fn first_of(&self, run: RunId) -> Result<Option<RecordSeq>, StoreError>;

    /// The run whose work this task is.
    fn run_of(&self, task: TaskId) -> Result<Option<RunId>, StoreError>;
}

/// How much of a run's history is looked for in which way.
#[derive(Copy, Clone)]
pub(crate) struct Pace {
    /// Rows and records looked at along the chains; a run with more is looked for in the order of the records.
    pub walked_max: usize,
    /// Records looked at in their order. Where a run has so few of them, its chains are walked after all.
    pub scanned_max: usize,
}

impl Pace {
    pub const USUAL: Pace = Pace { walked_max: 2_000, scanned_max: 1_000_000 };
    /// For all of a history at once: what is walked is not walked again for the next page.
    pub const WHOLE: Pace = Pace { walked_max: 20_000, ..Pace::USUAL };
}

/// Walks a chain back from `last` until `each` says that it is enough.
pub(crate) fn walk(
    moment: &dyn Moment,
    last: RecordSeq,
    payload: bool,
    mut each: impl FnMut(Entry) -> bool,
) -> Result<(), StoreError> {
    let (mut at, mut owner) = (last, None);
    while at != RecordSeq::NONE
        && let Some(entry) = moment.record(at, payload)?
    {
        if entry.prev >= entry.seq || owner.as_ref().is_some_and(|owner| *owner != entry.owner) {
            let why = format!("record {}: its chain leads astray", entry.seq.0);
            return Err(BadRow { table: "records", column: "prev", why }.into());
        }
        at = entry.prev;
        owner.get_or_insert_with(|| entry.owner.clone());
        if !each(entry) {
            break;
        }
    }
    Ok(())
}

pub(crate) fn history(moment: &dyn Moment, last: RecordSeq, limit: usize) -> Result<Vec<Entry>, StoreError> {
    let mut history = Vec::new();
    if limit > 0 {
        walk(moment, last, true, |entry| {
            history.push(entry);
            history.len() < limit
        })?;
    }
    Ok(history)
}

fn task_of(entry: &Entry) -> Option<TaskId> {
    match &entry.record {
        Record::NodeStarted { at: Started::Working { task } } => Some(*task),
        _ => None,
    }
}

/// Every task and run that a node has ever started, oldest first. Its row names the last one alone.
pub(crate) fn begun(moment: &dyn Moment, node_last: RecordSeq) -> Result<Vec<Begun>, StoreError> {
    let mut begun = Vec::new();
    walk(moment, node_last, false, |entry| {
        match &entry.record {
            Record::NodeStarted { at: Started::Working { task } } => begun.push(Begun::Task(*task)),
            Record::NodeStarted { at: Started::Calling { run, .. } } => begun.push(Begun::Run(*run)),
            _ => {}
        }
        true
    })?;
    begun.reverse();
    Ok(begun)
}

/// The first `limit` records after `after` of all that makes up a run, in the order in which they were written. Only their
/// numbers are held meanwhile, and of these no more than are asked for.
pub(crate) fn run_history(moment: &dyn Moment, wanted: &Wanted, pace: Pace) -> Result<Vec<Entry>, StoreError> {
    let stamps = match walked(moment, wanted, pace.walked_max)? {
        Some(stamps) => stamps,
        None => {
            let (mut stamps, reached) = scanned(moment, wanted, pace.scanned_max)?;
            if let Some(after) = reached {
                let rest = Wanted { after, limit: wanted.limit - stamps.len(), ..*wanted };
                stamps.extend(walked(moment, &rest, usize::MAX)?.into_iter().flatten());
            }
            stamps
        }
    };
    let entries = stamps.into_iter().map(|stamp| moment.record(stamp.seq, true));
    entries.filter_map(Result::transpose).collect()
}

/// All records of all that makes up a run. A chain that is damaged does not hide the others: they are looked for in the order of the
/// records then.
pub(crate) fn run_stamps(moment: &dyn Moment, run: RunId, pace: Pace) -> Result<Vec<Stamp>, StoreError> {
    let wanted = Wanted { run, after: RecordSeq::NONE, limit: usize::MAX, tasks: true };
    let first = moment.first_of(run)?;
    match walked(moment, &wanted, pace.walked_max) {
        // One whose own chain ends early may go on before that.
        Ok(Some(stamps)) if stamps.first().map(|stamp| stamp.seq) == first => return Ok(stamps),
        Ok(_) | Err(StoreError::Corrupt(_)) => {}
        Err(error) => return Err(error),
    }
    let (mut stamps, reached) = scanned(moment, &wanted, pace.scanned_max)?;
    if let Some(after) = reached {
        match walked(moment, &Wanted { after, ..wanted }, usize::MAX) {
            Ok(rest) => stamps.extend(rest.into_iter().flatten()),
            Err(StoreError::Corrupt(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(stamps)
}

/// Which records of a run.
#[derive(Copy, Clone)]
pub(crate) struct Wanted {
    pub run: RunId,
    pub after: RecordSeq,
    pub limit: usize,
    /// Also those of its tasks.
    pub tasks: bool,
}

/// Along the chains of the run, its frames, its nodes and its tasks. `None`: that would be more than `budget` steps.
fn walked(moment: &dyn Moment, wanted: &Wanted, budget: usize) -> Result<Option<Vec<Stamp>>, StoreError> {
    let Wanted { run, after, limit, tasks } = *wanted;
    let mut left = budget;
    let mut lasts = Vec::new();
    for table in [&RUNS, &FRAMES, &NODES] {
        let found = moment.lasts(table, run.number(), left.saturating_add(1))?;
        if found.len() > left {
            return Ok(None);
        }
        left -= found.len();
        // A task may have gone on after its node was last heard of.
        let asks = tasks && table == &NODES;
        lasts.extend(found.into_iter().filter(|last| *last > after || asks).map(|last| (last, asks)));
    }
    let mut first = First { limit, stamps: BinaryHeap::new() };
    let mut started = Vec::new();
    for (last, asks) in lasts {
        walk(moment, last, false, |entry| {
            left = left.saturating_sub(1);
            started.extend(task_of(&entry).filter(|_| asks));
            first.offer(Stamp { seq: entry.seq, at: entry.at }, after);
            left > 0 && (entry.prev > after || (asks && entry.prev > RecordSeq::NONE))
        })?;
        if left == 0 {
            return Ok(None);
        }
    }
    for task in started {
        left = left.saturating_sub(1);
        for last in moment.lasts(&TASKS, task.number(), 1)?.into_iter().filter(|last| *last > after) {
            walk(moment, last, false, |entry| {
                left = left.saturating_sub(1);
                first.offer(Stamp { seq: entry.seq, at: entry.at }, after);
                left > 0 && entry.prev > after
            })?;
        }
        if left == 0 {
            return Ok(None);
        }
    }
    Ok(Some(first.stamps.into_sorted_vec()))
}

/// In the order of all records. Also says where it left off, if there is more to look at and room for it.
fn scanned(moment: &dyn Moment, wanted: &Wanted, budget: usize) -> Result<(Vec<Stamp>, Option<RecordSeq>), StoreError> {
    let Wanted { run, after, limit, tasks } = *wanted;
    // Before a run began there is nothing of it.
    let Some(first) = moment.first_of(run)? else { return Ok((Vec::new(), None)) };
    let after = after.max(RecordSeq(first.0.saturating_sub(1)));
    let (mut stamps, mut left, mut reached, mut over) = (Vec::new(), budget, after, true);
    let (own, parts) = (run.to_string(), format!("{run}/"));
    let mut known: FxHashMap<TaskId, bool> = FxHashMap::default();
    moment.scan(after, &mut |stamp, owner| {
        if left == 0 || stamps.len() == limit {
            over = false;
            return Ok(false);
        }
        (left, reached) = (left - 1, stamp.seq);
        let ours = match TaskId::parse(owner).filter(|_| tasks) {
            None => owner == own || owner.starts_with(&parts),
            Some(task) => match known.get(&task) {
                Some(ours) => *ours,
                None => {
                    let ours = moment.run_of(task)? == Some(run);
                    known.insert(task, ours);
                    ours
                }
            },
        };
        if ours {
            stamps.push(stamp);
        }
        Ok(true)
    })?;
    let reached = Some(reached).filter(|_| !over && stamps.len() < limit);
    Ok((stamps, reached))
}

/// The oldest of those it was offered.
struct First {
    limit: usize,
    stamps: BinaryHeap<Stamp>,
}

impl First {
    fn offer(&mut self, stamp: Stamp, after: RecordSeq) {
        if stamp.seq <= after {
            return;
        }
        self.stamps.push(stamp);
        if self.stamps.len() > self.limit {
            self.stamps.pop();
        }
    }
}

/// The place of a table's column.
pub(crate) fn column(table: &'static Table, name: &str) -> usize {
    table.columns.iter().position(|(column, _)| *column == name).expect("the table has this column")
}

/// The number of an owner's last record, as its row says.
pub(crate) fn last_of(table: &'static Table, values: &[Value]) -> Result<RecordSeq, BadRow> {
    match values[column(table, "last")] {
        Value::Int(seq) if seq >= 0 => Ok(RecordSeq(seq as u64)),
        ref other => Err(BadRow { table: table.name, column: "last", why: format!("{other} is not a record's number") }),
    }
}
