use super::*;
use serde_json::json;

#[test]
fn inputs_are_told_where_they_are_wrong() {
    let schema =
        r#"{"type":"object","required":["order"],"properties":{"amount":{"type":"number"},"lines":{"items":{"type":"string"}}}}"#;
    let schema = InputSchema::new(schema).unwrap();
    assert!(schema.misfits(&json!({"order": 1, "amount": 2})).is_empty());
    let found = schema.misfits(&json!({"amount": "x", "lines": ["a", 2]}));
    let mut paths: Vec<&str> = found.iter().map(|misfit| misfit.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["", "/amount", "/lines/1"], "{found:?}");
    let sentence = told(&WorkflowName::parse("pay").unwrap(), 2, &found);
    assert!(sentence.starts_with("the input does not fit workflow `pay` version 2: "), "{sentence}");
    assert!(InputSchema::new(r#"{"$ref": "https://example.com/x.json"}"#).is_err());
    assert!(InputSchema::new(r#"{"type": 5}"#).is_err());
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!([inner]))
}

/// Each level asks for the next twice.
fn doubling(levels: usize) -> String {
    let level = |at: usize| {
        let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
        (format!("d{at}"), json!({"allOf": [next, next]}))
    };
    let mut defs: serde_json::Map<String, Value> = (0..levels).map(level).collect();
    defs.insert(format!("d{levels}"), json!({"type": "integer"}));
    json!({"$defs": defs, "$ref": "#/$defs/d0"}).to_string()
}

const TWO_WAYS: &str = r##"{"$defs": {"x": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/x"}},
    {"type": "array", "items": {"$ref": "#/$defs/x"}, "maxItems": 5}]}}, "$ref": "#/$defs/x"}"##;

#[test]
fn no_schema_and_no_input_take_long() {
    let refused = |schema: &str, input: &Value| {
        let schema = InputSchema::new(schema).unwrap();
        let Checked { misfits, cost } = schema.check(input);
        assert_eq!(cost, INPUT_COST_MAX);
        misfits[0].message.clone()
    };
    let much = format!("to hold it against the schema takes more than {INPUT_COST_MAX} steps");
    let deep = "the schema leads too deep into itself to hold it against";
    assert_eq!(refused(TWO_WAYS, &nested(20)), much);
    assert_eq!(refused(TWO_WAYS, &nested(120)), much);
    assert_eq!(refused(&doubling(26), &json!(1)), much);
    assert_eq!(refused(r##"{"$ref": "#"}"##, &json!(1)), deep);
}

#[test]
fn what_is_large_and_plain_is_looked_at() {
    let fits = |schema: Value, input: Value| {
        let Checked { misfits, cost } = InputSchema::new(&schema.to_string()).unwrap().check(&input);
        assert!(misfits.is_empty() && cost < INPUT_COST_MAX, "{schema}: {cost}, {misfits:?}");
        cost
    };
    fits(json!({"items": {"type": "integer"}}), json!(vec![1; 80_000]));
    fits(json!({"uniqueItems": true}), json!((0..15_000).collect::<Vec<_>>()));
    fits(json!({"pattern": "^(0|1)+$"}), json!("01".repeat(100_000)));
    let named = json!({"$defs": {"node": {"$anchor": "node", "anyOf": [{"type": "integer"}, {"items": {"$ref": "#node"}}]}}, "$ref": "#/$defs/node"});
    fits(named, nested(12));
    // What the work grows with is counted.
    let cost = |many: usize| fits(json!({"enum": (0..many).collect::<Vec<_>>()}), json!(0));
    assert_eq!(cost(1_000) - cost(500), 500);
    let wrong = InputSchema::new(&json!({"items": {"type": "string"}}).to_string()).unwrap().check(&json!(vec![1; 80_000]));
    assert_eq!(wrong.misfits.len(), PROBLEMS_MAX);
}

#[test]
fn what_cannot_be_made_ready_is_no_schema() {
    let why = |schema: Value| InputSchema::new(&schema.to_string()).unwrap_err().message;
    let mut unevaluated: Value = serde_json::from_str(&doubling(26)).unwrap();
    unevaluated["unevaluatedProperties"] = json!(false);
    assert_eq!(why(unevaluated), "what is left unevaluated hangs on more than 10000 schemas");
    assert_eq!(why(json!({"$ref": "#/$defs/x"})), "`#/$defs/x` leads to nothing in this schema");
    assert!(why(json!({"pattern": "(a{1000}){1000}"})).contains("is not a \"regex\""));
}
