//! A node that works has a task that is under way, one that calls has a run, and nobody works for a node that does not
//! wait for it. When a run is deleted nothing of it is left.

use super::{Check, Scene, ensure};
use crate::model::runs::NodeState;
use kernel::ids::TaskId;
use kernel::lease::Ending;
use kernel::node::Started;
use kernel::row::{FRAMES, NODES, TASKS, Value};
use kernel::run::{NodeAt, RunStatus};
use kernel::task::{Status, Task};

pub fn agree(scene: &Scene<'_>) -> Check {
    let (model, runs) = (scene.model, &scene.model.runs);
    let waits = |task: TaskId, at: &NodeAt| {
        // One that has ended stops what is under way in it chunk by chunk, until it is closed.
        let open = runs.runs.get(&at.run).is_some_and(|run| run.live && !run.deleting);
        open && *runs.node(at) == NodeState::Started(Started::Working { task })
    };
    for id in &model.queued {
        if let Some(at) = &model.tasks[id].node {
            ensure(waits(*id, at), || format!("{id} is queued, but {} is {:?}", at.show(), runs.node(at)))?;
        }
    }
    for id in &model.running {
        let (task, lease) = (&model.tasks[id], model.tasks[id].lease.as_ref());
        if let Some(at) = &task.node {
            let stopping = lease.is_some_and(|lease| matches!(lease.ending, Some(Ending::Cancel { .. })));
            ensure(stopping || waits(*id, at), || format!("{id} runs on, but {} is {:?}", at.show(), runs.node(at)))?;
        }
    }
    for (id, _) in runs.running() {
        for (at, node) in runs.nodes_of(id) {
            // What is undone is stopped in one of the next batches, and its work may end before that.
            if runs.is_undone(id, &at.frame) {
                continue;
            }
            match &node.state {
                NodeState::Started(Started::Working { task }) => {
                    let status = model.task(*task).map(|task| task.status);
                    let under_way = matches!(status, Some(Status::Queued | Status::Running));
                    ensure(under_way, || format!("{} waits for {task}, which is {status:?}", at.show()))?;
                }
                NodeState::Started(Started::Calling { run, again }) => {
                    let called = runs.runs.get(run);
                    let status = called.map(|called| called.status);
                    // It is called back in one of the next batches.
                    let yet_to_come = *again > 0 && called.is_none_or(|called| called.again < *again);
                    ensure(yet_to_come || status == Some(RunStatus::Running), || {
                        format!("{} waits for {run}, which is {status:?}", at.show())
                    })?;
                }
                _ => {}
            }
        }
    }
    for (id, run) in runs.running() {
        let Some(parent) = &run.parent else { continue };
        let wanted = *runs.node(parent) == NodeState::Started(Started::Calling { run: id, again: run.again });
        ensure(wanted, || format!("{id} goes on, but {}, which called it, is {:?}", parent.show(), runs.node(parent)))?;
    }
    Ok(())
}

/// By the rows on the disk.
pub fn gone(scene: &Scene<'_>) -> Check {
    let there = |run: i64| scene.model.runs.runs.keys().any(|id| id.number() == run);
    let moved = scene.turn.entries.iter().any(|entry| matches!(entry.record, kernel::record::Record::RunDeleted { .. }));
    if !scene.thorough && !moved && !scene.turn.run_gone {
        return Ok(());
    }
    scene.disk.read(|durable| -> Check {
        for table in [&NODES, &FRAMES] {
            for values in durable.rows(table) {
                let Value::Int(run) = values[0] else { return Err(format!("a row of {} without a run", table.name)) };
                ensure(there(run), || format!("run {run} is gone, and left {values:?} in {}", table.name))?;
            }
        }
        for values in durable.rows(&TASKS) {
            let task = Task::from_row(values).map_err(|bad| bad.to_string())?;
            let left = task.card().node().filter(|at| !there(at.run.number()));
            ensure(left.is_none(), || format!("{left:?} is gone, and left {}", task.card().id()))?;
        }
        Ok(())
    })
}
