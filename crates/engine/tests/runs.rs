//! Runs through the engine: definitions as text, the real expressions, workers that poll.

mod house;

use engine::{Answer, Delivery, Report, Request, Ticked, Ticket};
use house::{House, Worker, actor, at, echo};
use kernel::command::{Command, Outcome, Reply};
use kernel::decide::NewRun;
use kernel::ids::RunId;
use kernel::names::Actor;
use kernel::record::{Entry, Failure, Owner, Payload, Record};
use kernel::rejection::Rejection;
use kernel::run::{RunSpec, RunStatus};
use serde_json::json;
use store::blobs::MemoryBlobs;

const LINE: &str = "
workflow: line
nodes:
  a: {type: t, with: {n: '${input.n}'}}
  b: {type: t, after: a, with: {n: '${output.n + 1}'}}
  c: {type: t, after: b}
";

#[test]
fn a_line_is_walked_in_one_commit_a_hop() {
    let mut house = House::new(&["t"]);
    assert_eq!((house.put(LINE), house.put(LINE)), (1, 1), "the same text is the same version");
    let run = house.start("line", json!({"n": 4}));
    house.work(echo);
    assert_eq!((house.status(run), house.output(run)), (RunStatus::Done, json!({"n": 5})));
    assert_eq!(house.core.state().runs_live(), 0, "it has left memory");
    house.verify();
}

#[test]
fn the_reference_definition_refund_goes_its_ways() {
    let text = include_str!("../../../examples/workflows/refund.yaml");
    let worker: Worker = |kind, _| match kind {
        "classifier" => Ok(json!({"fraud": false})),
        _ => Ok(json!({"ok": true})),
    };
    for approved in [true, false] {
        let mut house = House::new(&["classifier", "http", "function"]);
        house.put(text);
        let run = house.start("refund", json!({"order": "o-1", "amount": 150}));
        house.work(worker);
        assert_eq!(house.status(run), RunStatus::Running);
        house.restart();
        let ask = at(&format!("{run}/ask"));
        let answer =
            |by: &str| Command::Answer { at: ask.clone(), approved, comment: "hm".into(), by: Actor::parse(by).unwrap() };
        assert!(matches!(house.ask(answer("ann")), Err(Rejection::NotAsked { .. })));
        assert_eq!(house.ask(answer("finance")), Ok(Reply::Done));
        assert!(matches!(house.ask(answer("finance")), Err(Rejection::NotAsking { .. } | Rejection::RunEnded { .. })));
        house.work(worker);
        assert_eq!((house.status(run), house.output(run)), (RunStatus::Done, json!({"paid": approved})));
        house.verify();
    }
}

#[test]
fn lint_until_clean_turns_and_spreads() {
    let text = include_str!("../../../examples/workflows/lint-until-clean.yaml");
    let mut house = House::new(&["function", "agent", "http"]);
    house.put(text);
    let run = house.start("lint-until-clean", json!({"files": ["a", "b", "c"]}));
    house.work(|kind, input| match kind {
        "function" if input["file"] == "a" => Ok(json!({"errors": []})),
        "function" => Ok(json!({"errors": ["e"]})),
        // What an agent fixed in the first round is open still, in the second no more.
        "agent" => Ok(json!({"open": if input["file"] == "b" { 1 } else { 0 }})),
        _ => Ok(json!({"ok": true})),
    });
    // `b` is never clean: after five rounds somebody is asked.
    assert_eq!(house.status(run), RunStatus::Running);
    let escalate = at(&format!("{run}/escalate"));
    house.ask(Command::Answer { at: escalate, approved: true, comment: String::new(), by: actor() }).unwrap();
    house.work(echo);
    assert_eq!(house.status(run), RunStatus::Done);
    house.verify();
}

#[test]
fn large_outputs_lie_in_the_blob_store_and_are_read_again() {
    let mut house = House::new(&["t"]);
    house.put("workflow: big\nnodes:\n  a: {type: t}\n  b: {type: transform, after: a, value: 'output.text + output.text'}\n  c: {type: t, after: b, with: {size: '${size(nodes.b.output)}'}}\n");
    let run = house.start("big", json!(null));
    house.work(|_, input| Ok(if input.is_null() { json!({"text": "x".repeat(10_000)}) } else { input.clone() }));
    assert_eq!((house.status(run), house.output(run)), (RunStatus::Done, json!({"size": 20_000})));
    let inline = house.entries.iter().filter_map(|entry| entry.payload.as_ref()).map(|payload| payload.text().len()).max();
    assert!(inline.unwrap() < 4_096, "{inline:?}");
    house.verify();
}

#[test]
fn a_failed_node_is_tried_again() {
    let mut house = House::new(&["t"]);
    house.put(LINE);
    let run = house.start("line", json!({"n": 4}));
    house.work(|_, input| if input["n"] == 5 { Err("broken") } else { Ok(input.clone()) });
    assert_eq!(house.status(run), RunStatus::Failed);
    assert_eq!(house.core.state().runs_live(), 0);
    let retry = |node: Option<&str>| {
        let node = node.map(|node| Box::new(at(&format!("{run}/{node}"))));
        Command::RetryRun { run, node, new: None, reason: String::new(), by: actor() }
    };
    assert!(matches!(house.ask(retry(Some("a"))), Err(Rejection::NodeSettled { .. })));
    assert!(matches!(house.ask(retry(Some("zz"))), Err(Rejection::NodeNotFound { .. })));
    assert_eq!(house.ask(retry(Some("b"))), Ok(Reply::Run { run, status: RunStatus::Running, changed: true }));
    house.restart();
    house.work(echo);
    assert_eq!((house.status(run), house.output(run)), (RunStatus::Done, json!({"n": 5})));
    assert!(matches!(house.ask(retry(None)), Err(Rejection::NotToRetry { .. })));
    house.verify();
}

#[test]
fn an_each_is_taken_up_where_it_was_cut_off() {
    let mut house = House::new(&["t"]);
    house.put("workflow: w\nnodes:\n  e:\n    type: each\n    items: input\n    concurrency: 3\n    do:\n      nodes:\n        x: {type: t, with: '${item}'}\n        y: {type: t, after: x}\n  z: {type: t, after: e}\n");
    let run = house.start("w", json!([0, 1, 2, 3, 4, 5, 6]));
    house.work(|_, input| if *input == 3 { Err("broken") } else { Ok(input.clone()) });
    assert_eq!(house.status(run), RunStatus::Failed);
    let done = house.entries.iter().filter(|entry| matches!(entry.record, Record::TaskDone { .. })).count();
    house.ask(Command::RetryRun { run, node: None, new: None, reason: String::new(), by: actor() }).unwrap();
    house.work(echo);
    assert_eq!((house.status(run), house.output(run)), (RunStatus::Done, json!([0, 1, 2, 3, 4, 5, 6])));
    let done = house.entries.iter().filter(|entry| matches!(entry.record, Record::TaskDone { .. })).count() - done;
    assert!(done <= 12, "what was done stayed done: {done} were done again");
    house.verify();
}

#[test]
fn a_paused_run_takes_back_what_nobody_took() {
    let mut house = House::new(&["t"]);
    house.put("workflow: w\nnodes:\n  a: {type: t}\n  b: {type: t}\n  c: {type: t, after: [a, b]}\n");
    let run = house.start("w", json!(1));
    let taken = house.poll(1, Vec::new());
    house.ask(Command::PauseRun { run, by: actor(), reason: "lunch".into() }).unwrap();
    let report =
        Report { task: taken[0].grant.task, fence: taken[0].grant.fence, outcome: Outcome::Done { output: Payload("7".into()) } };
    assert!(house.poll(10, vec![report]).is_empty(), "nothing begins while it is paused");
    house.restart();
    assert!(house.poll(10, Vec::new()).is_empty());
    house.ask(Command::ResumeRun { run, by: actor() }).unwrap();
    house.work(echo);
    assert_eq!(house.status(run), RunStatus::Done);
    house.verify();
}

#[test]
fn a_deleted_run_leaves_one_record() {
    let mut house = House::new(&["t"]);
    house.put(LINE);
    let keep = house.start("line", json!({"n": 1}));
    let run = house.start("line", json!({"n": 4}));
    assert!(matches!(house.ask(Command::DeleteRun { run, by: actor() }), Err(Rejection::RunNotEnded { .. })));
    house.work(echo);
    house.ask(Command::DeleteRun { run, by: actor() }).unwrap();
    house.tick(None);
    assert_eq!((house.rows(&kernel::row::RUNS), house.rows(&kernel::row::NODES), house.rows(&kernel::row::TASKS)), (1, 3, 3));
    assert!(matches!(house.ask(Command::DeleteRun { run, by: actor() }), Err(Rejection::RunNotFound { .. })));
    house.ask(Command::ExpireRuns { runs: vec![keep, run] }).unwrap();
    house.tick(None);
    assert_eq!((house.rows(&kernel::row::RUNS), house.rows(&kernel::row::NODES), house.rows(&kernel::row::TASKS)), (0, 0, 0));
    house.verify();
}

#[test]
fn a_run_that_is_not_over_in_time_fails_and_so_does_one_nobody_takes() {
    let mut house = House::new(&["t"]);
    house.put("workflow: late\nlimits: {deadline: 10s}\nnodes:\n  a: {type: t}\n");
    house.put("workflow: stuck\nlimits: {stall: 1m}\nnodes:\n  a: {type: t}\n");
    house.put("workflow: asks\nlimits: {stall: 1m}\nnodes:\n  a: {type: approval}\n");
    let (late, stuck, asks) = (house.start("late", json!(1)), house.start("stuck", json!(1)), house.start("asks", json!(1)));
    house.now = house.now.plus_ms(11_000);
    house.tick(None);
    assert_eq!((house.status(late), house.status(stuck)), (RunStatus::Failed, RunStatus::Running));
    house.now = house.now.plus_ms(120_000);
    house.tick(None);
    assert_eq!((house.status(stuck), house.status(asks)), (RunStatus::Failed, RunStatus::Running));
    let why = house.entries.iter().find_map(|entry| match &entry.record {
        Record::RunFailed { failure, .. } if entry.owner == Owner::Run(stuck) => Some(failure.clone()),
        _ => None,
    });
    assert_eq!(why.unwrap().code, "stalled");
    house.verify();
}

fn start_keyed(house: &mut House) -> (RunId, bool) {
    let workflow = kernel::names::WorkflowName::parse("line").unwrap();
    let key = Some(kernel::names::IdempotencyKey::parse("k").unwrap());
    let spec = RunSpec { idempotency_key: key, ..RunSpec::new(workflow.clone(), 0) };
    let new = NewRun { workflow, version: None, spec, input: Payload("{\"n\":1}".into()) };
    match house.ask(Command::StartRun { new: Box::new(new), by: actor() }) {
        Ok(Reply::Started { run, duplicate }) => (run, duplicate),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_key_starts_one_run() {
    let mut house = House::new(&["t"]);
    house.put(LINE);
    let first = start_keyed(&mut house);
    assert_eq!(start_keyed(&mut house), (first.0, true));
    house.work(echo);
    assert_eq!(start_keyed(&mut house), (first.0, true), "also when it has ended");
}

#[test]
fn a_run_that_goes_does_not_take_the_key_of_a_younger_one() {
    let mut house = House::new(&["t"]);
    house.put(LINE);
    let (first, _) = start_keyed(&mut house);
    let taken = house.poll(1, Vec::new());
    house.ask(Command::CancelRun { run: first, by: actor(), reason: String::new() }).unwrap();
    // Its worker is still at it, so it cannot go yet.
    house.ask(Command::DeleteRun { run: first, by: actor() }).unwrap();
    let (second, duplicate) = start_keyed(&mut house);
    assert!(second != first && !duplicate);
    let outcome = Outcome::Done { output: Payload("1".into()) };
    house.poll(0, vec![Report { task: taken[0].grant.task, fence: taken[0].grant.fence, outcome }]);
    house.now = house.now.plus_ms(2_000);
    house.tick(None);
    assert_eq!(house.rows(&kernel::row::RUNS), 1, "the first has gone");
    assert_eq!(start_keyed(&mut house), (second, true));
    house.verify();
}

#[test]
fn what_a_run_called_goes_with_it() {
    let mut house = House::new(&["t"]);
    house.put(LINE);
    house.put("workflow: outer\nnodes:\n  e:\n    type: each\n    items: input\n    do:\n      nodes:\n        sub: {type: workflow, run: line, with: {n: '${item}'}}\n");
    let run = house.start("outer", json!([1, 2, 3]));
    house.work(echo);
    assert_eq!((house.status(run), house.output(run)), (RunStatus::Done, json!([{"n": 2}, {"n": 3}, {"n": 4}])));
    let called = house.entries.iter().find_map(|entry| match (&entry.owner, &entry.record) {
        (Owner::Run(id), Record::RunStarted { spec, .. }) if spec.parent.is_some() => Some(*id),
        _ => None,
    });
    assert!(matches!(house.ask(Command::DeleteRun { run: called.unwrap(), by: actor() }), Err(Rejection::Invalid { .. })));
    house.ask(Command::DeleteRun { run, by: actor() }).unwrap();
    house.tick(None);
    for table in [&kernel::row::RUNS, &kernel::row::FRAMES, &kernel::row::NODES, &kernel::row::TASKS] {
        assert_eq!(house.rows(table), 0, "{}", table.name);
    }
    house.verify();
}

#[test]
fn outputs_beyond_what_is_kept_come_together() {
    let mut house = House::new(&["t"]);
    house.put("workflow: w\nnodes:\n  e:\n    type: each\n    items: input\n    do:\n      nodes:\n        x: {type: t, with: '${item}'}\n        y: {type: transform, after: x, value: 'output + output'}\n  n: {type: transform, after: e, value: size(output)}\n");
    let items: Vec<usize> = (0..1_000).collect();
    let run = house.start("w", json!(items));
    house.work(|_, _| Ok(json!("x".repeat(2_000))));
    assert_eq!(
        house.status(run),
        RunStatus::Done,
        "{:?}",
        house.entries.iter().find(|entry| entry.record.kind() == "run_failed")
    );
    assert_eq!(house.output(run), json!(1_000));
    house.verify();
}

#[test]
fn runs_that_call_one_another_without_end_stop_nobody() {
    let mut house = House::new(&["t"]);
    house.put("workflow: bomb\nnodes:\n  a: {type: workflow, run: bomb}\n  b: {type: workflow, run: bomb}\n");
    let run = house.start("bomb", json!(null));
    assert_eq!(house.status(run), RunStatus::Failed);
    house.verify();
}

#[test]
fn what_failed_a_run_fails_it_again_if_it_is_not_tried() {
    let mut house = House::new(&["t", "u"]);
    house.put("workflow: w\nnodes:\n  a: {type: t}\n  b: {type: u}\n");
    let run = house.start("w", json!(1));
    let taken = house.poll(2, Vec::new());
    let bad = taken.iter().find(|delivery| delivery.grant.kind.as_str() == "t").unwrap();
    let failure = Failure { code: "broken".into(), message: "no".into() };
    let outcome = Outcome::Failed { failure, retryable: false, retry_after_ms: None };
    house.poll(0, vec![Report { task: bad.grant.task, fence: bad.grant.fence, outcome }]);
    assert_eq!(house.status(run), RunStatus::Failed);
    let node = Some(Box::new(at(&format!("{run}/b"))));
    house.ask(Command::RetryRun { run, node, new: None, reason: String::new(), by: actor() }).unwrap();
    house.work(echo);
    assert_eq!(house.status(run), RunStatus::Failed, "`a` was not tried again");
    house.ask(Command::RetryRun { run, node: None, new: None, reason: String::new(), by: actor() }).unwrap();
    house.work(echo);
    assert_eq!(house.status(run), RunStatus::Done);
    house.verify();
}

const BIG: &str = "
workflow: big
nodes:
  a: {type: t}
  b: {type: transform, after: a, value: 'size(output.text)', on_error: {to: c}}
  c: {type: transform, value: 'nodes.b.error.code + \": \" + nodes.b.error.message'}
  d: {type: t, after: a, on_error: ignore}
  e: {type: t}
  end: {type: join, after: [c, e]}
output: '{\"c\": nodes.c.output, \"d\": nodes.d.status, \"e\": nodes.e.status}'
";

/// The first large output is lost before anybody has read it.
fn spoilt(spoil: fn(&MemoryBlobs)) {
    let mut house = House::new(&["t"]);
    house.put(BIG);
    house.put(LINE);
    let run = house.start("big", json!(null));
    let taken = house.poll(10, Vec::new());
    let large = json!({"text": "x".repeat(9_000)}).to_string();
    let blob = store::BlobStore::put(&*house.blobs, large.as_bytes()).unwrap().id();
    spoil(&house.blobs);
    let output = |node: &str| if node == "a" { Payload::blob(&blob.to_string()) } else { Payload("1".into()) };
    let report = |delivery: &Delivery| {
        let node = delivery.grant.node.as_ref().unwrap().0.node.clone();
        Report {
            task: delivery.grant.task,
            fence: delivery.grant.fence,
            outcome: Outcome::Done { output: output(node.as_str()) },
        }
    };
    let reports = taken.iter().map(report).collect();
    let other = house.start("line", json!({"n": 1}));
    let taken = house.poll(10, reports);
    // The worker gets what can be made, and hears nothing of the other.
    let mut reader = house.core.reader().unwrap();
    let filled = house.core.fill(&taken, &mut *reader).unwrap();
    let nodes = |deliveries: &[Delivery]| -> Vec<String> {
        deliveries.iter().map(|delivery| delivery.grant.node.as_ref().unwrap().0.show()).collect()
    };
    assert_eq!(nodes(&filled.deliveries), [format!("{other}/a")]);
    let [(lost, failure)] = &filled.failed[..] else { panic!("{filled:?}") };
    assert_eq!((nodes(std::slice::from_ref(lost)), failure.code.as_str()), (vec![format!("{run}/d")], "value_lost"));
    let outcome = Outcome::Failed { failure: failure.clone(), retryable: false, retry_after_ms: None };
    let reports = vec![
        Report { task: lost.grant.task, fence: lost.grant.fence, outcome },
        Report {
            task: filled.deliveries[0].grant.task,
            fence: filled.deliveries[0].grant.fence,
            outcome: Outcome::Done { output: Payload("{\"n\":2}".into()) },
        },
    ];
    house.poll(0, reports);
    house.work(echo);
    assert_eq!((house.status(run), house.status(other)), (RunStatus::Done, RunStatus::Done));
    let output = house.output(run);
    let told = output["c"].as_str().unwrap();
    assert!(told.starts_with("value_lost: the value of record ") && told.ends_with("it is gone or damaged"), "{told}");
    assert_eq!((&output["d"], &output["e"]), (&json!("failed"), &json!("done")));
    house.verify();
}

#[test]
fn a_missing_or_damaged_blob_fails_those_who_need_it_and_nobody_else() {
    spoilt(|blobs| _ = blobs.damage(0).unwrap());
    spoilt(|blobs| {
        let id = blobs.damage(0).unwrap();
        store::BlobStore::remove(blobs, &id).unwrap();
    });
}

#[test]
fn inputs_that_do_not_fit_into_one_answer_come_with_the_next() {
    let mut house = House::new(&["t"]);
    house.put("workflow: w\nnodes:\n  e:\n    type: each\n    items: input.list\n    concurrency: 60\n    do:\n      nodes:\n        x: {type: t, with: {n: '${item}', text: '${input.text}'}}\n");
    let run = house.start("w", json!({"text": "x".repeat(240_000), "list": (0..50).collect::<Vec<usize>>()}));
    let mut given = 0;
    let mut results = Vec::new();
    for round in 0.. {
        assert!(round < 10, "it does not end");
        let taken = house.poll(100, std::mem::take(&mut results));
        if taken.is_empty() {
            break;
        }
        let mut reader = house.core.reader().unwrap();
        let filled = house.core.fill(&taken, &mut *reader).unwrap();
        let bytes: usize = filled.deliveries.iter().map(|delivery| delivery.input.as_ref().unwrap().text().len()).sum();
        assert!(bytes < kernel::limits::DELIVERY_BYTES_MAX + 250_000, "{bytes}");
        assert_eq!(filled.left.is_empty(), taken.len() == filled.deliveries.len());
        given += filled.deliveries.len();
        let grants = filled.left.iter().map(|delivery| (delivery.grant.task, delivery.grant.fence)).collect();
        house.tick(Some(Request::Undelivered { grants }));
        results.extend(filled.deliveries.iter().map(|delivery| Report {
            task: delivery.grant.task,
            fence: delivery.grant.fence,
            outcome: Outcome::Done { output: Payload("1".into()) },
        }));
    }
    assert_eq!((given, house.status(run)), (50, RunStatus::Done), "each once, none lost");
    house.verify();
}

/// Nor does one answer take long to make, whatever the expressions.
#[test]
fn inputs_that_are_dear_come_a_few_at_a_time() {
    let mut house = House::new(&["t"]);
    house.put("workflow: w\nnodes:\n  e:\n    type: each\n    items: range(400)\n    concurrency: 400\n    do:\n      nodes:\n        x: {type: t, with: '${size(range(9000).map(x, x + item))}'}\n");
    house.start("w", json!({}));
    let taken = house.poll(400, Vec::new());
    let mut reader = house.core.reader().unwrap();
    let filled = house.core.fill(&taken, &mut *reader).unwrap();
    let (given, left) = (filled.deliveries.len(), filled.left.len());
    assert_eq!((taken.len(), given + left), (400, 400));
    assert!((10..200).contains(&given), "{given}");
}

#[test]
fn a_node_that_reads_too_much_at_once_fails() {
    let mut house = House::new(&["t"]);
    house.put("workflow: w\nnodes:\n  e:\n    type: each\n    items: input\n    concurrency: 200\n    do:\n      nodes:\n        x: {type: t, with: '${item}'}\n");
    let items: Vec<usize> = (0..200).collect();
    let run = house.start("w", json!(items));
    house.work(|_, input| Ok(json!(format!("{input}{}", "x".repeat(240_000)))));
    assert_eq!(house.status(run), RunStatus::Failed);
    let failed = house.entries.iter().find_map(|entry| match &entry.record {
        Record::NodeFailed { failure, .. } => Some(failure.clone()),
        _ => None,
    });
    assert_eq!(failed.unwrap().code, "values_too_large");
    house.verify();
}

#[test]
fn of_items_that_are_done_memory_keeps_the_result_alone() {
    let mut house = House::new(&["t"]);
    house.put("workflow: w\nnodes:\n  e:\n    type: each\n    items: input\n    concurrency: 100\n    do:\n      nodes:\n        x: {type: t, with: '${item}'}\n        y: {type: transform, after: x, value: output}\n  z: {type: approval, after: e}\n");
    let items: Vec<usize> = (0..100).collect();
    let run = house.start("w", json!(items));
    let taken = house.poll(100, Vec::new());
    let done = |delivery: &Delivery| {
        let outcome = Outcome::Done { output: Payload("7".into()) };
        Report { task: delivery.grant.task, fence: delivery.grant.fence, outcome }
    };
    house.poll(0, taken[1..].iter().map(done).collect());
    let kept = |house: &House| {
        let live = house.core.state().live_run(run).unwrap();
        (live.frames().count() - 1, live.frames().filter(|(_, frame)| !frame.is_past()).count() - 1)
    };
    assert_eq!(kept(&house), (100, 1), "the one that goes on");
    house.restart();
    assert_eq!(kept(&house), (100, 1), "the same after a restart");
    // Nobody named it, so it was given back.
    let again = house.poll(1, Vec::new());
    house.poll(0, vec![done(&again[0])]);
    assert_eq!(kept(&house), (0, 0), "it is done");
    let answer = Command::Answer { at: at(&format!("{run}/z")), approved: true, comment: String::new(), by: actor() };
    house.ask(answer).unwrap();
    assert_eq!((house.status(run), house.output(run)), (RunStatus::Done, json!({"approved": true, "by": "ann", "comment": ""})));
    house.verify();
}

#[test]
fn an_approval_in_an_item_that_is_over_cannot_be_answered_again() {
    let mut house = House::new(&["t"]);
    house.put("workflow: w\nnodes:\n  e:\n    type: each\n    items: input\n    concurrency: 2\n    do:\n      nodes:\n        ask: {type: approval}\n");
    let run = house.start("w", json!([1, 2]));
    let answer = |item: usize| {
        let at = at(&format!("{run}/e[{item}]/ask"));
        Command::Answer { at, approved: true, comment: String::new(), by: actor() }
    };
    house.ask(answer(0)).unwrap();
    assert!(matches!(house.ask(answer(0)), Err(Rejection::NotAsking { .. })));
    house.restart();
    assert!(matches!(house.ask(answer(0)), Err(Rejection::NotAsking { .. })));
    house.ask(answer(1)).unwrap();
    assert_eq!(house.status(run), RunStatus::Done);
}

#[test]
fn many_runs_are_deleted_in_one_batch() {
    let mut house = House::new(&["t"]);
    house.put("workflow: w\nnodes:\n  a: {type: t}\n  b: {type: transform, after: a, value: output}\n");
    let runs: Vec<RunId> = (0..300).map(|_| house.start("w", json!(1))).collect();
    house.work(echo);
    let deleting = house.ask(Command::ExpireRuns { runs: runs.clone() });
    assert_eq!(deleting, Ok(Reply::Items { changed: 300, skipped: 0 }));
    // That tick and those that came at once after it: 600 parts of 300 runs are less than a batch.
    for table in [&kernel::row::RUNS, &kernel::row::NODES, &kernel::row::TASKS] {
        assert_eq!(house.rows(table), 0, "{}", table.name);
    }
    assert_eq!(house.core.state().runs_live(), 0);
    house.verify();
}

#[test]
fn a_node_whose_value_does_not_come_fails_in_the_end() {
    let mut house = House::new(&["t"]);
    house.put(
        "workflow: w\nlimits: {stall: 1m}\nnodes:\n  a: {type: approval}\n  b: {type: transform, after: a, value: size(input)}\n",
    );
    let run = house.start("w", json!("text"));
    house.restart();
    let answer = Command::Answer { at: at(&format!("{run}/a")), approved: true, comment: String::new(), by: actor() };
    let ticked = house.core.tick(house.now, 1, vec![(Ticket(1_000), Request::Command(answer))], true);
    assert_eq!(ticked.missing.len(), 1, "nobody reads it");
    let Ticked { answers, .. } = house.core.tick(house.now, 1, vec![(Ticket(1_001), Request::ExplainRun { run })], true);
    let [(_, Answer::RunExplained(Ok(told)))] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!(told.waits.iter().map(|wait| (wait.at.node.as_str(), wait.code)).collect::<Vec<_>>(), [("b", "loading")]);
    let mut failed = None;
    for minute in 1..30 {
        house.now = house.now.plus_ms(60_000);
        let ticked = house.core.tick(house.now, 1, Vec::new(), true);
        house.entries.extend(ticked.entries);
        let fails = |entry: &Entry| matches!(&entry.record, Record::NodeFailed { failure, .. } if failure.code == "value_unread");
        if failed.is_none() && house.entries.iter().any(fails) {
            failed = Some(minute);
        }
    }
    assert!(failed.is_some_and(|minute| (10..=13).contains(&minute)), "{failed:?}");
    assert_eq!(house.status(run), RunStatus::Failed);
    house.verify();
}

/// As the writer does it: what leaves nothing to write is not sealed, and may not pile up in memory either.
#[test]
fn a_deleted_run_waits_for_the_worker_that_is_at_it() {
    let mut house = House::new(&["t"]);
    house.put("workflow: w\nnodes:\n  a: {type: t}\n");
    let run = house.start("w", json!({}));
    let held = house.poll(1, Vec::new());
    house.ask(Command::CancelRun { run, by: actor(), reason: String::new() }).unwrap();
    house.tick(None);
    house.ask(Command::DeleteRun { run, by: actor() }).unwrap();
    for _ in 0..4 {
        house.now = house.now.plus_ms(1_100);
        house.core.decide(house.now, 1, Vec::new(), true).unwrap_or_else(|_| panic!("the store does not fail"));
        assert!(!house.core.is_open(), "there is nothing to write");
    }
    assert_eq!(house.rows(&kernel::row::RUNS), 1);
    let done = Report { task: held[0].grant.task, fence: held[0].grant.fence, outcome: Outcome::Released };
    house.poll(0, vec![done]);
    for _ in 0..3 {
        house.now = house.now.plus_ms(1_100);
        house.tick(None);
    }
    for table in [&kernel::row::RUNS, &kernel::row::NODES, &kernel::row::TASKS] {
        assert_eq!(house.rows(table), 0, "{}", table.name);
    }
    house.verify();
}
