//! A bulk counts what it did: the items of a chunk are the records that stand before it in its batch, and its cursor
//! only goes forward.

use super::{Check, Scene, ensure};
use kernel::bulk::BulkWork;
use kernel::ids::BulkId;
use kernel::record::{CancelCause, Entry, Owner, Record};

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
