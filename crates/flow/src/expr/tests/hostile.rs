//! Expressions made to hurt: each is stopped by its cost, on a small stack. The clock only shows that a unit is cheap.

use super::World;
use crate::expr::limits::*;
use crate::expr::{Bindings, Budget, EvalError, Expr, Names, Root};
use serde_json::{Value as Json, json};
use std::thread;

/// Evaluates within the bounds, and says how it ended: "value", "failed" or "too costly".
fn run(source: &str, input: &Json) -> &'static str {
    let expr = Expr::compile(source, &Names::new([Root::Input])).unwrap_or_else(|problems| panic!("{source}: {problems:?}"));
    let mut budget = Budget::default();
    let result = expr.eval(&Bindings::new().bind(Root::Input, input), &mut budget);
    assert!(budget.cost_spent() <= COST_MAX && budget.built_bytes() <= BUILT_BYTES_MAX, "{source}");
    // Generous, for a debug build on a busy machine: what is unbounded takes minutes.
    match result {
        Ok(_) => "value",
        Err(EvalError::Failed(_)) => "failed",
        Err(EvalError::TooCostly(_)) => "too costly",
    }
}

#[test]
fn what_costs_too_much_is_stopped_by_its_cost() {
    let list = "[1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0]";
    let nested = format!("{list}.all(a, {list}.all(b, {list}.all(c, a + b + c >= 0)))");
    let hundred =
        "['xxxxxxxxxxxxxxxxxxxx','xxxxxxxxxxxxxxxxxxxx','xxxxxxxxxxxxxxxxxxxx','xxxxxxxxxxxxxxxxxxxx','xxxxxxxxxxxxxxxxxxxx']";
    let builder =
        format!("{hundred}.map(a, {hundred}.map(b, {hundred}.map(c, {hundred}.join() + {hundred}.join()).join()).join()).join()");
    let text = Json::from("ab".repeat(100_000));
    let numbers = Json::from((0..50_000).collect::<Vec<i64>>());
    let texts = Json::from(vec!["x".repeat(250); 1_000]);
    let table: &[(&str, &Json, &str)] = &[
        (&nested, &Json::Null, "too costly"),
        (&builder, &Json::Null, "value"),
        ("range(10000).all(a, range(10000).all(b, a + b >= 0))", &Json::Null, "too costly"),
        ("range(10000).map(a, range(10000))", &Json::Null, "too costly"),
        ("range(3000).map(a, range(3000))", &Json::Null, "too costly"),
        // Doubling: 2, 4, 8 … copies.
        ("[input].map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a)", &text, "too costly"),
        ("[input].map(a, [a,a]).map(b, [b,b]).map(c, [c,c]).map(d, [d,d]).map(e, [e,e]).map(f, [f,f])", &text, "too costly"),
        ("input.replace('', input)", &text, "too costly"),
        ("input.replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')", &text, "too costly"),
        ("input.split('')", &text, "too costly"),
        ("range(200).map(i, input.contains('abb'))", &text, "too costly"),
        ("range(5000).map(i, input.size())", &text, "too costly"),
        ("range(5000).all(i, input == input + '')", &text, "too costly"),
        ("range(1000).exists(i, 'x'.matches(string(i)))", &Json::Null, "too costly"),
        ("range(1000).map(i, input.matches('(a|b|ab)*c'))", &text, "too costly"),
        ("input.matches('(.*)(.*)(.*)(.*)(.*)(.*)(.*)[c](.*)(.*)')", &text, "too costly"),
        ("input.substring(0, 20000).matches('^(a|b)*$')", &text, "value"),
        ("range(100).map(i, input.map(x, x))", &numbers, "too costly"),
        ("range(100).exists(i, -1 in input)", &numbers, "too costly"),
        ("range(100).map(i, input + input)", &numbers, "too costly"),
        ("range(100).map(i, sort(input))", &numbers, "too costly"),
        ("input.map(x, [x]).distinct()", &numbers, "too costly"),
        ("input.map(x, x + 0.5).distinct()", &numbers, "too costly"),
        ("sort(input).size() + sort(input.map(x, x + 'y')).size()", &texts, "too costly"),
        ("input.exists(x, x.nothing)", &numbers, "too costly"),
        ("input.exists(x, {'key_one': 1}.key_two)", &numbers, "too costly"),
        ("range(10000).map(i, {'a': {'b': [i, i, i]}})", &Json::Null, "too costly"),
        ("input", &numbers, "value"),
        ("input.size()", &numbers, "value"),
    ];
    for (source, input, expected) in table {
        assert_eq!(run(source, input), *expected, "{source}");
    }
}

#[test]
fn a_payload_of_the_largest_size_can_be_copied_whole() {
    for payload in [
        format!("[{}1]", "1,".repeat(131_000)),
        format!("[{}[]]", "[],".repeat(87_000)),
        format!("[{}1]", "{\"a\":1},".repeat(32_000)),
        format!("[{}\"\"]", "\"\",".repeat(87_000)),
        format!("\"{}\"", "x".repeat(262_000)),
    ] {
        let payload: Json = serde_json::from_str(&payload).unwrap();
        assert_eq!(run("input", &payload), "value");
    }
}

#[test]
fn the_deepest_expressions_and_values_fit_a_small_stack() {
    let kib = if cfg!(debug_assertions) { 1_024 } else { 256 };
    let around =
        |open: &str, middle: &str, close: &str, times: usize| format!("{}{middle}{}", open.repeat(times), close.repeat(times));
    let mut sources: Vec<String> = vec![
        around("[", "1", "]", 62),
        around("{'a':", "1", "}", 62),
        around("1+", "1", "", 62),
        around("1 in [", "1", "]", 31),
        around("(true?", "1", ":2)", 62),
        around("dyn(", "1", ")", 62),
        around("size([", "1", "])", 31),
        around("[1].map(x, ", "[1].map(y, [1].map(z, z))", ")", 1),
        around("-(", "1.5", ")", 62),
        around("!(", "true", ")", 62),
        around("('x'+", "'x'", ")", 62),
        around("max(1,", "1", ")", 62),
        around("[", "input", "]", 40),
        "input == input".into(),
        "input in [input, input]".into(),
        "[input].distinct()".into(),
        format!("input{}", "[0]".repeat(45)),
    ];
    sources.push(format!("[1].map(x, [1].map(y, [1].map(z, {})))", around("[", "z", "]", 55)));
    sources.push(format!("[1].all(x, [1].exists(y, [1].exists_one(z, {})))", around("(true && !(", "true", "))", 26)));
    let on_small_stack = move || {
        for depth in [50, 99, 120, 5_000] {
            let mut input = json!(1);
            for _ in 0..depth {
                input = Json::Array(vec![input]);
            }
            for source in &sources {
                let result = run(source, &input);
                let reaches = source.contains("input") && depth > 50;
                assert!(reaches || result == "value", "{source} at {depth}: {result}");
            }
            // serde_json's own drop recurses without end; that value is the test's, not ours.
            std::mem::forget(input);
        }
    };
    thread::Builder::new().stack_size(kib * 1_024).spawn(on_small_stack).unwrap().join().unwrap();
}

#[test]
fn the_same_expression_costs_the_same_every_time() {
    let world = World::new();
    for source in ["input.orders.filter(o, o.open > 0).map(o, o.tags.join())", "input.nothing", "range(10000).map(x, range(100))"]
    {
        let expr = world.compile(source).unwrap();
        let mut spent = Vec::new();
        for _ in 0..3 {
            let mut budget = Budget::default();
            let told = expr.eval(&world.scope(), &mut budget).map_err(|error| error.to_string());
            spent.push((budget.cost_spent(), budget.built_bytes(), told));
        }
        assert!(spent.windows(2).all(|pair| pair[0] == pair[1]), "{source}: {spent:?}");
    }
}
