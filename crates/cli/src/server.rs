//! A server in this process: store, engine and HTTP door put together, until a signal or a failure ends it. `dev` and
//! `serve` differ only in where their settings come from and what they say at the start.

use crate::blobs;
use crate::built_in::{BuiltIn, Crews};
use crate::forwarding;
use crate::output::{Answer, Exit, Failure, Outcome, Screen};
use crate::place;
use crate::registry_file;
use doors::http::{Door, DoorOptions, check_listen, serve};
use engine::{Engine, EngineOptions, Retention, Stopped, WatchdogOptions};
use serde::Serialize;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::StoreError;
use store::sqlite::Sqlite;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

#[derive(Clone, Debug)]
pub struct Settings {
    pub listen: SocketAddr,
    pub data_dir: PathBuf,
    pub token: Option<String>,
    pub stop_limit: Duration,
    pub retention: Retention,
    /// How long statistics are kept.
    pub rollups_age: Duration,
    /// The registry's file, which is followed.
    pub registry: Option<PathBuf>,
    pub watchdog: WatchdogOptions,
    pub blobs: place::Blobs,
    /// How long what was put and is mentioned by nothing stays.
    pub blobs_grace: Option<Duration>,
    pub built_in: BuiltIn,
}

/// What a server says once it can be reached.
#[derive(Clone, Debug, Serialize)]
pub struct Ready {
    pub address: String,
    pub store: String,
    pub pid: u32,
    /// Nothing was there before.
    pub fresh: bool,
    /// The registry's file, and what is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry_refused: Option<String>,
    /// Whoever calls it has to know its token.
    pub asks_token: bool,
}

#[derive(Serialize)]
struct Ended {
    ended: &'static str,
}

/// Runs until it is told to stop. `greet` is called once, when the first request can come in.
pub fn run(settings: Settings, screen: Screen, greet: impl FnOnce(&Ready)) -> Outcome {
    check_listen(settings.listen, settings.token.as_deref()).map_err(|error| {
        Failure::usage(error.to_string()).fix("give a token with --token or SIGNALLER_TOKEN, or listen on 127.0.0.1")
    })?;
    log_to_stderr();
    check_folder(&settings.data_dir)?;
    settings.registry.as_deref().map_or(Ok(()), check_registry)?;
    // The address first: a server that cannot be reached leaves no folder behind.
    let listener = bind(settings.listen)?;
    let fresh = std::fs::read_dir(&settings.data_dir).map_or(true, |mut entries| entries.next().is_none());
    let store = Sqlite::open(&settings.data_dir).map_err(|error| store_failure(&settings, &error))?;
    let blobs = blobs::open(&settings.data_dir, &settings.blobs, place::env)?;
    let options = EngineOptions {
        stop_limit: settings.stop_limit,
        retention: Some(settings.retention),
        rollups_age: settings.rollups_age,
        watchdog: settings.watchdog,
        blobs_grace: settings.blobs_grace,
        ..EngineOptions::default()
    };
    let engine = Engine::open(Box::new(store), blobs, options).map_err(|error| store_failure(&settings, &error))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::Unavailable, "runtime", format!("cannot start threads: {error}")))?;
    let registry_refused = settings.registry.clone().and_then(|path| registry_file::follow(engine.clone(), path));
    let stopped = runtime.block_on(listen(&settings, listener, engine, screen, |address, store| {
        let asks_token = settings.token.is_some();
        let registry = settings.registry.clone();
        greet(&Ready { address, store, pid: std::process::id(), fresh, registry, registry_refused, asks_token });
    }))?;
    match stopped {
        Stopped::Drained => Ok(Answer::new(&Ended { ended: "drained" }, "Stopped; nothing runs here any more.")),
        Stopped::Limit => {
            let text =
                "Stopped at the limit; what still ran keeps its lease and its attempt, and goes on when the server is back.";
            Ok(Answer::new(&Ended { ended: "limit" }, text))
        }
        Stopped::Hung(why) => {
            // Whoever waits for the writer waits for ever.
            runtime.shutdown_background();
            let message = format!("the server ends because it stands still: {why}");
            Err(Failure::new(Exit::Unavailable, "hung", message)
                .fix("start it again, or have a supervisor do it; nothing that was acknowledged is lost"))
        }
        Stopped::Failed(why) => Err(Failure::new(Exit::Unavailable, "store_failed", format!("the server cannot go on: {why}"))
            .fix("look at the disk; nothing that was acknowledged is lost. Then start it again")),
    }
}

/// What stands where the folder should be must be a folder.
fn check_folder(path: &Path) -> Result<(), Failure> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_dir() => Err(Failure::usage(format!("{} is a file, not a folder", path.display()))
            .fix("name a folder with --data-dir; it is made if it is not there")),
        _ => Ok(()),
    }
}

/// A registry that was named has to be there: without it, events would come in and be handled by nobody.
fn check_registry(path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    let why = match std::fs::File::open(path).and_then(|file| file.metadata()) {
        Ok(found) if !found.is_dir() => return Ok(()),
        Ok(_) => "it is a folder".to_owned(),
        Err(error) => error.to_string(),
    };
    let failure = Failure::new(Exit::Usage, "config", format!("the registry {shown} cannot be read: {why}"));
    Err(failure
        .fix("name a file that is there with --registry, SIGNALLER_REGISTRY or `registry` in signaller.toml, or name none")
        .next(format!("registry check {shown}"), "check it once it is there"))
}

fn bind(listen: SocketAddr) -> Result<std::net::TcpListener, Failure> {
    let bound = std::net::TcpListener::bind(listen).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    bound.map_err(|error| {
        let message = format!("cannot listen on {listen}: {error}");
        Failure::new(Exit::Unavailable, "address_taken", message)
            .fix("end the other server, or choose another address with --listen 127.0.0.1:PORT")
    })
}

async fn listen(
    settings: &Settings,
    listener: std::net::TcpListener,
    engine: Engine,
    screen: Screen,
    greet: impl FnOnce(String, String),
) -> Result<Stopped, Failure> {
    let listener = TcpListener::from_std(listener)
        .map_err(|error| Failure::new(Exit::Unavailable, "address_taken", format!("cannot listen: {error}")))?;
    let address = listener.local_addr().unwrap_or(settings.listen);
    greet(format!("http://{address}"), engine.describe().to_owned());
    let options = DoorOptions { token: settings.token.clone(), address: Some(address), ..DoorOptions::default() };
    let door = Door::new(engine.clone(), options);
    // The door stays open while running work reports its results, and closes when the engine has ended.
    let (ended, end) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(serve(listener, door, async move { _ = end.await }));
    let client = workers::Client::new(None)
        .map_err(|error| Failure::new(Exit::Unavailable, "no_client", format!("events cannot be forwarded: {error}")))?;
    let (stop_forwarding, stop) = tokio::sync::oneshot::channel::<()>();
    let forwarding = forwarding::run(engine.clone(), client, settings.stop_limit, async move { _ = stop.await });
    let forwarding = tokio::spawn(forwarding);
    let crews = Crews::start(&engine, &settings.built_in, settings.stop_limit)?;
    let stopped = until_stopped(&engine, screen, settings.stop_limit).await;
    _ = stop_forwarding.send(());
    _ = ended.send(());
    if !matches!(stopped, Stopped::Hung(_)) {
        _ = serving.await;
    }
    forwarding.abort();
    crews.end();
    Ok(stopped)
}

async fn until_stopped(engine: &Engine, screen: Screen, limit: Duration) -> Stopped {
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) else {
        return engine.stopped().await;
    };
    let mut told = async || tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} };
    tokio::select! {
        stopped = engine.stopped() => return stopped,
        () = told() => {}
    }
    if screen.people {
        screen.note(&format!("Stopping: no new work, and up to {} s for what runs. Once more to stop at once.", limit.as_secs()));
    }
    tokio::select! {
        stopped = engine.stop() => stopped,
        () = told() => Stopped::Limit,
    }
}

fn store_failure(settings: &Settings, error: &StoreError) -> Failure {
    let failure = |exit, code: &str| Failure::new(exit, code, format!("{}: {error}", settings.data_dir.display()));
    match error {
        // It names the folder itself.
        StoreError::Taken(why) => Failure::new(Exit::Conflict, "data_taken", why)
            .fix("end the server that uses it, or choose another folder with --data-dir"),
        StoreError::Corrupt(_) => failure(Exit::Unavailable, "data_corrupt")
            .fix("run `signaller verify` to see every row that differs from its history")
            .next(format!("verify --data-dir {}", settings.data_dir.display()), "name what differs"),
        StoreError::Newer(_) => failure(Exit::Unavailable, "data_newer").fix("use the newer signaller, or another folder"),
        StoreError::Unreached(_) | StoreError::Refused(_) => {
            failure(Exit::Unavailable, "store_failed").fix("check [blobs] in signaller.toml, and that the bucket can be reached")
        }
        StoreError::Failed(_) | StoreError::Slow(_) => {
            failure(Exit::Unavailable, "store_failed").fix("check that the folder can be written and the disk is not full")
        }
    }
}

fn log_to_stderr() {
    let level = std::env::var("SIGNALLER_LOG").ok().and_then(|level| level.parse().ok()).unwrap_or(tracing::Level::WARN);
    // Libraries may say below a warning what no secret is taken out of, such as the host of an address that is one.
    let ours = ["signaller", "doors", "engine", "store", "workers"].map(|part| (part, level));
    let told = Targets::new().with_targets(ours).with_default(level.min(tracing::Level::WARN));
    let log = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).with_target(false).finish().with(told);
    // A second server in the same process keeps the first one's log.
    _ = log.try_init();
}
