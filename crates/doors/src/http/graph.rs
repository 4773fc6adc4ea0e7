//! `graph.svg` of runs and workflows: the definition drawn, and of a run how each part of it stands.

use super::Door;
use super::answer::No;
use super::body::{Named, Params};
use super::node::{self, Frames, body_of};
use super::run::{definition, turns_of, with_ending};
use super::runs::now;
use super::workflows::unknown;
use crate::wire::*;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use engine::Engine;
use flow::graph::pen::lasted;
use flow::graph::svg::{Carried, Live, Stand, Status, svg};
use kernel::frame::{FramePath, FrameState};
use kernel::ids::RunId;
use kernel::ir::{Ir, NodeIx, NodeKind, ROOT};
use kernel::names::WorkflowName;
use kernel::rejection::Rejection;
use kernel::row::{FrameRow, NodeRow};
use std::collections::{HashMap, HashSet};
use store::StoreError;

/// Nodes and frames of one run that are looked at; what is beyond is not counted, and the picture says so.
const LOOKED_AT_MAX: usize = 50_000;
/// Lines about one node for whoever looks closer.
const DETAILS_MAX: usize = 12;

/// A picture and how it may be shown: as it is, with its own colours, and with nothing from elsewhere.
pub fn picture(svg: String) -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, "image/svg+xml"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'; sandbox"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, svg)
}

/// Draw a workflow as SVG.
#[utoipa::path(get, path = "/v1/workflows/{workflow}/graph.svg", tag = "workflows", operation_id = "graph_svg",
    params(("workflow" = String, Path), WorkflowQuery),
    responses((status = 200, body = String, content_type = "image/svg+xml")))]
pub async fn workflow(
    State(door): State<Door>,
    Named(name): Named<WorkflowName>,
    Params(query): Params<WorkflowQuery>,
) -> Result<impl IntoResponse, No> {
    let drawn = door.blocking(move |engine| {
        let Some((_, ir)) = engine.workflow(&name, query.version)? else {
            return Ok(Err(unknown(engine, name, query.version)?));
        };
        Ok(Ok(svg(&ir, None)))
    });
    Ok(picture(drawn.await??))
}

/// Draw a run as SVG: its workflow, with how each node stands and which ways were taken.
#[utoipa::path(get, path = "/v1/runs/{run}/graph.svg", tag = "runs", operation_id = "graph_svg", params(("run" = String, Path)),
    responses((status = 200, body = String, content_type = "image/svg+xml")))]
pub async fn run(State(door): State<Door>, Named(run): Named<RunId>) -> Result<impl IntoResponse, No> {
    let drawn = door.blocking(move |engine| drawn(engine, run)).await?;
    Ok(picture(drawn.ok_or(Rejection::RunNotFound { run })??))
}

fn drawn(engine: &Engine, id: RunId) -> Result<Option<Result<String, Problem>>, StoreError> {
    let found = engine.read(|reader| {
        let Some((run, view)) = with_ending(reader, id)? else { return Ok(None) };
        let frames = reader.frames(id, LOOKED_AT_MAX + 1)?;
        let nodes = reader.nodes(&store::NodeQuery::of(id, LOOKED_AT_MAX + 1))?;
        let frames = frames.iter().map(|row| FrameRow::from_row(&row.values)).collect::<Result<Vec<_>, _>>()?;
        let nodes = nodes.iter().map(|row| NodeRow::from_row(&row.values)).collect::<Result<Vec<_>, _>>()?;
        Ok(Some((run, view, frames, nodes)))
    })?;
    let Some((run, view, mut frames, mut rows)) = found else { return Ok(None) };
    let Some(ir) = definition(engine, &run)? else {
        let message = format!("the workflow of {id} is not to be had any more, so there is nothing to draw");
        return Ok(Some(Err(Problem::new(
            "workflow_not_found",
            message,
            format!("see what is known of it: signaller run show {id}"),
        ))));
    };
    let more = rows.len() > LOOKED_AT_MAX || frames.len() > LOOKED_AT_MAX;
    rows.truncate(LOOKED_AT_MAX);
    frames.truncate(LOOKED_AT_MAX);
    let mut nodes: Vec<(NodeIx, FramePath, NodeView)> = Vec::with_capacity(rows.len());
    for row in &rows {
        if let Some(ix) = ir.find(&row.at.node) {
            nodes.push((ix, row.at.frame.clone(), NodeView::new(row, Some(&ir))));
        }
    }
    engine.read(|reader| node::at_work(&mut |task| node::task_of(reader, task), nodes.iter_mut().map(|(_, _, node)| node)))?;
    let whole = Frames::of(&ir, &rows);
    nodes.iter_mut().for_each(|(_, frame, node)| whole.explain(frame, node));
    let now = Instant(now());
    let mut live = heading(&view, more, now);
    live.nodes = stands(&ir, &view, &frames, &nodes, now);
    live.edges = whole.carried().into_iter().map(|(taken, untaken)| Carried { taken, untaken }).collect();
    Ok(Some(Ok(svg(&ir, Some(&live)))))
}

fn heading(view: &RunView, more: bool, now: Instant) -> Live {
    let took = view.duration_ms.unwrap_or_else(|| view.started_at.ms_until(now).max(0).unsigned_abs());
    let status = match view.status {
        RunStatus::Running => Status::Running,
        RunStatus::Done => Status::Done,
        RunStatus::Failed => Status::Failed,
        RunStatus::Cancelled => Status::Cancelled,
    };
    let mut about = vec![format!("version {}", view.version)];
    let paused = if view.pause.is_some() || view.held { ", paused" } else { "" };
    about.push(match view.status {
        RunStatus::Running => format!("running for {}{paused}", lasted(took)),
        _ => format!("{} after {}", status.as_str(), lasted(took)),
    });
    about.extend(view.error.as_ref().map(|error| {
        let at = view.failed_at.as_ref().map_or_else(String::new, |node| format!("{node}: "));
        format!("{at}{}: {}", error.code, error.message)
    }));
    about.extend(view.ended_at.is_none().then(|| format!("as of {now}")));
    about.extend(more.then(|| format!("of more than {LOOKED_AT_MAX} nodes not all are counted")));
    Live {
        heading: format!("{} · {}", view.run, view.workflow),
        about: about.join(" · "),
        status: Some(status),
        over: view.ended_at.is_some(),
        ..Live::default()
    }
}

fn drawn_status(status: NodeStatus) -> Status {
    match status {
        NodeStatus::Waiting => Status::Waiting,
        NodeStatus::Queued => Status::Queued,
        NodeStatus::Running => Status::Running,
        NodeStatus::Asking => Status::Asking,
        NodeStatus::Sleeping => Status::Sleeping,
        NodeStatus::Done => Status::Done,
        NodeStatus::Failed => Status::Failed,
        NodeStatus::Skipped => Status::Skipped,
        NodeStatus::Cancelled => Status::Cancelled,
    }
}

/// How each node stands, over all turns and items.
fn stands(ir: &Ir, run: &RunView, frames: &[FrameRow], nodes: &[(NodeIx, FramePath, NodeView)], now: Instant) -> Vec<Stand> {
    let mut stands = vec![Stand::default(); ir.nodes.len()];
    for (ix, _, node) in nodes {
        stands[ix.at()].add(drawn_status(node.status), 1);
    }
    // What went wrong is told before what goes on, and that before the rest.
    let weight = |node: &NodeView| match node.status {
        NodeStatus::Failed => 0,
        status if status.is_under_way() => 1,
        _ => 2,
    };
    let mut told: Vec<&(NodeIx, FramePath, NodeView)> = nodes.iter().collect();
    told.sort_by_key(|(_, _, node)| weight(node));
    for (ix, frame, node) in told {
        let stand = &mut stands[ix.at()];
        if stand.details.len() < DETAILS_MAX {
            let name = if frame.is_root() { String::new() } else { format!("{}: ", node.node) };
            stand.details.extend(details(node).into_iter().map(|text| format!("{name}{text}")));
        }
        if stand.counts.iter().sum::<u64>() == 1 {
            stand.took = match (node.duration_ms, node.since) {
                (Some(ms), _) => lasted(ms),
                (None, Some(since)) if node.status.is_under_way() => lasted(since.ms_until(now).max(0).unsigned_abs()),
                _ => String::new(),
            };
        }
    }
    wait(ir, run, frames, nodes, &mut stands);
    notes(ir, frames, nodes, &mut stands);
    stands
}

/// What is worth knowing of one node beside its state.
fn details(node: &NodeView) -> Vec<String> {
    let mut lines = Vec::new();
    for error in node.error.iter().chain(node.last_error.iter().filter(|_| node.status.is_under_way())) {
        lines.push(format!("{}: {}", error.code, error.message));
    }
    lines.extend(node.why.clone());
    if node.status.is_under_way() || node.status == NodeStatus::Failed {
        let worker = node.worker.as_ref().map_or_else(String::new, |worker| format!(" on {worker}"));
        lines.extend(node.task.map(|task| format!("{task}{worker}")));
        lines.extend(node.sub_run.map(|run| format!("called {run}")));
        lines.extend(node.until.map(|until| format!("until {until}")));
    }
    lines
}

/// Nodes of open frames that nothing has happened to yet.
fn wait(ir: &Ir, run: &RunView, frames: &[FrameRow], nodes: &[(NodeIx, FramePath, NodeView)], stands: &mut [Stand]) {
    let mut reached: HashMap<&FramePath, HashSet<NodeIx>> = HashMap::new();
    nodes.iter().for_each(|(ix, frame, _)| _ = reached.entry(frame).or_default().insert(*ix));
    let root = FramePath::root();
    let open = frames.iter().filter(|frame| matches!(frame.state, FrameState::Open)).map(|frame| &frame.path);
    let own = Some(&root).filter(|_| run.ended_at.is_none());
    for path in open.chain(own) {
        let body = if path.is_root() { Some(ROOT) } else { body_of(ir, path) };
        let known = reached.get(path);
        for node in body.into_iter().flat_map(|body| &ir.body(body).nodes) {
            if !known.is_some_and(|known| known.contains(node)) {
                stands[node.at()].add(Status::Waiting, 1);
            }
        }
    }
}

/// `turn 3 of 5`, `items 812/1000, 2 failed`.
fn notes(ir: &Ir, frames: &[FrameRow], nodes: &[(NodeIx, FramePath, NodeView)], stands: &mut [Stand]) {
    let turns = turns_of(frames);
    let mut sums: HashMap<NodeIx, (FrameCounts, u64, u64)> = HashMap::new();
    for (ix, frame, node) in nodes.iter().filter(|(ix, _, _)| ir.body_of(*ix).is_some()) {
        let (sum, items, count) = sums.entry(*ix).or_default();
        *items += u64::from(node.items.unwrap_or(0));
        *count += 1;
        if let Some(counts) = turns.get(&(frame.clone(), node.id.clone())) {
            sum.open += counts.open;
            sum.done += counts.done;
            sum.failed += counts.failed;
            sum.dropped += counts.dropped;
        }
    }
    for (ix, (sum, items, count)) in sums {
        let begun = sum.open + sum.done + sum.failed + sum.dropped;
        let mut note = match &ir.node(ix).kind {
            NodeKind::Loop { iterations_max, .. } if count == 1 => format!("turn {begun} of {iterations_max}"),
            NodeKind::Loop { .. } => format!("{begun} turns"),
            _ => format!("items {}/{items}", sum.done),
        };
        if matches!(ir.node(ix).kind, NodeKind::Loop { .. }) && begun == 0 {
            continue;
        }
        for (number, what) in [(sum.failed, "failed"), (sum.dropped, "dropped")] {
            if number > 0 {
                note.push_str(&format!(", {number} {what}"));
            }
        }
        stands[ix.at()].note = note;
    }
}
