//! Runs that are tried again, step by step: what they called, how long they have, and who still works for them.

use crate::house::{Desk, actor};
use crate::properties::compiled;
use kernel::command::{Command, Outcome};
use kernel::frame::Cause;
use kernel::ids::RunId;
use kernel::message::{Ending, Message};
use kernel::node::{NodeState, Started};
use kernel::record::{Failure, Payload, Record};
use kernel::run::RunStatus;
use serde_json::{Value as Json, json};

fn desk(workflows: &[Json], elsewhere: fn(&Message) -> bool) -> Desk {
    let named = |definition: &Json| (definition["workflow"].as_str().expect("a name").to_owned(), definition.clone());
    Desk::new(&compiled(&workflows.iter().map(named).collect()), elsewhere)
}

fn plain(name: &str, nodes: Json) -> Json {
    json!({"workflow": name, "version": 1, "nodes": nodes, "limits": {"stall": "300d"}})
}

fn caller_and_called() -> Desk {
    let called = json!({"a": {"type": "x"}, "b": {"type": "x", "after": "a"}, "z": {"type": "x", "after": "b"}});
    desk(&[plain("w", json!({"c": {"type": "workflow", "run": "v"}})), plain("v", called)], |_| false)
}

fn called(desk: &Desk) -> RunId {
    let started = desk.owners("run_started");
    RunId::parse(started.last().expect("one was started")).expect("a run")
}

fn failed() -> Ending {
    Ending::Failed(Failure { code: "oops".into(), message: "no".into() })
}

#[test]
fn a_called_run_goes_on_where_it_stopped() {
    for restarts in [false, true] {
        let mut desk = caller_and_called();
        let run = desk.start("w", &json!(null), None);
        let sub = called(&desk);
        let a = desk.lease(1).remove(0);
        desk.done(&a);
        for again in 1..=3 {
            let b = desk.lease(1).remove(0);
            desk.fail(&b, false);
            assert_eq!(desk.owners("run_failed").len(), 2 * again);
            let no = desk
                .try_to(Command::RetryRun { run: sub, node: None, new: None, reason: String::new(), by: actor() })
                .unwrap_err();
            assert_eq!(no.to_string(), format!("{sub} was called by {run}/c: retry that run"));
            desk.retry(run);
            if restarts {
                desk.restart();
            }
            // The first end is heard again, before and after it goes on.
            let late = Message::RunEnded { at: desk.at(run, "c"), run: sub, again: again as u32 - 1, result: failed() };
            desk.hear(late.clone());
            desk.settle(None);
            desk.hear(late);
            let waits = NodeState::Started { since: desk.now, at: Started::Calling { run: sub, again: again as u32 } };
            assert_eq!(format!("{:?}", desk.node(run, "c")).split("at:").last(), format!("{waits:?}").split("at:").last());
        }
        let b = desk.lease(1).remove(0);
        desk.done(&b);
        let z = desk.lease(1).remove(0);
        desk.done(&z);
        assert_eq!(desk.owners("run_started").len(), 2, "no other was called");
        assert_eq!(desk.owners("run_done"), [sub.to_string(), run.to_string()]);
        // What was done stayed done.
        assert_eq!(desk.owners("task_added").len(), 1 + 4 + 1);
    }
}

/// One of two that stopped short is tried again, then the other: what follows from it was skipped meanwhile, and is not any more.
#[test]
fn what_was_skipped_behind_a_failure_comes_about_when_that_is_tried_again() {
    for restarted in [false, true] {
        let after = |of: &str| json!({"type": "x", "after": of});
        let nodes = json!({"g": {"type": "x"}, "h": after("g"), "i": after("h"), "y": {"type": "y"}});
        let mut desk = desk(&[plain("w", nodes)], |_| false);
        let run = desk.start("w", &json!(null), None);
        let work = desk.lease(9);
        let of = |kind: &str| work.iter().find(|grant| grant.kind.as_str() == kind).expect("both are under way");
        desk.fail(of("x"), false);
        desk.fail(of("y"), false);
        desk.settle(None);
        let node = Some(Box::new(desk.at(run, "y")));
        desk.ask(Command::RetryRun { run, node, new: None, reason: String::new(), by: actor() });
        for skipped in ["h", "i"] {
            assert_eq!(desk.node(run, skipped), NodeState::Skipped(Cause::Failed));
        }
        if restarted {
            desk.rewind(&format!("{run}/y"));
        } else {
            let y = desk.lease(9).remove(0);
            desk.fail(&y, false);
            desk.settle(None);
            desk.retry(run);
        }
        for waits in ["h", "i"] {
            assert_eq!(desk.node(run, waits), NodeState::Waiting);
        }
        for many in [2, 1, 1] {
            let work = desk.lease(9);
            assert_eq!(work.len(), many);
            work.iter().for_each(|grant| desk.done(grant));
        }
        assert_eq!(desk.owners("run_done"), [run.to_string()]);
    }
}

#[test]
fn a_called_run_that_was_done_is_not_run_again() {
    let waits = json!({"c": {"type": "workflow", "run": "v"}, "d": {"type": "x"}});
    let mut desk = desk(&[plain("w", waits), plain("v", json!({"a": {"type": "y"}}))], |message| {
        matches!(message, Message::RunEnded { .. })
    });
    let run = desk.start("w", &json!(null), None);
    let grants = desk.lease(2);
    let (y, x) = (grants.iter().find(|g| g.kind.as_str() == "y"), grants.iter().find(|g| g.kind.as_str() == "x"));
    desk.done(y.expect("one"));
    // That it is done is not heard before the other node has failed the run.
    desk.fail(x.expect("the other"), false);
    desk.settle(None);
    desk.retry(run);
    desk.settle(None);
    let told = desk.outbox.pop().expect("it says again that it is done");
    assert!(matches!(&told, Message::RunEnded { again: 1, result: Ending::Done(_), .. }), "{told:?}");
    desk.hear(told);
    let d = desk.lease(9);
    assert_eq!(d.len(), 1);
    desk.done(&d[0]);
    assert_eq!(desk.owners("run_done").len(), 2);
}

#[test]
fn a_called_run_is_paused_with_its_caller_when_it_goes_on() {
    let mut desk = caller_and_called();
    let run = desk.start("w", &json!(null), None);
    let a = desk.lease(1).remove(0);
    desk.fail(&a, false);
    desk.retry(run);
    desk.pause(run);
    desk.settle(None);
    assert_eq!(desk.lease(9), vec![], "it would begin in a paused run");
    desk.resume(run);
    assert_eq!(desk.lease(9).len(), 1);
}

#[test]
fn a_call_whose_run_cannot_go_on_begins_anew() {
    // Its output cannot be worked out: no node of it stopped short.
    let called = json!({"workflow": "v", "version": 1, "nodes": {"a": {"type": "x"}}, "output": "nodes.a.output.no"});
    let mut desk = desk(&[plain("w", json!({"c": {"type": "workflow", "run": "v"}})), called], |_| false);
    let run = desk.start("w", &json!(null), None);
    for runs in 2..4 {
        let a = desk.lease(1).remove(0);
        desk.done(&a);
        assert_eq!(desk.owners("run_started").len(), runs);
        desk.retry(run);
        desk.settle(None);
    }
    assert_eq!(desk.owners("run_started").len(), 4);
}

#[test]
fn a_called_run_that_cannot_begin_fails_its_node() {
    let nodes = json!({"c": {"type": "workflow", "run": "v", "on_error": {"to": "d"}}, "d": {"type": "x"}});
    let workflows = [plain("w", nodes), plain("v", json!({"a": {"type": "x"}}))];
    let mut desk = desk(&workflows, |message| matches!(message, Message::StartRun { .. }));
    let run = desk.start("w", &json!(null), None);
    let Some(Message::StartRun { run: sub, mut spec, input, by }) = desk.outbox.pop() else { panic!("it calls") };
    // On a shard that does not know this version.
    spec.version = 7;
    desk.hear(Message::StartRun { run: sub, spec, input, by });
    match desk.node(run, "c") {
        NodeState::Failed { failure, .. } => {
            assert_eq!((&*failure.code, &*failure.message), ("bad_workflow", "there is no workflow `v` with version 7"));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(desk.lease(1).len(), 1, "it goes the other way");
}

#[test]
fn the_input_of_a_called_run_is_held_against_its_schema() {
    let nodes =
        json!({"c": {"type": "workflow", "run": "v", "with": {"n": "${input.n}"}, "on_error": "ignore"}, "d": {"type": "x"}});
    let mut called = plain("v", json!({"a": {"type": "x"}}));
    called["input"] = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let mut desk = desk(&[plain("w", nodes), called], |_| false);
    for (n, fits) in [(json!(1), true), (json!("one"), false)] {
        let run = desk.start("w", &json!({"n": n}), None);
        match desk.node(run, "c") {
            NodeState::Started { .. } => assert!(fits),
            NodeState::Failed { failure, .. } => {
                assert!(!fits);
                assert_eq!(failure.code, "invalid_input");
                let wanted = "the input does not fit workflow `v` version 1: /n: \"one\" is not of type \"integer\"";
                assert_eq!(failure.message, wanted);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn each_try_has_as_long_as_was_given() {
    let mut desk = desk(&[plain("w", json!({"a": {"type": "x"}}))], |_| false);
    let given_ms = 60_000;
    let deadline = desk.now.plus_ms(1 + given_ms);
    let run = desk.start("w", &json!(null), Some(deadline));
    for _ in 0..3 {
        desk.now = desk.now.plus_ms(10_000);
        let a = desk.lease(1).remove(0);
        desk.fail(&a, false);
        desk.now = desk.now.plus_ms(500_000);
        desk.retry(run);
        let reopened = desk.entries.iter().rev().find_map(|entry| match &entry.record {
            Record::RunReopened { deadline, .. } => Some((entry.at, *deadline)),
            _ => None,
        });
        let (at, deadline) = reopened.expect("it was tried again");
        assert_eq!(deadline.map(|deadline| deadline.ms_since(at)), Some(given_ms));
    }
    desk.now = desk.now.plus_ms(given_ms);
    desk.proceed();
    let late =
        desk.entries.iter().any(|entry| matches!(&entry.record, Record::RunFailed { failure, .. } if failure.code == "deadline"));
    assert!(late);
}

/// The worker that was told to stop may still be at it when the node is tried again; what it says then counts for nothing.
#[test]
fn the_result_of_an_earlier_try_does_not_count() {
    let mut desk = desk(&[plain("w", json!({"a": {"type": "x"}}))], |_| false);
    let run = desk.start("w", &json!(null), None);
    let old = desk.lease(1).remove(0);
    desk.cancel(run);
    desk.settle(None);
    desk.retry(run);
    let new = desk.lease(1).remove(0);
    assert_ne!(old.task, new.task);
    let outcome = Outcome::Done { output: Payload("\"old\"".into()) };
    desk.ask(Command::Finish { task: old.task, fence: old.fence, outcome, jitter: 0 });
    assert!(matches!(desk.node(run, "a"), NodeState::Started { .. }));
    assert!(desk.shard.state.live_run(run).is_some_and(|live| live.run().status() == RunStatus::Running));
    desk.done(&new);
    assert_eq!(desk.owners("run_done").len(), 1);
}
