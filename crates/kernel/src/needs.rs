//! Which cold rows a command touches. Finished tasks live in the store alone; the writer loads what a command needs
//! before it is decided, so that `decide` never waits.

use crate::bulk::BulkWork;
use crate::command::Command;
use crate::ids::TaskId;
use crate::limits::CHUNK_ITEMS_MAX;
use crate::names::{IdempotencyKey, QueueName};
use crate::state::State;
use crate::time::Time;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Need {
    /// The task with this id.
    Task(TaskId),
    /// The youngest task of the queue with this idempotency key.
    Idempotency(QueueName, IdempotencyKey),
    /// Failed tasks of the queue with `after < id <= upto`, by id, at most `limit`.
    Dead { queue: QueueName, after: Option<TaskId>, upto: TaskId, limit: usize },
}

pub fn needs(command: &Command, state: &State, now: Time, into: &mut Vec<Need>) {
    let mut task = |id: TaskId| {
        if state.task(id).is_none() {
            into.push(Need::Task(id));
        }
    };
    match command {
        Command::Add { tasks, .. } => {
            for new in tasks {
                new.spec.blocked_by.iter().for_each(|id| task(*id));
            }
            for new in tasks {
                if let Some(key) = &new.spec.idempotency_key
                    && state.by_idempotency_key(&new.spec.queue, key).is_none()
                {
                    into.push(Need::Idempotency(new.spec.queue.clone(), key.clone()));
                }
            }
        }
        Command::Cancel { task: id, .. }
        | Command::Retry { task: id, .. }
        | Command::Reset { task: id, .. }
        | Command::Start { task: id, .. }
        | Command::Delete { task: id, .. }
        | Command::Finish { task: id, .. } => task(*id),
        Command::Reprioritize { tasks, .. } | Command::RedriveTasks { tasks, .. } => tasks.iter().for_each(|id| task(*id)),
        Command::Proceed => {
            if let Some(bulk) = state.bulk_due(now)
                && let BulkWork::Redrive { queue, upto, .. } = bulk.work()
            {
                into.push(Need::Dead { queue: queue.clone(), after: bulk.after(), upto: *upto, limit: CHUNK_ITEMS_MAX });
            }
        }
        Command::Lease { .. }
        | Command::Lapse { .. }
        | Command::Release { .. }
        | Command::Due
        | Command::ConfigureQueue { .. }
        | Command::PauseQueue { .. }
        | Command::ResumeQueue { .. }
        | Command::BoostQueue { .. }
        | Command::StartBulk { .. }
        | Command::CancelBulk { .. } => {}
    }
}
