//! The bounded way in. Two lanes: results, heartbeats and control are never refused and go first; new work is refused
//! when its lane is full, by number or by bytes. The front lane is bounded by its senders, each of which waits for its
//! answer.

use crate::request::{Answer, Request, Ticket};
use crate::writer::Sent;
use kernel::limits::{BATCH_BYTES_MAX, BATCH_REQUESTS_MAX, INBOX_ADDS_MAX, INBOX_BYTES_MAX};
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};
use std::time::Duration;
use store::Hold;
use tokio::sync::oneshot;

/// Items taken at once. Few: as long as the disk is busy, what is decided piles up to one batch anyway, and as soon as it
/// is free it need not wait for long.
const TAKEN_ITEMS: usize = 512;

pub struct Letter {
    pub ticket: Ticket,
    pub request: Request,
    pub answer: Option<oneshot::Sender<Answer>>,
    /// On what stands for values in the request.
    pub holds: Vec<Hold>,
}

#[derive(Default)]
struct Lanes {
    front: VecDeque<Letter>,
    adds: VecDeque<Letter>,
    /// Payload bytes in `adds`.
    adds_bytes: usize,
    /// What the carrier has brought back.
    back: VecDeque<Sent>,
    /// The carrier will not come back.
    lost: bool,
    closed: bool,
}

/// What there is to do next.
pub struct Taken {
    pub letters: Vec<Letter>,
    /// No heartbeat is left behind.
    pub idle: bool,
    pub back: VecDeque<Sent>,
    /// The carrier has died.
    pub lost: bool,
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

    /// Some letters, waiting at most `wait` for the first, or for the carrier.
    pub fn take(&self, wait: Option<Duration>) -> Taken {
        let mut lanes = self.lanes.lock().expect("no holder of the inbox panics");
        let empty = |lanes: &mut Lanes| {
            lanes.front.is_empty() && lanes.adds.is_empty() && lanes.back.is_empty() && !lanes.lost && !lanes.closed
        };
        lanes = match wait {
            Some(wait) if wait.is_zero() => lanes,
            Some(wait) => self.arrived.wait_timeout_while(lanes, wait, empty).expect("as above").0,
            None => self.arrived.wait_while(lanes, empty).expect("as above"),
        };
        let mut letters = Vec::with_capacity(BATCH_REQUESTS_MAX.min(lanes.front.len() + lanes.adds.len()));
        let (mut items, mut bytes) = (0, 0);
        while letters.len() < BATCH_REQUESTS_MAX && items < TAKEN_ITEMS && bytes < BATCH_BYTES_MAX {
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
            letters.push(letter);
        }
        Taken { letters, idle: lanes.front.is_empty(), back: std::mem::take(&mut lanes.back), lost: lanes.lost }
    }

    pub fn is_empty(&self) -> bool {
        let lanes = self.lanes.lock().expect("no holder of the inbox panics");
        lanes.front.is_empty() && lanes.adds.is_empty()
    }

    /// By the carrier.
    pub fn bring_back(&self, sent: Sent) {
        self.lanes.lock().expect("no holder of the inbox panics").back.push_back(sent);
        self.arrived.notify_one();
    }

    /// Waits for the carrier alone; `None`: it has died.
    pub fn wait_for_carrier(&self) -> Option<Sent> {
        let lanes = self.lanes.lock().expect("no holder of the inbox panics");
        let mut lanes = self.arrived.wait_while(lanes, |lanes| lanes.back.is_empty() && !lanes.lost).expect("as above");
        lanes.back.pop_front()
    }

    pub fn lose_carrier(&self) {
        self.lanes.lock().expect("no holder of the inbox panics").lost = true;
        self.arrived.notify_one();
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
