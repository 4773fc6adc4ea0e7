//! A look at the text before the parser sees it: brackets and quotes only. It refuses what would nest too deeply, and
//! what the parser would explain badly; and it finds where a `${…}` of a template ends.

use super::error::Problem;
use super::limits::*;

/// One thing in the text, from which the scan steps to the next.
enum Piece {
    Open(u8),
    Close(u8),
    /// A string that lacks its closing quote.
    Unterminated,
    Foreign(char),
    Other,
}

/// The piece that starts at `at`, and where the next one starts. `at` lies on a character's edge, and so does the answer.
fn piece(text: &str, at: usize) -> (Piece, usize) {
    let bytes = text.as_bytes();
    match bytes[at] {
        open @ (b'(' | b'[' | b'{') => (Piece::Open(open), at + 1),
        close @ (b')' | b']' | b'}') => (Piece::Close(close), at + 1),
        b'"' | b'\'' => string(text, at, false),
        b'/' if bytes.get(at + 1) == Some(&b'/') => (Piece::Other, text[at..].find('\n').map_or(text.len(), |line| at + line)),
        byte if byte.is_ascii_alphanumeric() || byte == b'_' => {
            let word = &text[at..];
            let word = &word[..word.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(word.len())];
            let end = at + word.len();
            let quoted = matches!(bytes.get(end), Some(b'"' | b'\''));
            match word.to_ascii_lowercase().as_str() {
                "r" | "br" | "rb" if quoted => string(text, end, true),
                _ => (Piece::Other, end),
            }
        }
        b' ' | b'\t' | b'\n' | b'\r' | 0x0c => (Piece::Other, at + 1),
        byte if byte.is_ascii_graphic() => (Piece::Other, at + 1),
        _ => {
            let foreign = text[at..].chars().next().unwrap_or_default();
            (Piece::Foreign(foreign), at + foreign.len_utf8())
        }
    }
}

/// A string literal whose first quote is at `at`.
fn string(text: &str, at: usize, raw: bool) -> (Piece, usize) {
    let quote = &text[at..at + 1];
    let triple = quote.repeat(3);
    let quotes = if text[at..].starts_with(&triple) { &triple } else { quote };
    let mut inside = at + quotes.len();
    while inside < text.len() {
        if text[inside..].starts_with(quotes) {
            return (Piece::Other, inside + quotes.len());
        }
        let escaped = !raw && text.as_bytes()[inside] == b'\\';
        let step: usize = text[inside..].chars().take(1 + usize::from(escaped)).map(char::len_utf8).sum();
        inside += step;
    }
    (Piece::Unterminated, text.len())
}

/// Refuses what is too long, nests too deeply, or has unbalanced quotes or brackets.
pub(crate) fn guard(source: &str) -> Result<(), Problem> {
    if source.len() > SOURCE_BYTES_MAX {
        let message = format!("an expression may be {SOURCE_BYTES_MAX} bytes long; this one has {}", source.len());
        return Err(Problem::new(SOURCE_BYTES_MAX, message));
    }
    if source.trim().is_empty() {
        return Err(Problem::new(0, "the expression is empty"));
    }
    let mut open = Vec::new();
    let mut at = 0;
    while at < source.len() {
        let (piece, next) = piece(source, at);
        match piece {
            Piece::Open(_) if open.len() == DEPTH_MAX => {
                return Err(Problem::new(at, format!("brackets nest deeper than {DEPTH_MAX}")));
            }
            Piece::Open(bracket) => open.push((bracket, at)),
            Piece::Close(bracket) => match open.pop() {
                Some((opened, _)) if closing(opened) == bracket => {}
                Some((opened, opened_at)) => {
                    let (opened, closing, bracket) = (opened as char, closing(opened) as char, bracket as char);
                    let message = format!("`{opened}` at {opened_at} is closed by `{bracket}` instead of `{closing}`");
                    return Err(Problem::new(at, message));
                }
                None => return Err(Problem::new(at, format!("`{}` closes nothing", bracket as char))),
            },
            Piece::Unterminated => return Err(Problem::new(at, "the string that starts here has no end")),
            Piece::Foreign(foreign) => {
                let message = format!("{foreign:?} may stand only inside a string");
                return Err(Problem::new(at, message));
            }
            Piece::Other => {}
        }
        at = next;
    }
    match open.pop() {
        Some((bracket, at)) => Err(Problem::new(at, format!("`{}` is never closed", bracket as char))),
        None => Ok(()),
    }
}

/// Where the `}` stands that closes a `${` whose expression starts at `from`.
pub(crate) fn closing_brace(text: &str, from: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = from;
    while at < text.len() {
        let (piece, next) = piece(text, at);
        match piece {
            Piece::Close(b'}') if depth == 0 => return Some(at),
            Piece::Open(_) => depth += 1,
            Piece::Close(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        at = next;
    }
    None
}

fn closing(bracket: u8) -> u8 {
    match bracket {
        b'(' => b')',
        b'[' => b']',
        _ => b'}',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guard_says_where() {
        for (source, says) in [
            ("", "the expression is empty (at 0)"),
            (" \n", "the expression is empty (at 0)"),
            ("(a", "`(` is never closed (at 0)"),
            ("a)", "`)` closes nothing (at 1)"),
            ("(a]", "`(` at 0 is closed by `]` instead of `)` (at 2)"),
            ("a + 'b", "the string that starts here has no end (at 4)"),
            ("'''a''", "the string that starts here has no end (at 0)"),
            ("'a\\'", "the string that starts here has no end (at 0)"),
            ("a + ü", "'ü' may stand only inside a string (at 4)"),
            ("a\0", "'\\0' may stand only inside a string (at 1)"),
        ] {
            assert_eq!(guard(source).unwrap_err().to_string(), says, "{source:?}");
        }
        for fine in ["'ü)'", r"r'\'", r#""a\"(" "#, "a // (", "'''it's (\"\"\"'''", "{'a': [1, (2)]}", "br'x'"] {
            assert_eq!(guard(fine), Ok(()), "{fine:?}");
        }
        assert!(guard(&"(".repeat(2_000)).unwrap_err().message.contains("nest deeper"));
        assert!(guard(&"1".repeat(2_049)).unwrap_err().message.contains("bytes long"));
    }

    #[test]
    fn the_closing_brace_is_not_one_in_a_map_or_a_string() {
        for (text, end) in
            [("a}", Some(1)), ("{'a': {}}}x", Some(9)), ("'}' + \"}\"}", Some(9)), ("a", None), ("{}", None), ("'}", None)]
        {
            assert_eq!(closing_brace(text, 0), end, "{text}");
        }
    }
}
