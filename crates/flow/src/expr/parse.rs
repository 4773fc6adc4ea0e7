//! Text → `Syntax`: a parser of our own for CEL's grammar, because a condition comes from outside and must not be able to
//! overflow a stack. Brackets are bounded by the scan, everything else by `DEPTH_MAX`; macros are resolved later, in
//! `resolve.rs`. Chains of `&&` and `||` become balanced trees: they may be long.

mod token;

use super::error::Problem;
use super::limits::*;
use super::node::{Binary, Literal, Syntax, SyntaxForm, Unary};
use super::scan;
use token::{Token, Word, tokens};

pub(crate) fn parse(source: &str) -> Result<Syntax, Problem> {
    scan::guard(source)?;
    let mut parser = Parser { source, tokens: tokens(source)?, at: 0, depth: 0, nodes: 0 };
    let parsed = parser.expression()?;
    match parser.peek() {
        None => Ok(parsed.syntax),
        Some(_) => Err(parser.unexpected()),
    }
}

/// How tightly an operator binds; all of them from left to right.
const OPERATORS: [(&str, Binary, u8); 14] = [
    ("||", Binary::Or, 1),
    ("&&", Binary::And, 2),
    ("==", Binary::Equal, 3),
    ("!=", Binary::NotEqual, 3),
    ("<=", Binary::LessEqual, 3),
    (">=", Binary::GreaterEqual, 3),
    ("<", Binary::Less, 3),
    (">", Binary::Greater, 3),
    ("in", Binary::In, 3),
    ("+", Binary::Add, 4),
    ("-", Binary::Subtract, 4),
    ("*", Binary::Multiply, 5),
    ("/", Binary::Divide, 5),
    ("%", Binary::Modulo, 5),
];

struct Parser<'s> {
    source: &'s str,
    tokens: Vec<Token<'s>>,
    at: usize,
    depth: usize,
    nodes: usize,
}

/// A tree and how deep it is.
struct Parsed {
    syntax: Syntax,
    depth: usize,
}

impl<'s> Parser<'s> {
    fn peek(&self) -> Option<&Token<'s>> {
        self.tokens.get(self.at)
    }

    fn is_next(&self, sign: &str) -> bool {
        matches!(self.peek(), Some(Token { word: Word::Sign(next), .. }) if *next == sign)
    }

    fn take(&mut self, sign: &str) -> bool {
        let is_next = self.is_next(sign);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, sign: &str) -> Result<(), Problem> {
        if self.take(sign) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Where the next token stands.
    fn place(&self) -> usize {
        self.peek().map_or(self.source.len(), |token| token.at)
    }

    fn unexpected(&self) -> Problem {
        let Some(token) = self.peek() else { return Problem::new(self.source.len(), "the expression ends too early") };
        let wrong = &self.source[token.at..token.end];
        if self.source.trim_start().starts_with("{{") {
            let problem = Problem::new(0, "`{{ }}` is not of this language");
            return problem.suggest("this is an expression already: leave out `{{ }}`".to_owned());
        }
        let (wrong, instead) = match &token.word {
            Word::Text(_) => (&wrong[..1], Some("look for a missing operator before it")),
            _ => (wrong, None),
        };
        let instead = instead.or(match wrong {
            "and" | "AND" | "&" => Some("write `&&`"),
            "or" | "OR" | "|" => Some("write `||`"),
            "not" | "NOT" => Some("write `!`"),
            "is" | "=" => Some("write `==`"),
            "`" => Some("backquotes may stand only around a key: a.`key`"),
            _ => None,
        });
        Problem::new(token.at, format!("`{wrong}` is not expected here")).suggest(instead.map(str::to_owned))
    }

    /// A tree one deeper than its deepest part.
    fn grown(&mut self, at: usize, depth: usize, form: SyntaxForm) -> Result<Parsed, Problem> {
        self.nodes += 1;
        let depth = depth + 1;
        if depth > DEPTH_MAX {
            return Err(too_deep(at));
        }
        if self.nodes > NODES_MAX {
            return Err(Problem::new(at, format!("the expression has more than {NODES_MAX} parts")));
        }
        Ok(Parsed { syntax: Syntax { at, form }, depth })
    }

    fn expression(&mut self) -> Result<Parsed, Problem> {
        self.depth += 1;
        if self.depth > DEPTH_MAX + 1 {
            return Err(too_deep(self.place()));
        }
        let condition = self.binary(1)?;
        let at = self.place();
        let parsed = if self.take("?") {
            let then = self.binary(1)?;
            self.expect(":")?;
            let other = self.expression()?;
            let depth = condition.depth.max(then.depth).max(other.depth);
            self.grown(at, depth, SyntaxForm::Conditional(Box::new([condition.syntax, then.syntax, other.syntax])))
        } else {
            Ok(condition)
        };
        self.depth -= 1;
        parsed
    }

    fn operator(&self, at_least: u8) -> Option<(Binary, u8)> {
        let Some(Token { word: Word::Sign(sign), .. }) = self.peek() else { return None };
        let found = OPERATORS.iter().find(|(known, _, _)| known == sign);
        found.filter(|(_, _, binds)| *binds >= at_least).map(|(_, binary, binds)| (*binary, *binds))
    }

    fn binary(&mut self, at_least: u8) -> Result<Parsed, Problem> {
        let mut left = self.unary()?;
        while let Some((binary, binds)) = self.operator(at_least) {
            if matches!(binary, Binary::And | Binary::Or) {
                left = self.chain(left, binary, binds)?;
                continue;
            }
            let at = self.place();
            self.at += 1;
            let right = self.binary(binds + 1)?;
            left = self.joined(at, binary, left, right)?;
        }
        Ok(left)
    }

    fn joined(&mut self, at: usize, binary: Binary, left: Parsed, right: Parsed) -> Result<Parsed, Problem> {
        let depth = left.depth.max(right.depth);
        self.grown(at, depth, SyntaxForm::Binary(binary, Box::new([left.syntax, right.syntax])))
    }

    /// All terms of one chain, then a tree over them.
    fn chain(&mut self, first: Parsed, binary: Binary, binds: u8) -> Result<Parsed, Problem> {
        let mut terms = vec![(first.syntax.at, first)];
        while self.operator(binds).is_some_and(|(next, _)| next == binary) {
            let at = self.place();
            self.at += 1;
            if terms.len() > NODES_MAX {
                return Err(Problem::new(at, format!("the expression has more than {NODES_MAX} parts")));
            }
            let term = self.binary(binds + 1)?;
            terms.push((at, term));
        }
        self.balanced(terms, binary)
    }

    fn balanced(&mut self, mut terms: Vec<(usize, Parsed)>, binary: Binary) -> Result<Parsed, Problem> {
        while terms.len() > 1 {
            let mut halves = Vec::with_capacity(terms.len().div_ceil(2));
            let mut rest = terms.into_iter();
            while let Some((at, left)) = rest.next() {
                match rest.next() {
                    Some((sign_at, right)) => halves.push((at, self.joined(sign_at, binary, left, right)?)),
                    None => halves.push((at, left)),
                }
            }
            terms = halves;
        }
        Ok(terms.pop().expect("a chain has terms").1)
    }

    fn unary(&mut self) -> Result<Parsed, Problem> {
        let at = self.place();
        for (sign, unary) in [("!", Unary::Not), ("-", Unary::Negate)] {
            let mut times = 0;
            while self.take(sign) {
                times += 1;
            }
            if times == 0 {
                continue;
            }
            // The smallest integer has no positive twin, so its sign is read with it.
            if times % 2 == 1
                && unary == Unary::Negate
                && let Some(Token { word: Word::Number(text), .. }) = self.peek()
                && !text.ends_with(['u', 'U'])
            {
                let literal = token::number(&format!("-{text}"), at)?;
                self.at += 1;
                let literal = self.grown(at, 0, SyntaxForm::Literal(literal))?;
                return self.members(literal);
            }
            let operand = self.member()?;
            return if times % 2 == 0 {
                Ok(operand)
            } else {
                let depth = operand.depth;
                self.grown(at, depth, SyntaxForm::Unary(unary, Box::new(operand.syntax)))
            };
        }
        self.member()
    }

    fn member(&mut self) -> Result<Parsed, Problem> {
        let primary = self.primary()?;
        self.members(primary)
    }

    fn members(&mut self, mut left: Parsed) -> Result<Parsed, Problem> {
        loop {
            let at = self.place();
            if self.take(".") {
                let name_at = self.place();
                let name = match self.peek().map(|token| &token.word) {
                    Some(Word::Name(name)) => (*name).to_owned(),
                    Some(Word::Quoted(name)) => (*name).to_owned(),
                    _ => return Err(self.unexpected()),
                };
                self.at += 1;
                if self.take("(") {
                    let (args, depth) = self.list(")")?;
                    let depth = depth.max(left.depth);
                    let target = Some(Box::new(left.syntax));
                    left = self.grown(name_at, depth, SyntaxForm::Call { name, target, args })?;
                } else {
                    let depth = left.depth;
                    left = self.grown(at, depth, SyntaxForm::Select(Box::new(left.syntax), name))?;
                }
            } else if self.take("[") {
                let index = self.expression()?;
                self.expect("]")?;
                left = self.joined(at, Binary::Index, left, index)?;
            } else if self.is_next("{") && matches!(left.syntax.form, SyntaxForm::Name(_) | SyntaxForm::Select(..)) {
                let name = self.source[left.syntax.at..at].trim();
                return Err(Problem::new(at, format!("there is no message type `{name}`"))
                    .suggest("write a map: {'key': value}".to_owned()));
            } else {
                return Ok(left);
            }
        }
    }

    fn primary(&mut self) -> Result<Parsed, Problem> {
        let at = self.place();
        let Some(token) = self.peek() else { return Err(self.unexpected()) };
        let form = match &token.word {
            Word::Number(text) => SyntaxForm::Literal(token::number(text, at)?),
            Word::Text(text) => SyntaxForm::Literal(Literal::Text(text.clone())),
            Word::Sign("(") => {
                self.at += 1;
                let inner = self.expression()?;
                self.expect(")")?;
                return Ok(inner);
            }
            Word::Sign("[") => {
                self.at += 1;
                let (items, depth) = self.list("]")?;
                return self.grown(at, depth, SyntaxForm::List(items));
            }
            Word::Sign("{") => {
                self.at += 1;
                return self.map(at);
            }
            Word::Sign(".") => {
                // A name from the outermost scope, which here is the only one.
                self.at += 1;
                return match self.peek() {
                    Some(Token { word: Word::Name(_), .. }) => self.primary(),
                    _ => Err(self.unexpected()),
                };
            }
            Word::Name("true") => SyntaxForm::Literal(Literal::Bool(true)),
            Word::Name("false") => SyntaxForm::Literal(Literal::Bool(false)),
            Word::Name("null") => SyntaxForm::Literal(Literal::Null),
            Word::Name(name) if token::RESERVED.contains(name) => {
                return Err(Problem::new(at, format!("`{name}` is a reserved word")));
            }
            Word::Name(name) => {
                let name = (*name).to_owned();
                self.at += 1;
                if !self.take("(") {
                    return self.grown(at, 0, SyntaxForm::Name(name));
                }
                let (args, depth) = self.list(")")?;
                return self.grown(at, depth, SyntaxForm::Call { name, target: None, args });
            }
            Word::Quoted(_) | Word::Sign(_) => return Err(self.unexpected()),
        };
        self.at += 1;
        self.grown(at, 0, form)
    }

    /// Expressions up to a closing bracket, with the depth of the deepest. A comma may stand before the bracket of a list.
    fn list(&mut self, close: &str) -> Result<(Vec<Syntax>, usize), Problem> {
        let (mut items, mut depth) = (Vec::new(), 0);
        while !self.take(close) {
            let item = self.expression()?;
            depth = depth.max(item.depth);
            items.push(item.syntax);
            if !self.is_next(close) {
                self.expect(",")?;
                if close == ")" && self.is_next(close) {
                    return Err(self.unexpected());
                }
            }
        }
        Ok((items, depth))
    }

    fn map(&mut self, at: usize) -> Result<Parsed, Problem> {
        let (mut entries, mut depth) = (Vec::new(), 0);
        while !self.take("}") {
            let key = self.expression()?;
            self.expect(":")?;
            let value = self.expression()?;
            depth = depth.max(key.depth).max(value.depth);
            entries.push((key.syntax, value.syntax));
            if !self.is_next("}") {
                self.expect(",")?;
            }
        }
        self.grown(at, depth, SyntaxForm::Map(entries))
    }
}

fn too_deep(at: usize) -> Problem {
    let problem = Problem::new(at, format!("the expression nests deeper than {DEPTH_MAX}"));
    problem.suggest("join long lists of texts with `[…].join()`, or split it over two nodes".to_owned())
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
            ("a.?b", "`?` is not expected here (at 2)"),
            ("b'x'", "bytes are not among the values of JSON (at 0); write a string"),
            ("9223372036854775808", "9223372036854775808 is no integer of 64 bits (at 0)"),
            ("'ü' 'a'", "`'` is not expected here (at 5); look for a missing operator before it"),
            ("// only", "the expression ends too early (at 7)"),
            ("${input.x > 3}", "this is an expression already (at 0); leave out `${ }`: it marks expressions in templates"),
            ("1 + ${input.x}", "this is an expression already (at 4); leave out `${ }`: it marks expressions in templates"),
            ("{{ input.x }}", "`{{ }}` is not of this language (at 0); this is an expression already: leave out `{{ }}`"),
            ("$nodes.a.x > 1", "`$` is not expected here (at 0); write nodes.<id>.output"),
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
        let small = std::thread::Builder::new().stack_size(if cfg!(debug_assertions) { 1_024 } else { 256 } * 1_024);
        let told = small.spawn(move || sources.map(|source| parse(&source).is_ok())).unwrap().join().unwrap();
        assert_eq!(told.iter().filter(|fine| **fine).count(), 3, "64 brackets, and chains of ! and - are fine: {told:?}");
    }
}
