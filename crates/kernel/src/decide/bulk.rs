//! Bulks: work over many tasks, a chunk a batch. Each chunk and its cursor are one commit, so a crash half way ends
//! the same.

pub(super) mod runs;

use super::{reprioritize, requeue, unblock};
use crate::bulk::{Bulk, BulkStatus, BulkWork};
use crate::command::Reply;
use crate::ids::{BulkId, RunId, TaskId};
use crate::limits::{BULKS_OPEN_MAX, CHUNK_ITEMS_MAX};
use crate::names::{Actor, Pattern, QueueName};
use crate::record::{CancelCause, Record};
use crate::rejection::Rejection;
use crate::state::State;
use crate::step::Step;
use crate::task::Task;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Bound;

pub(super) fn start(step: &mut Step<'_>, work: &BulkWork, by: &Actor, reason: &str) -> Result<Reply, Rejection> {
    work.check()?;
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
        | BulkWork::Shed { upto, .. }
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
    match found.status() {
        BulkStatus::Open => {}
        // Whoever asks twice hears the same.
        BulkStatus::Cancelled => return Ok(Reply::Done),
        BulkStatus::Done => return Err(Rejection::BulkClosed { bulk }),
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
        BulkWork::Clear { queue, upto, .. }
        | BulkWork::Drain { queue, upto, .. }
        | BulkWork::Reprioritize { queue, upto, .. } => waiting(step.state(), queue, bulk.after(), *upto),
        BulkWork::Shed { families, upto, .. } => waiting_of(step.state(), families, bulk.after(), *upto),
        BulkWork::Redrive { queue, upto, .. } => dead(step.state(), queue, bulk.after(), *upto),
        BulkWork::Unblock { blocker } => unblock::some(step, *blocker, CHUNK_ITEMS_MAX),
        BulkWork::Runs { .. } => unreachable!("it does not go on by itself"),
    };
    if crate::defect("bulk_skips_one") && chunk.len() > 1 {
        chunk.remove(0);
    }
    let allowed = bulk.allowance();
    let (mut items, mut skipped, mut seen) = (0, 0, 0);
    while seen < chunk.len() && (items as usize) < allowed {
        match look(step.state(), bulk.work(), chunk[seen]) {
            Look::Changed => {
                change(step, &bulk, chunk[seen]);
                items += 1;
            }
            Look::Left => skipped += 1,
            Look::Foreign => {}
        }
        seen += 1;
    }
    chunk.truncate(seen);
    match chunk.last() {
        None => step.record_bulk(bulk.id(), Record::BulkFinished { items, skipped }),
        Some(after) => {
            let resume_at = bulk.rests_until(items, now);
            step.record_bulk(bulk.id(), Record::BulkAdvanced { after: *after, items, skipped, resume_at })
        }
    };
    Reply::Items { changed: items as usize, skipped: skipped as usize }
}

/// What a bulk makes of one that it has come to.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Look {
    Changed,
    Left,
    /// It stands among those that are meant, and is nothing to the bulk.
    Foreign,
}

fn look(state: &State, work: &BulkWork, task: TaskId) -> Look {
    let Some(found) = state.task(task) else { return Look::Foreign };
    let (card, route) = (found.card(), found.card().route());
    let changes = match work {
        BulkWork::Clear { filter, .. } => filter.matches(card),
        BulkWork::Shed { families, priority, .. } => {
            if !route.family().is_some_and(|family| families.iter().any(|pattern| pattern.covers(family))) {
                return Look::Foreign;
            }
            (!route.is_critical() || crate::defect("critical_shed")) && card.priority() <= *priority
        }
        BulkWork::Drain { filter, .. } => matches!(found, Task::Queued(queued) if !queued.is_expedited()) && filter.matches(card),
        BulkWork::Reprioritize { filter, priority, .. } => filter.matches(card) && reprioritize::moves(found, *priority),
        BulkWork::Redrive { filter, .. } => filter.matches(card) && card.node().is_none(),
        BulkWork::Unblock { .. } | BulkWork::Runs { .. } => true,
    };
    if changes { Look::Changed } else { Look::Left }
}

fn change(step: &mut Step<'_>, bulk: &Bulk, task: TaskId) {
    let cancelled = |cause: CancelCause, reason: &str| Record::TaskCancelled {
        cause,
        by: bulk.by().clone(),
        reason: reason.to_owned(),
        digest: None,
    };
    let record = match bulk.work() {
        BulkWork::Clear { reason, .. } => cancelled(CancelCause::Cleared, reason),
        BulkWork::Shed { reason, .. } => cancelled(CancelCause::Shed, reason),
        BulkWork::Drain { .. } => Record::TaskExpedited { bulk: bulk.id() },
        BulkWork::Reprioritize { priority, .. } => Record::TaskReprioritized { priority: *priority, by: bulk.by().clone() },
        BulkWork::Redrive { .. } => return requeue::queue_again(step, task, bulk.by(), Some(bulk.id())),
        BulkWork::Unblock { .. } | BulkWork::Runs { .. } => return,
    };
    step.record_task(task, record);
}

/// How many tasks that wait a bulk would change if it began now, of as many as are looked at, and whether that is not all. Of
/// dead letters, those that wait for another and runs nothing is known here.
pub fn would_change(state: &State, work: &BulkWork, looked_at_max: usize) -> (usize, bool) {
    if let BulkWork::Clear { queue, filter, .. } = work
        && filter.is_any()
    {
        return (state.backlog(queue), false);
    }
    let (mut after, mut seen, mut count) = (None, 0, 0);
    loop {
        let chunk = match work {
            BulkWork::Clear { queue, .. } | BulkWork::Drain { queue, .. } | BulkWork::Reprioritize { queue, .. } => {
                waiting(state, queue, after, TaskId::MAX)
            }
            BulkWork::Shed { families, .. } => waiting_of(state, families, after, TaskId::MAX),
            BulkWork::Redrive { .. } | BulkWork::Unblock { .. } | BulkWork::Runs { .. } => return (0, true),
        };
        if chunk.is_empty() || seen >= looked_at_max {
            return (count, !chunk.is_empty());
        }
        count += chunk.iter().filter(|task| look(state, work, **task) == Look::Changed).count();
        (after, seen) = (chunk.last().copied(), seen + chunk.len());
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

/// The next tasks in the queues in which something of these families waits, by their ids. Others wait there, too.
fn waiting_of(state: &State, families: &[Pattern], after: Option<TaskId>, upto: TaskId) -> Vec<TaskId> {
    if after.is_some_and(|after| after >= upto) {
        return Vec::new();
    }
    let lines = state.queues_of(families).into_iter().filter_map(|queue| state.lanes.line(&queue));
    let mut walks: Vec<_> = lines.map(|line| line.members.range(range(after, upto)).copied()).collect();
    let mut heads: BinaryHeap<Reverse<(TaskId, usize)>> =
        walks.iter_mut().enumerate().filter_map(|(at, walk)| Some(Reverse((walk.next()?, at)))).collect();
    let mut chunk = Vec::new();
    while chunk.len() < CHUNK_ITEMS_MAX
        && let Some(Reverse((task, at))) = heads.pop()
    {
        chunk.push(task);
        heads.extend(walks[at].next().map(|task| Reverse((task, at))));
    }
    chunk
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
