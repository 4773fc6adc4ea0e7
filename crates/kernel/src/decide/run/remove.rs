//! Delete a run that has ended, with its frames, its nodes and their tasks: part by part, so that nobody waits for it; the
//! run itself goes last. What was asked for leaves one record; what grew old leaves none but the one that says so.

use super::found;
use crate::command::Reply;
use crate::ids::{RunId, TaskId};
use crate::limits::LEAVING_RUNS_MAX;
use crate::message::Message;
use crate::names::Actor;
use crate::record::{Owner, Record};
use crate::rejection::Rejection;
use crate::run::{Deleting, RunStatus};
use crate::step::Step;
use std::collections::BTreeSet;

/// How long the rest waits when a worker is still at a task of the run.
const REST_MS: u64 = 1_000;

pub(in crate::decide) fn delete(step: &mut Step<'_>, run: RunId, by: &Actor) -> Result<Reply, Rejection> {
    let live = found(step, run)?;
    let status = live.run.status;
    if status == RunStatus::Running {
        return Err(Rejection::RunNotEnded { run });
    }
    if let Some(parent) = &live.run.spec.parent {
        return Err(Rejection::Invalid { why: format!("{run} was called by {}: delete that run", parent.show()) });
    }
    if live.run.deleting.is_none() {
        if live.run.live {
            return Err(Rejection::RunEnding { run });
        }
        step.record_run(run, Record::RunDeleting { by: by.clone(), expired: false }, None);
    }
    Ok(Reply::Run { run, status, changed: true })
}

/// Runs that ended too long ago, or are too many. What has been taken up again meanwhile stays.
pub(in crate::decide) fn expire(step: &mut Step<'_>, runs: &[RunId]) -> Reply {
    let ended = |run: &&RunId| {
        let live = step.state().runs.get(**run);
        live.is_some_and(|live| !live.run.live && live.run.deleting.is_none() && live.run.spec.parent.is_none())
    };
    let mut gone: Vec<RunId> = runs.iter().filter(ended).copied().collect();
    gone.sort_unstable();
    gone.dedup();
    // Those that were taken before go first: what is on its way out is in memory.
    gone.truncate(LEAVING_RUNS_MAX.saturating_sub(step.state().runs.leaving.len()));
    if !gone.is_empty() {
        let by = crate::decide::itself();
        step.record_shard(Record::RunsExpired { runs: gone.clone() });
        for run in &gone {
            step.record_run(*run, Record::RunDeleting { by: by.clone(), expired: true }, None);
        }
    }
    Reply::Items { changed: gone.len(), skipped: runs.len() - gone.len() }
}

/// The parts that were loaded go, once the queues have forgotten the tasks among them.
pub(in crate::decide) fn go_on(step: &mut Step<'_>) {
    let again = step.now().plus_ms(REST_MS);
    for run in step.leaving().at_hand() {
        let tasks = step.leaving().ask(run, again);
        if tasks.is_empty() {
            remove(step, run);
        }
        for task in tasks {
            step.send(Message::ForgetTask { task, run });
        }
    }
}

/// Heard twice, or of a run that has gone, it changes nothing.
pub(in crate::decide) fn forgotten(step: &mut Step<'_>, run: RunId, task: TaskId) {
    if step.leaving().forgot(run, task) {
        remove(step, run);
    }
}

fn remove(step: &mut Step<'_>, run: RunId) {
    let Some(parts) = step.leaving().take_parts(run) else { return };
    // What it called goes with it, and leaves nothing; while that is being stopped, the node that called it stays.
    let by = crate::decide::itself();
    let mut busy = BTreeSet::new();
    for (called, at) in &parts.calls {
        match step.state().runs.get(*called).map(|live| &live.run) {
            Some(called) if called.live && called.deleting.is_none() => _ = busy.insert(at.clone()),
            Some(called) if !called.live => {
                let called = called.id;
                step.record_run(called, Record::RunDeleting { by: by.clone(), expired: true }, None);
            }
            _ => {}
        }
    }
    let mut left = false;
    for (owner, last) in parts.owners {
        match &owner {
            Owner::Node(at) if busy.contains(at) => left = true,
            _ => step.forget(owner, last),
        }
    }
    if left {
        let again = step.now().plus_ms(REST_MS);
        return step.leaving().goes_on(run, again);
    }
    if parts.is_all {
        let live = step.state().runs.get(run).expect("it is being deleted");
        let (workflow, last) = (live.run.spec.workflow.clone(), live.run.last);
        match *live.run.deleting.clone().expect("it is being deleted") {
            Deleting { expired: true, .. } => step.forget_run(run, last),
            Deleting { by, .. } => _ = step.record_run(run, Record::RunDeleted { workflow, by }, None),
        }
    }
}
