//! What is asked of a run as a whole: start, cancel, pause, resume, and the answer to an approval.

use super::walk;
use crate::command::Reply;
use crate::frame::FramePath;
use crate::ids::RunId;
use crate::message::Ending;
use crate::names::{Actor, WorkflowName};
use crate::node::{NodeState, Started};
use crate::record::{Payload, Record};
use crate::rejection::Rejection;
use crate::run::{NodeAt, RunSpec, RunStatus};
use crate::runs::{Held, Spot};
use crate::step::{FollowUp, Step};

/// How a run is asked for; without a version, the newest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRun {
    pub workflow: WorkflowName,
    pub version: Option<u32>,
    pub spec: RunSpec,
    pub input: Payload,
}

pub(super) fn start(step: &mut Step<'_>, new: &NewRun, by: &Actor) -> Result<Reply, Rejection> {
    let Some(ir) = step.state().runs.workflow(&new.workflow, new.version).cloned() else {
        return Err(Rejection::WorkflowNotFound { workflow: new.workflow.clone(), version: new.version });
    };
    let limit_ms = ir.limits.deadline_ms;
    let deadline = new.spec.deadline.into_iter().chain(limit_ms.map(|ms| step.now().plus_ms(ms))).min();
    let spec = RunSpec { workflow: ir.workflow.clone(), version: ir.version, deadline, ..new.spec.clone() };
    let run = step.new_run();
    begin(step, run, spec, new.input.clone(), by);
    Ok(Reply::Run { run, status: RunStatus::Running })
}

/// Heard twice, it is begun once.
pub(super) fn begin(step: &mut Step<'_>, run: RunId, spec: RunSpec, input: Payload, by: &Actor) {
    if step.state().runs.get(run).is_some() {
        return;
    }
    step.record_run(run, Record::RunStarted { spec: Box::new(spec), by: by.clone() }, Some(input));
    walk::begin(step, run, &FramePath::root());
}

fn running<'a>(step: &'a Step<'_>, run: RunId, verb: &'static str) -> Result<&'a crate::runs::Live, Rejection> {
    let live = step.state().runs.get(run).ok_or(Rejection::RunNotFound { run })?;
    let status = live.run.status;
    if status == RunStatus::Running { Ok(live) } else { Err(Rejection::RunEnded { run, status, verb }) }
}

pub(super) fn cancel(step: &mut Step<'_>, run: RunId, by: &Actor, reason: &str) -> Result<Reply, Rejection> {
    running(step, run, "cancel")?;
    step.record_run(run, Record::RunCancelled { reason: reason.to_owned(), by: by.clone(), closed: false }, None);
    walk::over(step, run, Ending::Cancelled { by: by.clone(), reason: reason.to_owned() });
    Ok(Reply::Run { run, status: RunStatus::Cancelled })
}

pub(super) fn pause(step: &mut Step<'_>, run: RunId, by: &Actor, reason: &str) -> Result<Reply, Rejection> {
    if !running(step, run, "pause")?.run.is_paused() {
        step.record_run(run, Record::RunPaused { reason: reason.to_owned(), by: by.clone() }, None);
    }
    Ok(Reply::Run { run, status: RunStatus::Running })
}

pub(super) fn resume(step: &mut Step<'_>, run: RunId, by: &Actor) -> Result<Reply, Rejection> {
    if running(step, run, "resume")?.run.is_paused() {
        step.record_run(run, Record::RunResumed { by: by.clone() }, None);
        for spot in step.state().runs.get(run).expect("it runs").waiting() {
            step.follow(FollowUp::Arrive(spot));
        }
    }
    Ok(Reply::Run { run, status: RunStatus::Running })
}

/// Once; a second answer finds that it was answered.
pub(super) fn answer(step: &mut Step<'_>, at: &NodeAt, approved: bool, comment: &str, by: &Actor) -> Result<Reply, Rejection> {
    let live = running(step, at.run, "answer")?;
    let unknown = || Rejection::NodeNotFound { at: at.clone() };
    let node = live.ir.find(&at.node).ok_or_else(unknown)?;
    let slot = live.slot(&at.frame, node).ok_or_else(unknown)?;
    if !matches!(slot.state, NodeState::Started { at: Started::Asking { .. }, .. }) {
        return Err(Rejection::NotAsking { at: at.clone(), status: slot.state.as_str() });
    }
    let spot = Spot { run: at.run, frame: at.frame.clone(), node };
    let answer = serde_json::json!({"approved": approved, "by": by.as_str(), "comment": comment});
    walk::answered(step, &spot, approved, by, comment, Payload(answer.to_string().into()));
    Ok(Reply::Done)
}

/// What was held because a value was missing, or for the next batch, is looked at again; what is due wakes; what nobody
/// waits for is dropped.
pub(super) fn proceed(step: &mut Step<'_>) {
    for held in step.take_held() {
        match held {
            Held::Node(spot) => step.follow(FollowUp::Arrive(spot)),
            Held::Frame(run, path) => step.follow(FollowUp::Close(run, path)),
        }
    }
    for spot in step.state().runs.due(step.now()) {
        walk::wake(step, &spot);
    }
    walk::drop_orphans(step);
}
