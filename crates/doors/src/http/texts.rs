//! The texts that the parts of a run follow. A patch leaves turns and items under way with the text they have, if what has begun in
//! them is another in the new one: each is shown by its own, and what a patch has taken out is shown as that.

use super::node::body_of;
use engine::Engine;
use kernel::frame::FramePath;
use kernel::ir::{Ir, NodeIx};
use kernel::names::NodeId;
use kernel::row::FrameRow;
use kernel::run::{NodeAt, Run};
use kernel::runs::Live;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use store::StoreError;

#[derive(Default)]
pub struct Texts {
    newest: Option<Arc<Ir>>,
    /// By revision, those that turns and items follow and that were looked into.
    known: BTreeMap<u32, Arc<Ir>>,
    /// Of turns and items that follow an earlier one than the run.
    earlier: HashMap<FramePath, u32>,
    /// What is not in the newest any more.
    removed: HashMap<(FramePath, NodeId), Removed>,
}

/// A node that a patch has taken out, or put elsewhere; turns and items that keep an earlier text may still have it.
#[derive(Clone, Debug)]
pub struct Removed {
    /// The first revision without it.
    pub revision: u32,
    /// The last text that has it, where that is to be had.
    pub ir: Option<Arc<Ir>>,
}

impl Texts {
    /// What a run and its turns and items follow.
    pub fn now(engine: &Engine, run: &Run, frames: &[FrameRow]) -> Result<Texts, StoreError> {
        let newest = engine.definition(run, None)?.map(|followed| followed.ir);
        let mut texts = Texts { newest, ..Texts::default() };
        for frame in frames.iter().filter(|frame| frame.revision != run.follows()) {
            texts.earlier.insert(frame.path.clone(), frame.revision);
            texts.learn(engine, run, frame.revision)?;
        }
        Ok(texts)
    }

    /// The same of one that was replayed.
    pub fn then(live: &Live) -> Texts {
        let mut texts = Texts { newest: Some(live.ir().clone()), ..Texts::default() };
        for (path, frame) in live.frames().filter(|(path, _)| !path.is_root()) {
            if frame.revision() != live.run().follows() {
                texts.earlier.insert(path, frame.revision());
                texts.known.insert(frame.revision(), frame.ir().clone());
            }
        }
        texts
    }

    fn learn(&mut self, engine: &Engine, run: &Run, revision: u32) -> Result<Option<Arc<Ir>>, StoreError> {
        if revision == run.follows() {
            return Ok(self.newest.clone());
        }
        if let Some(known) = self.known.get(&revision) {
            return Ok(Some(known.clone()));
        }
        let found = engine.definition(run, Some(revision))?.map(|followed| followed.ir);
        self.known.extend(found.clone().map(|ir| (revision, ir)));
        Ok(found)
    }

    /// Finds out which of these nodes patches have taken out, and when.
    pub fn look_for<'a>(
        &mut self,
        engine: &Engine,
        run: &Run,
        nodes: impl IntoIterator<Item = &'a NodeAt>,
    ) -> Result<(), StoreError> {
        if run.revision() == 0 {
            return Ok(());
        }
        let Some(newest) = self.newest.clone() else { return Ok(()) };
        for at in nodes {
            // Whatever the node stands in may be gone as well.
            let (mut frame, mut node) = (at.frame.clone(), at.node.clone());
            loop {
                if here(&newest, &frame, &node).is_none() {
                    let gone = self.last_with(engine, run, &frame, &node)?;
                    self.removed.insert((at.frame.clone(), at.node.clone()), gone);
                    break;
                }
                let Some((above, of, _)) = frame.up() else { break };
                (frame, node) = (above, of.clone());
            }
        }
        Ok(())
    }

    /// The text it was in, looked for from the newest back.
    fn last_with(&mut self, engine: &Engine, run: &Run, frame: &FramePath, node: &NodeId) -> Result<Removed, StoreError> {
        for revision in (0..run.follows()).rev() {
            let ir = self.learn(engine, run, revision)?.filter(|ir| here(ir, frame, node).is_some());
            if ir.is_some() {
                return Ok(Removed { revision: revision + 1, ir });
            }
        }
        Ok(Removed { revision: run.follows(), ir: None })
    }

    pub fn newest(&self) -> Option<&Arc<Ir>> {
        self.newest.as_ref()
    }

    /// The text of a turn or an item, or of the run's own frame.
    pub fn at(&self, frame: &FramePath) -> Option<&Arc<Ir>> {
        match self.earlier.get(frame) {
            Some(revision) => self.known.get(revision),
            None => self.newest.as_ref(),
        }
    }

    pub fn removed(&self, at: &NodeAt) -> Option<&Removed> {
        self.removed.get(&(at.frame.clone(), at.node.clone()))
    }

    /// The text that says what a node is: that of its frame, or the last that had it.
    pub fn of(&self, at: &NodeAt) -> Option<&Arc<Ir>> {
        let own = self.at(&at.frame).filter(|ir| here(ir, &at.frame, &at.node).is_some());
        own.or_else(|| self.removed(at)?.ir.as_ref())
    }
}

/// Where a node stands in a text, if it stands in the body that the frame is a walk through.
pub fn here(ir: &Ir, frame: &FramePath, node: &NodeId) -> Option<NodeIx> {
    let body = body_of(ir, frame)?;
    ir.find(node).filter(|ix| ir.node(*ix).body == body)
}
