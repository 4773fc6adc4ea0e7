//! `verify`: folds every owner's records and compares the outcome with its row, column by column. It reads one held
//! moment, so a server may go on writing meanwhile. Payloads are checked to be JSON and no further.
//!
//! Memory is bounded by passes: a very long history is read several times, and each pass folds the owners of one part
//! of the hash space. A pass holds at most about [`RECORDS_PER_PASS`] owners, some 200 bytes each, and the number of
//! every run there is.

mod blobs;

use crate::blobs::BlobId;
use crate::chain;
use crate::fold::{self, Fold};
use crate::store::{Reader, StoreError};
use kernel::ids::RecordSeq;
use kernel::record::{Entry, Owner, Payload, Record};
use kernel::row::{BadRow, Row, TABLES, Value};
use kernel::run::NodeAt;
use kernel::time::Time;
use rustc_hash::{FxHashSet, FxHasher};
use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

pub const RECORDS_PER_PASS: u64 = 5_000_000;
/// More differences are counted, but not kept.
pub const DIFFERENCES_KEPT_MAX: usize = 1_000;
const PROGRESS_EVERY: u64 = 10_000;
/// A stored text may be long; this much of it is shown.
const SHOWN_CHARS_MAX: usize = 200;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub records: u64,
    pub rows: u64,
    /// The first of them; `differences_total` counts all.
    pub differences: Vec<Difference>,
    pub differences_total: u64,
}

impl Report {
    pub fn is_clean(&self) -> bool {
        self.differences_total == 0
    }
}

/// One thing that is not as its history says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// As `Owner` shows itself; empty where it is not known.
    pub owner: String,
    pub table: &'static str,
    /// The row's primary key, or a record's number.
    pub key: Vec<Value>,
    /// `*` for the row as a whole.
    pub column: &'static str,
    /// What was found and what the history says, as text; `-` for nothing.
    pub stored: String,
    pub folded: String,
    /// All of it, for people.
    pub sentence: String,
}

/// `progress` is told how many records are done with, up to all of them.
pub fn verify(reader: &mut dyn Reader, progress: &mut dyn FnMut(u64)) -> Result<Report, StoreError> {
    verify_in_passes(reader, progress, RECORDS_PER_PASS)
}

fn verify_in_passes(reader: &mut dyn Reader, progress: &mut dyn FnMut(u64), records_per_pass: u64) -> Result<Report, StoreError> {
    reader.hold()?;
    let report = verify_held(reader, progress, records_per_pass);
    reader.release()?;
    report
}

fn verify_held(reader: &mut dyn Reader, progress: &mut dyn FnMut(u64), records_per_pass: u64) -> Result<Report, StoreError> {
    // Numbers have gaps, so this is a pass too many at worst.
    let passes = reader.last_record()?.0.div_ceil(records_per_pass).max(1);
    let mut report = Report::default();
    for number in 0..passes {
        let earlier = report.records * number;
        // Every pass reads everything again, so counting starts over.
        (report.records, report.rows) = (0, 0);
        let mut pass = Pass { number, passes, earlier, report, ..Pass::default() };
        pass.read_records(reader, progress)?;
        for table in TABLES {
            reader.scan(table, &mut |row| pass.compare(&row))?;
        }
        pass.name_missing_rows();
        report = pass.report;
    }
    progress(report.records);
    Ok(report)
}

/// One reading of everything, which looks at one part of the owners.
#[derive(Default)]
struct Pass {
    number: u64,
    passes: u64,
    /// Records that the passes before this one have read.
    earlier: u64,
    fold: Fold,
    /// Owners whose history cannot have happened: their rows have nothing to be compared with.
    broken: FxHashSet<Owner>,
    report: Report,
    /// The keys of the workflows and runs there are, sorted as they come.
    workflows: Vec<Vec<Value>>,
    runs: Vec<i64>,
    // The record before, whoever it belongs to.
    seq: RecordSeq,
    at: Option<Time>,
}

impl Pass {
    fn has(&self, owner: &Owner) -> bool {
        let mut hasher = FxHasher::default();
        owner.hash(&mut hasher);
        // The high bits: the low ones of this hash are weak.
        (hasher.finish() >> 32) % self.passes == self.number
    }

    /// What is not about one owner is looked at once.
    fn is_first(&self) -> bool {
        self.number == 0
    }

    fn read_records(&mut self, reader: &mut dyn Reader, progress: &mut dyn FnMut(u64)) -> Result<(), StoreError> {
        reader.scan_records(&mut |entry| {
            self.report.records += 1;
            if self.report.records.is_multiple_of(PROGRESS_EVERY) {
                progress((self.earlier + self.report.records) / self.passes);
            }
            match entry {
                Ok(entry) => self.read_record(&entry),
                Err((seq, bad)) if self.is_first() => self.name_unreadable(seq, &bad),
                Err(_) => {}
            }
        })
    }

    fn name_unreadable(&mut self, seq: RecordSeq, bad: &BadRow) {
        let sentence = format!("{bad}; whose it was is not known, so its owner shows a gap as well");
        self.differ(record_of("", seq, bad.column, "unreadable", "-", sentence));
    }

    fn read_record(&mut self, entry: &Entry) {
        let owner = entry.owner.to_string();
        if self.is_first() {
            self.check_order(entry, &owner);
            if let Some(payload) = &entry.payload
                && let Some(wrong) = misfit(payload)
            {
                let sentence = format!("the payload of record {} of {owner} is {wrong}", entry.seq.0);
                self.differ(record_of(&owner, entry.seq, "payload", payload.text(), "JSON", sentence));
            }
        }
        if !self.has(&entry.owner) || self.broken.contains(&entry.owner) {
            return;
        }
        let last = self.fold.last(&entry.owner);
        // What was deleted took its history with it, and left that it was.
        if last == RecordSeq::NONE && matches!(entry.record, Record::TaskDeleted { .. } | Record::RunDeleted { .. }) {
            return;
        }
        if entry.prev != last {
            let (stored, folded) = (entry.prev.0.to_string(), last.0.to_string());
            let seq = entry.seq.0;
            let sentence = format!("record {seq} of {owner} follows its record {stored}, but the one before it is {folded}");
            self.differ(record_of(&owner, entry.seq, "prev", &stored, &folded, sentence));
        }
        if let Err(why) = quietly(|| self.fold.apply(entry)) {
            let sentence =
                format!("the history of {owner} cannot have happened at record {}: {why}; its row is not compared", entry.seq.0);
            self.differ(record_of(&owner, entry.seq, "body", entry.record.kind(), &why, sentence));
            self.broken.insert(entry.owner.clone());
        }
    }

    fn check_order(&mut self, entry: &Entry, owner: &str) {
        let (seq, at) = (std::mem::replace(&mut self.seq, entry.seq), self.at.replace(entry.at));
        if entry.seq <= seq {
            let sentence = format!("record {} of {owner} comes after record {}", entry.seq.0, seq.0);
            self.differ(record_of(owner, entry.seq, "seq", &entry.seq.0.to_string(), &format!("more than {}", seq.0), sentence));
        }
        if let Some(at) = at.filter(|at| entry.at < *at) {
            let (number, stored, least) = (entry.seq.0, entry.at.us(), at.us());
            let sentence = format!("record {number} of {owner} is of {stored}, but record {} before it is of {least}", seq.0);
            self.differ(record_of(owner, entry.seq, "at", &stored.to_string(), &format!("{least} or later"), sentence));
        }
    }

    fn compare(&mut self, row: &Row) {
        self.report.rows += 1;
        match (row.table.name, row.key()) {
            ("workflows", key) => self.workflows.push(key.to_vec()),
            ("runs", [Value::Int(id)]) => self.runs.push(*id),
            _ => {}
        }
        let owner = fold::owner(row);
        match owner {
            Some(owner) if !self.has(&owner) || self.broken.remove(&owner) => {}
            Some(owner) => match self.fold.take(&owner) {
                // One that is as it should be may still lack what it belongs to.
                Some(folded) if row.values == folded.values => self.check_belongs(&owner, row),
                Some(folded) => self.compare_columns(&owner, row, &folded),
                None => self.name_extra_row(&owner.to_string(), row),
            },
            None if self.is_first() => self.name_extra_row("", row),
            None => {}
        }
    }

    fn compare_columns(&mut self, owner: &Owner, row: &Row, folded: &Row) {
        for (at, (column, _)) in row.table.columns.iter().enumerate() {
            if row.values[at] == folded.values[at] {
                continue;
            }
            let (stored, folded) = (shown(&row.values[at]), shown(&folded.values[at]));
            let table = row.table.name;
            let sentence = format!("{table}.{column} of {owner} is {stored}, but its history says {folded}");
            let key = row.key().to_vec();
            self.differ(Difference { owner: owner.to_string(), table, key, column, stored, folded, sentence });
        }
    }

    /// Frames and nodes belong to a run, and a live run follows a workflow. Both come before them in `TABLES`.
    fn check_belongs(&mut self, owner: &Owner, row: &Row) {
        let at = |name| &row.values[chain::column(row.table, name)];
        let (column, what, is_there) = match owner {
            Owner::Frame(run, _) | Owner::Node(NodeAt { run, .. }) => {
                ("run", run.to_string(), self.runs.binary_search(&run.number()).is_ok())
            }
            Owner::Run(_) if *at("live") == Value::Int(1) => {
                let key = vec![at("workflow").clone(), at("version").clone()];
                ("workflow", format!("version {} of it", key[1]), self.workflows.binary_search(&key).is_ok())
            }
            _ => return,
        };
        if is_there {
            return;
        }
        let (table, key, stored) = (row.table.name, row.key().to_vec(), shown(at(column)));
        let sentence = format!("{table}.{column} of {owner} is {stored}, but {what} is not there");
        self.differ(Difference { owner: owner.to_string(), table, key, column, stored, folded: "-".into(), sentence });
    }

    fn name_extra_row(&mut self, owner: &str, row: &Row) {
        let key: Vec<String> = row.key().iter().map(shown).collect();
        let (table, stored) = (row.table.name, key.join(", "));
        let sentence = format!("{table} holds a row for {stored}, but its history says there is none");
        let difference =
            Difference { owner: owner.into(), table, key: row.key().to_vec(), column: "*", stored, folded: "-".into(), sentence };
        self.differ(difference);
    }

    fn name_missing_rows(&mut self) {
        for owner in self.fold.owners() {
            let (table, key) = fold::place(&owner);
            let (table, folded) = (table.name, self.fold.last(&owner).0.to_string());
            let sentence = format!("{table} holds no row for {owner}, but it has a history up to record {folded}");
            let owner = owner.to_string();
            self.differ(Difference { owner, table, key, column: "*", stored: "-".into(), folded, sentence });
        }
    }

    fn differ(&mut self, difference: Difference) {
        self.report.differences_total += 1;
        if self.report.differences.len() < DIFFERENCES_KEPT_MAX {
            self.report.differences.push(difference);
        }
    }
}

/// What is wrong with a payload; one in the blob store is not looked for there.
fn misfit(payload: &Payload) -> Option<String> {
    match payload.blob_id() {
        Some(id) => BlobId::parse(id).is_none().then(|| "not the id of a blob".into()),
        None => {
            let error = serde_json::from_str::<&serde_json::value::RawValue>(payload.text()).err()?;
            Some(format!("not JSON: {error}"))
        }
    }
}

fn record_of(owner: &str, seq: RecordSeq, column: &'static str, stored: &str, folded: &str, sentence: String) -> Difference {
    Difference {
        owner: owner.into(),
        table: "records",
        key: vec![Value::Int(seq.0 as i64)],
        column,
        stored: clipped(stored),
        folded: clipped(folded),
        sentence,
    }
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn shown(value: &Value) -> String {
    clipped(&value.to_string())
}

thread_local!(static QUIET: Cell<bool> = const { Cell::new(false) });

/// Runs a fold that may panic and gives what it said. The panic is caught here, so it is not printed either; panics of
/// other threads are printed as ever.
fn quietly(fold: impl FnOnce()) -> Result<(), String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                usual(info);
            }
        }));
    });
    QUIET.set(true);
    // A fold takes the owner out before it begins, so a panic leaves nothing half changed.
    let outcome = catch_unwind(AssertUnwindSafe(fold));
    QUIET.set(false);
    outcome.map_err(|panic| match panic.downcast::<String>() {
        Ok(said) => *said,
        Err(panic) => panic.downcast::<&str>().map_or_else(|_| "it panicked".into(), |said| (*said).into()),
    })
}

pub use blobs::verify_blobs;

#[cfg(test)]
mod tests;
