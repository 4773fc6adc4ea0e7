//! What stands in a listed node beside id and type: `config`, or `loop` and `branch` as in the seed's IR.

use super::{ListedKind, ListedLoop, Way, Wished};
use crate::define::fields::Fields;
use crate::define::{Kind, Rule, Source, Target, node, scalars, written};
use crate::limits::*;
use crate::problem::{Problem, Problems};
use crate::source::{Data, Value};
use kernel::names::TypeName;
use kernel::retry::RetryPolicy;

/// As the list of edges has it: at most so many tries.
const ATTEMPTS_MAX: i64 = 10;

pub fn retry(value: &Value, problems: &mut Problems) -> Option<RetryPolicy> {
    let mut fields = Fields::of(value, "`retry`", problems)?;
    let before = problems.count();
    let mut policy = RetryPolicy::default();
    if let Some(entry) = fields.take("max_attempts") {
        policy.attempts = scalars::int(&entry.value, 1, ATTEMPTS_MAX, problems).unwrap_or(1) as u16;
    }
    if let Some(entry) = fields.take("backoff_ms") {
        let most = kernel::limits::BACKOFF_MS_MAX as i64;
        policy.backoff_ms = scalars::int(&entry.value, 0, most, problems).unwrap_or(0) as u64;
        policy.backoff_max_ms = policy.backoff_max_ms.max(policy.backoff_ms);
    }
    if let Some(entry) = fields.take("backoff_multiplier") {
        match entry.value.data {
            Data::Int(2) => {}
            Data::Float(2.0) => {}
            // A wait that does not grow is one that has reached its bound.
            Data::Int(1) | Data::Float(1.0) => policy.backoff_max_ms = policy.backoff_ms,
            _ => scalars::wrong(&entry.value, "1 or 2 (the wait stays, or doubles)", problems),
        }
    }
    fields.finish(problems);
    (problems.count() == before).then_some(policy)
}

pub fn kind(kind: &str, fields: &mut Fields<'_>, wished: &mut Wished, problems: &mut Problems) -> Option<ListedKind> {
    let at = fields.at;
    let id = fields.what().to_owned();
    let config = fields.take("config").filter(|entry| entry.value.data != Data::Null);
    match kind {
        "loop" => {
            let own = fields.take("loop").or(config);
            let Some(entry) = own else {
                problems.say(at, format!("{id}: a loop needs `condition`, `max_iterations` and `loop_back_to` in its `config`"));
                return None;
            };
            loop_(&entry.value, wished, problems)
        }
        "conditional" => {
            let own = fields.take("branch").or(config);
            match own {
                Some(entry) => conditional(&entry.value, wished, problems),
                None => Some(ListedKind::Branch),
            }
        }
        "parallel" => {
            if let Some(entry) = config {
                Fields::of(&entry.value, "the config of a `parallel` node", problems)?.finish(problems);
            }
            Some(ListedKind::Parallel)
        }
        "hitl" | "approval" => approval(config.map(|entry| &entry.value), wished, problems),
        "transform" => {
            let mut fields = needed(config.map(|entry| &entry.value), at, "a `transform`", problems)?;
            let value = fields.take("value").or_else(|| fields.take("expression"));
            let value = found(value, &fields, "value", problems).and_then(|value| written::either(value, problems));
            fields.finish(problems);
            Some(ListedKind::Plain(Kind::Transform { value: value?, items: None, called: "transform" }))
        }
        "filter" => {
            let mut fields = needed(config.map(|entry| &entry.value), at, "a `filter`", problems)?;
            let items = fields.require("items", problems).and_then(|entry| node::items(&entry.value, problems));
            let keep = fields.take("where").or_else(|| fields.take("condition"));
            let keep = found(keep, &fields, "where", problems).and_then(|value| written::cel(value, problems));
            fields.finish(problems);
            let (items, keep) = (items?, keep?);
            let value = node::filtered(&items, &keep);
            Some(ListedKind::Plain(Kind::Transform { value, items: Some(items), called: "filter" }))
        }
        "aggregate" => {
            let mut fields = needed(config.map(|entry| &entry.value), at, "an `aggregate`", problems)?;
            let value = node::aggregate(&mut fields, problems);
            fields.finish(problems);
            value.map(ListedKind::Plain)
        }
        "branch" | "each" | "join" | "sleep" | "workflow" | "wait" => {
            let problem = Problem::new(at, format!("{id}: type `{kind}` is not one of the edge-list form"));
            problems.add(problem.suggest("write `nodes` as a map to use it"));
            None
        }
        _ => {
            let kind = match TypeName::parse(kind) {
                Ok(kind) => kind,
                Err(bad) => {
                    problems.say(at, bad.to_string());
                    return None;
                }
            };
            if let Some(entry) = fields.take("branch") {
                wished.available = Some(available(&entry.value, problems)?);
            }
            let with = config.map(|entry| written::template(&entry.value));
            Some(ListedKind::Plain(Kind::Work { kind, queue: None, priority: None, keys: Vec::new(), with }))
        }
    }
}

fn needed<'a>(config: Option<&'a Value>, at: &crate::problem::At, what: &str, problems: &mut Problems) -> Option<Fields<'a>> {
    match config {
        Some(config) => Fields::of(config, format!("the config of {what}"), problems),
        None => {
            problems.say(at, format!("{what} needs a `config`"));
            None
        }
    }
}

fn found<'a>(
    entry: Option<&'a crate::source::Entry>,
    fields: &Fields<'_>,
    name: &str,
    problems: &mut Problems,
) -> Option<&'a Value> {
    if entry.is_none() {
        problems.say(fields.at, format!("{} needs `{name}`", fields.what()));
    }
    entry.map(|entry| &entry.value)
}

fn loop_(value: &Value, wished: &mut Wished, problems: &mut Problems) -> Option<ListedKind> {
    let mut fields = Fields::of(value, "a loop's `config`", problems)?;
    let condition = fields.require("condition", problems).and_then(|entry| written::cel(&entry.value, problems));
    let iterations = fields.require("max_iterations", problems);
    let iterations = iterations.and_then(|entry| scalars::int(&entry.value, 1, ITERATIONS_MAX, problems));
    let back = fields
        .require("loop_back_to", problems)
        .and_then(|entry| Some(Target { id: scalars::text(&entry.value, problems)?, at: entry.value.at.clone() }));
    for (field, way) in [("break_path", Way::Done), ("timeout_path", Way::Max)] {
        if let Some(entry) = fields.take(field) {
            wished.ways.push((way, scalars::targets(&entry.value, problems)));
        }
    }
    fields.finish(problems);
    let listed = ListedLoop { condition: condition?, iterations_max: iterations? as u32, back: back? };
    Some(ListedKind::Loop(listed))
}

/// `{type: conditional, rules: [{condition, next_nodes}], default}` or `{type: agent_driven, available_next_nodes}`.
fn conditional(value: &Value, wished: &mut Wished, problems: &mut Problems) -> Option<ListedKind> {
    let mut fields = Fields::of(value, "the config of a `conditional`", problems)?;
    let kind = fields.take("type").and_then(|entry| scalars::text(&entry.value, problems));
    let available = fields.take("available_next_nodes");
    let (rules, default) = (fields.take("rules"), fields.take("default"));
    fields.finish(problems);
    if available.is_some() || kind.as_deref() == Some("agent_driven") {
        let to = available.map(|entry| scalars::targets(&entry.value, problems)).unwrap_or_default();
        wished.ways.push((Way::Named, to));
        return Some(ListedKind::Route);
    }
    if let Some(entry) = rules {
        let rules = scalars::list(&entry.value, RULES_MAX, problems, listed_rule);
        wished.ways.extend(rules.into_iter().map(|rule| (Way::If(rule.when), rule.to)));
    }
    if let Some(entry) = default {
        wished.ways.push((Way::Default, scalars::targets(&entry.value, problems)));
    }
    Some(ListedKind::Branch)
}

fn listed_rule(value: &Value, problems: &mut Problems) -> Option<Rule> {
    let mut fields = Fields::of(value, "a rule", problems)?;
    let when = fields.require("condition", problems).and_then(|entry| written::cel(&entry.value, problems));
    let to = fields.require("next_nodes", problems).map(|entry| scalars::some_targets(&entry.value, problems));
    fields.finish(problems);
    Some(Rule { when: when?, to: to? })
}

fn available(value: &Value, problems: &mut Problems) -> Option<Vec<Target>> {
    let mut fields = Fields::of(value, "`branch`", problems)?;
    if let Some(entry) = fields.take("type") {
        let text = scalars::text(&entry.value, problems)?;
        if &*text != "agent_driven" {
            scalars::wrong(&entry.value, "agent_driven", problems);
        }
    }
    let to = fields.require("available_next_nodes", problems).map(|entry| scalars::some_targets(&entry.value, problems));
    fields.finish(problems);
    to
}

fn approval(config: Option<&Value>, wished: &mut Wished, problems: &mut Problems) -> Option<ListedKind> {
    let mut message: Option<Source> = None;
    let mut who = Vec::new();
    if let Some(config) = config {
        let mut fields = Fields::of(config, "the config of a `hitl` node", problems)?;
        let text = fields.take("message").or_else(|| fields.take("prompt"));
        message = text.and_then(|entry| node::message(&entry.value, problems));
        let people = fields.take("who").or_else(|| fields.take("approvers"));
        who = people.map(|entry| node::who(&entry.value, problems)).unwrap_or_default();
        if let Some(entry) = fields.take("on_reject") {
            wished.ways.push((Way::Reject, scalars::some_targets(&entry.value, problems)));
        }
        fields.finish(problems);
    }
    Some(ListedKind::Plain(Kind::Approval { who, message, on_reject: Vec::new(), on_timeout: Vec::new() }))
}
