//! `/v1/runs/{run}/node`: one node looked into; and what is said of nodes beyond their own rows.

use super::Door;
use super::answer::{Json, No};
use super::approvals::answer_of;
use super::body::{Named, Params};
use super::run::{turns_of, undone};
use super::tasks::with_payloads;
use super::texts::{Texts, here};
use super::values::value;
use crate::wire::*;
use axum::extract::State;
use engine::Engine;
use kernel::explain::why_skipped;
use kernel::frame::{Frame, FramePath, Token};
use kernel::ids::{RunId, TaskId};
use kernel::ir::{BodyIx, EdgeIx, Ir, ROOT};
use kernel::names::NodeId;
use kernel::node::{NodeState, Output, Slot, Started};
use kernel::record::Record;
use kernel::rejection::Rejection;
use kernel::row::{FrameRow, NodeRow};
use kernel::run::{NodeAt, Run, ValueAt};
use kernel::task::Task;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use store::{Reader, StoreError};

/// Nodes of one frame that are looked at.
const LOOKED_AT_MAX: usize = 10_000;

/// Show one node of a run: how it stands, what it was given, what it gave.
#[utoipa::path(get, path = "/v1/runs/{run}/node", tag = "runs", operation_id = "node", params(("run" = String, Path), NodeShowQuery),
    responses((status = 200, body = NodeView)))]
pub async fn show(
    State(door): State<Door>,
    Named(run): Named<RunId>,
    Params(query): Params<NodeShowQuery>,
) -> Result<Json<NodeView>, No> {
    let text = query.node;
    let unknown = move |text: &str| {
        let shown: String = text.chars().take(80).collect();
        let next = NextAction { command: format!("signaller run show {run}"), description: "the nodes there are".to_owned() };
        let problem = Problem::new("node_not_found", format!("`{shown}` is not a node of {run}"), naming(text));
        Problem { next_actions: vec![next], ..problem }
    };
    let at = placed(run, &text).ok_or_else(|| unknown(&text))?;
    let found = door.blocking(move |engine| {
        let Some(row) = engine.read(|reader| reader.run(run))? else {
            return Ok(Err(Problem::from(&Rejection::RunNotFound { run })));
        };
        let found = Run::from_row(&row.values)?;
        let (frames, undone) = engine.read(|reader| {
            let frames = rows_of(reader, found.id())?;
            let undone = undone(reader, &found, &frames)?;
            Ok((frames, undone))
        })?;
        let texts = Texts::now(engine, &found, &frames)?;
        let at = NodeAt { frame: frame_meant(&frames, &undone, &at.frame).unwrap_or(at.frame), ..at };
        let mut seen = Seen { engine, run: &found, frames: &frames, undone: &undone, texts };
        Ok(seen.whole(&at)?.ok_or_else(|| inside(seen.texts.newest().map(|ir| &**ir), &at, unknown(&text), "show")))
    });
    Ok(Json(found.await??))
}

fn rows_of(reader: &mut dyn Reader, run: RunId) -> Result<Vec<FrameRow>, StoreError> {
    let rows = reader.frames(run, LOOKED_AT_MAX)?;
    Ok(rows.iter().map(|row| FrameRow::from_row(&row.values)).collect::<Result<Vec<_>, _>>()?)
}

/// How a node is named, and how this one would be.
pub fn naming(text: &str) -> String {
    let meant = place_meant(text).map_or_else(String::new, |meant| format!("did you mean {meant}? "));
    format!("{meant}a node is named as pay, rounds[1]/pay or rounds[1].check[2]/lint; show the run to see its nodes")
}

/// Of a node that was not found: where it stands, if only that was left out. `verb`: the command that was refused.
pub fn inside(ir: Option<&Ir>, at: &NodeAt, problem: Problem, verb: &str) -> Problem {
    let Some(ir) = ir else { return problem };
    let stands = ir.find(&at.node).is_some_and(|node| body_of(ir, &at.frame) == Some(ir.node(node).body));
    match standing(ir, &at.node).filter(|_| !stands) {
        Some((of, example)) => {
            let run = at.run;
            let fix = format!("`{}` stands in `{of}`: say in which turn or item, as in {run}/{example}", at.node);
            let command = match verb {
                "retry" => format!("signaller run retry {run} --node '{example}'"),
                verb => format!("signaller run {verb} '{run}/{example}'"),
            };
            Problem { fix, next_actions: vec![NextAction { command, description: "the first of them".into() }], ..problem }
        }
        None => problem,
    }
}

/// The node that is meant, where a turn or an item is not said to be of a generation. `None`: as it is said.
pub fn present(reader: &mut dyn Reader, run: &Run, at: &NodeAt) -> Result<Option<NodeAt>, StoreError> {
    if run.generation() == 0 || at.frame.is_root() {
        return Ok(None);
    }
    let frames = rows_of(reader, run.id())?;
    let undone = undone(reader, run, &frames)?;
    Ok(frame_meant(&frames, &undone, &at.frame).map(|frame| NodeAt { frame, ..at.clone() }))
}

/// The text that the turn or item of a node follows; `None`: that is not known.
pub fn revision_at(reader: &mut dyn Reader, run: &Run, at: &NodeAt) -> Result<Option<u32>, StoreError> {
    let at = present(reader, run, at)?.unwrap_or_else(|| at.clone());
    Ok(rows_of(reader, run.id())?.into_iter().find(|row| row.path == at.frame).map(|row| row.revision))
}

/// The turn or item that is meant: of the newest generation, where it is not said which. `None`: as it is said.
pub fn frame_meant(frames: &[FrameRow], undone: &BTreeSet<FramePath>, path: &FramePath) -> Option<FramePath> {
    let Some((above, node, index)) = path.up() else { return Some(FramePath::root()) };
    let above = frame_meant(frames, undone, &above)?;
    let counts = || frames.iter().map(|frame| &frame.path).filter(|path| !undone.contains(path));
    let exact = above.below(node.clone(), index, path.generation());
    if counts().any(|known| *known == exact) {
        return Some(exact);
    }
    let here = |known: &&FramePath| known.up().is_some_and(|(up, of, at)| up == above && of == node && at == index);
    counts().filter(here).filter(|_| path.generation() == 0).max().cloned()
}

/// Of a node inside of a loop or an each: what it stands in, and the first of its places.
fn standing(ir: &Ir, node: &NodeId) -> Option<(NodeId, String)> {
    let mut body = ir.node(ir.find(node)?).body;
    let (mut of, mut steps) = (None, Vec::new());
    while body != ROOT {
        let owner = ir.body(body).of?;
        of.get_or_insert_with(|| ir.node(owner).id.clone());
        steps.push(format!("{}[0]", ir.node(owner).id));
        body = ir.node(owner).body;
    }
    steps.reverse();
    Some((of?, format!("{}/{node}", steps.join("."))))
}

/// A run with what is needed to look at one of its nodes.
struct Seen<'a> {
    engine: &'a Engine,
    run: &'a Run,
    frames: &'a [FrameRow],
    undone: &'a BTreeSet<FramePath>,
    texts: Texts,
}

impl Seen<'_> {
    fn whole(&mut self, at: &NodeAt) -> Result<Option<NodeView>, StoreError> {
        let engine = self.engine;
        let Some(row) = engine.read(|reader| reader.node(at))? else { return self.unreached(at) };
        let row = NodeRow::from_row(&row.values)?;
        self.texts.look_for(engine, self.run, [at])?;
        let mut view = NodeView::new(&row, self.texts.of(at).map(|ir| &**ir));
        view.removed = self.texts.removed(at).map(|removed| removed.revision);
        view.undone = self.undone.contains(&at.frame);
        // Unless there are too many to count.
        if self.frames.len() < LOOKED_AT_MAX {
            view.frames = turns_of(self.frames, self.undone).remove(&(at.frame.clone(), at.node.clone()));
        }
        let task = view.task.map(|task| with_payloads(engine, task)).transpose()?.flatten();
        engine.read(|reader| {
            at_work(&mut |task| task_of(reader, task), [&mut view])?;
            if let Some(ir) = self.texts.at(&at.frame) {
                let mut frames = Frames::default();
                frames.look(reader, ir, at.run, &at.frame)?;
                frames.explain(&at.frame, &mut view);
                frames.wait(&at.frame, &mut view);
            }
            view.set = set_by(reader, &row.slot)?;
            Ok(())
        })?;
        if let NodeState::Done { output: Output::At(at), .. } = row.slot.state() {
            view.output = value(engine, *at)?;
        }
        view.answer = answer_of(engine, &row.slot)?;
        view.input = input(engine, &row.slot)?;
        if let Some(task) = task {
            view.attempts = Some(task.attempt);
            view.input = task.input;
            (view.progress, view.message) = task.lease.map_or((None, None), |lease| (lease.progress, lease.message));
        }
        Ok(Some(view))
    }

    /// One that nothing has happened to yet, in the run's own frame or in a turn or an item that was opened.
    fn unreached(&self, at: &NodeAt) -> Result<Option<NodeView>, StoreError> {
        let opened = at.frame.is_root() || self.frames.iter().any(|frame| frame.path == at.frame);
        let Some(ir) = self.texts.at(&at.frame).filter(|_| opened) else { return Ok(None) };
        let Some(node) = here(ir, &at.frame, &at.node) else { return Ok(None) };
        let mut view = NodeView::waiting(&at.frame, &at.node, type_of(&ir.node(node).kind));
        view.undone = self.undone.contains(&at.frame);
        let mut frames = Frames::default();
        self.engine.read(|reader| frames.look(reader, ir, at.run, &at.frame))?;
        frames.wait(&at.frame, &mut view);
        Ok(Some(view))
    }
}

/// Who said what it gives, if somebody did: that is its last record then.
fn set_by(reader: &mut dyn Reader, slot: &Slot) -> Result<Option<NodeSetBy>, StoreError> {
    let NodeState::Done { .. } = slot.state() else { return Ok(None) };
    Ok(reader.history(slot.last(), 1)?.pop().and_then(|entry| match entry.record {
        Record::NodeSet { by, reason } => Some(NodeSetBy { by, reason }),
        _ => None,
    }))
}

/// What a node that was started is at; of a task it is worked out elsewhere.
fn input(engine: &Engine, slot: &Slot) -> Result<Option<Box<serde_json::value::RawValue>>, StoreError> {
    match slot.work() {
        Some((_, Started::Turning { init, .. } | Started::Spreading { items: init, .. })) => value(engine, *init),
        Some((_, Started::Calling { run, .. })) => match engine.read(|reader| reader.run(*run))? {
            Some(row) => value(engine, ValueAt::Record(Run::from_row(&row.values)?.input())),
            None => Ok(None),
        },
        // Its question rides with the record that began it.
        Some((since, Started::Asking { .. })) => {
            let history = engine.read(|reader| reader.history(slot.last(), HISTORY_MAX))?;
            let asked = history.into_iter().find(|entry| entry.at == since);
            super::values::shown(engine, asked.and_then(|entry| entry.payload))
        }
        _ => Ok(None),
    }
}

/// Records of one node that are looked through for what it asked.
const HISTORY_MAX: usize = 16;

/// Where a task stands, at whichever moment is looked at.
pub type TaskOf<'a> = dyn FnMut(TaskId) -> Result<Option<Task>, StoreError> + 'a;

/// As it stands now.
pub fn task_of(reader: &mut dyn Reader, task: TaskId) -> Result<Option<Task>, StoreError> {
    Ok(reader.task(task)?.map(|row| Task::from_row(&row.values)).transpose()?)
}

/// Whether a worker is at the tasks of those that were started, and which; how the attempt before ended, and when the next is
/// due. A worker may still be at the task of one that was cancelled.
pub fn at_work<'a>(task_of: &mut TaskOf<'_>, nodes: impl IntoIterator<Item = &'a mut NodeView>) -> Result<(), StoreError> {
    for node in nodes {
        let under_way = node.status == NodeStatus::Running;
        let Some(task) = node.task.filter(|_| under_way || node.status == NodeStatus::Cancelled) else { continue };
        let found = task_of(task)?;
        if under_way && let Some(task @ (Task::Running(_) | Task::Queued(_))) = &found {
            node.last_error = task.card().failure().map(TaskError::from);
        }
        match found {
            Some(Task::Running(running)) => node.worker = Some(running.lease().worker().clone()),
            _ if !under_way => {}
            Some(Task::Queued(queued)) => {
                node.status = NodeStatus::Queued;
                node.again_at = node.last_error.is_some().then(|| Instant(queued.ready_at()));
            }
            Some(Task::Idle(_)) | None => node.status = NodeStatus::Queued,
            // It has ended, and the node is about to hear of it.
            Some(_) => {}
        }
    }
    Ok(())
}

/// Frames of one run put together of their nodes, each by its own text, for what only all of these can say.
#[derive(Default)]
pub struct Frames {
    known: HashMap<FramePath, Frame>,
}

impl Frames {
    pub fn of(texts: &Texts, rows: &[NodeRow]) -> Frames {
        let mut by_frame: HashMap<FramePath, Vec<&NodeRow>> = HashMap::new();
        rows.iter().for_each(|row| by_frame.entry(row.at.frame.clone()).or_default().push(row));
        by_frame.entry(FramePath::root()).or_default();
        let put = |(path, rows): (FramePath, Vec<&NodeRow>)| frame(texts.at(&path)?, &path, &rows).map(|frame| (path, frame));
        Frames { known: by_frame.into_iter().filter_map(put).collect() }
    }

    /// Reads a frame, unless it is known.
    pub fn look(&mut self, reader: &mut dyn Reader, ir: &Arc<Ir>, run: RunId, path: &FramePath) -> Result<(), StoreError> {
        if self.known.contains_key(path) {
            return Ok(());
        }
        let asked = store::NodeQuery { frame: Some(path.clone()), ..store::NodeQuery::of(run, LOOKED_AT_MAX) };
        let rows = reader.nodes(&asked)?;
        let rows = rows.iter().map(|row| NodeRow::from_row(&row.values)).collect::<Result<Vec<_>, _>>()?;
        if let Some(frame) = frame(ir, path, &rows.iter().collect::<Vec<_>>()) {
            self.known.insert(path.clone(), frame);
        }
        Ok(())
    }

    /// Why a node was skipped.
    pub fn why(&self, path: &FramePath, node: &NodeId) -> Option<String> {
        let frame = self.known.get(path)?;
        why_skipped(frame, here(frame.ir(), path, node)?)
    }

    pub fn explain(&self, path: &FramePath, node: &mut NodeView) {
        if node.status == NodeStatus::Skipped {
            node.why = self.why(path, &node.id);
        }
    }

    /// Of each edge of a text: how often it carried something live, and how often not, over all frames that are known. In those
    /// that follow another text it is the edge between the same two, for the same reason.
    pub fn carried(&self, ir: &Arc<Ir>) -> Vec<(u64, u64)> {
        let mut carried = vec![(0, 0); ir.edges.len()];
        let ends = |ir: &Ir, edge: EdgeIx| {
            let edge = ir.edge(edge);
            (ir.node(edge.from).id.clone(), ir.node(edge.to).id.clone(), edge.on)
        };
        let edges = (0..ir.edges.len() as u32).map(EdgeIx);
        let drawn: HashMap<_, EdgeIx> = edges.map(|edge| (ends(ir, edge), edge)).collect();
        for frame in self.known.values() {
            let own = frame.ir();
            for edge in own.body(frame.body()).nodes.iter().flat_map(|node| &own.node(*node).outs) {
                let same = if Arc::ptr_eq(own, ir) { Some(*edge) } else { drawn.get(&ends(own, *edge)).copied() };
                match (same, frame.carried(*edge)) {
                    (Some(edge), Some(Token::Live)) => carried[edge.at()].0 += 1,
                    (Some(edge), Some(Token::Dead(_))) => carried[edge.at()].1 += 1,
                    _ => {}
                }
            }
        }
        carried
    }

    /// Which nodes before one that waits have not ended.
    pub fn wait(&self, path: &FramePath, node: &mut NodeView) {
        let Some(frame) = self.known.get(path) else { return };
        let ir = frame.ir();
        let Some(ix) = here(ir, path, &node.id).filter(|_| node.status == NodeStatus::Waiting) else { return };
        let open = ir.node(ix).ins.iter().filter(|edge| frame.carried(**edge).is_none());
        let mut from: Vec<NodeId> = open.map(|edge| ir.node(ir.edge(*edge).from).id.clone()).collect();
        from.dedup();
        node.waits_for = from;
    }
}

/// The body that a frame is a walk through.
pub fn body_of(ir: &Ir, path: &FramePath) -> Option<BodyIx> {
    match path.up() {
        None => Some(ROOT),
        Some((_, node, _)) => ir.body_of(ir.find(node)?),
    }
}

/// `None`: it has no body in this workflow.
fn frame(ir: &Arc<Ir>, path: &FramePath, rows: &[&NodeRow]) -> Option<Frame> {
    let body = body_of(ir, path)?;
    // One that a patch has taken out, or put elsewhere, is not of it any more.
    let nodes = rows.iter().filter_map(|row| Some((here(ir, path, &row.at.node)?, row.slot.clone())));
    Some(Frame::of_nodes(ir, body, nodes))
}
