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

/// Letters, digits and `_ - . / : @`: safe in a path, a shell word and a table.
fn check_word(what: &'static str, raw: &str) -> Result<(), BadName> {
    if raw.is_empty() {
        return Err(bad(what, raw, "is empty"));
    }
    if raw.len() > NAME_BYTES_MAX {
        return Err(bad(what, raw, "is longer than 128 bytes"));
    }
    if !raw.chars().all(|c| c.is_ascii_alphanumeric() || "_-./:@".contains(c)) {
        return Err(bad(what, raw, "may hold only letters from a to z, digits and _ - . / : @"));
    }
    Ok(())
}

/// As a path in a frame (`rounds[1].check`) and a name in expressions.
fn check_node(what: &'static str, raw: &str) -> Result<(), BadName> {
    check_word(what, raw)?;
    if raw.len() > NODE_ID_BYTES_MAX {
        return Err(bad(what, raw, "is longer than 64 bytes"));
    }
    if !raw.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
        return Err(bad(what, raw, "may hold only letters from a to z, digits, _ and -"));
    }
    Ok(())
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
    fn clipping_respects_characters() {
        assert_eq!(clip("aü", 2), "a");
        assert_eq!(clip("aü", 3), "aü");
    }
}
