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
    let put = |version: u32, unchanged: bool| json!({"workflows": [{"file": file, "workflow": "greet", "version": version, "unchanged": unchanged}]});
    assert_eq!(house.ok(&format!("workflow put {file}")), put(1, false));
    assert_eq!(house.ok(&format!("workflow put {file}")), put(1, true));
    house.file("greet.yaml", &GREET.replace("hello", "hi"));
    assert_eq!(house.told(&format!("workflow put {file}")), "Put greet as version 2.\n");
    house.file("greet.yaml", &format!("version: 2\n{GREET}"));
    let taken = house.refused(&format!("workflow put {file}"), 4, "version_taken");
    assert!(taken["fix"].as_str().unwrap().contains("version 3"), "{taken}");
    assert_eq!(taken["error"]["message"], "workflow `greet` has version 2 already, with another text");
    assert_eq!(taken["next_actions"][0]["command"], "signaller workflow show greet");
    house.file("greet.yaml", &format!("version: 1\n{GREET}"));
    let old = house.refused(&format!("workflow put {file}"), 4, "version_taken");
    assert_eq!(old["error"]["message"], "workflow `greet` has version 1 already, with another text");

    let shown = house.ok("workflow show greet");
    assert_eq!((&shown["version"], &shown["put_by"]), (&json!(2), &json!("ana")), "{shown}");
    assert_eq!(shown["nodes"], json!([{"node": "hi", "type": "greet"}]), "{shown}");
    let versions: Vec<&Value> = shown["versions"].as_array().unwrap().iter().map(|one| &one["version"]).collect();
    assert_eq!(versions, [&json!(2), &json!(1)]);
    assert_eq!(house.ok("workflow show greet --version 1")["text"], json!(GREET));
    assert_eq!(house.run("workflow show greet --version 1 --text").out.trim_end(), GREET.trim_end());
    let unknown = house.refused("workflow show greet --version 9", 3, "workflow_not_found");
    assert_eq!(unknown["error"]["message"], "there is no workflow `greet` with version 9; its newest is version 2");
    assert_eq!(unknown["next_actions"][0]["command"], "signaller workflow show greet");
    let unknown = house.refused("workflow show gret", 3, "workflow_not_found");
    assert_eq!(unknown["error"]["message"], "there is no workflow `gret`; did you mean `greet`?");
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
    // Each problem is told once.
    assert_eq!(
        people.out.matches("no node `clasify`").count() + people.err.matches("no node `clasify`").count(),
        2,
        "{}",
        people.err
    );
    assert!(people.err.starts_with("error: 2 problems found\n"), "{}", people.err);
    let good = house.file("good.yaml", GREET);
    assert_eq!(alone(&format!("workflow validate {good}")).exit, 0);
    assert!(alone(&format!("workflow graph {good}")).out.contains("hello"));
    assert_eq!(alone("workflow validate nowhere.yaml").exit, 2);
    // Nothing is put if one file is wrong.
    house.refused(&format!("workflow put {good} {file}"), 2, "invalid_workflow");
    assert_eq!(house.ok("workflow list")["workflows"], json!([]));
    let people = house.run(&format!("--human workflow put {good} {file}"));
    assert!(people.exit == 2 && people.out.contains("good.yaml has no problems, and was not put either."), "{}", people.out);
    assert!(people.out.contains("bad.yaml:6:"), "{}", people.out);
    let schema = "workflow: s\ninput: {type: 5}\nnodes:\n  x: {type: t}\n";
    assert_eq!(house.post_text("/v1/workflows/check", "text/yaml", schema).0, 400);
}

#[test]
fn a_file_that_is_called_json_is_held_to_it_and_thousands_of_mistakes_are_counted() {
    let house = House::start();
    let alone = |line: &str| ran(command(house.folder.path(), "http://127.0.0.1:9", line));
    let comma = house.file("comma.json", "{\n  \"workflow\": \"w\",\n  \"nodes\": {\"a\": {\"type\": \"x\"}},\n}\n");
    for line in ["workflow validate", "workflow graph", "workflow put"] {
        let document = alone(&format!("{line} {comma}")).json();
        assert_eq!(document["error"]["code"], "invalid_workflow", "{document}");
        let problem = &document["error"]["problems"][0];
        assert_eq!((&problem["line"], &problem["message"]), (&json!(4), &json!("this is not JSON: trailing comma")));
    }
    let nodes: String = (0..9_000).map(|at| format!("  n{at}: {{type: x, after: zz}}\n")).collect();
    let many = house.file("many.yaml", &format!("workflow: w\nnodes:\n{nodes}"));
    let people = alone(&format!("--human workflow validate {many}"));
    assert!(people.err.starts_with("error: 9000 problems found\n"), "{}", people.err);
    assert!(people.out.contains("and 8900 more problems"), "{}", people.out);
    let good = house.file("good.yaml", GREET);
    assert_eq!(
        alone(&format!("--human workflow validate {good}")).out.lines().next(),
        Some(&*format!("{good}: greet: no problems, 1 node."))
    );
}

#[test]
fn conditions_and_the_schema_of_the_input_are_shown() {
    let house = House::start();
    house.put("workflow: w\ninput: {type: object, required: [n]}\nnodes:\n  a: {type: x}\n  b: {type: x, after: a, when: input.n > 1}\n");
    let shown = house.ok("workflow show w");
    assert_eq!(shown["input"], json!({"type": "object", "required": ["n"]}), "{shown}");
    assert_eq!(shown["nodes"][1], json!({"node": "b", "type": "x", "after": ["a"], "when": "input.n > 1"}), "{shown}");
    let told = house.told("workflow show w");
    assert!(
        told.contains("WHEN") && told.contains("input.n > 1") && told.contains(r#"{"required":["n"],"type":"object"}"#),
        "{told}"
    );
    assert!(house.run("workflow graph w").out.contains("b  when input.n > 1"), "the picture has it");
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

#[test]
fn several_files_are_put_together_or_not_at_all() {
    let house = House::start();
    let greet = house.file("greet.yaml", GREET);
    let other = house.file("other.json", r#"{"workflow":"other","version":2,"nodes":{"x":{"type":"t"}}}"#);
    let told = house.told(&format!("workflow put {greet} {other}"));
    assert_eq!(told, format!("{greet}: Put greet as version 1.\n{other}: Put other as version 2.\n"));
    // The second is refused by the server: the first, which could be put, is not put either.
    house.file("greet.yaml", &GREET.replace("hello", "hi"));
    house.file("other.json", r#"{"workflow":"other","version":1,"nodes":{"y":{"type":"t"}}}"#);
    let refused = house.refused(&format!("workflow put {greet} {other}"), 4, "version_taken");
    let message = "workflow `other` is at version 2: an older one cannot be put; none of the 2 files was put";
    assert_eq!(refused["error"]["message"], message);
    assert_eq!(house.ok("workflow show greet")["version"], 1);
}

#[test]
fn what_may_not_be_meant_is_warned_of() {
    let house = House::start();
    let greet = house.file("greet.yaml", GREET);
    let text = "workflow: calls\nnodes:\n  gate: {type: apporval}\n  sub: {type: workflow, run: gret}\n  \
                old: {type: workflow, run: greet, version: 7}\n  own: {type: workflow, run: calls}\n";
    let calls = house.file("calls.yaml", text);
    let put = house.ok(&format!("workflow put {greet} {calls}"));
    let warnings: Vec<(u64, &str)> = put["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["line"].as_u64().unwrap(), one["message"].as_str().unwrap()))
        .collect();
    assert_eq!(warnings.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [3, 4, 5, 6], "{put}");
    assert!(warnings[0].1.contains("`apporval` is no type of the engine's"), "{put}");
    assert!(warnings[1].1.contains("there is no workflow `gret` yet"), "{put}");
    assert!(warnings[2].1.contains("there is no workflow `greet` with version 7 yet"), "{put}");
    assert_eq!(put["warnings"][0]["suggestion"], "did you mean `approval`?");
    assert_eq!(put["warnings"][1]["suggestion"], "did you mean `greet`?");
    assert_eq!(put["warnings"][0]["file"], json!(calls));
    // Told to people at their places; what needs no server, without one.
    let told = house.told(&format!("workflow validate {calls}"));
    assert!(told.contains("calls.yaml:3:3: warning: nodes.gate.type: `apporval`"), "{told}");
    assert_eq!(house.ok("workflow list")["workflows"].as_array().unwrap().len(), 2, "warnings hold up nothing");
}

#[test]
fn a_schema_of_an_input_is_told_where_it_is_wrong() {
    let house = House::start();
    for (input, line, path, message) in [
        ("{type: objekt}", 2, "input.type", "`objekt` is no type of JSON Schema"),
        ("\n  properties:\n    a: {minLength: -1}", 4, "input.properties.a.minLength", "no JSON Schema"),
    ] {
        let file = house.file("w.yaml", &format!("workflow: w\ninput: {input}\nnodes:\n  x: {{type: t}}\n"));
        let refused = house.refused(&format!("workflow validate {file}"), 2, "invalid_workflow");
        let problem = &refused["error"]["problems"][0];
        assert_eq!((&problem["line"], &problem["path"]), (&json!(line), &json!(path)), "{refused}");
        assert!(problem["message"].as_str().unwrap().contains(message), "{refused}");
    }
}

#[test]
fn a_disabled_workflow_starts_nothing_and_what_runs_goes_on() {
    let house = House::start();
    house.put(GREET);
    house.put("workflow: caller\nnodes:\n  sub: {type: workflow, run: greet}\n");
    let before = house.start_run("greet", &json!({"name": "Ada"}));
    let told = house.told("workflow disable greet --reason audit");
    assert_eq!(told, "greet is disabled: no new runs of it start; those that run go on.\n");
    assert_eq!(house.told("workflow disable greet"), "greet was disabled before.\n");
    let refused = house.refused("run start greet --input '{}'", 4, "workflow_disabled");
    assert_eq!(refused["error"]["message"], "workflow `greet` was disabled by ana (audit): no new runs of it start");
    assert_eq!(refused["next_actions"][0]["command"], "signaller workflow enable greet");
    // Whatever is put; whichever version is asked for; and whoever calls it.
    house.put(&GREET.replace("hello", "hi"));
    house.refused("run start greet --version 1 --input '{}'", 4, "workflow_disabled");
    let calling = house.start_run("caller", &json!({}));
    assert_eq!(house.ended(&calling)["error"]["code"], "workflow_disabled");
    assert!(house.told("workflow list").contains("by ana: audit"), "{}", house.told("workflow list"));
    assert!(house.told("workflow show greet --version 1").contains("disabled"), "it is the workflow's, not the version's");
    let task = talk::lease(&house.server, "w", "greet");
    talk::report(&house.server, "w", &task, json!({"status": "done"}));
    assert_eq!(house.ended(&before)["status"], "done");

    assert_eq!(house.told("workflow enable greet"), "greet is enabled: new runs of it may start.\n");
    house.ok("run start greet --input '{}'");
    house.ok(&format!("run retry {calling}"));
    house.node_is(&calling, "sub", "running");
    house.refused("workflow disable nobody", 3, "workflow_not_found");
}

#[test]
fn nodes_are_called_what_their_author_called_them() {
    let house = House::start();
    let text = "workflow: w\nnodes:\n  f: {type: filter, items: input.rows, where: item > 1}\n  \
                a: {type: aggregate, after: f, items: output, op: sum}\n";
    house.put(text);
    let types = |of: &Value| of["nodes"].as_array().unwrap().iter().map(|node| node["type"].clone()).collect::<Vec<_>>();
    assert_eq!(types(&house.ok("workflow show w")), ["filter", "aggregate"]);
    let run = house.start_run("w", &json!({"rows": [1, 2, 3]}));
    assert_eq!(types(&house.ended(&run)), ["filter", "aggregate"]);
    let drawn = house.run("workflow graph w").out;
    assert!(drawn.contains("aggregate") && !drawn.contains("transform"), "{drawn}");
}
