//! `POST /webhooks/<name>`: events from senders who prove who they are by a signature or a secret instead of the token.

use super::Door;
use super::answer::{Json, No};
use super::body::{BODY_BYTES_MAX, Named};
use super::events::{Taken, take};
use crate::webhooks::{Secrets, verify};
use crate::wire::*;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use engine::clock;
use kernel::event::Outcome;
use kernel::names::WebhookName;
use std::time::Duration;

/// Some senders wait for ten seconds and never send again: while there is no room they are kept waiting so long.
const PATIENCE: Duration = Duration::from_secs(8);

/// Take a request of a configured sender in, at once: verified over its raw body, durable when it is answered.
#[utoipa::path(post, path = "/webhooks/{webhook}", tag = "events", params(("webhook" = String, Path)),
    request_body(content = String, content_type = "application/octet-stream", description = "What the sender sends, signed as the registry says"),
    responses((status = 202, body = WebhookTaken)))]
pub async fn deliver(
    State(door): State<Door>,
    Named(name): Named<WebhookName>,
    request: Request,
) -> Result<(StatusCode, Json<WebhookTaken>), No> {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, BODY_BYTES_MAX).await;
    let body = body.map_err(|error| Problem::invalid(format!("the body could not be read: {error}")))?;
    let in_force = door.engine.in_force();
    let Some(webhook) = in_force.registry.webhook(name.as_str()) else {
        let message = format!("there is no webhook `{name}`");
        return Err(No(Problem::new("webhook_not_found", message, "name it under `webhooks:` in the registry")));
    };
    let secrets = Secrets::of(webhook, |name| std::env::var(name).ok());
    let incoming = verify(webhook, &secrets, &parts.headers, &body, clock::wall()).map_err(|refused| {
        door.engine.note_refused(&name, &refused.message);
        Problem::from(refused)
    })?;
    let taken = take(&door, vec![(incoming.spec, incoming.data)], PATIENCE).await;
    let Taken { emitted, differs } = taken.inspect_err(|no| door.engine.count_refused(&name, &no.0.message))?.remove(0);
    door.engine.count_accepted(&name);
    let waits =
        |outcome: &Outcome| matches!(outcome, Outcome::Queued { .. } | Outcome::Debounced { .. } | Outcome::Batched { .. });
    let queued = emitted.handled.iter().filter(|handled| waits(&handled.outcome)).count() as u64;
    let taken = WebhookTaken { queued, event: emitted.event, duplicate: emitted.duplicate, differs };
    Ok((StatusCode::ACCEPTED, Json(taken)))
}

/// List the webhooks of the registry in force, with what came to each since this server started.
#[utoipa::path(get, path = "/v1/webhooks", tag = "webhooks", operation_id = "list", responses((status = 200, body = WebhookList)))]
pub async fn listed(State(door): State<Door>) -> Json<WebhookList> {
    let in_force = door.engine.in_force();
    let webhooks = in_force.registry.webhooks().map(|webhook| {
        let secrets = Secrets::of(webhook, |name| std::env::var(name).ok());
        let tally = door.engine.webhook_tally(&webhook.name);
        WebhookView {
            webhook: webhook.name.clone(),
            provider: webhook.provider.as_str().into(),
            path: format!("/webhooks/{}", webhook.name),
            secret_set: !secrets.is_empty(),
            unset: secrets.unset.iter().map(ToString::to_string).collect(),
            accepted: tally.accepted,
            refused: tally.refused,
            last_refusal: tally.last_refusal.map(|(at, why)| WebhookRefusal { at: at.into(), why }),
        }
    });
    Json(WebhookList { webhooks: webhooks.collect() })
}
