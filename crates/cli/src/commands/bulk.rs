//! `signaller bulk`: work over many tasks or runs, while it goes on and after.

use super::{Session, bulk_id};
use crate::output::{Answer, Outcome};
use crate::plain::plain_text;
use crate::progress::{follow_bulk, noun};
use crate::table::{bulk_status_cell, cell, facts, priority_text, table};
use crate::telling::filter_text;
use crate::units::{count_of, now, show_age};
use clap::{Args, Subcommand};
use doors::wire::{BulkList, BulkView, Signed};
use kernel::ids::BulkId;
use kernel::names::Pattern;
use serde::de::IgnoredAny;

/// Bulks: clear, drain, shed, redrive and reprioritize over many tasks; cancel, retry, pause, resume, restart and patch over many runs
#[derive(Args, Debug)]
pub struct BulkArgs {
    #[command(subcommand)]
    command: BulkCommand,
}

#[derive(Subcommand, Debug)]
enum BulkCommand {
    /// List the bulks under way and the last ones that ended
    #[command(after_help = "Examples:\n  signaller bulk list")]
    List,
    /// Show one bulk
    #[command(after_help = "Examples:\n  signaller bulk show bulk-3\n  signaller bulk show bulk-3 --wait")]
    Show {
        /// The bulk, by its id
        #[arg(value_name = "BULK", value_parser = bulk_id)]
        bulk: BulkId,
        /// Wait until it is closed
        #[arg(long)]
        wait: bool,
    },
    /// Stop a bulk where it is; what it did stays done
    #[command(after_help = "Examples:\n  signaller bulk cancel bulk-3")]
    Cancel {
        /// The bulk, by its id
        #[arg(value_name = "BULK", value_parser = bulk_id)]
        bulk: BulkId,
    },
}

pub fn run(args: BulkArgs, session: &Session) -> Outcome {
    let client = &session.client;
    match args.command {
        BulkCommand::List => {
            let list: BulkList = client.get("/v1/bulks")?;
            if list.bulks.is_empty() {
                return Ok(Answer::new(&list, "No bulk is under way or has ended lately."));
            }
            let rows = list.bulks.iter().map(|bulk| {
                let queue = bulk.queue.as_ref().map(|queue| queue.to_string());
                let families = (!bulk.families.is_empty()).then(|| shortened(&families_text(&bulk.families)));
                let over = queue.or(families).or(bulk.r#where.as_deref().map(shortened)).unwrap_or_default();
                vec![
                    cell(bulk.bulk),
                    cell(&bulk.work),
                    cell(over),
                    bulk_status_cell(bulk.status),
                    cell(bulk.items),
                    cell(bulk.skipped),
                    cell(show_age(bulk.started_at, now())),
                    cell(&bulk.by),
                ]
            });
            let header = ["BULK", "WORK", "OVER", "STATUS", "CHANGED", "SKIPPED", "STARTED", "BY"];
            Ok(Answer::new(&list, table(&session.screen, &header, rows)))
        }
        BulkCommand::Show { bulk, wait: false } => shown(session, client.get(&format!("/v1/bulks/{bulk}"))?),
        BulkCommand::Show { bulk, wait: true } => shown(session, follow_bulk(&session.screen, client, bulk, None)?),
        BulkCommand::Cancel { bulk } => {
            let body = Signed { by: Some(session.by.clone()) };
            client.post::<IgnoredAny>(&format!("/v1/bulks/{bulk}/cancel"), &body)?;
            let view: BulkView = client.get(&format!("/v1/bulks/{bulk}"))?;
            let text = format!("{bulk} is cancelled; {} had been changed and stay so.", count_of(view.items, noun(&view)));
            Ok(Answer::new(&view, text))
        }
    }
}

fn families_text(families: &[Pattern]) -> String {
    families.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The beginning of a condition, for a table.
fn shortened(filter: &str) -> String {
    const SHOWN_CHARS_MAX: usize = 40;
    let line = plain_text(filter).split_whitespace().collect::<Vec<_>>().join(" ");
    let mut shown: String = line.chars().take(SHOWN_CHARS_MAX).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    shown
}

fn shown(session: &Session, bulk: BulkView) -> Outcome {
    let mut lines = vec![
        ("bulk", bulk.bulk.to_string()),
        ("work", bulk.work.clone()),
        ("status", bulk.status.to_string()),
        (if bulk.r#where.is_some() { "runs" } else { "tasks" }, format!("{} changed, {} skipped", bulk.items, bulk.skipped)),
        ("started", format!("{} by {}", show_age(bulk.started_at, now()), bulk.by)),
    ];
    if let Some(queue) = &bulk.queue {
        lines.insert(2, ("queue", queue.to_string()));
    }
    if let Some(filter) = &bulk.filter {
        lines.insert(3, ("of these", filter_text(filter)));
    }
    if let Some(upto) = bulk.upto {
        lines.insert(2, ("families", families_text(&bulk.families)));
        lines.insert(3, ("up to", priority_text(upto)));
    }
    if let Some(filter) = &bulk.r#where {
        lines.insert(2, ("where", plain_text(filter).into_owned()));
    }
    if let Some(patch) = &bulk.patch {
        lines.push(("patch", plain_text(patch.get()).into_owned()));
    }
    for refused in &bulk.refused {
        lines.push(("left", plain_text(&format!("{}: {}", refused.run, refused.why)).into_owned()));
    }
    if let Some(finished_at) = bulk.finished_at {
        lines.push(("finished", show_age(finished_at, now())));
    }
    if let Some(resume_at) = bulk.resume_at {
        lines.push(("goes on", show_age(resume_at, now())));
    }
    if !bulk.reason.is_empty() {
        lines.push(("reason", plain_text(&bulk.reason).into_owned()));
    }
    Ok(Answer::new(&bulk, facts(&session.screen, &lines)))
}
