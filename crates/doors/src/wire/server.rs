//! What the server says about itself.

use super::Counts;
use kernel::names::{TypeName, WorkerName};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ServerStatus {
    pub version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Which store this server keeps everything in, in a sentence.
    pub store: String,
    pub uptime_ms: u64,
    /// No new work is handed out any more.
    pub stopping: bool,
    /// Over all queues.
    pub counts: Counts,
    /// Runs that have not ended, or not come to rest.
    #[serde(default)]
    pub runs: u64,
    pub workers: Vec<WorkerView>,
    /// Since this server started.
    pub commits: u64,
    /// The number of the newest record; numbers rise, with gaps.
    pub records: u64,
}

/// A worker that asked for work not long ago.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WorkerView {
    #[schema(value_type = String)]
    pub worker: WorkerName,
    #[schema(value_type = Vec<String>)]
    pub types: Vec<TypeName>,
    pub asked_ms_ago: u64,
    /// Leases it holds.
    pub holding: u64,
}

/// The answer of `/health` and `/ready`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Health {
    pub ok: bool,
    /// What is wrong when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
