//! The simulator: drives the real engine tick over the memory store in virtual time, from a seed. Clients and workers
//! ask at random, the disk, the network and the clock misbehave, and checkers look on after every record and every tick.
//! The same seed is the same run; a failing run is a seed. No I/O, no threads, no clock of its own.
//!
//! `model` and `presence` say what should be, from records and requests alone; `checkers` compare.

mod chance;
pub mod checkers;
mod client;
mod coverage;
mod failure;
mod ledger;
mod mail;
mod model;
mod presence;
mod temper;
mod turn;
mod worker;
mod world;

pub use coverage::{Coverage, FAULTS};
pub use failure::Failure;

/// How a world is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Ticks of the engine.
    pub steps: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { steps: 1_000 }
    }
}

/// Runs one world to its end. What fails is run again up to that step, to tell what led to it.
pub fn run(seed: u64, options: &Options) -> Result<Coverage, Failure> {
    let Err(failure) = world::run(seed, options, false) else { return world::run(seed, options, false).map(|(coverage, _)| coverage) };
    todo!("{failure:?}")
}
