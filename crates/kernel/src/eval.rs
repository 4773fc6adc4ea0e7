//! Expressions, as the kernel sees them: something that can be asked, and answers the same to the same. The kernel knows
//! where values are and never what they are; `flow` evaluates, within a budget, on values the engine has at hand. What an
//! expression gave is recorded, so history is never evaluated again.

use crate::event::EventSpec;
use crate::frame::Source;
use crate::ids::{EventId, RecordSeq, RunId};
use crate::ir::{ExprIx, Ir};
use crate::names::{NodeId, WorkflowName};
use crate::record::{Failure, Payload};
use crate::run::ValueAt;
use crate::time::Time;
use crate::workflow::Workflow;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What an expression may see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    pub run: RunId,
    pub input: ValueAt,
    pub output: Shape,
    /// In an `each`: the item and its index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<(ValueAt, u32)>,
    /// In a `loop`: the turn, from 0, and the output of the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<(u32, ValueAt)>,
    /// Of the nodes it reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<(NodeId, NodeFacts)>,
    /// The one that may be waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<Box<EventFacts>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventFacts {
    pub id: EventId,
    pub spec: EventSpec,
    pub received_at: Time,
    pub data: ValueAt,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeFacts {
    pub status: String,
    pub output: Shape,
    pub error: Option<Failure>,
}

/// A value, or an object put together of some.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    At(ValueAt),
    Object(Vec<(NodeId, Shape)>),
}

/// The input of a run's task: what to make it of. Its values lie on the shard of `scope.run`, wherever the task is. It is
/// worked out when a worker gets the task, off the writer; what it names never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    pub workflow: WorkflowName,
    pub version: u32,
    /// Of a run that follows a text of its own: that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<TextAt>,
    pub node: NodeId,
    pub scope: Scope,
}

/// The text of a run that was patched: the record whose payload has it, and which it is.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextAt {
    pub record: RecordSeq,
    pub digest: u128,
}

/// The code of what an expression itself gets wrong, as against what it reads being lost.
pub const EXPRESSION_FAILED: &str = "expression";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evaluated {
    Value(Json),
    /// These values that it reads are not at hand: they are fetched, and the question comes again.
    Missing(Vec<RecordSeq>),
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
    /// A value that was recorded just now, and may be asked for in the same batch.
    fn keep(&mut self, seq: RecordSeq, payload: &Payload);

    /// What a workflow's text compiles to; the same for the same text. It was checked when it was put.
    fn compile(&mut self, workflow: &Workflow) -> Result<Arc<Ir>, String>;

    fn eval(&mut self, ir: &Arc<Ir>, expr: ExprIx, scope: &Scope) -> Evaluated;

    /// Why a run of this workflow cannot have this input; `None`: it can.
    fn misfit(&mut self, ir: &Arc<Ir>, input: &Payload) -> Option<Failure>;

    /// `Shape` as one value: what a node without an expression of its own gives or is given.
    fn gather(&mut self, shape: &Shape) -> Evaluated;

    /// The list of these, in order.
    fn list(&mut self, items: &[ValueAt]) -> Evaluated;

    /// What it has cost, in steps of evaluation, to answer all that was asked since this was asked. The same to the same.
    fn spent(&mut self) -> u64;
}

/// For a shard without workflows: nothing can be asked.
pub struct NoFlow;

impl Flow for NoFlow {
    fn keep(&mut self, _: RecordSeq, _: &Payload) {}

    fn compile(&mut self, _: &Workflow) -> Result<Arc<Ir>, String> {
        unreachable!("there is no workflow")
    }

    fn eval(&mut self, _: &Arc<Ir>, _: ExprIx, _: &Scope) -> Evaluated {
        unreachable!("there is no workflow, so there is no expression")
    }

    fn misfit(&mut self, _: &Arc<Ir>, _: &Payload) -> Option<Failure> {
        unreachable!("there is no workflow, so there is no input")
    }

    fn gather(&mut self, _: &Shape) -> Evaluated {
        unreachable!("there is no workflow, so there is no value")
    }

    fn list(&mut self, _: &[ValueAt]) -> Evaluated {
        unreachable!("there is no workflow, so there is no value")
    }

    fn spent(&mut self) -> u64 {
        0
    }
}

impl Shape {
    pub(crate) fn of(ir: &Ir, source: Source, entry: ValueAt) -> Shape {
        match source {
            Source::Value(value) => Shape::At(value),
            Source::Entry => Shape::At(entry),
            Source::Several(parts) => {
                let part = |(node, part)| (ir.node(node).id.clone(), Shape::of(ir, part, entry));
                Shape::Object(parts.into_iter().map(part).collect())
            }
        }
    }
}
