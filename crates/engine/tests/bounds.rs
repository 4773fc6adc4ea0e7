//! What is hostile, or has gone bad, stops nobody else: schemas and expressions that would work for ever, runs without end,
//! workflows that do not compile any more, values that cannot be read.

mod house;

use engine::{Answer, Delivery, Report, Request, Ticked, Ticket};
use house::{House, actor, at};
use kernel::command::{Command, Outcome, Reply};
use kernel::decide::NewRun;
use kernel::ids::RunId;
use kernel::limits::STEP_COST_MAX;
use kernel::names::WorkflowName;
use kernel::record::{Entry, Owner, Payload, Record};
use kernel::rejection::Rejection;
use kernel::row::{Value as Cell, WORKFLOWS};
use kernel::run::{RunSpec, RunStatus};
use serde_json::{Value, json};
use store::blobs::BlobFault;

/// Why a run failed.
fn failure(house: &House, run: RunId) -> (String, String) {
    let failed = house.entries.iter().rev().find_map(|entry| match (&entry.owner, &entry.record) {
        (Owner::Run(of), Record::RunFailed { failure, .. }) if *of == run => {
            Some((failure.code.clone(), failure.message.clone()))
        }
        _ => None,
    });
    failed.unwrap_or_else(|| panic!("{run} did not fail"))
}

fn wait(house: &mut House, ms: u64) {
    house.now = house.now.plus_ms(ms);
    house.tick(None);
}

#[test]
fn no_schema_of_a_called_workflow_hangs_the_engine() {
    let two_ways = r##"{"$defs": {"x": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/x"}},
        {"type": "array", "items": {"$ref": "#/$defs/x"}, "maxItems": 5}]}}, "$ref": "#/$defs/x"}"##;
    let level =
        |at: usize| format!("\"d{at}\": {{\"allOf\": [{{\"$ref\": \"#/$defs/d{0}\"}}, {{\"$ref\": \"#/$defs/d{0}\"}}]}}", at + 1);
    let levels: Vec<String> = (0..40).map(level).collect();
    let doubling =
        format!("{{\"$defs\": {{{}, \"d40\": {{\"type\": \"integer\"}}}}, \"$ref\": \"#/$defs/d0\"}}", levels.join(", "));
    let nested = (0..60).fold(json!(1), |inner, _| json!([inner]));
    for (schema, input) in [(two_ways, nested), (&doubling, json!(1))] {
        let mut house = House::new(&["t"]);
        house.put(&format!("workflow: inner\ninput: {}\nnodes:\n  a: {{type: t}}\n", schema.replace('\n', " ")));
        house.put("workflow: outer\nnodes:\n  s: {type: sleep, for: 1m}\n  c: {type: workflow, run: inner, after: s, with: '${input.x}'}\n");
        let run = house.start("outer", json!({"x": input}));
        house.restart();
        wait(&mut house, 60_000);
        let (code, message) = failure(&house, run);
        assert_eq!(code, "invalid_input");
        assert!(message.ends_with("to hold it against the schema takes more than 250000 steps"), "{message}");
        house.restart();
        wait(&mut house, 60_000);
        house.verify();
    }
}

fn start(house: &mut House, workflow: &str) -> Request {
    let workflow = WorkflowName::parse(workflow).unwrap();
    let spec = RunSpec::new(workflow.clone(), 0);
    house.tickets += 1;
    Request::Command(Command::StartRun {
        new: Box::new(NewRun { workflow, version: None, spec, input: Payload("null".into()) }),
        by: actor(),
    })
}

/// Ticks until nothing goes on by itself; how many nodes were done in each.
fn batches(house: &mut House, mut requests: Vec<(Ticket, Request)>) -> Vec<usize> {
    let mut done = Vec::new();
    loop {
        let Ticked { entries, next, reloaded, .. } = house.core.tick(house.now, 1, std::mem::take(&mut requests), true);
        assert_eq!(reloaded, None);
        done.push(entries.iter().filter(|entry| matches!(entry.record, Record::NodeDone { .. })).count());
        house.entries.extend(entries);
        if next.is_none_or(|at| at > house.now) {
            return done;
        }
    }
}

#[test]
fn dear_expressions_leave_room_for_others() {
    let mut house = House::new(&["t"]);
    let node = |at: usize| format!("  n{at}: {{type: transform, value: 'range(9000).all(x, x+x+x+x >= 0)'}}\n");
    let nodes: String = (0..60).map(node).collect();
    house.put(&format!("workflow: dear\nnodes:\n{nodes}"));
    house.put("workflow: small\nnodes:\n  a: {type: transform, value: '1'}\n  b: {type: transform, after: a, value: output}\n");
    // Two who come together: the small one is answered at once and goes on beside the other.
    let requests = vec![(Ticket(1), start(&mut house, "dear")), (Ticket(2), start(&mut house, "small"))];
    let Ticked { answers, entries, next, .. } = house.core.tick(house.now, 1, requests, true);
    let runs: Vec<RunId> = answers
        .iter()
        .map(|(_, answer)| match answer {
            Answer::Reply(Ok(Reply::Started { run, .. })) => *run,
            other => panic!("{other:?}"),
        })
        .collect();
    let first = entries.iter().filter(|entry| matches!(entry.record, Record::NodeDone { .. })).count();
    house.entries.extend(entries);
    assert!(next.is_some_and(|at| at <= house.now), "there is more to do");
    let mut each = batches(&mut house, Vec::new());
    each.push(first);
    let ended = |run: RunId| {
        let is_end = |entry: &Entry| entry.owner == Owner::Run(run) && matches!(entry.record, Record::RunDone { .. });
        house.entries.iter().position(is_end).unwrap_or_else(|| panic!("{run} is not done"))
    };
    assert!(ended(runs[1]) < ended(runs[0]) / 2, "{} {}", ended(runs[1]), ended(runs[0]));
    // One of them costs far more than a twentieth of what a batch may.
    assert!(each.iter().all(|done| *done <= 20) && each.len() >= 5, "{each:?} of {STEP_COST_MAX}");
    house.verify();
}

#[test]
fn a_loop_over_dear_rules_turns_a_few_times_a_batch() {
    let mut house = House::new(&["t"]);
    let dear = "size(range(3000).map(x, string(double(x)*1.1))) < 0";
    let turning = |name: &str, rules: usize| {
        let rules: String = (0..rules).map(|_| format!("              - {{when: '{dear}', to: z}}\n")).collect();
        format!(
            "workflow: {name}\nnodes:\n  l:\n    type: loop\n    max_iterations: 20\n    until: iteration == 11\n    do:\n      nodes:\n        b:\n            type: branch\n            rules:\n{rules}            default: z\n        z: {{type: transform, value: '1'}}\n"
        )
    };
    house.put(&turning("few", 4));
    let request = start(&mut house, "few");
    let each = batches(&mut house, vec![(Ticket(1), request)]);
    let done = |entry: &Entry| matches!(entry.record, Record::RunDone { .. });
    assert!(house.entries.iter().any(done), "all of it comes to its end");
    assert!(each.len() >= 3, "{each:?}");
    // All the rules of a branch are asked in one go: there is a bound for them together.
    house.put(&turning("many", 400));
    let run = house.start("many", Value::Null);
    let (code, message) = failure(&house, run);
    assert_eq!(code, "expression");
    assert!(message.contains("rules together cost more than"), "{message}");
    house.verify();
}

#[test]
fn a_run_begins_no_more_than_it_may() {
    let mut house = House::new(&["t"]);
    house.put(
        "workflow: w\nlimits: {steps: 500}\nnodes:\n  a:\n    type: loop\n    max_iterations: 10000\n    until: 'false'\n    do:\n      nodes:\n        b:\n          type: loop\n          max_iterations: 10000\n          until: 'false'\n          do:\n            nodes:\n              c: {type: transform, value: '1'}\n",
    );
    let run = house.start("w", Value::Null);
    let (code, message) = failure(&house, run);
    assert_eq!(code, "steps_spent");
    assert_eq!(message, "it has begun 500 nodes, turns and items, as many as `limits.steps` allows");
    assert_eq!(house.rows(&kernel::row::FRAMES) + house.rows(&kernel::row::NODES), 500);
    house.restart();
    house.tick(None);
    // What it has begun stays begun.
    let again = house.ask(Command::RetryRun { run, node: None, new: None, reason: String::new(), by: actor() });
    assert!(again.is_ok(), "{again:?}");
    assert_eq!((failure(&house, run).0, house.status(run)), ("steps_spent".to_owned(), RunStatus::Failed));
    house.verify();
}

#[test]
fn the_runs_of_a_workflow_that_does_not_compile_any_more_fail_and_the_engine_starts() {
    let mut house = House::new(&["t"]);
    house.put("workflow: bad\nnodes:\n  a: {type: t}\n  b: {type: approval}\n  e:\n    type: each\n    items: '[1, 2]'\n    do:\n      nodes:\n        x: {type: t}\n");
    house.put("workflow: good\nnodes:\n  a: {type: t}\n");
    house.put("workflow: calls\nnodes:\n  c: {type: workflow, run: bad, on_error: ignore}\n  z: {type: transform, after: c, value: '1'}\n");
    let (bad, good, calls) =
        (house.start("bad", Value::Null), house.start("good", Value::Null), house.start("calls", Value::Null));
    let held = house.poll(1, Vec::new());
    house.disk.spoil(&WORKFLOWS, &[Cell::Text("bad".into()), Cell::Int(1)], |row| {
        row[5] = Cell::Text("workflow: bad\nnodes: {}".into())
    });
    house.restart();
    wait(&mut house, 1);
    let (code, message) = failure(&house, bad);
    assert_eq!(code, "bad_workflow");
    assert!(message.starts_with("version 1 of workflow `bad` does not compile any more: "), "{message}");
    assert_eq!((house.status(good), house.status(calls)), (RunStatus::Running, RunStatus::Done));
    // Nobody works for it any more, and whoever did gets no further.
    let done =
        Report { task: held[0].grant.task, fence: held[0].grant.fence, outcome: Outcome::Done { output: Payload("1".into()) } };
    let mut left = house.poll(100, vec![done]);
    left.retain(|delivery| delivery.grant.node.as_ref().is_some_and(|(at, _)| at.run != good));
    assert!(left.is_empty(), "{left:?}");
    let answer = Command::Answer { at: at(&format!("{bad}/b")), approved: true, comment: String::new(), by: actor() };
    assert!(matches!(house.ask(answer), Err(Rejection::RunNotFound { .. } | Rejection::RunEnded { .. })));
    match house.ask(Command::RetryRun { run: bad, node: None, new: None, reason: String::new(), by: actor() }) {
        Err(Rejection::Invalid { why }) => assert!(why.contains("does not compile any more"), "{why}"),
        other => panic!("{other:?}"),
    }
    house.ask(Command::DeleteRun { run: bad, by: actor() }).unwrap();
    for _ in 0..3 {
        wait(&mut house, 1_100);
    }
    assert_eq!(house.status(good), RunStatus::Running);
    let runs = house.rows(&kernel::row::RUNS);
    assert_eq!(runs, 3, "the good one, the one that calls and the one it called");
}

#[test]
fn an_input_that_cannot_be_read_is_given_up_in_the_end() {
    let mut house = House::new(&["t"]);
    house
        .put("workflow: w\nnodes:\n  a: {type: t}\n  b: {type: t, after: a, on_error: ignore, with: '${nodes.a.output.text}'}\n");
    let run = house.start("w", Value::Null);
    let taken = house.poll(1, Vec::new());
    let large = json!({"text": "x".repeat(9_000)}).to_string();
    let blob = store::BlobStore::put(&*house.blobs, large.as_bytes()).unwrap().id();
    let report =
        |delivery: &Delivery, outcome: Outcome| Report { task: delivery.grant.task, fence: delivery.grant.fence, outcome };
    let mut reports = vec![report(&taken[0], Outcome::Done { output: Payload::blob(&blob.to_string()) })];
    house.restart();
    for minute in 0..=11 {
        let taken = house.poll(1, std::mem::take(&mut reports));
        assert_eq!(taken.len(), 1, "in minute {minute}");
        house.blobs.inject(BlobFault::GetFails);
        let mut reader = house.core.reader().unwrap();
        match house.core.fill(&taken, &mut *reader) {
            Err(_) => {
                assert!(minute < 10, "it is not given up");
                let grants = taken.iter().map(|delivery| (delivery.grant.task, delivery.grant.fence)).collect();
                house.tick(Some(Request::Undelivered { grants }));
            }
            Ok(filled) => {
                let [(_, failure)] = &filled.failed[..] else { panic!("{filled:?}") };
                assert_eq!((failure.code.as_str(), minute), ("value_unread", 10), "{}", failure.message);
                let outcome = Outcome::Failed { failure: failure.clone(), retryable: false, retry_after_ms: None };
                house.poll(0, vec![report(&taken[0], outcome)]);
                break;
            }
        }
        house.now = house.now.plus_ms(60_000);
    }
    assert_eq!(house.status(run), RunStatus::Done);
    house.verify();
}
