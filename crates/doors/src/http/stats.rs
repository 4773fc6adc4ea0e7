//! `/v1/stats`: out of the roll-ups, which are brought up to date first.

use super::Door;
use super::answer::{Json, No, off_thread};
use super::body::Params;
use super::families::meant;
use super::queues::depth;
use crate::wire::*;
use axum::extract::State;
use engine::{Engine, RollupState, rest_of_minute};
use kernel::record::{Entry, Owner, Record};
use kernel::rollup::{FailedAt, Minute, Rollup, RollupKey};
use kernel::time::Time;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use store::{Reader, RollupQuery, StoreError};

/// How long an answer waits for the roll-ups to catch up.
const CAUGHT_UP_WITHIN: Duration = Duration::from_secs(2);
/// Roll-ups read for one answer.
pub const ROLLUPS_MAX: usize = 500_000;
const FAMILIES_MAX: usize = 100;

/// What became of the work of a while: dispatches, waits, durations, families, failures.
#[utoipa::path(get, path = "/v1/stats", tag = "server", params(StatsQuery), responses((status = 200, body = Stats)))]
pub async fn stats(State(door): State<Door>, Params(query): Params<StatsQuery>) -> Result<Json<Stats>, No> {
    let now = engine::clock::wall();
    let (from, failures) = (query.from(now)?, query.failures()?);
    let target_p95_ms = query.target_p95_ms.unwrap_or(TARGET_P95_MS_DEFAULT);
    let current_depth = depth(&door, query.queue.as_ref(), query.family.as_deref()).await?;
    let family = query.family.clone();
    let wanted = RollupQuery { queue: query.queue, family: query.family, limit: ROLLUPS_MAX, ..RollupQuery::default() };
    let engine = door.engine.clone();
    let counted = off_thread(move || count(&engine, from, wanted, failures)).await?;
    let Counted { state, from, found, sampled, sum, families, failures } = counted;
    let note = match family {
        Some(family) if found == 0 => meant(&door, &family, Some(from)).await?,
        _ => None,
    };
    let why = uncounted(&state, from, now, sampled < found);
    let mut ranked: Vec<(Arc<str>, Rollup)> = families.into_iter().collect();
    ranked.sort_by(|(a, left), (b, right)| right.started.cmp(&left.started).then_with(|| a.cmp(b)));
    let families_left = ranked.len().saturating_sub(FAMILIES_MAX) as u64;
    let figures = |(family, sum): &(Arc<str>, Rollup)| FamilyStats {
        family: family.to_string(),
        figures: Figures::new(sum, target_p95_ms),
    };
    let window = StatsWindow { from: from.into(), to: now.into(), found, sampled, truncated: why.is_some(), truncated_why: why };
    Ok(Json(Stats {
        window,
        current_depth,
        figures: Figures::new(&sum, target_p95_ms),
        families: ranked.iter().take(FAMILIES_MAX).map(figures).collect(),
        families_left,
        recent_failures: failures,
        note,
    }))
}

pub struct Counted {
    pub state: RollupState,
    /// The beginning of the minute, where its part is too much to count on its own.
    from: Time,
    found: u64,
    sampled: u64,
    pub sum: Rollup,
    families: BTreeMap<Arc<str>, Rollup>,
    failures: Vec<FailureView>,
}

/// The one way to statistics, so that nobody is told other figures than somebody else.
pub fn count(engine: &Engine, from: Time, mut query: RollupQuery, failures: usize) -> Result<Counted, StoreError> {
    let state = engine.rollups_now(CAUGHT_UP_WITHIN)?;
    engine.read(|reader| {
        let minute = Minute::of(from);
        let rest = if from == minute.start() { None } else { rest_of_minute(reader, from)? };
        let is_exact = rest.is_some();
        let (mut sampled, mut families) = (0, BTreeMap::<Arc<str>, Rollup>::new());
        let mut add = |key: RollupKey, row: Rollup| {
            sampled += 1;
            families.entry(key.family).or_default().merge(&row);
        };
        let mut found = 0;
        for (key, row) in rest.into_iter().flat_map(|rest| rest.rows).filter(|(key, _)| query.fits(&key.queue, &key.family)) {
            found += 1;
            add(key, row);
        }
        query.from = Some(Minute(minute.0 + i64::from(is_exact)));
        found += reader.rollups(&query, &mut |(key, row)| add(key, row))?;
        let mut sum = Rollup::default();
        families.values().for_each(|family| sum.merge(family));
        let from = if is_exact { from } else { minute.start() };
        let mut failed = reader.rollup_failures(&RollupQuery { limit: failures, from: Some(minute), ..query })?;
        failed.retain(|failed| failed.at >= from);
        Ok(Counted { state, from, found, sampled, sum, families, failures: told(reader, failed)? })
    })
}

/// What they failed of is in their records; those of tasks that were deleted are gone.
fn told(reader: &mut dyn Reader, failed: Vec<FailedAt>) -> Result<Vec<FailureView>, StoreError> {
    let seqs: Vec<_> = failed.iter().rev().map(|failed| failed.seq).collect();
    let entries: Vec<Entry> = reader.entries(&seqs)?.into_iter().filter_map(Result::ok).collect();
    let view = |failed: FailedAt| {
        let entry = entries.iter().find(|entry| entry.seq == failed.seq)?;
        let (Owner::Task(task), Record::TaskRetried { failure, .. } | Record::TaskFailed { failure, .. }) =
            (&entry.owner, &entry.record)
        else {
            return None;
        };
        Some(FailureView {
            task: *task,
            queue: failed.queue,
            family: failed.family.to_string(),
            code: failure.code.clone(),
            message: failure.message.clone(),
            at: failed.at.into(),
            is_final: matches!(entry.record, Record::TaskFailed { .. }),
        })
    };
    Ok(failed.into_iter().filter_map(view).collect())
}

/// What of the window is not counted, if anything.
fn uncounted(state: &RollupState, from: Time, now: Time, sampled: bool) -> Option<String> {
    let kept_from = now.plus_us(-i64::try_from(state.keep.as_micros()).unwrap_or(i64::MAX));
    if state.is_behind {
        let upto = Instant(state.cursor.at);
        return Some(match &state.trouble {
            Some(trouble) => format!("what came after {upto} is not counted, because {trouble}"),
            None => format!("what came after {upto} is still being counted; ask again in a moment"),
        });
    }
    if sampled {
        return Some("there is more than is read at once; ask for a shorter while, a queue or a family".into());
    }
    if Minute::of(from) < Minute::of(kept_from) {
        return Some(format!("what came before {} is kept no longer", Instant(Minute::of(kept_from).start())));
    }
    (state.cursor.lost > 0 && state.cursor.lost_at >= from)
        .then(|| "some tasks were deleted before they were counted; all others are".into())
}
