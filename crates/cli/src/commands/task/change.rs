//! `signaller task cancel|retry|reset|start|delete`: what changes a task's state. Several tasks are
//! changed in order, see [`each`].

use crate::client::with_query;
use crate::commands::{Session, each, task_id};
use crate::output::{Failure, Outcome};
use crate::units::count_of;
use clap::Args;
use doors::wire::{Signed, Status, TaskCancel, TaskDelete, TaskStart, TaskStatus, TaskView};
use kernel::ids::TaskId;

#[derive(Args, Debug)]
pub struct Tasks {
    /// One or more tasks, by their ids
    #[arg(value_name = "TASK", required = true, value_parser = task_id)]
    tasks: Vec<TaskId>,
}

/// Cancel tasks that wait or run; the worker of one that runs is asked to stop
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

pub fn cancel(args: CancelArgs, session: &Session) -> Outcome {
    let body = TaskCancel { by: Some(session.by.clone()), reason: args.reason };
    let cancel = |task| session.client.post(&format!("/v1/tasks/{task}/cancel"), &body);
    each(session, &args.tasks, cancel, |changed| match changed.status {
        Status::Running => format!("{} was asked to stop; it has ended when its worker says so, or falls silent.", changed.task),
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

fn each(
    session: &Session,
    tasks: &Tasks,
    change: impl Fn(TaskId) -> Result<TaskStatus, Failure>,
    tell: impl Fn(&TaskStatus) -> String,
) -> Outcome {
    each::each(session, "task", &tasks.tasks, change, tell)
}
