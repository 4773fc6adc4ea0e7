//! Statistics: what became of the work of a while, and how things stand.

use super::{Counts, Instant, Problem};
use kernel::histogram::Histogram;
use kernel::ids::TaskId;
use kernel::names::QueueName;
use kernel::rollup::Rollup;
use kernel::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::{IntoParams, ToSchema};

/// How far back statistics look when nobody says.
pub const STATS_FOR_MS_DEFAULT: u64 = 3_600_000;
pub const TARGET_P95_MS_DEFAULT: u64 = 5_000;
const FAILURES_DEFAULT: u32 = 10;
const FAILURES_MAX: u32 = 100;

/// What to count.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct StatsQuery {
    /// From when on: an instant, or milliseconds since 1970. Where very much happened in the minute that this lies in, it is from
    /// the beginning of that; `window.from` says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(example = "2026-11-15T08:57:00Z")]
    pub since: Option<String>,
    /// Instead of `since`: how far back; an hour when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub queue: Option<QueueName>,
    /// One family, or those that a pattern such as `github/*` covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// What 95 of 100 waits should not exceed; 5000 when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_p95_ms: Option<u64>,
    /// How many of the last failures to tell; 10 when left out, at most 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<u32>,
}

impl StatsQuery {
    pub fn from(&self, now: Time) -> Result<Time, Problem> {
        let text = match (&self.since, self.for_ms) {
            (Some(_), Some(_)) => return Err(Problem::invalid("since and for_ms exclude each other: give one of them")),
            (None, Some(0)) => return Err(Problem::invalid("for_ms must be at least 1")),
            (None, for_ms) => {
                let us = for_ms.unwrap_or(STATS_FOR_MS_DEFAULT).saturating_mul(1_000);
                return Ok(Time::from_us(now.us().saturating_sub(i64::try_from(us).unwrap_or(i64::MAX)).max(0)));
            }
            (Some(text), None) => text,
        };
        let from = match text.parse::<u64>() {
            Ok(ms) => Time::from_ms(i64::try_from(ms).unwrap_or(i64::MAX)),
            Err(_) => text.parse::<Instant>().map_err(|why| Problem::invalid(format!("since: {why}")))?.0,
        };
        match from <= now {
            true => Ok(from),
            false => Err(Problem::invalid(format!("since: {} lies ahead; give an instant in the past", Instant(from)))),
        }
    }

    pub fn failures(&self) -> Result<usize, Problem> {
        match self.failures.unwrap_or(FAILURES_DEFAULT) {
            count @ 0..=FAILURES_MAX => Ok(count as usize),
            _ => Err(Problem::invalid(format!("failures must lie between 0 and {FAILURES_MAX}"))),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Stats {
    pub window: StatsWindow,
    /// How it is now.
    pub current_depth: Counts,
    #[serde(flatten)]
    pub figures: Figures,
    /// The same of each family, those with the most dispatches first.
    pub families: Vec<FamilyStats>,
    /// Families that are not among them.
    #[serde(default)]
    pub families_left: u64,
    /// Newest first.
    pub recent_failures: Vec<FailureView>,
    /// What may be a mistake: there is nothing of that family, but of some below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What was looked at: minutes, of each queue and family one roll-up.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct StatsWindow {
    pub from: Instant,
    pub to: Instant,
    /// Roll-ups in this window.
    pub found: u64,
    /// Those that were read; the newest, if not all.
    pub sampled: u64,
    /// Something in this window is not counted.
    pub truncated: bool,
    /// What is not, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated_why: Option<String>,
}

/// Figures of a while. A dispatch is one attempt.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Figures {
    pub dispatches: Dispatches,
    /// From ready to handed to a worker.
    pub queue_latency_ms: Latency,
    /// From handed to a worker to its outcome.
    pub dispatch_duration_ms: Durations,
    pub promotions: Promotions,
    pub tasks: TaskFigures,
    /// Events that did not become work, by what became of them at a handler: `debounced` (another took its place), `duplicate`,
    /// `skipped`, `rate_dropped`, `backlog_dropped`, `failed`, `shadow`; and, of no queue, `unhandled`, and `heard`: no handler
    /// took it, and a run that waited for it did.
    #[serde(default)]
    pub events: BTreeMap<String, u64>,
}

#[derive(Copy, Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Dispatches {
    pub started: u64,
    pub completed: u64,
    /// Attempts that failed, whether another followed or not.
    pub failed: u64,
    /// Handed back unburnt.
    pub released: u64,
    /// Completed of those that completed or failed, from 0 to 1; null when there is none.
    pub success_rate: Option<f64>,
}

#[derive(Copy, Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Latency {
    pub p50: Option<u64>,
    pub p95: Option<u64>,
    pub max: Option<u64>,
    pub target_p95_ms: u64,
    /// Null when nothing was handed out.
    pub within_target: Option<bool>,
}

#[derive(Copy, Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Durations {
    pub p50: Option<u64>,
    pub p95: Option<u64>,
    pub max: Option<u64>,
}

/// What ran ahead of its turn, by why.
#[derive(Copy, Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Promotions {
    pub total: u64,
    pub run_now: u64,
    /// Its queue was drained.
    pub expedited: u64,
    /// Its priority was raised.
    pub raised: u64,
    /// Boosts of a queue or a key.
    pub boosts: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct TaskFigures {
    pub added: u64,
    /// Put into their queue after they were added: again, or for the first time.
    pub queued: u64,
    /// Attempts that were followed by another.
    pub retried: u64,
    /// Failed for good.
    pub failed: u64,
    /// By cause.
    pub cancelled: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct FamilyStats {
    pub family: String,
    #[serde(flatten)]
    pub figures: Figures,
}

/// An attempt that failed.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct FailureView {
    #[schema(value_type = String)]
    pub task: TaskId,
    #[schema(value_type = String)]
    pub queue: QueueName,
    pub family: String,
    pub code: String,
    pub message: String,
    pub at: Instant,
    /// No other attempt follows by itself.
    #[serde(rename = "final")]
    pub is_final: bool,
}

impl Figures {
    pub fn new(sum: &Rollup, target_p95_ms: u64) -> Figures {
        let ms = |us: Option<u64>| us.map(|us| us.div_ceil(1_000));
        let spread = |lengths: &Histogram| Durations {
            p50: ms(lengths.quantile(50)),
            p95: ms(lengths.quantile(95)),
            max: ms(lengths.max()),
        };
        let Durations { p50, p95, max } = spread(&sum.wait);
        let failed = sum.retried + sum.failed;
        let ended = sum.completed + failed;
        let promotions = &sum.promotions;
        Figures {
            dispatches: Dispatches {
                started: sum.started,
                completed: sum.completed,
                failed,
                released: sum.released,
                success_rate: (ended > 0).then(|| (sum.completed as f64 / ended as f64 * 10_000.0).round() / 10_000.0),
            },
            queue_latency_ms: Latency { p50, p95, max, target_p95_ms, within_target: p95.map(|p95| p95 <= target_p95_ms) },
            dispatch_duration_ms: spread(&sum.duration),
            promotions: Promotions {
                total: promotions.total(),
                run_now: promotions.run_now,
                expedited: promotions.expedited,
                raised: promotions.raised,
                boosts: promotions.boosts,
            },
            tasks: TaskFigures {
                added: sum.added,
                queued: sum.queued,
                retried: sum.retried,
                failed: sum.failed,
                cancelled: sum.cancelled.clone(),
            },
            events: sum.outcomes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_is_an_instant_a_number_or_a_while_ago() {
        let now = Time::from_ms(10_000_000);
        let query = |since: Option<&str>, for_ms| StatsQuery { since: since.map(str::to_owned), for_ms, ..StatsQuery::default() };
        for (query, expected) in [
            (query(None, None), Ok(6_400_000)),
            (query(None, Some(1_000)), Ok(9_999_000)),
            (query(None, Some(u64::MAX)), Ok(0)),
            (query(Some("1234"), None), Ok(1_234)),
            (query(Some("1970-01-01T00:01:00Z"), None), Ok(60_000)),
            (query(None, Some(0)), Err("at least 1")),
            (query(Some("1"), Some(1)), Err("exclude each other")),
            (query(Some("yesterday"), None), Err("is not a time")),
            (query(Some(""), None), Err("is not a time")),
            (query(Some("10000001"), None), Err("lies ahead")),
            (query(Some("18446744073709551615"), None), Err("lies ahead")),
        ] {
            match (query.from(now), expected) {
                (Ok(from), Ok(ms)) => assert_eq!(from, Time::from_ms(ms), "{query:?}"),
                (Err(problem), Err(part)) => assert!(problem.message.contains(part), "{}", problem.message),
                (found, _) => panic!("{query:?}: {found:?}"),
            }
        }
    }

    #[test]
    fn figures_of_nothing_claim_nothing() {
        let nothing = serde_json::to_value(Figures::new(&Rollup::default(), 5)).unwrap();
        assert_eq!(nothing["dispatches"]["success_rate"], serde_json::Value::Null);
        assert_eq!(nothing["queue_latency_ms"]["within_target"], serde_json::Value::Null);
        let mut some = Rollup { completed: 2, retried: 1, failed: 0, ..Rollup::default() };
        [1_000, 2_000, 6_001].iter().for_each(|us| some.wait.add(*us));
        let figures = Figures::new(&some, 5);
        assert_eq!((figures.dispatches.failed, figures.dispatches.success_rate), (1, Some(0.6667)));
        let latency = figures.queue_latency_ms;
        assert_eq!((latency.p95, latency.max, latency.within_target), (Some(7), Some(7), Some(false)));
        assert_eq!(Figures::new(&some, 7).queue_latency_ms.within_target, Some(true));
    }
}
