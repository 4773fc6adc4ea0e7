//! What workers say while they work: over the protocol, from commands, kept in bounds, followed and streamed.

mod server;
mod talk;

use serde_json::{Value, json};
use server::{Server, signaller};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use talk::{lease, report, until, verified};

const SECRET: &str = "swordfish-7f3a-never-told";

struct House {
    folder: tempfile::TempDir,
    server: Server,
}

impl House {
    fn start(config: &str, env: &[(&str, &str)]) -> House {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("signaller.toml");
        std::fs::write(&file, config).unwrap();
        let args = ["--config", file.to_str().unwrap(), "--stop-limit", "1s"];
        let server = Server::start_with(&folder.path().join("data"), 0, &args, env);
        House { folder, server }
    }

    fn add(&self, kind: &str, input: Value) -> String {
        let task = json!({"type": kind, "input": input, "retry": {"attempts": 2, "backoff_ms": 0, "jitter_percent": 0}});
        self.server.post("/v1/tasks", &task)["task"].as_str().unwrap().to_owned()
    }

    fn log(&self, task: &str, query: &str) -> Value {
        self.server.get(&format!("/v1/tasks/{task}/log{query}"))
    }

    /// A heartbeat that says something.
    fn say(&self, task: &Value, said: Value) -> Value {
        let mut held = json!({"task": task["task"], "fence": task["fence"]});
        held.as_object_mut().unwrap().extend(said.as_object().unwrap().clone());
        self.server.post("/v1/work", &json!({"worker": "w", "types": [], "holding": [held]}))
    }

    /// Whoever follows the log of a task, and what is heard.
    fn follow(&self, task: &str) -> (Child, impl Iterator<Item = Value> + use<>) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_signaller"));
        command
            .args(["--json", "task", "log", task, "--follow"])
            .env("SIGNALLER_URL", &self.server.url)
            .env_remove("SIGNALLER_TOKEN");
        let follower = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut follower = follower.unwrap();
        let lines = BufReader::new(follower.stdout.take().unwrap()).lines();
        (follower, lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()))
    }

    fn verified(mut self) {
        self.server.terminate();
        verified(&self.folder.path().join("data"));
    }
}

/// `1#1 text`: number, attempt and text of each line.
fn shown(log: &Value) -> Vec<String> {
    let lines = log["lines"].as_array().unwrap().iter();
    lines.map(|line| format!("{}#{} {}", line["n"], line["attempt"], line["text"].as_str().unwrap())).collect()
}

#[test]
fn lines_and_progress_ride_with_heartbeats_and_results() {
    let house = House::start("", &[]);
    let id = house.add("talk", json!({}));
    assert_eq!(house.log(&id, ""), json!({"lines": [], "dropped": 0, "ended": false}));
    let task = lease(&house.server, "w", "talk");
    house.say(&task, json!({"log": ["one", "two \u{1b}[31m"], "progress": 0.4, "message": "row 4 of 10"}));
    let view = house.server.get(&format!("/v1/tasks/{id}"));
    assert_eq!((&view["lease"]["progress"], &view["lease"]["message"]), (&json!(0.4), &json!("row 4 of 10")), "{view}");
    let explained = house.server.get(&format!("/v1/tasks/{id}/explain"));
    let sentence = explained["sentence"].as_str().unwrap();
    assert!(sentence.ends_with(". Its worker says that 40 % are done (row 4 of 10)."), "{sentence}");
    let failed = json!({"status": "failed", "error": {"code": "oh", "message": ""}, "log": ["three"], "progress": 0.7, "message": "row 7"});
    assert_eq!(report(&house.server, "w", &task, failed)["ok"], true);
    let task = lease(&house.server, "w", "talk");
    assert!(house.server.get(&format!("/v1/tasks/{id}"))["lease"]["progress"].is_null(), "another attempt begins at nothing");
    assert_eq!(report(&house.server, "w", &task, json!({"status": "done", "log": ["four"]}))["ok"], true);
    let log = house.log(&id, "");
    assert_eq!(shown(&log), ["1#1 one", "2#1 two \u{1b}[31m", "3#1 three", "4#2 four"]);
    assert_eq!((&log["dropped"], &log["ended"]), (&json!(0), &json!(true)));
    let (far, view) = (&log["progress"], [json!(1), json!(0.7), json!("row 7")]);
    assert_eq!([&far["attempt"], &far["progress"], &far["message"]], view.each_ref(), "how far the first came is known later");
    assert_eq!(shown(&house.log(&id, "?after=2&limit=1")), ["3#1 three"]);

    // The command line tells the same, and no control character of it.
    let told = signaller(&["--json", "task", "log", &id], Some(&house.server.url));
    assert_eq!(told["result"]["lines"].as_array().map(Vec::len), Some(4), "{told}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_signaller"));
    command.args(["--human", "task", "log", &id]).env("SIGNALLER_URL", &house.server.url).env_remove("SIGNALLER_TOKEN");
    let people = String::from_utf8(command.stdin(Stdio::null()).output().unwrap().stdout).unwrap();
    assert!(people.trim_end().ends_with(" #1 said last how far it is: 70 %, row 7"), "{people}");
    assert!(people.contains("0.000 #1 | one\n") && people.contains(" #2 | four\n") && !people.contains('\u{1b}'), "{people}");

    for (path, code) in [(format!("/v1/tasks/{id}/log?limit=0"), "invalid"), ("/v1/tasks/task-99/log".into(), "task_not_found")] {
        assert_eq!(house.server.ask("GET", &path, None).1["error"]["code"], code, "{path}");
    }
    house.verified();
}

#[test]
fn the_newest_lines_stay_and_those_that_went_are_counted() {
    let house = House::start("", &[]);
    let id = house.add("talk", json!({}));
    let task = lease(&house.server, "w", "talk");
    for part in 0..3 {
        let lines: Vec<String> = (0..500).map(|line| format!("{part}-{line}")).collect();
        house.say(&task, json!({"log": lines}));
    }
    let log = house.log(&id, "");
    assert_eq!((log["lines"].as_array().map(Vec::len), &log["dropped"]), (Some(1_000), &json!(500)));
    assert_eq!((&log["lines"][0]["text"], &log["lines"][0]["n"]), (&json!("1-0"), &json!(501)));
    house.say(&task, json!({"log": ["x".repeat(100_000)]}));
    let long = house.log(&id, "?after=1500");
    assert!(long["lines"][0]["text"].as_str().unwrap().len() <= 4 * 1_024, "it is cut");
    let many: Vec<&str> = vec!["x"; 10_001];
    let held = json!({"task": task["task"], "fence": task["fence"], "log": many});
    let (status, no) = house.server.ask("POST", "/v1/work", Some(&json!({"worker": "w", "types": [], "holding": [held]})));
    assert_eq!((status, &no["error"]["code"]), (400, &json!("invalid")), "{no}");
    house.verified();
}

#[test]
fn lines_and_progress_survive_a_restart() {
    let mut house = House::start("", &[]);
    let id = house.add("talk", json!({}));
    let task = lease(&house.server, "w", "talk");
    house.say(&task, json!({"log": ["before"], "progress": 0.4, "message": "row 4 of 10"}));
    assert_eq!(shown(&house.log(&id, "")), ["1#1 before"], "whoever has read it finds it again");
    house.server.kill_9();
    house.server = Server::start(&house.folder.path().join("data"), 0);
    let view = house.server.get(&format!("/v1/tasks/{id}"));
    assert_eq!((&view["lease"]["progress"], &view["lease"]["message"]), (&json!(0.4), &json!("row 4 of 10")), "{view}");
    let explained = house.server.get(&format!("/v1/tasks/{id}/explain"));
    assert!(explained["sentence"].as_str().unwrap().contains("40 % are done (row 4 of 10)"), "{explained}");
    report(&house.server, "w", &task, json!({"status": "done", "log": ["after"]}));
    assert_eq!(shown(&house.log(&id, "")), ["1#1 before", "2#1 after"]);
    house.verified();
}

#[test]
fn whoever_follows_hears_a_line_when_it_is_said_and_the_end() {
    let house = House::start("", &[]);
    let id = house.add("talk", json!({}));
    let task = lease(&house.server, "w", "talk");
    let (mut follower, mut lines) = house.follow(&id);
    for text in ["first", "second"] {
        house.say(&task, json!({"log": [text]}));
        assert_eq!(lines.next().unwrap()["text"], text);
    }
    report(&house.server, "w", &task, json!({"status": "done", "log": ["last"]}));
    assert_eq!(lines.next().unwrap()["text"], "last");
    assert_eq!(lines.next().unwrap()["result"]["ended"], true);
    assert!(follower.wait().unwrap().success());
    house.verified();
}

#[test]
fn whoever_follows_goes_on_when_the_server_is_back() {
    let mut house = House::start("", &[]);
    let id = house.add("talk", json!({}));
    let task = lease(&house.server, "w", "talk");
    let (mut follower, mut lines) = house.follow(&id);
    let mut notes = BufReader::new(follower.stderr.take().unwrap()).lines().map(Result::unwrap);
    house.say(&task, json!({"log": ["before"]}));
    assert_eq!(lines.next().unwrap()["text"], "before");
    house.server.kill_9();
    let note = notes.next().unwrap();
    assert!(note.ends_with("; trying again"), "{note}");
    house.server = Server::start(&house.folder.path().join("data"), house.server.port);
    assert_eq!(notes.next().unwrap(), "the server answers again");
    report(&house.server, "w", &task, json!({"status": "done", "log": ["after"]}));
    assert_eq!(lines.next().unwrap()["text"], "after");
    assert_eq!(lines.next().unwrap()["result"]["ended"], true);
    assert!(follower.wait().unwrap().success());
    house.verified();
}

/// The stream as it comes, after its answer began.
fn stream(server: &Server, path: &str) -> impl Iterator<Item = String> + use<> {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    lines.find(|line| line.contains("subscribed"));
    lines
}

/// The next line that was said is this: of which task?
fn said(lines: &mut impl Iterator<Item = String>, text: &str) -> String {
    let line = lines.find(|line| line.starts_with("data:") && line.contains("\"text\"")).unwrap();
    let event: Value = serde_json::from_str(line.strip_prefix("data:").unwrap()).unwrap();
    assert_eq!(event["text"], text);
    event["task"].as_str().unwrap().to_owned()
}

#[test]
fn the_stream_has_lines_where_they_are_asked_for() {
    let house = House::start("", &[]);
    let (id, other) = (house.add("talk", json!({})), house.add("other", json!({})));
    let mut all = stream(&house.server, "/v1/stream?logs=true");
    let mut some = stream(&house.server, "/v1/stream?logs=true&queue=talk");
    let mut none = stream(&house.server, "/v1/stream");
    let (task, unheard) = (lease(&house.server, "w", "talk"), lease(&house.server, "v", "other"));
    let held = json!({"task": unheard["task"], "fence": unheard["fence"], "log": ["elsewhere"]});
    house.server.post("/v1/work", &json!({"worker": "v", "types": [], "holding": [held]}));
    for _ in 0..2 {
        house.say(&task, json!({"progress": 0.5}));
    }
    house.say(&task, json!({"log": ["here"]}));
    report(&house.server, "w", &task, json!({"status": "done"}));
    assert_eq!(said(&mut all, "elsewhere"), other);
    assert_eq!(said(&mut all, "here"), id);
    assert!(some.any(|line| line == "event: task_progress"));
    let progress: Value = serde_json::from_str(some.next().unwrap().strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(progress, json!({"task": id, "fence": task["fence"], "progress": 0.5}));
    let up_to_line: Vec<String> = some.take_while(|line| !line.contains("\"here\"")).collect();
    assert!(!up_to_line.iter().any(|line| line.contains("task_progress")), "what is not new is not told: {up_to_line:?}");
    let up_to_end: Vec<String> = none.by_ref().take_while(|line| !line.contains("task_done")).collect();
    assert!(!up_to_end.iter().any(|line| line.contains("task_log")), "{up_to_end:?}");
    house.verified();
}

#[test]
fn what_commands_say_on_stderr_is_their_log_without_secrets() {
    let config = "[secrets]\nKEY = {env = \"THE_KEY\"}\n[process.it]\n\
                  command = [\"sh\", \"-c\", \"echo key $KEY >&2; echo more >&2; echo 1\"]\nenv = {KEY = \"secret://KEY\"}\n";
    let house = House::start(config, &[("THE_KEY", SECRET)]);
    let id = house.add("process", json!({"command": "it"}));
    until("it ends", || house.server.get(&format!("/v1/tasks/{id}"))["finished_at"].is_string().then_some(()));
    assert_eq!(shown(&house.log(&id, "")), ["1#1 key secret://KEY", "2#1 more"]);

    let id = house.add("shell", json!({}));
    let mut command = Command::new(env!("CARGO_BIN_EXE_signaller"));
    command.args(["work", "--type", "shell", "--once", "--", "sh", "-c", "echo said >&2; sleep 0.1; echo again >&2; echo 1"]);
    command.env("SIGNALLER_URL", &house.server.url).env_remove("SIGNALLER_TOKEN");
    assert!(command.stdin(Stdio::null()).output().unwrap().status.success());
    assert_eq!(shown(&house.log(&id, "")), ["1#1 said", "2#1 again"]);
    let data = std::fs::read_dir(house.folder.path().join("data")).unwrap().flatten();
    let logs: Vec<Vec<u8>> = data.filter(|file| file.path().is_file()).map(|file| std::fs::read(file.path()).unwrap()).collect();
    assert!(logs.iter().any(|bytes| bytes.windows(12).any(|window| window == b"secret://KEY")), "it is kept");
    assert!(!logs.iter().any(|bytes| bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes())));
    house.verified();
}

#[test]
fn commands_say_how_far_they_are() {
    let script = "echo 'signaller: progress 0.4 row 4 of 10' >&2; echo 'signaller: progress far' >&2; \
                  until [ -e \"$GO\" ]; do sleep 0.05; done; echo 1";
    let folder = tempfile::tempdir().unwrap();
    let go = folder.path().join("go");
    let config = format!("[process.it]\ncommand = [\"sh\", \"-c\", '''{script}''']\nenv = {{GO = {go:?}}}\n");
    let house = House::start(&config, &[]);
    let mut worker = Command::new(env!("CARGO_BIN_EXE_signaller"));
    worker.args(["work", "--type", "shell", "--once", "--", "sh", "-c", script]).env("GO", &go);
    worker.env("SIGNALLER_URL", &house.server.url).env_remove("SIGNALLER_TOKEN").stdin(Stdio::null());
    let tasks = [house.add("process", json!({"command": "it"})), house.add("shell", json!({}))];
    let worker = std::thread::spawn(move || worker.output().unwrap());
    for task in &tasks {
        let lease = until("it says so", || {
            let view = house.server.get(&format!("/v1/tasks/{task}"));
            view["lease"]["progress"].is_number().then(|| view["lease"].clone())
        });
        assert_eq!((&lease["progress"], &lease["message"]), (&json!(0.4), &json!("row 4 of 10")));
    }
    std::fs::write(&go, "").unwrap();
    assert!(worker.join().unwrap().status.success());
    for task in &tasks {
        until("it ends", || house.server.get(&format!("/v1/tasks/{task}"))["finished_at"].is_string().then_some(()));
        assert_eq!(shown(&house.log(task, "")), ["1#1 signaller: progress far"], "what is no share is of the log");
    }
    house.verified();
}
