//! A task whose work is a run: it is leased like any other, then handed over, and held by the run until that ends. So its
//! handler's limits count it all the while, and its queue's own do not.

use super::finish;
use crate::command::{NewRun, Reply};
use crate::ids::{Fence, RunId, TaskId};
use crate::lease::Ending as Wanted;
use crate::message::Ending;
use crate::names::Actor;
use crate::priority::Priority;
use crate::record::{CancelCause, Failure, Payload, Record};
use crate::rejection::Rejection;
use crate::run::RunSpec;
use crate::step::{FollowUp, Step};
use crate::task::Task;

pub(super) fn over(step: &mut Step<'_>, task: TaskId, fence: Fence, new: &NewRun, by: &Actor) -> Result<Reply, Rejection> {
    let lease = finish::held(step, task, fence)?;
    if lease.ending().is_some() {
        return Err(Rejection::LeaseLost { task });
    }
    let card = step.state().task(task).expect("it is leased").card();
    let priority = Some(card.priority()).filter(|priority| *priority != Priority::NORMAL);
    let tags = card.tags().to_vec();
    let event = card.trigger().map(|trigger| trigger.event);
    if let Some(Ok((_, ir))) = step.ir(&new.workflow, new.version)
        && let Some(Failure { message, .. }) = step.misfit(&ir, &new.input)
    {
        return Err(Rejection::Invalid { why: message });
    }
    let spec = RunSpec { task: Some(task), event, idempotency_key: None, priority, tags, ..new.spec.clone() };
    let reply = super::run::start(step, &NewRun { spec, ..new.clone() }, by)?;
    let Reply::Started { run, .. } = reply else { unreachable!("a run that was started is told as such") };
    step.record_task(task, Record::TaskHandedOver { run });
    Ok(reply)
}

/// Nobody wants the work any more. Another run that has this task's number by mistake is left alone.
pub(super) fn stop(step: &mut Step<'_>, run: RunId, task: TaskId, by: &Actor, reason: &str) {
    if step.state().runs.get(run).is_some_and(|live| live.run.spec.task == Some(task)) {
        _ = super::run::cancel(step, run, by, reason);
    }
}

/// Heard twice, or of a task that has gone another way meanwhile, it changes nothing.
pub(super) fn back(step: &mut Step<'_>, task: TaskId, run: RunId, result: Ending) {
    let lease = step.state().task(task).and_then(Task::lease).filter(|lease| lease.run() == Some(run));
    let Some(lease) = lease else { return };
    match (lease.ending().cloned(), result) {
        (Some(Wanted::Cancel { by, reason }), _) | (_, Ending::Cancelled { by, reason }) => {
            step.record_task(task, Record::TaskCancelled { cause: CancelCause::Asked, by, reason, digest: None });
        }
        (_, Ending::Done(_) | Ending::Carried(_)) => {
            let output = serde_json::json!({"run": run}).to_string();
            step.record_task_with(task, Record::TaskDone { digest: 0 }, Some(Payload(output.into())));
            step.follow(FollowUp::Unblock { blocker: task });
        }
        (_, Ending::Failed(failure)) => finish::fail(step, task, failure, true, None, 0, 0),
    }
}
