//! What a batch did not come to: runs that have yet to tell what they work on that they are paused or go on, those that were
//! patched and whose turns and items under way have yet to be looked at, and nodes that are tried again and have yet to call back the runs they called. All follow from rows, so a crash loses nothing.

use super::{Live, Runs};
use crate::frame::{Frame, FramePath};
use crate::ids::RunId;
use crate::limits::RECALLS_MAX;
use crate::node::{NodeState, Slot, Started};
use crate::run::{NodeAt, RunStatus};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct Recalls {
    /// The run that was called, the node that waits for it, and how often it is to have been tried again.
    all: BTreeMap<RunId, (NodeAt, u32)>,
    /// Those whose rows are loaded for this batch.
    due: Vec<RunId>,
}

impl Recalls {
    /// What a node called changes.
    pub(super) fn changed(&mut self, at: &NodeAt, before: Option<(RunId, u32)>, after: Option<(RunId, u32)>) {
        if before == after {
            return;
        }
        before.map(|(run, _)| self.all.remove(&run));
        if let Some((run, again)) = after.filter(|(_, again)| *again > 0) {
            self.all.insert(run, (at.clone(), again));
        }
    }

    /// A run goes on, for the so manieth time.
    pub(super) fn heard(&mut self, run: RunId, now: u32) {
        if self.all.get(&run).is_some_and(|(_, again)| *again <= now) {
            self.all.remove(&run);
        }
    }

    /// The next to be loaded. Only these are known to be there, or not.
    pub(super) fn next_batch(&mut self) {
        self.due = self.all.keys().take(RECALLS_MAX).copied().collect();
    }
}

impl Runs {
    pub(super) fn has_to_tell(&self) -> bool {
        !self.telling.is_empty() || !self.following.is_empty() || !self.recalls.all.is_empty()
    }

    /// Where a run goes on telling.
    pub(crate) fn telling_from(&self, run: RunId) -> FramePath {
        self.telling.get(&run).cloned().unwrap_or_default()
    }

    pub(crate) fn tell_from(&mut self, run: RunId, path: FramePath) {
        self.telling.insert(run, path);
    }

    pub(crate) fn telling_next(&self) -> Option<RunId> {
        self.telling.keys().next().copied()
    }

    /// Where a run goes on looking.
    pub(crate) fn following_from(&self, run: RunId) -> FramePath {
        self.following.get(&run).cloned().unwrap_or_default()
    }

    pub(crate) fn follow_from(&mut self, run: RunId, path: FramePath) {
        self.following.insert(run, path);
    }

    pub(crate) fn following_next(&self) -> Option<RunId> {
        self.following.keys().next().copied()
    }

    /// Those that are to be called back in this batch, with the node that waits for each.
    pub(crate) fn recalls_due(&self) -> Vec<(RunId, NodeAt, u32)> {
        let found = |run: &RunId| self.recalls.all.get(run).map(|(at, again)| (*run, at.clone(), *again));
        self.recalls.due.iter().filter_map(found).collect()
    }

    /// It was called back for this try.
    pub(crate) fn forget_recall(&mut self, run: RunId, again: u32) {
        self.recalls.heard(run, again);
    }

    /// From the nodes that wait for a run that does not go on.
    pub(super) fn load_recalls(&mut self) {
        for live in self.live.values().filter(|live| live.run.status == RunStatus::Running) {
            for (path, node, at) in live.started() {
                let Started::Calling { run, again } = at else { continue };
                let goes_on = self.live.get(run).is_some_and(|called| called.run.again >= *again);
                if *again > 0 && !goes_on {
                    let at = live.at(path, node);
                    self.recalls.all.insert(*run, (at, *again));
                }
            }
        }
        self.recalls.next_batch();
    }
}

impl Live {
    /// The open frames from one on, in their order.
    pub(crate) fn open_frames_from<'a>(&'a self, from: &'a FramePath) -> impl Iterator<Item = (&'a FramePath, &'a Frame)> {
        self.open_frames().skip_while(move |(path, _)| *path < from)
    }
}

impl NodeState {
    /// The run that it waits for, and how often that was tried again.
    pub(crate) fn call(&self) -> Option<(RunId, u32)> {
        match self {
            NodeState::Started { at: Started::Calling { run, again }, .. } => Some((*run, *again)),
            _ => None,
        }
    }
}

impl Slot {
    /// Of an each that is tried again with all that failed in it: the record that says so.
    pub(crate) fn again_since(&self) -> Option<crate::ids::RecordSeq> {
        match self.state {
            NodeState::Started { at: Started::Spreading { again: true, .. }, .. } => Some(self.last),
            _ => None,
        }
    }
}

impl Frame {
    /// What failed before its each was tried again is to be taken up, like what was cut off.
    pub(crate) fn counts_as(&self, again: Option<crate::ids::RecordSeq>) -> crate::frame::FrameState {
        use crate::frame::FrameState;
        match (self.state, again) {
            (FrameState::Failed, Some(since)) if self.last < since => FrameState::Dropped,
            (state, _) => state,
        }
    }
}
