//! When the supervisor looks at each run next: each by its own limit, so that one that has to be looked at often does not have
//! all looked at so often. Derived; after a restart all are looked at once.

use crate::ids::RunId;
use crate::time::Time;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// How often it looks, at the most and at the least.
const SWEEP_MS_MIN: u64 = 1_000;
const SWEEP_MS_MAX: u64 = 300_000;

#[derive(Debug, Default)]
pub(super) struct Sweeps {
    by_time: BTreeSet<(Time, RunId)>,
    by_run: FxHashMap<RunId, Time>,
}

impl Sweeps {
    pub fn knows(&self, run: RunId) -> bool {
        self.by_run.contains_key(&run)
    }

    pub fn plan(&mut self, run: RunId, at: Time) {
        if let Some(before) = self.by_run.insert(run, at) {
            self.by_time.remove(&(before, run));
        }
        self.by_time.insert((at, run));
    }

    pub fn forget(&mut self, run: RunId) {
        if let Some(at) = self.by_run.remove(&run) {
            self.by_time.remove(&(at, run));
        }
    }

    /// The first of those that are due.
    pub fn due(&self, now: Time, most: usize) -> Vec<RunId> {
        self.by_time.iter().take_while(|(at, _)| *at <= now).take(most).map(|(_, run)| *run).collect()
    }

    pub fn next(&self) -> Option<Time> {
        self.by_time.first().map(|(at, _)| *at)
    }
}

/// How often the supervisor has to look to notice such a stall in good time.
pub(super) fn sweep_every_ms(stall_ms: u64) -> u64 {
    (stall_ms / 10).clamp(SWEEP_MS_MIN, SWEEP_MS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_is_looked_at_when_it_is_due() {
        let at = |ms: i64| Time::from_ms(ms);
        let run = |number: u64| RunId::new(number, 0);
        let mut sweeps = Sweeps::default();
        sweeps.plan(run(1), at(10));
        sweeps.plan(run(2), at(300));
        sweeps.plan(run(3), at(10));
        assert_eq!(sweeps.due(at(9), 5), []);
        assert_eq!(sweeps.due(at(10), 1), [run(1)]);
        assert_eq!(sweeps.due(at(20), 5), [run(1), run(3)]);
        sweeps.plan(run(1), at(30));
        sweeps.forget(run(3));
        assert_eq!((sweeps.due(at(20), 5), sweeps.next()), (vec![], Some(at(30))));
        sweeps.forget(run(1));
        assert_eq!((sweeps.knows(run(1)), sweeps.next()), (false, Some(at(300))));
        assert_eq!([10, 60_000, 86_400_000].map(sweep_every_ms), [1_000, 6_000, 300_000]);
    }
}
