//! `/v1/families`: what is said about families of events.

use super::Door;
use super::answer::{Json, No};
use super::body::Body;
use super::status;
use crate::wire::*;
use axum::extract::State;
use kernel::command::Command;

/// List the families that are paused or boosted.
#[utoipa::path(get, path = "/v1/families", tag = "families", responses((status = 200, body = FamiliesList)))]
pub async fn list(State(door): State<Door>) -> Result<Json<FamiliesList>, No> {
    let status = status::ask(&door).await?;
    Ok(Json(FamiliesList { said: status.controls.iter().map(FamiliesView::from).collect() }))
}

/// Hand out no more tasks of these families; what runs goes on, and what is critical.
#[utoipa::path(post, path = "/v1/families/pause", tag = "families", request_body = FamiliesPause,
    responses((status = 200, body = FamiliesList)))]
pub async fn pause(State(door): State<Door>, Body(body): Body<FamiliesPause>) -> Result<Json<FamiliesList>, No> {
    let until = body.until()?;
    let reason = reason("reason", body.reason)?;
    door.command(Command::PauseFamilies { families: body.families, until, reason, by: signed_by(body.by) }).await?;
    list(State(door)).await
}

/// Hand out tasks of these families again. It takes back the pause with this very pattern.
#[utoipa::path(post, path = "/v1/families/resume", tag = "families", request_body = FamiliesResume,
    responses((status = 200, body = FamiliesList)))]
pub async fn resume(State(door): State<Door>, Body(body): Body<FamiliesResume>) -> Result<Json<FamiliesList>, No> {
    door.command(Command::ResumeFamilies { families: body.families, by: signed_by(body.by) }).await?;
    list(State(door)).await
}

/// Give tasks of these families a head start, or take it away with 0.
#[utoipa::path(post, path = "/v1/families/boost", tag = "families", request_body = FamiliesBoost,
    responses((status = 200, body = FamiliesList)))]
pub async fn boost(State(door): State<Door>, Body(body): Body<FamiliesBoost>) -> Result<Json<FamiliesList>, No> {
    door.command(Command::BoostFamilies { families: body.families, boost: body.boost.0, by: signed_by(body.by) }).await?;
    list(State(door)).await
}
