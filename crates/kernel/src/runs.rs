//! Live runs: each with its workflow and its frames, and what is derived from them. Only `State::apply` changes the facts
//! in here, by a record.

use crate::eval::{NodeFacts, Scope, Shape};
use crate::frame::{Frame, FramePath, FrameState};
use crate::ids::{RecordSeq, RunId};
use crate::ir::{Ir, NodeIx, NodeKind, ROOT, Reads};
use crate::names::WorkflowName;
use crate::node::{NodeState, Slot, Started};
use crate::record::{Entry, Owner, Record};
use crate::run::{NodeAt, Run, Value};
use crate::time::Time;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One node of one frame, by its number in the run's workflow.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Spot {
    pub run: RunId,
    pub frame: FramePath,
    pub node: NodeIx,
}

#[derive(Debug)]
pub struct Live {
    pub(crate) run: Run,
    pub(crate) ir: Arc<Ir>,
    /// The run's own frame.
    pub(crate) root: Frame,
    /// Those below it. Closed ones stay while the loop or each they belong to goes on.
    pub(crate) frames: BTreeMap<FramePath, Frame>,
}

#[derive(Debug, Default)]
pub(crate) struct Runs {
    live: FxHashMap<RunId, Live>,
    workflows: BTreeMap<WorkflowName, BTreeMap<u32, Arc<Ir>>>,

    // Derived from here on.
    /// Nodes whose tokens have come and which could not be entered yet: a value is missing.
    pub(crate) held: BTreeSet<Spot>,
    /// Open frames whose loop, each or run has ended without them: to be dropped, chunk by chunk.
    pub(crate) orphans: BTreeSet<(RunId, FramePath)>,
    /// What ends by itself: sleeps, and approvals nobody answers.
    pub(crate) wakes: BTreeSet<(Time, Spot)>,
    /// Ended in this batch: they leave memory after the commit.
    cooling: Vec<RunId>,
}

impl Runs {
    pub(crate) fn get(&self, run: RunId) -> Option<&Live> {
        self.live.get(&run)
    }

    pub(crate) fn put_workflow(&mut self, ir: Arc<Ir>) {
        self.workflows.entry(ir.workflow.clone()).or_default().insert(ir.version, ir);
    }

    pub(crate) fn workflow(&self, name: &WorkflowName, version: Option<u32>) -> Option<&Arc<Ir>> {
        let versions = self.workflows.get(name)?;
        match version {
            Some(version) => versions.get(&version),
            None => versions.values().next_back(),
        }
    }

    pub(crate) fn apply(&mut self, entry: &Entry) {
        match &entry.owner {
            Owner::Run(id) => self.apply_run(*id, entry),
            Owner::Frame(run, path) => self.apply_frame(*run, path, entry),
            Owner::Node(at) => self.apply_node(at, entry),
            other => panic!("{other} is not of a run"),
        }
    }

    fn apply_run(&mut self, id: RunId, entry: &Entry) {
        let (run, frames) = match self.live.remove(&id) {
            Some(Live { run, ir, root, frames }) => (Some(run), Some((ir, root, frames))),
            None => (None, None),
        };
        let Some(run) = Run::fold(run, id, entry) else { return };
        let (ir, root, frames) = frames.unwrap_or_else(|| {
            let spec = run.spec();
            let ir = self.workflow(&spec.workflow, Some(spec.version)).expect("a run's workflow is known").clone();
            let root = Frame::new(&ir, ROOT);
            (ir, root, BTreeMap::new())
        });
        if !run.live {
            self.cooling.push(id);
        }
        self.live.insert(id, Live { run, ir, root, frames });
    }

    fn apply_frame(&mut self, run: RunId, path: &FramePath, entry: &Entry) {
        let live = self.live.get_mut(&run).expect("a frame's run is live");
        let mut frame = match (live.frames.remove(path), &entry.record) {
            (None, Record::FrameOpened {}) => {
                let (_, node, _) = path.up().expect("only the root has nothing above it");
                let node = live.ir.find(node).expect("a frame belongs to a node");
                Frame::new(&live.ir, live.ir.body_of(node).expect("only a loop or an each opens frames"))
            }
            (Some(mut frame), record) if frame.is_open() => {
                frame.state = match record {
                    Record::FrameDone { output } => FrameState::Done(output.at(entry.seq)),
                    Record::FrameFailed { .. } => FrameState::Failed,
                    Record::FrameDropped {} => FrameState::Dropped,
                    other => panic!("{}: {} does not fit a frame that is open", entry.owner, other.kind()),
                };
                self.orphans.remove(&(run, path.clone()));
                frame
            }
            (_, record) => panic!("{}: {} does not fit its history", entry.owner, record.kind()),
        };
        frame.last = entry.seq;
        live.frames.insert(path.clone(), frame);
    }

    fn apply_node(&mut self, at: &NodeAt, entry: &Entry) {
        let live = self.live.get_mut(&at.run).expect("a node's run is live");
        let node = live.ir.find(&at.node).expect("a node of the workflow");
        let place = live.ir.node(node).place as usize;
        let spot = Spot { run: at.run, frame: at.frame.clone(), node };
        let frame = live.frame_mut(&at.frame).expect("a node's frame is there");
        let before = std::mem::take(&mut frame.nodes[place]);
        let open_before = before.state.ended().is_none();
        let wake_before = wake_at(&before.state);
        let after = before.fold(entry);
        let open_after = after.state.ended().is_none();
        let wake_after = wake_at(&after.state);
        frame.open = frame.open + u32::from(open_after) - u32::from(open_before);
        frame.nodes[place] = after;
        if wake_before != wake_after {
            wake_before.map(|wake| self.wakes.remove(&(wake, spot.clone())));
            wake_after.map(|wake| self.wakes.insert((wake, spot.clone())));
        }
        self.held.remove(&spot);
        if !open_after {
            // Whatever is still open below it is nobody's any more.
            let live = &self.live[&at.run];
            for (path, _) in live.below(&at.frame, &at.node).filter(|(_, frame)| frame.is_open()) {
                self.orphans.insert((at.run, path.clone()));
            }
        }
    }

    /// After a commit: runs that have ended live in the store alone.
    pub(crate) fn cool(&mut self) {
        for run in std::mem::take(&mut self.cooling) {
            if self.live.get(&run).is_some_and(|live| !live.run.live) {
                self.live.remove(&run);
            }
        }
    }
}

fn wake_at(state: &NodeState) -> Option<Time> {
    match state {
        NodeState::Started { at: Started::Sleeping { until }, .. } => Some(*until),
        NodeState::Started { at: Started::Asking { until }, .. } => *until,
        _ => None,
    }
}

impl Live {
    pub fn run(&self) -> &Run {
        &self.run
    }

    pub fn ir(&self) -> &Arc<Ir> {
        &self.ir
    }

    pub fn frame(&self, path: &FramePath) -> Option<&Frame> {
        if path.is_root() { Some(&self.root) } else { self.frames.get(path) }
    }

    fn frame_mut(&mut self, path: &FramePath) -> Option<&mut Frame> {
        if path.is_root() { Some(&mut self.root) } else { self.frames.get_mut(path) }
    }

    /// The frames that a loop or an each of this frame has opened, in order.
    pub(crate) fn below<'a>(
        &'a self,
        path: &FramePath,
        node: &crate::names::NodeId,
    ) -> impl Iterator<Item = (&'a FramePath, &'a Frame)> + use<'a> {
        let (first, last) = (path.below(node.clone(), 0), path.below(node.clone(), u32::MAX));
        let depth = first.depth();
        self.frames.range(first..=last).filter(move |(path, _)| path.depth() == depth)
    }

    pub(crate) fn slot(&self, path: &FramePath, node: NodeIx) -> Option<&Slot> {
        self.frame(path).filter(|frame| !frame.nodes.is_empty()).map(|frame| frame.slot(&self.ir, node))
    }

    pub(crate) fn last_of(&self, path: &FramePath, node: NodeIx) -> RecordSeq {
        self.slot(path, node).map_or(RecordSeq::NONE, |slot| slot.last)
    }

    /// What a frame was entered with.
    pub(crate) fn entry(&self, path: &FramePath) -> Value {
        let Some((above, node, index)) = path.up() else { return Value::Record(self.run.input) };
        self.entry_of(&above, node, index)
    }

    fn entry_of(&self, above: &FramePath, node: &crate::names::NodeId, index: u32) -> Value {
        let ix = self.ir.find(node).expect("a frame belongs to a node");
        let slot = self.slot(above, ix).expect("a node that opened a frame is there");
        match (&slot.state, index) {
            (NodeState::Started { at: Started::Spreading { items, .. }, .. }, index) => items.item(index),
            (NodeState::Started { at: Started::Turning { init }, .. }, 0) => *init,
            (NodeState::Started { at: Started::Turning { .. }, .. }, index) => {
                match self.frames.get(&above.below(node.clone(), index - 1)).map(|frame| frame.state) {
                    Some(FrameState::Done(output)) => output,
                    _ => Value::Null,
                }
            }
            _ => Value::Null,
        }
    }

    /// What an expression of a node may see, of what it reads. `output` is what that name means there.
    pub(crate) fn scope(&self, path: &FramePath, reads: &Reads, output: Shape) -> Scope {
        let (mut item, mut last) = (None, None);
        let mut at = path.clone();
        while let Some((above, node, index)) = at.up() {
            let value = || self.entry_of(&above, node, index);
            match self.ir.find(node).map(|node| &self.ir.node(node).kind) {
                Some(NodeKind::Each { .. }) if item.is_none() => item = Some((value(), index)),
                Some(NodeKind::Loop { .. }) if last.is_none() => last = Some((index, value())),
                _ => {}
            }
            at = above;
        }
        let nodes = reads.nodes.iter().map(|node| (*node, self.facts(path, *node))).collect();
        Scope { run: self.run.id, input: Value::Record(self.run.input), output, item, last, nodes }
    }

    fn facts(&self, path: &FramePath, node: NodeIx) -> NodeFacts {
        // It stands in this frame or in one above.
        let body = self.ir.node(node).body;
        let mut at = path.clone();
        while self.frame(&at).is_some_and(|frame| frame.body != body) {
            let Some((above, _, _)) = at.up() else { break };
            at = above;
        }
        let Some(frame) = self.frame(&at).filter(|frame| frame.body == body && !frame.nodes.is_empty()) else {
            return NodeFacts { status: "waiting", output: Shape::At(Value::Null), error: None };
        };
        let state = frame.node(&self.ir, node);
        let error = if let NodeState::Failed { failure, .. } = state { Some((**failure).clone()) } else { None };
        NodeFacts { status: state.as_str(), output: Shape::of(frame.source(&self.ir, node), self.entry(&at)), error }
    }

    /// What `output` means to a node.
    pub(crate) fn output_before(&self, path: &FramePath, node: NodeIx) -> Shape {
        let frame = self.frame(path).expect("a node's frame is there");
        Shape::of(frame.before(&self.ir, node), self.entry(path))
    }
}
