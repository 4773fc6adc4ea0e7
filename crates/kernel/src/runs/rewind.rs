//! What it takes to begin anew from a node: it and all that follows from it, in its frame and in those around it. Restart undoes
//! that; a fork leaves it out.

use super::Live;
use crate::frame::FramePath;
use crate::ir::{Ir, NodeIx};
use crate::names::NodeId;
use crate::node::NodeState;
use crate::run::NodeAt;
use std::collections::BTreeSet;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rewind {
    /// From the run's own frame down to that of the node.
    pub levels: Vec<Level>,
}

/// One frame of those that lead to the node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Level {
    pub path: FramePath,
    /// Nodes of it that begin anew, whether they have begun or not.
    pub anew: BTreeSet<NodeIx>,
    /// The loop or each that leads on to the node, and the turn or item of it; not in the last.
    pub through: Option<(NodeIx, u32)>,
}

impl Rewind {
    pub fn begins_anew(&self, path: &FramePath, node: NodeIx) -> bool {
        self.levels.iter().any(|level| level.path == *path && level.anew.contains(&node))
    }
}

impl Live {
    /// `None`: there is no such node, or what it stands in is not known any more.
    pub fn rewind(&self, at: &NodeAt) -> Option<Rewind> {
        let path = self.present(&at.frame)?;
        let mut levels = Vec::new();
        let frame = self.frame(&path)?;
        let node = frame.find(&at.node).filter(|_| !frame.nodes.is_empty())?;
        let mut anew = frame.ir.after(node);
        anew.insert(node);
        levels.push(Level { path: path.clone(), anew, through: None });
        let mut below = path;
        while let Some((above, id, index)) = below.up() {
            let frame = self.frame(&above).filter(|frame| !frame.nodes.is_empty())?;
            let through = frame.find(id)?;
            levels.push(Level { path: above.clone(), anew: frame.ir.after(through), through: Some((through, index)) });
            below = above;
        }
        levels.reverse();
        Some(Rewind { levels })
    }

    /// Whether all that stays is in memory: of a loop or an each that is over, it is not.
    pub(crate) fn knows(&self, rewind: &Rewind) -> bool {
        let ways = rewind.levels.iter().filter_map(|level| Some((&level.path, level.through?.0)));
        ways.into_iter()
            .all(|(path, node)| self.slot(path, node).is_some_and(|slot| matches!(slot.state, NodeState::Started { .. })))
    }

    /// The frame that a path means: turns and items of the newest generation where it does not say which.
    pub fn present(&self, path: &FramePath) -> Option<FramePath> {
        let Some((above, id, index)) = path.up() else { return Some(FramePath::root()) };
        let above = self.present(&above)?;
        let exact = above.below(id.clone(), index, path.generation());
        let is_there = self.frame(&exact).is_some_and(|frame| !frame.undone);
        if is_there {
            return Some(exact);
        }
        let newest = if path.generation() == 0 { self.turn(&above, id, index) } else { None };
        newest.map(|(path, _)| path.clone())
    }

    /// How a node stands, by its place.
    pub fn stands(&self, path: &FramePath, id: &NodeId) -> Option<&NodeState> {
        self.find(path, id).and_then(|node| self.slot(path, node)).map(|slot| &slot.state)
    }
}

impl Ir {
    /// All that edges lead to from a node, over others or not.
    pub fn after(&self, node: NodeIx) -> BTreeSet<NodeIx> {
        let (mut after, mut next) = (BTreeSet::new(), vec![node]);
        while let Some(node) = next.pop() {
            for edge in &self.node(node).outs {
                let to = self.edge(*edge).to;
                if after.insert(to) {
                    next.push(to);
                }
            }
        }
        after
    }
}
