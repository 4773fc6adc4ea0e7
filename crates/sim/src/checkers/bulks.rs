//! A bulk counts what it did: the items of a chunk are the records that stand before it in its batch. Its cursor only
//! goes forward, and when it ends it has left nobody out who was there when it began.

use super::{Check, Scene, ensure};
use crate::model::{BulkModel, TaskModel};
use kernel::bulk::{BulkWork, TaskFilter};
use kernel::ids::BulkId;
use kernel::record::{CancelCause, Entry, Owner, Record};
use kernel::task::Status;

pub fn counted(scene: &Scene<'_>, entry: &Entry) -> Check {
    let Owner::Bulk(id) = entry.owner else { return Ok(()) };
    let (after, items) = match &entry.record {
        Record::BulkAdvanced { after, items, .. } => (Some(*after), *items),
        Record::BulkFinished { items, .. } => (None, *items),
        _ => return Ok(()),
    };
    let Some(bulk) = scene.model.bulks.get(&id) else { return Ok(()) };
    if let BulkWork::Clear { upto, .. }
    | BulkWork::Drain { upto, .. }
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
    let done = scene.turn.before().iter().filter(|entry| is_item(id, &bulk.work, &entry.record)).count();
    ensure(done == items as usize, || format!("{id} ({}) counts {items} items and did {done}", bulk.work.kind()))
}

fn is_item(id: BulkId, work: &BulkWork, record: &Record) -> bool {
    match (work, record) {
        (BulkWork::Clear { .. }, Record::TaskCancelled { cause, .. }) => *cause == CancelCause::Cleared,
        (BulkWork::Drain { .. }, Record::TaskExpedited { bulk }) => *bulk == id,
        (BulkWork::Reprioritize { priority: meant, .. }, Record::TaskReprioritized { priority, .. }) => priority == meant,
        (BulkWork::Redrive { .. }, Record::TaskQueued { bulk, .. }) => *bulk == Some(id),
        (BulkWork::Unblock { blocker: meant }, Record::TaskUnblocked { blocker }) => blocker == meant,
        _ => false,
    }
}

/// It was there when the bulk began, has not moved since, and should have been.
fn is_left(bulk: &BulkModel, task: &TaskModel) -> bool {
    let matches = |filter: &TaskFilter| {
        filter.kind.as_ref().is_none_or(|kind| *kind == task.kind)
            && filter.key.as_ref().is_none_or(|key| task.keys.contains(key))
            && filter.tag.as_ref().is_none_or(|tag| task.tags.contains(tag))
            && filter.error_code.as_ref().is_none_or(|code| task.failure.as_ref().is_some_and(|failure| failure.code == *code))
    };
    if task.moved_at >= bulk.started_at {
        return false;
    }
    match &bulk.work {
        BulkWork::Clear { queue, .. } => task.queue == *queue && task.status == Status::Queued,
        BulkWork::Drain { queue, .. } => task.queue == *queue && task.status == Status::Queued && !task.expedited,
        BulkWork::Reprioritize { queue, filter, priority, .. } => {
            task.queue == *queue && task.status == Status::Queued && matches(filter) && task.priority != *priority
        }
        BulkWork::Redrive { queue, filter, .. } => {
            task.queue == *queue && task.status == Status::Failed && task.node.is_none() && matches(filter)
        }
        BulkWork::Unblock { blocker } => {
            task.blocked_by.contains(blocker) && matches!(task.status, Status::Queued | Status::Idle)
        }
    }
}
