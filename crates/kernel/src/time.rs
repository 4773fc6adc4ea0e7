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

/// About how long, as people say it, rounded: `420 ms`, `3.2 s`, `5 min`, `2 h 5 min`, `3 d`.
pub fn span(ms: u64) -> String {
    let rounded = |unit_ms: u64| (ms.saturating_add(unit_ms / 2)) / unit_ms;
    let (tenths, seconds, minutes, hours, days) =
        (rounded(100), rounded(1_000), rounded(60_000), rounded(3_600_000), rounded(86_400_000));
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..9_950 => format!("{}.{} s", tenths / 10, tenths % 10),
        9_950..59_500 => format!("{seconds} s"),
        59_500..3_570_000 => format!("{minutes} min"),
        3_570_000..36_000_000 if minutes % 60 > 0 => format!("{} h {} min", minutes / 60, minutes % 60),
        3_570_000..84_600_000 => format!("{hours} h"),
        _ => format!("{days} d"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_read_as_people_say_them() {
        for (ms, text) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (3_250, "3.3 s"),
            (59_999, "1 min"),
            (60_000, "1 min"),
            (3_599_999, "1 h"),
            (3_660_000, "1 h 1 min"),
            (172_799_999, "2 d"),
            (259_200_000, "3 d"),
        ] {
            assert_eq!(span(ms), text);
        }
    }
}
