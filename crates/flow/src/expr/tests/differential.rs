//! Our evaluator against the one of the `cel` crate, on random simple expressions: where both give a value, it is the same.

use super::World;
use cel::objects::{Key, TryIntoValue};
use cel::{Context, Program, Value as Cel};
use proptest::prelude::*;
use serde_json::{Map, Number, Value as Json, json};

/// Only literals, so that the crate's own view of JSON numbers plays no part.
fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        (-20i64..20).prop_map(|int| format!("({int})")),
        Just("9223372036854775807".to_owned()),
        (-40i32..40).prop_map(|half| format!("({:?})", f64::from(half) / 2.0)),
        (0u32..9).prop_map(|uint| format!("{uint}u")),
    ]
    .prop_recursive(3, 12, 2, |inner| {
        let sign = prop::sample::select(&["+", "-", "*", "/", "%"][..]);
        prop_oneof![
            (inner.clone(), sign, inner.clone()).prop_map(|(a, sign, b)| format!("({a} {sign} {b})")),
            inner.prop_map(|a| format!("(-{a})")),
        ]
    })
}

fn text() -> impl Strategy<Value = String> {
    "[abü ]{0,4}"
        .prop_map(|text| format!("'{text}'"))
        .prop_recursive(2, 6, 2, |inner| (inner.clone(), inner).prop_map(|(a, b)| format!("({a} + {b})")))
}

fn list() -> impl Strategy<Value = String> {
    let plain = prop_oneof![
        prop::collection::vec((-5i64..5).prop_map(|int| int.to_string()), 0..5),
        prop::collection::vec(text(), 0..4),
    ];
    plain.prop_map(|elements| format!("[{}]", elements.join(", "))).prop_recursive(2, 6, 2, |inner| {
        let fold = prop::sample::select(
            &["map(x, x + x)", "map(x, x == x)", "filter(x, x != 2)", "map(x, [x])", "map(x, x > 1, x)"][..],
        );
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} + {b})")),
            (inner, fold).prop_map(|(a, fold)| format!("{a}.{fold}")),
        ]
    })
}

fn any_value() -> BoxedStrategy<String> {
    let map = (number(), text()).prop_map(|(a, b)| format!("{{'n': {a}, 't': {b}}}"));
    prop_oneof![number(), text(), list(), map, Just("null".to_owned()), Just("true".to_owned())].boxed()
}

fn flag() -> impl Strategy<Value = String> {
    let order = prop::sample::select(&["<", "<=", ">", ">=", "==", "!="][..]);
    let part = prop::sample::select(&["contains", "startsWith", "endsWith"][..]);
    let quantifier = prop::sample::select(&["all", "exists", "exists_one"][..]);
    prop_oneof![
        (number(), order.clone(), number()).prop_map(|(a, sign, b)| format!("({a} {sign} {b})")),
        (text(), order, text()).prop_map(|(a, sign, b)| format!("({a} {sign} {b})")),
        (any_value(), any_value()).prop_map(|(a, b)| format!("({a} == {b})")),
        (any_value(), list()).prop_map(|(a, b)| format!("({a} in {b})")),
        (text(), part, text()).prop_map(|(a, part, b)| format!("{a}.{part}({b})")),
        (list(), quantifier).prop_map(|(a, quantifier)| format!("{a}.{quantifier}(x, x == 1)")),
        Just("has({'n': 1}.n)".to_owned()),
        Just("has({'n': 1}.m)".to_owned()),
    ]
    .prop_recursive(3, 12, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} && {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} || {b})")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            inner.prop_map(|a| format!("!({a})")),
        ]
    })
}

fn whole() -> impl Strategy<Value = String> {
    prop_oneof![
        any_value(),
        flag(),
        (flag(), any_value(), any_value()).prop_map(|(flag, a, b)| format!("({flag} ? {a} : {b})")),
        list().prop_map(|a| format!("size({a})")),
        text().prop_map(|a| format!("size({a})")),
        number().prop_map(|a| format!("int({a})")),
        number().prop_map(|a| format!("double({a})")),
        (-20i64..20).prop_map(|a| format!("string({a}) + string({a} > 0)")),
        (list(), 0..4).prop_map(|(a, index)| format!("{a}[{index}]")),
        (any_value(), any_value()).prop_map(|(a, b)| format!("{{'a': {a}, 'b': {b}}}.b")),
    ]
}

/// The crate's value as JSON, ints as ints.
fn json_of(value: &Cel) -> Option<Json> {
    Some(match value {
        Cel::Null => Json::Null,
        Cel::Bool(value) => json!(value),
        Cel::Int(value) => json!(value),
        Cel::UInt(value) => json!(value),
        Cel::Float(value) => Json::Number(Number::from_f64(*value)?),
        Cel::String(value) => json!(value.as_str()),
        Cel::List(list) => Json::Array(list.iter().map(json_of).collect::<Option<_>>()?),
        Cel::Map(map) => {
            let entry = |(key, value): (&Key, &Cel)| match key {
                Key::String(key) => Some((key.to_string(), json_of(value)?)),
                _ => None,
            };
            Json::Object(map.map.iter().map(entry).collect::<Option<Map<_, _>>>()?)
        }
        _ => return None,
    })
}

fn theirs(source: &str) -> Option<Json> {
    let program = Program::compile(source).ok()?;
    let value = program.execute(&Context::default()).ok()?;
    json_of(&value.try_into_value().ok()?)
}

#[test]
fn the_comparison_is_not_empty() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let sources: Vec<String> = (0..500).map(|_| whole().new_tree(&mut runner).unwrap().current()).collect();
    let compared = sources.iter().filter(|source| theirs(source).is_some() && World::new().eval(source).is_ok()).count();
    assert!(compared > 250, "only {compared} of 500 give a value in both");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn both_evaluators_agree(source in whole()) {
        if let (Some(theirs), Ok(ours)) = (theirs(&source), World::new().eval(&source)) {
            prop_assert_eq!(&ours, &theirs, "{}", source);
        }
    }

    /// Ours takes some that CEL refuses, never the other way round.
    #[test]
    fn what_the_crate_evaluates_so_do_we(source in whole()) {
        if theirs(&source).is_some() {
            prop_assert!(World::new().eval(&source).is_ok(), "{}: {:?}", source, World::new().eval(&source));
        }
    }
}
