//! The worker protocol on the real binary: hand-over, heartbeats, cancels, results that come twice or too late, workers
//! that vanish, and a server that stops in the middle of it.

mod server;
mod talk;

use serde_json::{Value, json};
use server::{Server, signal};
use std::time::{Duration, Instant};
use talk::{Connection, Waiting, lease, report, request, until, verified};

struct House {
    server: Server,
    folder: tempfile::TempDir,
}

impl House {
    fn start(stop_limit: &str) -> House {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start_with(&folder.path().join("data"), 0, &["--stop-limit", stop_limit], &[]);
        House { server, folder }
    }

    /// A house with queue `q` set up like this.
    fn with_queue(config: Value) -> House {
        let house = House::start("100ms");
        house.server.put("/v1/queues/q", &json!({"config": config}));
        house
    }

    fn add(&self) -> String {
        self.server.post("/v1/tasks", &json!({"type": "q", "input": {"n": 1}}))["task"].as_str().unwrap().to_owned()
    }

    fn task(&self, id: &str) -> Value {
        self.server.get(&format!("/v1/tasks/{id}"))
    }

    /// The kinds of a task's records.
    fn history(&self, id: &str) -> Vec<String> {
        let history = self.server.get(&format!("/v1/tasks/{id}/history"));
        let records = history["records"].as_array().unwrap().iter();
        records.map(|record| record["record"]["record"].as_str().unwrap().to_owned()).collect()
    }

    fn poll(&self, poll: Value) -> Value {
        self.server.post("/v1/work", &poll)
    }

    fn heartbeat(&self, worker: &str, task: &Value) -> Value {
        self.poll(json!({"worker": worker, "types": [], "holding": [held(task)]}))["holding"][0].clone()
    }

    fn verified(mut self) {
        assert_eq!(self.server.terminate(), Some(0));
        verified(&self.folder.path().join("data"));
    }
}

fn held(task: &Value) -> Value {
    json!({"task": task["task"], "fence": task["fence"]})
}

fn waiting_for_work(worker: &str) -> Value {
    json!({"worker": worker, "types": ["q"], "want": 1, "wait_ms": 30_000})
}

#[test]
fn a_task_goes_to_the_poll_that_waits_longest_at_once() {
    let house = House::with_queue(json!({}));
    let first = Waiting::start(&house.server, &waiting_for_work("w1"));
    let second = Waiting::start(&house.server, &waiting_for_work("w2"));
    let began = Instant::now();
    let task = house.add();
    let (answer, _) = first.end();
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!((&answer["tasks"][0]["task"], &answer["tasks"][0]["input"]), (&json!(task), &json!({"n": 1})));
    assert!(!second.is_over());
    let next = house.add();
    assert_eq!(second.end().0["tasks"][0]["task"], json!(next));
    house.verified();
}

#[test]
fn a_poll_ends_empty_when_its_time_is_up() {
    let house = House::with_queue(json!({}));
    let poll = json!({"worker": "w", "types": ["q"], "want": 1, "wait_ms": 300});
    let (answer, took) = Waiting::start(&house.server, &poll).end();
    assert_eq!(answer, json!({"results": [], "holding": [], "tasks": [], "stopping": false}));
    assert!(took >= Duration::from_millis(290) && took < Duration::from_secs(5), "{took:?}");
    house.verified();
}

#[test]
fn results_and_more_work_go_in_one_trip() {
    let house = House::with_queue(json!({}));
    let (one, two) = (house.add(), house.add());
    let first = lease(&house.server, "w", "q");
    let result = json!({"task": one, "fence": first["fence"], "status": "done", "output": {"x": [1, 2]}});
    let answer = house.poll(json!({"worker": "w", "types": ["q"], "want": 5, "wait_ms": 30_000, "results": [result]}));
    assert_eq!((&answer["results"][0]["ok"], &answer["tasks"][0]["task"]), (&json!(true), &json!(two)));
    assert_eq!(house.task(&one)["output"], json!({"x": [1, 2]}));
    // With something to report the answer comes at once, also when there is no more work.
    let began = Instant::now();
    let result = json!({"task": two, "fence": answer["tasks"][0]["fence"], "status": "done"});
    let answer = house.poll(json!({"worker": "w", "types": ["q"], "want": 5, "wait_ms": 30_000, "results": [result]}));
    assert_eq!((&answer["results"][0]["ok"], &answer["tasks"]), (&json!(true), &json!([])));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(house.task(&two)["output"], Value::Null);
    house.verified();
}

#[test]
fn what_the_next_poll_does_not_name_was_not_delivered() {
    let house = House::with_queue(json!({}));
    let task = house.add();
    let lost = lease(&house.server, "w", "q");
    let again = lease(&house.server, "w", "q");
    assert_eq!((&again["task"], &again["attempt"]), (&json!(task), &json!(1)), "no attempt is burnt");
    assert_ne!(again["fence"], lost["fence"]);
    assert_eq!(house.history(&task), ["task_added", "task_leased", "task_released", "task_leased"]);
    assert_eq!(report(&house.server, "w", &lost, json!({"status": "done"}))["code"], "lease_lost");
    // That report named only the lost lease, so the second was not delivered either, and a third one counts.
    let third = lease(&house.server, "other", "q");
    assert_eq!((&third["task"], &third["attempt"]), (&json!(task), &json!(1)));
    assert_eq!(report(&house.server, "other", &third, json!({"status": "done"}))["ok"], true);
    house.verified();
}

#[test]
fn heartbeats_keep_a_lease_and_silence_loses_it() {
    let house = House::with_queue(json!({"heartbeat_ms": 400, "retry": {"attempts": 2, "backoff_ms": 0, "jitter_percent": 0}}));
    let task = house.add();
    let leased = lease(&house.server, "w", "q");
    assert_eq!(leased["heartbeat_ms"], 400);
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(1_500) {
        let answer = house.heartbeat("w", &leased);
        assert_eq!((&answer["ok"], &answer["cancel"]), (&json!(true), &json!(false)));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!((&house.task(&task)["status"], &house.task(&task)["attempt"]), (&json!("running"), &json!(1)));

    let second = lease(&house.server, "w2", "q");
    assert_eq!((&second["task"], &second["attempt"]), (&json!(task), &json!(2)), "the next attempt");
    assert_eq!(house.task(&task)["error"]["code"], "worker_lost");
    assert_eq!(house.heartbeat("w", &leased)["code"], "lease_lost");
    assert_eq!(report(&house.server, "w", &leased, json!({"status": "done"}))["code"], "lease_lost");

    // Silent again: the attempts are spent.
    until("the task dies", || (house.task(&task)["status"] == "failed").then_some(()));
    assert_eq!(report(&house.server, "w2", &second, json!({"status": "done"}))["code"], "lease_lost");
    let expected = ["task_added", "task_leased", "task_retried", "task_leased", "task_failed"];
    assert_eq!(house.history(&task), expected);
    house.verified();
}

/// A poll that waits for more while it holds something is answered in time for the next heartbeat.
#[test]
fn a_waiting_poll_does_not_outlive_the_heartbeats_it_owes() {
    let house = House::with_queue(json!({"heartbeat_ms": 900}));
    let task = house.add();
    let leased = lease(&house.server, "w", "q");
    for _ in 0..3 {
        let mut poll = waiting_for_work("w");
        poll["holding"] = json!([held(&leased)]);
        let (answer, took) = Waiting::start(&house.server, &poll).end();
        assert_eq!(answer["holding"][0]["ok"], true);
        assert!(took < Duration::from_millis(900), "{took:?}");
    }
    assert_eq!(house.task(&task)["attempt"], 1);
    house.verified();
}

#[test]
fn a_cancel_is_heard_and_the_slot_stays_taken_until_it_is_confirmed() {
    let house = House::with_queue(json!({"concurrency": 1}));
    let (task, next) = (house.add(), house.add());
    let leased = lease(&house.server, "w", "q");
    let mut poll = waiting_for_work("w");
    poll["holding"] = json!([held(&leased)]);

    // Heard by a poll that waits, at once.
    let waiting = Waiting::start(&house.server, &poll);
    let began = Instant::now();
    let answer = house.server.post(&format!("/v1/tasks/{task}/cancel"), &json!({"by": "ana", "reason": "enough"}));
    assert_eq!(answer["status"], "running");
    let (answer, _) = waiting.end();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!((&answer["holding"][0]["ok"], &answer["holding"][0]["cancel"]), (&json!(true), &json!(true)));
    assert_eq!(answer["tasks"], json!([]), "the slot is still taken");
    assert_eq!(house.task(&task)["lease"]["ending"], "cancel");
    assert_eq!(house.heartbeat("w", &leased)["cancel"], true);
    // It is told once at once; a worker that is slow to stop may wait meanwhile, and learns of other things.
    poll["wait_ms"] = json!(300);
    let (answer, took) = Waiting::start(&house.server, &poll).end();
    assert_eq!(answer["holding"][0]["cancel"], true);
    assert!(took > Duration::from_millis(290), "a worker that is slow to stop must not spin: {took:?}");
    assert_eq!(house.poll(json!({"worker": "w2", "types": ["q"], "want": 1}))["tasks"], json!([]));

    // Whatever it says confirms it, and frees the slot for the next in the same trip.
    let result = json!({"task": task, "fence": leased["fence"], "status": "done"});
    let answer = house.poll(json!({"worker": "w", "types": ["q"], "want": 1, "results": [result]}));
    assert_eq!((&answer["results"][0]["ok"], &answer["tasks"][0]["task"]), (&json!(true), &json!(next)));
    let cancelled = house.task(&task);
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(cancelled["cancelled"], json!({"cause": "asked", "by": "ana", "reason": "enough"}));
    house.verified();
}

#[test]
fn a_cancel_that_came_between_two_heartbeats_is_heard_at_the_next_one() {
    let house = House::with_queue(json!({}));
    let task = house.add();
    let leased = lease(&house.server, "w", "q");
    house.server.post(&format!("/v1/tasks/{task}/cancel"), &json!({}));
    let mut poll = waiting_for_work("w");
    poll["holding"] = json!([held(&leased)]);
    let (answer, took) = Waiting::start(&house.server, &poll).end();
    assert_eq!(answer["holding"][0]["cancel"], true);
    assert!(took < Duration::from_secs(5), "there was something to say at once: {took:?}");
    assert_eq!(report(&house.server, "w", &leased, json!({"status": "released"}))["ok"], true);
    assert_eq!(house.task(&task)["status"], "cancelled");
    house.verified();
}

#[test]
fn a_result_counts_once_and_another_outcome_not_at_all() {
    let house = House::with_queue(json!({"retry": {"attempts": 9, "backoff_ms": 0, "jitter_percent": 0}}));
    let done = json!({"status": "done", "output": {"a": 1}});
    let failed = json!({"status": "failed", "error": {"code": "boom", "message": "m"}, "retryable": false});
    let retried = json!({"status": "failed", "error": {"code": "boom", "message": "m"}});
    for (first, other) in
        [(&done, &failed), (&failed, &done), (&retried, &failed), (&done, &json!({"status": "done", "output": {"a": 2}}))]
    {
        house.add();
        let leased = lease(&house.server, "w", "q");
        let ok = json!({"task": leased["task"], "ok": true});
        let again = json!({"task": leased["task"], "ok": true, "duplicate": true});
        assert_eq!(report(&house.server, "w", &leased, first.clone()), ok);
        assert_eq!(report(&house.server, "w", &leased, first.clone()), again);
        let late = report(&house.server, "w", &leased, other.clone());
        assert_eq!((&late["ok"], &late["code"]), (&json!(false), &json!("lease_lost")), "{first} then {other}");
        assert_eq!(report(&house.server, "w", &leased, first.clone()), again, "also after that");
        house.server.post("/v1/queues/q/clear", &json!({}));
        until("the queue is empty", || (house.server.get("/v1/queues/q")["counts"]["queued"] == 0).then_some(()));
    }
    // In one poll too.
    house.add();
    let leased = lease(&house.server, "w", "q");
    let result = json!({"task": leased["task"], "fence": leased["fence"], "status": "done"});
    let answer = house.poll(json!({"worker": "w", "types": [], "results": [result, result]}));
    assert_eq!((&answer["results"][0]["ok"], &answer["results"][1]["duplicate"]), (&json!(true), &json!(true)));
    house.verified();
}

#[test]
fn a_released_task_keeps_its_attempt_and_a_failed_one_waits_as_long_as_it_asked() {
    let house = House::with_queue(json!({"retry": {"attempts": 3, "backoff_ms": 0, "jitter_percent": 0}}));
    let task = house.add();
    let leased = lease(&house.server, "w", "q");
    assert_eq!(report(&house.server, "w", &leased, json!({"status": "released"}))["ok"], true);
    let leased = lease(&house.server, "w", "q");
    assert_eq!(leased["attempt"], 1);
    let failed = json!({"status": "failed", "error": {"code": "http_503"}, "retry_after_ms": 3_600_000});
    assert_eq!(report(&house.server, "w", &leased, failed)["ok"], true);
    let explained = house.server.get(&format!("/v1/tasks/{task}/explain"));
    assert_eq!(explained["blocked_on"][0]["code"], "backoff");
    assert_eq!(house.poll(json!({"worker": "w", "types": ["q"], "want": 1}))["tasks"], json!([]));
    house.verified();
}

#[test]
fn a_second_poll_of_a_worker_ends_the_first() {
    let house = House::with_queue(json!({}));
    let first = Waiting::start(&house.server, &waiting_for_work("w"));
    let second = Waiting::start(&house.server, &waiting_for_work("w"));
    let (answer, took) = first.end();
    assert_eq!(answer["tasks"], json!([]));
    assert!(took < Duration::from_secs(5), "{took:?}");
    let task = house.add();
    assert_eq!(second.end().0["tasks"][0]["task"], json!(task));
    house.verified();
}

/// Connections that go away while their poll waits, or in the very moment it is granted something: whatever they were
/// granted is somebody else's, no attempt burnt. The heartbeat is long, so nothing but that can save it.
#[test]
fn a_poll_whose_connection_is_gone_gives_its_grant_back() {
    let house = House::with_queue(json!({}));
    for round in 0..60 {
        let worker = format!("gone-{round}");
        let poll = json!({"worker": worker, "types": ["q"], "want": 1, "wait_ms": 30_000});
        let mut gone = Connection::open(house.server.port);
        gone.send(&request("POST", "/v1/work", &[], poll.to_string().as_bytes()));
        let waits = round % 3 == 0;
        if waits {
            until("it waits", || house.server.get("/v1/status").to_string().contains(&format!("\"{worker}\"")).then_some(()));
            drop(gone);
            house.add();
        } else {
            // The add and the end of the connection race.
            let server = &house.server;
            std::thread::scope(|scope| {
                scope.spawn(|| server.post("/v1/tasks", &json!({"type": "q", "input": {"n": 1}})));
                std::thread::sleep(Duration::from_micros(round * 60));
                drop(gone);
            });
        }
        let poll = json!({"worker": "alive", "types": ["q"], "want": 1, "wait_ms": if waits { 5_000 } else { 100 }});
        let mut leased = house.poll(poll)["tasks"][0].clone();
        if leased.is_null() && !waits {
            // The answer was under way before the connection ended, so it may have been read for all the server knows.
            // The worker comes back and knows of nothing: not delivered.
            house.poll(json!({"worker": worker, "types": []}));
            leased = lease(&house.server, "alive", "q");
        }
        assert_eq!((&leased["attempt"], &leased["input"]), (&json!(1), &json!({"n": 1})), "round {round}");
        assert_eq!(report(&house.server, "alive", &leased, json!({"status": "done"}))["ok"], true);
    }
    house.verified();
}

#[test]
fn a_result_that_cannot_be_taken_is_answered_on_its_own() {
    let house = House::with_queue(json!({}));
    let (bad, good) = (house.add(), house.add());
    let answer = house.poll(json!({"worker": "w", "types": ["q"], "want": 2}));
    let leases = answer["tasks"].clone();
    let deep = format!("{}{}", "[".repeat(120), "]".repeat(120));
    for (result, code) in [
        (json!({"status": "done", "output": "x".repeat(256 * 1024)}), "too_large"),
        (json!({"status": "done", "output": serde_json::from_str::<Value>(&deep).unwrap()}), "invalid"),
        (json!({"status": "done", "output": 1, "error": {"code": "x"}}), "invalid"),
        (json!({"status": "failed", "output": 1, "error": {"code": "x"}}), "invalid"),
        (json!({"status": "failed", "retry_after_ms": u64::MAX}), "invalid"),
        (json!({"status": "released", "output": 1}), "invalid"),
    ] {
        let mut result = result;
        result["task"] = leases[0]["task"].clone();
        result["fence"] = leases[0]["fence"].clone();
        let mut poll = waiting_for_work("w");
        poll["results"] = json!([result]);
        poll["holding"] = json!([held(&leases[1])]);
        let (answer, took) = Waiting::start(&house.server, &poll).end();
        assert_eq!((&answer["results"][0]["ok"], &answer["results"][0]["code"]), (&json!(false), &json!(code)));
        assert_eq!(answer["holding"], json!([{"task": good, "ok": true, "cancel": false, "heartbeat_ms": 30_000}]));
        assert!(took < Duration::from_secs(5), "there was something to say at once: {took:?}");
    }
    assert_eq!(house.task(&bad)["status"], "running", "the lease stays the worker's");
    let results = [0, 1].map(|n| json!({"task": leases[n]["task"], "fence": leases[n]["fence"], "status": "done"}));
    let answer = house.poll(json!({"worker": "w", "types": [], "results": results}));
    assert_eq!((&answer["results"][0]["ok"], &answer["results"][1]["ok"]), (&json!(true), &json!(true)));
    house.verified();
}

#[test]
fn an_attempt_that_runs_too_long_is_stopped_and_tried_again() {
    let house = House::with_queue(json!({"budget_ms": 300, "retry": {"attempts": 2, "backoff_ms": 0, "jitter_percent": 0}}));
    let task = house.add();
    let leased = lease(&house.server, "w", "q");
    assert_eq!(leased["budget_ms"], 300);
    // Heartbeats do not buy time, and a poll that waits hears of it at once.
    let mut poll = waiting_for_work("w");
    poll["holding"] = json!([held(&leased)]);
    let (answer, took) = Waiting::start(&house.server, &poll).end();
    assert_eq!((&answer["holding"][0]["ok"], &answer["holding"][0]["cancel"]), (&json!(true), &json!(true)));
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!(house.task(&task)["lease"]["ending"], "timed_out");
    assert_eq!(report(&house.server, "w", &leased, json!({"status": "done"}))["ok"], true);
    assert_eq!(house.task(&task)["error"]["code"], "timed_out");
    let second = lease(&house.server, "w", "q");
    assert_eq!((&second["task"], &second["attempt"]), (&json!(task), &json!(2)));
    house.verified();
}

#[test]
fn a_graceful_stop_lets_running_work_finish() {
    let mut house = House::start("60s");
    let (running, queued) = (house.add(), house.add());
    let leased = lease(&house.server, "w", "q");
    let waiting = Waiting::start(&house.server, &json!({"worker": "idle", "types": ["other"], "want": 1, "wait_ms": 30_000}));
    signal(house.server.pid(), "TERM");
    let (answer, took) = waiting.end();
    assert_eq!((&answer["stopping"], &answer["tasks"]), (&json!(true), &json!([])));
    assert!(took < Duration::from_secs(5), "{took:?}");

    let (status, refused) = house.server.ask("POST", "/v1/tasks", Some(&json!({"type": "q"})));
    assert_eq!((status, &refused["error"]["code"], &refused["error"]["retryable"]), (503, &json!("stopping"), &json!(true)));
    assert_eq!(house.server.ask("GET", "/ready", None).0, 503);
    assert_eq!(house.server.get("/health")["ok"], true);
    assert_eq!(house.server.get("/v1/status")["stopping"], true);
    // No new leases, though one waits.
    let answer = house.poll(json!({"worker": "w2", "types": ["q"], "want": 1, "wait_ms": 30_000}));
    assert_eq!((&answer["stopping"], &answer["tasks"]), (&json!(true), &json!([])));
    let explained = house.server.get(&format!("/v1/tasks/{queued}/explain"));
    assert_eq!(explained["blocked_on"][0]["code"], "stopping");
    assert_eq!(house.heartbeat("w", &leased)["ok"], true);
    assert_eq!(report(&house.server, "w", &leased, json!({"status": "done", "output": 1}))["ok"], true);

    let began = Instant::now();
    assert_eq!(house.server.wait(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(4), "it ends when the last lease has: {:?}", began.elapsed());
    let data = house.folder.path().join("data");
    house.server = Server::start(&data, 0);
    assert_eq!((&house.task(&running)["status"], &house.task(&queued)["status"]), (&json!("done"), &json!("queued")));
    house.verified();
}

#[test]
fn a_lease_outlives_a_stop_that_could_not_wait() {
    let mut house = House::start("200ms");
    let task = house.add();
    let leased = lease(&house.server, "w", "q");
    let began = Instant::now();
    assert_eq!(house.server.terminate(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let data = house.folder.path().join("data");
    house.server = Server::start(&data, 0);
    let running = house.task(&task);
    assert_eq!(
        (&running["status"], &running["attempt"], &running["lease"]["fence"]),
        (&json!("running"), &json!(1), &leased["fence"])
    );
    assert_eq!(house.heartbeat("w", &leased)["ok"], true);
    assert_eq!(report(&house.server, "w", &leased, json!({"status": "done"}))["ok"], true);
    assert_eq!((&house.task(&task)["status"], &house.task(&task)["attempt"]), (&json!("done"), &json!(1)));
    house.verified();
}

/// Workers that take work and never speak again, and connections that take an answer and never read it, hold nobody up.
#[test]
fn workers_that_never_answer_hold_nobody_up() {
    let house = House::with_queue(json!({"heartbeat_ms": 100, "retry": {"attempts": 3, "backoff_ms": 0, "jitter_percent": 0}}));
    let tasks: Vec<Value> = vec![json!({"type": "q", "input": "x".repeat(100_000)}); 40];
    house.server.post("/v1/tasks/batch", &json!({"tasks": tasks}));
    let mut deaf: Vec<Connection> = Vec::new();
    for n in 0..8 {
        let poll = json!({"worker": format!("deaf-{n}"), "types": ["q"], "want": 5});
        let mut connection = Connection::open(house.server.port);
        connection.send(&request("POST", "/v1/work", &[], poll.to_string().as_bytes()));
        deaf.push(connection);
    }
    let mut done = 0;
    until("every task is done or dead", || {
        let leased = house.poll(json!({"worker": "alive", "types": ["q"], "want": 40}))["tasks"].clone();
        let result = |task: &Value| json!({"task": task["task"], "fence": task["fence"], "status": "done"});
        let results: Vec<Value> = leased.as_array().unwrap().iter().map(result).collect();
        let answer = house.poll(json!({"worker": "alive", "types": [], "results": results}));
        done += answer["results"].as_array().unwrap().iter().filter(|result| result["ok"] == true).count();
        (done == 40).then_some(())
    });
    assert_eq!(house.server.get("/v1/status")["counts"]["running"], 0);
    drop(deaf);
    house.verified();
}
