//! Template → value, problems, errors.

use super::{World, told};
use crate::expr::{Budget, NodeField, Root, Template};
use serde_json::{Value as Json, json};

fn resolve(world: &World, template: &Json) -> Result<Json, String> {
    let template = Template::compile(template, &world.names()).map_err(|problems| told(&problems))?;
    template.resolve(&world.scope(), &mut Budget::default()).map_err(|error| error.to_string())
}

#[test]
fn templates_give_values() {
    let world = World::new();
    for (template, expected) in [
        (json!(null), json!(null)),
        (json!({"a": [1, true, "plain $5"]}), json!({"a": [1, true, "plain $5"]})),
        (json!("${input.amount}"), json!(120)),
        (json!("${ input.amount + 1 }"), json!(121)),
        (json!("refund ${input.amount}!"), json!("refund 120!")),
        (json!("${input.amount}${input.amount}"), json!("120120")),
        (json!(" ${input.amount}"), json!(" 120")),
        (json!("<${input.none}|${input.name}|${input.list}|${input.price}|${input.yes}>"), json!("<|Zoë|[3,1,2]|9.5|true>")),
        (json!("${{'a': {'b': '}'}}}"), json!({"a": {"b": "}"}})),
        (json!("${{'a': 1}.a} and ${\"}\"}"), json!("1 and }")),
        (json!("$${input.amount}"), json!("${input.amount}")),
        (json!("cost $${x} ${input.amount} $"), json!("cost ${x} 120 $")),
        (json!("$$${"), json!("$${")),
        (json!("$nodes.pay"), json!({"total": 5, "items": [{"sku": "a-1"}]})),
        (json!("$nodes.pay.total"), json!(5)),
        (json!("$nodes.pay.items.0.sku"), json!("a-1")),
        (json!("${$nodes.pay.total}"), json!(5)),
        (json!("$nodes.lint-fix"), json!("it")),
        (json!("total: $nodes.pay.total. Bye"), json!("total: 5. Bye")),
        (json!("$nodes"), json!("$nodes")),
        (json!({"x": ["${input.list}", {"y": "${item}"}]}), json!({"x": [[3, 1, 2], {"y": "it"}]})),
        (json!({"${input.name}": 1}), json!({"${input.name}": 1})),
        (json!("ü${'ü'}ü"), json!("üüü")),
    ] {
        assert_eq!(resolve(&world, &template), Ok(expected), "{template}");
    }
}

#[test]
fn problems_and_errors_say_where() {
    let world = World::new();
    for (template, expected) in [
        (json!({"a": ["x", "n: ${inptu.a}"]}), "/a/1: there is no name `inptu` (at 5); did you mean `input`?"),
        (json!({"a/b": {"~": "${1 +}"}}), "/a~1b/~0: the expression ends too early (at 5)"),
        (
            json!({"a": "${input", "b": "${}"}),
            "/a: `${` has no closing `}` (at 0); write `$${` for the text `${` | /b: the expression is empty (at 2)",
        ),
        (json!(["$nodes.pya.total"]), "/0: there is no node `pya` (at 0); did you mean `pay`?"),
        (json!(["${nodes.later.output}"]), "/0: `later` is not upstream of `report` (at 7)"),
        (
            json!({"a": ["${output.totl}"]}),
            "/a/0: output.totl: no key `totl` in output; there is `total`, where output = {\"items\":[{\"sku\":\"a-1\"}],\"total\":5}",
        ),
        (json!({"a": "x ${1 / 0}"}), "/a: 1 / 0: 1 / 0 has no result"),
        (
            json!("$nodes.pay.totl"),
            "$nodes.pay.totl: no key `totl` in nodes.pay.output; there is `total`, where nodes.pay.output = {\"items\":[{\"sku\":\"a-1\"}],\"total\":5}",
        ),
    ] {
        assert_eq!(resolve(&world, &template), Err(expected.to_owned()), "{template}");
    }
}

#[test]
fn templates_read_what_their_expressions_read() {
    let world = World::new();
    let template = Template::compile(&json!({"a": "${input.a}", "b": ["$nodes.pay.total", "${item}x"]}), &world.names()).unwrap();
    assert_eq!(template.reads().roots.iter().copied().collect::<Vec<_>>(), [Root::Input, Root::Nodes, Root::Item]);
    assert_eq!(template.reads().nodes.iter().cloned().collect::<Vec<_>>(), [("pay".to_owned(), NodeField::Output)]);
}

#[test]
fn templates_are_bounded() {
    let world = World::new();
    let mut deep = json!("${input}");
    for _ in 0..70 {
        deep = json!([deep]);
    }
    assert!(resolve(&world, &deep).unwrap_err().contains("nests deeper than 64"));
    let many = Json::from(vec!["${1}"; 1_001]);
    assert!(resolve(&world, &many).unwrap_err().contains("may hold 1000 expressions"));
    let mut wide = World::new();
    wide.input = json!("x".repeat(200_000));
    let copies = Json::from(vec!["<${input}>"; 100]);
    assert!(resolve(&wide, &copies).unwrap_err().contains("it costs more than"));
    // A result may not nest deeper than what serde_json reads back, wherever in the template it stands.
    for _ in 0..80 {
        wide.input = json!([wide.input]);
    }
    assert!(resolve(&wide, &json!("${input}")).is_ok());
    let mut deep = json!("${input}");
    for _ in 0..30 {
        deep = json!([deep]);
    }
    assert!(resolve(&wide, &deep).unwrap_err().contains("the result nests deeper than 100"));
}
