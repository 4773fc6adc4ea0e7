//! An IR for a terminal: each body drawn in layers where that fits, else as an indented tree; the bodies of loops follow
//! under their own headings. No colours: where they are wanted, the caller knows.

use super::layered;
use super::{body_title, is_detour, kind, label, when};
use kernel::ir::{BodyIx, Ir, NodeIx, NodeKind, ROOT};
use std::fmt::Write;

/// More nodes than this are easier to read as a tree.
const DRAWN_NODES_MAX: usize = 40;
const INDENTS_MAX: usize = 12;

pub fn drawn(ir: &Ir, width: usize) -> String {
    let mut text = format!("{} version {}\n\n", ir.workflow, ir.version);
    section(ir, ROOT, width, &mut text);
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n") + "\n"
}

fn section(ir: &Ir, ix: BodyIx, width: usize, text: &mut String) {
    let nodes = &ir.body(ix).nodes;
    let layered = if nodes.len() <= DRAWN_NODES_MAX { layered::draw(ir, ix, width) } else { None };
    match layered {
        Some(picture) => {
            text.push_str(&picture);
            legend(ir, ix, text);
        }
        None => tree(ir, ix, text),
    }
    for node in nodes.iter().map(|ix| ir.node(*ix)) {
        if let NodeKind::Loop { body, .. } | NodeKind::Each { body, .. } = &node.kind {
            let _ = write!(text, "\n{}:\n\n", body_title(ir, node));
            section(ir, *body, width, text);
        }
    }
}

/// The picture has no room for what is written on edges, and for the conditions of nodes.
fn legend(ir: &Ir, ix: BodyIx, text: &mut String) {
    let edges = ir.body(ix).nodes.iter().flat_map(|ix| &ir.node(*ix).outs).map(|edge| ir.edge(*edge));
    let labelled: Vec<String> = edges
        .filter_map(|edge| {
            let arrow = if is_detour(edge.on) { "⇢" } else { "→" };
            Some(format!("{} {arrow} {}  {}", ir.node(edge.from).id, ir.node(edge.to).id, label(ir, edge)?))
        })
        .collect();
    let nodes = ir.body(ix).nodes.iter().map(|ix| ir.node(*ix));
    let conditions = nodes.filter_map(|node| Some(format!("{}  {}", node.id, when(ir, node)?)));
    let all: Vec<String> = labelled.into_iter().chain(conditions).collect();
    if !all.is_empty() {
        let _ = write!(text, "\n{}\n", all.join("\n"));
    }
}

fn tree(ir: &Ir, ix: BodyIx, text: &mut String) {
    let mut tree = Tree { ir, text, seen: vec![false; ir.nodes.len()], later: Vec::new() };
    for entry in &ir.body(ix).entries {
        tree.chain(*entry, "", String::new(), 0);
    }
    // What lies too deep is told from the margin.
    while let Some(next) = tree.later.pop() {
        if !tree.seen[next.at()] {
            tree.chain(next, "", String::new(), 0);
        }
    }
}

struct Tree<'a> {
    ir: &'a Ir,
    text: &'a mut String,
    seen: Vec<bool>,
    later: Vec<NodeIx>,
}

impl Tree<'_> {
    /// A node and what follows it in a row, each on a line of its own; where the way forks, one step further in.
    fn chain(&mut self, first: NodeIx, lead: &str, prefix: String, depth: usize) {
        let mut ix = first;
        let mut lead = lead.to_owned();
        loop {
            let node = self.ir.node(ix);
            if std::mem::replace(&mut self.seen[ix.at()], true) {
                let _ = writeln!(self.text, "{lead}→ {}", node.id);
                return;
            }
            let when = when(self.ir, node).map(|when| format!(", {when}")).unwrap_or_default();
            let _ = writeln!(self.text, "{lead}{} · {}{when}", node.id, kind(node));
            lead = prefix.clone();
            let mut ways: Vec<(NodeIx, Vec<String>)> = Vec::new();
            for edge in node.outs.iter().map(|edge| self.ir.edge(*edge)) {
                let label = label(self.ir, edge);
                match ways.iter_mut().find(|(to, _)| *to == edge.to) {
                    Some((_, labels)) => labels.extend(label),
                    None => ways.push((edge.to, label.into_iter().collect())),
                }
            }
            match ways.as_slice() {
                [] => return,
                [(to, labels)] if labels.is_empty() => ix = *to,
                _ => return self.fork(&ways, &prefix, depth),
            }
        }
    }

    fn fork(&mut self, ways: &[(NodeIx, Vec<String>)], prefix: &str, depth: usize) {
        for (at, (to, labels)) in ways.iter().enumerate() {
            let last = at + 1 == ways.len();
            let label = if labels.is_empty() { String::new() } else { format!("{}: ", labels.join(" or ")) };
            let lead = format!("{prefix}{}{label}", if last { "└─ " } else { "├─ " });
            if depth >= INDENTS_MAX {
                let _ = writeln!(self.text, "{lead}→ {}", self.ir.node(*to).id);
                self.later.push(*to);
            } else {
                self.chain(*to, &lead, format!("{prefix}{}", if last { "   " } else { "│  " }), depth + 1);
            }
        }
    }
}
