//! Live runs: each with its workflow and its frames, and what is derived from them. Only `State::apply` changes the facts
//! in here, by a record.

mod awaits;
mod copied;
mod holds;
mod inspect;
mod leaving;
mod live;
mod past;
mod recalls;
mod revise;
mod rewind;
mod sweeps;
#[cfg(test)]
mod tests;
mod undone;
mod unfit;

use crate::frame::{Frame, FramePath, FrameState, Verdict, revision_after};
use crate::ids::{EventId, RecordSeq, RunId, TaskId};
use crate::ir::{Ir, NodeIx, NodeKind, ROOT};
use crate::limits::{CHUNK_ITEMS_MAX, COMPILED_TEXTS_BYTES_MAX};
use crate::names::{IdempotencyKey, NodeId, WorkflowName};
use crate::node::{NodeState, Slot, Started};
use crate::record::{Entry, Owner, Record};
use crate::row::{BadRow, FRAMES, FrameRow, NodeRow, RUNS, Row, WORKFLOWS};
use crate::run::{NodeAt, Run, RunStatus};
use crate::time::Time;
use crate::workflow::Workflow;
pub(crate) use awaits::Awaits;
use awaits::HeardBefore;
pub use copied::Copied;
pub(crate) use holds::Holds;
pub(crate) use leaving::Leaving;
use past::Past;
use recalls::Recalls;
pub use revise::WantedIr;
pub use rewind::{Level, Rewind};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use sweeps::{Sweeps, sweep_every_ms};
pub use undone::undone_of;
pub(crate) use unfit::Unfits;

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

impl Held {
    fn run(&self) -> RunId {
        match self {
            Held::Node(spot) => spot.run,
            Held::Frame(run, _) => *run,
        }
    }

    /// Before every node of the run, in their order.
    fn first_of(run: RunId) -> Held {
        Held::Node(Spot { run, frame: FramePath::root(), node: NodeIx(0) })
    }
}

/// How far an each has come.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Spread {
    pub opened: u32,
    pub open: u32,
    pub failed: u32,
    /// To be taken up again: cut off, or failed before the each was tried again.
    pub dropped: u32,
}

impl Spread {
    /// One more frame, as it is.
    fn count(&mut self, state: FrameState) {
        self.opened += 1;
        self.open += u32::from(state == FrameState::Open);
        self.failed += u32::from(state == FrameState::Failed);
        self.dropped += u32::from(state == FrameState::Dropped);
    }

    /// One less, as it was.
    fn uncount(&mut self, state: FrameState) {
        self.opened -= 1;
        self.open -= u32::from(state == FrameState::Open);
        self.failed -= u32::from(state == FrameState::Failed);
        self.dropped -= u32::from(state == FrameState::Dropped);
    }
}

/// What a run was told of the tasks it waits for, when the supervisor asked.
#[derive(Debug, Default)]
pub(crate) struct Inquiry {
    pub unanswered: BTreeSet<TaskId>,
    /// The one that has been free to be taken for the shortest time.
    pub youngest: Option<(Time, NodeAt, TaskId)>,
}

#[derive(Debug)]
pub struct Live {
    pub(crate) run: Run,
    /// The run's own frame. It follows the newest of its texts.
    pub(crate) root: Frame,
    /// Those below it that are not past, see [`past`].
    pub(crate) frames: BTreeMap<FramePath, Frame>,
    /// Nodes that were taken out of the text, with what had become of them.
    removed: BTreeMap<(FramePath, NodeId), Slot>,
    /// By the frame and node of each loop and each that has opened some.
    spreads: BTreeMap<(FramePath, NodeIx), Spread>,
    heard: HeardBefore,
    /// Nodes and frames that have a history, also those that are past.
    pub(crate) steps: u32,
    /// Its rows are being taken for the first time.
    loading: bool,
}

/// A version of a workflow, and what it compiles to once that was needed.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) workflow: Workflow,
    pub(crate) ir: Option<Arc<Ir>>,
    /// Why it does not compile any more, if that was tried for a run.
    bad: Option<Arc<str>>,
}

#[derive(Debug, Default)]
pub(crate) struct Runs {
    live: FxHashMap<RunId, Box<Live>>,
    workflows: BTreeMap<WorkflowName, BTreeMap<u32, Known>>,
    /// Versions in all, and bytes of their texts.
    versions: usize,
    texts_bytes: usize,
    /// Of those that are compiled.
    compiled_bytes: usize,

    // Derived from here on.
    pub(crate) held: Holds,
    /// Runs that were paused or go on, and have yet to say so, from that frame on.
    telling: BTreeMap<RunId, FramePath>,
    /// Runs that were patched, and the frame from which on those under way have yet to be looked at.
    following: BTreeMap<RunId, FramePath>,
    recalls: Recalls,
    /// Open frames whose loop, each or run has ended without them: to be dropped, chunk by chunk.
    pub(crate) orphans: BTreeSet<(RunId, FramePath)>,
    /// Who waits for which event.
    pub(crate) awaits: Awaits,
    /// What ends by itself: sleeps, approvals nobody answers, and waits for what does not come.
    pub(crate) wakes: BTreeSet<(Time, Spot)>,
    /// Runs that have a deadline.
    pub(crate) deadlines: BTreeSet<(Time, RunId)>,
    /// Runs whose parts are being deleted.
    pub(crate) leaving: Leaving,
    /// Runs that may have stalled.
    pub(crate) inquiries: BTreeMap<RunId, Inquiry>,
    by_key: BTreeMap<(WorkflowName, IdempotencyKey), RunId>,
    sweeps: Sweeps,
    pub(crate) unfit: Unfits,
    /// Texts of runs that records or rows are about to name, compiled.
    revisions: FxHashMap<(RunId, u32), Result<Arc<Ir>, Arc<str>>>,
    /// Ended in this batch, or loaded for it: they leave memory after the commit.
    cooling: Vec<RunId>,
    /// What may have become past in this batch.
    past: Vec<Past>,
}

impl Runs {
    pub(crate) fn get(&self, run: RunId) -> Option<&Live> {
        self.live.get(&run).map(|live| &**live)
    }

    /// For those who make the IR themselves.
    pub(crate) fn put_workflow(&mut self, ir: Arc<Ir>) {
        let (name, version) = (ir.workflow.clone(), ir.version);
        let put_by = crate::names::Actor::parse("test").expect("a name");
        let (last, put_at, text) = (RecordSeq::NONE, Time::ZERO, "".into());
        self.know(Workflow { name: name.clone(), version, last, put_at, put_by, text, disabled: None }, None);
        self.learn(&name, version, ir);
    }

    /// What a text compiled to.
    pub(crate) fn learn(&mut self, name: &WorkflowName, version: u32, ir: Arc<Ir>) {
        if let Some(known) = self.workflows.get_mut(name).and_then(|versions| versions.get_mut(&version)) {
            let before = known.ir.replace(ir).is_some();
            self.compiled_bytes += if before { 0 } else { known.workflow.text.len() };
        }
        if self.compiled_bytes > COMPILED_TEXTS_BYTES_MAX {
            self.forget_compiled(name, version);
        }
    }

    /// All but this one: live runs keep theirs, and the others compile again when they are needed.
    fn forget_compiled(&mut self, name: &WorkflowName, version: u32) {
        for known in self.workflows.values_mut().flat_map(BTreeMap::values_mut) {
            if (&known.workflow.name, known.workflow.version) != (name, version) {
                known.ir = None;
            }
        }
        self.compiled_bytes = self.workflow(name, Some(version)).map_or(0, |known| known.workflow.text.len());
    }

    /// What a run was found to need does not compile any more.
    pub(crate) fn learn_bad(&mut self, name: &WorkflowName, version: u32, why: String) {
        if let Some(known) = self.workflows.get_mut(name).and_then(|versions| versions.get_mut(&version)) {
            known.bad = Some(why.into());
        }
    }

    /// Those that cannot go on and have not ended, or have not stopped what they had begun.
    pub(crate) fn unfit_live(&self) -> impl Iterator<Item = RunId> {
        self.unfit.runs().filter(|run| self.live.get(run).is_some_and(|live| live.run.live && live.run.deleting.is_none()))
    }

    /// That version, or the newest.
    pub(crate) fn workflow(&self, name: &WorkflowName, version: Option<u32>) -> Option<&Known> {
        let versions = self.workflows.get(name)?;
        match version {
            Some(version) => versions.get(&version),
            None => versions.values().next_back(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.live.len()
    }

    pub(crate) fn versions(&self) -> usize {
        self.versions
    }

    pub(crate) fn texts_bytes(&self) -> usize {
        self.texts_bytes
    }

    fn ir_of(&self, run: &Run) -> Option<Arc<Ir>> {
        self.workflow(&run.spec.workflow, Some(run.spec.version))?.ir.clone()
    }

    pub(crate) fn by_key(&self, workflow: &WorkflowName, key: &IdempotencyKey) -> Option<RunId> {
        self.by_key.get(&(workflow.clone(), key.clone())).copied()
    }

    pub(crate) fn apply(&mut self, entry: &Entry) {
        match &entry.owner {
            Owner::Workflow(name, version) => {
                let known = self.workflow(name, Some(*version));
                let (known, ir) = known.map_or((None, None), |known| (Some(known.workflow.clone()), known.ir.clone()));
                self.know(Workflow::fold(known, name, *version, entry), ir);
            }
            Owner::Run(id) => self.apply_run(*id, entry),
            Owner::Frame(run, path) => self.apply_frame(*run, path, entry),
            Owner::Node(at) => self.apply_node(at, entry),
            other => panic!("{other} is not of a run"),
        }
    }

    fn know(&mut self, workflow: Workflow, ir: Option<Arc<Ir>>) {
        let versions = self.workflows.entry(workflow.name.clone()).or_default();
        self.texts_bytes += workflow.text.len();
        match versions.insert(workflow.version, Known { workflow, ir, bad: None }) {
            None => self.versions += 1,
            Some(before) => self.texts_bytes -= before.workflow.text.len(),
        }
    }

    fn apply_run(&mut self, id: RunId, entry: &Entry) {
        let (run, parts) = match self.live.remove(&id).map(|live| *live) {
            Some(Live { run, root, frames, removed, spreads, heard, steps, .. }) => {
                self.unlink(&run);
                (Some(run), Some((root, frames, removed, spreads, heard, steps)))
            }
            None => (None, None),
        };
        let was_live = run.as_ref().is_some_and(|run| run.status == RunStatus::Running);
        let run = Run::fold(run, id, entry);
        debug_assert!(!was_live || run.as_ref().is_some_and(|run| run.status == RunStatus::Running) || entry.record.is_end());
        let Some(run) = run else {
            self.sweeps.forget(id);
            self.unfit.remove(id);
            return;
        };
        self.recalls.heard(id, run.again);
        let (root, frames, removed, spreads, heard, steps) = parts.unwrap_or_else(|| {
            let ir = self.ir_of(&run).expect("a run's workflow is known");
            (Frame::new(&ir, 0, ROOT), BTreeMap::new(), BTreeMap::new(), BTreeMap::new(), HeardBefore::new(), 0)
        });
        self.link(&run);
        if matches!(entry.record, Record::RunReopened { .. } | Record::RunRestarted { .. }) {
            self.past.push(Past::Run(id));
        }
        if run.status != RunStatus::Running {
            self.sweeps.forget(id);
        } else if !self.sweeps.knows(id) {
            self.sweeps.plan(id, entry.at.plus_ms(sweep_every_ms(root.ir.limits.stall_ms)));
        }
        self.live.insert(id, Box::new(Live { run, root, frames, removed, spreads, heard, steps, loading: false }));
        if let Record::RunPatched { revision, only: None, .. } = &entry.record {
            let ir = self.revisions.get(&(id, *revision)).cloned().and_then(Result::ok);
            self.revise(id, &FramePath::root(), *revision, &ir.expect("a text is compiled before it is followed"));
        }
    }

    fn link(&mut self, run: &Run) {
        if run.status == RunStatus::Running
            && let Some(deadline) = run.spec.deadline
        {
            self.deadlines.insert((deadline, run.id));
        }
        if run.telling {
            self.telling.insert(run.id, FramePath::root());
        }
        if run.following {
            self.following.insert(run.id, FramePath::root());
        }
        if run.deleting.is_some() {
            self.leaving.insert(run.id);
        } else if let Some(key) = &run.spec.idempotency_key {
            self.by_key.insert((run.spec.workflow.clone(), key.clone()), run.id);
        }
        if !run.live {
            self.cooling.push(run.id);
        }
    }

    fn unlink(&mut self, run: &Run) {
        if let Some(deadline) = run.spec.deadline {
            self.deadlines.remove(&(deadline, run.id));
        }
        self.telling.remove(&run.id);
        self.following.remove(&run.id);
        if run.deleting.is_some() {
            self.leaving.remove(run.id);
        }
        self.inquiries.remove(&run.id);
        // A younger run may have the key by now.
        if let Some(key) = &run.spec.idempotency_key
            && self.by_key(&run.spec.workflow, key) == Some(run.id)
        {
            self.by_key.remove(&(run.spec.workflow.clone(), key.clone()));
        }
    }

    fn apply_frame(&mut self, run: RunId, path: &FramePath, entry: &Entry) {
        let live = self.live.get_mut(&run).expect("a frame's run is live");
        let (above, id, index) = path.up().expect("only the root has nothing above it");
        // What it belongs to may have gone before it, if it is only being dropped.
        let node = live.find(&above, id);
        let before = live.frames.remove(path);
        let state = FrameState::fold(before.as_ref().map(|frame| frame.state), entry);
        if let Some(before) = &before {
            let again = node.and_then(|node| live.slot(&above, node)).and_then(Slot::again_since);
            // Of what is past or undone nothing is counted.
            let spread = node.and_then(|node| live.spreads.get_mut(&(above.clone(), node)));
            if let Some(spread) = spread.filter(|_| !before.undone) {
                spread.uncount(before.counts_as(again));
                spread.count(state);
            }
        } else {
            let node = node.expect("a frame belongs to a node");
            live.steps = live.steps.saturating_add(1);
            live.spreads.entry((above.clone(), node)).or_default().count(state);
            // The turn before it.
            let turn = index.checked_sub(1).and_then(|index| live.turn(&above, id, index)).map(|(path, _)| path.clone());
            self.past.extend(turn.map(|path| Past::Frame(run, path)));
        }
        if state != FrameState::Open {
            self.past.push(Past::Frame(run, path.clone()));
        }
        let revision = revision_after(before.as_ref().map_or(0, |frame| frame.revision), entry);
        let fresh = before.is_none().then(|| {
            let above = self.live[&run].frame(&above).expect("it was looked at");
            // One that was copied from another run may follow an earlier text than the frame above it.
            let ir = match above.revision == revision {
                true => above.ir.clone(),
                false => self.text_of(&self.live[&run].run, revision).and_then(Result::ok).expect("its text is known"),
            };
            let body = ir.find(id).and_then(|node| ir.body_of(node)).expect("only a loop or an each opens frames");
            Frame::new(&ir, revision, body)
        });
        let live = self.live.get_mut(&run).expect("as above");
        let mut frame = before.or(fresh).expect("it is one or the other");
        frame.state = state;
        frame.last = entry.seq;
        let follows = frame.revision;
        match state {
            FrameState::Open => self.held.settled(&Held::Frame(run, path.clone())),
            // Nothing in it goes on.
            _ => self.held.forget(run, path),
        }
        live.frames.insert(path.clone(), frame);
        if follows != revision {
            let above = live.frame(&above).filter(|above| above.revision == revision).map(|above| above.ir.clone());
            let own = || self.text_of(&self.live[&run].run, revision).and_then(Result::ok);
            let ir = above.or_else(own).expect("a frame follows the text of the one above it, or one of its own");
            self.revise(run, path, revision, &ir);
        }
    }

    /// What wakes by itself now, at most a chunk.
    pub(crate) fn due(&self, now: Time) -> Vec<Spot> {
        let late = |at: &Time| *at < now || !crate::defect("overslept");
        let due = self.wakes.iter().take_while(|(at, _)| *at <= now && late(at)).take(CHUNK_ITEMS_MAX);
        due.map(|(_, spot)| spot.clone()).collect()
    }

    /// Whose deadline has passed.
    pub(crate) fn late(&self, now: Time) -> Vec<RunId> {
        self.deadlines.iter().take_while(|(at, _)| *at <= now).take(CHUNK_ITEMS_MAX).map(|(_, run)| *run).collect()
    }

    /// It leaves no record.
    pub(crate) fn forget(&mut self, run: RunId) {
        if let Some(live) = self.live.remove(&run) {
            self.unlink(&live.run);
            self.sweeps.forget(run);
            self.unfit.remove(run);
        }
    }

    /// The next runs for the supervisor.
    pub(crate) fn swept(&mut self, now: Time) -> Vec<RunId> {
        let due = self.sweeps.due(now, CHUNK_ITEMS_MAX);
        for run in &due {
            let stall_ms = self.live.get(run).map_or(u64::MAX, |live| live.root.ir.limits.stall_ms);
            self.sweeps.plan(*run, now.plus_ms(sweep_every_ms(stall_ms)));
        }
        due
    }

    /// When runs go on by themselves.
    pub(crate) fn next_due(&self, now: Time) -> Option<Time> {
        let unfit = !self.unfit.is_empty() && self.unfit_live().next().is_some();
        if !self.orphans.is_empty() || unfit || self.held.is_ready() || self.has_to_tell() {
            return Some(now);
        }
        if self.awaits.is_due() {
            return Some(now);
        }
        let wake = self.wakes.first().map(|(at, _)| *at);
        let deadline = self.deadlines.first().map(|(at, _)| *at);
        [wake, deadline, self.sweeps.next(), self.leaving.next()].into_iter().flatten().min()
    }

    pub(crate) fn has_orphans(&self, run: RunId) -> bool {
        self.orphans.range((run, FramePath::root())..).next().is_some_and(|(of, _)| *of == run)
    }

    /// Whether a turn or an item is about to be dropped, or something in it.
    pub(crate) fn is_dropping(&self, run: RunId, path: &FramePath) -> bool {
        let first = self.orphans.range((run, path.clone())..).next();
        !path.is_root() && first.is_some_and(|(of, at)| *of == run && (at == path || at.is_within(path)))
    }

    fn apply_node(&mut self, at: &NodeAt, entry: &Entry) {
        let live = self.live.get_mut(&at.run).expect("a node's run is live");
        let node = live.find(&at.frame, &at.node).expect("a node of the workflow");
        let spot = Spot { run: at.run, frame: at.frame.clone(), node };
        let frame = live.frame_mut(&at.frame).expect("a node's frame is there");
        let place = frame.ir.node(node).place as usize;
        let before = std::mem::take(&mut frame.nodes[place]);
        let first = before.last == RecordSeq::NONE;
        let open_before = before.state.ended().is_none();
        let wake_before = wake_at(&before.state);
        let heard_before = before.state.heard();
        self.awaits.remove(&spot, &before.state);
        let (call_before, again_before) = (before.state.call(), before.again_since());
        let after = before.fold(entry);
        let (call_after, again_after) = (after.state.call(), after.again_since());
        let open_after = after.state.ended().is_none();
        let wake_after = wake_at(&after.state);
        let heard_after = after.state.heard();
        self.awaits.insert(&spot, &after.state, &frame.ir);
        frame.open = frame.open + u32::from(open_after) - u32::from(open_before);
        frame.nodes[place] = after;
        let frame_open = frame.is_open();
        let opens = frame.ir.body_of(node).is_some();
        let is_loop = matches!(frame.ir.node(node).kind, NodeKind::Loop { .. });
        live.steps = live.steps.saturating_add(u32::from(first));
        if wake_before != wake_after {
            wake_before.map(|wake| self.wakes.remove(&(wake, spot.clone())));
            wake_after.map(|wake| self.wakes.insert((wake, spot.clone())));
        }
        if heard_before != heard_after {
            live.note_heard(&at.frame, &at.node, heard_after);
        }
        self.recalls.changed(at, call_before, call_after);
        if again_before != again_after {
            live.respread(&at.frame, node);
        }
        self.held.settled(&Held::Node(spot));
        if !frame_open {
            self.past.push(Past::Frame(at.run, at.frame.clone()));
        }
        match &entry.record {
            Record::NodeReset {} => self.undo(at, 0),
            Record::NodeRewound { turns, .. } if is_loop => self.undo(at, *turns),
            _ => {}
        }
        if !open_after {
            if opens {
                self.past.push(Past::Node(at.clone()));
            }
            // Whatever is still open below it, or was to be taken up again, is nobody's any more.
            let live = &self.live[&at.run];
            for (path, _) in live.below(&at.frame, &at.node).filter(|(path, _)| live.is_busy(path)) {
                self.orphans.insert((at.run, path.clone()));
            }
        }
    }

    pub(crate) fn row(&self, owner: &Owner) -> Option<Row> {
        let live = |run: RunId| self.live.get(&run);
        match owner {
            Owner::Workflow(name, version) => self.workflow(name, Some(*version)).map(|known| known.workflow.to_row()),
            Owner::Run(id) => live(*id).map(|live| live.run.to_row()),
            Owner::Frame(run, path) => {
                let frame = live(*run)?.frame(path)?;
                let Frame { last, state, revision, .. } = *frame;
                Some(FrameRow { run: *run, path: path.clone(), last, state, revision }.to_row())
            }
            Owner::Node(at) => {
                let live = live(at.run)?;
                let slot = live.find(&at.frame, &at.node).and_then(|node| live.slot(&at.frame, node));
                let slot = slot.or_else(|| live.removed.get(&(at.frame.clone(), at.node.clone())))?;
                Some(NodeRow { at: at.clone(), slot: slot.clone() }.to_row())
            }
            other => panic!("{other} is not of a run"),
        }
    }

    /// Takes a row at load: workflows first, then runs, frames, nodes. [`Runs::loaded`] ends it. Also those of a run that has
    /// ended and that a command needs.
    pub(crate) fn take_row(&mut self, row: &Row) -> Result<(), BadRow> {
        let misfit = |column: &'static str, why: String| BadRow { table: row.table.name, column, why };
        if row.table == &WORKFLOWS {
            self.know(Workflow::from_row(&row.values)?, None);
        } else if row.table == &RUNS {
            let run = Run::from_row(&row.values)?;
            if self.live.contains_key(&run.id) {
                return Ok(());
            }
            let ir = match self.text_of(&run, run.follows()) {
                Some(Ok(ir)) => ir,
                Some(Err(why)) => {
                    self.unfit.insert(run.id, why);
                    Arc::new(Ir::blank(run.spec.workflow.clone(), run.spec.version))
                }
                None => {
                    let why = format!("`{}` has no version {}", run.spec.workflow, run.spec.version);
                    return Err(misfit("workflow", why));
                }
            };
            self.link(&run);
            if run.status == RunStatus::Running {
                self.sweeps.plan(run.id, Time::ZERO);
            }
            let root = Frame::new(&ir, run.follows(), ROOT);
            let (frames, spreads) = (BTreeMap::new(), BTreeMap::new());
            let (removed, heard) = (BTreeMap::new(), HeardBefore::new());
            let live = Live { run, root, frames, removed, spreads, heard, steps: 0, loading: true };
            self.live.insert(live.run.id, Box::new(live));
        } else if row.table == &FRAMES {
            let FrameRow { run, path, last, state, revision } = FrameRow::from_row(&row.values)?;
            if self.leaving.contains(run) {
                self.leaving.take(run, Owner::Frame(run, path), last);
                return Ok(());
            }
            if self.unfit.contains(run) || self.is_whole(run, &path, None) {
                return Ok(());
            }
            let known = self.live.get(&run).ok_or_else(|| misfit("run", format!("{run} is not live")))?;
            let ir = match known.root.revision == revision {
                true => Some(Ok(known.root.ir.clone())),
                false => self.text_of(&known.run, revision),
            };
            let ir = match ir {
                Some(Ok(ir)) => ir,
                Some(Err(why)) => {
                    self.blank(run, why);
                    return Ok(());
                }
                None => return Err(misfit("revision", format!("{run} has no revision {revision}"))),
            };
            let live = self.live.get_mut(&run).expect("it was looked at");
            live.steps = live.steps.saturating_add(u32::from(live.loading));
            let (_, node, _) = path.up().expect("a row's frame is not the root");
            let Some(body) = ir.find(node).and_then(|node| ir.body_of(node)) else {
                return Err(misfit("path", format!("`{path}` belongs to no loop or each")));
            };
            live.frames.insert(path, Frame { last, state, ..Frame::new(&ir, revision, body) });
        } else {
            let NodeRow { at, slot } = NodeRow::from_row(&row.values)?;
            if self.leaving.contains(at.run) {
                self.leaving.take(at.run, Owner::Node(at), slot.last);
                return Ok(());
            }
            let begun = if let NodeState::Started { at, .. } = &slot.state { Some(at.clone()) } else { None };
            if self.unfit.begun(at.run, begun) || self.is_whole(at.run, &at.frame, Some(&at.node)) {
                return Ok(());
            }
            let live = self.live.get_mut(&at.run).ok_or_else(|| misfit("run", format!("{} is not live", at.run)))?;
            live.steps = live.steps.saturating_add(u32::from(live.loading));
            let revised = live.run.revision() > 0;
            let frame = live.frame_mut(&at.frame).ok_or_else(|| misfit("frame", format!("there is no `{}`", at.frame)))?;
            let node = frame.find(&at.node);
            let Some(node) = node else {
                return match revised {
                    // It was taken out of the text.
                    true => {
                        live.removed.insert((at.frame, at.node), slot);
                        Ok(())
                    }
                    false => Err(misfit("node", format!("`{}` has no node `{}`", at.frame, at.node))),
                };
            };
            let place = frame.ir.node(node).place as usize;
            frame.open -= u32::from(slot.state.ended().is_some());
            let spot = Spot { run: at.run, frame: at.frame.clone(), node };
            self.awaits.insert(&spot, &slot.state, &frame.ir);
            wake_at(&slot.state).map(|wake| self.wakes.insert((wake, spot)));
            let heard = slot.state.heard();
            frame.nodes[place] = slot;
            if heard.is_some() {
                live.note_heard(&at.frame, &at.node, heard);
            }
        }
        Ok(())
    }

    /// Whether this part was taken before, with others that a command in the same batch needed.
    fn is_whole(&mut self, run: RunId, path: &FramePath, node: Option<&NodeId>) -> bool {
        let Some(live) = self.live.get_mut(&run) else { return false };
        match node {
            // What is past is made whole again.
            None => match live.frames.get_mut(path) {
                Some(frame) if frame.nodes.is_empty() => {
                    let Frame { last, state, .. } = *frame;
                    *frame = Frame { last, state, ..Frame::new(&frame.ir, frame.revision, frame.body) };
                    true
                }
                frame => frame.is_some(),
            },
            Some(node) => live.find(path, node).is_some_and(|node| live.last_of(path, node) != RecordSeq::NONE),
        }
    }

    /// Everything is there: whatever could go on is looked at again, and what nobody waits for is to be dropped.
    pub(crate) fn loaded(&mut self, newest: EventId, behind: Option<EventId>) {
        self.live.values_mut().for_each(|live| live.taken());
        self.live.values_mut().for_each(|live| live.settle());
        self.revisions.clear();
        let root = FramePath::root();
        let mut live: Vec<_> = self.live.iter().collect();
        live.sort_unstable_by_key(|(id, _)| **id);
        for (id, live) in live.into_iter().filter(|(id, live)| live.run.deleting.is_none() && !self.unfit.contains(**id)) {
            let running = live.run.status == RunStatus::Running;
            for (path, frame) in std::iter::once((&root, &live.root)).chain(&live.frames) {
                let nodes = || frame.ir.body(frame.body).nodes.iter().zip(&frame.nodes);
                // An item that a restart has left to be taken up goes on then with the loops and eaches that lead to its node.
                let waits = running && live.waits_for_room(path);
                let busy = nodes().any(|(_, slot)| match &slot.state {
                    NodeState::Started { at, .. } => !waits || !matches!(at, Started::Turning { .. } | Started::Spreading { .. }),
                    _ => false,
                });
                let wanted = running && live.is_wanted(path);
                if (!wanted && (frame.is_open() || busy)) || (!frame.is_open() && busy) {
                    self.orphans.insert((*id, path.clone()));
                }
                if !wanted || !frame.is_open() {
                    continue;
                }
                if frame.open == 0 {
                    self.held.over(Held::Frame(*id, path.clone()));
                }
                let goes_on = |node: NodeIx, slot: &Slot| match &slot.state {
                    NodeState::Waiting => frame.verdict(node) != Verdict::Wait,
                    NodeState::Started { at, .. } => matches!(at, Started::Turning { .. } | Started::Spreading { .. }),
                    _ => false,
                };
                let spots = nodes().filter(|(node, slot)| goes_on(**node, slot));
                for (node, _) in spots {
                    self.held.over(Held::Node(Spot { run: *id, frame: path.clone(), node: *node }));
                }
            }
        }
        self.load_recalls();
        self.load_awaits(newest, behind);
        self.awaits.next_batch();
    }

    /// Of runs that a command needs.
    pub(crate) fn took_whole(&mut self, runs: impl IntoIterator<Item = RunId>) {
        for run in runs {
            if let Some(live) = self.live.get_mut(&run) {
                live.taken();
                self.past.push(Past::Run(run));
            }
        }
        self.revisions.clear();
    }

    /// After a commit: runs that have ended live in the store alone.
    pub(crate) fn cool(&mut self) {
        self.leaving.cool();
        self.let_go();
        for run in std::mem::take(&mut self.cooling) {
            if self.live.get(&run).is_some_and(|live| !live.run.live) && !crate::defect("run_kept") {
                let live = self.live.remove(&run).expect("it was there");
                self.unlink(&live.run);
                self.sweeps.forget(run);
                self.unfit.remove(run);
            }
        }
        self.recalls.next_batch();
        self.awaits.next_batch();
        self.revisions.clear();
    }
}

fn wake_at(state: &NodeState) -> Option<Time> {
    match state {
        NodeState::Started { at: Started::Sleeping { until }, .. } => Some(*until),
        NodeState::Started { at: Started::Asking { until }, .. } => *until,
        NodeState::Started { at: Started::Awaiting(awaiting), .. } => awaiting.until,
        _ => None,
    }
}
