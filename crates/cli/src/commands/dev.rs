//! `signaller dev`: everything in one process, no services, no account.

use super::serve::WorkersArgs;
use crate::built_in;
use crate::output::{Outcome, Screen, raw};
use crate::place::{self, DataDir, parse_listen};
use crate::server::{self, Ready, Settings};
use clap::Args;
use engine::{EngineOptions, Retention};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Start a server for yourself: data in .signaller/, no services needed
#[derive(Args, Debug)]
#[command(after_help = "It does not read signaller.toml; `signaller serve` does.\n\
                        In JSON it says {\"ready\":{…}} on a line of its own when it can be reached, and its answer when it ends.\n\n\
                        Examples:\n  signaller dev\n  signaller dev --listen 7401 --data-dir /tmp/try")]
pub struct DevArgs {
    /// Where to listen; port 0 takes a free one [env: SIGNALLER_LISTEN] [default: 127.0.0.1:7400]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_listen)]
    listen: Option<SocketAddr>,
    /// Where everything is kept [env: SIGNALLER_DATA_DIR] [default: .signaller]
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Which events go to which handlers; changes of it are taken as they come [env: SIGNALLER_REGISTRY] [default: registry.yaml, if it is there]
    #[arg(long, value_name = "FILE")]
    registry: Option<PathBuf>,
    #[command(flatten)]
    workers: WorkersArgs,
}

pub fn run(args: DevArgs, token: Option<String>, screen: Screen) -> Outcome {
    let listen = place::listen(args.listen, None, place::env)?;
    let data_dir = DataDir::resolve(args.data_dir, None, place::env).path;
    let stop_limit = Duration::from_secs(10);
    let here = PathBuf::from("registry.yaml");
    let registry = args.registry.or_else(|| place::env("SIGNALLER_REGISTRY").map(PathBuf::from));
    let registry = registry.or_else(|| here.is_file().then_some(here));
    let EngineOptions { rollups_age, watchdog, blobs_grace, .. } = EngineOptions::default();
    let built_in = built_in::plain(&args.workers.allow, args.workers.no_workers)?;
    let settings = Settings {
        listen,
        data_dir,
        token,
        stop_limit,
        retention: Retention::default(),
        rollups_age,
        watchdog,
        registry,
        built_in,
        blobs: place::Blobs::default(),
        blobs_grace,
    };
    server::run(settings, screen, |ready| greet(ready, screen))
}

pub fn greet(ready: &Ready, screen: Screen) {
    if !screen.people {
        screen.line(&format!("{{\"ready\":{}}}", raw(ready)));
        return;
    }
    let url =
        if ready.address == crate::config::DEFAULT_URL { String::new() } else { format!("SIGNALLER_URL={} ", ready.address) };
    let token = if ready.asks_token { "SIGNALLER_TOKEN=… " } else { "" };
    screen.line(&format!("Signaller listens on {} and keeps everything in {}.", ready.address, ready.store));
    if let Some(why) = &ready.registry_refused {
        screen.line(&format!("The registry is not taken: {why}. The one before it stays in force, if there was one."));
    }
    let tries: &[(&str, &str)] = if ready.fresh {
        &[
            ("task add greet -i '{\"name\":\"Ada\"}'", "a task goes in"),
            ("task explain task-1", "why is it not running?"),
            ("work --type greet --once -- cat", "a worker in one line"),
        ]
    } else {
        &[("status", "what is there"), ("task list", "its tasks"), ("watch", "what happens, as it happens")]
    };
    screen.line("\nThree things to try, in another terminal:");
    let width = tries.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    for (command, what) in tries {
        screen.line(&format!("  {url}{token}signaller {command:width$}   {what}"));
    }
    screen.line("\nCtrl-C stops it; nothing is lost.");
}
