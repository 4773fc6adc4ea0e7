//! Who hands tasks over to runs, as the engine's own launcher does: it leases them, and starts a run for each. And what is
//! delivered of events, held against what came in.

use crate::mail::Sender;
use crate::turn::Turn;
use crate::world::{Found, World};
use engine::{Answer, Core, Delivery, Request, Work};
use kernel::command::{Command, Grant, NewRun, Outcome};
use kernel::handler::{WORKFLOW_TYPE, Window};
use kernel::ids::{EventId, Fence, TaskId};
use kernel::names::{TypeName, WorkerName};
use kernel::record::{Failure, Payload};
use kernel::run::RunSpec;
use serde_json::Value as Json;
use std::collections::BTreeMap;

#[derive(Default)]
pub struct Launcher {
    polls: bool,
    /// Runs that were asked for and not answered.
    asked: usize,
    /// What they are to begin with.
    inputs: BTreeMap<(TaskId, Fence), Payload>,
}

const NAME: &str = "what is made of events is delivered whole";

impl World {
    /// One round after the other.
    pub(crate) fn launch(&mut self) {
        let busy = self.launcher.polls || self.launcher.asked > 0;
        if !self.temper.events || !self.temper.runs || busy || !self.chance.permille(500) {
            return;
        }
        let work = Work {
            worker: WorkerName::parse("signaller").expect("a name"),
            types: [TypeName::parse(WORKFLOW_TYPE).expect("a name")].into(),
            queues: [].into(),
            want: 1 + self.chance.below(4),
            wait_ms: *self.chance.pick(&[50, 1_000]),
            results: Vec::new(),
            holding: Vec::new(),
        };
        self.launcher.polls = true;
        self.mail.send(Sender::Launcher { grant: None }, Request::Work(work));
    }

    pub(crate) fn launched(&mut self, grant: Option<Box<Grant>>, answer: &Answer) {
        match (grant, answer) {
            (None, Answer::Worked(worked)) => {
                self.launcher.polls = false;
                for Delivery { grant, .. } in &worked.deliveries {
                    self.hand_over(grant);
                }
            }
            (Some(grant), answer) => {
                self.launcher.asked -= 1;
                if let Answer::Reply(Err(no)) = answer {
                    let failure = Failure { code: no.code().into(), message: no.to_string() };
                    let outcome = Outcome::Failed { failure, retryable: true, retry_after_ms: None };
                    let (task, fence) = (grant.task, grant.fence);
                    self.mail.send(Sender::Door, Request::Command(Command::Finish { task, fence, outcome, jitter: 0 }));
                }
            }
            (None, _) => self.launcher.polls = false,
        }
    }

    pub(crate) fn unlaunched(&mut self, is_poll: bool) {
        match is_poll {
            true => self.launcher.polls = false,
            false => self.launcher.asked -= 1,
        }
    }

    fn hand_over(&mut self, grant: &Grant) {
        let (task, fence) = (grant.task, grant.fence);
        let workflow = grant.trigger.as_ref().and_then(|(trigger, _)| trigger.workflow.clone());
        let (Some(workflow), Some(input)) = (workflow, self.launcher.inputs.remove(&(task, fence))) else {
            self.mail.send(Sender::Door, Request::Undelivered { grants: vec![(task, fence)] });
            return;
        };
        let new = NewRun { workflow: workflow.clone(), version: None, spec: RunSpec::new(workflow, 0), input };
        let command = Command::HandOver { task, fence, new: Box::new(new), by: crate::client::actor() };
        self.launcher.asked += 1;
        self.mail.send(Sender::Launcher { grant: Some(Box::new(grant.clone())) }, Request::Command(command));
    }

    /// With the engine it goes, too.
    pub(crate) fn lose_launcher(&mut self) {
        self.launcher = Launcher::default();
    }

    /// Makes the inputs of what events made: the newest of a debounce, all of a batch, as they came.
    pub(crate) fn fill_events(&mut self, core: &Core, turn: &Turn) -> Result<(), Found> {
        let worked =
            turn.answers.iter().filter_map(|(_, answer)| if let Answer::Worked(worked) = answer { Some(worked) } else { None });
        let deliveries: Vec<Delivery> =
            worked.flat_map(|worked| &worked.deliveries).filter(|delivery| delivery.grant.trigger.is_some()).cloned().collect();
        if deliveries.is_empty() {
            return Ok(());
        }
        let mut reader = core.reader().map_err(|error| (NAME, error.to_string()))?;
        let Ok(filled) = core.fill(&deliveries, &mut *reader) else { return Ok(()) };
        if let Some((delivery, failure)) = filled.failed.first() {
            return Err((NAME, format!("the input of {} cannot be made: {}", delivery.grant.task, failure.message)));
        }
        for delivery in filled.deliveries {
            let (grant, input) = (&delivery.grant, delivery.input.expect("it was filled"));
            let told: Json = serde_json::from_str(input.text()).map_err(|error| (NAME, error.to_string()))?;
            if let Some(expected) = self.expected(grant)
                && told != expected
            {
                return Err((NAME, format!("{} gets {told}, and should get {expected}", grant.task)));
            }
            self.launcher.inputs.insert((grant.task, grant.fence), input);
        }
        Ok(())
    }

    /// By what clients sent; `None`: it has moved on since.
    fn expected(&self, grant: &Grant) -> Option<Json> {
        let task = self.model.task(grant.task).filter(|task| task.window().is_none())?;
        let trigger = task.trigger.as_ref()?;
        let one = |id: &EventId| -> Option<Json> {
            let event = self.model.events.events.get(id)?;
            let data: Json = serde_json::from_str(event.data.text()).ok()?;
            if !trigger.whole {
                return Some(data);
            }
            let own = id.to_string();
            let key = event.key.as_ref().map_or(own.as_str(), |key| key.as_str());
            let ts = flow::instant::show(event.said_at.us());
            Some(serde_json::json!({"id": key, "event": own, "name": event.name.as_str(), "ts": ts, "data": data}))
        };
        match &trigger.window {
            Some(Window::Batch { .. }) => task.events.iter().map(one).collect::<Option<Vec<Json>>>().map(Json::Array),
            _ => one(&trigger.event),
        }
    }
}
