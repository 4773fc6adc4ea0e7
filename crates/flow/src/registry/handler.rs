//! A handler as the registry states it: which events it takes, what it makes of them, and with which discipline.

use super::event::EventExpr;
use super::forward::Forward;
use crate::problem::At;
use kernel::names::{HandlerName, KeyName, KeyValue, Pattern, QueueName, Tag, TypeName, WorkflowName};
use kernel::priority::Priority;
use kernel::queue::BacklogFull;
use kernel::rate::Rate;
use kernel::retry::RetryPolicy;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The value of keys that count all alike.
pub const ALL_VALUE: &str = "all";
/// The key that a queue's fairness goes by.
pub const FAIR_KEY: &str = "@fair";

#[derive(Debug)]
pub struct Handler {
    pub name: HandlerName,
    /// The line it begins in.
    pub line: u32,
    pub on: Vec<Pattern>,
    pub condition: Option<EventExpr>,
    pub does: Does,
    pub queue: QueueName,
    /// It gets the whole event, not its data alone.
    pub whole: bool,
    pub mode: Mode,
    pub priority: Option<Urgency>,
    /// Its own limits; those of its queue come on top.
    pub limits: Vec<Limit>,
    pub drop_rate: Option<Dropping>,
    pub gather: Option<Gathering>,
    pub singleton: Option<Single>,
    pub dedup: Option<Deduping>,
    pub delay_ms: u64,
    pub start_within_ms: Option<u64>,
    pub retry: Option<RetryPolicy>,
    pub budget_ms: Option<u64>,
    pub tags: Vec<Tag>,
    pub critical: bool,
    /// What it says of its queue as a whole.
    pub states: Statements,
    pub bounds: Bounds,
}

#[derive(Debug)]
pub enum Does {
    Workflow(WorkflowName),
    Task(TypeName),
    Forward(Box<Forward>),
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Mode {
    Live,
    /// Routed and shown, not queued.
    Shadow,
    Off,
}

impl Mode {
    pub const NAMED: [(&'static str, Mode); 3] = [("live", Mode::Live), ("shadow", Mode::Shadow), ("off", Mode::Off)];

    pub fn as_str(self) -> &'static str {
        Mode::NAMED.iter().find(|(_, mode)| *mode == self).map_or("", |(name, _)| name)
    }
}

#[derive(Debug)]
pub enum Urgency {
    Fixed(Priority),
    Expr(EventExpr),
}

/// So many at once, or so many in a while, of each value of a key.
#[derive(Debug)]
pub struct Limit {
    pub name: KeyName,
    /// `None`: of all alike.
    pub key: Option<Arc<EventExpr>>,
    pub concurrency: Option<u32>,
    pub rate: Option<Rate>,
}

#[derive(Debug)]
pub struct Dropping {
    pub rate: Rate,
    pub key: Option<EventExpr>,
}

#[derive(Debug)]
pub enum Gathering {
    Debounce { period_ms: u64, max_wait_ms: Option<u64>, key: Option<EventExpr> },
    Batch { size: u32, timeout_ms: u64, key: Option<EventExpr> },
}

impl Gathering {
    pub fn key(&self) -> Option<&EventExpr> {
        match self {
            Gathering::Debounce { key, .. } | Gathering::Batch { key, .. } => key.as_ref(),
        }
    }
}

#[derive(Debug)]
pub struct Single {
    pub replace: bool,
    pub key: Option<EventExpr>,
}

#[derive(Debug)]
pub struct Deduping {
    pub window_ms: u64,
    /// `None`: the event's own `dedup_key`, else its id.
    pub key: Option<EventExpr>,
}

/// What may be said of a queue by itself or by those who feed it, each with its line. Two who say different things
/// contradict one another.
#[derive(Clone, Debug, Default)]
pub struct Statements {
    pub fairness: Option<Stated<FairRule>>,
    pub backlog: Option<Stated<Backlog>>,
    pub heartbeat_ms: Option<Stated<u32>>,
    pub require_tag: Option<Stated<Tag>>,
}

#[derive(Clone, Debug)]
pub struct Stated<T> {
    pub value: T,
    pub at: At,
}

#[derive(Clone, PartialEq, Debug)]
pub struct FairRule {
    pub by: FairBy,
    pub step_ms: u64,
    pub weights: BTreeMap<KeyValue, u32>,
}

#[derive(Clone, Debug)]
pub enum FairBy {
    /// A key of the queue.
    Key(KeyName),
    /// Each who feeds the queue may find the value elsewhere.
    Expr(Arc<EventExpr>),
}

impl FairBy {
    pub fn name(&self) -> KeyName {
        match self {
            FairBy::Key(name) => name.clone(),
            FairBy::Expr(_) => KeyName::parse(FAIR_KEY).expect("a legal name"),
        }
    }
}

impl PartialEq for FairBy {
    fn eq(&self, other: &FairBy) -> bool {
        self.name() == other.name()
    }
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Backlog {
    pub max: u32,
    pub full: BacklogFull,
}

/// How far the operator may go.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bounds {
    pub priority: Option<(Priority, Priority)>,
    pub concurrency: Option<(u32, u32)>,
    pub pause: bool,
    pub shed: bool,
    pub batch: bool,
}

/// What is worked out of an event for one of a task's keys.
#[derive(Clone, Debug)]
pub enum KeyFrom {
    All,
    Expr(Arc<EventExpr>),
}
