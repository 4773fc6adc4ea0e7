//! The HTTP client. It turns every way a call can go wrong into a [`Failure`] that says what was tried and what to do.

use crate::config::Target;
use crate::output::{Exit, Failure};
use crate::place;
use doors::wire::{ErrorBody, STREAM_COMMENT_EVERY_MS, StreamQuery};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::Read;
use std::time::Duration;
use ureq::http::{Request, Response};
use ureq::{Agent, Body, SendBody};

const CONNECT_MS_MAX: u64 = 5_000;
const ANSWER_MS_MAX: u64 = 30_000;
/// Large bodies take their time.
const BYTES_MS_MAX: u64 = 300_000;
/// A page of a thousand tasks fits with room to spare; a body without an end does not.
const BODY_BYTES_MAX: u64 = 512 * 1024 * 1024;

#[derive(Clone)]
pub struct Client {
    agent: Agent,
    target: Target,
}

impl Client {
    pub fn new(target: Target) -> Client {
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(concat!("signaller/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(Duration::from_millis(CONNECT_MS_MAX)))
            // A connection kept longer than the server keeps it would fail the next call for nothing.
            .max_idle_age(Duration::from_secs(4));
        if target.is_loopback() {
            config = config.proxy(None);
        }
        Client { agent: config.build().new_agent(), target }
    }

    pub fn target(&self) -> &Target {
        &self.target
    }

    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.call::<(), T>("GET", path, None, ANSWER_MS_MAX)
    }

    pub fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Failure> {
        self.call("POST", path, Some(body), ANSWER_MS_MAX)
    }

    pub fn get_within<T: DeserializeOwned>(&self, path: &str, answer_ms_max: u64) -> Result<T, Failure> {
        self.call::<(), T>("GET", path, None, answer_ms_max)
    }

    /// A call that is given up after `answer_ms_max`.
    pub fn post_within<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize, answer_ms_max: u64) -> Result<T, Failure> {
        self.call("POST", path, Some(body), answer_ms_max)
    }

    pub fn put<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Failure> {
        self.call("PUT", path, Some(body), ANSWER_MS_MAX)
    }

    pub fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.call::<(), T>("DELETE", path, None, ANSWER_MS_MAX)
    }

    fn call<B: Serialize, T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: Option<&B>,
        answer_ms_max: u64,
    ) -> Result<T, Failure> {
        let body = body.map(|body| serde_json::to_vec(body).expect("requests are JSON"));
        let body = self.answered(method, path, body.map(|body| ("application/json", body)), answer_ms_max)?;
        serde_json::from_slice(&body).map_err(|error| self.not_ours(200, &format!("its answer does not fit: {error}")))
    }

    /// Sends a definition as it stands.
    pub fn post_text<T: DeserializeOwned>(&self, path: &str, text: Vec<u8>) -> Result<T, Failure> {
        let body = self.answered("POST", path, Some(("text/yaml", text)), ANSWER_MS_MAX)?;
        serde_json::from_slice(&body).map_err(|error| self.not_ours(200, &format!("its answer does not fit: {error}")))
    }

    pub fn put_text<T: DeserializeOwned>(&self, path: &str, text: Vec<u8>) -> Result<T, Failure> {
        let body = self.answered("PUT", path, Some(("text/yaml", text)), ANSWER_MS_MAX)?;
        serde_json::from_slice(&body).map_err(|error| self.not_ours(200, &format!("its answer does not fit: {error}")))
    }

    /// Sends bytes, whatever they are.
    pub fn put_bytes<T: DeserializeOwned>(&self, path: &str, bytes: Vec<u8>) -> Result<T, Failure> {
        let body = self.answered("PUT", path, Some(("application/octet-stream", bytes)), BYTES_MS_MAX)?;
        serde_json::from_slice(&body).map_err(|error| self.not_ours(200, &format!("its answer does not fit: {error}")))
    }

    pub fn get_bytes(&self, path: &str) -> Result<Vec<u8>, Failure> {
        self.answered("GET", path, None, BYTES_MS_MAX)
    }

    /// An answer that is text.
    pub fn get_text(&self, path: &str) -> Result<String, Failure> {
        let body = self.answered("GET", path, None, ANSWER_MS_MAX)?;
        String::from_utf8(body).map_err(|_| self.not_ours(200, "its answer is not text"))
    }

    fn answered(
        &self,
        method: &str,
        path: &str,
        body: Option<(&'static str, Vec<u8>)>,
        answer_ms_max: u64,
    ) -> Result<Vec<u8>, Failure> {
        let mut response = self.send(method, path, body, None, Some(answer_ms_max))?;
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(BODY_BYTES_MAX).read_to_vec();
        let body = body.map_err(|error| self.unfinished(&error, method))?;
        if !response.status().is_success() {
            return Err(self.refused(status, &body));
        }
        Ok(body)
    }

    /// Opens the stream of records; a silence longer than the server allows itself ends it.
    pub fn stream(&self, query: &StreamQuery, after: Option<&str>) -> Result<impl Read + Send + use<>, Failure> {
        let mut response = self.send("GET", &with_query("/v1/stream", query), None, after, None)?;
        let status = response.status().as_u16();
        if !response.status().is_success() {
            let body = response.body_mut().with_config().limit(BODY_BYTES_MAX).read_to_vec();
            return Err(self.refused(status, &body.unwrap_or_default()));
        }
        Ok(response.into_body().into_reader())
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<(&'static str, Vec<u8>)>,
        last_event_id: Option<&str>,
        answer_ms_max: Option<u64>,
    ) -> Result<Response<Body>, Failure> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.target.url));
        if let Some(token) = &self.target.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if let Some((kind, _)) = &body {
            request = request.header("content-type", *kind);
        }
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let body = body.map_or_else(SendBody::none, |(_, bytes)| SendBody::from_owned_reader(std::io::Cursor::new(bytes)));
        let request = request.body(body).map_err(|error| Failure::usage(format!("this cannot be sent: {error}")))?;
        let config = self.agent.configure_request(request);
        let request = match answer_ms_max {
            Some(ms) => config.timeout_global(Some(Duration::from_millis(CONNECT_MS_MAX + ms))).build(),
            None => config.timeout_per_read(Some(Duration::from_millis(3 * STREAM_COMMENT_EVERY_MS))).build(),
        };
        self.agent.run(request).map_err(|error| self.unsent(&error, method))
    }

    fn unsent(&self, error: &ureq::Error, method: &str) -> Failure {
        if self.target.url.starts_with("https://") && is_no_tls(error) {
            return self.no_tls();
        }
        let never_arrived = match error {
            ureq::Error::Io(error) => {
                matches!(
                    error.kind(),
                    std::io::ErrorKind::ConnectionRefused
                        | std::io::ErrorKind::HostUnreachable
                        | std::io::ErrorKind::NetworkUnreachable
                        | std::io::ErrorKind::AddrNotAvailable
                ) || error.to_string().contains("lookup address")
            } // The kind of a failed look-up of a name has no name.
            ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => true,
            ureq::Error::HostNotFound | ureq::Error::ConnectionFailed | ureq::Error::Tls(_) | ureq::Error::Rustls(_) => true,
            ureq::Error::BadUri(_) | ureq::Error::Http(_) => true,
            _ => false,
        };
        if never_arrived { self.unreachable(error) } else { self.unfinished(error, method) }
    }

    /// Nothing was sent: it is safe to try again.
    fn unreachable(&self, error: &ureq::Error) -> Failure {
        let Target { url, source, .. } = &self.target;
        let failure = Failure::new(Exit::Unavailable, "unreachable", format!("no server answers at {url} ({source}): {error}"));
        if self.target.is_loopback() {
            let (advice, line) = place::advice(url);
            let fix = format!("{advice}; or name another with --url or SIGNALLER_URL");
            return failure.fix(fix).retryable().next(line, "start a server here");
        }
        failure
            .fix("check that it runs and that this address is its own, or name another with --url or SIGNALLER_URL")
            .retryable()
    }

    /// What answers there speaks plainly: nothing of the request was understood.
    fn no_tls(&self) -> Failure {
        let Target { url, source, .. } = &self.target;
        let plain = url.replacen("https://", "http://", 1);
        Failure::new(Exit::Unavailable, "unreachable", format!("{url} ({source}): what listens there does not speak TLS"))
            .fix(format!("call it as {plain}, or at the address of the proxy that speaks TLS for it"))
    }

    /// Something was sent, and no answer came: it may have been done, unless it only asked.
    fn unfinished(&self, error: &ureq::Error, method: &str) -> Failure {
        let Target { url, source, .. } = &self.target;
        let message = format!("the server at {url} ({source}) gave no whole answer: {error}");
        let (message, fix) = if method == "GET" {
            (message, "ask again; nothing was changed by asking")
        } else {
            let fix = "look at the state before sending it again; an add with --idempotency-key may be sent again at once";
            (format!("{message}; whether it acted is not known"), fix)
        };
        Failure::new(Exit::Unavailable, "unavailable", message)
            .fix(fix)
            .retryable()
            .next("status", "see whether the server is well")
    }

    fn refused(&self, status: u16, body: &[u8]) -> Failure {
        let Ok(ErrorBody { error }) = serde_json::from_slice(body) else {
            return self.not_ours(status, "its answer is not one of Signaller's");
        };
        let failure = Failure::of_problem(status, error);
        match status {
            401 if self.target.token.is_none() => failure.fix("give the server's token with --token or SIGNALLER_TOKEN"),
            _ => failure,
        }
    }

    fn not_ours(&self, status: u16, why: &str) -> Failure {
        let Target { url, source, .. } = &self.target;
        Failure::new(Exit::Unavailable, "not_signaller", format!("{url} ({source}) answered {status}, but {why}"))
            .fix("check that a Signaller of this version listens there")
    }
}

/// The answer to the first bytes of TLS was something else.
fn is_no_tls(error: &ureq::Error) -> bool {
    let text = error.to_string();
    text.contains("InvalidContentType") || text.contains("corrupt message") || text.contains("InvalidMessage")
}

/// One segment of a path; names may hold `/`.
pub fn segment(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// `path?name=value&…` with the fields of `query` that are set.
pub fn with_query(path: &str, query: &impl Serialize) -> String {
    let value = serde_json::to_value(query).expect("queries are JSON");
    let pairs = value.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()).map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{}={}", segment(name), segment(&text))
    });
    let pairs: Vec<String> = pairs.collect();
    if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use doors::wire::TaskQuery;

    #[test]
    fn paths_and_queries_are_escaped() {
        assert_eq!(segment("github/push:a@b"), "github%2Fpush%3Aa%40b");
        assert_eq!(segment("ü ?"), "%C3%BC%20%3F");
        let query: TaskQuery = serde_json::from_str(r#"{"queue":"a/b","key":"tenant=x&y","limit":5}"#).unwrap();
        assert_eq!(with_query("/v1/tasks", &query), "/v1/tasks?key=tenant%3Dx%26y&limit=5&queue=a%2Fb");
        assert_eq!(with_query("/v1/tasks", &TaskQuery::default()), "/v1/tasks");
    }
}
