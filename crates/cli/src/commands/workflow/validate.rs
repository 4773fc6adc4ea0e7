//! `signaller workflow validate`: without a server.

use super::{definitions, read};
use crate::output::{Answer, Exit, Failure, Outcome, Screen};
use crate::units::count_of;
use clap::Args;
use doors::wire::{ProblemAt, WorkflowChecked};
use flow::Problem;
use serde::Serialize;

/// Check definitions, with every problem and its place; no server is needed
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller workflow validate refund.yaml\n  signaller workflow validate a.yaml b.json")]
pub struct ValidateArgs {
    /// YAML or JSON; - for stdin
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
}

#[derive(Serialize)]
struct Validated {
    files: Vec<Validity>,
}

#[derive(Serialize)]
struct Validity {
    file: String,
    ok: bool,
    workflows: Vec<WorkflowChecked>,
    problems: Vec<ProblemAt>,
    warnings: Vec<ProblemAt>,
}

pub fn run(args: ValidateArgs, screen: Screen) -> Outcome {
    let (mut validated, mut lines, mut wrong) = (Validated { files: Vec::new() }, Vec::new(), Vec::new());
    for file in args.files {
        match definitions(&file, &read(&file)?) {
            Ok(found) => {
                let workflows = found.iter().map(|one| WorkflowChecked {
                    workflow: one.compiled.ir.workflow.clone(),
                    version: one.compiled.definition.version,
                    nodes: one.compiled.ir.nodes.len(),
                });
                let workflows: Vec<WorkflowChecked> = workflows.collect();
                lines.extend(workflows.iter().map(|one| {
                    let version = one.version.map_or_else(String::new, |version| format!(" version {version}"));
                    format!("{file}: {}{version}: no problems, {}.", one.workflow, count_of(one.nodes as u64, "node"))
                }));
                let warnings = found.iter().flat_map(|one| &one.compiled.warnings).map(ProblemAt::from);
                let warnings: Vec<ProblemAt> = warnings.collect();
                lines.extend(warnings.iter().map(|warning| warned(&file, warning)));
                validated.files.push(Validity { file, ok: true, workflows, problems: Vec::new(), warnings });
            }
            Err(problems) => {
                lines.extend(problems.iter().map(|problem| told(&file, problem)));
                let told: Vec<ProblemAt> = problems.iter().map(ProblemAt::from).collect();
                wrong.extend(problems);
                validated.files.push(Validity { file, ok: false, workflows: Vec::new(), problems: told, warnings: Vec::new() });
            }
        }
    }
    let text = lines.join("\n");
    if wrong.is_empty() {
        return Ok(Answer::new(&validated, text).next("workflow put FILE", "put it, to start runs of it"));
    }
    if screen.people {
        screen.line(&text);
    }
    Err(not_valid(&wrong, screen.people).result(&validated))
}

/// The failure of files with these problems. `listed`: each has been told already.
pub fn not_valid(problems: &[Problem], listed: bool) -> Failure {
    let first = problems.first().filter(|_| !listed);
    let first = first.map_or_else(String::new, |first| format!("; the first: {}", first.message));
    let message = format!("{} found{first}", flow::problem::counted(problems));
    let problems = problems.iter().map(ProblemAt::from).collect();
    let failure = Failure::new(Exit::Usage, "invalid_workflow", message);
    let fix = "correct what is named; `signaller workflow schema` says what a definition may hold";
    Failure { problems, ..failure.fix(fix).next("workflow schema", "what a definition may hold") }
}

/// As [`told`], of what is right and yet may not be what was meant.
pub fn warned(file: &str, warning: &ProblemAt) -> String {
    let ProblemAt { path, line, column, message, suggestion } = warning;
    let (line, column) = (line.unwrap_or(1), column.unwrap_or(1));
    let suggestion = suggestion.as_ref().map_or_else(String::new, |suggestion| format!("\n  {suggestion}"));
    format!("{file}:{line}:{column}: warning: {path}: {message}{suggestion}")
}

/// `file:line:column: path: message`, and the suggestion on a line of its own.
pub fn told(file: &str, problem: &Problem) -> String {
    let Problem { path, line, column, message, suggestion, .. } = problem;
    let path = if path.is_empty() { String::new() } else { format!("{path}: ") };
    let suggestion = suggestion.as_ref().map_or_else(String::new, |suggestion| format!("\n  {suggestion}"));
    format!("{file}:{line}:{column}: {path}{message}{suggestion}")
}
