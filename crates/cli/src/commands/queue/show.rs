//! `signaller queue show`.

use super::view;
use crate::client::with_query;
use crate::commands::Session;
use crate::commands::status::counts_text;
use crate::output::{Answer, Failure, Outcome, Paint, Screen};
use crate::table::{facts, priority_text};
use crate::units::{now, show_age, show_exact_ms, show_rate};
use clap::Args;
use doors::wire::{Counts, QueueConfig, QueueView, TaskList, TaskQuery};
use kernel::names::QueueName;

/// Show one queue whole: counts, limits, pause, boosts, bulks
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller queue show ci")]
pub struct ShowArgs {
    /// The queue, by its name
    #[arg(value_parser = QueueName::parse)]
    queue: QueueName,
}

pub fn run(args: ShowArgs, session: &Session) -> Outcome {
    let view = view(session, &args.queue)?;
    let queue = &view.queue;
    if is_unknown(&view) && has_no_task(session, queue)? {
        let note =
            format!("Nothing is known of queue {queue} yet: it holds nothing, and nothing was said about it. It would have:");
        let answer = Answer::new(&view, format!("{note}\n{}", page(&session.screen, &view)));
        return Ok(answer.next("queue list", "the queues there are"));
    }
    let answer = Answer::new(&view, page(&session.screen, &view)).next(format!("task list --queue {queue}"), "its tasks");
    Ok(match (&view.pause, view.counts.dead) {
        (Some(_), _) => answer.next(format!("queue resume {queue}"), "let it go on"),
        (None, 1..) => answer.next(format!("queue dead {queue}"), "its dead letters"),
        (None, 0) => answer,
    })
}

/// Finished tasks count in no queue, and yet they were in one.
fn has_no_task(session: &Session, queue: &QueueName) -> Result<bool, Failure> {
    let query = TaskQuery { queue: Some(queue.clone()), limit: Some(1), ..TaskQuery::default() };
    Ok(session.client.get::<TaskList>(&with_query("/v1/tasks", &query))?.tasks.is_empty())
}

/// As a queue looks that nobody used or configured.
fn is_unknown(view: &QueueView) -> bool {
    let said = view.pause.is_some() || !view.boosts.is_empty() || !view.bulks.is_empty();
    !said && view.counts == Counts::default() && view.config == QueueConfig::default()
}

pub fn page(screen: &Screen, view: &QueueView) -> String {
    let now = now();
    let mut lines = vec![("queue", view.queue.to_string()), ("tasks", counts_text(&view.counts))];
    if let Some(pause) = &view.pause {
        let until = pause.until.map_or_else(String::new, |at| format!(", resumes {} ({at})", show_age(at, now)));
        let reason = if pause.reason.is_empty() { String::new() } else { format!(": {}", pause.reason) };
        let text = format!("{} by {}{until}{reason}", show_age(pause.since, now), pause.by);
        lines.push(("paused", screen.paint(Paint::Yellow, &text)));
    }
    lines.extend(config_lines(&view.config));
    for boost in &view.boosts {
        let on = boost.key.as_ref().map_or_else(|| "the whole queue".to_owned(), ToString::to_string);
        lines.push(("boost", format!("{} on {on}", priority_text(boost.seconds))));
    }
    for bulk in &view.bulks {
        lines.push(("under way", format!("{} {}, {} changed so far", bulk.bulk, bulk.work, bulk.items)));
    }
    facts(screen, &lines)
}

pub fn config_lines(config: &QueueConfig) -> Vec<(&'static str, String)> {
    let or_none = |value: Option<String>| value.unwrap_or_else(|| "no limit".into());
    let mut lines = vec![
        ("at once", or_none(config.concurrency.map(|concurrency| concurrency.to_string()))),
        ("rate", or_none(config.rate.map(show_rate))),
    ];
    for (name, limit) in &config.keys {
        let concurrency = limit.concurrency.map(|concurrency| format!("{concurrency} at once"));
        let parts: Vec<String> = concurrency.into_iter().chain(limit.rate.map(show_rate)).collect();
        lines.push(("per key", format!("{name}: {}", parts.join(", "))));
    }
    if let Some(fairness) = &config.fairness {
        let weights: String = fairness.weights.iter().map(|(value, weight)| format!(", {value} × {weight}")).collect();
        lines.push(("fair by", format!("{}, step {}{weights}", fairness.key, show_exact_ms(fairness.step_ms))));
    }
    let retry = &config.retry;
    let backoff = format!("{} up to {}", show_exact_ms(retry.backoff_ms), show_exact_ms(retry.backoff_max_ms));
    lines.push(("attempts", format!("{}, backoff {backoff}, jitter {} %", retry.attempts, retry.jitter_percent)));
    lines.push(("heartbeat", show_exact_ms(config.heartbeat_ms.into())));
    lines.push(("budget", show_exact_ms(config.budget_ms)));
    lines.push(("backlog", or_none(config.backlog_max.map(|max| max.to_string()))));
    if let Some(tag) = &config.require_tag {
        lines.push(("only tag", tag.to_string()));
    }
    lines.push(("overrides", config.override_slots.to_string()));
    lines.push(("same key", format!("remembered for {}", show_exact_ms(config.idempotency_window_ms))));
    lines
}
