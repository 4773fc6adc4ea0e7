//! Blobs while the engine works, over a real disk: what somebody is about to mention stays, though it is looked through all the time
//! and nothing has a grace period.

use engine::{Answer, Engine, EngineOptions, Request, Work};
use kernel::command::{Command, NewTask, Outcome};
use kernel::names::{QueueName, TypeName, WorkerName};
use kernel::record::{Payload, TaskSpec};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use store::blobs::Blobs;
use store::sqlite::Sqlite;
use store::verify::{Report, verify_blobs};

const WORKERS: usize = 3;
const ROUNDS: usize = 30;

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// Sends what the future sends, and does not wait for more.
fn begin<T>(future: &mut Pin<&mut impl Future<Output = T>>) -> Poll<T> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

fn large(what: &str) -> Payload {
    Payload(format!("\"{what} {}\"", "x".repeat(5_000)).into())
}

/// One worker: adds a task, takes it, puts its output away, and lets go of that as soon as it is told.
fn work(engine: &Engine, worker: usize) {
    let kind = format!("q{worker}");
    let (queue, kind) = (QueueName::parse(&kind).unwrap(), TypeName::parse(&kind).unwrap());
    for round in 0..ROUNDS {
        let new = NewTask { spec: TaskSpec::new(queue.clone(), kind.clone()), delay_ms: 0, input: Payload::null() };
        wait(engine.ask(Request::Command(Command::Add { tasks: vec![new] }))).unwrap();
        let poll = Work {
            worker: WorkerName::parse(&format!("w{worker}")).unwrap(),
            types: [kind.clone()].into(),
            queues: [].into(),
            want: 1,
            wait_ms: 5_000,
            results: Vec::new(),
            holding: Vec::new(),
        };
        let Ok(Answer::Worked(worked)) = wait(engine.work(poll)) else { panic!("no work") };
        let (task, fence) = (worked.deliveries[0].grant.task, worked.deliveries[0].grant.fence);
        // Of no use to anybody.
        drop(engine.put_away(large(&format!("loose {worker} {round}"))).unwrap());
        let away = engine.put_away(large(&format!("{worker} {round}"))).unwrap();
        let outcome = Outcome::Done { output: away.payload.clone() };
        let mut telling = pin!(engine.ask(Request::Command(Command::Finish { task, fence, outcome, jitter: 0 })));
        let begun = begin(&mut telling);
        drop(away);
        let told = if let Poll::Ready(told) = begun { told } else { wait(telling) };
        assert!(matches!(told, Ok(Answer::Reply(Ok(_)))));
    }
}

#[test]
fn what_somebody_is_about_to_mention_is_never_removed() {
    let dir = tempfile::tempdir().unwrap();
    let blobs = Arc::new(Blobs::open(&dir.path().join("blobs")).unwrap());
    let options = EngineOptions { blobs_grace: Some(Duration::ZERO), ..EngineOptions::default() };
    let engine = Engine::open(Box::new(Sqlite::open(dir.path()).unwrap()), blobs.clone(), options).unwrap();
    let (ended, removed) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    let swept = engine.sweep_blobs(None, 10_000, Duration::from_secs(60), false).unwrap();
                    removed.fetch_add(swept.removed, Ordering::Relaxed);
                }
            });
        }
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| {
                scope.spawn({
                    let engine = &engine;
                    move || work(engine, worker)
                })
            })
            .collect();
        let worked: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        ended.store(true, Ordering::Relaxed);
        assert!(worked.iter().all(Result::is_ok));
    });
    assert!(removed.load(Ordering::Relaxed) > 0);
    let mut report = Report::default();
    let mentioned = engine.read(|reader| {
        verify_blobs(reader, &*blobs, &mut report)?;
        reader.mentions(None, 10_000)
    });
    assert_eq!((mentioned.unwrap().len(), report.differences_total), (WORKERS * ROUNDS, 0), "{report:?}");
}
