//! What is upstream of what: a bit for each pair of nodes of one body, and the way outwards through the bodies around it.

use super::{Flat, FlatBody};
use crate::context::{Found, Nodes};
use crate::define::Doubt;
use kernel::ir::{BodyIx, NodeIx};

/// For each node of a body, by its place, the places of those before it.
#[derive(Default)]
pub struct Ancestors {
    words: usize,
    bits: Vec<u64>,
}

impl Ancestors {
    fn holds(&self, place: u32, before: u32) -> bool {
        let word = place as usize * self.words + before as usize / 64;
        self.bits[word] >> (before % 64) & 1 == 1
    }
}

impl Flat<'_> {
    /// Needs the order of every body.
    pub(super) fn find_ancestors(&mut self) {
        for at in 0..self.bodies.len() {
            let nodes = &self.bodies[at].nodes;
            let words = nodes.len().div_ceil(64);
            let mut bits = vec![0u64; words * nodes.len()];
            for (place, ix) in nodes.iter().enumerate() {
                let (before, own) = bits.split_at_mut(place * words);
                for edge in &self.node(*ix).ins {
                    let from = self.node(self.edges[edge.at()].from).place as usize;
                    let theirs = &before[from * words..(from + 1) * words];
                    own[..words].iter_mut().zip(theirs).for_each(|(own, theirs)| *own |= theirs);
                    own[from / 64] |= 1 << (from % 64);
                }
            }
            self.bodies[at].ancestors = Ancestors { words, bits };
        }
    }
}

/// The nodes of a body, by their places, whose edges are not all known.
#[derive(Default)]
pub struct Doubts {
    ins: Vec<u32>,
    outs: Vec<u32>,
    /// What could lead on from the ones to the others is not known either: anything may lead anywhere.
    all: bool,
}

/// More pairs are not looked at.
const PAIRS_MAX: usize = 1_000_000;

impl Flat<'_> {
    /// Needs the ancestors.
    pub(super) fn find_doubts(&mut self) {
        for at in 0..self.bodies.len() {
            let body = &self.bodies[at];
            let places = |doubtful: fn(&Doubt) -> bool| -> Vec<u32> {
                let nodes = body.nodes.iter().map(|ix| self.node(*ix));
                nodes.filter(|node| doubtful(&node.doubt)).map(|node| node.place).collect()
            };
            let (ins, outs) = (places(|doubt| doubt.ins), places(|doubt| doubt.outs));
            let leads = |from: u32, to: u32| from == to || body.ancestors.holds(to, from);
            let all = body.written.torn
                || ins.len() * outs.len() > PAIRS_MAX
                || ins.iter().any(|from| outs.iter().any(|to| leads(*from, *to)));
            self.bodies[at].doubts = Doubts { ins, outs, all };
        }
    }

    /// All that leads to the node is known.
    pub fn ins_known(&self, ix: NodeIx) -> bool {
        let doubts = &self.body(self.node(ix).body).doubts;
        self.ordered && !doubts.all && !self.node(ix).doubt.ins && doubts.outs.is_empty()
    }

    /// All that the node leads to is known.
    pub fn outs_known(&self, ix: NodeIx) -> bool {
        let doubts = &self.body(self.node(ix).body).doubts;
        self.ordered && !doubts.all && !self.node(ix).doubt.outs && doubts.ins.is_empty()
    }

    /// No edge that was lost can lead from the one node to the other: what leads to an edge's end in doubt, or from its
    /// beginning in doubt, would have to be between them.
    fn apart(&self, body: &FlatBody<'_>, from: NodeIx, to: NodeIx) -> bool {
        let (from, to) = (self.node(from).place, self.node(to).place);
        let leads = |from: u32, to: u32| from == to || body.ancestors.holds(to, from);
        let doubts = &body.doubts;
        !doubts.all && !doubts.ins.iter().any(|end| leads(*end, to)) && !doubts.outs.iter().any(|begin| leads(from, *begin))
    }
}

/// From where one looks.
#[derive(Copy, Clone)]
pub enum Seen {
    /// When the node begins.
    Before(NodeIx),
    /// When a frame of the body has ended.
    After(BodyIx),
}

/// The nodes as one expression sees them.
pub struct Scope<'a> {
    pub flat: &'a Flat<'a>,
    pub seen: Seen,
}

impl Nodes for Scope<'_> {
    fn find(&self, id: &str) -> Found {
        let flat = self.flat;
        let Some(wanted) = flat.ids.get(id).copied() else { return Found::Unknown };
        if !flat.ordered {
            return Found::Upstream(wanted);
        }
        let (mut body, mut asking) = match self.seen {
            Seen::Before(node) => (flat.node(node).body, Some(node)),
            Seen::After(body) => (body, None),
        };
        loop {
            if flat.node(wanted).body == body {
                return match asking {
                    Some(asking) if asking == wanted => Found::Elsewhere(format!("`{id}` is not done yet where this is read")),
                    Some(asking)
                        if !flat.body(body).ancestors.holds(flat.node(asking).place, flat.node(wanted).place)
                            && flat.apart(flat.body(body), wanted, asking) =>
                    {
                        Found::Elsewhere(format!("`{id}` does not come before `{}`", flat.id(asking)))
                    }
                    _ => Found::Upstream(wanted),
                };
            }
            match flat.body(body).of {
                Some(around) => (body, asking) = (flat.node(around).body, Some(around)),
                None => break,
            }
        }
        if flat.node(wanted).doubt == Doubt::BOTH || flat.bodies.iter().any(|body| body.doubts.all) {
            return Found::Upstream(wanted);
        }
        let around = flat.body(flat.node(wanted).body).of.map(|of| flat.id(of)).unwrap_or_default();
        Found::Elsewhere(format!("`{id}` lies inside `{around}`, of which only its own output is seen from here"))
    }

    fn known<'a>(&'a self) -> Box<dyn Iterator<Item = &'a str> + 'a> {
        Box::new(self.flat.nodes.iter().map(|node| node.written.id.as_str()))
    }
}
