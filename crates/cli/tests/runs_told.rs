//! Runs as people and agents are told of them: what a run waits for and why, what each node was given and gave, who said what,
//! what can be done next, and what cannot.

mod house;
mod server;
mod talk;

use house::{House, command, ran};
use serde_json::{Value, json};
use talk::{lease, report, until};

const REFUND: &str = "workflow: refund\nnodes:\n  check: {type: classifier, with: {amount: \"${input.amount}\"}}\n  \
                      ask: {type: approval, after: check, when: input.amount > 100, who: [finance, boss], message: \"Refund ${input.amount}?\"}\n  \
                      pay: {type: pay, after: [check, ask], retry: {attempts: 2, backoff: 1ms}}\n  \
                      note: {type: note, after: ask}\noutput: nodes.pay.output\n";

const CALLER: &str = "workflow: caller\nnodes:\n  sub: {type: workflow, run: refund, with: {amount: \"${input.amount}\"}}\n";

fn done(house: &House, kind: &str, output: Value) -> Value {
    let task = lease(&house.server, "w-1", kind);
    assert_eq!(report(&house.server, "w-1", &task, json!({"status": "done", "output": output}))["ok"], true);
    task
}

fn commands(document: &Value) -> Vec<&str> {
    let next = document["next_actions"].as_array().unwrap();
    next.iter().map(|one| one["command"].as_str().unwrap()).collect()
}

#[test]
fn a_worker_that_left_is_told_from_one_that_never_was() {
    let house = House::start();
    house.put(REFUND);
    let run = house.start_run("refund", &json!({"amount": 5}));
    let explained = house.ok(&format!("run explain {run}"));
    assert!(explained["sentence"].as_str().unwrap().contains("no worker has asked for type `classifier` since"), "{explained}");
    let worked = house.run("work --type classifier --once -- echo 1");
    assert_eq!(worked.exit, 0, "{}", worked.err);
    let run = house.start_run("refund", &json!({"amount": 5}));
    let ran = house.run(&format!("run explain {run}"));
    let document = ran.json();
    let sentence = document["result"]["sentence"].as_str().unwrap();
    assert!(sentence.contains("nobody is there for type `classifier`: its last worker left"), "{sentence}");
    assert!(document["result"]["waits"][0]["task"]["blocked_on"][0]["since"].is_string(), "{document}");
    // What an agent can run is where every answer has it.
    assert_eq!(commands(&document)[0], "signaller work --type classifier -- COMMAND", "{document}");
    let task = document["result"]["waits"][0]["task"]["task"].as_str().unwrap();
    assert_eq!(commands(&house.run(&format!("task explain {task}")).json())[0], "signaller work --type classifier -- COMMAND");
}

#[test]
fn each_node_is_shown_with_what_it_was_given_and_what_it_gave() {
    let house = House::start();
    house.put(REFUND);
    let run = house.start_run("refund", &json!({"amount": 5}));
    // Queued is not running: nobody has taken it.
    let node = |name: &str| house.ok(&format!("run show {run}/{name}"));
    let check = node("check");
    assert_eq!((&check["status"], &check["input"], &check["worker"]), (&json!("queued"), &json!({"amount": 5}), &Value::Null));
    assert_eq!((&node("pay")["status"], &node("pay")["waits_for"]), (&json!("waiting"), &json!(["check", "ask"])));
    assert_eq!(house.view(&run)["counts"]["queued"], 1);
    let task = lease(&house.server, "w-1", "classifier");
    let check = node("check");
    assert_eq!((&check["status"], &check["worker"]), (&json!("running"), &json!("w-1")), "{check}");
    assert!(house.told(&format!("run show {run}")).contains("on w-1"), "{}", house.told(&format!("run show {run}")));
    for (status, count) in [("queued", 0), ("running", 1)] {
        let nodes = house.server.get(&format!("/v1/runs/{run}/nodes?status={status}"));
        assert_eq!(nodes["nodes"].as_array().unwrap().len(), count, "{status}: {nodes}");
    }
    report(&house.server, "w-1", &task, json!({"status": "done", "output": {"fraud": false}}));
    house.node_is(&run, "check", "done");
    let check = node("check");
    assert_eq!((&check["output"], &check["attempts"]), (&json!({"fraud": false}), &json!(1)), "{check}");
    assert!(check["duration_ms"].is_u64() && check["ended_at"].is_string(), "{check}");

    // A condition that did not hold, and what came of it.
    let why = "its `when` was false: input.amount > 100";
    assert_eq!((&node("ask")["status"], &node("ask")["why"]), (&json!("skipped"), &json!(why)));
    assert_eq!(node("note")["why"], format!("`ask` before it was skipped, since {why}"));
    let told = house.told(&format!("run show {run}"));
    assert!(told.contains(why), "{told}");
    let trace = house.told(&format!("run trace {run}"));
    assert!(trace.contains(&format!("skipped: {why}")) && trace.contains("since its `when` was false"), "{trace}");

    // Tried twice, and what the second said.
    let failed = json!({"status": "failed", "error": {"code": "boom", "message": "no luck"}, "retryable": true});
    for _ in 0..2 {
        let task = lease(&house.server, "w-1", "pay");
        report(&house.server, "w-1", &task, failed.clone());
    }
    house.ended(&run);
    let pay = node("pay");
    assert_eq!((&pay["status"], &pay["attempts"], &pay["error"]["code"]), (&json!("failed"), &json!(2), &json!("boom")), "{pay}");
    let page = house.told(&format!("run show {run}/pay"));
    assert!(page.contains("2 attempts") && page.contains("boom: no luck"), "{page}");
    house.refused(&format!("run show {run}/nobody"), 3, "node_not_found");
    house.refused("run show run-99/pay", 3, "run_not_found");
    assert_eq!(house.run(&format!("run show {run}/a/b/c")).exit, 2);
}

#[test]
fn what_goes_on_inside_is_shown_by_its_frame() {
    let house = House::start();
    house.put("workflow: w\nnodes:\n  all:\n    type: each\n    items: input.list\n    concurrency: 100\n    do: {nodes: {one: {type: t, with: {n: \"${item}\"}}}}\n");
    let run = house.start_run("w", &json!({"list": (0..40).collect::<Vec<_>>()}));
    let one = house.ok(&format!("run show {run}/all[3]/one"));
    assert_eq!((&one["status"], &one["input"], &one["frame"]), (&json!("queued"), &json!({"n": 3}), &json!("all[3]")), "{one}");
    let all = house.ok(&format!("run show {run}/all"));
    assert_eq!((&all["items"], &all["input"][39]), (&json!(40), &json!(39)), "{all}");
    // Forty that wait for the same are one, and one line.
    let explained = house.ok(&format!("run explain {run}"));
    assert_eq!((explained["waits"].as_array().unwrap().len(), &explained["waits"][0]["alike"]), (1, &json!(39)), "{explained}");
    let told = house.told(&format!("run explain {run}"));
    assert!(told.contains("waits for 40 alike") && told.contains("and 39 more like it"), "{told}");
    let page = house.told(&format!("run show {run}"));
    let drawn: Vec<&str> = page.lines().filter(|line| line.contains("all")).collect();
    assert!(drawn.len() == 1 && drawn[0].contains("0 of 40 done, 40 under way"), "{page}");
    // Where the terminal may know no others, signs are ASCII.
    let plain = |variable: &str, value: &str| {
        let mut command = command(house.folder.path(), &house.server.url, &format!("--human run show {run}"));
        command.env(variable, value);
        ran(command).out
    };
    assert!(page.contains('░') && page.contains('▸'), "{page}");
    for (variable, value) in [("LC_ALL", "C"), ("NO_COLOR", "1")] {
        assert!(plain(variable, value).is_ascii(), "{variable}");
    }
}

#[test]
fn a_question_says_who_may_answer_and_an_answer_who_did() {
    let house = House::start();
    house.put(REFUND);
    let run = house.start_run("refund", &json!({"amount": 250}));
    done(&house, "classifier", json!(null));
    until("it asks", || (house.server.get("/v1/approvals")["approvals"][0]["run"] == run.as_str()).then_some(()));
    let document = house.run(&format!("run explain {run}")).json();
    let wait = &document["result"]["waits"][0];
    assert_eq!((&wait["who"], &wait["message"]), (&json!(["finance", "boss"]), &json!("Refund 250?")), "{document}");
    let answers = ["--yes", "--no"].map(|word| format!("signaller approval answer {run}/ask {word} --by finance"));
    assert_eq!(commands(&document)[..2], answers, "{document}");
    let told = house.told(&format!("run explain {run}"));
    assert!(told.contains("it waits for an answer of finance or boss") && told.contains("asks: Refund 250?"), "{told}");
    assert!(answers.iter().all(|answer| told.contains(answer)), "{told}");

    for (words, message) in [("", "an answer says --yes or --no"), ("--yes --no", "an answer is --yes or --no, not both")] {
        let refused = house.refused(&format!("approval answer {run}/ask {words}"), 2, "usage");
        assert_eq!(refused["error"]["message"], message);
        assert_eq!(commands(&refused)[0], format!("signaller approval answer {run}/ask --yes"));
    }
    let refused = house.refused(&format!("approval answer {run}/ask --yes"), 2, "not_asked");
    assert_eq!(commands(&refused)[0], answers[0]);
    house.ok(&format!("approval answer {run}/ask --yes --by finance --comment fine"));
    let again = house.refused(&format!("approval answer {run}/ask --no --by boss"), 4, "not_asking");
    let message = again["error"]["message"].as_str().unwrap();
    assert!(message.starts_with(&format!("{run}/ask was answered with yes by finance at 2")), "{message}");
    assert!(message.ends_with(": fine; the first answer counts"), "{message}");
    let trace = house.ok(&format!("run trace {run}"));
    let answered = trace["records"].as_array().unwrap().iter().find(|record| record["owner"] == json!(format!("{run}/ask")));
    assert!(answered.is_some(), "{trace}");
    let answer = trace["records"].as_array().unwrap().iter().find_map(|record| record["record"].get("answer")).unwrap();
    assert_eq!(*answer, json!({"approved": true, "by": "finance", "comment": "fine"}));
    assert!(house.told(&format!("run trace {run}")).contains("done: finance said yes: fine"));
    assert_eq!(house.ok(&format!("run show {run}/ask"))["answer"], *answer);

    // Also after the run has ended, and for a no.
    done(&house, "note", json!(1));
    done(&house, "pay", json!(1));
    house.ended(&run);
    let late = house.refused(&format!("approval answer {run}/ask --no --by boss"), 4, "run_ended");
    assert!(late["error"]["message"].as_str().unwrap().contains("was answered with yes by finance"), "{late}");
    let run = house.start_run("refund", &json!({"amount": 250}));
    done(&house, "classifier", json!(null));
    until("it asks", || (house.server.get("/v1/approvals")["approvals"][0]["run"] == run.as_str()).then_some(()));
    house.ok(&format!("approval answer {run}/ask --no --by boss --comment never"));
    let late = house.refused(&format!("approval answer {run}/ask --yes --by finance"), 4, "run_ended");
    assert!(late["error"]["message"].as_str().unwrap().contains("boss refused: never"), "{late}");
}

#[test]
fn a_question_in_a_body_is_found_by_its_node_alone() {
    let house = House::start();
    house.put("workflow: w\nnodes:\n  l:\n    type: loop\n    max_iterations: 2\n    until: output.approved\n    do: {nodes: {ask: {type: approval}}}\n");
    let run = house.start_run("w", &json!({}));
    until("it asks", || (house.server.get("/v1/approvals")["approvals"][0]["run"] == run.as_str()).then_some(()));
    let refused = house.refused(&format!("approval answer {run}/ask --yes"), 4, "not_asking");
    let message = format!("{run}/ask asks nothing, but {run}/l[0]/ask does");
    assert_eq!((&refused["error"]["message"], &refused["fix"]), (&json!(message), &json!(format!("answer {run}/l[0]/ask"))));
    house.ok(&format!("approval answer {run}/l[0]/ask --yes"));
    assert_eq!(house.ended(&run)["status"], "done");
}

#[test]
fn a_name_that_does_not_exist_is_told_from_one_without_runs() {
    let house = House::start();
    house.put(REFUND);
    assert_eq!(house.told("run list --workflow refund"), "No run fits.\n");
    assert_eq!(house.told("run list --workflow refnd"), "No run fits; there is no workflow `refnd`.\n");
    let graph = house.refused("workflow graph nosuch.yaml", 3, "file_not_found");
    assert_eq!(graph["error"]["message"], "there is no file `nosuch.yaml`");
    // A task of a run is done again through its run alone.
    let run = house.start_run("refund", &json!({"amount": 5}));
    let task = done(&house, "classifier", json!({}));
    let explained = house.run(&format!("task explain {}", task["task"].as_str().unwrap())).json();
    assert_eq!(commands(&explained)[0], format!("signaller run show {run}/check"), "{explained}");
}

#[test]
fn approvals_are_listed_page_by_page() {
    let house = House::start();
    house.put("workflow: ask\nnodes:\n  all: {type: each, items: input.list, do: {nodes: {ask: {type: approval}}}}\n");
    house.put("workflow: other\nnodes:\n  ask: {type: approval}\n");
    house.start_run("ask", &json!({"list": [1, 2, 3, 4, 5]}));
    house.start_run("other", &json!(null));
    let all: Vec<Value> = house.ok("approval list --limit 100")["approvals"].as_array().unwrap().clone();
    assert_eq!(all.len(), 6);
    for (workflow, count) in [("", 6), (" --workflow ask", 5)] {
        let (mut pages, mut cursor) = (Vec::new(), String::new());
        loop {
            let document = house.run(&format!("approval list --limit 2{workflow}{cursor}")).json();
            let page = document["result"]["approvals"].as_array().unwrap();
            assert!(page.len() <= 2, "{document}");
            pages.extend(page.clone());
            let Some(next) = document["result"]["next"].as_str() else { break };
            assert!(commands(&document).iter().any(|command| command.contains(&format!("--cursor '{next}'"))), "{document}");
            cursor = format!(" --cursor '{next}'");
        }
        assert_eq!(pages, all[..count], "{workflow}");
    }
    assert!(house.told("approval list --limit 2").contains("There is more: add --cursor"), "it is said");
}

#[test]
fn a_key_that_was_used_says_so_and_for_what() {
    let house = House::start();
    house.put(REFUND);
    house.put(&REFUND.replace("refund\n", "other\n"));
    let start = |workflow: &str, amount: u32| {
        house.run(&format!("--human run start {workflow} --input '{{\"amount\":{amount}}}' --idempotency-key k")).out
    };
    assert_eq!(start("refund", 1), "Started run-1 of refund.\n");
    assert_eq!(start("refund", 1), "run-1 was started with this key before; nothing of this request was used.\n");
    let differs = "run-1 was started with this key before, with another input; nothing of this request was used.\n";
    assert_eq!(start("refund", 2), differs);
    assert!(start("other", 1).starts_with("Started run-"), "keys are of one workflow");
    let help = house.run("run start --help").out;
    assert!(help.contains("keys are of one workflow"), "{help}");
    assert_eq!(house.ok("run list --idempotency-key k")["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn waiting_for_a_run_ends_with_how_it_ended() {
    let house = House::start();
    house.put("workflow: w\nnodes:\n  a: {type: t, retry: {attempts: 1}}\n");
    let start = "run start w --wait --timeout";
    assert_eq!(house.run(&format!("{start} 100ms")).exit, 6, "it had not ended");
    let worker = house.worker("t", "echo 1");
    assert_eq!(house.run(&format!("{start} 30s")).exit, 0);
    drop(worker);
    let _worker = house.worker("t", "exit 65");
    let failed = house.run(&format!("{start} 30s"));
    assert_eq!((failed.exit, &failed.json()["error"]["code"]), (1, &json!("run_failed")), "{}", failed.out);
    assert!(failed.json()["fix"].as_str().unwrap().contains("stays with version 1: `run patch "));
    assert_eq!(house.run("run start w --timeout 1s").exit, 2, "only with --wait");
}

#[test]
fn a_called_run_is_followed_and_listed_apart() {
    let house = House::start();
    house.put(REFUND);
    house.put(CALLER);
    let run = house.start_run("caller", &json!({"amount": 250}));
    done(&house, "classifier", json!(null));
    let called = house.ok(&format!("run list --parent {run}"))["runs"][0]["run"].as_str().unwrap().to_owned();
    let explained = until("it asks", || {
        Some(house.ok(&format!("run explain {run}"))).filter(|told| told["sentence"].as_str().unwrap().contains("answer"))
    });
    let sentence = explained["sentence"].as_str().unwrap();
    assert!(sentence.contains(&format!("{run} waits for sub: it called {called}, which waits for ask: it waits")), "{sentence}");
    let inner = &explained["waits"][0]["called"];
    assert_eq!((&inner["run"], &inner["waits"][0]["message"]), (&json!(called), &json!("Refund 250?")), "{explained}");
    let answer = format!("signaller approval answer {called}/ask --yes --by finance");
    assert!(explained["next_actions"].as_array().unwrap().contains(&json!(answer)), "{explained}");
    assert!(house.told(&format!("run explain {run}")).contains("asks: Refund 250?"));

    let listed = |flags: &str| house.ok(&format!("run list {flags}"))["runs"].as_array().unwrap().len();
    assert_eq!((listed(""), listed("--all"), listed(&format!("--parent {run}"))), (1, 2, 1));
    assert_eq!((listed("--workflow refund"), listed("--workflow refund --all")), (0, 1));
    let hint = house.run("run list --workflow refund").json();
    assert_eq!(commands(&hint), ["signaller run list --workflow refund --all"]);

    // Its trace can have what happened in those it called, in one order.
    let owners = |flags: &str| -> Vec<String> {
        let trace = house.ok(&format!("run trace {run} {flags}"));
        let seqs: Vec<u64> = trace["records"]
            .as_array()
            .unwrap()
            .iter()
            .map(|record| record["seq"].as_str().unwrap()[1..].parse().unwrap())
            .collect();
        assert!(seqs.is_sorted(), "{seqs:?}");
        trace["records"].as_array().unwrap().iter().map(|record| record["owner"].as_str().unwrap().to_owned()).collect()
    };
    let asks = format!("{called}/ask");
    assert!(!owners("").contains(&asks) && owners("--called").contains(&asks), "{:?}", owners("--called"));
    assert!(owners("--called").contains(&format!("{run}/sub")));

    // Cancelled alone, its caller's node fails by that, and says so.
    let told = house.told(&format!("run cancel {called} --reason wrong"));
    assert_eq!(told, format!("{called} is cancelled; {run}/sub, which called it, fails with `cancelled`.\n"));
    let view = house.ended(&run);
    assert_eq!((&view["failed_at"], &view["error"]["code"]), (&json!("sub"), &json!("cancelled")), "{view}");
    let explained = house.ok(&format!("run explain {called}"));
    assert!(explained["sentence"].as_str().unwrap().contains(&format!("It was called by {run}/sub")), "{explained}");
    assert!(!explained["next_actions"].to_string().contains("retry"), "{explained}");
    assert_eq!(house.ok(&format!("run show {called}")).get("retryable"), None);
}

#[test]
fn nothing_is_advised_that_would_be_refused() {
    let house = House::start();
    // What fails it is its output: no node of it failed.
    house.put("workflow: w\nnodes:\n  a: {type: transform, value: \"1\"}\noutput: input.missing\n");
    let run = house.start_run("w", &json!({}));
    assert_eq!(house.ended(&run)["status"], "failed");
    house.refused(&format!("run retry {run}"), 4, "nothing_to_retry");
    let document = house.run(&format!("run explain {run}")).json();
    assert!(!commands(&document).iter().any(|command| command.contains("run retry")), "{document}");
    assert!(document["result"]["sentence"].as_str().unwrap().contains("nothing in it to try again"), "{document}");
    for line in [format!("run show {run}"), format!("run watch {run}")] {
        let document = house.run(&line).json();
        assert!(!commands(&document).iter().any(|command| command.contains("run retry")), "{line}: {document}");
    }
    // A node that is settled says what can be tried again.
    house.put("workflow: v\nnodes:\n  a: {type: t, retry: {attempts: 1}}\n  b: {type: t, after: a}\n");
    let run = house.start_run("v", &json!({}));
    let task = lease(&house.server, "w-1", "t");
    report(&house.server, "w-1", &task, json!({"status": "failed", "error": {"code": "e", "message": "m"}, "retryable": false}));
    house.ended(&run);
    until("it comes to rest", || house.view(&run).get("stopping").is_none().then_some(()));
    let settled = house.refused(&format!("run retry {run} --node b"), 4, "node_settled");
    let message = format!("{run}/b is waiting: only a node that failed its run, or was cut off by that, can be tried again");
    assert_eq!(settled["error"]["message"], message);
    assert_eq!(commands(&settled)[0], format!("signaller run retry {run}"));
    assert!(commands(&house.run(&format!("run explain {run}")).json()).contains(&format!("signaller run retry {run}").as_str()));

    // What a deletion would do, for agents too.
    let other = house.start_run("v", &json!({}));
    let dry = house.run(&format!("run delete {run} {other} --dry-run"));
    let document = dry.json();
    let [first, second] = [&document["result"]["runs"][0], &document["result"]["runs"][1]];
    assert_eq!((dry.exit, &document["result"]["dry_run"]), (0, &json!(true)), "{document}");
    assert_eq!((&first["deletes"], &first["nodes"], &first["status"]), (&json!(true), &json!(1), &json!("failed")), "{document}");
    assert_eq!(second["deletes"], false, "{document}");
    assert!(second["why"].as_str().unwrap().contains("it is running"), "{document}");
    assert_eq!(commands(&document), [format!("signaller run delete {run} --yes")]);
    assert_eq!(house.view(&run)["status"], "failed", "it is still there");
}

#[test]
fn a_trace_counts_from_the_start_of_its_run() {
    let house = House::start();
    house.put("workflow: nap\nlimits: {deadline: 2h}\nnodes:\n  nap: {type: sleep, for: 300ms}\n");
    let run = house.start_run("nap", &json!({}));
    house.ended(&run);
    let told = house.told(&format!("run trace {run}"));
    // Each begins with the number of its record.
    let after = |line: &str| line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let lines: Vec<&str> = told.lines().skip(1).map(str::trim_start).collect();
    assert!(lines.iter().all(|line| line.starts_with('r')), "{told}");
    assert!(after(lines[0]) == "0.000" && lines[0].ends_with("to be over within 2 h"), "{told}");
    assert!(lines[1].ends_with("sleeps for 300 ms"), "{told}");
    assert!(!after(lines.last().unwrap()).starts_with("0.0"), "{told}");
    assert!(!told.contains(" ago"), "{told}");
    // A later page counts from the same start.
    let cursor = house.server.get(&format!("/v1/runs/{run}/history?limit=2"))["next"].as_str().unwrap().to_owned();
    let rest = house.told(&format!("run trace {run} --cursor {cursor}"));
    assert!(!after(rest.lines().nth(1).unwrap()).starts_with("0.0"), "{rest}");
}
