//! A node of the IR as the native form would have it, to be compared: names instead of numbers, edges with the node whose text
//! makes them, and what is left out if it is as usual.

use super::json::Json;
use crate::graph::duration;
use kernel::ir::{EachFailure, ExprIx, Form, Ir, Join, Node, NodeIx, NodeKind, On, OnError, ROOT, Sleep};
use kernel::priority::Priority;
use kernel::retry::RetryPolicy;

#[derive(Default)]
struct Fields(Vec<(String, Json)>);

impl Fields {
    fn add(&mut self, key: &str, value: Json) {
        self.0.push((key.to_owned(), value));
    }

    fn maybe(&mut self, key: &str, value: Option<Json>) {
        self.0.extend(value.map(|value| (key.to_owned(), value)));
    }

    /// Nodes that something leads to, if there are any.
    fn some(&mut self, key: &str, value: Json) {
        if !matches!(&value, Json::List(values) if values.is_empty()) {
            self.add(key, value);
        }
    }
}

fn number(value: impl ToString) -> Json {
    Json::Number(value.to_string())
}

fn map<const N: usize>(entries: [(&str, Json); N]) -> Json {
    Json::Map(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn expr(ir: &Ir, ix: ExprIx) -> Json {
    let expr = ir.expr(ix);
    match expr.form {
        Form::Cel => Json::text(&*expr.source),
        Form::Template => Json::read(expr.source.as_bytes()).unwrap_or_else(|_| Json::text(&*expr.source)),
    }
}

/// The nodes that the edges of a kind lead to.
fn to(ir: &Ir, node: &Node, on: On) -> Json {
    let edges = node.outs.iter().map(|edge| ir.edge(*edge)).filter(|edge| edge.on == on);
    Json::List(sorted(edges.map(|edge| ir.node(edge.to).id.as_str())))
}

fn sorted<'a>(ids: impl Iterator<Item = &'a str>) -> Vec<Json> {
    let mut ids: Vec<&str> = ids.collect();
    ids.sort_unstable();
    ids.into_iter().map(Json::text).collect()
}

pub fn written_workflow(ir: &Ir) -> Json {
    let mut fields = Fields::default();
    fields.add("workflow", Json::text(ir.workflow.as_str()));
    fields.add("version", number(ir.version));
    let schema = ir.input_schema.as_ref();
    fields.maybe("input", schema.map(|text| Json::read(text.as_bytes()).unwrap_or_else(|_| Json::text(&**text))));
    fields.maybe("limits.deadline", ir.limits.deadline_ms.map(|ms| Json::text(duration(ms))));
    fields.add("limits.stall", Json::text(duration(ir.limits.stall_ms)));
    fields.add("limits.steps", number(ir.limits.steps_max));
    fields.maybe("output", ir.body(ROOT).output.map(|output| expr(ir, output)));
    Json::Map(fields.0)
}

pub fn written_node(ir: &Ir, ix: NodeIx) -> Json {
    let node = ir.node(ix);
    let mut fields = Fields::default();
    fields.add("type", Json::text(node.kind.type_name()));
    fields.maybe("in", ir.body(node.body).of.map(|around| Json::text(ir.node(around).id.as_str())));
    let after = node.ins.iter().map(|edge| ir.edge(*edge)).filter(|edge| edge.on == On::Done);
    fields.some("after", Json::List(sorted(after.map(|edge| ir.node(edge.from).id.as_str()))));
    fields.maybe(
        "join",
        match node.join {
            Join::All => None,
            Join::NOf(1) => Some(Json::text("any")),
            Join::NOf(count) => Some(map([("n_of", number(count))])),
        },
    );
    fields.maybe("when", node.when.map(|when| expr(ir, when)));
    of_kind(ir, node, &mut fields);
    fields.maybe(
        "on_error",
        match node.on_error {
            OnError::Fail => None,
            OnError::Ignore => Some(Json::text("ignore")),
            OnError::To => Some(map([("to", to(ir, node, On::Error))])),
        },
    );
    fields.maybe("retry", node.retry.map(retry));
    fields.maybe("timeout", node.timeout_ms.map(|ms| Json::text(duration(ms))));
    Json::Map(fields.0)
}

fn of_kind(ir: &Ir, node: &Node, fields: &mut Fields) {
    match &node.kind {
        NodeKind::Work { queue, priority, keys, with, .. } => {
            fields.add("queue", Json::text(queue.as_str()));
            fields.maybe("priority", priority.map(priority_named));
            let mut keys: Vec<_> = keys.iter().collect();
            keys.sort_by(|a, b| a.0.cmp(&b.0));
            keys.iter().for_each(|(name, value)| fields.add(&format!("key.{name}"), expr(ir, *value)));
            fields.maybe("with", with.map(|with| expr(ir, with)));
        }
        NodeKind::Branch { rules } => {
            let rule = |(at, when): (usize, &ExprIx)| map([("when", expr(ir, *when)), ("to", to(ir, node, On::Rule(at as u16)))]);
            fields.add("rules", Json::List(rules.iter().enumerate().map(rule).collect()));
            fields.add("default", to(ir, node, On::Default));
        }
        NodeKind::Route { .. } => fields.add("route", map([("to", to(ir, node, On::Named))])),
        NodeKind::Loop { body, iterations_max, init, until } => {
            fields.add("max_iterations", number(iterations_max));
            fields.maybe("init", init.map(|init| expr(ir, init)));
            fields.add("until", expr(ir, *until));
            fields.some("on_max", to(ir, node, On::Max));
            fields.maybe("do.output", ir.body(*body).output.map(|output| expr(ir, output)));
        }
        NodeKind::Each { body, items, concurrency, on_failure } => {
            fields.add("items", expr(ir, *items));
            fields.add("concurrency", number(concurrency));
            fields.maybe(
                "on_failure",
                match on_failure {
                    EachFailure::Fast => None,
                    EachFailure::WaitAll => Some(Json::text("wait_all")),
                    EachFailure::Tolerate(count) => Some(map([("tolerate", number(count))])),
                },
            );
            fields.maybe("do.output", ir.body(*body).output.map(|output| expr(ir, output)));
        }
        NodeKind::Join => {}
        NodeKind::Approval { who, message } => {
            fields.some("who", Json::List(sorted(who.iter().map(|name| &**name))));
            fields.maybe("message", message.map(|message| expr(ir, message)));
            fields.some("on_reject", to(ir, node, On::Reject));
            fields.some("on_timeout", to(ir, node, On::Timeout));
        }
        NodeKind::Sleep(Sleep::For { ms }) => fields.add("for", Json::text(duration(*ms))),
        NodeKind::Sleep(Sleep::ForExpr(ms)) => fields.add("for", expr(ir, *ms)),
        NodeKind::Sleep(Sleep::UntilExpr(instant)) => fields.add("until", expr(ir, *instant)),
        NodeKind::Wait { event, matches, .. } => {
            fields.add("event", Json::text(event.as_str()));
            fields.maybe("match", matches.map(|matches| expr(ir, matches)));
            fields.some("on_timeout", to(ir, node, On::Timeout));
        }
        NodeKind::Workflow { workflow, version, with } => {
            fields.add("run", Json::text(workflow.as_str()));
            fields.maybe("version", version.map(number));
            fields.maybe("with", with.map(|with| expr(ir, with)));
        }
        NodeKind::Transform { value, .. } => fields.add("value", expr(ir, *value)),
    }
}

fn priority_named(priority: Priority) -> Json {
    let named = Priority::NAMED.iter().find(|(_, known)| *known == priority);
    named.map_or_else(|| number(priority.head_start_s()), |(name, _)| Json::text(*name))
}

fn retry(policy: RetryPolicy) -> Json {
    map([
        ("attempts", number(policy.attempts)),
        ("backoff", Json::text(duration(policy.backoff_ms))),
        ("backoff_max", Json::text(duration(policy.backoff_max_ms))),
        ("jitter", Json::text(format!("{}%", policy.jitter_percent))),
    ])
}
