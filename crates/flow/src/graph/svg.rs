//! An IR as SVG, alone or with how a run of it stands. `fold` says what is drawn as one, `place` where it stands, `scene` what there
//! is to draw; here it is written down.

mod fold;
mod paint;
mod place;
mod scene;

pub use crate::graph::pen::Status;

use kernel::ir::{Ir, NodeIx};

/// How a run stands, for its picture.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// The run and what it is, in bold.
    pub heading: String,
    /// More about it, side by side on as many lines as that takes.
    pub about: Vec<String>,
    /// What is to be said beside that, each on a line of its own.
    pub notes: Vec<String>,
    pub status: Option<Status>,
    /// It has ended: what was not reached never will be.
    pub over: bool,
    /// By the numbers of the nodes.
    pub nodes: Vec<Stand>,
    /// By the numbers of the edges.
    pub edges: Vec<Carried>,
}

/// How a node stands, over all turns and items it is in.
#[derive(Clone, Debug, Default)]
pub struct Stand {
    /// How many of it stand so, in the order of [`Status::ALL`].
    pub counts: [u64; 10],
    /// Such as `turn 3 of 5`.
    pub note: String,
    /// Such as `3.2 s`.
    pub took: String,
    /// Lines for whoever looks closer: errors, workers, tasks.
    pub details: Vec<String>,
}

impl Stand {
    pub fn add(&mut self, status: Status, count: u64) {
        let at = Status::ALL.iter().position(|known| *known == status).unwrap_or(0);
        self.counts[at] += count;
    }
}

/// How often an edge was taken, and how often not. Neither: its node has not ended yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Carried {
    pub taken: u64,
    pub untaken: u64,
}

/// What is told first of nodes that stand differently: what goes on, then what went wrong, then what is to come.
const WEIGHT: [Status; 10] = [
    Status::Running,
    Status::Asking,
    Status::Queued,
    Status::Sleeping,
    Status::Awaiting,
    Status::Failed,
    Status::Waiting,
    Status::Done,
    Status::Cancelled,
    Status::Skipped,
];

impl Live {
    fn counts(&self, nodes: &[NodeIx]) -> [u64; 10] {
        let mut counts = [0; 10];
        for stand in nodes.iter().filter_map(|node| self.nodes.get(node.at())) {
            counts.iter_mut().zip(stand.counts).for_each(|(sum, count)| *sum += count);
        }
        counts
    }

    fn status(&self, nodes: &[NodeIx]) -> Status {
        let counts = self.counts(nodes);
        let unreached = if self.over { Status::Skipped } else { Status::Waiting };
        WEIGHT.into_iter().find(|status| counts[*status as usize] > 0).unwrap_or(unreached)
    }

    /// `done · 3.2 s`, `turn 3 of 5 · running`, `812 done, 2 failed`.
    fn state(&self, nodes: &[NodeIx]) -> String {
        let counts = self.counts(nodes);
        let mut parts = Vec::new();
        let own = self.nodes.get(nodes[0].at()).filter(|_| nodes.len() == 1);
        parts.extend(own.map(|stand| stand.note.clone()).filter(|note| !note.is_empty()));
        let all = counts.iter().sum::<u64>();
        if all == 0 && self.over {
            parts.push("not reached".to_owned());
        } else if all <= 1 {
            parts.push(self.status(nodes).as_str().to_owned());
        } else {
            let shown = WEIGHT.into_iter().filter(|status| counts[*status as usize] > 0);
            let shown: Vec<String> = shown.map(|status| format!("{} {}", counts[status as usize], status.as_str())).collect();
            parts.push(shown.join(", "));
        }
        parts.extend(own.map(|stand| stand.took.clone()).filter(|took| !took.is_empty()));
        parts.join(" · ")
    }
}

pub fn svg(ir: &Ir, live: Option<&Live>) -> String {
    paint::paint(ir, live, &scene::scene(ir, live, scene::PLACES_MAX))
}

#[cfg(test)]
pub(crate) mod tests;
