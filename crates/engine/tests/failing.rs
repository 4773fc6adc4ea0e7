//! The engine when things go wrong around it: a store that fails, an inbox that is full, callers that go away. In
//! process and over the memory store, because only there a disk fails when it is told to.

use engine::{Answer, Engine, EngineOptions, Heard, Holding, Refused, Report, Request, Stopped, Work, Worked};
use kernel::command::{Command, NewRun, NewTask, NewWorkflow, Outcome, Reply};
use kernel::ids::{Fence, RecordSeq, TaskId};
use kernel::limits::INBOX_ADDS_MAX;
use kernel::names::{Actor, IdempotencyKey, QueueName, TypeName, WorkerName};
use kernel::needs::{Begun, Need};
use kernel::record::{Payload, Record, TaskSpec};
use kernel::row::Row;
use kernel::run::{NodeAt, Run, RunSpec, RunStatus};
use std::pin::{Pin, pin};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use store::blobs::{BlobFault, MemoryBlobs};
use store::memory::{Fault, Memory, MemoryDisk};
use store::{Batch, Reader, RollupStore, Store, StoreError};

fn open(disk: &MemoryDisk) -> Engine {
    Engine::open(Box::new(disk.open()), blobs(), EngineOptions::default()).expect("the memory opens")
}

fn add(key: Option<&str>) -> Request {
    let (queue, kind) = (QueueName::parse("q").unwrap(), TypeName::parse("q").unwrap());
    let idempotency_key = key.map(|key| IdempotencyKey::parse(key).unwrap());
    let spec = TaskSpec { idempotency_key, ..TaskSpec::new(queue, kind) };
    Request::Command(Command::Add { tasks: vec![NewTask { spec, delay_ms: 0, input: Payload("{\"n\":1}".into()) }] })
}

fn poll(worker: &str, want: usize, wait_ms: u64) -> Work {
    let types = vec![TypeName::parse("q").unwrap()].into();
    let worker = WorkerName::parse(worker).unwrap();
    Work { worker, types, queues: Vec::new().into(), want, wait_ms, results: Vec::new(), holding: Vec::new() }
}

/// What an answer comes down to.
fn told(answer: Result<Answer, Refused>) -> String {
    match answer {
        Ok(Answer::Reply(Ok(Reply::Added(added)))) => format!("added {} {}", added[0].task, added[0].duplicate),
        Ok(Answer::Worked(worked)) => format!("worked {} {:?}", worked.deliveries.len(), results(&worked)),
        Ok(other) => format!("{other:?}"),
        Err(refused) => format!("{refused:?}"),
    }
}

fn results(worked: &Worked) -> Vec<bool> {
    worked.results.iter().map(|(_, result)| result.is_ok()).collect()
}

fn ask(engine: &Engine, request: Request) -> String {
    told(engine.ask_blocking(request))
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// Sends what the future sends, and does not wait for more.
fn begin<T>(future: &mut Pin<&mut impl Future<Output = T>>) -> Poll<T> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

fn lease(engine: &Engine, worker: &str) -> (TaskId, Fence, u16) {
    let Ok(Answer::Worked(worked)) = wait(engine.work(poll(worker, 1, 5_000))) else { panic!("no answer for {worker}") };
    let grant = &worked.deliveries.first().unwrap_or_else(|| panic!("nothing for {worker}")).grant;
    (grant.task, grant.fence, grant.attempt)
}

fn running(engine: &Engine) -> usize {
    match engine.ask_blocking(Request::Status) {
        Ok(Answer::Status(status)) => status.counts.running,
        other => panic!("{other:?}"),
    }
}

/// A store whose commits wait until they may.
struct Gated {
    inner: Memory,
    gate: Arc<Gate>,
}

#[derive(Default)]
struct Gate {
    /// Whether it is shut, and how many wait before it.
    shut: Mutex<(bool, usize)>,
    changed: Condvar,
}

impl Gate {
    fn set(&self, shut: bool) {
        self.shut.lock().unwrap().0 = shut;
        self.changed.notify_all();
    }

    fn pass(&self) {
        let mut state = self.shut.lock().unwrap();
        state.1 += 1;
        self.changed.notify_all();
        state = self.changed.wait_while(state, |(shut, _)| *shut).unwrap();
        state.1 -= 1;
    }

    fn wait_for_one(&self) {
        let state = self.shut.lock().unwrap();
        drop(self.changed.wait_while(state, |(_, waiting)| *waiting == 0).unwrap());
    }
}

impl Store for Gated {
    fn load(&mut self, each: &mut dyn FnMut(Row)) -> Result<(), StoreError> {
        self.inner.load(each)
    }

    fn last_at_us(&mut self) -> Result<i64, StoreError> {
        self.inner.last_at_us()
    }

    fn rows(&mut self, needs: &[Need]) -> Result<Vec<Row>, StoreError> {
        self.inner.rows(needs)
    }

    fn begun(&mut self, nodes: &[RecordSeq]) -> Result<Vec<Vec<Begun>>, StoreError> {
        self.inner.begun(nodes)
    }

    fn payload(&mut self, record: RecordSeq) -> Result<Option<Payload>, StoreError> {
        self.inner.payload(record)
    }

    fn commit(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.gate.pass();
        self.inner.commit(batch)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        self.inner.reader()
    }

    fn rollups(&self) -> Result<Box<dyn RollupStore>, StoreError> {
        self.inner.rollups()
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }
}

#[test]
fn a_full_inbox_refuses_adds_and_takes_results() {
    let gate = Arc::new(Gate::default());
    let store = Gated { inner: MemoryDisk::new().open(), gate: gate.clone() };
    let engine = Engine::open(Box::new(store), blobs(), EngineOptions::default()).unwrap();
    ask(&engine, add(None));
    let (task, fence, _) = lease(&engine, "w");

    gate.set(true);
    let mut first = pin!(engine.ask(add(None)));
    assert!(begin(&mut first).is_pending());
    gate.wait_for_one();
    let mut waiting: Vec<_> = (0..INBOX_ADDS_MAX).map(|_| Box::pin(engine.ask(add(None)))).collect();
    assert!(waiting.iter_mut().all(|add| begin(&mut add.as_mut()).is_pending()));
    for _ in 0..3 {
        assert_eq!(ask(&engine, add(None)), "Full { retry_after_ms: 100 }");
    }
    // Results, heartbeats and control still go in.
    let done = Report { task, fence, outcome: Outcome::Done { output: Payload::null() } };
    let mut result = pin!(engine.work(Work { results: vec![done], ..poll("w", 0, 0) }));
    let mut heartbeat = pin!(engine.work(poll("w2", 0, 0)));
    let mut look = pin!(engine.ask(Request::Status));
    assert!(begin(&mut result).is_pending() && begin(&mut heartbeat).is_pending() && begin(&mut look).is_pending());

    gate.set(false);
    assert_eq!(told(wait(result)), "worked 0 [true]");
    assert_eq!(told(wait(heartbeat)), "worked 0 []");
    assert!(told(wait(look)).starts_with("Status"));
    let added = waiting.into_iter().map(|add| told(wait(add))).filter(|said| said.starts_with("added")).count();
    assert_eq!((added, told(wait(first)).as_str()), (INBOX_ADDS_MAX, "added task-2 false"));
    assert!(ask(&engine, add(None)).starts_with("added"), "there is room again");
}

/// Adds with a key while a fault hits, then goes on: the same add again tells what became of the first.
fn check(fault: Fault, again: &str) {
    let disk = MemoryDisk::new();
    let engine = open(&disk);
    ask(&engine, add(None));
    let (task, fence, _) = lease(&engine, "w");
    let mut parked = pin!(engine.work(poll("other", 1, 60_000)));
    assert!(begin(&mut parked).is_pending());
    assert!(ask(&engine, Request::Status).starts_with("Status"), "the poll has arrived");

    disk.inject(fault);
    assert_eq!(ask(&engine, add(Some("k"))), "UnknownOutcome", "{fault:?}");
    assert_eq!(disk.hits(fault), 1);
    assert_eq!(told(wait(parked)), "UnknownOutcome", "nobody is left waiting: {fault:?}");
    // Memory is what the disk says, and everything goes on: the lease is still its worker's.
    let said = ask(&engine, add(Some("k")));
    assert!(said.ends_with(again), "{fault:?}: {said}");
    let Ok(Answer::Worked(worked)) = wait(engine.work(Work { holding: vec![Holding { task, fence }], ..poll("w", 0, 0) })) else {
        panic!("no answer")
    };
    assert!(worked.holding[0].held, "{fault:?}");
    let done = Report { task, fence, outcome: Outcome::Done { output: Payload::null() } };
    assert_eq!(told(wait(engine.work(Work { results: vec![done], ..poll("w", 0, 0) }))), "worked 0 [true]");
    assert_eq!(lease(&engine, "w").2, 1);
    assert!(engine.is_up());
}

#[test]
fn after_a_failed_commit_nobody_is_told_yes_and_the_engine_goes_on() {
    check(Fault::CommitLost, "false");
    check(Fault::CommitKept, "added task-2 true");
    // An add with a key looks it up first.
    check(Fault::RowsFail, "false");
}

#[test]
fn three_failures_in_a_row_end_it_and_two_do_not() {
    let disk = MemoryDisk::new();
    let engine = open(&disk);
    for round in 0..3 {
        for _ in 0..2 {
            disk.inject(Fault::CommitLost);
            assert_eq!(ask(&engine, add(None)), "UnknownOutcome");
        }
        assert!(ask(&engine, add(None)).starts_with("added"), "round {round}");
    }
    assert!(engine.is_up());
    let mut subscription = engine.subscribe();
    for _ in 0..3 {
        disk.inject(Fault::CommitLost);
        assert_eq!(ask(&engine, add(None)), "UnknownOutcome");
    }
    assert!(matches!(wait(engine.stopped()), Stopped::Failed(why) if why.contains("injected")));
    assert_eq!(ask(&engine, add(None)), "Down");
    assert_eq!(told(wait(engine.work(poll("w", 1, 60_000)))), "Down");
    assert!(!engine.is_up());
    let mut heard = Vec::new();
    loop {
        match wait(subscription.next()) {
            Heard::Records(_) => heard.push("records"),
            Heard::Missed => heard.push("missed"),
            Heard::Ended => break,
        }
    }
    // Each failure may have left something in the store, so listeners are sent there, and are told the end.
    assert!(heard.ends_with(&["missed"; 3]), "{heard:?}");
    // Nothing that was acknowledged is lost.
    drop(engine);
    assert!(matches!(open(&disk).ask_blocking(Request::Status), Ok(Answer::Status(status)) if status.counts.queued == 3));
}

#[test]
fn a_store_that_cannot_be_read_again_ends_it() {
    let disk = MemoryDisk::new();
    let engine = open(&disk);
    disk.inject(Fault::CommitLost);
    disk.inject(Fault::LoadFails);
    assert_eq!(ask(&engine, add(None)), "UnknownOutcome");
    assert!(matches!(wait(engine.stopped()), Stopped::Failed(why) if why.contains("load")));
}

/// A caller that goes away takes its poll with it, also when its answer was already there and nobody read it.
#[test]
fn a_poll_nobody_waits_for_gives_back_what_it_was_granted() {
    let engine = open(&MemoryDisk::new());
    {
        let mut dropped = pin!(engine.work(poll("parked", 1, 60_000)));
        assert!(begin(&mut dropped).is_pending());
        assert_eq!(running(&engine), 0);
    }
    ask(&engine, add(None));
    let (task, fence, attempt) = lease(&engine, "w");
    assert_eq!(attempt, 1);
    let done = Report { task, fence, outcome: Outcome::Done { output: Payload::null() } };
    wait(engine.work(Work { results: vec![done], ..poll("w", 0, 0) })).unwrap();
    {
        let mut dropped = pin!(engine.work(poll("granted", 1, 60_000)));
        assert!(begin(&mut dropped).is_pending());
        ask(&engine, add(None));
        assert_eq!(running(&engine), 1, "its answer is there, and unread");
    }
    let deadline = Instant::now() + Duration::from_secs(10);
    while running(&engine) > 0 {
        assert!(Instant::now() < deadline, "the grant is lost");
    }
    assert_eq!(lease(&engine, "w").2, 1, "no attempt is burnt");
}

/// A worker that speaks of an earlier lease of a task has not got the present one.
#[test]
fn a_lease_is_named_by_its_fence() {
    let engine = open(&MemoryDisk::new());
    ask(&engine, add(None));
    let (task, old, _) = lease(&engine, "w");
    let released = Report { task, fence: old, outcome: Outcome::Released };
    wait(engine.work(Work { results: vec![released], ..poll("w", 0, 0) })).unwrap();
    lease(&engine, "w");
    assert_eq!(running(&engine), 1);
    // The answer with the new lease never arrived; the worker still holds on to the old one.
    let holding = vec![Holding { task, fence: old }];
    let Ok(Answer::Worked(worked)) = wait(engine.work(Work { holding, ..poll("w", 0, 0) })) else { panic!("no answer") };
    assert!(!worked.holding[0].held);
    assert_eq!(running(&engine), 0, "the new one goes back");
    assert_eq!(lease(&engine, "w2").2, 1, "unburnt");
}

#[test]
fn the_stream_carries_records_without_their_payloads_and_ends_with_the_engine() {
    let engine = open(&MemoryDisk::new());
    let mut subscription = engine.subscribe();
    ask(&engine, add(None));
    let Heard::Records(entries) = wait(subscription.next()) else { panic!("no records") };
    assert!(entries.iter().any(|entry| matches!(entry.record, Record::TaskAdded { .. })));
    assert!(entries.iter().all(|entry| entry.payload.is_none()));
    assert_eq!(wait(engine.stop()), Stopped::Drained);
    assert!(matches!(wait(subscription.next()), Heard::Ended));
    assert!(matches!(wait(engine.subscribe().next()), Heard::Ended), "also for who comes later");
}

#[test]
fn a_stop_waits_for_running_work_up_to_its_limit() {
    let disk = MemoryDisk::new();
    let options = EngineOptions { stop_limit: Duration::from_millis(50), ..EngineOptions::default() };
    let engine = Engine::open(Box::new(disk.open()), blobs(), options).unwrap();
    ask(&engine, add(None));
    let (task, fence, _) = lease(&engine, "w");
    let mut parked = pin!(engine.work(poll("other", 1, 60_000)));
    assert!(begin(&mut parked).is_pending());
    assert_eq!(wait(engine.stop()), Stopped::Limit);
    assert!(matches!(wait(parked), Ok(Answer::Worked(worked)) if worked.stopping));
    let engine = open(&disk);
    let done = Report { task, fence, outcome: Outcome::Done { output: Payload::null() } };
    assert_eq!(told(wait(engine.work(Work { results: vec![done], ..poll("w", 0, 0) }))), "worked 0 [true]");
}

/// So many records that they are carried by a thread of their own.
fn add_many(many: usize) -> Request {
    let Request::Command(Command::Add { tasks }) = add(None) else { unreachable!() };
    Request::Command(Command::Add { tasks: vec![tasks[0].clone(); many] })
}

/// While the disk is busy the engine goes on deciding, and what it decided becomes durable together.
#[test]
fn what_comes_in_during_a_commit_shares_the_next() {
    let gate = Arc::new(Gate::default());
    let store = Gated { inner: MemoryDisk::new().open(), gate: gate.clone() };
    let engine = Engine::open(Box::new(store), blobs(), EngineOptions::default()).unwrap();
    gate.set(true);
    let mut first = pin!(engine.ask(add_many(100)));
    assert!(begin(&mut first).is_pending());
    gate.wait_for_one();
    let mut later: Vec<_> = (0..50).map(|_| Box::pin(engine.ask(add(None)))).collect();
    assert!(later.iter_mut().all(|add| begin(&mut add.as_mut()).is_pending()));
    gate.set(false);
    assert!(told(wait(first)).starts_with("added task-1"));
    assert!(later.into_iter().all(|add| told(wait(add)).starts_with("added")));
    match engine.ask_blocking(Request::Status) {
        Ok(Answer::Status(status)) => assert_eq!((status.counts.queued, status.commits), (150, 2)),
        other => panic!("{other:?}"),
    }
}

/// The next is on its way before it is known that the first fails: it is not written, and nobody is told yes.
#[test]
fn what_waits_for_the_disk_fails_with_what_is_before_it() {
    let (gate, disk) = (Arc::new(Gate::default()), MemoryDisk::new());
    let store = Gated { inner: disk.open(), gate: gate.clone() };
    let engine = Engine::open(Box::new(store), blobs(), EngineOptions::default()).unwrap();
    gate.set(true);
    let mut first = pin!(engine.ask(add_many(100)));
    assert!(begin(&mut first).is_pending());
    gate.wait_for_one();
    let mut later: Vec<_> = (0..5).map(|_| Box::pin(engine.ask(add_many(300)))).collect();
    assert!(later.iter_mut().all(|add| begin(&mut add.as_mut()).is_pending()));
    disk.inject(Fault::CommitLost);
    gate.set(false);
    assert_eq!(told(wait(first)), "UnknownOutcome");
    // Those that came in after it was loaded again are added.
    let later: Vec<String> = later.into_iter().map(|add| told(wait(add))).collect();
    assert!(later.is_sorted_by_key(|told| told.starts_with("added")), "{later:?}");
    let added = later.iter().filter(|told| told.starts_with("added")).count();
    assert!(later.iter().all(|told| told.starts_with("added") || told == "UnknownOutcome"), "{later:?}");
    match engine.ask_blocking(Request::Status) {
        Ok(Answer::Status(status)) => assert_eq!((status.counts.queued, status.commits_failed), (added * 300, 1)),
        other => panic!("{other:?}"),
    }
}

/// What became durable before the end is told.
#[test]
fn the_last_answers_are_handed_out_before_the_end() {
    for _ in 0..20 {
        let (gate, disk) = (Arc::new(Gate::default()), MemoryDisk::new());
        let store = Gated { inner: disk.open(), gate: gate.clone() };
        let engine = Engine::open(Box::new(store), blobs(), EngineOptions::default()).unwrap();
        gate.set(true);
        let mut adds: Vec<_> = (0..50).map(|_| Box::pin(engine.ask(add_many(100)))).collect();
        assert!(adds.iter_mut().all(|add| begin(&mut add.as_mut()).is_pending()));
        gate.wait_for_one();
        let mut stop = pin!(engine.stop());
        assert!(begin(&mut stop).is_pending());
        gate.set(false);
        assert_eq!(wait(stop), Stopped::Drained);
        // The process may end right now.
        let answers = adds.iter_mut().map(|add| begin(&mut add.as_mut()));
        let told: Vec<String> = answers.map(|now| if let Poll::Ready(now) = now { told(now) } else { "?".into() }).collect();
        let added = told.iter().filter(|told| told.starts_with("added")).count();
        let is_task = |entry: &&kernel::record::Entry| matches!(entry.record, Record::TaskAdded { .. });
        let durable = disk.read(|durable| durable.entries_after(RecordSeq::NONE).filter(is_task).count());
        assert!(added > 0 && durable == added * 100, "{durable} are there: {told:?}");
    }
}

/// Whichever thread committed them.
#[test]
fn the_stream_has_records_in_their_order() {
    let engine = open(&MemoryDisk::new());
    let mut subscription = engine.subscribe();
    let asked = std::thread::scope(|scope| {
        let ask = |request: fn() -> Request| {
            let engine = engine.clone();
            move || (0..100).filter(|_| ask(&engine, request()).starts_with("added")).count()
        };
        let threads = [scope.spawn(ask(|| add_many(1_000))), scope.spawn(ask(|| add(None))), scope.spawn(ask(|| add(None)))];
        threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
    });
    assert_eq!(asked, 300);
    assert_eq!(wait(engine.stop()), Stopped::Drained);
    let mut heard = Vec::new();
    loop {
        match wait(subscription.next()) {
            Heard::Records(entries) => heard.extend(entries.iter().map(|entry| entry.seq)),
            // It fell behind: what it hears from here on is in order, too.
            Heard::Missed => {}
            Heard::Ended => break,
        }
    }
    assert!(heard.is_sorted() && !heard.is_empty());
}

/// A store that breaks the thread it is used by.
struct Breaking(Memory);

impl Store for Breaking {
    fn load(&mut self, each: &mut dyn FnMut(Row)) -> Result<(), StoreError> {
        self.0.load(each)
    }

    fn last_at_us(&mut self) -> Result<i64, StoreError> {
        self.0.last_at_us()
    }

    fn rows(&mut self, needs: &[Need]) -> Result<Vec<Row>, StoreError> {
        self.0.rows(needs)
    }

    fn begun(&mut self, lasts: &[RecordSeq]) -> Result<Vec<Vec<Begun>>, StoreError> {
        self.0.begun(lasts)
    }

    fn payload(&mut self, record: RecordSeq) -> Result<Option<Payload>, StoreError> {
        self.0.payload(record)
    }

    fn commit(&mut self, _: &Batch) -> Result<(), StoreError> {
        panic!("on purpose, in a test")
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        self.0.reader()
    }

    fn rollups(&self) -> Result<Box<dyn RollupStore>, StoreError> {
        self.0.rollups()
    }

    fn describe(&self) -> String {
        self.0.describe()
    }
}

#[test]
fn a_thread_that_dies_ends_the_engine() {
    // A small one may go either way: the server's own workers ask as well.
    for (request, threads) in [(add(None), ["writer", "carrier"]), (add_many(100), ["carrier", "carrier"])] {
        let store = Breaking(MemoryDisk::new().open());
        let engine = Engine::open(Box::new(store), blobs(), EngineOptions::default()).unwrap();
        assert_eq!(ask(&engine, request), "Down");
        assert!(
            matches!(wait(engine.stopped()), Stopped::Failed(why) if threads.iter().any(|thread| why.contains(thread))),
            "{threads:?}"
        );
    }
}

fn blobs() -> Arc<store::blobs::MemoryBlobs> {
    Arc::default()
}

/// Waits until it is so.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let late = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < late, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_value_that_cannot_be_read_is_read_again_and_holds_nobody_up() {
    let text = "workflow: w\nnodes:\n  big: {type: transform, value: range(input)}\n  ask: {type: approval, after: big}\n  \
                n: {type: transform, after: ask, value: size(nodes.big.output)}\n";
    let by = || Actor::parse("ann").unwrap();
    let (disk, blobs) = (MemoryDisk::new(), Arc::new(MemoryBlobs::default()));
    let open = || Engine::open(Box::new(disk.open()), blobs.clone(), EngineOptions::default()).unwrap();
    let engine = open();
    let compiled = flow::compile(text.as_bytes(), &flow::Language).unwrap();
    let workflow = compiled.ir.workflow.clone();
    let new = NewWorkflow { name: workflow.clone(), version: None, text: text.into(), ir: Arc::new(compiled.ir) };
    assert!(engine.ask_blocking(Request::Command(Command::PutWorkflow { new: Box::new(new), by: by() })).is_ok());
    let start = |size: &str| {
        let (spec, input) = (RunSpec::new(workflow.clone(), 0), Payload(size.into()));
        let new = Box::new(NewRun { workflow: workflow.clone(), version: None, spec, input });
        match engine.ask_blocking(Request::Command(Command::StartRun { new, by: by() })) {
            Ok(Answer::Reply(Ok(Reply::Started { run, .. }))) => run,
            other => panic!("{other:?}"),
        }
    };
    let runs = [start("5000"), start("6000")];
    assert_eq!(wait(engine.stop()), Stopped::Drained);
    // What was in memory is forgotten.
    let engine = open();
    blobs.inject(BlobFault::GetFails);
    for run in runs {
        let at = NodeAt::parse(&format!("{run}/ask")).unwrap();
        let answer = Command::Answer { at, approved: true, comment: String::new(), by: by() };
        assert!(matches!(engine.ask_blocking(Request::Command(answer)), Ok(Answer::Reply(Ok(_)))));
    }
    let status = |run| {
        let row = engine.read(|reader| reader.run(run)).unwrap().unwrap();
        Run::from_row(&row.values).unwrap().status()
    };
    until("the other goes on", || status(runs[1]) == RunStatus::Done);
    until("it is read again", || status(runs[0]) == RunStatus::Done);
    assert_eq!(blobs.hits(BlobFault::GetFails), 1);
}
