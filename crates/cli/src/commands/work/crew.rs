//! What a worker holds and owes: the attempts under way, the results not yet taken by the server. No I/O in here.
//!
//! Invariant: every lease the server gave and has not heard the end of is in the next poll, as a result or as held.
//! One that is in neither would be taken back while its process still runs.

use doors::wire::{Holding, TaskError, WorkAnswer, WorkPoll, WorkResult, WorkStatus, WorkTask};
use kernel::ids::{Fence, TaskId};
use kernel::names::{QueueName, TypeName, WorkerName};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use workers::process::Verdict;

/// Results beyond this wait for the next poll, as held.
const POLL_RESULTS_BYTES: usize = 512 * 1024;
/// How long the server may wait for work while nothing runs here.
const WAIT_IDLE: Duration = Duration::from_secs(20);
/// While something runs, a poll must be back soon: its end has to be told, and only one poll is under way at a time.
const WAIT_BUSY: Duration = Duration::from_millis(100);
/// One that is full asks for nothing and may wait until it has something to say.
const WAIT_FULL: Duration = Duration::from_secs(20);

pub struct Crew {
    pub worker: WorkerName,
    pub types: Vec<TypeName>,
    pub queues: Vec<QueueName>,
    pub slots: usize,
    /// No more work is taken on.
    pub closing: bool,
    held: BTreeMap<TaskId, Held>,
    owed: Vec<WorkResult>,
    /// Of those owed, what the server could not take: each keeps its place, so that not more and more of them come to wait.
    later: BTreeSet<(TaskId, Fence)>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Held {
    fence: Fence,
    heartbeat: Duration,
    fate: Fate,
}

/// What the end of a process will mean.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Fate {
    /// What it says itself.
    Its,
    /// Stopped because the server asked for it.
    Stopped,
    /// Stopped because its time budget is spent, whether or not the server has said so.
    Spent,
    /// The lease is gone: it means nothing any more.
    Lost,
    /// Handed back.
    Released,
}

/// What the server is told of an attempt that ended.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Told {
    Done,
    Failed,
    /// It was asked to stop, and did.
    Stopped,
    Released,
    /// Nothing: its lease is lost.
    Nothing,
}

/// Why an attempt is ended before its time.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Why {
    LeaseLost,
    /// It was cancelled, or its time budget is spent: a heartbeat does not say which.
    Asked,
}

/// What has to be done about an answer.
#[derive(Debug)]
pub enum Todo {
    Start(Box<WorkTask>),
    End {
        task: TaskId,
        why: Why,
    },
    /// The server took a result.
    Taken {
        task: TaskId,
    },
    /// The server cannot take a result now; it is told again.
    Later {
        task: TaskId,
        message: String,
    },
    /// The server did not take a result.
    Refused {
        task: TaskId,
        message: String,
        /// The lease is no longer this worker's.
        lost: bool,
        /// Nothing more will be said of this attempt.
        last: bool,
    },
}

impl Crew {
    pub fn new(worker: WorkerName, types: Vec<TypeName>, queues: Vec<QueueName>, slots: usize) -> Crew {
        Crew { worker, types, queues, slots, closing: false, held: BTreeMap::new(), owed: Vec::new(), later: BTreeSet::new() }
    }

    pub fn running(&self) -> usize {
        self.held.len()
    }

    pub fn owes(&self) -> bool {
        !self.owed.is_empty()
    }

    pub fn free(&self) -> usize {
        if self.closing { 0 } else { self.slots.saturating_sub(self.held.len() + self.later.len()) }
    }

    /// How long the server may go without hearing of what is held here.
    pub fn heartbeat(&self) -> Option<Duration> {
        self.held.values().map(|held| held.heartbeat / 3).min()
    }

    /// A poll that only waits to hear of what is held here; `None` while there is something to tell or to ask for. It is given
    /// no task, so the next poll may be sent before it is answered.
    pub fn listen(&self) -> Option<WorkPoll> {
        let heartbeat = self.heartbeat().filter(|_| self.free() == 0 && !self.owes())?;
        Some(WorkPoll { wait_ms: WAIT_FULL.min(heartbeat).as_millis() as u64, ..self.poll() })
    }

    pub fn poll(&self) -> WorkPoll {
        let mut results = Vec::new();
        let mut holding: Vec<Holding> = self
            .held
            .iter()
            .map(|(task, held)| Holding { task: *task, fence: held.fence, progress: None, message: None, log: Vec::new() })
            .collect();
        let (mut bytes, mut left) = (0, 0);
        for result in &self.owed {
            bytes += result.output.as_ref().map_or(0, |output| output.get().len());
            if results.is_empty() || bytes <= POLL_RESULTS_BYTES {
                results.push(result.clone());
            } else {
                left += usize::from(!self.later.contains(&(result.task, result.fence)));
                holding.push(Holding { task: result.task, fence: result.fence, progress: None, message: None, log: Vec::new() });
            }
        }
        let wait = match (self.free(), self.owes(), self.heartbeat()) {
            (0, _, _) | (_, true, _) => Duration::ZERO,
            (_, false, Some(heartbeat)) => WAIT_BUSY.min(heartbeat),
            (_, false, None) => WAIT_IDLE,
        };
        WorkPoll {
            worker: self.worker.clone(),
            types: self.types.clone(),
            queues: self.queues.clone(),
            // Whatever has to be named beside them, what is wanted fits into one poll.
            want: self.free().saturating_sub(left),
            wait_ms: wait.as_millis() as u64,
            results,
            holding,
        }
    }

    /// The server's answer to `poll`.
    pub fn answered(&mut self, poll: &WorkPoll, answer: WorkAnswer) -> Vec<Todo> {
        let mut todo = Vec::new();
        let told = |result: &WorkResult| poll.results.iter().any(|sent| sent.task == result.task && sent.fence == result.fence);
        self.owed.retain(|result| !told(result));
        for (sent, refused) in poll.results.iter().zip(&answer.results) {
            self.later.remove(&(sent.task, sent.fence));
            if refused.ok {
                todo.push(Todo::Taken { task: sent.task });
                continue;
            }
            let code = refused.code.clone().unwrap_or_else(|| "refused".into());
            let message = refused.message.clone().unwrap_or_else(|| code.clone());
            if code == "unavailable" {
                self.later.insert((sent.task, sent.fence));
                // What it said on the way was heard.
                self.owed.push(WorkResult { log: Vec::new(), progress: None, message: None, ..sent.clone() });
                todo.push(Todo::Later { task: sent.task, message });
                continue;
            }
            // A refused result leaves the lease here, unless it is lost: the attempt has failed then. If even that is
            // refused there is no more to say, and the lease is taken back.
            let lost = code == "lease_lost";
            let last = lost || sent.status != WorkStatus::Done;
            if !last {
                let error = TaskError { code: "result_refused".into(), message: message.clone() };
                self.owed.push(failed(sent.task, sent.fence, error, false));
            }
            todo.push(Todo::Refused { task: refused.task, message, lost, last });
        }
        for heard in answer.holding {
            let Some(held) = self.held.get_mut(&heard.task) else { continue };
            if let Some(ms) = heard.heartbeat_ms {
                held.heartbeat = Duration::from_millis(ms.into());
            }
            if held.fate == Fate::Its && !heard.ok {
                held.fate = Fate::Lost;
                todo.push(Todo::End { task: heard.task, why: Why::LeaseLost });
            } else if held.fate == Fate::Its && heard.cancel {
                held.fate = Fate::Stopped;
                todo.push(Todo::End { task: heard.task, why: Why::Asked });
            }
        }
        for task in answer.tasks {
            if self.free() == 0 {
                // Asked for before the worker began to close.
                self.owed.push(released(task.task, task.fence));
                continue;
            }
            let heartbeat = Duration::from_millis(task.heartbeat_ms.into());
            self.held.insert(task.task, Held { fence: task.fence, heartbeat, fate: Fate::Its });
            todo.push(Todo::Start(Box::new(task)));
        }
        todo
    }

    /// The process of `task` is over.
    pub fn ended(&mut self, task: TaskId, fence: Fence, verdict: Verdict) -> Told {
        if self.held.get(&task).is_none_or(|held| held.fence != fence) {
            return Told::Nothing;
        }
        let Some(held) = self.held.remove(&task) else { return Told::Nothing };
        let (told, result) = match (held.fate, verdict) {
            (Fate::Lost, _) => return Told::Nothing,
            (Fate::Its, Verdict::Done(output)) => (Told::Done, done(task, fence, output)),
            (Fate::Its, Verdict::Failed { failure, retryable, retry_after_ms }) => {
                let error = TaskError { code: failure.code, message: failure.message };
                (Told::Failed, WorkResult { retry_after_ms, ..failed(task, fence, error, retryable) })
            }
            // Though it was quicker than the server's wish to end it: that stands.
            (Fate::Stopped, _) => {
                let error = TaskError { code: "stopped".into(), message: "the worker ended it on request".into() };
                (Told::Stopped, failed(task, fence, error, false))
            }
            // Many commands end well when they are told to, and nobody knows whether that was all of it.
            (Fate::Spent, _) => {
                let message = "the attempt ran longer than its time budget, and the worker ended it".into();
                (Told::Stopped, failed(task, fence, TaskError { code: "timed_out".into(), message }, true))
            }
            (Fate::Released, _) => (Told::Released, released(task, fence)),
        };
        self.owed.push(result);
        told
    }

    /// The time budget of `task` is spent; `true`: its process is to be ended for that.
    pub fn spent(&mut self, task: TaskId) -> bool {
        let held = self.held.get_mut(&task).filter(|held| held.fate == Fate::Its);
        held.map(|held| held.fate = Fate::Spent).is_some()
    }

    /// The process of `task` could not be started: it is handed back.
    pub fn not_started(&mut self, task: TaskId) {
        if let Some(held) = self.held.remove(&task) {
            self.owed.push(released(task, held.fence));
        }
    }

    /// Everything under way is to be handed back once its process has ended.
    pub fn release_all(&mut self) {
        for held in self.held.values_mut().filter(|held| held.fate == Fate::Its) {
            held.fate = Fate::Released;
        }
    }
}

fn released(task: TaskId, fence: Fence) -> WorkResult {
    WorkResult::new(task, fence, WorkStatus::Released)
}

fn done(task: TaskId, fence: Fence, output: Box<RawValue>) -> WorkResult {
    WorkResult { output: Some(output), ..WorkResult::new(task, fence, WorkStatus::Done) }
}

fn failed(task: TaskId, fence: Fence, error: TaskError, retryable: bool) -> WorkResult {
    WorkResult { error: Some(error), retryable: Some(retryable), ..WorkResult::new(task, fence, WorkStatus::Failed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crew(slots: usize) -> Crew {
        Crew::new(WorkerName::parse("w").unwrap(), vec![TypeName::parse("lint").unwrap()], Vec::new(), slots)
    }

    fn task(number: u64) -> String {
        format!(
            r#"{{"task":"task-{number}","fence":"{number}","type":"lint","queue":"lint","attempt":1,"input":1,"heartbeat_ms":900,"budget_ms":1,"idempotency_key":"k"}}"#
        )
    }

    /// Runs a script, an answer as JSON or an end of a task by line, and shows each poll in short.
    fn check(mut crew: Crew, script: &[(&str, &str)]) {
        for (step, shown) in script {
            let poll = crew.poll();
            let mut words = step.split_whitespace();
            let verdict = |word: &str| match word {
                "done" => Some(Verdict::Done(RawValue::from_string("7".into()).unwrap())),
                "large" => Some(Verdict::Done(RawValue::from_string(format!("\"{}\"", "x".repeat(400_000))).unwrap())),
                "failed" => {
                    let failure = kernel::record::Failure { code: "exit_1".into(), message: String::new() };
                    Some(Verdict::Failed { failure, retryable: true, retry_after_ms: None })
                }
                _ => None,
            };
            match words.next().unwrap() {
                "close" => crew.closing = true,
                "release" => crew.release_all(),
                "spend" => _ = crew.spent(TaskId::new(words.next().unwrap().parse().unwrap(), 0)),
                "listen" => {
                    let told = crew.listen().map(|poll| format!("want {} wait {}", poll.want, poll.wait_ms));
                    assert_eq!(told.as_deref().unwrap_or("no"), step.split_once(' ').unwrap().1);
                }
                "nothing" => {}
                word => match verdict(word) {
                    Some(verdict) => {
                        let number: u64 = words.next().unwrap().parse().unwrap();
                        let (task, fence) = (TaskId::new(number, 0), Fence::parse(&number.to_string()).unwrap());
                        crew.ended(task, fence, verdict);
                    }
                    None => {
                        let mut text = (*step).to_owned();
                        for number in 1..=3 {
                            text = text.replace(&format!("T{number}"), &task(number));
                        }
                        crew.answered(&poll, serde_json::from_str(&text).unwrap());
                    }
                },
            }
            let poll = crew.poll();
            let results: Vec<String> = poll.results.iter().map(|r| format!("{}:{:?}", r.task, r.status)).collect();
            let holding: Vec<String> = poll.holding.iter().map(|h| h.task.to_string()).collect();
            let text = format!("want {} wait {} [{}] ({})", poll.want, poll.wait_ms, results.join(" "), holding.join(" "));
            assert_eq!(text, *shown, "after {step}");
        }
    }

    #[test]
    fn a_lease_is_told_of_in_every_poll_until_its_end_is_taken() {
        check(
            crew(2),
            &[
                ("nothing", "want 2 wait 20000 [] ()"),
                (r#"{"tasks":[T1]}"#, "want 1 wait 100 [] (task-1)"),
                (r#"{"tasks":[T2]}"#, "want 0 wait 0 [] (task-1 task-2)"),
                ("done 1", "want 1 wait 0 [task-1:Done] (task-2)"),
                ("failed 2", "want 2 wait 0 [task-1:Done task-2:Failed] ()"),
                (
                    r#"{"results":[{"task":"task-1","ok":true},{"task":"task-2","ok":false,"code":"lease_lost"}]}"#,
                    "want 2 wait 20000 [] ()",
                ),
            ],
        );
    }

    #[test]
    fn who_is_full_listens_until_there_is_something_to_say() {
        check(
            crew(2),
            &[
                ("listen no", "want 2 wait 20000 [] ()"),
                (r#"{"tasks":[T1]}"#, "want 1 wait 100 [] (task-1)"),
                ("listen no", "want 1 wait 100 [] (task-1)"),
                (r#"{"tasks":[T2]}"#, "want 0 wait 0 [] (task-1 task-2)"),
                ("listen want 0 wait 300", "want 0 wait 0 [] (task-1 task-2)"),
                ("done 1", "want 1 wait 0 [task-1:Done] (task-2)"),
                ("listen no", "want 1 wait 0 [task-1:Done] (task-2)"),
                (r#"{"results":[{"task":"task-1","ok":true}]}"#, "want 1 wait 100 [] (task-2)"),
                ("close", "want 0 wait 0 [] (task-2)"),
                ("listen want 0 wait 300", "want 0 wait 0 [] (task-2)"),
            ],
        );
    }

    #[test]
    fn who_has_spent_its_time_is_ended_and_what_it_says_then_does_not_count() {
        check(
            crew(2),
            &[
                (r#"{"tasks":[T1,T2]}"#, "want 0 wait 0 [] (task-1 task-2)"),
                ("spend 1", "want 0 wait 0 [] (task-1 task-2)"),
                ("spend 2", "want 0 wait 0 [] (task-1 task-2)"),
                // The server says the same a little later.
                (r#"{"holding":[{"task":"task-1","ok":true,"cancel":true}]}"#, "want 0 wait 0 [] (task-1 task-2)"),
                ("failed 1", "want 1 wait 0 [task-1:Failed] (task-2)"),
                // And that it ended well is only what it says when it is told to end.
                ("done 2", "want 2 wait 0 [task-1:Failed task-2:Failed] ()"),
            ],
        );
    }

    #[test]
    fn a_result_the_server_cannot_take_fails_the_attempt() {
        check(
            crew(1),
            &[
                (r#"{"tasks":[T1]}"#, "want 0 wait 0 [] (task-1)"),
                ("done 1", "want 1 wait 0 [task-1:Done] ()"),
                (r#"{"results":[{"task":"task-1","ok":false,"code":"invalid"}]}"#, "want 1 wait 0 [task-1:Failed] ()"),
                (r#"{"results":[{"task":"task-1","ok":false,"code":"invalid"}]}"#, "want 1 wait 20000 [] ()"),
            ],
        );
    }

    #[test]
    fn a_result_that_cannot_be_kept_now_is_told_again() {
        check(
            crew(1),
            &[
                (r#"{"tasks":[T1]}"#, "want 0 wait 0 [] (task-1)"),
                ("done 1", "want 1 wait 0 [task-1:Done] ()"),
                // It keeps its place, so that no more is taken on than can be told of.
                (r#"{"results":[{"task":"task-1","ok":false,"code":"unavailable"}]}"#, "want 0 wait 0 [task-1:Done] ()"),
                (r#"{"results":[{"task":"task-1","ok":false,"code":"unavailable"}]}"#, "want 0 wait 0 [task-1:Done] ()"),
                (r#"{"results":[{"task":"task-1","ok":true}]}"#, "want 1 wait 20000 [] ()"),
            ],
        );
    }

    #[test]
    fn large_results_go_one_by_one_and_wait_as_held() {
        check(
            crew(2),
            &[
                (r#"{"tasks":[T1,T2]}"#, "want 0 wait 0 [] (task-1 task-2)"),
                ("large 1", "want 1 wait 0 [task-1:Done] (task-2)"),
                ("large 2", "want 1 wait 0 [task-1:Done] (task-2)"),
                (r#"{"results":[{"task":"task-1","ok":true}]}"#, "want 2 wait 0 [task-2:Done] ()"),
            ],
        );
    }

    #[test]
    fn who_is_asked_to_stop_confirms_and_who_lost_the_lease_is_silent() {
        check(
            crew(3),
            &[
                (r#"{"tasks":[T1,T2,T3]}"#, "want 0 wait 0 [] (task-1 task-2 task-3)"),
                (
                    r#"{"holding":[{"task":"task-1","ok":true,"cancel":true},{"task":"task-2","ok":false},{"task":"task-3","ok":true,"cancel":true}]}"#,
                    "want 0 wait 0 [] (task-1 task-2 task-3)",
                ),
                ("failed 1", "want 1 wait 0 [task-1:Failed] (task-2 task-3)"),
                ("failed 2", "want 2 wait 0 [task-1:Failed] (task-3)"),
                ("done 3", "want 3 wait 0 [task-1:Failed task-3:Failed] ()"),
            ],
        );
    }

    #[test]
    fn a_worker_that_closes_takes_nothing_on_and_burns_nothing() {
        check(
            crew(2),
            &[
                (r#"{"tasks":[T1]}"#, "want 1 wait 100 [] (task-1)"),
                ("close", "want 0 wait 0 [] (task-1)"),
                (r#"{"tasks":[T2]}"#, "want 0 wait 0 [task-2:Released] (task-1)"),
                ("release", "want 0 wait 0 [task-2:Released] (task-1)"),
                ("done 1", "want 0 wait 0 [task-2:Released task-1:Released] ()"),
                (r#"{"results":[{"task":"task-2","ok":true},{"task":"task-1","ok":true}]}"#, "want 0 wait 0 [] ()"),
            ],
        );
    }
}
