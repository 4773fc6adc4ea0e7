//! The deterministic core of Signaller: tasks, queues, leases. No I/O, no clock, no randomness, no async: the shell
//! hands in time and chance, and gets records and replies back.
//!
//! `decide` reads the state and writes records through a [`step::Step`]; `apply` is the only code that changes state.

pub mod bulk;
pub mod command;
pub mod decide;
pub mod eval;
pub mod event;
pub mod explain;
pub mod frame;
pub mod frozen;
pub mod handler;
pub mod histogram;
pub mod hold;
pub mod ids;
pub mod ir;
mod lanes;
pub mod lease;
pub mod limits;
pub mod message;
pub mod names;
pub mod needs;
pub mod node;
pub mod owner;
pub mod priority;
pub mod queue;
pub mod rate;
pub mod readable;
pub mod record;
pub mod registry;
pub mod rejection;
pub mod replay;
pub mod retry;
pub mod rollup;
pub mod route;
pub mod row;
pub mod run;
pub mod runs;
#[cfg(test)]
mod script;
pub mod shard;
pub mod state;
pub mod step;
pub mod task;
pub mod time;
pub mod watchdog;
pub mod workflow;

pub use decide::decide;

/// Deliberate defects, switched on by the simulator's own tests to prove that it would notice. Without the feature
/// this is `false` and nothing of it is left in the binary.
#[cfg(feature = "defects")]
pub mod defects {
    use std::cell::Cell;

    thread_local!(static ACTIVE: Cell<&'static str> = const { Cell::new("") });

    /// Switches one defect on for this thread; `""` for none.
    pub fn activate(name: &'static str) {
        ACTIVE.set(name);
    }

    pub fn is_active(name: &str) -> bool {
        ACTIVE.get() == name
    }
}

#[inline(always)]
#[doc(hidden)]
pub fn defect(name: &str) -> bool {
    #[cfg(feature = "defects")]
    return defects::is_active(name);
    #[cfg(not(feature = "defects"))]
    {
        let _ = name;
        false
    }
}
