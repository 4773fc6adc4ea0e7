//! What is read of an event: which of its keys, and of its data which keys at the top. Known when a registry is compiled, so that
//! of an event with much in it no more is parsed than is asked for.

use super::event::{DATA, EVENT_KEYS};
use crate::expr::Expr;
use crate::wide;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value as Json};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

const ALL: u16 = (1 << EVENT_KEYS.len()) - 1;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reads {
    /// A bit for each of `EVENT_KEYS`.
    keys: u16,
    /// `None`: all of the data.
    fields: Option<BTreeSet<Box<str>>>,
}

impl Default for Reads {
    /// Nothing.
    fn default() -> Reads {
        Reads { keys: 0, fields: Some(BTreeSet::new()) }
    }
}

impl Reads {
    pub fn of(expr: &Expr) -> Reads {
        let keys = expr.event_keys().into_iter().fold(0, |keys, key| {
            let at = key.and_then(|key| EVENT_KEYS.iter().position(|known| *known == key));
            keys | at.map_or(ALL, |at| 1 << at)
        });
        let fields = expr.data_keys().into_iter().map(|key| key.map(Into::into)).collect();
        Reads { keys, fields }
    }

    pub fn and(mut self, other: &Reads) -> Reads {
        self.keys |= other.keys;
        self.fields = self.fields.zip(other.fields.as_ref()).map(|(mut fields, others)| {
            fields.extend(others.iter().cloned());
            fields
        });
        self
    }

    /// The same, and all of the data if there is any of it: for those who want to see what is there.
    pub fn widened(mut self) -> Reads {
        self.fields = None;
        self
    }

    pub fn has(&self, at: usize) -> bool {
        self.keys & (1 << at) != 0
    }

    /// As much of the data as is read, or more. Keys that are not read are left out of an object, whatever they hold.
    pub fn data(&self, text: &str) -> serde_json::Result<Json> {
        debug_assert!(self.has(DATA));
        match &self.fields {
            Some(fields) if text.trim_start().starts_with('{') && wide::is_plain(text) => {
                let mut reader = serde_json::Deserializer::from_str(text);
                let found = Chosen(fields).deserialize(&mut reader)?;
                reader.end().map(|()| found)
            }
            _ => wide::read(text),
        }
    }
}

/// An object of which some keys are wanted.
struct Chosen<'a>(&'a BTreeSet<Box<str>>);

impl<'de> DeserializeSeed<'de> for Chosen<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Chosen<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut found = Map::new();
        while let Some(key) = map.next_key::<Key<'de>>()? {
            if self.0.contains(&*key.0) {
                found.insert(key.0.into_owned(), map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Json::Object(found))
    }
}

/// Borrowed where it stands in the text letter for letter.
#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Expr;
    use crate::registry::event::EventExpr;
    use serde_json::json;

    fn reads(sources: &[&str]) -> Reads {
        let compile = |source: &&str| Expr::compile(source, &EventExpr::names()).expect(source);
        sources.iter().map(|source| Reads::of(&compile(source))).fold(Reads::default(), |all, one| all.and(&one))
    }

    #[test]
    fn what_an_expression_reads_is_known() {
        for (sources, data, fields) in [
            (&["event.name == 'a'"][..], false, Some("")),
            (&["event.data.a.b == event.data['c']"], true, Some("a c")),
            (&["has(event.data.a) && event.data.b"], true, Some("a b")),
            (&["event.data.a", "event.source + event.data.b"], true, Some("a b")),
            (&["event.data.list.map(x, x + event.data.a)"], true, Some("a list")),
            (&["event.data.a[event.data.b]"], true, Some("a b")),
            (&["event.data[event.name]"], true, None),
            (&["event.data == {}"], true, None),
            (&["has(event.data)"], true, None),
            (&["size(event.data) > 1", "event.data.a"], true, None),
            (&["'a' in event.data"], true, None),
            (&["event == {}"], true, None),
            (&["event.data.all(key, key != 'a')"], true, None),
        ] {
            let found = reads(sources);
            let shown = found.fields.as_ref().map(|fields| fields.iter().map(|field| &**field).collect::<Vec<_>>().join(" "));
            assert_eq!((found.has(DATA), shown.as_deref()), (data, fields), "{sources:?}");
        }
    }

    #[test]
    fn no_more_is_parsed_than_is_read() {
        let some = reads(&["event.data.a", "event.data.b"]);
        for (text, expected) in [
            (r#" {"x":[{"a":1}],"a":{"x":1},"b":2,"y":"\u00fc"} "#, Some(json!({"a": {"x": 1}, "b": 2}))),
            (r#"{"\u0061":1,"a":2}"#, Some(json!({"a": 2}))),
            (r#"{"x":1}"#, Some(json!({}))),
            ("[1]", Some(json!([1]))),
            ("null", Some(json!(null))),
            ("{", None),
            (r#"{"x":1} 2"#, None),
            (r#"{"x":tru}"#, None),
            ("", None),
        ] {
            assert_eq!(some.data(text).ok(), expected, "{text}");
        }
        let wide = r#"{"x":1,"a":123456789012345678901234}"#;
        assert_eq!(some.data(wide).expect("it is JSON"), wide::read(wide).expect("it is JSON"));
        assert_eq!(some.widened().data(r#"{"x":1}"#).expect("it is JSON"), json!({"x": 1}));
    }
}
