//! `signaller bench` speaks the form that others read, and measures what it is asked to.

use serde_json::Value;
use std::process::Command;

fn run(arguments: &[&str]) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_signaller")).arg("bench").args(arguments).current_dir(&folder).output().unwrap();
    (ran.status.code(), serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}")))
}

#[test]
fn every_result_has_a_name_a_value_and_a_unit() {
    for (only, expected) in [
        ("disk", &["disk.fdatasync_ms.p50", "disk.idle_fdatasync_ms.p50"][..]),
        ("task.idle_hop", &["task.idle_hop_ms.p50", "task.idle_hop_ms.p99"]),
        ("task.in_process", &["task.in_process.per_s"]),
        ("task.http.per_s", &["task.http.per_s"]),
        ("task.keys_", &["task.keys_1.per_s", "task.keys_10000.per_s"]),
        ("run.in_process", &["run.in_process.hops_per_s"]),
        ("run.http", &["run.http.hops_per_s"]),
        ("run.idle_hop", &["run.idle_hop_ms.p50"]),
        ("run.validate", &["run.validate_5k_ms"]),
        ("redis", &["redis.hops_per_s"]),
        ("blob", &["blob.put_ratio", "blob.get_ratio"]),
    ] {
        let (code, answer) = run(&["--json", "--seconds", "1", "--only", only]);
        let results = answer["results"].as_array().unwrap_or_else(|| panic!("{answer}"));
        let names: Vec<&str> = results.iter().map(|result| result["name"].as_str().unwrap()).collect();
        assert_eq!((code, &names[..]), (Some(0), expected));
        for result in results {
            assert!(result["value"].as_f64().is_some_and(|value| value > 0.0), "{result}");
            assert!(result["unit"].as_str().is_some_and(|unit| !unit.is_empty()), "{result}");
        }
    }
}

#[test]
fn what_does_not_exist_is_not_measured() {
    let (code, answer) = run(&["--json", "--only", "nothing.like.this"]);
    assert_eq!(code, Some(2), "{answer}");
}

#[test]
fn the_names_others_rely_on_are_there() {
    let names: Vec<&str> = bench::names().collect();
    for name in [
        "disk.fdatasync_ms.p50",
        "task.in_process.per_s",
        "task.http.per_s",
        "task.http.drain_per_s",
        "task.idle_hop_ms.p50",
        "task.idle_hop_ms.p99",
        "task.keys_1.per_s",
        "task.keys_10000.per_s",
        "queued.bytes_each",
        "lease_us.at_1m",
        "lease_us.at_1k",
        "run.in_process.hops_per_s",
        "run.http.hops_per_s",
        "run.idle_hop_ms.p50",
        "run.fan_out_10k_s",
        "run.replay_100k_ms",
        "run.validate_5k_ms",
        "run.parked_bytes_each",
        "redis.hops_per_s",
        "blob.put_ratio",
        "blob.get_ratio",
    ] {
        assert!(names.contains(&name), "{name}");
    }
}
