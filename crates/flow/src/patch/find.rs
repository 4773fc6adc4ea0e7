//! Where a node stands in a definition: in the map of nodes, in the body of a loop or an each, or in a list of nodes.

use super::Document;
use super::json::Json;
use super::operation::{Act, Operation, Operations, PatchError};
use super::pointer::Pointer;
use crate::check::ENGINE_TYPES;
use kernel::names::NodeId;

/// A node in its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeText {
    pub at: Pointer,
    /// Where its worker's input stands or would stand: its `with`, in a list of nodes its `config`. None: it has no input.
    pub input: Option<Pointer>,
}

impl Document {
    /// None: there is no such node, or none that is written (a list of edges may stand for more nodes than it names).
    pub fn node(&self, id: &NodeId) -> Option<NodeText> {
        let nodes = self.0.get("nodes")?;
        let at = Pointer::of(["nodes"]);
        match nodes {
            Json::List(values) => {
                let place = values.iter().position(|node| node.get("id").and_then(Json::as_text) == Some(id.as_str()))?;
                let at = at.child(place.to_string());
                let input = is_worker(&values[place]).then(|| at.child("config"));
                Some(NodeText { at, input })
            }
            nodes => inside(nodes, &at, id),
        }
    }

    /// What gives a node another input.
    pub fn with(&self, id: &NodeId, input: &[u8]) -> Result<Operations, PatchError> {
        let value = Json::read(input).map_err(|problem| PatchError::whole(problem.to_string()))?;
        let found = self.node(id).ok_or_else(|| PatchError::whole(format!("there is no node `{id}` in the text")))?;
        let path = found.input.ok_or_else(|| PatchError::whole(format!("`{id}` has no input: no worker does it")))?;
        Ok(Operations(vec![Operation { path, act: Act::Add(value) }]))
    }
}

fn inside(nodes: &Json, at: &Pointer, id: &NodeId) -> Option<NodeText> {
    let Json::Map(entries) = nodes else { return None };
    if let Some(node) = nodes.get(id.as_str()) {
        let at = at.child(id.as_str());
        let calls = node.get("type").and_then(Json::as_text) == Some("workflow");
        let input = (is_worker(node) || calls).then(|| at.child("with"));
        return Some(NodeText { at, input });
    }
    entries.iter().find_map(|(key, node)| {
        let body = node.get("do")?.get("nodes")?;
        inside(body, &at.child(key).child("do").child("nodes"), id)
    })
}

fn is_worker(node: &Json) -> bool {
    node.get("type").and_then(Json::as_text).is_some_and(|kind| !ENGINE_TYPES.contains(&kind))
}
