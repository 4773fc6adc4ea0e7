//! What an expression may say where it stands. The language itself is another module's: it is asked through `Expressions`,
//! and the definition part knows nothing of its syntax.

use crate::problem::did_you_mean;
use crate::source::short;
use kernel::ir::{Form, NodeIx, Reads};

/// The language of expressions and templates.
pub trait Expressions {
    /// Checks the text as far as that is possible without values, and says what it reads.
    fn check(&self, source: &str, form: Form, context: &Context<'_>) -> Result<Reads, Vec<ExprProblem>>;

    /// What a condition over an event demands before anything else, if that is that something of it equals something else.
    fn demand(&self, _source: &str) -> Option<Demand> {
        None
    }
}

/// `of == is`, as texts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Demand {
    /// Reads only the event.
    pub of: String,
    /// Does not read it.
    pub is: String,
    /// There is no other.
    pub whole: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExprProblem {
    /// Of the text it lies in, in a template, as a JSON Pointer; empty in an expression.
    pub path: String,
    /// In bytes of that text, or of the expression.
    pub offset: usize,
    pub message: String,
    pub suggestion: Option<String>,
}

/// Where an expression stands: what it must give, which names there are, which nodes have ended before.
#[derive(Copy, Clone)]
pub struct Context<'a> {
    pub wants: Wants,
    pub names: Names,
    pub nodes: &'a dyn Nodes,
}

/// What an expression must give.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Wants {
    Anything,
    /// True or false.
    Truth,
    List,
    /// A text such as `2027-01-31T09:00:00Z`.
    Instant,
    Millis,
    /// A level, or a head start in seconds.
    Priority,
}

/// Names beside `nodes` that have a value here.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Names {
    pub input: bool,
    /// Of the predecessor; in a loop's `until`, of its body.
    pub output: bool,
    /// `item` and `index`: there is an `each` around it.
    pub item: bool,
    /// `iteration` and `last`: there is a `loop` around it.
    pub last: bool,
    pub run: bool,
    pub event: bool,
}

/// The nodes of a definition, as seen from one place in it.
pub trait Nodes {
    fn find(&self, id: &str) -> Found;
    /// All of them, wherever they stand.
    fn known<'a>(&'a self) -> Box<dyn Iterator<Item = &'a str> + 'a>;
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    Upstream(NodeIx),
    /// It is there, but its output is not seen from here; why, as a sentence.
    Elsewhere(String),
    Unknown,
}

impl Context<'_> {
    /// The node an expression reads, or why it cannot and what was probably meant.
    pub fn node(&self, id: &str) -> Result<NodeIx, (String, Option<String>)> {
        match self.nodes.find(id) {
            Found::Upstream(node) => Ok(node),
            Found::Elsewhere(why) => Err((why, None)),
            Found::Unknown => Err((format!("no node `{}`", short(id)), did_you_mean(id, self.nodes.known()))),
        }
    }
}
