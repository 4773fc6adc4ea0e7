//! One live run, read: its frames, its nodes, and what an expression of one may see.

use super::{Live, Spot, Spread};
use crate::eval::{NodeFacts, Scope, Shape};
use crate::frame::{Frame, FramePath, FrameState, Verdict};
use crate::ids::RecordSeq;
use crate::ir::{Ir, NodeIx, NodeKind, Reads};
use crate::names::NodeId;
use crate::node::{NodeState, Slot, Started};
use crate::run::{NodeAt, Run, ValueAt};
use std::sync::Arc;

impl Live {
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The newest of its texts.
    pub fn ir(&self) -> &Arc<Ir> {
        &self.root.ir
    }

    pub fn frame(&self, path: &FramePath) -> Option<&Frame> {
        if path.is_root() { Some(&self.root) } else { self.frames.get(path) }
    }

    pub(super) fn frame_mut(&mut self, path: &FramePath) -> Option<&mut Frame> {
        if path.is_root() { Some(&mut self.root) } else { self.frames.get_mut(path) }
    }

    /// A node of a frame, by its number in the text that the frame follows.
    pub fn find(&self, path: &FramePath, id: &NodeId) -> Option<NodeIx> {
        self.frame(path)?.find(id)
    }

    /// Nodes of a frame that a patch has taken out, and that have a history.
    pub(crate) fn removed<'a>(&'a self, path: &'a FramePath) -> impl Iterator<Item = &'a NodeId> {
        self.removed.keys().filter(move |(of, _)| of == path).map(|(_, id)| id)
    }

    /// Whether a frame goes on, with every frame, loop and each above it. One that does not is dropped in some later batch.
    pub(crate) fn is_wanted(&self, path: &FramePath) -> bool {
        let Some((above, node, _)) = path.up() else { return true };
        if !self.frame(path).is_some_and(|frame| frame.is_open() && !frame.undone) {
            return false;
        }
        let slot = self.find(&above, node).and_then(|node| self.slot(&above, node));
        slot.is_some_and(|slot| matches!(slot.state, NodeState::Started { .. })) && self.is_wanted(&above)
    }

    /// Whether a frame was cut off, or is to begin anew in part, and what it belongs to goes on or waits likewise.
    pub(crate) fn waits_for_room(&self, path: &FramePath) -> bool {
        let Some((above, node, _)) = path.up() else { return false };
        let cut = self.frame(path).is_some_and(|frame| frame.state == FrameState::Dropped && !frame.undone);
        let slot = self.find(&above, node).and_then(|node| self.slot(&above, node));
        let goes_on = slot.is_some_and(|slot| matches!(slot.state, NodeState::Started { .. }));
        cut && goes_on && (self.is_wanted(&above) || self.waits_for_room(&above))
    }

    /// The frames that a loop or an each of this frame has opened, in order.
    pub(crate) fn below<'a>(
        &'a self,
        path: &FramePath,
        node: &NodeId,
    ) -> impl DoubleEndedIterator<Item = (&'a FramePath, &'a Frame)> + use<'a> {
        self.turns(path, node, 0, u32::MAX)
    }

    /// With those that were undone.
    pub(crate) fn opened_by<'a>(
        &'a self,
        path: &FramePath,
        node: &NodeId,
    ) -> impl Iterator<Item = (&'a FramePath, &'a Frame)> + use<'a> {
        let (first, last) = (path.below(node.clone(), 0, 0), path.below(node.clone(), u32::MAX, u32::MAX));
        let depth = first.depth();
        self.frames.range(first..=last).filter(move |(path, _)| path.depth() == depth)
    }

    /// One of them.
    pub(crate) fn turn(&self, path: &FramePath, node: &NodeId, index: u32) -> Option<(&FramePath, &Frame)> {
        self.turns(path, node, index, index).next_back()
    }

    fn turns<'a>(
        &'a self,
        path: &FramePath,
        node: &NodeId,
        first: u32,
        last: u32,
    ) -> impl DoubleEndedIterator<Item = (&'a FramePath, &'a Frame)> + use<'a> {
        let (first, last) = (path.below(node.clone(), first, 0), path.below(node.clone(), last, u32::MAX));
        let depth = first.depth();
        self.frames.range(first..=last).filter(move |(path, frame)| path.depth() == depth && !frame.undone)
    }

    pub(crate) fn open_frames(&self) -> impl Iterator<Item = (&FramePath, &Frame)> {
        static ROOT_PATH: std::sync::LazyLock<FramePath> = std::sync::LazyLock::new(FramePath::root);
        let all = std::iter::once((&*ROOT_PATH, &self.root)).chain(&self.frames);
        all.filter(|(_, frame)| frame.is_open() && !frame.undone)
    }

    /// Counts the frames of an each anew: it is tried again, or no longer.
    pub(super) fn respread(&mut self, path: &FramePath, node: NodeIx) {
        let Some(frame) = self.frame(path) else { return };
        let id = frame.ir.node(node).id.clone();
        let again = self.slot(path, node).and_then(Slot::again_since);
        let mut spread = Spread::default();
        self.below(path, &id).for_each(|(_, frame)| spread.count(frame.counts_as(again)));
        match spread == Spread::default() {
            true => self.spreads.remove(&(path.clone(), node)),
            false => self.spreads.insert((path.clone(), node), spread),
        };
    }

    /// Whether a node that waits has all it waits for.
    pub(crate) fn may_move(&self, spot: &Spot) -> bool {
        self.frame(&spot.frame).is_some_and(|frame| frame.verdict(spot.node) != Verdict::Wait)
    }

    /// Every node that has not been entered, in open frames.
    pub(crate) fn waiting(&self) -> Vec<Spot> {
        let mut waiting = Vec::new();
        for (path, frame) in self.open_frames() {
            let nodes = frame.ir.body(frame.body).nodes.iter().zip(&frame.nodes);
            let nodes = nodes.filter(|(_, slot)| slot.state == NodeState::Waiting);
            waiting.extend(nodes.map(|(node, _)| Spot { run: self.run.id, frame: path.clone(), node: *node }));
        }
        waiting
    }

    pub(crate) fn spread(&self, spot: &Spot) -> Spread {
        self.spreads.get(&(spot.frame.clone(), spot.node)).copied().unwrap_or_default()
    }

    pub(crate) fn slot(&self, path: &FramePath, node: NodeIx) -> Option<&Slot> {
        self.frame(path).filter(|frame| !frame.nodes.is_empty()).map(|frame| frame.slot(node))
    }

    pub(crate) fn last_of(&self, path: &FramePath, node: NodeIx) -> RecordSeq {
        self.slot(path, node).map_or(RecordSeq::NONE, |slot| slot.last)
    }

    /// One node of a frame, as it is called everywhere.
    pub(crate) fn at(&self, path: &FramePath, node: NodeIx) -> NodeAt {
        let id = self.frame(path).expect("a node's frame is there").ir.node(node).id.clone();
        NodeAt { run: self.run.id, frame: path.clone(), node: id }
    }

    /// Whether a node stands in frames of this path that are past, so that it is not known any more how it ended.
    pub(crate) fn is_over(&self, path: &FramePath, node: &NodeId) -> bool {
        let ir = self.frame(path).map_or(&self.root.ir, |frame| &frame.ir);
        let body = path.up().and_then(|(_, of, _)| ir.body_of(ir.find(of)?));
        let done = self.frame(path).is_some_and(|frame| matches!(frame.state, FrameState::Done(_)));
        let is_of_it = body.is_some_and(|body| ir.find_in(body, node).is_some());
        is_of_it && (done || self.is_past(path))
    }

    /// What a frame was entered with.
    pub(crate) fn entry(&self, path: &FramePath) -> ValueAt {
        let Some((above, node, index)) = path.up() else { return ValueAt::Record(self.run.input) };
        self.entry_of(&above, node, index)
    }

    fn entry_of(&self, above: &FramePath, node: &NodeId, index: u32) -> ValueAt {
        let ix = self.find(above, node).expect("a frame belongs to a node");
        let slot = self.slot(above, ix).expect("a node that opened a frame is there");
        match (slot.work().map(|(_, at)| at), index) {
            (Some(Started::Spreading { items, .. }), index) => items.item(index),
            (Some(Started::Turning { init, .. }), 0) => *init,
            (Some(Started::Turning { .. }), index) => match self.turn(above, node, index - 1).map(|(_, frame)| frame.state) {
                Some(FrameState::Done(output)) => output,
                _ => ValueAt::Null,
            },
            _ => ValueAt::Null,
        }
    }

    /// What an expression may see in a frame, of what it reads; `ir` is the text it stands in. `output` is what that name means
    /// there.
    pub(crate) fn scope(&self, path: &FramePath, ir: &Ir, reads: &Reads, output: Shape) -> Scope {
        let (mut item, mut last) = (None, None);
        let mut at = path.clone();
        while let Some((above, node, index)) = at.up() {
            let value = || self.entry_of(&above, node, index);
            let of = self.frame(&above).and_then(|frame| Some(&frame.ir.node(frame.find(node)?).kind));
            match of {
                Some(NodeKind::Each { .. }) if item.is_none() => item = Some((value(), index)),
                Some(NodeKind::Loop { .. }) if last.is_none() => last = Some((index, value())),
                _ => {}
            }
            at = above;
        }
        let ids = reads.nodes.iter().map(|node| &ir.node(*node).id);
        let nodes = ids.map(|id| (id.clone(), self.facts(path, id))).collect();
        Scope { run: self.run.id, input: ValueAt::Record(self.run.input), output, item, last, nodes, event: None }
    }

    fn facts(&self, path: &FramePath, id: &NodeId) -> NodeFacts {
        // It stands in this frame or in one above.
        let mut at = path.clone();
        let found = loop {
            let found = self.frame(&at).and_then(|frame| {
                let node = frame.find(id)?;
                Some((frame, node))
            });
            match (found, at.up()) {
                (None, Some((above, ..))) => at = above,
                (found, _) => break found,
            }
        };
        let Some((frame, node)) = found.filter(|(frame, _)| !frame.nodes.is_empty()) else {
            return NodeFacts { status: "waiting".into(), output: Shape::At(ValueAt::Null), error: None };
        };
        let state = frame.node(node);
        let error = if let NodeState::Failed { failure, .. } = state { Some((**failure).clone()) } else { None };
        let output = Shape::of(&frame.ir, frame.source(node), self.entry(&at));
        NodeFacts { status: state.as_str().into(), output, error }
    }

    /// What `output` means to a node.
    pub(crate) fn output_before(&self, path: &FramePath, node: NodeIx) -> Shape {
        let frame = self.frame(path).expect("a node's frame is there");
        Shape::of(&frame.ir, frame.before(node), self.entry(path))
    }
}
