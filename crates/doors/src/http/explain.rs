//! `/v1/runs/{run}/explain`: what a run waits for, or how it ended and what can be done.

use super::Door;
use super::answer::{Json, No, unexpected};
use super::body::Named;
use super::run::with_ending;
use super::values::shown;
use crate::wire::{self, *};
use axum::extract::State;
use engine::{Answer, Engine, Request};
use kernel::ids::RunId;
use kernel::node::NodeState;
use kernel::rejection::Rejection;
use kernel::row::NodeRow;
use kernel::time::span;
use store::{Reader, StoreError};

/// What a run waits for, or how it ended and what can be done.
#[utoipa::path(get, path = "/v1/runs/{run}/explain", tag = "runs", params(("run" = String, Path)),
    responses((status = 200, body = RunExplanation)))]
pub async fn explain(State(door): State<Door>, Named(run): Named<RunId>) -> Result<Json<RunExplanation>, No> {
    match door.ask(Request::ExplainRun { run }).await? {
        Answer::RunExplained(Ok(explained)) => {
            let told = RunExplanation::from(&*explained);
            return Ok(Json(door.blocking(move |engine| with_questions(engine, told)).await?));
        }
        // One that has ended has left the writer's memory.
        Answer::RunExplained(Err(Rejection::RunNotFound { .. })) => {}
        Answer::RunExplained(Err(rejection)) => return Err(rejection.into()),
        other => return Err(unexpected(&other)),
    }
    let found = door.read(move |reader| {
        let Some((_, view)) = with_ending(reader, run)? else { return Ok(None) };
        let within = first_within(reader, &view)?;
        Ok(Some((view, within)))
    });
    let (view, within) = found.await?.ok_or(Rejection::RunNotFound { run })?;
    Ok(Json(ended(&view, within)))
}

/// Failed nodes of a run that are looked through for the one at the bottom of it.
const FAILED_MAX: usize = 1_000;

fn first_within(reader: &mut dyn Reader, view: &RunView) -> Result<Option<String>, StoreError> {
    if view.failed_at.is_none() {
        return Ok(None);
    }
    let status = Some(NodeStatus::Failed.in_row().to_owned());
    let rows = reader.nodes(&store::NodeQuery { status, ..store::NodeQuery::of(view.run, FAILED_MAX) })?;
    let rows = rows.iter().map(|row| NodeRow::from_row(&row.values)).collect::<Result<Vec<_>, _>>()?;
    Ok(first_of(view, &rows))
}

/// What failed first, by its place, in the loop or the each that failed the run: that one only counts. `rows`: by their keys.
pub fn first_of(view: &RunView, rows: &[NodeRow]) -> Option<String> {
    let open = format!("{}[", view.failed_at.as_ref()?);
    let mut first: Option<&NodeRow> = None;
    for row in rows.iter().filter(|row| matches!(row.slot.state(), NodeState::Failed { .. })) {
        // Below a loop or an each that failed lies why.
        let below = first.map_or(open.clone(), |first| format!("{}[", place(&first.at.frame, &first.at.node)));
        if place(&row.at.frame, &row.at.node).replace('/', ".").starts_with(&below.replace('/', ".")) {
            first = Some(row);
        }
    }
    first.and_then(|row| match row.slot.state() {
        NodeState::Failed { failure, .. } => {
            Some(format!("; for one, {} with {}: {}", place(&row.at.frame, &row.at.node), failure.code, failure.message))
        }
        _ => None,
    })
}

/// What those that wait for an answer ask, which only the store has.
fn with_questions(engine: &Engine, mut told: RunExplanation) -> Result<RunExplanation, StoreError> {
    for wait in &mut told.waits {
        if let (true, Some(at)) = (wait.code == "approval", placed(told.run, &wait.node)) {
            let message = engine.read(|reader| {
                let Some(row) = reader.node(&at)? else { return Ok(None) };
                // The question rides with the record that says it was asked: a node that asks has none after it.
                let last = NodeRow::from_row(&row.values)?.slot.last();
                Ok(reader.payloads(&[last])?.pop().flatten())
            })?;
            wait.message = shown(engine, message)?;
        }
        if let Some(called) = wait.called.take() {
            wait.called = Some(Box::new(with_questions(engine, *called)?));
        }
    }
    Ok(told)
}

/// Of one that has ended.
pub fn ended(view: &RunView, within: Option<String>) -> RunExplanation {
    let run = view.run;
    let took = view.duration_ms.map_or_else(String::new, |ms| format!(" after {}", span(ms)));
    let mut next_actions = vec![format!("signaller run show {run}")];
    let again = match &view.parent {
        // The one at the top is tried again, and starts it anew.
        Some(parent) => {
            let caller = parent.split('/').next().unwrap_or(parent);
            next_actions.push(format!("signaller run explain {caller}"));
            format!(" It was called by {parent}: what becomes of it is the affair of {caller}.")
        }
        None if view.retryable => {
            next_actions.push(format!("signaller run retry {run}"));
            match view.status {
                wire::RunStatus::Cancelled => " It can be tried again, from where it was.".to_owned(),
                _ => {
                    let revision = if view.revision == 0 { String::new() } else { format!(", revision {}", view.revision) };
                    if let Some(node) = &view.failed_at {
                        next_actions.push(format!("signaller run fork '{run}/{node}' --dry-run"));
                    }
                    format!(
                        " What failed it can be tried again, on version {}{revision}, or by another text: `run patch` first, or `run \
                         retry` with --with or --set. What is done stays done.",
                        view.version
                    )
                }
            }
        }
        None if view.stopping => " What was under way in it is still being stopped.".to_owned(),
        None => {
            next_actions.push(format!("signaller run start {} --version {} --input JSON", view.workflow, view.version));
            " There is nothing in it to try again: start a new run.".to_owned()
        }
    };
    let sentence = match view.status {
        _ if view.deleting => format!("{run} is being deleted."),
        wire::RunStatus::Running => format!("{run} goes on in a moment."),
        wire::RunStatus::Done => {
            next_actions.truncate(1);
            format!("{run} is done{took}: nothing is left to do in it.")
        }
        wire::RunStatus::Failed => {
            next_actions.push(format!("signaller run trace {run}"));
            let at = view.failed_at.as_ref().map_or_else(String::new, |node| format!(" at {node}"));
            let why = view.error.as_ref().map_or_else(String::new, |error| {
                let colon = if error.message.is_empty() { "" } else { ": " };
                format!(" with {}{colon}{}", error.code, error.message)
            });
            format!("{run} failed{at}{took}{why}{}.{again}", within.unwrap_or_default())
        }
        wire::RunStatus::Cancelled => {
            let who = view.cancelled.as_ref().map_or_else(String::new, |why| {
                let colon = if why.reason.is_empty() { "" } else { ": " };
                format!(" by {}{colon}{}", why.by, why.reason)
            });
            format!("{run} was cancelled{took}{who}.{again}")
        }
    };
    RunExplanation { run, status: view.status, sentence, waits: Vec::new(), more: 0, next_actions }
}
