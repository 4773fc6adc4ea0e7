//! The kernel's time: it advances by the boot-time clock, which counts through suspends and ignores whoever sets the
//! wall clock, and it slews towards the wall clock. It never stands still and never goes back.

use kernel::time::Time;

pub struct Clock {
    now: Time,
    boot_us: i64,
}

impl Clock {
    /// Starts at the wall clock, or at the last recorded instant if that lies ahead.
    pub fn start(last_recorded: Time) -> Clock {
        Clock { now: wall().max(last_recorded), boot_us: boot_us() }
    }

    pub fn now(&mut self) -> Time {
        let boot_us = boot_us();
        self.now = advance(self.now, boot_us - self.boot_us, wall());
        self.boot_us = boot_us;
        self.now
    }
}

/// Half the elapsed time, at most, goes into closing the gap to the wall clock.
fn advance(now: Time, elapsed_us: i64, wall: Time) -> Time {
    let elapsed_us = elapsed_us.max(0);
    let gap_us = wall.us() - now.plus_us(elapsed_us).us();
    now.plus_us(elapsed_us + gap_us.clamp(-elapsed_us / 2, elapsed_us / 2))
}

pub fn wall() -> Time {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Time::from_us(i64::try_from(since.as_micros()).unwrap_or(0))
}

#[cfg(target_os = "linux")]
fn boot_us() -> i64 {
    let at = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    at.tv_sec * 1_000_000 + at.tv_nsec / 1_000
}

#[cfg(not(target_os = "linux"))]
fn boot_us() -> i64 {
    use std::sync::LazyLock;
    use std::time::Instant;
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_micros() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_follows_the_wall_without_jumping_and_never_goes_back() {
        let second = 1_000_000;
        for (now, elapsed, wall, expected) in [
            (10, 1, 11, 11),     // in step
            (10, 2, 100, 13),    // the wall jumped ahead: half as fast again
            (10, 2, 0, 11),      // the wall was set back: half as fast
            (10, -5, 10, 10),    // a clock that goes back is not believed
            (10, 600, 610, 610), // a suspend counts in full
        ] {
            let at = |s: i64| Time::from_us(s * second);
            assert_eq!(advance(at(now), elapsed * second, at(wall)), at(expected), "{now} {elapsed} {wall}");
        }
    }
}
