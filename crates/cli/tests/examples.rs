//! What lies in `examples/` works, with the real binary.

mod server;
mod talk;

use serde_json::{Value, json};
use server::Server;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use talk::until;

fn example(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

#[test]
fn a_worker_in_plain_python_does_its_work() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(&folder.path().join("data"), 0, &["--stop-limit", "100ms"], &[]);
    // Silent for longer than this, it would lose the slow one.
    let config = json!({"heartbeat_ms": 1000, "retry": {"attempts": 3, "backoff_ms": 0, "jitter_percent": 0}});
    server.put("/v1/queues/greet", &json!({"config": config}));
    let mut worker = Command::new("python3");
    worker.arg(example("worker.py")).arg("greet").env("SIGNALLER_URL", &server.url).env("no_proxy", "*");
    let _worker = Ending(worker.env_remove("SIGNALLER_TOKEN").stdin(Stdio::null()).spawn().expect("python3 is there"));
    for (input, status, attempt, pointer, value) in [
        (json!({"name": "Ada \"\u{fc}\""}), "done", 1, "/output/greeting", "Hello, Ada \"\u{fc}\"!"),
        (json!({"name": "slow", "seconds": 2}), "done", 1, "/output/greeting", "Hello, slow!"),
        (json!({"name": "again", "busy": true}), "done", 2, "/output/greeting", "Hello, again!"),
        (json!({}), "failed", 1, "/error/code", "keyerror"),
    ] {
        let task = server.post("/v1/tasks", &json!({"type": "greet", "input": input}))["task"].as_str().unwrap().to_owned();
        let ended = until("it ends", || {
            let view = server.get(&format!("/v1/tasks/{task}"));
            (view["finished_at"].is_string()).then_some(view)
        });
        assert_eq!((&ended["status"], &ended["attempt"]), (&json!(status), &json!(attempt)), "{ended}");
        assert_eq!(ended.pointer(pointer), Some(&json!(value)), "{ended}");
    }
}

#[test]
fn the_greeting_is_json_whatever_the_name() {
    for (input, hello) in [
        (r#"{"task":"task-1","input":{"name":"Ada"}}"#, "Ada"),
        (r#"{"task":"task-1","input":{"name" : "A \"B\" \\ ü","x":[1]}}"#, "A \"B\" \\ ü"),
        ("{\"task\":\"task-1\",\"input\":{\n  \"name\":\n \"lines\"}}", "lines"),
        (r#"{"task":"task-1","input":{"name":7}}"#, "stranger"),
        (r#"{"task":"task-1","input":null}"#, "stranger"),
    ] {
        let mut command = Command::new(example("greet.sh"));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let greeting: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{input}: `{text}`"));
        assert_eq!(greeting, json!({"hello": hello}), "{input}");
    }
}

/// What the README shows as a file is that file, and its commands are commands.
#[test]
fn the_readme_shows_what_is_there() {
    let readme = std::fs::read_to_string(example("../README.md")).unwrap();
    let file = std::fs::read_to_string(example("workflows/payout.yaml")).unwrap();
    assert!(readme.contains(&format!("```yaml\n{file}```\n")), "payout.yaml is shown as it is");
    let mut seen = 0;
    for line in readme.lines().filter_map(|line| line.strip_prefix("signaller ")) {
        let line = line.split("  #").next().unwrap_or_default();
        // Whatever a command would do, its help parses its words first.
        let words: Vec<&str> =
            line.split_whitespace().take_while(|word| !word.starts_with('-') && !word.starts_with('\'')).collect();
        let verbs = words.iter().take(2).filter(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '-'));
        let mut command = Command::new(env!("CARGO_BIN_EXE_signaller"));
        command.args(verbs).arg("--help").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let known = command.status().unwrap().success();
        let flags = line.split_whitespace().take_while(|word| *word != "--").filter(|word| word.starts_with("--"));
        assert!(known, "{line}");
        for flag in flags {
            let mut command = Command::new(env!("CARGO_BIN_EXE_signaller"));
            let verbs = words.iter().take(2).filter(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '-'));
            let help = command.args(verbs).arg("--help").stdin(Stdio::null()).output().unwrap().stdout;
            let help = String::from_utf8_lossy(&help).into_owned();
            assert!(help.contains(flag), "{line}: {flag} is not in its help");
        }
        seen += 1;
    }
    assert!(seen > 15, "{seen}");
}
