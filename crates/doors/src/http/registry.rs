//! `/v1/registry`: the one in force, and another in its place.

use super::Door;
use super::answer::{Json, No};
use super::body::{Body, Params, Text};
use crate::wire::*;
use axum::body::Bytes;
use axum::extract::State;
use engine::{Engine, InForce, NoRegistry, clock};
use flow::registry::{Arrival, Registry};
use kernel::workflow::Workflow;
use serde_json::value::RawValue;
use std::sync::Arc;
use store::StoreError;

/// Show the registry in force.
#[utoipa::path(get, path = "/v1/registry", tag = "registry", responses((status = 200, body = RegistryView)))]
pub async fn show(State(door): State<Door>) -> Result<Json<RegistryView>, No> {
    let in_force = door.engine.in_force();
    let RegistryChecked { handlers, queues, webhooks, crons, .. } = stated(&in_force.registry);
    let warnings = warned(&door, in_force.clone()).await?;
    Ok(Json(RegistryView {
        revision: in_force.revision,
        put_at: (in_force.revision > 0).then(|| in_force.put_at.into()),
        by: in_force.by.clone(),
        handlers,
        queues,
        webhooks,
        crons,
        text: in_force.text.to_string(),
        refused: door.engine.registry_refused().map(|why| why.to_string()),
        file: door.engine.registry_followed().map(|file| file.to_string()),
        warnings,
    }))
}

/// So many are told; whoever corrects these sees the rest.
const WARNINGS_MAX: usize = 20;

/// What is right in the registry in force and yet may not work.
pub async fn warned(door: &Door, in_force: Arc<InForce>) -> Result<Vec<String>, No> {
    door.blocking(move |engine| warnings(engine, &in_force.registry)).await
}

/// What is right in a registry and yet may not work: here, and now.
fn warnings(engine: &Engine, registry: &Registry) -> Result<Vec<String>, StoreError> {
    let mut told: Vec<String> =
        registry.warnings().iter().map(|warning| format!("line {}: {}", warning.line, warning.message)).collect();
    told.extend(registry.unset(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())));
    engine.read(|reader| {
        for (workflow, handler) in registry.workflows() {
            if told.len() >= WARNINGS_MAX {
                break;
            }
            match reader.workflow(workflow, None)? {
                None => told.push(format!("handler `{handler}` starts workflow `{workflow}`, and there is none of that name")),
                Some(row) if Workflow::from_row(&row.values)?.disabled().is_some() => {
                    told.push(format!("handler `{handler}` starts workflow `{workflow}`, which is disabled"));
                }
                Some(_) => {}
            }
        }
        Ok(())
    })?;
    told.truncate(WARNINGS_MAX);
    Ok(told)
}

/// Put a registry in force, whole, or say all that is wrong with it and change nothing.
#[utoipa::path(put, path = "/v1/registry", tag = "registry", params(RegistryPutQuery),
    request_body(content = String, content_type = "text/yaml", description = "YAML or JSON"),
    responses((status = 200, body = RegistryPut)))]
pub async fn put(
    State(door): State<Door>,
    Params(query): Params<RegistryPutQuery>,
    Text(text): Text,
) -> Result<Json<RegistryPut>, No> {
    let (text, by) = (readable(&text)?, signed_by(query.by));
    let put = door.blocking(move |engine| {
        Ok(match engine.put_registry(&text, &by) {
            // It is in force, whether they can be told or not.
            Ok(put) => Ok((warnings(engine, &put.in_force.registry).unwrap_or_default(), put)),
            Err(no) => Err(no),
        })
    });
    let (mut warnings, put) = put.await?.map_err(|no| match no {
        NoRegistry::Problems(problems) => No(wrong(&problems)),
        NoRegistry::Rejected(no) => no.into(),
        NoRegistry::Refused(refused) => refused.into(),
        NoRegistry::Unknown => {
            let message = "the store failed while this was written: it may or may not be in force";
            No(Problem::new("unknown_outcome", message, "look at the one in force, and put it again if it is another"))
        }
    })?;
    let handlers = put.in_force.registry.handlers().count() as u64;
    if let Some(file) = door.engine.registry_followed() {
        warnings.insert(0, format!("this server follows {file}; its next change replaces this"));
    }
    Ok(Json(RegistryPut { revision: put.in_force.revision, unchanged: put.unchanged, handlers, warnings }))
}

/// Check a registry without putting it.
#[utoipa::path(post, path = "/v1/registry/check", tag = "registry",
    request_body(content = String, content_type = "text/yaml", description = "YAML or JSON"),
    responses((status = 200, body = RegistryChecked)))]
pub async fn check(State(door): State<Door>, Text(text): Text) -> Result<Json<RegistryChecked>, No> {
    let registry = compiled(&door, text).await?;
    let checked = stated(&registry);
    let warnings = door.blocking(move |engine| warnings(engine, &registry)).await?;
    Ok(Json(RegistryChecked { warnings, ..checked }))
}

/// Say what another registry would change, without putting it.
#[utoipa::path(post, path = "/v1/registry/diff", tag = "registry", operation_id = "diff",
    request_body(content = String, content_type = "text/yaml", description = "YAML or JSON"),
    responses((status = 200, body = RegistryDiff)))]
pub async fn difference(State(door): State<Door>, Text(text): Text) -> Result<Json<RegistryDiff>, No> {
    let new = compiled(&door, text).await?;
    let in_force = door.engine.in_force();
    let difference = flow::registry::difference(&in_force.registry, &new);
    let lines = difference.to_string().lines().map(str::to_owned).collect();
    let changes = serde_json::value::to_raw_value(&difference).expect("it has a JSON form");
    Ok(Json(RegistryDiff { revision: in_force.revision, same: difference.is_empty(), lines, changes }))
}

/// Say what would become of an event, handler by handler, without taking it in.
#[utoipa::path(post, path = "/v1/registry/simulate", tag = "registry", request_body = EventEmit,
    responses((status = 200, body = serde_json::Value)))]
pub async fn simulate(State(door): State<Door>, Body(event): Body<EventEmit>) -> Result<Json<Box<RawValue>>, No> {
    let (spec, data) = event.into_spec()?;
    let in_force = door.engine.in_force();
    let arrival = Arrival { spec: &spec, id: "", received_at: clock::wall(), data: data.text() };
    Ok(Json(serde_json::value::to_raw_value(&in_force.registry.trace(&arrival)).expect("it has a JSON form")))
}

/// The JSON Schema of registries.
#[utoipa::path(get, path = "/v1/registry.schema.json", tag = "registry", responses((status = 200, body = serde_json::Value)))]
pub async fn schema() -> Json<serde_json::Value> {
    Json(flow::registry::registry_schema())
}

/// Compiling is thinking: off the async threads.
pub async fn compiled(door: &Door, text: Bytes) -> Result<Registry, No> {
    let compiled = door.blocking(move |_| Ok(Registry::compile(&text))).await?;
    compiled.map_err(|problems| No(wrong(&problems)))
}

fn stated(registry: &Registry) -> RegistryChecked {
    RegistryChecked {
        handlers: registry.handlers().cloned().collect(),
        queues: registry.queues().into_keys().collect(),
        webhooks: registry.webhooks().map(|webhook| webhook.name.clone()).collect(),
        crons: registry.crons().map(|cron| CronDue::new(cron, clock::wall())).collect(),
        warnings: Vec::new(),
    }
}

fn readable(text: &Bytes) -> Result<String, Problem> {
    let text = std::str::from_utf8(text);
    text.map(str::to_owned).map_err(|error| Problem::new("invalid_registry", format!("it is not text: {error}"), "send UTF-8"))
}

pub fn wrong(problems: &[flow::Problem]) -> Problem {
    let message = match problems {
        [one] => one.to_string(),
        [first, ..] => format!("{} problems, the first: {first}", problems.len()),
        [] => "the registry is wrong".into(),
    };
    let fix = "correct it; `signaller registry check FILE` shows each place";
    Problem::new("invalid_registry", message, fix).problems(problems.iter().map(ProblemAt::from).collect())
}
