//! Random texts, expressions and values: nothing panics, nothing goes beyond its budget, everything is told twice alike.

use super::{World, told};
use crate::expr::limits::*;
use crate::expr::{Bindings, Budget, Expr, NodeResult, Root, Template};
use proptest::prelude::*;
use serde_json::{Map, Value as Json};

/// Fragments of the language and of what is none.
#[rustfmt::skip]
const TOKENS: &[&str] = &[
    "1", "0", "-1", "9223372036854775807", "1.5", "2u", "'a'", "\"b\"", "'ü'", "''", "true", "false", "null",
    "input", "item", "nodes", ".pay", ".output", ".status", ".a", ".b", ".size()", "x", "y", "+", "-", "*", "/", "%",
    "==", "!=", "<", "<=", ">", ">=", "&&", "||", "!", "?", ":", "in", "(", ")", "[", "]", "{", "}", ",", "has(",
    ".map(x,", ".filter(x,", ".all(y,", ".exists(y,", "size(", ".matches(", ".split(", ".join(", "range(", "sort(",
    "flatten(", "'", "\"", "'''", "\\", "\0", "é", "//", "\n", "`", "$", "=", "&", ".?", "[?", "r'", "b'", "if",
    "0x", "1e999", "((((((((", "[[[[[[[[", "!!!!!!!!", "--------", "1+1+1+1+1+1+1+1+",
];

fn token_soup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(TOKENS), 0..60).prop_map(|tokens| tokens.concat())
}

/// Tokens that leave a bracket or a string open, or are refused anywhere but in a string.
const UNBALANCED: &[&str] = &["'", "\"", "'''", "r'", "b'", "\\", "\0", "é", "((((((((", "[[[[[[[["];

/// The same with its brackets balanced and its strings whole, so that it gets past the scan.
fn balanced_soup() -> impl Strategy<Value = String> {
    let opening = |token: &str| {
        let brackets = token.chars().filter_map(|c| "([{".find(c)).filter(|_| !token.ends_with(')'));
        brackets.map(|at| &")]}"[at..at + 1]).next_back()
    };
    prop::collection::vec(prop::sample::select(TOKENS), 0..60).prop_map(move |tokens| {
        let (mut soup, mut open) = (String::new(), Vec::new());
        for token in tokens.into_iter().filter(|token| !UNBALANCED.contains(token)) {
            match token {
                ")" | "]" | "}" => soup.push_str(open.pop().unwrap_or_default()),
                _ => {
                    soup.push_str(token);
                    open.extend(opening(token));
                }
            }
        }
        soup.extend(open.into_iter().rev());
        soup
    })
}

#[rustfmt::skip]
const LEAVES: &[&str] = &[
    "1", "0", "-7", "3u", "1.5", "9223372036854775807", "'a'", "'abc,d'", "''", "true", "false", "null", "[]", "{}",
    "input", "input.a", "input.b", "input.list", "input['k-1']", "item", "nodes.pay.output", "nodes.pay.status", "x",
    "range(50)", "[1, 2, 3]",
];

/// Expressions that mostly compile.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(LEAVES);
    leaf.prop_map(str::to_owned).prop_recursive(7, 60, 4, |inner| {
        let binary = prop::sample::select(&["+", "-", "*", "/", "%", "==", "!=", "<", ">=", "&&", "||", "in"][..]);
        let method = prop::sample::select(
            &[
                "size()",
                "trim()",
                "sort()",
                "sum()",
                "max()",
                "distinct()",
                "flatten()",
                "join()",
                "join(',')",
                "split('')",
                "upperAscii()",
            ][..],
        );
        let call =
            prop::sample::select(&["size", "string", "int", "double", "type", "min", "range", "bool", "uint", "flatten"][..]);
        let fold = prop::sample::select(&["map", "filter", "all", "exists", "exists_one"][..]);
        prop_oneof![
            (inner.clone(), binary, inner.clone()).prop_map(|(a, sign, b)| format!("({a} {sign} {b})")),
            (inner.clone(), method).prop_map(|(a, method)| format!("({a}).{method}")),
            (call, inner.clone()).prop_map(|(call, a)| format!("{call}({a})")),
            (inner.clone(), fold, inner.clone()).prop_map(|(a, fold, b)| format!("({a}).{fold}(x, {b})")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            prop::collection::vec(inner.clone(), 0..4).prop_map(|list| format!("[{}]", list.join(", "))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{'a': {a}, 'b': {b}}}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a})[{b}]")),
            inner.clone().prop_map(|a| format!("({a}).a")),
            inner.clone().prop_map(|a| format!("has(({a}).a)")),
            inner.clone().prop_map(|a| format!("!({a})")),
            inner.clone().prop_map(|a| format!("-({a})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}).replace('a', {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}).matches({b})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("({a}).substring({b})")),
        ]
    })
}

fn value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        (-10i64..10).prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        "[a-zü,]{0,8}".prop_map(Json::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        let key = prop::sample::select(&["a", "b", "list", "k-1", "zz"][..]).prop_map(str::to_owned);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Json::from),
            prop::collection::vec((key, inner), 0..5)
                .prop_map(|entries| Json::Object(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Compiles and evaluates twice, within a small budget; both must tell the same.
fn check(source: &str, input: &Json, item: &Json) {
    let world = World::new();
    let mut told_before = None;
    for _ in 0..2 {
        let scope = Bindings::new()
            .bind(Root::Input, input)
            .bind(Root::Item, item)
            .bind_node("pay", NodeResult { output: Some(item), status: Some("done"), error: None });
        let mut budget = Budget::new(5_000, 200_000);
        let told = match Expr::compile(source, &world.names()) {
            Err(problems) => {
                assert!(problems.iter().all(|problem| problem.offset <= source.len()), "{source:?}: {problems:?}");
                // That is how a panic of the parser's thread is told.
                assert!(problems.iter().all(|problem| !problem.message.contains("the parser cannot")), "{source:?}");
                told(&problems)
            }
            Ok(expr) => match expr.eval(&scope, &mut budget) {
                Ok(json) => {
                    // What was built is at least as large as the text of the result, but for numbers, signs and escapes.
                    assert!(json.to_string().len() as u64 <= 4 * budget.built_bytes() + 64, "{source}");
                    json.to_string()
                }
                Err(error) => error.to_string(),
            },
        };
        assert!(budget.cost_spent() <= 5_000 && budget.built_bytes() <= 200_000);
        let told = Some((told, budget.cost_spent(), budget.built_bytes()));
        assert!(told_before.is_none() || told_before == told, "{source}: {told_before:?} and {told:?}");
        told_before = told;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn token_soup_never_panics(source in token_soup(), input in value()) {
        check(&source, &input, &Json::Null);
    }

    #[test]
    fn balanced_soup_never_panics(source in balanced_soup(), input in value()) {
        check(&source, &input, &Json::Null);
    }

    #[test]
    fn any_text_never_panics(source in ".{0,80}") {
        check(&source, &Json::Null, &Json::Null);
    }

    #[test]
    fn expressions_over_any_values_stay_within_their_budget(source in expression(), input in value(), item in value()) {
        let source = format!("[item].map(x, {source})");
        prop_assume!(source.len() <= SOURCE_BYTES_MAX);
        check(&source, &input, &item);
    }

    #[test]
    fn templates_never_panic(parts in prop::collection::vec(prop_oneof![
        expression().prop_map(|source| format!("${{{source}}}")),
        prop::sample::select(&["$", "$$", "${", "$${", "}", "{", "$nodes.pay", "$nodes.x.y", "$nodes.", "ü", "'", "text "][..]).prop_map(str::to_owned),
    ], 0..6), input in value()) {
        let world = World::new();
        let text = Json::from(parts.concat());
        if let Ok(template) = Template::compile(&Json::from(vec![text]), &world.names()) {
            let scope = Bindings::new().bind(Root::Input, &input).bind(Root::Item, &input);
            let mut budget = Budget::new(5_000, 200_000);
            let _ = template.resolve(&scope, &mut budget);
        }
    }
}
