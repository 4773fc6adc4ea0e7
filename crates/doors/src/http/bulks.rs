//! `/v1/bulks`.

use super::Door;
use super::answer::{Json, No};
use super::body::{Body, Named};
use crate::wire::*;
use axum::extract::State;
use kernel::bulk::Bulk;
use kernel::command::Command;
use kernel::ids::BulkId;
use kernel::rejection::Rejection;

const BULKS_SHOWN: usize = 100;

/// List bulks, newest first.
#[utoipa::path(get, path = "/v1/bulks", tag = "bulks", responses((status = 200, body = BulkList)))]
pub async fn list(State(door): State<Door>) -> Result<Json<BulkList>, No> {
    let rows = door.read(|reader| reader.bulks(BULKS_SHOWN)).await?;
    let bulks = rows.iter().map(|row| Ok(BulkView::from(&Bulk::from_row(&row.values)?)));
    Ok(Json(BulkList { bulks: bulks.collect::<Result<_, No>>()? }))
}

/// Show a bulk and how far it is.
#[utoipa::path(get, path = "/v1/bulks/{bulk}", tag = "bulks", params(("bulk" = String, Path)),
    responses((status = 200, body = BulkView)))]
pub async fn show(State(door): State<Door>, Named(bulk): Named<BulkId>) -> Result<Json<BulkView>, No> {
    let row = door.read(move |reader| reader.bulk(bulk)).await?.ok_or(Rejection::BulkNotFound { bulk })?;
    Ok(Json(BulkView::from(&Bulk::from_row(&row.values)?)))
}

/// Stop a bulk; what it did stays done.
#[utoipa::path(post, path = "/v1/bulks/{bulk}/cancel", tag = "bulks", params(("bulk" = String, Path)), request_body = Signed,
    responses((status = 200, body = BulkView)))]
pub async fn cancel(
    State(door): State<Door>,
    Named(bulk): Named<BulkId>,
    Body(body): Body<Signed>,
) -> Result<Json<BulkView>, No> {
    let unknown = match door.command(Command::CancelBulk { bulk, by: signed_by(body.by) }).await {
        Ok(_) => false,
        Err(no) if no.0.code == "bulk_not_found" => true,
        Err(no) => return Err(no),
    };
    // A closed bulk has left the writer's memory; only the store still tells it from one that never was.
    let row = door.read(move |reader| reader.bulk(bulk)).await?.ok_or(Rejection::BulkNotFound { bulk })?;
    if unknown {
        return Err(Rejection::BulkClosed { bulk }.into());
    }
    Ok(Json(BulkView::from(&Bulk::from_row(&row.values)?)))
}
