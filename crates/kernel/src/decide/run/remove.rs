//! Delete a run that has ended, with its frames, its nodes and their tasks: part by part, so that nobody waits for it; the
//! run itself goes last. What was asked for leaves one record; what grew old leaves none but the one that says so.

use super::found;
use crate::command::Reply;
use crate::ids::{RunId, TaskId};
use crate::names::Actor;
use crate::record::{Owner, Record};
use crate::rejection::Rejection;
use crate::run::{Deleting, NodeAt, RunStatus};
use crate::runs::Live;
use crate::step::{FollowUp, Step};
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
    Ok(Reply::Run { run, status })
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
    if !gone.is_empty() {
        let by = crate::decide::itself();
        step.record_shard(Record::RunsExpired { runs: gone.clone() });
        for run in &gone {
            step.record_run(*run, Record::RunDeleting { by: by.clone(), expired: true }, None);
        }
    }
    Reply::Items { changed: gone.len(), skipped: runs.len() - gone.len() }
}

/// The parts that were loaded go; when none is left, the run.
pub(in crate::decide) fn go_on(step: &mut Step<'_>) {
    let Some(run) = step.state().runs.deleting_due(step.now()) else { return };
    let Some(parts) = step.take_parts(run) else { return };
    let busy: BTreeSet<NodeAt> = {
        let state = step.state();
        let works = |task: &TaskId| state.task(*task).is_some_and(|task| !task.status().is_finished());
        let goes_on = |run: &RunId| state.runs.get(*run).is_some_and(|live| live.run.live && live.run.deleting.is_none());
        let tasks = parts.tasks.iter().filter(|(task, _)| works(task)).map(|(_, at)| at);
        let calls = parts.calls.iter().filter(|(run, _)| goes_on(run)).map(|(_, at)| at);
        tasks.chain(calls).cloned().collect()
    };
    let (mut gone, mut left) = (0, 0);
    for (owner, last) in &parts.owners {
        if let Owner::Node(at) = owner
            && busy.contains(at)
        {
            left += 1;
            continue;
        }
        step.forget(owner.clone(), *last);
        gone += 1;
    }
    for (task, at) in &parts.tasks {
        if !busy.contains(at) && !crate::defect("parts_left") {
            // Whoever waits for it would wait for ever.
            step.follow(FollowUp::Unblock { blocker: *task });
            step.forget_task(*task);
        }
    }
    // What it called goes with it, and leaves nothing.
    let by = crate::decide::itself();
    for (called, at) in &parts.calls {
        let rests = |live: &Live| !live.run.live;
        if !busy.contains(at) && step.state().runs.get(*called).is_some_and(rests) {
            step.record_run(*called, Record::RunDeleting { by: by.clone(), expired: true }, None);
        }
    }
    if gone == 0 && left > 0 {
        return step.rest(run, step.now().plus_ms(REST_MS));
    }
    if gone == 0 {
        let live = step.state().runs.get(run).expect("it is being deleted");
        let (workflow, last) = (live.run.spec.workflow.clone(), live.run.last);
        match *live.run.deleting.clone().expect("it is being deleted") {
            Deleting { expired: true, .. } => step.forget_run(run, last),
            Deleting { by, .. } => _ = step.record_run(run, Record::RunDeleted { workflow, by }, None),
        }
    }
}
