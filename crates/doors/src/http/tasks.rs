//! `/v1/tasks`.

use super::Door;
use super::answer::{Json, No, unexpected};
use super::body::{Body, Named, Params};
use super::ending;
use super::peer::Peer;
use super::values::{is_another, raw, value};
use crate::wire::{self, *};
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use engine::{Answer, Engine, Outside, Request};
use kernel::command::{Command, NewTask, Reply};
use kernel::ids::TaskId;
use kernel::lease::Lease;
use kernel::record::{Owner, Payload};
use kernel::rejection::Rejection;
use kernel::row::Row;
use kernel::run::ValueAt;
use kernel::task::Task;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use store::StoreError;

/// Records of one task shown at once.
const HISTORY_MAX: usize = 1_000;
/// What is outside and does not answer within this is not told of.
const OUTSIDE_TIME_MAX: Duration = Duration::from_secs(2);

/// Add a task.
#[utoipa::path(post, path = "/v1/tasks", tag = "tasks", request_body = TaskAdd,
    responses((status = 201, body = TaskAdded), (status = 200, body = TaskAdded, description = "the idempotency key was used before")))]
pub async fn add(State(door): State<Door>, Body(task): Body<TaskAdd>) -> Result<(StatusCode, Json<TaskAdded>), No> {
    let added = add_tasks(&door, vec![task.into_new_task()?]).await?;
    let added = added.into_iter().next().expect("one task was added");
    let status = if added.duplicate { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(added)))
}

/// Add many tasks, all of them or none.
#[utoipa::path(post, path = "/v1/tasks/batch", tag = "tasks", request_body = TasksAdd,
    responses((status = 201, body = TasksAdded)))]
pub async fn add_many(State(door): State<Door>, Body(tasks): Body<TasksAdd>) -> Result<(StatusCode, Json<TasksAdded>), No> {
    let tasks = add_tasks(&door, tasks.into_new_tasks()?).await?;
    Ok((StatusCode::CREATED, Json(TasksAdded { tasks })))
}

async fn add_tasks(door: &Door, tasks: Vec<NewTask>) -> Result<Vec<TaskAdded>, No> {
    let keyed: Vec<Option<Payload>> =
        tasks.iter().map(|new| new.spec.idempotency_key.as_ref().map(|_| new.input.clone())).collect();
    let mut added: Vec<TaskAdded> = match door.command(Command::Add { tasks }).await? {
        Reply::Added(added) => added.iter().map(TaskAdded::from).collect(),
        other => return Err(unexpected(&Answer::Reply(Ok(other)))),
    };
    if added.iter().any(|added| added.duplicate) {
        added = door.blocking(move |engine| Ok(compared(engine, added, &keyed))).await?;
    }
    Ok(added)
}

/// Those that were there already, with whether they were made with another input.
fn compared(engine: &Engine, mut added: Vec<TaskAdded>, inputs: &[Option<Payload>]) -> Vec<TaskAdded> {
    for (added, input) in added.iter_mut().zip(inputs).filter(|(added, _)| added.duplicate) {
        let Some(input) = input else { continue };
        let before =
            engine.read(|reader| reader.task(added.task)?.map(|row| Ok(Task::from_row(&row.values)?.card().input())).transpose());
        added.input_differs = is_another(engine, before, input);
    }
    added
}

/// List tasks, newest first.
#[utoipa::path(get, path = "/v1/tasks", tag = "tasks", params(TaskQuery),
    responses((status = 200, body = TaskList)))]
pub async fn list(State(door): State<Door>, Params(query): Params<TaskQuery>) -> Result<Json<TaskList>, No> {
    page(&door, query, false).await.map(Json)
}

/// One page of tasks that fit; of dead letters alone, those that are a run's affair left out.
pub async fn page(door: &Door, query: TaskQuery, dead: bool) -> Result<TaskList, No> {
    let limit = page_limit(query.limit)?;
    let before = match &query.cursor {
        None => None,
        Some(cursor) => {
            let fix = "send the `next` of the page before, or leave it out for the first page";
            let wrong = || Problem::new("invalid", format!("`{cursor}` is not a cursor of this list"), fix);
            Some(TaskId::parse(cursor).ok_or_else(wrong)?)
        }
    };
    let TaskQuery { kind, key, tag, error_code, family, .. } = query;
    let filter = wire::TaskFilter { kind, key, tag, error_code, family };
    let status = query.status.map(Into::into);
    // One more than shown tells whether there is a next page.
    let asked = store::TaskQuery { queue: query.queue, status, filter: filter.into(), tag: None, dead, before, limit: limit + 1 };
    let rows = door.read(move |reader| reader.tasks(&asked)).await?;
    let more = rows.len() > limit;
    let tasks = rows.iter().take(limit).map(view).collect::<Result<Vec<_>, No>>()?;
    let next = tasks.last().filter(|_| more).map(|task| task.task.to_string());
    Ok(TaskList { tasks, next })
}

fn view(row: &Row) -> Result<TaskView, No> {
    Ok(TaskView::from(&Task::from_row(&row.values)?))
}

/// Show a task with its input and output; with `wait_ms`, when it has ended.
#[utoipa::path(get, path = "/v1/tasks/{task}", tag = "tasks", params(("task" = String, Path), TaskShowQuery),
    responses((status = 200, body = TaskView)))]
pub async fn show(
    State(door): State<Door>,
    Extension(peer): Extension<Arc<Peer>>,
    Named(id): Named<TaskId>,
    Params(query): Params<TaskShowQuery>,
) -> Result<Json<TaskView>, No> {
    ending::wait_for(&door, &peer, Owner::Task(id), query.wait_ms).await?;
    let found = door.blocking(move |engine| with_payloads(engine, id)).await?;
    Ok(Json(found.ok_or(Rejection::TaskNotFound { task: id })?))
}

pub fn with_payloads(engine: &Engine, id: TaskId) -> Result<Option<TaskView>, StoreError> {
    let Some(row) = engine.read(|reader| reader.task(id))? else { return Ok(None) };
    let task = Task::from_row(&row.values)?;
    let mut view = TaskView::from(&task);
    // What a run's task is given is worked out of other values: its own record holds only how. Events may come whole, or several
    // at once.
    if task.card().node().is_none() && task.card().trigger().is_none() {
        view.input = value(engine, ValueAt::Record(task.card().input()))?;
    }
    if let Task::Done(done) = &task {
        view.output = value(engine, ValueAt::Record(done.output()))?;
    }
    if view.input.is_none() {
        view.input = engine.given(&task)?.and_then(raw);
    }
    if let Some(lease) = &mut view.lease
        && let Some(progress) = engine.logs().progress(id, lease.fence)
    {
        (lease.progress, lease.message) = (Some(progress.share()), progress.message);
    }
    Ok(Some(view))
}

/// Delete a task that does not run; those it blocked inherit its blockers.
#[utoipa::path(delete, path = "/v1/tasks/{task}", tag = "tasks", params(("task" = String, Path), TaskDelete),
    responses((status = 200, body = TaskStatus)))]
pub async fn delete(
    State(door): State<Door>,
    Named(task): Named<TaskId>,
    Params(params): Params<TaskDelete>,
) -> Result<Json<TaskStatus>, No> {
    changed(&door, Command::Delete { task, by: signed_by(params.by) }).await
}

async fn changed(door: &Door, command: Command) -> Result<Json<TaskStatus>, No> {
    match door.command(command).await? {
        Reply::Task { task, status } => Ok(Json(TaskStatus { task, status: status.into() })),
        other => Err(unexpected(&Answer::Reply(Ok(other)))),
    }
}

/// Cancel a task that waits or runs.
#[utoipa::path(post, path = "/v1/tasks/{task}/cancel", tag = "tasks", params(("task" = String, Path)), request_body = TaskCancel,
    responses((status = 200, body = TaskStatus)))]
pub async fn cancel(
    State(door): State<Door>,
    Named(task): Named<TaskId>,
    Body(body): Body<TaskCancel>,
) -> Result<Json<TaskStatus>, No> {
    let why = wire::reason("reason", body.reason)?;
    changed(&door, Command::Cancel { task, by: signed_by(body.by), reason: why }).await
}

/// Put a task into its queue (again), attempts starting over.
#[utoipa::path(post, path = "/v1/tasks/{task}/retry", tag = "tasks", params(("task" = String, Path)), request_body = Signed,
    responses((status = 200, body = TaskStatus)))]
pub async fn retry(
    State(door): State<Door>,
    Named(task): Named<TaskId>,
    Body(body): Body<Signed>,
) -> Result<Json<TaskStatus>, No> {
    changed(&door, Command::Retry { task, by: signed_by(body.by) }).await
}

/// Take a task out of its queue, or make a finished one idle.
#[utoipa::path(post, path = "/v1/tasks/{task}/reset", tag = "tasks", params(("task" = String, Path)), request_body = Signed,
    responses((status = 200, body = TaskStatus)))]
pub async fn reset(
    State(door): State<Door>,
    Named(task): Named<TaskId>,
    Body(body): Body<Signed>,
) -> Result<Json<TaskStatus>, No> {
    changed(&door, Command::Reset { task, by: signed_by(body.by) }).await
}

/// Run a task now, past the limits, through an override slot.
#[utoipa::path(post, path = "/v1/tasks/{task}/start", tag = "tasks", params(("task" = String, Path)), request_body = TaskStart,
    responses((status = 200, body = TaskStatus)))]
pub async fn start(
    State(door): State<Door>,
    Named(task): Named<TaskId>,
    Body(body): Body<TaskStart>,
) -> Result<Json<TaskStatus>, No> {
    changed(&door, Command::Start { task, force: body.force, worker: None, by: signed_by(body.by) }).await
}

/// Why a task is not running, or what it waits for.
#[utoipa::path(get, path = "/v1/tasks/{task}/explain", tag = "tasks", params(("task" = String, Path)),
    responses((status = 200, body = Explanation)))]
pub async fn explain(State(door): State<Door>, Named(task): Named<TaskId>) -> Result<Json<Explanation>, No> {
    match door.ask(Request::Explain { task }).await? {
        Answer::Explained(explained) => {
            let mut explanation = Explanation::from(&*explained?);
            let is_running = explanation.status == Status::Running;
            let outside = door.engine.outside();
            let is_told = outside.values().any(|outside| outside.told().is_some()) && explanation.status == Status::Queued;
            if (is_running || is_told)
                && let Some(row) = door.read(move |reader| reader.task(task)).await?
            {
                let task = Task::from_row(&row.values).map_err(StoreError::from)?;
                tell_trouble(&outside, &task, &mut explanation);
                if let Task::Running(running) = &task {
                    tell_outside(&outside, &task, running.lease(), &mut explanation).await;
                    tell_progress(&door, &task, running.lease(), &mut explanation).await?;
                }
            }
            Ok(Json(explanation))
        }
        other => Err(unexpected(&other)),
    }
}

type Outsides = BTreeMap<&'static str, Outside>;

/// That what its type goes to cannot be used now.
fn tell_trouble(outside: &Outsides, task: &Task, told: &mut Explanation) {
    let kind = task.card().route().kind();
    let Some((name, outside)) = outside.iter().find(|(_, outside)| outside.types.contains(kind)) else { return };
    let Some(trouble) = outside.trouble_of(kind) else { return };
    let sentence = format!("tasks of type `{kind}` go to {name} at {}, which cannot be used now: {trouble}", outside.address);
    let first = told.blocked_on.first().map(|first| first.code.as_str());
    if matches!(first, Some("no_worker" | "workers_busy")) {
        told.sentence = format!("{} waits: {sentence}.", task.card().id());
        told.next_actions = vec!["signaller status".into()];
        told.blocked_on.remove(0);
    } else {
        told.sentence = format!("{} And {sentence}.", told.sentence);
    }
    told.blocked_on.insert(0, BlockedOn { code: "outside".into(), sentence, since: None, eta: None });
}

/// Where its work is, if it is known out there.
async fn tell_outside(outside: &Outsides, task: &Task, lease: &Lease, told: &mut Explanation) {
    let kind = task.card().route().kind();
    let Some(outside) = outside.values().find(|outside| outside.types.contains(kind)) else { return };
    let asked = outside.where_is.ask(task.card().id(), lease.fence());
    if let Ok(Some(sentence)) = tokio::time::timeout(OUTSIDE_TIME_MAX, asked).await {
        told.sentence = format!("{} Its {sentence}.", told.sentence);
        told.blocked_on.push(BlockedOn { code: "outside".into(), sentence, since: None, eta: None });
    }
}

/// How far its worker says it is.
async fn tell_progress(door: &Door, task: &Task, lease: &Lease, told: &mut Explanation) -> Result<(), No> {
    let (task, fence) = (task.card().id(), lease.fence());
    if let Some(progress) = door.blocking(move |engine| Ok(engine.logs().progress(task, fence))).await? {
        let at = progress.message.map_or_else(String::new, |message| format!(" ({message})"));
        told.sentence = format!("{} Its worker says that {} % are done{at}.", told.sentence, (progress.permille + 5) / 10);
    }
    Ok(())
}

/// What happened to a task, oldest first: at most its newest 1,000 records.
#[utoipa::path(get, path = "/v1/tasks/{task}/history", tag = "tasks", params(("task" = String, Path)),
    responses((status = 200, body = History)))]
pub async fn history(State(door): State<Door>, Named(task): Named<TaskId>) -> Result<Json<History>, No> {
    let records = door
        .read(move |reader| {
            let Some(row) = reader.task(task)? else { return Ok(None) };
            let last = Task::from_row(&row.values)?.card().last();
            reader.history(last, HISTORY_MAX).map(Some)
        })
        .await?
        .ok_or(Rejection::TaskNotFound { task })?;
    Ok(Json(History { records: records.iter().rev().map(RecordView::from).collect() }))
}
