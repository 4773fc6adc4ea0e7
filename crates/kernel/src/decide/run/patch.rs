//! Patch a run: it goes on by another text, of which everything that has begun is a part as it was. The run's own frame follows
//! the new text from here on; a turn or an item that is under way follows it if it can, and otherwise keeps the text it has. What
//! is opened later follows the text of the frame it is opened in.

use super::found;
use crate::command::Reply;
use crate::frame::{Frame, FramePath};
use crate::frozen::Frozen;
use crate::ids::RunId;
use crate::ir::{BodyIx, Ir, NodeIx, OnError, ROOT};
use crate::limits::{CHUNK_ITEMS_MAX, PATCH_TOLD_MAX, RUN_REVISIONS_MAX};
use crate::names::{Actor, NodeId};
use crate::node::{NodeState, Slot, Started};
use crate::record::{Payload, Record};
use crate::rejection::Rejection;
use crate::run::{NodeAt, RunStatus};
use crate::runs::{Live, Spot};
use crate::step::{FollowUp, Step};
use crate::time::Time;
use std::sync::Arc;

/// A text that was compiled at the door, for one run.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRevision {
    /// The revision it was made of. If the run has gone on to another meanwhile, it is refused.
    pub base: u32,
    pub ir: Arc<Ir>,
    /// The text, and the operations that made it.
    pub payload: Payload,
    pub description: String,
    /// Only the turn or item of the node that is named with it follows it.
    pub alone: bool,
}

/// What a patch does, or would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patched {
    pub run: RunId,
    pub revision: u32,
    /// Nodes that have all they wait for, by it.
    pub next: Vec<NodeAt>,
    /// Turns and items under way that keep the text they have, with the node that is why.
    pub keeps: Vec<(FramePath, NodeId)>,
}

/// `dry`: nothing is changed. `node`: whose worker asks.
pub(in crate::decide) fn decide(
    step: &mut Step<'_>,
    run: RunId,
    new: &NewRevision,
    node: Option<&NodeAt>,
    dry: bool,
    by: &Actor,
) -> Result<Reply, Rejection> {
    let live = found(step, run)?;
    if live.run.status == RunStatus::Done {
        return Err(Rejection::RunEnded { run, status: live.run.status, verb: "patch" });
    }
    let is_open = begins_anew(live);
    check(live, new, &is_open)?;
    if let Some(why) = step.state().runs.unfit.why(run) {
        return Err(Rejection::Invalid { why: why.to_string() });
    }
    let patched = outlook(live, new, &is_open);
    if !dry {
        record(step, run, new, node, by);
        go_on(step, run);
    }
    Ok(Reply::Patched(Box::new(patched)))
}

/// Which nodes are to begin anew anyway: of a run that has ended, what a retry would begin again from the start.
pub(super) fn begins_anew(live: &Live) -> impl Fn(&FramePath, NodeIx, &Slot) -> bool + use<> {
    let ended = live.run.status != RunStatus::Running;
    move |_, _, slot| {
        let short = matches!(slot.state, NodeState::Failed { then: OnError::Fail, .. } | NodeState::Cancelled);
        ended && short && slot.work().is_none_or(|(_, at)| at.again(false).is_none())
    }
}

/// Whether what leads to a frame may follow this text, or that frame alone.
pub(super) fn check_for(
    live: &Live,
    new: &NewRevision,
    path: &FramePath,
    is_open: &dyn Fn(&FramePath, NodeIx, &Slot) -> bool,
) -> Result<(), Rejection> {
    let alone = new.alone && !path.is_root();
    if alone {
        takes(live, new)?
    } else {
        check(live, new, is_open)?
    }
    let mut at = path.clone();
    while let Some((above, of, _)) = at.up() {
        let frame = live.frame(&at).expect("it was looked at");
        let body = new.ir.find(of).and_then(|of| new.ir.body_of(of));
        let misfit = match body {
            None => Some((of.clone(), "running", Frozen::Gone)),
            Some(body) => frame.misfit(&new.ir, body, |node, slot| is_open(&at, node, slot)),
        };
        if let Some((node, status, frozen)) = misfit {
            return Err(Rejection::Frozen { at: NodeAt { run: live.run.id, frame: at, node }, status, frozen });
        }
        if alone {
            break;
        }
        at = above;
    }
    Ok(())
}

/// Whether a run may follow this text.
pub(super) fn check(
    live: &Live,
    new: &NewRevision,
    is_open: &dyn Fn(&FramePath, NodeIx, &Slot) -> bool,
) -> Result<(), Rejection> {
    takes(live, new)?;
    let run = live.run.id;
    let root = FramePath::root();
    if let Some((node, status, frozen)) = live.root.misfit(&new.ir, ROOT, |node, slot| is_open(&root, node, slot)) {
        return Err(Rejection::Frozen { at: NodeAt { run, frame: root, node }, status, frozen });
    }
    // What was undone and is still being stopped has to be known until then.
    for (path, frame) in &live.frames {
        let (above, node, _) = path.up().expect("it is below the root");
        let of_root = above.is_root() && new.ir.find_in(ROOT, node).is_none();
        if of_root && (frame.is_open() || frame.nodes.iter().any(|slot| matches!(slot.state, NodeState::Started { .. }))) {
            let at = NodeAt { run, frame: above, node: node.clone() };
            return Err(Rejection::Frozen { at, status: "being stopped", frozen: Frozen::Gone });
        }
    }
    Ok(())
}

/// Whether a run takes another text at all.
fn takes(live: &Live, new: &NewRevision) -> Result<(), Rejection> {
    let run = live.run.id;
    if live.run.deleting.is_some() {
        return Err(Rejection::RunNotFound { run });
    }
    if live.run.live && live.run.status != RunStatus::Running {
        return Err(Rejection::RunEnding { run });
    }
    let revision = live.run.revision();
    if new.base != revision {
        return Err(Rejection::RevisionConflict { run, expected: new.base, revision });
    }
    if revision >= RUN_REVISIONS_MAX {
        return Err(Rejection::RevisionsTaken { run, max: RUN_REVISIONS_MAX });
    }
    Ok(())
}

/// What of a turn or an item stands against its following another text; `None`: it can.
fn against(path: &FramePath, frame: &Frame, new: &Ir, is_open: &dyn Fn(&FramePath, NodeIx, &Slot) -> bool) -> Option<NodeId> {
    let (_, of, _) = path.up().expect("it is below the root");
    let body: Option<BodyIx> = new.find(of).and_then(|of| new.body_of(of));
    match body {
        None => Some(of.clone()),
        Some(body) => frame.misfit(new, body, |node, slot| is_open(path, node, slot)).map(|(node, ..)| node),
    }
}

/// The text that a frame which is taken up again follows: that of the frame above, if it can.
fn revision_of(step: &Step<'_>, run: RunId, path: &FramePath) -> u32 {
    let live = step.state().runs.get(run).expect("it is being reopened");
    let frame = live.frame(path).expect("it is being reopened");
    let above = path.up().and_then(|(above, ..)| live.frame(&above)).expect("it is below the root");
    // Whatever stopped short in it begins anew.
    let is_open = |_: &FramePath, _: NodeIx, slot: &Slot| {
        let short = matches!(slot.state, NodeState::Failed { then: OnError::Fail, .. } | NodeState::Cancelled);
        short && slot.work().is_none_or(|(_, at)| at.again(false).is_none())
    };
    let follows = above.revision != frame.revision
        && !live.run.is_alone(frame.revision)
        && against(path, frame, &above.ir, &is_open).is_none();
    if follows { above.revision } else { frame.revision }
}

/// What would become of it, looked at without changing anything.
fn outlook(live: &Live, new: &NewRevision, is_open: &dyn Fn(&FramePath, NodeIx, &Slot) -> bool) -> Patched {
    let (run, mut next, mut keeps) = (live.run.id, Vec::new(), Vec::new());
    let mut follow: Vec<FramePath> = Vec::new();
    for (path, frame) in live.open_frames() {
        let above = path.up().map(|(above, ..)| above);
        let why = match &above {
            None => None,
            Some(above) if !follow.contains(above) => continue,
            Some(_) if follow.len() > CHUNK_ITEMS_MAX => path.up().map(|(_, of, _)| of.clone()),
            Some(_) if live.run.is_alone(frame.revision) => path.up().map(|(_, of, _)| of.clone()),
            Some(_) => against(path, frame, &new.ir, is_open),
        };
        if let Some(node) = why {
            keeps.push((path.clone(), node));
            continue;
        }
        let body = path.up().and_then(|(_, of, _)| new.ir.body_of(new.ir.find(of)?)).unwrap_or(ROOT);
        let after = frame.revised(&new.ir, live.run.revision() + 1, body, |_| None).0;
        let nodes = new.ir.body(body).nodes.iter();
        let free = nodes.filter(|node| {
            let waited = frame
                .ir
                .find(&new.ir.node(**node).id)
                .is_some_and(|node| frame.ir.node(node).body == frame.body && frame.verdict(node) != crate::frame::Verdict::Wait);
            *after.node(**node) == NodeState::Waiting && after.verdict(**node) == crate::frame::Verdict::Enter && !waited
        });
        next.extend(free.map(|node| NodeAt { run, frame: path.clone(), node: new.ir.node(*node).id.clone() }));
        follow.push(path.clone());
    }
    next.truncate(PATCH_TOLD_MAX);
    keeps.truncate(PATCH_TOLD_MAX);
    Patched { run, revision: live.run.revision() + 1, next, keeps }
}

/// The run follows the new text, or only the frame that is meant.
pub(super) fn record_for(step: &mut Step<'_>, run: RunId, new: &NewRevision, path: &FramePath, by: &Actor) {
    if !new.alone || path.is_root() {
        return record(step, run, new, None, by);
    }
    let live = step.state().runs.get(run).expect("it was looked at");
    let (revision, deadline) = (live.run.revision() + 1, live.run.spec.deadline);
    step.learn_revision(run, revision, new.ir.clone());
    let (description, only, by) = (new.description.clone(), Some(path.clone()), by.clone());
    let patched = Record::RunPatched { revision, description, node: None, only, deadline, by };
    step.record_run(run, patched, Some(new.payload.clone()));
    follow(step, run, path, &new.ir, |step| {
        step.record_frame(run, path, Record::FramePatched { revision }, None);
    });
}

/// The run follows the new text, and what is under way in it as far as it can.
pub(super) fn record(step: &mut Step<'_>, run: RunId, new: &NewRevision, node: Option<&NodeAt>, by: &Actor) {
    let live = step.state().runs.get(run).expect("it was looked at");
    let revision = live.run.revision() + 1;
    let deadline = deadline(live, &new.ir);
    step.learn_revision(run, revision, new.ir.clone());
    let (description, node, by) = (new.description.clone(), node.cloned(), by.clone());
    follow(step, run, &FramePath::root(), &new.ir, |step| {
        step.record_run(
            run,
            Record::RunPatched { revision, description, node, only: None, deadline, by },
            Some(new.payload.clone()),
        );
    });
    let live = step.state().runs.get(run).expect("as above");
    let paths: Vec<FramePath> = live.open_frames().map(|(path, _)| path.clone()).filter(|path| !path.is_root()).collect();
    let mut many = 0;
    for path in paths {
        if many == CHUNK_ITEMS_MAX {
            return;
        }
        let live = step.state().runs.get(run).expect("as above");
        let above = path.up().and_then(|(above, ..)| live.frame(&above)).is_some_and(|above| above.revision == revision);
        let frame = live.frame(&path).expect("it is open");
        if above && !live.run.is_alone(frame.revision) && against(&path, frame, &new.ir, &|_, _, _| false).is_none() {
            follow(step, run, &path, &new.ir, |step| {
                step.record_frame(run, &path, Record::FramePatched { revision }, None);
            });
            many += 1;
        }
    }
}

/// Records that a frame goes on by another text. Nodes that were taken out before and are in this one are new in it.
fn follow(step: &mut Step<'_>, run: RunId, path: &FramePath, new: &Ir, record: impl FnOnce(&mut Step<'_>)) {
    let live = step.state().runs.get(run).expect("it is being revised");
    let body = path.up().map_or(Some(ROOT), |(_, of, _)| new.body_of(new.find(of)?)).expect("its loop or each is there");
    let back: Vec<NodeId> = live.removed(path).filter(|id| new.find_in(body, id).is_some()).cloned().collect();
    record(step);
    for id in back {
        let live = step.state().runs.get(run).expect("as above");
        let node = live.find(path, &id).expect("it is in the text");
        if live.slot(path, node).is_some_and(|slot| slot.state != NodeState::Waiting) {
            step.record_node(&Spot { run, frame: path.clone(), node }, Record::NodeReset {}, None);
        }
    }
}

/// A frame that was closed goes on, by the text of the frame above if it can.
pub(in crate::decide) fn reopen(step: &mut Step<'_>, run: RunId, path: &FramePath) {
    let revision = revision_of(step, run, path);
    let live = step.state().runs.get(run).expect("it is being reopened");
    let above = path.up().and_then(|(above, ..)| live.frame(&above)).expect("it is below the root");
    let frame = live.frame(path).expect("it is being reopened");
    let ir = if revision == frame.revision { frame.ir.clone() } else { above.ir.clone() };
    follow(step, run, path, &ir, |step| {
        step.record_frame(run, path, Record::FrameReopened { revision }, None);
    });
}

/// Another time that the run is given counts from its start.
fn deadline(live: &Live, new: &Ir) -> Option<Time> {
    if new.limits.deadline_ms == live.ir().limits.deadline_ms {
        return live.run.spec.deadline;
    }
    new.limits.deadline_ms.map(|ms| live.run.started_at.plus_ms(ms))
}

/// Whatever may go on in a run, whose nodes may wait for something else now.
pub(super) fn go_on(step: &mut Step<'_>, run: RunId) {
    let Some(live) = step.state().runs.get(run).filter(|live| live.run.status == RunStatus::Running) else { return };
    let (mut spots, mut over) = (Vec::new(), Vec::new());
    for (path, frame) in live.open_frames() {
        for (node, slot) in frame.ir.body(frame.body).nodes.iter().zip(&frame.nodes) {
            let moves = match &slot.state {
                NodeState::Waiting => true,
                NodeState::Started { at, .. } => matches!(at, Started::Turning { .. } | Started::Spreading { .. }),
                _ => false,
            };
            if moves {
                spots.push(Spot { run, frame: path.clone(), node: *node });
            }
        }
        if frame.open == 0 {
            over.push(path.clone());
        }
    }
    spots.into_iter().for_each(|spot| step.follow(FollowUp::Arrive(spot)));
    over.into_iter().for_each(|path| step.follow(FollowUp::Close(run, path)));
}
