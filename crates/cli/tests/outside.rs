//! The binary seen from outside: a server of its own in a fresh folder, and commands as an agent would give them.

use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

const BINARY: &str = env!("CARGO_BIN_EXE_signaller");

struct Server {
    process: Child,
    url: String,
    folder: tempfile::TempDir,
}

impl Server {
    fn start() -> Server {
        let folder = tempfile::tempdir().unwrap();
        let mut process = Command::new(BINARY)
            .args(["dev", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(folder.path().join("data"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        Server { url: ready["ready"]["address"].as_str().unwrap().to_owned(), process, folder }
    }

    fn command(&self, line: &str) -> Command {
        command(&self.url, line)
    }

    /// Runs a line and gives its exit code and its one document.
    #[track_caller]
    fn run(&self, line: &str) -> (i32, Value) {
        document(&self.command(line).output().unwrap())
    }

    /// Runs a line that must end with `exit`, and shows what is at `pointer` of its document.
    #[track_caller]
    fn check(&self, line: &str, exit: i32, pointer: &str, shown: &str) {
        let (code, document) = self.run(line);
        let found = document.pointer(pointer).map(Value::to_string).unwrap_or_default();
        assert_eq!((code, found.as_str()), (exit, shown), "{line}: {document}");
        assert_eq!(document["ok"], exit == 0, "{line}: {document}");
        assert!(document["next_actions"].is_array() && document["command"].is_string(), "{line}: {document}");
        assert_eq!(document["error"]["code"].is_string(), exit != 0, "{line}: {document}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// `'…'` holds a word together.
fn command(url: &str, line: &str) -> Command {
    let mut command = Command::new(BINARY);
    for (index, part) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            command.arg(part);
        } else {
            command.args(part.split_whitespace());
        }
    }
    command.env("SIGNALLER_URL", url).env_remove("SIGNALLER_TOKEN").env("USER", "ana");
    command
}

#[track_caller]
fn document(output: &Output) -> (i32, Value) {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(text.lines().count(), 1, "one document on one line: {text}");
    (output.status.code().unwrap(), serde_json::from_str(&text).unwrap())
}

#[test]
fn a_task_lives_and_dies_by_the_command_line() {
    let server = Server::start();
    server.check("task list", 0, "/result", r#"{"next":null,"tasks":[]}"#);
    server.check(
        "task add lint -i '{\"b\":1,\"a\":2}' --key tenant=acme",
        0,
        "/result",
        r#"{"duplicate":false,"task":"task-1"}"#,
    );
    server.check("task add lint --idempotency-key k", 0, "/result/task", r#""task-2""#);
    server.check("task add lint --idempotency-key k", 0, "/result", r#"{"duplicate":true,"task":"task-2"}"#);
    server.check("task explain task-1", 0, "/result/blocked_on/0/code", r#""no_worker""#);
    server.check("work --type lint --once -- cat", 0, "/result/done", "1");
    server.check("task wait task-1", 0, "/result/tasks/0/output/input", r#"{"a":2,"b":1}"#);
    server.check("work --type lint --once -- sh -c 'echo bad >&2; exit 65'", 1, "/result/failed", "1");
    server.check("task wait task-1 task-2", 1, "/error/code", r#""work_failed""#);
    server.check("task show task-2", 0, "/result/error", r#"{"code":"exit_65","message":"bad"}"#);
    server.check("queue dead lint", 0, "/result/tasks/0/task", r#""task-2""#);
    server.check("queue redrive lint", 0, "/result/items", "1");
    server.check("task cancel task-2 --reason enough", 0, "/result/tasks/0/status", r#""cancelled""#);
    server.check("task reset task-2", 0, "/result/tasks/0/status", r#""idle""#);
    server.check("task retry task-2", 0, "/result/tasks/0/status", r#""queued""#);
    server.check("task start task-2", 0, "/result/tasks/0/status", r#""queued""#);
    server.check("task history task-2", 0, "/result/records/0/record/record", r#""task_added""#);
    server.check("task wait task-2 --timeout 20ms", 6, "/error/code", r#""timeout""#);
    server.check("task delete task-2 --dry-run", 0, "/result/tasks/0/status", r#""queued""#);
    server.check("task delete task-2 --yes", 0, "/result/tasks/0/task", r#""task-2""#);
    server.check("task show task-2", 3, "/error/code", r#""task_not_found""#);
}

#[test]
fn a_queue_is_ruled_by_the_command_line() {
    let server = Server::start();
    server.check("queue set ci --concurrency 4 --key-rate tenant=10/m", 0, "/result/config/concurrency", "4");
    server.check("queue set ci --concurrency none --attempts 9", 0, "/result/config/retry/attempts", "9");
    server.check("queue show ci", 0, "/result/config/keys/tenant/rate/per_ms", "60000");
    server.check("queue set ci --attempts 9", 2, "/error/code", r#""usage""#);
    server.check("queue set ci --attempts 0", 2, "/error/code", r#""usage""#);
    server.check("task add other --queue ci --attempts 2 --idle", 0, "/result/task", r#""task-1""#);
    server.check("task history task-1", 0, "/result/records/0/record/spec/retry/attempts", "2");
    server.check("task delete task-1 --yes", 0, "/result/tasks/0/status", r#""idle""#);
    server.check("queue pause ci --for 1h --reason deploy", 0, "/result/pause/reason", r#""deploy""#);
    server.check("task add lint --queue ci", 0, "/result/task", r#""task-2""#);
    server.check("task explain task-2", 0, "/result/blocked_on/0/code", r#""queue_paused""#);
    server.check("queue resume ci", 0, "/result/pause", "");
    server.check("queue priority ci high", 0, "/result", "{}");
    server.check("queue show ci", 0, "/result/boosts/0/seconds", "600");
    server.check("queue priority ci 90 --task task-2", 0, "/result", r#"{"changed":1,"skipped":0}"#);
    server.check("queue priority ci critical --type lint", 0, "/result/work", r#""reprioritize""#);
    server.check("task show task-2", 0, "/result/priority", "3600");
    server.check("queue drain ci --no-wait", 0, "/result/bulk", r#""bulk-4""#);
    server.check("bulk show bulk-4 --wait", 0, "/result/status", r#""done""#);
    server.check("bulk cancel bulk-4", 4, "/error/code", r#""bulk_closed""#);
    server.check("bulk list", 0, "/result/bulks/0/work", r#""drain""#);
    server.check("queue clear ci", 5, "/error/code", r#""confirmation_needed""#);
    server.check("queue clear ci --dry-run", 0, "/result/would_cancel", "1");
    server.check("queue clear ci --yes", 0, "/result/items", "1");
    server.check("queue list", 0, "/result/queues/0/queue", r#""ci""#);
    server.check("queue set full --backlog 1", 0, "/result/config/backlog_max", "1");
    server.check("task add full", 0, "/result/duplicate", "false");
    server.check("task add full", 6, "/error/code", r#""backlog_full""#);
    server.check("status", 0, "/result/counts/queued", "1");
}

#[test]
fn many_tasks_come_from_a_file() {
    let server = Server::start();
    let path = server.folder.path().join("tasks.ndjson");
    let write = |lines: &[&str]| {
        let mut file = std::fs::File::create(&path).unwrap();
        lines.iter().for_each(|line| writeln!(file, "{line}").unwrap());
    };
    let add = |path: &Path| document(&server.command("task add --ndjson").arg(path).output().unwrap());
    write(&vec![r#"{"type":"lint"}"#; 1_200]);
    let (exit, answer) = add(&path);
    assert_eq!((exit, &answer["result"]["added"], answer["result"].get("tasks")), (0, &Value::from(1_200), None), "{answer}");
    let mut lines = vec![r#"{"type":"lint"}"#; 700];
    lines[600] = r#"{"type":"lint","inptu":1}"#;
    write(&lines);
    let (exit, answer) = add(&path);
    let message = answer["error"]["message"].as_str().unwrap();
    assert_eq!((exit, &answer["result"]["lines"]), (2, &Value::from(500)), "{answer}");
    assert!(message.starts_with("line 601: unknown field `inptu`") && message.contains("lines 1 to 500 were taken"), "{message}");
    server.check("status", 0, "/result/counts/queued", "1700");
}

#[test]
fn a_watch_is_lines_of_json_and_one_document() {
    let server = Server::start();
    let mut watch = server.command("watch --queue lint --count 2").stdout(Stdio::piped()).spawn().unwrap();
    // There is no telling from outside when the watch has begun, so tasks are added until it has seen enough.
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    while watch.try_wait().unwrap().is_none() {
        server.run("task add other");
        server.run("task add lint");
    }
    let lines: Vec<Value> = lines.by_ref().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    let [first, second, last] = &lines[..] else { panic!("{lines:?}") };
    for record in [first, second] {
        assert_eq!(record["record"]["record"], "task_added");
        assert_eq!(record["record"]["spec"]["queue"], "lint");
    }
    assert_eq!(
        (&last["ok"], &last["result"]["records"], &last["result"]["last"]),
        (&Value::from(true), &Value::from(2), &second["seq"])
    );
}

#[test]
fn every_failure_is_one_document_with_its_exit_code() {
    let server = Server::start();
    server.check("task ad", 2, "/command", r#""task""#);
    server.check("task add", 2, "/error/code", r#""usage""#);
    server.check("task add lint -i {", 2, "/error/code", r#""usage""#);
    server.check("task show task-9", 3, "/error/code", r#""task_not_found""#);
    server.check("task add lint --after task-9", 4, "/error/code", r#""blocker_not_found""#);
    server.check("task add lint", 0, "/result/task", r#""task-1""#);
    server.check("task delete task-1", 5, "/error/code", r#""confirmation_needed""#);
    server.check("work --type lint -- /no/such/command", 2, "/error/code", r#""command_not_found""#);
    server.check("work --type lint -- nosuchcmd", 2, "/error/message", r#""`nosuchcmd` is not on PATH""#);
    server.check("task show task-1", 0, "/result/attempt", "0");

    let (exit, answer) = document(&command("http://127.0.0.1:9", "status").output().unwrap());
    assert_eq!((exit, &answer["error"]["code"], &answer["error"]["retryable"]), (7, &"unreachable".into(), &true.into()));
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("http://127.0.0.1:9 (from SIGNALLER_URL)"), "{message}");
    assert!(answer["fix"].as_str().unwrap().contains("signaller dev"), "{answer}");
}

#[test]
fn people_get_sentences_without_colour_off_a_terminal() {
    let server = Server::start();
    for (line, shown) in [
        ("--human task list", "There is no task yet. Try: signaller task add TYPE\n"),
        ("--human task list --status failed", "No task fits.\n"),
        ("--human queue list", "There is no queue yet: one comes to be with its first task. Try: signaller task add TYPE\n"),
        ("--human bulk list", "No bulk is under way or has ended lately.\n"),
        ("--human task add lint", "Added task-1 to queue lint.\n"),
        ("--human task cancel task-1", "task-1 is cancelled.\n"),
        ("--human queue dead lint", "Queue lint has no dead letters.\n"),
        ("--human queue clear lint --yes", "There was nothing to do.\n"),
    ] {
        let output = server.command(line).output().unwrap();
        assert_eq!((String::from_utf8_lossy(&output.stdout).as_ref(), output.status.code()), (shown, Some(0)), "{line}");
    }
    let output = server.command("--human task show task-9").output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.stdout.len(), output.status.code()), (0, Some(3)));
    assert!(errors.starts_with("error: there is no task-9\n  fix: "), "{errors}");
    let help = server.command("task add --help").output().unwrap();
    assert!(String::from_utf8_lossy(&help.stdout).contains("Examples:") && help.status.success());
    let script = server.command("completions bash").output().unwrap();
    assert!(String::from_utf8_lossy(&script.stdout).contains("_signaller()"), "a script, also off a terminal");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = |dress: &str| server.command(&format!("{dress} completions {shell}")).output().unwrap().stdout;
        assert_eq!(script("--human"), script(""), "not a byte of the script for {shell} depends on who reads it");
    }
}
