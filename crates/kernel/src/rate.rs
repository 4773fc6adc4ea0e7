//! Rates by the generic cell rate algorithm: one instant per key says it all. Any window T starts at most
//! `burst + rate·T`, and the next permit's instant is known exactly.

use crate::limits::*;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// `count` permits per `per_ms`, at most `burst` at once.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    pub count: u32,
    pub per_ms: u64,
    #[serde(default = "one")]
    pub burst: u32,
}

fn one() -> u32 {
    1
}

impl Rate {
    pub fn check(&self) -> Result<(), String> {
        if self.count == 0 || self.count > RATE_COUNT_MAX {
            return Err(format!("rate.count must lie between 1 and {RATE_COUNT_MAX}"));
        }
        if self.per_ms == 0 || self.per_ms > RATE_PER_MS_MAX {
            return Err(format!("rate.per_ms must lie between 1 and {RATE_PER_MS_MAX}"));
        }
        if self.burst == 0 || self.burst > RATE_BURST_MAX {
            return Err(format!("rate.burst must lie between 1 and {RATE_BURST_MAX}"));
        }
        if self.interval_us().checked_mul(i64::from(self.burst)).is_none_or(|us| us > RATE_BURST_US_MAX) {
            let years = RATE_BURST_US_MAX / (366 * 24 * 3_600 * 1_000_000);
            return Err(format!("at this rate a burst of {} would be paid back only after more than {years} years", self.burst));
        }
        Ok(())
    }

    /// Microseconds between permits, rounded up so that the promise is never exceeded.
    fn interval_us(&self) -> i64 {
        (self.per_ms * 1_000).div_ceil(u64::from(self.count)) as i64
    }

    fn tolerance_us(&self) -> i64 {
        self.interval_us().saturating_mul(i64::from(self.burst) - 1)
    }

    /// The instant at which the next permit may be taken, given the key's arrival time.
    pub fn next_at(&self, arrival: Time) -> Time {
        arrival.plus_us(-self.tolerance_us())
    }

    pub fn permits_at(&self, arrival: Time, now: Time) -> u32 {
        let spare = now.us().saturating_sub(self.next_at(arrival).us());
        if spare < 0 {
            return 0;
        }
        let permits = 1 + spare / self.interval_us();
        permits.min(i64::from(self.burst)) as u32
    }

    /// No key can have a later arrival time now: its whole burst is spent.
    pub(crate) fn arrival_max(&self, now: Time) -> Time {
        now.plus_us(self.interval_us().saturating_mul(i64::from(self.burst)))
    }

    /// The key's arrival time after one permit was taken now.
    pub fn take(&self, arrival: Time, now: Time) -> Time {
        arrival.max(now).plus_us(self.interval_us())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_window_starts_more_than_it_may(
            count in 1u32..50, per_ms in 1u64..5_000, burst in 1u32..20,
            gaps in proptest::collection::vec(0i64..2_000_000, 1..200),
        ) {
            let rate = Rate { count, per_ms, burst };
            let (mut now, mut arrival, mut starts) = (Time::from_ms(1_000_000), Time::ZERO, Vec::new());
            for gap in gaps {
                now = now.plus_us(gap);
                while rate.permits_at(arrival, now) > 0 {
                    arrival = rate.take(arrival, now);
                    starts.push(now.us());
                }
                // The promised instant is exact: not a microsecond earlier, and then for sure.
                let next = rate.next_at(arrival);
                prop_assert_eq!(rate.permits_at(arrival, next.plus_us(-1)), 0);
                prop_assert!(rate.permits_at(arrival, next) >= 1);
            }
            for (i, from) in starts.iter().enumerate() {
                for (j, to) in starts.iter().enumerate().skip(i) {
                    let window_us = (to - from) as f64;
                    let allowed = f64::from(burst) + window_us * f64::from(count) / (per_ms as f64 * 1_000.0);
                    prop_assert!((j - i + 1) as f64 <= allowed + 1e-6);
                }
            }
        }
    }
}
