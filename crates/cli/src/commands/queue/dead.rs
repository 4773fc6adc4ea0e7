//! `signaller queue dead` and `redrive`: dead letters, and back into the queue with them.

use super::{Follow, path, view};
use crate::client::with_query;
use crate::commands::task::rows_of;
use crate::commands::{Session, key_pair, task_id};
use crate::output::{Answer, Outcome};
use crate::units::parse_per_second;
use clap::Args;
use doors::wire::{KeyPair, PageQuery, QueueRedrive, TaskFilter, TaskList};
use kernel::ids::TaskId;
use kernel::names::{Pattern, QueueName, Tag, TypeName};

/// List the dead letters of a queue: tasks whose attempts are spent, other than those of runs, which the run has
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller queue dead ci")]
pub struct DeadArgs {
    /// The queue, by its name
    #[arg(value_parser = QueueName::parse)]
    queue: QueueName,
    /// How many [default: 50, at most 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: Option<u32>,
    /// Go on where the page before ended
    #[arg(long)]
    cursor: Option<String>,
}

/// Queue dead letters again, oldest first, their attempts starting over
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  signaller queue redrive ci
  signaller queue redrive ci --error exit_1 --rate 50/s
  signaller queue redrive ci --task task-9m2")]
pub struct RedriveArgs {
    /// The queue, by its name
    #[arg(value_parser = QueueName::parse)]
    queue: QueueName,
    /// These tasks only; may be given several times
    #[arg(long = "task", value_name = "TASK", value_parser = task_id, conflicts_with_all = ["kind", "tag", "key", "error_code", "family", "per_s"])]
    tasks: Vec<TaskId>,
    /// Only those of this type
    #[arg(long = "type", value_name = "TYPE", value_parser = TypeName::parse)]
    kind: Option<TypeName>,
    /// Only those with this tag
    #[arg(long, value_parser = Tag::parse)]
    tag: Option<Tag>,
    /// Only this value of a limit key
    #[arg(long, value_name = "NAME=VALUE", value_parser = key_pair)]
    key: Option<KeyPair>,
    /// Only those that failed with this code
    #[arg(long = "error", value_name = "CODE")]
    error_code: Option<String>,
    /// Only what events of this family made, or of those that a pattern such as 'github/*' covers
    #[arg(long, value_parser = Pattern::parse)]
    family: Option<Pattern>,
    /// At most so many a second, such as 50/s
    #[arg(long = "rate", value_name = "RATE", value_parser = parse_per_second)]
    per_s: Option<u32>,
    #[command(flatten)]
    follow: Follow,
}

pub fn list(args: DeadArgs, session: &Session) -> Outcome {
    let DeadArgs { queue, limit, cursor } = args;
    let list: TaskList = session.client.get(&with_query(&path(&queue, "/dead"), &PageQuery { limit, cursor }))?;
    let mut text = rows_of(&session.screen, &list.tasks, &format!("Queue {queue} has no dead letters."));
    if let Some(next) = &list.next {
        text.push_str(&format!("\n\nThere is more: add --cursor {next}"));
    }
    let mut answer = Answer::new(&list, text);
    if let Some(first) = list.tasks.first() {
        answer = answer.next(format!("task history {}", first.task), "how the first came to be dead");
        answer = answer.next(format!("queue redrive {queue}"), "queue them all again");
    }
    if let Some(next) = &list.next {
        answer = answer.next(format!("queue dead {queue} --cursor {next}"), "the next page");
    }
    Ok(answer)
}

pub fn redrive(args: RedriveArgs, session: &Session) -> Outcome {
    let RedriveArgs { queue, tasks, kind, tag, key, error_code, family, per_s, follow } = args;
    let filter = TaskFilter { kind, key, tag, error_code, family };
    let everything = tasks.is_empty() && filter == TaskFilter::default();
    let filter = tasks.is_empty().then_some(filter);
    // Only without a filter is it known how many there will be.
    let total = if everything { Some(view(session, &queue)?.counts.dead) } else { None };
    let tasks = (!tasks.is_empty()).then_some(tasks);
    let body = QueueRedrive { tasks, filter, per_s, by: Some(session.by.clone()) };
    let answer = session.client.post(&path(&queue, "/redrive"), &body)?;
    follow.answer(session, answer, total, "queued again")
}
