//! Failures, refusals and cancelling, and what comes too late after them.

use super::{Case, NO, check};
use crate::outcomes::Fixed;

#[test]
fn a_refusal_that_leads_nowhere_fails_the_run() {
    check(&Case {
        definitions: &[r#"{"workflow": "w", "nodes": {"ask": {"type": "approval"}, "a": {"type": "x", "after": "ask"}}}"#],
        outcomes: &[("w//ask", NO)],
        cancel_after: None,
        ends: "failed -",
        nodes: &[("/ask", "failed fail"), ("/a", "-")],
    });
}

#[test]
fn n_of_that_cannot_be_reached_is_skipped_as_failed() {
    check(&Case {
        definitions: &[r#"{"workflow": "w", "nodes": {
            "r": {"type": "branch", "rules": [{"when": "false", "to": "a"}], "default": "b"},
            "a": {"type": "x"}, "b": {"type": "x"}, "c": {"type": "x"},
            "j": {"type": "join", "after": ["a", "b", "c"], "join": {"n_of": 3}}, "z": {"type": "x", "after": "j"}}}"#],
        outcomes: &[],
        cancel_after: None,
        ends: "failed -",
        nodes: &[
            ("/r", "done default"),
            ("/a", "skipped untaken"),
            ("/b", "done"),
            ("/c", "done"),
            ("/j", "skipped failed"),
            ("/z", "skipped failed"),
        ],
    });
}

#[test]
fn cancelling_during_a_fan_out_leaves_nothing_behind() {
    for after in [1, 2, 4, 7] {
        let maybe = "done | cancelled | -";
        check(&Case {
            definitions: &[
                r#"{"workflow": "w", "nodes": {
                    "e": {"type": "each", "items": "input.list", "concurrency": 2, "do": {"nodes": {
                        "a": {"type": "x"}, "s": {"type": "sleep", "after": "a", "for": "5m"}}}},
                    "c": {"type": "workflow", "run": "v"}, "ask": {"type": "approval"}}}"#,
                r#"{"workflow": "v", "nodes": {"y": {"type": "y"}, "s": {"type": "sleep", "after": "y", "for": "10h"}}}"#,
            ],
            outcomes: &[],
            cancel_after: Some(after),
            ends: "cancelled -",
            nodes: &[
                ("/e", maybe),
                ("/c", maybe),
                ("/ask", maybe),
                ("e[0]/a", maybe),
                ("e[0]/s", maybe),
                ("e[1]/a", maybe),
                ("e[1]/s", maybe),
                ("e[2]/a", maybe),
                ("e[2]/s", maybe),
                ("/c>v//y", maybe),
                ("/c>v//s", maybe),
            ],
        });
    }
}

#[test]
fn a_result_for_a_cancelled_node_changes_nothing() {
    let occurred = check(&Case {
        definitions: &[r#"{"workflow": "w", "nodes": {
            "a": {"type": "x"}, "b": {"type": "x"}, "c": {"type": "y"}, "z": {"type": "x", "after": ["a", "b", "c"]}}}"#],
        outcomes: &[("w//a", Fixed::Fails)],
        cancel_after: None,
        ends: "failed -",
        nodes: &[("/a", "failed fail"), ("/b", "done | cancelled"), ("/c", "done | cancelled"), ("/z", "-")],
    });
    assert!(occurred.contains("late result") && occurred.contains("cancelled"), "{occurred:?}");
}

/// Seed 5943: between the failure of an `each` and the dropping of its frames a result came into one of these, and the next
/// node there was entered without its item.
#[test]
fn a_result_for_an_item_whose_each_has_failed_changes_nothing() {
    let maybe = "done | cancelled | -";
    check(&Case {
        definitions: &[r#"{"workflow": "w", "nodes": {
            "e": {"type": "each", "items": "input.list", "concurrency": 3, "on_error": "ignore", "do": {"nodes": {
                "a": {"type": "x"},
                "b": {"type": "transform", "after": "a", "value": "item"}}}},
            "s": {"type": "sleep", "after": "e", "for": "1m"}},
            "output": "nodes.e.output"}"#],
        outcomes: &[("w/e[0]/a", Fixed::Fails)],
        cancel_after: None,
        ends: "done null",
        nodes: &[
            ("/e", "failed ignore"),
            ("/s", "done"),
            ("e[0]/a", "failed fail"),
            ("e[1]/a", maybe),
            ("e[1]/b", maybe),
            ("e[2]/a", maybe),
            ("e[2]/b", maybe),
        ],
    });
}

#[test]
fn a_failure_inside_a_called_run_comes_up() {
    let inner = r#"{"workflow": "v", "nodes": {"y": {"type": "y"}, "z": {"type": "x", "after": "y"}}}"#;
    let fails = [("w//c>v//y", Fixed::Fails)];
    check(&Case {
        definitions: &[
            r#"{"workflow": "w", "nodes": {"c": {"type": "workflow", "run": "v"}, "a": {"type": "x", "after": "c"}}}"#,
            inner,
        ],
        outcomes: &fails,
        cancel_after: None,
        ends: "failed -",
        nodes: &[("/c", "failed fail"), ("/c>v//y", "failed fail")],
    });
    check(&Case {
        definitions: &[
            r#"{"workflow": "w", "nodes": {
                "c": {"type": "workflow", "run": "v", "on_error": {"to": "b"}}, "a": {"type": "x", "after": "c"},
                "b": {"type": "transform", "value": "has(nodes.c.error)"}}}"#,
            inner,
        ],
        outcomes: &fails,
        cancel_after: None,
        ends: r#"done {"b":true}"#,
        nodes: &[("/c", "failed to"), ("/c>v//y", "failed fail"), ("/a", "skipped failed"), ("/b", "done")],
    });
}

#[test]
fn items_that_fail_are_null_as_far_as_they_are_tolerated() {
    let text = |then: &str| {
        format!(
            r#"{{"workflow": "w", "nodes": {{"e": {{"type": "each", "items": "input.list", "on_failure": {then}, "do": {{"nodes": {{
                "a": {{"type": "x"}}, "b": {{"type": "transform", "after": "a", "value": "item"}}}}}}}}}}}}"#
        )
    };
    let fails = [("w/e[1]/a", Fixed::Fails)];
    let done = [("e[0]/a", "done"), ("e[0]/b", "done"), ("e[1]/a", "failed fail"), ("e[2]/a", "done"), ("e[2]/b", "done")];
    let with = |each| [&[("/e", each)], &done[..]].concat();
    let case = |then: &str, ends, each| {
        check(&Case { definitions: &[&text(then)], outcomes: &fails, cancel_after: None, ends, nodes: &with(each) })
    };
    case(r#"{"tolerate": 1}"#, "done [5,null,7]", "done");
    case(r#""wait_all""#, "failed -", "failed fail");
}

/// Seed 1987: between the failure of a frame and its dropping a second refusal came into it, and it failed again.
#[test]
fn an_answer_in_an_item_that_has_failed_changes_nothing() {
    check(&Case {
        definitions: &[r#"{"workflow": "w", "nodes": {
            "e": {"type": "each", "items": "[1]", "on_failure": "wait_all", "on_error": "ignore", "do": {"nodes": {
                "s": {"type": "transform", "value": "item"},
                "a": {"type": "approval", "after": "s"}, "b": {"type": "approval", "after": "s"},
                "j": {"type": "join", "after": ["a", "b"]}}}}}}"#],
        outcomes: &[("w/e[0]/a", NO), ("w/e[0]/b", NO)],
        cancel_after: None,
        ends: "done null",
        nodes: &[
            ("/e", "failed ignore"),
            ("e[0]/s", "done"),
            ("e[0]/a", "failed fail | cancelled"),
            ("e[0]/b", "failed fail | cancelled"),
            ("e[0]/j", "-"),
        ],
    });
}

/// What is ignored counts as done: the run does not end with nothing.
#[test]
fn an_ignored_failure_is_an_end() {
    check(&Case {
        definitions: &[r#"{"workflow": "w", "nodes": {
            "a": {"type": "x", "on_error": "ignore"},
            "b": {"type": "x", "on_error": {"to": "c"}}, "c": {"type": "x", "when": "false"},
            "d": {"type": "x", "after": "b"}}}"#],
        outcomes: &[("w//a", Fixed::Fails), ("w//b", Fixed::Fails)],
        cancel_after: None,
        ends: "done {}",
        nodes: &[("/a", "failed ignore"), ("/b", "failed to"), ("/c", "skipped untaken"), ("/d", "skipped failed")],
    });
}
