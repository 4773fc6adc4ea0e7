//! Events and what their handlers make of them.

use super::*;
use kernel::handler::{Gather, Handling};
use kernel::names::{EventKey, KeyValue};
use kernel::priority::Priority;

/// What a handler makes of an event, in a line.
fn shown(handling: &Handling) -> String {
    let mut words = vec![format!("{}@{} {}", handling.kind, handling.queue, handling.priority.head_start_s())];
    words.extend(handling.workflow.as_ref().map(|workflow| format!("runs {workflow}")));
    words.extend(handling.keys.iter().map(|(name, value)| format!("{name}={value}")));
    words.extend(handling.whole.then(|| "whole".to_owned()));
    words.extend(handling.critical.then(|| "critical".to_owned()));
    words.extend((handling.delay_ms > 0).then(|| format!("delay {}", handling.delay_ms)));
    words.extend(handling.start_within_ms.map(|ms| format!("within {ms}")));
    words.extend(handling.budget_ms.map(|ms| format!("budget {ms}")));
    words.extend(handling.retry.map(|retry| format!("{} attempts", retry.attempts)));
    words.extend(handling.tags.iter().map(|tag| format!("#{tag}")));
    words.extend(handling.dedup.as_ref().map(|dedup| format!("dedup {} {}", dedup.key, dedup.window_ms)));
    words.extend(handling.drop_rate.as_ref().map(|drop| format!("drop {} {}/{}", drop.key, drop.rate.count, drop.rate.per_ms)));
    let next = |replace: bool| if replace { "replace" } else { "skip" };
    words.extend(handling.singleton.as_ref().map(|one| format!("one {} {}", one.key, next(one.replace))));
    words.extend(handling.gather.as_ref().map(|gather| match gather {
        Gather::Debounce { key, period_ms, max_wait_ms } => format!("debounce {key} {period_ms} {max_wait_ms:?}"),
        Gather::Batch { key, size, timeout_ms } => format!("batch {key} {size} {timeout_ms}"),
    }));
    words.join(" ")
}

/// What becomes of an event at each handler.
pub fn routed(registry: &Registry, spec: &EventSpec, data: &str) -> Vec<String> {
    let mut routed = registry.route(&arrival(spec, data));
    routed.retain(|routed| !routed.shadow);
    let line = |routed: kernel::handler::Routed| match routed.handling {
        Ok(handling) => format!("{}: {}", routed.handler, shown(&handling)),
        Err(why) => format!("{}! {why}", routed.handler),
    };
    routed.into_iter().map(line).collect()
}

#[test]
fn an_event_goes_to_all_whose_patterns_match() {
    let text = "
handlers:
  all: {on: '*', task: t}
  github: {on: github/*, task: t}
  pulls: {on: [github/pull_request.*, github/pull_request], task: t}
  opened: {on: github/pull_request.opened, task: t}
  twice: {on: [github/push, github/*], task: t}
  off: {on: '*', task: t, mode: off}
  shadow: {on: '*', task: t, mode: shadow}
";
    let registry = compiled(text);
    for (name, expected) in [
        ("deploy", "all"),
        ("github", "all"),
        ("github/push", "all github twice"),
        ("github/pull_request", "all github pulls twice"),
        ("github/pull_request.opened", "all github pulls opened twice"),
        ("github/pull_request.closed", "all github pulls twice"),
        ("github/pull_request.opened.again", "all github pulls twice"),
        ("githubs/push", "all"),
    ] {
        let found = registry.route(&arrival(&named(name), "{}"));
        let (shadow, found): (Vec<_>, Vec<_>) = found.iter().partition(|routed| routed.shadow);
        let found: Vec<&str> = found.iter().map(|routed| routed.handler.as_str()).collect();
        assert_eq!(found.join(" "), expected, "{name}");
        assert_eq!(shadow.iter().map(|routed| routed.handler.as_str()).collect::<Vec<_>>(), ["shadow"], "{name}");
    }
    assert!(compiled("handlers: {a: {on: x, task: t}}").route(&arrival(&named("y"), "{}")).is_empty());
}

#[test]
fn every_expression_is_worked_out() {
    for (fields, data, expected) in [
        ("task: t", "{}", "t@h 0"),
        ("workflow: w, input: event", "{}", "@workflow@h 0 runs w whole 1 attempts"),
        ("forward: 'https://x.test/a'", "{}", "@forward@h 0 whole"),
        ("task: t, queue: q, priority: high", "{}", "t@q 600"),
        ("task: t, priority: -30", "{}", "t@h -30"),
        ("task: t, priority: \"event.data.urgent ? 'critical' : 'normal'\"", r#"{"urgent":true}"#, "t@h 3600"),
        ("task: t, priority: event.data.head * 2", r#"{"head":21}"#, "t@h 42"),
        ("task: t, critical: true", "{}", "t@h 3600 critical"),
        ("task: t, critical: true, priority: normal", "{}", "t@h 0 critical"),
        ("task: t, concurrency: 5", "{}", "t@h 0 h=all"),
        ("task: t, rate: 10/s, concurrency: {total: 3}", "{}", "t@h 0 h=all"),
        ("task: t, concurrency: {key: event.data.tenant, per_key: 2}", r#"{"tenant":"acme"}"#, "t@h 0 h.tenant=acme"),
        ("task: t, concurrency: {total: 9, key: event.data.tenant, per_key: 2}", r#"{"tenant":7}"#, "t@h 0 h=all h.tenant=7"),
        (
            "task: t, concurrency: [{key: event.data.a, per_key: 1}, {key: event.data.b.a, per_key: 2}], \
             rate: {count: 1, per: 1s, key: 'event.data.a + event.name'}",
            r#"{"a":"x","b":{"a":true}}"#,
            "t@h 0 h.3=xe h.a=x h.a.2=true",
        ),
        (
            "task: t, concurrency: {key: event.data.a, per_key: 1}, rate: {count: 1, per: 1s, key: event.data.a}",
            r#"{"a":"x"}"#,
            "t@h 0 h.a=x",
        ),
        ("task: t, concurrency: {key: event.data.a, per_key: 1}", r#"{"a":null}"#, "t@h 0"),
        ("task: t, concurrency: {key: event.source, per_key: 1}", "{}", "t@h 0"),
        ("task: t, drop_rate: 5/m", "{}", "t@h 0 drop all 5/60000"),
        ("task: t, drop_rate: {count: 5, per: 1m, key: event.name}", "{}", "t@h 0 drop e 5/60000"),
        ("task: t, debounce: 10s", "{}", "t@h 0 debounce all 10000 None"),
        (
            "task: t, debounce: {period: 1s, max_wait: 1m, key: event.data.a}",
            r#"{"a":1.5}"#,
            "t@h 0 debounce 1.5 1000 Some(60000)",
        ),
        ("task: t, batch: {size: 10, timeout: 5s}", "{}", "t@h 0 batch all 10 5000"),
        ("task: t, batch: {size: 10, timeout: 5s, key: event.data.a}", r#"{"a":""}"#, "t@h 0"),
        ("task: t, singleton: skip", "{}", "t@h 0 h@single=all one all skip"),
        (
            "task: t, concurrency: 1, singleton: {next: replace, key: event.data.a}",
            r#"{"a":"x"}"#,
            "t@h 0 h=all h@single=x one x replace",
        ),
        ("task: t, dedup: 1h", "{}", "t@h 0 dedup event-1 3600000"),
        (
            "task: t, dedup: {window: 1s, key: event.data.a}",
            r#"{"a":12345678901234567890123}"#,
            "t@h 0 dedup 12345678901234567890123 1000",
        ),
        ("task: t, fairness: {key: event.data.a}", r#"{"a":"x"}"#, "t@h 0 @fair=x"),
        (
            "task: t, delay: 1s, start_within: 1m, timeout: 2m, retry: {attempts: 9}, tags: [a, b]",
            "{}",
            "t@h 0 delay 1000 within 60000 budget 120000 9 attempts #a #b",
        ),
    ] {
        let registry = compiled(&format!("handlers: {{h: {{on: e, {fields}}}}}"));
        assert_eq!(routed(&registry, &named("e"), data), [format!("h: {expected}")], "{fields}");
    }
}

#[test]
fn conditions_choose_and_see_all_of_an_event() {
    let mut spec = named("github/push.main");
    spec.key = Some(EventKey::parse("k-1").expect("an id"));
    spec.source = Some("github".into());
    spec.ts = Some(Time::from_ms(2_000));
    spec.priority = Some(Priority::HIGH);
    spec.dedup_key = Some(KeyValue::parse("d").expect("a value"));
    spec.correlation_id = Some("c".into());
    for (condition, holds) in [
        ("event.name == 'github/push.main' && event.family == 'github/push'", true),
        ("event.id == 'k-1' && event.source == 'github'", true),
        ("event.ts == '1970-01-01T00:00:02.000000Z' && event.received_at < event.ts", true),
        ("event.priority == 600 && event.dedup_key == 'd'", true),
        ("event.correlation_id == 'c' && event.causation_id == ''", true),
        ("event.data.ref == 'main'", true),
        ("event.data.ref != 'main'", false),
        ("has(event.data.nothing)", false),
        ("size(event) == 11", true),
        ("event['data'].ref == 'main'", true),
        ("true", true),
    ] {
        let registry = compiled(&format!("handlers:\n  h:\n    on: github/*\n    if: {condition}\n    task: t\n"));
        let found = routed(&registry, &spec, r#"{"ref":"main"}"#);
        let expected: &[&str] = if holds { &["h: t@h 600"] } else { &[] };
        assert_eq!(found, expected, "{condition}");
    }
}

#[test]
fn an_expression_that_fails_fails_its_own_handler_only() {
    let text = "
handlers:
  first: {on: e, if: event.data.amount > 5, task: t}
  second: {on: e, task: t, concurrency: {key: event.data.tenant.id, per_key: 1}}
  third: {on: e, task: t, priority: event.data.tenant}
  fourth: {on: e, task: t}
  fifth: {on: e, task: t, dedup: {window: 1h, key: 'range(9999).map(x, x * x).filter(x, x > 3)'}}
  sixth: {on: e, task: t, dedup: {window: 1h, key: event.data}}
";
    let registry = compiled(text);
    let found = routed(&registry, &named("e"), r#"{"tenant":"acme"}"#);
    assert_eq!(
        found,
        [
            "first! event.data.amount > 5: no key `amount` in event.data, where event.data = {\"tenant\":\"acme\"}",
            "second! event.data.tenant.id: no key `id`: event.data.tenant is string, where event.data.tenant = \"acme\"",
            "third! event.data.tenant: critical, high, normal, background or a number of seconds is expected, not \"acme\"",
            "fourth: t@fourth 0",
            "fifth! range(9999).map(x, x * x).filter(x, x > 3): it costs more than 10000 steps",
            "sixth! event.data: a key is a text, a number or a boolean; this gives a list or a map",
        ]
    );
    let found = routed(&registry, &named("e"), "{");
    assert_eq!(found[0], "first! event.data.amount > 5: the event's data is not JSON");
    assert_eq!(found[3], "fourth: t@fourth 0");
    let long = format!(r#"{{"tenant":{{"id":"{}"}},"amount":1}}"#, "x".repeat(300));
    let found = routed(&registry, &named("e"), &long);
    assert!(found[0].starts_with("second! event.data.tenant.id: key value `xxx"), "{}", found[0]);
}

#[test]
fn an_events_own_dedup_key_comes_before_its_id() {
    let registry = compiled("handlers: {h: {on: e, task: t, dedup: 1h}}");
    let mut spec = named("e");
    spec.key = Some(EventKey::parse("k-1").expect("an id"));
    assert_eq!(routed(&registry, &spec, "{}"), ["h: t@h 0 dedup k-1 3600000"]);
    spec.dedup_key = Some(KeyValue::parse("d").expect("a value"));
    assert_eq!(routed(&registry, &spec, "{}"), ["h: t@h 0 dedup d 3600000"]);
}

#[test]
fn a_queues_keys_are_those_of_all_who_feed_it() {
    let text = "
queues:
  mail:
    keys:
      tenant: {key: event.data.tenant, concurrency: 2}
      region: {concurrency: 9}
    fairness: {key: tenant}
  fair:
    fairness: {key: event.data.tenant}
handlers:
  welcome: {on: e, task: t, queue: mail, concurrency: 3}
  invoice: {on: e, task: t, queue: mail, rate: 1/s}
  alike: {on: e, task: t, queue: fair}
  apart: {on: e, task: t, queue: fair, fairness: {key: event.data.region}}
";
    let found = routed(&compiled(text), &named("e"), r#"{"tenant":"acme","region":"eu"}"#);
    assert_eq!(
        found,
        [
            "welcome: t@mail 0 tenant=acme welcome=all",
            "invoice: t@mail 0 invoice=all tenant=acme",
            "alike: t@fair 0 @fair=acme",
            "apart: t@fair 0 @fair=eu"
        ]
    );
}

#[test]
fn what_a_cron_fires_overlaps_as_it_says() {
    let text = "
crons:
  apart: {schedule: '@daily', overlap: skip}
  anew: {schedule: '@daily', overlap: replace, critical: true}
  freely: {schedule: '@daily'}
handlers:
  h: {on: cron/*, task: t, queue: q}
  own: {on: cron/apart, task: t, queue: q, singleton: {next: replace, key: event.name}}
  free: {on: cron/freely, task: t, queue: f}
";
    let registry = compiled(text);
    let fired = |name| routed(&registry, &registry.cron(name).expect(name).spec(Time::from_ms(0)), "{}");
    assert_eq!(
        fired("apart"),
        ["h: t@q 0 h@single=cron:apart one cron:apart skip", "own: t@q 0 own@single=cron/apart one cron/apart replace"]
    );
    assert_eq!(fired("anew"), ["h: t@q 3600 h@single=cron:anew critical one cron:anew replace"]);
    assert_eq!(fired("freely"), ["h: t@q 0", "free: t@f 0"]);
    // The same event from somebody else is no cron's.
    assert_eq!(routed(&registry, &named("cron/apart"), "{}")[0], "h: t@q 0");
    let limits = |queue: &str| registry.queues()[queue].keys.keys().map(|key| key.to_string()).collect::<Vec<_>>();
    assert_eq!((limits("q"), limits("f")), (vec!["h@single".to_owned(), "own@single".to_owned()], vec![]));
}
