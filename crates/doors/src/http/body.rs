//! Bodies and parameters in, checked: bounded in size and time, JSON alone, unknown fields refused, and every fault a
//! problem with a sentence.

use super::answer::No;
use super::peer::Peer;
use crate::wire::{Problem, said_plainly};
use axum::body::{Bytes, HttpBody};
use axum::extract::{FromRequest, FromRequestParts, Query, RawPathParams, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use futures_util::StreamExt;
use kernel::ids::{BulkId, EventId, RunId, TaskId};
use kernel::limits::BLOB_BYTES_MAX;
use kernel::names::{CronName, QueueName, WebhookName, WorkflowName};
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

pub const BODY_BYTES_MAX: usize = 8 * 1024 * 1024;
const BLOBS_PATH: &str = "/v1/blobs";
/// So many bodies that are larger than all others may be are read at once; the next waits.
const LARGE_BODIES_MAX: usize = 4;
static LARGE_BODIES: Semaphore = Semaphore::const_new(LARGE_BODIES_MAX);
/// Beyond this nobody waits for the end of a body that is too large.
const BODY_BYTES_READ_MAX: usize = 64 * 1024 * 1024;
/// A peer that sends slower than this does not mean it.
const BODY_TIME_MAX: Duration = Duration::from_secs(30);
const BLOB_TIME_MAX: Duration = Duration::from_secs(300);

/// A JSON body; an empty one counts as `{}`.
pub struct Body<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = No;

    async fn from_request(request: Request, _: &S) -> Result<Body<T>, No> {
        let json = request.headers().get(CONTENT_TYPE).map(|kind| {
            let kind = kind.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
            kind.eq_ignore_ascii_case("application/json")
        });
        let batched = BATCHED.iter().find(|(path, _)| *path == request.uri().path());
        // It has been read already, by `whole`.
        let bytes = axum::body::to_bytes(request.into_body(), BODY_BYTES_MAX).await;
        let bytes = bytes.map_err(|error| Problem::invalid(format!("the body could not be read: {error}")))?;
        if bytes.is_empty() {
            return Ok(Body(serde_json::from_slice(b"{}").map_err(Problem::from)?));
        }
        if json != Some(true) {
            let fix = "send it with `content-type: application/json`";
            return Err(No(Problem::new("unsupported_media_type", "the body is not marked as JSON", fix)));
        }
        let read = serde_json::from_slice(&bytes).map_err(|error| match batched {
            Some((path, many)) if bytes.trim_ascii_start().starts_with(b"[") => {
                let fix = format!("post several at once to {path}/batch, as {{\"{many}\": […]}}");
                Problem::new("invalid", format!("{path} takes one object, not a list"), fix)
            }
            Some((path, _)) if error.classify() != Category::Data => {
                let example = if *path == "/v1/events" { EVENT_EXAMPLE } else { TASK_EXAMPLE };
                Problem::new("invalid", format!("this is not JSON: {error}"), format!("send one JSON object, such as {example}"))
            }
            _ => placed::<T>(&bytes).unwrap_or_else(|| Problem::from(error)),
        });
        Ok(Body(read?))
    }
}

/// Where in it something does not fit, which is looked for only then.
fn placed<T: DeserializeOwned>(bytes: &[u8]) -> Option<Problem> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let error = serde_path_to_error::deserialize::<_, T>(&mut reader).err()?;
    let path = error.path().to_string();
    let error = error.into_inner();
    (error.classify() == Category::Data && path != ".").then(|| Problem::unfit(&path, &error))
}

/// Paths that take one, beside which there is one for many, and what that calls them.
const BATCHED: [(&str, &str); 2] = [("/v1/events", "events"), ("/v1/tasks", "tasks")];
const EVENT_EXAMPLE: &str = r#"{"name":"github/push","data":{}}"#;
const TASK_EXAMPLE: &str = r#"{"type":"greet","input":{}}"#;

/// Whatever it is.
pub struct Raw {
    pub bytes: Bytes,
    _place: Option<Place>,
}

impl<S: Send + Sync> FromRequest<S> for Raw {
    type Rejection = No;

    async fn from_request(mut request: Request, _: &S) -> Result<Raw, No> {
        let place = request.extensions_mut().remove::<Place>();
        // It has been read already, by `whole`.
        let bytes = axum::body::to_bytes(request.into_body(), BLOB_BYTES_MAX).await;
        let bytes = bytes.map_err(|error| Problem::invalid(format!("the body could not be read: {error}")))?;
        Ok(Raw { bytes, _place: place })
    }
}

/// The text of a definition, as YAML or JSON; nothing more is known of it here.
pub struct Text(pub Bytes);

const TEXT_KINDS: [&str; 5] = ["text/yaml", "application/yaml", "application/x-yaml", "application/json", "text/plain"];

impl<S: Send + Sync> FromRequest<S> for Text {
    type Rejection = No;

    async fn from_request(request: Request, _: &S) -> Result<Text, No> {
        let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        if !TEXT_KINDS.iter().any(|known| kind.eq_ignore_ascii_case(known)) {
            let fix = "send the definition's own text with `content-type: text/yaml` or `application/json`";
            return Err(No(Problem::new("unsupported_media_type", "the body is not marked as YAML or JSON", fix)));
        }
        // It has been read already, by `whole`.
        let bytes = axum::body::to_bytes(request.into_body(), BODY_BYTES_MAX).await;
        Ok(Text(bytes.map_err(|error| Problem::invalid(format!("the body could not be read: {error}")))?))
    }
}

/// The request with its body read to the end. Whatever the answer will be, it comes after the body: a peer that is
/// answered while it sends may never see the answer, and its next request on this connection would be lost.
pub async fn whole(request: Request, allowed: bool) -> Result<Request, No> {
    if request.body().is_end_stream() {
        return Ok(request);
    }
    // From whoever may not come in no more is read than from anybody.
    let is_blob = request.uri().path() == BLOBS_PATH && allowed;
    let (bytes_max, time_max) = if is_blob { (BLOB_BYTES_MAX, BLOB_TIME_MAX) } else { (BODY_BYTES_MAX, BODY_TIME_MAX) };
    let (mut parts, body) = request.into_parts();
    let is_large = is_blob && body.size_hint().upper().is_none_or(|size| size > BODY_BYTES_MAX as u64);
    let place = if is_large { Some(Place::wait().await) } else { None };
    let reading = async {
        match parts.extensions.get::<Arc<Peer>>() {
            None => collect(body, bytes_max).await,
            Some(peer) => tokio::select! {
                // In this order: the end of a body may be the end of all that is sent.
                biased;
                read = collect(body, bytes_max) => read,
                () = peer.gone() => Err(axum::Error::new("it ends before it is whole")),
            },
        }
    };
    match tokio::time::timeout(time_max, reading).await {
        Ok(Ok(Some(bytes))) => {
            place.map(|place| parts.extensions.insert(place));
            Ok(Request::from_parts(parts, bytes.into()))
        }
        Ok(Ok(None)) => {
            let message = format!("the body is larger than {bytes_max} bytes");
            let fix = if is_blob { "put it in several blobs" } else { "send it in several requests" };
            Err(No(Problem::new("too_large", message, fix)))
        }
        Ok(Err(error)) => Err(No(Problem::invalid(format!("the body could not be read: {error}")))),
        Err(_) => Err(No(Problem::invalid(format!("the body did not arrive within {} s", time_max.as_secs())))),
    }
}

/// One of those for large bodies, until the request is done with.
#[derive(Clone)]
pub struct Place(#[expect(dead_code, reason = "it is given back when it is dropped")] Arc<SemaphorePermit<'static>>);

impl Place {
    pub async fn wait() -> Place {
        Place(Arc::new(LARGE_BODIES.acquire().await.expect("it is never closed")))
    }
}

/// `None` when it is too large. What comes beyond the bound is read and thrown away.
async fn collect(body: axum::body::Body, bytes_max: usize) -> Result<Option<Bytes>, axum::Error> {
    if body.size_hint().lower() > BODY_BYTES_READ_MAX as u64 {
        return Ok(None);
    }
    let mut parts = body.into_data_stream();
    let (mut kept, mut size) = (Kept::One(Bytes::new()), 0usize);
    while let Some(part) = parts.next().await {
        let part = part?;
        size += part.len();
        if size > BODY_BYTES_READ_MAX {
            break;
        }
        kept = if size > bytes_max { Kept::One(Bytes::new()) } else { kept.and(part) };
    }
    Ok((size <= bytes_max).then(|| kept.into_bytes()))
}

/// A body that comes in one piece, as most do, is not copied.
enum Kept {
    One(Bytes),
    Many(Vec<u8>),
}

impl Kept {
    fn and(self, part: Bytes) -> Kept {
        match self {
            Kept::One(one) if one.is_empty() => Kept::One(part),
            Kept::One(one) => Kept::Many([one, part].concat()),
            Kept::Many(mut many) => {
                many.extend_from_slice(&part);
                Kept::Many(many)
            }
        }
    }

    fn into_bytes(self) -> Bytes {
        match self {
            Kept::One(one) => one,
            Kept::Many(many) => many.into(),
        }
    }
}

/// Query parameters; unknown ones are refused.
pub struct Params<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = No;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Params<T>, No> {
        match Query::<T>::try_from_uri(&parts.uri) {
            Ok(Query(params)) => Ok(Params(params)),
            Err(error) => {
                let why = std::error::Error::source(&error).map_or(error.to_string(), |why| why.to_string());
                let fix = "see /openapi.json for the parameters of this path and what each may be";
                Err(No(Problem::new("invalid", said_plainly(&why), fix)))
            }
        }
    }
}

/// The one name in the path, parsed.
pub struct Named<T>(pub T);

pub trait PathName: Sized {
    fn parse_name(text: &str) -> Result<Self, Problem>;
}

impl PathName for TaskId {
    fn parse_name(text: &str) -> Result<TaskId, Problem> {
        let unknown = || {
            Problem::new(
                "task_not_found",
                format!("`{text}` is not a task's id"),
                "an id looks like task-9m2; list tasks to find it",
            )
        };
        TaskId::parse(text).ok_or_else(unknown)
    }
}

impl PathName for BulkId {
    fn parse_name(text: &str) -> Result<BulkId, Problem> {
        let unknown = || {
            Problem::new(
                "bulk_not_found",
                format!("`{text}` is not a bulk's id"),
                "an id looks like bulk-9m2; list bulks to find it",
            )
        };
        BulkId::parse(text).ok_or_else(unknown)
    }
}

impl PathName for RunId {
    fn parse_name(text: &str) -> Result<RunId, Problem> {
        let unknown = || {
            Problem::new("run_not_found", format!("`{text}` is not a run's id"), "an id looks like run-9m2; list runs to find it")
        };
        RunId::parse(text).ok_or_else(unknown)
    }
}

impl PathName for EventId {
    fn parse_name(text: &str) -> Result<EventId, Problem> {
        let unknown = || {
            let fix = "an id looks like event-9m2; list events to find it";
            Problem::new("event_not_found", format!("`{text}` is not an event's id"), fix)
        };
        EventId::parse(text).ok_or_else(unknown)
    }
}

impl PathName for CronName {
    fn parse_name(text: &str) -> Result<CronName, Problem> {
        let fix = "list crons to see those of the registry in force";
        CronName::parse(text).map_err(|bad| Problem::new("cron_not_found", bad.to_string(), fix))
    }
}

impl PathName for WebhookName {
    fn parse_name(text: &str) -> Result<WebhookName, Problem> {
        let fix = "name it under `webhooks:` in the registry";
        WebhookName::parse(text).map_err(|bad| Problem::new("webhook_not_found", bad.to_string(), fix))
    }
}

impl PathName for WorkflowName {
    fn parse_name(text: &str) -> Result<WorkflowName, Problem> {
        Ok(WorkflowName::parse(text)?)
    }
}

impl PathName for QueueName {
    fn parse_name(text: &str) -> Result<QueueName, Problem> {
        Ok(QueueName::parse(text)?)
    }
}

impl<T: PathName, S: Send + Sync> FromRequestParts<S> for Named<T> {
    type Rejection = No;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Named<T>, No> {
        let params = RawPathParams::from_request_parts(parts, state).await;
        let params = params.map_err(|error| Problem::invalid(format!("the path does not decode: {error}")))?;
        let (_, text) = params.iter().next().ok_or_else(|| Problem::invalid("the path names nothing"))?;
        Ok(Named(T::parse_name(text)?))
    }
}
