//! `/v1/queues`.

use super::Door;
use super::answer::{Json, No, unexpected};
use super::body::{Body, Named, Params};
use super::tasks::page;
use crate::wire::*;
use axum::extract::State;
use engine::{Answer, Request};
use kernel::bulk::{Bulk, BulkWork};
use kernel::command::Command;
use kernel::ids::TaskId;
use kernel::names::QueueName;
use kernel::state::QueueSummary;
use std::collections::BTreeMap;
use std::sync::Arc;

/// List every queue that holds something or that something was said about.
#[utoipa::path(get, path = "/v1/queues", tag = "queues",
    responses((status = 200, body = QueueList)))]
pub async fn list(State(door): State<Door>) -> Result<Json<QueueList>, No> {
    let Answer::Queues(summaries) = door.ask(Request::Queues).await? else { unreachable!("queues answer queues") };
    let mut dead: BTreeMap<QueueName, u64> = door.read(|reader| reader.dead_counts()).await?.into_iter().collect();
    let mut queues: Vec<QueueView> = summaries
        .iter()
        .map(|summary| {
            let dead = dead.remove(&summary.name).unwrap_or(0);
            view(summary, &[], dead)
        })
        .collect();
    for (name, dead) in dead {
        queues.push(view(&nothing_in(name), &[], dead));
    }
    queues.sort_by(|a, b| a.queue.cmp(&b.queue));
    Ok(Json(QueueList { queues }))
}

/// A queue that has nothing but dead letters.
fn nothing_in(name: QueueName) -> QueueSummary {
    let (queued, blocked, scheduled, held, running, overrides, in_runs) = Default::default();
    QueueSummary { name, queue: None, queued, blocked, scheduled, held, running, overrides, in_runs, oldest: None }
}

/// All that is in the queues now, or in one of them. A task's family is its queue's name.
pub async fn depth(door: &Door, queue: Option<&QueueName>, family: Option<&str>) -> Result<Counts, No> {
    let wanted =
        |name: &QueueName| queue.is_none_or(|queue| queue == name) && family.is_none_or(|family| family == name.as_str());
    let Answer::Queues(queues) = door.ask(Request::Queues).await? else { unreachable!("queues answer queues") };
    let dead = door.read(|reader| reader.dead_counts()).await?;
    let dead = dead.iter().filter(|(name, _)| wanted(name)).map(|(_, dead)| dead).sum();
    let each = queues.iter().filter(|summary| wanted(&summary.name)).map(|summary| counts(summary, 0));
    Ok(each.fold(Counts { dead, ..Counts::default() }, |sum, one| sum.plus(&one)))
}

pub fn counts(summary: &QueueSummary, dead: u64) -> Counts {
    Counts {
        queued: summary.queued as u64,
        ready: summary.queued.saturating_sub(summary.blocked + summary.scheduled + summary.held) as u64,
        scheduled: summary.scheduled as u64,
        blocked: summary.blocked as u64,
        held: summary.held as u64,
        running: summary.running as u64,
        overrides: summary.overrides as u64,
        dead,
    }
}

fn view(summary: &QueueSummary, bulks: &[Bulk], dead: u64) -> QueueView {
    let queue = summary.queue.as_ref();
    QueueView {
        queue: summary.name.clone(),
        config: queue.map(|queue| QueueConfig::from(&**queue.config())).unwrap_or_default(),
        pause: queue.and_then(|queue| queue.pause()).map(PauseView::from),
        boosts: queue.into_iter().flat_map(|queue| queue.boosts()).map(BoostView::from).collect(),
        counts: counts(summary, dead),
        oldest_at: summary.oldest.map(Instant),
        bulks: bulks.iter().map(BulkView::from).collect(),
    }
}

/// Show a queue: its configuration, what waits and what runs. A queue nobody used yet is shown with its defaults.
#[utoipa::path(get, path = "/v1/queues/{queue}", tag = "queues", params(("queue" = String, Path)),
    responses((status = 200, body = QueueView)))]
pub async fn show(State(door): State<Door>, Named(queue): Named<QueueName>) -> Result<Json<QueueView>, No> {
    shown(&door, queue).await
}

async fn shown(door: &Door, queue: QueueName) -> Result<Json<QueueView>, No> {
    let dead = door.read(|reader| reader.dead_counts()).await?;
    let dead = dead.iter().find(|(name, _)| *name == queue).map_or(0, |(_, dead)| *dead);
    match door.ask(Request::Queue { queue }).await? {
        Answer::Queue { summary, bulks } => Ok(Json(view(&summary, &bulks, dead))),
        other => Err(unexpected(&other)),
    }
}

/// Replace a queue's configuration whole; numbers act at once.
#[utoipa::path(put, path = "/v1/queues/{queue}", tag = "queues", params(("queue" = String, Path)), request_body = QueuePut,
    responses((status = 200, body = QueueView)))]
pub async fn put(
    State(door): State<Door>,
    Named(queue): Named<QueueName>,
    Body(body): Body<QueuePut>,
) -> Result<Json<QueueView>, No> {
    let config = Arc::new(body.config.into_kernel()?);
    door.command(Command::ConfigureQueue { queue: queue.clone(), config, by: signed_by(body.by) }).await?;
    shown(&door, queue).await
}

/// Stop handing out a queue's tasks; adds and running work go on.
#[utoipa::path(post, path = "/v1/queues/{queue}/pause", tag = "queues", params(("queue" = String, Path)), request_body = QueuePause,
    responses((status = 200, body = QueueView)))]
pub async fn pause(
    State(door): State<Door>,
    Named(queue): Named<QueueName>,
    Body(body): Body<QueuePause>,
) -> Result<Json<QueueView>, No> {
    let until = body.until()?;
    let why = reason("reason", body.reason.clone())?;
    door.command(Command::PauseQueue { queue: queue.clone(), until, reason: why, by: signed_by(body.by) }).await?;
    shown(&door, queue).await
}

/// Hand out a queue's tasks again.
#[utoipa::path(post, path = "/v1/queues/{queue}/resume", tag = "queues", params(("queue" = String, Path)), request_body = Signed,
    responses((status = 200, body = QueueView)))]
pub async fn resume(
    State(door): State<Door>,
    Named(queue): Named<QueueName>,
    Body(body): Body<Signed>,
) -> Result<Json<QueueView>, No> {
    door.command(Command::ResumeQueue { queue: queue.clone(), by: signed_by(body.by) }).await?;
    shown(&door, queue).await
}

async fn bulk(door: &Door, command: Command) -> Result<Json<BulkAnswer>, No> {
    let reply = door.command(command).await?;
    BulkAnswer::of(&reply).map(Json).ok_or_else(|| unexpected(&Answer::Reply(Ok(reply))))
}

/// Any id will do: the kernel puts the newest there is when the bulk starts.
const UPTO: TaskId = TaskId::MAX;

/// Run what waits in a queue now, past rate and schedule.
#[utoipa::path(post, path = "/v1/queues/{queue}/drain", tag = "queues", params(("queue" = String, Path)), request_body = Signed,
    responses((status = 200, body = BulkAnswer)))]
pub async fn drain(
    State(door): State<Door>,
    Named(queue): Named<QueueName>,
    Body(body): Body<Signed>,
) -> Result<Json<BulkAnswer>, No> {
    let work = BulkWork::Drain { queue, upto: UPTO };
    bulk(&door, Command::StartBulk { work, by: signed_by(body.by), reason: String::new() }).await
}

/// Cancel what waits in a queue.
#[utoipa::path(post, path = "/v1/queues/{queue}/clear", tag = "queues", params(("queue" = String, Path)), request_body = QueueClear,
    responses((status = 200, body = BulkAnswer)))]
pub async fn clear(
    State(door): State<Door>,
    Named(queue): Named<QueueName>,
    Body(body): Body<QueueClear>,
) -> Result<Json<BulkAnswer>, No> {
    let why = reason("reason", body.reason)?;
    let work = BulkWork::Clear { queue, upto: UPTO, reason: why.clone() };
    bulk(&door, Command::StartBulk { work, by: signed_by(body.by), reason: why }).await
}

/// Change the order: of some tasks, of all that fit a filter, or by a boost on the queue or one key.
#[utoipa::path(post, path = "/v1/queues/{queue}/reprioritize", tag = "queues", params(("queue" = String, Path)),
    request_body = QueueReprioritize, responses((status = 200, body = BulkAnswer)))]
pub async fn reprioritize(
    State(door): State<Door>,
    Named(queue): Named<QueueName>,
    Body(body): Body<QueueReprioritize>,
) -> Result<Json<BulkAnswer>, No> {
    let (priority, by) = (body.priority.0, signed_by(body.by.clone()));
    let command = match body.on()? {
        ReprioritizeOn::Tasks(tasks) => Command::Reprioritize { queue, tasks, priority, by },
        ReprioritizeOn::Boost(on) => Command::BoostQueue { queue, on, boost: priority, by },
        ReprioritizeOn::Filter(filter) => {
            let work = BulkWork::Reprioritize { queue, upto: UPTO, filter, priority };
            Command::StartBulk { work, by, reason: String::new() }
        }
    };
    bulk(&door, command).await
}

/// List a queue's dead letters, newest first.
#[utoipa::path(get, path = "/v1/queues/{queue}/dead", tag = "queues", params(("queue" = String, Path), DeadQuery),
    responses((status = 200, body = TaskList)))]
pub async fn dead(
    State(door): State<Door>,
    Named(queue): Named<QueueName>,
    Params(query): Params<DeadQuery>,
) -> Result<Json<TaskList>, No> {
    page(&door, query.of(queue), true).await.map(Json)
}

/// Queue dead letters again, oldest first, attempts starting over.
#[utoipa::path(post, path = "/v1/queues/{queue}/redrive", tag = "queues", params(("queue" = String, Path)),
    request_body = QueueRedrive, responses((status = 200, body = BulkAnswer)))]
pub async fn redrive(
    State(door): State<Door>,
    Named(queue): Named<QueueName>,
    Body(body): Body<QueueRedrive>,
) -> Result<Json<BulkAnswer>, No> {
    let by = signed_by(body.by.clone());
    let command = match body.on()? {
        RedriveOn::Tasks(tasks) => Command::RedriveTasks { queue, tasks, by },
        RedriveOn::Filter { filter, per_s } => {
            let work = BulkWork::Redrive { queue, upto: UPTO, filter, per_s };
            Command::StartBulk { work, by, reason: String::new() }
        }
    };
    bulk(&door, command).await
}
