//! Workers on Redis streams, through the real binary: runs whose nodes go out as tokens, and everything that dies in turn.

mod server;
mod talk;

use redis::streams::{StreamReadOptions, StreamReadReply};
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
use talk::until;
use tempfile::TempDir;

struct Redis {
    child: Child,
    port: u16,
    folder: TempDir,
}

fn spawn(port: u16, folder: &Path) -> Child {
    Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .spawn()
        .expect("redis-server is there: `make test` installs it")
}

impl Redis {
    fn start() -> Redis {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = tempfile::tempdir().unwrap();
        let redis = Redis { child: spawn(port, folder.path()), port, folder };
        line(redis.port);
        redis
    }

    /// It dies, and comes back knowing nothing.
    fn kill_and_start(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::thread::sleep(Duration::from_millis(300));
        self.child = spawn(self.port, self.folder.path());
        line(self.port);
    }

    fn config(&self) -> PathBuf {
        let path = self.folder.path().join("signaller.toml");
        let text = format!("[redis]\nurl = \"redis://127.0.0.1:{}\"\ntypes = [\"double\"]\nslots = 40\n", self.port);
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
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).unwrap();
    until("redis-server answers", || client.get_connection().ok())
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
    let server = start(folder.path(), 0, &redis);
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
    let explained = server.get(&format!("/v1/tasks/{}/explain", token["metadata"]["task"].as_str().unwrap()));
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
