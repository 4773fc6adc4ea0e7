//! What the outside is told: nothing that is not durable, and nothing that is not so.

use super::{Check, Scene, ensure};
use crate::ledger::same;
use engine::{Answer, Held, Request, Ticket, Work, Worked};
use kernel::command::{Added, Command, Put, Reply};
use kernel::ids::{RecordSeq, RunId, TaskId};
use kernel::names::{Pattern, QueueName};
use kernel::record::{Entry, Owner, Record};
use kernel::rejection::Rejection;
use kernel::run::RunStatus;
use kernel::state::FamilyDepth;
use kernel::task::Status;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Whatever says yes has its record on the disk.
pub fn durable(scene: &Scene<'_>) -> Check {
    let turn = scene.turn;
    if turn.reloaded {
        let quiet = turn.answers.iter().find(|(_, answer)| !matches!(answer, Answer::UnknownOutcome));
        ensure(quiet.is_none(), || format!("the commit failed, and {quiet:?} was answered"))?;
        ensure(turn.told.is_empty(), || "records of a failed commit were told".into())?;
        // It may have been written all the same: then its leases are nobody's, and must go back.
        let granted = turn.entries.iter().filter(|entry| matches!(entry.record, Record::TaskLeased { .. }));
        let mut lost = granted.filter(|entry| !turn.untold.iter().any(|(_, fence)| fence.0 == entry.seq));
        return ensure(lost.next().is_none(), || format!("a lease of {} of a failed commit is forgotten", lost.count() + 1));
    }
    ensure(turn.untold.is_empty(), || format!("{:?} were told and are to go back", turn.untold))?;
    ensure(turn.told == turn.entries, || format!("{} records were told, {} are durable", turn.told.len(), turn.entries.len()))?;
    for (ticket, answer) in &turn.answers {
        match answer {
            Answer::Reply(Ok(reply)) => reply_durable(scene, *ticket, reply)?,
            Answer::Worked(worked) => {
                for delivery in &worked.deliveries {
                    let (task, fence) = (delivery.grant.task, delivery.grant.fence.0);
                    let leased = |entry: &&Entry| entry.seq == fence && matches!(entry.record, Record::TaskLeased { .. });
                    let found = turn.entries.iter().find(leased).is_some_and(|entry| entry.owner == Owner::Task(task));
                    ensure(found, || format!("{task} was delivered with fence {}, which is not durable", fence.0))?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn reply_durable(scene: &Scene<'_>, ticket: Ticket, reply: &Reply) -> Check {
    let turn = scene.turn;
    let request = turn.request(ticket);
    match (reply, request) {
        (Reply::Added(added), Some(Request::Command(Command::Add { tasks }))) => {
            ensure(added.len() == tasks.len(), || format!("{} of {} adds were answered", added.len(), tasks.len()))?;
            for (Added { task, duplicate }, new) in added.iter().zip(tasks) {
                let record = turn
                    .entries
                    .iter()
                    .find(|entry| entry.owner == Owner::Task(*task) && matches!(entry.record, Record::TaskAdded { .. }));
                if *duplicate {
                    let key = scene.model.task(*task).map(|task| (&task.queue, task.idempotency_key.as_ref()));
                    let fits = key.is_none_or(|key| key == (&new.spec.queue, new.spec.idempotency_key.as_ref()));
                    let known = scene.model.task(*task).is_some() || turn.statuses.contains_key(task);
                    ensure(known && fits, || format!("{task} is told to be a duplicate of {key:?}"))?;
                } else {
                    let input = record.and_then(|entry| entry.payload.as_ref());
                    ensure(input == Some(&new.input), || format!("{task} was acknowledged and is durable as {input:?}"))?;
                }
            }
            Ok(())
        }
        (Reply::Task { task, .. }, Some(Request::Command(Command::Delete { .. }))) => {
            let gone = turn.statuses.get(task).is_some_and(|was| was.contains(&None));
            ensure(gone, || format!("{task} was told to be deleted"))
        }
        (Reply::Run { run, status, .. }, _) => {
            ensure(run_was(scene, *run, Some(*status)), || format!("{run} was told to be {}", status.as_str()))
        }
        (Reply::Task { task, status }, _) => {
            ensure(was(scene, *task, Some(*status)), || format!("{task} was told to be {status}"))
        }
        (Reply::Started { run, duplicate: false }, Some(Request::Command(Command::StartRun { new, .. }))) => {
            let started = |entry: &&Entry| entry.owner == Owner::Run(*run) && matches!(entry.record, Record::RunStarted { .. });
            let input = turn.entries.iter().find(started).and_then(|entry| entry.payload.as_ref());
            ensure(input == Some(&new.input), || format!("{run} was told to be started and is durable as {input:?}"))
        }
        (Reply::Started { run, .. }, Some(Request::Command(Command::StartRun { new, .. }))) => {
            let known = scene.model.runs.runs.get(run);
            let fits = known.is_none_or(|known| known.workflow == new.workflow && known.key == new.spec.idempotency_key);
            ensure(fits, || format!("{run} is told to be what {new:?} started, but it is {known:?}"))
        }
        (Reply::Workflows(put), _) => {
            let there = |put: &Put| scene.model.runs.workflows.contains_key(&(put.workflow.clone(), put.version));
            ensure(put.iter().all(there), || format!("{put:?} were told to be put"))
        }
        (Reply::Bulk(bulk), _) => ensure(scene.model.bulks.contains_key(bulk), || format!("{bulk} was told to be started")),
        (
            Reply::Items { changed, skipped },
            Some(Request::Command(Command::Reprioritize { tasks, .. } | Command::RedriveTasks { tasks, .. })),
        ) => ensure(changed + skipped == tasks.len(), || format!("{changed} and {skipped} are not {}", tasks.len())),
        (Reply::Done, Some(Request::Command(command))) => {
            let queue = match command {
                Command::ConfigureQueue { queue, .. } | Command::PauseQueue { queue, .. } => queue,
                _ => return Ok(()),
            };
            let row = scene.model.queues.contains_key(queue);
            ensure(row, || format!("{queue} was told to be changed and has no row"))
        }
        _ => Ok(()),
    }
}

/// It had this status at some point of the tick; `None`: it was not there.
fn was(scene: &Scene<'_>, task: TaskId, status: Option<Status>) -> bool {
    match scene.turn.statuses.get(&task) {
        Some(was) => was.contains(&status),
        None => scene.model.task(task).map(|task| task.status) == status,
    }
}

/// The fence was the task's own for all of the tick.
fn held_throughout(scene: &Scene<'_>, task: TaskId, fence: RecordSeq) -> bool {
    let lease = scene.model.task(task).and_then(|task| task.lease.as_ref());
    let begun = scene.turn.entries.iter().any(|entry| entry.seq == fence);
    lease.is_some_and(|lease| lease.fence == fence) && !begun
}

pub fn true_(scene: &Scene<'_>) -> Check {
    for (ticket, answer) in &scene.turn.answers {
        let request = scene.turn.request(*ticket);
        match (answer, request) {
            (Answer::Reply(Err(rejection)), _) => rejected(scene, rejection)?,
            (Answer::Worked(worked), Some(Request::Work(work))) => worked_true(scene, work, worked)?,
            (Answer::Worked(worked), None) => {
                ensure(worked.results.is_empty(), || format!("poll {ticket:?} waited with results {worked:?}"))?;
                delivered(scene, worked)?;
            }
            (Answer::Explained(Err(rejection)), _) => rejected(scene, rejection)?,
            (Answer::Depths(told), Some(Request::Depths { families })) => depths(scene, families.as_ref(), told)?,
            (Answer::Stopping, _) => {
                ensure(scene.presence.stopping || scene.presence.perhaps_stopping, || "stopping was told, but it goes on".into())?
            }
            _ => {}
        }
    }
    let drained = scene.presence.stopping && scene.model.leases().next().is_none();
    ensure(scene.turn.reloaded || scene.presence.perhaps_stopping || scene.turn.drained == drained, || {
        format!("drained is {}, with {} running", scene.turn.drained, scene.model.running.len())
    })
}

/// What waits of families, if nothing moved in this tick: a look is answered in the middle of it.
fn depths(scene: &Scene<'_>, families: Option<&Pattern>, told: &[FamilyDepth]) -> Check {
    if !scene.turn.entries.is_empty() {
        return Ok(());
    }
    let mut queued: BTreeMap<(Arc<str>, bool, QueueName), usize> = BTreeMap::new();
    for task in scene.model.tasks.values().filter(|task| task.status == Status::Queued) {
        let family = task.family.as_ref().map_or_else(|| task.queue.shared().clone(), |family| family.shared().clone());
        if families.is_none_or(|pattern| pattern.covers_name(&family)) {
            *queued.entry((family, task.family.is_none(), task.queue.clone())).or_default() += 1;
        }
    }
    let waits = told.iter().filter(|told| told.depth.queued > 0);
    let found: BTreeMap<_, _> =
        waits.map(|told| ((told.family.clone(), told.plain, told.queue.clone()), told.depth.queued)).collect();
    ensure(found == queued, || format!("{found:?} were told to wait, and {queued:?} do"))
}

fn rejected(scene: &Scene<'_>, rejection: &Rejection) -> Check {
    let holds = match rejection {
        Rejection::TaskNotFound { task } => was(scene, *task, None),
        Rejection::BlockerNotFound { blocker } => was(scene, *blocker, None),
        Rejection::WrongState { task, status, .. } => was(scene, *task, Some(*status)),
        Rejection::RunNotFound { run } => {
            let known = scene.model.runs.runs.get(run);
            // Explained is only what is in memory.
            known.is_none_or(|known| !known.live || known.deleting)
                || scene.turn.entries.iter().any(|entry| entry.owner == Owner::Run(*run))
        }
        Rejection::RunEnded { run, status, .. } | Rejection::NotToRetry { run, status } => run_was(scene, *run, Some(*status)),
        Rejection::RunNotEnded { run } => run_was(scene, *run, Some(RunStatus::Running)),
        Rejection::RunEnding { run } => run_was(scene, *run, None),
        Rejection::WorkflowDisabled { workflow, .. } => {
            let moved = |entry: &Entry| matches!(&entry.owner, Owner::Workflow(name, _) if name == workflow);
            scene.model.runs.is_disabled(workflow) || scene.turn.entries.iter().any(moved)
        }
        Rejection::BulkClosed { bulk } => scene.model.bulks.get(bulk).is_some_and(|bulk| !bulk.open),
        Rejection::BulkNotFound { bulk } => scene.model.bulks.get(bulk).is_none_or(|bulk| !bulk.open),
        Rejection::EventNotFound { event } => {
            let gone = |entry: &Entry| matches!(&entry.record, Record::EventsExpired { events } if events.contains(event));
            let came = |entry: &Entry| entry.owner == Owner::Event(*event);
            !scene.model.events.events.contains_key(event) || scene.turn.entries.iter().any(|entry| gone(entry) || came(entry))
        }
        Rejection::RegistryChanged { expected, revision } => {
            let put = scene.turn.entries.iter().filter(|entry| entry.owner == Owner::Registry).count() as u32;
            let newest = scene.model.events.registry.revision;
            expected != revision && (newest - put..=newest).contains(revision)
        }
        Rejection::QueueInRegistry { queue } => {
            let put = scene.turn.entries.iter().any(|entry| entry.owner == Owner::Registry);
            put || scene.model.events.registry.queues.contains(queue)
        }
        Rejection::Blocked { task, .. } => was(scene, *task, Some(Status::Queued)) || was(scene, *task, Some(Status::Idle)),
        _ => true,
    };
    ensure(holds, || format!("`{rejection}` was told and is not so"))
}

/// It has this status, or moved in this tick.
fn run_was(scene: &Scene<'_>, run: RunId, status: Option<RunStatus>) -> bool {
    let moved = scene.turn.entries.iter().any(|entry| entry.owner == Owner::Run(run)) || scene.turn.run_gone;
    let known = scene.model.runs.runs.get(&run).map(|run| run.status);
    moved || known.is_some_and(|known| status.is_none_or(|status| status == known))
}

fn worked_true(scene: &Scene<'_>, work: &Work, worked: &Worked) -> Check {
    let turn = scene.turn;
    ensure(worked.results.len() == work.results.len(), || format!("{work:?} was answered with {worked:?}"))?;
    for (report, (task, result)) in work.results.iter().zip(&worked.results) {
        let fence = report.fence.0;
        ensure(report.task == *task, || format!("{task} was answered for {}", report.task))?;
        let counted = scene.ledger.outcomes.get(&(*task, fence));
        match result {
            Ok(false) => {
                ensure(turn.ended.contains(&(*task, fence)), || format!("a result of {task} counted under fence {}", fence.0))?;
            }
            Ok(true) => {
                let again = counted.is_some_and(|outcome| same(outcome, &report.outcome));
                ensure(again, || format!("{:?} of {task} was taken for {counted:?} sent again", report.outcome))?;
            }
            Err(Rejection::LeaseLost { .. }) => {
                ensure(!held_throughout(scene, *task, fence), || format!("{task} was told lost under its own fence"))?;
                let newest = scene.ledger.settled.get(task) == Some(&fence) && !turn.ended.iter().any(|(id, _)| id == task);
                let again = counted.is_some_and(|outcome| same(outcome, &report.outcome));
                ensure(!newest || !again || turn.statuses.contains_key(task), || {
                    format!("{:?} of {task} had counted and was refused when sent again", report.outcome)
                })?;
            }
            Err(rejection) => rejected(scene, rejection)?,
        }
    }
    for (holding, held) in work.holding.iter().zip(&worked.holding) {
        heard(scene, holding.fence.0, held)?;
    }
    delivered(scene, worked)
}

fn heard(scene: &Scene<'_>, fence: RecordSeq, held: &Held) -> Check {
    let ended = scene.turn.ended.contains(&(held.task, fence));
    let current = scene.model.task(held.task).and_then(|task| task.lease.as_ref()).filter(|lease| lease.fence == fence);
    match (held.held, current) {
        (true, None) => ensure(ended, || format!("{} is told to be held under fence {}", held.task, fence.0)),
        (false, Some(_)) => ensure(!held_throughout(scene, held.task, fence), || format!("{} is told to be lost", held.task)),
        (true, Some(lease)) => {
            // What was asked for before this tick is known to every heartbeat in it.
            let news = scene.turn.entries.iter().any(|entry| entry.owner == Owner::Task(held.task));
            ensure(held.cancel == lease.ending.is_some() || news, || format!("{held:?} of a lease that is {lease:?}"))
        }
        _ => Ok(()),
    }
}

fn delivered(scene: &Scene<'_>, worked: &Worked) -> Check {
    for delivery in &worked.deliveries {
        let grant = &delivery.grant;
        let before = scene.ledger.fences.get(&grant.task).copied().unwrap_or(RecordSeq::NONE);
        ensure(grant.fence.0 > before, || {
            format!("{} was delivered with fence {} after {}", grant.task, grant.fence.0.0, before.0)
        })?;
        let task = scene.model.task(grant.task);
        let fits = task.is_none_or(|task| task.queue == grant.queue && task.kind == grant.kind);
        // It may have come back, and taken a newer event along.
        let gathers = task.is_some_and(|task| task.window().is_some());
        let fits = fits && (gathers || task.is_none_or(|task| task.input == grant.input));
        ensure(fits, || format!("{grant:?} is not {task:?}"))?;
        if let (Some(told), Some(input)) = (&delivery.input, scene.ledger.added.get(&grant.task)) {
            ensure(told == input, || format!("{} was delivered with {told:?} instead of {input:?}", grant.task))?;
        }
    }
    Ok(())
}
