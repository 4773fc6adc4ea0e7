//! What clients ask of events: they send them with every discipline there is, swap registries, pause and boost families.
//! Which handlers take an event is made up here; nobody reads a registry's text.

use crate::catalogue::CATALOGUE;
use crate::client::{Client, actor};
use crate::temper::Wish;
use engine::Request;
use kernel::command::{Command, NewEvent, PauseUntil};
use kernel::event::EventSpec;
use kernel::handler::{Dedup, DropRate, Gather, Handling, Routed, Singleton, WORKFLOW_TYPE};
use kernel::ids::EventId;
use kernel::limits::FAMILIES_MAX;
use kernel::names::{Actor, EventKey, EventName, HandlerName, KeyName, KeyValue, Pattern, QueueName, TypeName, WebhookName};
use kernel::queue::{KeyLimit, QueueConfig};
use kernel::rate::Rate;
use kernel::record::Payload;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Each is known for one thing, and may do others besides.
const HANDLERS: [&str; 8] = ["plain", "once", "few", "quiet", "many", "skip", "swap", "flow"];
const NAMES: [&str; 4] = ["shop/order.paid", "shop/order.sent", "hub/push", "deploy"];
const PATTERNS: [&str; 5] = ["shop/*", "shop/order", "hub", "deploy", "*"];

fn key_of(handler: &str) -> KeyName {
    key_named(&format!("{handler}@single"))
}

/// With the limits that singletons have as keys of their queue.
pub fn with_singles(mut config: QueueConfig) -> QueueConfig {
    let one = KeyLimit { concurrency: Some(1), rate: None };
    config.keys.extend(["skip", "swap"].map(|handler| (key_of(handler), one.clone())));
    config
}

/// And those that handlers count their own tasks by: in all, and by a key.
fn with_handlers(config: QueueConfig) -> QueueConfig {
    let mut config = with_singles(config);
    let rate = Rate { count: 1, per_ms: 400, burst: 1 };
    let limits = [("plain", Some(1), None), ("many", Some(2), None), ("once.tenant", None, Some(rate))];
    config.keys.extend(limits.map(|(key, concurrency, rate)| (key_named(key), KeyLimit { concurrency, rate })));
    config
}

fn key_named(name: &str) -> KeyName {
    KeyName::parse(name).expect("a name")
}

impl Client<'_> {
    pub fn about_events(&mut self, wish: Wish) -> Vec<Request> {
        let by = actor();
        let command = match wish {
            Wish::Emit if self.model.live() >= self.temper.live_max => return Vec::new(),
            Wish::Emit => self.emit(),
            Wish::ReplayEvent => match self.happened() {
                Some(event) => self.replay(event),
                None => return Vec::new(),
            },
            Wish::ExpireEvents => {
                let mut events: Vec<EventId> = (0..1 + self.chance.below(6)).filter_map(|_| self.happened()).collect();
                events.sort_unstable();
                events.dedup();
                let before = self.now.plus_us(-(self.chance.below(4_000) as i64 * 1_000));
                Command::ExpireEvents { events, before }
            }
            Wish::PutRegistry => self.registry(),
            Wish::PauseFamilies => {
                Command::PauseFamilies { families: self.pattern(), until: self.pause(), reason: "a storm".into(), by }
            }
            Wish::ResumeFamilies => {
                let paused: Vec<Pattern> = self.model.events.controls.keys().cloned().collect();
                let families = if paused.is_empty() { self.pattern() } else { self.chance.pick(&paused).clone() };
                Command::ResumeFamilies { families, by }
            }
            Wish::BoostFamilies => Command::BoostFamilies { families: self.pattern(), boost: self.priority(), by },
            Wish::NoteRefused => match 1 + self.chance.below(9) as u32 {
                signals if signals % 4 == 0 => Command::NoteSignals { signals, reason: "late".into() },
                requests => {
                    let webhook = WebhookName::parse("hub").expect("a name");
                    Command::NoteRefused { webhook, requests, reason: "a wrong signature".into() }
                }
            },
            Wish::EventMistake => return self.event_mistake(),
            other => unreachable!("{other:?} is not about events"),
        };
        vec![Request::Command(command)]
    }

    pub fn pattern(&mut self) -> Pattern {
        Pattern::parse(self.chance.pick::<&str>(&PATTERNS)).expect("a pattern")
    }

    fn pause(&mut self) -> PauseUntil {
        let ms = self.chance.between(1, 5_000);
        match self.chance.below(3) {
            0 => PauseUntil::Resumed,
            1 => PauseUntil::At(self.now.plus_ms(ms)),
            _ => PauseUntil::After { ms },
        }
    }

    /// One of the newest, as a rule.
    fn happened(&mut self) -> Option<EventId> {
        let newest = self.events.len().checked_sub(1)?;
        let back = if self.chance.permille(600) { self.chance.below(newest.min(12) + 1) } else { self.chance.below(newest + 1) };
        Some(self.events[newest - back])
    }

    /// The one in force, as a rule.
    fn revision(&mut self) -> u32 {
        let revision = self.model.events.registry.revision;
        if self.chance.permille(40) { revision.saturating_sub(1) } else { revision }
    }

    fn emit(&mut self) -> Command {
        let count = if self.chance.permille(300) { 1 + self.chance.below(4) } else { 1 };
        let events = (0..count).map(|_| self.new_event()).collect();
        Command::Emit { events, revision: self.revision() }
    }

    fn new_event(&mut self) -> NewEvent {
        let mut spec = EventSpec::named(EventName::parse(self.chance.pick::<&str>(&NAMES)).expect("a name"));
        // Few ids, so that they are used again and again.
        spec.key = self.chance.maybe(300, |chance| EventKey::parse(&format!("e{}", chance.below(12))).expect("a key"));
        let off_ms = self.chance.maybe(400, |chance| chance.between(0, 4_000) as i64 - 2_000);
        spec.ts = off_ms.map(|ms| self.now.plus_us(ms * 1_000));
        *self.inputs += 1;
        let list: Vec<usize> = (0..self.chance.below(4)).collect();
        let data = format!("{{\"n\":{},\"list\":{list:?},\"event\":{}}}", self.chance.below(10), self.inputs);
        NewEvent { spec, data: Payload(data.into()), routed: self.handlers() }
    }

    /// Who takes it, and what they make of it.
    fn handlers(&mut self) -> Vec<Routed> {
        let known: Vec<&str> = HANDLERS.into_iter().filter(|name| *name != "flow" || self.temper.runs).collect();
        let many = 400 / known.len() as u32 + 50;
        let mut routed = Vec::new();
        for name in known {
            if self.chance.permille(many) {
                routed.push(self.routed(name));
            }
        }
        routed
    }

    fn routed(&mut self, name: &str) -> Routed {
        let handler = HandlerName::parse(name).expect("a name");
        // Handlers change their queues now and then.
        let moved = usize::from(self.chance.permille(150));
        let at = HANDLERS.iter().position(|known| *known == name).unwrap_or(0) + moved;
        let queue = self.temper.queues[at % self.temper.queues.len()].clone();
        let shadow = self.chance.permille(30);
        if self.chance.permille(20) {
            return Routed { handler, queue, shadow, handling: Err("no such field".into()) };
        }
        let singleton = matches!(name, "skip" | "swap").then(|| Singleton { key: self.value(), replace: name == "swap" });
        let mut keys: BTreeMap<KeyName, KeyValue> = BTreeMap::new();
        for key in self.temper.keys.clone() {
            if self.chance.permille(500) {
                keys.insert(key, self.value());
            }
        }
        keys.extend(singleton.iter().map(|single| (key_of(name), single.key.clone())));
        match name {
            "plain" | "many" => _ = keys.insert(key_named(name), KeyValue::parse("all").expect("a value")),
            "once" => _ = keys.insert(key_named("once.tenant"), self.value()),
            _ => {}
        }
        let (kind, workflow) = match name {
            "flow" => (TypeName::parse(WORKFLOW_TYPE).expect("a name"), Some(self.chance.pick(&CATALOGUE).name.clone())),
            _ => (self.chance.pick(&self.temper.types).clone(), None),
        };
        let own = |chance: &mut crate::chance::Chance, of: &str| name == of || chance.permille(60);
        let dedup =
            own(self.chance, "once").then(|| Dedup { key: self.value(), window_ms: *self.chance.pick(&[0, 50, 1_000, 20_000]) });
        let drop_rate = own(self.chance, "few").then(|| DropRate { rate: self.rate(), key: self.value() });
        let gather = match (own(self.chance, "quiet"), own(self.chance, "many")) {
            (true, _) => Some(Gather::Debounce {
                key: self.value(),
                period_ms: *self.chance.pick(&[1, 40, 500, 3_000]),
                max_wait_ms: self.chance.maybe(600, |chance| *chance.pick(&[20, 300, 4_000])),
            }),
            (_, true) => Some(Gather::Batch {
                key: self.value(),
                size: 1 + self.chance.below(5) as u32,
                timeout_ms: *self.chance.pick(&[1, 100, 2_000]),
            }),
            _ => None,
        };
        let handling = Handling {
            queue: queue.clone(),
            kind,
            workflow,
            whole: self.chance.permille(200),
            priority: self.priority(),
            keys: keys.into_iter().collect(),
            tags: self.temper.tags.iter().filter(|_| self.chance.permille(500)).cloned().collect(),
            retry: if self.chance.permille(300) { Some(self.retry()) } else { None },
            budget_ms: self.chance.maybe(200, |chance| chance.between(1, 8_000)),
            delay_ms: self.chance.maybe(100, |chance| chance.between(1, 2_000)).unwrap_or(0),
            start_within_ms: self.chance.maybe(150, |chance| chance.between(1, 4_000)),
            critical: self.chance.permille(80),
            dedup,
            drop_rate,
            singleton,
            gather,
        };
        Routed { handler, queue, shadow, handling: Ok(Box::new(handling)) }
    }

    fn value(&mut self) -> KeyValue {
        self.chance.pick(&self.temper.values).clone()
    }

    fn replay(&mut self, event: EventId) -> Command {
        *self.inputs += 1;
        // A name of its own, to tell by it which it was.
        let by = Actor::parse(&format!("replay{}", self.inputs)).unwrap_or_else(|_| actor());
        Command::ReplayEvent { event, routed: self.handlers(), bytes: 16, revision: self.revision(), by }
    }

    fn registry(&mut self) -> Command {
        let mut queues: BTreeMap<QueueName, Arc<QueueConfig>> = BTreeMap::new();
        for queue in self.temper.queues.clone() {
            if self.chance.permille(500) {
                let config = self.config();
                // What keeps a handler's tasks alone is no affair of its queue's: it may say so, too.
                let config = if self.chance.permille(500) { with_handlers(config) } else { config };
                queues.insert(queue, Arc::new(config));
            }
        }
        *self.inputs += 1;
        let text = Payload(format!("\"registry {}\"", self.inputs).into());
        Command::PutRegistry { text, queues, by: actor() }
    }

    fn event_mistake(&mut self) -> Vec<Request> {
        let by = actor();
        let command = match self.chance.below(8) {
            0..3 => self.replay(EventId::new(1 << 40, 0)),
            3 => Command::PauseFamilies { families: self.pattern(), until: PauseUntil::At(self.now), reason: String::new(), by },
            4 => {
                let Command::PutRegistry { text, mut queues, by } = self.registry() else { unreachable!("a registry is put") };
                for config in queues.values_mut() {
                    *config = Arc::new(QueueConfig { concurrency: Some(0), ..(**config).clone() });
                }
                Command::PutRegistry { text, queues, by }
            }
            5 | 6 => Command::ResumeFamilies { families: Pattern::parse("nobody").expect("a pattern"), by },
            // More than there is room for, and not for long.
            _ => {
                let pause = |n: usize| Command::PauseFamilies {
                    families: Pattern::parse(&format!("flood/{n}")).expect("a pattern"),
                    until: PauseUntil::After { ms: 100 },
                    reason: "a flood".into(),
                    by: by.clone(),
                };
                return (0..FAMILIES_MAX + 2).map(|n| Request::Command(pause(n))).collect();
            }
        };
        vec![Request::Command(command)]
    }
}
