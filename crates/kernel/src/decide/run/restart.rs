//! Restart a run from a node: that one and all that follows from it are undone and begin anew, in a new generation; what came
//! before stays. In a loop the turns after it are undone, too, and the loop goes on from that turn; in an each the other items
//! stay, and one that was over is taken up when there is room for it. Whatever else had stopped short goes again, as it does with a retry.

use super::{found, patch, retry};
use crate::command::Reply;
use crate::decide::walk;
use crate::frame::{FramePath, FrameState};
use crate::ids::RunId;
use crate::ir::{NodeIx, NodeKind};
use crate::names::Actor;
use crate::node::{NodeState, Slot};
use crate::record::Record;
use crate::rejection::Rejection;
use crate::run::{NodeAt, RunStatus};
use crate::runs::{Level, Live, Rewind, Spot};
use crate::step::Step;

/// With a revision it goes on by that text, in which what is undone may be another.
pub(in crate::decide) fn decide(
    step: &mut Step<'_>,
    at: &NodeAt,
    new: Option<&patch::NewRevision>,
    reason: &str,
    by: &Actor,
) -> Result<Reply, Rejection> {
    let run = at.run;
    let live = found(step, run)?;
    let rewind = check(live, at)?;
    // What is about to be dropped there has first to be.
    if rewind.levels.iter().any(|level| step.state().runs.is_dropping(run, &level.path)) {
        return Err(Rejection::RunEnding { run });
    }
    if let Some(why) = step.state().runs.unfit.why(run) {
        return Err(Rejection::Invalid { why: why.to_string() });
    }
    if let Some(new) = new {
        let anew = patch::begins_anew(live);
        let is_open = |path: &FramePath, node: NodeIx, slot: &Slot| rewind.begins_anew(path, node) || anew(path, node, slot);
        patch::check_for(live, new, &rewind.levels.last().expect("the node's own").path, &is_open)?;
    }
    let generation = live.run.generation + 1;
    let deadline = match live.run.status {
        RunStatus::Running => live.run.spec.deadline,
        _ => retry::deadline(step, live),
    };
    let frame = rewind.levels.last().expect("the node's own").path.clone();
    let node = NodeAt { frame, ..at.clone() };
    let anew = live.run.status != RunStatus::Running;
    let restarted = Record::RunRestarted { node, generation, deadline, reason: reason.to_owned(), by: by.clone(), anew };
    step.record_run(run, restarted, None);
    // From the inside out, so that nothing is dropped that stays.
    for level in rewind.levels.iter().rev() {
        undo(step, run, level, generation, by);
    }
    if let Some(new) = new {
        patch::record_for(step, run, new, &rewind.levels.last().expect("the node's own").path, by);
    }
    take_up(step, run, &rewind.levels, by);
    Ok(Reply::Run { run, status: RunStatus::Running, changed: true })
}

/// Whether a run can be restarted from there.
fn check(live: &Live, at: &NodeAt) -> Result<Rewind, Rejection> {
    let run = at.run;
    if live.run.deleting.is_some() {
        return Err(Rejection::RunNotFound { run });
    }
    let ended = live.run.status != RunStatus::Running;
    if ended && live.run.live {
        return Err(Rejection::RunEnding { run });
    }
    if let Some(parent) = live.run.spec.parent.as_ref().filter(|_| ended) {
        let why = format!("{run} was called by {} and has ended: restart that run from there", parent.show());
        return Err(Rejection::Invalid { why });
    }
    let rewind = live.rewind(at).ok_or_else(|| Rejection::NodeNotFound { at: at.clone() })?;
    let own = &rewind.levels.last().expect("the node's own").path;
    if live.stands(own, &at.node) == Some(&NodeState::Waiting) {
        return Err(Rejection::NotBegun { at: at.clone() });
    }
    Ok(rewind)
}

/// The frames that lead to the node go on, those above first. An item of an each that was over, and what is in it, only when
/// there is room for it.
fn take_up(step: &mut Step<'_>, run: RunId, levels: &[Level], by: &Actor) {
    let (mut of_each, mut waits) = (false, false);
    for Level { path, through, .. } in levels {
        let live = step.state().runs.get(run).expect("it is being restarted");
        let frame = live.frame(path).expect("it leads to the node");
        let over = !path.is_root() && !frame.is_open();
        let (state, is_each) = (frame.state, |node: NodeIx| matches!(frame.ir.node(node).kind, NodeKind::Each { .. }));
        let leads_on = through.is_some_and(|(node, _)| is_each(node));
        waits |= over && of_each && !crate::defect("restart_without_room");
        of_each = leads_on;
        if waits {
            if matches!(state, FrameState::Done(_) | FrameState::Failed) {
                step.record_frame(run, path, Record::FrameReset {}, None);
            }
            continue;
        }
        if over {
            patch::reopen(step, run, path);
        }
        retry::reopen(step, run, path, None, by);
    }
}

fn undo(step: &mut Step<'_>, run: RunId, level: &Level, generation: u32, by: &Actor) {
    let left = usize::from(level.anew.len() > 1 && crate::defect("restart_leaves_one"));
    for node in level.anew.iter().take(level.anew.len() - left) {
        let spot = Spot { run, frame: level.path.clone(), node: *node };
        let live = step.state().runs.get(run).expect("it is being restarted");
        match live.slot(&level.path, *node).map(|slot| slot.state.clone()) {
            None | Some(NodeState::Waiting) => continue,
            Some(NodeState::Started { at, .. }) => walk::withdraw(step, &at, by, "it begins anew"),
            Some(_) => {}
        }
        step.record_node(&spot, Record::NodeReset {}, None);
    }
    let Some((through, index)) = level.through else { return };
    let live = step.state().runs.get(run).expect("as above");
    let frame = live.frame(&level.path).expect("as above");
    let is_loop = matches!(frame.ir.node(through).kind, NodeKind::Loop { .. });
    let ended = frame.node(through).ended().is_some();
    let later = is_loop && live.turn(&level.path, &frame.ir.node(through).id, index + 1).is_some();
    if ended || later {
        let spot = Spot { run, frame: level.path.clone(), node: through };
        step.record_node(&spot, Record::NodeRewound { turns: index + 1, generation }, None);
    }
}
