//! What becomes of an event at each of its handlers, one after the other, by the words of the design and by looking at
//! every task: dedup, drop-rate, an open window, singleton, backlog, and else a task of its own.

use super::{Model, TaskModel, interval_us, permit_at};
use kernel::event::Outcome;
use kernel::handler::{Gather, Handling, Routed, Trigger, Window};
use kernel::ids::{EventId, TaskId};
use kernel::lease::Ending;
use kernel::limits::{PAYLOAD_BYTES_MAX, WINDOW_BYTES_MAX};
use kernel::names::{EventName, HandlerName, IdempotencyKey, KeyName, KeyValue, QueueName};
use kernel::queue::BacklogFull;
use kernel::record::{CancelCause, KeyRef, TaskSpec};
use kernel::task::Status;
use kernel::time::Time;
use std::collections::BTreeSet;

/// An event as its handlers get it.
pub struct Happening<'a> {
    pub event: EventId,
    pub name: &'a EventName,
    pub happened_at: Time,
    /// Of its data.
    pub bytes: u64,
    pub envelope_bytes: u64,
    /// Handled again because somebody wants it.
    pub again: bool,
    pub now: Time,
}

/// What one handler makes of it.
#[derive(Clone, Debug)]
pub struct Plan {
    pub handler: HandlerName,
    /// The number of a task that is new is not known.
    pub outcome: Outcome,
    /// What the drop-rate's key has after it.
    pub permit: Option<(KeyRef, Time)>,
    /// Tasks that are cancelled, or asked to stop where they run.
    pub gone: Vec<(TaskId, CancelCause)>,
    pub deed: Deed,
}

#[derive(Clone, Debug)]
pub enum Deed {
    Nothing,
    Add(Box<TaskSpec>),
    Debounce { task: TaskId, newer: bool, ready_at: Time, start_by: Option<Time> },
    Batch { task: TaskId, full: bool, ready_at: Option<Time>, bytes: u64 },
}

/// A number that no task has.
pub const NEW: TaskId = TaskId::MAX;

/// What the handlers before have done.
#[derive(Default)]
struct Before {
    cancelled: BTreeSet<TaskId>,
    stopped: BTreeSet<TaskId>,
    added: Vec<QueueName>,
}

impl Model {
    pub fn plans(&self, happening: &Happening<'_>, routed: &[Routed]) -> Vec<Plan> {
        let mut before = Before::default();
        routed.iter().map(|routed| self.plan(happening, routed, &mut before)).collect()
    }

    fn plan(&self, happening: &Happening<'_>, routed: &Routed, before: &mut Before) -> Plan {
        let handler = &routed.handler;
        let nothing = |outcome, permit| Plan { handler: handler.clone(), outcome, permit, gone: Vec::new(), deed: Deed::Nothing };
        if routed.shadow {
            return nothing(Outcome::Shadow { failed: routed.handling.as_ref().err().cloned() }, None);
        }
        let handling = match &routed.handling {
            Ok(handling) => handling,
            Err(message) => return nothing(Outcome::Failed { message: message.clone() }, None),
        };
        let now = happening.now;
        if let Some(dedup) = handling.dedup.as_ref().filter(|_| !happening.again) {
            let key = (handling.queue.clone(), once_key(handler, &dedup.key));
            let youngest = self.by_idempotency_key.get(&key).and_then(|made| made.last());
            if let Some(task) = youngest.filter(|task| now < self.tasks[task].created_at.plus_ms(dedup.window_ms)) {
                return nothing(Outcome::Duplicate { task: *task }, None);
            }
        }
        let mut permit = None;
        if let Some(drop) = handling.drop_rate.as_ref().filter(|_| !happening.again) {
            let name = KeyName::parse(&format!("{handler}@drop")).expect("a name");
            let key = KeyRef::new(handling.queue.clone(), Some((name, drop.key.clone())));
            let arrival = self.arrivals.get(&key).map_or(Time::ZERO, |(_, arrival)| *arrival);
            // More than a burst is owed to no key, but to a rate that was slower.
            let owed_max = now.plus_us(interval_us(&drop.rate) * i64::from(drop.rate.burst));
            let arrival = if arrival > owed_max { now } else { arrival };
            if permit_at(&drop.rate, arrival) > now {
                return nothing(Outcome::RateDropped { key: drop.key.clone() }, None);
            }
            permit = Some((key, arrival.max(now).plus_us(interval_us(&drop.rate))));
        }
        if let Some((outcome, deed)) = self.joined(happening, handler, handling, before) {
            return Plan { deed, ..nothing(outcome, permit) };
        }
        self.alone(happening, handler, handling, before, nothing(Outcome::Queued { task: NEW }, permit))
    }

    /// Into a window that is open.
    fn joined(
        &self,
        happening: &Happening<'_>,
        handler: &HandlerName,
        handling: &Handling,
        before: &Before,
    ) -> Option<(Outcome, Deed)> {
        let now = happening.now;
        let (Gather::Debounce { key, .. } | Gather::Batch { key, .. }) = handling.gather.as_ref()?;
        let mine = |task: &&TaskModel| {
            let of = task.trigger.as_ref().is_some_and(|trigger| trigger.handler == *handler);
            of && task.window().is_some_and(|window| window.key() == key) && !before.cancelled.contains(&task.id)
        };
        let task = self.queued.iter().rev().map(|id| &self.tasks[id]).find(mine)?;
        match (handling.gather.as_ref()?, task.window()?) {
            (Gather::Debounce { period_ms, .. }, Window::Debounce { newest, until, .. }) => {
                if until.is_some_and(|until| until <= now) {
                    return None;
                }
                let newer = happening.happened_at >= *newest;
                let quiet = now.plus_ms(*period_ms);
                let fires = until.map_or(quiet, |until| until.min(quiet)).plus_ms(handling.delay_ms);
                let ready_at = if task.ready_at <= now { task.ready_at } else { fires };
                let start_by = handling.start_within_ms.map(|ms| ready_at.max(now).plus_ms(ms));
                let outcome = Outcome::Debounced { task: task.id, stale: !newer };
                Some((outcome, Deed::Debounce { task: task.id, newer, ready_at, start_by }))
            }
            (Gather::Batch { .. }, Window::Batch { size, bytes, .. }) => {
                let many = task.events.len() as u32;
                let full = many + 1 == *size;
                let ready_at = (full && handling.delay_ms > 0).then(|| now.plus_ms(handling.delay_ms));
                let added = weight(happening, handling);
                let deed = Deed::Batch { task: task.id, full, ready_at, bytes: added };
                let most = if handling.workflow.is_some() { PAYLOAD_BYTES_MAX } else { WINDOW_BYTES_MAX };
                let fits = many < *size && bytes + added <= most as u64;
                fits.then_some((Outcome::Batched { task: task.id }, deed))
            }
            _ => None,
        }
    }

    fn alone(
        &self,
        happening: &Happening<'_>,
        handler: &HandlerName,
        handling: &Handling,
        before: &mut Before,
        plan: Plan,
    ) -> Plan {
        let mut gone = Vec::new();
        let single = handling.singleton.as_ref().map(|single| {
            let name = KeyName::parse(&format!("{handler}@single")).expect("a name");
            (name, single.key.clone())
        });
        if let (Some(asked), Some(_)) = (&handling.singleton, &single) {
            let same = |id: &&TaskId| {
                let trigger = self.tasks[id].trigger.as_ref();
                trigger.is_some_and(|trigger| trigger.single == single) && !before.cancelled.contains(id)
            };
            let live: BTreeSet<TaskId> = self.queued.iter().chain(&self.running).filter(same).copied().collect();
            match live.first() {
                Some(task) if !asked.replace => return Plan { outcome: Outcome::Skipped { task: *task }, ..plan },
                _ => gone.extend(live.into_iter().map(|task| (task, CancelCause::Replaced))),
            }
        }
        let config = self.config(&handling.queue);
        if let Some(max) = config.backlog_max {
            let leaves = |id: &TaskId| before.cancelled.contains(id) || gone.iter().any(|(gone, _)| gone == id);
            let waiting: Vec<TaskId> = self.of_queue(&handling.queue).map(|task| task.id).filter(|id| !leaves(id)).collect();
            let added = before.added.iter().filter(|queue| **queue == handling.queue).count();
            if waiting.len() + added >= max as usize {
                // What belongs to a run, passes pauses or was started by hand does not make way.
                let may_go = |id: &&TaskId| {
                    let task = &self.tasks[id];
                    task.node.is_none() && !task.is_critical() && !task.run_now
                };
                match waiting.iter().find(may_go).filter(|_| config.backlog_full == BacklogFull::DropOldest) {
                    Some(oldest) => gone.push((*oldest, CancelCause::Shed)),
                    None => return Plan { outcome: Outcome::BacklogDropped { max }, ..plan },
                }
            }
        }
        before.added.push(handling.queue.clone());
        gone.retain(|(id, _)| self.goes(*id, before));
        let spec = spec(happening, handler, handling, single);
        Plan { gone, deed: Deed::Add(Box::new(spec)), ..plan }
    }

    /// Whether this is the first that it hears of it; from now on it is known.
    fn goes(&self, id: TaskId, before: &mut Before) -> bool {
        let task = &self.tasks[&id];
        match task.status {
            Status::Queued => before.cancelled.insert(id),
            _ => {
                let asked = task.lease.as_ref().is_some_and(|lease| matches!(lease.ending, Some(Ending::Cancel { .. })));
                before.stopped.insert(id) && !asked
            }
        }
    }
}

/// What a batch grows by: a run is begun with all that is handed over.
fn weight(happening: &Happening<'_>, handling: &Handling) -> u64 {
    let whole = handling.whole && handling.workflow.is_some();
    happening.bytes + if whole { happening.envelope_bytes } else { 0 }
}

fn once_key(handler: &HandlerName, key: &KeyValue) -> IdempotencyKey {
    IdempotencyKey::parse(&format!("{handler}/{key}")).expect("a key")
}

/// The task that it is made into.
fn spec(happening: &Happening<'_>, handler: &HandlerName, handling: &Handling, single: Option<(KeyName, KeyValue)>) -> TaskSpec {
    let now = happening.now;
    let (wait_ms, window) = match &handling.gather {
        None => (0, None),
        Some(Gather::Debounce { key, period_ms, max_wait_ms }) => {
            let until = max_wait_ms.map(|ms| now.plus_ms(ms));
            let window = Window::Debounce { key: key.clone(), newest: happening.happened_at, until, events: 1 };
            ((*period_ms).min(max_wait_ms.unwrap_or(u64::MAX)), Some(window))
        }
        Some(Gather::Batch { key, size, timeout_ms }) => {
            let window = Window::Batch { key: key.clone(), size: *size, events: 1, bytes: weight(happening, handling) };
            (if *size == 1 { 0 } else { *timeout_ms }, Some(window))
        }
    };
    let ready_at = now.plus_ms(wait_ms + handling.delay_ms);
    let trigger = Trigger {
        event: happening.event,
        name: happening.name.clone(),
        handler: handler.clone(),
        workflow: handling.workflow.clone(),
        whole: handling.whole,
        critical: handling.critical,
        single,
        window,
        closed: false,
        dedup_until: handling.dedup.as_ref().map(|dedup| now.plus_ms(dedup.window_ms)),
    };
    TaskSpec {
        priority: handling.priority,
        keys: handling.keys.clone(),
        tags: handling.tags.clone(),
        scheduled_for: (ready_at > now).then_some(ready_at),
        idempotency_key: handling.dedup.as_ref().map(|dedup| once_key(handler, &dedup.key)),
        retry: handling.retry,
        budget_ms: handling.budget_ms,
        start_by: handling.start_within_ms.map(|ms| ready_at.plus_ms(ms)),
        trigger: Some(Box::new(trigger)),
        ..TaskSpec::new(handling.queue.clone(), handling.kind.clone())
    }
}
