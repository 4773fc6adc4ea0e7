//! What is alike is drawn once: nodes, or rows of nodes one after the other, that come after the same and lead to the same, in the
//! same way, and are of the same type. What has a body of its own is never folded.

use crate::graph::kind;
use kernel::ir::{BodyIx, EdgeIx, Ir, NodeIx, On};
use std::collections::HashMap;

/// Fewer than this are drawn one by one.
pub const ALIKE_MIN: usize = 9;

/// The nodes of a body, those that are drawn as one together. Every edge still leads forward.
pub fn folded(ir: &Ir, body: BodyIx) -> Vec<Vec<NodeIx>> {
    let nodes = &ir.body(body).nodes;
    let mut alike: HashMap<Chain, Vec<Vec<NodeIx>>> = HashMap::new();
    for node in nodes.iter().filter(|node| joined(ir, **node).is_none()) {
        let chain = chain(ir, *node);
        if chain.iter().all(|node| ir.body_of(*node).is_none()) {
            alike.entry(Chain::of(ir, &chain)).or_default().push(chain);
        }
    }
    // The first of those that are alike stands for all of them.
    let mut first: HashMap<NodeIx, Vec<NodeIx>> = HashMap::new();
    let mut others = std::collections::HashSet::new();
    for chains in alike.into_values().filter(|chains| chains.len() >= ALIKE_MIN) {
        for place in 0..chains[0].len() {
            let members: Vec<NodeIx> = chains.iter().map(|chain| chain[place]).collect();
            others.extend(members[1..].iter().copied());
            first.insert(members[0], members);
        }
    }
    let shown = nodes.iter().filter(|node| !others.contains(node));
    shown.map(|node| first.remove(node).unwrap_or_else(|| vec![*node])).collect()
}

/// The one node that leads here and nowhere else, if this one comes after no other.
fn joined(ir: &Ir, node: NodeIx) -> Option<NodeIx> {
    let [edge] = ir.node(node).ins.as_slice() else { return None };
    let from = ir.edge(*edge).from;
    Some(from).filter(|from| ir.node(*from).outs.len() == 1)
}

fn chain(ir: &Ir, first: NodeIx) -> Vec<NodeIx> {
    let mut chain = vec![first];
    let mut at = first;
    while let [edge] = ir.node(at).outs.as_slice()
        && let next = ir.edge(*edge).to
        && joined(ir, next).is_some()
    {
        chain.push(next);
        at = next;
    }
    chain
}

/// What makes two of them alike.
#[derive(PartialEq, Eq, Hash)]
struct Chain {
    kinds: Vec<(String, Vec<On>)>,
    after: Vec<(NodeIx, On)>,
    before: Vec<(NodeIx, On)>,
}

impl Chain {
    fn of(ir: &Ir, nodes: &[NodeIx]) -> Chain {
        let ends = |edges: &[EdgeIx], of: fn(&Ir, EdgeIx) -> NodeIx| {
            let mut ends: Vec<(NodeIx, On)> = edges.iter().map(|edge| (of(ir, *edge), ir.edge(*edge).on)).collect();
            ends.sort_by_key(|(node, on)| (*node, format!("{on:?}")));
            ends
        };
        let outs = |node: &NodeIx| ir.node(*node).outs.iter().map(|edge| ir.edge(*edge).on).collect();
        Chain {
            kinds: nodes.iter().map(|node| (kind(ir.node(*node)), outs(node))).collect(),
            after: ends(&ir.node(nodes[0]).ins, |ir, edge| ir.edge(edge).from),
            before: ends(&ir.node(nodes[nodes.len() - 1]).outs, |ir, edge| ir.edge(edge).to),
        }
    }
}
