//! Blobs that are far: they may be away, not come, or not be taken.

#![allow(dead_code, reason = "each file of tests uses some of it")]

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use store::blobs::{Holds, Kept, MemoryBlobs};
use store::{BlobId, BlobStore, Hold, StoreError};

/// Tests that hang end; none waits so long.
const PATIENCE: Duration = Duration::from_secs(30);

/// How the blobs are.
#[derive(Copy, Clone, Default, PartialEq, Eq)]
pub enum Mood {
    #[default]
    Well,
    Away,
    /// What is put is taken, and nothing can be got.
    Hides,
    /// What is got or looked for does not come.
    Still,
    /// What is put waits.
    Full,
    /// Nothing is taken.
    Refuses,
}

#[derive(Default)]
pub struct Far {
    blobs: MemoryBlobs,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    mood: Mood,
    asked: usize,
}

impl Far {
    pub fn set(&self, mood: Mood) {
        self.state.lock().unwrap().mood = mood;
        self.changed.notify_all();
    }

    /// How many have asked for something.
    pub fn asked(&self) -> usize {
        self.state.lock().unwrap().asked
    }

    /// Whether so many have asked, before all patience is lost.
    pub async fn was_asked(self: &Arc<Far>, count: usize) -> bool {
        let far = self.clone();
        let asked = tokio::task::spawn_blocking(move || {
            let state = far.state.lock().unwrap();
            far.changed.wait_timeout_while(state, PATIENCE, |state| state.asked < count).unwrap().0.asked
        });
        asked.await.unwrap() >= count
    }

    /// Whether somebody asks, from here on.
    pub async fn is_asked(self: &Arc<Far>) -> bool {
        self.was_asked(self.asked() + 1).await
    }

    fn wait_while(&self, mood: Mood) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_timeout_while(state, 2 * PATIENCE, |state| state.mood == mood).unwrap());
    }

    fn answers(&self) -> Result<Mood, StoreError> {
        let mut state = self.state.lock().unwrap();
        state.asked += 1;
        self.changed.notify_all();
        if state.mood == Mood::Away { Err(StoreError::Unreached("it is away".into())) } else { Ok(state.mood) }
    }
}

impl BlobStore for Far {
    fn put(&self, bytes: &[u8]) -> Result<Hold, StoreError> {
        match self.answers()? {
            Mood::Refuses => Err(StoreError::Refused("it is not taken".into())),
            _ => {
                self.wait_while(Mood::Full);
                self.blobs.put(bytes)
            }
        }
    }

    fn put_anew(&self, bytes: &[u8]) -> Result<Hold, StoreError> {
        self.put(bytes)
    }

    fn get(&self, id: &BlobId) -> Result<Option<Vec<u8>>, StoreError> {
        if self.answers()? == Mood::Hides {
            return Err(StoreError::Unreached("it is away".into()));
        }
        self.wait_while(Mood::Still);
        self.blobs.get(id)
    }

    fn look(&self, id: &BlobId) -> Result<Option<Kept>, StoreError> {
        self.answers()?;
        self.wait_while(Mood::Still);
        self.blobs.look(id)
    }

    fn list(&self, after: Option<&BlobId>, limit: usize) -> Result<Vec<Kept>, StoreError> {
        self.blobs.list(after, limit)
    }

    fn remove(&self, id: &BlobId) -> Result<(), StoreError> {
        self.blobs.remove(id)
    }

    fn holds(&self) -> &Holds {
        self.blobs.holds()
    }

    fn place(&self) -> String {
        "far away".into()
    }

    fn is_near(&self) -> bool {
        false
    }
}
