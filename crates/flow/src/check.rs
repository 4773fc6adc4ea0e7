//! The whole of a definition: nodes numbered, edges resolved and in order, and every promise about the graph that
//! `kernel::ir` makes kept or its breach told. Expressions are not looked at here.

mod shape;
mod upstream;

pub use upstream::{Scope, Seen};

use crate::define::{Body, Definition, Doubt, Kind, Node, OnError, Target};
use crate::limits::*;
use crate::problem::{At, Problem, Problems, did_you_mean};
use crate::source::short;
use kernel::ir::{BodyIx, EdgeIx, NodeIx, On};
use kernel::limits::SUB_RUNS_DEPTH_MAX;
use std::collections::{HashMap, HashSet};
use upstream::{Ancestors, Doubts};

/// A definition, flat. Nodes are numbered in the order of the text, a body's after the node it belongs to.
pub struct Flat<'a> {
    pub nodes: Vec<FlatNode<'a>>,
    pub bodies: Vec<FlatBody<'a>>,
    pub edges: Vec<FlatEdge<'a>>,
    pub ids: HashMap<&'a str, NodeIx>,
    /// Nothing is wrong with it.
    pub sound: bool,
    /// Every edge leads forward, and what is upstream of what has been worked out.
    pub ordered: bool,
}

pub struct FlatNode<'a> {
    pub written: &'a Node,
    pub body: BodyIx,
    /// The body it has, if it is a loop or an each.
    pub inner: Option<BodyIx>,
    pub place: u32,
    pub ins: Vec<EdgeIx>,
    pub outs: Vec<EdgeIx>,
    /// Edges that it has may be unknown, for something is wrong with what was written.
    pub doubt: Doubt,
}

pub struct FlatBody<'a> {
    pub written: &'a Body,
    pub of: Option<NodeIx>,
    /// First as written, then so that every edge leads forward.
    pub nodes: Vec<NodeIx>,
    pub entries: Vec<NodeIx>,
    pub sinks: Vec<NodeIx>,
    ancestors: Ancestors,
    doubts: Doubts,
}

#[derive(Copy, Clone)]
pub struct FlatEdge<'a> {
    pub from: NodeIx,
    pub to: NodeIx,
    pub on: On,
    pub at: &'a At,
}

/// Numbers, joins and checks. Where a mistake leaves open what leads where, nothing is told that hangs on it.
pub fn flatten<'a>(definition: &'a Definition, problems: &mut Problems) -> Flat<'a> {
    let (nodes, bodies, edges, ids) = Default::default();
    let mut flat = Flat { nodes, bodies, edges, ids, sound: false, ordered: false };
    flat.add_body(&definition.body, None, problems);
    if flat.nodes.len() > NODES_MAX {
        problems.say(&definition.workflow_at, format!("there are {} nodes; there may be {NODES_MAX}", flat.nodes.len()));
        return flat;
    }
    let known = flat.add_edges(problems);
    flat.ordered = shape::order(&mut flat, problems) && known;
    if flat.ordered {
        flat.find_ancestors();
        flat.find_doubts();
        shape::check(&flat, problems);
    }
    flat.sound = problems.is_empty();
    flat
}

/// Types that the engine knows; the rest are workers'.
pub(crate) const ENGINE_TYPES: [&str; 14] = [
    "branch",
    "loop",
    "each",
    "join",
    "approval",
    "sleep",
    "workflow",
    "transform",
    "filter",
    "aggregate",
    "wait",
    "conditional",
    "parallel",
    "hitl",
];
/// Types that workers usually have.
pub(crate) const USUAL_TYPES: [&str; 6] = ["agent", "classifier", "search", "function", "http", "task"];

/// A worker's type that is nearly one of the engine's would wait for a worker for ever.
pub fn warn_of_types(flat: &Flat<'_>, problems: &mut Problems) {
    for node in &flat.nodes {
        let Kind::Work { kind, .. } = &node.written.kind else { continue };
        if USUAL_TYPES.contains(&kind.as_str()) {
            continue;
        }
        if let Some(meant) = did_you_mean(kind.as_str(), ENGINE_TYPES) {
            let at = At { path: node.written.at.path.key(&"type".into()), ..node.written.at.clone() };
            let message = format!("`{kind}` is no type of the engine's: its work waits for a worker that asks for it");
            problems.warn(Problem::new(&at, message).suggest(meant));
        }
    }
}

/// A workflow that calls itself may be meant; that it goes on until it may not go deeper is not.
pub fn warn_of_calls(definition: &Definition, flat: &Flat<'_>, problems: &mut Problems) {
    for node in &flat.nodes {
        if let Kind::Workflow { workflow, .. } = &node.written.kind
            && *workflow == definition.workflow
        {
            let message = format!("`{}` calls the workflow it stands in", node.written.id);
            let fix = format!("give it a `when` that ends it: runs call one another {SUB_RUNS_DEPTH_MAX} deep at the most");
            problems.warn(Problem::new(&node.written.at, message).suggest(fix));
        }
    }
}

impl<'a> Flat<'a> {
    pub fn node(&self, ix: NodeIx) -> &FlatNode<'a> {
        &self.nodes[ix.at()]
    }

    pub fn body(&self, ix: BodyIx) -> &FlatBody<'a> {
        &self.bodies[ix.at()]
    }

    fn id(&self, ix: NodeIx) -> &'a str {
        self.nodes[ix.at()].written.id.as_str()
    }

    fn add_body(&mut self, written: &'a Body, of: Option<NodeIx>, problems: &mut Problems) -> BodyIx {
        let body = BodyIx(self.bodies.len() as u32);
        let (nodes, entries, sinks, ancestors, doubts) = Default::default();
        self.bodies.push(FlatBody { written, of, nodes, entries, sinks, ancestors, doubts });
        for node in &written.nodes {
            let ix = NodeIx(self.nodes.len() as u32);
            let mut doubt = node.doubt;
            if let Some(other) = self.ids.insert(node.id.as_str(), ix) {
                let first = &self.node(other).written.at;
                let message = format!("there are two nodes `{}`, the other in line {}", node.id, first.line);
                problems.add(Problem::new(&node.at, message).suggest("ids are unique in a definition, over all its bodies"));
                doubt = Doubt::BOTH;
                self.nodes[other.at()].doubt = Doubt::BOTH;
            }
            let (ins, outs) = (Vec::new(), Vec::new());
            self.nodes.push(FlatNode { written: node, body, inner: None, place: 0, ins, outs, doubt });
            self.bodies[body.at()].nodes.push(ix);
            if let Some(inner) = node.kind.body() {
                self.nodes[ix.at()].inner = Some(self.add_body(inner, Some(ix), problems));
            }
        }
        body
    }

    /// False if there are too many.
    fn add_edges(&mut self, problems: &mut Problems) -> bool {
        let mut edges: Vec<FlatEdge<'a>> = Vec::new();
        for at in 0..self.nodes.len() {
            let ix = NodeIx(at as u32);
            let written = self.nodes[at].written;
            for (on, targets) in ways(written) {
                for target in targets {
                    match self.other_end(ix, target, problems) {
                        Some(to) => edges.push(FlatEdge { from: ix, to, on, at: &target.at }),
                        None => self.nodes[at].doubt.outs = true,
                    }
                }
            }
            for target in &written.after {
                match self.other_end(ix, target, problems) {
                    Some(from) => edges.push(FlatEdge { from, to: ix, on: On::Done, at: &target.at }),
                    None => self.nodes[at].doubt.ins = true,
                }
            }
        }
        if edges.len() > EDGES_MAX {
            problems.say(edges[EDGES_MAX].at, format!("there are {} edges; there may be {EDGES_MAX}", edges.len()));
            return false;
        }
        self.check_pairs(&edges, problems);
        edges.sort_by_key(|edge| edge.from);
        for (at, edge) in edges.iter().enumerate() {
            self.nodes[edge.from.at()].outs.push(EdgeIx(at as u32));
            self.nodes[edge.to.at()].ins.push(EdgeIx(at as u32));
        }
        self.edges = edges;
        true
    }

    fn other_end(&self, ix: NodeIx, target: &Target, problems: &mut Problems) -> Option<NodeIx> {
        let Some(other) = self.ids.get(&*target.id).copied() else {
            let mut problem = Problem::new(&target.at, format!("no node `{}`", short(&target.id)));
            if !problems.is_full() {
                let here = &self.bodies[self.node(ix).body.at()].nodes;
                let near = here.iter().filter(|near| **near != ix).map(|near| self.id(*near));
                problem.suggestion = did_you_mean(&target.id, near);
            }
            problems.add(problem);
            return None;
        };
        let (id, other_id) = (self.id(ix), self.id(other));
        if other == ix {
            problems.say(&target.at, format!("`{id}` cannot lead to itself"));
            return None;
        }
        let (own, others) = (self.node(ix).body, self.node(other).body);
        if own != others {
            let whose = |body: BodyIx| match self.body(body).of {
                Some(of) => format!("in the body of `{}`", self.id(of)),
                None => "in the workflow itself".to_owned(),
            };
            let message =
                format!("`{other_id}` is {}, `{id}` {}: an edge joins two nodes of one body", whose(others), whose(own));
            problems.say(&target.at, message);
            return None;
        }
        Some(other)
    }

    /// Between two nodes at most one edge may be live: an edge is taken once in a frame.
    fn check_pairs(&self, edges: &[FlatEdge<'_>], problems: &mut Problems) {
        let mut seen: HashSet<(NodeIx, NodeIx, On)> = HashSet::new();
        let mut taken: HashMap<(NodeIx, NodeIx), (bool, bool)> = HashMap::new();
        for edge in edges {
            let (from, to) = (self.id(edge.from), self.id(edge.to));
            if !seen.insert((edge.from, edge.to, edge.on)) {
                problems.say(edge.at, format!("the edge from `{from}` to `{to}` is there twice"));
                continue;
            }
            let pair = taken.entry((edge.from, edge.to)).or_default();
            match edge.on {
                On::Done => pair.0 = true,
                On::Rule(_) | On::Default | On::Named => pair.1 = true,
                On::Error | On::Reject | On::Timeout | On::Max => continue,
            }
            if *pair == (true, true) {
                let message = format!("`{to}` comes after `{from}` whichever way it goes, and is one of its ways too");
                problems.add(Problem::new(edge.at, message).suggest(format!("leave out `after: {from}`: `to` makes the edge")));
            }
        }
    }
}

/// The edges a node's own text makes, beside those of `after`.
fn ways(node: &Node) -> Vec<(On, &[Target])> {
    let mut ways: Vec<(On, &[Target])> = Vec::new();
    match &node.kind {
        Kind::Branch { rules, default } => {
            ways.extend(rules.iter().enumerate().map(|(at, rule)| (On::Rule(at as u16), rule.to.as_slice())));
            ways.push((On::Default, default));
        }
        Kind::Route { to } => ways.push((On::Named, to)),
        Kind::Loop { on_max, .. } => ways.push((On::Max, on_max)),
        Kind::Approval { on_reject, on_timeout, .. } => {
            ways.push((On::Reject, on_reject));
            ways.push((On::Timeout, on_timeout));
        }
        Kind::Wait { on_timeout, .. } => ways.push((On::Timeout, on_timeout)),
        _ => {}
    }
    if let OnError::To(to) = &node.on_error {
        ways.push((On::Error, to));
    }
    ways
}
