//! Committed records, as they happen, for whoever listens. A listener that falls behind is told so and reads what it
//! missed from the store; it never slows the writer down.

use kernel::record::Entry;
use std::sync::Arc;
use tokio::sync::broadcast;

/// Batches a slow listener may fall behind.
const BATCHES_MAX: usize = 256;

pub struct Stream {
    sender: broadcast::Sender<Arc<[Entry]>>,
}

pub struct Subscription {
    receiver: broadcast::Receiver<Arc<[Entry]>>,
}

pub enum Heard {
    Records(Arc<[Entry]>),
    /// Some were missed: catch up from the store.
    Missed,
    /// The engine is gone.
    Ended,
}

impl Stream {
    pub fn new() -> Stream {
        Stream { sender: broadcast::channel(BATCHES_MAX).0 }
    }

    pub fn publish(&self, entries: Vec<Entry>) {
        if !entries.is_empty() && self.sender.receiver_count() > 0 {
            _ = self.sender.send(entries.into());
        }
    }

    pub fn subscribe(&self) -> Subscription {
        Subscription { receiver: self.sender.subscribe() }
    }
}

impl Subscription {
    pub async fn next(&mut self) -> Heard {
        match self.receiver.recv().await {
            Ok(entries) => Heard::Records(entries),
            Err(broadcast::error::RecvError::Lagged(_)) => Heard::Missed,
            Err(broadcast::error::RecvError::Closed) => Heard::Ended,
        }
    }
}
