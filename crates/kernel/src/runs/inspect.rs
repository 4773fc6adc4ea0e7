//! Runs seen from outside: what a test or a tool may look at, and rows in at load. Nothing here decides.

use super::{Held, Live, Spot};
use crate::eval::Shape;
use crate::frame::{Frame, FramePath, Token};
use crate::ids::{RecordSeq, RunId};
use crate::ir::{BodyIx, EdgeIx, Ir, NodeIx};
use crate::names::NodeId;
use crate::node::{NodeState, Slot};
use crate::record::{Entry, Owner};
use crate::row::{FrameRow, NodeRow};
use crate::run::{NodeAt, RunStatus};
use crate::state::State;
use crate::time::Time;
use std::sync::Arc;

impl State {
    pub fn put_workflow(&mut self, ir: Arc<Ir>) {
        self.runs.put_workflow(ir);
    }

    pub fn live_run(&self, run: RunId) -> Option<&Live> {
        self.runs.get(run)
    }

    /// When the next sleep ends, or the next approval that nobody answers, or wait for what does not come.
    pub fn next_wake(&self) -> Option<Time> {
        self.runs.wakes.first().map(|(at, _)| *at)
    }

    /// Values that runs wait for, those first for which something has waited longest.
    pub fn values_missing(&self) -> impl Iterator<Item = RecordSeq> {
        self.runs.held.missing()
    }

    /// Whether some run still needs this value, which was not at hand.
    pub fn is_waited_for(&self, value: RecordSeq) -> bool {
        self.runs.held.is_waited_for(value)
    }

    /// How many bytes of values have come before this one for what waits for it.
    pub fn bytes_before(&self, value: RecordSeq) -> usize {
        self.runs.held.bytes_before(value)
    }

    /// Whether something waits for `ProceedRuns` or for values.
    pub fn runs_wait(&self) -> bool {
        let looks = !self.runs.awaits.is_idle();
        looks || !self.runs.held.is_empty() || !self.runs.orphans.is_empty() || self.runs.has_to_tell()
    }

    /// Whether a node, or the closing of its frame, waits for a value or for the next batch.
    pub fn is_held(&self, run: RunId, path: &FramePath, node: Option<NodeIx>) -> bool {
        let held = match node {
            Some(node) => Held::Node(Spot { run, frame: path.clone(), node }),
            None => Held::Frame(run, path.clone()),
        };
        self.runs.held.contains(&held)
    }

    /// Lets go of what the records folded so far have made past, as after a commit.
    pub fn let_go(&mut self) {
        self.runs.let_go();
    }

    /// Folds a record that is a run's into the state; others are left out.
    pub fn replay_run(&mut self, entry: &Entry) {
        if matches!(entry.owner, Owner::Run(_) | Owner::Frame(..) | Owner::Node(_)) {
            self.apply(entry);
        }
    }
}

impl Live {
    /// The run's own frame first.
    pub fn frames(&self) -> impl Iterator<Item = (FramePath, &Frame)> {
        let below = self.frames.iter().map(|(path, frame)| (path.clone(), frame));
        std::iter::once((FramePath::root(), &self.root)).chain(below)
    }

    /// The last record of a part of it, or its own; none of a part that nothing has happened to. `None`: it has no such part,
    /// or what that stands in is not there.
    pub fn last_of_owner(&self, owner: &Owner) -> Option<RecordSeq> {
        match owner {
            Owner::Run(run) => Some(self.run.last).filter(|_| *run == self.run.id),
            Owner::Frame(run, path) if *run == self.run.id => {
                let (above, node, _) = path.up()?;
                // One that was undone may belong to what was taken out of the text.
                if let Some(known) = self.frames.get(path) {
                    return Some(known.last);
                }
                let frame = self.frame(&above)?;
                frame.ir.body_of(frame.find(node)?)?;
                Some(RecordSeq::NONE)
            }
            Owner::Node(at) if at.run == self.run.id => {
                let frame = self.frame(&at.frame)?;
                match frame.find(&at.node) {
                    Some(ix) => Some(self.last_of(&at.frame, ix)),
                    None => self.removed.get(&(at.frame.clone(), at.node.clone())).map(|slot| slot.last),
                }
            }
            _ => None,
        }
    }

    /// Its frames and nodes as their rows would say them, each by its key.
    pub fn rows(&self) -> (Vec<FrameRow>, Vec<NodeRow>) {
        let mut texts: Vec<(String, FramePath, &Frame)> =
            self.frames().map(|(path, frame)| (path.to_string(), path, frame)).collect();
        texts.sort_by(|a, b| a.0.cmp(&b.0));
        let (mut frames, mut nodes) = (Vec::new(), Vec::new());
        for (_, path, frame) in texts {
            if !path.is_root() {
                let Frame { last, state, revision, .. } = *frame;
                frames.push(FrameRow { run: self.run.id, path: path.clone(), last, state, revision });
            }
            let slots = frame.ir.body(frame.body).nodes.iter().zip(&frame.nodes);
            let own = slots.filter(|(_, slot)| slot.last != RecordSeq::NONE);
            let gone = self.removed.iter().filter(|((of, _), _)| *of == path).map(|((_, node), slot)| (node, slot));
            let mut begun: Vec<(&NodeId, &Slot)> = own.map(|(node, slot)| (&frame.ir.node(*node).id, slot)).chain(gone).collect();
            begun.sort_by(|a, b| a.0.as_str().cmp(b.0.as_str()));
            nodes.extend(begun.into_iter().map(|(node, slot)| {
                let at = NodeAt { run: self.run.id, frame: path.clone(), node: node.clone() };
                NodeRow { at, slot: slot.clone() }
            }));
        }
        (frames, nodes)
    }

    /// The tokens that were given and are not taken in, because the node they came to still waits: the frame, from which node
    /// and to which. Of what does not go on there are none.
    pub fn tokens(&self) -> Vec<(FramePath, NodeId, NodeId, Token)> {
        let mut tokens = Vec::new();
        for (path, frame) in self.frames().filter(|(path, frame)| !frame.is_past() && self.goes_on(path)) {
            let ir = &frame.ir;
            for node in ir.body(frame.body).nodes.iter().filter(|node| *frame.node(**node) == NodeState::Waiting) {
                for edge in &ir.node(*node).ins {
                    let from = &ir.node(ir.edge(*edge).from).id;
                    let given = frame.token(*edge);
                    tokens.extend(given.map(|token| (path.clone(), from.clone(), ir.node(*node).id.clone(), token)));
                }
            }
        }
        tokens
    }

    /// The same facts, and the same derived from them.
    pub fn is_same(&self, other: &Live) -> bool {
        let frames = self.root == other.root && self.frames == other.frames && self.spreads == other.spreads;
        self.run == other.run && frames && self.steps == other.steps && self.heard == other.heard
    }

    /// Nodes, turns and items that it has begun.
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// Where the output of a node is, or of what it is put together.
    pub fn output_of(&self, path: &FramePath, node: NodeIx) -> Option<Shape> {
        let frame = self.frame(path)?;
        Some(Shape::of(&frame.ir, frame.source(node), self.entry(path)))
    }

    /// Whether what happens in a frame still counts.
    pub fn goes_on(&self, path: &FramePath) -> bool {
        self.run.status == RunStatus::Running && self.is_wanted(path)
    }

    /// It has ended, and nothing of it goes on.
    pub fn is_closed(&self) -> bool {
        !self.run.live
    }
}

impl Frame {
    /// As its nodes are kept; those that nothing has happened to are left out.
    pub fn of_nodes(ir: &Arc<Ir>, body: BodyIx, nodes: impl IntoIterator<Item = (NodeIx, Slot)>) -> Frame {
        let mut frame = Frame::new(ir, 0, body);
        for (node, slot) in nodes {
            frame.nodes[ir.node(node).place as usize] = slot;
        }
        frame
    }

    /// How its nodes ended is in the store alone.
    pub fn is_past(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A restart has undone it.
    pub fn is_undone(&self) -> bool {
        self.undone
    }

    /// Which of the run's texts it follows.
    pub fn revision(&self) -> u32 {
        self.revision
    }

    pub fn body(&self) -> BodyIx {
        self.body
    }

    /// The text it follows.
    pub fn ir(&self) -> &Arc<Ir> {
        &self.ir
    }

    pub fn carried(&self, edge: EdgeIx) -> Option<Token> {
        self.token(edge)
    }
}
