//! Loops in a list of edges: the nodes from `loop_back_to` up to the loop node become its body, innermost first. Such a region has
//! one way in, its first node, and one way out, the loop node; any other edge across its border is told by name.

use super::edge_list::{Graph, ListedKind, Way};
use super::{Composer, Kind};
use crate::limits::*;
use crate::problem::{At, Problem, Problems};

/// Every loop has somewhere to loop back to.
pub fn check_heads(graph: &Graph, problems: &mut Problems) {
    for (at, node) in graph.nodes.iter().enumerate() {
        let ListedKind::Loop(listed) = &node.kind else { continue };
        if graph.find(&listed.back, problems) == Some(at) {
            problems.say(&listed.back.at, format!("`{}` cannot loop back to itself: its body would be empty", node.id));
        }
    }
}

/// Moves the bodies of all loops inside them; what they loop back to is there.
/// the answer is the loop each node now lies in.
pub fn collapse(graph: &mut Graph, problems: &mut Problems) -> Vec<Option<usize>> {
    let before = problems.count();
    let mut parents: Vec<Option<usize>> = vec![None; graph.nodes.len()];
    let mut heads: Vec<Option<usize>> = vec![None; graph.nodes.len()];
    let loops = (0..graph.nodes.len()).filter(|at| matches!(graph.nodes[*at].kind, ListedKind::Loop(_)));
    let mut sized: Vec<(usize, usize, usize)> = Vec::new();
    for at in loops {
        let ListedKind::Loop(listed) = &graph.nodes[at].kind else { continue };
        let Some(head) = graph.ids.get(&*listed.back.id).copied() else { continue };
        // A loop inside another has the smaller region.
        let size = if sized.len() <= LISTED_LOOPS_MAX { Region::of(graph, &parents, head, at).count() } else { 0 };
        sized.push((size, at, head));
    }
    if let Some((_, at, _)) = sized.get(LISTED_LOOPS_MAX) {
        problems.say(&graph.nodes[*at].at, format!("there may be {LISTED_LOOPS_MAX} loops in the edge-list form"));
    }
    if problems.count() > before {
        return parents;
    }
    sized.sort_unstable();
    for (_, end, head) in sized {
        let Some(head) = standing_for(graph, &parents, &heads, head, end, problems) else { continue };
        let region = Region::of(graph, &parents, head, end);
        if !region.check(graph, &parents, problems) {
            continue;
        }
        region.enclose(graph, &mut parents, &mut heads);
    }
    for at in 0..parents.len() {
        let depth = std::iter::successors(parents[at], |parent| parents[*parent]).take(BODIES_DEEP_MAX + 1).count();
        if depth > BODIES_DEEP_MAX {
            problems.say(&graph.nodes[at].at, format!("bodies lie more than {BODIES_DEEP_MAX} deep in each other"));
            break;
        }
    }
    parents
}

/// The node that stands for `head` where the loop is: itself, or the loops that begin with it.
fn standing_for(
    graph: &Graph,
    parents: &[Option<usize>],
    heads: &[Option<usize>],
    head: usize,
    end: usize,
    problems: &mut Problems,
) -> Option<usize> {
    let mut standing = head;
    while let Some(parent) = parents[standing] {
        if heads[parent] != Some(standing) || parent == end {
            let at = back_at(graph, end);
            let (id, inner) = (&graph.nodes[head].id, &graph.nodes[parent].id);
            problems.say(&at, format!("`{}` loops back to `{id}`, which lies inside the loop `{inner}`", graph.nodes[end].id));
            return None;
        }
        standing = parent;
    }
    Some(standing)
}

fn back_at(graph: &Graph, end: usize) -> At {
    match &graph.nodes[end].kind {
        ListedKind::Loop(listed) => listed.back.at.clone(),
        _ => graph.nodes[end].at.clone(),
    }
}

struct Region {
    head: usize,
    end: usize,
    inside: Vec<bool>,
}

impl Region {
    /// What can be reached from the head, and reaches the end.
    fn of(graph: &Graph, parents: &[Option<usize>], head: usize, end: usize) -> Region {
        let mut onward = vec![Vec::new(); graph.nodes.len()];
        let mut backward = vec![Vec::new(); graph.nodes.len()];
        for edge in graph.edges.iter().filter(|edge| parents[edge.from].is_none() && parents[edge.to].is_none()) {
            onward[edge.from].push(edge.to);
            backward[edge.to].push(edge.from);
        }
        let from_head = reach(&onward, head, end);
        let to_end = reach(&backward, end, head);
        let inside = (0..graph.nodes.len()).map(|at| at != end && from_head[at] && to_end[at]).collect();
        Region { head, end, inside }
    }

    fn count(&self) -> usize {
        self.inside.iter().filter(|inside| **inside).count()
    }

    fn check(&self, graph: &Graph, parents: &[Option<usize>], problems: &mut Problems) -> bool {
        let id = |at: usize| &graph.nodes[at].id;
        let (head, end) = (id(self.head), id(self.end));
        if !self.inside[self.head] {
            let problem = Problem::new(&back_at(graph, self.end), format!("no way leads from `{head}` to the loop `{end}`"));
            problems.add(problem.suggest("`loop_back_to` names the first node of what is repeated"));
            return false;
        }
        let before = problems.count();
        for edge in graph.edges.iter().filter(|edge| parents[edge.from].is_none() && parents[edge.to].is_none()) {
            let (from, to) = (self.inside[edge.from], self.inside[edge.to]);
            let named = format!("the edge `{}` → `{}`", id(edge.from), id(edge.to));
            let wrong = if from && !to && edge.to != self.end {
                format!("{named} leaves the body of the loop `{end}`, which ends with `{end}` alone")
            } else if !from && to && edge.from == self.end {
                format!("{named} leads from the loop back into its body; `loop_back_to` is the way back")
            } else if !from && to && edge.to != self.head {
                format!("{named} enters the body of the loop `{end}`, which begins with `{head}` alone")
            } else if !from && edge.to == self.end && edge.from != self.end {
                format!("{named} enters the loop `{end}` past its body, which begins with `{head}`")
            } else {
                continue;
            };
            problems.say(&edge.at, wrong);
        }
        problems.count() == before
    }

    /// The loop node takes the place of its region, and the region goes inside.
    fn enclose(&self, graph: &mut Graph, parents: &mut Vec<Option<usize>>, heads: &mut Vec<Option<usize>>) {
        let (head, end) = (self.head, self.end);
        let outward = graph.edges.iter().filter(|edge| edge.to == end && self.inside[edge.from]);
        let ends: Vec<(usize, bool)> = outward.map(|edge| (edge.from, edge.way == Way::Done)).collect();
        let sink = match ends.as_slice() {
            // Without another way on, it is where the body ends.
            [(from, true)] if graph.edges.iter().filter(|edge| edge.from == *from).count() == 1 => None,
            [_] => Some(Kind::Transform { value: handed_on(&graph.nodes[end].at), items: None, called: "transform" }),
            _ => Some(Kind::Join),
        };
        let sink = sink.map(|kind| graph.add(format!("{}-end", graph.nodes[end].id), end, ListedKind::Plain(kind)));
        parents.resize(graph.nodes.len(), None);
        heads.resize(graph.nodes.len(), None);
        let inside = |at: usize| self.inside.get(at).copied().unwrap_or(false);
        for edge in &mut graph.edges {
            if edge.to == head && !inside(edge.from) {
                edge.to = end;
            } else if let (true, true, Some(sink)) = (edge.to == end, inside(edge.from), sink) {
                edge.to = sink;
            }
        }
        graph.edges.retain(|edge| !(edge.to == end && inside(edge.from)));
        for (at, parent) in parents.iter_mut().enumerate() {
            if inside(at) || Some(at) == sink {
                *parent = Some(end);
            }
        }
        heads[end] = Some(head);
    }
}

/// The expression that gives what its node got.
pub fn handed_on(at: &At) -> super::Source {
    Composer::new(at).text("output").cel()
}

/// What can be reached from `start`, itself included, without going on from `stop`.
fn reach(next: &[Vec<usize>], start: usize, stop: usize) -> Vec<bool> {
    let mut reached = vec![false; next.len()];
    let mut open = vec![start];
    while let Some(at) = open.pop() {
        if !std::mem::replace(&mut reached[at], true) && at != stop {
            open.extend(&next[at]);
        }
    }
    reached
}
