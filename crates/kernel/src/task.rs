//! The task machine. Each state is a type with private fields; the one way to a `Done` is to give up a `Running`.
//! [`Task::fold`] is the table below as code. Everything that is not a status is a field of its own.
//!
//! | from | may become | by |
//! |---|---|---|
//! | – | idle, queued | `TaskAdded` |
//! | idle | queued | `TaskQueued` |
//! | idle | running | `TaskLeased` (run-now) |
//! | queued | running | `TaskLeased` |
//! | queued | cancelled | `TaskCancelled` |
//! | queued | idle | `TaskReset` |
//! | running | done, failed, cancelled | `TaskDone`, `TaskFailed`, `TaskCancelled` |
//! | running | queued | `TaskRetried` (next attempt), `TaskReleased` (same attempt) |
//! | queued, not yet tried | queued, with another event | `TaskDebounced`, `TaskBatched` |
//! | running | running, held by a run | `TaskHandedOver` |
//! | done | idle | `TaskReset` |
//! | failed, cancelled | idle, queued | `TaskReset`, `TaskQueued` |
//! | any but running | – | `TaskDeleted` |
//!
//! A task of a run is held while that is paused (`TaskHeld`, `TaskLetGo`): queued, it is in no lane; running, it will not be
//! when it comes back. Nothing else about it changes.

use crate::handler::{Trigger, Window};
use crate::hold::Hold;
use crate::ids::{Fence, RecordSeq, RunId, TaskId};
use crate::lease::{Ending, Lease};
use crate::names::{Actor, IdempotencyKey, Tag};
use crate::priority::Priority;
use crate::record::{CancelCause, Entry, Failure, RELEASED_DIGEST, Record, ReleaseCause, TaskSpec};
use crate::retry::RetryPolicy;
use crate::route::Route;
use crate::run::NodeAt;
use crate::time::Time;
use std::fmt;
use std::sync::Arc;

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Status {
    Idle,
    Queued,
    Running,
    Done,
    Failed,
    Cancelled,
}

impl Status {
    pub const ALL: [Status; 6] = [Status::Idle, Status::Queued, Status::Running, Status::Done, Status::Failed, Status::Cancelled];

    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Idle => "idle",
            Status::Queued => "queued",
            Status::Running => "running",
            Status::Done => "done",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
        }
    }

    pub fn parse(text: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.as_str() == text)
    }

    /// Finished tasks live in the store alone.
    pub const fn is_finished(self) -> bool {
        matches!(self, Status::Done | Status::Failed | Status::Cancelled)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is true of a task in every state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Card {
    pub(crate) id: TaskId,
    pub(crate) last: RecordSeq,
    pub(crate) route: Arc<Route>,
    pub(crate) created_at: Time,
    /// The record whose payload is the input.
    pub(crate) input: RecordSeq,
    /// The last outcome that counted, to recognise it when it is sent again.
    pub(crate) settled: Settled,
    pub(crate) priority: Priority,
    /// Attempts begun.
    pub(crate) attempt: u16,
    pub(crate) more: Option<Box<More>>,
}

/// `fence` 0: nothing was settled yet.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Settled {
    pub(crate) fence: RecordSeq,
    pub(crate) digest: u64,
}

/// What few tasks have.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct More {
    pub(crate) tags: Box<[Tag]>,
    pub(crate) blocked_by: Vec<TaskId>,
    /// Kept while idle; once queued, `ready_at` says it.
    pub(crate) scheduled_for: Option<Time>,
    pub(crate) idempotency_key: Option<IdempotencyKey>,
    pub(crate) retry: Option<RetryPolicy>,
    pub(crate) budget_ms: Option<u64>,
    /// Of the last attempt that did not succeed.
    pub(crate) failure: Option<Failure>,
    /// The node of a run that it is the work of.
    pub(crate) node: Option<Box<NodeAt>>,
    pub(crate) generation: u32,
    /// By the pauses of that run, until it has ended.
    pub(crate) hold: Hold,
    /// Cancelled unless it starts before this.
    pub(crate) start_by: Option<Time>,
    /// What it was made of.
    pub(crate) trigger: Option<Box<Trigger>>,
}

impl Card {
    fn new(id: TaskId, entry: &Entry, spec: &TaskSpec, route: Arc<Route>) -> Card {
        let more = More {
            tags: spec.tags.clone().into(),
            blocked_by: spec.blocked_by.clone(),
            scheduled_for: if spec.idle { spec.scheduled_for } else { None },
            idempotency_key: spec.idempotency_key.clone(),
            retry: spec.retry,
            budget_ms: spec.budget_ms,
            failure: None,
            node: spec.node.clone(),
            generation: spec.generation,
            hold: Hold::default(),
            start_by: spec.start_by,
            trigger: spec.trigger.clone(),
        };
        Card {
            id,
            last: entry.seq,
            route,
            created_at: entry.at,
            input: spec.input.unwrap_or(entry.seq),
            settled: Settled::default(),
            priority: spec.priority,
            attempt: 0,
            more: Card::boxed(more),
        }
    }

    /// Nothing special costs nothing; equal cards are equal however they came about.
    pub(crate) fn boxed(more: More) -> Option<Box<More>> {
        (more != More::default()).then(|| Box::new(more))
    }

    fn change(&mut self, change: impl FnOnce(&mut More)) {
        let mut more = self.more.take().map(|more| *more).unwrap_or_default();
        change(&mut more);
        self.more = Card::boxed(more);
    }

    fn set_blockers(&mut self, blocked_by: Vec<TaskId>) {
        if !blocked_by.is_empty() || self.more.is_some() {
            self.change(|more| more.blocked_by = blocked_by);
        }
    }

    fn clear_start_by(&mut self) {
        if self.start_by().is_some() {
            self.change(|more| more.start_by = None);
        }
    }

    fn clear_failure(&mut self) {
        if self.more.as_ref().is_some_and(|more| more.failure.is_some()) {
            self.change(|more| more.failure = None);
        }
    }

    fn set_hold(&mut self, hold: Hold) {
        if self.hold() != hold {
            self.change(|more| more.hold = hold);
        }
    }

    fn settle(&mut self, fence: Fence, digest: u64) {
        self.settled = Settled { fence: fence.0, digest };
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Idle {
    card: Card,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Queued {
    card: Card,
    since: Time,
    ready_at: Time,
    run_now: bool,
    expedited: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Running {
    card: Card,
    lease: Box<Lease>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Done {
    card: Card,
    at: Time,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failed {
    card: Card,
    at: Time,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cancelled {
    card: Card,
    at: Time,
    pub(crate) why: Box<(CancelCause, Actor, String)>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Task {
    Idle(Idle),
    Queued(Queued),
    Running(Running),
    Done(Done),
    Failed(Failed),
    Cancelled(Cancelled),
}

impl Task {
    /// The task after one more of its records: the table on the first screen, row by row. An edge that is not here
    /// cannot be written; a record that finds another state than its own is a broken history and stops the process.
    pub fn fold(task: Option<Task>, id: TaskId, entry: &Entry, route: impl FnOnce(&TaskSpec) -> Arc<Route>) -> Option<Task> {
        let mut next = match (task, &entry.record) {
            (None, Record::TaskAdded { spec }) => Task::added(Card::new(id, entry, spec, route(spec)), spec, entry.at),
            (None, Record::TaskDeleted { .. }) => return None,
            (None, record) => panic!("{id}: {} before it was added", record.kind()),
            (Some(task), record) => match (task, record) {
                (Task::Idle(idle), Record::TaskQueued { ready_at, run_now, .. }) => {
                    Task::Queued(idle.card.queue(entry.at, *ready_at, *run_now))
                }
                (Task::Failed(failed), Record::TaskQueued { ready_at, run_now, .. }) => {
                    Task::Queued(failed.card.queue(entry.at, *ready_at, *run_now))
                }
                (Task::Cancelled(cancelled), Record::TaskQueued { ready_at, run_now, .. }) => {
                    Task::Queued(cancelled.card.queue(entry.at, *ready_at, *run_now))
                }
                (Task::Queued(queued), Record::TaskRunNow { .. }) => Task::Queued(queued.run_now()),
                (Task::Queued(queued), Record::TaskExpedited { .. }) => Task::Queued(queued.expedite(entry.at)),
                (Task::Queued(queued), Record::TaskUnblocked { blocker }) => Task::Queued(queued.unblock(*blocker, entry.at)),
                (Task::Idle(idle), Record::TaskUnblocked { blocker }) => Task::Idle(idle.unblock(*blocker)),
                (Task::Queued(queued), Record::TaskBlockersChanged { blocked_by, .. }) => {
                    Task::Queued(queued.block(blocked_by.clone(), entry.at))
                }
                (Task::Idle(idle), Record::TaskBlockersChanged { blocked_by, .. }) => Task::Idle(idle.block(blocked_by.clone())),
                (Task::Queued(queued), Record::TaskReprioritized { priority, .. }) => {
                    Task::Queued(queued.reprioritize(*priority))
                }
                (Task::Idle(idle), Record::TaskReprioritized { priority, .. }) => Task::Idle(idle.reprioritize(*priority)),

                (Task::Queued(queued), Record::TaskLeased { .. }) => Task::Running(queued.lease(entry)),
                (Task::Idle(idle), Record::TaskLeased { .. }) => Task::Running(idle.lease(entry)),

                (Task::Queued(queued), record @ (Record::TaskDebounced { .. } | Record::TaskBatched { .. })) => {
                    Task::Queued(queued.gather(record, entry.at))
                }
                (Task::Running(running), Record::TaskHandedOver { run }) => Task::Running(running.hand_over(*run)),

                (Task::Running(running), Record::TaskCancelRequested { by, reason }) => {
                    Task::Running(running.end(Ending::Cancel { by: by.clone(), reason: reason.clone() }))
                }
                (Task::Running(running), Record::TaskTimedOut {}) => Task::Running(running.end(Ending::TimedOut)),
                (mut task @ (Task::Queued(_) | Task::Running(_)), Record::TaskHeld { pause }) => {
                    task.card_mut().set_hold(Hold { pause: *pause, held: true });
                    task
                }
                (mut task @ (Task::Queued(_) | Task::Running(_)), Record::TaskLetGo { pause }) => {
                    task.let_go(*pause, entry.at);
                    task
                }
                (Task::Running(running), Record::TaskReleased { cause }) => Task::Queued(running.release(entry.at, *cause)),
                (Task::Running(running), Record::TaskRetried { failure, retry_at, digest }) => {
                    Task::Queued(running.retry(entry.at, failure, *retry_at, *digest))
                }
                (Task::Running(running), Record::TaskDone { digest }) => Task::Done(running.complete(entry.at, *digest)),
                (Task::Running(running), Record::TaskFailed { failure, digest }) => {
                    Task::Failed(running.fail(entry.at, failure, *digest))
                }
                (Task::Running(running), Record::TaskCancelled { cause, by, reason, digest }) => {
                    Task::Cancelled(running.cancel(entry.at, Box::new((*cause, by.clone(), reason.clone())), *digest))
                }
                (Task::Queued(queued), Record::TaskCancelled { cause, by, reason, .. }) => Task::Cancelled(Cancelled {
                    card: queued.card,
                    at: entry.at,
                    why: Box::new((*cause, by.clone(), reason.clone())),
                }),

                (Task::Queued(queued), Record::TaskReset { .. }) => Task::Idle(queued.card.idle()),
                (Task::Done(done), Record::TaskReset { .. }) => Task::Idle(done.card.idle()),
                (Task::Failed(failed), Record::TaskReset { .. }) => Task::Idle(failed.card.idle()),
                (Task::Cancelled(cancelled), Record::TaskReset { .. }) => Task::Idle(cancelled.card.idle()),

                (Task::Running(_), Record::TaskDeleted { .. }) => panic!("{id}: deleted while running"),
                (_, Record::TaskDeleted { .. }) => return None,
                (task, record) => panic!("{id}: {} on a task that is {}", record.kind(), task.status()),
            },
        };
        next.card_mut().last = entry.seq;
        if !matches!(next, Task::Queued(_) | Task::Running(_)) {
            next.card_mut().set_hold(Hold::default());
        }
        Some(next)
    }

    /// Its run goes on: from now on it is for want of a worker that it waits. Its place in the order is the same.
    fn let_go(&mut self, pause: u32, at: Time) {
        if let Task::Queued(queued) = self
            && queued.card.is_held()
        {
            queued.since = at;
            if crate::defect("let_go_to_the_end") {
                queued.ready_at = at;
            }
        }
        self.card_mut().set_hold(Hold { pause, held: false });
    }

    fn added(card: Card, spec: &TaskSpec, at: Time) -> Task {
        if spec.idle {
            return Task::Idle(Idle { card });
        }
        let ready_at = spec.scheduled_for.map_or(at, |scheduled| scheduled.max(at));
        Task::Queued(Queued { card, since: at, ready_at, run_now: false, expedited: false })
    }
}

impl Card {
    /// Into the queue from outside: attempts start over.
    fn queue(mut self, at: Time, ready_at: Time, run_now: bool) -> Queued {
        self.attempt = 0;
        if self.more.is_some() {
            self.change(|more| {
                more.start_by = None;
                more.failure = None;
                more.scheduled_for = None;
                if run_now {
                    more.blocked_by.clear();
                }
            });
        }
        Queued { card: self, since: at, ready_at, run_now, expedited: false }
    }

    fn idle(mut self) -> Idle {
        self.attempt = 0;
        self.clear_failure();
        Idle { card: self }
    }

    fn leased(mut self, entry: &Entry, ready_at: Time, expedited: bool) -> Running {
        let Record::TaskLeased { worker, attempt, heartbeat_ms, budget_until, run_now } = &entry.record else {
            unreachable!("only a lease leases")
        };
        self.attempt = *attempt;
        // It has started: what comes back may go again whenever it can.
        self.clear_start_by();
        if self.trigger().is_some_and(|trigger| trigger.window.is_some() && !trigger.closed) {
            self.change(|more| more.trigger.iter_mut().for_each(|trigger| trigger.closed = true));
        }
        let lease = Lease {
            fence: Fence(entry.seq),
            worker: worker.clone(),
            since: entry.at,
            heartbeat_ms: *heartbeat_ms,
            budget_until: *budget_until,
            run_now: *run_now,
            ready_at,
            expedited,
            ending: None,
            run: None,
        };
        Running { card: self, lease: Box::new(lease) }
    }
}

impl Idle {
    fn unblock(mut self, blocker: TaskId) -> Idle {
        self.card.change(|more| more.blocked_by.retain(|by| *by != blocker));
        self
    }

    fn block(mut self, blocked_by: Vec<TaskId>) -> Idle {
        self.card.set_blockers(blocked_by);
        self
    }

    fn reprioritize(mut self, priority: Priority) -> Idle {
        self.card.priority = priority;
        self
    }

    fn lease(mut self, entry: &Entry) -> Running {
        if self.card.more.is_some() {
            self.card.change(|more| {
                more.blocked_by.clear();
                more.scheduled_for = None;
            });
        }
        self.card.leased(entry, entry.at, false)
    }
}

impl Queued {
    fn run_now(mut self) -> Queued {
        self.run_now = true;
        self.card.set_blockers(Vec::new());
        self
    }

    fn expedite(mut self, at: Time) -> Queued {
        self.expedited = true;
        self.ready_at = self.ready_at.min(at);
        self
    }

    fn unblock(mut self, blocker: TaskId, at: Time) -> Queued {
        self.card.change(|more| more.blocked_by.retain(|by| *by != blocker));
        if self.card.blocked_by().is_empty() {
            self.ready_at = self.ready_at.max(at);
        }
        self
    }

    fn block(mut self, blocked_by: Vec<TaskId>, at: Time) -> Queued {
        if blocked_by.is_empty() {
            self.ready_at = self.ready_at.max(at);
        }
        self.card.set_blockers(blocked_by);
        self
    }

    fn reprioritize(mut self, priority: Priority) -> Queued {
        self.card.priority = priority;
        self
    }

    /// One more event came into its window.
    fn gather(mut self, record: &Record, at: Time) -> Queued {
        let mut trigger = self.card.more.as_ref().and_then(|more| more.trigger.clone()).expect("only a window gathers events");
        let start_by = match (record, &mut trigger.window) {
            (Record::TaskDebounced { event, name, newer, ready_at, start_by }, Some(Window::Debounce { newest, events, .. })) => {
                *events = events.saturating_add(1);
                if let Some(newer) = newer {
                    *newest = newer.happened_at;
                    (trigger.event, trigger.name) = (*event, name.clone());
                    self.card.input = newer.input;
                }
                self.ready_at = *ready_at;
                *start_by
            }
            (Record::TaskBatched { event, name, full, ready_at, bytes, .. }, Some(Window::Batch { events, bytes: all, .. })) => {
                *events += 1;
                *all += bytes;
                (trigger.event, trigger.name) = (*event, name.clone());
                if *full {
                    self.ready_at = self.ready_at.min(ready_at.unwrap_or(at));
                }
                self.card.more.as_ref().and_then(|more| more.start_by)
            }
            (record, _) => panic!("{}: {} in a window of another kind", self.card.id, record.kind()),
        };
        // It goes by the newest of them.
        let family = trigger.name.family();
        if self.card.route.family() != Some(&family) {
            self.card.route = Arc::new(self.card.route.in_family(family));
        }
        self.card.change(|more| {
            more.trigger = Some(trigger);
            more.start_by = start_by;
        });
        self
    }

    /// More events may come into it: it waits, and was never leased.
    pub fn window(&self) -> Option<&Window> {
        self.card.trigger().filter(|trigger| !trigger.closed).and_then(|trigger| trigger.window.as_ref())
    }

    fn lease(mut self, entry: &Entry) -> Running {
        self.card.set_blockers(Vec::new());
        self.card.leased(entry, self.ready_at, self.expedited)
    }

    pub fn card(&self) -> &Card {
        &self.card
    }

    pub fn since(&self) -> Time {
        self.since
    }

    pub fn ready_at(&self) -> Time {
        self.ready_at
    }

    /// Held an override slot before any worker came.
    pub fn is_run_now(&self) -> bool {
        self.run_now
    }

    pub fn is_expedited(&self) -> bool {
        self.expedited
    }

    /// Lower goes first: the instant it became ready, less its head start.
    pub fn order(&self) -> i64 {
        self.ready_at.us() - self.card.priority.head_start_us()
    }
}

impl Running {
    pub fn lease(&self) -> &Lease {
        &self.lease
    }

    fn hand_over(mut self, run: RunId) -> Running {
        self.lease.run = Some(run);
        self
    }

    fn end(mut self, ending: Ending) -> Running {
        self.lease.ending = Some(ending);
        self
    }

    fn release(mut self, at: Time, cause: ReleaseCause) -> Queued {
        if cause == ReleaseCause::Worker {
            self.card.settle(self.lease.fence, RELEASED_DIGEST);
        }
        let unburnt = if crate::defect("release_burns") { 0 } else { 1 };
        self.card.attempt = self.card.attempt.saturating_sub(unburnt);
        let Lease { ready_at, run_now, expedited, .. } = *self.lease;
        Queued { card: self.card, since: at, ready_at, run_now, expedited }
    }

    fn retry(mut self, at: Time, failure: &Failure, retry_at: Time, digest: u64) -> Queued {
        self.card.settle(self.lease.fence, digest);
        self.card.change(|more| more.failure = Some(failure.clone()));
        Queued { card: self.card, since: at, ready_at: retry_at, run_now: false, expedited: false }
    }

    fn complete(mut self, at: Time, digest: u64) -> Done {
        self.card.settle(self.lease.fence, digest);
        self.card.clear_failure();
        Done { card: self.card, at }
    }

    fn fail(mut self, at: Time, failure: &Failure, digest: u64) -> Failed {
        self.card.settle(self.lease.fence, digest);
        self.card.change(|more| more.failure = Some(failure.clone()));
        Failed { card: self.card, at }
    }

    fn cancel(mut self, at: Time, why: Box<(CancelCause, Actor, String)>, digest: Option<u64>) -> Cancelled {
        if let Some(digest) = digest {
            self.card.settle(self.lease.fence, digest);
        }
        Cancelled { card: self.card, at, why }
    }
}

impl Done {
    /// The record whose payload is the output: a done task's last.
    pub fn output(&self) -> RecordSeq {
        self.card.last
    }
}

impl Card {
    pub fn id(&self) -> TaskId {
        self.id
    }

    pub fn last(&self) -> RecordSeq {
        self.last
    }

    pub fn route(&self) -> &Arc<Route> {
        &self.route
    }

    pub fn created_at(&self) -> Time {
        self.created_at
    }

    pub fn input(&self) -> RecordSeq {
        self.input
    }

    pub fn priority(&self) -> Priority {
        self.priority
    }

    pub fn attempt(&self) -> u16 {
        self.attempt
    }

    pub fn tags(&self) -> &[Tag] {
        self.more.as_ref().map_or(&[], |more| &more.tags)
    }

    pub fn blocked_by(&self) -> &[TaskId] {
        self.more.as_ref().map_or(&[], |more| &more.blocked_by)
    }

    pub fn scheduled_for(&self) -> Option<Time> {
        self.more.as_ref().and_then(|more| more.scheduled_for)
    }

    pub fn idempotency_key(&self) -> Option<&IdempotencyKey> {
        self.more.as_ref().and_then(|more| more.idempotency_key.as_ref())
    }

    pub fn retry(&self) -> Option<RetryPolicy> {
        self.more.as_ref().and_then(|more| more.retry)
    }

    pub fn budget_ms(&self) -> Option<u64> {
        self.more.as_ref().and_then(|more| more.budget_ms)
    }

    pub fn generation(&self) -> u32 {
        self.more.as_ref().map_or(0, |more| more.generation)
    }

    /// The node of a run that it is the work of.
    pub fn node(&self) -> Option<&NodeAt> {
        self.more.as_ref().and_then(|more| more.node.as_deref())
    }

    /// Cancelled unless it starts before this.
    pub fn start_by(&self) -> Option<Time> {
        self.more.as_ref().and_then(|more| more.start_by)
    }

    /// What it was made of.
    pub fn trigger(&self) -> Option<&Trigger> {
        self.more.as_ref().and_then(|more| more.trigger.as_deref())
    }

    pub(crate) fn hold(&self) -> Hold {
        self.more.as_ref().map_or(Hold::default(), |more| more.hold)
    }

    /// Its run is paused.
    pub fn is_held(&self) -> bool {
        self.hold().held
    }

    pub fn failure(&self) -> Option<&Failure> {
        self.more.as_ref().and_then(|more| more.failure.as_ref())
    }

    /// Whether this very outcome of this very lease was the last to count.
    pub fn is_settled_as(&self, fence: Fence, digest: u64) -> bool {
        let digest = if crate::defect("any_outcome_again") { self.settled.digest } else { digest };
        self.settled == Settled { fence: fence.0, digest }
    }
}

impl Task {
    pub fn status(&self) -> Status {
        match self {
            Task::Idle(_) => Status::Idle,
            Task::Queued(_) => Status::Queued,
            Task::Running(_) => Status::Running,
            Task::Done(_) => Status::Done,
            Task::Failed(_) => Status::Failed,
            Task::Cancelled(_) => Status::Cancelled,
        }
    }

    /// Done, failed or cancelled.
    pub fn has_ended(&self) -> bool {
        matches!(self, Task::Done(_) | Task::Failed(_) | Task::Cancelled(_))
    }

    pub fn card(&self) -> &Card {
        match self {
            Task::Idle(Idle { card })
            | Task::Queued(Queued { card, .. })
            | Task::Running(Running { card, .. })
            | Task::Done(Done { card, .. })
            | Task::Failed(Failed { card, .. })
            | Task::Cancelled(Cancelled { card, .. }) => card,
        }
    }

    fn card_mut(&mut self) -> &mut Card {
        match self {
            Task::Idle(Idle { card })
            | Task::Queued(Queued { card, .. })
            | Task::Running(Running { card, .. })
            | Task::Done(Done { card, .. })
            | Task::Failed(Failed { card, .. })
            | Task::Cancelled(Cancelled { card, .. }) => card,
        }
    }

    pub(crate) fn route_mut(&mut self) -> &mut Arc<Route> {
        &mut self.card_mut().route
    }

    /// The lease, while it runs.
    pub fn lease(&self) -> Option<&Lease> {
        match self {
            Task::Running(running) => Some(&running.lease),
            _ => None,
        }
    }

    pub fn finished_at(&self) -> Option<Time> {
        match self {
            Task::Done(Done { at, .. }) | Task::Failed(Failed { at, .. }) | Task::Cancelled(Cancelled { at, .. }) => Some(*at),
            Task::Idle(_) | Task::Queued(_) | Task::Running(_) => None,
        }
    }

    pub fn cancelled_why(&self) -> Option<(CancelCause, &Actor, &str)> {
        match self {
            Task::Cancelled(Cancelled { why, .. }) => Some((why.0, &why.1, &why.2)),
            _ => None,
        }
    }
}

/// A state as a row holds it; see `row.rs`. Only rows that passed every check become a task.
pub(crate) enum Phase {
    Idle,
    Queued { since: Time, ready_at: Time, run_now: bool, expedited: bool },
    Running(Box<Lease>),
    Done { at: Time },
    Failed { at: Time },
    Cancelled { at: Time, why: Box<(CancelCause, Actor, String)> },
}

impl Task {
    pub(crate) fn from_parts(card: Card, phase: Phase) -> Task {
        match phase {
            Phase::Idle => Task::Idle(Idle { card }),
            Phase::Queued { since, ready_at, run_now, expedited } => {
                Task::Queued(Queued { card, since, ready_at, run_now, expedited })
            }
            Phase::Running(lease) => Task::Running(Running { card, lease }),
            Phase::Done { at } => Task::Done(Done { card, at }),
            Phase::Failed { at } => Task::Failed(Failed { card, at }),
            Phase::Cancelled { at, why } => Task::Cancelled(Cancelled { card, at, why }),
        }
    }
}

#[cfg(test)]
mod tests;
