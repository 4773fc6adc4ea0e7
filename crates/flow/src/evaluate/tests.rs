//! Questions as the kernel asks them, of one workflow that has an expression of every kind.

use super::*;
use crate::Language;
use kernel::eval::NodeFacts;
use kernel::ids::RunId;
use kernel::names::WorkflowName;
use serde_json::json;
use std::collections::BTreeMap;

const TEXT: &str = r#"
workflow: w
version: 3
nodes:
  a: {type: x}
  b: {type: x, on_error: ignore}
  t: {type: transform, after: [a, b], value: output.a.n + 1}
  whole: {type: transform, after: t, value: nodes.a.output}
  who: {type: transform, after: t, value: "run.workflow + ' ' + string(run.version) + ' ' + run.id"}
  how: {type: transform, after: t, value: "[nodes.a.status, nodes.b.status, string(nodes.b.output == null), has(nodes.b.error) ? nodes.b.error.code : '']"}
  skipped: {type: transform, after: t, value: nodes.b.output}
  made: {type: x, after: t, with: {n: "${input.n}", text: "n is ${input.n}"}}
  passed: {type: x, after: t}
  fixed: {type: sleep, after: t, until: "2027-01-31T09:00:00Z"}
  told: {type: sleep, after: t, until: input.at}
  big: {type: transform, after: t, value: "range(9000).map(i, input.long)"}
  e:
    type: each
    after: t
    items: [1, "${input.n}"]
    do: {nodes: {in: {type: x, with: ["${item}", "${index}"]}}}
  l:
    type: loop
    after: t
    max_iterations: 2
    until: iteration == 1 && output == last
    do: {nodes: {body: {type: x}}}
"#;

struct Shelf {
    values: BTreeMap<u64, Arc<JsonValue>>,
    asked: Vec<u64>,
}

impl Values for Shelf {
    fn value(&mut self, seq: RecordSeq) -> Option<Arc<JsonValue>> {
        self.asked.push(seq.0);
        self.values.get(&seq.0).cloned()
    }
}

struct World {
    programs: Programs,
    shelf: Shelf,
    scope: Scope,
}

fn record(seq: u64) -> Shape {
    Shape::At(ValueAt::Record(RecordSeq(seq)))
}

fn id(id: &str) -> NodeId {
    NodeId::parse(id).unwrap()
}

impl World {
    fn new() -> World {
        let ir = crate::compile(TEXT.as_bytes(), &Language).unwrap_or_else(|problems| panic!("{problems:?}")).ir;
        let values = [
            (1, json!({"n": 7, "at": "1970-01-01T00:00:01.5Z", "long": "x".repeat(1_000)})),
            (2, json!({"n": 41})),
            (3, json!([5, 6])),
        ];
        let shelf = Shelf { values: values.into_iter().map(|(seq, value)| (seq, Arc::new(value))).collect(), asked: Vec::new() };
        let facts = |status: &str, output: Shape| NodeFacts { status: status.into(), output, error: None };
        let failure = Failure { code: "oops".into(), message: "no".into() };
        let scope = Scope {
            run: RunId::new(7, 0),
            input: ValueAt::Record(RecordSeq(1)),
            output: Shape::Object(vec![(id("a"), record(2)), (id("b"), Shape::At(ValueAt::Null))]),
            item: Some((ValueAt::Item(RecordSeq(3), 1), 1)),
            last: Some((1, ValueAt::Record(RecordSeq(2)))),
            nodes: vec![
                (id("a"), facts("done", record(2))),
                (id("b"), NodeFacts { error: Some(failure), ..facts("failed", Shape::At(ValueAt::Null)) }),
            ],
            event: None,
        };
        World { programs: Programs::new(Arc::new(ir)), shelf, scope }
    }

    fn eval(&mut self, find: impl Fn(&NodeKind) -> Option<ExprIx>) -> Evaluated {
        let expr = self.programs.ir.nodes.iter().find_map(|node| find(&node.kind)).expect("there is such an expression");
        eval(&self.programs, expr, &self.scope, &mut self.shelf)
    }

    fn node(&mut self, name: &str) -> Evaluated {
        let node = self.programs.ir.find(&id(name)).expect("there is such a node");
        let expr = match self.programs.ir.node(node).kind {
            NodeKind::Transform { value, .. } => value,
            NodeKind::Sleep(Sleep::UntilExpr(until)) => until,
            NodeKind::Each { items, .. } => items,
            NodeKind::Loop { until, .. } => until,
            ref other => panic!("{other:?} has no one expression"),
        };
        self.eval(|_| Some(expr))
    }

    fn input_of(&mut self, name: &str) -> Evaluated {
        let workflow = WorkflowName::parse("w").unwrap();
        let recipe = Recipe { workflow, version: 3, text: None, node: id(name), scope: self.scope.clone() };
        resolve(&self.programs, &recipe, &mut self.shelf).0
    }
}

fn check(given: Evaluated, text: &str, view: View) {
    let Evaluated::Value(json) = given else { panic!("{given:?} is no value") };
    assert_eq!((json.payload.text(), json.view), (text, view));
}

fn message(given: Evaluated) -> String {
    let Evaluated::Failed(failure) = given else { panic!("{given:?} is no failure") };
    assert_eq!(failure.code, "expression");
    failure.message
}

#[test]
fn every_name_has_its_value() {
    let mut world = World::new();
    check(world.node("t"), "42", View::Int(42));
    check(world.node("whole"), r#"{"n":41}"#, View::Other);
    check(world.node("who"), r#""w 3 run-7""#, View::Text("w 3 run-7".into()));
    check(world.node("how"), r#"["done","failed","true","oops"]"#, View::List(4));
    check(world.node("skipped"), "null", View::Null);
    check(world.node("e"), "[1,7]", View::List(2));
    check(world.input_of("in"), "[6,1]", View::List(2));
    check(world.input_of("made"), r#"{"n":7,"text":"n is 7"}"#, View::Other);
    check(world.input_of("passed"), r#"{"a":{"n":41},"b":null}"#, View::Other);
    world.scope.output = record(2);
    check(world.node("l"), "true", View::Bool(true));
    check(world.input_of("passed"), r#"{"n":41}"#, View::Other);
}

#[test]
fn only_what_is_read_is_asked_for_and_all_of_it_at_once() {
    let mut world = World::new();
    world.node("whole");
    assert_eq!(world.shelf.asked, [2]);
    world.shelf.asked.clear();
    world.node("who");
    assert!(world.shelf.asked.is_empty());
    world.shelf.values.clear();
    assert!(matches!(world.node("t"), Evaluated::Missing(_)));
    assert!(matches!(world.input_of("made"), Evaluated::Missing(_)));
    let both = [ValueAt::Record(RecordSeq(1)), ValueAt::Null, ValueAt::Item(RecordSeq(3), 0)];
    world.shelf.asked.clear();
    assert_eq!(list(&both, &mut world.shelf), Evaluated::Missing(vec![RecordSeq(1), RecordSeq(3)]));
    assert_eq!(world.shelf.asked, [1, 3]);
}

#[test]
fn an_instant_comes_out_as_its_milliseconds() {
    let mut world = World::new();
    check(world.node("fixed"), "1801386000000", View::Int(1_801_386_000_000));
    check(world.node("told"), "1500", View::Int(1_500));
    // A number has no unit and no beginning, and what is no day of the calendar is no instant.
    for wrong in [json!(5), json!(1_801_386_000), json!(null), json!(true), json!("tomorrow"), json!("2027-02-30T09:00:00Z")] {
        world.shelf.values.insert(1, Arc::new(json!({ "at": wrong })));
        let Evaluated::Failed(failure) = world.node("told") else { panic!("{wrong} is no instant") };
        assert_eq!(failure.code, "bad_time", "{wrong}");
        assert_eq!(failure.message, format!("`input.at` gave {wrong}, no instant such as \"2027-01-31T09:00:00Z\""));
    }
}

#[test]
fn integers_beyond_64_bits_are_handed_on_digit_by_digit_and_never_rounded() {
    const ID: &str = "123456789012345678901234567890";
    let mut world = World::new();
    let value = |text: &str| Arc::new(wide::read(text).unwrap());
    world.shelf.values.insert(1, value(&format!(r#"{{"n":{ID}}}"#)));
    world.shelf.values.insert(2, value(&format!(r#"{{"n":-{ID}}}"#)));
    world.shelf.values.insert(3, value(&format!("[1e30,{ID}]")));
    check(world.input_of("made"), &format!(r#"{{"n":{ID},"text":"n is {ID}"}}"#), View::Other);
    check(world.input_of("in"), &format!("[{ID},1]"), View::List(2));
    check(world.input_of("passed"), &format!(r#"{{"a":{{"n":-{ID}}},"b":null}}"#), View::Other);
    check(world.node("whole"), &format!(r#"{{"n":-{ID}}}"#), View::Other);
    check(world.node("e"), &format!("[1,{ID}]"), View::List(2));
    check(list(&[ValueAt::Record(RecordSeq(3))], &mut world.shelf), &format!("[[1e+30,{ID}]]"), View::List(1));
    assert_eq!(
        message(world.node("t")),
        format!("output.a.n + 1: `+` does not go between an integer beyond 64 bits and int, where output.a.n = -{ID}")
    );
}

#[test]
fn a_failure_shows_the_expression_and_what_it_read() {
    let mut world = World::new();
    world.shelf.values.insert(2, Arc::new(json!({"m": 41})));
    assert_eq!(message(world.node("t")), r#"output.a.n + 1: no key `n` in output.a, where output.a = {"m":41}"#);
    world.scope.nodes[1].1.status = "skipped".into();
    assert_eq!(
        message(world.node("skipped")),
        "nodes.b.output: node `b` has no output: it is skipped; test it with has(nodes.b.output)"
    );
    let told = message(world.node("big"));
    assert!(told.starts_with("range(9000).map(i, input.long): it costs more than 100000 steps, where input.long = "), "{told}");
    assert!(told.len() <= ERROR_MESSAGE_BYTES_MAX);
}

#[test]
fn values_are_put_together() {
    let mut world = World::new();
    let items = [ValueAt::Record(RecordSeq(2)), ValueAt::Null, ValueAt::Item(RecordSeq(3), 0)];
    check(list(&items, &mut world.shelf), r#"[{"n":41},null,5]"#, View::List(3));
    check(list(&[], &mut world.shelf), "[]", View::List(0));
    check(gather(&record(3), &mut world.shelf), "[5,6]", View::List(2));
    check(gather(&Shape::At(ValueAt::Null), &mut world.shelf), "null", View::Null);
    let nested = Shape::Object(vec![(id("a"), record(3)), (id("b"), Shape::Object(vec![(id("c"), record(2))]))]);
    check(gather(&nested, &mut world.shelf), r#"{"a":[5,6],"b":{"c":{"n":41}}}"#, View::Other);
    let long = vec![ValueAt::Record(RecordSeq(1)); 9_000];
    assert_eq!(message(list(&long, &mut world.shelf)), "the value put together here has more than 8388608 bytes");
}

#[test]
fn programs_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Programs>();
}
