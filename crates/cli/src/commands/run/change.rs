//! `signaller run cancel|pause|resume|retry|delete`: what changes a run's state. Several runs are
//! changed in order, see [`each`]; all that `--where` means by the server, see [`meant`].

use super::meant::{self, Deed, Meant, Of};
use super::operations::OperationsArgs;
use crate::client::with_query;
use crate::commands::task::read_json;
use crate::commands::{Session, each, run_id};
use crate::output::{Answer, Failure, Outcome};
use crate::units::count_of;
use clap::Args;
use doors::wire::{RunChange, RunDelete, RunNow, RunRetry, RunStatus, RunView, RunsVerb, Signed};
use kernel::ids::RunId;
use serde::Serialize;
use serde_json::json;

#[derive(Args, Debug)]
pub struct Runs {
    /// One or more runs, by their ids
    #[arg(value_name = "RUN", required = true, value_parser = run_id)]
    runs: Vec<RunId>,
}

/// Cancel runs: what waits in them is dropped, what runs is asked to stop
#[derive(Args, Debug)]
#[command(
    after_help = "The runs that one has called are cancelled with it. One that was called may be cancelled alone: the node \
                        that called it fails with `cancelled`, and goes on as its `on_error` says.\n\n\
                        Examples:\n  signaller run cancel run-7 --reason 'wrong order'\n  \
                        signaller run cancel --where 'workflow == \"refund\" && age > 86400' --dry-run"
)]
pub struct CancelArgs {
    #[command(flatten)]
    meant: Meant,
    /// Why, for the history
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// With --where: do it; without this nothing is cancelled
    #[arg(long, conflicts_with_all = ["runs", "dry_run"])]
    yes: bool,
}

/// Begin nothing new in runs; what runs may finish
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  signaller run pause run-7 --reason 'waiting for the provider'
  signaller run pause --where 'workflow == \"refund\" && status == \"running\"'")]
pub struct PauseArgs {
    #[command(flatten)]
    meant: Meant,
    /// Why, for the history
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Go on with runs that were paused
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller run resume run-7\n  signaller run resume --where paused --rate 50/s")]
pub struct ResumeArgs {
    #[command(flatten)]
    meant: Meant,
}

/// Go on with runs that failed or were cancelled: what failed is tried again, what is done stays done
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  signaller run retry run-7
  signaller run retry run-7 --node rounds[1]/pay
  signaller run retry run-7 --node pay --with '{\"account\":\"other\"}' --reason 'the old one is closed'
  signaller run retry --where 'workflow == \"refund\" && status == \"failed\"' --dry-run
  signaller run retry --where 'status == \"failed\" && error.code == \"deadline\"' --rate 50/s")]
pub struct RetryArgs {
    #[command(flatten)]
    meant: Meant,
    /// Only this node of it
    #[arg(long, value_name = "NODE", conflicts_with = "filter")]
    node: Option<String>,
    /// Another input for that node, in the definition that the run follows; JSON, @file or - for stdin
    #[arg(long, value_name = "JSON", requires = "node")]
    with: Option<String>,
    #[command(flatten)]
    operations: OperationsArgs,
    /// Change nothing unless it is at this revision
    #[arg(long, value_name = "N", conflicts_with = "filter")]
    expected_revision: Option<u32>,
    /// Why, for the history
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Delete runs that have ended, with their tasks and their history; this cannot be undone
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller run delete run-7 --dry-run\n  signaller run delete run-7 --yes")]
pub struct DeleteArgs {
    #[command(flatten)]
    runs: Runs,
    /// Do it: without this nothing is deleted
    #[arg(long)]
    yes: bool,
    /// Show what would be deleted
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
}

pub fn cancel(args: CancelArgs, session: &Session) -> Outcome {
    if let Some(filter) = &args.meant.many.filter {
        let dry_run = args.meant.dry_run;
        let (would, done) = ("cancel", "cancelled");
        let deed = Deed {
            verb: RunsVerb::Cancel,
            of: Of::Nothing,
            dry_run,
            command: "run cancel",
            would,
            done,
            reason: args.reason,
            yes: Some(args.yes),
        };
        return meant::all(session, &args.meant.many, filter, deed);
    }
    let body = RunChange { by: Some(session.by.clone()), reason: args.reason };
    let cancel = |run| session.client.post(&format!("/v1/runs/{run}/cancel"), &body);
    each(session, &args.meant.runs, cancel, |now| match &now.caller {
        _ if !now.changed => format!("{} was cancelled already; nothing changed.", now.run),
        None => format!("{} is cancelled.", now.run),
        Some(caller) => format!("{} is cancelled; {caller}, which called it, fails with `cancelled`.", now.run),
    })
}

pub fn pause(args: PauseArgs, session: &Session) -> Outcome {
    if let Some(filter) = &args.meant.many.filter {
        let dry_run = args.meant.dry_run;
        let (would, done) = ("pause", "paused");
        let deed = Deed {
            verb: RunsVerb::Pause,
            of: Of::Nothing,
            dry_run,
            command: "run pause",
            would,
            done,
            reason: args.reason,
            yes: None,
        };
        return meant::all(session, &args.meant.many, filter, deed);
    }
    let body = RunChange { by: Some(session.by.clone()), reason: args.reason };
    let pause = |run| session.client.post(&format!("/v1/runs/{run}/pause"), &body);
    each(session, &args.meant.runs, pause, |now| match now.changed {
        true => format!("{} is paused; what runs in it may finish.", now.run),
        false => format!("{} was paused already; nothing changed.", now.run),
    })
}

pub fn resume(args: ResumeArgs, session: &Session) -> Outcome {
    if let Some(filter) = &args.meant.many.filter {
        let dry_run = args.meant.dry_run;
        let (would, done) = ("resume", "go on");
        let deed = Deed {
            verb: RunsVerb::Resume,
            of: Of::Nothing,
            dry_run,
            command: "run resume",
            would,
            done,
            reason: None,
            yes: None,
        };
        return meant::all(session, &args.meant.many, filter, deed);
    }
    let body = Signed { by: Some(session.by.clone()) };
    let resume = |run| session.client.post(&format!("/v1/runs/{run}/resume"), &body);
    each(session, &args.meant.runs, resume, |now| match now.changed {
        true => format!("{} goes on.", now.run),
        false => format!("{} was not paused; nothing changed.", now.run),
    })
}

pub fn retry(args: RetryArgs, session: &Session) -> Outcome {
    if let Some(filter) = &args.meant.many.filter {
        let dry_run = args.meant.dry_run;
        let (would, done) = ("retry", "go on from where they stopped");
        let reason = args.reason.clone();
        let deed = Deed { verb: RunsVerb::Retry, of: Of::Nothing, dry_run, command: "run retry", would, done, reason, yes: None };
        return meant::all(session, &args.meant.many, filter, deed);
    }
    if args.node.is_some() && args.meant.runs.len() > 1 {
        return Err(Failure::usage("--node is of one run").fix("name one RUN, or leave --node out"));
    }
    if args.expected_revision.is_some() && args.meant.runs.len() > 1 {
        return Err(Failure::usage("--expected-revision is of one run").fix("name one RUN, or leave it out"));
    }
    let with = args.with.as_deref().map(|with| read_json("--with", with)).transpose()?;
    let retry = |run| {
        args.operations.send(session, run, args.expected_revision, |made| {
            let body = RunRetry {
                node: args.node.clone(),
                with: with.clone(),
                expected_revision: made.as_ref().map_or(args.expected_revision, |made| made.expected),
                operations: made.map(|made| made.operations),
                reason: args.reason.clone(),
                by: Some(session.by.clone()),
            };
            session.client.post::<RunNow>(&format!("/v1/runs/{run}/retry"), &body)
        })
    };
    let changes = with.is_some() || !args.operations.is_empty();
    each(session, &args.meant.runs, retry, |now| match now.revision.filter(|_| changes) {
        Some(revision) => format!("{} goes on from where it stopped, by revision {revision} of its text.", now.run),
        None => format!("{} goes on from where it stopped.", now.run),
    })
}

pub fn delete(args: DeleteArgs, session: &Session) -> Outcome {
    if args.dry_run {
        return would_delete(session, &args.runs.runs);
    }
    if !args.yes {
        let count = count_of(args.runs.runs.len() as u64, "run");
        return Err(Failure::confirmation_needed(format!("this deletes {count} for good")));
    }
    let query = RunDelete { by: Some(session.by.clone()) };
    let delete = |run: RunId| session.client.delete(&with_query(&format!("/v1/runs/{run}"), &query));
    each(session, &args.runs.runs, delete, |deleted| format!("{} is deleted, with all that belongs to it.", deleted.run))
}

/// Whether a run would be deleted, and if not, why.
#[derive(Serialize)]
struct Deletion {
    run: RunId,
    status: RunStatus,
    deletes: bool,
    /// Nodes that would go with it, those of loops and eaches included.
    nodes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

fn would_delete(session: &Session, runs: &[RunId]) -> Outcome {
    let (mut found, mut lines) = (Vec::new(), Vec::new());
    for run in runs {
        let view: RunView = session.client.get(&format!("/v1/runs/{run}?nodes=1"))?;
        let why = match (&view.parent, view.status) {
            (_, RunStatus::Running) => Some("it is running: cancel it first, or wait until it ends".to_owned()),
            (Some(parent), _) => Some(format!("it was called by {parent}, and is deleted with that run")),
            _ if view.deleting => Some("it is being deleted already".to_owned()),
            _ if view.stopping => Some("what was under way in it is still being stopped".to_owned()),
            _ => None,
        };
        let nodes = view.counts.as_ref().map_or(0, |counts| counts.all());
        lines.push(match &why {
            Some(why) => format!("{run} would not be deleted: {why}."),
            None => format!("{run} is {} and would be deleted, with {} and its history.", view.status, count_of(nodes, "node")),
        });
        found.push(Deletion { run: *run, status: view.status, deletes: why.is_none(), nodes, why });
    }
    let deletable: Vec<String> = found.iter().filter(|one| one.deletes).map(|one| one.run.to_string()).collect();
    let answer = Answer::new(&json!({"dry_run": true, "runs": found}), lines.join("\n"));
    Ok(if deletable.is_empty() {
        answer
    } else {
        answer.next(format!("run delete {} --yes", deletable.join(" ")), "delete for good")
    })
}

fn each(
    session: &Session,
    runs: &[RunId],
    change: impl Fn(RunId) -> Result<RunNow, Failure>,
    tell: impl Fn(&RunNow) -> String,
) -> Outcome {
    each::each(session, "run", runs, change, tell)
}
