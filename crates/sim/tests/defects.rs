//! The simulator must be able to fail: each of these deliberate defects is switched on and must be noticed within the
//! fixed seeds. Which checker notices first depends on the seed; it is told.

use sim::{Failure, Options};
use std::sync::atomic::{AtomicUsize, Ordering};

const DEFECTS: [&str; 31] = [
    "any_outcome_again",
    "beat_unheard",
    "blockers_half_read",
    "blockers_not_handed_on",
    "blockers_unread",
    "bulk_skips_one",
    "cold_key_unread",
    "fairness_stale",
    "gone_unnoticed",
    "idempotency_ignored",
    "lapse_unheard",
    "last_lane_first",
    "late_timer",
    "leaked_slot",
    "leases_while_stopping",
    "lost_follow_up",
    "lost_row",
    "memory_kept",
    "no_fence_check",
    "no_fresh_window",
    "nobody_called_back",
    "nothing_offered",
    "one_attempt_more",
    "overrides_unbounded",
    "pause_ignored",
    "permit_not_recorded",
    "release_burns",
    "reply_before_commit",
    "slot_freed_early",
    "tag_ignored",
    "written_behind_a_failure",
];

/// The same in the code of runs.
const DEFECTS_OF_RUNS: [&str; 30] = [
    "blob_not_held",
    "blob_swept_unasked",
    "bulk_run_again",
    "bulk_run_left_out",
    "call_begun_anew",
    "call_goes_on",
    "dead_token_forgotten",
    "ended_twice",
    "first_end_again",
    "frame_closed_early",
    "frames_left_closed",
    "frozen_ignored",
    "held_forgotten",
    "hold_unheard",
    "impatient",
    "join_too_soon",
    "late_hold_counts",
    "let_go_to_the_end",
    "never_looks_back",
    "orphan_works_on",
    "overslept",
    "parts_left",
    "pause_stays_above",
    "paused_run_begins",
    "restart_leaves_one",
    "restart_without_room",
    "run_kept",
    "run_key_unread",
    "value_not_asked_again",
    "waits_forgotten",
];

/// The same in the code of events.
const DEFECTS_OF_EVENTS: [&str; 12] = [
    "cold_event_unread",
    "critical_shed",
    "dedup_ignored",
    "drop_rate_ignored",
    "ended_too_lately",
    "event_key_ignored",
    "family_pause_ignored",
    "max_wait_ignored",
    "older_overwrites",
    "registry_unchecked",
    "single_by_queue",
    "singleton_ignored",
];

const SEEDS: std::ops::RangeInclusive<u64> = 1..=64;
/// Those of worlds with workflows: of every second block.
const SEEDS_OF_RUNS: std::ops::RangeInclusive<u64> = 65..=256;
/// Those of worlds with events.
const SEEDS_OF_EVENTS: std::ops::RangeInclusive<u64> = 129..=192;
const STEPS: usize = 400;
const THREADS: usize = 4;

fn caught(defect: &'static str, mut seeds: impl Iterator<Item = u64>) -> Option<Failure> {
    let (of_runs, of_events) = (DEFECTS_OF_RUNS.contains(&defect), DEFECTS_OF_EVENTS.contains(&defect));
    kernel::defects::activate(defect);
    let options = Options { steps: STEPS, ..Options::default() };
    // The big worlds are slow and see no more of these.
    let fits = |seed: u64| seed % 16 != 5 && sim::has_runs(seed) == of_runs && sim::has_events(seed) == of_events;
    let found = seeds.find_map(|seed| if fits(seed) { sim::run(seed, &options).err() } else { None });
    kernel::defects::activate("");
    found
}

#[test]
fn every_deliberate_defect_is_caught() {
    all_caught(&DEFECTS, SEEDS);
}

#[test]
fn every_deliberate_defect_of_runs_is_caught() {
    all_caught(&DEFECTS_OF_RUNS, SEEDS_OF_RUNS);
}

#[test]
fn every_deliberate_defect_of_events_is_caught() {
    all_caught(&DEFECTS_OF_EVENTS, SEEDS_OF_EVENTS);
}

fn all_caught(defects: &'static [&'static str], seeds: std::ops::RangeInclusive<u64>) {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut missed = Vec::new();
        while let Some(defect) = defects.get(next.fetch_add(1, Ordering::Relaxed)) {
            match caught(defect, seeds.clone()) {
                Some(Failure { seed, step, checker, .. }) => println!("{defect}: {checker} (seed {seed}, step {step})"),
                None => missed.push(*defect),
            }
        }
        missed
    };
    let missed = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a run does not panic")).collect::<Vec<_>>()
    });
    assert_eq!(missed, Vec::<&str>::new(), "not caught over the fixed seeds");
}

/// A hook that nobody switches on proves nothing: what the code can do wrong and what is listed here are the same.
#[test]
fn every_hook_in_the_code_is_listed() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates' folder");
    let mut hooks = Vec::new();
    let mut folders = vec![crates.join("kernel/src"), crates.join("engine/src"), crates.join("store/src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the source is there") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("source is text");
            hooks.extend(text.split("defect(\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
        }
    }
    hooks.sort();
    hooks.dedup();
    let mut listed = [&DEFECTS[..], &DEFECTS_OF_RUNS, &DEFECTS_OF_EVENTS].concat();
    listed.sort_unstable();
    assert_eq!(hooks, listed);
}
