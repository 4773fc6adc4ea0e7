//! The order of waiting work, derived from tasks and queues and rebuilt at load; it holds no fact of its own.
//!
//! A lane is (queue, type, family, keys): its tasks differ in order alone. What may run now is found from the top down:
//! type → track (queue, type) → group (fairness key) → lane → task, each level sorted by its best, so picking reads
//! four heads and decides nothing. A closed queue takes its tracks off their type's list. A lane behind a closed key
//! parks on *one* such key; a key that opens calls its best lanes back, as many as it has room for.
//!
//! A lane is there while tasks of it wait or run: who runs finds the slots to give back by it. Some that are empty are kept.
//!
//! Invariants: a listed lane is eligible at the last instant its gates were touched; a parked lane is either behind
//! a closed key or behind enough better lanes to fill what its key has open.

mod families;
mod few;
mod key;
mod read;
mod spare;

pub(crate) use families::Said;
pub(crate) use read::Obstacle;

use crate::ids::TaskId;
use crate::lease::Lease;
use crate::names::{HandlerName, KeyName, KeyValue, QueueName, TypeName};
use crate::queue::{BoostOn, Queue, QueueConfig};
use crate::rate::Rate;
use crate::record::KeyRef;
use crate::route::Route;
use crate::state::Depth;
use crate::time::Time;
use few::Few;
use rustc_hash::FxHashMap;
use slab::Slab;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

pub(crate) type Ix = usize;
/// Effective order of a head, and the head itself to break ties.
type Score = (i64, TaskId);

/// A type's lanes that pass the same gates: whether expedited, and whether critical. One that may not run now does not stand
/// before one that may.
type Side = (Ix, bool, bool);

#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Flags {
    /// Lacks the tag its queue requires.
    pub withheld: bool,
    /// Drained: passes rates.
    pub expedited: bool,
}

#[derive(Debug)]
struct Type {
    name: TypeName,
    ready: BTreeSet<(Score, Ix)>,
    /// Started by hand, first in line, past every gate: (since, task, queue).
    overrides: BTreeSet<(Time, TaskId, Ix)>,
    tracks: usize,
}

#[derive(Debug)]
pub(crate) struct QueueLine {
    name: QueueName,
    config: Arc<QueueConfig>,
    /// Has a row; an unconfigured queue that empties is forgotten.
    stated: bool,
    paused: bool,
    /// Its tasks are being placed anew.
    sweeping: bool,
    boost_us: i64,
    key_boosts: FxHashMap<(KeyName, KeyValue), i64>,
    arrival: Time,
    pub(crate) running: u32,
    pub(crate) overrides: u32,
    /// Held by runs: these take no slot of the queue.
    pub(crate) in_runs: u32,
    /// Every queued task, blocked and scheduled ones included: what bulks walk through.
    pub(crate) members: BTreeSet<TaskId>,
    pub(crate) blocked: u32,
    pub(crate) later: u32,
    pub(crate) held: u32,
    tracks: Vec<Ix>,
    keys: FxHashMap<(KeyName, KeyValue), Ix>,
    due: Option<Time>,
}

#[derive(Debug)]
struct Track {
    queue: Ix,
    kind: Ix,
    expedited: bool,
    critical: bool,
    groups: FxHashMap<Option<Ix>, Ix>,
    ready: BTreeSet<(Score, Ix)>,
    listed: Option<Score>,
}

#[derive(Debug)]
struct Group {
    track: Ix,
    fair: Option<Ix>,
    ready: Few<(Score, Ix)>,
    listed: Option<Score>,
    lanes: usize,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum LanePlace {
    Out,
    Ready(Score),
    Parked { on: Ix, score: Score },
}

#[derive(Debug)]
struct Lane {
    route: Arc<Route>,
    flags: Flags,
    kind: Ix,
    group: Ix,
    family: Option<Ix>,
    keys: Box<[Ix]>,
    tasks: Few<Score>,
    running: u32,
    /// It is among those that are put by, or was when it was empty last.
    spare: bool,
    place: LanePlace,
}

#[derive(Debug)]
struct Key {
    /// `None`: it counts in all queues alike, and lets one through.
    queue: Option<Ix>,
    named: KeyRef,
    limit: Option<u32>,
    rate: Option<Rate>,
    boost_us: i64,
    weight: u32,
    running: u32,
    arrival: Time,
    lanes: usize,
    /// As of the last touch, for plain and for expedited lanes. A gate that the time or a new limit has opened stays
    /// shut until it is touched: whoever slipped through before would be counted as one that was called.
    open: [bool; 2],
    ready: Few<(Side, Ix)>,
    parked: BTreeMap<Side, BTreeSet<(Score, Ix)>>,
    /// The groups that count this key as their fairness key.
    fair: Vec<Ix>,
    due: Option<Time>,
}

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Gate {
    Queue(Ix),
    Key(Ix),
}

#[derive(Debug, Default)]
pub(crate) struct Lanes {
    types_by: FxHashMap<TypeName, Ix>,
    types: Slab<Type>,
    queues_by: FxHashMap<QueueName, Ix>,
    queues: Slab<QueueLine>,
    tracks: Slab<Track>,
    groups: Slab<Group>,
    lanes_by: FxHashMap<(Arc<Route>, Flags), Ix>,
    lanes: Slab<Lane>,
    /// Lanes that may have nothing left in them. They stay until whoever left the last has found its new place: it may be there.
    emptied: Vec<Ix>,
    spare: VecDeque<Ix>,
    keys: Slab<Key>,
    /// Keys that count in all queues.
    singles: FxHashMap<(KeyName, KeyValue), Ix>,
    families: families::Families,
    due: BTreeSet<(Time, Gate)>,
}

impl QueueLine {
    /// As of the last touch: `due` is set exactly while the rate is closed.
    fn is_open(&self, expedited: bool, critical: bool) -> bool {
        let slot = self.config.concurrency.is_none_or(|limit| self.running < limit);
        let paused = self.paused && !critical && !crate::defect("pause_ignored");
        slot && !paused && !self.sweeping && (expedited || self.due.is_none())
    }

    fn fair_key(&self) -> Option<&KeyName> {
        self.config.fairness.as_ref().map(|fairness| &fairness.key)
    }

    pub(crate) fn config(&self) -> &Arc<QueueConfig> {
        &self.config
    }

    pub(crate) fn depth(&self) -> Depth {
        Depth {
            queued: self.members.len(),
            blocked: self.blocked as usize,
            scheduled: self.later as usize,
            held: self.held as usize,
            running: self.running as usize,
            overrides: self.overrides as usize,
            in_runs: self.in_runs as usize,
        }
    }
}

impl Lanes {
    // ---- Tasks come and go --------------------------------------------------------------------------------------

    pub(crate) fn enter_queue(&mut self, queue: &QueueName, task: TaskId) -> &mut QueueLine {
        let line = self.line_of(queue);
        let line = &mut self.queues[line];
        line.members.insert(task);
        line
    }

    pub(crate) fn leave_queue(&mut self, queue: &QueueName, task: TaskId) -> &mut QueueLine {
        let line = self.queues_by[queue];
        let line = &mut self.queues[line];
        assert!(line.members.remove(&task), "{task} is a member of its queue");
        line
    }

    /// Drops a queue's line when nothing is left to know about it.
    pub(crate) fn forget_if_empty(&mut self, queue: &QueueName) {
        let Some(ix) = self.queues_by.get(queue).copied() else { return };
        let line = &self.queues[ix];
        let in_use = line.stated || line.running > 0 || line.overrides > 0 || line.in_runs > 0 || line.due.is_some();
        if !in_use && line.members.is_empty() && line.tracks.is_empty() && line.keys.is_empty() {
            self.queues_by.remove(queue);
            self.queues.remove(ix);
        }
    }

    pub(crate) fn enter_lane(&mut self, route: &Arc<Route>, flags: Flags, order: i64, task: TaskId, now: Time) -> Ix {
        let lane = self.lane_of(route, flags);
        self.lanes[lane].tasks.insert((order, task));
        self.settle(lane, now);
        lane
    }

    pub(crate) fn leave_lane(&mut self, lane: Ix, order: i64, task: TaskId, now: Time) {
        assert!(self.lanes[lane].tasks.remove(&(order, task)), "{task} is in its lane");
        self.settle(lane, now);
        if self.lanes[lane].tasks.is_empty() {
            self.emptied.push(lane);
        }
    }

    pub(crate) fn enter_overrides(&mut self, route: &Route, since: Time, task: TaskId) {
        let queue = self.line_of(route.queue());
        let kind = self.type_of(route.kind());
        self.types[kind].tracks += 1;
        self.types[kind].overrides.insert((since, task, queue));
        self.queues[queue].overrides += 1;
    }

    pub(crate) fn leave_overrides(&mut self, route: &Route, since: Time, task: TaskId) {
        let queue = self.queues_by[route.queue()];
        let kind = self.types_by[route.kind()];
        assert!(self.types[kind].overrides.remove(&(since, task, queue)), "{task} is among the overrides");
        self.queues[queue].overrides -= 1;
        self.release_type(kind);
    }

    /// A lease begins: it takes its slots, and its lane stays.
    pub(crate) fn start(&mut self, route: &Arc<Route>, lease: &Lease, handler: Option<&HandlerName>, now: Time) -> Ix {
        let lane = self.lane_of(route, Flags::default());
        self.lanes[lane].running += 1;
        let line = self.line_of_lane(lane);
        if lease.run().is_some() {
            self.queues[line].in_runs += 1;
        } else if lease.is_run_now() {
            self.queues[line].overrides += 1;
        } else {
            self.queues[line].running += 1;
        }
        if !lease.is_run_now() {
            for at in 0..self.lanes[lane].keys.len() {
                let key = self.lanes[lane].keys[at];
                if self.keys[key].takes(lease, handler) {
                    self.keys[key].running += 1;
                    self.touch_key(key, now);
                }
            }
            self.touch_queue_if_limited(line, now);
        }
        lane
    }

    /// A lease ends: it gives them back.
    pub(crate) fn stop(&mut self, lane: Ix, lease: &Lease, handler: Option<&HandlerName>, now: Time) {
        let line = self.line_of_lane(lane);
        if crate::defect("leaked_slot") && !lease.is_run_now() {
            return;
        }
        self.lanes[lane].running -= 1;
        self.emptied.push(lane);
        if lease.run().is_some() {
            self.queues[line].in_runs -= 1;
        } else if lease.is_run_now() {
            self.queues[line].overrides -= 1;
        } else {
            self.queues[line].running -= 1;
        }
        if lease.is_run_now() {
            return;
        }
        for at in 0..self.lanes[lane].keys.len() {
            let key = self.lanes[lane].keys[at];
            if self.keys[key].takes(lease, handler) {
                self.keys[key].running -= 1;
                self.touch_key(key, now);
            }
        }
        self.touch_queue_if_limited(line, now);
    }

    // ---- Queues and keys change ---------------------------------------------------------------------------------

    pub(crate) fn set_arrival(&mut self, key: &KeyRef, arrival: Option<Time>, now: Time) {
        let line = self.line_of(&key.queue);
        match &key.key {
            None => {
                self.queues[line].arrival = arrival.unwrap_or_default();
                self.touch_queue(line, now);
            }
            Some(name) => {
                let key = self.key_of(line, name);
                self.keys[key].arrival = arrival.unwrap_or_default();
                self.touch_key(key, now);
                self.release_key(key);
            }
        }
    }

    /// Takes over what the queue's row says; `None` when it has none. Numbers act at once. A pause or a limit of the queue
    /// itself costs nothing to speak of, a limit of its keys is by key, another fairness key or boost by lane.
    pub(crate) fn configure(&mut self, name: &QueueName, queue: Option<&Queue>, now: Time) {
        let line = self.line_of(name);
        let entry = &mut self.queues[line];
        let before = entry.config.clone();
        let boosts_before = std::mem::take(&mut entry.key_boosts);
        entry.stated = queue.is_some();
        entry.config = queue.map(|queue| queue.config().clone()).unwrap_or_default();
        entry.paused = queue.is_some_and(|queue| queue.pause().is_some());
        entry.boost_us = 0;
        for (BoostOn { key }, boost) in queue.into_iter().flat_map(|queue| queue.boosts()) {
            match key {
                None => entry.boost_us = boost.head_start_us(),
                Some(key) => _ = entry.key_boosts.insert(key.clone(), boost.head_start_us()),
            }
        }
        let refair = before.fairness.as_ref().map(|fairness| &fairness.key) != entry.fair_key();
        let reboost = boosts_before != entry.key_boosts;
        let rekey = reboost || before.keys != entry.config.keys || before.fairness != entry.config.fairness;
        let keys: Vec<Ix> = if rekey { entry.keys.values().copied().collect() } else { Vec::new() };
        for key in &keys {
            self.read_limits(*key);
        }
        if refair || reboost {
            let lanes: Vec<Ix> = self.lanes.iter().filter(|(_, lane)| lane.route.queue() == name).map(|(ix, _)| ix).collect();
            for lane in lanes {
                if refair {
                    self.regroup(lane);
                }
                self.settle(lane, now);
            }
        }
        for key in keys {
            self.touch_key(key, now);
        }
        self.touch_queue(line, now);
    }

    pub(crate) fn set_sweeping(&mut self, queue: &QueueName, sweeping: bool, now: Time) {
        let line = self.line_of(queue);
        self.queues[line].sweeping = sweeping;
        self.touch_queue(line, now);
    }

    /// Opens the gates whose time has come, at most `max`; true when more are due.
    pub(crate) fn advance(&mut self, now: Time, max: usize) -> bool {
        for _ in 0..max {
            match self.due.first() {
                Some((at, gate)) if *at <= now => match *gate {
                    Gate::Queue(line) => self.touch_queue(line, now),
                    Gate::Key(key) => {
                        self.touch_key(key, now);
                        self.release_key(key);
                    }
                },
                _ => return false,
            }
        }
        self.next_due().is_some_and(|at| at <= now)
    }

    // ---- The mechanism ------------------------------------------------------------------------------------------

    fn line_of(&mut self, name: &QueueName) -> Ix {
        if let Some(line) = self.queues_by.get(name) {
            return *line;
        }
        let line = self.queues.insert(QueueLine {
            name: name.clone(),
            config: Arc::default(),
            stated: false,
            paused: false,
            sweeping: false,
            boost_us: 0,
            key_boosts: FxHashMap::default(),
            arrival: Time::ZERO,
            running: 0,
            overrides: 0,
            in_runs: 0,
            members: BTreeSet::new(),
            blocked: 0,
            later: 0,
            held: 0,
            tracks: Vec::new(),
            keys: FxHashMap::default(),
            due: None,
        });
        self.queues_by.insert(name.clone(), line);
        line
    }

    fn type_of(&mut self, name: &TypeName) -> Ix {
        if let Some(kind) = self.types_by.get(name) {
            return *kind;
        }
        let kind = Type { name: name.clone(), ready: BTreeSet::new(), overrides: BTreeSet::new(), tracks: 0 };
        let kind = self.types.insert(kind);
        self.types_by.insert(name.clone(), kind);
        kind
    }

    fn release_type(&mut self, kind: Ix) {
        self.types[kind].tracks -= 1;
        if self.types[kind].tracks == 0 {
            let gone = self.types.remove(kind);
            self.types_by.remove(&gone.name);
        }
    }

    fn key_of(&mut self, line: Ix, name: &(KeyName, KeyValue)) -> Ix {
        if let Some(key) = self.queues[line].keys.get(name) {
            return *key;
        }
        let named = KeyRef::new(self.queues[line].name.clone(), Some(name.clone()));
        let key = self.keys.insert(Key::new(Some(line), named, None));
        self.queues[line].keys.insert(name.clone(), key);
        self.read_limits(key);
        key
    }

    fn single_of(&mut self, queue: &QueueName, name: &(KeyName, KeyValue)) -> Ix {
        if let Some(key) = self.singles.get(name) {
            return *key;
        }
        let limit = Some(1).filter(|_| !crate::defect("single_by_queue"));
        let key = self.keys.insert(Key::new(None, KeyRef::new(queue.clone(), Some(name.clone())), limit));
        self.singles.insert(name.clone(), key);
        key
    }

    fn read_limits(&mut self, key: Ix) {
        let entry = &mut self.keys[key];
        let Some(queue) = entry.queue else { return };
        let line = &self.queues[queue];
        let name = entry.named.key.as_ref().expect("a key has a name and a value");
        let limits = line.config.keys.get(&name.0);
        entry.limit = limits.and_then(|limits| limits.concurrency);
        entry.rate = limits.and_then(|limits| limits.rate);
        entry.boost_us = line.key_boosts.get(name).copied().unwrap_or(0);
        let fairness = line.config.fairness.as_ref().filter(|fairness| fairness.key == name.0);
        entry.weight = fairness.and_then(|fairness| fairness.weights.get(&name.1)).copied().unwrap_or(1);
    }

    fn release_key(&mut self, key: Ix) {
        let entry = &self.keys[key];
        if entry.lanes == 0 && entry.running == 0 && entry.arrival == Time::ZERO && entry.due.is_none() {
            let gone = self.keys.remove(key);
            match gone.queue {
                Some(queue) => self.queues[queue].keys.remove(gone.name()),
                None => self.singles.remove(gone.name()),
            };
        }
    }

    fn lane_of(&mut self, route: &Arc<Route>, flags: Flags) -> Ix {
        let id = (route.clone(), flags);
        if let Some(lane) = self.lanes_by.get(&id) {
            return *lane;
        }
        let line = self.line_of(route.queue());
        let kind = self.type_of(route.kind());
        let mut keys: Vec<Ix> = route.keys().iter().map(|name| self.key_of(line, name)).collect();
        keys.extend(route.single().map(|name| self.single_of(route.queue(), name)));
        let keys: Box<[Ix]> = keys.into();
        for key in &keys {
            self.keys[*key].lanes += 1;
        }
        let group = self.group_of(line, kind, flags.expedited, route, &keys);
        let family = route.family().map(|family| self.families.enter(family));
        let (tasks, place) = (Few::Empty, LanePlace::Out);
        let lane = Lane { route: route.clone(), flags, kind, group, family, keys, tasks, running: 0, spare: false, place };
        let lane = self.lanes.insert(lane);
        self.lanes_by.insert(id, lane);
        lane
    }

    fn line_of_lane(&self, lane: Ix) -> Ix {
        self.tracks[self.groups[self.lanes[lane].group].track].queue
    }

    fn drop_lane(&mut self, lane: Ix) {
        assert_eq!(self.lanes[lane].place, LanePlace::Out, "an empty lane is in nobody's list");
        let gone = self.lanes.remove(lane);
        self.release_group(gone.group);
        if let Some(family) = gone.family {
            self.families.leave(family);
        }
        for key in &gone.keys {
            self.keys[*key].lanes -= 1;
            self.release_key(*key);
        }
        self.lanes_by.remove(&(gone.route, gone.flags));
    }

    fn group_of(&mut self, line: Ix, kind: Ix, expedited: bool, route: &Route, keys: &[Ix]) -> Ix {
        let critical = route.is_critical();
        let fair = self.queues[line].fair_key().and_then(|fair| {
            let at = route.keys().iter().position(|(name, _)| name == fair)?;
            Some(keys[at])
        });
        let found = self.queues[line].tracks.iter().copied().find(|track| {
            let track = &self.tracks[*track];
            track.kind == kind && track.expedited == expedited && track.critical == critical
        });
        let track = found.unwrap_or_else(|| {
            let (groups, ready) = (FxHashMap::default(), BTreeSet::new());
            let track = Track { queue: line, kind, expedited, critical, groups, ready, listed: None };
            let track = self.tracks.insert(track);
            self.queues[line].tracks.push(track);
            self.types[kind].tracks += 1;
            track
        });
        let group = match self.tracks[track].groups.get(&fair) {
            Some(group) => *group,
            None => {
                let group = self.groups.insert(Group { track, fair, ready: Few::Empty, listed: None, lanes: 0 });
                self.tracks[track].groups.insert(fair, group);
                if let Some(fair) = fair {
                    self.keys[fair].fair.push(group);
                }
                group
            }
        };
        self.groups[group].lanes += 1;
        group
    }

    fn release_group(&mut self, group: Ix) {
        self.groups[group].lanes -= 1;
        if self.groups[group].lanes > 0 {
            return;
        }
        let gone = self.groups.remove(group);
        if let Some(fair) = gone.fair {
            self.keys[fair].fair.retain(|other| *other != group);
        }
        self.tracks[gone.track].groups.remove(&gone.fair);
        if self.tracks[gone.track].groups.is_empty() {
            let track = self.tracks.remove(gone.track);
            self.queues[track.queue].tracks.retain(|other| *other != gone.track);
            self.release_type(track.kind);
        }
    }

    /// The queue's fairness key changed: the lane moves to its new group.
    fn regroup(&mut self, lane: Ix) {
        self.place(lane, LanePlace::Out);
        let Lane { route, flags, kind, keys, group: before, .. } = &self.lanes[lane];
        let (route, expedited, kind, keys, before) = (route.clone(), flags.expedited, *kind, keys.clone(), *before);
        let line = self.queues_by[route.queue()];
        let group = self.group_of(line, kind, expedited, &route, &keys);
        self.lanes[lane].group = group;
        self.release_group(before);
    }

    /// Puts a lane where its head and its gates say. A lane that leaves the front makes room for the next.
    fn settle(&mut self, lane: Ix, now: Time) {
        let entry = &self.lanes[lane];
        let before = entry.place;
        let after = match entry.tasks.first() {
            Some((order, head)) if !entry.flags.withheld && !self.is_silenced(entry) => {
                self.place_for(entry, (order - self.boost_of(entry), *head))
            }
            _ => LanePlace::Out,
        };
        if before == after {
            return;
        }
        self.place(lane, after);
        if let LanePlace::Ready(score) = before
            && !matches!(after, LanePlace::Ready(better) if better <= score)
        {
            for at in 0..self.lanes[lane].keys.len() {
                let key = self.lanes[lane].keys[at];
                self.call_back(key, 1, now);
            }
        }
    }

    fn place_for(&self, lane: &Lane, score: Score) -> LanePlace {
        let closed = lane.keys.iter().find(|key| !self.keys[**key].open[usize::from(lane.flags.expedited)]);
        closed.map_or(LanePlace::Ready(score), |on| LanePlace::Parked { on: *on, score })
    }

    /// Moves a lane between the lists. The only writer of `Lane::place`.
    fn place(&mut self, lane: Ix, after: LanePlace) {
        let entry = &mut self.lanes[lane];
        let before = std::mem::replace(&mut entry.place, after);
        let (group, side) = (entry.group, (entry.kind, entry.flags.expedited, entry.route.is_critical()));
        match before {
            LanePlace::Out => {}
            LanePlace::Ready(score) => {
                self.groups[group].ready.remove(&(score, lane));
                for key in &self.lanes[lane].keys {
                    self.keys[*key].ready.remove(&(side, lane));
                }
            }
            LanePlace::Parked { on, score } => {
                let parked = &mut self.keys[on].parked;
                let list = parked.get_mut(&side).expect("a parked lane is in its key's list");
                list.remove(&(score, lane));
                if list.is_empty() {
                    parked.remove(&side);
                }
            }
        }
        match after {
            LanePlace::Out => {}
            LanePlace::Ready(score) => {
                self.groups[group].ready.insert((score, lane));
                for key in &self.lanes[lane].keys {
                    self.keys[*key].ready.insert((side, lane));
                }
            }
            LanePlace::Parked { on, score } => {
                self.keys[on].parked.entry(side).or_default().insert((score, lane));
            }
        }
        self.relist_group(group);
    }

    fn relist_group(&mut self, group: Ix) {
        let entry = &self.groups[group];
        let penalty = entry.fair.map_or(0, |fair| {
            let key = &self.keys[fair];
            let fairness = key.queue.and_then(|queue| self.queues[queue].config.fairness.as_ref());
            let step_us = fairness.map_or(0, |fairness| fairness.step_ms as i64 * 1_000);
            i64::from(key.running).saturating_mul(step_us) / i64::from(key.weight)
        });
        let after = entry.ready.first().map(|((order, head), _)| (order.saturating_add(penalty), *head));
        let track = entry.track;
        let before = std::mem::replace(&mut self.groups[group].listed, after);
        if before != after {
            let ready = &mut self.tracks[track].ready;
            before.map(|score| ready.remove(&(score, group)));
            after.map(|score| ready.insert((score, group)));
            self.relist_track(track);
        }
    }

    fn relist_track(&mut self, track: Ix) {
        let entry = &self.tracks[track];
        let line = &self.queues[entry.queue];
        let after = if line.is_open(entry.expedited, entry.critical) {
            entry.ready.first().map(|((order, head), _)| (order - line.boost_us, *head))
        } else {
            None
        };
        let kind = entry.kind;
        let before = std::mem::replace(&mut self.tracks[track].listed, after);
        if before != after {
            let ready = &mut self.types[kind].ready;
            before.map(|score| ready.remove(&(score, track)));
            after.map(|score| ready.insert((score, track)));
        }
    }

    fn touch_queue_if_limited(&mut self, line: Ix, now: Time) {
        if self.queues[line].config.concurrency.is_some() {
            self.touch_queue(line, now);
        }
    }

    /// The queue's slots, permits or pause changed.
    fn touch_queue(&mut self, line: Ix, now: Time) {
        let entry = &mut self.queues[line];
        let closed = entry.config.rate.filter(|rate| rate.permits_at(entry.arrival, now) == 0);
        let after = closed.map(|rate| rate.next_at(entry.arrival));
        let before = std::mem::replace(&mut entry.due, after);
        before.map(|at| self.due.remove(&(at, Gate::Queue(line))));
        after.map(|at| self.due.insert((at, Gate::Queue(line))));
        for at in 0..self.queues[line].tracks.len() {
            let track = self.queues[line].tracks[at];
            self.relist_track(track);
        }
    }

    /// A key's slots, permits or limits changed.
    fn touch_key(&mut self, key: Ix, now: Time) {
        let entry = &mut self.keys[key];
        let closed = entry.rate.filter(|rate| rate.permits_at(entry.arrival, now) == 0);
        let after = closed.map(|rate| rate.next_at(entry.arrival));
        let before = std::mem::replace(&mut entry.due, after);
        before.map(|at| self.due.remove(&(at, Gate::Key(key))));
        after.map(|at| self.due.insert((at, Gate::Key(key))));
        let fair = if crate::defect("fairness_stale") { 0 } else { self.keys[key].fair.len() };
        for at in 0..fair {
            let group = self.keys[key].fair[at];
            self.relist_group(group);
        }
        let entry = &mut self.keys[key];
        entry.open = [false, true].map(|expedited| entry.capacity(expedited, now) > 0);
        for expedited in [false, true] {
            if !self.keys[key].open[usize::from(expedited)] {
                let shut: Vec<Ix> =
                    self.keys[key].ready.iter().filter(|((_, e, _), _)| *e == expedited).map(|(_, lane)| *lane).collect();
                for lane in shut {
                    self.settle(lane, now);
                }
            }
        }
        self.call_back(key, 0, now);
    }

    /// Brings the best parked lanes of an open key to the front: as many as it has room for, and `extra` more because
    /// one at the front fell back. Where fairness counts another key, or several queues meet, the best cannot be known here: all come.
    fn call_back(&mut self, key: Ix, extra: usize, now: Time) {
        if self.keys[key].parked.is_empty() || crate::defect("nobody_called_back") {
            return;
        }
        let entry = &self.keys[key];
        let fair_key = |queue: Ix| self.queues[queue].fair_key();
        let fair_elsewhere = entry.queue.is_none_or(|queue| fair_key(queue).is_some_and(|fair| *fair != entry.name().0));
        let lists: Vec<Side> = entry.parked.keys().copied().collect();
        for side in lists {
            let (_, expedited, _) = side;
            if !self.keys[key].open[usize::from(expedited)] {
                continue;
            }
            let room = if fair_elsewhere { usize::MAX } else { self.keys[key].capacity(expedited, now) as usize };
            let front = (side, Ix::MIN)..=(side, Ix::MAX);
            let ready = self.keys[key].ready.range(front).take(room).count();
            let mut wanted = (room - ready).max(extra);
            while wanted > 0 {
                let list = self.keys[key].parked.get(&side);
                let Some((score, lane)) = list.and_then(|list| list.first()).copied() else { break };
                let place = self.place_for(&self.lanes[lane], score);
                self.place(lane, place);
                wanted -= usize::from(matches!(place, LanePlace::Ready(_)));
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod model;
#[cfg(test)]
mod tests;
