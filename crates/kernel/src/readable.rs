//! Whether everyone can read a piece of JSON. Text that is JSON by the letter can still be unreadable to the common
//! parsers: nested without end, a number beyond every range, half a character. A worker gets many inputs in one
//! answer, so one of these would cost it all the others, again and again. Nothing is kept of what is read.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// serde_json and others stop at 128 levels, and an answer puts a few around the input.
pub const DEPTH_MAX: usize = 100;

pub fn readable(json: &str) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    Reading { depth: 0 }.deserialize(&mut deserializer)?;
    deserializer.end()
}

#[derive(Copy, Clone)]
struct Reading {
    depth: usize,
}

impl Reading {
    fn deeper<E: Error>(self) -> Result<Reading, E> {
        let depth = self.depth + 1;
        if depth > DEPTH_MAX {
            Err(E::custom(format!("it is nested deeper than {DEPTH_MAX} levels")))
        } else {
            Ok(Reading { depth })
        }
    }
}

impl<'de> DeserializeSeed<'de> for Reading {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reading {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let inner = self.deeper()?;
        while items.next_element_seed(inner)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let inner = self.deeper()?;
        while fields.next_key_seed(inner)?.is_some() {
            fields.next_value_seed(inner)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_some_parsers_cannot_read_is_refused() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let deep = nested(DEPTH_MAX);
        for (json, why) in [
            ("null", ""),
            (r#"{"a":[1,-1,1.5e300,"ü","\ud83d\ude00",true,null,18446744073709551616],"a":{}}"#, ""),
            (deep.as_str(), ""),
            (&nested(DEPTH_MAX + 1), "nested deeper than 100"),
            (&nested(100_000), "nested deeper than 100"),
            (&format!("{}1{}", r#"{"a":"#.repeat(101), "}".repeat(101)), "nested deeper than 100"),
            ("1e400", "number out of range"),
            (r#"["\ud800"]"#, "hex escape"),
            (r#"{"\udc00":1}"#, "hex escape"),
            ("1 2", "trailing"),
        ] {
            let said = readable(json).map_or_else(|error| error.to_string(), |()| String::new());
            assert!(said.contains(why) && said.is_empty() == why.is_empty(), "{}: {said}", &json[..json.len().min(40)]);
        }
    }
}
