//! Runs whose workflow does not compile any more, found when their rows are taken: an update may be stricter than what it finds.
//! They are in memory without their nodes, so that nobody else has to wait for them, and fail as soon as possible. Derived.

use crate::ids::RunId;
use crate::node::Started;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug, Default)]
pub(crate) struct Unfits(BTreeMap<RunId, Unfit>);

#[derive(Debug)]
pub(crate) struct Unfit {
    pub why: Arc<str>,
    /// What its nodes were at, to be taken back.
    pub begun: Vec<Started>,
}

impl Unfits {
    pub fn contains(&self, run: RunId) -> bool {
        self.0.contains_key(&run)
    }

    pub fn why(&self, run: RunId) -> Option<&Arc<str>> {
        self.0.get(&run).map(|unfit| &unfit.why)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn runs(&self) -> impl Iterator<Item = RunId> {
        self.0.keys().copied()
    }

    pub(super) fn insert(&mut self, run: RunId, why: Arc<str>) {
        self.0.insert(run, Unfit { why, begun: Vec::new() });
    }

    /// `false`: it is none of them.
    pub(super) fn begun(&mut self, run: RunId, at: Option<Started>) -> bool {
        let Some(unfit) = self.0.get_mut(&run) else { return false };
        unfit.begun.extend(at);
        true
    }

    /// The next of what a run had begun, at most so many.
    pub fn take_begun(&mut self, run: RunId, most: usize) -> Vec<Started> {
        let begun = self.0.get_mut(&run).map(|unfit| &mut unfit.begun);
        begun.map_or_else(Vec::new, |begun| begun.split_off(begun.len().saturating_sub(most)))
    }

    pub(super) fn remove(&mut self, run: RunId) {
        self.0.remove(&run);
    }
}
