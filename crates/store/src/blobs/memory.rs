//! Blobs in memory, for tests and the simulator, with faults that are put in from outside.

use super::{BlobId, BlobStore, Hold, Holds, Kept};
use crate::store::StoreError;
use kernel::row::BadRow;
use kernel::time::Time;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Clones are the same place.
#[derive(Clone, Default)]
pub struct MemoryBlobs {
    room: Arc<Mutex<Room>>,
    holds: Holds,
}

#[derive(Default)]
struct Room {
    blobs: BTreeMap<BlobId, (Arc<[u8]>, Time)>,
    damaged: FxHashSet<BlobId>,
    ever_damaged: FxHashSet<BlobId>,
    /// For whoever has them still and puts them again.
    removed: BTreeMap<BlobId, Arc<[u8]>>,
    faults: Vec<BlobFault>,
    hits: [u64; 2],
    now: Time,
}

/// What can go wrong with the next call that it fits.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum BlobFault {
    PutFails,
    GetFails,
}

impl MemoryBlobs {
    fn room(&self) -> MutexGuard<'_, Room> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn inject(&self, fault: BlobFault) {
        self.room().faults.push(fault);
    }

    /// Faults that have not hit anything do so no more.
    pub fn spare(&self) {
        self.room().faults.clear();
    }

    /// How often this fault has hit.
    pub fn hits(&self, fault: BlobFault) -> u64 {
        self.room().hits[fault as usize]
    }

    /// What is put from here on is put at this time.
    pub fn set_now(&self, now: Time) {
        self.room().now = now;
    }

    /// Spoils what is kept, as a bad disk would: by a number, whichever that is; which it was. What was removed counts with the rest, so
    /// that the same number means the same one whoever swept meanwhile.
    pub fn damage(&self, number: usize) -> Option<BlobId> {
        let mut room = self.room();
        let mut ids: Vec<BlobId> = room.blobs.keys().chain(room.removed.keys()).copied().collect();
        ids.sort_unstable();
        let id = *ids.get(number % ids.len().max(1))?;
        room.damaged.insert(id);
        room.ever_damaged.insert(id);
        Some(id)
    }

    /// As whoever put it puts it again, if it was removed since.
    pub fn bring_back(&self, id: &BlobId) {
        let mut room = self.room();
        let now = room.now;
        if let Some(bytes) = room.removed.remove(id) {
            room.blobs.entry(*id).or_insert((bytes, now));
        }
    }

    /// Also if it was put anew since.
    pub fn was_damaged(&self, id: &BlobId) -> bool {
        self.room().ever_damaged.contains(id)
    }

    fn keep(&self, bytes: &[u8], anew: bool) -> Result<Hold, StoreError> {
        let hold = self.holds.hold(BlobId::of(bytes));
        let mut room = self.room();
        room.fault(BlobFault::PutFails)?;
        room.damaged.remove(&hold.id());
        let now = room.now;
        room.removed.remove(&hold.id());
        let kept = room.blobs.entry(hold.id()).or_insert_with(|| (bytes.into(), now));
        if anew {
            kept.1 = now;
        }
        Ok(hold)
    }
}

impl Room {
    fn fault(&mut self, fault: BlobFault) -> Result<(), StoreError> {
        let Some(at) = self.faults.iter().position(|known| *known == fault) else { return Ok(()) };
        self.faults.remove(at);
        self.hits[fault as usize] += 1;
        Err(StoreError::Failed(format!("injected: {fault:?}")))
    }
}

fn kept(id: BlobId, (bytes, put_at): &(Arc<[u8]>, Time)) -> Kept {
    Kept { id, size: bytes.len() as u64, put_at: *put_at }
}

impl BlobStore for MemoryBlobs {
    fn put(&self, bytes: &[u8]) -> Result<Hold, StoreError> {
        self.keep(bytes, false)
    }

    fn put_anew(&self, bytes: &[u8]) -> Result<Hold, StoreError> {
        self.keep(bytes, true)
    }

    fn get(&self, id: &BlobId) -> Result<Option<Vec<u8>>, StoreError> {
        let mut room = self.room();
        room.fault(BlobFault::GetFails)?;
        if room.damaged.contains(id) {
            return Err(BadRow { table: "blobs", column: "content", why: format!("{id} is damaged") }.into());
        }
        Ok(room.blobs.get(id).map(|(bytes, _)| bytes.to_vec()))
    }

    fn look(&self, id: &BlobId) -> Result<Option<Kept>, StoreError> {
        Ok(self.room().blobs.get(id).map(|found| kept(*id, found)))
    }

    fn list(&self, after: Option<&BlobId>, limit: usize) -> Result<Vec<Kept>, StoreError> {
        let after = after.map_or(Unbounded, |after| Excluded(*after));
        Ok(self.room().blobs.range((after, Unbounded)).take(limit).map(|(id, found)| kept(*id, found)).collect())
    }

    fn remove(&self, id: &BlobId) -> Result<(), StoreError> {
        let mut room = self.room();
        if let Some((bytes, _)) = room.blobs.remove(id) {
            room.removed.insert(*id, bytes);
        }
        Ok(())
    }

    fn holds(&self) -> &Holds {
        &self.holds
    }

    fn place(&self) -> String {
        "memory".into()
    }
}
