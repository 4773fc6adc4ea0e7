//! Words of an expression. The scan has seen before that quotes are closed and brackets balanced.

use crate::expr::error::Problem;
use crate::expr::node::Literal;

pub(super) struct Token<'s> {
    pub at: usize,
    pub end: usize,
    pub word: Word<'s>,
}

pub(super) enum Word<'s> {
    Name(&'s str),
    /// A key in backquotes.
    Quoted(&'s str),
    Number(&'s str),
    Text(String),
    Sign(&'static str),
}

/// Words that CEL keeps for itself.
pub(super) const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "namespace",
    "package",
    "return",
    "var",
    "void",
    "while",
];

/// Longer ones first; the single `&`, `|`, `=` and backquote are there to be complained about.
const SIGNS: [&str; 27] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ",", ".", "(", ")", "[", "]", "{", "}",
    "&", "|", "=",
];

pub(super) fn tokens(source: &str) -> Result<Vec<Token<'_>>, Problem> {
    let bytes = source.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < source.len() {
        let rest = &source[at..];
        let byte = bytes[at];
        if byte.is_ascii_whitespace() || byte == 0x0b {
            at += 1;
            continue;
        }
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        let is_number = byte.is_ascii_digit() || (byte == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit));
        let (word, end) = if is_number && !follows_name(&found, byte) {
            let end = at + number_end(rest);
            (Word::Number(&source[at..end]), end)
        } else if byte == b'"' || byte == b'\'' {
            text(source, at, at, false)?
        } else if byte.is_ascii_alphabetic() || byte == b'_' {
            let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            let (name, end) = (&rest[..length], at + length);
            let quoted = matches!(bytes.get(end), Some(b'"' | b'\''));
            match name.to_ascii_lowercase().as_str() {
                "r" if quoted => text(source, at, end, true)?,
                "b" | "br" | "rb" if quoted => {
                    return Err(Problem::new(at, "bytes are not among the values of JSON").suggest("write a string".to_owned()));
                }
                _ if name == "in" => (Word::Sign("in"), end),
                _ => (Word::Name(name), end),
            }
        } else if byte == b'`' {
            match rest[1..].find('`').filter(|length| *length > 0) {
                Some(length) => (Word::Quoted(&rest[1..1 + length]), at + length + 2),
                None => {
                    let problem = Problem::new(at, "`` ` `` is not expected here");
                    return Err(problem.suggest("backquotes may stand only around a key: a.`key`".to_owned()));
                }
            }
        } else {
            match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                Some(sign) => (Word::Sign(sign), at + sign.len()),
                None => {
                    let strange = rest.chars().next().unwrap_or_default();
                    let problem = Problem::new(at, format!("`{strange}` is not expected here"));
                    return Err(match rest {
                        _ if rest.starts_with("${") => Problem::new(at, "this is an expression already")
                            .suggest("leave out `${ }`: it marks expressions in templates".to_owned()),
                        _ if rest.starts_with("$nodes.") => problem.suggest("write nodes.<id>.output".to_owned()),
                        _ => problem,
                    });
                }
            }
        };
        found.push(Token { at, end, word });
        at = end;
    }
    Ok(found)
}

/// After a name, `.5` is no number: `a.5` is a mistake of its own.
fn follows_name(found: &[Token<'_>], byte: u8) -> bool {
    byte == b'.' && matches!(found.last(), Some(Token { word: Word::Name(_) | Word::Quoted(_) | Word::Sign(")" | "]"), .. }))
}

fn number_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| from + bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if text.starts_with("0x") || text.starts_with("0X") {
        let end = 2 + bytes[2..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        return end + usize::from(matches!(bytes.get(end), Some(b'u' | b'U')));
    }
    let mut end = digits(0);
    let whole = end;
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
            end = digits(end + 1 + sign);
        }
    }
    end + usize::from(end == whole && matches!(bytes.get(end), Some(b'u' | b'U')))
}

/// The value of a number as it stands in the text, a sign before it or not.
pub(super) fn number(text: &str, at: usize) -> Result<Literal, Problem> {
    let (sign, plain) = text.strip_prefix('-').map_or(("", text), |plain| ("-", plain));
    let hex = plain.strip_prefix("0x").or_else(|| plain.strip_prefix("0X"));
    let (digits, radix) = hex.map_or((plain, 10), |digits| (digits, 16));
    let too_large = |what: &str| Problem::new(at, format!("{text} is no {what}"));
    if let Some(digits) = digits.strip_suffix(['u', 'U']) {
        return u64::from_str_radix(digits, radix)
            .ok()
            .map(Literal::Uint)
            .ok_or_else(|| too_large("unsigned integer of 64 bits"));
    }
    if radix == 10 && digits.contains(['.', 'e', 'E']) {
        let value: Option<f64> = format!("{sign}{digits}").parse().ok().filter(|value: &f64| value.is_finite());
        return value.map(Literal::Double).ok_or_else(|| too_large("number"));
    }
    let value = i64::from_str_radix(&format!("{sign}{digits}"), radix).ok();
    value.map(Literal::Int).ok_or_else(|| too_large("integer of 64 bits"))
}

/// A text whose first quote stands at `quote_at`.
fn text(source: &str, at: usize, quote_at: usize, raw: bool) -> Result<(Word<'_>, usize), Problem> {
    let quote = &source[quote_at..=quote_at];
    let triple = quote.repeat(3);
    let quotes = if source[quote_at..].starts_with(&triple) { triple.as_str() } else { quote };
    let mut inside = quote_at + quotes.len();
    let mut value = String::new();
    loop {
        let rest = &source[inside..];
        if rest.starts_with(quotes) {
            return Ok((Word::Text(value), inside + quotes.len()));
        }
        let Some(next) = rest.chars().next() else { return Err(Problem::new(at, "the string that starts here has no end")) };
        if next == '\n' && quotes.len() == 1 {
            let problem = Problem::new(inside, "a string ends on the line it starts on");
            return Err(problem.suggest("write \\n, or three quotes on either side".to_owned()));
        }
        if next != '\\' || raw {
            value.push(next);
            inside += next.len_utf8();
        } else {
            let (escaped, length) = escape(rest, inside)?;
            value.push(escaped);
            inside += length;
        }
    }
}

/// What a backslash and what follows stand for, and how long they are.
fn escape(rest: &str, at: usize) -> Result<(char, usize), Problem> {
    let unknown = || {
        let shown: String = rest.chars().take(2).collect();
        Problem::new(at, format!("`{shown}` stands for nothing in a string")).suggest("write \\\\ for a backslash".to_owned())
    };
    let kind = rest[1..].chars().next().ok_or_else(unknown)?;
    let plain = match kind {
        'a' => '\u{07}',
        'b' => '\u{08}',
        'f' => '\u{0c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{0b}',
        '\\' | '\'' | '"' | '`' | '?' => kind,
        _ => {
            let (from, length, radix) = match kind {
                'x' | 'X' => (2, 2, 16),
                'u' => (2, 4, 16),
                'U' => (2, 8, 16),
                '0'..='3' => (1, 3, 8),
                _ => return Err(unknown()),
            };
            let digits = rest.get(from..from + length).filter(|digits| digits.chars().all(|c| c.is_digit(radix)));
            let code = digits.and_then(|digits| u32::from_str_radix(digits, radix).ok());
            return code.and_then(char::from_u32).map(|c| (c, from + length)).ok_or_else(unknown);
        }
    };
    Ok((plain, 1 + kind.len_utf8()))
}
