//! Handlers: what is made of an event. Which handlers take one, and with which keys, is worked out outside from the
//! registry's text ([`Routed`]); what becomes of it is decided in here, and stays with the task as its [`Trigger`].

use crate::ids::EventId;
use crate::names::{EventName, HandlerName, IdempotencyKey, KeyName, KeyValue, QueueName, Tag, TypeName, WorkflowName};
use crate::priority::Priority;
use crate::rate::Rate;
use crate::record::fnv1a;
use crate::retry::RetryPolicy;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// Tasks whose work is a run, and tasks that pass the event on: no worker outside is given these.
pub const WORKFLOW_TYPE: &str = "@workflow";
pub const FORWARD_TYPE: &str = "@forward";
/// What is put behind a handler's name for the keys that count its own tasks.
pub const SINGLE_KEY: &str = "@single";
pub const DROP_KEY: &str = "@drop";

/// What one handler makes of one event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Routed {
    pub handler: HandlerName,
    /// That it feeds.
    pub queue: QueueName,
    /// It makes nothing: what it would have taken is told.
    pub shadow: bool,
    pub handling: Result<Box<Handling>, Box<str>>,
}

/// All that its discipline needs to know, with every expression worked out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Handling {
    pub queue: QueueName,
    pub kind: TypeName,
    /// A run of it does the work.
    pub workflow: Option<WorkflowName>,
    /// The work gets the whole event, not its data alone.
    pub whole: bool,
    pub priority: Priority,
    /// Sorted by name, one value each. The key of a singleton is among them.
    pub keys: Vec<(KeyName, KeyValue)>,
    pub tags: Vec<Tag>,
    pub retry: Option<RetryPolicy>,
    pub budget_ms: Option<u64>,
    pub delay_ms: u64,
    /// It is cancelled unless it starts so soon after it became ready.
    pub start_within_ms: Option<u64>,
    /// Passes pauses.
    pub critical: bool,
    pub dedup: Option<Dedup>,
    pub drop_rate: Option<DropRate>,
    pub singleton: Option<Singleton>,
    pub gather: Option<Gather>,
}

/// One with the same key within the window is no other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dedup {
    pub key: KeyValue,
    pub window_ms: u64,
}

/// What comes faster is dropped, and counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DropRate {
    pub rate: Rate,
    pub key: KeyValue,
}

/// One task under way for each value of its key: the next is not made, or takes its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Singleton {
    pub key: KeyValue,
    pub replace: bool,
}

/// Several events, one task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Gather {
    /// It starts when none has come for the period, or `max_wait_ms` after the first; the newest counts.
    Debounce { key: KeyValue, period_ms: u64, max_wait_ms: Option<u64> },
    /// It starts with so many, or so long after the first.
    Batch { key: KeyValue, size: u32, timeout_ms: u64 },
}

/// What a task was made of.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Trigger {
    /// The newest, where there are several.
    pub event: EventId,
    pub name: EventName,
    pub handler: HandlerName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<WorkflowName>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub critical: bool,
    /// The key there may be one task of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single: Option<(KeyName, KeyValue)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// It was leased once: no more events come into it, whatever becomes of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
    /// Until then, its key makes no other task: so long it is remembered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedup_until: Option<Time>,
}

/// Open to more events until the task starts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "gathers", rename_all = "snake_case")]
pub enum Window {
    Debounce {
        key: KeyValue,
        /// When the newest of them happened.
        newest: Time,
        /// No longer than this.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Time>,
        events: u32,
    },
    Batch {
        key: KeyValue,
        size: u32,
        events: u32,
        /// Of their data together, or of all that is handed over of them.
        bytes: u64,
    },
}

impl Window {
    pub fn key(&self) -> &KeyValue {
        match self {
            Window::Debounce { key, .. } | Window::Batch { key, .. } => key,
        }
    }

    pub const fn events(&self) -> u32 {
        match self {
            Window::Debounce { events, .. } | Window::Batch { events, .. } => *events,
        }
    }
}

/// Whether a key of this name counts a handler's own tasks: `h`, `h.tenant`, `h@single`.
pub(crate) fn is_own_key(handler: &HandlerName, name: &KeyName) -> bool {
    let rest = name.as_str().strip_prefix(handler.as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || rest == SINGLE_KEY)
}

/// Under which a task that is to be made once within a window is known in its queue.
pub(crate) fn dedup_key(handler: &HandlerName, dedup: &Dedup) -> IdempotencyKey {
    let whole = format!("{handler}/{}", dedup.key);
    IdempotencyKey::parse(&whole).unwrap_or_else(|_| {
        let half = |seed: u64| fnv1a(seed, dedup.key.as_str().as_bytes());
        let digest = format!("{handler}/#{:016x}{:016x}", half(0xcbf2_9ce4_8422_2325), half(0x6c62_272e_07bb_0142));
        IdempotencyKey::parse(&digest).expect("a handler's name is short")
    })
}
