//! The engine as the doors see it: a handle to ask through. Dropping a poll's future is noticed, so that what it was
//! granted goes back unburnt.

use crate::blobs::{PutAway, content};
use crate::bulk::{self, Bell};
use crate::clock::Clock;
use crate::cron;
use crate::deliver::{Eyes, Filled, Filler, Unread};
use crate::endings::{Ending, Endings};
use crate::events::Reception;
use crate::fetch::Fetcher;
use crate::flows::Library;
use crate::inbox::{Inbox, Letter, NotTaken};
use crate::launch;
use crate::logs::{self, Logs};
use crate::outside::Outsides;
use crate::pulse::Pulse;
use crate::request::*;
use crate::retention::{self, Retention};
use crate::revision::{Followed, Revision};
use crate::rollups::{self, Desk, Projector, RollupState};
use crate::stream::{Stream, Subscription};
use crate::sweeper::{self, Sweeping};
use crate::tick::Core;
use crate::values::Values;
use crate::watchdog::{self, Kennel, WatchdogOptions, WatchdogState};
use crate::writer::Writer;
use kernel::command::{Command, Grant, Outcome};
use kernel::ids::{Fence, RecordSeq, TaskId};
use kernel::ir::Ir;
use kernel::names::WorkflowName;
use kernel::record::{Owner, Payload};
use kernel::run::Run;
use kernel::task::Task;
use kernel::time::Time;
use kernel::workflow::Workflow;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use store::{BlobStore, Reader, Store, StoreError};
use thiserror::Error;
use tokio::sync::{oneshot, watch};

#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Pairs of eyes on the store, two or more; queries beyond that wait for one.
    pub readers: usize,
    /// How long running work may go on after a stop.
    pub stop_limit: Duration,
    /// `None`: runs that have ended are kept until someone deletes them.
    pub retention: Option<Retention>,
    /// How long statistics by the minute are kept.
    pub rollups_age: Duration,
    pub watchdog: WatchdogOptions,
    /// How long a blob stays that was put and is mentioned by nobody. `None`: none is ever removed.
    pub blobs_grace: Option<Duration>,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            readers: 4,
            stop_limit: Duration::from_secs(30),
            retention: Some(Retention::default()),
            rollups_age: Duration::from_secs(30 * 24 * 3_600),
            watchdog: WatchdogOptions::default(),
            blobs_grace: Some(Duration::from_secs(24 * 3_600)),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refused {
    #[error("the inbox is full")]
    Full { retry_after_ms: u64 },
    #[error("the engine has stopped")]
    Down,
}

/// How the engine ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// Everything that ran had finished.
    Drained,
    /// The limit came first; what still runs keeps its lease and its attempt.
    Limit,
    /// The store failed for good.
    Failed(String),
    /// Something stood still, and nothing helped; what runs keeps its lease and its attempt.
    Hung(String),
}

pub(crate) struct Shared {
    pub inbox: Inbox,
    pub stream: Stream,
    pub endings: Endings,
    pub tickets: AtomicU64,
    pub rollups: Arc<Desk>,
    pub logs: Logs,
    pub pulse: Arc<Pulse>,
    kennel: Arc<Kennel>,
    bell: Bell,
    readers: Mutex<Vec<Box<dyn Reader>>>,
    reader_free: Condvar,
    describe: String,
    blobs: Arc<dyn BlobStore>,
    pub sweeping: Sweeping,
    library: Arc<Library>,
    values: Arc<Values>,
    unread: Unread,
    reception: Reception,
    outsides: Outsides,
    up_since: Instant,
    stopped: watch::Receiver<Option<Stopped>>,
}

#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

impl Engine {
    /// Loads the store and starts the writer.
    pub fn open(mut store: Box<dyn Store>, blobs: Arc<dyn BlobStore>, options: EngineOptions) -> Result<Engine, StoreError> {
        let mut clock = Clock::start(Time::from_us(store.last_at_us()?));
        let describe = store.describe();
        let readers = (0..options.readers.max(2)).map(|_| store.reader()).collect::<Result<Vec<_>, _>>()?;
        let projector = Projector::new(store.reader()?, store.rollups()?, options.rollups_age);
        let logs = Logs::new(store.logs()?);
        let core = Core::open(store, blobs.clone(), 0, clock.now())?;
        let (library, values) = (core.flows().library.clone(), core.flows().values.clone());
        let under_way = core.state().bulks_open().any(|bulk| bulk.work().is_over_runs());
        let registry = core.state().registry();
        let text = core.reader()?.payloads(&[registry.last()])?.pop().flatten();
        let reception = Reception::open(Some(registry), text);
        let (announce, stopped) = watch::channel(None);
        let shared = Arc::new(Shared {
            inbox: Inbox::default(),
            stream: Stream::new(),
            endings: Endings::default(),
            tickets: AtomicU64::new(1),
            rollups: Arc::default(),
            logs,
            pulse: Arc::default(),
            kennel: Arc::default(),
            bell: Bell::default(),
            readers: Mutex::new(readers),
            reader_free: Condvar::new(),
            describe,
            blobs,
            sweeping: Sweeping::new(options.blobs_grace),
            library,
            values,
            unread: Unread::default(),
            reception,
            outsides: Outsides::default(),
            up_since: Instant::now(),
            stopped,
        });
        let engine = Engine { shared: shared.clone() };
        let fetcher = Fetcher::start(engine.clone())?;
        rollups::start(shared.rollups.clone(), projector)?;
        logs::start(engine.clone())?;
        let retention = options.retention;
        let announce = Arc::new(announce);
        let (pulse, kennel) = (shared.pulse.clone(), shared.kennel.clone());
        watchdog::start(engine.clone(), pulse, kennel, options.watchdog, Arc::downgrade(&announce))?;
        Writer::start(shared, core, clock, fetcher, options.stop_limit, announce)?;
        bulk::start(engine.clone(), under_way)?;
        launch::start(engine.clone())?;
        cron::start(engine.clone(), retention.map(|retention| retention.events))?;
        if let Some(retention) = retention {
            retention::start(engine.clone(), retention)?;
        }
        sweeper::start(engine.clone())?;
        Ok(engine)
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Never for who has a reader in hand: they may be far away, and others want to read meanwhile.
    pub fn blobs(&self) -> &dyn BlobStore {
        assert!(!READS.get(), "blobs are asked for when the reader is given back");
        &*self.shared.blobs
    }

    /// The payload of a record, out of the blob store if it lies there. Blocks; not for an async thread.
    pub fn payload(&self, seq: RecordSeq) -> Result<Option<Payload>, StoreError> {
        let found = self.read(|reader| Ok(reader.payloads(&[seq])?.pop().flatten()))?;
        self.content(found)
    }

    /// What that is, or stands for.
    pub fn content(&self, payload: Option<Payload>) -> Result<Option<Payload>, StoreError> {
        payload.map_or(Ok(None), |payload| content(self.blobs(), payload))
    }

    /// What workers say while they work.
    pub fn logs(&self) -> &Logs {
        &self.shared.logs
    }

    /// The store as it was opened; how it is now is in the status.
    pub fn describe(&self) -> &str {
        &self.shared.describe
    }

    pub async fn ask(&self, request: Request) -> Result<Answer, Refused> {
        let (_, answer) = self.send(request)?;
        answer.await.map_err(|_| Refused::Down)
    }

    /// For callers without a runtime.
    pub fn ask_blocking(&self, request: Request) -> Result<Answer, Refused> {
        let (_, answer) = self.send(request)?;
        answer.blocking_recv().map_err(|_| Refused::Down)
    }

    /// Like `ask`, but a caller that goes away takes its poll with it.
    pub async fn work(&self, work: Work) -> Result<Answer, Refused> {
        let (ticket, answer) = self.send(Request::Work(work))?;
        let mut guard = PollGuard { engine: self, ticket, answer: Some(answer) };
        let answer = guard.answer.as_mut().expect("it is set above").await.map_err(|_| Refused::Down);
        guard.answer = None;
        answer
    }

    fn send(&self, request: Request) -> Result<(Ticket, oneshot::Receiver<Answer>), Refused> {
        let ticket = Ticket(self.shared.tickets.fetch_add(1, Ordering::Relaxed));
        let (sender, receiver) = oneshot::channel();
        let rings = request.starts_run_bulk();
        let holds = request.blobs().into_iter().map(|id| self.blobs().holds().hold(id)).collect();
        match self.shared.inbox.put(Letter { ticket, request, answer: Some(sender), holds }) {
            Ok(()) => {
                // Behind it in the inbox, so whoever asks for bulks now hears of this one.
                if rings {
                    self.shared.bell.ring();
                }
                Ok((ticket, receiver))
            }
            Err(NotTaken::Full) => Err(Refused::Full { retry_after_ms: 100 }),
            Err(NotTaken::Closed) => Err(Refused::Down),
        }
    }

    /// Sends, for whoever looks for the answer later.
    pub(crate) fn begin(&self, request: Request) -> Result<oneshot::Receiver<Answer>, Refused> {
        self.send(request).map(|(_, answer)| answer)
    }

    /// Sends without waiting for the answer.
    pub(crate) fn tell(&self, request: Request) {
        let ticket = Ticket(self.shared.tickets.fetch_add(1, Ordering::Relaxed));
        _ = self.shared.inbox.put(Letter { ticket, request, answer: None, holds: Vec::new() });
    }

    /// Puts the inputs to grants, from memory alone; `None`: something has to be read.
    pub fn fill(&self, deliveries: &[Delivery]) -> Option<Filled> {
        self.filler().remembered(deliveries).map(|filled| self.told(filled))
    }

    /// The same, reading what is not in memory. Blocks; not for an async thread.
    pub fn fill_reading(&self, deliveries: &[Delivery]) -> Result<Filled, StoreError> {
        // Nobody waits for a pair of eyes while this is only thinking.
        if let Some(filled) = self.filler().worked_out(deliveries) {
            return Ok(self.told(filled));
        }
        let mut lend = |query: &mut dyn FnMut(&mut dyn Reader)| self.read_leaving(0, query);
        let filled = self.filler().read(deliveries, Eyes(&mut lend))?;
        Ok(self.told(filled))
    }

    /// The input of a task as a worker gets it; `None` where it cannot be made. Blocks; not for an async thread.
    pub fn given(&self, task: &Task) -> Result<Option<Payload>, StoreError> {
        let card = task.card();
        let grant = Grant {
            task: card.id(),
            // Nobody's lease, so that nothing comes of it when it fails.
            fence: Fence(RecordSeq::NONE),
            queue: card.route().queue().clone(),
            kind: card.route().kind().clone(),
            attempt: card.attempt(),
            heartbeat_ms: 0,
            budget_ms: 0,
            created_at: card.created_at(),
            input: card.input(),
            idempotency_key: None,
            node: card.node().map(|at| (Box::new(at.clone()), card.generation())),
            trigger: card.trigger().map(|trigger| (Box::new(trigger.clone()), card.last())),
        };
        let filled = self.fill_reading(&[Delivery { grant, input: None }])?;
        Ok(filled.deliveries.into_iter().next().and_then(|delivery| delivery.input))
    }

    fn filler(&self) -> Filler<'_> {
        let Shared { library, values, blobs, unread, up_since, .. } = &*self.shared;
        let now_ms = u64::try_from(up_since.elapsed().as_millis()).unwrap_or(u64::MAX);
        Filler { library, values, blobs: &**blobs, unread, now_ms }
    }

    /// A task whose input cannot be made fails, whoever it was granted to; what was left goes back.
    fn told(&self, filled: Filled) -> Filled {
        if !filled.left.is_empty() {
            self.undelivered(&filled.left);
        }
        for (delivery, failure) in &filled.failed {
            let outcome = Outcome::Failed { failure: failure.clone(), retryable: false, retry_after_ms: None };
            let (task, fence) = (delivery.grant.task, delivery.grant.fence);
            self.tell(Request::Command(Command::Finish { task, fence, outcome, jitter: 0 }));
        }
        filled
    }

    /// A version of a workflow, or its newest, with what it compiles to. Blocks; not for an async thread.
    pub fn workflow(&self, name: &WorkflowName, version: Option<u32>) -> Result<Option<(Workflow, Arc<Ir>)>, StoreError> {
        let Some(row) = self.read(|reader| reader.workflow(name, version))? else { return Ok(None) };
        let workflow = Workflow::from_row(&row.values)?;
        let programs = self.shared.library.compile(&workflow).map_err(StoreError::Failed)?;
        Ok(Some((workflow, programs.ir().clone())))
    }

    /// A text that a run of this version follows, compiled.
    pub fn compile_revision(&self, name: &WorkflowName, version: u32, text: &str) -> Result<Arc<Ir>, String> {
        self.shared.library.compile_revision(name, version, text).map(|programs| programs.ir().clone())
    }

    /// The text that a run follows, or the one of this revision; `None`: there is no such revision, or its text is gone.
    /// Blocks; not for an async thread.
    pub fn definition(&self, run: &Run, revision: Option<u32>) -> Result<Option<Followed>, StoreError> {
        let revision = revision.unwrap_or(run.follows());
        let (name, version) = (&run.spec().workflow, run.spec().version);
        if revision == 0 {
            let found = self.workflow(name, Some(version))?;
            let followed = |(workflow, ir): (Workflow, _)| Followed { text: workflow.text().clone(), ir, revision };
            return Ok(found.map(followed));
        }
        let Some(record) = run.patch(revision) else { return Ok(None) };
        let found = self.payload(record)?;
        let Some(Revision { text, .. }) = found.as_ref().and_then(Revision::read) else { return Ok(None) };
        let programs = self.shared.library.compile_revision(name, version, &text).map_err(StoreError::Failed)?;
        Ok(Some(Followed { text: text.into(), ir: programs.ir().clone(), revision }))
    }

    /// What a changed text of a run was compiled to, as it is kept for all who ask for that text.
    pub fn revised(&self, run: &Run, text: &str, ir: Ir) -> Arc<Ir> {
        self.shared.library.shelve_revision(&run.spec().workflow, run.spec().version, text, ir)
    }

    /// Puts a large output into the blob store, durable when it returns, and gives what stands for it. Blocks.
    pub fn put_away(&self, output: Payload) -> Result<PutAway, StoreError> {
        Ok(crate::blobs::stand_in(&*self.shared.blobs, &output)?.unwrap_or_else(|| PutAway::inline(output)))
    }

    /// These grants were answered but could not be handed over.
    pub fn undelivered(&self, deliveries: &[Delivery]) {
        let grants = deliveries.iter().map(|delivery| (delivery.grant.task, delivery.grant.fence)).collect();
        self.tell(Request::Undelivered { grants });
    }

    /// Keeps leases alive for whoever cannot at the moment.
    pub fn beat(&self, leases: Vec<(TaskId, Fence)>) {
        self.tell(Request::Beat { leases });
    }

    pub fn subscribe(&self) -> Subscription {
        self.shared.stream.subscribe()
    }

    /// Tells when that task or run ends, from now on.
    pub fn ending(&self, owner: Owner) -> Ending {
        self.shared.endings.wait_for(owner)
    }

    /// Runs a query on one of the read-only connections. Blocks; not for an async thread.
    pub fn read<T>(&self, query: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.read_leaving(1, query)
    }

    /// The same for what a worker waits for: one connection is kept for such, however many lists are being read.
    pub fn read_first<T>(&self, query: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.read_leaving(0, query)
    }

    fn read_leaving<T>(&self, left: usize, query: impl FnOnce(&mut dyn Reader) -> T) -> T {
        // Who waited for a second one might wait for itself.
        assert!(!READS.replace(true), "a thread has one reader at a time");
        let _reads = Reads;
        let free = self.shared.readers.lock().expect("no holder of the readers panics");
        let mut free = self.shared.reader_free.wait_while(free, |free| free.len() <= left).expect("as above");
        let reader = free.pop().expect("more than none are free");
        drop(free);
        // Given back also when the query panics, or the pool would run dry.
        let mut lent = Lent { shared: &self.shared, reader: Some(reader) };
        query(&mut **lent.reader.as_mut().expect("it is set above"))
    }

    /// What stands still, if anything does.
    pub fn watchdog(&self) -> WatchdogState {
        self.shared.kennel.state()
    }

    /// How far the statistics are.
    pub fn rollups(&self) -> RollupState {
        self.shared.rollups.state()
    }

    /// The same, after all that is committed now is in them, or after `within`. Blocks; not for an async thread.
    pub fn rollups_now(&self, within: Duration) -> Result<RollupState, StoreError> {
        let newest = self.read(|reader| reader.last_record())?;
        Ok(self.shared.rollups.reach(newest, within))
    }

    /// Lease no more, let what runs finish up to the limit, then end.
    pub async fn stop(&self) -> Stopped {
        _ = self.ask(Request::Stop).await;
        self.stopped().await
    }

    pub async fn stopped(&self) -> Stopped {
        let mut stopped = self.shared.stopped.clone();
        match stopped.wait_for(Option::is_some).await {
            Ok(how) => how.clone().expect("it was waited for"),
            Err(_) => Stopped::Failed("the writer's thread ended unexpectedly".into()),
        }
    }

    pub(crate) fn reception(&self) -> &Reception {
        &self.shared.reception
    }

    pub(crate) fn outsides(&self) -> &Outsides {
        &self.shared.outsides
    }

    pub(crate) fn bell(&self) -> &Bell {
        &self.shared.bell
    }

    pub fn is_up(&self) -> bool {
        self.shared.stopped.borrow().is_none() && self.shared.stopped.has_changed().is_ok()
    }
}

thread_local! {
    /// This thread has a reader, or waits for one.
    static READS: Cell<bool> = const { Cell::new(false) };
}

struct Reads;

impl Drop for Reads {
    fn drop(&mut self) {
        READS.set(false);
    }
}

struct Lent<'a> {
    shared: &'a Shared,
    reader: Option<Box<dyn Reader>>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if let (Some(reader), Ok(mut free)) = (self.reader.take(), self.shared.readers.lock()) {
            free.push(reader);
            // All: the one that is woken may be one that has to leave a connection free.
            self.shared.reader_free.notify_all();
        }
    }
}

struct PollGuard<'a> {
    engine: &'a Engine,
    ticket: Ticket,
    answer: Option<oneshot::Receiver<Answer>>,
}

impl Drop for PollGuard<'_> {
    fn drop(&mut self) {
        let Some(mut answer) = self.answer.take() else { return };
        answer.close();
        match answer.try_recv() {
            Ok(Answer::Worked(worked)) if !worked.deliveries.is_empty() => self.engine.undelivered(&worked.deliveries),
            Ok(_) => {}
            Err(_) => self.engine.tell(Request::Gone { poll: self.ticket }),
        }
    }
}
