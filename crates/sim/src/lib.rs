//! The simulator: drives the real engine tick over the memory store in virtual time, from a seed. Clients and workers
//! ask at random, the disk, the network and the clock misbehave, and checkers look on after every record and every tick.
//! The same seed is the same run; a failing run is a seed. No I/O, no threads, no clock of its own.
//!
//! `model` and `presence` say what should be, from records and requests alone; `checkers` compare.

mod calm;
mod catalogue;
mod chance;
mod change_client;
mod checkers;
mod client;
mod coverage;
mod driver;
mod event_client;
mod failure;
mod fetches;
mod launcher;
mod ledger;
mod mail;
mod model;
mod people;
mod presence;
mod run;
mod run_client;
mod sweeps;
mod temper;
mod turn;
mod watch;
mod worker;
mod world;

pub use coverage::{Coverage, FAULTS};
pub use failure::Failure;
pub use run::{Options, run};
pub use world::{has_events, has_runs};
