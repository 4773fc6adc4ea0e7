//! The bounded way in. Two lanes: results, heartbeats and control are never refused and go first; new work is refused
//! when its lane is full, by number or by bytes. The front lane is bounded by its senders, each of which waits for its
//! answer.

use crate::request::{Answer, Request, Ticket};
use kernel::limits::{BATCH_BYTES_MAX, BATCH_ITEMS_MAX, BATCH_REQUESTS_MAX, INBOX_ADDS_MAX, INBOX_BYTES_MAX};
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};
use std::time::Duration;
use tokio::sync::oneshot;

pub struct Letter {
    pub ticket: Ticket,
    pub request: Request,
    pub answer: Option<oneshot::Sender<Answer>>,
}

#[derive(Default)]
struct Lanes {
    front: VecDeque<Letter>,
    adds: VecDeque<Letter>,
    /// Payload bytes in `adds`.
    adds_bytes: usize,
    closed: bool,
}

#[derive(Default)]
pub struct Inbox {
    lanes: Mutex<Lanes>,
    arrived: Condvar,
}

pub enum NotTaken {
    Full,
    Closed,
}

impl Inbox {
    pub fn put(&self, letter: Letter) -> Result<(), NotTaken> {
        let mut lanes = self.lanes.lock().expect("no holder of the inbox panics");
        if lanes.closed {
            return Err(NotTaken::Closed);
        }
        let was_empty = lanes.front.is_empty() && lanes.adds.is_empty();
        if letter.request.is_new_work() {
            if lanes.adds.len() >= INBOX_ADDS_MAX || lanes.adds_bytes >= INBOX_BYTES_MAX {
                return Err(NotTaken::Full);
            }
            lanes.adds_bytes += letter.request.bytes();
            lanes.adds.push_back(letter);
        } else {
            lanes.front.push_back(letter);
        }
        drop(lanes);
        if was_empty {
            self.arrived.notify_one();
        }
        Ok(())
    }

    /// As many letters as make up a batch, waiting at most `wait` for the first; the second value says that no heartbeat is
    /// left behind.
    pub fn take(&self, wait: Option<Duration>) -> (Vec<Letter>, bool) {
        let mut lanes = self.lanes.lock().expect("no holder of the inbox panics");
        let empty = |lanes: &mut Lanes| lanes.front.is_empty() && lanes.adds.is_empty() && !lanes.closed;
        lanes = match wait {
            Some(wait) if wait.is_zero() => lanes,
            Some(wait) => self.arrived.wait_timeout_while(lanes, wait, empty).expect("as above").0,
            None => self.arrived.wait_while(lanes, empty).expect("as above"),
        };
        let mut taken = Vec::with_capacity(BATCH_REQUESTS_MAX.min(lanes.front.len() + lanes.adds.len()));
        let (mut items, mut bytes) = (0, 0);
        while taken.len() < BATCH_REQUESTS_MAX && items < BATCH_ITEMS_MAX && bytes < BATCH_BYTES_MAX {
            let letter = match lanes.front.pop_front() {
                Some(letter) => letter,
                None => {
                    let Some(letter) = lanes.adds.pop_front() else { break };
                    lanes.adds_bytes -= letter.request.bytes();
                    letter
                }
            };
            items += letter.request.items();
            bytes += letter.request.bytes();
            taken.push(letter);
        }
        (taken, lanes.front.is_empty())
    }

    /// Nothing more comes in; what is inside is handed back.
    pub fn close(&self) -> Vec<Letter> {
        let mut lanes = self.lanes.lock().expect("no holder of the inbox panics");
        lanes.closed = true;
        let mut left: Vec<Letter> = lanes.front.drain(..).collect();
        left.extend(lanes.adds.drain(..));
        lanes.adds_bytes = 0;
        drop(lanes);
        self.arrived.notify_one();
        left
    }
}
