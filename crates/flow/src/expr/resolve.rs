//! `Syntax` → `Node`: every name, macro and function finds its meaning, or becomes a `Problem`. It goes on after a
//! problem, so that one look tells all of them.

use super::error::Problem;
use super::functions::Function;
use super::limits::*;
use super::names::{Names, NodeField, Reads, Root};
use super::node::{Binary, Fold, Form, How, Literal, Node, Syntax, SyntaxForm, Unary};
use super::pattern::Pattern;
use super::value::Type;
use crate::problem::did_you_mean;

pub(crate) struct Resolver<'n> {
    names: &'n Names<'n>,
    /// The variables of the comprehensions around, outermost first.
    variables: Vec<String>,
    problems: Vec<Problem>,
    reads: Reads,
}

/// Stands for what has a problem; nobody evaluates it.
const NOTHING: Form = Form::Literal(Literal::Null);

impl Resolver<'_> {
    pub fn resolve(syntax: &Syntax, names: &Names<'_>, flag: bool) -> Result<(Node, Reads), Vec<Problem>> {
        let mut resolver = Resolver { names, variables: Vec::new(), problems: Vec::new(), reads: Reads::default() };
        let node = resolver.node(syntax);
        if let (true, true, Some(what)) = (flag, resolver.problems.is_empty(), not_a_flag(&node)) {
            let problem = Problem::new(syntax.at, format!("a condition must be true or false; this gives {what}"));
            resolver.problems.push(problem.suggest("compare it with something".to_owned()));
        }
        resolver.problems.sort_by_key(|problem| problem.offset);
        if resolver.problems.is_empty() { Ok((node, resolver.reads)) } else { Err(resolver.problems) }
    }

    fn problem(&mut self, at: usize, message: impl Into<String>, suggestion: Option<String>) -> Form {
        self.problems.push(Problem::new(at, message).suggest(suggestion));
        NOTHING
    }

    fn node(&mut self, syntax: &Syntax) -> Node {
        let form = match &syntax.form {
            SyntaxForm::Literal(literal) => Form::Literal(literal.clone()),
            SyntaxForm::Name(name) => self.name(name, syntax.at),
            SyntaxForm::Select(..) => self.keyed(syntax),
            SyntaxForm::Binary(Binary::Index, _) => self.keyed(syntax),
            SyntaxForm::Unary(unary, of) => Form::Unary(*unary, Box::new(self.node(of))),
            SyntaxForm::Binary(binary, sides) => Form::Binary(*binary, Box::new([self.node(&sides[0]), self.node(&sides[1])])),
            SyntaxForm::Conditional(parts) => {
                Form::Conditional(Box::new([self.node(&parts[0]), self.node(&parts[1]), self.node(&parts[2])]))
            }
            SyntaxForm::List(list) => Form::List(list.iter().map(|element| self.node(element)).collect()),
            SyntaxForm::Map(map) => Form::Map(map.iter().map(|(key, value)| (self.node(key), self.node(value))).collect()),
            SyntaxForm::Call { name, target, args } => self.call(name, target.as_deref(), args, syntax.at),
        };
        Node { at: syntax.at as u32, form }
    }

    fn name(&mut self, name: &str, at: usize) -> Form {
        if let Some(slot) = self.variables.iter().rposition(|variable| variable == name) {
            return Form::Variable(slot);
        }
        match Root::parse(name) {
            Some(Root::Nodes) if self.names.has(Root::Nodes) => {
                let usage = "write nodes.<id>.output, .status or .error".to_owned();
                return self.problem(at, "`nodes` can be read only one node at a time", Some(usage));
            }
            Some(root) if self.names.has(root) => {
                self.reads.roots.insert(root);
                return Form::Root(root);
            }
            Some(_) => {
                let there = self.names.roots().map(|root| format!("`{root}`")).collect::<Vec<_>>().join(", ");
                return self.problem(at, format!("`{name}` is not known here"), Some(format!("known are {there}")));
            }
            None => {}
        }
        if let Some(kind) = Type::ALL.into_iter().find(|kind| kind.name() == name) {
            return Form::Literal(Literal::Text(kind.name().to_owned()));
        }
        let suggestion = if self.names.ids().any(|id| id == name) {
            Some(format!("write nodes.{name}.output"))
        } else {
            did_you_mean(name, self.names.roots().chain(self.variables.iter().map(String::as_str)))
        };
        self.problem(at, format!("there is no name `{name}`"), suggestion)
    }

    fn is_nodes(&self, syntax: &Syntax) -> bool {
        let name = matches!(&syntax.form, SyntaxForm::Name(name) if name == Root::Nodes.name());
        name && self.names.has(Root::Nodes) && !self.variables.iter().any(|variable| variable == Root::Nodes.name())
    }

    /// `of.key` and `of[key]`; at their root may stand `nodes.<id>.<field>`.
    fn keyed(&mut self, syntax: &Syntax) -> Form {
        if let Some((of, id)) = key_of(syntax)
            && self.is_nodes(of)
        {
            return self.whole_node(id, syntax.at);
        }
        if let Some((id, field)) = self.node_field(syntax) {
            return field.map_or(NOTHING, |field| Form::NodeField(id.into(), field));
        }
        match &syntax.form {
            SyntaxForm::Select(of, key) => Form::Select(Box::new(self.node(of)), key.as_str().into()),
            SyntaxForm::Binary(_, sides) => Form::Binary(Binary::Index, Box::new([self.node(&sides[0]), self.node(&sides[1])])),
            _ => NOTHING,
        }
    }

    /// `nodes.<id>.<field>`: its id, and its field if nothing is wrong with either.
    fn node_field<'s>(&mut self, syntax: &'s Syntax) -> Option<(&'s str, Option<NodeField>)> {
        let (of, name) = key_of(syntax)?;
        let (nodes, id) = key_of(of)?;
        if !self.is_nodes(nodes) {
            return None;
        }
        if let Err((message, suggestion)) = self.names.check_node(id) {
            self.problem(of.at, message, suggestion);
            return Some((id, None));
        }
        let Some(field) = NodeField::parse(name) else {
            let near = did_you_mean(name, NodeField::ALL.into_iter().map(NodeField::name));
            let suggestion = near.or_else(|| Some(format!("write nodes.{id}.output.{name}")));
            self.problem(syntax.at, format!("a node has `output`, `status` and `error`, but no `{name}`"), suggestion);
            return Some((id, None));
        };
        self.reads.node(id, field);
        Some((id, Some(field)))
    }

    /// `nodes.<id>` without a field.
    fn whole_node(&mut self, id: &str, at: usize) -> Form {
        // `nodes.lint-fix.output` reads as a subtraction.
        let dashed = self.names.ids().find(|known| known.strip_prefix(id).is_some_and(|rest| rest.starts_with('-')));
        let dashed = dashed.map(|known| format!("write nodes['{known}'].output"));
        match self.names.check_node(id) {
            Err((message, suggestion)) => self.problem(at, message, dashed.or(suggestion)),
            Ok(()) => {
                let message = format!("of `nodes.{id}` can be read only `output`, `status` and `error`");
                self.problem(at, message, dashed.or_else(|| Some(format!("write nodes.{id}.output"))))
            }
        }
    }

    fn call(&mut self, name: &str, target: Option<&Syntax>, args: &[Syntax], at: usize) -> Form {
        if let (None, "has") = (target, name) {
            return self.has(args, at);
        }
        if let (Some(over), Some(how)) = (target, How::parse(name)) {
            return self.fold(name, how, over, args, at);
        }
        let count = args.len() + usize::from(target.is_some());
        let found = Function::find(name, target.is_some(), count);
        let args: Vec<Node> = target.into_iter().chain(args).map(|arg| self.node(arg)).collect();
        let function = match found {
            Ok(function) => function,
            Err((message, suggestion)) => return self.problem(at, message, suggestion),
        };
        if function != Function::Matches {
            return Form::Call(function, args);
        }
        let Some(Form::Literal(Literal::Text(pattern))) = args.last().map(|pattern| &pattern.form) else {
            return Form::Call(function, args);
        };
        match Pattern::compile(pattern) {
            Ok(pattern) => match args.into_iter().next() {
                Some(text) => Form::Matches(Box::new(text), Box::new(pattern)),
                None => NOTHING,
            },
            Err(why) => self.problem(at, why, None),
        }
    }

    fn has(&mut self, args: &[Syntax], at: usize) -> Form {
        let usage = || Some("write has(input.key)".to_owned());
        let [arg] = args else { return self.problem(at, "`has` takes one argument", usage()) };
        let Some((of, key)) = key_of(arg) else { return self.problem(arg.at, "`has` asks for a key of something", usage()) };
        if self.is_nodes(of) {
            return self.problem(arg.at, "`has` asks for a key of something", Some(format!("write has(nodes.{key}.output)")));
        }
        match self.node_field(arg) {
            Some((id, field)) => field.map_or(NOTHING, |field| Form::HasNodeField(id.into(), field)),
            None => Form::Has(Box::new(self.node(of)), key.into()),
        }
    }

    fn fold(&mut self, name: &str, how: How, over: &Syntax, args: &[Syntax], at: usize) -> Form {
        let usage = || Some(format!("write list.{name}(x, …)"));
        let (variable, keep, body) = match args {
            [variable, body] => (variable, None, body),
            [variable, keep, body] if how == How::Map => (variable, Some(keep), body),
            _ => return self.problem(at, format!("`{name}` does not take {} arguments", args.len()), usage()),
        };
        let SyntaxForm::Name(variable) = &variable.form else {
            return self.problem(variable.at, format!("`{name}` needs the name of a variable first"), usage());
        };
        if self.variables.len() == FOLDS_NESTED_MAX {
            let names = "`map`, `filter`, `all` and `exists`";
            return self.problem(at, format!("{names} nest deeper than {FOLDS_NESTED_MAX}"), None);
        }
        let over = self.node(over);
        self.variables.push(variable.clone());
        let keep = keep.map(|keep| self.node(keep));
        let body = self.node(body);
        self.variables.pop();
        Form::Fold(Box::new(Fold { how, over, variable: variable.as_str().into(), keep, body }))
    }
}

/// `of.key`, `of['key']`.
fn key_of(syntax: &Syntax) -> Option<(&Syntax, &str)> {
    match &syntax.form {
        SyntaxForm::Select(of, key) => Some((of, key)),
        SyntaxForm::Binary(Binary::Index, sides) => match &sides[1].form {
            SyntaxForm::Literal(Literal::Text(key)) => Some((&sides[0], key)),
            _ => None,
        },
        _ => None,
    }
}

/// What the node gives, if that is obviously not a boolean.
fn not_a_flag(node: &Node) -> Option<&'static str> {
    match &node.form {
        Form::Literal(Literal::Bool(_)) => None,
        Form::Literal(Literal::Null) => Some("null"),
        Form::Literal(Literal::Text(_)) | Form::NodeField(_, NodeField::Status) => Some("a string"),
        Form::Literal(_) | Form::Unary(Unary::Negate, _) | Form::Root(Root::Index | Root::Iteration) => Some("a number"),
        Form::List(_) => Some("a list"),
        Form::Map(_) => Some("a map"),
        Form::Binary(Binary::Add, _) => Some("a sum"),
        Form::Binary(Binary::Subtract | Binary::Multiply | Binary::Divide | Binary::Modulo, _) => Some("a number"),
        Form::Conditional(parts) => not_a_flag(&parts[1]).or_else(|| not_a_flag(&parts[2])),
        Form::Call(function, _) => match function.signature().gives? {
            Type::Null | Type::Bool | Type::Wide => None,
            Type::Int | Type::Uint | Type::Double => Some("a number"),
            Type::Text => Some("a string"),
            Type::List => Some("a list"),
            Type::Map => Some("a map"),
        },
        Form::Fold(fold) if matches!(fold.how, How::Map | How::Filter) => Some("a list"),
        _ => None,
    }
}
