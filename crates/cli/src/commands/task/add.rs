//! `signaller task add`: one task from the command line, or many from a file.

use super::{add_many, wait};
use crate::client::segment;
use crate::commands::{Session, attempts, key_pair, priority, task_id};
use crate::output::{Answer, Exit, Failure, Outcome};
use crate::units::parse_duration_ms;
use clap::Args;
use doors::wire::{Instant, KeyPair, Priority, QueueView, Retry, TaskAdd, TaskAdded};
use kernel::ids::TaskId;
use kernel::names::{IdempotencyKey, QueueName, Tag, TypeName};
use serde_json::value::RawValue;
use std::io::Read;

/// Add a task to its queue
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  signaller task add lint -i '{\"file\":\"a.rs\"}'
  signaller task add mail --queue mails --key tenant=acme --priority high --delay 5m
  signaller task add deploy --after task-9m2 --wait
  signaller task add --ndjson tasks.ndjson")]
pub struct AddArgs {
    /// What kind of work it is; workers ask by it
    #[arg(value_name = "TYPE", value_parser = TypeName::parse, required_unless_present = "ndjson", conflicts_with = "ndjson")]
    kind: Option<TypeName>,
    /// The queue it waits in [default: the type's name]
    #[arg(long, value_parser = QueueName::parse)]
    queue: Option<QueueName>,
    /// Its input: JSON, @FILE, or - for stdin
    #[arg(short, long, value_name = "JSON")]
    input: Option<String>,
    /// critical, high, normal, background, or a head start in seconds
    #[arg(long, value_parser = priority, allow_hyphen_values = true)]
    priority: Option<Priority>,
    /// A value for a limit key; may be given several times
    #[arg(long = "key", value_name = "NAME=VALUE", value_parser = key_pair)]
    keys: Vec<KeyPair>,
    /// A tag; may be given several times
    #[arg(long = "tag", value_name = "TAG", value_parser = Tag::parse)]
    tags: Vec<Tag>,
    /// Wait until this task is done; may be given several times
    #[arg(long, value_name = "TASK", value_parser = task_id)]
    after: Vec<TaskId>,
    /// Not before this time, such as 2026-11-15T08:57:00Z
    #[arg(long, value_name = "TIME", conflicts_with = "delay")]
    at: Option<Instant>,
    /// Not before so long from now, such as 5m
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ms)]
    delay: Option<u64>,
    /// Adding again with the same key answers the first task
    #[arg(long, value_name = "KEY", value_parser = IdempotencyKey::parse)]
    idempotency_key: Option<IdempotencyKey>,
    /// Attempts in all, from 1 to 1000, instead of the queue's
    #[arg(long, value_name = "N", value_parser = attempts)]
    attempts: Option<u16>,
    /// How long one attempt may run, instead of the queue's
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ms)]
    budget: Option<u64>,
    /// Cancel it unless it starts before this time, such as 2026-11-15T08:57:00Z
    #[arg(long, value_name = "TIME")]
    start_by: Option<Instant>,
    /// Add it without entering its queue
    #[arg(long)]
    idle: bool,
    /// Wait until it has ended; the answer then has it whole in `tasks`, with its output
    #[arg(long, conflicts_with = "idle")]
    wait: bool,
    /// Add many: a file (or - for stdin) with one task a line, as JSON
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "queue", "input", "priority", "keys", "tags", "after", "at", "delay", "idempotency_key", "attempts", "budget", "start_by", "idle", "wait",
    ])]
    ndjson: Option<String>,
}

pub fn run(args: AddArgs, session: &Session) -> Outcome {
    if let Some(source) = &args.ndjson {
        return add_many::run(source, session);
    }
    let wait = args.wait;
    // A policy is given whole, so the rest of it is the queue's own.
    let retry = match args.attempts {
        Some(attempts) => Some(Retry { attempts, ..queue_retry(&args, session)? }),
        None => None,
    };
    let add = TaskAdd { retry, ..task_of(args)? };
    let added: TaskAdded = session.client.post("/v1/tasks", &add)?;
    let task = added.task;
    let with = if added.input_differs { ", with another input" } else { "" };
    let known = added.duplicate.then(|| format!("{task} was made by this key before{with}; nothing of this request was used."));
    if wait {
        session.screen.note(&known.unwrap_or_else(|| format!("added {task}")));
        return wait::answer(session, &[task], None, Some(added));
    }
    let text = match known {
        Some(known) => known,
        None if add.idle => format!("Added {task}, idle. Queue it with: signaller task retry {task}"),
        None => {
            let queue = add.queue.as_ref().map_or(add.kind.as_str(), |queue| queue.as_str());
            format!("Added {task} to queue {queue}.")
        }
    };
    let answer = Answer::new(&added, text);
    Ok(match (added.duplicate, add.idle) {
        (true, _) => answer.next(format!("task show {task}"), "see what it is and how it stands"),
        (false, true) => answer.next(format!("task retry {task}"), "queue it"),
        (false, false) => answer
            .next(format!("task wait {task}"), "wait until it has ended")
            .next(format!("task explain {task}"), "see what it waits for"),
    })
}

fn queue_retry(args: &AddArgs, session: &Session) -> Result<Retry, Failure> {
    let kind = args.kind.as_ref().map(TypeName::as_str);
    let queue = args.queue.as_ref().map(QueueName::as_str).or(kind).unwrap_or_default();
    match session.client.get::<QueueView>(&format!("/v1/queues/{}", segment(queue))) {
        Ok(view) => Ok(view.config.retry),
        Err(failure) if failure.exit == Exit::NotFound => Ok(Retry::default()),
        Err(failure) => Err(failure),
    }
}

/// All but the retry policy.
fn task_of(args: AddArgs) -> Result<TaskAdd, Failure> {
    let kind = args.kind.ok_or_else(|| Failure::usage("a TYPE is missing"))?;
    let mut keys = std::collections::BTreeMap::new();
    for KeyPair { name, value } in args.keys {
        if keys.insert(name.clone(), value).is_some() {
            let fix = format!("a task has one value for each key: give --key {name}=VALUE once, or use another name");
            return Err(Failure::usage(format!("--key {name} is given twice")).fix(fix));
        }
    }
    Ok(TaskAdd {
        queue: args.queue,
        input: args.input.as_deref().map(read_input).transpose()?,
        priority: args.priority,
        keys,
        tags: args.tags,
        blocked_by: args.after,
        scheduled_for: args.at,
        delay_ms: args.delay,
        idempotency_key: args.idempotency_key,
        budget_ms: args.budget,
        idle: args.idle,
        start_by: args.start_by,
        ..TaskAdd::new(kind)
    })
}

/// JSON as given, from a file, or from stdin.
pub fn read_input(source: &str) -> Result<Box<RawValue>, Failure> {
    read_json("-i", source)
}

/// The same for another flag, which is named where it is wrong.
pub fn read_json(flag: &str, source: &str) -> Result<Box<RawValue>, Failure> {
    let text = if source == "-" {
        let mut text = String::new();
        let read = std::io::stdin().lock().read_to_string(&mut text);
        read.map_err(|error| Failure::usage(format!("stdin cannot be read: {error}")))?;
        text
    } else if let Some(path) = source.strip_prefix('@') {
        std::fs::read_to_string(path).map_err(|error| {
            Failure::usage(format!("`{path}` cannot be read: {error}")).fix("name a file that is there, or - for stdin")
        })?
    } else {
        source.to_owned()
    };
    serde_json::from_str(&text).map_err(|error| {
        let what = if flag == "-i" { "the input" } else { flag };
        let from = source.strip_prefix('@').map_or_else(String::new, |path| format!(" in `{path}`"));
        Failure::usage(format!("{what}{from} is not JSON: {error}"))
            .fix(format!("quote it for the shell: {flag} '{{\"file\":\"a.rs\"}}', {flag} '\"text\"'"))
    })
}

#[cfg(test)]
mod tests {
    use crate::Cli;
    use clap::Parser;

    fn body(args: &str) -> Result<String, String> {
        let args = ["signaller", "task", "add"].into_iter().chain(args.split_whitespace());
        let cli = Cli::try_parse_from(args).map_err(|error| error.to_string())?;
        let crate::commands::Command::Task(super::super::TaskArgs { command: super::super::TaskCommand::Add(args) }) =
            cli.command
        else {
            unreachable!("`task add` is what was parsed")
        };
        let add = super::task_of(args).map_err(|failure| failure.message)?;
        Ok(serde_json::to_string(&add).unwrap())
    }

    #[test]
    fn flags_become_the_body_of_the_request() {
        for (args, json) in [
            ("lint", r#"{"type":"lint"}"#),
            (
                r#"lint --queue ci -i {"b":1,"a":2} --priority high --key tenant=acme --key repo=x=y --tag a --tag b"#,
                r#"{"type":"lint","queue":"ci","input":{"b":1,"a":2},"priority":600,"keys":{"repo":"x=y","tenant":"acme"},"tags":["a","b"]}"#,
            ),
            (
                "lint --after task-1 --after task-2 --delay 1h30m --idempotency-key k --budget 10m --idle",
                r#"{"type":"lint","blocked_by":["task-1","task-2"],"delay_ms":5400000,"idempotency_key":"k","budget_ms":600000,"idle":true}"#,
            ),
            (
                "lint --priority -90 --at 2026-11-15T08:57:00+01:00",
                r#"{"type":"lint","priority":-90,"scheduled_for":"2026-11-15T07:57:00.000000Z"}"#,
            ),
        ] {
            assert_eq!(body(args).as_deref(), Ok(json), "{args}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (args, why) in [
            ("", "required"),
            ("a,b", "may hold only letters"),
            ("lint -i {", "the input is not JSON"),
            ("lint -i @/nowhere", "`/nowhere` cannot be read"),
            ("lint --key tenant", "is not name=value"),
            ("lint --key a=1 --key a=2", "--key a is given twice"),
            ("lint --at 2026-11-15T08:57:00Z --delay 5m", "cannot be used with"),
            ("lint --at tomorrow", "is not a time"),
            ("lint --delay 5", "is not a duration"),
            ("lint --priority urgent", "is none of critical"),
            ("lint --after bulk-1", "is a bulk, not a task"),
            ("lint --after task", "is not a task id"),
            ("lint --idle --wait", "cannot be used with"),
            ("lint --ndjson f", "cannot be used with"),
            ("--ndjson f --tag a", "cannot be used with"),
        ] {
            let error = body(args).expect_err(args);
            assert!(error.contains(why), "{args}: {error}");
        }
    }
}
