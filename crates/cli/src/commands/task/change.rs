//! `signaller task cancel|retry|reset|start|delete`: what changes a task's state. Several tasks are changed in order. One
//! that is refused does not hold up the others; a server that cannot be reached does. Each is answered for by name.

use crate::client::with_query;
use crate::commands::{Session, task_id};
use crate::output::{Answer, Exit, Failure, Outcome};
use crate::units::count_of;
use clap::Args;
use doors::wire::{Signed, Status, TaskCancel, TaskDelete, TaskStart, TaskStatus, TaskView};
use kernel::ids::TaskId;
use serde::Serialize;

#[derive(Args, Debug)]
pub struct Tasks {
    #[arg(value_name = "TASK", required = true, value_parser = task_id)]
    tasks: Vec<TaskId>,
}

/// Cancel tasks that wait or run; a running worker learns it at its next heartbeat
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller task cancel task-9m2 --reason 'wrong branch'")]
pub struct CancelArgs {
    #[command(flatten)]
    tasks: Tasks,
    /// Why, for the history
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Queue tasks that are idle, failed or cancelled, their attempts starting over
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller task retry task-9m2 task-9m3")]
pub struct RetryArgs {
    #[command(flatten)]
    tasks: Tasks,
}

/// Take tasks out of their queue, or make finished ones ready to run again: idle
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller task reset task-9m2")]
pub struct ResetArgs {
    #[command(flatten)]
    tasks: Tasks,
}

/// Run tasks now, past their queue's limits, on its override slots
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller task start task-9m2\n  signaller task start task-9m2 --force")]
pub struct StartArgs {
    #[command(flatten)]
    tasks: Tasks,
    /// Even when blocked by other tasks
    #[arg(long)]
    force: bool,
}

/// Delete tasks that do not run, with their history; this cannot be undone
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller task delete task-9m2 --dry-run\n  signaller task delete task-9m2 --yes")]
pub struct DeleteArgs {
    #[command(flatten)]
    tasks: Tasks,
    /// Do it: without this nothing is deleted
    #[arg(long)]
    yes: bool,
    /// Show what would be deleted
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
}

#[derive(Serialize)]
struct Changed {
    tasks: Vec<One>,
}

/// What came of one task: its status, or why not.
#[derive(Serialize)]
struct One {
    task: TaskId,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Refusal>,
}

#[derive(Serialize)]
struct Refusal {
    code: String,
    message: String,
}

impl One {
    fn refused(task: TaskId, code: &str, message: &str) -> One {
        let error = Refusal { code: code.to_owned(), message: message.to_owned() };
        One { task, ok: false, status: None, error: Some(error) }
    }
}

pub fn cancel(args: CancelArgs, session: &Session) -> Outcome {
    let body = TaskCancel { by: Some(session.by.clone()), reason: args.reason };
    let cancel = |task| session.client.post(&format!("/v1/tasks/{task}/cancel"), &body);
    each(session, &args.tasks, cancel, |changed| match changed.status {
        Status::Running => format!("{} was asked to stop; its worker learns it at its next heartbeat.", changed.task),
        status => format!("{} is {status}.", changed.task),
    })
}

pub fn retry(args: RetryArgs, session: &Session) -> Outcome {
    let body = Signed { by: Some(session.by.clone()) };
    each(session, &args.tasks, |task| session.client.post(&format!("/v1/tasks/{task}/retry"), &body), now_is)
}

pub fn reset(args: ResetArgs, session: &Session) -> Outcome {
    let body = Signed { by: Some(session.by.clone()) };
    each(session, &args.tasks, |task| session.client.post(&format!("/v1/tasks/{task}/reset"), &body), now_is)
}

pub fn start(args: StartArgs, session: &Session) -> Outcome {
    let body = TaskStart { by: Some(session.by.clone()), force: args.force };
    let start = |task| {
        let started = session.client.post(&format!("/v1/tasks/{task}/start"), &body);
        started.map_err(|failure: Failure| match failure.fix.as_deref() {
            Some(fix) if &*failure.code == "blocked" => {
                let fix = fix.replace("start with force", "start it with --force");
                failure.fix(fix)
            }
            _ => failure,
        })
    };
    each(session, &args.tasks, start, |changed| match changed.status {
        Status::Queued => format!("{} is first in line for the next worker of its type.", changed.task),
        _ => now_is(changed),
    })
}

pub fn delete(args: DeleteArgs, session: &Session) -> Outcome {
    let count = count_of(args.tasks.tasks.len() as u64, "task");
    if args.dry_run {
        let look = |task: TaskId| {
            let view: TaskView = session.client.get(&format!("/v1/tasks/{task}"))?;
            Ok(TaskStatus { task, status: view.status })
        };
        return each(session, &args.tasks, look, |found| match found.status {
            Status::Running => format!("{} is running and would be refused.", found.task),
            status => format!("{} is {status} and would be deleted.", found.task),
        });
    }
    if !args.yes {
        return Err(Failure::confirmation_needed(format!("this deletes {count} for good")));
    }
    let query = TaskDelete { by: Some(session.by.clone()) };
    let delete = |task: TaskId| session.client.delete(&with_query(&format!("/v1/tasks/{task}"), &query));
    each(session, &args.tasks, delete, |deleted| format!("{} is deleted.", deleted.task))
}

fn now_is(changed: &TaskStatus) -> String {
    format!("{} is {}.", changed.task, changed.status)
}

/// Changes each task once, in the order they were named.
fn each(
    session: &Session,
    tasks: &Tasks,
    change: impl Fn(TaskId) -> Result<TaskStatus, Failure>,
    tell: impl Fn(&TaskStatus) -> String,
) -> Outcome {
    let mut wanted: Vec<TaskId> = Vec::new();
    tasks.tasks.iter().for_each(|task| {
        if !wanted.contains(task) {
            wanted.push(*task)
        }
    });
    let (mut changed, mut lines, mut first) = (Changed { tasks: Vec::new() }, Vec::new(), None::<(TaskId, Failure)>);
    let mut away = false;
    for task in &wanted {
        if away {
            changed.tasks.push(One::refused(*task, "not_tried", "the server could not be asked about the one before"));
            lines.push(format!("{task} was not tried."));
            continue;
        }
        match change(*task) {
            Ok(status) => {
                lines.push(tell(&status));
                changed.tasks.push(One { task: *task, ok: true, status: Some(status.status), error: None });
            }
            Err(failure) => {
                away = failure.exit == Exit::Unavailable;
                lines.push(format!("{task} was not changed: {}.", failure.message));
                changed.tasks.push(One::refused(*task, &failure.code, &failure.message));
                first.get_or_insert((*task, failure));
            }
        }
    }
    let Some((task, failure)) = first else { return Ok(Answer::new(&changed, lines.join("\n"))) };
    let failure = if wanted.len() == 1 {
        failure
    } else {
        // For people each is told of; in JSON the result does it.
        if session.screen.people {
            session.screen.line(&lines.join("\n"));
        }
        let refused = changed.tasks.iter().filter(|one| !one.ok).count();
        let message = format!("{refused} of {} not done; the first: {}", count_of(wanted.len() as u64, "task"), failure.message);
        Failure { message, ..failure }
    };
    let failure = failure.result(&changed);
    // There is nothing to show of a task that is not there.
    let there = !matches!(failure.exit, Exit::NotFound | Exit::Unavailable);
    Err(if there { failure.next(format!("task show {task}"), "see how it stands") } else { failure })
}
