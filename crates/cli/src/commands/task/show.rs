//! `signaller task show`.

use crate::commands::{Session, task_id};
use crate::json_text::pretty;
use crate::output::{Answer, Outcome, Screen};
use crate::plain::{plain, plain_text};
use crate::table::{facts, priority_text, status_text};
use crate::units::{count_of, now, show_age, show_exact_ms};
use clap::Args;
use doors::wire::{EndingView, Instant, Status, TaskView};
use kernel::ids::TaskId;

/// Show one task whole, with its input and output
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller task show task-9m2\n  signaller task show task-9m2 --json | jq .result.output")]
pub struct ShowArgs {
    /// The task, by its id
    #[arg(value_name = "TASK", value_parser = task_id)]
    task: TaskId,
}

pub fn run(args: ShowArgs, session: &Session) -> Outcome {
    let view: TaskView = session.client.get(&format!("/v1/tasks/{}", args.task))?;
    let task = view.task;
    let answer =
        Answer::new(&view, page(&session.screen, &view)).next(format!("task history {task}"), "everything that happened to it");
    let answer = match &view.trigger {
        Some(trigger) => answer.next(format!("event show {}", trigger.event), "the event it was made of"),
        None => answer,
    };
    Ok(match view.status {
        Status::Queued | Status::Idle => answer.next(format!("task explain {task}"), "why it is not running"),
        Status::Running => answer.next(format!("task wait {task}"), "wait until it has ended"),
        Status::Failed | Status::Cancelled => answer.next(format!("task retry {task}"), "queue it again"),
        Status::Done => answer,
    })
}

pub fn page(screen: &Screen, task: &TaskView) -> String {
    let now = now();
    let when = |at: Instant| format!("{} ({at})", show_age(at, now));
    let joined = |values: Vec<String>| values.join(", ");
    let mut lines = vec![
        ("task", task.task.to_string()),
        ("type", task.kind.to_string()),
        ("queue", task.queue.to_string()),
        ("status", status_text(screen, task.status)),
        ("priority", priority_text(task.priority)),
        ("attempt", task.attempt.to_string()),
        ("added", when(task.created_at)),
    ];
    if let Some(at) = task.since {
        lines.push(("queued", when(at)));
    }
    if let Some(at) = task.ready_at.filter(|at| *at > now) {
        lines.push(("ready", when(at)));
    }
    if let Some(at) = task.scheduled_for {
        lines.push(("scheduled", when(at)));
    }
    if let Some(at) = task.start_by {
        lines.push(("start by", format!("{}, or it is cancelled", when(at))));
    }
    if let Some(trigger) = &task.trigger {
        lines.push(("event", format!("{} ({})", trigger.event, trigger.name)));
        lines.push(("handler", trigger.handler.to_string()));
        if let Some(workflow) = &trigger.workflow {
            lines.push(("workflow", workflow.to_string()));
        }
        if let Some(window) = &trigger.window {
            lines.push(("gathers", format!("{window} of {}", count_of(trigger.events.into(), "event"))));
        }
        if trigger.critical {
            lines.push(("critical", "yes, past pauses".into()));
        }
    }
    if task.run_now {
        lines.push(("run now", "yes, past the limits".into()));
    }
    if !task.keys.is_empty() {
        lines.push(("keys", joined(task.keys.iter().map(|(name, value)| format!("{name}={value}")).collect())));
    }
    if !task.tags.is_empty() {
        lines.push(("tags", joined(task.tags.iter().map(ToString::to_string).collect())));
    }
    if !task.blocked_by.is_empty() {
        lines.push(("blocked by", joined(task.blocked_by.iter().map(ToString::to_string).collect())));
    }
    if let (Some(run), Some(node)) = (task.run, &task.node) {
        lines.push(("work of", format!("{run}/{node}")));
    }
    if let Some(key) = &task.idempotency_key {
        lines.push(("key", key.to_string()));
    }
    if let Some(lease) = &task.lease {
        lines.push(("worker", format!("{}, since {}", lease.worker, when(lease.since))));
        // What is on Redis has no heartbeat but the server's own.
        let alive = match workers::redis::is_bridge(lease.worker.as_str()) {
            true => String::new(),
            false => format!(", heartbeat every {}", show_exact_ms(lease.heartbeat_ms.into())),
        };
        lines.push(("budget", format!("until {}{alive}", when(lease.budget_until))));
        lines.extend(progress_text(lease.progress, lease.message.as_deref()).map(|text| ("progress", text)));
        match lease.ending {
            Some(EndingView::Cancel) => lines.push(("ending", "the worker was asked to stop".into())),
            Some(EndingView::TimedOut) => lines.push(("ending", "its time budget is spent; the worker was asked to stop".into())),
            None => {}
        }
    }
    if let Some(at) = task.finished_at {
        lines.push(("finished", when(at)));
    }
    if let Some(why) = &task.cancelled {
        let reason = if why.reason.is_empty() { String::new() } else { format!(": {}", plain_text(&why.reason)) };
        lines.push(("cancelled", format!("{} by {}{reason}", why.cause, why.by)));
    }
    if let Some(error) = &task.error {
        lines.push(("error", plain_text(&format!("{}: {}", error.code, error.message)).into_owned()));
    }
    for (name, payload) in [("input", &task.input), ("output", &task.output)] {
        if let Some(payload) = payload {
            lines.push((name, pretty(payload.get())));
        }
    }
    facts(screen, &lines)
}

/// How far a worker is, by its own word: `40 %, row 4 of 10`.
pub fn progress_text(progress: Option<f64>, message: Option<&str>) -> Option<String> {
    let at = message.map_or_else(String::new, |message| format!(", {}", plain(message)));
    progress.map(|progress| format!("{:.0} %{at}", progress * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_a_worker_is_is_told_in_one_way() {
        assert_eq!(progress_text(Some(0.4), Some("row 4\u{1b}[31m")).as_deref(), Some("40 %, row 4\\u{1b}[31m"));
        assert_eq!((progress_text(Some(1.0), None).as_deref(), progress_text(None, Some("x"))), (Some("100 %"), None));
    }
}
