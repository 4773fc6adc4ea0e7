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

const AGAIN: &str = "workflow: again\nnodes:\n  \
    rounds: {type: loop, max_iterations: 4, until: iteration >= 2, do: {nodes: {step: {type: work}, tail: {type: work, after: step}}}}\n  \
    fan: {type: each, after: rounds, items: input.items, concurrency: 4, do: {nodes: {x: {type: work}}}}\n  \
    ask: {type: approval, after: fan}\n  end: {type: work, after: ask}\n";

#[test]
fn after_a_restart_and_a_patch_only_what_counts_is_counted() {
    let house = House::start();
    house.put(AGAIN);
    let _worker = house.worker("work", "cat");
    let items: Vec<u32> = (0..20).collect();
    let run = house.start_run("again", &json!({"items": items}));
    house.node_is(&run, "ask", "asking");
    house.ok(&format!("run restart '{run}/rounds[1]/step' --reason twice"));
    house.node_is(&run, "rounds[2@1]/tail", "done");
    house.node_is(&run, "ask", "asking");

    // A turn without a generation is the newest.
    let shown = house.told(&format!("run show '{run}/rounds[2]'"));
    assert!(shown.starts_with(&format!("{run}/rounds[2@1], 2 nodes\n")), "{shown}");
    let first = house.told(&format!("run show '{run}/rounds[2]' --all-generations"));
    assert!(first.starts_with(&format!("{run}/rounds[2], 2 nodes, undone by a restart\n")), "{first}");
    let node = house.ok(&format!("run show '{run}/rounds[2]/step'"));
    assert_eq!((&node["node"], &node["undone"]), (&json!("rounds[2@1]/step"), &Value::Null), "{node}");

    let counts = |view: &Value, id: &str| {
        view["nodes"].as_array().unwrap().iter().find(|node| node["node"] == id).map(|node| node["frames"].clone()).unwrap()
    };
    for query in ["", "--all-generations"] {
        let view = house.ok(&format!("run show {run} {query} --nodes 1000"));
        let (fan, rounds) = (counts(&view, "fan"), counts(&view, "rounds"));
        assert_eq!((&fan["done"], &fan["undone"]), (&json!(20), &json!(20)), "{fan}");
        // Of the first turn two nodes stay as they were, of the second what had been done before.
        assert_eq!((&rounds["done"], &rounds["undone"]), (&json!(3), &json!(1)), "{rounds}");
        assert_eq!(view["counts"]["done"], 6 + 20 + 2, "{}", view["counts"]);
        let undone = if query.is_empty() { Value::Null } else { json!(22) };
        assert_eq!(view["counts"]["undone"], undone, "{}", view["counts"]);
    }
    let graph = svg(&house, &format!("/v1/runs/{run}/graph.svg"));
    for text in ["turn 3 of 4, 1 undone", "items 20/20, 20 undone", "generation 1", ">20 done</text>"] {
        assert!(graph.contains(text), "{text}\n{graph}");
    }

    let line = house.ok(&format!("run timeline {run}"));
    let row = |line: &Value, id: &str| line["rows"].as_array().unwrap().iter().find(|row| row["node"] == id).cloned();
    let fan = row(&line, "fan[*]/x").expect("one row for all");
    assert_eq!((&fan["instances"], &fan["undone"]), (&json!(20), &Value::Null), "{fan}");
    assert!(row(&line, "rounds[2]/step").is_none() && row(&line, "rounds[2@1]/step").is_some(), "{line}");
    assert_eq!(row(&line, "rounds").unwrap()["spans"].as_array().unwrap().len(), 2, "{line}");
    assert_eq!(row(&line, "ask").unwrap()["spans"].as_array().unwrap().len(), 1, "{line}");
    assert_eq!(row(&line, "end").unwrap()["status"], "waiting", "{line}");
    let moment = &line["moments"][0];
    assert_eq!(
        (&moment["what"], &moment["generation"], &moment["by"]),
        (&json!("restarted"), &json!(1), &json!("ana")),
        "{line}"
    );
    let all = house.ok(&format!("run timeline {run} --all-generations"));
    assert_eq!(row(&all, "rounds[2]/step").unwrap()["undone"], true, "{all}");
    let asked = row(&all, "ask").unwrap();
    assert_eq!((&asked["spans"][0]["undone"], &asked["spans"][0]["to"].is_null()), (&json!(true), &false), "{asked}");
    let told = house.told(&format!("run timeline {run}"));
    assert!(told.contains(": restarted from rounds[1]/step, generation 1, by ana: twice\n"), "{told}");
    let picture = svg(&house, &format!("/v1/runs/{run}/timeline.svg"));
    assert!(
        picture.contains("class=\"moment m-restarted\"") && picture.contains("version 1 · generation 1 · running"),
        "{picture}"
    );

    // Items come by their number.
    let view = house.ok(&format!("run show {run} --nodes 15"));
    let names: Vec<&str> = view["nodes"].as_array().unwrap().iter().filter_map(|node| node["node"].as_str()).collect();
    let fans: Vec<&str> = names.into_iter().filter(|name| name.starts_with("fan[")).collect();
    assert_eq!(fans, (0..11).map(|at| format!("fan[{at}@1]/x")).collect::<Vec<_>>(), "{view}");
}

#[test]
fn what_a_patch_takes_out_is_told_and_turns_keep_their_own_text() {
    let house = House::start();
    house.put("workflow: w\nnodes:\n  a: {type: work}\n  hold: {type: approval}\n  \
        all: {type: each, items: '[1]', do: {nodes: {old: {type: work}, q: {type: approval, after: old}}}}\n  end: {type: x, after: [all, hold]}\n");
    let _worker = house.worker("work", "cat");
    let run = house.start_run("w", &json!({}));
    house.node_is(&run, "a", "done");
    house.node_is(&run, "all[0]/q", "asking");
    // In the item that is under way `old` has begun, and stays what it is.
    let patch = json!({"operations": [
        {"op": "replace", "path": "/nodes/all/do/nodes/old", "value": {"type": "other"}},
        {"op": "add", "path": "/nodes/extra", "value": {"type": "x", "after": ["hold"]}},
    ], "by": "ana"});
    let (status, told) = house.server.ask("POST", &format!("/v1/runs/{run}/patch"), Some(&patch));
    assert_eq!(status, 200, "{told}");
    let old = house.ok(&format!("run show '{run}/all[0]/old'"));
    assert_eq!(old["type"], "work", "the item follows its own text: {old}");
    let view = house.view(&run);
    let kind =
        |id: &str| view["nodes"].as_array().unwrap().iter().find(|node| node["node"] == id).map(|node| node["type"].clone());
    assert_eq!(kind("all[0]/old"), Some(json!("work")), "{view}");
    let line = house.ok(&format!("run timeline {run}"));
    let row = line["rows"].as_array().unwrap().iter().find(|row| row["node"] == "all[0]/old").cloned().unwrap();
    assert_eq!(
        (&row["type"], &line["revision"], &line["moments"][0]["by"]),
        (&json!("work"), &json!(1), &json!("ana")),
        "{line}"
    );

    // Taken out of what is to come: the item that is under way goes on with it.
    let patch = json!({"operations": [
        {"op": "remove", "path": "/nodes/all/do/nodes/old"},
        {"op": "remove", "path": "/nodes/all/do/nodes/q/after"},
    ], "by": "ana"});
    let (status, told) = house.server.ask("POST", &format!("/v1/runs/{run}/patch"), Some(&patch));
    assert_eq!(status, 200, "{told}");
    let old = house.ok(&format!("run show '{run}/all[0]/old'"));
    assert_eq!((&old["type"], &old["removed"], &old["status"]), (&json!("work"), &json!(2), &json!("done")), "{old}");
    let told = house.told(&format!("run show '{run}/all[0]/old'"));
    assert!(told.contains("by a patch: revision 2 of the run's definition does not have it any more"), "{told}");
    let graph = svg(&house, &format!("/v1/runs/{run}/graph.svg"));
    for text in ["taken out by patches", "old (done, gone since", "revision 2"] {
        assert!(graph.contains(text), "{text}\n{graph}");
    }
    assert!(house.told(&format!("run show {run} --nodes 50")).contains("taken out by a patch, revision 2"));
    let line = house.ok(&format!("run timeline {run}"));
    let row = line["rows"].as_array().unwrap().iter().find(|row| row["node"] == "all[0]/old").cloned().unwrap();
    assert_eq!((&row["type"], &row["removed"]), (&json!("work"), &json!(2)), "{line}");
    // So it was then, too.
    let then = house.ok(&format!("run replay {run}"));
    let row = then["run"]["nodes"].as_array().unwrap().iter().find(|row| row["node"] == "all[0]/old").cloned().unwrap();
    assert_eq!((&row["type"], &row["removed"]), (&json!("work"), &json!(2)), "{then}");
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

#[test]
fn runs_that_were_called_for_nothing_are_marked() {
    let house = House::start();
    house.put("workflow: child\nnodes: {c: {type: approval}}\n");
    house.put("workflow: caller\nnodes:\n  call: {type: workflow, run: child}\n");
    let run = house.start_run("caller", &json!({}));
    house.node_is(&run, "call", "running");
    let called = || house.ok(&format!("run list --parent {run}"))["runs"].as_array().unwrap().clone();
    let first = called();
    assert_eq!((first.len(), &first[0]["undone"]), (1, &Value::Null), "{first:?}");
    house.ok(&format!("run restart {run}/call"));
    talk::until("it is called once more", || (called().len() == 2).then_some(()));
    // The newest comes first.
    let both = called();
    assert_eq!((&both[0]["undone"], &both[1]["undone"]), (&Value::Null, &json!(true)), "{both:?}");
    assert_eq!(both[1]["run"], first[0]["run"], "{both:?}");
    assert!(house.told(&format!("run list --parent {run}")).contains("undone by a restart"));
}
