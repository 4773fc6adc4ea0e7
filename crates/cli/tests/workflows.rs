//! Definitions through the real binary: checked, put version by version, shown and drawn; what is wrong is told by place.

mod house;
mod server;
mod talk;

use house::{House, command, example, ran};
use serde_json::{Value, json};

const GREET: &str = "workflow: greet\nnodes:\n  hello: {type: greet, with: {name: \"${input.name}\"}}\n";

#[test]
fn a_text_becomes_a_version_once() {
    let house = House::start();
    assert_eq!(house.told("workflow list"), "There is no workflow yet. Put one: signaller workflow put FILE\n");
    let file = house.file("greet.yaml", GREET);
    let put =
        |version: u32, unchanged: bool| json!({"workflows": [{"workflow": "greet", "version": version, "unchanged": unchanged}]});
    assert_eq!(house.ok(&format!("workflow put {file}")), put(1, false));
    assert_eq!(house.ok(&format!("workflow put {file}")), put(1, true));
    house.file("greet.yaml", &GREET.replace("hello", "hi"));
    assert_eq!(house.told(&format!("workflow put {file}")), "Put greet as version 2.\n");
    house.file("greet.yaml", &format!("version: 2\n{GREET}"));
    let taken = house.refused(&format!("workflow put {file}"), 4, "version_taken");
    assert!(taken["fix"].as_str().unwrap().contains("version 3"), "{taken}");

    let shown = house.ok("workflow show greet");
    assert_eq!((&shown["version"], &shown["put_by"]), (&json!(2), &json!("ana")), "{shown}");
    assert_eq!(shown["nodes"], json!([{"node": "hi", "type": "greet"}]), "{shown}");
    let versions: Vec<&Value> = shown["versions"].as_array().unwrap().iter().map(|one| &one["version"]).collect();
    assert_eq!(versions, [&json!(2), &json!(1)]);
    assert_eq!(house.ok("workflow show greet --version 1")["text"], json!(GREET));
    assert_eq!(house.run("workflow show greet --version 1 --text").out.trim_end(), GREET.trim_end());
    house.refused("workflow show greet --version 9", 3, "workflow_not_found");
    house.refused("workflow show nobody", 3, "workflow_not_found");
    assert!(house.told("workflow list").contains("greet"), "it is listed");
}

#[test]
fn several_definitions_in_a_text_stand_alone() {
    let house = House::start();
    let text = format!("# both\n{GREET}---\nworkflow: team/check\nversion: 7\nnodes:\n  x: {{type: t}}\n");
    let answer = house.put(&text);
    assert_eq!(answer["workflows"][1], json!({"workflow": "team/check", "version": 7, "unchanged": false}), "{answer}");
    let shown = house.ok("workflow show team/check")["text"].clone();
    assert_eq!(shown, json!("workflow: team/check\nversion: 7\nnodes:\n  x: {type: t}\n"));
    // One that is called as an operation is found all the same.
    house.put("workflow: check\nnodes:\n  x: {type: t}\n");
    assert_eq!(house.ok("workflow show check")["workflow"], "check");
    let (status, checked) = house.post_text("/v1/workflows/check", "application/yaml", &text);
    assert_eq!((status, checked["workflows"].as_array().map(Vec::len)), (200, Some(2)), "{checked}");
    let (status, _) = house.post_text("/v1/workflows", "application/json", r#"{"workflow":"j","nodes":{"x":{"type":"t"}}}"#);
    assert_eq!(status, 200);
    assert_eq!(house.post_text("/v1/workflows", "image/png", GREET).0, 415);
    assert_eq!(house.server.get("/v1/workflows")["workflows"].as_array().unwrap().len(), 4);
}

#[test]
fn what_is_wrong_is_told_by_its_place() {
    let house = House::start();
    let bad = "workflow: w\nnodes:\n  classify: {type: classifier}\n  pay:\n    type: http\n    after: clasify\n    when: nodes.clasify.output.ok\n";
    let (status, answer) = house.post_text("/v1/workflows", "text/yaml", bad);
    assert_eq!((status, talk::refusal(status, &answer, bad)), (400, "invalid_workflow".into()));
    let problems = answer["error"]["problems"].as_array().unwrap();
    assert!(problems.len() >= 2, "{answer}");
    assert!(problems.iter().any(|one| one["line"] == 6 && one["path"] == "nodes.pay.after"), "{answer}");
    assert!(problems.iter().any(|one| one["suggestion"] == "did you mean `classify`?"), "{answer}");

    // Without a server, and in the same words.
    let file = house.file("bad.yaml", bad);
    let nobody = "http://127.0.0.1:9";
    let alone = |line: &str| ran(command(house.folder.path(), nobody, line));
    let checked = alone(&format!("workflow validate {file}"));
    let document = checked.json();
    assert_eq!((checked.exit, &document["error"]["code"]), (2, &json!("invalid_workflow")), "{document}");
    assert_eq!(document["error"]["problems"], answer["error"]["problems"]);
    let people = alone(&format!("--human workflow validate {file}"));
    assert!(people.out.contains("bad.yaml:6:") && people.out.contains("nodes.pay.after: "), "{}", people.out);
    assert!(people.out.contains("\n  did you mean `classify`?"), "{}", people.out);
    let good = house.file("good.yaml", GREET);
    assert_eq!(alone(&format!("workflow validate {good}")).exit, 0);
    assert!(alone(&format!("workflow graph {good}")).out.contains("hello"));
    assert_eq!(alone("workflow validate nowhere.yaml").exit, 2);
    // Nothing is put if one file is wrong.
    house.refused(&format!("workflow put {good} {file}"), 2, "invalid_workflow");
    assert_eq!(house.ok("workflow list")["workflows"], json!([]));
    let schema = "workflow: s\ninput: {type: 5}\nnodes:\n  x: {type: t}\n";
    assert_eq!(house.post_text("/v1/workflows/check", "text/yaml", schema).0, 400);
}

#[test]
fn workflows_are_drawn_and_their_schema_is_published() {
    let house = House::start();
    house.ok(&format!("workflow put {}", example("refund.yaml")));
    let drawn = house.run("workflow graph refund").out;
    assert!(drawn.contains("classify") && drawn.contains("else"), "{drawn}");
    assert_eq!(house.run(&format!("workflow graph {}", example("refund.yaml"))).out, drawn);
    assert!(house.run("workflow graph refund --mermaid").out.starts_with("flowchart"));
    assert!(house.ok("workflow graph refund --json")["graph"].as_str().unwrap().contains("classify"));
    let schema = house.server.get("/v1/workflow.schema.json");
    assert_eq!(schema["title"], "Signaller workflow");
    let printed: Value = serde_json::from_str(&house.run("workflow schema").out).unwrap();
    assert_eq!(printed, schema);
    house.refused("workflow graph nobody", 3, "workflow_not_found");
}
