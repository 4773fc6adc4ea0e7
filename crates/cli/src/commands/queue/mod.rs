//! `signaller queue`: how work waits, one file for each thing that can be done about it.

mod clear;
mod dead;
mod depth;
mod inspect;
mod list;
mod pause;
mod priority;
mod set;
mod show;
mod stats;

pub use stats::outcomes_text;

use super::Session;
use crate::client::segment;
use crate::output::{Answer, Exit, Failure, Outcome};
use crate::progress::follow_bulk;
use crate::units::{count_of, were};
use clap::{Args, Subcommand};
use doors::wire::{BulkAnswer, BulkView, QueueView};
use kernel::ids::BulkId;
use kernel::names::QueueName;
use serde::Serialize;

/// Queues: list, configure, pause, drain, clear, reprioritize and redrive them
#[derive(Args, Debug)]
pub struct QueueArgs {
    #[command(subcommand)]
    command: QueueCommand,
}

#[derive(Subcommand, Debug)]
enum QueueCommand {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Depth(depth::DepthArgs),
    Inspect(inspect::InspectArgs),
    Stats(stats::StatsArgs),
    Set(Box<set::SetArgs>),
    Pause(pause::PauseArgs),
    Resume(pause::ResumeArgs),
    Drain(clear::DrainArgs),
    Clear(clear::ClearArgs),
    Priority(priority::PriorityArgs),
    Dead(dead::DeadArgs),
    Redrive(dead::RedriveArgs),
}

pub fn run(args: QueueArgs, session: &Session) -> Outcome {
    match args.command {
        QueueCommand::List(args) => list::run(args, session),
        QueueCommand::Show(args) => show::run(args, session),
        QueueCommand::Depth(args) => depth::run(args, session),
        QueueCommand::Inspect(args) => inspect::run(args, session),
        QueueCommand::Stats(args) => stats::run(args, session),
        QueueCommand::Set(args) => set::run(*args, session),
        QueueCommand::Pause(args) => pause::pause(args, session),
        QueueCommand::Resume(args) => pause::resume(args, session),
        QueueCommand::Drain(args) => clear::drain(args, session),
        QueueCommand::Clear(args) => clear::clear(args, session),
        QueueCommand::Priority(args) => priority::run(args, session),
        QueueCommand::Dead(args) => dead::list(args, session),
        QueueCommand::Redrive(args) => dead::redrive(args, session),
    }
}

/// `/v1/queues/NAME` and what comes after.
fn path(queue: &QueueName, rest: &str) -> String {
    format!("/v1/queues/{}{rest}", segment(queue.as_str()))
}

fn view(session: &Session, queue: &QueueName) -> Result<QueueView, Failure> {
    session.client.get(&path(queue, ""))
}

#[derive(Args, Debug)]
pub struct Follow {
    /// Answer as soon as it has begun, with its id, instead of waiting for its end
    #[arg(long)]
    pub no_wait: bool,
}

impl Follow {
    /// The answer to a command over many tasks. `total` is about how many it will touch, `done` what it does to one.
    pub fn answer(&self, session: &Session, answer: BulkAnswer, total: Option<u64>, done: &str) -> Outcome {
        match answer {
            BulkAnswer::Started { bulk } if self.no_wait => Ok(begun(bulk)),
            BulkAnswer::Started { bulk } => {
                let view = follow_bulk(&session.screen, &session.client, bulk, total)?;
                Ok(Answer::new(&view, ended(&view, done)))
            }
            BulkAnswer::Changed { changed, skipped } => {
                let left = if skipped == 0 { String::new() } else { format!("; {} left as they are", were(skipped)) };
                Ok(Answer::new(&answer, format!("{} {done}{left}.", count_of(changed, "task"))))
            }
            BulkAnswer::Would { would_change, at_least } => {
                Ok(Answer::new(&answer, format!("This would change {}.", would_text(would_change, at_least))))
            }
            BulkAnswer::Nothing {} => Ok(Answer::new(&answer, "Done.")),
        }
    }
}

/// Of a dry run: how many tasks.
pub fn would_text(count: u64, at_least: bool) -> String {
    format!("{}{}", if at_least { "at least " } else { "" }, count_of(count, "task"))
}

/// How many tasks a command over many would change, asked by a dry run.
pub fn would(session: &Session, path: &str, dry: &impl Serialize) -> Result<(u64, String), Failure> {
    match session.client.post(path, dry)? {
        BulkAnswer::Would { would_change, at_least } => Ok((would_change, would_text(would_change, at_least))),
        other => Err(Failure::new(Exit::Unavailable, "unexpected", format!("a dry run was answered with {other:?}"))),
    }
}

fn begun(bulk: BulkId) -> Answer {
    Answer::new(&BulkAnswer::Started { bulk }, format!("{bulk} has begun."))
        .next(format!("bulk show {bulk} --wait"), "wait for its end")
        .next(format!("bulk cancel {bulk}"), "stop it where it is")
}

fn ended(view: &BulkView, done: &str) -> String {
    let left = if view.skipped == 0 { String::new() } else { format!("; {} left as they are", were(view.skipped)) };
    match view.items {
        0 if view.skipped == 0 => "There was nothing to do.".into(),
        items => format!("{} {done}{left}.", count_of(items, "task")),
    }
}
