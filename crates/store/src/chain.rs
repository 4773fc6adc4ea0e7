//! Chains of records, walked the same way in every store: back from an owner's last record to its first, and over all
//! owners that make up a run.

use crate::store::StoreError;
use kernel::ids::{RecordSeq, RunId, TaskId};
use kernel::needs::Begun;
use kernel::node::Started;
use kernel::record::{Entry, Record};
use kernel::row::{BadRow, FRAMES, NODES, RUNS, TASKS, Table, Value};
use std::collections::BinaryHeap;

/// Rows and records of one moment.
pub(crate) trait Moment {
    /// A record, with or without its payload.
    fn record(&self, seq: RecordSeq, payload: bool) -> Result<Option<Entry>, StoreError>;

    /// The last records of the rows whose key begins with this number.
    fn lasts(&self, table: &'static Table, number: i64) -> Result<Vec<RecordSeq>, StoreError>;
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

/// The first `limit` records after `after` of all the chains that make up a run, in the order in which they were written.
/// Only their numbers are held meanwhile, and of these no more than are asked for.
pub(crate) fn run_history(
    moment: &dyn Moment,
    run: RunId,
    after: RecordSeq,
    limit: usize,
    tasks: bool,
) -> Result<Vec<Entry>, StoreError> {
    let mut first = First { limit, seqs: BinaryHeap::new() };
    let mut started = Vec::new();
    for table in [&RUNS, &FRAMES, &NODES] {
        // A task may have gone on after its node was last heard of.
        let asks = tasks && table == &NODES;
        for last in moment.lasts(table, run.number())? {
            if last <= after && !asks {
                continue;
            }
            walk(moment, last, false, |entry| {
                started.extend(task_of(&entry).filter(|_| asks));
                first.offer(entry.seq, after);
                entry.prev > after || (asks && entry.prev > RecordSeq::NONE)
            })?;
        }
    }
    for task in started {
        for last in moment.lasts(&TASKS, task.number())?.into_iter().filter(|last| *last > after) {
            walk(moment, last, false, |entry| {
                first.offer(entry.seq, after);
                entry.prev > after
            })?;
        }
    }
    let entries = first.seqs.into_sorted_vec().into_iter().map(|seq| moment.record(seq, true));
    entries.filter_map(Result::transpose).collect()
}

/// The smallest numbers of those it was offered.
struct First {
    limit: usize,
    seqs: BinaryHeap<RecordSeq>,
}

impl First {
    fn offer(&mut self, seq: RecordSeq, after: RecordSeq) {
        if seq <= after {
            return;
        }
        self.seqs.push(seq);
        if self.seqs.len() > self.limit {
            self.seqs.pop();
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
