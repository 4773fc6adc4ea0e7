//! Events through the real binary: in by every door, through every discipline, out to workers, runs and other systems; with
//! `kill -9` in the middle, and the registry swapped under load.

mod house;
mod server;
mod talk;

use house::House;
use serde_json::{Value, json};
use server::Server;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use talk::until;

/// A house whose registry is this.
fn house(registry: &str) -> House {
    let house = House::start();
    let file = house.file("registry.yaml", registry);
    house.ok(&format!("registry put {file}"));
    house
}

/// What a poll for this type gets, each with its outcome sent at once.
fn work(server: &Server, kind: &str, want: u32) -> Vec<Value> {
    let taken = server.post("/v1/work", &json!({"worker": "w", "types": [kind], "want": want}));
    let tasks = taken["tasks"].as_array().cloned().unwrap_or_default();
    let done = |task: &Value| json!({"task": task["task"], "fence": task["fence"], "status": "done"});
    let results: Vec<Value> = tasks.iter().map(done).collect();
    server.post("/v1/work", &json!({"worker": "w", "types": [kind], "want": 0, "results": results}));
    tasks
}

#[test]
fn one_event_is_sent_from_the_command_line_and_told() {
    let house = house("handlers:\n  greet: {on: user/signed_up, task: greet}\n");
    let told = house.told("emit user/signed_up --id u-1 -d '{\"name\":\"Ada\"}'");
    assert!(told.starts_with("event-1: user/signed_up.\n  greet: queued, it made task-2\n"), "{told}");
    assert!(house.told("emit user/signed_up --id u-1").starts_with("event-1 had come before with this id"), "told");
    assert!(house.told("emit user/left").contains("event-3 is kept: no handler took this user/left."), "told");
    house.refused("emit user//left", 2, "usage");
    let file = house.file("data.json", "{\"name\":\"Bo\"}");
    house.ok(&format!("emit user/signed_up -d @{file}"));
    let inputs: Vec<Value> = work(&house.server, "greet", 9).iter().map(|task| task["input"].clone()).collect();
    assert_eq!(inputs, [json!({"name": "Ada"}), json!({"name": "Bo"})]);
    assert!(house.told("event list").contains("user/signed_up"), "listed");
    assert!(house.told("event unhandled").contains("user/left"), "listed");
    assert!(house.told("event show event-1").contains("greet: queued"), "shown");
    assert!(house.told("event replay event-1").contains("greet: queued"), "replayed");
    house.refused("event show event-zz", 3, "event_not_found");
    let wrong = house.refused("event show task-2", 2, "usage");
    assert!(wrong["error"]["message"].as_str().unwrap().contains("is a task, not an event"), "{wrong}");
}

#[test]
fn many_come_by_lines_and_the_tally_is_told() {
    let house = house("handlers:\n  h: {on: a/*, task: t}\n");
    let mut lines: Vec<String> = (0..1_200).map(|n| format!("{{\"name\":\"a/b\",\"id\":\"n{n}\",\"data\":{n}}}")).collect();
    lines.push("{\"name\":\"c/d\"}".into());
    let file = house.file("events.ndjson", &lines.join("\n"));
    let tally = house.ok(&format!("emit --ndjson {file}"));
    assert_eq!(tally, json!({"emitted": 1201, "duplicates": 0, "unhandled": 1, "outcomes": {"queued": 1200}, "lines": 1201}));
    let again = house.ok(&format!("emit --ndjson {file}"));
    assert_eq!((&again["emitted"], &again["duplicates"]), (&json!(1), &json!(1200)));
    let few = house.file("few.ndjson", "{\"name\":\"a/b\"}\n{\"name\":\"c/d\"}\n{\"name\":\"a/b\",\"id\":\"n7\",\"data\":7}\n");
    let told = house.told(&format!("emit --ndjson {few}"));
    assert_eq!(told, "Sent 2 events: 1 queued, 1 taken by no handler; 1 more had come before.\n");
    house.file("events.ndjson", "{\"name\":\"a/b\"}\n{\"nam\":1}\n");
    let wrong = house.refused(&format!("emit --ndjson {file}"), 2, "usage");
    assert!(wrong["error"]["message"].as_str().unwrap().starts_with("line 2: unknown field"), "{wrong}");
}

#[test]
fn a_batch_hands_its_events_over_in_order_and_a_whole_event_has_its_envelope() {
    let house = house(
        "handlers:\n  some: {on: a/b, task: some, batch: {size: 3, timeout: 1h}}\n  whole: {on: a/b, task: whole, input: event}\n",
    );
    for n in 1..=3 {
        house.ok(&format!("emit a/b --id n{n} -d {n}"));
    }
    let some = work(&house.server, "some", 9);
    assert_eq!((some.len(), &some[0]["input"], &some[0]["trigger"]["events"]), (1, &json!([1, 2, 3]), &json!(3)));
    let whole = work(&house.server, "whole", 9);
    assert_eq!(whole.len(), 3);
    assert_eq!(
        (&whole[1]["input"]["id"], &whole[1]["input"]["name"], &whole[1]["input"]["data"]),
        (&json!("n2"), &json!("a/b"), &json!(2))
    );
    assert!(whole[1]["input"]["ts"].is_string() && whole[1]["input"]["event"].is_string(), "{}", whole[1]);
}

#[test]
fn windows_survive_a_kill_and_hold_what_came() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let registry = folder.path().join("registry.yaml");
    let text = "handlers:\n  last: {on: a/b, task: last, debounce: {period: 2s, key: event.data.k}}\n  \
                all: {on: a/b, task: all, batch: {size: 100, timeout: 2s, key: event.data.k}}\n";
    std::fs::write(&registry, text).unwrap();
    let args = ["--registry", registry.to_str().unwrap()];
    let mut server = Server::start_with(&data, 0, &args, &[]);
    for n in 0..10 {
        server.post("/v1/events", &json!({"name": "a/b", "data": {"k": "x", "n": n}}));
    }
    server.kill_9();
    let mut server = Server::start_with(&data, 0, &args, &[]);
    server.post("/v1/events", &json!({"name": "a/b", "data": {"k": "x", "n": 10}}));
    let last = until("the debounce is over", || Some(work(&server, "last", 9)).filter(|tasks| !tasks.is_empty()));
    assert_eq!((last.len(), &last[0]["input"]["n"], &last[0]["trigger"]["events"]), (1, &json!(10), &json!(11)));
    let all = until("the batch is over", || Some(work(&server, "all", 9)).filter(|tasks| !tasks.is_empty()));
    let numbers: Vec<i64> = all[0]["input"].as_array().unwrap().iter().map(|event| event["n"].as_i64().unwrap()).collect();
    assert_eq!((all.len(), numbers), (1, (0..=10).collect::<Vec<i64>>()));
    assert_eq!(server.terminate(), Some(0));
    talk::verified(&data);
}

#[test]
fn a_workflow_handlers_task_is_held_by_its_run() {
    let house = house("handlers:\n  pay: {on: order/paid, workflow: payout, concurrency: 1}\n");
    house.put("workflow: payout\nnodes:\n  pay: {type: pay, with: {order: \"${input.order}\"}}\n");
    let first = house.ok("emit order/paid -d '{\"order\":1}'")["handled"][0]["task"].as_str().unwrap().to_owned();
    let second = house.ok("emit order/paid -d '{\"order\":2}'")["handled"][0]["task"].as_str().unwrap().to_owned();
    let task = |id: &str| house.server.get(&format!("/v1/tasks/{id}"));
    let run = until("it is handed over", || task(&first)["lease"]["run"].as_str().map(str::to_owned));
    assert_eq!(house.view(&run)["input"], json!({"order": 1}));
    assert_eq!(task(&second)["status"], "queued", "there may be one at a time");
    let told = house.told(&format!("task explain {first}"));
    assert!(told.contains(&format!("{run} does its work")), "{told}");
    until("the node is worked on", || Some(work(&house.server, "pay", 1)).filter(|tasks| !tasks.is_empty()));
    house.ended(&run);
    let done = until("its task ends with it", || Some(task(&first)).filter(|task| task["status"] == "done"));
    assert_eq!(done["output"], json!({"run": run}));
    let run = until("then the next begins", || task(&second)["lease"]["run"].as_str().map(str::to_owned));
    house.ok(&format!("task cancel {second}"));
    assert_eq!(house.ended(&run)["status"], "cancelled");
    until("and its task is cancelled with it", || Some(()).filter(|()| task(&second)["status"] == "cancelled"));
    // One that cannot begin fails, and says why.
    let file = house.file("registry.yaml", "handlers:\n  pay: {on: order/paid, workflow: nowhere, retry: {attempts: 1}}\n");
    house.ok(&format!("registry put {file}"));
    let third = house.ok("emit order/paid")["handled"][0]["task"].as_str().unwrap().to_owned();
    let failed = until("it fails", || Some(task(&third)).filter(|task| task["status"] == "failed"));
    assert_eq!(failed["error"]["code"], "workflow_not_found", "{failed}");
}

fn hmac(secret: &str, body: &str) -> String {
    use hmac::{Hmac, KeyInit, Mac};
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

const HUB: &str = "handlers:\n  h: {on: github/*, task: t}\nwebhooks:\n  hub: {provider: github, secret: '${env:HUB}'}\n";

fn hub(folder: &Path) -> Server {
    let registry = folder.join("registry.yaml");
    std::fs::write(&registry, HUB).unwrap();
    let args = ["--registry", registry.to_str().unwrap(), "--token", "t0ken"];
    Server::start_with(&folder.join("data"), 0, &args, &[("HUB", "s3cret")])
}

/// A delivery as GitHub sends it: status and answer.
fn deliver(port: u16, id: &str, body: &str, secret: &str) -> (u16, Value) {
    let signature = format!("sha256={}", hmac(secret, body));
    let headers = [
        ("content-type", "application/json"),
        ("x-github-event", "push"),
        ("x-github-delivery", id),
        ("x-hub-signature-256", signature.as_str()),
    ];
    let answer = talk::ask(port, "POST", "/webhooks/hub", &headers, body.as_bytes()).expect("an answer");
    (answer.status, answer.json())
}

#[test]
fn ten_thousand_signed_webhooks_drain_to_zero_with_none_lost_and_none_doubled() {
    let folder = tempfile::tempdir().unwrap();
    let server = hub(folder.path());
    let (port, many) = (server.port, 10_000);
    // Every tenth is sent twice, as senders do that did not hear the answer.
    std::thread::scope(|scope| {
        for lane in 0..8 {
            scope.spawn(move || {
                for n in (lane..many).step_by(8) {
                    let body = format!("{{\"n\":{n}}}");
                    let (status, answer) = deliver(port, &format!("d-{n}"), &body, "s3cret");
                    assert_eq!((status, &answer["queued"], &answer["duplicate"]), (202, &json!(1), &json!(false)), "{answer}");
                    if n % 10 == 0 {
                        let (status, answer) = deliver(port, &format!("d-{n}"), &body, "s3cret");
                        assert_eq!((status, &answer["duplicate"]), (202, &json!(true)), "{answer}");
                    }
                }
            });
        }
    });
    let mut seen = BTreeSet::new();
    let headers = [("authorization", "Bearer t0ken"), ("content-type", "application/json")];
    let mut results: Vec<Value> = Vec::new();
    loop {
        let body = json!({"worker": "w", "types": ["t"], "want": 1000, "results": results}).to_string();
        let taken = talk::ask(port, "POST", "/v1/work", &headers, body.as_bytes()).expect("an answer").json();
        let tasks = taken["tasks"].as_array().unwrap();
        if tasks.is_empty() {
            break;
        }
        for task in tasks {
            assert!(seen.insert(task["input"]["n"].as_i64().unwrap()), "{task} comes twice");
        }
        results = tasks.iter().map(|task| json!({"task": task["task"], "fence": task["fence"], "status": "done"})).collect();
    }
    assert_eq!(seen, (0..many).collect());
    let depth = talk::ask(port, "GET", "/v1/status", &headers, b"").expect("an answer").json();
    assert_eq!((&depth["counts"]["queued"], &depth["counts"]["running"]), (&json!(0), &json!(0)), "{depth}");
}

#[test]
fn a_request_that_is_not_proven_is_refused_and_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = hub(folder.path());
    for (id, body, secret, status) in [("a", "{}", "wrong", 401), ("b", "{", "s3cret", 400), ("c", "[1]", "s3cret", 202)] {
        let (found, answer) = deliver(server.port, id, body, secret);
        assert_eq!(found, status, "{answer}");
    }
    let unsigned = talk::ask(server.port, "POST", "/webhooks/hub", &[("x-github-event", "push")], b"{}").expect("an answer");
    assert_eq!((unsigned.status, &unsigned.json()["error"]["code"]), (401, &json!("unauthorized")));
    assert_eq!(server.terminate(), Some(0));
    let mut reader = store::sqlite::Sqlite::open_reader(&folder.path().join("data")).unwrap();
    let records = store::Reader::records(&mut reader, kernel::ids::RecordSeq::NONE, 10_000).unwrap();
    let refused = records.iter().filter(|entry| entry.record.kind() == "requests_refused").count();
    assert_eq!(refused, 1, "the others are counted with the next");
}

/// Takes one request and answers it; gives what it was.
fn once(listener: &TcpListener, answer: &str) -> String {
    let (mut stream, _) = listener.accept().unwrap();
    let mut bytes = Vec::new();
    let mut buffer = [0; 4_096];
    loop {
        let read = stream.read(&mut buffer).unwrap();
        bytes.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned));
        if read == 0 || body.len() >= length.map_or(0, |length| length.trim().parse().unwrap()) {
            stream.write_all(answer.as_bytes()).unwrap();
            return text;
        }
    }
}

#[test]
fn events_are_passed_on_and_tried_again_and_a_line_in_the_registry_cuts_over() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/e/key", listener.local_addr().unwrap());
    let forward = |more: &str| {
        format!(
            "handlers:\n  old: {{on: a/b, forward: {{url: '{url}', shape: inngest}}, retry: {{backoff: 10ms, jitter: 0}}{more}}}\n"
        )
    };
    let house = house(&forward(", mode: shadow"));
    let shadow = house.ok("emit a/b");
    let told = &shadow["handled"][0];
    assert_eq!((&told["handler"], &told["outcome"], &told["task"]), (&json!("old"), &json!("shadow"), &Value::Null), "{shadow}");
    let event = shadow["event"].as_str().unwrap();
    assert!(house.told(&format!("event show {event}")).contains("it would have gone to old (shadow)"), "told");
    assert_eq!(house.ok("event unhandled")["events"][0]["event"], json!(event), "in shadow nothing is done");
    let traced = house.ok("registry simulate -e '{\"name\":\"a/b\"}'");
    assert_eq!(traced["handlers"][0]["outcome"], "shadow", "{traced}");
    let file = house.file("registry.yaml", &forward(""));
    assert!(house.told(&format!("registry diff {file}")).contains("mode"), "the difference is told");
    house.ok(&format!("registry put {file}"));
    let task = house.ok("emit a/b --id e-1 -d '{\"n\":1}'")["handled"][0]["task"].as_str().unwrap().to_owned();
    let busy = once(&listener, "HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    assert!(busy.starts_with("POST /e/key HTTP/1.1"), "{busy}");
    let again = once(&listener, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}");
    let sent: Value = serde_json::from_str(again.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!((&sent["name"], &sent["id"], &sent["data"]), (&json!("a/b"), &json!("e-1"), &json!({"n": 1})), "{sent}");
    let done =
        until("it is passed on", || Some(house.server.get(&format!("/v1/tasks/{task}"))).filter(|task| task["status"] == "done"));
    assert_eq!((&done["attempt"], &done["output"]["status"]), (&json!(2), &json!(200)), "{done}");
    // And back.
    house.file("registry.yaml", &forward(", mode: off"));
    house.ok(&format!("registry put {file}"));
    assert_eq!(house.ok("emit a/b")["handled"], json!([]));
}

#[test]
fn the_registrys_file_is_followed_and_one_that_is_wrong_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let registry = folder.path().join("registry.yaml");
    std::fs::write(&registry, "handlers:\n  one: {on: a/b, task: t}\n").unwrap();
    let server = Server::start_with(&folder.path().join("data"), 0, &["--registry", registry.to_str().unwrap()], &[]);
    assert_eq!(server.get("/v1/registry")["handlers"], json!(["one"]));
    std::fs::write(&registry, "handlers:\n  two: {on: a/b, taks: t}\n").unwrap();
    let refused = until("it is refused", || server.get("/v1/registry")["refused"].as_str().map(str::to_owned));
    assert!(refused.contains("registry.yaml:2:") && refused.contains("does nothing"), "{refused}");
    assert_eq!(server.get("/v1/registry")["handlers"], json!(["one"]), "the one before stays");
    assert!(server.get("/v1/status")["registry"]["refused"].as_str().is_some_and(|why| why == refused), "status says so");
    std::fs::write(&registry, "handlers:\n  two: {on: a/b, task: t}\n  three: {on: a/b, task: u}\n").unwrap();
    until("it is taken", || Some(()).filter(|()| server.get("/v1/registry")["handlers"] == json!(["two", "three"])));
    assert_eq!(server.get("/v1/registry")["refused"], Value::Null);
}

#[test]
fn each_event_is_handled_by_one_registry_however_often_it_is_swapped() {
    let house = house("handlers:\n  a: {on: x/y, task: a}\n  b: {on: x/y, task: b}\n");
    let texts = [
        "handlers:\n  a: {on: x/y, task: a}\n  b: {on: x/y, task: b}\n",
        "handlers:\n  c: {on: x/y, task: c, concurrency: 3}\n  d: {on: x/y, task: d, rate: 1000/s}\n  e: {on: x/y, task: e}\n",
    ];
    let (over, seen) = (AtomicBool::new(false), Mutex::new(BTreeMap::<Vec<String>, u32>::new()));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let emitted = house.server.post("/v1/events", &json!({"name": "x/y"}));
                    let handled = emitted["handled"].as_array().unwrap();
                    let names = handled.iter().map(|one| one["handler"].as_str().unwrap().to_owned()).collect();
                    *seen.lock().unwrap().entry(names).or_default() += 1;
                }
            });
        }
        for turn in 0..20 {
            let kind = [("content-type", "text/yaml")];
            let put = talk::ask(house.server.port, "PUT", "/v1/registry", &kind, texts[(turn + 1) % 2].as_bytes());
            assert_eq!(put.expect("an answer").status, 200);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        over.store(true, Ordering::Relaxed);
    });
    let seen = seen.into_inner().unwrap();
    let sets: Vec<String> = seen.keys().map(|names| names.join("")).collect();
    assert_eq!(sets, ["ab", "cde"], "{seen:?}");
    // What each made is there, and no more.
    let made: u32 = seen.iter().map(|(names, events)| names.len() as u32 * events).sum();
    assert_eq!(house.server.get("/v1/status")["counts"]["queued"], json!(made));
}

#[test]
fn a_cron_fires_by_the_clock_and_each_slot_once_across_restarts() {
    let folder = tempfile::tempdir().unwrap();
    let (data, registry) = (folder.path().join("data"), folder.path().join("registry.yaml"));
    let text = "handlers:\n  h: {on: cron/*, task: t}\ncrons:\n  beat: {schedule: '* * * * * *', data: {n: 1}}\n";
    std::fs::write(&registry, text).unwrap();
    let args = ["--registry", registry.to_str().unwrap()];
    for _ in 0..2 {
        let mut server = Server::start_with(&data, 0, &args, &[]);
        let before = server.get("/v1/events?limit=1000")["events"].as_array().unwrap().len();
        until("it fires twice", || {
            let now = server.get("/v1/events?limit=1000")["events"].as_array().unwrap().len();
            Some(()).filter(|()| now >= before + 2)
        });
        let crons = server.get("/v1/crons");
        assert_eq!(
            (&crons["crons"][0]["cron"], &crons["crons"][0]["last"]["handled"][0]["handler"]),
            (&json!("beat"), &json!("h"))
        );
        server.kill_9();
    }
    let server = Server::start_with(&data, 0, &args, &[]);
    let events = server.get("/v1/events?limit=1000")["events"].clone();
    let slots: Vec<&str> = events.as_array().unwrap().iter().map(|event| event["id"].as_str().unwrap()).collect();
    let each: BTreeSet<&&str> = slots.iter().collect();
    assert_eq!(each.len(), slots.len(), "{slots:?}");
    assert!(slots.iter().all(|id| id.starts_with("cron:beat/")), "{slots:?}");
}

#[test]
fn families_are_paused_and_let_go_from_the_command_line() {
    let house = house("handlers:\n  h: {on: '*', task: t}\n");
    assert_eq!(house.told("family list"), "No family is paused or boosted, and nothing of one waits or runs.\n");
    house.ok("emit a/b");
    house.ok("emit c/d");
    assert!(house.told("family pause a --for 1h --reason 'a storm'").starts_with("a is paused until "), "told");
    assert!(house.told("family list").contains("a storm"), "listed");
    let names = |tasks: &[Value]| tasks.iter().map(|task| task["trigger"]["name"].clone()).collect::<Vec<_>>();
    assert_eq!(names(&work(&house.server, "t", 9)), [json!("c/d")]);
    assert_eq!(house.told("family resume a"), "a goes on.\n");
    assert_eq!(names(&work(&house.server, "t", 9)), [json!("a/b")]);
    assert!(house.told("family boost 'a/*' high").contains("boost"), "told");
    assert_eq!(house.told("family boost 'a/*' 0"), "a/* has no boost.\n");
    house.refused("family pause '*x'", 2, "usage");
}

#[test]
fn what_did_not_become_work_is_counted_listed_and_told() {
    let house = house(
        "handlers:
  once: {on: a/*, task: t, queue: work, dedup: {key: event.data.k, window: 1h}}
  few: {on: b/*, task: t, drop_rate: 1/1h}
  seen: {on: b/*, task: t, mode: shadow}
  wrong: {on: c/d, task: t, priority: event.data.none}
",
    );
    for line in ["a/x -d '{\"k\":\"1\"}'", "a/x -d '{\"k\":\"1\"}'", "b/x", "b/x", "c/d -d '{}'", "z"] {
        house.ok(&format!("emit {line}"));
    }
    let counts = json!({"duplicate": 1, "failed": 1, "rate_dropped": 1, "shadow": 2, "unhandled": 1});
    // Whichever is asked first.
    let status = house.ok("status");
    assert_eq!((&status["events"], &status["rollups"]["lag_ms"]), (&counts, &json!(0)), "{status}");
    let stats = house.ok("queue stats");
    assert_eq!(stats["events"], counts, "{stats}");
    assert!(
        house
            .told("queue stats")
            .contains("some did not become work: 1 duplicate, 1 failed, 1 rate_dropped, 2 shadow, 1 unhandled")
    );
    let told = house.told("status");
    assert!(told.contains("did not become work: 1 duplicate, 1 failed, 1 rate_dropped, 2 shadow, 1 unhandled"), "{told}");
    // One page: what is said begins in one column.
    let page: Vec<&str> = told.lines().take_while(|line| !line.is_empty()).collect();
    let column = |line: &&str| line.find("  ").map(|at| at + line[at..].len() - line[at..].trim_start().len());
    assert!(page.len() > 10 && page.iter().all(|line| column(line) == column(&page[0])), "{told}");
    assert_eq!(house.ok("queue stats --queue work")["events"], json!({"duplicate": 1}), "of one queue");
    assert_eq!(house.ok("queue stats --queue wrong")["events"], json!({"failed": 1}), "of one queue");
    assert_eq!(house.ok("queue stats --family b")["events"], json!({"rate_dropped": 1, "shadow": 2}), "of one family");

    let names = |line: &str| {
        let list = house.ok(&format!("event list {line}"));
        list["events"].as_array().unwrap().iter().map(|event| event["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("--outcome rate_dropped"), ["b/x"]);
    assert_eq!(names("--outcome shadow"), ["b/x", "b/x"]);
    assert_eq!(names("--handler wrong"), ["c/d"]);
    assert_eq!(names("--handler few --outcome queued"), ["b/x"]);
    assert_eq!(names("--handler few --outcome shadow"), Vec::<String>::new());
    assert_eq!(names("--outcome unhandled"), ["z"]);
    house.refused("event list --outcome lost", 2, "invalid");

    let first = house.ok("event list --handler once --outcome queued")["events"][0]["event"].as_str().unwrap().to_owned();
    let queued = house.ok(&format!("event show {first}"));
    assert_eq!(queued["handled"][0]["status"], json!("queued"), "{queued}");
    let task = queued["handled"][0]["task"].as_str().unwrap();
    house.ok(&format!("task cancel {task}"));
    assert!(house.told(&format!("event show {first}")).contains("; it is cancelled now"), "as it is now");
}

#[test]
fn what_nothing_knows_is_paused_all_the_same_and_told() {
    let house = house("handlers:\n  h: {on: 'a/*', task: t}\n");
    assert!(!house.told("family pause a").contains("nothing is known"), "a handler takes them");
    let told = house.told("family pause b");
    assert!(told.contains("b is paused") && told.contains("nothing is known of b"), "{told}");
    assert!(house.told("family list").contains("paused by"), "listed");
}

#[test]
fn families_are_shed_cleared_drained_and_counted_from_the_command_line() {
    let house = house("handlers:\n  h: {on: '*', task: t}\n  low: {on: '*', task: u, queue: low, priority: background}\n");
    for name in ["a/b", "a/b.c", "c/d"] {
        house.ok(&format!("emit {name}"));
    }
    let list = house.told("family list");
    assert!(list.contains("a/b") && list.contains("h, low"), "{list}");
    let depth = house.ok("queue depth --family 'a/*'");
    assert_eq!((&depth["total"]["ready"], &depth["queues"][0]["counts"]["ready"]), (&json!(4), &json!(2)), "{depth}");
    assert_eq!(house.ok("queue stats --family a/b")["current_depth"]["ready"], json!(2));

    let shed = "family shed 'a/*' --upto background";
    house.refused(shed, 5, "confirmation_needed");
    assert_eq!(house.ok(&format!("{shed} --dry-run"))["would_cancel"], json!(2));
    house.refused("family shed a --upto critical --yes", 2, "invalid");
    house.refused("family shed --upto normal", 2, "usage");
    house.refused("family shed a", 2, "usage");
    let bulk = house.ok(&format!("{shed} --yes --reason 'a storm'"));
    assert_eq!((&bulk["items"], &bulk["skipped"], &bulk["work"]), (&json!(2), &json!(2), &json!("shed")), "{bulk}");
    let told = house.told(&format!("bulk show {}", bulk["bulk"].as_str().unwrap()));
    assert!(told.contains("a/*") && told.contains("background"), "{told}");
    assert!(house.told("bulk list").contains("a/*"), "listed");
    let gone = house.ok("task list --family 'a/*' --status cancelled")["tasks"][0].clone();
    assert_eq!(gone["cancelled"]["cause"], json!("shed"), "{gone}");
    let history = house.told(&format!("task history {}", gone["task"].as_str().unwrap()));
    assert!(history.contains("shed by") && history.contains("a storm"), "{history}");

    assert_eq!(house.ok("queue priority h high --family a/b")["items"], json!(1));
    assert_eq!(house.ok("queue drain h --family c")["items"], json!(1));
    assert_eq!(house.ok("queue clear h --family c --dry-run")["would_cancel"], json!(1));
    assert_eq!(house.ok("queue clear h --family c --yes")["items"], json!(1));
    assert_eq!(house.ok("queue depth --family c")["total"]["queued"], json!(1), "in low");
    assert_eq!(house.ok("queue depth --family 'a/*'")["total"]["queued"], json!(2));
}
