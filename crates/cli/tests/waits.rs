//! Runs that wait for events, through the real binary: told while they wait, woken by the one that is meant, through a `kill -9`.

mod house;
mod server;
mod talk;

use house::House;
use serde_json::{Value, json};
use server::Server;
use talk::until;

const ORDER: &str = "
workflow: order
nodes:
  paid: {type: wait, event: pay/paid, match: event.data.order == input.order, timeout: 3d, on_timeout: late}
  ship: {type: transform, after: paid, value: \"{'shipped': input.order, 'receipt': output.receipt}\"}
  late: {type: transform, value: \"'late'\"}
output: nodes.ship.output
";

#[test]
fn a_wait_is_told_while_it_lasts_and_after() {
    let house = House::start();
    let file = house.file("order.yaml", ORDER);
    house.ok(&format!("workflow put {file}"));
    let run = house.ok("run start order --input '{\"order\":\"o-7\"}'")["run"].as_str().unwrap().to_owned();
    let shown = house.ok(&format!("run show {run}"));
    assert_eq!(shown["counts"]["awaiting"], 1, "{shown}");
    let explained = house.told(&format!("run explain {run}"));
    assert!(explained.contains("it waits for an event `pay/paid` whose `event.data.order` is \"o-7\""), "{explained}");
    let node = house.ok(&format!("run show {run}/paid"));
    assert_eq!((&node["status"], &node["awaits"]), (&json!("awaiting"), &json!("pay/paid")));
    assert_eq!(node["await_key"], json!({"of": "event.data.order", "is": "o-7"}));
    assert!(house.told(&format!("run show {run}")).contains("~"), "its sign");
    // Others change nothing.
    house.ok("emit pay/paid -d '{\"order\":\"o-8\"}'");
    assert_eq!(house.ok(&format!("run show {run}"))["status"], "running");
    let heard = house.ok("emit pay/paid -d '{\"order\":\"o-7\",\"receipt\":3}'");
    assert_eq!(heard["heard"], json!([run]), "{heard}");
    let event = heard["event"].clone();
    let done = house.ok(&format!("run show {run}"));
    assert_eq!((&done["status"], &done["output"]), (&json!("done"), &json!({"shipped": "o-7", "receipt": 3})));
    assert_eq!(house.ok(&format!("run show {run}/paid"))["heard"], event);
    let page = house.told(&format!("run show {run}/paid"));
    assert!(page.contains("pay/paid whose event.data.order is \"o-7\"") && page.contains(event.as_str().unwrap()), "{page}");
    let heard = event.as_str().unwrap();
    let explained = house.told(&format!("run explain {run}/paid"));
    let sentence = format!("{run}/paid is done: it heard {heard}, an event `pay/paid` whose event.data.order is \"o-7\".");
    assert!(explained.contains(&sentence) && explained.contains(&format!("try: signaller event show {heard}")), "{explained}");
    assert!(house.told(&format!("run show {run}")).contains(&format!("`paid` heard {heard}")), "why `late` was skipped");
    let trace = house.told(&format!("run trace {run}"));
    assert!(trace.contains(&format!("done: it heard {heard}")), "{trace}");
    let records = house.ok(&format!("run trace {run}"))["records"].clone();
    let done = records.as_array().unwrap().iter().find(|record| record["record"]["heard"] == event);
    assert!(done.is_some_and(|record| record["record"]["record"] == "node_done"), "{records}");
    assert!(trace.contains("waits for an event pay/paid whose event.data.order is \"o-7\", for 3 d at most"), "{trace}");
    let line = house.ok(&format!("run timeline {run}"));
    let spans: Vec<&Value> = line["rows"].as_array().unwrap().iter().flat_map(|row| row["spans"].as_array().unwrap()).collect();
    assert!(spans.iter().any(|span| span["what"] == "awaiting"), "{line}");
    assert!(house.told(&format!("workflow graph {file}")).contains("wait pay/paid"), "drawn");
}

#[test]
fn an_event_that_a_run_heard_is_not_unhandled() {
    let house = House::start();
    let file = house.file("order.yaml", ORDER);
    house.ok(&format!("workflow put {file}"));
    let run = house.ok("run start order --input '{\"order\":1}'")["run"].as_str().unwrap().to_owned();
    let other = house.ok("emit pay/paid -d '{\"order\":2}'")["event"].clone();
    let told = house.told("emit pay/paid --id once -d '{\"order\":1,\"receipt\":0}'");
    assert!(told.contains(&format!("{run} had waited for it, and goes on")), "{told}");
    let again = house.ok("emit pay/paid --id once -d '{\"order\":1,\"receipt\":0}'");
    assert_eq!((&again["duplicate"], &again["heard"]), (&json!(true), &json!([run])));
    let event = again["event"].as_str().unwrap();
    let unhandled = house.ok("event unhandled");
    let unhandled: Vec<&Value> = unhandled["events"].as_array().unwrap().iter().map(|event| &event["event"]).collect();
    assert_eq!(unhandled, [&other]);
    assert!(house.told("event list").contains(&format!("{run} heard")));
    assert!(house.told(&format!("event show {event}")).contains(&format!("by {run}")));
    let counted = until("both are counted", || {
        let counted = house.ok("queue stats")["events"].clone();
        (counted["heard"] == 1).then_some(counted)
    });
    assert_eq!(counted, json!({"heard": 1, "unhandled": 1}));
}

/// Each turn hears what came after the one before it heard, also where a fork goes on.
#[test]
fn a_fork_hears_on_from_what_its_turns_heard() {
    let house = House::start();
    let text = "workflow: thrice
nodes:
  rounds:
    type: loop
    max_iterations: 3
    until: iteration == 2
    do:
      nodes:
        w: {type: wait, event: a/b}
      output: nodes.w.output
  ask: {type: approval, after: rounds, message: ok}
output: nodes.rounds.output
";
    let file = house.file("thrice.yaml", text);
    house.ok(&format!("workflow put {file}"));
    let run = house.ok("run start thrice")["run"].as_str().unwrap().to_owned();
    let events: Vec<Value> = (0..3).map(|n| house.ok(&format!("emit a/b -d '{{\"n\":{n}}}'"))["event"].clone()).collect();
    let fork = |run: &str, node: &str| house.ok(&format!("run fork '{run}/{node}'"))["run"].as_str().unwrap().to_owned();
    let heard = |run: &str, node: &str| {
        until("it has heard", || {
            let heard = house.ok(&format!("run show '{run}/{node}'"))["heard"].clone();
            heard.is_string().then_some(heard)
        })
    };
    let second = fork(&run, "rounds[1]/w");
    assert_eq!([heard(&second, "rounds[1]/w"), heard(&second, "rounds[2]/w")], [events[1].clone(), events[2].clone()]);
    // Of a fork of a fork, from its beginning: all that came since the first of them began.
    let third = fork(&fork(&second, "rounds[0]/w"), "rounds[0]/w");
    assert_eq!(heard(&third, "rounds[0]/w"), events[0]);
}

#[test]
fn a_wait_tells_all_that_it_asks_and_that_none_came() {
    let house = House::start();
    let text = "
workflow: patient
nodes:
  paid: {type: wait, event: pay/paid, match: event.data.order == input.order && event.data.sum > 5, timeout: 200ms, on_timeout: late}
  ship: {type: transform, after: paid, value: output}
  late: {type: transform, value: \"'late'\"}
";
    let file = house.file("patient.yaml", text);
    let graph = house.told(&format!("workflow graph {file}"));
    assert!(graph.contains("paid ⇢ late  if no event came in time") && !graph.contains("answered"), "{graph}");
    house.ok(&format!("workflow put {file}"));
    let slow = house.file("slow.yaml", &text.replace("200ms", "2d").replace("patient", "slow"));
    house.ok(&format!("workflow put {slow}"));
    let slow = house.ok("run start slow -i '{\"order\":7}'")["run"].as_str().unwrap().to_owned();
    let all = "an event `pay/paid` whose `event.data.order` is 7, and for which `event.data.order == input.order && event.data.sum > 5` holds";
    for (told, part) in [
        (house.told(&format!("run explain {slow}")), format!("it waits for {all}, for another 2 d")),
        (house.told(&format!("run explain {slow}/paid")), format!("waits for {}, for another 2 d.", all.replace('`', ""))),
        (house.told(&format!("run show {slow}")), "ends in 2 d".to_owned()),
    ] {
        assert!(told.replace('`', "").contains(&part.replace('`', "")), "{told}\nlacks: {part}");
    }
    assert_eq!(
        house.ok(&format!("run show {slow}/paid"))["await_match"],
        "event.data.order == input.order && event.data.sum > 5"
    );
    let strict = house.file("strict.yaml", &text.replace(", on_timeout: late", "").replace("patient", "strict"));
    house.ok(&format!("workflow put {strict}"));
    let run = house.start_run("strict", &json!({"order": 7}));
    house.ended(&run);
    for what in [format!("run show {run}"), format!("run explain {run}/paid")] {
        let told = house.told(&what).replace('`', "");
        assert!(
            told.contains("timed_out: no event pay/paid") && told.contains("pay/paid whose event.data.order is 7"),
            "{what}: {told}"
        );
    }
    let run = house.start_run("patient", &json!({"order": 7}));
    house.ended(&run);
    let explained = house.told(&format!("run explain {run}/paid"));
    assert!(explained.contains("it waited for an event `pay/paid` whose event.data.order is 7"), "{explained}");
    assert!(explained.contains("and none came in time"), "{explained}");
    for what in
        [format!("run explain {run}/ship"), format!("run show {run}"), format!("run show {run}/ship"), format!("run trace {run}")]
    {
        let told = house.told(&what);
        assert!(told.contains("no event `pay/paid` came in time for `paid`"), "{what}: {told}");
    }
}

#[test]
fn what_comes_between_an_event_and_the_run_it_starts_is_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let registry = folder.path().join("registry.yaml");
    std::fs::write(&registry, "handlers:\n  order: {on: shop/ordered, workflow: order}\n").unwrap();
    let args = ["--registry", registry.to_str().unwrap()];
    let mut server = Server::start_with(&data, 0, &args, &[]);
    let order = json!({"workflow": "order", "nodes": {
        "paid": {"type": "wait", "event": "pay/paid", "match": "event.data.order == input.order"},
        "ship": {"type": "transform", "after": "paid", "value": "{'shipped': input.order, 'receipt': output.receipt}"},
    }});
    server.post("/v1/workflows", &order);
    // Both are there before the run is, and the process ends in the middle.
    let batch = json!({"events": [
        {"name": "pay/paid", "data": {"order": 1, "receipt": "before"}},
        {"name": "shop/ordered", "data": {"order": 1}},
        {"name": "pay/paid", "data": {"order": 1, "receipt": "r-1"}},
    ]});
    server.post("/v1/events/batch", &batch);
    server.kill_9();
    let server = Server::start_with(&data, 0, &args, &[]);
    let ended = until("the run is done", || {
        let runs = server.get("/v1/runs");
        runs["runs"].as_array().and_then(|runs| runs.first()).filter(|run| run["status"] == "done").cloned()
    });
    let run = server.get(&format!("/v1/runs/{}", ended["run"].as_str().unwrap()));
    assert_eq!(run["output"], json!({"shipped": 1, "receipt": "r-1"}));
    assert!(run["event"].as_str().is_some_and(|event| event.starts_with("event-")), "{run}");
}

#[test]
fn a_wait_that_is_written_wrong_is_told() {
    let house = House::start();
    let check = |node: &str| {
        let file = house.file("w.yaml", &format!("workflow: w\nnodes: {{w: {{type: wait, {node}}}}}\n"));
        let ran = house.run(&format!("--human workflow validate {file}"));
        (ran.exit, format!("{}{}", ran.out, ran.err))
    };
    for (node, exit, told) in [
        ("match: event.data.a == 1", 2, "a node of type `wait` needs `event`"),
        ("event: 'a/*'", 2, "a wait is for one event by its whole name, not for a pattern"),
        ("event: a/b, match: evnt.data.a == 1", 2, "there is no name `evnt`"),
        ("event: a/b, match: event.dta.a == 1", 2, "`dta`"),
        ("event: a/b, match: '1 + 2'", 2, "true or false"),
        ("event: a/b, on_timeout: w", 2, "`on_timeout` needs a `timeout`"),
        ("event: a/b, match: event.data.n > 3", 0, "nothing in it tells those who wait for `a/b` apart"),
        ("event: a/b, match: event.data.n == 3 && event.data.m > 5", 0, ""),
        ("event: a/b}, t: {type: transform, value: input.x", 0, "without `match`, the next event `a/b` is heard by every run"),
    ] {
        let (ended, said) = check(node);
        assert!(ended == exit && said.contains(told), "{node}: {ended} {said}");
    }
    // Where runs do not differ, or any will do, there is nothing to doubt.
    for node in ["event: a/b", "event: a/b, match: true}, t: {type: transform, value: input.x"] {
        let (ended, said) = check(node);
        assert!(ended == 0 && !said.contains("warning"), "{node}: {ended} {said}");
    }
}
