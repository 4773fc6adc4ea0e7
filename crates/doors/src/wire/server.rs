//! What the server says about itself.

use super::{BlobsView, Counts};
use engine::Outside;
use kernel::names::{TypeName, WorkerName};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ServerStatus {
    pub version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Which store this server keeps everything in, in a sentence.
    pub store: String,
    /// Which part of the whole this server is.
    #[serde(default)]
    pub shard: u16,
    pub uptime_ms: u64,
    /// No new work is handed out any more.
    pub stopping: bool,
    /// Over all queues.
    pub counts: Counts,
    /// Queues that hold something or that something was said about.
    #[serde(default)]
    pub queues: u64,
    /// Bulks under way.
    #[serde(default)]
    pub bulks: u64,
    /// Runs that have not ended, or not come to rest.
    #[serde(default)]
    pub runs: u64,
    pub workers: Vec<WorkerView>,
    /// Since this server started.
    pub commits: u64,
    #[serde(default)]
    pub commits_failed: u64,
    /// The number of the newest record; numbers rise, with gaps.
    pub records: u64,
    /// How far the statistics are.
    #[serde(default)]
    pub rollups: RollupsView,
    /// Of the last hour: events that did not become work, by what became of them, as in `/v1/stats`.
    #[serde(default)]
    pub events: BTreeMap<String, u64>,
    #[serde(default)]
    pub watchdog: WatchdogView,
    /// The registry of events, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry: Option<RegistryStatus>,
    /// Where values lie that are too large for a record, and what workers put.
    #[serde(default)]
    pub blobs: BlobsView,
    /// What it leans on outside, by name: `redis`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outside: BTreeMap<String, OutsideView>,
}

/// Something outside that the server uses where it was told to. While it cannot, what goes there waits, and all else goes on.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct OutsideView {
    pub address: String,
    /// Why it cannot be used now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// Since this start; `out`: now.
    pub counts: BTreeMap<String, u64>,
}

impl From<Outside> for OutsideView {
    fn from(outside: Outside) -> OutsideView {
        let trouble = outside.told();
        let counts = outside.counts.into_iter().map(|(what, count)| (what.to_owned(), count)).collect();
        OutsideView { address: outside.address, trouble, counts }
    }
}

/// Statistics are counted behind the records, a moment later; whoever asks waits for them, two seconds at most.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct RollupsView {
    /// The last record that is in them.
    pub record: u64,
    /// How long something that had come has waited to be in them; 0 when all is.
    pub lag_ms: u64,
    /// Records of tasks that were deleted before they were counted.
    pub lost: u64,
    /// Why they do not get further, if they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// Whether anything stands still that should move.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct WatchdogView {
    /// `tick_hung`, `dispatch_hung` or `backlog_idle`, while it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For how long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasted_ms: Option<u64>,
    /// How often something did, since this start.
    pub trips: u64,
}

/// Which registry is in force.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RegistryStatus {
    pub revision: u64,
    /// Why a newer one is not, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The file that this server takes it from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What is right in it and yet may not work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
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
    /// What works without something outside, and that waits for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<String>,
}
