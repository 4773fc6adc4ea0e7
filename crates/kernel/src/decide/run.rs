//! What is asked of a run as a whole: start, cancel, and the answer to an approval; the rest is in files of its own.

pub(super) mod follow;
pub(super) mod fork;
pub(super) mod patch;
pub(super) mod pause;
pub(super) mod recall;
pub(super) mod remove;
pub(super) mod restart;
pub(super) mod retry;
pub(super) mod skip;
pub(super) mod supervise;
pub(super) mod unfit;

use super::walk;
use crate::command::Reply;
use crate::frame::{Frame, FramePath};
use crate::ids::{RecordSeq, RunId};
use crate::ir::{NodeIx, NodeKind};
use crate::message::{Ending, Message};
use crate::names::{Actor, WorkflowName};
use crate::node::{NodeState, Started};
use crate::record::{Failure, Payload, Record};
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
    let (workflow, version) = (new.workflow.clone(), new.version);
    if let Some(key) = &new.spec.idempotency_key
        && let Some(run) = step.state().runs.by_key(&workflow, key)
    {
        return Ok(Reply::Started { run, duplicate: true });
    }
    if let Some(rejection) = super::workflow::refuses(step, &workflow) {
        return Err(rejection);
    }
    let (version, ir) = match step.ir(&workflow, version) {
        None => return Err(Rejection::WorkflowNotFound { workflow, version }),
        Some(Err(why)) => return Err(Rejection::Invalid { why }),
        Some(Ok(found)) => found,
    };
    let limit_ms = ir.limits.deadline_ms;
    let deadline = new.spec.deadline.into_iter().chain(limit_ms.map(|ms| step.now().plus_ms(ms))).min();
    let asked_ms = new.spec.deadline.map(|deadline| deadline.ms_since(step.now()));
    let spec = RunSpec { workflow, version, deadline, asked_ms, ..new.spec.clone() };
    let run = step.new_run();
    begin(step, run, spec, new.input.clone(), by);
    Ok(Reply::Started { run, duplicate: false })
}

/// Heard twice, it is begun once.
pub(super) fn begin(step: &mut Step<'_>, run: RunId, spec: RunSpec, input: Payload, by: &Actor) {
    if step.state().runs.get(run).is_some() {
        return;
    }
    // Whoever asks has looked the workflow up, and it stays known for good; but what compiled once may not on another shard,
    // or after an update.
    let why = match step.ir(&spec.workflow, Some(spec.version)) {
        Some(Ok(_)) => None,
        Some(Err(why)) => Some(why),
        None => Some(format!("there is no workflow `{}` with version {}", spec.workflow, spec.version)),
    };
    if let Some(message) = why {
        if let Some(at) = spec.parent {
            let result = Ending::Failed(Failure { code: "bad_workflow".into(), message });
            step.send(Message::RunEnded { at, run, again: 0, result });
        }
        return;
    }
    step.record_run(run, Record::RunStarted { spec: Box::new(spec), by: by.clone() }, Some(input));
    walk::begin(step, run, &FramePath::root());
}

fn found<'a>(step: &'a Step<'_>, run: RunId) -> Result<&'a crate::runs::Live, Rejection> {
    step.state().runs.get(run).ok_or(Rejection::RunNotFound { run })
}

fn running<'a>(step: &'a Step<'_>, run: RunId, verb: &'static str) -> Result<&'a crate::runs::Live, Rejection> {
    let live = found(step, run)?;
    let status = live.run.status;
    if status == RunStatus::Running { Ok(live) } else { Err(Rejection::RunEnded { run, status, verb }) }
}

/// Whoever asks twice hears the same, so that who heard nothing may ask again.
pub(super) fn cancel(step: &mut Step<'_>, run: RunId, by: &Actor, reason: &str) -> Result<Reply, Rejection> {
    if found(step, run)?.run.status == RunStatus::Cancelled {
        return Ok(Reply::Run { run, status: RunStatus::Cancelled, changed: false });
    }
    running(step, run, "cancel")?;
    step.record_run(run, Record::RunCancelled { reason: reason.to_owned(), by: by.clone(), closed: false }, None);
    walk::over(step, run, Ending::Cancelled { by: by.clone(), reason: reason.to_owned() });
    Ok(Reply::Run { run, status: RunStatus::Cancelled, changed: true })
}

/// Nobody wants a run that was called any more. One that was tried again since is wanted.
pub(super) fn withdraw(step: &mut Step<'_>, run: RunId, again: u32, by: &Actor, reason: &str) {
    if running(step, run, "cancel").is_ok_and(|live| live.run.again == again) {
        _ = cancel(step, run, by, reason);
    }
}

/// Once; a second answer finds that it was answered.
pub(super) fn answer(step: &mut Step<'_>, at: &NodeAt, approved: bool, comment: &str, by: &Actor) -> Result<Reply, Rejection> {
    let live = running(step, at.run, "answer")?;
    let unknown = || Rejection::NodeNotFound { at: at.clone() };
    let at = &NodeAt { frame: live.present(&at.frame).unwrap_or_else(|| at.frame.clone()), ..at.clone() };
    let found = live.find(&at.frame, &at.node).and_then(|node| Some((node, live.slot(&at.frame, node)?)));
    let (node, slot) = match found {
        Some(found) => found,
        None if live.is_over(&at.frame, &at.node) => return Err(Rejection::NotAsking { at: at.clone(), status: "over" }),
        None => return Err(unknown()),
    };
    // What it belongs to has failed or was cancelled: it is dropped in the next batch, and nobody waits for an answer.
    if !live.is_wanted(&at.frame) {
        return Err(Rejection::NotAsking { at: at.clone(), status: NodeState::Cancelled.as_str() });
    }
    if !matches!(slot.state, NodeState::Started { at: Started::Asking { .. }, .. }) {
        return Err(Rejection::NotAsking { at: at.clone(), status: slot.state.as_str() });
    }
    asked(live.frame(&at.frame).expect("it was looked at"), node, at, by)?;
    let spot = Spot { run: at.run, frame: at.frame.clone(), node };
    let answer = serde_json::json!({"approved": approved, "by": by.as_str(), "comment": comment});
    walk::answered(step, &spot, approved, by, comment, Payload(answer.to_string().into()));
    Ok(Reply::Done)
}

/// Whether somebody may say how an approval ends.
fn asked(frame: &Frame, node: NodeIx, at: &NodeAt, by: &Actor) -> Result<(), Rejection> {
    match &frame.ir().node(node).kind {
        NodeKind::Approval { who, .. } if !who.is_empty() && !who.iter().any(|name| **name == *by.as_str()) => {
            Err(Rejection::NotAsked { at: at.clone(), by: by.clone(), who: who.join(", ") })
        }
        _ => Ok(()),
    }
}

/// What waited for these, and now has all it waited for, goes on.
pub(super) fn take_values(step: &mut Step<'_>, values: &[(RecordSeq, usize)]) {
    step.came(values);
    take_up(step);
}

fn take_up(step: &mut Step<'_>) {
    for held in step.take_held() {
        match held {
            Held::Node(_) if crate::defect("held_forgotten") => {}
            Held::Node(spot) => step.follow(FollowUp::Arrive(spot)),
            Held::Frame(run, path) => step.follow(FollowUp::Close(run, path)),
        }
    }
}

/// What cannot go on fails; what was held for the next batch is looked at again; what is due wakes; what nobody waits for is
/// dropped; who has not heard of a pause does, and who has not seen a patch; what was called is called back; what is to be deleted goes on going.
pub(super) fn proceed(step: &mut Step<'_>) {
    unfit::go_on(step);
    // By the numbers that nodes had when their events were loaded.
    walk::look_back(step);
    // Before anything else is looked at by the numbers that nodes have in a text.
    follow::go_on(step);
    take_up(step);
    for run in step.state().runs.late(step.now()) {
        let message = "it was not over by its deadline".into();
        walk::fail_run(step, run, Failure { code: "deadline".into(), message });
    }
    for spot in step.state().runs.due(step.now()) {
        walk::wake(step, &spot);
    }
    walk::drop_orphans(step);
    pause::go_on(step);
    recall::go_on(step);
    remove::go_on(step);
    supervise::sweep(step);
}
