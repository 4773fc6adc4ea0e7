//! Instants on the wire: RFC 3339, UTC, always six digits after the second, so texts sort as the instants do.

use jiff::civil::{DateTime, date};
use jiff::fmt::temporal::{Pieces, PiecesOffset};
use jiff::{SignedDuration, tz::Offset};
use kernel::limits::TIME_US_MAX;
use kernel::time::Time;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use utoipa::ToSchema;

/// An instant, `2026-11-15T08:57:00.250000Z`.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, ToSchema)]
#[schema(value_type = String, format = DateTime, example = "2026-11-15T08:57:00.250000Z")]
pub struct Instant(pub Time);

/// `jiff::Timestamp` ends a day before the year 9999 does, so instants go through the civil calendar instead.
const EPOCH: DateTime = date(1970, 1, 1).at(0, 0, 0, 0);

impl Instant {
    /// Whole milliseconds from here to `later`; negative when it lies before.
    pub fn ms_until(self, later: Instant) -> i64 {
        later.0.us().saturating_sub(self.0.us()) / 1_000
    }
}

impl From<Time> for Instant {
    fn from(time: Time) -> Instant {
        Instant(time)
    }
}

impl From<Instant> for Time {
    fn from(instant: Instant) -> Time {
        instant.0
    }
}

impl FromStr for Instant {
    type Err = String;

    fn from_str(text: &str) -> Result<Instant, String> {
        let wrong = || format!("`{}` is not a time such as 2026-11-15T08:57:00Z", text.chars().take(40).collect::<String>());
        let pieces = Pieces::parse(text).map_err(|_| wrong())?;
        let time = pieces.time().ok_or_else(wrong)?;
        let offset = match pieces.offset() {
            Some(PiecesOffset::Zulu) => Offset::UTC,
            Some(PiecesOffset::Numeric(numeric)) => numeric.offset(),
            _ => return Err(format!("`{text}` names no offset from UTC: end it with Z or +02:00")),
        };
        let local = pieces.date().to_datetime(time).duration_since(EPOCH);
        let us = (local - SignedDuration::from_secs(i64::from(offset.seconds()))).as_micros();
        match i64::try_from(us) {
            Ok(us) if (0..=TIME_US_MAX).contains(&us) => Ok(Instant(Time::from_us(us))),
            _ => Err(format!("`{text}` does not lie between the years 1970 and 9999")),
        }
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The kernel saturates at instants no calendar shows; they are shown as the last one it does.
        let us = self.0.us().clamp(0, TIME_US_MAX);
        write!(f, "{:.6}Z", EPOCH + SignedDuration::from_micros(us))
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Instant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Instant, D::Error> {
        Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_read_and_shown() {
        for (text, us, shown) in [
            ("1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00.000000Z"),
            ("1970-01-01T00:00:00.000001Z", 1, "1970-01-01T00:00:00.000001Z"),
            ("2026-11-15T10:57:00.25+02:00", 1_794_733_020_250_000, "2026-11-15T08:57:00.250000Z"),
            ("2026-11-15t08:57:00z", 1_794_733_020_000_000, "2026-11-15T08:57:00.000000Z"),
            ("9999-12-31T23:59:59.999999Z", TIME_US_MAX, "9999-12-31T23:59:59.999999Z"),
        ] {
            let instant: Instant = text.parse().unwrap();
            assert_eq!((instant.0.us(), instant.to_string().as_str()), (us, shown), "{text}");
            assert_eq!(shown.parse(), Ok(instant));
        }
        assert_eq!(Instant(Time::from_us(i64::MAX)).to_string(), "9999-12-31T23:59:59.999999Z");
    }

    #[test]
    fn what_is_not_an_instant_is_refused() {
        for (text, why) in [
            ("", "is not a time"),
            ("tomorrow", "is not a time"),
            ("2026-11-15", "is not a time"),
            ("2026-13-15T08:57:00Z", "is not a time"),
            ("2026-11-15T08:57:00", "names no offset"),
            ("1969-12-31T23:59:59Z", "1970 and 9999"),
            ("9999-12-31T23:59:59-01:00", "1970 and 9999"),
            ("+010000-01-01T00:00:00Z", "is not a time"),
        ] {
            let error = text.parse::<Instant>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
