//! What the writer's two threads are at, for whoever watches them. Each tells when it turns to something else; that costs one
//! store to memory.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

const PHASE_BITS: u32 = 2;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Waits for something to do.
    Resting = 0,
    /// Decides a batch, or waits for one that is being written.
    Deciding = 1,
    Committing = 2,
    /// Hands out what was committed.
    Dispatching = 3,
}

/// One thread's. Told by that thread alone.
#[derive(Default)]
pub(crate) struct Beat(AtomicU64);

/// What a thread was at, the how-manieth time.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Seen(u64);

impl Beat {
    pub fn turn_to(&self, phase: Phase) {
        let count = (self.0.load(Ordering::Relaxed) >> PHASE_BITS).wrapping_add(1);
        self.0.store(count << PHASE_BITS | phase as u64, Ordering::Relaxed);
    }

    pub fn seen(&self) -> Seen {
        Seen(self.0.load(Ordering::Relaxed))
    }
}

impl Seen {
    #[cfg(test)]
    pub fn new(count: u64, phase: Phase) -> Seen {
        Seen(count << PHASE_BITS | phase as u64)
    }

    pub fn phase(self) -> Phase {
        let phases = [Phase::Resting, Phase::Deciding, Phase::Committing, Phase::Dispatching];
        phases[(self.0 & ((1 << PHASE_BITS) - 1)) as usize]
    }
}

#[derive(Default)]
pub(crate) struct Pulse {
    pub writer: Beat,
    pub carrier: Beat,
    /// Tasks are queued and workers wait: worth a question whether they should meet.
    pub may_be_idle: AtomicBool,
    closed: Mutex<bool>,
    changed: Condvar,
}

impl Pulse {
    /// The writer has ended.
    pub fn close(&self) {
        *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits so long; false: the writer has ended.
    pub fn wait(&self, time: Duration) -> bool {
        let closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        let (closed, _) =
            self.changed.wait_timeout_while(closed, time, |closed| !*closed).unwrap_or_else(PoisonError::into_inner);
        !*closed
    }
}
