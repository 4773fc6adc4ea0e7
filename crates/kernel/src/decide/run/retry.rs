//! Try a run again that failed or was cancelled: what failed it and what was cut off by that goes on from where it was; what
//! is done stays done.

use super::{found, patch};
use crate::command::Reply;
use crate::decide::walk;
use crate::frame::{Frame, FramePath, FrameState, Verdict};
use crate::ids::RunId;
use crate::ir::{NodeIx, OnError};
use crate::names::{Actor, NodeId};
use crate::node::{NodeState, Slot, Started};
use crate::record::Record;
use crate::rejection::Rejection;
use crate::run::{NodeAt, RunStatus};
use crate::runs::{Live, Spot};
use crate::step::{FollowUp, Step};
use crate::time::Time;

/// With a node: that one, and what was cut off; without: all that failed it.
pub(in crate::decide) fn decide(
    step: &mut Step<'_>,
    run: RunId,
    only: Option<&NodeAt>,
    new: Option<&patch::NewRevision>,
    reason: &str,
    by: &Actor,
) -> Result<Reply, Rejection> {
    let live = found(step, run)?;
    match live.run.status {
        RunStatus::Failed | RunStatus::Cancelled => {}
        status => return Err(Rejection::NotToRetry { run, status }),
    }
    if live.run.live {
        return Err(Rejection::RunEnding { run });
    }
    if let Some(why) = step.state().runs.unfit.why(run) {
        return Err(Rejection::Invalid { why: why.to_string() });
    }
    if let Some(parent) = &live.run.spec.parent {
        return Err(Rejection::Invalid { why: format!("{run} was called by {}: retry that run", parent.show()) });
    }
    let only = match only {
        None => None,
        Some(at) => {
            let frame = live.present(&at.frame).ok_or_else(|| Rejection::NodeNotFound { at: at.clone() })?;
            Some(NodeAt { frame, ..at.clone() })
        }
    };
    let only = only.as_ref();
    if let Some(at) = only {
        let state = live.find(&at.frame, &at.node).and_then(|node| live.slot(&at.frame, node)).map(|slot| &slot.state);
        let state = state.ok_or_else(|| Rejection::NodeNotFound { at: at.clone() })?;
        if !stopped_short(live, &at.frame, &at.node) {
            return Err(Rejection::NodeSettled { at: at.clone(), status: state.as_str() });
        }
    } else if !may_go_on(live) {
        return Err(Rejection::NothingToRetry { run });
    }
    let frame = only.map_or_else(FramePath::root, |at| at.frame.clone());
    if let Some(new) = new {
        patch::check_for(live, new, &frame, &patch::begins_anew(live))?;
    }
    let again = live.run.again + 1;
    if let Some(new) = new {
        patch::record_for(step, run, new, &frame, by);
    }
    record(step, run, again, reason, by);
    reopen(step, run, &FramePath::root(), only, by);
    Ok(Reply::Run { run, status: RunStatus::Running, changed: true })
}

/// It goes on, and has as long as it was given at first.
fn record(step: &mut Step<'_>, run: RunId, again: u32, reason: &str, by: &Actor) {
    let live = step.state().runs.get(run).expect("it is being reopened");
    let deadline = deadline(step, live);
    let (reason, by) = (reason.to_owned(), by.clone());
    step.record_run(run, Record::RunReopened { deadline, again, reason, by, anew: true }, None);
}

/// As long as it was given at first.
pub(super) fn deadline(step: &Step<'_>, live: &Live) -> Option<Time> {
    let given_ms = live.run.given_ms.filter(|ms| *ms > 0).or(live.ir().limits.deadline_ms);
    given_ms.map(|ms| step.now().plus_ms(ms))
}

/// The run that called it is tried again, and it with it: what is done in it stays done. Heard again, it changes nothing.
/// `false`: it cannot go on.
pub(super) fn with_caller(step: &mut Step<'_>, run: RunId, again: u32, held: Option<u32>) -> bool {
    let Some(live) = step.state().runs.get(run).filter(|live| live.run.deleting.is_none()) else { return false };
    // It is at it, or what was under way in it is still being stopped.
    if live.run.again >= again || live.run.live {
        return true;
    }
    if !may_go_on(live) {
        return false;
    }
    let held = held.filter(|pause| live.run.hold.is_news(*pause));
    let by = walk::itself();
    record(step, run, again, "", &by);
    if let Some(pause) = held {
        // Nothing has begun in it yet.
        step.record_run(run, Record::RunHeld { pause, told: true }, None);
    }
    reopen(step, run, &FramePath::root(), None, &by);
    true
}

/// Something of it stopped short, or it was patched since and may go on without what failed it.
fn may_go_on(live: &Live) -> bool {
    is_broken(live, &FramePath::root()) || live.run.is_fresh()
}

/// Whether something in a frame stopped short.
fn is_broken(live: &Live, path: &FramePath) -> bool {
    let Some(frame) = live.frame(path) else { return false };
    frame.nodes.iter().any(|slot| matches!(slot.state, NodeState::Failed { then: OnError::Fail, .. } | NodeState::Cancelled))
}

/// Whether a node failed its run or was cut off by that, and every loop and each around it with it: what a loop or an each
/// got over is settled.
fn stopped_short(live: &Live, path: &FramePath, node: &NodeId) -> bool {
    let state = live.find(path, node).and_then(|node| live.slot(path, node)).map(|slot| &slot.state);
    let short = matches!(state, Some(NodeState::Failed { then: OnError::Fail, .. } | NodeState::Cancelled));
    // What a restart has undone is past, too.
    let is_done = || live.frame(path).is_none_or(|frame| frame.undone || matches!(frame.state, FrameState::Done(_)));
    short && path.up().is_none_or(|(above, of, _)| !is_done() && stopped_short(live, &above, of))
}

/// Takes up a frame where it stopped. Its record that it is open again is written.
pub(in crate::decide) fn reopen(step: &mut Step<'_>, run: RunId, path: &FramePath, only: Option<&NodeAt>, by: &Actor) {
    let live = step.state().runs.get(run).expect("it is being reopened");
    let frame = live.frame(path).expect("it is being reopened");
    let ir = frame.ir.clone();
    let nodes: Vec<(NodeIx, NodeState)> =
        ir.body(frame.body).nodes.iter().map(|node| (*node, frame.node(*node).clone())).collect();
    for (node, state) in nodes {
        let spot = Spot { run, frame: path.clone(), node };
        let id = &ir.node(node).id;
        let on_the_way = |at: &NodeAt| (at.frame == *path && at.node == *id) || at.frame.is_below(path, id);
        let again = match state {
            NodeState::Failed { then: OnError::Fail, .. } => only.is_none_or(on_the_way),
            NodeState::Cancelled => true,
            _ => false,
        };
        if again {
            // Of the one that was named, all that failed in it.
            let named = |at: &&NodeAt| at.frame == *path && at.node == *id;
            self::again(step, &spot, only.filter(|at| !named(at)), by);
        }
        // Also those that only wait: what they wait for may have come when it was over.
        step.follow(FollowUp::Arrive(spot));
    }
    step.follow(FollowUp::Close(run, path.clone()));
}

/// A node that stopped short, and what is in it.
pub(super) fn again(step: &mut Step<'_>, spot: &Spot, only: Option<&NodeAt>, by: &Actor) {
    step.record_node(spot, Record::NodeReopened { by: by.clone(), only: only.is_some() }, None);
    wait_again(step, spot);
    reopen_frames(step, spot, only, by);
    step.follow(FollowUp::Arrive(spot.clone()));
}

/// While it had failed and others were tried again, what follows from it was skipped. That may come about after all.
fn wait_again(step: &mut Step<'_>, spot: &Spot) {
    let mut next = vec![spot.node];
    while let Some(node) = next.pop() {
        let ir = reopened(step, spot).ir.clone();
        for edge in &ir.node(node).outs {
            let to = ir.edge(*edge).to;
            let frame = reopened(step, spot);
            if matches!(frame.node(to), NodeState::Skipped(_)) && frame.verdict(to) == Verdict::Wait {
                step.record_node(&Spot { node: to, ..spot.clone() }, Record::NodeReset {}, None);
                next.push(to);
            }
        }
    }
}

fn reopened<'a>(step: &'a Step<'_>, spot: &Spot) -> &'a Frame {
    step.state().runs.get(spot.run).and_then(|live| live.frame(&spot.frame)).expect("it is being reopened")
}

/// The frame of a loop that goes on, and that of an each which was named. The others of an each that failed or were cut off
/// are taken up as there is room.
fn reopen_frames(step: &mut Step<'_>, spot: &Spot, only: Option<&NodeAt>, by: &Actor) {
    let live = step.state().runs.get(spot.run).expect("it is being reopened");
    let Some(slot) = live.slot(&spot.frame, spot.node) else { return };
    let turning = match &slot.state {
        NodeState::Started { at: Started::Turning { .. }, .. } => true,
        NodeState::Started { at: Started::Spreading { .. }, .. } => false,
        _ => return,
    };
    let id = live.at(&spot.frame, spot.node).node;
    let named = |path: &FramePath| only.is_some_and(|at| at.frame == *path || at.frame.is_within(path));
    let broken = |state: FrameState, path: &FramePath| match state {
        FrameState::Failed => named(path) || (turning && only.is_none()),
        FrameState::Dropped => turning,
        FrameState::Open | FrameState::Done(_) => false,
    };
    let below = live.below(&spot.frame, &id);
    let paths: Vec<FramePath> = below.filter(|(path, frame)| broken(frame.state, path)).map(|(path, _)| path.clone()).collect();
    for path in paths.into_iter().filter(|_| !crate::defect("frames_left_closed")) {
        take_up(step, spot.run, &path, only, by);
    }
}

/// A frame that was closed before it was done goes on.
pub(in crate::decide) fn take_up(step: &mut Step<'_>, run: RunId, path: &FramePath, only: Option<&NodeAt>, by: &Actor) {
    patch::reopen(step, run, path);
    reopen(step, run, path, only, by);
}

/// The next frames of an each that were cut off, or failed before it was tried again, as many as may be under way.
pub(in crate::decide) fn take_up_dropped(step: &mut Step<'_>, spot: &Spot, many: u32) {
    let live = step.state().runs.get(spot.run).expect("it goes on");
    let id = live.at(&spot.frame, spot.node).node;
    let again = live.slot(&spot.frame, spot.node).and_then(Slot::again_since);
    let dropped = live.below(&spot.frame, &id).filter(|(_, frame)| frame.counts_as(again) == FrameState::Dropped);
    let paths: Vec<FramePath> = dropped.take(many as usize).map(|(path, _)| path.clone()).collect();
    let by = walk::itself();
    for path in paths {
        take_up(step, spot.run, &path, None, &by);
        if step.is_full() {
            return;
        }
    }
}
