//! Runs the simulator for as long as one likes:
//! `cargo run --release -p sim --example sim -- [--seed N] [--minutes M] [--steps K] [--from N] [--count N] [--events N]
//! [--defect NAME]`.

use sim::{Coverage, Options};
use std::hash::{BuildHasher, RandomState};
use std::process::ExitCode;
use std::time::{Duration, Instant};

struct Arguments {
    seed: Option<u64>,
    from: u64,
    count: u64,
    minutes: f64,
    options: Options,
}

fn arguments() -> Result<Arguments, String> {
    // Fresh seeds unless told where to begin, few enough digits to read aloud.
    let from = RandomState::new().hash_one(0) % 1_000_000_000_000;
    let mut found = Arguments { seed: None, from, count: u64::MAX, minutes: 1.0, options: Options::default() };
    let mut given = std::env::args().skip(1);
    while let Some(flag) = given.next() {
        let value = given.next().ok_or_else(|| format!("{flag} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|error| format!("{flag} {value}: {error}"));
        match flag.as_str() {
            "--seed" => found.seed = Some(number()?),
            "--from" => found.from = number()?,
            "--count" => (found.count, found.minutes) = (number()?, f64::INFINITY),
            "--minutes" => found.minutes = value.parse().map_err(|error| format!("{flag} {value}: {error}"))?,
            "--steps" => found.options.steps = number()? as usize,
            "--events" => found.options.events_max = number()? as usize,
            "--defect" => kernel::defects::activate(Box::leak(value.into_boxed_str())),
            _ => return Err(format!("{flag} is none of --seed, --from, --count, --minutes, --steps, --events, --defect")),
        }
    }
    Ok(found)
}

fn main() -> ExitCode {
    let Arguments { seed, from, count, minutes, options } = match arguments() {
        Ok(arguments) => arguments,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
    };
    let started = Instant::now();
    let mut total = Coverage::default();
    let seeds = seed.map_or(from..from.saturating_add(count), |seed| seed..seed + 1);
    let mut told = Instant::now();
    let mut runs = 0;
    for seed in seeds {
        match sim::run(seed, &options) {
            Ok(coverage) => total.merge(&coverage),
            Err(failure) => {
                eprintln!("\n{failure}");
                return ExitCode::FAILURE;
            }
        }
        runs += 1;
        if told.elapsed() > Duration::from_millis(500) {
            eprint!("\r{runs} seeds, {} ticks, {} s, all well ", total.ticks, started.elapsed().as_secs());
            told = Instant::now();
        }
        if started.elapsed().as_secs_f64() > minutes * 60.0 {
            break;
        }
    }
    eprintln!("\r{runs} seeds, {} ticks, {:.1} s, all well ", total.ticks, started.elapsed().as_secs_f64());
    println!("{total}");
    for missing in total.missing() {
        println!("never hit: {missing}");
    }
    ExitCode::SUCCESS
}
