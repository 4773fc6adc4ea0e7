//! Decisions: one command, one file. `decide` reads the state and writes records; every rejection comes before the
//! first record, so a refused command changes nothing.

mod add;
mod bulk;
mod cancel;
mod delete;
mod due;
mod finish;
mod lease;
mod queue;
mod reprioritize;
mod requeue;
mod start;
mod unblock;

use crate::command::{Command, Reply};
use crate::ids::TaskId;
use crate::rejection::Rejection;
use crate::state::State;
use crate::step::{FollowUp, Step};
use crate::task::{Status, Task};

pub fn decide(step: &mut Step<'_>, command: &Command) -> Result<Reply, Rejection> {
    let before = step.records();
    let reply = match command {
        Command::Add { tasks } => add::decide(step, tasks),
        Command::Cancel { task, by, reason } => cancel::decide(step, *task, by, reason),
        Command::Retry { task, by } => requeue::retry(step, *task, by),
        Command::Reset { task, by } => requeue::reset(step, *task, by),
        Command::RedriveTasks { queue, tasks, by } => requeue::redrive(step, queue, tasks, by),
        Command::Start { task, force, worker, by } => start::decide(step, *task, *force, worker.as_ref(), by),
        Command::Delete { task, by } => delete::decide(step, *task, by),
        Command::Reprioritize { queue, tasks, priority, by } => reprioritize::decide(step, queue, tasks, *priority, by),
        Command::Lease { worker, types, queues, want } => lease::decide(step, worker, types, queues, *want),
        Command::Finish { task, fence, outcome, jitter } => finish::decide(step, *task, *fence, outcome, *jitter),
        Command::Release { task, fence, cause } => finish::release(step, *task, *fence, *cause),
        Command::Lapse { task, fence, jitter } => finish::lapse(step, *task, *fence, *jitter),
        Command::ConfigureQueue { queue, config, by } => queue::configure(step, queue, config, by),
        Command::PauseQueue { queue, until, reason, by } => queue::pause(step, queue, *until, reason, by),
        Command::ResumeQueue { queue, by } => queue::resume(step, queue, by),
        Command::BoostQueue { queue, on, boost, by } => queue::boost(step, queue, on, *boost, by),
        Command::StartBulk { work, by, reason } => bulk::start(step, work, by, reason),
        Command::CancelBulk { bulk, by } => bulk::cancel(step, *bulk, by),
        Command::Due => Ok(due::decide(step)),
        Command::Proceed => Ok(bulk::proceed(step)),
    };
    assert!(reply.is_ok() || step.records() == before, "a rejected command leaves no record");
    while let Some(follow_up) = step.follow_ups.pop_front() {
        match follow_up {
            FollowUp::Unblock { blocker } => unblock::decide(step, blocker),
        }
    }
    reply
}

/// What still blocks a task. One that was cancelled no longer heard of its blockers; `needs` has loaded those that exist.
fn blockers(state: &State, task: &Task) -> Vec<TaskId> {
    let blocks = |blocker: &TaskId| state.task(*blocker).is_some_and(|task| task.status() != Status::Done);
    let unheard = matches!(task, Task::Cancelled(_));
    task.card().blocked_by().iter().filter(|blocker| !unheard || blocks(blocker)).copied().collect()
}

fn find(state: &State, task: TaskId) -> Result<&Task, Rejection> {
    state.task(task).ok_or(Rejection::TaskNotFound { task })
}

#[cfg(test)]
mod tests;
