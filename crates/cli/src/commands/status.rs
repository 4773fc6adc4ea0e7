//! `signaller status`: the server, its store, its work and its workers.

use super::Session;
use super::queue::outcomes_text;
use crate::output::{Answer, Outcome, Paint, Screen};
use crate::plain::plain;
use crate::table::{cell, facts, table};
use crate::units::{count_of, show_about_ms};
use clap::Args;
use doors::wire::{BlobsView, Counts, OutsideView, RegistryStatus, RollupsView, ServerStatus, WatchdogView};

/// Show the server, its store, its counts and its workers
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller status\n  signaller status --json")]
pub struct StatusArgs {}

pub fn run(_: StatusArgs, session: &Session) -> Outcome {
    let status: ServerStatus = session.client.get("/v1/status")?;
    let target = session.client.target();
    let screen = &session.screen;
    let state = if status.stopping { screen.paint(Paint::Yellow, "stopping") } else { screen.paint(Paint::Green, "running") };
    let mut lines = vec![
        ("server", format!("{} ({}), version {}, {state}", target.url, target.source, status.version)),
        ("store", status.store.clone()),
        ("up for", show_about_ms(status.uptime_ms)),
        ("tasks", format!("{}; {}", counts_text(&status.counts), count_of(status.queues, "queue"))),
        ("runs", format!("{} under way", status.runs)),
        ("bulks", format!("{} under way", status.bulks)),
        ("history", history_text(&status)),
        ("blobs", blobs_text(screen, &status.blobs)),
        ("statistics", rollups_text(screen, &status.rollups)),
        ("watchdog", watchdog_text(screen, &status.watchdog)),
    ];
    if !status.events.is_empty() {
        let told = format!("in the last hour some did not become work: {}", outcomes_text(&status.events));
        lines.push(("events", plain(&told).into_owned()));
    }
    lines.extend(status.registry.iter().flat_map(|registry| registry_lines(screen, registry)));
    lines.extend(status.outside.iter().map(|(name, outside)| ("outside", outside_text(screen, name, outside))));
    let mut text = facts(screen, &lines);
    text.push_str("\n\n");
    if status.workers.is_empty() {
        text.push_str("No worker has asked for work lately. Start one: signaller work --type TYPE -- COMMAND");
    } else {
        let rows = status.workers.iter().map(|worker| {
            let types = worker.types.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ");
            let asked = format!("{} ago", show_about_ms(worker.asked_ms_ago));
            vec![cell(&worker.worker), cell(types), cell(worker.holding), cell(asked)]
        });
        text.push_str(&table(screen, &["WORKER", "TYPES", "HOLDS", "ASKED"], rows));
    }
    Ok(Answer::new(&status, text)
        .next("queue depth", "the same by queue")
        .next("queue stats", "how the last hour went")
        .next("watch", "see what happens as it happens"))
}

fn registry_lines(screen: &Screen, registry: &RegistryStatus) -> Vec<(&'static str, String)> {
    let file = registry.file.as_ref().map(|file| format!(", follows {}", plain(file)));
    let refused = registry.refused.as_ref();
    let refused = refused.map(|why| screen.paint(Paint::Red, &format!("; a newer one is refused: {}", plain(why))));
    let text = format!("revision {}{}{}", registry.revision, file.unwrap_or_default(), refused.unwrap_or_default());
    let warnings = registry.warnings.iter().map(|warning| ("warning", screen.paint(Paint::Yellow, &plain(warning))));
    std::iter::once(("registry", text)).chain(warnings).collect()
}

fn outside_text(screen: &Screen, name: &str, outside: &OutsideView) -> String {
    let counts: Vec<String> = outside.counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
    let told = format!("{name} at {}: {}", outside.address, counts.join(", "));
    match &outside.trouble {
        None => plain(&told).into_owned(),
        Some(why) => screen.paint(Paint::Red, &plain(&format!("{told}; trouble: {why}"))),
    }
}

fn history_text(status: &ServerStatus) -> String {
    let failed = if status.commits_failed == 0 { String::new() } else { format!(", {} failed", status.commits_failed) };
    format!("up to record r{}; {} since this start{failed}", status.records, count_of(status.commits, "commit"))
}

fn blobs_text(screen: &Screen, blobs: &BlobsView) -> String {
    let trouble = blobs.trouble.as_ref().map(|why| screen.paint(Paint::Red, &format!("; {}", plain(why))));
    format!("in {}{}", plain(&blobs.place), trouble.unwrap_or_default())
}

fn rollups_text(screen: &Screen, rollups: &RollupsView) -> String {
    match &rollups.trouble {
        Some(why) => screen.paint(Paint::Red, &format!("stand still at record r{}: {}", rollups.record, plain(why))),
        None if rollups.lag_ms > 0 => format!("{} behind", show_about_ms(rollups.lag_ms)),
        None => "up to date".into(),
    }
}

fn watchdog_text(screen: &Screen, watchdog: &WatchdogView) -> String {
    match (&watchdog.reason, watchdog.trips) {
        (Some(reason), _) => {
            let lasted = show_about_ms(watchdog.lasted_ms.unwrap_or(0));
            screen.paint(Paint::Red, &format!("{reason}: something has stood still for {lasted}"))
        }
        (None, 0) => "everything moves".into(),
        (None, trips) => format!("everything moves; something stood still {} since this start", times(trips)),
    }
}

fn times(count: u64) -> String {
    if count == 1 { "once".into() } else { format!("{count} times") }
}

pub fn counts_text(counts: &Counts) -> String {
    let mut parts = vec![format!("{} ready", counts.ready)];
    for (count, what) in [
        (counts.scheduled, "scheduled"),
        (counts.blocked, "blocked"),
        (counts.held, "held"),
        (counts.running, "running"),
        (counts.in_runs, "in runs"),
        (counts.overrides, "run now"),
        (counts.dead, "dead"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    parts.join(", ")
}
