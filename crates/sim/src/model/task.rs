//! One task as its records tell it, written from the table in the design and not from the kernel's code: where the two
//! differ, one of them is wrong.

use kernel::handler::{Trigger, Window};
use kernel::ids::{EventId, RecordSeq, RunId, TaskId};
use kernel::lease::Ending;
use kernel::names::{Family, IdempotencyKey, KeyName, KeyValue, QueueName, Tag, TypeName, WorkerName};
use kernel::priority::Priority;
use kernel::record::{Entry, Failure, KeyRef, Record, TaskSpec};
use kernel::retry::RetryPolicy;
use kernel::run::NodeAt;
use kernel::task::{Status, Task};
use kernel::time::Time;

#[derive(Clone, Debug)]
pub struct TaskModel {
    pub id: TaskId,
    pub last: RecordSeq,
    /// When its last record was.
    pub moved_at: Time,
    pub queue: QueueName,
    pub kind: TypeName,
    pub keys: Vec<(KeyName, KeyValue)>,
    /// The same, as limits and boosts know them.
    pub key_refs: Vec<KeyRef>,
    pub tags: Vec<Tag>,
    pub priority: Priority,
    pub retry: Option<RetryPolicy>,
    pub budget_ms: Option<u64>,
    pub idempotency_key: Option<IdempotencyKey>,
    /// The node that it is the work of.
    pub node: Option<NodeAt>,
    /// What it was made of.
    pub trigger: Option<Trigger>,
    /// Of the newest event in it.
    pub family: Option<Family>,
    /// All events that went into it, as they came.
    pub events: Vec<EventId>,
    /// Cancelled unless it starts before this.
    pub start_by: Option<Time>,
    pub created_at: Time,
    pub input: RecordSeq,
    pub status: Status,
    pub blocked_by: Vec<TaskId>,
    pub scheduled_for: Option<Time>,
    pub attempt: u16,
    /// Attempts that ended and count, since it was last queued from outside.
    pub burnt: u16,
    pub failure: Option<Failure>,
    // While queued; the lease keeps them for the way back.
    pub since: Time,
    pub ready_at: Time,
    pub run_now: bool,
    pub expedited: bool,
    /// Its run is paused.
    pub held: bool,
    /// The last pause of its run that it heard of.
    pub pause: u32,
    pub lease: Option<LeaseModel>,
    /// The newest lease it ever had.
    pub fence: RecordSeq,
}

#[derive(Clone, Debug)]
pub struct LeaseModel {
    pub fence: RecordSeq,
    pub worker: WorkerName,
    pub since: Time,
    pub heartbeat_ms: u32,
    pub budget_until: Time,
    pub ending: Option<Ending>,
    /// The run that does the work.
    pub run: Option<RunId>,
}

impl TaskModel {
    fn added(id: TaskId, entry: &Entry, spec: &TaskSpec) -> TaskModel {
        TaskModel {
            id,
            last: entry.seq,
            moved_at: entry.at,
            queue: spec.queue.clone(),
            kind: spec.kind.clone(),
            keys: spec.keys.clone(),
            key_refs: spec.keys.iter().map(|key| KeyRef::new(spec.queue.clone(), Some(key.clone()))).collect(),
            tags: spec.tags.clone(),
            priority: spec.priority,
            retry: spec.retry,
            budget_ms: spec.budget_ms,
            idempotency_key: spec.idempotency_key.clone(),
            node: spec.node.as_deref().cloned(),
            trigger: spec.trigger.as_deref().cloned(),
            family: spec.trigger.as_ref().map(|trigger| family(trigger.name.as_str())),
            events: spec.trigger.iter().map(|trigger| trigger.event).collect(),
            start_by: spec.start_by,
            created_at: entry.at,
            input: spec.input.unwrap_or(entry.seq),
            status: if spec.idle { Status::Idle } else { Status::Queued },
            blocked_by: spec.blocked_by.clone(),
            scheduled_for: spec.scheduled_for.filter(|_| spec.idle),
            attempt: 0,
            burnt: 0,
            failure: None,
            since: entry.at,
            ready_at: spec.scheduled_for.unwrap_or(entry.at).max(entry.at),
            run_now: false,
            expedited: false,
            held: false,
            pause: 0,
            lease: None,
            fence: RecordSeq::NONE,
        }
    }

    /// The task after one more of its records; `None` when it is gone.
    pub fn fold(task: Option<TaskModel>, id: TaskId, entry: &Entry) -> Result<Option<TaskModel>, String> {
        let Some(mut task) = task else {
            return match &entry.record {
                Record::TaskAdded { spec } => Ok(Some(TaskModel::added(id, entry, spec))),
                other => Err(format!("{} of {id}, which does not exist", other.kind())),
            };
        };
        let at = entry.at;
        (task.last, task.moved_at) = (entry.seq, at);
        match &entry.record {
            Record::TaskAdded { .. } => return Err(format!("{id} was added twice")),
            Record::TaskQueued { ready_at, run_now, .. } => {
                task.enter(at, *ready_at, *run_now);
                (task.attempt, task.burnt, task.failure, task.scheduled_for) = (0, 0, None, None);
                task.start_by = None;
                if *run_now {
                    task.blocked_by.clear();
                }
            }
            Record::TaskRunNow { .. } => {
                task.run_now = true;
                task.blocked_by.clear();
            }
            Record::TaskUnblocked { blocker } => {
                let rest = task.blocked_by.iter().copied().filter(|by| by != blocker).collect();
                task.block(rest, at);
            }
            Record::TaskBlockersChanged { blocked_by, .. } => task.block(blocked_by.clone(), at),
            Record::TaskReprioritized { priority, .. } => task.priority = *priority,
            Record::TaskExpedited { .. } => {
                task.expedited = true;
                task.ready_at = task.ready_at.min(at);
            }
            Record::TaskLeased { worker, attempt, heartbeat_ms, budget_until, run_now } => {
                if task.status == Status::Idle {
                    (task.ready_at, task.expedited, task.scheduled_for) = (at, false, None);
                }
                task.status = Status::Running;
                task.start_by = None;
                task.trigger.iter_mut().filter(|trigger| trigger.window.is_some()).for_each(|trigger| trigger.closed = true);
                task.attempt = *attempt;
                task.run_now = *run_now;
                task.blocked_by.clear();
                task.fence = entry.seq;
                task.lease = Some(LeaseModel {
                    fence: entry.seq,
                    worker: worker.clone(),
                    since: at,
                    heartbeat_ms: *heartbeat_ms,
                    budget_until: *budget_until,
                    ending: None,
                    run: None,
                });
            }
            Record::TaskCancelRequested { by, reason } => {
                let ending = Ending::Cancel { by: by.clone(), reason: reason.clone() };
                task.lease.as_mut().ok_or("a cancel request without a lease")?.ending = Some(ending);
            }
            Record::TaskTimedOut {} => {
                task.lease.as_mut().ok_or("a timeout without a lease")?.ending = Some(Ending::TimedOut);
            }
            Record::TaskHeld { pause } => {
                if *pause <= task.pause {
                    return Err(format!("{id} is held by pause {pause} after it heard of {}", task.pause));
                }
                (task.held, task.pause) = (true, *pause);
            }
            Record::TaskLetGo { pause } => {
                if *pause < task.pause {
                    return Err(format!("{id} is let go of pause {pause} after it heard of {}", task.pause));
                }
                if task.held && task.status == Status::Queued {
                    task.since = at;
                }
                (task.held, task.pause) = (false, *pause);
            }
            Record::TaskDebounced { .. } | Record::TaskBatched { .. } => task.gather(entry)?,
            Record::TaskHandedOver { run } => {
                let lease = task.lease.as_mut().filter(|lease| lease.run.is_none() && lease.ending.is_none());
                lease.ok_or("handed over by nobody who holds it")?.run = Some(*run);
            }
            Record::TaskReleased { .. } => {
                let (ready_at, expedited) = (task.ready_at, task.expedited);
                task.enter(at, ready_at, task.run_now);
                task.expedited = expedited;
                task.attempt = task.attempt.saturating_sub(1);
            }
            Record::TaskRetried { failure, retry_at, .. } => {
                task.enter(at, *retry_at, false);
                task.burnt += 1;
                task.failure = Some(failure.clone());
            }
            Record::TaskDone { .. } => task.end(Status::Done, None),
            Record::TaskFailed { failure, .. } => task.end(Status::Failed, Some(failure.clone())),
            Record::TaskCancelled { .. } => {
                let failure = task.failure.take();
                task.end(Status::Cancelled, failure);
            }
            Record::TaskReset { .. } => {
                task.end(Status::Idle, None);
                (task.attempt, task.burnt) = (0, 0);
            }
            Record::TaskDeleted { .. } => return Ok(None),
            other => return Err(format!("{} is not a record of a task", other.kind())),
        }
        Ok(Some(task))
    }

    /// One more event came into its window.
    fn gather(&mut self, entry: &Entry) -> Result<(), String> {
        let id = self.id;
        let open = self.status == Status::Queued && self.fence == RecordSeq::NONE;
        let Some(trigger) = self.trigger.as_mut().filter(|_| open) else { return Err(format!("{id} takes no events")) };
        match (&entry.record, &mut trigger.window) {
            (Record::TaskDebounced { event, name, newer, ready_at, start_by }, Some(Window::Debounce { newest, events, .. })) => {
                if let Some(newer) = newer {
                    (*newest, self.input) = (newer.happened_at, newer.input);
                    (trigger.event, trigger.name) = (*event, name.clone());
                    self.family = Some(family(name.as_str()));
                }
                *events += 1;
                (self.ready_at, self.start_by) = (*ready_at, *start_by);
                self.events.push(*event);
            }
            (Record::TaskBatched { event, name, full, ready_at, bytes, .. }, Some(Window::Batch { events, bytes: all, .. })) => {
                *events += 1;
                *all += bytes;
                (trigger.event, trigger.name) = (*event, name.clone());
                self.family = Some(family(name.as_str()));
                self.events.push(*event);
                if *full {
                    self.ready_at = self.ready_at.min(ready_at.unwrap_or(entry.at));
                }
            }
            (record, window) => return Err(format!("{} of {id}, whose window is {window:?}", record.kind())),
        }
        Ok(())
    }

    /// More events may come into it.
    pub fn window(&self) -> Option<&Window> {
        let open = self.status == Status::Queued && self.fence == RecordSeq::NONE;
        self.trigger.as_ref().filter(|_| open).and_then(|trigger| trigger.window.as_ref())
    }

    /// Its handler counts by it, and not its queue.
    pub fn is_own_key(&self, name: &KeyName) -> bool {
        let handler = self.trigger.as_ref().map(|trigger| trigger.handler.as_str());
        handler
            .and_then(|handler| name.as_str().strip_prefix(handler))
            .is_some_and(|rest| ["", "@single"].contains(&rest) || rest.starts_with('.'))
    }

    pub fn is_critical(&self) -> bool {
        self.trigger.as_ref().is_some_and(|trigger| trigger.critical)
    }

    /// A run holds it.
    pub fn in_run(&self) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.run.is_some())
    }

    fn enter(&mut self, at: Time, ready_at: Time, run_now: bool) {
        self.status = Status::Queued;
        (self.since, self.ready_at, self.run_now, self.expedited) = (at, ready_at, run_now, false);
        self.lease = None;
    }

    fn block(&mut self, blocked_by: Vec<TaskId>, at: Time) {
        if self.status == Status::Queued && blocked_by.is_empty() {
            self.ready_at = self.ready_at.max(at);
        }
        self.blocked_by = blocked_by;
    }

    fn end(&mut self, status: Status, failure: Option<Failure>) {
        (self.status, self.failure, self.lease) = (status, failure, None);
        (self.run_now, self.expedited, self.held, self.pause) = (false, false, false, 0);
    }

    /// The policy that counts its attempts, given its queue's.
    pub fn policy(&self, of_queue: RetryPolicy) -> RetryPolicy {
        self.retry.unwrap_or(of_queue)
    }

    /// What the kernel says of it in other words than the records do; the first that differs.
    pub fn differs(&self, task: &Task) -> Option<String> {
        let (id, card) = (self.id, task.card());
        let route = card.route();
        macro_rules! same {
            ($($what:literal: $model:expr, $kernel:expr;)*) => {{$(
                let (model, kernel) = ($model, $kernel);
                if model != kernel {
                    return Some(format!("{} of {id}: {kernel:?}, but its records say {model:?}", $what));
                }
            )*}};
        }
        same! {
            "status": self.status, task.status();
            "last": self.last, card.last();
            "queue": &self.queue, route.queue();
            "type": &self.kind, route.kind();
            "keys": &self.keys[..], route.keys();
            "tags": &self.tags[..], card.tags();
            "priority": self.priority, card.priority();
            "retry": self.retry, card.retry();
            "budget_ms": self.budget_ms, card.budget_ms();
            "idempotency_key": self.idempotency_key.as_ref(), card.idempotency_key();
            "node": self.node.as_ref(), card.node();
            "trigger": self.trigger.as_ref(), card.trigger();
            "family": self.family.as_ref(), route.family();
            "start_by": self.start_by, card.start_by();
            "created_at": self.created_at, card.created_at();
            "input": self.input, card.input();
            "blocked_by": &self.blocked_by[..], card.blocked_by();
            "scheduled_for": self.scheduled_for, card.scheduled_for();
            "attempt": self.attempt, card.attempt();
            "held": self.held, card.is_held();
            "failure": self.failure.as_ref(), card.failure();
        }
        match (task, &self.lease) {
            (Task::Queued(queued), None) => same! {
                "since": self.since, queued.since();
                "ready_at": self.ready_at, queued.ready_at();
                "run_now": self.run_now, queued.is_run_now();
                "expedited": self.expedited, queued.is_expedited();
            },
            (Task::Running(running), Some(model)) => same! {
                "fence": model.fence, running.lease().fence().0;
                "worker": &model.worker, running.lease().worker();
                "since": model.since, running.lease().since();
                "heartbeat_ms": model.heartbeat_ms, running.lease().heartbeat_ms();
                "budget_until": model.budget_until, running.lease().budget_until();
                "run_now": self.run_now, running.lease().is_run_now();
                "ending": model.ending.as_ref(), running.lease().ending();
                "run": model.run, running.lease().run();
            },
            (Task::Queued(_) | Task::Running(_), _) => return Some(format!("{id}: a lease where there is none, or none")),
            _ => {}
        }
        None
    }
}

/// An event's name up to its last divider; all of it where there is none.
fn family(name: &str) -> Family {
    let end = name.rfind(['/', '.']).unwrap_or(name.len());
    Family::parse(&name[..end]).expect("a part of a name is one")
}
