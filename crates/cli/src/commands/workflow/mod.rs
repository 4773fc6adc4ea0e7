//! `signaller workflow`: definitions, from the file to what runs go through. Files are read here, so that what is wrong
//! with one is said without a server, and in the same words.

mod change;
mod graph;
mod put;
mod show;
mod validate;

use super::Session;
use crate::client::segment;
use crate::config::Globals;
use crate::output::{Answer, Failure, Outcome, Screen};
use clap::{Args, Subcommand};
use flow::incoming::{self, Definition};
use kernel::names::WorkflowName;
use std::io::Read;
use std::path::Path;

/// Workflows: check, put, list, show, draw, disable and enable them
#[derive(Args, Debug)]
pub struct WorkflowArgs {
    #[command(subcommand)]
    command: WorkflowCommand,
}

#[derive(Subcommand, Debug)]
enum WorkflowCommand {
    Validate(validate::ValidateArgs),
    Put(put::PutArgs),
    List(show::ListArgs),
    Show(show::ShowArgs),
    Graph(graph::GraphArgs),
    Disable(change::DisableArgs),
    Enable(change::EnableArgs),
    /// Print the JSON Schema of definitions, for editors
    #[command(after_help = "Examples:\n  signaller workflow schema > workflow.schema.json")]
    Schema,
}

pub fn run(args: WorkflowArgs, globals: &Globals, screen: Screen) -> Outcome {
    let session = || Session::new(globals, screen);
    match args.command {
        WorkflowCommand::Validate(args) => validate::run(args, screen),
        WorkflowCommand::Put(args) => put::run(args, &session()?),
        WorkflowCommand::List(args) => show::list(args, &session()?),
        WorkflowCommand::Show(args) => show::show(args, globals.json, &session()?),
        WorkflowCommand::Disable(args) => change::disable(args, &session()?),
        WorkflowCommand::Enable(args) => change::enable(args, &session()?),
        WorkflowCommand::Graph(args) => graph::run(args, globals.json, screen, session),
        WorkflowCommand::Schema => {
            let schema = flow::schema::schema();
            let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
            Ok(Answer { verbatim: !globals.json, ..Answer::new(&schema, text) })
        }
    }
}

/// `/v1/workflows/NAME` and what comes after.
pub fn path(workflow: &WorkflowName, rest: &str) -> String {
    // `check` written out is an operation of its own.
    let name = if workflow.as_str() == "check" { "%63heck".to_owned() } else { segment(workflow.as_str()) };
    format!("/v1/workflows/{name}{rest}")
}

/// What a file holds, or what is wrong with it. One that is called JSON is held to that.
fn definitions(file: &str, text: &[u8]) -> Result<Vec<Definition>, Vec<flow::Problem>> {
    let json = Path::new(file).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let not_json = if json { std::str::from_utf8(text).ok().and_then(flow::source::not_json) } else { None };
    match not_json {
        Some(problem) => Err(vec![problem]),
        None => incoming::read(text),
    }
}

/// The bytes of a file, or of stdin for `-`.
pub fn read(file: &str) -> Result<Vec<u8>, Failure> {
    if file == "-" {
        let mut text = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut text);
        return read.map(|_| text).map_err(|error| Failure::usage(format!("stdin cannot be read: {error}")));
    }
    std::fs::read(file).map_err(|error| {
        Failure::usage(format!("`{file}` cannot be read: {error}")).fix("name a file that is there, or - for stdin")
    })
}
