//! What a worker did, counted once for each attempt and only when it is known: when the server has taken its result, or
//! will not.

use super::crew::Told;
use doors::wire::{CancelledView, Status, TaskView};
use kernel::ids::TaskId;
use kernel::names::TypeName;
use serde::Serialize;
use std::time::{Duration, Instant};

/// The server's word for an attempt whose time budget is spent.
const TIMED_OUT: &str = "timed_out";

#[derive(Default, Serialize)]
pub struct Tally {
    pub worker: String,
    pub done: u64,
    pub failed: u64,
    /// Ended because the server asked for it: cancelled, or out of time.
    pub stopped: u64,
    pub released: u64,
    /// Their lease was lost before they ended.
    pub lost: u64,
    /// Results the server did not take.
    pub refused: u64,
}

impl Tally {
    pub fn count(&mut self, told: Told) {
        *match told {
            Told::Done => &mut self.done,
            Told::Failed => &mut self.failed,
            Told::Stopped => &mut self.stopped,
            Told::Released => &mut self.released,
            Told::Nothing => &mut self.lost,
        } += 1;
    }

    /// `w-1: 3 done, 1 failed, 1 lost.`
    pub fn sentence(&self) -> String {
        let mut parts = vec![format!("{} done", self.done), format!("{} failed", self.failed)];
        let rest = [(self.stopped, "stopped"), (self.refused, "refused"), (self.lost, "lost"), (self.released, "handed back")];
        parts.extend(rest.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")));
        format!("{}: {}.", self.worker, parts.join(", "))
    }
}

/// An attempt whose end was told to the server and not yet taken.
pub struct Attempt {
    pub kind: TypeName,
    pub since: Instant,
    pub took: Duration,
    pub told: Told,
    /// The code of its error, if it has one.
    pub code: Option<String>,
}

/// How the one task of `--once` ended.
pub enum Last {
    Told {
        told: Told,
        code: Option<String>,
    },
    Refused {
        message: String,
    },
    /// It never began.
    Unmade {
        why: String,
    },
}

impl Last {
    /// Why the task counts as not done; `found` is what the server says of it now.
    pub fn failure(&self, task: TaskId, found: Option<&TaskView>) -> Option<String> {
        let (told, code) = match self {
            Last::Refused { message } => return Some(format!("the result of {task} was not taken: {message}")),
            Last::Unmade { why } => return Some(format!("{task} failed: {why}")),
            Last::Told { told, code } => (*told, code.as_deref()),
        };
        match told {
            Told::Nothing => Some(format!("the lease of {task} was lost before it ended; what it did does not count")),
            Told::Released => Some(format!("{task} was handed back")),
            Told::Failed => Some(format!("{task} failed with {}", code.unwrap_or("failed"))),
            Told::Done | Told::Stopped => match found.map(|view| (view.status, &view.error, &view.cancelled)) {
                Some((Status::Cancelled, _, why)) => {
                    Some(format!("{task} was cancelled{}", why.as_ref().map_or_else(String::new, by)))
                }
                Some((_, Some(error), _)) if error.code == TIMED_OUT => Some(format!("{task} failed with timed_out")),
                _ if told == Told::Done => None,
                _ => Some(format!("{task} was stopped: it was cancelled, or its time budget was spent")),
            },
        }
    }
}

/// Whether the server had ended the task before its result came.
pub fn was_ended(found: &Option<TaskView>) -> bool {
    let timed_out = |view: &TaskView| view.error.as_ref().is_some_and(|error| error.code == TIMED_OUT);
    found.as_ref().is_some_and(|view| view.status == Status::Cancelled || timed_out(view))
}

fn by(why: &CancelledView) -> String {
    if why.reason.is_empty() { format!(" by {}", why.by) } else { format!(" by {}: {}", why.by, why.reason) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_counted_and_said() {
        let mut tally = Tally { worker: "w".into(), refused: 2, ..Tally::default() };
        assert_eq!(tally.sentence(), "w: 0 done, 0 failed, 2 refused.");
        for told in [Told::Done, Told::Failed, Told::Stopped, Told::Released, Told::Nothing, Told::Done] {
            tally.count(told);
        }
        assert_eq!(tally.sentence(), "w: 2 done, 1 failed, 1 stopped, 2 refused, 1 lost, 1 handed back.");
    }

    #[test]
    fn only_what_the_server_counts_as_done_is_no_failure() {
        let view = |rest: &str| {
            let text = format!(
                r#"{{"task":"task-7","queue":"q","type":"t","priority":0,"attempt":1,"created_at":"2026-11-15T08:57:00Z",{rest}}}"#
            );
            Some(serde_json::from_str::<TaskView>(&text).unwrap())
        };
        let done = || view(r#""status":"done""#);
        let cancelled = || view(r#""status":"cancelled","cancelled":{"cause":"asked","by":"ana","reason":""}"#);
        let late = || view(r#""status":"queued","error":{"code":"timed_out","message":"m"}"#);
        let told = |told, code: Option<&str>| Last::Told { told, code: code.map(str::to_owned) };
        for (last, found, failure) in [
            (told(Told::Done, None), done(), ""),
            (told(Told::Done, None), None, ""),
            (told(Told::Done, None), cancelled(), "task-7 was cancelled by ana"),
            (told(Told::Done, None), late(), "task-7 failed with timed_out"),
            (told(Told::Stopped, Some("signal_15")), late(), "task-7 failed with timed_out"),
            (told(Told::Stopped, None), None, "task-7 was stopped: it was cancelled, or its time budget was spent"),
            (told(Told::Failed, Some("exit_3")), late(), "task-7 failed with exit_3"),
            (told(Told::Released, None), None, "task-7 was handed back"),
            (told(Told::Nothing, None), done(), "the lease of task-7 was lost before it ended; what it did does not count"),
            (Last::Refused { message: "m".into() }, done(), "the result of task-7 was not taken: m"),
        ] {
            let task = TaskId::parse("task-7").unwrap();
            assert_eq!(last.failure(task, found.as_ref()).unwrap_or_default(), failure);
        }
        assert_eq!(
            [was_ended(&done()), was_ended(&cancelled()), was_ended(&late()), was_ended(&None)],
            [false, true, true, false]
        );
    }
}
