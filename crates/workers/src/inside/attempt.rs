//! One attempt from its start to the answer to its outcome. Its work runs apart, so that a panic in it is a failed attempt
//! and not the end of the worker.

use super::{Job, Performs, REST, Unread, read_inputs};
use engine::{Answer, Delivery, Engine, PutAway, Refused, Request};
use kernel::command::{Command, Grant, Outcome};
use kernel::ids::{Fence, TaskId};
use kernel::limits::{ERROR_CODE_BYTES_MAX, ERROR_MESSAGE_BYTES_MAX, INLINE_BYTES_MAX, PAYLOAD_BYTES_MAX};
use kernel::names::clip;
use kernel::record::Failure;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::{Hold, StoreError};
use thiserror::Error;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// When what could not be put away is tried again.
pub(crate) const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// So long an output may still take to be put away when its attempt is to end.
const PUT_AWAY_GRACE: Duration = Duration::from_secs(2);

/// Why an attempt is ended before its time; what comes later weighs more.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum End {
    /// The worker stops.
    Released,
    /// It was cancelled, or its time budget is spent.
    Asked,
    /// The lease is another's, or nobody's: nothing is told.
    Lost,
}

/// Hears that an attempt is to end, from its first moment to its last.
pub struct Ending(pub watch::Receiver<Option<End>>);

impl Ending {
    /// Returns when it is told, and how.
    async fn told(&mut self) -> End {
        let told = self.0.wait_for(Option::is_some).await.ok().and_then(|told| *told);
        match told {
            Some(end) => end,
            // Whoever could tell is gone, and the attempt goes with it.
            None => std::future::pending().await,
        }
    }

    /// The same for what is done and only has to be put away: unless nobody wants it any more, that has a moment.
    async fn given_up(&mut self) -> End {
        let end = self.told().await;
        if end != End::Lost {
            _ = timeout(PUT_AWAY_GRACE, self.0.wait_for(|told| *told == Some(End::Lost))).await;
        }
        self.told().await
    }
}

/// What an attempt is given.
pub enum Given {
    /// With its input.
    Whole(Delivery),
    /// Its input has to be read first.
    Unread(Delivery),
}

impl Given {
    pub fn grant(&self) -> &Grant {
        let (Given::Whole(delivery) | Given::Unread(delivery)) = self;
        &delivery.grant
    }

    /// With its input. `None`: that cannot be made, which is told; or not be read now, and it is handed back, unburnt.
    async fn whole(self, engine: &Engine) -> Option<Delivery> {
        let delivery = match self {
            Given::Whole(delivery) => return Some(delivery),
            Given::Unread(delivery) => delivery,
        };
        match read_inputs(engine, std::slice::from_ref(&delivery)).await {
            Ok(mut filled) => filled.pop(),
            Err(Unread { is_away }) => {
                // Not at once, or it would be granted again at once.
                sleep(if is_away { AGAIN_AFTER } else { REST }).await;
                engine.undelivered(&[delivery]);
                None
            }
        }
    }
}

/// Tells the work of an attempt that it is to stop.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Returns when it is.
    pub async fn told(&mut self) {
        if self.0.wait_for(|told| *told).await.is_err() {
            // Nobody is there any more who could tell: the work is dropped.
            std::future::pending().await
        }
    }
}

/// What the work of an attempt has to tell on the way: no secrets.
#[derive(Clone)]
pub struct Say {
    engine: Engine,
    task: TaskId,
    fence: Fence,
    kept: Arc<Mutex<Vec<Hold>>>,
}

impl Say {
    /// A line of its log.
    pub fn line(&self, text: &str) {
        self.engine.logs().add(self.task, self.fence, [text]);
    }

    /// What its output mentions stays at least until that is told.
    pub fn keep(&self, hold: Hold) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(hold);
    }

    /// What it waited for has come: what was said of it is said no more.
    pub fn begins(&self) {
        self.engine.logs().unset_progress(self.task);
    }

    /// How far it is, from 0 to 1000, and what it is at.
    pub fn progress(&self, permille: u16, message: Option<&str>) {
        self.engine.logs().set_progress(self.task, self.fence, permille, message);
    }
}

impl fmt::Debug for Say {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Say({})", self.task)
    }
}

pub async fn attempt<P: Performs>(engine: &Engine, performs: Arc<P>, given: Given, mut ending: Ending) {
    let (task, fence, grace) = (given.grant().task, given.grant().fence, performs.grace());
    let whole = tokio::select! {
        whole = given.whole(engine) => whole,
        end = ending.told() => return match end {
            End::Lost => {}
            End::Asked => report(engine, task, fence, stopped()).await,
            End::Released => report(engine, task, fence, Outcome::Released).await,
        },
    };
    let Some(Delivery { grant, input }) = whole else { return };
    let input = input.expect("a delivery is filled");
    let (told, stop) = watch::channel(false);
    let say = Say { engine: engine.clone(), task, fence, kept: Arc::default() };
    let kept = say.kept.clone();
    let job = Job { grant, input, stop: Stop(stop), say };
    let mut work = Work(tokio::spawn(async move { performs.perform(job).await }));
    let outcome = tokio::select! {
        biased;
        ended = &mut work.0 => ended.unwrap_or_else(|_| panicked()),
        end = ending.told() => {
            told.send_replace(true);
            match (work.stop(grace).await, end) {
                (_, End::Lost) => return,
                (_, End::Asked) => stopped(),
                // It was quicker than the wish to end it.
                (Some(outcome @ Outcome::Done { .. }), End::Released) => outcome,
                (_, End::Released) => Outcome::Released,
            }
        },
    };
    let (outcome, _hold) = tokio::select! {
        biased;
        kept = until_kept(engine, (task, fence), bounded(outcome)) => match kept {
            Some(kept) => kept,
            None => return,
        },
        end = ending.given_up() => match end {
            End::Lost => return,
            End::Asked => (stopped(), None),
            // Handed back it would be done a second time for certain, as if it had not been done: so it is an attempt, and failed.
            End::Released => (failed("output_unkept", "the server stopped before its output could be written", true), None),
        },
    };
    report(engine, task, fence, outcome).await;
    // Held until the report of it is in.
    drop(kept);
    engine.logs().ended(task);
}

/// What was done is not done again because it could not be put away: the lease is kept alive meanwhile. `None`: the engine is down.
async fn until_kept(engine: &Engine, (task, fence): (TaskId, Fence), outcome: Outcome) -> Option<(Outcome, Option<PutAway>)> {
    let mut waits = false;
    loop {
        match put_away(engine, outcome.clone()).await {
            Ok(kept) => {
                if waits {
                    engine.logs().unset_progress(task);
                    tracing::warn!(%task, "the output is put away now");
                }
                return Some(kept);
            }
            Err(away) if engine.is_up() => {
                if !std::mem::replace(&mut waits, true) {
                    tracing::warn!(%task, %away, "an output waits");
                    engine.logs().set_progress(task, fence, 1_000, Some(&format!("its output waits: {away}")));
                }
                sleep(AGAIN_AFTER).await;
            }
            Err(_) => return None,
        }
    }
}

/// The work itself, which ends with whoever waits for it.
struct Work(JoinHandle<Outcome>);

impl Work {
    /// Returns when it is over; with its outcome, if it had one. It has been told.
    async fn stop(&mut self, grace: Duration) -> Option<Outcome> {
        if !grace.is_zero()
            && let Ok(ended) = timeout(grace, &mut self.0).await
        {
            return ended.ok();
        }
        self.0.abort();
        (&mut self.0).await.ok()
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.0.abort();
    }
}

pub(crate) fn failed(code: &str, message: impl Into<String>, retryable: bool) -> Outcome {
    let failure = Failure { code: code.into(), message: message.into() };
    Outcome::Failed { failure, retryable, retry_after_ms: None }
}

fn stopped() -> Outcome {
    failed("stopped", "the worker ended it on request", false)
}

fn panicked() -> Outcome {
    failed("worker_panicked", "the worker itself broke off at this task: please report what the log says of it", true)
}

pub(crate) fn bounded(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Done { output } if output.text().len() > PAYLOAD_BYTES_MAX => {
            let message =
                format!("its output is {} bytes of JSON, and at most {PAYLOAD_BYTES_MAX} are kept", output.text().len());
            failed("output_too_large", message, false)
        }
        Outcome::Failed { failure, retryable, retry_after_ms } => {
            let failure = Failure {
                code: clip(&failure.code, ERROR_CODE_BYTES_MAX),
                message: clip(&failure.message, ERROR_MESSAGE_BYTES_MAX),
            };
            Outcome::Failed { failure, retryable, retry_after_ms }
        }
        outcome => outcome,
    }
}

/// The blobs cannot be reached now, and may be later.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct Away(StoreError);

/// Asks something of the blobs, off this thread.
pub(crate) async fn with_blobs<T: Send + 'static>(
    engine: &Engine,
    ask: impl FnOnce(&Engine) -> Result<T, StoreError> + Send + 'static,
) -> Result<Result<T, StoreError>, Away> {
    let asking = engine.clone();
    match tokio::task::spawn_blocking(move || ask(&asking)).await {
        Ok(Err(error @ StoreError::Unreached(_))) => Err(Away(error)),
        Ok(answered) => Ok(answered),
        Err(_) => Ok(Err(StoreError::Failed("whoever was asked for it panicked".into()))),
    }
}

/// A large output lies where it stays before anything mentions it.
pub(crate) async fn put_away(engine: &Engine, outcome: Outcome) -> Result<(Outcome, Option<PutAway>), Away> {
    let output = match outcome {
        Outcome::Done { output } if output.text().len() > INLINE_BYTES_MAX => output,
        outcome => return Ok((outcome, None)),
    };
    Ok(match with_blobs(engine, move |engine| engine.put_away(output)).await? {
        Ok(away) => (Outcome::Done { output: away.payload.clone() }, Some(away)),
        // What is refused would be so again.
        Err(error) => {
            let retryable = !matches!(error, StoreError::Refused(_));
            (failed("output_unkept", format!("its output could not be written: {error}"), retryable), None)
        }
    })
}

/// Until it is answered: what was not written is told again, and counts once.
pub(crate) async fn report(engine: &Engine, task: TaskId, fence: Fence, outcome: Outcome) {
    loop {
        let jitter = RandomState::new().hash_one(fence) as u32;
        let command = Command::Finish { task, fence, outcome: outcome.clone(), jitter };
        match engine.ask(Request::Command(command)).await {
            Ok(Answer::Reply(Ok(_))) | Err(Refused::Down) => return,
            Ok(Answer::Reply(Err(rejection))) => {
                return tracing::warn!(%task, %rejection, "the outcome of an attempt came too late");
            }
            Ok(_) | Err(Refused::Full { .. }) => sleep(REST).await,
        }
    }
}
