//! `graph.svg` of runs and workflows: the definition drawn, and of a run how each part of it stands.

use super::Door;
use super::answer::No;
use super::body::{Named, Params};
use super::node::{self, Frames, body_of};
use super::run::{Standing, turns_of};
use super::runs::now;
use super::workflows::unknown;
use crate::wire::*;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use engine::Engine;
use flow::graph::svg::{Carried, Live, Stand, Status, svg};
use kernel::frame::{FramePath, FrameState};
use kernel::ids::RunId;
use kernel::ir::{Ir, NodeIx, NodeKind, ROOT};
use kernel::names::{NodeId, WorkflowName};
use kernel::rejection::Rejection;
use kernel::row::FrameRow;
use kernel::time::span;
use std::collections::{BTreeMap, HashMap, HashSet};
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
    let found = engine.read(|reader| Standing::now(reader, id, (LOOKED_AT_MAX, false)))?;
    let Some(standing) = found else { return Ok(None) };
    let texts = standing.texts(engine)?;
    let Some(ir) = texts.newest() else {
        let message = format!("the workflow of {id} is not to be had any more, so there is nothing to draw");
        return Ok(Some(Err(Problem::new(
            "workflow_not_found",
            message,
            format!("see what is known of it: signaller run show {id}"),
        ))));
    };
    let whole = Frames::of(&texts, &standing.nodes);
    let (mut nodes, mut removed) = (Vec::with_capacity(standing.nodes.len()), Vec::new());
    for row in &standing.nodes {
        match ir.find(&row.at.node).filter(|_| texts.removed(&row.at).is_none()) {
            Some(ix) => nodes.push((ix, row.at.frame.clone(), standing.node(&texts, row))),
            None => removed.push(standing.node(&texts, row)),
        }
    }
    engine.read(|reader| node::at_work(&mut |task| node::task_of(reader, task), nodes.iter_mut().map(|(_, _, node)| node)))?;
    nodes.iter_mut().for_each(|(_, frame, node)| whole.explain(frame, node));
    let now = Instant(now());
    let mut live = heading(&standing.head(), standing.more, now);
    live.notes.extend(Some(gone(&removed)).filter(|_| !removed.is_empty()));
    live.nodes = stands(ir, &standing, &nodes, now);
    live.edges = whole.carried(ir).into_iter().map(|(taken, untaken)| Carried { taken, untaken }).collect();
    Ok(Some(Ok(svg(ir, Some(&live)))))
}

/// Nodes that patches have taken out and that are named.
const GONE_MAX: usize = 6;

/// `taken out by patches: tail (3 done, revision 2)`
fn gone(removed: &[NodeView]) -> String {
    let mut of: BTreeMap<&NodeId, (u32, BTreeMap<Status, u64>)> = BTreeMap::new();
    for node in removed {
        let (revision, counts) = of.entry(&node.id).or_default();
        *revision = node.removed.unwrap_or(0).max(*revision);
        *counts.entry(node.status.into()).or_default() += 1;
    }
    let one = |(id, (revision, counts)): (&&NodeId, &(u32, BTreeMap<Status, u64>))| {
        let counts: Vec<String> = counts
            .iter()
            .map(|(status, count)| if *count == 1 { status.as_str().to_owned() } else { format!("{count} {}", status.as_str()) })
            .collect();
        format!("{id} ({}, gone since revision {revision})", counts.join(", "))
    };
    let named: Vec<String> = of.iter().take(GONE_MAX).map(one).collect();
    let more = if of.len() > GONE_MAX { format!(" and {} more", of.len() - GONE_MAX) } else { String::new() };
    format!("taken out by patches after they had begun: {}{more}", named.join(", "))
}

fn heading(view: &RunView, more: bool, now: Instant) -> Live {
    let took = view.duration_ms.unwrap_or_else(|| view.started_at.ms_until(now).max(0).unsigned_abs());
    let status = Status::from(view.status);
    let mut about = vec![format!("version {}", view.version)];
    about.extend((view.revision > 0).then(|| format!("revision {}", view.revision)));
    about.extend((view.generation > 0).then(|| format!("generation {}", view.generation)));
    let paused = if view.pause.is_some() || view.held { ", paused" } else { "" };
    // What lay between the end of one generation and the start of the next is in it.
    about.push(match (view.status, view.generation) {
        (RunStatus::Running, 0) => format!("running for {}{paused}", span(took)),
        (RunStatus::Running, _) => format!("running, first started {} ago{paused}", span(took)),
        (_, 0) => format!("{} after {}", status.as_str(), span(took)),
        _ => format!("{} {} after its first start", status.as_str(), span(took)),
    });
    about.extend(view.ended_at.is_none().then(|| format!("as of {}", to_the_second(now))));
    about.extend(more.then(|| format!("of more than {LOOKED_AT_MAX} nodes not all are counted")));
    let mut notes = Vec::new();
    notes.extend(view.error.as_ref().map(|error| {
        let at = view.failed_at.as_ref().map_or_else(String::new, |node| format!("{node}: "));
        format!("{at}{}: {}", error.code, error.message)
    }));
    Live {
        heading: format!("{} · {}", view.run, view.workflow),
        about,
        notes,
        status: Some(status),
        over: view.ended_at.is_some(),
        ..Live::default()
    }
}

/// An instant as people read it.
pub fn to_the_second(at: Instant) -> String {
    let text = at.to_string();
    let seconds = text.split(['.', 'Z']).next().unwrap_or_default();
    format!("{} UTC", seconds.replace('T', " "))
}

/// How each node stands, over all turns and items.
fn stands(ir: &Ir, standing: &Standing, nodes: &[(NodeIx, FramePath, NodeView)], now: Instant) -> Vec<Stand> {
    let mut stands = vec![Stand::default(); ir.nodes.len()];
    for (ix, _, node) in nodes {
        stands[ix.at()].add(node.status.into(), 1);
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
                (Some(ms), _) => span(ms),
                (None, Some(since)) if node.status.is_under_way() => span(since.ms_until(now).max(0).unsigned_abs()),
                _ => String::new(),
            };
        }
    }
    wait(ir, standing, nodes, &mut stands);
    notes(ir, standing, nodes, &mut stands);
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
fn wait(ir: &Ir, standing: &Standing, nodes: &[(NodeIx, FramePath, NodeView)], stands: &mut [Stand]) {
    let mut reached: HashMap<&FramePath, HashSet<NodeIx>> = HashMap::new();
    nodes.iter().for_each(|(ix, frame, _)| _ = reached.entry(frame).or_default().insert(*ix));
    let root = FramePath::root();
    let counts = |frame: &&FrameRow| matches!(frame.state, FrameState::Open) && !standing.undone.contains(&frame.path);
    let open = standing.frames.iter().filter(counts).map(|frame| &frame.path);
    let own = Some(&root).filter(|_| standing.run.ended_at().is_none());
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
fn notes(ir: &Ir, standing: &Standing, nodes: &[(NodeIx, FramePath, NodeView)], stands: &mut [Stand]) {
    let turns = turns_of(&standing.frames, &standing.undone);
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
            sum.undone += counts.undone;
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
        for (number, what) in [(sum.failed, "failed"), (sum.dropped, "dropped"), (sum.undone, "undone")] {
            if number > 0 {
                note.push_str(&format!(", {number} {what}"));
            }
        }
        stands[ix.at()].note = note;
    }
}
