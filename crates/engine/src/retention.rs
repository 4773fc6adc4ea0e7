//! Runs that ended long ago, or are too many, are let go, and so are old events with the tasks they made: looked for off the
//! writer, deleted by it, part by part.

use crate::engine::Engine;
use crate::request::{Answer, Request};
use kernel::command::{Command, Reply};
use kernel::event::Event;
use kernel::ids::{EventId, RunId};
use kernel::limits::{EXPIRED_EVENTS_MAX, EXPIRED_RUNS_MAX};
use kernel::run::Run;
use kernel::time::Time;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::StoreError;

const LOOK_EVERY: Duration = Duration::from_secs(60);
/// How soon a stop is noticed.
const LOOK_UP: Duration = Duration::from_millis(500);

/// How long runs that have ended are kept, and how many; and how long events are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    pub age: Duration,
    pub count: usize,
    pub events: Duration,
}

impl Default for Retention {
    fn default() -> Retention {
        let days = |days: u64| Duration::from_secs(days * 24 * 3_600);
        Retention { age: days(30), count: 1_000_000, events: days(7) }
    }
}

/// Looks from time to time, until the engine stops.
pub fn start(engine: Engine, retention: Retention) -> Result<(), StoreError> {
    let thread = std::thread::Builder::new().name("retention".into());
    let started = thread.spawn(move || {
        while engine.is_up() {
            if let Err(error) = expire_events(&engine, retention.events) {
                tracing::warn!(%error, "old events cannot be looked for");
            }
            let pause = match expire(&engine, retention) {
                Ok(Expired { more: true, gone }) if gone > 0 => continue,
                // As many as may be are on their way out.
                Ok(Expired { more: true, .. }) => LOOK_UP,
                Ok(_) => LOOK_EVERY,
                Err(error) => {
                    tracing::warn!(%error, "old runs cannot be looked for");
                    LOOK_EVERY
                }
            };
            let mut waited = Duration::ZERO;
            while waited < pause && engine.is_up() {
                std::thread::sleep(LOOK_UP);
                waited += LOOK_UP;
            }
        }
    });
    started.map(|_| ()).map_err(|error| StoreError::Failed(format!("cannot start the retention's thread: {error}")))
}

/// What came of one look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expired {
    pub gone: usize,
    /// There may be others that are to go.
    pub more: bool,
}

fn before(age: Duration) -> Time {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_ms(now.saturating_sub(age).as_millis() as i64)
}

/// Lets old events go, all that may; says how many went.
pub fn expire_events(engine: &Engine, age: Duration) -> Result<usize, StoreError> {
    let (before, mut after, mut gone) = (before(age), None, 0);
    loop {
        let rows = engine.read(|reader| reader.events_old(before, after, EXPIRED_EVENTS_MAX))?;
        let events: Vec<EventId> =
            rows.iter().filter_map(|row| Event::from_row(&row.values).ok()).map(|event| event.id()).collect();
        let Some(last) = events.last().copied() else { return Ok(gone) };
        let full = rows.len() == EXPIRED_EVENTS_MAX;
        match engine.ask_blocking(Request::Command(Command::ExpireEvents { events })) {
            Ok(Answer::Reply(Ok(Reply::Items { changed, .. }))) => gone += changed,
            _ => return Ok(gone),
        }
        // Those that stay are looked at again the next time.
        after = Some(last);
        if !full {
            return Ok(gone);
        }
    }
}

/// Lets some of those go that are to go.
pub fn expire(engine: &Engine, retention: Retention) -> Result<Expired, StoreError> {
    let before = before(retention.age);
    let rows = engine.read(|reader| reader.runs_ended(before, retention.count, EXPIRED_RUNS_MAX))?;
    let runs: Vec<RunId> = rows.iter().filter_map(|row| Run::from_row(&row.values).ok()).map(|run| run.id()).collect();
    let found = runs.len();
    if found == 0 {
        return Ok(Expired { gone: 0, more: false });
    }
    let gone = match engine.ask_blocking(Request::Command(Command::ExpireRuns { runs })) {
        Ok(Answer::Reply(Ok(Reply::Items { changed, .. }))) => changed,
        _ => 0,
    };
    Ok(Expired { gone, more: found == EXPIRED_RUNS_MAX || gone < found })
}
