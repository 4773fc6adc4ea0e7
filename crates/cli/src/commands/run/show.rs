//! `signaller run show`.

use super::restart::not_a_node;
use super::{node, picture};
use crate::client::with_query;
use crate::commands::{Session, run_id};
use crate::json_text::pretty;
use crate::output::{Answer, Outcome, Paint, Screen};
use crate::plain::plain_text;
use crate::table::{columns, facts, priority_text, run_status_text};
use crate::units::{count_of, grouped, now, show_about_ms, show_age};
use clap::Args;
use doors::wire::{Instant, NodeCounts, RunShowQuery, RunStatus, RunView};
use kernel::frame::FramePath;
use kernel::ids::RunId;
use kernel::run::NodeAt;

/// Show one run whole, or one node, turn or item of it: its input, its state, its output
#[derive(Args, Debug)]
#[command(
    after_help = "After a restart, turns and items say in which generation they were opened: rounds[7@1] is turn 7 of generation 1. Without \
                        that, rounds[7] is the newest there is. Those that a restart has undone are shown by their whole name, or with \
                        --all-generations.\n\nExamples:\n  signaller run show run-7\n  signaller run show run-7/pay\n  \
                        signaller run show 'run-7/rounds[1].check[4]/lint'\n  \
                        signaller run show 'run-7/rounds[1]'\n  signaller run show 'run-7/rounds[1@2]/pay'\n  signaller run show run-7 --nodes 1000\n  signaller run show run-7 --json | jq .result.output"
)]
pub struct ShowArgs {
    /// The run, or one node, turn or item of it
    #[arg(value_name = "RUN[/NODE]", value_parser = shown)]
    what: Shown,
    /// How many of its nodes, those in turns and items too [default: 100 for JSON; for people those in them only while they go on
    /// or if they failed; at most 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    nodes: Option<u32>,
    /// Also turns, items and nodes that restarts have undone; of one turn or item, the first that was opened
    #[arg(long)]
    all_generations: bool,
}

#[derive(Clone, Debug)]
enum Shown {
    Run(RunId),
    Node(NodeAt),
    Frame(RunId, FramePath),
}

fn shown(text: &str) -> Result<Shown, String> {
    if !text.contains('/') {
        return run_id(text).map(Shown::Run);
    }
    let frame = text.split_once('/').filter(|(_, frame)| frame.ends_with(']'));
    if let Some(frame) = frame.and_then(|(run, frame)| Some(Shown::Frame(RunId::parse(run)?, FramePath::parse(frame)?))) {
        return Ok(frame);
    }
    let wrong = || format!("{}; nor a turn or item of it", not_a_node(text));
    NodeAt::parse(text).map(Shown::Node).ok_or_else(wrong)
}

pub fn run(args: ShowArgs, session: &Session) -> Outcome {
    let run = match args.what {
        Shown::Run(run) => run,
        Shown::Node(at) => return node::run(&at, session),
        Shown::Frame(run, frame) => return node::run_frame(run, &frame, args.nodes, args.all_generations, session),
    };
    let query = RunShowQuery { nodes: args.nodes, all_generations: args.all_generations, ..RunShowQuery::default() };
    let view: RunView = session.client.get(&with_query(&format!("/v1/runs/{run}"), &query))?;
    let run = view.run;
    let answer = Answer::new(&view, page(&session.screen, &view, args.nodes.is_some() || args.all_generations));
    let answer = answer.next(format!("run trace {run}"), "everything that happened in it");
    Ok(match view.status {
        RunStatus::Running if view.pause.is_some() => answer.next(format!("run resume {run}"), "let it go on"),
        RunStatus::Running => {
            answer.next(format!("run explain {run}"), "what it waits for").next(format!("run watch {run}"), "see it go on")
        }
        RunStatus::Failed | RunStatus::Cancelled if view.retryable => {
            answer.next(format!("run retry {run}"), "go on from where it stopped")
        }
        RunStatus::Failed | RunStatus::Cancelled | RunStatus::Done => answer,
    })
}

/// Nodes that one answer may have.
const NODES_MAX: u64 = 1_000;
/// Lines of an input or output that a page shows.
const VALUE_LINES_MAX: usize = 40;

/// `all`: each node that came along is told by itself.
pub fn page(screen: &Screen, run: &RunView, all: bool) -> String {
    page_at(screen, run, all, now())
}

/// The same as it is seen at another instant.
pub fn page_at(screen: &Screen, run: &RunView, all: bool, now: Instant) -> String {
    let when = |at: Instant| format!("{} ({at})", show_age(at, now));
    let mut lines = vec![
        ("run", run.run.to_string()),
        ("workflow", format!("{} version {}{}", run.workflow, run.version, changed(run))),
        ("status", state_at(screen, run, now)),
        ("started", when(run.started_at)),
    ];
    if let Some(at) = run.ended_at {
        lines.push(("ended", format!("{}{}", when(at), took(run).map_or_else(String::new, |took| format!(", {took}")))));
    }
    if let Some(deadline) = run.deadline.filter(|_| run.ended_at.is_none()) {
        lines.push(("deadline", format!("{} ({deadline})", show_age(deadline, now))));
    }
    if let Some(priority) = run.priority {
        lines.push(("priority", priority_text(priority)));
    }
    if !run.tags.is_empty() {
        lines.push(("tags", run.tags.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")));
    }
    if let Some(key) = &run.idempotency_key {
        lines.push(("key", key.to_string()));
    }
    if let Some(parent) = &run.parent {
        lines.push(("called by", parent.clone()));
    }
    if let Some(event) = &run.event {
        lines.push(("started for", event.to_string()));
    }
    if let Some(origin) = &run.origin {
        let node = origin.node.as_ref().map_or_else(String::new, |node| format!(", before {node}"));
        lines.push(("forked from", format!("{} after record {}{node}", origin.run, origin.record)));
    }
    if let Some(error) = &run.error {
        let at = run.failed_at.as_ref().map_or_else(String::new, |node| format!("{node}: "));
        lines.push(("error", plain_text(&format!("{at}{}: {}", error.code, error.message)).into_owned()));
    }
    if let Some(why) = &run.cancelled {
        let colon = if why.reason.is_empty() { "" } else { ": " };
        lines.push(("cancelled", plain_text(&format!("by {}{colon}{}", why.by, why.reason)).into_owned()));
    }
    if let Some(counts) = &run.counts {
        lines.push(("nodes", counts_text(counts)));
    }
    for (name, payload) in [("input", &run.input), ("output", &run.output)] {
        if let Some(payload) = payload {
            lines.push((name, beginning(pretty(payload.get()))));
        }
    }
    let mut nodes = match all {
        true => picture::all_lines(screen, (run.run, columns()), &run.nodes, now),
        false => picture::lines(screen, run, now, columns()),
    };
    let told = if all { run.nodes.len() as u64 } else { 0 };
    let hidden = if all {
        run.counts.as_ref().map_or(0, |counts| (counts.all() + counts.undone).saturating_sub(told))
    } else {
        picture::hidden(run)
    };
    if hidden > 0 {
        let inside = if all { "" } else { " in turns and items" };
        let how = if all && told >= NODES_MAX {
            "`run show RUN/NODE[0]` has those of one turn or item"
        } else {
            "--nodes 1000 lists them"
        };
        let text = format!("… and {} more{inside}; {how}", grouped(hidden));
        nodes.push(screen.paint(Paint::Dim, &text));
    }
    let drawn = if nodes.is_empty() { String::new() } else { format!("\n\n{}", nodes.join("\n")) };
    format!("{}{drawn}", facts(screen, &lines))
}

/// `after 3 s`; of one that was restarted, from which start that is.
pub fn took(run: &RunView) -> Option<String> {
    let took = show_about_ms(run.duration_ms?);
    Some(if run.generation == 0 { format!("after {took}") } else { format!("{took} after its first start") })
}

/// `, revision 2, generation 1`: of one that was changed under way.
pub fn changed(run: &RunView) -> String {
    let count = |what: &str, count: u32| if count == 0 { String::new() } else { format!(", {what} {count}") };
    format!("{}{}", count("revision", run.revision), count("generation", run.generation))
}

/// A value of many lines would push all else off the screen.
pub fn beginning(text: String) -> String {
    let count = text.lines().count();
    if count <= VALUE_LINES_MAX {
        return text;
    }
    let shown = text.lines().take(VALUE_LINES_MAX).collect::<Vec<_>>().join("\n");
    format!("{shown}\n… and {} more; --json has it whole", count_of((count - VALUE_LINES_MAX) as u64, "line"))
}

/// Its status and what is special about it.
pub fn state(screen: &Screen, run: &RunView) -> String {
    state_at(screen, run, now())
}

pub fn state_at(screen: &Screen, run: &RunView, now: Instant) -> String {
    let status = run_status_text(screen, run.status);
    let more = match &run.pause {
        _ if run.deleting => ", being deleted".to_owned(),
        _ if run.stopping => ", what was under way is being stopped".to_owned(),
        Some(pause) => {
            let colon = if pause.reason.is_empty() { "" } else { ": " };
            format!(", paused {} by {}{colon}{}", show_age(pause.since, now), pause.by, pause.reason)
        }
        None if run.held => ", paused with the run that called it".to_owned(),
        None => String::new(),
    };
    format!("{status}{}", screen.paint(Paint::Yellow, &more))
}

pub fn counts_text(counts: &NodeCounts) -> String {
    let parts = [
        (counts.done, "done"),
        (counts.running, "running"),
        (counts.queued, "queued"),
        (counts.asking, "asking"),
        (counts.sleeping, "sleeping"),
        (counts.awaiting, "awaiting"),
        (counts.failed, "failed"),
        (counts.skipped, "skipped"),
        (counts.cancelled, "cancelled"),
        (counts.waiting, "waiting"),
        (counts.undone, "undone"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let text = parts.collect::<Vec<_>>().join(", ");
    if counts.more { format!("{text}, and more that were not counted") } else { text }
}
