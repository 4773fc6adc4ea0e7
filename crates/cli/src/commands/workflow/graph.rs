//! `signaller workflow graph`.

use super::{definitions, path, read};
use crate::client::with_query;
use crate::commands::Session;
use crate::commands::workflow::validate::{not_valid, told};
use crate::drawing::SvgArgs;
use crate::output::{Answer, Exit, Failure, Outcome, Screen};
use clap::Args;
use doors::wire::{GraphFormat, GraphQuery, WorkflowQuery};
use kernel::names::WorkflowName;
use serde_json::json;
use std::path::Path;

const WIDTH_DEFAULT: usize = 100;

/// Draw a workflow, from a file (no server is needed) or from the server
#[derive(Args, Debug)]
#[command(after_help = "It prints the drawing itself, also off a terminal; with --json it is {\"graph\"}.\n\n\
                        Examples:\n  signaller workflow graph refund.yaml\n  signaller workflow graph refund --mermaid > refund.mmd\n  \
                        signaller workflow graph refund --svg -o refund.svg\n  signaller workflow graph -f refund.yaml --svg -o refund.svg")]
pub struct GraphArgs {
    /// A file that is there, - for stdin, or the name of a workflow
    #[arg(value_name = "WORKFLOW", required_unless_present = "file")]
    what: Option<String>,
    /// This file, whatever it is called; - for stdin
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["what", "version"])]
    file: Option<String>,
    /// As Mermaid, for pages
    #[arg(long, conflicts_with = "svg")]
    mermaid: bool,
    #[command(flatten)]
    drawing: SvgArgs,
    /// This version instead of the newest; only of one that is on the server
    #[arg(long, value_name = "N")]
    version: Option<u32>,
}

pub fn run(args: GraphArgs, json: bool, screen: Screen, session: impl Fn() -> Result<Session, Failure>) -> Outcome {
    args.drawing.check(json)?;
    let width = comfy_table::Table::new().width().filter(|width| *width > 0).map_or(WIDTH_DEFAULT, usize::from);
    let named = args.what.as_deref().unwrap_or_default();
    let file = args.file.as_deref().or(Some(named).filter(|what| *what == "-" || Path::new(what).is_file()));
    let graph = if let Some(file) = file {
        of_file(&args, file, screen, width)?
    } else {
        let wrong = |why| Failure::usage(format!("there is no file `{named}`, and: {why}")).fix("name a file or a workflow");
        if [".yaml", ".yml", ".json"].iter().any(|ending| named.ends_with(ending)) {
            let message = format!("there is no file `{named}`");
            return Err(Failure::new(Exit::NotFound, "file_not_found", message).fix("name a file that is there, or a workflow"));
        }
        let workflow = WorkflowName::parse(named).map_err(wrong)?;
        let asked = if args.drawing.svg {
            with_query(&path(&workflow, "/graph.svg"), &WorkflowQuery { version: args.version })
        } else {
            let format = if args.mermaid { GraphFormat::Mermaid } else { GraphFormat::Text };
            let query = GraphQuery { version: args.version, format: Some(format), width: u16::try_from(width).ok() };
            with_query(&path(&workflow, "/graph"), &query)
        };
        session()?.client.get_text(&asked)?
    };
    if args.drawing.svg {
        return args.drawing.deliver("graph", graph, json);
    }
    Ok(Answer { verbatim: !json && !screen.people, ..Answer::new(&json!({"graph": graph}), graph) })
}

fn of_file(args: &GraphArgs, file: &str, screen: Screen, width: usize) -> Result<String, Failure> {
    let found = definitions(file, &read(file)?).map_err(|problems| {
        if screen.people {
            problems.iter().for_each(|problem| _ = screen.line(&told(file, problem)));
        }
        not_valid(&problems, screen.people)
    })?;
    if args.drawing.svg && found.len() != 1 {
        let message = format!("`{file}` holds {} workflows, and an SVG shows one", found.len());
        return Err(Failure::usage(message).fix("give each a file of its own, or put them and draw one by its name"));
    }
    let drawn = found.iter().map(|one| match &one.compiled.ir {
        ir if args.drawing.svg => flow::graph::svg::svg(ir, None),
        ir if args.mermaid => flow::graph::mermaid(ir),
        ir => flow::graph::drawn(ir, width),
    });
    Ok(drawn.collect::<Vec<_>>().join("\n"))
}
