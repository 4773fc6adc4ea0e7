//! What the world outside was told, kept outside: acknowledged adds with their inputs, grants that were delivered, and
//! outcomes that counted. The engine must never contradict it.

use kernel::command::Outcome;
use kernel::ids::{RecordSeq, RunId, TaskId};
use kernel::record::Payload;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Adds that were answered, and are not deleted since.
    pub added: BTreeMap<TaskId, Payload>,
    /// Runs whose start was answered, with their inputs, until someone deletes them.
    pub started: BTreeMap<RunId, Payload>,
    /// What workers were given as the inputs of tasks of runs.
    pub inputs: BTreeMap<TaskId, serde_json::Value>,
    /// The newest fence handed out for each task.
    pub fences: BTreeMap<TaskId, RecordSeq>,
    /// The outcome that ended each lease, where a worker's word did.
    pub outcomes: BTreeMap<(TaskId, RecordSeq), Outcome>,
    /// The newest lease of each task that ended, however it did.
    pub settled: BTreeMap<TaskId, RecordSeq>,
}

/// Whether one is the other sent again. When to retry is advice, not outcome.
pub fn same(one: &Outcome, other: &Outcome) -> bool {
    match (one, other) {
        (Outcome::Done { output: a }, Outcome::Done { output: b }) => a == b,
        (Outcome::Failed { failure: a, retryable: r, .. }, Outcome::Failed { failure: b, retryable: s, .. }) => a == b && r == s,
        (Outcome::Released, Outcome::Released) => true,
        _ => false,
    }
}
