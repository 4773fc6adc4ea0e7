//! `handlers:` → [`Handler`].

use super::discipline;
use super::expression::{condition, flag, priority_expr, word};
use super::forward::forward;
use super::limit::{Limits, keyed_rate};
use crate::define::fields::Fields;
use crate::define::scalars::{self, duration, name, text};
use crate::limits::*;
use crate::problem::{At, Problem, Problems, did_you_mean};
use crate::registry::handler::*;
use crate::source::{Data, Entry, Value, short};
use kernel::limits::TASK_TAGS_MAX;
use kernel::names::{HandlerName, Pattern, QueueName, Tag, TypeName, WorkflowName};
use kernel::priority::Priority;

pub fn handler(entry: &Entry, problems: &mut Problems) -> Option<Handler> {
    let before = problems.count();
    let what = format!("handler `{}`", short(&entry.key));
    let called = match HandlerName::parse(&entry.key) {
        Ok(name) => name,
        Err(bad) => {
            problems.say(&entry.key_at, bad.to_string());
            HandlerName::parse("unnamed").expect("a legal name")
        }
    };
    let mut fields = Fields::of(&entry.value, what, problems)?;
    let on = fields.require("on", problems).map(|entry| patterns(&entry.value, problems)).unwrap_or_default();
    let condition = fields.take("if").and_then(|entry| condition(&entry.value, problems));
    let does = does(&mut fields, problems);
    let queue = fields.take("queue").and_then(|entry| name(&entry.value, QueueName::parse, problems));
    let whole = whole(&mut fields, does.as_ref(), problems);
    let mode = fields.take("mode").and_then(|entry| word(&entry.value, &Mode::NAMED, problems));
    let critical = fields.take("critical").and_then(|entry| flag(&entry.value, problems)).unwrap_or(false);
    let priority = fields.take("priority").and_then(|entry| urgency(&entry.value, problems));
    let mut limits = Limits::new(&called);
    if let Some(entry) = fields.take("concurrency") {
        limits.concurrency(entry, problems);
    }
    if let Some(entry) = fields.take("rate") {
        limits.rate(entry, problems);
    }
    let drop_rate = fields.take("drop_rate").and_then(|entry| keyed_rate(&entry.value, "`drop_rate`", problems));
    let gather = discipline::gathering(&mut fields, problems);
    let singleton = fields.take("singleton").and_then(|entry| discipline::singleton(&entry.value, problems));
    let deduped = fields.take("dedup");
    if let (Some(entry), Some(_)) = (deduped, &gather) {
        let told =
            "`dedup` does not go with `debounce` or `batch`: of the events that one task gathers, no key would be remembered";
        problems.say(&entry.key_at, told);
    }
    let dedup = deduped.and_then(|entry| discipline::dedup(&entry.value, problems));
    let mut times = |key| fields.take(key).and_then(|entry: &Entry| duration(&entry.value, problems));
    let (delay_ms, start_within_ms, budget_ms) = (times("delay"), times("start_within"), times("timeout"));
    let retry = fields.take("retry").and_then(|entry| scalars::retry(&entry.value, problems));
    let states = discipline::statements(&mut fields, &[], problems);
    let tags = fields.take("tags").map(|entry| tags(&entry.value, problems)).unwrap_or_default();
    let bounds = fields.take("bounds").and_then(|entry| discipline::bounds(&entry.value, problems)).unwrap_or_default();
    let limits = limits.finish(&entry.key_at, problems);
    fields.finish(problems);
    let handler = Handler {
        queue: queue.unwrap_or_else(|| QueueName::parse(called.as_str()).expect("a handler's name is a queue's")),
        name: called.clone(),
        line: entry.key_at.line,
        on,
        condition,
        does: does?,
        whole,
        mode: mode.unwrap_or(Mode::Live),
        priority: priority.or(critical.then_some(Urgency::Fixed(Priority::CRITICAL))),
        limits,
        drop_rate: drop_rate.map(|(rate, key)| Dropping { rate, key }),
        gather,
        singleton,
        dedup,
        delay_ms: delay_ms.unwrap_or(0),
        start_within_ms,
        retry,
        budget_ms,
        tags,
        critical,
        states,
        bounds,
    };
    within_bounds(&handler, &entry.key_at, problems);
    (problems.count() == before).then_some(handler)
}

fn patterns(value: &Value, problems: &mut Problems) -> Vec<Pattern> {
    let one = |value: &Value, problems: &mut Problems| name(value, Pattern::parse, problems);
    match &value.data {
        Data::List(values) if values.is_empty() => {
            problems.say(&value.at, "at least one pattern is expected, not an empty list");
            Vec::new()
        }
        Data::List(_) => scalars::list(value, HANDLER_PATTERNS_MAX, problems, one),
        _ => one(value, problems).into_iter().collect(),
    }
}

/// Exactly one of the three.
fn does(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Does> {
    let stated = [fields.take("workflow"), fields.take("task"), fields.take("forward")];
    let mut stated = stated.into_iter().flatten();
    let Some(entry) = stated.next() else {
        let problem = Problem::new(fields.at, format!("{} does nothing", fields.what()));
        problems.add(problem.suggest("it needs one of `workflow`, `task` and `forward`"));
        return None;
    };
    if let Some(other) = stated.next() {
        let told = format!("`{}` and `{}`: a handler does one of them", entry.key, other.key);
        problems.add(Problem::new(&other.key_at, told).suggest("write a second handler for the other: both get the event"));
        return None;
    }
    match &*entry.key {
        "workflow" => name(&entry.value, WorkflowName::parse, problems).map(Does::Workflow),
        "task" => {
            let kind = name(&entry.value, TypeName::parse, problems)?;
            if kind.as_str().starts_with('@') {
                problems.say(
                    &entry.value.at,
                    format!("the type `{kind}` is the engine's own: choose one that does not begin with @"),
                );
                return None;
            }
            Some(Does::Task(kind))
        }
        _ => forward(&entry.value, problems).map(|forward| Does::Forward(Box::new(forward))),
    }
}

fn whole(fields: &mut Fields<'_>, does: Option<&Does>, problems: &mut Problems) -> bool {
    let forwards = matches!(does, Some(Does::Forward(_)));
    match fields.take("input") {
        Some(entry) if forwards => {
            problems.say(&entry.key_at, "`forward` passes the whole event on: leave `input` out");
            true
        }
        Some(entry) => word(&entry.value, &[("data", false), ("event", true)], problems).unwrap_or(false),
        None => forwards,
    }
}

/// A level, seconds, or an expression that gives one of these.
fn urgency(value: &Value, problems: &mut Problems) -> Option<Urgency> {
    if let Data::Text(written) = &value.data
        && Priority::parse(&written.text).is_none()
    {
        // A word that is nearly a level is not meant as an expression.
        let levels = Priority::NAMED.map(|(level, _)| level);
        if written.text.chars().all(|c| c.is_ascii_alphabetic()) {
            let told = format!("`{}` is none of {}", short(&written.text), levels.join(", "));
            problems.add(Problem { suggestion: did_you_mean(&written.text, levels), ..Problem::new(&value.at, told) });
            return None;
        }
        return priority_expr(value, problems).map(Urgency::Expr);
    }
    scalars::priority(value, problems).map(Urgency::Fixed)
}

fn tags(value: &Value, problems: &mut Problems) -> Vec<Tag> {
    scalars::list(value, TASK_TAGS_MAX, problems, |value, problems| {
        text(value, problems)?;
        name(value, Tag::parse, problems)
    })
}

/// What is stated lies within what the operator may turn it to.
fn within_bounds(handler: &Handler, at: &At, problems: &mut Problems) {
    if let (Some((low, high)), Some(Urgency::Fixed(priority))) = (handler.bounds.priority, &handler.priority)
        && !(low..=high).contains(priority)
    {
        let told = format!("the priority of handler `{}` lies outside its own `bounds.priority`", handler.name);
        problems.say(at, told);
    }
    let total = handler.limits.iter().find(|limit| limit.key.is_none()).and_then(|limit| limit.concurrency);
    match (handler.bounds.concurrency, total) {
        (Some((low, high)), Some(total)) if !(low..=high).contains(&total) => {
            let told = format!("the concurrency of handler `{}` lies outside its own `bounds.concurrency`", handler.name);
            problems.say(at, told);
        }
        (Some(_), None) => {
            let told = format!("handler `{}` has `bounds.concurrency` and no `concurrency` to be turned", handler.name);
            problems.say(at, told);
        }
        _ => {}
    }
}
