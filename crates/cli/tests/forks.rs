//! New runs from how others were, over HTTP and by the command line, with the real binary.

mod house;
mod server;
mod talk;

use house::{House, command, ran};
use serde_json::{Value, json};
use server::Server;
use talk::{lease, report, until, verified};

const LINE: &str = "workflow: line\ninput: {type: object, properties: {n: {type: integer}}, required: [n]}\nnodes:\n  \
    one: {type: a, with: {n: '${input.n}'}}\n  \
    two: {type: b, after: [one], with: {n: 1, was: '${nodes.one.output}'}}\n  \
    three: {type: c, after: [two], with: {was: '${nodes.two.output}', n: '${input.n}'}}\n\
    output: nodes.three.output\n";

/// A task of this type is done with that; what it was given.
#[track_caller]
fn done(server: &Server, kind: &str, output: &Value) -> Value {
    let task = lease(server, "w", kind);
    assert_eq!(report(server, "w", &task, json!({"status": "done", "output": output}))["ok"], true);
    task["input"].clone()
}

fn large() -> Value {
    json!({"text": "x".repeat(10_000)})
}

/// A run of three nodes that is over.
fn line(house: &House) -> String {
    house.put(LINE);
    let run = house.start_run("line", &json!({"n": 5}));
    done(&house.server, "a", &large());
    done(&house.server, "b", &json!("b"));
    done(&house.server, "c", &json!("c"));
    assert_eq!(house.ended(&run)["output"], "c");
    run
}

fn records(house: &House, run: &str) -> Vec<Value> {
    let page = house.server.get(&format!("/v1/runs/{run}/history?limit=1000"));
    assert_eq!(page["next"], Value::Null);
    page["records"].as_array().unwrap().clone()
}

#[test]
fn a_fork_goes_on_from_before_a_node_and_hangs_on_nothing_of_the_other() {
    let mut house = House::start();
    let run = line(&house);
    let before = house.view(&run);
    let forked = house.ok(&format!("run fork {run}/two --input '{{\"n\":9}}' --tag again --deadline 1h"));
    assert_eq!((&forked["kept"], &forked["anew"]), (&json!(["one"]), &json!(["two", "three"])), "{forked}");
    assert_eq!((&forked["origin"]["run"], &forked["origin"]["node"]), (&json!(run), &json!("two")), "{forked}");
    assert_eq!(house.view(&run), before, "the other stays as it is");
    let fork = forked["run"].as_str().unwrap().to_owned();
    let view = house.view(&fork);
    assert_eq!((&view["tags"], &view["origin"]), (&json!(["again"]), &forked["origin"]), "{view}");
    assert!(view["deadline"].is_string(), "{view}");
    // Neither the other's end nor the server's is felt.
    house.ok(&format!("run delete {run} --yes"));
    until("it is gone", || (house.server.ask("GET", &format!("/v1/runs/{run}"), None).0 == 404).then_some(()));
    let data = house.data();
    house.server.kill_9();
    house.server = Server::start(&data, 0);
    assert_eq!(done(&house.server, "b", &json!("again")), json!({"n": 1, "was": large()}));
    assert_eq!(done(&house.server, "c", &json!("end")), json!({"n": 9, "was": "again"}));
    let ended = house.ended(&fork);
    assert_eq!((&ended["status"], &ended["output"]), (&json!("done"), &json!("end")), "{ended}");
    let told = house.told(&format!("run trace {fork}"));
    assert!(told.contains(&format!("line version 1 started by ana, forked from {run} as it was after r")), "{told}");
    assert!(house.told(&format!("run show {fork}")).contains(&format!("{run} after record r")));
    assert!(house.told("run list").contains(&format!("forked from {run}")));
    house.server.kill_9();
    verified(&data);
}

#[test]
fn a_fork_goes_on_by_another_text() {
    let house = House::start();
    let run = line(&house);
    let forked = house.ok(&format!("run fork {run}/two --with '{{\"n\":77}}' --description 'other account'"));
    assert_eq!((&forked["base"], &forked["revision"]), (&json!(0), &json!(1)), "{forked}");
    assert_eq!(forked["changes"], json!(["~ two: with.n 1 → 77", "~ two: with.was \"${nodes.one.output}\" is gone"]), "{forked}");
    assert_eq!(done(&house.server, "b", &json!(1)), json!({"n": 77}));
    let fork = forked["run"].as_str().unwrap();
    assert!(house.told(&format!("run trace {fork}")).contains("patched by ana, revision 1: other account"));
    // And that one once more, from before it was patched, with what was added there.
    done(&house.server, "c", &json!(2));
    house.ended(fork);
    let four = "--set 'nodes.four={\"type\":\"d\",\"after\":[\"three\"]}' --set output=nodes.four.output";
    let again = house.ok(&format!("run fork {fork}/three {four}"));
    assert_eq!((&again["base"], &again["revision"]), (&json!(1), &json!(2)), "{again}");
    assert_eq!(done(&house.server, "c", &json!(3)), json!({"n": 5, "was": 1}));
    done(&house.server, "d", &json!("four"));
    assert_eq!(house.ended(again["run"].as_str().unwrap())["output"], "four");
    // From its start it follows the text of then: the paths are of that one.
    let first = house.ok(&format!("run fork {fork} --at start --set nodes.one.with.n=8"));
    assert_eq!((&first["base"], &first["revision"], &first["kept"]), (&json!(0), &json!(1), &json!([])), "{first}");
    assert_eq!(done(&house.server, "a", &json!(0)), json!({"n": 8}));
    assert_eq!(done(&house.server, "b", &json!(0)), json!({"n": 1, "was": 0}));
    // In an editor, as with a patch.
    let editor = house.file("editor.sh", "sed -i 's/type: c,/type: e,/' \"$1\"");
    let mut edit = command(house.folder.path(), &house.server.url, &format!("run fork {run}/three --edit"));
    edit.env("EDITOR", format!("sh {editor}")).env_remove("VISUAL");
    let edited = ran(edit);
    assert_eq!(edited.exit, 0, "{} {}", edited.out, edited.err);
    assert_eq!(done(&house.server, "e", &json!("e")), json!({"n": 5, "was": "b"}));
    assert_eq!(house.ended(edited.json()["result"]["run"].as_str().unwrap())["output"], "e");
    verified(&house.data());
}

#[test]
fn what_is_refused_makes_no_run() {
    let house = House::start();
    let run = line(&house);
    let dry = house.ok(&format!("run fork {run}/three --dry-run"));
    assert_eq!((&dry["run"], &dry["kept"], &dry["anew"]), (&Value::Null, &json!(["one", "two"]), &json!(["three"])), "{dry}");
    let early = records(&house, &run)[1]["seq"].as_str().unwrap().to_owned();
    for (line, exit, code, says) in [
        ("run fork run-zz".to_owned(), 3, "run_not_found", "there is no run-zz"),
        (format!("run fork {run}/nope"), 3, "node_not_found", "/nope"),
        (format!("run fork '{run}/a b'"), 2, "usage", "is not a node of a run"),
        (format!("run fork {run}/three --at {early}"), 4, "not_begun", "had not begun by then"),
        (format!("run fork {run} --at r1"), 2, "invalid", "there was nothing of it"),
        (format!("run fork {run} --at yesterday"), 2, "usage", "is not a moment"),
        (format!("run fork {run}/three --set nodes.two.with.n=3"), 4, "frozen", "its `with` cannot be changed"),
        (format!("run fork {run}/two --unset nodes.one"), 2, "invalid_workflow", "one"),
        (format!("run fork {run}/two --set workflow=other"), 2, "invalid_patch", "name"),
        (format!("run fork {run} --at start --input '{{\"n\":\"x\"}}'"), 2, "invalid_input", "n"),
        (format!("run fork {run} --with 1"), 2, "invalid", "`with` is of one node"),
        (format!("run fork {run} --edit --set a=1"), 2, "usage", "--set"),
        (format!("run fork {run} --deadline 0s"), 2, "invalid", "deadline_ms"),
    ] {
        let document = house.refused(&line, exit, code);
        assert!(document["error"]["message"].as_str().unwrap().contains(says), "{line}: {document}");
    }
    // An input is held against the text that it goes on by.
    let line = format!("run fork {run} --at start --unset input --input '\"free\"'");
    let free = house.ok(&line);
    assert_eq!(house.server.get("/v1/runs")["runs"].as_array().unwrap().len(), 2);
    // A key makes one run.
    let keyed = house.ok(&format!("run fork {run}/two --idempotency-key k"));
    let again = house.ok(&format!("run fork {run}/two --idempotency-key k --input '{{\"n\":1}}'"));
    assert_eq!((&again["run"], &again["duplicate"]), (&keyed["run"], &json!(true)), "{again}");
    assert!(free["run"].is_string());
}

const WAYS: &str = "workflow: ways\nnodes:\n  \
    rounds:\n    type: loop\n    max_iterations: 3\n    until: 'iteration >= 1'\n    do:\n      nodes:\n        turn: {type: turn, with: {i: '${iteration}'}}\n  \
    all:\n    type: each\n    after: rounds\n    items: '[1, 2]'\n    do:\n      nodes:\n        item: {type: item, with: '${item}'}\n  \
    choose:\n    type: branch\n    after: all\n    rules:\n      - {when: 'size(nodes.all.output) == 2', to: left}\n    default: right\n  \
    left: {type: end}\n  \
    right: {type: end}\n\
    output: '{\"rounds\": nodes.rounds.output, \"all\": nodes.all.output, \"end\": nodes.left.output}'\n";

#[test]
fn from_every_record_of_a_run_a_fork_comes_to_what_it_came_to() {
    let house = House::start();
    house.put(WAYS);
    let _worker = house.worker("turn,item,end", "cat > /dev/null; printf '{\"did\":\"%s\"}' \"$SIGNALLER_NODE\"");
    let run = house.start_run("ways", &json!({}));
    let view = house.ended(&run);
    assert_eq!(view["status"], "done", "{view}");
    let mut forks: Vec<(String, String)> = Vec::new();
    for record in records(&house, &run) {
        let seq = record["seq"].as_str().unwrap().to_owned();
        let forked = house.server.post(&format!("/v1/runs/{run}/fork"), &json!({"at": seq}));
        forks.push((seq, forked["run"].as_str().unwrap().to_owned()));
    }
    for node in ["rounds", "rounds[0]/turn", "rounds[1]/turn", "all", "all[1]/item", "choose", "left", "right"] {
        let forked = house.server.post(&format!("/v1/runs/{run}/fork"), &json!({"node": node}));
        forks.push((node.to_owned(), forked["run"].as_str().unwrap().to_owned()));
    }
    assert!(forks.len() > 30, "{forks:?}");
    house.refused(&format!("run fork {run}/all[1]/item --with 7"), 2, "invalid");
    for (from, fork) in &forks {
        let ended = house.ended(fork);
        assert_eq!((&ended["status"], &ended["output"]), (&view["status"], &view["output"]), "from {from}: {ended}");
    }
    verified(&house.data());
}

#[test]
fn a_run_that_failed_is_forked_while_its_worker_is_away() {
    let house = House::start();
    house.put(LINE);
    house.server.put("/v1/queues/b", &json!({"config": {"retry": {"attempts": 1}}}));
    let run = house.start_run("line", &json!({"n": 1}));
    done(&house.server, "a", &json!(1));
    let task = lease(&house.server, "w", "b");
    // Under way: it begins anew in the fork, and goes on in the other.
    let live = house.ok(&format!("run fork {run}"));
    assert_eq!((&live["kept"], &live["anew"]), (&json!(["one"]), &json!(["two"])), "{live}");
    report(&house.server, "w", &task, json!({"status": "failed", "error": {"code": "no", "message": "not so"}}));
    assert_eq!(house.ended(&run)["status"], "failed");
    let failed = house.ok(&format!("run fork {run}"));
    assert_eq!(failed["anew"], json!(["two"]), "{failed}");
    for fork in [&live, &failed] {
        done(&house.server, "b", &json!(2));
        done(&house.server, "c", &json!(3));
        assert_eq!(house.ended(fork["run"].as_str().unwrap())["output"], 3);
    }
    assert_eq!(house.view(&run)["status"], "failed");
}

#[test]
fn what_is_too_much_for_one_step_is_refused() {
    let house = House::start();
    house.put(
        "workflow: wide\nnodes:\n  all:\n    type: each\n    items: input\n    concurrency: 4000\n    do:\n      nodes:\n        \
         go: {type: transform, value: item}\n        stay: {type: stay, after: go, when: 'item == 2100'}\n",
    );
    let items: Vec<u32> = (1..=2_100).collect();
    let run = house.start_run("wide", &json!(items));
    lease(&house.server, "w", "stay");
    let refused = house.refused(&format!("run fork {run}"), 2, "invalid");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("nodes, turns and items along; at most 4096 are allowed"), "{message}");
}
