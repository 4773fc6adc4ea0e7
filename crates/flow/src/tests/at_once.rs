//! Several mistakes in one text, in the real language: all that can be told is told, and nothing that only follows from another.

use crate::{Language, compile, compile_all, problem};

fn told(text: &str) -> Vec<String> {
    match compile(text.as_bytes(), &Language) {
        Ok(compiled) => compiled.warnings.iter().map(|warning| format!("warning {warning}")).collect(),
        Err(problems) => problems.iter().map(|problem| problem.to_string()).collect(),
    }
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let told = told(text);
    assert_eq!(told, expected, "\n{text}\n{}", told.join("\n"));
}

fn nodes(nodes: &str) -> String {
    format!("workflow: w\nnodes:\n{nodes}")
}

const TRUTH: &str = "a condition must be true or false; this gives";

#[test]
fn what_gives_the_wrong_kind_is_told_wherever_it_stands() {
    check(
        &nodes(
            "  f: {type: filter, items: input.xs, where: \"1\"}\n  g: {type: filter, items: input.xs, where: \"'x'\"}\n  \
             a: {type: x, when: \"'x' && true\"}\n  b: {type: x, when: \"!1\"}\n  c: {type: x, when: run.nope}\n  \
             e: {type: each, items: \"'abc'\", do: {nodes: {i: {type: x}}}}\n  h: {type: filter, items: \"'abc'\", where: item > 1}\n  \
             k: {type: aggregate, items: \"1 + 1\", op: count}\n  s: {type: sleep, until: \"'tomorrow'\"}\n  \
             t: {type: sleep, until: \"input.n + 1\"}\n  u: {type: sleep, for: \"'soon'\"}\n",
        ),
        &[
            &format!("3:46: {TRUTH} a number\n  compare it with something"),
            &format!("4:46: {TRUTH} a string\n  compare it with something"),
            &format!("5:23: {TRUTH} a string\n  compare it with something"),
            &format!("6:24: {TRUTH} a number\n  compare it with something"),
            "7:25: `run` has `id`, `workflow` and `version`, but no `nope`",
            "8:27: a list must stand here; this gives a string\n  write what gives one, such as input.files",
            "9:29: a list must stand here; this gives a string\n  write what gives one, such as input.files",
            "10:34: a list must stand here; this gives a number\n  write what gives one, such as input.files",
            "11:28: this is no instant\n  write one such as '2027-01-31T09:00:00Z'",
            "12:36: an instant must be a string; this gives a number\n  write one such as '2027-01-31T09:00:00Z'",
            "13:26: milliseconds must stand here; this gives a string\n  write a duration such as 30s without quotes",
        ],
    );
}

#[test]
fn other_ways_to_mark_an_expression_are_told() {
    let already = "this is an expression already\n  leave out `${ }`: it marks expressions in templates";
    check(
        &nodes("  a: {type: x, when: \"${input.x > 3}\"}\n  b: {type: transform, value: \"${input.x}\"}\n"),
        &[&format!("3:23: {already}"), &format!("4:32: {already}")],
    );
    check(
        &nodes("  a: {type: x, with: {a: \"{{ input.x }}\", b: \"{{name}} {{run\", c: \"${input.y} {{.input.y}}\"}}\n"),
        &[
            "warning 3:27: `{{ }}` stays as it is: in a template, expressions stand in `${ }`\n  write ${input.x}",
            "warning 3:79: `{{ }}` stays as it is: in a template, expressions stand in `${ }`\n  write ${input.y}",
        ],
    );
    check(
        &nodes("  lint-fix: {type: x}\n  b: {type: x, after: lint-fix, when: nodes.lint-fix.output > 1}\n"),
        &["4:39: `nodes.lint-fix` reads as a subtraction\n  write nodes['lint-fix'].output"],
    );
}

#[test]
fn a_misspelt_type_of_the_engine_explains_the_fields() {
    check(
        &nodes("  a: {type: apporval, message: hi}\n  b: {type: transfrom, after: a, value: \"3\"}\n  c: {type: x, value: 3}\n"),
        &[
            "3:13: `apporval` is no type of the engine's\n  did you mean `approval`?",
            "4:13: `transfrom` is no type of the engine's\n  did you mean `transform`?",
            "5:16: a node of type `x` has no field `value`\n  it may have type, after, join, when, on_error, retry, timeout, queue, priority, key, with",
        ],
    );
    check(
        &nodes("  a: {type: approval, who: []}\n"),
        &["3:28: at least one name is expected, not an empty list\n  leave out `who` if anyone may answer"],
    );
}

#[test]
fn simple_mistakes_hide_no_others() {
    // A reference that is not upstream, a circle, joins, bodies, ways and expressions beside a wrong duration.
    check(
        "workflow: w\nversion: 99999999999999999999999\nnodes:\n  a: {type: x, timeout: 30}\n  b: {type: x, with: \"${nodes.a.output}\"}\n  \
         c: {type: x, after: b, join: {n_of: 3}}\n  d: {type: x, after: e}\n  e: {type: x, after: d}\n",
        &[
            "2:10: an integer from 1 to 1000000000 is expected, not `99999999999999999999999`",
            "4:25: `30` is a number without a unit\n  write `30s` or `30ms`",
            "7:3: the nodes go round in a circle: d → e → d\n  what is to be repeated goes into the body of a `loop`",
        ],
    );
    check(
        &nodes(
            "  a: {type: x, timeout: 30}\n  b: {type: x, with: \"${nodes.a.output}\"}\n  c: {type: x, after: b, join: {n_of: 3}}\n  \
             e: {type: each, items: input.x, do: {nodes: {p: {type: x}, q: {type: x}, r: {type: x, after: [p, q], retry: 3}}}}\n",
        ),
        &[
            "3:25: `30` is a number without a unit\n  write `30s` or `30ms`",
            "4:30: `a` does not come before `b`",
            "5:32: `c` has nothing to join: only one way leads to it",
            "6:35: the body of `e` begins with several nodes: `p`, `q`\n  put one before them, such as `start: {type: transform, value: \"true\"}`, and give them `after: start`",
            "6:111: `retry` is a map, not an integer",
        ],
    );
    check(
        &nodes(
            "  a: {type: branch, rules: [{when: \"'yes'\", to: zz}]}\n  b: {type: aggregate, op: mean}\n  \
             l: {type: loop, until: \"1\", do: {nodes: {i: {type: x, when: \"2\"}}}}\n  m: {type: x, after: a, when: nodes.i.output > 1}\n",
        ),
        &[
            "3:6: a branch needs `default`: where it goes when no rule holds\n  `default: []` goes nowhere",
            &format!("3:37: {TRUTH} a string\n  compare it with something"),
            "3:49: no node `zz`",
            "4:6: a node of type `aggregate` needs `items`",
            "4:28: one of count, sum, min, max, avg, collect, first, last is expected, not `mean`",
            "5:6: a loop needs `max_iterations`\n  a number from 1 to 10000: it ends even if `until` never holds",
            &format!("5:27: {TRUTH} a number\n  compare it with something"),
            &format!("5:64: {TRUTH} a number\n  compare it with something"),
            "6:37: `i` lies inside `l`, of which only its own output is seen from here",
        ],
    );
}

#[test]
fn nothing_is_told_that_follows_from_a_lost_edge() {
    // `b` may come after `a`; `d` may be led to by `c`; `y` has a name that nobody can know.
    check(
        &nodes(
            "  a: {type: x}\n  b: {type: x, after: az, join: any, when: output.x && nodes.a.output}\n  \
             c: {type: x, on_eror: {to: d}}\n  d: {type: x, join: any, when: output.x && nodes.c.output}\n",
        ),
        &[
            "4:23: no node `az`\n  did you mean `a`?",
            "5:16: a node of type `x` has no field `on_eror`\n  did you mean `on_error`?",
        ],
    );
    check(
        &nodes("  a: {type: x}\n  y y: {type: x, after: a}\n  z: {type: x, after: y-y, when: nodes.a.output}\n"),
        &[
            "4:3: the id of a node has 1 to 64 letters a-z and A-Z, digits, _ and -, unlike `y y`\n  for example `y-y`",
            "5:23: no node `y-y`",
        ],
    );
    // Far from what was lost it is told.
    check(
        &nodes("  a: {type: x}\n  b: {type: x, after: zz}\n  c: {type: x, when: nodes.a.output}\n"),
        &["4:23: no node `zz`", "5:27: `a` does not come before `c`"],
    );
}

#[test]
fn a_listed_node_with_a_mistake_is_still_there() {
    check(
        "metadata: {name: w}\nnodes:\n  - {id: a, type: x, timeout_ms: 0}\n  - {id: j, type: transform}\n  - {id: b, type: x, config: {v: \"${nodes.zz.output}\", w: \"${last}\"}}\n  \
         - {id: l, type: loop, config: {condition: \"1\", max_iterations: 2, loop_back_to: zz}}\n\
         edges:\n  - {from: a, to: j}\n  - {from: j, to: b}\n  - {from: b, to: l}\noutput: nodes.j.output\n",
        &[
            "3:34: an integer from 1 to 31622400000 is expected, not `0`",
            "4:5: a `transform` needs a `config`",
            "5:42: there is no node `zz`",
            &format!("6:46: {TRUTH} a number\n  compare it with something"),
            "6:83: no node `zz`",
        ],
    );
}

#[test]
fn thousands_of_mistakes_are_counted() {
    let many = |node: &str| nodes(&(0..9_000).map(|at| format!("  n{at}: {{type: x, {node}}}\n")).collect::<String>());
    let told = |text: String| {
        let problems = compile_all(text.as_bytes(), &Language).expect_err("it is wrong");
        (problem::counted(&problems), problems.last().expect("there are some").message.clone())
    };
    assert_eq!(told(many("after: zz")), ("9000 problems".into(), "and 8900 more problems".into()));
    let (count, last) = told(many("when: zz"));
    assert_eq!(count, "at least 100 problems");
    assert_eq!(last, "what comes after these was not looked at: there may be more problems");
}
