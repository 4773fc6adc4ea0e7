//! Texts that are nearly right: the example with parts removed, doubled, exchanged. No text makes the compiler panic, nor an event
//! the routing; what compiles fits the schema. `FLOW_SEEDS` says how many are tried.

use super::*;
use crate::tests::generated::Chance;
use crate::tests::soup::mutated;

const SCRAPS: [&str; 36] = [
    "on",
    "if",
    "task: t",
    "workflow",
    "forward",
    "concurrency",
    "rate",
    "10/s",
    "{key: event.name, per_key: 2}",
    "debounce",
    "5s",
    "batch",
    "{}",
    "[]",
    "null",
    "-1",
    "99999999999",
    "\"",
    "'",
    ": ",
    "\n",
    "  ",
    "ü",
    "${",
    "${env:X}",
    "event.data.x",
    "mode: off",
    "*",
    "github/*",
    "@daily",
    "0 0 31 2 *",
    "Europe/Paris",
    "secret",
    "provider: hmac",
    "true",
    "1.5",
];

#[test]
fn nothing_that_is_nearly_right_makes_it_panic() {
    let example = docs::example();
    let validator = jsonschema::validator_for(&registry_schema()).expect("the schema is one");
    let spec = named("github/pull_request.opened");
    let mut fine = 0;
    let seeds = std::env::var("FLOW_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(3_000);
    let sections: Vec<&str> = example.split_inclusive("\n\n").collect();
    for seed in 0..seeds {
        let mut chance = Chance::new(seed);
        let text = if chance.one_in(2) { example.clone() } else { format!("handlers:\n{}", sections[1 + chance.below(6)]) };
        let text = mutated(&text, &SCRAPS, &mut chance);
        match Registry::compile(text.as_bytes()) {
            Err(problems) => {
                assert!(!problems.is_empty() && problems.iter().all(|problem| problem.line > 0), "{problems:?}\n{text}");
            }
            Ok(registry) => {
                fine += 1;
                let document = crate::source::parse(text.as_bytes()).expect("it was read before").to_json();
                let wrong: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
                assert!(wrong.is_empty(), "compiles, but does not fit the schema: {wrong:?}\n{text}");
                for data in ["{}", "[1]", "", r#"{"pull_request":{"draft":false,"url":"u"},"tenant":"t"}"#] {
                    let routed = registry.route(&arrival(&spec, data));
                    let traced = registry.trace(&arrival(&spec, data));
                    let taken = traced.handlers.iter().filter(|found| matches!(found.outcome, Outcome::Taken | Outcome::Failed));
                    let live = taken.filter(|found| {
                        registry.mode(&HandlerName::parse(&found.handler).expect("its name")) == Some(Mode::Live)
                    });
                    assert_eq!(routed.iter().filter(|routed| !routed.shadow).count(), live.count(), "{text}");
                }
                assert!(difference(&registry, &registry).is_empty());
                for config in registry.queues().values() {
                    config.check().expect("it was checked");
                }
            }
        }
    }
    println!("{fine} of {seeds} mutated examples still compile");
    assert!(fine > 100, "{fine}");
}
