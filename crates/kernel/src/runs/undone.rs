//! What a restart has undone: turns and items of loops and eaches that begin anew, or go on from an earlier turn. Their rows and
//! their histories stay; in memory they are only until what goes on in them is stopped. **Invariant**: which they are follows from
//! the rows, so that a load comes to the same.

use super::past::Past;
use super::{Live, Runs};
use crate::frame::{Frame, FramePath};
use crate::ids::RunId;
use crate::ir::NodeIx;
use crate::names::NodeId;
use crate::node::{Slot, Started};
use crate::row::FrameRow;
use crate::run::NodeAt;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

impl Runs {
    /// So is what belongs to a loop or an each that is not in the text any more.
    pub(super) fn undo_without_node(&mut self, run: RunId, path: &FramePath, id: &NodeId) {
        let live = self.live.get_mut(&run).expect("it is being revised");
        let gone: Vec<FramePath> = live.opened_by(path, id).map(|(path, _)| path.clone()).collect();
        for path in gone {
            let undone = live.undo(&path);
            self.past.extend(undone.into_iter().map(|path| Past::Frame(run, path)));
        }
        live.unhear(path, id, 0);
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
        live.unhear(&at.frame, &at.node, turns);
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
        self.unhear_undone();
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
        let slot = self.find(&above, id).and_then(|node| self.slot(&above, node));
        let newest = self.turn(&above, id, index).map(|(newest, _)| newest);
        is_undone(path, index, slot, newest)
    }
}

/// Whether a restart has undone a turn or an item: by what its loop or each is at, or because there is a newer one in its place.
fn is_undone(path: &FramePath, index: u32, of: Option<&Slot>, newest: Option<&FramePath>) -> bool {
    // A patch has taken its loop or each out.
    let Some(slot) = of else { return true };
    let by_its_node = match slot.work().map(|(_, at)| at) {
        Some(Started::Turning { kept, generation, .. }) => index >= *kept && path.generation() < *generation,
        Some(Started::Spreading { generation, .. }) => path.generation() < *generation,
        // It waits, was skipped, or was done at once: since it was undone, it has opened none.
        _ => true,
    };
    by_its_node || newest.is_some_and(|newest| newest > path)
}

/// The frames of a run that restarts have undone, out of the rows of all of them. `of`: how a loop or an each stands.
pub fn undone_of<E>(
    generation: u32,
    frames: &[FrameRow],
    mut of: impl FnMut(&FramePath, &NodeId) -> Result<Option<Slot>, E>,
) -> Result<BTreeSet<FramePath>, E> {
    let mut undone = BTreeSet::new();
    // Before the first restart there is none, and no need to look.
    if generation == 0 {
        return Ok(undone);
    }
    let all: BTreeSet<&FramePath> = frames.iter().map(|frame| &frame.path).collect();
    let (mut newest, mut slots) = (BTreeMap::new(), BTreeMap::new());
    for path in &all {
        let Some((above, id, index)) = path.up() else { continue };
        newest.insert((above, id, index), *path);
    }
    // Those above come first.
    for path in &all {
        let Some((above, id, index)) = path.up() else { continue };
        let slot = match slots.entry((above.clone(), id)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(of(&above, id)?),
        };
        let inside = undone.contains(&above);
        let newest = newest.get(&(above, id, index)).copied();
        if inside || is_undone(path, index, slot.as_ref(), newest) {
            undone.insert((*path).clone());
        }
    }
    Ok(undone)
}
