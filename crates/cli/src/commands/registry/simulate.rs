//! What would become of an event, as a page: first those who take it, with keys, limits and order; then, in a line each, those who
//! do not, and why.

use crate::output::{Answer, Outcome, Paint, Screen};
use crate::plain::plain_text;
use crate::table::facts;
use crate::units::count_of;
use serde_json::Value;

pub fn traced(trace: &Value, screen: Screen) -> Outcome {
    Ok(Answer::new(trace, page(trace, screen)))
}

fn page(trace: &Value, screen: Screen) -> String {
    let handlers = list(&trace["handlers"]);
    let taken = handlers.iter().filter(|handler| handler["outcome"] == "taken").count();
    let head = match taken {
        0 if trace["unhandled"] == true => "no handler would take it: it would be kept, and that is all".to_owned(),
        0 => "no handler would make anything of it".to_owned(),
        one if one == handlers.len() => format!("{} would take it", count_of(one as u64, "handler")),
        some => format!("{some} of {} would take it", count_of(handlers.len() as u64, "handler")),
    };
    let mut parts = vec![format!("{} (family {}): {head}.", text(&trace["event"]), text(&trace["family"]))];
    for handler in handlers.iter().filter(|handler| handler["task"].is_object()) {
        let lines = task_lines(handler);
        let shadow = if handler["outcome"] == "shadow" { ", if it were live: it is in shadow" } else { "" };
        let title = format!("{} (line {}) takes it{shadow}", text(&handler["handler"]), handler["line"]);
        let page = facts(&screen, &lines).lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n");
        parts.push(format!("{}\n{page}", screen.paint(Paint::Bold, &title)));
    }
    let others: Vec<String> = handlers.iter().filter(|handler| !handler["task"].is_object()).map(other).collect();
    if !others.is_empty() {
        parts.push(format!("Not taken by\n{}", others.join("\n")));
    }
    parts.join("\n\n")
}

/// One that does not take it.
fn other(handler: &Value) -> String {
    let why = match handler["outcome"].as_str() {
        Some("condition_false") => format!("its condition does not hold: {}", text(&handler["condition"])),
        Some("failed") => format!("FAILED: {}", text(&handler["why"])),
        _ => text(&handler["why"]),
    };
    format!("  {} (line {}): {why}", text(&handler["handler"]), handler["line"])
}

fn task_lines(handler: &Value) -> Vec<(&'static str, String)> {
    let task = &handler["task"];
    let condition = handler["condition"].as_str().map_or_else(String::new, |condition| format!(" if {}", plain_text(condition)));
    let does = match task["workflow"].as_str() {
        Some(workflow) => format!("a run of workflow {workflow}"),
        None if task["type"] == "@forward" => "passed on over HTTP".to_owned(),
        None => format!("a task of type {}", text(&task["type"])),
    };
    let gets = if task["input"] == "event" { "the whole event" } else { "the event's data" };
    let critical = if task["critical"] == true { ", critical: past pauses" } else { "" };
    let mut lines = vec![
        ("on", format!("{}{condition}", text(&handler["pattern"]))),
        ("does", format!("{does}, with {gets}")),
        ("queue", [vec![text(&task["queue"])], texts(&task["queue_limits"])].concat().join("; ")),
        ("priority", format!("{}{critical}", text(&task["priority"]))),
        ("order", format!("{} (of two that may start, the earlier goes first)", text(&task["order"]))),
    ];
    let keys: Vec<String> = list(&task["keys"]).iter().map(key).collect();
    for (name, said) in [("keys", keys), ("rules", texts(&task["discipline"]))] {
        if !said.is_empty() {
            lines.push((name, said.join("\n")));
        }
    }
    let tags = texts(&task["tags"]);
    if !tags.is_empty() {
        lines.push(("tags", tags.join(", ")));
    }
    lines
}

/// `mail.tenant = acme: 2 at once (by event.data.tenant)`.
fn key(key: &Value) -> String {
    let by = key["from"].as_str().map_or_else(String::new, |from| format!(" (by {})", plain_text(from)));
    let limits = texts(&key["limits"]);
    let limits = if limits.is_empty() { String::new() } else { format!(": {}", limits.join(", ")) };
    match &key["value"] {
        Value::Null => format!("{}: not counted, there is no value{by}", text(&key["name"])),
        value => format!("{} = {}{limits}{by}", text(&key["name"]), text(value)),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn texts(value: &Value) -> Vec<String> {
    list(value).iter().map(text).collect()
}

fn text(value: &Value) -> String {
    plain_text(&value.as_str().map_or_else(|| value.to_string(), str::to_owned)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use flow::registry::{Arrival, Registry};
    use kernel::event::EventSpec;
    use kernel::names::EventName;
    use kernel::time::Time;

    #[test]
    fn who_takes_it_comes_first_with_keys_limits_and_order() {
        let registry = "
handlers:
  mail:
    on: user/*
    if: event.data.plan == 'pro'
    task: mail
    queue: out
    priority: high
    concurrency: {total: 5, key: event.data.tenant, per_key: 2}
    rate: {count: 1, per: 1m, key: event.data.region}
    dedup: 1h
    tags: [eu]
  welcome: {on: user/created, workflow: welcome, mode: shadow}
  free: {on: user/created, if: event.data.plan == 'free', task: t}
  other: {on: order/*, task: t}
  wrong: {on: user/*, task: t, if: event.data.age > 5}
queues:
  out: {concurrency: 9}
";
        let registry = Registry::compile(registry.as_bytes()).unwrap();
        let spec = EventSpec::named(EventName::parse("user/created").unwrap());
        let data = r#"{"plan":"pro","tenant":"acme","region":null}"#;
        let arrival = Arrival { spec: &spec, id: "event-1", received_at: Time::from_ms(3_600_000), data };
        let trace = serde_json::to_value(registry.trace(&arrival)).unwrap();
        let told = page(&trace, Screen { people: true, colour: false, ascii: false });
        let expected = "\
user/created (family user): 1 of 5 handlers would take it.

mail (line 3) takes it
  on        user/* if event.data.plan == 'pro'
  does      a task of type mail, with the event's data
  queue     out; 9 at once
  priority  high
  order     1970-01-01T00:50:00.000000Z (of two that may start, the earlier goes first)
  keys      mail = all: 5 at once
            mail.region: not counted, there is no value (by event.data.region)
            mail.tenant = acme: 2 at once (by event.data.tenant)
  rules     dropped if one with key event-1 came within 1h
  tags      eu

welcome (line 13) takes it, if it were live: it is in shadow
  on        user/created
  does      a run of workflow welcome, with the event's data
  queue     welcome
  priority  normal
  order     1970-01-01T01:00:00.000000Z (of two that may start, the earlier goes first)
  rules     tried once

Not taken by
  free (line 14): its condition does not hold: event.data.plan == 'free'
  other (line 15): the name matches none of order/*
  wrong (line 16): FAILED: ";
        assert!(told.starts_with(expected), "{told}");
    }

    #[test]
    fn one_that_nobody_takes_says_so() {
        let trace = serde_json::json!({"event": "a/b", "family": "a", "unhandled": true, "handlers": []});
        let told = page(&trace, Screen { people: true, colour: false, ascii: false });
        assert_eq!(told, "a/b (family a): no handler would take it: it would be kept, and that is all.");
    }
}
