//! `signaller worker-check` against real workers: one that keeps to the protocol, and some that do not.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

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

/// What `signaller work` runs for each task.
const COMMAND: &str = r#"
import json, sys, time
input = json.load(sys.stdin)["input"]
match input["do"]:
    case "echo" | "sleep":
        time.sleep(input.get("ms", 0) / 1000)
        print(json.dumps(input["value"]))
    case "grow":
        print(json.dumps("x" * input["bytes"]))
    case "wait":
        time.sleep(3600)
    case "fail":
        print(f"signaller: failed {input['code']} {input['message']}", file=sys.stderr)
        after = f"{input['retry_after_ms']}ms" if input.get("retry_after_ms") else None
        if after or not input["retryable"]:
            print("signaller: retry", after or "never", file=sys.stderr)
        sys.exit(1)
"#;

/// In what it has of its own; all of it would take long, a process for each task.
#[test]
fn a_worker_of_the_command_line_keeps_to_the_protocol() {
    let work =
        ["--", env!("CARGO_BIN_EXE_signaller"), "work", "--concurrency", "4", "--type", "check", "--", "python3", "-c", COMMAND];
    for only in ["retry", "cancel", "server", "stop"] {
        let (exit, checks, text) = check(&[&["--only", only], &work[..]].concat());
        assert!(exit == 0 && checks.len() == 1 && checks[0].1, "{exit} {text}");
    }
}

/// It takes tasks and answers them, and nothing more; what else it gets wrong, `FAULT` says.
const CARELESS: &str = r#"
import json, os, pathlib, sys, time, urllib.request
fault, seen, results = os.environ.get("FAULT"), set(), []
marker = pathlib.Path(sys.argv[0] + ".started")
if fault == "once" and marker.exists():
    sys.exit("I have worked enough")
marker.touch()

def poll(**said):
    body = {"worker": f"careless-{os.getpid()}", "types": ["check"], **said}
    request = urllib.request.Request(os.environ["SIGNALLER_URL"] + "/v1/work", json.dumps(body).encode(), {"content-type": "application/json"})
    try:
        return json.load(urllib.request.urlopen(request))
    except OSError:
        if fault != "swallow":
            raise
        time.sleep(0.1)
        return {"results": [], "tasks": []}

while True:
    answer = poll(want=1, wait_ms=500, results=results)
    if fault == "touchy" and not all(result["ok"] for result in answer["results"]):
        sys.exit("nobody wants my work")
    results = []
    for task in answer["tasks"]:
        input, lease = task["input"], {"task": task["task"], "fence": task["fence"]}
        if fault == "forget" and task["task"] not in seen:
            seen.add(task["task"])
            poll(holding=[lease])
            continue
        until = time.monotonic() + (5 if fault == "deaf" else input.get("ms", 0) / 1000)
        while (left := until - time.monotonic()) > 0:
            if fault == "swallow":
                poll(holding=[lease])
            time.sleep(min(left, 0.3) if fault == "swallow" else left)
        value = input.get("value")
        results.append({**lease, "status": "done", "output": str(value) if fault == "mangle" else value})
"#;

#[test]
fn what_a_careless_worker_gets_wrong_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        ("", "echo", true, ""),
        ("mangle", "echo", false, "should give null, and gave \\\"None\\\""),
        ("", "many", true, ""),
        ("forget", "many", false, "took 2 attempts, and should have taken one"),
        ("", "fail", false, "should have failed with `no_such_file"),
        ("", "retry", false, "should have failed with `busy` at its third attempt"),
        ("", "large", false, "should give"),
        ("", "heartbeat", false, "was silent for more than 1500 ms"),
        ("", "cancel", false, "should still be worked at, and is done"),
        ("deaf", "cancel", false, "was not kept alive until it is cancelled: \\\"worker "),
        ("touchy", "fence", false, "the worker has ended"),
        ("", "server", false, "the worker has ended"),
        ("swallow", "heartbeat", true, ""),
        ("swallow", "server", false, "was done while the server was away, and done again"),
        ("", "worker", true, ""),
        ("once", "worker", false, "the worker has ended"),
        ("", "stop", false, "told to stop (SIGTERM), it ended with"),
    ];
    std::thread::scope(|scope| {
        for (fault, only, passes, told) in cases {
            let worker = folder.path().join(format!("careless-{fault}-{only}.py"));
            std::fs::write(&worker, CARELESS).unwrap();
            scope.spawn(move || {
                let command = ["env".to_owned(), format!("FAULT={fault}"), "python3".into(), worker.display().to_string()];
                let args: Vec<&str> = ["--only", only, "--"].into_iter().chain(command.iter().map(String::as_str)).collect();
                let (exit, checks, text) = check(&args);
                assert_eq!((exit == 0, checks.iter().all(|(_, ok)| *ok)), (passes, passes), "{fault} {only}: {text}");
                assert!(text.contains(told), "{fault} {only}: {text}");
            });
        }
    });
    let all: Vec<String> = check(&["--list"]).1.into_iter().map(|(name, _)| name).collect();
    let fails = |name: &String| cases.iter().any(|(_, only, passes, _)| !passes && name.starts_with(only));
    assert!(all.iter().all(fails), "each check fails somebody: {all:?}");
}

/// Whoever ends it finds nothing of it left: no server, no worker, no folder.
#[test]
fn a_check_that_is_told_to_stop_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let begun = folder.path().join("begun");
    let script = format!("echo $$ > {0}.new && mv {0}.new {0}; exec sleep 600", begun.display());
    let mut child = Command::new(env!("CARGO_BIN_EXE_signaller"))
        .args(["--json", "worker-check", "--only", "echo", "--", "sh", "-c", &script])
        .env("TMPDIR", folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    while !begun.exists() {
        assert!(Instant::now() < until, "the worker is started");
        std::thread::sleep(Duration::from_millis(10));
    }
    let worker = std::fs::read_to_string(&begun).unwrap().trim().to_owned();
    let asked = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(asked.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!Path::new("/proc").join(worker).exists(), "the worker is ended");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["begun"], "its folder is gone, and so is the server that would write to it");
}

#[test]
fn a_worker_that_is_none_and_a_check_that_is_none_are_told() {
    let (exit, _, text) = check(&["--only", "echo", "--", "no-such-program-anywhere"]);
    assert!(exit == 2 && text.contains("the worker no-such-program-anywhere is not on PATH"), "{text}");
    let (exit, _, text) = check(&["--only", "nonsense", "--", "true"]);
    assert!(exit == 2 && text.contains("no check starts with `nonsense`") && text.contains("heartbeat"), "{text}");
    let (exit, checks, _) = check(&["--list"]);
    assert_eq!((exit, checks.len()), (0, 11));
}
