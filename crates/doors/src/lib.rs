//! The front doors: what comes in is checked and becomes a command, what goes out becomes JSON. Nothing is decided here.

#![allow(clippy::result_large_err, reason = "a refusal is rare, and goes over the network")]

pub mod http;
pub mod input;
pub mod webhooks;
pub mod wire;
