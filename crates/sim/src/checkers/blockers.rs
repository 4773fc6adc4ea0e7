//! Who is done unblocks those who wait for it: nobody who waits names a task that is done or gone.

use super::{Check, Scene, ensure};
use crate::model::TaskModel;
use kernel::bulk::BulkWork;
use kernel::ids::TaskId;
use kernel::task::Status;

pub fn current(scene: &Scene<'_>) -> Check {
    let model = scene.model;
    // Very many are told chunk by chunk.
    let telling = |id: TaskId| {
        let open = model.bulks.values().filter(|bulk| bulk.open);
        open.into_iter().any(|bulk| bulk.work == BulkWork::Unblock { blocker: id })
    };
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
