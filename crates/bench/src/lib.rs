//! Repeatable loads: each in a fresh directory, durable settings on, payloads of 100 bytes. What they find is printed,
//! never asserted. The HTTP loads run against a server process of the same binary, from processes of their own.

mod blobs;
mod bulk;
mod client;
mod disk;
mod events;
mod http;
mod in_process;
mod kernel_only;
pub mod load;
mod redis;
mod runs;
mod stats;
mod through;
mod waits;

use engine::{Engine, EngineOptions};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use store::StoreError;
use store::blobs::Blobs;
use store::sqlite::Sqlite;

/// Tasks per add and per poll in the throughput loads.
pub const BATCH: usize = 100;

#[derive(Clone, Debug, Serialize)]
pub struct Measure {
    pub name: &'static str,
    pub value: f64,
    pub unit: &'static str,
    /// How it was measured.
    pub how: &'static str,
}

#[derive(Clone, Debug)]
pub struct Options {
    /// Only measures whose name starts so.
    pub only: Option<String>,
    /// For each throughput load.
    pub seconds: u64,
    /// The binary whose `serve` and `bench-load` are run.
    pub binary: PathBuf,
    /// Fresh directories are made in here.
    pub parent: PathBuf,
}

impl Options {
    fn time(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }

    fn fresh_dir(&self) -> Result<tempfile::TempDir, String> {
        tempfile::tempdir_in(&self.parent).map_err(|error| format!("{}: {error}", self.parent.display()))
    }

    /// An engine as a server has it, with everything on disk, in a fresh folder.
    fn open(&self) -> Result<(tempfile::TempDir, Engine), String> {
        let dir = self.fresh_dir()?;
        let opened = || -> Result<Engine, StoreError> {
            let blobs = Arc::new(Blobs::open(&dir.path().join("blobs"))?);
            Engine::open(Box::new(Sqlite::open(dir.path())?), blobs, EngineOptions::default())
        };
        let engine = opened().map_err(|error| error.to_string())?;
        Ok((dir, engine))
    }
}

type Load = fn(&Options) -> Result<Vec<Measure>, String>;

/// Every load with the names of what it measures.
const LOADS: [(&[&str], Load); 30] = [
    (&["disk.fdatasync_ms.p50"], disk::fdatasync),
    (&["disk.idle_fdatasync_ms.p50"], disk::idle),
    // Before the loads that leave memory behind: this one measures how the process grows.
    (&["queued.bytes_each", "lease_us.at_1k", "lease_us.at_1m"], kernel_only::big_queue),
    (&["run.parked_bytes_each"], runs::parked),
    (&["run.validate_5k_ms"], runs::validate),
    (&["run.graph_2k_ms"], runs::graph),
    (&["run.in_process.hops_per_s"], runs::in_process),
    (&["run.http.hops_per_s"], http::hops),
    (&["redis.hops_per_s"], redis::hops),
    (&["run.idle_hop_ms.p50"], runs::idle_hop),
    (&["run.fan_out_10k_s"], runs::fan_out),
    (&["bulk.runs_retry_per_s", "bulk.runs_retry.wait_ms.max"], runs::bulk_retry),
    (&["bulk.runs_restart_per_s", "bulk.runs_restart.wait_ms.max"], runs::bulk_restart),
    (&["bulk.runs_patch_per_s", "bulk.runs_patch.wait_ms.max"], runs::bulk_patch),
    (&["run.replay_100k_ms"], runs::replay),
    (&["run.patch_1k_ms", "run.patch_1k.wait_ms.max"], runs::patch),
    (&["run.patch_10k_items_ms", "run.patch_wait_ms"], runs::patch_items),
    (&["task.in_process.per_s"], in_process::plain),
    (&["task.keys_1.per_s", "task.keys_10000.per_s"], in_process::keyed),
    (&["event.http.per_s"], events::http),
    (&["event.plain.per_s", "event.disciplined.per_s"], events::disciplined),
    (&["event.unawaited.per_s", "event.awaited.per_s", "event.wake_ms.p50"], waits::awaited),
    (&["blob.put_ratio", "blob.get_ratio"], blobs::against_files),
    (&["idle.cpu_percent"], events::idle),
    (&["stats.day_ms"], stats::day),
    (&["task.http.per_s"], http::through),
    (&["task.http_single.per_s"], http::single),
    (&["task.http.drain_per_s"], http::drain),
    (&["task.idle_hop_ms.p50", "task.idle_hop_ms.p99"], http::idle_hop),
    (
        &[
            "bulk.reprioritize.wait_ms.max",
            "bulk.redrive.wait_ms.max",
            "bulk.clear.wait_ms.max",
            "bulk.reprioritize.per_s",
            "bulk.redrive.per_s",
            "bulk.clear.per_s",
        ],
        bulk::million,
    ),
];

pub fn names() -> impl Iterator<Item = &'static str> {
    LOADS.iter().flat_map(|(names, _)| names.iter().copied())
}

/// Runs what was asked for; `before` is told the names of each load before it starts, `after` what it found.
pub fn run(options: &Options, before: &mut dyn FnMut(&[&str]), after: &mut dyn FnMut(&Measure)) -> Result<Vec<Measure>, String> {
    let mut found = Vec::new();
    for (names, load) in LOADS {
        let wanted = |name: &str| options.only.as_deref().is_none_or(|prefix| name.starts_with(prefix));
        if !names.iter().any(|name| wanted(name)) {
            continue;
        }
        before(names);
        for measure in load(options)?.into_iter().filter(|measure| wanted(measure.name)) {
            after(&measure);
            found.push(measure);
        }
    }
    Ok(found)
}

/// The value below which `share` of the sorted values lie.
fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = ((values.len() as f64 - 1.0) * share).round() as usize;
    values.get(at).copied().unwrap_or(f64::NAN)
}

/// 100 bytes of JSON.
fn payload_text() -> String {
    format!("{{\"text\":\"{}\"}}", "x".repeat(100 - 11))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payload_is_what_it_says() {
        assert_eq!(payload_text().len(), 100);
        assert!(serde_json::from_str::<serde_json::Value>(&payload_text()).is_ok());
    }

    #[test]
    fn percentiles_are_values_that_occurred() {
        let mut values = [3.0, 1.0, 2.0, 4.0, 5.0];
        assert_eq!(percentile(&mut values, 0.5), 3.0);
        assert_eq!(percentile(&mut values, 0.99), 5.0);
    }
}
