//! The published JSON Schema of a registry. It accepts what the compiler accepts, and tells editors what each key means; what only
//! the compiler can see (expressions, schedules, contradictions) it leaves to that.

use super::cron::Overlap;
use super::forward::{Method, Shape};
use super::handler::Mode;
use super::webhook::{Algorithm, Encoding, Provider};
use crate::limits::*;
use kernel::limits::*;
use kernel::priority::Priority;
use serde_json::{Map, Value, json};

pub fn registry_schema() -> Value {
    let named = |what: &str, most: usize, about: &str| {
        json!({"type": ["object", "null"], "maxProperties": most, "additionalProperties": {"$ref": format!("#/$defs/{what}")},
               "description": about})
    };
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:signaller:schema:registry",
        "title": "Signaller registry",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "handlers": named("handler", REGISTRY_HANDLERS_MAX, "What is made of which events, by name."),
            "queues": named("queue", REGISTRY_QUEUES_MAX, "Discipline of whole queues, by name."),
            "webhooks": named("webhook", WEBHOOKS_MAX, "Who may send events to /webhooks/<name>."),
            "crons": named("cron", CRONS_MAX, "Events that are emitted by the clock."),
        },
        "$defs": defs(),
    })
}

fn closed(about: &str, required: &[&str], properties: Value) -> Value {
    json!({"type": "object", "description": about, "required": required, "additionalProperties": false, "properties": properties})
}

fn words<T>(named: &[(&str, T)]) -> Value {
    json!({"enum": named.iter().map(|(name, _)| *name).collect::<Vec<_>>()})
}

fn of(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

fn told(name: &str, about: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}"), "description": about})
}

fn number(least: u64, most: u64) -> Value {
    json!({"type": "integer", "minimum": least, "maximum": most})
}

fn defs() -> Map<String, Value> {
    let mut defs = scalars();
    defs.extend(limits());
    let known = [("handler", handler()), ("queue", queue()), ("webhook", webhook()), ("cron", cron()), ("forward", forward())];
    defs.extend(known.map(|(name, def)| (name.to_owned(), def)));
    defs
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn scalars() -> Map<String, Value> {
    object(json!({
        "word": {"type": "string", "pattern": format!("^[A-Za-z0-9_./:@-]{{1,{NAME_BYTES_MAX}}}$")},
        "pattern": {"type": "string", "minLength": 1, "maxLength": NAME_BYTES_MAX, "examples": ["github/*", "user/created", "*"]},
        "expression": {"type": ["string", "boolean", "number"], "description": "CEL over `event`."},
        "duration": {"type": "string", "pattern": "^([0-9]+(ms|s|m|h|d))+$", "examples": ["500ms", "30s", "5m", "48h", "1d"]},
        "tag": {"type": "string", "minLength": 1, "maxLength": NAME_BYTES_MAX},
        "level": {"oneOf": [
            {"enum": Priority::NAMED.map(|(name, _)| name)},
            {"type": "integer", "minimum": -HEAD_START_S_MAX, "maximum": HEAD_START_S_MAX, "description": "A head start in seconds."},
            {"type": "string", "pattern": "^[+-]?[0-9]+$"},
        ]},
        "priority": {"anyOf": [of("level"), {"type": "string", "description": "CEL that gives a level or seconds."}]},
        "secret": {"type": "string", "pattern": "^\\s*\\$\\{env:[A-Za-z_][A-Za-z0-9_]*\\}\\s*$",
                   "description": "Where it is to be found, never itself.", "examples": ["${env:GITHUB_SECRET}"]},
        "slots": number(1, CONCURRENCY_MAX.into()),
        "retry": closed("When a failed attempt is tried again.", &[], json!({
            "attempts": {"type": "integer", "minimum": 1, "maximum": ATTEMPTS_MAX, "description": "In all, the first included."},
            "backoff": told("duration", "After the first failure; it doubles after each further one."),
            "backoff_max": of("duration"),
            "jitter": {"oneOf": [number(0, 100), {"type": "string", "pattern": "^\\+?[0-9]+%$"}]},
        })),
    }))
}

fn limits() -> Map<String, Value> {
    let rate_text = json!({"type": "string", "pattern": "/", "examples": ["10/s", "100/5m", "100/1h burst 5"]});
    let rate = |keyed: bool| {
        let mut properties = json!({
            "count": number(1, RATE_COUNT_MAX.into()), "per": of("duration"), "burst": number(1, RATE_BURST_MAX.into()),
        });
        if keyed {
            properties["key"] = told("expression", "Counted by each value of it.");
        }
        json!({"oneOf": [rate_text, closed("", &["count", "per"], properties)]})
    };
    let concurrency = json!({"oneOf": [of("slots"), closed("", &[], json!({
        "total": of("slots"), "key": of("expression"), "per_key": told("slots", "Of each value of the key."),
    }))]});
    let one_or_many = |one: &str| json!({"oneOf": [of(one), {"type": "array", "items": of(one)}]});
    let either = |short: Value, about: &str, required: &[&str], properties: Value| json!({"oneOf": [short, closed(about, required, properties)]});
    object(json!({
        "plain_rate": rate(false),
        "keyed_rate": rate(true),
        "rates": one_or_many("keyed_rate"),
        "one_concurrency": concurrency,
        "concurrency": one_or_many("one_concurrency"),
        "debounce": either(of("duration"), "The newest event counts.", &["period"], json!({
            "period": of("duration"), "max_wait": of("duration"), "key": of("expression"),
        })),
        "batch": closed("Several events, one task.", &["size", "timeout"], json!({
            "size": number(2, WINDOW_EVENTS_MAX.into()), "timeout": of("duration"), "key": of("expression"),
        })),
        "singleton": either(json!({"enum": ["skip", "replace"]}), "One task at a time.", &["next"], json!({
            "next": {"enum": ["skip", "replace"]}, "key": of("expression"),
        })),
        "dedup": either(of("duration"), "One with the same key is no other.", &["window"], json!({
            "window": of("duration"), "key": of("expression"),
        })),
        "fairness": closed("Who runs already waits a little.", &["key"], json!({
            "key": of("expression"), "step": of("duration"),
            "weights": {"type": "object", "maxProperties": QUEUE_WEIGHTS_MAX, "additionalProperties": number(1, FAIR_WEIGHT_MAX.into())},
        })),
        "backlog": either(number(1, BACKLOG_MAX.into()), "How many may wait.", &["max"], json!({
            "max": number(1, BACKLOG_MAX.into()), "full": {"enum": ["refuse", "drop_oldest"]},
        })),
        "bounds": closed("How far the operator may go.", &[], json!({
            "priority": {"type": "array", "minItems": 2, "maxItems": 2, "items": of("level")},
            "concurrency": {"type": "array", "minItems": 2, "maxItems": 2, "items": of("slots")},
            "pause": {"type": "boolean"}, "shed": {"type": "boolean"}, "batch": {"type": "boolean"},
        })),
    }))
}

fn handler() -> Value {
    let properties = json!({
        "on": {"description": "The events it takes.",
               "oneOf": [of("pattern"), {"type": "array", "minItems": 1, "maxItems": HANDLER_PATTERNS_MAX, "items": of("pattern")}]},
        "if": told("expression", "It takes only those for which this holds."),
        "workflow": told("word", "A run of it does the work."),
        "task": told("word", "A worker of this type does the work."),
        "forward": {"description": "The event is passed on.", "oneOf": [{"type": "string"}, of("forward")]},
        "queue": told("word", "Where its tasks wait; its own name if it does not say."),
        "input": {"enum": ["data", "event"], "description": "What the work gets."},
        "mode": words(&Mode::NAMED),
        "critical": {"type": "boolean", "description": "Its tasks pass pauses."},
        "priority": of("priority"),
        "concurrency": told("concurrency", "How many of its tasks run at once."),
        "rate": told("rates", "How many of its tasks start in a while; the others wait."),
        "drop_rate": told("keyed_rate", "How many events it takes in a while; the others are dropped, and counted."),
        "debounce": of("debounce"), "batch": of("batch"), "singleton": of("singleton"), "dedup": of("dedup"),
        "delay": told("duration", "Its tasks start no earlier than that after the event."),
        "start_within": told("duration", "A task that has not started by then is cancelled."),
        "timeout": told("duration", "How long one attempt may take."),
        "retry": of("retry"),
        "fairness": of("fairness"), "backlog": of("backlog"), "heartbeat": of("duration"), "require_tag": of("tag"),
        "tags": {"type": "array", "maxItems": TASK_TAGS_MAX, "items": of("tag")},
        "bounds": of("bounds"),
    });
    let mut handler = closed("What is made of some events.", &["on"], properties);
    handler["oneOf"] = json!([{"required": ["workflow"]}, {"required": ["task"]}, {"required": ["forward"]}]);
    handler
}

fn forward() -> Value {
    closed(
        "Where to, and how.",
        &["url"],
        json!({
            "url": {"type": "string", "pattern": "^https?://"},
            "method": words(&Method::NAMED),
            "headers": {"type": "object", "maxProperties": FORWARD_HEADERS_MAX, "additionalProperties": {"type": "string"},
                        "description": "Secrets stand in them as ${env:NAME}."},
            "timeout": told("duration", "How long one request may take."),
            "shape": words(&Shape::NAMED),
        }),
    )
}

fn queue() -> Value {
    let key = closed(
        "What tasks are counted by.",
        &[],
        json!({
            "key": told("expression", "Gives the value for an event; without it tasks carry it themselves."),
            "concurrency": of("slots"),
            "rate": of("plain_rate"),
        }),
    );
    closed(
        "Discipline of a whole queue.",
        &[],
        json!({
            "concurrency": told("slots", "Leases at once."),
            "rate": of("plain_rate"),
            "keys": {"type": ["object", "null"], "maxProperties": TASK_KEYS_MAX, "additionalProperties": key,
                     "propertyNames": {"pattern": "^[A-Za-z0-9_/:-]+$"}},
            "fairness": of("fairness"), "backlog": of("backlog"), "heartbeat": of("duration"), "require_tag": of("tag"),
            "retry": of("retry"),
            "timeout": told("duration", "How long one attempt may take."),
            "override_slots": number(0, OVERRIDE_SLOTS_MAX.into()),
            "idempotency_window": of("duration"),
        }),
    )
}

fn webhook() -> Value {
    closed(
        "A sender that proves itself.",
        &["provider"],
        json!({
            "provider": {"enum": Provider::ALL.map(Provider::as_str)},
            "secret": of("secret"),
            "secrets": {"type": "array", "minItems": 1, "maxItems": WEBHOOK_SECRETS_MAX, "items": of("secret")},
            "header": {"type": "string", "description": "Where the signature, or the secret itself, stands."},
            "header_prefix": {"type": "string", "description": "What stands before it there."},
            "algorithm": words(&Algorithm::NAMED),
            "encoding": words(&Encoding::NAMED),
            "timestamp_header": {"type": "string"},
            "signs": {"type": "string", "examples": ["${timestamp}.${body}"]},
            "tolerance": told("duration", "How old a signature may be."),
            "id": told("expression", "Over event.headers and event.data."),
            "id_header": {"type": "string"},
            "prefix": of("word"),
            "event": {"type": "string", "description": "A name, or a text with ${…} over event.headers and event.data."},
            "body_max": {"oneOf": [number(1, PAYLOAD_BYTES_MAX as u64), {"type": "string", "pattern": "(KiB|MiB)$"}]},
        }),
    )
}

fn cron() -> Value {
    let slots = json!({"enum": ["skip", "one", "all"]});
    closed(
        "An event that is emitted by the clock.",
        &["schedule"],
        json!({
            "schedule": {"type": "string", "examples": ["*/5 * * * *", "0 9 * * MON-FRI", "@daily"]},
            "zone": {"type": "string", "examples": ["Europe/Berlin"], "default": "UTC"},
            "event": told("word", "cron/<name> if it does not say."),
            "data": {"description": "What the event carries."},
            "catch_up": {"description": "What becomes of slots that were missed.", "oneOf": [slots, closed("", &["slots"], json!({
                "slots": slots, "max": number(1, CRON_CATCH_UP_MAX.into()), "within": of("duration"),
            }))]},
            "jitter": told("duration", "A slot fires up to so much later."),
            "overlap": words(&Overlap::NAMED),
            "critical": {"type": "boolean"},
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source;

    fn fits(text: &str) -> bool {
        let document = source::parse(text.as_bytes()).expect("the text can be read").to_json();
        jsonschema::validator_for(&registry_schema()).expect("it is a schema").is_valid(&document)
    }

    #[test]
    fn it_is_a_schema_and_refuses_what_the_compiler_refuses() {
        assert!(jsonschema::meta::is_valid(&registry_schema()));
        for (text, expected) in [
            ("handlers: {a: {on: e, task: t}}", true),
            ("handlers: {a: {on: e}}", false),
            ("handlers: {a: {on: e, task: t, workflow: w}}", false),
            ("handlers: {a: {on: e, task: t, concurency: 5}}", false),
            ("handlers: {a: {on: [], task: t}}", false),
            ("handlers: {a: {on: e, task: t, rate: 10}}", false),
            ("handlers: {a: {on: e, task: t, concurrency: [{key: event.name, per_key: 2}]}}", true),
            ("crons: {a: {zone: UTC}}", false),
            ("webhooks: {a: {provider: github, secret: hunter2}}", false),
            ("queues: {a: {keys: {a.b: {}}}}", false),
            ("handler: {}", false),
        ] {
            assert_eq!(fits(text), expected, "{text}");
            assert_eq!(super::super::Registry::compile(text.as_bytes()).is_ok(), expected, "{text}");
        }
    }
}
