//! `signaller dev`: everything in one process, no services, no account.

use crate::output::{Outcome, Screen, raw};
use crate::server::{self, Ready, Settings};
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Start a server for yourself: data in .signaller/, no services needed
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller dev\n  signaller dev --listen 127.0.0.1:7401 --data-dir /tmp/try")]
pub struct DevArgs {
    /// Where to listen; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:7400", value_name = "ADDRESS")]
    listen: SocketAddr,
    /// Where everything is kept
    #[arg(long, default_value = ".signaller", value_name = "FOLDER")]
    data_dir: PathBuf,
}

pub fn run(args: DevArgs, token: Option<String>, screen: Screen) -> Outcome {
    let settings = Settings { listen: args.listen, data_dir: args.data_dir, token, stop_limit: Duration::from_secs(10) };
    server::run(settings, screen, |ready| greet(ready, screen))
}

pub fn greet(ready: &Ready, screen: Screen) {
    if !screen.people {
        screen.line(&format!("{{\"ready\":{}}}", raw(ready)));
        return;
    }
    let url =
        if ready.address == crate::config::DEFAULT_URL { String::new() } else { format!("SIGNALLER_URL={} ", ready.address) };
    screen.line(&format!("Signaller listens on {} and keeps everything in {}.", ready.address, ready.store));
    screen.line("\nThree things to try, in another terminal:");
    screen.line(&format!("  {url}signaller task add greet -i '{{\"name\":\"Ada\"}}'       a task goes in"));
    screen.line(&format!("  {url}signaller task explain task-1                      why is it not running?"));
    screen.line(&format!("  {url}signaller work --type greet --once -- cat             a worker in one line"));
    screen.line("\nCtrl-C stops it; nothing is lost.");
}
