//! What was decided, on its way to the disk: open while more is being decided into it, then sealed, with all that may leave
//! once it is there. Parcels are committed in the order in which they were sealed; when one fails, so do those behind it.

use crate::blobs;
use crate::request::{Answer, Request, Ticket};
use kernel::defect;
use kernel::ids::{Fence, RecordSeq, TaskId};
use kernel::limits::{STEP_BYTES_MAX, STEP_RECORDS_MAX};
use kernel::record::{Entry, Owner, Record};
use kernel::state::State;
use kernel::step::Stepped;
use std::sync::{Arc, Mutex, MutexGuard};
use store::{Batch, BlobStore, Hold, Store, StoreError};

/// Where parcels go.
pub(crate) struct Depot {
    pub store: Box<dyn Store>,
    /// A parcel failed: what was decided after it is not to be written. Until memory is loaded again.
    pub shut: bool,
}

impl Depot {
    pub fn new(store: Box<dyn Store>) -> Arc<Mutex<Depot>> {
        Arc::new(Mutex::new(Depot { store, shut: false }))
    }
}

/// Waits for the parcel that is being written, if one is.
pub(crate) fn enter(depot: &Mutex<Depot>) -> MutexGuard<'_, Depot> {
    depot.lock().expect("no holder of the store panics")
}

/// Fewer records wait, for more to go with them, until the disk is free.
const QUEUED_RECORDS_MIN: usize = 256;

#[derive(Default)]
pub(crate) struct Open {
    pub entries: Vec<Entry>,
    /// Of payload, in `entries`.
    bytes: usize,
    dirty: Vec<Owner>,
    forgotten: Vec<(Owner, RecordSeq)>,
    pub answers: Vec<(Ticket, Answer)>,
    /// Of all requests that were decided.
    pub tickets: Vec<Ticket>,
    /// Leases that are given back.
    pub untold: Vec<(TaskId, Fence)>,
    pub missing: Vec<RecordSeq>,
    /// On what stands for values in `entries`.
    pub holds: Vec<Hold>,
}

impl Open {
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.forgotten.is_empty() && self.answers.is_empty() && self.missing.is_empty()
    }

    /// Enough to be on its way while another is at the disk, so that the disk need not wait.
    pub fn is_worth_queueing(&self) -> bool {
        self.entries.len() >= QUEUED_RECORDS_MIN
    }

    /// What stands for values in these stays at least until they are at the disk, or are not.
    pub fn hold(&mut self, blobs: &dyn BlobStore, requests: &[(Ticket, Request)]) {
        if !defect("blob_not_held") {
            let mentioned = requests.iter().flat_map(|(_, request)| request.blobs());
            self.holds.extend(mentioned.map(|id| blobs.holds().hold(id)));
        }
    }

    /// Enough for one parcel.
    pub fn is_full(&self) -> bool {
        self.entries.len() >= STEP_RECORDS_MAX || self.bytes >= STEP_BYTES_MAX
    }

    pub fn add(&mut self, stepped: Stepped) {
        let Stepped { entries, dirty, forgotten, .. } = stepped;
        self.bytes +=
            entries.iter().filter_map(|entry| entry.payload.as_ref()).map(|payload| payload.text().len()).sum::<usize>();
        if self.entries.is_empty() && self.forgotten.is_empty() {
            (self.entries, self.dirty, self.forgotten) = (entries, dirty, forgotten);
        } else {
            self.entries.extend(entries);
            self.dirty.extend(dirty);
            self.forgotten.extend(forgotten);
        }
    }

    /// Each row in its last image.
    pub fn seal(self, depot: Arc<Mutex<Depot>>, blobs: Arc<dyn BlobStore>, state: &State, shard: u16) -> Parcel {
        let Open { entries, mut dirty, forgotten, answers, tickets, untold, missing, holds, .. } = self;
        // Each step's own are in order: these are put together, not sorted from the start.
        dirty.sort();
        dirty.dedup();
        // What is deleted leaves one record: that it was.
        let gone = |entry: &&Entry| matches!(entry.record, Record::TaskDeleted { .. } | Record::RunDeleted { .. });
        let prunes = entries.iter().filter(gone).map(|entry| entry.prev).collect();
        let mut batch = Batch { entries, puts: Vec::with_capacity(dirty.len()), prunes, ..Batch::default() };
        for (owner, last) in forgotten {
            batch.deletes.push(owner.place(shard));
            batch.prunes.push(last);
        }
        for owner in &dirty {
            match state.row(owner) {
                Ok(row) => batch.puts.push(row),
                Err(key) => batch.deletes.push(key),
            }
        }
        if defect("lost_row") {
            batch.puts.pop();
        }
        Parcel { depot, blobs, batch, answers, tickets, untold, missing, holds, failed: None }
    }
}

/// Sealed. Made by `Core::seal`, and handed back to `Core::settle`.
pub struct Parcel {
    depot: Arc<Mutex<Depot>>,
    blobs: Arc<dyn BlobStore>,
    pub(crate) batch: Batch,
    pub(crate) answers: Vec<(Ticket, Answer)>,
    pub(crate) tickets: Vec<Ticket>,
    pub(crate) untold: Vec<(TaskId, Fence)>,
    pub(crate) missing: Vec<RecordSeq>,
    /// Until it is at the disk, or is not.
    holds: Vec<Hold>,
    pub(crate) failed: Option<StoreError>,
}

impl Parcel {
    /// Large outputs first, then the batch.
    pub fn commit(&mut self) {
        let mut depot = enter(&self.depot);
        self.failed = match depot.shut && !defect("written_behind_a_failure") {
            true => Some(StoreError::Failed("what was decided before it was not written".into())),
            false => blobs::put_away(&*self.blobs, &mut self.batch)
                .and_then(|holds| {
                    self.holds.extend(holds);
                    depot.store.commit(&self.batch)
                })
                .err(),
        };
        depot.shut |= self.failed.is_some();
    }

    /// Written out before it leaves: whoever carries it has enough to do.
    pub fn write_out(&self) {
        self.batch.write_out();
    }

    pub fn records(&self) -> usize {
        self.batch.entries.len()
    }

    /// What may leave, if it is at the disk.
    pub fn unpack(&mut self) -> Option<Leaving> {
        self.failed.is_none().then(|| Leaving {
            answers: std::mem::take(&mut self.answers),
            entries: std::mem::take(&mut self.batch.entries),
            missing: std::mem::take(&mut self.missing),
        })
    }
}

/// What leaves the house after a commit.
pub struct Leaving {
    pub answers: Vec<(Ticket, Answer)>,
    pub entries: Vec<Entry>,
    pub missing: Vec<RecordSeq>,
}
