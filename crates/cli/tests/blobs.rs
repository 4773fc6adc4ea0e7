//! Blobs through the real binary: put, got, mentioned, removed, handed in by name; in a folder and in a bucket.

mod house;
#[path = "../../store/tests/s3_server/mod.rs"]
mod s3_server;
mod server;
mod talk;

use house::House;
use s3_server::S3Server;
use serde_json::{Value, json};
use server::Server;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;
use talk::{ask, lease, report, until, verified};

const FLAGS: [&str; 2] = ["--stop-limit", "100ms"];

/// A server whose blobs have no grace period, or are as `more` says.
fn start(more: &str) -> House {
    let mut house = House::start();
    house.server.terminate();
    restart(&mut house, more);
    house
}

fn restart(house: &mut House, more: &str) {
    let config = house.file("blobs.toml", &format!("[blobs]\n{more}\n"));
    let env = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret")];
    house.server = Server::start_with(&house.data(), 0, &[&FLAGS[..], &["--config", &config]].concat(), &env);
}

const NO_GRACE: &str = "grace = \"0ms\"";

fn put(house: &House, bytes: &[u8]) -> String {
    let answer = ask(house.server.port, "PUT", "/v1/blobs", &[], bytes).unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["size"], bytes.len());
    answer.json()["ref"].as_str().unwrap().to_owned()
}

fn status_of(house: &House, name: &str) -> u16 {
    ask(house.server.port, "GET", &format!("/v1/blobs/{name}"), &[], b"").unwrap().status
}

#[test]
fn what_is_put_is_got() {
    let house = House::start();
    let bytes = b"\0not JSON\xff";
    let name = put(&house, bytes);
    for (method, path) in [("PUT", "/v1/blobs"), ("POST", "/v1/blobs")] {
        assert_eq!(ask(house.server.port, method, path, &[], bytes).unwrap().json()["ref"], name);
    }
    let path = format!("/v1/blobs/{name}");
    let got = ask(house.server.port, "GET", &path, &[], b"").unwrap();
    assert_eq!((got.status, &got.body[..], got.header("content-type")), (200, &bytes[..], Some("application/octet-stream")));
    let tag = got.header("etag").unwrap().to_owned();
    assert_eq!(tag, format!("\"{}\"", &name[5..]));
    let known = ask(house.server.port, "GET", &path, &[("if-none-match", &tag)], b"").unwrap();
    assert_eq!((known.status, known.body.len()), (304, 0));
    for (path, status, code) in [
        (format!("/v1/blobs/blob:sha256-{}", "0".repeat(64)), 404, "blob_not_found"),
        ("/v1/blobs/blob:sha256-0".into(), 400, "invalid"),
        ("/v1/blobs/%20".into(), 400, "invalid"),
    ] {
        let answer = ask(house.server.port, "GET", &path, &[], b"").unwrap();
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (status, &json!(code)), "{path}");
    }
    // The same by hand.
    let file = house.file("in.txt", "by hand");
    let name = house.ok(&format!("blob put {file}"))["ref"].as_str().unwrap().to_owned();
    let ran = house.run(&format!("blob get {name}"));
    assert_eq!((ran.exit, ran.out.as_str()), (0, "by hand"));
    let out = house.folder.path().join("out.txt");
    house.ok(&format!("blob get {name} -o {}", out.display()));
    assert_eq!(std::fs::read_to_string(out).unwrap(), "by hand");
    house.refused("blob get blob:sha256-0", 2, "usage");
    house.refused(&format!("blob get blob:sha256-{}", "0".repeat(64)), 3, "blob_not_found");
    let stats = house.ok("blob stats");
    assert_eq!((&stats["seen"], &stats["removed"], &stats["young"]), (&json!(2), &json!(0), &json!(2)), "{stats}");
    assert!(house.told("status").contains("blobs"));
}

#[test]
fn what_is_too_large_is_refused_and_what_is_large_is_not() {
    let house = House::start();
    let mut bytes = vec![b'x'; 64 << 20];
    let name = put(&house, &bytes);
    assert_eq!(ask(house.server.port, "GET", &format!("/v1/blobs/{name}"), &[], b"").unwrap().body.len(), bytes.len());
    bytes.push(b'x');
    let refused = ask(house.server.port, "PUT", "/v1/blobs", &[], &bytes).unwrap();
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (413, &json!("too_large")));
}

/// A workflow of one task.
const ONE: &str = "workflow: one\nnodes:\n  make: {type: make}\n";

fn swept(house: &House) -> Value {
    house.ok("blob gc")
}

#[test]
fn what_nobody_mentions_goes_by_itself_when_its_time_is_over() {
    let house = start("grace = \"2s\"");
    let loose = put(&house, b"loose");
    assert_eq!(status_of(&house, &loose), 200);
    until("it goes", || (status_of(&house, &loose) == 404).then_some(()));
    until("it is told", || (house.server.get("/v1/status")["blobs"]["removed"] == 1).then_some(()));
}

#[test]
fn a_blob_stays_as_long_as_a_value_mentions_it() {
    let house = start(NO_GRACE);
    house.put(ONE);
    let (kept, inside, loose) = (put(&house, b"kept"), put(&house, b"inside"), put(&house, b"loose"));
    let run = house.start_run("one", &Value::Null);
    let task = lease(&house.server, "w", "make");
    // One in a small value, one in a large one that lies in a blob itself.
    let output = json!({"file": kept, "more": {"text": "x".repeat(9_000), "file": inside}});
    report(&house.server, "w", &task, json!({"status": "done", "output": output}));
    house.ended(&run);
    assert!(swept(&house)["removed"].as_u64().unwrap() <= 1);
    assert_eq!([&kept, &inside, &loose].map(|name| status_of(&house, name)), [200, 200, 404]);
    house.ok(&format!("run delete {run} --yes"));
    until("all of it goes", || {
        swept(&house);
        Some(()).filter(|()| [&kept, &inside].map(|name| status_of(&house, name)) == [404, 404])
    });
    assert_eq!(house.ok("blob stats")["seen"], 0);
}

#[test]
fn an_output_is_handed_in_by_its_name() {
    let mut house = start("");
    house.put("workflow: two\nnodes:\n  a: {type: a}\n  b: {type: b, after: a, with: '${nodes.a.output.text}'}\n");
    let run = house.start_run("two", &Value::Null);
    let task = lease(&house.server, "w", "a");
    let text = "x".repeat(50_000);
    let missing = format!("blob:sha256-{}", "0".repeat(64));
    let (bytes, large) = (put(&house, b"\xff"), put(&house, &vec![b'1'; 300_000]));
    let good = put(&house, json!({"text": text}).to_string().as_bytes());
    let result = |name: &str| {
        let result = json!({"task": task["task"], "fence": task["fence"], "status": "done", "output_ref": name});
        let answer = house.server.post("/v1/work", &json!({"worker": "w", "types": ["a"], "results": [result]}));
        answer["results"][0].clone()
    };
    for (name, code) in [(&missing, "blob_not_found"), (&bytes, "invalid"), (&large, "too_large")] {
        let refused = result(name);
        assert_eq!((&refused["ok"], &refused["code"]), (&json!(false), &json!(code)), "{refused}");
    }
    assert_eq!(result(&good)["ok"], true);
    // Somebody else reads it from where it lies.
    house.server.kill_9();
    restart(&mut house, "");
    let next = lease(&house.server, "w", "b");
    assert_eq!(next["input"], json!(text));
    report(&house.server, "w", &next, json!({"status": "done", "output": 1}));
    assert_eq!(house.ended(&run)["status"], "done");
    house.server.terminate();
    verified(&house.data());
}

#[test]
fn a_blob_that_is_missing_is_named() {
    let mut house = House::start();
    house.put(ONE);
    let run = house.start_run("one", &Value::Null);
    let task = lease(&house.server, "w", "make");
    report(&house.server, "w", &task, json!({"status": "done", "output": "x".repeat(9_000)}));
    house.ended(&run);
    house.server.terminate();
    verified(&house.data());
    std::fs::remove_dir_all(house.data().join("blobs")).unwrap();
    let found = house.refused(&format!("verify --data-dir {}", house.data().display()), 1, "differences");
    let sentence = found["result"]["differences"][0]["sentence"].as_str().unwrap();
    assert!(sentence.contains("is not there, but record"), "{found}");
}

#[test]
fn a_server_keeps_its_blobs_in_a_bucket() {
    let mut bucket = S3Server::start();
    bucket.make_bucket("box");
    let place = format!("url = \"s3://box/here\"\nendpoint = \"{}\"\n{NO_GRACE}", bucket.endpoint());
    let mut house = start(&place);
    house.put("workflow: two\nnodes:\n  a: {type: a}\n  b: {type: b, after: a, with: '${nodes.a.output}'}\n");
    let run = house.start_run("two", &Value::Null);
    let text = "x".repeat(50_000);
    let task = lease(&house.server, "w", "a");
    report(&house.server, "w", &task, json!({"status": "done", "output": text}));
    let loose = put(&house, b"loose");
    // It also goes by itself.
    assert!(swept(&house)["removed"].as_u64() <= Some(1));
    assert_eq!(status_of(&house, &loose), 404);
    let here = std::fs::read_dir(house.data().join("blobs")).map_or(0, |entries| entries.count());
    assert_eq!(here, 0, "nothing lies in the folder");
    // After a crash it is read from there.
    house.server.kill_9();
    restart(&mut house, &place);
    let next = lease(&house.server, "w", "b");
    assert_eq!(next["input"], json!(text));
    assert_eq!(house.server.get("/v1/status")["blobs"], json!({"place": "s3://box/here", "removed": 0}));

    // Gone for a while: it is said, and what wants to be kept there is sent again.
    bucket.kill();
    assert_eq!(ask(house.server.port, "PUT", "/v1/blobs", &[], b"now").unwrap().status, 503);
    let health = house.server.get("/health");
    let degraded = health["degraded"][0].as_str().unwrap_or_default();
    assert!(health["ok"] == true && degraded.contains("the blobs in s3://box/here cannot be reached"), "{health}");
    // A large result is refused by itself, its lease stays, and so do all others.
    let lone = house.start_run("two", &Value::Null);
    let held = json!({"task": next["task"], "fence": next["fence"]});
    let poll = json!({"worker": "w", "types": ["a"], "want": 1, "wait_ms": 5_000, "holding": [held]});
    let small = house.server.post("/v1/work", &poll)["tasks"][0].clone();
    let told = |output: &Value| {
        let done = json!({"task": next["task"], "fence": next["fence"], "status": "done", "output": output});
        let held = json!({"task": small["task"], "fence": small["fence"]});
        house.server.post("/v1/work", &json!({"worker": "w", "types": [], "results": [done], "holding": [held]}))
    };
    let large = json!("y".repeat(50_000));
    let refused = told(&large);
    assert_eq!((&refused["results"][0]["ok"], &refused["results"][0]["code"]), (&json!(false), &json!("unavailable")));
    assert_eq!(refused["holding"][0]["ok"], true, "{refused}");
    let bucket = S3Server::start_at(bucket.port);
    bucket.make_bucket("box");
    until("it can be kept", || (told(&large)["results"][0]["ok"] == true).then_some(()));
    let ended = house.ended(&run);
    assert!(ended["status"] == "done" && ended["output"] == large, "{:.300}", ended.to_string());
    house.ok(&format!("run cancel {lone}"));
    house.server.terminate();

    // Another server's data may not lie there.
    restart(&mut house, &place);
    let config = house.folder.path().join("blobs.toml").display().to_string();
    let other = house.folder.path().join("other");
    let mut command = house::command(
        house.folder.path(),
        "",
        &format!("serve --listen 127.0.0.1:0 --data-dir {} --config {config}", other.display()),
    );
    command.env("AWS_ACCESS_KEY_ID", "id").env("AWS_SECRET_ACCESS_KEY", "secret");
    let refused = house::ran(command).json();
    assert_eq!(refused["error"]["code"], "blobs_taken", "{refused}");
}

#[test]
fn a_worker_that_is_told_to_stop_twice_does_not_wait_for_a_bucket() {
    let mut bucket = S3Server::start();
    bucket.make_bucket("box");
    let house = start(&format!("url = \"s3://box/here\"\nendpoint = \"{}\"", bucket.endpoint()));
    bucket.kill();
    house.ok("task add large");
    let line = "work --type large -- printf %050000d 1";
    let mut command = house::command(house.folder.path(), &house.server.url, line);
    let mut worker = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(worker.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(said.any(|line| line.contains("cannot be kept now") && line.contains("trying again")), "it is told once");
    server::signal(worker.id(), "INT");
    std::thread::sleep(Duration::from_millis(500));
    assert!(worker.try_wait().unwrap().is_none(), "the first time it goes on trying");
    server::signal(worker.id(), "INT");
    let ended = worker.wait_with_output().unwrap();
    let told: Value = serde_json::from_slice(&ended.stdout).unwrap();
    let why = told["error"]["message"].as_str().unwrap_or_default();
    assert!(why.contains("could not be kept") && why.contains("it is done again when its lease lapses"), "{told}");
    assert_eq!((&told["error"]["code"], ended.status.code()), (&json!("unavailable"), Some(7)), "{told}");
}
