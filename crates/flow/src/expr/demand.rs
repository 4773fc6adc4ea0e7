//! What a condition demands first: `event.path == expr`, alone or joined to the rest by `&&`. Whoever waits for such an event
//! is found by the value of `expr` instead of being asked one by one.

use super::names::Root;
use super::node::{Binary, Literal, Syntax, SyntaxForm, Unary};
use crate::context::Demand;
use std::fmt::Write;

pub(super) fn of(syntax: &Syntax) -> Option<Demand> {
    let mut parts = Vec::new();
    conjuncts(syntax, &mut parts);
    let whole = parts.len() == 1;
    parts.into_iter().find_map(|part| {
        let SyntaxForm::Binary(Binary::Equal, sides) = &part.form else { return None };
        let [left, right] = &**sides;
        let (of, is) = if is_path(left) && !mentions(right) { (left, right) } else { (right, left) };
        (is_path(of) && !mentions(is)).then(|| Demand { of: text(of), is: text(is), whole })
    })
}

fn conjuncts<'a>(syntax: &'a Syntax, into: &mut Vec<&'a Syntax>) {
    match &syntax.form {
        SyntaxForm::Binary(Binary::And, sides) => sides.iter().for_each(|side| conjuncts(side, into)),
        _ => into.push(syntax),
    }
}

fn is_event(syntax: &Syntax) -> bool {
    matches!(&syntax.form, SyntaxForm::Name(name) if name == Root::Event.name())
}

/// `event.data.order`, `event.data["order"]`, `event.data.lines[0]`.
fn is_path(syntax: &Syntax) -> bool {
    match &syntax.form {
        SyntaxForm::Select(of, _) => is_event(of) || is_path(of),
        SyntaxForm::Binary(Binary::Index, sides) => {
            let plain = matches!(sides[1].form, SyntaxForm::Literal(Literal::Text(_) | Literal::Int(_)));
            plain && (is_event(&sides[0]) || is_path(&sides[0]))
        }
        _ => false,
    }
}

/// Whether the name stands anywhere in it, also as a variable's.
fn mentions(syntax: &Syntax) -> bool {
    match &syntax.form {
        SyntaxForm::Literal(_) => false,
        SyntaxForm::Name(_) => is_event(syntax),
        SyntaxForm::Select(of, _) | SyntaxForm::Unary(_, of) => mentions(of),
        SyntaxForm::Binary(_, sides) => sides.iter().any(mentions),
        SyntaxForm::Conditional(parts) => parts.iter().any(mentions),
        SyntaxForm::List(list) => list.iter().any(mentions),
        SyntaxForm::Map(map) => map.iter().any(|(key, value)| mentions(key) || mentions(value)),
        SyntaxForm::Call { target, args, .. } => target.as_deref().is_some_and(mentions) || args.iter().any(mentions),
    }
}

/// It means the same when it is read again.
fn text(syntax: &Syntax) -> String {
    let mut out = String::new();
    write(syntax, &mut out);
    out
}

fn write(syntax: &Syntax, out: &mut String) {
    match &syntax.form {
        SyntaxForm::Literal(literal) => write_literal(literal, out),
        SyntaxForm::Name(name) => out.push_str(name),
        SyntaxForm::Select(of, key) => {
            write(of, out);
            let _ = write!(out, ".{key}");
        }
        SyntaxForm::Unary(unary, of) => {
            out.push_str(match unary {
                Unary::Not => "(!(",
                Unary::Negate => "(-(",
            });
            write(of, out);
            out.push_str("))");
        }
        SyntaxForm::Binary(Binary::Index, sides) => {
            write(&sides[0], out);
            out.push('[');
            write(&sides[1], out);
            out.push(']');
        }
        SyntaxForm::Binary(binary, sides) => {
            out.push('(');
            write(&sides[0], out);
            let _ = write!(out, " {} ", binary.sign());
            write(&sides[1], out);
            out.push(')');
        }
        SyntaxForm::Conditional(parts) => {
            out.push('(');
            write(&parts[0], out);
            out.push_str(" ? ");
            write(&parts[1], out);
            out.push_str(" : ");
            write(&parts[2], out);
            out.push(')');
        }
        SyntaxForm::List(list) => {
            out.push('[');
            write_all(list, out);
            out.push(']');
        }
        SyntaxForm::Map(map) => {
            out.push('{');
            for (at, (key, value)) in map.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write(key, out);
                out.push_str(": ");
                write(value, out);
            }
            out.push('}');
        }
        SyntaxForm::Call { name, target, args } => {
            if let Some(target) = target {
                write(target, out);
                out.push('.');
            }
            let _ = write!(out, "{name}(");
            write_all(args, out);
            out.push(')');
        }
    }
}

fn write_all(list: &[Syntax], out: &mut String) {
    for (at, one) in list.iter().enumerate() {
        out.push_str(if at > 0 { ", " } else { "" });
        write(one, out);
    }
}

fn write_literal(literal: &Literal, out: &mut String) {
    let _ = match literal {
        Literal::Null => write!(out, "null"),
        Literal::Bool(value) => write!(out, "{value}"),
        Literal::Int(value) => write!(out, "{value}"),
        Literal::Uint(value) => write!(out, "{value}u"),
        Literal::Double(value) => write!(out, "{value:?}"),
        // As JSON writes it, so does CEL.
        Literal::Text(text) => write!(out, "{}", serde_json::Value::from(text.as_str())),
    };
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::*;

    fn demanded(source: &str) -> Option<(String, String, bool)> {
        of(&parse(source).expect(source)).map(|Demand { of, is, whole }| (of, is, whole))
    }

    #[test]
    fn an_equality_that_must_hold_is_found() {
        for (source, of, is, whole) in [
            ("event.data.order == input.order", "event.data.order", "input.order", true),
            ("input.order == event.data.order", "event.data.order", "input.order", true),
            (
                "event.data['a b'][0] == nodes.pay.output.id + \"x\\n\"",
                "event.data[\"a b\"][0]",
                "(nodes.pay.output.id + \"x\\n\")",
                true,
            ),
            ("event.data.ok && event.data.n == 5 && event.data.m == 6", "event.data.n", "5", false),
            ("(event.source == 'x' && (1 < 2)) && event.data.a == input.a", "event.source", "\"x\"", false),
            ("event.id == (has(input.a) ? input.a : 'b')", "event.id", "(has(input.a) ? input.a : \"b\")", true),
            ("event.data.x == input.xs.filter(x, x > -1.5)[0]", "event.data.x", "input.xs.filter(x, (x > -1.5))[0]", true),
            ("event.data.x == size(-input.y)", "event.data.x", "size((-(input.y)))", true),
            ("event.data.x == {'k': [1u, null, true]}.k", "event.data.x", "{\"k\": [1u, null, true]}.k", true),
        ] {
            assert_eq!(demanded(source), Some((of.into(), is.into(), whole)), "{source}");
            let again = parse(is).expect(is);
            assert_eq!(text(&again), is, "it means the same when it is read again");
        }
    }

    #[test]
    fn what_need_not_hold_or_reads_the_event_twice_is_none() {
        for source in [
            "event.data.a == event.data.b",
            "event == input.event",
            "event.data.a == input.a || event.data.b == input.b",
            "!(event.data.a == input.a)",
            "event.data.a != input.a",
            "event.data.a in input.list",
            "size(event.data.a) == 3",
            "event.data[input.key] == 3",
            "event.data.a == input.xs.map(event, event.a)[0]",
            "input.a == input.b",
            "true",
        ] {
            assert_eq!(demanded(source), None, "{source}");
        }
    }
}
