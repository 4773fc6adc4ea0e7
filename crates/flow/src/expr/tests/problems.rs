//! Text → what is said before anything runs.

use super::{World, told};
use crate::expr::{Expr, Listed, Names, Root};

fn check(flag: bool, table: &[(&str, &str)]) {
    let world = World::new();
    let wrong: Vec<String> = table
        .iter()
        .filter_map(|(source, expected)| {
            let compiled = if flag { Expr::compile_flag(source, &world.names()) } else { Expr::compile(source, &world.names()) };
            let told = compiled.map_or_else(|problems| told(&problems), |_| "fine".to_owned());
            (told != *expected).then(|| format!("{source}\n   expected {expected}\n   but      {told}"))
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn names_that_are_not_there() {
    check(
        false,
        &[
            ("inptu.a", "there is no name `inptu` (at 0); did you mean `input`?"),
            ("input.a + inptu.b", "there is no name `inptu` (at 10); did you mean `input`?"),
            ("zzz + 1 > qqq", "there is no name `zzz` (at 0) | there is no name `qqq` (at 10)"),
            (
                "iteration > 1",
                "`iteration` is not known here (at 0); known are `input`, `nodes`, `output`, `item`, `index`, `run`",
            ),
            ("input.list.map(order, ordr + 1)", "there is no name `ordr` (at 22); did you mean `order`?"),
            ("input.list.map(x, x) + x", "there is no name `x` (at 23)"),
            ("pay.total", "there is no name `pay` (at 0); write nodes.pay.output"),
        ],
    );
}

#[test]
fn nodes_that_cannot_be_read() {
    check(
        false,
        &[
            ("nodes.pya.output", "there is no node `pya` (at 5); did you mean `pay`?"),
            ("nodes.later.output", "`later` is not upstream of `report` (at 5)"),
            ("has(nodes.later.output)", "`later` is not upstream of `report` (at 9)"),
            ("nodes.pay.outptu", "a node has `output`, `status` and `error`, but no `outptu` (at 9); did you mean `output`?"),
            ("nodes.pay.total", "a node has `output`, `status` and `error`, but no `total` (at 9); write nodes.pay.output.total"),
            ("nodes.pay", "of `nodes.pay` can be read only `output`, `status` and `error` (at 5); write nodes.pay.output"),
            ("nodes['pay']", "of `nodes.pay` can be read only `output`, `status` and `error` (at 5); write nodes.pay.output"),
            (
                "nodes[input.name].output",
                "`nodes` can be read only one node at a time (at 0); write nodes.<id>.output, .status or .error",
            ),
            ("size(nodes)", "`nodes` can be read only one node at a time (at 5); write nodes.<id>.output, .status or .error"),
            ("has(nodes.pay)", "`has` asks for a key of something (at 9); write has(nodes.pay.output)"),
            ("nodes.lint-fix.output", "`nodes.lint-fix` reads as a subtraction (at 0); write nodes['lint-fix'].output"),
            (
                "1 + nodes.lint-fix.output.open > 2",
                "`nodes.lint-fix` reads as a subtraction (at 4); write nodes['lint-fix'].output.open",
            ),
            (
                "inptu.a - nodes.lint-fix.output",
                "there is no name `inptu` (at 0); did you mean `input`? | `nodes.lint-fix` reads as a subtraction (at 10); write nodes['lint-fix'].output",
            ),
            ("nodes.lint-fix > 2", "`nodes.lint-fix` reads as a subtraction (at 0); write nodes['lint-fix'].output"),
        ],
    );
    let nobody = Listed { ids: ["a".to_owned()].into(), ..Listed::default() };
    let own = Listed { reader: Some("a".to_owned()), ..nobody.clone() };
    for (nodes, says) in [(&nobody, "`a` is not upstream (at 5)"), (&own, "`a` cannot read its own result (at 5)")] {
        assert_eq!(told(&Expr::compile("nodes.a.output", &Names::new([]).with_nodes(nodes)).unwrap_err()), says);
    }
    assert_eq!(
        told(&Expr::compile("nodes.a.output", &Names::new([Root::Input])).unwrap_err()),
        "`nodes` is not known here (at 0); known are `input`"
    );
}

#[test]
fn functions_that_are_not_there() {
    check(
        false,
        &[
            ("len(input.list)", "there is no function `len` (at 0); did you mean `size`?"),
            ("'a'.startWith('b')", "there is no function `startWith` (at 4); did you mean `startsWith`?"),
            (
                "input.list.fliter(x, true)",
                "there is no function `fliter` (at 11); did you mean `filter`? | there is no name `x` (at 18)",
            ),
            ("contains('a', 'b')", "`contains` is a method (at 0); write text.contains(part)"),
            ("'1'.int()", "`int` is not a method (at 4); write int(x)"),
            ("exists(input.list, true)", "`exists` is a method (at 0); write list.exists(x, …)"),
            ("input.has('a')", "`has` is not a method (at 6); write has(input.key)"),
            ("size()", "`size` does not take 0 arguments (at 0); write size(x) or x.size()"),
            ("'a'.trim(1)", "`trim` does not take 1 argument (at 4); write text.trim()"),
            ("has(input)", "`has` asks for a key of something (at 4); write has(input.key)"),
            ("has(input.a, 1)", "`has` takes one argument (at 0); write has(input.key)"),
            ("input.list.map(x)", "`map` does not take 1 arguments (at 11); write list.map(x, …)"),
            ("input.list.all(1, true)", "`all` needs the name of a variable first (at 15); write list.all(x, …)"),
            ("'a'.matches('(')", "the pattern is not a regular expression: unclosed group (at 4)"),
            ("'a'.matches('a{1000}{1000}')", "the pattern is too large when compiled: shorten its repetitions (at 4)"),
            (
                "timestamp('2026-01-01T00:00:00Z')",
                "there is no function `timestamp` (at 0); JSON has no times: compare ISO 8601 texts, or milliseconds as ints",
            ),
        ],
    );
}

#[test]
fn bounds() {
    let nested = "[1].map(a, [1].map(b, [1].map(c, [1].map(d, d))))";
    let chain = ["1"; 66].join("+");
    let wide = format!("[{}]", ["1"; 1_000].join(","));
    check(
        false,
        &[
            (nested, "`map`, `filter`, `all` and `exists` nest deeper than 3 (at 37)"),
            (
                &chain,
                "the expression nests deeper than 64 (at 127); join long lists of texts with `[…].join()`, or split it over two nodes",
            ),
            (&wide, "the expression has more than 1000 parts (at 0)"),
            ("[1].map(a, [1].map(b, [1].map(c, c))).map(d, d)", "fine"),
            (&["1"; 64].join("+"), "fine"),
            (&["true"; 200].join("&&"), "fine"),
        ],
    );
}

#[test]
fn what_is_obviously_no_flag() {
    let why = |what: &str, at: usize| {
        format!("a condition must be true or false; this gives {what} (at {at}); compare it with something")
    };
    let table = [
        ("1", why("a number", 0)),
        ("'true'", why("a string", 0)),
        ("null", why("null", 0)),
        ("input.a + 1", why("a number", 8)),
        ("input.a + input.b", why("a number, a string or a list", 8)),
        ("1 + true", why("a number", 2)),
        ("'a' + input.b", why("a string", 4)),
        ("input.a * 2", why("a number", 8)),
        ("'x' && true", why("a string", 0)),
        ("input.a || [1]", why("a list", 11)),
        ("!1", why("a number", 1)),
        ("1 ? true : false", why("a number", 0)),
        ("(input.a ? 'a' : 'b') && input.c", why("a string", 11)),
        ("input.list.filter(x, 1) == []", why("a number", 21)),
        ("input.list.exists(x, x + 1)", why("a number", 23)),
        ("input.list.map(x, 'a', x) == []", why("a string", 18)),
        ("run", why("a map", 0)),
        ("run.version", why("a number", 3)),
        ("run.id == 'a' && run['id']", why("a string", 20)),
        ("run.nope", "`run` has `id`, `workflow` and `version`, but no `nope` (at 3)".into()),
        ("has(run.verson)", "`run` has `id`, `workflow` and `version`, but no `verson` (at 7); did you mean `version`?".into()),
        ("-input.a", why("a number", 0)),
        ("[true]", why("a list", 0)),
        ("{'a': true}", why("a map", 0)),
        ("size(input.list)", why("a number", 0)),
        ("input.name.trim()", why("a string", 11)),
        ("input.list.filter(x, x > 1)", why("a list", 11)),
        ("nodes.pay.status", why("a string", 9)),
        ("input.a ? 1 : true", why("a number", 10)),
        ("index", why("a number", 0)),
        ("true", "fine".into()),
        ("input.a", "fine".into()),
        ("input.list.exists(x, x > 1)", "fine".into()),
        ("input.name.contains('a')", "fine".into()),
        ("nodes.pay.output", "fine".into()),
        ("min(input.list)", "fine".into()),
    ];
    let table: Vec<(&str, &str)> = table.iter().map(|(source, expected)| (*source, expected.as_str())).collect();
    check(true, &table);
}
