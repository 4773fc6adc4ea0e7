//! `signaller task list`.

use crate::commands::{Session, key_pair};
use crate::output::{Answer, Outcome};
use crate::table::{cell, priority_text, short, status_cell, table};
use crate::units::{now, show_about_ms, show_age};
use crate::{client::with_query, output::Screen};
use clap::Args;
use doors::wire::{Instant, KeyPair, Status, TaskList, TaskQuery, TaskView};
use kernel::names::{Pattern, QueueName, Tag, TypeName};

/// List tasks, newest first
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  signaller task list --status running
  signaller task list --queue ci --status failed --error exit_1 --limit 200")]
pub struct ListArgs {
    /// Only those of this queue
    #[arg(long, value_parser = QueueName::parse)]
    queue: Option<QueueName>,
    /// Only those of this type
    #[arg(long = "type", value_name = "TYPE", value_parser = TypeName::parse)]
    kind: Option<TypeName>,
    /// idle, queued, running, done, failed or cancelled
    #[arg(long, value_parser = status)]
    status: Option<Status>,
    /// Only those with this tag
    #[arg(long, value_parser = Tag::parse)]
    tag: Option<Tag>,
    /// Only tasks with this value of a limit key
    #[arg(long, value_name = "NAME=VALUE", value_parser = key_pair)]
    key: Option<KeyPair>,
    /// Only tasks whose last failure has this code
    #[arg(long = "error", value_name = "CODE")]
    error_code: Option<String>,
    /// Only what events of this family made, or of those that a pattern such as 'github/*' covers
    #[arg(long, value_parser = Pattern::parse)]
    family: Option<Pattern>,
    /// How many [default: 50, at most 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: Option<u32>,
    /// Go on where the page before ended
    #[arg(long)]
    cursor: Option<String>,
}

fn status(text: &str) -> Result<Status, String> {
    let status = kernel::task::Status::parse(text).map(Status::from);
    status.ok_or_else(|| format!("`{text}` is none of idle, queued, running, done, failed, cancelled"))
}

pub fn run(args: ListArgs, session: &Session) -> Outcome {
    let ListArgs { queue, kind, status, tag, key, error_code, family, limit, cursor } = args;
    let query = TaskQuery { queue, kind, status, tag, key, error_code, family, limit, cursor };
    let list: TaskList = session.client.get(&with_query("/v1/tasks", &query))?;
    let asked = typed(&TaskQuery { limit: None, ..query.clone() });
    let none = if asked == "task list" { "There is no task yet. Try: signaller task add TYPE" } else { "No task fits." };
    let mut text = rows_of(&session.screen, &list.tasks, none);
    let Some(next) = &list.next else { return Ok(Answer::new(&list, text)) };
    text.push_str(&format!("\n\nThere is more: add --cursor {next}"));
    Ok(Answer::new(&list, text).next(format!("{} --cursor {next}", typed(&query)), "the next page"))
}

/// The command that asks for this page, less its cursor.
fn typed(query: &TaskQuery) -> String {
    let mut command = "task list".to_owned();
    let flags = [
        ("--queue", query.queue.as_ref().map(ToString::to_string)),
        ("--type", query.kind.as_ref().map(ToString::to_string)),
        ("--status", query.status.map(|status| status.to_string())),
        ("--tag", query.tag.as_ref().map(|tag| format!("'{tag}'"))),
        ("--key", query.key.as_ref().map(|key| format!("'{key}'"))),
        ("--error", query.error_code.clone()),
        ("--family", query.family.as_ref().map(|family| format!("'{family}'"))),
        ("--limit", query.limit.map(|limit| limit.to_string())),
    ];
    for (flag, value) in flags {
        if let Some(value) = value {
            command.push_str(&format!(" {flag} {value}"));
        }
    }
    command
}

/// A table of tasks, or the sentence that says there are none.
pub fn rows_of(screen: &Screen, tasks: &[TaskView], none: &str) -> String {
    if tasks.is_empty() {
        return none.to_owned();
    }
    let now = now();
    let rows = tasks.iter().map(|task| {
        vec![
            cell(task.task),
            cell(&task.queue),
            cell(&task.kind),
            status_cell(task.status),
            cell(priority_text(task.priority)),
            cell(task.attempt),
            cell(show_age(task.created_at, now)),
            cell(remark(task, now)),
        ]
    });
    table(screen, &["TASK", "QUEUE", "TYPE", "STATUS", "PRIORITY", "ATTEMPT", "ADDED", "NOTE"], rows)
}

/// What is worth knowing about a task in a few words.
fn remark(task: &TaskView, now: Instant) -> String {
    const CHARS_MAX: usize = 60;
    let text = match task.status {
        Status::Running => match &task.lease {
            Some(lease) if lease.ending.is_some() => format!("{} was asked to stop", lease.worker),
            Some(lease) => format!("{} since {}", lease.worker, show_age(lease.since, now)),
            None => String::new(),
        },
        Status::Queued if task.run_now => "runs next".into(),
        Status::Queued if !task.blocked_by.is_empty() => {
            format!("after {}", task.blocked_by.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        }
        Status::Queued => match (task.ready_at.filter(|at| *at > now), &task.error) {
            (Some(at), Some(error)) => format!("again {} ({})", show_age(at, now), error.code),
            (Some(at), None) => show_age(at, now),
            (None, _) => String::new(),
        },
        Status::Failed => task.error.as_ref().map_or_else(String::new, |error| format!("{}: {}", error.code, error.message)),
        Status::Cancelled => task.cancelled.as_ref().map_or_else(String::new, |why| format!("by {} {}", why.by, why.reason)),
        Status::Done => {
            let took = task.finished_at.map(|at| task.created_at.ms_until(at).max(0).unsigned_abs());
            took.map_or_else(String::new, |ms| format!("after {}", show_about_ms(ms)))
        }
        Status::Idle => String::new(),
    };
    short(text.trim(), CHARS_MAX)
}
