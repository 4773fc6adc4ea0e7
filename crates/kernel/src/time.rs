//! Instants and ids of the kernel: plain numbers that the shell hands in. Nothing here asks a clock.

use serde::{Deserialize, Serialize};

/// An instant in microseconds since the Unix epoch.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(i64);

impl Time {
    pub const ZERO: Time = Time(0);

    pub const fn from_us(us: i64) -> Time {
        Time(us)
    }

    pub const fn from_ms(ms: i64) -> Time {
        Time(ms.saturating_mul(1_000))
    }

    pub const fn us(self) -> i64 {
        self.0
    }

    pub const fn plus_ms(self, ms: u64) -> Time {
        let us = if ms > i64::MAX as u64 / 1_000 { i64::MAX } else { ms as i64 * 1_000 };
        Time(self.0.saturating_add(us))
    }

    pub const fn plus_us(self, us: i64) -> Time {
        Time(self.0.saturating_add(us))
    }

    /// Whole milliseconds from `earlier` to here, rounded up; 0 when it lies ahead.
    pub const fn ms_since(self, earlier: Time) -> u64 {
        let us = self.0.saturating_sub(earlier.0);
        if us <= 0 { 0 } else { (us as u64).div_ceil(1_000) }
    }
}
