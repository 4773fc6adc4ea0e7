//! One verb for all runs that an expression means, through the real binary: which are meant, what is done to them, what is
//! said of those that are left, and what is wrong with an expression.

mod house;
mod server;
mod talk;

use house::{House, command};
use serde_json::{Value, json};
use server::Server;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use talk::{until, verified};

const BAD: &str = "workflow: bad\nnodes:\n  a: {type: transform, value: input.no.key}\n";
const SLOW: &str = "workflow: slow\nnodes:\n  a: {type: nobody}\n";
const CALLER: &str = "workflow: caller\nnodes:\n  c: {type: workflow, run: slow}\n";

/// Three that failed, two that wait, and one that waits for a sixth.
fn house() -> (House, Vec<String>) {
    let house = House::start();
    [BAD, SLOW, CALLER].iter().for_each(|text| _ = house.put(text));
    let mut runs: Vec<String> = Vec::new();
    for workflow in ["bad", "bad", "slow", "bad", "slow", "caller"] {
        runs.push(house.start_run(workflow, &json!({})));
    }
    (house, runs)
}

fn statuses(house: &House, runs: &[String]) -> Vec<String> {
    runs.iter().map(|run| house.view(run)["status"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_dry_run_says_which_and_changes_nothing() {
    let (house, runs) = house();
    let before = house.server.get("/v1/status")["last_record"].clone();
    let meant = house.ok(r#"run retry --where 'workflow == "bad" && status == "failed"' --dry-run"#);
    assert_eq!((&meant["count"], &meant["sample"]), (&json!(3), &json!([runs[0], runs[1], runs[3]])), "{meant}");
    let told = house.told(r#"run cancel --where 'status == "running"' --dry-run"#);
    assert!(told.contains(&format!("This would cancel 3 runs: {}, {}, {}.", runs[2], runs[4], runs[5])), "{told}");
    // Runs that others called are meant only where they are asked for.
    assert_eq!(house.ok("run cancel --where called --dry-run")["count"], 1);
    assert_eq!(house.ok("run cancel --where 'called || !called' --dry-run")["count"], 7);
    assert_eq!(house.ok("run cancel --where true --dry-run")["count"], 6);
    assert!(house.told("run retry --where 'age > 86400' --dry-run").contains("No run is meant."));
    let unclear = house.ok("run retry --where 'tags[0] == workflow' --dry-run");
    assert_eq!((&unclear["count"], &unclear["unclear"]), (&json!(0), &json!(6)), "{unclear}");
    let told = house.told("run retry --where 'tags[0] == workflow' --dry-run");
    assert!(told.contains(&format!("For 6 runs it gives no answer; the first, {}: ", runs[0])), "{told}");
    assert_eq!(house.server.get("/v1/status")["last_record"], before);
}

#[test]
fn every_verb_goes_over_all_that_are_meant() {
    let (house, runs) = house();
    // It is retried, and fails again.
    let retried = house.ok(r#"run retry --where 'workflow == "bad" && status == "failed"'"#);
    assert_eq!(
        (&retried["work"], &retried["status"], &retried["items"]),
        (&json!("retry_runs"), &json!("done"), &json!(3)),
        "{retried}"
    );
    for run in [&runs[0], &runs[1], &runs[3]] {
        let trace = house.ok(&format!("run trace {run}"));
        let reopened =
            trace["records"].as_array().unwrap().iter().filter(|record| record["record"]["record"] == "run_reopened").count();
        assert_eq!(reopened, 1, "{trace}");
    }
    let told = house.told(r#"run pause --where 'status == "running"' --reason 'a look'"#);
    assert!(told.contains("3 runs paused."), "{told}");
    assert_eq!(house.view(&runs[2])["pause"]["reason"], "a look");
    let told = house.told("run pause --where true");
    assert!(told.contains("0 runs paused; 6 left as they were."), "{told}");
    assert!(told.contains(&format!("{}: it was paused already", runs[2])), "{told}");
    assert!(told.contains(&format!("{0}: {0} is failed", runs[0])), "{told}");
    assert!(house.told("run resume --where paused").contains("3 runs go on."));
    // To cancel many has to be meant.
    let refused = house.refused(r#"run cancel --where 'status == "running"'"#, 5, "confirmation_needed");
    assert!(refused["error"]["message"].as_str().unwrap().contains("this would cancel 3 runs"), "{refused}");
    assert_eq!(statuses(&house, &runs)[2..], ["running", "failed", "running", "running"]);
    let cancelled = house.ok(r#"run cancel --where 'status == "running"' --yes --reason 'enough of it'"#);
    assert_eq!((&cancelled["items"], &cancelled["skipped"]), (&json!(3), &json!(0)), "{cancelled}");
    assert_eq!(statuses(&house, &runs)[2..], ["cancelled", "failed", "cancelled", "cancelled"]);
    assert_eq!(house.view(&runs[4])["cancelled"]["reason"], "enough of it");
    assert!(house.told("run resume --where paused").contains("No run is meant; nothing was changed."));
    verified(&house.data());
}

#[test]
fn a_bulk_over_runs_is_listed_shown_paced_and_stopped() {
    let (house, runs) = house();
    let begun = house.ok("run pause --where 'called || !called' --rate 1/s --no-wait");
    let bulk = begun["bulk"].as_str().unwrap().to_owned();
    let moved = until("it has begun", || {
        let view = house.server.get(&format!("/v1/bulks/{bulk}"));
        (view["items"].as_u64().unwrap() == 1).then_some(view)
    });
    assert!(moved["resume_at"].is_string() && moved["where"] == "called || !called", "{moved}");
    let listed = house.told("bulk list");
    assert!(listed.contains("pause_runs") && listed.contains("called || !called"), "{listed}");
    let shown = house.told(&format!("bulk show {bulk}"));
    assert!(shown.contains("1 changed, 2 skipped") && shown.contains(&format!("{}: ", runs[0])), "{shown}");
    let told = house.told(&format!("bulk cancel {bulk}"));
    assert!(told.contains("is cancelled; 1 run had been changed and stay so"), "{told}");
    assert_eq!(house.view(&runs[5])["pause"], Value::Null, "it was not come to");
    assert_eq!(house.ok(&format!("bulk cancel {bulk}"))["status"], "cancelled", "once more changes nothing");
    verified(&house.data());
}

#[test]
fn what_is_wrong_with_an_expression_is_told_with_its_place() {
    let house = House::start();
    for (filter, message, fix) in [
        ("wokflow == \"a\"", "where: there is no name `wokflow` (at character 1)", "did you mean `workflow`?"),
        ("status == \"faild\"", "where: no run has the status `faild` (at character 11)", "did you mean `failed`?"),
        ("", "where: the filter is empty (at character 1)", "write `true` if all runs are meant"),
        ("age > 5 &&", "where: ", ""),
        (
            "workflow",
            "where: a condition must be true or false; this gives a string (at character 1)",
            "compare it with something",
        ),
    ] {
        let (status, answer) = house.server.ask("POST", "/v1/runs/bulk", Some(&json!({"verb": "retry", "where": filter})));
        assert_eq!(talk::refusal(status, &answer, filter), "invalid");
        let told = answer["error"]["message"].as_str().unwrap();
        assert!(told.starts_with(message), "{filter}: {told}");
        assert!(answer["error"]["fix"].as_str().unwrap().contains(fix), "{answer}");
        assert_eq!(
            (&answer["error"]["problems"][0]["path"], &answer["error"]["problems"][0]["line"]),
            (&json!("where"), &json!(1))
        );
    }
    house.refused("run retry --where 'stat == 1'", 2, "invalid");
    for (body, says) in [
        (json!({"verb": "delete", "where": "true"}), "delete"),
        (json!({"verb": "retry"}), "where"),
        (json!({"verb": "retry", "where": "true", "per_s": 0}), "per_s must be at least 1"),
        (json!({"verb": "retry", "where": "x".repeat(5_000)}), "5000 bytes"),
        (json!({"verb": "retry", "where": "true", "runs": []}), "runs"),
    ] {
        let (status, answer) = house.server.ask("POST", "/v1/runs/bulk", Some(&body));
        assert_eq!(talk::refusal(status, &answer, says), "invalid");
        assert!(answer["error"]["message"].as_str().unwrap().contains(says), "{answer}");
    }
    for line in [
        "run retry",
        "run retry run-1 --where true",
        "run retry --dry-run run-1",
        "run retry --where true --node a",
        "run pause run-1 --rate 5/s",
    ] {
        assert_eq!(house.run(line).exit, 2, "{line}");
    }
}

#[test]
fn all_that_are_meant_begin_anew_from_a_node() {
    let (house, runs) = house();
    let restarted = house.ok(r#"run restart --node a --where 'workflow == "bad"' --reason mended --yes"#);
    assert_eq!(
        (&restarted["work"], &restarted["items"], &restarted["skipped"]),
        (&json!("restart_runs"), &json!(3), &json!(0)),
        "{restarted}"
    );
    for run in [&runs[0], &runs[1], &runs[3]] {
        assert_eq!(house.view(run)["generation"], 1);
        assert!(house.told(&format!("run trace {run}")).contains("generation 1: mended"));
    }
    assert_eq!(statuses(&house, &runs)[..2], ["failed", "failed"], "they fail as before");
    // Also one that runs; those that have no such node are left.
    let told = house.told("run restart --node c --where true --yes");
    assert!(told.contains("5 left as they were") && told.contains(&format!("there is no node {}/c", runs[0])), "{told}");
    assert_eq!((&house.view(&runs[5])["generation"], statuses(&house, &runs)[5].as_str()), (&json!(1), "running"));
    house.refused("run restart --where true --yes", 2, "usage");
    house.refused("run restart --node 'a b' --where true --yes", 2, "invalid");
    verified(&house.data());
}

const CHAIN: &str = "workflow: chain\nnodes:\n  a: {type: nobody}\n  b: {type: nobody, after: a}\n";
/// The same, as a list.
const LISTED: &str =
    "workflow: listed\nnodes:\n  - {id: a, type: nobody}\n  - {id: b, type: nobody}\nedges: [{from: a, to: b}]\n";

fn followed(house: &House, run: &str) -> Value {
    house.server.get(&format!("/v1/runs/{run}/definition"))
}

fn text(house: &House, run: &str) -> String {
    followed(house, run)["text"].as_str().unwrap().to_owned()
}

#[test]
fn all_that_are_meant_follow_another_text() {
    let house = House::start();
    [CHAIN, LISTED, BAD].iter().for_each(|text| _ = house.put(text));
    house.put("workflow: quick\nnodes:\n  b: {type: transform, value: 1}\n");
    let started = ["chain", "chain", "chain", "listed", "chain", "chain", "bad", "quick"];
    let runs: Vec<String> = started.iter().map(|workflow| house.start_run(workflow, &json!({}))).collect();
    assert_eq!(house.ended(&runs[7])["status"], "done");
    // Two follow another text already, one has no `b` any more, one has it as it is to be.
    for run in &runs[1..3] {
        house.ok(&format!("run patch {run} --set nodes.c.type=nobody"));
    }
    house.ok(&format!("run patch {} --unset nodes.b", runs[4]));
    house.ok(&format!("run patch {} --set nodes.b.timeout=9s", runs[5]));
    let before = house.server.get("/v1/status")["last_record"].clone();
    let line = "run patch --where true --set nodes.b.timeout=9s --description 'the bank is slow'";
    let would = house.ok(&format!("{line} --dry-run"));
    assert_eq!((&would["count"], &would["tried"], &would["refused"]), (&json!(8), &json!(8), &json!(5)), "{would}");
    assert_eq!(would["refused_first"][0]["run"], *runs[3], "{would}");
    let told = house.told(&format!("{line} --dry-run"));
    assert!(told.contains("This would patch 8 runs") && told.contains("Of them, 5 would be left as they are:"), "{told}");
    assert_eq!(house.server.get("/v1/status")["last_record"], before, "nothing was changed");

    let told = house.told(line);
    assert!(told.contains("3 runs follow another text; 5 left as they were."), "{told}");
    let not_one = format!("{0}: what {0} would follow is not a workflow that can run: nodes.b", runs[4]);
    for says in [&not_one, &format!("{}: nothing was to be changed", runs[5]), &format!("{0}: {0} is done", runs[7])] {
        assert!(told.contains(says), "`{says}` in {told}");
    }
    let revisions: Vec<Value> = runs.iter().map(|run| followed(&house, run)["revision"].clone()).collect();
    assert_eq!(revisions, [1, 2, 2, 0, 1, 1, 0, 0].map(|revision| json!(revision)));
    for run in &runs[..3] {
        assert!(text(&house, run).contains("9s"), "{}", text(&house, run));
        assert!(house.told(&format!("run trace {run}")).contains("the bank is slow"));
    }
    assert!(text(&house, &runs[1]).contains("\"c\"") && !text(&house, &runs[0]).contains("\"c\""));

    // What a path means is found out in each text.
    house.ok("run patch --where 'workflow == \"listed\"' --set nodes.b.timeout_ms=9000");
    let listed: Value = serde_json::from_str(&text(&house, &runs[3])).unwrap();
    assert_eq!(listed["nodes"][1], json!({"id": "b", "type": "nobody", "timeout_ms": 9000}));
    // What has begun stays as it is; one that failed takes it, and is tried by it.
    let told = house.told("run patch --where 'workflow == \"chain\"' --set nodes.a.timeout=9s");
    assert!(told.contains("0 runs follow another text; 5 left as they were."), "{told}");
    assert!(told.contains(&format!("{}/a", runs[0])), "{told}");
    let ops = house.file("ops.json", r#"[{"op": "replace", "path": "/nodes/a/value", "value": "1"}]"#);
    let patched = house.ok(&format!("run patch --where 'status == \"failed\"' -f {ops}"));
    assert_eq!((&patched["work"], &patched["items"]), (&json!("patch_runs"), &json!(1)), "{patched}");
    assert_eq!(patched["patch"]["operations"][0]["path"], "/nodes/a/value", "{patched}");
    assert!(house.told(&format!("bulk show {}", patched["bulk"].as_str().unwrap())).contains("/nodes/a/value"));
    house.ok("run retry --where 'status == \"failed\"'");
    assert_eq!(house.ended(&runs[6])["status"], "done");
    verified(&house.data());
}

#[test]
fn a_patch_of_many_goes_on_after_a_kill() {
    const MANY: usize = 120;
    let mut house = House::start();
    house.put(CHAIN);
    let runs: Vec<String> = (0..MANY).map(|_| house.start_run("chain", &json!({}))).collect();
    for run in runs.iter().step_by(3) {
        house.ok(&format!(r#"run patch {run} --set 'nodes.c={{"type":"nobody","after":"a"}}'"#));
    }
    let begun = house.ok("run patch --where true --set nodes.b.timeout=9s --unset nodes.c --rate 20/s --no-wait");
    let bulk = format!("/v1/bulks/{}", begun["bulk"].as_str().unwrap());
    let mut kills = 0;
    let done = until("it is done", || {
        let view = house.server.get(&bulk);
        // Half way, and once more before the end.
        if view["items"].as_u64().unwrap() >= [10, 25, 1_000][kills] {
            assert_eq!(view["status"], "open", "{view}");
            house.server.kill_9();
            house.server = server::Server::start(&house.data(), 0);
            kills += 1;
        }
        (view["status"] == "done").then_some(view)
    });
    assert_eq!(kills, 2);
    let patched = MANY / 3;
    assert_eq!((&done["items"], &done["skipped"]), (&json!(patched), &json!(MANY - patched)), "{done}");
    assert!(done["refused"][0]["why"].as_str().unwrap().contains("/nodes/c"), "{done}");
    for (index, run) in runs.iter().enumerate() {
        assert_eq!(followed(&house, run)["revision"], if index % 3 == 0 { 2 } else { 0 }, "{run}: once each");
    }
    verified(&house.data());
}

#[test]
fn a_patch_of_many_that_is_none_is_refused_before_it_begins() {
    let house = House::start();
    let operations = json!([{"op": "remove", "path": "/nodes/a"}]);
    let long = json!([{"op": "add", "path": "/description", "value": "x".repeat(70_000)}]);
    for (body, code, says) in [
        (json!({"verb": "patch"}), "invalid", "a patch needs `operations`, `set` or `unset`"),
        (json!({"verb": "patch", "operations": {"op": "add"}}), "invalid_patch", "a patch is a list of operations"),
        (json!({"verb": "patch", "operations": [{"op": "put"}]}), "invalid_patch", "put"),
        (json!({"verb": "patch", "set": ["nodes.a"]}), "invalid_patch", "is not PATH=VALUE"),
        (json!({"verb": "patch", "unset": ["nodes..a"]}), "invalid_patch", "is no path"),
        (json!({"verb": "patch", "operations": operations, "node": "a"}), "invalid", "only a restart has a `node`"),
        (json!({"verb": "retry", "operations": operations}), "invalid", "only a patch has"),
        (json!({"verb": "retry", "description": "why"}), "invalid", "only a patch has a `description`"),
        (json!({"verb": "patch", "operations": operations, "description": "a", "reason": "b"}), "invalid", "give one of them"),
        (json!({"verb": "patch", "operations": long}), "invalid", "one of many runs may have 65536"),
    ] {
        for dry_run in [true, false] {
            let mut body = body.clone();
            (body["where"], body["dry_run"]) = (json!("true"), json!(dry_run));
            let (status, answer) = house.server.ask("POST", "/v1/runs/bulk", Some(&body));
            assert_eq!(talk::refusal(status, &answer, says), code, "{body}");
            assert!(answer["error"]["message"].as_str().unwrap().contains(says), "{answer}");
        }
    }
    house.refused("run patch --where true", 2, "usage");
    for line in [
        "run patch run-1 --where true --set a=b",
        "run patch --where true --edit",
        "run patch --where true --text whole.yaml",
        "run patch --where true --set a=b --expected-revision 1",
        "run patch --set a=b --rate 5/s",
    ] {
        assert_eq!(house.run(line).exit, 2, "{line}");
    }
    let body = json!({"verb": "patch", "operations": operations, "description": "why", "where": "true"});
    let bulk = house.server.post("/v1/runs/bulk", &body)["bulk"].as_str().unwrap().to_owned();
    assert_eq!(house.server.get(&format!("/v1/bulks/{bulk}"))["reason"], "why");
}

#[test]
fn a_dry_run_says_which_would_be_left_as_they_are() {
    let (house, runs) = house();
    house.put("workflow: quick\nnodes:\n  a: {type: transform, value: '1'}\n");
    let quick = house.start_run("quick", &json!({}));
    house.ended(&quick);
    for (line, tried, refused, why) in [
        ("retry --where true", 7, 4, "is running: only one that failed or was cancelled"),
        ("pause --where true", 7, 4, "is failed: pause works only on a run that is running"),
        ("resume --where true", 7, 7, "it was not paused"),
        ("cancel --where true", 7, 4, "is failed: cancel works only on a run that is running"),
        ("restart --node nosuch --where true", 7, 7, "/nosuch has not begun, or there is no such node"),
        ("restart --node a --where true", 7, 1, "/a has not begun, or there is no such node"),
    ] {
        let would = house.ok(&format!("run {line} --dry-run"));
        assert_eq!(
            (&would["count"], &would["tried"], &would["refused"]),
            (&json!(7), &json!(tried), &json!(refused)),
            "{line}: {would}"
        );
        assert!(would["refused_first"].to_string().contains(why), "{line}: {would}");
    }
    let told = house.told("run restart --node nosuch --where true --dry-run");
    assert!(told.contains("Of them, 7 would be left as they are:\n") && told.contains(&format!("{}: ", runs[0])), "{told}");
    let told = house.told("run restart --node a --where true --dry-run");
    assert!(told.contains("Of them, 1 is done already, and would run again."), "{told}");
    // Where nothing stands against it, nothing is said.
    assert_eq!(house.ok("run cancel --where 'status == \"running\"' --dry-run").get("tried"), None);
    // Whoever restarts many has to mean it, and hears what they are.
    let refused = house.refused("run restart --node a --where true", 5, "confirmation_needed");
    let says = "this would restart 7 runs; 1 is done already; 1 would be left as they are";
    assert_eq!(refused["error"]["message"], says, "{refused}");
    assert_eq!(house.view(&quick).get("generation"), None);
    let again = refused["next_actions"][1]["command"].as_str().unwrap().trim_start_matches("signaller ").to_owned();
    let bulk = house.ok(&again);
    assert_eq!((&bulk["items"], &bulk["skipped"]), (&json!(6), &json!(1)), "{bulk}");
}

#[test]
fn whoever_stops_waiting_for_a_bulk_hears_that_it_goes_on() {
    let (house, _) = house();
    let waiting = || {
        let mut command = command(house.folder.path(), &house.server.url, "run pause --where true --rate 1/s");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let child = waiting();
    let moved = |bulk: &Value| bulk["items"].as_u64() == Some(1);
    let first = || house.server.get("/v1/bulks")["bulks"].as_array().and_then(|bulks| bulks.first().cloned());
    let bulk = until("it has begun", || first().filter(moved))["bulk"].as_str().unwrap().to_owned();
    assert_eq!(house.server.get(&format!("/v1/bulks/{bulk}"))["per_s"], 1);
    server::signal(child.id(), "INT");
    let output = child.wait_with_output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &document["error"]["code"]), (Some(6), &json!("interrupted")), "{document}");
    assert_eq!(document["error"]["message"], json!(format!("{bulk} was not closed when this was stopped; it goes on")));
    assert!(document["next_actions"].to_string().contains(&format!("signaller bulk cancel {bulk}")), "{document}");
    house.ok(&format!("bulk cancel {bulk}"));
}

#[test]
fn whoever_waits_for_a_bulk_hears_that_the_server_is_gone() {
    let (mut house, _) = house();
    let mut command = command(house.folder.path(), &house.server.url, "run pause --where true --rate 1/s");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let first = || house.server.get("/v1/bulks")["bulks"].as_array().and_then(|bulks| bulks.first().cloned());
    until("it has begun", || first().filter(|bulk| bulk["items"].as_u64() == Some(1)));
    house.server.kill_9();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let said = lines.next().unwrap().unwrap();
    // Before it asked again, or in the middle of an answer.
    assert!(said.contains("no server answers at") || said.contains("gave no whole answer"), "{said}");
    assert!(said.contains("goes on when it is back; trying again"), "{said}");
    house.server = Server::start_with(&house.data(), house.server.port, &["--stop-limit", "100ms"], &[]);
    assert_eq!(lines.next().unwrap().unwrap(), "the server answers again");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
