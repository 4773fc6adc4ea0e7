//! A load through an engine in this process: some threads send a batch after another, others lease and finish, for a while.

use crate::{BATCH, Options, payload_text};
use engine::{Answer, Engine, Refused, Report, Request, Work};
use kernel::command::Outcome;
use kernel::names::{TypeName, WorkerName};
use kernel::record::Payload;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Senders rest when so many tasks wait, so that the load is steady and not a pile.
const AHEAD_MAX: u64 = 20_000;

/// How many threads there are of each kind.
#[derive(Copy, Clone)]
pub struct Threads {
    pub senders: usize,
    pub workers: usize,
}

struct Load<'a> {
    engine: &'a Engine,
    end: AtomicBool,
    sent: AtomicU64,
    finished: AtomicU64,
}

/// Tasks of type `bench` finished a second. `send` sends those of these numbers, which each sender counts for itself.
pub fn per_s(
    options: &Options,
    engine: &Engine,
    threads: Threads,
    send: impl Fn(&Engine, Range<u64>) -> Result<Result<Answer, Refused>, String> + Sync,
) -> Result<f64, String> {
    let load = Load { engine, end: AtomicBool::new(false), sent: AtomicU64::new(0), finished: AtomicU64::new(0) };
    let (load, send) = (&load, &send);
    std::thread::scope(|scope| {
        let senders = (0..threads.senders).map(|_| scope.spawn(move || load.send(send)));
        let workers = (0..threads.workers).map(|at| scope.spawn(move || load.work(at)));
        let threads: Vec<_> = senders.chain(workers).collect();
        // The first moments fill caches and pipes; they are not counted.
        std::thread::sleep(options.time().mul_f64(0.1));
        let (start, before) = (Instant::now(), load.finished.load(Ordering::Relaxed));
        std::thread::sleep(options.time());
        let (took, after) = (start.elapsed(), load.finished.load(Ordering::Relaxed));
        load.end.store(true, Ordering::Relaxed);
        for thread in threads {
            thread.join().map_err(|_| "a load thread panicked".to_owned())??;
        }
        Ok((after - before) as f64 / took.as_secs_f64())
    })
}

impl Load<'_> {
    fn is_over(&self) -> bool {
        self.end.load(Ordering::Relaxed)
    }

    fn send(&self, send: impl Fn(&Engine, Range<u64>) -> Result<Result<Answer, Refused>, String>) -> Result<(), String> {
        let mut next = 0;
        while !self.is_over() {
            let ahead = self.sent.load(Ordering::Relaxed).saturating_sub(self.finished.load(Ordering::Relaxed));
            if ahead > AHEAD_MAX {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            let numbers = next..next + BATCH as u64;
            next = numbers.end;
            match send(self.engine, numbers)? {
                Ok(Answer::Reply(Ok(_))) => _ = self.sent.fetch_add(BATCH as u64, Ordering::Relaxed),
                Err(Refused::Full { retry_after_ms }) => std::thread::sleep(Duration::from_millis(retry_after_ms)),
                other => return Err(format!("what was sent was answered {other:?}")),
            }
        }
        Ok(())
    }

    fn work(&self, at: usize) -> Result<(), String> {
        let worker = WorkerName::parse(&format!("bench-{at}")).map_err(|bad| bad.to_string())?;
        let types: Arc<[TypeName]> = [TypeName::parse("bench").map_err(|bad| bad.to_string())?].into();
        let output = Payload(payload_text().into());
        let mut results = Vec::new();
        while !self.is_over() {
            let reported = results.len() as u64;
            let work = Work {
                worker: worker.clone(),
                types: types.clone(),
                queues: [].into(),
                want: BATCH,
                wait_ms: 100,
                results: std::mem::take(&mut results),
                holding: Vec::new(),
            };
            match self.engine.ask_blocking(Request::Work(work)) {
                Ok(Answer::Worked(worked)) => {
                    self.finished.fetch_add(reported, Ordering::Relaxed);
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
}
