//! `/v1/runs/{run}`: one run looked into.

use super::Door;
use super::answer::{Json, No};
use super::body::{Named, Params};
use super::ending;
use super::node::{self, Frames, TaskOf};
use super::peer::Peer;
use super::runs::wrong_cursor;
use super::texts::Texts;
use super::values::value;
use crate::wire::{self, *};
use axum::Extension;
use axum::extract::State;
use engine::Engine;
use kernel::frame::{FramePath, FrameState};
use kernel::ids::RunId;
use kernel::ir::{Ir, OnError, ROOT};
use kernel::names::NodeId;
use kernel::node::{NodeState, Output, Slot};
use kernel::record::{Owner, Record};
use kernel::rejection::Rejection;
use kernel::replay::Replay;
use kernel::row::{FrameRow, NodeRow};
use kernel::run::{NodeAt, Run, ValueAt};
use kernel::runs::undone_of;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use store::{Reader, StoreError};

/// Nodes and frames of one run that are looked at to count and choose from.
const LOOKED_AT_MAX: usize = 10_000;
/// A run's own records that are looked through for how it ended.
const OWN_RECORDS_MAX: usize = 16;

/// Show a run with its input, its output and its nodes; with `wait_ms`, when it has ended.
#[utoipa::path(get, path = "/v1/runs/{run}", tag = "runs", params(("run" = String, Path), RunShowQuery),
    responses((status = 200, body = RunView)))]
pub async fn show(
    State(door): State<Door>,
    Extension(peer): Extension<Arc<Peer>>,
    Named(run): Named<RunId>,
    Params(query): Params<RunShowQuery>,
) -> Result<Json<RunView>, No> {
    let limit = page_limit(Some(query.nodes.unwrap_or(RUN_NODES_DEFAULT)))?;
    ending::wait_for(&door, &peer, Owner::Run(run), query.wait_ms).await?;
    let all = query.all_generations;
    let found = door.blocking(move |engine| whole(engine, run, limit, all)).await?;
    Ok(Json(found.ok_or(Rejection::RunNotFound { run })?))
}

fn whole(engine: &Engine, id: RunId, nodes_max: usize, all_generations: bool) -> Result<Option<RunView>, StoreError> {
    let found = engine.read(|reader| Standing::now(reader, id, (LOOKED_AT_MAX, all_generations)))?;
    let Some(standing) = found else { return Ok(None) };
    let run = &standing.run;
    let input = value(engine, ValueAt::Record(run.input()))?;
    let is_done = run.status() == kernel::run::RunStatus::Done;
    let output = if is_done { value(engine, run.output())? } else { None };
    let texts = standing.texts(engine)?;
    let view = engine.read(|reader| standing.view(&texts, nodes_max, &mut |task| node::task_of(reader, task)))?;
    Ok(Some(RunView { input, output, ..view }))
}

/// A run as it stands at one moment: now, by its rows, or then, by its records. The same comes of both.
pub struct Standing {
    pub run: Run,
    /// The record by which it ended.
    pub ending: Option<Record>,
    /// There is something in it that `retry` would take up.
    pub retryable: bool,
    /// By their keys, as in the store; those that restarts have undone are among them.
    pub frames: Vec<FrameRow>,
    pub undone: BTreeSet<FramePath>,
    pub nodes: Vec<NodeRow>,
    /// There are more nodes than those.
    pub more: bool,
}

impl Standing {
    /// Without nodes that restarts have undone, unless those are wanted, and with so many at the most.
    pub fn now(
        reader: &mut dyn Reader,
        id: RunId,
        (looked_at_max, all_generations): (usize, bool),
    ) -> Result<Option<Standing>, StoreError> {
        let Some(row) = reader.run(id)? else { return Ok(None) };
        let run = Run::from_row(&row.values)?;
        let (ending, retryable) = (ending_of(reader, &run)?, can_retry(reader, &run)?);
        let frames = reader.frames(id, looked_at_max)?;
        let nodes = reader.nodes(&store::NodeQuery::of(id, looked_at_max + 1))?;
        let more = nodes.len() > looked_at_max || frames.len() == looked_at_max;
        let frames = frames.iter().map(|row| FrameRow::from_row(&row.values)).collect::<Result<Vec<_>, _>>()?;
        let nodes = nodes.iter().take(looked_at_max).map(|row| NodeRow::from_row(&row.values));
        let mut nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        let undone = undone(reader, &run, &frames)?;
        if !all_generations {
            nodes.retain(|row| !undone.contains(&row.at.frame) && !is_reset(&run, row));
        }
        Ok(Some(Standing { run, ending, retryable, frames, undone, nodes, more }))
    }

    /// As its records have made it.
    pub fn then(replay: &Replay) -> Option<Standing> {
        let live = replay.live()?;
        let run = live.run().clone();
        let (mut frames, mut nodes) = live.rows();
        let is_undone = |path: &FramePath| live.frame(path).is_some_and(|frame| frame.is_undone());
        let undone: BTreeSet<FramePath> = frames.iter().map(|frame| frame.path.clone()).filter(is_undone).collect();
        nodes.retain(|row| !undone.contains(&row.at.frame) && !is_reset(&run, row));
        let retryable = may_retry(&run) && nodes.iter().any(|row| row.at.frame.is_root() && stopped_short(&row.slot));
        let more = nodes.len() > LOOKED_AT_MAX;
        frames.truncate(LOOKED_AT_MAX);
        nodes.truncate(LOOKED_AT_MAX);
        Some(Standing { run, ending: replay.ending().cloned(), retryable, frames, undone, nodes, more })
    }

    /// What its parts follow now.
    pub fn texts(&self, engine: &Engine) -> Result<Texts, StoreError> {
        let mut texts = Texts::now(engine, &self.run, &self.frames)?;
        texts.look_for(engine, &self.run, self.nodes.iter().map(|row| &row.at))?;
        Ok(texts)
    }

    /// What is seen of it without its nodes.
    pub fn head(&self) -> RunView {
        with_end(&self.run, self.ending.as_ref(), self.retryable)
    }

    /// What is seen of it, but for its input and its output, which are read apart.
    pub fn view(&self, texts: &Texts, nodes_max: usize, task_of: &mut TaskOf<'_>) -> Result<RunView, StoreError> {
        let mut view = self.head();
        let mut nodes: Vec<(FramePath, NodeView)> =
            self.nodes.iter().map(|row| (row.at.frame.clone(), self.node(texts, row))).collect();
        node::at_work(task_of, nodes.iter_mut().map(|(_, node)| node))?;
        let whole = Frames::of(texts, &self.nodes);
        nodes.iter_mut().for_each(|(frame, node)| whole.explain(frame, node));
        // Those of the run's own frame come first, so all of them have been looked at.
        if let (Some(ir), wire::RunStatus::Running) = (texts.newest(), view.status) {
            let unreached = unreached(ir, &nodes).into_iter().map(|node| (FramePath::root(), node));
            nodes.extend(unreached.collect::<Vec<_>>());
            nodes.iter_mut().for_each(|(frame, node)| whole.wait(frame, node));
        }
        let mut counts = count(nodes.iter().filter(|(_, node)| !node.undone).map(|(_, node)| node.status));
        counts.undone = nodes.iter().filter(|(_, node)| node.undone).count() as u64;
        counts.more = self.more;
        view.counts = Some(counts);
        let turns = turns_of(&self.frames, &self.undone);
        for (frame, node) in &mut nodes {
            node.frames = turns.get(&(frame.clone(), node.id.clone())).cloned();
        }
        // What is going on, or went wrong, is seen whatever the limit; then all in the order of the definition.
        let weight = |(frame, node): &(FramePath, NodeView)| match node.status {
            _ if frame.is_root() => 0,
            _ if node.undone => 3,
            status if status.is_under_way() || status == NodeStatus::Failed => 1,
            _ => 2,
        };
        let place = |frame: &FramePath, id: &NodeId| {
            let ir = texts.at(frame);
            ir.and_then(|ir| ir.find(id).map(|node| ir.node(node).place)).unwrap_or(u32::MAX)
        };
        nodes.sort_by_cached_key(|(frame, node)| (frame.clone(), place(frame, &node.id), node.id.clone()));
        let mut chosen: Vec<usize> = (0..nodes.len()).collect();
        chosen.sort_by_key(|at| weight(&nodes[*at]));
        let chosen: HashSet<usize> = chosen.into_iter().take(nodes_max).collect();
        view.nodes = nodes.into_iter().enumerate().filter(|(at, _)| chosen.contains(at)).map(|(_, (_, node))| node).collect();
        Ok(view)
    }

    /// A node by the text of its own turn or item.
    pub fn node(&self, texts: &Texts, row: &NodeRow) -> NodeView {
        let mut view = NodeView::new(row, texts.of(&row.at).map(|ir| &**ir));
        view.removed = texts.removed(&row.at).map(|removed| removed.revision);
        view.undone = self.undone.contains(&row.at.frame);
        view
    }
}

/// The frames of a run that restarts have undone.
pub fn undone(reader: &mut dyn Reader, run: &Run, frames: &[FrameRow]) -> Result<BTreeSet<FramePath>, StoreError> {
    undone_of(run.generation(), frames, |frame, node| {
        let row = reader.node(&NodeAt { run: run.id(), frame: frame.clone(), node: node.clone() })?;
        Ok(row.map(|row| NodeRow::from_row(&row.values)).transpose()?.map(|row| row.slot))
    })
}

/// One that a restart has undone in a frame that stays.
pub fn is_reset(run: &Run, row: &NodeRow) -> bool {
    run.generation() > 0 && *row.slot.state() == NodeState::Waiting
}

/// The run's row, and what only its records say: which node failed it, who cancelled it.
pub fn with_ending(reader: &mut dyn Reader, id: RunId) -> Result<Option<(Run, RunView)>, StoreError> {
    let Some(row) = reader.run(id)? else { return Ok(None) };
    let run = Run::from_row(&row.values)?;
    let view = with_end(&run, ending_of(reader, &run)?.as_ref(), can_retry(reader, &run)?);
    Ok(Some((run, view)))
}

fn with_end(run: &Run, ending: Option<&Record>, retryable: bool) -> RunView {
    let mut view = RunView { retryable, ..RunView::from(run) };
    match ending {
        Some(Record::RunFailed { node: Some(at), .. }) => view.failed_at = Some(place(&at.frame, &at.node)),
        Some(Record::RunCancelled { by, reason, .. }) => {
            view.cancelled = Some(RunCancelledView { by: by.clone(), reason: reason.clone() });
        }
        _ => {}
    }
    view
}

/// The record by which it ended, among its last.
fn ending_of(reader: &mut dyn Reader, run: &Run) -> Result<Option<Record>, StoreError> {
    if run.ended_at().is_none() {
        return Ok(None);
    }
    let records = reader.history(run.last(), OWN_RECORDS_MAX)?;
    let ending = records
        .into_iter()
        .find(|entry| matches!(entry.record, Record::RunDone { .. } | Record::RunFailed { .. } | Record::RunCancelled { .. }));
    Ok(ending.map(|entry| entry.record))
}

fn may_retry(run: &Run) -> bool {
    let ended = matches!(run.status(), kernel::run::RunStatus::Failed | kernel::run::RunStatus::Cancelled);
    ended && !run.is_deleting() && run.spec().parent.is_none()
}

/// It failed the run, or was cut off.
fn stopped_short(slot: &Slot) -> bool {
    matches!(slot.state(), NodeState::Cancelled | NodeState::Failed { then: OnError::Fail, .. })
}

/// Whether there is something in it that `retry` would take up: a node of its own frame that failed it or was cut off.
fn can_retry(reader: &mut dyn Reader, run: &Run) -> Result<bool, StoreError> {
    if !may_retry(run) {
        return Ok(false);
    }
    for status in [NodeStatus::Cancelled, NodeStatus::Failed] {
        let asked = store::NodeQuery {
            frame: Some(FramePath::root()),
            status: Some(status.in_row().to_owned()),
            ..store::NodeQuery::of(run.id(), LOOKED_AT_MAX)
        };
        for row in reader.nodes(&asked)? {
            if stopped_short(&NodeRow::from_row(&row.values)?.slot) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Nodes of the run's own frame that nothing has happened to yet.
fn unreached(ir: &Ir, known: &[(FramePath, NodeView)]) -> Vec<NodeView> {
    let reached: HashSet<&NodeId> = known.iter().filter(|(frame, _)| frame.is_root()).map(|(_, node)| &node.id).collect();
    let nodes = ir.body(ROOT).nodes.iter().map(|node| ir.node(*node));
    let waiting = nodes.filter(|node| !reached.contains(&node.id));
    waiting.map(|node| NodeView::waiting(&FramePath::root(), &node.id, type_of(&node.kind))).collect()
}

fn count(all: impl Iterator<Item = NodeStatus>) -> NodeCounts {
    let mut counts = NodeCounts::default();
    for status in all {
        *match status {
            NodeStatus::Waiting => &mut counts.waiting,
            NodeStatus::Queued => &mut counts.queued,
            NodeStatus::Running => &mut counts.running,
            NodeStatus::Asking => &mut counts.asking,
            NodeStatus::Sleeping => &mut counts.sleeping,
            NodeStatus::Awaiting => &mut counts.awaiting,
            NodeStatus::Done => &mut counts.done,
            NodeStatus::Failed => &mut counts.failed,
            NodeStatus::Skipped => &mut counts.skipped,
            NodeStatus::Cancelled => &mut counts.cancelled,
        } += 1;
    }
    counts
}

/// The turns and items that each loop and each has begun; those that restarts have undone are counted apart.
pub fn turns_of(frames: &[FrameRow], undone: &BTreeSet<FramePath>) -> HashMap<(FramePath, NodeId), FrameCounts> {
    let mut turns: HashMap<(FramePath, NodeId), FrameCounts> = HashMap::new();
    for frame in frames {
        let Some((above, node, _)) = frame.path.up() else { continue };
        let counts = turns.entry((above, node.clone())).or_default();
        *match frame.state {
            _ if undone.contains(&frame.path) => &mut counts.undone,
            FrameState::Open => &mut counts.open,
            FrameState::Done(_) => &mut counts.done,
            FrameState::Failed => &mut counts.failed,
            FrameState::Dropped => &mut counts.dropped,
        } += 1;
    }
    turns
}

/// List the nodes of a run that something has happened to.
#[utoipa::path(get, path = "/v1/runs/{run}/nodes", tag = "runs", params(("run" = String, Path), NodeQuery),
    responses((status = 200, body = NodeList)))]
pub async fn nodes(
    State(door): State<Door>,
    Named(run): Named<RunId>,
    Params(query): Params<NodeQuery>,
) -> Result<Json<NodeList>, No> {
    let limit = page_limit(query.limit)?;
    let after = match &query.cursor {
        None => None,
        Some(cursor) => {
            let at = placed(run, cursor).ok_or_else(|| wrong_cursor(cursor))?;
            Some((at.frame, at.node))
        }
    };
    let frame = match &query.frame {
        None => None,
        Some(text) => {
            let shown = || text.chars().take(80).collect::<String>();
            let wrong = || Problem::invalid(format!("`{}` is not a turn or item such as rounds[1]", shown()));
            Some(FramePath::parse(text).ok_or_else(wrong)?)
        }
    };
    let status = query.status.map(|status| status.in_row().to_owned());
    let asked = store::NodeQuery { run, frame, status, after, limit: limit + 1 };
    let found = door.blocking(move |engine| {
        let Some(row) = engine.read(|reader| reader.run(run))? else { return Ok(None) };
        let found = Run::from_row(&row.values)?;
        page(engine, asked, found, &query).map(Some)
    });
    Ok(Json(found.await?.ok_or(Rejection::RunNotFound { run })?))
}

/// The frames of a run that was changed or restarted: of any other there is no need to look.
pub fn frames_of(reader: &mut dyn Reader, run: &Run) -> Result<Vec<FrameRow>, StoreError> {
    if run.generation() == 0 && run.revision() == 0 {
        return Ok(Vec::new());
    }
    let rows = reader.frames(run.id(), LOOKED_AT_MAX)?;
    Ok(rows.iter().map(|row| FrameRow::from_row(&row.values)).collect::<Result<Vec<_>, _>>()?)
}

fn page(engine: &Engine, mut asked: store::NodeQuery, run: Run, query: &NodeQuery) -> Result<NodeList, StoreError> {
    let limit = asked.limit - 1;
    let (frames, undone, rows) = engine.read(|reader| {
        let frames = frames_of(reader, &run)?;
        let undone = undone(reader, &run, &frames)?;
        if let Some(frame) = asked.frame.as_mut().filter(|_| !query.all_generations) {
            let meant = node::frame_meant(&frames, &undone, frame);
            *frame = meant.unwrap_or_else(|| frame.clone());
        }
        Ok((frames, undone, reader.nodes(&asked)?))
    })?;
    let more = rows.len() > limit;
    let rows = rows.iter().take(limit).map(|row| NodeRow::from_row(&row.values)).collect::<Result<Vec<_>, _>>()?;
    let last = rows.last().map(|row| wire::place(&row.at.frame, &row.at.node));
    let standing = Standing { run, ending: None, retryable: false, frames, undone, nodes: rows, more };
    let texts = standing.texts(engine)?;
    // Who names a turn or an item means it, also if it was undone.
    let shown = |row: &&NodeRow| {
        let is_undone = standing.undone.contains(&row.at.frame) && asked.frame.is_none();
        query.all_generations || (!is_undone && !is_reset(&standing.run, row))
    };
    let mut nodes = Vec::with_capacity(standing.nodes.len());
    let mut outputs = Vec::new();
    engine.read(|reader| {
        let mut whole = Frames::default();
        for row in standing.nodes.iter().filter(shown) {
            let mut view = standing.node(&texts, row);
            node::at_work(&mut |task| node::task_of(reader, task), [&mut view])?;
            if let Some(ir) = texts.at(&row.at.frame).filter(|_| view.status == NodeStatus::Skipped) {
                whole.look(reader, ir, asked.run, &row.at.frame)?;
                whole.explain(&row.at.frame, &mut view);
            }
            if query.status.is_some_and(|status| status != view.status) {
                continue;
            }
            if let (true, NodeState::Done { output: Output::At(at), .. }) = (query.output, row.slot.state()) {
                outputs.push((nodes.len(), *at));
            }
            nodes.push(view);
        }
        Ok(())
    })?;
    for (node, at) in outputs {
        nodes[node].output = value(engine, at)?;
    }
    Ok(NodeList { nodes, next: last.filter(|_| more) })
}
