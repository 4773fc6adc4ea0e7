//! Runs that are patched, restarted and told what nodes give, at random moments and with restarts of the engine between, come to
//! what the reference says of the last text, with the same outcomes.

use crate::chance::Chance;
use crate::generate::{Made, generate};
use crate::house::{House, Ways};
use crate::outcomes::Outcomes;
use crate::properties::{compare, compiled};
use crate::reference::{Expected, Seen, Texts, expect_of};
use kernel::run::RunStatus;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

const SEEDS_DEFAULT: u64 = 300;

#[derive(Default)]
struct Sum {
    occurred: BTreeSet<String>,
    runs: usize,
    vague: usize,
    done: usize,
    replayed: usize,
}

/// What the run should have come to, by the texts it followed and what was said of its nodes.
fn expected(house: &House<'_>, made: &Made) -> Result<Expected, crate::reference::Vague> {
    let texts = Texts { texts: house.texts.clone(), own: house.own, frames: house.ledger.frames.clone() };
    let set = house.ledger.set.iter().map(|(instance, at)| (instance.clone(), house.output(*at))).collect();
    let outcomes = Outcomes { set, ..made.outcomes.clone() };
    expect_of(&made.workflows, &texts, &outcomes, "w0", &made.input)
}

fn run(seed: u64, made: &Made, sum: &mut Sum) {
    let irs = compiled(&made.workflows);
    let mut chance = Chance::new(seed ^ 0xc4a9);
    for apart in [false, true] {
        let ways = Ways {
            apart,
            missing_percent: [0, 10, 60][chance.below(3)],
            dearer: [1, 1_000][chance.below(2)],
            restart_percent: [0, 3, 25][chance.below(3)],
            pause_percent: [0, 0, 3][chance.below(3)],
            cancel_after: None,
            deadline_ms: None,
            change_percent: [6, 20, 40][chance.below(3)],
        };
        let mut house = House::new(&irs, &made.outcomes, None, ways, chance.next());
        house.start("w0", &made.input);
        house.live();
        // It is over; and then it is not.
        for _ in 0..chance.below(3) {
            house.change();
            house.live();
        }
        // Another goes on from how it was, and comes to the same.
        if chance.percent(60) && house.fork() {
            house.live();
        }
        sum.replayed += house.replays();
        sum.runs += 1;
        sum.done += usize::from(house.result().0 == RunStatus::Done);
        match expected(&house, made) {
            Err(_) => sum.vague += 1,
            Ok(expected) => {
                house.ledger.forget_below_set();
                compare(&house, &expected, false, None);
                inputs(&house, &expected);
            }
        }
        sum.occurred.append(&mut house.ledger.occurred);
        // The other one is there as well.
        if !house.forked {
            house.delete();
        }
    }
}

/// Workers were given what the texts say.
fn inputs(house: &House<'_>, expected: &Expected) {
    for (instance, given) in &house.inputs {
        // What was undone may have been another's, or never came about again.
        if !house.ledger.nodes.contains_key(instance) || house.ledger.set.contains_key(instance) {
            continue;
        }
        if let Some(Some(Seen::Value(wanted))) = expected.inputs.get(instance) {
            assert_eq!(given.as_ref(), Some(wanted), "the input of {instance}");
        }
    }
}

fn try_seed(seed: u64, sum: &mut Sum) -> bool {
    let made = generate(seed);
    let well = catch_unwind(AssertUnwindSafe(|| run(seed, &made, sum))).is_ok();
    if !well {
        crate::properties::show(seed, &made);
    }
    well
}

#[test]
fn runs_that_are_changed_come_to_what_their_last_text_says() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let mut sum = Sum::default();
    if let Some(seed) = number("SEED") {
        assert!(try_seed(seed, &mut sum), "seed {seed} fails");
        return;
    }
    let (first, seeds) = (number("FROM").unwrap_or(0), number("SEEDS").unwrap_or(SEEDS_DEFAULT));
    for seed in first..first + seeds {
        assert!(try_seed(seed, &mut sum), "seed {seed} fails: SEED={seed} runs it alone");
    }
    let Sum { occurred, runs, vague, done, replayed } = sum;
    println!("{runs} runs, {done} done, {vague} vague; {replayed} moments replayed");
    if seeds >= SEEDS_DEFAULT {
        let wanted = "patch adds, patch adds inside, patch adds again, misnamed, patch changes, patch changes inside, patch removes, patch removes inside, \
            patch output, patch entry, patch frozen, patch dry, patch conflict, patch of what was over, restart, restart inside, restart under way, restart of one alone, \
            restart of what was over, fork from a record, fork from a node, fork from inside, fork changed, fork frozen, skip, run_patched, run_restarted, frame_patched, node_reset, node_rewound, node_set, \
            undone, kind loop, kind each, kind workflow";
        let missing: Vec<&str> = wanted.split(", ").map(str::trim).filter(|wanted| !occurred.contains(*wanted)).collect();
        assert!(missing.is_empty(), "never occurred: {missing:?}");
        assert!(vague * 4 < runs, "{vague} of {runs} hang on the order of things");
    }
}
