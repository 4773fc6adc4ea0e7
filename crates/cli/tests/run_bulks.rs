//! One verb for all runs that an expression means, through the real binary: which are meant, what is done to them, what is
//! said of those that are left, and what is wrong with an expression.

mod house;
mod server;
mod talk;

use house::House;
use serde_json::{Value, json};
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
    house.refused(&format!("bulk cancel {bulk}"), 4, "bulk_closed");
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
    let restarted = house.ok(r#"run restart --node a --where 'workflow == "bad"' --reason mended"#);
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
    let told = house.told("run restart --node c --where true");
    assert!(told.contains("5 left as they were") && told.contains(&format!("there is no node {}/c", runs[0])), "{told}");
    assert_eq!((&house.view(&runs[5])["generation"], statuses(&house, &runs)[5].as_str()), (&json!(1), "running"));
    house.refused("run restart --where true", 2, "usage");
    house.refused("run restart --node 'a b' --where true", 2, "invalid");
    verified(&house.data());
}
