mod differences;
mod properties;

use super::*;
use kernel::names::NodeId;

/// The document after a patch, on one line; or why there is none.
fn patched(document: &str, operations: &str) -> String {
    let document = Document::read(document.as_bytes()).expect("the document can be read");
    let before = document.clone();
    let done = Operations::read(operations.as_bytes()).and_then(|operations| document.apply(&operations));
    assert_eq!(document, before, "a patch never changes the document it is applied to");
    match done {
        Ok(done) => done.0.compact(),
        Err(error) => error.to_string(),
    }
}

fn check(cases: &[(&str, &str, &str)]) {
    let mut wrong = Vec::new();
    for (document, operations, expected) in cases {
        let found = patched(document, operations);
        if found != *expected {
            wrong.push(format!("{document}\n{operations}\nexpected: {expected}\nfound:    {found}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_operation_does_what_the_rfc_says() {
    check(&[
        ("{a: 1}", "[]", r#"{"a": 1}"#),
        // Adding: to a map, over what is there, into a list and behind it, in place of the whole.
        ("{a: 1}", "[{op: add, path: /b, value: 2}]", r#"{"a": 1, "b": 2}"#),
        ("{a: 1}", "[{op: add, path: /a, value: null}]", r#"{"a": null}"#),
        ("{a: {b: 1}}", "[{op: add, path: /a/c, value: [true]}]", r#"{"a": {"b": 1, "c": [true]}}"#),
        ("[1, 3]", "[{op: add, path: /1, value: 2}]", "[1, 2, 3]"),
        ("[1]", "[{op: add, path: /0, value: 0}]", "[0, 1]"),
        ("[1]", "[{op: add, path: /1, value: 2}]", "[1, 2]"),
        ("[1]", "[{op: add, path: /-, value: [2, 3]}]", "[1, [2, 3]]"),
        ("{a: [[1]]}", "[{op: add, path: /a/0/-, value: 2}]", r#"{"a": [[1, 2]]}"#),
        ("{a: 1}", "[{op: add, path: '', value: [7]}]", "[7]"),
        ("{a: 1}", "[{op: add, path: /, value: 2}]", r#"{"a": 1, "": 2}"#),
        ("{a: 1}", "[{op: add, path: /0, value: x}]", r#"{"a": 1, "0": "x"}"#),
        ("{a: 1}", "[{op: add, path: /-, value: x}]", r#"{"a": 1, "-": "x"}"#),
        // Removing.
        ("{a: 1, b: 2}", "[{op: remove, path: /a}]", r#"{"b": 2}"#),
        ("[1, 2, 3]", "[{op: remove, path: /1}]", "[1, 3]"),
        ("{a: {b: null}}", "[{op: remove, path: /a/b}]", r#"{"a": {}}"#),
        ("[1, 2]", "[{op: remove, path: /0}, {op: remove, path: /0}]", "[]"),
        // Replacing, where it stands.
        ("{a: 1, b: 2}", "[{op: replace, path: /a, value: {c: 3}}]", r#"{"a": {"c": 3}, "b": 2}"#),
        ("[1, 2]", "[{op: replace, path: /1, value: x}]", r#"[1, "x"]"#),
        ("{a: 1}", "[{op: replace, path: '', value: x}]", r#""x""#),
        ("{a: null}", "[{op: replace, path: /a, value: true}]", r#"{"a": true}"#),
        // Moving and copying.
        ("{a: 1, b: {c: 2}}", "[{op: move, from: /b/c, path: /d}]", r#"{"a": 1, "b": {}, "d": 2}"#),
        ("{a: 1, b: 2}", "[{op: move, from: /a, path: /b}]", r#"{"b": 1}"#),
        ("{a: 1}", "[{op: move, from: /a, path: /a}]", r#"{"a": 1}"#),
        ("[1, 2, 3]", "[{op: move, from: /0, path: /2}]", "[2, 3, 1]"),
        ("[1, 2, 3]", "[{op: move, from: /2, path: /0}]", "[3, 1, 2]"),
        ("[1, 2, 3]", "[{op: move, from: /0, path: /-}]", "[2, 3, 1]"),
        ("{a: {b: {c: 1}}}", "[{op: move, from: /a/b, path: /a}]", r#"{"a": {"c": 1}}"#),
        ("{a: {b: 1}}", "[{op: move, from: /a/b, path: ''}]", "1"),
        ("{a: {z: 1, y: 2}}", "[{op: copy, from: /a, path: /b}]", r#"{"a": {"z": 1, "y": 2}, "b": {"z": 1, "y": 2}}"#),
        ("{a: 1}", "[{op: copy, from: '', path: /b}]", r#"{"a": 1, "b": {"a": 1}}"#),
        ("[1, 2]", "[{op: copy, from: /0, path: /-}]", "[1, 2, 1]"),
        ("{a: null}", "[{op: copy, from: /a, path: /b}]", r#"{"a": null, "b": null}"#),
        // Testing.
        ("{a: {b: [1, x, null]}}", "[{op: test, path: /a, value: {b: [1, x, null]}}]", r#"{"a": {"b": [1, "x", null]}}"#),
        ("{a: {b: 1, c: 2}}", "[{op: test, path: /a, value: {c: 2, b: 1}}]", r#"{"a": {"b": 1, "c": 2}}"#),
        ("{a: 1}", "[{op: test, path: /a, value: 1.0}]", r#"{"a": 1}"#),
        ("{a: 100}", "[{op: test, path: /a, value: 1e2}]", r#"{"a": 100}"#),
        ("{a: 0.5}", "[{op: test, path: /a, value: 5e-1}]", r#"{"a": 0.5}"#),
        ("{a: -0.0}", "[{op: test, path: /a, value: 0}]", r#"{"a": -0.0}"#),
        ("{a: 18446744073709551617}", "[{op: test, path: /a, value: 18446744073709551617}]", r#"{"a": 18446744073709551617}"#),
        ("{a: null}", "[{op: test, path: /a, value: null}]", r#"{"a": null}"#),
        ("{'': 1}", "[{op: test, path: /, value: 1}]", r#"{"": 1}"#),
        ("[1]", "[{op: test, path: '', value: [1]}]", "[1]"),
        // Keys with slashes and tildes, and what looks like an escape and is none.
        ("{a/b: 1, m~n: 2}", "[{op: test, path: /a~1b, value: 1}, {op: remove, path: /m~0n}]", r#"{"a/b": 1}"#),
        ("{'~1': 1}", "[{op: test, path: /~01, value: 1}]", r#"{"~1": 1}"#),
        ("{'a b': 1, ü: 2, '\"': 3, '\\': 4}", "[{op: remove, path: '/a b'}, {op: remove, path: /ü}]", r#"{"\"": 3, "\\": 4}"#),
        // Members an operation does not know mean nothing; the order of members means nothing.
        ("{a: 1}", "[{value: 2, note: why, from: 7, path: /a, op: replace}]", r#"{"a": 2}"#),
        ("{a: 1}", "{description: why, operations: [{op: remove, path: /a}]}", "{}"),
        // One after the other, each on what the one before left.
        (
            "{a: 1}",
            "[{op: add, path: /b, value: []}, {op: add, path: /b/-, value: 1}, {op: test, path: /b/0, value: 1}]",
            r#"{"a": 1, "b": [1]}"#,
        ),
    ]);
}

#[test]
fn what_cannot_be_done_is_told_and_nothing_is() {
    check(&[
        (
            "{alpha: 1}",
            "[{op: remove, path: /alpa}]",
            "operations[0] (remove /alpa): there is no `alpa` in the document\n  did you mean `alpha`?",
        ),
        ("{a: 1}", "[{op: replace, path: /zz, value: 1}]", "operations[0] (replace /zz): there is no `zz` in the document"),
        ("{a: 1}", "[{op: add, path: /b/c, value: 1}]", "operations[0] (add /b/c): there is no `b` in the document"),
        ("{a: 1}", "[{op: add, path: /a/c, value: 1}]", "operations[0] (add /a/c): `/a` is a number: nothing can be added to it"),
        ("{a: 1}", "[{op: remove, path: /a/c/d}]", "operations[0] (remove /a/c/d): `/a` is a number: nothing is in it"),
        ("[1]", "[{op: add, path: /2, value: 1}]", "operations[0] (add /2): there is no place 2 in the document: it has 1"),
        ("[1]", "[{op: remove, path: /1}]", "operations[0] (remove /1): there is no place 1 in the document: it has 1"),
        (
            "[1]",
            "[{op: replace, path: /-, value: 1}]",
            "operations[0] (replace /-): `-` is the place after the last of a list: nothing is there",
        ),
        (
            "[1]",
            "[{op: remove, path: /-}]",
            "operations[0] (remove /-): `-` is the place after the last of a list: nothing is there",
        ),
        ("[1, 2]", "[{op: remove, path: /01}]", "operations[0] (remove /01): `01` is no place in a list"),
        ("[1, 2]", "[{op: add, path: /00, value: 1}]", "operations[0] (add /00): `00` is no place in a list"),
        ("[1, 2]", "[{op: test, path: /1e0, value: 1}]", "operations[0] (test /1e0): `1e0` is no place in a list"),
        ("[1, 2]", "[{op: remove, path: /-1}]", "operations[0] (remove /-1): `-1` is no place in a list"),
        ("[1, 2]", "[{op: remove, path: '/ 1'}]", "operations[0] (remove / 1): ` 1` is no place in a list"),
        (
            "[1]",
            "[{op: remove, path: /99999999999999999999}]",
            "operations[0] (remove /99999999999999999999): there is no place 99999999999999999999 in the document: it has 1",
        ),
        ("{a: {b: 1}}", "[{op: move, from: /a, path: /a/b}]", "operations[0] (move /a/b): `/a` cannot be moved into itself"),
        ("{a: 1}", "[{op: move, from: '', path: /b}]", "operations[0] (move /b): `` cannot be moved into itself"),
        (
            "{a: 1, ab: 2}",
            "[{op: move, from: /a, path: /ab/c}]",
            "operations[0] (move /ab/c): `/ab` is a number: nothing can be added to it",
        ),
        ("{a: 1}", "[{op: move, from: /b, path: /b}]", "operations[0] (move /b): there is no `b` in the document"),
        ("{a: 1}", "[{op: copy, from: /bc, path: /c}]", "operations[0] (copy /c): there is no `bc` in the document"),
        (
            "{a: 1}",
            "[{op: remove, path: ''}]",
            "operations[0] (remove of the whole document): the whole document cannot be removed, only replaced",
        ),
        // After the first are gone, the second is not done either.
        (
            "{a: 1}",
            "[{op: remove, path: /a}, {op: test, path: /a, value: 1}]",
            "operations[1] (test /a): there is no `a` in the document",
        ),
        ("{a: 1}", "[{op: test, path: /a, value: '1'}]", "operations[0] (test /a): it is 1, not \"1\""),
        ("{a: [1, 2]}", "[{op: test, path: /a, value: [2, 1]}]", "operations[0] (test /a): it is [1, 2], not [2, 1]"),
        (
            "{a: {b: 1}}",
            "[{op: test, path: /a, value: {b: 1, c: 2}}]",
            "operations[0] (test /a): it is {\"b\": 1}, not {\"b\": 1, \"c\": 2}",
        ),
        (
            "{a: 1}",
            "[{op: test, path: '', value: null}]",
            "operations[0] (test of the whole document): it is {\"a\": 1}, not null",
        ),
        ("{a: false}", "[{op: test, path: /a, value: null}]", "operations[0] (test /a): it is false, not null"),
        (
            "{a: 9007199254740993}",
            "[{op: test, path: /a, value: 9007199254740992.0}]",
            "operations[0] (test /a): it is 9007199254740993, not 9007199254740992.0",
        ),
    ]);
}

#[test]
fn a_patch_that_cannot_be_read_is_told_with_its_number() {
    check(&[
        (
            "{}",
            "{}",
            "a patch is a list of operations, not a map\n  for example [{\"op\": \"replace\", \"path\": \"/nodes/pay/timeout\", \"value\": \"1m\"}]",
        ),
        (
            "{}",
            "null",
            "a patch is a list of operations, not null\n  for example [{\"op\": \"replace\", \"path\": \"/nodes/pay/timeout\", \"value\": \"1m\"}]",
        ),
        ("{}", "[{\"op\": \"add\"", "1:13: this is not JSON: EOF while parsing an object"),
        ("{}", "[{op: remove, op: add, path: /a}]", "1:15: the key `op` occurs twice"),
        ("{}", "[[]]", "operations[0]: an operation is a map with `op` and `path`, not a list"),
        ("{}", "[{path: /a}]", "operations[0]: `op` is missing"),
        ("{}", "[{op: 1, path: /a}]", "operations[0]: `op` is a text, not a number"),
        (
            "{}",
            "[{op: '', path: ''}, {op: ad, path: /a}]",
            "operations[0]: there is no operation ``\n  one of add, remove, replace, move, copy, test",
        ),
        (
            "{}",
            "[{op: replac, path: /a}]",
            "operations[0] (replac /a): there is no operation `replac`\n  did you mean `replace`?",
        ),
        ("{}", "[{op: ADD, path: /a, value: 1}]", "operations[0] (ADD /a): there is no operation `ADD`\n  did you mean `add`?"),
        ("{}", "[{op: test, path: '', value: {}}, {op: add, value: 1}]", "operations[1] (add): `path` is missing"),
        ("{}", "[{op: add, path: null, value: 1}]", "operations[0] (add): `path` is a text, not null"),
        ("{}", "[{op: add, path: /a}]", "operations[0] (add /a): `value` is missing"),
        ("{}", "[{op: replace, path: /a}]", "operations[0] (replace /a): `value` is missing"),
        ("{}", "[{op: test, path: /a}]", "operations[0] (test /a): `value` is missing"),
        ("{}", "[{op: move, path: /a}]", "operations[0] (move /a): `from` is missing"),
        ("{}", "[{op: copy, path: /a, from: b}]", "operations[0] (copy /a): `from`: a pointer begins with `/`, unlike `b`"),
        ("{}", "[{op: remove, path: a/b}]", "operations[0] (remove a/b): `path`: a pointer begins with `/`, unlike `a/b`"),
        (
            "{}",
            "[{op: remove, path: /a~}]",
            "operations[0] (remove /a~): `path`: after `~` in a pointer stands 0 or 1, unlike in `a~`",
        ),
        (
            "{}",
            "[{op: remove, path: /~2}]",
            "operations[0] (remove /~2): `path`: after `~` in a pointer stands 0 or 1, unlike in `~2`",
        ),
    ]);
    let many = format!("[{}]", vec!["{op: remove, path: /a}"; 1_001].join(","));
    assert_eq!(patched("{}", &many), "there are 1001 operations; there may be 1000");
    let long = format!("[{{\"op\": \"add\", \"path\": \"/a\", \"value\": \"{}\"}}]", "x".repeat(1 << 20));
    assert_eq!(patched("{}", &long), format!("the patch has {} bytes; at most 1048576 are read", long.len()));
}

#[test]
fn a_patch_cannot_grow_without_end() {
    let doubled = vec![r#"{"op": "copy", "from": "", "path": "/a"}"#; 30];
    let told = patched("{a: 0}", &format!("[{}]", doubled.join(",")));
    assert_eq!(told, "{\"a\": ".repeat(31) + "0" + &"}".repeat(31), "each is the former, once");
    let deeper = vec![r#"{"op": "copy", "from": "", "path": "/a"}"#; 70];
    let told = patched("{a: 0}", &format!("[{}]", deeper.join(",")));
    assert_eq!(told, "operations[62] (copy /a): lists and maps would lie more than 64 deep in each other");
    let wider = vec![r#"{"op": "copy", "from": "/a", "path": "/a/-"}, {"op": "copy", "from": "/a/0", "path": "/a/-"}"#; 30];
    let told = patched("{a: [xxxxxxxxxxxxxxxx]}", &format!("[{}]", wider.join(",")));
    assert!(told.contains("the patch copies and moves more than 8388608 bytes"), "{}", &told[..200]);
    let text = "y".repeat(600_000);
    let told = patched(&format!("{{a: {text}}}"), r#"[{"op": "copy", "from": "/a", "path": "/b"}]"#);
    assert_eq!(told, "the definition would have 1200025 bytes; there may be 1048576");
}

#[test]
fn keys_stay_in_their_order_and_new_ones_follow() {
    let document = Document::read(b"{zeta: 1, alpha: {y: 2, b: 3}, mid: 123456789012345678901234567890, n: 1.50}").expect("read");
    let operations = "[{op: add, path: /beta, value: {q: 1, c: 2}}, {op: replace, path: /zeta, value: 0}, {op: add, path: /alpha/a, value: 4}]";
    let done = document.apply(&Operations::read(operations.as_bytes()).expect("read")).expect("applied");
    let expected = r#"{"zeta": 0, "alpha": {"y": 2, "b": 3, "a": 4}, "mid": 123456789012345678901234567890, "n": 1.5, "beta": {"q": 1, "c": 2}}"#;
    assert_eq!(done.0.compact(), expected);
    assert_eq!(
        done.text(),
        "{\n  \"zeta\": 0,\n  \"alpha\": {\"y\": 2, \"b\": 3, \"a\": 4},\n  \"mid\": 123456789012345678901234567890,\n  \"n\": 1.5,\n  \"beta\": {\"q\": 1, \"c\": 2}\n}\n"
    );
    assert_eq!(serde_json::to_string(done.json()).expect("it is JSON"), expected);
}

const NATIVE: &str = "
workflow: w
nodes:
  pay: {type: http, with: {url: a, tries: [1, 2]}}
  route: {type: branch, after: pay, rules: [{when: input.a, to: rounds}], default: []}
  rounds: {type: loop, max_iterations: 2, until: 'true', do: {nodes: {fix: {type: agent}, all: {type: each, items: '[1]', after: fix, do: {nodes: {leaf: {type: x, with: 1}}}}}}}
  call: {type: workflow, run: other}
";
const LISTED: &str =
    "{metadata: {name: w}, nodes: [{id: a, type: http, config: {url: u}}, {id: b, type: hitl}, {id: '0', type: x}], edges: []}";

#[test]
fn a_value_is_set_by_its_path() {
    let cases = [
        (NATIVE, "/nodes/pay/with/url=b", r#"replace /nodes/pay/with/url "b""#),
        (NATIVE, "nodes.pay.with.url=b", r#"replace /nodes/pay/with/url "b""#),
        (NATIVE, "nodes.pay.with.url=https://x.test/?a=b", r#"replace /nodes/pay/with/url "https://x.test/?a=b""#),
        (NATIVE, "nodes.pay.with.url=", r#"replace /nodes/pay/with/url """#),
        (NATIVE, "nodes.pay.with.url=null", "replace /nodes/pay/with/url null"),
        (NATIVE, "nodes.pay.with.url=\"1\"", r#"replace /nodes/pay/with/url "1""#),
        (
            NATIVE,
            "nodes.pay.with={\"z\": 1, \"a\": 18446744073709551617}",
            r#"replace /nodes/pay/with {"z": 1, "a": 18446744073709551617}"#,
        ),
        (
            NATIVE,
            "nodes.pay.with={z: 1}",
            "`{z: 1}` begins as JSON does, and is none: key must be a string at line 1 column 2\n  correct it; a text that begins so is \
             written in quotes of its own: '\"[x]\"'",
        ),
        (NATIVE, r#"nodes.pay.with="{z: 1}""#, r#"replace /nodes/pay/with "{z: 1}""#),
        (NATIVE, "nodes.pay.timeout=1m", r#"add /nodes/pay/timeout "1m""#),
        (NATIVE, "nodes.pay.with.tries[1]=7", "replace /nodes/pay/with/tries/1 7"),
        (NATIVE, "nodes.pay.with.tries.0=7", "replace /nodes/pay/with/tries/0 7"),
        (NATIVE, "nodes.pay.with.tries.-=7", "add /nodes/pay/with/tries/- 7"),
        (NATIVE, "nodes.route.rules[0].when=input.b > 1", r#"replace /nodes/route/rules/0/when "input.b > 1""#),
        (NATIVE, "nodes.rounds.do.nodes.fix.timeout=5s", r#"add /nodes/rounds/do/nodes/fix/timeout "5s""#),
        (NATIVE, "nodes.call.with.order.id=7", r#"add /nodes/call/with {"order": {"id": 7}}"#),
        (
            NATIVE,
            "=7",
            "`` is no path: an empty name in it\n  write it as a pointer, /nodes/pay, if a name is empty or holds a dot",
        ),
        (
            NATIVE,
            "nodes..a=7",
            "`nodes..a` is no path: an empty name in it\n  write it as a pointer, /nodes/pay, if a name is empty or holds a dot",
        ),
        (
            NATIVE,
            "nodes.a[=7",
            "`nodes.a[` is no path: an empty name in it\n  write it as a pointer, /nodes/pay, if a name is empty or holds a dot",
        ),
        (NATIVE, "nodes.pay", "`nodes.pay` is not PATH=VALUE\n  for example nodes.pay.timeout=1m"),
        (NATIVE, "/nodes/~=1", "after `~` in a pointer stands 0 or 1, unlike in `~`"),
        (NATIVE, "nodes.pay.with={\"a\":1,\"a\":2}", "1:8: the key `a` occurs twice"),
        (LISTED, "nodes.a.config.url=v", r#"replace /nodes/0/config/url "v""#),
        (LISTED, "/nodes/b/config/message=v", r#"add /nodes/1/config {"message": "v"}"#),
        (LISTED, "nodes.0.config.url=v", r#"replace /nodes/0/config/url "v""#),
    ];
    for (document, text, expected) in cases {
        let document = Document::read(document.as_bytes()).expect("read");
        let found = match document.set(text) {
            Ok(operations) => {
                document.apply(&operations).expect("what is set can be applied");
                shown(&operations)
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{text}");
    }
    let document = Document::read(LISTED.as_bytes()).expect("read");
    assert_eq!(shown(&document.unset("nodes.b").expect("a path")), "remove /nodes/1");
}

fn shown(operations: &Operations) -> String {
    let one = |operation: &Operation| match &operation.act {
        Act::Add(value) | Act::Replace(value) | Act::Test(value) => {
            format!("{} {} {}", operation.act.name(), operation.path, value.compact())
        }
        Act::Move { from } | Act::Copy { from } => format!("{} {from} {}", operation.act.name(), operation.path),
        Act::Remove => format!("remove {}", operation.path),
    };
    operations.iter().map(one).collect::<Vec<_>>().join("; ")
}

#[test]
fn operations_are_read_again_as_they_were() {
    let text = r#"[{"op": "add", "path": "/a~1b", "value": {"z": 1, "a": 18446744073709551617}}, {"op": "move", "from": "", "path": "/-"}, {"op": "copy", "from": "/a", "path": ""}, {"op": "test", "path": "", "value": null}, {"op": "remove", "path": "/"}, {"op": "replace", "path": "/x", "value": 1.5}]"#;
    let operations = Operations::read(text.as_bytes()).expect("read");
    assert_eq!(operations.text(), text);
    assert_eq!((operations.len(), operations.is_empty()), (6, false));
}

#[test]
fn a_node_and_its_input_are_found_in_both_forms() {
    for (document, id, expected) in [
        (NATIVE, "pay", "/nodes/pay, /nodes/pay/with"),
        (NATIVE, "route", "/nodes/route"),
        (NATIVE, "rounds", "/nodes/rounds"),
        (NATIVE, "fix", "/nodes/rounds/do/nodes/fix, /nodes/rounds/do/nodes/fix/with"),
        (NATIVE, "leaf", "/nodes/rounds/do/nodes/all/do/nodes/leaf, /nodes/rounds/do/nodes/all/do/nodes/leaf/with"),
        (NATIVE, "call", "/nodes/call, /nodes/call/with"),
        (NATIVE, "nobody", "-"),
        (LISTED, "a", "/nodes/0, /nodes/0/config"),
        (LISTED, "b", "/nodes/1"),
        (LISTED, "0", "/nodes/2, /nodes/2/config"),
        (LISTED, "1", "-"),
        ("[1]", "a", "-"),
    ] {
        let document = Document::read(document.as_bytes()).expect("read");
        let id = NodeId::parse(id).expect("an id");
        let found = document.node(&id).map_or("-".to_owned(), |found| {
            let input = found.input.map(|input| format!(", {input}")).unwrap_or_default();
            format!("{}{input}", found.at)
        });
        assert_eq!(found, expected, "{id}");
    }
}

#[test]
fn a_node_gets_another_input() {
    let with = |document: &str, id: &str, input: &str| {
        let document = Document::read(document.as_bytes()).expect("read");
        match document.with(&NodeId::parse(id).expect("an id"), input.as_bytes()) {
            Ok(operations) => shown(&operations),
            Err(error) => error.to_string(),
        }
    };
    assert_eq!(with(NATIVE, "pay", r#"{"url": "b"}"#), r#"add /nodes/pay/with {"url": "b"}"#);
    assert_eq!(with(NATIVE, "fix", "null"), "add /nodes/rounds/do/nodes/fix/with null");
    assert_eq!(with(LISTED, "a", "7"), "add /nodes/0/config 7");
    assert_eq!(with(LISTED, "b", "7"), "`b` has no input: no worker does it");
    assert_eq!(with(NATIVE, "nobody", "7"), "there is no node `nobody` in the text");
    assert_eq!(with(NATIVE, "pay", "{"), "1:1: this is not JSON: EOF while parsing an object");
}
