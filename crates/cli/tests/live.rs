//! What is seen of work as it goes on, on the real binary: workers that hear at once that they should stop, and end with
//! what they started; those who look on and give up; a server that goes away meanwhile.

mod house;
mod server;
mod talk;

use house::{House, command};
use serde_json::{Value, json};
use server::{Server, signal};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use talk::{lease, report, until};

/// A heartbeat so long that nobody learns anything by one while a test has patience.
const HEARTBEAT_MS: u64 = 300_000;

/// A house whose queue `slow` hears of its workers rarely, and a workflow with one node of that type.
fn slow_house(timeout: &str) -> House {
    let house = House::start();
    house.server.put("/v1/queues/slow", &json!({"config": {"heartbeat_ms": HEARTBEAT_MS}}));
    house.put(&format!("workflow: w\nnodes:\n  a: {{type: slow, timeout: {timeout}, retry: {{attempts: 1}}}}\n"));
    house
}

/// One slot, and a command that says its number and sleeps. Once it has read its task, it is known to what ends it.
fn sleeper(house: &House) -> Child {
    let script = "cat > task; echo $$ > pid.new; mv pid.new pid; sleep 600 & wait";
    let mut command = command(house.folder.path(), &house.server.url, "work --type slow --name w --");
    command.args(["sh", "-c", script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn pid(house: &House) -> String {
    until("the command runs", || std::fs::read_to_string(house.folder.path().join("pid")).ok()).trim().to_owned()
}

/// Nobody of the group is left but those that nobody has reaped yet.
fn is_gone(leader: &str) -> bool {
    let listed = Command::new("ps").args(["-A", "-o", "pgid=,stat="]).output().unwrap();
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let mut members = text.lines().filter_map(|line| line.trim().split_once(' '));
    !members.any(|(group, state)| group == leader && !state.trim().starts_with('Z'))
}

fn end(mut worker: Child) -> String {
    signal(worker.id(), "TERM");
    let mut said = String::new();
    worker.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    worker.wait().unwrap();
    said
}

#[test]
fn a_cancel_stops_the_process_long_before_a_heartbeat_would_have_told_it() {
    let house = slow_house("1h");
    let run = house.start_run("w", &json!({}));
    let worker = sleeper(&house);
    let leader = pid(&house);
    // It listens from some time after the start on; either way it hears of this.
    house.ok(&format!("run cancel {run}"));
    assert!(house.told(&format!("run show {run}")).contains("worker w has still to stop"));
    until("the process is gone", || is_gone(&leader).then_some(()));
    until("the worker has said so", || (house.server.get("/v1/status")["workers"][0]["holding"] == 0).then_some(()));
    assert!(!house.told(&format!("run show {run}")).contains("has still to stop"));
    // It goes on with the next.
    std::fs::remove_file(house.folder.path().join("pid")).unwrap();
    let task = house.ok("task add slow")["task"].as_str().unwrap().to_owned();
    let leader = pid(&house);
    std::thread::sleep(Duration::from_millis(1_200));
    house.ok(&format!("task cancel {task}"));
    until("the next is gone too", || is_gone(&leader).then_some(()));
    until("it is cancelled", || (house.server.get(&format!("/v1/tasks/{task}"))["status"] == "cancelled").then_some(()));
    let said = end(worker);
    assert!(said.contains("is stopped: it was cancelled"), "{said}");
}

#[test]
fn an_attempt_whose_time_is_spent_is_ended_by_its_worker() {
    let house = slow_house("1s");
    let run = house.start_run("w", &json!({}));
    let worker = sleeper(&house);
    let leader = pid(&house);
    let ended = house.ended(&run);
    assert_eq!((&ended["status"], &ended["error"]["code"]), (&json!("failed"), &json!("timed_out")), "{ended}");
    until("the process is gone", || is_gone(&leader).then_some(()));
    let said = end(worker);
    assert!(said.contains("is stopped: its time budget is spent"), "{said}");
}

#[test]
fn what_a_worker_started_ends_with_it_however_it_ends() {
    let house = slow_house("1h");
    house.start_run("w", &json!({}));
    let mut worker = sleeper(&house);
    let leader = pid(&house);
    assert!(!is_gone(&leader));
    worker.kill().unwrap();
    worker.wait().unwrap();
    until("the process and what it started are gone", || is_gone(&leader).then_some(()));
}

#[test]
fn a_worker_is_told_when_its_name_is_in_use() {
    let house = slow_house("1h");
    let other = json!({"worker": "w", "types": ["slow"], "want": 1, "wait_ms": 0});
    house.server.post("/v1/work", &other);
    let mut worker = sleeper(&house);
    let mut first = String::new();
    BufReader::new(worker.stderr.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.contains("a worker named `w` was heard of") && first.contains("take each other's leases away"), "{first}");
    signal(worker.id(), "TERM");
    worker.wait().unwrap();
}

/// A command under way: interrupted when it has said what shows that it waits.
struct Looking(Child);

impl Looking {
    fn start(house: &House, line: &str) -> Looking {
        let mut command = command(house.folder.path(), &house.server.url, line);
        Looking(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Exit code, and what it said on stdout and stderr.
    fn end(mut self) -> (i32, String, String) {
        let (mut out, mut err) = (String::new(), String::new());
        self.0.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (self.0.wait().unwrap().code().unwrap_or(-1), out, err)
    }
}

#[test]
fn who_stops_looking_on_is_told_that_the_work_goes_on() {
    let house = slow_house("1h");
    let run = house.start_run("w", &json!({}));
    let task = house.ok("task add slow")["task"].as_str().unwrap().to_owned();
    let streams = |count: u64| until("the streams are open", || (house.streams() >= count).then_some(()));
    for (line, goes_on) in [
        (format!("run watch {run}"), "the run goes on"),
        ("run start w --wait".to_owned(), "the run goes on"),
        (format!("task wait {task}"), "1 task had not ended when this was stopped, and goes on"),
        (format!("--human run watch {run}"), "the run goes on"),
    ] {
        let looking = Looking::start(&house, &line);
        streams(1);
        signal(looking.0.id(), "INT");
        let (exit, out, err) = looking.end();
        let last = out.lines().last().unwrap_or_default().to_owned();
        assert_eq!(exit, 6, "{line}: {out} {err}");
        if line.starts_with("--human") {
            assert!(err.contains(goes_on), "{line}: {err}");
        } else {
            let document: Value = serde_json::from_str(&last).unwrap_or_else(|_| panic!("{line}: `{out}` `{err}`"));
            assert_eq!(
                (&document["ok"], &document["error"]["code"]),
                (&json!(false), &json!("interrupted")),
                "{line}: {document}"
            );
            assert!(document["error"]["message"].as_str().unwrap().contains(goes_on), "{line}: {document}");
        }
        until("the stream is closed", || (house.streams() == 0).then_some(()));
    }
    assert_eq!(house.view(&run)["status"], "running");
}

impl House {
    /// Connections to the server that are open beside the one that asks.
    fn streams(&self) -> u64 {
        let port = format!("{:04X}", self.server.port);
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
        let established = table.lines().filter(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.len() > 3 && words[1].ends_with(&format!(":{port}")) && words[3] == "01"
        });
        (established.count() as u64).saturating_sub(1)
    }
}

#[test]
fn who_looks_on_is_told_when_the_server_is_gone_and_when_it_is_back() {
    let mut house = slow_house("1h");
    let run = house.start_run("w", &json!({}));
    let port = house.server.port;
    // A worker that has done something and waits for more.
    let mut worker = command(house.folder.path(), &house.server.url, "work --type idle -- true");
    let mut worker = worker.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(worker.stderr.take().unwrap()).lines().map(Result::unwrap);
    // That the server is there it says at once, not when a poll that waits has been answered.
    let began = Instant::now();
    assert!(lines.next().unwrap().contains(" works on idle for "));
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    house.ok("task add idle --wait");
    let mut looking = Looking::start(&house, &format!("--human run watch {run}"));
    let mut said = BufReader::new(looking.0.stderr.take().unwrap());
    let mut told = BufReader::new(looking.0.stdout.take().unwrap());
    let mut line = String::new();
    // It has begun when it has told the first record.
    told.read_line(&mut line).unwrap();
    house.server.kill_9();
    line.clear();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("trying again"), "{line}");
    house.server = Server::start(&house.data(), port);
    line.clear();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("the server answers again"), "{line}");
    house.ok(&format!("run cancel {run}"));
    assert_eq!(looking.0.wait().unwrap().code(), Some(1));
    // The worker says it in the same words.
    assert!(lines.any(|line| line.contains("trying again")) && lines.any(|line| line == "the server answers again"));
    signal(worker.id(), "TERM");
    worker.wait().unwrap();
}

#[test]
fn of_a_run_that_has_ended_its_end_is_told_and_time_is_kept() {
    let house = House::start();
    house.put(
        "workflow: wide\nnodes:\n  all:\n    type: each\n    items: input\n    do: {nodes: {one: {type: transform, value: item}}}\n",
    );
    let items: Vec<u32> = (0..3_000).collect();
    // With `--wait` its own records are told, all of them.
    let file = house.file("items.json", &json!(items).to_string());
    let started = house.run(&format!("run start wide --input @{file} --wait"));
    assert_eq!((started.exit, started.out.lines().count() > 9_000), (0, true), "{}", started.out.lines().count());
    let run = started.json()["result"]["run"].as_str().unwrap().to_owned();
    let watched = house.run(&format!("run watch {run}"));
    assert_eq!((watched.exit, watched.out.lines().count()), (0, 1), "{}", watched.out.lines().count());
    // What is traced is the same, page by page.
    let traced = house.ok(&format!("run trace {run} --limit 100000"));
    let own = traced["records"].as_array().unwrap().iter().filter(|record| record["owner"].as_str().unwrap().starts_with("run-"));
    assert_eq!(own.count() + 1, started.out.lines().count());
    // One that goes on is not watched for longer than asked, however much there is to tell.
    house.put(
        "workflow: much\nnodes:\n  all:\n    type: each\n    items: input\n    do: {nodes: {one: {type: transform, value: item}}}\n  \
         ask: {type: approval, after: all}\n",
    );
    let more = house.start_run("much", &json!(items));
    house.node_is(&more, "ask", "asking");
    let document = house.refused(&format!("run watch {more} --timeout 1ms"), 6, "timeout");
    assert!(document["error"]["message"].as_str().unwrap().contains("the run goes on"), "{document}");
}

#[test]
fn a_result_of_a_run_that_is_sent_again_counts_as_the_same() {
    let mut house = House::start();
    house.put("workflow: w\nnodes:\n  a: {type: t, retry: {attempts: 1}}\n  b: {type: t, after: a}\n");
    let done = json!({"status": "done", "output": {"x": [1.5, "é"]}});
    let large = json!({"status": "done", "output": "x".repeat(9_000)});
    let failed = json!({"status": "failed", "error": {"code": "c", "message": "m"}, "retryable": false});
    let again = |house: &House, task: &Value, outcome: &Value, when: &str| {
        let told = report(&house.server, "w", task, outcome.clone());
        assert_eq!((&told["ok"], &told["duplicate"]), (&json!(true), &json!(true)), "{when} {outcome}: {told}");
    };
    let mut all = Vec::new();
    for outcome in [done, large, failed] {
        let run = house.start_run("w", &json!({}));
        let task = lease(&house.server, "w", "t");
        assert_eq!(report(&house.server, "w", &task, outcome.clone())["ok"], true);
        again(&house, &task, &outcome, "at once");
        if outcome["status"] == "done" {
            // The next node is under way, and then the run has ended.
            let next = lease(&house.server, "other", "t");
            again(&house, &task, &outcome, "when the next runs");
            assert_eq!(report(&house.server, "other", &next, json!({"status": "done"}))["ok"], true);
        }
        house.ended(&run);
        again(&house, &task, &outcome, "after the run");
        all.push((task, outcome));
    }
    // One that was cancelled takes the worker's word as its end, once and again.
    let run = house.start_run("w", &json!({}));
    let task = lease(&house.server, "w", "t");
    house.ok(&format!("run cancel {run}"));
    let outcome = json!({"status": "done", "output": 1});
    assert_eq!(report(&house.server, "w", &task, outcome.clone())["ok"], true);
    again(&house, &task, &outcome, "after a cancel");
    all.push((task, outcome));
    house.server.kill_9();
    house.server = Server::start(&house.data(), 0);
    all.iter().for_each(|(task, outcome)| again(&house, task, outcome, "after a restart"));
    let (task, _) = &all[0];
    assert_eq!(report(&house.server, "w", task, json!({"status": "done", "output": 2}))["code"], "lease_lost", "another outcome");
}

#[test]
fn what_is_inside_of_loops_and_eaches_can_be_looked_at() {
    let house = House::start();
    house.put(
        "workflow: w\nnodes:\n  stock:\n    type: each\n    items: '[1, 2, 3]'\n    on_failure: wait_all\n    do:\n      nodes:\n        \
         reserve: {type: t, retry: {attempts: 1}, with: \"${item}\"}\n        note: {type: transform, after: reserve, value: item}\n",
    );
    let run = house.start_run("w", &json!({}));
    let mut tasks = Vec::new();
    for worker in ["a", "b", "c"] {
        tasks.push((worker, lease(&house.server, worker, "t")));
    }
    for (worker, task) in &tasks {
        let outcome = match task["input"] == 2 {
            true => json!({"status": "failed", "error": {"code": "no_stock", "message": "none of x"}, "retryable": false}),
            false => json!({"status": "done", "output": 1}),
        };
        assert_eq!(report(&house.server, worker, task, outcome)["ok"], true);
    }
    house.ended(&run);
    let explained = house.ok(&format!("run explain {run}"))["sentence"].as_str().unwrap().to_owned();
    assert!(explained.contains("; for one, stock[1]/reserve with no_stock: none of x."), "{explained}");
    let shown = house.told(&format!("run show {run}"));
    assert!(shown.contains("stock[1]/reserve") && !shown.contains("stock[0]/reserve"), "{shown}");
    assert!(shown.contains("… and 4 more in turns and items; --nodes 1000 lists them"), "{shown}");
    let whole = house.told(&format!("run show {run} --nodes 1000"));
    let listed = ["stock[0]/reserve", "stock[0]/note", "stock[1]/reserve", "stock[2]/note"];
    assert!(listed.iter().all(|node| whole.contains(node)) && !whole.contains("more"), "{whole}");
    let item = house.told(&format!("run show {run}/stock[1]"));
    assert!(item.contains("stock[1], 1 node") && item.contains("no_stock: none of x"), "{item}");
    assert_eq!(house.ok(&format!("run show {run}/stock[0]"))["nodes"].as_array().unwrap().len(), 2);
    house.refused(&format!("run show {run}/stock[7]"), 3, "node_not_found");
    let each = house.told(&format!("run show {run}/stock"));
    assert!(each.contains("3, 2 done, 1 failed; see `signaller run show") && each.contains("stock[0]"), "{each}");
    let unknown = house.refused(&format!("run show {run}/reserve"), 3, "node_not_found");
    assert!(unknown["fix"].as_str().unwrap().contains(&format!("as in {run}/stock[0]/reserve")), "{unknown}");
}

#[test]
fn what_is_to_be_tried_again_says_why_and_when() {
    let house = House::start();
    house.put("workflow: w\nnodes:\n  a: {type: t, retry: {attempts: 3, backoff: 1h, jitter: 0}}\n  b: {type: t, after: a}\n");
    let run = house.start_run("w", &json!({}));
    let task = lease(&house.server, "w", "t");
    report(&house.server, "w", &task, json!({"status": "failed", "error": {"code": "busy", "message": "come again"}}));
    let node = &house.view(&run)["nodes"][0];
    assert_eq!((&node["status"], &node["last_error"]["code"]), (&json!("queued"), &json!("busy")), "{node}");
    assert!(node["again_at"].is_string() && node["error"].is_null(), "{node}");
    let shown = house.told(&format!("run show {run}"));
    assert!(shown.contains("busy: come again, again in 1 h"), "{shown}");
    let one = house.told(&format!("run show {run}/a"));
    assert!(one.contains("last error  busy: come again") && one.contains("in 1 h ("), "{one}");
    // One node is explained like its run.
    let told = house.ok(&format!("run explain {run}/a"));
    assert!(told["sentence"].as_str().unwrap().contains("attempt 1 ended with busy: come again; the next is due in"), "{told}");
    assert_eq!(told["task"]["blocked_on"][0]["code"], "backoff");
    assert_eq!(house.ok(&format!("run explain {run}/b"))["sentence"], format!("{run}/b waits for `a`."));
    house.refused(&format!("run explain {run}/c"), 3, "node_not_found");
}

#[test]
fn alike_waits_of_different_nodes_are_one() {
    let house = House::start();
    let nodes: String = (1..=30).map(|at| format!("  n{at}: {{type: t}}\n")).collect();
    house.put(&format!("workflow: w\nnodes:\n{nodes}  ask: {{type: approval}}\n  ask2: {{type: approval}}\n"));
    let run = house.start_run("w", &json!({}));
    let told = house.told(&format!("run explain {run}"));
    assert!(told.contains("waits for 32 nodes") && told.contains("and 29 more like it"), "{told}");
    assert!(!told.contains("more cause") && told.contains("ask2"), "{told}");
    let explained = house.ok(&format!("run explain {run}"));
    assert_eq!(explained["waits"].as_array().unwrap().len(), 3, "{explained}");
}
