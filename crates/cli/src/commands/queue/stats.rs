//! `signaller queue stats`.

use crate::client::with_query;
use crate::commands::status::counts_text;
use crate::commands::{Session, with_note};
use crate::output::{Answer, Outcome, Paint, Screen};
use crate::plain::plain;
use crate::table::{cell, facts, short, table};
use crate::units::{Since, now, parse_duration_ms, parse_since, show_about_ms, show_age, show_exact_ms};
use clap::Args;
use doors::wire::{Dispatches, Durations, FamilyStats, Latency, Stats, StatsQuery};
use kernel::names::QueueName;
use std::collections::BTreeMap;

/// Say how the work of a while went: dispatches, waits, durations, families, failures
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  signaller queue stats
  signaller queue stats --since 1h30m --queue ci
  signaller queue stats --since 2026-11-15T08:57:00Z --target 2s --json

Where very much happened in its first minute, a while begins with the whole of that: the answer says when.")]
pub struct StatsArgs {
    /// From when on: a while ago such as 30m, an instant, or milliseconds since 1970 [default: 1h]
    #[arg(long, value_name = "WHEN", value_parser = parse_since, allow_hyphen_values = true)]
    since: Option<Since>,
    /// Only this queue
    #[arg(long, value_parser = QueueName::parse)]
    queue: Option<QueueName>,
    /// Only what events of this family made, or of those that a pattern such as 'github/*' covers; what no event made is of the
    /// family that its queue is called
    #[arg(long)]
    family: Option<String>,
    /// What 95 of 100 waits should not exceed [default: 5s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ms)]
    target: Option<u64>,
    /// How many of the last failures to tell [default: 10, at most 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100))]
    failures: Option<u32>,
}

pub fn run(args: StatsArgs, session: &Session) -> Outcome {
    let StatsArgs { since, queue, family, target, failures } = args;
    // How long ago is for the server's clock to say.
    let (since, for_ms) = match since {
        None => (None, None),
        Some(Since::AgoMs(ms)) => (None, Some(ms)),
        Some(Since::At(at)) => (Some(at.to_string()), None),
    };
    let query = StatsQuery { since, for_ms, queue, family, target_p95_ms: target, failures };
    let stats: Stats = session.client.get(&with_query("/v1/stats", &query))?;
    let answer = Answer::new(&stats, with_note(page(&session.screen, &stats), stats.note.as_ref()));
    let answer = match stats.recent_failures.first() {
        Some(failed) => answer.next(format!("queue inspect {}", failed.task), "the last that failed, whole"),
        None => answer,
    };
    Ok(answer.next("queue depth", "what waits and runs now"))
}

fn page(screen: &Screen, stats: &Stats) -> String {
    let (window, figures) = (&stats.window, &stats.figures);
    let while_ms = window.from.ms_until(window.to).max(0).unsigned_abs();
    let mut lines = vec![
        ("window", format!("the last {}, from {}", show_about_ms(while_ms), window.from)),
        ("now", counts_text(&stats.current_depth)),
    ];
    let tasks = &figures.tasks;
    if window.found == 0 {
        lines.push(("work", "nothing was added, handed out or ended in this while".into()));
    } else {
        lines.push(("dispatches", dispatches_text(&figures.dispatches)));
        lines.push(("waited", latency_text(screen, &figures.queue_latency_ms)));
        lines.push(("took", durations_text(&figures.dispatch_duration_ms)));
        lines.push(("promoted", figures.promotions.total.to_string()));
        let cancelled: u64 = tasks.cancelled.values().sum();
        let (added, failed) = (tasks.added, tasks.failed);
        lines.push(("tasks", format!("{added} added, {failed} failed for good, {cancelled} cancelled")));
    }
    if !figures.events.is_empty() {
        lines.push(("events", format!("some did not become work: {}", outcomes_text(&figures.events))));
    }
    if let Some(why) = &window.truncated_why {
        lines.push(("not whole", screen.paint(Paint::Yellow, plain(why).as_ref())));
    }
    let mut text = facts(screen, &lines);
    if stats.families.len() > 1 {
        text.push_str("\n\n");
        text.push_str(&families(screen, &stats.families));
    }
    if !stats.recent_failures.is_empty() {
        text.push_str("\n\n");
        text.push_str(&failures(screen, stats));
    }
    text
}

/// `3 rate_dropped, 2 unhandled`
pub fn outcomes_text(outcomes: &BTreeMap<String, u64>) -> String {
    outcomes.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect::<Vec<_>>().join(", ")
}

fn dispatches_text(dispatches: &Dispatches) -> String {
    let Dispatches { started, completed, failed, success_rate, .. } = dispatches;
    let rate = success_rate.map_or_else(String::new, |rate| format!(" ({:.1} % went well)", rate * 100.0));
    format!("{started} started, {completed} completed, {failed} failed{rate}")
}

fn or_none(ms: Option<u64>) -> String {
    ms.map_or_else(|| "–".to_owned(), show_exact_ms)
}

fn latency_text(screen: &Screen, latency: &Latency) -> String {
    let Latency { p50, p95, max, target_p95_ms, within_target } = latency;
    let target = show_exact_ms(*target_p95_ms);
    let verdict = match within_target {
        None => return "nothing was handed out".to_owned(),
        Some(true) => screen.paint(Paint::Green, &format!("within the target of {target}")),
        Some(false) => screen.paint(Paint::Red, &format!("beyond the target of {target}")),
    };
    format!("half up to {}, 95 % up to {}, at most {}; {verdict}", or_none(*p50), or_none(*p95), or_none(*max))
}

fn durations_text(durations: &Durations) -> String {
    let Durations { p50, p95, max } = durations;
    if max.is_none() {
        return "nothing has ended".to_owned();
    }
    format!("half up to {}, 95 % up to {}, at most {}", or_none(*p50), or_none(*p95), or_none(*max))
}

fn families(screen: &Screen, families: &[FamilyStats]) -> String {
    let rows = families.iter().map(|FamilyStats { family, figures }| {
        let dispatches = &figures.dispatches;
        vec![
            cell(family),
            cell(dispatches.started),
            cell(dispatches.completed),
            cell(dispatches.failed),
            cell(or_none(figures.queue_latency_ms.p95)),
            cell(or_none(figures.dispatch_duration_ms.p95)),
        ]
    });
    table(screen, &["FAMILY", "STARTED", "COMPLETED", "FAILED", "WAITED P95", "TOOK P95"], rows)
}

fn failures(screen: &Screen, stats: &Stats) -> String {
    const CHARS_MAX: usize = 60;
    let now = now();
    let rows = stats.recent_failures.iter().map(|failed| {
        let then = if failed.is_final { "gave up" } else { "tries again" };
        let why = short(&format!("{}: {}", failed.code, failed.message), CHARS_MAX);
        vec![cell(failed.task), cell(&failed.queue), cell(show_age(failed.at, now)), cell(then), cell(why)]
    });
    table(screen, &["FAILED", "QUEUE", "WHEN", "THEN", "WHY"], rows)
}
