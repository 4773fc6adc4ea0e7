//! Hops whose work is done by a worker that reads a Redis stream: a Redis server, ours and the worker in processes of their own.

use crate::client::Client;
use crate::http::{RUNS, Server, finish, start};
use crate::load::{LoadArgs, Part};
use crate::{Measure, Options};
use ::redis::streams::{StreamReadOptions, StreamReadReply};
use ::redis::{Commands, Connection};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const STREAM: &str = "wf.tasks.bench";
const GROUP: &str = "bench";
/// Tokens that are read at a time.
const READ: usize = 250;
const PATIENCE: Duration = Duration::from_secs(10);

/// A Redis server in a fresh folder; it ends with this value.
struct Redis {
    child: Child,
    url: String,
}

impl Redis {
    fn start(dir: &Path) -> Result<Redis, String> {
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = free.map_err(|error| error.to_string())?.port();
        let child = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--port", &port.to_string()])
            .current_dir(dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| format!("redis-server cannot be started, which this measure needs: {error}"))?;
        Ok(Redis { child, url: format!("redis://127.0.0.1:{port}/0") })
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn line(url: &str) -> Result<Connection, String> {
    let client = ::redis::Client::open(url).map_err(|error| error.to_string())?;
    let until = Instant::now() + PATIENCE;
    loop {
        match client.get_connection() {
            Ok(line) => return Ok(line),
            Err(error) if Instant::now() > until => return Err(format!("redis-server does not answer: {error}")),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

pub fn hops(options: &Options) -> Result<Vec<Measure>, String> {
    let dir = options.fresh_dir()?;
    let redis = Redis::start(dir.path())?;
    line(&redis.url)?;
    let config = dir.path().join("signaller.toml");
    let text = format!("[redis]\nurl = \"{}\"\ntypes = [\"bench\"]\n", redis.url);
    std::fs::write(&config, text).map_err(|error| error.to_string())?;
    let server = Server::start(options, &dir.path().join("data"), &["--config", &config.display().to_string()])?;
    let _: serde_json::Value = Client::new(&server.url).post("/v1/workflows", &crate::runs::line_json())?;
    let part = |part, url: &str, threads, tasks| LoadArgs {
        url: url.to_owned(),
        part,
        batch: crate::BATCH,
        threads,
        ms: 600_000,
        tasks,
        ledger: None,
    };
    finish(start(options, &part(Part::Start, &server.url, 16, RUNS))?)?;
    let hops = RUNS * crate::runs::NODES as u64;
    let value = finish(start(options, &part(Part::Stream, &redis.url, 1, hops))?)?;
    let how = "5,000 runs of 10 nodes in a row, started before; a Redis server, and one worker process that reads its stream by a consumer group";
    Ok(vec![Measure { name: "redis.hops_per_s", value, unit: "hops/s", how }])
}

/// Reads tokens and says that each is done.
pub fn work(args: &LoadArgs, at: usize, until: Instant, handled: &AtomicU64) -> Result<(), String> {
    let wrong = |error: ::redis::RedisError| error.to_string();
    let mut line = line(&args.url)?;
    // It may be there already.
    let _: Result<(), _> = line.xgroup_create_mkstream(STREAM, GROUP, "0");
    let read = StreamReadOptions::default().group(GROUP, format!("w{at}")).count(READ).block(1_000);
    // What a worker of this name had taken before comes first.
    let mut from = "0";
    while Instant::now() < until && handled.load(Ordering::Relaxed) < args.tasks {
        let found: Option<StreamReadReply> = line.xread_options(&[STREAM], &[from], &read).map_err(wrong)?;
        let entries: Vec<_> = found.into_iter().flat_map(|found| found.keys).flat_map(|stream| stream.ids).collect();
        if entries.is_empty() {
            from = ">";
        }
        let (mut ids, mut signals) = (Vec::with_capacity(entries.len()), Vec::with_capacity(entries.len()));
        for entry in &entries {
            ids.push(&entry.id);
            // One that it had told of is not there any more.
            let Some(token) = entry.get::<String>("token") else { continue };
            let token: serde_json::Value = serde_json::from_str(&token).map_err(|error| error.to_string())?;
            let signal = serde_json::json!({"version": "1.0", "job_id": token["id"], "run_id": token["run_id"],
                "node_id": token["node_id"], "status": "completed", "result_data": token["payload"]});
            signals.push(signal.to_string());
        }
        if !ids.is_empty() {
            let mut pipe = ::redis::pipe();
            if !signals.is_empty() {
                pipe.rpush("completion_signals", &signals).ignore();
            }
            pipe.xack(STREAM, GROUP, &ids).ignore();
            let () = pipe.query(&mut line).map_err(wrong)?;
            handled.fetch_add(ids.len() as u64, Ordering::Relaxed);
        }
    }
    Ok(())
}
