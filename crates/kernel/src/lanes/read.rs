//! Looking at the order: what goes next, and what stands in the way. Nothing is changed here.

use super::{Flags, Ix, Lane, Lanes, QueueLine};
use crate::ids::TaskId;
use crate::names::{KeyName, KeyValue, QueueName, TypeName};
use crate::rate::Rate;
use crate::record::KeyRef;
use crate::route::Route;
use crate::time::Time;
use std::sync::Arc;

/// More lanes than this are not looked at one by one for an explanation.
const LANES_LOOKED_AT: usize = 100_000;

/// Why the head of a lane may not run: what `explain` tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Obstacle {
    QueueConcurrency { limit: u32 },
    QueueRate { next_at: Time },
    KeyConcurrency { key: (KeyName, KeyValue), limit: u32 },
    KeyRate { key: (KeyName, KeyValue), next_at: Time },
}

impl Lanes {
    /// The task that goes next among these types, in these queues (none given: in all).
    pub(crate) fn pick(&self, types: &[TypeName], queues: &[QueueName]) -> Option<TaskId> {
        let kinds = types.iter().filter_map(|name| self.types_by.get(name));
        let wanted = |queue: Ix| queues.is_empty() || queues.contains(&self.queues[queue].name);
        let override_ =
            kinds.clone().filter_map(|kind| self.types[*kind].overrides.iter().find(|(_, _, queue)| wanted(*queue))).min();
        if let Some((_, task, _)) = override_ {
            return Some(*task);
        }
        let track = if queues.is_empty() {
            kinds.filter_map(|kind| self.types[*kind].ready.first()).min().map(|(_, track)| *track)
        } else {
            let lines = queues.iter().filter_map(|name| self.queues_by.get(name));
            let tracks = lines.flat_map(|line| self.queues[*line].tracks.iter().copied());
            let asked = |kind: Ix| types.contains(&self.types[kind].name);
            let listed = tracks.filter(|t| asked(self.tracks[*t].kind)).filter_map(|t| Some((self.tracks[t].listed?, t)));
            listed.min().map(|(_, track)| track)
        }?;
        let (_, group) = self.tracks[track].ready.first().expect("a listed track has a ready group");
        let ready = &self.groups[*group].ready;
        let lane = if crate::defect("last_lane_first") { ready.last() } else { ready.first() };
        let (_, lane) = lane.expect("a listed group has a ready lane");
        self.lanes[*lane].tasks.first().map(|(_, task)| *task)
    }

    /// Whether a worker asking for this type (in these queues) would get something.
    pub(crate) fn has_ready(&self, types: &[TypeName], queues: &[QueueName]) -> bool {
        if queues.is_empty() {
            return types.iter().filter_map(|name| self.types_by.get(name)).any(|kind| {
                let kind = &self.types[*kind];
                !kind.ready.is_empty() || !kind.overrides.is_empty()
            });
        }
        self.pick(types, queues).is_some()
    }

    /// The copy of this route that its lane holds, so that equal routes are one.
    pub(crate) fn shared(&self, route: Arc<Route>) -> Arc<Route> {
        let id = (route, Flags::default());
        self.lanes_by.get(&id).map_or(id.0, |lane| self.lanes[*lane].route.clone())
    }

    pub(crate) fn line(&self, queue: &QueueName) -> Option<&QueueLine> {
        self.queues_by.get(queue).map(|line| &self.queues[*line])
    }

    pub(crate) fn lines(&self) -> impl Iterator<Item = (&QueueName, &QueueLine)> {
        self.queues.iter().map(|(_, line)| (&line.name, line))
    }

    /// Keys with a rate, and the queue itself, that one lease from this lane takes a permit from.
    pub(crate) fn permits_of(&self, lane: Ix, now: Time) -> Vec<(KeyRef, Time)> {
        let line = &self.queues[self.line_of_lane(lane)];
        let total = line.config.rate.map(|rate| (KeyRef::new(line.name.clone(), None), rate.take(line.arrival, now)));
        let keyed = self.lanes[lane].keys.iter().map(|key| &self.keys[*key]);
        let keyed = keyed.filter_map(|key| Some((key.named.clone(), key.rate?.take(key.arrival, now))));
        total.into_iter().chain(keyed).collect()
    }

    /// When the permits of this queue and of its keys that were taken are all back.
    pub(crate) fn arrivals(&self, queue: &QueueName) -> impl Iterator<Item = (KeyRef, Time)> {
        let line = self.line(queue);
        let total = line.into_iter().map(|line| (KeyRef::new(line.name.clone(), None), line.arrival));
        let keys = line.into_iter().flat_map(|line| line.keys.values()).map(|key| &self.keys[*key]);
        total.chain(keys.map(|key| (key.named.clone(), key.arrival)))
    }

    /// Every gate that stands before a task of this route at this instant.
    pub(crate) fn obstacles(&self, route: &Route, expedited: bool, now: Time) -> Vec<Obstacle> {
        let mut found = Vec::new();
        let Some(line) = self.line(route.queue()) else { return found };
        if let Some(limit) = line.config.concurrency.filter(|limit| line.running >= *limit) {
            found.push(Obstacle::QueueConcurrency { limit });
        }
        let closed = |rate: Option<Rate>, arrival: Time| {
            rate.filter(|rate| !expedited && rate.permits_at(arrival, now) == 0).map(|rate| rate.next_at(arrival))
        };
        if let Some(next_at) = closed(line.config.rate, line.arrival) {
            found.push(Obstacle::QueueRate { next_at });
        }
        for name in route.keys() {
            let Some(key) = line.keys.get(name).map(|ix| &self.keys[*ix]) else { continue };
            if let Some(limit) = key.limit.filter(|limit| key.running >= *limit) {
                found.push(Obstacle::KeyConcurrency { key: name.clone(), limit });
            }
            if let Some(next_at) = closed(key.rate, key.arrival) {
                found.push(Obstacle::KeyRate { key: name.clone(), next_at });
            }
        }
        // One in another queue is as much in the way as one in this.
        let single = route.single().filter(|single| self.singles.get(single).is_some_and(|key| self.keys[*key].running > 0));
        let told = |single: &(KeyName, KeyValue)| {
            found.iter().any(|known| matches!(known, Obstacle::KeyConcurrency { key, .. } if key == single))
        };
        if let Some(single) = single.filter(|single| !told(single)) {
            found.push(Obstacle::KeyConcurrency { key: single.clone(), limit: 1 });
        }
        found
    }

    /// How many tasks of its own lane go before this one, counted up to `max`.
    pub(crate) fn ahead_in_lane(&self, lane: Ix, order: i64, task: TaskId, max: usize) -> usize {
        self.lanes[lane].tasks.range(..(order, task)).take(max).count()
    }

    /// Whether another lane goes before this one, which waits for permits, at one of the gates it waits for. Where fairness
    /// counts, the order among lanes is not known before they run: any other is taken to go before, and so it is where
    /// there are too many to look at.
    pub(crate) fn is_passed(&self, lane: Ix, now: Time) -> bool {
        let entry = &self.lanes[lane];
        let queue = self.line_of_lane(lane);
        let line = &self.queues[queue];
        let closed = |rate: Option<Rate>, arrival: Time| rate.is_some_and(|rate| rate.permits_at(arrival, now) == 0);
        let whole_queue = closed(line.config.rate, line.arrival);
        let keys: Vec<Ix> =
            entry.keys.iter().copied().filter(|key| closed(self.keys[*key].rate, self.keys[*key].arrival)).collect();
        let shares = |other: &Lane| {
            let beside = whole_queue && self.tracks[self.groups[other.group].track].queue == queue;
            beside || other.keys.iter().any(|key| keys.contains(key))
        };
        let score = |lane: &Lane| lane.tasks.first().map(|(order, head)| (order - self.boost_of(lane), *head));
        let before = |other: &Lane| line.config.fairness.is_some() || score(other) < score(entry);
        let waits = |other: &Lane| !other.tasks.is_empty() && !other.flags.withheld && !other.flags.expedited;
        let mut others = self.lanes.iter().filter(|(ix, other)| *ix != lane && waits(other));
        self.lanes.len() > LANES_LOOKED_AT || others.any(|(_, other)| shares(other) && before(other))
    }

    /// The next instant at which a gate opens by itself.
    pub(crate) fn next_due(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }
}
