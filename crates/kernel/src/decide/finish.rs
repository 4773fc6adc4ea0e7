//! A lease ends: by the worker's outcome, by being handed back, or because the worker fell silent. The fence decides
//! whose word counts; an outcome that is sent again is recognised.

use crate::command::{Outcome, Reply};
use crate::ids::{Fence, TaskId};
use crate::lease::{Ending, Lease};
use crate::limits::RETRY_AFTER_MS_MAX;
use crate::record::{CancelCause, Failure, RELEASED_DIGEST, Record, ReleaseCause, fnv1a};
use crate::rejection::Rejection;
use crate::step::{FollowUp, Step};
use crate::task::Task;

pub(super) fn decide(
    step: &mut Step<'_>,
    task: TaskId,
    fence: Fence,
    outcome: &Outcome,
    jitter: u32,
) -> Result<Reply, Rejection> {
    let digest = digest(outcome);
    let lease = match held(step, task, fence) {
        Ok(lease) => lease,
        Err(lost) => {
            let settled = super::find(step.state(), task)?.card().is_settled_as(fence, digest);
            return if settled { Ok(Reply::Finished { duplicate: true }) } else { Err(lost) };
        }
    };
    match (lease.ending, outcome) {
        // Whatever the worker says now confirms that it has stopped.
        (Some(Ending::Cancel { by, reason }), _) => {
            step.record_task(task, Record::TaskCancelled { cause: CancelCause::Asked, by, reason, digest: Some(digest) });
        }
        (Some(Ending::TimedOut), _) => fail(step, task, timed_out(), true, None, digest, jitter),
        (None, Outcome::Done { output }) => {
            step.record_task_with(task, Record::TaskDone { digest }, Some(output.clone()));
            step.follow(FollowUp::Unblock { blocker: task });
        }
        (None, Outcome::Failed { failure, retryable, retry_after_ms }) => {
            fail(step, task, failure.clone(), *retryable, *retry_after_ms, digest, jitter);
        }
        (None, Outcome::Released) => _ = step.record_task(task, Record::TaskReleased { cause: ReleaseCause::Worker }),
    }
    Ok(Reply::Finished { duplicate: false })
}

/// The lease was never delivered, or its worker hands it back at shutdown: no attempt is burnt.
pub(super) fn release(step: &mut Step<'_>, task: TaskId, fence: Fence, cause: ReleaseCause) -> Result<Reply, Rejection> {
    let lease = held(step, task, fence)?;
    match lease.ending {
        Some(Ending::Cancel { by, reason }) => {
            step.record_task(task, Record::TaskCancelled { cause: CancelCause::Asked, by, reason, digest: None });
        }
        _ => _ = step.record_task(task, Record::TaskReleased { cause }),
    }
    Ok(Reply::Finished { duplicate: false })
}

pub(super) fn lapse(step: &mut Step<'_>, task: TaskId, fence: Fence, jitter: u32) -> Result<Reply, Rejection> {
    let lease = held(step, task, fence)?;
    let message = format!("worker {} was silent for more than {} ms", lease.worker, lease.heartbeat_ms);
    lose(step, task, lease, message, jitter)
}

pub(super) fn mislay(step: &mut Step<'_>, task: TaskId, fence: Fence, jitter: u32) -> Result<Reply, Rejection> {
    let lease = held(step, task, fence)?;
    let worker = &lease.worker;
    let message = format!("worker {worker} asked again without naming it: it began anew, or another worker has its name");
    lose(step, task, lease, message, jitter)
}

/// The worker is gone, as `message` says it, or this lease is gone from it.
fn lose(step: &mut Step<'_>, task: TaskId, lease: Lease, message: String, jitter: u32) -> Result<Reply, Rejection> {
    let failure = match lease.ending {
        Some(Ending::Cancel { by, reason }) => {
            step.record_task(task, Record::TaskCancelled { cause: CancelCause::Asked, by, reason, digest: None });
            return Ok(Reply::Finished { duplicate: false });
        }
        Some(Ending::TimedOut) => timed_out(),
        None => Failure { code: "worker_lost".into(), message },
    };
    fail(step, task, failure, true, None, 0, jitter);
    Ok(Reply::Finished { duplicate: false })
}

fn timed_out() -> Failure {
    Failure { code: "timed_out".into(), message: "the attempt ran longer than its time budget".into() }
}

/// Handed over to a run, it is that run's.
pub(super) fn held(step: &Step<'_>, task: TaskId, fence: Fence) -> Result<Lease, Rejection> {
    let lease = step.state().task(task).and_then(Task::lease).filter(|lease| lease.run().is_none());
    let fits = |lease: &&Lease| lease.fence() == fence || crate::defect("no_fence_check");
    lease.filter(fits).cloned().ok_or(Rejection::LeaseLost { task })
}

pub(super) fn fail(
    step: &mut Step<'_>,
    task: TaskId,
    failure: Failure,
    retryable: bool,
    retry_after_ms: Option<u64>,
    digest: u64,
    jitter: u32,
) {
    let now = step.now();
    let card = step.state().task(task).expect("a leased task is live").card();
    let policy = card.retry().unwrap_or_else(|| step.state().config(card.route().queue()).retry);
    let attempts = if crate::defect("one_attempt_more") { policy.attempts + 1 } else { policy.attempts };
    if !retryable || card.attempt() >= attempts {
        step.record_task(task, Record::TaskFailed { failure, digest });
        return;
    }
    let retry_at = match retry_after_ms {
        Some(ms) => now.plus_ms(ms.min(RETRY_AFTER_MS_MAX)),
        None => policy.retry_at(now, card.attempt(), jitter),
    };
    step.record_task(task, Record::TaskRetried { failure, retry_at, digest });
}

/// What makes two outcomes the same when one is sent again.
fn digest(outcome: &Outcome) -> u64 {
    match outcome {
        Outcome::Done { output } => output.digest(),
        Outcome::Failed { failure, retryable, .. } => {
            let code = fnv1a(u64::from(*retryable) + 1, failure.code.as_bytes());
            fnv1a(fnv1a(code, &[0]), failure.message.as_bytes())
        }
        Outcome::Released => RELEASED_DIGEST,
    }
}

#[cfg(test)]
mod tests;
