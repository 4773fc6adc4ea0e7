//! Expressions: the conditions, keys and values of a workflow, in CEL, and templates, which are JSON with `${…}` in it.
//!
//! Text becomes an `Expr` once: `scan` (quotes and brackets) → `parse` (→ `Syntax`) → `resolve`
//! (names, macros, functions → `Node`; every mistake that can be seen without values is a `Problem`). Then `eval` walks the
//! `Node`s over a `Scope` of borrowed JSON, paying a `Budget` at each step, and gives JSON back or an `EvalError` that
//! shows the values it read. Invariants: no text and no value makes it panic, overflow a 256 KiB stack or go on beyond
//! its budget; the same expression over the same values gives the same, and costs the same, for ever.

mod arithmetic;
mod budget;
mod call;
mod demand;
mod error;
mod eval;
mod filter;
mod functions;
mod gives;
mod json;
pub mod limits;
mod names;
mod node;
mod parse;
mod pattern;
mod report;
mod resolve;
mod scan;
mod scope;
mod template;
#[cfg(test)]
mod tests;
mod value;

#[cfg(test)]
pub(crate) const FUNCTION_NAMES: [&str; functions::FUNCTIONS.len()] = functions::NAMES;

pub use budget::Budget;
pub use error::{EvalError, Failure, Problem};
pub use filter::RunFilter;
pub use names::{Listed, Names, NodeField, Reads, Root};
pub use scope::{Bindings, Bound, NodeResult, Scope};
pub use template::Template;
pub(crate) use value::Value;

use crate::context::{Demand, Wants};
use eval::Evaluator;
use node::Node;
use resolve::Resolver;
use serde_json::Value as Json;

/// A compiled expression: checked, immutable, shared between threads.
///
/// ```
/// use flow::expr::{Bindings, Budget, Expr, Names, Root};
/// use serde_json::json;
///
/// let names = Names::new([Root::Input]);
/// let expr = Expr::compile("input.amount * 2", &names).unwrap();
/// let (good, bad) = (json!({"amount": 60}), json!({"amuont": 5}));
///
/// let eval = |input| expr.eval(&Bindings::new().bind(Root::Input, input), &mut Budget::default());
/// assert_eq!(eval(&good).unwrap(), json!(120));
/// assert_eq!(
///     eval(&bad).unwrap_err().to_string(),
///     r#"input.amount * 2: no key `amount` in input; there is `amuont`, where input = {"amuont":5}"#
/// );
/// let problems = Expr::compile("inptu.amount > 100", &names).unwrap_err();
/// assert_eq!(problems[0].to_string(), "there is no name `inptu` (at 0); did you mean `input`?");
/// ```
#[derive(Debug)]
pub struct Expr {
    source: Box<str>,
    node: Node,
    reads: Reads,
}

impl Expr {
    /// Checks everything that can be checked without values, and tells all that is wrong.
    pub fn compile(source: &str, names: &Names<'_>) -> Result<Expr, Vec<Problem>> {
        Expr::compile_as(source, source, names, Wants::Anything)
    }

    /// As `compile`, for a place where a boolean is required: what obviously gives something else is refused.
    pub fn compile_flag(source: &str, names: &Names<'_>) -> Result<Expr, Vec<Problem>> {
        Expr::compile_for(source, names, Wants::Truth)
    }

    /// As `compile`, for a place where something is wanted of it.
    pub fn compile_for(source: &str, names: &Names<'_>, wants: Wants) -> Result<Expr, Vec<Problem>> {
        Expr::compile_as(source, source, names, wants)
    }

    /// `shown` is what was written where `source` is what it means.
    fn compile_as(shown: &str, source: &str, names: &Names<'_>, wants: Wants) -> Result<Expr, Vec<Problem>> {
        let syntax = parse::parse(source).map_err(|problem| vec![problem])?;
        let (node, reads) = Resolver::resolve(&syntax, names, wants)?;
        Ok(Expr { source: shown.into(), node, reads })
    }

    /// The first `event.path == …` that has to hold for the whole to hold, if the other side does not read the event.
    pub(crate) fn demand(source: &str) -> Option<Demand> {
        demand::of(&parse::parse(source).ok()?)
    }

    pub fn source(&self) -> &str {
        &self.source
    }

    /// Which names and nodes it reads: at most these are asked of the scope.
    pub fn reads(&self) -> &Reads {
        &self.reads
    }

    /// Which keys of `event` it reads; `None` stands for all of them.
    pub(crate) fn event_keys(&self) -> Vec<Option<&str>> {
        let mut keys = Vec::new();
        filter::read(&self.node, Root::Event, &mut keys);
        keys
    }

    /// Which keys of `event.data` it reads; `None` stands for all of them.
    pub(crate) fn data_keys(&self) -> Vec<Option<&str>> {
        let mut keys = Vec::new();
        filter::read_below(&self.node, Root::Event, "data", &mut keys);
        keys
    }

    pub fn eval(&self, scope: &dyn Scope, budget: &mut Budget) -> Result<Json, EvalError> {
        self.eval_at_depth(scope, budget, 0)
    }

    /// Gives a boolean or fails: there is no truth in numbers or strings.
    pub fn eval_flag(&self, scope: &dyn Scope, budget: &mut Budget) -> Result<bool, EvalError> {
        let flag = Evaluator::new(scope, budget).flag(&self.node);
        flag.map_err(|stop| report::report(*stop, &self.source, &self.node, scope))
    }

    /// What it gives is handed on as it is, borrowed where it was borrowed. It pays as if it were copied.
    pub(crate) fn eval_then<T>(
        &self,
        scope: &dyn Scope,
        budget: &mut Budget,
        then: impl FnOnce(&Value<'_>) -> T,
    ) -> Result<T, EvalError> {
        let mut evaluator = Evaluator::new(scope, budget);
        let value = evaluator.eval(&self.node).and_then(|value| {
            evaluator.weigh(&value, 0)?;
            Ok(then(&value))
        });
        value.map_err(|stop| report::report(*stop, &self.source, &self.node, scope))
    }

    /// `depth` is how deep in a larger value the result will stand.
    fn eval_at_depth(&self, scope: &dyn Scope, budget: &mut Budget, depth: usize) -> Result<Json, EvalError> {
        let mut evaluator = Evaluator::new(scope, budget);
        let result = evaluator.eval(&self.node).and_then(|value| evaluator.json(&value, depth));
        result.map_err(|stop| report::report(*stop, &self.source, &self.node, scope))
    }
}
