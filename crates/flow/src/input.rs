//! The inputs of runs, held against the schemas of their workflows: at the door, and by the engine for runs that a node calls.

use jsonschema::{PatternOptions, Validator};
use kernel::names::WorkflowName;
use serde_json::Value;

/// Problems of one input that are told, and those of them that a sentence holds.
const PROBLEMS_MAX: usize = 20;
const TOLD_MAX: usize = 3;
const MESSAGE_CHARS_MAX: usize = 300;

/// A JSON Schema, ready. Patterns run in linear time, and nothing is fetched.
#[derive(Debug)]
pub struct InputSchema(Validator);

/// Why something cannot be used as a JSON Schema, and where in it.
#[derive(Debug)]
pub struct NoSchema {
    /// A JSON Pointer into the schema.
    pub pointer: String,
    pub message: String,
}

/// One thing that is wrong with an input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Misfit {
    /// Where; empty: the whole.
    pub path: String,
    pub message: String,
}

impl InputSchema {
    pub fn new(schema: &str) -> Result<InputSchema, NoSchema> {
        let unread = |error: serde_json::Error| NoSchema { pointer: String::new(), message: error.to_string() };
        let schema: Value = serde_json::from_str(schema).map_err(unread)?;
        let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
        options
            .build(&schema)
            .map(InputSchema)
            .map_err(|error| NoSchema { pointer: error.instance_path().to_string(), message: clipped(&error.to_string()) })
    }

    /// What is wrong with an input; nothing, mostly.
    pub fn misfits(&self, input: &Value) -> Vec<Misfit> {
        let told = self.0.iter_errors(input).take(PROBLEMS_MAX);
        told.map(|error| Misfit { path: error.instance_path().to_string(), message: clipped(&error.to_string()) }).collect()
    }
}

/// All that is wrong, in a sentence.
pub fn told(workflow: &WorkflowName, version: u32, misfits: &[Misfit]) -> String {
    let told = |misfit: &Misfit| match misfit.path.as_str() {
        "" => misfit.message.clone(),
        path => format!("{path}: {}", misfit.message),
    };
    let all = misfits.iter().take(TOLD_MAX).map(told).collect::<Vec<_>>().join("; ");
    let more = if misfits.len() > TOLD_MAX { format!("; and {} more", misfits.len() - TOLD_MAX) } else { String::new() };
    format!("the input does not fit workflow `{workflow}` version {version}: {all}{more}")
}

/// Some messages hold the whole value.
fn clipped(text: &str) -> String {
    match text.char_indices().nth(MESSAGE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn inputs_are_told_where_they_are_wrong() {
        let schema = r#"{"type":"object","required":["order"],"properties":{"amount":{"type":"number"},"lines":{"items":{"type":"string"}}}}"#;
        let schema = InputSchema::new(schema).unwrap();
        assert!(schema.misfits(&json!({"order": 1, "amount": 2})).is_empty());
        let found = schema.misfits(&json!({"amount": "x", "lines": ["a", 2]}));
        let mut paths: Vec<&str> = found.iter().map(|misfit| misfit.path.as_str()).collect();
        paths.sort_unstable();
        assert_eq!(paths, ["", "/amount", "/lines/1"], "{found:?}");
        let sentence = told(&WorkflowName::parse("pay").unwrap(), 2, &found);
        assert!(sentence.starts_with("the input does not fit workflow `pay` version 2: "), "{sentence}");
        assert!(InputSchema::new(r#"{"$ref": "https://example.com/x.json"}"#).is_err());
        assert!(InputSchema::new(r#"{"type": 5}"#).is_err());
    }
}
