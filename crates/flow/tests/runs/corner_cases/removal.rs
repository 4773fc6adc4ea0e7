//! Stalls and deletes: what runs and queues have to tell one another about them, in one kernel and in two.

use crate::house::{House, Ways};
use crate::outcomes::Outcomes;
use crate::properties::compiled;
use kernel::run::RunStatus;
use serde_json::json;
use std::collections::BTreeMap;

fn each_way(definition: serde_json::Value, then: impl Fn(&mut House<'_>, u64)) {
    let workflows = BTreeMap::from([("w".to_owned(), definition)]);
    let (irs, outcomes) = (compiled(&workflows), Outcomes::default());
    for order in 0..16 {
        let restart_percent = [0, 20][order as usize / 2 % 2];
        let ways = Ways { apart: order % 2 == 1, restart_percent, ..Ways::default() };
        let mut house = House::new(&irs, &outcomes, None, ways, order);
        house.start("w", &json!({"n": 1, "list": [5, 6, 7]}));
        then(&mut house, order);
    }
}

/// What an expression gave, and the expression, whatever it was good for.
#[test]
fn a_value_that_is_of_no_use_is_shown_with_its_expression() {
    for (node, code, message) in [
        (json!({"type": "x", "when": "input.n"}), "not_a_truth", "`input.n` gave 1, neither true nor false"),
        (json!({"type": "sleep", "for": "input.n - 2"}), "bad_time", "`input.n - 2` gave -1, no time to sleep"),
        (
            json!({"type": "sleep", "until": "input.n"}),
            "bad_time",
            "`input.n` gave 1, no instant such as \"2027-01-31T09:00:00Z\"",
        ),
        (
            json!({"type": "each", "items": "input.n", "do": {"nodes": {"b": {"type": "x"}}}}),
            "not_a_list",
            "`input.n` gave 1, not a list",
        ),
        (
            json!({"type": "x", "key": {"tenant": "${input.list}"}}),
            "bad_key",
            "`\"${input.list}\"` gave [5,6,7], which cannot be the value of key `tenant`",
        ),
    ] {
        each_way(json!({"workflow": "w", "nodes": {"a": node}}), |house, order| {
            house.live();
            let failure = house.failure().map(|failure| (failure.code.as_str(), failure.message.as_str()));
            assert_eq!(failure, Some((code, message)), "order {order}");
        });
    }
}

#[test]
fn what_nobody_takes_for_too_long_fails_its_run() {
    let nodes = json!({"a": {"type": "nobody"}, "b": {"type": "x"}});
    each_way(json!({"workflow": "w", "limits": {"stall": "1m"}, "nodes": nodes}), |house, order| {
        house.live();
        let failure = house.failure().map(|failure| (failure.code.as_str(), failure.message.as_str()));
        let Some(("stalled", why)) = failure else { panic!("order {order}: {failure:?}") };
        assert!(why.starts_with("no worker took task-") && why.contains("/a (type `nobody`) for 1 min"), "{why}");
        house.delete();
    });
}

#[test]
fn what_sleeps_meanwhile_has_not_stalled() {
    let nodes = json!({"a": {"type": "nobody"}, "s": {"type": "sleep", "for": "1h"}});
    each_way(json!({"workflow": "w", "limits": {"stall": "1m"}, "nodes": nodes}), |house, order| {
        let began = house.now();
        house.live();
        assert_eq!(house.failure().map(|failure| failure.code.as_str()), Some("stalled"), "order {order}");
        assert!(house.now().ms_since(began) >= 3_600_000, "order {order}: it stalled while it slept");
    });
}

#[test]
fn a_run_is_not_gone_before_its_worker_has_stopped() {
    let each =
        json!({"type": "each", "items": "input.list", "do": {"nodes": {"a": {"type": "x"}, "b": {"type": "x", "after": "a"}}}});
    each_way(json!({"workflow": "w", "nodes": {"e": each}}), |house, order| {
        house.take_one();
        house.cancel();
        assert_eq!(house.result().0, RunStatus::Cancelled);
        house.ask_to_delete();
        (0..20).for_each(|_| house.remove_some());
        assert!(house.rows_left() > 0, "order {order}: it went while a worker was at it");
        house.finish_all();
        (0..40).for_each(|_| house.remove_some());
        assert_eq!(house.rows_left(), 0, "order {order}");
    });
}
