//! What an `http` task asks for, made into a request: its fields checked, its secrets put in, its key set.

use crate::client::{BadAddress, IDEMPOTENCY_KEY, RESERVED, Sending, address, header_value};
use crate::secrets::{NoSecret, Revealed, Secrets, named};
use flow::define::parse_duration_ms;
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{HeaderName, Method, StatusCode, Uri};
use kernel::names::clip;
use kernel::record::Failure;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::time::Duration;

const TIME_DEFAULT: Duration = Duration::from_secs(30);
const REDIRECTS_DEFAULT: u8 = 5;
const REDIRECTS_MAX: u8 = 20;
const HEADERS_MAX: usize = 64;
/// What is told of a path.
const SHOWN_BYTES_MAX: usize = 100;
/// What a query leaves as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The input of an `http` task, or what a preset makes of one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object such as {\"url\": \"https://example.com/\"}")]
pub struct Asked {
    url: String,
    method: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, Value>,
    #[serde(default)]
    query: BTreeMap<String, Value>,
    body: Option<Box<RawValue>>,
    expect: Option<Value>,
    timeout: Option<String>,
    redirects: Option<u8>,
    #[serde(default)]
    response: Response,
    #[serde(default = "yes")]
    idempotency_key: bool,
}

/// Its fields.
pub const FIELDS: [&str; 10] =
    ["url", "method", "headers", "query", "body", "expect", "timeout", "redirects", "response", "idempotency_key"];

fn yes() -> bool {
    true
}

/// What the body of an answer is kept as.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// As JSON or text, and as a blob where it is neither, or too large for an output.
    #[default]
    Auto,
    Json,
    Text,
    Blob,
}

/// Ready to be sent. Not to be shown.
pub struct Prepared {
    pub sending: Sending,
    pub revealed: Revealed,
    pub expect: Expect,
    pub redirects_max: u8,
    pub response: Response,
    /// How what is asked for may be told.
    pub shown: String,
}

/// The statuses that are an answer; others are a failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expect(Vec<(u16, u16)>);

impl Expect {
    pub fn holds(&self, status: StatusCode) -> bool {
        self.0.iter().any(|(from, to)| (*from..=*to).contains(&status.as_u16()))
    }

    /// `200`, `"2xx"`, or a list of such.
    fn parse(value: &Value) -> Option<Expect> {
        let one = |value: &Value| match value {
            Value::String(text) if text.len() == 3 && text.ends_with("xx") => {
                let hundred = text[..1].parse::<u16>().ok().filter(|digit| (1..=5).contains(digit))? * 100;
                Some((hundred, hundred + 99))
            }
            Value::String(text) => text.parse().ok().map(|code| (code, code)),
            number => u16::try_from(number.as_u64()?).ok().map(|code| (code, code)),
        };
        let ranges: Vec<(u16, u16)> = match value {
            Value::Array(values) => values.iter().map(one).collect::<Option<_>>()?,
            value => vec![one(value)?],
        };
        let is_status = |(from, to): &(u16, u16)| *from >= 100 && *to <= 599;
        (!ranges.is_empty() && ranges.iter().all(is_status)).then_some(Expect(ranges))
    }
}

/// `key`: the same for every attempt at this work.
pub fn prepare(asked: Asked, secrets: &Secrets, key: &str, answer_bytes_max: usize) -> Result<Prepared, Failure> {
    let mut revealed = Revealed::default();
    // A part of a secret cannot be known again.
    let is_plain = named(&asked.url).next().is_none();
    match made(asked, secrets, key, answer_bytes_max, &mut revealed) {
        Ok((sending, expect, redirects_max, response)) => {
            let path = if is_plain { sending.url.path() } else { "" };
            let shown = format!("{} {}{}", sending.method, host_of(&sending.url), clip(path, SHOWN_BYTES_MAX));
            let shown = revealed.mask().text(&shown);
            Ok(Prepared { sending, revealed, expect, redirects_max, response, shown })
        }
        // Whatever it says, it says nothing that is secret.
        Err(Failure { code, message }) => Err(Failure { code, message: revealed.mask().text(&message) }),
    }
}

/// With its port, if that is written.
pub fn host_of(url: &Uri) -> &str {
    url.authority().map_or("it", |authority| authority.as_str())
}

type Made = (Sending, Expect, u8, Response);

fn made(asked: Asked, secrets: &Secrets, key: &str, answer_bytes_max: usize, revealed: &mut Revealed) -> Result<Made, Failure> {
    let url = url(&asked, secrets, revealed)?;
    let body = asked.body.as_deref().map(|body| self::body(body, secrets, revealed)).transpose()?;
    let default = if body.is_some() { Method::POST } else { Method::GET };
    let method = asked.method.as_deref().map_or(Ok(default), method)?;
    let mut headers = headers(&asked.headers, secrets, revealed)?;
    let body = match body {
        Some((bytes, kind)) => {
            headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(kind));
            bytes
        }
        None => Vec::new(),
    };
    // What would come back packed could not be looked into.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if asked.idempotency_key {
        headers.entry(IDEMPOTENCY_KEY).or_insert_with(|| header_value(key));
    }
    revealed.check(url.host().unwrap_or_default()).map_err(no_secret)?;
    let time_max = match &asked.timeout {
        Some(text) => Duration::from_millis(
            parse_duration_ms(text)
                .filter(|ms| *ms > 0)
                .ok_or_else(|| bad(format!("timeout `{text}` is not such as 500ms, 30s or 5m")))?,
        ),
        None => TIME_DEFAULT,
    };
    let expect = match &asked.expect {
        Some(value) => Expect::parse(value)
            .ok_or_else(|| bad(format!("expect {value} is not a status such as 200, \"2xx\" or [200, 404]")))?,
        None => Expect(vec![(200, 299)]),
    };
    let redirects_max = asked.redirects.unwrap_or(REDIRECTS_DEFAULT);
    if redirects_max > REDIRECTS_MAX {
        return Err(bad(format!("redirects may be at most {REDIRECTS_MAX}")));
    }
    let sending = Sending { method, url, headers, body: body.into(), time_max, answer_bytes_max };
    Ok((sending, expect, redirects_max, asked.response))
}

fn url(asked: &Asked, secrets: &Secrets, revealed: &mut Revealed) -> Result<Uri, Failure> {
    // A secret may not turn up in what is told of a wrong address: it is told as it was written.
    let mut text = secrets.fill_address(&asked.url, revealed).map_err(no_secret)?;
    if let Some(fragment) = text.find('#') {
        text.truncate(fragment);
    }
    for (name, value) in &asked.query {
        let values = match value {
            Value::Array(values) => values.iter().collect(),
            Value::Null => Vec::new(),
            value => vec![value],
        };
        for value in values {
            let value =
                scalar(value).ok_or_else(|| bad(format!("query `{name}` is a text, a number, true, false or a list of such")))?;
            let value = secrets.fill(&value, revealed).map_err(no_secret)?;
            text.push(if text.contains('?') { '&' } else { '?' });
            text.push_str(&format!("{}={}", utf8_percent_encode(name, PLAIN), utf8_percent_encode(&value, PLAIN)));
        }
    }
    address(&text).map_err(|wrong| {
        let url = clip(&asked.url, 200);
        bad(match wrong {
            BadAddress::NoUrl if address(&asked.url).is_ok() => {
                format!("`{url}` is no address with the value of its secret: hand that over in query, which escapes it, or in a header")
            }
            BadAddress::NoUrl => format!("`{url}` is no address: write http://HOST/PATH or https://HOST/PATH"),
            BadAddress::UserInfo => format!("`{url}` holds a user name or a password: send them in a header"),
        })
    })
}

fn method(text: &str) -> Result<Method, Failure> {
    const KNOWN: [Method; 7] =
        [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];
    let known = KNOWN.into_iter().find(|method| method.as_str().eq_ignore_ascii_case(text));
    known.ok_or_else(|| bad(format!("method `{text}` is none of GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS")))
}

fn headers(asked: &BTreeMap<String, Value>, secrets: &Secrets, revealed: &mut Revealed) -> Result<HeaderMap, Failure> {
    if asked.len() > HEADERS_MAX {
        return Err(bad(format!("there are {} headers; there may be {HEADERS_MAX}", asked.len())));
    }
    let mut headers = HeaderMap::new();
    for (name, value) in asked {
        let known = HeaderName::try_from(name).ok().filter(|name| !RESERVED.contains(name));
        let known = known.ok_or_else(|| bad(format!("header `{name}` cannot be sent: leave it out")))?;
        let value = scalar(value).ok_or_else(|| bad(format!("header `{name}` is a text, a number, true or false")))?;
        let value = HeaderValue::try_from(secrets.fill(&value, revealed).map_err(no_secret)?);
        let value =
            value.map_err(|_| bad(format!("header `{name}` has a value that cannot be sent: leave out control characters")))?;
        headers.insert(known, value);
    }
    Ok(headers)
}

/// A text goes out as it is, and everything else as JSON.
fn body(body: &RawValue, secrets: &Secrets, revealed: &mut Revealed) -> Result<(Vec<u8>, &'static str), Failure> {
    match serde_json::from_str::<String>(body.get()) {
        Ok(text) => Ok((secrets.fill(&text, revealed).map_err(no_secret)?.into_bytes(), "text/plain; charset=utf-8")),
        Err(_) => Ok((secrets.fill_json(body.get(), revealed).map_err(no_secret)?.into_bytes(), "application/json")),
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

pub fn bad(message: impl Into<String>) -> Failure {
    Failure { code: "bad_request".into(), message: message.into() }
}

pub fn no_secret(no: NoSecret) -> Failure {
    Failure { code: "no_secret".into(), message: no.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What goes out for an input, in short.
    fn check(input: &str, sent: Result<&str, &str>) {
        let prepared = serde_json::from_str(input)
            .map_err(|error| bad(error.to_string()))
            .and_then(|asked| prepare(asked, &Secrets::default(), "run-1/0/a", 1));
        match (prepared, sent) {
            (Ok(prepared), Ok(sent)) => {
                let Sending { method, url, headers, body, time_max, .. } = prepared.sending;
                let mut said = format!("{method} {url} {}s", time_max.as_secs());
                for name in ["content-type", "x-n", "idempotency-key"] {
                    said += &headers.get(name).map_or(String::new(), |value| format!(" {name}={}", value.to_str().unwrap()));
                }
                assert_eq!(format!("{said} {}", String::from_utf8_lossy(&body)).trim_end(), sent, "{input}");
            }
            (Err(failure), Err(told)) => assert!(failure.message.contains(told), "{input}: {failure:?}"),
            (prepared, _) => panic!("{input}: {:?}", prepared.err()),
        }
    }

    #[test]
    fn an_input_says_what_is_sent() {
        let key = "idempotency-key=run-1/0/a";
        for (input, sent) in [
            (r#"{"url":"http://h.test/a"}"#, format!("GET http://h.test/a 30s {key}")),
            (r#"{"url":"http://h.test","method":"delete","timeout":"1m30s"}"#, format!("DELETE http://h.test/ 90s {key}")),
            (
                r#"{"url":"http://h.test/?a=1#x","query":{"q":"ü &=","n":[1,2.50],"none":null,"b":true}}"#,
                format!("GET http://h.test/?a=1&b=true&n=1&n=2.5&q=%C3%BC%20%26%3D 30s {key}"),
            ),
            (
                r#"{"url":"http://h.test/","body":{"n":1.50}}"#,
                format!(r#"POST http://h.test/ 30s content-type=application/json {key} {{"n":1.50}}"#),
            ),
            (
                r#"{"url":"http://h.test/","method":"PUT","body":"a \"b\"","headers":{"X-N":7,"Idempotency-Key":"mine"}}"#,
                "PUT http://h.test/ 30s content-type=text/plain; charset=utf-8 x-n=7 idempotency-key=mine a \"b\"".to_owned(),
            ),
            (
                r#"{"url":"http://h.test/","body":"a=1","headers":{"content-type":"application/x-www-form-urlencoded"},"idempotency_key":false}"#,
                "POST http://h.test/ 30s content-type=application/x-www-form-urlencoded a=1".to_owned(),
            ),
        ] {
            check(input, Ok(&sent));
        }
    }

    #[test]
    fn what_cannot_be_sent_is_told() {
        for (input, told) in [
            ("{}", "missing field `url`"),
            (r#"{"url":"h.test"}"#, "`h.test` is no address"),
            (r#"{"url":"ftp://h.test"}"#, "is no address"),
            (r#"{"url":"http://u:p@h.test"}"#, "holds a user name or a password"),
            (r#"{"url":"http://h.test","hedaers":{}}"#, "unknown field `hedaers`"),
            (r#"{"url":"http://h.test","method":"FETCH"}"#, "method `FETCH` is none of"),
            (r#"{"url":"http://h.test","headers":{"Host":"x"}}"#, "header `Host` cannot be sent"),
            (r#"{"url":"http://h.test","headers":{"x":"a\nb"}}"#, "leave out control characters"),
            (r#"{"url":"http://h.test","headers":{"x":[]}}"#, "header `x` is a text"),
            (r#"{"url":"http://h.test","query":{"x":{}}}"#, "query `x` is a text"),
            (r#"{"url":"http://h.test","timeout":"soon"}"#, "timeout `soon` is not such as"),
            (r#"{"url":"http://h.test","timeout":"0s"}"#, "timeout `0s`"),
            (r#"{"url":"http://h.test","expect":"all"}"#, "expect \"all\" is not a status"),
            (r#"{"url":"http://h.test","expect":[]}"#, "is not a status"),
            (r#"{"url":"http://h.test","expect":700}"#, "is not a status"),
            (r#"{"url":"http://h.test","redirects":21}"#, "at most 20"),
            (r#"{"url":"http://h.test","response":"yaml"}"#, "unknown variant `yaml`"),
            (r#"{"url":"http://h.test/secret://NONE"}"#, "there is no secret `NONE`"),
        ] {
            check(input, Err(told));
        }
    }

    #[test]
    fn a_status_is_expected_by_number_or_by_hundred() {
        for (expect, holds, not) in [("200", 200, 201), ("\"2xx\"", 299, 300), ("[404, \"3xx\", \"200\"]", 404, 405)] {
            let expect = Expect::parse(&serde_json::from_str(expect).unwrap()).unwrap();
            let status = |code| StatusCode::from_u16(code).unwrap();
            assert_eq!((expect.holds(status(holds)), expect.holds(status(not))), (true, false), "{expect:?}");
        }
    }
}
