//! Work done by commands: those that the server is set up with, by name, and nothing else. The task comes as JSON on stdin, stdout
//! is its output, stderr its log. What a command starts is one group of processes, which ends whole: when the command ends, when
//! its time is over, when it is to stop, and when the server itself is killed.

mod brief;
pub mod child;
pub mod guard;
pub mod program;
mod progress;
pub mod verdict;

pub use brief::Brief;
pub use child::{Ended, Exited, Group, Launch, start};
pub use guard::Guard;
pub use progress::Progress;
pub use verdict::{Verdict, judge};

use crate::inside::{Job, Performs, Place};
use crate::secrets::{Mask, NoSecret, Revealed, Secrets};
use kernel::command::Outcome;
use kernel::frame::FramePath;
use kernel::names::{NodeId, TypeName, WorkerName};
use kernel::record::{Failure, Payload};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep, timeout};

/// The type of tasks that name their command themselves.
pub const PROCESS_TYPE: &str = "process";
/// After so long SIGTERM becomes SIGKILL.
pub const GRACE: Duration = Duration::from_secs(5);
pub const TIME_DEFAULT: Duration = Duration::from_secs(10 * 60);

/// A command that may be run.
#[derive(Clone, Debug)]
pub struct Configured {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Types of tasks that are its own: their input is the command's.
    pub types: Vec<TypeName>,
    pub folder: Option<PathBuf>,
    /// Beside PATH and what tells of the task: the command sees nothing else of the server's environment. `secret://NAME` is put in.
    pub env: Vec<(String, String)>,
    pub memory_mb: Option<u64>,
    pub time_max: Duration,
    /// How many of it run at a time.
    pub concurrency: usize,
}

struct Command {
    configured: Configured,
    slots: Semaphore,
}

pub struct Process {
    commands: BTreeMap<String, Arc<Command>>,
    by_type: BTreeMap<TypeName, Arc<Command>>,
    secrets: Arc<Secrets>,
    guard: Guard,
    grace: Duration,
}

/// The input of a task of type [`PROCESS_TYPE`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object such as {\"command\": \"checksum\"}")]
struct Asked {
    command: String,
    #[serde(default)]
    input: Option<Box<RawValue>>,
}

impl Process {
    pub fn new(configured: BTreeMap<String, Configured>, secrets: Arc<Secrets>, guard: Guard, grace: Duration) -> Process {
        let command = |configured: Configured| {
            let slots = Semaphore::new(configured.concurrency.clamp(1, Semaphore::MAX_PERMITS));
            Arc::new(Command { configured, slots })
        };
        let commands: BTreeMap<String, Arc<Command>> = configured.into_iter().map(|(name, one)| (name, command(one))).collect();
        let own = |command: &Arc<Command>| {
            let command = command.clone();
            command.configured.types.clone().into_iter().map(move |kind| (kind, command.clone())).collect::<Vec<_>>()
        };
        let by_type = commands.values().flat_map(own).collect();
        Process { commands, by_type, secrets, guard, grace }
    }

    /// The worker that runs them: as many at a time as they may be together.
    pub fn place(&self, stop_limit: Duration) -> Place {
        let worker = WorkerName::parse("signaller:process").expect("it is a name");
        let own = TypeName::parse(PROCESS_TYPE).expect("it is a type");
        let types = std::iter::once(own).chain(self.by_type.keys().cloned()).collect();
        let slots = self.commands.values().map(|command| command.configured.concurrency).sum();
        Place { worker, types, slots, stop_limit }
    }

    /// Which command does it, with which input.
    fn asked<'j>(&self, job: &'j Job) -> Result<(Arc<Command>, Given<'j>), Failure> {
        if let Some(command) = self.by_type.get(&job.grant.kind) {
            let input = serde_json::from_str(job.input.text());
            return Ok((command.clone(), Given::Whole(input.map_err(|error| failure("bad_input", error.to_string()))?)));
        }
        let asked: Asked = serde_json::from_str(job.input.text()).map_err(|error| {
            failure("bad_input", format!("the input of a process task is {{\"command\": NAME, \"input\": …}}: {error}"))
        })?;
        let Some(command) = self.commands.get(&asked.command) else {
            let message = format!("there is no command `{}`: set it up as [process.NAME] in signaller.toml", asked.command);
            return Err(failure("unknown_command", message));
        };
        let null = || serde_json::value::to_raw_value(&()).expect("null is JSON");
        Ok((command.clone(), Given::Part(asked.input.unwrap_or_else(null))))
    }

    fn launch(&self, command: &Configured, job: &Job, input: &RawValue) -> Result<(Launch, Mask), NoSecret> {
        let mut revealed = Revealed::default();
        let path = std::env::var_os("PATH").map(|path| (OsString::from("PATH"), path));
        let mut env: Vec<(OsString, OsString)> = path.into_iter().collect();
        for (name, value) in &command.env {
            env.push((name.into(), self.secrets.fill(value, &mut revealed)?.into()));
        }
        let grant = &job.grant;
        let at = grant.node.as_ref().map(|(at, _)| &**at);
        let node = at.map(|at| node_place(&at.frame, &at.node));
        let brief = Brief {
            task: grant.task,
            kind: &grant.kind,
            queue: &grant.queue,
            attempt: grant.attempt,
            idempotency_key: &job.work_key(),
            budget_ms: grant.budget_ms,
            run: at.map(|at| at.run),
            node: node.as_deref(),
            input,
            fence: grant.fence,
            made_of: grant.trigger.as_ref().map(|(made, _)| (made.event, &made.name, &made.handler)),
        };
        env.extend(brief.env());
        let launch = Launch {
            command: command.command.clone(),
            folder: command.folder.clone(),
            env,
            env_is_whole: true,
            memory_mb: command.memory_mb,
            stdin: brief.stdin(),
            ends_whole: true,
        };
        Ok((launch, revealed.mask()))
    }

    async fn run(&self, job: Job) -> Result<Outcome, Failure> {
        let (command, given) = self.asked(&job)?;
        let mut stop = job.stop.clone();
        let _slot = match command.slots.try_acquire() {
            Ok(slot) => slot,
            Err(_) => {
                let places = command.configured.concurrency;
                job.say.progress(0, Some(&format!("it waits for one of {places} places of its command")));
                let slot = tokio::select! {
                    slot = command.slots.acquire() => slot.expect("it is never closed"),
                    () = stop.told() => return Ok(Outcome::Released),
                };
                job.say.begins();
                slot
            }
        };
        let (launch, mask) =
            self.launch(&command.configured, &job, given.json()).map_err(|no| failure("no_secret", no.to_string()))?;
        let (tell, mut ended) = oneshot::channel();
        let line = {
            let (mask, say) = (mask.clone(), job.say.clone());
            move |line: &str| {
                let line = mask.text(line);
                match Progress::read(&line) {
                    Some(Progress { permille, message }) => say.progress(permille, message),
                    None => say.line(&line),
                }
            }
        };
        let group = match start(launch, self.guard.clone(), line, move |ended| _ = tell.send(ended)) {
            Ok(group) => Ending(group),
            Err(error) => return Ok(not_started(&command.configured, &error)),
        };
        let time_max = command.configured.time_max;
        let is_late = tokio::select! {
            // One that has ended by itself was not ended.
            biased;
            ended = &mut ended => return Ok(outcome(ended.map_err(|_| lost())?, &mask)),
            () = sleep(time_max) => true,
            () = stop.told() => false,
        };
        group.0.terminate();
        if timeout(self.grace, &mut ended).await.is_err() {
            group.0.kill();
            _ = ended.await;
        }
        if is_late {
            let message = format!("the command took longer than {} ms and was ended", time_max.as_millis());
            return Ok(Outcome::Failed { failure: failure("timed_out", message), retryable: true, retry_after_ms: None });
        }
        // Whatever it said last: many end well when they are told to, and nobody knows whether that was all of it.
        Ok(Outcome::Released)
    }
}

/// What a command gets of its task's input.
enum Given<'j> {
    Whole(&'j RawValue),
    Part(Box<RawValue>),
}

impl Given<'_> {
    fn json(&self) -> &RawValue {
        match self {
            Given::Whole(json) => json,
            Given::Part(json) => json,
        }
    }
}

/// The group, which is killed with whoever waits for it.
struct Ending(Group);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.kill();
    }
}

impl Performs for Process {
    async fn perform(&self, job: Job) -> Outcome {
        let ran = self.run(job).await;
        ran.unwrap_or_else(|failure| Outcome::Failed { failure, retryable: false, retry_after_ms: None })
    }

    /// It may be what the server died of: as often as there are attempts, and no more.
    fn cut_off(&self) -> Outcome {
        let failure = failure("worker_lost", "the server was killed while it had this task");
        Outcome::Failed { failure, retryable: true, retry_after_ms: None }
    }

    /// What ignores SIGTERM is killed after the grace, and reaped a moment later.
    fn grace(&self) -> Duration {
        self.grace + Duration::from_secs(2)
    }
}

/// There may be room for it later; a program that is not there will not come by itself.
fn not_started(command: &Configured, error: &std::io::Error) -> Outcome {
    let program = command.command.first().map(|program| program.to_string_lossy().into_owned()).unwrap_or_default();
    let lasting = [ErrorKind::NotFound, ErrorKind::PermissionDenied, ErrorKind::InvalidInput, ErrorKind::ArgumentListTooLong];
    let retryable = !lasting.contains(&error.kind());
    let failure = failure("not_started", format!("`{program}` cannot be started: {error}"));
    Outcome::Failed { failure, retryable, retry_after_ms: None }
}

fn outcome(ended: Ended, mask: &Mask) -> Outcome {
    let Ended { exit, stdout, stderr_tail, left_behind } = ended;
    let ended = Ended { exit, stdout, stderr_tail: mask.text(&stderr_tail), left_behind };
    match judge(ended) {
        Verdict::Done(output) => Outcome::Done { output: Payload(mask.json(output.get()).into()) },
        Verdict::Failed { failure, retryable, retry_after_ms } => Outcome::Failed { failure, retryable, retry_after_ms },
    }
}

fn node_place(frame: &FramePath, node: &NodeId) -> String {
    let slash = if frame.is_root() { "" } else { "/" };
    format!("{frame}{slash}{node}")
}

fn failure(code: &str, message: impl Into<String>) -> Failure {
    Failure { code: code.into(), message: message.into() }
}

fn lost() -> Failure {
    failure("process_lost", "nobody knows how the command ended: please report what the log says of it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_started_is_tried_again_where_that_may_pass() {
        let command = Configured {
            command: vec!["lint".into()],
            types: Vec::new(),
            folder: None,
            env: Vec::new(),
            memory_mb: None,
            time_max: TIME_DEFAULT,
            concurrency: 1,
        };
        use rustix::io::Errno;
        for (errno, passes) in [
            (Errno::MFILE, true),
            (Errno::NFILE, true),
            (Errno::AGAIN, true),
            (Errno::NOMEM, true),
            (Errno::TXTBSY, true),
            (Errno::NOENT, false),
            (Errno::ACCESS, false),
            (Errno::TOOBIG, false),
        ] {
            let outcome = not_started(&command, &errno.into());
            let Outcome::Failed { failure, retryable, .. } = outcome else { panic!("{errno}") };
            assert_eq!((failure.code.as_str(), retryable), ("not_started", passes), "{errno}");
            assert!(failure.message.starts_with("`lint` cannot be started: "), "{}", failure.message);
        }
    }
}
