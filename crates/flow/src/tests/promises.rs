//! What the head of `kernel::ir` promises, checked from that text alone.

use kernel::ir::*;
use std::collections::{HashMap, HashSet};

pub fn validate(ir: &Ir) {
    let at = |ix: NodeIx| &ir.nodes[ix.at()];
    // Node ids are unique over all bodies.
    let ids: HashSet<&str> = ir.nodes.iter().map(|node| node.id.as_str()).collect();
    assert_eq!(ids.len(), ir.nodes.len(), "ids are unique");
    assert!(!ir.nodes.is_empty() && ir.version > 0 && ir.limits.stall_ms > 0);

    // Indexes lead somewhere, and both ways agree.
    for (ix, edge) in ir.edges.iter().enumerate() {
        let (from, to) = (at(edge.from), at(edge.to));
        assert!(from.outs.contains(&EdgeIx(ix as u32)) && to.ins.contains(&EdgeIx(ix as u32)));
        assert_eq!(from.body, to.body, "an edge joins two nodes of one body");
        assert!(from.place < to.place, "every edge leads forward");
    }
    let outs: usize = ir.nodes.iter().map(|node| node.outs.len()).sum();
    let ins: usize = ir.nodes.iter().map(|node| node.ins.len()).sum();
    assert_eq!((outs, ins), (ir.edges.len(), ir.edges.len()));

    let mut placed = 0;
    for (ix, body) in ir.bodies.iter().enumerate() {
        let ix = BodyIx(ix as u32);
        placed += body.nodes.len();
        for (place, node) in body.nodes.iter().enumerate() {
            assert_eq!((at(*node).body, at(*node).place as usize), (ix, place));
        }
        let entries: Vec<NodeIx> = body.nodes.iter().copied().filter(|node| at(*node).ins.is_empty()).collect();
        let sinks: Vec<NodeIx> = body.nodes.iter().copied().filter(|node| at(*node).outs.is_empty()).collect();
        let sorted = |mut nodes: Vec<NodeIx>| {
            nodes.sort_unstable();
            nodes
        };
        assert_eq!(sorted(entries), sorted(body.entries.clone()));
        assert_eq!(sorted(sinks), sorted(body.sinks.clone()));
        match body.of {
            Some(of) => {
                assert_eq!((body.entries.len(), body.sinks.len()), (1, 1), "one entry, one sink");
                let own = match &at(of).kind {
                    NodeKind::Loop { body, .. } | NodeKind::Each { body, .. } => *body,
                    other => panic!("a body of {other:?}"),
                };
                assert_eq!(own, ix);
                // Bodies lie inside each other, never in a circle.
                assert!(at(of).body < ix);
            }
            None => {
                assert_eq!(ix, ROOT);
                assert!(!body.entries.is_empty() && !body.sinks.is_empty());
            }
        }
    }
    assert_eq!(placed, ir.nodes.len(), "every node lies in one body");
    ir.edges.iter().for_each(|edge| check_edge(ir, edge));
    check_taken_once(ir);
    ir.nodes.iter().enumerate().for_each(|(ix, node)| check_node(ir, NodeIx(ix as u32), node));
    for (ix, body) in ir.bodies.iter().enumerate() {
        if let Some(output) = body.output {
            check_reads(ir, output, BodyIx(ix as u32), None, false);
        }
    }
}

/// Between two nodes at most one edge can be live, so no pair (edge, frame) meets a second token of that pair.
fn check_taken_once(ir: &Ir) {
    let mut between: HashMap<(NodeIx, NodeIx), Vec<On>> = HashMap::new();
    for edge in &ir.edges {
        let on = between.entry((edge.from, edge.to)).or_default();
        assert!(!on.contains(&edge.on), "twice the same edge");
        on.push(edge.on);
        let way = on.iter().any(|on| matches!(on, On::Rule(_) | On::Default | On::Named));
        assert!(!(way && on.contains(&On::Done)), "done, and one of its ways");
    }
}

fn check_edge(ir: &Ir, edge: &Edge) {
    let from = ir.node(edge.from);
    let fits = match edge.on {
        On::Done => true,
        On::Rule(at) => matches!(&from.kind, NodeKind::Branch { rules } if usize::from(at) < rules.len()),
        On::Default => matches!(from.kind, NodeKind::Branch { .. }),
        On::Named => matches!(from.kind, NodeKind::Route { .. }),
        On::Error => from.on_error == OnError::To,
        On::Reject => matches!(from.kind, NodeKind::Approval { .. }),
        On::Timeout => matches!(from.kind, NodeKind::Approval { .. } | NodeKind::Wait { .. }) && from.timeout_ms.is_some(),
        On::Max => matches!(from.kind, NodeKind::Loop { .. }),
    };
    assert!(fits, "{:?} does not fit {}", edge.on, from.id);
}

fn check_node(ir: &Ir, ix: NodeIx, node: &Node) {
    let reads = |expr: ExprIx| check_reads(ir, expr, node.body, Some(ix), !node.ins.is_empty());
    if let Join::NOf(count) = node.join {
        assert!(count >= 1 && usize::from(count) <= ir.predecessors(ix).len());
    }
    node.when.into_iter().for_each(reads);
    if node.on_error == OnError::To {
        assert!(node.outs.iter().any(|edge| ir.edge(*edge).on == On::Error));
    }
    match &node.kind {
        NodeKind::Work { keys, with, .. } => {
            keys.iter().for_each(|(_, key)| reads(*key));
            with.iter().copied().for_each(reads);
        }
        NodeKind::Branch { rules } => {
            assert!(!rules.is_empty());
            rules.iter().copied().for_each(reads);
        }
        NodeKind::Route { .. } => assert_eq!(ir.predecessors(ix).len(), 1),
        NodeKind::Loop { body, iterations_max, init, until } => {
            assert!((1..=10_000).contains(iterations_max));
            init.iter().copied().for_each(reads);
            check_reads(ir, *until, *body, None, true);
        }
        NodeKind::Each { items, concurrency, .. } => {
            assert!(*concurrency > 0);
            reads(*items);
        }
        NodeKind::Join => assert!(node.ins.len() > 1),
        NodeKind::Approval { message, .. } => message.iter().copied().for_each(reads),
        NodeKind::Sleep(Sleep::For { ms }) => assert!(*ms > 0),
        NodeKind::Sleep(Sleep::ForExpr(expr) | Sleep::UntilExpr(expr)) => reads(*expr),
        NodeKind::Wait { matches, key, .. } => {
            let of_event = |expr: ExprIx| check_names(ir, expr, node.body, Some(ix), !node.ins.is_empty(), true);
            matches.iter().copied().for_each(of_event);
            if let Some(WaitKey { of, is, .. }) = key {
                assert!(matches.is_some() && ir.expr(*of).reads == Reads { event: true, ..Reads::default() });
                reads(*is);
            }
        }
        NodeKind::Workflow { with, .. } => with.iter().copied().for_each(reads),
        NodeKind::Transform { value, .. } => reads(*value),
    }
}

/// Nodes read are upstream: found here by walking the edges back, body by body outwards.
fn check_reads(ir: &Ir, expr: ExprIx, body: BodyIx, before: Option<NodeIx>, output: bool) {
    check_names(ir, expr, body, before, output, false);
}

fn check_names(ir: &Ir, expr: ExprIx, body: BodyIx, before: Option<NodeIx>, output: bool, event: bool) {
    let expr = &ir.exprs[expr.at()];
    let mut upstream: HashSet<NodeIx> = HashSet::new();
    let (mut item, mut last) = (false, false);
    let (mut body, mut before) = (body, before);
    loop {
        match before {
            Some(before) => walk_back(ir, before, &mut upstream),
            None => upstream.extend(&ir.body(body).nodes),
        }
        let Some(of) = ir.body(body).of else { break };
        item |= matches!(ir.node(of).kind, NodeKind::Each { .. });
        last |= matches!(ir.node(of).kind, NodeKind::Loop { .. });
        (body, before) = (ir.node(of).body, Some(of));
    }
    let reads = &expr.reads;
    assert!(reads.nodes.iter().all(|node| upstream.contains(node)), "{} reads what is not upstream", expr.source);
    assert!(
        (!reads.item || item) && (!reads.last || last) && (!reads.output || output) && (!reads.event || event),
        "{}",
        expr.source
    );
}

fn walk_back(ir: &Ir, from: NodeIx, upstream: &mut HashSet<NodeIx>) {
    let mut open = ir.predecessors(from);
    while let Some(ix) = open.pop() {
        if upstream.insert(ix) {
            open.extend(ir.predecessors(ix));
        }
    }
}
