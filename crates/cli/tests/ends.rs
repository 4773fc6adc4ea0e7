//! `wait_ms` of tasks and runs on the real binary: who waits for an end is answered when it comes, and not before.

mod house;
mod server;
mod talk;

use house::House;
use serde_json::{Value, json};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use talk::{Connection, Listener, PATIENCE, ask, lease, report, request, until};

const FLOW: &str = "workflow: w\nnodes:\n  a: {type: work, retry: {attempts: 1}}\n";

/// Looks at it as long as `wait_ms` says, on a connection of its own: the answer, and how long it took.
fn looking(house: &House, path: &str, wait_ms: u64) -> JoinHandle<(u16, Value, Duration)> {
    let (port, path) = (house.server.port, format!("{path}?wait_ms={wait_ms}"));
    std::thread::spawn(move || {
        let began = Instant::now();
        let answer = ask(port, "GET", &path, &[], b"").expect("an answer");
        (answer.status, answer.json(), began.elapsed())
    })
}

fn add(house: &House) -> String {
    house.server.post("/v1/tasks", &json!({"type": "work"}))["task"].as_str().unwrap().to_owned()
}

#[test]
fn many_who_wait_for_one_run_are_answered_when_it_ends() {
    let house = House::start();
    house.put(FLOW);
    let run = house.start_run("w", &json!({}));
    let path = format!("/v1/runs/{run}");
    let waiting: Vec<_> = (0..5).map(|_| looking(&house, &path, 8_000)).collect();
    let other = looking(&house, &format!("/v1/runs/{}", house.start_run("w", &json!({}))), 300);
    let given = lease(&house.server, "w", "work");
    // What is not its end wakes nobody for good.
    house.ok(&format!("run pause {run}"));
    house.ok(&format!("run resume {run}"));
    assert_eq!(other.join().unwrap().1["status"], "running");
    assert!(waiting.iter().all(|one| !one.is_finished()));
    report(&house.server, "w", &given, json!({"status": "done"}));
    for one in waiting {
        let (status, view, took) = one.join().unwrap();
        assert_eq!((status, &view["status"]), (200, &json!("done")), "{view}");
        assert!(took < Duration::from_secs(8), "{took:?}");
    }
    // Of one that has ended nobody waits.
    assert_eq!(looking(&house, &path, 8_000).join().unwrap().1["status"], "done");
}

#[test]
fn whichever_way_a_task_ends_who_waits_hears_of_it() {
    let house = House::start();
    house.server.put("/v1/queues/work", &json!({"config": {"retry": {"attempts": 1}}}));
    type Way<'a> = (&'a str, &'a dyn Fn(&str));
    let works = |status: &str| _ = report(&house.server, "w", &lease(&house.server, "w", "work"), json!({"status": status}));
    let ways: [Way; 4] = [
        ("done", &|_| works("done")),
        ("failed", &|_| works("failed")),
        ("cancelled", &|task| _ = house.ok(&format!("task cancel {task}"))),
        ("task_not_found", &|task| _ = house.ok(&format!("task delete {task} --yes"))),
    ];
    for (expected, ends) in ways {
        let task = add(&house);
        let waiting = looking(&house, &format!("/v1/tasks/{task}"), 8_000);
        ends(&task);
        let (_, view, took) = waiting.join().unwrap();
        assert_eq!(view["status"].as_str().or(view["error"]["code"].as_str()), Some(expected), "{view}");
        assert!(took < Duration::from_secs(8), "{expected}: {took:?}");
    }
}

#[test]
fn whichever_way_a_run_ends_who_waits_hears_of_it() {
    let house = House::start();
    house.put(FLOW);
    type Way<'a> = (&'a str, &'a dyn Fn(&str));
    let ways: [Way; 2] = [
        ("failed", &|_| _ = report(&house.server, "w", &lease(&house.server, "w", "work"), json!({"status": "failed"}))),
        ("cancelled", &|run| _ = house.ok(&format!("run cancel {run}"))),
    ];
    for (expected, ends) in ways {
        let run = house.start_run("w", &json!({}));
        let waiting = looking(&house, &format!("/v1/runs/{run}"), 8_000);
        ends(&run);
        let (_, view, took) = waiting.join().unwrap();
        assert_eq!(view["status"], expected, "{view}");
        assert!(took < Duration::from_secs(8), "{expected}: {took:?}");
    }
}

#[test]
fn who_waits_in_vain_is_answered_when_the_time_is_over() {
    let house = House::start();
    let task = add(&house);
    let (status, view, took) = looking(&house, &format!("/v1/tasks/{task}"), 300).join().unwrap();
    assert_eq!((status, &view["status"]), (200, &json!("queued")), "{view}");
    assert!(took >= Duration::from_millis(290), "{took:?}");
    for path in [format!("/v1/tasks/{task}"), "/v1/runs/run-1".into()] {
        let (status, no, _) = looking(&house, &path, 60_001).join().unwrap();
        assert_eq!((status, &no["error"]["code"]), (400, &json!("invalid")), "{no}");
    }
    let (status, no, _) = looking(&house, "/v1/runs/run-1", 30_000).join().unwrap();
    assert_eq!((status, &no["error"]["code"]), (404, &json!("run_not_found")), "{no}");
}

#[test]
fn nobody_who_has_left_is_waited_for() {
    let house = House::start();
    let path = format!("/v1/tasks/{}?wait_ms=60000", add(&house));
    let mut half = Connection::open(house.server.port);
    let answer = half.send(&request("GET", &path, &[], b"")).send_no_more().answer().expect("an answer");
    assert_eq!(answer.json()["status"], "queued");
    assert!(half.is_over());
}

#[test]
fn a_server_that_stops_lets_go_of_those_who_wait() {
    let mut house = House::start();
    let path = format!("/v1/tasks/{}?wait_ms=60000", add(&house));
    let mut waiting = Connection::open(house.server.port);
    waiting.send(&request("GET", &path, &[], b""));
    // By then the first has come, too.
    house.server.get("/v1/status");
    let began = Instant::now();
    assert_eq!(house.server.terminate(), Some(0));
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    assert_eq!(waiting.answer().expect("an answer").json()["status"], "queued");
}

/// While running work may finish they wait on; told again, the server waits for nobody.
#[test]
fn a_server_that_is_to_stop_at_once_answers_those_who_wait() {
    let mut house = House::start();
    let task = add(&house);
    let given = lease(&house.server, "w", "work");
    let [mut show, mut log] = std::array::from_fn(|_| Connection::open(house.server.port));
    let mut stream = Listener::open(house.server.port, "", None);
    show.send(&request("GET", &format!("/v1/tasks/{task}?wait_ms=60000"), &[], b""));
    log.send(&request("GET", &format!("/v1/tasks/{task}/log?wait_ms=60000"), &[], b""));
    server::signal(house.server.pid(), "TERM");
    until("the server stops", || (house.server.ask("GET", "/ready", None).0 == 503).then_some(()));
    // A worker is told at once: nothing more will come, and what it holds it may finish.
    let holding = json!([{"task": given["task"], "fence": given["fence"]}]);
    let poll = json!({"worker": "w", "types": ["work"], "want": 1, "wait_ms": 60_000, "holding": holding});
    let told = house.server.post("/v1/work", &poll);
    assert_eq!(
        (&told["stopping"], &told["holding"][0]["ok"], &told["tasks"]),
        (&json!(true), &json!(true), &json!([])),
        "{told}"
    );
    let began = Instant::now();
    server::signal(house.server.pid(), "TERM");
    assert_eq!(house.server.wait(), Some(0));
    // It has five seconds for those who do not go.
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    while stream.next().is_some() {}
    assert_eq!(show.answer().expect("an answer").json()["status"], "running");
    assert_eq!(log.answer().expect("an answer").json()["ended"], false);
}
