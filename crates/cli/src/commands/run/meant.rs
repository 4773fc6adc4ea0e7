//! Which runs a command is about: some by their ids, or all that `--where` means, as a bulk.

use super::operations::Patch;
use crate::commands::{Session, run_id};
use crate::output::{Answer, Failure, Outcome};
use crate::plain::plain;
use crate::progress::follow_bulk;
use crate::units::{count_of, parse_per_second};
use clap::Args;
use doors::wire::{RunsBulk, RunsBulkAnswer, RunsVerb};
use kernel::ids::RunId;

#[derive(Args, Debug)]
pub struct Meant {
    /// One or more runs, by their ids
    #[arg(value_name = "RUN", required_unless_present = "filter", value_parser = run_id)]
    pub runs: Vec<RunId>,
    #[command(flatten)]
    pub many: Many,
    /// With --where: only show how many runs are meant
    #[arg(long, conflicts_with = "runs")]
    pub dry_run: bool,
}

/// The other way: the ids are the argument `runs` of whoever has this.
#[derive(Args, Debug)]
pub struct Many {
    /// All runs that this condition means, instead of ids
    ///
    /// In CEL over one run: id, workflow, version, status, paused, tags, started_at, ended_at, age (seconds since it started),
    /// error.code, error.message, called, parent, idempotency_key; what is not there is an empty text. Runs that others called
    /// are left out, unless it reads `called` or `parent`. What starts later is not meant. The server does it, also after a
    /// restart; `signaller bulk` has it.
    #[arg(long = "where", value_name = "EXPR", conflicts_with = "runs")]
    pub filter: Option<String>,
    /// With --where: at most so many a second, such as 50/s
    #[arg(long = "rate", alias = "per-s", value_name = "RATE", value_parser = parse_per_second, conflicts_with = "runs", requires = "filter")]
    per_s: Option<u32>,
    /// With --where: answer as soon as it has begun, with its id, instead of waiting for its end
    #[arg(long, conflicts_with = "runs", requires = "filter")]
    no_wait: bool,
}

/// What a verb needs to know beside the runs.
pub enum Of {
    Nothing,
    /// A restart: from where.
    Node(String),
    /// A patch: what it changes, and how that was said.
    Patch {
        patch: Patch,
        said: String,
    },
}

/// What is done to all of them, in words.
pub struct Deed {
    pub verb: RunsVerb,
    pub of: Of,
    pub dry_run: bool,
    /// `run retry`
    pub command: &'static str,
    /// This would … 3 runs.
    pub would: &'static str,
    /// 3 runs …
    pub done: &'static str,
    pub reason: Option<String>,
    /// Whoever asks has said that it is meant; `None`: nobody need say it.
    pub yes: Option<bool>,
}

/// Does it to all that `filter` means.
pub fn all(session: &Session, meant: &Many, filter: &str, deed: Deed) -> Outcome {
    let (node, patch, said) = match deed.of {
        Of::Nothing => (None, Patch::default(), String::new()),
        Of::Node(node) => (Some(node.clone()), Patch::default(), format!(" --node '{node}'")),
        Of::Patch { patch, said } => (None, patch, said),
    };
    let body = |dry_run: bool| RunsBulk {
        verb: deed.verb,
        node: node.clone(),
        operations: patch.operations.clone(),
        set: patch.set.clone(),
        unset: patch.unset.clone(),
        r#where: filter.to_owned(),
        per_s: meant.per_s,
        reason: deed.reason.clone(),
        description: None,
        by: Some(session.by.clone()),
        dry_run,
    };
    let would: RunsBulkAnswer = session.client.post("/v1/runs/bulk", &body(true))?;
    let count = would.count.unwrap_or(0);
    let at_least = if would.at_least { "at least " } else { "" };
    let many = format!("{at_least}{}", count_of(count, "run"));
    let again = |flags: &str| format!("{}{said} --where '{}'{flags}", deed.command, filter.replace('\'', "'\\''"));
    let yes = if deed.yes.is_some() { " --yes" } else { "" };
    if deed.dry_run {
        let mut text = match count {
            0 => "No run is meant.".to_owned(),
            _ => format!("This would {} {many}: {}{}.", deed.would, listed(&would.sample), more(count, &would)),
        };
        text.push_str(&left(&would));
        if let Some(first) = &would.unclear_first {
            let unclear = count_of(would.unclear.unwrap_or(1), "run");
            text.push_str(&format!("\nFor {unclear} it gives no answer; the first, {}: {}", first.run, plain(&first.why)));
        }
        let answer = Answer::new(&would, text);
        return Ok(if count == 0 { answer } else { answer.next(again(yes), format!("{} them", deed.would)) });
    }
    if deed.yes == Some(false) {
        let failure = Failure::confirmation_needed(format!("this would {} {many}{}", deed.would, already(&would)));
        return Err(failure.next(again(" --dry-run"), "see which").next(again(yes), format!("{} them", deed.would)));
    }
    let started: RunsBulkAnswer = session.client.post("/v1/runs/bulk", &body(false))?;
    let Some(bulk) = started.bulk else { return Err(Failure::usage("the server did not say which bulk it is")) };
    if meant.no_wait {
        let answer = Answer::new(&started, format!("{bulk} has begun; {many} are meant."));
        let answer = answer.next(format!("bulk show {bulk} --wait"), "wait for its end");
        return Ok(answer.next(format!("bulk cancel {bulk}"), "stop it where it is"));
    }
    let total = Some(count).filter(|_| !would.at_least);
    let view = follow_bulk(&session.screen, &session.client, bulk, total)?;
    let mut text = match (view.items, view.skipped) {
        (0, 0) => "No run is meant; nothing was changed.".to_owned(),
        (items, 0) => format!("{} {}.", count_of(items, "run"), deed.done),
        (items, skipped) => format!("{} {}; {skipped} left as they were.", count_of(items, "run"), deed.done),
    };
    for refused in &view.refused {
        text.push_str(&format!("\n  {}: {}", refused.run, plain(&refused.why)));
    }
    if view.refused.len() < view.skipped as usize && !view.refused.is_empty() {
        text.push_str("\n  …");
    }
    Ok(Answer::new(&view, text))
}

/// Which of them would be left as they are, as far as that is known.
fn left(would: &RunsBulkAnswer) -> String {
    let (count, tried) = (would.count.unwrap_or(0), would.tried.unwrap_or(0));
    let mut text = String::new();
    let of = if tried < count || would.at_least { format!("the first {tried}") } else { "them".to_owned() };
    if let Some(done) = would.done {
        text.push_str(&format!("\nOf {of}, {done} {} done already, and would run again.", is_or_are(done)));
    }
    if let Some(refused) = would.refused {
        text.push_str(&format!("\nOf {of}, {refused} would be left as {}:", if refused == 1 { "it is" } else { "they are" }));
        would.refused_first.iter().for_each(|one| text.push_str(&format!("\n  {}: {}", one.run, plain(&one.why))));
        if (would.refused_first.len() as u64) < refused {
            text.push_str("\n  …");
        }
    }
    text
}

/// What somebody should know who is asked whether it is meant.
fn already(would: &RunsBulkAnswer) -> String {
    let (count, tried) = (would.count.unwrap_or(0), would.tried.unwrap_or(0));
    let of = if tried < count || would.at_least { format!("of the first {tried} ") } else { String::new() };
    let done = would.done.map(|done| format!("; {of}{done} {} done already", is_or_are(done)));
    let refused = would.refused.map(|refused| format!("; {of}{refused} would be left as they are"));
    format!("{}{}", done.unwrap_or_default(), refused.unwrap_or_default())
}

fn is_or_are(count: u64) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

fn listed(sample: &[RunId]) -> String {
    sample.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn more(count: u64, would: &RunsBulkAnswer) -> &'static str {
    if count > would.sample.len() as u64 || would.at_least { ", …" } else { "" }
}
