//! How it is and how it went, as whoever looks after it asks: statistics, depth, one task whole, health.

mod server;

use serde_json::{Value, json};
use server::{Server, signaller_with};
use std::process::Command;

struct House {
    server: Server,
    folder: tempfile::TempDir,
}

impl House {
    fn start() -> House {
        let folder = tempfile::tempdir().unwrap();
        House { server: Server::start(&folder.path().join("data"), 0), folder }
    }

    fn restart(&mut self) {
        self.server.kill_9();
        self.server = Server::start(&self.folder.path().join("data"), 0);
    }

    /// Runs a command; its exit code and its document.
    fn run(&self, command: &str) -> (i32, Value) {
        let args: Vec<&str> = command.split_whitespace().collect();
        signaller_with(&args, Some(&self.server.url), "")
    }

    /// What a command answers at these places, as JSON.
    #[track_caller]
    fn check(&self, command: &str, exit: i32, places: &[(&str, &str)]) {
        let (code, answer) = self.run(command);
        assert_eq!(code, exit, "{command}: {answer}");
        for (pointer, expected) in places {
            let found = answer.pointer(pointer).map(Value::to_string).unwrap_or_default();
            assert_eq!(found, *expected, "{command} {pointer}: {answer}");
        }
    }

    /// As people see it.
    fn text(&self, command: &str) -> String {
        let mut human = Command::new(env!("CARGO_BIN_EXE_signaller"));
        human.arg("--human").args(command.split_whitespace()).env("SIGNALLER_URL", &self.server.url);
        String::from_utf8(human.output().unwrap().stdout).unwrap()
    }

    fn work(&self, want: u64, results: Value) -> Value {
        let body = json!({"worker": "w", "types": ["lint", "test"], "want": want, "wait_ms": 0, "results": results});
        self.server.post("/v1/work", &body)
    }

    /// Has the next task worked off, well or not.
    fn work_off(&self, well: bool) {
        let tasks = self.work(1, json!([]));
        let (task, fence) = (&tasks["tasks"][0]["task"], &tasks["tasks"][0]["fence"]);
        let result = match well {
            true => json!({"task": task, "fence": fence, "status": "done", "output": 1}),
            false => {
                json!({"task": task, "fence": fence, "status": "failed", "error": {"code": "exit_1", "message": "it broke"}, "retryable": false})
            }
        };
        let answer = self.work(0, json!([result]));
        assert_eq!(answer["results"][0]["ok"], json!(true), "{answer}");
    }
}

#[test]
fn statistics_count_what_happened_and_survive_a_crash() {
    let mut house = House::start();
    house.check(
        "queue stats",
        0,
        &[
            ("/result/window/found", "0"),
            ("/result/window/truncated", "false"),
            ("/result/dispatches/started", "0"),
            ("/result/dispatches/success_rate", "null"),
            ("/result/queue_latency_ms/within_target", "null"),
            ("/result/queue_latency_ms/target_p95_ms", "5000"),
        ],
    );
    assert!(house.text("queue stats").contains("nothing was added, handed out or ended in this while"));
    for command in ["task add lint", "task add lint", "task add test", "task add test --delay 1h"] {
        house.check(command, 0, &[]);
    }
    house.work_off(true);
    house.work_off(false);
    house.work_off(true);
    house.check("task add lint", 0, &[]);
    house.check("task cancel task-5 --reason enough", 0, &[]);
    let whole = [
        ("/result/dispatches/started", "3"),
        ("/result/dispatches/completed", "2"),
        ("/result/dispatches/failed", "1"),
        ("/result/dispatches/success_rate", "0.6667"),
        ("/result/queue_latency_ms/within_target", "true"),
        ("/result/tasks/added", "5"),
        ("/result/tasks/failed", "1"),
        ("/result/tasks/cancelled", r#"{"asked":1}"#),
        ("/result/families/0/family", r#""lint""#),
        ("/result/families/0/dispatches/started", "2"),
        ("/result/families/1/family", r#""test""#),
        ("/result/families/1/dispatches/completed", "1"),
        ("/result/recent_failures/0/task", r#""task-2""#),
        ("/result/recent_failures/0/code", r#""exit_1""#),
        ("/result/recent_failures/0/message", r#""it broke""#),
        ("/result/recent_failures/0/final", "true"),
        ("/result/recent_failures/1", ""),
        ("/result/current_depth/scheduled", "1"),
        ("/result/current_depth/dead", "1"),
        ("/result/window/truncated", "false"),
    ];
    house.check("queue stats", 0, &whole);
    house.restart();
    house.check("queue stats --since 2h", 0, &whole);
    house.check(
        "queue stats --queue test --since 100000000000",
        0,
        &[
            ("/result/dispatches/started", "1"),
            ("/result/dispatches/success_rate", "1.0"),
            ("/result/families/0/family", r#""test""#),
            ("/result/families/1", ""),
            ("/result/recent_failures", "[]"),
            ("/result/current_depth/dead", "0"),
            ("/result/window/truncated", "true"),
        ],
    );
    house.check("queue stats --family lint --failures 0", 0, &[("/result/tasks/added", "3"), ("/result/recent_failures", "[]")]);
    house.check("queue stats --target 0ms", 0, &[("/result/queue_latency_ms/within_target", "false")]);
    house.check("queue stats --since tomorrow", 2, &[("/error/code", r#""usage""#)]);
    house.check("queue stats --since 2099-01-01T00:00:00Z", 2, &[("/error/code", r#""invalid""#)]);
    house.check("queue stats --failures 101", 2, &[("/error/code", r#""usage""#)]);
    let text = house.text("queue stats");
    for part in ["3 started, 2 completed, 1 failed (66.7 % went well)", "within the target of 5s", "exit_1: it broke", "gave up"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn depth_says_what_waits_where_and_for_how_long() {
    let house = House::start();
    house.check("queue depth", 0, &[("/result/queues", "[]"), ("/result/total/queued", "0")]);
    assert!(house.text("queue depth").starts_with("Nothing waits or runs"));
    for command in ["task add lint", "task add lint --delay 1h", "task add test", "task add test --after task-1"] {
        house.check(command, 0, &[]);
    }
    house.check("queue pause test", 0, &[]);
    house.check(
        "queue depth",
        0,
        &[
            ("/result/total/queued", "4"),
            ("/result/total/ready", "2"),
            ("/result/queues/0/queue", r#""lint""#),
            ("/result/queues/0/counts/ready", "1"),
            ("/result/queues/0/counts/scheduled", "1"),
            ("/result/queues/1/counts/blocked", "1"),
            ("/result/queues/1/paused", "true"),
        ],
    );
    let (_, depth) = house.run("queue depth --family lint");
    assert!(depth["result"]["queues"][0]["oldest_age_ms"].is_u64(), "{depth}");
    assert_eq!((&depth["result"]["total"]["queued"], depth["result"]["queues"].as_array().unwrap().len()), (&json!(2), 1));
    house.check("queue depth --family none", 0, &[("/result/queues", "[]")]);
    house.work_off(false);
    house.check("queue depth --family lint", 0, &[("/result/total/dead", "1"), ("/result/total/ready", "0")]);
    let text = house.text("queue depth");
    assert!(text.contains("OLDEST") && text.lines().any(|line| line.starts_with("all")), "{text}");
}

#[test]
fn one_task_is_told_whole_or_said_to_be_gone() {
    let house = House::start();
    house.check("task add lint --delay 1h", 0, &[]);
    house.check(
        "queue inspect task-1",
        0,
        &[
            ("/result/task/status", r#""queued""#),
            ("/result/explanation/blocked_on/0/code", r#""scheduled""#),
            ("/result/history/0/record/record", r#""task_added""#),
            ("/result/history_left", "0"),
        ],
    );
    let text = house.text("queue inspect task-1");
    assert!(text.contains("WHAT HAPPENED") && text.contains("status"), "{text}");
    house.check("task delete task-1 --yes", 0, &[]);
    let actions = r#"["signaller queue depth","signaller queue stats","signaller task list"]"#;
    for task in ["task-1", "task-99"] {
        let (exit, answer) = house.run(&format!("queue inspect {task}"));
        assert_eq!((exit, &answer["error"]["code"]), (3, &json!("message_missing")), "{answer}");
        let commands: Vec<&Value> = answer["next_actions"].as_array().unwrap().iter().map(|next| &next["command"]).collect();
        assert_eq!(json!(commands).to_string(), actions, "{answer}");
    }
    house.check("queue inspect banana", 2, &[("/error/code", r#""usage""#)]);
}

#[test]
fn status_is_one_screen_and_one_document() {
    let house = House::start();
    house.check("task add lint", 0, &[]);
    house.check(
        "status",
        0,
        &[
            ("/result/counts/ready", "1"),
            ("/result/queues", "1"),
            ("/result/bulks", "0"),
            ("/result/runs", "0"),
            ("/result/shard", "0"),
            ("/result/commits_failed", "0"),
            ("/result/rollups/lost", "0"),
        ],
    );
    let text = house.text("status");
    for part in ["server", "store", "up for", "1 ready; 1 queue", "bulks", "statistics", "up to date"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// Holds the database, so that no commit of a server can come to its end.
struct Holder(std::process::Child);

impl Holder {
    fn hold(data: &std::path::Path) -> Holder {
        let script = "import sqlite3, sys\n\
                      db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=20)\n\
                      db.execute('BEGIN IMMEDIATE')\nprint('held', flush=True)\nsys.stdin.read()";
        let mut child = Command::new("python3")
            .args(["-c", script])
            .arg(data.join("signaller.db"))
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("python3 is there");
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.as_mut().unwrap()), &mut line).unwrap();
        assert_eq!(line, "held\n");
        Holder(child)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        _ = self.0.wait();
    }
}

#[test]
fn a_server_that_stands_still_says_so_and_ends_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (data, config) = (folder.path().join("data"), folder.path().join("w.toml"));
    std::fs::write(&config, "[watchdog]\nafter = \"1s\"\nexit_after = \"3s\"").unwrap();
    let args = ["--config", config.to_str().unwrap()];
    let server = Server::start_with(&data, 0, &args, &[]);
    assert_eq!(server.get("/health"), json!({"ok": true}));
    server.post("/v1/tasks", &json!({"type": "lint"}));
    let mut house = House { server, folder };
    let holder = Holder::hold(&data);
    let url = house.server.url.clone();
    let hanging = std::thread::spawn(move || signaller_with(&["task", "add", "lint"], Some(&url), "").0);
    let told = std::iter::repeat_with(|| house.server.ask("GET", "/health", None)).find(|(status, _)| *status == 503).unwrap().1;
    assert!(told["reason"].as_str().unwrap().starts_with("the writer has not finished a batch for"), "{told}");
    assert_eq!(house.server.wait(), Some(7));
    assert_ne!(hanging.join().unwrap(), 0);
    drop(holder);
    house.server = Server::start_with(&data, 0, &args, &[]);
    house.check("status", 0, &[("/result/counts/ready", "1"), ("/result/watchdog/trips", "0")]);
    assert!(house.text("status").contains("everything moves"));
}
