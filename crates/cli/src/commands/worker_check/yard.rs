//! A server and a worker in processes of their own, which may be killed, frozen and started again.

use crate::client::Client;
use crate::config::{Source, Target};
use doors::wire::History;
use kernel::ids::TaskId;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The type of tasks that the worker is to do, and their queue.
const TYPE: &str = "check";
/// A worker is believed dead after this: short, so that the checks are.
pub const HEARTBEAT_MS: u64 = 1_500;
/// Longer than this nothing is waited for.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// How much of the worker's last words is told.
const LAST_WORDS: usize = 1_000;

pub type Done = Result<(), String>;

pub struct Yard {
    folder: TempDir,
    command: Vec<String>,
    verbose: bool,
    server: Process,
    worker: Option<Process>,
    address: String,
    client: Client,
    /// Somebody wants no more of it.
    gives_up: Arc<AtomicBool>,
}

/// With all that it started; it ends with this value.
struct Process(Child);

impl Process {
    fn send(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.0.id() as i32) {
            _ = kill_process_group(pid, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.send(Signal::KILL);
        _ = self.0.wait();
    }
}

fn serve(folder: &TempDir, listen: &str) -> Result<(Process, String), String> {
    let wrong = |error: std::io::Error| format!("the server cannot be started: {error}");
    let log = File::options().create(true).append(true).open(folder.path().join("server.log")).map_err(wrong)?;
    let child = Command::new(std::env::current_exe().map_err(wrong)?)
        .args(["--json", "serve", "--stop-limit", "1s", "--listen", listen, "--data-dir"])
        .arg(folder.path().join("data"))
        .env_remove("SIGNALLER_TOKEN")
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .process_group(0)
        .spawn()
        .map_err(wrong)?;
    let mut server = Process(child);
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().expect("it is piped")).read_line(&mut line).map_err(wrong)?;
    let ready: Value = serde_json::from_str(&line).map_err(|_| format!("the server said `{}`", line.trim()))?;
    let address = ready["ready"]["address"].as_str().ok_or_else(|| format!("the server said `{}`", line.trim()))?;
    Ok((server, address.to_owned()))
}

impl Yard {
    pub fn open(command: &[String], verbose: bool, gives_up: &Arc<AtomicBool>) -> Result<Yard, String> {
        let folder = tempfile::tempdir().map_err(|error| format!("no folder can be made: {error}"))?;
        let (server, address) = serve(&folder, "127.0.0.1:0")?;
        let client = Client::new(Target { url: address.clone(), source: Source::Flag, token: None });
        let mut yard = Yard {
            folder,
            command: command.to_vec(),
            verbose,
            server,
            worker: None,
            address,
            client,
            gives_up: gives_up.clone(),
        };
        let config = json!({"config": {"heartbeat_ms": HEARTBEAT_MS}, "by": "worker-check"});
        yard.put(&format!("/v1/queues/{TYPE}"), &config)?;
        yard.start_worker()?;
        Ok(yard)
    }

    pub fn start_worker(&mut self) -> Done {
        self.worker = None;
        let wrong = |error: std::io::Error| format!("the worker {} cannot be started: {error}", self.command[0]);
        let log = || File::options().create(true).append(true).open(self.folder.path().join("worker.log"));
        let (out, errors) = match self.verbose {
            true => (Stdio::inherit(), Stdio::inherit()),
            false => (Stdio::from(log().map_err(wrong)?), Stdio::from(log().map_err(wrong)?)),
        };
        let child = Command::new(&self.command[0])
            .args(&self.command[1..])
            .env("SIGNALLER_URL", &self.address)
            .env("SIGNALLER_CHECK_TYPE", TYPE)
            .env_remove("SIGNALLER_TOKEN")
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(errors)
            .process_group(0)
            .spawn()
            .map_err(wrong)?;
        self.worker = Some(Process(child));
        Ok(())
    }

    pub fn kill_server(&mut self) {
        self.server.send(Signal::KILL);
        _ = self.server.0.wait();
    }

    /// At the same address, with what it knew.
    pub fn start_server(&mut self) -> Done {
        let listen = self.address.trim_start_matches("http://").to_owned();
        self.server = serve(&self.folder, &listen)?.0;
        Ok(())
    }

    pub fn signal_worker(&self, signal: Signal) {
        self.worker.iter().for_each(|worker| worker.send(signal));
    }

    pub fn kill_worker(&mut self) {
        self.worker = None;
    }

    /// How it ended by itself.
    pub fn worker_ends(&mut self) -> Result<ExitStatus, String> {
        let until = Instant::now() + PATIENCE;
        let Some(worker) = &mut self.worker else { return Err("there is no worker".into()) };
        while Instant::now() < until && !self.gives_up.load(Ordering::Relaxed) {
            if let Some(status) = worker.0.try_wait().map_err(|error| error.to_string())? {
                self.worker = None;
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(format!("it did not end within {} s", PATIENCE.as_secs()))
    }

    pub fn is_working(&mut self) -> bool {
        self.worker.as_mut().is_some_and(|worker| matches!(worker.0.try_wait(), Ok(None)))
    }

    pub fn with_last_words(&mut self, why: String) -> String {
        let gone = if self.worker.is_some() && !self.is_working() { "; the worker has ended" } else { "" };
        let log = std::fs::read(self.folder.path().join("worker.log")).unwrap_or_default();
        let tail = String::from_utf8_lossy(&log[log.len().saturating_sub(LAST_WORDS)..]).trim().to_owned();
        let said = if tail.is_empty() { String::new() } else { format!("\nthe worker said: {tail}") };
        format!("{why}{gone}{said}")
    }

    pub fn post(&self, path: &str, body: &Value) -> Result<Value, String> {
        self.client.post(path, body).map_err(|failure| failure.message)
    }

    fn put(&self, path: &str, body: &Value) -> Result<Value, String> {
        self.client.put(path, body).map_err(|failure| failure.message)
    }

    pub fn add(&self, input: &Value) -> Result<TaskId, String> {
        self.add_with(input, 5)
    }

    pub fn add_with(&self, input: &Value, attempts: u32) -> Result<TaskId, String> {
        let retry = json!({"attempts": attempts, "backoff_ms": 10, "backoff_max_ms": 10, "jitter_percent": 0});
        let added = self.post("/v1/tasks", &json!({"type": TYPE, "input": input, "retry": retry}))?;
        let task = added["task"].as_str().and_then(TaskId::parse);
        task.ok_or_else(|| format!("adding a task was answered with {added}"))
    }

    pub fn task(&self, task: TaskId) -> Result<Value, String> {
        self.client.get(&format!("/v1/tasks/{task}")).map_err(|failure| failure.message)
    }

    pub fn history(&self, task: TaskId) -> Result<History, String> {
        self.client.get(&format!("/v1/tasks/{task}/history")).map_err(|failure| failure.message)
    }

    /// The task, once this holds of it.
    pub fn until(&mut self, task: TaskId, what: &str, holds: impl Fn(&Value) -> bool) -> Result<Value, String> {
        let until = Instant::now() + PATIENCE;
        loop {
            let shown = self.task(task)?;
            if holds(&shown) {
                return Ok(shown);
            }
            if self.worker.is_some() && !self.is_working() {
                return Err(format!("{task} {what}"));
            }
            if Instant::now() > until && shown["status"] == "queued" && shown["attempt"] == 0 {
                let told = "no worker asked for it: the worker has to take tasks of the type in SIGNALLER_CHECK_TYPE";
                return Err(format!("{task} was not begun within {} s; {told}", PATIENCE.as_secs()));
            }
            if Instant::now() > until || self.gives_up.load(Ordering::Relaxed) {
                let status = (&shown["status"], &shown["attempt"]);
                return Err(format!("{task} {what} within {} s: it is {} at attempt {}", PATIENCE.as_secs(), status.0, status.1));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn runs(&mut self, task: TaskId) -> Done {
        let shown = self.until(task, "was not taken by the worker", |task| task["status"] != "queued")?;
        still_worked_at(task, &shown)
    }

    pub fn ends(&mut self, task: TaskId) -> Result<Value, String> {
        let over = |task: &Value| ["done", "failed", "cancelled"].iter().any(|status| task["status"] == *status);
        self.until(task, "did not end", over)
    }

    /// It ended well, and gave this.
    pub fn gives(&mut self, task: TaskId, value: &Value) -> Result<Value, String> {
        let ended = self.ends(task)?;
        if ended["status"] != "done" {
            return Err(format!("{task} should be done, and is {}: {}", ended["status"], ended["error"]));
        }
        if ended["output"] != *value {
            let cut = |value: &Value| kernel::names::clip(&value.to_string(), 200);
            return Err(format!("{task} should give {}, and gave {}", cut(value), cut(&ended["output"])));
        }
        Ok(ended)
    }
}

pub fn still_worked_at(task: TaskId, shown: &Value) -> Done {
    match shown["status"].as_str() {
        Some("running") => Ok(()),
        status => Err(format!("{task} should still be worked at, and is {}", status.unwrap_or("nowhere"))),
    }
}
