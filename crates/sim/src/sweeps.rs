//! Blobs that nothing mentions are removed, at any moment and without a grace period. Whoever works outside has none either: at the
//! door it finds what it put gone, puts it again, and from there on it is held.

use crate::world::World;
use engine::{Request, Ticket};
use kernel::time::Time;
use store::blobs::{Sweep, sweep};
use store::{BlobStore, Reader};

/// Steps between two looks.
const EVERY: usize = 5;

impl World {
    /// No chance is drawn for it: worlds without blobs go the same way as ever.
    pub(crate) fn sweep(&mut self, offset: usize) {
        if !self.temper.runs || self.step % EVERY != offset {
            return;
        }
        let mut reader = self.disk.open_reader();
        let before = Time::from_us(i64::MAX);
        let all = Sweep { before, after: None, limit: usize::MAX, until: None, dry: false };
        let swept = sweep(&*self.blobs, &mut |ids| reader.blobs_mentioned(ids), &all).expect("memory does not fail here");
        if swept.removed > 0 {
            self.fault("blobs_swept");
        }
    }

    /// What stands for values in a request that came to the door is there, and held.
    pub(crate) fn hold_at_the_door(&mut self, ticket: Ticket, request: &Request) {
        for id in request.blobs() {
            self.blobs.bring_back(&id);
            self.held.push((ticket, self.blobs.holds().hold(id)));
        }
    }

    /// What is decided holds them itself.
    pub(crate) fn let_go(&mut self) {
        let inbox = &self.mail.inbox;
        self.held.retain(|(ticket, _)| inbox.iter().any(|(waiting, _)| waiting == ticket));
    }
}
