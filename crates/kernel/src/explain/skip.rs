//! Why a node was skipped: the condition that did not hold, or the way through those before it to what made its tokens dead.

use crate::frame::{Cause, Frame, Token, Verdict};
use crate::ir::{Ir, Join, NodeIx, NodeKind};
use crate::node::{NodeState, Went};

/// Nodes on the way back that are named.
const WAY_BACK_MAX: usize = 4;

/// In words that follow "skipped: ". `None`: it was not skipped, or nothing before it says why.
pub fn why_skipped(frame: &Frame, node: NodeIx) -> Option<String> {
    let ir = &**frame.ir();
    let (mut at, mut through) = (node, Vec::new());
    loop {
        let NodeState::Skipped(cause) = frame.node(at) else { return None };
        let why = if frame.verdict(at) == Verdict::Enter {
            let when = ir.node(at).when?;
            let source = super::one_line(&ir.expr(when).source);
            match through.len() {
                0 | 1 => format!("its `when` was false: {source}"),
                _ => format!("the `when` of `{}` was false: {source}", ir.node(at).id),
            }
        } else {
            let dead = |edge: &&crate::ir::EdgeIx| frame.token(**edge) == Some(Token::Dead(*cause));
            match ir.node(at).ins.iter().find(dead) {
                // None of them failed, and yet too few came.
                None => too_few(ir, frame, at),
                Some(edge) => {
                    let from = ir.edge(*edge).from;
                    if matches!(frame.node(from), NodeState::Skipped(_)) {
                        through.push(from);
                        at = from;
                        continue;
                    }
                    ended_otherwise(ir, frame, from, *cause)
                }
            }
        };
        return Some(format!("{}{why}", way_back(ir, &through)));
    }
}

/// `b` was skipped, as `a` was, of which …
fn way_back(ir: &Ir, through: &[NodeIx]) -> String {
    let names: Vec<String> = through.iter().map(|node| format!("`{}`", ir.node(*node).id)).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => format!("{one} before it was skipped, since "),
        many if many.len() <= WAY_BACK_MAX => format!("{} before it were skipped, since ", many.join(" after ")),
        many => format!("{} nodes from {} to {} before it were skipped, since ", many.len(), many[many.len() - 1], many[0]),
    }
}

/// What a node that was not skipped did instead of leading here.
fn ended_otherwise(ir: &Ir, frame: &Frame, node: NodeIx, cause: Cause) -> String {
    let id = &ir.node(node).id;
    match frame.node(node) {
        NodeState::Done { went, .. } => match went {
            Went::Rule(rule) => format!("`{id}` took its rules[{rule}]"),
            Went::Default => format!("`{id}` took its default"),
            Went::Named(named) => format!("`{id}` was led to `{named}`"),
            Went::Reject => format!("`{id}` was answered with no"),
            Went::Timeout => match &ir.node(node).kind {
                NodeKind::Wait { event, .. } => format!("no event `{event}` came in time for `{id}`"),
                _ => format!("`{id}` was not answered in time"),
            },
            Went::Heard(event) => format!("`{id}` heard {event}"),
            Went::Max => format!("`{id}` reached its max_iterations"),
            Went::Done => format!("`{id}` is done, and this is its way for another end"),
        },
        NodeState::Failed { failure, .. } if cause == Cause::Failed => format!("`{id}` failed with {}", failure.code),
        NodeState::Failed { .. } => format!("`{id}` failed, which is ignored"),
        NodeState::Cancelled => format!("`{id}` was cancelled"),
        NodeState::Waiting | NodeState::Started { .. } | NodeState::Skipped(_) => format!("`{id}` did not lead here"),
    }
}

fn too_few(ir: &Ir, frame: &Frame, node: NodeIx) -> String {
    let entry = ir.node(node);
    let came = entry.ins.iter().filter(|edge| frame.token(**edge) == Some(Token::Live)).count();
    let wanted = if let Join::NOf(n) = entry.join { n as usize } else { entry.ins.len() };
    format!("{came} of {wanted} that it needs came")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::RecordSeq;
    use crate::ir::*;
    use crate::names::{NodeId, WorkflowName};
    use crate::node::{Output, Slot};
    use crate::record::Failure;
    use crate::run::ValueAt;
    use std::sync::Arc;

    /// route → a (rule 0), b (default); a → c → d, with a condition where it is said.
    fn ir() -> Ir {
        let node = |id: &str, ins: &[u32], outs: &[u32], when: Option<u32>| Node {
            id: NodeId::parse(id).unwrap(),
            body: ROOT,
            place: 0,
            kind: NodeKind::Join,
            ins: ins.iter().map(|edge| EdgeIx(*edge)).collect(),
            outs: outs.iter().map(|edge| EdgeIx(*edge)).collect(),
            join: Join::All,
            when: when.map(ExprIx),
            on_error: OnError::To,
            retry: None,
            timeout_ms: None,
        };
        let mut nodes = vec![
            node("route", &[], &[0, 1], None),
            node("a", &[0], &[2], Some(0)),
            node("b", &[1], &[], None),
            node("c", &[2], &[3], None),
            node("d", &[3], &[], None),
        ];
        nodes.iter_mut().enumerate().for_each(|(place, node)| node.place = place as u32);
        let edge = |from, to, on| Edge { from: NodeIx(from), to: NodeIx(to), on };
        let edges = vec![edge(0, 1, On::Rule(0)), edge(0, 2, On::Default), edge(1, 3, On::Done), edge(3, 4, On::Done)];
        let all: Vec<NodeIx> = (0..5).map(NodeIx).collect();
        let body = Body { of: None, nodes: all, entries: vec![NodeIx(0)], sinks: vec![NodeIx(2), NodeIx(4)], output: None };
        Ir {
            workflow: WorkflowName::parse("w").unwrap(),
            version: 1,
            by_id: Ir::sorted(&nodes),
            nodes,
            edges,
            bodies: vec![body],
            exprs: vec![Expr { source: "input.amount > 100".into(), form: Form::Cel, reads: Reads::default() }],
            limits: RunLimits { deadline_ms: None, stall_ms: 1, steps_max: 1_000_000 },
            input_schema: None::<Arc<str>>,
            revised: None,
        }
    }

    fn check(states: &[(u32, NodeState)], node: u32, expected: Option<&str>) {
        let ir = Arc::new(ir());
        let slot = |state: &NodeState| Slot { state: state.clone(), last: RecordSeq(1), ..Slot::default() };
        let frame = Frame::of_nodes(&ir, ROOT, states.iter().map(|(node, state)| (NodeIx(*node), slot(state))));
        assert_eq!(why_skipped(&frame, NodeIx(node)).as_deref(), expected);
    }

    #[test]
    fn a_skip_is_led_back_to_what_made_it() {
        let done = |went: Went| NodeState::Done { output: Output::At(ValueAt::Null), went };
        let untaken = || NodeState::Skipped(Cause::Untaken);
        let failed = || NodeState::Skipped(Cause::Failed);
        let took_default = [(0, done(Went::Default)), (1, untaken()), (3, untaken()), (4, untaken())];
        check(&took_default, 1, Some("`route` took its default"));
        check(&took_default, 3, Some("`a` before it was skipped, since `route` took its default"));
        check(&took_default, 4, Some("`c` after `a` before it were skipped, since `route` took its default"));
        check(&took_default, 0, None);
        let when = [(0, done(Went::Rule(0))), (1, untaken()), (2, untaken()), (3, untaken()), (4, untaken())];
        check(&when, 1, Some("its `when` was false: input.amount > 100"));
        check(&when, 2, Some("`route` took its rules[0]"));
        check(&when, 3, Some("`a` before it was skipped, since its `when` was false: input.amount > 100"));
        check(&when, 4, Some("`c` after `a` before it were skipped, since the `when` of `a` was false: input.amount > 100"));
        let failure = Box::new(Failure { code: "boom".into(), message: "m".into() });
        let broken =
            [(0, done(Went::Rule(0))), (1, NodeState::Failed { failure, then: OnError::To }), (3, failed()), (4, failed())];
        check(&broken, 3, Some("`a` failed with boom"));
        check(&broken, 4, Some("`c` before it was skipped, since `a` failed with boom"));
    }
}
