//! The HTTP API. Each handler turns a wire shape into a request, asks the engine, and turns the answer back; OpenAPI
//! is generated from these very handlers.

mod answer;
mod approvals;
mod blobs;
mod body;
mod bulks;
mod change;
mod crons;
mod ending;
mod events;
mod explain;
mod families;
mod fork;
mod graph;
mod guard;
mod history;
mod log;
mod node;
mod outlook;
mod peer;
mod queues;
mod registry;
mod replay;
mod run;
mod runs;
mod said;
mod server;
mod stats;
mod status;
mod stream;
mod tasks;
mod texts;
mod timeline;
mod turns;
mod values;
mod webhooks;
mod work;
mod workflows;

pub use server::{ServeError, check_listen, serve};

use crate::input::InputSchemas;
use crate::wire::Problem;
use answer::No;
use axum::Router;
use axum::response::IntoResponse;
use engine::Engine;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Ref, ResponseBuilder};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// What the handlers share.
#[derive(Clone)]
pub struct Door {
    engine: Engine,
    options: Arc<DoorOptions>,
    inputs: Arc<InputSchemas>,
    turns: turns::Turns,
    onlookers: Arc<Semaphore>,
}

impl Door {
    pub fn new(engine: Engine, options: DoorOptions) -> Door {
        let onlookers = Arc::new(Semaphore::new(options.onlookers_max));
        Door { engine, options: Arc::new(options), inputs: Arc::default(), turns: turns::Turns::default(), onlookers }
    }

    /// A place for one who waits for what happens, and holds a connection meanwhile.
    fn look_on(&self) -> Result<OwnedSemaphorePermit, No> {
        self.onlookers.clone().try_acquire_owned().map_err(|_| {
            let message = format!("{} others wait for ends, logs or records already", self.options.onlookers_max);
            let fix = "ask again in a moment; tasks, runs and logs also without wait_ms";
            Problem::new("limited", message, fix).retry_after_ms(1_000).into()
        })
    }
}

#[derive(Clone, Debug)]
pub struct DoorOptions {
    /// Asked of every caller when set.
    pub token: Option<String>,
    pub address: Option<SocketAddr>,
    /// Who waits for what happens, and holds a connection meanwhile.
    pub onlookers_max: usize,
}

impl Default for DoorOptions {
    fn default() -> DoorOptions {
        DoorOptions { token: None, address: None, onlookers_max: server::ONLOOKERS_MAX }
    }
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Signaller",
        description = "Takes events, tasks and workflows in, decides what runs next, and makes it run durably. Every answer that is not a \
                       success has a body `{\"error\": {code, message, fix, retryable}}`; codes are stable.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    components(schemas(crate::wire::ErrorBody, crate::wire::RecordView)),
    tags(
        (name = "tasks", description = "One piece of work, from added to finished."),
        (name = "workflows", description = "Definitions: what runs go through, version by version."),
        (name = "runs", description = "One way through a workflow, from its input to its output."),
        (name = "approvals", description = "What waits for somebody's answer."),
        (name = "events", description = "What happened outside, and what became of it."),
        (name = "registry", description = "Which events go to which handlers, and with which discipline."),
        (name = "webhooks", description = "Where others send what happened there, and what came of it."),
        (name = "crons", description = "Events that come by the clock."),
        (name = "families", description = "Events that are controlled together."),
        (name = "queues", description = "Discipline: limits, pauses, dead letters."),
        (name = "bulks", description = "Work over many tasks or runs, a chunk at a time."),
        (name = "workers", description = "Results, heartbeats and more work in one round trip."),
        (name = "blobs", description = "Bytes that values mention by name."),
        (name = "server", description = "How the server itself is."),
    )
)]
struct Api;

/// The name of the scheme in the description.
const BEARER: &str = "bearer";

fn routed() -> (Router<Door>, utoipa::openapi::OpenApi) {
    let (router, mut api) = OpenApiRouter::with_openapi(Api::openapi())
        .routes(routes!(tasks::add, tasks::list))
        .routes(routes!(tasks::add_many))
        .routes(routes!(tasks::show, tasks::delete))
        .routes(routes!(tasks::cancel))
        .routes(routes!(tasks::retry))
        .routes(routes!(tasks::reset))
        .routes(routes!(tasks::start))
        .routes(routes!(tasks::explain))
        .routes(routes!(tasks::history))
        .routes(routes!(log::log))
        .routes(routes!(workflows::put, workflows::list))
        .routes(routes!(workflows::check))
        .routes(routes!(workflows::show))
        .routes(routes!(workflows::graph))
        .routes(routes!(graph::workflow))
        .routes(routes!(workflows::disable))
        .routes(routes!(workflows::enable))
        .routes(routes!(workflows::schema))
        .routes(routes!(runs::start, runs::list))
        .routes(routes!(bulks::of_runs))
        .routes(routes!(run::show, runs::delete))
        .routes(routes!(run::nodes))
        .routes(routes!(node::show))
        .routes(routes!(history::history))
        .routes(routes!(explain::explain))
        .routes(routes!(graph::run))
        .routes(routes!(timeline::timeline))
        .routes(routes!(timeline::timeline_svg))
        .routes(routes!(replay::replay))
        .routes(routes!(runs::cancel))
        .routes(routes!(runs::pause))
        .routes(routes!(runs::resume))
        .routes(routes!(change::retry))
        .routes(routes!(change::patch))
        .routes(routes!(change::definition_of))
        .routes(routes!(change::restart))
        .routes(routes!(fork::fork))
        .routes(routes!(change::skip))
        .routes(routes!(change::replay_node))
        .routes(routes!(approvals::list, approvals::answer))
        .routes(routes!(queues::list))
        .routes(routes!(queues::show, queues::put))
        .routes(routes!(queues::pause))
        .routes(routes!(queues::resume))
        .routes(routes!(queues::drain))
        .routes(routes!(queues::clear))
        .routes(routes!(queues::reprioritize))
        .routes(routes!(queues::dead))
        .routes(routes!(queues::redrive))
        .routes(routes!(events::emit, events::list))
        .routes(routes!(events::emit_many))
        .routes(routes!(events::show))
        .routes(routes!(events::replay))
        .routes(routes!(webhooks::deliver))
        .routes(routes!(webhooks::listed))
        .routes(routes!(registry::show, registry::put))
        .routes(routes!(registry::check))
        .routes(routes!(registry::difference))
        .routes(routes!(registry::simulate))
        .routes(routes!(registry::schema))
        .routes(routes!(crons::list))
        .routes(routes!(crons::next))
        .routes(routes!(crons::run))
        .routes(routes!(families::list))
        .routes(routes!(families::pause))
        .routes(routes!(families::resume))
        .routes(routes!(families::boost))
        .routes(routes!(families::shed))
        .routes(routes!(bulks::list))
        .routes(routes!(bulks::show))
        .routes(routes!(bulks::cancel))
        .routes(routes!(work::work))
        .routes(routes!(blobs::put, blobs::post))
        .routes(routes!(blobs::get))
        .routes(routes!(blobs::sweep))
        .routes(routes!(stream::stream))
        .routes(routes!(stats::stats))
        .routes(routes!(status::status))
        .routes(routes!(status::health))
        .routes(routes!(status::ready))
        .routes(routes!(described))
        .split_for_parts();
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(
        "The server's token, as `authorization: Bearer TOKEN`. A server without a token listens on loopback alone and asks for none.",
    ));
    api.components.get_or_insert_default().add_security_scheme(BEARER, SecurityScheme::Http(bearer.build()));
    api.security = Some(vec![SecurityRequirement::new(BEARER, [""; 0]), SecurityRequirement::default()]);
    for name in guard::OPEN {
        if let Some(open) = api.paths.paths.get_mut(name).and_then(|path| path.get.as_mut()) {
            open.security = Some(Vec::new());
        }
    }
    for path in api.paths.paths.values_mut() {
        let operations = [&mut path.get, &mut path.put, &mut path.post, &mut path.delete];
        for operation in operations.into_iter().flatten() {
            operation.responses.responses.insert("default".into(), refusal().into());
            // The functions' names are unique only within their module.
            let tag = operation.tags.iter().flatten().next().map_or("", String::as_str);
            operation.operation_id = operation.operation_id.as_ref().map(|id| format!("{tag}_{id}"));
        }
    }
    (router, api)
}

/// Every operation can be refused in the same way, so it is said once and not by each.
fn refusal() -> utoipa::openapi::Response {
    let body = ContentBuilder::new().schema(Some(Ref::from_schema_name("ErrorBody"))).build();
    ResponseBuilder::new().description("Refused, or failed: the code says why").content("application/json", body).build()
}

/// This description.
#[utoipa::path(get, path = "/openapi.json", tag = "server", responses((status = 200, body = serde_json::Value)))]
async fn described() -> impl IntoResponse {
    static DESCRIPTION: LazyLock<String> = LazyLock::new(|| openapi().to_json().expect("OpenAPI has a JSON form"));
    ([("content-type", "application/json")], DESCRIPTION.as_str())
}

/// The API's description, as served at `/openapi.json`.
pub fn openapi() -> utoipa::openapi::OpenApi {
    routed().1
}

pub fn router(door: Door) -> Router {
    let (router, _) = routed();
    router
        .fallback(async || answer::No::from(answer::no_such_path()).into_response())
        .method_not_allowed_fallback(async || answer::No::from(answer::no_such_method()).into_response())
        .layer(axum::middleware::from_fn_with_state(door.clone(), guard::guard))
        .with_state(door)
}
