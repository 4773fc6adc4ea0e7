//! The cases that hurt elsewhere, by name: the definition, what workers and people answer, and what becomes of it, written
//! out by hand. Each is run in many orders, with and without restarts, in one kernel and in two, and asked of the reference.

mod again;
mod bulks;
mod changes;
mod failures;
mod pauses;
mod removal;

use crate::house::{House, Ways};
use crate::outcomes::{Answer, Fixed, Outcomes};
use crate::properties::{compare, compiled};
use crate::reference::expect;
use kernel::run::RunStatus;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

const ORDERS: u64 = 24;

struct Case<'a> {
    /// JSON, the first is started.
    definitions: &'a [&'a str],
    outcomes: &'a [(&'a str, Fixed)],
    cancel_after: Option<usize>,
    /// The run's status and output, `-` for any.
    ends: &'a str,
    /// How each instance may end, in words with `|` between them; `-`: never.
    nodes: &'a [(&'a str, &'a str)],
}

const NO: Fixed = Fixed::Answer(Answer::No);
const NEVER: Fixed = Fixed::Answer(Answer::Never);

fn gives(output: Json) -> Fixed {
    Fixed::Done(output)
}

/// What has occurred in all its orders.
fn check(case: &Case<'_>) -> BTreeSet<String> {
    let parse = |text: &&str| -> (String, Json) {
        let definition: Json = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"));
        (definition["workflow"].as_str().expect("it has a name").to_owned(), definition)
    };
    let first = parse(&case.definitions[0]).0;
    let workflows: BTreeMap<String, Json> = case.definitions.iter().map(parse).collect();
    let fixed = case.outcomes.iter().map(|(instance, fixed)| ((*instance).to_owned(), fixed.clone())).collect();
    let outcomes = Outcomes { fixed, ..Outcomes::default() };
    let input = json!({"n": 1, "list": [5, 6, 7]});
    let irs = compiled(&workflows);
    let expected = expect(&workflows, &outcomes, &first, &input).expect("its result hangs on no order");
    let mut occurred = BTreeSet::new();
    for order in 0..ORDERS {
        let ways = Ways {
            apart: order % 2 == 1,
            missing_percent: [0, 50][order as usize / 2 % 2],
            dearer: 1,
            restart_percent: [0, 20][order as usize / 4 % 2],
            pause_percent: 0,
            cancel_after: case.cancel_after,
            deadline_ms: None,
            change_percent: 0,
        };
        let mut house = House::new(&irs, &outcomes, Some(&expected), ways, order);
        house.start(&first, &input);
        house.live();
        let (status, output) = house.result();
        let any = case.ends.ends_with(" -");
        let shown = if any { format!("{} -", status.as_str()) } else { format!("{} {output}", status.as_str()) };
        assert_eq!(shown, case.ends, "order {order}");
        let listed: BTreeMap<&str, &str> = case.nodes.iter().copied().collect();
        let instances =
            house.ledger.nodes.keys().map(|instance| instance.strip_prefix(&format!("{first}/")).expect("of the run"));
        for instance in instances.chain(listed.keys().copied()).collect::<BTreeSet<&str>>() {
            let became = house.ledger.nodes.get(&format!("{first}/{instance}")).map_or("-", |became| &became.how);
            let wanted = listed.get(instance).unwrap_or_else(|| panic!("order {order}: {instance} is {became}"));
            assert!(wanted.split(" | ").any(|one| one == became), "order {order}: {instance} is {became}, not {wanted}");
        }
        compare(&house, &expected, case.cancel_after.is_some(), None);
        occurred.append(&mut house.ledger.occurred);
    }
    occurred
}

#[test]
fn a_join_after_an_untaken_branch_does_not_hang() {
    check(&Case {
        definitions: &[r#"{"workflow": "w", "nodes": {
            "a": {"type": "x"},
            "r": {"type": "branch", "after": "a", "rules": [{"when": "output == 'left'", "to": "left"}], "default": "right"},
            "left": {"type": "x"}, "right": {"type": "x"},
            "j": {"type": "join", "after": ["left", "right"]},
            "z": {"type": "transform", "after": "j", "value": "output"}}}"#],
        outcomes: &[("w//a", gives(json!("left"))), ("w//left", gives(json!(3)))],
        cancel_after: None,
        ends: r#"done {"left":3}"#,
        nodes: &[
            ("/a", "done"),
            ("/r", "done rule 0"),
            ("/left", "done"),
            ("/right", "skipped untaken"),
            ("/j", "done"),
            ("/z", "done"),
        ],
    });
}

#[test]
fn skips_go_deep_and_into_bodies_they_never_open() {
    check(&Case {
        definitions: &[r#"{"workflow": "w", "nodes": {
            "r": {"type": "branch", "rules": [{"when": "false", "to": "a"}], "default": "z"},
            "a": {"type": "x"}, "b": {"type": "x", "after": "a"},
            "e": {"type": "each", "after": "b", "items": "input.list", "do": {"nodes": {"i": {"type": "x"}}}},
            "l": {"type": "loop", "after": "e", "max_iterations": 2, "until": "true", "do": {"nodes": {"t": {"type": "x"}}}},
            "z": {"type": "x"}, "j": {"type": "join", "after": ["l", "z"]}}, "output": "nodes.j.status"}"#],
        outcomes: &[],
        cancel_after: None,
        ends: r#"done "done""#,
        nodes: &[
            ("/r", "done default"),
            ("/a", "skipped untaken"),
            ("/b", "skipped untaken"),
            ("/e", "skipped untaken"),
            ("/l", "skipped untaken"),
            ("/z", "done"),
            ("/j", "done"),
        ],
    });
}

#[test]
fn all_paths_skipped_is_an_end_too() {
    check(&Case {
        definitions: &[r#"{"workflow": "w", "nodes": {
            "r": {"type": "branch", "rules": [{"when": "input.n > 5", "to": "a"}], "default": []},
            "a": {"type": "x"}, "b": {"type": "x", "after": "a"}}}"#],
        outcomes: &[],
        cancel_after: None,
        ends: "done null",
        nodes: &[("/r", "done default"), ("/a", "skipped untaken"), ("/b", "skipped untaken")],
    });
}

#[test]
fn an_approval_in_an_untaken_branch_asks_nobody() {
    let occurred = check(&Case {
        definitions: &[r#"{"workflow": "w", "nodes": {
            "r": {"type": "branch", "rules": [{"when": "input.n > 5", "to": "ask"}], "default": "go"},
            "ask": {"type": "approval"}, "go": {"type": "x"}, "j": {"type": "join", "after": ["ask", "go"]}}}"#],
        outcomes: &[("w//go", gives(json!(1)))],
        cancel_after: None,
        ends: r#"done {"go":1}"#,
        nodes: &[("/r", "done default"), ("/ask", "skipped untaken"), ("/go", "done"), ("/j", "done")],
    });
    assert!(!occurred.iter().any(|what| what.starts_with("asked")), "{occurred:?}");
}

/// `deny` is reached by a refusal or by an error; `pay` waits for a yes and takes the no for a failure.
const REFUND: &str = r#"{"workflow": "w", "nodes": {
    "ask": {"type": "approval", "timeout": "1h", "on_reject": "deny", "on_timeout": "deny"},
    "hold": {"type": "x"},
    "pay": {"type": "x", "after": ["ask", "hold"], "on_error": {"to": "deny"}},
    "deny": {"type": "x", "join": "any"},
    "report": {"type": "transform", "after": ["pay", "deny"], "join": "any", "value": "nodes.hold.status"}},
    "output": "[nodes.pay.status, nodes.deny.status]"}"#;

#[test]
fn a_refusal_and_an_error_lead_to_a_shared_node() {
    for (outcomes, ends, nodes) in [
        (vec![("w//ask", NO)], r#"done ["skipped","done"]"#, ["done reject", "skipped failed", "done"]),
        (vec![("w//ask", NEVER)], r#"done ["skipped","done"]"#, ["done timeout", "skipped failed", "done"]),
        (vec![("w//pay", Fixed::Fails)], r#"done ["failed","done"]"#, ["done", "failed to", "done"]),
        (vec![], r#"done ["done","skipped"]"#, ["done", "done", "skipped untaken"]),
    ] {
        let [ask, pay, deny] = nodes;
        check(&Case {
            // The refusal comes before `hold` is done or after it: `report` must not read what hangs on that.
            definitions: &[&REFUND.replace("nodes.hold.status", "input.n")],
            outcomes: &outcomes,
            cancel_after: None,
            ends,
            nodes: &[("/ask", ask), ("/hold", "done"), ("/pay", pay), ("/deny", deny), ("/report", "done")],
        });
    }
}

#[test]
fn a_loop_in_an_each_in_a_loop() {
    let nodes: Vec<(String, &str)> = (0..2)
        .flat_map(|outer| (0..3).flat_map(move |item| (0..2).map(move |inner| format!("o[{outer}].e[{item}].l[{inner}]/t"))))
        .map(|instance| (instance, "done"))
        .chain((0..2).flat_map(|outer| (0..3).map(move |item| (format!("o[{outer}].e[{item}]/l"), "done"))))
        .chain((0..2).map(|outer| (format!("o[{outer}]/e"), "done")))
        .chain([("/o".to_owned(), "done")])
        .collect();
    let nodes: Vec<(&str, &str)> = nodes.iter().map(|(instance, how)| (instance.as_str(), *how)).collect();
    check(&Case {
        definitions: &[r#"{"workflow": "w", "nodes": {
            "o": {"type": "loop", "max_iterations": 5, "init": "[0]", "until": "iteration == 1", "do": {"nodes": {
                "e": {"type": "each", "items": "input.list", "concurrency": 2, "do": {"nodes": {
                    "l": {"type": "loop", "max_iterations": 5, "init": "item", "until": "iteration == 1", "do": {"nodes": {
                        "t": {"type": "transform", "value": "last * 10 + iteration"}}}}}}}}}}}}"#],
        outcomes: &[],
        cancel_after: None,
        ends: "done [501,601,701]",
        nodes: &nodes,
    });
}

#[test]
fn an_each_over_nothing_is_done_with_nothing() {
    check(&Case {
        definitions: &[r#"{"workflow": "w", "nodes": {
            "e": {"type": "each", "items": "[]", "do": {"nodes": {"i": {"type": "x"}}}},
            "z": {"type": "transform", "after": "e", "value": "output"}}}"#],
        outcomes: &[],
        cancel_after: None,
        ends: "done []",
        nodes: &[("/e", "done"), ("/z", "done")],
    });
}

#[test]
fn losers_of_any_run_out() {
    check(&Case {
        definitions: &[r#"{"workflow": "w", "nodes": {
            "a": {"type": "x"}, "b": {"type": "y"}, "c": {"type": "x", "after": "b"},
            "j": {"type": "join", "after": ["a", "c"], "join": "any"}, "z": {"type": "x", "after": "j"}},
            "output": "[nodes.a.status, nodes.c.status, nodes.z.output]"}"#],
        outcomes: &[("w//z", gives(json!(9)))],
        cancel_after: None,
        ends: r#"done ["done","done",9]"#,
        nodes: &[("/a", "done"), ("/b", "done"), ("/c", "done"), ("/j", "done"), ("/z", "done")],
    });
}

#[test]
fn a_loop_that_is_spent_goes_another_way() {
    check(&Case {
        definitions: &[r#"{"workflow": "w", "nodes": {
            "l": {"type": "loop", "max_iterations": 2, "until": "false", "on_max": "m", "do": {"nodes": {
                "t": {"type": "transform", "value": "iteration"}}}},
            "a": {"type": "x", "after": "l"}, "m": {"type": "transform", "value": "nodes.l.output"},
            "j": {"type": "join", "after": ["a", "m"]}}}"#],
        outcomes: &[],
        cancel_after: None,
        ends: r#"done {"m":1}"#,
        nodes: &[
            ("/l", "done max"),
            ("l[0]/t", "done"),
            ("l[1]/t", "done"),
            ("/a", "skipped untaken"),
            ("/m", "done"),
            ("/j", "done"),
        ],
    });
}

/// Turns that wait for nobody: they too leave room for others.
#[test]
fn a_long_loop_goes_on_batch_after_batch() {
    let body = json!({"t": {"type": "transform", "value": "iteration"}});
    let turns = json!({"type": "loop", "max_iterations": 3_000, "until": "iteration == 2499", "do": {"nodes": body}});
    let definition = json!({"workflow": "w", "version": 1, "nodes": {"l": turns}});
    let workflows = compiled(&[("w".to_owned(), definition)].into());
    let outcomes = Outcomes::default();
    let mut house = House::new(&workflows, &outcomes, None, Ways::default(), 1);
    house.start("w", &json!(null));
    house.live();
    assert_eq!(house.result(), (RunStatus::Done, json!(2_499)));
    assert!(house.records_max <= 4 * kernel::limits::CHUNK_ITEMS_MAX, "{} records at once", house.records_max);
}

/// More items than one batch opens or drops: what is left goes on in the next.
#[test]
fn a_large_fan_out_goes_on_batch_after_batch() {
    let items: Vec<usize> = (0..2_500).collect();
    let text = |body: &str| {
        let each = json!({"type": "each", "items": items, "concurrency": 10_000, "do": {"nodes": serde_json::from_str::<Json>(body).expect("JSON")}});
        json!({"workflow": "w", "version": 1, "nodes": {"e": each}, "output": "size(nodes.e.output)"})
    };
    let outcomes = Outcomes::default();
    for (body, cancel_after, ends) in [
        (r#"{"i": {"type": "transform", "value": "item"}}"#, None, (RunStatus::Done, json!(2_500))),
        (r#"{"i": {"type": "sleep", "for": "1h"}}"#, Some(3), (RunStatus::Cancelled, Json::Null)),
    ] {
        let definition = text(body);
        let irs = compiled(&[("w".to_owned(), definition)].into());
        let mut house = House::new(&irs, &outcomes, None, Ways { cancel_after, ..Ways::default() }, 1);
        house.start("w", &json!(null));
        house.live();
        assert_eq!(house.result(), ends);
    }
}
