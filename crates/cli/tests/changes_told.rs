//! What people and agents are told of runs that are changed under way: what stands against a change and what to do instead, where
//! a node stands, and how a run goes on by it.

mod house;
mod server;
mod talk;

use house::House;
use serde_json::{Value, json};
use talk::{lease, report, until};

const LINE: &str =
    "workflow: line\nnodes:\n  one: {type: a}\n  two: {type: b, after: [one], with: {n: 1}}\n  three: {type: c, after: [two]}\n";
const TURNS: &str = "workflow: turns\nnodes:\n  rounds:\n    type: loop\n    until: iteration == 1\n    max_iterations: 9\n    do:\n      \
                     nodes:\n        check:\n          type: each\n          items: \"[1, 2]\"\n          do: {nodes: {lint: {type: a}}}\n        \
                     step: {type: a, after: check}\n";
const CALLER: &str = "workflow: caller\nnodes:\n  sub: {type: workflow, run: line}\n";

fn work(house: &House, kind: &str) {
    let task = lease(&house.server, "w", kind);
    assert_eq!(report(&house.server, "w", &task, json!({"status": "done", "output": 1}))["ok"], true);
}

fn fail(house: &House, kind: &str) {
    let task = lease(&house.server, "w", kind);
    let failed = json!({"status": "failed", "error": {"code": "no", "message": "not so"}, "retryable": false});
    assert_eq!(report(&house.server, "w", &task, failed)["ok"], true);
}

fn commands(document: &Value) -> Vec<String> {
    let next = document["next_actions"].as_array().unwrap();
    next.iter().map(|one| one["command"].as_str().unwrap().trim_start_matches("signaller ").to_owned()).collect()
}

#[test]
fn what_failed_says_that_it_can_be_mended() {
    let house = House::start();
    house.put(LINE);
    let run = house.start_run("line", &json!({}));
    work(&house, "a");
    house.ok(&format!("run patch {run} --set nodes.three.timeout=1m"));
    fail(&house, "b");
    house.ended(&run);
    let watched = house.refused(&format!("run watch {run}"), 1, "run_failed");
    assert!(
        watched["fix"].as_str().unwrap().contains(&format!("`run patch {run}`, or `run retry` with --with or --set")),
        "{watched}"
    );
    for command in [format!("run patch {run} --edit"), format!("run fork '{run}/two' --dry-run"), format!("run retry {run}")] {
        assert!(commands(&watched).contains(&command), "{command}: {watched}");
    }
    let explained = house.ok(&format!("run explain {run}"));
    let sentence = explained["sentence"].as_str().unwrap();
    assert!(sentence.contains("on version 1, revision 1, or by another text: `run patch` first"), "{sentence}");
    let explained = house.run(&format!("run explain {run}/two")).json();
    assert!(explained["result"]["sentence"].as_str().unwrap().contains("another input (--with) or text (--set)"), "{explained}");
    // What is advised can be done as it is written.
    assert!(commands(&explained).contains(&format!("run retry {run} --node 'two'")), "{explained}");
    house.ok(&format!("run fork '{run}/two' --dry-run"));
    house.ok(&format!("run retry {run} --node 'two'"));
}

#[test]
fn what_stands_against_a_change_says_what_to_do_instead() {
    let house = House::start();
    house.put(LINE);
    let run = house.start_run("line", &json!({}));
    work(&house, "a");
    house.node_is(&run, "two", "queued");
    // The restart that is advised takes the change along, and works as it is written.
    let frozen = house.refused(&format!("run patch {run} --set 'nodes.two.with.n=2'"), 4, "frozen");
    assert!(frozen["error"]["message"].as_str().unwrap().starts_with(&format!("{run}/two is queued: ")), "{frozen}");
    let restart = format!("run restart {run}/two --set 'nodes.two.with.n=2'");
    assert_eq!(commands(&frozen), std::slice::from_ref(&restart), "{frozen}");
    assert_eq!(house.ok(&restart)["revision"], 1);
    work(&house, "b");
    work(&house, "c");
    assert_eq!(house.ended(&run)["status"], "done");
    for (line, says) in [
        (format!("run patch {run} --set nodes.three.timeout=1m"), "what is done cannot be patched any more"),
        (format!("run skip {run}/three"), "nothing is left in it to skip"),
    ] {
        let ended = house.refused(&line, 4, "run_ended");
        assert_eq!(ended["error"]["message"], json!(format!("{run} is done: {says}")), "{ended}");
        assert!(ended["fix"].as_str().unwrap().contains(&format!("run restart {run}/NODE --set")), "{ended}");
        commands(&ended).iter().for_each(|command| _ = house.ok(command));
    }
    // A run that another called goes on with its caller.
    house.put(CALLER);
    let caller = house.start_run("caller", &json!({}));
    let child = until("it is called", || house.view(&caller)["nodes"][0]["sub_run"].as_str().map(str::to_owned));
    work(&house, "a");
    fail(&house, "b");
    house.ended(&caller);
    let refused = house.refused(&format!("run restart {child}/two"), 2, "invalid");
    assert_eq!(refused["fix"], json!(format!("restart {caller} from sub, the node that called it")), "{refused}");
    assert_eq!(commands(&refused), [format!("run restart {caller}/sub")]);
    let refused = house.refused(&format!("run retry {child}"), 2, "invalid");
    assert_eq!(commands(&refused)[0], format!("run retry {caller}"), "{refused}");
    // As the docs say: the called one is patched, and its caller tried again.
    house.ok(&format!("run patch {child} --set nodes.two.with.n=5"));
    house.ok(&format!("run retry {caller}"));
    assert_eq!(lease(&house.server, "w", "b")["input"], json!({"n": 5}));
}

#[test]
fn a_node_in_a_loop_is_named_with_its_turn() {
    let house = House::start();
    house.put(TURNS);
    let run = house.start_run("turns", &json!({}));
    house.node_is(&run, "rounds[0].check[0]/lint", "queued");
    for verb in ["restart", "skip", "show"] {
        let refused = house.refused(&format!("run {verb} {run}/step"), 3, "node_not_found");
        let fix = format!("`step` stands in `rounds`: say in which turn or item, as in {run}/rounds[0]/step");
        assert_eq!(refused["fix"], json!(fix), "{refused}");
        assert_eq!(commands(&refused), [format!("run {verb} '{run}/rounds[0]/step'")]);
    }
    for (written, meant) in [("rounds/step", "rounds[0]/step"), ("rounds[1]/check[2]/lint", "rounds[1].check[2]/lint")] {
        for line in
            [format!("run restart {run}/{written}"), format!("run show {run}/{written}"), format!("run explain {run}/{written}")]
        {
            let refused = house.refused(&line, 2, "usage");
            assert!(refused["error"]["message"].as_str().unwrap().contains(&format!("did you mean {run}/{meant}?")), "{refused}");
        }
        let (status, answer) = house.server.ask("POST", &format!("/v1/runs/{run}/skip"), Some(&json!({"node": written})));
        assert_eq!((status, &answer["error"]["code"]), (404, &json!("node_not_found")));
        assert!(answer["error"]["fix"].as_str().unwrap().starts_with(&format!("did you mean {meant}?")), "{answer}");
    }
}

#[test]
fn a_skip_says_how_its_run_goes_on() {
    let house = House::start();
    house.put(LINE);
    let run = house.start_run("line", &json!({}));
    work(&house, "a");
    house.node_is(&run, "two", "queued");
    house.ok(&format!("run pause {run}"));
    let told = house.told(&format!("run skip {run}/two --reason 'by hand'"));
    assert!(told.contains(&format!("{run} is paused, and goes on when it is resumed.")), "{told}");
    house.ok(&format!("run cancel {run}"));
    until("it has come to rest", || (house.view(&run)["stopping"] != json!(true)).then_some(()));
    let other = house.start_run("line", &json!({}));
    house.node_is(&other, "one", "queued");
    house.ok(&format!("run cancel {other}"));
    until("it has come to rest", || (house.view(&other)["stopping"] != json!(true)).then_some(()));
    let told = house.told(&format!("run skip {other}/one"));
    assert!(told.contains(&format!("{other} was cancelled, and runs again.")), "{told}");
    house.ok(&format!("run skip {other}/two"));
    let last = house.ok(&format!("run skip {other}/three --output 7"));
    assert_eq!(last["status"], "done", "{last}");
    // Whose word it was is shown with the node.
    let shown = house.told(&format!("run show {run}/two"));
    assert!(shown.lines().any(|line| line.starts_with("skipped by") && line.ends_with("ana: by hand")), "{shown}");
}

#[test]
fn hints_are_of_what_was_written() {
    let house = House::start();
    house.put(LINE);
    let run = house.start_run("line", &json!({}));
    let bad = house.file("bad.json", r#"[{"op": "change", "path": "/nodes/two"}]"#);
    house.file("not.json", "{bad");
    for (line, exit, message, fix) in [
        (format!("run restart {run}/one --with '{{bad'"), 2, "--with is not JSON: ", "--with '{"),
        (format!("run skip {run}/one --output '{{bad'"), 2, "--output is not JSON: ", "--output '{"),
        (format!("run skip {run}/one --output @not.json"), 2, "--output in `not.json` is not JSON: ", "--output"),
        (
            format!("run patch {run} -f {bad}"),
            2,
            "bad.json: operations[0] (change /nodes/two): there is no operation `change`",
            "one of add",
        ),
        (format!("run patch {run} -f not.json"), 2, "not.json: ", "write a list of RFC 6902 operations"),
        (format!("run patch {run} --set 'nodes.two.with=[1'"), 2, "`[1` begins as JSON does, and is none", "correct it"),
        (format!("run fork {run} --at 03:47:05"), 2, "`03:47:05` is not a time", "--help"),
        ("run retry --where 'input.n > 3'".to_owned(), 2, "`input` is not known here", "known are `id`, `workflow`"),
    ] {
        let answer = house.run(&line);
        let document = answer.json();
        assert_eq!(answer.exit, exit, "{line}: {document}");
        assert!(document["error"]["message"].as_str().unwrap().contains(message), "{line}: {document}");
        assert!(document["fix"].as_str().unwrap().contains(fix), "{line}: {document}");
        assert!(
            !document.to_string().contains("/openapi.json") && !document["fix"].as_str().unwrap().contains("-i '"),
            "{document}"
        );
    }
    // People see every problem, too.
    let two = json!([{"op": "add", "path": "/nodes/x", "value": {"type": "a", "after": ["no"]}},
                     {"op": "add", "path": "/nodes/y", "value": {"type": "a", "after": ["none"]}}]);
    house.file("two.json", &two.to_string());
    let answer = house.run(&format!("--human run patch {run} -f two.json"));
    assert!(
        answer.err.contains("nodes.x.after[0]") && answer.err.contains("   and: ") && answer.err.contains("nodes.y.after[0]"),
        "{}",
        answer.err
    );
}
