//! Live runs: each with its workflow and its frames, and what is derived from them. Only `State::apply` changes the facts
//! in here, by a record.

mod inspect;

use crate::eval::{NodeFacts, Scope, Shape};
use crate::frame::{Frame, FramePath, FrameState};
use crate::ids::{RecordSeq, RunId};
use crate::ir::{Ir, NodeIx, NodeKind, ROOT, Reads};
use crate::limits::CHUNK_ITEMS_MAX;
use crate::names::WorkflowName;
use crate::node::{NodeState, Slot, Started};
use crate::record::{Entry, Owner, Record};
use crate::row::{BadRow, FRAMES, FrameRow, NODES, NodeRow, RUNS, Row, Table, Value as Column};
use crate::run::{NodeAt, Run, RunStatus, ValueAt};
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

/// What cannot go on before a value is fetched, or before the next batch.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Held {
    Node(Spot),
    /// To be closed.
    Frame(RunId, FramePath),
}

/// How far an each has come.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Spread {
    pub opened: u32,
    pub open: u32,
    pub failed: u32,
}

impl Spread {
    /// One more frame, as it is.
    fn count(&mut self, state: FrameState) {
        self.opened += 1;
        self.open += u32::from(state == FrameState::Open);
        self.failed += u32::from(state == FrameState::Failed);
    }
}

#[derive(Debug)]
pub struct Live {
    pub(crate) run: Run,
    pub(crate) ir: Arc<Ir>,
    /// The run's own frame.
    pub(crate) root: Frame,
    /// Those below it. Closed ones stay while the loop or each they belong to goes on.
    pub(crate) frames: BTreeMap<FramePath, Frame>,
    /// By the frame and node of each loop and each that has opened some.
    spreads: BTreeMap<(FramePath, NodeIx), Spread>,
}

#[derive(Debug, Default)]
pub(crate) struct Runs {
    live: FxHashMap<RunId, Live>,
    workflows: BTreeMap<WorkflowName, BTreeMap<u32, Arc<Ir>>>,

    // Derived from here on.
    pub(crate) held: BTreeSet<Held>,
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
            Some(Live { run, ir, root, frames, spreads }) => (Some(run), Some((ir, root, frames, spreads))),
            None => (None, None),
        };
        let Some(run) = Run::fold(run, id, entry) else { return };
        let (ir, root, frames, spreads) = frames.unwrap_or_else(|| {
            let spec = run.spec();
            let ir = self.workflow(&spec.workflow, Some(spec.version)).expect("a run's workflow is known").clone();
            let root = Frame::new(&ir, ROOT);
            (ir, root, BTreeMap::new(), BTreeMap::new())
        });
        if !run.live {
            self.cooling.push(id);
        }
        self.live.insert(id, Live { run, ir, root, frames, spreads });
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
                frame
            }
            (_, record) => panic!("{}: {} does not fit its history", entry.owner, record.kind()),
        };
        frame.last = entry.seq;
        let (above, node, _) = path.up().expect("only the root has nothing above it");
        let node = live.ir.find(node).expect("a frame belongs to a node");
        let spread = live.spreads.entry((above, node)).or_default();
        if frame.is_open() {
            spread.count(frame.state);
        } else {
            spread.open -= 1;
            spread.failed += u32::from(frame.state == FrameState::Failed);
        }
        self.held.remove(&Held::Frame(run, path.clone()));
        live.frames.insert(path.clone(), frame);
    }

    /// What wakes by itself now, at most a chunk.
    pub(crate) fn due(&self, now: Time) -> Vec<Spot> {
        let due = self.wakes.iter().take_while(|(at, _)| *at <= now).take(CHUNK_ITEMS_MAX);
        due.map(|(_, spot)| spot.clone()).collect()
    }

    pub(crate) fn has_orphans(&self, run: RunId) -> bool {
        self.orphans.range((run, FramePath::root())..).next().is_some_and(|(of, _)| *of == run)
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
        self.held.remove(&Held::Node(spot));
        if !open_after {
            // Whatever is still open below it is nobody's any more.
            let live = &self.live[&at.run];
            for (path, _) in live.below(&at.frame, &at.node).filter(|(_, frame)| frame.is_open()) {
                self.orphans.insert((at.run, path.clone()));
            }
        }
    }

    pub(crate) fn row(&self, owner: &Owner) -> Result<Row, (&'static Table, Vec<Column>)> {
        let live = |run: RunId| self.live.get(&run);
        match owner {
            Owner::Run(id) => live(*id).map(|live| live.run.to_row()).ok_or_else(|| (&RUNS, vec![Column::Int(id.number())])),
            Owner::Frame(run, path) => {
                let frame = live(*run).and_then(|live| live.frame(path));
                let row = frame.map(|frame| FrameRow { run: *run, path: path.clone(), last: frame.last, state: frame.state });
                row.map(|row| row.to_row())
                    .ok_or_else(|| (&FRAMES, vec![Column::Int(run.number()), path.to_string().as_str().into()]))
            }
            Owner::Node(at) => {
                let live = live(at.run);
                let slot = live.and_then(|live| live.slot(&at.frame, live.ir.find(&at.node)?));
                slot.map(|slot| NodeRow { at: at.clone(), slot: slot.clone() }.to_row()).ok_or_else(|| {
                    let (run, frame) = (Column::Int(at.run.number()), at.frame.to_string().as_str().into());
                    (&NODES, vec![run, frame, at.node.shared().into()])
                })
            }
            other => panic!("{other} is not of a run"),
        }
    }

    /// Takes a row at load: runs first, then frames, then nodes. [`Runs::loaded`] ends it.
    pub(crate) fn take_row(&mut self, row: &Row) -> Result<(), BadRow> {
        let misfit = |column: &'static str, why: String| BadRow { table: row.table.name, column, why };
        if row.table == &RUNS {
            let run = Run::from_row(&row.values)?;
            let spec = run.spec();
            let Some(ir) = self.workflow(&spec.workflow, Some(spec.version)).cloned() else {
                return Err(misfit("workflow", format!("`{}` has no version {}", spec.workflow, spec.version)));
            };
            let root = Frame::new(&ir, ROOT);
            self.live.insert(run.id, Live { run, ir, root, frames: BTreeMap::new(), spreads: BTreeMap::new() });
        } else if row.table == &FRAMES {
            let FrameRow { run, path, last, state } = FrameRow::from_row(&row.values)?;
            let live = self.live.get_mut(&run).ok_or_else(|| misfit("run", format!("{run} is not live")))?;
            let (above, node, _) = path.up().expect("a row's frame is not the root");
            let body = live.ir.find(node).and_then(|node| Some((node, live.ir.body_of(node)?)));
            let (node, body) = body.ok_or_else(|| misfit("path", format!("`{path}` belongs to no loop or each")))?;
            live.frames.insert(path, Frame { last, state, ..Frame::new(&live.ir, body) });
            live.spreads.entry((above, node)).or_default().count(state);
        } else {
            let NodeRow { at, slot } = NodeRow::from_row(&row.values)?;
            let live = self.live.get_mut(&at.run).ok_or_else(|| misfit("run", format!("{} is not live", at.run)))?;
            let node = live.ir.find(&at.node).ok_or_else(|| misfit("node", format!("there is no node `{}`", at.node)))?;
            let place = live.ir.node(node).place as usize;
            let spot = Spot { run: at.run, frame: at.frame.clone(), node };
            let body = live.ir.node(node).body;
            let frame = live.frame_mut(&at.frame).filter(|frame| frame.body == body);
            let frame = frame.ok_or_else(|| misfit("frame", format!("`{}` has no node `{}`", at.frame, at.node)))?;
            frame.open -= u32::from(slot.state.ended().is_some());
            wake_at(&slot.state).map(|wake| self.wakes.insert((wake, spot)));
            frame.nodes[place] = slot;
        }
        Ok(())
    }

    /// Everything is there: whatever could go on is looked at again, and what nobody waits for is to be dropped.
    pub(crate) fn loaded(&mut self) {
        let root = FramePath::root();
        for (id, live) in &self.live {
            let running = live.run.status == RunStatus::Running;
            for (path, frame) in std::iter::once((&root, &live.root)).chain(&live.frames) {
                let nodes = || live.ir.body(frame.body).nodes.iter().zip(&frame.nodes);
                let busy = nodes().any(|(_, slot)| matches!(slot.state, NodeState::Started { .. }));
                let wanted = running && live.is_wanted(path);
                if (!wanted && (frame.is_open() || busy)) || (!frame.is_open() && busy) {
                    self.orphans.insert((*id, path.clone()));
                }
                if !wanted || !frame.is_open() {
                    continue;
                }
                if frame.open == 0 {
                    self.held.insert(Held::Frame(*id, path.clone()));
                }
                let goes_on = |slot: &Slot| match &slot.state {
                    NodeState::Waiting => true,
                    NodeState::Started { at, .. } => matches!(at, Started::Turning { .. } | Started::Spreading { .. }),
                    _ => false,
                };
                let spots = nodes().filter(|(_, slot)| goes_on(slot));
                self.held.extend(spots.map(|(node, _)| Held::Node(Spot { run: *id, frame: path.clone(), node: *node })));
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

    /// Whether a frame goes on, with every frame, loop and each above it. One that does not is dropped in some later batch.
    pub(crate) fn is_wanted(&self, path: &FramePath) -> bool {
        let Some((above, node, _)) = path.up() else { return true };
        if !self.frame(path).is_some_and(Frame::is_open) {
            return false;
        }
        let slot = self.ir.find(node).and_then(|node| self.slot(&above, node));
        slot.is_some_and(|slot| matches!(slot.state, NodeState::Started { .. })) && self.is_wanted(&above)
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

    /// Every node that has not been entered, in open frames.
    pub(crate) fn waiting(&self) -> Vec<Spot> {
        let root = FramePath::root();
        let frames = std::iter::once((&root, &self.root)).chain(&self.frames).filter(|(_, frame)| frame.is_open());
        let mut waiting = Vec::new();
        for (path, frame) in frames {
            let nodes = self.ir.body(frame.body).nodes.iter().zip(&frame.nodes);
            let nodes = nodes.filter(|(_, slot)| slot.state == NodeState::Waiting);
            waiting.extend(nodes.map(|(node, _)| Spot { run: self.run.id, frame: path.clone(), node: *node }));
        }
        waiting
    }

    pub(crate) fn spread(&self, spot: &Spot) -> Spread {
        self.spreads.get(&(spot.frame.clone(), spot.node)).copied().unwrap_or_default()
    }

    pub(crate) fn slot(&self, path: &FramePath, node: NodeIx) -> Option<&Slot> {
        self.frame(path).filter(|frame| !frame.nodes.is_empty()).map(|frame| frame.slot(&self.ir, node))
    }

    pub(crate) fn last_of(&self, path: &FramePath, node: NodeIx) -> RecordSeq {
        self.slot(path, node).map_or(RecordSeq::NONE, |slot| slot.last)
    }

    /// What a frame was entered with.
    pub(crate) fn entry(&self, path: &FramePath) -> ValueAt {
        let Some((above, node, index)) = path.up() else { return ValueAt::Record(self.run.input) };
        self.entry_of(&above, node, index)
    }

    fn entry_of(&self, above: &FramePath, node: &crate::names::NodeId, index: u32) -> ValueAt {
        let ix = self.ir.find(node).expect("a frame belongs to a node");
        let slot = self.slot(above, ix).expect("a node that opened a frame is there");
        match (&slot.state, index) {
            (NodeState::Started { at: Started::Spreading { items, .. }, .. }, index) => items.item(index),
            (NodeState::Started { at: Started::Turning { init }, .. }, 0) => *init,
            (NodeState::Started { at: Started::Turning { .. }, .. }, index) => {
                match self.frames.get(&above.below(node.clone(), index - 1)).map(|frame| frame.state) {
                    Some(FrameState::Done(output)) => output,
                    _ => ValueAt::Null,
                }
            }
            _ => ValueAt::Null,
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
        let nodes = reads.nodes.iter().map(|node| (self.ir.node(*node).id.clone(), self.facts(path, *node))).collect();
        Scope { run: self.run.id, input: ValueAt::Record(self.run.input), output, item, last, nodes }
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
            return NodeFacts { status: "waiting".into(), output: Shape::At(ValueAt::Null), error: None };
        };
        let state = frame.node(&self.ir, node);
        let error = if let NodeState::Failed { failure, .. } = state { Some((**failure).clone()) } else { None };
        let output = Shape::of(&self.ir, frame.source(&self.ir, node), self.entry(&at));
        NodeFacts { status: state.as_str().into(), output, error }
    }

    /// What `output` means to a node.
    pub(crate) fn output_before(&self, path: &FramePath, node: NodeIx) -> Shape {
        let frame = self.frame(path).expect("a node's frame is there");
        Shape::of(&self.ir, frame.before(&self.ir, node), self.entry(path))
    }
}
