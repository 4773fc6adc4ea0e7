//! `signaller task wait`: subscribe, then look, then follow. Nothing is missed between looking and following, and no
//! timer polls; a lost connection is opened again and everything looked at afresh.

use crate::commands::{Session, task_id};
use crate::json_text::pretty;
use crate::output::{Answer, Exit, Failure, Outcome};
use crate::progress::{bar, spinner};
use crate::signals::on_giving_up;
use crate::stream::{News, follow};
use crate::table::status_text;
use crate::units::{count_of, parse_duration_ms, show_about_ms, show_exact_ms};
use clap::Args;
use doors::wire::{Status, StreamQuery, TaskAdded, TaskView};
use indicatif::ProgressBar;
use kernel::ids::TaskId;
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// Up to so many ids go into the filter of the stream; with more, every end is heard and the others are let go by.
const IDS_FILTERED_MAX: usize = 100;
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Wait until tasks have ended; fails as soon as one failed or was cancelled
#[derive(Args, Debug)]
#[command(
    after_help = "Ctrl-C gives up as --timeout does: the tasks go on.\n\nExamples:\n  signaller task wait task-9m2\n  signaller task wait task-9m2 task-9m3 --timeout 5m"
)]
pub struct WaitArgs {
    /// One or more tasks, by their ids
    #[arg(value_name = "TASK", required = true, value_parser = task_id)]
    tasks: Vec<TaskId>,
    /// Give up after so long, and exit with 6: the tasks go on
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ms)]
    timeout: Option<u64>,
}

pub fn run(args: WaitArgs, session: &Session) -> Outcome {
    answer(session, &args.tasks, args.timeout, None)
}

#[derive(Serialize)]
struct Waited {
    /// What `task add` answers, where it was that.
    #[serde(flatten)]
    added: Option<TaskAdded>,
    /// In the order they ended.
    tasks: Vec<TaskView>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pending: BTreeSet<TaskId>,
}

pub fn answer(session: &Session, tasks: &[TaskId], timeout_ms: Option<u64>, added: Option<TaskAdded>) -> Outcome {
    let pending: BTreeSet<TaskId> = tasks.iter().copied().collect();
    let show = match pending.len() {
        0 | 1 => spinner(&session.screen, "waiting"),
        count => bar(&session.screen, Some(count as u64), "waiting"),
    };
    let mut wait = Wait { session, show, waited: Waited { added, tasks: Vec::new(), pending }, look_again: false };
    let ended = wait.all(timeout_ms);
    wait.show.finish_and_clear();
    match ended {
        // For people each was told when it ended.
        Ok(()) => Ok(Answer::new(&wait.waited, "")),
        Err(failure) => Err(failure.result(&wait.waited)),
    }
}

enum Heard {
    News(News),
    Stop,
}

struct Wait<'a> {
    session: &'a Session,
    show: ProgressBar,
    waited: Waited,
    /// A look did not reach the server: look again soon, whatever the stream says.
    look_again: bool,
}

impl Wait<'_> {
    fn all(&mut self, timeout_ms: Option<u64>) -> Result<(), Failure> {
        let deadline = timeout_ms.map(|ms| Instant::now() + Duration::from_millis(ms));
        let few = self.waited.pending.len() <= IDS_FILTERED_MAX;
        let ids = self.waited.pending.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let query = StreamQuery {
            task: few.then_some(ids),
            record: Some("task_done,task_failed,task_cancelled,task_deleted".into()),
            ..StreamQuery::default()
        };
        let (sender, news) = sync_channel(1_024);
        let wake = sender.clone();
        // If there is no room in the channel, there is something in it, which is as good.
        let stopped = on_giving_up(move || _ = wake.try_send(Heard::Stop));
        follow(self.session.client.clone(), query, None, move |news| sender.send(Heard::News(news)).is_ok());
        let mut opened = false;
        while !self.waited.pending.is_empty() {
            let wait = deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()));
            let wait = wait.min(if self.look_again { LOOK_AGAIN_AFTER } else { Duration::from_secs(3_600) });
            let heard = news.recv_timeout(wait);
            if stopped.load(Ordering::Relaxed) {
                return Err(self.given_up());
            }
            match heard {
                Ok(Heard::Stop) => {}
                Ok(Heard::News(News::Opened)) => {
                    opened = true;
                    self.look_at_all()?;
                }
                Ok(Heard::News(News::Event(event))) if event.is_reset() => self.look_at_all()?,
                Ok(Heard::News(News::Event(event))) => {
                    let task = event.record().and_then(|record| TaskId::parse(&record.owner));
                    if let Some(task) = task.filter(|task| self.waited.pending.contains(task)) {
                        self.look_at(task)?;
                    }
                }
                Ok(Heard::News(News::Lost(failure))) if !failure.may_pass(opened) => return Err(failure),
                Ok(Heard::News(News::Lost(failure))) => {
                    // Where nobody else may listen, one can look.
                    self.look_again = true;
                    if !failure.is_limited() {
                        self.show.suspend(|| self.session.screen.note(&format!("{}; trying again", failure.message)));
                    }
                }
                Err(RecvTimeoutError::Timeout) if deadline.is_some_and(|deadline| Instant::now() >= deadline) => {
                    return Err(self.timed_out(timeout_ms.unwrap_or(0)));
                }
                Err(RecvTimeoutError::Timeout) if self.look_again => self.look_at_all()?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::new(Exit::Unavailable, "unavailable", "the stream of records ended").retryable());
                }
            }
        }
        Ok(())
    }

    fn look_at_all(&mut self) -> Result<(), Failure> {
        self.look_again = false;
        for task in self.waited.pending.clone() {
            self.look_at(task)?;
            if self.look_again {
                break;
            }
        }
        Ok(())
    }

    fn look_at(&mut self, task: TaskId) -> Result<(), Failure> {
        let view: TaskView = match self.session.client.get(&format!("/v1/tasks/{task}")) {
            Ok(view) => view,
            Err(failure) if failure.exit == Exit::Unavailable && failure.retryable => {
                self.look_again = true;
                return Ok(());
            }
            Err(failure) => return Err(failure),
        };
        if !matches!(view.status, Status::Done | Status::Failed | Status::Cancelled) {
            return Ok(());
        }
        self.waited.pending.remove(&task);
        self.show.inc(1);
        if self.session.screen.people {
            self.show.suspend(|| self.session.screen.line(&told(self.session, &view)));
        }
        let failure = match view.status {
            Status::Failed => {
                let why =
                    view.error.as_ref().map_or_else(String::new, |error| format!(" with {}: {}", error.code, error.message));
                Some(format!("{task} failed{why}"))
            }
            Status::Cancelled => {
                let why = view.cancelled.as_ref().map_or_else(String::new, |why| format!(" by {}: {}", why.by, why.reason));
                Some(format!("{task} was cancelled{why}"))
            }
            _ => None,
        };
        self.waited.tasks.push(view);
        match failure {
            None => Ok(()),
            Some(message) => Err(Failure::new(Exit::WorkFailed, "work_failed", message)
                .fix(format!("see what happened with `signaller task history {task}`"))
                .next(format!("task history {task}"), "everything that happened to it")
                .next(format!("task retry {task}"), "queue it again")),
        }
    }

    fn given_up(&self) -> Failure {
        let count = count_of(self.waited.pending.len() as u64, "task");
        let on = if self.waited.pending.len() == 1 { "goes on" } else { "go on" };
        let message = format!("{count} had not ended when this was stopped, and {on}");
        let failure = Failure::new(Exit::Limited, "interrupted", message).retryable();
        match self.waited.pending.first() {
            Some(task) => failure.fix("wait again, or see what it waits for").next(format!("task wait {task}"), "wait again"),
            None => failure,
        }
    }

    fn timed_out(&self, timeout_ms: u64) -> Failure {
        let count = count_of(self.waited.pending.len() as u64, "task");
        let message = format!("{count} had not ended after {}", show_exact_ms(timeout_ms));
        let failure = Failure::new(Exit::Limited, "timeout", message).retryable();
        match self.waited.pending.first() {
            Some(task) => {
                failure.fix("wait longer, or see what it waits for").next(format!("task explain {task}"), "see what it waits for")
            }
            None => failure,
        }
    }
}

fn told(session: &Session, view: &TaskView) -> String {
    let took = view.finished_at.map_or_else(String::new, |at| {
        let ms = view.created_at.ms_until(at).max(0).unsigned_abs();
        format!(" after {}", show_about_ms(ms))
    });
    let mut text = format!("{} {}{took}", view.task, status_text(&session.screen, view.status));
    if let Some(output) = view.output.as_ref().filter(|output| output.get() != "null") {
        text.push_str(&format!("\n{}", pretty(output.get())));
    }
    text
}
