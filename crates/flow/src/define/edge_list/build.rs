//! The listed nodes, settled and with their loops in place, as nodes of a definition.

use super::{Edge, Graph, Listed, ListedKind, Way};
use crate::define::{Body, Composer, Doubt, Kind, Node, OnError, Rule, Target, region};
use std::collections::HashMap;

pub fn nodes(graph: Graph, parents: &[Option<usize>]) -> Vec<Node> {
    let count = graph.nodes.len();
    let mut ins: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut outs: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (at, edge) in graph.edges.iter().enumerate() {
        outs[edge.from].push(at);
        ins[edge.to].push(at);
    }
    let ids: Vec<Target> = graph.nodes.iter().map(|node| Target { id: node.id.as_str().into(), at: node.at.clone() }).collect();
    let mut inside: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut top = Vec::new();
    for (at, parent) in parents.iter().enumerate() {
        match parent {
            Some(parent) => inside[*parent].push(at),
            None => top.push(at),
        }
    }
    let listed = graph.nodes.into_iter().map(Some).collect();
    let mut builder = Builder { listed, edges: graph.edges, ins, outs, ids, inside };
    builder.body(&top)
}

struct Builder {
    listed: Vec<Option<Listed>>,
    edges: Vec<Edge>,
    ins: Vec<Vec<usize>>,
    outs: Vec<Vec<usize>>,
    ids: Vec<Target>,
    inside: Vec<Vec<usize>>,
}

impl Builder {
    fn body(&mut self, members: &[usize]) -> Vec<Node> {
        members.iter().map(|at| self.node(*at)).collect()
    }

    fn node(&mut self, at: usize) -> Node {
        let listed = self.listed[at].take().expect("a node lies in one body");
        let after = self.ins[at].iter().map(|edge| &self.edges[*edge]).filter(|edge| edge.way == Way::Done);
        let after: Vec<Target> = after.map(|edge| Target { id: self.ids[edge.from].id.clone(), at: edge.at.clone() }).collect();
        let entered = !self.ins[at].is_empty();
        let kind = match listed.kind {
            ListedKind::Plain(Kind::Approval { who, message, .. }) => {
                Kind::Approval { who, message, on_reject: self.ways(at, &Way::Reject), on_timeout: Vec::new() }
            }
            ListedKind::Broken => Kind::Broken,
            ListedKind::Plain(kind) => kind,
            ListedKind::Branch => Kind::Branch { rules: self.rules(at), default: self.ways(at, &Way::Default) },
            ListedKind::Route => Kind::Route { to: self.ways(at, &Way::Named) },
            ListedKind::Parallel if entered => {
                Kind::Transform { value: region::handed_on(&listed.at), items: None, called: "parallel" }
            }
            ListedKind::Parallel => {
                Kind::Transform { value: Composer::new(&listed.at).text("input").cel(), items: None, called: "parallel" }
            }
            ListedKind::Loop(listed_loop) => {
                let members = std::mem::take(&mut self.inside[at]);
                // The seed says when to go on, a loop here when to end.
                let condition = &listed_loop.condition;
                let until = Composer::new(&condition.at).text("!(").part(condition).text(")").cel();
                let torn = members.is_empty();
                let body = Body { at: listed.at.clone(), nodes: self.body(&members), output: None, torn };
                let on_max = self.ways(at, &Way::Max);
                Kind::Loop { iterations_max: listed_loop.iterations_max, init: None, until, on_max, body }
            }
        };
        Node {
            id: listed.id,
            at: listed.at,
            after,
            join: None,
            when: None,
            on_error: OnError::Fail,
            retry: listed.retry,
            timeout_ms: listed.timeout_ms,
            kind,
            doubt: Doubt::default(),
        }
    }

    fn ways(&self, from: usize, way: &Way) -> Vec<Target> {
        let edges = self.outs[from].iter().map(|edge| &self.edges[*edge]).filter(|edge| edge.way == *way);
        edges.map(|edge| Target { id: self.ids[edge.to].id.clone(), at: edge.at.clone() }).collect()
    }

    /// Edges with equal conditions are one rule, in the order in which the conditions first occur.
    fn rules(&self, from: usize) -> Vec<Rule> {
        let mut rules: Vec<Rule> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for edge in self.outs[from].iter().map(|edge| &self.edges[*edge]) {
            if let Way::If(when) = &edge.way {
                let target = Target { id: self.ids[edge.to].id.clone(), at: edge.at.clone() };
                let place = *places.entry(&when.text).or_insert(rules.len());
                match rules.get_mut(place) {
                    Some(rule) => rule.to.push(target),
                    None => rules.push(Rule { when: when.clone(), to: vec![target] }),
                }
            }
        }
        rules
    }
}
