//! `GET /v1/stream` on the real binary: what a listener is told is what the histories say, each record once, whatever
//! happens to its connection or to the server.

mod server;
mod talk;

use serde_json::{Value, json};
use server::Server;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use talk::{Connection, Event, Listener, lease, report, request, verified};

struct House {
    server: Server,
    folder: tempfile::TempDir,
}

impl House {
    fn start() -> House {
        let folder = tempfile::tempdir().unwrap();
        House { server: Server::start_with(&folder.path().join("data"), 0, &["--stop-limit", "100ms"], &[]), folder }
    }

    fn restart(&mut self, kill: bool) {
        if kill {
            self.server.kill_9()
        } else {
            assert_eq!(self.server.terminate(), Some(0))
        };
        self.server = Server::start(&self.folder.path().join("data"), self.server.port);
    }

    fn add(&self, kind: &str) -> String {
        self.server.post("/v1/tasks", &json!({"type": kind}))["task"].as_str().unwrap().to_owned()
    }

    /// Adds a task and brings it to its end.
    fn live(&self, kind: &str) -> String {
        let task = self.add(kind);
        let leased = lease(&self.server, &format!("w-{task}"), kind);
        assert_eq!(report(&self.server, &format!("w-{task}"), &leased, json!({"status": "done"}))["ok"], true);
        task
    }

    fn listen(&self, query: &str, last_id: Option<&str>) -> Listener {
        Listener::open(self.server.port, query, last_id)
    }

    /// Every record of these tasks by the number it has, as their histories tell.
    fn histories(&self, tasks: &[String]) -> BTreeMap<u64, Value> {
        let mut all = BTreeMap::new();
        for task in tasks {
            for record in self.server.get(&format!("/v1/tasks/{task}/history"))["records"].as_array().unwrap() {
                all.insert(number(record["seq"].as_str().unwrap()), record.clone());
            }
        }
        all
    }
}

fn number(cursor: &str) -> u64 {
    cursor.strip_prefix('r').and_then(|digits| digits.parse().ok()).unwrap_or_else(|| panic!("`{cursor}` is no cursor"))
}

fn kinds(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.name.as_str()).collect()
}

#[test]
fn a_listener_hears_what_its_filter_lets_through() {
    let house = House::start();
    let before = house.live("early");
    let mut all = house.listen("", None);
    let mut ci = house.listen("?queue=ci,other", None);
    let mut ends = house.listen("?record=task_done,task_cancelled", None);
    let mut both = house.listen("?queue=ci&record=task_leased", None);
    let mut one = house.listen(&format!("?task={before}"), None);

    let lint = house.live("lint");
    house.server.put("/v1/queues/ci", &json!({"config": {"rate": {"count": 1, "per_ms": 1, "burst": 9}}}));
    let ci_task = house.live("ci");
    house.server.post(&format!("/v1/tasks/{before}/reset"), &json!({"by": "ana"}));
    house.server.post(&format!("/v1/tasks/{before}/retry"), &json!({}));
    house.server.post(&format!("/v1/tasks/{before}/cancel"), &json!({"reason": "enough"}));

    let life = ["task_added", "task_leased", "task_done"];
    let events = all.up_to(|event| event.name == "task_cancelled");
    let tail = ["task_reset", "task_queued", "task_cancelled"];
    let with_rate = ["queue_configured", "task_added", "permit_taken", "task_leased", "task_done"];
    let told: Vec<&str> = kinds(&events).into_iter().filter(|kind| *kind != "ids_reserved").collect();
    assert_eq!(told, [&life[..], &with_rate, &tail].concat());
    for event in &events {
        let view = event.json();
        assert_eq!((&view["seq"], &view["record"]["record"]), (&json!(event.id), &json!(event.name)));
    }
    assert!(events.windows(2).all(|pair| number(&pair[0].id) < number(&pair[1].id)));

    let events = ci.up_to(|event| event.name == "task_done");
    assert_eq!(kinds(&events), with_rate);
    let owners: Vec<Value> = events.iter().map(|event| event.json()["owner"].clone()).collect();
    assert_eq!((&owners[0], &owners[1], &owners[2]), (&json!("queue:ci"), &json!(ci_task), &json!("rate:ci")));
    assert_eq!(kinds(&ends.up_to(|event| event.name == "task_cancelled")), ["task_done", "task_done", "task_cancelled"]);
    assert_eq!(both.next().unwrap().json()["owner"], json!(ci_task));
    assert_eq!(kinds(&one.up_to(|event| event.name == "task_cancelled")), tail);
    assert_ne!(lint, ci_task);
}

/// Whose queue is looked up when it is not known, also when the task is gone by then.
#[test]
fn a_queue_is_known_for_tasks_that_were_there_before_and_for_those_that_are_gone() {
    let mut house = House::start();
    let (kept, deleted) = (house.add("ci"), house.add("ci"));
    let mut live = house.listen("?queue=ci", None);
    let from = live.last_id.clone();
    house.add("other");
    house.server.post(&format!("/v1/tasks/{kept}/cancel"), &json!({}));
    house.server.post(&format!("/v1/tasks/{deleted}/reset"), &json!({}));
    assert_eq!(kinds(&live.up_to(|event| event.name == "task_reset")), ["task_cancelled", "task_reset"]);
    house.server.ask("DELETE", &format!("/v1/tasks/{deleted}"), None);
    assert_eq!(kinds(&live.up_to(|event| event.name == "task_deleted")), ["task_deleted"]);
    // Whoever comes later finds no row any more, and of what was deleted only that, also after a restart.
    house.restart(true);
    let mut late = house.listen("?queue=ci", Some(&from));
    assert_eq!(kinds(&late.up_to(|event| event.name == "task_deleted")), ["task_cancelled", "task_deleted"]);
}

/// A listener whose connection breaks again and again, while work goes on and the server is restarted, hears exactly
/// what the histories say.
#[test]
fn a_listener_that_comes_back_misses_nothing_and_hears_nothing_twice() {
    const LIVES: usize = 60;
    let mut house = House::start();
    let mut heard: Vec<Event> = Vec::new();
    let mut listener = house.listen("?record=task_added,task_leased,task_done", None);
    let mut tasks = Vec::new();
    for round in 0..LIVES {
        tasks.push(house.live("q"));
        match round % 6 {
            // Some of it is heard, some is left in the connection that breaks.
            1 | 4 => {
                for _ in 0..(round % 5) {
                    heard.push(listener.next().unwrap());
                }
            }
            3 => {
                let last = listener.last_id.clone();
                drop(listener);
                tasks.push(house.live("q"));
                listener = house.listen("?record=task_added,task_leased,task_done", Some(&last));
            }
            5 => {
                house.restart(round % 4 == 1);
                listener = house.listen("?record=task_added,task_leased,task_done", Some(&listener.last_id));
            }
            _ => {}
        }
    }
    let last = tasks.last().unwrap().clone();
    heard.extend(listener.up_to(|event| event.name == "task_done" && event.json()["owner"] == json!(last)));
    let told: Vec<(u64, Value)> = heard.iter().map(|event| (number(&event.id), event.json())).collect();
    let expected: Vec<(u64, Value)> = house.histories(&tasks).into_iter().collect();
    assert_eq!(told.len(), 3 * tasks.len());
    assert_eq!(told, expected);
    // From the very beginning it is the same story.
    let mut whole = house.listen("?record=task_added,task_leased,task_done", Some("r0"));
    let again = whole.up_to(|event| event.id == heard.last().unwrap().id);
    assert_eq!(again, heard);
    house.server.terminate();
    verified(&house.folder.path().join("data"));
}

/// One that heard nothing yet still has a place to come back to.
#[test]
fn a_listener_that_heard_nothing_can_come_back_too() {
    let mut house = House::start();
    let empty = house.listen("", None).last_id;
    assert_eq!(number(&empty), 0);
    house.add("q");
    let listener = house.listen("?record=task_done", None);
    let last = listener.last_id.clone();
    drop(listener);
    let task = house.live("q2");
    house.restart(false);
    let mut listener = house.listen("?record=task_done", Some(&last));
    assert_eq!(listener.next().unwrap().json()["owner"], json!(task));
}

#[test]
fn a_cursor_that_is_none_is_refused_and_one_from_the_future_starts_anew() {
    let house = House::start();
    house.live("q");
    for cursor in ["x", "r", "r-1", "1", "r1x", "r18446744073709551616", "\u{fc}", "r1 "] {
        let answer = talk::ask(house.server.port, "GET", "/v1/stream", &[("last-event-id", cursor)], b"").unwrap();
        // Blanks around a header's value are not part of it.
        if cursor != "r1 " {
            assert_eq!(talk::refusal(answer.status, &answer.json(), cursor), "invalid");
        }
    }
    for query in ["?queue=a%20b", "?task=run-1", "?record=task_dnoe", "?records=task_done", "?queue="] {
        let answer = talk::ask(house.server.port, "GET", &format!("/v1/stream{query}"), &[], b"").unwrap();
        assert_eq!(talk::refusal(answer.status, &answer.json(), query), "invalid");
    }
    for future in ["r999999999", "r18446744073709551615"] {
        let mut listener = house.listen("", Some(future));
        let reset = listener.next().unwrap();
        assert_eq!((reset.name.as_str(), reset.data.as_str()), ("reset", "{}"));
        let now = number(&reset.id);
        let task = house.add("q");
        let added = listener.next().unwrap();
        assert_eq!((added.name.as_str(), &added.json()["owner"]), ("task_added", &json!(task)));
        assert!(number(&added.id) > now && number(future) > number(&added.id));
    }
}

/// A listener that does not read holds nobody up, and when it reads at last it has missed nothing.
#[test]
fn a_slow_listener_neither_stalls_the_server_nor_misses_anything() {
    const BATCHES: usize = 40;
    const SINGLES: usize = 400;
    let house = House::start();
    let mut slow = house.listen("?record=task_added", None);
    let tasks: Vec<Value> = vec![json!({"type": "q", "tags": ["x".repeat(100), "y".repeat(100)]}); 1_000];
    let mut longest = Duration::ZERO;
    for _ in 0..BATCHES {
        let began = Instant::now();
        house.server.post("/v1/tasks/batch", &json!({"tasks": tasks}));
        longest = longest.max(began.elapsed());
        assert!(house.server.get("/health")["ok"] == true);
    }
    assert!(longest < Duration::from_secs(5), "an add took {longest:?}");
    // More commits than are kept for those who are behind: the rest has to come from the store.
    for _ in 0..SINGLES {
        house.add("q");
    }
    let mut last = 0;
    for n in 0..BATCHES * 1_000 + SINGLES {
        let event = slow.next().unwrap_or_else(|| panic!("the stream ended after {n}"));
        let at = number(&event.id);
        assert!(at > last, "r{at} after r{last}");
        last = at;
    }
    let end = house.add("q");
    assert_eq!(slow.next().unwrap().json()["owner"], json!(end), "no more and no less");
}

/// The end of the server is the end of its streams: nobody waits for listeners, and listeners are told.
#[test]
fn a_stop_ends_the_streams_at_once() {
    let mut house = House::start();
    let mut listener = house.listen("", None);
    let mut idle = Connection::open(house.server.port);
    idle.send(&request("GET", "/health", &[], b""));
    assert_eq!(idle.answer().unwrap().status, 200);
    let began = Instant::now();
    assert_eq!(house.server.terminate(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    assert_eq!(listener.next(), None);
    assert!(idle.is_over());
}
