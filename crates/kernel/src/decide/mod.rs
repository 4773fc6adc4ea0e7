//! Decisions: one command, one file. `decide` reads the state and writes records; every rejection comes before the
//! first record, so a refused command changes nothing.

mod add;
mod backlog;
mod bulk;
mod cancel;
mod delete;
mod due;
mod emit;
mod families;
mod finish;
mod hand;
mod hold;
mod lease;
mod queue;
mod registry;
mod reprioritize;
mod requeue;
mod run;
mod start;
mod unblock;
mod walk;
mod workflow;

pub use bulk::would_change;
pub use run::NewRun;
pub use run::fork::{NewFork, NewText, Part, too_many_parts};
pub use run::patch::{NewRevision, Patched};
pub use workflow::{NewWorkflow, Put};

use crate::command::{Command, Reply};
use crate::ids::TaskId;
use crate::message::Message;
use crate::record::Record;
use crate::rejection::Rejection;
use crate::runs::Held;
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
        Command::Mislay { task, fence, jitter } => finish::mislay(step, *task, *fence, *jitter),
        Command::ConfigureQueue { queue, config, by } => queue::configure(step, queue, config, by),
        Command::PauseQueue { queue, until, reason, by } => queue::pause(step, queue, *until, reason, by),
        Command::ResumeQueue { queue, by } => queue::resume(step, queue, by),
        Command::BoostQueue { queue, on, boost, by } => queue::boost(step, queue, on, *boost, by),
        Command::StartBulk { work, by, reason } => bulk::start(step, work, by, reason),
        Command::CancelBulk { bulk, by } => bulk::cancel(step, *bulk, by),
        Command::AdvanceBulk { bulk, from, runs, done } => bulk::runs::advance(step, *bulk, *from, runs, *done),
        Command::Emit { events, revision } => emit::decide(step, events, *revision),
        Command::ReplayEvent { event, routed, bytes, revision, by } => emit::replay(step, *event, routed, *bytes, *revision, by),
        Command::ExpireEvents { events, before } => Ok(emit::expire(step, events, *before)),
        Command::PutRegistry { text, queues, by } => registry::put(step, text, queues, by),
        Command::NoteRefused { webhook, requests, reason } => Ok(registry::note_refused(step, webhook, *requests, reason)),
        Command::NoteSignals { signals, reason } => Ok(registry::note_signals(step, *signals, reason)),
        Command::PauseFamilies { families, until, reason, by } => families::pause(step, families, *until, reason, by),
        Command::ResumeFamilies { families, by } => families::resume(step, families, by),
        Command::BoostFamilies { families, boost, by } => families::boost(step, families, *boost, by),
        Command::HandOver { task, fence, new, by } => hand::over(step, *task, *fence, new, by),
        Command::Due => Ok(due::decide(step)),
        Command::Proceed => Ok(bulk::proceed(step)),
        Command::StartRun { new, by } => run::start(step, new, by),
        Command::ForkRun { fork, by } => run::fork::decide(step, fork, by),
        Command::CancelRun { run, by, reason } => run::cancel(step, *run, by, reason),
        Command::PauseRun { run, by, reason } => run::pause::pause(step, *run, by, reason),
        Command::ResumeRun { run, by } => run::pause::resume(step, *run, by),
        Command::Answer { at, approved, comment, by } => run::answer(step, at, *approved, comment, by),
        Command::PutWorkflow { new, by } => workflow::put(step, new, by),
        Command::PutWorkflows { new, by } => workflow::put_all(step, new, by).map(Reply::Workflows),
        Command::DisableWorkflow { workflow, reason, by } => workflow::disable(step, workflow, reason, by),
        Command::EnableWorkflow { workflow, by } => workflow::enable(step, workflow, by),
        Command::RetryRun { run, node, new, reason, by } => {
            run::retry::decide(step, *run, node.as_deref(), new.as_deref(), reason, by)
        }
        Command::RestartRun { at, new, reason, by } => run::restart::decide(step, at, new.as_deref(), reason, by),
        Command::SkipNode { at, output, reason, by } => run::skip::decide(step, at, output, reason, by),
        Command::PatchRun { run, new, node, dry, by } => run::patch::decide(step, *run, new, node.as_ref(), *dry, by),
        Command::DeleteRun { run, by } => run::remove::delete(step, *run, by),
        Command::ExpireRuns { runs } => Ok(run::remove::expire(step, runs)),
        Command::NoteStandstill { reason, over_ms } => {
            let (reason, over_ms) = (*reason, *over_ms);
            step.record_shard(match over_ms {
                None => Record::WatchdogTripped { reason },
                Some(lasted_ms) => Record::WatchdogRecovered { reason, lasted_ms },
            });
            Ok(Reply::Done)
        }
        Command::Hear(message) => {
            hear(step, (**message).clone());
            Ok(Reply::Done)
        }
        Command::TakeValues { values } => {
            run::take_values(step, values);
            Ok(Reply::Done)
        }
        Command::ProceedRuns => {
            run::proceed(step);
            Ok(Reply::Done)
        }
    };
    assert!(reply.is_ok() || step.records() == before, "a rejected command leaves no record");
    while let Some(follow_up) = step.follow_ups.pop_front() {
        match follow_up {
            FollowUp::Unblock { blocker } => unblock::decide(step, blocker),
            // What runs cause is without bound; what a batch may do is not.
            FollowUp::Arrive(spot) if step.is_full() => step.hold_over(Held::Node(spot)),
            FollowUp::Close(run, path) if step.is_full() => step.hold_over(Held::Frame(run, path)),
            FollowUp::Arrive(spot) => walk::arrive(step, spot),
            FollowUp::Close(run, path) => walk::close(step, run, &path),
            FollowUp::Hear(message) => hear(step, message),
        }
    }
    reply
}

fn hear(step: &mut Step<'_>, message: Message) {
    match message {
        Message::Enqueue { task, spec, input } => add::enqueue(step, task, *spec, input),
        // It may have ended meanwhile; then there is nothing to take back.
        Message::Withdraw { task, by, reason } => _ = cancel::decide(step, task, &by, &reason),
        Message::Hold { task, pause } => hold::hold(step, task, pause),
        Message::LetGo { task, pause } => hold::let_go(step, task, pause),
        Message::ForgetTask { task, run } => delete::forget(step, task, run),
        Message::AskTask { task, at } => lease::waits(step, task, at),
        Message::TaskForgotten { run, task } => run::remove::forgotten(step, run, task),
        Message::TaskWaits { at, task, since } => run::supervise::waits(step, at, task, since),
        Message::TaskEnded { at, task, result } => walk::task_ended(step, &at, task, result),
        Message::StartRun { run, spec, input, by } => run::begin(step, run, *spec, input, &by),
        Message::CancelRun { run, again, by, reason } => run::withdraw(step, run, again, &by, &reason),
        Message::HoldRun { run, pause } => run::pause::hold(step, run, pause),
        Message::LetRunGo { run, pause } => run::pause::let_go(step, run, pause),
        Message::RetryRun { at, run, again, held } => run::recall::hear(step, at, run, again, held),
        Message::RunLost { at, run, again } => walk::call_lost(step, &at, run, again),
        Message::StopRun { run, task, by, reason } => hand::stop(step, run, task, &by, &reason),
        Message::HandedBack { task, run, result } => hand::back(step, task, run, result),
        Message::RunEnded { at, run, again, result } => walk::run_ended(step, &at, run, again, result),
    }
}

/// What still blocks a task. One that was cancelled no longer heard of its blockers; `needs` has loaded those that exist.
fn blockers(state: &State, task: &Task) -> Vec<TaskId> {
    let blocks = |blocker: &TaskId| state.task(*blocker).is_some_and(|task| task.status() != Status::Done);
    let unheard = matches!(task, Task::Cancelled(_));
    task.card().blocked_by().iter().filter(|blocker| !unheard || blocks(blocker)).copied().collect()
}

/// Who is named where nobody asked.
fn itself() -> crate::names::Actor {
    crate::names::Actor::parse("signaller").expect("a name")
}

fn find(state: &State, task: TaskId) -> Result<&Task, Rejection> {
    state.task(task).ok_or(Rejection::TaskNotFound { task })
}

/// The tasks of a run accept only cancel directly.
fn not_of_run(task: &Task, verb: &'static str) -> Result<(), Rejection> {
    match task.card().node() {
        Some(at) => Err(Rejection::OfRun { task: task.card().id(), at: at.clone(), verb }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
