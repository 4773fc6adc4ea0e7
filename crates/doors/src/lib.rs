//! The front doors: what comes in is checked and becomes a command, what goes out becomes JSON. Nothing is decided here.

pub mod definition;
pub mod http;
pub mod input;
pub mod wire;
