//! One node of the native form, by its type. A type that is not one of the engine's is a worker's.

use super::fields::Fields;
use super::scalars::{self, wrong};
use super::{Body, Composer, Doubt, Kind, Node, OnError, Rule, Source, Target, written};
use crate::check::{ENGINE_TYPES, USUAL_TYPES};
use crate::instant;
use crate::limits::*;
use crate::problem::{At, Problem, Problems, did_you_mean};
use crate::source::{Data, Entry, Value, short};
use kernel::ir::{EachFailure, Join};
use kernel::limits::TASK_KEYS_MAX;
use kernel::names::{Actor, EventName, KeyName, NodeId, QueueName, TypeName, WorkflowName};

/// The nodes of a body, and whether some are missing; `depth` counts the bodies around it.
pub fn decode_nodes(value: &Value, depth: usize, problems: &mut Problems) -> (Vec<Node>, bool) {
    let Data::Map(entries) = &value.data else {
        wrong(value, "a map of nodes by their ids", problems);
        return (Vec::new(), true);
    };
    let nodes: Vec<Node> = entries.iter().filter_map(|entry| decode_node(entry, depth, problems)).collect();
    let torn = nodes.len() < entries.len();
    (nodes, torn)
}

/// Where its type, or what it leads to, cannot be read, its id is known all the same.
fn decode_node(entry: &Entry, depth: usize, problems: &mut Problems) -> Option<Node> {
    let id = node_id(&entry.key, &entry.key_at, problems);
    let fields = Fields::of(&entry.value, format!("node `{}`", entry.key), problems);
    let mut node = Node {
        id: id?,
        at: entry.key_at.clone(),
        after: Vec::new(),
        join: None,
        when: None,
        on_error: OnError::Fail,
        retry: None,
        timeout_ms: None,
        kind: Kind::Broken,
        doubt: Doubt::BOTH,
    };
    let Some(mut fields) = fields else { return Some(node) };
    let kind = fields.require("type", problems).and_then(|entry| scalars::name(&entry.value, TypeName::parse, problems));
    let mut doubt = Doubt::default();
    let before = problems.count();
    node.after = fields.take("after").map(|entry| scalars::targets(&entry.value, problems)).unwrap_or_default();
    doubt.ins = problems.count() > before;
    node.join = fields.take("join").and_then(|entry| Some((join(&entry.value, problems)?, entry.value.at.clone())));
    node.when = fields.take("when").and_then(|entry| written::cel(&entry.value, problems));
    let before = problems.count();
    node.on_error = fields.take("on_error").map_or(OnError::Fail, |entry| on_error(&entry.value, problems));
    doubt.outs = problems.count() > before;
    // Without a type nothing can be said about the other fields.
    let Some(kind) = kind else { return Some(node) };
    fields.rename(format!("a node of type `{kind}`"));
    let before = problems.count();
    let decoded = match kind.as_str() {
        "branch" => branch(&mut fields, &mut doubt, problems),
        "loop" => loop_(&mut fields, depth, &mut doubt, problems),
        "each" => each(&mut fields, depth, problems),
        "join" => Some(Kind::Join),
        "approval" => approval(&mut fields, &mut node, &mut doubt, problems),
        "sleep" => sleep(&mut fields, problems),
        "workflow" => workflow(&mut fields, &mut node, problems),
        "transform" => transform(&mut fields, problems),
        "filter" => filter(&mut fields, problems),
        "aggregate" => aggregate(&mut fields, problems),
        "wait" => wait(&mut fields, &mut node, &mut doubt, problems),
        _ => Some(work(kind.clone(), &mut fields, &mut node, problems)),
    };
    if let (Some(Kind::Work { .. }), Some(meant)) = (&decoded, meant_for_the_engine(&kind, &fields)) {
        let at = entry.value.get("type").map_or(&node.at, |value| &value.at);
        problems.add(Problem::new(at, format!("`{kind}` is no type of the engine's")).suggest(meant));
        return Some(node);
    }
    if decoded.is_none() && problems.count() == before {
        problems.say(&node.at, "this node cannot be read");
    }
    doubt.outs |= decoded.is_none();
    node.kind = decoded.unwrap_or(Kind::Broken);
    doubt.and(fields.finish(problems));
    node.doubt = doubt;
    Some(node)
}

/// A type that is nearly one of the engine's, with fields that no worker's node has.
fn meant_for_the_engine(kind: &TypeName, fields: &Fields<'_>) -> Option<String> {
    fields.left().next()?;
    if USUAL_TYPES.contains(&kind.as_str()) { None } else { did_you_mean(kind.as_str(), ENGINE_TYPES) }
}

pub fn node_id(id: &str, at: &At, problems: &mut Problems) -> Option<NodeId> {
    let parsed = NodeId::parse(id).ok();
    if parsed.is_none() {
        let problem = Problem::new(
            at,
            format!("the id of a node has 1 to 64 letters a-z and A-Z, digits, _ and -, unlike `{}`", short(id)),
        );
        let slug = scalars::slug(id);
        problems.add(if slug.is_empty() { problem } else { problem.suggest(format!("for example `{slug}`")) });
    }
    parsed
}

fn join(value: &Value, problems: &mut Problems) -> Option<Join> {
    match &value.data {
        Data::Text(text) if &*text.text == "all" => Some(Join::All),
        Data::Text(text) if &*text.text == "any" => Some(Join::NOf(1)),
        Data::Map(_) => {
            let mut fields = Fields::of(value, "`join`", problems)?;
            let count = fields.require("n_of", problems);
            let count = count.and_then(|entry| scalars::int(&entry.value, 1, NODES_MAX as i64, problems));
            fields.finish(problems);
            count.map(|count| Join::NOf(count as u16))
        }
        _ => {
            wrong(value, "all, any or {n_of: 2}", problems);
            None
        }
    }
}

fn on_error(value: &Value, problems: &mut Problems) -> OnError {
    match &value.data {
        Data::Text(text) if &*text.text == "fail" => OnError::Fail,
        Data::Text(text) if &*text.text == "ignore" => OnError::Ignore(value.at.clone()),
        Data::Map(_) => {
            let Some(mut fields) = Fields::of(value, "`on_error`", problems) else { return OnError::Fail };
            let to = fields.require("to", problems).map(|entry| scalars::some_targets(&entry.value, problems));
            fields.finish(problems);
            OnError::To(to.unwrap_or_default())
        }
        _ => {
            wrong(value, "fail, ignore or {to: id}", problems);
            OnError::Fail
        }
    }
}

fn work(kind: TypeName, fields: &mut Fields<'_>, node: &mut Node, problems: &mut Problems) -> Kind {
    node.retry = fields.take("retry").and_then(|entry| scalars::retry(&entry.value, problems));
    node.timeout_ms = fields.take("timeout").and_then(|entry| scalars::duration(&entry.value, problems));
    Kind::Work {
        kind,
        queue: fields.take("queue").and_then(|entry| scalars::name(&entry.value, QueueName::parse, problems)),
        priority: fields.take("priority").and_then(|entry| scalars::priority(&entry.value, problems)),
        keys: fields.take("key").map(|entry| keys(&entry.value, problems)).unwrap_or_default(),
        with: fields.take("with").map(|entry| written::template(&entry.value)),
    }
}

fn keys(value: &Value, problems: &mut Problems) -> Vec<(KeyName, Source)> {
    let Data::Map(entries) = &value.data else {
        wrong(value, "a map of key names and their values", problems);
        return Vec::new();
    };
    if entries.len() > TASK_KEYS_MAX {
        problems.say(&value.at, format!("a node may have at most {TASK_KEYS_MAX} keys"));
    }
    let mut keys = Vec::new();
    for entry in entries.iter().take(TASK_KEYS_MAX) {
        match KeyName::parse(&entry.key) {
            Ok(name) if matches!(entry.value.data, Data::Text(_) | Data::Int(_)) => {
                keys.push((name, written::template(&entry.value)));
            }
            Ok(_) => wrong(&entry.value, "a text such as \"${input.tenant}\"", problems),
            Err(bad) => problems.say(&entry.key_at, bad.to_string()),
        }
    }
    keys
}

fn branch(fields: &mut Fields<'_>, doubt: &mut Doubt, problems: &mut Problems) -> Option<Kind> {
    let before = problems.count();
    let kind = branched(fields, problems);
    doubt.outs |= problems.count() > before;
    kind
}

fn branched(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Kind> {
    let (route, rules, default) = (fields.take("route"), fields.take("rules"), fields.take("default"));
    if let Some(route) = route {
        if let Some(other) = rules.or(default) {
            problems.say(&other.key_at, "a branch has either `route` or `rules` and `default`");
        }
        let mut fields = Fields::of(&route.value, "`route`", problems)?;
        let to = fields.require("to", problems).map(|entry| scalars::some_targets(&entry.value, problems));
        fields.finish(problems);
        return Some(Kind::Route { to: to? });
    }
    if rules.is_none() {
        let problem = Problem::new(fields.at, "a branch needs `rules`, each with `when` and `to`");
        problems.add(problem.suggest("or `route: {to: […]}` if its predecessor's output names the way"));
    }
    if default.is_none() {
        let problem = Problem::new(fields.at, "a branch needs `default`: where it goes when no rule holds");
        problems.add(problem.suggest("`default: []` goes nowhere"));
    }
    if let Some(entry) = rules
        && matches!(&entry.value.data, Data::List(rules) if rules.is_empty())
    {
        problems.say(&entry.value.at, "a branch needs at least one rule");
    }
    let rules = rules.map(|entry| scalars::list(&entry.value, RULES_MAX, problems, rule)).unwrap_or_default();
    let default = default.map(|entry| scalars::targets(&entry.value, problems)).unwrap_or_default();
    Some(Kind::Branch { rules, default })
}

fn rule(value: &Value, problems: &mut Problems) -> Option<Rule> {
    let mut fields = Fields::of(value, "a rule", problems)?;
    let when = fields.require("when", problems).and_then(|entry| written::cel(&entry.value, problems));
    let to = fields.require("to", problems).map(|entry| scalars::some_targets(&entry.value, problems));
    fields.finish(problems);
    Some(Rule { when: when.unwrap_or_else(|| stand_in(&value.at, "true")), to: to.unwrap_or_default() })
}

/// For an expression that is missing, which has been told: what else there is can be looked at.
fn stand_in(at: &At, text: &str) -> Source {
    Composer::new(at).text(text).cel()
}

fn body(fields: &mut Fields<'_>, depth: usize, problems: &mut Problems) -> Option<Body> {
    let entry = fields.require("do", problems)?;
    if depth >= BODIES_DEEP_MAX {
        problems.say(&entry.key_at, format!("bodies lie more than {BODIES_DEEP_MAX} deep in each other"));
        return None;
    }
    let mut fields = Fields::of(&entry.value, "`do`", problems)?;
    let nodes = fields.require("nodes", problems);
    let before = problems.count();
    let (decoded, torn) = nodes.map_or((Vec::new(), true), |entry| decode_nodes(&entry.value, depth + 1, problems));
    if let (true, true, Some(entry)) = (decoded.is_empty(), problems.count() == before, nodes) {
        problems.say(&entry.key_at, "a body needs at least one node");
    }
    let output = fields.take("output").and_then(|entry| written::either(&entry.value, problems));
    fields.finish(problems);
    Some(Body { at: entry.key_at.clone(), nodes: decoded, output, torn })
}

fn loop_(fields: &mut Fields<'_>, depth: usize, doubt: &mut Doubt, problems: &mut Problems) -> Option<Kind> {
    let iterations = fields.take("max_iterations");
    if iterations.is_none() {
        let problem = Problem::new(fields.at, "a loop needs `max_iterations`");
        problems.add(problem.suggest(format!("a number from 1 to {ITERATIONS_MAX}: it ends even if `until` never holds")));
    }
    let iterations = iterations.and_then(|entry| scalars::int(&entry.value, 1, ITERATIONS_MAX, problems));
    let init = fields.take("init").and_then(|entry| written::either(&entry.value, problems));
    let until = fields.require("until", problems).and_then(|entry| written::cel(&entry.value, problems));
    let before = problems.count();
    let on_max = fields.take("on_max").map(|entry| scalars::some_targets(&entry.value, problems)).unwrap_or_default();
    doubt.outs |= problems.count() > before;
    let until = until.unwrap_or_else(|| stand_in(fields.at, "true"));
    let body = body(fields, depth, problems);
    Some(Kind::Loop { iterations_max: iterations.unwrap_or(1) as u32, init, until, on_max, body: body? })
}

fn each(fields: &mut Fields<'_>, depth: usize, problems: &mut Problems) -> Option<Kind> {
    let items = fields.require("items", problems).and_then(|entry| match &entry.value.data {
        Data::List(_) => Some(written::template(&entry.value)),
        _ => items(&entry.value, problems),
    });
    let concurrency = match fields.take("concurrency") {
        Some(entry) => scalars::int(&entry.value, 1, EACH_CONCURRENCY_MAX, problems).map(|count| count as u32),
        None => Some(EACH_CONCURRENCY_DEFAULT),
    };
    let on_failure = fields.take("on_failure").map_or(Some(EachFailure::Fast), |entry| on_failure(&entry.value, problems));
    let body = body(fields, depth, problems);
    Some(Kind::Each {
        items: items.unwrap_or_else(|| stand_in(fields.at, "[]")),
        concurrency: concurrency.unwrap_or(EACH_CONCURRENCY_DEFAULT),
        on_failure: on_failure.unwrap_or(EachFailure::Fast),
        body: body?,
    })
}

/// An expression that gives a list.
pub fn items(value: &Value, problems: &mut Problems) -> Option<Source> {
    if matches!(value.data, Data::Text(_)) {
        return written::cel(value, problems);
    }
    wrong(value, "a list, or an expression that gives one such as input.files,", problems);
    None
}

fn on_failure(value: &Value, problems: &mut Problems) -> Option<EachFailure> {
    match &value.data {
        Data::Text(text) if &*text.text == "fail_fast" => Some(EachFailure::Fast),
        Data::Text(text) if &*text.text == "wait_all" => Some(EachFailure::WaitAll),
        Data::Map(_) => {
            let mut fields = Fields::of(value, "`on_failure`", problems)?;
            let count = fields.require("tolerate", problems);
            let count = count.and_then(|entry| scalars::int(&entry.value, 0, EACH_TOLERATE_MAX, problems));
            fields.finish(problems);
            count.map(|count| EachFailure::Tolerate(count as u32))
        }
        _ => {
            wrong(value, "fail_fast, wait_all or {tolerate: 2}", problems);
            None
        }
    }
}

fn approval(fields: &mut Fields<'_>, node: &mut Node, doubt: &mut Doubt, problems: &mut Problems) -> Option<Kind> {
    node.timeout_ms = fields.take("timeout").and_then(|entry| scalars::duration(&entry.value, problems));
    let who = fields.take("who").map(|entry| who(&entry.value, problems)).unwrap_or_default();
    let message = fields.take("message").and_then(|entry| message(&entry.value, problems));
    let before = problems.count();
    let on_reject = fields.take("on_reject").map(|entry| scalars::some_targets(&entry.value, problems)).unwrap_or_default();
    let on_timeout = timed_out(fields, node, problems);
    doubt.outs |= problems.count() > before;
    Some(Kind::Approval { who, message, on_reject, on_timeout })
}

/// Where it leads when its time is up.
fn timed_out(fields: &mut Fields<'_>, node: &Node, problems: &mut Problems) -> Vec<Target> {
    let on_timeout = fields.take("on_timeout");
    if let (Some(entry), None) = (on_timeout, node.timeout_ms) {
        problems.say(&entry.key_at, "`on_timeout` needs a `timeout`");
    }
    on_timeout.map(|entry| scalars::some_targets(&entry.value, problems)).unwrap_or_default()
}

fn wait(fields: &mut Fields<'_>, node: &mut Node, doubt: &mut Doubt, problems: &mut Problems) -> Option<Kind> {
    let event = fields.require("event", problems).and_then(|entry| event(&entry.value, problems));
    let matches = fields.take("match").and_then(|entry| written::cel(&entry.value, problems));
    node.timeout_ms = fields.take("timeout").and_then(|entry| scalars::duration(&entry.value, problems));
    let before = problems.count();
    let on_timeout = timed_out(fields, node, problems);
    doubt.outs |= problems.count() > before;
    Some(Kind::Wait { event: event?, matches, on_timeout })
}

fn event(value: &Value, problems: &mut Problems) -> Option<EventName> {
    let is_pattern = matches!(&value.data, Data::Text(text) if text.text.contains('*'));
    if is_pattern {
        let problem = Problem::new(&value.at, "a wait is for one event by its whole name, not for a pattern");
        problems.add(problem.suggest("name one, and tell events apart in `match`"));
        return None;
    }
    scalars::name(value, EventName::parse, problems)
}

pub fn message(value: &Value, problems: &mut Problems) -> Option<Source> {
    if !matches!(value.data, Data::Text(_)) {
        wrong(value, "a text", problems);
        return None;
    }
    Some(written::template(value))
}

pub fn who(value: &Value, problems: &mut Problems) -> Vec<std::sync::Arc<str>> {
    let one = |value: &Value, problems: &mut Problems| scalars::name(value, Actor::parse, problems).map(Into::into);
    match &value.data {
        Data::List(names) if names.is_empty() => {
            let problem = Problem::new(&value.at, "at least one name is expected, not an empty list");
            problems.add(problem.suggest("leave out `who` if anyone may answer"));
            Vec::new()
        }
        Data::List(_) => scalars::list(value, WHO_MAX, problems, one),
        _ => one(value, problems).into_iter().collect(),
    }
}

fn sleep(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Kind> {
    match (fields.take("for"), fields.take("until")) {
        (Some(entry), None) => match &entry.value.data {
            // What begins like a duration is meant as one.
            Data::Text(text) if !text.text.starts_with(|c: char| c.is_ascii_digit()) => {
                written::cel(&entry.value, problems).map(Kind::SleepForExpr)
            }
            _ => scalars::duration(&entry.value, problems).map(|ms| Kind::SleepFor { ms }),
        },
        (None, Some(entry)) => match &entry.value.data {
            Data::Text(text) if text.text.starts_with(|c: char| c.is_ascii_digit()) => {
                if instant::parse_ms(&text.text).is_none() {
                    wrong(&entry.value, "an instant such as 2027-01-31T09:00:00Z or an expression", problems);
                    return None;
                }
                Some(Kind::SleepUntil(written::template(&entry.value)))
            }
            _ => written::cel(&entry.value, problems).map(Kind::SleepUntil),
        },
        _ => {
            problems.say(fields.at, "a sleep needs either `for` (a duration) or `until` (an instant)");
            None
        }
    }
}

fn workflow(fields: &mut Fields<'_>, node: &mut Node, problems: &mut Problems) -> Option<Kind> {
    node.timeout_ms = fields.take("timeout").and_then(|entry| scalars::duration(&entry.value, problems));
    let workflow = fields.require("run", problems).and_then(|entry| scalars::name(&entry.value, WorkflowName::parse, problems));
    let version = fields.take("version").and_then(|entry| scalars::version(&entry.value, false, problems));
    let with = fields.take("with").map(|entry| written::template(&entry.value));
    Some(Kind::Workflow { workflow: workflow?, version, with })
}

fn transform(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Kind> {
    let value = fields.require("value", problems).and_then(|entry| written::either(&entry.value, problems));
    Some(Kind::Transform { value: value?, items: None, called: "transform" })
}

/// `where` sees each of the items as `item`.
fn filter(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Kind> {
    let items = fields.require("items", problems).and_then(|entry| items(&entry.value, problems));
    let keep = fields.require("where", problems).and_then(|entry| written::cel(&entry.value, problems));
    let items = items.unwrap_or_else(|| stand_in(fields.at, "[]"));
    let keep = keep.unwrap_or_else(|| stand_in(fields.at, "true"));
    Some(Kind::Transform { value: filtered(&items, &keep), items: Some(items), called: "filter" })
}

pub fn filtered(items: &Source, keep: &Source) -> Source {
    Composer::new(&items.at).text("(").part(items).text(").filter(item, ").part(keep).text(")").cel()
}

const AGGREGATES: [&str; 8] = ["count", "sum", "min", "max", "avg", "collect", "first", "last"];

/// `of` sees each of the items as `item`; without it they are taken as they are.
pub fn aggregate(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Kind> {
    let items = fields.require("items", problems).and_then(|entry| items(&entry.value, problems));
    let op = fields.require("op", problems);
    let of = fields.take("of");
    let value = of.and_then(|entry| written::cel(&entry.value, problems));
    let op = op?;
    let text = scalars::text(&op.value, problems)?;
    if !AGGREGATES.contains(&&*text) {
        wrong(&op.value, &format!("one of {}", AGGREGATES.join(", ")), problems);
        return None;
    }
    if let ("count", Some(entry)) = (&*text, of) {
        problems.add(
            Problem::new(&entry.key_at, "`count` counts the items; it has no `of`").suggest("leave out some with a `filter`"),
        );
    }
    let items = items.unwrap_or_else(|| stand_in(fields.at, "[]"));
    Some(Kind::Transform { value: aggregated(&items, &text, value.as_ref()), items: Some(items), called: "aggregate" })
}

/// Where nothing is left of the items, `sum` is 0 and the rest is null. To name a list that is used twice, it is put into
/// another and mapped over.
pub fn aggregated(items: &Source, op: &str, of: Option<&Source>) -> Source {
    let (before, after) = match op {
        "count" => ("size(", ")"),
        "sum" => ("sum(", ")"),
        "min" => ("[", "].map(xs, size(xs) == 0 ? null : min(xs))[0]"),
        "max" => ("[", "].map(xs, size(xs) == 0 ? null : max(xs))[0]"),
        "avg" => ("[", "].map(xs, size(xs) == 0 ? null : double(sum(xs)) / double(size(xs)))[0]"),
        "first" => ("[", "].map(xs, size(xs) == 0 ? null : xs[0])[0]"),
        "last" => ("[", "].map(xs, size(xs) == 0 ? null : xs[size(xs) - 1])[0]"),
        _ => ("", ""),
    };
    let composer = Composer::new(&items.at).text(before).text("(").part(items).text(")");
    let composer = match of {
        Some(of) => composer.text(".map(item, ").part(of).text(")"),
        None => composer,
    };
    composer.text(after).cel()
}
