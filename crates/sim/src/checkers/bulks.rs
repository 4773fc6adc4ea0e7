//! A bulk counts what it did: the items of a chunk are the records that stand before it in its batch. Its cursor only
//! goes forward, and when it ends it has left nobody out who was there when it began.

use super::{Check, Scene, ensure};
use crate::driver::means;
use crate::model::runs::RunModel;
use crate::model::{BulkModel, TaskModel};
use kernel::bulk::{BulkWork, RunVerb, TaskFilter};
use kernel::ids::{BulkId, RunId};
use kernel::names::Pattern;
use kernel::priority::Priority;
use kernel::record::{CancelCause, Entry, Owner, Record};
use kernel::run::RunStatus;
use kernel::task::Status;

pub fn counted(scene: &Scene<'_>, entry: &Entry) -> Check {
    let Owner::Bulk(id) = entry.owner else { return Ok(()) };
    if scene.model.bulks.get(&id).is_some_and(|bulk| bulk.work.is_over_runs()) {
        return counted_runs(scene, id, entry);
    }
    let (after, items) = match &entry.record {
        Record::BulkAdvanced { after, items, .. } => (Some(*after), *items),
        Record::BulkFinished { items, .. } => (None, *items),
        _ => return Ok(()),
    };
    let Some(bulk) = scene.model.bulks.get(&id) else { return Ok(()) };
    if let BulkWork::Clear { upto, .. }
    | BulkWork::Drain { upto, .. }
    | BulkWork::Shed { upto, .. }
    | BulkWork::Reprioritize { upto, .. }
    | BulkWork::Redrive { upto, .. } = &bulk.work
    {
        let forward = after.is_none_or(|after| bulk.after.is_none_or(|before| after > before) && after <= *upto);
        ensure(forward, || format!("the cursor of {id} went from {:?} to {after:?}", bulk.after))?;
    }
    let rests = bulk.resume_at.is_none_or(|at| at <= entry.at);
    ensure(rests, || format!("{id} went on at {:?}, before {:?}", entry.at, bulk.resume_at))?;
    if after.is_none() {
        let left = scene.model.tasks.values().find(|task| is_left(bulk, task));
        ensure(left.is_none(), || format!("{id} ({}) ended and left {:?}", bulk.work.kind(), left.map(|task| task.id)))?;
    }
    let done: Vec<&Entry> = scene.turn.before().iter().filter(|entry| is_item(id, bulk, &entry.record)).collect();
    let wrong = done.iter().find(|entry| !is_meant(scene, bulk, entry));
    ensure(wrong.is_none(), || format!("{id} ({}) did not mean {:?}", bulk.work.kind(), wrong.map(|entry| &entry.owner)))?;
    let done = done.len();
    ensure(done == items as usize, || format!("{id} ({}) counts {items} items and did {done}", bulk.work.kind()))
}

fn is_item(id: BulkId, bulk: &BulkModel, record: &Record) -> bool {
    match (&bulk.work, record) {
        (BulkWork::Clear { .. }, Record::TaskCancelled { cause, .. }) => *cause == CancelCause::Cleared,
        // What events shed to make room has another name on it.
        (BulkWork::Shed { .. }, Record::TaskCancelled { cause, by, .. }) => *cause == CancelCause::Shed && *by == bulk.by,
        (BulkWork::Drain { .. }, Record::TaskExpedited { bulk }) => *bulk == id,
        (BulkWork::Reprioritize { priority: meant, .. }, Record::TaskReprioritized { priority, .. }) => priority == meant,
        (BulkWork::Redrive { .. }, Record::TaskQueued { bulk, .. }) => *bulk == Some(id),
        (BulkWork::Unblock { blocker: meant }, Record::TaskUnblocked { blocker }) => blocker == meant,
        _ => false,
    }
}

fn matches(filter: &TaskFilter, task: &TaskModel) -> bool {
    filter.kind.as_ref().is_none_or(|kind| *kind == task.kind)
        && filter.key.as_ref().is_none_or(|key| task.keys.contains(key))
        && filter.tag.as_ref().is_none_or(|tag| task.tags.contains(tag))
        && filter.error_code.as_ref().is_none_or(|code| task.failure.as_ref().is_some_and(|failure| failure.code == *code))
        && filter.family.as_ref().is_none_or(|pattern| is_of(pattern, task))
}

fn is_of(pattern: &Pattern, task: &TaskModel) -> bool {
    task.family.as_ref().is_some_and(|family| pattern.covers(family))
}

fn is_shed(families: &[Pattern], priority: Priority, task: &TaskModel) -> bool {
    let critical = task.trigger.as_ref().is_some_and(|trigger| trigger.critical);
    families.iter().any(|pattern| is_of(pattern, task)) && task.priority <= priority && !critical
}

/// The task is one of those that the bulk was told to change. What failed is no longer told of one that was queued again.
fn is_meant(scene: &Scene<'_>, bulk: &BulkModel, entry: &Entry) -> bool {
    let Owner::Task(id) = entry.owner else { return false };
    let Some(task) = scene.model.task(id) else { return false };
    match &bulk.work {
        BulkWork::Clear { queue, filter, .. }
        | BulkWork::Drain { queue, filter, .. }
        | BulkWork::Reprioritize { queue, filter, .. } => task.queue == *queue && matches(filter, task),
        BulkWork::Redrive { queue, filter, .. } => {
            task.queue == *queue && matches(&TaskFilter { error_code: None, ..filter.clone() }, task)
        }
        BulkWork::Shed { families, priority, .. } => is_shed(families, *priority, task),
        BulkWork::Unblock { .. } | BulkWork::Runs { .. } => true,
    }
}

/// It was there when the bulk began, has not moved since, and should have been.
fn is_left(bulk: &BulkModel, task: &TaskModel) -> bool {
    let matches = |filter: &TaskFilter| matches(filter, task);
    if task.moved_at >= bulk.started_at {
        return false;
    }
    match &bulk.work {
        BulkWork::Clear { queue, filter, .. } => task.queue == *queue && task.status == Status::Queued && matches(filter),
        BulkWork::Drain { queue, filter, .. } => {
            task.queue == *queue && task.status == Status::Queued && !task.expedited && matches(filter)
        }
        BulkWork::Shed { families, priority, .. } => task.status == Status::Queued && is_shed(families, *priority, task),
        BulkWork::Reprioritize { queue, filter, priority, .. } => {
            task.queue == *queue && task.status == Status::Queued && matches(filter) && task.priority != *priority
        }
        BulkWork::Redrive { queue, filter, .. } => {
            task.queue == *queue && task.status == Status::Failed && task.node.is_none() && matches(filter)
        }
        BulkWork::Unblock { blocker } => {
            task.blocked_by.contains(blocker) && matches!(task.status, Status::Queued | Status::Idle)
        }
        BulkWork::Runs { .. } => false,
    }
}

/// The same of one over runs: what it changed since it last said so, and who was left out when it ends.
fn counted_runs(scene: &Scene<'_>, id: BulkId, entry: &Entry) -> Check {
    let bulk = &scene.model.bulks[&id];
    let BulkWork::Runs { verb, upto, filter, .. } = &bulk.work else { return Ok(()) };
    match &entry.record {
        Record::BulkRunsAdvanced { after, items, .. } => {
            let forward = bulk.after_run.is_none_or(|before| *after > before) && after <= upto;
            ensure(forward, || format!("the cursor of {id} went from {:?} to {after:?}", bulk.after_run))?;
            let rests = bulk.resume_at.is_none_or(|at| at <= entry.at);
            ensure(rests, || format!("{id} went on at {:?}, before {:?}", entry.at, bulk.resume_at))?;
            let since = scene.turn.before().iter().rev().take_while(|entry| entry.owner != Owner::Bulk(id));
            let done = since.filter(|entry| is_changed_run(scene, bulk, verb, entry)).count();
            ensure(done == *items as usize, || format!("{id} ({}) counts {items} runs and changed {done}", bulk.work.kind()))
        }
        Record::BulkFinished { .. } => {
            let moved = |run: &RunModel| run.last > bulk.first;
            let left = scene.model.runs.runs.iter().find(|(run, known)| {
                **run <= *upto && !moved(known) && known.parent.is_none() && may(verb, known) && means(filter, known)
            });
            ensure(left.is_none(), || format!("{id} ({}) ended and left {:?}", bulk.work.kind(), left.map(|(run, _)| run)))
        }
        _ => Ok(()),
    }
}

/// What a bulk did to a run it means has its name on it, as each has one of its own here. Called runs go with their callers.
fn is_changed_run(scene: &Scene<'_>, bulk: &BulkModel, verb: &RunVerb, entry: &Entry) -> bool {
    let Owner::Run(run) = entry.owner else { return false };
    let by = match (verb, &entry.record) {
        (RunVerb::Cancel, Record::RunCancelled { by, .. }) => by,
        (RunVerb::Retry, Record::RunReopened { by, .. }) => by,
        (RunVerb::Pause, Record::RunPaused { by, .. }) => by,
        (RunVerb::Resume, Record::RunResumed { by, .. }) => by,
        (RunVerb::Restart { .. }, Record::RunRestarted { by, .. }) => by,
        (RunVerb::Patch { .. }, Record::RunPatched { by, .. }) => by,
        _ => return false,
    };
    *by == bulk.by && is_own(scene, run)
}

fn is_own(scene: &Scene<'_>, run: RunId) -> bool {
    scene.model.runs.runs.get(&run).is_some_and(|run| run.parent.is_none())
}

/// It would have been changed; of a retry, a restart and a patch that is not known.
fn may(verb: &RunVerb, run: &RunModel) -> bool {
    let running = run.status == RunStatus::Running;
    match verb {
        RunVerb::Cancel => running,
        RunVerb::Pause => running && !run.own_pause,
        RunVerb::Resume => running && run.own_pause,
        RunVerb::Retry | RunVerb::Restart { .. } | RunVerb::Patch { .. } => false,
    }
}
