//! What queues come of a registry.

use super::*;

#[test]
fn a_handlers_limits_become_keys_of_its_queue() {
    for (text, queue, expected) in [
        ("handlers: {h: {on: e, task: t}}", "h", "{}"),
        ("handlers: {h: {on: e, task: t, concurrency: 5}}", "h", r#"{"keys":{"h":{"concurrency":5}}}"#),
        (
            "handlers: {h: {on: e, task: t, queue: q, concurrency: {total: 5, key: event.data.a, per_key: 2}, \
             rate: {count: 1, per: 1s, burst: 3, key: event.data.a}}}",
            "q",
            r#"{"keys":{"h":{"concurrency":5},"h.a":{"concurrency":2,"rate":{"count":1,"per_ms":1000,"burst":3}}}}"#,
        ),
        ("handlers: {h: {on: e, task: t, singleton: skip}}", "h", r#"{"keys":{"h@single":{"concurrency":1}}}"#),
        (
            "handlers: {h: {on: e, task: t, fairness: {key: event.data.a, step: 5s, weights: {acme: 3}}}}",
            "h",
            r#"{"fairness":{"key":"@fair","step_ms":5000,"weights":{"acme":3}}}"#,
        ),
        (
            "handlers: {h: {on: e, task: t, heartbeat: 5s, require_tag: ok, backlog: {max: 9, full: drop_oldest}}}",
            "h",
            r#"{"heartbeat_ms":5000,"backlog_max":9,"backlog_full":"drop_oldest","require_tag":"ok"}"#,
        ),
        (
            "queues: {q: {concurrency: 4, rate: 100/s burst 20, keys: {tenant: {key: event.data.a, concurrency: 2}}, \
             fairness: {key: tenant}, retry: {attempts: 9}, timeout: 1h, heartbeat: 5s, backlog: 10, require_tag: ok, \
             override_slots: 0, idempotency_window: 1h}}",
            "q",
            r#"{"concurrency":4,"rate":{"count":100,"per_ms":1000,"burst":20},"keys":{"tenant":{"concurrency":2}},
                "fairness":{"key":"tenant","step_ms":60000},"retry":{"attempts":9,"backoff_ms":1000,"backoff_max_ms":3600000,
                "jitter_percent":10},"heartbeat_ms":5000,"budget_ms":3600000,"backlog_max":10,"require_tag":"ok",
                "override_slots":0,"idempotency_window_ms":3600000}"#,
        ),
        (
            "handlers: {a: {on: e, task: t, queue: q, backlog: 5, concurrency: 1}, \
             b: {on: e, task: t, queue: q, backlog: 5, rate: 1/s}}",
            "q",
            r#"{"keys":{"a":{"concurrency":1},"b":{"rate":{"count":1,"per_ms":1000,"burst":1}}},"backlog_max":5}"#,
        ),
    ] {
        let queues = compiled(text).queues();
        let expected: QueueConfig = serde_json::from_str(expected).expect("a configuration");
        assert_eq!(*queues[queue], expected, "{text}");
        assert_eq!(queues.len(), 1, "{text}");
    }
}

#[test]
fn those_who_feed_a_queue_must_agree() {
    let text = "
queues:
  third: {heartbeat: 5s}
handlers:
  a: {on: e, task: t, queue: one, backlog: 5}
  b: {on: e, task: t, queue: one, backlog: 6}
  c: {on: e, task: t, queue: two, fairness: {key: event.data.a}}
  d: {on: e, task: t, queue: two, fairness: {key: event.data.b}}
  f: {on: e, task: t, queue: two, fairness: {key: event.data.b, step: 1s}}
  g: {on: e, task: t, queue: third, heartbeat: 6s}
";
    assert_eq!(
        told(text),
        "6:35: of queue `one`, handler `b` says another `backlog` than handler `a` does in line 5\n  \
         say it once, under queues.one\n\
         9:35: of queue `two`, handler `f` says another `fairness` than handler `c` does in line 7\n  \
         say it once, under queues.two\n\
         10:37: of queue `third`, handler `g` says another `heartbeat` than the queue itself does in line 3\n  \
         say it once, under queues.third"
    );
}
