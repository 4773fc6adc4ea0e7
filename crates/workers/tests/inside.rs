//! The loop of a worker inside, against a real engine: what is leased is reported once, ended when it is to be, and handed
//! back unburnt at the end.

mod house;

use engine::{Answer, Request};
use house::{House, within};
use kernel::command::Outcome;
use kernel::limits::{INLINE_BYTES_MAX, PAYLOAD_BYTES_MAX};
use kernel::names::{TypeName, WorkerName};
use kernel::queue::QueueConfig;
use kernel::record::{Failure, Payload, Record};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use store::memory::Fault;
use tokio::sync::{Notify, Semaphore};
use workers::inside::{Job, Performs, Place};

fn place(slots: usize, stop_limit: Duration) -> Place {
    let types = ["t"].map(|kind| TypeName::parse(kind).unwrap());
    Place { worker: WorkerName::parse("w").unwrap(), types: types.into(), slots, stop_limit }
}

/// Does what the input says.
#[derive(Clone)]
struct Player {
    /// Those that wait for a leave take one.
    leaves: Arc<Semaphore>,
    begun: Arc<Semaphore>,
    under_way: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    dropped: Arc<Notify>,
}

impl Player {
    fn new() -> Player {
        let none = || Arc::new(Semaphore::new(0));
        Player { leaves: none(), begun: none(), under_way: Arc::default(), most: Arc::default(), dropped: Arc::default() }
    }

    /// Waits until so many more attempts have begun.
    async fn begun(&self, count: u32) {
        within(self.begun.acquire_many(count)).await.unwrap().forget();
    }
}

struct Under<'a>(&'a Player);

impl Drop for Under<'_> {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::SeqCst);
        self.0.dropped.notify_one();
    }
}

impl Performs for Player {
    async fn perform(&self, job: Job) -> Outcome {
        let now = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        let _under = Under(self);
        self.begun.add_permits(1);
        let failed = |code: &str, retryable| {
            let failure = Failure { code: code.into(), message: "m".repeat(10_000) };
            Outcome::Failed { failure, retryable, retry_after_ms: None }
        };
        let done = |text: &str| Outcome::Done { output: Payload(text.into()) };
        match job.input.text().trim_matches('"') {
            "wait" => {
                self.leaves.acquire().await.expect("it is never closed").forget();
                done("\"let go\"")
            }
            "fail" => failed("broken", true),
            "fail twice" if job.grant.attempt < 3 => failed("broken", true),
            "fail for good" => failed("broken", false),
            "panic" => panic!("as it was asked to"),
            "large" => done(&format!("\"{}\"", "x".repeat(INLINE_BYTES_MAX))),
            "too large" => done(&format!("\"{}\"", "x".repeat(PAYLOAD_BYTES_MAX))),
            _ => done(&format!("{{\"key\":\"{}\"}}", job.work_key())),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn outcomes_are_reported_as_they_are() {
    let mut house = House::open();
    let player = Player::new();
    let mut working = house.work(player.clone(), place(4, Duration::ZERO));
    let clipped = format!("broken: {}", "m".repeat(2_048));
    for (input, story) in [
        ("fine", "leased; done".to_owned()),
        ("large", "leased; done".to_owned()),
        ("fail twice", format!("leased; retried {clipped}; leased; retried {clipped}; leased; done")),
        ("fail", format!("leased; retried {clipped}; leased; retried {clipped}; leased; failed {clipped}")),
        ("fail for good", format!("leased; failed {clipped}")),
        (
            "too large",
            format!(
                "leased; failed output_too_large: its output is {} bytes of JSON, and at most {PAYLOAD_BYTES_MAX} are kept",
                PAYLOAD_BYTES_MAX + 2
            ),
        ),
    ] {
        let task = house.add("t", &format!("\"{input}\""), None).await;
        house.end(task).await;
        assert_eq!(house.story(task), story, "{input}");
        if input == "large" {
            assert_eq!(house.output(task).len(), INLINE_BYTES_MAX + 2);
        }
    }
    let task = house.add("t", "1", Some("order-7")).await;
    house.end(task).await;
    assert_eq!(house.output(task), r#"{"key":"order-7"}"#);
    working.stop();
    working.ended().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_fails_its_attempt_and_nothing_else() {
    let mut house = House::open();
    let player = Player::new();
    let _working = house.work(player.clone(), place(1, Duration::ZERO));
    let broken = house.add("t", "\"panic\"", None).await;
    assert!(house.end(broken).await.starts_with("failed worker_panicked"));
    let fine = house.add("t", "1", None).await;
    assert_eq!(house.end(fine).await, "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn as_many_are_under_way_as_there_are_slots_and_a_freed_slot_is_filled_at_once() {
    let mut house = House::open();
    let player = Player::new();
    let _working = house.work(player.clone(), place(3, Duration::ZERO));
    let mut tasks = Vec::new();
    for _ in 0..10 {
        tasks.push(house.add("t", "\"wait\"", None).await);
    }
    player.begun(3).await;
    for _ in 3..10 {
        player.leaves.add_permits(1);
        player.begun(1).await;
    }
    player.leaves.add_permits(3);
    for task in tasks {
        assert_eq!(house.end(task).await, "done");
    }
    assert_eq!(player.most.load(Ordering::SeqCst), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_task_ends_its_work_whether_slots_are_left_or_not() {
    for slots in [1, 2] {
        let mut house = House::open();
        let player = Player::new();
        let _working = house.work(player.clone(), place(slots, Duration::ZERO));
        let task = house.add("t", "\"wait\"", None).await;
        player.begun(1).await;
        house.cancel(task).await;
        within(player.dropped.notified()).await;
        assert_eq!(house.end(task).await, "cancelled");
        let next = house.add("t", "1", None).await;
        assert_eq!(house.end(next).await, "done");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_outlasts_its_heartbeat_window_keeps_its_lease() {
    let mut house = House::open();
    let window = Duration::from_millis(1_200);
    house.configure(QueueConfig { heartbeat_ms: window.as_millis() as u32, ..QueueConfig::default() }).await;
    let player = Player::new();
    let _working = house.work(player.clone(), place(2, Duration::ZERO));
    let task = house.add("t", "\"wait\"", None).await;
    player.begun(1).await;
    // Nothing else happens meanwhile: the lease lives by its heartbeats alone.
    tokio::time::sleep(window * 5 / 2).await;
    player.leaves.add_permits(1);
    house.end(task).await;
    assert_eq!(house.story(task), "leased; done");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_that_is_spent_ends_the_attempt_and_the_next_one_begins() {
    let mut house = House::open();
    house.configure(QueueConfig { budget_ms: 50, ..QueueConfig::default() }).await;
    let player = Player::new();
    let _working = house.work(player.clone(), place(1, Duration::ZERO));
    let task = house.add("t", "\"wait\"", None).await;
    assert!(house.end(task).await.starts_with("failed timed_out"));
    assert_eq!(house.story(task).matches("leased").count(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_stops_lets_work_finish_and_hands_the_rest_back_unburnt() {
    let mut house = House::open();
    let player = Player::new();
    let mut working = house.work(player.clone(), place(2, house::PATIENCE));
    let finishes = house.add("t", "\"wait\"", None).await;
    player.begun(1).await;
    working.stop();
    player.leaves.add_permits(1);
    working.ended().await;
    assert_eq!(house.end(finishes).await, "done");

    let player = Player::new();
    let mut working = house.work(player.clone(), place(2, Duration::ZERO));
    let handed_back = house.add("t", "\"wait\"", None).await;
    player.begun(1).await;
    working.stop();
    working.ended().await;
    house.until(handed_back, |record| matches!(record, Record::TaskReleased { .. })).await;
    assert_eq!(house.story(handed_back), "leased; released");
    match house.engine.ask(Request::Status).await {
        Ok(Answer::Status(status)) => assert!(status.workers.is_empty(), "{:?}", status.workers),
        other => panic!("{other:?}"),
    }

    let _working = house.work(player.clone(), place(2, Duration::ZERO));
    player.begun(1).await;
    player.leaves.add_permits(1);
    house.end(handed_back).await;
    let attempts: Vec<u16> = house.told().iter().filter_map(|entry| attempt(&entry.record)).collect();
    assert_eq!(attempts, [1, 1, 1]);
}

fn attempt(record: &Record) -> Option<u16> {
    if let Record::TaskLeased { attempt, .. } = record { Some(*attempt) } else { None }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_engines_own_stop_ends_the_worker_too() {
    for stop_limit in [Duration::ZERO, house::PATIENCE] {
        let mut house = House::open();
        let player = Player::new();
        let working = house.work(player.clone(), place(2, stop_limit));
        let task = house.add("t", "\"wait\"", None).await;
        player.begun(1).await;
        house.until(task, |record| matches!(record, Record::TaskLeased { .. })).await;
        let engine = house.engine.clone();
        let stopped = tokio::spawn(async move { engine.stop().await });
        if stop_limit > Duration::ZERO {
            player.leaves.add_permits(1);
        }
        assert_eq!(within(stopped).await.unwrap(), engine::Stopped::Drained);
        working.ended().await;
        let ends = |record: &Record| matches!(record, Record::TaskDone { .. } | Record::TaskReleased { .. });
        house.until(task, ends).await;
        let end = if stop_limit > Duration::ZERO { "leased; done" } else { "leased; released" };
        assert_eq!(house.story(task), end);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_whose_commit_failed_is_told_again_and_counts_once() {
    for fault in [Fault::CommitLost, Fault::CommitKept] {
        let mut house = House::open();
        let player = Player::new();
        let _working = house.work(player.clone(), place(1, Duration::ZERO));
        let task = house.add("t", "\"wait\"", None).await;
        player.begun(1).await;
        house.disk.inject(fault);
        player.leaves.add_permits(1);
        house.end(task).await;
        assert_eq!(house.disk.hits(fault), 1);
        assert_eq!(house.story(task), "leased; done", "{fault:?}");
    }
}
