//! Events: what happened outside. One is kept whole for a while, with what each handler made of it; nothing about it
//! changes any more, except that it may be handled again.
//!
//! | record | effect on the event |
//! |---|---|
//! | `EventReceived` | it is there, with what became of it; its payload is its data |
//! | `EventReplayed` | handled again: what became of it is added |

use crate::ids::{EventId, RecordSeq, TaskId};
use crate::limits::EVENT_REPLAYS_MAX;
use crate::names::{EventKey, EventName, HandlerName, KeyValue, QueueName};
use crate::priority::Priority;
use crate::record::{Entry, Record};
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// What its sender said of it; the data rides beside it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EventSpec {
    pub name: EventName,
    /// The id its sender gave it: sent again, it is the same event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<EventKey>,
    /// Who or what sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Box<str>>,
    /// When it happened, by its sender's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ts: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedup_key: Option<KeyValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<Box<str>>,
}

impl EventSpec {
    pub fn named(name: EventName) -> EventSpec {
        EventSpec {
            name,
            key: None,
            source: None,
            ts: None,
            priority: None,
            dedup_key: None,
            correlation_id: None,
            causation_id: None,
        }
    }
}

/// What became of an event at one handler.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Handled {
    pub handler: HandlerName,
    /// That no work came to, unless it is called as the handler is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueName>,
    #[serde(flatten)]
    pub outcome: Outcome,
}

impl Handled {
    pub fn new(handler: HandlerName, queue: &QueueName, outcome: Outcome) -> Handled {
        let told = !outcome.is_work() && queue.as_str() != handler.as_str();
        Handled { queue: told.then(|| queue.clone()), handler, outcome }
    }

    /// Where its work would have gone, of one that none came of.
    pub fn queue(&self) -> QueueName {
        let named = || QueueName::parse(self.handler.as_str()).expect("a handler's name would do for a queue");
        self.queue.clone().unwrap_or_else(named)
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// This task was made of it.
    Queued { task: TaskId },
    /// It took the place of the one before it in this window. `stale`: that was younger, and stayed.
    Debounced {
        task: TaskId,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stale: bool,
    },
    /// It joined this batch.
    Batched { task: TaskId },
    /// One with the same key had come within the window, and made this task.
    Duplicate { task: TaskId },
    /// This one is under way, and there may be one only.
    Skipped { task: TaskId },
    /// Too many came of late.
    RateDropped { key: KeyValue },
    /// As many wait already as may.
    BacklogDropped { max: u32 },
    /// What the handler works out from it failed.
    Failed { message: Box<str> },
    /// The handler is in shadow: it would have taken it. `failed`: and would have failed.
    Shadow {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<Box<str>>,
    },
}

impl Outcome {
    pub const NAMES: [&'static str; 9] =
        ["queued", "debounced", "batched", "duplicate", "skipped", "rate_dropped", "backlog_dropped", "failed", "shadow"];

    /// It is in some task, or is one: of all others there is no work.
    pub const fn is_work(&self) -> bool {
        matches!(self, Outcome::Queued { .. } | Outcome::Batched { .. })
    }

    /// The handler is one of those that take it, whatever it made of it.
    pub const fn is_taken(&self) -> bool {
        !matches!(self, Outcome::Shadow { .. })
    }

    pub const fn as_str(&self) -> &'static str {
        match self {
            Outcome::Queued { .. } => "queued",
            Outcome::Debounced { .. } => "debounced",
            Outcome::Batched { .. } => "batched",
            Outcome::Duplicate { .. } => "duplicate",
            Outcome::Skipped { .. } => "skipped",
            Outcome::RateDropped { .. } => "rate_dropped",
            Outcome::BacklogDropped { .. } => "backlog_dropped",
            Outcome::Failed { .. } => "failed",
            Outcome::Shadow { .. } => "shadow",
        }
    }

    /// The task that stands for it.
    pub const fn task(&self) -> Option<TaskId> {
        match self {
            Outcome::Queued { task }
            | Outcome::Debounced { task, .. }
            | Outcome::Batched { task }
            | Outcome::Duplicate { task }
            | Outcome::Skipped { task } => Some(*task),
            Outcome::RateDropped { .. } | Outcome::BacklogDropped { .. } | Outcome::Failed { .. } | Outcome::Shadow { .. } => {
                None
            }
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    pub(crate) id: EventId,
    pub(crate) last: RecordSeq,
    /// The record whose payload is its data.
    pub(crate) data: RecordSeq,
    pub(crate) received_at: Time,
    pub(crate) spec: EventSpec,
    pub(crate) handled: Vec<Handled>,
    pub(crate) replays: u32,
}

impl Event {
    /// The event after one more of its records.
    pub fn fold(event: Option<Event>, id: EventId, entry: &Entry) -> Event {
        match (event, &entry.record) {
            (None, Record::EventReceived { spec, handled }) => Event {
                id,
                last: entry.seq,
                data: entry.seq,
                received_at: entry.at,
                spec: (**spec).clone(),
                handled: handled.clone(),
                replays: 0,
            },
            (Some(mut event), Record::EventReplayed { handled, .. }) => {
                event.last = entry.seq;
                event.replays += 1;
                event.handled.extend(handled.iter().cloned());
                event
            }
            (_, other) => panic!("{id}: {} is not what follows in its history", other.kind()),
        }
    }

    pub fn id(&self) -> EventId {
        self.id
    }

    pub fn last(&self) -> RecordSeq {
        self.last
    }

    pub fn data(&self) -> RecordSeq {
        self.data
    }

    pub fn received_at(&self) -> Time {
        self.received_at
    }

    pub fn spec(&self) -> &EventSpec {
        &self.spec
    }

    /// What became of it, the first time and each time it was replayed.
    pub fn handled(&self) -> &[Handled] {
        &self.handled
    }

    /// No handler took it.
    pub fn is_unhandled(&self) -> bool {
        !self.handled.iter().any(|handled| handled.outcome.is_taken())
    }

    pub fn replays(&self) -> u32 {
        self.replays
    }

    /// When it happened, as far as it is known.
    pub fn happened_at(&self) -> Time {
        self.spec.ts.unwrap_or(self.received_at).min(self.received_at)
    }

    pub fn may_be_replayed(&self) -> bool {
        self.replays < EVENT_REPLAYS_MAX
    }
}
