//! Expressions, as the kernel sees them: something that can be asked, and answers the same to the same. The kernel knows
//! where values are and never what they are; `flow` evaluates, within a budget, on values the engine has at hand. What an
//! expression gave is recorded, so history is never evaluated again.

use crate::frame::{Cause, Source};
use crate::ids::RunId;
use crate::ir::{ExprIx, Ir, NodeIx};
use crate::record::{Failure, Payload};
use crate::run::Value;
use std::sync::Arc;

/// What an expression may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    pub run: RunId,
    pub input: Value,
    pub output: Shape,
    /// In an `each`: the item and its index.
    pub item: Option<(Value, u32)>,
    /// In a `loop`: the turn, from 0, and the output of the one before.
    pub last: Option<(u32, Value)>,
    /// Of the nodes it reads.
    pub nodes: Vec<(NodeIx, NodeFacts)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFacts {
    pub status: &'static str,
    pub output: Shape,
    pub error: Option<Failure>,
}

/// A value, or an object put together of some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    At(Value),
    Object(Vec<(NodeIx, Shape)>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evaluated {
    Value(Json),
    /// Some value it reads is not at hand: it is being fetched, and the question comes again.
    Missing,
    Failed(Failure),
}

/// A value with as much of it as the kernel needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Json {
    pub payload: Payload,
    pub view: View,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum View {
    Null,
    Bool(bool),
    Int(i64),
    Text(Arc<str>),
    List(u32),
    Other,
}

pub trait Flow {
    fn eval(&mut self, ir: &Ir, expr: ExprIx, scope: &Scope) -> Evaluated;

    /// `Shape` as one value: what a node without an expression of its own gives or is given.
    fn gather(&mut self, ir: &Ir, shape: &Shape) -> Evaluated;

    /// The list of these, in order.
    fn list(&mut self, items: &[Value]) -> Evaluated;
}

/// For a shard without workflows: nothing can be asked.
pub struct NoFlow;

impl Flow for NoFlow {
    fn eval(&mut self, _: &Ir, _: ExprIx, _: &Scope) -> Evaluated {
        unreachable!("there is no workflow, so there is no expression")
    }

    fn gather(&mut self, _: &Ir, _: &Shape) -> Evaluated {
        unreachable!("there is no workflow, so there is no value")
    }

    fn list(&mut self, _: &[Value]) -> Evaluated {
        unreachable!("there is no workflow, so there is no value")
    }
}

impl Shape {
    pub(crate) fn of(source: Source, entry: Value) -> Shape {
        match source {
            Source::Value(value) => Shape::At(value),
            Source::Entry => Shape::At(entry),
            Source::Several(parts) => Shape::Object(parts.into_iter().map(|(node, part)| (node, Shape::of(part, entry))).collect()),
        }
    }
}

/// The sentence of a node that was skipped.
pub(crate) fn skipped_why(cause: Cause) -> &'static str {
    match cause {
        Cause::Untaken => "the way to it was not taken",
        Cause::Failed => "something it waits for failed",
    }
}
