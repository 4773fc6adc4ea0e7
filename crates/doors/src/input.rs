//! The inputs of runs, held against the schemas of their workflows. A version's schema never changes, so it is made ready
//! once.

use crate::wire::ProblemAt;
use jsonschema::{PatternOptions, Validator};
use kernel::names::WorkflowName;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Problems of one input that are told.
const PROBLEMS_MAX: usize = 20;
const MESSAGE_CHARS_MAX: usize = 300;

/// Why something cannot be used as a JSON Schema, and where in it.
#[derive(Debug)]
pub struct NoSchema {
    /// A JSON Pointer into the schema.
    pub pointer: String,
    pub message: String,
}

/// A JSON Schema, ready. Patterns run in linear time, and nothing is fetched.
pub struct InputSchema(Validator);

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
    pub fn problems(&self, input: &Value) -> Vec<ProblemAt> {
        let told = self.0.iter_errors(input).take(PROBLEMS_MAX);
        let told = told.map(|error| ProblemAt {
            path: error.instance_path().to_string(),
            line: None,
            column: None,
            message: clipped(&error.to_string()),
            suggestion: None,
        });
        told.collect()
    }
}

/// Some messages hold the whole value.
fn clipped(text: &str) -> String {
    match text.char_indices().nth(MESSAGE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Those that were needed so far: as many as there are versions of workflows, which are bounded.
#[derive(Default)]
pub struct InputSchemas(Mutex<HashMap<(WorkflowName, u32), Arc<InputSchema>>>);

impl InputSchemas {
    pub fn get(&self, workflow: &WorkflowName, version: u32, schema: &str) -> Result<Arc<InputSchema>, String> {
        let key = (workflow.clone(), version);
        let known = self.0.lock().expect("no holder panics").get(&key).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let made = Arc::new(InputSchema::new(schema).map_err(|why| why.message)?);
        self.0.lock().expect("as above").insert(key, made.clone());
        Ok(made)
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
        assert!(schema.problems(&json!({"order": 1, "amount": 2})).is_empty());
        let told = schema.problems(&json!({"amount": "x", "lines": ["a", 2]}));
        let mut paths: Vec<&str> = told.iter().map(|problem| problem.path.as_str()).collect();
        paths.sort_unstable();
        assert_eq!(paths, ["", "/amount", "/lines/1"], "{told:?}");
        assert!(InputSchema::new(r#"{"$ref": "https://example.com/x.json"}"#).is_err());
        assert!(InputSchema::new(r#"{"type": 5}"#).is_err());
    }
}
