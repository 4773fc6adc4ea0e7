//! Frames open, close, fail and are dropped; loops turn and eaches spread.

use super::{Asked, begin, done, fail as fail_node, has_spent, ir, live, state, withdraw};
use crate::decide::run::retry;
use crate::eval::{Evaluated, Json, Shape, View};
use crate::frame::{Close, Frame, FramePath, FrameState, Source};
use crate::ids::RunId;
use crate::ir::{EachFailure, NodeIx, NodeKind, On};
use crate::limits::CHUNK_ITEMS_MAX;
use crate::message::{Ending, Message};
use crate::node::{NodeState, Started, Told, Went};
use crate::record::{Failure, Payload, Record};
use crate::run::{RunStatus, ValueAt};
use crate::runs::{Held, Spot};
use crate::step::{FollowUp, Step};

/// `false`: it may not, and the run has failed.
pub(super) fn open(step: &mut Step<'_>, spot: &Spot, index: u32) -> bool {
    if has_spent(step, spot.run) {
        return false;
    }
    let live = live(step, spot.run).expect("only what runs opens frames");
    let above = live.frame(&spot.frame).expect("it is there");
    let (node, revision) = (above.ir.node(spot.node).id.clone(), above.revision);
    let path = spot.frame.below(node, index, live.run.generation);
    step.record_frame(spot.run, &path, Record::FrameOpened { revision }, None);
    begin(step, spot.run, &path);
    true
}

/// What a loop or an each that was started goes on with, now that a frame of it has closed or a value has come.
pub(super) fn go_on(step: &mut Step<'_>, spot: &Spot) {
    match state(step, spot) {
        Some(NodeState::Started { at: Started::Turning { .. }, .. }) => turn(step, spot),
        Some(NodeState::Started { at: Started::Spreading { .. }, .. }) => spread(step, spot),
        Some(NodeState::Started { at: Started::Awaiting(_), .. }) => super::hear::look(step, spot),
        _ => {}
    }
}

/// Every node of a frame has ended.
pub(in crate::decide) fn close(step: &mut Step<'_>, run: RunId, path: &FramePath) {
    let Some(live) = live(step, run) else { return };
    let is_over = |frame: &&Frame| frame.open == 0 || crate::defect("frame_closed_early");
    let Some(frame) = live.frame(path).filter(|frame| is_over(frame) && live.is_wanted(path)) else { return };
    let ir = frame.ir.clone();
    let body = ir.body(frame.body);
    if frame.close() == Close::Stranded {
        let message = "nothing it leads to was done, and something failed on the way".into();
        return fail(step, run, path, Failure { code: "stranded".into(), message }, None);
    }
    let sinks = match body.sinks.as_slice() {
        [one] => frame.source(*one),
        many => {
            let done = many.iter().filter(|sink| matches!(frame.node(**sink), NodeState::Done { .. }));
            Source::Several(done.map(|sink| (*sink, frame.source(*sink))).collect())
        }
    };
    let sinks = Shape::of(&ir, sinks, live.entry(path));
    let held = Held::Frame(run, path.clone());
    let output = match body.output {
        Some(expr) => {
            let scope = live.scope(path, &ir, &ir.expr(expr).reads, sinks);
            let given = step.eval(&ir, expr, &scope);
            taken(step, held, given)
        }
        None => match sinks {
            Shape::At(value) => Ok(Some((value, None))),
            shape => {
                let given = step.gather(&shape);
                taken(step, held, given)
            }
        },
    };
    match output {
        Ok(None) => {}
        Err(failure) => fail(step, run, path, failure, None),
        Ok(Some((output, payload))) if path.is_root() => finish(step, run, output, payload),
        Ok(Some((output, payload))) => {
            step.record_frame(run, path, Record::FrameDone { output }, payload);
            above(step, run, path, |step, spot| step.follow(FollowUp::Arrive(spot.clone())));
        }
    }
}

fn taken(step: &mut Step<'_>, held: Held, given: Evaluated) -> Result<Option<(ValueAt, Option<Payload>)>, Failure> {
    match given {
        Evaluated::Value(json) => Ok(Some((ValueAt::Own, Some(json.payload)))),
        Evaluated::Failed(failure) => Err(failure),
        Evaluated::Missing(values) => {
            step.hold(held, values);
            Ok(None)
        }
    }
}

/// The loop or each that a frame belongs to.
fn above(step: &mut Step<'_>, run: RunId, path: &FramePath, then: impl FnOnce(&mut Step<'_>, &Spot)) {
    let Some((frame, node, _)) = path.up() else { return };
    let node = live(step, run).and_then(|live| live.find(&frame, node));
    if let Some(node) = node {
        then(step, &Spot { run, frame, node });
    }
}

/// After a turn: once more, or on.
fn turn(step: &mut Step<'_>, spot: &Spot) {
    let ir = ir(step, spot).expect("it has a state");
    let live = live(step, spot.run).expect("as above");
    let NodeKind::Loop { until, iterations_max, .. } = ir.node(spot.node).kind else { unreachable!("only loops turn") };
    let id = &ir.node(spot.node).id;
    let Some((path, frame)) = live.below(&spot.frame, id).next_back() else {
        // Its run had spent its steps when it came to the first, and is tried again.
        _ = open(step, spot, 0);
        return;
    };
    let output = match frame.state {
        FrameState::Done(output) => output,
        // It was cut off when something around it had ended, and that goes on.
        FrameState::Dropped => {
            let path = path.clone();
            return retry::take_up(step, spot.run, &path, None, &super::super::itself());
        }
        FrameState::Open | FrameState::Failed => return,
    };
    // A loop that waits for nobody leaves room for others, too.
    if step.opened() >= CHUNK_ITEMS_MAX {
        return step.hold_over(Held::Node(spot.clone()));
    }
    let (_, _, index) = path.up().expect("it is below the loop");
    let scope = live.scope(path, &ir, &ir.expr(until).reads, Shape::At(output));
    let enough = match super::answer(step, spot, |step| step.eval(&ir, until, &scope)) {
        Asked::Held => return,
        Asked::Failed(failure) => return fail_node(step, spot, failure),
        Asked::Json(Json { view: View::Bool(enough), .. }) => enough,
        Asked::Json(json) => {
            let message = super::enter::gave(step, spot, until, &json, "neither true nor false");
            return fail_node(step, spot, Failure { code: "not_a_truth".into(), message });
        }
    };
    if enough {
        return done(step, spot, Told::At(output), Went::Done, None);
    }
    if index + 1 < iterations_max {
        _ = open(step, spot, index + 1);
        return;
    }
    if leads(step, spot, On::Max) {
        return done(step, spot, Told::At(output), Went::Max, None);
    }
    let message = format!("`{id}` did not come to its end within {iterations_max} turns");
    fail_node(step, spot, Failure { code: "iterations_spent".into(), message });
}

pub(super) fn leads(step: &Step<'_>, spot: &Spot, on: On) -> bool {
    let ir = ir(step, spot).expect("it has a state");
    ir.node(spot.node).outs.iter().any(|edge| ir.edge(*edge).on == on)
}

/// As many items as may be under way at once, and the end when all are over.
pub(super) fn spread(step: &mut Step<'_>, spot: &Spot) {
    let ir = ir(step, spot).expect("it has a state");
    let run = live(step, spot.run).expect("as above");
    let NodeKind::Each { concurrency, on_failure, .. } = ir.node(spot.node).kind else { unreachable!("only eaches spread") };
    let Some(NodeState::Started { at: Started::Spreading { count, .. }, .. }) = state(step, spot) else { return };
    let count = *count;
    let mut counts = run.spread(spot);
    let failed_max = match on_failure {
        EachFailure::Fast | EachFailure::WaitAll => 0,
        EachFailure::Tolerate(most) => most,
    };
    let hopeless = counts.failed > failed_max;
    if hopeless && (on_failure != EachFailure::WaitAll || (counts.opened == count && counts.open == 0)) {
        let message = format!("{} of {count} items failed", counts.failed);
        return fail_node(step, spot, Failure { code: "items_failed".into(), message });
    }
    while (counts.dropped > 0 || counts.opened < count) && counts.open < concurrency {
        let room = CHUNK_ITEMS_MAX.saturating_sub(step.opened()) as u32;
        if room == 0 || step.is_full() {
            return step.hold_over(Held::Node(spot.clone()));
        }
        // Those that were cut off when the run ended come first, now that it goes on.
        if counts.dropped > 0 {
            retry::take_up_dropped(step, spot, room.min(concurrency - counts.open));
        } else if !open(step, spot, counts.opened) {
            return;
        }
        counts = live(step, spot.run).expect("it goes on").spread(spot);
    }
    if counts.opened == count && counts.open == 0 && counts.dropped == 0 {
        gather(step, spot);
    }
}

fn gather(step: &mut Step<'_>, spot: &Spot) {
    let run = live(step, spot.run).expect("it has a state");
    let outputs: Vec<ValueAt> = run
        .below(&spot.frame, &run.at(&spot.frame, spot.node).node)
        .map(|(_, frame)| if let FrameState::Done(output) = frame.state { output } else { ValueAt::Null })
        .collect();
    match super::answer(step, spot, |step| step.list(&outputs)) {
        Asked::Held => {}
        Asked::Failed(failure) => fail_node(step, spot, failure),
        Asked::Json(json) => done(step, spot, Told::Own, Went::Done, Some(json.payload)),
    }
}

/// What is held cannot go on.
pub(in crate::decide) fn give_up(step: &mut Step<'_>, held: &Held, failure: Failure) {
    match held {
        Held::Node(spot) if state(step, spot).is_some_and(|state| state.ended().is_none()) => fail_node(step, spot, failure),
        Held::Frame(run, path) if live(step, *run).is_some_and(|live| live.is_wanted(path)) => {
            fail(step, *run, path, failure, None);
        }
        _ => {}
    }
}

/// The run fails for a reason of its own.
pub(in crate::decide) fn fail_run(step: &mut Step<'_>, run: RunId, failure: Failure) {
    if live(step, run).is_some() {
        fail(step, run, &FramePath::root(), failure, None);
    }
}

/// A frame has failed: nothing in it goes on, and what it belongs to hears of it.
pub(super) fn fail(step: &mut Step<'_>, run: RunId, path: &FramePath, failure: Failure, node: Option<NodeIx>) {
    if path.is_root() {
        let live = live(step, run).expect("it fails now");
        let node = node.map(|node| live.at(path, node));
        step.record_run(run, Record::RunFailed { failure: failure.clone(), node, closed: false }, None);
        return over(step, run, Ending::Failed(failure));
    }
    step.record_frame(run, path, Record::FrameFailed { failure: failure.clone() }, None);
    step.orphan(run, path);
    above(step, run, path, |step, spot| match state(step, spot) {
        Some(NodeState::Started { at: Started::Turning { .. }, .. }) => fail_node(step, spot, failure),
        Some(NodeState::Started { at: Started::Spreading { .. }, .. }) => {
            let ir = ir(step, spot).expect("it has a state");
            match ir.node(spot.node).kind {
                NodeKind::Each { on_failure: EachFailure::Fast, .. } => fail_node(step, spot, failure),
                // As a follow-up: a fan-out whose items all fail at once must not nest.
                _ => step.follow(FollowUp::Arrive(spot.clone())),
            }
        }
        _ => {}
    });
}

fn finish(step: &mut Step<'_>, run: RunId, output: ValueAt, payload: Option<Payload>) {
    let closed = !step.state().runs.has_orphans(run);
    let seq = step.record_run(run, Record::RunDone { output, closed }, payload);
    over(step, run, Ending::Done(output.at(seq)));
}

/// A run has ended: whoever called it hears of it, and what is left of it is dropped.
pub(in crate::decide) fn over(step: &mut Step<'_>, run: RunId, result: Ending) {
    let live = step.state().runs.get(run).expect("it has just ended");
    if let Some(task) = live.run.spec.task {
        step.send(Message::HandedBack { task, run, result: result.clone() });
    }
    let live = step.state().runs.get(run).expect("it has just ended");
    if let Some(at) = live.run.spec.parent.clone() {
        let again = live.run.again;
        step.send(Message::RunEnded { at, run, again, result });
    }
    if step.state().runs.get(run).is_some_and(|live| live.run.live) {
        step.orphan(run, &FramePath::root());
        drop_orphans(step);
    }
}

/// Ends what is under way in frames that nobody waits for any more, at most a chunk in a batch.
pub(in crate::decide) fn drop_orphans(step: &mut Step<'_>) {
    let by = super::super::itself();
    while let Some((run, path)) = step.state().runs.orphans.first().cloned() {
        if step.dropped() >= CHUNK_ITEMS_MAX {
            return;
        }
        let live = step.state().runs.get(run).expect("an orphan's run is in memory");
        // One that is past has nothing to be dropped.
        let frame = live.frame(&path).filter(|frame| !frame.nodes.is_empty());
        let nodes =
            frame.into_iter().flat_map(|frame| frame.ir.body(frame.body).nodes.iter().map(|node| (*node, frame.node(*node))));
        let started = nodes.filter_map(|(node, state)| match state {
            NodeState::Started { at, .. } => Some((node, at.clone())),
            _ => None,
        });
        let started: Vec<(NodeIx, Started)> = started.collect();
        let (is_open, many) = (frame.is_some_and(Frame::is_open), started.len());
        let room = CHUNK_ITEMS_MAX - step.dropped();
        for (node, at) in started.into_iter().take(room) {
            let spot = Spot { run, frame: path.clone(), node };
            step.record_node(&spot, Record::NodeCancelled {}, None);
            if !crate::defect("orphan_works_on") {
                withdraw(step, &at, &by, "what it was for has ended");
            }
        }
        if many > room {
            return;
        }
        if is_open && !path.is_root() {
            step.record_frame(run, &path, Record::FrameDropped {}, None);
        }
        step.adopt(run, &path);
        // Its loop or each may have been restarted since: it takes it up again.
        above(step, run, &path, |step, spot| {
            if matches!(state(step, spot), Some(NodeState::Started { .. })) {
                step.follow(FollowUp::Arrive(spot.clone()));
            }
        });
        let ended = step.state().runs.get(run).is_some_and(|live| live.run.live && live.run.status != RunStatus::Running);
        if ended && !step.state().runs.has_orphans(run) {
            step.record_run(run, Record::RunClosed {}, None);
        }
    }
}

/// A sleep is over, or nobody answered in time, or no event came.
pub(in crate::decide) fn wake(step: &mut Step<'_>, spot: &Spot) {
    match state(step, spot) {
        Some(NodeState::Started { at: Started::Sleeping { .. }, .. }) => done(step, spot, Told::Passed, Went::Done, None),
        Some(NodeState::Started { at: Started::Asking { .. }, .. }) if leads(step, spot, On::Timeout) => {
            done(step, spot, Told::Passed, Went::Timeout, None);
        }
        Some(NodeState::Started { at: Started::Asking { .. }, .. }) => {
            let message = "nobody answered in time".into();
            fail_node(step, spot, Failure { code: "timed_out".into(), message });
        }
        Some(NodeState::Started { at: Started::Awaiting(_), .. }) => super::hear::late(step, spot),
        _ => {}
    }
}
