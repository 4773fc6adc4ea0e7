//! How requests of the S3 client reach the network: HTTP/1.1 over rustls with ring, no proxy, bounded in time.

use async_trait::async_trait;
use http_body_util::{BodyExt, Limited};
use hyper::StatusCode;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, connect};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kernel::limits::{BLOB_BYTES_MAX, HEARTBEAT_MS_DEFAULT, PAYLOAD_BYTES_MAX};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse, HttpResponseBody,
    HttpService,
};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use thiserror::Error;
use tokio::time::{Instant, Sleep};

const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
/// Kept shorter than what servers commonly keep.
const IDLE_TIME_MAX: Duration = Duration::from_secs(20);

/// How long the other end is waited for.
#[derive(Copy, Clone, Debug)]
pub struct Patience {
    /// To the first byte of an answer, and between two bytes of its body.
    pub answer: Duration,
    /// For a body to go over, however small it is; one that is larger has a second more for each `bytes_per_s`.
    pub body: Duration,
    pub bytes_per_s: u64,
}

impl Patience {
    pub const USUAL: Patience =
        Patience { answer: Duration::from_secs(10), body: Duration::from_secs(20), bytes_per_s: 256 * 1_024 };

    pub const fn for_body(&self, bytes: u64) -> Duration {
        self.body.saturating_add(Duration::from_secs(bytes / self.bytes_per_s))
    }
}

impl Patience {
    /// One request, however often it is tried again: no more is begun after `answer`.
    pub const fn whole(&self) -> Duration {
        self.answer.saturating_mul(3).saturating_add(self.for_body(BLOB_BYTES_MAX as u64))
    }
}

// Who waits for a value to be put away still holds its lease then.
const _: () = assert!(Patience::USUAL.for_body(PAYLOAD_BYTES_MAX as u64).as_millis() < HEARTBEAT_MS_DEFAULT as u128);

type Pool = Client<HttpsConnector<connect::HttpConnector>, HttpRequestBody>;

#[derive(Debug)]
pub struct Connector(pub Patience);

impl HttpConnector for Connector {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        let failed = |source| object_store::Error::Generic { store: "S3", source };
        let roots: RootCertStore = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(error.into()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut tcp = connect::HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIME_MAX));
        let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(tcp);
        let pool =
            Client::builder(TokioExecutor::new()).pool_idle_timeout(IDLE_TIME_MAX).pool_timer(TokioTimer::new()).build(connector);
        Ok(HttpClient::new(Network { pool, patience: self.0 }))
    }
}

#[derive(Debug)]
struct Network {
    pool: Pool,
    patience: Patience,
}

#[async_trait]
impl HttpService for Network {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let is_put = request.method() == "PUT";
        // With the sending of what may be a large blob.
        let sending = self.patience.for_body(request.body().content_length() as u64);
        let time_max = if is_put { sending } else { self.patience.answer };
        let response = match tokio::time::timeout(time_max, self.pool.request(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) if error.is_connect() => return Err(HttpError::new(HttpErrorKind::Connect, error)),
            Ok(Err(error)) => return Err(HttpError::new(HttpErrorKind::Interrupted, error)),
            Err(_) => return Err(HttpError::new(HttpErrorKind::Timeout, Late::Answer(time_max))),
        };
        let (parts, body) = response.into_parts();
        let body = Awaited::new(body, self.patience);
        if is_put && is_of_the_object(parts.status) {
            return Err(refused(parts.status, body).await);
        }
        Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(body)))
    }
}

/// What was to be put is not taken. The client would call that a failure like any other.
#[derive(Debug, Error)]
#[error("{status}{said}")]
pub struct Refusal {
    status: StatusCode,
    said: String,
}

/// What is read and told of a "no".
const REFUSAL_BYTES_MAX: usize = 16 * 1_024;
const REFUSAL_CHARS_MAX: usize = 300;

/// A "no" that may be meant for what was put, and not for who asks, how often, or for a place that is missing.
fn is_of_the_object(status: StatusCode) -> bool {
    let of_the_place = [
        StatusCode::UNAUTHORIZED,
        StatusCode::FORBIDDEN,
        StatusCode::NOT_FOUND,
        StatusCode::REQUEST_TIMEOUT,
        StatusCode::CONFLICT,
        StatusCode::PRECONDITION_FAILED,
        StatusCode::TOO_MANY_REQUESTS,
    ];
    status.is_client_error() && !of_the_place.contains(&status)
}

async fn refused(status: StatusCode, body: Awaited) -> HttpError {
    let said = Limited::new(body, REFUSAL_BYTES_MAX).collect().await.map(|said| said.to_bytes()).unwrap_or_default();
    let said: String = String::from_utf8_lossy(&said).trim().chars().take(REFUSAL_CHARS_MAX).collect();
    // Amazon's word for a line that was too slow, under the status of what is wrong.
    let kind = if said.contains("<Code>RequestTimeout</Code>") { HttpErrorKind::Timeout } else { HttpErrorKind::Unknown };
    let said = if said.is_empty() { said } else { format!(": {said}") };
    match kind {
        HttpErrorKind::Timeout => HttpError::new(kind, std::io::Error::other(format!("{status}{said}"))),
        kind => HttpError::new(kind, Refusal { status, said }),
    }
}

#[derive(Debug, Error)]
enum Late {
    #[error("no answer within {} s", .0.as_secs())]
    Answer(Duration),
    #[error("its answer broke off: nothing more came for {} s", .0.as_secs())]
    Still(Duration),
    #[error("its answer was not whole after {} s", .0.as_secs())]
    Slow(Duration),
}

/// A body that is given up when nothing more comes of it, or so little at a time that it would never be whole.
struct Awaited {
    body: Incoming,
    still_max: Duration,
    whole_max: Duration,
    /// When both are over.
    still: Pin<Box<Sleep>>,
    whole: Pin<Box<Sleep>>,
}

impl Awaited {
    fn new(body: Incoming, patience: Patience) -> Awaited {
        let still_max = patience.answer;
        let whole_max = patience.for_body(body.size_hint().exact().unwrap_or(BLOB_BYTES_MAX as u64));
        let after = |time| Box::pin(tokio::time::sleep(time));
        Awaited { body, still_max, whole_max, still: after(still_max), whole: after(whole_max) }
    }
}

impl Body for Awaited {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let this = &mut *self;
        let late = |late| Poll::Ready(Some(Err(HttpError::new(HttpErrorKind::Timeout, late))));
        if this.whole.as_mut().poll(cx).is_ready() {
            return late(Late::Slow(this.whole_max));
        }
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) {
            this.still.as_mut().reset(Instant::now() + this.still_max);
            return Poll::Ready(frame.map(|frame| frame.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error))));
        }
        match this.still.as_mut().poll(cx) {
            Poll::Ready(()) => late(Late::Still(this.still_max)),
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
