//! How a run goes on: tokens come to nodes, nodes are entered or skipped, end, and send tokens on, until everything waits
//! for somebody else. Each of these is a follow-up, first in, first out, in the batch of what caused it.

mod enter;
mod frames;
mod hear;

use crate::eval::{Evaluated, Json, Shape};
use crate::frame::{Cause, FramePath, Verdict};
use crate::ids::{RecordSeq, RunId, TaskId};
use crate::ir::{ExprIx, Ir, NodeIx, OnError};
use crate::message::{Ending, Message};
use crate::names::Actor;
use crate::node::{NodeState, Started, Told, Went};
use crate::record::{Failure, Payload, Record};
use crate::run::{NodeAt, RunStatus};
use crate::runs::{Held, Live, Spot};
use crate::step::{FollowUp, Step};
use std::sync::Arc;

pub(super) use super::itself;
pub(super) use frames::{close, drop_orphans, fail_run, give_up, over, wake};
pub(super) use hear::{look_back, offer};

/// What came of asking an expression.
enum Asked {
    Json(Json),
    /// A value is missing: the node is held until it is there.
    Held,
    Failed(Failure),
}

fn live<'a>(step: &'a Step<'_>, run: RunId) -> Option<&'a Live> {
    let runs = &step.state().runs;
    runs.get(run).filter(|live| live.run.status == RunStatus::Running && !runs.unfit.contains(run))
}

/// `None`: nobody waits for it any more, and what is told to it changes nothing.
fn state<'a>(step: &'a Step<'_>, spot: &Spot) -> Option<&'a NodeState> {
    let live = live(step, spot.run).filter(|live| live.is_wanted(&spot.frame))?;
    live.slot(&spot.frame, spot.node).map(|slot| &slot.state)
}

/// The text that a node stands in.
fn ir(step: &Step<'_>, spot: &Spot) -> Option<Arc<Ir>> {
    live(step, spot.run)?.frame(&spot.frame).map(|frame| frame.ir.clone())
}

/// The first tokens of a frame.
pub(super) fn begin(step: &mut Step<'_>, run: RunId, frame: &FramePath) {
    let Some(live) = live(step, run) else { return };
    let opened = live.frame(frame).expect("the frame was just opened");
    for node in opened.ir.body(opened.body).entries.clone() {
        step.follow(FollowUp::Arrive(Spot { run, frame: frame.clone(), node }));
    }
}

/// A token has come to a node, or what held it is over.
pub(super) fn arrive(step: &mut Step<'_>, spot: Spot) {
    if state(step, &spot) != Some(&NodeState::Waiting) {
        return frames::go_on(step, &spot);
    }
    let live = live(step, spot.run).expect("it has a state");
    let frame = live.frame(&spot.frame).expect("it has a state");
    if !frame.is_open() {
        return;
    }
    let verdict = frame.verdict(spot.node);
    // What has come to a paused run stays where it is; resuming looks at it again.
    let stays = verdict == Verdict::Enter && live.run.is_paused() && !crate::defect("paused_run_begins");
    if verdict == Verdict::Wait || stays {
        return;
    }
    // What was begun before and goes on is counted already.
    if live.last_of(&spot.frame, spot.node) == RecordSeq::NONE && has_spent(step, spot.run) {
        return;
    }
    match verdict {
        Verdict::Wait => {}
        Verdict::Skip(cause) => skip(step, &spot, cause),
        Verdict::Enter => enter::enter(step, &spot),
    }
}

/// Whether a run has begun all that it may; then it fails.
fn has_spent(step: &mut Step<'_>, run: RunId) -> bool {
    let Some(live) = live(step, run) else { return true };
    let steps_max = live.ir().limits.steps_max;
    let spent = live.steps >= steps_max;
    if spent {
        let message = format!("it has begun {steps_max} nodes, turns and items, as many as `limits.steps` allows");
        fail_run(step, run, Failure { code: "steps_spent".into(), message });
    }
    spent
}

fn skip(step: &mut Step<'_>, spot: &Spot, cause: Cause) {
    step.record_node(spot, Record::NodeSkipped { cause }, None);
    ended(step, spot);
}

fn done(step: &mut Step<'_>, spot: &Spot, output: Told, went: Went, payload: Option<Payload>) {
    step.record_node(spot, Record::NodeDone { output, went }, payload);
    ended(step, spot);
}

/// Its attempts are spent, or it never could.
fn fail(step: &mut Step<'_>, spot: &Spot, failure: Failure) {
    let Some(ir) = ir(step, spot) else { return };
    let then = ir.node(spot.node).on_error;
    step.record_node(spot, Record::NodeFailed { failure: failure.clone(), then }, None);
    match then {
        OnError::To | OnError::Ignore => ended(step, spot),
        OnError::Fail => frames::fail(step, spot.run, &spot.frame, failure, Some(spot.node)),
    }
}

/// A node has ended: its tokens go on, and perhaps it was the last of its frame.
pub(super) fn ended(step: &mut Step<'_>, spot: &Spot) {
    let Some(ir) = ir(step, spot) else { return };
    let mut targets: Vec<NodeIx> = ir.node(spot.node).outs.iter().map(|edge| ir.edge(*edge).to).collect();
    targets.sort_unstable();
    targets.dedup();
    for node in targets {
        step.follow(FollowUp::Arrive(Spot { node, ..spot.clone() }));
    }
    if live_frame_is_over(step, spot) {
        step.follow(FollowUp::Close(spot.run, spot.frame.clone()));
    }
}

fn live_frame_is_over(step: &Step<'_>, spot: &Spot) -> bool {
    live(step, spot.run).and_then(|live| live.frame(&spot.frame)).is_some_and(|frame| {
        let over = frame.open == 0 || (frame.open == 1 && crate::defect("frame_closed_early"));
        frame.is_open() && over
    })
}

/// Asks an expression of a node. `output` is what that name means to it.
fn ask(step: &mut Step<'_>, spot: &Spot, expr: ExprIx, output: Shape) -> Asked {
    let ir = ir(step, spot).expect("only what runs asks");
    let live = live(step, spot.run).expect("as above");
    let scope = live.scope(&spot.frame, &ir, &ir.expr(expr).reads, output);
    answer(step, spot, |step| step.eval(&ir, expr, &scope))
}

fn answer(step: &mut Step<'_>, spot: &Spot, ask: impl FnOnce(&mut Step<'_>) -> Evaluated) -> Asked {
    match ask(step) {
        Evaluated::Value(json) => Asked::Json(json),
        Evaluated::Failed(failure) => Asked::Failed(failure),
        Evaluated::Missing(values) => {
            step.hold(Held::Node(spot.clone()), values);
            Asked::Held
        }
    }
}

/// The node that a message is for, if it still waits for it.
fn spot_of(step: &Step<'_>, at: &NodeAt) -> Option<Spot> {
    let live = live(step, at.run)?;
    let node = live.find(&at.frame, &at.node)?;
    Some(Spot { run: at.run, frame: at.frame.clone(), node })
}

/// A task has ended. Heard twice, or after the node went on without it, it changes nothing.
pub(super) fn task_ended(step: &mut Step<'_>, at: &NodeAt, task: TaskId, result: Ending) {
    let Some(spot) = spot_of(step, at) else { return };
    let waits = matches!(state(step, &spot), Some(NodeState::Started { at: Started::Working { task: its }, .. }) if *its == task);
    if waits || crate::defect("ended_twice") {
        settle(step, &spot, result);
    }
}

/// A run that was called has ended. The end of an earlier try is heard late, and changes nothing either.
pub(super) fn run_ended(step: &mut Step<'_>, at: &NodeAt, run: RunId, again: u32, result: Ending) {
    if let Some(spot) = calling(step, at, run, again) {
        settle(step, &spot, result);
    }
}

/// A run that was called is to go on and cannot: the node begins anew.
pub(super) fn call_lost(step: &mut Step<'_>, at: &NodeAt, run: RunId, again: u32) {
    if let Some(spot) = calling(step, at, run, again) {
        step.record_node(&spot, Record::NodeReopened { by: itself(), only: false }, None);
        step.follow(FollowUp::Arrive(spot));
    }
}

fn calling(step: &Step<'_>, at: &NodeAt, run: RunId, again: u32) -> Option<Spot> {
    let spot = spot_of(step, at)?;
    let (its, often) = state(step, &spot)?.call()?;
    (its == run && (often == again || crate::defect("first_end_again"))).then_some(spot)
}

fn settle(step: &mut Step<'_>, spot: &Spot, result: Ending) {
    match result {
        Ending::Done(value) => done(step, spot, Told::At(value), Went::Done, None),
        Ending::Carried(payload) => done(step, spot, Told::Own, Went::Done, Some(payload)),
        Ending::Failed(failure) => fail(step, spot, failure),
        Ending::Cancelled { by, reason } => {
            let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
            fail(step, spot, Failure { code: "cancelled".into(), message: format!("cancelled by {by}{why}") });
        }
    }
}

/// Somebody has answered.
pub(super) fn answered(step: &mut Step<'_>, spot: &Spot, approved: bool, by: &Actor, comment: &str, answer: Payload) {
    if approved {
        return done(step, spot, Told::Own, Went::Done, Some(answer));
    }
    if frames::leads(step, spot, crate::ir::On::Reject) {
        return done(step, spot, Told::Own, Went::Reject, Some(answer));
    }
    let why = if comment.is_empty() { String::new() } else { format!(": {comment}") };
    fail(step, spot, Failure { code: "rejected".into(), message: format!("{by} refused{why}") });
}

/// Takes back what a node that was started is at.
pub(super) fn withdraw(step: &mut Step<'_>, at: &Started, by: &Actor, reason: &str) {
    match at {
        Started::Working { task } => {
            step.send(Message::Withdraw { task: *task, by: by.clone(), reason: reason.to_owned() });
        }
        Started::Calling { .. } if crate::defect("call_goes_on") => {}
        Started::Calling { run, again } => {
            step.send(Message::CancelRun { run: *run, again: *again, by: by.clone(), reason: reason.to_owned() });
        }
        Started::Asking { .. } | Started::Sleeping { .. } | Started::Awaiting(_) => {}
        Started::Turning { .. } | Started::Spreading { .. } => {}
    }
}

#[cfg(test)]
mod tests;
