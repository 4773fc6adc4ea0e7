//! One attempt as a process of its own group: the task on stdin, the output from stdout, the tail of stderr for the
//! history. Everything read is bounded.

use super::guard::Guard;
use crate::plain::plain;
use kernel::ids::TaskId;
use kernel::limits::PAYLOAD_BYTES_MAX;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::ffi::OsString;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// What of stderr is kept: it becomes the error's message.
const TAIL_BYTES_MAX: usize = 1_500;
const LINE_BYTES_MAX: usize = 8 * 1024;
/// A grandchild may hold the pipes open after the process itself has ended; it is not waited for longer than this.
const PIPES_AFTER_EXIT: Duration = Duration::from_secs(1);

/// How the process ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    pub exit: Exited,
    /// At most one byte more than an output may have.
    pub stdout: Vec<u8>,
    pub stderr_tail: String,
    /// Something it started still runs and holds its pipes.
    pub left_behind: bool,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Exited {
    Code(i32),
    Signal(i32),
}

/// The process and all it started, until it is reaped: after that its number may belong to someone else.
#[derive(Clone)]
pub struct Group(Arc<Mutex<Alive>>);

struct Alive {
    leader: Option<Pid>,
    ending: bool,
    guard: Guard,
}

impl Group {
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        let mut alive = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        alive.ending = true;
        if let Some(leader) = alive.leader {
            // It may be gone already, which is what was wanted.
            let _ = kill_process_group(leader, signal);
        }
    }

    /// The leader has ended and is not reaped yet. What an ended attempt leaves behind must not go on with its work.
    fn release(&self) {
        let mut alive = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let (true, Some(leader)) = (alive.ending, alive.leader) {
            let _ = kill_process_group(leader, Signal::KILL);
        }
        if let Some(leader) = alive.leader.take() {
            alive.guard.ended(leader);
        }
    }
}

/// Starts the process; `ended` is called on another thread when it is over.
pub fn start(
    task: TaskId,
    command: &[OsString],
    env: Vec<(&'static str, String)>,
    stdin: Vec<u8>,
    guard: Guard,
    ended: impl FnOnce(Ended) + Send + 'static,
) -> std::io::Result<Group> {
    let (program, args) = command.split_first().ok_or_else(|| std::io::Error::new(ErrorKind::NotFound, "no command"))?;
    let mut child = Command::new(program)
        .args(args)
        .envs(env)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let leader = Pid::from_child(&child);
    guard.began(leader);
    let group = Group(Arc::new(Mutex::new(Alive { leader: Some(leader), ending: false, guard })));
    let theirs = group.clone();
    if let Some(mut pipe) = child.stdin.take() {
        // On a thread of its own: a process that never reads must not hold anything up.
        thread::spawn(move || pipe.write_all(&stdin));
    }
    thread::spawn(move || ended(watch(task, child, leader, &theirs)));
    Ok(group)
}

fn watch(task: TaskId, mut child: Child, leader: Pid, group: &Group) -> Ended {
    let (closed, closing) = channel::<()>();
    let stdout = Arc::new(Mutex::new(Vec::new()));
    let tail = Arc::new(Mutex::new(Vec::new()));
    if let Some(pipe) = child.stdout.take() {
        let (stdout, group, closed) = (stdout.clone(), group.clone(), closed.clone());
        thread::spawn(move || {
            read_output(pipe, &stdout, &group);
            drop(closed);
        });
    }
    if let Some(pipe) = child.stderr.take() {
        let (tail, closed) = (tail.clone(), closed.clone());
        thread::spawn(move || {
            read_errors(task, pipe, &tail);
            drop(closed);
        });
    }
    drop(closed);
    // Wait without reaping, so that the group keeps its number until nobody signals it any more.
    while let Err(error) = waitid(WaitId::Pid(leader), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
        if error != rustix::io::Errno::INTR {
            break;
        }
    }
    group.release();
    let status = child.wait();
    // Nothing is ever sent: the channel is done when both readers are.
    let left_behind = closing.recv_timeout(PIPES_AFTER_EXIT) == Err(RecvTimeoutError::Timeout);
    let exit = match status {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => Exited::Code(code),
            (None, signal) => Exited::Signal(signal.unwrap_or(0)),
        },
        Err(_) => Exited::Signal(0),
    };
    let stdout = std::mem::take(&mut *stdout.lock().unwrap_or_else(PoisonError::into_inner));
    let tail = std::mem::take(&mut *tail.lock().unwrap_or_else(PoisonError::into_inner));
    Ended { exit, stdout, stderr_tail: String::from_utf8_lossy(&tail).trim().to_owned(), left_behind }
}

fn read_output(mut pipe: impl Read, kept: &Mutex<Vec<u8>>, group: &Group) {
    let mut chunk = [0; 16 * 1024];
    loop {
        match pipe.read(&mut chunk) {
            Ok(0) => return,
            Ok(count) => {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let room = (PAYLOAD_BYTES_MAX + 1).saturating_sub(kept.len());
                kept.extend_from_slice(&chunk[..count.min(room)]);
                if kept.len() > PAYLOAD_BYTES_MAX {
                    drop(kept);
                    group.kill();
                    return;
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Passes lines on to our own stderr, each with its task, and keeps the tail.
fn read_errors(task: TaskId, mut pipe: impl Read, tail: &Mutex<Vec<u8>>) {
    let mut chunk = [0; 4 * 1024];
    let mut line = Vec::new();
    let tell = |line: &mut Vec<u8>| {
        let text = String::from_utf8_lossy(line);
        let _ = writeln!(std::io::stderr().lock(), "{task} | {}", plain(text.trim_end_matches(['\n', '\r'])));
        line.clear();
    };
    loop {
        match pipe.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => {
                {
                    let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
                    tail.extend_from_slice(&chunk[..count]);
                    let excess = tail.len().saturating_sub(TAIL_BYTES_MAX);
                    tail.drain(..excess);
                }
                for byte in &chunk[..count] {
                    line.push(*byte);
                    if *byte == b'\n' || line.len() >= LINE_BYTES_MAX {
                        tell(&mut line);
                    }
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    if !line.is_empty() {
        tell(&mut line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;

    fn run(script: &str, act: impl FnOnce(&Group)) -> Ended {
        let (sender, ended) = sync_channel(1);
        let command = ["sh", "-c", script].map(OsString::from);
        let env = vec![("SIGNALLER_TASK", "task-1".to_owned())];
        let stdin = br#"{"task":"task-1"}"#.to_vec();
        let tell = move |end| sender.send(end).expect("the test waits");
        let group = start(TaskId::new(1, 0), &command, env, stdin, Guard::none(), tell).unwrap();
        act(&group);
        ended.recv_timeout(Duration::from_secs(30)).expect("the process ends")
    }

    #[test]
    fn a_process_gets_its_task_and_gives_its_output() {
        for (script, exit, stdout, stderr, left_behind) in [
            ("cat", Exited::Code(0), r#"{"task":"task-1"}"#, "", false),
            ("printf %s $SIGNALLER_TASK; echo oh >&2; exit 65", Exited::Code(65), "task-1", "oh", false),
            ("exec 0<&-; kill -9 $$", Exited::Signal(9), "", "", false),
            // The grandchild keeps the pipes open for longer than anyone waits.
            ("sleep 5 & echo 1", Exited::Code(0), "1\n", "", true),
        ] {
            let ended = run(script, |_| {});
            let expected = Ended { exit, stdout: stdout.into(), stderr_tail: stderr.into(), left_behind };
            assert_eq!(ended, expected, "{script}");
        }
    }

    #[test]
    fn what_is_too_much_is_cut_off_and_stopped() {
        let ended = run("yes; sleep 60", |_| {});
        assert_eq!((ended.exit, ended.stdout.len()), (Exited::Signal(9), PAYLOAD_BYTES_MAX + 1));
        let ended = run("yes error >&2 & P=$!; sleep 0.3; kill $P; exit 3", |_| {});
        assert_eq!((ended.exit, ended.stderr_tail.len() <= TAIL_BYTES_MAX), (Exited::Code(3), true));
    }

    /// The grandchild ignores SIGTERM and holds the pipes; they close because it is killed with the rest.
    #[test]
    fn a_group_ends_whole() {
        let folder = tempfile::tempdir().unwrap();
        let ready = folder.path().join("ready");
        let script = format!("(trap '' TERM; touch {}; sleep 60) & sleep 60", ready.display());
        let ended = run(&script, |group| {
            while !ready.exists() {
                thread::yield_now();
            }
            group.terminate();
        });
        assert_eq!((ended.exit, ended.left_behind), (Exited::Signal(15), false));
    }
}
