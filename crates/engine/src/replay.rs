//! A run as it was at one of its records: its history is read without payloads and folded up to there. Nothing is asked of the
//! writer, and nothing is changed.

use crate::engine::Engine;
use crate::revision::Revision;
use kernel::ids::{RecordSeq, RunId};
use kernel::ir::Ir;
use kernel::record::{Entry, Owner, Record};
use kernel::replay::Replay;
use kernel::time::Time;
use std::sync::Arc;
use store::{Stamp, StoreError};

/// Records that are in memory at once before they are folded.
const CHUNK: usize = 8_192;

/// Which moment of a run.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum At {
    /// After its first record.
    Start,
    /// After its last.
    End,
    Record(RecordSeq),
    /// After the last record that was written by then.
    Time(Time),
}

/// A run as it was, and where in its history that is.
#[derive(Debug)]
pub struct Replayed {
    pub then: Replay,
    /// The last record of what is shown.
    pub entry: Entry,
    pub first: Stamp,
    pub last: Stamp,
    pub before: Option<RecordSeq>,
    pub after: Option<RecordSeq>,
    /// Its place in the history, from 1, and how many records that has.
    pub place: usize,
    pub count: usize,
    /// Records that do not decode, each with why.
    pub garbled: Vec<(RecordSeq, String)>,
}

/// Why there is nothing to show.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoReplay {
    /// There is no such run.
    Unknown,
    /// It had not begun.
    NotBegun { first: Stamp },
    /// The record that began it is gone or damaged; this is the first that is left, if any is.
    NoBeginning { first: Option<Stamp> },
}

impl Engine {
    /// The run as it was then. Blocks; not for an async thread.
    pub fn replay(&self, run: RunId, at: At) -> Result<Result<Replayed, NoReplay>, StoreError> {
        if self.read(|reader| reader.run(run))?.is_none() {
            return Ok(Err(NoReplay::Unknown));
        }
        let stamps = self.read(|reader| reader.run_stamps(run))?;
        let (Some(first), Some(last)) = (stamps.first().copied(), stamps.last().copied()) else {
            return Ok(Err(NoReplay::NoBeginning { first: None }));
        };
        let place = match at {
            At::Start => 1,
            At::End => stamps.len(),
            At::Record(seq) => stamps.partition_point(|stamp| stamp.seq <= seq),
            At::Time(time) => stamps.partition_point(|stamp| stamp.at <= time),
        };
        if place == 0 {
            return Ok(Err(NoReplay::NotBegun { first }));
        }
        let seqs: Vec<RecordSeq> = stamps.iter().map(|stamp| stamp.seq).collect();
        let mut folding = Folding { engine: self, then: Replay::new(run), entry: None, garbled: Vec::new() };
        for chunk in seqs[..place].chunks(CHUNK) {
            for entry in self.read(|reader| reader.entries(chunk))? {
                match entry {
                    Ok(entry) => folding.take(entry)?,
                    Err((seq, bad)) => folding.garbled.push((seq, bad.to_string())),
                }
            }
        }
        let Folding { then, entry, garbled, .. } = folding;
        let Some(entry) = entry.filter(|_| then.live().is_some()) else {
            return Ok(Err(NoReplay::NoBeginning { first: Some(first) }));
        };
        let (before, after) = (place.checked_sub(2).map(|at| seqs[at]), seqs.get(place).copied());
        Ok(Ok(Replayed { then, entry, first, last, before, after, place, count: seqs.len(), garbled }))
    }
}

/// The one place that every record of a run that is looked back at goes through, in their order.
struct Folding<'a> {
    engine: &'a Engine,
    then: Replay,
    entry: Option<Entry>,
    garbled: Vec<(RecordSeq, String)>,
}

impl Folding<'_> {
    fn take(&mut self, entry: Entry) -> Result<(), StoreError> {
        if let Some(ir) = self.definition(&entry)? {
            self.then.define(ir);
        }
        if let Record::RunPatched { revision, .. } = &entry.record {
            match self.revision(&entry)? {
                Ok(ir) => self.then.revise(*revision, ir),
                // What follows from it cannot be told without it.
                Err(why) => {
                    self.garbled.push((entry.seq, why));
                    return Ok(());
                }
            }
        }
        self.then.take(&entry);
        self.entry = Some(entry);
        Ok(())
    }

    /// The text of a patch, compiled.
    fn revision(&self, entry: &Entry) -> Result<Result<Arc<Ir>, String>, StoreError> {
        let Some(live) = self.then.live() else { return Ok(Err("its beginning is gone".into())) };
        let spec = live.run().spec();
        let Some(revision) = self.engine.payload(entry.seq)?.and_then(|payload| Revision::read(&payload)) else {
            return Ok(Err("its text is gone or damaged".into()));
        };
        Ok(self.engine.compile_revision(&spec.workflow, spec.version, &revision.text))
    }

    /// What a record says that the run goes by from itself on.
    fn definition(&self, entry: &Entry) -> Result<Option<Arc<Ir>>, StoreError> {
        match (&entry.owner, &entry.record) {
            (Owner::Run(_), Record::RunStarted { spec, .. }) => {
                let found = self.engine.workflow(&spec.workflow, Some(spec.version))?;
                let missing = || StoreError::Failed(format!("workflow `{}` has no version {}", spec.workflow, spec.version));
                found.map(|(_, ir)| Some(ir)).ok_or_else(missing)
            }
            _ => Ok(None),
        }
    }
}
