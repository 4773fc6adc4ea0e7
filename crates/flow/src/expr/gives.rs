//! What an expression gives, as far as its text alone tells: enough to find a condition that can be none.

use super::error::Problem;
use super::functions::Function;
use super::names::{NodeField, Root};
use super::node::{Binary, Form, How, Literal, Node, Unary};
use super::value::Type;
use crate::context::Wants;
use crate::instant;
use crate::source::short;
use kernel::priority::Priority;

/// What `run` holds, and what each gives.
pub(crate) const RUN_KEYS: [(&str, Gives); 3] = [("id", Gives::Text), ("workflow", Gives::Text), ("version", Gives::Number)];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gives {
    /// Only its values tell.
    Unknown,
    Null,
    Bool,
    Number,
    Text,
    List,
    Map,
    /// A number, a text or a list.
    Sum,
}

impl Gives {
    fn words(self) -> &'static str {
        match self {
            Gives::Unknown => "something else",
            Gives::Null => "null",
            Gives::Bool => "true or false",
            Gives::Number => "a number",
            Gives::Text => "a string",
            Gives::List => "a list",
            Gives::Map => "a map",
            Gives::Sum => "a number, a string or a list",
        }
    }
}

fn of_type(kind: Type) -> Gives {
    match kind {
        Type::Null => Gives::Null,
        Type::Bool => Gives::Bool,
        Type::Int | Type::Uint | Type::Double | Type::Wide => Gives::Number,
        Type::Text => Gives::Text,
        Type::List => Gives::List,
        Type::Map => Gives::Map,
    }
}

fn of_run(key: &str) -> Gives {
    RUN_KEYS.iter().find(|(known, _)| *known == key).map_or(Gives::Unknown, |(_, gives)| *gives)
}

fn gives(node: &Node) -> Gives {
    match &node.form {
        Form::Literal(Literal::Null) => Gives::Null,
        Form::Literal(Literal::Bool(_)) => Gives::Bool,
        Form::Literal(Literal::Int(_) | Literal::Uint(_) | Literal::Double(_)) => Gives::Number,
        Form::Literal(Literal::Text(_)) | Form::NodeField(_, NodeField::Status) => Gives::Text,
        Form::Root(Root::Index | Root::Iteration) => Gives::Number,
        Form::Root(Root::Run) => Gives::Map,
        Form::Root(_) | Form::NodeField(..) | Form::Variable(_) => Gives::Unknown,
        Form::Select(of, key) if matches!(of.form, Form::Root(Root::Run)) => of_run(key),
        Form::Select(..) => Gives::Unknown,
        Form::Has(..) | Form::HasNodeField(..) | Form::Matches(..) | Form::Unary(Unary::Not, _) => Gives::Bool,
        Form::Unary(Unary::Negate, _) => Gives::Number,
        Form::Binary(binary, sides) => match binary {
            Binary::Index => match (&sides[0].form, &sides[1].form) {
                (Form::Root(Root::Run), Form::Literal(Literal::Text(key))) => of_run(key),
                _ => Gives::Unknown,
            },
            Binary::Add => match [gives(&sides[0]), gives(&sides[1])] {
                [known @ (Gives::Number | Gives::Text | Gives::List), _] => known,
                [_, known @ (Gives::Number | Gives::Text | Gives::List)] => known,
                _ => Gives::Sum,
            },
            Binary::Subtract | Binary::Multiply | Binary::Divide | Binary::Modulo => Gives::Number,
            _ => Gives::Bool,
        },
        Form::Conditional(parts) => match [gives(&parts[1]), gives(&parts[2])] {
            [one, other] if one == other => one,
            _ => Gives::Unknown,
        },
        Form::List(_) => Gives::List,
        Form::Map(_) => Gives::Map,
        Form::Call(Function::Sum, _) => Gives::Number,
        Form::Call(function, _) => function.signature().gives.map_or(Gives::Unknown, of_type),
        Form::Fold(fold) if matches!(fold.how, How::Map | How::Filter) => Gives::List,
        Form::Fold(_) => Gives::Bool,
    }
}

/// What is wrong with the expression where something is wanted of it; nothing, if that hangs on its values.
pub(crate) fn misfit(node: &Node, wants: Wants) -> Option<Problem> {
    if let Form::Conditional(parts) = &node.form {
        return misfit(&parts[1], wants).or_else(|| misfit(&parts[2], wants));
    }
    let given = gives(node);
    let fits = match wants {
        Wants::Anything => true,
        Wants::Truth => given == Gives::Bool,
        Wants::List => matches!(given, Gives::List | Gives::Sum),
        Wants::Millis => matches!(given, Gives::Number | Gives::Sum),
        Wants::Instant => match &node.form {
            Form::Literal(Literal::Text(text)) => instant::parse_ms(text).is_some(),
            _ => matches!(given, Gives::Text | Gives::Sum),
        },
        Wants::Priority => match &node.form {
            Form::Literal(Literal::Text(text)) => Priority::parse(text).is_some(),
            Form::Literal(Literal::Int(seconds)) => Priority::seconds(*seconds).is_some(),
            Form::Literal(Literal::Double(_)) => false,
            _ => matches!(given, Gives::Text | Gives::Number | Gives::Sum),
        },
    };
    if fits || given == Gives::Unknown {
        return None;
    }
    let what = given.words();
    let (message, instead) = match wants {
        Wants::Instant if given == Gives::Text => ("this is no instant".to_owned(), "write one such as '2027-01-31T09:00:00Z'"),
        Wants::Instant => (format!("an instant must be a string; this gives {what}"), "write one such as '2027-01-31T09:00:00Z'"),
        Wants::Priority => (
            match &node.form {
                Form::Literal(Literal::Text(text)) => format!("`{}` is no priority", short(text)),
                Form::Literal(Literal::Int(_)) => "no priority has so long a head start".to_owned(),
                Form::Literal(Literal::Double(_)) => "a head start has whole seconds".to_owned(),
                _ => format!("a priority must stand here; this gives {what}"),
            },
            "give 'critical', 'high', 'normal', 'background' or a number of seconds",
        ),
        Wants::List => (format!("a list must stand here; this gives {what}"), "write what gives one, such as input.files"),
        Wants::Millis => {
            (format!("milliseconds must stand here; this gives {what}"), "write a duration such as 30s without quotes")
        }
        Wants::Anything | Wants::Truth => {
            (format!("a condition must be true or false; this gives {what}"), "compare it with something")
        }
    };
    Some(Problem::new(node.at as usize, message).suggest(instead.to_owned()))
}
