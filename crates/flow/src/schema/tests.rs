use super::*;
use crate::source;

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
fn every_example_is_valid() {
    let validator = jsonschema::validator_for(&schema()).expect("the schema is one");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workflows");
    let mut seen = 0;
    for file in std::fs::read_dir(folder).expect("the folder is there") {
        let path = file.expect("it can be read").path();
        let text = std::fs::read(&path).expect("it can be read");
        for document in source::parse_all(&text).expect("it can be read") {
            let errors: Vec<String> = validator.iter_errors(&document.to_json()).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{}: {}", path.display(), errors.join("\n"));
            seen += 1;
        }
    }
    assert!(seen >= 7, "{seen}");
}

/// A listed node in a workflow of its own.
fn listed(node: &str) -> String {
    format!("{{metadata: {{name: w}}, nodes: [{{id: a, type: x}}, {node}], edges: [{{from: a, to: n}}]}}")
}

#[test]
fn the_other_form_is_valid_as_far_as_the_compiler_accepts_it() {
    for node in [
        "{id: n, type: x, config: {a: 1}, retry: {max_attempts: 3, backoff_ms: 0, backoff_multiplier: 2}, timeout_ms: 5}",
        "{id: n, type: x, branch: {type: agent_driven, available_next_nodes: [a]}}",
        "{id: n, type: conditional}",
        "{id: n, type: conditional, branch: {type: agent_driven}}",
        "{id: n, type: conditional, config: {rules: [{condition: output.x, next_nodes: [a]}], default: [a]}}",
        "{id: n, type: loop, config: {condition: output.x, max_iterations: 3, loop_back_to: a, break_path: [a]}}",
        "{id: n, type: loop, loop: {condition: output.x, max_iterations: 3, loop_back_to: a}}",
        "{id: n, type: parallel, config: null}",
        "{id: n, type: hitl, config: {prompt: ok, approvers: [ed], on_reject: a}}",
        "{id: n, type: approval}",
        "{id: n, type: transform, config: {expression: output.x}}",
        "{id: n, type: filter, config: {items: output, condition: item.x}}",
        "{id: n, type: aggregate, config: {items: output, op: sum, of: item.x}}",
    ] {
        let errors = errors(&listed(node));
        assert!(errors.is_empty(), "{node}: {}", errors.join("\n"));
    }
    for whole in [
        "{metadata: {name: w, version: '1.0', description: d, tags: [a]}, nodes: [{id: a, type: x}]}",
        "{workflow: w, version: 1.5, nodes: [{id: a, type: x}], edges: []}",
    ] {
        let errors = errors(whole);
        assert!(errors.is_empty(), "{whole}: {}", errors.join("\n"));
    }
}

#[test]
fn what_the_compiler_refuses_of_the_other_form_by_shape_is_invalid() {
    for whole in [
        "{nodes: [{id: a, type: x}]}",
        "{metadata: {version: 1}, nodes: [{id: a, type: x}]}",
        "{metadata: {name: w}, nodes: []}",
        "{metadata: {name: w, nme: v}, nodes: [{id: a, type: x}]}",
        "{metadata: {name: w, version: soon}, nodes: [{id: a, type: x}]}",
        "{metadata: {name: w}, nodes: [{id: a, type: x}], edge: []}",
        "{metadata: {name: w}, nodes: [{id: a, type: x}], edges: [{from: a}]}",
        "{metadata: {name: w}, nodes: [{id: a, type: x}], edges: [{from: a, to: a, when: x}]}",
        "{metadata: {name: w}, nodes: {a: {type: x}}}",
        "{workflow: w, nodes: {a: {type: x}}, edges: []}",
    ] {
        assert!(!errors(whole).is_empty(), "{whole}");
    }
    for node in [
        "{id: n}",
        "{type: x}",
        "{id: 'a b', type: x}",
        "{id: n, type: each}",
        "{id: n, type: x, confg: {}}",
        "{id: n, type: x, retry: {max_attempts: 11}}",
        "{id: n, type: x, timeout_ms: 0}",
        "{id: n, type: x, branch: {}}",
        "{id: n, type: loop}",
        "{id: n, type: loop, config: null}",
        "{id: n, type: loop, config: {condition: output.x, max_iterations: 3}}",
        "{id: n, type: loop, config: {condition: output.x, max_iterations: 0, loop_back_to: a}}",
        "{id: n, type: parallel, config: {wait: 1}}",
        "{id: n, type: conditional, config: {rule: 1}}",
        "{id: n, type: hitl, config: {text: ok}}",
        "{id: n, type: transform}",
        "{id: n, type: transform, config: {}}",
        "{id: n, type: filter, config: {items: output}}",
        "{id: n, type: aggregate, config: {items: output, op: mean}}",
    ] {
        assert!(!errors(&listed(node)).is_empty(), "{node}");
        assert!(crate::compile(listed(node).as_bytes(), &crate::Language).is_err(), "{node}");
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
        "{type: approval, who: []}",
    ] {
        assert!(!errors(&in_flow(node)).is_empty(), "{node}");
    }
}
