//! `signaller run watch`: a run as it goes on. On a terminal its nodes are drawn again and again; elsewhere each record of
//! the run, its turns, items and nodes is a line. It ends with the run, and with how that ended.

use super::picture;
use super::show::{changed, counts_text, page, state, took};
use crate::canvas::Canvas;
use crate::client::with_query;
use crate::commands::{Session, run_id};
use crate::json_text::pretty;
use crate::output::{Answer, Exit, Failure, Outcome, Paint, raw};
use crate::plain::plain_json;
use crate::signals::on_giving_up;
use crate::stream::{News, follow};
use crate::table::columns;
use crate::telling;
use crate::units::{now, parse_duration_ms, show_about_ms, show_exact_ms};
use clap::Args;
use doors::wire::{RecordView, RunHistory, RunHistoryQuery, RunShowQuery, RunStatus, RunView, StreamQuery};
use kernel::ids::RunId;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

// Of a command that makes a run. No doc comment: it would be the help of whoever flattens it.
#[derive(Args, Debug)]
pub struct WaitArgs {
    /// Watch it until it has ended; the answer then is the run, with its output
    #[arg(long)]
    pub wait: bool,
    /// With --wait: give up after so long, and exit with 6; the run goes on
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ms, requires = "wait")]
    pub timeout: Option<u64>,
}

/// Follow a run until it has ended; the exit code says how
#[derive(Args, Debug)]
#[command(
    after_help = "In JSON a line for each record comes before the answer, which is the run. Of a run that has ended already only \
                        that is told: `run trace` has its records. Ctrl-C gives up as --timeout does.\n\n\
                        Examples:\n  signaller run watch run-7\n  signaller run watch run-7 --timeout 5m --json"
)]
pub struct WatchArgs {
    /// The run, by its id
    #[arg(value_name = "RUN", value_parser = run_id)]
    run: RunId,
    /// Give up after so long, and exit with 6: the run goes on
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ms)]
    timeout: Option<u64>,
}

/// Nodes that are drawn at most, and how often.
const NODES_DRAWN: u32 = 200;
const DRAWN_EVERY: Duration = Duration::from_millis(150);
const ASKED_EVERY: Duration = Duration::from_secs(1);
/// Between two looks lies at least so many times what the last one took.
const LOOKS_APART: u32 = 5;
/// How long a server may be away.
const PATIENCE: Duration = Duration::from_secs(30);

pub fn run(args: WatchArgs, session: &Session) -> Outcome {
    until_ended(session, args.run, args.timeout, false)
}

/// `from_start`: its records are told from the first on, also if it has ended by now.
pub fn until_ended(session: &Session, run: RunId, timeout_ms: Option<u64>, from_start: bool) -> Outcome {
    let live = session.screen.people && std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
    let (sender, news) = sync_channel(1_024);
    let wake = sender.clone();
    // If there is no room in the channel, there is something in it, which is as good.
    let stopped = on_giving_up(move || _ = wake.try_send(Heard::Stop));
    let deadline = timeout_ms.map(|ms| Instant::now() + Duration::from_millis(ms));
    let canvas = live.then(Canvas::default);
    let mut watch = Watch { session, run, canvas, last: None, deadline, stopped, away: None };
    let ended = watch.follow(timeout_ms, from_start, sender, &news);
    // What was drawn last stays, unless the whole takes its place.
    match (&ended, &mut watch.canvas) {
        (Ok(_), Some(canvas)) => canvas.clear(),
        (Err(_), Some(canvas)) => canvas.leave(),
        (_, None) => {}
    }
    outcome(session, ended?, live)
}

enum Heard {
    News(News),
    Stop,
}

struct Watch<'a> {
    session: &'a Session,
    run: RunId,
    canvas: Option<Canvas>,
    /// The cursor of the last record told.
    last: Option<String>,
    deadline: Option<Instant>,
    stopped: Arc<AtomicBool>,
    /// Why the server is not there.
    away: Option<String>,
}

impl Watch<'_> {
    fn follow(
        &mut self,
        timeout_ms: Option<u64>,
        from_start: bool,
        sender: SyncSender<Heard>,
        news: &Receiver<Heard>,
    ) -> Result<RunView, Failure> {
        let mut view = self.look()?;
        // One that ended before anybody looked is told by its end.
        let tells = self.canvas.is_none() && (from_start || view.status == RunStatus::Running);
        if tells {
            self.tell_history()?;
        }
        let query = StreamQuery { run: Some(self.run.to_string()), ..StreamQuery::default() };
        if view.status == RunStatus::Running {
            let tell = move |news| sender.send(Heard::News(news)).is_ok();
            follow(self.session.client.clone(), query, self.last.clone(), tell);
        }
        let (mut asked, mut answered, mut changed) = (Instant::now(), Instant::now(), false);
        // A wide run is much to look at: it is not asked for all the time.
        let mut every = DRAWN_EVERY;
        // One whose parts are still being stopped has ended; nothing that could still come changes how.
        while view.status == RunStatus::Running {
            self.draw(&view);
            let wait = if changed { every.saturating_sub(asked.elapsed()) } else { ASKED_EVERY };
            let left = self.deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()));
            match news.recv_timeout(wait.min(left)) {
                Ok(Heard::News(News::Event(event))) => {
                    changed = true;
                    self.tell(event.record().as_ref());
                }
                Ok(Heard::News(News::Lost(failure))) if !failure.retryable => return Err(failure),
                // It is asked every second, whether there is a stream or none.
                Ok(Heard::News(News::Lost(failure))) if failure.is_limited() => {}
                Ok(Heard::News(News::Lost(failure))) => self.lost(&failure),
                Ok(Heard::News(News::Opened)) => changed = true,
                Ok(Heard::Stop) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(ASKED_EVERY),
            }
            if self.is_over() {
                return Err(self.given_up(timeout_ms.unwrap_or(0), &view));
            }
            if asked.elapsed() >= if changed { every } else { ASKED_EVERY.max(every) } {
                asked = Instant::now();
                match self.look() {
                    Ok(found) => {
                        (view, answered, changed) = (found, Instant::now(), false);
                        every = DRAWN_EVERY.max(asked.elapsed() * LOOKS_APART);
                        if self.away.take().is_some() && self.canvas.is_none() {
                            self.session.screen.note("the server answers again");
                        }
                    }
                    // The server may be on its way back; the run goes on where it was.
                    Err(failure) if failure.retryable && answered.elapsed() < PATIENCE => self.lost(&failure),
                    Err(failure) => return Err(failure),
                }
            }
        }
        if tells && !self.tell_history()? {
            let note = format!("not all of its records were told in time; `signaller run trace {}` has them", self.run);
            self.session.screen.note(&note);
        }
        Ok(view)
    }

    /// Its time is up, or nobody wants to see more.
    fn is_over(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// The server is not there, which is said once; what was drawn is old as long as it is not.
    fn lost(&mut self, failure: &Failure) {
        let why = format!("{}; trying again", failure.message);
        if self.away.replace(why.clone()).is_none() && self.canvas.is_none() {
            self.session.screen.note(&why);
        }
    }

    fn look(&self) -> Result<RunView, Failure> {
        let query = RunShowQuery { nodes: Some(NODES_DRAWN), ..RunShowQuery::default() };
        self.session.client.get(&with_query(&format!("/v1/runs/{}", self.run), &query))
    }

    fn draw(&mut self, view: &RunView) {
        let (Some(canvas), screen) = (&mut self.canvas, &self.session.screen) else { return };
        let (mut lines, now) = (picture::lines(screen, view, now(), columns()), now());
        let counts = view.counts.as_ref().map_or_else(String::new, |counts| format!(", {}", counts_text(counts)));
        let so_long = show_about_ms(view.started_at.ms_until(now).max(0).unsigned_abs());
        let since = if view.generation == 0 { format!(" for {so_long}") } else { format!(", first started {so_long} ago") };
        let of = format!("{} of {}{}", view.run, view.workflow, changed(view));
        lines.insert(0, format!("{of}, {}{since}{counts}", state(screen, view)));
        if let Some(why) = &self.away {
            lines.insert(0, screen.paint(Paint::Red, why));
        }
        let lines: Vec<String> = lines.iter().map(|line| screen.known(line).into_owned()).collect();
        canvas.draw(&lines, 0);
    }

    /// What has been recorded since the last that was told. `false`: there was no time for all of it.
    fn tell_history(&mut self) -> Result<bool, Failure> {
        loop {
            if self.is_over() {
                return Ok(false);
            }
            let query = RunHistoryQuery { limit: Some(1_000), cursor: self.last.clone() };
            let path = format!("/v1/runs/{}/history", self.run);
            let page: RunHistory = match self.session.client.get(&with_query(&path, &query)) {
                Ok(page) => page,
                // Deleted meanwhile: how it ended is known.
                Err(failure) if failure.exit == Exit::NotFound => return Ok(true),
                Err(failure) => return Err(failure),
            };
            page.records.iter().for_each(|record| self.tell(Some(record)));
            if page.next.is_none() {
                return Ok(true);
            }
        }
    }

    /// Tasks are told by their nodes.
    fn tell(&mut self, record: Option<&RecordView>) {
        let Some(view) = record.filter(|_| self.canvas.is_none()) else { return };
        if self.last.as_deref().and_then(doors::wire::Cursor::parse).is_some_and(|last| view.seq <= last) {
            return;
        }
        self.last = Some(view.seq.to_string());
        if !view.owner.starts_with("run-") {
            return;
        }
        let screen = &self.session.screen;
        _ = match screen.people {
            true => screen.line(&telling::line_of_run(view, self.run)),
            false => screen.line(&plain_json(raw(view).get())),
        };
    }

    fn given_up(&self, timeout_ms: u64, view: &RunView) -> Failure {
        let run = self.run;
        let failure = match self.stopped.load(Ordering::Relaxed) {
            true => {
                Failure::new(Exit::Limited, "interrupted", format!("{run} had not ended when this was stopped; the run goes on"))
                    .fix("watch it again, or see what it waits for")
                    .next(format!("run watch {run}"), "see it go on")
            }
            false => {
                let message = format!("{run} had not ended after {}; the run goes on", show_exact_ms(timeout_ms));
                Failure::new(Exit::Limited, "timeout", message).fix("wait longer, or see what it waits for")
            }
        };
        failure.retryable().result(view).next(format!("run explain {run}"), "see what it waits for")
    }
}

fn outcome(session: &Session, view: RunView, live: bool) -> Outcome {
    let run = view.run;
    // What was drawn is gone from the screen: the whole takes its place.
    if live {
        session.screen.line(&page(&session.screen, &view, false));
    }
    let took = took(&view).map_or_else(String::new, |took| format!(" {took}"));
    match view.status {
        RunStatus::Done | RunStatus::Running => {
            let output = view.output.as_ref().filter(|output| output.get() != "null" && !live);
            let output = output.map_or_else(String::new, |output| format!("\n{}", pretty(output.get())));
            let text = if live { String::new() } else { format!("{run} is done{took}.{output}") };
            Ok(Answer::new(&view, text).next(format!("run trace {run}"), "everything that happened in it"))
        }
        RunStatus::Failed => {
            let at = view.failed_at.as_ref().map_or_else(String::new, |node| format!(" at {node}"));
            let why = view.error.as_ref().map_or_else(String::new, |error| format!(" with {}: {}", error.code, error.message));
            // A retry keeps the version: a workflow that is put anew is for new runs, and a patch is for this one.
            let again = match view.retryable {
                true => format!(
                    "try again; it stays with version {}: `run patch {run}`, or `run retry` with --with or --set, gives it another text",
                    view.version
                ),
                false => "start a new run".to_owned(),
            };
            let failure = Failure::new(Exit::WorkFailed, "run_failed", format!("{run} failed{at}{took}{why}"))
                .fix(format!("see what happened with `signaller run trace {run}`, mend it, and {again}"))
                .result(&view)
                .next(format!("run trace {run}"), "everything that happened in it");
            if !view.retryable {
                return Err(failure);
            }
            let failure = failure.next(format!("run retry {run}"), "go on from where it failed");
            let failure = failure.next(format!("run patch {run} --edit"), "mend its text first; what is done stays done");
            Err(match &view.failed_at {
                Some(node) => failure.next(format!("run fork '{run}/{node}' --dry-run"), "a new run, from before it"),
                None => failure,
            })
        }
        RunStatus::Cancelled => {
            let who = view.cancelled.as_ref().map_or_else(String::new, |why| {
                let colon = if why.reason.is_empty() { "" } else { ": " };
                format!(" by {}{colon}{}", why.by, why.reason)
            });
            let failure = Failure::new(Exit::WorkFailed, "run_cancelled", format!("{run} was cancelled{took}{who}"))
                .fix(if view.retryable { "start it again, or go on from where it was" } else { "start a new run" })
                .result(&view)
                .next(format!("run show {run}"), "how far it came");
            Err(if view.retryable { failure.next(format!("run retry {run}"), "go on from where it was") } else { failure })
        }
    }
}
