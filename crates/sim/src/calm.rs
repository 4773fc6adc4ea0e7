//! After the storm: nothing breaks any more, there are workers for everything, whatever was paused goes on and whoever is
//! asked answers. Then every run ends.

use crate::catalogue::TYPES;
use crate::checkers::blobs;
use crate::client::actor;
use crate::event_client::with_singles;
use crate::mail::Sender;
use crate::model::runs::NodeState;
use crate::temper::FaultRates;
use crate::turn::Turn;
use crate::worker::Worker;
use crate::world::{Found, World};
use engine::{Answer, Core, Delivery, Request};
use kernel::command::{Command, NewEvent};
use kernel::event::EventSpec;
use kernel::names::{EventName, QueueName, TypeName, WorkerName};
use kernel::node::Started;
use kernel::queue::QueueConfig;
use kernel::record::Payload;
use kernel::watchdog::Standstill;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Steps within which everything has to end.
const CALM_STEPS_MAX: usize = 500;
/// Steps between two looks at who has to be answered.
const LOOK_EVERY: usize = 6;
/// The furthest that time is moved at once.
const LEAP_MS_MAX: u64 = 3_600_000;

impl World {
    pub(crate) fn calm_down(&mut self) -> Result<(), Found> {
        if !self.temper.runs {
            return Ok(());
        }
        self.temper.faults = FaultRates::default();
        self.blobs.spare();
        (self.temper.calm, self.temper.clients, self.temper.big, self.temper.work_ms) = (true, 0, false, 10);
        self.temper.beats = 0;
        self.temper.types = TYPES.iter().map(|kind| TypeName::parse(kind).expect("a name")).collect();
        for at in 0..self.workers.len() {
            self.workers[at].away_until = Some(self.now.plus_ms(1 << 40));
            let poll = self.workers[at].poll.take();
            self.hang_up(poll);
        }
        let willing = Worker::willing(WorkerName::parse("willing").expect("a name"), &self.temper);
        self.workers.push(willing);
        self.unsure.clear();
        for reason in Standstill::ALL {
            self.order(Command::NoteStandstill { reason, over_ms: None });
            self.order(Command::NoteStandstill { reason, over_ms: Some(31_000) });
        }
        for step in 0..CALM_STEPS_MAX {
            self.step += 1;
            if step % LOOK_EVERY == 0 {
                self.help();
            }
            self.live()?;
            if self.model.runs.live().next().is_none() {
                return Ok(());
            }
        }
        let (id, run) = self.model.runs.live().next().expect("it was looked at");
        let nodes: Vec<String> =
            self.model.runs.nodes_of(id).map(|(at, node)| format!("{} {:?}", at.show(), node.state)).collect();
        Err(("every run ends", format!("{id} of {} does not: it is {}, {}", run.workflow, run.status.as_str(), nodes.join(", "))))
    }

    fn order(&mut self, command: Command) {
        self.mail.send(Sender::Client { again: None }, Request::Command(command));
    }

    /// Takes limits away, resumes what is paused, answers what is asked; again and again, for it may not have been heard.
    fn help(&mut self) {
        let by = actor();
        let free = Arc::new(QueueConfig::default());
        let singles = Arc::new(with_singles(QueueConfig::default()));
        let limited = self.model.queues.iter();
        let limited = limited.filter(|(_, queue)| ![&free, &singles].contains(&&queue.config) || queue.pause.is_some());
        let mut limited: Vec<QueueName> = limited.map(|(name, _)| name.clone()).collect();
        limited.sort();
        let in_registry = self.model.events.registry.queues.clone();
        if limited.iter().any(|queue| in_registry.contains(queue)) {
            let queues = in_registry.iter().map(|queue| (queue.clone(), singles.clone())).collect();
            self.order(Command::PutRegistry { text: Payload::null(), queues, by: by.clone() });
        }
        for families in self.model.events.controls.keys().cloned().collect::<Vec<_>>() {
            self.order(Command::ResumeFamilies { families, by: by.clone() });
        }
        for queue in limited {
            self.order(Command::ConfigureQueue { queue: queue.clone(), config: free.clone(), by: by.clone() });
            self.order(Command::ResumeQueue { queue, by: by.clone() });
        }
        let paused: Vec<_> = self.model.runs.running().filter(|(_, run)| run.own_pause).map(|(id, _)| id).collect();
        for run in paused {
            self.order(Command::ResumeRun { run, by: by.clone() });
        }
        let asks = |state: &NodeState| matches!(state, NodeState::Started(Started::Asking { .. }));
        let asking: Vec<_> =
            self.model.runs.nodes.iter().filter(|(_, node)| asks(&node.state)).map(|(at, _)| at.clone()).collect();
        for at in asking {
            self.order(Command::Answer { at, approved: true, comment: String::new(), by: by.clone() });
        }
        self.tell_who_waits();
    }

    /// One of each kind for every name that somebody waits for.
    fn tell_who_waits(&mut self) {
        let awaited = |state: &NodeState| match state {
            NodeState::Started(Started::Awaiting(awaiting)) => Some(awaiting.event.clone()),
            _ => None,
        };
        let names: BTreeSet<EventName> = self.model.runs.nodes.values().filter_map(|node| awaited(&node.state)).collect();
        for name in names {
            let event = |n: usize| NewEvent {
                spec: EventSpec::named(name.clone()),
                data: Payload(format!("{{\"n\":{n},\"list\":[],\"event\":0}}").into()),
                routed: Vec::new(),
            };
            let revision = self.model.events.registry.revision;
            self.order(Command::Emit { events: (0..10).map(event).collect(), revision });
        }
    }

    /// Now a little, now as far as the engine means to sleep.
    pub(crate) fn pass_calm_time(&mut self) {
        let soon = self.now.plus_ms(15);
        let next = self.presence.planned.filter(|_| self.step.is_multiple_of(3)).unwrap_or(soon);
        self.now = next.max(soon).min(self.now.plus_ms(LEAP_MS_MAX));
    }

    /// Makes the inputs of what was granted, as a door does. What cannot be made fails its task; what could be made once can
    /// be made again, and is the same.
    pub(crate) fn fill(&mut self, core: &Core, turn: &Turn) -> Result<(), Found> {
        let worked =
            turn.answers.iter().filter_map(|(_, answer)| if let Answer::Worked(worked) = answer { Some(worked) } else { None });
        let of_runs = |delivery: &&Delivery| delivery.grant.node.is_some();
        let deliveries: Vec<Delivery> = worked.flat_map(|worked| &worked.deliveries).filter(of_runs).cloned().collect();
        if deliveries.is_empty() || !self.chance.permille(500) {
            return Ok(());
        }
        let name = "inputs can be made, and are the same again";
        let mut reader = core.reader().map_err(|error| (name, error.to_string()))?;
        // Where nothing can be read the door says so, and the leases go back.
        let Ok(filled) = core.fill(&deliveries, &mut *reader) else { return Ok(()) };
        // One that knows nothing but the disk makes the same of it.
        if self.step.is_multiple_of(4)
            && let Ok(fresh) = Core::open(Box::new(self.disk.open()), self.blobs.clone(), 0, self.now)
        {
            let again = fresh.fill(&bare(&deliveries), &mut *reader).unwrap_or_default();
            for other in &again.deliveries {
                let Some(one) = filled.deliveries.iter().find(|one| one.grant.task == other.grant.task) else { continue };
                if json(one) != json(other) {
                    return Err((name, format!("{} gets {:?}, on the disk is {:?}", one.grant.task, one.input, other.input)));
                }
            }
        }
        for delivery in filled.deliveries {
            let (task, input) = (delivery.grant.task, delivery.input.expect("it was filled"));
            // The same value, if perhaps not the same text.
            let input: serde_json::Value = serde_json::from_str(input.text()).map_err(|error| (name, error.to_string()))?;
            let before = self.ledger.inputs.insert(task, input.clone());
            if before.as_ref().is_some_and(|before| *before != input) {
                return Err((name, format!("the input of {task} was {before:?} and is {input:?}")));
            }
        }
        for (delivery, failure) in filled.failed {
            let task = delivery.grant.task;
            if matches!(failure.code.as_str(), "value_lost" | "input_lost") {
                blobs::lost(&self.disk, &self.blobs, &failure).map_err(|why| (name, format!("the input of {task}: {why}")))?;
            }
            self.unfit.insert((task, delivery.grant.fence), failure);
        }
        Ok(())
    }
}

/// Without what was in memory.
fn bare(deliveries: &[Delivery]) -> Vec<Delivery> {
    deliveries.iter().map(|delivery| Delivery { input: None, ..delivery.clone() }).collect()
}

/// The value, whatever its text.
fn json(delivery: &Delivery) -> Option<serde_json::Value> {
    delivery.input.as_ref().and_then(|input| serde_json::from_str(input.text()).ok())
}
