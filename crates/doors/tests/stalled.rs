//! Blobs that do not come: whoever asks for a value waits, and nobody else does.

use doors::http::{Door, DoorOptions, serve};
use engine::{Engine, EngineOptions};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use store::blobs::{Holds, Kept, MemoryBlobs};
use store::memory::MemoryDisk;
use store::{BlobId, BlobStore, Hold, StoreError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Tests that hang end; none waits so long.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is got from it waits as long as it is shut.
#[derive(Default)]
struct Stalling {
    blobs: MemoryBlobs,
    gate: Mutex<Gate>,
    changed: Condvar,
}

#[derive(Default)]
struct Gate {
    is_shut: bool,
    waiting: usize,
}

impl Stalling {
    fn set(&self, is_shut: bool) {
        self.gate.lock().unwrap().is_shut = is_shut;
        self.changed.notify_all();
    }

    /// Whether so many wait for it, before all patience is lost.
    fn waits(&self, count: usize) -> bool {
        let gate = self.gate.lock().unwrap();
        let (gate, _) = self.changed.wait_timeout_while(gate, PATIENCE, |gate| gate.waiting < count).unwrap();
        gate.waiting >= count
    }
}

impl BlobStore for Stalling {
    fn put(&self, bytes: &[u8]) -> Result<Hold, StoreError> {
        self.blobs.put(bytes)
    }

    fn put_anew(&self, bytes: &[u8]) -> Result<Hold, StoreError> {
        self.blobs.put_anew(bytes)
    }

    fn get(&self, id: &BlobId) -> Result<Option<Vec<u8>>, StoreError> {
        let mut gate = self.gate.lock().unwrap();
        gate.waiting += 1;
        self.changed.notify_all();
        let (mut gate, _) = self.changed.wait_timeout_while(gate, 2 * PATIENCE, |gate| gate.is_shut).unwrap();
        gate.waiting -= 1;
        drop(gate);
        self.blobs.get(id)
    }

    fn look(&self, id: &BlobId) -> Result<Option<Kept>, StoreError> {
        self.blobs.look(id)
    }

    fn list(&self, after: Option<&BlobId>, limit: usize) -> Result<Vec<Kept>, StoreError> {
        self.blobs.list(after, limit)
    }

    fn remove(&self, id: &BlobId) -> Result<(), StoreError> {
        self.blobs.remove(id)
    }

    fn holds(&self) -> &Holds {
        self.blobs.holds()
    }

    fn place(&self) -> String {
        "a place that is far away".into()
    }
}

async fn ask(address: SocketAddr, method: &str, path: &str, body: &str) -> Value {
    let head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
    let of_body = format!("content-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all((head + &of_body + body).as_bytes()).await.unwrap();
    let mut text = String::new();
    tokio::time::timeout(PATIENCE, stream.read_to_string(&mut text)).await.expect("an answer").unwrap();
    let (head, body) = text.split_once("\r\n\r\n").expect("an answer has a head");
    assert!(head.starts_with("HTTP/1.1 2"), "{method} {path}: {text}");
    serde_json::from_str(body).unwrap()
}

/// A run of two tasks: the first has given something large, which the second is made of.
async fn run(address: SocketAddr, large: &str) -> (String, String, String) {
    let second = json!({"type": "u", "after": "a", "with": {"text": "${nodes.a.output.text}"}});
    let workflow = json!({"workflow": "w", "nodes": {"a": {"type": "t"}, "b": second}});
    ask(address, "POST", "/v1/workflows", &workflow.to_string()).await;
    let run = ask(address, "POST", "/v1/runs", r#"{"workflow":"w"}"#).await["run"].as_str().unwrap().to_owned();
    let poll = json!({"worker": "w", "types": ["t"], "want": 1, "wait_ms": 5_000});
    let leased = ask(address, "POST", "/v1/work", &poll.to_string()).await["tasks"][0].clone();
    let result = json!({"task": leased["task"], "fence": leased["fence"], "status": "done", "output": {"text": large}});
    let told = ask(address, "POST", "/v1/work", &json!({"worker": "w", "types": ["t"], "results": [result]}).to_string()).await;
    assert_eq!(told["results"][0]["ok"], true, "{told}");
    let queued = ask(address, "GET", "/v1/tasks?type=u", "").await;
    let (first, second) = (leased["task"].as_str().unwrap(), queued["tasks"][0]["task"].as_str().unwrap());
    (run, first.to_owned(), second.to_owned())
}

#[tokio::test]
async fn values_that_do_not_come_hold_up_no_other() {
    let blobs = Arc::<Stalling>::default();
    let options = EngineOptions { readers: 4, ..EngineOptions::default() };
    let engine = Engine::open(Box::new(MemoryDisk::new().open()), blobs.clone(), options).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, Door::new(engine, DoorOptions::default()), std::future::pending()));
    let large = "x".repeat(10_000);
    let (run, first, second) = run(address, &large).await;
    // More than there are readers.
    let many = 6;
    for path in [
        format!("/v1/tasks/{first}"),
        format!("/v1/tasks/{second}"),
        format!("/v1/runs/{run}/node?node=a"),
        format!("/v1/runs/{run}/node?node=b"),
        format!("/v1/runs/{run}/nodes?output=true"),
        format!("/v1/runs/{run}/replay?output=true"),
    ] {
        blobs.set(true);
        let asked: Vec<_> = (0..many)
            .map(|_| {
                let path = path.clone();
                tokio::spawn(async move { ask(address, "GET", &path, "").await })
            })
            .collect();
        let waiting = blobs.clone();
        let all_wait = tokio::task::spawn_blocking(move || waiting.waits(many)).await.unwrap();
        assert!(all_wait, "{path}: one who waits for a value keeps a reader from others");
        for other in ["/v1/tasks", "/v1/status", "/v1/runs"] {
            ask(address, "GET", other, "").await;
        }
        blobs.set(false);
        for answer in asked {
            let answer = answer.await.unwrap();
            assert!(answer.to_string().contains(&large), "{path}: {answer}");
        }
    }
}
