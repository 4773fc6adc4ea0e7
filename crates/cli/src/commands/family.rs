//! `signaller family`: what is said about families of events, whatever the queue.

use super::queue::{Cancelling, PauseFor, Sure};
use super::{Session, priority, with_note};
use crate::output::{Answer, Outcome};
use crate::plain::{plain, plain_text};
use crate::table::{cell, priority_text, short, table};
use clap::{Args, Subcommand};
use doors::wire::{FamiliesBoost, FamiliesList, FamiliesPause, FamiliesResume, FamiliesShed, Priority};
use kernel::names::Pattern;
use serde_json::json;

/// Families of events: pause, resume, boost and shed their tasks, in whatever queue
#[derive(Args, Debug)]
pub struct FamilyArgs {
    #[command(subcommand)]
    command: FamilyCommand,
}

#[derive(Subcommand, Debug)]
enum FamilyCommand {
    /// List the families that are paused or boosted, and those of which something waits or runs
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
    Shed(ShedArgs),
}

/// Cancel what waits of these families, in whatever queue, up to a priority
///
/// What runs goes on, and what is critical stays. A task's own priority counts, without boosts.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  signaller family shed 'github/*' --upto background --dry-run
  signaller family shed github shop/mail --upto normal --yes --reason 'a storm'")]
struct ShedArgs {
    /// Families, or patterns such as 'github/*'
    #[arg(value_name = "FAMILY", value_parser = Pattern::parse, required = true)]
    families: Vec<Pattern>,
    /// The highest priority that is shed: high, normal, background, or a head start in seconds below 3600
    #[arg(long, value_name = "PRIORITY", value_parser = priority, allow_hyphen_values = true)]
    upto: Priority,
    #[command(flatten)]
    sure: Sure,
}

#[derive(Args, Debug)]
struct PauseArgs {
    /// The family, or a pattern such as 'github/*'
    #[arg(value_name = "FAMILY", value_parser = Pattern::parse)]
    families: Pattern,
    #[command(flatten)]
    pause: PauseFor,
}

pub fn run(args: FamilyArgs, session: &Session) -> Outcome {
    let by = Some(session.by.clone());
    match args.command {
        FamilyCommand::List => {
            let list: FamiliesList = session.client.get("/v1/families")?;
            Ok(Answer::new(&list, listed(session, &list)).next("queue depth --family FAMILY", "one of them, queue by queue"))
        }
        FamilyCommand::Pause(PauseArgs { families, pause: PauseFor { for_ms, until, reason } }) => {
            let body = FamiliesPause { families: families.clone(), until, for_ms, reason, by };
            let list: FamiliesList = session.client.post("/v1/families/pause", &body)?;
            let said = list.said.iter().find(|said| said.families == families);
            let until = said.and_then(|said| said.pause.as_ref()?.until).map_or_else(String::new, |at| format!(" until {at}"));
            let answer =
                Answer::new(&list, with_note(format!("{families} is paused{until}; what runs goes on."), list.note.as_ref()));
            Ok(answer.next(format!("family resume '{families}'"), "let it go on"))
        }
        FamilyCommand::Resume { families } => {
            let body = FamiliesResume { families: families.clone(), by };
            let list: FamiliesList = session.client.post("/v1/families/resume", &body)?;
            let text = list.note.as_ref().map_or_else(|| format!("{families} goes on."), |note| format!("{}.", plain(note)));
            Ok(Answer::new(&list, text).next("family list", "what is said of families"))
        }
        FamilyCommand::Boost { families, boost } => {
            let body = FamiliesBoost { families: families.clone(), boost, by };
            let list: FamiliesList = session.client.post("/v1/families/boost", &body)?;
            let text = match boost.0.head_start_s() {
                0 => format!("{families} has no boost."),
                _ => format!("{families} has a boost of {}.", priority_text(boost)),
            };
            Ok(Answer::new(&list, with_note(text, list.note.as_ref())))
        }
        FamilyCommand::Shed(args) => shed(args, session),
    }
}

fn shed(args: ShedArgs, session: &Session) -> Outcome {
    let ShedArgs { families, upto, mut sure } = args;
    let named: Vec<String> = families.iter().map(|pattern| format!("'{pattern}'")).collect();
    let of = format!(
        "of {}, with priority {} or lower",
        families.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        priority_text(upto)
    );
    let what = Cancelling {
        which: format!(" waiting {of}"),
        none: of,
        families: families.clone(),
        told: json!({"families": families, "upto": upto}),
        then: format!("family shed {} --upto {} --yes", named.join(" "), typed(upto)),
        done: "shed",
    };
    let reason = sure.reason.take();
    let by = Some(session.by.clone());
    let body = |dry_run| FamiliesShed { families: families.clone(), upto, reason: reason.clone(), dry_run, by: by.clone() };
    sure.cancel(session, "/v1/families/shed", what, body)
}

/// As it would be typed.
fn typed(priority: Priority) -> String {
    priority.0.name().map_or_else(|| priority.0.head_start_s().to_string(), str::to_owned)
}

fn listed(session: &Session, list: &FamiliesList) -> String {
    if list.said.is_empty() && list.families.is_empty() {
        return "No family is paused or boosted, and nothing of one waits or runs.".into();
    }
    let mut parts = Vec::new();
    if !list.said.is_empty() {
        let rows = list.said.iter().map(|said| {
            let pause = said.pause.as_ref().map_or_else(String::new, |pause| {
                let until = pause.until.map_or_else(String::new, |until| format!(" until {until}"));
                let why = if pause.reason.is_empty() { String::new() } else { format!(": {}", pause.reason) };
                plain_text(&format!("paused by {}{until}{why}", pause.by)).into_owned()
            });
            let boost = if said.boost.0.head_start_s() == 0 { String::new() } else { priority_text(said.boost) };
            vec![
                cell(&said.families),
                cell(pause),
                cell(boost),
                cell(said.counts.queued),
                cell(said.counts.running),
                cell(said.counts.in_runs),
            ]
        });
        parts.push(table(&session.screen, &["SAID OF", "PAUSE", "BOOST", "QUEUED", "RUNNING", "IN RUNS"], rows));
    }
    if !list.families.is_empty() {
        let rows = list.families.iter().map(|view| {
            let queues = short(&view.queues.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "), 40);
            let counts = &view.counts;
            let paused = if view.paused { "paused" } else { "" };
            vec![
                cell(&view.family),
                cell(counts.ready),
                cell(counts.scheduled),
                cell(counts.running),
                cell(counts.in_runs),
                cell(queues),
                cell(paused),
            ]
        });
        parts.push(table(&session.screen, &["FAMILY", "READY", "SCHEDULED", "RUNNING", "IN RUNS", "QUEUES", "STATE"], rows));
    }
    if list.families_left > 0 {
        parts.push(format!("There are {} more families of which something waits or runs.", list.families_left));
    }
    parts.join("\n\n")
}
