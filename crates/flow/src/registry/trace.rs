//! What would become of an event, handler by handler, and why: for people who look before they leap. It does what `route` does,
//! for handlers in shadow too, and says for the others why they do not take it.

use super::Registry;
use super::event::{Arrival, BoundEvent};
use super::handler::{KeyFrom, Mode};
use super::reads::Reads;
use super::route::Route;
use super::shown;
use crate::define::scalars::show_duration;
use crate::instant;
use kernel::handler::{Gather, Handling};
use kernel::names::KeyName;
use kernel::queue::{KeyLimit, QueueConfig};
use serde::Serialize;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Trace {
    pub event: String,
    pub family: String,
    /// Nobody would take it: it is kept, and that is all.
    pub unhandled: bool,
    /// In the order of the file.
    pub handlers: Vec<HandlerTrace>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HandlerTrace {
    pub handler: String,
    pub line: u32,
    pub outcome: Outcome,
    /// A sentence.
    pub why: String,
    /// The first of its patterns that matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskTrace>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Taken,
    /// It would be taken if the handler were live.
    Shadow,
    Off,
    NoPattern,
    ConditionFalse,
    Failed,
}

/// The task that would be made.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TaskTrace {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    pub queue: String,
    pub input: &'static str,
    pub priority: String,
    /// Of two tasks that may both start, the one with the earlier order does.
    pub order: String,
    pub keys: Vec<KeyTrace>,
    /// Limits of the queue as a whole.
    pub queue_limits: Vec<String>,
    /// What is done with the event before a task is made of it, and with the task before it starts.
    pub discipline: Vec<String>,
    pub critical: bool,
    pub tags: Vec<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct KeyTrace {
    pub name: String,
    /// `None`: the event is not counted by this key.
    pub value: Option<String>,
    /// The expression that gives the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    pub limits: Vec<String>,
}

impl Registry {
    pub fn trace(&self, arrival: &Arrival<'_>) -> Trace {
        let name = &arrival.spec.name;
        let taking = self.routes.iter().filter(|route| route.handler.on.iter().any(|pattern| pattern.matches(name)));
        let reads = taking.fold(Reads::default(), |reads, route| reads.and(&route.reads));
        let event = BoundEvent::bind(arrival, &reads.widened());
        let handlers: Vec<HandlerTrace> = self.routes.iter().map(|route| self.trace_one(route, arrival, &event)).collect();
        let handled = handlers.iter().any(|handler| matches!(handler.outcome, Outcome::Taken | Outcome::Failed));
        Trace { event: name.to_string(), family: name.family().to_string(), unhandled: !handled, handlers }
    }

    fn trace_one(&self, route: &Route, arrival: &Arrival<'_>, event: &BoundEvent) -> HandlerTrace {
        let handler = &route.handler;
        let pattern = handler.on.iter().find(|pattern| pattern.matches(&arrival.spec.name));
        let condition = handler.condition.as_ref().map(|condition| condition.source().to_owned());
        let handled =
            pattern.filter(|_| handler.mode != Mode::Off).map(|_| route.handle(arrival, event, self.fired(arrival.spec)));
        let mut task = None;
        let (outcome, why) = match handled {
            None if handler.mode == Mode::Off => (Outcome::Off, "the handler is off".to_owned()),
            None => {
                let patterns: Vec<&str> = handler.on.iter().map(|pattern| pattern.as_str()).collect();
                (Outcome::NoPattern, format!("the name matches none of {}", patterns.join(", ")))
            }
            Some(None) => (Outcome::ConditionFalse, "its condition does not hold".to_owned()),
            Some(Some(Err(why))) => (Outcome::Failed, why),
            Some(Some(Ok(handling))) => {
                task = Some(self.task(route, arrival, &handling));
                match handler.mode {
                    Mode::Shadow => (Outcome::Shadow, "it would be taken, but the handler is in shadow".to_owned()),
                    Mode::Live | Mode::Off => (Outcome::Taken, "its pattern matches and its condition holds".to_owned()),
                }
            }
        };
        HandlerTrace {
            handler: handler.name.to_string(),
            line: handler.line,
            outcome,
            why,
            pattern: pattern.map(|pattern| pattern.to_string()),
            condition,
            task,
        }
    }

    fn task(&self, route: &Route, arrival: &Arrival<'_>, handling: &Handling) -> TaskTrace {
        let config = self.queues.get(&handling.queue).map(|queue| &*queue.config);
        let window_ms = match &handling.gather {
            Some(Gather::Debounce { period_ms, .. }) => *period_ms,
            Some(Gather::Batch { timeout_ms, .. }) => *timeout_ms,
            None => 0,
        };
        let ready_at = arrival.received_at.plus_ms(handling.delay_ms.max(window_ms));
        TaskTrace {
            kind: handling.kind.to_string(),
            workflow: handling.workflow.as_ref().map(|workflow| workflow.to_string()),
            queue: handling.queue.to_string(),
            input: if handling.whole { "event" } else { "data" },
            priority: shown::priority(handling.priority),
            order: instant::show(ready_at.plus_us(-handling.priority.head_start_us()).us()),
            keys: keys(route, handling, config),
            queue_limits: config.map(queue_limits).unwrap_or_default(),
            discipline: discipline(route, handling),
            critical: handling.critical,
            tags: handling.tags.iter().map(|tag| tag.to_string()).collect(),
        }
    }
}

/// Those the task carries, and those it would if the event had a value for them.
fn keys(route: &Route, handling: &Handling, config: Option<&QueueConfig>) -> Vec<KeyTrace> {
    let value = |name: &KeyName| handling.keys.iter().find(|(carried, _)| carried == name).map(|(_, value)| value.to_string());
    let limits = |name: &KeyName| config.and_then(|config| config.keys.get(name)).map(key_limits).unwrap_or_default();
    let stated = route.keys.iter().map(|(name, from)| KeyTrace {
        name: name.to_string(),
        value: value(name),
        from: if let KeyFrom::Expr(expr) = from { Some(expr.source().to_owned()) } else { None },
        limits: limits(name),
    });
    let others = handling.keys.iter().filter(|(carried, _)| route.keys.iter().all(|(name, _)| name != carried));
    let others = others.map(|(name, value)| KeyTrace {
        name: name.to_string(),
        value: Some(value.to_string()),
        from: None,
        limits: limits(name),
    });
    stated.chain(others).collect()
}

fn key_limits(limit: &KeyLimit) -> Vec<String> {
    let concurrency = limit.concurrency.map(|slots| format!("{slots} at once"));
    concurrency.into_iter().chain(limit.rate.as_ref().map(shown::rate)).collect()
}

fn queue_limits(config: &QueueConfig) -> Vec<String> {
    let mut limits: Vec<String> = config.concurrency.map(|slots| format!("{slots} at once")).into_iter().collect();
    limits.extend(config.rate.as_ref().map(shown::rate));
    limits.extend(config.backlog_max.map(|max| format!("{max} may wait")));
    limits.extend(config.require_tag.as_ref().map(|tag| format!("only tasks tagged {tag} are picked")));
    limits.extend(config.fairness.as_ref().map(|fairness| format!("fair by {}", fairness.key)));
    limits
}

fn discipline(route: &Route, handling: &Handling) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(dedup) = &handling.dedup {
        said.push(format!("dropped if one with key {} came within {}", dedup.key, show_duration(dedup.window_ms)));
    }
    if let Some(drop_rate) = &handling.drop_rate {
        said.push(format!("dropped if more than {} came with key {}", shown::rate(&drop_rate.rate), drop_rate.key));
    }
    if let Some(singleton) = &handling.singleton {
        let then = if singleton.replace { "takes the place of" } else { "is skipped for" };
        said.push(format!("{then} one with key {} that is under way", singleton.key));
    }
    match (&handling.gather, &route.handler.gather) {
        (Some(Gather::Debounce { key, .. }), Some(gather)) => {
            said.push(format!("debounced {} with key {key}", shown::gathering(gather)));
        }
        (Some(Gather::Batch { key, .. }), Some(gather)) => {
            said.push(format!("in a batch of {} with key {key}", shown::gathering(gather)))
        }
        _ => {}
    }
    if handling.delay_ms > 0 {
        said.push(format!("delayed by {}", show_duration(handling.delay_ms)));
    }
    said.extend(handling.start_within_ms.map(|ms| format!("cancelled unless it starts within {}", show_duration(ms))));
    said.extend(handling.retry.map(|retry| match retry.attempts {
        1 => "tried once".to_owned(),
        many => format!("at most {many} attempts"),
    }));
    said.extend(handling.budget_ms.map(|ms| format!("each attempt may take {}", show_duration(ms))));
    said
}

#[cfg(test)]
mod tests {
    use crate::registry::tests::{arrival, compiled, named};
    use serde_json::json;

    #[test]
    fn every_handler_says_what_it_would_do_and_why() {
        let registry = compiled(
            "
handlers:
  mail:
    on: user/*
    if: event.data.plan == 'pro'
    task: mail
    queue: out
    priority: high
    concurrency: {total: 5, key: event.data.tenant, per_key: 2}
    rate: {count: 1, per: 1m, key: event.data.region}
    debounce: {period: 30s, key: event.data.user}
    # `dedup` does not go with it.
    singleton: skip
    start_within: 10m
    tags: [eu]
  free: {on: user/created, if: event.data.plan == 'free', workflow: w}
  other: {on: [order/*, invoice/paid], task: t}
  shadow: {on: '*', forward: 'https://x.test', mode: shadow}
  off: {on: '*', task: t, mode: off}
  wrong: {on: user/*, task: t, if: event.data.age > 5}
queues:
  out: {concurrency: 9, rate: 100/s, backlog: 50}
",
        );
        let spec = named("user/created");
        let data = r#"{"plan":"pro","tenant":"acme","user":7,"region":null}"#;
        let trace = registry.trace(&arrival(&spec, data));
        let outcome = |found: &super::HandlerTrace| format!("{} {:?}: {}", found.line, found.outcome, found.why);
        let outcomes: Vec<String> = trace.handlers[..5].iter().map(outcome).collect();
        assert_eq!(
            outcomes,
            [
                "3 Taken: its pattern matches and its condition holds",
                "16 ConditionFalse: its condition does not hold",
                "17 NoPattern: the name matches none of order/*, invoice/paid",
                "18 Shadow: it would be taken, but the handler is in shadow",
                "19 Off: the handler is off",
            ]
        );
        let failed = outcome(&trace.handlers[5]);
        assert!(failed.starts_with("20 Failed: event.data.age > 5: no key `age` in event.data"), "{failed}");
        let task = serde_json::to_value(trace.handlers[0].task.as_ref()).expect("it can be shown");
        assert_eq!(
            task,
            json!({
                "type": "mail", "queue": "out", "input": "data", "priority": "high",
                "order": "1969-12-31T23:50:31.000000Z",
                "keys": [
                    {"name": "mail", "value": "all", "limits": ["5 at once"]},
                    {"name": "mail.region", "value": null, "from": "event.data.region", "limits": ["1/1m"]},
                    {"name": "mail.tenant", "value": "acme", "from": "event.data.tenant", "limits": ["2 at once"]},
                    {"name": "mail@single", "value": "all", "limits": ["1 at once"]},
                ],
                "queue_limits": ["9 at once", "100/1s", "50 may wait"],
                "discipline": [
                    "is skipped for one with key all that is under way",
                    "debounced 30s by event.data.user with key 7",
                    "cancelled unless it starts within 10m",
                ],
                "critical": false, "tags": ["eu"],
            })
        );
        assert!(!trace.unhandled);
        let once = compiled("handlers: {a: {on: user/*, task: t, dedup: 1h}}").trace(&arrival(&spec, "{}"));
        let said = once.handlers[0].task.as_ref().expect("it is taken").discipline.clone();
        assert_eq!(said, ["dropped if one with key event-1 came within 1h"]);
        let nobody = compiled("handlers: {a: {on: x, task: t}}").trace(&arrival(&spec, "{}"));
        assert!(nobody.unhandled);
    }
}
