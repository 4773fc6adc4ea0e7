//! The other written form in the published schema: lists of nodes and edges.

use crate::limits::*;
use kernel::limits::BACKOFF_MS_MAX;
use serde_json::{Map, Value, json};

/// As `$defs` of the whole; `header` is what both forms have beside their nodes.
pub fn defs(header: &Map<String, Value>) -> Vec<(String, Value)> {
    let version = json!({"oneOf": [{"type": "number", "minimum": 1, "maximum": VERSION_MAX}, {"type": "string", "pattern": "^[1-9][0-9]*(\\.|$)"}]});
    let words = |header: &Map<String, Value>, name: &str| {
        json!({
            name: {"$ref": "#/$defs/word", "description": "Its name."}, "version": version,
            "description": header["description"], "tags": header["tags"],
        })
    };
    let mut properties = header.clone();
    properties.extend(words(header, "workflow").as_object().cloned().unwrap_or_default());
    properties.insert("metadata".to_owned(), closed(words(header, "name"), &[]));
    properties.insert(
        "nodes".to_owned(),
        json!({"type": "array", "minItems": 1, "maxItems": NODES_MAX, "items": {"$ref": "#/$defs/listed_node"}}),
    );
    properties
        .insert("edges".to_owned(), json!({"type": "array", "maxItems": EDGES_MAX, "items": {"$ref": "#/$defs/listed_edge"}}));
    let mut whole = closed(Value::Object(properties), &["nodes"]);
    whole["description"] = "Nodes and edges as lists.".into();
    whole["anyOf"] =
        json!([{"required": ["workflow"]}, {"properties": {"metadata": {"required": ["name"]}}, "required": ["metadata"]}]);
    let edge = closed(
        json!({"from": {"$ref": "#/$defs/id"}, "to": {"$ref": "#/$defs/id"},
               "condition": {"type": ["string", "boolean", "number", "null"], "description": "CEL; without it, the way in any other case."}}),
        &["from", "to"],
    );
    [("listed", whole), ("listed_node", node()), ("listed_edge", edge)].map(|(name, def)| (name.to_owned(), def)).into()
}

fn closed(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "required": required, "additionalProperties": false, "properties": properties})
}

/// Types with a config of their own: what it may hold, what it must, and whether it must be there.
fn configs() -> Vec<(&'static [&'static str], Value, bool)> {
    let (expression, value, ids) =
        (json!({"$ref": "#/$defs/expression"}), json!({"$ref": "#/$defs/value"}), json!({"$ref": "#/$defs/ids"}));
    let some_ids = json!({"$ref": "#/$defs/some_ids"});
    let items = json!({"type": "string", "description": "CEL that gives a list."});
    let either = |mut config: Value, one: &str, other: &str| {
        config["anyOf"] = json!([{"required": [one]}, {"required": [other]}]);
        config
    };
    let rule = closed(json!({"condition": expression, "next_nodes": some_ids}), &["condition", "next_nodes"]);
    let looped = closed(
        json!({"condition": expression, "max_iterations": {"type": "integer", "minimum": 1, "maximum": ITERATIONS_MAX},
               "loop_back_to": {"$ref": "#/$defs/id"}, "break_path": ids, "timeout_path": ids}),
        &["condition", "max_iterations", "loop_back_to"],
    );
    let conditional = closed(
        json!({"type": {"type": "string"}, "rules": {"type": "array", "maxItems": RULES_MAX, "items": rule}, "default": ids, "available_next_nodes": ids}),
        &[],
    );
    let who = json!({"$ref": "#/$defs/who"});
    let text = json!({"type": "string"});
    let asked = closed(json!({"message": text, "prompt": text, "who": who, "approvers": who, "on_reject": some_ids}), &[]);
    vec![
        (&["loop"], looped, true),
        (&["conditional"], conditional, false),
        (&["parallel"], closed(json!({}), &[]), false),
        (&["hitl", "approval"], asked, false),
        (&["transform"], either(closed(json!({"value": value, "expression": value}), &[]), "value", "expression"), true),
        (
            &["filter"],
            either(
                closed(json!({"items": items, "where": expression, "condition": expression}), &["items"]),
                "where",
                "condition",
            ),
            true,
        ),
        (&["aggregate"], closed(json!({"items": items, "op": {"$ref": "#/$defs/op"}, "of": expression}), &["items", "op"]), true),
    ]
}

fn node() -> Value {
    let configs = configs();
    let own: Vec<&str> = configs.iter().flat_map(|(names, ..)| names.iter().copied()).collect();
    let common = |fields: Value| {
        let mut properties = json!({
            "id": {"$ref": "#/$defs/id"}, "type": {"type": "string"},
            "retry": closed(json!({
                "max_attempts": {"type": "integer", "minimum": 1, "maximum": 10},
                "backoff_ms": {"type": "integer", "minimum": 0, "maximum": BACKOFF_MS_MAX},
                "backoff_multiplier": {"enum": [1, 2], "description": "The wait stays, or doubles."},
            }), &[]),
            "timeout_ms": {"type": "integer", "minimum": 1, "maximum": DURATION_MS_MAX},
        });
        if let (Some(properties), Value::Object(fields)) = (properties.as_object_mut(), fields) {
            properties.extend(fields);
        }
        json!({"additionalProperties": false, "properties": properties})
    };
    let mut choices: Vec<Value> = Vec::new();
    for (names, config, required) in configs {
        let or_null = json!({"anyOf": [{"type": "null"}, config]});
        // Two types may keep it under a name of their own.
        let under = if names.contains(&"loop") { "loop" } else { "branch" };
        let mut holds = match names[0] {
            "loop" | "conditional" => common(json!({"config": or_null, under: config})),
            _ => common(json!({"config": or_null})),
        };
        if required {
            holds["anyOf"] = json!([{"required": ["config"], "properties": {"config": config}}, {"required": [under]}]);
        }
        choices.push(json!({"if": {"properties": {"type": {"enum": names}}}, "then": holds}));
    }
    let branch = closed(
        json!({"type": {"const": "agent_driven"}, "available_next_nodes": {"$ref": "#/$defs/some_ids"}}),
        &["available_next_nodes"],
    );
    let config = json!({"description": "Its input, with ${…} in its texts."});
    choices.push(json!({
        "if": {"properties": {"type": {"not": {"enum": own}}}},
        "then": common(json!({"config": config, "branch": branch})),
    }));
    json!({
        "type": "object",
        "required": ["id", "type"],
        "properties": {"type": {"$ref": "#/$defs/word", "not": {"enum": ["branch", "each", "join", "sleep", "workflow", "wait"]}}},
        "allOf": choices,
    })
}
