//! Who waits and who is alive, as the protocol says it must be: parked polls and heartbeat deadlines, told from the
//! requests that reached the engine. The engine keeps its own; here it is known what it should be.

use crate::model::Model;
use crate::turn::{Turn, named};
use engine::{Request, Ticket, Work};
use kernel::ids::{Fence, RecordSeq, TaskId};
use kernel::names::{QueueName, TypeName, WorkerName};
use kernel::record::{Owner, Record, ReleaseCause};
use kernel::time::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct Parked {
    pub worker: WorkerName,
    pub types: Arc<[TypeName]>,
    pub queues: Arc<[QueueName]>,
    /// It is answered by then, whatever happens.
    pub until: Time,
    /// The leases it told of.
    pub holding: Vec<(TaskId, Fence)>,
}

#[derive(Clone, Debug)]
pub struct Watch {
    pub fence: RecordSeq,
    pub window_ms: u32,
    pub deadline: Time,
    pub named: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Presence {
    pub polls: BTreeMap<Ticket, Parked>,
    pub watches: BTreeMap<TaskId, Watch>,
    /// How often in a row, at least and at most, its worker came without a grant of this task. From the third time on the
    /// worker is taken to have died of it.
    pub unnamed: BTreeMap<TaskId, (u32, u32)>,
    /// When the engine meant to be woken.
    pub planned: Option<Time>,
    pub stopping: bool,
    /// A stop was asked for in a tick whose commit failed: nobody knows.
    pub perhaps_stopping: bool,
}

impl Presence {
    /// A tick begins. Woken far too late, the silence was ours: every lease gets a fresh window.
    pub fn begin(&mut self, now: Time) {
        let late_ms = self.planned.map_or(0, |planned| now.ms_since(planned));
        let window_ms = self.watches.values().map(|watch| watch.window_ms).min();
        if window_ms.is_some_and(|window_ms| late_ms > u64::from(window_ms) / 3) {
            self.refresh(now);
        }
    }

    fn refresh(&mut self, now: Time) {
        for watch in self.watches.values_mut() {
            watch.deadline = now.plus_ms(watch.window_ms.into());
        }
    }

    /// The engine starts anew, or its memory was loaded again: no poll is left, every lease has a fresh window.
    pub fn load(&mut self, model: &Model, now: Time) {
        self.polls.clear();
        self.watches.clear();
        self.unnamed.clear();
        self.watch(model, now);
    }

    fn watch(&mut self, model: &Model, now: Time) {
        for (id, lease) in model.leases() {
            if self.watches.get(&id).is_none_or(|watch| watch.fence != lease.fence) {
                let watch = Watch {
                    fence: lease.fence,
                    window_ms: lease.heartbeat_ms,
                    deadline: now.plus_ms(lease.heartbeat_ms.into()),
                    named: false,
                };
                self.watches.insert(id, watch);
            }
        }
    }

    /// What this tick did to it, the commit having succeeded.
    pub fn ticked(&mut self, turn: &Turn, model: &Model) {
        for (ticket, request) in &turn.requests {
            match request {
                Request::Work(work) => {
                    self.polls.retain(|_, poll| poll.worker != work.worker);
                    self.polls.insert(*ticket, self.parked(work, turn.now));
                }
                Request::Gone { poll } => drop(self.polls.remove(poll)),
                Request::Stop => self.stopping = true,
                _ => {}
            }
            for (task, fence) in named(request) {
                let Some(watch) = self.watches.get_mut(&task).filter(|watch| watch.fence == fence.0) else { continue };
                watch.deadline = turn.now.plus_ms(watch.window_ms.into());
                watch.named = true;
                // Where it ended in this tick, too, that may have come first.
                match self.unnamed.get_mut(&task).filter(|_| turn.ended.contains(&(task, fence.0))) {
                    Some((least, _)) => *least = 0,
                    None => _ = self.unnamed.remove(&task),
                }
            }
        }
        for (ticket, _) in &turn.answers {
            self.polls.remove(ticket);
        }
        self.watches.retain(|id, watch| {
            let lease = model.task(*id).and_then(|task| task.lease.as_ref());
            lease.is_some_and(|lease| lease.fence == watch.fence && lease.run.is_none())
        });
        self.count_unnamed(turn);
        self.watch(model, turn.now);
        self.planned = turn.next;
    }

    /// A lease may end in a tick in which several things would end it; then only the most is known.
    fn count_unnamed(&mut self, turn: &Turn) {
        for (task, _) in turn.ended.iter().filter(|_| turn.works().next().is_some()) {
            self.unnamed.entry(*task).or_default().1 += 1;
        }
        for entry in &turn.entries {
            let (Owner::Task(task), Record::TaskReleased { cause: ReleaseCause::Undelivered }) = (&entry.owner, &entry.record)
            else {
                continue;
            };
            if !turn.requests.iter().any(|(_, request)| request.given_back().iter().any(|(given, _)| given == task)) {
                self.unnamed.entry(*task).or_default().0 += 1;
            }
        }
    }

    fn parked(&self, work: &Work, now: Time) -> Parked {
        let held = work.holding.iter().filter_map(|held| self.watches.get(&held.task));
        let beat_ms = held.map(|watch| u64::from(watch.window_ms) / 3).min().unwrap_or(u64::MAX);
        Parked {
            worker: work.worker.clone(),
            // One that wants nothing is offered nothing: it waits to hear of its leases.
            types: if work.want > 0 { work.types.clone() } else { [].into() },
            queues: work.queues.clone(),
            until: now.plus_ms(work.wait_ms.min(beat_ms)),
            holding: work.holding.iter().map(|held| (held.task, held.fence)).collect(),
        }
    }

    /// Everyone for whom a lease of this worker may have been meant in this tick.
    pub fn asked<'a>(
        &'a self,
        turn: &'a Turn,
        worker: &'a WorkerName,
    ) -> impl Iterator<Item = (&'a [TypeName], &'a [QueueName])> {
        let parked = self.polls.values().filter(move |poll| poll.worker == *worker).map(|poll| (&*poll.types, &*poll.queues));
        let fresh =
            turn.works().filter(move |work| work.worker == *worker && work.want > 0).map(|work| (&*work.types, &*work.queues));
        parked.chain(fresh)
    }
}
