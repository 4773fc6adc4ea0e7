//! `/v1/approvals`: what waits for somebody's answer.

use super::Door;
use super::answer::{Json, No, unexpected};
use super::body::{Body, Params};
use super::values::shown;
use crate::wire::*;
use axum::extract::State;
use engine::{Answer, Engine};
use kernel::command::{Command, Reply};
use kernel::ir::NodeKind;
use kernel::names::reason;
use kernel::node::Started;
use kernel::row::NodeRow;
use kernel::run::{NodeAt, Run};
use store::StoreError;

/// List what waits for somebody's answer, the longest waiting first.
#[utoipa::path(get, path = "/v1/approvals", tag = "approvals", params(ApprovalQuery),
    responses((status = 200, body = ApprovalList)))]
pub async fn list(State(door): State<Door>, Params(query): Params<ApprovalQuery>) -> Result<Json<ApprovalList>, No> {
    let limit = page_limit(query.limit)?;
    let approvals = door.blocking(move |engine| {
        let rows = engine.read(|reader| reader.approvals(query.workflow.as_ref(), limit))?;
        let each = rows.iter().map(|row| view(engine, &NodeRow::from_row(&row.values)?));
        Ok(each.collect::<Result<Vec<_>, StoreError>>()?.into_iter().flatten().collect())
    });
    Ok(Json(ApprovalList { approvals: approvals.await? }))
}

/// `None`: its run is gone meanwhile.
fn view(engine: &Engine, row: &NodeRow) -> Result<Option<ApprovalView>, StoreError> {
    let found = engine.read(|reader| {
        let run = reader.run(row.at.run)?;
        // The question rides with the record that says it was asked: a node that asks has none after it.
        Ok(run.zip(reader.payloads(&[row.slot.last()])?.pop()))
    })?;
    let Some((run, message)) = found else { return Ok(None) };
    let run = Run::from_row(&run.values)?;
    let message = message.map_or(Ok(None), |message| shown(engine.blobs(), message))?;
    let spec = run.spec();
    let ir = engine.workflow(&spec.workflow, Some(spec.version))?.map(|(_, ir)| ir);
    let kind = ir.as_ref().and_then(|ir| ir.find(&row.at.node).map(|node| &ir.node(node).kind));
    let who = match kind {
        Some(NodeKind::Approval { who, .. }) => who.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    };
    let Some((since, Started::Asking { until })) = row.slot.work() else { return Ok(None) };
    Ok(Some(ApprovalView {
        node: row.at.show(),
        run: row.at.run,
        workflow: spec.workflow.clone(),
        message,
        who,
        since: since.into(),
        until: until.map(Instant),
    }))
}

/// Answer yes or no.
#[utoipa::path(post, path = "/v1/approvals", tag = "approvals", request_body = ApprovalAnswer,
    responses((status = 200, body = ApprovalAnswered)))]
pub async fn answer(State(door): State<Door>, Body(body): Body<ApprovalAnswer>) -> Result<Json<ApprovalAnswered>, No> {
    let ApprovalAnswer { node, approved, by, comment } = body;
    let unknown = || {
        let shown: String = node.chars().take(80).collect();
        let fix = "a node is named as run-7/ask or run-7/rounds[1]/ask; list approvals to see what waits for an answer";
        Problem::new("node_not_found", format!("`{shown}` is not a node of a run"), fix)
    };
    let at = NodeAt::parse(&node).ok_or_else(unknown)?;
    let (by, comment) = (signed_by(by), reason(&comment.unwrap_or_default()));
    match door.command(Command::Answer { at, approved, comment, by: by.clone() }).await? {
        Reply::Done => Ok(Json(ApprovalAnswered { node, approved, by })),
        other => Err(unexpected(&Answer::Reply(Ok(other)))),
    }
}
