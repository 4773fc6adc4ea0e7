//! `signaller queue list`.

use crate::commands::Session;
use crate::output::{Answer, Outcome};
use crate::table::{cell, table};
use crate::units::{now, show_age, show_rate};
use clap::Args;
use comfy_table::{Cell, Color};
use doors::wire::{QueueConfig, QueueList, QueueView};

/// List the queues with what waits and runs in them
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller queue list")]
pub struct ListArgs {}

pub fn run(_: ListArgs, session: &Session) -> Outcome {
    let list: QueueList = session.client.get("/v1/queues")?;
    if list.queues.is_empty() {
        let text = "There is no queue yet: one comes to be with its first task. Try: signaller task add TYPE";
        return Ok(Answer::new(&list, text).next("task add TYPE", "add a first task"));
    }
    let rows = list.queues.iter().map(|queue| {
        let counts = &queue.counts;
        let dead = cell(counts.dead);
        vec![
            cell(&queue.queue),
            cell(counts.ready),
            cell(counts.scheduled + counts.blocked + counts.held),
            cell(counts.running),
            cell(counts.in_runs),
            if counts.dead > 0 { dead.fg(Color::Red) } else { dead },
            cell(limits_text(&queue.config)),
            state_cell(queue),
        ]
    });
    let text = table(&session.screen, &["QUEUE", "READY", "LATER", "RUNNING", "IN RUNS", "DEAD", "LIMITS", "STATE"], rows);
    Ok(Answer::new(&list, text).next("queue show QUEUE", "one queue whole"))
}

fn limits_text(config: &QueueConfig) -> String {
    let mut parts = Vec::new();
    if let Some(concurrency) = config.concurrency {
        parts.push(format!("{concurrency} at once"));
    }
    if let Some(rate) = config.rate {
        parts.push(show_rate(rate));
    }
    for (name, limit) in &config.keys {
        parts.extend(limit.concurrency.map(|concurrency| format!("{concurrency} per {name}")));
        parts.extend(limit.rate.map(|rate| format!("{} per {name}", show_rate(rate))));
    }
    parts.join(", ")
}

fn state_cell(queue: &QueueView) -> Cell {
    let Some(pause) = &queue.pause else {
        let busy = queue.bulks.iter().map(|bulk| bulk.work.as_str()).collect::<Vec<_>>().join(", ");
        return cell(if busy.is_empty() { "open".to_owned() } else { format!("open, {busy} under way") });
    };
    let until = pause.until.map_or_else(String::new, |until| format!(", resumes {}", show_age(until, now())));
    cell(format!("paused by {}{until}", pause.by)).fg(Color::Yellow)
}
