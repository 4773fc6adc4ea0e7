//! The contract of the roll-ups: one hand adds what it folded from the records, readers see whole additions. They are derived
//! from the history and lie beside it; nothing decides by them.

use crate::store::StoreError;
use kernel::ids::RecordSeq;
use kernel::names::{Pattern, QueueName};
use kernel::rollup::{FailedAt, Minute, Projection, Rollup, RollupKey};
use kernel::time::Time;

/// Failures that are kept of each queue and family.
pub const FAILURES_KEPT: usize = 100;

/// How far the records are folded.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct RollupCursor {
    pub seq: RecordSeq,
    /// When that record was written.
    pub at: Time,
    /// Records of tasks that were deleted before they were folded, and when the youngest of them was written.
    pub lost: u64,
    pub lost_at: Time,
}

/// What was folded from the records behind `after`, up to and with `upto`.
#[derive(Clone, Debug, Default)]
pub struct RollupBatch {
    pub after: RecordSeq,
    pub upto: RecordSeq,
    /// When `upto` was written.
    pub at: Time,
    pub projection: Projection,
    /// Roll-ups of minutes before this one are forgotten.
    pub keep_from: Option<Minute>,
}

/// Which roll-ups to read.
#[derive(Clone, Debug, Default)]
pub struct RollupQuery {
    /// From the beginning of this minute to the end of that one.
    pub from: Option<Minute>,
    pub to: Option<Minute>,
    pub queue: Option<QueueName>,
    pub family: Option<String>,
    pub limit: usize,
}

impl RollupQuery {
    /// Whether it is about this queue and family.
    pub fn fits(&self, queue: &QueueName, family: &str) -> bool {
        self.queue.as_ref().is_none_or(|wanted| wanted == queue)
            && self.family.as_ref().is_none_or(|wanted| covers(wanted, family))
    }
}

/// A family's own name, or a pattern such as `github/*`. Families that are called by a queue need not be patterns.
fn covers(wanted: &str, family: &str) -> bool {
    Pattern::parse(wanted).map_or(wanted == family, |pattern| pattern.covers_name(family))
}

pub type RollupRow = (RollupKey, Rollup);

/// The one hand that writes roll-ups. It never waits long for the writer, nor the writer for it.
pub trait RollupStore: Send {
    fn cursor(&mut self) -> Result<RollupCursor, StoreError>;

    /// All of it, or nothing: also nothing if the cursor is not where the batch begins. Need not be durable before the next
    /// commit of the writer is; what is lost with the power is folded again.
    fn add(&mut self, batch: &RollupBatch) -> Result<(), StoreError>;
}

/// The part of a reader that is about roll-ups.
pub trait RollupReader {
    fn rollup_cursor(&mut self) -> Result<RollupCursor, StoreError>;

    /// Hands over as many as are wanted, newest minute first, within it by queue and family; gives how many there are in all.
    fn rollups(&mut self, query: &RollupQuery, each: &mut dyn FnMut(RollupRow)) -> Result<u64, StoreError>;

    /// The last attempts that failed, newest first.
    fn rollup_failures(&mut self, query: &RollupQuery) -> Result<Vec<FailedAt>, StoreError>;
}

pub(crate) fn moved(batch: &RollupBatch, at: RecordSeq) -> StoreError {
    StoreError::Failed(format!("the roll-ups are at record {}, not at {}: somebody else adds to them", at.0, batch.after.0))
}
