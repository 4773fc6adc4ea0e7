//! The evaluator: one walk over the `Node`s, one unit of the budget per step, CEL's meaning of every form. It recurses
//! only as deep as the expression is, which `DEPTH_MAX` bounds; each form has its own small frame, for the stack's sake.

use super::budget::Budget;
use super::error::{Stop, clipped, shown};
use super::limits::*;
use super::names::{NodeField, Root};
use super::node::{Binary, Fold, Form, How, Node, Unary};
use super::report::label;
use super::scope::{Bound, Scope};
use super::value::{Key, List, Map, Text, Value, whole};
use std::rc::Rc;

pub(crate) type Evaluated<'a> = Result<Value<'a>, Box<Stop<'a>>>;

pub(crate) struct Evaluator<'a, 'b> {
    scope: &'a dyn Scope,
    pub(crate) budget: &'b mut Budget,
    /// The values of the comprehensions' variables, outermost first.
    variables: Vec<Value<'a>>,
}

impl<'a, 'b> Evaluator<'a, 'b> {
    pub fn new(scope: &'a dyn Scope, budget: &'b mut Budget) -> Evaluator<'a, 'b> {
        Evaluator { scope, budget, variables: Vec::new() }
    }

    pub fn eval(&mut self, node: &'a Node) -> Evaluated<'a> {
        self.pay(node, 1)?;
        match &node.form {
            Form::Literal(literal) => Ok(Value::literal(literal)),
            Form::Root(root) => self.root(node, *root),
            Form::NodeField(id, field) => self.node_field(node, id, *field),
            Form::Variable(slot) => Ok(self.variables[*slot].clone()),
            Form::Select(of, key) => self.select(node, of, key),
            Form::Has(of, key) => self.has(of, key),
            Form::HasNodeField(id, field) => Ok(Value::Bool(self.find_node_field(node, id, *field)?.is_some())),
            Form::Unary(unary, of) => self.unary(node, *unary, of),
            Form::Binary(Binary::And, sides) => self.logic(sides, false),
            Form::Binary(Binary::Or, sides) => self.logic(sides, true),
            Form::Binary(binary, sides) => self.binary(node, *binary, sides),
            Form::Conditional(parts) => {
                let chosen = if self.flag(&parts[0])? { &parts[1] } else { &parts[2] };
                self.eval(chosen)
            }
            Form::List(list) => self.list(list),
            Form::Map(map) => self.map(node, map),
            Form::Call(function, args) => {
                let args = args.iter().map(|arg| self.eval(arg)).collect::<Result<Vec<_>, _>>()?;
                self.call(node, *function, args)
            }
            Form::Matches(text, pattern) => match self.eval(text)? {
                Value::Text(text) => Ok(Value::Bool(pattern.matches(&text, self.budget)?)),
                other => Err(self.fail(node, format!("`matches` needs a string, not {}", other.kind()))),
            },
            Form::Fold(fold) => self.fold(node, fold),
        }
    }

    /// A value that must be a boolean.
    pub fn flag(&mut self, node: &'a Node) -> Result<bool, Box<Stop<'a>>> {
        match self.eval(node)? {
            Value::Bool(flag) => Ok(flag),
            other => Err(self.fail(node, format!("a condition must be true or false, not {}", other.kind()))),
        }
    }

    pub(crate) fn pay(&mut self, node: &Node, units: u64) -> Result<(), Box<Stop<'static>>> {
        self.budget.pay(units).map_err(|mut stop| {
            stop.offset = node.at;
            stop
        })
    }

    /// An error at the node; it costs, for one may be made and absorbed per element of a list.
    #[cold]
    #[inline(never)]
    pub(crate) fn fail(&mut self, node: &Node, message: String) -> Box<Stop<'static>> {
        match self.pay(node, ERROR_COST) {
            Ok(()) => Box::new(Stop { message, offset: node.at, too_costly: false, variables: Vec::new(), missing: None }),
            Err(stop) => stop,
        }
    }

    #[inline(never)]
    fn root(&mut self, node: &'a Node, root: Root) -> Evaluated<'a> {
        match self.scope.root(root) {
            Some(bound) => self.bound(node, bound),
            None => Err(self.fail(node, format!("there is no `{root}` here"))),
        }
    }

    /// An object put together costs as many steps as it has parts.
    fn bound(&mut self, node: &Node, bound: Bound<'a>) -> Evaluated<'a> {
        match bound {
            Bound::Json(json) => Ok(Value::of(json)),
            Bound::Object(parts) => {
                self.pay(node, parts.len() as u64)?;
                let part = |(key, part)| Ok((Key::Text(Text::Borrowed(key)), self.bound(node, part)?));
                let map = parts.into_iter().map(part).collect::<Result<_, Box<Stop<'a>>>>()?;
                Ok(Value::Map(Map::Built(Rc::new(map))))
            }
        }
    }

    fn find_node_field(&mut self, node: &Node, id: &str, field: NodeField) -> Result<Option<Value<'a>>, Box<Stop<'a>>> {
        match field {
            NodeField::Output => self.scope.node_output(id).map(|bound| self.bound(node, bound)).transpose(),
            NodeField::Status => Ok(self.scope.node_status(id).map(|status| Value::Text(Text::Borrowed(status)))),
            NodeField::Error => Ok(self.scope.node_error(id).map(Value::of)),
        }
    }

    #[inline(never)]
    fn node_field(&mut self, node: &'a Node, id: &str, field: NodeField) -> Evaluated<'a> {
        match (self.find_node_field(node, id, field)?, field) {
            (Some(value), _) => Ok(value),
            (None, NodeField::Error) => Ok(Value::Null),
            (None, NodeField::Status) => Err(self.fail(node, format!("node `{id}` has no status"))),
            (None, NodeField::Output) => {
                let status = self.scope.node_status(id).map_or(String::new(), |status| format!(": it is {status}"));
                Err(self.fail(node, format!("node `{id}` has no output{status}; test it with has({})", label(node))))
            }
        }
    }

    #[inline(never)]
    fn select(&mut self, node: &'a Node, of: &'a Node, key: &'a str) -> Evaluated<'a> {
        let value = self.eval(of)?;
        if let Value::Map(map) = &value {
            if let Some(found) = map.get(&Key::Text(Text::Borrowed(key))) {
                return Ok(found);
            }
            return Err(self.no_key(node, of, map, key));
        }
        let of = label(of);
        let place = if of.is_empty() { " in".to_owned() } else { format!(": {of} is") };
        Err(self.fail(node, format!("no key `{key}`{place} {}", value.kind())))
    }

    #[cold]
    #[inline(never)]
    fn no_key(&mut self, node: &Node, of: &Node, map: &Map<'a>, key: &str) -> Box<Stop<'a>> {
        let of = label(of);
        let place = if of.is_empty() { String::new() } else { format!(" in {of}") };
        let mut stop: Box<Stop<'a>> = self.fail(node, format!("no key `{}`{place}", clipped(key)));
        if !stop.too_costly {
            stop.missing = Some((clipped(key).to_owned(), map.clone()));
        }
        stop
    }

    #[inline(never)]
    fn has(&mut self, of: &'a Node, key: &'a str) -> Evaluated<'a> {
        let found = match self.eval(of)? {
            Value::Map(map) => map.get(&Key::Text(Text::Borrowed(key))).is_some(),
            Value::Null => false,
            other => return Err(self.fail(of, format!("`has` asks for `{key}` of a map, not of {}", other.kind()))),
        };
        Ok(Value::Bool(found))
    }

    #[inline(never)]
    fn unary(&mut self, node: &'a Node, unary: Unary, of: &'a Node) -> Evaluated<'a> {
        let value = self.eval(of)?;
        match (unary, &value) {
            (Unary::Not, Value::Bool(flag)) => Ok(Value::Bool(!flag)),
            (Unary::Negate, Value::Double(value)) => Ok(Value::Double(-value)),
            (Unary::Negate, Value::Int(value)) => match value.checked_neg() {
                Some(value) => Ok(Value::Int(value)),
                None => Err(self.fail(node, format!("-({value}) is beyond the ints"))),
            },
            (Unary::Not, other) => Err(self.fail(node, format!("`!` needs true or false, not {}", other.kind()))),
            (Unary::Negate, other) => Err(self.fail(node, format!("`-` needs an int or a double, not {}", other.kind()))),
        }
    }

    /// `&&` (deciding: false) and `||` (deciding: true): a side that decides hides the other's error, on either side.
    #[inline(never)]
    fn logic(&mut self, sides: &'a [Node; 2], deciding: bool) -> Evaluated<'a> {
        let left = self.flag(&sides[0]);
        match left {
            Ok(flag) if flag == deciding => return Ok(Value::Bool(deciding)),
            Err(stop) if stop.too_costly => return Err(stop),
            _ => {}
        }
        match (left, self.flag(&sides[1])) {
            (_, Ok(flag)) if flag == deciding => Ok(Value::Bool(deciding)),
            (Ok(_), Ok(_)) => Ok(Value::Bool(!deciding)),
            (_, Err(stop)) if stop.too_costly => Err(stop),
            (Err(stop), _) | (_, Err(stop)) => Err(stop),
        }
    }

    #[inline(never)]
    fn binary(&mut self, node: &'a Node, binary: Binary, sides: &'a [Node; 2]) -> Evaluated<'a> {
        let left = self.eval(&sides[0])?;
        let right = self.eval(&sides[1])?;
        match binary {
            Binary::Equal => Ok(Value::Bool(self.equal(node, &left, &right, 0)?)),
            Binary::NotEqual => Ok(Value::Bool(!self.equal(node, &left, &right, 0)?)),
            Binary::Less | Binary::LessEqual | Binary::Greater | Binary::GreaterEqual => {
                self.ordered(node, binary, &left, &right)
            }
            Binary::In => self.contained(node, &left, &right),
            Binary::Index => self.index(node, &sides[0], &left, &right),
            _ => self.arithmetic(node, binary, &left, &right),
        }
    }

    #[inline(never)]
    fn index(&mut self, node: &'a Node, of: &Node, value: &Value<'a>, key: &Value<'a>) -> Evaluated<'a> {
        match value {
            Value::Map(map) => {
                let Some(key) = Key::of(key) else {
                    return Err(self.fail(node, format!("{} cannot be a key", key.kind())));
                };
                self.budget.read_text(key.bytes())?;
                match map.get(&key) {
                    Some(found) => Ok(found),
                    None => Err(self.no_key(node, of, map, &key.to_string())),
                }
            }
            Value::List(list) => {
                let index = match key {
                    Value::Double(value) => whole(*value),
                    other => other.integer(),
                };
                let Some(index) = index else {
                    return Err(self.fail(node, format!("a list's index must be an int, not {}", key.kind())));
                };
                match usize::try_from(index).ok().and_then(|index| list.get(index)) {
                    Some(found) => Ok(found),
                    None => Err(self.fail(node, format!("no index {index} in a list of {}", list.len()))),
                }
            }
            other => Err(self.fail(node, format!("only lists and maps have `[…]`, not {}", other.kind()))),
        }
    }

    #[inline(never)]
    fn list(&mut self, elements: &'a [Node]) -> Evaluated<'a> {
        self.budget.build_list(elements.len())?;
        elements.iter().map(|element| self.eval(element)).collect::<Result<_, _>>().map(Value::list)
    }

    #[inline(never)]
    fn map(&mut self, node: &'a Node, entries: &'a [(Node, Node)]) -> Evaluated<'a> {
        let mut map = std::collections::BTreeMap::new();
        for (key, value) in entries {
            let key = self.eval(key)?;
            let Some(key) = Key::of(&key) else {
                return Err(self.fail(node, format!("{} cannot be a key", key.kind())));
            };
            let value = self.eval(value)?;
            self.pay(node, 2)?;
            self.budget.read_text(key.bytes())?;
            self.budget.build(ENTRY_BYTES)?;
            if map.contains_key(&key) {
                return Err(self.fail(node, format!("the key `{}` is there twice", clipped(&key.to_string()))));
            }
            map.insert(key, value);
        }
        Ok(Value::Map(Map::Built(Rc::new(map))))
    }

    #[inline(never)]
    fn fold(&mut self, node: &'a Node, fold: &'a Fold) -> Evaluated<'a> {
        let elements = match self.eval(&fold.over)? {
            Value::List(list) => list,
            Value::Map(map) => {
                self.budget.build_list(map.len())?;
                List::Built(Rc::new(map.entries().map(|(key, _)| key.into_value()).collect()))
            }
            other => return Err(self.fail(node, format!("only over a list or a map's keys, not over {}", other.kind()))),
        };
        match fold.how {
            How::All => self.quantify(fold, &elements, false),
            How::Exists => self.quantify(fold, &elements, true),
            How::ExistsOne => {
                let mut found = 0;
                for element in elements.iter() {
                    found += u32::from(self.with(fold, &element, |this| this.flag(&fold.body))?);
                }
                Ok(Value::Bool(found == 1))
            }
            How::Map | How::Filter => self.select_from(fold, &elements),
        }
    }

    /// `exists` (deciding: true) and `all` (deciding: false): one element that decides hides the others' errors.
    #[inline(never)]
    fn quantify(&mut self, fold: &'a Fold, elements: &List<'a>, deciding: bool) -> Evaluated<'a> {
        let mut failed = None;
        for element in elements.iter() {
            match self.with(fold, &element, |this| this.flag(&fold.body)) {
                Ok(flag) if flag == deciding => return Ok(Value::Bool(deciding)),
                Ok(_) => {}
                Err(stop) if stop.too_costly => return Err(stop),
                Err(stop) => failed = failed.or(Some(stop)),
            }
        }
        failed.map_or(Ok(Value::Bool(!deciding)), Err)
    }

    /// `map`, with or without a condition, and `filter`.
    #[inline(never)]
    fn select_from(&mut self, fold: &'a Fold, elements: &List<'a>) -> Evaluated<'a> {
        let mut chosen = Vec::new();
        for element in elements.iter() {
            let taken = self.with(fold, &element, |this| match (fold.how, &fold.keep) {
                (How::Filter, _) => Ok(this.flag(&fold.body)?.then(|| element.clone())),
                (_, Some(keep)) if !this.flag(keep)? => Ok(None),
                _ => this.eval(&fold.body).map(Some),
            })?;
            if let Some(value) = taken {
                self.budget.build(ELEMENT_BYTES)?;
                chosen.push(value);
            }
        }
        Ok(Value::list(chosen))
    }

    /// Evaluates with the fold's variable bound to the element; an error shows what it was.
    fn with<T>(
        &mut self,
        fold: &'a Fold,
        element: &Value<'a>,
        eval: impl FnOnce(&mut Self) -> Result<T, Box<Stop<'a>>>,
    ) -> Result<T, Box<Stop<'a>>> {
        self.pay(&fold.body, 1)?;
        self.variables.push(element.clone());
        let result = eval(self);
        self.variables.pop();
        result.map_err(|mut stop| {
            if !stop.too_costly && stop.variables.len() < SHOWN_VALUES_MAX {
                stop.variables.push((fold.variable.to_string(), shown(element)));
            }
            stop
        })
    }
}
