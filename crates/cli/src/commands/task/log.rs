//! `signaller task log`.

use super::progress_text;
use crate::commands::{Session, task_id};
use crate::output::{Answer, Outcome, raw};
use crate::plain::plain;
use crate::units::{count_of, show_offset};
use clap::Args;
use doors::wire::{Instant, LogLineView, LogView};
use kernel::ids::TaskId;
use std::thread::sleep;
use std::time::Duration;

/// How long the server may wait for the next line.
const WAIT_MS: u64 = 20_000;
/// After this it is asked again, if it did not answer.
const RETRY_MS: u64 = 500;

/// Tell what workers said while they worked on a task: at most its newest 1,000 lines
#[derive(Args, Debug)]
#[command(after_help = "In JSON, --follow gives a line for each line, and its answer when the task has ended.\n\n\
                        Examples:\n  signaller task log task-9m2\n  signaller task log task-9m2 --follow")]
pub struct LogArgs {
    /// The task, by its id
    #[arg(value_name = "TASK", value_parser = task_id)]
    task: TaskId,
    /// Go on until the task has ended
    #[arg(long, short)]
    follow: bool,
}

pub fn run(args: LogArgs, session: &Session) -> Outcome {
    let task = args.task;
    let page = |after: u64, wait_ms: u64| -> Result<LogView, _> {
        let path = format!("/v1/tasks/{task}/log?after={after}&wait_ms={wait_ms}");
        session.client.get_within(&path, wait_ms + 10_000)
    };
    let mut log = page(0, 0)?;
    let mut first = None;
    let mut show = |line: &LogLineView| shown(*first.get_or_insert(line.at), line.at, line.attempt, &format!("| {}", line.text));
    let dropped = match log.dropped {
        0 => String::new(),
        dropped => format!("{} before these were dropped", count_of(dropped, "line")),
    };
    if !args.follow {
        let mut text: Vec<String> = Some(dropped).into_iter().filter(|text| !text.is_empty()).collect();
        text.extend(log.lines.iter().map(&mut show));
        text.extend(far(&log, first));
        let text = if text.is_empty() { format!("No worker has said anything about {task}.") } else { text.join("\n") };
        return Ok(Answer::new(&log, text).next(format!("task show {task}"), "how it stands now"));
    }
    let mut told = 0;
    loop {
        for line in &log.lines {
            session.screen.line(&if session.screen.people { show(line) } else { raw(line).to_string() });
            told = line.n;
        }
        // An end is told with nothing after it.
        if log.ended && log.lines.is_empty() {
            let said = LogView { lines: Vec::new(), ..log };
            let text: Vec<String> = far(&said, first).into_iter().chain([format!("{task} has ended.")]).collect();
            return Ok(Answer::new(&said, text.join("\n")).next(format!("task show {task}"), "how"));
        }
        let (mut is_away, mut wait_ms) = (false, WAIT_MS);
        log = loop {
            match page(told, wait_ms) {
                Ok(log) => break log,
                Err(failure) if failure.may_pass(true) => {
                    if !failure.is_limited() && !std::mem::replace(&mut is_away, true) {
                        session.screen.note(&format!("{}; trying again", failure.message));
                    }
                    // When it was away, it is told at once that it is back; and where no more may wait, one can ask.
                    wait_ms = 0;
                    sleep(Duration::from_millis(failure.retry_after_ms.unwrap_or(RETRY_MS)));
                }
                Err(failure) => return Err(failure),
            }
        };
        if is_away {
            session.screen.note("the server answers again");
        }
    }
}

/// What was said last of how far it is.
fn far(log: &LogView, first: Option<Instant>) -> Option<String> {
    let said = log.progress.as_ref()?;
    let far = progress_text(Some(said.progress), said.message.as_deref())?;
    Some(shown(first.unwrap_or(said.at), said.at, said.attempt, &format!("said last how far it is: {far}")))
}

/// `+1.2s #1 | text`
fn shown(first: Instant, at: Instant, attempt: Option<u16>, text: &str) -> String {
    let attempt = attempt.map_or_else(String::new, |attempt| format!(" #{attempt}"));
    format!("{}{attempt} {}", show_offset(first, at), plain(text))
}
