//! `/v1/runs/{run}`: one run looked into.

use super::Door;
use super::answer::{Json, No};
use super::body::{Named, Params};
use super::node::{self, Frames, TaskOf};
use super::runs::wrong_cursor;
use super::values::value;
use crate::wire::{self, *};
use axum::extract::State;
use engine::Engine;
use kernel::frame::{FramePath, FrameState};
use kernel::ids::RunId;
use kernel::ir::{Ir, OnError, ROOT};
use kernel::names::NodeId;
use kernel::node::{NodeState, Output, Slot};
use kernel::record::Record;
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

/// Show a run with its input, its output and its nodes.
#[utoipa::path(get, path = "/v1/runs/{run}", tag = "runs", params(("run" = String, Path), RunShowQuery),
    responses((status = 200, body = RunView)))]
pub async fn show(
    State(door): State<Door>,
    Named(run): Named<RunId>,
    Params(query): Params<RunShowQuery>,
) -> Result<Json<RunView>, No> {
    let limit = page_limit(Some(query.nodes.unwrap_or(RUN_NODES_DEFAULT)))?;
    let all = query.all_generations;
    let found = door.blocking(move |engine| whole(engine, run, limit, all)).await?;
    Ok(Json(found.ok_or(Rejection::RunNotFound { run })?))
}

fn whole(engine: &Engine, id: RunId, nodes_max: usize, all_generations: bool) -> Result<Option<RunView>, StoreError> {
    let found = engine.read(|reader| {
        let Some(standing) = Standing::now(reader, id, all_generations)? else { return Ok(None) };
        let run = &standing.run;
        let input = value(reader, engine.blobs(), ValueAt::Record(run.input()))?;
        let is_done = run.status() == kernel::run::RunStatus::Done;
        let output = if is_done { value(reader, engine.blobs(), run.output())? } else { None };
        Ok(Some((standing, input, output)))
    })?;
    let Some((standing, input, output)) = found else { return Ok(None) };
    let ir = definition(engine, &standing.run)?;
    let view = engine.read(|reader| standing.view(ir.as_ref(), nodes_max, &mut |task| node::task_of(reader, task)))?;
    Ok(Some(RunView { input, output, ..view }))
}

/// A run as it stands at one moment: now, by its rows, or then, by its records. The same comes of both.
pub struct Standing {
    pub run: Run,
    /// The record by which it ended.
    pub ending: Option<Record>,
    /// There is something in it that `retry` would take up.
    pub retryable: bool,
    /// By their keys, as in the store.
    pub frames: Vec<FrameRow>,
    pub nodes: Vec<NodeRow>,
    /// There are more nodes than those.
    pub more: bool,
}

impl Standing {
    /// Without what restarts have undone, unless that is wanted.
    fn now(reader: &mut dyn Reader, id: RunId, all_generations: bool) -> Result<Option<Standing>, StoreError> {
        let Some(row) = reader.run(id)? else { return Ok(None) };
        let run = Run::from_row(&row.values)?;
        let (ending, retryable) = (ending_of(reader, &run)?, can_retry(reader, &run)?);
        let frames = reader.frames(id, LOOKED_AT_MAX)?;
        let nodes = reader.nodes(&store::NodeQuery::of(id, LOOKED_AT_MAX + 1))?;
        let more = nodes.len() > LOOKED_AT_MAX;
        let mut frames = frames.iter().map(|row| FrameRow::from_row(&row.values)).collect::<Result<Vec<_>, _>>()?;
        let nodes = nodes.iter().take(LOOKED_AT_MAX).map(|row| NodeRow::from_row(&row.values));
        let mut nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        if !all_generations {
            let undone = undone(reader, &run, &frames)?;
            frames.retain(|frame| !undone.contains(&frame.path));
            nodes.retain(|row| !undone.contains(&row.at.frame) && !is_reset(&run, row));
        }
        Ok(Some(Standing { run, ending, retryable, frames, nodes, more }))
    }

    /// As its records have made it.
    pub fn then(replay: &Replay) -> Option<Standing> {
        let live = replay.live()?;
        let run = live.run().clone();
        let (mut frames, mut nodes) = live.rows();
        let undone = |path: &FramePath| live.frame(path).is_some_and(|frame| frame.is_undone());
        frames.retain(|frame| !undone(&frame.path));
        nodes.retain(|row| !undone(&row.at.frame) && !is_reset(&run, row));
        let retryable = may_retry(&run) && nodes.iter().any(|row| row.at.frame.is_root() && stopped_short(&row.slot));
        let more = nodes.len() > LOOKED_AT_MAX;
        frames.truncate(LOOKED_AT_MAX);
        nodes.truncate(LOOKED_AT_MAX);
        Some(Standing { run, ending: replay.ending().cloned(), retryable, frames, nodes, more })
    }

    /// What is seen of it, but for its input and its output, which are read apart.
    pub fn view(&self, ir: Option<&Arc<Ir>>, nodes_max: usize, task_of: &mut TaskOf<'_>) -> Result<RunView, StoreError> {
        let mut view = with_end(&self.run, self.ending.as_ref(), self.retryable);
        let mut nodes: Vec<(FramePath, NodeView)> =
            self.nodes.iter().map(|row| (row.at.frame.clone(), NodeView::new(row, ir.map(|ir| &**ir)))).collect();
        node::at_work(task_of, nodes.iter_mut().map(|(_, node)| node))?;
        if let Some(ir) = ir {
            let whole = Frames::of(ir, &self.nodes);
            nodes.iter_mut().for_each(|(frame, node)| whole.explain(frame, node));
            // Those of the run's own frame come first, so all of them have been looked at.
            if view.status == wire::RunStatus::Running {
                let unreached = unreached(ir, &nodes).into_iter().map(|node| (FramePath::root(), node));
                nodes.extend(unreached.collect::<Vec<_>>());
                nodes.iter_mut().for_each(|(frame, node)| whole.wait(frame, node));
            }
        }
        let mut counts = count(nodes.iter().map(|(_, node)| node.status));
        counts.more = self.more;
        view.counts = Some(counts);
        let turns = turns_of(&self.frames);
        for (frame, node) in &mut nodes {
            node.frames = turns.get(&(frame.clone(), node.id.clone())).cloned();
        }
        // What is going on, or went wrong, is seen whatever the limit; then all in the order of the definition.
        let weight = |(frame, node): &(FramePath, NodeView)| match node.status {
            _ if frame.is_root() => 0,
            status if status.is_under_way() || status == NodeStatus::Failed => 1,
            _ => 2,
        };
        nodes.sort_by_key(weight);
        nodes.truncate(nodes_max);
        let place = |id: &NodeId| ir.and_then(|ir| ir.find(id).map(|node| ir.node(node).place)).unwrap_or(0);
        nodes.sort_by(|(frame, node), (other_frame, other)| {
            (frame, place(&node.id), &node.id).cmp(&(other_frame, place(&other.id), &other.id))
        });
        view.nodes = nodes.into_iter().map(|(_, node)| node).collect();
        Ok(view)
    }
}

/// What a run walks through; `None` where that is not to be had any more.
pub fn definition(engine: &Engine, run: &Run) -> Result<Option<Arc<Ir>>, StoreError> {
    Ok(engine.definition(run, None)?.map(|followed| followed.ir))
}

/// The frames of a run that restarts have undone.
pub fn undone(reader: &mut dyn Reader, run: &Run, frames: &[FrameRow]) -> Result<BTreeSet<FramePath>, StoreError> {
    undone_of(run.generation(), frames, |frame, node| {
        let row = reader.node(&NodeAt { run: run.id(), frame: frame.clone(), node: node.clone() })?;
        Ok(row.map(|row| NodeRow::from_row(&row.values)).transpose()?.map(|row| row.slot))
    })
}

/// One that a restart has undone in a frame that stays.
fn is_reset(run: &Run, row: &NodeRow) -> bool {
    run.generation() > 0 && *row.slot.state() == NodeState::Waiting
}

/// The same, with a look at its frames: none before the first restart.
fn undone_in(reader: &mut dyn Reader, run: &Run) -> Result<BTreeSet<FramePath>, StoreError> {
    if run.generation() == 0 {
        return Ok(BTreeSet::new());
    }
    let rows = reader.frames(run.id(), LOOKED_AT_MAX)?;
    let frames = rows.iter().map(|row| FrameRow::from_row(&row.values)).collect::<Result<Vec<_>, _>>()?;
    undone(reader, run, &frames)
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
            NodeStatus::Done => &mut counts.done,
            NodeStatus::Failed => &mut counts.failed,
            NodeStatus::Skipped => &mut counts.skipped,
            NodeStatus::Cancelled => &mut counts.cancelled,
        } += 1;
    }
    counts
}

/// The turns and items that each loop and each has begun.
pub fn turns_of(frames: &[FrameRow]) -> HashMap<(FramePath, NodeId), FrameCounts> {
    let mut turns: HashMap<(FramePath, NodeId), FrameCounts> = HashMap::new();
    for frame in frames {
        let Some((above, node, _)) = frame.path.up() else { continue };
        let counts = turns.entry((above, node.clone())).or_default();
        *match frame.state {
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
        let ir = engine.definition(&found, None)?.map(|followed| followed.ir);
        engine.read(|reader| page(reader, engine, &asked, &found, ir, &query)).map(Some)
    });
    Ok(Json(found.await?.ok_or(Rejection::RunNotFound { run })?))
}

fn page(
    reader: &mut dyn Reader,
    engine: &Engine,
    asked: &store::NodeQuery,
    run: &Run,
    ir: Option<Arc<Ir>>,
    query: &NodeQuery,
) -> Result<NodeList, StoreError> {
    let limit = asked.limit - 1;
    let rows = reader.nodes(asked)?;
    let undone = if query.all_generations { BTreeSet::new() } else { undone_in(reader, run)? };
    let mut nodes = Vec::with_capacity(rows.len().min(limit));
    let mut last = None;
    let mut whole = Frames::default();
    for row in rows.iter().take(limit) {
        let row = NodeRow::from_row(&row.values)?;
        let mut view = NodeView::new(&row, ir.as_deref());
        last = Some(view.node.clone());
        let is_undone = undone.contains(&row.at.frame) || is_reset(run, &row);
        if is_undone && !query.all_generations {
            continue;
        }
        node::at_work(&mut |task| node::task_of(reader, task), [&mut view])?;
        if let Some(ir) = ir.as_ref().filter(|_| view.status == NodeStatus::Skipped) {
            whole.look(reader, ir, asked.run, &row.at.frame)?;
            whole.explain(&row.at.frame, &mut view);
        }
        if query.status.is_some_and(|status| status != view.status) {
            continue;
        }
        if let (true, NodeState::Done { output: Output::At(at), .. }) = (query.output, row.slot.state()) {
            view.output = value(reader, engine.blobs(), *at)?;
        }
        nodes.push(view);
    }
    Ok(NodeList { nodes, next: last.filter(|_| rows.len() > limit) })
}
