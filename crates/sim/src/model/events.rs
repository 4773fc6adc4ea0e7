//! Events, the registry and families as their records tell them. What an event makes is worked out in `handling`.

use super::Model;
use super::order::us;
use kernel::event::{Handled, Outcome};
use kernel::ids::{EventId, RecordSeq, RunId, TaskId};
use kernel::names::{EventKey, EventName, Family, Pattern, QueueName};
use kernel::priority::Priority;
use kernel::record::{Entry, KeyRef, Payload, Record};
use kernel::task::Status;
use kernel::time::Time;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug)]
pub struct EventModel {
    pub last: RecordSeq,
    /// The record that brought its data.
    pub first: RecordSeq,
    pub name: EventName,
    pub key: Option<EventKey>,
    /// As its sender said it.
    pub said_at: Time,
    pub happened_at: Time,
    pub received_at: Time,
    pub data: Payload,
    /// What it grows by where it is handed over whole.
    pub envelope_bytes: u64,
    pub handled: Vec<Handled>,
    pub heard: Vec<RunId>,
}

#[derive(Clone, Debug, Default)]
pub struct RegistryModel {
    pub last: RecordSeq,
    pub revision: u32,
    pub queues: BTreeSet<QueueName>,
}

#[derive(Clone, Debug, Default)]
pub struct ControlModel {
    pub last: RecordSeq,
    /// Paused: until when, if that is known.
    pub pause: Option<Option<Time>>,
    pub boost: Priority,
}

#[derive(Clone, Debug, Default)]
pub struct Events {
    pub events: BTreeMap<EventId, EventModel>,
    pub by_key: BTreeMap<EventKey, EventId>,
    pub registry: RegistryModel,
    pub controls: BTreeMap<Pattern, ControlModel>,
}

/// Whether it counts what a handler drops, rather than leases.
pub fn is_drop_key(key: &KeyRef) -> bool {
    key.key.as_ref().is_some_and(|(name, _)| name.as_str().ends_with("@drop"))
}

/// `a/*` stands for `a` and all below it, `*` for all.
pub fn covers(pattern: &Pattern, family: &Family) -> bool {
    let (pattern, family) = (pattern.as_str(), family.as_str());
    match pattern.strip_suffix('*') {
        None => pattern == family,
        Some("") => true,
        Some(stem) => format!("{family}{}", &stem[stem.len() - 1..]) == stem || family.starts_with(stem),
    }
}

/// Tasks that were made of an event or took it in; not those that stood in its way.
fn made_of(handled: &[Handled]) -> impl Iterator<Item = TaskId> {
    handled.iter().filter_map(|handled| match handled.outcome {
        Outcome::Queued { task } | Outcome::Debounced { task, .. } | Outcome::Batched { task } => Some(task),
        _ => None,
    })
}

impl Events {
    fn of<'a>(&'a self, family: &'a Family) -> impl Iterator<Item = &'a ControlModel> {
        self.controls.iter().filter(|(pattern, _)| covers(pattern, family)).map(|(_, control)| control)
    }

    pub fn is_paused(&self, family: &Family) -> bool {
        self.of(family).any(|control| control.pause.is_some())
    }

    pub fn boost_us(&self, family: &Family) -> i64 {
        self.of(family).map(|control| us(control.boost)).sum()
    }

    /// The ends of what pauses this family.
    pub fn pauses_of<'a>(&'a self, family: &'a Family) -> impl Iterator<Item = Time> + 'a {
        self.of(family).filter_map(|control| control.pause.flatten())
    }

    pub fn pauses_end(&self) -> impl Iterator<Item = Time> {
        self.controls.values().filter_map(|control| control.pause.flatten())
    }

    pub fn fold_event(&mut self, id: EventId, entry: &Entry) -> Result<(), String> {
        match (&entry.record, self.events.get_mut(&id)) {
            (Record::EventReceived { spec, handled }, None) => {
                let event = EventModel {
                    last: entry.seq,
                    first: entry.seq,
                    name: spec.name.clone(),
                    key: spec.key.clone(),
                    said_at: spec.ts.unwrap_or(entry.at),
                    happened_at: spec.ts.unwrap_or(entry.at).min(entry.at),
                    received_at: entry.at,
                    data: entry.payload.clone().ok_or("an event without its data")?,
                    envelope_bytes: spec.envelope_bytes(),
                    handled: handled.clone(),
                    heard: Vec::new(),
                };
                if let Some(key) = &event.key
                    && let Some(earlier) = self.by_key.insert(key.clone(), id)
                {
                    return Err(format!("{id} has key {key}, and so has {earlier}"));
                }
                self.events.insert(id, event);
            }
            (Record::EventReplayed { handled, .. }, Some(event)) => {
                event.last = entry.seq;
                event.handled.extend(handled.iter().cloned());
            }
            (Record::EventHeard { run, .. }, Some(event)) => {
                event.last = entry.seq;
                event.heard.push(*run);
            }
            (other, known) => return Err(format!("{} of {id}, which is {known:?}", other.kind())),
        }
        Ok(())
    }

    pub fn fold_registry(&mut self, entry: &Entry) -> Result<(), String> {
        let Record::RegistryPut { revision, queues, .. } = &entry.record else {
            return Err(format!("{} is not a record of the registry", entry.record.kind()));
        };
        if *revision != self.registry.revision + 1 {
            return Err(format!("revision {revision} follows {}", self.registry.revision));
        }
        self.registry = RegistryModel { last: entry.seq, revision: *revision, queues: queues.clone() };
        Ok(())
    }

    pub fn fold_families(&mut self, families: &Pattern, entry: &Entry) -> Result<(), String> {
        let mut control = self.controls.remove(families).unwrap_or_default();
        control.last = entry.seq;
        match &entry.record {
            Record::FamilyPaused { until, .. } => control.pause = Some(*until),
            Record::FamilyResumed { .. } if control.pause.is_some() => control.pause = None,
            Record::FamilyBoosted { boost, .. } if *boost != control.boost => control.boost = *boost,
            other => return Err(format!("{} of {families}, of which is said {control:?}", other.kind())),
        }
        // Of whom nothing is said any more nothing is kept.
        if control.pause.is_some() || control.boost != Priority::NORMAL {
            self.controls.insert(families.clone(), control);
        }
        Ok(())
    }
}

impl Model {
    /// All that was made of it ended before this, and no key that makes nothing twice is remembered by it.
    pub fn is_old(&self, event: EventId, before: Time, now: Time) -> bool {
        let made = self.events.events.get(&event).into_iter().flat_map(|event| made_of(&event.handled));
        made.filter_map(|task| self.task(task)).all(|task| {
            let remembered = task.trigger.as_ref().and_then(|trigger| trigger.dedup_until);
            task.moved_at < before && remembered.is_none_or(|until| until <= now)
        })
    }

    /// They go with what they made, all of which must have come to a good end.
    pub(super) fn expire_events(&mut self, events: &[EventId]) -> Result<(), String> {
        for id in events {
            let event = self.events.events.remove(id).ok_or_else(|| format!("{id} grew old and was not there"))?;
            if let Some(key) = &event.key {
                self.events.by_key.remove(key);
            }
            let tasks: BTreeSet<TaskId> = made_of(&event.handled).collect();
            for task in tasks {
                let status = self.task(task).map(|task| task.status);
                if status.is_some_and(|status| !matches!(status, Status::Done | Status::Cancelled)) {
                    return Err(format!("{id} took {task} with it, which is {status:?}"));
                }
                self.forget_task(task);
            }
        }
        Ok(())
    }
}
