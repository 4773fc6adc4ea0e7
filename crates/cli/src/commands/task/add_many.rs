//! `signaller task add --ndjson`: many tasks. A batch is added whole or not at all.

use crate::commands::Session;
use crate::ndjson::{Lines, half_way, when_there_is_room};
use crate::output::{Answer, Outcome};
use crate::units::{count_of, were};
use doors::wire::{TaskAdded, TasksAdd, TasksAdded};
use kernel::ids::TaskId;
use serde::Serialize;

/// Ids beyond this are counted and not listed.
const IDS_LISTED_MAX: usize = 1_000;

#[derive(Default, Serialize)]
struct Tally {
    added: u64,
    duplicates: u64,
    /// Of these, those that were made with another input.
    #[serde(skip_serializing_if = "doors::wire::is_zero")]
    differing: u64,
    /// The last line of the file that was added.
    lines: u64,
    /// Left out when there are more than a thousand.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tasks: Vec<TaskId>,
}

pub fn run(source: &str, session: &Session) -> Outcome {
    let mut tally = Tally::default();
    let file = Lines { source, doing: "adding", example: "{\"type\":\"lint\",\"input\":{}}" };
    let (lines, added) = file.send(session, |tasks| {
        let body = TasksAdd { tasks };
        let added = when_there_is_room(|| session.client.post::<TasksAdded>("/v1/tasks/batch", &body))?;
        for TaskAdded { task, duplicate, input_differs } in added.tasks {
            tally.added += u64::from(!duplicate);
            tally.duplicates += u64::from(duplicate);
            tally.differing += u64::from(input_differs);
            if tally.tasks.len() < IDS_LISTED_MAX {
                tally.tasks.push(task);
            }
        }
        Ok(())
    });
    tally.lines = lines;
    if tally.added + tally.duplicates > IDS_LISTED_MAX as u64 {
        tally.tasks.clear();
    }
    added.map_err(|failure| half_way(failure, lines, &tally))?;
    let twice = match tally.duplicates {
        0 => String::new(),
        many => format!("; {} there already, made by the same keys", were(many)),
    };
    let twice = match tally.differing {
        0 => twice,
        many => format!("{twice}, {many} of them with another input"),
    };
    let text = match tally.added + tally.duplicates {
        0 => "The file holds no task.".to_owned(),
        _ => format!("Added {}{twice}.", count_of(tally.added, "task")),
    };
    Ok(Answer::new(&tally, text).next("status", "see them wait and run"))
}
