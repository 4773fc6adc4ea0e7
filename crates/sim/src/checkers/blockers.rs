//! Who is done unblocks those who wait for it: nobody who waits names a task that is done or gone. Who is deleted hands
//! its own blockers on.

use super::{Check, Scene, ensure};
use crate::model::{Model, TaskModel};
use kernel::bulk::BulkWork;
use kernel::ids::TaskId;
use kernel::record::{Entry, Owner, Record};
use kernel::task::Status;
use std::collections::BTreeSet;

pub fn current(scene: &Scene<'_>) -> Check {
    let model = scene.model;
    let telling = |id: TaskId| is_telling(model, id);
    let check = |task: &TaskModel| {
        task.blocked_by.iter().try_for_each(|blocker| {
            let fate = model.task(*blocker).map(|task| task.status);
            let waits = fate.is_some_and(|status| status != Status::Done);
            ensure(waits || telling(*blocker), || format!("{} waits for {blocker}, which is {fate:?}", task.id))
        })
    };
    model.queued.iter().map(|id| &model.tasks[id]).try_for_each(check)?;
    if scene.thorough {
        model.tasks.values().filter(|task| task.status == Status::Idle).try_for_each(check)?;
    }
    Ok(())
}

/// Very many are told chunk by chunk.
fn is_telling(model: &Model, blocker: TaskId) -> bool {
    model.bulks.values().any(|bulk| bulk.open && bulk.work == BulkWork::Unblock { blocker })
}

/// Only what is done or gone lets go.
pub fn let_go(scene: &Scene<'_>, entry: &Entry) -> Check {
    let Record::TaskUnblocked { blocker } = &entry.record else { return Ok(()) };
    let fate = scene.model.task(*blocker).map(|task| task.status);
    let run = scene.model.task(*blocker).and_then(|task| task.node.as_ref()).and_then(|at| scene.model.runs.runs.get(&at.run));
    let over = fate.is_none_or(|status| status == Status::Done) || run.is_some_and(|run| run.deleting);
    ensure(over, || format!("{} was let go by {blocker}, which is {fate:?}", entry.owner))
}

pub fn handed_on(scene: &Scene<'_>, entry: &Entry) -> Check {
    let (Owner::Task(id), Record::TaskBlockersChanged { blocked_by, deleted }) = (&entry.owner, &entry.record) else {
        return Ok(());
    };
    let model = scene.model;
    let (Some(task), Some(gone)) = (model.task(*id), model.task(*deleted)) else {
        return Err(format!("{id} inherits from {deleted}, which does not exist"));
    };
    let still = |blocker: &&TaskId| model.task(**blocker).is_some_and(|task| task.status != Status::Done);
    let inherited = gone.blocked_by.iter().filter(|blocker| gone.status != Status::Cancelled || still(blocker));
    let expected = task.blocked_by.iter().filter(|blocker| *blocker != deleted).chain(inherited);
    let (expected, told): (BTreeSet<TaskId>, BTreeSet<TaskId>) =
        (expected.copied().collect(), blocked_by.iter().copied().collect());
    ensure(told == expected, || format!("{id} waits for {told:?} instead of {expected:?} after {deleted} was deleted"))
}
