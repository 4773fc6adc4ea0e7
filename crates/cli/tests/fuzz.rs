//! Bodies and paths that nobody thought of: valid requests, bent by chance, to every operation that takes a body. Never
//! a failure of ours, never a hang, always an answer of the right shape; in the end the server works and verifies.

mod server;
mod talk;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};
use server::Server;
use talk::{ask, refusal, verified};

/// `PROPTEST_CASES` asks for more.
const CASES: u32 = 3_000;

const VALID: [(&str, &str, &str); 24] = [
    (
        "POST",
        "/v1/tasks",
        r#"{"type":"t","queue":"q","input":{"b":1,"a":[1.5,"ü"]},"priority":"high","keys":{"tenant":"acme"},"tags":["x"],"blocked_by":["task-1"],"scheduled_for":"2099-01-01T00:00:00Z","idempotency_key":"k","retry":{"attempts":5,"backoff_ms":1},"budget_ms":1000}"#,
    ),
    ("POST", "/v1/tasks", r#"{"type":"t","delay_ms":5,"idle":true,"input":null}"#),
    ("POST", "/v1/tasks/batch", r#"{"tasks":[{"type":"t"},{"type":"t","queue":"q","priority":-7}]}"#),
    ("POST", "/v1/tasks/task-1/cancel", r#"{"by":"ana","reason":"enough"}"#),
    ("POST", "/v1/tasks/task-2/retry", r#"{"by":"ana"}"#),
    ("POST", "/v1/tasks/task-3/reset", r#"{"by":"ana"}"#),
    ("POST", "/v1/tasks/task-4/start", r#"{"by":"ana","force":true}"#),
    (
        "PUT",
        "/v1/queues/q",
        r#"{"config":{"concurrency":4,"rate":{"count":100,"per_ms":1000,"burst":20},"keys":{"tenant":{"concurrency":2}},"fairness":{"key":"tenant","step_ms":60000,"weights":{"acme":3}},"retry":{"attempts":3},"heartbeat_ms":30000,"budget_ms":86400000,"backlog_max":1000,"require_tag":"ok","override_slots":2,"idempotency_window_ms":86400000},"by":"ana"}"#,
    ),
    ("POST", "/v1/queues/q/pause", r#"{"for_ms":1000,"reason":"deploy","by":"ana"}"#),
    ("POST", "/v1/queues/q/resume", r#"{"by":"ana"}"#),
    ("POST", "/v1/queues/t/drain", r#"{"by":"ana"}"#),
    ("POST", "/v1/queues/t/clear", r#"{"reason":"over","by":"ana","filter":{"family":"a/*"}}"#),
    ("POST", "/v1/families/shed", r#"{"families":["a","b/*"],"upto":"normal","reason":"storm"}"#),
    ("POST", "/v1/queues/q/reprioritize", r#"{"priority":600,"tasks":["task-1","task-2"],"by":"ana"}"#),
    (
        "POST",
        "/v1/queues/q/reprioritize",
        r#"{"priority":-5,"filter":{"type":"t","tag":"x","key":{"name":"tenant","value":"acme"},"error_code":"boom"}}"#,
    ),
    ("POST", "/v1/queues/q/redrive", r#"{"filter":{"type":"t"},"per_s":100,"by":"ana"}"#),
    ("POST", "/v1/bulks/bulk-9/cancel", r#"{"by":"ana"}"#),
    (
        "POST",
        "/v1/runs",
        r#"{"workflow":"w","version":1,"input":{"n":1,"a":["x"]},"idempotency_key":"k","priority":"high","tags":["x"],"deadline_ms":60000,"by":"ana"}"#,
    ),
    ("POST", "/v1/runs/run-1/cancel", r#"{"by":"ana","reason":"enough"}"#),
    ("POST", "/v1/runs/run-2/pause", r#"{"by":"ana","reason":"wait"}"#),
    ("POST", "/v1/runs/run-2/resume", r#"{"by":"ana"}"#),
    ("POST", "/v1/runs/run-1/retry", r#"{"node":"work","by":"ana"}"#),
    ("POST", "/v1/approvals", r#"{"node":"run-3/ask","approved":true,"by":"ana","comment":"fine"}"#),
    (
        "POST",
        "/v1/work",
        r#"{"worker":"w","types":["t"],"queues":["q"],"want":3,"results":[{"task":"task-1","fence":"k7","status":"done","output":{}},{"task":"task-2","fence":"k8","status":"failed","error":{"code":"http_503","message":"m"},"retryable":true,"retry_after_ms":3000}],"holding":[{"task":"task-3","fence":"ka","progress":0.4}]}"#,
    ),
];

/// One way to bend a request.
#[derive(Clone, Debug)]
enum Bend {
    Flip(Vec<(prop::sample::Index, u8)>),
    Cut(prop::sample::Index),
    Insert(prop::sample::Index, Vec<u8>),
    /// A member of the object comes twice.
    Twice(prop::sample::Index),
    /// The value at some place becomes another one.
    Swap(prop::sample::Index, Value),
    Whole(Value),
    /// The name in the path becomes these bytes, escaped.
    Path(Vec<u8>),
    Nothing,
}

fn any_json() -> impl Strategy<Value = Value> {
    let odd = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1e308),
        json!(""),
        json!("\u{0}"),
        json!("task-1"),
        json!("task-zzzz"),
        json!("9999-12-31T23:59:59Z"),
        json!("q"),
        json!([]),
        json!({}),
        json!("x".repeat(300)),
        json!([[[[[[[[]]]]]]]]),
    ];
    let leaf = prop_oneof![
        3 => prop::sample::select(odd.to_vec()),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        1 => ".{0,20}".prop_map(Value::from),
    ];
    const NAMES: &[&str] = &[
        "type", "queue", "tasks", "config", "filter", "priority", "by", "keys", "results", "worker", "types", "task", "fence",
        "boost",
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(NAMES), inner), 0..6)
                .prop_map(|members| members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Value>()),
        ]
    })
}

fn any_bend() -> impl Strategy<Value = Bend> {
    let place = any::<prop::sample::Index>;
    prop_oneof![
        2 => prop::collection::vec((place(), any::<u8>()), 1..6).prop_map(Bend::Flip),
        1 => place().prop_map(Bend::Cut),
        1 => (place(), prop::collection::vec(any::<u8>(), 1..20)).prop_map(|(at, bytes)| Bend::Insert(at, bytes)),
        1 => place().prop_map(Bend::Twice),
        4 => (place(), any_json()).prop_map(|(at, value)| Bend::Swap(at, value)),
        2 => any_json().prop_map(Bend::Whole),
        1 => prop::collection::vec(any::<u8>(), 1..20).prop_map(Bend::Path),
        1 => Just(Bend::Nothing),
    ]
}

fn places(value: &Value) -> usize {
    let inner: usize = match value {
        Value::Array(items) => items.iter().map(places).sum(),
        Value::Object(members) => members.values().map(places).sum(),
        _ => 0,
    };
    1 + inner
}

/// Puts `new` at the place with this number, counted from the outside in.
fn put(value: &mut Value, at: &mut usize, new: &Value) {
    if *at == 0 {
        *value = new.clone();
    }
    *at = at.wrapping_sub(1);
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| put(item, at, new)),
        Value::Object(members) => members.values_mut().for_each(|member| put(member, at, new)),
        _ => {}
    }
}

fn bent(path: &str, body: &str, bend: &Bend) -> (String, Vec<u8>) {
    let (mut path, mut bytes) = (path.to_owned(), body.as_bytes().to_vec());
    match bend {
        Bend::Flip(flips) => flips.iter().for_each(|(at, with)| {
            let at = at.index(bytes.len());
            bytes[at] ^= with;
        }),
        Bend::Cut(at) => bytes.truncate(at.index(bytes.len())),
        Bend::Insert(at, more) => {
            let at = at.index(bytes.len());
            bytes.splice(at..at, more.iter().copied());
        }
        Bend::Twice(at) => {
            let members = serde_json::from_str::<serde_json::Map<String, Value>>(body).unwrap();
            let (name, value) = members.iter().nth(at.index(members.len())).unwrap();
            bytes.splice(1..1, format!("\"{name}\":{value},").into_bytes());
        }
        Bend::Swap(at, new) => {
            let mut value: Value = serde_json::from_str(body).unwrap();
            let mut at = at.index(places(&value));
            put(&mut value, &mut at, new);
            bytes = value.to_string().into_bytes();
        }
        Bend::Whole(value) => bytes = value.to_string().into_bytes(),
        Bend::Path(name) => {
            let escaped: String = name.iter().map(|byte| format!("%{byte:02X}")).collect();
            let mut parts: Vec<&str> = path.split('/').collect();
            if parts.len() > 3 {
                parts[3] = &escaped;
            }
            path = parts.join("/");
        }
        Bend::Nothing => {}
    }
    (path, bytes)
}

#[test]
fn no_bent_request_breaks_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut server = Server::start_with(&data, 0, &["--stop-limit", "100ms"], &[]);
    server.post("/v1/tasks/batch", &json!({"tasks": vec![json!({"type": "t", "queue": "q"}); 8]}));
    let workflow = b"workflow: w\ninput: {type: object}\nnodes:\n  work: {type: t}\n  ask: {type: approval}\n";
    let put = ask(server.port, "POST", "/v1/workflows", &[("content-type", "text/yaml")], workflow).unwrap();
    assert_eq!(put.status, 200, "{}", put.json());
    (0..4).for_each(|_| _ = server.post("/v1/runs", &json!({"workflow": "w", "input": {}})));
    let asked: u32 = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(0);
    let config = Config { cases: CASES.max(asked), max_shrink_iters: 500, failure_persistence: None, ..Config::default() };
    let mut seen = std::collections::BTreeMap::<String, usize>::new();
    let cases = (prop::sample::select(VALID.to_vec()), any_bend());
    let seen_in = std::cell::RefCell::new(&mut seen);
    let result = TestRunner::new(config).run(&cases, |((method, path, body), bend)| {
        let (path, body) = bent(path, body, &bend);
        let shown = format!("{method} {path} {}", String::from_utf8_lossy(&body));
        let answer = ask(server.port, method, &path, &[], &body);
        let answer = answer.ok_or_else(|| TestCaseError::fail(format!("no answer: {shown}")))?;
        prop_assert!(answer.status < 500, "{}: {}", shown, String::from_utf8_lossy(&answer.body));
        let told = if answer.status < 300 { "ok".into() } else { refusal(answer.status, &answer.json(), &shown) };
        *seen_in.borrow_mut().entry(told).or_default() += 1;
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    println!("{seen:?}");
    // It must be able to fail: enough of them got through, and enough were refused.
    assert!(seen.get("ok").is_some_and(|count| *count > 50) && seen.get("invalid").is_some_and(|count| *count > 200), "{seen:?}");
    assert_eq!(server.get("/health")["ok"], true);
    server.put("/v1/queues/after", &json!({"config": {}}));
    server.post("/v1/tasks", &json!({"type": "after"}));
    talk::lease(&server, "after", "after");
    assert_eq!(server.terminate(), Some(0));
    verified(&data);
}
