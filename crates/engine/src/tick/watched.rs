//! What the watchdog asks for: whether work and workers wait for each other, and memory anew from the store.

use super::{Core, Lost, Ticked, Turn};
use crate::presence::Poll;
use crate::request::Backlog;
use kernel::names::TypeName;
use kernel::time::Time;
use store::StoreError;

impl Core {
    /// Tasks are queued and workers wait.
    pub fn may_be_idle(&self) -> bool {
        self.presence.is_anyone_waiting() && self.state.counts().queued > 0 && !self.stopping
    }

    /// Forgets memory and reads it again. Nothing is away and nothing open.
    pub fn reload(&mut self, now: Time) -> Ticked {
        let why = "the watchdog wants memory to be read again".to_owned();
        self.recover(now, Lost::by(StoreError::Failed(why)))
    }
}

impl Turn<'_> {
    /// As it is before this turn makes its offers.
    pub(super) fn backlog(&self) -> Backlog {
        let state = self.step.state();
        let meets = |kind: &TypeName| {
            let kinds = std::slice::from_ref(kind);
            let fits = |poll: &Poll| state.has_ready(kinds, &poll.queues);
            state.has_ready(kinds, &[]) && self.presence.longest_waiting(kind, fits).is_some()
        };
        let idle = !*self.stopping && self.presence.types_waiting().any(meets);
        Backlog { idle, granted: self.presence.grants() }
    }
}
