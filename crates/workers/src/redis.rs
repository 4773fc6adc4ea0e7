//! Workers that speak Redis. Tasks of chosen types go out as tokens on streams; what comes back on the list of signals is what
//! became of them. Each token is a lease of the engine's, kept alive here for as long as it is out: the time budget of the task
//! is what finds a worker that has gone.
//!
//! **Invariants.** Every token that is out is a lease, and one entry of a stream, which a hash in Redis names: so a token goes
//! out once however often the line breaks. A signal leaves the list for one beside it, and that when its outcome is durable: so it is
//! never lost, and heard again after a crash, when it counts once.

mod held;
mod keep;
mod line;
mod place;
mod receive;
mod scripts;
mod send;
mod signal;
mod token;

use ::redis::RedisError;
use engine::{Engine, Outside, Refused, WhereIs};
use futures_util::future::join_all;
use held::Held;
use kernel::command::Command;
use kernel::limits::HEARTBEAT_MS_DEFAULT;
use kernel::names::{TypeName, WorkerName};
use line::Line;
use send::Going;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicU32, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use store::BlobId;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep};

pub use line::{Address, BadAddress};

/// How it is called among the workers: by this and a type, since each type has a bound of its own. The engine does not wait for it when
/// it stops: what is out stays out.
const WORKER: &str = "signaller:redis/";
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
/// A stream that cannot be written is left alone for so long.
const SHUT: Duration = Duration::from_secs(10);

#[derive(Clone, Debug)]
pub struct Options {
    /// `redis://user:password@host:port/db`, or `rediss://` for TLS.
    pub url: Address,
    /// The stream of each type that goes out.
    pub streams: BTreeMap<TypeName, String>,
    /// The list on which workers tell what became of tokens.
    pub signals: String,
    /// Tokens of one type that are out at a time.
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

    /// A type whose stream has a name that it cannot have, and why.
    pub fn wrong_stream(&self) -> Option<(&TypeName, String)> {
        let [hearing, out, mirror] = line::own_keys(&self.signals);
        self.streams.iter().find_map(|(kind, stream)| {
            let why = match stream.as_str() {
                "" => "its name is empty".to_owned(),
                taken if [&self.signals, &hearing, &out].contains(&stream) => {
                    format!("`{taken}` is the list of signals, or beside it")
                }
                taken if taken.starts_with(&mirror) || taken.starts_with("cas:") => format!("`{taken}` is where values lie"),
                _ => return None,
            };
            Some((kind, why))
        })
    }
}

/// Whether a lease of this worker is a token on a stream.
pub fn is_bridge(worker: &str) -> bool {
    worker.starts_with(WORKER)
}

/// Tasks of one type, on their way to their stream.
struct Outlet {
    kind: TypeName,
    stream: String,
    worker: WorkerName,
    /// There is room for more.
    room: Notify,
    /// The shortest time, in ms, within which something that is out has to be heard of.
    beat: AtomicU32,
    shut: Mutex<Option<Shut>>,
    /// What is to go out when another token of the same node is over.
    withheld: Mutex<Vec<Going>>,
    /// How many are asked for at most: large inputs do not all fit into one answer, and what does not fit goes back.
    fits: AtomicUsize,
}

/// Nothing could go out of it lately.
#[derive(Clone)]
struct Shut {
    /// Nothing is asked for until then, and then one, until that goes out.
    until: Instant,
    why: String,
}

impl Outlet {
    fn new(kind: &TypeName, stream: &str) -> Outlet {
        let worker = WorkerName::parse(&format!("{WORKER}{kind}"));
        // A type's name may be as long as a worker's.
        let worker = worker.or_else(|_| WorkerName::parse(&format!("{WORKER}{}", BlobId::of(kind.as_str().as_bytes()))));
        Outlet {
            kind: kind.clone(),
            stream: stream.to_owned(),
            worker: worker.expect("it is a name"),
            room: Notify::new(),
            beat: AtomicU32::new(HEARTBEAT_MS_DEFAULT),
            shut: Mutex::default(),
            withheld: Mutex::default(),
            fits: AtomicUsize::new(usize::MAX),
        }
    }

    fn withheld(&self) -> MutexGuard<'_, Vec<Going>> {
        self.withheld.lock().expect("nobody panics with it")
    }

    fn is_shut(&self) -> Option<Shut> {
        self.shut.lock().expect("nobody panics with it").clone()
    }
}

#[derive(Copy, Clone)]
enum Half {
    Sending,
    Hearing,
}

impl fmt::Display for Half {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Half::Sending => "for what goes there",
            Half::Hearing => "for what comes from there",
        })
    }
}

/// What both halves know.
struct Bridge {
    engine: Engine,
    options: Options,
    types: Arc<[TypeName]>,
    outlets: BTreeMap<TypeName, Outlet>,
    held: Arc<Mutex<Held>>,
    /// What is sent goes here; none while Redis cannot be reached.
    line: watch::Sender<Option<Line>>,
    /// What somebody met on that line, who cannot go on with it.
    broken: Mutex<Option<RedisError>>,
    broke: Notify,
    refused: Mutex<BTreeMap<&'static str, Refusals>>,
    counts: Mutex<BTreeMap<&'static str, u64>>,
    /// Why it cannot be used now, for each half.
    troubles: Mutex<[Option<String>; 2]>,
    where_is: WhereIs,
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

    /// The line that is sent on cannot be used any more.
    fn break_line(&self, error: RedisError) {
        *self.broken.lock().expect("nobody panics with it") = Some(error);
        self.broke.notify_one();
    }

    /// How a half is now, for whoever asks the server.
    fn tell(&self, half: Half, trouble: Option<String>) {
        let was = std::mem::replace(&mut self.troubles.lock().expect("nobody panics with it")[half as usize], trouble.clone());
        if was != trouble {
            self.show();
        }
    }

    /// How an outlet is now.
    fn set_shut(&self, outlet: &Outlet, shut: Option<Shut>) {
        *outlet.shut.lock().expect("nobody panics with it") = shut;
        self.show();
    }

    /// Each trouble once: what breaks the line is met by both halves.
    fn trouble(&self) -> Option<String> {
        let mut told: Vec<String> = Vec::new();
        for trouble in self.troubles.lock().expect("nobody panics with it").iter().flatten().cloned() {
            if !told.contains(&trouble) {
                told.push(trouble);
            }
        }
        (!told.is_empty()).then(|| told.join("; "))
    }

    fn show(&self) {
        let mut counts = self.counts.lock().expect("nobody panics with it").clone();
        counts.insert("out", self.held().len() as u64);
        self.engine.set_outside(
            OUTSIDE,
            Outside {
                address: self.options.url.shown().to_owned(),
                trouble: self.trouble(),
                shut: self.outlets.values().filter_map(|outlet| Some((outlet.kind.clone(), outlet.is_shut()?.why))).collect(),
                counts,
                types: self.types.clone(),
                where_is: self.where_is.clone(),
            },
        );
    }

    /// A record for each reason, however many there were, before they are let go.
    async fn note_refused(&self) {
        let refused = std::mem::take(&mut *self.refused.lock().expect("nobody panics with it"));
        for (why, Refusals { signals, example }) in refused {
            tracing::warn!(why, signals, example, "signals from Redis were refused");
            let command = Command::NoteSignals { signals, reason: format!("{why}: {example}") };
            loop {
                match self.engine.ask(engine::Request::Command(command.clone())).await {
                    Ok(engine::Answer::Reply(_)) => break,
                    Err(Refused::Down) => return std::future::pending().await,
                    Ok(_) | Err(Refused::Full { .. }) => sleep(REST).await,
                }
            }
        }
    }
}

/// Until `stop`. What is out stays out: the next one that starts goes on with it.
pub async fn run(engine: Engine, options: Options, stop: impl Future<Output = ()>) {
    let (url, signals, held) = (options.url.clone(), options.signals.clone(), Arc::<Mutex<Held>>::default());
    let known = held.clone();
    // A line of its own for whoever asks, which is seldom: the others are busy.
    let where_is = WhereIs::new(move |task, fence| {
        let (url, signals, lease) = (url.clone(), signals.clone(), (task, fence));
        let waits = !known.lock().expect("nobody panics with it").behind_others([lease].into_iter()).is_empty();
        async move {
            if waits {
                let grace = kernel::time::span(send::STOP_GRACE.as_millis() as u64);
                return Some(format!("token waits: an earlier one of its node is to stop first, and is given up after {grace}"));
            }
            Line::open(&url, &signals).await.ok()?.place(lease).await.ok()?.map(|place| place.to_string())
        }
    });
    let unasked = || Some("it has not been asked yet".to_owned());
    let bridge = Bridge {
        engine,
        types: options.streams.keys().cloned().collect(),
        outlets: options.streams.iter().map(|(kind, stream)| (kind.clone(), Outlet::new(kind, stream))).collect(),
        options,
        held,
        line: watch::Sender::new(None),
        broken: Mutex::default(),
        broke: Notify::new(),
        refused: Mutex::default(),
        counts: Mutex::default(),
        troubles: Mutex::new([unasked(), unasked()]),
        where_is,
    };
    bridge.show();
    let all = async {
        // What is out is known before anything is heard of it.
        let recovered = keep::recover(&bridge).await;
        let sending = join_all(bridge.outlets.values().map(|outlet| send::run(&bridge, outlet)));
        tokio::join!(keep::run(&bridge), receive::run(&bridge), sending, keep::hold_again(&bridge, recovered));
    };
    tokio::select! {
        () = stop => {}
        () = all => {}
    }
}

/// Rests longer each time, and says why.
struct Rest {
    half: Half,
    next: Duration,
}

impl Rest {
    fn new(half: Half) -> Rest {
        Rest { half, next: REST }
    }

    /// All went well.
    fn is_over(&mut self) {
        if self.next > REST {
            tracing::warn!("Redis can be used again, {}", self.half);
        }
        self.next = REST;
    }

    async fn after(&mut self, bridge: &Bridge, error: &RedisError) {
        if self.next == REST {
            tracing::warn!(%error, "Redis cannot be used, {}", self.half);
        }
        bridge.tell(self.half, Some(error.to_string()));
        sleep(self.next).await;
        self.next = (self.next * 2).min(REST_MAX);
    }
}
