//! The world around the engine, one step at a time: people and workers act, time passes, the engine ticks, answers find
//! their way or do not, and the checkers look.

use crate::Options;
use crate::chance::Chance;
use crate::checkers::{self, Scene};
use crate::client::Client;
use crate::coverage::Coverage;
use crate::failure::Failure;
use crate::ledger::Ledger;
use crate::mail::{Mail, Sender};
use crate::model::Model;
use crate::presence::Presence;
use crate::temper::Temper;
use crate::turn::Turn;
use crate::worker::Worker;
use engine::{Answer, Core, Request, Ticket, Ticked};
use kernel::command::{Command, Reply};
use kernel::ids::{BulkId, TaskId};
use kernel::record::{Entry, Owner, Record};
use kernel::rejection::Rejection;
use kernel::time::Time;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use store::memory::{Fault, MemoryDisk};

/// Events told with a failure.
const EVENTS_MAX: usize = 30;
/// Ticks between two looks at everything.
const THOROUGH_EVERY: usize = 32;

/// What a checker found: its name and its words.
pub type Found = (&'static str, String);

/// How a tick ends.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Crash {
    No,
    BeforeCommit,
    AfterCommit,
}

pub struct World {
    chance: Chance,
    temper: Temper,
    now: Time,
    disk: MemoryDisk,
    core: Option<Core>,
    mail: Mail,
    /// Adds that were never answered: sent again some day.
    unsure: Vec<Command>,
    workers: Vec<Worker>,
    model: Model,
    presence: Presence,
    ledger: Ledger,
    tasks: Vec<TaskId>,
    bulks: Vec<BulkId>,
    inputs: u64,
    coverage: Coverage,
    step: usize,
    /// Stopping since this step.
    stopping_since: Option<usize>,
    /// Kept only when a failure is run again.
    events: Option<VecDeque<String>>,
}
