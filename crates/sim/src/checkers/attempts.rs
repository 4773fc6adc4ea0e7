//! Attempts: never more than the policy allows for one queueing, none burnt by a release, and retried when it was said.

use super::{Check, Scene, ensure};
use kernel::command::Outcome;
use kernel::limits::RETRY_AFTER_MS_MAX;
use kernel::record::{Entry, Owner, Record};
use kernel::retry::RetryPolicy;
use kernel::time::Time;

pub fn counted(scene: &Scene<'_>, entry: &Entry) -> Check {
    let Owner::Task(id) = &entry.owner else { return Ok(()) };
    let Some(task) = scene.model.task(*id) else { return Ok(()) };
    let policy = task.policy(scene.model.config(&task.queue).retry);
    let told = || {
        let fence = task.lease.as_ref().map(|lease| lease.fence)?;
        scene.turn.reports(*id, fence).next()
    };
    match &entry.record {
        Record::TaskLeased { attempt, .. } => {
            ensure(*attempt == task.burnt + 1, || format!("attempt {attempt} of {id} after {} that count", task.burnt))
        }
        Record::TaskRetried { failure, retry_at, .. } => {
            ensure(task.attempt < policy.attempts, || {
                format!("{id} is retried after attempt {} of {}", task.attempt, policy.attempts)
            })?;
            let own = matches!(failure.code.as_str(), "worker_lost" | "timed_out");
            let after_ms = match told().filter(|_| !own) {
                Some(Outcome::Failed { retryable, retry_after_ms, .. }) => {
                    ensure(*retryable, || format!("{id} is retried although its worker said not to"))?;
                    *retry_after_ms
                }
                _ => None,
            };
            let (low, high) = match after_ms {
                Some(ms) => (entry.at.plus_ms(ms.min(RETRY_AFTER_MS_MAX)), entry.at.plus_ms(ms.min(RETRY_AFTER_MS_MAX))),
                None => backoff(&policy, task.attempt, entry.at),
            };
            ensure((low..=high).contains(retry_at), || {
                format!("{id} is retried at {retry_at:?}, not within {low:?} and {high:?}")
            })
        }
        Record::TaskFailed { failure, .. } => {
            let own = matches!(failure.code.as_str(), "worker_lost" | "timed_out");
            let given_up = matches!(told(), Some(Outcome::Failed { retryable: false, .. })) && !own;
            ensure(given_up || task.attempt >= policy.attempts, || {
                format!("{id} failed for good after attempt {} of {}", task.attempt, policy.attempts)
            })
        }
        _ => Ok(()),
    }
}

fn backoff(policy: &RetryPolicy, attempt: u16, at: Time) -> (Time, Time) {
    let wait_ms = (1..attempt).fold(policy.backoff_ms, |ms, _| ms.saturating_mul(2)).min(policy.backoff_max_ms);
    let extra_us = wait_ms * 10 * u64::from(policy.jitter_percent);
    (at.plus_ms(wait_ms), at.plus_ms(wait_ms).plus_us(extra_us as i64))
}
