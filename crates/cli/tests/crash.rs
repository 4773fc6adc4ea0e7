//! The promise, on the real binary: what was acknowledged survives `kill -9`. Clients and workers are processes of
//! their own and keep a ledger of what the server told them; at the end ledger and server agree.

mod server;

use serde_json::{Value, json};
use server::{Server, signaller};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use store::Reader;
use store::sqlite::Sqlite;

const KILLS: usize = 50;

fn load(part: &str, url: &str, ledger: &Path, ms: u64, threads: usize, batch: usize) -> Child {
    let args = json!({"url": url, "part": part, "batch": batch, "threads": threads, "ms": ms, "tasks": 0, "ledger": ledger});
    Command::new(env!("CARGO_BIN_EXE_signaller"))
        .args(["bench-load", &args.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("a load process starts")
}

fn rows(dir: &Path, each: &mut dyn FnMut(kernel::task::Task)) {
    let mut reader = Sqlite::open_reader(dir).expect("the database opens");
    reader
        .scan(&kernel::row::TASKS, &mut |row| each(kernel::task::Task::from_row(&row.values).expect("a row decodes")))
        .expect("rows");
}

/// A number that differs from run to run, to kill at moments nobody chose.
fn chance() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0)
}

#[test]
fn what_was_acknowledged_survives_fifty_kills() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut server = Server::start(&data, 0);
    server.put("/v1/queues/bench", &json!({"config": {"heartbeat_ms": 1_000, "retry": {"attempts": 20, "backoff_ms": 0}}}));
    let url = server.url.clone();
    let far = 600_000;
    let adders: Vec<Child> = (0..2).map(|n| load("add", &url, &folder.path().join(format!("added-{n}")), far, 2, 7)).collect();
    let work = |n: usize| load("work", &url, &folder.path().join(format!("worked-{n}")), far, 2, 5);
    let mut workers: Vec<Child> = (0..2).map(work).collect();

    let mut with_leases = 0;
    for kill in 0..KILLS {
        std::thread::sleep(Duration::from_millis(40 + chance() % 160));
        // Now and then a worker dies before it, and another begins.
        if kill % 5 == 0 {
            let n = kill / 5 % workers.len();
            workers[n].kill().unwrap();
            workers[n].wait().unwrap();
            workers[n] = work(n);
        }
        server.kill_9();
        let mut running = 0;
        rows(&data, &mut |task| running += usize::from(task.status() == kernel::task::Status::Running));
        with_leases += usize::from(running > 0);
        server = Server::start(&data, server.port);
    }
    assert!(with_leases > KILLS / 10, "only {with_leases} kills found leases open");

    for mut adder in adders {
        adder.kill().unwrap();
        adder.wait().unwrap();
    }
    let deadline = Instant::now() + Duration::from_secs(90);
    loop {
        let status = server.get("/v1/status");
        let open = status["counts"]["queued"].as_u64().unwrap() + status["counts"]["running"].as_u64().unwrap();
        if open == 0 {
            break;
        }
        assert!(Instant::now() < deadline, "work is left over: {status}");
        std::thread::sleep(Duration::from_millis(100));
    }
    for mut worker in workers {
        worker.kill().unwrap();
        worker.wait().unwrap();
    }
    server.terminate();

    let mut tasks = BTreeMap::new();
    rows(&data, &mut |task| _ = tasks.insert(task.card().id().to_string(), task));
    let ledger = |name: &str| -> Vec<String> {
        (0..2)
            .flat_map(|n| {
                let text = std::fs::read_to_string(folder.path().join(format!("{name}-{n}"))).unwrap();
                text.lines().map(str::to_owned).collect::<Vec<_>>()
            })
            .collect()
    };
    let (added, worked) = (ledger("added"), ledger("worked"));
    // What was durable and not yet answered: the kill fell between the commit and its answers.
    let unanswered = added.iter().chain(&worked).filter(|line| line.ends_with(" again")).count();
    assert!(unanswered > 0, "no kill met a commit under way");
    let added: Vec<&str> = added.iter().filter_map(|line| line.split(' ').next()).collect();
    assert!(added.len() > 500, "the load was too small to mean anything: {}", added.len());
    assert_eq!(added.iter().collect::<BTreeSet<_>>().len(), added.len(), "no id was given to two adds");
    for id in added {
        let task = tasks.get(id).unwrap_or_else(|| panic!("{id} was acknowledged and is gone"));
        assert_eq!(task.status(), kernel::task::Status::Done, "{id}");
    }
    let mut finished: BTreeMap<String, usize> = BTreeMap::new();
    for line in worked {
        if let Some(id) = line.strip_suffix(" done") {
            *finished.entry(id.to_owned()).or_default() += 1;
        }
    }
    for (id, times) in finished {
        assert_eq!(times, 1, "{id} was finished {times} times");
        assert_eq!(tasks[&id].status(), kernel::task::Status::Done, "{id}");
    }
    let mut done: BTreeMap<kernel::record::Owner, usize> = BTreeMap::new();
    let (mut reader, mut lost) = (Sqlite::open_reader(&data).unwrap(), 0);
    reader
        .scan_records(&mut |entry| {
            let entry = entry.expect("a record decodes");
            match entry.record {
                kernel::record::Record::TaskDone { .. } => *done.entry(entry.owner).or_default() += 1,
                kernel::record::Record::TaskRetried { failure, .. } if failure.code == "worker_lost" => lost += 1,
                _ => {}
            }
        })
        .unwrap();
    assert!(lost > 0, "no worker died at its work");
    assert!(done.values().all(|times| *times == 1), "a result counts once");
    verified(&data);
}

/// Every kind of node that goes on without a person.
fn walk() -> [Value; 2] {
    let inner = json!({"workflow": "inner", "nodes": {
        "a": {"type": "bench"},
        "b": {"type": "branch", "after": "a", "rules": [{"when": "output > 1", "to": "c"}], "default": "d"},
        "c": {"type": "bench"},
        "d": {"type": "bench"},
        "e": {"type": "join", "after": ["c", "d"]},
    }, "output": "nodes.a.output"});
    let outer = json!({"workflow": "line", "nodes": {
        "first": {"type": "bench"},
        "spread": {"type": "each", "after": "first", "items": "[1, 2, 3]", "concurrency": 2, "do": {"nodes": {
            "x": {"type": "bench", "with": "${item}"},
            "y": {"type": "transform", "after": "x", "value": "output * 2"},
        }}},
        "rounds": {"type": "loop", "after": "spread", "max_iterations": 3, "init": "0", "until": "output >= 2", "do": {"nodes": {
            "more": {"type": "bench", "with": "${last + 1}"},
        }}},
        "sub": {"type": "workflow", "run": "inner", "after": "rounds", "with": "${nodes.rounds.output}"},
        "nap": {"type": "sleep", "after": "sub", "for": "20ms"},
        "big": {"type": "transform", "after": "nap", "value": "{'text': nodes.first.output.text, 'list': nodes.spread.output, 'sub': nodes.sub.output}"},
    }});
    [inner, outer]
}

#[test]
fn runs_go_on_where_a_kill_met_them() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut server = Server::start(&data, 0);
    walk().iter().for_each(|text| _ = server.post("/v1/workflows", text));
    let (url, far) = (server.url.clone(), 600_000);
    let started = folder.path().join("started");
    let mut starter = load("start", &url, &started, far, 2, 1);
    let workers: Vec<Child> = (0..2).map(|n| load("work", &url, &folder.path().join(format!("worked-{n}")), far, 2, 5)).collect();
    let mut under_way = 0;
    for kill in 0..KILLS / 2 {
        std::thread::sleep(Duration::from_millis(60 + chance() % 200));
        server.kill_9();
        let mut live = 0;
        let mut reader = Sqlite::open_reader(&data).expect("the database opens");
        let mut count = |row: kernel::row::Row| {
            live += usize::from(kernel::run::Run::from_row(&row.values).expect("a row decodes").is_live());
        };
        reader.scan(&kernel::row::RUNS, &mut count).expect("rows");
        under_way += usize::from(live > 0);
        server = Server::start(&data, server.port);
        // Enough have been started; the rest of the kills meet them on their way.
        if kill == KILLS / 5 {
            starter.kill().unwrap();
        }
    }
    starter.wait().unwrap();
    assert!(under_way > KILLS / 10, "only {under_way} kills met runs under way");
    let deadline = Instant::now() + Duration::from_secs(120);
    while server.get("/v1/runs?status=running&limit=1")["runs"] != json!([]) {
        assert!(Instant::now() < deadline, "runs are left over: {}", server.get("/v1/runs?status=running&limit=3"));
        std::thread::sleep(Duration::from_millis(100));
    }
    for mut worker in workers {
        worker.kill().unwrap();
        worker.wait().unwrap();
    }
    let ledger = std::fs::read_to_string(&started).unwrap();
    let runs: BTreeSet<&str> = ledger.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(runs.len() > 20, "the load was too small to mean anything: {}", runs.len());
    assert_eq!(runs.len(), ledger.lines().count(), "no id was given to two starts");
    for run in runs {
        let run = server.get(&format!("/v1/runs/{run}"));
        assert_eq!(run["status"], "done", "{run}");
        assert_eq!((&run["output"]["list"], &run["output"]["sub"]), (&json!([2, 4, 6]), &json!(2)), "{run}");
    }
    server.terminate();
    let mut done: BTreeMap<kernel::record::Owner, usize> = BTreeMap::new();
    let mut count = |entry: Result<kernel::record::Entry, _>| {
        let Ok(entry) = entry else { panic!("a record does not decode") };
        if matches!(entry.record, kernel::record::Record::NodeDone { .. } | kernel::record::Record::RunDone { .. }) {
            *done.entry(entry.owner).or_default() += 1;
        }
    };
    Sqlite::open_reader(&data).unwrap().scan_records(&mut count).unwrap();
    assert!(done.values().all(|times| *times == 1), "a node is done once");
    verified(&data);
}

fn verified(data: &Path) {
    let answer = signaller(&["verify", "--data-dir", data.to_str().unwrap()], None);
    assert_eq!(answer["ok"], Value::Bool(true), "{answer}");
}

/// Clear, reprioritize and redrive, each killed half way: the end is the same as if nothing had happened.
#[test]
fn bulks_end_the_same_when_killed_half_way() {
    const TASKS: usize = 30_000;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut server = Server::start(&data, 0);
    server.put("/v1/queues/q", &json!({"config": {"retry": {"attempts": 1}}}));
    for _ in 0..TASKS / 1_000 {
        server.post("/v1/tasks/batch", &json!({"tasks": vec![json!({"type": "t", "queue": "q"}); 1_000]}));
    }

    let raised = server.post("/v1/queues/q/reprioritize", &json!({"priority": "high", "filter": {}}));
    let items = killed_half_way(&mut server, &data, &raised);
    assert_eq!(items, TASKS as u64);
    rows(&data, &mut |task| assert_eq!(task.card().priority(), kernel::priority::Priority::HIGH));

    // Ten thousand of them die, and are driven again.
    let mut results: Vec<Value> = Vec::new();
    for _ in 0..11 {
        let poll = json!({"worker": "w", "types": ["t"], "want": if results.is_empty() || results.len() == 1_000 { 1_000 } else { 0 }, "results": results});
        let answer = server.post("/v1/work", &poll);
        results = answer["tasks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|task| json!({"task": task["task"], "fence": task["fence"], "status": "failed", "error": {"code": "poison"}}))
            .collect();
    }
    let last = server.post("/v1/work", &json!({"worker": "w", "types": ["t"], "want": 0, "results": results}));
    assert_eq!(last["tasks"], json!([]));
    let dead = server.get("/v1/queues/q")["counts"]["dead"].as_u64().unwrap();
    assert!(dead >= 10_000, "{dead}");
    let redriven = server.post("/v1/queues/q/redrive", &json!({"filter": {"error_code": "poison"}}));
    assert_eq!(killed_half_way(&mut server, &data, &redriven), dead);
    assert_eq!(server.get("/v1/queues/q")["counts"]["queued"], json!(TASKS));

    let cleared = server.post("/v1/queues/q/clear", &json!({"reason": "over"}));
    assert_eq!(killed_half_way(&mut server, &data, &cleared), TASKS as u64);
    rows(&data, &mut |task| assert_eq!(task.status(), kernel::task::Status::Cancelled));
    server.terminate();
    verified(&data);
}

/// Kills the server once the bulk has begun to move, starts it again, and waits for the bulk's end: its items.
fn killed_half_way(server: &mut Server, data: &Path, started: &Value) -> u64 {
    let path = format!("/v1/bulks/{}", started["bulk"].as_str().expect("a bulk was started"));
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut killed = false;
    loop {
        let bulk = server.get(&path);
        if bulk["status"] == "done" {
            assert!(killed, "the bulk was over before it could be interrupted");
            return bulk["items"].as_u64().unwrap();
        }
        if !killed && bulk["items"].as_u64().unwrap() > 0 {
            server.kill_9();
            *server = Server::start(data, server.port);
            killed = true;
        }
        assert!(Instant::now() < deadline, "the bulk does not end: {bulk}");
    }
}

/// Retry and cancel over all runs that an expression means, killed again and again: each run is met once, and none is left.
#[test]
fn bulks_over_runs_meet_each_run_once_whatever_is_killed() {
    const RUNS: usize = 1_500;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut server = Server::start(&data, 0);
    // One that fails by itself, at the first and at every other try; and one that waits for a worker that never comes.
    server.post("/v1/workflows", &json!({"workflow": "bad", "nodes": {"a": {"type": "transform", "value": "input.no.key"}}}));
    server.post("/v1/workflows", &json!({"workflow": "slow", "nodes": {"a": {"type": "nobody"}}}));
    for at in 0..RUNS {
        server.post("/v1/runs", &json!({"workflow": if at % 3 == 2 { "slow" } else { "bad" }, "input": {}}));
    }
    let failed = (RUNS - RUNS / 3) as u64;
    let retried = server
        .post("/v1/runs/bulk", &json!({"verb": "retry", "where": "workflow == \"bad\" && status == \"failed\"", "per_s": 1_000}));
    let late = server.post("/v1/runs", &json!({"workflow": "bad", "input": {}}))["run"].clone();
    assert_eq!(killed_over_and_over(&mut server, &data, &retried), (failed, 0));
    let cancelled =
        server.post("/v1/runs/bulk", &json!({"verb": "cancel", "where": "age >= 0", "reason": "over", "per_s": 1_000}));
    // It comes to all runs; those that have failed are left as they are.
    assert_eq!(killed_over_and_over(&mut server, &data, &cancelled), (RUNS as u64 / 3, failed + 1));
    server.terminate();

    let (mut again, mut over): (BTreeMap<kernel::record::Owner, usize>, BTreeMap<_, usize>) = Default::default();
    let mut count = |entry: Result<kernel::record::Entry, _>| {
        let Ok(entry) = entry else { panic!("a record does not decode") };
        match entry.record {
            kernel::record::Record::RunReopened { .. } => *again.entry(entry.owner).or_default() += 1,
            kernel::record::Record::RunCancelled { .. } => *over.entry(entry.owner).or_default() += 1,
            _ => {}
        }
    };
    Sqlite::open_reader(&data).unwrap().scan_records(&mut count).unwrap();
    assert_eq!((again.len() as u64, over.len()), (failed, RUNS / 3));
    assert!(again.values().chain(over.values()).all(|times| *times == 1), "a run was met twice");
    assert!(again.keys().all(|owner| late != owner.to_string()), "what came later was not meant");
    verified(&data);
}

/// Kills the server whenever the bulk has moved a little, up to five times: what it changed and what it left.
fn killed_over_and_over(server: &mut Server, data: &Path, started: &Value) -> (u64, u64) {
    let path = format!("/v1/bulks/{}", started["bulk"].as_str().expect("a bulk was started"));
    let deadline = Instant::now() + Duration::from_secs(60);
    let (mut kills, mut seen) = (0, 0);
    loop {
        let bulk = server.get(&path);
        let met = bulk["items"].as_u64().unwrap() + bulk["skipped"].as_u64().unwrap();
        if bulk["status"] == "done" {
            assert!(kills > 0, "the bulk was over before it could be interrupted");
            return (bulk["items"].as_u64().unwrap(), bulk["skipped"].as_u64().unwrap());
        }
        if kills < 5 && met > seen {
            server.kill_9();
            *server = Server::start(data, server.port);
            (kills, seen) = (kills + 1, met);
        }
        assert!(Instant::now() < deadline, "the bulk does not end: {bulk}");
    }
}
