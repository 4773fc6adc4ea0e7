//! Nothing happens by itself: every move has a request in this very tick, or an instant that has come.

use super::{Check, Scene, ensure, events, handed};
use crate::model::runs::NodeState;
use crate::model::{LeaseModel, TaskModel};
use crate::watch::ends_lease;
use engine::Request;
use kernel::bulk::BulkWork;
use kernel::command::{Command, Outcome};
use kernel::ids::{Fence, TaskId};
use kernel::lease::Ending;
use kernel::node::Started;
use kernel::queue::BacklogFull;
use kernel::record::{CancelCause, Entry, Owner, Record, ReleaseCause};

/// A lease ends by its holder's word, or because it fell silent, or because it never arrived.
pub fn ended(scene: &Scene<'_>, entry: &Entry) -> Check {
    let Owner::Task(id) = entry.owner else { return Ok(()) };
    let Some(task) = scene.model.task(id) else { return Ok(()) };
    let Some(lease) = &task.lease else { return Ok(()) };
    let turn = scene.turn;
    if lease.run.is_some() {
        let ends = ends_lease(&entry.record);
        return ensure(!ends || handed::ended_so(scene, id, entry), || {
            format!("{} of {id}, which {lease:?} holds, has no cause", entry.record.kind())
        });
    }
    let mut reports = turn.reports(id, lease.fence);
    let holds = match &entry.record {
        Record::TaskDone { .. } => reports.any(|report| {
            matches!(report, Outcome::Done { output } if Some(output) == entry.payload.as_ref()) && lease.ending.is_none()
        }),
        Record::TaskFailed { failure, .. } | Record::TaskRetried { failure, .. } => match failure.code.as_str() {
            "worker_lost" => lease.ending.is_none() && silent(scene, task, lease),
            "timed_out" => lease.ending == Some(Ending::TimedOut) && (reports.next().is_some() || silent(scene, task, lease)),
            _ => reports.any(|report| {
                matches!(report, Outcome::Failed { failure: told, .. } if told == failure) && lease.ending.is_none()
            }),
        },
        Record::TaskReleased { cause: ReleaseCause::Worker } => {
            reports.any(|report| *report == Outcome::Released) && lease.ending.is_none()
        }
        Record::TaskReleased { cause: ReleaseCause::Undelivered } => undelivered(scene, task, lease),
        Record::TaskCancelled { .. } => {
            let asked = matches!(lease.ending, Some(Ending::Cancel { .. }));
            asked && (reports.next().is_some() || silent(scene, task, lease) || undelivered(scene, task, lease))
        }
        Record::TaskTimedOut {} => lease.budget_until <= entry.at && lease.ending.is_none(),
        _ => true,
    };
    ensure(holds, || {
        let watch = scene.presence.watches.get(&id);
        format!("{} of {id} under fence {} has no cause; watched as {watch:?}", entry.record.kind(), lease.fence.0)
    })
}

/// Its deadline has come and the inbox was empty, or its worker came without what it had named before.
fn silent(scene: &Scene<'_>, task: &TaskModel, lease: &LeaseModel) -> bool {
    // None yet for one that began in this tick.
    let watch = scene.presence.watches.get(&task.id).filter(|watch| watch.fence == lease.fence);
    let beaten = scene.turn.named().any(|named| named == (task.id, Fence(lease.fence)));
    let late = scene.turn.idle && watch.is_some_and(|watch| watch.deadline <= scene.turn.now) && !beaten;
    let deadly = scene.presence.unnamed.get(&task.id).is_some_and(|(_, most)| *most >= 2);
    late || ((watch.is_some_and(|watch| watch.named) || beaten || deadly) && forgotten(scene, task, lease))
}

/// Its grant could not be handed over, or its worker came without ever having named it.
fn undelivered(scene: &Scene<'_>, task: &TaskModel, lease: &LeaseModel) -> bool {
    let told = scene.turn.requests.iter().any(|(_, request)| match request {
        Request::Undelivered { grants } => grants.iter().any(|(id, fence)| *id == task.id && fence.0 == lease.fence),
        _ => false,
    });
    let named = scene.presence.watches.get(&task.id).is_some_and(|watch| watch.fence == lease.fence && watch.named);
    // Two workers in a row came back without it already.
    let deadly = scene.presence.unnamed.get(&task.id).is_some_and(|(least, _)| *least >= 2);
    told || (!named && !deadly && forgotten(scene, task, lease))
}

fn forgotten(scene: &Scene<'_>, task: &TaskModel, lease: &LeaseModel) -> bool {
    let names = |work: &engine::Work| {
        let results = work.results.iter().map(|report| (report.task, report.fence));
        results.chain(work.holding.iter().map(|held| (held.task, held.fence))).any(|named| named == (task.id, Fence(lease.fence)))
    };
    scene.turn.works().any(|work| work.worker == lease.worker && !names(work))
}

/// The node that it was for does not wait for it any more.
fn unwanted(scene: &Scene<'_>, task: TaskId) -> bool {
    let Some(at) = scene.model.task(task).and_then(|task| task.node.as_ref()) else { return false };
    *scene.model.runs.node(at) != NodeState::Started(Started::Working { task })
}

/// It is the oldest of those that may make way in a queue that drops its oldest, and something is added there. What is added
/// may need others that are older.
fn shed_by_add(scene: &Scene<'_>, task: TaskId) -> bool {
    let Some(shed) = scene.model.task(task) else { return false };
    let config = scene.model.config(&shed.queue);
    let adds = || {
        scene
            .turn
            .commands()
            .filter_map(|command| if let Command::Add { tasks } = command { Some(tasks) } else { None })
            .flatten()
    };
    let needed = |older: &TaskModel| {
        adds().any(|new| {
            let same = new.spec.idempotency_key.is_some() && new.spec.idempotency_key == older.idempotency_key;
            new.spec.blocked_by.contains(&older.id) || (same && new.spec.queue == older.queue)
        })
    };
    let may_go = |task: &TaskModel| task.node.is_none() && !task.is_critical() && !task.run_now;
    let older = scene.model.of_queue(&shed.queue).take_while(|older| older.id < task);
    let enters = adds().any(|new| new.spec.queue == shed.queue && !new.spec.idle);
    let drops = config.backlog_max.is_some() && config.backlog_full == BacklogFull::DropOldest;
    enters && drops && may_go(shed) && older.filter(|older| may_go(older)).all(needed)
}

/// Everything else that clients decide was asked for by one.
pub fn asked(scene: &Scene<'_>, entry: &Entry) -> Check {
    let turn = scene.turn;
    let command = |fits: &dyn Fn(&Command) -> bool| turn.commands().any(fits);
    let on_task = |id: TaskId| {
        command(&|command| match (&entry.record, command) {
            (Record::TaskQueued { .. }, Command::Retry { task, .. } | Command::Start { task, .. }) => *task == id,
            (Record::TaskQueued { .. }, Command::RedriveTasks { tasks, .. }) => tasks.contains(&id),
            (Record::TaskRunNow { .. }, Command::Start { task, .. }) => *task == id,
            (Record::TaskReprioritized { .. }, Command::Reprioritize { tasks, .. }) => tasks.contains(&id),
            (Record::TaskCancelled { .. } | Record::TaskCancelRequested { .. }, Command::Cancel { task, .. }) => *task == id,
            (Record::TaskReset { .. }, Command::Reset { task, .. }) => *task == id,
            (Record::TaskDeleted { .. }, Command::Delete { task, .. }) => *task == id,
            _ => false,
        })
    };
    let bulk = |fits: &dyn Fn(&BulkWork) -> bool| scene.model.bulks.values().any(|bulk| bulk.open && fits(&bulk.work));
    let holds = match (&entry.owner, &entry.record) {
        (Owner::Task(id), Record::TaskQueued { bulk: by, .. }) => match by {
            Some(by) => scene.model.bulks.get(by).is_some_and(|bulk| bulk.open),
            None => on_task(*id),
        },
        (Owner::Task(_), Record::TaskExpedited { bulk }) => scene.model.bulks.get(bulk).is_some_and(|bulk| bulk.open),
        (Owner::Task(id), Record::TaskReprioritized { .. }) => {
            on_task(*id) || bulk(&|work| matches!(work, BulkWork::Reprioritize { .. }))
        }
        (Owner::Task(id), Record::TaskCancelled { cause, by, .. }) => {
            let running = scene.model.task(*id).is_some_and(|task| task.lease.is_some());
            let cleared = *cause == CancelCause::Cleared && bulk(&|work| matches!(work, BulkWork::Clear { .. }));
            let late = scene.model.task(*id).and_then(|task| task.start_by).is_some_and(|start_by| start_by <= turn.now);
            // Whether events were to do it, `events` knows.
            let by_event = match cause {
                CancelCause::Replaced => by.as_str() == "signaller",
                CancelCause::Shed => by.as_str() == "signaller" && (events::sheds(turn, *id) || shed_by_add(scene, *id)),
                _ => false,
            };
            let shed = *cause == CancelCause::Shed && bulk(&|work| matches!(work, BulkWork::Shed { .. }));
            let made_way = by_event || shed;
            let expired = *cause == CancelCause::Expired && late;
            running || cleared || made_way || expired || on_task(*id) || unwanted(scene, *id)
        }
        (Owner::Task(id), Record::TaskCancelRequested { by, .. }) => {
            let of_event = scene.model.task(*id).is_some_and(|task| task.trigger.is_some());
            on_task(*id) || unwanted(scene, *id) || (of_event && by.as_str() == "signaller")
        }
        (Owner::Task(id), Record::TaskRunNow { .. } | Record::TaskReset { .. } | Record::TaskDeleted { .. }) => on_task(*id),
        (Owner::Queue(name), Record::QueueResumed { expired: true, .. }) => {
            scene.model.queues.get(name).and_then(|queue| queue.pause.flatten()).is_some_and(|until| until <= turn.now)
        }
        (Owner::Queue(name), _) => command(&|command| match command {
            Command::ConfigureQueue { queue, .. }
            | Command::PauseQueue { queue, .. }
            | Command::ResumeQueue { queue, .. }
            | Command::BoostQueue { queue, .. } => queue == name,
            Command::PutRegistry { queues, .. } => {
                let gone = turn.before().iter().any(|entry| matches!(entry.record, Record::RegistryPut { .. }));
                queues.contains_key(name) || gone
            }
            _ => false,
        }),
        (Owner::Registry, _) => command(&|command| matches!(command, Command::PutRegistry { .. })),
        (Owner::Families(families), Record::FamilyResumed { expired: true, .. }) => {
            let pause = scene.model.events.controls.get(families).and_then(|control| control.pause.flatten());
            pause.is_some_and(|until| until <= turn.now)
        }
        (Owner::Families(of), _) => command(&|command| match command {
            Command::PauseFamilies { families, .. }
            | Command::ResumeFamilies { families, .. }
            | Command::BoostFamilies { families, .. } => families == of,
            _ => false,
        }),
        (Owner::Shard, Record::EventsExpired { events }) => command(&|command| match command {
            Command::ExpireEvents { events: old, before } => {
                events.iter().all(|id| old.contains(id) && scene.model.is_old(*id, *before, turn.now))
            }
            _ => false,
        }),
        (Owner::Shard, Record::RequestsRefused { .. }) => command(&|command| matches!(command, Command::NoteRefused { .. })),
        (Owner::Shard, Record::SignalsRefused { .. }) => command(&|command| matches!(command, Command::NoteSignals { .. })),
        (Owner::Bulk(_), Record::BulkStarted { work, .. }) => {
            matches!(**work, BulkWork::Unblock { .. }) || command(&|command| matches!(command, Command::StartBulk { .. }))
        }
        (Owner::Bulk(id), Record::BulkCancelled { .. }) => {
            command(&|command| matches!(command, Command::CancelBulk { bulk, .. } if bulk == id))
        }
        _ => true,
    };
    ensure(holds, || format!("{} of {} was not asked for", entry.record.kind(), entry.owner))
}
