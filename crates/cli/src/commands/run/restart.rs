//! `signaller run restart|skip`: from a node on once more, or on without it.

use super::operations::OperationsArgs;
use crate::commands::Session;
use crate::commands::task::read_input;
use crate::output::{Answer, Outcome};
use clap::Args;
use doors::wire::{RunNow, RunRestart, RunSkip, place};
use kernel::run::NodeAt;

/// Begin a run anew from a node: it and all that follows from it are undone and done again, what came before stays
#[derive(Args, Debug)]
#[command(
    after_help = "In a loop the turns after it are undone, too; in an each the other items stay. A run that has ended goes on. With\n\
                        --set, --unset or -f it goes on by another text, in which what is undone may be another.\n\n\
                        Examples:\n  signaller run restart run-7/pay --reason 'wrong account'\n  \
                        signaller run restart 'run-7/rounds[1]/lint'\n  \
                        signaller run restart run-7/pay --set nodes.pay.with.account=other"
)]
pub struct RestartArgs {
    /// The node, with its run
    #[arg(value_name = "RUN/NODE", value_parser = node_at)]
    node: NodeAt,
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
    NodeAt::parse(text).ok_or_else(|| format!("`{text}` is not a node of a run such as run-7/pay or run-7/rounds[1]/pay"))
}

pub fn restart(args: RestartArgs, session: &Session) -> Outcome {
    let at = args.node;
    let with = args.with.as_deref().map(read_input).transpose()?;
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

pub fn skip(args: SkipArgs, session: &Session) -> Outcome {
    let at = args.node;
    let output = args.output.as_deref().map(read_input).transpose()?;
    let gives = if output.is_some() { "with the output that was given" } else { "with null" };
    let node = place(&at.frame, &at.node);
    let body = RunSkip { node, output, reason: args.reason, by: Some(session.by.clone()) };
    let now: RunNow = session.client.post(&format!("/v1/runs/{}/skip", at.run), &body)?;
    let text = format!("{} is done, {gives}; {} goes on.", at.show(), now.run);
    Ok(Answer::new(&now, text).next(format!("run watch {}", at.run), "see it go on"))
}
