//! Workflows as text → a checked definition → the IR that the kernel drives. No I/O, no clock, no async.
//!
//! `source` reads YAML or JSON with the place of every value, `define` decodes it, `check` looks at the whole, `lower` makes
//! the IR. Whatever is wrong is a [`Problem`] with file, line and path, many at once. `expr` is the language of conditions and
//! templates: CEL, compiled once with every name checked, evaluated over borrowed JSON within a budget; `evaluate` answers the
//! kernel's questions with it.

pub mod built_in;
pub mod check;
mod context;
pub mod cron;
pub mod define;
pub mod evaluate;
pub mod expr;
pub mod graph;
pub mod incoming;
pub mod input;
pub mod instant;
mod language;
pub mod limits;
mod lower;
pub mod patch;
pub mod problem;
pub mod registry;
pub mod schema;
pub mod source;
pub mod wide;

pub use context::{Context, ExprProblem, Expressions, Found, Names, Nodes, Wants};
pub use define::Definition;
pub use language::Language;
pub use problem::Problem;

use kernel::ir::Ir;
use problem::Problems;

use std::collections::HashMap;

/// A definition that holds what `kernel::ir` promises.
#[derive(Clone, PartialEq, Debug)]
pub struct Compiled {
    pub definition: Definition,
    pub ir: Ir,
    /// What can run and yet may not be what was meant.
    pub warnings: Vec<Problem>,
}

/// A file with one definition, in either form.
pub fn compile(text: &[u8], expressions: &dyn Expressions) -> Result<Compiled, Vec<Problem>> {
    let document = source::parse(text).map_err(|problem| vec![problem])?;
    let mut problems = Problems::default();
    let compiled = compile_document(&document, expressions, &mut problems);
    finish(compiled, problems)
}

/// A file with any number of definitions, `---` between them.
pub fn compile_all(text: &[u8], expressions: &dyn Expressions) -> Result<Vec<Compiled>, Vec<Problem>> {
    let documents = source::parse_all(text).map_err(|problem| vec![problem])?;
    let mut all = Problems::default();
    let mut compiled: Vec<Compiled> = Vec::new();
    let mut seen = HashMap::new();
    for document in &documents {
        let mut problems = Problems::default();
        let one = compile_document(document, expressions, &mut problems);
        all.merge(problems);
        let Some(one) = one else { continue };
        let (workflow, version) = (&one.ir.workflow, one.ir.version);
        if let Some(line) = seen.insert((workflow.clone(), version), one.definition.workflow_at.line) {
            let message = format!("version {version} of workflow `{workflow}` is there twice, the other in line {line}");
            all.say(&one.definition.workflow_at, message);
        }
        compiled.push(one);
    }
    finish(Some(compiled), all)
}

/// One document that was read before.
pub fn compile_document(document: &source::Value, expressions: &dyn Expressions, problems: &mut Problems) -> Option<Compiled> {
    let definition = define::decode(document, problems);
    let flat = check::flatten(&definition, problems);
    let ir = lower::lower(&definition, &flat, expressions, problems);
    let ir = ir?;
    check::warn_of_types(&flat, problems);
    check::warn_of_calls(&definition, &flat, problems);
    drop(flat);
    Some(Compiled { definition, ir, warnings: problems.take_warnings() })
}

fn finish<T>(compiled: Option<T>, problems: Problems) -> Result<T, Vec<Problem>> {
    match compiled {
        Some(compiled) if problems.is_empty() => Ok(compiled),
        _ => Err(problems.into_sorted()),
    }
}

#[cfg(test)]
mod tests;
