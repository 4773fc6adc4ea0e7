//! The tokens that are out, found by their lease, or by their run and node.

use kernel::ids::{Fence, TaskId};
use kernel::names::TypeName;
use kernel::run::NodeAt;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use store::{BlobId, Hold};
use tokio::time::Instant;

pub type Lease = (TaskId, Fence);

#[derive(Clone, Debug)]
pub struct Out {
    pub kind: TypeName,
    pub node: Option<Box<NodeAt>>,
    /// What is sent; none of one that an earlier process sent.
    pub token: Option<Arc<Sent>>,
    /// On a large input of one that an earlier process sent, so that its worker finds it for as long as this is out.
    pub _hold: Option<Arc<Hold>>,
    /// Redis has said that it has it.
    pub is_sent: bool,
    /// It was asked to stop, and is waited for until then.
    pub stop_by: Option<Instant>,
    /// Its worker was told so.
    pub called_off: bool,
    pub end: Option<End>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// A signal tells it: whoever heard that tells the engine, and then takes the token from its stream.
    Heard,
    /// The engine knows it no more: its token is to be taken from its stream before another of its node goes there.
    Over,
}

impl Out {
    pub fn new(kind: TypeName, node: Option<Box<NodeAt>>) -> Out {
        Out { kind, node, token: None, _hold: None, is_sent: false, stop_by: None, called_off: false, end: None }
    }

    /// Its token is not there yet.
    pub fn is_being_made(&self) -> bool {
        self.token.is_none() && !self.is_sent
    }
}

/// One token as it goes out.
#[derive(Debug)]
pub struct Sent {
    pub stream: String,
    pub run: String,
    pub node: String,
    pub token: String,
    /// A large input that is put into Redis as well.
    pub mirror: Option<Mirror>,
    /// On an input that lies in a blob, for as long as this is out.
    pub _hold: Option<Hold>,
}

#[derive(Clone, Debug)]
pub struct Mirror {
    pub blob: BlobId,
    /// How long it may be of use.
    pub ttl_ms: u64,
}

#[derive(Debug, Default)]
pub struct Held {
    outs: BTreeMap<Lease, Out>,
    by_kind: BTreeMap<TypeName, BTreeSet<Lease>>,
    /// By the text that a token gives for its run.
    by_run: BTreeMap<String, BTreeSet<Lease>>,
}

/// Which token is meant by somebody who names its run and node.
#[derive(PartialEq, Eq, Debug)]
pub enum Meant {
    One(Lease),
    None,
    Several(usize),
}

/// What a token says its run is: one that belongs to none is its own.
pub fn run_text(task: TaskId, node: Option<&NodeAt>) -> String {
    node.map_or_else(|| task.to_string(), |at| at.run.to_string())
}

/// What a token says its node is: `pay`, `rounds[1]/pay`; of one that belongs to no run, its type.
pub fn node_text(kind: &str, node: Option<&NodeAt>) -> String {
    match node {
        None => kind.to_owned(),
        Some(at) if at.frame.is_root() => at.node.to_string(),
        Some(at) => format!("{}/{}", at.frame, at.node),
    }
}

impl Held {
    pub fn len(&self) -> usize {
        self.outs.len()
    }

    pub fn insert(&mut self, lease: Lease, out: Out) {
        self.by_run.entry(run_text(lease.0, out.node.as_deref())).or_default().insert(lease);
        self.by_kind.entry(out.kind.clone()).or_default().insert(lease);
        self.outs.insert(lease, out);
    }

    pub fn remove(&mut self, lease: &Lease) -> Option<Out> {
        let out = self.outs.remove(lease)?;
        take_out(&mut self.by_run, &run_text(lease.0, out.node.as_deref()), lease);
        take_out(&mut self.by_kind, &out.kind, lease);
        Some(out)
    }

    pub fn get_mut(&mut self, lease: &Lease) -> Option<&mut Out> {
        self.outs.get_mut(lease)
    }

    /// Its token, if there is one, is nobody's any more.
    pub fn is_over(&self, lease: &Lease) -> bool {
        self.outs.get(lease).is_none_or(|out| out.end == Some(End::Over))
    }

    pub fn contains(&self, lease: &Lease) -> bool {
        self.outs.contains_key(lease)
    }

    pub fn leases(&self) -> impl Iterator<Item = Lease> + '_ {
        self.outs.keys().copied()
    }

    pub fn of_kind(&self, kind: &TypeName) -> impl Iterator<Item = (&Lease, &Out)> {
        self.by_kind.get(kind).into_iter().flatten().map(|lease| (lease, &self.outs[lease]))
    }

    pub fn count_of_kind(&self, kind: &TypeName) -> usize {
        self.by_kind.get(kind).map_or(0, BTreeSet::len)
    }

    pub fn all(&self) -> impl Iterator<Item = (&Lease, &Out)> {
        self.outs.iter()
    }

    /// Those of these that are not out yet and may not go: they are to stop, or another token of their node is out (that one is to stop,
    /// whether it was heard or not), or a later one is to go.
    pub fn behind_others(&self, leases: impl Iterator<Item = Lease>) -> BTreeSet<Lease> {
        // Of each node the one that is out, or the last of those that are not.
        let mut first: HashMap<&NodeAt, (bool, Fence)> = HashMap::new();
        for ((_, fence), out) in &self.outs {
            if let Some(at) = out.node.as_deref().filter(|_| out.end != Some(End::Heard)) {
                let one = (!out.is_being_made(), *fence);
                first.entry(at).and_modify(|first| *first = one.max(*first)).or_insert(one);
            }
        }
        let is_behind = |out: &Out, fence| {
            let is_first = |at| first.get(at) == Some(&(false, fence));
            out.is_being_made() && (out.stop_by.is_some() || !out.node.as_deref().is_none_or(is_first))
        };
        leases.filter(|lease| self.outs.get(lease).is_some_and(|out| is_behind(out, lease.1))).collect()
    }

    /// By the whole text of the node, or by its name where only one of that name is out. Beside one that is out, one that has ended is
    /// not meant, and nobody knows one that is not out yet.
    pub fn meant(&self, run: &str, node: &str) -> Meant {
        let (mut whole, mut named) = (Vec::new(), Vec::new());
        for lease in self.by_run.get(run).into_iter().flatten().filter(|lease| !self.outs[*lease].is_being_made()) {
            match self.outs[lease].node.as_deref() {
                Some(at) if node_text("", Some(at)) != node => named.extend((at.node.as_str() == node).then_some(*lease)),
                _ => whole.push(*lease),
            }
        }
        let all = if whole.is_empty() { named } else { whole };
        let is_open = |lease: &&Lease| self.outs[*lease].end.is_none();
        let open: Vec<Lease> = all.iter().filter(is_open).copied().collect();
        match (&open[..], &all[..]) {
            (_, []) => Meant::None,
            ([one], _) | ([], [one]) => Meant::One(*one),
            (several, _) => Meant::Several(several.len().max(2)),
        }
    }
}

fn take_out<K: Ord>(index: &mut BTreeMap<K, BTreeSet<Lease>>, key: &K, lease: &Lease) {
    if let Some(leases) = index.get_mut(key) {
        leases.remove(lease);
        if leases.is_empty() {
            index.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::ids::RecordSeq;

    fn lease(number: u64) -> Lease {
        (TaskId::new(number, 0), Fence(RecordSeq(number)))
    }

    fn held(nodes: &[&str]) -> Held {
        let mut held = Held::default();
        for (number, node) in (1..).zip(nodes) {
            let node = NodeAt::parse(node).map(Box::new);
            held.insert(lease(number), Out { is_sent: true, ..Out::new(TypeName::parse("t").unwrap(), node) });
        }
        held
    }

    #[test]
    fn a_token_is_found_by_its_run_and_node_where_it_is_the_only_one() {
        let held = held(&["run-1/pay", "run-1/each[0]/lint", "run-1/each[1]/lint", "run-2/each[0]/lint", "none"]);
        let task = TaskId::new(5, 0).to_string();
        for (run, node, meant) in [
            ("run-1", "pay", Meant::One(lease(1))),
            ("run-1", "each[1]/lint", Meant::One(lease(3))),
            ("run-1", "lint", Meant::Several(2)),
            ("run-2", "lint", Meant::One(lease(4))),
            ("run-2", "pay", Meant::None),
            ("run-3", "pay", Meant::None),
            (&task, "whatever", Meant::One(lease(5))),
        ] {
            assert_eq!(held.meant(run, node), meant, "{run} {node}");
        }
    }

    #[test]
    fn of_two_at_one_node_none_is_meant_though_one_is_to_stop() {
        let mut held = held(&["run-1/pay", "run-1/pay", "run-1/each[0]/pay"]);
        assert_eq!(held.meant("run-1", "pay"), Meant::Several(2));
        held.get_mut(&lease(1)).unwrap().stop_by = Some(Instant::now());
        assert_eq!(held.meant("run-1", "pay"), Meant::Several(2), "it may still tell how it went");
        held.remove(&lease(1));
        assert_eq!(held.meant("run-1", "pay"), Meant::One(lease(2)));
    }

    #[test]
    fn one_that_is_not_out_yet_waits_for_one_that_is_and_is_not_meant() {
        let mut held = held(&["run-1/pay", "run-1/pay", "run-1/each[0]/pay", "none"]);
        let behind = |held: &Held| held.behind_others((1..5).map(lease)).into_iter().collect::<Vec<_>>();
        for number in 2..5 {
            held.get_mut(&lease(number)).unwrap().is_sent = false;
        }
        assert_eq!((behind(&held), held.meant("run-1", "pay")), (vec![lease(2)], Meant::One(lease(1))));
        held.get_mut(&lease(1)).unwrap().end = Some(End::Heard);
        assert_eq!(behind(&held), []);
        // Its token may still be read.
        held.get_mut(&lease(1)).unwrap().end = Some(End::Over);
        assert_eq!(behind(&held), [lease(2)]);
        held.remove(&lease(1));
        assert_eq!(behind(&held), []);
        // What is to stop does not begin.
        held.get_mut(&lease(4)).unwrap().stop_by = Some(Instant::now());
        assert_eq!(behind(&held), [lease(4)]);
    }

    #[test]
    fn of_several_that_are_not_out_yet_the_last_may_go() {
        let mut held = held(&["run-1/pay", "run-1/pay", "run-1/pay"]);
        (1..4).for_each(|number| held.get_mut(&lease(number)).unwrap().is_sent = false);
        let behind = |held: &Held| held.behind_others((1..4).map(lease)).into_iter().collect::<Vec<_>>();
        assert_eq!(behind(&held), [lease(1), lease(2)]);
        held.remove(&lease(3));
        assert_eq!(behind(&held), [lease(1)]);
    }

    #[test]
    fn one_that_has_ended_does_not_stand_in_the_way_of_the_next_attempt() {
        let mut held = held(&["run-1/pay", "run-1/pay"]);
        held.get_mut(&lease(1)).unwrap().end = Some(End::Heard);
        assert_eq!(held.meant("run-1", "pay"), Meant::One(lease(2)));
    }

    #[test]
    fn what_is_taken_back_is_found_no_more() {
        let mut held = held(&["run-1/pay", "run-1/each[0]/lint"]);
        assert!(held.remove(&lease(1)).is_some() && held.remove(&lease(1)).is_none());
        assert_eq!((held.meant("run-1", "pay"), held.len()), (Meant::None, 1));
        held.remove(&lease(2));
        assert!(held.by_run.is_empty() && held.by_kind.is_empty());
    }
}
