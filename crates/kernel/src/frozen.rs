//! What a patch may not touch any more. A node that has begun keeps its own text and what leads to it; one that has ended also
//! keeps what it leads to. Texts are compared by what they mean, whatever numbers nodes and expressions have in them. What stands
//! in the body of a loop or an each is not the text of that node: its turns and items are looked at one by one.

use crate::frame::Frame;
use crate::ir::{BodyIx, EdgeIx, Expr, ExprIx, Ir, NodeIx, NodeKind, On, Sleep};
use crate::names::NodeId;
use crate::node::{NodeState, Slot};
use std::fmt;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Frozen {
    Gone,
    Text(&'static str),
    Ins,
    Outs,
}

impl fmt::Display for Frozen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Frozen::Gone => f.write_str("it cannot be taken out or moved"),
            Frozen::Text(part) => write!(f, "its `{part}` cannot be changed"),
            Frozen::Ins => f.write_str("what leads to it cannot be changed"),
            Frozen::Outs => f.write_str("it has ended, so what it leads to cannot be changed"),
        }
    }
}

impl Frame {
    /// The first node that is not in another text as it would have to be, and how it stands. `is_open`: nodes that begin anew.
    pub(crate) fn misfit(
        &self,
        new: &Ir,
        body: BodyIx,
        is_open: impl Fn(NodeIx, &Slot) -> bool,
    ) -> Option<(NodeId, &'static str, Frozen)> {
        let old = &*self.ir;
        for (node, slot) in old.body(self.body).nodes.iter().zip(&self.nodes) {
            if slot.state == NodeState::Waiting || is_open(*node, slot) || crate::defect("frozen_ignored") {
                continue;
            }
            let id = &old.node(*node).id;
            let found = new.find_in(body, id);
            let frozen = match found {
                None => Some(Frozen::Gone),
                Some(other) => {
                    let (one, two) = (old.node(*node), new.node(other));
                    let from = |ir: &Ir, edge: EdgeIx| ir.edge(edge).from;
                    let to = |ir: &Ir, edge: EdgeIx| ir.edge(edge).to;
                    let ended = slot.state.ended().is_some();
                    if let Some(part) = changed(old, *node, new, other) {
                        Some(Frozen::Text(part))
                    } else if ends(old, &one.ins, from) != ends(new, &two.ins, from) {
                        Some(Frozen::Ins)
                    } else if ended && ends(old, &one.outs, to) != ends(new, &two.outs, to) {
                        Some(Frozen::Outs)
                    } else {
                        None
                    }
                }
            };
            if let Some(frozen) = frozen {
                return Some((id.clone(), slot.state.as_str(), frozen));
            }
        }
        None
    }
}

/// Where edges come from or lead to, and on what.
fn ends(ir: &Ir, edges: &[EdgeIx], end: impl Fn(&Ir, EdgeIx) -> NodeIx) -> Vec<(NodeId, On)> {
    let mut ends: Vec<(NodeId, On)> = edges.iter().map(|edge| (ir.node(end(ir, *edge)).id.clone(), ir.edge(*edge).on)).collect();
    ends.sort_by(|a, b| (&a.0, order(a.1)).cmp(&(&b.0, order(b.1))));
    ends
}

fn order(on: On) -> (u8, u16) {
    match on {
        On::Done => (0, 0),
        On::Rule(rule) => (1, rule),
        On::Default => (2, 0),
        On::Named => (3, 0),
        On::Error => (4, 0),
        On::Reject => (5, 0),
        On::Timeout => (6, 0),
        On::Max => (7, 0),
    }
}

/// What of a node's own text is another, by the name of its field.
pub fn changed(old: &Ir, node: NodeIx, new: &Ir, other: NodeIx) -> Option<&'static str> {
    let (one, two) = (old.node(node), new.node(other));
    let same = |a: ExprIx, b: ExprIx| is_same(old.expr(a), new.expr(b));
    let both = |a: Option<ExprIx>, b: Option<ExprIx>| match (a, b) {
        (Some(a), Some(b)) => same(a, b),
        (a, b) => a.is_none() && b.is_none(),
    };
    let part = |is_same: bool, name: &'static str| if is_same { None } else { Some(name) };
    let kind = match (&one.kind, &two.kind) {
        (
            NodeKind::Work { kind, queue, priority, keys, with },
            NodeKind::Work { kind: kind2, queue: queue2, priority: priority2, keys: keys2, with: with2 },
        ) => {
            let keyed = keys.len() == keys2.len()
                && keys.iter().zip(keys2).all(|((name, expr), (name2, expr2))| name == name2 && same(*expr, *expr2));
            part(kind == kind2, "type")
                .or(part(queue == queue2, "queue"))
                .or(part(priority == priority2, "priority"))
                .or(part(keyed, "keys"))
                .or(part(both(*with, *with2), "with"))
        }
        (NodeKind::Branch { rules }, NodeKind::Branch { rules: rules2 }) => {
            let same = rules.len() == rules2.len() && rules.iter().zip(rules2).all(|(a, b)| same(*a, *b));
            part(same, "rules")
        }
        (NodeKind::Route { by }, NodeKind::Route { by: by2 }) => part(same(*by, *by2), "by"),
        (NodeKind::Join, NodeKind::Join) => None,
        (
            NodeKind::Loop { iterations_max, init, until, .. },
            NodeKind::Loop { iterations_max: iterations_max2, init: init2, until: until2, .. },
        ) => part(iterations_max == iterations_max2, "max_iterations")
            .or(part(both(*init, *init2), "init"))
            .or(part(same(*until, *until2), "until")),
        (
            NodeKind::Each { items, concurrency, on_failure, .. },
            NodeKind::Each { items: items2, concurrency: concurrency2, on_failure: on_failure2, .. },
        ) => part(same(*items, *items2), "items")
            .or(part(concurrency == concurrency2, "concurrency"))
            .or(part(on_failure == on_failure2, "on_failure")),
        (NodeKind::Approval { who, message }, NodeKind::Approval { who: who2, message: message2 }) => {
            part(who == who2, "who").or(part(both(*message, *message2), "message"))
        }
        (NodeKind::Sleep(sleep), NodeKind::Sleep(sleep2)) => match (sleep, sleep2) {
            (Sleep::For { ms }, Sleep::For { ms: ms2 }) => part(ms == ms2, "for"),
            (Sleep::ForExpr(a), Sleep::ForExpr(b)) => part(same(*a, *b), "for"),
            (Sleep::UntilExpr(a), Sleep::UntilExpr(b)) => part(same(*a, *b), "until"),
            (Sleep::UntilExpr(_), _) => Some("until"),
            _ => Some("for"),
        },
        (NodeKind::Wait { event, matches, .. }, NodeKind::Wait { event: event2, matches: matches2, .. }) => {
            part(event == event2, "event").or(part(both(*matches, *matches2), "match"))
        }
        (
            NodeKind::Workflow { workflow, version, with },
            NodeKind::Workflow { workflow: workflow2, version: version2, with: with2 },
        ) => {
            part(workflow == workflow2, "workflow").or(part(version == version2, "version")).or(part(both(*with, *with2), "with"))
        }
        (NodeKind::Transform { value, called }, NodeKind::Transform { value: value2, called: called2 }) => {
            part(called == called2, "type").or(part(same(*value, *value2), "value"))
        }
        _ => Some("type"),
    };
    kind.or(part(one.join == two.join, "join"))
        .or(part(both(one.when, two.when), "when"))
        .or(part(one.on_error == two.on_error, "on_error"))
        .or(part(one.retry == two.retry, "retry"))
        .or(part(one.timeout_ms == two.timeout_ms, "timeout"))
}

fn is_same(one: &Expr, two: &Expr) -> bool {
    one.source == two.source && one.form == two.form
}
