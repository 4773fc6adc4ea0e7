//! Handlers that pass events on: where each goes is asked of the registry in force, for every attempt anew.

use engine::Engine;
use kernel::record::Failure;
use std::sync::Arc;
use std::time::Duration;
use workers::Client;
use workers::forward::{Forward, Target, place};
use workers::inside::{self, Job};

/// Events under way to others at a time.
const SLOTS: usize = 32;

/// Until `stop`.
pub async fn run(engine: Engine, client: Client, stop_limit: Duration, stop: impl Future<Output = ()>) {
    let registry = engine.clone();
    let forward = Forward::new(client, move |job| target(&registry, job));
    inside::work(engine, Arc::new(forward), place(SLOTS, stop_limit), stop).await;
}

fn target(engine: &Engine, job: &Job) -> Result<Target, Failure> {
    let Some((trigger, _)) = &job.grant.trigger else {
        return Err(Failure { code: "no_event".into(), message: "it was made of no event, so nobody says where it goes".into() });
    };
    Target::of(&engine.in_force().registry, &trigger.handler, |name| std::env::var(name).ok())
}
