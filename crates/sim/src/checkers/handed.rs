//! Tasks whose work is a run: held until that ends, ended as it ended, and once. And what events make is kept in order: one
//! of a singleton at a time, nothing too late, and a window's events all in what is delivered.

use super::{Check, Scene, ensure};
use kernel::ids::TaskId;
use kernel::lease::Ending;
use kernel::record::{Entry, Owner, Record};
use kernel::run::RunStatus;
use kernel::task::Status;

/// It is the run's that was started for it in the same breath.
pub fn over(scene: &Scene<'_>, entry: &Entry) -> Check {
    let (Owner::Task(id), Record::TaskHandedOver { run }) = (&entry.owner, &entry.record) else { return Ok(()) };
    let known = scene.model.runs.runs.get(run);
    let fits = known.is_some_and(|known| known.task == Some(*id) && known.started_at == entry.at);
    ensure(fits, || format!("{id} was handed over to {run}, which is {known:?}"))?;
    let lease = scene.model.task(*id).and_then(|task| task.lease.as_ref());
    ensure(lease.is_some_and(|lease| lease.run.is_none() && lease.ending.is_none()), || {
        format!("{id} was handed over from {lease:?}")
    })
}

/// Whether the run that holds a task has ended so, in this tick, that this record of the task follows.
pub fn ended_so(scene: &Scene<'_>, task: TaskId, entry: &Entry) -> bool {
    let Some(lease) = scene.model.task(task).and_then(|task| task.lease.as_ref()) else { return false };
    let Some(run) = lease.run else { return false };
    let Some(how) = scene.turn.before().iter().rev().find(|entry| entry.owner == Owner::Run(run) && is_end(&entry.record)) else {
        return false;
    };
    let unwanted = matches!(lease.ending, Some(Ending::Cancel { .. }));
    match (&entry.record, &how.record) {
        (Record::TaskCancelled { .. }, Record::RunCancelled { .. }) => true,
        (Record::TaskCancelled { .. }, _) => unwanted,
        (Record::TaskDone { .. }, Record::RunDone { .. }) => !unwanted,
        (Record::TaskFailed { failure, .. } | Record::TaskRetried { failure, .. }, Record::RunFailed { failure: of_run, .. }) => {
            !unwanted && failure == of_run
        }
        _ => false,
    }
}

fn is_end(record: &Record) -> bool {
    matches!(record, Record::RunDone { .. } | Record::RunFailed { .. } | Record::RunCancelled { .. })
}

/// A task is held by a run exactly as long as that goes on.
pub fn held(scene: &Scene<'_>) -> Check {
    let (model, runs) = (scene.model, &scene.model.runs.runs);
    for id in &model.running {
        let Some(run) = model.tasks[id].lease.as_ref().and_then(|lease| lease.run) else { continue };
        let known = runs.get(&run);
        let goes_on = known.is_some_and(|known| known.status == RunStatus::Running && known.task == Some(*id));
        ensure(goes_on, || format!("{id} is held by {run}, which is {:?}", known.map(|known| known.status)))?;
        let unwanted =
            matches!(model.tasks[id].lease.as_ref().and_then(|lease| lease.ending.as_ref()), Some(Ending::Cancel { .. }));
        ensure(!unwanted, || format!("{id} is not wanted any more, and {run} goes on"))?;
    }
    Ok(())
}

/// Of a singleton's key one is leased at a time, but for what somebody started by hand.
pub fn alone(scene: &Scene<'_>, entry: &Entry) -> Check {
    let (Owner::Task(id), Record::TaskLeased { run_now: false, .. }) = (&entry.owner, &entry.record) else { return Ok(()) };
    let single = |id: &TaskId| scene.model.tasks[id].trigger.as_ref().and_then(|trigger| trigger.single.as_ref());
    let Some(mine) = scene.model.task(*id).and_then(|_| single(id)) else { return Ok(()) };
    let by_hand = |id: &TaskId| scene.model.tasks[id].run_now;
    let other = scene.model.running.iter().find(|other| single(other) == Some(mine) && !by_hand(other));
    ensure(other.is_none(), || format!("{id} was leased while {other:?} runs, and there may be one of {mine:?}"))
}

/// Nothing starts after its hour, and only what did not start is cancelled for it.
pub fn in_time(scene: &Scene<'_>, entry: &Entry) -> Check {
    let Owner::Task(id) = &entry.owner else { return Ok(()) };
    let Some(task) = scene.model.task(*id) else { return Ok(()) };
    match &entry.record {
        Record::TaskLeased { .. } if task.status == Status::Queued => {
            let late = task.start_by.filter(|start_by| *start_by <= entry.at);
            ensure(late.is_none(), || format!("{id} was leased after {late:?}"))
        }
        _ => Ok(()),
    }
}
