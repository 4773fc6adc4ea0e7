//! What is past leaves memory: of an item that is done its result is kept and of a turn likewise, once the next has begun; of
//! a loop or an each that is done, nothing that went on in it. Nobody asks for it again, for a retry takes up only what
//! stopped short, and whoever looks at it looks at the store. It leaves after the commit, so that its rows are written.
//! **Invariant**: what is in memory follows from the facts, so that a load comes to the same.

use super::{Live, Runs};
use crate::frame::{Frame, FramePath, FrameState};
use crate::ids::RunId;
use crate::ir::{NodeIx, NodeKind};
use crate::node::NodeState;
use crate::run::NodeAt;

/// What may have become past.
#[derive(Debug)]
pub(super) enum Past {
    /// This frame, or what is below it.
    Frame(RunId, FramePath),
    /// What this loop or each opened.
    Node(NodeAt),
    /// Anything of a run that was loaded whole.
    Run(RunId),
}

impl Runs {
    /// Lets go of what has become past.
    pub(crate) fn let_go(&mut self) {
        for past in std::mem::take(&mut self.past) {
            match past {
                Past::Frame(run, path) => self.with(run, |live| live.settle_frame(&path)),
                Past::Node(NodeAt { run, frame, node }) => self.with(run, |live| {
                    // By its name: a patch may have given it another number since.
                    if let Some(node) = live.find(&frame, &node) {
                        live.settle_node(&frame, node);
                    }
                }),
                Past::Run(run) => self.with(run, Live::settle),
            }
        }
    }

    fn with(&mut self, run: RunId, then: impl FnOnce(&mut Live)) {
        if let Some(live) = self.live.get_mut(&run) {
            then(live);
        }
    }
}

impl Live {
    /// Whether a loop, an each or a frame above it is done.
    pub(super) fn is_past(&self, path: &FramePath) -> bool {
        let Some((above, node, _)) = path.up() else { return false };
        let node_done = |frame: &Frame| {
            let state = frame.find(node).and_then(|node| frame.nodes.get(frame.ir.node(node).place as usize));
            state.is_none_or(|slot| matches!(slot.state, NodeState::Done { .. }))
        };
        let Some(frame) = self.frame(&above) else { return true };
        let undone = self.frame(path).is_some_and(|frame| frame.undone);
        undone || matches!(frame.state, FrameState::Done(_)) || node_done(frame) || self.is_past(&above)
    }

    pub(super) fn settle(&mut self) {
        let paths: Vec<FramePath> = self.frames.keys().cloned().collect();
        for path in std::iter::once(FramePath::root()).chain(paths) {
            let nodes = self.frame(&path).map(|frame| frame.ir.body(frame.body).nodes.clone()).unwrap_or_default();
            nodes.into_iter().for_each(|node| self.settle_node(&path, node));
            self.settle_frame(&path);
        }
    }

    fn settle_node(&mut self, path: &FramePath, node: NodeIx) {
        if !matches!(self.slot(path, node).map(|slot| &slot.state), Some(NodeState::Done { .. })) {
            return;
        }
        self.spreads.remove(&(path.clone(), node));
        let id = self.at(path, node).node;
        self.remove_below(&path.below(id.clone(), 0, 0), |below| below.is_below(path, &id));
    }

    fn settle_frame(&mut self, path: &FramePath) {
        let Some(frame) = self.frames.get(path) else { return };
        if matches!(frame.state, FrameState::Done(_)) {
            let (above, node, index) = path.up().expect("it is below the root");
            let of = self.frame(&above).and_then(|frame| Some(&frame.ir.node(frame.find(node)?).kind));
            let is_loop = matches!(of, Some(NodeKind::Loop { .. }));
            // A loop looks at its last turn once more.
            let is_last = || self.turn(&above, node, index + 1).is_none();
            let keeps = is_loop && is_last();
            if !keeps {
                self.frames.get_mut(path).expect("it was looked at").nodes = Box::default();
            }
            self.forget_spreads(path);
            self.remove_below(path, |below| below != path && below.is_within(path));
        }
        if self.is_past(path) && !self.is_busy(path) {
            self.remove(path);
        }
    }

    /// Whether it has yet to be dropped, or something in it to be stopped.
    pub(super) fn is_busy(&self, path: &FramePath) -> bool {
        let busy =
            |frame: &Frame| frame.is_open() || frame.nodes.iter().any(|slot| matches!(slot.state, NodeState::Started { .. }));
        self.frames.get(path).is_some_and(busy)
    }

    /// What follows `first` as long as it belongs there, but for what is still to be dropped.
    fn remove_below(&mut self, first: &FramePath, belongs: impl Fn(&FramePath) -> bool) {
        let below = self.frames.range(first.clone()..).map(|(path, _)| path).skip_while(|path| *path == first && !belongs(path));
        let below: Vec<FramePath> = below.take_while(|path| belongs(path)).cloned().collect();
        for path in below.iter().filter(|path| !self.is_busy(path)).cloned().collect::<Vec<_>>() {
            self.remove(&path);
        }
    }

    fn remove(&mut self, path: &FramePath) {
        self.frames.remove(path);
        self.forget_spreads(path);
    }

    /// Of the loops and eaches in this frame.
    pub(super) fn forget_spreads(&mut self, path: &FramePath) {
        let of_frame = (path.clone(), NodeIx(0))..=(path.clone(), NodeIx(u32::MAX));
        let keys: Vec<_> = self.spreads.range(of_frame).map(|(key, _)| key.clone()).collect();
        keys.iter().for_each(|key| _ = self.spreads.remove(key));
    }
}
