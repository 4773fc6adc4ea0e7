//! Why a task is not running, or what it waits for.

use super::{Instant, Status};
use kernel::ids::TaskId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Explanation {
    #[schema(value_type = String)]
    pub task: TaskId,
    pub status: Status,
    /// The whole answer in one sentence.
    pub sentence: String,
    /// Everything that stands in the way, what weighs most first.
    pub blocked_on: Vec<BlockedOn>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Instant>,
    /// When it can move, where that is known exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta: Option<Instant>,
    /// Why there is no `eta`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta_reason: Option<String>,
    pub next_actions: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BlockedOn {
    /// Stable: `paused`, `rate`, `no_worker` …
    pub code: String,
    pub sentence: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Instant>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta: Option<Instant>,
}

impl From<&kernel::explain::Explanation> for Explanation {
    fn from(explained: &kernel::explain::Explanation) -> Explanation {
        let cause = |cause: &kernel::explain::Cause| BlockedOn {
            code: cause.code.to_owned(),
            sentence: cause.sentence.clone(),
            since: cause.since.map(Instant),
            eta: cause.eta.map(Instant),
        };
        Explanation {
            task: explained.task,
            status: explained.status.into(),
            sentence: explained.sentence.clone(),
            blocked_on: explained.blocked_on.iter().map(cause).collect(),
            since: explained.since.map(Instant),
            eta: explained.eta.map(Instant),
            eta_reason: explained.eta_reason.clone(),
            next_actions: explained.next_actions.clone(),
        }
    }
}
