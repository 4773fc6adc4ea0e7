//! Pictures through the real binary: workflows and runs as SVG, live, failed and done, and when each node did what.

mod house;
mod server;
mod talk;

use house::{House, example};
use serde_json::{Value, json};

const FLOW: &str = "workflow: flow\nnodes:\n  \
    all: {type: each, items: input.items, concurrency: 4, on_failure: {tolerate: 1}, do: {nodes: {x: {type: work, retry: {attempts: 1}, with: \"${item}\"}}}}\n  \
    choice: {type: branch, after: all, rules: [{when: input.ask, to: question}], default: other}\n  \
    question: {type: approval, on_reject: bad}\n  bad: {type: work}\n  other: {type: transform, value: 1}\n";

fn svg(house: &House, path: &str) -> String {
    let answer = talk::ask(house.server.port, "GET", path, &[], b"").expect("an answer");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("image/svg+xml")), "{path}");
    let policy = answer.header("content-security-policy").expect("a picture says what it may load");
    assert!(policy.contains("default-src 'none'"), "{policy}");
    String::from_utf8(answer.body).expect("a picture is text")
}

#[test]
fn a_run_is_drawn_as_it_goes_on_and_when_it_has_ended() {
    let house = House::start();
    house.put(FLOW);
    let plain = svg(&house, "/v1/workflows/flow/graph.svg?version=1");
    assert!(plain.starts_with("<svg ") && plain.contains(">question</text>") && !plain.contains("class=\"n-"), "{plain}");
    let run = house.start_run("flow", &json!({"items": [1, 2, 3], "ask": true}));
    house.node_is(&run, "all", "running");
    let queued = svg(&house, &format!("/v1/runs/{run}/graph.svg"));
    for text in ["items 0/3", ">3 queued</text>", "<g class=\"n-running\">\n<title>all: each × 4", "<g class=\"n-waiting\">"] {
        assert!(queued.contains(text), "{text}\n{queued}");
    }
    let _worker = house.worker("work", "if grep -q '\"input\":2[,}]'; then echo boom >&2; exit 1; fi; echo 1");
    house.node_is(&run, "question", "asking");
    let asking = svg(&house, &format!("/v1/runs/{run}/graph.svg"));
    for text in [
        "items 2/3, 1 failed",
        ">1 failed, 2 done</text>",
        "<g class=\"n-asking\">\n<title>question: approval",
        "choice → question, rules[0]: input.ask\ntaken</title>\n<path class=\"link taken\"",
        "choice → other, else\nnot taken</title>\n<path class=\"link untaken\"",
        "<g class=\"n-skipped\">\n<title>other: transform",
        "all[1]/x: exit_1",
    ] {
        assert!(asking.contains(text), "{text}\n{asking}");
    }
    house.ok(&format!("approval answer {run}/question --no --by ana"));
    assert_eq!(house.ended(&run)["status"], "done");
    let done = svg(&house, &format!("/v1/runs/{run}/graph.svg"));
    assert!(done.contains("done after") && done.contains("question → bad, if rejected\ntaken"), "{done}");

    let failing = house.start_run("flow", &json!({"items": [2, 2], "ask": false}));
    assert_eq!(house.ended(&failing)["status"], "failed");
    let failed = svg(&house, &format!("/v1/runs/{failing}/graph.svg"));
    assert!(failed.contains("<g class=\"n-failed\">\n<title>all: each") && failed.contains("failed after"), "{failed}");
    let nobody = talk::ask(house.server.port, "GET", "/v1/runs/run-zz/graph.svg", &[], b"").expect("an answer");
    assert_eq!(talk::refusal(nobody.status, &nobody.json(), "graph.svg"), "run_not_found");
}

#[test]
fn a_time_line_tells_when_each_node_did_what() {
    let house = House::start();
    house.put(FLOW);
    let _worker = house.worker("work", "cat");
    let items: Vec<u32> = (0..30).collect();
    let run = house.start_run("flow", &json!({"items": items, "ask": false}));
    assert_eq!(house.ended(&run)["status"], "done");
    let line = house.ok(&format!("run timeline {run}"));
    let rows = line["rows"].as_array().unwrap();
    let names: Vec<&Value> = rows.iter().map(|row| &row["node"]).collect();
    assert_eq!(names, ["all", "all[*]/x", "choice", "question", "bad", "other"], "{line}");
    assert_eq!((&rows[1]["instances"], &rows[1]["totals"]["attempts"]), (&json!(30), &json!(30)), "{line}");
    assert_eq!(rows[0]["spans"][0]["what"], "inside", "{line}");
    assert_eq!((&rows[3]["status"], &rows[3]["spans"]), (&json!("skipped"), &json!([])), "{line}");
    let apart = house.ok(&format!("run timeline {run} --node x --limit 20"));
    assert_eq!((apart["rows"].as_array().unwrap().len(), &apart["left_out"]), (20, &json!(10)), "{apart}");
    let spans = apart["rows"][0]["spans"].as_array().unwrap();
    let kinds: Vec<&Value> = spans.iter().map(|span| &span["what"]).collect();
    assert_eq!((kinds, &spans[1]["attempt"]), (vec![&json!("queued"), &json!("running")], &json!(1)), "{apart}");
    assert_eq!(spans[0]["to"], spans[1]["from"], "{apart}");
    assert_eq!(house.ok(&format!("run timeline {run} --all"))["rows"].as_array().unwrap().len(), 35);
    let told = house.told(&format!("run timeline {run}"));
    assert!(told.contains("all[*]/x × 30") && told.contains("█ running") && told.contains("skipped"), "{told}");
    let picture = svg(&house, &format!("/v1/runs/{run}/timeline.svg"));
    assert!(picture.contains("all[*]/x × 30") && picture.contains("class=\"b-running\""), "{picture}");
    let unknown = house.refused(&format!("run timeline {run} --node y"), 3, "node_not_found");
    assert!(unknown["error"]["message"].as_str().unwrap().contains("`y` is not a node"), "{unknown}");
    house.refused("run timeline run-zz", 3, "run_not_found");
}

#[test]
fn a_picture_goes_to_a_file_or_to_whoever_reads() {
    let house = House::start();
    house.put(FLOW);
    let run = house.start_run("flow", &json!({"items": [], "ask": true}));
    house.node_is(&run, "question", "asking");
    assert_eq!(house.told(&format!("run timeline {run} --svg -o t.svg")), "Wrote t.svg.\n");
    let wrote = house.ok(&format!("run graph {run} --svg -o g.svg"));
    assert_eq!(wrote["file"], "g.svg", "{wrote}");
    for name in ["t.svg", "g.svg"] {
        let text = std::fs::read_to_string(house.folder.path().join(name)).unwrap();
        assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"), "{text}");
    }
    for line in [format!("run graph {run} --svg"), format!("run graph {run} --svg -o -"), "workflow graph flow --svg".to_owned()]
    {
        assert!(house.run(&line).out.starts_with("<svg "), "{line}");
    }
    assert!(house.ok("workflow graph flow --svg --json")["graph"].as_str().unwrap().starts_with("<svg "));
    assert!(house.told(&format!("run graph {run}")).contains("? question"), "the terminal has it, too");
    assert_eq!(house.ok(&format!("run graph {run}"))["run"], json!(run));
    // Without a server.
    let file = example("refund.yaml");
    assert!(house.run(&format!("workflow graph -f {file} --svg")).out.contains(">classify</text>"));
    let two = house.file("two.yaml", "workflow: a\nnodes: {x: {type: t}}\n---\nworkflow: b\nnodes: {x: {type: t}}\n");
    house.refused(&format!("workflow graph {two} --svg"), 2, "usage");
    house.refused(&format!("run graph {run} --svg -o nowhere/g.svg"), 2, "usage");
    house.refused(&format!("run graph {run} -o g.svg"), 2, "usage");
}
