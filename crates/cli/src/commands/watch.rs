//! `signaller watch`: the stream of records, live.

use super::{Session, run_id, task_id};
use crate::output::{Answer, Outcome};
use crate::plain::{plain, plain_json};
use crate::signals::on_stop;
use crate::stream::{Event, News, follow};
use crate::telling;
use crate::units::{count_of, parse_duration_ms};
use clap::Args;
use doors::wire::{Cursor, StreamQuery};
use kernel::ids::{RunId, TaskId};
use kernel::names::QueueName;
use serde_json::json;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// Follow what happens, a line for each record; in JSON, a document for each and one at the end
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  signaller watch
  signaller watch --queue ci --record task_failed,task_retried
  signaller watch --task task-9m2 --for 30s --json
  signaller watch --run run-7")]
pub struct WatchArgs {
    /// Only this queue and its tasks; may be given several times
    #[arg(long = "queue", value_name = "QUEUE", value_parser = QueueName::parse, value_delimiter = ',')]
    queues: Vec<QueueName>,
    /// Only this task; may be given several times
    #[arg(long = "task", value_name = "TASK", value_parser = task_id, value_delimiter = ',')]
    tasks: Vec<TaskId>,
    /// Only this run with its nodes and tasks; may be given several times
    #[arg(long = "run", value_name = "RUN", value_parser = run_id, value_delimiter = ',')]
    runs: Vec<RunId>,
    /// Only this kind of record, such as task_done; may be given several times
    #[arg(long = "record", value_name = "KIND", value_parser = kernel::record::Record::KINDS, value_delimiter = ',', hide_possible_values = true)]
    records: Vec<String>,
    /// Begin after this record (the `seq` of one seen before, such as r1042) instead of now; 0 is the beginning
    #[arg(long, value_name = "SEQ", value_parser = seq)]
    after: Option<String>,
    /// End after so many records
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// End after so long
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration_ms)]
    for_ms: Option<u64>,
}

/// `r1042`, or only its number.
fn seq(text: &str) -> Result<String, String> {
    let found = Cursor::parse(text).or_else(|| Cursor::parse(&format!("r{text}")));
    found
        .map(|cursor| cursor.to_string())
        .ok_or_else(|| format!("`{text}` is not the seq of a record such as r1042; 0 is the beginning"))
}

enum Heard {
    News(News),
    Stop,
}

pub fn run(args: WatchArgs, session: &Session) -> Outcome {
    fn list<T: ToString>(values: &[T]) -> Option<String> {
        (!values.is_empty()).then(|| values.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
    }
    let query = StreamQuery {
        queue: list(&args.queues),
        task: list(&args.tasks),
        run: list(&args.runs),
        record: list(&args.records),
        logs: false,
    };
    let (sender, heard) = sync_channel(1_024);
    let stop = sender.clone();
    on_stop(move || stop.send(Heard::Stop).is_ok());
    follow(session.client.clone(), query, args.after, move |news| sender.send(Heard::News(news)).is_ok());

    let deadline = args.for_ms.map(|ms| Instant::now() + Duration::from_millis(ms));
    let (mut records, mut last, mut opened) = (0u64, None::<String>, false);
    while args.count.is_none_or(|count| records < count) {
        let wait = deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()));
        match heard.recv_timeout(wait.min(Duration::from_secs(3_600))) {
            Ok(Heard::News(News::Opened)) => {
                if session.screen.people && !opened {
                    session.screen.note("Watching; Ctrl-C ends it.");
                }
                opened = true;
            }
            Ok(Heard::News(News::Event(event))) => {
                if !event.id.is_empty() {
                    last = Some(event.id.clone());
                }
                records += u64::from(!event.is_reset());
                if !session.screen.line(&shown(session, &event)) {
                    // Nobody reads any more: not a failure, just the end.
                    break;
                }
            }
            Ok(Heard::News(News::Lost(failure))) if !failure.may_pass(opened) => return Err(failure),
            Ok(Heard::News(News::Lost(failure))) => session.screen.note(&format!("{}; trying again", failure.message)),
            Ok(Heard::Stop) | Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if deadline.is_some_and(|deadline| Instant::now() >= deadline) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    let answer = Answer::new(&json!({"records": records, "last": last}), format!("{} seen.", count_of(records, "record")));
    Ok(match last {
        Some(last) => answer.next(format!("watch --after {last}"), "go on from here"),
        None => answer,
    })
}

fn shown(session: &Session, event: &Event) -> String {
    match (session.screen.people, event.is_reset(), event.record()) {
        (true, true, _) => "The place to go on from is gone: some records may be missing here.".into(),
        (true, false, Some(view)) => telling::line(&view, &event.name),
        (true, false, None) => plain(&format!("{}  {}", event.name, event.data)).into_owned(),
        (false, true, _) => json!({"event": "reset"}).to_string(),
        (false, false, _) => plain_json(&event.data).into_owned(),
    }
}
