//! `signaller queue depth`.

use crate::client::with_query;
use crate::commands::{Session, with_note};
use crate::output::{Answer, Outcome};
use crate::table::{cell, table};
use crate::units::{now, show_about_ms};
use clap::Args;
use comfy_table::{Cell, Color};
use doors::wire::{Counts, Instant, QueueList, QueueQuery, QueueView};
use kernel::names::{Pattern, QueueName};
use serde::Serialize;

/// Say how much waits and runs in each queue now, and for how long
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller queue depth\n  signaller queue depth --family 'github/*' --json")]
pub struct DepthArgs {
    /// Only what events of this family made, or of those that a pattern such as 'github/*' covers; what no event made is of the
    /// family that its queue is called
    #[arg(long, value_parser = Pattern::parse)]
    family: Option<Pattern>,
}

#[derive(Serialize)]
struct Depth<'a> {
    /// Of which everything else is.
    #[serde(skip_serializing_if = "Option::is_none")]
    family: Option<&'a Pattern>,
    total: Counts,
    queues: Vec<QueueDepth<'a>>,
}

#[derive(Serialize)]
struct QueueDepth<'a> {
    queue: &'a QueueName,
    counts: Counts,
    /// When the one that waits longest was added.
    oldest_at: Option<Instant>,
    oldest_age_ms: Option<u64>,
    paused: bool,
}

impl QueueDepth<'_> {
    fn new(view: &QueueView, now: Instant) -> QueueDepth<'_> {
        QueueDepth {
            queue: &view.queue,
            counts: view.counts,
            oldest_at: view.oldest_at,
            oldest_age_ms: view.oldest_at.map(|at| at.ms_until(now).max(0).unsigned_abs()),
            paused: view.pause.is_some(),
        }
    }
}

pub fn run(args: DepthArgs, session: &Session) -> Outcome {
    let query = QueueQuery { family: args.family.clone() };
    let list: QueueList = session.client.get(&with_query("/v1/queues", &query))?;
    let now = now();
    let queues: Vec<QueueDepth<'_>> = list.queues.iter().map(|view| QueueDepth::new(view, now)).collect();
    let total = queues.iter().fold(Counts::default(), |sum, queue| sum.plus(&queue.counts));
    let depth = Depth { family: args.family.as_ref(), total, queues };
    if depth.queues.is_empty() {
        let text = match &args.family {
            Some(family) => with_note(format!("Nothing of family {family} waits or runs."), list.note.as_ref()),
            None => "Nothing waits or runs: there is no queue yet. One comes to be with its first task.".into(),
        };
        return Ok(Answer::new(&depth, text).next("queue stats", "how the last hour went"));
    }
    let row = |queue: &QueueDepth<'_>| cells(queue.queue.as_str(), &queue.counts, queue.oldest_age_ms, queue.paused);
    let mut rows: Vec<_> = depth.queues.iter().map(row).collect();
    if depth.queues.len() > 1 {
        let oldest = depth.queues.iter().filter_map(|queue| queue.oldest_age_ms).max();
        rows.push(cells("all", &total, oldest, false));
    }
    let header = ["QUEUE", "READY", "SCHEDULED", "BLOCKED", "HELD", "RUNNING", "IN RUNS", "DEAD", "OLDEST", "STATE"];
    let text = table(&session.screen, &header, rows);
    Ok(Answer::new(&depth, text).next("queue stats", "how the last hour went").next("queue show QUEUE", "one queue whole"))
}

fn cells(name: &str, counts: &Counts, oldest_ms: Option<u64>, paused: bool) -> Vec<Cell> {
    let dead = cell(counts.dead);
    vec![
        cell(name),
        cell(counts.ready),
        cell(counts.scheduled),
        cell(counts.blocked),
        cell(counts.held),
        cell(counts.running),
        cell(counts.in_runs),
        if counts.dead > 0 { dead.fg(Color::Red) } else { dead },
        cell(oldest_ms.map(show_about_ms).unwrap_or_default()),
        if paused { cell("paused").fg(Color::Yellow) } else { cell("") },
    ]
}
