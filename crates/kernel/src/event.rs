//! Events: what happened outside. One is kept whole for a while, with what each handler made of it; nothing about it
//! changes any more, except that it may be handled again.
//!
//! | record | effect on the event |
//! |---|---|
//! | `EventReceived` | it is there, with what became of it; its payload is its data |
//! | `EventReplayed` | handled again: what became of it is added |
//! | `EventHeard` | a node of a run that waited for it went on with it |

use crate::ids::{EventId, RecordSeq, RunId, TaskId};
use crate::limits::{EVENT_HEARD_MAX, EVENT_REPLAYS_MAX};
use crate::names::{EventKey, EventName, HandlerName, KeyValue, QueueName};
use crate::priority::Priority;
use crate::record::{Entry, Record};
use crate::task::{Status, Task};
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

/// Of the keys, quotes, numbers and instants of an event that is handed over whole.
const ENVELOPE_BYTES: u64 = 256;

impl EventSpec {
    /// At most so much is added to its data where it is handed over whole, as JSON.
    pub fn envelope_bytes(&self) -> u64 {
        let texts = [
            Some(self.name.as_str()),
            self.key.as_ref().map(|key| key.as_str()),
            self.source.as_deref(),
            self.dedup_key.as_ref().map(|key| key.as_str()),
            self.correlation_id.as_deref(),
            self.causation_id.as_deref(),
        ];
        let escaped = |byte: u8| match byte {
            b'"' | b'\\' => 2,
            0..0x20 => 6,
            _ => 1,
        };
        ENVELOPE_BYTES + texts.into_iter().flatten().flat_map(str::bytes).map(escaped).sum::<u64>()
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

    /// The task that was made of it, or that it came into: they go together.
    pub const fn made(&self) -> Option<TaskId> {
        match self {
            Outcome::Queued { task } | Outcome::Debounced { task, .. } | Outcome::Batched { task } => Some(*task),
            _ => None,
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

/// Whether a task lets the events go that made it, and goes with them: it came to a good end before this instant, and nobody has
/// to remember it.
pub fn lets_go(task: &Task, before: Time, now: Time) -> bool {
    let over = matches!(task.status(), Status::Done | Status::Cancelled);
    let long_ago = task.finished_at().is_none_or(|finished_at| finished_at < before) || crate::defect("ended_too_lately");
    let dedup_until = task.card().trigger().and_then(|trigger| trigger.dedup_until);
    over && long_ago && dedup_until.is_none_or(|until| until <= now)
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
    pub(crate) heard: Vec<RunId>,
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
                heard: Vec::new(),
            },
            (Some(mut event), Record::EventReplayed { handled, .. }) => {
                event.last = entry.seq;
                event.replays += 1;
                event.handled.extend(handled.iter().cloned());
                event
            }
            (Some(mut event), Record::EventHeard { run, .. }) => {
                event.last = entry.seq;
                event.heard.push(*run);
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

    /// No handler took it, and no run that waited heard it.
    pub fn is_unhandled(&self) -> bool {
        self.heard.is_empty() && !self.is_taken()
    }

    /// Some handler took it, whatever it made of it.
    pub fn is_taken(&self) -> bool {
        self.handled.iter().any(|handled| handled.outcome.is_taken())
    }

    /// The first runs that waited for it and went on with it; beyond so many only the runs know.
    pub fn heard(&self) -> &[RunId] {
        &self.heard
    }

    pub(crate) fn notes_who_hears(&self) -> bool {
        self.heard.len() < EVENT_HEARD_MAX
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
