//! x
pub mod scribe;
