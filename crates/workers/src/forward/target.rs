//! Where events go, and how: what the registry says, with what the environment holds put in. It may hold keys, so no more of
//! it is shown than its host.

use crate::client::{BadAddress, RESERVED, address};
use crate::secrets::Mask;
use flow::registry::{Filled, Forward, Registry, Shape};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use kernel::names::HandlerName;
use kernel::record::Failure;
use std::fmt;
use std::time::Duration;
use thiserror::Error;

#[derive(Clone)]
pub struct Target {
    pub(super) url: Uri,
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) time_max: Duration,
    pub(super) shape: Shape,
    /// Takes out again what variables of the environment hold that went into it.
    mask: Mask,
}

#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BadTarget {
    #[error("variable {0} of the environment is not set: set it and start the server again")]
    Unset(String),
    #[error("`{0}` is no address to forward to: write http://HOST/PATH or https://HOST/PATH")]
    Url(Filled),
    #[error("`{0}` holds a user name or a password: send them in a header")]
    UserInfo(Filled),
    #[error("header `{0}` cannot be sent: take it out of the registry")]
    HeaderName(String),
    #[error("header `{0}` has a value that cannot be sent: leave out line breaks and control characters")]
    HeaderValue(String),
}

impl From<BadTarget> for Failure {
    fn from(bad: BadTarget) -> Failure {
        Failure { code: "bad_target".into(), message: bad.to_string() }
    }
}

impl Target {
    /// Where this handler sends its events by now.
    pub fn of(registry: &Registry, handler: &HandlerName, env: impl Fn(&str) -> Option<String>) -> Result<Target, Failure> {
        let gone = || {
            let message = format!("handler `{handler}` forwards nothing any more: put it back and redrive this, or clear it");
            Failure { code: "no_target".into(), message }
        };
        Ok(Target::new(registry.forward(handler).ok_or_else(gone)?, env)?)
    }

    /// `env` says what a variable of the environment holds.
    pub fn new(forward: &Forward, env: impl Fn(&str) -> Option<String>) -> Result<Target, BadTarget> {
        let fill = |filled: &Filled| filled.fill(&env).map_err(BadTarget::Unset);
        let texts = std::iter::once(&forward.url).chain(forward.headers.iter().map(|(_, value)| value));
        let named = texts.flat_map(|text| text.variables()).filter_map(|name| Some((format!("${{env:{name}}}"), env(name)?)));
        let mask = Mask::new(named);
        let url = address(&fill(&forward.url)?).map_err(|bad| match bad {
            BadAddress::NoUrl => BadTarget::Url(forward.url.clone()),
            BadAddress::UserInfo => BadTarget::UserInfo(forward.url.clone()),
        })?;
        let mut headers = HeaderMap::new();
        for (name, value) in &forward.headers {
            let shown = || name.as_str().to_owned();
            let known = HeaderName::try_from(name.as_str()).ok().filter(|name| !RESERVED.contains(name));
            let known = known.ok_or_else(|| BadTarget::HeaderName(shown()))?;
            let value = HeaderValue::try_from(fill(value)?).map_err(|_| BadTarget::HeaderValue(shown()))?;
            headers.append(known, value);
        }
        let method = Method::from_bytes(forward.method.as_str().as_bytes()).expect("the registry knows methods");
        Ok(Target { url, method, headers, time_max: Duration::from_millis(forward.timeout_ms), shape: forward.shape, mask })
    }

    /// A text from outside, with what is secret taken out of it again.
    pub(super) fn told(&self, text: &str) -> String {
        self.mask.text(text)
    }

    pub(super) fn host(&self) -> &str {
        self.url.authority().map_or("it", |authority| authority.as_str())
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({})", self.host())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of a handler that forwards like this, with `X` in the environment.
    fn check(forward: &str, x: Option<&str>, expected: Result<&str, &str>) {
        let text = format!("handlers:\n  audit: {{on: a, forward: {forward}}}\n");
        let registry = Registry::compile(text.as_bytes()).unwrap_or_else(|problems| panic!("{text}\n{problems:#?}"));
        let handler = HandlerName::parse("audit").unwrap();
        let found = Target::of(&registry, &handler, |name| x.filter(|_| name == "X").map(str::to_owned));
        let shown = format!("{found:?}");
        assert!(!shown.contains("KEY"), "{shown}");
        match (found, expected) {
            (Ok(target), Ok(host)) => assert_eq!(target.host(), host, "{forward} {x:?}"),
            (Err(failure), Err(told)) => assert!(failure.message.contains(told), "{forward} {x:?}: {failure:?}"),
            (found, expected) => panic!("{forward} {x:?}: {found:?}, not {expected:?}"),
        }
    }

    #[test]
    fn what_the_environment_holds_is_checked_when_it_is_put_in_and_never_shown() {
        let url = "\"http://${env:X}\"";
        for (x, expected) in [
            ("h.test/e/KEY", Ok("h.test")),
            ("127.0.0.1:8288/e/KEY?x=1", Ok("127.0.0.1:8288")),
            ("[::1]:80/KEY", Ok("[::1]:80")),
            ("", Err("`http://${env:X}` is no address")),
            ("/KEY", Err("is no address")),
            ("h.test/a b/KEY", Err("is no address")),
            ("h.test\n/KEY", Err("is no address")),
            ("h.test:99999/KEY", Err("is no address")),
            ("h.test:KEY/", Err("is no address")),
            ("user:KEY@h.test/", Err("`http://${env:X}` holds a user name or a password: send them in a header")),
        ] {
            check(url, Some(x), expected);
        }
        check(url, None, Err("variable X of the environment is not set"));
        for (header, x, expected) in [
            ("Authorization", "Bearer KEY", Ok("h.test")),
            ("Authorization", "KEY\r\nX-B: 1", Err("header `authorization` has a value that cannot be sent")),
            ("Content-Length", "3", Err("header `content-length` cannot be sent")),
            ("Host", "other.test", Err("header `host` cannot be sent")),
        ] {
            check(&format!("{{url: 'https://h.test', headers: {{{header}: '${{env:X}}'}}}}"), Some(x), expected);
        }
    }

    #[test]
    fn a_handler_that_is_gone_or_does_something_else_by_now_is_told() {
        let registry = Registry::compile(b"handlers:\n  other: {on: a, task: t}\n").expect("it compiles");
        for name in ["audit", "other"] {
            let failure = Target::of(&registry, &HandlerName::parse(name).unwrap(), |_| None).unwrap_err();
            assert_eq!(failure.code, "no_target");
            assert!(failure.message.starts_with(&format!("handler `{name}` forwards nothing any more")));
        }
    }
}
