//! What ends the processes of a worker that was killed: a process of its own that is told of every group the worker starts
//! and reaps, over a pipe that only the worker holds. When the pipe closes, it ends the groups that are left.

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::collections::BTreeSet;
use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// After so long SIGTERM becomes SIGKILL.
const GRACE: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The worker's end of the pipe.
#[derive(Clone)]
pub struct Guard(Option<Arc<Mutex<ChildStdin>>>);

impl Guard {
    /// This very program is started once more, to call [`watch`]: in a group of its own, so that what is meant for the worker
    /// at a terminal does not end it. Without one, all goes on as well; only a worker that is killed leaves its processes behind.
    pub fn start() -> Guard {
        let started = std::env::current_exe().and_then(|program| {
            let mut command = Command::new(program);
            command.arg("work-guard").current_dir("/").process_group(0);
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
        });
        Guard(started.ok().and_then(|mut child| child.stdin.take()).map(|pipe| Arc::new(Mutex::new(pipe))))
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
        if let Some(pipe) = &self.0 {
            let mut pipe = pipe.lock().unwrap_or_else(PoisonError::into_inner);
            // It may be gone, and then there is nothing to be done about it.
            let _ = pipe.write_all(format!("{what}{}\n", leader.as_raw_nonzero()).as_bytes());
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
