//! `/v1/crons`: events by the clock.

use super::Door;
use super::answer::{Json, No};
use super::body::{Named, Params};
use crate::wire::*;
use axum::extract::State;
use engine::{Engine, clock};
use flow::registry::cron::Cron;
use kernel::names::CronName;
use store::StoreError;

const COUNT_DEFAULT: u32 = 5;
const COUNT_MAX: u32 = 100;

/// List the crons of the registry in force.
#[utoipa::path(get, path = "/v1/crons", tag = "crons", responses((status = 200, body = CronList)))]
pub async fn list(State(door): State<Door>) -> Result<Json<CronList>, No> {
    let crons = door.blocking(|engine| {
        let in_force = engine.in_force();
        in_force.registry.crons().map(|cron| view(engine, cron)).collect::<Result<Vec<_>, StoreError>>()
    });
    Ok(Json(CronList { crons: crons.await? }))
}

fn view(engine: &Engine, cron: &Cron) -> Result<CronView, StoreError> {
    let last = engine.cron_fired(cron)?.map(|event| CronFired {
        event: event.id(),
        at: event.received_at().into(),
        handled: event.handled().iter().map(HandledView::from).collect(),
    });
    Ok(CronView { due: CronDue::new(cron, clock::wall()), critical: cron.critical, last })
}

fn unknown(cron: &CronName) -> No {
    let message = format!("there is no cron `{cron}`");
    No(Problem::new("cron_not_found", message, "list crons to see those of the registry in force"))
}

/// Tell when a cron fires next.
#[utoipa::path(get, path = "/v1/crons/{cron}/next", tag = "crons", params(("cron" = String, Path), CronNextQuery),
    responses((status = 200, body = CronNext)))]
pub async fn next(
    State(door): State<Door>,
    Named(name): Named<CronName>,
    Params(query): Params<CronNextQuery>,
) -> Result<Json<CronNext>, No> {
    let count = query.count.unwrap_or(COUNT_DEFAULT);
    if !(1..=COUNT_MAX).contains(&count) {
        return Err(No(Problem::invalid(format!("count must lie between 1 and {COUNT_MAX}"))));
    }
    let in_force = door.engine.in_force();
    let cron = in_force.registry.cron(name.as_str()).ok_or_else(|| unknown(&name))?;
    let at = cron.upcoming(clock::wall()).take(count as usize).map(Instant).collect();
    Ok(Json(CronNext { cron: name, zone: cron.zone.name().into(), at }))
}

/// Fire a cron now, beside its schedule.
#[utoipa::path(post, path = "/v1/crons/{cron}/run", tag = "crons", params(("cron" = String, Path)), request_body = Signed,
    responses((status = 201, body = EventEmitted)))]
pub async fn run(
    State(door): State<Door>,
    Named(name): Named<CronName>,
    super::body::Body(_): super::body::Body<Signed>,
) -> Result<(axum::http::StatusCode, Json<EventEmitted>), No> {
    let in_force = door.engine.in_force();
    let cron = in_force.registry.cron(name.as_str()).ok_or_else(|| unknown(&name))?.clone();
    let fired = door.blocking(move |engine| Ok(engine.run_cron(&cron))).await?;
    let emitted = fired.ok_or_else(|| {
        Problem::new("limited", "the event could not be taken in", "try again in a moment").retry_after_ms(1_000)
    })?;
    Ok((axum::http::StatusCode::CREATED, Json(EventEmitted::new(&emitted, false))))
}
