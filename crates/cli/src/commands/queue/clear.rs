//! `signaller queue drain` and `clear`: what waits is run now, or cancelled.

use super::{Cancelling, Follow, Sure, path, view};
use crate::commands::Session;
use crate::output::Outcome;
use clap::Args;
use doors::wire::{QueueClear, QueueDrain, TaskFilter};
use kernel::names::{Pattern, QueueName};
use serde_json::json;

/// Run what waits in a queue now, past its rate and schedule
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller queue drain mails\n  signaller queue drain mails --family 'shop/*'")]
pub struct DrainArgs {
    /// The queue, by its name
    #[arg(value_parser = QueueName::parse)]
    queue: QueueName,
    #[command(flatten)]
    only: Only,
    #[command(flatten)]
    follow: Follow,
}

/// Which of what waits.
#[derive(Args, Debug)]
struct Only {
    /// Only what events of this family made, or of those that a pattern such as 'github/*' covers
    #[arg(long, value_parser = Pattern::parse)]
    family: Option<Pattern>,
}

impl Only {
    fn filter(&self) -> Option<TaskFilter> {
        self.family.clone().map(|family| TaskFilter { family: Some(family), ..TaskFilter::default() })
    }
}

/// Cancel everything that waits in a queue
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  signaller queue clear mails --dry-run\n  signaller queue clear mails --yes --reason 'sent twice'\n  signaller queue clear mails --family 'shop/*' --yes"
)]
pub struct ClearArgs {
    /// The queue, by its name
    #[arg(value_parser = QueueName::parse)]
    queue: QueueName,
    #[command(flatten)]
    only: Only,
    #[command(flatten)]
    sure: Sure,
}

pub fn drain(args: DrainArgs, session: &Session) -> Outcome {
    let filter = args.only.filter();
    // Only without a filter is it known how many there will be.
    let total = if filter.is_none() { Some(view(session, &args.queue)?.counts.queued) } else { None };
    let body = QueueDrain { filter, by: Some(session.by.clone()) };
    let answer = session.client.post(&path(&args.queue, "/drain"), &body)?;
    args.follow.answer(session, answer, total, "may run now")
}

pub fn clear(args: ClearArgs, session: &Session) -> Outcome {
    let ClearArgs { queue, only, mut sure } = args;
    let (of, flag) = match &only.family {
        Some(family) => (format!(" of family {family}"), format!(" --family '{family}'")),
        None => Default::default(),
    };
    let what = Cancelling {
        which: format!("{of} waiting in queue {queue}"),
        none: format!("in queue {queue}{of}"),
        families: only.family.iter().cloned().collect(),
        told: json!({"queue": queue, "family": only.family}),
        then: format!("queue clear {queue}{flag} --yes"),
        done: "cancelled",
    };
    let reason = sure.reason.take();
    let body = |dry_run| QueueClear { filter: only.filter(), reason: reason.clone(), dry_run, by: Some(session.by.clone()) };
    sure.cancel(session, &path(&queue, "/clear"), what, body)
}
