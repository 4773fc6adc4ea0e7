//! Ids: (sequence, birth shard) in one integer, shown short and prefixed (`task-9m2`, `task-9m2.5` off shard 0).

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const SEQUENCE_BITS: u32 = 48;
const SEQUENCE_MASK: u64 = (1 << SEQUENCE_BITS) - 1;

/// Writes `value` in base 32, lower case, without the letters that look like digits.
pub(crate) fn base32(mut value: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut text = [0u8; 13];
    let mut at = text.len();
    loop {
        at -= 1;
        text[at] = DIGITS[(value & 31) as usize];
        value >>= 5;
        if value == 0 {
            break;
        }
    }
    f.write_str(std::str::from_utf8(&text[at..]).expect("digits are ASCII"))
}

pub(crate) fn parse_base32(text: &str) -> Option<u64> {
    if text.is_empty() || text.len() > 13 || (text.len() > 1 && text.starts_with('0')) {
        return None;
    }
    text.bytes().try_fold(0u64, |value, byte| {
        let digit = DIGITS.iter().position(|d| *d == byte)? as u64;
        value.checked_mul(32)?.checked_add(digit)
    })
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u64);

        impl $name {
            pub const MAX: $name = $name(i64::MAX as u64);

            pub const fn new(sequence: u64, shard: u16) -> $name {
                assert!(sequence <= SEQUENCE_MASK && shard < 1 << 15);
                $name(((shard as u64) << SEQUENCE_BITS) | sequence)
            }

            /// The integer the store keeps. `from_number` refuses what no id can be.
            pub const fn number(self) -> i64 {
                self.0 as i64
            }

            pub const fn from_number(number: i64) -> Option<$name> {
                if number < 0 { None } else { Some($name(number as u64)) }
            }

            pub const fn sequence(self) -> u64 {
                self.0 & SEQUENCE_MASK
            }

            pub const fn shard(self) -> u16 {
                (self.0 >> SEQUENCE_BITS) as u16
            }

            /// Reads `prefix-sequence[.shard]`; anything else is `None`.
            pub fn parse(text: &str) -> Option<$name> {
                let rest = text.strip_prefix(concat!($prefix, "-"))?;
                let (sequence, shard) = match rest.split_once('.') {
                    None => (rest, 0),
                    Some((sequence, shard)) => (sequence, shard.parse::<u16>().ok().filter(|s| *s > 0)?),
                };
                let sequence = parse_base32(sequence).filter(|s| *s <= SEQUENCE_MASK)?;
                (shard < 1 << 15).then(|| $name::new(sequence, shard))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!($prefix, "-"))?;
                base32(self.sequence(), f)?;
                if self.shard() > 0 { write!(f, ".{}", self.shard()) } else { Ok(()) }
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            /// By a visitor: ids come in by the hundred, and reading one need not allocate.
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!("a ", $prefix, " id such as ", $prefix, "-9m2"))
                    }

                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        $name::parse(text).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
    };
}

id!(
    /// A task.
    TaskId,
    "task"
);
id!(
    /// A bulk: work over many items that goes on batch after batch behind a durable cursor.
    BulkId,
    "bulk"
);

id!(
    /// A run of a workflow.
    RunId,
    "run"
);

impl EventId {
    /// Nothing comes between this and what came just before it.
    pub(crate) const fn before(self) -> EventId {
        EventId(self.0.saturating_sub(1))
    }
}

id!(
    /// Something that happened outside.
    EventId,
    "event"
);

/// The number of a record in its shard's history: rising, never used twice, with gaps.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecordSeq(pub u64);

impl RecordSeq {
    /// No record: the `prev` of an owner's first record.
    pub const NONE: RecordSeq = RecordSeq(0);
}

/// Proof of holding a lease: the number of the record that granted it, so no two leases share one.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(pub RecordSeq);

impl Fence {
    pub fn parse(text: &str) -> Option<Fence> {
        parse_base32(text).filter(|n| *n <= i64::MAX as u64).map(|n| Fence(RecordSeq(n)))
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        base32(self.0.0, f)
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_back_as_they_are_shown() {
        for (sequence, shard, text) in
            [(0, 0, "task-0"), (31, 0, "task-z"), (32, 0, "task-10"), (9_858, 0, "task-9m2"), (9_858, 5, "task-9m2.5")]
        {
            let id = TaskId::new(sequence, shard);
            assert_eq!(id.to_string(), text);
            assert_eq!(TaskId::parse(text), Some(id));
            assert_eq!(TaskId::from_number(id.number()), Some(id));
        }
    }

    #[test]
    fn what_is_not_an_id_is_refused() {
        for text in [
            "",
            "task-",
            "task",
            "run-1",
            "task-u",
            "task-01",
            "task-1.0",
            "task-1.x",
            "task-1.99999",
            "task--1",
            "TASK-1",
            "task-zzzzzzzzzzzzzz",
        ] {
            assert_eq!(TaskId::parse(text), None, "{text}");
        }
    }
}
