//! `crons:` → [`Cron`].

use super::expression::{flag, word};
use crate::cron::{Schedule, Zone};
use crate::define::fields::Fields;
use crate::define::scalars::{duration, int, name, text};
use crate::limits::*;
use crate::problem::{Problem, Problems, did_you_mean};
use crate::registry::cron::*;
use crate::source::{Data, Entry, Value, short};
use kernel::limits::PAYLOAD_BYTES_MAX;
use kernel::names::{CronName, EventName};

pub fn cron(entry: &Entry, problems: &mut Problems) -> Option<Cron> {
    let before = problems.count();
    let called = CronName::parse(&entry.key).map_err(|bad| problems.say(&entry.key_at, bad.to_string())).ok();
    let mut fields = Fields::of(&entry.value, format!("cron `{}`", short(&entry.key)), problems)?;
    let schedule = fields.require("schedule", problems).and_then(|entry| schedule(&entry.value, problems));
    let zone = fields.take("zone").and_then(|entry| zone(&entry.value, problems));
    let event = fields.take("event").and_then(|entry| name(&entry.value, EventName::parse, problems));
    let data = fields.take("data").and_then(|entry| data(&entry.value, problems));
    let catch_up = fields.take("catch_up").and_then(|entry| catch_up(&entry.value, problems));
    let jitter_ms = fields.take("jitter").and_then(|entry| jitter(&entry.value, problems));
    let overlap = fields.take("overlap").and_then(|entry| word(&entry.value, &Overlap::NAMED, problems));
    let critical = fields.take("critical").and_then(|entry| flag(&entry.value, problems));
    fields.finish(problems);
    if problems.count() > before {
        return None;
    }
    let name = called?;
    Some(Cron {
        event: event.unwrap_or_else(|| EventName::parse(&format!("cron/{name}")).expect("a cron's name is part of an event's")),
        name,
        schedule: schedule?,
        zone: zone.unwrap_or_else(Zone::utc),
        data: data.unwrap_or_else(|| "{}".into()),
        catch_up: catch_up.unwrap_or(CatchUp { slots: Missed::One, within_ms: CRON_WITHIN_MS_DEFAULT }),
        jitter_ms: jitter_ms.unwrap_or(0),
        overlap: overlap.unwrap_or(Overlap::Queue),
        critical: critical.unwrap_or(false),
    })
}

fn schedule(value: &Value, problems: &mut Problems) -> Option<Schedule> {
    let written = text(value, problems)?;
    Schedule::parse(&written).map_err(|why| problems.say(&value.at, why)).ok()
}

fn zone(value: &Value, problems: &mut Problems) -> Option<Zone> {
    let written = text(value, problems)?;
    let found = Zone::parse(&written);
    if found.is_none() {
        let names: Vec<String> = if problems.is_full() { Vec::new() } else { Zone::names().collect() };
        let problem = Problem::new(&value.at, format!("there is no time zone `{}`", short(&written)));
        let meant = did_you_mean(&written, names.iter().map(String::as_str));
        problems.add(problem.suggest(meant.unwrap_or_else(|| "write one such as Europe/Berlin".to_owned())));
    }
    found
}

fn jitter(value: &Value, problems: &mut Problems) -> Option<u64> {
    let ms = duration(value, problems)?;
    if ms > CRON_JITTER_MS_MAX {
        problems.say(&value.at, format!("jitter is at most {}h", CRON_JITTER_MS_MAX / 3_600_000));
        return None;
    }
    Some(ms)
}

fn data(value: &Value, problems: &mut Problems) -> Option<Box<str>> {
    let json = value.to_json_text();
    if json.len() > PAYLOAD_BYTES_MAX {
        problems.say(&value.at, format!("the data has {} bytes; an event may have {PAYLOAD_BYTES_MAX}", json.len()));
        return None;
    }
    Some(json.into())
}

const SLOTS: [(&str, Missed); 3] =
    [("skip", Missed::Skip), ("one", Missed::One), ("all", Missed::All { max: CRON_CATCH_UP_DEFAULT })];

/// `skip`, `one`, `all`, or `{slots: all, max: 10, within: 1h}`.
fn catch_up(value: &Value, problems: &mut Problems) -> Option<CatchUp> {
    let within_ms = CRON_WITHIN_MS_DEFAULT;
    if let Data::Text(_) = &value.data {
        return word(value, &SLOTS, problems).map(|slots| CatchUp { slots, within_ms });
    }
    let mut fields = Fields::of(value, "`catch_up`", problems)?;
    let mut slots = fields.require("slots", problems).and_then(|entry| word(&entry.value, &SLOTS, problems));
    if let Some(entry) = fields.take("max") {
        let max = int(&entry.value, 1, i64::from(CRON_CATCH_UP_MAX), problems);
        match (&mut slots, max) {
            (Some(Missed::All { max }), Some(stated)) => *max = stated as u32,
            (Some(Missed::Skip | Missed::One), _) => problems.say(&entry.key_at, "`max` bounds `slots: all`: leave it out"),
            (Some(Missed::All { .. }), None) | (None, _) => {}
        }
    }
    let stated_ms = fields.take("within").and_then(|entry| duration(&entry.value, problems));
    fields.finish(problems);
    Some(CatchUp { slots: slots?, within_ms: stated_ms.unwrap_or(within_ms) })
}
