//! What no record mentions is removed, some at a time: in the order of their ids, from where the last look ended. Nothing is
//! removed that somebody holds, that a record mentions, or that was put so recently that somebody outside may still mention it.

use super::{BlobId, BlobStore, Kept};
use crate::store::StoreError;
use kernel::defect;
use kernel::time::Time;
use std::time::{Duration, Instant};

/// A removal that was not answered may still happen within this.
const UNSURE_FOR: Duration = Duration::from_secs(60);

/// One look at some of the blobs.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Sweep {
    /// Those alone that were put before this.
    pub before: Time,
    pub after: Option<BlobId>,
    pub limit: usize,
    /// Then it ends, and says where to go on.
    pub until: Option<Instant>,
    /// Only says what would go.
    pub dry: bool,
}

/// What came of it.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Swept {
    pub seen: u64,
    pub seen_bytes: u64,
    pub removed: u64,
    pub removed_bytes: u64,
    /// Nobody mentions or holds these, but their grace period goes on.
    pub young: u64,
    /// Why some of them could not be removed.
    pub trouble: Option<String>,
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
        self.trouble = self.trouble.take().or_else(|| other.trouble.clone());
        self.next = other.next;
    }
}

/// Whether records mention these blobs, of what is committed now.
pub type Asks<'a> = &'a mut dyn FnMut(&[BlobId]) -> Result<Vec<bool>, StoreError>;

/// Whoever asks the records is asked anew each time: the blobs may be far away, and nobody waits for them with a reader in hand.
pub fn sweep(blobs: &dyn BlobStore, mentioned: Asks<'_>, sweep: &Sweep) -> Result<Swept, StoreError> {
    let found = blobs.list(sweep.after.as_ref(), sweep.limit.max(1))?;
    let mut swept =
        Swept { next: found.last().filter(|_| found.len() >= sweep.limit.max(1)).map(|last| last.id), ..Swept::default() };
    let ids: Vec<BlobId> = found.iter().map(|kept| kept.id).collect();
    let is_mentioned = mentioned(&ids)?;
    for (kept, is_mentioned) in found.iter().zip(is_mentioned) {
        swept.seen += 1;
        swept.seen_bytes += kept.size;
        if is_mentioned && !defect("blob_swept_unasked") {
            continue;
        }
        if kept.put_at >= sweep.before {
            swept.young += u64::from(!blobs.holds().is_held(&kept.id));
        } else {
            match goes(blobs, mentioned, kept, sweep)? {
                Ok(goes) => {
                    swept.removed += u64::from(goes);
                    swept.removed_bytes += kept.size * u64::from(goes);
                }
                // The others can go all the same.
                Err(error) => _ = swept.trouble.get_or_insert_with(|| error.to_string()),
            }
        }
        if sweep.until.is_some_and(|until| Instant::now() >= until) && found.last() != Some(kept) {
            swept.next = Some(kept.id);
            break;
        }
    }
    Ok(swept)
}

/// Looked at once more, now that nobody can begin to mention it: whoever held it before has committed that by now. The inner error: it
/// could not be removed.
fn goes(blobs: &dyn BlobStore, mentioned: Asks<'_>, kept: &Kept, sweep: &Sweep) -> Result<Result<bool, StoreError>, StoreError> {
    let Some(leaving) = blobs.holds().leave(kept.id) else { return Ok(Ok(false)) };
    let is_old = |kept: &Kept| kept.put_at < sweep.before;
    let mentioned = mentioned(&[kept.id])?.contains(&true) && !defect("blob_swept_unasked");
    if mentioned || !blobs.look(&kept.id)?.as_ref().is_some_and(is_old) {
        return Ok(Ok(false));
    }
    if sweep.dry {
        return Ok(Ok(true));
    }
    let removed = blobs.remove(&kept.id);
    if removed.is_err() && !blobs.is_near() {
        // Who was asked may do it yet.
        leaving.linger(UNSURE_FOR);
    }
    Ok(removed.map(|()| true))
}
