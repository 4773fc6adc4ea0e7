//! The JSON Schema of a workflow's input, as far as it can be looked at without one at hand: it needs nothing from elsewhere,
//! its types are types, and a word that is close to a keyword is probably meant as one. What only a validator can find is
//! found at the door.

use super::scalars::wrong;
use crate::problem::{Problem, Problems, did_you_mean, nearest};
use crate::source::{Data, Value, short};
use std::sync::Arc;

const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];
/// Those whose values are schemas, by name; are a schema, or several; and the rest.
const NAMED: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
const NESTED: [&str; 16] = [
    "items",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "else",
    "if",
    "not",
    "oneOf",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];
const OTHERS: [&str; 38] = [
    "$anchor",
    "$comment",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$ref",
    "$schema",
    "$vocabulary",
    "const",
    "contentEncoding",
    "contentMediaType",
    "default",
    "dependencies",
    "dependentRequired",
    "deprecated",
    "description",
    "enum",
    "example",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "readOnly",
    "required",
    "title",
    "type",
];

pub fn schema(value: &Value, problems: &mut Problems) -> Option<Arc<str>> {
    if !matches!(value.data, Data::Map(_)) {
        wrong(value, "a JSON Schema (a map)", problems);
        return None;
    }
    let before = problems.count();
    refuse_remote(value, problems);
    look(value, problems);
    (problems.count() == before).then(|| value.to_json_text().into())
}

/// A schema that points elsewhere would have to be fetched when a run starts.
fn refuse_remote(value: &Value, problems: &mut Problems) {
    match &value.data {
        Data::List(values) => values.iter().for_each(|value| refuse_remote(value, problems)),
        Data::Map(entries) => {
            for entry in entries {
                let reference = matches!(&*entry.key, "$ref" | "$dynamicRef");
                if let (true, Data::Text(text)) = (reference, &entry.value.data)
                    && !text.text.starts_with('#')
                {
                    let message = format!("`{}` lies outside this schema", short(&text.text));
                    problems.add(Problem::new(&entry.value.at, message).suggest("put it under `$defs` and write `#/$defs/…`"));
                }
                refuse_remote(&entry.value, problems);
            }
        }
        _ => {}
    }
}

fn look(value: &Value, problems: &mut Problems) {
    let entries = match &value.data {
        Data::Map(entries) => entries,
        Data::List(several) => return several.iter().for_each(|value| look(value, problems)),
        _ => return,
    };
    for entry in entries {
        match &*entry.key {
            "type" => match &entry.value.data {
                Data::List(several) => several.iter().for_each(|one| a_type(one, problems)),
                _ => a_type(&entry.value, problems),
            },
            key if NAMED.contains(&key) => match &entry.value.data {
                Data::Map(named) => named.iter().for_each(|named| look(&named.value, problems)),
                _ => wrong(&entry.value, "a map of schemas", problems),
            },
            key if NESTED.contains(&key) => look(&entry.value, problems),
            key if OTHERS.contains(&key) => {}
            key => {
                let known = || NAMED.iter().chain(&NESTED).chain(&OTHERS).copied().chain(["type"]);
                if let Some(meant) = nearest(key, known()) {
                    let message = format!("`{}` means nothing to JSON Schema, and nothing is held against it", short(key));
                    problems.warn(Problem::new(&entry.key_at, message).suggest(format!("did you mean `{meant}`?")));
                }
            }
        }
    }
}

fn a_type(value: &Value, problems: &mut Problems) {
    match &value.data {
        Data::Text(text) if TYPES.contains(&&*text.text) => {}
        Data::Text(text) => {
            let message = format!("`{}` is no type of JSON Schema; there are {}", short(&text.text), TYPES.join(", "));
            let suggestion = did_you_mean(&text.text, TYPES).or_else(|| also_called(&text.text));
            problems.add(Problem { suggestion, ..Problem::new(&value.at, message) });
        }
        _ => wrong(value, &format!("one of {}", TYPES.join(", ")), problems),
    }
}

/// What other languages call it.
fn also_called(name: &str) -> Option<String> {
    let meant = match name.to_ascii_lowercase().as_str() {
        "str" | "text" => "string",
        "int" | "long" => "integer",
        "float" | "double" | "decimal" => "number",
        "bool" => "boolean",
        "list" => "array",
        "map" | "dict" | "any" => "object",
        _ => return None,
    };
    Some(format!("did you mean `{meant}`?"))
}
