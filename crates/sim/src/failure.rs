//! A run that failed: where, by whose judgement, what led to it, and the one command that shows it again.

use std::fmt;

#[derive(Clone, Debug)]
pub struct Failure {
    pub seed: u64,
    pub step: usize,
    /// How many steps the run was to have: part of what makes it the same run.
    pub steps: usize,
    pub checker: &'static str,
    pub why: String,
    /// The last events before it, oldest first.
    pub events: Vec<String>,
}

impl Failure {
    pub fn command(&self) -> String {
        format!("cargo run --release -p sim --example sim -- --seed {} --steps {}", self.seed, self.steps)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {} failed at step {}: {}", self.seed, self.step, self.checker)?;
        writeln!(f, "  {}", self.why)?;
        writeln!(f, "what led to it:")?;
        for event in &self.events {
            writeln!(f, "  {event}")?;
        }
        write!(f, "see it again: {}", self.command())
    }
}
