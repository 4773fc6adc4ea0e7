//! What becomes of one event at each of its handlers, before anything of it is written. What the plans for one event would
//! do to one another is counted here: their tasks may go to the same queue.

use crate::decide::backlog;
use crate::event::{EventSpec, Outcome};
use crate::handler::{DROP_KEY, DropRate, Gather, Handling, Routed, SINGLE_KEY, Singleton, Trigger, Window, dedup_key};
use crate::ids::{EventId, TaskId};
use crate::limits::{PAYLOAD_BYTES_MAX, WINDOW_BYTES_MAX};
use crate::names::{HandlerName, KeyName, KeyValue, QueueName};
use crate::owner::KeyRef;
use crate::queue::BacklogFull;
use crate::record::{CancelCause, TaskSpec};
use crate::state::State;
use crate::step::Step;
use crate::task::Task;
use crate::time::Time;

/// What is written for it.
pub(super) struct Planned {
    pub permit: Option<(KeyRef, Time)>,
    /// Tasks that make way.
    pub gone: Vec<(TaskId, CancelCause, &'static str)>,
    pub deed: Deed,
}

pub(super) enum Deed {
    Nothing,
    Add(TaskId, Box<TaskSpec>),
    Debounce { task: TaskId, newer: bool, ready_at: Time, start_by: Option<Time> },
    Batch { task: TaskId, full: bool, ready_at: Option<Time>, bytes: u64 },
}

pub(super) struct Planner<'a> {
    event: EventId,
    spec: &'a EventSpec,
    happened_at: Time,
    /// Of its data.
    bytes: u64,
    /// Handled again because somebody wants it: that it came before is no reason not to.
    again: bool,
    /// Tasks that this event adds to a queue, and those that make way there.
    entering: Vec<QueueName>,
    leaving: Vec<(QueueName, TaskId)>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(event: EventId, spec: &'a EventSpec, happened_at: Time, bytes: u64, again: bool) -> Planner<'a> {
        Planner { event, spec, happened_at, bytes, again, entering: Vec::new(), leaving: Vec::new() }
    }

    pub(super) fn plan(&mut self, step: &mut Step<'_>, routed: &Routed) -> (Outcome, Option<Planned>) {
        if routed.shadow {
            return (Outcome::Shadow { failed: routed.handling.as_ref().err().cloned() }, None);
        }
        let handling = match &routed.handling {
            Ok(handling) => &**handling,
            Err(message) => return (Outcome::Failed { message: message.clone() }, None),
        };
        let (handler, now) = (&routed.handler, step.now());
        if let Some(dedup) = handling.dedup.as_ref().filter(|_| !self.again && !crate::defect("dedup_ignored")) {
            let key = dedup_key(handler, dedup);
            if let Some(task) = step.state().made_within(&handling.queue, &key, dedup.window_ms, now) {
                return (Outcome::Duplicate { task }, None);
            }
        }
        let permit = match handling.drop_rate.as_ref().filter(|_| !self.again) {
            Some(drop) => match permit(step.state(), handler, &handling.queue, drop, now) {
                None => return (Outcome::RateDropped { key: drop.key.clone() }, None),
                taken => taken,
            },
            None => None,
        };
        let (outcome, gone, deed) = self.gather(step, handler, handling);
        (outcome, Some(Planned { permit, gone, deed }))
    }

    /// Into a window that is open, or a task of its own.
    fn gather(&mut self, step: &mut Step<'_>, handler: &HandlerName, handling: &Handling) -> (Outcome, Gone, Deed) {
        let now = step.now();
        let open = |key: &KeyValue| {
            let task = step.state().open_window(handler, key, |task| !self.is_leaving(task))?;
            match step.state().task(task) {
                Some(Task::Queued(queued)) => Some((task, queued.clone())),
                _ => None,
            }
        };
        match &handling.gather {
            Some(Gather::Debounce { key, period_ms, .. }) => {
                if let Some((task, queued)) = open(key)
                    && let Some(Window::Debounce { newest, until, .. }) = queued.window()
                    && until.is_none_or(|until| now < until || crate::defect("max_wait_ignored"))
                {
                    let newer = self.happened_at >= *newest || crate::defect("older_overwrites");
                    // One whose hour has come keeps its place; it takes the newest along.
                    let ready_at = match queued.ready_at() {
                        ready_at if ready_at <= now => ready_at,
                        _ => {
                            let quiet = now.plus_ms(*period_ms);
                            until.map_or(quiet, |until| until.min(quiet)).plus_ms(handling.delay_ms)
                        }
                    };
                    // What has just come has all of its time.
                    let start_by = handling.start_within_ms.map(|ms| ready_at.max(now).plus_ms(ms));
                    let outcome = Outcome::Debounced { task, stale: !newer };
                    return (outcome, Vec::new(), Deed::Debounce { task, newer, ready_at, start_by });
                }
            }
            Some(Gather::Batch { key, .. }) => {
                if let Some((task, queued)) = open(key)
                    && let Some(Window::Batch { size, events, bytes, .. }) = queued.window()
                    && *events < *size
                    && bytes.saturating_add(self.weight(handling)) <= bytes_max(handling)
                {
                    let full = *events + 1 >= *size;
                    let ready_at = Some(handling.delay_ms).filter(|ms| full && *ms > 0).map(|ms| now.plus_ms(ms));
                    let deed = Deed::Batch { task, full, ready_at, bytes: self.weight(handling) };
                    return (Outcome::Batched { task }, Vec::new(), deed);
                }
            }
            None => {}
        }
        self.add(step, handler, handling)
    }

    /// What it adds to a batch. A run is begun with all of it, so of an event that it gets whole more counts than its data.
    fn weight(&self, handling: &Handling) -> u64 {
        let whole = handling.workflow.is_some() && handling.whole;
        self.bytes + if whole { self.spec.envelope_bytes() } else { 0 }
    }

    fn add(&mut self, step: &mut Step<'_>, handler: &HandlerName, handling: &Handling) -> (Outcome, Gone, Deed) {
        let mut gone = Vec::new();
        let single = handling.singleton.as_ref().map(|singleton| single_key(handler, singleton));
        if let (Some(Singleton { replace, .. }), Some((name, value))) = (&handling.singleton, &single)
            && !crate::defect("singleton_ignored")
        {
            let waits = |task: &TaskId| matches!(step.state().task(*task), Some(Task::Queued(_)));
            let mut live = step.state().singles(name, value);
            live.retain(|task| !(self.is_leaving(*task) && waits(task)));
            match (replace, live.first()) {
                (_, None) => {}
                (false, Some(task)) => return (Outcome::Skipped { task: *task }, gone, Deed::Nothing),
                (true, Some(_)) => gone.extend(live.into_iter().map(|task| (task, CancelCause::Replaced, REPLACED))),
            }
        }
        if let Some(max) = self.is_full(step.state(), &handling.queue, &gone) {
            let config = step.state().config(&handling.queue);
            let oldest = self.oldest(step.state(), &handling.queue, &gone);
            match (config.backlog_full, oldest) {
                (BacklogFull::DropOldest, Some(oldest)) => gone.push((oldest, CancelCause::Shed, backlog::SHED)),
                _ => return (Outcome::BacklogDropped { max }, Vec::new(), Deed::Nothing),
            }
        }
        self.entering.push(handling.queue.clone());
        self.leaving.extend(gone.iter().map(|(task, ..)| (handling.queue.clone(), *task)));
        let task = step.new_task();
        let spec = self.spec_of(handler, handling, single, step.now());
        (Outcome::Queued { task }, gone, Deed::Add(task, Box::new(spec)))
    }

    /// It makes way for another task of the same event.
    fn is_leaving(&self, task: TaskId) -> bool {
        self.leaving.iter().any(|(_, leaving)| *leaving == task)
    }

    /// The bound of a queue that has no room.
    fn is_full(&self, state: &State, queue: &QueueName, gone: &Gone) -> Option<u32> {
        let max = state.queue(queue)?.config().backlog_max?;
        let waits =
            |task: &TaskId| matches!(state.task(*task), Some(Task::Queued(queued)) if queued.card().route().queue() == queue);
        let leaving = self.leaving.iter().filter(|(of, _)| of == queue).map(|(_, task)| task);
        let leaving = leaving.chain(gone.iter().map(|(task, ..)| task)).filter(|task| waits(task)).count();
        let entering = self.entering.iter().filter(|of| *of == queue).count();
        (state.backlog(queue) + entering >= max as usize + leaving).then_some(max)
    }

    /// The one that came first of those that wait there.
    fn oldest(&self, state: &State, queue: &QueueName, gone: &Gone) -> Option<TaskId> {
        let goes = |task: &TaskId| gone.iter().any(|(gone, ..)| gone == task) || self.is_leaving(*task);
        backlog::oldest(state, queue).find(|task| !goes(task))
    }

    fn spec_of(&self, handler: &HandlerName, handling: &Handling, single: Option<(KeyName, KeyValue)>, now: Time) -> TaskSpec {
        let (window, wait_ms) = match &handling.gather {
            None => (None, 0),
            Some(Gather::Debounce { key, period_ms, max_wait_ms }) => {
                let until = max_wait_ms.map(|ms| now.plus_ms(ms));
                let wait_ms = max_wait_ms.map_or(*period_ms, |max| max.min(*period_ms));
                (Some(Window::Debounce { key: key.clone(), newest: self.happened_at, until, events: 1 }), wait_ms)
            }
            Some(Gather::Batch { key, size, timeout_ms }) => {
                let wait_ms = if *size > 1 { *timeout_ms } else { 0 };
                (Some(Window::Batch { key: key.clone(), size: *size, events: 1, bytes: self.weight(handling) }), wait_ms)
            }
        };
        let wait_ms = wait_ms + handling.delay_ms;
        let scheduled_for = (wait_ms > 0).then(|| now.plus_ms(wait_ms));
        let trigger = Trigger {
            event: self.event,
            name: self.spec.name.clone(),
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
            scheduled_for,
            idempotency_key: handling.dedup.as_ref().map(|dedup| dedup_key(handler, dedup)),
            retry: handling.retry,
            budget_ms: handling.budget_ms,
            start_by: handling.start_within_ms.map(|ms| now.plus_ms(wait_ms).plus_ms(ms)),
            trigger: Some(Box::new(trigger)),
            ..TaskSpec::new(handling.queue.clone(), handling.kind.clone())
        }
    }
}

/// What a batch may hold: as much as may be handed over at once, and of what a run begins with no more than of any run.
fn bytes_max(handling: &Handling) -> u64 {
    let most = if handling.workflow.is_some() { PAYLOAD_BYTES_MAX } else { WINDOW_BYTES_MAX };
    most as u64
}

type Gone = Vec<(TaskId, CancelCause, &'static str)>;

const REPLACED: &str = "a newer event took its place";

/// The key by which a handler's tasks are told apart that there may be one of.
fn single_key(handler: &HandlerName, singleton: &Singleton) -> (KeyName, KeyValue) {
    let name = KeyName::parse(&format!("{handler}{SINGLE_KEY}")).expect("a handler's name is short");
    (name, singleton.key.clone())
}

/// The next permit, if there is one now.
fn permit(state: &State, handler: &HandlerName, queue: &QueueName, drop: &DropRate, now: Time) -> Option<(KeyRef, Time)> {
    let name = KeyName::parse(&format!("{handler}{DROP_KEY}")).expect("a handler's name is short");
    let key = KeyRef::new(queue.clone(), Some((name, drop.key.clone())));
    let arrival = state.permits.get(&key).map_or(Time::ZERO, |permits| permits.arrival);
    // A changed rate acts at once: what is owed to a slower one is forgiven.
    let arrival = if arrival > drop.rate.arrival_max(now) { now } else { arrival };
    let open = drop.rate.permits_at(arrival, now) > 0 || crate::defect("drop_rate_ignored");
    open.then(|| (key, drop.rate.take(arrival, now)))
}
