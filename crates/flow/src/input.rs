//! The inputs of runs, held against the schemas of their workflows: at the door, and by the engine for runs that a node calls.

mod cost;
#[cfg(test)]
mod tests;

use cost::{Dear, Plan};
use jsonschema::{PatternOptions, Validator};
use kernel::limits::INPUT_COST_MAX;
use kernel::names::WorkflowName;
use serde_json::Value;

/// Problems of one input that are told, and those of them that a sentence holds.
const PROBLEMS_MAX: usize = 20;
const TOLD_MAX: usize = 3;
const MESSAGE_CHARS_MAX: usize = 300;
/// Of one pattern, compiled, and of the automaton cached beside it.
const PATTERN_COMPILED_BYTES_MAX: usize = 256 * 1_024;

/// A JSON Schema, ready. Patterns run in linear time, nothing is fetched, and what an input costs is known before it is looked
/// at.
#[derive(Debug)]
pub struct InputSchema {
    validator: Validator,
    plan: Plan,
}

/// What came of holding an input against a schema.
#[derive(Debug)]
pub struct Checked {
    /// What is wrong with it; nothing, mostly.
    pub misfits: Vec<Misfit>,
    /// In steps of evaluation.
    pub cost: u64,
}

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
        let whole = |message: String| NoSchema { pointer: String::new(), message };
        let schema: Value = serde_json::from_str(schema).map_err(|error| whole(error.to_string()))?;
        let plan = Plan::new(&schema).map_err(whole)?;
        let patterns = PatternOptions::regex().size_limit(PATTERN_COMPILED_BYTES_MAX).dfa_size_limit(PATTERN_COMPILED_BYTES_MAX);
        let validator = jsonschema::options()
            .with_pattern_options(patterns)
            .build(&schema)
            .map_err(|error| NoSchema { pointer: error.instance_path().to_string(), message: clipped(&error.to_string()) })?;
        Ok(InputSchema { validator, plan })
    }

    /// One that would cost too much is not looked at, and so does not fit.
    pub fn check(&self, input: &Value) -> Checked {
        match self.plan.cost(input, INPUT_COST_MAX) {
            Ok(cost) => {
                let told = self.validator.iter_errors(input).take(PROBLEMS_MAX);
                let misfit = |error: jsonschema::ValidationError<'_>| Misfit {
                    path: error.instance_path().to_string(),
                    message: clipped(&error.to_string()),
                };
                Checked { misfits: told.map(misfit).collect(), cost }
            }
            Err(dear) => {
                let message = match dear {
                    Dear::Much => format!("to hold it against the schema takes more than {INPUT_COST_MAX} steps"),
                    Dear::Deep => "the schema leads too deep into itself to hold it against".to_owned(),
                };
                Checked { misfits: vec![Misfit { path: String::new(), message }], cost: INPUT_COST_MAX }
            }
        }
    }

    pub fn misfits(&self, input: &Value) -> Vec<Misfit> {
        self.check(input).misfits
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
