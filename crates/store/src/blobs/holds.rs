//! Who is about to mention a blob holds it, and what is held is not removed. Holds live in the memory of the one process
//! that the blobs belong to: with it, whoever was about to mention something is gone as well.

use super::BlobId;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// All holds on the blobs of one place. Clones are the same.
#[derive(Clone, Default)]
pub struct Holds(Arc<Desk>);

#[derive(Default)]
struct Desk {
    book: Mutex<Book>,
    /// Something that was leaving is gone, or stays.
    left: Condvar,
}

#[derive(Default)]
struct Book {
    held: FxHashMap<BlobId, u32>,
    /// What the contents of those that are held mention, as far as anything does.
    contents: FxHashMap<BlobId, Arc<[BlobId]>>,
    /// What is being removed; and what may still be, though nobody waits for it any more, until then.
    leaving: FxHashMap<BlobId, Option<Instant>>,
}

impl Book {
    /// `None`: it is not being removed. Else for how long that is to be waited for, if it is known.
    fn leaves(&mut self, id: &BlobId) -> Option<Option<Duration>> {
        let until = *self.leaving.get(id)?;
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            self.leaving.remove(id);
            return None;
        }
        Some(left)
    }
}

impl Holds {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is there or not. Waits while it is being removed, so whoever finds it there afterwards keeps it.
    pub fn hold(&self, id: BlobId) -> Hold {
        let mut book = self.book();
        while let Some(left) = book.leaves(&id) {
            let wait = left.unwrap_or(Duration::MAX);
            book = self.0.left.wait_timeout(book, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
        *book.held.entry(id).or_default() += 1;
        Hold { id, holds: self.clone() }
    }

    /// What the content of a blob mentions, for as long as it is held.
    pub fn contents(&self, id: &BlobId) -> Option<Arc<[BlobId]>> {
        self.book().contents.get(id).cloned()
    }

    pub fn is_held(&self, id: &BlobId) -> bool {
        self.book().held.contains_key(id)
    }

    /// The right to remove it; `None`: somebody holds it, or removes it already.
    pub(super) fn leave(&self, id: BlobId) -> Option<Leaving> {
        let mut book = self.book();
        if book.held.contains_key(&id) || book.leaves(&id).is_some() {
            return None;
        }
        book.leaving.insert(id, None);
        Some(Leaving { id, holds: self.clone(), until: None })
    }
}

/// As long as it lives, the blob stays.
pub struct Hold {
    id: BlobId,
    holds: Holds,
}

impl Hold {
    pub fn id(&self) -> BlobId {
        self.id
    }

    /// Whoever mentions this blob as a value mentions these with it.
    pub fn note_contents(&self, mentioned: Vec<BlobId>) {
        if !mentioned.is_empty() {
            self.holds.book().contents.insert(self.id, mentioned.into());
        }
    }
}

impl Clone for Hold {
    fn clone(&self) -> Hold {
        self.holds.hold(self.id)
    }
}

impl std::fmt::Debug for Hold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a hold on {}", self.id)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut book = self.holds.book();
        if let Some(count) = book.held.get_mut(&self.id) {
            *count -= 1;
            if *count == 0 {
                book.held.remove(&self.id);
                book.contents.remove(&self.id);
            }
        }
    }
}

pub(super) struct Leaving {
    id: BlobId,
    holds: Holds,
    until: Option<Instant>,
}

impl Leaving {
    /// It may still be removed, for so long.
    pub(super) fn linger(mut self, time: Duration) {
        self.until = Some(Instant::now() + time);
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        let mut book = self.holds.book();
        match self.until {
            Some(until) => _ = book.leaving.insert(self.id, Some(until)),
            None => _ = book.leaving.remove(&self.id),
        }
        drop(book);
        self.holds.0.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_does_not_leave_and_what_leaves_is_waited_for() {
        let (holds, id) = (Holds::default(), BlobId::of(b"a"));
        let first = holds.hold(id);
        let second = first.clone();
        assert!(holds.leave(id).is_none() && holds.is_held(&id));
        drop(first);
        assert!(holds.leave(id).is_none());
        drop(second);
        assert!(!holds.is_held(&id));
        let leaving = holds.leave(id).unwrap();
        assert!(holds.leave(id).is_none(), "one removes it, not two");
        assert!(holds.leave(BlobId::of(b"b")).is_some());
        std::thread::scope(|scope| {
            let held = scope.spawn(|| holds.hold(id));
            drop(leaving);
            assert_eq!(held.join().unwrap().id(), id);
        });
        holds.leave(id).unwrap().linger(Duration::from_millis(50));
        assert!(holds.leave(id).is_none(), "it may still go");
        let began = Instant::now();
        assert!(holds.hold(id).id() == id && began.elapsed() >= Duration::from_millis(40));
        assert!(holds.leave(id).is_some());
    }
}
