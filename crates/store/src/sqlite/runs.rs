//! Queries about workflows and their runs as SQL: what follows the `SELECT`, and the parameters in order.

use super::cold::limited;
use crate::store::{ApprovalQuery, NodeQuery, RunQuery};
use kernel::names::WorkflowName;
use kernel::row::Value;
use kernel::run::RunStatus;

pub(super) const WORKFLOWS_NEWEST: &str =
    "WHERE version = (SELECT max(other.version) FROM workflows AS other WHERE other.name = workflows.name) ORDER BY name";

pub(super) fn workflow(name: &WorkflowName, version: Option<u32>) -> (&'static str, Vec<Value>) {
    let name = name.shared().into();
    match version {
        Some(version) => ("WHERE name = ? AND version = ?", vec![name, Value::Int(version.into())]),
        None => ("WHERE name = ? ORDER BY version DESC LIMIT 1", vec![name]),
    }
}

pub(super) fn runs(query: &RunQuery) -> (String, Vec<Value>) {
    let upto = query.before.map_or(i64::MAX, |before| before.number() - 1);
    let above = query.after.map_or(-1, |after| after.number());
    let mut sql = String::from("WHERE id > ? AND id <= ? AND deleting IS NULL");
    let mut parameters = vec![Value::Int(above), Value::Int(upto)];
    // One that runs is live, and so is one that is paused; of these there are few beside all that have ended.
    if query.status == Some(RunStatus::Running) || query.paused == Some(true) {
        sql = format!("INDEXED BY runs_live {sql} AND live = 1");
    }
    if let Some(status) = query.status {
        sql.push_str(&format!(" AND status = '{}'", status.as_str()));
    }
    if let Some(workflow) = &query.workflow {
        sql.push_str(" AND workflow = ?");
        parameters.push(workflow.shared().into());
    }
    if let Some(key) = &query.idempotency_key {
        sql.push_str(" AND idempotency_key = ?");
        parameters.push(key.shared().into());
    }
    match query.paused {
        Some(true) => sql.push_str(" AND (pause IS NOT NULL OR held = 1)"),
        Some(false) => sql.push_str(" AND pause IS NULL AND held IS NULL"),
        None => {}
    }
    if let Some(parent) = query.parent {
        sql.push_str(" AND parent ->> 'run' = ?");
        parameters.push(parent.to_string().as_str().into());
    }
    match query.called {
        Some(true) => sql.push_str(" AND parent IS NOT NULL"),
        Some(false) => sql.push_str(" AND parent IS NULL"),
        None => {}
    }
    if let Some(tag) = &query.tag {
        sql.push_str(" AND EXISTS (SELECT 1 FROM json_each(tags) AS t WHERE t.value = ?)");
        parameters.push(tag.shared().into());
    }
    sql.push_str(if query.oldest_first { " ORDER BY id LIMIT ?" } else { " ORDER BY id DESC LIMIT ?" });
    parameters.push(limited(query.limit));
    (sql, parameters)
}

pub(super) fn nodes(query: &NodeQuery) -> (String, Vec<Value>) {
    let (mut sql, mut parameters) = (String::from("WHERE run = ?"), vec![Value::Int(query.run.number())]);
    if let Some(frame) = &query.frame {
        sql.push_str(" AND frame = ?");
        parameters.push(frame.to_string().as_str().into());
    }
    if let Some((frame, node)) = &query.after {
        sql.push_str(" AND (frame, node) > (?, ?)");
        parameters.extend([frame.to_string().as_str().into(), node.shared().into()]);
    }
    if let Some(status) = &query.status {
        sql.push_str(" AND status = ?");
        parameters.push(status.as_str().into());
    }
    sql.push_str(" ORDER BY frame, node LIMIT ?");
    parameters.push(limited(query.limit));
    (sql, parameters)
}

pub(super) fn approvals(query: &ApprovalQuery) -> (String, Vec<Value>) {
    let (mut sql, mut parameters) = (String::from("WHERE status = 'started' AND work = 'asking'"), Vec::new());
    if let Some((since, at)) = &query.after {
        // The first condition alone says it to the index.
        sql.push_str(" AND since >= ? AND (since, run, frame, node) > (?, ?, ?, ?)");
        let (frame, node) = (at.frame.to_string().as_str().into(), at.node.shared().into());
        parameters.extend([(*since).into(), (*since).into(), Value::Int(at.run.number()), frame, node]);
    }
    if let Some(workflow) = &query.workflow {
        sql.push_str(" AND EXISTS (SELECT 1 FROM runs WHERE runs.id = nodes.run AND runs.workflow = ?)");
        parameters.push(workflow.shared().into());
    }
    sql.push_str(" ORDER BY since, run, frame, node LIMIT ?");
    parameters.push(limited(query.limit));
    (sql, parameters)
}
