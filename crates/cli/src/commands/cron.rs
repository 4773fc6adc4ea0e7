//! `signaller cron`: events by the clock.

use super::Session;
use super::emit::told;
use crate::output::{Answer, Outcome};
use crate::table::{cell, table};
use crate::units::{now, show_age};
use clap::{Args, Subcommand};
use doors::wire::{CronList, CronNext, EventEmitted, Signed};
use kernel::names::{CronName, EventName};

/// Crons: list them, see when they fire next, fire one now
#[derive(Args, Debug)]
pub struct CronArgs {
    #[command(subcommand)]
    command: CronCommand,
}

#[derive(Subcommand, Debug)]
enum CronCommand {
    /// List the crons of the registry in force
    #[command(after_help = "Examples:\n  signaller cron list")]
    List,
    /// Tell when a cron fires next
    #[command(after_help = "Examples:\n  signaller cron next nightly\n  signaller cron next nightly -n 20")]
    Next {
        /// The cron, by its name
        #[arg(value_parser = CronName::parse)]
        cron: CronName,
        /// How many times, at most 100
        #[arg(short = 'n', long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
        count: u32,
    },
    /// Fire a cron now, beside its schedule
    #[command(after_help = "Examples:\n  signaller cron run nightly")]
    Run {
        /// The cron, by its name
        #[arg(value_parser = CronName::parse)]
        cron: CronName,
    },
}

pub fn run(args: CronArgs, session: &Session) -> Outcome {
    match args.command {
        CronCommand::List => {
            let list: CronList = session.client.get("/v1/crons")?;
            if list.crons.is_empty() {
                let text = "The registry in force has no cron. Add one under `crons:`.";
                return Ok(Answer::new(&list, text).next("registry show", "the registry in force"));
            }
            let at = now();
            let rows = list.crons.iter().map(|cron| {
                let due = &cron.due;
                vec![
                    cell(&due.cron),
                    cell(&due.schedule),
                    cell(&due.zone),
                    cell(&due.event),
                    cell(due.next.map_or_else(|| "never again".to_owned(), |next| show_age(next, at))),
                    cell(cron.last.as_ref().map_or_else(|| "never".to_owned(), |last| show_age(last.at, at))),
                ]
            });
            let text = table(&session.screen, &["CRON", "SCHEDULE", "ZONE", "EVENT", "NEXT", "LAST"], rows);
            Ok(Answer::new(&list, text).next("cron next CRON", "when one fires next"))
        }
        CronCommand::Next { cron, count } => {
            let next: CronNext = session.client.get(&format!("/v1/crons/{cron}/next?count={count}"))?;
            let (at, zone) = (now(), &next.zone);
            let lines: Vec<String> = next.at.iter().map(|time| format!("{time}  {}", show_age(*time, at))).collect();
            Ok(Answer::new(&next, format!("{}\n(the schedule is read in {zone})", lines.join("\n"))))
        }
        CronCommand::Run { cron } => {
            let body = Signed { by: Some(session.by.clone()) };
            let emitted: EventEmitted = session.client.post(&format!("/v1/crons/{cron}/run"), &body)?;
            let list: CronList = session.client.get("/v1/crons")?;
            let name = list.crons.into_iter().find(|one| one.due.cron == cron).map(|one| one.due.event);
            let name = name.unwrap_or_else(|| EventName::parse("cron/event").expect("a name"));
            Ok(told(&name, &emitted))
        }
    }
}
