//! Tasks whose work is a run: leased like any other, by the server itself, and handed over to a run in one commit.

use crate::engine::{Engine, Refused};
use crate::request::{Answer, Delivery, Request, Work};
use kernel::command::{Command, NewRun, Outcome};
use kernel::handler::WORKFLOW_TYPE;
use kernel::limits::HEARTBEAT_MS_MIN;
use kernel::names::{Actor, TypeName, WorkerName};
use kernel::record::Failure;
use kernel::run::RunSpec;
use std::sync::Arc;
use std::time::Duration;
use store::StoreError;

/// Handed over at once.
const WANT: usize = 64;
const WAIT_MS: u64 = 20_000;
/// After something that went wrong.
const PAUSE: Duration = Duration::from_millis(HEARTBEAT_MS_MIN as u64);

/// Until the engine stops.
pub fn start(engine: Engine) -> Result<(), StoreError> {
    let thread = std::thread::Builder::new().name("launch".into());
    let started = thread.spawn(move || {
        while engine.is_up() {
            match leased(&engine) {
                Ok(deliveries) if deliveries.is_empty() => {}
                Ok(deliveries) => launch(&engine, &deliveries),
                Err(Refused::Down) => return,
                Err(Refused::Full { .. }) => std::thread::sleep(PAUSE),
            }
        }
    });
    started.map(|_| ()).map_err(|error| StoreError::Failed(format!("cannot start the launcher's thread: {error}")))
}

/// Waits for some.
fn leased(engine: &Engine) -> Result<Vec<Delivery>, Refused> {
    let work = Work {
        worker: WorkerName::parse("signaller").expect("a name"),
        types: Arc::new([TypeName::parse(WORKFLOW_TYPE).expect("a name")]),
        queues: Arc::new([]),
        want: WANT,
        wait_ms: WAIT_MS,
        results: Vec::new(),
        holding: Vec::new(),
    };
    match engine.ask_blocking(Request::Work(work))? {
        Answer::Worked(worked) if worked.stopping && worked.deliveries.is_empty() => {
            // What runs may still finish; nothing new comes.
            std::thread::sleep(PAUSE);
            Ok(Vec::new())
        }
        Answer::Worked(worked) => Ok(worked.deliveries),
        // The commit failed: whatever was leased goes back.
        _ => {
            std::thread::sleep(PAUSE);
            Ok(Vec::new())
        }
    }
}

fn launch(engine: &Engine, deliveries: &[Delivery]) {
    let filled = match engine.fill_reading(deliveries) {
        Ok(filled) => filled,
        Err(error) => {
            tracing::warn!(%error, "what runs are to begin with cannot be read; they are tried again");
            engine.undelivered(deliveries);
            return std::thread::sleep(PAUSE);
        }
    };
    let mut waiting = Vec::with_capacity(filled.deliveries.len());
    for delivery in filled.deliveries {
        let (task, fence) = (delivery.grant.task, delivery.grant.fence);
        let workflow = delivery.grant.trigger.as_ref().and_then(|(trigger, _)| trigger.workflow.clone());
        let (Some(workflow), Some(input)) = (workflow, delivery.input) else {
            fail(engine, &delivery.grant, "bad_task", "it does not say which workflow does its work".into());
            continue;
        };
        let new = NewRun { workflow: workflow.clone(), version: None, spec: RunSpec::new(workflow, 0), input };
        let by = Actor::parse("signaller").expect("a name");
        let request = Request::Command(Command::HandOver { task, fence, new: Box::new(new), by });
        if let Ok(answer) = engine.begin(request) {
            waiting.push((delivery.grant, answer));
        }
    }
    for (grant, answer) in waiting {
        if let Ok(Answer::Reply(Err(no))) = answer.blocking_recv() {
            fail(engine, &grant, no.code(), no.to_string());
        }
    }
}

/// It cannot begin: that it was tried counts.
fn fail(engine: &Engine, grant: &kernel::command::Grant, code: &str, message: String) {
    // What is wrong with it stays so; a workflow may be put or enabled meanwhile.
    let retryable = code != "invalid" && code != "bad_task";
    let failure = Failure { code: code.into(), message };
    let outcome = Outcome::Failed { failure, retryable, retry_after_ms: None };
    let (task, fence) = (grant.task, grant.fence);
    engine.tell(Request::Command(Command::Finish { task, fence, outcome, jitter: 0 }));
}
