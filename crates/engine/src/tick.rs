//! One turn of the loop, in three parts that follow one another: `decide` loads what the requests need and decides them
//! all, `Parcel::commit` writes what was decided, `settle` hears how that went. While a parcel is at the disk, what comes in
//! goes on being decided, into the next one. Nothing leaves before the commit of its parcel. A failed commit discards memory
//! and loads it again; it never rolls back by hand.

mod held;
mod looks;
mod watched;

use crate::deliver::{Filled, Filler, Unread};
use crate::flows::Flows;
use crate::inputs::Inputs;
use crate::load::{load, take_row};
use crate::parcel::{Depot, Leaving, Open, Parcel, enter};
use crate::presence::{Poll, Presence};
use crate::request::*;
use crate::values::Values;
use kernel::command::{Command, Grant, Reply};
use kernel::ids::{Fence, RecordSeq, TaskId};
use kernel::limits::{BATCH_ITEMS_MAX, CHUNK_ITEMS_MAX, FETCHED_BYTES_MAX, FETCHING_VALUES_MAX, HEARTBEAT_MS_MIN};
use kernel::names::{QueueName, TypeName, WorkerName};
use kernel::needs::{Need, needs};
use kernel::record::{Entry, Record, ReleaseCause};
use kernel::rejection::Rejection;
use kernel::state::State;
use kernel::step::Step;
use kernel::task::Task;
use kernel::time::Time;
use kernel::{decide, defect};
use rustc_hash::FxHashSet;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use store::{BlobStore, Reader, Store, StoreError};

/// Commits that may fail in a row before the process ends.
const FAILURES_MAX: u32 = 3;

pub struct Core {
    /// Not to be looked at while parcels are on their way to it.
    depot: Arc<Mutex<Depot>>,
    /// Decided, and not yet on its way.
    open: Open,
    /// When the parcels that are away left.
    away: VecDeque<Time>,
    /// What a failed commit has taken down so far. Those behind it are still away.
    lost: Option<Lost>,
    blobs: Arc<dyn BlobStore>,
    flows: Flows,
    unread: Unread,
    /// Values that are on their way.
    fetching: FxHashSet<RecordSeq>,
    shard: u16,
    state: State,
    presence: Presence,
    inputs: Inputs,
    up_since: Time,
    /// The last tick.
    seen_at: Time,
    stopping: bool,
    /// When the last tick meant to be woken; much later than that, we were asleep and not the workers.
    planned: Option<Time>,
    failures: u32,
    commits: u64,
    commits_failed: u64,
}

/// What deciding says of the time after it.
#[derive(Debug, Default)]
pub struct Decided {
    /// When to decide again if nothing comes; `None`: not before something does.
    pub next: Option<Time>,
    /// Memory is far enough ahead of the disk, and what goes on by itself waits: when a parcel is back, it is time.
    pub ahead: bool,
    /// Stopping, and nothing runs any more.
    pub drained: bool,
}

/// What one tick leaves behind: all of it after the commit.
#[derive(Debug, Default)]
pub struct Ticked {
    pub answers: Vec<(Ticket, Answer)>,
    /// The committed records, in order.
    pub entries: Vec<Entry>,
    /// When to tick again if nothing comes; `None`: not before something does.
    pub next: Option<Time>,
    /// The commit failed and memory was loaded again.
    pub reloaded: Option<String>,
    /// Granted by the commit that failed, or to be given back by it. If it was written all the same, nobody was told of
    /// these leases: they are to be handed in again as undelivered.
    pub untold: Vec<(TaskId, Fence)>,
    /// Values that runs wait for, to be read off the writer and handed in as `Request::Values`.
    pub missing: Vec<RecordSeq>,
    /// The engine cannot go on.
    pub fatal: Option<StoreError>,
    /// Stopping, and nothing runs any more.
    pub drained: bool,
}

/// What is not told its answer, because it was not written.
struct Lost {
    error: StoreError,
    answers: Vec<(Ticket, Answer)>,
    tickets: Vec<Ticket>,
    untold: Vec<(TaskId, Fence)>,
}

impl Lost {
    fn by(error: StoreError) -> Lost {
        Lost { error, answers: Vec::new(), tickets: Vec::new(), untold: Vec::new() }
    }

    fn add(&mut self, parcel: &mut Parcel) {
        self.answers.append(&mut parcel.answers);
        self.tickets.append(&mut parcel.tickets);
        self.untold.append(&mut parcel.untold);
    }
}

impl Core {
    pub fn open(mut store: Box<dyn Store>, blobs: Arc<dyn BlobStore>, shard: u16, now: Time) -> Result<Core, StoreError> {
        let mut flows = Flows::new(Arc::default(), Arc::default());
        let (state, presence) = load(&mut *store, &*blobs, &mut flows, shard, now)?;
        Ok(Core {
            depot: Depot::new(store),
            open: Open::default(),
            away: VecDeque::new(),
            lost: None,
            blobs,
            flows,
            unread: Unread::default(),
            fetching: FxHashSet::default(),
            shard,
            state,
            presence,
            inputs: Inputs::default(),
            up_since: now,
            seen_at: now,
            stopping: false,
            planned: None,
            failures: 0,
            commits: 0,
            commits_failed: 0,
        })
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    /// A pair of eyes on the store.
    pub fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        enter(&self.depot).store.reader()
    }

    /// Puts the inputs to grants.
    pub fn fill(&self, deliveries: &[Delivery], reader: &mut dyn Reader) -> Result<Filled, StoreError> {
        let Flows { library, values, .. } = &self.flows;
        let now_ms = self.seen_at.ms_since(Time::ZERO);
        Filler { library, values, blobs: &*self.blobs, unread: &self.unread, now_ms }.read_with(deliveries, reader)
    }

    pub(crate) fn flows(&self) -> &Flows {
        &self.flows
    }

    /// Decides, commits and settles, one after the other.
    pub fn tick(&mut self, now: Time, chance: u64, requests: Vec<(Ticket, Request)>, idle: bool) -> Ticked {
        let Decided { next, drained, .. } = match self.decide(now, chance, requests, idle) {
            Ok(decided) => decided,
            Err(failed) => return *failed,
        };
        let mut parcel = self.seal(now);
        parcel.commit();
        match self.settle(now, &mut parcel) {
            Err(failed) => *failed,
            Ok(()) => {
                let Leaving { answers, entries, missing } = parcel.unpack().expect("it was committed");
                Ticked { answers, entries, missing, next, drained, ..Ticked::default() }
            }
        }
    }

    /// Some parcel is.
    pub fn is_away(&self) -> bool {
        !self.away.is_empty()
    }

    /// There is something to seal.
    pub fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// It is time to seal it: one parcel is at the disk and one is ready for when that is free.
    pub fn is_ready(&self) -> bool {
        let room = match self.away.len() {
            0 => true,
            1 => self.open.is_worth_queueing(),
            _ => false,
        };
        room && self.is_open() && self.lost.is_none()
    }

    /// The disk has enough to do, and what is open will be enough after that.
    fn is_ahead(&self) -> bool {
        self.is_away() && self.open.is_worth_queueing()
    }

    /// Enough was decided for one parcel.
    pub fn is_full(&self) -> bool {
        self.open.is_full()
    }

    /// These cannot be decided without a look at the store, in which everything must be that was decided before.
    pub fn wants_store(&self, now: Time, requests: &[(Ticket, Request)]) -> bool {
        requests.iter().any(|(_, request)| matches!(request, Request::Status)) || !self.wanted(now, requests).is_empty()
    }

    /// `chance` seeds every jitter of this tick; `idle` says no heartbeat waits in the inbox, so silence is the worker's own.
    /// Whatever wants the store must find everything there: no parcel away, and nothing left open.
    pub fn decide(
        &mut self,
        now: Time,
        chance: u64,
        requests: Vec<(Ticket, Request)>,
        idle: bool,
    ) -> Result<Decided, Box<Ticked>> {
        self.seen_at = now;
        self.notice_sleep(now);
        let more = self.state.advance(now);
        self.open.tickets.extend(requests.iter().map(|(ticket, _)| *ticket));
        self.open.untold.extend(requests.iter().flat_map(|(_, request)| request.given_back()));
        self.open.hold(&*self.blobs, &requests);
        if let Err(error) = self.fetch(now, &requests) {
            return Err(Box::new(self.recover(now, Lost::by(error))));
        }
        let values = self.flows.values.clone();
        // What goes on by itself is no faster than the disk, or whoever asks for something would wait behind all of it.
        let ahead = self.is_ahead();
        // While the disk keeps everyone waiting, silence is no sign.
        let idle = idle && !self.away.front().is_some_and(|left_at| self.is_late(now, *left_at));

        let mut turn = Turn {
            step: Step::with_flow(&mut self.state, now, &mut self.flows),
            values,
            fetched: Vec::new(),
            presence: &mut self.presence,
            inputs: &mut self.inputs,
            chance,
            stopping: &mut self.stopping,
            up_since: self.up_since,
            commits: (self.commits, self.commits_failed),
            depot: &self.depot,
            answers: std::mem::take(&mut self.open.answers),
            leases_left: BATCH_ITEMS_MAX,
        };
        // Bulks first: the rows they were given are true now and may not be after the requests.
        if !ahead && turn.step.state().bulk_due(now).is_some() {
            _ = turn.run(&Command::Proceed);
        }
        if !ahead && turn.step.state().has_runs_due(now) {
            _ = turn.run(&Command::ProceedRuns);
        }
        if turn.step.state().has_due(now) {
            _ = turn.run(&Command::Due);
        }
        for (ticket, request) in requests {
            turn.serve(ticket, request);
        }
        if idle || defect("lapse_unheard") {
            turn.lapse();
        }
        turn.offer();
        turn.end_polls();
        let more = more || turn.leases_left == 0;
        let Turn { step, answers, fetched: here, .. } = turn;
        self.open.add(step.finish());
        self.open.answers = answers;
        here.iter().for_each(|seq| _ = self.fetching.remove(seq));
        let missing = self.missing();
        self.open.missing.extend(missing);

        let due = [self.state.next_due(now), self.presence.next_due()].into_iter().flatten().min();
        let ahead = self.is_ahead() && due.is_some_and(|due| due <= now);
        let next = if more { Some(now) } else { due.filter(|_| !ahead) };
        // What waits for the disk alone goes on as soon as that is back.
        self.planned = if ahead { Some(now) } else { next };
        // With nothing to seal, this is the end of the batch.
        if self.open.is_empty() {
            self.open.holds.clear();
            self.state.cool();
        }
        Ok(Decided { next, ahead, drained: self.stopping && self.presence.leases_to_end() == 0 })
    }

    /// The values to be read next. No more than may be in memory; but one at least, for who has waited longest, or all would
    /// wait for one another.
    fn missing(&mut self) -> Vec<RecordSeq> {
        let values = &self.flows.values;
        values.keep_fetched(|seq| self.state.is_waited_for(seq));
        let room = match values.fetched_bytes() < FETCHED_BYTES_MAX {
            true => FETCHING_VALUES_MAX.saturating_sub(self.fetching.len()),
            false => usize::from(self.fetching.is_empty()),
        };
        let mut missing: Vec<RecordSeq> = Vec::new();
        for seq in self.state.values_missing() {
            if missing.len() == room {
                break;
            }
            if self.fetching.insert(seq) {
                missing.push(seq);
            }
        }
        missing
    }

    /// Closes what was decided and hands it out. From here on memory holds only what is not finished: whoever asks for more
    /// has to wait for the store.
    pub fn seal(&mut self, now: Time) -> Parcel {
        let open = std::mem::take(&mut self.open);
        let parcel = open.seal(self.depot.clone(), self.blobs.clone(), &self.state, self.shard);
        self.state.cool();
        self.away.push_back(now);
        parcel
    }

    /// A parcel is back: the one that left first. If it failed, everything that was decided since fails with it, and those
    /// behind it have to be back before that is told.
    pub fn settle(&mut self, now: Time, parcel: &mut Parcel) -> Result<(), Box<Ticked>> {
        let left_at = self.away.pop_front().expect("it was away");
        match parcel.failed.take() {
            None => {
                if !parcel.batch.is_empty() {
                    self.commits += 1;
                    self.failures = 0;
                }
                if self.is_late(now, left_at) && !defect("no_fresh_window") {
                    self.presence.refresh(now);
                }
            }
            Some(error) => self.lost.get_or_insert_with(|| Lost::by(error)).add(parcel),
        }
        match self.lost.take_if(|_| self.away.is_empty()) {
            Some(lost) => Err(Box::new(self.recover(now, lost))),
            None => Ok(()),
        }
    }

    /// Loads the cold rows these requests touch.
    fn fetch(&mut self, now: Time, requests: &[(Ticket, Request)]) -> Result<(), StoreError> {
        let mut wanted = self.wanted(now, requests);
        if wanted.is_empty() {
            return Ok(());
        }
        self.take_rows(&wanted, now)?;
        // A row may name others: who was cancelled does not know what became of its blockers.
        let names_others = |request: &Request| {
            let Request::Command(command) = request else { return false };
            matches!(
                command,
                Command::Retry { .. } | Command::Reset { .. } | Command::Delete { .. } | Command::ExpireEvents { .. }
            )
        };
        // And what a run that is being deleted began has to go with it.
        let parts = wanted.iter().any(|need| matches!(need, Need::RunParts { .. }));
        if parts || (requests.iter().any(|(_, request)| names_others(request)) && !defect("blockers_unread")) {
            let known: FxHashSet<Need> = wanted.drain(..).collect();
            let mut others = self.wanted(now, requests);
            others.retain(|need| !known.contains(need));
            self.take_rows(&others, now)?;
        }
        Ok(())
    }

    fn wanted(&self, now: Time, requests: &[(Ticket, Request)]) -> Vec<Need> {
        let mut wanted = Vec::new();
        needs(&Command::Proceed, &self.state, now, &mut wanted);
        needs(&Command::ProceedRuns, &self.state, now, &mut wanted);
        for (_, request) in requests {
            match request {
                Request::Command(command) => needs(command, &self.state, now, &mut wanted),
                Request::Work(work) => {
                    let cold = work.results.iter().map(|report| report.task).filter(|task| self.state.task(*task).is_none());
                    wanted.extend(cold.map(Need::Task));
                }
                Request::Explain { task } if self.state.task(*task).is_none() => wanted.push(Need::Task(*task)),
                _ => {}
            }
        }
        let mut known = FxHashSet::default();
        wanted.retain(|need| known.insert(need.clone()));
        wanted
    }

    fn take_rows(&mut self, wanted: &[Need], now: Time) -> Result<(), StoreError> {
        if !wanted.is_empty() {
            assert!(!self.is_away(), "who wants the store waits for it");
            assert!(self.open.entries.is_empty(), "what is decided is in the store before it is looked at");
            let store = &mut enter(&self.depot).store;
            for row in store.rows(wanted)? {
                let mut payloads = |record| match store.payload(record)? {
                    Some(payload) => crate::blobs::content(&*self.blobs, payload),
                    None => Ok(None),
                };
                take_row(&mut self.state, &mut self.flows, &mut payloads, &row, now)?;
            }
            let whole = |need: &Need| if let Need::RunWhole(run) = need { Some(*run) } else { None };
            self.state.took_whole(wanted.iter().filter_map(whole));
            for need in wanted {
                if let Need::RunParts { runs, limit } = need {
                    self.state.looked_for_parts(runs, *limit);
                    let nodes = self.state.nodes_leaving();
                    let lasts: Vec<RecordSeq> = nodes.iter().map(|(_, last)| *last).collect();
                    for ((at, _), begun) in nodes.iter().zip(store.begun(&lasts)?) {
                        begun.into_iter().for_each(|begun| self.state.take_begun(at, begun));
                    }
                }
            }
        }
        Ok(())
    }

    /// Memory may be ahead of the disk, or behind it: forget it and read what is true. Nobody is told yes.
    fn recover(&mut self, now: Time, lost: Lost) -> Ticked {
        self.failures += 1;
        self.commits_failed += 1;
        let open = std::mem::take(&mut self.open);
        let Lost { error, answers: mut answered, tickets: mut waiting, mut untold } = lost;
        untold.extend(open.untold);
        waiting.extend(open.tickets);
        waiting.extend(self.presence.all_polls());
        answered.extend(open.answers);
        untold.extend(answered.iter().flat_map(|(_, answer)| answer.grants()));
        waiting.extend(answered.iter().map(|(ticket, _)| *ticket));
        waiting.sort_unstable();
        waiting.dedup();
        let mut answers: Vec<_> = waiting.into_iter().map(|ticket| (ticket, Answer::UnknownOutcome)).collect();
        if defect("reply_before_commit") {
            answers = answered;
        }
        let reloaded = Some(error.to_string());
        self.planned = Some(now);
        let mut ticked = Ticked { answers, untold, reloaded, next: Some(now), ..Ticked::default() };
        if self.failures >= FAILURES_MAX {
            ticked.fatal = Some(error);
            return ticked;
        }
        // Numbers of records that were lost with the commit are given again, to others.
        self.flows.forget();
        let mut depot = enter(&self.depot);
        depot.shut = false;
        match load(&mut *depot.store, &*self.blobs, &mut self.flows, self.shard, now) {
            Ok(_) if defect("memory_kept") => {}
            Ok((state, presence)) => {
                self.state = state;
                self.presence = presence;
                self.inputs = Inputs::default();
                if !defect("value_not_asked_again") {
                    self.fetching.clear();
                }
            }
            Err(error) => ticked.fatal = Some(error),
        }
        ticked
    }

    /// Woken far later than planned (a suspend, a slow disk): the workers could not reach us, so no lease lapses for it.
    fn notice_sleep(&mut self, now: Time) {
        if self.planned.is_some_and(|planned| self.is_late(now, planned)) && !defect("no_fresh_window") {
            self.presence.refresh(now);
        }
    }

    /// So late that a worker's silence since then may be our own.
    fn is_late(&self, now: Time, planned: Time) -> bool {
        let late_ms = now.ms_since(planned);
        late_ms > u64::from(HEARTBEAT_MS_MIN) / 3
            && self.presence.window_min_ms().is_some_and(|window_ms| late_ms > u64::from(window_ms) / 3)
    }
}

/// One tick's worth of deciding.
struct Turn<'a> {
    step: Step<'a>,
    presence: &'a mut Presence,
    inputs: &'a mut Inputs,
    chance: u64,
    stopping: &'a mut bool,
    up_since: Time,
    commits: (u64, u64),
    depot: &'a Mutex<Depot>,
    answers: Vec<(Ticket, Answer)>,
    /// Leases this tick may still grant; what is left over is offered in the next, which comes at once.
    leases_left: usize,
    values: Arc<Values>,
    /// Values that have come.
    fetched: Vec<RecordSeq>,
}

impl Turn<'_> {
    fn run(&mut self, command: &Command) -> Result<Reply, Rejection> {
        let before = self.step.records();
        let reply = decide(&mut self.step, command);
        // What tasks of runs and of events are made of is kept for the worker that will soon ask for them.
        for entry in &self.step.entries()[before..] {
            let soon = match &entry.record {
                Record::TaskAdded { spec } => spec.node.is_some(),
                Record::EventReceived { handled, .. } => handled.iter().any(|handled| handled.outcome.is_work()),
                _ => false,
            };
            if let Some(input) = entry.payload.as_ref().filter(|_| soon) {
                self.inputs.keep(entry.seq, input);
            }
        }
        reply
    }

    /// The next random number of this tick (splitmix64), for jitter.
    fn jitter(&mut self) -> u32 {
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.chance;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as u32
    }

    fn serve(&mut self, ticket: Ticket, request: Request) {
        let answer = match request {
            Request::Command(command) => self.command(command),
            Request::Work(work) => match self.work(ticket, work) {
                Some(worked) => Answer::Worked(worked),
                None => return,
            },
            Request::PatchHeld { run, new, node, dry, task, fence } => {
                Answer::Reply(self.patch(run, new, node.as_deref(), dry, (task, fence)))
            }
            Request::Gone { poll } => {
                if !defect("gone_unnoticed") {
                    self.presence.unpark(poll);
                }
                Answer::Noted
            }
            Request::Undelivered { grants } => {
                for (task, fence) in grants {
                    self.release(task, fence);
                }
                Answer::Noted
            }
            Request::Beat { leases } => {
                let leases = if defect("beat_unheard") { Vec::new() } else { leases };
                leases.into_iter().for_each(|(task, fence)| _ = self.heartbeat(task, fence));
                Answer::Noted
            }
            Request::Leases { worker } => Answer::Leases(self.presence.leases_of(&worker)),
            Request::Explain { task } => {
                let told = self.told_of(task).ok_or(Rejection::TaskNotFound { task });
                Answer::Explained(told.map(Box::new))
            }
            Request::ExplainRun { run } => {
                Answer::RunExplained(self.told_of_run(run).map(Box::new).ok_or(Rejection::RunNotFound { run }))
            }
            Request::Values(values) => {
                // One by one, so that each is weighed with those before it.
                for (seq, text) in values {
                    let bytes = self.values.provide(seq, text, self.step.state().bytes_before(seq));
                    self.fetched.push(seq);
                    _ = self.run(&Command::TakeValues { values: vec![(seq, bytes)] });
                }
                Answer::Noted
            }
            Request::Queue { queue } => self.queue(&queue),
            Request::RunBulks => self.run_bulks(),
            Request::Queues => Answer::Queues(self.step.state().queue_summaries()),
            Request::Depths { families } => Answer::Depths(self.step.state().depths_of(families.as_ref())),
            Request::WouldChange { work } => self.would_change(&work),
            Request::Status => Answer::Status(Box::new(self.status())),
            Request::Backlog => Answer::Backlog(self.backlog()),
            Request::Reload => Answer::Noted,
            Request::Stop => {
                *self.stopping = true;
                Answer::Noted
            }
        };
        self.answers.push((ticket, answer));
    }

    fn command(&mut self, mut command: Command) -> Answer {
        if *self.stopping && matches!(command, Command::Add { .. } | Command::StartRun { .. } | Command::Emit { .. }) {
            return Answer::Stopping;
        }
        let mut waiting = None;
        if let Command::Start { task, worker, .. } = &mut command
            && !*self.stopping
            && let Some(route) = self.step.state().task(*task).map(|task| task.card().route().clone())
        {
            let fits = |poll: &Poll| poll.queues.is_empty() || poll.queues.contains(route.queue());
            let poll = self.presence.longest_waiting(route.kind(), fits);
            *worker = poll.map(|poll| poll.worker.clone());
            waiting = poll.map(|poll| poll.ticket);
        }
        let reply = self.run(&command);
        if let (Ok(Reply::Added(added)), Command::Add { tasks }) = (&reply, &command) {
            for (added, new) in added.iter().zip(tasks).filter(|(added, _)| !added.duplicate) {
                let input = self.step.state().task(added.task).map(|task| task.card().input());
                self.inputs.keep(input.expect("an added task is live"), &new.input);
            }
        }
        match reply {
            // A start that found its worker: the lease goes to the worker, the status to whoever asked.
            Ok(Reply::Leased(grants)) => {
                let task = grants[0].task;
                self.deliver(waiting.expect("only a waiting worker is leased to"), grants);
                let status = kernel::task::Status::Running;
                Answer::Reply(Ok(Reply::Task { task, status }))
            }
            reply => {
                if let (Ok(Reply::Finished { duplicate: false }), Command::Finish { task, .. })
                | (Ok(Reply::Started { .. }), Command::HandOver { task, .. }) = (&reply, &command)
                {
                    self.presence.ended(*task);
                }
                Answer::Reply(reply)
            }
        }
    }

    /// A worker whose poll waits here while it holds this task need not wait to hear that it should stop.
    fn tell_worker(&mut self, task: TaskId) {
        let worker = self.step.state().task(task).and_then(Task::lease).map(|lease| lease.worker().clone());
        let Some(ticket) = worker.and_then(|worker| self.presence.poll_of(&worker)) else { return };
        if self.presence.poll(ticket).is_some_and(|poll| poll.holding.iter().any(|held| held.task == task)) {
            self.end_poll(ticket);
        }
    }

    /// `None`: the poll waits.
    fn work(&mut self, ticket: Ticket, work: Work) -> Option<Worked> {
        let now = self.step.now();
        self.presence.asked(&work, now);
        let Work { worker, types, queues, want, wait_ms, results, holding } = work;
        if let Some(earlier) = self.presence.poll_of(&worker) {
            self.end_poll(earlier);
        }
        let mut worked = Worked { stopping: *self.stopping, ..Worked::default() };
        // By fence too: who still speaks of an earlier lease of a task has not got the present one.
        let reported = results.iter().map(|report| (report.task, report.fence));
        let named: FxHashSet<(TaskId, Fence)> = reported.chain(holding.iter().map(|held| (held.task, held.fence))).collect();
        for Report { task, fence, outcome } in results {
            let jitter = self.jitter();
            let reply = self.run(&Command::Finish { task, fence, outcome, jitter });
            if matches!(reply, Ok(Reply::Finished { duplicate: false })) {
                self.presence.ended(task);
            }
            let result = reply.map(|reply| matches!(reply, Reply::Finished { duplicate: true }));
            worked.results.push((task, result));
        }
        let mut news = false;
        for Holding { task, fence, .. } in holding {
            let held = self.heartbeat(task, fence);
            news |= held.cancel && self.presence.told_to_stop(task, fence);
            worked.holding.push(held);
        }
        for (task, fence, was_named) in self.presence.held_by(&worker) {
            if named.contains(&(task, fence)) {
                continue;
            }
            // Never named: the grant got lost on its way, or the worker with it. Named before and now forgotten: the worker
            // lost it.
            let lost = was_named || self.presence.unnamed(task);
            if lost { self.mislay(task, fence) } else { self.release(task, fence) }
        }
        if want > 0 && (!*self.stopping || defect("leases_while_stopping")) {
            worked.deliveries = self.lease(&worker, &types, &queues, want);
        }
        let idle = worked.results.is_empty() && worked.deliveries.is_empty() && !news && !*self.stopping;
        // Who wants nothing may wait to hear of what it holds, such as that it should stop; with neither it has nothing to wait
        // for.
        if !idle || wait_ms == 0 || (want == 0 && worked.holding.is_empty()) {
            return Some(worked);
        }
        // While it waits it cannot send heartbeats, so a worker that holds leases is answered before they grow old.
        let beat_ms = worked.holding.iter().map(|held| u64::from(held.heartbeat_ms) / 3).min().unwrap_or(u64::MAX);
        let until = now.plus_ms(wait_ms.min(beat_ms));
        self.presence.park(Poll { ticket, worker, types, queues, want, until, holding: worked.holding });
        None
    }

    fn lease(&mut self, worker: &WorkerName, types: &Arc<[TypeName]>, queues: &Arc<[QueueName]>, want: usize) -> Vec<Delivery> {
        let want = want.min(self.leases_left);
        let command = Command::Lease { worker: worker.clone(), types: types.clone(), queues: queues.clone(), want };
        match self.run(&command) {
            Ok(Reply::Leased(grants)) => self.granted(grants),
            other => unreachable!("a lease is granted or empty, not {other:?}"),
        }
    }

    fn granted(&mut self, grants: Vec<Grant>) -> Vec<Delivery> {
        let now = self.step.now();
        self.leases_left = self.leases_left.saturating_sub(grants.len());
        let mut deliveries = Vec::with_capacity(grants.len());
        for grant in grants {
            let lease = self.step.state().task(grant.task).and_then(Task::lease).expect("a granted task runs");
            self.presence.granted(grant.task, lease, now);
            let shared = grant.trigger.is_some();
            let input = if shared { self.inputs.look(grant.input) } else { self.inputs.take(grant.input) };
            deliveries.push(Delivery { grant, input });
        }
        deliveries
    }

    fn release(&mut self, task: TaskId, fence: Fence) {
        if self.run(&Command::Release { task, fence, cause: ReleaseCause::Undelivered }).is_ok() {
            self.presence.ended(task);
        }
    }

    fn lapse_one(&mut self, task: TaskId, fence: Fence) {
        let jitter = self.jitter();
        // A rejection means the lease ended by itself in this very tick: either way nobody watches it any more.
        _ = self.run(&Command::Lapse { task, fence, jitter });
        self.presence.ended(task);
    }

    fn mislay(&mut self, task: TaskId, fence: Fence) {
        let jitter = self.jitter();
        _ = self.run(&Command::Mislay { task, fence, jitter });
        self.presence.ended(task);
    }

    /// Leases whose worker fell silent. Only asked when no heartbeat can be waiting in the inbox.
    fn lapse(&mut self) {
        for (task, fence) in self.presence.silent(self.step.now(), CHUNK_ITEMS_MAX) {
            self.lapse_one(task, fence);
        }
    }

    /// What became free to run in this tick goes to whoever has waited longest, in the same commit.
    fn offer(&mut self) {
        if *self.stopping || !self.presence.is_anyone_waiting() || defect("nothing_offered") {
            return;
        }
        let mut types: Vec<TypeName> = self.presence.types_waiting().cloned().collect();
        types.sort_unstable();
        for kind in types {
            while self.leases_left > 0 && self.step.state().has_ready(std::slice::from_ref(&kind), &[]) {
                let state = self.step.state();
                let fits = |poll: &Poll| state.has_ready(std::slice::from_ref(&kind), &poll.queues);
                let Some(poll) = self.presence.longest_waiting(&kind, fits) else { break };
                let (ticket, worker, want) = (poll.ticket, poll.worker.clone(), poll.want.min(self.leases_left));
                let (types, queues) = (poll.types.clone(), poll.queues.clone());
                let command = Command::Lease { worker, types, queues, want };
                match self.run(&command) {
                    // All that was ready should have started before.
                    Ok(Reply::Leased(grants)) if grants.is_empty() => break,
                    Ok(Reply::Leased(grants)) => self.deliver(ticket, grants),
                    other => unreachable!("a ready task is leased, not {other:?}"),
                }
            }
        }
    }

    fn deliver(&mut self, ticket: Ticket, grants: Vec<Grant>) {
        let poll = self.presence.unpark(ticket).expect("the poll is parked");
        let deliveries = self.granted(grants);
        let worked = Worked { holding: poll.holding, deliveries, ..Worked::default() };
        self.answers.push((ticket, Answer::Worked(worked)));
    }

    /// Polls whose time is up, or all when stopping.
    fn end_polls(&mut self) {
        let over = if *self.stopping { self.presence.all_polls() } else { self.presence.polls_over(self.step.now()) };
        for ticket in over {
            self.end_poll(ticket);
        }
        let to_stop: Vec<TaskId> = self.step.entries().iter().filter_map(looks::to_stop).collect();
        for task in to_stop {
            self.tell_worker(task);
        }
    }

    fn end_poll(&mut self, ticket: Ticket) {
        let Some(poll) = self.presence.unpark(ticket) else { return };
        let mut holding = poll.holding;
        for held in &mut holding {
            let lease = self.step.state().task(held.task).and_then(Task::lease);
            // One that has ended while it was waited is nobody's any more.
            held.held &= lease.is_some();
            held.cancel |= lease.is_none_or(|lease| lease.ending().is_some());
            if let Some(lease) = lease.filter(|_| held.cancel) {
                self.presence.told_to_stop(held.task, lease.fence());
            }
        }
        let worked = Worked { holding, stopping: *self.stopping, ..Worked::default() };
        self.answers.push((ticket, Answer::Worked(worked)));
    }
}
