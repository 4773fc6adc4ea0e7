//! Through the engine without HTTP: add, lease, finish, on real SQLite.

use crate::{BATCH, Measure, Options, payload_text};
use engine::{Answer, Engine, Report, Request, Work};
use kernel::command::{Command, NewTask, Outcome};
use kernel::names::{Actor, KeyName, KeyValue, QueueName, TypeName, WorkerName};
use kernel::queue::{KeyLimit, QueueConfig};
use kernel::record::{Payload, TaskSpec};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

const ADDERS: usize = 4;
const WORKERS: usize = 4;
/// Adders rest when so many tasks wait, so that the load is steady and not a pile.
const AHEAD_MAX: u64 = 20_000;

pub fn plain(options: &Options) -> Result<Vec<Measure>, String> {
    let value = through(options, 0)?;
    let how = "4 adders and 4 workers in the server's process, 100 tasks a request";
    Ok(vec![Measure { name: "task.in_process.per_s", value, unit: "tasks/s", how }])
}

/// One key and ten thousand, by turns in one run, so that their ratio means something.
pub fn keyed(options: &Options) -> Result<Vec<Measure>, String> {
    let half = Options { seconds: options.seconds.div_ceil(2), ..options.clone() };
    let (mut one, mut many) = (0.0, 0.0);
    for _ in 0..2 {
        one += through(&half, 1)? / 2.0;
        many += through(&half, 10_000)? / 2.0;
    }
    let how = "as task.in_process.per_s, with keyed concurrency of 1000 per key";
    Ok(vec![
        Measure { name: "task.keys_1.per_s", value: one, unit: "tasks/s", how },
        Measure { name: "task.keys_10000.per_s", value: many, unit: "tasks/s", how },
    ])
}

struct Shared {
    engine: Engine,
    end: AtomicBool,
    added: AtomicU64,
    finished: AtomicU64,
}

fn through(options: &Options, keys: u64) -> Result<f64, String> {
    let (_dir, engine) = options.open()?;
    if keys > 0 {
        configure(&engine)?;
    }
    let shared = Arc::new(Shared { engine, end: AtomicBool::new(false), added: AtomicU64::new(0), finished: AtomicU64::new(0) });
    let adders = (0..ADDERS).map(|_| spawn(&shared, move |shared| add(shared, keys)));
    let workers = (0..WORKERS).map(|at| spawn(&shared, move |shared| work(shared, at)));
    let threads: Vec<_> = adders.chain(workers).collect();
    // The first moments fill caches and pipes; they are not counted.
    std::thread::sleep(options.time().mul_f64(0.1));
    let (start, before) = (Instant::now(), shared.finished.load(Ordering::Relaxed));
    std::thread::sleep(options.time());
    let (took, after) = (start.elapsed(), shared.finished.load(Ordering::Relaxed));
    shared.end.store(true, Ordering::Relaxed);
    for thread in threads {
        thread.join().map_err(|_| "a load thread panicked")??;
    }
    Ok((after - before) as f64 / took.as_secs_f64())
}

fn spawn(
    shared: &Arc<Shared>,
    run: impl FnOnce(&Shared) -> Result<(), String> + Send + 'static,
) -> std::thread::JoinHandle<Result<(), String>> {
    let shared = shared.clone();
    std::thread::spawn(move || run(&shared))
}

fn configure(engine: &Engine) -> Result<(), String> {
    let limit = KeyLimit { concurrency: Some(1_000), rate: None };
    let config = QueueConfig { keys: [(name(KeyName::parse, "k")?, limit)].into(), ..QueueConfig::default() };
    let by = name(Actor::parse, "bench")?;
    let command = Command::ConfigureQueue { queue: name(QueueName::parse, "bench")?, config: Arc::new(config), by };
    engine.ask_blocking(Request::Command(command)).map(|_| ()).map_err(|error| error.to_string())
}

pub fn name<T, E: std::fmt::Display>(parse: impl Fn(&str) -> Result<T, E>, text: &str) -> Result<T, String> {
    parse(text).map_err(|error| error.to_string())
}

pub fn new_task(key: Option<u64>) -> Result<NewTask, String> {
    let keys = match key {
        None => Vec::new(),
        Some(key) => vec![(name(KeyName::parse, "k")?, name(KeyValue::parse, &key.to_string())?)],
    };
    let spec = TaskSpec { keys, ..TaskSpec::new(name(QueueName::parse, "bench")?, name(TypeName::parse, "bench")?) };
    Ok(NewTask { spec, delay_ms: 0, input: Payload(payload_text().into()) })
}

fn add(shared: &Shared, keys: u64) -> Result<(), String> {
    let plain = new_task(None)?;
    let mut next = 0;
    while !shared.end.load(Ordering::Relaxed) {
        let ahead = shared.added.load(Ordering::Relaxed).saturating_sub(shared.finished.load(Ordering::Relaxed));
        if ahead > AHEAD_MAX {
            std::thread::sleep(std::time::Duration::from_millis(1));
            continue;
        }
        let mut tasks = Vec::with_capacity(BATCH);
        for _ in 0..BATCH {
            next += 1;
            tasks.push(if keys == 0 { plain.clone() } else { new_task(Some(next % keys))? });
        }
        match shared.engine.ask_blocking(Request::Command(Command::Add { tasks })) {
            Ok(Answer::Reply(Ok(_))) => _ = shared.added.fetch_add(BATCH as u64, Ordering::Relaxed),
            Err(engine::Refused::Full { retry_after_ms }) => std::thread::sleep(std::time::Duration::from_millis(retry_after_ms)),
            other => return Err(format!("an add was answered {other:?}")),
        }
    }
    Ok(())
}

fn work(shared: &Shared, at: usize) -> Result<(), String> {
    let worker = name(WorkerName::parse, &format!("bench-{at}"))?;
    let types: Arc<[TypeName]> = [name(TypeName::parse, "bench")?].into();
    let queues: Arc<[QueueName]> = [].into();
    let output = Payload(payload_text().into());
    let mut results = Vec::new();
    while !shared.end.load(Ordering::Relaxed) {
        let reported = results.len() as u64;
        let work = Work {
            worker: worker.clone(),
            types: types.clone(),
            queues: queues.clone(),
            want: BATCH,
            wait_ms: 100,
            results: std::mem::take(&mut results),
            holding: Vec::new(),
        };
        match shared.engine.ask_blocking(Request::Work(work)) {
            Ok(Answer::Worked(worked)) => {
                shared.finished.fetch_add(reported, Ordering::Relaxed);
                let done = worked.deliveries.iter().map(|delivery| Report {
                    task: delivery.grant.task,
                    fence: delivery.grant.fence,
                    outcome: Outcome::Done { output: output.clone() },
                });
                results.extend(done);
            }
            other => return Err(format!("a poll was answered {other:?}")),
        }
    }
    Ok(())
}
