//! Workers that speak Redis. Tasks of chosen types go out as tokens on streams; what comes back on the list of signals is what
//! became of them. Each token is a lease of the engine's, kept alive here for as long as it is out: the time budget of the task
//! is what finds a worker that has gone.
//!
//! **Invariants.** Every token that is out is a lease, and one entry of a stream, which a hash in Redis names: so a token goes
//! out once however often the line breaks. A signal leaves the list for one beside it, and that when its outcome is durable: so it is
//! never lost, and heard again after a crash, when it counts once.

mod held;
mod line;
mod place;
mod receive;
mod send;
mod signal;
mod token;

use engine::{Engine, Outside, WhereIs};
use held::Held;
use kernel::command::Command;
use kernel::limits::HEARTBEAT_MS_DEFAULT;
use kernel::names::{TypeName, WorkerName};
use line::Line;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::sleep;

pub use line::{BadAddress, address};

/// How it is called among the workers.
pub const WORKER: &str = "signaller:redis";
/// How it is called among what the server leans on.
const OUTSIDE: &str = "redis";
/// The stream of a type that has none of its own is called by this and the type.
pub const STREAM_PREFIX: &str = "wf.tasks.";
/// Seed 003's list.
pub const SIGNALS: &str = "completion_signals";
pub const SLOTS: usize = 500;

/// How long it rests when Redis cannot be reached, at first and at most.
const REST: Duration = Duration::from_millis(100);
const REST_MAX: Duration = Duration::from_secs(5);
/// How often those refused are recorded.
const NOTE_EVERY: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub struct Options {
    /// `redis://user:password@host:port/db`, or `rediss://` for TLS.
    pub url: String,
    /// The stream of each type that goes out.
    pub streams: BTreeMap<TypeName, String>,
    /// The list on which workers tell what became of tokens.
    pub signals: String,
    /// Tokens that are out at a time.
    pub slots: usize,
    /// Large inputs are put into Redis, too, as `cas:<ref>`.
    pub mirror: bool,
}

impl Options {
    /// The stream of a type that nobody gave another.
    pub fn stream_of(kind: &TypeName) -> String {
        let name = if kind.as_str() == "task" { "default" } else { kind.as_str() };
        format!("{STREAM_PREFIX}{name}")
    }
}

/// What both halves know.
struct Bridge {
    engine: Engine,
    options: Options,
    worker: WorkerName,
    types: Arc<[TypeName]>,
    held: Mutex<Held>,
    /// There is room for more.
    room: Notify,
    /// The line broke for the half that hears.
    broken: Notify,
    refused: Mutex<BTreeMap<&'static str, Refusals>>,
    counts: Mutex<BTreeMap<&'static str, u64>>,
    /// Why it cannot be used now.
    trouble: Mutex<Option<String>>,
    where_is: WhereIs,
    /// The shortest time, in ms, within which something that is out has to be heard of.
    beat: AtomicU32,
}

#[derive(Default)]
struct Refusals {
    signals: u32,
    /// What one of them said.
    example: String,
}

impl Bridge {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().expect("nobody panics with it")
    }

    fn count(&self, what: &'static str, by: usize) {
        *self.counts.lock().expect("nobody panics with it").entry(what).or_default() += by as u64;
    }

    fn refuse(&self, why: &'static str, example: &str) {
        self.count(why, 1);
        let mut refused = self.refused.lock().expect("nobody panics with it");
        let refusals = refused.entry(why).or_default();
        refusals.signals += 1;
        refusals.example = kernel::names::clip(example, 200);
    }

    /// How it is now, for whoever asks the server.
    fn tell(&self, trouble: Option<String>) {
        *self.trouble.lock().expect("nobody panics with it") = trouble;
        self.show();
    }

    fn show(&self) {
        let trouble = self.trouble.lock().expect("nobody panics with it").clone();
        let mut counts = self.counts.lock().expect("nobody panics with it").clone();
        counts.insert("out", self.held().len() as u64);
        self.engine.set_outside(
            OUTSIDE,
            Outside {
                address: line::shown(&self.options.url),
                trouble,
                counts,
                types: self.types.clone(),
                worker: self.worker.clone(),
                where_is: self.where_is.clone(),
            },
        );
    }

    /// A record for each reason, however many there were.
    async fn note_refused(&self) {
        let refused = std::mem::take(&mut *self.refused.lock().expect("nobody panics with it"));
        for (why, Refusals { signals, example }) in refused {
            tracing::warn!(why, signals, example, "signals from Redis were refused");
            let command = Command::NoteSignals { signals, reason: format!("{why}: {example}") };
            _ = self.engine.ask(engine::Request::Command(command)).await;
        }
    }
}

/// Until `stop`. What is out stays out: the next one that starts goes on with it.
pub async fn run(engine: Engine, options: Options, stop: impl Future<Output = ()>) {
    let worker = WorkerName::parse(WORKER).expect("it is a name");
    let (url, signals) = (options.url.clone(), options.signals.clone());
    // A line of its own for whoever asks, which is seldom: the others are busy.
    let where_is = WhereIs::new(move |task, fence| {
        let (url, signals) = (url.clone(), signals.clone());
        async move { Line::open(&url, &signals).await.ok()?.place((task, fence)).await.ok()?.map(|place| place.to_string()) }
    });
    let bridge = Arc::new(Bridge {
        engine,
        types: options.streams.keys().cloned().collect(),
        options,
        worker,
        held: Mutex::default(),
        room: Notify::new(),
        broken: Notify::new(),
        refused: Mutex::default(),
        counts: Mutex::default(),
        trouble: Mutex::default(),
        where_is,
        beat: AtomicU32::new(HEARTBEAT_MS_DEFAULT),
    });
    bridge.tell(Some("it has not been asked yet".into()));
    tokio::select! {
        () = stop => {}
        () = send::run(&bridge) => {}
        () = receive::run(&bridge) => {}
        () = note(&bridge) => {}
    }
    bridge.note_refused().await;
}

async fn note(bridge: &Bridge) {
    loop {
        sleep(NOTE_EVERY).await;
        bridge.note_refused().await;
    }
}

/// Rests longer each time, and says why.
struct Rest(Duration);

impl Rest {
    fn new() -> Rest {
        Rest(REST)
    }

    async fn after(&mut self, bridge: &Bridge, error: &::redis::RedisError) {
        if self.0 == REST {
            tracing::warn!(%error, "Redis cannot be used; what goes there waits");
        }
        bridge.tell(Some(error.to_string()));
        sleep(self.0).await;
        self.0 = (self.0 * 2).min(REST_MAX);
    }
}
