//! `signaller run start`.

use super::watch::{self, WaitArgs};
use crate::commands::task::read_input;
use crate::commands::{Session, priority};
use crate::output::{Answer, Failure, Outcome};
use crate::units::parse_duration_ms;
use clap::Args;
use doors::wire::{Priority, RunStart, RunStarted};
use kernel::names::{IdempotencyKey, Tag, WorkflowName};

/// Start a run of a workflow
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  signaller run start refund --input '{\"order\":\"o-1\",\"amount\":250}'
  signaller run start refund --input @order.json --idempotency-key order-17 --deadline 2h --wait --timeout 5m\n
With --wait the exit code is 0 when it is done, 1 when it failed or was cancelled, and 6 when it had not ended after --timeout, \
or at Ctrl-C: the run goes on.")]
pub struct StartArgs {
    /// The workflow, by its name
    #[arg(value_name = "WORKFLOW", value_parser = WorkflowName::parse)]
    workflow: WorkflowName,
    /// Its input: JSON, @FILE, or - for stdin
    #[arg(short, long, value_name = "JSON")]
    input: Option<String>,
    /// This version instead of the newest
    #[arg(long, value_name = "N")]
    version: Option<u32>,
    /// Starting again with the same key answers the first run, whatever the input; keys are of one workflow
    #[arg(long, alias = "key", value_name = "KEY", value_parser = IdempotencyKey::parse)]
    idempotency_key: Option<IdempotencyKey>,
    /// Of its tasks: critical, high, normal, background, or a head start in seconds
    #[arg(long, value_parser = priority, allow_hyphen_values = true)]
    priority: Option<Priority>,
    /// A tag; may be given several times
    #[arg(long = "tag", value_name = "TAG", value_parser = Tag::parse)]
    tags: Vec<Tag>,
    /// It fails if it is not over after so long
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ms)]
    deadline: Option<u64>,
    #[command(flatten)]
    wait: WaitArgs,
}

pub fn run(args: StartArgs, session: &Session) -> Outcome {
    let body = RunStart {
        version: args.version,
        input: args.input.as_deref().map(read_input).transpose()?,
        idempotency_key: args.idempotency_key,
        priority: args.priority,
        tags: args.tags,
        deadline_ms: args.deadline,
        by: Some(session.by.clone()),
        ..RunStart::new(args.workflow.clone())
    };
    let started: RunStarted = session.client.post("/v1/runs", &body).map_err(|failure: Failure| match &*failure.code {
        "workflow_not_found" => failure.next("workflow list", "those there are").next("workflow put FILE", "put this one"),
        _ => failure,
    })?;
    let run = started.run;
    if args.wait.wait {
        session.screen.note(&if started.duplicate { again(&started) } else { format!("started {run}") });
        return watch::until_ended(session, run, args.wait.timeout, !started.duplicate);
    }
    let text = if started.duplicate { again(&started) } else { format!("Started {run} of {}.", args.workflow) };
    let answer = Answer::new(&started, text);
    let answer =
        if started.duplicate { answer.next(format!("run show {run}"), "the run as it stands, with its input") } else { answer };
    Ok(answer.next(format!("run watch {run}"), "see it go on").next(format!("run explain {run}"), "see what it waits for"))
}

/// What became of a start with a key that was used before.
fn again(started: &RunStarted) -> String {
    let with = if started.input_differs { ", with another input" } else { "" };
    format!("{} was started with this key before{with}; nothing of this request was used.", started.run)
}
