//! `signaller queue priority`: a boost on lanes where that says it, a bulk where it does not.

use super::{Follow, path};
use crate::commands::{Session, key_pair, priority, task_id};
use crate::output::{Answer, Outcome};
use crate::table::priority_text;
use clap::Args;
use doors::wire::{BulkAnswer, KeyPair, Priority, QueueReprioritize, TaskFilter};
use kernel::ids::TaskId;
use kernel::names::{Pattern, QueueName, Tag, TypeName};

/// Change the priority of what waits in a queue: all of it, one key's, or chosen tasks
///
/// On the whole queue or one key it is a boost: it also counts for tasks to come, and `normal` removes it.
/// By --task, --type, --tag or --family it changes the tasks that wait now.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  signaller queue priority ci high
  signaller queue priority ci critical --key tenant=acme
  signaller queue priority ci background --type lint
  signaller queue priority ci high --family 'github/*'
  signaller queue priority ci 90 --task task-9m2 --task task-9m3")]
pub struct PriorityArgs {
    /// The queue, by its name
    #[arg(value_parser = QueueName::parse)]
    queue: QueueName,
    /// critical, high, normal, background, or a head start in seconds
    #[arg(value_parser = priority, allow_hyphen_values = true)]
    priority: Priority,
    /// These tasks only; may be given several times
    #[arg(long = "task", value_name = "TASK", value_parser = task_id, conflicts_with_all = ["key", "kind", "tag", "family"])]
    tasks: Vec<TaskId>,
    /// Only this value of a limit key
    #[arg(long, value_name = "NAME=VALUE", value_parser = key_pair)]
    key: Option<KeyPair>,
    /// Only those of this type
    #[arg(long = "type", value_name = "TYPE", value_parser = TypeName::parse)]
    kind: Option<TypeName>,
    /// Only those with this tag
    #[arg(long, value_parser = Tag::parse)]
    tag: Option<Tag>,
    /// Only what events of this family made, or of those that a pattern such as 'github/*' covers
    #[arg(long, value_parser = Pattern::parse)]
    family: Option<Pattern>,
    #[command(flatten)]
    follow: Follow,
}

pub fn run(args: PriorityArgs, session: &Session) -> Outcome {
    let (queue, follow, shown) = (args.queue.clone(), Follow { no_wait: args.follow.no_wait }, priority_text(args.priority));
    let body = QueueReprioritize { by: Some(session.by.clone()), ..body_of(args) };
    let answer = session.client.post(&path(&queue, "/reprioritize"), &body)?;
    if answer == (BulkAnswer::Nothing {}) {
        let on = body.key.map_or_else(|| format!("queue {queue}"), |key| format!("{key} in queue {queue}"));
        let text = match body.priority.0.head_start_s() {
            0 => format!("There is no boost on {on}."),
            _ => format!("The boost on {on} is {shown}."),
        };
        return Ok(Answer::new(&answer, text).next(format!("queue show {queue}"), "its boosts"));
    }
    follow.answer(session, answer, None, &format!("now {shown}"))
}

fn body_of(args: PriorityArgs) -> QueueReprioritize {
    let body = QueueReprioritize { priority: args.priority, tasks: None, boost: false, key: None, filter: None, by: None };
    if !args.tasks.is_empty() {
        return QueueReprioritize { tasks: Some(args.tasks), ..body };
    }
    if args.kind.is_none() && args.tag.is_none() && args.family.is_none() {
        return QueueReprioritize { boost: true, key: args.key, ..body };
    }
    let filter = TaskFilter { kind: args.kind, key: args.key, tag: args.tag, error_code: None, family: args.family };
    QueueReprioritize { filter: Some(filter), ..body }
}

#[cfg(test)]
mod tests {
    use crate::Cli;
    use clap::Parser;

    #[test]
    fn flags_say_whether_it_is_a_boost() {
        for (args, json) in [
            ("high", r#"{"priority":600,"boost":true}"#),
            ("-30 --key tenant=acme", r#"{"priority":-30,"boost":true,"key":{"name":"tenant","value":"acme"}}"#),
            ("normal --task task-1 --task task-2", r#"{"priority":0,"tasks":["task-1","task-2"]}"#),
            (
                "critical --type lint --key tenant=acme",
                r#"{"priority":3600,"filter":{"type":"lint","key":{"name":"tenant","value":"acme"}}}"#,
            ),
            ("high --family github/*", r#"{"priority":600,"filter":{"family":"github/*"}}"#),
        ] {
            let words = ["signaller", "queue", "priority", "ci"].into_iter().chain(args.split_whitespace());
            let crate::commands::Command::Queue(queue) = Cli::try_parse_from(words).unwrap().command else { unreachable!() };
            let super::super::QueueCommand::Priority(args) = queue.command else { unreachable!() };
            let body = super::body_of(args);
            assert!(body.on().is_ok());
            assert_eq!(serde_json::to_string(&body).unwrap(), json);
        }
        for args in
            ["urgent", "high --task task-1 --key a=b", "high --key a", "high --family *a", "high --family a --task task-1"]
        {
            let words = ["signaller", "queue", "priority", "ci"].into_iter().chain(args.split_whitespace());
            assert!(Cli::try_parse_from(words).is_err(), "{args}");
        }
    }
}
