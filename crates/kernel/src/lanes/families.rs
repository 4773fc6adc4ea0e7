//! Families of events: what was said about some stands before all their lanes, whatever the queue.

use super::{Ix, Lane, Lanes};
use crate::names::{Family, Pattern};
use crate::time::Time;
use rustc_hash::{FxHashMap, FxHashSet};
use slab::Slab;

/// What was said about the families that a pattern covers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Said {
    pub families: Pattern,
    pub paused: bool,
    pub boost_us: i64,
}

#[derive(Debug)]
struct Line {
    name: Family,
    lanes: usize,
    paused: bool,
    boost_us: i64,
}

#[derive(Debug, Default)]
pub(super) struct Families {
    said: Vec<Said>,
    by_name: FxHashMap<Family, Ix>,
    lines: Slab<Line>,
}

impl Families {
    pub(super) fn enter(&mut self, family: &Family) -> Ix {
        let line = match self.by_name.get(family) {
            Some(line) => *line,
            None => {
                let (paused, boost_us) = sum(&self.said, family);
                let line = self.lines.insert(Line { name: family.clone(), lanes: 0, paused, boost_us });
                self.by_name.insert(family.clone(), line);
                line
            }
        };
        self.lines[line].lanes += 1;
        line
    }

    pub(super) fn leave(&mut self, line: Ix) {
        self.lines[line].lanes -= 1;
        if self.lines[line].lanes == 0 {
            let gone = self.lines.remove(line);
            self.by_name.remove(&gone.name);
        }
    }
}

/// One pause is enough; boosts add up.
fn sum(said: &[Said], family: &Family) -> (bool, i64) {
    let mine = said.iter().filter(|said| said.families.covers(family));
    mine.fold((false, 0), |(paused, boost_us), said| (paused | said.paused, boost_us + said.boost_us))
}

impl Lanes {
    /// Takes over what is said about families now. Costs by the lanes of those it changes something for.
    pub(crate) fn set_families(&mut self, said: Vec<Said>, now: Time) {
        let mut changed = FxHashSet::default();
        for (ix, line) in self.families.lines.iter_mut() {
            let (paused, boost_us) = sum(&said, &line.name);
            if (line.paused, line.boost_us) != (paused, boost_us) {
                (line.paused, line.boost_us) = (paused, boost_us);
                changed.insert(ix);
            }
        }
        self.families.said = said;
        if changed.is_empty() {
            return;
        }
        let touched = |lane: &Lane| lane.family.is_some_and(|family| changed.contains(&family));
        let lanes: Vec<Ix> = self.lanes.iter().filter(|(_, lane)| touched(lane)).map(|(ix, _)| ix).collect();
        for lane in lanes {
            self.settle(lane, now);
        }
    }

    /// Its family is paused.
    pub(super) fn is_silenced(&self, lane: &Lane) -> bool {
        let paused = lane.family.is_some_and(|family| self.families.lines[family].paused);
        paused && !lane.route.is_critical() && !crate::defect("family_pause_ignored")
    }

    pub(super) fn boost_of(&self, lane: &Lane) -> i64 {
        let keys: i64 = lane.keys.iter().map(|key| self.keys[*key].boost_us).sum();
        keys + lane.family.map_or(0, |family| self.families.lines[family].boost_us)
    }
}
