//! One attempt from its start to the answer to its outcome. Its work runs apart, so that a panic in it is a failed attempt
//! and not the end of the worker.

use super::{Job, Performs, REST};
use engine::{Answer, Engine, PutAway, Refused, Request};
use kernel::command::{Command, Outcome};
use kernel::ids::{Fence, TaskId};
use kernel::limits::{ERROR_CODE_BYTES_MAX, ERROR_MESSAGE_BYTES_MAX, INLINE_BYTES_MAX, PAYLOAD_BYTES_MAX};
use kernel::names::clip;
use kernel::record::Failure;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

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

pub async fn attempt<P: Performs>(engine: &Engine, performs: Arc<P>, job: Job, ending: oneshot::Receiver<End>) {
    let (task, fence) = (job.grant.task, job.grant.fence);
    let mut work = Work(tokio::spawn(async move { performs.perform(job).await }));
    let outcome = tokio::select! {
        ended = &mut work.0 => ended.unwrap_or_else(|_| panicked()),
        Ok(end) = ending => match (work.stop().await, end) {
            // It was quicker than the wish to end it.
            (Some(outcome), End::Asked | End::Released) => outcome,
            (_, End::Lost) => return,
            (None, End::Asked) => failed("stopped", "the worker ended it on request", false),
            (None, End::Released) => Outcome::Released,
        },
    };
    // Held until the report of it is in.
    let (outcome, _hold) = put_away(engine, bounded(outcome)).await;
    report(engine, task, fence, outcome).await;
}

/// The work itself, which ends with whoever waits for it.
struct Work(JoinHandle<Outcome>);

impl Work {
    /// Returns when it is over; with its outcome, if it had one.
    async fn stop(&mut self) -> Option<Outcome> {
        self.0.abort();
        (&mut self.0).await.ok()
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn failed(code: &str, message: impl Into<String>, retryable: bool) -> Outcome {
    let failure = Failure { code: code.into(), message: message.into() };
    Outcome::Failed { failure, retryable, retry_after_ms: None }
}

fn panicked() -> Outcome {
    failed("worker_panicked", "the worker itself broke off at this task: please report what the log says of it", true)
}

fn bounded(outcome: Outcome) -> Outcome {
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

/// A large output lies where it stays before anything mentions it.
async fn put_away(engine: &Engine, outcome: Outcome) -> (Outcome, Option<PutAway>) {
    let output = match outcome {
        Outcome::Done { output } if output.text().len() > INLINE_BYTES_MAX => output,
        outcome => return (outcome, None),
    };
    let engine = engine.clone();
    match tokio::task::spawn_blocking(move || engine.put_away(output)).await {
        Ok(Ok(away)) => (Outcome::Done { output: away.payload.clone() }, Some(away)),
        Ok(Err(error)) => (failed("output_unkept", format!("its output could not be written: {error}"), true), None),
        Err(_) => (panicked(), None),
    }
}

/// Until it is answered: what was not written is told again, and counts once.
async fn report(engine: &Engine, task: TaskId, fence: Fence, outcome: Outcome) {
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
