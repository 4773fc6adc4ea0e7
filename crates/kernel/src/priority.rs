//! Priority is a head start in seconds: nothing ticks, and nothing starves, because age wins in the end.

use crate::limits::HEAD_START_S_MAX;
use serde::{Deserialize, Serialize};

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "i32", into = "i32")]
pub struct Priority(i32);

impl Priority {
    pub const CRITICAL: Priority = Priority(3_600);
    pub const HIGH: Priority = Priority(600);
    pub const NORMAL: Priority = Priority(0);
    pub const BACKGROUND: Priority = Priority(-600);

    pub const NAMED: [(&'static str, Priority); 4] = [
        ("critical", Priority::CRITICAL),
        ("high", Priority::HIGH),
        ("normal", Priority::NORMAL),
        ("background", Priority::BACKGROUND),
    ];

    /// A head start in seconds, at most ten years either way.
    pub fn seconds(seconds: i64) -> Option<Priority> {
        (seconds.unsigned_abs() <= HEAD_START_S_MAX as u64).then_some(Priority(seconds as i32))
    }

    /// One of the four names, or a number of seconds.
    pub fn parse(text: &str) -> Option<Priority> {
        let named = Priority::NAMED.iter().find(|(name, _)| *name == text).map(|(_, priority)| *priority);
        named.or_else(|| text.parse().ok().and_then(Priority::seconds))
    }

    pub const fn head_start_s(self) -> i32 {
        self.0
    }

    pub const fn head_start_us(self) -> i64 {
        self.0 as i64 * 1_000_000
    }

    pub fn name(self) -> Option<&'static str> {
        Priority::NAMED.iter().find(|(_, priority)| *priority == self).map(|(name, _)| *name)
    }
}

impl TryFrom<i32> for Priority {
    type Error = String;
    fn try_from(seconds: i32) -> Result<Priority, String> {
        Priority::seconds(i64::from(seconds)).ok_or_else(|| format!("a head start of {seconds} s is more than ten years"))
    }
}

impl From<Priority> for i32 {
    fn from(priority: Priority) -> i32 {
        priority.0
    }
}
