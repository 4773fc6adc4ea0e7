//! Runs that are patched and restarted, step by step: how long they have, how many of their items go on at once, and how many
//! of them are looked at in one batch.

use crate::house::Desk;
use crate::properties::compiled;
use kernel::frame::{FramePath, FrameState};
use kernel::ids::RunId;
use kernel::limits::{CHUNK_ITEMS_MAX, PATCH_TOLD_MAX};
use kernel::record::Record;
use kernel::run::RunStatus;
use kernel::time::Time;
use serde_json::{Value as Json, json};

fn desk(definition: &Json) -> Desk {
    Desk::new(&compiled(&[("w".to_owned(), definition.clone())].into()), |_| false)
}

fn plain(nodes: Json, deadline: Option<&str>) -> Json {
    let mut limits = json!({"stall": "300d"});
    deadline.into_iter().for_each(|deadline| limits["deadline"] = json!(deadline));
    json!({"workflow": "w", "version": 1, "nodes": nodes, "limits": limits})
}

fn within(deadline: Option<&str>) -> Json {
    plain(json!({"a": {"type": "x"}}), deadline)
}

fn deadline(desk: &Desk, run: RunId) -> Option<Time> {
    desk.shard.state.live_run(run).expect("it is under way").run().spec().deadline
}

fn is_running(desk: &Desk, run: RunId) -> bool {
    desk.shard.state.live_run(run).is_some_and(|live| live.run().status() == RunStatus::Running)
}

#[test]
fn a_deadline_that_is_patched_counts_from_when_the_run_was_opened_last() {
    for opened_by in ["retry", "restart"] {
        let mut desk = desk(&within(Some("1h")));
        let run = desk.start("w", &json!(null), None);
        desk.cancel(run);
        desk.settle(None);
        desk.now = desk.now.plus_ms(24 * 3_600_000);
        match opened_by {
            "retry" => desk.retry(run),
            _ => desk.rewind(&format!("{run}/a")),
        }
        let opened = desk.now;
        desk.now = opened.plus_ms(1_000);
        for (text, hours) in [("2h", 2), ("30m", 0)] {
            let wanted = opened.plus_ms(if hours > 0 { hours * 3_600_000 } else { 1_800_000 });
            let would = desk.patch(run, &within(Some(text)), true);
            assert_eq!((would.deadline, is_running(&desk, run)), (Some(wanted), true), "{opened_by}");
            let told = desk.patch(run, &within(Some(text)), false);
            assert_eq!((told.deadline, deadline(&desk, run)), (Some(wanted), Some(wanted)), "{opened_by}");
            desk.restart();
            desk.proceed();
            assert!(is_running(&desk, run), "it was given {text} and has had a second");
        }
        // The next try has as long.
        desk.cancel(run);
        desk.settle(None);
        desk.retry(run);
        assert_eq!(deadline(&desk, run), Some(desk.now.plus_ms(1_800_000)));
        // What is under way is restarted within its time.
        let before = deadline(&desk, run);
        desk.now = desk.now.plus_ms(60_000);
        let grant = desk.lease(1).remove(0);
        desk.rewind(&format!("{run}/a"));
        assert!(grant.task.number() > 0 && deadline(&desk, run) == before);
        let told = desk.patch(run, &within(Some("31m")), false);
        assert_eq!(told.deadline, before.map(|before| before.plus_ms(60_000)));
        // Nothing is told of one that stays.
        assert_eq!(desk.patch(run, &plain(json!({"a": {"type": "x"}, "b": {"type": "y"}}), Some("31m")), false).deadline, None);
    }
}

#[test]
fn a_deadline_that_is_patched_leaves_that_of_who_started_the_run() {
    // What the text says, what was asked for, and then what the texts of patches say and what comes of them.
    /// A deadline in the text, and how long the run is given by it.
    type Given<'a> = (Option<&'a str>, Option<u64>);
    let cases: [(Option<&str>, Option<u64>, &[Given<'_>]); 4] = [
        (Some("1h"), Some(60_000), &[(Some("2h"), Some(60_000)), (None, Some(60_000)), (Some("30s"), Some(30_000))]),
        (Some("1h"), Some(7_200_000), &[(Some("3h"), Some(7_200_000)), (Some("1h"), Some(3_600_000)), (None, Some(7_200_000))]),
        (None, Some(60_000), &[(Some("2h"), Some(60_000)), (None, Some(60_000))]),
        (Some("1h"), None, &[(None, None), (Some("2h"), Some(7_200_000))]),
    ];
    for (text, asked_ms, patches) in cases {
        let mut desk = desk(&within(text));
        let started = desk.now.plus_ms(1);
        let run = desk.start("w", &json!(null), asked_ms.map(|ms| started.plus_ms(ms)));
        for (text, given_ms) in patches {
            desk.now = desk.now.plus_ms(100);
            desk.patch(run, &within(*text), false);
            assert_eq!(deadline(&desk, run), given_ms.map(|ms| started.plus_ms(ms)), "{asked_ms:?}, {text:?}");
            desk.restart();
        }
    }
}

/// Of an each, as far as it is in memory.
fn open_items(desk: &Desk, run: RunId) -> usize {
    let live = desk.shard.state.live_run(run).expect("it is under way");
    live.frames().filter(|(path, frame)| path.depth() == 1 && frame.is_open() && !frame.is_undone()).count()
}

/// Items that were over and in which something is restarted wait for room like those that have not begun.
#[test]
fn a_restart_in_an_each_keeps_to_its_concurrency() {
    let item = json!({"q": {"type": "x"}, "l": {"type": "loop", "max_iterations": 3, "until": "iteration == 1", "after": "q", "do": {"nodes": {"t": {"type": "x"}}}}});
    for (concurrency, on_failure) in [(1, json!("wait_all")), (2, json!("fail_fast")), (1, json!({"tolerate": 2}))] {
        for (fails, restarts) in [(false, false), (true, true), (false, true)] {
            if fails && on_failure == json!("fail_fast") {
                continue;
            }
            let each = json!({"type": "each", "items": [1, 2, 3, 4, 5], "concurrency": concurrency, "on_failure": on_failure, "do": {"nodes": item}});
            let mut desk = desk(&plain(json!({"e": each}), None));
            let run = desk.start("w", &json!(null), None);
            let one = |desk: &mut Desk, well: bool| {
                let grant = desk.lease(1).remove(0);
                match well {
                    true => desk.done(&grant),
                    false => desk.fail(&grant, false),
                }
                desk.settle(None);
                if restarts {
                    desk.restart();
                    desk.settle(None);
                }
                assert!(!is_running(desk, run) || open_items(desk, run) <= concurrency, "{} at once", open_items(desk, run));
            };
            // Three tasks an item: two items are over, or the first fails by its first.
            for at in 0..if fails { 4 } else { 6 } {
                one(&mut desk, !(fails && at == 0));
            }
            assert!(is_running(&desk, run));
            for place in ["e[0]/q", "e[1].l[0]/t", "e[1]/l"] {
                desk.rewind(&format!("{run}/{place}"));
                desk.settle(None);
                assert!(open_items(&desk, run) <= concurrency, "{place}: {} at once", open_items(&desk, run));
                if restarts {
                    desk.restart();
                    desk.settle(None);
                    assert!(open_items(&desk, run) <= concurrency, "{place}: {} at once after a restart", open_items(&desk, run));
                }
            }
            let mut left = 100;
            while is_running(&desk, run) && left > 0 {
                one(&mut desk, true);
                left -= 1;
            }
            let done = desk.entries.iter().any(|entry| matches!(entry.record, Record::RunDone { .. }));
            assert!(done, "{concurrency}, {on_failure}: it does not come to its end");
            assert!(!desk.owners("frame_reset").is_empty());
        }
    }
}

fn fan_out(items: usize, b: Json, other: &str) -> Json {
    let items: Vec<usize> = (0..items).collect();
    let body = json!({"a": {"type": "x"}, "b": b});
    let each = json!({"type": "each", "items": items, "concurrency": 10_000, "do": {"nodes": body}});
    plain(json!({"e": each, "z": {"type": "y", "after": "e", "with": other}}), None)
}

fn revisions(desk: &Desk, run: RunId) -> Vec<u32> {
    let live = desk.shard.state.live_run(run).expect("it is under way");
    live.frames().filter(|(path, frame)| !path.is_root() && frame.is_open()).map(|(_, frame)| frame.revision()).collect()
}

/// However many items are under way, all that can follow a patch do, a chunk of them in a batch.
#[test]
fn all_items_follow_a_patch_batch_after_batch() {
    const ITEMS: usize = 2_600;
    const BEGUN: usize = 60;
    for restart_after in [None, Some(1), Some(2)] {
        let b = |v: u32| json!({"type": "x", "after": "a", "with": {"v": v}});
        let mut desk = desk(&fan_out(ITEMS, b(1), "one"));
        let run = desk.start("w", &json!(null), None);
        desk.settle(None);
        for grant in desk.lease(BEGUN) {
            desk.done(&grant);
        }
        let before = desk.entries.len();
        let told = desk.patch(run, &fan_out(ITEMS, b(2), "one"), false);
        let written = desk.entries.len() - before;
        assert!(written <= CHUNK_ITEMS_MAX + 2, "{written} records in one batch");
        assert_eq!((told.keeps_total, told.keeps.len()), (BEGUN as u64, PATCH_TOLD_MAX));
        assert!(told.keeps.iter().all(|(_, node)| node.as_str() == "b"), "{:?}", told.keeps);
        // Another comes before all have seen the first.
        desk.proceed();
        desk.patch(run, &fan_out(ITEMS, b(3), "one"), false);
        desk.settle(restart_after);
        let followed = revisions(&desk, run);
        assert_eq!(followed.iter().filter(|revision| **revision == 2).count(), ITEMS - BEGUN, "{restart_after:?}");
        assert_eq!(followed.iter().filter(|revision| **revision == 0).count(), BEGUN);
        assert_eq!(desk.owners("run_followed").len(), 1);
        // Whoever goes on does so by what it follows.
        let frame = FramePath::parse("e[2599]").expect("a frame");
        let live = desk.shard.state.live_run(run).expect("it is under way");
        let item = live.frame(&frame).expect("it is open");
        assert!(item.state() == FrameState::Open && !live.run().is_following());
    }
}

/// What a patch says nothing new of is left as it is, and so is what it is in.
#[test]
fn items_that_a_patch_does_not_concern_get_no_record() {
    const ITEMS: usize = 1_500;
    let b = json!({"type": "x", "after": "a"});
    let mut desk = desk(&fan_out(ITEMS, b.clone(), "one"));
    let run = desk.start("w", &json!(null), None);
    desk.settle(None);
    let told = desk.patch(run, &fan_out(ITEMS, b, "two"), false);
    desk.settle(Some(1));
    assert_eq!((told.keeps_total, desk.owners("frame_patched").len()), (0, 0));
    assert_eq!(desk.owners("run_followed").len(), 1);
    // The next one may concern them: it is looked at by what they follow.
    let b = json!({"type": "y", "after": "a"});
    desk.patch(run, &fan_out(ITEMS, b, "two"), false);
    desk.settle(None);
    assert_eq!(revisions(&desk, run), vec![2; ITEMS]);
}
