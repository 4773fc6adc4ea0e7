//! What one batch makes of commands that touch the same things.

use engine::{Answer, Core, Holding, Parcel, Report, Request, Ticked, Ticket, Work, Worked};
use kernel::bulk::{BulkWork, TaskFilter};
use kernel::command::{Command, NewTask, Outcome, PauseUntil, Reply};
use kernel::ids::{Fence, RecordSeq, TaskId};
use kernel::names::{Actor, IdempotencyKey, QueueName, TypeName, WorkerName};
use kernel::priority::Priority;
use kernel::queue::QueueConfig;
use kernel::record::{Owner, Payload, Record, TaskSpec};
use kernel::time::Time;
use std::sync::Arc;
use store::memory::{Fault, MemoryDisk};

struct Bench {
    core: Core,
    now: Time,
    tickets: u64,
}

impl Bench {
    fn open() -> Bench {
        Bench::over(&MemoryDisk::default())
    }

    fn over(disk: &MemoryDisk) -> Bench {
        let now = Time::from_us(1_700_000_000_000_000);
        Bench {
            core: Core::open(Box::new(disk.open()), Arc::<store::blobs::MemoryBlobs>::default(), 0, now).unwrap(),
            now,
            tickets: 0,
        }
    }

    fn ask(&mut self, requests: Vec<Request>) -> Ticked {
        self.now = self.now.plus_ms(10);
        let ticketed = requests.into_iter().map(|request| {
            self.tickets += 1;
            (Ticket(self.tickets), request)
        });
        self.core.tick(self.now, 0, ticketed.collect(), true)
    }

    fn tick(&mut self, commands: Vec<Command>) -> Vec<Answer> {
        let ticked = self.ask(commands.into_iter().map(Request::Command).collect());
        ticked.answers.into_iter().map(|(_, answer)| answer).collect()
    }

    fn explained(&mut self, task: TaskId) -> String {
        match self.ask(vec![Request::Explain { task }]).answers.pop() {
            Some((_, Answer::Explained(Ok(told)))) => format!("{}: {}", told.blocked_on[0].code, told.sentence),
            other => panic!("{other:?}"),
        }
    }

    fn set_window(&mut self, ms: u64) {
        let config = Arc::new(QueueConfig { idempotency_window_ms: ms, ..QueueConfig::default() });
        self.tick(vec![Command::ConfigureQueue { queue: queue(), config, by: actor() }]);
    }
}

fn queue() -> QueueName {
    QueueName::parse("q").unwrap()
}

fn actor() -> Actor {
    Actor::parse("ann").unwrap()
}

fn add() -> Command {
    Command::Add { tasks: vec![new(Some("k"))] }
}

fn new(key: Option<&str>) -> NewTask {
    let idempotency_key = key.map(|key| IdempotencyKey::parse(key).unwrap());
    let spec = TaskSpec { idempotency_key, ..TaskSpec::new(queue(), TypeName::parse("t").unwrap()) };
    NewTask { spec, delay_ms: 0, input: Payload("{}".into()) }
}

fn poll(worker: &str, want: usize, wait_ms: u64) -> Work {
    let (worker, types) = (WorkerName::parse(worker).unwrap(), [TypeName::parse("t").unwrap()].into());
    Work { worker, types, queues: [].into(), want, wait_ms, results: Vec::new(), holding: Vec::new() }
}

fn granted(ticked: &Ticked) -> Vec<(TaskId, Fence, u16)> {
    let worked =
        ticked.answers.iter().filter_map(|(_, answer)| if let Answer::Worked(worked) = answer { Some(worked) } else { None });
    worked
        .flat_map(|worked| &worked.deliveries)
        .map(|delivery| (delivery.grant.task, delivery.grant.fence, delivery.grant.attempt))
        .collect()
}

fn added(answers: &[Answer]) -> (TaskId, bool) {
    match answers.last() {
        Some(Answer::Reply(Ok(Reply::Added(added)))) => (added[0].task, added[0].duplicate),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_key_stands_for_the_task_before_when_its_youngest_is_deleted_in_the_same_batch() {
    for (older_cold, younger_cold) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut bench = Bench::open();
        let cancel = |task| Command::Cancel { task, by: actor(), reason: String::new() };
        // Two tasks of one key: the window was too short for a while.
        let (older, _) = added(&bench.tick(vec![add()]));
        bench.set_window(1);
        let (younger, duplicate) = added(&bench.tick(vec![add()]));
        assert!(!duplicate && younger > older);
        bench.set_window(60_000);
        let colds = [(older, older_cold), (younger, younger_cold)];
        bench.tick(colds.into_iter().filter(|(_, cold)| *cold).map(|(task, _)| cancel(task)).collect());
        let delete = Command::Delete { task: younger, by: actor() };
        assert_eq!(added(&bench.tick(vec![delete, add()])), (older, true), "{older_cold} {younger_cold}");
    }
}

#[test]
fn a_task_that_ends_its_worker_each_time_burns_its_attempts() {
    let mut bench = Bench::open();
    bench.tick(vec![add()]);
    // The same worker comes back without what it got, again and again: three lost grants are bad luck, more are not.
    let attempts: Vec<u16> = (0..5)
        .map(|_| granted(&bench.ask(vec![Request::Work(poll("w", 1, 0))])))
        .map(|got| got.first().map_or(0, |got| got.2))
        .collect();
    assert_eq!(attempts, [1, 1, 1, 0, 0]);
    bench.now = bench.now.plus_ms(60_000);
    assert_eq!(granted(&bench.ask(vec![Request::Work(poll("w", 1, 0))]))[0].2, 2, "after its backoff the next attempt begins");
}

fn holding(leases: &[(TaskId, Fence, u16)]) -> Vec<Holding> {
    leases.iter().map(|(task, fence, _)| Holding { task: *task, fence: *fence }).collect()
}

/// What was answered: the ticket, how many tasks it hands over, and which held ones are to stop.
fn worked(ticked: &Ticked) -> Vec<(u64, usize, Vec<TaskId>)> {
    let stops = |worked: &Worked| worked.holding.iter().filter(|held| held.cancel).map(|held| held.task).collect();
    let each = |(ticket, answer): &(Ticket, Answer)| match answer {
        Answer::Worked(worked) => Some((ticket.0, worked.deliveries.len(), stops(worked))),
        _ => None,
    };
    ticked.answers.iter().filter_map(each).collect()
}

#[test]
fn a_full_worker_waits_to_hear_of_its_leases_and_is_offered_nothing() {
    let cancel = |task| Request::Command(Command::Cancel { task, by: actor(), reason: String::new() });
    let mut bench = Bench::open();
    bench.tick(vec![Command::Add { tasks: vec![new(None); 2] }]);
    let got = granted(&bench.ask(vec![Request::Work(poll("w", 2, 0))]));
    let listens = |bench: &mut Bench, got: &[(TaskId, Fence, u16)]| {
        let ticked = bench.ask(vec![Request::Work(Work { holding: holding(got), ..poll("w", 0, 20_000) })]);
        assert_eq!(worked(&ticked), [], "it waits");
        bench.tickets
    };
    let ticket = listens(&mut bench, &got);
    // What comes in meanwhile is not for it, nor is what is to be started at once.
    let (third, _) = added(&bench.tick(vec![Command::Add { tasks: vec![new(None)] }]));
    let start = Command::Start { task: third, force: false, worker: None, by: actor() };
    assert_eq!(worked(&bench.ask(vec![Request::Command(start)])), []);
    assert_eq!(worked(&bench.ask(vec![Request::Work(poll("other", 1, 0))])), [(bench.tickets, 1, vec![])]);
    // It hears of a cancel with the commit of it; who is slow to stop waits for the next.
    assert_eq!(worked(&bench.ask(vec![cancel(got[1].0)])), [(ticket, 0, vec![got[1].0])]);
    let ticket = listens(&mut bench, &got);
    assert_eq!(worked(&bench.ask(vec![cancel(got[0].0)])), [(ticket, 0, vec![got[0].0, got[1].0])]);
    // It is answered in time to beat its heart, and at once when it has more to say.
    let ticket = listens(&mut bench, &got);
    bench.now = bench.now.plus_ms(10_000);
    assert_eq!(worked(&bench.ask(Vec::new())).iter().map(|answer| answer.0).collect::<Vec<_>>(), [ticket]);
    let ticket = listens(&mut bench, &got);
    let results = got.iter().map(|(task, fence, _)| Report { task: *task, fence: *fence, outcome: Outcome::Released }).collect();
    let ticked = bench.ask(vec![Request::Work(Work { results, ..poll("w", 0, 20_000) })]);
    let mut answered: Vec<u64> = worked(&ticked).iter().map(|answer| answer.0).collect();
    answered.sort_unstable();
    assert_eq!(answered, [ticket, bench.tickets]);
    // With nothing to hear of it does not wait.
    let ticked = bench.ask(vec![Request::Work(poll("w", 0, 20_000))]);
    assert_eq!(worked(&ticked), [(bench.tickets, 0, vec![])]);
}

#[test]
fn a_lease_that_its_worker_does_not_name_any_more_is_not_called_silence() {
    let mut bench = Bench::open();
    bench.tick(vec![add()]);
    let got = granted(&bench.ask(vec![Request::Work(poll("same", 1, 0))]));
    bench.ask(vec![Request::Work(Work { holding: holding(&got), ..poll("same", 0, 0) })]);
    let ticked = bench.ask(vec![Request::Work(poll("same", 1, 0))]);
    let retried = ticked.entries.iter().find_map(|entry| match &entry.record {
        Record::TaskRetried { failure, .. } => Some(format!("{}: {}", failure.code, failure.message)),
        _ => None,
    });
    let message = "worker same asked again without naming it: it began anew, or another worker has its name";
    assert_eq!(retried.as_deref(), Some(&*format!("worker_lost: {message}")));
}

#[test]
fn explain_knows_whether_the_worker_of_a_task_is_still_heard_of() {
    let mut bench = Bench::open();
    let (task, _) = added(&bench.tick(vec![add()]));
    let got = granted(&bench.ask(vec![Request::Work(poll("w", 1, 0))]));
    let told = |bench: &mut Bench| match bench.ask(vec![Request::Explain { task }]).answers.pop() {
        Some((_, Answer::Explained(Ok(told)))) => told.sentence,
        other => panic!("{other:?}"),
    };
    assert!(told(&mut bench).contains("is running on worker w"));
    bench.now = bench.now.plus_ms(19_980);
    let silent = "has not been heard of for 20 s; if it stays silent, the lease is taken back in 10 s";
    assert!(told(&mut bench).contains(silent), "{}", told(&mut bench));
    bench.ask(vec![Request::Work(Work { holding: holding(&got), ..poll("w", 0, 0) })]);
    assert!(told(&mut bench).contains("is running on worker w"));
}

#[test]
fn explain_knows_who_is_there_and_what_for() {
    let mut bench = Bench::open();
    let (task, _) = added(&bench.tick(vec![add()]));
    let in_queue = |bench: &mut Bench, queue: &str, want: usize, holding: Vec<Holding>| {
        let work = Work { queues: [QueueName::parse(queue).unwrap()].into(), holding, ..poll("w", want, 0) };
        granted(&bench.ask(vec![Request::Work(work)]))
    };
    assert_eq!(in_queue(&mut bench, "other", 1, Vec::new()), []);
    assert!(bench.explained(task).starts_with("no_worker:") && bench.explained(task).contains("in other queues than `q`"));
    let got = in_queue(&mut bench, "q", 1, Vec::new());
    let (second, _) = added(&bench.tick(vec![Command::Add { tasks: vec![new(None)] }]));
    assert!(bench.explained(second).contains("the worker for type `t` is busy"), "{}", bench.explained(second));
    // It hands its work back and leaves.
    let results = got.iter().map(|(task, fence, _)| Report { task: *task, fence: *fence, outcome: Outcome::Released }).collect();
    bench.ask(vec![Request::Work(Work { results, ..poll("w", 0, 0) })]);
    let left = "nobody is there for type `t`: its last worker left";
    assert!(bench.explained(second).contains(left), "{}", bench.explained(second));
}

#[test]
fn a_tick_grants_no_more_than_a_batch_and_the_next_follows_at_once() {
    let mut bench = Bench::open();
    let pause = Command::PauseQueue { queue: queue(), until: PauseUntil::Resumed, reason: String::new(), by: actor() };
    bench.tick(vec![pause]);
    for _ in 0..10 {
        bench.tick(vec![Command::Add { tasks: vec![new(None); 1_000] }]);
    }
    let polls = (0..12).map(|worker| Request::Work(poll(&format!("w{worker}"), 1_000, 60_000))).collect();
    assert_eq!(granted(&bench.ask(polls)), []);
    let mut counts = Vec::new();
    let mut ticked = bench.ask(vec![Request::Command(Command::ResumeQueue { queue: queue(), by: actor() })]);
    loop {
        counts.push(granted(&ticked).len());
        if ticked.next != Some(bench.now) {
            break;
        }
        ticked = bench.ask(Vec::new());
    }
    assert_eq!(counts, [4_096, 4_096, 1_808]);
}

#[test]
fn a_task_that_is_deleted_leaves_only_that_it_was() {
    let disk = MemoryDisk::default();
    let mut bench = Bench::over(&disk);
    let (task, _) = added(&bench.tick(vec![add()]));
    let (kept, _) = added(&bench.tick(vec![Command::Add { tasks: vec![new(None)] }]));
    bench.tick(vec![Command::Cancel { task, by: actor(), reason: String::new() }]);
    bench.tick(vec![Command::Delete { task, by: actor() }]);
    let left = disk.read(|durable| durable.entries_after(RecordSeq::NONE).cloned().collect::<Vec<_>>());
    let of = |id: TaskId| {
        left.iter().filter(|entry| entry.owner == Owner::Task(id)).map(|entry| entry.record.kind()).collect::<Vec<_>>()
    };
    assert_eq!((of(task), of(kept)), (vec!["task_deleted"], vec!["task_added"]));
}

fn ticketed(ticket: u64, command: Command) -> Vec<(Ticket, Request)> {
    vec![(Ticket(ticket), Request::Command(command))]
}

#[test]
fn what_piles_up_while_a_parcel_is_away_is_the_next_one() {
    let disk = MemoryDisk::default();
    let Bench { mut core, now, .. } = Bench::over(&disk);
    let plain = || Command::Add { tasks: vec![new(None)] };
    core.decide(now, 0, ticketed(1, plain()), true).unwrap_or_else(|_| panic!("nothing is read"));
    let mut first = core.seal(now);
    assert!(core.is_away() && !core.is_open());
    for ticket in [2, 3] {
        core.decide(now, 0, ticketed(ticket, plain()), true).unwrap_or_else(|_| panic!("nothing is read"));
    }
    // Whoever has to look something up waits.
    assert!(core.wants_store(now, &ticketed(4, add())) && core.wants_store(now, &[(Ticket(5), Request::Status)]));
    assert!(!core.wants_store(now, &ticketed(6, plain())));
    let tickets_of = |parcel: &mut Parcel| {
        parcel.commit();
        let answers = parcel.unpack().expect("it was committed").answers;
        answers.iter().map(|(ticket, _)| ticket.0).collect::<Vec<_>>()
    };
    assert_eq!(tickets_of(&mut first), [1]);
    core.settle(now, &mut first).unwrap_or_else(|_| panic!("it was committed"));
    assert_eq!(tickets_of(&mut core.seal(now)), [2, 3]);
}

#[test]
fn what_was_decided_meanwhile_fails_with_the_parcel_that_is_away() {
    let disk = MemoryDisk::default();
    let mut bench = Bench::over(&disk);
    let plain = || Command::Add { tasks: vec![new(None)] };
    let core = &mut bench.core;
    core.decide(bench.now, 0, ticketed(1, plain()), true).unwrap_or_else(|_| panic!("nothing is read"));
    let mut parcel = core.seal(bench.now);
    core.decide(bench.now, 0, ticketed(2, plain()), true).unwrap_or_else(|_| panic!("nothing is read"));
    disk.inject(Fault::CommitLost);
    parcel.commit();
    assert!(parcel.unpack().is_none(), "nothing leaves");
    let failed = core.settle(bench.now, &mut parcel).expect_err("it failed");
    assert!(failed.answers.iter().all(|(_, answer)| matches!(answer, Answer::UnknownOutcome)));
    assert_eq!(failed.answers.iter().map(|(ticket, _)| ticket.0).collect::<Vec<_>>(), [1, 2]);
    assert!(!core.is_open() && !core.is_away() && core.state().counts().queued == 0);
    bench.tickets = 2;
    assert!(!added(&bench.tick(vec![plain()])).1, "it goes on");
}

#[test]
fn a_parcel_that_is_queued_behind_one_that_fails_is_not_written() {
    let disk = MemoryDisk::default();
    let mut bench = Bench::over(&disk);
    let plain = || Command::Add { tasks: vec![new(None)] };
    let core = &mut bench.core;
    let mut parcels = Vec::new();
    for ticket in [1, 2] {
        core.decide(bench.now, 0, ticketed(ticket, plain()), true).unwrap_or_else(|_| panic!("nothing is read"));
        parcels.push(core.seal(bench.now));
    }
    core.decide(bench.now, 0, ticketed(3, plain()), true).unwrap_or_else(|_| panic!("nothing is read"));
    let before = disk.read(|durable| durable.entries_after(RecordSeq::NONE).count());
    disk.inject(Fault::CommitLost);
    let [first, second] = &mut parcels[..] else { unreachable!("there are two") };
    first.commit();
    core.settle(bench.now, first).unwrap_or_else(|_| panic!("it is told when all are back"));
    assert!(core.is_away() && core.is_open() && !core.is_ready(), "nothing more leaves");
    second.commit();
    assert!(second.unpack().is_none(), "nothing leaves");
    let failed = core.settle(bench.now, second).expect_err("it failed with the first");
    assert!(failed.answers.iter().all(|(_, answer)| matches!(answer, Answer::UnknownOutcome)));
    assert_eq!(failed.answers.iter().map(|(ticket, _)| ticket.0).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(disk.read(|durable| durable.entries_after(RecordSeq::NONE).count()), before);
    assert!(!core.is_open() && !core.is_away() && core.state().counts().queued == 0);
    bench.tickets = 3;
    assert!(!added(&bench.tick(vec![plain()])).1, "it goes on");
}

#[test]
fn what_is_worth_it_is_made_ready_while_another_is_at_the_disk() {
    let mut bench = Bench::open();
    fn add(bench: &mut Bench, ticket: u64, count: usize) -> bool {
        let command = Command::Add { tasks: vec![new(None); count] };
        bench.core.decide(bench.now, 0, ticketed(ticket, command), true).unwrap_or_else(|_| panic!("nothing is read"));
        bench.core.is_ready()
    }
    assert!(add(&mut bench, 1, 1), "the disk is free");
    let mut first = bench.core.seal(bench.now);
    assert!(!add(&mut bench, 2, 1), "too little to leave now");
    assert!(add(&mut bench, 3, 300), "enough to wait for the disk");
    let mut second = bench.core.seal(bench.now);
    assert!(!add(&mut bench, 4, 300), "one waits already");
    for parcel in [&mut first, &mut second] {
        parcel.commit();
        bench.core.settle(bench.now, parcel).unwrap_or_else(|_| panic!("it was committed"));
    }
    assert!(bench.core.is_ready());
}

#[test]
fn what_piles_up_is_bounded_by_bytes() {
    let mut bench = Bench::open();
    let large = NewTask { input: Payload(format!("\"{}\"", "x".repeat(200 * 1_024)).into()), ..new(None) };
    let mut full = Vec::new();
    for ticket in 1..=50 {
        let command = Command::Add { tasks: vec![large.clone()] };
        bench.core.decide(bench.now, 0, ticketed(ticket, command), true).unwrap_or_else(|_| panic!("nothing is read"));
        full.push(bench.core.is_full());
    }
    assert!(!full[30] && full[45], "8 MiB are enough: {full:?}");
}

/// Whoever asks for something does not wait behind all that a bulk still has to do.
#[test]
fn a_bulk_is_no_faster_than_the_disk() {
    let mut bench = Bench::open();
    for _ in 0..5 {
        bench.tick(vec![Command::Add { tasks: vec![new(None); 1_000] }]);
    }
    let filter = TaskFilter::default();
    let work = BulkWork::Reprioritize { queue: queue(), upto: TaskId::MAX, filter, priority: Priority::HIGH };
    bench.tick(vec![Command::StartBulk { work, by: actor(), reason: String::new() }]);
    let now = bench.now.plus_ms(10);
    let go_on = |core: &mut Core| core.decide(now, 0, Vec::new(), true).unwrap_or_else(|_| panic!("nothing is read")).ahead;
    assert!(!go_on(&mut bench.core) && bench.core.is_ready(), "the disk is free");
    let mut first = bench.core.seal(now);
    assert!(go_on(&mut bench.core), "one chunk is made ready");
    let mut second = bench.core.seal(now);
    assert!(go_on(&mut bench.core), "and another");
    assert!(go_on(&mut bench.core) && go_on(&mut bench.core), "but no more, however often it is asked");
    for parcel in [&mut first, &mut second] {
        parcel.commit();
        bench.core.settle(now, parcel).unwrap_or_else(|_| panic!("it was committed"));
    }
    let third = bench.core.seal(now);
    assert!(first.records() == second.records() && third.records() == first.records(), "each is one chunk");
}
