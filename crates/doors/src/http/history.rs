//! `/v1/runs/{run}/history`: its records, with what they alone do not say: who answered, and why a node was skipped.

use super::Door;
use super::answer::{Json, No};
use super::body::{Named, Params};
use super::change::tell_patches;
use super::node::Frames;
use super::runs::wrong_cursor;
use super::values::shown;
use crate::wire::*;
use axum::extract::State;
use engine::Engine;
use kernel::ids::{RecordSeq, RunId};
use kernel::ir::{Ir, NodeKind};
use kernel::record::{Entry, Owner};
use kernel::rejection::Rejection;
use kernel::run::{NodeAt, Run};
use std::sync::Arc;
use store::{Reader, StoreError};

/// Everything that happened in a run, to its nodes and to their tasks, oldest first.
#[utoipa::path(get, path = "/v1/runs/{run}/history", tag = "runs", params(("run" = String, Path), RunHistoryQuery),
    responses((status = 200, body = RunHistory)))]
pub async fn history(
    State(door): State<Door>,
    Named(run): Named<RunId>,
    Params(query): Params<RunHistoryQuery>,
) -> Result<Json<RunHistory>, No> {
    let limit = page_limit(query.limit)?;
    let after = match &query.cursor {
        None => RecordSeq::NONE,
        Some(cursor) => Cursor::parse(cursor).ok_or_else(|| wrong_cursor(cursor))?.0,
    };
    let found = door.blocking(move |engine| {
        let Some(row) = engine.read(|reader| reader.run(run))? else { return Ok(None) };
        let whose = Run::from_row(&row.values)?;
        let ir = engine.definition(&whose, None)?.map(|followed| followed.ir);
        let found = engine.read(|reader| {
            let entries = reader.run_history(run, after, limit + 1, true)?;
            let records = told(reader, engine, ir.as_ref(), &entries[..limit.min(entries.len())])?;
            let next = records.last().filter(|_| entries.len() > limit).map(|record| record.seq);
            Ok(RunHistory { records, next })
        });
        let mut history = found?;
        tell_patches(engine, &whose, &mut history.records)?;
        Ok(Some(history))
    });
    Ok(Json(found.await?.ok_or(Rejection::RunNotFound { run })?))
}

fn told(
    reader: &mut dyn Reader,
    engine: &Engine,
    ir: Option<&Arc<Ir>>,
    entries: &[Entry],
) -> Result<Vec<RecordView>, StoreError> {
    let mut whole = Frames::default();
    let mut records = Vec::with_capacity(entries.len());
    for entry in entries {
        let mut view = RecordView::from(entry);
        if let (Owner::Node(at), Some(ir)) = (&entry.owner, ir) {
            match &mut view.record {
                RecordBody::NodeDone { answer, .. } if is_approval(ir, at) => {
                    let payload = entry.payload.clone().map_or(Ok(None), |payload| shown(engine.blobs(), payload))?;
                    *answer = payload.and_then(|text| serde_json::from_str(text.get()).ok());
                }
                RecordBody::NodeSkipped { why, .. } => {
                    whole.look(reader, ir, at.run, &at.frame)?;
                    *why = whole.why(&at.frame, &at.node);
                }
                _ => {}
            }
        }
        records.push(view);
    }
    Ok(records)
}

fn is_approval(ir: &Ir, at: &NodeAt) -> bool {
    ir.find(&at.node).is_some_and(|node| matches!(ir.node(node).kind, NodeKind::Approval { .. }))
}
