//! The workers that start with the server: what signaller.toml says of them, checked, and their loops. Those that are switched
//! off take nothing, and a command or a preset takes tasks of no type but those it names.

use crate::output::{Exit, Failure};
use crate::place;
use crate::units::parse_duration_ms;
use engine::Engine;
use kernel::limits::{BLOB_BYTES_MAX, POLL_TASKS_MAX};
use kernel::names::TypeName;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use workers::http::{FIELDS, HTTP_TYPE, Http, Preset, RESPONSE_BYTES_MAX};
use workers::inside::{self, Performs, Place};
use workers::process::{self, Configured, GRACE, Guard, PROCESS_TYPE, Process, program};
use workers::redis;
use workers::secrets::{From, Revealed, Secret, Secrets, is_host_pattern, is_name, named};
use workers::{Allowed, Client, Gate, system};

const HTTP_CONCURRENCY: usize = 32;
/// What is larger than a blob may be could not be kept.
const RESPONSE_MB_MAX: usize = BLOB_BYTES_MAX / MB;
const MB: usize = 1_024 * 1_024;
/// Tokens of one type that may be out at a time.
const REDIS_SLOTS_MAX: usize = 10_000;

/// What is started, and how.
#[derive(Clone, Debug, Default)]
pub struct BuiltIn {
    /// None: switched off.
    pub http: Option<HttpSettings>,
    pub commands: BTreeMap<String, Configured>,
    pub secrets: Arc<Secrets>,
    /// Types that go to workers on Redis.
    pub redis: Option<redis::Options>,
}

#[derive(Clone, Debug)]
pub struct HttpSettings {
    pub allow: Vec<Allowed>,
    pub concurrency: usize,
    pub response_bytes_max: usize,
    pub presets: BTreeMap<TypeName, Arc<Preset>>,
}

fn wrong(message: String, fix: impl Into<String>) -> Failure {
    Failure::new(Exit::Usage, "config", message).fix(fix)
}

/// What a server without a file has: `http`, to public addresses and those allowed here.
pub fn plain(allow: &[Allowed], without: bool) -> Result<BuiltIn, Failure> {
    of_file(&place::File::default(), allow, without, place::env)
}

/// `allow` beside what the file allows; `without` starts none of them.
pub fn of_file(
    file: &place::File,
    allow: &[Allowed],
    without: bool,
    env: impl Fn(&str) -> Option<String>,
) -> Result<BuiltIn, Failure> {
    let secrets = secrets(&file.secrets)?;
    let mut types = BTreeSet::new();
    let presets = presets(&file.http, &secrets, &mut types)?;
    let commands = commands(&file.process, &secrets, &mut types)?;
    let is_on = |said: Option<bool>| !without && said.unwrap_or(true);
    let (http_on, process_on) = (is_on(file.workers.http), is_on(file.workers.process) && !commands.is_empty());
    let own: Vec<&str> =
        [(HTTP_TYPE, http_on), (PROCESS_TYPE, process_on)].iter().filter(|(_, on)| *on).map(|(kind, _)| *kind).collect();
    let redis = file.redis.as_ref().map(|said| redis_options(said, env, &secrets, &own, &mut types)).transpose()?;
    let written = file.workers.allow.iter().map(|text| {
        text.parse::<Allowed>().map_err(|bad| wrong(format!("workers.allow: {bad}"), "take it out, or write it as it says"))
    });
    let allow = allow.iter().copied().map(Ok).chain(written).collect::<Result<Vec<_>, _>>()?;
    let concurrency = file.workers.http_concurrency.unwrap_or(HTTP_CONCURRENCY);
    if !(1..=POLL_TASKS_MAX).contains(&concurrency) {
        return Err(wrong(
            "workers.http_concurrency is out of bounds".into(),
            format!("write a number from 1 to {POLL_TASKS_MAX}"),
        ));
    }
    let response_mb = file.workers.response_mb.unwrap_or(RESPONSE_BYTES_MAX / MB);
    if !(1..=RESPONSE_MB_MAX).contains(&response_mb) {
        return Err(wrong("workers.response_mb is out of bounds".into(), format!("write a number from 1 to {RESPONSE_MB_MAX}")));
    }
    let http = HttpSettings { allow, concurrency, response_bytes_max: response_mb * MB, presets };
    Ok(BuiltIn {
        http: http_on.then_some(http),
        commands: if process_on { commands } else { BTreeMap::new() },
        secrets: Arc::new(secrets),
        redis,
    })
}

fn secrets(file: &BTreeMap<String, place::Secret>) -> Result<Secrets, Failure> {
    let mut known = Vec::new();
    for (name, said) in file {
        if !is_name(name) {
            return Err(wrong(format!("secrets: `{name}` is no name of a secret"), "use letters, digits, - and _, at most 64"));
        }
        let from = match (&said.env, &said.file) {
            (Some(env), None) => From::Env(env.clone()),
            (None, Some(file)) => From::File(file.clone()),
            _ => {
                let message = format!("secrets.{name} says not exactly one place where it is kept");
                return Err(wrong(message, "write {env = \"VARIABLE\"} or {file = \"/run/secrets/it\"}"));
            }
        };
        if let Some(host) = said.hosts.iter().find(|host| !is_host_pattern(host)) {
            let message = format!("secrets.{name}.hosts: `{host}` is no host");
            return Err(wrong(message, "write a host alone, such as \"api.example.com\", \"*.example.com\" or \"*\""));
        }
        known.push((name.clone(), Secret { from, hosts: said.hosts.clone() }));
    }
    Ok(Secrets::new(known))
}

/// The types that the server's own workers serve.
const OWN: [&str; 2] = [HTTP_TYPE, PROCESS_TYPE];

/// Types that nobody else serves, and none of the server's `own`: `what` names who wants them.
fn own_types(what: &str, said: &[String], own: &[&str], taken: &mut BTreeSet<TypeName>) -> Result<Vec<TypeName>, Failure> {
    let mut types = Vec::new();
    for text in said {
        let kind = TypeName::parse(text).map_err(|bad| wrong(format!("{what}.types: {bad}"), "name a type of task"))?;
        if own.contains(&text.as_str()) || text.starts_with('@') {
            return Err(wrong(format!("{what}.types: `{kind}` is the server's own"), "name a type of your own"));
        }
        if !taken.insert(kind.clone()) {
            return Err(wrong(format!("{what}.types: another serves `{kind}` already"), "let each type be served by one"));
        }
        types.push(kind);
    }
    Ok(types)
}

fn known_secrets(what: &str, text: &str, secrets: &Secrets) -> Result<(), Failure> {
    match named(text).find(|name| !secrets.knows(name)) {
        Some(name) => Err(wrong(format!("{what}: there is no secret `{name}`"), "name it under [secrets]")),
        None => Ok(()),
    }
}

fn presets(
    file: &BTreeMap<String, toml::Table>,
    secrets: &Secrets,
    taken: &mut BTreeSet<TypeName>,
) -> Result<BTreeMap<TypeName, Arc<Preset>>, Failure> {
    let mut presets = BTreeMap::new();
    for (name, table) in file {
        let what = format!("http.{name}");
        let Value::Object(mut request) = serde_json::to_value(table).unwrap_or_default() else { continue };
        let types: Vec<String> = match request.remove("types") {
            Some(types) => serde_json::from_value(types)
                .map_err(|_| wrong(format!("{what}.types is no list of texts"), format!("write types = [\"{name}\"]")))?,
            None => Vec::new(),
        };
        if types.is_empty() {
            return Err(wrong(format!("{what} serves no type"), format!("write types = [\"{name}\"]")));
        }
        let output = request.remove("output");
        if let Some(unknown) = request.keys().find(|key| !FIELDS.contains(&key.as_str())) {
            let fix = flow::problem::did_you_mean(unknown, FIELDS);
            let fix = fix.unwrap_or_else(|| format!("it may have types, output, {}", FIELDS.join(", ")));
            return Err(wrong(format!("{what} has no field `{unknown}`"), fix));
        }
        if !request.contains_key("url") {
            return Err(wrong(format!("{what} needs a url"), "write url = \"https://HOST/PATH\""));
        }
        let request = Value::Object(request);
        if let Some(problem) = flow::built_in::request(&request.to_string()) {
            let message = format!("{what}.{}: {}", problem.path, problem.message);
            return Err(wrong(message, problem.suggestion.unwrap_or_else(|| "write it as it says".into())));
        }
        known_secrets(&what, &request.to_string(), secrets)?;
        let preset = Preset::new(&request, output.as_ref().and_then(Value::as_str));
        let fix = "its texts read the task's input as ${input.…}, and output reads the answer as output.body…";
        let preset = Arc::new(preset.map_err(|why| wrong(format!("{what}: {why}"), fix))?);
        for kind in own_types(&what, &types, &OWN, taken)? {
            presets.insert(kind, preset.clone());
        }
    }
    Ok(presets)
}

fn commands(
    file: &BTreeMap<String, place::Process>,
    secrets: &Secrets,
    taken: &mut BTreeSet<TypeName>,
) -> Result<BTreeMap<String, Configured>, Failure> {
    let mut commands = BTreeMap::new();
    for (name, said) in file {
        let what = format!("process.{name}");
        let Some(first) = said.command.first() else {
            return Err(wrong(format!("{what} has no command"), "write command = [\"python3\", \"/srv/work.py\"]"));
        };
        if let Some(cwd) = said.cwd.as_deref().filter(|cwd| !cwd.is_dir()) {
            return Err(wrong(format!("{what}.cwd: {} is no folder", cwd.display()), "name a folder that is there"));
        }
        // A path is seen from the folder it is started in.
        let folder = said.cwd.as_deref().filter(|_| first.contains('/')).unwrap_or(Path::new(""));
        let program = folder.join(first);
        let program = if first.contains('/') { program.as_os_str() } else { OsStr::new(first) };
        program::check(program)
            .map_err(|why| wrong(format!("{what}.command: `{first}` {why}"), "name a program that is there"))?;
        if let Some(word) = said.command.iter().find(|word| named(word).next().is_some()) {
            let message = format!("{what}.command: `{word}` names a secret, which everybody on the machine could read there");
            return Err(wrong(message, "hand it over in env: env = {KEY = \"secret://NAME\"}"));
        }
        for value in said.env.values() {
            known_secrets(&format!("{what}.env"), value, secrets)?;
        }
        let time_max = match &said.timeout {
            Some(text) => Duration::from_millis(
                parse_duration_ms(text)
                    .map_err(|why| wrong(format!("{what}.timeout: {why}"), "give it with its unit: \"30s\""))?,
            ),
            None => process::TIME_DEFAULT,
        };
        let concurrency = said.concurrency.unwrap_or(1);
        if !(1..=POLL_TASKS_MAX).contains(&concurrency) {
            return Err(wrong(
                format!("{what}.concurrency is out of bounds"),
                format!("write a number from 1 to {POLL_TASKS_MAX}"),
            ));
        }
        if said.memory_mb == Some(0) {
            return Err(wrong(format!("{what}.memory_mb is 0"), "write how many MiB it may have, or leave it out"));
        }
        let configured = Configured {
            command: said.command.iter().map(Into::into).collect(),
            types: own_types(&what, &said.types, &OWN, taken)?,
            folder: said.cwd.clone(),
            env: said.env.clone().into_iter().collect(),
            memory_mb: said.memory_mb,
            time_max,
            concurrency,
        };
        commands.insert(name.clone(), configured);
    }
    Ok(commands)
}

/// Comes before what the file says.
const REDIS_URL: &str = "SIGNALLER_REDIS_URL";

/// The address may hold a password: it is then written with `secret://NAME`, or comes from the environment.
fn redis_options(
    said: &place::Redis,
    env: impl Fn(&str) -> Option<String>,
    secrets: &Secrets,
    own: &[&str],
    taken: &mut BTreeSet<TypeName>,
) -> Result<redis::Options, Failure> {
    let (from, url) = match (env(REDIS_URL), &said.url) {
        (Some(url), _) => (REDIS_URL, url),
        (None, Some(url)) => ("redis.url", url.clone()),
        (None, None) => {
            let fix = "write url = \"redis://127.0.0.1:6379/0\", or set SIGNALLER_REDIS_URL";
            return Err(wrong("redis needs a url".into(), fix));
        }
    };
    known_secrets(from, &url, secrets)?;
    let url = secrets.fill(&url, &mut Revealed::default()).map_err(|why| wrong(format!("{from}: {why}"), "set that secret"))?;
    let mut url = redis::Address::parse(&url).map_err(|bad| wrong(format!("{from}: {bad}"), "write it so"))?;
    if let Some(roots) = &said.ca_file {
        let fix = if from == REDIS_URL { "mend SIGNALLER_REDIS_URL or ca_file" } else { "mend it, or leave it out" };
        url = url.trusting(roots).map_err(|bad| wrong(format!("redis.ca_file: {bad}"), fix))?;
    }
    // A type may be named in both: then it goes to the stream that is named with it.
    let kinds: BTreeSet<String> = said.types.iter().chain(said.streams.keys()).cloned().collect();
    let mut streams = BTreeMap::new();
    for kind in own_types("redis", &kinds.into_iter().collect::<Vec<_>>(), own, taken)? {
        let stream = said.streams.get(kind.as_str()).cloned().unwrap_or_else(|| redis::Options::stream_of(&kind));
        streams.insert(kind, stream);
    }
    if streams.is_empty() {
        return Err(wrong("redis serves no type".into(), "write types = [\"classify\"], the types whose workers read streams"));
    }
    let slots = said.slots.unwrap_or(redis::SLOTS);
    if !(1..=REDIS_SLOTS_MAX).contains(&slots) {
        return Err(wrong("redis.slots is out of bounds".into(), format!("write a number from 1 to {REDIS_SLOTS_MAX}")));
    }
    let signals = said.signals.clone().unwrap_or_else(|| redis::SIGNALS.to_owned());
    if signals.is_empty() {
        return Err(wrong("redis.signals is empty".into(), format!("leave it out, which means {}", redis::SIGNALS)));
    }
    let options = redis::Options { url, streams, signals, slots, mirror: said.mirror };
    match options.wrong_stream() {
        Some((kind, why)) => Err(wrong(format!("redis: type `{kind}` has no stream: {why}"), "name another under redis.streams")),
        None => Ok(options),
    }
}

/// The loops of those that were started.
#[derive(Default)]
pub struct Crews {
    stops: Vec<oneshot::Sender<()>>,
    loops: Vec<JoinHandle<()>>,
}

impl Crews {
    pub fn start(engine: &Engine, built_in: &BuiltIn, stop_limit: Duration) -> Result<Crews, Failure> {
        let mut crews = Crews::default();
        for missing in built_in.secrets.missing() {
            tracing::warn!("{missing}");
        }
        if let Some(settings) = &built_in.http {
            let client = Client::gated(None, Gate::new(settings.allow.clone()), system())
                .map_err(|error| Failure::new(Exit::Unavailable, "no_client", format!("http tasks cannot be done: {error}")))?;
            let (secrets, presets) = (built_in.secrets.clone(), settings.presets.clone());
            let http = Http::new(engine.clone(), client, secrets, presets, settings.response_bytes_max);
            let place = http.place(settings.concurrency, stop_limit);
            crews.run(engine, http, place);
        }
        if !built_in.commands.is_empty() {
            // Half of it is theirs to finish in, so that the rest is enough to end them and hand their tasks back.
            let grace = GRACE.min(stop_limit / 4);
            let process = Process::new(built_in.commands.clone(), built_in.secrets.clone(), Guard::start(), grace);
            let place = process.place(stop_limit / 2);
            crews.run(engine, process, place);
        }
        if let Some(options) = built_in.redis.clone() {
            let (stop, stopped) = oneshot::channel();
            let stopped = async move { _ = stopped.await };
            crews.loops.push(tokio::spawn(redis::run(engine.clone(), options, stopped)));
            crews.stops.push(stop);
        }
        Ok(crews)
    }

    fn run(&mut self, engine: &Engine, performs: impl Performs, place: Place) {
        let (stop, stopped) = oneshot::channel();
        let stopped = async move { _ = stopped.await };
        self.loops.push(tokio::spawn(inside::work(engine.clone(), Arc::new(performs), place, stopped)));
        self.stops.push(stop);
    }

    /// The engine has ended: what they still have is dropped.
    pub fn end(self) {
        self.stops.into_iter().for_each(|stop| _ = stop.send(()));
        self.loops.iter().for_each(JoinHandle::abort);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, told: Result<&str, &str>) {
        let file: place::File = toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        match (of_file(&file, &[], false, |_| None), told) {
            (Ok(built_in), Ok(told)) => {
                let mut said = match &built_in.http {
                    Some(http) => {
                        let allow: Vec<String> = http.allow.iter().map(ToString::to_string).collect();
                        let types: Vec<&str> = http.presets.keys().map(TypeName::as_str).collect();
                        format!(
                            "http {} {} MiB allow [{}] types [{}]",
                            http.concurrency,
                            http.response_bytes_max / MB,
                            allow.join(" "),
                            types.join(" ")
                        )
                    }
                    None => "no http".to_owned(),
                };
                for (name, one) in &built_in.commands {
                    let types: Vec<&str> = one.types.iter().map(TypeName::as_str).collect();
                    said += &format!(
                        "; {name} {}s x{} {:?} [{}]",
                        one.time_max.as_secs(),
                        one.concurrency,
                        one.memory_mb,
                        types.join(" ")
                    );
                }
                if let Some(redis) = &built_in.redis {
                    let streams: Vec<String> = redis.streams.iter().map(|(kind, stream)| format!("{kind} on {stream}")).collect();
                    let mirror = if redis.mirror { " mirrored" } else { "" };
                    said += &format!("; {}, {} at a time{mirror}, told on {}", streams.join(", "), redis.slots, redis.signals);
                }
                assert_eq!(said, told, "{text}");
            }
            (Err(failure), Err(told)) => {
                assert!(failure.message.contains(told) && failure.fix.is_some(), "{text}: {}", failure.message)
            }
            (found, _) => panic!("{text}: {:?}", found.err().map(|failure| failure.message)),
        }
    }

    #[test]
    fn the_file_says_which_workers_start_and_what_they_may() {
        for (text, told) in [
            ("", Ok("http 32 8 MiB allow [] types []")),
            ("[workers]\nhttp = false", Ok("no http")),
            (
                "[workers]\nallow = [\"10.0.0.0/8\", \"127.0.0.1:3000\"]\nhttp_concurrency = 4\nresponse_mb = 1",
                Ok("http 4 1 MiB allow [10.0.0.0/8 127.0.0.1:3000] types []"),
            ),
            (
                "[http.search]\ntypes = [\"search\"]\nurl = \"https://s.test\"\nquery = {q = \"${input.text}\"}\noutput = \"output.body\"",
                Ok("http 32 8 MiB allow [] types [search]"),
            ),
            ("[process.lint]\ncommand = [\"sh\", \"-c\", \"cat\"]", Ok("http 32 8 MiB allow [] types []; lint 600s x1 None []")),
            (
                "[secrets]\nK = {env = \"K\"}\n[process.c]\ncommand = [\"sh\"]\ntypes = [\"function\"]\ntimeout = \"5s\"\nmemory_mb = 64\n\
                 concurrency = 3\nenv = {A = \"secret://K\"}",
                Ok("http 32 8 MiB allow [] types []; c 5s x3 Some(64) [function]"),
            ),
            ("[workers]\nprocess = false\n[process.lint]\ncommand = [\"sh\"]", Ok("http 32 8 MiB allow [] types []")),
            (
                "[redis]\nurl = \"redis://r.test\"\ntypes = [\"a\", \"task\"]\nstreams = {b = \"jobs\"}",
                Ok(
                    "http 32 8 MiB allow [] types []; a on wf.tasks.a, b on jobs, task on wf.tasks.default, 500 at a time, told on completion_signals",
                ),
            ),
            (
                "[redis]\nurl = \"redis://r.test\"\ntypes = [\"a\"]\nstreams = {a = \"jobs\"}\nsignals = \"told\"\nslots = 3\nmirror = true",
                Ok("http 32 8 MiB allow [] types []; a on jobs, 3 at a time mirrored, told on told"),
            ),
            (
                "[workers]\nhttp = false\n[redis]\nurl = \"redis://r.test\"\ntypes = [\"http\", \"process\"]",
                Ok("no http; http on wf.tasks.http, process on wf.tasks.process, 500 at a time, told on completion_signals"),
            ),
            ("[redis]\nurl = \"redis://x\"\ntypes = [\"http\"]", Err("redis.types: `http` is the server's own")),
            (
                "[redis]\nurl = \"redis://x\"\ntypes = [\"process\"]\n[process.c]\ncommand = [\"sh\"]",
                Err("redis.types: `process` is the server's own"),
            ),
            ("[redis]\nurl = \"redis://x\"\nstreams = {a = \"\"}", Err("type `a` has no stream: its name is empty")),
            ("[redis]\nurl = \"redis://x\"\nstreams = {a = \"s:out\"}\nsignals = \"s\"", Err("`s:out` is the list of signals")),
            ("[redis]\nurl = \"redis://x\"\nstreams = {a = \"cas:x\"}", Err("`cas:x` is where values lie")),
            ("[redis]\nurl = \"redis://x\"\ntypes = [\"a\"]\nsignals = \"\"", Err("redis.signals is empty")),
            ("[redis]\ntypes = [\"a\"]", Err("redis needs a url")),
            ("[redis]\nurl = \"http://x\"\ntypes = [\"a\"]", Err("is no address of a Redis server")),
            ("[redis]\nurl = \"redis://x\"", Err("redis serves no type")),
            ("[redis]\nurl = \"redis://x\"\ntypes = [\"a\"]\nslots = 0", Err("redis.slots")),
            ("[redis]\nurl = \"redis://:secret://K@x\"\ntypes = [\"a\"]", Err("redis.url: there is no secret `K`")),
            (
                "[redis]\nurl = \"redis://x\"\ntypes = [\"f\"]\n[process.a]\ncommand = [\"sh\"]\ntypes = [\"f\"]",
                Err("redis.types: another serves `f`"),
            ),
            ("[workers]\nallow = [\"localhost\"]", Err("`localhost` is no address to allow")),
            ("[workers]\nhttp_concurrency = 0", Err("workers.http_concurrency")),
            ("[workers]\nresponse_mb = 5000", Err("workers.response_mb")),
            ("[secrets]\n\"a b\" = {env = \"K\"}", Err("`a b` is no name")),
            ("[secrets]\nK = {}", Err("secrets.K says not exactly one place")),
            ("[secrets]\nK = {env = \"A\", file = \"b\"}", Err("not exactly one place")),
            ("[http.s]\nurl = \"https://s.test\"", Err("http.s serves no type")),
            ("[http.s]\ntypes = [\"s\"]", Err("http.s needs a url")),
            ("[http.s]\ntypes = [\"s\"]\nurl = \"https://s.test\"\nhedaers = {}", Err("http.s has no field `hedaers`")),
            ("[http.s]\ntypes = [\"s\"]\nurl = \"${nodes.a.output}\"", Err("http.s: ")),
            ("[http.s]\ntypes = [\"s\"]\nurl = \"secret://K\"", Err("http.s: there is no secret `K`")),
            ("[http.s]\ntypes = [\"s\"]\nurl = \"127.0.0.1:1/x\"", Err("http.s.url: a URL such as")),
            ("[http.s]\ntypes = [\"s\"]\nurl = \"http://x\"\ntimeout = 10", Err("http.s.timeout: ")),
            ("[http.s]\ntypes = [\"s\"]\nurl = \"http://x\"\nmethod = \"FETCH\"", Err("http.s.method: one of GET, HEAD")),
            (
                "[secrets]\nK = {env = \"K\", hosts = [\"https://a.test/x\"]}",
                Err("secrets.K.hosts: `https://a.test/x` is no host"),
            ),
            ("[process.c]\ncommand = [\"sh\", \"secret://K\"]", Err("process.c.command: `secret://K` names a secret")),
            ("[http.s]\ntypes = [\"http\"]\nurl = \"https://s.test\"", Err("`http` is the server's own")),
            ("[process.c]\ncommand = []", Err("process.c has no command")),
            ("[process.c]\ncommand = [\"no-such-program\"]", Err("`no-such-program` is not on PATH")),
            ("[process.c]\ncommand = [\"./no\"]\ncwd = \"/\"", Err("`./no` is not there")),
            ("[process.c]\ncommand = [\"cat\"]\ncwd = \"/no/such\"", Err("process.c.cwd: /no/such is no folder")),
            ("[process.c]\ncommand = [\"sh\"]\ntimeout = \"soon\"", Err("process.c.timeout")),
            ("[process.c]\ncommand = [\"sh\"]\nconcurrency = 0", Err("process.c.concurrency")),
            ("[process.c]\ncommand = [\"sh\"]\nmemory_mb = 0", Err("process.c.memory_mb")),
            ("[process.c]\ncommand = [\"sh\"]\nenv = {A = \"secret://K\"}", Err("process.c.env: there is no secret `K`")),
            (
                "[process.a]\ncommand = [\"sh\"]\ntypes = [\"f\"]\n[process.b]\ncommand = [\"sh\"]\ntypes = [\"f\"]",
                Err("process.b.types: another serves `f`"),
            ),
        ] {
            check(text, told);
        }
        assert!(plain(&[], true).unwrap().http.is_none());
        assert_eq!(plain(&["127.0.0.1".parse().unwrap()], false).unwrap().http.unwrap().allow.len(), 1);
    }

    #[test]
    fn what_is_wrong_with_redis_is_told_by_where_it_was_said() {
        for (said, env, told, fix) in [
            ("", "redis:/x", "SIGNALLER_REDIS_URL: ", "write it so"),
            ("ca_file = \"ca.pem\"\n", "redis://x", "redis.ca_file: redis://x is not", "mend SIGNALLER_REDIS_URL or ca_file"),
        ] {
            let text = format!("[redis]\nurl = \"rediss://r.test\"\n{said}types = [\"a\"]");
            let file: place::File = toml::from_str(&text).unwrap();
            let failure = of_file(&file, &[], false, |name| (name == REDIS_URL).then(|| env.into())).unwrap_err();
            assert!(failure.message.starts_with(told), "{}", failure.message);
            assert_eq!(failure.fix.as_deref(), Some(fix));
        }
    }

    #[test]
    fn what_redis_is_trusted_by_is_read_before_anything_starts() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let good = Path::new(env!("CARGO_MANIFEST_DIR")).join("../workers/tests/tls/ca.pem");
        let cut = std::fs::read_to_string(&good).unwrap().replace("-----END CERTIFICATE-----", "");
        let block = "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
        for (scheme, roots, told) in [
            ("rediss", good.clone(), Ok("no http; a on wf.tasks.a, 500 at a time, told on completion_signals")),
            ("redis", good, Err("redis.ca_file: redis://r.test is not reached over TLS; write rediss://")),
            ("rediss", folder.path().join("none.pem"), Err("none.pem cannot be used: No such file")),
            ("rediss", file("empty.pem", "# later\n"), Err("empty.pem cannot be used: there is none in it; name a PEM file")),
            ("rediss", file("cut.pem", &cut), Err("cut.pem cannot be used: ")),
            ("rediss", file("other.pem", block), Err("other.pem cannot be used: ")),
        ] {
            let redis = format!("url = \"{scheme}://:pass@r.test\"\nca_file = \"{}\"\ntypes = [\"a\"]", roots.display());
            check(&format!("[workers]\nhttp = false\n[redis]\n{redis}"), told);
        }
    }
}
