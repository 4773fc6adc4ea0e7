//! `signaller workflow list|show`.

use super::path;
use crate::client::with_query;
use crate::commands::Session;
use crate::output::{Answer, Outcome};
use crate::plain::plain_text;
use crate::table::{cell, facts, table};
use crate::units::{now, show_age};
use clap::Args;
use doors::wire::{Instant, WorkflowDisabled, WorkflowList, WorkflowQuery, WorkflowView};
use kernel::names::WorkflowName;

/// List workflows, each in its newest version
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller workflow list")]
pub struct ListArgs {}

pub fn list(_: ListArgs, session: &Session) -> Outcome {
    let list: WorkflowList = session.client.get("/v1/workflows")?;
    if list.workflows.is_empty() {
        let text = "There is no workflow yet. Put one: signaller workflow put FILE";
        return Ok(Answer::new(&list, text).next("workflow put FILE", "put a first one"));
    }
    let now = now();
    let rows = list.workflows.iter().map(|one| {
        let note = one.disabled.as_ref().map_or_else(String::new, |disabled| format!("disabled {}", by_whom(disabled, now)));
        vec![cell(&one.workflow), cell(one.version), cell(show_age(one.put_at, now)), cell(&one.put_by), cell(note)]
    });
    let text = table(&session.screen, &["WORKFLOW", "VERSION", "PUT", "BY", "NOTE"], rows);
    Ok(Answer::new(&list, text).next("workflow show WORKFLOW", "one of them whole"))
}

/// Show a workflow: its nodes and its versions, or its text
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  signaller workflow show refund
  signaller workflow show refund --version 1 --text > refund.yaml")]
pub struct ShowArgs {
    /// The workflow, by its name
    #[arg(value_name = "WORKFLOW", value_parser = WorkflowName::parse)]
    workflow: WorkflowName,
    /// This version instead of the newest
    #[arg(long, value_name = "N")]
    version: Option<u32>,
    /// Only its text, as it was put
    #[arg(long)]
    text: bool,
}

pub fn show(args: ShowArgs, json: bool, session: &Session) -> Outcome {
    let query = WorkflowQuery { version: args.version };
    let view: WorkflowView = session.client.get(&with_query(&path(&args.workflow, ""), &query))?;
    if args.text {
        let text = view.text.clone().unwrap_or_default();
        return Ok(Answer { verbatim: !json && !session.screen.people, ..Answer::new(&view, text) });
    }
    let (screen, now) = (&session.screen, now());
    let versions = view.versions.iter().map(|one| one.version.to_string()).collect::<Vec<_>>().join(", ");
    let mut lines = vec![
        ("workflow", view.workflow.to_string()),
        ("version", view.version.to_string()),
        ("put", format!("{} by {}", show_age(view.put_at, now), view.put_by)),
        ("versions", versions),
        ("nodes", view.nodes.len().to_string()),
    ];
    if let Some(input) = &view.input {
        lines.push(("input", input.to_string()));
    }
    if let Some(disabled) = &view.disabled {
        lines.push(("disabled", format!("{}; no new runs start", by_whom(disabled, now))));
    }
    let mut text = facts(screen, &lines);
    let rows = view.nodes.iter().map(|node| {
        let after = node.after.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        vec![
            cell(&node.node),
            cell(&node.kind),
            cell(after),
            cell(node.within.as_ref().map_or("", |of| of.as_str())),
            cell(node.when.as_deref().unwrap_or_default()),
        ]
    });
    text.push_str(&format!("\n\n{}", table(screen, &["NODE", "TYPE", "AFTER", "WITHIN", "WHEN"], rows)));
    let name = &view.workflow;
    let answer = Answer::new(&view, text);
    let answer =
        if view.disabled.is_some() { answer.next(format!("workflow enable {name}"), "let new runs start") } else { answer };
    Ok(answer
        .next(format!("workflow graph {name}"), "see it drawn")
        .next(format!("workflow show {name} --text"), "its text")
        .next(format!("run list --workflow {name}"), "its runs"))
}

/// `3 min ago by ana: audit`
fn by_whom(disabled: &WorkflowDisabled, now: Instant) -> String {
    let colon = if disabled.reason.is_empty() { "" } else { ": " };
    plain_text(&format!("{} by {}{colon}{}", show_age(disabled.since, now), disabled.by, disabled.reason)).into_owned()
}
