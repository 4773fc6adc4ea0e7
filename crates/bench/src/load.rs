//! The other side of the HTTP loads: what runs in the adding and working processes (`signaller bench-load`). With a
//! ledger the same loads are the clients of the crash test.

use crate::client::Client;
use crate::payload_text;
use doors::wire::{
    EventEmit, EventsEmit, RunStart, RunStarted, TaskAdd, TaskAdded, TasksAdd, TasksAdded, WorkAnswer, WorkPoll, WorkResult,
    WorkStatus,
};
use kernel::names::{EventName, IdempotencyKey, TypeName, WorkerName, WorkflowName};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a load with a ledger rests before it tries a server again that went away.
const REST: Duration = Duration::from_millis(20);

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Add,
    Work,
    /// Start runs of the workflow `line`.
    Start,
    /// Send events.
    Emit,
    /// Do what comes on a Redis stream; `url` is the server's there.
    Stream,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadArgs {
    pub url: String,
    pub part: Part,
    pub batch: usize,
    pub threads: usize,
    /// How long it goes on.
    pub ms: u64,
    /// Ends earlier after so many tasks; 0 for never.
    pub tasks: u64,
    /// Every task the server acknowledged, a line each. With a ledger a server that goes away is waited for.
    pub ledger: Option<PathBuf>,
}

/// What the server acknowledged, as its clients saw it: the other side of "nothing is lost".
struct Ledger(Option<Mutex<File>>);

impl Ledger {
    fn open(args: &LoadArgs) -> Result<Ledger, String> {
        let open = |path| File::options().create(true).append(true).open(path).map(Mutex::new);
        args.ledger.as_ref().map(open).transpose().map(Ledger).map_err(|error| error.to_string())
    }

    fn write(&self, lines: String) -> Result<(), String> {
        let Some(file) = &self.0 else { return Ok(()) };
        let mut file = file.lock().map_err(|_| "a load thread panicked")?;
        file.write_all(lines.as_bytes()).map_err(|error| error.to_string())
    }

    /// Whether to try again after this error.
    fn forgives(&self, error: &str) -> bool {
        let passing = self.0.is_some() || error.contains("\"limited\"");
        if passing {
            std::thread::sleep(REST);
        }
        passing
    }
}

fn task() -> Result<TaskAdd, String> {
    let kind = TypeName::parse("bench").map_err(|bad| bad.to_string())?;
    let input = RawValue::from_string(payload_text()).map_err(|error| error.to_string())?;
    Ok(TaskAdd { input: Some(input), ..TaskAdd::new(kind) })
}

fn post_tasks(client: &Client, mut tasks: Vec<TaskAdd>) -> Result<Vec<TaskAdded>, String> {
    if tasks.len() > 1 {
        let added: TasksAdded = client.post("/v1/tasks/batch", &TasksAdd { tasks })?;
        return Ok(added.tasks);
    }
    let task = tasks.pop().ok_or("nothing to add")?;
    client.post("/v1/tasks", &task).map(|added| vec![added])
}

pub fn add_batch(client: &Client, count: usize) -> Result<u64, String> {
    post_tasks(client, vec![task()?; count]).map(|added| added.len() as u64)
}

/// Runs one part and returns what it has to say: tasks a second.
pub fn run(args: &LoadArgs) -> Result<f64, String> {
    let handled = AtomicU64::new(0);
    let ledger = Ledger::open(args)?;
    let until = Instant::now() + Duration::from_millis(args.ms);
    let start = Instant::now();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..args.threads)
            .map(|at| {
                let (handled, ledger) = (&handled, &ledger);
                scope.spawn(move || match args.part {
                    Part::Add => add(args, at, until, handled, ledger),
                    Part::Work => work(args, at, until, handled, ledger),
                    Part::Start => start_runs(args, at, until, handled, ledger),
                    Part::Emit => emit(args, until, handled),
                    Part::Stream => crate::redis::work(args, at, until, handled),
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a load thread panicked".to_owned())?)
    })?;
    Ok(handled.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64())
}

fn emit(args: &LoadArgs, until: Instant, handled: &AtomicU64) -> Result<(), String> {
    let client = Client::new(&args.url);
    let name = EventName::parse("bench/happened").map_err(|bad| bad.to_string())?;
    let data = RawValue::from_string(payload_text()).map_err(|error| error.to_string())?;
    let event = EventEmit { data: Some(data), ..EventEmit::named(name) };
    let body = EventsEmit { events: vec![event; args.batch] };
    while Instant::now() < until {
        match client.post::<serde::de::IgnoredAny>("/v1/events/batch", &body) {
            Ok(_) => _ = handled.fetch_add(args.batch as u64, Ordering::Relaxed),
            Err(error) if error.contains("\"limited\"") => std::thread::sleep(REST),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn add(args: &LoadArgs, at: usize, until: Instant, handled: &AtomicU64, ledger: &Ledger) -> Result<(), String> {
    let client = Client::new(&args.url);
    let mut round = 0;
    while Instant::now() < until {
        let mut tasks = vec![task()?; args.batch];
        if ledger.0.is_some() {
            // Sent again under the same keys when the answer got lost, so that each is added once.
            for (n, task) in tasks.iter_mut().enumerate() {
                let key = format!("{}-{at}-{round}-{n}", std::process::id());
                task.idempotency_key = Some(IdempotencyKey::parse(&key).map_err(|bad| bad.to_string())?);
            }
        }
        round += 1;
        let added = loop {
            match post_tasks(&client, tasks.clone()) {
                Ok(added) => break added,
                Err(error) if ledger.forgives(&error) && Instant::now() < until + Duration::from_secs(60) => {}
                Err(error) => return Err(error),
            }
        };
        ledger.write(added.iter().map(|added| line(&added.task, added.duplicate, "added")).collect())?;
        handled.fetch_add(added.len() as u64, Ordering::Relaxed);
    }
    Ok(())
}

/// Starts runs, one a request.
fn start_runs(args: &LoadArgs, at: usize, until: Instant, handled: &AtomicU64, ledger: &Ledger) -> Result<(), String> {
    let client = Client::new(&args.url);
    let mut round = 0;
    while Instant::now() < until && (args.tasks == 0 || handled.load(Ordering::Relaxed) < args.tasks) {
        let mut run = RunStart::new(WorkflowName::parse("line").map_err(|bad| bad.to_string())?);
        run.input = Some(RawValue::from_string(payload_text()).map_err(|error| error.to_string())?);
        if ledger.0.is_some() {
            let key = format!("{}-{at}-{round}", std::process::id());
            run.idempotency_key = Some(IdempotencyKey::parse(&key).map_err(|bad| bad.to_string())?);
        }
        round += 1;
        let started: RunStarted = loop {
            match client.post("/v1/runs", &run) {
                Ok(started) => break started,
                Err(error) if ledger.forgives(&error) && Instant::now() < until + Duration::from_secs(60) => {}
                Err(error) => return Err(error),
            }
        };
        ledger.write(line(&started.run, started.duplicate, "started"))?;
        handled.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// A line of the ledger. `again`: the first answer got lost, though what it spoke of was durable.
fn line(task: &impl std::fmt::Display, duplicate: bool, what: &str) -> String {
    format!("{task} {}\n", if duplicate { "again" } else { what })
}

fn work(args: &LoadArgs, at: usize, until: Instant, handled: &AtomicU64, ledger: &Ledger) -> Result<(), String> {
    let wrong = |bad: kernel::names::BadName| bad.to_string();
    let client = Client::new(&args.url);
    let worker = WorkerName::parse(&format!("load-{}-{at}", std::process::id())).map_err(wrong)?;
    let types = vec![TypeName::parse("bench").map_err(wrong)?];
    let mut results = Vec::new();
    loop {
        let reported = results.len() as u64;
        let enough = args.tasks > 0 && handled.load(Ordering::Relaxed) + reported >= args.tasks;
        let last = enough || Instant::now() >= until;
        let poll = WorkPoll {
            worker: worker.clone(),
            types: types.clone(),
            queues: Vec::new(),
            want: if last { 0 } else { args.batch },
            wait_ms: if last { 0 } else { 100 },
            results: std::mem::take(&mut results),
            holding: Vec::new(),
        };
        let answer: WorkAnswer = loop {
            match client.post("/v1/work", &poll) {
                Ok(answer) => break answer,
                Err(error) if ledger.forgives(&error) && Instant::now() < until + Duration::from_secs(60) => {}
                Err(error) => return Err(error),
            }
        };
        if let Some(refused) = answer.results.iter().find(|result| !result.ok && ledger.0.is_none()) {
            return Err(format!("a result was refused: {refused:?}"));
        }
        let accepted = answer.results.iter().filter(|result| result.ok);
        ledger.write(accepted.map(|result| line(&result.task, result.duplicate, "done")).collect())?;
        let total = handled.fetch_add(reported, Ordering::Relaxed) + reported;
        if last || (args.tasks > 0 && total >= args.tasks && answer.tasks.is_empty()) {
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
