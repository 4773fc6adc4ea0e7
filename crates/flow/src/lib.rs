//! Workflow text → checked form. So far its language of expressions (`expr`): CEL, compiled once with every name
//! checked, then evaluated over borrowed JSON within a budget. Pure: no I/O, no clock, no randomness, no async.

pub mod expr;
