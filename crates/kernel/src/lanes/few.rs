//! A sorted set that mostly holds one: the lanes of a key, the tasks of a lane. Where keys are many and tasks per key few, the
//! nodes of trees would be most of what is allocated.

use std::collections::BTreeSet;
use std::ops::RangeBounds;

#[derive(Debug, Default)]
pub(crate) enum Few<T> {
    #[default]
    Empty,
    One(T),
    /// Stays so until it is empty.
    Many(BTreeSet<T>),
}

impl<T: Ord> Few<T> {
    /// False: it was there.
    pub(crate) fn insert(&mut self, item: T) -> bool {
        match self {
            Few::Many(many) => many.insert(item),
            Few::One(one) if *one == item => false,
            _ => {
                *self = match std::mem::take(self) {
                    Few::One(one) => Few::Many([one, item].into()),
                    _ => Few::One(item),
                };
                true
            }
        }
    }

    /// False: it was not there.
    pub(crate) fn remove(&mut self, item: &T) -> bool {
        let (found, empty) = match self {
            Few::Empty => (false, false),
            Few::One(one) => (one == item, one == item),
            Few::Many(many) => (many.remove(item), many.is_empty()),
        };
        if empty {
            *self = Few::Empty;
        }
        found
    }

    pub(crate) fn first(&self) -> Option<&T> {
        match self {
            Few::Empty => None,
            Few::One(one) => Some(one),
            Few::Many(many) => many.first(),
        }
    }

    pub(crate) fn last(&self) -> Option<&T> {
        match self {
            Few::Many(many) => many.last(),
            _ => self.first(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Few::Empty)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.range(..)
    }

    pub(crate) fn range(&self, range: impl RangeBounds<T>) -> impl Iterator<Item = &T> {
        let (one, many) = match self {
            Few::Empty => (None, None),
            Few::One(one) => (Some(one).filter(|one| range.contains(one)), None),
            Few::Many(many) => (None, Some(many.range(range))),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_sorted_set(ops in proptest::collection::vec((any::<bool>(), 0u8..6), 0..40), from in 0u8..6) {
            let (mut few, mut set) = (Few::default(), BTreeSet::new());
            for (comes, item) in ops {
                let (found, expected) = if comes { (few.insert(item), set.insert(item)) } else { (few.remove(&item), set.remove(&item)) };
                prop_assert_eq!(found, expected);
                prop_assert_eq!((few.first(), few.last(), few.is_empty()), (set.first(), set.last(), set.is_empty()));
                prop_assert!(few.iter().eq(set.iter()));
                prop_assert!(few.range(from..).eq(set.range(from..)) && few.range(..from).eq(set.range(..from)));
            }
        }
    }
}
