//! Pause and resume, step by step: tasks, called runs, and runs with thousands of both.

use crate::house::{Desk, actor};
use crate::properties::compiled;
use kernel::command::Command;
use kernel::message::Message;
use kernel::record::Record;
use kernel::run::RunStatus;
use kernel::task::Task;
use serde_json::{Value as Json, json};

fn desk(workflows: &[Json]) -> Desk {
    desk_with(workflows, |_| false)
}

fn desk_with(workflows: &[Json], elsewhere: fn(&Message) -> bool) -> Desk {
    let named = |definition: &Json| (definition["workflow"].as_str().expect("a name").to_owned(), definition.clone());
    Desk::new(&compiled(&workflows.iter().map(named).collect()), elsewhere)
}

fn plain(name: &str, nodes: Json) -> Json {
    json!({"workflow": name, "version": 1, "nodes": nodes, "limits": {"stall": "300d"}})
}

#[test]
fn a_pause_costs_no_attempt_no_backoff_and_no_place() {
    let retry = json!({"attempts": 3, "backoff": "10s"});
    let mut desk = desk(&[plain("w", json!({"a": {"type": "x", "retry": retry}}))]);
    let run = desk.start("w", &json!(null), None);
    let first = desk.lease(1).remove(0);
    desk.fail(&first, true);
    let ready_at = |desk: &Desk| match desk.task(first.task) {
        Task::Queued(queued) => queued.ready_at(),
        other => panic!("{other:?} is not queued"),
    };
    let due = ready_at(&desk);
    desk.pause(run);
    assert!(desk.task(first.task).card().is_held());
    desk.now = due.plus_ms(1);
    assert_eq!(desk.lease(1), vec![]);
    desk.resume(run);
    assert_eq!(ready_at(&desk), due);
    let second = desk.lease(1).remove(0);
    assert_eq!((second.task, second.attempt), (first.task, 2));
    // One that runs when the run is paused comes back and stays.
    desk.pause(run);
    desk.fail(&second, true);
    desk.now = desk.now.plus_ms(60_000);
    assert_eq!(desk.lease(1), vec![]);
    desk.resume(run);
    let third = desk.lease(1).remove(0);
    assert_eq!((third.task, third.attempt), (first.task, 3));
    desk.done(&third);
    assert_eq!(desk.owners("run_done").len(), 1);
}

#[test]
fn words_of_a_pause_that_is_over_hold_nobody() {
    let mut desk = desk_with(&[plain("w", json!({"a": {"type": "x"}}))], |message| {
        matches!(message, Message::Hold { .. } | Message::LetGo { .. })
    });
    let run = desk.start("w", &json!(null), None);
    desk.pause(run);
    desk.resume(run);
    desk.pause(run);
    desk.resume(run);
    // Hold, let go, hold, let go: the first three come after the last, and one of them twice.
    let words = std::mem::take(&mut desk.outbox);
    assert_eq!(words.len(), 4);
    for at in [3, 0, 2, 1, 2] {
        desk.hear(words[at].clone());
    }
    assert_eq!(desk.lease(1).len(), 1);
}

#[test]
fn a_pause_goes_down_to_called_runs_and_their_own_stay() {
    let mut desk = desk(&[
        plain("w", json!({"c": {"type": "workflow", "run": "v"}, "d": {"type": "workflow", "run": "u"}})),
        plain("v", json!({"c": {"type": "workflow", "run": "u"}})),
        plain("u", json!({"a": {"type": "x"}})),
    ]);
    let run = desk.start("w", &json!(null), None);
    let called: Vec<_> = desk.owners("run_started").iter().map(|text| kernel::ids::RunId::parse(text).expect("a run")).collect();
    let paused = |desk: &Desk| -> Vec<bool> {
        called.iter().map(|run| desk.shard.state.live_run(*run).is_some_and(|live| live.run().is_paused())).collect()
    };
    assert_eq!(called.len(), 4);
    let deepest = called[3];
    desk.pause(deepest);
    desk.pause(run);
    assert_eq!(paused(&desk), [true; 4]);
    assert_eq!((desk.held(), desk.lease(9).len()), (2, 0));
    // It is not paused by itself: who wants it to go on is told which to resume.
    let no = desk.try_to(Command::ResumeRun { run: called[1], by: actor() }).unwrap_err();
    assert_eq!(no.to_string(), format!("{} is paused with {run}, which called it: resume that run", called[1]));
    desk.restart();
    desk.resume(run);
    assert_eq!(paused(&desk), [false, false, false, true], "one was paused in its own right");
    assert_eq!(desk.lease(9).len(), 1);
    desk.pause(run);
    desk.resume(deepest);
    assert!(paused(&desk)[3], "its caller is paused");
    desk.resume(run);
    assert_eq!(paused(&desk), [false; 4]);
    desk.pause(run);
    desk.cancel(run);
    desk.settle(None);
    assert_eq!(desk.owners("run_cancelled").len(), 4);
    assert_eq!(queued(&desk), 0);
}

/// What a run with this many items asks for goes on batch after batch, and none of them is large.
const ITEMS: usize = 5_500;

fn wide(on_failure: &str) -> Json {
    let body = json!({"nodes": {"a": {"type": "x", "retry": {"attempts": 2, "backoff": "1ms"}}}});
    let items: Vec<usize> = (0..ITEMS).collect();
    let each = json!({"type": "each", "items": items, "concurrency": 10_000, "on_failure": on_failure, "do": body});
    json!({"workflow": "w", "version": 1, "nodes": {"e": each}, "output": "size(nodes.e.output)", "limits": {"stall": "300d"}})
}

fn queued(desk: &Desk) -> usize {
    desk.shard.state.counts().queued
}

#[test]
fn thousands_are_paused_and_go_on_batch_after_batch() {
    for restart in [None, Some(2)] {
        let mut desk = desk(&[wide("fail_fast")]);
        let run = desk.start("w", &json!(null), None);
        desk.settle(restart);
        assert_eq!(queued(&desk), ITEMS);
        let leased = desk.lease(3);
        desk.pause(run);
        assert!(desk.held() < ITEMS, "not all in one batch");
        desk.settle(restart);
        assert_eq!((desk.held(), desk.lease(1).len()), (ITEMS, 0));
        desk.fail(&leased[0], true);
        assert_eq!((queued(&desk), desk.lease(1).len()), (ITEMS - 2, 0), "what comes back stays");
        // Resumed, paused and resumed again before all have heard.
        desk.resume(run);
        desk.proceed();
        desk.pause(run);
        desk.proceed();
        if restart.is_some() {
            desk.restart();
        }
        desk.resume(run);
        desk.settle(restart);
        assert_eq!((desk.held(), queued(&desk)), (0, ITEMS - 2));
        desk.now = desk.now.plus_ms(1_000);
        let again = desk.lease(ITEMS).into_iter().find(|grant| grant.task == leased[0].task).expect("it is ready");
        assert_eq!(again.attempt, 2);
        assert!(desk.owners("task_added").len() == ITEMS, "nobody asked for it anew");
    }
}

#[test]
fn thousands_are_cancelled_and_tried_again_batch_after_batch() {
    for restart in [None, Some(2)] {
        let mut desk = desk(&[wide("fail_fast")]);
        let run = desk.start("w", &json!(null), None);
        desk.settle(None);
        desk.pause(run);
        desk.proceed();
        desk.cancel(run);
        assert!(queued(&desk) > 0, "not all in one batch");
        desk.settle(restart);
        assert_eq!(queued(&desk), 0);
        desk.retry(run);
        desk.settle(restart);
        assert_eq!((queued(&desk), desk.held()), (ITEMS, 0));
        finish(&mut desk, run, true);
    }
}

#[test]
fn thousands_that_failed_are_tried_again_batch_after_batch() {
    for restart in [None, Some(2)] {
        let mut desk = desk(&[wide("wait_all")]);
        let run = desk.start("w", &json!(null), None);
        desk.settle(None);
        finish(&mut desk, run, false);
        assert_eq!(desk.owners("run_failed").len(), 1);
        desk.retry(run);
        desk.settle(restart);
        assert_eq!(queued(&desk), ITEMS);
        finish(&mut desk, run, true);
    }
}

fn finish(desk: &mut Desk, run: kernel::ids::RunId, well: bool) {
    while queued(desk) > 0 {
        for grant in desk.lease(1_000) {
            if well { desk.done(&grant) } else { desk.fail(&grant, false) }
        }
        desk.settle(None);
    }
    let ends = |entry: &kernel::record::Entry| match &entry.record {
        Record::RunDone { .. } => Some(RunStatus::Done),
        Record::RunFailed { .. } => Some(RunStatus::Failed),
        _ => None,
    };
    let of_run = desk.entries.iter().filter(|entry| entry.owner.to_string() == run.to_string());
    let status = of_run.rev().find_map(ends);
    assert_eq!(status, Some(if well { RunStatus::Done } else { RunStatus::Failed }));
}
