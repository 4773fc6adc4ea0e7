//! `signaller queue drain` and `clear`: what waits is run now, or cancelled.

use super::{Follow, path, view};
use crate::commands::Session;
use crate::output::{Answer, Failure, Outcome};
use crate::units::count_of;
use clap::Args;
use doors::wire::{QueueClear, Signed};
use kernel::names::QueueName;
use serde_json::json;

/// Run what waits in a queue now, past its rate and schedule
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller queue drain mails")]
pub struct DrainArgs {
    /// The queue, by its name
    #[arg(value_parser = QueueName::parse)]
    queue: QueueName,
    #[command(flatten)]
    follow: Follow,
}

/// Cancel everything that waits in a queue
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  signaller queue clear mails --dry-run\n  signaller queue clear mails --yes --reason 'sent twice'"
)]
pub struct ClearArgs {
    /// The queue, by its name
    #[arg(value_parser = QueueName::parse)]
    queue: QueueName,
    /// Why, for the history
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Do it: without this nothing is cancelled
    #[arg(long)]
    yes: bool,
    /// Show how many would be cancelled
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    #[command(flatten)]
    follow: Follow,
}

pub fn drain(args: DrainArgs, session: &Session) -> Outcome {
    let waiting = view(session, &args.queue)?.counts.queued;
    let body = Signed { by: Some(session.by.clone()) };
    let answer = session.client.post(&path(&args.queue, "/drain"), &body)?;
    args.follow.answer(session, answer, Some(waiting), "may run now")
}

pub fn clear(args: ClearArgs, session: &Session) -> Outcome {
    let ClearArgs { queue, reason, yes, dry_run, follow } = args;
    let waiting = view(session, &queue)?.counts.queued;
    let would = format!("{} waiting in queue {queue}", count_of(waiting, "task"));
    if dry_run {
        let answer = Answer::new(&json!({"queue": queue, "would_cancel": waiting}), format!("This would cancel {would}."));
        return Ok(answer.next(format!("queue clear {queue} --yes"), "cancel them"));
    }
    if !yes {
        let failure = Failure::confirmation_needed(format!("this cancels {would}"));
        return Err(failure.next(format!("queue clear {queue} --yes"), "cancel them"));
    }
    let body = QueueClear { reason, by: Some(session.by.clone()) };
    let answer = session.client.post(&path(&queue, "/clear"), &body)?;
    follow.answer(session, answer, Some(waiting), "cancelled")
}
