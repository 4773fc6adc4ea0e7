//! What an answer is kept as: its status, its headers, and its body as JSON, as text, or as a blob.

use super::request::Response;
use crate::client::Answered;
use crate::secrets::Mask;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, SET_COOKIE};
use kernel::names::clip;
use kernel::record::{Failure, Payload};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use std::collections::BTreeMap;

const HEADERS_KEPT_MAX: usize = 64;
const HEADER_BYTES_MAX: usize = 512;

/// The output of an `http` task.
#[derive(Serialize)]
struct Output<'a> {
    status: u16,
    headers: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Box<RawValue>>,
    /// Where the body lies, how large it is and what it says it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    blob: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none", rename = "type")]
    kind: Option<String>,
}

/// An output, or what has to be put away before there is one.
pub enum Kept {
    Inline(Payload),
    Apart(Apart),
}

pub struct Apart {
    pub bytes: Vec<u8>,
    status: u16,
    headers: BTreeMap<String, String>,
}

impl Apart {
    /// The output, when the body is kept under this name.
    pub fn output(&self, blob: String) -> Payload {
        let kind = self.headers.get(CONTENT_TYPE.as_str()).cloned();
        let bytes = Some(self.bytes.len());
        payload(&Output { status: self.status, headers: &self.headers, body: None, blob: Some(blob), bytes, kind })
    }
}

fn payload(output: &Output<'_>) -> Payload {
    Payload(serde_json::to_string(output).expect("it is JSON").into())
}

/// The answer is whole. Nothing in what is kept holds a secret that was sent. What makes a larger output than this is kept apart.
pub fn keep(answered: Answered, response: Response, mask: &Mask, inline_bytes_max: usize) -> Result<Kept, Failure> {
    if let Some(coding) = answered.headers.get(CONTENT_ENCODING).filter(|coding| *coding != "identity") {
        let coding = clip(&String::from_utf8_lossy(coding.as_bytes()), 40);
        return Err(unfit(format!("it is packed as {coding}, which was not asked for")));
    }
    let is_json = answered.is_json();
    let is_text = is_text(&answered.headers);
    let headers = headers(&answered.headers, mask);
    let status = answered.status.as_u16();
    let bytes = mask.body(answered.body);
    let body = match response {
        Response::Blob => None,
        Response::Json => Some(json(&bytes).ok_or_else(|| unfit("it is no JSON".to_owned()))?),
        Response::Text => Some(text(&bytes).ok_or_else(|| unfit("it is no UTF-8".to_owned()))?),
        Response::Auto => {
            let found = if is_json { json(&bytes) } else { None };
            found.or_else(|| if is_json || is_text { text(&bytes) } else { None })
        }
    };
    if let Some(body) = body {
        let inline = payload(&Output { status, headers: &headers, body: Some(body), blob: None, bytes: None, kind: None });
        if inline.text().len() <= inline_bytes_max {
            return Ok(Kept::Inline(inline));
        }
    }
    Ok(Kept::Apart(Apart { bytes, status, headers }))
}

fn unfit(why: String) -> Failure {
    Failure { code: "unfit_response".into(), message: format!("the answer cannot be kept as it should be: {why}") }
}

fn json(bytes: &[u8]) -> Option<Box<RawValue>> {
    serde_json::from_str(std::str::from_utf8(bytes).ok()?).ok()
}

fn text(bytes: &[u8]) -> Option<Box<RawValue>> {
    to_raw_value(std::str::from_utf8(bytes).ok()?).ok()
}

/// Says that it is one, or says nothing.
fn is_text(headers: &HeaderMap) -> bool {
    let Some(kind) = headers.get(CONTENT_TYPE) else { return true };
    let kind = kind.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let written = ["application/xml", "application/javascript", "application/x-www-form-urlencoded", "application/yaml"];
    kind.starts_with("text/") || kind.ends_with("+xml") || written.contains(&kind.as_str())
}

/// Cookies are keys, and not kept.
fn headers(headers: &HeaderMap, mask: &Mask) -> BTreeMap<String, String> {
    let kept = headers.iter().filter(|(name, _)| *name != SET_COOKIE).take(HEADERS_KEPT_MAX);
    let shown = |value: &http::HeaderValue| clip(&mask.text(&String::from_utf8_lossy(value.as_bytes())), HEADER_BYTES_MAX);
    kept.map(|(name, value)| (mask.text(name.as_str()), shown(value))).collect()
}
