//! Where a task goes: its queue, its type and its keys, fixed when it is added and shared by all that go there.

use crate::handler::SINGLE_KEY;
use crate::names::{Family, KeyName, KeyValue, QueueName, TypeName};
use crate::record::TaskSpec;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

#[derive(Debug, PartialEq, Eq)]
pub struct Route {
    // First, so that unequal routes differ at the first comparison and hashing one is hashing a number.
    hash: u64,
    queue: QueueName,
    kind: TypeName,
    keys: Box<[(KeyName, KeyValue)]>,
    /// Of the event it is made of.
    family: Option<Family>,
    /// Passes pauses.
    critical: bool,
}

impl Route {
    /// `keys` are sorted by name, one value each.
    pub fn new(queue: QueueName, kind: TypeName, keys: Vec<(KeyName, KeyValue)>) -> Route {
        Route::of(queue, kind, keys, None, false)
    }

    pub(crate) fn of(
        queue: QueueName,
        kind: TypeName,
        keys: Vec<(KeyName, KeyValue)>,
        family: Option<Family>,
        critical: bool,
    ) -> Route {
        assert!(keys.is_sorted_by(|a, b| a.0 < b.0), "a route's keys are sorted and unique");
        let mut hasher = FxHasher::default();
        (&queue, &kind, &keys, &family, critical).hash(&mut hasher);
        Route { hash: hasher.finish(), queue, kind, keys: keys.into(), family, critical }
    }

    /// Where a task goes that is told to be so.
    pub fn for_spec(spec: &TaskSpec) -> Route {
        let trigger = spec.trigger.as_deref();
        let family = trigger.map(|trigger| trigger.name.family());
        let critical = trigger.is_some_and(|trigger| trigger.critical);
        Route::of(spec.queue.clone(), spec.kind.clone(), spec.keys.clone(), family, critical)
    }

    /// The same for events of another family.
    pub(crate) fn in_family(&self, family: Family) -> Route {
        Route::of(self.queue.clone(), self.kind.clone(), self.keys.to_vec(), Some(family), self.critical)
    }

    pub fn queue(&self) -> &QueueName {
        &self.queue
    }

    pub fn kind(&self) -> &TypeName {
        &self.kind
    }

    pub fn family(&self) -> Option<&Family> {
        self.family.as_ref()
    }

    pub fn is_critical(&self) -> bool {
        self.critical
    }

    /// The key of a handler's of which there may be one under way, in whatever queue: a handler may change its queue.
    pub(crate) fn single(&self) -> Option<&(KeyName, KeyValue)> {
        self.family.as_ref()?;
        self.keys.iter().find(|(name, _)| name.as_str().ends_with(SINGLE_KEY))
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
