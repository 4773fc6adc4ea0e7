//! Passes events on to another system over HTTP. What is sent is the event as it was received, or as the event API of an
//! Inngest server takes it; what comes back says whether that was all, whether to try again, and when.
//!
//! Where it goes is asked anew for every attempt, so a changed registry holds for what waits. Addresses may hold keys:
//! failures name the host alone.

mod shape;

pub use shape::Shape;

use crate::client::{Answered, Client, NotAnswered, Sending};
use crate::inside::{Job, Performs, Place};
use http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use kernel::command::Outcome;
use kernel::handler::FORWARD_TYPE;
use kernel::names::{TypeName, WorkerName, clip};
use kernel::record::{Failure, Payload};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use thiserror::Error;

pub const TIME_MAX_DEFAULT: Duration = Duration::from_secs(30);
/// What is kept of an answer: as much as rides in a record.
const KEPT_BYTES_MAX: usize = 2_048;
/// What is told of one that is a "no".
const TOLD_BYTES_MAX: usize = 300;
/// The same for every attempt, so that a receiver knows one that it had before.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const TASK: HeaderName = HeaderName::from_static("signaller-task");
const ATTEMPT: HeaderName = HeaderName::from_static("signaller-attempt");
/// Of the connection and not of the message: these are not for the registry to say.
const RESERVED: [HeaderName; 7] = [CONNECTION, CONTENT_LENGTH, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];

/// Where events go, and how.
#[derive(Clone)]
pub struct Target {
    url: Uri,
    method: Method,
    headers: HeaderMap,
    time_max: Duration,
    shape: Shape,
}

#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BadTarget {
    #[error("`{0}` is no address to forward to: write http://HOST/PATH or https://HOST/PATH")]
    Url(String),
    #[error("the address holds a user name or a password: send them in a header")]
    UserInfo,
    #[error("events are not sent with `{0}`: use POST, PUT or PATCH")]
    Method(String),
    #[error("`{0}` is no header that can be sent: take it out, or correct its name")]
    HeaderName(String),
    #[error("header `{0}` has a value that cannot be sent: leave out line breaks and control characters")]
    HeaderValue(String),
}

impl Target {
    pub fn new(url: &str, time_max: Duration, shape: Shape) -> Result<Target, BadTarget> {
        // It may hold a key: so much of it is shown as cannot be one.
        let shown = || BadTarget::Url(clip(url.split(['/', '?', '#']).next().unwrap_or_default(), 40));
        let uri: Uri = url.parse().map_err(|_| shown())?;
        let host = uri.host().unwrap_or_default();
        let place = uri.authority().map_or("", |authority| authority.as_str());
        if place.contains('@') {
            return Err(BadTarget::UserInfo);
        }
        // A port that is none is neither part of the host nor a port.
        let is_reachable = !host.is_empty() && (place == host || uri.port_u16().is_some());
        if !matches!(uri.scheme_str(), Some("http" | "https")) || !is_reachable {
            return Err(shown());
        }
        Ok(Target { url: uri, method: Method::POST, headers: HeaderMap::new(), time_max, shape })
    }

    pub fn method(self, method: &str) -> Result<Target, BadTarget> {
        let known = [Method::POST, Method::PUT, Method::PATCH];
        let found = known.into_iter().find(|known| known.as_str().eq_ignore_ascii_case(method));
        Ok(Target { method: found.ok_or_else(|| BadTarget::Method(clip(method, 40)))?, ..self })
    }

    pub fn header(mut self, name: &str, value: &str) -> Result<Target, BadTarget> {
        let known = HeaderName::try_from(name).ok().filter(|name| !RESERVED.contains(name));
        let key = known.ok_or_else(|| BadTarget::HeaderName(clip(name, 40)))?;
        let mut value = HeaderValue::try_from(value).map_err(|_| BadTarget::HeaderValue(clip(name, 40)))?;
        value.set_sensitive(true);
        self.headers.append(key, value);
        Ok(self)
    }

    fn host(&self) -> &str {
        self.url.authority().map_or("it", |authority| authority.as_str())
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({})", self.host())
    }
}

/// Does the work of tasks of the type [`FORWARD_TYPE`]; `target` says where the event of a task goes.
pub struct Forward<F> {
    client: Client,
    target: F,
}

impl<F: Fn(&Job) -> Result<Arc<Target>, Failure> + Send + Sync + 'static> Forward<F> {
    pub fn new(client: Client, target: F) -> Forward<F> {
        Forward { client, target }
    }

    async fn send(&self, job: &Job) -> Result<Outcome, Failure> {
        let target = (self.target)(job)?;
        let body = target.shape.body(job.input.text()).map_err(|why| failure("unfit_event", why))?;
        let mut headers = target.headers.clone();
        headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
        let ours =
            [(IDEMPOTENCY_KEY, job.work_key()), (TASK, job.grant.task.to_string()), (ATTEMPT, job.grant.attempt.to_string())];
        for (name, text) in ours {
            // A key may be text that no header takes as it is.
            let value = HeaderValue::try_from(&text).or_else(|_| HeaderValue::try_from(shape::escaped(&text)));
            headers.insert(name, value.expect("ASCII without control characters is a header's value"));
        }
        let (method, url, time_max) = (target.method.clone(), target.url.clone(), target.time_max);
        let answer = self.client.send(Sending { method, url, headers, body: body.into(), time_max }).await;
        Ok(match answer {
            Ok(answered) => judge(target.host(), &answered, SystemTime::now()),
            Err(unheard) => not_answered(target.host(), &unheard),
        })
    }
}

impl<F: Fn(&Job) -> Result<Arc<Target>, Failure> + Send + Sync + 'static> Performs for Forward<F> {
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
        let to = answered.location().map_or(String::new(), |to| format!(" to {}", clip(to, TOLD_BYTES_MAX)));
        let message = format!("{host} answered {status}{to}: redirects are not followed, name the final address in the registry");
        return failed("redirected".into(), message, false);
    }
    let retryable = status.is_server_error()
        || matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS);
    let told = clip(String::from_utf8_lossy(&answered.body).trim(), TOLD_BYTES_MAX);
    let told = if told.is_empty() { told } else { format!(": {told}") };
    failed(format!("http_{}", status.as_u16()), format!("{host} answered {status}{told}"), retryable)
}

fn forwarded(answered: &Answered) -> Forwarded {
    let status = answered.status.as_u16();
    let whole = !answered.is_cut && answered.body.len() <= KEPT_BYTES_MAX;
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
    };
    Outcome::Failed { failure: failure(code, format!("{host}: {unheard}")), retryable: true, retry_after_ms: None }
}
