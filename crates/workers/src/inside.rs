//! The loop of a worker in the server's own process: it leases what it has slots for, keeps every lease alive while its
//! work goes on, reports outcomes the moment they are there, and hands back what is left when it is to stop.
//!
//! Invariant: every lease that was granted and has not heard its end answered is named in the next poll. Only a poll that
//! asks for nothing is left before its answer: it cannot be given anything.

mod attempt;

pub(crate) use attempt::{AGAIN_AFTER, Away, bounded, failed, put_away, report, with_blobs};
use attempt::{End, Ending, Given, attempt};
pub use attempt::{Say, Stop};
use engine::{Answer, Delivery, Engine, Held, Holding, Refused, Request, Work, Worked};
use kernel::command::{Grant, Outcome};
use kernel::ids::{Fence, TaskId};
use kernel::limits::{HEARTBEAT_MS_DEFAULT, POLL_TASKS_MAX};
use kernel::names::{QueueName, TypeName, WorkerName};
use kernel::record::Payload;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use store::StoreError;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

/// How long a poll may wait for work.
const WAIT: Duration = Duration::from_secs(20);
/// However long what runs might go on after a stop.
const STOP_LIMIT_MAX: Duration = Duration::from_secs(24 * 3_600);
/// How long it rests when the engine could not answer.
const REST: Duration = Duration::from_millis(100);

/// One attempt at a task.
#[derive(Clone, Debug)]
pub struct Job {
    pub grant: Grant,
    pub input: Payload,
    pub stop: Stop,
    pub say: Say,
}

impl Job {
    /// The same for every attempt at this work.
    pub fn work_key(&self) -> String {
        self.grant.work_key().unwrap_or_else(|| self.grant.task.to_string())
    }
}

/// Does the work of tasks. When a task is to stop, it is told so, and after the grace its future is dropped: that has to end
/// the work.
pub trait Performs: Send + Sync + 'static {
    fn perform(&self, job: Job) -> impl Future<Output = Outcome> + Send;

    /// How long work may take to stop.
    fn grace(&self) -> Duration {
        Duration::ZERO
    }

    /// What becomes of work that the server was at when it was killed. Nobody is at it now.
    fn cut_off(&self) -> Outcome {
        Outcome::Released
    }
}

#[derive(Clone, Debug)]
pub struct Place {
    pub worker: WorkerName,
    pub types: Arc<[TypeName]>,
    /// Tasks at a time.
    pub slots: usize,
    /// How long what runs may go on after a stop, before it is handed back.
    pub stop_limit: Duration,
}

/// Works until `stop` or the engine's own stop, and returns when everything is reported or handed back.
pub async fn work<P: Performs>(engine: Engine, performs: Arc<P>, place: Place, stop: impl Future<Output = ()>) {
    let mut stop = pin!(stop);
    give_up_cut_off(&engine, &place.worker, &performs.cut_off()).await;
    let mut crew = Crew::new(engine, performs, place);
    loop {
        if crew.stopping.is_some() && crew.held.is_empty() {
            crew.leave().await;
            return;
        }
        let poll = crew.poll();
        let (want, sent) = (poll.want, poll.holding.clone());
        let over = crew.stopping.map(|since| since + crew.place.stop_limit);
        let answer = tokio::select! {
            answer = crew.engine.work(poll) => answer,
            ended = crew.jobs.join_next(), if want == 0 && !crew.jobs.is_empty() => {
                crew.ended(ended);
                continue;
            }
            () = &mut stop, if crew.stopping.is_none() => {
                crew.stopping = Some(Instant::now());
                continue;
            }
            () = passed(over), if over.is_some() && !crew.is_released => {
                crew.release();
                continue;
            }
        };
        while let Some(ended) = crew.jobs.try_join_next() {
            crew.ended(Some(ended));
        }
        match answer {
            Ok(Answer::Worked(worked)) => crew.answered(&sent, worked).await,
            Err(Refused::Down) => return,
            // Nothing was granted, or it is taken back: the next poll does not name it.
            Ok(_) | Err(Refused::Full { .. }) => sleep(REST).await,
        }
    }
}

/// With their inputs. What cannot be read now goes back, unburnt.
pub(crate) async fn filled(engine: &Engine, deliveries: Vec<Delivery>) -> Option<Vec<Delivery>> {
    let filled = read_inputs(engine, &deliveries).await.ok();
    if filled.is_none() {
        engine.undelivered(&deliveries);
        sleep(REST).await;
    }
    filled
}

/// Inputs that cannot be read now.
struct Unread {
    /// They lie where nothing can be reached.
    is_away: bool,
}

async fn read_inputs(engine: &Engine, deliveries: &[Delivery]) -> Result<Vec<Delivery>, Unread> {
    if let Some(filled) = engine.fill(deliveries) {
        return Ok(filled.deliveries);
    }
    let (reader, granted) = (engine.clone(), deliveries.to_vec());
    match tokio::task::spawn_blocking(move || reader.fill_reading(&granted)).await {
        Ok(Ok(filled)) => Ok(filled.deliveries),
        unread => {
            tracing::error!(?unread, "the inputs of tasks could not be read; they go back to their queues");
            Err(Unread { is_away: matches!(unread, Ok(Err(StoreError::Unreached(_)))) })
        }
    }
}

/// The leases of an earlier process that was killed.
async fn give_up_cut_off(engine: &Engine, worker: &WorkerName, outcome: &Outcome) {
    loop {
        match engine.ask(Request::Leases { worker: worker.clone() }).await {
            Ok(Answer::Leases(leases)) => {
                for (task, fence) in leases {
                    report(engine, task, fence, outcome.clone()).await;
                }
                return;
            }
            Err(Refused::Down) => return,
            Ok(_) | Err(Refused::Full { .. }) => sleep(REST).await,
        }
    }
}

async fn passed(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

struct Crew<P> {
    engine: Engine,
    performs: Arc<P>,
    place: Place,
    held: BTreeMap<(TaskId, Fence), Under>,
    jobs: JoinSet<(TaskId, Fence)>,
    /// No more is taken on, since then.
    stopping: Option<Instant>,
    /// All that was held then is being handed back.
    is_released: bool,
}

/// An attempt under way.
struct Under {
    heartbeat: Duration,
    /// How it is ended before its time.
    end: watch::Sender<Option<End>>,
}

impl<P: Performs> Crew<P> {
    fn new(engine: Engine, performs: Arc<P>, place: Place) -> Crew<P> {
        let place = Place { stop_limit: place.stop_limit.min(STOP_LIMIT_MAX), ..place };
        let held = BTreeMap::new();
        Crew { engine, performs, place, held, jobs: JoinSet::new(), stopping: None, is_released: false }
    }

    fn poll(&self) -> Work {
        let free = self.place.slots.min(POLL_TASKS_MAX).saturating_sub(self.held.len());
        let want = if self.stopping.is_some() { 0 } else { free };
        let holding = self.held.keys().map(|(task, fence)| Holding { task: *task, fence: *fence }).collect();
        let queues: Arc<[QueueName]> = [].into();
        let (worker, types) = (self.place.worker.clone(), self.place.types.clone());
        Work { worker, types, queues, want, wait_ms: WAIT.as_millis() as u64, results: Vec::new(), holding }
    }

    /// What the engine says of those that were named in this poll, and what it gives.
    async fn answered(&mut self, sent: &[Holding], worked: Worked) {
        for (sent, held) in sent.iter().zip(&worked.holding) {
            self.heard(sent, held);
        }
        if !worked.deliveries.is_empty() {
            self.take(worked.deliveries);
        }
        if worked.stopping {
            self.stopping.get_or_insert_with(Instant::now);
            self.rest().await;
        }
    }

    fn heard(&mut self, sent: &Holding, held: &Held) {
        let Some(under) = self.held.get_mut(&(sent.task, sent.fence)) else { return };
        if held.held {
            under.heartbeat = Duration::from_millis(held.heartbeat_ms.into());
        }
        let end = match (held.held, held.cancel) {
            (false, _) => End::Lost,
            (true, true) => End::Asked,
            (true, false) => return,
        };
        under.stop(end);
    }

    /// Begins what was granted. What has to be read for it may be far away: that is a part of the attempt, or every other lease
    /// would wait for it unheard of.
    fn take(&mut self, deliveries: Vec<Delivery>) {
        match self.engine.fill(&deliveries) {
            Some(filled) => filled.deliveries.into_iter().for_each(|delivery| self.begin(Given::Whole(delivery))),
            None => deliveries.into_iter().for_each(|delivery| self.begin(Given::Unread(delivery))),
        }
    }

    fn begin(&mut self, given: Given) {
        let grant = given.grant();
        let (task, fence) = (grant.task, grant.fence);
        let heartbeat = Duration::from_millis(grant.heartbeat_ms.into());
        let (end, ending) = watch::channel(None);
        self.held.insert((task, fence), Under { heartbeat, end });
        let (engine, performs) = (self.engine.clone(), self.performs.clone());
        self.jobs.spawn(async move {
            attempt(&engine, performs, given, Ending(ending)).await;
            (task, fence)
        });
    }

    fn ended(&mut self, ended: Option<Result<(TaskId, Fence), tokio::task::JoinError>>) {
        match ended {
            Some(Ok(lease)) => _ = self.held.remove(&lease),
            // An attempt catches the panics of its work: this one is ours.
            Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Some(Err(_)) | None => {}
        }
    }

    /// The engine answers at once when it is stopping: until the next heartbeat is due there is nothing to ask.
    async fn rest(&mut self) {
        let beat = self.held.values().map(|under| under.heartbeat / 3).min();
        let limit = self.stopping.filter(|_| !self.is_released).map(|since| since + self.place.stop_limit);
        let beat = Instant::now() + beat.unwrap_or(Duration::from_millis(u64::from(HEARTBEAT_MS_DEFAULT) / 3));
        tokio::select! {
            ended = self.jobs.join_next(), if !self.jobs.is_empty() => self.ended(ended),
            () = sleep_until(limit.map_or(beat, |limit| limit.min(beat))), if !self.held.is_empty() => {}
            else => {}
        }
        if limit.is_some_and(|limit| limit <= Instant::now()) {
            self.release();
        }
    }

    /// Whatever still runs is handed back.
    fn release(&mut self) {
        self.is_released = true;
        self.held.values().for_each(|under| under.stop(End::Released));
    }

    /// It wants nothing and holds nothing: so it is seen to have gone.
    async fn leave(&self) {
        _ = self.engine.work(Work { wait_ms: 0, ..self.poll() }).await;
    }
}

impl Under {
    /// An attempt that has ended meanwhile reports its own end. What was told before is overtaken only by what weighs more.
    fn stop(&self, end: End) {
        self.end.send_if_modified(|told| {
            let weighs_more = *told < Some(end);
            if weighs_more {
                *told = Some(end);
            }
            weighs_more
        });
    }
}
