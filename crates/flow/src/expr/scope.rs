//! Where an expression finds its values: the caller's JSON, borrowed, as `wide` reads it.

use super::names::Root;
use super::value::Value;
use serde::{Serialize, Serializer};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// A value of the caller's: one that is there, or an object put together of some, none of which is copied.
#[derive(Clone, Debug)]
pub enum Bound<'v> {
    Json(&'v Json),
    Object(Vec<(&'v str, Bound<'v>)>),
}

impl Serialize for Bound<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Bound::Json(json) => Value::of(json).serialize(serializer),
            Bound::Object(parts) => serializer.collect_map(parts.iter().map(|(key, part)| (key, part))),
        }
    }
}

/// The values of one evaluation. `None` where there is none: an expression that needs it fails, `has()` is false.
pub trait Scope {
    /// Never asked for `Root::Nodes`.
    fn root(&self, root: Root) -> Option<Bound<'_>>;
    fn node_output(&self, id: &str) -> Option<Bound<'_>>;
    fn node_status(&self, id: &str) -> Option<&str>;
    /// Of a node that did not fail there is none, and the expression sees null.
    fn node_error(&self, id: &str) -> Option<&Json>;
}

/// What is known of one node.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeResult<'v> {
    pub output: Option<&'v Json>,
    pub status: Option<&'v str>,
    pub error: Option<&'v Json>,
}

/// A scope that is filled by hand.
#[derive(Clone, Debug, Default)]
pub struct Bindings<'v> {
    roots: BTreeMap<Root, &'v Json>,
    nodes: BTreeMap<&'v str, NodeResult<'v>>,
}

impl<'v> Bindings<'v> {
    pub fn new() -> Bindings<'v> {
        Bindings::default()
    }

    pub fn bind(mut self, root: Root, value: &'v Json) -> Bindings<'v> {
        self.roots.insert(root, value);
        self
    }

    pub fn bind_node(mut self, id: &'v str, result: NodeResult<'v>) -> Bindings<'v> {
        self.nodes.insert(id, result);
        self
    }
}

impl Scope for Bindings<'_> {
    fn root(&self, root: Root) -> Option<Bound<'_>> {
        self.roots.get(&root).map(|json| Bound::Json(json))
    }

    fn node_output(&self, id: &str) -> Option<Bound<'_>> {
        self.nodes.get(id)?.output.map(Bound::Json)
    }

    fn node_status(&self, id: &str) -> Option<&str> {
        self.nodes.get(id)?.status
    }

    fn node_error(&self, id: &str) -> Option<&Json> {
        self.nodes.get(id)?.error
    }
}
