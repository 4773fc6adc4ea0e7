//! `signaller task add --ndjson`: many tasks, a batch at a time. A batch is added whole or not at all; when the server
//! is full it is sent again once there is room.

use crate::commands::Session;
use crate::output::{Answer, Exit, Failure, Outcome};
use crate::progress::bytes_bar;
use crate::units::{count_of, were};
use doors::wire::{TaskAdd, TaskAdded, TasksAdd, TasksAdded, said_plainly};
use indicatif::ProgressBar;
use kernel::ids::TaskId;
use serde::Serialize;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::thread;
use std::time::Duration;

const BATCH_TASKS: usize = 500;
const BATCH_BYTES: usize = 1024 * 1024;
/// Ids beyond this are counted and not listed.
const IDS_LISTED_MAX: usize = 1_000;
const FULL_TRIES_MAX: u32 = 120;

#[derive(Default, Serialize)]
struct Tally {
    added: u64,
    duplicates: u64,
    /// The last line of the file that was added.
    lines: u64,
    /// Left out when there are more than a thousand.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tasks: Vec<TaskId>,
}

pub fn run(source: &str, session: &Session) -> Outcome {
    let (reader, bytes): (Box<dyn BufRead>, Option<u64>) = if source == "-" {
        (Box::new(BufReader::new(std::io::stdin())), None)
    } else {
        let file = File::open(source).map_err(|error| {
            Failure::usage(format!("`{source}` cannot be read: {error}")).fix("name a file that is there, or - for stdin")
        })?;
        let bytes = file.metadata().ok().map(|metadata| metadata.len());
        (Box::new(BufReader::new(file)), bytes)
    };
    let show = bytes_bar(&session.screen, bytes, "adding");
    let mut tally = Tally::default();
    let added = add_all(reader, session, &show, &mut tally);
    show.finish_and_clear();
    if tally.added + tally.duplicates > IDS_LISTED_MAX as u64 {
        tally.tasks.clear();
    }
    match added {
        Ok(()) => {
            let twice = if tally.duplicates == 0 {
                String::new()
            } else {
                format!("; {} there already, made by the same keys", were(tally.duplicates))
            };
            let text = match tally.added + tally.duplicates {
                0 => "The file holds no task.".to_owned(),
                _ => format!("Added {}{twice}.", count_of(tally.added, "task")),
            };
            Ok(Answer::new(&tally, text).next("status", "see them wait and run"))
        }
        Err(failure) if tally.lines == 0 => Err(failure.result(&tally)),
        Err(failure) => {
            let kept = format!("lines 1 to {} were added and stay", tally.lines);
            let fix =
                format!("{}; go on from line {}", failure.fix.clone().unwrap_or_else(|| "correct it".into()), tally.lines + 1);
            Err(Failure { message: format!("{} ({kept})", failure.message), ..failure }.fix(fix).result(&tally))
        }
    }
}

fn add_all(mut reader: impl BufRead, session: &Session, show: &ProgressBar, tally: &mut Tally) -> Result<(), Failure> {
    let mut batch = Vec::new();
    let (mut batch_bytes, mut number, mut line) = (0, 0, Vec::new());
    loop {
        line.clear();
        let read =
            reader.read_until(b'\n', &mut line).map_err(|error| Failure::usage(format!("line {}: {error}", number + 1)))?;
        if read > 0 {
            number += 1;
            batch_bytes += read;
            if !line.trim_ascii().is_empty() {
                batch.push(parse(&line, number)?);
            }
        }
        let ended = read == 0;
        if !batch.is_empty() && (ended || batch.len() >= BATCH_TASKS || batch_bytes >= BATCH_BYTES) {
            for TaskAdded { task, duplicate } in add(std::mem::take(&mut batch), session)? {
                tally.added += u64::from(!duplicate);
                tally.duplicates += u64::from(duplicate);
                if tally.tasks.len() < IDS_LISTED_MAX {
                    tally.tasks.push(task);
                }
            }
            tally.lines = number;
            show.inc(batch_bytes as u64);
            batch_bytes = 0;
        }
        if ended {
            return Ok(());
        }
    }
}

fn parse(line: &[u8], number: u64) -> Result<TaskAdd, Failure> {
    serde_json::from_slice(line).map_err(|error| {
        Failure::usage(format!("line {number}: {}", said_plainly(&error.to_string())))
            .fix("one task a line: {\"type\":\"lint\",\"input\":{}}")
    })
}

fn add(tasks: Vec<TaskAdd>, session: &Session) -> Result<Vec<TaskAdded>, Failure> {
    let body = TasksAdd { tasks };
    let mut tries = 0;
    loop {
        match session.client.post::<TasksAdded>("/v1/tasks/batch", &body) {
            Ok(added) => return Ok(added.tasks),
            // Full is not broken: the batch was refused whole, so it may be sent again.
            Err(failure) if failure.exit == Exit::Limited && &*failure.code == "limited" && tries < FULL_TRIES_MAX => {
                tries += 1;
                thread::sleep(Duration::from_millis(failure.retry_after_ms.unwrap_or(250).clamp(10, 5_000)));
            }
            Err(failure) => return Err(failure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_bad_line_is_named_by_its_number() {
        assert!(parse(br#"{"type":"lint","input":[1]}"#, 1).is_ok());
        for (line, why) in [
            (&b"{"[..], "line 7: EOF"),
            (br#"{"typ":"lint"}"#, "line 7: unknown field `typ`"),
            (br#"{"type":"a b"}"#, "line 7: type `a b` may hold only"),
            (b"{\"type\":\"\xff\"}", "line 7: "),
        ] {
            let message = parse(line, 7).unwrap_err().message;
            assert!(message.starts_with(why), "{message}");
        }
    }
}
