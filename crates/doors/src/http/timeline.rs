//! `/v1/runs/{run}/timeline`: when each node of a run did what, told by the records of its nodes and of their tasks.

mod fold;
mod paint;
mod track;

use super::Door;
use super::answer::{Json, No};
use super::body::{Named, Params};
use super::graph::picture;
use super::node::body_of;
use super::run::undone;
use super::runs::now;
use super::texts::Texts;
use crate::wire::*;
use axum::extract::State;
use axum::response::IntoResponse;
use engine::Engine;
use kernel::frame::{FramePath, FrameState};
use kernel::ids::{RecordSeq, RunId};
use kernel::ir::Ir;
use kernel::names::NodeId;
use kernel::rejection::Rejection;
use kernel::row::FrameRow;
use kernel::run::{NodeAt, Run};
use std::collections::HashSet;
use store::StoreError;
use track::{Track, Tracks};

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
    // Every frame has a record of its own, so there are not more to be seen.
    let found = engine.read(|reader| {
        let Some(row) = reader.run(id)? else { return Ok(None) };
        let run = Run::from_row(&row.values)?;
        let frames = reader.frames(id, RECORDS_MAX)?;
        let frames = frames.iter().map(|row| FrameRow::from_row(&row.values)).collect::<Result<Vec<_>, _>>()?;
        let undone = undone(reader, &run, &frames)?;
        Ok(Some((run, frames, undone)))
    })?;
    let Some((run, frames, undone)) = found else { return Ok(None) };
    let mut texts = Texts::now(engine, &run, &frames)?;
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
    let moments = tracks.moments().to_vec();
    let mut tracks = tracks.ended(until, &undone);
    if let (Some(node), Some(ir)) = (&query.node, texts.newest())
        && ir.find(node).is_none()
        && !tracks.iter().any(|track| track.at.node == *node)
    {
        return Ok(Some(Err(not_a_node(id, node, ir))));
    }
    if !query.all_generations {
        tracks.retain(|track| !track.undone);
        tracks.iter_mut().for_each(|track| track.spans.retain(|span| !span.undone));
    }
    texts.look_for(engine, &run, tracks.iter().map(|track| &track.at))?;
    // What was taken out before it came to anything is not missed.
    tracks.retain(|track| track.status != NodeStatus::Waiting || !track.spans.is_empty() || texts.removed(&track.at).is_none());
    if run.ended_at().is_none() {
        let open = frames.iter().filter(|frame| frame.state == FrameState::Open && !undone.contains(&frame.path));
        waiting(&mut tracks, id, &texts, open.map(|frame| frame.path.clone()));
    } else {
        tracks.retain(|track| track.status != NodeStatus::Waiting || !track.spans.is_empty());
    }
    tracks.retain(|track| query.node.as_ref().is_none_or(|node| track.at.node == *node));
    let folded = if query.all || query.node.is_some() { fold::apart(tracks) } else { fold::folded(tracks) };
    let mut rows = fold::rows(folded, &texts, (Instant(run.started_at()), until));
    let left_out = rows.len().saturating_sub(limit) as u64;
    rows.truncate(limit);
    let (workflow, version) = (run.spec().workflow.clone(), run.spec().version);
    let (status, started_at) = (run.status().into(), Instant(run.started_at()));
    let (revision, generation) = (run.revision(), run.generation());
    Ok(Some(Ok(Timeline {
        run: id,
        workflow,
        version,
        revision,
        generation,
        status,
        started_at,
        ended_at,
        until,
        moments,
        rows,
        left_out,
        more,
    })))
}

/// Nodes that nothing has happened to yet, of the run's own frame and of the turns and items that are open.
fn waiting(tracks: &mut Vec<Track>, run: RunId, texts: &Texts, open: impl Iterator<Item = FramePath>) {
    let known: HashSet<NodeAt> = tracks.iter().map(|track| track.at.clone()).collect();
    for frame in std::iter::once(FramePath::root()).chain(open) {
        let Some((ir, body)) = texts.at(&frame).and_then(|ir| Some((ir, body_of(ir, &frame)?))) else { continue };
        for node in &ir.body(body).nodes {
            let at = NodeAt { run, frame: frame.clone(), node: ir.node(*node).id.clone() };
            if !known.contains(&at) {
                tracks.push(Track::new(at));
            }
        }
    }
}

fn not_a_node(run: RunId, node: &NodeId, ir: &Ir) -> Problem {
    let known = ir.nodes.iter().map(|node| node.id.as_str());
    let meant = flow::problem::did_you_mean(node.as_str(), known).map_or_else(String::new, |meant| format!("; {meant}"));
    let fix = "name a node as its definition does, such as pay; leave it out for all of them";
    Problem::new("node_not_found", format!("`{node}` is not a node of {run}{meant}"), fix)
}

#[cfg(test)]
mod tests;
