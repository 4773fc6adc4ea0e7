//! `/v1/families`: what is said about families of events.

use super::Door;
use super::answer::{Json, No};
use super::body::Body;
use super::queues::{UPTO, bulk, depths, dry_run, of_depth};
use super::status;
use crate::wire::*;
use axum::extract::State;
use kernel::bulk::BulkWork;
use kernel::command::Command;
use kernel::names::Pattern;
use kernel::rollup::Minute;
use kernel::time::Time;
use store::RollupQuery;

/// Families that one answer tells of.
const FAMILIES_SHOWN: usize = 1_000;

/// List the families that are paused or boosted, and those of which something waits or runs.
#[utoipa::path(get, path = "/v1/families", tag = "families", responses((status = 200, body = FamiliesList)))]
pub async fn list(State(door): State<Door>) -> Result<Json<FamiliesList>, No> {
    listed(&door).await.map(Json)
}

async fn listed(door: &Door) -> Result<FamiliesList, No> {
    let status = status::ask(door).await?;
    let depths = depths(door, None).await?;
    let made = || depths.iter().filter(|found| !found.plain);
    let sum = |wanted: &dyn Fn(&str) -> bool| {
        let meant = made().filter(|found| wanted(&found.family));
        meant.fold(Counts::default(), |sum, found| sum.plus(&of_depth(&found.depth)))
    };
    let said = status.controls.iter();
    let said = said.map(|control| FamiliesView::new(control, sum(&|family| control.families().covers_name(family)))).collect();
    let paused = |family: &str| {
        let mut pauses = status.controls.iter().filter(|control| control.pause().is_some());
        pauses.any(|control| control.families().covers_name(family))
    };
    let mut families: Vec<FamilyView> = Vec::new();
    for found in made() {
        let counts = of_depth(&found.depth);
        match families.last_mut().filter(|last| *last.family == *found.family) {
            Some(last) => {
                last.counts = last.counts.plus(&counts);
                last.queues.push(found.queue.clone());
            }
            None => {
                let (family, queues) = (found.family.to_string(), vec![found.queue.clone()]);
                families.push(FamilyView { paused: paused(&family), family, counts, queues });
            }
        }
    }
    let weight = |view: &FamilyView| view.counts.queued + view.counts.running + view.counts.in_runs;
    families.sort_by(|a, b| weight(b).cmp(&weight(a)).then_with(|| a.family.cmp(&b.family)));
    let families_left = families.len().saturating_sub(FAMILIES_SHOWN) as u64;
    families.truncate(FAMILIES_SHOWN);
    Ok(FamiliesList { said, families, families_left, note: None })
}

/// Who names a family that is not there, and below which some are, may mean those. `from`: whether there was one since then.
pub async fn meant(door: &Door, family: &str, from: Option<Time>) -> Result<Option<String>, No> {
    let Some(exact) = Pattern::parse(family).ok().filter(|_| !family.ends_with('*')) else { return Ok(None) };
    if is_known(door, &exact, from).await? {
        return Ok(None);
    }
    for divider in ['/', '.'] {
        let Ok(below) = Pattern::parse(&format!("{family}{divider}*")) else { continue };
        if is_known(door, &below, from).await? {
            return Ok(Some(format!("there is no family {family}, only some below it: did you mean '{below}'?")));
        }
    }
    Ok(None)
}

/// Something of these families is or was here, or a handler takes events of theirs alone.
async fn is_known(door: &Door, families: &Pattern, from: Option<Time>) -> Result<bool, No> {
    if !depths(door, Some(families.clone())).await?.is_empty() || takes(door, families, |taken| taken.as_str() != "*") {
        return Ok(true);
    }
    let Some(from) = from.map(Minute::of) else { return Ok(false) };
    let query = RollupQuery { family: Some(families.to_string()), from: Some(from), limit: 1, ..RollupQuery::default() };
    door.read(move |reader| Ok(reader.rollups(&query, &mut |_| {})? > 0)).await
}

/// Whether a handler takes events of these families, by one of its patterns that is meant.
fn takes(door: &Door, families: &Pattern, meant: impl Fn(&Pattern) -> bool) -> bool {
    let force = door.engine.in_force();
    let registry = &force.registry;
    let mut patterns = registry.handlers().flat_map(|handler| registry.patterns(handler));
    patterns.any(|taken| meant(taken) && taken.may_be_of(families))
}

/// What was said of them may be a slip of the pen: nothing of theirs is here, and no handler takes their events.
async fn note(door: &Door, list: &FamiliesList, families: &Pattern) -> Result<Option<String>, No> {
    let is_here = list.said.iter().any(|said| said.families == *families && said.counts != Counts::default());
    if is_here {
        return Ok(None);
    }
    if let Some(meant) = meant(door, families.as_str(), None).await? {
        return Ok(Some(meant));
    }
    Ok((!takes(door, families, |_| true)).then(|| {
        format!("nothing is known of {families}: no task of it waits or runs, and no handler takes its events; it holds for what may come")
    }))
}

/// What is said now, with a note if it is said of nothing that is known.
async fn noted(door: &Door, families: &Pattern) -> Result<Json<FamiliesList>, No> {
    let mut list = listed(door).await?;
    if list.said.iter().any(|said| said.families == *families) {
        list.note = note(door, &list, families).await?;
    }
    Ok(Json(list))
}

/// Hand out no more tasks of these families; what runs goes on, and what is critical.
#[utoipa::path(post, path = "/v1/families/pause", tag = "families", request_body = FamiliesPause,
    responses((status = 200, body = FamiliesList)))]
pub async fn pause(State(door): State<Door>, Body(body): Body<FamiliesPause>) -> Result<Json<FamiliesList>, No> {
    let until = body.until()?;
    let reason = reason("reason", body.reason)?;
    let families = body.families.clone();
    door.command(Command::PauseFamilies { families: body.families, until, reason, by: signed_by(body.by) }).await?;
    noted(&door, &families).await
}

/// Hand out tasks of these families again. It takes back the pause with this very pattern.
#[utoipa::path(post, path = "/v1/families/resume", tag = "families", request_body = FamiliesResume,
    responses((status = 200, body = FamiliesList)))]
pub async fn resume(State(door): State<Door>, Body(body): Body<FamiliesResume>) -> Result<Json<FamiliesList>, No> {
    let families = body.families.clone();
    let pauses = |list: &FamiliesList| -> Vec<Pattern> {
        list.said.iter().filter(|said| said.pause.is_some()).map(|said| said.families.clone()).collect()
    };
    let was_paused = pauses(&listed(&door).await?).contains(&families);
    door.command(Command::ResumeFamilies { families: body.families, by: signed_by(body.by) }).await?;
    let mut list = listed(&door).await?;
    let others: Vec<String> =
        pauses(&list).iter().filter(|paused| paused.covers_name(families.as_str())).map(|paused| format!("'{paused}'")).collect();
    list.note = match (was_paused, others.is_empty()) {
        (true, true) => None,
        (false, true) => Some(format!("{families} was not paused")),
        (true, false) => Some(format!("{families} stays paused by what was said of {}", others.join(", "))),
        (false, false) => {
            Some(format!("{families} was not paused by that name, but is by what was said of {}", others.join(", ")))
        }
    };
    Ok(Json(list))
}

/// Give tasks of these families a head start, or take it away with 0.
#[utoipa::path(post, path = "/v1/families/boost", tag = "families", request_body = FamiliesBoost,
    responses((status = 200, body = FamiliesList)))]
pub async fn boost(State(door): State<Door>, Body(body): Body<FamiliesBoost>) -> Result<Json<FamiliesList>, No> {
    let families = body.families.clone();
    door.command(Command::BoostFamilies { families: body.families, boost: body.boost.0, by: signed_by(body.by) }).await?;
    noted(&door, &families).await
}

/// Cancel what waits of these families, in whatever queue, up to a priority. What runs goes on, and what is critical stays.
#[utoipa::path(post, path = "/v1/families/shed", tag = "families", request_body = FamiliesShed,
    responses((status = 200, body = BulkAnswer)))]
pub async fn shed(State(door): State<Door>, Body(body): Body<FamiliesShed>) -> Result<Json<BulkAnswer>, No> {
    let why = reason("reason", body.reason)?;
    let (families, priority) = (body.families, body.upto.0);
    let work = BulkWork::Shed { families, priority, upto: UPTO, reason: why.clone() };
    work.check()?;
    if body.dry_run {
        return dry_run(&door, work).await;
    }
    bulk(&door, Command::StartBulk { work, by: signed_by(body.by), reason: why }).await
}
