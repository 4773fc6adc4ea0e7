//! Passes events on to another system over HTTP. What is sent is the event as it was received, or as the event API of an
//! Inngest server takes it; what comes back says whether that was all, whether to try again, and when.
//!
//! Where it goes is asked anew for every attempt, so a changed registry holds for what waits. Addresses may hold keys:
//! failures name the host alone.

mod shape;
mod target;

pub use target::{BadTarget, Target};

use crate::client::{Answered, Client, IDEMPOTENCY_KEY, NotAnswered, Sending, header_value, is_passing};
use crate::inside::{Job, Performs, Place};
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue};
use kernel::command::Outcome;
use kernel::handler::FORWARD_TYPE;
use kernel::names::{TypeName, WorkerName, clip};
use kernel::record::{Failure, Payload};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use std::time::{Duration, SystemTime};

/// What is kept of an answer: as much as rides in a record.
const KEPT_BYTES_MAX: usize = 2_048;
/// What is read of one.
const ANSWER_BYTES_MAX: usize = 64 * 1_024;
/// What is told of one that is a "no".
const TOLD_BYTES_MAX: usize = 300;
const TASK: HeaderName = HeaderName::from_static("signaller-task");
const ATTEMPT: HeaderName = HeaderName::from_static("signaller-attempt");

/// Does the work of tasks of the type [`FORWARD_TYPE`]; `target` says where the event of a task goes.
pub struct Forward<F> {
    client: Client,
    target: F,
}

impl<F: Fn(&Job) -> Result<Target, Failure> + Send + Sync + 'static> Forward<F> {
    pub fn new(client: Client, target: F) -> Forward<F> {
        Forward { client, target }
    }

    async fn send(&self, job: &Job) -> Result<Outcome, Failure> {
        let target = (self.target)(job)?;
        let body = shape::body(target.shape, job.input.text()).map_err(|why| failure("unfit_event", why))?;
        let host = target.host().to_owned();
        let Target { url, method, mut headers, time_max, .. } = target.clone();
        headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
        let ours =
            [(IDEMPOTENCY_KEY, job.work_key()), (TASK, job.grant.task.to_string()), (ATTEMPT, job.grant.attempt.to_string())];
        for (name, text) in ours {
            headers.insert(name, header_value(&text));
        }
        let answer = self
            .client
            .send(Sending { method, url, headers, body: body.into(), time_max, answer_bytes_max: ANSWER_BYTES_MAX })
            .await;
        Ok(match answer {
            Ok(answered) => {
                // It may tell back what it was told.
                let body = target.told(&String::from_utf8_lossy(&answered.body)).into_bytes();
                judge(&host, &Answered { body, ..answered }, SystemTime::now())
            }
            Err(unheard) => not_answered(&host, &unheard),
        })
    }
}

impl<F: Fn(&Job) -> Result<Target, Failure> + Send + Sync + 'static> Performs for Forward<F> {
    async fn perform(&self, job: Job) -> Outcome {
        let sent = self.send(&job).await;
        sent.unwrap_or_else(|failure| Outcome::Failed { failure, retryable: false, retry_after_ms: None })
    }
}

/// The worker that forwards, with so many events under way at a time.
pub fn place(slots: usize, stop_limit: Duration) -> Place {
    let worker = WorkerName::parse("signaller:forward").expect("it is a name");
    let types = [TypeName::parse(FORWARD_TYPE).expect("it is a type")].into();
    Place { worker, types, slots, stop_limit }
}

fn failure(code: impl Into<String>, message: impl Into<String>) -> Failure {
    Failure { code: code.into(), message: message.into() }
}

/// The output of a task that forwarded an event.
#[derive(Serialize)]
struct Forwarded {
    status: u16,
    body: Box<RawValue>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    clipped: bool,
}

/// What an answer means for the task.
fn judge(host: &str, answered: &Answered, now: SystemTime) -> Outcome {
    let status = answered.status;
    if status.is_success() {
        let text = serde_json::to_string(&forwarded(answered)).expect("it is JSON");
        return Outcome::Done { output: Payload(text.into()) };
    }
    let failed = |code: String, message: String, retryable: bool| {
        let retry_after_ms = if retryable { answered.retry_after_ms(now) } else { None };
        Outcome::Failed { failure: failure(code, message), retryable, retry_after_ms }
    };
    if status.is_redirection() {
        // Of its address the host alone: the path may hold a key.
        let host_of = |to: &str| Some(format!(" to {}", to.parse::<http::Uri>().ok()?.authority()?));
        let to = answered.location().and_then(host_of).unwrap_or_default();
        let message = format!("{host} answered {status}{to}: redirects are not followed, name the final address in the registry");
        return failed("redirected".into(), message, false);
    }
    let retryable = is_passing(status);
    let told = clip(String::from_utf8_lossy(&answered.body).trim(), TOLD_BYTES_MAX);
    let told = if told.is_empty() { told } else { format!(": {told}") };
    failed(format!("http_{}", status.as_u16()), format!("{host} answered {status}{told}"), retryable)
}

fn forwarded(answered: &Answered) -> Forwarded {
    let status = answered.status.as_u16();
    let whole = answered.cut.is_none() && answered.body.len() <= KEPT_BYTES_MAX;
    if whole
        && answered.is_json()
        && let Ok(body) = serde_json::from_slice(&answered.body)
    {
        return Forwarded { status, body, clipped: false };
    }
    let text = clip(&String::from_utf8_lossy(&answered.body), KEPT_BYTES_MAX);
    Forwarded { status, body: to_raw_value(&text).expect("text is JSON"), clipped: !whole }
}

/// Whether it arrived nobody knows: it is tried again, with the same key.
fn not_answered(host: &str, unheard: &NotAnswered) -> Outcome {
    let code = match unheard {
        NotAnswered::TimedOut(_) => "timed_out",
        NotAnswered::Unreachable(_) => "unreachable",
        NotAnswered::BrokenOff(_) => "broken_off",
        NotAnswered::Refused(_) => "address_refused",
    };
    Outcome::Failed { failure: failure(code, format!("{host}: {unheard}")), retryable: true, retry_after_ms: None }
}
