//! Over HTTP, with server, adders and workers in processes of their own on the same machine.

use crate::client::Client;
use crate::load::{LoadArgs, Part, add_batch};
use crate::{Measure, Options, percentile};
use doors::wire::{WorkAnswer, WorkPoll, WorkResult, WorkStatus};
use kernel::names::{TypeName, WorkerName};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const DRAINED_TASKS: u64 = 200_000;
const HOPS: usize = 500;
pub const RUNS: u64 = 5_000;

/// A server process of this very binary; it ends with this value.
pub struct Server {
    child: Child,
    pub url: String,
}

impl Server {
    pub fn start(options: &Options, dir: &Path, args: &[&str]) -> Result<Server, String> {
        let mut child = Command::new(&options.binary)
            .args(["--json", "serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(dir)
            .args(args)
            .env_remove("SIGNALLER_TOKEN")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("the server cannot be started: {error}"))?;
        let mut line = String::new();
        let stdout = child.stdout.take().expect("stdout is piped");
        BufReader::new(stdout).read_line(&mut line).map_err(|error| error.to_string())?;
        let ready: serde_json::Value = serde_json::from_str(&line).map_err(|_| format!("the server said `{}`", line.trim()))?;
        let url = ready["ready"]["address"].as_str().ok_or_else(|| format!("the server said `{}`", line.trim()))?;
        Ok(Server { child, url: url.to_owned() })
    }

    /// What it has used of the processors so far.
    pub fn cpu(&self) -> Result<Duration, String> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).map_err(|error| error.to_string())?;
        // Its name may hold anything; behind it come its state and numbers, of which the 12th and 13th are ticks of 10 ms.
        let numbers = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let ticks: u64 = numbers.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
        Ok(Duration::from_millis(ticks * 10))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// One load process; its last line says how many tasks it handled.
pub fn start(options: &Options, args: &LoadArgs) -> Result<Child, String> {
    let args = serde_json::to_string(args).map_err(|error| error.to_string())?;
    Command::new(&options.binary)
        .args(["bench-load", &args])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("a load cannot be started: {error}"))
}

pub fn finish(mut child: Child) -> Result<f64, String> {
    let mut said = String::new();
    child.stdout.take().expect("stdout is piped").read_to_string(&mut said).map_err(|error| error.to_string())?;
    child.wait().map_err(|error| error.to_string())?;
    said.trim().parse().map_err(|_| format!("a load process said `{}`", said.trim()))
}

fn run_through(options: &Options, batch: usize, threads: usize) -> Result<f64, String> {
    let dir = options.fresh_dir()?;
    let server = Server::start(options, dir.path(), &[])?;
    let ms = options.time().as_millis() as u64;
    let part = |part| LoadArgs { url: server.url.clone(), part, batch, threads, ms, tasks: 0, ledger: None };
    let adder = start(options, &part(Part::Add))?;
    let worker = start(options, &part(Part::Work))?;
    finish(adder)?;
    finish(worker)
}

pub fn through(options: &Options) -> Result<Vec<Measure>, String> {
    let value = run_through(options, crate::BATCH, 4)?;
    let how = "one adding and one working process, 4 connections each, 100 tasks a request";
    Ok(vec![Measure { name: "task.http.per_s", value, unit: "tasks/s", how }])
}

pub fn single(options: &Options) -> Result<Vec<Measure>, String> {
    let value = run_through(options, 1, 32)?;
    let how = "one adding and one working process, 32 connections each, one task a request";
    Ok(vec![Measure { name: "task.http_single.per_s", value, unit: "tasks/s", how }])
}

pub fn drain(options: &Options) -> Result<Vec<Measure>, String> {
    let dir = options.fresh_dir()?;
    let server = Server::start(options, dir.path(), &[])?;
    let client = Client::new(&server.url);
    let mut added = 0;
    while added < DRAINED_TASKS {
        added += add_batch(&client, 1_000)?;
    }
    let args = LoadArgs {
        url: server.url.clone(),
        part: Part::Work,
        batch: crate::BATCH,
        threads: 4,
        ms: 600_000,
        tasks: DRAINED_TASKS,
        ledger: None,
    };
    let value = finish(start(options, &args)?)?;
    let how = "200,000 tasks already queued; one working process, 4 connections, 100 tasks a request";
    Ok(vec![Measure { name: "task.http.drain_per_s", value, unit: "tasks/s", how }])
}

/// Runs that were started before, walked to their ends.
pub fn hops(options: &Options) -> Result<Vec<Measure>, String> {
    let dir = options.fresh_dir()?;
    let server = Server::start(options, dir.path(), &[])?;
    let _: serde_json::Value = Client::new(&server.url).post("/v1/workflows", &crate::runs::line_json())?;
    let part = |part, tasks| LoadArgs {
        url: server.url.clone(),
        part,
        batch: crate::BATCH,
        threads: if matches!(part, Part::Start) { 16 } else { 4 },
        ms: 600_000,
        tasks,
        ledger: None,
    };
    finish(start(options, &part(Part::Start, RUNS))?)?;
    let value = finish(start(options, &part(Part::Work, RUNS * crate::runs::NODES as u64))?)?;
    let how = "5,000 runs of 10 nodes in a row, started before; one working process, 4 connections, 100 tasks a request";
    Ok(vec![Measure { name: "run.http.hops_per_s", value, unit: "hops/s", how }])
}

/// One task at a time on an idle server: added, handed to the waiting worker, finished, and that acknowledged.
pub fn idle_hop(options: &Options) -> Result<Vec<Measure>, String> {
    let dir = options.fresh_dir()?;
    let server = Server::start(options, dir.path(), &[])?;
    let (seen, finished) = std::sync::mpsc::channel();
    let client = Client::new(&server.url);
    std::thread::spawn(move || hop_worker(&client, &seen));
    let client = Client::new(&server.url);
    let mut times = Vec::with_capacity(HOPS);
    for _ in 0..HOPS {
        // Long enough for the worker to be waiting again.
        std::thread::sleep(Duration::from_millis(3));
        let start = Instant::now();
        add_batch(&client, 1)?;
        let end: Instant = finished.recv_timeout(Duration::from_secs(10)).map_err(|_| "a hop took more than 10 s")?;
        times.push(end.duration_since(start).as_secs_f64() * 1_000.0);
    }
    let how = "add, hand-over to a waiting worker, finish, acknowledged; 500 times on an idle server";
    Ok(vec![
        Measure { name: "task.idle_hop_ms.p50", value: percentile(&mut times, 0.5), unit: "ms", how },
        Measure { name: "task.idle_hop_ms.p99", value: percentile(&mut times, 0.99), unit: "ms", how },
    ])
}

fn hop_worker(client: &Client, seen: &std::sync::mpsc::Sender<Instant>) -> Result<(), String> {
    let wrong = |bad: kernel::names::BadName| bad.to_string();
    let worker = WorkerName::parse("hop").map_err(wrong)?;
    let kind = TypeName::parse("bench").map_err(wrong)?;
    let mut results = Vec::new();
    loop {
        let reporting = !results.is_empty();
        let poll = WorkPoll {
            worker: worker.clone(),
            types: vec![kind.clone()],
            queues: Vec::new(),
            want: 1,
            wait_ms: 20_000,
            results: std::mem::take(&mut results),
            holding: Vec::new(),
        };
        let answer: WorkAnswer = client.post("/v1/work", &poll)?;
        if reporting && seen.send(Instant::now()).is_err() {
            return Ok(());
        }
        results.extend(
            answer
                .tasks
                .into_iter()
                .map(|task| WorkResult { output: Some(task.input), ..WorkResult::new(task.task, task.fence, WorkStatus::Done) }),
        );
    }
}
