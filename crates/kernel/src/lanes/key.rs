//! A limit's key as the lanes count it.

use super::{Few, Ix, Key};
use crate::handler::is_own_key;
use crate::lease::Lease;
use crate::names::{HandlerName, KeyName, KeyValue};
use crate::record::KeyRef;
use crate::time::Time;
use std::collections::BTreeMap;

/// Whether a lease takes a slot of this key. What a run holds takes those of its handler alone: the queue's own are for workers,
/// or the run would wait behind itself.
fn counts(lease: &Lease, handler: Option<&HandlerName>, name: &KeyName) -> bool {
    lease.run().is_none() || handler.is_some_and(|handler| is_own_key(handler, name))
}

impl Key {
    pub(super) fn new(queue: Option<Ix>, named: KeyRef, limit: Option<u32>) -> Key {
        Key {
            queue,
            named,
            limit,
            rate: None,
            boost_us: 0,
            weight: 1,
            running: 0,
            arrival: Time::ZERO,
            lanes: 0,
            open: [true, true],
            ready: Few::Empty,
            parked: BTreeMap::new(),
            fair: Vec::new(),
            due: None,
        }
    }

    pub(super) fn name(&self) -> &(KeyName, KeyValue) {
        self.named.key.as_ref().expect("a key has a name and a value")
    }

    /// Whether a lease takes a slot of it.
    pub(super) fn takes(&self, lease: &Lease, handler: Option<&HandlerName>) -> bool {
        self.queue.is_none() || counts(lease, handler, &self.name().0)
    }

    pub(super) fn capacity(&self, expedited: bool, now: Time) -> u32 {
        let slots = self.limit.map_or(u32::MAX, |limit| limit.saturating_sub(self.running));
        let rate = self.rate.filter(|_| !expedited);
        slots.min(rate.map_or(u32::MAX, |rate| rate.permits_at(self.arrival, now)))
    }
}
