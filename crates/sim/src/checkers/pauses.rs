//! A pause goes down to everything: no task of a paused run is handed out, whatever came back since, and what it called is
//! paused with it. When it is over, nothing stays behind.

use super::{Check, Scene, ensure};
use crate::model::runs::NodeState;
use kernel::node::Started;
use kernel::record::{Entry, Owner, Record};
use kernel::run::RunStatus;

pub fn leased(scene: &Scene<'_>, entry: &Entry) -> Check {
    let (Owner::Task(id), Record::TaskLeased { .. }) = (&entry.owner, &entry.record) else { return Ok(()) };
    let at = scene.model.task(*id).and_then(|task| task.node.as_ref());
    let run = at.and_then(|at| scene.model.runs.runs.get(&at.run));
    // Very many hear of it one batch after another.
    ensure(!run.is_some_and(|run| run.paused && !run.telling), || format!("{id} was leased while its run is paused"))
}

pub fn heard(scene: &Scene<'_>) -> Check {
    let (model, runs) = (scene.model, &scene.model.runs);
    for id in model.queued.iter().chain(&model.running) {
        let task = &model.tasks[id];
        let Some(at) = &task.node else { continue };
        let Some(run) = runs.runs.get(&at.run).filter(|run| run.status == RunStatus::Running && !run.telling) else { continue };
        if *runs.node(at) == NodeState::Started(Started::Working { task: *id }) {
            let (held, paused) = (task.held, run.paused);
            ensure(held == paused, || format!("{id} is held: {held}, and its run, {}, is paused: {paused}", at.run))?;
        }
    }
    for (id, run) in runs.running() {
        let Some(at) = &run.parent else { continue };
        let Some(caller) = runs.runs.get(&at.run).filter(|run| run.status == RunStatus::Running && !run.telling) else {
            continue;
        };
        if *runs.node(at) == NodeState::Started(Started::Calling { run: id, again: run.again }) {
            let (held, paused) = (run.held, caller.paused);
            ensure(held == paused, || format!("{id} is held: {held}, and its caller, {}, is paused: {paused}", at.run))?;
        }
    }
    Ok(())
}
