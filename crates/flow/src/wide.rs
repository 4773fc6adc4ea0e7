//! Integers that JSON can write and 64 bits cannot hold. Read as usual they would become doubles, in silence; here they are kept
//! as they stand, so that they can be handed on. Invariant: in a value that was read here they are texts with a mark before them
//! that no other text has. Whoever looks into such a value does it by `seen`.

use serde_json::Value;
use std::borrow::Cow;

/// JSON has it only as an escape, so a look at the text tells whether there may be one.
const MARK: char = '\0';
const MARK_ESCAPED: &str = "\\u0000";
/// After the mark: an integer, or a text that begins with the mark itself.
const INTEGER: char = 'i';
const TEXT: char = 't';
/// Integers with fewer digits fit.
const DIGITS_MIN: usize = 19;

/// What a text in such a value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Seen<'a> {
    Text(&'a str),
    /// The digits of an integer, with its sign.
    Integer(&'a str),
}

/// The value of a JSON text.
pub fn read(text: &str) -> serde_json::Result<Value> {
    if is_plain(text) { serde_json::from_str(text) } else { serde_json::from_str(&marked(text)) }
}

/// There is certainly nothing in it that needs a mark.
pub(crate) fn is_plain(text: &str) -> bool {
    !has_long_number(text.as_bytes()) && !text.contains(MARK_ESCAPED)
}

pub(crate) fn seen(text: &str) -> Seen<'_> {
    let Some(rest) = text.strip_prefix(MARK) else { return Seen::Text(text) };
    match rest.strip_prefix(INTEGER) {
        Some(digits) => Seen::Integer(digits),
        None => Seen::Text(rest.strip_prefix(TEXT).unwrap_or(text)),
    }
}

/// A text as it stands in such a value.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    if text.starts_with(MARK) { Cow::Owned(format!("{MARK}{TEXT}{text}")) } else { Cow::Borrowed(text) }
}

pub(crate) fn integer(digits: &str) -> String {
    format!("{MARK}{INTEGER}{digits}")
}

/// Whether an integer, as JSON writes it, is beyond 64 bits.
pub(crate) fn is_wide(digits: &str) -> bool {
    let plain = digits.strip_prefix('-').unwrap_or(digits);
    let lawful = plain.len() >= DIGITS_MIN && !plain.starts_with('0') && plain.bytes().all(|byte| byte.is_ascii_digit());
    lawful && digits.parse::<i64>().is_err() && digits.parse::<u64>().is_err()
}

/// Every stretch of so many digits holds one of those looked at.
fn has_long_number(bytes: &[u8]) -> bool {
    let mut at = DIGITS_MIN - 1;
    while at < bytes.len() {
        if bytes[at].is_ascii_digit() {
            let before = bytes[..at].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
            let after = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            if before + after >= DIGITS_MIN {
                return true;
            }
        }
        at += DIGITS_MIN;
    }
    false
}

/// The same JSON with every mark in its place. Keys are not marked.
fn marked(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut marked = String::with_capacity(text.len() + 64);
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'"' => string_end(bytes, at),
            b'-' | b'0'..=b'9' => at + bytes[at..].iter().take_while(|byte| b"0123456789+-.eE".contains(byte)).count(),
            _ => at + bytes[at..].iter().take_while(|byte| !matches!(byte, b'"' | b'-' | b'0'..=b'9')).count(),
        };
        let token = &text[at..end];
        let is_key = || text[end..].trim_start().starts_with(':');
        if is_wide(token) {
            marked.push_str(&format!("\"{MARK_ESCAPED}{INTEGER}{token}\""));
        } else if token.starts_with('"') && token[1..].starts_with(MARK_ESCAPED) && !is_key() {
            marked.push_str(&format!("\"{MARK_ESCAPED}{TEXT}{}", &token[1..]));
        } else {
            marked.push_str(token);
        }
        at = end;
    }
    marked
}

/// Where the text ends that begins at this quote.
fn string_end(bytes: &[u8], quote: usize) -> usize {
    let mut at = quote + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_64_bits_hold_is_read_as_ever() {
        for text in [
            r#"{"a":[1,-2.5,18446744073709551615,-9223372036854775808,"123456789012345678901234567890"],"b":null}"#,
            r#"{"a":1e30,"b":0.1234567890123456789012345,"c":-0,"d":123456789012345678901.5,"123456789012345678901234":true}"#,
            r#"["\\u0000", "a\u0000", "ü123456789012345678901234567890\""]"#,
        ] {
            assert_eq!(read(text).unwrap(), serde_json::from_str::<Value>(text).unwrap(), "{text}");
        }
        for text in ["123456789012345678901234567890x", "[123456789012345678901234567890", "0123456789012345678901", "\"\\u0000"]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn larger_integers_keep_their_digits() {
        for digits in ["18446744073709551616", "-9223372036854775809", "123456789012345678901234567890", &"9".repeat(400)] {
            let value = read(&format!(" {{\"id\" : [ {digits} ,1]}}")).unwrap();
            let Value::String(id) = &value["id"][0] else { panic!("{value} is not marked") };
            assert_eq!((seen(id), &value["id"][1]), (Seen::Integer(digits), &json!(1)));
            assert_eq!(*id, integer(digits));
        }
    }

    #[test]
    fn a_text_that_looks_like_a_mark_stays_a_text() {
        for plain in ["\0i12345678901234567890123", "\0", "\0t", "\0\0x", "a\0i1", ""] {
            let value = read(&json!({ "\0i1": plain }).to_string()).unwrap();
            let Value::String(read) = &value["\0i1"] else { panic!("{value}") };
            assert_eq!((seen(read), read.as_str()), (Seen::Text(plain), &*text(plain)));
        }
    }
}
