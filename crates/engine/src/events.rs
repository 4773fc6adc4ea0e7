//! Events on their way in: routed by the registry in force, on the caller's own thread, and handed to the writer, which takes
//! them only if that registry is still the one. And the registry itself: compiled here, put by the writer, in force when that
//! is durable.

use crate::clock;
use crate::engine::{Engine, Refused};
use crate::request::{Answer, Request};
use crate::webhooks::Webhooks;
use flow::registry::{Arrival, Registry};
use kernel::command::{Command, Emitted, NewEvent, Reply};
use kernel::event::{Event, EventSpec};
use kernel::handler::Routed;
use kernel::ids::EventId;
use kernel::limits::CHUNK_ITEMS_MAX;
use kernel::names::Actor;
use kernel::record::Payload;
use kernel::rejection::Rejection;
use kernel::time::Time;
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};
use store::StoreError;

/// How long somebody waits for a registry that was put to be in force, and how often he looks.
const SWAP_TIME_MAX: Duration = Duration::from_secs(5);
const SWAP_LOOK: Duration = Duration::from_millis(1);

/// The registry that events are routed by.
#[derive(Debug, Default)]
pub struct InForce {
    /// 0: none was ever put.
    pub revision: u32,
    pub registry: Registry,
    pub text: Arc<str>,
    pub put_at: Time,
    pub by: Option<Actor>,
    /// Its text could not be read when the server started: it is in force by name only.
    pub unreadable: bool,
}

/// What the engine knows of events beside the writer.
#[derive(Default)]
pub(crate) struct Reception {
    in_force: RwLock<Arc<InForce>>,
    /// One after the other, or an older one might come to be in force last.
    putting: Mutex<()>,
    /// Why the newest text of the registry is not in force.
    refused: Mutex<Option<Arc<str>>>,
    /// The file whose changes replace the registry in force.
    followed: Mutex<Option<Arc<str>>>,
    pub(crate) webhooks: Webhooks,
}

/// Why a registry was not put.
#[derive(Debug)]
pub enum NoRegistry {
    Problems(Vec<flow::problem::Problem>),
    Rejected(Rejection),
    Refused(Refused),
    /// It may or may not have been.
    Unknown,
}

impl From<Refused> for NoRegistry {
    fn from(refused: Refused) -> NoRegistry {
        NoRegistry::Refused(refused)
    }
}

#[derive(Debug)]
pub struct PutRegistry {
    pub in_force: Arc<InForce>,
    /// The same text was in force.
    pub unchanged: bool,
}

/// Events that are being taken in, some at a time.
struct Taking<'a> {
    events: &'a [(EventSpec, Payload)],
    all: Vec<Emitted>,
    swapped_by: Instant,
    room_by: Instant,
}

enum Next {
    Go,
    Wait(Duration),
    Answer(Answer),
}

impl<'a> Taking<'a> {
    fn new(events: &'a [(EventSpec, Payload)], patience: Duration) -> Taking<'a> {
        let now = Instant::now();
        Taking { events, all: Vec::with_capacity(events.len()), swapped_by: now + SWAP_TIME_MAX, room_by: now + patience }
    }

    /// What is to be asked for next; `None`: all are taken.
    fn next(&self, engine: &Engine) -> Option<Request> {
        let left = &self.events[self.all.len()..];
        (!left.is_empty()).then(|| Engine::batch(&engine.in_force(), left))
    }

    fn take(&mut self, answer: Result<Answer, Refused>) -> Result<Next, Refused> {
        let begun = !self.all.is_empty();
        match answer {
            Ok(Answer::Reply(Ok(Reply::Emitted(emitted)))) => {
                self.all.extend(emitted);
                Ok(Next::Go)
            }
            Ok(Answer::Reply(Err(Rejection::RegistryChanged { .. }))) if begun || Instant::now() < self.swapped_by => {
                Ok(Next::Wait(SWAP_LOOK))
            }
            Err(Refused::Full { retry_after_ms }) if begun || Instant::now() < self.room_by => {
                Ok(Next::Wait(Duration::from_millis(retry_after_ms)))
            }
            // Some are in and the others are not: whoever sends ids may send all again.
            Ok(_) | Err(Refused::Down) if begun => Ok(Next::Answer(Answer::UnknownOutcome)),
            Ok(other) => Ok(Next::Answer(other)),
            Err(refused) => Err(refused),
        }
    }

    fn taken(self) -> Answer {
        Answer::Reply(Ok(Reply::Emitted(self.all)))
    }
}

impl Reception {
    /// What the store holds is in force from the start. A text that does not compile any more is no reason not to start: what
    /// comes is kept, and handled by nobody until another is put.
    pub fn open(row: Option<&kernel::registry::Registry>, text: Option<Payload>) -> Reception {
        let reception = Reception::default();
        let Some(row) = row.filter(|row| row.revision() > 0) else { return reception };
        let text: Option<String> = text.and_then(|text| serde_json::from_str(text.text()).ok());
        let compiled = match &text {
            Some(text) => Registry::compile(text.as_bytes()).map_err(|problems| told(&problems)),
            None => Err("its text is gone or damaged".into()),
        };
        let (registry, refused): (_, Option<Arc<str>>) = match compiled {
            Ok(registry) => (registry, None),
            Err(why) => {
                tracing::error!(revision = row.revision(), why, "the registry in force cannot be read: no event is handled");
                (Registry::default(), Some(why.into()))
            }
        };
        let text = text.unwrap_or_default().into();
        let (put_at, by, unreadable) = (row.put_at(), row.by().cloned(), refused.is_some());
        let in_force = InForce { revision: row.revision(), registry, text, put_at, by, unreadable };
        *reception.in_force.write().expect("nobody panics with it") = Arc::new(in_force);
        *reception.refused.lock().expect("as above") = refused;
        reception
    }

    pub fn in_force(&self) -> Arc<InForce> {
        self.in_force.read().expect("nobody panics with it").clone()
    }
}

fn told(problems: &[flow::problem::Problem]) -> String {
    problems.first().map_or_else(|| "it is wrong".into(), ToString::to_string)
}

impl Engine {
    pub fn in_force(&self) -> Arc<InForce> {
        self.reception().in_force()
    }

    /// Why the newest text of the registry that was tried is not in force.
    pub fn registry_refused(&self) -> Option<Arc<str>> {
        self.reception().refused.lock().expect("nobody panics with it").clone()
    }

    pub fn set_registry_refused(&self, why: Option<String>) {
        *self.reception().refused.lock().expect("nobody panics with it") = why.map(Into::into);
    }

    /// The file that this server takes its registry from, if it follows one.
    pub fn registry_followed(&self) -> Option<Arc<str>> {
        self.reception().followed.lock().expect("nobody panics with it").clone()
    }

    pub fn set_registry_followed(&self, file: &str) {
        *self.reception().followed.lock().expect("nobody panics with it") = Some(file.into());
    }

    /// What each handler makes of it.
    fn routed(in_force: &InForce, spec: &EventSpec, data: &str, received_at: Time) -> Vec<Routed> {
        in_force.registry.route(&Arrival { spec, id: "", received_at, data })
    }

    /// Each is taken for itself, in order; durable when this returns. With the inbox full it waits for room up to `patience`; if some
    /// of them were taken by then, it goes on waiting, or nobody would know which.
    pub async fn emit(&self, events: Vec<(EventSpec, Payload)>, patience: Duration) -> Result<Answer, Refused> {
        let mut taking = Taking::new(&events, patience);
        while let Some(request) = taking.next(self) {
            match taking.take(self.ask(request).await)? {
                Next::Go => {}
                Next::Wait(wait) => tokio::time::sleep(wait).await,
                Next::Answer(answer) => return Ok(answer),
            }
        }
        Ok(taking.taken())
    }

    /// For callers without a runtime.
    pub fn emit_blocking(&self, events: &[(EventSpec, Payload)]) -> Result<Answer, Refused> {
        let mut taking = Taking::new(events, Duration::ZERO);
        while let Some(request) = taking.next(self) {
            match taking.take(self.ask_blocking(request))? {
                Next::Go => {}
                Next::Wait(wait) => std::thread::sleep(wait),
                Next::Answer(answer) => return Ok(answer),
            }
        }
        Ok(taking.taken())
    }

    /// The first of them: as many as one batch takes with all they make.
    fn batch(in_force: &InForce, events: &[(EventSpec, Payload)]) -> Request {
        let received_at = clock::wall();
        let (mut new, mut items) = (Vec::with_capacity(events.len()), 0);
        for (spec, data) in events {
            let routed = Engine::routed(in_force, spec, data.text(), received_at);
            items += 1 + routed.len();
            if items > CHUNK_ITEMS_MAX && !new.is_empty() {
                break;
            }
            new.push(NewEvent { spec: spec.clone(), data: data.clone(), routed });
        }
        Request::Command(Command::Emit { events: new, revision: in_force.revision })
    }

    /// Handled once more, by the registry in force. `None`: there is no such event. Blocks.
    pub fn replay_event(&self, id: EventId, by: &Actor) -> Result<Option<Answer>, StoreError> {
        let Some(row) = self.read(|reader| reader.event(id))? else { return Ok(None) };
        let event = Event::from_row(&row.values)?;
        let Some(data) = self.payload(event.data())? else {
            return Err(StoreError::Failed(format!("the data of {id} cannot be read any more: it is gone or damaged")));
        };
        let until = Instant::now() + SWAP_TIME_MAX;
        loop {
            let in_force = self.in_force();
            let routed = Engine::routed(&in_force, event.spec(), data.text(), event.received_at());
            let (revision, by) = (in_force.revision, by.clone());
            let request =
                Request::Command(Command::ReplayEvent { event: id, routed, bytes: data.text().len() as u64, revision, by });
            match self.ask_blocking(request).map_err(|refused| StoreError::Failed(refused.to_string()))? {
                Answer::Reply(Err(Rejection::RegistryChanged { .. })) if Instant::now() < until => {
                    std::thread::sleep(SWAP_LOOK);
                }
                answer => return Ok(Some(answer)),
            }
        }
    }

    /// Compiles it whole and puts it in force, or says what is wrong and changes nothing. Blocks.
    pub fn put_registry(&self, text: &str, by: &Actor) -> Result<PutRegistry, NoRegistry> {
        let _alone = self.reception().putting.lock().expect("nobody panics with it");
        let before = self.in_force();
        if before.revision > 0 && *before.text == *text && !before.unreadable {
            self.set_registry_refused(None);
            return Ok(PutRegistry { in_force: before, unchanged: true });
        }
        let registry = Registry::compile(text.as_bytes()).map_err(NoRegistry::Problems)?;
        let payload = Payload(serde_json::to_string(text).expect("a text has a JSON form").into());
        let queues = registry.queues();
        let request = Request::Command(Command::PutRegistry { text: payload, queues, by: by.clone() });
        match self.ask_blocking(request)? {
            Answer::Reply(Ok(Reply::Registry { revision })) => {
                let (text, put_at, by) = (text.into(), clock::wall(), Some(by.clone()));
                let in_force = Arc::new(InForce { revision, registry, text, put_at, by, unreadable: false });
                *self.reception().in_force.write().expect("nobody panics with it") = in_force.clone();
                self.set_registry_refused(None);
                Ok(PutRegistry { in_force, unchanged: false })
            }
            Answer::Reply(Err(no)) => Err(NoRegistry::Rejected(no)),
            Answer::UnknownOutcome => {
                self.look_again();
                Err(NoRegistry::Unknown)
            }
            _ => Err(NoRegistry::Refused(Refused::Down)),
        }
    }

    /// Whether it was put is not known: what the store says is in force.
    fn look_again(&self) {
        let read = self.read(|reader| {
            let Some(row) = reader.registry()? else { return Ok(None) };
            let row = kernel::registry::Registry::from_row(&row.values)?;
            let text = reader.payloads(&[row.last()])?.pop().flatten();
            Ok(Some((row, text)))
        });
        if let Ok(Some((row, text))) = read {
            let found = Reception::open(Some(&row), text).in_force();
            *self.reception().in_force.write().expect("nobody panics with it") = found;
        }
    }
}
