//! `signaller run patch`: another text for a run, now and for what is to come.

use super::edit;
use super::meant::{self, Deed, Many, Of};
use super::operations::{Made, OperationsArgs, definition_at};
use crate::commands::{Session, run_id};
use crate::output::{Answer, Failure, Outcome};
use crate::place::env;
use crate::plain::plain_text;
use crate::units::{grouped, now, show_age};
use clap::Args;
use doors::wire::{RunPatch, RunPatched, RunsVerb};
use kernel::ids::{RunId, TaskId};

/// Change the definition that a run follows, while it goes on: what has begun stays as it is
#[derive(Args, Debug)]
#[command(
    after_help = "A command that `signaller work` has started may leave RUN out: it patches the run that it works in, by its lease.\n\n\
                        Examples:\n  signaller run patch run-7 --set nodes.pay.timeout=1m\n  \
                        signaller run patch run-7 -f ops.json --dry-run\n  \
                        signaller run patch run-7 --unset nodes.audit --description 'not needed any more'\n  \
                        signaller run patch run-7 --edit\n  \
                        signaller run patch --where 'workflow == \"refund\" && status == \"running\"' --set nodes.pay.timeout=1m --dry-run\n  \
                        signaller run patch run-7 --text refund.yaml --expected-revision 1\n  \
                        echo '[{\"op\":\"add\",\"path\":\"/nodes/audit\",\"value\":{\"type\":\"audit\",\"after\":[\"pay\"]}}]' | signaller run patch run-7 -f -"
)]
pub struct PatchArgs {
    /// The run, by its id [default: the one that this command works in]
    #[arg(id = "runs", value_name = "RUN", value_parser = run_id)]
    run: Option<RunId>,
    #[command(flatten)]
    many: Many,
    #[command(flatten)]
    operations: OperationsArgs,
    /// Open the text in $VISUAL or $EDITOR, and patch it to what is saved there
    #[arg(long, conflicts_with_all = ["file", "set", "unset", "text", "filter"])]
    edit: bool,
    /// Only tell what it would do; exits as the patch would. With --where, how many are meant and what the first hundred say to it
    #[arg(long)]
    dry_run: bool,
    /// Change nothing unless it is at this revision
    #[arg(long, value_name = "N", conflicts_with = "filter")]
    expected_revision: Option<u32>,
    /// Why, for the history
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
}

pub fn run(args: PatchArgs, session: &Session) -> Outcome {
    let own = Own::of_worker();
    if let Some(filter) = args.many.filter.clone() {
        return match own {
            Some(own) => Err(not_its_own(&own, "others")),
            None => patch_all(args, &filter, session),
        };
    }
    let run = args.run.or(own.as_ref().map(|own| own.run)).ok_or_else(|| {
        Failure::usage("no run is named").fix("name one, such as run-7; only a worker's own command may leave it out")
    })?;
    if let Some(own) = own.as_ref().filter(|own| own.run != run) {
        return Err(not_its_own(own, &run.to_string()));
    }
    if args.operations.is_empty() && !args.edit {
        let fix = "give operations with -f FILE, --set PATH=VALUE or --unset PATH, all of it with --text FILE, or --edit it";
        return Err(Failure::usage("nothing is to change").fix(fix).next(format!("run definition {run}"), "the text it follows"));
    }
    let ask = |made: Option<Made>| {
        let made = made.expect("there is something to change");
        let body = RunPatch {
            operations: made.operations,
            expected_revision: made.expected,
            description: args.description.clone(),
            dry_run: args.dry_run,
            node_id: None,
            by: Some(session.by.clone()).filter(|_| own.is_none()),
            task: own.as_ref().map(|own| own.task),
            fence: own.as_ref().map(|own| own.fence.clone()),
        };
        session.client.post::<RunPatched>(&format!("/v1/runs/{run}/patch"), &body)
    };
    let patched = match args.edit {
        true => {
            let found = definition_at(session, run, None)?;
            let expected = args.expected_revision.or(Some(found.newest));
            edit::edited(session, found, &format!("run patch {run}"), |operations| ask(Some(Made { operations, expected })))?
        }
        false => args.operations.send(session, run, args.expected_revision, ask).map_err(|no| args.operations.carried(no))?,
    };
    told(session, &patched)
}

fn not_its_own(own: &Own, other: &str) -> Failure {
    let message = format!("this is the work of {}: a worker's command patches no run but its own, not {other}", own.run);
    Failure::usage(message)
        .fix("leave RUN and --where out; whoever is no worker patches without SIGNALLER_RUN in the environment")
}

fn patch_all(args: PatchArgs, filter: &str, session: &Session) -> Outcome {
    if args.operations.is_empty() {
        let fix = "give operations with -f FILE, --set PATH=VALUE or --unset PATH";
        return Err(Failure::usage("nothing is to change").fix(fix));
    }
    if args.operations.is_whole() {
        let fix = "say what is to change in the text of each: -f FILE, --set PATH=VALUE or --unset PATH";
        return Err(Failure::usage("--text is the whole text of one run, and --where means many").fix(fix));
    }
    let deed = Deed {
        verb: RunsVerb::Patch,
        of: Of::Patch { patch: args.operations.for_many()?, said: args.operations.shown() },
        dry_run: args.dry_run,
        command: "run patch",
        would: "patch",
        done: "follow another text",
        reason: args.description,
        yes: None,
    };
    meant::all(session, &args.many, filter, deed)
}

/// What a worker's command was given: its lease is its right.
struct Own {
    run: RunId,
    task: TaskId,
    fence: String,
}

impl Own {
    fn of_worker() -> Option<Own> {
        let run = RunId::parse(&env("SIGNALLER_RUN")?)?;
        Some(Own { run, task: TaskId::parse(&env("SIGNALLER_TASK")?)?, fence: env("SIGNALLER_FENCE")? })
    }
}

fn told(session: &Session, patched: &RunPatched) -> Outcome {
    let run = patched.run;
    let mut lines: Vec<String> = patched.changes.iter().map(|line| plain_text(line).into_owned()).collect();
    if patched.unchanged {
        let text = format!("Nothing of {run} changes by this; it stays at revision {}.", patched.revision);
        return Ok(Answer::new(patched, text).next(format!("run definition {run}"), "the text it follows"));
    }
    if lines.is_empty() {
        lines.push("(the same for the run: only how it is written)".to_owned());
    }
    lines.extend(patched.warnings.iter().map(|warning| format!("warning: {}: {}", warning.path, plain_text(&warning.message))));
    if let Some(refused) = &patched.refused {
        if session.screen.people {
            session.screen.line(&lines.join("\n"));
        }
        let mut failure = Failure::of_problem(refused.http_status(), refused.clone());
        failure.message = format!("it would be refused: {}", failure.message);
        return Err(failure.result(patched));
    }
    let would = if patched.dry_run { "would be" } else { "is" };
    lines.insert(0, format!("{run} {would} at revision {}:", patched.revision));
    if !patched.next.is_empty() {
        lines.push(format!("next: {}", patched.next.join(", ")));
    }
    if let Some(deadline) = patched.deadline {
        lines.push(format!("deadline: {} ({deadline})", show_age(deadline, now())));
    }
    for kept in &patched.keeps {
        lines.push(format!("{} keeps the text it has: {} has begun there and is another in the new one", kept.frame, kept.node));
    }
    let others = patched.keeps_total.saturating_sub(patched.keeps.len() as u64);
    if others > 0 {
        lines.push(format!("and {} others", grouped(others)));
    }
    let answer = Answer::new(patched, lines.join("\n"));
    Ok(match patched.dry_run {
        true => answer,
        false => {
            answer.next(format!("run watch {run}"), "see it go on").next(format!("run definition {run}"), "the text it follows")
        }
    })
}
