//! The native form: every message, with its place.

use super::summary::summary;
use super::{check, compiled, told};

/// Nodes in a workflow of their own, from line 2 on.
fn flow(nodes: &str) -> String {
    format!("workflow: w\nnodes:\n{nodes}")
}

fn check_nodes(cases: &[(&str, &str)]) {
    let texts: Vec<(String, &str)> = cases.iter().map(|(nodes, expected)| (flow(nodes), *expected)).collect();
    let cases: Vec<(&str, &str)> = texts.iter().map(|(text, expected)| (text.as_str(), *expected)).collect();
    check(&cases);
}

#[test]
fn a_workflow_says_what_it_is() {
    check(&[
        ("[]", "1:1: a workflow is a map, not a list"),
        ("workflow: w", "1:1: a workflow needs `nodes`"),
        ("nodes: {a: {type: x}}", "1:1: a workflow needs a name, `workflow`"),
        ("workflow: w\nnodes: {}", "2:1: a workflow needs at least one node"),
        ("workflow: w\nnodes: 5", "2:8: a map of nodes by their ids is expected, not `5`"),
        (
            "workflow: My Flow\nnodes: {a: {type: x}}",
            "1:11: workflow `My Flow` may hold only letters a-z and A-Z, digits and _ - . / : @\n  for example `my-flow`",
        ),
        ("workflow: w\nversion: 0\nnodes: {a: {type: x}}", "2:10: an integer from 1 to 1000000000 is expected, not `0`"),
        ("workflow: w\nversion: '1'\nnodes: {a: {type: x}}", "2:10: an integer without quotes is expected, not `1`"),
        (
            "workflow: w\nnode: {a: {type: x}}",
            "1:1: a workflow needs `nodes`\n2:1: a workflow has no field `node`\n  did you mean `nodes`?",
        ),
        (
            "workflow: w\nnodes: {a: {type: x}}\nlimits: {deadline: 5, stal: 1h}",
            "3:20: `5` is a number without a unit\n  write `5s` or `5ms`\n3:23: `limits` has no field `stal`\n  did you mean `stall`?",
        ),
        (
            "workflow: w\nnodes: {a: {type: x}}\nlimits: {deadline: 0s, stall: 9999d}",
            "3:20: a duration from 1ms to 366d is expected, not `0s`\n3:31: a duration from 1ms to 366d is expected, not `9999d`",
        ),
        (
            "workflow: w\nnodes: {a: {type: x}}\ndefaults: {retry: {attempt: 3}, priority: urgent, queue: a b}",
            "3:20: `retry` has no field `attempt`\n  did you mean `attempts`?\n3:43: critical, high, normal, background or a head start in seconds is expected, not `urgent`\n3:58: queue `a b` may hold only letters a-z and A-Z, digits and _ - . / : @\n  for example `a-b`",
        ),
        ("workflow: w\nnodes: {a: {type: x}}\ninput: [a]", "3:8: a JSON Schema (a map) is expected, not a list"),
        (
            "workflow: w\nnodes: {a: {type: x}}\ninput: {properties: {a: {$ref: 'http://x.test/s.json'}}}",
            "3:32: `http://x.test/s.json` lies outside this schema\n  put it under `$defs` and write `#/$defs/…`",
        ),
        (
            "workflow: w\nnodes: {a: {type: x}}\ntags: [a, '']\ndescription: [x]",
            "3:11: tag `` is empty\n4:14: a text is expected, not a list",
        ),
        ("workflow: w\nnodes: {a: {type: x}}\noutput: nodes.b.output", "3:9: no node `b`"),
        ("workflow: w\nnodes: {a: {type: x}}\noutput: ''", "3:9: the expression is empty"),
    ]);
}

#[test]
fn the_schema_of_an_input_is_looked_at_where_it_stands() {
    let types = "array, boolean, integer, null, number, object, string";
    let with = |input: &str| format!("workflow: w\nnodes: {{a: {{type: x}}}}\ninput: {input}");
    for (input, expected) in [
        ("{type: objekt}", format!("3:15: `objekt` is no type of JSON Schema; there are {types}\n  did you mean `object`?")),
        (
            "{properties: {a: {type: [int, string]}}}",
            format!("3:33: `int` is no type of JSON Schema; there are {types}\n  did you mean `integer`?"),
        ),
        ("{items: {type: 5}}", format!("3:23: one of {types} is expected, not `5`")),
        ("{properties: [a]}", "3:21: a map of schemas is expected, not a list".into()),
    ] {
        check(&[(&with(input), &expected)]);
    }
    // A property may be called anything, and data is not a schema.
    let fine = with("{properties: {type: {type: string}, requierd: {}}, enum: [{type: x}], default: {type: y}, x-own: 1}");
    assert_eq!(warned(&fine), "");
    let warned = warned(&with("{type: object, requierd: [a], propertys: {a: {typ: string}}}"));
    let lines: Vec<&str> = warned.lines().collect();
    assert_eq!(lines.len(), 4, "{warned}");
    assert_eq!(lines[0], "3:23: `requierd` means nothing to JSON Schema, and nothing is held against it");
    assert_eq!((lines[1], lines[3]), ("  did you mean `required`?", "  did you mean `properties`?"));
}

/// What is right and yet warned of.
fn warned(text: &str) -> String {
    let compiled = crate::compile(text.as_bytes(), &super::fake::Fake).expect("it is right");
    compiled.warnings.iter().map(|warning| format!("{warning}\n")).collect()
}

#[test]
fn a_workflow_that_calls_itself_is_warned_of() {
    let calls = |name: &str| {
        warned(&format!(
            "workflow: w\nnodes:\n  l: {{type: loop, max_iterations: 2, until: 'true', do: {{nodes: {{c: {{type: workflow, run: {name}}}}}}}}}\n"
        ))
    };
    assert_eq!(calls("other"), "");
    let told = calls("w");
    assert!(told.contains("`c` calls the workflow it stands in") && told.contains("8 deep at the most"), "{told}");
}

#[test]
fn a_workers_type_that_looks_like_one_of_the_engines_is_warned_of() {
    for (kind, meant) in [
        ("apporval", Some("approval")),
        ("Approval", Some("approval")),
        ("lop", Some("loop")),
        ("tranform", Some("transform")),
        ("search", None),
        ("greet", None),
        ("task", None),
        ("team/approval", None),
    ] {
        let told = warned(&flow(&format!("  a: {{type: {kind}}}")));
        match meant {
            None => assert_eq!(told, "", "{kind}"),
            Some(meant) => {
                let waits = "its work waits for a worker that asks for it";
                let expected = format!("3:3: `{kind}` is no type of the engine's: {waits}\n  did you mean `{meant}`?\n");
                assert_eq!(told, expected);
            }
        }
    }
    let listed = r#"{"metadata":{"name":"w"},"nodes":[{"id":"a","type":"hitll"}],"edges":[]}"#;
    assert!(warned(listed).contains("did you mean `hitl`?"));
}

#[test]
fn a_file_may_hold_several_definitions() {
    let text = |second: &str| format!("workflow: a\nnodes: {{n: {{type: x}}}}\n---\n{second}\nnodes: {{n: {{type: x}}}}\n");
    let all = |text: String| crate::compile_all(text.as_bytes(), &super::fake::Fake);
    assert_eq!(all(text("workflow: b")).map(|all| all.len()), Ok(2));
    assert_eq!(all(text("workflow: a\nversion: 2")).map(|all| all.len()), Ok(2));
    let problems = all(text("workflow: a")).expect_err("it is there twice");
    assert_eq!(problems[0].to_string(), "4:11: version 1 of workflow `a` is there twice, the other in line 1");
    let problems = all(text("flow: a")).expect_err("the second has no name");
    assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [4, 4]);
}

#[test]
fn a_node_says_what_it_is() {
    check_nodes(&[
        ("  a: {type: 5, queue: true}", "3:13: a text (in quotes) is expected, not `5`"),
        ("  über: {type: x}", "3:3: the id of a node has 1 to 64 letters a-z and A-Z, digits, _ and -, unlike `über`"),
        (
            "  a b: {type: x}",
            "3:3: the id of a node has 1 to 64 letters a-z and A-Z, digits, _ and -, unlike `a b`\n  for example `a-b`",
        ),
        ("  a: x", "3:6: node `a` is a map, not a text"),
        ("  a: {}", "3:6: node `a` needs `type`"),
        ("  a: {typ: x}", "3:6: node `a` needs `type`\n  `typ` is probably meant as `type`"),
        ("  a: {type: x y}", "3:13: type `x y` may hold only letters a-z and A-Z, digits and _ - . / : @\n  for example `x-y`"),
        ("  a: {type: x, wiht: 1}", "3:16: a node of type `x` has no field `wiht`\n  did you mean `with`?"),
        (
            "  a: {type: wait, for: event}",
            "3:6: a node of type `wait` needs `event`\n3:19: a node of type `wait` has no field `for`\n  it may have type, after, join, when, on_error, event, match, timeout, on_timeout",
        ),
        (
            "  a: {type: x, timeout: 30, retry: 3}",
            "3:25: `30` is a number without a unit\n  write `30s` or `30ms`\n3:36: `retry` is a map, not an integer",
        ),
        (
            "  a: {type: x, timeout: 1.5h}",
            "3:25: a duration such as 500ms, 30s, 5m, 2h or 1d is expected, not `1.5h`\n  write `1h30m`",
        ),
        (
            "  a: {type: x, retry: {attempts: 0, backoff: 1h, backoff_max: 1s, jitter: 200}}",
            "3:34: an integer from 1 to 1000 is expected, not `0`\n3:63: `backoff_max` is shorter than `backoff`\n3:75: a percentage from 0 to 100 is expected, not `200`",
        ),
        ("  a: {type: x, retry: {backoff: 30d}}", "3:23: retry.backoff_ms and retry.backoff_max_ms may be at most 86400000"),
        (
            "  a: {type: x, priority: soon, queue: a b, key: {a b: x, c: [1]}}",
            "3:26: critical, high, normal, background or a head start in seconds is expected, not `soon`\n3:39: queue `a b` may hold only letters a-z and A-Z, digits and _ - . / : @\n  for example `a-b`\n3:50: key name `a b` may hold only letters a-z and A-Z, digits and _ - . / : @\n3:61: a text such as \"${input.tenant}\" is expected, not a list",
        ),
        ("  a: {type: x, key: 5}", "3:21: a map of key names and their values is expected, not `5`"),
        ("  a: {type: x, key: {a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1}}", "3:21: a node may have at most 8 keys"),
        ("  a: {type: x, on_error: retry}", "3:26: fail, ignore or {to: id} is expected, not `retry`"),
        ("  a: {type: x, on_error: {to: []}}", "3:31: at least one node is expected, not an empty list"),
        ("  a: {type: x, on_error: {}}", "3:26: `on_error` needs `to`"),
        (
            "  a: {type: x, join: some, after: [[b]], when: {}}",
            "3:22: all, any or {n_of: 2} is expected, not `some`\n3:36: the id of a node is expected, not a list\n3:48: an expression is expected, not a map",
        ),
        (
            "  a: {type: x, join: {n_of: 0}, after: {}}",
            "3:29: an integer from 1 to 10000 is expected, not `0`\n3:40: the id of a node or a list of them is expected, not a map",
        ),
        (
            "  a: {type: approval, retry: {attempts: 2}}",
            "3:23: a node of type `approval` has no field `retry`\n  it may have type, after, join, when, on_error, timeout, who, message, on_reject, on_timeout",
        ),
        (
            "  a: {type: approval, on_timeout: b, message: 5, who: ['']}\n  b: {type: x}",
            "3:23: `on_timeout` needs a `timeout`\n3:47: a text is expected, not `5`\n3:56: name `` is empty",
        ),
        ("  a: {type: sleep}", "3:6: a sleep needs either `for` (a duration) or `until` (an instant)"),
        (
            "  a: {type: sleep, for: 10 minutes}",
            "3:25: a duration such as 500ms, 30s, 5m, 2h or 1d is expected, not `10 minutes`\n  write `10m`",
        ),
        (
            "  a: {type: each, items: 3, do: {nodes: {b: {type: x}}}}",
            "3:26: a list, or an expression that gives one such as input.files, is expected, not `3`",
        ),
        (
            "  a: {type: filter, items: {a: 1}, where: 'true'}",
            "3:28: a list, or an expression that gives one such as input.files, is expected, not a map",
        ),
        (
            "  a: {type: sleep, until: 2026-02-30}",
            "3:27: an instant such as 2027-01-31T09:00:00Z or an expression is expected, not `2026-02-30`",
        ),
        (
            "  a: {type: workflow, workflow: other}",
            "3:6: a node of type `workflow` needs `run`\n3:23: a node of type `workflow` has no field `workflow`\n  it may have type, after, join, when, on_error, timeout, run, version, with",
        ),
        ("  a: {type: transform}", "3:6: a node of type `transform` needs `value`"),
        ("  a: {type: filter, items: input.rows}", "3:6: a node of type `filter` needs `where`"),
        (
            "  a: {type: aggregate, items: input.rows, op: mean}",
            "3:47: one of count, sum, min, max, avg, collect, first, last is expected, not `mean`",
        ),
        (
            "  a: {type: aggregate, items: input.rows, op: count, of: item.n}",
            "3:54: `count` counts the items; it has no `of`\n  leave out some with a `filter`",
        ),
    ]);
}

#[test]
fn branches_loops_and_eaches_have_what_they_need() {
    check_nodes(&[
        (
            "  a: {type: branch}",
            "3:6: a branch needs `rules`, each with `when` and `to`\n  or `route: {to: […]}` if its predecessor's output names the way\n3:6: a branch needs `default`: where it goes when no rule holds\n  `default: []` goes nowhere",
        ),
        ("  a: {type: branch, rules: [], default: []}", "3:28: a branch needs at least one rule"),
        ("  a: {type: branch, rules: [{when: input.x}], default: b}\n  b: {type: x}", "3:29: a rule needs `to`"),
        (
            "  a: {type: branch, rules: [{when: input.x, to: []}], default: b}\n  b: {type: x}",
            "3:49: at least one node is expected, not an empty list",
        ),
        (
            "  a: {type: branch, route: {to: b}, default: b}\n  b: {type: x}",
            "3:37: a branch has either `route` or `rules` and `default`",
        ),
        (
            "  a: {type: branch, route: {to: b}}\n  b: {type: x}",
            "3:3: `a` needs exactly one node before it, whose output names the way; it has 0",
        ),
        (
            "  p: {type: x}\n  q: {type: x}\n  a: {type: branch, after: [p, q], route: {to: b}}\n  b: {type: x}",
            "5:3: `a` needs exactly one node before it, whose output names the way; it has 2",
        ),
        (
            "  a: {type: branch, on_error: ignore, rules: [{when: input.x, to: b}], default: b}\n  b: {type: x}",
            "3:31: a branch cannot ignore its error: none of its ways would be taken",
        ),
        (
            "  a: {type: loop, until: 'true', do: {nodes: {b: {type: x}}}}",
            "3:6: a loop needs `max_iterations`\n  a number from 1 to 10000: it ends even if `until` never holds",
        ),
        (
            "  a: {type: loop, max_iterations: 0, until: 'true', do: {nodes: {b: {type: x}}}}",
            "3:35: an integer from 1 to 10000 is expected, not `0`",
        ),
        (
            "  a: {type: loop, max_iterations: 10001, until: 'true', do: {nodes: {b: {type: x}}}}",
            "3:35: an integer from 1 to 10000 is expected, not `10001`",
        ),
        (
            "  a: {type: loop, max_iterations: 3}",
            "3:6: a node of type `loop` needs `until`\n3:6: a node of type `loop` needs `do`",
        ),
        ("  a: {type: loop, max_iterations: 3, until: 'true', do: {nodes: {}}}", "3:58: a body needs at least one node"),
        (
            "  a: {type: loop, max_iterations: 3, until: 'true', do: {steps: {b: {type: x}}}}",
            "3:57: `do` needs `nodes`\n3:58: `do` has no field `steps`\n  it may have nodes, output",
        ),
        (
            "  a: {type: each, items: input.x, concurrency: 0, on_failure: stop, do: {nodes: {b: {type: x}}}}",
            "3:48: an integer from 1 to 10000 is expected, not `0`\n3:63: fail_fast, wait_all or {tolerate: 2} is expected, not `stop`",
        ),
        (
            "  a: {type: each, items: input.x, concurrency: 10001, on_failure: {tolerate: -1}, do: {nodes: {b: {type: x}}}}",
            "3:48: an integer from 1 to 10000 is expected, not `10001`\n3:78: an integer from 0 to 1000000 is expected, not `-1`",
        ),
        (
            "  a:\n    type: each\n    items: input.x\n    do:\n      nodes:\n        b: {type: x}\n        c: {type: x}\n        d: {type: x, after: [b, c]}",
            "6:5: the body of `a` begins with several nodes: `b`, `c`\n  put one before them, such as `start: {type: transform, value: \"true\"}`, and give them `after: start`",
        ),
        (
            "  a:\n    type: each\n    items: input.x\n    do:\n      nodes:\n        b: {type: x}\n        c: {type: x, after: b}\n        d: {type: x, after: b}",
            "6:5: the body of `a` ends with several nodes: `c`, `d`\n  join them: `end: {type: join, after: [c, d]}`",
        ),
    ]);
}

#[test]
fn edges_lead_somewhere_and_only_forward() {
    check_nodes(&[
        ("  classify: {type: x}\n  b: {type: x, after: clasify}", "4:23: no node `clasify`\n  did you mean `classify`?"),
        ("  a: {type: x, after: a}", "3:23: `a` cannot lead to itself"),
        (
            "  a: {type: x, after: b}\n  b: {type: x, after: c}\n  c: {type: x, after: a}\n  d: {type: x, after: c}",
            "3:3: the nodes go round in a circle: a → c → b → a\n  what is to be repeated goes into the body of a `loop`",
        ),
        ("  a: {type: x}\n  b: {type: x, after: [a, a]}", "4:27: the edge from `a` to `b` is there twice"),
        (
            "  a: {type: branch, rules: [{when: input.x, to: [b, b]}], default: []}\n  b: {type: x}",
            "3:53: the edge from `a` to `b` is there twice",
        ),
        (
            "  a: {type: branch, rules: [{when: input.x, to: b}], default: []}\n  b: {type: x, after: a}",
            "4:23: `b` comes after `a` whichever way it goes, and is one of its ways too\n  leave out `after: a`: `to` makes the edge",
        ),
        (
            "  a: {type: branch, rules: [{when: input.x, to: b}, {when: input.y, to: b}], default: b}\n  b: {type: x}",
            "no problem",
        ),
        ("  a: {type: approval, timeout: 1h, on_reject: b, on_timeout: b}\n  b: {type: x, after: a, join: any}", "no problem"),
        ("  a: {type: x, on_error: {to: b}}\n  b: {type: x, after: a}", "no problem"),
        (
            "  a: {type: each, items: input.x, do: {nodes: {b: {type: x}}}}\n  c: {type: x, after: b}",
            "4:23: `b` is in the body of `a`, `c` in the workflow itself: an edge joins two nodes of one body",
        ),
        (
            "  c: {type: x}\n  a: {type: each, items: input.x, do: {nodes: {b: {type: x, after: c}}}}",
            "4:68: `c` is in the workflow itself, `b` in the body of `a`: an edge joins two nodes of one body",
        ),
        (
            "  a: {type: each, items: input.x, do: {nodes: {b: {type: x}}}}\n  c: {type: each, items: input.x, do: {nodes: {d: {type: x, on_error: {to: b}}}}}",
            "4:76: `b` is in the body of `a`, `d` in the body of `c`: an edge joins two nodes of one body",
        ),
        (
            "  a: {type: each, items: input.x, do: {nodes: {b: {type: x}}}}\n  b: {type: x}",
            "4:3: there are two nodes `b`, the other in line 3\n  ids are unique in a definition, over all its bodies",
        ),
    ]);
}

#[test]
fn joins_have_something_to_join() {
    check_nodes(&[
        ("  a: {type: x, join: any}", "3:22: `a` has nothing to join: nothing leads to it"),
        ("  a: {type: x}\n  b: {type: x, after: a, join: all}", "4:32: `b` has nothing to join: only one way leads to it"),
        ("  a: {type: join}", "3:3: `a` has nothing to join: nothing leads to it"),
        ("  a: {type: x}\n  b: {type: join, after: a}", "4:3: `b` has nothing to join: only one way leads to it"),
        (
            "  a: {type: x}\n  b: {type: x}\n  c: {type: x, after: [a, b], join: {n_of: 3}}",
            "5:37: `c` waits for 3 nodes, but only 2 lead to it",
        ),
        (
            "  a: {type: approval, timeout: 1h, on_reject: b, on_timeout: b}\n  b: {type: x, join: {n_of: 2}}",
            "4:22: `b` waits for 2 nodes, but only 1 lead to it",
        ),
        ("  a: {type: x}\n  b: {type: x}\n  c: {type: join, after: [a, b], join: {n_of: 2}}", "no problem"),
    ]);
}

#[test]
fn expressions_see_what_is_upstream() {
    check_nodes(&[
        ("  a: {type: x}\n  b: {type: x, after: a, with: {v: '${nodes.a.output}'}}", "no problem"),
        ("  a: {type: x}\n  b: {type: x, with: {v: 1, w: '${nodes.a.output}'}}", "4:35: `a` does not come before `b`"),
        ("  a: {type: x, when: nodes.a.output}", "3:22: `a` is not done yet where this is read"),
        (
            "  classify: {type: x}\n  b: {type: x, after: classify, when: 1 < nodes.clasify.output}",
            "4:43: no node `clasify`\n  did you mean `classify`?",
        ),
        ("  a: {type: x, when: output > 1}", "3:22: `output` has no value here"),
        ("  a: {type: x, when: item}", "3:22: `item` has no value here"),
        ("  a: {type: x, when: 5}", "3:22: `5` is not true or false"),
        ("  a: {type: x, when: \"1 + syntax error\"}", "3:27: this cannot be parsed"),
        ("  a: {type: x, when: event.x}", "3:22: `event` has no value here"),
        (
            "  a: {type: each, items: input.x, do: {nodes: {b: {type: x}}}}\n  c: {type: x, after: a, when: nodes.b.output}",
            "4:32: `b` lies inside `a`, of which only its own output is seen from here",
        ),
        (
            "  a: {type: each, items: input.x, do: {nodes: {b: {type: x, when: nodes.a.output}}}}",
            "3:67: `a` is not done yet where this is read",
        ),
        (
            "  a: {type: loop, max_iterations: 2, init: last, until: last, do: {nodes: {b: {type: x}}}}",
            "3:44: `last` has no value here",
        ),
        (
            "  z: {type: x}\n  a: {type: loop, after: z, max_iterations: 2, until: output == nodes.b.output, do: {nodes: {b: {type: x, when: nodes.z.output && last && iteration > 1}}, output: nodes.b.output}}",
            "no problem",
        ),
        (
            "  a: {type: loop, max_iterations: 2, until: item, do: {nodes: {b: {type: x}}, output: output}}",
            "3:45: `item` has no value here\n3:87: `output` has no value here",
        ),
        (
            "  a: {type: filter, items: nodes.zz.output, where: item.n > nodes.yy.output}",
            "3:28: no node `zz`\n3:61: no node `yy`",
        ),
        (
            "  a: {type: x,\n      with: {text: \"a\\tb ${nodes.q.output}\", list: [1, {deep: '${nodes.r.output}'}]}}",
            "4:20: no node `q`\n4:66: no node `r`",
        ),
    ]);
}

#[test]
fn several_problems_are_told_at_once_in_the_order_of_the_file() {
    check(&[(
        "workflow: w\nversions: 1\nnodes:\n  a: {type: x, afetr: b}\n  b: {type: loop, until: 'true', do: {nodes: {c: {type: x}}}}\n  d: {type: x, after: q, when: nodes.zz.output}",
        "2:1: a workflow has no field `versions`\n  did you mean `version`?\n4:16: a node of type `x` has no field `afetr`\n  did you mean `after`?\n5:6: a loop needs `max_iterations`\n  a number from 1 to 10000: it ends even if `until` never holds\n6:23: no node `q`\n6:32: no node `zz`",
    )]);
}

#[test]
fn everything_has_a_limit() {
    let deep = |depth: usize| {
        let mut nodes = "last: {type: x}".to_owned();
        for at in 0..depth {
            nodes = format!("n{at}: {{type: each, items: input.x, do: {{nodes: {{{nodes}}}}}}}");
        }
        format!("{{workflow: w, nodes: {{{nodes}}}}}")
    };
    let many: String = (0..10_001).map(|at| format!("n{at}: {{type: x}}, ")).collect();
    let rules: String = (0..1_001).map(|at| format!("{{when: input.x == {at}, to: b}}, ")).collect();
    let wide: String = (0..400).map(|at| format!("a{at}: {{type: x}}, ")).collect();
    let sources: String = (0..400).map(|at| format!("a{at}, ")).collect();
    let targets: String = (0..300).map(|at| format!("b{at}: {{type: x, after: [{sources}]}}, ")).collect();
    for (text, expected) in [
        (deep(8), "no problem"),
        (deep(9), "bodies lie more than 8 deep in each other"),
        (format!("{{workflow: w, nodes: {{{many}}}}}"), "there are 10001 nodes; there may be 10000"),
        (
            format!("{{workflow: w, nodes: {{a: {{type: branch, rules: [{rules}], default: b}}, b: {{type: x}}}}}}"),
            "the list has 1001 items; it may have 1000",
        ),
        (format!("{{workflow: w, nodes: {{{wide}{targets}}}}}"), "there are 120000 edges; there may be 100000"),
        (format!("{{workflow: {}, nodes: {{a: {{type: x}}}}}}", "w".repeat(129)), "is longer than 128 bytes"),
        (
            format!("{{workflow: w, nodes: {{{}: {{type: x}}}}}}", "a".repeat(65)),
            "has 1 to 64 letters a-z and A-Z, digits, _ and -",
        ),
        (format!("{{workflow: w, nodes: {{a: {{type: x}}}}, description: '{}'}}", "a".repeat(4_097)), "the text has 4097 bytes"),
    ] {
        let told = told(&text);
        assert!(told.contains(expected) && told.lines().count() <= 2, "{expected}: {told}");
    }
}

#[test]
fn defaults_hold_for_workers_only() {
    let text = "
workflow: w
version: 3
description: all kinds
tags: [a, b]
defaults: {retry: {attempts: 5, backoff: 2s, jitter: 20%}, timeout: 10m, queue: slow, priority: high}
limits: {deadline: 1d, stall: 1h, steps: 70}
nodes:
  a: {type: x}
  b: {type: x, after: a, retry: {attempts: 1}, timeout: 5s, queue: fast, priority: -30, key: {tenant: '${input.t}'}, with: {n: 1}}
  c: {type: approval, after: b, who: ann, message: 'ok?'}
  d: {type: workflow, run: other, version: 2, after: c, with: {x: '${output}'}, timeout: 1h, on_error: ignore}
  e: {type: sleep, for: 90s, after: d}
  f: {type: sleep, for: input.ms, after: e}
  g: {type: sleep, until: '2027-01-31T09:00:00Z', after: f}
  h: {type: sleep, until: output.at, after: g}
  i: {type: filter, items: nodes.a.output, where: item.n > 1, after: h}
  j: {type: aggregate, items: output, op: sum, of: item.n, after: i}
  k: {type: aggregate, items: output, op: count, after: j}
  l: {type: aggregate, items: output, op: collect, of: item, after: k}
  m: {type: transform, value: {got: '${output}', list: [1, 2.5, null, true]}, after: l}
  n: {type: each, items: [1, 2], after: m, do: {nodes: {o: {type: x, with: '${index}'}}}}
";
    let compiled = compiled(text);
    super::promises::validate(&compiled.ir);
    assert_eq!(compiled.definition.tags.len(), 2);
    let limits = &compiled.ir.limits;
    assert_eq!((limits.deadline_ms, limits.stall_ms, limits.steps_max), (Some(86_400_000), 3_600_000, 70));
    let expected = r#"
w v3
from a to n
a: x@slow priority 600 with - retry 5x2000..3600000ms timeout 600000ms -> b
b: x@fast priority -30 tenant=$⟨"${input.t}"⟩(input) with $⟨{"n":1}⟩() retry 1x1000..3600000ms timeout 5000ms -> c
c: approval ["ann"] $⟨"ok?"⟩() -> d
d: workflow other Some(2) with $⟨{"x":"${output}"}⟩(output) on_error Ignore timeout 3600000ms -> e
e: sleep 90000ms -> f
f: sleep for ⟨input.ms⟩(input) -> g
g: sleep until $⟨"2027-01-31T09:00:00Z"⟩() -> h
h: sleep until ⟨output.at⟩(output) -> i
i: filter ⟨(nodes.a.output).filter(item, item.n > 1)⟩(a) -> j
j: aggregate ⟨sum((output).map(item, item.n))⟩(output) -> k
k: aggregate ⟨size((output))⟩(output) -> l
l: aggregate ⟨(output).map(item, item)⟩(output) -> m
m: transform $⟨{"got":"${output}","list":[1,2.5,null,true]}⟩(output) -> n
n: each $⟨[1,2]⟩() by 8 Fast
  from o to o
  o: x@slow priority 600 with $⟨"${index}"⟩(item) retry 5x2000..3600000ms timeout 600000ms
"#;
    let found = summary(&compiled.ir);
    assert_eq!(found.trim(), expected.trim(), "\n{found}");
}

#[test]
fn an_edge_goes_where_it_is_written_whatever_the_order_of_the_text() {
    let text = "
workflow: w
nodes:
  z: {type: x, after: [y, m]}
  m: {type: x, after: a}
  y: {type: x, after: a}
  a: {type: x}
";
    let ir = compiled(text).ir;
    super::promises::validate(&ir);
    let order: Vec<&str> = ir.bodies[0].nodes.iter().map(|ix| ir.node(*ix).id.as_str()).collect();
    assert_eq!(order, ["a", "m", "y", "z"]);
    assert_eq!(ir.version, 1);
}

#[test]
fn aggregates_say_what_becomes_of_no_items() {
    for (op, expected) in [
        ("count", "size((output))"),
        ("sum", "sum((output))"),
        ("min", "[(output)].map(xs, size(xs) == 0 ? null : min(xs))[0]"),
        ("max", "[(output)].map(xs, size(xs) == 0 ? null : max(xs))[0]"),
        ("avg", "[(output)].map(xs, size(xs) == 0 ? null : double(sum(xs)) / double(size(xs)))[0]"),
        ("first", "[(output)].map(xs, size(xs) == 0 ? null : xs[0])[0]"),
        ("last", "[(output)].map(xs, size(xs) == 0 ? null : xs[size(xs) - 1])[0]"),
        ("collect", "(output)"),
    ] {
        let ir = compiled(&flow(&format!("  a: {{type: x}}\n  b: {{type: aggregate, after: a, items: output, op: {op}}}"))).ir;
        assert_eq!(&*ir.exprs[0].source, expected);
    }
}
