//! Bulks: work over many tasks, a chunk a batch. Each chunk and its cursor are one commit, so a crash half way ends
//! the same.

pub(super) mod runs;

use super::{reprioritize, requeue, unblock};
use crate::bulk::{Bulk, BulkStatus, BulkWork, RunVerb};
use crate::command::Reply;
use crate::ids::{BulkId, RunId, TaskId};
use crate::limits::{BULK_FILTER_BYTES_MAX, BULK_PATCH_BYTES_MAX, BULKS_OPEN_MAX, CHUNK_ITEMS_MAX};
use crate::names::{Actor, QueueName};
use crate::record::{CancelCause, Record};
use crate::rejection::Rejection;
use crate::state::State;
use crate::step::Step;
use crate::task::Task;
use std::ops::Bound;

pub(super) fn start(step: &mut Step<'_>, work: &BulkWork, by: &Actor, reason: &str) -> Result<Reply, Rejection> {
    match work {
        BulkWork::Redrive { per_s: Some(0), .. } => {
            return Err(Rejection::Invalid { why: "a redrive at 0 a second would never end".into() });
        }
        BulkWork::Runs { per_s: Some(0), .. } => {
            return Err(Rejection::Invalid { why: "0 runs a second would never end".into() });
        }
        BulkWork::Runs { filter, .. } if filter.len() > BULK_FILTER_BYTES_MAX => {
            let why = format!("the filter has {} bytes; there may be {BULK_FILTER_BYTES_MAX}", filter.len());
            return Err(Rejection::Invalid { why });
        }
        BulkWork::Runs { verb: RunVerb::Patch { change }, .. } if change.len() > BULK_PATCH_BYTES_MAX => {
            let why = format!("the patch has {} bytes; one of many runs may have {BULK_PATCH_BYTES_MAX}", change.len());
            return Err(Rejection::Invalid { why });
        }
        BulkWork::Unblock { .. } => {
            return Err(Rejection::Invalid { why: "only a task that is done unblocks those that wait for it".into() });
        }
        _ => {}
    }
    if step.state().bulks_open().count() >= BULKS_OPEN_MAX {
        return Err(Rejection::BulksTaken { max: BULKS_OPEN_MAX });
    }
    Ok(Reply::Bulk(open(step, work.clone(), by, reason)))
}

/// What is added after this instant is not meant: the bulk ends at the newest id there is.
pub(super) fn open(step: &mut Step<'_>, mut work: BulkWork, by: &Actor, reason: &str) -> BulkId {
    let id = step.new_bulk();
    match &mut work {
        BulkWork::Clear { upto, .. }
        | BulkWork::Drain { upto, .. }
        | BulkWork::Reprioritize { upto, .. }
        | BulkWork::Redrive { upto, .. } => *upto = TaskId::new(id.sequence(), id.shard()),
        BulkWork::Runs { upto, .. } => *upto = RunId::new(id.sequence(), id.shard()),
        BulkWork::Unblock { .. } => {}
    }
    step.record_bulk(id, Record::BulkStarted { work: Box::new(work), by: by.clone(), reason: reason.to_owned() });
    id
}

pub(super) fn cancel(step: &mut Step<'_>, bulk: BulkId, by: &Actor) -> Result<Reply, Rejection> {
    let found = step.state().bulk(bulk).ok_or(Rejection::BulkNotFound { bulk })?;
    if found.status() != BulkStatus::Open {
        return Err(Rejection::BulkClosed { bulk });
    }
    if let BulkWork::Unblock { blocker } = found.work() {
        let why = format!("{bulk} tells those that wait for {blocker}; without it they would wait for ever");
        return Err(Rejection::Invalid { why });
    }
    step.record_bulk(bulk, Record::BulkCancelled { by: by.clone() });
    Ok(Reply::Done)
}

/// One chunk of the bulk whose turn it is.
pub(super) fn proceed(step: &mut Step<'_>) -> Reply {
    let now = step.now();
    let Some(bulk) = step.state().bulk_due(now).cloned() else { return Reply::Done };
    let mut chunk: Vec<TaskId> = match bulk.work() {
        BulkWork::Clear { queue, upto, .. } | BulkWork::Drain { queue, upto } | BulkWork::Reprioritize { queue, upto, .. } => {
            waiting(step.state(), queue, bulk.after(), *upto)
        }
        BulkWork::Redrive { queue, upto, .. } => dead(step.state(), queue, bulk.after(), *upto),
        BulkWork::Unblock { blocker } => unblock::some(step, *blocker, CHUNK_ITEMS_MAX),
        BulkWork::Runs { .. } => unreachable!("it does not go on by itself"),
    };
    if crate::defect("bulk_skips_one") && chunk.len() > 1 {
        chunk.remove(0);
    }
    let allowed = bulk.allowance();
    let (mut items, mut seen) = (0, 0);
    while seen < chunk.len() && (items as usize) < allowed {
        items += u32::from(one(step, &bulk, chunk[seen]));
        seen += 1;
    }
    chunk.truncate(seen);
    let skipped = chunk.len() as u32 - items;
    match chunk.last() {
        None => step.record_bulk(bulk.id(), Record::BulkFinished { items, skipped }),
        Some(after) => {
            let resume_at = bulk.rests_until(items, now);
            step.record_bulk(bulk.id(), Record::BulkAdvanced { after: *after, items, skipped, resume_at })
        }
    };
    Reply::Items { changed: items as usize, skipped: skipped as usize }
}

fn one(step: &mut Step<'_>, bulk: &Bulk, task: TaskId) -> bool {
    match bulk.work() {
        BulkWork::Clear { reason, .. } => {
            let (by, reason) = (bulk.by().clone(), reason.clone());
            step.record_task(task, Record::TaskCancelled { cause: CancelCause::Cleared, by, reason, digest: None });
            true
        }
        BulkWork::Drain { .. } => {
            let fresh = matches!(step.state().task(task), Some(Task::Queued(queued)) if !queued.is_expedited());
            if fresh {
                step.record_task(task, Record::TaskExpedited { bulk: bulk.id() });
            }
            fresh
        }
        BulkWork::Reprioritize { filter, priority, .. } => {
            let meant = step.state().task(task).is_some_and(|task| filter.matches(task.card()));
            meant && reprioritize::one(step, task, *priority, bulk.by())
        }
        BulkWork::Redrive { filter, .. } => {
            let dead = |task: &Task| filter.matches(task.card()) && task.card().node().is_none();
            let meant = step.state().task(task).is_some_and(dead);
            if meant {
                requeue::queue_again(step, task, bulk.by(), Some(bulk.id()));
            }
            meant
        }
        BulkWork::Unblock { .. } | BulkWork::Runs { .. } => true,
    }
}

fn range(after: Option<TaskId>, upto: TaskId) -> (Bound<TaskId>, Bound<TaskId>) {
    (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Included(upto))
}

fn waiting(state: &State, queue: &QueueName, after: Option<TaskId>, upto: TaskId) -> Vec<TaskId> {
    if after.is_some_and(|after| after >= upto) {
        return Vec::new();
    }
    let members = state.lanes.line(queue).map(|line| &line.members);
    members.into_iter().flat_map(|members| members.range(range(after, upto))).take(CHUNK_ITEMS_MAX).copied().collect()
}

/// The dead letters that were loaded for this command, oldest first.
fn dead(state: &State, queue: &QueueName, after: Option<TaskId>, upto: TaskId) -> Vec<TaskId> {
    let of_queue = |task: &&Task| matches!(task, Task::Failed(_)) && task.card().route().queue() == queue;
    let within = |id: &TaskId| after.is_none_or(|after| *id > after) && *id <= upto;
    let mut dead: Vec<TaskId> = state.cooling().filter(of_queue).map(|task| task.card().id()).filter(within).collect();
    dead.sort_unstable();
    dead.dedup();
    dead.truncate(CHUNK_ITEMS_MAX);
    dead
}

#[cfg(test)]
mod tests;
