//! Single values: a status, a priority, a key with its value, a fence, a place in the stream.

use super::object::objects;
use kernel::ids::{Fence, RecordSeq};
use kernel::names::{KeyName, KeyValue};
use kernel::{bulk, priority, task};
use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use utoipa::openapi::schema::{OneOfBuilder, Schema};
use utoipa::openapi::{ObjectBuilder, RefOr, Type};
use utoipa::{PartialSchema, ToSchema};

objects!(KeyPair);

macro_rules! mirrored {
    ($(#[$doc:meta])* $name:ident of $kernel:path { $($variant:ident),+ }) => {
        $(#[$doc])*
        #[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($variant),+ }

        impl From<$kernel> for $name {
            fn from(value: $kernel) -> $name {
                use $kernel as Kernel;
                match value { $(Kernel::$variant => $name::$variant),+ }
            }
        }

        impl From<$name> for $kernel {
            fn from(value: $name) -> $kernel {
                use $kernel as Kernel;
                match value { $($name::$variant => Kernel::$variant),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(<$kernel>::from(*self).as_str())
            }
        }
    };
}

mirrored!(
    /// Where a task stands.
    Status of task::Status { Idle, Queued, Running, Done, Failed, Cancelled }
);
mirrored!(
    /// Where a bulk stands.
    BulkStatus of bulk::BulkStatus { Open, Done, Cancelled }
);
mirrored!(
    /// How a cancelled task came to be so.
    CancelCause of kernel::record::CancelCause { Asked, Cleared, Expired, Shed, Replaced }
);
mirrored!(
    /// Where a run stands.
    RunStatus of kernel::run::RunStatus { Running, Done, Failed, Cancelled }
);

/// A head start in seconds: sent as a number or as one of four names, always answered as the number.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Priority(pub priority::Priority);

impl Serialize for Priority {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i32(self.0.head_start_s())
    }
}

impl<'de> Deserialize<'de> for Priority {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Priority, D::Error> {
        struct NameOrSeconds;

        impl Visitor<'_> for NameOrSeconds {
            type Value = Priority;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("critical, high, normal, background, or a head start of at most ten years in seconds")
            }

            fn visit_i64<E: serde::de::Error>(self, seconds: i64) -> Result<Priority, E> {
                let priority = priority::Priority::seconds(seconds).map(Priority);
                priority.ok_or_else(|| E::invalid_value(serde::de::Unexpected::Signed(seconds), &self))
            }

            fn visit_u64<E: serde::de::Error>(self, seconds: u64) -> Result<Priority, E> {
                self.visit_i64(i64::try_from(seconds).unwrap_or(i64::MAX))
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Priority, E> {
                let named = priority::Priority::NAMED.iter().find(|(known, _)| *known == name);
                named
                    .map(|(_, priority)| Priority(*priority))
                    .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(name), &self))
            }
        }

        deserializer.deserialize_any(NameOrSeconds)
    }
}

impl PartialSchema for Priority {
    fn schema() -> RefOr<Schema> {
        let names = priority::Priority::NAMED.map(|(name, _)| name);
        let name = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names));
        let seconds = ObjectBuilder::new().schema_type(Type::Integer).description(Some("A head start in seconds."));
        OneOfBuilder::new().item(name).item(seconds).into()
    }
}

impl ToSchema for Priority {}

/// The value of one limit key, `{"name": "tenant", "value": "acme"}`; in a query, `tenant=acme`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct KeyPair {
    #[schema(value_type = String)]
    pub name: KeyName,
    #[schema(value_type = String)]
    pub value: KeyValue,
}

impl KeyPair {
    /// Reads `name=value`; a name holds no `=`, a value may.
    pub fn parse(text: &str) -> Result<KeyPair, String> {
        let (name, value) = text.split_once('=').ok_or_else(|| format!("`{text}` is not name=value"))?;
        let name = KeyName::parse(name).map_err(|bad| bad.to_string())?;
        Ok(KeyPair { name, value: KeyValue::parse(value).map_err(|bad| bad.to_string())? })
    }
}

impl fmt::Display for KeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

impl From<KeyPair> for (KeyName, KeyValue) {
    fn from(pair: KeyPair) -> (KeyName, KeyValue) {
        (pair.name, pair.value)
    }
}

impl From<&(KeyName, KeyValue)> for KeyPair {
    fn from((name, value): &(KeyName, KeyValue)) -> KeyPair {
        KeyPair { name: name.clone(), value: value.clone() }
    }
}

/// For `#[serde(with)]`: a key's value in a query.
pub(super) mod key_text {
    use super::*;

    pub fn serialize<S: Serializer>(pair: &Option<KeyPair>, serializer: S) -> Result<S::Ok, S::Error> {
        match pair {
            Some(pair) => serializer.collect_str(pair),
            None => serializer.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<KeyPair>, D::Error> {
        let text = Option::<Cow<'de, str>>::deserialize(deserializer)?;
        text.map(|text| KeyPair::parse(&text)).transpose().map_err(D::Error::custom)
    }
}

/// For `#[serde(with)]`: a fence is opaque text to workers.
pub(super) mod fence_text {
    use super::*;

    pub fn serialize<S: Serializer>(fence: &Fence, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(fence)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Fence, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        Fence::parse(&text).ok_or_else(|| D::Error::custom(format!("`{text}` is not a fence")))
    }
}

/// A place in the stream of records: opaque to clients, handed back as `Last-Event-ID`.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug, ToSchema)]
#[schema(value_type = String, example = "r1042")]
pub struct Cursor(pub RecordSeq);

impl Cursor {
    pub fn parse(text: &str) -> Option<Cursor> {
        let digits = text.strip_prefix('r').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        digits.parse().ok().map(|number| Cursor(RecordSeq(number)))
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.0.0)
    }
}

impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Cursor, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        Cursor::parse(&text).ok_or_else(|| D::Error::custom(format!("`{text}` is not a cursor")))
    }
}
