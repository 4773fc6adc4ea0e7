//! A new run from how another was.

use super::object::objects;
use super::{Instant, Priority, ProblemAt, RunOrigin};
use kernel::ids::RunId;
use kernel::names::*;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

objects!(RunFork);

/// From where a new run is to go on, and what is to be another in it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct RunFork {
    /// From how it was after this record or at this instant: `r1042`, `2026-11-15T08:57:00Z`, `start`, or `end`, which it is when
    /// left out. What was under way then begins anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// And from before this node, which had begun by then: it and all that follows from it begin anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Another input than it had. What is taken along keeps what it gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub input: Option<Box<RawValue>>,
    /// RFC 6902 over the text that it followed then: the new run goes on by what comes of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<serde_json::Value>>)]
    pub operations: Option<Box<RawValue>>,
    /// With `node`: another input for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub with: Option<Box<RawValue>>,
    /// Why the text is another, for the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Forking again with the same key answers the run it made the first time. Keys are of one workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub idempotency_key: Option<IdempotencyKey>,
    /// The other's when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The other's when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    pub tags: Option<Vec<Tag>>,
    /// It fails if it is not over by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Instant>,
    /// Instead of `deadline`: so long after its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// Only tell what it would do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
}

/// What a fork made, or would make.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RunForked {
    /// The new run; null of a dry run.
    #[schema(value_type = Option<String>)]
    pub run: Option<RunId>,
    /// The idempotency key was used before: this is the run it made then, and nothing of this request was used.
    pub duplicate: bool,
    pub dry_run: bool,
    pub origin: RunOrigin,
    /// The revision of the text that it was forked from.
    pub base: u32,
    /// The one that it goes on by.
    pub revision: u32,
    /// Nodes of the run's own that it takes along with what they gave.
    pub kept: Vec<String>,
    /// Nodes that had begun by then, and begin anew.
    pub anew: Vec<String>,
    /// What is another in its text, a line for each.
    pub changes: Vec<String>,
    /// What can run and yet may not be what was meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<ProblemAt>,
}
