//! What there is of each family of events in each queue now. It is derived, and costs two looks-up a move of a task that an
//! event made; others are what is left of their queue.

use super::{Place, State};
use crate::names::{Family, Pattern, QueueName};
use crate::task::Task;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{AddAssign, SubAssign};
use std::sync::Arc;

/// How much of something waits and runs; the figures of a queue, of a part of it.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Depth {
    pub queued: usize,
    pub blocked: usize,
    pub scheduled: usize,
    /// Their runs are paused.
    pub held: usize,
    pub running: usize,
    pub overrides: usize,
    /// Held by runs, which do the work.
    pub in_runs: usize,
}

/// What there is of one family in one queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FamilyDepth {
    pub family: Arc<str>,
    /// No event made it: its family is its queue's name.
    pub plain: bool,
    pub queue: QueueName,
    pub depth: Depth,
}

impl FamilyDepth {
    /// By family and queue. It is done where nobody waits for it.
    pub fn sorted(mut found: Vec<FamilyDepth>) -> Vec<FamilyDepth> {
        found.sort_by(|a, b| (&a.family, a.plain, &a.queue).cmp(&(&b.family, b.plain, &b.queue)));
        found
    }
}

impl Depth {
    fn of(task: &Task, place: Place) -> Depth {
        let mut depth = Depth::default();
        match task {
            Task::Queued(_) => {
                depth.queued = 1;
                match place {
                    Place::Held => depth.held = 1,
                    Place::Blocked => depth.blocked = 1,
                    Place::Later(_) => depth.scheduled = 1,
                    Place::Override(_) => depth.overrides = 1,
                    Place::Lane(..) | Place::Nowhere | Place::Running(_) => {}
                }
            }
            Task::Running(running) if running.lease().run().is_some() => depth.in_runs = 1,
            Task::Running(running) if running.lease().is_run_now() => depth.overrides = 1,
            Task::Running(_) => depth.running = 1,
            Task::Idle(_) | Task::Done(_) | Task::Failed(_) | Task::Cancelled(_) => {}
        }
        depth
    }

    fn is_nothing(&self) -> bool {
        *self == Depth::default()
    }

    /// What is there besides.
    fn without(mut self, part: Depth) -> Depth {
        self -= part;
        self
    }
}

impl AddAssign for Depth {
    fn add_assign(&mut self, other: Depth) {
        let Depth { queued, blocked, scheduled, held, running, overrides, in_runs } = other;
        self.queued += queued;
        self.blocked += blocked;
        self.scheduled += scheduled;
        self.held += held;
        self.running += running;
        self.overrides += overrides;
        self.in_runs += in_runs;
    }
}

impl SubAssign for Depth {
    fn sub_assign(&mut self, other: Depth) {
        let Depth { queued, blocked, scheduled, held, running, overrides, in_runs } = other;
        self.queued -= queued;
        self.blocked -= blocked;
        self.scheduled -= scheduled;
        self.held -= held;
        self.running -= running;
        self.overrides -= overrides;
        self.in_runs -= in_runs;
    }
}

#[derive(Debug, Default)]
pub(super) struct Depths {
    families: FxHashMap<Family, FxHashMap<QueueName, Depth>>,
}

impl Depths {
    pub(super) fn enter(&mut self, task: &Task, place: Place) {
        let (route, depth) = (task.card().route(), Depth::of(task, place));
        let Some(family) = route.family().filter(|_| !depth.is_nothing()) else { return };
        // Looked up by reference first: almost always it is there.
        if let Some(found) = self.families.get_mut(family).and_then(|queues| queues.get_mut(route.queue())) {
            *found += depth;
        } else {
            self.families.entry(family.clone()).or_default().insert(route.queue().clone(), depth);
        }
    }

    pub(super) fn leave(&mut self, task: &Task, place: Place) {
        let (route, depth) = (task.card().route(), Depth::of(task, place));
        let Some(family) = route.family().filter(|_| !depth.is_nothing()) else { return };
        let queues = self.families.get_mut(family).expect("its family is counted");
        let left = queues.get_mut(route.queue()).expect("its queue is counted");
        *left -= depth;
        if left.is_nothing() {
            queues.remove(route.queue());
            if queues.is_empty() {
                self.families.remove(family);
            }
        }
    }
}

impl State {
    /// In which something waits that these families made.
    pub(crate) fn queues_of(&self, families: &[Pattern]) -> BTreeSet<QueueName> {
        let covered = |family: &Family| families.iter().any(|pattern| pattern.covers(family));
        let meant = self.depths.families.iter().filter(|(family, _)| covered(family));
        let waits = meant.flat_map(|(_, queues)| queues).filter(|(_, depth)| depth.queued > 0);
        waits.map(|(queue, _)| queue.clone()).collect()
    }

    /// What there is of the families that a pattern covers, or of all, in no order.
    pub fn depths_of(&self, families: Option<&Pattern>) -> Vec<FamilyDepth> {
        self.family_depths(|name| families.is_none_or(|pattern| pattern.covers_name(name)))
    }

    /// The same of the families that are wanted.
    pub(crate) fn family_depths(&self, wanted: impl Fn(&str) -> bool) -> Vec<FamilyDepth> {
        let mut found: Vec<FamilyDepth> = Vec::new();
        let mut made: BTreeMap<&QueueName, Depth> = BTreeMap::new();
        for (family, queues) in &self.depths.families {
            let is_wanted = wanted(family.as_str());
            for (queue, depth) in queues {
                *made.entry(queue).or_default() += *depth;
                if is_wanted {
                    let (family, queue) = (family.shared().clone(), queue.clone());
                    found.push(FamilyDepth { family, plain: false, queue, depth: *depth });
                }
            }
        }
        for (queue, line) in self.lanes.lines().filter(|(queue, _)| wanted(queue.as_str())) {
            let depth = line.depth().without(made.get(queue).copied().unwrap_or_default());
            if !depth.is_nothing() {
                found.push(FamilyDepth { family: queue.shared().clone(), plain: true, queue: queue.clone(), depth });
            }
        }
        found
    }
}
