//! `/openapi.json` is true: it parses, its references lead somewhere, every operation in it is served and every one
//! served is in it, each says how it refuses, and its examples are accepted.

mod described;
mod server;
mod talk;

use described::Described;
use serde_json::Value;
use server::Server;
use std::collections::BTreeSet;

fn each_object(value: &Value, look: &mut dyn FnMut(&serde_json::Map<String, Value>)) {
    match value {
        Value::Object(fields) => {
            look(fields);
            fields.values().for_each(|value| each_object(value, look));
        }
        Value::Array(items) => items.iter().for_each(|value| each_object(value, look)),
        _ => {}
    }
}

#[test]
fn the_description_is_whole() {
    let described = Described::new(serde_json::to_value(doors::http::openapi()).unwrap());
    let document = &described.document;
    assert!(document["openapi"].as_str().unwrap().starts_with("3."), "{}", document["openapi"]);
    let mut referred = BTreeSet::new();
    each_object(document, &mut |fields| {
        if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
            referred.insert(reference.to_owned());
        }
    });
    for reference in &referred {
        let pointer = reference.strip_prefix('#').unwrap_or_else(|| panic!("{reference} leads out of the document"));
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for name in schemas.keys().filter(|name| *name != "RecordView") {
        assert!(referred.contains(&format!("#/components/schemas/{name}")), "nothing refers to {name}");
    }

    let mut ids = BTreeSet::new();
    for operation in described.operations() {
        let name = format!("{} {}", operation.method, operation.template);
        let says = operation.says;
        assert!(ids.insert(says["operationId"].as_str().map(str::to_owned)), "{name}: its id is taken");
        assert!(says["summary"].as_str().is_some_and(|summary| !summary.is_empty()), "{name} says nothing");
        let refused = &says["responses"]["default"]["content"]["application/json"]["schema"]["$ref"];
        assert_eq!(refused, "#/components/schemas/ErrorBody", "{name}");
        let succeeds = says["responses"].as_object().unwrap().keys().any(|status| status.starts_with('2'));
        assert!(succeeds, "{name} never succeeds");
        let holes: BTreeSet<&str> = operation.template.split(['{', '}']).skip(1).step_by(2).collect();
        let parameters = says["parameters"].as_array().into_iter().flatten();
        let named: BTreeSet<&str> = parameters.filter(|p| p["in"] == "path").map(|p| p["name"].as_str().unwrap()).collect();
        assert_eq!(holes, named, "{name}");
    }
}

#[test]
fn the_description_says_how_to_come_in() {
    let document = serde_json::to_value(doors::http::openapi()).unwrap();
    let scheme = &document["components"]["securitySchemes"]["bearer"];
    assert_eq!((&scheme["type"], &scheme["scheme"]), (&Value::from("http"), &Value::from("bearer")), "{scheme}");
    // With a token, or without one on loopback.
    assert_eq!(document["security"], serde_json::json!([{"bearer": []}, {}]));
    for open in ["/health", "/ready"] {
        assert_eq!(document["paths"][open]["get"]["security"], serde_json::json!([]), "{open}");
    }
}

#[test]
fn what_is_described_is_served_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("data"), 0);
    let described = Described::new(server.get("/openapi.json"));
    assert_eq!(described.document, serde_json::to_value(doors::http::openapi()).unwrap());
    let templates: BTreeSet<&str> = described.operations().iter().map(|operation| operation.template).collect();
    for template in &templates {
        let path = template.replace("{task}", "task-1").replace("{queue}", "q").replace("{bulk}", "bulk-1");
        let path = path.replace("{workflow}", "w").replace("{run}", "run-1").replace("{node}", "n");
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
            if path == "/v1/stream" && method == "GET" {
                continue;
            }
            let answer = talk::ask(server.port, method, &path, &[], b"").expect("an answer");
            let is_described = described.document["paths"][template].get(method.to_ascii_lowercase()).is_some();
            let code = if answer.status >= 400 { talk::refusal(answer.status, &answer.json(), &path) } else { String::new() };
            assert_eq!(code == "method_not_allowed", !is_described, "{method} {path}: {}", answer.status);
            assert_ne!(code, "not_found", "{method} {path}");
        }
        for other in [format!("{path}/"), format!("{path}/more/and/more"), format!("/v2{path}")] {
            let answer = talk::ask(server.port, "GET", &other, &[], b"").expect("an answer");
            assert_eq!(talk::refusal(answer.status, &answer.json(), &other), "not_found", "{other}");
        }
        let head = talk::ask(server.port, "TRACE", &path, &[], b"").unwrap();
        assert!(head.header("allow").is_some(), "405 says what is allowed: {path}");
    }
    let paths =
        ["/v1/tasks", "/v1/work", "/v1/stream", "/v1/status", "/health", "/ready", "/openapi.json", "/v1/bulks", "/v1/runs"];
    assert!(paths.iter().all(|path| templates.contains(path)), "{templates:?}");
}

/// What the description shows as an example fits its own schema and is accepted; what the schemas forbid is refused.
#[test]
fn examples_are_accepted_and_unknown_fields_are_forbidden() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("data"), 0);
    let described = Described::new(server.get("/openapi.json"));
    let (mut accepted, mut closed) = (0, 0);
    for operation in described.operations() {
        let Some(schema) = described.request_schema(&operation) else { continue };
        let name = schema["$ref"].as_str().expect("bodies are named").rsplit('/').next().unwrap();
        let body = &described.document["components"]["schemas"][name];
        assert_eq!(body["additionalProperties"], Value::Bool(false), "{name} is sent and takes anything");
        closed += 1;
        if let Some(example) = body.get("example").or_else(|| body["examples"].get(0)) {
            described.check_request(&operation, example);
            let mut example = example.clone();
            if let Some(wait_ms) = example.get_mut("wait_ms") {
                *wait_ms = Value::from(1);
            }
            let (status, answer) = server.ask(&operation.method.to_uppercase(), operation.template, Some(&example));
            assert!(status < 300, "{example}: {status} {answer}");
            described.check_answer(&operation, status, &answer);
            accepted += 1;
        }
    }
    assert!(accepted >= 2 && closed >= 14, "{accepted} examples, {closed} bodies");
    // Examples of single values fit their own schema too.
    let schemas = described.document["components"]["schemas"].as_object().unwrap();
    for (name, schema) in schemas {
        each_object(schema, &mut |fields| {
            if let Some(example) = fields.get("example") {
                let faults = described.faults(&Value::Object(fields.clone()), example);
                assert!(faults.is_empty(), "{name}: {faults:?}");
            }
        });
    }
}
