//! The two threads that drive the core: the writer decides, the carrier takes what was decided to the disk and hands out the
//! answers when it is there. While one parcel is at the disk, one more may be ready for it, and the writer decides the next.

use crate::clock::Clock;
use crate::engine::{Shared, Stopped};
use crate::fetch::Fetcher;
use crate::inbox::{Letter, Taken};
use crate::parcel::{Leaving, Parcel};
use crate::pulse::Phase;
use crate::request::*;
use crate::tick::{Core, Decided, Ticked};
use kernel::ids::{Fence, TaskId};
use kernel::time::Time;
use rustc_hash::FxHashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use store::{Hold, StoreError};
use tokio::sync::{oneshot, watch};

/// With fewer records it is not worth to wake another thread, as long as nobody else waits.
const CARRIED_MIN: usize = 64;

type Senders = FxHashMap<Ticket, oneshot::Sender<Answer>>;

/// A parcel and those who wait for it.
pub struct Sent {
    parcel: Parcel,
    senders: Senders,
}

pub struct Writer {
    shared: Arc<Shared>,
    core: Core,
    clock: Clock,
    /// Of those who have not been answered.
    senders: Senders,
    /// Polls whose caller is gone. They stay known until what was decided is sealed: what they were granted has to find that
    /// nobody takes it.
    gone: Vec<Ticket>,
    /// Of the letters that are being decided.
    holds: Vec<Hold>,
    /// When to decide again if nothing comes.
    next: Option<Time>,
    /// What goes on by itself waits for a parcel to be back.
    ahead: bool,
    /// Memory is to be read again.
    reload: bool,
    stop_limit: Duration,
    house: Arc<House>,
    carrier: SyncSender<Sent>,
    carrier_thread: JoinHandle<()>,
}

/// Where things leave.
struct House {
    shared: Arc<Shared>,
    fetcher: Fetcher,
}

impl Writer {
    pub fn start(
        shared: Arc<Shared>,
        core: Core,
        clock: Clock,
        fetcher: Fetcher,
        stop_limit: Duration,
        announce: Arc<watch::Sender<Option<Stopped>>>,
    ) -> Result<(), StoreError> {
        let house = Arc::new(House { shared: shared.clone(), fetcher });
        // As many as may be away: the writer never waits here.
        let (carrier, parcels) = sync_channel(2);
        let thread = |name: &str| std::thread::Builder::new().name(name.into());
        let failed = |error| StoreError::Failed(format!("cannot start the writer's threads: {error}"));
        let carries = house.clone();
        let carrier_thread = thread("carrier").spawn(move || carry(&carries, &parcels)).map_err(failed)?;
        let (senders, gone, next) = (Senders::default(), Vec::new(), Some(Time::ZERO));
        let writer = Writer {
            shared: shared.clone(),
            core,
            clock,
            senders,
            gone,
            holds: Vec::new(),
            next,
            ahead: false,
            reload: false,
            stop_limit,
            house,
            carrier,
            carrier_thread,
        };
        let closing = Closing(shared.clone());
        thread("writer")
            .spawn(move || {
                let _closing = closing;
                announce.send_replace(Some(writer.run()))
            })
            .map_err(failed)?;
        Ok(())
    }

    fn run(mut self) -> Stopped {
        let mut chance = RandomState::new().hash_one(0);
        let mut stop_by: Option<Instant> = None;
        let stopped = loop {
            let wait = self.next.map(|at| Duration::from_micros((at.us() - self.clock.now().us()).max(0) as u64));
            let wait = match stop_by.map(|by| by.saturating_duration_since(Instant::now())) {
                Some(left) => Some(wait.map_or(left, |wait| wait.min(left))),
                None => wait,
            };
            self.turn_to(Phase::Resting);
            let Taken { letters, idle, back, lost } = self.shared.inbox.take(wait);
            self.turn_to(Phase::Deciding);
            if lost {
                break carrier_died();
            }
            if let Some(ending) = back.into_iter().find_map(|sent| self.settle(sent)) {
                break ending;
            }
            if letters.iter().any(|letter| matches!(letter.request, Request::Stop)) {
                stop_by.get_or_insert_with(|| Instant::now() + self.stop_limit);
            }
            let requests = self.open(letters);
            if let Some(ending) = self.reload() {
                break ending;
            }
            let now = self.clock.now();
            let mut drained = false;
            if !requests.is_empty() || self.next.is_some_and(|next| next <= now) {
                if self.core.wants_store(now, &requests)
                    && let Some(ending) = self.flush()
                {
                    break ending;
                }
                chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                match self.core.decide(now, chance, requests, idle) {
                    Ok(decided) => Decided { next: self.next, ahead: self.ahead, drained } = decided,
                    Err(failed) => {
                        if let Some(ending) = self.tell(*failed) {
                            break ending;
                        }
                    }
                }
            }
            // What was decided holds them itself by now.
            self.holds.clear();
            self.shared.pulse.may_be_idle.store(self.core.may_be_idle(), Ordering::Relaxed);
            let over = stop_by.is_some_and(|by| Instant::now() >= by);
            let ending =
                if drained || over || (self.core.is_full() && !self.core.is_ready()) { self.flush() } else { self.send() };
            if let Some(ending) = ending {
                break ending;
            }
            if drained {
                break Stopped::Drained;
            }
            if over {
                break Stopped::Limit;
            }
        };
        // What became durable last is still being handed out.
        drop(self.carrier);
        _ = self.carrier_thread.join();
        // Whoever still waits learns it by its answer's channel closing.
        drop(self.shared.inbox.close());
        self.shared.stream.close();
        stopped
    }

    fn open(&mut self, letters: Vec<Letter>) -> Vec<(Ticket, Request)> {
        let mut requests = Vec::with_capacity(letters.len());
        for Letter { ticket, request, answer, holds } in letters {
            match request {
                Request::Gone { poll } => self.gone.push(poll),
                Request::Reload => self.reload = true,
                _ => {}
            }
            answer.map(|answer| self.senders.insert(ticket, answer));
            self.holds.extend(holds);
            requests.push((ticket, request));
        }
        requests
    }

    fn turn_to(&self, phase: Phase) {
        self.shared.pulse.writer.turn_to(phase);
    }

    /// Reads memory again, if that is wanted.
    fn reload(&mut self) -> Option<Stopped> {
        if !std::mem::take(&mut self.reload) {
            return None;
        }
        if let Some(ending) = self.flush() {
            return Some(ending);
        }
        let reloaded = self.core.reload(self.clock.now());
        self.tell(reloaded)
    }

    /// Sends what is open on its way, unless it is to stay open until others are back.
    fn send(&mut self) -> Option<Stopped> {
        if !self.core.is_ready() {
            return None;
        }
        let is_first = !self.core.is_away();
        let sent = self.seal();
        if is_first && sent.parcel.records() < CARRIED_MIN && self.shared.inbox.is_empty() {
            return self.carry(sent);
        }
        sent.parcel.write_out();
        self.carrier.send(sent).err().map(|_| carrier_died())
    }

    /// Waits until everything that was decided is settled.
    fn flush(&mut self) -> Option<Stopped> {
        while self.core.is_away() {
            let Some(sent) = self.shared.inbox.wait_for_carrier() else { return Some(carrier_died()) };
            if let Some(ending) = self.settle(sent) {
                return Some(ending);
            }
        }
        if !self.core.is_open() {
            return None;
        }
        let sent = self.seal();
        self.carry(sent)
    }

    fn seal(&mut self) -> Sent {
        let parcel = self.core.seal(self.clock.now());
        let tickets = parcel.answers.iter().map(|(ticket, _)| ticket);
        let senders = tickets.filter_map(|ticket| Some((*ticket, self.senders.remove(ticket)?))).collect();
        for poll in self.gone.drain(..) {
            self.senders.remove(&poll);
        }
        Sent { parcel, senders }
    }

    /// Commits on this thread.
    fn carry(&mut self, mut sent: Sent) -> Option<Stopped> {
        self.turn_to(Phase::Committing);
        sent.parcel.commit();
        self.turn_to(Phase::Dispatching);
        if let Some(leaving) = sent.parcel.unpack() {
            let answers = self.house.publish(leaving);
            self.house.dispatch(answers, &mut sent.senders);
        }
        self.turn_to(Phase::Deciding);
        self.settle(sent)
    }

    fn settle(&mut self, mut sent: Sent) -> Option<Stopped> {
        if std::mem::take(&mut self.ahead) {
            self.next = Some(Time::ZERO);
        }
        // If it failed, these have not been answered.
        self.senders.extend(sent.senders);
        let failed = self.core.settle(self.clock.now(), &mut sent.parcel).err()?;
        self.tell(*failed)
    }

    /// A commit failed: nobody is told yes, and what was loaded again is looked at as soon as it says.
    fn tell(&mut self, failed: Ticked) -> Option<Stopped> {
        self.next = failed.next;
        self.house.tell(failed, &mut self.senders)
    }
}

fn carrier_died() -> Stopped {
    Stopped::Failed("the carrier's thread ended unexpectedly".into())
}

/// Nothing is committed any more, whichever way the writer ends.
struct Closing(Arc<Shared>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.rollups.close();
        self.0.pulse.close();
        self.0.endings.close();
    }
}

/// Tells the writer, whichever way the carrier ends.
struct Farewell<'a>(&'a House);

impl Drop for Farewell<'_> {
    fn drop(&mut self) {
        self.0.shared.inbox.lose_carrier();
    }
}

fn carry(house: &House, parcels: &Receiver<Sent>) {
    let _farewell = Farewell(house);
    let beat = &house.shared.pulse.carrier;
    while let Ok(mut sent) = {
        beat.turn_to(Phase::Resting);
        parcels.recv()
    } {
        beat.turn_to(Phase::Committing);
        sent.parcel.commit();
        beat.turn_to(Phase::Dispatching);
        let leaving = sent.parcel.unpack();
        let Some(leaving) = leaving else {
            house.shared.inbox.bring_back(sent);
            continue;
        };
        // Before the next can be: listeners hear of records in their order.
        let answers = house.publish(leaving);
        let mut senders = std::mem::take(&mut sent.senders);
        // The next parcel is made while the answers are handed out.
        house.shared.inbox.bring_back(sent);
        house.dispatch(answers, &mut senders);
    }
}

impl House {
    /// Gives back the answers, which are still to be handed out.
    fn publish(&self, leaving: Leaving) -> Vec<(Ticket, Answer)> {
        self.fetcher.fetch(leaving.missing);
        if !leaving.entries.is_empty() {
            self.shared.rollups.ring();
        }
        self.shared.endings.tell(&leaving.entries);
        self.shared.stream.publish(leaving.entries);
        leaving.answers
    }

    fn tell(&self, failed: Ticked, senders: &mut Senders) -> Option<Stopped> {
        if let Some(why) = &failed.reloaded {
            tracing::error!(why, "a commit failed; memory was loaded again from the store");
            self.shared.rollups.ring();
            self.shared.stream.unsure();
            self.shared.endings.unsure();
        }
        self.give_back(failed.untold);
        self.dispatch(failed.answers, senders);
        failed.fatal.map(|error| Stopped::Failed(error.to_string()))
    }

    fn dispatch(&self, answers: Vec<(Ticket, Answer)>, senders: &mut Senders) {
        // Work first: a worker is on the way of the task, whoever added it only waits to hear of it.
        let (work, rest): (Vec<_>, Vec<_>) = answers.into_iter().partition(|(_, answer)| matches!(answer, Answer::Worked(_)));
        for (ticket, answer) in work.into_iter().chain(rest) {
            let Some(sender) = senders.remove(&ticket) else { continue };
            if let Err(untaken) = sender.send(answer) {
                self.give_back(untaken.grants().collect());
            }
        }
    }

    /// Leases that nobody got to know of go back in, to be released unburnt.
    fn give_back(&self, grants: Vec<(TaskId, Fence)>) {
        if !grants.is_empty() {
            let ticket = Ticket(self.shared.tickets.fetch_add(1, Ordering::Relaxed));
            let request = Request::Undelivered { grants };
            _ = self.shared.inbox.put(Letter { ticket, request, answer: None, holds: Vec::new() });
        }
    }
}
