//! `/v1/approvals`: what waits for somebody's answer.

use super::Door;
use super::answer::{Json, No, unexpected};
use super::body::{Body, Params};
use super::runs::wrong_cursor;
use super::values::{shown, value};
use crate::wire::*;
use axum::extract::State;
use engine::{Answer, Engine, Request};
use kernel::command::{Command, Reply};
use kernel::ir::NodeKind;
use kernel::node::{NodeState, Output, Slot, Started};
use kernel::rejection::Rejection;
use kernel::row::NodeRow;
use kernel::run::{NodeAt, Run};
use kernel::time::Time;
use store::{NodeQuery, StoreError};

/// To find one that is meant.
const NODES_LOOKED_AT: usize = 1_000;

/// List what waits for somebody's answer, the longest waiting first.
#[utoipa::path(get, path = "/v1/approvals", tag = "approvals", params(ApprovalQuery),
    responses((status = 200, body = ApprovalList)))]
pub async fn list(State(door): State<Door>, Params(query): Params<ApprovalQuery>) -> Result<Json<ApprovalList>, No> {
    let limit = page_limit(query.limit)?;
    let after = match &query.cursor {
        None => None,
        Some(cursor) => Some(cursor_read(cursor).ok_or_else(|| wrong_cursor(cursor))?),
    };
    let asked = store::ApprovalQuery { workflow: query.workflow, after, limit: limit + 1 };
    let list = door.blocking(move |engine| {
        let rows = engine.read(|reader| reader.approvals(&asked))?;
        let rows = rows.iter().map(|row| NodeRow::from_row(&row.values)).collect::<Result<Vec<_>, _>>()?;
        let more = rows.len() > limit;
        let next = rows.iter().take(limit).next_back().filter(|_| more).and_then(cursor_of);
        let each = rows.iter().take(limit).map(|row| view(engine, row));
        let approvals = each.collect::<Result<Vec<_>, StoreError>>()?.into_iter().flatten().collect();
        Ok(ApprovalList { approvals, next })
    });
    Ok(Json(list.await?))
}

/// `1794733020250000~run-7/rounds[1]/ask`: since when it asks, and where it is.
fn cursor_of(row: &NodeRow) -> Option<String> {
    row.slot.work().map(|(since, _)| format!("{}~{}", since.us(), row.at.show()))
}

fn cursor_read(cursor: &str) -> Option<(Time, NodeAt)> {
    let (since, at) = cursor.split_once('~')?;
    Some((Time::from_us(since.parse().ok()?), NodeAt::parse(at)?))
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
    let message = shown(engine, message)?;
    let spec = run.spec();
    let ir = engine.definition(&run, None)?.map(|followed| followed.ir);
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
    let (by, comment) = (signed_by(by), reason("comment", comment)?);
    let asked = Request::Command(Command::Answer { at: at.clone(), approved, comment, by: by.clone() });
    match door.ask(asked).await? {
        Answer::Reply(Ok(Reply::Done)) => Ok(Json(ApprovalAnswered { node, approved, by })),
        Answer::Reply(Err(
            rejection @ (Rejection::NotAsking { .. } | Rejection::RunEnded { .. } | Rejection::NodeNotFound { .. }),
        )) => {
            let problem = Problem::from(&rejection);
            let nothing = Rejection::NotAsking { at: at.clone(), status: "waiting" };
            let facts = door.blocking(move |engine| Ok((answered(engine, &at)?, asking_below(engine, &at)?)));
            Err(No(match facts.await? {
                (Some(answered), _) => Problem { message: format!("{node} {answered}; the first answer counts"), ..problem },
                (None, Some(asking)) => {
                    let message = format!("{node} asks nothing, but {asking} does");
                    Problem { message, fix: format!("answer {asking}"), ..Problem::from(&nothing) }
                }
                (None, None) => problem,
            }))
        }
        Answer::Reply(Err(rejection)) => Err(rejection.into()),
        other => Err(unexpected(&other)),
    }
}

/// How an approval was answered before, and when.
fn answered(engine: &Engine, at: &NodeAt) -> Result<Option<String>, StoreError> {
    let Some(row) = engine.read(|reader| reader.node(at))? else { return Ok(None) };
    let slot = NodeRow::from_row(&row.values)?.slot;
    let when = slot.ended_at().map_or_else(String::new, |at| format!(" at {}", Instant(at)));
    Ok(match slot.state() {
        NodeState::Failed { failure, .. } if &*failure.code == "rejected" => {
            Some(format!("was answered with no{when}: {}", failure.message))
        }
        _ => answer_of(engine, &slot)?.map(|answer| {
            let word = if answer.approved { "yes" } else { "no" };
            let comment = if answer.comment.is_empty() { String::new() } else { format!(": {}", answer.comment) };
            format!("was answered with {word} by {}{when}{comment}", answer.by)
        }),
    })
}

/// Of a node in the body of a loop or an each that was named without its turn or item: one that asks.
fn asking_below(engine: &Engine, at: &NodeAt) -> Result<Option<String>, StoreError> {
    let query = NodeQuery { status: Some("started".into()), ..NodeQuery::of(at.run, NODES_LOOKED_AT) };
    let rows = engine.read(|reader| reader.nodes(&query))?;
    let rows = rows.iter().map(|row| NodeRow::from_row(&row.values)).collect::<Result<Vec<_>, _>>()?;
    let asks = |row: &&NodeRow| row.at.node == at.node && matches!(row.slot.work(), Some((_, Started::Asking { .. })));
    Ok(rows.iter().find(asks).map(|row| row.at.show()))
}

/// What somebody answered a node that asked and is done.
pub fn answer_of(engine: &Engine, slot: &Slot) -> Result<Option<AnswerView>, StoreError> {
    let asked = matches!(slot.work(), Some((_, Started::Asking { .. })));
    let NodeState::Done { output: Output::At(at), .. } = slot.state() else { return Ok(None) };
    if !asked {
        return Ok(None);
    }
    Ok(value(engine, *at)?.and_then(|answer| serde_json::from_str(answer.get()).ok()))
}
