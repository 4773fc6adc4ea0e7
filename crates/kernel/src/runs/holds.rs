//! What cannot go on: some of it until the next batch, some until values are at hand that an expression of it reads. By these
//! values, so that one that comes moves only those who waited for it. Derived, and asked for again after a restart.

use super::{Held, Spot};
use crate::frame::FramePath;
use crate::ids::{RecordSeq, RunId};
use crate::ir::NodeIx;
use crate::time::Time;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(crate) struct Holds {
    /// Nothing but the next batch, by how long: who had to let others go first comes before them the next time.
    ready: BTreeMap<Held, u64>,
    in_turn: BTreeMap<u64, Held>,
    turns: u64,
    loads: BTreeMap<Held, Load>,
    /// The same by age.
    by_age: BTreeSet<(Time, Held)>,
    /// And by each value that came or has yet to come.
    by_value: BTreeMap<RecordSeq, BTreeSet<Held>>,
    /// Taken up in this batch. One that is held again still needs what it got before.
    resumed: BTreeMap<Held, Load>,
}

#[derive(Debug, Clone)]
struct Load {
    since: Time,
    missing: BTreeSet<RecordSeq>,
    here: BTreeSet<RecordSeq>,
    /// Of those that are here.
    bytes: usize,
    /// The supervisor has found it late before.
    warned: bool,
}

impl Holds {
    /// It goes on in the next batch.
    pub fn over(&mut self, held: Held) {
        if let Some(load) = self.resumed.remove(&held) {
            self.link(held.clone(), load);
        }
        self.put_ready(held);
    }

    fn put_ready(&mut self, held: Held) {
        if !self.ready.contains_key(&held) {
            self.turns += 1;
            self.ready.insert(held.clone(), self.turns);
            self.in_turn.insert(self.turns, held);
        }
    }

    fn drop_ready(&mut self, held: &Held) {
        if let Some(turn) = self.ready.remove(held) {
            self.in_turn.remove(&turn);
        }
    }

    /// It goes on when these are at hand.
    pub fn until(&mut self, held: Held, missing: Vec<RecordSeq>, now: Time) {
        self.drop_ready(&held);
        let before = self.unlink(&held).or_else(|| self.resumed.remove(&held));
        let mut load =
            before.unwrap_or(Load { since: now, missing: BTreeSet::new(), here: BTreeSet::new(), bytes: 0, warned: false });
        load.here.retain(|seq| !missing.contains(seq));
        load.missing.extend(missing);
        self.link(held, load);
    }

    /// These are at hand, of so many bytes.
    pub fn came(&mut self, values: &[(RecordSeq, usize)]) {
        let mut ready = Vec::new();
        for (seq, bytes) in values {
            for held in self.by_value.get(seq).into_iter().flatten() {
                let load = self.loads.get_mut(held).expect("who waits for a value is held");
                if load.missing.remove(seq) {
                    load.here.insert(*seq);
                    load.bytes += bytes;
                }
                if load.missing.is_empty() {
                    ready.push(held.clone());
                }
            }
        }
        ready.into_iter().for_each(|held| self.put_ready(held));
    }

    /// What goes on now. The runs take turns, so that one with thousands of nodes leaves room for others; within one, who has
    /// waited longest comes first.
    pub fn take_ready(&mut self) -> Vec<Held> {
        self.ready.clear();
        let mut before_it: FxHashMap<RunId, u32> = FxHashMap::default();
        let place = |held: Held| {
            let before = before_it.entry(held.run()).or_default();
            *before += 1;
            (*before, held)
        };
        let mut placed: Vec<(u32, Held)> = std::mem::take(&mut self.in_turn).into_values().map(place).collect();
        placed.sort_by_key(|(before, _)| *before);
        let ready: Vec<Held> = placed.into_iter().map(|(_, held)| held).collect();
        for held in &ready {
            if let Some(load) = self.unlink(held) {
                self.resumed.insert(held.clone(), load);
            }
        }
        ready
    }

    /// It has gone on.
    pub fn settled(&mut self, held: &Held) {
        self.drop_ready(held);
        self.unlink(held);
        self.resumed.remove(held);
    }

    fn link(&mut self, held: Held, load: Load) {
        for seq in load.missing.iter().chain(&load.here) {
            self.by_value.entry(*seq).or_default().insert(held.clone());
        }
        self.by_age.insert((load.since, held.clone()));
        self.loads.insert(held, load);
    }

    fn unlink(&mut self, held: &Held) -> Option<Load> {
        let load = self.loads.remove(held)?;
        for seq in load.missing.iter().chain(&load.here) {
            let waiting = self.by_value.get_mut(seq).expect("who waits for a value is known by it");
            waiting.remove(held);
            if waiting.is_empty() {
                self.by_value.remove(seq);
            }
        }
        self.by_age.remove(&(load.since, held.clone()));
        Some(load)
    }

    /// After the batch: what was taken up and not held again has gone on.
    pub fn cool(&mut self) {
        self.resumed.clear();
    }

    pub fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    pub fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.loads.is_empty()
    }

    pub fn contains(&self, held: &Held) -> bool {
        self.ready.contains_key(held) || self.loads.contains_key(held)
    }

    /// A frame goes on by another text: whatever of it is held is asked for again.
    pub fn forget(&mut self, run: RunId, path: &FramePath) {
        let at = |node| Held::Node(Spot { run, frame: path.clone(), node: NodeIx(node) });
        let of_frame = at(0)..=at(u32::MAX);
        let mut held: BTreeSet<Held> = BTreeSet::from([Held::Frame(run, path.clone())]);
        held.extend(self.ready.range(of_frame.clone()).map(|(held, _)| held.clone()));
        held.extend(self.loads.range(of_frame.clone()).map(|(held, _)| held.clone()));
        held.extend(self.resumed.range(of_frame).map(|(held, _)| held.clone()));
        held.iter().for_each(|held| self.settled(held));
    }

    /// Nodes of a run.
    pub fn nodes_of(&self, run: RunId) -> impl Iterator<Item = &Held> {
        let first = Held::first_of(run);
        let of = move |held: &&Held| matches!(held, Held::Node(spot) if spot.run == run);
        let loads = self.loads.range(first.clone()..).map(|(held, _)| held).take_while(of);
        let ready = self.ready.range(first..).map(|(held, _)| held).take_while(of);
        loads.chain(ready.filter(|held| !self.loads.contains_key(held)))
    }

    /// Values that have yet to come, those first for which something has waited longest.
    pub fn missing(&self) -> impl Iterator<Item = RecordSeq> {
        self.by_age.iter().flat_map(|(_, held)| self.loads[held].missing.iter().copied())
    }

    pub fn is_waited_for(&self, seq: RecordSeq) -> bool {
        self.by_value.contains_key(&seq)
    }

    /// Bytes of the values that came before for one who waits for this one, too; of several who do, the least.
    pub fn bytes_before(&self, seq: RecordSeq) -> usize {
        self.by_value.get(&seq).into_iter().flatten().map(|held| self.loads[held].bytes).min().unwrap_or(0)
    }

    /// What of a run has waited since before then for a value that does not come, and which. Only what was found so before: the
    /// first time it may be us who slept.
    pub fn late(&mut self, run: RunId, before: Time) -> Vec<(Held, RecordSeq)> {
        let late = self.by_age.iter().take_while(|(since, _)| *since <= before).map(|(_, held)| held);
        let mut found = Vec::new();
        for held in late.filter(|held| held.run() == run) {
            let load = self.loads.get_mut(held).expect("what is held by age is held");
            if let Some(missing) = load.missing.first().filter(|_| std::mem::replace(&mut load.warned, true)) {
                found.push((held.clone(), *missing));
            }
        }
        found
    }
}
