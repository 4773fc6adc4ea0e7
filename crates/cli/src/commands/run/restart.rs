//! `signaller run restart|skip`: from a node on once more, or on without it.

use super::meant::{self, Deed, Many, Of};
use super::operations::OperationsArgs;
use crate::commands::Session;
use crate::commands::task::read_json;
use crate::output::{Answer, Failure, Outcome};
use clap::Args;
use doors::wire::{RunNow, RunRestart, RunSkip, RunStatus, RunsVerb, place, place_meant};
use kernel::run::NodeAt;

/// Begin a run anew from a node: it and all that follows from it are undone and done again, what came before stays
#[derive(Args, Debug)]
#[command(
    after_help = "In a loop the turns after it are undone, too; in an each the other items stay. A run that has ended goes on. With\n\
                        --set, --unset or -f it goes on by another text, in which what is undone may be another.\n\n\
                        Examples:\n  signaller run restart run-7/pay --reason 'wrong account'\n  \
                        signaller run restart 'run-7/rounds[1]/lint'\n  \
                        signaller run restart run-7/pay --set nodes.pay.with.account=other\n  \
                        signaller run restart --node pay --where 'workflow == \"refund\" && status == \"failed\"' --dry-run"
)]
pub struct RestartArgs {
    /// The node, with its run
    #[arg(id = "runs", value_name = "RUN/NODE", required_unless_present = "filter", value_parser = node_at)]
    at: Option<NodeAt>,
    #[command(flatten)]
    many: Many,
    /// With --where: only show how many runs are meant
    #[arg(long, conflicts_with = "runs", requires = "filter")]
    dry_run: bool,
    /// With --where: the node of each run, such as pay
    #[arg(long, value_name = "NODE", requires = "filter")]
    node: Option<String>,
    #[command(flatten)]
    operations: OperationsArgs,
    /// Of a node that a worker does: another input for it; JSON, @file or - for stdin
    #[arg(long, value_name = "JSON")]
    with: Option<String>,
    /// Change nothing unless it is at this revision
    #[arg(long, value_name = "N")]
    expected_revision: Option<u32>,
    /// Why, for the history
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// With --where: do it; without this nothing begins anew
    #[arg(long, conflicts_with_all = ["runs", "dry_run"])]
    yes: bool,
}

/// Say what a node gives, so that its run goes on without it: one that waits, is under way or failed its run
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller run skip run-7/audit --reason 'done by hand'\n  \
                        signaller run skip run-7/pay --output '{\"paid\":true}'\n  \
                        signaller run skip 'run-7/rounds[1]/lint' --output @clean.json")]
pub struct SkipArgs {
    /// The node, with its run
    #[arg(value_name = "RUN/NODE", value_parser = node_at)]
    node: NodeAt,
    /// What it gives: JSON, @file or - for stdin [default: null]
    #[arg(long, value_name = "JSON")]
    output: Option<String>,
    /// Why, for the history
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub fn node_at(text: &str) -> Result<NodeAt, String> {
    NodeAt::parse(text).ok_or_else(|| not_a_node(text))
}

/// What is wrong with the name of a node, and how it would be written.
pub fn not_a_node(text: &str) -> String {
    let meant = text.split_once('/').and_then(|(run, place)| Some(format!("{run}/{}", place_meant(place)?)));
    let meant = meant.map_or_else(String::new, |meant| format!("; did you mean {meant}?"));
    format!("`{text}` is not a node of a run such as run-7/pay, run-7/rounds[1]/pay or run-7/rounds[1].check[2]/lint{meant}")
}

pub fn restart(args: RestartArgs, session: &Session) -> Outcome {
    let Some(at) = args.at else { return restart_all(args, session) };
    let with = args.with.as_deref().map(|with| read_json("--with", with)).transpose()?;
    let ask = |made: Option<super::operations::Made>| {
        let expected_revision = made.as_ref().map_or(args.expected_revision, |made| made.expected);
        let body = RunRestart {
            node: place(&at.frame, &at.node),
            operations: made.map(|made| made.operations),
            with: with.clone(),
            expected_revision,
            reason: args.reason.clone(),
            by: Some(session.by.clone()),
        };
        session.client.post::<RunNow>(&format!("/v1/runs/{}/restart", at.run), &body)
    };
    let now = args.operations.send(session, at.run, args.expected_revision, ask)?;
    let revision = now.revision.filter(|_| with.is_some() || !args.operations.is_empty());
    let by = revision.map_or_else(String::new, |revision| format!(", by revision {revision} of its text"));
    let generation = now.generation.unwrap_or_default();
    let text = format!("{} begins anew from {}{by}; generation {generation}.", now.run, place(&at.frame, &at.node));
    Ok(Answer::new(&now, text).next(format!("run watch {}", at.run), "see it go on"))
}

fn restart_all(args: RestartArgs, session: &Session) -> Outcome {
    let Some(filter) = args.many.filter.clone() else { return Err(Failure::usage("name a RUN/NODE, or give --where")) };
    let Some(node) = args.node else {
        return Err(Failure::usage("--where needs --node").fix("say from which node they begin anew: --node pay"));
    };
    if args.with.is_some() || args.expected_revision.is_some() || !args.operations.is_empty() {
        return Err(Failure::usage("another text is for one run").fix("name a RUN/NODE instead of --where"));
    }
    let (would, done) = ("restart", "begin anew");
    let (verb, command, reason) = (RunsVerb::Restart, "run restart", args.reason);
    meant::all(
        session,
        &args.many,
        &filter,
        Deed { verb, of: Of::Node(node), dry_run: args.dry_run, command, would, done, reason, yes: Some(args.yes) },
    )
}

pub fn skip(args: SkipArgs, session: &Session) -> Outcome {
    let at = args.node;
    let output = args.output.as_deref().map(|output| read_json("--output", output)).transpose()?;
    let gives = if output.is_some() { "with the output that was given" } else { "with null" };
    let node = place(&at.frame, &at.node);
    let body = RunSkip { node, output, reason: args.reason, by: Some(session.by.clone()) };
    let now: RunNow = session.client.post(&format!("/v1/runs/{}/skip", at.run), &body)?;
    let text = format!("{} is done, {gives}; {} {}.", at.show(), now.run, goes_on(&now));
    let answer = Answer::new(&now, text);
    Ok(match now.status {
        RunStatus::Running if now.paused => answer.next(format!("run resume {}", at.run), "let it go on"),
        RunStatus::Running => answer.next(format!("run watch {}", at.run), "see it go on"),
        _ => answer.next(format!("run show {}", at.run), "how it ended"),
    })
}

/// How its run stands after that.
fn goes_on(now: &RunNow) -> String {
    match (now.status, now.was) {
        (RunStatus::Running, _) if now.paused => "is paused, and goes on when it is resumed".to_owned(),
        (RunStatus::Running, Some(was)) => format!("was {was}, and runs again"),
        (RunStatus::Running, None) => "goes on".to_owned(),
        (RunStatus::Done, _) => "is done with that".to_owned(),
        (ended, _) => format!("is {ended}"),
    }
}
