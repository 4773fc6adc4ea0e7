//! What a newcomer meets at the command line: what went wrong is said by name, with what to do about it, and nothing
//! that was not done counts as done.

mod house;
mod server;
mod talk;

use house::command;
use serde_json::{Value, json};
use server::Server;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use talk::until;

struct House {
    server: Server,
    folder: tempfile::TempDir,
}

struct Ran {
    exit: i32,
    out: String,
    err: String,
}

impl Ran {
    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(self.out.lines().last().unwrap_or_default()).unwrap_or_else(|_| panic!("`{}`", self.out))
    }
}

impl House {
    fn start() -> House {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start_with(&folder.path().join("data"), 0, &["--stop-limit", "100ms"], &[]);
        House { server, folder }
    }

    /// The binary in the house's folder, as `ana`. `'…'` holds a word together.
    fn command(&self, line: &str) -> Command {
        command(self.folder.path(), &self.server.url, line)
    }

    fn run(&self, line: &str) -> Ran {
        ran(&mut self.command(line))
    }

    fn work(&self, line: &str) -> Child {
        let mut command = self.command(line);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn add(&self, kind: &str) -> String {
        self.server.post("/v1/tasks", &json!({"type": kind}))["task"].as_str().unwrap().to_owned()
    }

    /// What a script says when it has begun: a task that is leased has not reached its worker yet.
    fn begins(&self) -> String {
        format!("touch {};", self.folder.path().join("begun").display())
    }

    fn until_begun(&self) {
        let begun = self.folder.path().join("begun");
        until("it was begun", || std::fs::remove_file(&begun).ok());
    }

    /// Runs lines that must fail: exit code, part of the message, part of the fix.
    #[track_caller]
    fn fail(&self, rows: &[(&str, i32, &str, &str)]) {
        for (line, exit, message, fix) in rows {
            let answer = self.run(line);
            let document = answer.json();
            let said = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            assert_eq!(answer.exit, *exit, "{line}: {document}");
            assert!(said(&document["error"]["message"]).contains(message), "{line}: {document}");
            assert!(said(&document["fix"]).contains(fix) && document["fix"].is_string(), "{line}: {document}");
        }
    }
}

fn ran(command: &mut Command) -> Ran {
    ended(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

fn ended(child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran { exit: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
}

#[test]
fn one_task_that_is_not_done_is_a_failure_by_name() {
    let house = House::start();
    house.server.put("/v1/queues/slow", &json!({"config": {"budget_ms": 300, "retry": {"attempts": 1}, "heartbeat_ms": 1000}}));
    house.add("slow");
    let slow = house.run("work --type slow --once -- sleep 30");
    let answer = slow.json();
    assert_eq!((slow.exit, &answer["error"]["message"]), (1, &json!("task-1 failed with timed_out")), "{answer}");
    assert_eq!((&answer["result"]["done"], &answer["result"]["stopped"]), (&json!(0), &json!(1)), "{answer}");
    assert!(slow.err.contains("task-1 is stopped: its time budget is spent"), "{}", slow.err);

    // Cancelled while it runs: the worker hears of it however rarely its heart beats.
    for heartbeat_ms in [500, 30_000] {
        let script = "sleep 30 & wait; echo 1";
        house.server.put("/v1/queues/c", &json!({"config": {"heartbeat_ms": heartbeat_ms}}));
        let task = house.add("c");
        let worker = house.work(&format!("work --type c --once -- sh -c '{} {script}'", house.begins()));
        house.until_begun();
        assert_eq!(house.run(&format!("task cancel {task} --reason enough")).exit, 0);
        let worked = ended(worker);
        let answer = worked.json();
        let message = json!(format!("{task} was cancelled by ana: enough"));
        assert_eq!((worked.exit, &answer["error"]["message"]), (1, &message), "{answer}");
        assert_eq!((&answer["result"]["done"], &answer["result"]["stopped"]), (&json!(0), &json!(1)), "{answer}");
        assert!(worked.err.contains("is stopped: it was cancelled"), "{}", worked.err);
    }

    // One that goes on does not count it as done either.
    let task = house.add("c");
    let worker = house.work(&format!("--human work --type c --name w-2 -- sh -c '{} sleep 2; echo 1'", house.begins()));
    house.until_begun();
    assert_eq!(house.run(&format!("task cancel {task}")).exit, 0);
    server::signal(worker.id(), "INT");
    let worked = ended(worker);
    assert!(worked.out.ends_with("w-2: 0 done, 0 failed, 1 stopped.\n"), "{}", worked.out);

    house.add("bad");
    let bad = house.run("--human work --type bad --once -- sh -c 'exit 65'");
    assert_eq!((bad.exit, bad.err.contains("error: task-5 failed with exit_65")), (1, true), "{}", bad.err);
    house.add("good");
    let good = house.run("--human work --type good --name w-1 --once -- true");
    assert_eq!((good.exit, good.out.ends_with("w-1: 1 done, 0 failed.\n")), (0, true), "{}", good.out);
}

#[test]
fn a_result_that_is_refused_points_at_a_worker_of_the_same_name() {
    let house = House::start();
    house.add("t");
    let work = |once: &str| format!("--human work --type t --name twin {once} -- sh -c '{} sleep 0.5; echo 1'", house.begins());
    let worker = house.work(&work("--once"));
    house.until_begun();
    // The twin knows nothing of the lease, and by asking gives it back.
    house.server.post("/v1/work", &json!({"worker": "twin", "types": []}));
    let worked = ended(worker);
    assert_eq!(worked.exit, 1, "{}", worked.err);
    let hint = "another worker may be using the name `twin`: give each worker its own";
    assert!(worked.err.contains(hint) && worked.err.contains("error: the result of task-1 was not taken"), "{}", worked.err);

    // One that goes on counts it, and not as done.
    let worker = house.work(&work(""));
    house.until_begun();
    house.server.post("/v1/work", &json!({"worker": "twin", "types": []}));
    server::signal(worker.id(), "INT");
    let worked = ended(worker);
    assert_eq!((worked.exit, worked.out.as_str()), (0, "twin: 0 done, 0 failed, 1 refused.\n"), "{}", worked.err);
}

#[test]
fn a_worker_that_was_asked_twice_does_not_wait_for_a_server_that_is_gone() {
    let mut house = House::start();
    house.add("t");
    let worker = house.work(&format!("--human work --type t --name w-1 -- sh -c '{} sleep 60'", house.begins()));
    house.until_begun();
    house.server.kill_9();
    server::signal(worker.id(), "INT");
    std::thread::sleep(std::time::Duration::from_millis(200));
    server::signal(worker.id(), "TERM");
    let worked = ended(worker);
    assert_eq!(worked.exit, 7, "{}", worked.err);
    assert!(worked.err.contains("goes to another when its lease lapses"), "{}", worked.err);
}

#[test]
fn each_of_many_tasks_is_answered_for() {
    let house = House::start();
    (0..3).for_each(|_| _ = house.add("t"));
    let ran = house.run("task cancel task-1 task-9 task-2 task-1");
    let answer = ran.json();
    let refused = json!({"code": "task_not_found", "message": "there is no task-9"});
    let each = json!([
        {"task": "task-1", "ok": true, "status": "cancelled"},
        {"task": "task-9", "ok": false, "error": refused},
        {"task": "task-2", "ok": true, "status": "cancelled"},
    ]);
    assert_eq!((ran.exit, &answer["result"]["tasks"]), (3, &each), "{answer}");
    assert_eq!(answer["error"]["message"], "1 of 3 tasks not done; the first: there is no task-9");
    let list = json!([{"command": "signaller task list", "description": "those there are"}]);
    assert_eq!(answer["next_actions"], list, "nothing can be shown of a task that is not there");

    let ran = house.run("--human task retry task-1 task-3 task-2");
    assert_eq!((ran.exit, ran.out.lines().count()), (4, 3), "{}", ran.out);
    assert!(ran.out.starts_with("task-1 is queued.\ntask-3 was not changed: task-3 is queued"), "{}", ran.out);
    assert!(ran.out.ends_with("task-2 is queued.\n"), "{}", ran.out);
    assert!(ran.err.contains("1 of 3 tasks not done") && ran.err.contains("try: signaller task show task-3"), "{}", ran.err);
    assert_eq!(house.run("task delete task-9 task-1 --yes").exit, 3);
    assert_eq!(house.run("task show task-1").exit, 3, "it was deleted all the same");

    // Nobody there: what was not tried is said to be so.
    let ran = ran_away(&house, "task cancel task-2 task-3");
    let tasks = &ran.json()["result"]["tasks"];
    assert_eq!((ran.exit, &tasks[1]["error"]["code"]), (7, &json!("not_tried")), "{tasks}");
}

fn ran_away(house: &House, line: &str) -> Ran {
    ran(house.command(line).env("SIGNALLER_URL", "http://127.0.0.1:9"))
}

#[test]
fn nothing_from_outside_reaches_the_terminal_raw() {
    let house = House::start();
    let nasty = "\u{1b}[2J\u{9b}31m\u{7}\rhidden\u{202e}";
    let task = house.add("t");
    let leased = talk::lease(&house.server, "w", "t");
    let failed = json!({"status": "failed", "error": {"code": "e", "message": nasty}, "retryable": false});
    assert_eq!(talk::report(&house.server, "w", &leased, failed)["ok"], true);
    house.server.put("/v1/queues/p", &json!({"config": {}}));
    house.server.post("/v1/queues/p/pause", &json!({"reason": nasty}));
    (0..2).for_each(|_| _ = house.server.post("/v1/tasks", &json!({"type": "o", "input": {"a": nasty}})));
    for line in [
        "task list",
        "queue dead t",
        "task show task-1",
        "task show task-2",
        "task history task-1",
        "task wait task-1",
        "queue show p",
        "watch --after 0 --for 300ms",
        "work --type o --once -- sh -c 'cat >&2; exit 65'",
    ] {
        for dress in ["--human", "--json"] {
            let ran = house.run(&format!("{dress} {line}"));
            let raw = |text: &str| text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}');
            assert!(!raw(&ran.out) && !raw(&ran.err), "{dress} {line}: {:?} {:?}", ran.out, ran.err);
            if dress == "--json" && line == "task show task-1" {
                assert_eq!(ran.json()["result"]["error"]["message"], nasty, "JSON still says it all");
            }
        }
    }
    assert!(house.run("--human task show task-1").out.contains("\\u{1b}[2J"), "{task} shows what was sent");

    // On a terminal with colours it can put in none of its own.
    let task = house.server.post("/v1/tasks", &json!({"type": "h"}))["task"].as_str().unwrap().to_owned();
    let leased = talk::lease(&house.server, "w", "h");
    let failed = json!({"status": "failed", "error": {"code": "\u{1b}[8m", "message": "\u{1b}[8m"}, "retryable": false});
    assert_eq!(talk::report(&house.server, "w", &leased, failed)["ok"], true);
    house.server.post("/v1/tasks", &json!({"type": "h"}));
    house.server.post("/v1/queues/h/pause", &json!({"reason": "\u{1b}[8m"}));
    let all = ["task list", "queue dead h", "queue show h", "task explain task-5", "watch --after 0 --for 300ms"];
    let one = ["show", "history", "wait", "explain"].map(|verb| format!("task {verb} {task}"));
    for line in all.iter().copied().chain(one.iter().map(String::as_str)) {
        let mut command = Command::new("python3");
        let spawn = "import pty, sys; pty.spawn(sys.argv[1:])";
        command.args(["-c", spawn, env!("CARGO_BIN_EXE_signaller")]).args(line.split(' '));
        command.env("SIGNALLER_URL", &house.server.url).env("TERM", "xterm").env_remove("NO_COLOR");
        let shown = ran(&mut command).out;
        assert!(shown.contains("[8m") && !shown.contains("\u{1b}[8m"), "{line}: {shown:?}");
    }
}

#[test]
fn verify_looks_where_serve_keeps_its_data_and_says_where() {
    let house = House::start();
    let data = house.folder.path().join("data");
    house.add("t");
    let verify = |line: &str, env: &[(&str, &Path)]| ran(house.command(line).envs(env.iter().copied()));
    // Nothing there is not the same as nothing wrong.
    let absent = verify("verify", &[]);
    assert_eq!((absent.exit, &absent.json()["error"]["code"]), (3, &json!("no_data")), "{}", absent.out);
    assert!(absent.out.contains(".signaller (the default): there is no such folder"), "{}", absent.out);
    std::fs::create_dir(house.folder.path().join("empty")).unwrap();
    let empty = verify("verify --data-dir empty", &[]);
    assert!(empty.exit == 3 && empty.out.contains("empty (given with --data-dir): the folder is empty"), "{}", empty.out);
    let found = verify("verify", &[("SIGNALLER_DATA_DIR", &data)]);
    assert_eq!((found.exit, &found.json()["result"]["data_dir"]), (0, &json!(data.to_str().unwrap())), "{}", found.out);
    std::fs::write(house.folder.path().join("signaller.toml"), "data_dir = \"data\"").unwrap();
    let found = verify("--human verify", &[]);
    assert!(found.exit == 0 && found.out.contains("data (from signaller.toml)"), "{}", found.out);
    // Advice to whoever reaches nobody is about the same folder.
    let away = ran_away(&house, "status");
    let fix = away.json()["fix"].as_str().unwrap().to_owned();
    assert!(fix.contains("signaller serve") && fix.contains(data.to_str().unwrap()), "{fix}");
}

#[test]
fn a_server_that_cannot_listen_leaves_nothing_behind() {
    let house = House::start();
    for verb in ["dev", "serve"] {
        let port = house.server.port;
        let ran = house.run(&format!("{verb} --listen {port} --data-dir new"));
        assert_eq!((ran.exit, &ran.json()["error"]["code"]), (7, &json!("address_taken")), "{}", ran.out);
        assert!(!house.folder.path().join("new").exists(), "{verb}");
    }
    std::fs::write(house.folder.path().join("afile"), "").unwrap();
    house.fail(&[
        ("dev --listen localhost:0 --data-dir afile", 2, "afile is a file, not a folder", "name a folder"),
        ("dev --listen banana", 2, "`banana` is not an address such as 127.0.0.1:7400", ""),
        ("dev --listen 0.0.0.0:0 --data-dir new", 2, "needs a token", "--token"),
    ]);
    let taken = house.run("dev --listen 0 --data-dir data");
    let message = taken.json()["error"]["message"].as_str().unwrap().to_owned();
    assert_eq!((taken.exit, message.matches("data").count() < 3), (4, true), "{message}");
}

#[test]
fn answers_of_one_command_have_one_shape() {
    let house = House::start();
    let worker = house.work("work --type t --once -- echo 12345678901234567890123.10");
    let waited = house.run("task add t --idempotency-key k --wait");
    assert_eq!(ended(worker).exit, 0);
    let answer = waited.json();
    assert_eq!((&answer["result"]["task"], &answer["result"]["duplicate"]), (&json!("task-1"), &json!(false)), "{answer}");
    assert_eq!(answer["result"]["tasks"][0]["status"], "done");
    assert!(waited.out.contains("12345678901234567890123.10"), "no number is rounded: {}", waited.out);
    let again = house.run("--human task add t --idempotency-key k").out;
    assert_eq!(again, "task-1 was made by this key before; nothing of this request was used.\n");
    let differs = house.run("--human task add t -i 1 --idempotency-key k").out;
    assert_eq!(differs, "task-1 was made by this key before, with another input; nothing of this request was used.\n");

    let dry = house.run("queue set t --concurrency 3 --dry-run").json();
    assert_eq!((&dry["result"]["queue"], &dry["result"]["config"]["concurrency"]), (&json!("t"), &json!(3)), "{dry}");
    assert!(house.run("--human queue show never").out.starts_with("Nothing is known of queue never yet"), "it was never used");
    assert!(!house.run("--human queue show t").out.contains("Nothing is known"));
    for line in ["queue redrive t --task task-99", "queue priority t high --task task-99"] {
        assert_eq!(house.run(line).exit, 3, "{line}");
    }
    let idle = house.run("task add t --idle").json();
    assert!(!idle["next_actions"].to_string().contains("task wait"), "an idle task may never end: {idle}");

    // What is said of the time to come agrees, and is said once.
    house.run("task add later --delay 5m");
    let explained = house.run("--human task explain task-3").out;
    assert!(explained.contains("start in 5 min.") && explained.contains("moves: in 5 min"), "{explained}");
    house.add("nobody");
    let explained = house.run("--human task explain task-4").out;
    assert_eq!(explained.matches("no worker has asked").count(), 1, "{explained}");
    let spelled = ran(house.command("status").env("SIGNALLER_DATADIR", "x"));
    assert!(spelled.exit == 0 && spelled.err.contains("SIGNALLER_DATADIR is set"), "{}", spelled.err);
}

#[test]
fn a_failure_says_what_would_be_right() {
    let house = House::start();
    house.add("t");
    house.run("task add t --after task-1");
    house.fail(&[
        ("watch --after x", 2, "such as r1042; 0 is the beginning", ""),
        ("task add t --attempts 0", 2, "give 1 to 1000", ""),
        ("task add t -i @nofile", 2, "`nofile` cannot be read", "name a file that is there"),
        ("task add --ndjson nofile", 2, "`nofile` cannot be read", "name a file that is there"),
        ("task add t --key a=1 --key a=2", 2, "--key a is given twice", "--key a=VALUE once"),
        ("status --url banana", 2, "`banana`, given with --url, is not a URL", "http://HOST:PORT"),
        ("serve --config nofile.toml", 2, "nofile.toml", "name a file that is there"),
        ("task start task-2", 4, "task-2 is blocked by task-1", "start it with --force"),
        ("task wait task-1 --timeout 20ms", 6, "1 task had not ended", "wait longer"),
        ("status --url http://127.0.0.1:9", 7, "http://127.0.0.1:9 (given with --url)", "signaller dev"),
    ]);
    // As people say an address.
    let port = house.server.port;
    assert_eq!(house.run(&format!("status --url 127.0.0.1:{port}")).exit, 0);
    let tls = house.run(&format!("status --url https://127.0.0.1:{port}"));
    let document = tls.json();
    let message = document["error"]["message"].as_str().unwrap();
    assert!(tls.exit == 7 && message.contains("does not speak TLS") && !message.contains("not known"), "{document}");
    assert!(document["fix"].as_str().unwrap().contains(&format!("http://127.0.0.1:{port}")), "{document}");
    let status = house.run("--human status").out;
    assert!(status.contains("up to record r") && status.contains("since this start"), "{status}");
    let (_, refused) = house.server.ask("POST", "/v1/work", Some(&json!(["w", ["t"], [], 1, 0, [], []])));
    assert_eq!(refused["error"]["message"], "the JSON does not fit: invalid type: list, expected an object at line 1 column 0");
}
