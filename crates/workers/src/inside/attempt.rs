//! One attempt from its start to the answer to its outcome. Its work runs apart, so that a panic in it is a failed attempt
//! and not the end of the worker.

use super::{Job, Performs, REST};
use engine::{Answer, Engine, PutAway, Refused, Request};
use kernel::command::{Command, Grant, Outcome};
use kernel::ids::{Fence, TaskId};
use kernel::limits::{ERROR_CODE_BYTES_MAX, ERROR_MESSAGE_BYTES_MAX, INLINE_BYTES_MAX, PAYLOAD_BYTES_MAX};
use kernel::names::clip;
use kernel::record::{Failure, Payload};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::{Hold, StoreError};
use thiserror::Error;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// When what could not be put away is tried again.
pub(crate) const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Why an attempt is ended before its time.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// The lease is another's, or nobody's: nothing is told.
    Lost,
    /// It was cancelled, or its time budget is spent.
    Asked,
    /// The worker stops.
    Released,
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

pub async fn attempt<P: Performs>(
    engine: &Engine,
    performs: Arc<P>,
    grant: Grant,
    input: Payload,
    ending: oneshot::Receiver<End>,
) {
    let (task, fence, grace) = (grant.task, grant.fence, performs.grace());
    let (told, stop) = watch::channel(false);
    let say = Say { engine: engine.clone(), task, fence, kept: Arc::default() };
    let kept = say.kept.clone();
    let job = Job { grant, input, stop: Stop(stop), say };
    let mut work = Work(tokio::spawn(async move { performs.perform(job).await }));
    let outcome = tokio::select! {
        ended = &mut work.0 => ended.unwrap_or_else(|_| panicked()),
        Ok(end) = ending => {
            told.send_replace(true);
            match (work.stop(grace).await, end) {
                (_, End::Lost) => return,
                // It was quicker than the wish to end it.
                (Some(outcome @ Outcome::Done { .. }), End::Asked | End::Released) => outcome,
                (_, End::Asked) => failed("stopped", "the worker ended it on request", false),
                (_, End::Released) => Outcome::Released,
            }
        },
    };
    // What was done is not done again because it could not be put away: the lease is kept alive meanwhile.
    let outcome = bounded(outcome);
    let (outcome, _hold) = loop {
        match put_away(engine, outcome.clone()).await {
            Ok(kept) => break kept,
            Err(away) if engine.is_up() => {
                tracing::warn!(%task, %away, "an output waits");
                tokio::time::sleep(AGAIN_AFTER).await;
            }
            Err(_) => return,
        }
    };
    report(engine, task, fence, outcome).await;
    // Held until the report of it is in.
    drop(kept);
    engine.logs().ended(task);
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
        Ok(Err(error)) if engine.blobs().trouble().is_some() => Err(Away(error)),
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
        Err(error) => (failed("output_unkept", format!("its output could not be written: {error}"), true), None),
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
            Ok(_) | Err(Refused::Full { .. }) => tokio::time::sleep(REST).await,
        }
    }
}
