//! Runs through the real binary: started, answered, paused, tried again, traced, explained, deleted.

mod house;
mod server;
mod talk;

use house::{House, example};
use serde_json::{Value, json};
use talk::{lease, report, until, verified};

const ASK: &str = "workflow: ask\ninput: {type: object, required: [amount], properties: {amount: {type: number}}}\nnodes:\n  \
                   ask: {type: approval, who: [finance], message: \"Pay ${input.amount}?\", timeout: 1h, on_reject: no}\n  \
                   pay: {type: pay, after: ask, with: {amount: \"${input.amount}\"}}\n  \
                   no: {type: transform, value: \"'refused'\"}\n";

const TWO: &str = "workflow: two\nnodes:\n  first: {type: a, with: {n: \"${input.n}\"}, retry: {attempts: 1}}\n  \
                   second: {type: b, after: first}\noutput: nodes.second.output\n";

#[test]
fn a_run_is_started_once_for_a_key_and_its_input_is_held_against_the_schema() {
    let house = House::start();
    assert_eq!(house.told("run list"), "There is no run yet. Start one: signaller run start WORKFLOW\n");
    house.refused("run start ask", 3, "workflow_not_found");
    house.put(ASK);
    let first = house.ok("run start ask --input '{\"amount\":5}' --key k --tag x --deadline 2h");
    assert_eq!(first, json!({"run": "run-1", "duplicate": false}));
    assert_eq!(house.ok("run start ask --input '{\"amount\":6}' --key k")["duplicate"], true);
    let wrong = house.refused("run start ask --input '{\"amount\":\"much\"}'", 2, "invalid_input");
    assert_eq!(wrong["error"]["problems"][0]["path"], "/amount", "{wrong}");
    let missing = house.refused("run start ask --input '{}'", 2, "invalid_input");
    assert!(missing["error"]["message"].as_str().unwrap().contains("amount"), "{missing}");
    house.refused("run start ask --version 9 --input '{\"amount\":1}'", 3, "workflow_not_found");

    let shown = house.ok("run show run-1");
    assert_eq!((&shown["workflow"], &shown["version"], &shown["tags"]), (&json!("ask"), &json!(1), &json!(["x"])), "{shown}");
    assert_eq!((&shown["input"], &shown["idempotency_key"]), (&json!({"amount": 5}), &json!("k")), "{shown}");
    assert_eq!((&shown["counts"]["asking"], &shown["counts"]["waiting"]), (&json!(1), &json!(2)), "{shown}");
    assert!(shown["deadline"].is_string(), "{shown}");
    for (query, count) in [
        ("", 1),
        ("?tag=x", 1),
        ("?tag=y", 0),
        ("?workflow=ask&status=running", 1),
        ("?status=done", 0),
        ("?idempotency_key=k", 1),
        ("?paused=true", 0),
    ] {
        assert_eq!(house.server.get(&format!("/v1/runs{query}"))["runs"].as_array().unwrap().len(), count, "{query}");
    }
    house.refused("run show run-9", 3, "run_not_found");
}

#[test]
fn an_approval_is_answered_once_and_by_those_it_asks() {
    let house = House::start();
    house.put(ASK);
    assert_eq!(house.told("approval list"), "Nothing waits for an answer.\n");
    let run = house.start_run("ask", &json!({"amount": 5}));
    let asked = house.ok("approval list")["approvals"][0].clone();
    assert_eq!(
        (&asked["node"], &asked["message"], &asked["who"]),
        (&json!("run-1/ask"), &json!("Pay 5?"), &json!(["finance"])),
        "{asked}"
    );
    assert!(asked["since"].is_string() && asked["until"].is_string() && asked["workflow"] == "ask", "{asked}");
    assert!(house.told("approval list").contains("Pay 5?"), "it is told");
    let explained = house.ok(&format!("run explain {run}"));
    assert_eq!(
        (&explained["waits"][0]["node"], &explained["waits"][0]["code"]),
        (&json!("ask"), &json!("approval")),
        "{explained}"
    );
    assert!(explained["next_actions"][0].as_str().unwrap().contains("approval answer run-1/ask"), "{explained}");

    house.refused("approval answer run-1/ask --yes --by ana", 2, "not_asked");
    house.refused("approval answer run-1/nobody --yes --by finance", 3, "node_not_found");
    house.refused("approval answer run-9/ask --yes --by finance", 3, "run_not_found");
    assert_eq!(house.run("approval answer run-1/ask --by finance").exit, 2, "yes or no is said");
    house.ok("approval answer run-1/ask --yes --by finance --comment fine");
    house.refused("approval answer run-1/ask --no --by finance", 4, "not_asking");

    let task = lease(&house.server, "w", "pay");
    assert_eq!((&task["run"], &task["node"], &task["input"]), (&json!("run-1"), &json!("pay"), &json!({"amount": 5})), "{task}");
    assert_eq!(task["idempotency_key"], "run-1/0/pay");
    let waits = house.ok(&format!("run explain {run}"))["waits"][0].clone();
    assert!(waits["code"] == "task" && waits["task"]["task"] == task["task"], "{waits}");
    let shown = house.server.get(&format!("/v1/tasks/{}", task["task"].as_str().unwrap()));
    assert_eq!(
        (&shown["run"], &shown["node"], &shown["input"]),
        (&json!("run-1"), &json!("pay"), &json!({"amount": 5})),
        "{shown}"
    );
    assert_eq!(report(&house.server, "w", &task, json!({"status": "done", "output": {"ok": true}}))["ok"], true);
    assert_eq!(house.ended(&run)["status"], "done");
    house.refused("approval answer run-1/ask --no --by finance", 4, "run_ended");

    // Refused, it goes the other way.
    let run = house.start_run("ask", &json!({"amount": 7}));
    house.ok(&format!("approval answer {run}/ask --no --by finance"));
    let view = house.ended(&run);
    let ask = view["nodes"].as_array().unwrap().iter().find(|node| node["node"] == "ask").unwrap();
    assert_eq!((&ask["way"], &ask["to"]), (&json!("rejected"), &json!(["no"])), "{view}");
}

#[test]
fn a_paused_run_begins_nothing_and_a_cancelled_one_ends() {
    let house = House::start();
    house.put(TWO);
    let run = house.start_run("two", &json!({"n": 1}));
    let task = lease(&house.server, "w", "a");
    house.ok(&format!("run pause {run} --reason later"));
    assert_eq!(report(&house.server, "w", &task, json!({"status": "done", "output": 1}))["ok"], true);
    house.node_is(&run, "first", "done");
    let explained = house.ok(&format!("run explain {run}"));
    assert!(explained["sentence"].as_str().unwrap().contains("paused by ana because later"), "{explained}");
    assert_eq!(house.view(&run)["pause"]["by"], "ana");
    assert_eq!(house.server.get("/v1/runs?paused=true")["runs"].as_array().unwrap().len(), 1);
    let none = house.server.post("/v1/work", &json!({"worker": "w", "types": ["b"], "want": 1, "wait_ms": 100}));
    assert_eq!(none["tasks"], json!([]), "{none}");
    // Listed for people with who and why; what is so already is told so.
    let listed = house.told("run list --paused");
    assert!(listed.contains("paused by ana: later"), "{listed}");
    assert_eq!(house.told(&format!("run pause {run}")), format!("{run} was paused already; nothing changed.\n"));
    assert_eq!(house.told(&format!("run resume {run}")), format!("{run} goes on.\n"));
    assert_eq!(house.told(&format!("run resume {run}")), format!("{run} was not paused; nothing changed.\n"));
    assert_eq!(house.ok(&format!("run resume {run}"))["runs"][0]["changed"], false);
    let second = lease(&house.server, "w", "b");
    assert_eq!(second["input"], 1, "without `with` it gets what came before: {second}");

    house.ok(&format!("run cancel {run} --reason enough"));
    let view = house.view(&run);
    assert_eq!((&view["status"], &view["cancelled"]), (&json!("cancelled"), &json!({"by": "ana", "reason": "enough"})), "{view}");
    assert_eq!(house.told(&format!("run cancel {run}")), format!("{run} was cancelled already; nothing changed.\n"));
    house.refused(&format!("run pause {run}"), 4, "run_ended");
    let watched = house.refused(&format!("run watch {run}"), 1, "run_cancelled");
    assert!(watched["error"]["message"].as_str().unwrap().contains("by ana: enough"), "{watched}");
}

#[test]
fn what_failed_a_run_is_tried_again_and_the_rest_stays() {
    let house = House::start();
    house.put(TWO);
    let run = house.start_run("two", &json!({"n": 1}));
    let task = lease(&house.server, "w", "a");
    let failed = json!({"status": "failed", "error": {"code": "boom", "message": "no luck"}, "retryable": false});
    report(&house.server, "w", &task, failed);
    let view = house.ended(&run);
    assert_eq!(
        (&view["status"], &view["failed_at"], &view["error"]["code"]),
        (&json!("failed"), &json!("first"), &json!("boom")),
        "{view}"
    );
    until("it comes to rest", || house.view(&run).get("stopping").is_none().then_some(()));
    let explained = house.ok(&format!("run explain {run}"));
    let sentence = explained["sentence"].as_str().unwrap();
    assert!(sentence.contains("failed at first") && sentence.contains("boom: no luck"), "{sentence}");
    assert!(explained["next_actions"].as_array().unwrap().contains(&json!(format!("signaller run retry {run}"))), "{explained}");
    let watched = house.refused(&format!("run watch {run}"), 1, "run_failed");
    assert_eq!(watched["result"]["status"], "failed", "{watched}");

    house.refused(&format!("run retry {run} --node nobody"), 3, "node_not_found");
    house.refused(&format!("run retry {run} --node second"), 4, "node_settled");
    house.ok(&format!("run retry {run} --node first"));
    let task = lease(&house.server, "w", "a");
    report(&house.server, "w", &task, json!({"status": "done", "output": {"x": 1}}));
    let task = lease(&house.server, "w", "b");
    assert_eq!(task["input"], json!({"x": 1}));
    report(&house.server, "w", &task, json!({"status": "done", "output": [1, 2]}));
    let view = house.ended(&run);
    assert_eq!((&view["status"], &view["output"]), (&json!("done"), &json!([1, 2])), "{view}");
    house.refused(&format!("run retry {run}"), 4, "not_to_retry");
    assert!(house.ok(&format!("run explain {run}"))["sentence"].as_str().unwrap().contains("is done"));

    // Every record, those of its tasks too; page by page it is the same.
    let trace = house.ok(&format!("run trace {run}"))["records"].clone();
    let kinds: Vec<&str> = trace.as_array().unwrap().iter().map(|record| record["record"]["record"].as_str().unwrap()).collect();
    for kind in [
        "run_started",
        "node_started",
        "task_added",
        "task_leased",
        "task_failed",
        "node_failed",
        "run_failed",
        "run_reopened",
        "node_reopened",
        "node_done",
        "run_done",
    ] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
    let (mut pages, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = house.server.get(&format!("/v1/runs/{run}/history?limit=7{cursor}"));
        pages.extend(page["records"].as_array().unwrap().clone());
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(Value::Array(pages), trace);
    let told = house.told(&format!("run trace {run}"));
    assert!(told.contains("failed with boom: no luck") && told.contains("tried again by ana"), "{told}");
}

#[test]
fn a_run_is_deleted_with_all_that_belongs_to_it() {
    let house = House::start();
    house.put(TWO);
    let run = house.start_run("two", &json!({"n": 1}));
    house.refused(&format!("run delete {run} --yes"), 4, "run_not_ended");
    let task = lease(&house.server, "w", "a");
    house.ok(&format!("run cancel {run}"));
    report(&house.server, "w", &task, json!({"status": "done"}));
    until("it comes to rest", || house.view(&run).get("stopping").is_none().then_some(()));
    assert_eq!(house.run(&format!("run delete {run}")).exit, 5);
    assert!(house.told(&format!("run delete {run} --dry-run")).contains("would be deleted"));
    house.ok(&format!("run delete {run} --yes"));
    until("it is gone", || (house.server.ask("GET", &format!("/v1/runs/{run}"), None).0 == 404).then_some(()));
    let path = format!("/v1/tasks/{}", task["task"].as_str().unwrap());
    assert_eq!(house.server.ask("GET", &path, None).0, 404);
    house.refused(&format!("run explain {run}"), 3, "run_not_found");
    house.refused(&format!("run trace {run}"), 3, "run_not_found");
}

#[test]
fn a_large_output_goes_through_the_blob_store() {
    let house = House::start();
    house.put(TWO);
    let run = house.start_run("two", &json!({"n": 1}));
    let large = json!({"text": "x".repeat(100_000)});
    let task = lease(&house.server, "w", "a");
    report(&house.server, "w", &task, json!({"status": "done", "output": large}));
    let shown = house.server.get(&format!("/v1/tasks/{}", task["task"].as_str().unwrap()));
    assert_eq!(shown["output"], large);
    let task = lease(&house.server, "w", "b");
    assert_eq!(task["input"], large);
    let larger = json!({"text": "y".repeat(50_000)});
    report(&house.server, "w", &task, json!({"status": "done", "output": larger}));
    assert_eq!(house.ended(&run)["output"], larger);
    let nodes = house.server.get(&format!("/v1/runs/{run}/nodes?output=true&status=done"));
    assert_eq!(nodes["nodes"].as_array().unwrap().len(), 2);
    assert!(nodes["nodes"].as_array().unwrap().iter().any(|node| node["output"] == large));
    assert!(house.server.get(&format!("/v1/runs/{run}/nodes?limit=1"))["next"].is_string());
}

#[test]
fn the_stream_of_a_run_has_its_nodes_and_tasks_and_no_others() {
    let house = House::start();
    house.put(TWO);
    let other = house.start_run("two", &json!({"n": 0}));
    let run = house.start_run("two", &json!({"n": 1}));
    let mut listener = talk::Listener::open(house.server.port, &format!("?run={run}"), Some("r0"));
    house.server.post(&format!("/v1/runs/{other}/cancel"), &json!({}));
    house.server.post(&format!("/v1/runs/{run}/cancel"), &json!({}));
    let events = listener.up_to(|event| event.name == "run_cancelled");
    let owners: Vec<String> = events.iter().map(|event| event.json()["owner"].as_str().unwrap().to_owned()).collect();
    assert!(owners.iter().any(|owner| owner.starts_with("task-")), "{owners:?}");
    assert!(owners.contains(&format!("{run}/first")), "{owners:?}");
    assert!(!owners.iter().any(|owner| owner.starts_with(&other)), "{owners:?}");
}

/// Workers answer as the examples need it; a person answers where one is asked.
#[test]
fn the_examples_run_with_real_workers() {
    let mut house = House::start_with(&["--no-workers"]);
    let files = [
        "agent-routed.json",
        "lint-until-clean.yaml",
        "parallel.json",
        "payout.yaml",
        "refine-until-good.json",
        "refund.yaml",
        "sequential.json",
    ];
    house.ok(&format!("workflow put {}", files.map(example).join(" ")));
    let _workers = [
        house.worker("classifier", r#"echo '{"fraud":false,"label":"x"}'"#),
        house.worker("http,search,task,bank", r#"echo '{"orders":[1],"server":"s","found":true}'"#),
        // The first round finds errors, the second none.
        house.worker("function", r#"case $SIGNALLER_NODE in 'rounds[0]'*) echo '{"errors":["e"]}';; *) echo '{"errors":[],"query":"q","text":"t","value":90}';; esac"#),
        house.worker("agent", r#"case $SIGNALLER_NODE in triage) echo '"refund"';; *) echo '{"open":1,"text":"t","words":10}';; esac"#),
    ];
    for (workflow, input, answer) in [
        ("sequential", json!({}), None),
        ("parallel", json!({}), None),
        ("payout", json!({"order": "o-1", "amount": 20}), None),
        ("payout", json!({"order": "o-2", "amount": 250}), Some("ask")),
        ("refund", json!({"order": "o-1", "amount": 20}), None),
        ("refund", json!({"order": "o-2", "amount": 250}), Some("ask")),
        ("refine-until-good", json!({"topic": "t"}), None),
        ("lint-until-clean", json!({"files": ["a", "b"]}), None),
        ("agent-routed", json!({"ticket": "t-1"}), None),
    ] {
        let run = house.start_run(workflow, &input);
        if let Some(node) = answer {
            house.node_is(&run, node, "asking");
            house.ok(&format!("approval answer {run}/{node} --yes --by finance"));
        }
        let watched = house.run(&format!("run watch {run} --timeout 60s"));
        assert_eq!(watched.exit, 0, "{workflow}: {}", house.told(&format!("run show {run}")));
        let first: Value = serde_json::from_str(watched.out.lines().next().unwrap()).unwrap();
        assert_eq!(first["record"]["record"], "run_started", "a line for each record: {first}");
        if workflow == "refund" {
            assert_eq!(watched.json()["result"]["output"], json!({"paid": true}));
        }
    }
    drop(_workers);
    house.server.terminate();
    verified(&house.data());
}
