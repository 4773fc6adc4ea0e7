//! What it costs to route an event: `cargo run --release -p flow --example route_cost`.

use flow::registry::{Arrival, Registry};
use kernel::event::EventSpec;
use kernel::names::EventName;
use kernel::time::Time;
use std::hint::black_box;
use std::time::Instant;

const PLAIN: &str = "
handlers:
  a: {on: user/created, task: t}
  b: {on: user/*, task: t}
  c: {on: '*', task: t}
";

const NAMED: &str = "
handlers:
  a: {on: user/created, task: t, if: event.source == ''}
  b: {on: user/*, task: t, dedup: 1h}
  c: {on: '*', task: t, concurrency: 5}
";

const DISCIPLINED: &str = "
handlers:
  a: {on: user/created, task: t, if: event.data.plan == 'pro', concurrency: {total: 9, key: event.data.tenant, per_key: 2}}
  b: {on: user/*, task: t, rate: {count: 5, per: 1s, key: event.data.tenant}, fairness: {key: event.data.tenant}}
  c: {on: '*', task: t, debounce: {period: 5s, key: event.data.user}, priority: \"event.data.urgent ? 'high' : 'normal'\"}
";

fn main() {
    let small = r#"{"plan":"pro","tenant":"acme","user":"u-17","urgent":false}"#.to_owned();
    let rows: Vec<String> = (0..20).map(|row| format!(r#"{{"sku":"sku-{row}","count":{row},"price":12.5}}"#)).collect();
    let large = format!(r#"{{"plan":"pro","tenant":"acme","user":"u-17","urgent":false,"rows":[{}]}}"#, rows.join(","));
    // Handlers that are not concerned.
    let others: String = (0..900).map(|at| format!("  other{at}: {{on: other{at}/*, if: event.data.x, task: t}}\n")).collect();
    println!("{:<14} {:>10} {:>12} {:>14}", "three handlers", "bytes", "ns an event", "events a second");
    for (name, text) in [("plain", PLAIN), ("by name", NAMED), ("disciplined", DISCIPLINED)] {
        let registry = Registry::compile(format!("{text}{others}").as_bytes()).expect("it compiles");
        for data in [&small, &large] {
            let spec = EventSpec::named(EventName::parse("user/created").expect("a name"));
            let arrival = Arrival { spec: &spec, id: "event-7k3", received_at: Time::from_ms(1), data };
            assert_eq!(registry.route(&arrival).len(), 3);
            let (count, start) = (200_000, Instant::now());
            for _ in 0..count {
                black_box(registry.route(black_box(&arrival)));
            }
            let ns = start.elapsed().as_nanos() as f64 / f64::from(count);
            println!("{name:<14} {:>10} {ns:>12.0} {:>14.0}", data.len(), 1e9 / ns);
        }
    }
}
