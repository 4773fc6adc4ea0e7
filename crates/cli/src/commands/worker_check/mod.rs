//! `signaller worker-check`: whether a worker keeps to the protocol. A server of its own is started, the worker beside it, and
//! the worker is asked to do, and made to suffer, what a worker meets.

mod checks;
mod yard;

use crate::output::{Answer, Exit, Failure, Outcome, Screen};
use crate::progress::bar;
use crate::signals::{INTERRUPTED, on_giving_up};
use checks::CHECKS;
use clap::Args;
use serde::Serialize;
use std::ffi::OsStr;
use std::sync::atomic::Ordering;
use workers::process::program;
use yard::Yard;

/// Check that a worker keeps to the protocol: answers, failures, heartbeats, cancels, fences, a server and a worker that die
#[derive(Args, Debug)]
#[command(
    after_help = "A server is started in a fresh folder on a port of its own, and COMMAND beside it, with SIGNALLER_URL and\n\
SIGNALLER_CHECK_TYPE set. COMMAND is to do tasks of that type, whose input says what:\n  \
  {\"do\": \"echo\", \"value\": V}                       give V back\n  \
  {\"do\": \"sleep\", \"ms\": N, \"value\": V}             give V back after N ms\n  \
  {\"do\": \"grow\", \"bytes\": N}                       give a text of N letters x back\n  \
  {\"do\": \"fail\", \"code\": C, \"message\": M, \"retryable\": B, \"retry_after_ms\": N}   fail so\n  \
  {\"do\": \"wait\"}                                   go on until it is cancelled, then stop\n\n\
Examples:\n  signaller worker-check -- python3 check_worker.py\n  signaller worker-check --only cancel -- node check-worker.mjs\n  \
signaller worker-check --list"
)]
pub struct WorkerCheckArgs {
    /// Only checks whose name starts so
    #[arg(long, value_name = "PREFIX")]
    only: Option<String>,
    /// Show what is checked, and do nothing
    #[arg(long)]
    list: bool,
    /// Show what the worker writes to its output and errors
    #[arg(long)]
    verbose: bool,
    /// The worker
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "list")]
    command: Vec<String>,
}

#[derive(Serialize)]
struct Checked {
    check: &'static str,
    what: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ok: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

#[derive(Serialize)]
struct Report {
    checks: Vec<Checked>,
}

pub fn run(args: WorkerCheckArgs, screen: Screen) -> Outcome {
    let wanted = |name: &str| args.only.as_deref().is_none_or(|prefix| name.starts_with(prefix));
    let chosen: Vec<_> = CHECKS.iter().filter(|check| wanted(check.name)).collect();
    if chosen.is_empty() {
        let names = CHECKS.map(|check| check.name).join(", ");
        let only = args.only.unwrap_or_default();
        return Err(Failure::usage(format!("no check starts with `{only}`")).fix(format!("there are {names}")));
    }
    if args.list {
        let checks = chosen.iter().map(|check| Checked { check: check.name, what: check.what, ok: None, why: None }).collect();
        let report = Report { checks };
        return Ok(Answer::new(&report, told(&screen, &report)));
    }
    // Before a server is started for nothing.
    let program = OsStr::new(&args.command[0]);
    program::check(program).map_err(|why| {
        Failure::usage(format!("the worker {} {why}", args.command[0])).fix("write the command that starts it after --")
    })?;
    let gives_up = on_giving_up(|| {});
    let shown = bar(&screen, Some(chosen.len() as u64), "checking");
    let mut report = Report { checks: Vec::new() };
    for check in chosen {
        shown.set_message(check.name);
        // Each in a yard of its own, so that what one leaves behind disturbs no other.
        let ended = Yard::open(&args.command, args.verbose, &gives_up)
            .and_then(|mut yard| (check.run)(&mut yard).map_err(|why| yard.with_last_words(why)));
        if gives_up.load(Ordering::Relaxed) {
            shown.finish_and_clear();
            screen.note("told to stop: its server and the worker are ended");
            std::process::exit(INTERRUPTED);
        }
        report.checks.push(Checked { check: check.name, what: check.what, ok: Some(ended.is_ok()), why: ended.err() });
        shown.inc(1);
    }
    shown.finish_and_clear();
    let failed = report.checks.iter().filter(|checked| checked.ok == Some(false)).count();
    let text = told(&screen, &report);
    if failed == 0 {
        let end = match report.checks.len() {
            all if all == CHECKS.len() => "The worker keeps to the protocol.".to_owned(),
            some => format!("So far the worker keeps to the protocol: {some} of {} checks were made.", CHECKS.len()),
        };
        return Ok(Answer::new(&report, format!("{text}\n\n{end}")));
    }
    let message = format!("{failed} of {} checks failed:\n{text}", report.checks.len());
    Err(Failure::new(Exit::WorkFailed, "worker_check_failed", message)
        .result(&report)
        .fix("mend the worker; --only NAME runs one check again, --verbose shows what the worker says"))
}

fn told(screen: &Screen, report: &Report) -> String {
    let lines = report.checks.iter().map(|checked| {
        let (sign, plain_sign) = match checked.ok {
            None => ("·", "-"),
            Some(true) => ("✓", "ok  "),
            Some(false) => ("✗", "FAIL"),
        };
        let sign = if screen.ascii { plain_sign } else { sign };
        let why = checked.why.as_ref().map(|why| format!("\n    {}", why.replace('\n', "\n    "))).unwrap_or_default();
        format!("  {sign} {}: {}{why}", checked.check, checked.what)
    });
    lines.collect::<Vec<_>>().join("\n")
}
