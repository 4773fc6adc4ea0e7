//! The list of edges: `nodes` as a list and `edges` between them. It becomes the same definition as the native form:
//! `conditional` is a branch, its edges with equal conditions are one rule and those without are the default; `hitl` is an
//! approval; `parallel` hands on what it gets; a `loop` takes the region from `loop_back_to` up to itself as its body
//! (`region`); where an agent names the way, a route stands behind it.

mod build;
mod config;

use super::fields::Fields;
use super::{Composer, Kind, Node, Source, Target, node, region, rewrite, scalars, written};
use crate::limits::*;
use crate::problem::{At, Problem, Problems, did_you_mean};
use crate::source::{Data, Value, short};
use kernel::names::NodeId;
use kernel::retry::RetryPolicy;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

#[derive(Clone)]
pub struct Listed {
    pub id: NodeId,
    pub at: At,
    pub kind: ListedKind,
    pub retry: Option<RetryPolicy>,
    pub timeout_ms: Option<u64>,
}

#[derive(Clone)]
pub enum ListedKind {
    Plain(Kind),
    /// Its rules and its default are edges.
    Branch,
    /// Those it may go to are edges.
    Route,
    Parallel,
    Loop(ListedLoop),
    /// Could not be read; the problem has been told.
    Broken,
}

#[derive(Clone)]
pub struct ListedLoop {
    pub condition: Source,
    pub iterations_max: u32,
    pub back: Target,
}

#[derive(Clone)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub way: Way,
    pub at: At,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Way {
    Done,
    /// Of a branch, or of a node that gets one behind it.
    If(Source),
    Default,
    Named,
    Reject,
    Max,
}

/// All nodes and edges; `region` and `build` add to it.
#[derive(Clone, Default)]
pub struct Graph {
    pub nodes: Vec<Listed>,
    pub ids: HashMap<String, usize>,
    pub edges: Vec<Edge>,
    /// What is there already, by its condition: an edge that a node's own text names may stand in `edges` too.
    seen: HashSet<(usize, usize, Arc<str>)>,
    /// Routes behind workers, and routes that take whatever edges there are.
    behind: HashMap<usize, usize>,
    open: HashSet<usize>,
}

/// The nodes, and whether something is wrong with them or their edges.
pub fn decode(nodes: &Value, edges: Option<&Value>, problems: &mut Problems) -> (Vec<Node>, bool) {
    let Data::List(listed) = &nodes.data else { return (Vec::new(), true) };
    if listed.len() > NODES_MAX {
        problems.say(&nodes.at, format!("there are {} nodes; there may be {NODES_MAX}", listed.len()));
        return (Vec::new(), true);
    }
    let mut graph = Graph::default();
    let mut wishes = Vec::new();
    let before = problems.count();
    for value in listed {
        if let Some((listed, wished)) = decode_node(value, problems) {
            let at = graph.nodes.len();
            if let Some(other) = graph.ids.get(listed.id.as_str()) {
                let line = graph.nodes[*other].at.line;
                problems.say(&listed.at, format!("there are two nodes `{}`, the other in line {line}", listed.id));
                continue;
            }
            graph.ids.insert(listed.id.as_str().to_owned(), at);
            graph.nodes.push(listed);
            wishes.push((at, wished));
        }
    }
    if graph.nodes.is_empty() {
        if problems.count() == before {
            problems.say(&nodes.at, "a workflow needs at least one node");
        }
        return (Vec::new(), true);
    }
    for (at, wished) in wishes {
        graph.wish(at, wished, problems);
    }
    if let Some(edges) = edges {
        let edges = scalars::list(edges, EDGES_MAX, problems, decode_edge);
        edges.into_iter().for_each(|edge| graph.declare(edge, problems));
    }
    graph.settle(problems);
    region::check_heads(&graph, problems);
    if problems.count() > before {
        return (flat(graph), true);
    }
    // Bodies are looked for by moving things; if they are not found, the list is looked at as it was.
    let loops = graph.nodes.iter().any(|node| matches!(node.kind, ListedKind::Loop(_)));
    let unmoved = loops.then(|| graph.clone());
    let parents = region::collapse(&mut graph, problems);
    match unmoved {
        Some(unmoved) if problems.count() > before => (flat(unmoved), true),
        _ => (build::nodes(graph, &parents), false),
    }
}

/// All nodes as if no loop had a body: what stands in them can be looked at.
fn flat(graph: Graph) -> Vec<Node> {
    let parents = vec![None; graph.nodes.len()];
    build::nodes(graph, &parents)
}

/// Ways a node's own text declares, beside those in `edges`.
#[derive(Default)]
struct Wished {
    ways: Vec<(Way, Vec<Target>)>,
    /// A worker whose result names one of these.
    available: Option<Vec<Target>>,
}

fn decode_node(value: &Value, problems: &mut Problems) -> Option<(Listed, Wished)> {
    let mut fields = Fields::of(value, "a node", problems)?;
    let id = fields.require("id", problems);
    let id = id.and_then(|entry| node::node_id(&scalars::text(&entry.value, problems)?, &entry.value.at, problems));
    if let Some(id) = &id {
        fields.rename(format!("node `{id}`"));
    }
    let kind = fields.require("type", problems).and_then(|entry| scalars::text(&entry.value, problems));
    let retry = fields.take("retry").and_then(|entry| config::retry(&entry.value, problems));
    let timeout_ms = fields.take("timeout_ms").and_then(|entry| scalars::duration_ms(&entry.value, problems));
    let mut wished = Wished::default();
    let decoded = kind.and_then(|kind| config::kind(&kind, &mut fields, &mut wished, problems));
    fields.finish(problems);
    if let (Some(ListedKind::Loop(_)), true) = (&decoded, retry.is_some() || timeout_ms.is_some()) {
        problems.say(&value.at, "a loop has no `retry` and no `timeout_ms`: the nodes it repeats have");
    }
    // What the engine does itself takes no time, and would fail again: for such nodes both mean nothing.
    let worker = matches!(&decoded, Some(ListedKind::Plain(Kind::Work { .. })));
    let approval = matches!(&decoded, Some(ListedKind::Plain(Kind::Approval { .. })));
    let timeout_ms = timeout_ms.filter(|_| worker || approval);
    let retry = retry.filter(|_| worker);
    let kind = decoded.unwrap_or(ListedKind::Broken);
    Some((Listed { id: id?, at: value.at.clone(), kind, retry, timeout_ms }, wished))
}

struct Declared {
    from: Target,
    to: Target,
    condition: Option<Source>,
    at: At,
}

fn decode_edge(value: &Value, problems: &mut Problems) -> Option<Declared> {
    let mut fields = Fields::of(value, "an edge", problems)?;
    let mut end = |name: &'static str, problems: &mut Problems| {
        let entry = fields.require(name, problems)?;
        let id = scalars::text(&entry.value, problems)?;
        Some(Target { id, at: entry.value.at.clone() })
    };
    let (from, to) = (end("from", problems), end("to", problems));
    let condition = match fields.take("condition") {
        // An empty condition, as the seed's editors write it, is none.
        Some(entry) if matches!(&entry.value.data, Data::Null) => None,
        Some(entry) if matches!(&entry.value.data, Data::Text(text) if text.text.trim().is_empty()) => None,
        Some(entry) => Some(written::cel(&entry.value, problems)?),
        None => None,
    };
    fields.finish(problems);
    Some(Declared { from: from?, to: to?, condition, at: value.at.clone() })
}

impl Graph {
    pub fn find(&self, target: &Target, problems: &mut Problems) -> Option<usize> {
        let found = self.ids.get(&*target.id).copied();
        if found.is_none() {
            let mut problem = Problem::new(&target.at, format!("no node `{}`", short(&target.id)));
            if !problems.is_full() {
                problem.suggestion = did_you_mean(&target.id, self.nodes.iter().map(|listed| listed.id.as_str()));
            }
            problems.add(problem);
        }
        found
    }

    /// A node that stands for something the form says without one.
    pub fn add(&mut self, wanted: String, beside: usize, kind: ListedKind) -> usize {
        let mut name: String = wanted.chars().take(60).collect();
        for count in 2.. {
            if !self.ids.contains_key(&name) {
                break;
            }
            name = format!("{}-{count}", wanted.chars().take(56).collect::<String>());
        }
        let id = NodeId::parse(&name).expect("made of a legal id");
        let at = self.nodes.len();
        self.ids.insert(name, at);
        self.nodes.push(Listed { id, at: self.nodes[beside].at.clone(), kind, retry: None, timeout_ms: None });
        at
    }

    fn rewritten(&self, condition: Source) -> Source {
        match rewrite::condition(&condition.text, &self.ids) {
            Some(text) => Composer::new(&condition.at).text(&text).cel(),
            None => condition,
        }
    }

    fn wish(&mut self, at: usize, wished: Wished, problems: &mut Problems) {
        if let ListedKind::Loop(listed) = &self.nodes[at].kind {
            let condition = self.rewritten(listed.condition.clone());
            if let ListedKind::Loop(listed) = &mut self.nodes[at].kind {
                listed.condition = condition;
            }
        }
        for (way, to) in wished.ways {
            let way = match way {
                Way::If(condition) => Way::If(self.rewritten(condition)),
                way => way,
            };
            if way == Way::Named && to.is_empty() {
                self.open.insert(at);
            }
            for target in to {
                if let Some(to) = self.find(&target, problems) {
                    self.link(Edge { from: at, to, way: way.clone(), at: target.at });
                }
            }
        }
        if let Some(available) = wished.available {
            let route = self.add(format!("{}-route", self.nodes[at].id), at, ListedKind::Route);
            self.behind.insert(at, route);
            self.link(Edge { from: at, to: route, way: Way::Done, at: self.nodes[at].at.clone() });
            for target in available {
                if let Some(to) = self.find(&target, problems) {
                    self.link(Edge { from: route, to, way: Way::Named, at: target.at });
                }
            }
        }
    }

    fn link(&mut self, edge: Edge) {
        self.seen.insert(mark(&edge));
        self.edges.push(edge);
    }

    fn declare(&mut self, declared: Declared, problems: &mut Problems) {
        let Some(from) = self.find(&declared.from, problems) else { return };
        let Some(to) = self.find(&declared.to, problems) else { return };
        let condition = declared.condition.map(|condition| self.rewritten(condition));
        let at = declared.at;
        match &self.nodes[from].kind {
            ListedKind::Loop(listed) => {
                if condition.is_some() {
                    problems.say(&at, "the ways out of a loop have no conditions: they are `break_path` and `timeout_path`");
                    return;
                }
                // The way back is not an edge here, and what the paths name has been taken from there.
                let back = *listed.back.id == *self.nodes[to].id.as_str();
                if !back && !self.seen.contains(&(from, to, "".into())) {
                    self.edges.push(Edge { from, to, way: Way::Done, at });
                }
            }
            ListedKind::Broken => {}
            ListedKind::Route => self.among_available(from, to, condition, at, problems),
            ListedKind::Plain(Kind::Approval { .. }) => {
                let way = condition.map_or(Way::Done, answer);
                self.edges.push(Edge { from, to, way, at });
            }
            ListedKind::Branch => {
                let edge = Edge { from, to, way: condition.map_or(Way::Default, Way::If), at };
                if !self.seen.contains(&mark(&edge)) {
                    self.edges.push(edge);
                }
            }
            ListedKind::Plain(_) | ListedKind::Parallel => match self.behind.get(&from) {
                Some(route) => self.among_available(*route, to, condition, at, problems),
                None => self.edges.push(Edge { from, to, way: condition.map_or(Way::Done, Way::If), at }),
            },
        }
    }

    fn among_available(&mut self, route: usize, to: usize, condition: Option<Source>, at: At, problems: &mut Problems) {
        if condition.is_some() {
            problems.say(&at, "an agent names the way here: its edges have no conditions");
        } else if self.open.contains(&route) {
            self.edges.push(Edge { from: route, to, way: Way::Named, at });
        } else if !self.seen.contains(&(route, to, "".into())) {
            problems.say(&at, format!("`{}` is not among `available_next_nodes`", self.nodes[to].id));
        }
    }

    /// Nodes other than branches that have conditions on their edges get a branch behind them.
    fn settle(&mut self, problems: &mut Problems) {
        let mut conditional = BTreeSet::new();
        for edge in &self.edges {
            if matches!(edge.way, Way::If(_)) && !matches!(self.nodes[edge.from].kind, ListedKind::Branch) {
                conditional.insert(edge.from);
            }
        }
        let mut branches = HashMap::new();
        for from in conditional {
            branches.insert(from, self.add(format!("{}-branch", self.nodes[from].id), from, ListedKind::Branch));
        }
        for edge in &mut self.edges {
            match (branches.get(&edge.from), &edge.way) {
                (Some(branch), Way::If(_)) => edge.from = *branch,
                (Some(branch), Way::Done) => (edge.from, edge.way) = (*branch, Way::Default),
                _ => {}
            }
        }
        let behind = branches.into_iter().map(|(from, to)| Edge { from, to, way: Way::Done, at: self.nodes[from].at.clone() });
        let mut behind: Vec<Edge> = behind.collect();
        behind.sort_by_key(|edge| edge.from);
        self.edges.extend(behind);
        let mut led = vec![false; self.nodes.len()];
        self.edges.iter().for_each(|edge| led[edge.from] |= matches!(edge.way, Way::If(_) | Way::Named));
        for (node, led) in self.nodes.iter().zip(led) {
            match node.kind {
                ListedKind::Branch if !led => problems.add(
                    Problem::new(&node.at, format!("`{}` is conditional, but none of its edges has a condition", node.id))
                        .suggest("give the edges that leave it a `condition`; the one without is the default"),
                ),
                ListedKind::Route if !led => {
                    problems.say(&node.at, format!("`{}` has no `available_next_nodes`", node.id));
                }
                _ => {}
            }
        }
    }
}

/// Which edge it is, among those of one node.
fn mark(edge: &Edge) -> (usize, usize, Arc<str>) {
    let condition = match &edge.way {
        Way::If(condition) => condition.text.clone(),
        _ => "".into(),
    };
    (edge.from, edge.to, condition)
}

/// What a person answered: the usual ways to ask for it are the approval's own edges.
fn answer(condition: Source) -> Way {
    let plain: String = condition.text.chars().filter(|c| !c.is_whitespace()).collect();
    match plain.as_str() {
        "output.approved" | "output.approved==true" => Way::Done,
        "!output.approved" | "output.approved==false" | "output.approved!=true" => Way::Reject,
        _ => Way::If(condition),
    }
}
