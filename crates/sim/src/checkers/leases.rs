//! A lease begins: for someone who asked, on a task that nobody holds, with a fence above every earlier one. And when it
//! is to end, a worker that waits is told at once.

use super::{Check, Scene, ensure};
use engine::Answer;
use kernel::command::Command;
use kernel::record::{Entry, Owner, Record};

pub fn granted(scene: &Scene<'_>, entry: &Entry) -> Check {
    let (Owner::Task(id), Record::TaskLeased { worker, attempt, heartbeat_ms, budget_until, run_now }) =
        (&entry.owner, &entry.record)
    else {
        return Ok(());
    };
    let Some(task) = scene.model.task(*id) else { return Err(format!("{id} was leased and does not exist")) };
    ensure(task.lease.is_none(), || format!("{id} was leased to {worker} while {:?} holds it", task.lease))?;
    ensure(entry.seq > task.fence, || format!("the fence of {id} went from {} to {}", task.fence.0, entry.seq.0))?;
    ensure(!scene.turn.stopping, || format!("{id} was leased while stopping"))?;
    ensure(*attempt == task.attempt + 1, || format!("attempt {attempt} of {id} follows {}", task.attempt))?;
    let asked = scene
        .presence
        .asked(scene.turn, worker)
        .any(|(types, queues)| types.contains(&task.kind) && (queues.is_empty() || queues.contains(&task.queue)));
    ensure(asked, || format!("{id} was leased to {worker}, who did not ask for it"))?;
    let config = scene.model.config(&task.queue);
    let budget_ms = task.budget_ms.unwrap_or(config.budget_ms);
    ensure(*heartbeat_ms == config.heartbeat_ms && *budget_until == entry.at.plus_ms(budget_ms), || {
        format!("the lease of {id} has another heartbeat or budget than it should")
    })?;
    let started = || scene.turn.commands().any(|command| matches!(command, Command::Start { task, .. } if task == id));
    ensure(*run_now == task.run_now || started(), || format!("{id} was run now, and nobody had started it"))
}

/// A worker that waits for more while it holds what is to stop is answered in the same tick.
pub fn told_to_stop(scene: &Scene<'_>) -> Check {
    for (id, fence) in scene.turn.to_stop.iter().filter(|_| !scene.turn.reloaded) {
        let told = scene.turn.answers.iter().any(|(_, answer)| {
            matches!(answer, Answer::Worked(worked) if worked.holding.iter().any(|held| held.task == *id && held.cancel))
        });
        let waits = scene.presence.polls.values().find(|poll| poll.holding.contains(&(*id, *fence))).filter(|_| !told);
        ensure(waits.is_none(), || format!("{id} is to stop, and {waits:?} waits without knowing"))?;
    }
    Ok(())
}
