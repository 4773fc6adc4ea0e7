//! `signaller queue pause` and `resume`.

use super::{PauseFor, path, view};
use crate::commands::Session;
use crate::output::{Answer, Outcome};
use clap::Args;
use doors::wire::{QueuePause, QueueView, Signed};
use kernel::names::QueueName;

/// Stop handing out tasks of a queue; what runs goes on, what comes waits
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  signaller queue pause mails --for 10m --reason 'provider is down'\n  signaller queue pause mails"
)]
pub struct PauseArgs {
    /// The queue, by its name
    #[arg(value_parser = QueueName::parse)]
    queue: QueueName,
    #[command(flatten)]
    pause: PauseFor,
}

/// Hand out tasks of a queue again
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller queue resume mails")]
pub struct ResumeArgs {
    /// The queue, by its name
    #[arg(value_parser = QueueName::parse)]
    queue: QueueName,
}

pub fn pause(args: PauseArgs, session: &Session) -> Outcome {
    let PauseArgs { queue, pause: PauseFor { for_ms, until, reason } } = args;
    let body = QueuePause { until, for_ms, reason, by: Some(session.by.clone()) };
    let view: QueueView = session.client.post(&path(&queue, "/pause"), &body)?;
    let until = view.pause.as_ref().and_then(|pause| pause.until).map_or_else(String::new, |at| format!(" until {at}"));
    let text = format!("Queue {queue} is paused{until}; {} waiting, {} still running.", view.counts.queued, view.counts.running);
    Ok(Answer::new(&view, text).next(format!("queue resume {queue}"), "let it go on"))
}

pub fn resume(args: ResumeArgs, session: &Session) -> Outcome {
    let queue = args.queue;
    let was_paused = view(session, &queue)?.pause.is_some();
    let body = Signed { by: Some(session.by.clone()) };
    let view: QueueView = session.client.post(&path(&queue, "/resume"), &body)?;
    Ok(Answer::new(
        &view,
        match was_paused {
            true => format!("Queue {queue} goes on with {} ready.", view.counts.ready),
            false => format!("Queue {queue} was not paused; {} ready.", view.counts.ready),
        },
    ))
}
