//! Who may run and who goes first, by brute force and straight from the definitions: eligible first, then order.

use super::{Model, TaskModel};
use kernel::names::{QueueName, TypeName};
use kernel::priority::Priority;
use kernel::rate::Rate;
use kernel::record::KeyRef;
use kernel::task::Status;
use kernel::time::Time;

/// Where an eligible task stands: what was started by hand first, then by effective order; ids break ties.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    RunNow(Time, kernel::ids::TaskId),
    Ordered(i64, kernel::ids::TaskId),
}

impl Place {
    pub fn task(&self) -> kernel::ids::TaskId {
        match self {
            Place::RunNow(_, task) | Place::Ordered(_, task) => *task,
        }
    }
}

/// The instant from which one more start is within the rate, by the generic cell rate algorithm.
pub fn permit_at(rate: &Rate, arrival: Time) -> Time {
    arrival.plus_us(-(interval_us(rate) * (i64::from(rate.burst) - 1)))
}

pub fn interval_us(rate: &Rate) -> i64 {
    let (per_us, count) = (rate.per_ms as i64 * 1_000, i64::from(rate.count));
    (per_us + count - 1) / count
}

pub fn us(head_start: Priority) -> i64 {
    i64::from(head_start.head_start_s()) * 1_000_000
}

impl Model {
    /// The key's arrival time; until a lease is there, as it was before its permits.
    pub fn arrival(&self, key: &KeyRef) -> Time {
        let taking = self.taking.iter().find(|(taken, _)| taken == key).map(|(_, before)| *before);
        taking.unwrap_or_else(|| self.arrivals.get(key).map_or(Time::ZERO, |(_, arrival)| *arrival))
    }

    /// Why a waiting task may not run at this instant; `None` when it may.
    pub fn obstacle(&self, task: &TaskModel, now: Time) -> Option<&'static str> {
        if task.status != Status::Queued {
            return Some("not queued");
        }
        if task.held {
            return Some("held");
        }
        if task.run_now {
            return None;
        }
        if !task.blocked_by.is_empty() {
            return Some("blocked");
        }
        if task.ready_at > now {
            return Some("not ready yet");
        }
        if !task.is_critical() && task.family.as_ref().is_some_and(|family| self.events.is_paused(family)) {
            return Some("of a paused family");
        }
        // Of a singleton one is under way, in whatever queue.
        if let Some(single) = task.trigger.as_ref().and_then(|trigger| trigger.single.as_ref())
            && self.running.iter().map(|id| &self.tasks[id]).any(|other| !other.run_now && other.keys.contains(single))
        {
            return Some("behind a key's slots");
        }
        let queue = self.queues.get(&task.queue)?;
        let config = &queue.config;
        if config.require_tag.as_ref().is_some_and(|tag| !task.tags.contains(tag)) {
            return Some("without the required tag");
        }
        if queue.pause.is_some() && !task.is_critical() {
            return Some("paused");
        }
        if config.concurrency.is_some_and(|limit| self.held.get(&task.queue).is_some_and(|held| held.slots >= limit)) {
            return Some("behind the queue's slots");
        }
        if !config.keys.is_empty() {
            for ((name, _), key) in task.keys.iter().zip(&task.key_refs) {
                let Some(limit) = config.keys.get(name).and_then(|limit| limit.concurrency) else { continue };
                if self.slots.get(key).is_some_and(|slots| *slots >= limit) {
                    return Some("behind a key's slots");
                }
            }
        }
        let rated = config.rate.is_some() || !config.keys.is_empty();
        if rated && !task.expedited && self.rated(task).iter().any(|(key, rate)| permit_at(rate, self.arrival(key)) > now) {
            return Some("behind a rate");
        }
        None
    }

    /// Its effective order: the instant it became ready, less head start and boosts, plus what fairness holds back.
    pub fn place(&self, task: &TaskModel) -> Place {
        if task.run_now {
            return Place::RunNow(task.since, task.id);
        }
        let mut order = task.ready_at.us() - us(task.priority);
        order -= task.family.as_ref().map_or(0, |family| self.events.boost_us(family));
        let Some(queue) = self.queues.get(&task.queue) else { return Place::Ordered(order, task.id) };
        order -= us(queue.boost);
        if !queue.boosts.is_empty() {
            order -= task.keys.iter().filter_map(|key| queue.boosts.get(key)).map(|boost| us(*boost)).sum::<i64>();
        }
        if let Some(fairness) = &queue.config.fairness
            && let Some(at) = task.keys.iter().position(|(name, _)| *name == fairness.key)
        {
            let running = i64::from(self.slots.get(&task.key_refs[at]).copied().unwrap_or(0));
            let weight = i64::from(fairness.weights.get(&task.keys[at].1).copied().unwrap_or(1));
            order += running * fairness.step_ms as i64 * 1_000 / weight;
        }
        Place::Ordered(order, task.id)
    }

    /// The task that goes next to whoever asks for these types in these queues (none given: in all).
    pub fn next(&self, types: &[TypeName], queues: &[QueueName], now: Time) -> Option<Place> {
        let asked = |task: &&TaskModel| {
            let wanted = types.contains(&task.kind) && (queues.is_empty() || queues.contains(&task.queue));
            // What a sweep has not reached may stand on either side.
            wanted && !self.sweeping.contains_key(&task.queue)
        };
        let waiting = self.queued.iter().map(|id| &self.tasks[id]).filter(asked);
        // The order is cheaper to know than the obstacles: look at those only for what would be the first.
        let mut best: Option<Place> = None;
        for task in waiting.filter(|task| task.run_now || (task.blocked_by.is_empty() && task.ready_at <= now)) {
            let place = self.place(task);
            if best.is_none_or(|best| place < best) && self.obstacle(task, now).is_none() {
                best = Some(place);
            }
        }
        best
    }

    /// When something moves by itself that the records alone tell of.
    pub fn next_due(&self, now: Time) -> Option<Time> {
        let later = self.queued.iter().map(|id| &self.tasks[id]).filter_map(|task| {
            let waits = !task.held && !task.run_now && task.blocked_by.is_empty();
            (waits && task.ready_at > now).then_some(task.ready_at)
        });
        let behind = |task: &&TaskModel| self.obstacle(task, now) == Some("behind a rate");
        let rates = self
            .queued
            .iter()
            .map(|id| &self.tasks[id])
            .filter(behind)
            .filter_map(|task| self.rated(task).iter().map(|(key, rate)| permit_at(rate, self.arrival(key))).max());
        let budgets = self.leases().filter(|(_, lease)| lease.ending.is_none()).map(|(_, lease)| lease.budget_until);
        let starts = self.queued.iter().filter_map(|id| self.tasks[id].start_by);
        let pauses = self.queues.values().filter_map(|queue| queue.pause.flatten());
        let bulks =
            self.bulks.values().filter(|bulk| bulk.open && !bulk.work.is_over_runs()).map(|bulk| bulk.resume_at.unwrap_or(now));
        let pauses = pauses.chain(self.events.pauses_end());
        later.chain(rates).chain(budgets).chain(starts).chain(pauses).chain(bulks).chain(self.runs.next_due(now)).min()
    }
}
