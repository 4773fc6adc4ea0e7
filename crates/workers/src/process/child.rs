//! One attempt as a process of its own group: the task on stdin, the output from stdout, the tail of stderr for the
//! history, and each of its lines to whoever listens. Everything read is bounded.

use super::guard::Guard;
use super::verdict::MESSAGE_BYTES_MAX;
use crate::secrets::SECRET_BYTES_MAX;
use kernel::limits::PAYLOAD_BYTES_MAX;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::ffi::OsString;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// What of stderr is kept: its end becomes the error's message. More than that, so that a secret that the end cuts in two is here whole
/// and can be taken out.
const TAIL_BYTES_MAX: usize = MESSAGE_BYTES_MAX + SECRET_BYTES_MAX;
/// What is longer is not told to its end.
const LINE_BYTES_MAX: usize = 2 * SECRET_BYTES_MAX;
/// A grandchild may hold the pipes open after the process itself has ended; it is not waited for longer than this.
const PIPES_AFTER_EXIT: Duration = Duration::from_secs(1);

/// What is started, and how.
#[derive(Clone, Default)]
pub struct Launch {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    pub folder: Option<PathBuf>,
    pub env: Vec<(OsString, OsString)>,
    /// It sees nothing of our own environment.
    pub env_is_whole: bool,
    /// MiB of data that each of its processes may have.
    pub memory_mb: Option<u64>,
    pub stdin: Vec<u8>,
    /// Whatever it leaves running ends with it.
    pub ends_whole: bool,
}

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
    /// What is left of the group ends with its leader.
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

/// Starts the process; `line` gets each line of its stderr, and `ended` is called on another thread when it is over.
pub fn start(
    launch: Launch,
    guard: Guard,
    line: impl FnMut(&str) + Send + 'static,
    ended: impl FnOnce(Ended) + Send + 'static,
) -> std::io::Result<Group> {
    let mut command = command(&launch)?;
    let mut child = command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let leader = Pid::from_child(&child);
    guard.began(leader);
    let group = Group(Arc::new(Mutex::new(Alive { leader: Some(leader), ending: launch.ends_whole, guard })));
    let started = Threads::start(&mut child, launch.stdin, &group, line).and_then(|threads| {
        let (theirs, waiting) = (group.clone(), thread::Builder::new());
        // Whoever waits gets the child by a channel: one that did not start could not give it back.
        let (give, given) = channel();
        waiting.spawn(move || given.recv().map(|child| ended(watch(child, leader, &theirs, threads)))).map(|_| give)
    });
    match started {
        Ok(give) => {
            _ = give.send(child);
            Ok(group)
        }
        // Nobody would watch it.
        Err(error) => {
            group.kill();
            group.release();
            _ = child.wait();
            Err(error)
        }
    }
}

/// Whoever reads what a process says.
struct Threads {
    stdout: Arc<Mutex<Vec<u8>>>,
    tail: Arc<Mutex<Vec<u8>>>,
    /// Nothing is ever sent: it is done when both readers are.
    closing: Receiver<()>,
}

impl Threads {
    fn start(
        child: &mut Child,
        stdin: Vec<u8>,
        group: &Group,
        line: impl FnMut(&str) + Send + 'static,
    ) -> std::io::Result<Threads> {
        let (closed, closing) = channel::<()>();
        let (stdout, tail) = (Arc::default(), Arc::default());
        if let Some(mut pipe) = child.stdin.take() {
            // On a thread of its own: a process that never reads must not hold anything up.
            thread::Builder::new().spawn(move || pipe.write_all(&stdin))?;
        }
        if let Some(pipe) = child.stdout.take() {
            let (stdout, group, closed) = (Arc::clone(&stdout), group.clone(), closed.clone());
            thread::Builder::new().spawn(move || {
                read_output(pipe, &stdout, &group);
                drop(closed);
            })?;
        }
        if let Some(pipe) = child.stderr.take() {
            let (tail, closed) = (Arc::clone(&tail), closed.clone());
            thread::Builder::new().spawn(move || {
                read_errors(pipe, &tail, line);
                drop(closed);
            })?;
        }
        Ok(Threads { stdout, tail, closing })
    }
}

/// The shell sets the bound on itself and becomes the program: nothing of it runs unbounded.
const BOUNDED: &str = r#"ulimit -d "$0" && exec "$@""#;

fn command(launch: &Launch) -> std::io::Result<Command> {
    let (program, args) = launch.command.split_first().ok_or_else(|| std::io::Error::new(ErrorKind::NotFound, "no command"))?;
    let mut command = match launch.memory_mb {
        Some(mb) => {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", BOUNDED, &mb.saturating_mul(1_024).to_string()]).arg(program);
            shell
        }
        None => Command::new(program),
    };
    command.args(args);
    if launch.env_is_whole {
        command.env_clear();
    }
    command.envs(launch.env.iter().map(|(name, value)| (name, value)));
    if let Some(folder) = &launch.folder {
        command.current_dir(folder);
    }
    Ok(command)
}

fn watch(mut child: Child, leader: Pid, group: &Group, Threads { stdout, tail, closing }: Threads) -> Ended {
    // Wait without reaping, so that the group keeps its number until nobody signals it any more.
    while let Err(error) = waitid(WaitId::Pid(leader), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
        if error != rustix::io::Errno::INTR {
            break;
        }
    }
    group.release();
    let status = child.wait();
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

/// Passes lines on, and keeps the tail.
fn read_errors(mut pipe: impl Read, tail: &Mutex<Vec<u8>>, mut tell: impl FnMut(&str)) {
    let mut chunk = [0; 4 * 1024];
    let mut line = Vec::new();
    // The rest of a line that is too long.
    let mut skips = false;
    let mut tell = |line: &mut Vec<u8>| {
        tell(String::from_utf8_lossy(line).trim_end_matches(['\n', '\r']));
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
                    if !skips {
                        line.push(*byte);
                        skips = line.len() >= LINE_BYTES_MAX;
                    }
                    if *byte == b'\n' {
                        tell(&mut line);
                        skips = false;
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

    fn run_with(launch: Launch, act: impl FnOnce(&Group)) -> (Ended, Vec<String>) {
        let (sender, ended) = sync_channel(1);
        let tell = move |end| sender.send(end).expect("the test waits");
        let (line, lines) = channel();
        let group = start(launch, Guard::none(), move |text| _ = line.send(text.to_owned()), tell).unwrap();
        act(&group);
        (ended.recv_timeout(Duration::from_secs(30)).expect("the process ends"), lines.try_iter().collect())
    }

    fn launch(script: &str) -> Launch {
        let command = ["sh", "-c", script].map(OsString::from).to_vec();
        let env = vec![("SIGNALLER_TASK".into(), "task-1".into())];
        Launch { command, env, stdin: br#"{"task":"task-1"}"#.to_vec(), ..Launch::default() }
    }

    fn run(script: &str, act: impl FnOnce(&Group)) -> Ended {
        run_with(launch(script), act).0
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

    #[test]
    fn a_process_has_the_room_the_folder_and_the_names_it_is_given() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().canonicalize().unwrap();
        let fill = r#"dd if=/dev/zero of=/dev/null bs=100M count=1 2>/dev/null && echo had it || echo no room"#;
        let bounded = |memory_mb| run_with(Launch { memory_mb, ..launch(fill) }, |_| {}).0.stdout;
        assert_eq!((bounded(Some(16)), bounded(None)), (b"no room\n".to_vec(), b"had it\n".to_vec()));

        let whole = Launch { env_is_whole: true, folder: Some(here.clone()), memory_mb: Some(64), ..launch("pwd; env") };
        let said = String::from_utf8(run_with(whole, |_| {}).0.stdout).unwrap();
        assert_eq!(said.lines().next(), here.to_str());
        assert!(said.contains("SIGNALLER_TASK=task-1") && !said.contains("CARGO"), "{said}");
    }

    #[test]
    fn lines_of_stderr_are_told_as_they_come() {
        let (ended, lines) = run_with(launch("echo one >&2; printf 'two\\r\\nthree' >&2"), |_| {});
        assert_eq!((lines.join("|").as_str(), ended.stderr_tail.as_str()), ("one|two|three", "one\ntwo\r\nthree"));
        let (_, lines) = run_with(launch("yes x | tr -d '\\n' | head -c 300000 >&2; echo >&2; echo two >&2"), |_| {});
        assert_eq!(lines.iter().map(String::len).collect::<Vec<_>>(), [LINE_BYTES_MAX, 3]);
    }

    /// It has ended well, and what it left behind would go on.
    #[test]
    fn nothing_stays_behind_where_that_is_asked_for() {
        let ended = run_with(Launch { ends_whole: true, ..launch("sleep 60 & echo 1") }, |_| {}).0;
        assert_eq!((ended.exit, ended.left_behind), (Exited::Code(0), false));
    }
}
