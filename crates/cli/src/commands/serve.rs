//! `signaller serve`: the same server, set up by a file, the environment and flags, in rising order of weight.

use super::dev::greet;
use crate::built_in;
use crate::output::{Exit, Failure, Outcome, Screen};
use crate::place::{self, DataDir, parse_listen};
use crate::server::{self, Settings};
use crate::units::parse_duration_ms;
use clap::Args;
use engine::{EngineOptions, Retention, WatchdogOptions};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use workers::Allowed;

/// Start a server set up by signaller.toml, SIGNALLER_* and flags
#[derive(Args, Debug)]
#[command(after_help = "signaller.toml, all of it optional:\n  listen = \"127.0.0.1:7400\"\n  data_dir = \".signaller\"\n  \
                        token_file = \"/run/secrets/signaller\"   # asked of every caller\n  registry = \"registry.yaml\"        # which events go to which handlers; changes are taken as they come\n  stop_limit = \"30s\"              \
                              # how long running work may finish at the end\n  \
                        [retention]\n  runs_age = \"30d\"                 # runs that ended longer ago are deleted\n  \
                        runs_count = 1000000             # and the oldest beyond so many; looked at when it starts and every minute\n  \
                        events_age = \"7d\"                # events whose work ended longer ago go, with the tasks they made\n  \
                        rollups_age = \"30d\"              # statistics by the minute that are older are forgotten\n  \
                        [watchdog]\n  after = \"30s\"                    # what stands still for so long is told\n  \
                        exit_after = \"120s\"              # and ends the server after so long, to be started again\n  \
                        [blobs]                          # large values; without this, in data_dir/blobs\n  url = \"s3://bucket/prefix\"       # \
                        for this server alone; credentials from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY\n  \
                        endpoint = \"https://s3.example\"  # of what speaks like S3\n  region = \"us-east-1\"\n  \
                        access_key_id_file = \"/run/secrets/id\"\n  secret_access_key_file = \"/run/secrets/key\"\n  \
                        grace = \"24h\"                    # how long what was put stays when nothing mentions it\n  \
                        [workers]                        # built in; all of it is told in docs/workers.md\n  \
                        http = true                      # false: `http` tasks are left to workers of your own\n  \
                        allow = [\"10.0.0.0/8\"]           # addresses that are not public and http may connect to\n  \
                        [secrets]\n  API_KEY = {env = \"API_KEY\", hosts = [\"api.example.com\"]}   # secret://API_KEY; or {file = …}\n  \
                        [process.lint]                   # {type: process, with: {command: lint, input: …}}\n  \
                        command = [\"python3\", \"/srv/lint.py\"]\n  \
                        [http.search]                    # a type of tasks that become requests\n  \
                        types = [\"search\"]\n  url = \"https://search.example.com/?q=${input.text}\"\n  \
                        [redis]                          # types whose workers read Redis streams\n  \
                        url = \"redis://127.0.0.1:6379/0\"  # or SIGNALLER_REDIS_URL\n  types = [\"classify\"]             # on wf.tasks.classify\n\n\
                        Examples:\n  signaller serve\n  SIGNALLER_TOKEN=secret signaller serve --listen 0.0.0.0:7400\n\n\
                        In JSON it says {\"ready\":{…}} on a line of its own when it can be reached, and its answer when it ends.")]
pub struct ServeArgs {
    /// The file to read; signaller.toml if there is one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where to listen, such as 127.0.0.1:7401 or 7401 [env: SIGNALLER_LISTEN] [default: 127.0.0.1:7400]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_listen)]
    listen: Option<SocketAddr>,
    /// Where everything is kept [env: SIGNALLER_DATA_DIR] [default: .signaller]
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// How long running work may finish at the end, such as 30s [env: SIGNALLER_STOP_LIMIT]
    #[arg(long, value_name = "DURATION")]
    stop_limit: Option<String>,
    /// Which events go to which handlers; changes of it are taken as they come [env: SIGNALLER_REGISTRY]
    #[arg(long, value_name = "FILE")]
    registry: Option<PathBuf>,
    #[command(flatten)]
    workers: WorkersArgs,
}

/// What both ways to start a server take.
#[derive(Args, Debug, Default)]
pub struct WorkersArgs {
    /// An address or network that is not public and that the built-in http worker may connect to, such as 127.0.0.1:3000; may be given several times
    #[arg(long, value_name = "ADDRESS", value_parser = str::parse::<Allowed>)]
    pub allow: Vec<Allowed>,
    /// Start none of the built-in workers
    #[arg(long)]
    pub no_workers: bool,
}

/// Shorter than this, an ordinary pause of the machine would be told as a standstill.
const WATCHDOG_MIN: Duration = Duration::from_secs(1);

pub fn run(args: ServeArgs, token: Option<String>, screen: Screen) -> Outcome {
    let settings = settings(args, token, place::env)?;
    server::run(settings, screen, |ready| greet(ready, screen))
}

fn settings(args: ServeArgs, token: Option<String>, env: impl Fn(&str) -> Option<String>) -> Result<Settings, Failure> {
    let file = place::read(args.config.as_deref())?;
    let built_in = built_in::of_file(&file, &args.workers.allow, args.workers.no_workers, &env)?;
    let listen = place::listen(args.listen, file.listen, &env)?;
    let stop_limit = args.stop_limit.or_else(|| env("SIGNALLER_STOP_LIMIT")).or(file.stop_limit);
    let stop_limit_ms = match stop_limit {
        Some(text) => parse_duration_ms(&text)
            .map_err(|why| Failure::usage(format!("stop_limit: {why}")).fix("give it with its unit: --stop-limit 30s"))?,
        None => 30_000,
    };
    let token = match (token.or_else(|| env("SIGNALLER_TOKEN")).or(file.token), file.token_file) {
        (Some(token), _) => Some(token),
        (None, None) => None,
        (None, Some(path)) => {
            let text = std::fs::read_to_string(&path).map_err(|error| {
                Failure::new(Exit::Usage, "config", format!("token_file {}: {error}", path.display()))
                    .fix("write the token into that file, where this user can read it, or take token_file out")
            })?;
            Some(text.trim().to_owned())
        }
    };
    let data_dir = DataDir::resolve(args.data_dir, file.data_dir, &env).path;
    let retention = retention(&file.retention)?;
    let registry = args.registry.or_else(|| env("SIGNALLER_REGISTRY").map(PathBuf::from)).or(file.registry);
    let rollups_age = rollups_age(&file.retention)?;
    let watchdog = watchdog(&file.watchdog)?;
    let stop_limit = Duration::from_millis(stop_limit_ms);
    let blobs_grace = duration("blobs.grace", file.blobs.grace.as_deref())?.or(EngineOptions::default().blobs_grace);
    let blobs = file.blobs;
    Ok(Settings { listen, data_dir, token, stop_limit, retention, rollups_age, watchdog, registry, built_in, blobs, blobs_grace })
}

fn retention(file: &place::Retention) -> Result<Retention, Failure> {
    let kept = Retention::default();
    let events = duration("retention.events_age", file.events_age.as_deref())?.unwrap_or(kept.events);
    let age = duration("retention.runs_age", file.runs_age.as_deref())?.unwrap_or(kept.age);
    Ok(Retention { age, count: file.runs_count.unwrap_or(kept.count), events })
}

/// How long statistics are kept.
fn rollups_age(file: &place::Retention) -> Result<Duration, Failure> {
    let age = duration("retention.rollups_age", file.rollups_age.as_deref())?;
    Ok(age.unwrap_or(EngineOptions::default().rollups_age))
}

fn watchdog(file: &place::Watchdog) -> Result<WatchdogOptions, Failure> {
    let usual = WatchdogOptions::default();
    let after = duration("watchdog.after", file.after.as_deref())?.unwrap_or(usual.after);
    let exit_after = duration("watchdog.exit_after", file.exit_after.as_deref())?.unwrap_or(usual.exit_after);
    if after < WATCHDOG_MIN || exit_after <= after {
        let message = "watchdog: after must be at least 1s, and exit_after longer than after";
        return Err(Failure::new(Exit::Usage, "config", message).fix("such as after = \"30s\" and exit_after = \"120s\""));
    }
    Ok(WatchdogOptions { after, exit_after })
}

fn duration(name: &str, text: Option<&str>) -> Result<Option<Duration>, Failure> {
    let wrong = |why: String| Failure::new(Exit::Usage, "config", format!("{name}: {why}")).fix("give it with its unit: \"30d\"");
    text.map(|text| parse_duration_ms(text).map(Duration::from_millis).map_err(wrong)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn none() -> ServeArgs {
        ServeArgs {
            config: None,
            listen: None,
            data_dir: None,
            stop_limit: None,
            registry: None,
            workers: WorkersArgs::default(),
        }
    }

    #[test]
    fn flags_win_over_the_environment_over_the_file_over_the_defaults() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toml");
        std::fs::write(&path, "listen = \"127.0.0.1:1\"\ndata_dir = \"from-file\"\nstop_limit = \"5s\"\ntoken = \"f\"").unwrap();
        let env = |name: &str| (name == "SIGNALLER_LISTEN").then(|| "127.0.0.1:2".to_owned());
        let with_file = || ServeArgs { config: Some(path.clone()), ..none() };

        let from_file = settings(with_file(), None, |_| None).unwrap();
        assert_eq!((from_file.listen.port(), from_file.stop_limit.as_secs(), from_file.token.as_deref()), (1, 5, Some("f")));
        assert_eq!(from_file.data_dir, Path::new("from-file"));
        assert_eq!(settings(with_file(), None, env).unwrap().listen.port(), 2);
        let flagged = ServeArgs { listen: Some("127.0.0.1:3".parse().unwrap()), ..with_file() };
        assert_eq!(settings(flagged, Some("t".into()), env).unwrap().listen.port(), 3);
    }

    #[test]
    fn the_file_says_how_long_runs_and_statistics_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.toml");
        for (text, kept) in [
            ("", Ok((30 * 86_400, 1_000_000, 30 * 86_400, 7))),
            ("[retention]\nruns_age = \"2d\"\nruns_count = 5", Ok((2 * 86_400, 5, 30 * 86_400, 7))),
            ("[retention]\nrollups_age = \"7d\"", Ok((30 * 86_400, 1_000_000, 7 * 86_400, 7))),
            ("[retention]\nevents_age = \"3d\"", Ok((30 * 86_400, 1_000_000, 30 * 86_400, 3))),
            ("[retention]\nevents_age = \"x\"", Err("events_age")),
            ("[retention]\nrollups_age = \"7\"", Err("rollups_age")),
            ("[retention]\nruns_age = \"soon\"", Err("runs_age")),
            ("[retention]\nruns_aeg = \"2d\"", Err("runs_aeg")),
        ] {
            std::fs::write(&path, text).unwrap();
            match (settings(ServeArgs { config: Some(path.clone()), ..none() }, None, |_| None), kept) {
                (Ok(found), Ok(kept)) => {
                    let Retention { age, count, events } = found.retention;
                    let days = events.as_secs() / 86_400;
                    assert_eq!((age.as_secs(), count, found.rollups_age.as_secs(), days), kept, "{text}");
                }
                (Err(failure), Err(told)) => assert!(failure.message.contains(told), "{}", failure.message),
                (found, _) => panic!("{text}: {}", found.is_ok()),
            }
        }
    }

    #[test]
    fn the_file_says_how_patient_the_watchdog_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.toml");
        for (text, expected) in [
            ("", Ok((30, 120))),
            ("[watchdog]\nafter = \"1s\"\nexit_after = \"2s\"", Ok((1, 2))),
            ("[watchdog]\nexit_after = \"10m\"", Ok((30, 600))),
            ("[watchdog]\nexit_after = \"30s\"", Err("longer than after")),
            ("[watchdog]\nafter = \"10ms\"", Err("at least 1s")),
            ("[watchdog]\nafter = \"soon\"", Err("watchdog.after")),
        ] {
            std::fs::write(&path, text).unwrap();
            match (settings(ServeArgs { config: Some(path.clone()), ..none() }, None, |_| None), expected) {
                (Ok(found), Ok(seconds)) => {
                    let WatchdogOptions { after, exit_after } = found.watchdog;
                    assert_eq!((after.as_secs(), exit_after.as_secs()), seconds, "{text}");
                }
                (Err(failure), Err(told)) => assert!(failure.message.contains(told), "{}", failure.message),
                (found, _) => panic!("{text}: {}", found.is_ok()),
            }
        }
    }

    #[test]
    fn a_wrong_file_is_refused_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        for (text, told) in [("listne = \"x\"", "listne"), ("listen = 5", "listen"), ("listen", "line 1")] {
            let path = folder.path().join("b.toml");
            std::fs::write(&path, text).unwrap();
            let failure = settings(ServeArgs { config: Some(path), ..none() }, None, |_| None).unwrap_err();
            assert!(failure.message.contains(told), "{}", failure.message);
            assert!(failure.fix.is_some() || failure.message.contains("such as"), "{}", failure.message);
        }
        let path = folder.path().join("c.toml");
        std::fs::write(&path, "token_file = \"/nowhere/token\"").unwrap();
        let failure = settings(ServeArgs { config: Some(path), ..none() }, None, |_| None).unwrap_err();
        assert!(failure.fix.is_some_and(|fix| fix.contains("write the token into that file")), "{}", failure.message);
        let missing = ServeArgs { config: Some("nowhere.toml".into()), ..none() };
        assert!(settings(missing, None, |_| None).is_err());
    }
}
