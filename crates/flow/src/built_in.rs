//! What a definition gives to the server's own workers, held against what these take: `http` and `process` nodes, wherever it is
//! written out. What an expression makes is seen by the worker alone, and so is what nodes of all other types are given. It is
//! looked at when a text comes in, and not when one that is kept is read again.

use crate::define::fields::Fields;
use crate::define::scalars::{duration, int, wrong};
use crate::problem::{Problem, Problems, did_you_mean};
use crate::source::{Data, Entry, Value};

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const RESPONSES: [&str; 4] = ["auto", "json", "text", "blob"];
const REDIRECTS_MAX: i64 = 20;

/// All nodes of one definition that compiles.
pub fn check(document: &Value, problems: &mut Problems) {
    match document.get("nodes").map(|nodes| &nodes.data) {
        Some(Data::Map(entries)) => entries.iter().for_each(|entry| node(&entry.value, "with", problems)),
        Some(Data::List(values)) => values.iter().for_each(|value| node(value, "config", problems)),
        _ => {}
    }
}

fn node(value: &Value, given: &str, problems: &mut Problems) {
    if let Some(body) = value.get("do") {
        check(body, problems);
    }
    let Some(Data::Text(kind)) = value.get("type").map(|kind| &kind.data) else { return };
    // What is no map is made by an expression.
    let Some(with) = value.get(given).filter(|with| matches!(with.data, Data::Map(_))) else { return };
    match &*kind.text {
        "http" => http(with, problems),
        "process" => process(with, problems),
        _ => {}
    }
}

/// The first that is wrong with a request that is written out as JSON, such as a preset.
pub fn request(text: &str) -> Option<Problem> {
    let mut problems = Problems::default();
    match crate::source::parse(text.as_bytes()) {
        Ok(with) => http(&with, &mut problems),
        Err(problem) => return Some(problem),
    }
    problems.into_sorted().into_iter().next()
}

fn http(with: &Value, problems: &mut Problems) {
    let Some(mut fields) = Fields::of(with, "what an `http` node is given", problems) else { return };
    if let Some(url) = fields.require("url", problems).and_then(literal)
        && !matches!(&url.data, Data::Text(text) if is_url(&text.text))
    {
        wrong(url, "a URL such as https://example.com/hooks", problems);
    }
    if let Some(method) = fields.take("method").and_then(literal) {
        one_of(method, &METHODS, true, problems);
    }
    for name in ["headers", "query"] {
        if let Some(map) = fields.take(name).and_then(literal).filter(|value| !matches!(value.data, Data::Map(_))) {
            wrong(map, "a map of names and their values", problems);
        }
    }
    fields.take("body");
    if let Some(expect) = fields.take("expect").and_then(literal) {
        statuses(expect, problems);
    }
    if let Some(timeout) = fields.take("timeout").and_then(literal) {
        duration(timeout, problems);
    }
    if let Some(redirects) = fields.take("redirects").and_then(literal) {
        int(redirects, 0, REDIRECTS_MAX, problems);
    }
    if let Some(response) = fields.take("response").and_then(literal) {
        one_of(response, &RESPONSES, false, problems);
    }
    if let Some(key) = fields.take("idempotency_key").and_then(literal).filter(|value| !matches!(value.data, Data::Bool(_))) {
        wrong(key, "true or false", problems);
    }
    fields.finish(problems);
}

fn process(with: &Value, problems: &mut Problems) {
    let Some(mut fields) = Fields::of(with, "what a `process` node is given", problems) else { return };
    if let Some(command) = fields.require("command", problems).and_then(literal)
        && !matches!(&command.data, Data::Text(text) if !text.text.is_empty())
    {
        wrong(command, "the name of a command that the server is set up with", problems);
    }
    fields.take("input");
    fields.finish(problems);
}

/// Unless an expression stands in it.
fn literal(entry: &Entry) -> Option<&Value> {
    let is_made = matches!(&entry.value.data, Data::Text(text) if text.text.contains('$'));
    (!is_made).then_some(&entry.value)
}

fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let is_host = |rest: &str| !rest.split(['/', '?', '#']).next().unwrap_or_default().is_empty();
    // A secret may be a whole address.
    text.starts_with("secret://") || rest.is_some_and(|rest| is_host(rest) && !rest.contains(char::is_whitespace))
}

fn one_of(value: &Value, known: &[&str], any_case: bool, problems: &mut Problems) {
    let Data::Text(text) = &value.data else { return wrong(value, &format!("one of {}", known.join(", ")), problems) };
    let written = if any_case { text.text.to_ascii_uppercase() } else { text.text.to_string() };
    if known.contains(&written.as_str()) {
        return;
    }
    let problem =
        Problem::new(&value.at, format!("one of {} is expected, not `{}`", known.join(", "), crate::source::short(&text.text)));
    problems.add(Problem { suggestion: did_you_mean(&written, known.iter().copied()), ..problem });
}

fn statuses(value: &Value, problems: &mut Problems) {
    let is_status = |value: &Value| match &value.data {
        Data::Int(code) => (100..=599).contains(code),
        Data::Text(text) => {
            let code: &str = &text.text;
            let hundred = code.len() == 3 && code.ends_with("xx") && matches!(code.as_bytes()[0], b'1'..=b'5');
            hundred || code.parse().is_ok_and(|code: i64| (100..=599).contains(&code)) || code.contains('$')
        }
        _ => false,
    };
    let fits = match &value.data {
        Data::List(values) => !values.is_empty() && values.iter().all(is_status),
        _ => is_status(value),
    };
    if !fits {
        wrong(value, "a status such as 200 or \"2xx\", or a list of such", problems);
    }
}

#[cfg(test)]
mod tests {
    use crate::incoming;

    /// What is told of a node that is written so; nothing where it is well.
    fn check(node: &str, told: &str) {
        let text = format!("workflow: w\ninput: {{type: object}}\nnodes:\n  a: {node}\n");
        let found = incoming::read(text.as_bytes()).err().unwrap_or_default();
        let found: Vec<String> = found.iter().map(|problem| problem.to_string().replace("\n  ", " | ")).collect();
        assert!(
            if told.is_empty() { found.is_empty() } else { found.iter().any(|found| found.contains(told)) },
            "{node}: {found:?}"
        );
    }

    #[test]
    fn what_http_and_process_nodes_are_given_is_checked_where_it_is_written_out() {
        for (node, told) in [
            ("{type: http, with: {url: 'https://h.test/a', method: post, body: {any: [thing]}, timeout: 5s}}", ""),
            ("{type: http, with: {url: '${input.url}', method: '${input.m}', headers: '${input.h}', timeout: '${input.t}'}}", ""),
            ("{type: http, with: {url: 'secret://HOOK', expect: [200, '4xx'], redirects: 0, response: blob}}", ""),
            ("{type: http, with: '${input}'}", ""),
            ("{type: http}", ""),
            ("{type: mine, with: {url: 7, hedaers: {}}}", ""),
            ("{type: http, with: {}}", "4:25: what an `http` node is given needs `url`"),
            ("{type: http, with: {uri: 'https://h.test'}}", "`uri` is probably meant as `url`"),
            (
                "{type: http, with: {url: 'h.test/a'}}",
                "4:31: a URL such as https://example.com/hooks is expected, not `h.test/a`",
            ),
            ("{type: http, with: {url: 'https:///a'}}", "a URL such as"),
            ("{type: http, with: {url: 'https://h.test', hedaers: {}}}", "has no field `hedaers` | did you mean `headers`?"),
            ("{type: http, with: {url: 'https://h.test', method: PSOT}}", "not `PSOT` | did you mean `POST`?"),
            ("{type: http, with: {url: 'https://h.test', headers: [a]}}", "a map of names and their values is expected"),
            ("{type: http, with: {url: 'https://h.test', timeout: 5}}", "write `5s` or `5ms`"),
            ("{type: http, with: {url: 'https://h.test', expect: 99}}", "a status such as 200"),
            ("{type: http, with: {url: 'https://h.test', redirects: 21}}", "`21`"),
            ("{type: http, with: {url: 'https://h.test', response: xml}}", "one of auto, json, text, blob"),
            ("{type: http, with: {url: 'https://h.test', idempotency_key: k}}", "true or false"),
            ("{type: process, with: {command: lint, input: {a: 1}}}", ""),
            ("{type: process, with: {command: '${input.c}'}}", ""),
            ("{type: process, with: {comand: lint}}", "`comand` is probably meant as `command`"),
            ("{type: process, with: {command: 7}}", "the name of a command"),
            ("{type: process, with: {command: lint, args: [x]}}", "has no field `args`"),
            ("{type: each, items: input.l, do: {nodes: {b: {type: http, with: {url: x}}}}}", "nodes.a.do.nodes.b"),
        ] {
            let path = told.starts_with("nodes.");
            if path {
                let text = format!("workflow: w\ninput: {{type: object}}\nnodes:\n  a: {node}\n");
                let found = incoming::read(text.as_bytes()).unwrap_err();
                assert!(found[0].path.starts_with(told), "{found:?}");
            } else {
                check(node, told);
            }
        }
    }

    #[test]
    fn lists_of_nodes_are_checked_as_well() {
        let text = r#"{"metadata": {"name": "w"}, "nodes": [{"id": "a", "type": "http", "config": {"url": "x"}}], "edges": []}"#;
        let problems = incoming::read(text.as_bytes()).unwrap_err();
        assert!(problems[0].message.contains("a URL such as"), "{problems:?}");
    }
}
