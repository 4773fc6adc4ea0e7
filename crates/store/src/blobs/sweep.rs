//! What no record mentions is removed, some at a time: in the order of their ids, from where the last look ended. Nothing is
//! removed that somebody holds, that a record mentions, or that was put so recently that somebody outside may still mention it.

use super::{BlobId, BlobStore, Kept};
use crate::store::{Reader, StoreError};
use kernel::defect;
use kernel::time::Time;

/// One look at some of the blobs.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Sweep {
    /// Those alone that were put before this.
    pub before: Time,
    pub after: Option<BlobId>,
    pub limit: usize,
    /// Only says what would go.
    pub dry: bool,
}

/// What came of it.
#[derive(Copy, Clone, Default, PartialEq, Eq, Debug)]
pub struct Swept {
    pub seen: u64,
    pub seen_bytes: u64,
    pub removed: u64,
    pub removed_bytes: u64,
    /// Nobody mentions or holds these, but their grace period goes on.
    pub young: u64,
    /// Where to go on; `None`: it was the last of them.
    pub next: Option<BlobId>,
}

impl Swept {
    pub fn add(&mut self, other: &Swept) {
        self.seen += other.seen;
        self.seen_bytes += other.seen_bytes;
        self.removed += other.removed;
        self.removed_bytes += other.removed_bytes;
        self.young += other.young;
        self.next = other.next;
    }
}

/// `reader` must not hold a moment: what was committed just now counts.
pub fn sweep(blobs: &dyn BlobStore, reader: &mut dyn Reader, sweep: &Sweep) -> Result<Swept, StoreError> {
    let found = blobs.list(sweep.after.as_ref(), sweep.limit.max(1))?;
    let mut swept =
        Swept { next: found.last().filter(|_| found.len() >= sweep.limit.max(1)).map(|last| last.id), ..Swept::default() };
    let ids: Vec<BlobId> = found.iter().map(|kept| kept.id).collect();
    let mentioned = reader.blobs_mentioned(&ids)?;
    for (kept, mentioned) in found.iter().zip(mentioned) {
        swept.seen += 1;
        swept.seen_bytes += kept.size;
        if mentioned && !defect("blob_swept_unasked") {
            continue;
        }
        if kept.put_at >= sweep.before {
            swept.young += u64::from(!blobs.holds().is_held(&kept.id));
        } else if goes(blobs, reader, kept, sweep)? {
            swept.removed += 1;
            swept.removed_bytes += kept.size;
        }
    }
    Ok(swept)
}

/// Looked at once more, now that nobody can begin to mention it: whoever held it before has committed that by now.
fn goes(blobs: &dyn BlobStore, reader: &mut dyn Reader, kept: &Kept, sweep: &Sweep) -> Result<bool, StoreError> {
    let Some(_leaving) = blobs.holds().leave(kept.id) else { return Ok(false) };
    let is_old = |kept: &Kept| kept.put_at < sweep.before;
    let mentioned = reader.blobs_mentioned(&[kept.id])?.contains(&true) && !defect("blob_swept_unasked");
    if mentioned || !blobs.look(&kept.id)?.as_ref().is_some_and(is_old) {
        return Ok(false);
    }
    if !sweep.dry {
        blobs.remove(&kept.id)?;
    }
    Ok(true)
}
