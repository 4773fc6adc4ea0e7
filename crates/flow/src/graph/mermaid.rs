//! An IR as a Mermaid flowchart: bodies are subgraphs, detours are dashed.

use super::{body_title, is_detour, kind, label, when};
use kernel::ir::{BodyIx, Ir, Node, NodeIx, NodeKind, ROOT};
use std::fmt::Write;

pub fn mermaid(ir: &Ir) -> String {
    let mut text = String::from("flowchart TD\n");
    body(ir, ROOT, 1, &mut text);
    for edge in &ir.edges {
        let (from, to) = (edge.from.0, edge.to.0);
        let line = if is_detour(edge.on) { "-.->" } else { "-->" };
        let label = label(ir, edge).map(|label| format!("|\"{}\"|", escape(&label))).unwrap_or_default();
        let _ = writeln!(text, "  n{from} {line}{label} n{to}");
    }
    text
}

/// As deep as bodies lie in each other, which is bounded.
fn body(ir: &Ir, ix: BodyIx, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    for node_ix in &ir.body(ix).nodes {
        let node = ir.node(*node_ix);
        match &node.kind {
            NodeKind::Loop { body: inner, .. } | NodeKind::Each { body: inner, .. } => {
                let _ = writeln!(text, "{indent}subgraph n{}[\"{}\"]", node_ix.0, escape(&body_title(ir, node)));
                body(ir, *inner, depth + 1, text);
                let _ = writeln!(text, "{indent}end");
            }
            _ => {
                let _ = writeln!(text, "{indent}{}", shape(ir, *node_ix, node));
            }
        }
    }
}

fn shape(ir: &Ir, ix: NodeIx, node: &Node) -> String {
    let (open, close) = match &node.kind {
        NodeKind::Branch { .. } | NodeKind::Route { .. } => ("{", "}"),
        NodeKind::Approval { .. } => ("[/", "/]"),
        NodeKind::Sleep(_) | NodeKind::Wait { .. } => ("([", "])"),
        NodeKind::Join => ("((", "))"),
        NodeKind::Workflow { .. } => ("[[", "]]"),
        _ => ("[", "]"),
    };
    let when = when(ir, node).map(|when| format!("<br/>{}", escape(&when))).unwrap_or_default();
    format!("n{}{open}\"{}<br/>{}{when}\"{close}", ix.0, escape(node.id.as_str()), escape(&kind(node)))
}

/// Entities as Mermaid writes them; `#` begins one.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '#' | '"' | '<' | '>' | '&' | '`' | '\\' | '|' => {
                let _ = write!(escaped, "#{};", c as u32);
            }
            c => escaped.push(c),
        }
    }
    escaped
}
