//! Events in scripts: what came in, what each handler makes of it, and how the answer is shown.

use super::Script;
use super::say::{self, Words};
use super::world::START;
use crate::command::{Command, NewEvent, Reply};
use crate::event::{EventSpec, Handled, Outcome};
use crate::handler::{Dedup, DropRate, Gather, Handling, Routed, SINGLE_KEY, Singleton};
use crate::names::*;
use crate::priority::Priority;
use crate::rate::Rate;
use crate::record::Payload;

fn value(text: &str) -> KeyValue {
    KeyValue::parse(text).unwrap()
}

impl Script {
    pub(super) fn emit(&mut self, verb: &str, rest: &str) {
        let mut parts = rest.split('+');
        let mut words = Words::new(parts.next().unwrap());
        let label = words.word().to_owned();
        let by = Actor::parse("ann").unwrap();
        let revision = words.option("revision").map(|text| text.parse().unwrap());
        let revision = revision.unwrap_or(self.world.state.registry().revision());
        let spec = (verb == "emit").then(|| {
            let mut spec = EventSpec::named(EventName::parse(words.word()).unwrap());
            spec.key = words.option("id").map(|key| EventKey::parse(key).unwrap());
            spec.ts = words.option("ts").map(|ts| START.plus_ms(say::ms(ts)));
            spec
        });
        let bytes = words.option("bytes").map_or(0, |bytes| bytes.parse().unwrap());
        words.end(rest);
        let data = Payload(format!("\"{}\"", "x".repeat(bytes)).into());
        let routed: Vec<Routed> = parts.map(routed).collect();
        let command = match spec {
            Some(spec) => Command::Emit { events: vec![NewEvent { spec, data, routed }], revision },
            None => Command::ReplayEvent { event: self.events[&label], routed, bytes: data.text().len() as u64, revision, by },
        };
        let text = match self.world.run(&command) {
            Ok(Reply::Emitted(mut emitted)) => {
                let emitted = emitted.pop().expect("an answer for the event");
                if verb == "emit" {
                    self.events.insert(label.clone(), emitted.event);
                }
                let label = if verb == "emit" { label.clone() } else { format!("{label}'") };
                let several = emitted.handled.len() > 1;
                let mut said: Vec<String> = Vec::new();
                for handled in &emitted.handled {
                    said.push(self.handled(&label, handled, several));
                }
                let again = if emitted.duplicate { " again" } else { "" };
                format!("{label}{again}: {}", if said.is_empty() { "unhandled".into() } else { said.join(", ") })
            }
            Ok(other) => panic!("an emit answered {other:?}"),
            Err(no) => format!("{label}: {}", no.code()),
        };
        self.answers.push(text);
    }

    fn handled(&mut self, label: &str, handled: &Handled, several: bool) -> String {
        if let Outcome::Queued { task } = handled.outcome {
            let name = if several { format!("{label}.{}", handled.handler) } else { label.to_owned() };
            self.names.entry(task).or_insert_with(|| name.clone());
            self.ids.entry(name).or_insert(task);
        }
        let stale = matches!(handled.outcome, Outcome::Debounced { stale: true, .. });
        let verb = if stale { "stale" } else { handled.outcome.as_str() };
        match handled.outcome.task() {
            Some(task) if verb != "queued" => format!("{verb} {}", self.names[&task]),
            _ => verb.to_owned(),
        }
    }
}

fn routed(text: &str) -> Routed {
    let mut words = Words::new(text);
    let handler = HandlerName::parse(words.word()).unwrap();
    let (shadow, queue) = (words.flag("shadow"), words.option("queue"));
    let queue = say::queue(queue.unwrap_or(if shadow { "s" } else { "q" }));
    if words.flag("broken") {
        return Routed { handler, queue, shadow, handling: Err("no such field".into()) };
    }
    let parts = |text: &'static str| text.split('/').collect::<Vec<_>>();
    let replace = words.flag("replace");
    let singleton = words.option("single").map(|key| Singleton { key: value(key), replace });
    let mut keys = words.keys();
    if let Some(singleton) = &singleton {
        keys.push((KeyName::parse(&format!("{handler}{SINGLE_KEY}")).unwrap(), singleton.key.clone()));
    }
    keys.sort();
    let debounce = words.option("debounce").map(parts).map(|parts| Gather::Debounce {
        key: value(parts[0]),
        period_ms: say::ms(parts[1]),
        max_wait_ms: parts.get(2).map(|ms| say::ms(ms)),
    });
    let batch = words.option("batch").map(parts).map(|parts| Gather::Batch {
        key: value(parts[0]),
        size: parts[1].parse().unwrap(),
        timeout_ms: say::ms(parts[2]),
    });
    let handling = Handling {
        queue: queue.clone(),
        kind: say::kind(words.option("type").unwrap_or("t")),
        workflow: words.option("workflow").map(|name| WorkflowName::parse(name).unwrap()),
        whole: words.flag("whole"),
        priority: words.option("prio").map_or(Priority::NORMAL, say::priority),
        keys,
        tags: Vec::new(),
        retry: None,
        budget_ms: None,
        delay_ms: words.option("delay").map_or(0, say::ms),
        start_within_ms: words.option("within").map(say::ms),
        critical: words.flag("critical"),
        dedup: words.option("dedup").map(parts).map(|parts| Dedup { key: value(parts[0]), window_ms: say::ms(parts[1]) }),
        drop_rate: words.option("drop").map(parts).map(|parts| DropRate { key: value(parts[0]), rate: rate(&parts[1..]) }),
        singleton,
        gather: debounce.or(batch),
    };
    words.end(text);
    Routed { handler, queue, shadow, handling: Ok(Box::new(handling)) }
}

/// `1/10s`, or with a burst `1/10s/3`.
fn rate(parts: &[&str]) -> Rate {
    let burst = parts.get(2).map_or(1, |burst| burst.parse().unwrap());
    Rate { count: parts[0].parse().unwrap(), per_ms: say::ms(parts[1]), burst }
}
