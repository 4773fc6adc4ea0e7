//! Committed records, as they happen, for whoever listens. A listener that falls behind is told so and reads what it
//! missed from the store; it never slows the writer down.

use kernel::record::Entry;
use std::sync::{Arc, Mutex};
use tokio::sync::broadcast;

/// Batches a slow listener may fall behind.
const BATCHES_MAX: usize = 256;

/// A batch, or nothing: then something may have been written that nobody was told of.
type News = Option<Arc<[Entry]>>;

pub struct Stream {
    /// `None` once the engine has ended, so that listeners learn it.
    sender: Mutex<Option<broadcast::Sender<News>>>,
}

pub struct Subscription {
    receiver: broadcast::Receiver<News>,
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
        Stream { sender: Mutex::new(Some(broadcast::channel(BATCHES_MAX).0)) }
    }

    pub fn publish(&self, entries: Vec<Entry>) {
        let sender = self.sender.lock().expect("no holder of the stream panics");
        let Some(sender) = sender.as_ref().filter(|sender| sender.receiver_count() > 0) else { return };
        if !entries.is_empty() {
            // Nobody is shown payloads here, and a slow listener would keep them in memory.
            _ = sender.send(Some(entries.into_iter().map(|entry| Entry { payload: None, ..entry }).collect()));
        }
    }

    /// A commit failed, and its records may be in the store all the same: everyone has to look there.
    pub fn unsure(&self) {
        if let Some(sender) = self.sender.lock().expect("no holder of the stream panics").as_ref() {
            _ = sender.send(None);
        }
    }

    pub fn close(&self) {
        *self.sender.lock().expect("no holder of the stream panics") = None;
    }

    pub fn subscribe(&self) -> Subscription {
        let sender = self.sender.lock().expect("no holder of the stream panics");
        // A channel whose sender is gone: the subscription hears the end at once.
        let receiver = sender.as_ref().map_or_else(|| broadcast::channel(1).1, broadcast::Sender::subscribe);
        Subscription { receiver }
    }
}

impl Subscription {
    pub async fn next(&mut self) -> Heard {
        match self.receiver.recv().await {
            Ok(Some(entries)) => Heard::Records(entries),
            Ok(None) | Err(broadcast::error::RecvError::Lagged(_)) => Heard::Missed,
            Err(broadcast::error::RecvError::Closed) => Heard::Ended,
        }
    }
}
