//! What ends the processes of a worker that was killed: a process of its own that is told of every group the worker starts
//! and reaps, over a pipe that only the worker holds. When the pipe closes, it ends the groups that are left. A worker that is
//! killed in the instant between a start and the word of it leaves a process that gets no task: its stdin closes empty, since
//! the task is written after the word.

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::collections::BTreeSet;
use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// After so long SIGTERM becomes SIGKILL.
const GRACE: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The worker's end of the pipe.
#[derive(Clone)]
pub struct Guard(Option<Arc<Mutex<Post>>>);

/// Without a guard all goes on as well; only a worker that is killed leaves its processes behind.
struct Post {
    guard: Option<(Child, ChildStdin)>,
    /// What it has to know.
    groups: BTreeSet<i32>,
}

/// This very program is started once more, to call [`watch`]: in a group of its own, so that what is meant for the worker
/// at a terminal does not end it.
fn started() -> Option<(Child, ChildStdin)> {
    let started = std::env::current_exe().and_then(|program| {
        let mut command = Command::new(program);
        command.arg("work-guard").current_dir("/").process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    });
    started.ok().and_then(|mut child| child.stdin.take().map(|pipe| (child, pipe)))
}

impl Post {
    fn tell(&mut self, line: &str) -> bool {
        self.guard.as_mut().is_some_and(|(_, pipe)| pipe.write_all(line.as_bytes()).is_ok())
    }

    /// One that was ended by somebody is replaced, and told of all that there is.
    fn replace(&mut self) {
        if let Some((mut gone, pipe)) = self.guard.take() {
            drop(pipe);
            _ = gone.wait();
        }
        tracing::warn!("the process that ends commands after a kill (work-guard) is gone; it is started again");
        self.guard = started();
        let all: String = self.groups.iter().map(|leader| format!("+{leader}\n")).collect();
        if !self.tell(&all) {
            tracing::warn!("it cannot be started: if this process is killed, its commands go on");
        }
    }
}

impl Guard {
    pub fn start() -> Guard {
        Guard(Some(Arc::new(Mutex::new(Post { guard: started(), groups: BTreeSet::new() }))))
    }

    /// Nobody watches.
    pub fn none() -> Guard {
        Guard(None)
    }

    pub fn began(&self, leader: Pid) {
        self.tell('+', leader);
    }

    /// To be said before the leader is reaped: after that its number may belong to someone else.
    pub fn ended(&self, leader: Pid) {
        self.tell('-', leader);
    }

    fn tell(&self, what: char, leader: Pid) {
        let Some(post) = &self.0 else { return };
        let mut post = post.lock().unwrap_or_else(PoisonError::into_inner);
        let leader = leader.as_raw_nonzero().get();
        let _ = if what == '+' { post.groups.insert(leader) } else { post.groups.remove(&leader) };
        if !post.tell(&format!("{what}{leader}\n")) {
            post.replace();
        }
    }
}

/// The other end: returns when the worker is gone and its groups are ended, with how many those were.
pub fn watch(told: impl BufRead) -> std::io::Result<usize> {
    let mut groups: BTreeSet<i32> = BTreeSet::new();
    for line in told.lines() {
        let line = line?;
        match (line.chars().next(), line.get(1..).and_then(|number| number.parse().ok())) {
            (Some('+'), Some(leader)) => _ = groups.insert(leader),
            (Some('-'), Some(leader)) => _ = groups.remove(&leader),
            _ => {}
        }
    }
    let groups: Vec<Pid> = groups.into_iter().filter_map(Pid::from_raw).collect();
    let left = || groups.iter().filter(|leader| test_kill_process_group(**leader).is_ok());
    let end = |signal| left().for_each(|leader| _ = kill_process_group(*leader, signal));
    end(Signal::TERM);
    let kill_at = Instant::now() + GRACE;
    while left().next().is_some() && Instant::now() < kill_at {
        thread::sleep(LOOK_EVERY);
    }
    end(Signal::KILL);
    Ok(groups.len())
}
