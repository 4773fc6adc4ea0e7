//! The checkers look on: at every durable record just before the model takes it over, and at what the tick left behind.

use crate::checkers::{EACH_RECORD, EACH_TICK, Scene, made};
use crate::turn::Turn;
use crate::world::{Found, World};
use engine::{Answer, Core, Request, Ticket};
use kernel::command::{Command, Reply};
use kernel::ids::{Fence, RunId};
use kernel::record::{Entry, Owner, Record};
use kernel::rejection::Rejection;

/// Ticks between two looks at everything, and at the whole history.
const THOROUGH_EVERY: usize = 32;
const HISTORIC_EVERY: usize = 512;

impl World {
    pub(crate) fn watch(&mut self, mut turn: Turn, core: Option<&Core>) -> Result<Turn, Found> {
        self.model.tick(self.now);
        self.presence.begin(self.now);
        while turn.folded < turn.entries.len() {
            let entry = turn.entries[turn.folded].clone();
            *self.coverage.records.get_mut(entry.record.kind()).expect("every kind is known") += 1;
            self.tell(|| format!("record {} of {}: {:?}", entry.seq.0, entry.owner, entry.record));
            let scene = self.scene(&turn, core, false, false);
            for (name, check) in EACH_RECORD {
                check(&scene, &entry).map_err(|why| (name, why))?;
            }
            self.take_over(&mut turn, &entry)?;
            turn.folded += 1;
        }
        turn.run_gone = self.forget_gone(&turn.entries);
        if turn.reloaded {
            self.presence.perhaps_stopping |= turn.requests.iter().any(|(_, request)| matches!(request, Request::Stop));
            self.presence.load(&self.model, self.now);
            self.presence.planned = turn.next;
            self.model.reloaded(self.now);
        } else {
            self.presence.ticked(&turn, &self.model);
        }
        let thorough = match self.temper.big {
            false => turn.reloaded || self.step.is_multiple_of(THOROUGH_EVERY),
            true => self.step.is_multiple_of(4 * THOROUGH_EVERY),
        };
        self.look(&turn, core, thorough, self.step % HISTORIC_EVERY == HISTORIC_EVERY - 1)?;
        for (ticket, answer) in &turn.answers {
            self.note(&turn, *ticket, answer);
        }
        Ok(turn)
    }

    /// Has every checker of ticks look once.
    pub(crate) fn look(&mut self, turn: &Turn, core: Option<&Core>, thorough: bool, historic: bool) -> Result<(), Found> {
        let scene = self.scene(turn, core, thorough, historic);
        EACH_TICK.iter().try_for_each(|(name, check)| check(&scene).map_err(|why| (*name, why)))
    }

    fn scene<'a>(&'a self, turn: &'a Turn, core: Option<&'a Core>, thorough: bool, historic: bool) -> Scene<'a> {
        let World { model, presence, ledger, disk, blobs, .. } = self;
        let fetching =
            !self.fetches.is_empty() || self.mail.inbox.iter().any(|(_, request)| matches!(request, Request::Values(_)));
        Scene { model, turn, presence, ledger, core, disk, blobs, thorough, historic, fetching }
    }

    /// Parts of a run that is being deleted go without a record, and so does one that grew old: their rows tell. Whether
    /// a whole run went.
    fn forget_gone(&mut self, entries: &[Entry]) -> bool {
        let before = self.model.runs.runs.len();
        let deleted = entries.iter().filter_map(|entry| match (&entry.owner, &entry.record) {
            (Owner::Run(id), Record::RunDeleted { .. }) => Some(*id),
            _ => None,
        });
        let runs = &self.model.runs;
        let deleting: Vec<RunId> = deleted.chain(runs.tasks.keys().copied()).chain(runs.runs.keys().copied()).collect();
        for run in deleting {
            let known = self.model.runs.runs.get(&run);
            if known.is_some_and(|run| !run.deleting) {
                continue;
            }
            let gone = |owner: &Owner| {
                let (table, key) = owner.place(0);
                self.disk.read(|durable| durable.row(table, &key).is_none())
            };
            let nodes: Vec<_> = self.model.runs.nodes_of(run).map(|(at, _)| at.clone()).collect();
            let nodes: Vec<_> = nodes.into_iter().filter(|at| gone(&Owner::Node(at.clone()))).collect();
            let frames: Vec<_> = self.model.runs.frames_of(run).map(|(path, _)| path.clone()).collect();
            let frames: Vec<_> = frames.into_iter().filter(|path| gone(&Owner::Frame(run, path.clone()))).collect();
            let tasks = self.model.runs.tasks.get(&run).cloned().unwrap_or_default();
            let tasks: Vec<_> = tasks.into_iter().filter(|task| gone(&Owner::Task(*task))).collect();
            if gone(&Owner::Run(run)) {
                self.model.runs.runs.remove(&run);
                self.ledger.started.remove(&run);
            }
            self.tell(|| {
                format!("of {run}, which is deleted, {} nodes, {} frames, {} tasks go", nodes.len(), frames.len(), tasks.len())
            });
            nodes.iter().for_each(|at| drop(self.model.runs.nodes.remove(at)));
            frames.into_iter().for_each(|path| _ = self.model.runs.frames.remove(&(run, path)));
            for task in &tasks {
                self.model.forget_task(*task);
            }
            if let Some(left) = self.model.runs.tasks.get_mut(&run) {
                left.retain(|task| !tasks.contains(task));
                if left.is_empty() {
                    self.model.runs.tasks.remove(&run);
                }
            }
        }
        self.model.runs.runs.len() < before
    }

    fn take_over(&mut self, turn: &mut Turn, entry: &Entry) -> Result<(), Found> {
        let fold = |world: &mut World| world.model.fold(entry).map_err(|why| ("records follow one another", why));
        turn.made.extend(made(&self.model, turn, entry));
        let Owner::Task(id) = entry.owner else {
            if let Record::EventsExpired { events } = &entry.record {
                let known = events.iter().filter_map(|id| self.model.events.events.get(id));
                for task in known.flat_map(|event| &event.handled).filter_map(|handled| handled.outcome.task()) {
                    let before = self.model.task(task).map(|task| task.status);
                    turn.statuses.entry(task).or_insert_with(|| vec![before]).push(None);
                }
            }
            if let (Owner::Event(id), Record::EventReceived { handled, .. }) = (&entry.owner, &entry.record) {
                self.happened.push(*id);
                handled.iter().for_each(|handled| self.coverage.outcome(&handled.outcome));
            }
            if let (Owner::Bulk(id), Record::BulkStarted { work, .. }) = (&entry.owner, &entry.record) {
                *self.coverage.bulks.get_mut(work.kind()).expect("every bulk is known") += 1;
                self.bulks.push(*id);
            }
            if let (Owner::Run(id), Record::RunStarted { .. }) = (&entry.owner, &entry.record) {
                self.runs.push(*id);
            }
            if let (Owner::Run(id), Record::RunDeleted { .. }) = (&entry.owner, &entry.record) {
                self.ledger.started.remove(id);
            }
            return fold(self);
        };
        let before = self.model.task(id).map(|task| (task.status, task.lease.as_ref().map(|lease| lease.fence)));
        turn.statuses.entry(id).or_insert_with(|| vec![before.map(|(status, _)| status)]);
        if let Some((_, Some(fence))) = before
            && ends_lease(&entry.record)
        {
            turn.ended.insert((id, fence));
            if by_report(&entry.record)
                && let Some(report) = turn.reports(id, fence).next()
            {
                self.ledger.outcomes.insert((id, fence), report.clone());
            }
            self.ledger.settled.insert(id, fence);
        }
        match &entry.record {
            Record::TaskCancelRequested { .. } | Record::TaskTimedOut {} => {
                let lease = self.model.task(id).and_then(|task| task.lease.as_ref());
                turn.to_stop.extend(lease.filter(|lease| lease.ending.is_none()).map(|lease| (id, Fence(lease.fence))));
            }
            Record::TaskAdded { .. } => self.tasks.push(id),
            Record::TaskDeleted { .. } => drop(self.ledger.added.remove(&id)),
            _ => {}
        }
        fold(self)?;
        let after = self.model.task(id).map(|task| task.status);
        turn.statuses.entry(id).or_default().push(after);
        Ok(())
    }

    /// What leaves the house counts as told, whether or not it arrives.
    fn note(&mut self, turn: &Turn, ticket: Ticket, answer: &Answer) {
        match (answer, turn.request(ticket)) {
            (Answer::Reply(Err(rejection)) | Answer::Explained(Err(rejection)), _) => self.note_rejection(rejection),
            (Answer::Explained(Ok(told)), _) => {
                for cause in &told.blocked_on {
                    *self.coverage.causes.get_mut(cause.code).expect("every cause is known") += 1;
                }
            }
            (Answer::Worked(worked), _) => {
                for delivery in &worked.deliveries {
                    self.ledger.fences.insert(delivery.grant.task, delivery.grant.fence.0);
                }
                worked.results.iter().filter_map(|(_, result)| result.as_ref().err()).for_each(|no| self.note_rejection(no));
            }
            (Answer::Reply(Ok(Reply::Added(added))), Some(Request::Command(Command::Add { tasks }))) => {
                for (added, new) in added.iter().zip(tasks) {
                    // It may have been deleted in the same tick.
                    if !added.duplicate && self.model.task(added.task).is_some() {
                        self.ledger.added.insert(added.task, new.input.clone());
                    }
                }
            }
            (
                Answer::Reply(Ok(Reply::Started { run, duplicate: false })),
                Some(Request::Command(Command::StartRun { new, .. })),
            ) if self.model.runs.runs.contains_key(run) => {
                self.ledger.started.insert(*run, new.input.clone());
            }
            _ => {}
        }
    }

    fn note_rejection(&mut self, rejection: &Rejection) {
        *self.coverage.rejections.get_mut(rejection.code()).expect("every code is known") += 1;
    }
}

pub(crate) fn ends_lease(record: &Record) -> bool {
    matches!(
        record,
        Record::TaskDone { .. }
            | Record::TaskFailed { .. }
            | Record::TaskRetried { .. }
            | Record::TaskReleased { .. }
            | Record::TaskCancelled { .. }
    )
}

/// A worker's word ended it, rather than its silence.
fn by_report(record: &Record) -> bool {
    match record {
        Record::TaskFailed { digest, .. } | Record::TaskRetried { digest, .. } => *digest != 0,
        Record::TaskCancelled { digest, .. } => digest.is_some(),
        Record::TaskReleased { cause } => *cause == kernel::record::ReleaseCause::Worker,
        _ => true,
    }
}
