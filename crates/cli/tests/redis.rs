//! Workers on Redis streams, through the real binary: runs whose nodes go out as tokens, and everything that dies in turn.

mod server;
mod talk;

use kernel::record::{Entry, Owner, Record};
use redis::streams::{
    StreamAutoClaimOptions, StreamAutoClaimReply, StreamId, StreamPendingCountReply, StreamReadOptions, StreamReadReply,
};
use redis::{Commands, Connection};
use serde_json::{Value, json};
use server::Server;
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use store::Reader;
use store::sqlite::Sqlite;
use talk::until;
use tempfile::TempDir;

struct Redis {
    child: Child,
    port: u16,
    folder: TempDir,
    args: Vec<String>,
}

fn spawn(port: u16, folder: &Path, args: &[String]) -> Child {
    Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
        .args(args)
        .current_dir(folder)
        .stdout(Stdio::null())
        .spawn()
        .expect("redis-server is there: `make test` installs it")
}

impl Redis {
    fn start() -> Redis {
        let redis = Redis::start_with(&[]);
        line(redis.port);
        redis
    }

    fn start_with(args: &[&str]) -> Redis {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = tempfile::tempdir().unwrap();
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        Redis { child: spawn(port, folder.path(), &args), port, folder, args }
    }

    /// It dies, and comes back knowing nothing but what it keeps in files.
    fn kill_and_start(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::thread::sleep(Duration::from_millis(300));
        self.child = spawn(self.port, self.folder.path(), &self.args);
        line(self.port);
    }

    fn config(&self) -> PathBuf {
        self.config_of(&format!("[redis]\nurl = \"redis://127.0.0.1:{}\"\ntypes = [\"double\"]\nslots = 40\n", self.port))
    }

    fn config_of(&self, text: &str) -> PathBuf {
        let path = self.folder.path().join("signaller.toml");
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn line(port: u16) -> Connection {
    line_to(&format!("redis://127.0.0.1:{port}"))
}

fn line_to(url: &str) -> Connection {
    let client = redis::Client::open(url).unwrap();
    until("redis-server answers", || client.get_connection().ok())
}

fn tokens_of(entries: &[StreamId]) -> Vec<Value> {
    entries.iter().map(|entry| serde_json::from_str(&entry.get::<String>("token").unwrap()).unwrap()).collect()
}

/// What stands on a stream: at least so many.
fn tokens(line: &mut Connection, stream: &str, count: usize) -> Vec<Value> {
    until("tokens come", || {
        let found: Option<StreamReadReply> = line.xread(&[stream], &["0"]).unwrap();
        let tokens = tokens_of(&found.into_iter().flat_map(|found| found.keys).flat_map(|stream| stream.ids).collect::<Vec<_>>());
        (tokens.len() >= count).then_some(tokens)
    })
}

fn signal(line: &mut Connection, token: &Value, result: (&str, Value)) {
    let text = json!({"version": "1.0", "job_id": token["id"], "run_id": token["run_id"], "node_id": token["node_id"],
        "status": "completed", result.0: result.1, "metadata": {}});
    let _: usize = line.rpush("completion_signals", text.to_string()).unwrap();
}

fn add(server: &Server, input: &Value) -> String {
    server.post("/v1/tasks", &json!({"type": "double", "input": input}))["task"].as_str().unwrap().to_owned()
}

fn ended(server: &Server, task: &str) -> Value {
    until("the task ends", || {
        Some(server.get(&format!("/v1/tasks/{task}"))).filter(|task| task["status"] != "running" && task["status"] != "queued")
    })
}

fn start(data: &Path, port: u16, redis: &Redis) -> Server {
    Server::start_with(data, port, &["--config", redis.config().to_str().unwrap()], &[])
}

/// What a worker never tells of is out until its time is over, and as long as a worker has to stop.
fn in_a_minute<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..600 {
        if let Some(seen) = look() {
            return seen;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("in vain: {what}");
}

const STREAM: &str = "wf.tasks.double";

/// A worker in a group. Of some tokens it never tells, as one that dies; others it tells of twice.
fn work(port: u16, name: &str, stop: &AtomicBool, done: &AtomicU64) {
    let options = StreamReadOptions::default().group("g", name).count(5).block(100);
    let mut line_open: Option<Connection> = None;
    let mut seen: u64 = 0;
    while !stop.load(Ordering::Relaxed) {
        let open = line_open.get_or_insert_with(|| line(port));
        let _: Result<(), _> = open.xgroup_create_mkstream(STREAM, "g", "0");
        let found: Result<Option<StreamReadReply>, _> = open.xread_options(&[STREAM], &[">"], &options);
        let Ok(found) = found else {
            line_open = None;
            continue;
        };
        for entry in found.into_iter().flat_map(|found| found.keys).flat_map(|stream| stream.ids) {
            let token: Value = serde_json::from_str(&entry.get::<String>("token").unwrap()).unwrap();
            seen += 1;
            if seen.is_multiple_of(17) {
                continue;
            }
            let n = token["payload"]["n"].as_i64().unwrap();
            let signal = json!({"version": "1.0", "job_id": token["id"], "run_id": token["run_id"], "node_id": token["node_id"],
                "status": "completed", "result_data": n * 2, "metadata": {}});
            let open = line_open.get_or_insert_with(|| line(port));
            let copies = if seen.is_multiple_of(5) { 2 } else { 1 };
            let told: Result<usize, _> = open.rpush("completion_signals", vec![signal.to_string(); copies]);
            if told.is_err() {
                line_open = None;
            } else {
                done.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

#[test]
fn nothing_is_lost_and_nothing_ends_twice_whatever_dies() {
    let mut redis = Redis::start();
    let folder = tempfile::tempdir().unwrap();
    let mut server = start(folder.path(), 0, &redis);
    let port = server.port;
    server.post(
        "/v1/workflows",
        &json!({"workflow": "doubles", "nodes": {"all": {"type": "each", "items": "input.list", "concurrency": 30, "do": {
            "nodes": {"x": {"type": "double", "with": {"n": "${item}"}, "timeout": "1s", "retry": {"attempts": 20, "backoff": "10ms"}}},
            "output": "nodes.x.output"}}}, "output": "nodes.all.output"}),
    );
    let lists: Vec<Vec<i64>> = (0..4).map(|run| (0..120).map(|n| run * 1_000 + n).collect()).collect();
    let mut runs = BTreeMap::new();
    for list in &lists {
        let started = server.post("/v1/runs", &json!({"workflow": "doubles", "input": {"list": list}}));
        runs.insert(started["run"].as_str().unwrap().to_owned(), list);
    }
    let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let workers: Vec<_> = ["w1", "w2"]
        .map(|name| {
            let (stop, done, redis_port) = (stop.clone(), done.clone(), redis.port);
            std::thread::spawn(move || work(redis_port, name, &stop, &done))
        })
        .into_iter()
        .collect();
    let more = |so_many: u64| {
        let from = done.load(Ordering::Relaxed);
        until("work goes on", || (done.load(Ordering::Relaxed) >= from + so_many).then_some(()));
    };
    more(60);
    redis.kill_and_start();
    more(60);
    server.kill_9();
    server = start(folder.path(), port, &redis);
    more(60);
    redis.kill_and_start();
    more(20);
    for (run, list) in &runs {
        let ended = in_a_minute("a run ends", || {
            let run = server.get(&format!("/v1/runs/{run}"));
            (run["status"] != "running").then_some(run)
        });
        let doubled: Vec<i64> = list.iter().map(|n| n * 2).collect();
        assert_eq!((&ended["status"], &ended["output"]), (&json!("done"), &json!(doubled)), "{ended}");
    }
    stop.store(true, Ordering::Relaxed);
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    let status = until("nothing is out", || {
        Some(server.get("/v1/status")).filter(|status| status["outside"]["redis"]["counts"]["out"] == 0)
    });
    assert_eq!(status["outside"]["redis"]["trouble"], Value::Null, "{status}");
    assert_eq!(
        (&status["counts"]["running"], &status["counts"]["ready"], &status["counts"]["dead"]),
        (&json!(0), &json!(0), &json!(0))
    );
    let counts = &status["outside"]["redis"]["counts"];
    assert!(counts["duplicate"].as_u64() > Some(0), "{status}");
    // What is written is what happened.
    server.terminate();
    let verified = server::signaller(&["--json", "verify", "--data-dir", folder.path().to_str().unwrap()], None);
    assert_eq!(verified["ok"], true, "{verified}");
}

#[test]
fn a_worker_of_the_seed_is_understood_by_run_and_node_where_that_is_clear() {
    let redis = Redis::start();
    let folder = tempfile::tempdir().unwrap();
    let mut server = start(folder.path(), 0, &redis);
    server.post(
        "/v1/workflows",
        &json!({"workflow": "two", "nodes": {
            "one": {"type": "double", "with": {"n": 1}},
            "pair": {"type": "each", "after": "one", "items": "[1, 2]", "do": {
                "nodes": {"x": {"type": "double", "with": {"n": "${item}"}}}, "output": "nodes.x.output"}}},
            "output": "nodes.pair.output"}),
    );
    let run = server.post("/v1/runs", &json!({"workflow": "two"}))["run"].as_str().unwrap().to_owned();
    let mut line = line(redis.port);
    // Plain XREAD, an id of its own making.
    let mut tokens = |count: usize| {
        until("tokens come", || {
            let found: Option<StreamReadReply> = line.xread(&[STREAM], &["0"]).unwrap();
            let ids: Vec<_> = found.into_iter().flat_map(|found| found.keys).flat_map(|stream| stream.ids).collect();
            let tokens: Vec<Value> =
                ids.iter().map(|entry| serde_json::from_str(&entry.get::<String>("token").unwrap()).unwrap()).collect();
            (tokens.len() == count).then_some(tokens)
        })
    };
    let mut other = self::line(redis.port);
    let mut signal = |run: &Value, node: &str, result: i64| {
        let text = json!({"version": "1.0", "job_id": "0b1c", "run_id": run, "node_id": node, "status": "completed",
            "result_data": result, "metadata": {}});
        let _: usize = other.rpush("completion_signals", text.to_string()).unwrap();
    };
    let token = tokens(1).remove(0);
    assert_eq!((&token["run_id"], &token["node_id"]), (&json!(run), &json!("one")));
    let task = token["metadata"]["task"].as_str().unwrap();
    let on_its_way =
        json!({"run_id": run, "node_id": "one", "status": "running", "progress": 0.5, "message": "half", "log": ["began"]});
    let _: usize = self::line(redis.port).rpush("completion_signals", on_its_way.to_string()).unwrap();
    until("its line is kept", || (server.get(&format!("/v1/tasks/{task}/log"))["lines"][0]["text"] == "began").then_some(()));
    let lease = &server.get(&format!("/v1/tasks/{task}"))["lease"];
    assert_eq!((&lease["progress"], &lease["message"]), (&json!(0.5), &json!("half")), "{lease}");
    let explained = server.get(&format!("/v1/tasks/{task}/explain"));
    let told = format!("Its token stands on the Redis stream `{STREAM}`, which no consumer group reads;");
    assert!(explained["sentence"].as_str().unwrap().contains(&told), "{explained}");
    signal(&token["run_id"], "one", 2);
    let pair = tokens(2);
    let nodes: Vec<&str> = pair.iter().map(|token| token["node_id"].as_str().unwrap()).collect();
    assert_eq!(nodes, ["pair[0]/x", "pair[1]/x"]);
    // Two are out by this name: that is not clear, and said so.
    signal(&json!(run), "x", 9);
    until("it is counted", || (server.get("/v1/status")["outside"]["redis"]["counts"]["ambiguous"] == 1).then_some(()));
    signal(&json!(run), "pair[1]/x", 4);
    signal(&json!(run), "pair[0]/x", 2);
    let ended = until("the run ends", || {
        let run = server.get(&format!("/v1/runs/{run}"));
        (run["status"] == "done").then_some(run)
    });
    assert_eq!(ended["output"], json!([2, 4]));
    server.terminate();
    let noted = history(folder.path()).into_iter().filter_map(|entry| match entry.record {
        Record::SignalsRefused { signals, reason } => Some((signals, reason)),
        _ => None,
    });
    let noted: Vec<(u32, String)> = noted.collect();
    let told = format!("ambiguous: 2 of {run}/x are out: ");
    assert!(matches!(&noted[..], [(1, reason)] if reason.starts_with(&told)), "{noted:?}");
}

/// All records, oldest first.
fn history(data: &Path) -> Vec<Entry> {
    let mut all = Vec::new();
    Sqlite::open_reader(data).unwrap().scan_records(&mut |entry| all.push(entry.unwrap())).unwrap();
    all
}

/// A run of one node, `a`, whose output is its own.
fn begun(server: &Server) -> String {
    server.post("/v1/workflows", &json!({"workflow": "one", "nodes": {"a": {"type": "double"}}, "output": "nodes.a.output"}));
    server.post("/v1/runs", &json!({"workflow": "one"}))["run"].as_str().unwrap().to_owned()
}

fn restart(server: &Server, run: &str) {
    let (status, restarted) = server.ask("POST", &format!("/v1/runs/{run}/restart"), Some(&json!({"node": "a"})));
    assert!((200..300).contains(&status), "{restarted}");
}

/// Two tokens of one node are never out at once: by run and node nobody could tell which of them an answer is for.
#[test]
fn what_begins_anew_goes_out_when_what_it_replaces_is_over() {
    let redis = Redis::start();
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), 0, &redis);
    let run = begun(&server);
    let mut line = line(redis.port);
    let first = tokens(&mut line, STREAM, 1).remove(0);
    restart(&server, &run);
    until("the next one is leased", || (server.get("/v1/status")["outside"]["redis"]["counts"]["out"] == 2).then_some(()));
    for _ in 0..50 {
        assert_eq!(tokens(&mut line, STREAM, 1), std::slice::from_ref(&first));
        std::thread::sleep(Duration::from_millis(10));
    }
    let tasks = server.get("/v1/tasks?status=running");
    let told = tasks["tasks"].as_array().unwrap().iter().any(|task| {
        let explained = server.get(&format!("/v1/tasks/{}/explain", task["task"].as_str().unwrap()));
        explained["sentence"]
            .as_str()
            .unwrap()
            .contains("Its token waits: an earlier one of its node is to stop first, and is given up after 10 s")
    });
    assert!(told, "{tasks}");
    // What is said of the node is said of the one that a worker has.
    let own = |result: &str| {
        json!({"job_id": "0b1c", "run_id": run, "node_id": "a", "status": "completed", "result_data": result}).to_string()
    };
    let _: usize = line.rpush("completion_signals", own("of the first")).unwrap();
    let second =
        until("the next one goes out", || tokens(&mut line, STREAM, 0).into_iter().find(|token| token["id"] != first["id"]));
    assert_eq!((&second["node_id"], &second["metadata"]["attempt"]), (&json!("a"), &json!(1)));
    let _: usize = line.rpush("completion_signals", own("of the second")).unwrap();
    let ended = until("the run ends", || Some(server.get(&format!("/v1/runs/{run}"))).filter(|run| run["status"] == "done"));
    assert_eq!(ended["output"], "of the second");
    assert_eq!(server.get("/v1/status")["outside"]["redis"]["counts"].get("ambiguous"), None);
}

/// What nobody answers for has left its stream before what replaces it goes there, or a worker would do both and nobody could tell them apart.
#[test]
fn what_is_over_leaves_its_stream_before_the_next_goes_there() {
    let redis = Redis::start();
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), 0, &redis);
    let run = begun(&server);
    let mut line = line(redis.port);
    let first = tokens(&mut line, STREAM, 1).remove(0);
    (0..2).for_each(|_| restart(&server, &run));
    let last = in_a_minute("the last goes out", || {
        let mut out = tokens(&mut line, STREAM, 0);
        assert!(out.len() <= 1, "{out:?}");
        out.pop().filter(|token| token["id"] != first["id"])
    });
    let number = |token: &Value| token["metadata"]["task"].as_str().unwrap().to_owned();
    assert_eq!(server.get(&format!("/v1/tasks/{}", number(&last)))["status"], "running");
    signal(&mut line, &first, ("result_data", json!("too late")));
    signal(&mut line, &last, ("result_data", json!("in time")));
    let ended = until("the run ends", || Some(server.get(&format!("/v1/runs/{run}"))).filter(|run| run["status"] == "done"));
    assert_eq!(ended["output"], "in time");
    until("nothing is out", || (server.get("/v1/status")["outside"]["redis"]["counts"]["out"] == 0).then_some(()));
    assert_eq!(tokens(&mut line, STREAM, 0), Vec::<Value>::new());
}

/// Kept going by the test, as by a supervisor: it is started again whenever it has ended.
struct Worker {
    child: Child,
    redis: u16,
}

impl Worker {
    fn start(redis: u16) -> Worker {
        let url = format!("redis://127.0.0.1:{redis}");
        let args =
            json!({"url": url, "part": "stream", "batch": 1, "threads": 1, "ms": 600_000, "tasks": 1_000_000, "ledger": null});
        let child = Command::new(env!("CARGO_BIN_EXE_signaller"))
            .args(["bench-load", &args.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a load process starts");
        Worker { child, redis }
    }

    fn kill(&mut self) {
        _ = self.child.kill();
        self.child.wait().unwrap();
    }

    fn keep_going(&mut self) {
        if self.child.try_wait().unwrap().is_some() {
            *self = Worker::start(self.redis);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Where Redis keeps what it was told, no attempt is lost to a crash, whoever it was that died, and none is made twice. A process that is
/// killed has written what it answered for: nothing has to be waited for until it is on the disk.
#[test]
fn with_a_redis_that_keeps_what_it_has_no_attempt_is_lost_whatever_dies_under_load() {
    const ROUNDS: usize = 12;
    let mut redis = Redis::start_with(&["--appendonly", "yes", "--appendfsync", "no"]);
    let folder = tempfile::tempdir().unwrap();
    let config = redis.config_of(&format!("[redis]\nurl = \"redis://127.0.0.1:{}\"\ntypes = [\"bench\"]\n", redis.port));
    let args = ["--config", config.to_str().unwrap()];
    let mut server = Server::start_with(folder.path(), 0, &args, &[]);
    let port = server.port;
    let mut worker = Worker::start(redis.port);
    let (mut tasks, mut under_way) = (BTreeMap::new(), 0);
    for round in 0..ROUNDS {
        let batch: Vec<Value> = (0..1_000).map(|n| json!({"type": "bench", "input": {"n": round * 1_000 + n}})).collect();
        let added = server.post("/v1/tasks/batch", &json!({"tasks": batch}));
        for (task, new) in added["tasks"].as_array().unwrap().iter().zip(batch) {
            tasks.insert(task["task"].as_str().unwrap().to_owned(), new["input"].clone());
        }
        std::thread::sleep(Duration::from_millis(7 * round as u64 % 25));
        under_way += usize::from(server.get("/v1/status")["counts"]["running"].as_u64() > Some(0));
        match round % 3 {
            0 => worker.kill(),
            1 => redis.kill_and_start(),
            _ => {
                server.kill_9();
                server = Server::start_with(folder.path(), port, &args, &[]);
            }
        }
        worker.keep_going();
    }
    assert!(under_way > ROUNDS / 2, "only {under_way} kills met work under way");
    in_a_minute("all is done", || {
        worker.keep_going();
        let counts = &server.get("/v1/status")["counts"];
        (counts["queued"] == 0 && counts["running"] == 0).then_some(())
    });
    for (task, input) in tasks.iter().step_by(20) {
        let view = server.get(&format!("/v1/tasks/{task}"));
        assert_eq!((&view["status"], &view["attempt"], &view["output"]), (&json!("done"), &json!(1), input), "{view}");
    }
    server.terminate();
    let mut done: BTreeMap<Owner, usize> = BTreeMap::new();
    for entry in history(folder.path()) {
        match entry.record {
            Record::TaskDone { .. } => *done.entry(entry.owner).or_default() += 1,
            Record::TaskRetried { .. } | Record::TaskFailed { .. } => panic!("{entry:?}"),
            _ => {}
        }
    }
    assert_eq!((done.len(), done.values().max()), (tasks.len(), Some(&1)), "each is done once");
    talk::verified(folder.path());
}

#[test]
fn health_says_that_redis_is_gone_and_the_rest_goes_on() {
    let mut redis = Redis::start();
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), 0, &redis);
    until("it is connected", || server.get("/health").get("degraded").is_none().then_some(()));
    redis.child.kill().unwrap();
    redis.child.wait().unwrap();
    let health = until("it is said", || Some(server.get("/health")).filter(|health| health.get("degraded").is_some()));
    let told = health["degraded"][0].as_str().unwrap();
    assert!(health["ok"] == true && told.starts_with(&format!("redis at redis://127.0.0.1:{}", redis.port)), "{health}");
    let task = server.post("/v1/tasks", &json!({"type": "double", "input": {"n": 1}}));
    let task = task["task"].as_str().unwrap();
    assert_eq!(server.get(&format!("/v1/tasks/{task}"))["status"], "queued");
    let explained = server.get(&format!("/v1/tasks/{task}/explain"));
    let told = format!("{task} waits: tasks of type `double` go to redis at redis://127.0.0.1:{}", redis.port);
    assert!(explained["sentence"].as_str().unwrap().starts_with(&told), "{explained}");
    assert_eq!(explained["blocked_on"][0]["code"], "outside");
}

#[test]
fn what_a_worker_that_was_killed_had_taken_another_claims() {
    let redis = Redis::start();
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), 0, &redis);
    let tasks: Vec<String> = (0..6).map(|n| add(&server, &json!({"n": n}))).collect();
    let mut line = line(redis.port);
    assert_eq!(tokens(&mut line, STREAM, 6).len(), 6);
    let () = line.xgroup_create(STREAM, "g", "0").unwrap();
    let script = format!("redis-cli -p {} XREADGROUP GROUP g first COUNT 4 STREAMS {STREAM} '>' && exec sleep 600", redis.port);
    let mut first = Command::new("sh").args(["-c", &script]).stdout(Stdio::null()).spawn().unwrap();
    let taken = until("it has taken some", || {
        let taken: StreamPendingCountReply = line.xpending_count(STREAM, "g", "-", "+", 10).unwrap();
        (taken.ids.len() == 4).then_some(taken.ids)
    });
    assert!(taken.iter().all(|entry| entry.consumer == "first"));
    // It tells of one, and is killed before it acknowledges that.
    let all = tokens(&mut line, STREAM, 6);
    signal(&mut line, &all[0], ("result_data", json!("first")));
    first.kill().unwrap();
    first.wait().unwrap();
    let options = StreamAutoClaimOptions::default().count(10);
    let claimed: StreamAutoClaimReply = line.xautoclaim_options(STREAM, "g", "second", 0, "0-0", options).unwrap();
    let second = StreamReadOptions::default().group("g", "second").count(10);
    let new: StreamReadReply = line.xread_options::<_, _, Option<_>>(&[STREAM], &[">"], &second).unwrap().unwrap();
    let entries: Vec<StreamId> = claimed.claimed.into_iter().chain(new.keys.into_iter().flat_map(|stream| stream.ids)).collect();
    for (entry, token) in entries.iter().zip(tokens_of(&entries)) {
        signal(&mut line, &token, ("result_data", json!("second")));
        let _: usize = line.xack(STREAM, "g", &[&entry.id]).unwrap();
    }
    for (number, task) in tasks.iter().enumerate() {
        let ended = ended(&server, task);
        let by = if number == 0 { "first" } else { "second" };
        assert_eq!((&ended["status"], &ended["attempt"], &ended["output"]), (&json!("done"), &json!(1), &json!(by)), "{ended}");
    }
    let counts = until("nothing is out", || {
        let status = server.get("/v1/status");
        let counts = &status["outside"]["redis"]["counts"];
        (counts["out"] == 0).then(|| counts.clone())
    });
    assert_eq!((&counts["completed"], &counts["sent"]), (&json!(6), &json!(6)), "{counts}");
}

#[test]
fn a_password_and_keys_of_other_names_will_do() {
    let redis = Redis::start_with(&["--requirepass", "open-sesame"]);
    let mut line = line_to(&format!("redis://:open-sesame@127.0.0.1:{}", redis.port));
    let config = redis.config_of(&format!(
        "[secrets]\nREDIS = {{env = \"REDIS_PASSWORD\"}}\n[redis]\nurl = \"redis://:secret://REDIS@127.0.0.1:{}\"\n\
         streams = {{double = \"jobs.double\"}}\nsignals = \"jobs.over\"\n",
        redis.port
    ));
    let folder = tempfile::tempdir().unwrap();
    let args = ["--config", config.to_str().unwrap()];
    let server = Server::start_with(folder.path(), 0, &args, &[("REDIS_PASSWORD", "open-sesame")]);
    let task = add(&server, &json!({"n": 4}));
    let token = tokens(&mut line, "jobs.double", 1).remove(0);
    let told = json!({"job_id": token["id"], "status": "completed", "result_data": 8});
    let _: usize = line.rpush("jobs.over", told.to_string()).unwrap();
    assert_eq!(ended(&server, &task)["output"], 8);
    let status = server.get("/v1/status");
    let address = format!("redis://127.0.0.1:{}", redis.port);
    assert_eq!(status["outside"]["redis"]["address"], address, "without its password");
    // With another it is told, without naming either.
    drop(server);
    let server = Server::start_with(folder.path(), 0, &args, &[("REDIS_PASSWORD", "open-barley")]);
    let told = until("it is told", || {
        server.get("/health")["degraded"][0].as_str().filter(|told| told.contains("authentication failed")).map(str::to_owned)
    });
    assert!(!told.contains("barley") && !told.contains("sesame"), "{told}");
}

#[test]
fn large_values_come_and_go_over_http() {
    let redis = Redis::start();
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), 0, &redis);
    let large = json!({"text": "x".repeat(100_000)});
    let task = add(&server, &large);
    let mut line = line(redis.port);
    let token = tokens(&mut line, STREAM, 1).remove(0);
    assert_eq!(token.get("payload"), None);
    let got = talk::ask(server.port, "GET", &format!("/v1/blobs/{}", token["payload_ref"].as_str().unwrap()), &[], b"").unwrap();
    assert_eq!((got.status, got.json()), (200, large));
    let result = json!({"text": "y".repeat(80_000)});
    let put = talk::ask(server.port, "PUT", "/v1/blobs", &[], result.to_string().as_bytes()).unwrap();
    signal(&mut line, &token, ("result_ref", put.json()["ref"].clone()));
    let ended = ended(&server, &task);
    assert_eq!((&ended["status"], &ended["output"]), (&json!("done"), &result));
}

/// Ticks of the clock that a process has used so far: a hundredth of a second each.
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn a_server_that_is_to_stop_rests_while_it_waits_and_does_not_wait_for_what_is_out() {
    let redis = Redis::start();
    let folder = tempfile::tempdir().unwrap();
    let mut server = start(folder.path(), 0, &redis);
    add(&server, &json!({"n": 1}));
    let mut line = line(redis.port);
    tokens(&mut line, STREAM, 1);
    // A worker elsewhere is at something, which is waited for.
    server.post("/v1/tasks", &json!({"type": "other", "input": 1}));
    let worked = server.post("/v1/work", &json!({"worker": "w", "types": ["other"], "want": 1, "wait_ms": 5_000}));
    let result = json!({"task": worked["tasks"][0]["task"], "fence": worked["tasks"][0]["fence"], "status": "done"});
    server::signal(server.pid(), "TERM");
    until("it is stopping", || server.get("/v1/status")["stopping"].as_bool().filter(|stopping| *stopping));
    let before = ticks(server.pid());
    std::thread::sleep(Duration::from_secs(1));
    let used = ticks(server.pid()) - before;
    assert!(used < 30, "{used} hundredths of a second of one");
    server.post("/v1/work", &json!({"worker": "w", "types": ["other"], "results": [result]}));
    assert_eq!(server.wait(), Some(0));
    tokens(&mut line, STREAM, 1);
}
