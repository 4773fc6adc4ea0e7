//! Where a server of this machine listens and keeps its data: flags, the environment, signaller.toml, the defaults, in
//! falling order of weight. `serve`, `dev` and `verify` ask here, and so does the advice to whoever reaches no server.

use crate::output::{Exit, Failure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

pub const FILE_DEFAULT: &str = "signaller.toml";
const LISTEN_DEFAULT: &str = "127.0.0.1:7400";
const DATA_DIR_DEFAULT: &str = ".signaller";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    pub listen: Option<String>,
    pub data_dir: Option<PathBuf>,
    pub token: Option<String>,
    pub token_file: Option<PathBuf>,
    pub stop_limit: Option<String>,
    pub registry: Option<PathBuf>,
    pub retention: Retention,
    pub watchdog: Watchdog,
    pub blobs: Blobs,
    pub workers: Workers,
    pub secrets: BTreeMap<String, Secret>,
    /// Requests that tasks of a type are made into, by name.
    pub http: BTreeMap<String, toml::Table>,
    pub process: BTreeMap<String, Process>,
    pub redis: Option<Redis>,
}

/// Which of the built-in workers start, and where they may go.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Workers {
    pub http: Option<bool>,
    pub process: Option<bool>,
    pub allow: Vec<String>,
    pub http_concurrency: Option<usize>,
    pub response_mb: Option<usize>,
}

/// Where a secret is kept, and which hosts it may go to.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Secret {
    pub env: Option<String>,
    pub file: Option<PathBuf>,
    pub hosts: Vec<String>,
}

/// A command that `process` tasks may name.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Process {
    pub command: Vec<String>,
    pub types: Vec<String>,
    pub cwd: Option<PathBuf>,
    pub env: BTreeMap<String, String>,
    pub memory_mb: Option<u64>,
    pub timeout: Option<String>,
    pub concurrency: Option<usize>,
}

/// Which types of tasks go to workers that speak Redis, and where that is.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Redis {
    pub url: Option<String>,
    /// What the server's certificate is held against, in place of the public roots.
    pub ca_file: Option<PathBuf>,
    pub types: Vec<String>,
    /// Streams of types that have one of their own.
    pub streams: BTreeMap<String, String>,
    pub signals: Option<String>,
    pub slots: Option<usize>,
    pub mirror: bool,
}

/// Where values lie that are too large for a record; without a URL, in the folder `blobs` of the data.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Blobs {
    pub url: Option<String>,
    pub endpoint: Option<String>,
    pub region: Option<String>,
    pub access_key_id_file: Option<PathBuf>,
    pub secret_access_key_file: Option<PathBuf>,
    pub grace: Option<String>,
}

/// How long something may stand still before that is told, and before the process ends.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Watchdog {
    pub after: Option<String>,
    pub exit_after: Option<String>,
}

/// How long runs that have ended are kept, and how many; how long events are, and statistics.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Retention {
    pub runs_age: Option<String>,
    pub runs_count: Option<usize>,
    pub rollups_age: Option<String>,
    pub events_age: Option<String>,
}

/// A variable that is set to something.
pub fn env(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Ours, and those a worker's command is given.
const VARIABLES: [&str; 20] = [
    "SIGNALLER_URL",
    "SIGNALLER_TOKEN",
    "SIGNALLER_LISTEN",
    "SIGNALLER_DATA_DIR",
    "SIGNALLER_STOP_LIMIT",
    "SIGNALLER_REGISTRY",
    "SIGNALLER_REDIS_URL",
    "SIGNALLER_CHECK_TYPE",
    "SIGNALLER_LOG",
    "SIGNALLER_TASK",
    "SIGNALLER_TYPE",
    "SIGNALLER_QUEUE",
    "SIGNALLER_ATTEMPT",
    "SIGNALLER_IDEMPOTENCY_KEY",
    "SIGNALLER_RUN",
    "SIGNALLER_NODE",
    "SIGNALLER_FENCE",
    "SIGNALLER_EVENT",
    "SIGNALLER_EVENT_NAME",
    "SIGNALLER_HANDLER",
];

/// Variables that look like ours and are not: a setting spelled wrong would be passed over in silence.
pub fn unknown_variables(all: impl Iterator<Item = (OsString, OsString)>) -> Vec<String> {
    let names = all.map(|(name, _)| name.to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("SIGNALLER_") && !VARIABLES.contains(&name.as_str())).collect()
}

/// A file that was named must be there; `signaller.toml` need not.
pub fn read(named: Option<&Path>) -> Result<File, Failure> {
    let path = named.unwrap_or(Path::new(FILE_DEFAULT));
    let wrong = |why: String, fix: &str| Failure::new(Exit::Usage, "config", format!("{}: {why}", path.display())).fix(fix);
    match std::fs::read_to_string(path) {
        Ok(text) => toml::from_str(&text).map_err(|error: toml::de::Error| {
            // Somebody may have written a secret there itself: it is not told again.
            let before = &text[..error.span().map_or(0, |span| text.floor_char_boundary(span.start))];
            if before.lines().rfind(|line| line.starts_with('[')).is_some_and(|header| header.starts_with("[secrets")) {
                // The names of fields are no secrets.
                let field = Some(error.message()).filter(|message| message.starts_with("unknown field `"));
                let why = field.unwrap_or("it does not say where a secret is kept, or not in this form");
                let why = format!("line {}: {why}", before.lines().count().max(1));
                return wrong(why, "write NAME = {env = \"NAME\"} or NAME = {file = \"/run/secrets/name\"}, with hosts = [\"…\"] where it may go");
            }
            let table = before.lines().rfind(|line| line.starts_with('[')).map(str::trim);
            let fix = match table {
                Some("[process]" | "[http]") => "each has a name of its own: write [process.NAME] or [http.NAME]",
                _ => "mend that line; `signaller serve --help` shows one",
            };
            wrong(error.to_string().trim_end().to_owned(), fix)
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && named.is_none() => Ok(File::default()),
        Err(error) => Err(wrong(error.to_string(), "name a file that is there and can be read, or leave --config out")),
    }
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Source {
    Flag,
    Environment,
    File,
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Flag => "given with --data-dir",
            Source::Environment => "from SIGNALLER_DATA_DIR",
            Source::File => "from signaller.toml",
            Source::Default => "the default",
        })
    }
}

/// Where everything is kept, and who says so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataDir {
    pub path: PathBuf,
    pub source: Source,
}

impl DataDir {
    pub fn resolve(flag: Option<PathBuf>, file: Option<PathBuf>, env: impl Fn(&str) -> Option<String>) -> DataDir {
        let (path, source) = match (flag, env("SIGNALLER_DATA_DIR"), file) {
            (Some(path), _, _) => (path, Source::Flag),
            (None, Some(path), _) => (path.into(), Source::Environment),
            (None, None, Some(path)) => (path, Source::File),
            (None, None, None) => (DATA_DIR_DEFAULT.into(), Source::Default),
        };
        DataDir { path, source }
    }

    /// From the root, so that it can be found from elsewhere too.
    pub fn whole(&self) -> PathBuf {
        std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone())
    }
}

impl fmt::Display for DataDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.whole().display(), self.source)
    }
}

/// The address to listen on: the first that is given.
pub fn listen(
    flag: Option<SocketAddr>,
    file: Option<String>,
    env: impl Fn(&str) -> Option<String>,
) -> Result<SocketAddr, Failure> {
    let said = |name: &str, text: &str| {
        parse_listen(text)
            .map_err(|why| Failure::usage(format!("{name}: {why}")).fix(format!("set it to HOST:PORT, such as {LISTEN_DEFAULT}")))
    };
    match (flag, env("SIGNALLER_LISTEN"), file) {
        (Some(listen), _, _) => Ok(listen),
        (None, Some(text), _) => said("SIGNALLER_LISTEN", &text),
        (None, None, Some(text)) => said("listen in signaller.toml", &text),
        (None, None, None) => said("the default", LISTEN_DEFAULT),
    }
}

/// `127.0.0.1:7400`, `localhost:7400`, or a port of this machine alone: `7400`.
pub fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let wrong = || format!("`{text}` is not an address such as {LISTEN_DEFAULT}, localhost:7400, or a port such as 7400");
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let port = |text: &str| text.parse::<u16>().map_err(|_| wrong());
    match text.rsplit_once(':') {
        None => Ok(SocketAddr::new(loopback, port(text)?)),
        Some(("" | "localhost", text)) => Ok(SocketAddr::new(loopback, port(text)?)),
        Some(_) => text.parse().map_err(|_| wrong()),
    }
}

/// Which command starts a server here.
fn starter() -> &'static str {
    if Path::new(FILE_DEFAULT).is_file() { "serve" } else { "dev" }
}

/// How to start a server here that answers at `url`, for whoever found none there: in words, and what is to be typed.
pub fn advice(url: &str) -> (String, String) {
    let (file, command) = (read(None).unwrap_or_default(), starter());
    let data = DataDir::resolve(None, file.data_dir.filter(|_| command == "serve"), env);
    let there = if data.path.is_dir() { "" } else { ", which is not there yet" };
    let listens = listen(None, file.listen.filter(|_| command == "serve"), env).map(|address| address.to_string());
    let wanted = url.split("://").nth(1).unwrap_or("").replace("localhost", "127.0.0.1");
    let flag = if listens.is_ok_and(|listens| listens == wanted) { String::new() } else { format!(" --listen {wanted}") };
    let line = format!("{command}{flag}");
    (format!("start one with `signaller {line}`: here its data is in {data}{there}"), line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        for (text, address) in [
            ("127.0.0.1:7401", "127.0.0.1:7401"),
            ("0.0.0.0:1", "0.0.0.0:1"),
            ("[::1]:7401", "[::1]:7401"),
            ("localhost:7401", "127.0.0.1:7401"),
            (":7401", "127.0.0.1:7401"),
            ("7401", "127.0.0.1:7401"),
        ] {
            assert_eq!(parse_listen(text), Ok(address.parse().unwrap()), "{text}");
        }
        for text in ["", "banana", "localhost", "127.0.0.1", "70000", "example.com:80", "::1"] {
            let why = parse_listen(text).unwrap_err();
            assert!(why.contains("127.0.0.1:7400"), "{why}");
        }
    }

    #[test]
    fn a_secret_that_is_written_in_the_file_is_not_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("s.toml");
        std::fs::write(&file, "listen = \"7400\"\n[secrets]\nA = {env = \"A\"}\nB = \"sk-live-123456\"\n").unwrap();
        let told = format!("{:?}", read(Some(&file)).unwrap_err());
        assert!(told.contains("line 4: it does not say where a secret is kept") && !told.contains("sk-live"), "{told}");
        std::fs::write(&file, "[secrets]\nA = {env = \"A\", host = [\"a.test\"]}\n").unwrap();
        let told = format!("{:?}", read(Some(&file)).unwrap_err());
        assert!(told.contains("line 2: unknown field `host`") && told.contains("`hosts`"), "{told}");
        std::fs::write(&file, "[process]\ncommand = [\"cat\"]\n").unwrap();
        assert!(format!("{:?}", read(Some(&file)).unwrap_err()).contains("write [process.NAME]"));
        std::fs::write(&file, "listen = 7\n").unwrap();
        assert!(format!("{:?}", read(Some(&file)).unwrap_err()).contains("invalid type"));
    }

    #[test]
    fn a_variable_spelled_wrong_is_named() {
        let set = ["SIGNALLER_URL", "SIGNALLER_DATADIR", "PATH", "SIGNALLER_", "SIGNALLER_TASK"];
        let found = unknown_variables(set.iter().map(|name| (OsString::from(name), OsString::from("x"))));
        assert_eq!(found, ["SIGNALLER_DATADIR", "SIGNALLER_"]);
    }

    #[test]
    fn the_folder_is_the_first_that_is_named() {
        let path = |text: &str| Some(PathBuf::from(text));
        let set = |name: &str| (name == "SIGNALLER_DATA_DIR").then(|| "env".to_owned());
        for (flag, file, from_env, found, source) in [
            (path("flag"), path("file"), true, "flag", Source::Flag),
            (None, path("file"), true, "env", Source::Environment),
            (None, path("file"), false, "file", Source::File),
            (None, None, false, ".signaller", Source::Default),
        ] {
            let data = DataDir::resolve(flag, file, |name| set(name).filter(|_| from_env));
            assert_eq!((data.path.as_path(), data.source), (Path::new(found), source));
        }
    }
}
