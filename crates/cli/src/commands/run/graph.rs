//! `signaller run graph`.

use super::picture;
use crate::commands::{Session, run_id};
use crate::drawing::SvgArgs;
use crate::output::{Answer, Outcome};
use crate::table::columns;
use crate::units::now;
use clap::Args;
use doors::wire::RunView;
use kernel::ids::RunId;

/// Draw a run: its workflow with how each node stands, in the terminal or as SVG
#[derive(Args, Debug)]
#[command(
    after_help = "In the terminal it is the nodes as `run show` has them; as SVG the whole graph, with the ways that were taken.\n\n\
                        Examples:\n  signaller run graph run-7\n  signaller run graph run-7 --svg -o run-7.svg"
)]
pub struct GraphArgs {
    /// The run, by its id
    #[arg(value_name = "RUN", value_parser = run_id)]
    run: RunId,
    #[command(flatten)]
    drawing: SvgArgs,
}

pub fn run(args: GraphArgs, json: bool, session: &Session) -> Outcome {
    args.drawing.check(json)?;
    let run = args.run;
    if args.drawing.svg {
        let svg = session.client.get_text(&format!("/v1/runs/{run}/graph.svg"))?;
        return args.drawing.deliver("graph", svg, json);
    }
    let view: RunView = session.client.get(&format!("/v1/runs/{run}"))?;
    let lines = picture::lines(&session.screen, &view, now(), columns());
    let text = if lines.is_empty() { format!("Nothing has happened in {run} yet.") } else { lines.join("\n") };
    let answer = Answer::new(&view, text).next(format!("run graph {run} --svg -o {run}.svg"), "the whole graph, for a browser");
    Ok(answer.next(format!("run timeline {run}"), "when each node did what"))
}
