//! What rates remember: the facts of every key that took a permit, and which of them say nothing first.

use crate::ids::RecordSeq;
use crate::record::KeyRef;
use crate::row::Permits;
use crate::time::Time;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(crate) struct Book {
    by_key: FxHashMap<KeyRef, Permits>,
    /// By the record that said so, too: many have the same.
    by_arrival: BTreeMap<(Time, RecordSeq), KeyRef>,
}

impl Book {
    pub(crate) fn get(&self, key: &KeyRef) -> Option<&Permits> {
        self.by_key.get(key)
    }

    pub(crate) fn len(&self) -> usize {
        self.by_key.len()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Permits> {
        self.by_key.values()
    }

    /// The first of those whose arrival is no later than this, `max` at most.
    pub(crate) fn oldest(&self, until: Time, max: usize) -> Vec<KeyRef> {
        self.by_arrival.iter().take_while(|((arrival, _), _)| *arrival <= until).take(max).map(|(_, key)| key.clone()).collect()
    }

    pub(super) fn set(&mut self, permits: Permits) {
        let (at, key) = ((permits.arrival, permits.last), permits.key.clone());
        if let Some(before) = self.by_key.insert(key.clone(), permits) {
            self.by_arrival.remove(&(before.arrival, before.last));
        }
        self.by_arrival.insert(at, key);
    }

    pub(super) fn forget(&mut self, key: &KeyRef) {
        if let Some(before) = self.by_key.remove(key) {
            self.by_arrival.remove(&(before.arrival, before.last));
        }
    }
}
