//! `signaller worker-check` against real workers: one that keeps to the protocol, and some that do not.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Its exit code, and for each check whether it passed.
fn check(args: &[&str]) -> (i32, Vec<(String, bool)>, String) {
    let ran = Command::new(env!("CARGO_BIN_EXE_signaller"))
        .args(["--json", "worker-check"])
        .args(args)
        .env("PYTHONPATH", root().join("sdk/python/src"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    let answer: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"));
    let checks = answer["result"]["checks"].as_array().into_iter().flatten();
    let checks = checks.map(|check| (check["check"].as_str().unwrap().to_owned(), check["ok"] == true)).collect();
    (ran.status.code().unwrap(), checks, text)
}

#[test]
fn a_worker_of_the_sdk_keeps_to_the_protocol() {
    let worker = root().join("sdk/python/examples/check_worker.py");
    let (exit, checks, text) = check(&["--", "python3", worker.to_str().unwrap()]);
    assert!(exit == 0 && checks.len() == 11 && checks.iter().all(|(_, ok)| *ok), "{exit} {text}");
}

/// It takes tasks and answers them, and nothing more.
const CARELESS: &str = r#"
import json, os, time, urllib.request
results = []
while True:
    poll = {"worker": "careless", "types": ["check"], "want": 1, "wait_ms": 500, "results": results}
    request = urllib.request.Request(os.environ["SIGNALLER_URL"] + "/v1/work", json.dumps(poll).encode(), {"content-type": "application/json"})
    tasks = json.load(urllib.request.urlopen(request))["tasks"]
    results = []
    for task in tasks:
        input = task["input"]
        time.sleep(input.get("ms", 0) / 1000)
        results.append({"task": task["task"], "fence": task["fence"], "status": "done", "output": input.get("value")})
"#;

#[test]
fn what_a_careless_worker_gets_wrong_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let worker = folder.path().join("careless.py");
    std::fs::write(&worker, CARELESS).unwrap();
    let worker = worker.to_str().unwrap();
    for (only, passes, told) in [
        ("echo", true, ""),
        ("fail", false, "should have failed with `no_such_file"),
        ("heartbeat", false, "was silent for more than 1500 ms"),
        ("server", false, "the worker has ended"),
        ("stop", false, "told to stop (SIGTERM), it ended with"),
    ] {
        let (exit, checks, text) = check(&["--only", only, "--", "python3", worker]);
        assert_eq!((exit == 0, checks.iter().all(|(_, ok)| *ok)), (passes, passes), "{only}: {text}");
        assert!(text.contains(told), "{only}: {text}");
    }
}

#[test]
fn a_worker_that_is_none_and_a_check_that_is_none_are_told() {
    let (exit, _, text) = check(&["--only", "echo", "--", "no-such-program-anywhere"]);
    assert!(exit != 0 && text.contains("the worker no-such-program-anywhere cannot be started"), "{text}");
    let (exit, _, text) = check(&["--only", "nonsense", "--", "true"]);
    assert!(exit == 2 && text.contains("no check starts with `nonsense`") && text.contains("heartbeat"), "{text}");
    let (exit, checks, _) = check(&["--list"]);
    assert_eq!((exit, checks.len()), (0, 11));
}
