//! The records of events, of what they make, of families and of the registry, told in a line.

use crate::table::priority_text;
use crate::units::{count_of, show_between};
use doors::wire::{HandledView, Instant, RecordBody};

pub fn sentence(record: &RecordBody, at: Instant) -> String {
    let said = |reason: &str| if reason.is_empty() { String::new() } else { format!(": {reason}") };
    match record {
        RecordBody::EventReceived { name, id, handled } => {
            let id = id.as_ref().map_or_else(String::new, |id| format!(" as {id}"));
            format!("{name} came in{id}{}", taken(handled))
        }
        RecordBody::EventReplayed { handled, by } => format!("handled again for {by}{}", taken(handled)),
        RecordBody::EventHeard { run } => format!("{run} had waited for it, and goes on"),
        RecordBody::EventsExpired { events } => format!("{} had grown old and went", count_of(events.len() as u64, "event")),
        RecordBody::RequestsRefused { webhook, requests, reason } => {
            format!("{} to webhook {webhook} refused{}", count_of((*requests).into(), "request"), said(reason))
        }
        RecordBody::SignalsRefused { signals, reason } => {
            format!("{} from Redis refused{}", count_of((*signals).into(), "signal"), said(reason))
        }
        RecordBody::TaskDebounced { event, newer: true, ready_at, .. } => {
            format!("{event} took the place of the one before; starts after {}", show_between(at, *ready_at))
        }
        RecordBody::TaskDebounced { event, ready_at, .. } => {
            format!("{event} came, and had happened before; starts after {}", show_between(at, *ready_at))
        }
        RecordBody::TaskBatched { event, full: true, ready_at: Some(ready_at) } => {
            format!("{event} came, and its batch is full; starts after {}", show_between(at, *ready_at))
        }
        RecordBody::TaskBatched { event, full: true, .. } => format!("{event} came, and its batch is full"),
        RecordBody::TaskBatched { event, .. } => format!("{event} joined its batch"),
        RecordBody::TaskHandedOver { run } => format!("{run} does its work"),
        RecordBody::FamilyPaused { until: Some(until), reason, by } => format!("paused by {by} until {until}{}", said(reason)),
        RecordBody::FamilyPaused { until: None, reason, by } => format!("paused by {by}{}", said(reason)),
        RecordBody::FamilyResumed { expired: true, .. } => "resumed: the pause is over".into(),
        RecordBody::FamilyResumed { by, .. } => format!("resumed by {by}"),
        RecordBody::FamilyBoosted { seconds, by } => format!("boost {} by {by}", priority_text(*seconds)),
        RecordBody::RegistryPut { revision, queues, by } => {
            format!("revision {revision} put by {by}, with the rules of {}", count_of(queues.len() as u64, "queue"))
        }
        _ => "a record this version does not know".into(),
    }
}

fn taken(handled: &[HandledView]) -> String {
    match handled {
        [] => ", and nobody takes it".into(),
        all => {
            let each: Vec<String> = all.iter().map(|one| format!("{} {}", one.handler, one.outcome)).collect();
            format!(": {}", each.join(", "))
        }
    }
}
