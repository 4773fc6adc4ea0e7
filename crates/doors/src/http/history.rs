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
use kernel::ids::{RecordSeq, RunId};
use kernel::ir::{Ir, NodeKind};
use kernel::record::{Entry, Owner, Payload};
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
        let (mut history, answers) = engine.read(|reader| {
            let entries = reader.run_history(run, after, limit + 1, true)?;
            let (records, answers) = told(reader, ir.as_ref(), &entries[..limit.min(entries.len())])?;
            let next = records.last().filter(|_| entries.len() > limit).map(|record| record.seq);
            Ok((RunHistory { records, next }, answers))
        })?;
        for (record, said) in answers {
            if let RecordBody::NodeDone { answer, .. } = &mut history.records[record].record {
                *answer = shown(engine, said)?.and_then(|text| serde_json::from_str(text.get()).ok());
            }
        }
        tell_patches(engine, &whose, &mut history.records)?;
        Ok(Some(history))
    });
    Ok(Json(found.await?.ok_or(Rejection::RunNotFound { run })?))
}

/// Records by their numbers, and what was answered in them.
type Answers = Vec<(usize, Option<Payload>)>;

fn told(reader: &mut dyn Reader, ir: Option<&Arc<Ir>>, entries: &[Entry]) -> Result<(Vec<RecordView>, Answers), StoreError> {
    let (mut whole, mut answers) = (Frames::default(), Vec::new());
    let mut records = Vec::with_capacity(entries.len());
    for entry in entries {
        let mut view = RecordView::from(entry);
        if let (Owner::Node(at), Some(ir)) = (&entry.owner, ir) {
            match &mut view.record {
                RecordBody::NodeDone { .. } if is_approval(ir, at) => answers.push((records.len(), entry.payload.clone())),
                RecordBody::NodeSkipped { why, .. } => {
                    whole.look(reader, ir, at.run, &at.frame)?;
                    *why = whole.why(&at.frame, &at.node);
                }
                _ => {}
            }
        }
        records.push(view);
    }
    Ok((records, answers))
}

fn is_approval(ir: &Ir, at: &NodeAt) -> bool {
    ir.find(&at.node).is_some_and(|node| matches!(ir.node(node).kind, NodeKind::Approval { .. }))
}
