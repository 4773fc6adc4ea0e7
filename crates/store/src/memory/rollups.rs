//! Roll-ups in memory.

use super::{Durable, MemoryDisk};
use crate::rollups::{FAILURES_KEPT, RollupBatch, RollupCursor, RollupQuery, RollupRow, RollupStore, moved};
use crate::store::StoreError;
use kernel::record::{Entry, Owner};
use kernel::rollup::{FailedAt, Rollup, RollupKey};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Default)]
pub(super) struct Rollups {
    cursor: RollupCursor,
    rows: BTreeMap<RollupKey, Rollup>,
    failures: BTreeSet<FailedAt>,
}

impl Rollups {
    /// A record is forgotten.
    pub(super) fn forget(&mut self, entry: &Entry) {
        if entry.seq > self.cursor.seq && matches!(entry.owner, Owner::Task(_)) {
            self.cursor.lost += 1;
            self.cursor.lost_at = self.cursor.lost_at.max(entry.at);
        }
    }

    fn add(&mut self, batch: &RollupBatch) -> Result<(), StoreError> {
        if self.cursor.seq != batch.after {
            return Err(moved(batch, self.cursor.seq));
        }
        for (key, row) in &batch.projection.rows {
            self.rows.entry(key.clone()).or_default().merge(row);
        }
        for failed in &batch.projection.failures {
            self.failures.insert(failed.clone());
            let of = |other: &&FailedAt| (&other.queue, &other.family) == (&failed.queue, &failed.family);
            if let Some(oldest) = self.failures.iter().rev().filter(of).nth(FAILURES_KEPT).cloned() {
                self.failures.remove(&oldest);
            }
        }
        if let Some(from) = batch.keep_from {
            self.rows.retain(|key, _| key.minute >= from);
        }
        (self.cursor.seq, self.cursor.at) = (batch.upto, batch.at);
        Ok(())
    }

    pub(super) fn cursor(&self) -> RollupCursor {
        self.cursor
    }

    pub(super) fn rows(&self, query: &RollupQuery) -> (u64, Vec<RollupRow>) {
        let fits = |key: &RollupKey| {
            let within = query.from.is_none_or(|from| key.minute >= from) && query.to.is_none_or(|to| key.minute <= to);
            within && query.fits(&key.queue, &key.family)
        };
        let mut rows: Vec<RollupRow> =
            self.rows.iter().filter(|(key, _)| fits(key)).map(|(key, row)| (key.clone(), row.clone())).collect();
        rows.sort_by(|(a, _), (b, _)| b.minute.cmp(&a.minute).then_with(|| a.cmp(b)));
        let found = rows.len() as u64;
        rows.truncate(query.limit);
        (found, rows)
    }

    pub(super) fn failures(&self, query: &RollupQuery) -> Vec<FailedAt> {
        let within = |failed: &&FailedAt| {
            let minute = kernel::rollup::Minute::of(failed.at);
            query.from.is_none_or(|from| minute >= from) && query.to.is_none_or(|to| minute <= to)
        };
        let fits = |failed: &&FailedAt| query.fits(&failed.queue, &failed.family);
        let mut failures: Vec<FailedAt> = self.failures.iter().filter(within).filter(fits).cloned().collect();
        failures.sort_by_key(|failed| std::cmp::Reverse(failed.seq));
        failures.truncate(query.limit);
        failures
    }
}

impl Durable {
    pub(super) fn rollups(&self) -> &Rollups {
        &self.rollups
    }
}

impl RollupStore for MemoryDisk {
    fn cursor(&mut self) -> Result<RollupCursor, StoreError> {
        Ok(self.read(|durable| durable.rollups.cursor))
    }

    fn add(&mut self, batch: &RollupBatch) -> Result<(), StoreError> {
        self.lock().durable.rollups.add(batch)
    }
}
