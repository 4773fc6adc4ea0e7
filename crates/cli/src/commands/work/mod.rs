//! `signaller work`: a worker in any language in one line. One poll is under way at a time, and beside it, while the worker
//! is full, one that only waits to hear that something should stop; each attempt is a process with a thread that waits for
//! it; this loop alone knows what is held and decides.

mod crew;
mod said;
mod tally;

use super::Session;
use crate::client::Client;
use crate::output::{Answer, Exit, Failure, Outcome};
use crate::plain::plain;
use crate::signals::on_stop;
use crate::units::{count_of, show_about_ms};
use clap::Args;
use crew::{Crew, Todo, Told, Why};
use doors::wire::{EndingView, ServerStatus, TaskView, UnmadeTask, WorkAnswer, WorkPoll, WorkTask, WorkerView};
use kernel::ids::{Fence, TaskId};
use kernel::names::{QueueName, TypeName, WorkerName};
use said::Said;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher};
use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use tally::{Attempt, Last, Tally};
use workers::process::{Brief, Ended, Group, Guard, Launch, Verdict, guard, judge, program, start};

/// After so long SIGTERM becomes SIGKILL.
const GRACE: Duration = Duration::from_secs(5);
/// Beyond the wait it asked for, a poll is given up after so long.
const POLL_ANSWER_MS_MAX: u64 = 10_000;
/// A look at a task beside the polls must not hold them up.
const LOOK_MS_MAX: u64 = 1_000;
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(60);
/// What took less is not looked at again: nobody cancels so quickly, and quick tasks are many.
const LOOK_AFTER: Duration = Duration::from_secs(1);
/// A worker that was asked to end waits so long for a server that went away; asked again, no longer.
const FAREWELL: Duration = Duration::from_secs(10);
/// What takes less is over before there is anything to hear of it.
const LISTEN_AFTER: Duration = Duration::from_secs(1);
/// A poll that listens has reached the server after so long. One that came there after the next would not name what that one
/// was given.
const LISTEN_SETTLED: Duration = Duration::from_secs(1);
/// Another worker of this name that was heard of so short a time ago may well still be there.
const RIVAL_MS_MAX: u64 = 30_000;
/// What commands say is told so often.
const SAY_EVERY: Duration = Duration::from_secs(1);
/// A result that the server could not keep is told again after this.
const LATER: Duration = Duration::from_secs(1);
const RETRY_FIRST: Duration = Duration::from_millis(250);
const RETRY_MAX: Duration = Duration::from_secs(5);

/// Work on tasks with a command: each comes as JSON on its stdin, its stdout is the output
///
/// The command is started once for each task and gets {"task","type","queue","attempt","input",…} on stdin, and
/// SIGNALLER_TASK, SIGNALLER_TYPE, SIGNALLER_QUEUE, SIGNALLER_ATTEMPT and SIGNALLER_IDEMPOTENCY_KEY in its environment;
/// if it is a run's, also "run" and "node", SIGNALLER_RUN and SIGNALLER_NODE: with these and SIGNALLER_FENCE its
/// `signaller run patch` changes its own run.
/// Exit 0: done, with stdout as the output (all of it if it is JSON; else its last line, as JSON or text; nothing becomes null).
/// Exit 65: failed, and not worth another attempt. Any other exit, 75 for example: failed, may be tried again; the
/// tail of stderr is the message. Stderr is also the task's log; a line `signaller: progress 0.4 row 4 of 10` says how far
/// it is.
/// A command whose time budget is spent is stopped, as is one that was cancelled, with all
/// that it started. What one that ended by itself leaves running goes on, and that is told.
/// A line `signaller: failed CODE words` on stderr gives a failure a code, `signaller: retry 30s` or `never` says when it is tried again.
/// Without, the code of a failure is exit_N, signal_N, output_too_large, result_refused or timed_out; worker_lost comes from
/// the server.
/// Ctrl-C finishes what runs and ends; a second one stops what runs and hands it back, no attempt burnt.
#[derive(Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:
  signaller work --type lint -- ./lint.sh
  signaller work --type mail --type sms --queue urgent --concurrency 4 -- python3 send.py
  signaller work --type echo --once -- jq .input"
)]
pub struct WorkArgs {
    /// A type of task to work on; may be given several times
    #[arg(long = "type", value_name = "TYPE", required = true, value_parser = TypeName::parse)]
    types: Vec<TypeName>,
    /// Only from this queue; may be given several times
    #[arg(long = "queue", value_name = "QUEUE", value_parser = QueueName::parse)]
    queues: Vec<QueueName>,
    /// Tasks at once
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1000))]
    concurrency: u16,
    /// This worker's name, used by no other [default: HOST-PID-RANDOM]
    #[arg(long, value_name = "NAME", value_parser = WorkerName::parse)]
    name: Option<WorkerName>,
    /// End after one task, and exit with 1 unless it is done: failed, out of time, cancelled, refused or handed back
    #[arg(long)]
    once: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

enum Event {
    Answered {
        poll: Box<WorkPoll>,
        answer: Box<Result<WorkAnswer, Failure>>,
    },
    /// The same of a poll that listens.
    Heard {
        poll: Box<WorkPoll>,
        answer: Box<Result<WorkAnswer, Failure>>,
    },
    Ended {
        task: TaskId,
        fence: Fence,
        verdict: Verdict,
        left_behind: bool,
    },
    /// A command said something, and nothing waited to be told.
    Said,
    Stop,
}

struct Running {
    group: Group,
    kind: TypeName,
    fence: Fence,
    since: Instant,
    /// When its time budget is spent.
    spent_at: Option<Instant>,
    kill_at: Option<Instant>,
}

/// A poll that waits to hear that something should stop.
struct Listening {
    sent: Instant,
    /// Another poll was sent since: the server has answered it for that alone.
    overtaken: bool,
}

struct Worker<'a> {
    session: &'a Session,
    command: Vec<OsString>,
    once: bool,
    crew: Crew,
    running: BTreeMap<TaskId, Running>,
    /// Ended, and told of; the server has not said yet that it took it.
    ended: BTreeMap<TaskId, Attempt>,
    /// Of those, what the server cannot keep now, and that was said.
    later: BTreeSet<TaskId>,
    tally: Tally,
    /// The last attempt that came to its end.
    last: Option<(TaskId, Last)>,
    events: Sender<Event>,
    guard: Guard,
    said: Said,
    polls: Sender<WorkPoll>,
    listens: Sender<WorkPoll>,
    /// When the poll under way was sent.
    polling: Option<Instant>,
    listening: Option<Listening>,
    /// Not before this instant does it listen again.
    listen_at: Instant,
    /// Not before this instant, unless there is something to tell.
    ask_at: Instant,
    /// Not before this instant, whatever there is to tell: the server is not well.
    retry_at: Instant,
    retry_in: Duration,
    heard: Option<Instant>,
    /// Not before this instant is the server asked about a single task.
    look_at: Instant,
    /// When a poll last went wrong: silence may have cost leases.
    unheard: Option<Instant>,
    /// The server is away, and that was said.
    away: bool,
    stops: u32,
    /// From then on a server that cannot be reached is not waited for.
    give_up_at: Option<Instant>,
    /// Ends the worker at once: nothing can be told to the server any more.
    fatal: Option<Failure>,
    /// Ends the worker once what it holds is handed back.
    failed_start: Option<Failure>,
}

pub fn run(args: WorkArgs, session: &Session) -> Outcome {
    check(&args.command)?;
    if let Some(name) = &args.name {
        warn_of_rival(session, name);
    }
    let name = args.name.unwrap_or_else(default_name);
    let (events, inbox) = channel();
    let polls = start_poller(session.client.clone(), events.clone(), |poll, answer| Event::Answered { poll, answer });
    let listens = start_poller(session.client.clone(), events.clone(), |poll, answer| Event::Heard { poll, answer });
    let stop = events.clone();
    on_stop(move || stop.send(Event::Stop).is_ok());
    let slots = if args.once { 1 } else { usize::from(args.concurrency) };
    let now = Instant::now();
    let mut worker = Worker {
        session,
        command: args.command,
        once: args.once,
        tally: Tally { worker: name.to_string(), ..Tally::default() },
        crew: Crew::new(name, args.types, args.queues, slots),
        running: BTreeMap::new(),
        ended: BTreeMap::new(),
        later: BTreeSet::new(),
        last: None,
        events,
        guard: Guard::start(),
        said: Said::default(),
        polls,
        listens,
        polling: None,
        listening: None,
        listen_at: now,
        ask_at: now,
        retry_at: now,
        retry_in: RETRY_FIRST,
        heard: None,
        look_at: now,
        unheard: None,
        away: false,
        stops: 0,
        give_up_at: None,
        fatal: None,
        failed_start: None,
    };
    worker.work(&inbox);
    worker.finish()
}

/// Ends the processes of a worker that was killed; started by `work`, and by a server with commands of its own
#[derive(Args, Debug)]
pub struct GuardArgs {}

/// What `work` starts beside itself.
pub fn guard() -> Outcome {
    let ended = guard::watch(std::io::stdin().lock());
    let ended = ended.map_err(|error| Failure::new(Exit::Unavailable, "unavailable", error.to_string()))?;
    Ok(Answer::new(&serde_json::json!({"ended": ended}), ""))
}

/// Refuses a command that is not there or cannot be executed: it would take tasks for nothing.
fn check(command: &[OsString]) -> Result<(), Failure> {
    let Some(name) = command.first() else { return Ok(()) };
    program::check(name).map_err(|why| {
        let message = format!("`{}` {why}", name.to_string_lossy());
        Failure::new(Exit::Usage, "command_not_found", message).fix("name a program after `--`, on PATH or by its path")
    })
}

/// Two workers of one name take each other's leases away. Whether the other is still there nobody knows, so it is only said.
fn warn_of_rival(session: &Session, name: &WorkerName) {
    let found: Result<ServerStatus, Failure> = session.client.get_within("/v1/status", LOOK_MS_MAX);
    let Ok(status) = found else { return };
    let is_rival = |worker: &&WorkerView| worker.worker == *name && worker.asked_ms_ago <= RIVAL_MS_MAX;
    if let Some(rival) = status.workers.iter().find(is_rival) {
        let ago = show_about_ms(rival.asked_ms_ago);
        let note = format!("a worker named `{name}` was heard of {ago} ago; two that share a name take each other's leases away");
        session.screen.note(&note);
    }
}

/// What the answer to a poll becomes.
type Telling = fn(Box<WorkPoll>, Box<Result<WorkAnswer, Failure>>) -> Event;

/// One poll at a time, on a thread of its own.
fn start_poller(client: Client, events: Sender<Event>, told: Telling) -> Sender<WorkPoll> {
    let (polls, inbox) = channel::<WorkPoll>();
    thread::spawn(move || {
        for poll in inbox {
            let answer = Box::new(client.post_within("/v1/work", &poll, POLL_ANSWER_MS_MAX + poll.wait_ms));
            if events.send(told(Box::new(poll), answer)).is_err() {
                return;
            }
        }
    });
    polls
}

impl Worker<'_> {
    fn work(&mut self, inbox: &Receiver<Event>) {
        loop {
            let now = Instant::now();
            self.stop_spent(now);
            self.kill_overdue(now);
            let idle = self.crew.running() == 0 && !self.crew.owes();
            if self.crew.closing && idle {
                return;
            }
            if self.fatal.is_some() && self.crew.running() == 0 {
                return;
            }
            self.poll_if_due(now);
            self.listen_if_due(now);
            let wait = self.next_deadline().map_or(Duration::from_secs(60), |at| at.saturating_duration_since(Instant::now()));
            match inbox.recv_timeout(wait) {
                Ok(Event::Answered { poll, answer }) => self.answered(&poll, *answer),
                Ok(Event::Heard { poll, answer }) => self.heard(&poll, *answer),
                Ok(Event::Ended { task, fence, verdict, left_behind }) => {
                    if left_behind {
                        self.session.screen.note(&format!("{task} left something running behind it"));
                    }
                    self.ended(task, fence, verdict);
                }
                Ok(Event::Stop) => self.stop(),
                // The next deadline is another now.
                Ok(Event::Said) => {}
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// When the server should hear of this worker next, if nothing happens before.
    fn poll_at(&self) -> Option<Instant> {
        let told = self.crew.owes().then_some(self.retry_at);
        let settled = self.listening.as_ref().map(|listening| listening.sent + LISTEN_SETTLED);
        let asked = (self.crew.free() > 0).then_some(self.ask_at.max(settled.unwrap_or(self.ask_at)));
        let beat = self.crew.heartbeat().map(|heartbeat| match &self.listening {
            // It is a heartbeat itself, and answered in time for the next.
            Some(Listening { sent, overtaken: false }) => *sent + heartbeat + heartbeat / 2,
            _ => self.heard.map_or(self.ask_at, |heard| heard + heartbeat),
        });
        let said =
            (!self.said.is_empty() && self.crew.running() > 0).then(|| self.heard.map_or(self.ask_at, |heard| heard + SAY_EVERY));
        let due = told.into_iter().chain(asked).chain(beat).chain(said).min()?;
        Some(due.max(self.retry_at))
    }

    fn next_deadline(&self) -> Option<Instant> {
        let poll = self.poll_at().filter(|_| self.polling.is_none() && self.fatal.is_none());
        let ends = self.running.values().flat_map(|running| running.kill_at.into_iter().chain(running.spent_at));
        ends.chain(poll).chain(self.next_listen()).min()
    }

    fn poll_if_due(&mut self, now: Instant) {
        let due = self.polling.is_none() && self.fatal.is_none() && self.poll_at().is_some_and(|at| at <= now);
        if !due {
            return;
        }
        let mut poll = self.crew.poll();
        // That the server is there is told at once, not when it has something to do.
        if self.away || self.heard.is_none() {
            poll.wait_ms = 0;
        }
        // What it has to tell it tells at once; it asks for more when the other poll cannot come after this one any more.
        if self.listening.as_ref().is_some_and(|listening| now < listening.sent + LISTEN_SETTLED) {
            (poll.want, poll.wait_ms) = (0, 0);
        }
        self.said.attach(&mut poll);
        if self.polls.send(poll).is_ok() {
            self.polling = Some(now);
            if let Some(listening) = &mut self.listening {
                listening.overtaken = true;
            }
        }
    }

    /// When it should listen next: when it has nothing to say, and something runs here for long enough.
    fn next_listen(&self) -> Option<Instant> {
        let silent = self.polling.is_none() && self.listening.is_none() && self.fatal.is_none() && self.crew.listen().is_some();
        let since = self.running.values().map(|running| running.since).min().filter(|_| silent)?;
        Some((since + LISTEN_AFTER).max(self.listen_at).max(self.retry_at))
    }

    fn listen_if_due(&mut self, now: Instant) {
        if self.next_listen().is_some_and(|at| at <= now)
            && let Some(poll) = self.crew.listen()
            && self.listens.send(poll).is_ok()
        {
            self.listening = Some(Listening { sent: now, overtaken: false });
        }
    }

    /// A poll that listened was answered.
    fn heard(&mut self, poll: &WorkPoll, answer: Result<WorkAnswer, Failure>) {
        let Some(Listening { sent, overtaken }) = self.listening.take() else { return };
        if overtaken {
            return;
        }
        match answer {
            Ok(answer) => {
                self.came_back();
                self.heard = Some(sent);
                let todo = self.crew.answered(poll, answer);
                // A server that answers at once, with nothing, is not asked again before the wait is over.
                self.listen_at = if todo.is_empty() { sent + Duration::from_millis(poll.wait_ms) } else { Instant::now() };
                todo.into_iter().for_each(|todo| self.act(todo));
            }
            // What is to be told is told by the other polls, and they give up when it is time.
            Err(failure) => self.lost(&failure),
        }
    }

    fn lost(&mut self, failure: &Failure) {
        if !self.away {
            self.session.screen.note(&format!("{}; trying again", failure.message));
        }
        (self.unheard, self.away) = (Some(Instant::now()), true);
        // Soon enough for what it holds: a server that comes back waits no longer for a heartbeat than it did before.
        let most = self.crew.heartbeat().unwrap_or(RETRY_MAX).min(RETRY_MAX);
        let wait = failure.retry_after_ms.map_or(self.retry_in, Duration::from_millis).min(most);
        self.retry_at = Instant::now() + wait;
        self.retry_in = (self.retry_in * 2).min(RETRY_MAX);
    }

    /// The server answers.
    fn came_back(&mut self) {
        self.retry_in = RETRY_FIRST;
        if std::mem::take(&mut self.away) {
            self.session.screen.note("the server answers again");
        }
    }

    fn answered(&mut self, poll: &WorkPoll, answer: Result<WorkAnswer, Failure>) {
        let sent = self.polling.take().unwrap_or_else(Instant::now);
        if answer.is_err() {
            self.said.unheard(poll);
        }
        match answer {
            Ok(mut answer) => {
                if self.heard.is_none() {
                    self.introduce();
                }
                self.heard = Some(sent);
                self.came_back();
                let unmade = std::mem::take(&mut answer.unmade);
                // A server that answers at once, with nothing, is not asked again before the wait is over.
                let pause = if answer.stopping { Duration::from_secs(1) } else { Duration::from_millis(poll.wait_ms) };
                let nothing = answer.tasks.is_empty() && unmade.is_empty();
                self.ask_at = if nothing { sent + pause } else { Instant::now() };
                for todo in self.crew.answered(poll, answer) {
                    self.act(todo);
                }
                unmade.into_iter().for_each(|unmade| self.failed_unmade(unmade));
            }
            Err(failure) if self.heard.is_none() || !(failure.retryable || failure.exit == Exit::Unavailable) => {
                self.close();
                self.fatal = Some(failure);
            }
            Err(failure) if self.give_up_at.is_some_and(|at| Instant::now() >= at) => {
                self.close();
                let what = "what this worker still held goes to another when its lease lapses";
                self.fatal = Some(Failure { message: format!("{}; {what}", failure.message), ..failure });
            }
            Err(failure) => self.lost(&failure),
        }
    }

    /// It failed before anybody could begin. With `--once` it was the one task, unless another came with it.
    fn failed_unmade(&mut self, UnmadeTask { task, kind, error }: UnmadeTask) {
        let why = format!("its input cannot be made: {}: {}", error.code, error.message);
        self.session.screen.note(&format!("{task} {kind} failed: {why}"));
        self.tally.failed += 1;
        if self.once && self.running.is_empty() {
            self.last = Some((task, Last::Unmade { why }));
            self.crew.closing = true;
        }
    }

    fn act(&mut self, todo: Todo) {
        match todo {
            Todo::Start(task) => self.start(*task),
            Todo::End { task, why } => {
                self.terminate(task);
                let why = match why {
                    Why::LeaseLost => {
                        format!("its lease is lost{}", self.rival(self.running.get(&task).map(|running| running.since)))
                    }
                    Why::Asked => self.asked(task).to_owned(),
                };
                self.session.screen.note(&format!("{task} is stopped: {why}"));
            }
            Todo::Taken { task } => {
                if self.later.remove(&task) {
                    self.session.screen.note(&format!("the result of {task} is kept now"));
                }
                if let Some(mut attempt) = self.ended.remove(&task) {
                    // The server takes a result also of a task that it had ended meanwhile, and does not say so.
                    if attempt.told == Told::Done && attempt.took >= LOOK_AFTER && tally::was_ended(&self.look(task)) {
                        attempt.told = Told::Stopped;
                    }
                    self.settle(task, attempt);
                }
            }
            Todo::Later { task, message } if self.give_up_at.is_some_and(|at| Instant::now() >= at) => {
                let message =
                    format!("the result of {task} could not be kept: {message}; it is done again when its lease lapses");
                self.fatal.get_or_insert_with(|| Failure::new(Exit::Unavailable, "unavailable", message));
                self.close();
            }
            Todo::Later { task, message } => {
                // Once for each: an outage may be long.
                if self.later.insert(task) {
                    self.session.screen.note(&format!("the result of {task} cannot be kept now: {message}; trying again"));
                }
                self.retry_at = Instant::now() + LATER;
            }
            Todo::Refused { task, message, lost, last } => {
                let since = self.ended.get(&task).map(|attempt| attempt.since);
                let hint = if lost { self.rival(since) } else { String::new() };
                self.session.screen.note(&format!("the result of {task} was not taken: {message}{hint}"));
                match (last, self.ended.get_mut(&task)) {
                    (true, _) => {
                        self.ended.remove(&task);
                        self.tally.refused += 1;
                        self.last = Some((task, Last::Refused { message }));
                    }
                    // The next poll tells that it failed because of this.
                    (false, Some(attempt)) => (attempt.told, attempt.code) = (Told::Failed, Some("result_refused".into())),
                    (false, None) => {}
                }
            }
        }
    }

    /// A lease that is lost though the server was heard all the time since `since` is most likely somebody else's by name.
    fn rival(&self, since: Option<Instant>) -> String {
        if since.is_none_or(|since| self.unheard.is_some_and(|unheard| unheard > since)) {
            return String::new();
        }
        format!("; another worker may be using the name `{}`: give each worker its own", self.crew.worker)
    }

    /// What the server says of a task. A server that is slow to say it is not asked again for a while.
    fn look(&mut self, task: TaskId) -> Option<TaskView> {
        if self.look_at > Instant::now() {
            return None;
        }
        let found = self.session.client.get_within(&format!("/v1/tasks/{task}"), LOOK_MS_MAX);
        if found.as_ref().is_err_and(|failure| failure.exit == Exit::Unavailable) {
            self.look_at = Instant::now() + LOOK_AGAIN_AFTER;
        }
        found.ok()
    }

    /// Why the server asks to stop it: a heartbeat does not say, the task does.
    fn asked(&mut self, task: TaskId) -> &'static str {
        let lease = self.look(task).and_then(|view| view.lease);
        let ours = lease.filter(|lease| self.running.get(&task).is_some_and(|running| running.fence == lease.fence));
        match ours.and_then(|lease| lease.ending) {
            Some(EndingView::TimedOut) => "its time budget is spent",
            Some(EndingView::Cancel) => "it was cancelled",
            None => "the server asks for it; it was cancelled, or its time budget is spent",
        }
    }

    /// What came of an attempt is known.
    fn settle(&mut self, task: TaskId, attempt: Attempt) {
        self.tally.count(attempt.told);
        let word = match attempt.told {
            Told::Done => "done",
            Told::Failed => "failed",
            Told::Stopped => "stopped",
            Told::Released => "handed back",
            Told::Nothing => "lost",
        };
        let why = attempt.code.as_ref().map_or_else(String::new, |code| format!(": {code}"));
        let took = show_about_ms(attempt.took.as_millis() as u64);
        let line = format!("{task} {} {word} after {took}{why}", attempt.kind);
        if self.session.screen.people {
            self.session.screen.line(&line);
        } else {
            self.session.screen.note(&line);
        }
        self.last = Some((task, Last::Told { told: attempt.told, code: attempt.code }));
    }

    fn start(&mut self, task: WorkTask) {
        let (id, fence, kind) = (task.task, task.fence, task.kind.clone());
        let events = self.events.clone();
        let ended = move |ended: Ended| {
            let left_behind = ended.left_behind;
            // The loop may be gone; then nobody wants to know.
            let _ = events.send(Event::Ended { task: id, fence, verdict: judge(ended), left_behind });
        };
        let brief = brief(&task);
        let target = self.session.client.target();
        let mut env = brief.env();
        env.push(("SIGNALLER_URL".into(), target.url.clone().into()));
        env.extend(target.token.clone().map(|token| ("SIGNALLER_TOKEN".into(), token.into())));
        let launch = Launch { command: self.command.clone(), env, stdin: brief.stdin(), ..Launch::default() };
        let (said, bell) = (self.said.clone(), self.events.clone());
        let tell = move |line: &str| {
            _ = writeln!(std::io::stderr().lock(), "{id} | {}", plain(line));
            if said.add(id, fence, line) {
                // The loop may be gone; then nobody wants to know.
                _ = bell.send(Event::Said);
            }
        };
        match start(launch, self.guard.clone(), tell, ended) {
            Ok(group) => {
                let since = Instant::now();
                let spent_at = since.checked_add(Duration::from_millis(task.budget_ms));
                self.running.insert(id, Running { group, kind, fence, since, spent_at, kill_at: None });
                self.crew.closing |= self.once;
            }
            Err(error) => {
                self.crew.not_started(id);
                self.tally.released += 1;
                let command = self.command.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
                let message = format!("`{command}` cannot be started: {error}; {id} is handed back");
                // Every further task would fare the same, so the worker hands back what it holds and ends.
                let failure = Failure::new(Exit::WorkFailed, "command_not_started", message).fix("check the command after `--`");
                self.close();
                self.failed_start = Some(failure);
            }
        }
    }

    fn ended(&mut self, task: TaskId, fence: Fence, verdict: Verdict) {
        let Some(running) = self.running.remove(&task) else { return };
        let code = match &verdict {
            Verdict::Done(_) => None,
            Verdict::Failed { failure, .. } => Some(failure.code.clone()),
        };
        let told = self.crew.ended(task, fence, verdict);
        let Running { kind, since, .. } = running;
        let attempt = Attempt { kind, since, took: since.elapsed(), told, code };
        if told == Told::Nothing {
            self.settle(task, attempt);
        } else {
            self.ended.insert(task, attempt);
        }
    }

    fn terminate(&mut self, task: TaskId) {
        if let Some(running) = self.running.get_mut(&task) {
            running.group.terminate();
            running.kill_at.get_or_insert(Instant::now() + GRACE);
        }
    }

    fn terminate_all(&mut self) {
        self.crew.release_all();
        for task in self.running.keys().copied().collect::<Vec<_>>() {
            self.terminate(task);
        }
    }

    /// The server says so too, but to a worker that waits for its answer.
    fn stop_spent(&mut self, now: Instant) {
        let spent = |(task, running): (&TaskId, &mut Running)| running.spent_at.take_if(|at| *at <= now).map(|_| *task);
        for task in self.running.iter_mut().filter_map(spent).collect::<Vec<_>>() {
            if self.crew.spent(task) {
                self.terminate(task);
                self.session.screen.note(&format!("{task} is stopped: its time budget is spent"));
            }
        }
    }

    fn kill_overdue(&mut self, now: Instant) {
        for running in self.running.values_mut().filter(|running| running.kill_at.is_some_and(|at| at <= now)) {
            running.group.kill();
            running.kill_at = None;
        }
    }

    fn stop(&mut self) {
        self.stops += 1;
        self.crew.closing = true;
        let patience = if self.stops == 1 { FAREWELL } else { Duration::ZERO };
        let give_up_at = Instant::now() + patience;
        self.give_up_at = Some(self.give_up_at.map_or(give_up_at, |before| before.min(give_up_at)));
        match self.stops {
            1 if self.crew.running() > 0 => {
                let count = count_of(self.crew.running() as u64, "task");
                self.session.screen.note(&format!("finishing {count}; once more to stop and hand back"));
            }
            1 => {}
            2 => self.terminate_all(),
            _ => self.running.values().for_each(|running| running.group.kill()),
        }
    }

    fn close(&mut self) {
        self.crew.closing = true;
        self.terminate_all();
    }

    fn introduce(&self) {
        let types = self.crew.types.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ");
        let note = format!("{} works on {types} for {}; Ctrl-C ends it", self.crew.worker, self.session.client.target().url);
        self.session.screen.note(&note);
    }

    fn finish(mut self) -> Outcome {
        // A poll still under way may be given a task that nobody will take: the last word is that nothing is held.
        if self.polling.is_some() && self.fatal.is_none() {
            let goodbye = WorkPoll { want: 0, wait_ms: 0, ..self.crew.poll() };
            let _ = self.session.client.post_within::<WorkAnswer>("/v1/work", &goodbye, 2_000);
        }
        let once = self.last.as_ref().filter(|_| self.once).map(|(task, _)| *task);
        let found = once.and_then(|task| self.look(task));
        let Worker { fatal, failed_start, mut tally, once, last, .. } = self;
        if let Some(failure) = fatal.or(failed_start) {
            return Err(failure.result(&tally));
        }
        let failed = last.filter(|_| once).and_then(|(task, last)| Some((task, last.failure(task, found.as_ref())?)));
        if let Some((task, message)) = failed {
            if tally.done > 0 {
                (tally.done, tally.stopped) = (0, 1);
            }
            let failure = Failure::new(Exit::WorkFailed, "work_failed", message).result(&tally);
            let failure = failure.fix("its history says what became of it, and `task explain` what can be done");
            return Err(failure.next(format!("task history {task}"), "everything that happened to it"));
        }
        Ok(Answer::new(&tally, tally.sentence()))
    }
}

fn brief(task: &WorkTask) -> Brief<'_> {
    Brief {
        task: task.task,
        kind: &task.kind,
        queue: &task.queue,
        attempt: task.attempt,
        idempotency_key: &task.idempotency_key,
        budget_ms: task.budget_ms,
        run: task.run,
        node: task.node.as_deref(),
        input: &task.input,
        fence: task.fence,
        made_of: task.trigger.as_ref().map(|trigger| (trigger.event, &trigger.name, &trigger.handler)),
    }
}

/// Used by no other worker: host, process, chance.
fn default_name() -> WorkerName {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let host: String = host.chars().filter(|c| c.is_ascii_alphanumeric() || "-._".contains(*c)).take(60).collect();
    let chance = std::collections::hash_map::RandomState::new().build_hasher().finish() & 0xffff;
    let name = format!("{}-{}-{chance:04x}", if host.is_empty() { "worker" } else { &host }, std::process::id());
    WorkerName::parse(&name).expect("only letters, digits, - . _ are left")
}
