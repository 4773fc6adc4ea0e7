//! A connection as raw as a test wants it: whole requests, half ones, several at once, polls that wait, and the stream.
//! Everything has a deadline, so that a server that hangs is a test that fails.

#![allow(dead_code, reason = "each test file uses a part of this")]

use crate::server::{Server, signaller};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long anything may take before it counts as hanging.
pub const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{} without JSON: `{text}`", self.status))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

pub struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    pub fn open(port: u16) -> Connection {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Connection { stream: BufReader::new(stream) }
    }

    /// A server may hang up in the middle of it: that is for the answer to show.
    pub fn send(&mut self, bytes: &[u8]) -> &mut Connection {
        _ = self.stream.get_mut().write_all(bytes);
        self
    }

    pub fn send_no_more(&mut self) -> &mut Connection {
        _ = self.stream.get_mut().shutdown(Shutdown::Write);
        self
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(line.trim_end().to_owned()),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => None,
            Err(error) => panic!("the server hangs: {error}"),
        }
    }

    /// Status and headers; `None` when the server hung up without any.
    fn head(&mut self) -> Option<(u16, Vec<(String, String)>)> {
        let first = self.line()?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("`{first}`"));
        let mut headers = Vec::new();
        while let Some(line) = self.line().filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').unwrap_or_else(|| panic!("`{line}`"));
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        Some((status, headers))
    }

    pub fn answer(&mut self) -> Option<Answer> {
        let (status, headers) = self.head()?;
        let length = headers.iter().find(|(name, _)| name == "content-length").map_or("0", |(_, value)| value);
        let mut body = vec![0; length.parse().expect("a length is a number")];
        self.stream.read_exact(&mut body).expect("the whole answer comes");
        Some(Answer { status, headers, body })
    }

    /// The server has hung up, and sends nothing more before it does.
    pub fn is_over(&mut self) -> bool {
        matches!(self.stream.read(&mut [0]), Ok(0))
            || self.stream.get_ref().peek(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset)
    }
}

/// A whole request of HTTP/1.1; a body without a `content-type` among the headers is JSON.
pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\n");
    let given = |name: &str| headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    if !given("host") {
        text += "host: localhost\r\n";
    }
    if !given("content-type") && !body.is_empty() {
        text += "content-type: application/json\r\n";
    }
    if !given("content-length") && !given("transfer-encoding") {
        text += &format!("content-length: {}\r\n", body.len());
    }
    headers.iter().for_each(|(name, value)| text += &format!("{name}: {value}\r\n"));
    let mut bytes = (text + "\r\n").into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Sends one request on a connection of its own.
pub fn ask(port: u16, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Option<Answer> {
    Connection::open(port).send(&request(method, path, headers, body)).answer()
}

/// Checks that this is a refusal as every refusal has to be, and gives its code.
#[track_caller]
pub fn refusal(status: u16, body: &Value, of: &str) -> String {
    let error = &body["error"];
    let code = error["code"].as_str().unwrap_or_else(|| panic!("{of}: {status} without a code: {body}"));
    for field in ["message", "fix"] {
        assert!(error[field].as_str().is_some_and(|text| !text.is_empty()), "{of}: no {field}: {body}");
    }
    let known = doors::wire::CODES.iter().find(|(known, _)| *known == code);
    assert_eq!(known.map(|(_, status)| *status), Some(status), "{of}: {body}");
    assert_eq!(error["retryable"], Value::Bool(matches!(status, 429 | 503)), "{of}: {body}");
    code.to_owned()
}

/// Looks again and again until there is something to see.
#[track_caller]
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < deadline, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A poll under way on a connection of its own.
pub struct Waiting {
    thread: JoinHandle<(Value, Duration)>,
}

impl Waiting {
    /// Sends the poll and comes back when the server knows of it.
    pub fn start(server: &Server, poll: &Value) -> Waiting {
        let worker = poll["worker"].clone();
        let asked = |server: &Server| {
            let workers = server.get("/v1/status")["workers"].clone();
            let found = workers.as_array().unwrap().iter().find(|known| known["worker"] == worker);
            found.map(|known| known["asked_ms_ago"].as_u64().unwrap())
        };
        let before = asked(server);
        let (port, body, began) = (server.port, poll.to_string(), Instant::now());
        let thread = std::thread::spawn(move || {
            let mut connection = Connection::open(port);
            connection.stream.get_ref().set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            let answer = connection.send(&request("POST", "/v1/work", &[], body.as_bytes())).answer();
            let answer = answer.expect("a poll is answered");
            assert_eq!(answer.status, 200, "{}", answer.json());
            (answer.json(), began.elapsed())
        });
        until("the poll arrives", || {
            let ago = asked(server)?;
            (before.is_none() || ago <= began.elapsed().as_millis() as u64).then_some(())
        });
        Waiting { thread }
    }

    pub fn is_over(&self) -> bool {
        self.thread.is_finished()
    }

    /// The answer, and how long it took.
    #[track_caller]
    pub fn end(self) -> (Value, Duration) {
        until("the poll is answered", || self.is_over().then_some(()));
        self.thread.join().expect("the poll went well")
    }
}

/// One event of the stream.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Event {
    pub id: String,
    pub name: String,
    pub data: String,
}

impl Event {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).expect("an event's data is JSON")
    }
}

/// The stream as a listener gets it, out of its chunks.
pub struct Listener {
    connection: Connection,
    chunk: Vec<u8>,
    text: String,
    /// What an ordinary listener would come back with.
    pub last_id: String,
}

impl Listener {
    pub fn open(port: u16, query: &str, last_id: Option<&str>) -> Listener {
        let mut connection = Connection::open(port);
        let headers: Vec<(&str, &str)> = last_id.map(|id| ("last-event-id", id)).into_iter().collect();
        connection.send(&request("GET", &format!("/v1/stream{query}"), &headers, b""));
        let (status, head) = connection.head().expect("the stream is answered");
        assert_eq!(status, 200);
        assert!(head.contains(&("content-type".into(), "text/event-stream".into())), "{head:?}");
        let mut listener =
            Listener { connection, chunk: Vec::new(), text: String::new(), last_id: last_id.unwrap_or_default().into() };
        // The first thing is a comment: from here on nothing is missed.
        let first = listener.block().expect("the stream begins");
        assert!(first.contains(": subscribed"), "{first}");
        listener.take(&first);
        listener
    }

    /// One block of lines, up to an empty one; `None` when the stream ends.
    fn block(&mut self) -> Option<String> {
        loop {
            if let Some(at) = self.text.find("\n\n") {
                let rest = self.text.split_off(at + 2);
                return Some(std::mem::replace(&mut self.text, rest));
            }
            let size = self.connection.line()?;
            let size = usize::from_str_radix(&size, 16).unwrap_or_else(|_| panic!("`{size}` is no chunk's size"));
            if size == 0 {
                return None;
            }
            self.chunk.resize(size + 2, 0);
            if self.connection.stream.read_exact(&mut self.chunk).is_err() {
                return None;
            }
            self.text += std::str::from_utf8(&self.chunk[..size]).expect("the stream is UTF-8");
        }
    }

    fn take(&mut self, block: &str) -> Event {
        let mut event = Event::default();
        for line in block.lines() {
            match line.split_once(": ").unwrap_or((line, "")) {
                ("id", id) => event.id = id.to_owned(),
                ("event", name) => event.name = name.to_owned(),
                ("data", data) => event.data += data,
                _ => assert!(line.is_empty() || line.starts_with(':'), "`{line}`"),
            }
        }
        if !event.id.is_empty() {
            self.last_id.clone_from(&event.id);
        }
        event
    }

    /// The next event; comments are passed over. `None` when the stream ends.
    pub fn next(&mut self) -> Option<Event> {
        loop {
            let block = self.block()?;
            let event = self.take(&block);
            if !event.name.is_empty() {
                return Some(event);
            }
        }
    }

    /// Events up to and with the first that `is_last` accepts.
    pub fn up_to(&mut self, is_last: impl Fn(&Event) -> bool) -> Vec<Event> {
        let mut events = Vec::new();
        loop {
            events.push(self.next().expect("the stream goes on"));
            if is_last(&events[events.len() - 1]) {
                return events;
            }
        }
    }
}

/// Leases one task of this type and gives it as the worker got it.
#[track_caller]
pub fn lease(server: &Server, worker: &str, kind: &str) -> Value {
    let answer = server.post("/v1/work", &json!({"worker": worker, "types": [kind], "want": 1, "wait_ms": 5_000}));
    assert_eq!(answer["tasks"].as_array().unwrap().len(), 1, "{answer}");
    answer["tasks"][0].clone()
}

/// Reports one result and gives its answer.
pub fn report(server: &Server, worker: &str, task: &Value, result: Value) -> Value {
    let mut result = result;
    result["task"] = task["task"].clone();
    result["fence"] = task["fence"].clone();
    server.post("/v1/work", &json!({"worker": worker, "types": [], "results": [result]}))["results"][0].clone()
}

#[track_caller]
pub fn verified(data: &Path) {
    let answer = signaller(&["verify", "--data-dir", data.to_str().unwrap()], None);
    assert_eq!(answer["ok"], Value::Bool(true), "{answer}");
}
