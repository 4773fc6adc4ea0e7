//! Patch a run: it goes on by another text, of which everything that has begun is a part as it was. The run's own frame follows
//! the new text from here on; a turn or an item that is under way follows it if it can, and otherwise keeps the text it has. What
//! is opened later follows the text of the frame it is opened in.

use super::follow::{self, Fit, Likeness};
use super::found;
use crate::command::Reply;
use crate::frame::{Frame, FramePath, Verdict};
use crate::frozen::Frozen;
use crate::ids::RunId;
use crate::ir::{BodyIx, Ir, NodeIx, OnError, ROOT};
use crate::limits::{PATCH_LOOKED_MAX, PATCH_SEARCHED_MAX, PATCH_TOLD_MAX, RUN_REVISIONS_MAX};
use crate::names::{Actor, NodeId};
use crate::node::{NodeState, Slot};
use crate::record::{Payload, Record};
use crate::rejection::Rejection;
use crate::run::{NodeAt, RunStatus};
use crate::runs::Live;
use crate::step::Step;
use crate::time::Time;
use rustc_hash::FxHashSet;
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
    /// When it has to be over by it, if that is another time.
    pub deadline: Option<Time>,
    /// Nodes that have all they wait for, by it.
    pub next: Vec<NodeAt>,
    /// Turns and items under way that keep the text they have, with the node that is why: the first, and how many.
    pub keeps: Vec<(FramePath, NodeId)>,
    pub keeps_total: u64,
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
    let own = live.ir().body(ROOT).nodes.iter().filter(|node| live.ir().body_of(**node).is_some());
    for id in own.map(|node| &live.ir().node(*node).id).filter(|id| new.ir.find_in(ROOT, id).is_none()) {
        let busy = |frame: &Frame| frame.nodes.iter().any(|slot| matches!(slot.state, NodeState::Started { .. }));
        if live.opened_by(&root, id).any(|(_, frame)| frame.is_open() || busy(frame)) {
            let at = NodeAt { run, frame: root, node: id.clone() };
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
    let (revision, deadline) = (live.run.revision() + 1, deadline(live, &new.ir));
    let deadline = deadline.filter(|_| live.run.status == RunStatus::Running && deadline != live.run.spec.deadline);
    let mut told = Patched { run: live.run.id, revision, deadline, next: Vec::new(), keeps: Vec::new(), keeps_total: 0 };
    let (mut likeness, mut searched) = (Likeness::to(&new.ir), 0);
    // Frames that follow, as far as there may be others in them.
    let mut follow: FxHashSet<FramePath> = FxHashSet::default();
    for (path, frame) in live.open_frames().take(PATCH_LOOKED_MAX) {
        let Some((above, ..)) = path.up() else {
            told.next.extend(freed(live, path, frame, new));
            continue;
        };
        if !above.is_root() && !follow.contains(&above) {
            continue;
        }
        let fit = match live.run.is_alone(frame.revision) {
            true => path.up().map_or(Fit::Same, |(_, of, _)| Fit::Keeps(of.clone())),
            false => likeness.of(path, frame, |node, slot| is_open(path, node, slot)),
        };
        match fit {
            Fit::Same => {}
            Fit::Keeps(node) => {
                told.keeps_total += 1;
                if told.keeps.len() < PATCH_TOLD_MAX {
                    told.keeps.push((path.clone(), node));
                }
            }
            Fit::Follows => {
                let (waits, is_deep) = likeness.shape(path, frame);
                if is_deep {
                    follow.insert(path.clone());
                }
                if waits && searched < PATCH_SEARCHED_MAX && told.next.len() < PATCH_TOLD_MAX {
                    searched += 1;
                    told.next.extend(freed(live, path, frame, new));
                }
            }
        }
    }
    told.next.truncate(PATCH_TOLD_MAX);
    told
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
    let patched = Record::RunPatched { revision, description, node: None, only, deadline, by, more: false };
    step.record_run(run, patched, Some(new.payload.clone()));
    follow::turn(step, run, path, &new.ir, |step| {
        step.record_frame(run, path, Record::FramePatched { revision }, None);
    });
}

/// Nodes of a frame that have all they wait for by another text, and had not before.
fn freed(live: &Live, path: &FramePath, frame: &Frame, new: &NewRevision) -> Vec<NodeAt> {
    let body = path.up().and_then(|(_, of, _)| new.ir.body_of(new.ir.find(of)?)).unwrap_or(ROOT);
    let after = frame.revised(&new.ir, live.run.revision() + 1, body, |_| None).0;
    let nodes = new.ir.body(body).nodes.iter();
    let free = nodes.filter(|node| {
        let before = frame.ir.find(&new.ir.node(**node).id).filter(|node| frame.ir.node(*node).body == frame.body);
        let waited = before.is_some_and(|node| frame.verdict(node) != Verdict::Wait);
        *after.node(**node) == NodeState::Waiting && after.verdict(**node) == Verdict::Enter && !waited
    });
    free.map(|node| NodeAt { run: live.run.id, frame: path.clone(), node: new.ir.node(*node).id.clone() }).collect()
}

/// The run follows the new text, and what is under way in it as far as it can: what a batch has no room for, in later ones.
pub(super) fn record(step: &mut Step<'_>, run: RunId, new: &NewRevision, node: Option<&NodeAt>, by: &Actor) {
    let live = step.state().runs.get(run).expect("it was looked at");
    let revision = live.run.revision() + 1;
    let (deadline, more) = (deadline(live, &new.ir), follow::is_more(step, live));
    step.learn_revision(run, revision, new.ir.clone());
    let (description, node, by) = (new.description.clone(), node.cloned(), by.clone());
    let patched = Record::RunPatched { revision, description, node, only: None, deadline, by, more };
    follow::turn(step, run, &FramePath::root(), &new.ir, |step| {
        step.record_run(run, patched, Some(new.payload.clone()));
    });
    follow::move_on(step, run, &FramePath::root());
    follow::follow(step, run);
}

/// A frame that was closed goes on, by the text of the frame above if it can.
pub(in crate::decide) fn reopen(step: &mut Step<'_>, run: RunId, path: &FramePath) {
    let revision = revision_of(step, run, path);
    let live = step.state().runs.get(run).expect("it is being reopened");
    let above = path.up().and_then(|(above, ..)| live.frame(&above)).expect("it is below the root");
    let frame = live.frame(path).expect("it is being reopened");
    let ir = if revision == frame.revision { frame.ir.clone() } else { above.ir.clone() };
    follow::turn(step, run, path, &ir, |step| {
        step.record_frame(run, path, Record::FrameReopened { revision }, None);
    });
}

/// Another time that the run is given counts from when it was opened last. Whoever started it may have given it less.
fn deadline(live: &Live, new: &Ir) -> Option<Time> {
    let (run, before) = (&live.run, live.ir().limits.deadline_ms);
    if new.limits.deadline_ms == before {
        return run.spec.deadline;
    }
    // Of one that was started before this was kept apart: what it was given other than by its text was asked for.
    let asked_ms = run.spec.asked_ms.or(run.given_ms.filter(|given| Some(*given) != before)).filter(|ms| *ms > 0);
    let given_ms = new.limits.deadline_ms.into_iter().chain(asked_ms).min();
    given_ms.map(|ms| run.opened_at().plus_ms(ms))
}

/// Whatever may go on in a run that has taken much along.
pub(super) fn go_on(step: &mut Step<'_>, run: RunId) {
    let live = step.state().runs.get(run).expect("it was just started");
    let paths: Vec<FramePath> = live.open_frames().map(|(path, _)| path.clone()).collect();
    paths.iter().for_each(|path| follow::move_on(step, run, path));
}
