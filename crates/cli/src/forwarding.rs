//! Handlers that pass events on: where each goes is asked of the registry in force, for every attempt anew.

use engine::Engine;
use flow::registry::{Forward as Stated, Shape as StatedShape};
use kernel::record::Failure;
use std::sync::Arc;
use std::time::Duration;
use workers::Client;
use workers::forward::{Forward, Shape, Target, place};
use workers::inside::{self, Job};

/// Events under way to others at a time.
const SLOTS: usize = 32;

/// Until `stop`.
pub async fn run(engine: Engine, client: Client, stop_limit: Duration, stop: impl Future<Output = ()>) {
    let registry = engine.clone();
    let forward = Forward::new(client, move |job| target(&registry, job).map(Arc::new));
    inside::work(engine, Arc::new(forward), place(SLOTS, stop_limit), stop).await;
}

fn target(engine: &Engine, job: &Job) -> Result<Target, Failure> {
    let failure = |code: &str, message: String| Failure { code: code.into(), message };
    let in_force = engine.in_force();
    let handler = job.grant.trigger.as_ref().map(|(trigger, _)| &trigger.handler);
    let Some((handler, stated)) = handler.and_then(|handler| Some((handler, in_force.registry.forward(handler)?))) else {
        let message = "the registry in force has no such handler that forwards any more".to_owned();
        return Err(failure("handler_gone", message));
    };
    filled(stated).map_err(|why| failure("bad_target", format!("handler `{handler}`: {why}")))
}

/// With the secrets that its text only names.
fn filled(stated: &Stated) -> Result<Target, String> {
    let env = |name: &str| std::env::var(name).ok();
    let unset = |name: String| format!("the variable {name} is not set where the server runs");
    let shape = match stated.shape {
        StatedShape::Event => Shape::Event,
        StatedShape::Inngest => Shape::Inngest,
    };
    let url = stated.url.fill(env).map_err(unset)?;
    let target = Target::new(&url, Duration::from_millis(stated.timeout_ms), shape).map_err(|error| error.to_string())?;
    let mut target = target.method(stated.method.as_str()).map_err(|error| error.to_string())?;
    for (name, value) in &stated.headers {
        target = target.header(name.as_str(), &value.fill(env).map_err(unset)?).map_err(|error| error.to_string())?;
    }
    Ok(target)
}
