//! The proof: random workflows run by the kernel, in random orders, with restarts, come to what the reference says.
//!
//! `cargo test -p flow --test runs` goes through the default seeds; `SEEDS=5000` through more, `SEED=77` through one, and
//! prints it.

mod chance;
mod changes;
mod corner_cases;
mod expression;
mod generate;
mod house;
mod outcomes;
mod properties;
mod reference;
