//! The commands of the README's workflows and of `docs/changing-runs.md` work as they are written, in their order.

mod house;
mod server;
mod talk;

use house::{House, command, ran};
use serde_json::json;
use std::path::PathBuf;
use talk::{lease, report, until};

fn page(name: &str) -> String {
    std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).unwrap()
}

/// The commands of each block that begins with this line, without what is said of them.
fn blocks(page: &str, fence: &str, prompt: &str) -> Vec<Vec<String>> {
    let blocks = page.split(fence).skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    let line = |line: &str| Some(line.strip_prefix(prompt)?.split("  #").next()?.split(" # ").next()?.trim().to_owned());
    blocks.map(|block| block.lines().filter_map(line).collect::<Vec<String>>()).filter(|lines| !lines.is_empty()).collect()
}

/// Runs a line as it is written; `EDITOR` adds a node.
#[track_caller]
fn works(house: &House, line: &str) {
    let editor =
        house.file("editor.sh", "sed -i 's/\"publish\": {/\"extra\": {\"type\": \"bank\", \"after\": [\"publish\"]}, &/' \"$1\"");
    let mut command = command(house.folder.path(), &house.server.url, line);
    command.env("EDITOR", format!("sh {editor}")).env_remove("VISUAL");
    let answer = ran(command);
    assert_eq!(answer.exit, 0, "{line}: {} {}", answer.out, answer.err);
}

#[test]
fn the_workflow_of_the_readme_goes_as_it_is_told() {
    let house = House::start();
    let readme = page("README.md");
    let blocks = blocks(&readme, "```\n", "signaller ");
    let block = blocks.iter().find(|block| block[0].starts_with("workflow validate")).expect("it is told");
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut run = String::new();
    for line in block {
        let line = line.replace("RUN", &run).replace("examples/", &format!("{}/examples/", root.display()));
        if line.starts_with("run start") {
            run = house.ok(&line)["run"].as_str().unwrap().to_owned();
        } else {
            works(&house, &line);
        }
    }
    assert!(block.len() > 15);
}

const REFUND: &str = r#"{"workflow": "refund", "nodes": {
  "rounds": {"type": "loop", "until": "iteration == 1", "max_iterations": 3, "do": {"nodes": {"lint": {"type": "lint"}}}},
  "pay": {"type": "bank", "after": ["rounds"], "with": {"account": "one"}},
  "audit": {"type": "audit", "after": ["pay"]},
  "publish": {"type": "site", "after": ["audit"]}
}}"#;

#[test]
fn what_is_told_of_changing_runs_works() {
    let house = House::start();
    house.put(REFUND);
    let ops = json!([{"op": "add", "path": "/nodes/publish/timeout", "value": "2h"}]);
    house.file("ops.json", &ops.to_string());
    house.file("order.json", "{\"order\": 7}");
    let run = house.start_run("refund", &json!({"order": 1}));
    let blocks = blocks(&page("docs/changing-runs.md"), "```console\n", "$ signaller ");
    let [patch, many, change, fork] = &blocks[..] else { panic!("{blocks:?}") };
    let all = |lines: &[String], record: &str| {
        lines.iter().for_each(|line| works(&house, &line.replace("run-7", &run).replace("r1042", record)));
    };
    let work = |kind: &str| {
        let task = lease(&house.server, "w", kind);
        assert_eq!(report(&house.server, "w", &task, json!({"status": "done", "output": 1}))["ok"], true);
    };
    let text = house.server.get(&format!("/v1/runs/{run}/definition"))["text"].as_str().unwrap().to_owned();
    house.file("refund.yaml", &text.replace("\"one\"", "\"two\""));
    all(patch, "");
    all(many, "");
    work("lint");
    work("lint");
    let task = lease(&house.server, "w", "bank");
    let failed = json!({"status": "failed", "error": {"code": "closed", "message": ""}, "retryable": false});
    report(&house.server, "w", &task, failed);
    assert_eq!(house.ended(&run)["status"], "failed");
    all(change, "");
    // From turn 1 on it goes once more.
    work("lint");
    house.node_is(&run, "pay", "queued");
    let history = house.server.get(&format!("/v1/runs/{run}/history?limit=1000"));
    let last = history["records"].as_array().unwrap().last().unwrap()["seq"].as_str().unwrap().to_owned();
    let _worker = house.worker("lint,bank,audit,site", "echo 1");
    all(fork, &last);
    until("all of them are done", || {
        let runs = house.server.get("/v1/runs?limit=100")["runs"].as_array().cloned().unwrap_or_default();
        (runs.len() >= 4 && runs.iter().all(|run| run["status"] == "done")).then_some(())
    });
}
