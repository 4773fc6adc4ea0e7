//! A run goes on by another text: the slots of a frame are put in the places that their nodes have there. Nodes that are not in
//! it any more are kept aside with what had become of them, as their rows are.

use super::{Known, Runs, Spot, wake_at};
use crate::frame::{Frame, FramePath};
use crate::ids::{EventId, RecordSeq, RunId};
use crate::ir::{BodyIx, Ir, NodeIx, ROOT};
use crate::names::NodeId;
use crate::node::Slot;
use crate::row::{FRAMES, FrameRow, RUNS, Row};
use crate::run::Run;
use crate::workflow::Workflow;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A text that a row follows, and that has to be compiled before it can be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedIr {
    Version(Workflow),
    /// A run's own: it is in the payload of this record.
    Revision {
        run: RunId,
        revision: u32,
        record: RecordSeq,
        workflow: Workflow,
    },
}

impl Runs {
    /// What a text of a run compiled to.
    pub(crate) fn learn_revision(&mut self, run: RunId, revision: u32, ir: Result<Arc<Ir>, Arc<str>>) {
        self.revisions.insert((run, revision), ir);
    }

    pub(crate) fn wants_ir(&self, row: &Row) -> Option<WantedIr> {
        let (run, revision) = if row.table == &RUNS {
            let run = Run::from_row(&row.values).ok()?;
            let revision = run.follows();
            (run, revision)
        } else if row.table == &FRAMES {
            let FrameRow { run, revision, .. } = FrameRow::from_row(&row.values).ok()?;
            let live = self.live.get(&run).filter(|live| live.root.revision != revision)?;
            (live.run.clone(), revision)
        } else {
            return None;
        };
        if self.text_of(&run, revision).is_some() || (row.table == &RUNS && self.live.contains_key(&run.id)) {
            return None;
        }
        let workflow = self.workflow(&run.spec.workflow, Some(run.spec.version))?.workflow.clone();
        match revision {
            0 => Some(WantedIr::Version(workflow)),
            _ => Some(WantedIr::Revision { run: run.id, revision, record: run.patch(revision)?, workflow }),
        }
    }

    /// What a text of a run compiles to, or why it does not any more; `None`: that is not known yet.
    pub(super) fn text_of(&self, run: &Run, revision: u32) -> Option<Result<Arc<Ir>, Arc<str>>> {
        if revision > 0 {
            return self.revisions.get(&(run.id, revision)).cloned();
        }
        match self.workflow(&run.spec.workflow, Some(run.spec.version))? {
            Known { ir: Some(ir), .. } => Some(Ok(ir.clone())),
            Known { bad: Some(why), .. } => Some(Err(why.clone())),
            _ => None,
        }
    }

    /// One of its texts does not compile any more: it is as if it had no nodes, and fails.
    pub(super) fn blank(&mut self, run: RunId, why: Arc<str>) {
        self.unfit.insert(run, why);
        let live = self.live.get_mut(&run).expect("its rows are being taken");
        let ir = Arc::new(Ir::blank(live.run.spec.workflow.clone(), live.run.spec.version));
        live.root = Frame::new(&ir, live.root.revision, ROOT);
        live.frames.clear();
    }

    /// A frame follows another text from here on.
    pub(super) fn revise(&mut self, run: RunId, path: &FramePath, revision: u32, ir: &Arc<Ir>) {
        let live = self.live.get_mut(&run).expect("it is being revised");
        let body = match path.up() {
            None => ROOT,
            Some((_, of, _)) => ir.find(of).and_then(|of| ir.body_of(of)).expect("its loop or each is there"),
        };
        let frame = live.frame_mut(path).expect("it is being revised");
        let before = frame.clone();
        let mut looks: Vec<(NodeId, EventId)> = Vec::new();
        for (node, slot) in before.ir.body(before.body).nodes.iter().zip(&before.nodes) {
            let spot = Spot { run, frame: path.clone(), node: *node };
            if let Some((after, false)) = self.awaits.look_of(&spot) {
                looks.push((before.ir.node(*node).id.clone(), after));
            }
            self.awaits.remove(&spot, &slot.state);
            wake_at(&slot.state).map(|wake| self.wakes.remove(&(wake, spot)));
        }
        let (after, gone) = before.revised(ir, revision, body, |id| live.removed.remove(&(path.clone(), id.clone())));
        for (node, slot) in ir.body(body).nodes.iter().zip(&after.nodes) {
            let spot = Spot { run, frame: path.clone(), node: *node };
            self.awaits.insert(&spot, &slot.state, ir);
            if let Some((_, after)) = looks.iter().find(|(id, _)| *id == ir.node(*node).id) {
                self.awaits.look(spot.clone(), *after, false);
            }
            wake_at(&slot.state).map(|wake| self.wakes.insert((wake, spot)));
        }
        live.removed.extend(gone.into_iter().map(|(id, slot)| ((path.clone(), id), slot)));
        *live.frame_mut(path).expect("as above") = after;
        let of_frame = (path.clone(), NodeIx(0))..=(path.clone(), NodeIx(u32::MAX));
        let spreads: Vec<_> = live.spreads.range(of_frame).map(|((_, node), spread)| (*node, *spread)).collect();
        live.forget_spreads(path);
        for (node, spread) in spreads {
            if let Some(node) = ir.find(&before.ir.node(node).id) {
                live.spreads.insert((path.clone(), node), spread);
            }
        }
        let opened = before.ir.body(before.body).nodes.iter().filter(|node| before.ir.body_of(**node).is_some());
        let opened: Vec<NodeId> = opened.map(|node| before.ir.node(*node).id.clone()).collect();
        let gone: Vec<&NodeId> = opened.iter().filter(|id| live.find(path, id).is_none()).collect();
        gone.into_iter().for_each(|id| self.undo_without_node(run, path, id));
        // What is known by the numbers that its nodes had in the text before is asked for again.
        self.held.forget(run, path);
    }
}

impl Frame {
    /// As it is in another text, and those of its nodes that are not in there any more and have a history. `aside`: those that
    /// were taken out before.
    pub(crate) fn revised(
        &self,
        ir: &Arc<Ir>,
        revision: u32,
        body: BodyIx,
        mut aside: impl FnMut(&NodeId) -> Option<Slot>,
    ) -> (Frame, Vec<(NodeId, Slot)>) {
        let before = self.ir.body(self.body).nodes.iter().zip(&self.nodes);
        let mut slots: FxHashMap<NodeId, Slot> =
            before.map(|(node, slot)| (self.ir.node(*node).id.clone(), slot.clone())).collect();
        let mut after = Frame { last: self.last, state: self.state, undone: self.undone, ..Frame::new(ir, revision, body) };
        for (place, node) in ir.body(body).nodes.iter().enumerate() {
            let id = &ir.node(*node).id;
            if let Some(slot) = slots.remove(id).or_else(|| aside(id)) {
                after.open -= u32::from(slot.state.ended().is_some());
                after.nodes[place] = slot;
            }
        }
        let gone = slots.into_iter().filter(|(_, slot)| slot.last != RecordSeq::NONE).collect();
        (after, gone)
    }
}
