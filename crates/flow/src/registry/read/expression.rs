//! Expressions and templates of a registry, compiled where they stand.

use crate::context::Wants;
use crate::define::Source;
use crate::define::scalars::{text, wrong};
use crate::define::written;
use crate::expr::{self, Expr, Names, Template};
use crate::problem::{Problem, Problems};
use crate::registry::event::EventExpr;
use crate::source::{Data, Value, short};

pub fn expr(value: &Value, names: &Names<'_>, wants: Wants, problems: &mut Problems) -> Option<Expr> {
    let source = written::cel(value, problems)?;
    tell(Expr::compile_for(&source.text, names, wants), &source, problems)
}

/// A text with `${…}` in it.
pub fn template(value: &Value, names: &Names<'_>, problems: &mut Problems) -> Option<Template> {
    let json = serde_json::Value::from(&*text(value, problems)?);
    tell(Template::compile(&json, names), &written::template(value), problems)
}

fn tell<T>(compiled: Result<T, Vec<expr::Problem>>, source: &Source, problems: &mut Problems) -> Option<T> {
    match compiled {
        Ok(compiled) => Some(compiled),
        Err(found) => {
            for expr::Problem { path, offset, message, suggestion } in found {
                problems.add(Problem { suggestion, ..Problem::new(&source.place(&path, offset), message) });
            }
            None
        }
    }
}

/// One of some words.
pub fn word<T: Copy>(value: &Value, known: &[(&str, T)], problems: &mut Problems) -> Option<T> {
    let written = text(value, problems)?;
    let found = known.iter().find(|(name, _)| **name == *written).map(|(_, meant)| *meant);
    if found.is_none() {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let problem = Problem::new(&value.at, format!("`{}` is none of {}", short(&written), names.join(", ")));
        let meant = crate::problem::did_you_mean(&written, names);
        problems.add(Problem { suggestion: meant, ..problem });
    }
    found
}

/// An expression over `event`.
pub fn event_expr(value: &Value, problems: &mut Problems) -> Option<EventExpr> {
    expr(value, &EventExpr::names(), Wants::Anything, problems).map(EventExpr::new)
}

pub fn condition(value: &Value, problems: &mut Problems) -> Option<EventExpr> {
    expr(value, &EventExpr::names(), Wants::Truth, problems).map(EventExpr::new)
}

/// An expression that gives a level or a head start in seconds.
pub fn priority_expr(value: &Value, problems: &mut Problems) -> Option<EventExpr> {
    expr(value, &EventExpr::names(), Wants::Priority, problems).map(EventExpr::new)
}

pub fn flag(value: &Value, problems: &mut Problems) -> Option<bool> {
    match value.data {
        Data::Bool(flag) => Some(flag),
        _ => {
            wrong(value, "true or false", problems);
            None
        }
    }
}
