//! Text from outside, made harmless to a terminal: names, reasons, errors and outputs come from anyone, and a control
//! character among them could move the cursor, hide a line or write another. Such a character is shown, not sent.

use std::borrow::Cow;

/// For a place that has one line: line breaks are shown too.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    text.chars().for_each(|c| push(&mut out, c));
    Cow::Owned(out)
}

/// For a whole page: its line breaks and tabs stay and, where `colour` is on, so do the colours that we put in ourselves;
/// what is from outside has been through [`plain`] or [`plain_text`] before, or it could put in its own.
pub fn plain_page(text: &str, colour: bool) -> Cow<'_, str> {
    if !text.contains(|c| is_harmful(c) && !matches!(c, '\n' | '\t')) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let kept = if colour { colour_bytes(rest) } else { 0 };
        if kept > 0 {
            out.push_str(&rest[..kept]);
            rest = &rest[kept..];
            continue;
        }
        match c {
            '\n' | '\t' => out.push(c),
            c => push(&mut out, c),
        }
        rest = &rest[c.len_utf8()..];
    }
    Cow::Owned(out)
}

/// For several lines from outside that will stand on a page: nothing in them sets a colour.
pub fn plain_text(text: &str) -> Cow<'_, str> {
    plain_page(text, false)
}

/// JSON may hold some control characters as they are; escaped they mean the same.
pub fn plain_json(json: &str) -> Cow<'_, str> {
    if !json.contains(is_harmful) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match c {
            // Between tokens; inside strings JSON has them escaped.
            '\n' | '\r' | '\t' => out.push(' '),
            c if is_harmful(c) => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

fn push(out: &mut String, c: char) {
    if is_harmful(c) { out.extend(c.escape_default()) } else { out.push(c) }
}

/// Control characters, and those that turn the direction of the text around them.
fn is_harmful(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// How many bytes at the start of `text` do nothing but set a colour.
fn colour_bytes(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("\x1b[") else { return 0 };
    let digits = rest.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(rest.len());
    if rest[digits..].starts_with('m') { 2 + digits + 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown_instead() {
        for (text, line, page, coloured) in [
            ("plain ü 漢", "plain ü 漢", "plain ü 漢", "plain ü 漢"),
            ("a\nb", "a\\nb", "a\nb", "a\nb"),
            ("a\rb\tc", "a\\rb\\tc", "a\\rb\tc", "a\\rb\tc"),
            ("\x1b[2J\x07", "\\u{1b}[2J\\u{7}", "\\u{1b}[2J\\u{7}", "\\u{1b}[2J\\u{7}"),
            ("\x1b[31mred\x1b[0m", "\\u{1b}[31mred\\u{1b}[0m", "\\u{1b}[31mred\\u{1b}[0m", "\x1b[31mred\x1b[0m"),
            ("\x1b]0;title\x07", "\\u{1b}]0;title\\u{7}", "\\u{1b}]0;title\\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("\u{9b}31m\u{7f}", "\\u{9b}31m\\u{7f}", "\\u{9b}31m\\u{7f}", "\\u{9b}31m\\u{7f}"),
            ("\u{202e}evil", "\\u{202e}evil", "\\u{202e}evil", "\\u{202e}evil"),
        ] {
            assert_eq!(
                (plain(text).as_ref(), plain_page(text, false).as_ref(), plain_page(text, true).as_ref()),
                (line, page, coloured)
            );
        }
        let json = "{\n\"a\":\r\"\u{9b}\u{7f}\u{202e}\"}";
        assert_eq!(plain_json(json), r#"{ "a": "\u009b\u007f\u202e"}"#);
    }
}
