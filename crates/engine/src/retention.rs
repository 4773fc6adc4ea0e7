//! Runs that ended long ago, or are too many, are let go: looked for off the writer, deleted by it, part by part.

use crate::engine::Engine;
use crate::request::{Answer, Request};
use kernel::command::{Command, Reply};
use kernel::ids::RunId;
use kernel::limits::EXPIRED_RUNS_MAX;
use kernel::run::Run;
use kernel::time::Time;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::StoreError;

const LOOK_EVERY: Duration = Duration::from_secs(60);
/// How soon a stop is noticed.
const LOOK_UP: Duration = Duration::from_millis(500);

/// How long runs that have ended are kept, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    pub age: Duration,
    pub count: usize,
}

impl Default for Retention {
    fn default() -> Retention {
        Retention { age: Duration::from_secs(30 * 24 * 3_600), count: 1_000_000 }
    }
}

/// Looks from time to time, until the engine stops.
pub fn start(engine: Engine, retention: Retention) -> Result<(), StoreError> {
    let thread = std::thread::Builder::new().name("retention".into());
    let started = thread.spawn(move || {
        while engine.is_up() {
            match expire(&engine, retention) {
                Ok(gone) if gone >= EXPIRED_RUNS_MAX => continue,
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "old runs cannot be looked for"),
            }
            let mut waited = Duration::ZERO;
            while waited < LOOK_EVERY && engine.is_up() {
                std::thread::sleep(LOOK_UP);
                waited += LOOK_UP;
            }
        }
    });
    started.map(|_| ()).map_err(|error| StoreError::Failed(format!("cannot start the retention's thread: {error}")))
}

/// Some of those that are to go; how many went.
pub fn expire(engine: &Engine, retention: Retention) -> Result<usize, StoreError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let before = Time::from_ms(now.saturating_sub(retention.age).as_millis() as i64);
    let rows = engine.read(|reader| reader.runs_ended(before, retention.count, EXPIRED_RUNS_MAX))?;
    let runs: Vec<RunId> = rows.iter().filter_map(|row| Run::from_row(&row.values).ok()).map(|run| run.id()).collect();
    if runs.is_empty() {
        return Ok(0);
    }
    match engine.ask_blocking(Request::Command(Command::ExpireRuns { runs })) {
        Ok(Answer::Reply(Ok(Reply::Items { changed, .. }))) => Ok(changed),
        _ => Ok(0),
    }
}
