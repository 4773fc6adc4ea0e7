//! `signaller run list`.

use super::show::changed;
use crate::client::with_query;
use crate::commands::{Session, run_id, workflow};
use crate::output::{Answer, Failure, Outcome};
use crate::table::{cell, run_status_cell, short, table};
use crate::units::{now, show_about_ms, show_age};
use clap::Args;
use doors::wire::{RunList, RunQuery, RunStatus, RunView, WorkflowView};
use kernel::ids::RunId;
use kernel::names::{IdempotencyKey, Tag, WorkflowName};

/// List runs, newest first; those that other runs have called only with --all or --parent
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  signaller run list --status running
  signaller run list --parent run-7
  signaller run list --workflow refund --status failed --limit 200")]
pub struct ListArgs {
    /// Only those of this workflow
    #[arg(long, value_parser = WorkflowName::parse)]
    workflow: Option<WorkflowName>,
    /// running, done, failed or cancelled
    #[arg(long, value_parser = status)]
    status: Option<RunStatus>,
    /// Only those that are paused
    #[arg(long)]
    paused: bool,
    /// Only those with this tag
    #[arg(long, value_parser = Tag::parse)]
    tag: Option<Tag>,
    /// Only those that a node of this run has called
    #[arg(long, value_name = "RUN", value_parser = run_id)]
    parent: Option<RunId>,
    /// Also those that other runs have called
    #[arg(long, conflicts_with = "parent")]
    all: bool,
    /// Only those that were started with this key
    #[arg(long, alias = "key", value_name = "KEY", value_parser = IdempotencyKey::parse)]
    idempotency_key: Option<IdempotencyKey>,
    /// How many [default: 50, at most 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: Option<u32>,
    /// Go on where the page before ended
    #[arg(long)]
    cursor: Option<String>,
}

fn status(text: &str) -> Result<RunStatus, String> {
    let status = kernel::run::RunStatus::parse(text).map(RunStatus::from);
    status.ok_or_else(|| match text {
        "paused" => "a paused run is still running: ask with --paused".to_owned(),
        _ => format!("`{text}` is none of running, done, failed, cancelled"),
    })
}

pub fn run(args: ListArgs, session: &Session) -> Outcome {
    let ListArgs { workflow, status, paused, tag, parent, all, idempotency_key, limit, cursor } = args;
    let paused = paused.then_some(true);
    let called = if all || parent.is_some() { None } else { Some(false) };
    let query = RunQuery { workflow, status, paused, tag, parent, called, idempotency_key, limit, cursor };
    let list: RunList = session.client.get(&with_query("/v1/runs", &query))?;
    let asked = typed(&query);
    if list.runs.is_empty() {
        if !["run list", "run list --all"].contains(&asked.as_str()) {
            let text = match &query.workflow {
                Some(workflow) if !is_known(session, workflow)? => format!("No run fits; there is no workflow `{workflow}`."),
                _ => "No run fits.".to_owned(),
            };
            let answer = Answer::new(&list, text);
            let hidden = query.called == Some(false);
            return Ok(if hidden {
                answer.next(format!("{asked} --all"), "also those that other runs have called")
            } else {
                answer
            });
        }
        let text = "There is no run yet. Start one: signaller run start WORKFLOW";
        return Ok(Answer::new(&list, text).next("workflow list", "the workflows there are"));
    }
    let now = now();
    let rows = list.runs.iter().map(|run| {
        let took = run.duration_ms.map_or_else(String::new, show_about_ms);
        vec![
            cell(run.run),
            cell(&run.workflow),
            cell(run.version),
            run_status_cell(run.status),
            cell(show_age(run.started_at, now)),
            cell(took),
            cell(remark(run)),
        ]
    });
    let mut text = table(&session.screen, &["RUN", "WORKFLOW", "VERSION", "STATUS", "STARTED", "TOOK", "NOTE"], rows);
    let Some(next) = &list.next else {
        return Ok(Answer::new(&list, text).next("run show RUN", "one of them whole"));
    };
    text.push_str(&format!("\n\nThere is more: add --cursor {next}"));
    let limit = query.limit.map_or_else(String::new, |limit| format!(" --limit {limit}"));
    Ok(Answer::new(&list, text).next(format!("{asked}{limit} --cursor {next}"), "the next page"))
}

fn is_known(session: &Session, workflow: &WorkflowName) -> Result<bool, Failure> {
    match session.client.get::<WorkflowView>(&workflow::path(workflow, "")) {
        Ok(_) => Ok(true),
        Err(failure) if &*failure.code == "workflow_not_found" => Ok(false),
        Err(failure) => Err(failure),
    }
}

/// The command that asks for such runs, less limit and cursor.
fn typed(query: &RunQuery) -> String {
    let flags = [
        query.workflow.as_ref().map(|workflow| format!("--workflow {workflow}")),
        query.status.map(|status| format!("--status {status}")),
        query.paused.map(|_| "--paused".to_owned()),
        query.tag.as_ref().map(|tag| format!("--tag '{tag}'")),
        query.parent.map(|parent| format!("--parent {parent}")),
        (query.called.is_none() && query.parent.is_none()).then(|| "--all".to_owned()),
        query.idempotency_key.as_ref().map(|key| format!("--idempotency-key '{key}'")),
    ];
    std::iter::once("run list".to_owned()).chain(flags.into_iter().flatten()).collect::<Vec<_>>().join(" ")
}

/// What is worth knowing about a run in a few words.
fn remark(run: &RunView) -> String {
    const CHARS_MAX: usize = 60;
    let text = match (&run.pause, &run.error, &run.parent) {
        _ if run.deleting => "being deleted".to_owned(),
        _ if run.stopping => "being stopped".to_owned(),
        (Some(pause), ..) if pause.reason.is_empty() => format!("paused by {}", pause.by),
        (Some(pause), ..) => format!("paused by {}: {}", pause.by, pause.reason),
        _ if run.held => "paused with the run that called it".to_owned(),
        _ if run.undone => format!("undone by a restart, was called by {}", run.parent.as_deref().unwrap_or_default()),
        (None, Some(error), _) => format!("{}: {}", error.code, error.message),
        (None, None, Some(parent)) => format!("called by {parent}"),
        (None, None, None) => match &run.origin {
            Some(origin) => format!("forked from {}", origin.run),
            None => run.tags.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        },
    };
    let text = match changed(run) {
        changed if changed.is_empty() => text,
        changed => format!("{}{}{text}", changed.trim_start_matches(", "), if text.is_empty() { "" } else { "; " }),
    };
    short(text.trim(), CHARS_MAX)
}
