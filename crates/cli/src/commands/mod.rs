//! One file per verb. Each takes its arguments and a [`Session`], and gives an answer or a failure; none prints its own
//! last word.

pub mod approval;
pub mod bench;
pub mod blob;
pub mod bulk;
pub mod completions;
pub mod cron;
pub mod dev;
mod each;
pub mod emit;
pub mod event;
pub mod family;
pub mod queue;
pub mod registry;
pub mod run;
pub mod serve;
pub mod status;
pub mod task;
pub mod verify;
pub mod watch;
pub mod webhook;
pub mod work;
pub mod worker_check;
pub mod workflow;

use crate::client::Client;
use crate::config::{Globals, Target, actor};
use crate::output::{Outcome, Screen};
use crate::plain::plain;
use clap::Subcommand;
use doors::wire::{KeyPair, Priority};
use kernel::ids::{BulkId, EventId, RunId, TaskId};
use kernel::limits::ATTEMPTS_MAX;
use kernel::names::Actor;

#[derive(Subcommand, Debug)]
pub enum Command {
    Dev(dev::DevArgs),
    Serve(serve::ServeArgs),
    Emit(emit::EmitArgs),
    Event(event::EventArgs),
    Registry(registry::RegistryArgs),
    Cron(cron::CronArgs),
    Webhook(webhook::WebhookArgs),
    Family(family::FamilyArgs),
    Workflow(workflow::WorkflowArgs),
    Run(run::RunArgs),
    Approval(approval::ApprovalArgs),
    Task(task::TaskArgs),
    Queue(queue::QueueArgs),
    Bulk(bulk::BulkArgs),
    Blob(blob::BlobArgs),
    Work(work::WorkArgs),
    #[command(hide = true)]
    WorkGuard(work::GuardArgs),
    WorkerCheck(worker_check::WorkerCheckArgs),
    Watch(watch::WatchArgs),
    Status(status::StatusArgs),
    Verify(verify::VerifyArgs),
    Bench(bench::BenchArgs),
    #[command(hide = true)]
    BenchLoad(bench::BenchLoadArgs),
    Completions(completions::CompletionsArgs),
}

/// What a command that talks to a server works with.
pub struct Session {
    pub client: Client,
    pub by: Actor,
    pub screen: Screen,
}

impl Session {
    fn new(globals: &Globals, screen: Screen) -> Result<Session, crate::output::Failure> {
        let env = |name: &str| std::env::var(name).ok();
        let client = Client::new(Target::resolve(globals, env)?);
        Ok(Session { client, by: actor(globals, env)?, screen })
    }
}

pub fn run(command: Command, globals: &Globals, screen: Screen) -> Outcome {
    let session = || Session::new(globals, screen);
    match command {
        Command::Dev(args) => dev::run(args, globals.token.clone(), screen),
        Command::Serve(args) => serve::run(args, globals.token.clone(), screen),
        Command::Bench(args) => bench::run(args, screen),
        Command::BenchLoad(args) => bench::run_load(args),
        Command::Verify(args) => verify::run(args, screen),
        Command::WorkerCheck(args) => worker_check::run(args, screen),
        // Some of these work without a server.
        Command::Registry(args) => registry::run(args, globals, screen),
        Command::Workflow(args) => workflow::run(args, globals, screen),
        Command::Emit(args) => emit::run(args, &session()?),
        Command::Event(args) => event::run(args, &session()?),
        Command::Cron(args) => cron::run(args, &session()?),
        Command::Webhook(args) => webhook::run(args, &session()?),
        Command::Family(args) => family::run(args, &session()?),
        Command::Run(args) => run::run(args, globals.json, &session()?),
        Command::Approval(args) => approval::run(args, &session()?),
        Command::Task(args) => task::run(args, &session()?),
        Command::Queue(args) => queue::run(args, &session()?),
        Command::Bulk(args) => bulk::run(args, &session()?),
        Command::Blob(args) => blob::run(args, &session()?),
        Command::Work(args) => work::run(args, &session()?),
        Command::WorkGuard(work::GuardArgs {}) => work::guard(),
        Command::Watch(args) => watch::run(args, &session()?),
        Command::Status(args) => status::run(args, &session()?),
        Command::Completions(args) => completions::run(args, globals.json),
    }
}

// How values are read from the command line.

pub fn task_id(text: &str) -> Result<TaskId, String> {
    TaskId::parse(text).ok_or_else(|| not_id(text, "task", "task-9m2"))
}

pub fn run_id(text: &str) -> Result<RunId, String> {
    RunId::parse(text).ok_or_else(|| not_id(text, "run", "run-7"))
}

pub fn bulk_id(text: &str) -> Result<BulkId, String> {
    BulkId::parse(text).ok_or_else(|| not_id(text, "bulk", "bulk-3"))
}

/// What is said, and below it what may be a mistake.
pub fn with_note(text: String, note: Option<&String>) -> String {
    match note {
        Some(note) => {
            let end = if note.ends_with('?') { "" } else { "." };
            format!("{text}\nBut {}{end}", plain(note))
        }
        None => text,
    }
}

/// `a task`, `an event`
fn one(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {kind}")
}

/// What it is the id of.
fn other_id(text: &str) -> Option<&'static str> {
    let kinds = [
        ("task", TaskId::parse(text).is_some()),
        ("run", RunId::parse(text).is_some()),
        ("bulk", BulkId::parse(text).is_some()),
        ("event", EventId::parse(text).is_some()),
    ];
    kinds.into_iter().find(|(_, fits)| *fits).map(|(kind, _)| kind)
}

/// If it is the id of something else, it says of what.
fn not_id(text: &str, kind: &str, example: &str) -> String {
    match other_id(text) {
        Some(other) => format!("`{text}` is {}, not {}: see `signaller {other} show {text}`", one(other), one(kind)),
        None => format!("`{text}` is not {} id such as {example}", one(kind)),
    }
}

/// The first attempt counts, so that there is at least one.
pub fn attempts(text: &str) -> Result<u16, String> {
    let found = text.parse().ok().filter(|attempts| (1..=ATTEMPTS_MAX).contains(attempts));
    found.ok_or_else(|| format!("`{text}` is not a number of attempts: give 1 to {ATTEMPTS_MAX}; 1 is the first and no other"))
}

pub fn key_pair(text: &str) -> Result<KeyPair, String> {
    KeyPair::parse(text)
}

pub fn priority(text: &str) -> Result<Priority, String> {
    let priority = kernel::priority::Priority::parse(text).map(Priority);
    priority.ok_or_else(|| format!("`{text}` is none of critical, high, normal, background, nor a number of seconds"))
}
