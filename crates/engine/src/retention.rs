//! Runs that ended long ago, or are too many, are let go, and so are old events with the tasks they made: looked for off the
//! writer, deleted by it, part by part.

use crate::engine::Engine;
use crate::request::{Answer, Request};
use kernel::command::{Command, Reply};
use kernel::event::{Event, lets_go};
use kernel::ids::{EventId, RunId};
use kernel::limits::{EXPIRED_EVENTS_MAX, EXPIRED_RUNS_MAX};
use kernel::run::Run;
use kernel::task::Task;
use kernel::time::Time;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::{Reader, StoreError};

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
        let mut look = Look::default();
        while engine.is_up() {
            if let Err(error) = look.expire_events(&engine, retention.events) {
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

/// How far old events were looked through. Those whose work goes on, failed, or ended of late stay, and there may be many of
/// them: they are passed in turns, some at every look.
#[derive(Debug, Default)]
struct Look {
    after: Option<EventId>,
}

/// Events that stay are looked at so many at a time.
const STAYING_MAX: usize = 50_000;

impl Look {
    /// Lets old events go that may; says how many went.
    fn expire_events(&mut self, engine: &Engine, age: Duration) -> Result<usize, StoreError> {
        let before = before(age);
        let (mut gone, mut staying) = (0, 0);
        while staying < STAYING_MAX {
            let (events, looked_at) = engine.read(|reader| may_go(reader, before, &mut self.after))?;
            if !events.is_empty() {
                let asked = events.len();
                match engine.ask_blocking(Request::Command(Command::ExpireEvents { events, before })) {
                    Ok(Answer::Reply(Ok(Reply::Items { changed, .. }))) => gone += changed,
                    _ => return Ok(gone),
                }
                staying += looked_at - asked;
            } else {
                staying += looked_at;
            }
            if looked_at < EXPIRED_EVENTS_MAX {
                self.after = None;
                break;
            }
        }
        Ok(gone)
    }
}

/// Of the next events that came before this, those whose work lets them go, and how many were looked at. What only the writer
/// knows, whether somebody waits for a task, it looks at itself.
fn may_go(reader: &mut dyn Reader, before: Time, after: &mut Option<EventId>) -> Result<(Vec<EventId>, usize), StoreError> {
    let rows = reader.events_old(before, *after, EXPIRED_EVENTS_MAX)?;
    let now = crate::clock::wall();
    let mut events = Vec::new();
    for row in &rows {
        let Ok(event) = Event::from_row(&row.values) else { continue };
        *after = Some(event.id());
        let mut goes = true;
        for task in event.handled().iter().filter_map(|handled| handled.outcome.made()) {
            goes = goes
                && reader.task(task)?.is_none_or(|row| Task::from_row(&row.values).is_ok_and(|task| lets_go(&task, before, now)));
        }
        if goes {
            events.push(event.id());
        }
    }
    Ok((events, rows.len()))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::EngineOptions;
    use crate::request::{Report, Work};
    use kernel::command::Outcome;
    use kernel::event::EventSpec;
    use kernel::names::{Actor, EventName, TypeName, WorkerName};
    use kernel::record::Payload;
    use std::sync::Arc;
    use store::blobs::MemoryBlobs;
    use store::memory::MemoryDisk;

    fn work(engine: &Engine, want: usize, results: Vec<Report>) -> Vec<crate::request::Delivery> {
        let (worker, types) = (WorkerName::parse("w").unwrap(), [TypeName::parse("t").unwrap()].into());
        let work = Work { worker, types, queues: [].into(), want, wait_ms: 0, results, holding: Vec::new() };
        match engine.ask_blocking(Request::Work(work)) {
            Ok(Answer::Worked(worked)) => worked.deliveries,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn old_events_go_when_their_work_lets_them_and_no_sooner() {
        let options = EngineOptions { retention: None, ..EngineOptions::default() };
        let engine = Engine::open(Box::new(MemoryDisk::default().open()), Arc::<MemoryBlobs>::default(), options).unwrap();
        let text = "handlers:\n  h: {on: a/b, task: t}\n  once: {on: a/once, task: t, dedup: {window: 1h, key: event.name}}\n";
        engine.put_registry(text, &Actor::parse("ana").unwrap()).unwrap();
        let event = |name: &str| (EventSpec::named(EventName::parse(name).unwrap()), Payload("1".into()));
        engine.emit_blocking(&[event("a/b"), event("nobody/cares"), event("a/once"), event("a/once")]).unwrap();
        let mut look = Look::default();
        let mut expire = |age: Duration| {
            // The instant they came at has gone by.
            std::thread::sleep(Duration::from_millis(5));
            look.expire_events(&engine, age).unwrap()
        };
        assert_eq!(expire(Duration::from_secs(60)), 0, "nothing is old");
        assert_eq!(expire(Duration::ZERO), 2, "what nobody takes, and what came again");
        let deliveries = work(&engine, 9, Vec::new());
        assert_eq!((deliveries.len(), expire(Duration::ZERO)), (2, 0), "their work is under way");
        let done = |delivery: &crate::request::Delivery| Report {
            task: delivery.grant.task,
            fence: delivery.grant.fence,
            outcome: Outcome::Done { output: Payload::null() },
        };
        work(&engine, 0, deliveries.iter().map(done).collect());
        assert_eq!(expire(Duration::ZERO), 1, "one window is open for an hour");
        assert_eq!(expire(Duration::ZERO), 0);
    }
}
