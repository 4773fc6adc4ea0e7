//! Statistics, a minute at a time: what became of the tasks of one queue and family, folded from their records. Whoever folds
//! keeps a [`Trail`] of each task, which says what a record alone does not: its queue, since when it was ready, since when it
//! was leased. Like every fold it is the same each time, so it may begin anew anywhere.

use crate::histogram::Histogram;
use crate::ids::{RecordSeq, TaskId};
use crate::names::{Family, QueueName};
use crate::priority::Priority;
use crate::record::{Entry, Record, TaskSpec};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Under which events are counted that no handler took; they were on their way to no queue.
const UNHANDLED_QUEUE: &str = "@nobody";
pub const UNHANDLED: &str = "unhandled";
/// Of those that no handler took: a run that waited heard it.
const HEARD: &str = "heard";

const MINUTE_US: i64 = 60_000_000;

/// What a task is counted under, beside its queue: the family of the event it is made of, or its queue's name.
pub fn family_of(spec: &TaskSpec) -> Arc<str> {
    match &spec.trigger {
        Some(trigger) => trigger.name.family().into(),
        None => spec.queue.shared().clone(),
    }
}

/// Minutes since 1970.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Minute(pub i64);

impl Minute {
    pub fn of(at: Time) -> Minute {
        Minute(at.us().div_euclid(MINUTE_US))
    }

    pub fn start(self) -> Time {
        Time::from_us(self.0.saturating_mul(MINUTE_US))
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RollupKey {
    pub minute: Minute,
    pub queue: QueueName,
    pub family: Arc<str>,
}

/// What happened, by when it happened. Lengths are in microseconds.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Rollup {
    #[serde(skip_serializing_if = "is_zero")]
    pub added: u64,
    /// Into the queue after they were added: again, or for the first time.
    #[serde(skip_serializing_if = "is_zero")]
    pub queued: u64,
    /// Attempts begun.
    #[serde(skip_serializing_if = "is_zero")]
    pub started: u64,
    /// Attempts handed back unburnt.
    #[serde(skip_serializing_if = "is_zero")]
    pub released: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub completed: u64,
    /// Attempts that failed and are followed by another.
    #[serde(skip_serializing_if = "is_zero")]
    pub retried: u64,
    /// Attempts that failed and were the last.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed: u64,
    /// By cause.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cancelled: BTreeMap<String, u64>,
    /// What came of events that no work came of, by outcome.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub events: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Promotions::is_empty")]
    pub promotions: Promotions,
    /// From ready to leased.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub wait: Histogram,
    /// From leased to ended, for attempts with an outcome.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub duration: Histogram,
}

/// Attempts that began ahead of their turn, each under the first that fits; and boosts of a queue or a key.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Promotions {
    #[serde(skip_serializing_if = "is_zero")]
    pub run_now: u64,
    /// By draining its queue.
    #[serde(skip_serializing_if = "is_zero")]
    pub expedited: u64,
    /// Its priority was raised after it was added.
    #[serde(skip_serializing_if = "is_zero")]
    pub raised: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub boosts: u64,
}

impl Promotions {
    fn is_empty(&self) -> bool {
        *self == Promotions::default()
    }

    pub fn total(&self) -> u64 {
        self.run_now + self.expedited + self.raised + self.boosts
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Rollup {
    /// What events did not become. One that a run heard later is not counted as unhandled any more.
    pub fn outcomes(&self) -> BTreeMap<String, u64> {
        let mut outcomes = self.events.clone();
        let heard = outcomes.get(HEARD).copied().unwrap_or(0);
        outcomes.entry(UNHANDLED.to_owned()).and_modify(|unhandled| *unhandled = unhandled.saturating_sub(heard));
        outcomes.retain(|_, count| *count > 0);
        outcomes
    }

    pub fn merge(&mut self, other: &Rollup) {
        self.added += other.added;
        self.queued += other.queued;
        self.started += other.started;
        self.released += other.released;
        self.completed += other.completed;
        self.retried += other.retried;
        self.failed += other.failed;
        for (cause, count) in &other.cancelled {
            *self.cancelled.entry(cause.clone()).or_default() += count;
        }
        for (outcome, count) in &other.events {
            *self.events.entry(outcome.clone()).or_default() += count;
        }
        self.promotions.run_now += other.promotions.run_now;
        self.promotions.expedited += other.promotions.expedited;
        self.promotions.raised += other.promotions.raised;
        self.promotions.boosts += other.promotions.boosts;
        self.wait.merge(&other.wait);
        self.duration.merge(&other.duration);
    }
}

/// An attempt that failed: the record says of what.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FailedAt {
    pub queue: QueueName,
    pub family: Arc<str>,
    pub seq: RecordSeq,
    pub at: Time,
}

/// What of a task has to be known to count its next record. Follows [`crate::task::Task::fold`], but takes any history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trail {
    queue: QueueName,
    family: Arc<str>,
    /// Its newest record.
    last: RecordSeq,
    priority_added: Priority,
    priority: Priority,
    blocked_by: Vec<TaskId>,
    ready_at: Time,
    expedited: bool,
    leased_at: Option<Time>,
}

impl Trail {
    /// A task begins; `None`: not with this record.
    pub fn begin(entry: &Entry) -> Option<Trail> {
        let Record::TaskAdded { spec } = &entry.record else { return None };
        Some(Trail {
            queue: spec.queue.clone(),
            family: family_of(spec),
            last: entry.seq,
            priority_added: spec.priority,
            priority: spec.priority,
            blocked_by: spec.blocked_by.clone(),
            ready_at: spec.scheduled_for.map_or(entry.at, |scheduled| scheduled.max(entry.at)),
            expedited: false,
            leased_at: None,
        })
    }

    /// The task after one more of its records.
    pub fn follow(&mut self, entry: &Entry) {
        self.last = entry.seq;
        match &entry.record {
            Record::TaskQueued { ready_at, run_now, .. } => {
                (self.ready_at, self.expedited) = (*ready_at, false);
                if *run_now {
                    self.blocked_by.clear();
                }
            }
            Record::TaskRunNow { .. } => self.blocked_by.clear(),
            Record::TaskExpedited { .. } => (self.ready_at, self.expedited) = (self.ready_at.min(entry.at), true),
            Record::TaskUnblocked { blocker } => {
                self.blocked_by.retain(|by| by != blocker);
                self.unblocked(entry.at);
            }
            Record::TaskBlockersChanged { blocked_by, .. } => {
                self.blocked_by.clone_from(blocked_by);
                self.unblocked(entry.at);
            }
            Record::TaskDebounced { ready_at, .. } => self.ready_at = *ready_at,
            Record::TaskBatched { full: true, ready_at, .. } => self.ready_at = self.ready_at.min(ready_at.unwrap_or(entry.at)),
            Record::TaskReprioritized { priority, .. } => self.priority = *priority,
            Record::TaskLeased { .. } => {
                self.blocked_by.clear();
                self.leased_at = Some(entry.at);
            }
            Record::TaskReleased { .. } => self.leased_at = None,
            Record::TaskRetried { retry_at, .. } => {
                (self.ready_at, self.expedited, self.leased_at) = (*retry_at, false, None);
            }
            Record::TaskDone { .. } | Record::TaskFailed { .. } | Record::TaskCancelled { .. } => self.leased_at = None,
            _ => {}
        }
    }

    fn unblocked(&mut self, at: Time) {
        if self.blocked_by.is_empty() {
            self.ready_at = self.ready_at.max(at);
        }
    }

    pub fn last(&self) -> RecordSeq {
        self.last
    }

    fn key(&self, at: Time) -> RollupKey {
        RollupKey { minute: Minute::of(at), queue: self.queue.clone(), family: self.family.clone() }
    }
}

/// Records folded into roll-ups, to be added to those that are kept.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Projection {
    pub rows: BTreeMap<RollupKey, Rollup>,
    pub failures: Vec<FailedAt>,
}

impl Projection {
    /// One more record of a task, whose trail led up to it.
    pub fn take(&mut self, entry: &Entry, trail: &mut Trail) {
        self.count(entry, trail);
        trail.follow(entry);
    }

    /// The first record of a task.
    pub fn begin(&mut self, entry: &Entry) -> Option<Trail> {
        let trail = Trail::begin(entry)?;
        self.row(&trail, entry.at).added += 1;
        Some(trail)
    }

    /// One more record of a queue.
    pub fn take_queue(&mut self, queue: &QueueName, entry: &Entry) {
        if let Record::QueueBoosted { boost, .. } = &entry.record
            && *boost > Priority::NORMAL
        {
            let key = RollupKey { minute: Minute::of(entry.at), queue: queue.clone(), family: queue.shared().clone() };
            self.rows.entry(key).or_default().promotions.boosts += 1;
        }
    }

    /// One more record of an event of this family: what it did not become, in the queues in which it did not.
    pub fn take_event(&mut self, family: &Family, entry: &Entry) {
        let mut count = |queue: QueueName, outcome: &str| {
            let key = RollupKey { minute: Minute::of(entry.at), queue, family: family.shared().clone() };
            *self.rows.entry(key).or_default().events.entry(outcome.to_owned()).or_default() += 1;
        };
        let nobody = || QueueName::parse(UNHANDLED_QUEUE).expect("a legal name");
        let handled = match &entry.record {
            Record::EventReceived { handled, .. } | Record::EventReplayed { handled, .. } => handled,
            Record::EventHeard { unhandled: true, .. } => return count(nobody(), HEARD),
            _ => return,
        };
        if !handled.iter().any(|handled| handled.outcome.is_taken()) {
            count(nobody(), UNHANDLED);
        }
        for handled in handled.iter().filter(|handled| !handled.outcome.is_work()) {
            count(handled.queue(), handled.outcome.as_str());
        }
    }

    fn row(&mut self, trail: &Trail, at: Time) -> &mut Rollup {
        self.rows.entry(trail.key(at)).or_default()
    }

    fn count(&mut self, entry: &Entry, trail: &Trail) {
        let took = trail.leased_at.map(|since| lasted(since, entry.at));
        match &entry.record {
            Record::TaskQueued { .. } => self.row(trail, entry.at).queued += 1,
            Record::TaskLeased { run_now, .. } => {
                let row = self.row(trail, entry.at);
                row.started += 1;
                row.wait.add(lasted(trail.ready_at, entry.at));
                match (*run_now, trail.expedited, trail.priority > trail.priority_added) {
                    (true, _, _) => row.promotions.run_now += 1,
                    (_, true, _) => row.promotions.expedited += 1,
                    (_, _, true) => row.promotions.raised += 1,
                    _ => {}
                }
            }
            Record::TaskReleased { .. } => self.row(trail, entry.at).released += 1,
            Record::TaskDone { .. } => {
                let row = self.row(trail, entry.at);
                row.completed += 1;
                took.into_iter().for_each(|took| row.duration.add(took));
            }
            Record::TaskRetried { .. } | Record::TaskFailed { .. } => {
                let row = self.row(trail, entry.at);
                let last = matches!(entry.record, Record::TaskFailed { .. });
                *if last { &mut row.failed } else { &mut row.retried } += 1;
                took.into_iter().for_each(|took| row.duration.add(took));
                let (queue, family) = (trail.queue.clone(), trail.family.clone());
                self.failures.push(FailedAt { queue, family, seq: entry.seq, at: entry.at });
            }
            Record::TaskCancelled { cause, .. } => {
                let row = self.row(trail, entry.at);
                *row.cancelled.entry(cause.as_str().to_owned()).or_default() += 1;
                took.into_iter().for_each(|took| row.duration.add(took));
            }
            _ => {}
        }
    }
}

/// In microseconds.
fn lasted(since: Time, until: Time) -> u64 {
    until.us().saturating_sub(since.us()).max(0).unsigned_abs()
}

#[cfg(test)]
mod tests;
