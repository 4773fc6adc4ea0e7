//! Families, and whoever names one that is not there: through the real binary, as people and agents are told.

mod house;
mod server;
mod talk;

use house::House;
use serde_json::json;

fn house() -> House {
    let house = House::start();
    let text = "handlers:
  review: {on: github/pull_request.*, task: review}
  order: {on: shop/ordered, workflow: order}
";
    let file = house.file("registry.yaml", text);
    house.put("workflow: order\nnodes:\n  paid: {type: wait, event: pay/paid, match: event.data.n == input.n}\n");
    house.ok(&format!("registry put {file}"));
    house
}

#[test]
fn a_family_that_is_not_there_is_taken_for_those_below_it() {
    let house = house();
    let meant = "there is no family github, only some below it: did you mean 'github/*'?";
    // Known by its handler, then by what waits, then by what was.
    for step in ["", "emit github/pull_request.opened -d '{}'", "queue clear review --yes"] {
        if !step.is_empty() {
            house.ok(step);
        }
        for line in ["queue depth --family github", "queue stats --family github", "family shed github --upto normal"] {
            let told = house.told(line);
            assert!(told.contains(&format!("But {meant}")), "{step}, {line}: {told}");
        }
        assert_eq!(house.server.get("/v1/queues?family=github")["note"], meant);
        assert_eq!(house.ok("queue stats --family github")["note"], meant);
        for family in ["github/pull_request", "github/*", "nosuch"] {
            assert_eq!(house.server.get(&format!("/v1/queues?family={family}"))["note"], json!(null), "{family}");
            assert_eq!(house.ok(&format!("queue stats --family {family}"))["note"], json!(null), "{family}");
        }
    }
    assert_eq!(house.ok("queue stats --family 'github/*'")["tasks"]["added"], 1, "a pattern counts those below it");
    assert_eq!(house.ok("queue stats --family github")["tasks"]["added"], 0);
    let paused = house.told("family pause github");
    assert!(paused.starts_with("github is paused") && paused.contains(&format!("But {meant}")), "{paused}");
}

#[test]
fn what_was_not_paused_is_not_said_to_go_on() {
    let house = house();
    for (line, told) in [
        ("family resume 'github/*'", "github/* was not paused.\n"),
        ("family pause 'github/*'", "github/* is paused; what runs goes on.\n"),
        (
            "family resume github/pull_request",
            "github/pull_request was not paused by that name, but is by what was said of 'github/*'.\n",
        ),
        ("family resume 'github/*'", "github/* goes on.\n"),
        ("family resume 'github/*'", "github/* was not paused.\n"),
        ("queue resume review", "Queue review was not paused; 0 ready.\n"),
        ("queue pause review", "Queue review is paused; 0 waiting, 0 still running.\n"),
        ("queue resume review", "Queue review goes on with 0 ready.\n"),
        ("queue priority review high", "The boost on queue review is high.\n"),
        ("queue priority review normal", "There is no boost on queue review.\n"),
    ] {
        assert_eq!(house.told(line), told, "{line}");
    }
}

#[test]
fn of_nothing_nobody_is_asked_whether_it_is_meant() {
    let house = house();
    for (line, told) in [
        (
            "family shed 'a/*' b --upto background",
            "Nothing waits of a/*, b, with priority background or lower: there is nothing to cancel.\n",
        ),
        (
            "family shed a --upto normal --dry-run",
            "Nothing waits of a, with priority normal or lower: there is nothing to cancel.\n",
        ),
        ("queue clear review", "Nothing waits in queue review: there is nothing to cancel.\n"),
        ("queue clear review --family a", "Nothing waits in queue review of family a: there is nothing to cancel.\n"),
        ("queue clear review --yes", "There was nothing to do.\n"),
    ] {
        assert_eq!(house.told(line), told, "{line}");
    }
    assert_eq!(house.ok("family shed a --upto 90")["would_cancel"], 0);
    house.ok("emit github/pull_request.opened -d '{}'");
    let asked = house.refused("family shed 'github/*' --upto 90", 5, "confirmation_needed");
    assert_eq!(asked["error"]["message"], "this cancels 1 task waiting of github/*, with priority +90 s or lower", "{asked}");
    assert_eq!(asked["next_actions"][0]["command"], "signaller family shed 'github/*' --upto 90 --yes", "{asked}");
    assert_eq!(house.told("family shed 'github/*' --upto background --yes"), "0 tasks shed; 1 was left as it is.\n");
}

#[test]
fn what_runs_hold_is_counted_beside_what_workers_do() {
    let house = house();
    let emitted = house.ok("emit shop/ordered -d '{\"n\":1}'");
    let (event, task) = (emitted["event"].as_str().unwrap(), emitted["handled"][0]["task"].as_str().unwrap());
    talk::until("its run has begun", || (house.ok("status")["counts"]["in_runs"] == 1).then_some(()));
    let counts = json!({"queued": 0, "ready": 0, "scheduled": 0, "blocked": 0, "held": 0, "running": 0, "in_runs": 1, "overrides": 0, "dead": 0});
    let depth = house.ok("queue depth");
    assert_eq!((&depth["total"], &house.ok("queue depth --family shop")["total"]), (&counts, &counts), "{depth}");
    let families = house.ok("family list");
    assert_eq!((&families["families"][0]["family"], &families["families"][0]["counts"]), (&json!("shop"), &counts), "{families}");
    assert_eq!(house.ok("queue show order")["counts"], counts);
    assert_eq!(house.ok("queue stats")["current_depth"], counts);
    for (line, row) in [
        ("queue depth", "order 0 0 0 0 0 1 0"),
        ("queue list", "order 0 0 0 1 0 open"),
        ("family list", "shop 0 0 0 1 order"),
        ("queue show order", "tasks 0 ready, 1 in runs"),
        ("status", "tasks 0 ready, 1 in runs; 2 queues"),
    ] {
        let told = house.told(line);
        let found = told.lines().any(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") == row);
        assert!(found, "{line}: {told}");
    }
    let told = house.told(&format!("event show {event}"));
    assert!(
        told.contains(&format!("order: queued, it made {task}; held by run-")) && told.contains(", which is running\n"),
        "{told}"
    );
    let stats = house.told("queue stats");
    assert!(stats.contains("took        nothing has ended\n"), "{stats}");
    house.ok("emit pay/paid -d '{\"n\":1}'");
    assert_eq!(house.ok("status")["counts"]["in_runs"], 0);
    let told = house.told(&format!("event show {event}"));
    assert!(told.contains("; it is done now, and run-") && told.contains(", which it started, is done\n"), "{told}");
}

#[test]
fn what_finds_no_event_is_told_what_may_be_meant() {
    let house = house();
    house.ok("emit github/pull_request.opened --id delivery-7 -d '{}'");
    let sent = house.refused("event show delivery-7", 2, "usage");
    let why = sent["error"]["message"].as_str().unwrap();
    assert!(why.contains("`delivery-7` is not an event id such as event-9m2"), "{why}");
    assert!(why.contains("`signaller event list --id 'delivery-7'` finds it"), "{why}");
    assert_eq!(house.ok("event list --id 'delivery-7'")["events"].as_array().unwrap().len(), 1);
    let task = house.refused("event show task-2", 2, "usage");
    assert!(task["error"]["message"].as_str().unwrap().contains("`task-2` is a task, not an event"), "{task}");
    for (line, told) in [
        ("event list --handler nosuch", "No event fits. The registry in force has no handler nosuch; it has: review, order.\n"),
        ("event list --handler order", "No event fits.\n"),
        ("event list --name github", "No event fits. All that begin alike are --name 'github/*'.\n"),
    ] {
        assert_eq!(house.told(line), told, "{line}");
    }
    for command in ["event list", "queue stats"] {
        let bare = house.refused(&format!("{command} --since 10"), 2, "usage");
        let why = bare["error"]["message"].as_str().unwrap();
        assert!(why.contains("write 10s, 10m or 10h for a while ago"), "{command}: {why}");
    }
    assert_eq!(house.ok("event list --since -1h")["events"].as_array().unwrap().len(), 1);
    assert_eq!(house.ok("queue stats --since -1h")["tasks"]["added"], 1);
}
