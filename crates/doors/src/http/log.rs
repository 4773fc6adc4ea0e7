//! `GET /v1/tasks/{task}/log`: what a task's workers said, and what they say next for whoever waits.

use super::Door;
use super::answer::{Json, No};
use super::body::{Named, Params};
use super::peer::Peer;
use crate::wire::*;
use axum::Extension;
use axum::extract::State;
use engine::{Engine, Heard, Said};
use kernel::ids::{Fence, RecordSeq, TaskId};
use kernel::record::{Owner, Record};
use kernel::rejection::Rejection;
use kernel::task::Task;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use store::StoreError;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant as Moment, sleep_until};

/// Records of a task that are looked through for its attempts.
const HISTORY_MAX: usize = 1_000;

/// What workers said while they worked on a task, oldest first; with `wait_ms`, what they say next.
#[utoipa::path(get, path = "/v1/tasks/{task}/log", tag = "tasks", params(("task" = String, Path), LogQuery),
    responses((status = 200, body = LogView)))]
pub async fn log(
    State(door): State<Door>,
    Extension(peer): Extension<Arc<Peer>>,
    Named(task): Named<TaskId>,
    Params(query): Params<LogQuery>,
) -> Result<Json<LogView>, No> {
    wait_bounded(query.wait_ms)?;
    let limit = query.limit.unwrap_or(LOG_PAGE_MAX);
    if !(1..=LOG_PAGE_MAX).contains(&limit) {
        return Err(Problem::invalid(format!("limit is a number from 1 to {LOG_PAGE_MAX}")).into());
    }
    let mut place = None;
    let until = Moment::now() + Duration::from_millis(query.wait_ms);
    // Subscribed before anything is read, so that nothing falls between the two.
    let (mut said, mut records) = (door.engine.logs().subscribe(), door.engine.subscribe());
    loop {
        let after = query.after;
        let found = door.blocking(move |engine| read(engine, task, after, limit)).await?;
        let view = found.ok_or(Rejection::TaskNotFound { task })?;
        if !view.lines.is_empty() || view.ended || query.wait_ms == 0 {
            return Ok(Json(view));
        }
        if place.is_none() {
            place = Some(door.look_on()?);
        }
        loop {
            tokio::select! {
                said = said.recv() => match said {
                    Ok(Said::Progress(..)) => {}
                    Ok(Said::Lines(lines)) if !lines.iter().any(|(of, _)| *of == task) => {}
                    Ok(_) | Err(RecvError::Lagged(_)) => break,
                    Err(RecvError::Closed) => return Ok(Json(view)),
                },
                heard = records.next() => match heard {
                    Heard::Records(entries) if !entries.iter().any(|entry| entry.owner == Owner::Task(task)) => {}
                    Heard::Records(_) | Heard::Missed => break,
                    Heard::Ended => return Ok(Json(view)),
                },
                () = sleep_until(until) => return Ok(Json(view)),
                () = peer.dismissed() => return Ok(Json(view)),
            }
        }
    }
}

/// `None`: there is no such task.
fn read(engine: &Engine, task: TaskId, after: u64, limit: usize) -> Result<Option<LogView>, StoreError> {
    // Its end first: whatever was said before it is found after.
    let Some((ended, last)) = engine.read(|reader| {
        let Some(row) = reader.task(task)? else { return Ok(None) };
        let task = Task::from_row(&row.values)?;
        Ok(Some((task.has_ended(), task.card().last())))
    })?
    else {
        return Ok(None);
    };
    let page = engine.logs().read(task, after, limit)?;
    let is_silent = page.lines.is_empty() && page.progress.is_none();
    let attempts = if is_silent { HashMap::new() } else { attempts(engine, last)? };
    let attempt = |fence: Fence| attempts.get(&fence.0).copied();
    let lines = page.lines.into_iter().map(|(n, line)| {
        let attempt = attempt(line.fence);
        LogLineView { n, at: line.at.into(), attempt, fence: line.fence, text: line.text }
    });
    let progress = page.progress.map(|said| {
        let (attempt, progress) = (attempt(said.fence), said.share());
        ProgressView { at: said.at.into(), attempt, fence: said.fence, progress, message: said.message }
    });
    Ok(Some(LogView { lines: lines.collect(), dropped: page.dropped, progress, ended }))
}

/// Which attempt each lease was.
fn attempts(engine: &Engine, last: RecordSeq) -> Result<HashMap<RecordSeq, u16>, StoreError> {
    let records = engine.read(|reader| reader.history(last, HISTORY_MAX))?;
    let leased = records.iter().filter_map(|entry| match &entry.record {
        Record::TaskLeased { attempt, .. } => Some((entry.seq, *attempt)),
        _ => None,
    });
    Ok(leased.collect())
}
