//! What another run needs to go on from how this one is: what has ended in it, as records of that one would say it. What is under
//! way begins anew there; of what is past only what it gave is needed. A turn or an item that stopped short is taken up again.

use super::{Live, Rewind};
use crate::eval::Shape;
use crate::frame::{Frame, FramePath, FrameState};
use crate::ids::RecordSeq;
use crate::ir::{Ir, NodeIx, NodeKind, OnError, ROOT};
use crate::names::NodeId;
use crate::node::{NodeState, Output, Slot, Started, Told};
use crate::record::{Failure, Record};
use crate::rejection::Rejection;
use crate::run::{NodeAt, ValueAt};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// One record of the new run, and the value that is its payload.
#[derive(Clone, Debug, PartialEq)]
pub struct Copied {
    pub frame: FramePath,
    /// `None`: it is the frame's.
    pub node: Option<NodeId>,
    pub record: Record,
    pub value: Option<Shape>,
}

impl Live {
    /// In an order in which they can be told. Without what is to begin anew; `undoing`: as it is of a restart at that record of
    /// which not all is told yet.
    pub(crate) fn copied(&self, rewind: Option<&Rewind>, undoing: Option<(&Rewind, RecordSeq)>) -> Vec<Copied> {
        let mut copying = Copying { live: self, rewind, undoing, heard: self.heard_in(), copied: Vec::new() };
        copying.nodes(&FramePath::root(), &FramePath::root(), false);
        copying.copied
    }

    /// Which of the nodes that another run takes along is not in this text as it would have to be, and why; of the turns and
    /// items that are under way each follows it if it can.
    pub fn against(&self, copied: &[Copied], new: &Ir) -> Option<Rejection> {
        let root = FramePath::root();
        let taken: FxHashSet<&NodeId> =
            copied.iter().filter(|copied| copied.frame.is_root()).filter_map(|copied| copied.node.as_ref()).collect();
        let is_open = |node: NodeIx, _: &Slot| !taken.contains(&self.root.ir.node(node).id);
        let (node, status, frozen) = self.root.misfit(new, ROOT, is_open)?;
        Some(Rejection::Frozen { at: NodeAt { run: self.run.id, frame: root, node }, status, frozen })
    }
}

struct Copying<'a> {
    live: &'a Live,
    rewind: Option<&'a Rewind>,
    undoing: Option<(&'a Rewind, RecordSeq)>,
    /// Turns after which others go on to hear.
    heard: BTreeSet<FramePath>,
    copied: Vec<Copied>,
}

impl<'a> Copying<'a> {
    /// `closing`: nothing goes on in it before it is taken up again.
    fn nodes(&mut self, path: &FramePath, to: &FramePath, closing: bool) {
        let Some(frame) = self.live.frame(path) else { return };
        let mut slots: Vec<(NodeIx, &Slot)> = frame.ir.body(frame.body).nodes.iter().copied().zip(&frame.nodes).collect();
        // Whoever waits for several takes those that came before it.
        slots.sort_by_key(|(_, slot)| slot.last);
        let mut opened: Vec<(NodeIx, bool)> = Vec::new();
        for (node, slot) in slots {
            if self.rewinds(slot).any(|rewind| rewind.begins_anew(path, node)) {
                continue;
            }
            let (record, value) = match &slot.state {
                NodeState::Done { output, went } if self.through(path, node, slot).is_none() => {
                    let (output, value) = match output {
                        Output::At(ValueAt::Null) => (Told::At(ValueAt::Null), None),
                        Output::At(value) => (Told::Own, Some(Shape::At(*value))),
                        Output::Passed if frame.ir.predecessors(node).len() < 2 => (Told::Passed, None),
                        Output::Passed => (Told::Own, self.live.output_of(path, node)),
                    };
                    (Record::NodeDone { output, went: went.clone() }, value)
                }
                NodeState::Failed { failure, then: then @ (OnError::To | OnError::Ignore) }
                    if self.through(path, node, slot).is_none() =>
                {
                    (Record::NodeFailed { failure: (**failure).clone(), then: *then }, None)
                }
                NodeState::Skipped(cause) => (Record::NodeSkipped { cause: *cause }, None),
                NodeState::Waiting => continue,
                state => {
                    let failed = matches!(state, NodeState::Failed { .. } | NodeState::Cancelled);
                    let own = |value: ValueAt| {
                        if value == ValueAt::Null { (value, None) } else { (ValueAt::Own, Some(Shape::At(value))) }
                    };
                    let (at, value) = match slot.work().map(|(_, at)| at).filter(|_| !closing) {
                        Some(Started::Turning { init, .. }) => {
                            let (init, value) = own(*init);
                            (Started::Turning { init, kept: 0, generation: 0 }, value)
                        }
                        Some(Started::Spreading { items, count, .. }) => {
                            let (items, value) = own(*items);
                            (Started::Spreading { items, count: *count, again: false, generation: 0 }, value)
                        }
                        // What was under way begins anew.
                        _ => continue,
                    };
                    opened.push((node, failed));
                    (Record::NodeStarted { at }, value)
                }
            };
            let id = Some(frame.ir.node(node).id.clone());
            self.copied.push(Copied { frame: to.clone(), node: id, record, value });
        }
        for (node, failed) in opened {
            self.frames(path, to, frame, node, failed);
        }
    }

    fn has_heard(&self, path: &FramePath) -> bool {
        self.heard.range(path.clone()..).next().is_some_and(|first| first.is_within(path))
    }

    /// What begins anew, of a node that stands so.
    fn rewinds(&self, slot: &Slot) -> impl Iterator<Item = &'a Rewind> + use<'a> {
        let undoing = self.undoing.filter(|(_, since)| slot.last < *since).map(|(rewind, _)| rewind);
        self.rewind.into_iter().chain(undoing)
    }

    /// The turn or item on the way to the node from which all begins anew.
    fn through(&self, path: &FramePath, node: NodeIx, slot: &Slot) -> Option<u32> {
        let levels = self.rewinds(slot).filter_map(|rewind| rewind.levels.iter().find(|level| level.path == *path));
        levels.filter_map(|level| level.through.filter(|(through, _)| *through == node)).map(|(_, index)| index).min()
    }

    fn frames(&mut self, path: &FramePath, to: &FramePath, above: &Frame, node: NodeIx, failed: bool) {
        let id = &above.ir.node(node).id;
        let is_loop = above.ir.is_loop(node);
        let through = self.through(path, node, above.slot(node));
        let below: Vec<(FramePath, FrameState, u32)> =
            self.live.below(path, id).map(|(path, frame)| (path.clone(), frame.state, frame.revision)).collect();
        let last = below.len().saturating_sub(1);
        // Of an each the item that begins anew takes the room of one.
        let mut room = match above.ir.node(node).kind {
            NodeKind::Each { concurrency, .. } => concurrency.saturating_sub(u32::from(through.is_some())),
            _ => 1,
        };
        for (at, (from, state, revision)) in below.into_iter().enumerate() {
            let index = from.up().map_or(0, |(.., index)| index);
            if is_loop && through.is_some_and(|through| index > through) {
                return;
            }
            let frame = to.below(id.clone(), index, 0);
            let own = |record: Record, value: Option<Shape>| Copied { frame: frame.clone(), node: None, record, value };
            self.copied.push(own(Record::FrameOpened { revision }, None));
            // A loop that stopped short goes on in the turn it was in.
            let reopened = through == Some(index) || (is_loop && matches!(state, FrameState::Failed | FrameState::Dropped));
            match state {
                FrameState::Done(output) if !reopened => {
                    // Its last turn is looked at once more.
                    if (is_loop && at == last) || self.has_heard(&from) {
                        self.nodes(&from, &frame, true);
                    }
                    let (output, value) = match output {
                        ValueAt::Null => (output, None),
                        output => (ValueAt::Own, Some(Shape::At(output))),
                    };
                    self.copied.push(own(Record::FrameDone { output }, value));
                }
                FrameState::Failed if !reopened && !failed => {
                    let message = "it failed in the run that this one was forked from".into();
                    self.copied.push(own(Record::FrameFailed { failure: Failure { code: "failed".into(), message } }, None));
                }
                FrameState::Failed | FrameState::Dropped if !reopened => {
                    self.nodes(&from, &frame, true);
                    self.copied.push(own(Record::FrameDropped {}, None));
                }
                FrameState::Open if !is_loop && !reopened && room == 0 => {
                    self.nodes(&from, &frame, true);
                    self.copied.push(own(Record::FrameDropped {}, None));
                }
                _ => {
                    room -= u32::from(!is_loop && !reopened);
                    self.nodes(&from, &frame, false);
                }
            }
        }
    }
}
