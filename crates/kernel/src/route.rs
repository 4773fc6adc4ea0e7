//! Where a task goes: its queue, its type and its keys, fixed when it is added and shared by all that go there.

use crate::names::{KeyName, KeyValue, QueueName, TypeName};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

#[derive(Debug, PartialEq, Eq)]
pub struct Route {
    // First, so that unequal routes differ at the first comparison and hashing one is hashing a number.
    hash: u64,
    queue: QueueName,
    kind: TypeName,
    keys: Box<[(KeyName, KeyValue)]>,
}

impl Route {
    /// `keys` are sorted by name, one value each.
    pub fn new(queue: QueueName, kind: TypeName, keys: Vec<(KeyName, KeyValue)>) -> Route {
        assert!(keys.is_sorted_by(|a, b| a.0 < b.0), "a route's keys are sorted and unique");
        let mut hasher = FxHasher::default();
        (&queue, &kind, &keys).hash(&mut hasher);
        Route { hash: hasher.finish(), queue, kind, keys: keys.into() }
    }

    pub fn queue(&self) -> &QueueName {
        &self.queue
    }

    pub fn kind(&self) -> &TypeName {
        &self.kind
    }

    pub fn keys(&self) -> &[(KeyName, KeyValue)] {
        &self.keys
    }
}

impl Hash for Route {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}
