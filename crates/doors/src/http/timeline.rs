//! `/v1/runs/{run}/timeline`: when each node of a run did what, told by the records of its nodes and of their tasks.

mod fold;
mod paint;
mod track;

use super::Door;
use super::answer::{Json, No};
use super::body::{Named, Params};
use super::graph::picture;
use super::run::definition;
use super::runs::now;
use crate::wire::*;
use axum::extract::State;
use axum::response::IntoResponse;
use engine::Engine;
use kernel::ids::{RecordSeq, RunId};
use kernel::ir::Ir;
use kernel::names::NodeId;
use kernel::rejection::Rejection;
use kernel::run::Run;
use store::StoreError;
use track::Tracks;

/// Records of a run that are looked at, and of these at once.
const RECORDS_MAX: usize = 100_000;
const PAGE: usize = 1_000;

/// When each node of a run did what: waited in its queue, ran, was tried again, slept, asked.
#[utoipa::path(get, path = "/v1/runs/{run}/timeline", tag = "runs", params(("run" = String, Path), TimelineQuery),
    responses((status = 200, body = Timeline)))]
pub async fn timeline(
    State(door): State<Door>,
    Named(run): Named<RunId>,
    Params(query): Params<TimelineQuery>,
) -> Result<Json<Timeline>, No> {
    Ok(Json(asked(&door, run, query).await?))
}

/// The same as SVG.
#[utoipa::path(get, path = "/v1/runs/{run}/timeline.svg", tag = "runs", params(("run" = String, Path), TimelineQuery),
    responses((status = 200, body = String, content_type = "image/svg+xml")))]
pub async fn timeline_svg(
    State(door): State<Door>,
    Named(run): Named<RunId>,
    Params(query): Params<TimelineQuery>,
) -> Result<impl IntoResponse, No> {
    Ok(picture(paint::svg(&asked(&door, run, query).await?)))
}

async fn asked(door: &Door, run: RunId, query: TimelineQuery) -> Result<Timeline, No> {
    let limit = page_limit(Some(query.limit.unwrap_or(TIMELINE_ROWS_DEFAULT)))?;
    let found = door.blocking(move |engine| whole(engine, run, &query, limit)).await?;
    Ok(found.ok_or(Rejection::RunNotFound { run })??)
}

fn whole(
    engine: &Engine,
    id: RunId,
    query: &TimelineQuery,
    limit: usize,
) -> Result<Option<Result<Timeline, Problem>>, StoreError> {
    let Some(row) = engine.read(|reader| reader.run(id))? else { return Ok(None) };
    let run = Run::from_row(&row.values)?;
    let ir = definition(engine, &run)?;
    if let (Some(node), Some(ir)) = (&query.node, ir.as_deref())
        && ir.find(node).is_none()
    {
        return Ok(Some(Err(not_a_node(id, node, ir))));
    }
    let (mut tracks, mut after, mut left, mut more) = (Tracks::default(), RecordSeq::NONE, RECORDS_MAX, false);
    loop {
        let page = engine.read(|reader| reader.run_history(id, after, PAGE.min(left) + 1, true))?;
        let taken = page.len().min(PAGE).min(left);
        page[..taken].iter().for_each(|entry| tracks.take(entry));
        left -= taken;
        match page.get(taken) {
            Some(_) if left > 0 => after = page[taken - 1].seq,
            next => {
                more = more || next.is_some();
                break;
            }
        }
    }
    let ended_at = run.ended_at().map(Instant);
    let until = ended_at.unwrap_or_else(|| Instant(now())).max(Instant(run.started_at()));
    let mut tracks = tracks.ended(until);
    tracks.retain(|track| query.node.as_ref().is_none_or(|node| track.at.node == *node));
    let folded = if query.all || query.node.is_some() { fold::apart(tracks) } else { fold::folded(tracks) };
    let mut rows = fold::rows(folded, ir.as_deref(), (Instant(run.started_at()), until));
    let left_out = rows.len().saturating_sub(limit) as u64;
    rows.truncate(limit);
    let (workflow, version) = (run.spec().workflow.clone(), run.spec().version);
    let (status, started_at) = (run.status().into(), Instant(run.started_at()));
    Ok(Some(Ok(Timeline { run: id, workflow, version, status, started_at, ended_at, until, rows, left_out, more })))
}

fn not_a_node(run: RunId, node: &NodeId, ir: &Ir) -> Problem {
    let known = ir.nodes.iter().map(|node| node.id.as_str());
    let meant = flow::problem::did_you_mean(node.as_str(), known).map_or_else(String::new, |meant| format!("; {meant}"));
    let fix = "name a node as its definition does, such as pay; leave it out for all of them";
    Problem::new("node_not_found", format!("`{node}` is not a node of {run}{meant}"), fix)
}

#[cfg(test)]
mod tests;
