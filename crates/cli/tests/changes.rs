//! Runs changed under way, over HTTP and by the command line, with the real binary.

mod house;
mod server;
mod talk;

use house::{House, Worker, command, example, ran};
use serde_json::{Value, json};
use server::Server;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use talk::{lease, report, until, verified};

const LINE: &str =
    "workflow: line\nnodes:\n  one: {type: a}\n  two: {type: b, after: [one], with: {n: 1}}\n  three: {type: c, after: [two]}\n";

fn patch(house: &House, run: &str, body: Value) -> (u16, Value) {
    house.server.ask("POST", &format!("/v1/runs/{run}/patch"), Some(&body))
}

/// All that a patch could change, byte by byte.
fn whole(house: &House, run: &str) -> (Value, Value, Value) {
    let history = house.server.get(&format!("/v1/runs/{run}/history?limit=1000"));
    (house.server.get(&format!("/v1/runs/{run}/definition")), history, house.view(run))
}

fn audit() -> Value {
    json!([{"op": "add", "path": "/nodes/audit", "value": {"type": "d", "after": ["two"]}}])
}

#[test]
fn a_patch_is_told_before_and_done_and_told_after() {
    let house = House::start();
    house.put(LINE);
    let run = house.start_run("line", &json!({}));
    let before = whole(&house, &run);
    let (status, told) = patch(&house, &run, json!({"operations": audit(), "dry_run": true}));
    assert_eq!((status, &told["revision"], &told["dry_run"]), (200, &json!(1), &json!(true)), "{told}");
    assert_eq!(told["added"], json!([{"node": "audit", "type": "d", "after": ["two"]}]), "{told}");
    assert_eq!(whole(&house, &run), before, "a dry run changes nothing");
    // The seed's shape.
    let body = json!({"operations": audit(), "description": "look twice", "node_id": "one"});
    let (status, told) = patch(&house, &run, body);
    assert_eq!((status, &told["revision"], &told["unchanged"]), (200, &json!(1), &json!(false)), "{told}");
    assert_eq!(told["changes"], json!(["+ audit (d) after two"]), "{told}");
    // The same once more is nothing.
    let (status, told) = patch(&house, &run, json!({"operations": audit()}));
    assert_eq!((status, &told["revision"], &told["unchanged"]), (200, &json!(1), &json!(true)), "{told}");
    let definition = house.server.get(&format!("/v1/runs/{run}/definition"));
    assert_eq!((&definition["revision"], &definition["description"]), (&json!(1), &json!("look twice")), "{definition}");
    assert_eq!((&definition["node"], &definition["operations"]), (&json!("one"), &audit()), "{definition}");
    assert_eq!(house.server.get(&format!("/v1/runs/{run}/definition?revision=0"))["text"], LINE);
    let (status, none) = house.server.ask("GET", &format!("/v1/runs/{run}/definition?revision=7"), None);
    assert_eq!((status, none["error"]["message"].as_str().unwrap()), (404, &*format!("{run} has no revision 7: it is at 1")));
    for kind in ["a", "b", "c", "d"] {
        let task = lease(&house.server, "w", kind);
        assert_eq!(report(&house.server, "w", &task, json!({"status": "done", "output": 1}))["ok"], true);
    }
    assert_eq!(house.ended(&run)["status"], "done");
    let told = house.told(&format!("run trace {run}"));
    assert!(
        told.contains("patched by api, at work on one, revision 1: look twice\n") && told.contains("+ audit (d) after two"),
        "{told}"
    );
    let shown = house.told(&format!("run show {run}"));
    assert!(shown.contains("line version 1, revision 1"), "{shown}");
    assert!(house.told("run list").contains("revision 1"));
    verified(&house.data());
}

#[test]
fn a_patch_tells_the_deadline_and_how_many_keep_their_text() {
    let house = House::start();
    house.put(
        "workflow: wide\nlimits: {deadline: 1h}\nnodes:\n  e:\n    type: each\n    items: input\n    concurrency: 100\n    do:\n      nodes:\n        a: {type: a}\n",
    );
    let items: Vec<usize> = (0..60).collect();
    let run = house.start_run("wide", &json!(items));
    let deadline = house.view(&run)["deadline"].clone();
    let operations = json!([
        {"op": "add", "path": "/nodes/e/do/nodes/a/timeout", "value": "1m"},
        {"op": "replace", "path": "/limits/deadline", "value": "2h"},
    ]);
    for dry_run in [true, false] {
        let set = "--set nodes.e.do.nodes.a.timeout=1m --set limits.deadline=2h";
        if dry_run {
            let shown = house.told(&format!("run patch {run} {set} --dry-run"));
            assert!(shown.contains("deadline: in 2 h ("), "{shown}");
            assert!(
                shown.contains("e[0] keeps the text it has: a has begun there") && shown.contains("\nand 10 others"),
                "{shown}"
            );
        }
        let (status, told) = patch(&house, &run, json!({"operations": operations, "dry_run": dry_run}));
        assert_eq!((status, &told["keeps_total"]), (200, &json!(60)), "{told}");
        assert_eq!(told["keeps"].as_array().map(Vec::len), Some(50), "{told}");
        assert!(told["deadline"].as_str() > deadline.as_str(), "{told}");
        let now = house.view(&run)["deadline"].clone();
        assert_eq!(now, if dry_run { deadline.clone() } else { told["deadline"].clone() });
    }
    verified(&house.data());
}

#[test]
fn what_is_refused_changes_not_one_byte() {
    let house = House::start();
    house.put(LINE);
    let run = house.start_run("line", &json!({}));
    let task = lease(&house.server, "w", "a");
    report(&house.server, "w", &task, json!({"status": "done", "output": 1}));
    house.node_is(&run, "two", "queued");
    let before = whole(&house, &run);
    let nodes: Vec<Value> = (0..101)
        .map(|n| json!({"op": "add", "path": format!("/nodes/n{n}"), "value": {"type": "x", "after": ["three"]}}))
        .collect();
    let agents: Vec<Value> = (0..6)
        .map(|n| json!({"op": "add", "path": format!("/nodes/n{n}"), "value": {"type": "agent", "after": ["three"]}}))
        .collect();
    for (operations, status, code, says) in [
        (
            json!([{"op": "replace", "path": "/nodes/two/with/n", "value": 2}]),
            409,
            "frozen",
            "two is queued: its `with` cannot be changed",
        ),
        (json!([{"op": "replace", "path": "/nodes/one/type", "value": "z"}]), 409, "frozen", "one is done: its `type`"),
        (json!([{"op": "remove", "path": "/nodes/none"}]), 409, "patch_failed", "operations[0] (remove /nodes/none)"),
        (json!([{"op": "test", "path": "/workflow", "value": "x"}]), 409, "patch_failed", "operations[0] (test /workflow)"),
        (json!([{"op": "change", "path": "/nodes"}]), 400, "invalid_patch", "there is no operation `change`"),
        (json!({"op": "add"}), 400, "invalid_patch", "a patch is a list of operations"),
        (
            json!([{"op": "add", "path": "/nodes/four", "value": {"type": "x", "after": ["nobody"]}}]),
            400,
            "invalid_workflow",
            "nodes.four.after",
        ),
        (json!([{"op": "replace", "path": "/workflow", "value": "other"}]), 400, "invalid_patch", "`line` would be `other`"),
        (json!([{"op": "add", "path": "/version", "value": 9}]), 400, "invalid_patch", "cannot change the workflow's version"),
        (json!(nodes), 400, "invalid_patch", "it adds 101 nodes; one patch may add at most 100"),
        (json!(agents), 400, "invalid_patch", "it adds 6 agents; one patch may add at most 5"),
    ] {
        let (found, answer) = patch(&house, &run, json!({"operations": operations}));
        assert_eq!((found, talk::refusal(found, &answer, says)), (status, code.to_owned()), "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(says), "{says}: {answer}");
        assert_eq!(whole(&house, &run), before, "{answer}");
        // A dry run is answered, with the same no; only what cannot be read is an error there, too.
        let unreadable = says.contains("no operation") || says.contains("is a list");
        let (found, told) = patch(&house, &run, json!({"operations": operations, "dry_run": true}));
        match unreadable {
            true => assert_eq!((found, &told["error"]["code"]), (400, &json!(code)), "{told}"),
            false => assert_eq!((found, &told["refused"]), (200, &answer["error"]), "{told}"),
        }
        assert_eq!(whole(&house, &run), before, "{told}");
    }
    // Told beforehand with what it would be.
    let frozen = json!([{"op": "replace", "path": "/nodes/two/with/n", "value": 2}]);
    let (status, told) = patch(&house, &run, json!({"operations": frozen, "dry_run": true}));
    assert_eq!((status, &told["refused"]["code"]), (200, &json!("frozen")), "{told}");
    assert_eq!(told["changes"], json!(["~ two: with.n 1 → 2"]), "{told}");
    let answer = house.refused(&format!("run patch {run} --set nodes.two.with.n=2 --dry-run"), 4, "frozen");
    assert_eq!(answer["result"]["changes"], json!(["~ two: with.n 1 → 2"]), "{answer}");
    for (body, says) in [
        (json!({}), "missing field `operations`"),
        (json!({"operations": [], "task": "task-1"}), "`task` and `fence` come together"),
        (json!({"operations": [], "fence": "no fence!", "task": "task-1"}), "`fence` is not one"),
        (json!({"operations": [], "other": 1}), "unknown field `other`"),
    ] {
        let (status, answer) = patch(&house, &run, body);
        assert_eq!(status, 400, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(says), "{answer}");
    }
    assert_eq!(patch(&house, "run-999", json!({"operations": []})).0, 404);
    assert_eq!(whole(&house, &run), before);
    verified(&house.data());
}

#[test]
fn of_two_patches_at_once_one_wins_and_the_other_sees_what_it_did() {
    let house = House::start();
    house.put(LINE);
    let run = house.start_run("line", &json!({}));
    let both = std::thread::scope(|scope| {
        let one = |name: &'static str| {
            let (house, run) = (&house, run.clone());
            scope.spawn(move || {
                let add = json!([{"op": "add", "path": format!("/nodes/{name}"), "value": {"type": "x", "after": ["three"]}}]);
                (name, patch(house, &run, json!({"operations": add, "expected_revision": 0})))
            })
        };
        [one("left"), one("right")].map(|thread| thread.join().unwrap())
    });
    let mut statuses: Vec<u16> = both.iter().map(|(_, (status, _))| *status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409], "{both:?}");
    let winner = both.iter().find(|(_, (status, _))| *status == 200).unwrap().0;
    let (_, (_, conflict)) = both.iter().find(|(_, (status, _))| *status == 409).unwrap();
    let error = &conflict["error"];
    assert_eq!((&error["code"], &error["revision"]), (&json!("revision_conflict"), &json!(1)), "{conflict}");
    assert_eq!(error["changes"], json!([format!("+ {winner} (x) after three")]), "{conflict}");
    // Without a revision that is expected, all of many get through.
    std::thread::scope(|scope| {
        for n in 0..16 {
            let (house, run) = (&house, run.clone());
            scope.spawn(move || {
                let add = json!([{"op": "add", "path": format!("/nodes/n{n}"), "value": {"type": "x", "after": ["three"]}}]);
                let (status, answer) = patch(house, &run, json!({"operations": add}));
                assert_eq!(status, 200, "{answer}");
            });
        }
    });
    let definition = house.server.get(&format!("/v1/runs/{run}/definition?since=1"));
    assert_eq!((&definition["revision"], definition["changes"].as_array().unwrap().len()), (&json!(17), 16), "{definition}");
    let answer =
        house.refused(&format!("run patch {run} --set nodes.three.timeout=1m --expected-revision 2"), 4, "revision_conflict");
    assert_eq!(answer["result"]["revision"], 17, "{answer}");
    let (status, told) = patch(&house, &run, json!({"operations": audit(), "expected_revision": 2, "dry_run": true}));
    assert_eq!((status, &told["refused"]["code"], &told["refused"]["revision"]), (200, &json!("revision_conflict"), &json!(17)));
}

#[test]
fn a_run_has_so_many_revisions_and_no_more() {
    let house = House::start();
    house.put(LINE);
    let run = house.start_run("line", &json!({}));
    let with = |n: u32| json!({"operations": [{"op": "add", "path": "/nodes/three/with", "value": {"n": n}}]});
    for n in 0..100 {
        assert_eq!(patch(&house, &run, with(n)).0, 200);
    }
    let (status, answer) = patch(&house, &run, with(100));
    assert_eq!((status, &answer["error"]["message"]), (409, &json!(format!("{run} was patched 100 times already"))), "{answer}");
}

#[test]
fn a_failed_node_is_retried_with_another_input_and_skipped_and_restarted_from() {
    let house = House::start();
    house.put(LINE);
    house.server.put("/v1/queues/b", &json!({"config": {"retry": {"attempts": 1}}}));
    let run = house.start_run("line", &json!({}));
    let fail = |output: Value| {
        let task = lease(&house.server, "w", "b");
        let failed = json!({"status": "failed", "error": {"code": "no", "message": "not so"}});
        assert_eq!(report(&house.server, "w", &task, failed)["ok"], true);
        assert_eq!(task["input"], output, "{task}");
        assert_eq!(house.ended(&run)["status"], "failed");
    };
    let task = lease(&house.server, "w", "a");
    report(&house.server, "w", &task, json!({"status": "done", "output": 1}));
    fail(json!({"n": 1}));
    let line = format!("run retry {run} --node two --with '{{\"n\":2}}' --reason 'one was wrong'");
    let answer = house.ok(&line);
    assert_eq!(answer["runs"][0]["revision"], 1, "{answer}");
    fail(json!({"n": 2}));
    // The seed's word for it.
    let replayed =
        house.server.post(&format!("/v1/runs/{run}/nodes/two/replay"), &json!({"config": {"n": 3}, "reason": "again"}));
    assert_eq!((&replayed["status"], &replayed["revision"]), (&json!("running"), &json!(2)), "{replayed}");
    fail(json!({"n": 3}));
    let refused = house.refused(&format!("run skip {run}/one"), 4, "not_to_skip");
    assert_eq!(
        refused["error"]["message"],
        json!(format!("{run}/one is done: only a node that waits, is under way or failed its run can be skipped"))
    );
    let settled = house.refused(&format!("run retry {run} --node one"), 4, "node_settled");
    assert_eq!(settled["next_actions"][1]["command"], json!(format!("signaller run restart {run}/one")), "{settled}");
    house.refused(&format!("run retry {run} --expected-revision 1"), 4, "revision_conflict");
    let answer = house.ok(&format!("run skip {run}/two --output '{{\"by\":\"hand\"}}' --reason 'done by hand'"));
    assert_eq!(answer["status"], "running");
    let task = lease(&house.server, "w", "c");
    report(&house.server, "w", &task, json!({"status": "done", "output": 5}));
    assert_eq!(house.ended(&run)["output"], json!(5));
    let two = house.server.get(&format!("/v1/runs/{run}/node?node=two"));
    assert_eq!((&two["status"], &two["output"]), (&json!("done"), &json!({"by": "hand"})), "{two}");
    // What is done is done once more only by force.
    let (status, answer) = house.server.ask("POST", &format!("/v1/runs/{run}/nodes/two/replay"), Some(&json!({})));
    assert_eq!((status, &answer["error"]["code"]), (409, &json!("wrong_state")), "{answer}");
    let line = format!("run restart {run}/two --set nodes.two.with.n=7 --reason 'by machine after all'");
    let now = house.ok(&line);
    assert_eq!((&now["generation"], &now["revision"]), (&json!(1), &json!(3)), "{now}");
    let view = house.view(&run);
    let status = |view: &Value, node: &str| {
        let nodes = view["nodes"].as_array().unwrap();
        nodes.iter().find(|one| one["node"] == node).map(|one| one["status"].clone()).unwrap_or_default()
    };
    assert_eq!((status(&view, "one"), status(&view, "three")), (json!("done"), json!("waiting")), "{view}");
    for (kind, input) in [("b", json!({"n": 7})), ("c", json!(6))] {
        let task = lease(&house.server, "w", kind);
        assert_eq!(task["input"], input);
        report(&house.server, "w", &task, json!({"status": "done", "output": 6}));
    }
    assert_eq!(house.ended(&run)["output"], json!(6));
    let told = house.told(&format!("run trace {run}"));
    for said in [
        "tried again by ana: one was wrong",
        "patched by ana, revision 1: one was wrong",
        "~ two: with.n 1 → 2",
        "tried again by api: again",
        "done, by the word of ana: done by hand",
        "restarted from two by ana, generation 1: by machine after all",
        "undone: it begins anew",
    ] {
        assert!(told.contains(said), "{said}: {told}");
    }
    for (line, exit, code) in [
        (format!("run restart {run}/none"), 3, "node_not_found"),
        (format!("run skip {run}/three"), 4, "run_ended"),
        (format!("run patch {run} --set nodes.three.timeout=1m"), 4, "run_ended"),
        (format!("run patch {run}"), 2, "usage"),
        ("run patch --set a=1".to_owned(), 2, "usage"),
        (format!("run patch {run} --set novalue"), 2, "invalid_patch"),
        (format!("run patch {run} --set 'nodes.two.with={{\"a\":1'"), 2, "invalid_patch"),
        (format!("run patch {run} --unset nodes.none"), 4, "patch_failed"),
        (format!("run patch {run} -f none.json"), 2, "usage"),
    ] {
        house.refused(&line, exit, code);
    }
    verified(&house.data());
}

#[test]
fn turns_that_a_restart_has_undone_are_not_shown() {
    let house = House::start();
    house.put("workflow: turns\nnodes:\n  rounds:\n    type: loop\n    until: iteration == 3\n    max_iterations: 9\n    do:\n      nodes:\n        lint: {type: a}\n");
    let run = house.start_run("turns", &json!({}));
    let work = |times: usize| {
        for _ in 0..times {
            let task = lease(&house.server, "w", "a");
            report(&house.server, "w", &task, json!({"status": "done", "output": 1}));
        }
    };
    work(2);
    house.node_is(&run, "rounds[2]/lint", "queued");
    let now = house.ok(&format!("run restart '{run}/rounds[1]/lint'"));
    assert_eq!(now["generation"], 1, "{now}");
    let lints = |query: &str| -> Vec<String> {
        let nodes = house.server.get(&format!("/v1/runs/{run}{query}"))["nodes"].clone();
        let names = nodes.as_array().unwrap().iter().map(|node| node["node"].as_str().unwrap().to_owned());
        names.filter(|name| name.ends_with("/lint")).collect()
    };
    until("the turn begins anew", || (lints("").len() == 2).then_some(()));
    assert_eq!(lints(""), ["rounds[0]/lint", "rounds[1]/lint"]);
    assert_eq!(lints("/nodes"), ["rounds[0]/lint", "rounds[1]/lint"]);
    assert_eq!(lints("?all_generations=true").len(), 3);
    assert_eq!(lints("/nodes?all_generations=true").len(), 3);
    work(1);
    house.node_is(&run, "rounds[2@1]/lint", "queued");
    assert_eq!(lints(""), ["rounds[0]/lint", "rounds[1]/lint", "rounds[2@1]/lint"]);
    // By its old name, and yet the one that counts.
    let node = house.server.get(&format!("/v1/runs/{run}/node?node=rounds[2]/lint"));
    assert_eq!(node["status"], "queued", "{node}");
    let rounds = house.server.get(&format!("/v1/runs/{run}/node?node=rounds"));
    assert_eq!(rounds["frames"]["done"], 2, "{rounds}");
    assert!(house.told(&format!("run show {run}")).contains("generation 1"));
}

#[test]
fn a_text_is_edited_until_it_can_run() {
    let house = House::start();
    house.put(LINE);
    let run = house.start_run("line", &json!({}));
    let edit = |script: &str, line: &str| {
        let editor = house.file("editor.sh", script);
        let mut command = command(house.folder.path(), &house.server.url, line);
        command.env("EDITOR", format!("sh {editor}")).env_remove("VISUAL");
        ran(command)
    };
    // Without an editor it says so, and waits for nobody.
    let mut none = command(house.folder.path(), &house.server.url, &format!("run patch {run} --edit"));
    none.env_remove("EDITOR").env_remove("VISUAL");
    let none = ran(none);
    assert_eq!((none.exit, &none.json()["error"]["code"]), (2, &json!("usage")), "{}", none.out);
    for (script, says) in [("exit 0", "nothing was changed"), (": > \"$1\"", "the file was empty"), ("exit 3", "ended with")] {
        let answer = edit(script, &format!("run patch {run} --edit"));
        assert_eq!((answer.exit, &answer.json()["error"]["code"]), (2, &json!("aborted")), "{}", answer.out);
        assert!(answer.out.contains(says), "{}", answer.out);
    }
    // Off a terminal a text that cannot run is opened once, and kept for its owner alone.
    let wrong = "echo once >> opened; echo '  four: {type: d, after: [nobody]}' >> \"$1\"";
    let answer = edit(wrong, &format!("run patch {run} --edit"));
    let document = answer.json();
    assert_eq!((answer.exit, &document["error"]["code"]), (2, &json!("invalid_workflow")), "{document}");
    assert_eq!(document["error"]["problems"][0]["path"], "nodes.four.after[0]", "{document}");
    assert_eq!(std::fs::read_to_string(house.folder.path().join("opened")).unwrap(), "once\n");
    let kept = PathBuf::from(document["fix"].as_str().unwrap().rsplit("kept in ").next().unwrap());
    assert_eq!(std::fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
    let again = document["next_actions"][0]["command"].as_str().unwrap().to_owned();
    assert_eq!(again, format!("signaller run patch {run} --text {}", kept.display()));
    // As it is, it is no better; corrected, it is taken up by that very command.
    let again = again.trim_start_matches("signaller ");
    house.refused(again, 2, "invalid_workflow");
    std::fs::write(&kept, std::fs::read_to_string(&kept).unwrap().replace("nobody", "three")).unwrap();
    let forked = house.ok(&format!("run fork {run} --text {} --dry-run", kept.display()));
    assert_eq!(forked["changes"], json!(["+ four (d) after three"]), "{forked}");
    let told = house.ok(&format!("{again} --dry-run"));
    assert_eq!(told["changes"], json!(["+ four (d) after three"]), "{told}");
    std::fs::remove_file(kept).unwrap();
    // At a terminal: first wrong, told so in the file itself, then right.
    let script = "if grep -q 'cannot run' \"$1\"; then grep -q nodes.four.after \"$1\" || exit 9; sed -i 's/nobody/three/' \"$1\"\n\
                  else echo '  four: {type: d, after: [nobody]}' >> \"$1\"; fi";
    let editor = house.file("editor.sh", script);
    let line = ["run", "patch", &run, "--edit", "--description", "one more"];
    let mut terminal = std::process::Command::new("python3");
    terminal.args(["-c", "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)", env!("CARGO_BIN_EXE_signaller")]).args(line);
    terminal
        .env("SIGNALLER_URL", &house.server.url)
        .env("USER", "ana")
        .env("EDITOR", format!("sh {editor}"))
        .env_remove("VISUAL");
    let answer = ran(terminal);
    assert_eq!(answer.exit, 0, "{} {}", answer.out, answer.err);
    assert!(answer.out.contains("+ four (d) after three"), "{}", answer.out);
    let text = ran(command(house.folder.path(), &house.server.url, &format!("run definition {run}"))).out;
    assert!(text.contains("\"four\"") && !text.contains("#:"), "{text}");
    let told = house.told(&format!("run definition {run} --diff"));
    assert_eq!(told.trim(), "revision 1, by ana: one more\n+ four (d) after three");
    // What cannot be is kept for whoever wrote it.
    let task = lease(&house.server, "w", "a");
    report(&house.server, "w", &task, json!({"status": "done", "output": 1}));
    let answer = edit("sed -i 's/\"a\"/\"z\"/' \"$1\"", &format!("run patch {run} --edit"));
    let document = answer.json();
    assert_eq!(document["error"]["code"], "frozen", "{document}");
    let fix = document["fix"].as_str().unwrap();
    let kept = PathBuf::from(fix.rsplit("kept in ").next().unwrap());
    assert!(std::fs::read_to_string(&kept).unwrap().contains("\"z\""), "{fix}");
    std::fs::remove_file(kept).unwrap();
}

fn patching_worker(house: &House, before: &str) -> Worker {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/patching-agent.sh");
    let bin = PathBuf::from(env!("CARGO_BIN_EXE_signaller"));
    let path = format!("{}:{}", bin.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut command = command(house.folder.path(), &house.server.url, "work --type function --type agent --name planner");
    command.args([
        "--",
        "sh",
        "-c",
        &format!("sh {} > out.$SIGNALLER_NODE && {{ {before} cat out.$SIGNALLER_NODE; }}", script.display()),
    ]);
    command.env("PATH", path).stdin(Stdio::null()).stdout(Stdio::null());
    Worker::of(command.spawn().unwrap())
}

/// Seed 003's fourth flow: an agent patches its own run in mid-flight, and what is new is done.
#[test]
fn an_agent_patches_the_run_it_works_in() {
    let house = House::start();
    house.ok(&format!("workflow put {}", example("patched-by-agent.yaml")));
    let run = house.start_run("patched-by-agent", &json!({"topic": "tea"}));
    let _worker = patching_worker(&house, "");
    let view = house.ended(&run);
    assert_eq!(
        (&view["status"], &view["output"], &view["revision"]),
        (&json!("done"), &json!({"did": "report"}), &json!(1)),
        "{view}"
    );
    let definition = house.server.get(&format!("/v1/runs/{run}/definition"));
    assert_eq!((&definition["by"], &definition["node"]), (&json!("planner"), &json!("plan")), "{definition}");
    assert!(house.told(&format!("run trace {run}")).contains("patched by planner, at work on plan, revision 1"));
    verified(&house.data());
}

#[test]
fn what_an_agent_has_patched_survives_the_server() {
    let mut house = House::start();
    house.ok(&format!("workflow put {}", example("patched-by-agent.yaml")));
    let run = house.start_run("patched-by-agent", &json!({"topic": "tea"}));
    let wait = "[ $SIGNALLER_NODE != plan ] || { touch patched; while [ ! -e go ]; do sleep 0.05; done; };";
    let _worker = patching_worker(&house, wait);
    let patched = house.folder.path().join("patched");
    until("the agent has patched its run", || patched.exists().then_some(()));
    assert_eq!(house.view(&run)["revision"], 1);
    house.server.kill_9();
    house.server = Server::start_with(&house.data(), house.server.port, &["--stop-limit", "100ms"], &[]);
    assert_eq!(house.view(&run)["revision"], 1);
    house.file("go", "");
    let view = house.ended(&run);
    assert_eq!((&view["status"], &view["output"]), (&json!("done"), &json!({"did": "report"})), "{view}");
    verified(&house.data());
}

#[test]
fn a_worker_patches_no_other_run_and_none_without_its_lease() {
    let house = House::start();
    house.put(LINE);
    let (run, other) = (house.start_run("line", &json!({})), house.start_run("line", &json!({})));
    let task = lease(&house.server, "w1", "a");
    let of = task["run"].as_str().unwrap().to_owned();
    let not = if of == run { other } else { run };
    let with = |fence: &Value| json!({"operations": audit(), "task": task["task"], "fence": fence});
    let (status, answer) = patch(&house, &not, with(&task["fence"]));
    assert_eq!((status, &answer["error"]["code"]), (400, &json!("invalid")), "{answer}");
    let wrong = format!("{}0", task["fence"].as_str().unwrap());
    let (status, answer) = patch(&house, &of, with(&json!(wrong)));
    assert_eq!((status, &answer["error"]["code"]), (409, &json!("lease_lost")), "{answer}");
    let (status, answer) = patch(&house, &of, with(&task["fence"]));
    assert_eq!((status, &answer["revision"]), (200, &json!(1)), "{answer}");
    // What would change nothing is told to whoever holds the lease alone.
    let same = |fence: &Value, node: Value| json!({"operations": audit(), "task": task["task"], "fence": fence, "node_id": node});
    assert_eq!(patch(&house, &of, same(&task["fence"], json!("one"))).1["unchanged"], true);
    let (status, answer) = patch(&house, &of, same(&json!(wrong), Value::Null));
    assert_eq!((status, &answer["error"]["code"]), (409, &json!("lease_lost")), "{answer}");
    // By its task it is known which node it works at.
    let (status, answer) = patch(&house, &of, same(&task["fence"], json!("two")));
    assert_eq!((status, &answer["error"]["code"]), (400, &json!("invalid")), "{answer}");
    let (status, answer) = patch(&house, &of, json!({"operations": audit(), "node_id": "nobody"}));
    assert_eq!((status, &answer["error"]["code"]), (404, &json!("node_not_found")), "{answer}");
    report(&house.server, "w1", &task, json!({"status": "done", "output": 1}));
    let late = json!({"operations": [{"op": "remove", "path": "/nodes/audit"}], "task": task["task"], "fence": task["fence"]});
    let (status, answer) = patch(&house, &of, late);
    assert_eq!((status, &answer["error"]["code"]), (409, &json!("lease_lost")), "{answer}");
    assert_eq!(house.view(&of)["revision"], 1);
    assert_eq!(house.view(&not).get("revision"), None);
}

#[test]
fn a_command_of_a_worker_names_no_other_run() {
    let house = House::start();
    house.put(LINE);
    let (run, other) = (house.start_run("line", &json!({})), house.start_run("line", &json!({})));
    let task = lease(&house.server, "w1", "a");
    let of = task["run"].as_str().unwrap().to_owned();
    let not = if of == run { other } else { run };
    let text = |name: &str| task[name].as_str().unwrap().to_owned();
    let worker = |line: &str| {
        let mut command = command(house.folder.path(), &house.server.url, line);
        command.env("SIGNALLER_RUN", &of).env("SIGNALLER_TASK", text("task")).env("SIGNALLER_FENCE", text("fence"));
        ran(command)
    };
    let answer = worker(&format!("run patch {not} --set nodes.three.timeout=1m"));
    let document = answer.json();
    assert_eq!((answer.exit, &document["error"]["code"]), (2, &json!("usage")), "{document}");
    let says = format!("this is the work of {of}: a worker's command patches no run but its own, not {not}");
    assert_eq!(document["error"]["message"], json!(says));
    let many = worker("run patch --where true --set nodes.three.timeout=1m");
    assert_eq!((many.exit, &many.json()["error"]["code"]), (2, &json!("usage")), "{}", many.out);
    assert_eq!(house.view(&not).get("revision"), None);
    assert_eq!(worker(&format!("run patch {of} --set nodes.three.timeout=1m")).exit, 0);
    assert_eq!(house.server.get(&format!("/v1/runs/{of}/definition"))["by"], "w1");
}

#[test]
fn numbers_of_a_patch_keep_their_digits() {
    let house = House::start();
    house.put(LINE);
    let run = house.start_run("line", &json!({}));
    let wide = "123456789012345678901234567890";
    let body = format!(r#"{{"operations":[{{"op":"add","path":"/nodes/three/with","value":{{"n":{wide}}}}}]}}"#);
    let ask = |method: &str, path: &str, body: &str| {
        let answer = talk::ask(house.server.port, method, &format!("/v1/runs/{run}/{path}"), &[], body.as_bytes()).unwrap();
        assert_eq!(answer.status, 200);
        String::from_utf8(answer.body).unwrap()
    };
    let patched = ask("POST", "patch", &body);
    assert!(patched.contains(&format!("\"new\":{{\"n\": {wide}}}")), "{patched}");
    let definition = ask("GET", "definition", "");
    let operations = definition.split("\"operations\":").nth(1).unwrap();
    assert!(operations.contains(wide), "{definition}");
}

#[test]
fn a_text_is_kept_when_its_editor_is_interrupted() {
    let house = House::start();
    house.put(LINE);
    let run = house.start_run("line", &json!({}));
    // Ctrl-C reaches all that is at the terminal: the editor ends by it, and we tell.
    let editor = house.file("editor.sh", "echo '  four: {type: d, after: [three]}' >> \"$1\"; kill -INT $$");
    let mut edit = command(house.folder.path(), &house.server.url, &format!("run patch {run} --edit"));
    edit.env("EDITOR", format!("exec sh {editor}")).env_remove("VISUAL");
    let answer = ran(edit);
    let document = answer.json();
    assert_eq!((answer.exit, &document["error"]["code"]), (2, &json!("aborted")), "{document}");
    let kept = PathBuf::from(document["fix"].as_str().unwrap().rsplit("kept in ").next().unwrap());
    assert_eq!(house.ok(&format!("run patch {run} --text {}", kept.display()))["changes"], json!(["+ four (d) after three"]));
    std::fs::remove_file(kept).unwrap();
}

#[test]
fn a_text_that_is_being_edited_is_kept_when_it_is_interrupted() {
    let house = House::start();
    house.put(LINE);
    let run = house.start_run("line", &json!({}));
    // What the editor does: it writes, says so, and waits.
    let editor = house.file(
        "editor.sh",
        "echo '  four: {type: d, after: [three]}' >> \"$1\"; echo \"$1\" > written; exec sleep 5 > /dev/null 2>&1",
    );
    let mut edit = command(house.folder.path(), &house.server.url, &format!("run patch {run} --edit"));
    edit.env("EDITOR", format!("exec sh {editor}")).env_remove("VISUAL").stdin(Stdio::null()).stderr(Stdio::piped());
    let child = edit.stdout(Stdio::null()).spawn().unwrap();
    let written = house.folder.path().join("written");
    let path = until("the editor has written", || std::fs::read_to_string(&written).ok().filter(|text| text.ends_with('\n')));
    server::signal(child.id(), "TERM");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let said = String::from_utf8(output.stderr).unwrap();
    let kept = PathBuf::from(said.trim().rsplit("--text ").next().unwrap());
    assert!(said.contains(&format!("signaller run patch {run} --text ")) && kept.exists(), "{said}");
    assert!(!PathBuf::from(path.trim()).exists(), "no other file is left");
    assert!(std::fs::read_to_string(&kept).unwrap().starts_with("workflow: line"), "without our own lines");
    assert_eq!(house.ok(&format!("run patch {run} --text {}", kept.display()))["changes"], json!(["+ four (d) after three"]));
    std::fs::remove_file(kept).unwrap();
}
