//! From a `Stop` to an `EvalError`: which values the expression had read when it failed. Only a failure pays for it.

use super::error::{EvalError, Failure, Stop, shown};
use super::limits::*;
use super::names::{NodeField, Root};
use super::node::{Binary, Form, Literal, Node};
use super::scope::{Bound, Scope};
use crate::problem::nearest;
use serde::{Serialize, Serializer};
use serde_json::Value as Json;

pub(crate) fn report(stop: Stop<'_>, source: &str, node: &Node, scope: &dyn Scope) -> EvalError {
    let mut read = stop.variables;
    let mut paths = Vec::new();
    collect(node, &mut paths);
    for path in paths {
        let found = walk(path, scope).map(|(walked, value)| (walked.label, shown(&value)));
        if let Some(found) = found.filter(|(label, _)| read.iter().all(|(known, _)| known != label)) {
            read.push(found);
        }
    }
    read.truncate(SHOWN_VALUES_MAX);
    let near = stop.missing.and_then(|(key, map)| nearest(&key, map.text_keys()).map(|near| format!("; there is `{near}`")));
    let message = stop.message + &near.unwrap_or_default();
    // An old form of a template is shorter than what it means.
    let offset = (stop.offset as usize).min(source.len());
    let failure = Box::new(Failure { path: String::new(), expression: source.to_owned(), message, offset, read });
    if stop.too_costly { EvalError::TooCostly(failure) } else { EvalError::Failed(failure) }
}

/// The largest chains of keys that start at a root: `input.order.amount`.
fn collect<'n>(node: &'n Node, paths: &mut Vec<&'n Node>) {
    if is_path(node) {
        return paths.push(node);
    }
    match &node.form {
        Form::Literal(_) | Form::Root(_) | Form::NodeField(..) | Form::HasNodeField(..) | Form::Variable(_) => {}
        Form::Select(of, _) | Form::Has(of, _) | Form::Unary(_, of) | Form::Matches(of, _) => collect(of, paths),
        Form::Binary(_, sides) => sides.iter().for_each(|side| collect(side, paths)),
        Form::Conditional(parts) => parts.iter().for_each(|part| collect(part, paths)),
        Form::List(list) | Form::Call(_, list) => list.iter().for_each(|part| collect(part, paths)),
        Form::Map(map) => map.iter().for_each(|(key, value)| {
            collect(key, paths);
            collect(value, paths);
        }),
        Form::Fold(fold) => {
            [Some(&fold.over), fold.keep.as_ref(), Some(&fold.body)].into_iter().flatten().for_each(|part| collect(part, paths));
        }
    }
}

fn is_path(node: &Node) -> bool {
    match &node.form {
        Form::Root(_) | Form::NodeField(..) => true,
        Form::Select(of, _) => is_path(of),
        Form::Binary(Binary::Index, sides) => is_path(&sides[0]) && matches!(sides[1].form, Form::Literal(_)),
        _ => false,
    }
}

/// How far along a path there are values.
struct Walked {
    label: String,
    /// The way ended before the path did.
    stuck: bool,
}

/// What stands at the end of a way.
enum Seen<'s> {
    Bound(Bound<'s>),
    Text(&'s str),
}

impl Serialize for Seen<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Seen::Bound(bound) => bound.serialize(serializer),
            Seen::Text(text) => serializer.serialize_str(text),
        }
    }
}

/// What the path leads to, or the last value on its way that is there.
fn walk<'s>(node: &Node, scope: &'s dyn Scope) -> Option<(Walked, Seen<'s>)> {
    let start = |value: Option<Seen<'s>>| value.map(|value| (Walked { label: label(node), stuck: false }, value));
    let (of, key) = match &node.form {
        Form::Root(root) => return start(scope.root(*root).map(Seen::Bound)),
        Form::NodeField(id, field) => return start(node_value(scope, id, *field)),
        Form::Select(of, key) => (of.as_ref(), Literal::Text(key.to_string())),
        Form::Binary(Binary::Index, sides) => match &sides[1].form {
            Form::Literal(key) => (&sides[0], key.clone()),
            _ => return None,
        },
        _ => return None,
    };
    let (walked, value) = walk(of, scope)?;
    if walked.stuck {
        return Some((walked, value));
    }
    let next = match (&value, &key) {
        (Seen::Bound(Bound::Json(Json::Object(map))), Literal::Text(key)) => map.get(key).map(Bound::Json),
        (Seen::Bound(Bound::Object(parts)), Literal::Text(key)) => {
            parts.iter().find(|(name, _)| name == key).map(|(_, part)| part.clone())
        }
        (Seen::Bound(Bound::Json(Json::Array(list))), Literal::Int(index)) => {
            usize::try_from(*index).ok().and_then(|index| list.get(index)).map(Bound::Json)
        }
        _ => None,
    };
    match next {
        Some(next) => Some((Walked { label: label(node), stuck: false }, Seen::Bound(next))),
        None => Some((Walked { stuck: true, ..walked }, value)),
    }
}

fn node_value<'s>(scope: &'s dyn Scope, id: &str, field: NodeField) -> Option<Seen<'s>> {
    match field {
        NodeField::Output => scope.node_output(id).map(Seen::Bound),
        NodeField::Error => scope.node_error(id).map(|error| Seen::Bound(Bound::Json(error))),
        NodeField::Status => scope.node_status(id).map(Seen::Text),
    }
}

/// The path as one would write it; empty for what is no path.
pub(crate) fn label(node: &Node) -> String {
    match &node.form {
        Form::Root(root) => root.name().to_owned(),
        Form::NodeField(id, field) => key_label(Root::Nodes.name().to_owned(), id) + "." + field.name(),
        Form::Select(of, key) => key_label(label(of), key),
        Form::Binary(Binary::Index, sides) => match &sides[1].form {
            Form::Literal(Literal::Text(key)) => key_label(label(&sides[0]), key),
            Form::Literal(Literal::Int(index)) => format!("{}[{index}]", label(&sides[0])),
            _ => String::new(),
        },
        _ => String::new(),
    }
}

fn key_label(of: String, key: &str) -> String {
    let plain = !key.is_empty() && !key.starts_with(|c: char| c.is_ascii_digit());
    let plain = plain && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match (of.is_empty(), plain) {
        (true, _) => String::new(),
        (false, true) => format!("{of}.{key}"),
        (false, false) => format!("{of}['{key}']"),
    }
}
