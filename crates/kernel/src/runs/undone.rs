//! What a restart has undone: turns and items of loops and eaches that begin anew, or go on from an earlier turn. Their rows and
//! their histories stay; in memory they are only until what goes on in them is stopped. **Invariant**: which they are follows from
//! the rows, so that a load comes to the same.

use super::past::Past;
use super::{Live, Runs};
use crate::frame::{Frame, FramePath};
use crate::ids::RunId;
use crate::ir::NodeIx;
use crate::node::Started;
use crate::run::NodeAt;
use std::collections::BTreeSet;

impl Runs {
    /// So is what belongs to a loop or an each that is not in the text any more.
    pub(super) fn undo_without_node(&mut self, run: RunId, path: &FramePath) {
        let live = self.live.get_mut(&run).expect("it is being revised");
        let is_gone = |below: &FramePath| {
            below.depth() == path.depth() + 1
                && below.is_within(path)
                && below.up().is_some_and(|(_, id, _)| live.find(path, id).is_none())
        };
        let gone: Vec<FramePath> = live.frames.keys().filter(|below| is_gone(below)).cloned().collect();
        for path in gone {
            live.undo(&path);
        }
    }

    /// What a loop or an each has opened, from that turn on, is nobody's any more.
    pub(super) fn undo(&mut self, at: &NodeAt, turns: u32) {
        let live = self.live.get_mut(&at.run).expect("a node's run is live");
        let below = live.below(&at.frame, &at.node).map(|(path, _)| path);
        let undone: Vec<FramePath> = below.filter(|path| path.up().is_some_and(|(.., index)| index >= turns)).cloned().collect();
        for path in &undone {
            for path in live.undo(path) {
                if live.is_busy(&path) {
                    self.orphans.insert((at.run, path.clone()));
                }
                self.past.push(Past::Frame(at.run, path));
            }
        }
        if let Some(node) = live.find(&at.frame, &at.node) {
            live.respread(&at.frame, node);
        }
    }
}

impl Live {
    /// A frame and all within it.
    fn undo(&mut self, path: &FramePath) -> Vec<FramePath> {
        let within = self.frames.range_mut(path.clone()..).take_while(|(below, _)| below.is_within(path));
        let mut undone = Vec::new();
        for (path, frame) in within {
            frame.undone = true;
            undone.push(path.clone());
        }
        undone.iter().for_each(|path| self.forget_spreads(path));
        undone
    }

    /// All its rows have been taken: what was undone is found out, and the rest counted.
    pub(super) fn taken(&mut self) {
        self.loading = false;
        let paths: Vec<FramePath> = self.frames.keys().cloned().collect();
        // Those above come first.
        for path in &paths {
            if self.frames[path].undone || self.is_superseded(path) {
                self.undo(path);
            }
        }
        self.spreads.clear();
        let spread: BTreeSet<(FramePath, NodeIx)> = self.counted().map(|(key, _)| key).collect();
        for (path, node) in spread {
            self.respread(&path, node);
        }
    }

    /// Every frame that counts, with its loop or each.
    fn counted(&self) -> impl Iterator<Item = ((FramePath, NodeIx), &Frame)> {
        self.frames.iter().filter(|(_, frame)| !frame.undone).filter_map(|(path, frame)| {
            let (above, node, _) = path.up()?;
            let node = self.find(&above, node)?;
            Some(((above, node), frame))
        })
    }

    /// Whether a restart has undone a frame, by what its loop or each is at; or a patch has taken that out.
    fn is_superseded(&self, path: &FramePath) -> bool {
        let Some((above, id, index)) = path.up() else { return false };
        let Some(slot) = self.find(&above, id).and_then(|node| self.slot(&above, node)) else { return true };
        let by_its_node = match slot.work().map(|(_, at)| at) {
            Some(Started::Turning { kept, generation, .. }) => index >= *kept && path.generation() < *generation,
            Some(Started::Spreading { generation, .. }) => path.generation() < *generation,
            // It waits, was skipped, or was done at once: since it was undone, it has opened none.
            _ => true,
        };
        by_its_node || self.turn(&above, id, index).is_some_and(|(newest, _)| newest > path)
    }
}
