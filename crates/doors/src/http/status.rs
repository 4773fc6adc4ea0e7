//! How the server is: `/v1/status`, `/health`, `/ready`.

use super::Door;
use super::answer::{Json, No, off_thread, unexpected};
use super::queues;
use super::registry::warned;
use super::stats::{Counted, ROLLUPS_MAX, count};
use crate::wire::*;
use axum::extract::State;
use axum::http::StatusCode;
use engine::{Answer, Request, RollupState, StatusSummary, WatchdogState};
use std::time::Duration;
use store::RollupQuery;

/// A writer that does not answer within this is not ready.
const READY_WITHIN: Duration = Duration::from_secs(2);
const SILENT: &str = "the writer did not answer within 2 s";

/// What the server is doing, over all queues.
#[utoipa::path(get, path = "/v1/status", tag = "server", responses((status = 200, body = ServerStatus)))]
pub async fn status(State(door): State<Door>) -> Result<Json<ServerStatus>, No> {
    let status = match tokio::time::timeout(READY_WITHIN, ask(&door)).await {
        Ok(status) => status?,
        Err(_) => return Err(silent(&door)),
    };
    let (_, queues) = queues::counted(&door).await?;
    let counted = last_hour(&door).await?;
    let workers = status.workers.iter().map(|worker| WorkerView {
        worker: worker.worker.clone(),
        types: worker.types.to_vec(),
        asked_ms_ago: status.now.ms_since(worker.asked_at),
        holding: worker.holding as u64,
    });
    Ok(Json(ServerStatus {
        version: env!("CARGO_PKG_VERSION").into(),
        address: door.options.address.map(|address| address.to_string()),
        store: status.store.clone(),
        shard: status.shard,
        uptime_ms: status.now.ms_since(status.up_since),
        stopping: status.stopping,
        counts: queues.values().fold(Counts::default(), |sum, one| sum.plus(one)),
        queues: queues.len() as u64,
        bulks: status.bulks as u64,
        runs: status.runs as u64,
        workers: workers.collect(),
        commits: status.commits,
        commits_failed: status.commits_failed,
        records: status.last_record.0,
        rollups: rollups(counted.state),
        events: counted.sum.outcomes(),
        watchdog: watchdog(&door),
        registry: registry(&door).await,
        blobs: blobs(&door),
        outside: door.engine.outside().into_iter().map(|(name, outside)| (name.to_owned(), outside.into())).collect(),
    }))
}

/// Of the last hour, as `queue stats` would tell it now.
async fn last_hour(door: &Door) -> Result<Counted, No> {
    let query = RollupQuery { limit: ROLLUPS_MAX, ..RollupQuery::default() };
    let from = StatsQuery::default().from(engine::clock::wall())?;
    let engine = door.engine.clone();
    off_thread(move || count(&engine, from, query, 0)).await
}

/// `None`: no registry was ever tried.
async fn registry(door: &Door) -> Option<RegistryStatus> {
    let (in_force, refused) = (door.engine.in_force(), door.engine.registry_refused());
    let revision = in_force.revision;
    if revision == 0 && refused.is_none() {
        return None;
    }
    Some(RegistryStatus {
        revision: revision.into(),
        refused: refused.map(|why| why.to_string()),
        file: door.engine.registry_followed().map(|file| file.to_string()),
        warnings: warned(door, in_force).await.unwrap_or_default(),
    })
}

/// The writer does not answer: what the watchdog knows of it is all there is to say.
fn silent(door: &Door) -> No {
    let why = door.engine.watchdog().tripped.map_or_else(|| SILENT.to_owned(), |tripped| tripped.to_string());
    No(Problem::new("unavailable", why, "ask again; if it goes on, the server ends by itself and has to be started again"))
}

fn watchdog(door: &Door) -> WatchdogView {
    let WatchdogState { tripped, trips } = door.engine.watchdog();
    let lasted_ms = tripped.map(|tripped| u64::try_from(tripped.lasted.as_millis()).unwrap_or(u64::MAX));
    WatchdogView { reason: tripped.map(|tripped| tripped.reason.to_string()), lasted_ms, trips }
}

fn blobs(door: &Door) -> BlobsView {
    let (blobs, state) = (door.engine.blobs(), door.engine.sweep_state());
    BlobsView { place: blobs.place(), trouble: blobs.trouble().or(state.trouble), removed: state.swept.removed }
}

fn rollups(state: RollupState) -> RollupsView {
    let RollupState { cursor, is_behind, lag, trouble, .. } = state;
    let lag_ms = if is_behind { u64::try_from(lag.as_millis()).unwrap_or(u64::MAX).max(1) } else { 0 };
    RollupsView { record: cursor.seq.0, lag_ms, lost: cursor.lost, trouble }
}

pub async fn ask(door: &Door) -> Result<Box<StatusSummary>, No> {
    match door.ask(Request::Status).await? {
        Answer::Status(status) => Ok(status),
        other => Err(unexpected(&other)),
    }
}

/// The process is alive, its writer has not given up, and nothing stands still.
#[utoipa::path(get, path = "/health", tag = "server",
    responses((status = 200, body = Health), (status = 503, body = Health)))]
pub async fn health(State(door): State<Door>) -> (StatusCode, Json<Health>) {
    let tripped = door.engine.watchdog().tripped.map(|tripped| tripped.to_string());
    answer(&door, if door.engine.is_up() { tripped } else { Some("the writer has stopped".into()) })
}

/// It takes work: the writer answers, and it is not shutting down.
#[utoipa::path(get, path = "/ready", tag = "server",
    responses((status = 200, body = Health), (status = 503, body = Health)))]
pub async fn ready(State(door): State<Door>) -> (StatusCode, Json<Health>) {
    let reason = match tokio::time::timeout(READY_WITHIN, ask(&door)).await {
        Ok(Ok(status)) if status.stopping => Some("the server is shutting down".into()),
        Ok(Ok(_)) => None,
        Ok(Err(no)) => Some(no.0.message),
        Err(_) => Some(SILENT.into()),
    };
    answer(&door, reason)
}

fn answer(door: &Door, reason: Option<String>) -> (StatusCode, Json<Health>) {
    let outside = door.engine.outside().into_iter();
    let outside = outside.filter_map(|(name, outside)| Some(format!("{name} at {}: {}", outside.address, outside.told()?)));
    let degraded = outside.chain(door.engine.blobs().trouble()).collect();
    let status = if reason.is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(Health { ok: reason.is_none(), reason, degraded }))
}
