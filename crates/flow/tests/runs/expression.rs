//! Expressions as the reference reads them: with the `cel` crate, and with templates of its own. What an expression reads is
//! found in its text, so that one that would read what depends on who came first is noticed.

use cel::objects::{Key, Map as CelMap, TryIntoValue};
use cel::{Context, Program, Value as Cel};
use serde_json::{Map, Value as Json, json};
use std::collections::HashMap;
use std::sync::Arc;

/// A name that an expression begins with: `input`, or `nodes` with the id and field it asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Read {
    Root(String),
    Node(String, String),
}

const ROOTS: [&str; 7] = ["input", "output", "item", "index", "iteration", "last", "run"];

pub fn reads(source: &str) -> Vec<Read> {
    let mut found = Vec::new();
    let bytes = source.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\'' => at += 1 + source[at + 1..].find('\'').expect("a text has an end") + 1,
            byte if byte.is_ascii_alphabetic() => {
                let end = source[at..].find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.');
                let path = &source[at..end.map_or(source.len(), |end| at + end)];
                let mut parts = path.split('.');
                let root = parts.next().expect("a text has a first part");
                if root == "nodes" {
                    let (id, field) = (parts.next().expect("nodes.<id>"), parts.next().expect("nodes.<id>.<field>"));
                    found.push(Read::Node(id.to_owned(), field.to_owned()));
                } else if ROOTS.contains(&root) {
                    found.push(Read::Root(root.to_owned()));
                }
                at += path.len();
            }
            // A key of something in brackets.
            b'.' => at += 1 + source[at + 1..].find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(source.len() - at - 1),
            _ => at += 1,
        }
    }
    found
}

/// The expressions in the texts of a template.
pub fn template_sources(template: &Json, found: &mut Vec<String>) {
    match template {
        Json::String(text) => {
            let mut rest = text.as_str();
            while let Some(start) = rest.find("${") {
                let end = start + rest[start..].find('}').expect("`${` has an end");
                found.push(rest[start + 2..end].to_owned());
                rest = &rest[end + 1..];
            }
        }
        Json::Array(list) => list.iter().for_each(|part| template_sources(part, found)),
        Json::Object(map) => map.values().for_each(|part| template_sources(part, found)),
        _ => {}
    }
}

/// The value of an expression, or why there is none.
pub fn eval(source: &str, names: &Map<String, Json>) -> Result<Json, String> {
    let program = Program::compile(source).map_err(|problem| format!("{source}: {problem}"))?;
    let mut context = Context::default();
    for (name, value) in names {
        context.add_variable_from_value(name.as_str(), cel_of(value));
    }
    let value = program.execute(&context).map_err(|error| format!("{source}: {error}"))?;
    let value = value.try_into_value().map_err(|error| format!("{source}: {error}"))?;
    json_of(&value).ok_or_else(|| format!("{source}: no JSON"))
}

pub fn resolve(template: &Json, names: &Map<String, Json>) -> Result<Json, String> {
    match template {
        Json::String(text) => {
            let whole = text.strip_prefix("${").and_then(|text| text.strip_suffix('}')).filter(|text| !text.contains("${"));
            if let Some(source) = whole {
                return eval(source, names);
            }
            let mut resolved = String::new();
            let mut rest = text.as_str();
            while let Some(start) = rest.find("${") {
                let end = start + rest[start..].find('}').expect("`${` has an end");
                resolved.push_str(&rest[..start]);
                match eval(&rest[start + 2..end], names)? {
                    Json::Null => {}
                    Json::String(text) => resolved.push_str(&text),
                    other => resolved.push_str(&other.to_string()),
                }
                rest = &rest[end + 1..];
            }
            Ok(json!(resolved + rest))
        }
        Json::Array(list) => list.iter().map(|part| resolve(part, names)).collect(),
        Json::Object(map) => map.iter().map(|(key, part)| Ok((key.clone(), resolve(part, names)?))).collect(),
        other => Ok(other.clone()),
    }
}

fn cel_of(value: &Json) -> Cel {
    match value {
        Json::Null => Cel::Null,
        Json::Bool(value) => Cel::Bool(*value),
        Json::Number(number) => number.as_i64().map_or_else(|| Cel::Float(number.as_f64().unwrap_or(f64::NAN)), Cel::Int),
        Json::String(text) => Cel::String(Arc::new(text.clone())),
        Json::Array(list) => Cel::List(Arc::new(list.iter().map(cel_of).collect())),
        Json::Object(map) => {
            let map: HashMap<Key, Cel> = map.iter().map(|(key, value)| (Key::from(key.as_str()), cel_of(value))).collect();
            Cel::Map(CelMap { map: Arc::new(map) })
        }
    }
}

fn json_of(value: &Cel) -> Option<Json> {
    Some(match value {
        Cel::Null => Json::Null,
        Cel::Bool(value) => json!(value),
        Cel::Int(value) => json!(value),
        Cel::UInt(value) => json!(value),
        Cel::Float(value) => json!(value),
        Cel::String(value) => json!(value.as_str()),
        Cel::List(list) => Json::Array(list.iter().map(json_of).collect::<Option<_>>()?),
        Cel::Map(map) => {
            let entry = |(key, value): (&Key, &Cel)| match key {
                Key::String(key) => Some((key.to_string(), json_of(value)?)),
                _ => None,
            };
            Json::Object(map.map.iter().map(entry).collect::<Option<Map<_, _>>>()?)
        }
        _ => return None,
    })
}

#[test]
fn what_an_expression_reads_is_found_in_its_text() {
    let node = |id: &str, field: &str| Read::Node(id.into(), field.into());
    let root = |root: &str| Read::Root(root.into());
    for (source, expected) in [
        ("input.n + 1", vec![root("input")]),
        ("nodes.a.output.n > 2 && !has(nodes.b.error)", vec![node("a", "output"), node("b", "error")]),
        ("['output', last][0] == 'nodes.x.y'", vec![root("last")]),
        ("{'item': index}.item", vec![root("index")]),
    ] {
        assert_eq!(reads(source), expected, "{source}");
    }
}
