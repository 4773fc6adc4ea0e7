//! The graph of each body: without cycles, in order, with the beginnings, ends and joins it needs.

use super::Flat;
use crate::define::{Kind, OnError};
use crate::limits::*;
use crate::problem::{Problem, Problems};
use kernel::ir::{BodyIx, Join, NodeIx};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Ids that a message names before it says "and so on".
const NAMED_MAX: usize = 10;

/// Puts the nodes of every body in order; false if one has a cycle.
pub fn order(flat: &mut Flat<'_>, problems: &mut Problems) -> bool {
    let mut acyclic = true;
    let mut open: Vec<usize> = flat.nodes.iter().map(|node| node.ins.len()).collect();
    for at in 0..flat.bodies.len() {
        let nodes = std::mem::take(&mut flat.bodies[at].nodes);
        let mut ready: BinaryHeap<Reverse<NodeIx>> =
            nodes.iter().filter(|ix| open[ix.at()] == 0).map(|ix| Reverse(*ix)).collect();
        let mut ordered = Vec::with_capacity(nodes.len());
        while let Some(Reverse(ix)) = ready.pop() {
            flat.nodes[ix.at()].place = ordered.len() as u32;
            ordered.push(ix);
            for edge in &flat.nodes[ix.at()].outs {
                let to = flat.edges[edge.at()].to;
                open[to.at()] -= 1;
                if open[to.at()] == 0 {
                    ready.push(Reverse(to));
                }
            }
        }
        if ordered.len() < nodes.len() {
            acyclic = false;
            tell_cycle(flat, &nodes, &open, problems);
        }
        let body = &mut flat.bodies[at];
        body.entries = nodes.iter().copied().filter(|ix| flat.nodes[ix.at()].ins.is_empty()).collect();
        body.sinks = nodes.iter().copied().filter(|ix| flat.nodes[ix.at()].outs.is_empty()).collect();
        body.nodes = if ordered.len() == nodes.len() { ordered } else { nodes };
    }
    acyclic
}

/// Every node left over has one before it that is left over too: walking back must come round.
fn tell_cycle(flat: &Flat<'_>, nodes: &[NodeIx], open: &[usize], problems: &mut Problems) {
    let Some(start) = nodes.iter().find(|ix| open[ix.at()] > 0) else { return };
    let before = |ix: NodeIx| {
        let ins = flat.node(ix).ins.iter().map(|edge| &flat.edges[edge.at()]);
        ins.into_iter().find(|edge| open[edge.from.at()] > 0)
    };
    let mut walked = vec![*start];
    let mut seen = vec![false; flat.nodes.len()];
    seen[start.at()] = true;
    while let Some(edge) = before(*walked.last().expect("it begins with one")) {
        if seen[edge.from.at()] {
            let from = walked.iter().position(|ix| *ix == edge.from).unwrap_or(0);
            let mut cycle: Vec<NodeIx> = walked[from..].to_vec();
            cycle.reverse();
            // It begins with the node that comes first in the text.
            let first = (0..cycle.len()).min_by_key(|at| cycle[*at]).unwrap_or(0);
            cycle.rotate_left(first);
            // A loop whose body was not found may be led back to by what belongs inside.
            let loops = cycle.iter().any(|ix| matches!(flat.node(*ix).written.kind, Kind::Loop { .. }));
            if loops && flat.body(flat.node(cycle[0]).body).written.torn {
                return;
            }
            let mut names: Vec<String> = cycle.iter().take(NAMED_MAX).map(|ix| flat.id(*ix).to_owned()).collect();
            if cycle.len() > NAMED_MAX {
                names.push("…".to_owned());
            }
            names.push(flat.id(cycle[0]).to_owned());
            let message = format!("the nodes go round in a circle: {}", names.join(" → "));
            let at = flat.node(cycle[0]).written;
            problems.add(Problem::new(&at.at, message).suggest("what is to be repeated goes into the body of a `loop`"));
            return;
        }
        seen[edge.from.at()] = true;
        walked.push(edge.from);
    }
}

pub fn check(flat: &Flat<'_>, problems: &mut Problems) {
    for body in 1..flat.bodies.len() {
        check_body(flat, BodyIx(body as u32), problems);
    }
    for at in 0..flat.nodes.len() {
        check_join(flat, NodeIx(at as u32), problems);
        check_kind(flat, NodeIx(at as u32), problems);
    }
}

fn list(flat: &Flat<'_>, nodes: &[NodeIx]) -> String {
    let mut names: Vec<String> = nodes.iter().take(NAMED_MAX).map(|ix| format!("`{}`", flat.id(*ix))).collect();
    if nodes.len() > NAMED_MAX {
        names.push("…".to_owned());
    }
    names.join(", ")
}

fn bare(flat: &Flat<'_>, nodes: &[NodeIx]) -> String {
    list(flat, nodes).replace('`', "")
}

fn check_body(flat: &Flat<'_>, ix: BodyIx, problems: &mut Problems) {
    let body = flat.body(ix);
    let of = body.of.map(|of| flat.id(of)).unwrap_or_default();
    let entries: Vec<NodeIx> = body.entries.iter().copied().filter(|ix| flat.ins_known(*ix)).collect();
    let sinks: Vec<NodeIx> = body.sinks.iter().copied().filter(|ix| flat.outs_known(*ix)).collect();
    if entries.len() > 1 {
        let message = format!("the body of `{of}` begins with several nodes: {}", list(flat, &entries));
        problems.add(
            Problem::new(&body.written.at, message).suggest(
                "put one before them, such as `start: {type: transform, value: \"true\"}`, and give them `after: start`",
            ),
        );
    }
    if sinks.len() > 1 {
        let message = format!("the body of `{of}` ends with several nodes: {}", list(flat, &sinks));
        problems.add(
            Problem::new(&body.written.at, message)
                .suggest(format!("join them: `end: {{type: join, after: [{}]}}`", bare(flat, &sinks))),
        );
    }
}

/// Between a pair of nodes at most one edge is live, so predecessors bound the live tokens.
fn check_join(flat: &Flat<'_>, ix: NodeIx, problems: &mut Problems) {
    if !flat.ins_known(ix) {
        return;
    }
    let node = flat.node(ix);
    let id = flat.id(ix);
    let ways = match node.ins.len() {
        0 => "nothing leads to it",
        1 => "only one way leads to it",
        _ => "",
    };
    if node.ins.len() < 2 {
        if let Some((_, at)) = &node.written.join {
            problems.say(at, format!("`{id}` has nothing to join: {ways}"));
        } else if matches!(node.written.kind, Kind::Join) {
            problems.say(&node.written.at, format!("`{id}` has nothing to join: {ways}"));
        }
    } else if let Some((Join::NOf(wanted), at)) = &node.written.join {
        let mut from: Vec<NodeIx> = node.ins.iter().map(|edge| flat.edges[edge.at()].from).collect();
        from.sort_unstable();
        from.dedup();
        if usize::from(*wanted) > from.len() {
            problems.say(at, format!("`{id}` waits for {wanted} nodes, but only {} lead to it", from.len()));
        }
    }
}

fn check_kind(flat: &Flat<'_>, ix: NodeIx, problems: &mut Problems) {
    let node = flat.node(ix);
    let id = flat.id(ix);
    match &node.written.kind {
        Kind::Route { .. } if flat.ins_known(ix) => {
            let from = node.ins.iter().map(|edge| flat.edges[edge.at()].from);
            let mut from: Vec<NodeIx> = from.collect();
            from.dedup();
            if from.len() != 1 {
                let message =
                    format!("`{id}` needs exactly one node before it, whose output names the way; it has {}", from.len());
                problems.say(&node.written.at, message);
            }
        }
        Kind::Branch { rules, .. } if rules.len() > RULES_MAX => {
            problems.say(&node.written.at, format!("`{id}` has {} rules; it may have {RULES_MAX}", rules.len()));
        }
        _ => {}
    }
    if let (OnError::Ignore(at), Kind::Branch { .. } | Kind::Route { .. }) = (&node.written.on_error, &node.written.kind) {
        problems.say(at, "a branch cannot ignore its error: none of its ways would be taken");
    }
}
