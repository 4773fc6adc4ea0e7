//! Templates: any JSON value in whose strings may stand `${expression}`. A string that is nothing else gives the value
//! with its type; within other text a value becomes text (strings as they are, null as nothing, others as compact JSON).
//! `$${` stands for `${`. The old forms `$nodes.X.path` and `${$nodes.X.path}` mean `nodes.X.output.path`. Keys are not
//! templates.

use super::budget::Budget;
use super::error::{EvalError, Failure, Problem, Stop};
use super::eval::Evaluator;
use super::limits::*;
use super::names::{Names, Reads};
use super::scan;
use super::scope::Scope;
use super::value::Value;
use super::{Expr, report};
use crate::context::Wants;
use crate::wide;
use serde_json::{Map as JsonMap, Value as Json};

/// A compiled template: checked, immutable, shared between threads.
#[derive(Debug)]
pub struct Template {
    part: Part,
    reads: Reads,
}

#[derive(Debug)]
enum Part {
    /// Nothing to resolve in it.
    Constant(Json),
    Typed(Box<Expr>),
    Text(Vec<Piece>),
    List(Vec<Part>),
    Map(Vec<(String, Part)>),
}

#[derive(Debug)]
enum Piece {
    Plain(String),
    Expr(Expr),
}

impl Template {
    pub fn compile(json: &Json, names: &Names<'_>) -> Result<Template, Vec<Problem>> {
        let mut compiling = Compiling { names, path: Vec::new(), expressions: 0, problems: Vec::new(), reads: Reads::default() };
        let part = compiling.part(json);
        if compiling.problems.is_empty() { Ok(Template { part, reads: compiling.reads }) } else { Err(compiling.problems) }
    }

    /// Which names and nodes its expressions read.
    pub fn reads(&self) -> &Reads {
        &self.reads
    }

    /// All its expressions together spend the one budget.
    pub fn resolve(&self, scope: &dyn Scope, budget: &mut Budget) -> Result<Json, EvalError> {
        self.part.resolve(scope, budget, &mut Vec::new())
    }
}

struct Compiling<'n> {
    names: &'n Names<'n>,
    /// The way to the value at hand, for the problems.
    path: Vec<String>,
    expressions: usize,
    problems: Vec<Problem>,
    reads: Reads,
}

impl Compiling<'_> {
    fn problem(&mut self, mut problem: Problem, offset: usize) {
        problem.path = pointer(&self.path);
        problem.offset += offset;
        self.problems.push(problem);
    }

    fn part(&mut self, json: &Json) -> Part {
        if self.path.len() > TEMPLATE_DEPTH_MAX {
            self.problem(Problem::new(0, format!("the template nests deeper than {TEMPLATE_DEPTH_MAX}")), 0);
            return Part::Constant(Json::Null);
        }
        match json {
            Json::String(text) => self.text(text),
            Json::Array(list) => {
                let parts = list.iter().enumerate().map(|(index, json)| self.below(index.to_string(), json)).collect();
                constant_list(parts)
            }
            Json::Object(map) => {
                let parts = map.iter().map(|(key, json)| (key.clone(), self.below(key.clone(), json))).collect();
                constant_map(parts)
            }
            other => Part::Constant(other.clone()),
        }
    }

    fn below(&mut self, key: String, json: &Json) -> Part {
        self.path.push(key);
        let part = self.part(json);
        self.path.pop();
        part
    }

    fn text(&mut self, text: &str) -> Part {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut at = 0;
        while let Some(found) = text[at..].find('$') {
            let dollar = at + found;
            plain.push_str(&text[at..dollar]);
            let rest = &text[dollar..];
            if rest.starts_with("$${") {
                plain.push_str("${");
                at = dollar + 3;
            } else if rest.starts_with("${") {
                let Some(end) = scan::closing_brace(text, dollar + 2) else {
                    self.problem(
                        Problem::new(0, "`${` has no closing `}`").suggest("write `$${` for the text `${`".to_owned()),
                        dollar,
                    );
                    return Part::Constant(Json::Null);
                };
                self.expression(&text[dollar + 2..end], dollar + 2, &mut plain, &mut pieces);
                at = end + 1;
            } else if let Some(bytes) = old_form(rest) {
                self.expression(&rest[..bytes], dollar, &mut plain, &mut pieces);
                at = dollar + bytes;
            } else {
                plain.push('$');
                at = dollar + 1;
            }
        }
        plain.push_str(&text[at..]);
        if pieces.is_empty() {
            return Part::Constant(Json::String(wide::text(&plain).into_owned()));
        }
        if !plain.is_empty() {
            pieces.push(Piece::Plain(plain));
        }
        match pieces.pop() {
            Some(Piece::Expr(expr)) if pieces.is_empty() => Part::Typed(Box::new(expr)),
            last => {
                pieces.extend(last);
                Part::Text(pieces)
            }
        }
    }

    fn expression(&mut self, source: &str, offset: usize, plain: &mut String, pieces: &mut Vec<Piece>) {
        self.expressions += 1;
        if self.expressions > TEMPLATE_EXPRESSIONS_MAX {
            if self.expressions == TEMPLATE_EXPRESSIONS_MAX + 1 {
                let message = format!("a template may hold {TEMPLATE_EXPRESSIONS_MAX} expressions");
                self.problem(Problem::new(0, message), offset);
            }
            return;
        }
        let trimmed = source.trim();
        let compiled = match old_form(trimmed) {
            Some(bytes) if bytes == trimmed.len() => {
                let compiled = Expr::compile_as(trimmed, &new_form(trimmed), self.names, Wants::Anything);
                // The places in the new form say nothing of the old.
                compiled.map_err(|problems| problems.into_iter().map(|problem| Problem { offset: 0, ..problem }).collect())
            }
            _ => Expr::compile(source, self.names),
        };
        match compiled {
            Ok(expr) => {
                self.reads.merge(expr.reads());
                if !plain.is_empty() {
                    pieces.push(Piece::Plain(std::mem::take(plain)));
                }
                pieces.push(Piece::Expr(expr));
            }
            Err(problems) => problems.into_iter().for_each(|problem| self.problem(problem, offset)),
        }
    }
}

/// A list of constants is one constant, which is copied whole.
fn constant_list(parts: Vec<Part>) -> Part {
    if parts.iter().any(|part| !matches!(part, Part::Constant(_))) {
        return Part::List(parts);
    }
    Part::Constant(Json::Array(parts.into_iter().filter_map(Part::into_constant).collect()))
}

fn constant_map(parts: Vec<(String, Part)>) -> Part {
    if parts.iter().any(|(_, part)| !matches!(part, Part::Constant(_))) {
        return Part::Map(parts);
    }
    let entries = parts.into_iter().filter_map(|(key, part)| Some((key, part.into_constant()?)));
    Part::Constant(Json::Object(entries.collect()))
}

impl Part {
    fn into_constant(self) -> Option<Json> {
        if let Part::Constant(json) = self { Some(json) } else { None }
    }

    fn resolve(&self, scope: &dyn Scope, budget: &mut Budget, path: &mut Vec<String>) -> Result<Json, EvalError> {
        let below = |key: String, part: &Part, budget: &mut Budget, path: &mut Vec<String>| {
            path.push(key);
            let resolved = part.resolve(scope, budget, path);
            path.pop();
            resolved
        };
        match self {
            Part::Constant(json) => {
                Evaluator::new(scope, budget).json(&Value::of(json), path.len()).map_err(|stop| in_template(*stop, path))
            }
            Part::Typed(expr) => expr.eval_at_depth(scope, budget, path.len()).map_err(|error| at(error, path)),
            Part::Text(pieces) => {
                let mut text = String::new();
                for piece in pieces {
                    piece.append(&mut text, scope, budget).map_err(|error| at(error, path))?;
                }
                Ok(Json::String(text))
            }
            Part::List(parts) => {
                let parts = parts.iter().enumerate().map(|(index, part)| below(index.to_string(), part, budget, path));
                parts.collect::<Result<_, _>>().map(Json::Array)
            }
            Part::Map(parts) => {
                let parts = parts.iter().map(|(key, part)| Ok((key.clone(), below(key.clone(), part, budget, path)?)));
                parts.collect::<Result<JsonMap<_, _>, _>>().map(Json::Object)
            }
        }
    }
}

impl Piece {
    fn append(&self, text: &mut String, scope: &dyn Scope, budget: &mut Budget) -> Result<(), EvalError> {
        let expr = match self {
            Piece::Plain(plain) => {
                let paid = budget.build_text(plain.len());
                paid.map_err(|stop| in_template(*stop, &[]))?;
                text.push_str(plain);
                return Ok(());
            }
            Piece::Expr(expr) => expr,
        };
        match Value::of(&expr.eval(scope, budget)?) {
            Value::Null => {}
            Value::Text(value) => text.push_str(&value),
            other => {
                let json = serde_json::to_string(&other).expect("a value has a JSON form");
                let paid = budget.build_text(json.len());
                paid.map_err(|stop| report::report(*stop, &expr.source, &expr.node, scope))?;
                text.push_str(&json);
            }
        }
        Ok(())
    }
}

/// The error, with its place in the template.
fn at(mut error: EvalError, path: &[String]) -> EvalError {
    let (EvalError::Failed(failure) | EvalError::TooCostly(failure)) = &mut error;
    failure.path = pointer(path);
    error
}

/// A stop outside of any expression: only the budget, or the depth of a constant.
fn in_template(stop: Stop<'_>, path: &[String]) -> EvalError {
    let expression = "the template".to_owned();
    let failure = Failure { path: pointer(path), expression, message: stop.message, offset: 0, read: Vec::new() };
    if stop.too_costly { EvalError::TooCostly(Box::new(failure)) } else { EvalError::Failed(Box::new(failure)) }
}

fn pointer(path: &[String]) -> String {
    path.iter().map(|key| format!("/{}", key.replace('~', "~0").replace('/', "~1"))).collect()
}

/// How many bytes of `$nodes.<id>` and the keys after it stand at the start of the text.
fn old_form(text: &str) -> Option<usize> {
    const START: &str = "$nodes";
    let mut end = text.starts_with(START).then_some(START.len())?;
    while let Some(key) = text[end..].strip_prefix('.') {
        let bytes = key.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-').unwrap_or(key.len());
        // A dash or a dot at the end belongs to the sentence around it.
        let bytes = key[..bytes].trim_end_matches('-').len();
        if bytes == 0 {
            break;
        }
        end += 1 + bytes;
    }
    (end > START.len()).then_some(end)
}

/// `$nodes.a.b.0` → `nodes['a'].output['b'][0]`.
fn new_form(old: &str) -> String {
    let mut keys = old.split('.').skip(1);
    let id = keys.next().unwrap_or_default();
    let keys = keys.map(|key| match key.bytes().all(|byte| byte.is_ascii_digit()) {
        true => format!("[{key}]"),
        false => format!("['{key}']"),
    });
    format!("nodes['{id}'].output{}", keys.collect::<String>())
}
