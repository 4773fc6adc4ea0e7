//! The bounded way in. Two lanes: results, heartbeats and control are never refused and go first; new work is refused
//! when its lane is full. The front lane is bounded by its senders, each of which waits for its answer.

use crate::request::{Answer, Request, Ticket};
use kernel::limits::INBOX_ADDS_MAX;
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
            if lanes.adds.len() >= INBOX_ADDS_MAX {
                return Err(NotTaken::Full);
            }
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

    /// Up to `letters_max` letters with `items_max` items in them, waiting at most `wait` for the first; the second
    /// value says that no heartbeat is left behind.
    pub fn take(&self, letters_max: usize, items_max: usize, wait: Option<Duration>) -> (Vec<Letter>, bool) {
        let mut lanes = self.lanes.lock().expect("no holder of the inbox panics");
        let empty = |lanes: &mut Lanes| lanes.front.is_empty() && lanes.adds.is_empty() && !lanes.closed;
        lanes = match wait {
            Some(wait) if wait.is_zero() => lanes,
            Some(wait) => self.arrived.wait_timeout_while(lanes, wait, empty).expect("as above").0,
            None => self.arrived.wait_while(lanes, empty).expect("as above"),
        };
        let mut taken = Vec::with_capacity(letters_max.min(lanes.front.len() + lanes.adds.len()));
        let mut items = 0;
        while taken.len() < letters_max && items < items_max {
            let Lanes { front, adds, .. } = &mut *lanes;
            let Some(letter) = front.pop_front().or_else(|| adds.pop_front()) else { break };
            items += letter.request.items();
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
        drop(lanes);
        self.arrived.notify_one();
        left
    }
}
