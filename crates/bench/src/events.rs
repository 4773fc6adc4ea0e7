//! Events: in over HTTP with a fan-out of three; through all disciplines and through none; and what it costs to wait.

use crate::client::Client;
use crate::http::{Server, finish, start};
use crate::load::{LoadArgs, Part};
use crate::through::{self, Threads};
use crate::{BATCH, Measure, Options};
use engine::Engine;
use kernel::event::EventSpec;
use kernel::names::{Actor, EventName};
use kernel::record::Payload;
use std::time::{Duration, Instant};

const KEYS: u64 = 10_000;

/// Three handlers take each event.
const FAN_OUT: &str = "handlers:
  one: {on: bench/happened, task: bench-1}
  two: {on: bench/*, task: bench-2}
  three: {on: '*', task: bench-3, if: event.data.text != ''}
";

const PLAIN: &str = "handlers:
  h: {on: bench/*, task: bench}
";

/// Keyed rate, keyed concurrency and fairness, over as many keys as there are.
const DISCIPLINED: &str = "handlers:
  h:
    on: bench/*
    task: bench
    concurrency: {key: event.data.key, per_key: 1000}
    rate: {count: 1000000, per: 1s, burst: 1000, key: event.data.key}
    fairness: {key: event.data.key}
";

fn put(engine: &Engine, text: &str) -> Result<(), String> {
    let by = Actor::parse("bench").map_err(|bad| bad.to_string())?;
    engine.put_registry(text, &by).map(|_| ()).map_err(|no| format!("{no:?}"))
}

fn spec() -> Result<EventSpec, String> {
    EventName::parse("bench/happened").map(EventSpec::named).map_err(|bad| bad.to_string())
}

pub fn http(options: &Options) -> Result<Vec<Measure>, String> {
    let dir = options.fresh_dir()?;
    let registry = dir.path().join("registry.yaml");
    std::fs::write(&registry, FAN_OUT).map_err(|error| error.to_string())?;
    let server = Server::start(options, dir.path(), &["--registry", &registry.display().to_string()])?;
    let ms = options.time().as_millis() as u64;
    let args = LoadArgs { url: server.url.clone(), part: Part::Emit, batch: BATCH, threads: 4, ms, tasks: 0, ledger: None };
    let value = finish(start(options, &args)?)?;
    let how =
        "one sending process, 4 connections, 100 events a request, each taken by 3 handlers: so many tasks queued, times three";
    Ok(vec![Measure { name: "event.http.per_s", value, unit: "events/s", how }])
}

/// With all disciplines and without, by turns in one run, so that their ratio means something.
pub fn disciplined(options: &Options) -> Result<Vec<Measure>, String> {
    let half = Options { seconds: options.seconds.div_ceil(2), ..options.clone() };
    let (mut plain, mut disciplined) = (0.0, 0.0);
    for _ in 0..2 {
        plain += through(&half, PLAIN)? / 2.0;
        disciplined += through(&half, DISCIPLINED)? / 2.0;
    }
    let how = "emitted, leased and finished in the server's process, 100 a request, 10,000 keys in the data";
    let how_disciplined = "as event.plain.per_s, with a keyed rate, keyed concurrency and fairness over the 10,000 keys";
    Ok(vec![
        Measure { name: "event.plain.per_s", value: plain, unit: "events/s", how },
        Measure { name: "event.disciplined.per_s", value: disciplined, unit: "events/s", how: how_disciplined },
    ])
}

fn through(options: &Options, registry: &str) -> Result<f64, String> {
    let (_dir, engine) = options.open()?;
    put(&engine, registry)?;
    let spec = spec()?;
    through::per_s(options, &engine, Threads { senders: 2, workers: 2 }, |engine, numbers| {
        let event = |n: u64| {
            let data = format!("{{\"key\":\"k{}\",\"text\":\"{}\"}}", n % KEYS, "x".repeat(75));
            (spec.clone(), Payload(data.into()))
        };
        let events: Vec<_> = numbers.map(event).collect();
        Ok(engine.emit_blocking(&events))
    })
}

const IDLE_QUEUES: usize = 1_000;
const IDLE_TASKS: usize = 100_000;

/// A thousand queues and a hundred thousand tasks that wait: for a permit, for quiet, for their hour. Nothing happens.
pub fn idle(options: &Options) -> Result<Vec<Measure>, String> {
    let dir = options.fresh_dir()?;
    let mut text =
        String::from("handlers:\n  later: {on: bench/*, task: bench, debounce: {period: 1d, key: event.data.key}}\nqueues:\n");
    for queue in 0..IDLE_QUEUES {
        text.push_str(&format!("  q{queue}: {{concurrency: 5, rate: 1/1d}}\n"));
    }
    let registry = dir.path().join("registry.yaml");
    std::fs::write(&registry, text).map_err(|error| error.to_string())?;
    let server = Server::start(options, dir.path(), &["--registry", &registry.display().to_string()])?;
    let client = Client::new(&server.url);
    let third = IDLE_TASKS / 3;
    for from in (0..third).step_by(500) {
        let event = |n: usize| serde_json::json!({"name": "bench/happened", "data": {"key": n}});
        let events: Vec<_> = (from..(from + 500).min(third)).map(event).collect();
        let _: serde_json::Value = client.post("/v1/events/batch", &serde_json::json!({"events": events}))?;
    }
    for from in (third..IDLE_TASKS).step_by(500) {
        let task = |n: usize| match n % 2 {
            0 => serde_json::json!({"type": "bench", "queue": format!("q{}", n % IDLE_QUEUES)}),
            _ => serde_json::json!({"type": "bench", "queue": format!("q{}", n % IDLE_QUEUES), "delay_ms": 86_400_000}),
        };
        let tasks: Vec<_> = (from..(from + 500).min(IDLE_TASKS)).map(task).collect();
        let _: serde_json::Value = client.post("/v1/tasks/batch", &serde_json::json!({"tasks": tasks}))?;
    }
    // One permit of each queue is taken, so that the rest waits for the next.
    let taken: serde_json::Value =
        client.post("/v1/work", &serde_json::json!({"worker": "bench", "types": ["bench"], "want": 1000}))?;
    let leased = taken["tasks"].as_array().map_or(0, Vec::len);
    if leased == 0 {
        return Err("nothing was leased, so nothing waits for a permit".into());
    }
    // What was just done is counted and settled first.
    std::thread::sleep(Duration::from_secs(3));
    let (before, start) = (server.cpu()?, Instant::now());
    std::thread::sleep(options.time().max(Duration::from_secs(5)));
    let value = (server.cpu()? - before).as_secs_f64() / start.elapsed().as_secs_f64() * 100.0;
    let how = "of one core, with 1,000 queues and 100,000 tasks that wait for a permit, for quiet or for their hour";
    Ok(vec![Measure { name: "idle.cpu_percent", value, unit: "%", how }])
}
