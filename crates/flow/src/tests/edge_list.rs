//! The list of edges: what it becomes, and what is told about it.

use super::summary::summary;
use super::{check, compiled, promises};

/// Nodes (from line 3 on) and edges in a workflow of their own.
fn flow(nodes: &[&str], edges: &[&str]) -> String {
    let nodes: String = nodes.iter().map(|node| format!("  - {{{node}}}\n")).collect();
    let edges: String = edges.iter().map(|edge| format!("  - {{{edge}}}\n")).collect();
    format!("metadata: {{name: w}}\nnodes:\n{nodes}edges:{}\n{edges}", if edges.is_empty() { " []" } else { "" })
}

fn arrow(edge: &str) -> String {
    let (ends, condition) = edge.split_once(" if ").unwrap_or((edge, ""));
    let (from, to) = ends.split_once(" -> ").expect("an edge has two ends");
    let condition = if condition.is_empty() { String::new() } else { format!(", condition: \"{condition}\"") };
    format!("from: {from}, to: {to}{condition}")
}

fn arrows(nodes: &[&str], edges: &[&str]) -> String {
    let edges: Vec<String> = edges.iter().map(|edge| arrow(edge)).collect();
    flow(nodes, &edges.iter().map(String::as_str).collect::<Vec<_>>())
}

#[track_caller]
fn becomes(nodes: &[&str], edges: &[&str], expected: &str) {
    let ir = compiled(&arrows(nodes, edges)).ir;
    promises::validate(&ir);
    let found = summary(&ir);
    assert_eq!(found.trim(), expected.trim(), "\n{found}");
}

fn x(id: &str) -> String {
    format!("id: {id}, type: x")
}

#[test]
fn equal_conditions_are_one_rule_in_the_order_of_the_edges() {
    becomes(
        &[&x("a"), "id: c, type: conditional", &x("p"), &x("q"), &x("r"), &x("s")],
        &["a -> c", "c -> p if output.n > 1", "c -> q if ctx.a.output.m", "c -> r if output.n > 1", "c -> s"],
        r#"
w v1
from a to p q r s
a: x@x with - -> c
c: branch ⟨output.n > 1⟩(output) ⟨nodes.a.output.m⟩(a) -Rule(0)> p -Rule(0)> r -Rule(1)> q -Default> s
p: x@x with -
q: x@x with -
r: x@x with -
s: x@x with -
"#,
    );
}

#[test]
fn a_worker_with_conditions_on_its_edges_gets_a_branch_behind_it() {
    becomes(
        &[&x("a"), &x("b"), &x("c")],
        &["a -> b if output.ok", "a -> c"],
        r#"
w v1
from a to b c
a: x@x with - -> a-branch
a-branch: branch ⟨output.ok⟩(output) -Rule(0)> b -Default> c
b: x@x with -
c: x@x with -
"#,
    );
    becomes(
        &["id: a, type: conditional, config: {rules: [{condition: input.x, next_nodes: [b]}], default: [c]}", &x("b"), &x("c")],
        &["a -> b if input.x", "a -> c"],
        r#"
w v1
from a to b c
a: branch ⟨input.x⟩(input) -Rule(0)> b -Default> c
b: x@x with -
c: x@x with -
"#,
    );
}

#[test]
fn agents_and_people_name_the_way() {
    becomes(
        &[&x("a"), "id: c, type: conditional, config: {type: agent_driven, available_next_nodes: [p, q]}", &x("p"), &x("q")],
        &["a -> c"],
        r#"
w v1
from a to p q
a: x@x with - -> c
c: route -Named> p -Named> q
p: x@x with -
q: x@x with -
"#,
    );
    becomes(
        &[&x("a"), "id: c, type: conditional, config: {type: agent_driven}", &x("p"), &x("q")],
        &["a -> c", "c -> p", "c -> q"],
        r#"
w v1
from a to p q
a: x@x with - -> c
c: route -Named> p -Named> q
p: x@x with -
q: x@x with -
"#,
    );
    becomes(
        &["id: h, type: hitl, timeout_ms: 5", &x("yes"), &x("no")],
        &["h -> yes if output.approved == true", "h -> no if !output.approved"],
        r#"
w v1
from h to yes no
h: approval [] - timeout 5ms -Reject> no -> yes
yes: x@x with -
no: x@x with -
"#,
    );
    becomes(
        &["id: f, type: parallel", &x("b"), &x("c")],
        &["f -> b", "f -> c"],
        r#"
w v1
from f to b c
f: parallel ⟨input⟩(input) -> b -> c
b: x@x with -
c: x@x with -
"#,
    );
}

#[test]
fn values_are_made_in_the_engine() {
    becomes(
        &[
            "id: t, type: transform, config: {expression: input.rows}",
            "id: f, type: filter, config: {items: output, condition: item.n > 1}",
            "id: g, type: aggregate, config: {items: output, op: max, of: item.n}",
            "id: w, type: x, retry: {max_attempts: 10, backoff_ms: 0, backoff_multiplier: 1.0}",
        ],
        &["t -> f", "f -> g", "g -> w"],
        r#"
w v1
from t to w
t: transform ⟨input.rows⟩(input) -> f
f: filter ⟨(output).filter(item, item.n > 1)⟩(output) -> g
g: aggregate ⟨[(output).map(item, item.n)].map(xs, size(xs) == 0 ? null : max(xs))[0]⟩(output) -> w
w: x@x with - retry 10x0..0ms
"#,
    );
}

fn loop_node(id: &str, back: &str, rest: &str) -> String {
    format!("id: {id}, type: loop, config: {{condition: output.again, max_iterations: 3, loop_back_to: {back}{rest}}}")
}

#[test]
fn the_region_before_a_loop_is_its_body() {
    // Several ways to its end are joined; a way that is not taken does not stop it.
    becomes(
        &[&x("a"), &x("b"), &x("c"), &x("d"), &loop_node("l", "b", ", break_path: [e], timeout_path: [f]"), &x("e"), &x("f")],
        &["a -> b", "b -> c", "b -> d if output.x", "c -> l", "d -> l", "l -> b", "l -> e"],
        r#"
w v1
from a to e f
a: x@x with - -> l
l: loop 3 init - until ⟨!(output.again)⟩(output) -Max> f -> e
  from b to l-end
  b: x@x with - -> b-branch
  b-branch: branch ⟨output.x⟩(output) -Rule(0)> d -Default> c
  c: x@x with - -> l-end
  d: x@x with - -> l-end
  l-end: join
e: x@x with -
f: x@x with -
"#,
    );
    // The loop is where the workflow begins, and where a worker leads on by a condition.
    becomes(
        &[&x("b"), &loop_node("l", "b", "")],
        &["b -> l if output.x"],
        r#"
w v1
from l to l
l: loop 3 init - until ⟨!(output.again)⟩(output)
  from b to l-end
  b: x@x with - -> b-branch
  b-branch: branch ⟨output.x⟩(output) -Rule(0)> l-end
  l-end: transform ⟨output⟩(output)
"#,
    );
}

#[test]
fn loops_lie_in_loops_and_may_begin_with_the_same_node() {
    becomes(
        &[&x("a"), &x("b"), &loop_node("inner", "b", ""), &x("c"), &loop_node("outer", "a", ", break_path: z"), &x("z")],
        &["a -> b", "b -> inner", "inner -> c", "c -> outer"],
        r#"
w v1
from outer to z
outer: loop 3 init - until ⟨!(output.again)⟩(output) -> z
  from a to c
  a: x@x with - -> inner
  inner: loop 3 init - until ⟨!(output.again)⟩(output) -> c
    from b to b
    b: x@x with -
  c: x@x with -
z: x@x with -
"#,
    );
    becomes(
        &[&x("a"), &loop_node("inner", "a", ""), &loop_node("outer", "a", "")],
        &["a -> inner", "inner -> outer"],
        r#"
w v1
from outer to outer
outer: loop 3 init - until ⟨!(output.again)⟩(output)
  from inner to inner
  inner: loop 3 init - until ⟨!(output.again)⟩(output)
    from a to a
    a: x@x with -
"#,
    );
}

#[test]
fn what_is_no_region_is_told_by_its_edge() {
    let l = loop_node("l", "b", ", break_path: [e]");
    let all = ["id: a, type: x", "id: b, type: x", "id: c, type: x", &l, "id: e, type: x"];
    let inner = loop_node("m", "c", "");
    check(&[
        (
            &arrows(&all, &["a -> b", "b -> c", "c -> l", "a -> c"]),
            "12:5: the edge `a` → `c` enters the body of the loop `l`, which begins with `b` alone",
        ),
        (
            &arrows(&all, &["a -> b", "b -> c", "c -> l", "b -> e"]),
            "12:5: the edge `b` → `e` leaves the body of the loop `l`, which ends with `l` alone",
        ),
        (
            &arrows(&all, &["a -> b", "b -> c", "c -> l", "a -> l"]),
            "12:5: the edge `a` → `l` enters the loop `l` past its body, which begins with `b`",
        ),
        (
            &arrows(&all, &["a -> b", "b -> c", "c -> l", "l -> c"]),
            "12:5: the edge `l` → `c` leads from the loop back into its body; `loop_back_to` is the way back",
        ),
        (
            &arrows(&all, &["a -> b", "b -> c", "a -> l"]),
            "6:92: no way leads from `b` to the loop `l`\n  `loop_back_to` names the first node of what is repeated",
        ),
        (
            &arrows(&all, &["a -> b", "b -> c", "c -> l", "l -> e if output.x"]),
            "12:5: the ways out of a loop have no conditions: they are `break_path` and `timeout_path`",
        ),
        (
            &arrows(&[&x("b"), &loop_node("l", "l", "")], &["b -> l"]),
            "4:92: `l` cannot loop back to itself: its body would be empty",
        ),
        (&arrows(&[&x("b"), &loop_node("l", "bb", "")], &["b -> l"]), "4:92: no node `bb`\n  did you mean `b`?"),
        (
            &arrows(&[&x("b"), &x("c"), &loop_node("l", "b", ""), &x("d"), &inner], &["b -> c", "c -> l", "l -> d", "d -> m"]),
            "7:92: `m` loops back to `c`, which lies inside the loop `l`",
        ),
        (
            &arrows(&[&x("a"), &x("b"), &x("c")], &["a -> b", "b -> c", "c -> a"]),
            "3:5: the nodes go round in a circle: a → b → c → a\n  what is to be repeated goes into the body of a `loop`",
        ),
    ]);
}

#[test]
fn every_field_is_known() {
    check(&[
        (
            "metadata: {name: w}\nnodes:\n  - {id: a, type: x, config: null}\n  - {id: l, type: loop, timeout_ms: 5, config: {condition: output.x, max_iterations: 1, loop_back_to: a}}\nedges: [{from: a, to: l, condition: null}]",
            "4:5: a loop has no `retry` and no `timeout_ms`: the nodes it repeats have",
        ),
        ("nodes: [{id: a, type: x}]", "1:1: a workflow needs a name, `metadata.name`"),
        (
            "metadata: {name: My Flow, version: 0.1}\nnodes: [{id: a, type: x}]",
            "1:18: workflow `My Flow` may hold only letters a-z and A-Z, digits and _ - . / : @\n  for example `my-flow`\n1:36: an integer from 1 to 1000000000 is expected, not `0.1`",
        ),
        ("metadata: {name: w}\nnodes: []", "2:8: a workflow needs at least one node"),
        (&flow(&["id: a"], &[]), "3:5: node `a` needs `type`"),
        (
            &flow(&["type: x", "id: a b, type: x"], &[]),
            "3:5: a node needs `id`\n4:10: the id of a node has 1 to 64 letters a-z and A-Z, digits, _ and -, unlike `a b`\n  for example `a-b`",
        ),
        (&flow(&["id: a, type: x", "id: a, type: x"], &[]), "4:5: there are two nodes `a`, the other in line 3"),
        (&flow(&["id: a, type: x, confg: {}"], &[]), "3:22: node `a` has no field `confg`\n  did you mean `config`?"),
        (
            &flow(&["id: a, type: x, timeout_ms: 0, retry: {max_attempts: 11, backoff_multiplier: 3}"], &[]),
            "3:34: an integer from 1 to 31622400000 is expected, not `0`\n3:59: an integer from 1 to 10 is expected, not `11`\n3:83: 1 or 2 (the wait stays, or doubles) is expected, not `3`",
        ),
        (
            &flow(&["id: a, type: each"], &[]),
            "3:5: node `a`: type `each` is not one of the edge-list form\n  write `nodes` as a map to use it",
        ),
        (
            &flow(&["id: a, type: conditional"], &[]),
            "3:5: `a` is conditional, but none of its edges has a condition\n  give the edges that leave it a `condition`; the one without is the default",
        ),
        (
            &flow(&["id: a, type: loop"], &[]),
            "3:5: node `a`: a loop needs `condition`, `max_iterations` and `loop_back_to` in its `config`",
        ),
        (
            &flow(&["id: a, type: loop, config: {max_iterations: 0}"], &[]),
            "3:33: a loop's `config` needs `condition`\n3:33: a loop's `config` needs `loop_back_to`\n3:50: an integer from 1 to 10000 is expected, not `0`",
        ),
        (
            &flow(&["id: a, type: parallel, config: {wait: 1}"], &[]),
            "3:38: the config of a `parallel` node has no field `wait`\n  it has none",
        ),
        (
            &flow(&["id: p, type: x", "id: a, type: conditional, config: {type: agent_driven}"], &["from: p, to: a"]),
            "4:5: `a` has no `available_next_nodes`",
        ),
        (
            &flow(&["id: a, type: conditional, config: {rule: 1}"], &[]),
            "3:5: `a` is conditional, but none of its edges has a condition\n  give the edges that leave it a `condition`; the one without is the default\n3:41: the config of a `conditional` has no field `rule`\n  did you mean `rules`?",
        ),
        (
            &flow(&["id: a, type: hitl, config: {text: ok}"], &[]),
            "3:34: the config of a `hitl` node has no field `text`\n  it may have message, prompt, who, approvers, on_reject",
        ),
        (&flow(&["id: a, type: aggregate"], &[]), "3:5: an `aggregate` needs a `config`"),
        (&flow(&["id: a, type: transform"], &[]), "3:5: a `transform` needs a `config`"),
        (&flow(&["id: a, type: transform, config: {}"], &[]), "3:38: the config of a `transform` needs `value`"),
        (
            &flow(&["id: a, type: x, branch: {type: manual}"], &[]),
            "3:30: `branch` needs `available_next_nodes`\n3:37: agent_driven is expected, not `manual`",
        ),
        (&flow(&["id: a, type: x"], &["from: a"]), "5:5: an edge needs `to`"),
        (&flow(&["id: alpha, type: x"], &["from: alpa, to: alpha"]), "5:12: no node `alpa`\n  did you mean `alpha`?"),
        (&flow(&["id: a, type: x"], &["from: a, to: a"]), "5:5: `a` cannot lead to itself"),
        (
            &flow(&["id: a, type: x", "id: b, type: x"], &["from: a, to: b", "from: a, to: b"]),
            "7:5: the edge from `a` to `b` is there twice",
        ),
        (
            &flow(
                &["id: a, type: x, branch: {available_next_nodes: [b]}", "id: b, type: x", "id: c, type: x"],
                &["from: a, to: c", "from: a, to: b, condition: output.x"],
            ),
            "7:5: `c` is not among `available_next_nodes`\n8:5: an agent names the way here: its edges have no conditions",
        ),
        (
            &flow(&["id: a, type: x", "id: b, type: x, config: {v: '${nodes.c.output}'}"], &["from: a, to: b"]),
            "4:37: no node `c`",
        ),
    ]);
}

#[test]
fn everything_listed_has_a_limit_too() {
    let loops = |count: usize| {
        let mut nodes = vec![x("b")];
        nodes.extend((0..count).map(|at| loop_node(&format!("l{at}"), "b", "")));
        let edges: Vec<String> =
            (0..count).map(|at| format!("{} -> l{at}", if at == 0 { "b".to_owned() } else { format!("l{}", at - 1) })).collect();
        (nodes, edges)
    };
    let conditions: Vec<String> = (0..1_001).map(|at| format!("a -> b if output.n == {at}")).collect();
    let many: Vec<String> = (0..10_001).map(|at| x(&format!("n{at}"))).collect();
    for ((nodes, edges), expected) in [
        (loops(8), "no problem"),
        (loops(9), "bodies lie more than 8 deep in each other"),
        (loops(257), "there may be 256 loops in the edge-list form"),
        ((vec![x("a"), x("b")], conditions), "`a-branch` has 1001 rules; it may have 1000"),
        ((many, Vec::new()), "there are 10001 nodes; there may be 10000"),
    ] {
        let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
        let edges: Vec<&str> = edges.iter().map(String::as_str).collect();
        let told = super::told(&arrows(&nodes, &edges));
        assert!(told.contains(expected) && told.lines().count() == 1, "{expected}: {told}");
    }
}
