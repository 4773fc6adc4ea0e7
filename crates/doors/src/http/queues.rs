//! `/v1/queues`.

use super::Door;
use super::answer::{Json, No, unexpected};
use super::body::{Body, Named, Params};
use super::families::meant;
use super::tasks::page;
use crate::wire::*;
use axum::extract::State;
use engine::{Answer, Request};
use kernel::bulk::{Bulk, BulkWork};
use kernel::command::Command;
use kernel::ids::TaskId;
use kernel::names::{Pattern, QueueName};
use kernel::state::{Depth, FamilyDepth, QueueSummary};
use std::collections::BTreeMap;
use std::sync::Arc;

/// List every queue that holds something or that something was said about.
#[utoipa::path(get, path = "/v1/queues", tag = "queues", params(QueueQuery),
    responses((status = 200, body = QueueList)))]
pub async fn list(State(door): State<Door>, Params(query): Params<QueueQuery>) -> Result<Json<QueueList>, No> {
    let (summaries, mut counted) = counted(&door).await?;
    if let Some(families) = &query.family {
        counted = of_families(&door, families).await?;
    }
    let mut queues: Vec<QueueView> = Vec::new();
    for summary in &summaries {
        if let Some(counts) = counted.remove(&summary.name) {
            // Which is the oldest of a family is known only if all that waits is of it.
            let oldest = summary.oldest.filter(|_| counts.queued == summary.depth.queued as u64);
            queues.push(QueueView { counts, oldest_at: oldest.map(Instant), ..view(summary, &[], 0) });
        }
    }
    queues.extend(counted.into_iter().map(|(name, counts)| QueueView { counts, ..view(&nothing_in(name), &[], 0) }));
    queues.sort_by(|a, b| a.queue.cmp(&b.queue));
    let note = match &query.family {
        Some(family) if queues.is_empty() => meant(&door, family.as_str(), None).await?,
        _ => None,
    };
    Ok(Json(QueueList { queues, note }))
}

/// What there is of some families, queue by queue; those that hold none are left out.
async fn of_families(door: &Door, families: &Pattern) -> Result<BTreeMap<QueueName, Counts>, No> {
    let mut counted: BTreeMap<QueueName, Counts> = BTreeMap::new();
    for FamilyDepth { queue, depth, .. } in depths(door, Some(families.clone())).await? {
        let sum = counted.entry(queue).or_default();
        *sum = sum.plus(&of_depth(&depth));
    }
    for (queue, family, dead) in door.read(|reader| reader.dead_families()).await? {
        if families.covers_name(&family) {
            counted.entry(queue).or_default().dead += dead;
        }
    }
    Ok(counted)
}

pub async fn depths(door: &Door, families: Option<Pattern>) -> Result<Vec<FamilyDepth>, No> {
    match door.ask(Request::Depths { families }).await? {
        Answer::Depths(depths) => Ok(FamilyDepth::sorted(depths)),
        other => Err(unexpected(&other)),
    }
}

pub fn of_depth(depth: &Depth) -> Counts {
    Counts {
        queued: depth.queued as u64,
        ready: depth.queued.saturating_sub(depth.blocked + depth.scheduled + depth.held) as u64,
        scheduled: depth.scheduled as u64,
        blocked: depth.blocked as u64,
        held: depth.held as u64,
        running: depth.running as u64,
        overrides: depth.overrides as u64,
        in_runs: depth.in_runs as u64,
        dead: 0,
    }
}

/// A queue that has nothing but dead letters.
fn nothing_in(name: QueueName) -> QueueSummary {
    QueueSummary { name, queue: None, depth: Depth::default(), oldest: None }
}

/// All that is in the queues now, or in one of them, or of one family.
pub async fn depth(door: &Door, queue: Option<&QueueName>, family: Option<&str>) -> Result<Counts, No> {
    let wanted = |name: &QueueName| queue.is_none_or(|queue| queue == name);
    if let Some(family) = family {
        // What is no pattern is the name of no family and of no queue that could stand for one.
        let Ok(family) = Pattern::parse(family) else { return Ok(Counts::default()) };
        let counted = of_families(door, &family).await?;
        let counted = counted.iter().filter(|(name, _)| wanted(name));
        return Ok(counted.fold(Counts::default(), |sum, (_, one)| sum.plus(one)));
    }
    let (_, each) = counted(door).await?;
    Ok(each.iter().filter(|(name, _)| wanted(name)).fold(Counts::default(), |sum, (_, one)| sum.plus(one)))
}

/// What is in each queue, those that have nothing but dead letters among them.
pub async fn counted(door: &Door) -> Result<(Vec<QueueSummary>, BTreeMap<QueueName, Counts>), No> {
    let Answer::Queues(summaries) = door.ask(Request::Queues).await? else { unreachable!("queues answer queues") };
    let mut counted: BTreeMap<QueueName, Counts> =
        summaries.iter().map(|summary| (summary.name.clone(), counts(summary, 0))).collect();
    for (name, dead) in door.read(|reader| reader.dead_counts()).await? {
        counted.entry(name).or_default().dead = dead;
    }
    Ok((summaries, counted))
}

pub fn counts(summary: &QueueSummary, dead: u64) -> Counts {
    Counts { dead, ..of_depth(&summary.depth) }
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

pub async fn bulk(door: &Door, command: Command) -> Result<Json<BulkAnswer>, No> {
    let reply = door.command(command).await?;
    BulkAnswer::of(&reply).map(Json).ok_or_else(|| unexpected(&Answer::Reply(Ok(reply))))
}

/// How many of what waits now a bulk would change.
pub async fn dry_run(door: &Door, work: BulkWork) -> Result<Json<BulkAnswer>, No> {
    match door.ask(Request::WouldChange { work }).await? {
        Answer::WouldChange { tasks, more } => Ok(Json(BulkAnswer::Would { would_change: tasks as u64, at_least: more })),
        other => Err(unexpected(&other)),
    }
}

/// Any id will do: the kernel puts the newest there is when the bulk starts.
pub const UPTO: TaskId = TaskId::MAX;

/// Run what waits in a queue now, past rate and schedule.
#[utoipa::path(post, path = "/v1/queues/{queue}/drain", tag = "queues", params(("queue" = String, Path)), request_body = QueueDrain,
    responses((status = 200, body = BulkAnswer)))]
pub async fn drain(
    State(door): State<Door>,
    Named(queue): Named<QueueName>,
    Body(body): Body<QueueDrain>,
) -> Result<Json<BulkAnswer>, No> {
    let work = BulkWork::Drain { queue, upto: UPTO, filter: body.filter.unwrap_or_default().into() };
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
    let work = BulkWork::Clear { queue, upto: UPTO, reason: why.clone(), filter: body.filter.unwrap_or_default().into() };
    if body.dry_run {
        return dry_run(&door, work).await;
    }
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
