//! What workers say while they work, line by line.

use super::{Instant, fence_text};
use kernel::ids::{Fence, TaskId};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Lines in one answer.
pub const LOG_PAGE_MAX: usize = 1_000;

/// Which lines of a task.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct LogQuery {
    /// Those after this number.
    pub after: u64,
    /// At most 1,000, which is all that is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Where there is none, so long is waited for one, or for the end of the task; at most 60,000.
    pub wait_ms: u64,
}

/// The newest lines of a task: at most 1,000 and 256 KiB are kept.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct LogView {
    pub lines: Vec<LogLineView>,
    /// How many lines before those that are kept were dropped.
    pub dropped: u64,
    /// The last that was said of how far it is, also by an attempt that is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressView>,
    /// The task has ended: nobody says anything more.
    pub ended: bool,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct ProgressView {
    pub at: Instant,
    /// The attempt that said it, while its history is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u16>,
    #[serde(with = "fence_text")]
    #[schema(value_type = String)]
    pub fence: Fence,
    /// From 0 to 1.
    pub progress: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct LogLineView {
    /// From 1, over all attempts.
    pub n: u64,
    pub at: Instant,
    /// The attempt that said it, while its history is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u16>,
    #[serde(with = "fence_text")]
    #[schema(value_type = String)]
    pub fence: Fence,
    pub text: String,
}

/// What `task_progress` events of the stream hold.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct ProgressSaid {
    #[schema(value_type = String)]
    pub task: TaskId,
    #[serde(with = "fence_text")]
    #[schema(value_type = String)]
    pub fence: Fence,
    /// From 0 to 1.
    pub progress: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What `task_log` events of the stream hold.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct LogSaid {
    #[schema(value_type = String)]
    pub task: TaskId,
    pub at: Instant,
    #[serde(with = "fence_text")]
    #[schema(value_type = String)]
    pub fence: Fence,
    pub text: String,
}
