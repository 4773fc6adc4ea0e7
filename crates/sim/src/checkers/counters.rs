//! Nothing is lost in the counting: what was added is somewhere or was deleted, in all and in every queue.

use super::{Check, Scene, ensure};
use kernel::names::QueueName;
use kernel::row::TASKS;
use kernel::state::Depth;
use kernel::task::{Status, Task};
use std::collections::BTreeMap;

pub fn conserved(scene: &Scene<'_>) -> Check {
    let model = scene.model;
    ensure(model.added == model.deleted + model.tasks.len() as u64, || {
        format!("{} were added, {} deleted, {} are there", model.added, model.deleted, model.tasks.len())
    })?;
    if scene.thorough {
        durable(scene)?;
    }
    let Some(core) = scene.core else { return Ok(()) };
    let counts = core.state().counts();
    ensure((counts.queued, counts.running) == (model.queued.len(), model.running.len()), || {
        format!("{counts:?}, but {} are queued and {} running", model.queued.len(), model.running.len())
    })?;
    if model.is_lagging() || scene.turn.reloaded {
        return Ok(());
    }
    let mut lines: BTreeMap<QueueName, Depth> = BTreeMap::new();
    for id in &model.queued {
        let task = &model.tasks[id];
        let line = lines.entry(task.queue.clone()).or_default();
        line.queued += 1;
        line.held += usize::from(task.held);
        if task.held {
            continue;
        }
        line.blocked += usize::from(!task.run_now && !task.blocked_by.is_empty());
        line.scheduled += usize::from(!task.run_now && task.blocked_by.is_empty() && task.ready_at > scene.turn.now);
    }
    for (queue, held) in &model.held {
        if held.slots > 0 || held.overrides > 0 || held.in_runs > 0 {
            let line = lines.entry(queue.clone()).or_default();
            (line.running, line.overrides) = (held.slots as usize, held.overrides as usize);
            line.in_runs = held.in_runs as usize;
        }
    }
    for summary in core.state().queue_summaries() {
        let told = summary.depth;
        let counted = lines.remove(&summary.name).unwrap_or_default();
        ensure(told == counted, || format!("{} says {told:?}, but it is {counted:?}", summary.name))?;
    }
    ensure(lines.is_empty(), || format!("{lines:?} are not told of"))
}

/// By the rows on the disk, status by status.
fn durable(scene: &Scene<'_>) -> Check {
    let mut stored: BTreeMap<Status, usize> = BTreeMap::new();
    scene.disk.read(|durable| -> Check {
        for values in durable.rows(&TASKS) {
            let task = Task::from_row(values).map_err(|bad| bad.to_string())?;
            *stored.entry(task.status()).or_default() += 1;
        }
        Ok(())
    })?;
    let total: usize = stored.values().sum();
    ensure(scene.model.added == scene.model.deleted + total as u64, || {
        format!("{} were added and {} deleted, but the disk holds {stored:?}", scene.model.added, scene.model.deleted)
    })
}
