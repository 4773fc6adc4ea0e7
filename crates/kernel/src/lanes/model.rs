//! What lanes must find, by brute force: every queued task is looked at, with no lane, list or heap. It reads the facts
//! (tasks, queues, permits) and nothing that is derived from them.

use crate::ids::TaskId;
use crate::names::{KeyName, KeyValue, QueueName, TypeName};
use crate::queue::BoostOn;
use crate::rate::Rate;
use crate::state::State;
use crate::task::{Queued, Task};
use crate::time::Time;

pub(crate) struct Model<'a> {
    state: &'a State,
    now: Time,
    /// Leases that hold ordinary slots.
    running: Vec<&'a Task>,
}

impl<'a> Model<'a> {
    pub(crate) fn new(state: &'a State, now: Time) -> Model<'a> {
        let running = state.tasks().filter(|task| task.lease().is_some_and(|lease| !lease.is_run_now())).collect();
        Model { state, now, running }
    }

    pub(crate) fn pick(&self, types: &[TypeName], queues: &[QueueName]) -> Option<TaskId> {
        let asked = |task: &&Task| {
            let route = task.card().route();
            types.contains(route.kind()) && (queues.is_empty() || queues.contains(route.queue()))
        };
        let waiting = || {
            self.state.tasks().filter(asked).filter_map(|task| match task {
                Task::Queued(queued) if !task.card().is_held() => Some((task, queued)),
                _ => None,
            })
        };
        let started = waiting().filter(|(_, queued)| queued.is_run_now());
        if let Some((_, id)) = started.map(|(task, queued)| (queued.since(), task.card().id())).min() {
            return Some(id);
        }
        let eligible = waiting().filter(|(task, queued)| self.may_run(task, queued));
        eligible.map(|(task, queued)| (self.order(task, queued), task.card().id())).min().map(|(_, id)| id)
    }

    /// Nothing stands before it but other tasks and the want of a worker.
    pub(crate) fn may_run(&self, task: &Task, queued: &Queued) -> bool {
        let route = task.card().route();
        let config = self.state.config(route.queue());
        let paused = self.state.queue(route.queue()).is_some_and(|queue| queue.pause().is_some());
        let tagged = config.require_tag.as_ref().is_none_or(|tag| task.card().tags().contains(tag));
        if !task.card().blocked_by().is_empty() || queued.ready_at() > self.now || paused || !tagged {
            return false;
        }
        let single = task.card().trigger().and_then(|trigger| trigger.single.as_ref());
        if single.is_some_and(|single| self.running.iter().any(|task| task.card().route().keys().contains(single))) {
            return false;
        }
        let slot = |limit: Option<u32>, taken: usize| limit.is_none_or(|limit| taken < limit as usize);
        let permit = |rate: Option<Rate>, key: Option<&(KeyName, KeyValue)>| {
            queued.is_expedited() || rate.is_none_or(|rate| self.has_permit(rate, route.queue(), key))
        };
        slot(config.concurrency, self.taken(route.queue(), None))
            && permit(config.rate, None)
            && route.keys().iter().all(|key| {
                let limit = config.keys.get(&key.0).cloned().unwrap_or_default();
                slot(limit.concurrency, self.taken(route.queue(), Some(key))) && permit(limit.rate, Some(key))
            })
    }

    /// Ordinary slots taken in the queue, or of one of its keys.
    fn taken(&self, queue: &QueueName, key: Option<&(KeyName, KeyValue)>) -> usize {
        let holds = |task: &&&Task| {
            let route = task.card().route();
            route.queue() == queue && key.is_none_or(|key| route.keys().contains(key))
        };
        self.running.iter().filter(holds).count()
    }

    fn has_permit(&self, rate: Rate, queue: &QueueName, key: Option<&(KeyName, KeyValue)>) -> bool {
        let row = self.state.permits().find(|permits| permits.key.queue == *queue && permits.key.key.as_ref() == key);
        let interval_us = (rate.per_ms as i64 * 1_000 + i64::from(rate.count) - 1) / i64::from(rate.count);
        row.is_none_or(|row| self.now.us() >= row.arrival.us() - (i64::from(rate.burst) - 1) * interval_us)
    }

    fn order(&self, task: &Task, queued: &Queued) -> i64 {
        let route = task.card().route();
        let boost = |key: Option<&(KeyName, KeyValue)>| {
            let boosts = self.state.queue(route.queue()).map(|queue| queue.boosts());
            let boost = boosts.and_then(|boosts| boosts.get(&BoostOn { key: key.cloned() }));
            boost.map_or(0, |boost| i64::from(boost.head_start_s()) * 1_000_000)
        };
        let head_start = i64::from(task.card().priority().head_start_s()) * 1_000_000;
        let boosts = boost(None) + route.keys().iter().map(|key| boost(Some(key))).sum::<i64>();
        let config = self.state.config(route.queue());
        let penalty = config.fairness.as_ref().map_or(0, |fairness| {
            let Some(key) = route.keys().iter().find(|(name, _)| *name == fairness.key) else { return 0 };
            let weight = fairness.weights.get(&key.1).copied().unwrap_or(1);
            self.taken(route.queue(), Some(key)) as i64 * fairness.step_ms as i64 * 1_000 / i64::from(weight)
        });
        queued.ready_at().us() - head_start - boosts + penalty
    }
}
