//! `/v1/blobs`: bytes that values mention by name. Workers put what is too large for a value, and get what others have put.

use super::Door;
use super::answer::{Json, No};
use super::body::{BODY_BYTES_MAX, Named, Params, PathName, Place, Raw};
use crate::wire::*;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, Full};
use std::time::Duration;

/// Blobs that one request looks at, and how long.
const SWEEP_MAX: usize = 1_000;
const SWEEP_TIME_MAX: Duration = Duration::from_secs(5);

impl PathName for BlobRef {
    fn parse_name(text: &str) -> Result<BlobRef, Problem> {
        BlobRef::parse(text)
    }
}

/// Keep bytes, up to 64 MiB. The same bytes have the same name and are kept once.
#[utoipa::path(put, path = "/v1/blobs", tag = "blobs",
    request_body(content = Vec<u8>, content_type = "application/octet-stream"), responses((status = 200, body = BlobPut)))]
pub async fn put(State(door): State<Door>, raw: Raw) -> Result<Json<BlobPut>, No> {
    keep(&door, raw).await
}

/// The same, for clients that cannot put.
#[utoipa::path(post, path = "/v1/blobs", tag = "blobs",
    request_body(content = Vec<u8>, content_type = "application/octet-stream"), responses((status = 200, body = BlobPut)))]
pub async fn post(State(door): State<Door>, raw: Raw) -> Result<Json<BlobPut>, No> {
    keep(&door, raw).await
}

async fn keep(door: &Door, raw: Raw) -> Result<Json<BlobPut>, No> {
    let size = raw.bytes.len() as u64;
    let hold = door.blocking(move |engine| engine.put_blob(&raw.bytes)).await?;
    let grace_ms = door.engine.blobs_grace().map(|grace| u64::try_from(grace.as_millis()).unwrap_or(u64::MAX));
    Ok(Json(BlobPut { r#ref: BlobRef(hold.id()), size, grace_ms }))
}

/// The bytes of a blob. They never change, so whoever has them may keep them; `HEAD` says whether they are there.
#[utoipa::path(get, path = "/v1/blobs/{ref}", tag = "blobs", params(("ref" = String, Path, description = "Its name, as put answered it")),
    responses((status = 200, content_type = "application/octet-stream", body = Vec<u8>), (status = 304, description = "as `if-none-match` says")))]
pub async fn get(
    State(door): State<Door>,
    method: Method,
    Named(name): Named<BlobRef>,
    headers: HeaderMap,
) -> Result<Response, No> {
    let tag = format!("\"{}\"", name.0);
    let known = headers.get(IF_NONE_MATCH).and_then(|known| known.to_str().ok());
    let is_known = known.is_some_and(|known| known.split(',').any(|one| one.trim() == tag || one.trim() == "*"));
    let missing = || {
        let fix = "put it again; what nothing mentions is removed when its grace period is over";
        No(Problem::new("blob_not_found", format!("{name} is not there"), fix))
    };
    let is_asked = method == Method::HEAD || is_known;
    let kept = door.blocking(move |engine| match is_asked {
        // Who hears that it is there does not put it.
        true => engine.blobs().sound(&name.0),
        false => engine.blobs().look(&name.0),
    });
    let size = kept.await?.ok_or_else(missing)?.size;
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else if method == Method::HEAD {
        Body::empty().into_response()
    } else {
        // Few large ones are in memory at a time; each until the last of it is on its way.
        let place = if size > BODY_BYTES_MAX as u64 { Some(Place::wait().await) } else { None };
        let bytes = door.blocking(move |engine| engine.blobs().get(&name.0)).await?.ok_or_else(missing)?;
        let held = Full::new(Bytes::from(bytes)).map_frame(move |frame| {
            _ = &place;
            frame
        });
        Body::new(held).into_response()
    };
    let headers = response.headers_mut();
    if !is_known {
        headers.insert(CONTENT_LENGTH, size.into());
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, immutable, max-age=31536000"));
    headers.extend(HeaderValue::from_str(&tag).map(|tag| (ETAG, tag)));
    Ok(response)
}

/// Look at some of the blobs and remove those that nothing mentions and whose grace period is over. The server does so by itself
/// every hour; go on with `after` until `next` is left out.
#[utoipa::path(post, path = "/v1/blobs/sweep", tag = "blobs",
    params(("dry_run" = Option<bool>, Query, description = "Only say what would go"),
        ("after" = Option<String>, Query, description = "`next` of the answer before")),
    responses((status = 200, body = BlobsSwept)))]
pub async fn sweep(State(door): State<Door>, Params(params): Params<SweepParams>) -> Result<Json<BlobsSwept>, No> {
    let after = params.after.as_deref().map(BlobRef::parse).transpose()?.map(|name| name.0);
    let swept = door.blocking(move |engine| engine.sweep_blobs(after, SWEEP_MAX, SWEEP_TIME_MAX, params.dry_run)).await?;
    Ok(Json(BlobsSwept::from(&swept)))
}
