//! `signaller family`: what is said about families of events, whatever the queue.

use super::{Session, priority};
use crate::output::{Answer, Outcome};
use crate::plain::plain_text;
use crate::table::{cell, priority_text, table};
use crate::units::parse_duration_ms;
use clap::{Args, Subcommand};
use doors::wire::{FamiliesBoost, FamiliesList, FamiliesPause, FamiliesResume, Instant, Priority};
use kernel::names::Pattern;

/// Families of events: pause, resume and boost their tasks, in whatever queue
#[derive(Args, Debug)]
pub struct FamilyArgs {
    #[command(subcommand)]
    command: FamilyCommand,
}

#[derive(Subcommand, Debug)]
enum FamilyCommand {
    /// List the families that are paused or boosted
    #[command(after_help = "Examples:\n  signaller family list")]
    List,
    /// Hand out no more tasks of these families; what runs goes on, and what is critical
    #[command(
        after_help = "Examples:\n  signaller family pause github --for 10m --reason 'a storm'\n  signaller family pause 'github/*'"
    )]
    Pause(PauseArgs),
    /// Hand out tasks of these families again
    #[command(after_help = "Examples:\n  signaller family resume 'github/*'")]
    Resume {
        /// The family or pattern, as it was paused
        #[arg(value_name = "FAMILY", value_parser = Pattern::parse)]
        families: Pattern,
    },
    /// Give tasks of these families a head start; 0 takes it away
    #[command(after_help = "Examples:\n  signaller family boost github high\n  signaller family boost github 0")]
    Boost {
        /// The family, or a pattern such as 'github/*'
        #[arg(value_name = "FAMILY", value_parser = Pattern::parse)]
        families: Pattern,
        /// critical, high, normal, background, or a head start in seconds
        #[arg(value_parser = priority, allow_hyphen_values = true)]
        boost: Priority,
    },
}

#[derive(Args, Debug)]
struct PauseArgs {
    /// The family, or a pattern such as 'github/*'
    #[arg(value_name = "FAMILY", value_parser = Pattern::parse)]
    families: Pattern,
    /// Resume by itself after so long
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration_ms, conflicts_with = "until")]
    for_ms: Option<u64>,
    /// Resume by itself at this time, such as 2026-11-15T08:57:00Z
    #[arg(long, value_name = "TIME")]
    until: Option<Instant>,
    /// Why, for everyone who asks
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub fn run(args: FamilyArgs, session: &Session) -> Outcome {
    let by = Some(session.by.clone());
    match args.command {
        FamilyCommand::List => {
            let list: FamiliesList = session.client.get("/v1/families")?;
            if list.said.is_empty() {
                return Ok(Answer::new(&list, "No family is paused or boosted."));
            }
            let rows = list.said.iter().map(|said| {
                let pause = said.pause.as_ref().map_or_else(String::new, |pause| {
                    let until = pause.until.map_or_else(String::new, |until| format!(" until {until}"));
                    let why = if pause.reason.is_empty() { String::new() } else { format!(": {}", pause.reason) };
                    plain_text(&format!("paused by {}{until}{why}", pause.by)).into_owned()
                });
                let boost = if said.boost.0.head_start_s() == 0 { String::new() } else { priority_text(said.boost) };
                vec![cell(&said.families), cell(pause), cell(boost)]
            });
            Ok(Answer::new(&list, table(&session.screen, &["FAMILY", "PAUSE", "BOOST"], rows)))
        }
        FamilyCommand::Pause(PauseArgs { families, for_ms, until, reason }) => {
            let body = FamiliesPause { families: families.clone(), until, for_ms, reason, by };
            let list: FamiliesList = session.client.post("/v1/families/pause", &body)?;
            let said = list.said.iter().find(|said| said.families == families);
            let until = said.and_then(|said| said.pause.as_ref()?.until).map_or_else(String::new, |at| format!(" until {at}"));
            let answer = Answer::new(&list, format!("{families} is paused{until}; what runs goes on."));
            Ok(answer.next(format!("family resume '{families}'"), "let it go on"))
        }
        FamilyCommand::Resume { families } => {
            let body = FamiliesResume { families: families.clone(), by };
            let list: FamiliesList = session.client.post("/v1/families/resume", &body)?;
            Ok(Answer::new(&list, format!("{families} goes on.")))
        }
        FamilyCommand::Boost { families, boost } => {
            let body = FamiliesBoost { families: families.clone(), boost, by };
            let list: FamiliesList = session.client.post("/v1/families/boost", &body)?;
            let text = match boost.0.head_start_s() {
                0 => format!("{families} has no boost."),
                _ => format!("{families} has a boost of {}.", priority_text(boost)),
            };
            Ok(Answer::new(&list, text))
        }
    }
}
