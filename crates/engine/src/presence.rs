//! Who is there: parked polls, heartbeat deadlines, when a type was last asked for. Volatile on purpose; after a
//! restart every live lease gets one fresh window.

use crate::outside::outlives;
use crate::request::{Held, Ticket, Work, WorkerSummary};
use kernel::explain::Heard;
use kernel::ids::{Fence, TaskId};
use kernel::lease::Lease;
use kernel::names::{QueueName, TypeName, WorkerName};
use kernel::time::Time;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Workers and types remembered after they stopped asking; the oldest go first.
const REMEMBERED_MAX: usize = 10_000;
/// Grants of one task that may get lost in a row before that counts as the worker's end.
const UNNAMED_MAX: u32 = 3;

#[derive(Debug)]
pub struct Poll {
    pub ticket: Ticket,
    pub worker: WorkerName,
    pub types: Arc<[TypeName]>,
    pub queues: Arc<[QueueName]>,
    pub want: usize,
    pub until: Time,
    /// The leases it named as held, answered when it is.
    pub holding: Vec<Held>,
}

#[derive(Debug)]
struct Watch {
    fence: Fence,
    worker: WorkerName,
    window_ms: u32,
    deadline: Time,
    /// The worker has named it: the grant was delivered.
    named: bool,
    /// The worker has been told to stop.
    told: bool,
}

#[derive(Debug)]
struct Seen {
    at: Time,
    types: Arc<[TypeName]>,
    queues: Arc<[QueueName]>,
}

/// Who would take a task, as `explain` tells it.
#[derive(Debug, Default)]
pub struct Takers {
    pub asked_at: Option<Time>,
    pub busy: usize,
    pub own: bool,
    pub elsewhere: usize,
    pub left_at: Option<Time>,
}

#[derive(Debug, Default)]
pub struct Presence {
    polls: FxHashMap<Ticket, Poll>,
    polls_by_type: FxHashMap<TypeName, BTreeSet<Ticket>>,
    polls_by_worker: FxHashMap<WorkerName, Ticket>,
    polls_until: BTreeSet<(Time, Ticket)>,
    leases: FxHashMap<TaskId, Watch>,
    leases_by_worker: FxHashMap<WorkerName, BTreeSet<TaskId>>,
    deadlines: BTreeSet<(Time, TaskId)>,
    workers: FxHashMap<WorkerName, Seen>,
    /// The last that took its leave, by type.
    left: FxHashMap<TypeName, (Time, Arc<[QueueName]>)>,
    /// How often in a row a grant of this task was not named by the worker that got it.
    unnamed: FxHashMap<TaskId, u32>,
    /// Leases granted so far.
    grants: u64,
}

impl Presence {
    // ---- Polls --------------------------------------------------------------------------------------------------

    /// One that wants nothing waits to hear what becomes of its leases, and is in no line for work.
    pub fn park(&mut self, poll: Poll) {
        for kind in poll.types.iter().filter(|_| poll.want > 0) {
            self.polls_by_type.entry(kind.clone()).or_default().insert(poll.ticket);
        }
        self.polls_by_worker.insert(poll.worker.clone(), poll.ticket);
        self.polls_until.insert((poll.until, poll.ticket));
        self.polls.insert(poll.ticket, poll);
    }

    pub fn unpark(&mut self, ticket: Ticket) -> Option<Poll> {
        let poll = self.polls.remove(&ticket)?;
        for kind in poll.types.iter() {
            if let Some(waiting) = self.polls_by_type.get_mut(kind) {
                waiting.remove(&ticket);
                if waiting.is_empty() {
                    self.polls_by_type.remove(kind);
                }
            }
        }
        if self.polls_by_worker.get(&poll.worker) == Some(&ticket) {
            self.polls_by_worker.remove(&poll.worker);
        }
        self.polls_until.remove(&(poll.until, ticket));
        Some(poll)
    }

    pub fn poll_of(&self, worker: &WorkerName) -> Option<Ticket> {
        self.polls_by_worker.get(worker).copied()
    }

    pub fn poll(&self, ticket: Ticket) -> Option<&Poll> {
        self.polls.get(&ticket)
    }

    pub fn all_polls(&self) -> Vec<Ticket> {
        let mut all: Vec<Ticket> = self.polls.keys().copied().collect();
        all.sort_unstable();
        all
    }

    pub fn polls_over(&self, now: Time) -> Vec<Ticket> {
        self.polls_until.iter().take_while(|(until, _)| *until <= now).map(|(_, ticket)| *ticket).collect()
    }

    /// The poll that has waited longest for this type, among those `fits` accepts.
    pub fn longest_waiting(&self, kind: &TypeName, fits: impl Fn(&Poll) -> bool) -> Option<&Poll> {
        let waiting = self.polls_by_type.get(kind)?;
        waiting.iter().map(|ticket| &self.polls[ticket]).find(|poll| fits(poll))
    }

    pub fn types_waiting(&self) -> impl Iterator<Item = &TypeName> {
        self.polls_by_type.keys()
    }

    pub fn is_anyone_waiting(&self) -> bool {
        !self.polls.is_empty()
    }

    // ---- Leases -------------------------------------------------------------------------------------------------

    pub fn granted(&mut self, task: TaskId, lease: &Lease, now: Time) {
        self.grants += 1;
        let deadline = now.plus_ms(lease.heartbeat_ms().into());
        self.deadlines.insert((deadline, task));
        self.leases_by_worker.entry(lease.worker().clone()).or_default().insert(task);
        let watch = Watch {
            fence: lease.fence(),
            worker: lease.worker().clone(),
            window_ms: lease.heartbeat_ms(),
            deadline,
            named: false,
            told: false,
        };
        self.leases.insert(task, watch);
    }

    pub fn ended(&mut self, task: TaskId) {
        if let Some(watch) = self.leases.remove(&task) {
            self.deadlines.remove(&(watch.deadline, task));
            if let Some(held) = self.leases_by_worker.get_mut(&watch.worker) {
                held.remove(&task);
                if held.is_empty() {
                    self.leases_by_worker.remove(&watch.worker);
                }
            }
        }
    }

    pub fn beat(&mut self, task: TaskId, now: Time) {
        if let Some(watch) = self.leases.get_mut(&task) {
            self.deadlines.remove(&(watch.deadline, task));
            watch.deadline = now.plus_ms(watch.window_ms.into());
            watch.named = true;
            self.unnamed.remove(&task);
            self.deadlines.insert((watch.deadline, task));
        }
    }

    /// The worker is being told to stop this one; `true` the first time. After that the news is old, and a worker that
    /// is slow to stop may wait for more work meanwhile.
    pub fn told_to_stop(&mut self, task: TaskId, fence: Fence) -> bool {
        let watch = self.leases.get_mut(&task).filter(|watch| watch.fence == fence);
        watch.is_some_and(|watch| !std::mem::replace(&mut watch.told, true))
    }

    /// Every live lease gets one fresh window: the silence was ours.
    pub fn refresh(&mut self, now: Time) {
        self.deadlines.clear();
        for (task, watch) in &mut self.leases {
            watch.deadline = now.plus_ms(watch.window_ms.into());
            self.deadlines.insert((watch.deadline, *task));
        }
    }

    /// The shortest heartbeat window among live leases.
    pub fn window_min_ms(&self) -> Option<u32> {
        self.leases.values().map(|watch| watch.window_ms).min()
    }

    /// Leases of this worker: the task, its fence, and whether the worker ever named it.
    pub fn held_by(&self, worker: &WorkerName) -> Vec<(TaskId, Fence, bool)> {
        let held = self.leases_by_worker.get(worker).into_iter().flatten();
        held.map(|task| (*task, self.leases[task].fence, self.leases[task].named)).collect()
    }

    pub fn leases_of(&self, worker: &WorkerName) -> Vec<(TaskId, Fence)> {
        self.held_by(worker).into_iter().map(|(task, fence, _)| (task, fence)).collect()
    }

    /// When the worker of this lease was last heard of, and when it is taken for lost if it is not heard again.
    pub fn heard(&self, task: TaskId) -> Option<Heard> {
        let watch = self.leases.get(&task)?;
        let at = watch.deadline.plus_us(-i64::from(watch.window_ms) * 1_000);
        Some(Heard { at, until: watch.deadline })
    }

    pub fn silent(&self, now: Time, max: usize) -> Vec<(TaskId, Fence)> {
        let late = self.deadlines.iter().take_while(|(deadline, _)| *deadline <= now).take(max);
        late.map(|(_, task)| (*task, self.leases[task].fence)).collect()
    }

    pub fn grants(&self) -> u64 {
        self.grants
    }

    /// Those that a server that stops waits for.
    pub fn leases_to_end(&self) -> usize {
        self.leases_by_worker.iter().filter(|(worker, _)| !outlives(worker)).map(|(_, tasks)| tasks.len()).sum()
    }

    pub fn next_due(&self) -> Option<Time> {
        let poll = self.polls_until.first().map(|(until, _)| *until);
        let lease = self.deadlines.first().map(|(deadline, _)| *deadline);
        [poll, lease].into_iter().flatten().min()
    }

    // ---- Who asked ----------------------------------------------------------------------------------------------

    /// A worker spoke. One that wants nothing and holds nothing takes its leave.
    pub fn asked(&mut self, work: &Work, now: Time) {
        let Work { worker, types, queues, .. } = work;
        if work.want == 0 && work.holding.is_empty() {
            if let Some(Seen { types, queues, .. }) = self.workers.remove(worker) {
                for kind in types.iter() {
                    forget_oldest(&mut self.left, |(at, _)| *at);
                    self.left.insert(kind.clone(), (now, queues.clone()));
                }
            }
            return;
        }
        let seen = Seen { at: now, types: types.clone(), queues: queues.clone() };
        match self.workers.get_mut(worker) {
            Some(known) => *known = seen,
            None => {
                forget_oldest(&mut self.workers, |seen| seen.at);
                self.workers.insert(worker.clone(), seen);
            }
        }
    }

    pub fn takers(&self, kind: &TypeName, queue: &QueueName) -> Takers {
        let mut takers = Takers::default();
        for (worker, seen) in self.workers.iter().filter(|(_, seen)| seen.types.contains(kind)) {
            if seen.queues.is_empty() || seen.queues.contains(queue) {
                takers.asked_at = takers.asked_at.max(Some(seen.at));
                takers.busy += usize::from(self.leases_by_worker.contains_key(worker));
                takers.own |= worker.as_str().starts_with("signaller:");
            } else {
                takers.elsewhere += 1;
            }
        }
        let left = self.left.get(kind).filter(|(_, queues)| queues.is_empty() || queues.contains(queue));
        takers.left_at = left.map(|(at, _)| *at);
        // Who has left since the last one asked had asked, too.
        takers.asked_at = takers.asked_at.map(|at| takers.left_at.map_or(at, |left_at| left_at.max(at)));
        takers
    }

    /// A worker came back without a grant it was given. `true` from the third time in a row on: it is not the way that
    /// loses this task, it is the task that ends its workers.
    pub fn unnamed(&mut self, task: TaskId) -> bool {
        if self.unnamed.len() >= REMEMBERED_MAX {
            self.unnamed.clear();
        }
        let times = self.unnamed.entry(task).or_default();
        *times += 1;
        *times >= UNNAMED_MAX
    }

    pub fn workers(&self) -> Vec<WorkerSummary> {
        let mut all: Vec<WorkerSummary> = self
            .workers
            .iter()
            .map(|(worker, seen)| WorkerSummary {
                worker: worker.clone(),
                types: seen.types.clone(),
                asked_at: seen.at,
                holding: self.leases_by_worker.get(worker).map_or(0, BTreeSet::len),
                waiting: self.polls_by_worker.get(worker).is_some_and(|ticket| self.polls[ticket].want > 0),
            })
            .collect();
        all.sort_by(|a, b| b.asked_at.cmp(&a.asked_at).then_with(|| a.worker.cmp(&b.worker)));
        all
    }
}

fn forget_oldest<K: Clone + Eq + std::hash::Hash, V>(map: &mut FxHashMap<K, V>, at: impl Fn(&V) -> Time) {
    if map.len() >= REMEMBERED_MAX {
        let mut times: Vec<Time> = map.values().map(&at).collect();
        times.sort_unstable();
        let cut = times[times.len() / 2];
        map.retain(|_, value| at(value) > cut);
    }
}
