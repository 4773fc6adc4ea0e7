//! When the nodes of a run did what.

use super::{Cursor, Instant, NodeStatus, RunStatus, TaskError};
use kernel::ids::RunId;
use kernel::names::{Actor, NodeId, WorkerName, WorkflowName};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Rows that a time line has when nothing is said about them.
pub const TIMELINE_ROWS_DEFAULT: u32 = 200;

/// Which rows of a time line.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct TimelineQuery {
    /// Only this node, as its definition calls it, each turn and item of it by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub node: Option<NodeId>,
    /// Each turn and item by itself; else more than a dozen are one row.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// Also what restarts have undone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all_generations: bool,
    /// 200 when left out, at most 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A run over time: what each of its nodes was at, from when to when.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Timeline {
    #[schema(value_type = String)]
    pub run: RunId,
    #[schema(value_type = String)]
    pub workflow: WorkflowName,
    pub version: u32,
    /// How often its definition was changed.
    #[serde(default, skip_serializing_if = "is_never")]
    pub revision: u32,
    /// How often it was restarted from a node.
    #[serde(default, skip_serializing_if = "is_never")]
    pub generation: u32,
    pub status: RunStatus,
    pub started_at: Instant,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Instant>,
    /// Where the time line ends: when the run did, or now.
    pub until: Instant,
    /// When the run was changed under way, in that order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moments: Vec<TimelineMoment>,
    /// In the order of the definition.
    pub rows: Vec<TimelineRow>,
    /// Rows beyond the limit.
    #[serde(default)]
    pub left_out: u64,
    /// The run has more records than are looked at: what came later is not here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

/// A moment at which somebody changed a run under way.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TimelineMoment {
    pub what: MomentKind,
    pub at: Instant,
    /// The record of it.
    pub record: Cursor,
    /// Of a patch: the revision it made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// Of a restart: the generation that began with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u32>,
    /// The node it was restarted from, or whose worker asked for the patch; such as `rounds[1]/pay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    #[schema(value_type = String)]
    pub by: Actor,
    /// Why; of a patch, what it does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MomentKind {
    /// Its definition was changed.
    Patched,
    /// A node and all that follows from it began anew.
    Restarted,
    /// What had stopped short was tried again.
    Retried,
}

impl MomentKind {
    pub const ALL: [MomentKind; 3] = [MomentKind::Patched, MomentKind::Restarted, MomentKind::Retried];

    pub fn as_str(self) -> &'static str {
        match self {
            MomentKind::Patched => "patched",
            MomentKind::Restarted => "restarted",
            MomentKind::Retried => "retried",
        }
    }
}

impl TimelineMoment {
    /// `patched to revision 2 by ana: skip the tests`
    pub fn sentence(&self) -> String {
        let revision = self.revision.map_or_else(String::new, |revision| format!(" to revision {revision}"));
        let node = self.node.as_ref().map_or_else(String::new, |node| match self.what {
            MomentKind::Restarted => format!(" from {node}"),
            MomentKind::Patched | MomentKind::Retried => format!(" for {node}"),
        });
        let generation = self.generation.map_or_else(String::new, |generation| format!(", generation {generation},"));
        let colon = if self.reason.is_empty() { "" } else { ": " };
        format!("{}{revision}{node}{generation} by {}{colon}{}", self.what.as_str(), self.by, self.reason)
    }
}

/// One node in one turn or item, or many of it together.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TimelineRow {
    /// `pay`, `rounds[1]/pay`, or `rounds[*]/pay` for many together. One that was opened after a restart says in which generation:
    /// `rounds[1@2]/pay`.
    pub node: String,
    #[schema(value_type = String)]
    pub id: NodeId,
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Of many: of the one that most is to be said of: what goes on, then what failed.
    pub status: NodeStatus,
    /// A restart has undone the turn or item, or all of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
    /// A patch has taken it out: the first revision of the run's definition without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<u32>,
    /// How many it stands for.
    pub instances: u64,
    /// Of those, how many failed.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub failed: u64,
    /// By when they began; none of one that waits or was skipped. Of many: when any of them was at it, those that failed apart, with
    /// the first error.
    pub spans: Vec<TimelineSpan>,
    /// Of many: the sum over all of them, so it may be more than the run took.
    pub totals: TimelineTotals,
}

impl TimelineRow {
    /// How long it was at work, called, asked or slept; of a loop or an each, how long that was open. `None`: at no time.
    pub fn took_ms(&self) -> Option<u64> {
        let TimelineTotals { running_ms, calling_ms, asking_ms, sleeping_ms, awaiting_ms, inside_ms, .. } = self.totals;
        let worked = running_ms + calling_ms + asking_ms + sleeping_ms + awaiting_ms;
        (!self.spans.is_empty()).then_some(if worked > 0 { worked } else { inside_ms })
    }
}

fn is_never(count: &u32) -> bool {
    *count == 0
}

/// What a node was at.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    /// A loop or an each, while its turns and items went on.
    Inside,
    /// Its task was ready, and no worker had it.
    Queued,
    /// Its run was paused.
    Held,
    /// Between two attempts.
    Backoff,
    Sleeping,
    Asking,
    /// It waited for an event.
    Awaiting,
    /// A run that it called went on.
    Calling,
    /// A worker was at it; or, without length, it was decided at once.
    Running,
}

impl SpanKind {
    pub const ALL: [SpanKind; 9] = [
        SpanKind::Inside,
        SpanKind::Queued,
        SpanKind::Held,
        SpanKind::Backoff,
        SpanKind::Sleeping,
        SpanKind::Asking,
        SpanKind::Awaiting,
        SpanKind::Calling,
        SpanKind::Running,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            SpanKind::Inside => "inside",
            SpanKind::Queued => "queued",
            SpanKind::Held => "held",
            SpanKind::Backoff => "backoff",
            SpanKind::Sleeping => "sleeping",
            SpanKind::Asking => "asking",
            SpanKind::Awaiting => "awaiting",
            SpanKind::Calling => "calling",
            SpanKind::Running => "running",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TimelineSpan {
    pub what: SpanKind,
    pub from: Instant,
    /// Left out while it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Instant>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub worker: Option<WorkerName>,
    /// How it ended, where it did not end well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TaskError>,
    /// A restart has undone it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
}

/// How long in all; what goes on counts up to `until`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct TimelineTotals {
    pub queued_ms: u64,
    pub running_ms: u64,
    pub backoff_ms: u64,
    pub asking_ms: u64,
    pub sleeping_ms: u64,
    pub awaiting_ms: u64,
    pub calling_ms: u64,
    pub held_ms: u64,
    pub inside_ms: u64,
    /// Attempts that were begun.
    pub attempts: u64,
}

impl TimelineTotals {
    pub fn of(&mut self, what: SpanKind) -> &mut u64 {
        match what {
            SpanKind::Inside => &mut self.inside_ms,
            SpanKind::Queued => &mut self.queued_ms,
            SpanKind::Held => &mut self.held_ms,
            SpanKind::Backoff => &mut self.backoff_ms,
            SpanKind::Sleeping => &mut self.sleeping_ms,
            SpanKind::Asking => &mut self.asking_ms,
            SpanKind::Awaiting => &mut self.awaiting_ms,
            SpanKind::Calling => &mut self.calling_ms,
            SpanKind::Running => &mut self.running_ms,
        }
    }
}
