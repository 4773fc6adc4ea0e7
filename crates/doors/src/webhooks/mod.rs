//! Webhooks: whether a request comes from who it says, and which event it is. Pure: bytes, headers and the time come in; an
//! event or a refusal goes out, whatever the bytes. Nothing of a request is looked into before its proof holds.
//!
//! What was sent again is the same event: by the sender's own id; where there is none, by what was signed together with
//! the time of signing. Without either, one request cannot be told from another.

mod proof;

use crate::wire::Problem;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use flow::registry::webhook::{Provider, Request, Webhook};
use flow::wide;
use kernel::event::EventSpec;
use kernel::names::{EventKey, clip};
use kernel::record::Payload;
use kernel::time::Time;
use proof::{Proven, hex};
use sha2::{Digest, Sha256};

/// An event that its sender has proven to be its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Incoming {
    pub spec: EventSpec,
    /// The body as it came in.
    pub data: Payload,
}

/// A request that is no event. Its code is one of [`crate::wire::CODES`]; none is a failure of the server's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    pub code: &'static str,
    pub message: String,
    pub fix: &'static str,
}

impl Refused {
    fn new(code: &'static str, message: impl Into<String>, fix: &'static str) -> Refused {
        Refused { code, message: message.into(), fix }
    }

    fn unproven(message: impl Into<String>, fix: &'static str) -> Refused {
        Refused::new("unauthorized", message, fix)
    }

    /// It may be proven, but cannot be an event.
    fn unfit(message: impl Into<String>) -> Refused {
        let fix = "look at this delivery at its sender, and at what the registry says of this webhook";
        Refused::new("invalid", message, fix)
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Problem {
        Problem::new(refused.code, refused.message, refused.fix)
    }
}

/// What a webhook's secrets are at the moment. Not to be shown.
#[derive(Clone, Default)]
pub struct Secrets {
    keys: Vec<Box<[u8]>>,
    /// Variables of the environment that are not set, or empty.
    pub unset: Vec<Box<str>>,
}

impl Secrets {
    /// `env` says what a variable of the environment holds. An empty one is no secret: anybody knows it.
    pub fn of(webhook: &Webhook, env: impl Fn(&str) -> Option<String>) -> Secrets {
        let mut secrets = Secrets::default();
        for secret in &webhook.secrets {
            let Some(text) = env(&secret.env).filter(|text| !text.is_empty()) else {
                secrets.unset.push(secret.env.clone());
                continue;
            };
            // As the Standard Webhooks write it: the key is what the rest stands for.
            let written = text.strip_prefix("whsec_").filter(|_| webhook.provider == Provider::Hmac);
            secrets.keys.extend(written.and_then(proof::base64).map(Into::into));
            secrets.keys.push(text.into_bytes().into());
        }
        secrets
    }

    /// Nothing can be proven.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

/// The event that this request is, if it is one.
pub fn verify(webhook: &Webhook, secrets: &Secrets, headers: &HeaderMap, body: &[u8], now: Time) -> Result<Incoming, Refused> {
    if body.len() > webhook.body_bytes_max {
        let message = format!("the body has {} bytes, and this webhook takes {}", body.len(), webhook.body_bytes_max);
        return Err(Refused::new("too_large", message, "raise body_max of this webhook in the registry, or send less"));
    }
    if secrets.keys.is_empty() {
        let fix = "set the variables that the registry names as its secrets, and start the server again";
        return Err(Refused::new("unavailable", "this webhook has no secret, so nothing can be proven to it", fix));
    }
    let Proven { stamp } = proof::check(webhook, &secrets.keys, headers, body, now)?;
    let text = json(headers, body)?;
    let data = wide::read(text).map_err(|error| Refused::unfit(format!("the body is not JSON: {error}")))?;
    let shown = headers.iter().filter(|(name, _)| name.as_str() != proof::header(webhook));
    let shown = shown.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    let request = Request::new(shown, data);
    let name = webhook.event_name(&request).map_err(Refused::unfit)?;
    let key = match (webhook.event_key(&request).map_err(Refused::unfit)?, stamp) {
        (Some(key), _) => Some(own(webhook, key)),
        (None, Some(stamp)) => Some(made(webhook, stamp, body)),
        (None, None) => None,
    };
    let source = Some(webhook.name.as_str().into());
    Ok(Incoming { spec: EventSpec { key, source, ..EventSpec::named(name) }, data: Payload(text.into()) })
}

/// The body as text, if it may be JSON.
fn json<'b>(headers: &HeaderMap, body: &'b [u8]) -> Result<&'b str, Refused> {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.trim_start().to_ascii_lowercase().starts_with("application/x-www-form-urlencoded") {
        let message = format!("the body is a form ({}), and events are JSON", clip(kind, 100));
        return Err(Refused::new("unsupported_media_type", message, "set the content type to application/json at its sender"));
    }
    std::str::from_utf8(body).map_err(|error| Refused::unfit(format!("the body is not JSON: {error}")))
}

/// GitHub's and Stripe's ids are like no others; those of other senders may be, so the webhook's name stands before them.
fn own(webhook: &Webhook, id: EventKey) -> EventKey {
    match webhook.provider {
        Provider::Github | Provider::Stripe => id,
        Provider::Hmac | Provider::Secret => {
            let named = EventKey::parse(&format!("{}:{id}", webhook.name));
            named.unwrap_or_else(|_| made(webhook, "", id.as_str().as_bytes()))
        }
    }
}

fn made(webhook: &Webhook, stamp: &str, bytes: &[u8]) -> EventKey {
    let digest = Sha256::new().chain_update(stamp).chain_update(".").chain_update(bytes).finalize();
    EventKey::parse(&format!("{}:sha256-{}", webhook.name, hex(&digest))).expect("a name and a digest make a short id")
}

#[cfg(test)]
mod tests;
