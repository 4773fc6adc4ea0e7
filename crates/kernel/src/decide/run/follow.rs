//! Turns and items that are under way when their run is patched follow its newest text if they can, so many a batch; the run's
//! row says until when that goes on (`RunFollowed`), and after a crash it begins anew, which changes nothing for those who
//! have followed. One to which the text says what it said before stays as it is, with all that is in it.

use crate::frame::{Cause, Frame, FramePath, Verdict};
use crate::frozen;
use crate::ids::RunId;
use crate::ir::{BodyIx, EdgeIx, ExprIx, Ir, NodeIx, ROOT};
use crate::limits::{CHUNK_ITEMS_MAX, PATCH_SLOTS_MAX};
use crate::names::NodeId;
use crate::node::{NodeState, Slot, Started};
use crate::record::Record;
use crate::run::RunStatus;
use crate::runs::{Live, Spot};
use crate::step::{FollowUp, Step};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Whether more is under way in a run than what is left of one batch may look at.
pub(super) fn is_more(step: &Step<'_>, live: &Live) -> bool {
    if live.run.status != RunStatus::Running {
        return false;
    }
    let room = CHUNK_ITEMS_MAX.saturating_sub(step.followed());
    let slots = || live.open_frames().filter(|(path, _)| !path.is_root()).map(|(_, frame)| frame.nodes.len()).sum::<usize>();
    step.is_full() || live.frames.len() > room || slots() > PATCH_SLOTS_MAX
}

/// The next of those that have yet to be looked at.
pub(in crate::decide) fn go_on(step: &mut Step<'_>) {
    while let Some(run) = step.state().runs.following_next() {
        if step.followed() >= CHUNK_ITEMS_MAX || step.is_full() {
            return;
        }
        follow(step, run);
    }
}

/// Turn by turn and item by item, those above first, as many as there is room for.
pub(super) fn follow(step: &mut Step<'_>, run: RunId) {
    let Some(live) = step.state().runs.get(run).filter(|live| live.run.status == RunStatus::Running) else { return };
    let (following, revision) = (live.run.following, live.run.follows());
    let from = step.state().runs.following_from(run);
    let room = if following { CHUNK_ITEMS_MAX.saturating_sub(step.followed()) } else { usize::MAX };
    let mut frames = live.frames.range(from..);
    let chunk: Vec<FramePath> = (frames.by_ref().take(room))
        .filter(|(_, frame)| frame.is_open() && !frame.undone && frame.revision != revision && !live.run.is_alone(frame.revision))
        .map(|(path, _)| path.clone())
        .collect();
    let mut rest = frames.next().map(|(path, _)| path.clone());
    let looked = room.min(live.frames.len());
    let (mut likeness, mut slots) = (Likeness::to(live.ir()), 0);
    step.note_followed(looked);
    for path in chunk {
        let live = step.state().runs.get(run).expect("it goes on");
        let above = path.up().and_then(|(above, ..)| live.frame(&above));
        let frame = live.frame(&path).expect("it is open");
        // What it is in keeps its text, or that means the same.
        let leads = above.is_some_and(|above| above.revision == revision);
        if !leads || likeness.of(&path, frame, |_, _| false) != Fit::Follows {
            continue;
        }
        if following && (slots >= PATCH_SLOTS_MAX || step.is_full()) {
            rest = Some(path);
            break;
        }
        slots += frame.nodes.len();
        let ir = likeness.new.clone();
        turn(step, run, &path, &ir, |step| {
            step.record_frame(run, &path, Record::FramePatched { revision }, None);
        });
        move_on(step, run, &path);
    }
    match rest {
        Some(path) => step.follow_from(run, path),
        None if following => _ = step.record_run(run, Record::RunFollowed {}, None),
        None => {}
    }
}

/// Records that a frame goes on by another text. Nodes that were taken out before and are in this one are new in it.
pub(super) fn turn(step: &mut Step<'_>, run: RunId, path: &FramePath, new: &Ir, record: impl FnOnce(&mut Step<'_>)) {
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

/// Whatever may go on in a frame, whose nodes may wait for something else now.
pub(super) fn move_on(step: &mut Step<'_>, run: RunId, path: &FramePath) {
    let Some(live) = step.state().runs.get(run).filter(|live| live.run.status == RunStatus::Running) else { return };
    let Some(frame) = live.frame(path).filter(|frame| frame.is_open()) else { return };
    let moves = |node: NodeIx, slot: &Slot| match &slot.state {
        NodeState::Waiting => frame.verdict(node) != Verdict::Wait,
        NodeState::Started { at, .. } => matches!(at, Started::Turning { .. } | Started::Spreading { .. }),
        _ => false,
    };
    let nodes = frame.ir.body(frame.body).nodes.iter().zip(&frame.nodes);
    let nodes: Vec<NodeIx> = nodes.filter(|(node, slot)| moves(**node, slot)).map(|(node, _)| *node).collect();
    let over = frame.open == 0;
    for node in nodes {
        step.follow(FollowUp::Arrive(Spot { run, frame: path.clone(), node }));
    }
    if over {
        step.follow(FollowUp::Close(run, path.clone()));
    }
}

/// How a turn or an item stands to another text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Fit {
    /// It says the same.
    Same,
    Follows,
    /// This node of it has begun and is another there.
    Keeps(NodeId),
}

/// How the bodies of frames are in another text, worked out once for all frames of a body.
pub(super) struct Likeness {
    new: Arc<Ir>,
    bodies: FxHashMap<(usize, BodyIx), Body>,
}

enum Body {
    /// Its loop or each is not there.
    Gone,
    Same,
    Other {
        body: BodyIx,
        /// Nodes that would be another if they had begun.
        others: Vec<NodeIx>,
        /// Some of its nodes are new, or wait for something else.
        waits: bool,
        /// There are loops or eaches in it.
        is_deep: bool,
    },
}

impl Likeness {
    pub fn to(new: &Arc<Ir>) -> Likeness {
        Likeness { new: new.clone(), bodies: FxHashMap::default() }
    }

    /// `is_open`: nodes that begin anew.
    pub fn of(&mut self, path: &FramePath, frame: &Frame, is_open: impl Fn(NodeIx, &Slot) -> bool) -> Fit {
        let (_, of, _) = path.up().expect("it is below the root");
        let new = self.new.clone();
        match self.body(of, frame) {
            Body::Gone => Fit::Keeps(of.clone()),
            Body::Same => Fit::Same,
            Body::Other { body, others, .. } => {
                if others.iter().all(|node| *frame.node(*node) == NodeState::Waiting) {
                    return Fit::Follows;
                }
                let misfit = frame.misfit(&new, *body, |node, slot| others.binary_search(&node).is_err() || is_open(node, slot));
                misfit.map_or(Fit::Follows, |(node, ..)| Fit::Keeps(node))
            }
        }
    }

    /// Whether nodes of a frame may come to have all they wait for by the other text, and whether there may be frames in it.
    pub fn shape(&mut self, path: &FramePath, frame: &Frame) -> (bool, bool) {
        let (_, of, _) = path.up().expect("it is below the root");
        match self.body(of, frame) {
            Body::Gone | Body::Same => (false, false),
            Body::Other { waits, is_deep, .. } => (*waits, *is_deep),
        }
    }

    fn body(&mut self, of: &NodeId, frame: &Frame) -> &Body {
        let key = (Arc::as_ptr(&frame.ir) as usize, frame.body);
        self.bodies.entry(key).or_insert_with(|| Body::find(of, frame, &self.new))
    }
}

impl Body {
    fn find(of: &NodeId, frame: &Frame, new: &Ir) -> Body {
        let old = &*frame.ir;
        let Some(body) = new.find(of).and_then(|of| new.body_of(of)) else { return Body::Gone };
        if is_same(old, frame.body, new, body) {
            return Body::Same;
        }
        // As if all of them had ended; one by one.
        let mut begun = Frame::new(&frame.ir, frame.revision, frame.body);
        begun.nodes.iter_mut().for_each(|slot| slot.state = NodeState::Skipped(Cause::Untaken));
        let (mut others, mut place) = (Vec::new(), 0);
        while let Some((id, ..)) = begun.misfit(new, body, |node, _| old.node(node).place < place) {
            let node = old.find(&id).expect("it is one of its nodes");
            place = old.node(node).place + 1;
            others.push(node);
        }
        others.sort_unstable();
        let nodes = || new.body(body).nodes.iter().copied();
        let waits = nodes().any(|node| {
            let before = old.find(&new.node(node).id).filter(|before| old.node(*before).body == frame.body);
            before.is_none_or(|before| old.node(before).join != new.node(node).join || !same_ins(old, before, new, node))
        });
        let is_deep = old.body(frame.body).nodes.iter().any(|node| old.body_of(*node).is_some());
        Body::Other { body, others, waits, is_deep }
    }
}

/// Whether a body means the same in another text, with all that are in it.
fn is_same(old: &Ir, body: BodyIx, new: &Ir, other: BodyIx) -> bool {
    let (one, two) = (old.body(body), new.body(other));
    let ids = |a: &[NodeIx], b: &[NodeIx]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| old.node(*a).id == new.node(*b).id);
    let both = |a: Option<ExprIx>, b: Option<ExprIx>| match (a, b) {
        (Some(a), Some(b)) => same_expr(old, a, new, b),
        (a, b) => a.is_none() && b.is_none(),
    };
    let node = |a: NodeIx, b: NodeIx| {
        let inner = match (old.body_of(a), new.body_of(b)) {
            (Some(a), Some(b)) => is_same(old, a, new, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        frozen::changed(old, a, new, b).is_none() && same_ins(old, a, new, b) && inner
    };
    ids(&one.nodes, &two.nodes)
        && ids(&one.entries, &two.entries)
        && ids(&one.sinks, &two.sinks)
        && both(one.output, two.output)
        && one.nodes.iter().zip(&two.nodes).all(|(a, b)| node(*a, *b))
}

fn same_expr(old: &Ir, a: ExprIx, new: &Ir, b: ExprIx) -> bool {
    let (a, b) = (old.expr(a), new.expr(b));
    a.source == b.source && a.form == b.form
}

/// Whether the same leads to both. Each edge is also the way out of a node, so all ways in are all ways.
fn same_ins(old: &Ir, a: NodeIx, new: &Ir, b: NodeIx) -> bool {
    let (a, b) = (&old.node(a).ins, &new.node(b).ins);
    let same = |a: EdgeIx, b: EdgeIx| {
        let (a, b) = (old.edge(a), new.edge(b));
        a.on == b.on && old.node(a.from).id == new.node(b.from).id
    };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(*a, *b))
}
