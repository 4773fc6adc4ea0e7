//! The published JSON Schema (draft 2020-12) of both written forms: what an editor can check while one types. It says what each
//! node may hold; what only the whole can show (edges, cycles, expressions) is `check`'s.

mod listed;

use crate::limits::*;
use kernel::limits::{
    ATTEMPTS_MAX, HEAD_START_S_MAX, NAME_BYTES_MAX, NODE_ID_BYTES_MAX, RUN_STEPS_DEFAULT, RUN_STEPS_MAX, TASK_KEYS_MAX,
    TASK_TAGS_MAX,
};
use kernel::priority::Priority;
use serde_json::{Map, Value, json};

/// What a type of the engine holds beside `type`, `after`, `join`, `when` and `on_error`: its fields, and which must be there.
struct Kind {
    name: &'static str,
    about: &'static str,
    fields: Value,
    required: &'static [&'static str],
}

pub fn schema() -> Value {
    let kinds = kinds();
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
    let mut choices: Vec<Value> = kinds
        .iter()
        .map(|kind| {
            json!({
                "if": {"properties": {"type": {"const": kind.name}}},
                "then": {"$ref": format!("#/$defs/{}", kind.name)},
            })
        })
        .collect();
    choices.push(json!({
        "if": {"properties": {"type": {"not": {"enum": names}}}},
        "then": {"$ref": "#/$defs/work"},
    }));
    let mut defs = shared();
    for kind in &kinds {
        defs.insert(kind.name.to_owned(), node_of(kind.about, &kind.fields, kind.required));
    }
    one_of(&mut defs, "branch", [&["rules", "default"], &["route"]]);
    one_of(&mut defs, "sleep", [&["for"], &["until"]]);
    let work = json!({
        "retry": {"$ref": "#/$defs/retry"},
        "timeout": {"$ref": "#/$defs/duration"},
        "queue": {"$ref": "#/$defs/word"},
        "priority": {"$ref": "#/$defs/priority"},
        "key": {"type": "object", "maxProperties": TASK_KEYS_MAX, "additionalProperties": {"type": ["string", "integer"]},
                "description": "Values of limit keys, such as {tenant: \"${input.tenant}\"}."},
        "with": {"description": "Its input, with ${…} in its texts."},
    });
    let about = "A task for a worker: any type that is not the engine's own. Its queue is its type unless it says otherwise.";
    defs.insert("work".to_owned(), node_of(about, &work, &[]));
    defs.insert(
        "node".to_owned(),
        json!({"type": "object", "required": ["type"], "properties": {"type": {"$ref": "#/$defs/word"}}, "allOf": choices}),
    );
    let header = header();
    defs.extend(listed::defs(&header));
    let mut properties = header;
    properties.insert("nodes".to_owned(), json!({"$ref": "#/$defs/nodes"}));
    defs.insert(
        "native".to_owned(),
        json!({"description": "Nodes as a map by their ids.", "type": "object", "required": ["workflow", "nodes"],
               "additionalProperties": false, "properties": properties}),
    );
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:signaller:schema:workflow",
        "title": "Signaller workflow",
        "type": "object",
        // The one question between the forms, so that an editor tells what is wrong with one of them, not with both.
        "if": {"required": ["nodes"], "properties": {"nodes": {"type": "array"}}},
        "then": {"$ref": "#/$defs/listed"},
        "else": {"$ref": "#/$defs/native"},
        "$defs": defs,
    })
}

/// What a definition has beside its nodes.
fn header() -> Map<String, Value> {
    let header = json!({
            "workflow": {"$ref": "#/$defs/word", "description": "Its name."},
            "version": {"$ref": "#/$defs/version"},
            "description": {"type": "string", "maxLength": DESCRIPTION_BYTES_MAX},
            "tags": {"type": "array", "maxItems": TASK_TAGS_MAX, "items": {"type": "string", "minLength": 1}},
            "input": {"type": "object", "description": "The JSON Schema of the input."},
            "output": {"$ref": "#/$defs/value", "description": "What a run gives; without it, what its last node gives."},
            "defaults": {
                "type": "object",
                "additionalProperties": false,
                "description": "For worker nodes that do not say otherwise.",
                "properties": {
                    "retry": {"$ref": "#/$defs/retry"},
                    "timeout": {"$ref": "#/$defs/duration"},
                    "queue": {"$ref": "#/$defs/word"},
                    "priority": {"$ref": "#/$defs/priority"},
                },
            },
            "limits": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "deadline": {"$ref": "#/$defs/duration", "description": "A run that is not over by then fails."},
                    "stall": {"$ref": "#/$defs/duration", "description": "A run fails when nothing that could move has moved for so long."},
                    "steps": {"type": "integer", "minimum": 1, "maximum": RUN_STEPS_MAX, "default": RUN_STEPS_DEFAULT,
                              "description": "A run fails when it would begin more nodes, turns and items than that."},
                },
            },
    });
    match header {
        Value::Object(header) => header,
        _ => Map::new(),
    }
}

fn node_of(about: &str, fields: &Value, required: &[&str]) -> Value {
    let mut properties = json!({
        "type": {"type": "string"},
        "after": {"$ref": "#/$defs/ids", "description": "The nodes it comes after."},
        "join": {"oneOf": [
            {"enum": ["all", "any"]},
            {"type": "object", "required": ["n_of"], "additionalProperties": false,
             "properties": {"n_of": {"type": "integer", "minimum": 1, "maximum": NODES_MAX}}},
        ]},
        "when": {"$ref": "#/$defs/expression", "description": "Entered only if this holds; else skipped."},
        "on_error": {"oneOf": [
            {"enum": ["fail", "ignore"]},
            {"type": "object", "required": ["to"], "additionalProperties": false, "properties": {"to": {"$ref": "#/$defs/some_ids"}}},
        ]},
    });
    if let (Some(properties), Some(fields)) = (properties.as_object_mut(), fields.as_object()) {
        properties.extend(fields.clone());
    }
    json!({"description": about, "required": required, "additionalProperties": false, "properties": properties})
}

/// Exactly one of these sets of fields.
fn one_of(defs: &mut Map<String, Value>, name: &str, choices: [&[&str]; 2]) {
    if let Some(Value::Object(node)) = defs.get_mut(name) {
        node.insert("oneOf".to_owned(), json!([{"required": choices[0]}, {"required": choices[1]}]));
    }
}

fn kinds() -> Vec<Kind> {
    let (value, expression) = (json!({"$ref": "#/$defs/value"}), json!({"$ref": "#/$defs/expression"}));
    let (some_ids, duration) = (json!({"$ref": "#/$defs/some_ids"}), json!({"$ref": "#/$defs/duration"}));
    let body = json!({"$ref": "#/$defs/body"});
    let mut kinds = vec![
        Kind {
            name: "loop",
            about: "Repeats its body until `until` holds.",
            fields: json!({
                "max_iterations": {"type": "integer", "minimum": 1, "maximum": ITERATIONS_MAX},
                "init": value, "until": expression, "on_max": some_ids, "do": body,
            }),
            required: &["max_iterations", "until", "do"],
        },
        Kind {
            name: "each",
            about: "Runs its body for each of the items.",
            fields: json!({
                "items": {"type": ["string", "array"], "description": "CEL that gives a list, or a list with ${…} in its texts."},
                "concurrency": {"type": "integer", "minimum": 1, "maximum": EACH_CONCURRENCY_MAX, "default": EACH_CONCURRENCY_DEFAULT},
                "on_failure": {"oneOf": [
                    {"enum": ["fail_fast", "wait_all"]},
                    {"type": "object", "required": ["tolerate"], "additionalProperties": false,
                     "properties": {"tolerate": {"type": "integer", "minimum": 0, "maximum": EACH_TOLERATE_MAX}}},
                ]},
                "do": body,
            }),
            required: &["items", "do"],
        },
        Kind { name: "join", about: "Only joins.", fields: json!({}), required: &[] },
        Kind {
            name: "approval",
            about: "Waits for a person's answer.",
            fields: json!({
                "who": {"$ref": "#/$defs/who"},
                "message": {"type": "string"}, "timeout": duration, "on_reject": some_ids, "on_timeout": some_ids,
            }),
            required: &[],
        },
        Kind {
            name: "wait",
            about: "Waits for an event.",
            fields: json!({
                "event": {"type": "string", "description": "Its whole name, such as github/push."},
                "match": expression, "timeout": duration, "on_timeout": some_ids,
            }),
            required: &["event"],
        },
        Kind {
            name: "workflow",
            about: "A run of its own.",
            fields: json!({"run": {"$ref": "#/$defs/word"}, "version": {"$ref": "#/$defs/version"}, "with": true, "timeout": duration}),
            required: &["run"],
        },
        Kind { name: "transform", about: "A value, made in the engine.", fields: json!({"value": value}), required: &["value"] },
        Kind {
            name: "filter",
            about: "Those of the items for which `where` holds; each is `item` there.",
            fields: json!({"items": {"type": "string", "description": "CEL that gives a list."}, "where": expression}),
            required: &["items", "where"],
        },
        Kind {
            name: "aggregate",
            about: "One value out of many; each is `item` in `of`.",
            fields: json!({
                "items": {"type": "string", "description": "CEL that gives a list."},
                "op": {"$ref": "#/$defs/op"},
                "of": expression,
            }),
            required: &["items", "op"],
        },
    ];
    kinds.extend(choosing(&some_ids, &expression));
    kinds
}

/// Types with two faces, of which one must be shown.
fn choosing(some_ids: &Value, expression: &Value) -> [Kind; 2] {
    let rule = json!({
        "type": "object", "required": ["when", "to"], "additionalProperties": false,
        "properties": {"when": expression, "to": some_ids},
    });
    let branch = Kind {
        name: "branch",
        about: "The first rule that holds, else the default; or whichever way its predecessor's output names.",
        fields: json!({
            "rules": {"type": "array", "minItems": 1, "maxItems": RULES_MAX, "items": rule},
            "default": {"$ref": "#/$defs/ids"},
            "route": {"type": "object", "required": ["to"], "additionalProperties": false, "properties": {"to": some_ids}},
        }),
        required: &[],
    };
    let sleep = Kind {
        name: "sleep",
        about: "Waits for a while, or until an instant.",
        fields: json!({"for": {"type": "string", "description": "A duration, or CEL that gives milliseconds."}, "until": expression}),
        required: &[],
    };
    [branch, sleep]
}

fn shared() -> Map<String, Value> {
    let word = format!("^[A-Za-z0-9_./:@-]{{1,{NAME_BYTES_MAX}}}$");
    let id = format!("^[A-Za-z0-9_-]{{1,{NODE_ID_BYTES_MAX}}}$");
    let ids = |least: usize| {
        json!({"oneOf": [
            {"type": ["string", "integer"]},
            {"type": "array", "minItems": least, "items": {"type": ["string", "integer"]}},
        ]})
    };
    let shared = json!({
        "word": {"type": "string", "pattern": word},
        "id": {"type": "string", "pattern": id},
        "who": {"oneOf": [{"type": "string"}, {"type": "array", "minItems": 1, "maxItems": WHO_MAX, "items": {"type": "string"}}]},
        "op": {"enum": ["count", "sum", "min", "max", "avg", "collect", "first", "last"]},
        "version": {"type": "integer", "minimum": 1, "maximum": VERSION_MAX},
        "duration": {"type": "string", "pattern": "^([0-9]+(ms|s|m|h|d))+$", "examples": ["500ms", "30s", "5m", "48h", "1d"]},
        "priority": {"oneOf": [
            {"enum": Priority::NAMED.map(|(name, _)| name)},
            {"type": "integer", "minimum": -HEAD_START_S_MAX, "maximum": HEAD_START_S_MAX, "description": "A head start in seconds."},
        ]},
        "retry": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "attempts": {"type": "integer", "minimum": 1, "maximum": ATTEMPTS_MAX, "description": "In all, the first included."},
                "backoff": {"$ref": "#/$defs/duration", "description": "After the first failure; it doubles after each further one."},
                "backoff_max": {"$ref": "#/$defs/duration"},
                "jitter": {"oneOf": [{"type": "integer", "minimum": 0, "maximum": 100}, {"type": "string", "pattern": "^[0-9]+%$"}]},
            },
        },
        "expression": {"type": ["string", "boolean", "number"], "description": "CEL."},
        "value": {"type": ["string", "boolean", "number", "array", "object"], "description": "CEL as text, or a template as a list or a map."},
        "ids": ids(0),
        "some_ids": ids(1),
        "nodes": {
            "type": "object",
            "minProperties": 1,
            "maxProperties": NODES_MAX,
            "propertyNames": {"pattern": id},
            "additionalProperties": {"$ref": "#/$defs/node"},
        },
        "body": {
            "type": "object",
            "required": ["nodes"],
            "additionalProperties": false,
            "properties": {
                "nodes": {"$ref": "#/$defs/nodes"},
                "output": {"$ref": "#/$defs/value", "description": "What a frame gives; without it, what its last node gives."},
            },
        },
    });
    match shared {
        Value::Object(shared) => shared,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests;
