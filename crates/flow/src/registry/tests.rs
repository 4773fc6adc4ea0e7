//! The registry seen through its front door: what is told of a text, what queues come of it, what becomes of an event.

mod docs;
mod problems;
mod queues;
mod routes;
mod soup;

use super::*;
use kernel::event::EventSpec;
use kernel::names::EventName;
use kernel::time::Time;

pub fn compiled(text: &str) -> Registry {
    Registry::compile(text.as_bytes()).unwrap_or_else(|problems| {
        let shown: Vec<String> = problems.iter().map(|problem| problem.shown("registry.yaml")).collect();
        panic!("{}\n{text}", shown.join("\n"))
    })
}

/// Every problem of a text, as it is shown.
pub fn told(text: &str) -> String {
    match Registry::compile(text.as_bytes()) {
        Ok(_) => "no problem".to_owned(),
        Err(problems) => problems.iter().map(|problem| problem.to_string()).collect::<Vec<_>>().join("\n"),
    }
}

pub fn named(name: &str) -> EventSpec {
    EventSpec::named(EventName::parse(name).expect(name))
}

pub fn arrival<'a>(spec: &'a EventSpec, data: &'a str) -> Arrival<'a> {
    Arrival { spec, id: "event-1", received_at: Time::from_ms(1_000), data }
}

#[test]
fn a_registry_is_shared_between_threads() {
    let registry = Arc::new(compiled("handlers: {h: {on: e, if: event.data.a.matches('^x'), task: t}}"));
    let routing = (0..4).map(|_| {
        let registry = registry.clone();
        std::thread::spawn(move || registry.route(&arrival(&named("e"), r#"{"a":"xy"}"#)).len())
    });
    let found: Vec<usize> = routing.map(|thread| thread.join().expect("it does not panic")).collect();
    assert_eq!(found, [1; 4]);
}
