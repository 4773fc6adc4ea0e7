//! Looks at what only the writer knows: why tasks and runs wait, and how the server stands. Nothing is decided here.

use super::{Turn, enter};
use crate::presence::Takers;
use crate::request::{Answer, StatusSummary};
use kernel::bulk::BulkWork;
use kernel::decide::would_change;
use kernel::explain::{Explanation, Facts, Queues, RunExplanation, explain, explain_run, likeness};
use kernel::ids::{RunId, TaskId};
use kernel::names::QueueName;
use kernel::record::{Entry, Owner, Record};
use kernel::task::Task;

/// Tasks that one look goes through: some milliseconds' worth, for which everybody else waits.
const LOOKED_AT_MAX: usize = 100_000;

impl Turn<'_> {
    /// What its queue says of a task: the one place where a run's explanation looks at a queue. It is a look, no decision.
    pub(super) fn told_of(&self, task: TaskId) -> Option<Explanation> {
        let task = self.step.state().task(task)?;
        Some(explain(self.step.state(), task, &self.facts(task), self.step.now()))
    }

    pub(super) fn told_of_run(&self, run: RunId) -> Option<RunExplanation> {
        let (state, now) = (self.step.state(), self.step.now());
        let silent = |task| self.presence.heard(task).is_some_and(|heard| heard.is_silent(now));
        let alike = |task| likeness(state, task, now) ^ u64::from(silent(task));
        explain_run(state, run, &Queues { told: &|task| self.told_of(task), likeness: &alike }, now)
    }

    fn facts(&self, task: &Task) -> Facts {
        let route = task.card().route();
        let Takers { asked_at, busy, own, elsewhere, left_at } = self.presence.takers(route.kind(), route.queue());
        let heard = self.presence.heard(task.card().id());
        Facts { asked_at, busy, own, elsewhere, left_at, heard, up_since: self.up_since, stopping: *self.stopping }
    }

    pub(super) fn queue(&self, queue: &QueueName) -> Answer {
        let state = self.step.state();
        let bulks = state.bulks_open().filter(|bulk| bulk.work().queue() == Some(queue)).cloned().collect();
        Answer::Queue { summary: Box::new(state.queue_summary(queue)), bulks }
    }

    pub(super) fn run_bulks(&self) -> Answer {
        let bulks = self.step.state().bulks_open().filter(|bulk| bulk.work().is_over_runs());
        Answer::RunBulks(bulks.cloned().collect())
    }

    pub(super) fn would_change(&self, work: &BulkWork) -> Answer {
        let (tasks, more) = would_change(self.step.state(), work, LOOKED_AT_MAX);
        Answer::WouldChange { tasks, more }
    }

    pub(super) fn status(&self) -> StatusSummary {
        let state = self.step.state();
        StatusSummary {
            now: self.step.now(),
            shard: state.shard().id(),
            up_since: self.up_since,
            store: enter(self.depot).store.describe(),
            stopping: *self.stopping,
            counts: state.counts(),
            bulks: state.bulks_open().count(),
            runs: state.runs_live(),
            commits: self.commits.0,
            commits_failed: self.commits.1,
            last_record: state.last_record(),
            registry: state.registry().revision(),
            controls: state.controls().cloned().collect(),
            // Those that the server itself is are no news.
            workers: self.presence.workers().into_iter().filter(|worker| !worker.is_own()).collect(),
        }
    }
}

/// Whose worker is to hear that it should stop.
pub(super) fn to_stop(entry: &Entry) -> Option<TaskId> {
    match (&entry.owner, &entry.record) {
        (Owner::Task(task), Record::TaskTimedOut {} | Record::TaskCancelRequested { .. }) => Some(*task),
        _ => None,
    }
}
