//! Names that come from outside, checked once at the door: after that they cannot be wrong.

use crate::limits::*;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what} `{shown}` {why}")]
pub struct BadName {
    pub what: &'static str,
    pub shown: String,
    pub why: &'static str,
}

fn bad(what: &'static str, raw: &str, why: &'static str) -> BadName {
    let shown = raw.chars().take(40).collect();
    BadName { what, shown, why }
}

/// What a kind of name may hold beside letters and digits, and how that is said.
struct Letters {
    others: &'static str,
    said: &'static str,
    bytes_max: usize,
    too_long: &'static str,
}

/// Safe in a path, a shell word and a table.
const WORD: Letters = Letters {
    others: "_-./:@",
    said: "may hold only letters a-z and A-Z, digits and _ - . / : @",
    bytes_max: NAME_BYTES_MAX,
    too_long: "is longer than 128 bytes",
};

/// What begins with an `@` is the server's own.
const EVENT: Letters = Letters { others: "_-./:", said: "may hold only letters a-z and A-Z, digits and _ - . / :", ..WORD };

/// As a path in a frame (`rounds[1].check`) and a name in expressions.
const NODE: Letters = Letters {
    others: "_-",
    said: "may hold only letters a-z and A-Z, digits, _ and -",
    bytes_max: NODE_ID_BYTES_MAX,
    too_long: "is longer than 64 bytes",
};

impl Letters {
    fn check(&self, what: &'static str, raw: &str) -> Result<(), BadName> {
        if raw.is_empty() {
            return Err(bad(what, raw, "is empty"));
        }
        if raw.len() > self.bytes_max {
            return Err(bad(what, raw, self.too_long));
        }
        if !raw.chars().all(|c| c.is_ascii_alphanumeric() || self.others.contains(c)) {
            return Err(bad(what, raw, self.said));
        }
        Ok(())
    }
}

fn check_word(what: &'static str, raw: &str) -> Result<(), BadName> {
    WORD.check(what, raw)
}

fn check_node(what: &'static str, raw: &str) -> Result<(), BadName> {
    NODE.check(what, raw)
}

fn check_text(what: &'static str, raw: &str, bytes_max: usize) -> Result<(), BadName> {
    if raw.is_empty() {
        return Err(bad(what, raw, "is empty"));
    }
    if raw.len() > bytes_max {
        return Err(bad(what, raw, "is too long"));
    }
    if raw.chars().any(char::is_control) {
        return Err(bad(what, raw, "holds a control character"));
    }
    Ok(())
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "Arc<str>")]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn parse(raw: &str) -> Result<$name, BadName> {
                #[allow(clippy::redundant_closure_call)]
                ($check)($what, raw)?;
                Ok($name(raw.into()))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }

            pub fn shared(&self) -> &Arc<str> {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadName;
            fn try_from(raw: String) -> Result<$name, BadName> {
                $name::parse(&raw)
            }
        }

        impl From<$name> for Arc<str> {
            fn from(name: $name) -> Arc<str> {
                name.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(QueueName, "queue", check_word);
name!(
    /// What kind of work a task is; workers ask by it.
    TypeName,
    "type",
    check_word
);
name!(WorkerName, "worker", check_word);
name!(WorkflowName, "workflow", check_word);
name!(
    /// A node of a workflow, unique in its definition.
    NodeId,
    "node",
    check_node
);
name!(
    /// The name of a limit key (`tenant`); a task carries a value for it (`acme`).
    KeyName,
    "key name",
    check_word
);
name!(KeyValue, "key value", |what, raw| check_text(what, raw, KEY_VALUE_BYTES_MAX));
name!(Tag, "tag", |what, raw| check_text(what, raw, NAME_BYTES_MAX));
name!(IdempotencyKey, "idempotency key", |what, raw| check_text(what, raw, IDEMPOTENCY_KEY_BYTES_MAX));
name!(
    /// Who sent a command, for the history.
    Actor,
    "name",
    |what, raw| check_text(what, raw, NAME_BYTES_MAX)
);

name!(
    /// What happened: `github/pull_request.opened`.
    EventName,
    "event name",
    check_event
);
name!(
    /// The id that its sender gave an event.
    EventKey,
    "event id",
    |what, raw| check_text(what, raw, IDEMPOTENCY_KEY_BYTES_MAX)
);
name!(
    /// Events that are controlled together: an event's name up to its last `/` or `.`.
    Family,
    "family",
    check_event
);
name!(
    /// An event name, or all that begin alike: `github/*`, `*`.
    Pattern,
    "pattern",
    check_pattern
);
name!(HandlerName, "handler", check_node);
name!(CronName, "cron", check_node);
name!(WebhookName, "webhook", check_node);

const DIVIDERS: [char; 2] = ['/', '.'];

fn check_event(what: &'static str, raw: &str) -> Result<(), BadName> {
    EVENT.check(what, raw)?;
    if raw.split(DIVIDERS).any(str::is_empty) {
        return Err(bad(what, raw, "has an empty part before, between or after / and ."));
    }
    Ok(())
}

fn check_pattern(what: &'static str, raw: &str) -> Result<(), BadName> {
    if raw == "*" {
        return Ok(());
    }
    let stem = raw.strip_suffix('*');
    let stem = stem.map_or(Some(raw), |stem| stem.strip_suffix(DIVIDERS));
    match stem {
        Some(stem) if !stem.contains('*') => check_event(what, stem),
        _ => Err(bad(what, raw, "may hold one *, at its end, alone or after / or .")),
    }
}

impl EventName {
    /// `github/pull_request` of `github/pull_request.opened`; a name in one part is its own family.
    pub fn family(&self) -> Family {
        Family(match self.0.rfind(DIVIDERS) {
            Some(at) => self.0[..at].into(),
            None => self.0.clone(),
        })
    }
}

impl Pattern {
    /// The part before the `*`, divider and all; `None` without one.
    fn stem(&self) -> Option<&str> {
        self.0.strip_suffix('*')
    }

    pub fn matches(&self, name: &EventName) -> bool {
        match self.stem() {
            Some(stem) => name.as_str().starts_with(stem),
            None => self.0 == name.0,
        }
    }

    /// `github/*` covers the families of all events it matches: `github` and `github/pull_request`.
    pub fn covers(&self, family: &Family) -> bool {
        self.covers_name(family.as_str())
    }

    /// The same of a queue's name, which stands for the family of what no event made.
    pub fn covers_name(&self, family: &str) -> bool {
        match self.stem() {
            Some("") => true,
            Some(stem) => family.starts_with(stem) || family == &stem[..stem.len() - 1],
            None => *self.0 == *family,
        }
    }

    /// Whether an event that this matches may be of a family that `families` covers.
    pub fn may_be_of(&self, families: &Pattern) -> bool {
        let Some(stem) = self.stem() else {
            return EventName::parse(&self.0).is_ok_and(|name| families.covers(&name.family()));
        };
        // Names of a family are one part more than it, whatever parts them.
        let begins = |family: &str| DIVIDERS.iter().any(|divider| format!("{family}{divider}").starts_with(stem));
        match families.stem() {
            _ if stem.is_empty() => true,
            Some("") => true,
            Some(above) => stem.starts_with(above) || above.starts_with(stem) || begins(&above[..above.len() - 1]),
            None => begins(&families.0),
        }
    }
}

/// Cut at the limit, on a character's edge: for what is told by machines, whose words may be long.
pub fn clip(raw: &str, bytes_max: usize) -> String {
    if raw.len() <= bytes_max {
        return raw.to_owned();
    }
    let mut end = bytes_max;
    while !raw.is_char_boundary(end) {
        end -= 1;
    }
    raw[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_refuse_what_would_hurt_later() {
        for raw in ["", "a b", "ü", "a\n", "a\0", "x'y"] {
            assert!(QueueName::parse(raw).is_err(), "{raw:?}");
        }
        assert!(QueueName::parse(&"q".repeat(129)).is_err());
        assert!(QueueName::parse("github/push.main:1@x").is_ok());
        assert!(KeyValue::parse("Müller & Söhne").is_ok());
        assert!(KeyValue::parse("a\u{7}").is_err());
    }

    #[test]
    fn what_is_refused_is_told_with_what_may_be() {
        let told = |bad: Result<(), BadName>| bad.unwrap_err().to_string();
        let of_node = "may hold only letters a-z and A-Z, digits, _ and -";
        for raw in ["a b", "a.b", "a/b", "a@b"] {
            assert_eq!(told(HandlerName::parse(raw).map(drop)), format!("handler `{raw}` {of_node}"));
            assert_eq!(told(CronName::parse(raw).map(drop)), format!("cron `{raw}` {of_node}"));
        }
        let of_event = "may hold only letters a-z and A-Z, digits and _ - . / :";
        for raw in ["a b", "a@b"] {
            assert_eq!(told(EventName::parse(raw).map(drop)), format!("event name `{raw}` {of_event}"));
            assert_eq!(told(Pattern::parse(raw).map(drop)), format!("pattern `{raw}` {of_event}"));
        }
        assert_eq!(
            told(QueueName::parse("a b").map(drop)),
            "queue `a b` may hold only letters a-z and A-Z, digits and _ - . / : @"
        );
        assert!(told(HandlerName::parse(&"h".repeat(65)).map(drop)).ends_with("is longer than 64 bytes"));
    }

    #[test]
    fn patterns_match_names_and_cover_families() {
        let name = |raw| EventName::parse(raw).expect(raw);
        for (pattern, event, matches) in [
            ("github/*", "github/push", true),
            ("github/*", "github/pull_request.opened", true),
            ("github/*", "github", false),
            ("github/*", "githubs/push", false),
            ("github/pull_request.*", "github/pull_request.opened", true),
            ("github/push", "github/push", true),
            ("github/push", "github/pushed", false),
            ("*", "deploy", true),
        ] {
            let pattern = Pattern::parse(pattern).expect(pattern);
            assert_eq!(pattern.matches(&name(event)), matches, "{pattern} {event}");
            assert!(!matches || pattern.covers(&name(event).family()) || pattern.stem().is_none(), "{pattern} {event}");
        }
        for (event, family) in [("github/push", "github"), ("github/a.opened", "github/a"), ("deploy", "deploy"), ("a.b", "a")] {
            assert_eq!(name(event).family().as_str(), family);
        }
        for raw in ["", "a b", "*a", "a*", "a/*/b", "/*", "a//b", "a/"] {
            assert!(Pattern::parse(raw).is_err(), "{raw}");
        }
    }

    #[test]
    fn a_pattern_may_be_of_families_if_some_event_of_it_is() {
        let parts = ["a", "a/b", "a.b", "a/b.c", "a/b/c", "b", "ab", "ab/c", "a/bc", "b/a", "b.a"];
        let patterns: Vec<String> = parts
            .iter()
            .flat_map(|part| [(*part).to_owned(), format!("{part}/*"), format!("{part}.*")])
            .chain(["*".into()])
            .collect();
        let below = |part: &str| [part.to_owned(), format!("{part}/x"), format!("{part}.x"), format!("{part}/x.y")];
        let names: Vec<EventName> =
            parts.iter().flat_map(|part| below(part)).map(|raw| EventName::parse(&raw).unwrap()).collect();
        for (events, families) in patterns.iter().flat_map(|events| patterns.iter().map(move |families| (events, families))) {
            let (events, families) = (Pattern::parse(events).unwrap(), Pattern::parse(families).unwrap());
            let is_so = names.iter().any(|name| events.matches(name) && families.covers(&name.family()));
            assert_eq!(events.may_be_of(&families), is_so, "{events} {families}");
        }
    }

    #[test]
    fn clipping_respects_characters() {
        assert_eq!(clip("aü", 2), "a");
        assert_eq!(clip("aü", 3), "aü");
    }
}
