//! `signaller workflow graph`.

use super::{definitions, path, read};
use crate::client::with_query;
use crate::commands::Session;
use crate::commands::workflow::validate::{not_valid, told};
use crate::output::{Answer, Exit, Failure, Outcome, Screen};
use clap::Args;
use doors::wire::{GraphFormat, GraphQuery};
use kernel::names::WorkflowName;
use serde_json::json;
use std::path::Path;

const WIDTH_DEFAULT: usize = 100;

/// Draw a workflow, from a file (no server is needed) or from the server
#[derive(Args, Debug)]
#[command(after_help = "It prints the drawing itself, also off a terminal; with --json it is {\"graph\"}.\n\n\
                        Examples:\n  signaller workflow graph refund.yaml\n  signaller workflow graph refund --mermaid > refund.mmd")]
pub struct GraphArgs {
    /// A file that is there, - for stdin, or the name of a workflow
    #[arg(value_name = "WORKFLOW")]
    what: String,
    /// As Mermaid, for pages
    #[arg(long)]
    mermaid: bool,
    /// This version instead of the newest; only of one that is on the server
    #[arg(long, value_name = "N")]
    version: Option<u32>,
}

pub fn run(args: GraphArgs, json: bool, screen: Screen, session: impl Fn() -> Result<Session, Failure>) -> Outcome {
    let width = comfy_table::Table::new().width().filter(|width| *width > 0).map_or(WIDTH_DEFAULT, usize::from);
    let graph = if args.what == "-" || Path::new(&args.what).is_file() {
        of_file(&args, screen, width)?
    } else {
        let wrong =
            |why| Failure::usage(format!("there is no file `{}`, and: {why}", args.what)).fix("name a file or a workflow");
        if [".yaml", ".yml", ".json"].iter().any(|ending| args.what.ends_with(ending)) {
            let message = format!("there is no file `{}`", args.what);
            return Err(Failure::new(Exit::NotFound, "file_not_found", message).fix("name a file that is there, or a workflow"));
        }
        let workflow = WorkflowName::parse(&args.what).map_err(wrong)?;
        let format = if args.mermaid { GraphFormat::Mermaid } else { GraphFormat::Text };
        let query = GraphQuery { version: args.version, format: Some(format), width: u16::try_from(width).ok() };
        session()?.client.get_text(&with_query(&path(&workflow, "/graph"), &query))?
    };
    Ok(Answer { verbatim: !json && !screen.people, ..Answer::new(&json!({"graph": graph}), graph) })
}

fn of_file(args: &GraphArgs, screen: Screen, width: usize) -> Result<String, Failure> {
    let found = definitions(&args.what, &read(&args.what)?).map_err(|problems| {
        if screen.people {
            problems.iter().for_each(|problem| _ = screen.line(&told(&args.what, problem)));
        }
        not_valid(&problems, screen.people)
    })?;
    let drawn = found.iter().map(|one| match args.mermaid {
        true => flow::graph::mermaid(&one.compiled.ir),
        false => flow::graph::drawn(&one.compiled.ir, width),
    });
    Ok(drawn.collect::<Vec<_>>().join("\n"))
}
