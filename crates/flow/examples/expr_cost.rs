//! What expressions cost on this machine: `cargo run --release -p flow --example expr_cost`.

use flow::expr::{Bindings, Budget, Expr, Listed, Names, NodeResult, Root, Template};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::time::Instant;

/// Microseconds per call, the best of five rounds.
fn micros(mut call: impl FnMut()) -> f64 {
    let rounds = (0..5).map(|_| {
        let started = Instant::now();
        let mut calls = 0u32;
        while started.elapsed().as_millis() < 40 {
            call();
            calls += 1;
        }
        started.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
    });
    rounds.fold(f64::INFINITY, f64::min)
}

fn main() {
    let orders: Vec<Json> = (0..20).map(|id| json!({"id": id, "open": id % 3, "sku": format!("sku-{id}")})).collect();
    let input = json!({"amount": 120, "name": "Zoë Müller", "order": {"id": 7, "lines": [1, 2, 3]}, "orders": orders});
    let pay = BTreeSet::from(["pay".to_owned()]);
    let nodes = Listed { ids: pay.clone(), upstream: pay, reader: None };
    let names = Names::new([Root::Input]).with_nodes(&nodes);
    let result = NodeResult { output: Some(&input), status: Some("done"), error: None };
    let scope = Bindings::new().bind(Root::Input, &input).bind_node("pay", result);

    println!("{:>10} {:>8} {:>6} {:>7}  expression", "compile µs", "eval µs", "cost", "bytes");
    for source in [
        "1 + 1",
        "input.amount > 100",
        "input.amount > 100 && input.order.id != 7 || nodes.pay.status == 'done'",
        "input.order.lines[1] + size(input.order.lines)",
        "'refund ' + string(input.amount) + ' to ' + input.name",
        "input.name.matches('^[A-Z]\\\\w+ \\\\w+$')",
        "input.name.matches('^[A-Z]' + '\\\\w+$')",
        "input.orders.filter(o, o.open > 0).map(o, o.sku)",
        "{'id': input.order.id, 'open': input.orders.map(o, o.open).sum()}",
        "input",
        "range(1000).map(i, i * i).sum()",
        "range(10000).all(a, range(10000).all(b, a + b >= 0))",
        "range(10000).exists(i, {'key_one': 1}.key_two)",
        "range(10000).map(i, 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' + string(i)).join().split('x')",
    ] {
        let compile = micros(|| drop(Expr::compile(source, &names)));
        let expr = Expr::compile(source, &names).unwrap_or_else(|problems| panic!("{source}: {problems:?}"));
        let mut budget = Budget::default();
        let _ = expr.eval(&scope, &mut budget);
        let eval = micros(|| drop(expr.eval(&scope, &mut Budget::default())));
        println!("{compile:>10.1} {eval:>8.2} {:>6} {:>7}  {source}", budget.cost_spent(), budget.built_bytes());
    }

    let with = json!({"url": "https://pay.test/${input.order.id}", "body": {"amount": "${input.amount}", "who": "${input.name}"}, "keep": [1, 2]});
    let compile = micros(|| drop(Template::compile(&with, &names)));
    let template = Template::compile(&with, &names).unwrap_or_else(|problems| panic!("{problems:?}"));
    let eval = micros(|| drop(template.resolve(&scope, &mut Budget::default())));
    println!("{compile:>10.1} {eval:>8.2} {:>14}  template of three expressions", "");

    println!(
        "\n{:>10} {:>8} {:>6} {:>7}  pattern, against as many random letters as its cost lets through",
        "compile µs", "eval µs", "cost", "bytes"
    );
    let mut seed = 7u64;
    let mut letter = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if seed >> 63 == 0 { 'a' } else { 'b' }
    };
    let letters: String = (0..50_000).map(|_| letter()).collect();
    for pattern in [
        "^[a-z]+$",
        "[ab]*a[ab]{8}c",
        "[ab]*a[ab]{40}c",
        "[ab]*a[ab]{200}c",
        "(a|b|ab|aab|abb)*[ab]{150}c",
        "(a?){12}(b?){12}c",
        "(a?b?){50}[ab]{50}c",
        "(a?b?){150}[ab]{50}c",
        "((a{0,3}b{0,3}){0,5}){0,5}c",
    ] {
        let expr =
            Expr::compile(&format!("input.matches('{pattern}')"), &names).unwrap_or_else(|problems| panic!("{problems:?}"));
        let compile = micros(|| drop(Expr::compile(&format!("input.matches('{pattern}')"), &names)));
        let sizes = [49_000, 12_400, 3_000, 770];
        let texts = sizes.map(|bytes| Json::from(&letters[..bytes]));
        let fits = texts.iter().find(|text| expr.eval(&Bindings::new().bind(Root::Input, text), &mut Budget::default()).is_ok());
        let Some(text) = fits else { continue };
        let scope = Bindings::new().bind(Root::Input, text);
        let mut budget = Budget::default();
        let _ = expr.eval(&scope, &mut budget);
        let eval = micros(|| drop(expr.eval(&scope, &mut Budget::default())));
        println!("{compile:>10.1} {eval:>8.2} {:>6} {:>7}  {pattern}", budget.cost_spent(), text.as_str().map_or(0, str::len));
    }
}
