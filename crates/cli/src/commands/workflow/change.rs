//! `signaller workflow disable|enable`: whether new runs of a workflow start.

use super::path;
use crate::commands::Session;
use crate::output::{Answer, Outcome};
use clap::Args;
use doors::wire::{RunChange, Signed, WorkflowNow};
use kernel::names::WorkflowName;

/// Let no new runs of a workflow start, whatever is put meanwhile; those that run go on
#[derive(Args, Debug)]
#[command(after_help = "A node of another workflow that calls it fails with `workflow_disabled`.\n\n\
                        Examples:\n  signaller workflow disable refund --reason 'audit until Monday'")]
pub struct DisableArgs {
    /// The workflow, by its name
    #[arg(value_name = "WORKFLOW", value_parser = WorkflowName::parse)]
    workflow: WorkflowName,
    /// Why, for the history and for whoever is refused
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Let new runs of a workflow start again
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller workflow enable refund")]
pub struct EnableArgs {
    /// The workflow, by its name
    #[arg(value_name = "WORKFLOW", value_parser = WorkflowName::parse)]
    workflow: WorkflowName,
}

pub fn disable(args: DisableArgs, session: &Session) -> Outcome {
    let body = RunChange { by: Some(session.by.clone()), reason: args.reason };
    let now: WorkflowNow = session.client.post(&path(&args.workflow, "/disable"), &body)?;
    let name = &now.workflow;
    let text = match now.unchanged {
        true => format!("{name} was disabled before."),
        false => format!("{name} is disabled: no new runs of it start; those that run go on."),
    };
    Ok(Answer::new(&now, text)
        .next(format!("workflow enable {name}"), "let new runs start again")
        .next(format!("run list --workflow {name} --status running --all"), "those that go on"))
}

pub fn enable(args: EnableArgs, session: &Session) -> Outcome {
    let body = Signed { by: Some(session.by.clone()) };
    let now: WorkflowNow = session.client.post(&path(&args.workflow, "/enable"), &body)?;
    let text = match now.unchanged {
        true => format!("{} is enabled, as it was before.", now.workflow),
        false => format!("{} is enabled: new runs of it may start.", now.workflow),
    };
    Ok(Answer::new(&now, text).next(format!("run start {}", now.workflow), "start one"))
}
