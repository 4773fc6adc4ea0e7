//! What is told of a workflow that changed.

use super::super::*;
use crate::tests::compiled;

const OLD: &str = r#"
workflow: refund
output: "nodes.pay.output"
nodes:
  classify: {type: agent, with: {text: "refund ${input.amount}"}}
  route: {type: branch, after: classify, rules: [{when: input.fraud, to: deny}], default: pay}
  pay: {type: http, queue: payments, with: {url: a, tries: [1, 2]}, timeout: 30s, on_error: {to: deny}}
  deny: {type: function, join: any}
  rounds: {type: loop, after: pay, max_iterations: 3, until: output.ok, do: {nodes: {fix: {type: x}}}}
  ask: {type: approval, who: finance, after: rounds, timeout: 2h, on_timeout: late}
  late: {type: function}
"#;

/// The lines about a patch of it.
fn told(operations: &str) -> Difference {
    let document = Document::read(OLD.as_bytes()).expect("read");
    let operations = Operations::read(operations.as_bytes()).expect("operations");
    let patched = document.apply(&operations).unwrap_or_else(|error| panic!("{error}"));
    difference(&compiled(OLD).ir, &compiled(&patched.text()).ir)
}

#[test]
fn what_changed_is_told_in_lines() {
    for (operations, expected) in [
        ("[]", ""),
        (r#"[{op: replace, path: /nodes/pay/with/url, value: b}]"#, "~ pay: with.url \"a\" → \"b\"\n"),
        (
            r#"[{op: add, path: /nodes/pay/with/note, value: b}, {op: remove, path: /nodes/pay/with/tries}]"#,
            "~ pay: with.tries [1, 2] is gone\n~ pay: with.note \"b\" is new\n",
        ),
        (r#"[{op: replace, path: /nodes/pay/with/tries/1, value: 3}]"#, "~ pay: with.tries[1] 2 → 3\n"),
        (r#"[{op: add, path: /nodes/pay/with/tries/-, value: 3}]"#, "~ pay: with.tries [1, 2] → [1, 2, 3]\n"),
        (r#"[{op: remove, path: /nodes/pay/with}]"#, "~ pay: with {\"url\": \"a\", \"tries\": [1, 2]} is gone\n"),
        (
            r#"[{op: add, path: /nodes/audit, value: {type: http, after: [pay, deny], join: any}}]"#,
            "+ audit (http) after deny, pay\n",
        ),
        (r#"[{op: remove, path: /nodes/ask}, {op: remove, path: /nodes/late}]"#, "- ask\n- late\n"),
        (r#"[{op: replace, path: /nodes/pay/type, value: agent}]"#, "~ pay: type \"http\" → \"agent\"\n"),
        (
            r#"[{op: replace, path: /nodes/pay/timeout, value: 2m}, {op: add, path: /nodes/pay/retry, value: {attempts: 5}}]"#,
            "~ pay: timeout \"30s\" → \"2m\"\n~ pay: retry {\"attempts\": 5, ",
        ),
        (
            r#"[{op: add, path: /nodes/pay/when, value: input.a}, {op: add, path: /nodes/pay/priority, value: high}, {op: remove, path: /nodes/pay/queue}]"#,
            "~ pay: queue \"payments\" → \"http\"\n~ pay: when \"input.a\" is new\n~ pay: priority \"high\" is new\n",
        ),
        (r#"[{op: add, path: /nodes/pay/key, value: {tenant: "${input.t}"}}]"#, "~ pay: key.tenant \"${input.t}\" is new\n"),
        (r#"[{op: replace, path: /nodes/rounds/after, value: deny}]"#, "~ rounds: after[0] \"pay\" → \"deny\"\n"),
        (r#"[{op: remove, path: /nodes/deny/join}]"#, "~ deny: join \"any\" is gone\n"),
        (
            r#"[{op: replace, path: /nodes/route/rules/0/when, value: input.x}]"#,
            "~ route: rules[0].when \"input.fraud\" → \"input.x\"\n",
        ),
        (
            r#"[{op: add, path: /nodes/route/rules/0/to, value: [deny, rounds]}, {op: remove, path: /nodes/rounds/after}]"#,
            "~ route: rules[0].to [\"deny\"] → [\"deny\", \"rounds\"]\n~ rounds: after [\"pay\"] is gone\n",
        ),
        (
            r#"[{op: replace, path: /nodes/pay/on_error, value: ignore}, {op: remove, path: /nodes/deny/join}]"#,
            "~ pay: on_error {\"to\": [\"deny\"]} → \"ignore\"\n~ deny: join \"any\" is gone\n",
        ),
        (
            r#"[{op: replace, path: /nodes/rounds/max_iterations, value: 9}, {op: replace, path: /nodes/rounds/until, value: output.good}]"#,
            "~ rounds: max_iterations 3 → 9\n~ rounds: until \"output.ok\" → \"output.good\"\n",
        ),
        (
            r#"[{op: add, path: /nodes/rounds/do/nodes/check, value: {type: agent, after: fix}}]"#,
            "+ check (agent) after fix in rounds\n",
        ),
        (
            r#"[{op: add, path: /nodes/rounds/do/output, value: nodes.fix.output}]"#,
            "~ rounds: do.output \"nodes.fix.output\" is new\n",
        ),
        (
            r#"[{op: replace, path: /nodes/ask/who, value: [a, b]}, {op: remove, path: /nodes/ask/on_timeout}]"#,
            "~ ask: who [\"finance\"] → [\"a\", \"b\"]\n~ ask: on_timeout [\"late\"] is gone\n",
        ),
        (
            r#"[{op: replace, path: /nodes/late, value: {type: sleep, for: 5s}}]"#,
            "~ late: type \"function\" → \"sleep\"\n~ late: queue \"function\" is gone\n~ late: for \"5s\" is new\n",
        ),
        (
            r#"[{op: replace, path: /output, value: input}, {op: add, path: /limits, value: {deadline: 1d, steps: 7}}, {op: add, path: /version, value: 2}]"#,
            "~ the workflow: version 1 → 2\n~ the workflow: limits.steps 1000000 → 7\n~ the workflow: output \"nodes.pay.output\" → \"input\"\n~ the workflow: limits.deadline \"1d\" is new\n",
        ),
        (r#"[{op: add, path: /input, value: {type: object}}]"#, "~ the workflow: input {"),
        // What means the same is no change.
        (r#"[{op: replace, path: /nodes/pay/timeout, value: 30000ms}, {op: add, path: /description, value: x}]"#, ""),
        (
            r#"[{op: add, path: /defaults, value: {priority: normal}}, {op: replace, path: /nodes/route/default, value: [pay]}]"#,
            "~ classify: priority",
        ),
    ] {
        let found = told(operations).to_string();
        let same = if expected.ends_with('\n') || expected.is_empty() { found == expected } else { found.starts_with(expected) };
        assert!(same, "{operations}\nexpected:\n{expected}\nfound:\n{found}");
    }
}

#[test]
fn what_is_added_is_counted_and_serialized() {
    let difference = told(
        r#"[{op: add, path: /nodes/audit, value: {type: agent, after: late, with: {a: 18446744073709551617}}},
            {op: replace, path: /nodes/pay/type, value: agent},
            {op: add, path: /nodes/rounds/do/nodes/check, value: {type: agent, after: fix}},
            {op: replace, path: /nodes/classify/with/text, value: 18446744073709551617}]"#,
    );
    assert_eq!((difference.added.len(), difference.agents_added, difference.is_empty()), (2, 3, false));
    assert_eq!(
        serde_json::to_string(&difference).expect("it is JSON"),
        concat!(
            r#"{"added":[{"node":"check","type":"agent","after":["fix"],"in":"rounds"},{"node":"audit","type":"agent","after":["late"],"in":null}],"#,
            r#""changed":[{"node":"classify","changes":[{"what":"with.text","old":"refund ${input.amount}","new":18446744073709551617}]},"#,
            r#"{"node":"pay","changes":[{"what":"type","old":"http","new":"agent"}]}],"removed":[],"workflow":[],"agents_added":3}"#
        )
    );
}
