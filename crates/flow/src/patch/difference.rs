//! What became of a workflow, told for people and counted: nodes that appear, disappear and change, and in what. Both are
//! compared by what they mean, node by node and by their ids; where things stand in the IR does not matter.

use super::json::Json;
use super::written::{written_node, written_workflow};
use crate::source::short;
use kernel::ir::{Ir, NodeIx, NodeKind};
use kernel::names::NodeId;
use serde::Serialize;
use std::fmt;

#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Difference {
    pub added: Vec<Added>,
    pub changed: Vec<Changed>,
    pub removed: Vec<NodeId>,
    /// What is not about a node: name, version, input, limits, output.
    pub workflow: Vec<Change>,
    /// Nodes of type `agent` that were none before.
    pub agents_added: usize,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Added {
    pub node: NodeId,
    pub r#type: String,
    pub after: Vec<String>,
    /// The loop or each in whose body it stands.
    pub r#in: Option<NodeId>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Changed {
    pub node: NodeId,
    pub changes: Vec<Change>,
}

/// A part of a node that is another now, as far down as the two are alike: `with.url`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Change {
    pub what: String,
    /// None: it was not there.
    pub old: Option<Json>,
    /// None: it is there no more.
    pub new: Option<Json>,
}

/// A type whose nodes think for themselves: how many a patch may add is bounded.
const AGENT: &str = "agent";

pub fn difference(old: &Ir, new: &Ir) -> Difference {
    let mut difference = Difference::default();
    compare("", &written_workflow(old), &written_workflow(new), &mut difference.workflow);
    for ix in in_order(new) {
        let node = new.node(ix);
        let before = old.find(&node.id);
        if is_agent(new, ix) && !before.is_some_and(|before| is_agent(old, before)) {
            difference.agents_added += 1;
        }
        let written = written_node(new, ix);
        let Some(before) = before else {
            difference.added.push(added(&node.id, &written));
            continue;
        };
        let mut changes = Vec::new();
        compare("", &written_node(old, before), &written, &mut changes);
        if !changes.is_empty() {
            difference.changed.push(Changed { node: node.id.clone(), changes });
        }
    }
    let gone = in_order(old).into_iter().map(|ix| &old.node(ix).id).filter(|id| new.find(id).is_none());
    difference.removed = gone.cloned().collect();
    difference
}

/// As a reader meets them: each body in the order of its edges, the nodes of a loop behind it.
fn in_order(ir: &Ir) -> Vec<NodeIx> {
    let mut all = Vec::with_capacity(ir.nodes.len());
    let mut open: Vec<NodeIx> = ir.bodies[0].nodes.iter().rev().copied().collect();
    while let Some(ix) = open.pop() {
        all.push(ix);
        let inner = ir.body_of(ix).map(|body| ir.body(body).nodes.iter().rev().copied());
        open.extend(inner.into_iter().flatten());
    }
    all
}

fn is_agent(ir: &Ir, ix: NodeIx) -> bool {
    matches!(&ir.node(ix).kind, NodeKind::Work { kind, .. } if kind.as_str() == AGENT)
}

fn added(id: &NodeId, written: &Json) -> Added {
    let text = |key: &str| written.get(key).and_then(Json::as_text);
    let after = match written.get("after") {
        Some(Json::List(after)) => after.iter().filter_map(Json::as_text).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    Added {
        node: id.clone(),
        r#type: text("type").unwrap_or_default().to_owned(),
        after,
        r#in: text("in").and_then(|id| NodeId::parse(id).ok()),
    }
}

fn compare(what: &str, old: &Json, new: &Json, changes: &mut Vec<Change>) {
    let below = |key: &str| if what.is_empty() { key.to_owned() } else { format!("{what}.{key}") };
    match (old, new) {
        (Json::Map(before), Json::Map(after)) => {
            for (key, old) in before {
                match new.get(key) {
                    Some(new) => compare(&below(key), old, new, changes),
                    None => changes.push(Change { what: below(key), old: Some(old.clone()), new: None }),
                }
            }
            for (key, new) in after.iter().filter(|(key, _)| old.get(key).is_none()) {
                changes.push(Change { what: below(key), old: None, new: Some(new.clone()) });
            }
        }
        (Json::List(before), Json::List(after)) if before.len() == after.len() => {
            for (at, (old, new)) in before.iter().zip(after).enumerate() {
                compare(&format!("{what}[{at}]"), old, new, changes);
            }
        }
        (old, new) if old == new => {}
        (old, new) => changes.push(Change { what: what.to_owned(), old: Some(old.clone()), new: Some(new.clone()) }),
    }
}

impl Difference {
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty() && self.workflow.is_empty()
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Json| short(&value.compact());
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => write!(f, "{} {} → {}", self.what, shown(old), shown(new)),
            (None, Some(new)) => write!(f, "{} {} is new", self.what, shown(new)),
            (Some(old), None) => write!(f, "{} {} is gone", self.what, shown(old)),
            (None, None) => f.write_str(&self.what),
        }
    }
}

impl fmt::Display for Added {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.node, self.r#type)?;
        if !self.after.is_empty() {
            write!(f, " after {}", self.after.join(", "))?;
        }
        self.r#in.iter().try_for_each(|around| write!(f, " in {around}"))
    }
}

/// A line for each node that appears, and for each thing that changes; none if nothing does.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.workflow.iter().try_for_each(|change| writeln!(f, "~ the workflow: {change}"))?;
        self.added.iter().try_for_each(|added| writeln!(f, "+ {added}"))?;
        for changed in &self.changed {
            changed.changes.iter().try_for_each(|change| writeln!(f, "~ {}: {change}", changed.node))?;
        }
        self.removed.iter().try_for_each(|id| writeln!(f, "- {id}"))
    }
}
