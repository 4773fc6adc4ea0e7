//! Crons: events that are emitted by themselves, by the wall clock. A slot's event has the slot in its id, so it is one event
//! however often it is sent; which slots have come is read from the events that are kept, so a restart misses none and fires none
//! twice.

use crate::clock;
use crate::engine::Engine;
use crate::request::Answer;
use flow::cron::{Schedule, Zone};
use flow::registry::cron::{Cron, source_name};
use kernel::command::{Emitted, Reply};
use kernel::event::{Event, EventSpec};
use kernel::names::{CronName, Pattern};
use kernel::record::Payload;
use kernel::time::Time;
use std::collections::BTreeMap;
use std::time::Duration;
use store::{EventQuery, StoreError};

/// How soon a stop or another registry is noticed.
const LOOK_UP: Duration = Duration::from_millis(500);
/// Events of a cron's name that are looked at for its last slot: others may have the name as well.
const LOOKED_AT: usize = 200;
/// Events are kept a little longer than this: what is older may have fired and be gone.
const MARGIN_MS: u64 = 3_600_000;

/// The slots that have come, by cron.
#[derive(Debug, Default)]
struct Calendar {
    revision: Option<u32>,
    after: BTreeMap<CronName, Known>,
}

/// The last slot that has come, of a cron with this schedule.
#[derive(Debug, Clone)]
struct Known {
    schedule: Schedule,
    zone: Zone,
    after: Time,
}

/// Until the engine stops. `kept`: how long events are.
pub fn start(engine: Engine, kept: Option<Duration>) -> Result<(), StoreError> {
    let thread = std::thread::Builder::new().name("cron".into());
    let started = thread.spawn(move || {
        let mut calendar = Calendar::default();
        while engine.is_up() {
            engine.note_waiting();
            let wait = calendar.turn(&engine, kept).unwrap_or_else(|error| {
                tracing::warn!(%error, "crons cannot be looked at; they are tried again");
                LOOK_UP
            });
            std::thread::sleep(wait.min(LOOK_UP));
        }
    });
    started.map(|_| ()).map_err(|error| StoreError::Failed(format!("cannot start the cron's thread: {error}")))
}

impl Calendar {
    /// Fires what is due; says how long until the next.
    fn turn(&mut self, engine: &Engine, kept: Option<Duration>) -> Result<Duration, StoreError> {
        let in_force = engine.in_force();
        let now = clock::wall();
        if self.revision != Some(in_force.revision) {
            let first = self.revision.is_none();
            let oldest = kept.map_or(Time::ZERO, |kept| {
                let kept_ms = u64::try_from(kept.as_millis()).unwrap_or(u64::MAX).saturating_sub(MARGIN_MS);
                now.plus_us(-i64::try_from(kept_ms.saturating_mul(1_000)).unwrap_or(i64::MAX / 2))
            });
            let mut crons = BTreeMap::new();
            for cron in in_force.registry.crons() {
                let same = |known: &&Known| known.schedule == cron.schedule && known.zone == cron.zone;
                // After a restart it goes on where it was; one that is new, or another, begins now: what it would have missed before
                // was never its own.
                let after = match self.after.get(&cron.name).filter(same) {
                    Some(known) => known.after,
                    None if first => last_slot(engine, cron)?.unwrap_or(in_force.put_at),
                    None => now,
                };
                let (schedule, zone) = (cron.schedule.clone(), cron.zone.clone());
                crons.insert(cron.name.clone(), Known { schedule, zone, after: after.max(oldest) });
            }
            (self.after, self.revision) = (crons, Some(in_force.revision));
        }
        let mut next = None;
        for cron in in_force.registry.crons() {
            let Some(Known { after, .. }) = self.after.get_mut(&cron.name) else { continue };
            let due = cron.due(*after, now);
            if due.skipped {
                tracing::warn!(cron = %cron.name, "slots were missed and are not made up for");
            }
            let mut fired = true;
            for slot in &due.slots {
                fired = fire(engine, cron, cron.spec(*slot)).is_some();
                if !fired {
                    break;
                }
                *after = (*after).max(*slot);
            }
            if let Some(until) = due.until.filter(|_| fired) {
                *after = (*after).max(until);
            }
            if !fired {
                return Ok(LOOK_UP);
            }
            next = next.into_iter().chain(cron.next_after(*after).map(|(_, fires_at)| fires_at)).min();
        }
        Ok(next.map_or(LOOK_UP, |at| Duration::from_millis(at.ms_since(clock::wall()))))
    }
}

/// The newest slot of a cron of which the event is kept.
fn last_slot(engine: &Engine, cron: &Cron) -> Result<Option<Time>, StoreError> {
    Ok(last_event(engine, cron)?.and_then(|event| event.spec().key.is_some().then(|| event.spec().ts).flatten()))
}

/// The newest event of a slot of this cron.
pub fn last_event(engine: &Engine, cron: &Cron) -> Result<Option<Event>, StoreError> {
    let pattern = Pattern::parse(cron.event.as_str()).map_err(|bad| StoreError::Failed(bad.to_string()))?;
    let query = EventQuery { pattern: Some(pattern), limit: LOOKED_AT, ..EventQuery::default() };
    let rows = engine.read(|reader| reader.events(&query))?;
    for row in &rows {
        let event = Event::from_row(&row.values)?;
        if source_name(event.spec()) == Some(cron.name.as_str()) && event.spec().key.is_some() {
            return Ok(Some(event));
        }
    }
    Ok(None)
}

/// `None`: it was not taken in; it is tried again.
fn fire(engine: &Engine, cron: &Cron, spec: EventSpec) -> Option<Emitted> {
    let data = Payload((*cron.data).into());
    match engine.emit_blocking(&[(spec, data)]) {
        Ok(Answer::Reply(Ok(Reply::Emitted(mut emitted)))) => emitted.pop(),
        _ => None,
    }
}

impl Engine {
    /// Fires a cron now, beside its slots. `None`: it could not be taken in. Blocks.
    pub fn run_cron(&self, cron: &Cron) -> Option<Emitted> {
        let now = clock::wall();
        let spec = EventSpec { key: None, ts: Some(now), ..cron.spec(now) };
        fire(self, cron, spec)
    }

    /// When a cron last fired by itself, as far as events are kept. Blocks.
    pub fn cron_fired(&self, cron: &Cron) -> Result<Option<Event>, StoreError> {
        last_event(self, cron)
    }
}
