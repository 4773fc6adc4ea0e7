//! A lease: one worker's right to one attempt. The fence is the right; the heartbeat says the worker lives; the time
//! budget, apart from it, says the work has run too long. Slots belong to leases, so they cannot leak.

use crate::ids::{Fence, RunId};
use crate::names::{Actor, WorkerName};
use crate::time::Time;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lease {
    pub(crate) fence: Fence,
    pub(crate) worker: WorkerName,
    pub(crate) since: Time,
    pub(crate) heartbeat_ms: u32,
    pub(crate) budget_until: Time,
    /// Holds an override slot instead of ordinary ones.
    pub(crate) run_now: bool,
    /// Its place in the queue, should it be handed back.
    pub(crate) ready_at: Time,
    pub(crate) expedited: bool,
    pub(crate) ending: Option<Ending>,
    /// The run that does the work: nobody else is heard of, and no budget counts.
    pub(crate) run: Option<RunId>,
}

/// Someone wants the lease to end. It keeps its slots until the worker confirms or its heartbeat lapses, because
/// until then the work may still be going on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    Cancel { by: Actor, reason: String },
    TimedOut,
}

impl Lease {
    pub fn fence(&self) -> Fence {
        self.fence
    }

    pub fn worker(&self) -> &WorkerName {
        &self.worker
    }

    pub fn since(&self) -> Time {
        self.since
    }

    pub fn heartbeat_ms(&self) -> u32 {
        self.heartbeat_ms
    }

    pub fn budget_until(&self) -> Time {
        self.budget_until
    }

    pub fn is_run_now(&self) -> bool {
        self.run_now
    }

    pub fn run(&self) -> Option<RunId> {
        self.run
    }

    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }
}
