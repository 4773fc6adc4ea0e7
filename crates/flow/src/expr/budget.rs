//! What one evaluation, or one template, may cost: steps and built bytes, both counted down. No clock is read, so the
//! same expression over the same values always spends the same.

use super::error::Stop;
use super::limits::*;

#[derive(Clone, Debug)]
pub struct Budget {
    cost_max: u64,
    cost_spent: u64,
    built_bytes_max: u64,
    built_bytes: u64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget::new(COST_MAX, BUILT_BYTES_MAX)
    }
}

impl Budget {
    pub const fn new(cost_max: u64, built_bytes_max: u64) -> Budget {
        Budget { cost_max, cost_spent: 0, built_bytes_max, built_bytes: 0 }
    }

    /// Units spent so far: never more than the maximum, however dear the step that was refused.
    pub const fn cost_spent(&self) -> u64 {
        self.cost_spent
    }

    pub const fn built_bytes(&self) -> u64 {
        self.built_bytes
    }

    /// Pays before the work is done: a step that is too dear never starts.
    pub(crate) fn pay(&mut self, units: u64) -> Result<(), Box<Stop<'static>>> {
        let spent = self.cost_spent.saturating_add(units);
        if spent > self.cost_max {
            self.cost_spent = self.cost_max;
            return Err(too_costly(format!("it costs more than {} steps", self.cost_max)));
        }
        self.cost_spent = spent;
        Ok(())
    }

    /// Looking at so many bytes of text.
    pub(crate) fn read_text(&mut self, bytes: usize) -> Result<(), Box<Stop<'static>>> {
        self.pay((bytes / BYTES_PER_UNIT) as u64)
    }

    pub(crate) fn build(&mut self, bytes: usize) -> Result<(), Box<Stop<'static>>> {
        let built = self.built_bytes.saturating_add(bytes as u64);
        if built > self.built_bytes_max {
            self.built_bytes = self.built_bytes_max;
            return Err(too_costly(format!("it builds more than {} bytes of values", self.built_bytes_max)));
        }
        self.built_bytes = built;
        Ok(())
    }

    pub(crate) fn build_text(&mut self, bytes: usize) -> Result<(), Box<Stop<'static>>> {
        self.read_text(bytes)?;
        self.build(bytes + ELEMENT_BYTES)
    }

    pub(crate) fn build_list(&mut self, elements: usize) -> Result<(), Box<Stop<'static>>> {
        self.pay(elements as u64)?;
        self.build((elements + 1) * ELEMENT_BYTES)
    }
}

fn too_costly(message: String) -> Box<Stop<'static>> {
    Box::new(Stop { message, offset: 0, too_costly: true, variables: Vec::new(), missing: None })
}
