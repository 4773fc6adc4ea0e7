//! Webhooks as the registry states them: how a sender proves itself, and what its events are called. What the providers do is
//! put in the same words as what a registry may say itself, so whoever verifies knows two proofs, not one for each provider.
//! Secrets are named, never held: the text of a registry is public.

use crate::expr::{Bindings, Budget, Expr, Root, Template};
use crate::wide::{self, Seen};
use kernel::names::{EventKey, EventName, WebhookName, clip};
use serde_json::{Map, Value as Json};

/// What expressions of a webhook see of a request, under `event`.
pub const REQUEST_KEYS: [&str; 2] = ["headers", "data"];

#[derive(Debug)]
pub struct Webhook {
    pub name: WebhookName,
    pub provider: Provider,
    pub proof: Proof,
    /// At least one; any of them will do, so that one can be exchanged for another.
    pub secrets: Vec<Secret>,
    /// A request with more is refused.
    pub body_bytes_max: usize,
    pub naming: Naming,
    /// Where the sender's own id of an event stands: sent again, it is the same event.
    pub id: Option<IdFrom>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Provider {
    Github,
    Stripe,
    Hmac,
    Secret,
}

impl Provider {
    pub const ALL: [Provider; 4] = [Provider::Github, Provider::Stripe, Provider::Hmac, Provider::Secret];

    pub const fn as_str(self) -> &'static str {
        match self {
            Provider::Github => "github",
            Provider::Stripe => "stripe",
            Provider::Hmac => "hmac",
            Provider::Secret => "secret",
        }
    }
}

/// Where a secret is to be found: `${env:NAME}`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Secret {
    /// The variable of the environment that holds it.
    pub env: Box<str>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Proof {
    /// An HMAC of the raw body, keyed with a secret.
    Signature(Signature),
    /// The header holds a secret itself, after the prefix.
    Shared { header: Header, prefix: Box<str> },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    pub header: Header,
    pub layout: Layout,
    pub algorithm: Algorithm,
    pub encoding: Encoding,
    /// What is signed: these, one after the other.
    pub signed: Vec<Signed>,
    pub stamp: Option<Stamp>,
}

/// How signatures stand in their header. One that is right is enough.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Words with spaces between them; those that begin with the prefix are signatures, without it.
    Words { prefix: Box<str> },
    /// `t=1700000000,v1=…,v1=…`: the instant under `t`, signatures under `v1`.
    Pairs,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Algorithm {
    Sha1,
    Sha256,
    Sha512,
}

impl Algorithm {
    pub const NAMED: [(&'static str, Algorithm); 3] =
        [("sha1", Algorithm::Sha1), ("sha256", Algorithm::Sha256), ("sha512", Algorithm::Sha512)];
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// In either case.
    Hex,
    /// The usual alphabet, with or without padding.
    Base64,
}

impl Encoding {
    pub const NAMED: [(&'static str, Encoding); 2] = [("hex", Encoding::Hex), ("base64", Encoding::Base64)];
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Signed {
    Text(Box<str>),
    /// As it stands in its header, letter for letter.
    Timestamp,
    /// The id, as it stands in its header.
    Id,
    Body,
}

/// When it was signed, in seconds since the Unix epoch: too far from now, either way, and it is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// `None`: it stands with the signature, as [`Layout::Pairs`] has it.
    pub header: Option<Header>,
    pub tolerance_ms: u64,
}

/// The name of a header, in small letters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Header(Box<str>);

impl Header {
    pub fn parse(raw: &str) -> Option<Header> {
        let legal = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        let fits = !raw.is_empty() && raw.len() <= 128 && raw.chars().all(legal);
        fits.then(|| Header(raw.to_ascii_lowercase().into()))
    }

    pub(crate) fn known(raw: &'static str) -> Header {
        Header::parse(raw).expect("a header's name")
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// How events of a webhook are called.
#[derive(Debug)]
pub enum Naming {
    Fixed(EventName),
    /// `prefix/push`, or `prefix/pull_request.opened` where the body has an action.
    Github {
        prefix: Box<str>,
    },
    /// `prefix/invoice.paid`: the body's type.
    Stripe {
        prefix: Box<str>,
    },
    /// A text with expressions over `event.headers` and `event.data`.
    Template {
        template: Template,
        written: Box<str>,
    },
}

#[derive(Debug)]
pub enum IdFrom {
    Header(Header),
    /// A key of the body.
    Body(&'static str),
    Expr(Expr),
}

/// A request that was verified, as far as names and ids hang on it.
#[derive(Debug)]
pub struct Request {
    /// `{"headers": {…}, "data": …}`; headers in small letters, those that came twice with a comma between.
    event: Json,
}

impl Request {
    /// `data` as [`wide::read`] reads it.
    pub fn new<'h>(headers: impl IntoIterator<Item = (&'h str, &'h str)>, data: Json) -> Request {
        let mut found = Map::new();
        for (name, value) in headers {
            match found.entry(name.to_ascii_lowercase()) {
                serde_json::map::Entry::Vacant(vacant) => {
                    vacant.insert(value.into());
                }
                serde_json::map::Entry::Occupied(mut there) => {
                    let joined = format!("{}, {value}", there.get().as_str().unwrap_or_default());
                    there.insert(joined.into());
                }
            }
        }
        let [headers, body] = REQUEST_KEYS.map(str::to_owned);
        Request { event: Json::Object(Map::from_iter([(headers, Json::Object(found)), (body, data)])) }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.event["headers"][name].as_str()
    }

    fn body(&self, key: &str) -> Option<&str> {
        self.event["data"][key].as_str()
    }

    fn scope(&self) -> Bindings<'_> {
        Bindings::new().bind(Root::Event, &self.event)
    }
}

impl Webhook {
    /// What the event is called, or why that cannot be said.
    pub fn event_name(&self, request: &Request) -> Result<EventName, String> {
        let missing = |what: &str| format!("the request has no {what}, which names the event");
        let name = match &self.naming {
            Naming::Fixed(name) => return Ok(name.clone()),
            Naming::Github { prefix } => {
                let event = request.header("x-github-event").ok_or_else(|| missing("header X-GitHub-Event"))?;
                let action = request.body("action").map(|action| format!(".{action}")).unwrap_or_default();
                format!("{prefix}/{event}{action}")
            }
            Naming::Stripe { prefix } => {
                format!("{prefix}/{}", request.body("type").ok_or_else(|| missing("`type` in its body"))?)
            }
            Naming::Template { template, .. } => {
                let made = template.resolve(&request.scope(), &mut Budget::default()).map_err(|error| error.to_string())?;
                made.as_str().map(str::to_owned).ok_or_else(|| "`event` gives no text, and an event's name is one".to_owned())?
            }
        };
        EventName::parse(&name).map_err(|bad| bad.to_string())
    }

    /// The id that its sender gave it; `None` where it gave none.
    pub fn event_key(&self, request: &Request) -> Result<Option<EventKey>, String> {
        let found = match &self.id {
            None => None,
            Some(IdFrom::Header(header)) => request.header(header.as_str()).map(str::to_owned),
            Some(IdFrom::Body(key)) => request.body(key).map(str::to_owned),
            Some(IdFrom::Expr(expr)) => {
                match expr.eval(&request.scope(), &mut Budget::default()).map_err(|error| error.to_string())? {
                    Json::Null => None,
                    Json::String(text) => match wide::seen(&text) {
                        Seen::Text(text) | Seen::Integer(text) => Some(text.to_owned()),
                    },
                    Json::Number(number) => Some(number.to_string()),
                    other => {
                        return Err(format!("`id` gives {}, and an id is a text or a number", clip(&other.to_string(), 100)));
                    }
                }
            }
        };
        found.filter(|id| !id.is_empty()).map(|id| EventKey::parse(&id)).transpose().map_err(|bad| bad.to_string())
    }
}

#[cfg(test)]
mod tests;
