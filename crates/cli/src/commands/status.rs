//! `signaller status`: the server, its store, its work and its workers.

use super::Session;
use crate::output::{Answer, Outcome, Paint};
use crate::table::{cell, facts, table};
use crate::units::{count_of, show_about_ms};
use clap::Args;
use doors::wire::{Counts, ServerStatus};

/// Show the server, its store, its counts and its workers
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller status\n  signaller status --json")]
pub struct StatusArgs {}

pub fn run(_: StatusArgs, session: &Session) -> Outcome {
    let status: ServerStatus = session.client.get("/v1/status")?;
    let target = session.client.target();
    let screen = &session.screen;
    let state = if status.stopping { screen.paint(Paint::Yellow, "stopping") } else { screen.paint(Paint::Green, "running") };
    let mut text = facts(
        screen,
        &[
            ("server", format!("{} ({}), version {}, {state}", target.url, target.source, status.version)),
            ("store", status.store.clone()),
            ("up for", show_about_ms(status.uptime_ms)),
            ("tasks", counts_text(&status.counts)),
            ("runs", format!("{} under way", status.runs)),
            ("history", format!("up to record r{}; {} since this start", status.records, count_of(status.commits, "commit"))),
        ],
    );
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
    Ok(Answer::new(&status, text).next("queue list", "the same by queue").next("watch", "see what happens as it happens"))
}

pub fn counts_text(counts: &Counts) -> String {
    let mut parts = vec![format!("{} ready", counts.ready)];
    for (count, what) in [
        (counts.scheduled, "scheduled"),
        (counts.blocked, "blocked"),
        (counts.running, "running"),
        (counts.overrides, "run now"),
        (counts.dead, "dead"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    parts.join(", ")
}
