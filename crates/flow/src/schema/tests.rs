use super::*;
use crate::source;
use crate::tests::examples;

fn errors(text: &str) -> Vec<String> {
    let document = source::parse(text.as_bytes()).expect("the text can be read").to_json();
    let validator = jsonschema::validator_for(&schema()).expect("the schema is one");
    validator.iter_errors(&document).map(|error| error.to_string()).collect()
}

#[test]
fn it_is_a_schema_of_its_draft() {
    assert!(jsonschema::meta::is_valid(&schema()));
}

#[test]
fn the_reference_definitions_are_valid() {
    for name in ["refund.yaml", "lint-until-clean.yaml"] {
        let errors = errors(&examples::text(name));
        assert!(errors.is_empty(), "{name}: {}", errors.join("\n"));
    }
}

/// In a workflow of its own.
fn in_flow(node: &str) -> String {
    format!("{{workflow: w, nodes: {{a: {{type: x}}, n: {node}}}}}")
}

#[test]
fn what_the_compiler_accepts_is_valid() {
    for node in [
        "{type: x, after: a, retry: {attempts: 2, backoff: 1s, backoff_max: 1h30m, jitter: 10%}, timeout: 5m, queue: q, priority: high}",
        "{type: x, after: [a], priority: -5, key: {tenant: '${input.t}'}, with: [1, null], when: true, on_error: ignore}",
        "{type: branch, after: a, route: {to: [b]}}",
        "{type: branch, after: a, rules: [{when: output, to: b}], default: []}",
        "{type: loop, max_iterations: 3, until: 'true', init: [], do: {nodes: {b: {type: x}}}}",
        "{type: each, items: [1, 2], on_failure: wait_all, do: {nodes: {b: {type: x}}, output: {got: 1}}}",
        "{type: join, after: [a, b], join: {n_of: 2}}",
        "{type: sleep, for: 30s}",
        "{type: sleep, until: input.at}",
        "{type: workflow, run: other, version: 2, with: {a: 1}, timeout: 1h}",
        "{type: transform, value: {a: 1}}",
        "{type: filter, items: output, where: item > 1}",
        "{type: aggregate, items: output, op: sum, of: item.n}",
        "{type: approval, who: finance, on_reject: b}",
    ] {
        let errors = errors(&in_flow(node));
        assert!(errors.is_empty(), "{node}: {}", errors.join("\n"));
    }
}

#[test]
fn what_the_compiler_refuses_by_shape_is_invalid() {
    for text in [
        "{nodes: {a: {type: x}}}",
        "{workflow: w}",
        "{workflow: w, nodes: {}}",
        "{workflow: 'a b', nodes: {a: {type: x}}}",
        "{workflow: w, version: 0, nodes: {a: {type: x}}}",
        "{workflow: w, nodes: {a: {type: x}}, outputs: 1}",
        "{workflow: w, nodes: {'a b': {type: x}}}",
        "{workflow: w, nodes: {a: {type: x}}, limits: {deadline: 5}}",
        "{workflow: w, nodes: {a: {type: x}}, defaults: {retries: 1}}",
    ] {
        assert!(!errors(text).is_empty(), "{text}");
    }
    for node in [
        "{}",
        "{type: x, afte: a}",
        "{type: wait}",
        "{type: x, timeout: 30}",
        "{type: x, timeout: soon}",
        "{type: x, retry: {attempts: 0}}",
        "{type: x, priority: urgent}",
        "{type: x, join: none}",
        "{type: x, join: {n_of: 0}}",
        "{type: x, on_error: {to: []}}",
        "{type: x, rules: []}",
        "{type: branch, rules: [{when: output, to: b}]}",
        "{type: branch, rules: [], default: a}",
        "{type: branch, rules: [{when: output}], default: a}",
        "{type: branch, route: {to: []}}",
        "{type: branch, route: {to: [b]}, rules: [{when: output, to: b}], default: a}",
        "{type: loop, until: 'true', do: {nodes: {b: {type: x}}}}",
        "{type: loop, max_iterations: 10001, until: 'true', do: {nodes: {b: {type: x}}}}",
        "{type: loop, max_iterations: 1, do: {nodes: {b: {type: x}}}}",
        "{type: loop, max_iterations: 1, until: 'true', do: {nodes: {}}}",
        "{type: each, do: {nodes: {b: {type: x}}}}",
        "{type: each, items: last, concurrency: 0, do: {nodes: {b: {type: x}}}}",
        "{type: each, items: last, on_failure: never, do: {nodes: {b: {type: x}}}}",
        "{type: sleep}",
        "{type: sleep, for: 30}",
        "{type: sleep, for: 1s, until: input.at}",
        "{type: workflow, workflow: other}",
        "{type: transform}",
        "{type: filter, items: output}",
        "{type: aggregate, items: output, op: mean}",
        "{type: approval, retry: {attempts: 3}}",
    ] {
        assert!(!errors(&in_flow(node)).is_empty(), "{node}");
    }
}
