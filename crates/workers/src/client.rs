//! One HTTP request out and its answer, bounded in time and size. Redirects are not followed and no proxy is used, whatever
//! the environment says: what is sent goes where it was told to go, or nowhere. One that is gated connects to public addresses
//! alone, and to those that were allowed.

mod dial;
mod gate;

pub use dial::{Found, Lookup, Refused, system};
pub use gate::{Allowed, BadAllowed, Gate};

use dial::Dialer;
use http::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use http::{Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kernel::limits::RETRY_AFTER_MS_MAX;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::error::Error as StdError;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use thiserror::Error;
use tokio::time::{Instant, timeout_at};

/// However long a caller would wait.
const TIME_MAX: Duration = Duration::from_secs(24 * 3_600);
/// Kept shorter than what peers commonly keep, so that they seldom hang up on a request that is on its way.
const IDLE_TIME_MAX: Duration = Duration::from_secs(20);
const IDLE_PER_HOST_MAX: usize = 32;
/// Of the connection and not of the message: these are not for whoever sends to say.
pub const RESERVED: [HeaderName; 7] = [CONNECTION, CONTENT_LENGTH, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];
/// The same for every attempt, so that a receiver knows one that it had before.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const AGENT: &str = concat!("signaller/", env!("CARGO_PKG_VERSION"));

const ESCAPED: &AsciiSet = &CONTROLS.add(b'%');

#[derive(Debug, Error)]
pub enum NoClient {
    #[error("the certificates in {path} cannot be read: {why}; name a PEM file with one or more certificates")]
    Roots { path: String, why: String },
    #[error("TLS cannot be set up: {0}; please report this")]
    Tls(#[from] rustls::Error),
}

/// Not to be shown: addresses and headers may hold keys.
#[derive(Clone)]
pub struct Sending {
    pub method: Method,
    pub url: Uri,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// From the first byte out to the last byte in.
    pub time_max: Duration,
    /// What is read of the answer; the rest is left unread.
    pub answer_bytes_max: usize,
}

#[derive(Clone, Debug)]
pub struct Answered {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    /// The body is not all there is.
    pub cut: Option<Cut>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Cut {
    /// There was more than is read.
    Long,
    /// It broke off, or did not come in time.
    Broken,
}

/// No answer came.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum NotAnswered {
    #[error("it did not answer within {0} ms")]
    TimedOut(u128),
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    #[error("it hung up before it answered: {0}")]
    BrokenOff(String),
    #[error("{0}")]
    Refused(Refused),
}

/// Connections are kept for a while and shared by its clones.
#[derive(Clone, Debug)]
pub struct Client {
    pool: hyper_util::client::legacy::Client<HttpsConnector<Dialer>, Full<Bytes>>,
}

impl Client {
    /// Trusts the public roots, and those in `extra_roots`.
    pub fn new(extra_roots: Option<&Path>) -> Result<Client, NoClient> {
        Client::over(extra_roots, Dialer { lookup: system(), gate: None })
    }

    /// One that connects to no address that the gate does not let through.
    pub fn gated(extra_roots: Option<&Path>, gate: Gate, lookup: Lookup) -> Result<Client, NoClient> {
        Client::over(extra_roots, Dialer { lookup, gate: Some(Arc::new(gate)) })
    }

    fn over(extra_roots: Option<&Path>, dialer: Dialer) -> Result<Client, NoClient> {
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(tls(extra_roots)?).https_or_http().enable_http1().wrap_connector(dialer);
        let pool = hyper_util::client::legacy::Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE_TIME_MAX)
            .pool_max_idle_per_host(IDLE_PER_HOST_MAX)
            .pool_timer(TokioTimer::new())
            .build(connector);
        Ok(Client { pool })
    }

    /// Dropping the future closes the connection.
    pub async fn send(&self, sending: Sending) -> Result<Answered, NotAnswered> {
        let Sending { method, url, headers, body, time_max, answer_bytes_max } = sending;
        let mut request = Request::new(Full::new(body));
        (*request.method_mut(), *request.uri_mut(), *request.headers_mut()) = (method, url, headers);
        request.headers_mut().entry(USER_AGENT).or_insert(HeaderValue::from_static(AGENT));
        let time_max = time_max.min(TIME_MAX);
        let until = Instant::now() + time_max;
        let response = match timeout_at(until, self.pool.request(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) if error.is_connect() => {
                return Err(refused(&error).map_or_else(|| NotAnswered::Unreachable(reasons(&error)), NotAnswered::Refused));
            }
            Ok(Err(error)) => return Err(NotAnswered::BrokenOff(reasons(&error))),
            Err(_) => return Err(NotAnswered::TimedOut(time_max.as_millis())),
        };
        let (parts, body) = response.into_parts();
        let (body, cut) = read(body, until, answer_bytes_max).await;
        Ok(Answered { status: parts.status, headers: parts.headers, body, cut })
    }
}

impl Answered {
    /// How long to wait before the next try, if it says so.
    pub fn retry_after_ms(&self, now: SystemTime) -> Option<u64> {
        retry_after_ms(self.headers.get(RETRY_AFTER)?.to_str().ok()?, now)
    }

    /// Where it says to go instead.
    pub fn location(&self) -> Option<&str> {
        self.headers.get(LOCATION)?.to_str().ok()
    }

    pub fn is_json(&self) -> bool {
        let kind = self.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        kind == "application/json" || kind.ends_with("+json")
    }
}

/// Seconds, or a date.
fn retry_after_ms(text: &str, now: SystemTime) -> Option<u64> {
    let text = text.trim();
    let ms = match text.parse::<u64>() {
        Ok(seconds) => seconds.saturating_mul(1_000),
        Err(_) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => u64::MAX,
        Err(_) => {
            let wait = httpdate::parse_http_date(text).ok()?.duration_since(now).unwrap_or_default();
            u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
        }
    };
    Some(ms.min(RETRY_AFTER_MS_MAX))
}

/// As much as may be read until then. The status has come: whatever befalls the rest does not change it.
async fn read(mut body: Incoming, until: Instant, bytes_max: usize) -> (Vec<u8>, Option<Cut>) {
    let mut kept = Vec::new();
    loop {
        let data = match timeout_at(until, body.frame()).await {
            Ok(None) => return (kept, None),
            Ok(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
            Ok(Some(Err(_))) | Err(_) => return (kept, Some(Cut::Broken)),
        };
        let room = bytes_max - kept.len();
        kept.extend_from_slice(&data[..data.len().min(room)]);
        if data.len() > room {
            return (kept, Some(Cut::Long));
        }
    }
}

/// The gate's word, if that is what is behind an error.
fn refused(error: &(dyn StdError + 'static)) -> Option<Refused> {
    let mut next = Some(error);
    while let Some(error) = next {
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(refused) = inner.and_then(|inner| inner.downcast_ref::<Refused>()) {
            return Some(refused.clone());
        }
        next = error.source();
    }
    None
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum BadAddress {
    NoUrl,
    /// It holds a user name or a password.
    UserInfo,
}

/// A URL that something can be sent to.
pub fn address(text: &str) -> Result<Uri, BadAddress> {
    let url: Uri = text.parse().map_err(|_| BadAddress::NoUrl)?;
    let (place, host) = (url.authority().map_or("", |authority| authority.as_str()), url.host().unwrap_or_default());
    if place.contains('@') {
        return Err(BadAddress::UserInfo);
    }
    // A port that is none is neither part of the host nor a port.
    let is_reachable = !host.is_empty() && (place == host || url.port_u16().is_some());
    if matches!(url.scheme_str(), Some("http" | "https")) && is_reachable { Ok(url) } else { Err(BadAddress::NoUrl) }
}

/// Any text as the value of a header: what no header takes stands as `%XX`.
pub fn header_value(text: &str) -> HeaderValue {
    let escaped = || utf8_percent_encode(text, ESCAPED).to_string();
    HeaderValue::try_from(text).or_else(|_| HeaderValue::try_from(escaped())).expect("plain ASCII is a header's value")
}

/// Whether the same request may fare better later.
pub fn is_passing(status: StatusCode) -> bool {
    let later = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_EARLY, StatusCode::TOO_MANY_REQUESTS];
    status.is_server_error() || later.contains(&status)
}

fn tls(extra_roots: Option<&Path>) -> Result<ClientConfig, NoClient> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(path) = extra_roots {
        let unread = |why: String| NoClient::Roots { path: path.display().to_string(), why };
        let found = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let found = found.map_err(|error| unread(error.to_string()))?;
        if found.is_empty() {
            return Err(unread("there is none in it".into()));
        }
        for certificate in found {
            roots.add(certificate).map_err(|error| unread(error.to_string()))?;
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider())).with_safe_default_protocol_versions()?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// An error and what is behind it, each told once.
fn reasons(error: &dyn StdError) -> String {
    let mut told: Vec<String> = Vec::new();
    let mut next = error.source();
    while let Some(error) = next {
        let text = error.to_string();
        if !told.iter().any(|told| told.contains(&text)) {
            told.push(text);
        }
        next = error.source();
    }
    if told.is_empty() { error.to_string() } else { told.join(": ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_told_in_seconds_or_as_a_date() {
        let now = httpdate::parse_http_date("Mon, 16 Nov 2026 10:00:00 GMT").unwrap();
        for (text, ms) in [
            ("3", Some(3_000)),
            (" 0 ", Some(0)),
            ("Mon, 16 Nov 2026 10:00:05 GMT", Some(5_000)),
            ("Mon, 16 Nov 2026 09:00:00 GMT", Some(0)),
            ("Wed, 16 Nov 2996 10:00:00 GMT", Some(RETRY_AFTER_MS_MAX)),
            ("99999999999999999999999", Some(RETRY_AFTER_MS_MAX)),
            ("18446744073709551615", Some(RETRY_AFTER_MS_MAX)),
            ("soon", None),
            ("-1", None),
            ("1.5", None),
            ("", None),
        ] {
            assert_eq!(retry_after_ms(text, now), ms, "{text}");
        }
    }

    #[test]
    fn what_no_header_takes_is_escaped() {
        for (text, header) in [("run-1/0/a", "run-1/0/a"), ("ü\n1%", "%C3%BC%0A1%25"), ("a\nb", "a%0Ab")] {
            assert_eq!(header_value(text), header);
        }
    }

    #[test]
    fn roots_that_are_none_are_refused_with_their_file() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            let path = folder.path().join("roots.pem");
            std::fs::write(&path, text).unwrap();
            let refused = Client::new(Some(&path)).unwrap_err().to_string();
            assert!(refused.contains("roots.pem") && refused.contains("name a PEM file"), "{refused}");
        }
        assert!(Client::new(Some(&folder.path().join("none.pem"))).is_err());
        assert!(Client::new(None).is_ok());
    }
}
