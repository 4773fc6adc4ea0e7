//! Changes of what stands in loops, eaches and called runs, by the names that people give it, with the real binary.

mod house;
mod server;
mod talk;

use house::House;
use serde_json::{Value, json};
use talk::{lease, report, until, verified};

#[track_caller]
fn done(house: &House, kind: &str, output: &Value) -> Value {
    let task = lease(&house.server, "w", kind);
    assert_eq!(report(&house.server, "w", &task, json!({"status": "done", "output": output}))["ok"], true);
    task["input"].clone()
}

#[track_caller]
fn failed(house: &House, kind: &str) -> Value {
    let task = lease(&house.server, "w", kind);
    let error = json!({"status": "failed", "error": {"code": "no", "message": "not so"}, "retryable": false});
    assert_eq!(report(&house.server, "w", &task, error)["ok"], true);
    task["input"].clone()
}

#[track_caller]
fn asked(house: &House, path: &str, body: &Value) -> (u16, Value) {
    house.server.ask("POST", path, Some(body))
}

#[test]
fn a_node_of_a_body_is_not_one_of_the_runs_own() {
    let house = House::start();
    house.put(
        "workflow: deep\nnodes:\n  l:\n    type: loop\n    max_iterations: 2\n    until: 'true'\n    do:\n      nodes:\n        \
         p: {type: p}\n        q: {type: approval, after: p, who: [ana]}\n        x: {type: x, after: q}\n",
    );
    let run = house.start_run("deep", &json!({}));
    done(&house, "p", &json!(1));
    until("it asks", || (house.view(&run)["counts"]["asking"] == 1).then_some(()));
    let refused = house.refused(&format!("approval answer {run}/q --yes --by ana"), 4, "not_asking");
    assert_eq!(refused["fix"], json!(format!("answer {run}/l[0]/q")), "{refused}");
    for verb in ["skip", "restart"] {
        let (status, answer) = asked(&house, &format!("/v1/runs/{run}/{verb}"), &json!({"node": "q", "by": "ana"}));
        assert_eq!((status, &answer["error"]["code"]), (404, &json!("node_not_found")), "{verb}: {answer}");
    }
    // Nobody else may say it for those who are asked.
    let (status, answer) = asked(&house, &format!("/v1/runs/{run}/skip"), &json!({"node": "l[0]/q", "by": "bob"}));
    assert_eq!((status, &answer["error"]["code"]), (403, &json!("not_asked")), "{answer}");
    house.ok(&format!("run cancel {run}"));
    until("it is over", || (house.view(&run)["stopping"] != json!(true)).then_some(()));
    let (status, answer) = asked(&house, &format!("/v1/runs/{run}/retry"), &json!({"node": "x"}));
    assert_eq!((status, &answer["error"]["code"]), (404, &json!("node_not_found")), "{answer}");
    house.ok(&format!("run retry {run}"));
    verified(&house.data());
}

#[test]
fn a_node_that_is_moved_into_a_body_leaves_nothing_behind() {
    let house = House::start();
    house.put(
        "workflow: moved\nnodes:\n  a: {type: a}\n  b: {type: b}\n  x: {type: x, after: b}\n  \
         l:\n    type: loop\n    after: a\n    max_iterations: 2\n    until: 'true'\n    do:\n      nodes:\n        p: {type: p}\n",
    );
    let run = house.start_run("moved", &json!({}));
    done(&house, "b", &json!(1));
    let task = lease(&house.server, "w", "x");
    let operations = json!([{"op": "move", "from": "/nodes/x", "path": "/nodes/l/do/nodes/x"},
        {"op": "replace", "path": "/nodes/l/do/nodes/x/after", "value": "p"}]);
    let body = json!({"node": "x", "operations": operations});
    let (status, answer) = asked(&house, &format!("/v1/runs/{run}/restart"), &body);
    // What leads on from `b`, which has ended, would be another.
    assert_eq!((status, &answer["error"]["code"]), (409, &json!("frozen")), "{answer}");
    let body = json!({"node": "b", "operations": operations});
    let (status, answer) = asked(&house, &format!("/v1/runs/{run}/restart"), &body);
    assert_eq!((status, &answer["revision"]), (200, &json!(1)), "{answer}");
    report(&house.server, "w", &task, json!({"status": "done", "output": "too late"}));
    for kind in ["a", "b", "p", "x"] {
        done(&house, kind, &json!(kind));
    }
    let ended = house.ended(&run);
    assert_eq!((&ended["status"], &ended["output"]["l"]), (&json!("done"), &json!("x")), "{ended}");
    verified(&house.data());
}

#[test]
fn a_turn_without_its_generation_is_the_newest() {
    let house = House::start();
    house.put(
        "workflow: turns\nnodes:\n  s: {type: s}\n  l:\n    type: loop\n    after: s\n    max_iterations: 2\n    until: 'true'\n    \
         do:\n      nodes:\n        q: {type: q}\n        ok: {type: approval, after: q}\n",
    );
    let run = house.start_run("turns", &json!({}));
    done(&house, "s", &json!(1));
    failed(&house, "q");
    assert_eq!(house.ended(&run)["status"], "failed");
    house.ok(&format!("run restart {run}/s"));
    done(&house, "s", &json!(1));
    failed(&house, "q");
    assert_eq!(house.ended(&run)["status"], "failed");
    house.ok(&format!("run retry {run} --node l[0]/q"));
    failed(&house, "q");
    assert_eq!(house.ended(&run)["status"], "failed");
    // The seed's word for it, of the same turn.
    let (status, answer) = asked(&house, &format!("/v1/runs/{run}/nodes/l%5B0%5D%2Fq/replay"), &json!({}));
    assert_eq!((status, &answer["status"]), (200, &json!("running")), "{answer}");
    done(&house, "q", &json!(2));
    until("it asks", || (house.view(&run)["counts"]["asking"] == 1).then_some(()));
    house.ok(&format!("approval answer {run}/l[0]/ok --yes"));
    assert_eq!(house.ended(&run)["status"], "done");
    verified(&house.data());
}

#[test]
fn a_node_that_was_taken_out_and_is_added_again_is_new() {
    let house = House::start();
    house.put("workflow: back\nnodes:\n  a: {type: a}\n  b: {type: b}\n");
    let run = house.start_run("back", &json!({}));
    done(&house, "b", &json!(1));
    failed(&house, "a");
    assert_eq!(house.ended(&run)["status"], "failed");
    house.ok(&format!("run patch {run} --unset nodes.a --set 'nodes.c={{\"type\":\"c\"}}'"));
    house.ok(&format!("run retry {run}"));
    let patched = house.ok(&format!("run patch {run} --set 'nodes.a={{\"type\":\"other\"}}'"));
    assert_eq!(patched["next"], json!(["a"]), "{patched}");
    done(&house, "other", &json!("new"));
    done(&house, "c", &json!(3));
    let ended = house.ended(&run);
    assert_eq!((&ended["status"], &ended["output"]["a"]), (&json!("done"), &json!("new")), "{ended}");
    verified(&house.data());
}

#[test]
fn a_called_run_that_was_patched_goes_on_with_its_caller() {
    let house = House::start();
    house.put("workflow: child\nnodes:\n  pre: {type: pre}\n  a: {type: a}\n");
    house.put("workflow: parent\nnodes:\n  call: {type: workflow, run: child}\n");
    let run = house.start_run("parent", &json!({}));
    done(&house, "pre", &json!(1));
    failed(&house, "a");
    assert_eq!(house.ended(&run)["status"], "failed");
    let children = house.server.get(&format!("/v1/runs?parent={run}"));
    let child = children["runs"][0]["run"].as_str().unwrap().to_owned();
    house.ok(&format!("run patch {child} --unset nodes.a"));
    house.ok(&format!("run retry {run}"));
    let ended = house.ended(&run);
    assert_eq!((&ended["status"], &ended["output"]), (&json!("done"), &json!(1)), "{ended}");
    assert_eq!(house.server.get(&format!("/v1/runs?parent={run}"))["runs"].as_array().unwrap().len(), 1);
    verified(&house.data());
}

const ITEMS: &str = "workflow: items\nnodes:\n  e:\n    type: each\n    items: '[1, 2, 3, 4]'\n    concurrency: 1\n    on_failure: fail_fast\n    \
    do:\n      nodes:\n        p: {type: p}\n        q: {type: q, after: p, with: {n: '${item}'}}\n  \
    z: {type: z, after: e}\n";

#[test]
fn another_input_for_a_node_of_one_item_is_for_that_item_alone() {
    let house = House::start();
    house.put(ITEMS);
    let run = house.start_run("items", &json!({}));
    done(&house, "p", &json!(0));
    assert_eq!(done(&house, "q", &json!("one")), json!({"n": 1}));
    done(&house, "p", &json!(0));
    assert_eq!(failed(&house, "q"), json!({"n": 2}));
    assert_eq!(house.ended(&run)["status"], "failed");
    // What the whole run is to follow and what this item alone is are two changes.
    let both = json!({"node": "e[1]/q", "with": {"n": 99}, "operations": [{"op": "remove", "path": "/nodes/z"}]});
    let (status, answer) = asked(&house, &format!("/v1/runs/{run}/retry"), &both);
    assert_eq!((status, &answer["error"]["code"]), (400, &json!("invalid")), "{answer}");
    house.ok(&format!("run retry {run} --node e[1]/q --with '{{\"n\":99}}' --reason 'the second is another'"));
    assert_eq!(failed(&house, "q"), json!({"n": 99}));
    // It keeps it when it is tried again, also by another server.
    assert_eq!(house.ended(&run)["status"], "failed");
    house.ok(&format!("run retry {run}"));
    assert_eq!(done(&house, "q", &json!("two")), json!({"n": 99}));
    done(&house, "p", &json!(0));
    assert_eq!(done(&house, "q", &json!("three")), json!({"n": 3}));
    let told = house.told(&format!("run trace {run}"));
    assert!(told.contains("patched by ana, for e[1] alone, revision 1: the second is another"), "{told}");
    assert!(told.contains("~ q: with.n \"${item}\" → 99"), "{told}");
    // The run itself follows what it did, and can be patched on.
    let definition = house.server.get(&format!("/v1/runs/{run}/definition"));
    assert_eq!((&definition["revision"], &definition["newest"]), (&json!(0), &json!(1)), "{definition}");
    assert_eq!(definition["text"], ITEMS);
    let patched = house.ok(&format!("run patch {run} --set nodes.z.timeout=1m"));
    assert_eq!((&patched["revision"], &patched["changes"]), (&json!(2), &json!(["~ z: timeout \"1m\" is new"])), "{patched}");
    done(&house, "p", &json!(0));
    assert_eq!(done(&house, "q", &json!("four")), json!({"n": 4}));
    assert_eq!(done(&house, "z", &json!("end")), json!(["one", "two", "three", "four"]));
    assert_eq!(house.ended(&run)["status"], "done");
    // From there once more, with another; and the same in a fork of it.
    house.ok(&format!("run restart {run}/e[0]/q --with '{{\"n\":77}}'"));
    assert_eq!(done(&house, "q", &json!("new")), json!({"n": 77}));
    assert_eq!(done(&house, "z", &json!("end")), json!(["new", "two", "three", "four"]));
    house.ended(&run);
    house.ok(&format!("run restart {run}/e[1]/q"));
    house.node_is(&run, "e", "running");
    let fork = house.ok(&format!("run fork {run}"));
    for _ in 0..2 {
        assert_eq!(done(&house, "q", &json!("again")), json!({"n": 99}));
        assert_eq!(done(&house, "z", &json!("end")), json!(["new", "again", "three", "four"]));
    }
    assert_eq!(house.ended(fork["run"].as_str().unwrap())["status"], "done");
    verified(&house.data());
}

#[test]
fn a_text_that_the_item_cannot_follow_is_refused_and_not_forgotten() {
    let house = House::start();
    house.put(ITEMS);
    let run = house.start_run("items", &json!({}));
    done(&house, "p", &json!(0));
    assert_eq!(failed(&house, "q"), json!({"n": 1}));
    assert_eq!(house.ended(&run)["status"], "failed");
    let path = "/nodes/e/do/nodes";
    let operations = json!([{"op": "add", "path": format!("{path}/q/with/v"), "value": 2},
        {"op": "add", "path": format!("{path}/p/with"), "value": 3}]);
    for (verb, body) in [
        ("retry", json!({"node": "e[0]/q", "operations": operations})),
        ("restart", json!({"node": "e[0]/q", "operations": operations})),
    ] {
        let (status, answer) = asked(&house, &format!("/v1/runs/{run}/{verb}"), &body);
        assert_eq!((status, &answer["error"]["code"]), (409, &json!("frozen")), "{verb}: {answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("e[0]/p is done"), "{verb}: {answer}");
    }
    // Without what has begun it is taken, there and for those to come.
    let operations = json!([{"op": "add", "path": format!("{path}/q/with/v"), "value": 2}]);
    house.server.post(&format!("/v1/runs/{run}/retry"), &json!({"node": "e[0]/q", "operations": operations}));
    assert_eq!(done(&house, "q", &json!(1)), json!({"n": 1, "v": 2}));
    done(&house, "p", &json!(0));
    assert_eq!(done(&house, "q", &json!(1)), json!({"n": 2, "v": 2}));
}
