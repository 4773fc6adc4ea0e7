//! `Syntax` → `Node`: every name, macro and function finds its meaning, or becomes a `Problem`. It goes on after a
//! problem, so that one look tells all of them.

use super::error::Problem;
use super::functions::Function;
use super::gives::{RUN_KEYS, misfit};
use super::limits::*;
use super::names::{Names, NodeField, Reads, Root};
use super::node::{Binary, Fold, Form, How, Literal, Node, Syntax, SyntaxForm, Unary};
use super::pattern::Pattern;
use super::value::Type;
use crate::context::Wants;
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
    pub fn resolve(syntax: &Syntax, names: &Names<'_>, wants: Wants) -> Result<(Node, Reads), Vec<Problem>> {
        let mut resolver = Resolver { names, variables: Vec::new(), problems: Vec::new(), reads: Reads::default() };
        let node = resolver.wanted(syntax, wants);
        resolver.problems.sort_by_key(|problem| problem.offset);
        if resolver.problems.is_empty() { Ok((node, resolver.reads)) } else { Err(resolver.problems) }
    }

    fn problem(&mut self, at: usize, message: impl Into<String>, suggestion: Option<String>) -> Form {
        self.problems.push(Problem::new(at, message).suggest(suggestion));
        NOTHING
    }

    /// As `node`, where something is wanted of it. What has a problem already gives nothing that could be held against it.
    fn wanted(&mut self, syntax: &Syntax, wants: Wants) -> Node {
        let before = self.problems.len();
        let node = self.node(syntax);
        if self.problems.len() == before {
            self.problems.extend(misfit(&node, wants));
        }
        node
    }

    fn truth(&mut self, syntax: &Syntax) -> Node {
        self.wanted(syntax, Wants::Truth)
    }

    fn node(&mut self, syntax: &Syntax) -> Node {
        let form = match &syntax.form {
            SyntaxForm::Literal(literal) => Form::Literal(literal.clone()),
            SyntaxForm::Name(name) => self.name(name, syntax.at),
            SyntaxForm::Select(..) => self.keyed(syntax),
            SyntaxForm::Binary(Binary::Index, _) => self.keyed(syntax),
            SyntaxForm::Unary(Unary::Not, of) => Form::Unary(Unary::Not, Box::new(self.truth(of))),
            SyntaxForm::Unary(unary, of) => Form::Unary(*unary, Box::new(self.node(of))),
            SyntaxForm::Binary(Binary::Subtract, _) if self.dashed(syntax) => NOTHING,
            SyntaxForm::Binary(binary @ (Binary::And | Binary::Or), sides) => {
                Form::Binary(*binary, Box::new([self.truth(&sides[0]), self.truth(&sides[1])]))
            }
            SyntaxForm::Binary(binary, sides) => Form::Binary(*binary, Box::new([self.node(&sides[0]), self.node(&sides[1])])),
            SyntaxForm::Conditional(parts) => {
                Form::Conditional(Box::new([self.truth(&parts[0]), self.node(&parts[1]), self.node(&parts[2])]))
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
                // Where the keys of a run stand for themselves, they are what is known.
                let there: Vec<String> = match self.names.run_keys() {
                    [] => self.names.roots().map(|root| format!("`{root}`")).collect(),
                    keys => keys.iter().map(|key| format!("`{key}`")).collect(),
                };
                let there = there.join(", ");
                return self.problem(at, format!("`{name}` is not known here"), Some(format!("known are {there}")));
            }
            None => {}
        }
        if let Some(key) = self.names.run_keys().iter().find(|key| **key == name) {
            self.reads.roots.insert(Root::Run);
            let run = Node { at: at as u32, form: Form::Root(Root::Run) };
            return Form::Select(Box::new(run), (*key).into());
        }
        if let Some(kind) = Type::ALL.into_iter().find(|kind| kind.name() == name) {
            return Form::Literal(Literal::Text(kind.name().to_owned()));
        }
        let suggestion = if self.names.ids().any(|id| id == name) {
            Some(format!("write nodes.{name}.output"))
        } else {
            let known = self.names.roots().chain(self.names.run_keys().iter().copied());
            did_you_mean(name, known.chain(self.variables.iter().map(String::as_str)))
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
            SyntaxForm::Select(of, key) => {
                let of = self.node(of);
                self.root_key(&of, key, syntax.at);
                Form::Select(Box::new(of), key.as_str().into())
            }
            SyntaxForm::Binary(_, sides) => {
                let of = self.node(&sides[0]);
                if let SyntaxForm::Literal(Literal::Text(key)) = &sides[1].form {
                    self.root_key(&of, key, syntax.at);
                }
                Form::Binary(Binary::Index, Box::new([of, self.node(&sides[1])]))
            }
            _ => NOTHING,
        }
    }

    /// What `run` holds is known, and in some places what `event` does.
    fn root_key(&mut self, of: &Node, key: &str, at: usize) {
        let (root, known) = match (&of.form, self.names.run_keys(), self.names.event_keys()) {
            (Form::Root(Root::Run), [], _) => (Root::Run, RUN_KEYS.iter().map(|(known, _)| *known).collect()),
            (Form::Root(Root::Run), keys, _) => (Root::Run, keys.to_vec()),
            (Form::Root(Root::Event), _, keys) if !keys.is_empty() => (Root::Event, keys.to_vec()),
            _ => return,
        };
        if !known.contains(&key) {
            let (last, others) = known.split_last().expect("it has some");
            let others = others.iter().map(|known| format!("`{known}`")).collect::<Vec<_>>().join(", ");
            let suggestion = did_you_mean(key, known.iter().copied());
            self.problem(at, format!("`{root}` has {others} and `{last}`, but no `{key}`"), suggestion);
        }
    }

    /// `nodes.lint-fix.output` reads as a subtraction, where there is a node `lint-fix`.
    fn dashed(&mut self, syntax: &Syntax) -> bool {
        let (mut left, mut words, mut keys) = (syntax, Vec::new(), String::new());
        let (nodes, first, rest) = loop {
            if let Some((nodes, id)) = key_of(left).filter(|(nodes, _)| self.is_nodes(nodes)) {
                break (nodes, id, None);
            }
            let SyntaxForm::Binary(binary, sides) = &left.form else { return false };
            if let Some((nodes, id)) = key_of(&sides[1]).filter(|(nodes, _)| self.is_nodes(nodes)) {
                break (nodes, id, Some(&sides[0]));
            }
            let mut right = &sides[1];
            while let SyntaxForm::Select(of, key) = &right.form {
                if words.is_empty() {
                    keys.insert_str(0, &format!(".{key}"));
                }
                right = of;
            }
            match &right.form {
                SyntaxForm::Name(name) if *binary == Binary::Subtract => words.push(name.clone()),
                SyntaxForm::Literal(Literal::Int(number)) if *binary == Binary::Subtract => words.push(number.to_string()),
                _ => return false,
            }
            left = &sides[0];
        };
        words.push(first.to_owned());
        words.reverse();
        let id = words.join("-");
        if words.len() == 1 || !self.names.ids().any(|known| known == id) {
            return false;
        }
        let keys = if keys.is_empty() { ".output" } else { &keys };
        self.problem(nodes.at, format!("`nodes.{id}` reads as a subtraction"), Some(format!("write nodes['{id}']{keys}")));
        rest.map(|rest| self.node(rest));
        true
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
            None => {
                let of = self.node(of);
                self.root_key(&of, key, arg.at);
                Form::Has(Box::new(of), key.into())
            }
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
        let keep = keep.map(|keep| self.truth(keep));
        let body = if how == How::Map { self.node(body) } else { self.truth(body) };
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
