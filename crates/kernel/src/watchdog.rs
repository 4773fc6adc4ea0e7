//! What can stand still though it should move. Noticing it is the engine's work; here is what it is called.

use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standstill {
    /// A batch is being decided or written, and does not come to its end.
    TickHung,
    /// What was committed does not leave: answers, leases, news.
    DispatchHung,
    /// Work that may run, a worker that waits for it, and yet no lease.
    BacklogIdle,
}

impl Standstill {
    pub const ALL: [Standstill; 3] = [Standstill::TickHung, Standstill::DispatchHung, Standstill::BacklogIdle];

    pub const fn as_str(self) -> &'static str {
        match self {
            Standstill::TickHung => "tick_hung",
            Standstill::DispatchHung => "dispatch_hung",
            Standstill::BacklogIdle => "backlog_idle",
        }
    }

    /// In words, to be followed by for how long.
    pub const fn sentence(self) -> &'static str {
        match self {
            Standstill::TickHung => "the writer has not finished a batch",
            Standstill::DispatchHung => "what was committed has not left the writer",
            Standstill::BacklogIdle => "work that may run was not given to a worker that waits for it",
        }
    }
}

impl fmt::Display for Standstill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
