//! A run as it was: which moment is asked for, and how that is shown.

use super::{Cursor, Instant, Problem, RecordView, RunExplanation, RunView};
use kernel::ids::RecordSeq;
use kernel::time::Time;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Which moment of a run to show.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct ReplayQuery {
    /// A record, as `r1042` or `1042`; an instant, `2026-11-15T08:57:00Z` or `1794733020250ms` since 1970; `start`, or `end`, which
    /// it is when left out. What is shown is the run after the last of its records up to there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// How many of its nodes to show: 100 when left out, at most 1000. What runs, waits or failed comes before the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// With what those nodes had given.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub output: bool,
}

/// A moment, as it is asked for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Moment {
    Start,
    End,
    Record(RecordSeq),
    Time(Time),
}

impl Moment {
    pub fn parse(text: &str) -> Result<Moment, Problem> {
        let shown = || text.chars().take(40).collect::<String>();
        let wrong = || {
            let message = format!("`{}` is not a moment of a run", shown());
            Problem::new("invalid", message, "give a record such as r1042, an instant such as 2026-11-15T08:57:00Z, start or end")
        };
        let unread = |why: String| Problem::new("invalid", why, "give the day and the offset, too, as 2026-11-15T08:57:00Z");
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let record = text.strip_prefix('r').unwrap_or(text);
        match text {
            "start" => Ok(Moment::Start),
            "end" => Ok(Moment::End),
            // However large: there is none after it.
            _ if digits(record) => Ok(Moment::Record(RecordSeq(record.parse().unwrap_or(u64::MAX)))),
            _ => match text.strip_suffix("ms").filter(|ms| digits(ms)) {
                Some(ms) => Ok(Moment::Time(Time::from_ms(ms.parse().map_err(|_| wrong())?))),
                None if text.contains(':') => text.parse::<Instant>().map(|at| Moment::Time(at.0)).map_err(unread),
                None => Err(wrong()),
            },
        }
    }
}

/// A run as it was after one of its records. Nothing can be changed there.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RunReplay {
    /// The run as it was shown then.
    pub run: RunView,
    /// The last of its records by then.
    pub record: RecordView,
    /// The instant it is seen from: the record's, or the one that was asked for.
    pub time: Instant,
    /// How what was asked for is to be understood, where it is not that record itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The record before it, of the same run; null at the first.
    pub before: Option<Cursor>,
    /// The one after it; null at the last.
    pub after: Option<Cursor>,
    pub first: RecordStamp,
    pub last: RecordStamp,
    /// Which of its records it is, from 1.
    pub place: u64,
    /// How many it has, those of its turns, items, nodes and tasks included.
    pub records: u64,
    /// Tokens that had been given and that the node they lead to had not taken in.
    pub tokens: Vec<TokenView>,
    /// Those of ways that were not taken, or failed.
    pub dead_tokens: u64,
    /// Tokens beyond those.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub more_tokens: u64,
    /// The turns and items that were open, such as `rounds[1]`.
    pub frames: Vec<String>,
    /// Turns and items beyond those.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub more_frames: u64,
    /// What it waited for, as far as its own history tells.
    pub explanation: RunExplanation,
    /// Values that are not there any more, or cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Unread>,
    /// Where the history ends short.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<LostHistory>,
}

/// A record by its number and when it was written.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct RecordStamp {
    pub seq: Cursor,
    pub at: Instant,
}

/// What lies on the way from one node to another.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct TokenView {
    /// The node that gave it, such as `rounds[1]/pay`.
    pub from: String,
    /// The one that has yet to take it in.
    pub to: String,
}

/// A value that cannot be shown.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Unread {
    /// `input`, `output`, or the node it is of.
    pub of: String,
    pub sentence: String,
}

/// A part of the history that is not whole.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct LostHistory {
    /// Whose, as records say it; empty where that cannot be read either.
    pub owner: String,
    pub sentence: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read() {
        for (text, moment) in [
            ("start", Moment::Start),
            ("end", Moment::End),
            ("17", Moment::Record(RecordSeq(17))),
            ("r17", Moment::Record(RecordSeq(17))),
            ("0", Moment::Record(RecordSeq(0))),
            ("99999999999999999999999", Moment::Record(RecordSeq(u64::MAX))),
            ("1500ms", Moment::Time(Time::from_ms(1_500))),
            ("1970-01-01T00:00:01.5Z", Moment::Time(Time::from_ms(1_500))),
        ] {
            assert_eq!(Moment::parse(text), Ok(moment), "{text}");
        }
        for (text, part) in [
            ("", "is not a moment"),
            ("yesterday", "is not a moment"),
            ("-5", "is not a moment"),
            ("r", "is not a moment"),
            ("rr5", "is not a moment"),
            ("ms", "is not a moment"),
            ("99999999999999999999ms", "is not a moment"),
            ("2026-11-15T08:57:00", "names no offset"),
            ("25:61", "is not a time"),
        ] {
            let problem = Moment::parse(text).unwrap_err();
            assert!(problem.message.contains(part), "{text}: {}", problem.message);
        }
    }
}
