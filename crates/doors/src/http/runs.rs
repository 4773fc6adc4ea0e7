//! `/v1/runs`: start, list and change them. How one is looked into is in `run.rs`.

use super::Door;
use super::answer::{Json, No, unexpected};
use super::body::{Body, Named, Params};
use super::run::{frames_of, undone};
use super::values::is_another;
use super::workflows::unknown;
use crate::wire::{self, *};
use axum::extract::State;
use axum::http::StatusCode;
use engine::{Answer, Engine};
use flow::input::InputSchema;
use kernel::command::{Command, NewRun, Reply};
use kernel::ids::RunId;
use kernel::names::WorkflowName;
use kernel::node::Started;
use kernel::record::Payload;
use kernel::row::NodeRow;
use kernel::run::{NodeAt, Run};
use kernel::time::Time;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use store::{Reader, StoreError};

/// Start a run of a workflow.
#[utoipa::path(post, path = "/v1/runs", tag = "runs", request_body = RunStart,
    responses((status = 201, body = RunStarted), (status = 200, body = RunStarted, description = "the idempotency key was used before")))]
pub async fn start(State(door): State<Door>, Body(body): Body<RunStart>) -> Result<(StatusCode, Json<RunStarted>), No> {
    let by = signed_by(body.by.clone());
    let new = checked(&door, body.into_new_run(now())?).await?;
    let input = new.input.clone();
    match door.command(Command::StartRun { new: Box::new(new), by }).await? {
        Reply::Started { run, duplicate: false } => {
            Ok((StatusCode::CREATED, Json(RunStarted { run, duplicate: false, input_differs: false })))
        }
        Reply::Started { run, .. } => {
            let input_differs = door.blocking(move |engine| Ok(differs(engine, run, &input))).await?;
            Ok((StatusCode::OK, Json(RunStarted { run, duplicate: true, input_differs })))
        }
        other => Err(unexpected(&Answer::Reply(Ok(other)))),
    }
}

/// Whether a run was started with another input than this; one that is gone meanwhile was not.
fn differs(engine: &Engine, run: RunId, input: &Payload) -> bool {
    let before = engine.read(|reader| reader.run(run)?.map(|row| Ok(Run::from_row(&row.values)?.input())).transpose());
    is_another(engine, before, input)
}

pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_us(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// The run with its input held against the workflow's schema, and its version fixed to the one that was checked: a newer
/// one that is put meanwhile may ask for another input.
async fn checked(door: &Door, new: NewRun) -> Result<NewRun, No> {
    let schemas = door.inputs.clone();
    let found = door.blocking(move |engine| {
        let Some((workflow, ir)) = engine.workflow(&new.workflow, new.version)? else {
            return Ok(Err(unknown(engine, new.workflow, new.version)?));
        };
        let version = workflow.version();
        let schema = ir.input_schema.as_deref().map(|schema| schemas.get(&new.workflow, version, schema));
        if let Some(problem) = schema.and_then(|schema| misfit(schema, &new.workflow, version, &new.input)) {
            return Ok(Err(problem));
        }
        Ok(Ok(NewRun { version: Some(version), ..new }))
    });
    Ok(found.await??)
}

/// What is wrong with an input for what a run follows.
pub fn misfit(
    schema: Result<Arc<InputSchema>, String>,
    workflow: &WorkflowName,
    version: u32,
    input: &Payload,
) -> Option<Problem> {
    let misfits = match schema {
        Ok(schema) => schema.misfits(&serde_json::from_str(input.text()).unwrap_or_default()),
        Err(why) => {
            let message = format!("the input of workflow `{workflow}` version {version} is no JSON Schema: {why}");
            return Some(Problem::new("invalid_workflow", message, "put a version with a schema that can be used"));
        }
    };
    if misfits.is_empty() {
        return None;
    }
    let message = flow::input::told(workflow, version, &misfits);
    let fix = "send an input as the workflow's `input` says; show the workflow to see it";
    let show = NextAction {
        command: format!("signaller workflow show {workflow} --version {version} --text"),
        description: "see what it takes".to_owned(),
    };
    Some(Problem {
        next_actions: vec![show],
        ..Problem::new("invalid_input", message, fix).problems(misfits.into_iter().map(ProblemAt::from).collect())
    })
}

/// List runs, newest first.
#[utoipa::path(get, path = "/v1/runs", tag = "runs", params(RunQuery), responses((status = 200, body = RunList)))]
pub async fn list(State(door): State<Door>, Params(query): Params<RunQuery>) -> Result<Json<RunList>, No> {
    let limit = page_limit(query.limit)?;
    let before = match &query.cursor {
        None => None,
        Some(cursor) => Some(RunId::parse(cursor).ok_or_else(|| wrong_cursor(cursor))?),
    };
    let wire::RunQuery { workflow, status, paused, tag, parent, called, idempotency_key, .. } = query;
    let status = status.map(Into::into);
    // One more than shown tells whether there is a next page.
    let limits = store::RunQuery { before, limit: limit + 1, ..store::RunQuery::default() };
    let asked = store::RunQuery { workflow, status, paused, tag, parent, called, idempotency_key, ..limits };
    let found = door.read(move |reader| {
        let rows = reader.runs(&asked)?;
        let more = rows.len() > limit;
        let runs = rows.iter().take(limit).map(|row| Run::from_row(&row.values)).collect::<Result<Vec<_>, _>>()?;
        let mut views: Vec<RunView> = runs.iter().map(RunView::from).collect();
        if let Some(parent) = parent {
            let undone = called_for_nothing(reader, parent, &runs)?;
            views.iter_mut().for_each(|view| view.undone = undone.contains(&view.run));
        }
        Ok((views, more))
    });
    let (runs, more) = found.await?;
    let next = runs.last().filter(|_| more).map(|run| run.run.to_string());
    Ok(Json(RunList { runs, next }))
}

/// Of the runs that a run has called: those whose node was restarted since, or stands in a turn or an item that is undone.
fn called_for_nothing(reader: &mut dyn Reader, parent: RunId, called: &[Run]) -> Result<HashSet<RunId>, StoreError> {
    let Some(caller) = reader.run(parent)?.map(|row| Run::from_row(&row.values)).transpose()? else {
        return Ok(HashSet::new());
    };
    if caller.generation() == 0 {
        return Ok(HashSet::new());
    }
    let frames = frames_of(reader, &caller)?;
    let undone = undone(reader, &caller, &frames)?;
    let mut found = HashSet::new();
    for run in called {
        let Some(at) = &run.spec().parent else { continue };
        let row = reader.node(at)?.map(|row| NodeRow::from_row(&row.values)).transpose()?;
        let work = row.as_ref().and_then(|row| row.slot.work()).map(|(_, at)| at);
        let is_its = matches!(work, Some(Started::Calling { run: called, .. }) if *called == run.id());
        if undone.contains(&at.frame) || !is_its {
            found.insert(run.id());
        }
    }
    Ok(found)
}

pub fn wrong_cursor(cursor: &str) -> Problem {
    let fix = "send the `next` of the page before, or leave it out for the first page";
    let shown: String = cursor.chars().take(80).collect();
    Problem::new("invalid", format!("`{shown}` is not a cursor of this list"), fix)
}

async fn changed(door: &Door, command: Command) -> Result<Json<RunNow>, No> {
    match door.command(command).await? {
        Reply::Run { run, status, changed } => Ok(Json(RunNow::new(run, status.into(), changed))),
        other => Err(unexpected(&Answer::Reply(Ok(other)))),
    }
}

/// Cancel a run: what waits in it is dropped, what runs is asked to stop. The node that called it, if any, fails by that.
#[utoipa::path(post, path = "/v1/runs/{run}/cancel", tag = "runs", params(("run" = String, Path)), request_body = RunChange,
    responses((status = 200, body = RunNow)))]
pub async fn cancel(State(door): State<Door>, Named(run): Named<RunId>, Body(body): Body<RunChange>) -> Result<Json<RunNow>, No> {
    let why = wire::reason("reason", body.reason)?;
    let Json(now) = changed(&door, Command::CancelRun { run, by: signed_by(body.by), reason: why }).await?;
    let row = door.read(move |reader| reader.run(run)).await?;
    let caller = match row {
        Some(row) => Run::from_row(&row.values)?.spec().parent.as_ref().map(NodeAt::show),
        None => None,
    };
    Ok(Json(RunNow { caller, ..now }))
}

/// Begin nothing new in a run; what runs may finish.
#[utoipa::path(post, path = "/v1/runs/{run}/pause", tag = "runs", params(("run" = String, Path)), request_body = RunChange,
    responses((status = 200, body = RunNow)))]
pub async fn pause(State(door): State<Door>, Named(run): Named<RunId>, Body(body): Body<RunChange>) -> Result<Json<RunNow>, No> {
    let why = wire::reason("reason", body.reason)?;
    changed(&door, Command::PauseRun { run, by: signed_by(body.by), reason: why }).await
}

/// Go on with a run that was paused.
#[utoipa::path(post, path = "/v1/runs/{run}/resume", tag = "runs", params(("run" = String, Path)), request_body = Signed,
    responses((status = 200, body = RunNow)))]
pub async fn resume(State(door): State<Door>, Named(run): Named<RunId>, Body(body): Body<Signed>) -> Result<Json<RunNow>, No> {
    changed(&door, Command::ResumeRun { run, by: signed_by(body.by) }).await
}

/// Delete a run that has ended, with its nodes, their tasks, and its history.
#[utoipa::path(delete, path = "/v1/runs/{run}", tag = "runs", params(("run" = String, Path), RunDelete),
    responses((status = 200, body = RunNow)))]
pub async fn delete(
    State(door): State<Door>,
    Named(run): Named<RunId>,
    Params(params): Params<RunDelete>,
) -> Result<Json<RunNow>, No> {
    changed(&door, Command::DeleteRun { run, by: signed_by(params.by) }).await
}
