//! The world around the engine, one step at a time: people and workers act, time passes, the engine ticks, answers find
//! their way or do not. `watch` has the checkers look on.

use crate::chance::Chance;
use crate::coverage::Coverage;
use crate::fetches::Fetches;
use crate::launcher::Launcher;
use crate::ledger::Ledger;
use crate::mail::{Mail, Sender};
use crate::model::Model;
use crate::presence::Presence;
use crate::temper::Temper;
use crate::turn::Turn;
use crate::worker::Worker;
use engine::{Core, Request, Ticked, Ticket};
use kernel::command::Command;
use kernel::ids::{BulkId, EventId, Fence, RunId, TaskId};
use kernel::limits::{BATCH_ITEMS_MAX, BATCH_REQUESTS_MAX};
use kernel::record::Failure;
use kernel::time::Time;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use store::Hold;
use store::blobs::{BlobFault, MemoryBlobs};
use store::memory::{Fault, MemoryDisk};

/// Steps that running work may go on after a stop.
const STOP_STEPS_MAX: usize = 12;

/// What a checker found: its name and its words.
pub type Found = (&'static str, String);

pub struct World {
    pub(crate) chance: Chance,
    pub(crate) temper: Temper,
    pub(crate) now: Time,
    pub(crate) disk: MemoryDisk,
    pub(crate) blobs: Arc<MemoryBlobs>,
    blob_hits: [u64; 2],
    /// By the requests that wait at the door.
    pub(crate) held: Vec<(Ticket, Hold)>,
    pub(crate) fetches: Fetches,
    /// Leases of tasks whose input cannot be made, with why.
    pub(crate) unfit: BTreeMap<(TaskId, Fence), Failure>,
    pub(crate) core: Option<Core>,
    pub(crate) mail: Mail,
    /// Adds that were never answered: sent again some day.
    pub(crate) unsure: Vec<Command>,
    pub(crate) workers: Vec<Worker>,
    pub(crate) model: Model,
    pub(crate) presence: Presence,
    pub(crate) ledger: Ledger,
    pub(crate) tasks: Vec<TaskId>,
    pub(crate) bulks: Vec<BulkId>,
    pub(crate) runs: Vec<RunId>,
    /// The events that ever came.
    pub(crate) happened: Vec<EventId>,
    pub(crate) launcher: Launcher,
    pub(crate) inputs: u64,
    pub(crate) coverage: Coverage,
    pub(crate) step: usize,
    stopping_since: Option<usize>,
    /// Kept only when a failure is run again.
    pub(crate) events: Option<VecDeque<String>>,
    events_max: usize,
}

/// Of the worlds without workflows every second block has events, of those with workflows every fourth.
pub fn has_events(seed: u64) -> bool {
    let block = seed.wrapping_sub(1) / 64;
    block % 4 == 2 || block % 8 == 7
}

/// Every second block of 64 seeds is of worlds with workflows.
pub fn has_runs(seed: u64) -> bool {
    seed.wrapping_sub(1) / 64 % 2 == 1
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Crash {
    No,
    BeforeCommit,
    AfterCommit,
}

impl World {
    pub fn new(seed: u64, events_max: usize) -> World {
        let mut chance = Chance::new(seed);
        let temper = Temper::draw(&mut chance, seed % 16 == 5, has_runs(seed));
        let temper = if has_runs(seed) && seed % 4 == 3 { temper.with_echoes() } else { temper };
        let temper = if has_runs(seed) && seed % 8 == 2 { temper.with_run_bulks() } else { temper };
        let temper = if seed % 3 == 1 { temper.with_overlap() } else { temper };
        let temper = if seed % 7 == 5 { temper.with_beats() } else { temper };
        // Not all of them, and none in which something else was once found.
        let changes = has_runs(seed) && (!matches!(seed % 8, 3..=6) || seed % 32 == 21);
        let temper = if changes { temper.with_changes() } else { temper };
        let temper = if has_events(seed) { temper.with_events() } else { temper };
        crate::catalogue::forget_changed();
        let workers = temper.workers.iter().map(|name| Worker::new(name.clone(), &mut chance, &temper)).collect();
        World {
            chance,
            temper,
            now: Time::from_ms(1_700_000_000_000),
            disk: MemoryDisk::new(),
            blobs: Arc::default(),
            blob_hits: [0; 2],
            held: Vec::new(),
            fetches: Fetches::default(),
            unfit: BTreeMap::new(),
            core: None,
            mail: Mail::default(),
            unsure: Vec::new(),
            workers,
            model: Model::default(),
            presence: Presence::default(),
            ledger: Ledger::default(),
            tasks: Vec::new(),
            bulks: Vec::new(),
            runs: Vec::new(),
            happened: Vec::new(),
            launcher: Launcher::default(),
            inputs: 0,
            coverage: Coverage::default(),
            step: 0,
            stopping_since: None,
            events: (events_max > 0).then(VecDeque::new),
            events_max,
        }
    }

    pub(crate) fn tell(&mut self, event: impl FnOnce() -> String) {
        if let Some(events) = &mut self.events {
            if events.len() == self.events_max {
                events.pop_front();
            }
            events.push_back(format!("step {} at {} ms: {}", self.step, self.now.us() / 1_000 - 1_700_000_000_000, event()));
        }
    }

    pub(crate) fn fault(&mut self, name: &'static str) {
        self.coverage.fault(name);
        self.tell(|| name.to_owned());
    }

    /// One step: everyone acts, time passes, the engine ticks.
    pub fn live(&mut self) -> Result<(), Found> {
        for _ in 0..self.temper.clients {
            if self.chance.permille(500) {
                self.ask();
            }
        }
        self.crowd();
        for at in 0..self.workers.len() {
            self.work(at);
        }
        self.launch();
        self.hand_in_values();
        self.drive_bulks();
        self.pass_time();
        if self.core.is_none() {
            self.open();
        }
        match self.core.take() {
            Some(core) => self.tick(core),
            None => Ok(()),
        }
    }

    // ---- Time ---------------------------------------------------------------------------------------------------

    fn pass_time(&mut self) {
        if self.temper.calm {
            return self.pass_calm_time();
        }
        let next = self.presence.planned.filter(|next| *next > self.now);
        let step_us = self.chance.between(0, self.temper.step_us) as i64;
        self.now = match (self.chance.below(100), next) {
            (0..8, _) => {
                self.fault("clock_stands_still");
                self.now
            }
            (8..25, Some(next)) => {
                self.fault("clock_exactly_next");
                next
            }
            (25..28, Some(next)) => {
                self.fault("clock_just_before_next");
                next.plus_us(-1)
            }
            (28, _) => {
                self.fault("suspend");
                self.now.plus_ms(self.chance.between(1_000, 3_600_000))
            }
            // An engine that is not late wakes when it meant to.
            (29..80, Some(next)) => next.min(self.now.plus_us(step_us)),
            _ => self.now.plus_us(step_us),
        };
    }

    // ---- The engine ---------------------------------------------------------------------------------------------

    fn open(&mut self) {
        match Core::open(Box::new(self.disk.open()), self.blobs.clone(), 0, self.now) {
            Ok(core) => {
                self.tell(|| "the engine opens".into());
                self.core = Some(core);
                self.presence = Presence::default();
                self.presence.load(&self.model, self.now);
                self.model.reloaded(self.now);
                self.stopping_since = None;
            }
            Err(error) => {
                self.fault("load_failed");
                self.tell(|| format!("the engine cannot open: {error}"));
            }
        }
    }

    fn close(&mut self) {
        self.lose_values();
        self.presence = Presence::default();
        for sender in self.mail.cut() {
            self.unheard(sender);
        }
        self.held.clear();
        self.lose_launcher();
    }

    fn take_mail(&mut self) -> Vec<(Ticket, Request)> {
        let mut letters = std::mem::take(&mut self.mail.inbox);
        if self.chance.permille(200) {
            self.chance.shuffle(&mut letters);
        }
        let count = if self.chance.permille(850) { letters.len() } else { self.chance.below(letters.len() + 1) };
        let mut items = 0;
        let fits = letters.iter().take(count.min(BATCH_REQUESTS_MAX)).take_while(|(_, request)| {
            items += request.items();
            items <= BATCH_ITEMS_MAX
        });
        let count = fits.count();
        self.mail.inbox = letters.split_off(count);
        letters
    }

    fn tick(&mut self, mut core: Core) -> Result<(), Found> {
        self.sweep(0);
        let mut requests = self.take_mail();
        let crash = self.spoil();
        let hits = self.hits();
        // Some are left for the time when the first are at the disk.
        let later = if self.temper.overlap > 0 && self.chance.permille(self.temper.overlap) {
            let count = self.chance.below(requests.len() + 1);
            requests.split_off(count)
        } else {
            Vec::new()
        };
        let overlap = !later.is_empty();
        self.mail.inbox.splice(0..0, later);
        let mut turn = self.begin_turn(requests);
        let decided = core.decide(self.now, self.chance.draw(), turn.requests.clone(), turn.idle);
        self.let_go();
        let mut failed = None;
        match decided {
            Err(ticked) => failed = Some(*ticked),
            Ok(decided) => {
                turn.decided(&decided);
                let mut parcel = core.seal(self.now);
                let second = if overlap { self.decide_meanwhile(&mut core) } else { None };
                // It may be on its way already, too.
                let queued = second.is_some() && self.chance.permille(500);
                let mut behind = queued.then(|| core.seal(self.now));
                self.let_go();
                self.sweep(2);
                parcel.commit();
                let left = parcel.unpack();
                let mut settled = core.settle(self.now, &mut parcel);
                if left.is_none()
                    && let Some(mut behind) = behind.take()
                {
                    self.fault("lost_behind_another");
                    behind.commit();
                    settled = core.settle(self.now, &mut behind);
                }
                match settled {
                    Err(ticked) => {
                        failed = Some(*ticked);
                        // It fails with the first.
                        turn.requests.extend(second.into_iter().flat_map(|second| second.requests));
                    }
                    Ok(()) => {
                        turn.left(left);
                        if let Some(mut second) = second {
                            self.fault("decided_while_committing");
                            self.count_hits(hits, crash);
                            // The core is further than the disk.
                            if self.end_turn(turn, Some(core), crash, true)? {
                                return Ok(());
                            }
                            core = self.core.take().expect("the engine goes on");
                            let hits = self.hits();
                            let mut parcel = behind.unwrap_or_else(|| core.seal(self.now));
                            parcel.commit();
                            match core.settle(self.now, &mut parcel) {
                                Err(ticked) => return self.end_failed(second, core, *ticked, hits, Crash::No),
                                Ok(()) => second.left(parcel.unpack()),
                            }
                            self.count_hits(hits, Crash::No);
                            return self.end_turn(second, Some(core), Crash::No, false).map(|_| ());
                        }
                    }
                }
            }
        }
        if let Some(ticked) = failed {
            return self.end_failed(turn, core, ticked, hits, crash);
        }
        self.count_hits(hits, crash);
        self.end_turn(turn, Some(core), crash, false).map(|_| ())
    }

    fn begin_turn(&mut self, requests: Vec<(Ticket, Request)>) -> Turn {
        // New work may wait behind; a heartbeat does not.
        let idle = self.mail.inbox.iter().all(|(_, request)| request.is_new_work());
        if !idle {
            self.fault("inbox_not_drained");
        }
        if self.events.is_some() {
            for (ticket, request) in &requests {
                self.tell(|| format!("{} asks {request:?}", ticket.0));
            }
        }
        self.coverage.ticks += 1;
        Turn { now: self.now, idle, requests, stopping: self.presence.stopping, ..Turn::default() }
    }

    /// What came in late is decided before the first is durable, unless it has to be read what that has done.
    fn decide_meanwhile(&mut self, core: &mut Core) -> Option<Turn> {
        let requests = self.take_mail();
        if core.wants_store(self.now, &requests) {
            self.mail.inbox.splice(0..0, requests);
            return None;
        }
        let mut turn = self.begin_turn(requests);
        let decided = core.decide(self.now, self.chance.draw(), turn.requests.clone(), turn.idle);
        turn.decided(&decided.unwrap_or_else(|_| unreachable!("what wants no store cannot fail")));
        Some(turn)
    }

    fn end_failed(&mut self, turn: Turn, core: Core, ticked: Ticked, hits: [u64; 4], crash: Crash) -> Result<(), Found> {
        self.count_hits(hits, crash);
        let fatal = ticked.fatal.is_some();
        let turn =
            Turn { answers: ticked.answers, untold: ticked.untold, reloaded: true, next: ticked.next, drained: false, ..turn };
        let core = if fatal { None } else { Some(core) };
        self.end_turn(turn, core, crash, false).map(|_| ())
    }

    /// The checkers look on, and what leaves finds its way. Whether the engine is gone.
    fn end_turn(&mut self, mut turn: Turn, core: Option<Core>, crash: Crash, ahead: bool) -> Result<bool, Found> {
        let fatal = core.is_none();
        self.count_blob_hits();
        turn.entries = self.disk.read(|durable| durable.written_after(self.model.last).into_iter().cloned().collect());
        self.fetch(std::mem::take(&mut turn.missing));
        let turn = self.watch(turn, core.as_ref().filter(|_| !ahead))?;
        if let Some(core) = &core {
            self.fill(core, &turn)?;
            self.fill_events(core, &turn)?;
        }
        let drained = turn.drained;
        if crash != Crash::No {
            self.tell(|| "the engine crashes".into());
        }
        if crash == Crash::No {
            if !turn.untold.is_empty() {
                self.mail.send(Sender::Door, Request::Undelivered { grants: turn.untold });
            }
            for (ticket, answer) in turn.answers {
                self.answer(ticket, answer);
            }
        }
        if self.presence.stopping || self.presence.perhaps_stopping {
            self.stopping_since.get_or_insert(self.step);
        }
        let cut_short = self.stopping_since.is_some_and(|since| self.step - since > STOP_STEPS_MAX);
        if fatal {
            self.fault("gave_up");
        } else if drained {
            self.fault("stop_drained");
        } else if cut_short {
            self.fault("stop_cut_short");
        }
        let gone = fatal || drained || cut_short || crash != Crash::No;
        if gone {
            self.close();
        } else {
            self.core = core;
        }
        Ok(gone)
    }

    /// What goes wrong in this tick.
    fn spoil(&mut self) -> Crash {
        let faults = self.temper.faults.clone();
        let crash = match self.chance.permille(faults.crash) {
            true => *self.chance.pick(&[Crash::BeforeCommit, Crash::AfterCommit]),
            false => Crash::No,
        };
        if crash == Crash::BeforeCommit {
            self.disk.inject(Fault::CommitLost);
        } else if self.chance.permille(faults.commit) {
            // Sometimes again and again, until the engine gives up.
            for _ in 0..if self.chance.permille(100) { 4 } else { 1 } {
                self.disk.inject(*self.chance.pick(&[Fault::CommitLost, Fault::CommitKept]));
            }
        }
        if self.chance.permille(faults.rows) {
            self.disk.inject(Fault::RowsFail);
        }
        self.spoil_blobs();
        if crash == Crash::No && self.chance.permille(faults.load / 10) {
            self.disk.inject(Fault::LoadFails);
        }
        crash
    }

    /// The blob store's own troubles.
    fn spoil_blobs(&mut self) {
        if !self.temper.runs {
            return;
        }
        let faults = self.temper.faults.clone();
        if self.chance.permille(faults.blob_put) {
            self.blobs.inject(BlobFault::PutFails);
        }
        if self.chance.permille(faults.blob_get) {
            self.blobs.inject(BlobFault::GetFails);
        }
        if self.chance.permille(faults.blob_damage) {
            let number = self.chance.below(1 << 20);
            if self.blobs.damage(number).is_some() {
                self.fault("blob_damaged");
            }
        }
    }

    /// Those that hit since the last look.
    fn count_blob_hits(&mut self) {
        let hits = [BlobFault::PutFails, BlobFault::GetFails].map(|fault| self.blobs.hits(fault));
        let before = std::mem::replace(&mut self.blob_hits, hits);
        for (at, name) in ["blob_put_failed", "blob_get_failed"].into_iter().enumerate() {
            (before[at]..hits[at]).for_each(|_| self.fault(name));
        }
    }

    fn hits(&self) -> [u64; 4] {
        Fault::ALL.map(|fault| self.disk.hits(fault))
    }

    fn count_hits(&mut self, before: [u64; 4], crash: Crash) {
        let after = self.hits();
        let lost = if crash == Crash::BeforeCommit { "crash_before_commit" } else { "commit_lost" };
        let names = [lost, "commit_kept_but_reported_failed", "load_failed", "rows_failed"];
        for (at, name) in names.into_iter().enumerate() {
            (before[at]..after[at]).for_each(|_| self.fault(name));
        }
        match crash {
            Crash::AfterCommit => self.fault("crash_after_commit"),
            Crash::BeforeCommit if before[0] == after[0] => self.fault("crash_between_ticks"),
            _ => {}
        }
    }
}
