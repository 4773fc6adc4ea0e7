//! Blobs that are far: whoever asks for a value that does not come waits, and nobody else does; and what is not taken is told.

#[path = "../../store/tests/far/mod.rs"]
mod far;
mod talk;

use doors::http::{Door, DoorOptions, serve};
use engine::{Engine, EngineOptions};
use far::{Far, Mood};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use store::memory::MemoryDisk;
use talk::{PATIENCE, answered};
use tokio::net::TcpListener;

async fn open(blobs: &Arc<Far>) -> SocketAddr {
    let options = EngineOptions { readers: 4, ..EngineOptions::default() };
    let engine = Engine::open(Box::new(MemoryDisk::new().open()), blobs.clone(), options).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, Door::new(engine, DoorOptions::default()), std::future::pending()));
    address
}

async fn ask(address: SocketAddr, method: &str, path: &str, body: &str) -> Value {
    let (status, answer) = answered(address, method, path, body).await;
    assert!(matches!(status, 200 | 201), "{method} {path}: {status} {answer}");
    answer
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
    let blobs = Arc::<Far>::default();
    let address = open(&blobs).await;
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
        blobs.set(Mood::Still);
        let all = blobs.asked() + many;
        let asked: Vec<_> = (0..many)
            .map(|_| {
                let path = path.clone();
                tokio::spawn(async move { ask(address, "GET", &path, "").await })
            })
            .collect();
        assert!(blobs.was_asked(all).await, "{path}: one who waits for a value keeps a reader from others");
        for other in ["/v1/tasks", "/v1/status", "/v1/runs"] {
            ask(address, "GET", other, "").await;
        }
        blobs.set(Mood::Well);
        for answer in asked {
            let answer = answer.await.unwrap();
            assert!(answer.to_string().contains(&large), "{path}: {answer}");
        }
    }
}

#[tokio::test]
async fn what_is_not_taken_is_told_from_what_cannot_be_now() {
    let blobs = Arc::<Far>::default();
    let address = open(&blobs).await;
    ask(address, "POST", "/v1/tasks", r#"{"type":"t"}"#).await;
    let poll = json!({"worker": "w", "types": ["t"], "want": 1, "wait_ms": 5_000});
    let leased = ask(address, "POST", "/v1/work", &poll.to_string()).await["tasks"][0].clone();
    let result = json!({"task": leased["task"], "fence": leased["fence"], "status": "done", "output": "x".repeat(10_000)});
    let poll = json!({"worker": "w", "types": ["t"], "results": [result]}).to_string();
    for (mood, status, code, of_result) in
        [(Mood::Away, 503, "unavailable", "unavailable"), (Mood::Refuses, 422, "blob_refused", "invalid")]
    {
        blobs.set(mood);
        let (answered, answer) = answered(address, "PUT", "/v1/blobs", "bytes").await;
        assert_eq!((answered, &answer["error"]["code"]), (status, &json!(code)), "{answer}");
        assert_eq!(answer["error"]["retryable"], mood == Mood::Away, "{answer}");
        // A result is answered on its own, and its lease stays the worker's.
        let answer = ask(address, "POST", "/v1/work", &poll).await;
        assert_eq!(answer["results"][0]["code"], of_result, "{answer}");
    }
    blobs.set(Mood::Well);
    let answer = ask(address, "POST", "/v1/work", &poll).await;
    assert_eq!(answer["results"][0]["ok"], true, "{answer}");
}

#[tokio::test]
async fn an_output_that_is_slow_to_be_put_away_costs_no_lease() {
    let blobs = Arc::<Far>::default();
    let address = open(&blobs).await;
    let heartbeat_ms = 300;
    let config = json!({"config": {"heartbeat_ms": heartbeat_ms}, "by": "tests"});
    ask(address, "PUT", "/v1/queues/t", &config.to_string()).await;
    ask(address, "POST", "/v1/tasks/batch", r#"{"tasks":[{"type":"t"},{"type":"t"},{"type":"t"}]}"#).await;
    let poll = json!({"worker": "w", "types": ["t"], "want": 3, "wait_ms": 5_000});
    let leased = ask(address, "POST", "/v1/work", &poll.to_string()).await["tasks"].clone();
    let result = |at: usize| json!({"task": leased[at]["task"], "fence": leased[at]["fence"], "status": "done", "output": format!("{at}{}", "x".repeat(10_000))});
    let held = json!({"task": leased[2]["task"], "fence": leased[2]["fence"]});
    let poll = json!({"worker": "w", "types": ["t"], "results": [result(0), result(1)], "holding": [held]});
    blobs.set(Mood::Full);
    let both = blobs.asked() + 2;
    let asked = tokio::spawn(async move { ask(address, "POST", "/v1/work", &poll.to_string()).await });
    assert!(blobs.was_asked(both).await, "neither waits for the other");
    tokio::time::sleep(Duration::from_millis(5 * heartbeat_ms)).await;
    blobs.set(Mood::Well);
    let answer = asked.await.unwrap();
    let ok = |part: &Value| part.as_array().unwrap().iter().map(|one| one["ok"] == true).collect::<Vec<_>>();
    assert_eq!((ok(&answer["results"]), ok(&answer["holding"])), (vec![true, true], vec![true]), "{answer}");
}

/// It gave up on an answer, and asked anew: what it had said of its leases is old.
#[tokio::test]
async fn a_poll_that_nobody_waits_for_takes_nothing_from_the_next() {
    let blobs = Arc::<Far>::default();
    let address = open(&blobs).await;
    ask(address, "POST", "/v1/tasks/batch", r#"{"tasks":[{"type":"t"},{"type":"t"}]}"#).await;
    let poll = |rest: Value| {
        let mut poll = json!({"worker": "w", "types": ["t"]});
        poll.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        poll.to_string()
    };
    let first = ask(address, "POST", "/v1/work", &poll(json!({"want": 1, "wait_ms": 5_000}))).await["tasks"][0].clone();
    let result = json!({"task": first["task"], "fence": first["fence"], "status": "done", "output": "x".repeat(10_000)});
    blobs.set(Mood::Full);
    let body = poll(json!({"results": [result], "want": 1}));
    let gives_up = tokio::spawn(async move { ask(address, "POST", "/v1/work", &body).await });
    assert!(blobs.is_asked().await);
    gives_up.abort();
    _ = gives_up.await;
    let held = json!({"task": first["task"], "fence": first["fence"]});
    let next = poll(json!({"want": 1, "wait_ms": 5_000, "holding": [held]}));
    let second = ask(address, "POST", "/v1/work", &next).await["tasks"][0].clone();
    tokio::time::sleep(Duration::from_millis(300)).await;
    blobs.set(Mood::Well);
    let path = format!("/v1/tasks/{}", first["task"].as_str().unwrap());
    let until = tokio::time::Instant::now() + PATIENCE;
    while ask(address, "GET", &path, "").await["status"] != "done" {
        assert!(tokio::time::Instant::now() < until, "its result counts");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let held = json!({"task": second["task"], "fence": second["fence"]});
    let answer = ask(address, "POST", "/v1/work", &poll(json!({"holding": [held]}))).await;
    assert_eq!(answer["holding"][0]["ok"], true, "{answer}");
    let history = ask(address, "GET", &format!("/v1/tasks/{}/history", second["task"].as_str().unwrap()), "").await;
    assert_eq!(history.to_string().matches("task_leased").count(), 1, "{history}");
}
