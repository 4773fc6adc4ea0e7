//! A server with a folder, and the binary run against it as `ana`, for tests of workflows and runs.

#![allow(dead_code, reason = "each test file uses a part of this")]

use crate::server::Server;
use crate::talk::{ask, until};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub struct House {
    pub server: Server,
    pub folder: tempfile::TempDir,
}

pub struct Ran {
    pub exit: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    #[track_caller]
    pub fn json(&self) -> Value {
        let last = self.out.lines().last().unwrap_or_default();
        serde_json::from_str(last).unwrap_or_else(|_| panic!("`{}` `{}`", self.out, self.err))
    }
}

pub struct Worker(Child);

impl Worker {
    pub fn of(child: Child) -> Worker {
        Worker(child)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

impl House {
    pub fn start() -> House {
        House::start_with(&[])
    }

    pub fn start_with(args: &[&str]) -> House {
        let folder = tempfile::tempdir().unwrap();
        let args = [&["--stop-limit", "100ms"], args].concat();
        let server = Server::start_with(&folder.path().join("data"), 0, &args, &[]);
        House { server, folder }
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// `'…'` holds a word together.
    pub fn run(&self, line: &str) -> Ran {
        ran(command(self.folder.path(), &self.server.url, line))
    }

    /// A command that must go well: its result.
    #[track_caller]
    pub fn ok(&self, line: &str) -> Value {
        let answer = self.run(line);
        assert_eq!(answer.exit, 0, "{line}: {} {}", answer.out, answer.err);
        answer.json()["result"].clone()
    }

    /// A command that must not: exit code, and the answer.
    #[track_caller]
    pub fn refused(&self, line: &str, exit: i32, code: &str) -> Value {
        let answer = self.run(line);
        let document = answer.json();
        assert_eq!((answer.exit, &document["error"]["code"]), (exit, &json!(code)), "{line}: {document}");
        assert!(document["fix"].as_str().is_some_and(|fix| !fix.is_empty()), "{line}: {document}");
        document
    }

    /// What people are told.
    #[track_caller]
    pub fn told(&self, line: &str) -> String {
        let answer = self.run(&format!("--human {line}"));
        assert_eq!(answer.exit, 0, "{line}: {} {}", answer.out, answer.err);
        answer.out
    }

    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// Puts a definition by HTTP: status and answer.
    pub fn post_text(&self, path: &str, kind: &str, text: &str) -> (u16, Value) {
        let answer = ask(self.server.port, "POST", path, &[("content-type", kind)], text.as_bytes()).expect("an answer");
        (answer.status, answer.json())
    }

    #[track_caller]
    pub fn put(&self, text: &str) -> Value {
        let (status, answer) = self.post_text("/v1/workflows", "text/yaml", text);
        assert_eq!(status, 200, "{answer}");
        answer
    }

    #[track_caller]
    pub fn start_run(&self, workflow: &str, input: &Value) -> String {
        let started = self.server.post("/v1/runs", &json!({"workflow": workflow, "input": input}));
        started["run"].as_str().unwrap().to_owned()
    }

    pub fn view(&self, run: &str) -> Value {
        self.server.get(&format!("/v1/runs/{run}"))
    }

    #[track_caller]
    pub fn ended(&self, run: &str) -> Value {
        until(&format!("{run} ends"), || Some(self.view(run)).filter(|view| view["status"] != "running"))
    }

    /// A node of the run's own frame, when it has come to this.
    #[track_caller]
    pub fn node_is(&self, run: &str, node: &str, status: &str) -> Value {
        until(&format!("{node} of {run} is {status}"), || {
            let view = self.view(run);
            let nodes = view["nodes"].as_array().cloned().unwrap_or_default();
            nodes.into_iter().find(|one| one["node"] == node && one["status"] == status)
        })
    }

    /// A worker in the background whose command is a line of shell.
    pub fn worker(&self, kinds: &str, script: &str) -> Worker {
        let mut command = command(self.folder.path(), &self.server.url, "work --concurrency 8");
        kinds.split(',').for_each(|kind| _ = command.args(["--type", kind]));
        command.args(["--", "sh", "-c", script]);
        Worker(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

pub fn command(folder: &Path, url: &str, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_signaller"));
    for (index, part) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            command.arg(part);
        } else {
            command.args(part.split_whitespace());
        }
    }
    command.current_dir(folder).env("SIGNALLER_URL", url).env("USER", "ana");
    for name in ["SIGNALLER_TOKEN", "SIGNALLER_LISTEN", "SIGNALLER_DATA_DIR"] {
        command.env_remove(name);
    }
    command
}

pub fn ran(mut command: Command) -> Ran {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran { exit: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
}

pub fn example(name: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/workflows").join(name).display().to_string()
}
