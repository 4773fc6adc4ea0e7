//! JSON whose maps keep the order in which they were written, and whose numbers keep their digits. `serde_json`'s maps are
//! sorted, and what a person wrote should come back as it was.

use crate::problem::Problem;
use crate::source::{self, Data};
use serde_json::value::RawValue;
use std::fmt::Write;

/// A list or a map that fits into so many characters stands on one line.
const LINE_CHARS_MAX: usize = 100;

#[derive(Clone, Debug)]
pub enum Json {
    Null,
    Bool(bool),
    /// As JSON writes it; an integer has its digits and nothing else.
    Number(String),
    Text(String),
    List(Vec<Json>),
    Map(Vec<(String, Json)>),
}

impl Json {
    /// One value, YAML or JSON.
    pub fn read(text: &[u8]) -> Result<Json, Problem> {
        match text.trim_ascii() {
            // Nothing at all is no definition, but it is a value.
            b"null" => Ok(Json::Null),
            _ => Ok(Json::from(&source::parse(text)?)),
        }
    }

    pub fn text(text: impl Into<String>) -> Json {
        Json::Text(text.into())
    }

    pub fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Map(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    /// With an article, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "a boolean",
            Json::Number(_) => "a number",
            Json::Text(_) => "a text",
            Json::List(_) => "a list",
            Json::Map(_) => "a map",
        }
    }

    /// About its bytes as text, and how deep lists and maps lie in each other.
    pub fn weight(&self) -> (usize, usize) {
        let (mut bytes, mut deep) = (2, 0);
        let mut below = |value: &Json| {
            let (inner, depth) = value.weight();
            bytes += inner;
            deep = deep.max(depth);
        };
        match self {
            Json::Null | Json::Bool(_) => bytes += 4,
            Json::Number(text) | Json::Text(text) => bytes += text.len(),
            Json::List(values) => values.iter().for_each(&mut below),
            Json::Map(entries) => {
                entries.iter().for_each(|(_, value)| below(value));
                bytes += entries.iter().map(|(key, _)| key.len() + 4).sum::<usize>();
            }
        }
        (bytes, deep + 1)
    }

    /// On one line.
    pub fn compact(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, None);
        text
    }

    /// For people: what is short on one line, the rest indented.
    pub fn pretty(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, Some(0));
        text.push('\n');
        text
    }

    fn write(&self, text: &mut String, indent: Option<usize>) {
        let indent = indent.filter(|indent| !self.fits(LINE_CHARS_MAX.saturating_sub(*indent)));
        match self {
            Json::Null => text.push_str("null"),
            Json::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
            Json::Number(digits) => text.push_str(digits),
            Json::Text(words) => quote(text, words),
            Json::List(values) => {
                text.push('[');
                for (at, value) in values.iter().enumerate() {
                    separate(text, at, indent);
                    value.write(text, indent.map(|indent| indent + 2));
                }
                close(text, indent, ']');
            }
            Json::Map(entries) => {
                text.push('{');
                for (at, (key, value)) in entries.iter().enumerate() {
                    separate(text, at, indent);
                    quote(text, key);
                    text.push_str(": ");
                    value.write(text, indent.map(|indent| indent + 2));
                }
                close(text, indent, '}');
            }
        }
    }

    /// Whether it fits on the rest of a line; what does not is found out early.
    fn fits(&self, room: usize) -> bool {
        fn rest(value: &Json, room: usize) -> Option<usize> {
            match value {
                Json::Null | Json::Bool(_) => room.checked_sub(4),
                Json::Number(text) => room.checked_sub(text.len()),
                Json::Text(text) => room.checked_sub(text.len() + 2),
                Json::List(values) => {
                    values.iter().try_fold(room.checked_sub(2)?, |room, value| rest(value, room.checked_sub(2)?))
                }
                Json::Map(entries) => entries
                    .iter()
                    .try_fold(room.checked_sub(2)?, |room, (key, value)| rest(value, room.checked_sub(key.len() + 6)?)),
            }
        }
        rest(self, room).is_some()
    }
}

fn separate(text: &mut String, at: usize, indent: Option<usize>) {
    match (indent, at) {
        (Some(indent), _) => {
            let comma = if at > 0 { "," } else { "" };
            let _ = write!(text, "{comma}\n{:1$}", "", indent + 2);
        }
        (None, 0) => {}
        (None, _) => text.push_str(", "),
    }
}

fn close(text: &mut String, indent: Option<usize>, bracket: char) {
    if let Some(indent) = indent {
        let _ = write!(text, "\n{:1$}", "", indent);
    }
    text.push(bracket);
}

/// As JSON, and such that YAML reads the same: what it takes for the end of a line, or leaves out, is escaped.
fn quote(text: &mut String, words: &str) {
    let quoted = serde_json::Value::from(words).to_string();
    for c in quoted.chars() {
        match c {
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => {
                let _ = write!(text, "\\u{:04x}", c as u32);
            }
            _ => text.push(c),
        }
    }
}

impl From<&source::Value> for Json {
    fn from(value: &source::Value) -> Json {
        match &value.data {
            Data::Null => Json::Null,
            Data::Bool(value) => Json::Bool(*value),
            Data::Int(value) => Json::Number(value.to_string()),
            Data::Wide(digits) => Json::Number(digits.to_string()),
            Data::Float(value) => Json::Number(serde_json::Value::from(*value).to_string()),
            Data::Text(text) => Json::text(&*text.text),
            Data::List(values) => Json::List(values.iter().map(Json::from).collect()),
            Data::Map(entries) => {
                Json::Map(entries.iter().map(|entry| (entry.key.to_string(), Json::from(&entry.value))).collect())
            }
        }
    }
}

/// By meaning, as RFC 6902 has it: maps in any order, numbers by their value (1 is 1.0).
impl PartialEq for Json {
    fn eq(&self, other: &Json) -> bool {
        match (self, other) {
            (Json::Null, Json::Null) => true,
            (Json::Bool(a), Json::Bool(b)) => a == b,
            (Json::Number(a), Json::Number(b)) => a == b || whole(a).is_some_and(|a| Some(a) == whole(b)) || same_float(a, b),
            (Json::Text(a), Json::Text(b)) => a == b,
            (Json::List(a), Json::List(b)) => a == b,
            (Json::Map(a), Json::Map(b)) => {
                a.len() == b.len()
                    && a.iter().enumerate().all(|(at, (key, value))| match b.get(at) {
                        // Mostly they stand in the same order.
                        Some((same, other)) if same == key => value == other,
                        _ => other.get(key) == Some(value),
                    })
            }
            _ => false,
        }
    }
}

/// The digits of a number without a fraction.
fn whole(number: &str) -> Option<String> {
    if number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        return Some(number.to_owned());
    }
    let value = number.parse::<f64>().ok().filter(|value| value.fract() == 0.0)?;
    // There is one zero.
    Some(format!("{:.0}", value + 0.0))
}

fn same_float(a: &str, b: &str) -> bool {
    let fraction = |text: &str| text.parse::<f64>().ok().filter(|value| value.fract() != 0.0);
    fraction(a).is_some_and(|a| Some(a) == fraction(b))
}

impl serde::Serialize for Json {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = RawValue::from_string(self.compact()).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}
