//! A worker that speaks the protocol: it polls, works, reports, beats its heart, and sometimes does none of that. What
//! it believes to hold is its own; the engine may think otherwise.

use crate::chance::Chance;
use crate::coverage::Coverage;
use crate::temper::Temper;
use engine::{Holding, Report, Ticket, Work, Worked};
use kernel::command::{Grant, Outcome};
use kernel::ids::{Fence, TaskId};
use kernel::limits::INLINE_BYTES_MAX;
use kernel::names::{QueueName, TypeName, WorkerName};
use kernel::record::{Failure, Payload};
use kernel::time::Time;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::BlobStore;
use store::blobs::MemoryBlobs;

/// Outcomes it remembers after they were answered, to send them again.
const OLD_MAX: usize = 8;

/// What a worker stands in.
pub struct House<'a> {
    pub temper: &'a Temper,
    pub blobs: &'a MemoryBlobs,
    /// Leases of tasks whose input cannot be made.
    pub unfit: &'a BTreeMap<(TaskId, Fence), Failure>,
}

#[derive(Clone, Debug)]
pub struct Job {
    pub fence: Fence,
    pub ends_at: Time,
    pub outcome: Outcome,
}

#[derive(Clone, Debug)]
pub struct Worker {
    pub name: WorkerName,
    types: Arc<[TypeName]>,
    queues: Arc<[QueueName]>,
    want: usize,
    jobs: BTreeMap<TaskId, Job>,
    /// Finished, and sent again until it is answered.
    results: Vec<Report>,
    old: Vec<Report>,
    pub poll: Option<Ticket>,
    /// Silent or crashed until then.
    pub away_until: Option<Time>,
    ignores_cancel: bool,
}

impl Worker {
    pub fn new(name: WorkerName, chance: &mut Chance, temper: &Temper) -> Worker {
        let types: Vec<TypeName> = temper.types.iter().filter(|_| chance.permille(700)).cloned().collect();
        let types = if types.is_empty() { temper.types[..1].to_vec() } else { types };
        let queues: Vec<QueueName> = temper.queues.iter().filter(|_| chance.permille(150)).cloned().collect();
        let want = if temper.big && chance.permille(500) { 1_000 } else { *chance.pick(&[1, 1, 2, 5]) };
        if temper.calm {
            return Worker::willing(name, temper);
        }
        Worker {
            name,
            types: types.into(),
            queues: queues.into(),
            want,
            jobs: BTreeMap::new(),
            results: Vec::new(),
            old: Vec::new(),
            poll: None,
            away_until: None,
            ignores_cancel: chance.permille(200),
        }
    }

    /// One that takes everything there is.
    pub fn willing(name: WorkerName, temper: &Temper) -> Worker {
        Worker {
            name,
            types: temper.types.clone().into(),
            queues: [].into(),
            want: 100,
            jobs: BTreeMap::new(),
            results: Vec::new(),
            old: Vec::new(),
            poll: None,
            away_until: None,
            ignores_cancel: false,
        }
    }

    /// Its memory is gone but for what it wrote down of old work; it comes back under the same name.
    pub fn crash(&mut self, chance: &mut Chance, temper: &Temper, until: Time) {
        let lost = std::mem::take(&mut self.jobs).into_iter();
        let lost = lost.map(|(task, job)| Report { task, fence: job.fence, outcome: job.outcome });
        let mut old: Vec<Report> = self.old.drain(..).chain(self.results.drain(..)).chain(lost).collect();
        old.drain(..old.len().saturating_sub(OLD_MAX));
        *self = Worker { old, away_until: Some(until), ..Worker::new(self.name.clone(), chance, temper) };
    }

    /// All that it holds or once held.
    pub fn leases(&self) -> Vec<(TaskId, Fence)> {
        let told = self.results.iter().chain(&self.old).map(|report| (report.task, report.fence));
        self.jobs.iter().map(|(task, job)| (*task, job.fence)).chain(told).collect()
    }

    /// The next round trip: what is finished, what goes on, and the wish for more.
    pub fn work(&mut self, chance: &mut Chance, temper: &Temper, coverage: &mut Coverage, now: Time) -> Work {
        let done: Vec<TaskId> = self.jobs.iter().filter(|(_, job)| job.ends_at <= now).map(|(task, _)| *task).collect();
        for task in done {
            let job = self.jobs.remove(&task).expect("it is done");
            self.results.push(Report { task, fence: job.fence, outcome: job.outcome });
        }
        let odd = temper.faults.worker_odd;
        let mut results = self.results.clone();
        if !self.old.is_empty() && chance.permille(odd) {
            let mut again = chance.pick(&self.old).clone();
            if chance.permille(400) {
                again.outcome = outcome(chance);
                coverage.fault("worker_sent_other_outcome");
            } else {
                coverage.fault("worker_resent_result");
            }
            results.insert(chance.below(results.len() + 1), again);
        }
        let mut holding: Vec<Holding> = self.jobs.iter().map(|(task, job)| hold(*task, job.fence)).collect();
        if !holding.is_empty() && chance.permille(odd / 4) {
            let forgotten = holding.remove(chance.below(holding.len())).task;
            self.jobs.remove(&forgotten);
            coverage.fault("worker_forgot_a_lease");
        }
        if let Some(old) = self.old.first().filter(|_| chance.permille(odd / 4)) {
            holding.push(hold(old.task, old.fence));
        }
        let busy = self.jobs.len();
        let want = if chance.permille(100) { 0 } else { self.want.saturating_sub(busy) };
        let wait_ms = *chance.pick(&[0, 50, 1_000, 20_000, 20_000]);
        let (types, queues) = (self.types.clone(), self.queues.clone());
        Work { worker: self.name.clone(), types, queues, want, wait_ms, results, holding }
    }

    pub fn hear(&mut self, worked: &Worked, chance: &mut Chance, house: &House<'_>, coverage: &mut Coverage, now: Time) {
        let temper = house.temper;
        for (task, _) in &worked.results {
            while let Some(at) = self.results.iter().position(|report| report.task == *task) {
                self.old.push(self.results.remove(at));
            }
        }
        self.old.drain(..self.old.len().saturating_sub(OLD_MAX));
        for held in &worked.holding {
            if !held.held {
                if let Some(job) = self.jobs.remove(&held.task) {
                    self.old.push(Report { task: held.task, fence: job.fence, outcome: job.outcome });
                }
            } else if held.cancel {
                if self.ignores_cancel {
                    coverage.fault("worker_ignored_cancel");
                } else if let Some(job) = self.jobs.get_mut(&held.task) {
                    job.ends_at = now;
                    job.outcome = if chance.permille(500) { Outcome::Released } else { outcome(chance) };
                }
            }
        }
        for delivery in &worked.deliveries {
            let Grant { task, fence, .. } = delivery.grant;
            // Heard twice is held once.
            if self.jobs.get(&task).is_none_or(|job| job.fence != fence) {
                let ends_at = now.plus_ms(chance.between(0, temper.work_ms));
                let outcome = match &delivery.grant.node {
                    Some(_) => node_outcome(task, fence, chance, house),
                    None if temper.calm => Outcome::Done { output: Payload::null() },
                    None => outcome(chance),
                };
                let before = self.jobs.insert(task, Job { fence, ends_at, outcome });
                self.old.extend(before.map(|job| Report { task, fence: job.fence, outcome: job.outcome }));
            }
        }
    }
}

/// What the work on a run's task comes to: what expressions look at, and now and then much of it.
fn node_outcome(task: TaskId, fence: Fence, chance: &mut Chance, house: &House<'_>) -> Outcome {
    if let Some(failure) = house.unfit.get(&(task, fence)) {
        return Outcome::Failed { failure: failure.clone(), retryable: false, retry_after_ms: None };
    }
    if !house.temper.calm && chance.permille(300) {
        return outcome(chance);
    }
    let next = *chance.pick(&["left", "left", "right", "right", "nowhere"]);
    let list: Vec<usize> = (0..chance.below(5)).collect();
    let text = "x".repeat(if chance.permille(200) { INLINE_BYTES_MAX + 1 } else { chance.below(20) });
    let output = format!("{{\"n\":{},\"next\":\"{next}\",\"list\":{list:?},\"text\":\"{text}\"}}", chance.below(10));
    // Much of it is put away at the door.
    let output = match output.len() > INLINE_BYTES_MAX {
        // It is sent again until it is taken.
        true => loop {
            if let Ok(blob) = house.blobs.put(output.as_bytes()) {
                break Payload::blob(&blob.id().to_string());
            }
        },
        false => Payload(output.into()),
    };
    Outcome::Done { output }
}

fn hold(task: TaskId, fence: Fence) -> Holding {
    Holding { task, fence }
}

pub fn outcome(chance: &mut Chance) -> Outcome {
    match chance.below(10) {
        0..5 => Outcome::Done { output: Payload(format!("{}", chance.below(1_000)).into()) },
        5..8 => {
            let code = *chance.pick(&["broken", "busy"]);
            Outcome::Failed {
                failure: Failure { code: code.into(), message: "it did not work".into() },
                retryable: chance.permille(700),
                retry_after_ms: chance.maybe(300, |chance| *chance.pick(&[0, 40, 3_000])),
            }
        }
        _ => Outcome::Released,
    }
}
