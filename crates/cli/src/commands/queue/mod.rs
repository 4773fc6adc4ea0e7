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

use super::{Session, with_note};
use crate::client::{segment, with_query};
use crate::output::{Answer, Exit, Failure, Outcome};
use crate::progress::follow_bulk;
use crate::units::{count_of, parse_duration_ms};
use clap::{Args, Subcommand};
use doors::wire::{BulkAnswer, BulkView, Instant, QueueList, QueueQuery, QueueView};
use kernel::ids::BulkId;
use kernel::names::{Pattern, QueueName};
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

/// For how long something is paused, and why.
#[derive(Args, Debug)]
pub struct PauseFor {
    /// Resume by itself after so long
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration_ms, conflicts_with = "until")]
    pub for_ms: Option<u64>,
    /// Resume by itself at this time, such as 2026-11-15T08:57:00Z
    #[arg(long, value_name = "TIME")]
    pub until: Option<Instant>,
    /// Why, for everyone who asks
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
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
                let left = left_text(skipped);
                Ok(Answer::new(&answer, format!("{} {done}{left}.", count_of(changed, "task"))))
            }
            BulkAnswer::Would { would_change, at_least } => {
                Ok(Answer::new(&answer, format!("This would change {}.", would_text(would_change, at_least))))
            }
            BulkAnswer::Nothing {} => Ok(Answer::new(&answer, "Done.")),
        }
    }
}

/// For what cancels many that wait: whether it is done, or only told.
#[derive(Args, Debug)]
pub struct Sure {
    /// Why, for everyone who asks
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Do it: without this nothing is cancelled
    #[arg(long)]
    yes: bool,
    /// Show how many would be cancelled
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    #[command(flatten)]
    follow: Follow,
}

/// What is to be cancelled, in words.
pub struct Cancelling {
    /// ` waiting in queue mails`, after how many.
    pub which: String,
    /// `in queue mails`, of which nothing waits.
    pub none: String,
    /// The families that were named, of which one may be another's.
    pub families: Vec<Pattern>,
    /// What a dry run tells beside how many.
    pub told: serde_json::Value,
    /// The command that does it.
    pub then: String,
    pub done: &'static str,
}

impl Sure {
    /// Looks first; asks, unless it was said to be meant. `body`: of a dry run, or not.
    pub fn cancel<B: Serialize>(self, session: &Session, path: &str, what: Cancelling, body: impl Fn(bool) -> B) -> Outcome {
        let Cancelling { which, none, families, mut told, then, done } = what;
        let (waiting, shown) = would(session, path, &body(true))?;
        told["would_cancel"] = waiting.into();
        if waiting == 0 && !self.yes {
            let note = families.iter().find_map(|family| meant(session, family));
            told["note"] = note.as_deref().into();
            return Ok(Answer::new(
                &told,
                with_note(format!("Nothing waits {none}: there is nothing to cancel."), note.as_ref()),
            ));
        }
        if self.dry_run {
            return Ok(Answer::new(&told, format!("This would cancel {shown}{which}.")).next(then, "cancel them"));
        }
        if !self.yes {
            return Err(Failure::confirmation_needed(format!("this cancels {shown}{which}")).next(then, "cancel them"));
        }
        let answer = session.client.post(path, &body(false))?;
        self.follow.answer(session, answer, Some(waiting), done)
    }
}

/// Whether those below a family may be meant, of which there is nothing.
fn meant(session: &Session, family: &Pattern) -> Option<String> {
    let query = QueueQuery { family: Some(family.clone()) };
    session.client.get::<QueueList>(&with_query("/v1/queues", &query)).ok()?.note
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

/// `; 2 were left as they are`
fn left_text(skipped: u64) -> String {
    match skipped {
        0 => String::new(),
        1 => "; 1 was left as it is".into(),
        _ => format!("; {skipped} were left as they are"),
    }
}

fn ended(view: &BulkView, done: &str) -> String {
    let left = left_text(view.skipped);
    match view.items {
        0 if view.skipped == 0 => "There was nothing to do.".into(),
        items => format!("{} {done}{left}.", count_of(items, "task")),
    }
}
