//! Lanes without tasks. To make a lane and its keys and to drop them costs as much as to lease a task, and keys that came once are
//! likely to come again, so of queues that stay some are put by.

use super::{Ix, Lanes};

const LANES_SPARE_MAX: usize = 16_384;

impl Lanes {
    /// Drops the lanes that were left empty, or puts them by: the one that was put by first goes for it.
    pub(crate) fn drop_emptied(&mut self) {
        while let Some(lane) = self.emptied.pop() {
            if !self.is_empty(lane) {
                continue;
            }
            if !self.queues[self.line_of_lane(lane)].stated {
                self.let_go(lane);
            } else if !std::mem::replace(&mut self.lanes[lane].spare, true) {
                self.spare.push_back(lane);
            }
        }
        while self.spare.len() > LANES_SPARE_MAX
            && let Some(oldest) = self.spare.pop_front()
        {
            self.lanes[oldest].spare = false;
            // One that is in use once more is put by again when that is over.
            if self.is_empty(oldest) {
                self.let_go(oldest);
            }
        }
    }

    fn is_empty(&self, lane: Ix) -> bool {
        self.lanes.get(lane).is_some_and(|lane| lane.tasks.is_empty() && lane.running == 0)
    }

    fn let_go(&mut self, lane: Ix) {
        let queue = self.lanes[lane].route.queue().clone();
        self.drop_lane(lane);
        self.forget_if_empty(&queue);
    }
}
