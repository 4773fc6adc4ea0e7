//! `signaller queue inspect`.

use crate::commands::task::{explain, history, show};
use crate::commands::{Session, task_id};
use crate::output::{Answer, Exit, Failure, Outcome};
use clap::Args;
use doors::wire::{Explanation, History, RecordView, Status, TaskView};
use kernel::ids::TaskId;
use serde::Serialize;

/// Records shown, from the newest back.
const RECORDS_SHOWN: usize = 10;

/// Show one task with why it waits and what happened to it last
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller queue inspect task-9m2")]
pub struct InspectArgs {
    /// The task, by its id
    #[arg(value_name = "TASK", value_parser = task_id)]
    task: TaskId,
}

#[derive(Serialize)]
struct Inspected<'a> {
    task: &'a TaskView,
    explanation: &'a Explanation,
    /// The newest, oldest first.
    history: &'a [RecordView],
    /// Older ones that are not among them.
    history_left: usize,
}

pub fn run(args: InspectArgs, session: &Session) -> Outcome {
    let path = format!("/v1/tasks/{}", args.task);
    let gone = |failure| missing(failure, args.task);
    let view: TaskView = session.client.get(&path).map_err(gone)?;
    let explanation: Explanation = session.client.get(&format!("{path}/explain")).map_err(gone)?;
    let History { records } = session.client.get(&format!("{path}/history")).map_err(gone)?;
    let history_left = records.len().saturating_sub(RECORDS_SHOWN);
    let last = &records[history_left..];
    let screen = &session.screen;
    let parts = [show::page(screen, &view), explain::page(screen, &explanation), history::rows_of(screen, last)];
    let inspected = Inspected { task: &view, explanation: &explanation, history: last, history_left };
    let answer = Answer::new(&inspected, parts.join("\n\n")).advised(&explanation.next_actions);
    let answer = match view.status {
        Status::Failed | Status::Cancelled => answer.next(format!("task retry {}", args.task), "queue it again"),
        _ => answer,
    };
    Ok(match history_left {
        0 => answer,
        _ => answer.next(format!("task history {}", args.task), "everything that happened to it"),
    })
}

/// A task that is not there any more is no riddle: what to look at instead is told.
fn missing(failure: Failure, task: TaskId) -> Failure {
    if &*failure.code != "task_not_found" {
        return failure;
    }
    Failure::new(Exit::NotFound, "message_missing", format!("{task} is gone, or never was: deleted tasks leave nothing to show"))
        .fix("look at what is there now, or at how the last hour went")
        .next("queue depth", "what waits and runs now")
        .next("queue stats", "how the last hour went")
        .next("task list", "the newest tasks")
}
