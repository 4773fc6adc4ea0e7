//! Durable rows and records. `store` is the contract, `sqlite` and `memory` keep it, `conformance` proves it, and
//! `verify` folds the history and compares it with the rows. Nothing here decides anything.

pub mod conformance;
#[cfg(test)]
mod decoding;
mod fold;
pub mod memory;
pub mod sqlite;
mod store;
pub mod verify;

pub use store::*;
