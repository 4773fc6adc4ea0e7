//! When a failed attempt is tried again. Chance comes in as an argument.

use crate::limits::*;
use crate::time::Time;
use serde::{Deserialize, Serialize};

#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetryPolicy {
    /// Attempts in all, the first included.
    pub attempts: u16,
    /// Wait after the first failure; it doubles after each further one.
    pub backoff_ms: u64,
    pub backoff_max_ms: u64,
    /// How much of the wait, in percent, chance may add.
    pub jitter_percent: u8,
}

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        RetryPolicy { attempts: 3, backoff_ms: 1_000, backoff_max_ms: 3_600_000, jitter_percent: 10 }
    }
}

impl RetryPolicy {
    pub fn check(&self) -> Result<(), String> {
        if self.attempts == 0 || self.attempts > ATTEMPTS_MAX {
            return Err(format!("retry.attempts must lie between 1 and {ATTEMPTS_MAX}"));
        }
        if self.backoff_ms > BACKOFF_MS_MAX || self.backoff_max_ms > BACKOFF_MS_MAX {
            return Err(format!("retry.backoff_ms and retry.backoff_max_ms may be at most {BACKOFF_MS_MAX}"));
        }
        if self.jitter_percent > 100 {
            return Err("retry.jitter_percent may be at most 100".into());
        }
        Ok(())
    }

    /// `attempt` counts from 1; `jitter` is handed in, spread evenly over its range.
    pub fn retry_at(&self, failed_at: Time, attempt: u16, jitter: u32) -> Time {
        let doublings = u32::from(attempt.saturating_sub(1)).min(BACKOFF_DOUBLINGS_MAX);
        let wait_ms = self.backoff_ms.saturating_mul(1 << doublings).min(self.backoff_max_ms);
        let spread_us = u128::from(wait_ms) * 1_000 * u128::from(self.jitter_percent) / 100;
        let extra_us = spread_us * u128::from(jitter) / u128::from(u32::MAX);
        failed_at.plus_ms(wait_ms).plus_us(extra_us as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_its_bound_and_jitter_only_adds() {
        let policy = RetryPolicy { attempts: 9, backoff_ms: 100, backoff_max_ms: 1_000, jitter_percent: 50 };
        let at = Time::from_ms(0);
        for (attempt, jitter, ms) in
            [(1, 0, 100), (2, 0, 200), (4, 0, 800), (5, 0, 1_000), (1_000, 0, 1_000), (1, u32::MAX, 150), (9, u32::MAX, 1_500)]
        {
            assert_eq!(policy.retry_at(at, attempt, jitter), Time::from_ms(ms), "attempt {attempt}");
        }
    }
}
