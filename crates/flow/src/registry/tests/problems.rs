//! What is told of a registry that is wrong.

use super::*;

fn check(cases: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (text, expected) in cases {
        let found = told(text);
        if found != *expected {
            wrong.push(format!("for:\n{text}\nexpected:\n{expected}\ntold:\n{found}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A table of handlers that react to `e`, and what is told of each; the handler is called `a` and begins in line 2.
fn check_handlers(cases: &[(&str, &str)]) {
    let texts: Vec<String> = cases.iter().map(|(fields, _)| format!("handlers:\n  a: {{on: e, {fields}}}")).collect();
    let cases: Vec<(&str, &str)> = texts.iter().map(String::as_str).zip(cases.iter().map(|(_, told)| *told)).collect();
    check(&cases);
}

#[test]
fn what_is_wrong_with_a_registry_is_told_with_its_place() {
    check(&[
        ("handlers: []", "1:11: `handlers` is a map from names to what they stand for, not a list"),
        ("handler: {}", "1:1: a registry has no field `handler`\n  did you mean `handlers`?"),
        ("handlers:\n  a b: {on: e, task: t}", "2:3: handler `a b` may hold only letters a-z and A-Z, digits, _ and -"),
        ("handlers:\n  a: {task: t}", "2:6: handler `a` needs `on`"),
        (
            "handlers:\n  a: {on: 'e*', task: t}",
            "2:11: pattern `e*` may hold one *, at its end, alone or after / or .\n  for example `e`",
        ),
        ("handlers:\n  a: {on: [], task: t}", "2:11: at least one pattern is expected, not an empty list"),
        (
            "queues:\n  q: {keys: {a.b: {concurrency: 1}}}",
            "2:14: key `a.b` may hold neither . nor @\n  choose a plain word such as tenant",
        ),
        (
            "queues:\n  q: {keys: {a: {concurrency: 1}}}\nhandlers:\n  a: {on: e, task: t, queue: q}",
            "4:3: handler `a` is called as a key of its queue `q`: rename one of them",
        ),
    ]);
}

#[test]
fn what_is_wrong_with_a_handler_is_told_with_its_place() {
    check_handlers(&[
        ("queue: q", "2:6: handler `a` does nothing\n  it needs one of `workflow`, `task` and `forward`"),
        (
            "task: t, workflow: w",
            "2:14: `workflow` and `task`: a handler does one of them\n  write a second handler for the other: both get the event",
        ),
        (
            "task: t, priority: \"event.data.vip ? 'high' : 'low'\"",
            "2:60: `low` is no priority\n  give 'critical', 'high', 'normal', 'background' or a number of seconds",
        ),
        (
            "task: t, priority: \"'low'\"",
            "2:34: `low` is no priority\n  give 'critical', 'high', 'normal', 'background' or a number of seconds",
        ),
        (
            "task: t, priority: \"event.data.vip ? true : 1.5\"",
            "2:51: a priority must stand here; this gives true or false\n  give 'critical', 'high', 'normal', 'background' or a number of \
             seconds",
        ),
        ("task: '@forward'", "2:20: the type `@forward` is the engine's own: choose one that does not begin with @"),
        ("task: t, concurency: 5", "2:23: handler `a` has no field `concurency`\n  did you mean `concurrency`?"),
        (
            "task: t, if: event.nmae == 'x'",
            "2:32: `event` has `name`, `id`, `family`, `source`, `ts`, `received_at`, `priority`, `dedup_key`, `correlation_id`, \
             `causation_id` and `data`, but no `nmae`\n  did you mean `name`?",
        ),
        ("task: t, if: input.x", "2:27: `input` is not known here\n  known are `event`"),
        (
            "task: t, if: 'size(event.data)'",
            "2:28: a condition must be true or false; this gives a number\n  compare it with something",
        ),
        ("task: t, priority: hihg", "2:33: `hihg` is none of critical, high, normal, background\n  did you mean `high`?"),
        ("task: t, input: all", "2:30: `all` is none of data, event"),
        ("forward: 'https://x.test', input: data", "2:41: `forward` passes the whole event on: leave `input` out"),
        ("task: t, mode: shadwo", "2:29: `shadwo` is none of live, shadow, off\n  did you mean `shadow`?"),
    ]);
}

#[test]
fn what_is_wrong_with_its_discipline_is_told_with_its_place() {
    check_handlers(&[
        ("task: t, concurrency: 0", "2:36: an integer from 1 to 1000000 is expected, not `0`"),
        ("task: t, concurrency: {key: event.name}", "2:37: `key` needs `per_key`: how many at once of each value"),
        ("task: t, concurrency: {per_key: 1}", "2:37: `per_key` needs `key`: what is counted by"),
        ("task: t, concurrency: {}", "2:36: `concurrency` needs `total`, or `key` and `per_key`"),
        ("task: t, concurrency: [1, 2]", "2:40: the concurrency is stated twice: leave one of them out"),
        ("task: t, rate: 10", "2:29: `10` is a number without a time\n  write `10/s` or `10/m`"),
        ("task: t, rate: ten/s", "2:29: a rate such as 10/s, 100/5m or 100/1h burst 5 is expected, not `ten/s`"),
        ("task: t, rate: {count: 5}", "2:29: `rate` needs `per`"),
        ("task: t, rate: 1/s burst 0", "2:29: rate.burst must lie between 1 and 1000000"),
        (
            "task: t, debounce: 1s, batch: {size: 2, timeout: 1s}",
            "2:37: `debounce` keeps the newest event and `batch` all of them: leave one out",
        ),
        ("task: t, debounce: {period: 5s, max_wait: 1s}", "2:56: `max_wait` is shorter than `period`"),
        ("task: t, debounce: 5", "2:33: `debounce` is a map, not an integer"),
        (
            "task: t, batch: {size: 1, timeout: 60d}",
            "2:37: an integer from 2 to 1000 is expected, not `1`\n2:49: a window is open for at most 30d",
        ),
        ("task: t, singleton: once", "2:34: `once` is none of skip, replace"),
        ("task: t, heartbeat: 1ms", "2:34: a heartbeat lies between 100ms and 60m"),
        ("task: t, backlog: {max: 1, full: drop}", "2:47: `drop` is none of refuse, drop_oldest"),
        ("task: t, retry: {attempts: 0}", "2:41: an integer from 1 to 1000 is expected, not `0`"),
        ("task: t, delay: 5 min", "2:30: a duration such as 500ms, 30s, 5m, 2h or 1d is expected, not `5 min`\n  write `5m`"),
        ("task: t, bounds: {priority: [high, normal]}", "2:42: the least comes first, then the most"),
        (
            "task: t, priority: high, bounds: {priority: [background, normal]}",
            "2:3: the priority of handler `a` lies outside its own `bounds.priority`",
        ),
        ("task: t, bounds: {concurrency: [1, 2]}", "2:3: handler `a` has `bounds.concurrency` and no `concurrency` to be turned"),
    ]);
}

#[test]
fn secrets_do_not_stand_in_the_text() {
    check_handlers(&[
        ("forward: ftp://x", "2:23: a URL such as https://example.com/hooks is expected, not `ftp://x`"),
        (
            "forward: 'https://ann:pw@x.test/'",
            "2:23: a URL names its host after //, and no user or password before it\n  \
             write what proves us as a header: {Authorization: \"Bearer ${env:NAME}\"}",
        ),
        (
            "forward: {url: 'https://x.test', headers: {Authorization: Bearer hunter2}}",
            "2:72: what header `Authorization` holds is a secret, and does not stand in the registry\n  \
             write ${env:NAME} and put it in that variable of the environment",
        ),
        (
            "forward: {url: 'https://x.test/${TOKEN}'}",
            "2:29: `${` stands for a variable of the environment here, such as ${env:TOKEN}",
        ),
        ("forward: {url: 'https://x.test', method: GET}", "2:55: `GET` is none of POST, PUT, PATCH"),
    ]);
}

#[test]
fn what_is_wrong_with_a_cron_is_told_with_its_place() {
    check(&[
        ("crons:\n  c: {zone: UTC}", "2:6: cron `c` needs `schedule`"),
        ("crons:\n  c: {schedule: '61 * * * *'}", "2:17: `61` in the minutes: a number from 0 to 59 is expected"),
        (
            "crons:\n  c: {schedule: '@daily', zone: Europe/Berln}",
            "2:33: there is no time zone `Europe/Berln`\n  did you mean `Europe/Berlin`?",
        ),
        ("crons:\n  c: {schedule: '@daily', jitter: 2h}", "2:35: jitter is at most 1h"),
        ("crons:\n  c: {schedule: '@daily', overlap: both}", "2:36: `both` is none of queue, skip, replace"),
        ("crons:\n  c: {schedule: '@daily', catch_up: {slots: one, max: 5}}", "2:50: `max` bounds `slots: all`: leave it out"),
        (
            "crons:\n  c: {schedule: '@daily', catch_up: {slots: all, max: 5000}}",
            "2:55: an integer from 1 to 1000 is expected, not `5000`",
        ),
        (
            "crons:\n  c: {schedule: '@daily', event: 'a//b'}",
            "2:34: event name `a//b` has an empty part before, between or after / and .\n  for example `a-b`",
        ),
        ("crons:\n  c d: {schedule: '@daily'}", "2:3: cron `c d` may hold only letters a-z and A-Z, digits, _ and -"),
    ]);
    let registry = compiled("handlers: {h: {on: cron/a, task: t}}\ncrons:\n  a: {schedule: '@daily'}\n  b: {schedule: '@daily'}");
    let told: Vec<String> = registry.warnings().iter().map(|warning| warning.to_string()).collect();
    assert_eq!(told, ["4:3: cron `b` emits `cron/b`, and no handler takes that"]);
}

#[test]
fn several_problems_are_told_at_once() {
    check(&[(
        "handlers:\n  a: {on: e, task: t, rate: x}\n  b: {on: e}\nqueues:\n  q: {concurrency: 0}\n\
         webhooks:\n  w: {provider: gihub}\n",
        "2:29: a rate such as 10/s, 100/5m or 100/1h burst 5 is expected, not `x`\n\
         3:6: handler `b` does nothing\n  it needs one of `workflow`, `task` and `forward`\n\
         5:20: an integer from 1 to 1000000 is expected, not `0`\n\
         7:17: `gihub` is none of github, stripe, hmac, secret\n  did you mean `github`?",
    )]);
}

#[test]
fn too_many_handlers_of_one_event_are_refused() {
    let handlers = |count: usize| -> String {
        let lines = (0..count).map(|at| format!("  h{at}: {{on: e/*, task: t}}\n"));
        format!("handlers:\n{}", lines.collect::<String>())
    };
    assert_eq!(told(&handlers(64)), "no problem");
    assert_eq!(told(&handlers(65)), "1:1: 65 handlers take the same event; at most 64 may");
    let text = format!("handlers:\n{}", " ".repeat(kernel::limits::REGISTRY_BYTES_MAX));
    assert_eq!(told(&text), "1:1: the file has 1048586 bytes; at most 1048576 are read");
}
