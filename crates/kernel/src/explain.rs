//! Why a task is not running: every cause that holds at this instant, with its exact end where the design knows it.
//! Deterministic: the same state, facts and time give the same words.

mod run;
mod skip;

pub use run::{Queues, RunExplanation, Wait, explain_run};
pub use skip::why_skipped;

use crate::handler::{SINGLE_KEY, Trigger, Window, is_own_key};
use crate::ids::TaskId;
use crate::lanes::Obstacle;
use crate::lease::Ending;
use crate::names::{KeyName, KeyValue};
use crate::queue::Pause;
use crate::record::CancelCause;
use crate::state::{Place, State};
use crate::task::{Queued, Status, Task};
use crate::time::{Time, span};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// What only the engine knows, because it is not durable.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// When a worker that takes this type, in this queue, last asked for work.
    pub asked_at: Option<Time>,
    /// How many of those hold work.
    pub busy: usize,
    /// Whether one of them is the server's own.
    pub own: bool,
    /// How many ask for this type in other queues alone.
    pub elsewhere: usize,
    /// When the last that took this type, in this queue, took its leave.
    pub left_at: Option<Time>,
    /// When the worker that holds it was last heard of.
    pub heard: Option<Heard>,
    /// When this engine began to listen.
    pub up_since: Time,
    /// It is shutting down and leases nothing.
    pub stopping: bool,
}

/// A worker's last word on a lease, and when it is taken for lost if there is no other.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Heard {
    pub at: Time,
    pub until: Time,
}

impl Heard {
    /// Half of its window has gone by. Workers are to be heard of every third of it, so one of them is late at the least.
    pub fn is_silent(self, now: Time) -> bool {
        now.ms_since(self.at) * 2 > self.until.ms_since(self.at)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    pub code: &'static str,
    pub sentence: String,
    pub since: Option<Time>,
    /// When it ends by itself, where that is known exactly.
    pub eta: Option<Time>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    pub task: TaskId,
    pub status: Status,
    pub sentence: String,
    pub blocked_on: Vec<Cause>,
    pub since: Option<Time>,
    pub eta: Option<Time>,
    /// Why there is no `eta`.
    pub eta_reason: Option<String>,
    pub next_actions: Vec<String>,
}

/// A worker that asked so short a time ago is on its way to ask again.
const BETWEEN_POLLS_MS: u64 = 5_000;

/// More tasks ahead than this are not counted one by one.
const AHEAD_MAX: usize = 1_000;

/// The same number for tasks of which the same would be told: where they stand, and in which lane.
pub fn likeness(state: &State, task: TaskId, now: Time) -> u64 {
    let mut hasher = FxHasher::default();
    let found = state.task(task).map(|task| {
        let later = matches!(task, Task::Queued(queued) if queued.ready_at() > now);
        let stopping = matches!(task, Task::Running(running) if running.lease().ending().is_some());
        (task.status(), later, stopping, task.card().route())
    });
    found.hash(&mut hasher);
    hasher.finish()
}

pub fn explain(state: &State, task: &Task, facts: &Facts, now: Time) -> Explanation {
    let id = task.card().id();
    let mut told = Teller { causes: Vec::new(), actions: Vec::new(), now };
    let since = match task {
        Task::Idle(_) => {
            told.cause("idle", format!("{id} is in no queue"), None, None);
            told.act(again(task, "retry"));
            told.act(format!("signaller task start {id}"));
            told.blockers(state, task);
            None
        }
        Task::Queued(queued) => {
            told.queued(state, task, queued, facts);
            Some(queued.since())
        }
        Task::Running(running) => {
            let lease = running.lease();
            let waits = "and its slots stay taken until the worker confirms or falls silent";
            match lease.ending() {
                None if lease.run().is_some() => {
                    let run = lease.run().expect("it was looked at");
                    told.cause("in_run", format!("{run} does its work"), Some(lease.since()), None);
                    told.act(format!("signaller run explain {run}"));
                }
                None => {
                    if let Some(heard) = facts.heard.filter(|heard| heard.is_silent(now)) {
                        let (ago, left) = (span(now.ms_since(heard.at)), span(heard.until.ms_since(now)));
                        let sentence = format!(
                            "worker {} has not been heard of for {ago}; if it stays silent, the lease is taken back in {left}",
                            lease.worker()
                        );
                        told.cause("worker_silent", sentence, Some(heard.at), Some(heard.until));
                    }
                }
                Some(Ending::Cancel { by, reason }) => {
                    let why = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
                    told.cause(
                        "cancel_requested",
                        format!("{by} asked worker {} to stop{why}, {waits}", lease.worker()),
                        None,
                        None,
                    );
                }
                Some(Ending::TimedOut) => {
                    let sentence = format!("it ran longer than its time budget on worker {}, {waits}", lease.worker());
                    told.cause("timed_out", sentence, Some(lease.budget_until()), None);
                }
            }
            Some(lease.since())
        }
        Task::Done(_) => {
            told.act(again(task, "reset"));
            task.finished_at()
        }
        Task::Failed(_) => {
            if let Some(failure) = task.card().failure() {
                told.cause("failed", format!("its last attempt ended with {}: {}", failure.code, failure.message), None, None);
            }
            told.act(again(task, "retry"));
            task.finished_at()
        }
        Task::Cancelled(_) => {
            if let Some((cause, by, reason)) = task.cancelled_why() {
                let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
                let told_by = match cause {
                    CancelCause::Asked => format!("{by} asked for it{why}"),
                    CancelCause::Cleared => format!("its queue was cleared by {by}{why}"),
                    CancelCause::Expired => "it did not start before its deadline for that".into(),
                    CancelCause::Shed if by.as_str() == "signaller" => format!("it made room for others{why}"),
                    CancelCause::Shed => format!("{by} shed work of its family{why}"),
                    CancelCause::Replaced => "one that came later took its place".into(),
                };
                told.cause("cancelled", told_by, None, None);
            }
            told.act(again(task, "retry"));
            task.finished_at()
        }
    };
    let status = task.status();
    let waiting = status == Status::Queued;
    let unknown = told.causes.iter().find(|cause| cause.eta.is_none());
    let eta = if waiting && unknown.is_none() { told.causes.iter().filter_map(|cause| cause.eta).max() } else { None };
    let eta_reason = unknown.filter(|_| waiting).map(|cause| format!("nobody can say when this ends: {}", cause.sentence));
    let mut sentence = sentence(task, &told.causes, now);
    if let (Task::Queued(_), Some(start_by)) = (task, task.card().start_by()) {
        sentence.push_str(&format!(" It is cancelled in {} unless it starts.", span(start_by.ms_since(now))));
    }
    Explanation { task: id, status, sentence, blocked_on: told.causes, since, eta, eta_reason, next_actions: told.actions }
}

/// How it is done once more; the work of a run, through its run.
fn again(task: &Task, verb: &str) -> String {
    match (task.card().node(), verb) {
        (Some(at), "retry") => format!("signaller run retry {}", at.run),
        (Some(at), _) => format!("signaller run show {}", at.show()),
        (None, _) => format!("signaller task {verb} {}", task.card().id()),
    }
}

fn sentence(task: &Task, causes: &[Cause], now: Time) -> String {
    let id = task.card().id();
    let first = causes.first().map(|cause| cause.sentence.as_str());
    let more = match causes.len() {
        0 | 1 => String::new(),
        2 => " (and one more cause)".into(),
        n => format!(" (and {} more causes)", n - 1),
    };
    match task {
        Task::Idle(_) => format!("{id} is idle: it runs when it is queued or started."),
        Task::Queued(_) => format!("{id} waits: {}{more}.", first.unwrap_or("it is next")),
        Task::Running(running) => {
            let lease = running.lease();
            let since = span(now.ms_since(lease.since()));
            match first {
                None => format!("{id} is running on worker {} for {since}.", lease.worker()),
                Some(first) if lease.ending().is_none() => format!("{id} was leased {since} ago: {first}."),
                Some(first) => format!("{id} is being stopped: {first}."),
            }
        }
        Task::Done(_) => format!("{id} is done."),
        Task::Failed(_) => format!("{id} failed: {}.", first.unwrap_or("no reason was recorded")),
        Task::Cancelled(_) => format!("{id} is cancelled: {}.", first.unwrap_or("no reason was recorded")),
    }
}

struct Teller {
    causes: Vec<Cause>,
    actions: Vec<String>,
    now: Time,
}

impl Teller {
    fn cause(&mut self, code: &'static str, sentence: String, since: Option<Time>, eta: Option<Time>) {
        self.causes.push(Cause { code, sentence, since, eta });
    }

    fn act(&mut self, action: String) {
        self.actions.push(action);
    }

    fn in_(&self, at: Time) -> String {
        span(at.ms_since(self.now))
    }

    fn blockers(&mut self, state: &State, task: &Task) {
        for blocker in task.card().blocked_by() {
            let (fate, action) = match state.task(*blocker).map(Task::status) {
                Some(status @ (Status::Idle | Status::Queued | Status::Running)) => {
                    (format!("which is {status}"), format!("signaller task explain {blocker}"))
                }
                _ if state.is_telling(*blocker) => {
                    ("which is done: those that wait for it are being told".into(), format!("signaller task explain {blocker}"))
                }
                // Only a done blocker lets go, so one that is not live failed or was cancelled.
                _ => ("which ended without success".into(), format!("signaller task retry {blocker}")),
            };
            self.cause("blocked_by", format!("it is blocked by {blocker}, {fate}"), None, None);
            self.act(action);
        }
    }

    fn queued(&mut self, state: &State, task: &Task, queued: &Queued, facts: &Facts) {
        let card = task.card();
        let (id, route) = (card.id(), card.route());
        let queue = route.queue();
        if facts.stopping {
            self.cause("stopping", "the server is shutting down and hands out no more work".into(), None, None);
        }
        self.blockers(state, task);
        if card.is_held() {
            self.run_paused(state, task);
        }
        if queued.is_run_now() {
            self.cause("run_now", "it was started and goes to the next worker that asks for its type".into(), None, None);
            return self.workers(task, facts);
        }
        if card.blocked_by().is_empty() && queued.ready_at() > self.now {
            let (at, wait) = (queued.ready_at(), self.in_(queued.ready_at()));
            match card.failure() {
                Some(failure) => {
                    let attempt = card.attempt();
                    let why =
                        format!("attempt {attempt} ended with {}: {}; the next is due in {wait}", failure.code, failure.message);
                    self.cause("backoff", why, Some(queued.since()), Some(at));
                }
                None => {
                    let (code, sentence) = self.gathering(queued, &wait);
                    self.cause(code, sentence, Some(queued.since()), Some(at));
                }
            }
            self.act(format!("signaller task start {id}"));
        }
        let config = state.config(queue);
        if let Some(tag) = config.require_tag.as_ref().filter(|tag| !card.tags().contains(tag)) {
            let stated = if state.registry().queues().contains(queue) { ", as the registry states" } else { "" };
            let sentence = format!("queue `{queue}` takes only tasks with the tag `{tag}`{stated}, which it does not have");
            self.cause("require_tag", sentence, None, None);
            self.act(match state.registry().queues().contains(queue) {
                // What the registry states is changed there, and nowhere else.
                true => "signaller registry put FILE".into(),
                false => format!("signaller queue set {queue} --require-tag none"),
            });
        }
        if let Some(pause) = state.queue(queue).and_then(|queue| queue.pause()).filter(|_| !route.is_critical()) {
            let sentence = format!("queue `{queue}` {}", self.paused(pause));
            self.cause("queue_paused", sentence, Some(pause.since), pause.until);
            self.act(format!("signaller queue resume {queue}"));
        }
        self.family(state, task);
        for obstacle in state.lanes.obstacles(route, queued.is_expedited(), self.now) {
            self.obstacle(queue.as_str(), card.trigger(), obstacle);
        }
        let free = self.causes.is_empty();
        if free {
            self.workers(task, facts);
        }
        // The next permit is not for one that has others before it, so its instant is no promise.
        let rated = self.causes.iter().any(|cause| cause.code.ends_with("_rate"));
        if let Place::Lane(lane, order) = state.place(id)
            && (free || rated)
        {
            let ahead = state.lanes.ahead_in_lane(lane as usize, order, id, AHEAD_MAX);
            if ahead > 0 {
                let go = if ahead == 1 { "goes" } else { "go" };
                let many = if ahead == AHEAD_MAX { format!("{AHEAD_MAX} or more") } else { ahead.to_string() };
                self.cause("behind", format!("{many} of its kind {go} before it"), None, None);
            } else if rated && state.lanes.is_passed(lane as usize, self.now) {
                self.cause("behind", "others that need the same permit go before it".into(), None, None);
            }
        }
    }

    /// It waits for its hour: for quiet, for more events, or because somebody said so.
    fn gathering(&self, queued: &Queued, wait: &str) -> (&'static str, String) {
        let of = queued.card().trigger().map_or_else(String::new, |trigger| format!(" of handler `{}`", trigger.handler));
        match queued.window() {
            Some(Window::Debounce { key, events, until, .. }) => {
                let bound = until.map_or(String::new(), |until| format!(", and in {} at the latest", self.in_(until)));
                let many = if *events == 1 { "one event".into() } else { format!("the newest of {events} events") };
                (
                    "debounce",
                    format!("the debounce{of} for key {key} holds {many}: it starts in {wait} unless another comes{bound}"),
                )
            }
            Some(Window::Batch { key, events, size, .. }) if events >= size => {
                ("batch", format!("the batch{of} for key {key} is full: it starts in {wait}"))
            }
            Some(Window::Batch { key, events, size, .. }) => {
                let sentence = format!(
                    "the batch{of} for key {key} has {events} of {size} events: it starts with the last of these, or in {wait}"
                );
                ("batch", sentence)
            }
            None => ("scheduled", format!("it is scheduled to start in {wait}")),
        }
    }

    fn paused(&self, pause: &Pause) -> String {
        let until = pause.until.map_or(String::new(), |until| format!(" for another {}", self.in_(until)));
        let why = if pause.reason.is_empty() { String::new() } else { format!(" because {}", pause.reason) };
        format!("is paused by {}{until}{why}", pause.by)
    }

    /// The family of the event it is made of is paused.
    fn family(&mut self, state: &State, task: &Task) {
        let route = task.card().route();
        let Some(family) = route.family().filter(|_| !route.is_critical()) else { return };
        for control in state.family_pauses(family) {
            let Some(pause) = control.pause() else { continue };
            let sentence = format!("family `{family}` {}", self.paused(pause));
            self.cause("family_paused", sentence, Some(pause.since), pause.until);
            self.act(format!("signaller family resume '{}'", control.families()));
        }
    }

    fn run_paused(&mut self, state: &State, task: &Task) {
        let Some(at) = task.card().node() else {
            return self.cause("run_paused", "its run is paused".into(), None, None);
        };
        let since = state.live_run(at.run).and_then(|live| live.run().pause()).map(|pause| pause.since);
        // On another shard no more is known of it.
        let (how, resume) = run::paused(state, at.run).unwrap_or_else(|| (format!("{} is paused", at.run), at.run));
        self.cause("run_paused", format!("it belongs to a run that is paused: {how}"), since, None);
        self.act(format!("signaller run resume {resume}"));
    }

    fn obstacle(&mut self, queue: &str, trigger: Option<&Trigger>, obstacle: Obstacle) {
        let shown = |key: &(KeyName, KeyValue)| format!("{}={}", key.0, key.1);
        match obstacle {
            Obstacle::QueueConcurrency { limit } => {
                let sentence = format!("queue `{queue}` runs its limit of {limit} at once");
                self.cause("queue_concurrency", sentence, None, None);
                self.act(format!("signaller task list --queue {queue} --status running"));
            }
            Obstacle::QueueRate { next_at } => {
                let sentence = format!("rate limit of queue `{queue}`: next permit in {}", self.in_(next_at));
                self.cause("queue_rate", sentence, None, Some(next_at));
                self.act(format!("signaller queue drain {queue}"));
            }
            Obstacle::KeyConcurrency { key, limit } if of_handler(trigger, &key).is_some() => {
                let (who, single) = of_handler(trigger, &key).expect("it was looked at");
                let (code, sentence) = match single {
                    true => ("singleton", format!("{who} has one under way, and there may be one only")),
                    false => ("handler_concurrency", format!("{who} runs its limit of {limit} at once")),
                };
                self.cause(code, sentence, None, None);
                self.act(format!("signaller task list --queue {queue} --status running --key {}", shown(&key)));
            }
            Obstacle::KeyRate { key, next_at } if of_handler(trigger, &key).is_some() => {
                let (who, _) = of_handler(trigger, &key).expect("it was looked at");
                let sentence = format!("rate limit of {who}: next permit in {}", self.in_(next_at));
                self.cause("handler_rate", sentence, None, Some(next_at));
                self.act(format!("signaller queue drain {queue}"));
            }
            Obstacle::KeyConcurrency { key, limit } => {
                let sentence = format!("key {} runs its limit of {limit} at once in queue `{queue}`", shown(&key));
                self.cause("key_concurrency", sentence, None, None);
                self.act(format!("signaller task list --queue {queue} --status running --key {}", shown(&key)));
            }
            Obstacle::KeyRate { key, next_at } => {
                let sentence = format!("rate limit for key {}: next permit in {}", shown(&key), self.in_(next_at));
                self.cause("key_rate", sentence, None, Some(next_at));
                self.act(format!("signaller queue drain {queue}"));
            }
        }
    }

    fn workers(&mut self, task: &Task, facts: &Facts) {
        let kind = task.card().route().kind();
        let queue = task.card().route().queue();
        // The server's own workers take these, where it has them.
        let own = match kind.as_str() {
            "http" => "the server does, unless it was started with --no-workers, or signaller.toml says http = false",
            "process" => {
                "`signaller serve` does where signaller.toml has a [process.NAME], unless it was started with --no-workers"
            }
            _ => "",
        };
        match facts.asked_at {
            Some(at) if facts.busy > 0 => {
                let who = match facts.busy {
                    1 if facts.own => "the server's own worker".into(),
                    1 => "the worker".into(),
                    busy => format!("all {busy} workers"),
                };
                let verb = if facts.busy == 1 { "is" } else { "are" };
                let ago = span(self.now.ms_since(at));
                self.cause(
                    "workers_busy",
                    format!("{who} for type `{kind}` {verb} busy; one asked last {ago} ago"),
                    Some(at),
                    None,
                );
            }
            Some(at) if self.now.ms_since(at) <= BETWEEN_POLLS_MS => {
                let ago = span(self.now.ms_since(at));
                let sentence = format!("no worker for type `{kind}` is waiting at this instant; one asked last {ago} ago");
                self.cause("workers_busy", sentence, Some(at), None);
            }
            Some(at) => {
                let sentence = format!("no worker has asked for type `{kind}` for {}", span(self.now.ms_since(at)));
                self.cause("no_worker", sentence, Some(at), None);
            }
            None if facts.elsewhere > 0 => {
                let sentence = format!("the workers for type `{kind}` ask for it in other queues than `{queue}`");
                self.cause("no_worker", sentence, None, None);
            }
            None => {
                let (since, sentence) = match facts.left_at {
                    Some(at) => {
                        let ago = span(self.now.ms_since(at));
                        (at, format!("nobody is there for type `{kind}`: its last worker left {ago} ago"))
                    }
                    None => {
                        let up = span(self.now.ms_since(facts.up_since));
                        let own = if own.is_empty() { String::new() } else { format!("; {own}") };
                        (facts.up_since, format!("no worker has asked for type `{kind}` since the server came up {up} ago{own}"))
                    }
                };
                self.cause("no_worker", sentence, Some(since), None);
            }
        }
        if own.is_empty() && !facts.own {
            self.act(format!("signaller work --type {kind} -- COMMAND"));
        }
    }
}

/// The handler whose own limit this key is, in words, and whether it is that there may be one only.
fn of_handler(trigger: Option<&Trigger>, key: &(KeyName, KeyValue)) -> Option<(String, bool)> {
    let handler = &trigger?.handler;
    if !is_own_key(handler, &key.0) {
        return None;
    }
    match key.0.as_str().strip_prefix(handler.as_str())? {
        "" => Some((format!("handler `{handler}`"), false)),
        SINGLE_KEY => Some((format!("handler `{handler}` for {}", key.1), true)),
        rest => rest.strip_prefix('.').map(|name| (format!("handler `{handler}` for {name} {}", key.1), false)),
    }
}

const SOURCE_CHARS_MAX: usize = 100;

/// The beginning of an expression, as it stands in a sentence.
fn one_line(source: &str) -> String {
    source.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(SOURCE_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests;
