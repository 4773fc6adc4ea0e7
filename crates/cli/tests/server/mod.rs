//! A real server process for the tests of the binary, and a plain way to talk to it.

#![allow(dead_code, reason = "each test file uses a part of this")]

use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub struct Server {
    child: Child,
    pub url: String,
    pub port: u16,
    agent: ureq::Agent,
}

impl Server {
    /// Port 0 takes a free one.
    pub fn start(data: &Path, port: u16) -> Server {
        let port = if port == 0 { TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port() } else { port };
        Server::start_with(data, port, &[], &[])
    }

    pub fn start_with(data: &Path, port: u16, args: &[&str], env: &[(&str, &str)]) -> Server {
        Server::start_telling(data, port, args, env, Stdio::inherit())
    }

    /// Its own log goes there.
    pub fn start_telling(data: &Path, port: u16, args: &[&str], env: &[(&str, &str)], log: impl Into<Stdio>) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_signaller"))
            .args(["--json", "serve", "--listen", &format!("127.0.0.1:{port}"), "--data-dir"])
            .arg(data)
            .args(args)
            .env_remove("SIGNALLER_TOKEN")
            .env_remove("SIGNALLER_URL")
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("the server said `{line}`"));
        let url = ready["ready"]["address"].as_str().unwrap_or_else(|| panic!("the server said `{line}`")).to_owned();
        let port = url.rsplit_once(':').unwrap().1.parse().unwrap();
        let config = ureq::Agent::config_builder().proxy(None).http_status_as_error(false).build();
        Server { child, url, port, agent: config.into() }
    }

    pub fn kill_9(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to stop, and waits until it has: its exit code.
    pub fn terminate(&mut self) -> Option<i32> {
        signal(self.child.id(), "TERM");
        self.child.wait().unwrap().code()
    }

    /// Waits until it has ended by itself: its exit code.
    pub fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Any request as it is: status and body.
    pub fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let url = format!("{}{path}", self.url);
        let request = ureq::http::Request::builder().method(method).uri(url).header("content-type", "application/json");
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut response = self.agent.run(request.body(body).unwrap()).expect("the server answers");
        let text = response.body_mut().read_to_string().unwrap();
        (response.status().as_u16(), serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    fn ok(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let (status, answer) = self.ask(method, path, body);
        assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
        answer
    }

    pub fn get(&self, path: &str) -> Value {
        self.ok("GET", path, None)
    }

    pub fn post(&self, path: &str, body: &Value) -> Value {
        self.ok("POST", path, Some(body))
    }

    pub fn put(&self, path: &str, body: &Value) -> Value {
        self.ok("PUT", path, Some(body))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

pub fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args([format!("-{name}"), pid.to_string()]).status().unwrap();
    assert!(status.success());
}

/// Runs the binary as an agent would and returns its one document.
pub fn signaller(args: &[&str], url: Option<&str>) -> Value {
    let (_, answer) = signaller_with(args, url, "");
    answer
}

/// As above, with something on stdin: the exit code and the document.
pub fn signaller_with(args: &[&str], url: Option<&str>, stdin: &str) -> (i32, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_signaller"));
    command.args(args).env_remove("SIGNALLER_TOKEN").env_remove("SIGNALLER_URL");
    if let Some(url) = url {
        command.env("SIGNALLER_URL", url);
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).expect("stdout is UTF-8");
    let last = text.lines().last().unwrap_or_default();
    let answer = serde_json::from_str(last).unwrap_or_else(|_| panic!("`{args:?}` said `{text}`"));
    (output.status.code().unwrap_or(-1), answer)
}
