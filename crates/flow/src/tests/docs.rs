//! `docs/workflows.md` cannot rot: what stands there as a definition compiles, and what the language has is told there.

use crate::Language;
use crate::expr::limits::{COST_MAX, SOURCE_BYTES_MAX as EXPRESSION_BYTES_MAX, TEMPLATE_EXPRESSIONS_MAX};
use crate::expr::{FUNCTION_NAMES, NodeField, Root};
use crate::limits::*;
use kernel::limits::{
    ATTEMPTS_MAX, INPUT_COST_MAX, PAYLOAD_BYTES_MAX, RUN_STEPS_DEFAULT, STEP_COST_MAX, SUB_RUNS_DEPTH_MAX, WAITS_UNKEYED_MAX,
    WORKFLOW_VERSIONS_MAX,
};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/workflows.md");
    std::fs::read_to_string(path).expect("the page is there")
}

/// The fenced blocks of a page, each with what its fence says.
pub fn blocks(page: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut open = false;
    for line in page.lines() {
        match (line.strip_prefix("```"), open) {
            (Some(says), false) => {
                found.push((says.trim().to_owned(), String::new()));
                open = true;
            }
            (Some(_), true) => open = false,
            (None, true) => {
                let (_, text) = found.last_mut().expect("one is open");
                text.push_str(line);
                text.push('\n');
            }
            (None, false) => {}
        }
    }
    assert!(!open, "a block is not closed");
    found
}

#[test]
fn every_example_compiles() {
    let blocks = blocks(&page());
    assert!(blocks.len() >= 6, "{}", blocks.len());
    for (says, text) in blocks {
        let whole = match says.as_str() {
            "yaml" | "json" => text,
            // Nodes alone.
            "yaml nodes" => {
                let nodes: String = text.lines().map(|line| format!("  {line}\n")).collect();
                format!("workflow: example\nnodes:\n{nodes}")
            }
            other => panic!("a block says `{other}`, which is not compiled"),
        };
        let compiled = crate::compile(whole.as_bytes(), &Language);
        let compiled = compiled.unwrap_or_else(|problems| panic!("{whole}\n{problems:#?}"));
        assert!(compiled.warnings.is_empty(), "{whole}\n{:#?}", compiled.warnings);
    }
}

pub fn keys(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::Object(properties)) = fields.get("properties") {
                found.extend(properties.keys().cloned());
            }
            fields.values().for_each(|value| keys(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

#[test]
fn every_key_name_and_function_is_told() {
    let page = page();
    let schema = crate::schema::schema();
    let mut all = BTreeSet::new();
    keys(&schema, &mut all);
    assert!(all.len() > 40, "{all:?}");
    all.extend(
        schema["$defs"].as_object().unwrap()["op"]["enum"].as_array().unwrap().iter().map(|op| op.as_str().unwrap().to_owned()),
    );
    all.extend(Root::ALL.iter().map(|root| root.name().to_owned()));
    all.extend(["fail_fast", "wait_all", "ignore", "conditional", "parallel", "hitl"].map(str::to_owned));
    let words: BTreeSet<&str> = page.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let missing: Vec<&String> = all.iter().filter(|key| !words.contains(key.as_str())).collect();
    assert!(missing.is_empty(), "not told: {missing:?}");
    let missing: Vec<&str> = FUNCTION_NAMES.into_iter().filter(|name| !page.contains(&format!("{name}("))).collect();
    assert!(missing.is_empty(), "functions not told: {missing:?}");
    let missing: Vec<&str> =
        NodeField::ALL.iter().map(|field| field.name()).filter(|name| !page.contains(&format!("nodes.ID.{name}"))).collect();
    assert!(missing.is_empty(), "fields not told: {missing:?}");
}

#[test]
fn every_limit_is_as_it_is_told() {
    let page = page();
    for (what, value) in [
        ("bytes of a file", SOURCE_BYTES_MAX as u64),
        ("definitions in a file", DOCUMENTS_MAX as u64),
        ("nodes of a definition", NODES_MAX as u64),
        ("edges of a definition", EDGES_MAX as u64),
        ("bodies within bodies", BODIES_DEEP_MAX as u64),
        ("rules of a branch", RULES_MAX as u64),
        ("turns of a loop", ITERATIONS_MAX as u64),
        ("items of an each under way at once", EACH_CONCURRENCY_MAX as u64),
        ("names in `who`", WHO_MAX as u64),
        ("attempts of a task", ATTEMPTS_MAX.into()),
        ("runs that call one another", SUB_RUNS_DEPTH_MAX.into()),
        ("steps to hold an input against its schema", INPUT_COST_MAX),
        ("steps of evaluation of one expression", COST_MAX),
        ("steps of evaluation of all rules of a branch", STEP_COST_MAX),
        ("waits for one event with nothing that tells them apart", WAITS_UNKEYED_MAX as u64),
        ("versions of all workflows", WORKFLOW_VERSIONS_MAX as u64),
        ("bytes of an expression", EXPRESSION_BYTES_MAX as u64),
        ("numbers that `range(n)` gives", crate::expr::limits::RANGE_MAX as u64),
        ("expressions of a template", TEMPLATE_EXPRESSIONS_MAX as u64),
        ("bytes of an input or an output of a task", PAYLOAD_BYTES_MAX as u64),
    ] {
        let digits = value.to_string();
        let groups: Vec<String> =
            digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group).into_owned()).collect();
        let row = format!("| {what} | {} |", groups.join(","));
        assert!(page.contains(&row), "`{row}` is not there");
    }
    assert!(page.contains(&format!("({EACH_CONCURRENCY_DEFAULT} unless it says otherwise)")));
    assert!(page.contains(&format!("no deadline, {}h, 1,000,000 |", STALL_MS_DEFAULT / 3_600_000)));
    assert_eq!(RUN_STEPS_DEFAULT, 1_000_000);
}
