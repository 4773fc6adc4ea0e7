//! The two shapes of an expression: `Syntax`, as it was written, and `Node`, in which every name, macro and function is
//! resolved. Both are trees no deeper than `DEPTH_MAX`, so whoever walks them may recurse.

use super::functions::Function;
use super::names::{NodeField, Root};
use super::pattern::Pattern;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Not,
    Negate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    And,
    Or,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    Index,
}

impl Binary {
    pub fn sign(self) -> &'static str {
        match self {
            Binary::And => "&&",
            Binary::Or => "||",
            Binary::Add => "+",
            Binary::Subtract => "-",
            Binary::Multiply => "*",
            Binary::Divide => "/",
            Binary::Modulo => "%",
            Binary::Equal => "==",
            Binary::NotEqual => "!=",
            Binary::Less => "<",
            Binary::LessEqual => "<=",
            Binary::Greater => ">",
            Binary::GreaterEqual => ">=",
            Binary::In => "in",
            Binary::Index => "[]",
        }
    }
}

/// An expression as it was written; `at` is its byte in the source.
#[derive(Debug)]
pub(crate) struct Syntax {
    pub at: usize,
    pub form: SyntaxForm,
}

#[derive(Debug)]
pub(crate) enum SyntaxForm {
    Literal(Literal),
    Name(String),
    Select(Box<Syntax>, String),
    Unary(Unary, Box<Syntax>),
    Binary(Binary, Box<[Syntax; 2]>),
    Conditional(Box<[Syntax; 3]>),
    List(Vec<Syntax>),
    Map(Vec<(Syntax, Syntax)>),
    Call { name: String, target: Option<Box<Syntax>>, args: Vec<Syntax> },
}

/// An expression ready to be evaluated.
#[derive(Debug)]
pub(crate) struct Node {
    pub at: u32,
    pub form: Form,
}

#[derive(Debug)]
pub(crate) enum Form {
    Literal(Literal),
    Root(Root),
    NodeField(Box<str>, NodeField),
    /// A comprehension's variable, by how many comprehensions stand around it.
    Variable(usize),
    Select(Box<Node>, Box<str>),
    Has(Box<Node>, Box<str>),
    HasNodeField(Box<str>, NodeField),
    Unary(Unary, Box<Node>),
    Binary(Binary, Box<[Node; 2]>),
    Conditional(Box<[Node; 3]>),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
    /// A method's receiver is its first argument.
    Call(Function, Vec<Node>),
    /// `matches` with a pattern that is a literal, compiled once.
    Matches(Box<Node>, Box<Pattern>),
    Fold(Box<Fold>),
}

/// `over.map(variable, keep, body)` and its kin.
#[derive(Debug)]
pub(crate) struct Fold {
    pub how: How,
    pub over: Node,
    pub variable: Box<str>,
    /// Only `map` may have it.
    pub keep: Option<Node>,
    pub body: Node,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    All,
    Exists,
    ExistsOne,
    Map,
    Filter,
}

impl How {
    pub const NAMES: [(&'static str, How); 6] = [
        ("all", How::All),
        ("exists", How::Exists),
        ("exists_one", How::ExistsOne),
        ("existsOne", How::ExistsOne),
        ("map", How::Map),
        ("filter", How::Filter),
    ];

    pub fn parse(name: &str) -> Option<How> {
        How::NAMES.iter().find(|(known, _)| *known == name).map(|(_, how)| *how)
    }
}
