//! The fixed seeds: all must pass, and together they must have met everything there is to meet.

use sim::{Coverage, Failure, Options};

/// The first half are worlds without workflows; every sixteenth, from the fifth on, is a big one.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=128;
const STEPS: usize = 400;
const THREADS: u64 = 4;

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
            (0..THREADS).map(|part| scope.spawn(move || run(SEEDS.filter(|seed| seed % THREADS == part)))).collect();
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
fn the_same_seed_is_the_same_run() {
    let options = Options { steps: 300, ..Options::default() };
    let told = || sim::run(3, &options).map(|coverage| coverage.to_string()).map_err(|failure| failure.to_string());
    assert_eq!(told(), told());
}
