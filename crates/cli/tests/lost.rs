//! What is lost or cannot be made, through the real binary: damaged and missing blobs, inputs that do not work out, and runs
//! that are let go on purpose.

mod house;
mod server;
mod talk;

use house::House;
use serde_json::{Value, json};
use server::Server;
use std::path::{Path, PathBuf};
use talk::{lease, report, until, verified};

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).map(|entries| entries.map(|entry| entry.unwrap().path()).collect::<Vec<_>>());
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    entries.unwrap_or_default().into_iter().flat_map(below).collect()
}

const BIG: &str = "workflow: big\nnodes:\n  make: {type: make}\n  ask: {type: approval, after: make}\n  \
                   size: {type: transform, after: ask, value: size(nodes.make.output.text), on_error: ignore}\n  \
                   use: {type: use, after: ask, with: {text: '${nodes.make.output.text}'}, on_error: ignore}\n  \
                   other: {type: use, after: ask, with: {n: 1}}\n";

#[test]
fn a_blob_that_is_damaged_or_gone_fails_the_nodes_that_need_it() {
    for spoil in
        [|path: &Path| std::fs::write(path, "something else").unwrap(), |path: &Path| std::fs::remove_file(path).unwrap()]
    {
        let mut house = House::start();
        house.put(BIG);
        let run = house.start_run("big", &Value::Null);
        let task = lease(&house.server, "w", "make");
        report(&house.server, "w", &task, json!({"status": "done", "output": {"text": "x".repeat(20_000)}}));
        house.node_is(&run, "ask", "asking");
        let blobs = files(&house.data().join("blobs"));
        assert_eq!(blobs.len(), 1, "{blobs:?}");
        spoil(&blobs[0]);
        // Nothing of it is in memory any more.
        house.server.terminate();
        house.server = Server::start_with(&house.data(), 0, &["--stop-limit", "100ms"], &[]);
        house.ok(&format!("approval answer {run}/ask --yes --by ana"));
        let size = house.node_is(&run, "size", "failed");
        assert_eq!(size["error"]["code"], "value_lost", "{size}");
        assert!(size["error"]["message"].as_str().unwrap().contains("gone or damaged"), "{size}");
        // The worker gets the task that can be done; the other fails without it.
        let answer = house.server.post("/v1/work", &json!({"worker": "w", "types": ["use"], "want": 10, "wait_ms": 5_000}));
        let tasks = answer["tasks"].as_array().unwrap();
        assert_eq!((tasks.len(), &tasks[0]["node"], &tasks[0]["input"]), (1, &json!("other"), &json!({"n": 1})), "{answer}");
        report(&house.server, "w", &tasks[0], json!({"status": "done", "output": 1}));
        let failed = house.node_is(&run, "use", "failed");
        assert_eq!(failed["error"]["code"], "value_lost", "{failed}");
        assert_eq!(house.ended(&run)["status"], "done");
        house.server.terminate();
        let found = house.refused(&format!("verify --data-dir {}", house.data().display()), 1, "differences");
        let differences = &found["result"]["differences"];
        assert_eq!((&differences[0]["table"], &differences[1]), (&json!("blobs"), &Value::Null), "{found}");
    }
}

#[test]
fn an_input_that_does_not_work_out_fails_its_node_and_the_worker_gets_the_next() {
    let house = House::start();
    house.put("workflow: bad\nnodes:\n  a: {type: t, with: {n: '${input.n + 1}'}, on_error: {to: b}}\n  b: {type: t, with: {why: '${nodes.a.error.message}'}}\n");
    let bad = house.start_run("bad", &json!({"n": "seven"}));
    let good = house.start_run("bad", &json!({"n": 7}));
    let task = lease(&house.server, "w", "t");
    assert_eq!((&task["run"], &task["node"], &task["input"]), (&json!(good), &json!("a"), &json!({"n": 8})), "{task}");
    report(&house.server, "w", &task, json!({"status": "done", "output": null}));
    let failed = house.node_is(&bad, "a", "failed");
    let why = failed["error"]["message"].as_str().unwrap();
    assert!(why.contains("input.n + 1") && why.contains("seven"), "{failed}");
    let task = lease(&house.server, "w", "t");
    assert_eq!((&task["run"], &task["node"]), (&json!(bad), &json!("b")), "{task}");
    assert_eq!(task["input"]["why"], why, "{task}");
    report(&house.server, "w", &task, json!({"status": "done", "output": null}));
    assert_eq!((&house.ended(&bad)["status"], &house.ended(&good)["status"]), (&json!("done"), &json!("done")));
}

#[test]
fn a_worker_of_one_task_ends_when_the_input_of_that_cannot_be_made() {
    let house = House::start();
    house.put("workflow: bad\nnodes:\n  a: {type: t, with: {n: '${input.n + 1}'}}\n");
    let bad = house.start_run("bad", &json!({"n": "seven"}));
    let task = house.view(&bad)["nodes"][0]["task"].as_str().unwrap().to_owned();
    let document = house.refused("work --type t --once -- cat", 1, "work_failed");
    let why = document["error"]["message"].as_str().unwrap();
    assert!(why.starts_with(&format!("{task} failed: its input cannot be made: ")) && why.contains("input.n + 1"), "{document}");
    assert_eq!(document["result"]["failed"], 1, "{document}");
    assert_eq!(house.ended(&bad)["status"], "failed");
    // Another that can be done is done instead.
    house.start_run("bad", &json!({"n": "seven"}));
    let good = house.start_run("bad", &json!({"n": 7}));
    house.ok("work --type t --once -- cat");
    assert_eq!(house.ended(&good)["status"], "done");
}

/// Runs that are listed, by their ids.
fn listed(house: &House) -> Vec<String> {
    let runs = house.server.get("/v1/runs?limit=100")["runs"].as_array().unwrap().clone();
    runs.iter().map(|run| run["run"].as_str().unwrap().to_owned()).collect()
}

fn serve(house: &mut House, retention: &str) {
    house.server.terminate();
    let config = house.file("signaller.toml", &format!("[retention]\n{retention}\n"));
    house.server = Server::start_with(&house.data(), 0, &["--stop-limit", "100ms", "--config", &config], &[]);
}

#[test]
fn runs_are_kept_as_long_and_as_many_as_the_configuration_says() {
    let mut house = House::start();
    house.put("workflow: w\nnodes:\n  a: {type: transform, value: input}\n");
    house.put("workflow: waits\nnodes:\n  a: {type: approval}\n");
    let waits = house.start_run("waits", &Value::Null);
    let runs: Vec<String> = (0..6).map(|n| house.start_run("w", &json!(n))).collect();
    runs.iter().for_each(|run| _ = house.ended(run));

    serve(&mut house, "runs_age = \"30d\"\nruns_count = 2");
    until("the oldest go", || (listed(&house).len() == 3).then_some(()));
    assert_eq!(listed(&house), [runs[5].clone(), runs[4].clone(), waits.clone()], "the youngest stay, and what goes on");
    assert_eq!(house.server.ask("GET", &format!("/v1/runs/{}", runs[0]), None).0, 404);

    serve(&mut house, "runs_age = \"1h\"");
    assert_eq!(listed(&house).len(), 3, "they are not an hour old");
    serve(&mut house, "runs_age = \"1ms\"");
    until("the old ones go", || (listed(&house) == [waits.clone()]).then_some(()));
    house.ok(&format!("approval answer {waits}/a --yes --by ana"));
    house.server.terminate();
    verified(&house.data());
}
