//! What an expression may read: the root names of its context and the nodes of its workflow; and what it does read.

use crate::context::{Found, Nodes};
use crate::problem::did_you_mean;
use kernel::ir::NodeIx;
use std::collections::BTreeSet;
use std::fmt;

/// The names an expression starts from. Which of them are there depends on where it stands: see `Names`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Root {
    /// The run's input.
    Input,
    /// `nodes.<id>.output`, `.status` and `.error`.
    Nodes,
    /// The predecessor's output.
    Output,
    /// The element an `each` is at, and its number.
    Item,
    Index,
    /// The round a `loop` is in, from 0, and what the last one gave.
    Iteration,
    Last,
    /// The event that started the run, or that a `wait` looks at.
    Event,
    /// The run itself.
    Run,
}

impl Root {
    pub const ALL: [Root; 9] =
        [Root::Input, Root::Nodes, Root::Output, Root::Item, Root::Index, Root::Iteration, Root::Last, Root::Event, Root::Run];

    pub const fn name(self) -> &'static str {
        match self {
            Root::Input => "input",
            Root::Nodes => "nodes",
            Root::Output => "output",
            Root::Item => "item",
            Root::Index => "index",
            Root::Iteration => "iteration",
            Root::Last => "last",
            Root::Event => "event",
            Root::Run => "run",
        }
    }

    pub fn parse(name: &str) -> Option<Root> {
        Root::ALL.into_iter().find(|root| root.name() == name)
    }
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What of a node can be read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NodeField {
    Output,
    Status,
    Error,
}

impl NodeField {
    pub const ALL: [NodeField; 3] = [NodeField::Output, NodeField::Status, NodeField::Error];

    pub const fn name(self) -> &'static str {
        match self {
            NodeField::Output => "output",
            NodeField::Status => "status",
            NodeField::Error => "error",
        }
    }

    pub fn parse(name: &str) -> Option<NodeField> {
        NodeField::ALL.into_iter().find(|field| field.name() == name)
    }
}

/// The names of one context.
#[derive(Clone, Default)]
pub struct Names<'n> {
    roots: BTreeSet<Root>,
    nodes: Option<&'n dyn Nodes>,
    /// What `run` holds here, each a name by itself too; none: as in a workflow.
    of_run: &'static [&'static str],
    /// What `event` holds here; none: that is not known.
    of_event: &'static [&'static str],
}

impl<'n> Names<'n> {
    pub fn new(roots: impl IntoIterator<Item = Root>) -> Names<'n> {
        Names { roots: roots.into_iter().collect(), nodes: None, of_run: &[], of_event: &[] }
    }

    /// A run and what it holds: `run.status`, or `status` for short.
    pub(crate) fn of_run(keys: &'static [&'static str]) -> Names<'n> {
        Names { of_run: keys, ..Names::new([Root::Run]) }
    }

    /// An event alone, and what it holds.
    pub(crate) fn of_event(keys: &'static [&'static str]) -> Names<'n> {
        Names { of_event: keys, ..Names::new([Root::Event]) }
    }

    /// What `event` holds, if it is there.
    pub(crate) fn with_event(self, keys: &'static [&'static str]) -> Names<'n> {
        Names { of_event: keys, ..self }
    }

    pub(crate) fn event_keys(&self) -> &'static [&'static str] {
        self.of_event
    }

    pub(crate) fn run_keys(&self) -> &'static [&'static str] {
        self.of_run
    }

    pub fn with_nodes(mut self, nodes: &'n dyn Nodes) -> Names<'n> {
        self.roots.insert(Root::Nodes);
        self.nodes = Some(nodes);
        self
    }

    pub fn has(&self, root: Root) -> bool {
        self.roots.contains(&root)
    }

    pub(crate) fn roots(&self) -> impl Iterator<Item = &str> {
        self.roots.iter().map(|root| root.name())
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.nodes.into_iter().flat_map(|nodes| nodes.known())
    }

    /// Why the node cannot be read, and what was meant.
    pub(crate) fn check_node(&self, id: &str) -> Result<(), (String, Option<String>)> {
        match self.nodes.map_or(Found::Unknown, |nodes| nodes.find(id)) {
            Found::Upstream(_) => Ok(()),
            Found::Elsewhere(why) => Err((why, None)),
            Found::Unknown => Err((format!("there is no node `{id}`"), did_you_mean(id, self.ids()))),
        }
    }
}

/// Nodes by hand: all there are, those that have ended before, and the one whose text holds the expression.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    pub ids: BTreeSet<String>,
    pub upstream: BTreeSet<String>,
    pub reader: Option<String>,
}

impl Nodes for Listed {
    fn find(&self, id: &str) -> Found {
        if let Some(at) = self.ids.iter().position(|known| known == id).filter(|_| self.upstream.contains(id)) {
            return Found::Upstream(NodeIx(at as u32));
        }
        if !self.ids.contains(id) {
            return Found::Unknown;
        }
        Found::Elsewhere(match &self.reader {
            Some(reader) if reader == id => format!("`{id}` cannot read its own result"),
            Some(reader) => format!("`{id}` is not upstream of `{reader}`"),
            None => format!("`{id}` is not upstream"),
        })
    }

    fn known<'a>(&'a self) -> Box<dyn Iterator<Item = &'a str> + 'a> {
        Box::new(self.ids.iter().map(String::as_str))
    }
}

/// What an expression or a template reads, so that a caller loads only that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// `Root::Nodes` is among them exactly when `nodes` is not empty.
    pub roots: BTreeSet<Root>,
    pub nodes: BTreeSet<(String, NodeField)>,
}

impl Reads {
    pub(crate) fn node(&mut self, id: &str, field: NodeField) {
        self.roots.insert(Root::Nodes);
        self.nodes.insert((id.to_owned(), field));
    }

    pub(crate) fn merge(&mut self, other: &Reads) {
        self.roots.extend(&other.roots);
        self.nodes.extend(other.nodes.iter().cloned());
    }
}
