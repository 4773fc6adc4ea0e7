//! `signaller task history`.

use crate::commands::{Session, task_id};
use crate::output::{Answer, Outcome, Screen};
use crate::table::{cell, table};
use crate::telling::{kind, sentence};
use crate::units::{now, show_age};
use clap::Args;
use doors::wire::{History, RecordView};
use kernel::ids::TaskId;

/// Tell everything that happened to a task, oldest first
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller task history task-9m2")]
pub struct HistoryArgs {
    /// The task, by its id
    #[arg(value_name = "TASK", value_parser = task_id)]
    task: TaskId,
}

pub fn run(args: HistoryArgs, session: &Session) -> Outcome {
    let history: History = session.client.get(&format!("/v1/tasks/{}/history", args.task))?;
    if history.records.is_empty() {
        return Ok(Answer::new(&history, format!("Nothing is recorded of {}.", args.task)));
    }
    let text = rows_of(&session.screen, &history.records);
    Ok(Answer::new(&history, text).next(format!("task show {}", args.task), "how it stands now"))
}

/// A table of what happened.
pub fn rows_of(screen: &Screen, records: &[RecordView]) -> String {
    let now = now();
    let rows = records.iter().map(|record| {
        vec![
            cell(record.at),
            cell(show_age(record.at, now)),
            cell(kind(&record.record)),
            cell(sentence(&record.record, record.at)),
        ]
    });
    table(screen, &["AT", "AGE", "RECORD", "WHAT HAPPENED"], rows)
}
