//! Bulks over a million tasks: how fast they go, and how long any other command waits meanwhile.

use crate::in_process::{name, new_task};
use crate::{Measure, Options};
use engine::{Answer, Engine, Report, Request, Work};
use kernel::bulk::{BulkWork, TaskFilter};
use kernel::command::{Command, Outcome};
use kernel::ids::TaskId;
use kernel::names::{Actor, QueueName, TypeName, WorkerName};
use kernel::priority::Priority;
use kernel::record::Failure;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const TASKS: usize = 1_000_000;
const CHUNK: usize = 1_000;
/// Between two probes: often enough to meet every batch of a bulk.
const PROBE_EVERY: Duration = Duration::from_millis(2);

pub fn million(options: &Options) -> Result<Vec<Measure>, String> {
    let (_dir, engine) = options.open()?;
    for _ in 0..TASKS / CHUNK {
        ask(&engine, Command::Add { tasks: vec![new_task(None)?; CHUNK] })?;
    }
    let queue = name(QueueName::parse, "bench")?;
    let upto = TaskId::MAX;
    let filter = TaskFilter::default();
    let reprioritize = BulkWork::Reprioritize { queue: queue.clone(), upto, filter: filter.clone(), priority: Priority::HIGH };
    let (reprioritize_wait, reprioritize_s) = probed(&engine, reprioritize)?;
    fail_all(&engine)?;
    let (redrive_wait, redrive_s) = probed(&engine, BulkWork::Redrive { queue: queue.clone(), upto, filter, per_s: None })?;
    let (clear_wait, clear_s) =
        probed(&engine, BulkWork::Clear { queue, upto, reason: String::new(), filter: TaskFilter::default() })?;
    let how_wait = "longest wait of an add to another queue, one every 2 ms, while the bulk went over 1,000,000 tasks";
    let how_speed = "the bulk itself, with those adds going on";
    let wait = |name, value| Measure { name, value, unit: "ms", how: how_wait };
    let speed = |name, seconds: f64| Measure { name, value: TASKS as f64 / seconds, unit: "tasks/s", how: how_speed };
    Ok(vec![
        wait("bulk.reprioritize.wait_ms.max", reprioritize_wait),
        wait("bulk.redrive.wait_ms.max", redrive_wait),
        wait("bulk.clear.wait_ms.max", clear_wait),
        speed("bulk.reprioritize.per_s", reprioritize_s),
        speed("bulk.redrive.per_s", redrive_s),
        speed("bulk.clear.per_s", clear_s),
    ])
}

fn ask(engine: &Engine, command: Command) -> Result<(), String> {
    match engine.ask_blocking(Request::Command(command)) {
        Ok(Answer::Reply(Ok(_))) => Ok(()),
        other => Err(format!("a command was answered {other:?}")),
    }
}

/// Runs a bulk to its end: the longest wait of another command in ms, and the seconds it took.
pub fn probed(engine: &Engine, work: BulkWork) -> Result<(f64, f64), String> {
    beside(engine, || {
        let start = Instant::now();
        let by = name(Actor::parse, "bench")?;
        ask(engine, Command::StartBulk { work, by, reason: String::new() }).and_then(|()| until_closed(engine))?;
        Ok(start.elapsed().as_secs_f64())
    })
}

/// The longest wait of another command while something is done, and what came of that.
pub fn beside<T>(engine: &Engine, work: impl FnOnce() -> Result<T, String>) -> Result<(f64, T), String> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let prober = scope.spawn(|| probe(engine, &over));
        let came = work();
        over.store(true, Ordering::Relaxed);
        let longest = prober.join().map_err(|_| "the prober panicked")??;
        came.map(|came| (longest, came))
    })
}

fn until_closed(engine: &Engine) -> Result<(), String> {
    let queue = name(QueueName::parse, "bench")?;
    let is_open = |request| match engine.ask_blocking(request) {
        Ok(Answer::Queue { bulks, .. } | Answer::RunBulks(bulks)) => Ok(!bulks.is_empty()),
        Ok(other) => Err(format!("a look was answered {other:?}")),
        Err(refused) => Err(refused.to_string()),
    };
    while is_open(Request::Queue { queue: queue.clone() })? || is_open(Request::RunBulks)? {
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn probe(engine: &Engine, over: &AtomicBool) -> Result<f64, String> {
    let mut task = new_task(None)?;
    task.spec.queue = name(QueueName::parse, "other")?;
    task.spec.kind = name(TypeName::parse, "other")?;
    let mut longest = 0f64;
    while !over.load(Ordering::Relaxed) {
        let start = Instant::now();
        ask(engine, Command::Add { tasks: vec![task.clone()] })?;
        longest = longest.max(start.elapsed().as_secs_f64() * 1_000.0);
        std::thread::sleep(PROBE_EVERY);
    }
    Ok(longest)
}

/// Makes dead letters of them all.
fn fail_all(engine: &Engine) -> Result<(), String> {
    let worker = name(WorkerName::parse, "bench")?;
    let types: std::sync::Arc<[TypeName]> = [name(TypeName::parse, "bench")?].into();
    let failure = Failure { code: "poison".into(), message: String::new() };
    let mut results = Vec::new();
    loop {
        let work = Work {
            worker: worker.clone(),
            types: types.clone(),
            queues: [].into(),
            want: CHUNK,
            wait_ms: 0,
            results: std::mem::take(&mut results),
            holding: Vec::new(),
        };
        let Ok(Answer::Worked(worked)) = engine.ask_blocking(Request::Work(work)) else {
            return Err("a poll was not answered".into());
        };
        if worked.deliveries.is_empty() {
            return Ok(());
        }
        results.extend(worked.deliveries.iter().map(|delivery| Report {
            task: delivery.grant.task,
            fence: delivery.grant.fence,
            outcome: Outcome::Failed { failure: failure.clone(), retryable: false, retry_after_ms: None },
        }));
    }
}
