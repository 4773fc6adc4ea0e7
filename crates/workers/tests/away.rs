//! A worker inside while the blobs are away, do not come, or are not taken: what is done is not done again for it, and no other
//! lease is lost.

#[path = "../../store/tests/far/mod.rs"]
mod far;
mod house;

use engine::Said;
use far::{Far, Mood};
use flow::Language;
use house::{House, within};
use kernel::command::{Command, Outcome};
use kernel::decide::{NewRun, NewWorkflow};
use kernel::ids::TaskId;
use kernel::limits::INLINE_BYTES_MAX;
use kernel::names::{Actor, TypeName, WorkerName, WorkflowName};
use kernel::queue::QueueConfig;
use kernel::record::{Payload, Record};
use kernel::run::RunSpec;
use kernel::task::Task;
use std::sync::Arc;
use std::time::Duration;
use store::TaskQuery;
use tokio::sync::Semaphore;
use workers::inside::{Job, Performs, Place};

/// Gives something large where it is asked to, waits for a leave where it is asked to, and gives back what it was given.
#[derive(Clone)]
struct Player {
    leaves: Arc<Semaphore>,
    begun: Arc<Semaphore>,
}

impl Player {
    fn new() -> Player {
        Player { leaves: Arc::new(Semaphore::new(0)), begun: Arc::new(Semaphore::new(0)) }
    }

    async fn begun(&self, count: u32) {
        within(self.begun.acquire_many(count)).await.unwrap().forget();
    }
}

impl Performs for Player {
    async fn perform(&self, job: Job) -> Outcome {
        self.begun.add_permits(1);
        let output = match job.input.text() {
            "\"large\"" => format!("\"{}\"", "x".repeat(INLINE_BYTES_MAX)),
            "\"wait\"" => {
                self.leaves.acquire().await.expect("it is never closed").forget();
                "null".into()
            }
            _ => "null".into(),
        };
        Outcome::Done { output: Payload(output.into()) }
    }
}

fn place(slots: usize) -> Place {
    let types = ["t"].map(|kind| TypeName::parse(kind).unwrap());
    Place { worker: WorkerName::parse("w").unwrap(), types: types.into(), slots, stop_limit: Duration::ZERO }
}

/// Starts a run of two tasks: the second is given what the first gives, which is large.
async fn start_run(house: &House) {
    let text = "workflow: w\nnodes:\n  a: {type: t, with: large}\n  b: {type: t, after: a, with: '${nodes.a.output}'}\n";
    let compiled = flow::compile(text.as_bytes(), &Language).unwrap_or_else(|problems| panic!("{problems:?}"));
    let (workflow, by) = (WorkflowName::parse("w").unwrap(), Actor::parse("ann").unwrap());
    let new = NewWorkflow { name: workflow.clone(), version: None, text: text.into(), ir: Arc::new(compiled.ir) };
    house.command(Command::PutWorkflow { new: Box::new(new), by: by.clone() }).await;
    let spec = RunSpec::new(workflow.clone(), 0);
    let new = NewRun { workflow, version: None, spec, input: Payload::null() };
    house.command(Command::StartRun { new: Box::new(new), by }).await;
}

/// The task that was added last.
fn last(house: &House) -> TaskId {
    let rows = house.engine.read(|reader| reader.tasks(&TaskQuery { limit: 1, ..TaskQuery::default() })).unwrap();
    Task::from_row(&rows[0].values).unwrap().card().id()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_input_that_does_not_come_costs_no_other_its_lease() {
    let far = Arc::<Far>::default();
    let mut house = House::keeping(far.clone());
    let window = Duration::from_millis(1_200);
    house.configure(QueueConfig { heartbeat_ms: window.as_millis() as u32, ..QueueConfig::default() }).await;
    let player = Player::new();
    let _working = house.work(player.clone(), place(3));
    let other = house.add("t", "\"wait\"", None).await;
    player.begun(1).await;
    far.set(Mood::Still);
    start_run(&house).await;
    player.begun(1).await;
    // What the first gives is put, and what the second is given is got.
    assert!(far.was_asked(2).await);
    tokio::time::sleep(window * 5 / 2).await;
    player.leaves.add_permits(1);
    house.end(other).await;
    assert_eq!(house.story(other), "leased; done");
    far.set(Mood::Well);
    player.begun(1).await;
    let made = last(&house);
    house.end(made).await;
    assert_eq!(house.story(made), "leased; done");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_input_that_cannot_be_read_goes_back_unburnt_or_with_the_worker() {
    let far = Arc::<Far>::default();
    let mut house = House::keeping(far.clone());
    let player = Player::new();
    let mut working = house.work(player.clone(), place(1));
    far.set(Mood::Hides);
    start_run(&house).await;
    player.begun(1).await;
    assert!(far.was_asked(2).await);
    let made = last(&house);
    house.until(made, |record| matches!(record, Record::TaskReleased { .. })).await;
    far.set(Mood::Still);
    assert!(far.is_asked().await);
    working.stop();
    working.ended().await;
    far.set(Mood::Well);
    let _working = house.work(player.clone(), place(1));
    house.end(made).await;
    let story = house.story(made);
    assert!(story.ends_with("leased; done") && !story.contains("retried"), "{story}");
    let attempts: Vec<u16> = house.told().iter().filter_map(|entry| attempt(&entry.record)).collect();
    assert!(attempts.iter().all(|attempt| *attempt == 1), "{attempts:?}");
}

fn attempt(record: &Record) -> Option<u16> {
    if let Record::TaskLeased { attempt, .. } = record { Some(*attempt) } else { None }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_that_waits_is_kept_in_the_end_and_done_once() {
    let far = Arc::<Far>::default();
    let mut house = House::keeping(far.clone());
    let mut said = house.engine.logs().subscribe();
    let player = Player::new();
    let _working = house.work(player.clone(), place(1));
    far.set(Mood::Away);
    let task = house.add("t", "\"large\"", None).await;
    assert!(far.was_asked(2).await);
    // Meanwhile it is told what it waits for.
    let Said::Progress(of, progress) = within(said.recv()).await.unwrap() else { panic!("it has no log") };
    assert_eq!((of, progress.message.as_deref()), (task, Some("its output waits: it is away")));
    far.set(Mood::Well);
    house.end(task).await;
    assert_eq!(house.story(task), "leased; done");
    assert_eq!((player.begun.available_permits(), house.output(task).len()), (1, INLINE_BYTES_MAX + 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_that_waits_hears_that_it_is_to_end() {
    let far = Arc::<Far>::default();
    let mut house = House::keeping(far.clone());
    let mut working = house.work(Player::new(), place(1));
    far.set(Mood::Away);
    let cancelled = house.add("t", "\"large\"", None).await;
    assert!(far.was_asked(1).await);
    house.cancel(cancelled).await;
    assert_eq!(house.end(cancelled).await, "cancelled");
    let task = house.add("t", "\"large\"", None).await;
    house.until(task, |record| matches!(record, Record::TaskLeased { .. })).await;
    assert!(far.is_asked().await);
    working.stop();
    working.ended().await;
    house.until(task, |record| matches!(record, Record::TaskRetried { .. })).await;
    let story = house.story(task);
    assert_eq!(story, "leased; retried output_unkept: the server stopped before its output could be written");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_that_is_not_taken_fails_and_is_not_made_again() {
    let far = Arc::<Far>::default();
    let mut house = House::keeping(far.clone());
    let _working = house.work(Player::new(), place(1));
    far.set(Mood::Refuses);
    let task = house.add("t", "\"large\"", None).await;
    house.end(task).await;
    assert_eq!(house.story(task), "leased; failed output_unkept: its output could not be written: it is not taken");
}
