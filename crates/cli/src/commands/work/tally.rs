//! What a worker did, counted once for each attempt and only when it is known: when the server has taken its result, or
//! will not.

use super::crew::Told;
use doors::wire::{CancelledView, Status, TaskView};
use kernel::ids::TaskId;
use kernel::names::TypeName;
use serde::Serialize;
use std::time::{Duration, Instant};

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
    Told { told: Told, code: Option<String> },
    Refused { message: String },
}

impl Last {
    /// Why the task counts as not done; `found` is what the server says of it now.
    pub fn failure(&self, task: TaskId, found: Option<&TaskView>) -> Option<String> {
        let (told, code) = match self {
            Last::Refused { message } => return Some(format!("the result of {task} was not taken: {message}")),
            Last::Told { told, code } => (*told, code.as_deref()),
        };
        match told {
            Told::Nothing => Some(format!("the lease of {task} was lost before it ended; another worker will do it")),
            Told::Released => Some(format!("{task} was handed back")),
            Told::Failed => Some(format!("{task} failed with {}", code.unwrap_or("failed"))),
            Told::Done | Told::Stopped => match found.map(|view| (view.status, &view.error, &view.cancelled)) {
                Some((Status::Cancelled, _, why)) => {
                    Some(format!("{task} was cancelled{}", why.as_ref().map_or_else(String::new, by)))
                }
                Some((_, Some(error), _)) if error.code == "timed_out" => Some(format!("{task} failed with timed_out")),
                _ if told == Told::Done => None,
                _ => Some(format!("{task} was stopped: it was cancelled, or its time budget was spent")),
            },
        }
    }
}

fn by(why: &CancelledView) -> String {
    if why.reason.is_empty() { format!(" by {}", why.by) } else { format!(" by {}: {}", why.by, why.reason) }
}
