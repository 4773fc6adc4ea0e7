//! The registry in force, as far as the kernel needs to know it: which revision events were routed by, and which queues
//! take their rules from it. The text itself is the payload of the record that put it.

use crate::ids::RecordSeq;
use crate::names::{Actor, Family, Pattern, QueueName};
use crate::priority::Priority;
use crate::queue::Pause;
use crate::record::{Entry, Record};
use crate::time::Time;
use std::collections::BTreeSet;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Registry {
    pub(crate) last: RecordSeq,
    pub(crate) revision: u32,
    pub(crate) put_at: Time,
    pub(crate) by: Option<Actor>,
    /// Queues whose configuration it states.
    pub(crate) queues: BTreeSet<QueueName>,
}

impl Registry {
    pub fn fold(registry: &Registry, entry: &Entry) -> Registry {
        let Record::RegistryPut { revision, queues, by } = &entry.record else {
            panic!("{} is not a record of the registry", entry.record.kind())
        };
        assert!(*revision == registry.revision + 1, "revisions of the registry rise by one");
        Registry { last: entry.seq, revision: *revision, put_at: entry.at, by: Some(by.clone()), queues: queues.clone() }
    }

    pub fn last(&self) -> RecordSeq {
        self.last
    }

    /// 0: none was ever put.
    pub fn revision(&self) -> u32 {
        self.revision
    }

    pub fn put_at(&self) -> Time {
        self.put_at
    }

    pub fn by(&self) -> Option<&Actor> {
        self.by.as_ref()
    }

    pub fn queues(&self) -> &BTreeSet<QueueName> {
        &self.queues
    }
}

/// What was said about the families that a pattern covers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Control {
    pub(crate) families: Pattern,
    pub(crate) last: RecordSeq,
    pub(crate) pause: Option<Pause>,
    pub(crate) boost: Priority,
}

impl Control {
    /// `None`: nothing is said about them any more.
    pub fn fold(control: Option<Control>, families: &Pattern, entry: &Entry) -> Option<Control> {
        let fresh = || Control { families: families.clone(), last: RecordSeq::NONE, pause: None, boost: Priority::NORMAL };
        let mut control = control.unwrap_or_else(fresh);
        match &entry.record {
            Record::FamilyPaused { until, reason, by } => {
                control.pause = Some(Pause { since: entry.at, until: *until, reason: reason.clone(), by: by.clone() });
            }
            Record::FamilyResumed { .. } => control.pause = None,
            Record::FamilyBoosted { boost, .. } => control.boost = *boost,
            other => panic!("{} is not a record of a family", other.kind()),
        }
        control.last = entry.seq;
        (control.pause.is_some() || control.boost != Priority::NORMAL).then_some(control)
    }

    pub fn families(&self) -> &Pattern {
        &self.families
    }

    pub fn last(&self) -> RecordSeq {
        self.last
    }

    pub fn pause(&self) -> Option<&Pause> {
        self.pause.as_ref()
    }

    pub fn boost(&self) -> Priority {
        self.boost
    }

    pub fn covers(&self, family: &Family) -> bool {
        self.families.covers(family)
    }
}
