//! Records follow one another, and tasks move only along the table of the design, written down here once more.

use super::{Check, Scene, ensure};
use kernel::record::{Entry, Owner, Record};
use kernel::task::Status::{self, *};

/// From the design: what a status may become.
const MAY_BECOME: [(Status, &[Status]); 6] = [
    (Idle, &[Queued, Running]),
    (Queued, &[Running, Cancelled, Idle]),
    (Running, &[Done, Failed, Cancelled, Queued]),
    (Done, &[Idle]),
    (Failed, &[Idle, Queued]),
    (Cancelled, &[Idle, Queued]),
];

pub fn follows(scene: &Scene<'_>, entry: &Entry) -> Check {
    let model = scene.model;
    ensure(entry.seq > model.last, || format!("record {} comes after {}", entry.seq.0, model.last.0))?;
    ensure(entry.at == scene.turn.now, || format!("record {} is of {:?}, not of its tick", entry.seq.0, entry.at))?;
    ensure(entry.at >= model.at, || format!("record {} is of {:?}, before {:?}", entry.seq.0, entry.at, model.at))?;
    let last = model.last_of(&entry.owner);
    ensure(entry.prev == last, || {
        format!("record {} of {} follows {}, but the one before it is {}", entry.seq.0, entry.owner, entry.prev.0, last.0)
    })
}

pub fn transition(scene: &Scene<'_>, entry: &Entry) -> Check {
    let Owner::Task(id) = entry.owner else { return Ok(()) };
    let from = scene.model.task(id).map(|task| task.status);
    let to = match &entry.record {
        Record::TaskAdded { .. } => return ensure(from.is_none(), || format!("{id} was added twice")),
        Record::TaskDeleted { .. } => {
            return ensure(from.is_some_and(|from| from != Running), || format!("{id} was deleted while {from:?}"));
        }
        Record::TaskQueued { .. } | Record::TaskReleased { .. } | Record::TaskRetried { .. } => Queued,
        Record::TaskLeased { .. } => Running,
        Record::TaskDone { .. } => Done,
        Record::TaskFailed { .. } => Failed,
        Record::TaskCancelled { .. } => Cancelled,
        Record::TaskReset { .. } => Idle,
        same => {
            let within: &[Status] = match same {
                Record::TaskRunNow { .. } | Record::TaskExpedited { .. } => &[Queued],
                Record::TaskDebounced { .. } | Record::TaskBatched { .. } => &[Queued],
                Record::TaskHandedOver { .. } => &[Running],
                Record::TaskHeld { .. } | Record::TaskLetGo { .. } => &[Queued, Running],
                Record::TaskCancelRequested { .. } | Record::TaskTimedOut {} => &[Running],
                _ => &[Idle, Queued],
            };
            return ensure(from.is_some_and(|from| within.contains(&from)), || format!("{} of {id} while {from:?}", same.kind()));
        }
    };
    let legal = from.is_some_and(|from| MAY_BECOME.iter().any(|(status, next)| *status == from && next.contains(&to)));
    // The same two statuses may be joined by one record only.
    let fits = match &entry.record {
        Record::TaskReleased { .. } | Record::TaskRetried { .. } => from == Some(Running),
        Record::TaskQueued { .. } => from != Some(Running),
        Record::TaskLeased { run_now, .. } => from == Some(Queued) || *run_now,
        _ => true,
    };
    ensure(legal && fits, || format!("{id} went from {from:?} to {to:?} by {}", entry.record.kind()))
}
