//! What an expression may read: the root names of its context and the nodes of its workflow; and what it does read.
//! Also the search for the name that was meant.

use super::limits::*;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

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

/// The names of one context. The sets of ids are shared: a workflow has one of all, and one per node of what is upstream.
#[derive(Clone, Debug, Default)]
pub struct Names {
    roots: BTreeSet<Root>,
    ids: Arc<BTreeSet<String>>,
    upstream: Arc<BTreeSet<String>>,
    reader: Option<String>,
}

impl Names {
    pub fn new(roots: impl IntoIterator<Item = Root>) -> Names {
        Names { roots: roots.into_iter().collect(), ..Names::default() }
    }

    /// `ids` are all nodes of the workflow, `upstream` those whose results are there when the expression is evaluated.
    pub fn with_nodes(mut self, ids: Arc<BTreeSet<String>>, upstream: Arc<BTreeSet<String>>) -> Names {
        self.roots.insert(Root::Nodes);
        (self.ids, self.upstream) = (ids, upstream);
        self
    }

    /// The node whose text holds the expression, for the messages.
    pub fn read_by(mut self, id: &str) -> Names {
        self.reader = Some(id.to_owned());
        self
    }

    pub fn has(&self, root: Root) -> bool {
        self.roots.contains(&root)
    }

    pub(crate) fn roots(&self) -> impl Iterator<Item = &str> {
        self.roots.iter().map(|root| root.name())
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.ids.iter().map(String::as_str)
    }

    /// Why the node cannot be read, and what was meant.
    pub(crate) fn check_node(&self, id: &str) -> Result<(), (String, Option<String>)> {
        if self.upstream.contains(id) {
            return Ok(());
        }
        if !self.ids.contains(id) {
            return Err((format!("there is no node `{id}`"), did_you_mean(id, self.ids())));
        }
        match &self.reader {
            Some(reader) if reader == id => Err((format!("`{id}` cannot read its own result"), None)),
            Some(reader) => Err((format!("`{id}` is not upstream of `{reader}`"), None)),
            None => Err((format!("`{id}` is not upstream"), None)),
        }
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

/// "did you mean `amount`?", if one of the names is close.
pub(crate) fn did_you_mean<'n>(wrong: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    nearest(wrong, names).map(|name| format!("did you mean `{name}`?"))
}

/// The closest of the names, if it is close: a third of its letters may be wrong.
pub(crate) fn nearest<'n>(wrong: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    if wrong.len() > SUGGESTION_BYTES_MAX {
        return None;
    }
    names
        .take(SUGGESTION_NAMES_MAX)
        .filter(|name| name.len() <= SUGGESTION_BYTES_MAX)
        .map(|name| (distance(&wrong.to_lowercase(), &name.to_lowercase()), name))
        .filter(|&(distance, name)| distance <= (name.len().max(wrong.len()) / 3).max(1) && distance < name.len())
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
}

/// Letters to insert, remove, change or swap with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let best = changed.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                if swapped { best.min(rows[i - 2][j - 2] + 1) } else { best }
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_that_was_meant_is_found() {
        let names = ["amount", "order", "id", "customer_name"];
        for (wrong, meant) in [
            ("amuont", Some("amount")),
            ("Amount", Some("amount")),
            ("ordr", Some("order")),
            ("customername", Some("customer_name")),
            ("ix", Some("id")),
            ("zz", None),
            ("x", None),
            ("", None),
            ("completely_else", None),
        ] {
            assert_eq!(nearest(wrong, names.into_iter()), meant, "{wrong}");
        }
    }
}
