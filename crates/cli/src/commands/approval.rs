//! `signaller approval`: what waits for somebody's answer, and the answer.

use super::Session;
use crate::client::with_query;
use crate::output::{Answer, Failure, Outcome};
use crate::table::{cell, short, table};
use crate::units::{now, show_age};
use clap::{Args, Subcommand};
use doors::wire::{ApprovalAnswer, ApprovalAnswered, ApprovalList, ApprovalQuery, ApprovalView};
use kernel::names::WorkflowName;
use kernel::run::NodeAt;

/// Approvals: what waits for somebody's answer
#[derive(Args, Debug)]
pub struct ApprovalArgs {
    #[command(subcommand)]
    command: ApprovalCommand,
}

#[derive(Subcommand, Debug)]
enum ApprovalCommand {
    List(ListArgs),
    Answer(AnswerArgs),
}

/// List what waits for an answer, the longest waiting first
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller approval list\n  signaller approval list --workflow refund --limit 200")]
struct ListArgs {
    /// Only those of this workflow
    #[arg(long, value_parser = WorkflowName::parse)]
    workflow: Option<WorkflowName>,
    /// How many [default: 50, at most 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: Option<u32>,
    /// Go on where the page before ended
    #[arg(long)]
    cursor: Option<String>,
}

/// Answer yes or no, as one of those who are asked
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  signaller approval answer run-7/ask --yes --by finance
  signaller approval answer run-7/rounds[1]/ask --no --by finance --comment 'too much'")]
struct AnswerArgs {
    /// The node that asks, as `approval list` names it
    #[arg(value_name = "RUN/NODE", value_parser = node_at)]
    node: NodeAt,
    /// It may go on
    #[arg(long)]
    yes: bool,
    /// It may not: its `on_reject` is taken, or it fails
    #[arg(long)]
    no: bool,
    /// What to say with it
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
}

fn node_at(text: &str) -> Result<NodeAt, String> {
    NodeAt::parse(text).ok_or_else(|| format!("`{text}` is not a node of a run such as run-7/ask"))
}

pub fn run(args: ApprovalArgs, session: &Session) -> Outcome {
    match args.command {
        ApprovalCommand::List(args) => list(args, session),
        ApprovalCommand::Answer(args) => answer(args, session),
    }
}

fn list(args: ListArgs, session: &Session) -> Outcome {
    let query = ApprovalQuery { workflow: args.workflow, limit: args.limit, cursor: args.cursor };
    let list: ApprovalList = session.client.get(&with_query("/v1/approvals", &query))?;
    let Some(first) = list.approvals.first() else {
        return Ok(Answer::new(&list, "Nothing waits for an answer."));
    };
    let now = now();
    let rows = list.approvals.iter().map(|one| {
        let who = if one.who.is_empty() { "anyone".to_owned() } else { one.who.join(", ") };
        let until = one.until.map_or_else(|| "no limit".to_owned(), |until| show_age(until, now));
        vec![cell(&one.node), cell(&one.workflow), cell(message(one)), cell(who), cell(show_age(one.since, now)), cell(until)]
    });
    let mut text = table(&session.screen, &["NODE", "WORKFLOW", "ASKS", "WHO", "SINCE", "UNTIL"], rows);
    if let Some(next) = &list.next {
        text.push_str(&format!("\n\nThere is more: add --cursor '{next}'"));
    }
    let who = first.who.first().map_or("NAME", String::as_str);
    let mut answer = Answer::new(&list, text);
    for (word, what) in [("--yes", "say yes to the first"), ("--no", "say no to it")] {
        answer = answer.next(format!("approval answer {} {word} --by {who}", first.node), what);
    }
    let Some(next) = &list.next else { return Ok(answer) };
    let workflow = query.workflow.as_ref().map_or_else(String::new, |workflow| format!(" --workflow {workflow}"));
    let limit = query.limit.map_or_else(String::new, |limit| format!(" --limit {limit}"));
    Ok(answer.next(format!("approval list{workflow}{limit} --cursor '{next}'"), "the next page"))
}

/// What it asks: a text as it is, anything else as JSON.
pub fn message(approval: &ApprovalView) -> String {
    let Some(message) = &approval.message else { return String::new() };
    let text = serde_json::from_str::<String>(message.get()).unwrap_or_else(|_| message.get().to_owned());
    short(&text, 80)
}

fn answer(args: AnswerArgs, session: &Session) -> Outcome {
    if args.yes == args.no {
        let node = args.node.show();
        let message = if args.yes { "an answer is --yes or --no, not both" } else { "an answer says --yes or --no" };
        return Err(Failure::usage(message)
            .fix(format!("give one of the two: signaller approval answer {node} --yes"))
            .next(format!("approval answer {node} --yes"), "it may go on")
            .next(format!("approval answer {node} --no"), "it may not"));
    }
    let body = ApprovalAnswer { node: args.node.show(), approved: args.yes, by: Some(session.by.clone()), comment: args.comment };
    let run = args.node.run;
    let answered: ApprovalAnswered = session.client.post("/v1/approvals", &body).map_err(|failure: Failure| {
        if &*failure.code == "not_asking" { failure.next("approval list", "what waits for an answer") } else { failure }
    })?;
    let word = if answered.approved { "yes" } else { "no" };
    let text = format!("{} was answered with {word} by {}.", answered.node, answered.by);
    Ok(Answer::new(&answered, text).next(format!("run watch {run}"), "see how it goes on"))
}
