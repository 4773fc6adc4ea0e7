//! The page that tells of the registry is true: its examples compile, its limits are the limits, and no key is missing.

use super::*;
use crate::limits::*;
use crate::tests::docs::{blocks, keys};
use kernel::limits::*;
use std::collections::BTreeSet;
use std::path::Path;

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn example() -> String {
    file("examples/registry.yaml")
}

#[test]
fn every_example_compiles_and_fits_the_schema() {
    let page = file("docs/registry.md");
    let validator = jsonschema::validator_for(&registry_schema()).expect("the schema is one");
    let mut texts: Vec<String> = blocks(&page).into_iter().filter(|(says, _)| says == "yaml").map(|(_, text)| text).collect();
    assert!(texts.len() >= 8, "{}", texts.len());
    texts.push(example());
    for text in texts {
        let registry = compiled(&text);
        assert!(registry.warnings().is_empty(), "{text}\n{:?}", registry.warnings());
        let document = crate::source::parse(text.as_bytes()).expect("it was read before").to_json();
        let wrong: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{text}\n{wrong:?}");
    }
}

#[test]
fn every_key_is_told() {
    let page = file("docs/registry.md");
    let mut all = BTreeSet::new();
    keys(&registry_schema(), &mut all);
    all.extend(EVENT_KEYS.map(|key| format!("event.{key}")));
    assert!(all.len() > 60, "{all:?}");
    let missing: Vec<&String> = all.iter().filter(|key| !page.contains(&format!("`{key}`"))).collect();
    assert!(missing.is_empty(), "not told: {missing:?}");
}

#[test]
fn every_limit_is_as_it_is_told() {
    let page = file("docs/registry.md");
    for (what, value) in [
        ("bytes of the file", REGISTRY_BYTES_MAX as u64),
        ("handlers", REGISTRY_HANDLERS_MAX as u64),
        ("queues", REGISTRY_QUEUES_MAX as u64),
        ("webhooks", WEBHOOKS_MAX as u64),
        ("crons", CRONS_MAX as u64),
        ("handlers that take one event", EVENT_HANDLERS_MAX as u64),
        ("patterns of a handler", HANDLER_PATTERNS_MAX as u64),
        ("keys that a handler counts by", TASK_KEYS_MAX as u64),
        ("keys of a queue", TASK_KEYS_MAX as u64),
        ("events in a batch", WINDOW_EVENTS_MAX.into()),
        ("steps of evaluation of all expressions of a handler, for one event", ROUTE_COST_MAX),
        ("secrets of a webhook", WEBHOOK_SECRETS_MAX as u64),
        ("headers of a forward", FORWARD_HEADERS_MAX as u64),
        ("slots that are made up for", CRON_CATCH_UP_MAX.into()),
    ] {
        let digits = value.to_string();
        let groups: Vec<String> =
            digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group).into_owned()).collect();
        let row = format!("| {what} | {} |", groups.join(","));
        assert!(page.contains(&row), "`{row}` is not there");
    }
    assert_eq!((CRON_CATCH_UP_DEFAULT, CRON_WITHIN_MS_DEFAULT, CRON_LATE_MS), (100, 86_400_000, 60_000));
    assert_eq!(CRON_JITTER_MS_MAX, 3_600_000);
    assert_eq!((WEBHOOK_TOLERANCE_MS_DEFAULT, FORWARD_TIMEOUT_MS_DEFAULT), (300_000, 30_000));
}
