//! Acknowledged means durable: every add that was answered is there with its input until someone deletes it, and one
//! idempotency key makes one task within its window.

use super::{Check, Scene, ensure};
use kernel::ids::TaskId;
use kernel::record::{Entry, Owner, Record};
use kernel::row::{TASKS, Value};
use kernel::task::Task;

pub fn kept(scene: &Scene<'_>) -> Check {
    let check = |id: TaskId| {
        let Some(input) = scene.ledger.added.get(&id) else { return Ok(()) };
        let stored = scene.disk.read(|durable| {
            let task = durable.row(&TASKS, &[Value::Int(id.number())]).and_then(|values| Task::from_row(values).ok())?;
            let entry = durable.entries_after(kernel::ids::RecordSeq(task.card().input().0 - 1)).next();
            Some(entry.and_then(|entry| entry.payload.clone()))
        });
        let Some(stored) = stored else { return Err(format!("{id} was acknowledged and is gone")) };
        ensure(stored.as_ref() == Some(input), || format!("the input of {id} is {stored:?} instead of {input:?}"))
    };
    if scene.thorough {
        return scene.ledger.added.keys().try_for_each(|id| check(*id));
    }
    scene.turn.statuses.keys().try_for_each(|id| check(*id))
}

pub fn once(scene: &Scene<'_>, entry: &Entry) -> Check {
    let (Owner::Task(id), Record::TaskAdded { spec }) = (&entry.owner, &entry.record) else { return Ok(()) };
    // What events make has windows of its own.
    let Some(key) = spec.idempotency_key.as_ref().filter(|_| spec.trigger.is_none()) else { return Ok(()) };
    let window_ms = scene.model.config(&spec.queue).idempotency_window_ms;
    let made = scene.model.by_idempotency_key.get(&(spec.queue.clone(), key.clone()));
    made.into_iter().flatten().try_for_each(|earlier| {
        let made_at = scene.model.tasks[earlier].created_at;
        ensure(made_at.plus_ms(window_ms) <= entry.at, || {
            format!("{id} was made by key {key}, which had made {earlier} at {made_at:?}, within {window_ms} ms")
        })
    })
}
