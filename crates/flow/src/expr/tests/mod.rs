//! The tables: one door, `World`, through which every test compiles and evaluates.

mod differential;
mod failures;
mod hostile;
mod problems;
mod random;
mod templates;
mod values;

use super::*;
use serde_json::json;
use std::collections::BTreeSet;

/// The values that the tables' expressions read.
pub(super) struct World {
    pub input: Json,
    pub item: Json,
    nodes: Listed,
    output: Json,
    error: Json,
}

impl World {
    pub fn new() -> World {
        let input = json!({
            "amount": 120, "price": 9.5, "big": 18446744073709551615u64, "min": i64::MIN, "zero": 0, "none": null,
            "name": "Zoë", "text": "a,b,,c", "yes": true, "dash-key": 7, "wide": "\0i18446744073709551616", "empty": {}, "nested": {"a": {"b": [10, 20, {"c": "deep"}]}},
            "list": [3, 1, 2], "mixed": [1, "a", null, 2.5], "words": ["pear", "fig", "apple"],
            "orders": [{"id": 1, "open": 3, "tags": ["x"]}, {"id": 2, "open": 0, "tags": []}, {"id": 3, "open": 9, "tags": ["x", "y"]}],
        });
        let ids = ["ask", "pay", "hold", "lint-fix", "later"].map(str::to_owned);
        let upstream: BTreeSet<String> = ids[..4].iter().cloned().collect();
        let nodes = Listed { ids: ids.into_iter().collect(), upstream, reader: Some("report".to_owned()) };
        let output = json!({"total": 5, "items": [{"sku": "a-1"}]});
        World { input, item: json!("it"), nodes, output, error: json!({"code": "http_503"}) }
    }

    pub fn names(&self) -> Names<'_> {
        Names::new([Root::Input, Root::Item, Root::Index, Root::Output, Root::Run]).with_nodes(&self.nodes)
    }

    pub fn scope(&self) -> Bindings<'_> {
        Bindings::new()
            .bind(Root::Input, &self.input)
            .bind(Root::Item, &self.item)
            .bind(Root::Output, &self.output)
            .bind_node("pay", NodeResult { output: Some(&self.output), status: Some("done"), error: None })
            .bind_node("lint-fix", NodeResult { output: Some(&self.item), status: Some("done"), error: None })
            .bind_node("hold", NodeResult { output: None, status: Some("skipped"), error: None })
            .bind_node("ask", NodeResult { output: None, status: Some("failed"), error: Some(&self.error) })
    }

    pub fn compile(&self, source: &str) -> Result<Expr, Vec<Problem>> {
        Expr::compile(source, &self.names())
    }

    /// The value as JSON, the error as its text, or the problems.
    pub fn eval(&self, source: &str) -> Result<Json, String> {
        let expr = self.compile(source).map_err(|problems| told(&problems))?;
        expr.eval(&self.scope(), &mut Budget::default()).map_err(|error| error.to_string())
    }
}

pub(super) fn told(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join(" | ")
}

#[test]
fn compiled_forms_may_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Expr>();
    shared::<Template>();
}

#[test]
fn reads_names_what_is_read_and_nothing_else() {
    let world = World::new();
    for (source, roots, nodes) in [
        ("1 + 1", vec![], vec![]),
        ("input.a > index", vec![Root::Input, Root::Index], vec![]),
        ("input.list.map(item, item + 1)", vec![Root::Input], vec![]),
        ("input.list.map(x, item)", vec![Root::Input, Root::Item], vec![]),
        (
            "nodes.pay.output.total > 1 && has(nodes.ask.error) && nodes['pay'].status == 'done'",
            vec![Root::Nodes],
            vec![("ask", NodeField::Error), ("pay", NodeField::Output), ("pay", NodeField::Status)],
        ),
    ] {
        let reads = world.compile(source).unwrap().reads().clone();
        assert_eq!(reads.roots.into_iter().collect::<Vec<_>>(), roots, "{source}");
        let found: Vec<_> = reads.nodes.iter().map(|(id, field)| (id.as_str(), *field)).collect();
        assert_eq!(found, nodes, "{source}");
    }
}

#[test]
fn a_flag_is_a_boolean_or_an_error() {
    let world = World::new();
    let flag = |source: &str| {
        let expr = Expr::compile_flag(source, &world.names()).map_err(|problems| told(&problems))?;
        expr.eval_flag(&world.scope(), &mut Budget::default()).map_err(|error| error.to_string())
    };
    assert_eq!(flag("input.amount > 100"), Ok(true));
    assert_eq!(flag("input.yes"), Ok(true));
    assert_eq!(flag("input.yes && !has(input.nothing)"), Ok(true));
    assert_eq!(
        flag("input.amount"),
        Err("input.amount: a condition must be true or false, not int, where input.amount = 120".into())
    );
}
