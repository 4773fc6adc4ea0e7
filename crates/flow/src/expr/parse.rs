//! Text → `Syntax`, with the parser of the `cel` crate. The only file that knows that crate: its macros are switched off
//! (ours are in `resolve.rs`) and its interpreter, which has no bounds, is not used. The scan has bounded the brackets
//! before; chains (`1+1+…`) are still as deep as they are long, so the foreign code runs on a large stack of its own.

use super::error::Problem;
use super::limits::*;
use super::node::{Binary, Literal, Syntax, SyntaxForm, Unary};
use super::scan;
use cel::common::ast::{EntryExpr, Expr as CelExpr, IdedEntryExpr, LiteralValue, SourceInfo, operators};
use cel::parser::{Expression, ParseErrors};
use std::thread;

pub(crate) fn parse(source: &str) -> Result<Syntax, Problem> {
    scan::guard(source)?;
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("parse".into()).stack_size(PARSE_STACK_BYTES);
        let parsing = builder.spawn_scoped(scope, || parse_here(source));
        let parsing = parsing.map_err(|error| Problem::new(0, format!("no thread to parse on: {error}")))?;
        // A panic of the foreign parser is its "no" to this text; ours would be a bug, and the tests look for it.
        parsing.join().unwrap_or_else(|_| Err(Problem::new(0, "the parser cannot read this expression")))
    })
}

fn parse_here(source: &str) -> Result<Syntax, Problem> {
    let parser = cel::Env::default().with_optional_support(false).parser();
    let parser = parser.enable_ident_escape_syntax(true).max_recursion_depth(2 * DEPTH_MAX as u16).error_recovery_limit(2);
    let (parsed, places) = parser.parse_with_source_info(source).map_err(|errors| explain(source, &errors))?;
    Lowering { source, places, nodes: 0 }.lower(&parsed, 1)
}

/// The first of the parser's complaints, in our words. The others follow from it.
fn explain(source: &str, errors: &ParseErrors) -> Problem {
    let first = errors.errors.iter().find(|error| !error.msg.starts_with("Incomplete")).or(errors.errors.first());
    let Some(error) = first else { return Problem::new(0, "the expression cannot be read") };
    let (line, column) = (error.pos.0.max(1) as usize, error.pos.1.max(1) as usize);
    let line_start: usize = source.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let before: usize = source[line_start..].chars().take(column - 1).map(char::len_utf8).sum();
    let at = line_start + before;
    let message = error.msg.strip_prefix("Syntax error: ").unwrap_or(&error.msg);
    if message.contains("Recursion limit") {
        return Problem::new(at, format!("the expression nests deeper than {DEPTH_MAX}"));
    }
    if let Some(word) = message.strip_prefix("reserved identifier: ") {
        return Problem::new(at, format!("`{word}` is a reserved word"));
    }
    if message.contains("'<EOF>'") || at >= source.len() {
        return Problem::new(source.len(), "the expression ends too early");
    }
    let known = ["mismatched input", "extraneous input", "token recognition", "no viable alternative", "missing"];
    if !known.iter().any(|known| message.starts_with(known)) {
        return Problem::new(at, message.to_owned());
    }
    let rest = source[at..].trim_start();
    let word_end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    let wrong = if word_end > 0 { &rest[..word_end] } else { &rest[..rest.chars().next().map_or(0, char::len_utf8)] };
    let instead = match wrong {
        "and" | "AND" | "&" => Some("write `&&`"),
        "or" | "OR" | "|" => Some("write `||`"),
        "not" | "NOT" => Some("write `!`"),
        "is" | "=" => Some("write `==`"),
        "`" => Some("backquotes may stand only around a key: a.`key`"),
        "'" | "\"" => Some("look for a wrong escape in the string, or a missing operator before it"),
        _ => None,
    };
    Problem::new(at, format!("`{wrong}` is not expected here")).suggest(instead.map(str::to_owned))
}

/// The operators under the names that the parser gives them.
const BINARIES: [(&str, Binary); 15] = [
    (operators::LOGICAL_AND, Binary::And),
    (operators::LOGICAL_OR, Binary::Or),
    (operators::ADD, Binary::Add),
    (operators::SUBSTRACT, Binary::Subtract),
    (operators::MULTIPLY, Binary::Multiply),
    (operators::DIVIDE, Binary::Divide),
    (operators::MODULO, Binary::Modulo),
    (operators::EQUALS, Binary::Equal),
    (operators::NOT_EQUALS, Binary::NotEqual),
    (operators::LESS, Binary::Less),
    (operators::LESS_EQUALS, Binary::LessEqual),
    (operators::GREATER, Binary::Greater),
    (operators::GREATER_EQUALS, Binary::GreaterEqual),
    (operators::IN, Binary::In),
    (operators::INDEX, Binary::Index),
];

struct Lowering<'s> {
    source: &'s str,
    places: SourceInfo,
    nodes: usize,
}

impl Lowering<'_> {
    fn at(&self, id: u64) -> usize {
        self.places.offset_for(id).map_or(0, |(start, _)| (start as usize).min(self.source.len()))
    }

    fn lower(&mut self, parsed: &Expression, depth: usize) -> Result<Syntax, Problem> {
        let at = self.at(parsed.id);
        self.nodes += 1;
        if depth > DEPTH_MAX {
            let problem = Problem::new(at, format!("the expression nests deeper than {DEPTH_MAX}"));
            return Err(problem.suggest("join long lists of texts with `[…].join()`, or split it over two nodes".to_owned()));
        }
        if self.nodes > NODES_MAX {
            return Err(Problem::new(at, format!("the expression has more than {NODES_MAX} parts")));
        }
        let form = match &parsed.expr {
            CelExpr::Literal(literal) => SyntaxForm::Literal(self.literal(literal, at)?),
            CelExpr::Ident(name) => SyntaxForm::Name(name.trim_start_matches('.').to_owned()),
            CelExpr::Select(select) => SyntaxForm::Select(self.boxed(&select.operand, depth)?, select.field.clone()),
            CelExpr::List(list) => SyntaxForm::List(self.all(&list.elements, depth)?),
            CelExpr::Map(map) => {
                let entries = map.entries.iter().map(|entry| self.entry(entry, depth));
                SyntaxForm::Map(entries.collect::<Result<_, _>>()?)
            }
            CelExpr::Call(call) => return self.call(call, at, depth),
            CelExpr::Struct(made) => {
                return Err(Problem::new(at, format!("there is no message type `{}`", made.type_name))
                    .suggest("write a map: {'key': value}".to_owned()));
            }
            CelExpr::Comprehension(_) | CelExpr::Unspecified => {
                return Err(Problem::new(at, "the expression cannot be read"));
            }
        };
        Ok(Syntax { at, form })
    }

    fn call(&mut self, call: &cel::common::ast::CallExpr, at: usize, depth: usize) -> Result<Syntax, Problem> {
        let mut args = self.all(&call.args, depth)?;
        let name = call.func_name.as_str();
        let unary = match name {
            operators::LOGICAL_NOT => Some(Unary::Not),
            operators::NEGATE => Some(Unary::Negate),
            _ => None,
        };
        let binary = BINARIES.iter().find(|(known, _)| *known == name).map(|(_, binary)| *binary);
        let form = match (unary, binary, args.len()) {
            (Some(unary), _, 1) => SyntaxForm::Unary(unary, Box::new(args.remove(0))),
            (_, Some(binary), 2) => SyntaxForm::Binary(binary, operands(args, at)?),
            _ if name == operators::CONDITIONAL => SyntaxForm::Conditional(operands(args, at)?),
            _ => {
                let target = call.target.as_deref().map(|target| self.boxed(target, depth)).transpose()?;
                // The parser points at the bracket; the name stands before it.
                let at = at.saturating_sub(name.len());
                let name = name.trim_start_matches('.').to_owned();
                return Ok(Syntax { at, form: SyntaxForm::Call { name, target, args } });
            }
        };
        Ok(Syntax { at, form })
    }

    fn boxed(&mut self, parsed: &Expression, depth: usize) -> Result<Box<Syntax>, Problem> {
        Ok(Box::new(self.lower(parsed, depth + 1)?))
    }

    fn all(&mut self, parsed: &[Expression], depth: usize) -> Result<Vec<Syntax>, Problem> {
        parsed.iter().map(|parsed| self.lower(parsed, depth + 1)).collect()
    }

    fn entry(&mut self, entry: &IdedEntryExpr, depth: usize) -> Result<(Syntax, Syntax), Problem> {
        match &entry.expr {
            EntryExpr::MapEntry(entry) => Ok((self.lower(&entry.key, depth + 1)?, self.lower(&entry.value, depth + 1)?)),
            EntryExpr::StructField(_) => Err(Problem::new(self.at(entry.id), "the expression cannot be read")),
        }
    }

    fn literal(&self, literal: &LiteralValue, at: usize) -> Result<Literal, Problem> {
        Ok(match literal {
            LiteralValue::Null => Literal::Null,
            LiteralValue::Boolean(value) => Literal::Bool(*value.inner()),
            LiteralValue::Int(value) => Literal::Int(*value.inner()),
            LiteralValue::UInt(value) => Literal::Uint(*value.inner()),
            LiteralValue::Double(value) => Literal::Double(*value.inner()),
            LiteralValue::String(value) => Literal::Text(value.inner().to_owned()),
            LiteralValue::Bytes(_) => {
                return Err(Problem::new(at, "bytes are not among the values of JSON").suggest("write a string".to_owned()));
            }
        })
    }
}

/// The operands of an operator, as many as it takes.
fn operands<const N: usize>(args: Vec<Syntax>, at: usize) -> Result<Box<[Syntax; N]>, Problem> {
    Box::<[Syntax; N]>::try_from(args.into_boxed_slice()).map_err(|_| Problem::new(at, "the expression cannot be read"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_said_in_plain_words() {
        for (source, says) in [
            ("1 +", "the expression ends too early (at 3)"),
            ("a b", "`b` is not expected here (at 2)"),
            ("a and b", "`and` is not expected here (at 2); write `&&`"),
            ("a = 2", "`=` is not expected here (at 2); write `==`"),
            ("a & b", "`&` is not expected here (at 2); write `&&`"),
            ("a ? b", "the expression ends too early (at 5)"),
            ("'ü' + if", "`if` is a reserved word (at 7)"),
            ("Foo{a: 1}", "there is no message type `Foo` (at 3); write a map: {'key': value}"),
            ("a.?b", "unsupported syntax '.?' (at 1)"),
            ("b'x'", "bytes are not among the values of JSON (at 0); write a string"),
            ("9223372036854775808", "invalid int literal (at 0)"),
            (
                "'ü' 'a'",
                "`'` is not expected here (at 5); look for a wrong escape in the string, or a missing operator before it",
            ),
            ("// only", "the expression ends too early (at 7)"),
        ] {
            assert_eq!(parse(source).unwrap_err().to_string(), says, "{source}");
        }
    }

    #[test]
    fn hostile_texts_are_refused_on_a_small_stack() {
        let deep = |open: &str, middle: &str, close: &str, times: usize| {
            format!("{}{middle}{}", open.repeat(times), close.repeat(times))
        };
        let sources = [
            deep("(", "1", ")", 2_000),
            deep("(", "1", ")", 1_000),
            deep("(", "1", ")", DEPTH_MAX),
            deep("[", "1", "]", 1_000),
            deep("[", "1", "]", DEPTH_MAX),
            deep("{1:", "1", "}", 400),
            deep("f(", "1", ")", 600),
            deep("1+", "1", "", 2_000),
            deep("1+", "1", "", 1_000),
            deep("1<", "1", "", 1_000),
            deep("a&&", "a", "", 600),
            deep("a?b:", "c", "", 500),
            deep("a?", "b", ":c", 500),
            deep("!", "a", "", 2_000),
            deep("-", "a", "", 2_000),
            deep("", "a", ".b", 1_000),
            deep("", "a", "[0]", 600),
            deep("", "a", ".f()", 500),
            deep("'", "", "", 2_001),
            deep("\0", "", "", 2_000),
            deep("ü", "", "", 1_000),
            deep(".", "", "", 2_000),
            deep("? : ", "", "", 500),
            deep("[1,", "", "", 600),
            deep("{[(", "", "", 600),
        ];
        let small = thread::Builder::new().stack_size(256 * 1_024);
        let told = small.spawn(move || sources.map(|source| parse(&source).is_ok())).unwrap().join().unwrap();
        assert_eq!(told.iter().filter(|fine| **fine).count(), 3, "64 brackets, and chains of ! and - are fine: {told:?}");
    }
}
