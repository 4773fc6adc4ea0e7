//! The fixed seeds: all must pass, and together they must have met everything there is to meet.

use sim::{Coverage, Failure, Options};

/// The first 64 are worlds without workflows, the next with, those from 129 on with events, and those from 449 on with both;
/// every sixteenth, from the fifth on, is a big one. The last one follows a patch over more than one batch.
fn seeds() -> impl Iterator<Item = u64> {
    (1..=256).chain(449..=480).chain([2_901])
}

const STEPS: usize = 400;
const THREADS: u64 = 4;

/// Seeds that once failed, with their steps, beyond those.
const REMEMBERED: [(u64, usize); 10] = [
    (181, 1_000),
    (218, 1_000),
    (655, 800),
    (968, 800),
    (1_008, 800),
    (1_100, 400),
    (2_149, 400),
    (13_028, 800),
    (13_133, 800),
    (20_190, 800),
];

fn run(seeds: impl Iterator<Item = u64>) -> Result<Coverage, Failure> {
    let mut total = Coverage::default();
    for seed in seeds {
        total.merge(&sim::run(seed, &Options { steps: STEPS, ..Options::default() })?);
    }
    Ok(total)
}

#[test]
fn the_fixed_seeds_pass_and_meet_everything() {
    let mut total = Coverage::default();
    std::thread::scope(|scope| {
        let parts: Vec<_> =
            (0..THREADS).map(|part| scope.spawn(move || run(seeds().filter(|seed| seed % THREADS == part)))).collect();
        for part in parts {
            match part.join().expect("a run does not panic") {
                Ok(coverage) => total.merge(&coverage),
                Err(failure) => panic!("{failure}"),
            }
        }
    });
    println!("{total}");
    assert_eq!(total.missing(), Vec::<String>::new(), "never hit over the fixed seeds");
}

#[test]
fn what_once_failed_passes() {
    for (seed, steps) in REMEMBERED {
        if let Err(failure) = sim::run(seed, &Options { steps, ..Options::default() }) {
            panic!("{failure}");
        }
    }
}

#[test]
fn the_same_seed_is_the_same_run() {
    let options = Options { steps: 300, ..Options::default() };
    let told = |seed| sim::run(seed, &options).map(|coverage| coverage.to_string()).map_err(|failure| failure.to_string());
    for seed in [3, 67, 131, 451] {
        assert_eq!(told(seed), told(seed));
    }
}
