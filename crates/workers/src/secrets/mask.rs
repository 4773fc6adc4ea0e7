//! Takes what is secret out of what comes back: as it is, with any of it escaped as in JSON or in an address, and in base64. One
//! that was changed in any other way is not known again.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt;

/// Shorter pieces are found in any text.
const PIECE_BYTES_MIN: usize = 6;

#[derive(Clone, Default)]
pub struct Mask {
    /// What is looked for, longest first.
    pieces: Vec<Piece>,
}

#[derive(Clone, PartialEq, Eq)]
struct Piece {
    bytes: Vec<u8>,
    /// What stands there instead.
    label: String,
    written: Written,
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Written {
    /// Any of it with escapes.
    Plainly,
    /// Whether its first and its last bits are in letters that it shares with what stands before and behind it.
    InBase64(bool, bool),
}

impl Mask {
    /// Of what each label stands for; what is as short as a word is left.
    pub fn new(secrets: impl IntoIterator<Item = (String, String)>) -> Mask {
        let mut pieces: Vec<Piece> = Vec::new();
        for (label, value) in secrets {
            // What comes back line by line has it so.
            let lines = value.lines().filter(|line| line.len() < value.len());
            for part in std::iter::once(value.as_str()).chain(lines) {
                let plain = (part.as_bytes().to_vec(), Written::Plainly);
                for (bytes, written) in std::iter::once(plain).chain(in_base64(part)) {
                    let piece = Piece { bytes, label: label.clone(), written };
                    if piece.bytes.len() >= PIECE_BYTES_MIN && !pieces.contains(&piece) {
                        pieces.push(piece);
                    }
                }
            }
        }
        pieces.sort_by_key(|piece| std::cmp::Reverse(piece.bytes.len()));
        Mask { pieces }
    }

    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub fn bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        self.pieces.iter().fold(bytes, |bytes, piece| piece.replaced(bytes))
    }

    pub fn text(&self, text: &str) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
        String::from_utf8_lossy(&self.bytes(text.as_bytes().to_vec())).into_owned()
    }

    /// A JSON text, which stays one: a number that is a secret becomes a text.
    pub fn json(&self, text: &str) -> String {
        let masked = self.text(text);
        if masked == text || serde_json::from_str::<&RawValue>(&masked).is_ok() {
            return masked;
        }
        let Ok(mut value) = serde_json::from_str::<Value>(text) else { return masked };
        self.within(&mut value);
        value.to_string()
    }

    /// What may be JSON, and stays so if it is.
    pub fn body(&self, bytes: Vec<u8>) -> Vec<u8> {
        if self.is_empty() {
            return bytes;
        }
        let json = std::str::from_utf8(&bytes).ok().filter(|text| serde_json::from_str::<&RawValue>(text).is_ok());
        match json {
            Some(text) => self.json(text).into_bytes(),
            None => self.bytes(bytes),
        }
    }

    fn within(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.within(value)),
            Value::Object(entries) => {
                for (key, mut value) in std::mem::take(entries) {
                    self.within(&mut value);
                    entries.insert(self.text(&key), value);
                }
            }
            Value::Number(number) => {
                let digits = number.to_string();
                let masked = self.text(&digits);
                if masked != digits {
                    *value = Value::String(masked);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.pieces.iter().map(|piece| &piece.label)).finish()
    }
}

/// As it is within something longer, behind each number of bytes that makes a difference: the letters that it shares with others at
/// both ends are not looked for.
fn in_base64(value: &str) -> impl Iterator<Item = (Vec<u8>, Written)> {
    (0..3).flat_map(move |shift| {
        let mut bytes = vec![0; shift];
        bytes.extend_from_slice(value.as_bytes());
        let last = bytes.len() * 8 / 6;
        let first = (shift * 8).div_ceil(6).min(last);
        let written = Written::InBase64(shift > 0, !(bytes.len() * 8).is_multiple_of(6));
        [STANDARD_NO_PAD, URL_SAFE_NO_PAD].map(|engine| (engine.encode(&bytes).into_bytes()[first..last].to_vec(), written))
    })
}

impl Piece {
    fn replaced(&self, bytes: Vec<u8>) -> Vec<u8> {
        let Some(mut found) = self.find(&bytes, 0) else { return bytes };
        let (mut out, mut from) = (Vec::with_capacity(bytes.len()), 0);
        loop {
            let (start, end) = self.whole(&bytes, from, found);
            out.extend_from_slice(&bytes[from..start]);
            out.extend_from_slice(self.label.as_bytes());
            from = end;
            match self.find(&bytes, from) {
                Some(next) => found = next,
                None => break,
            }
        }
        out.extend_from_slice(&bytes[from..]);
        out
    }

    /// With the letters that hold bits of it beside others, and what fills the last of them up.
    fn whole(&self, bytes: &[u8], from: usize, (start, end): (usize, usize)) -> (usize, usize) {
        let Written::InBase64(first, last) = self.written else { return (start, end) };
        let is_letter = |at: usize| bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte));
        let start = if first && start > from && is_letter(start - 1) { start - 1 } else { start };
        let end = if last && is_letter(end) { end + 1 } else { end };
        (start, end + bytes[end..].iter().take(2).take_while(|byte| **byte == b'=').count())
    }

    /// Where it begins and ends.
    fn find(&self, bytes: &[u8], mut from: usize) -> Option<(usize, usize)> {
        let first = *self.bytes.first()?;
        let is_plain = self.written == Written::Plainly;
        let may_begin = |byte: &u8| *byte == first || is_plain && matches!(byte, b'\\' | b'%' | b'+');
        while let Some(at) = bytes[from..].iter().position(may_begin) {
            let start = from + at;
            let end = if bytes[start..].starts_with(&self.bytes) {
                Some(start + self.bytes.len())
            } else if is_plain {
                end_of(bytes, start, &self.bytes)
            } else {
                None
            };
            if let Some(end) = end {
                return Some((start, end));
            }
            from = start + 1;
        }
        None
    }
}

/// Where a piece that begins at `at` ends, if it does: each of its characters may stand there as it is or escaped.
fn end_of<'p>(bytes: &[u8], mut at: usize, piece: &'p [u8]) -> Option<usize> {
    let mut rest = piece;
    while let Some(&next) = rest.first() {
        match *bytes.get(at)? {
            b'\\' => {
                // JSON doubles backslashes, once for each text that it is told in, and sets one before what it escapes.
                let own = rest.iter().take_while(|byte| **byte == b'\\').count();
                let run = bytes[at..].iter().take(8 * own + 8).take_while(|byte| **byte == b'\\').count();
                let meant = |rest: &'p [u8]| {
                    let (text, length) = escaped(&bytes[at + run..])?;
                    Some((at + run + length, rest.strip_prefix(text.as_bytes())?))
                };
                (at, rest) = match meant(rest) {
                    Some(next) => next,
                    None if own == 0 || own > run => return None,
                    None => meant(&rest[own..]).filter(|_| run > own).unwrap_or((at + run, &rest[own..])),
                };
            }
            b'%' if bytes.get(at + 1..at + 3).and_then(hex) == Some(next.into()) => (at, rest) = (at + 3, &rest[1..]),
            b'+' if next == b' ' => (at, rest) = (at + 1, &rest[1..]),
            byte if byte == next => (at, rest) = (at + 1, &rest[1..]),
            _ => return None,
        }
    }
    Some(at)
}

/// What JSON means by this after a backslash, and how long it is.
fn escaped(bytes: &[u8]) -> Option<(String, usize)> {
    let plain = |c: char| Some((c.to_string(), 1));
    match bytes.first()? {
        b'n' => plain('\n'),
        b't' => plain('\t'),
        b'r' => plain('\r'),
        b'b' => plain('\u{8}'),
        b'f' => plain('\u{c}'),
        b'"' => plain('"'),
        b'/' => plain('/'),
        b'u' => {
            let first = hex(bytes.get(1..5)?)?;
            if let Some(c) = char::from_u32(first) {
                return Some((c.to_string(), 5));
            }
            // The other half of a pair follows, behind as many backslashes as the first.
            let run = bytes[5..].iter().take(8).take_while(|byte| **byte == b'\\').count();
            let second = bytes[5 + run..].strip_prefix(b"u").and_then(|digits| hex(digits.get(..4)?))?;
            let pair = [u16::try_from(first).ok()?, u16::try_from(second).ok()?];
            let c = char::decode_utf16(pair).next()?.ok()?;
            Some((c.to_string(), 5 + run + 5))
        }
        _ => None,
    }
}

fn hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |sum, digit| Some(sum * 16 + char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::STANDARD;
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    use proptest::prelude::*;

    const SECRET: &str = "S3cr?t/\"Key\" \\~ü😀";

    fn mask(secret: &str) -> Mask {
        Mask::new([("<KEY>".to_owned(), secret.to_owned())])
    }

    fn quoted(text: &str) -> String {
        let quoted = serde_json::to_string(text).unwrap();
        quoted[1..quoted.len() - 1].to_owned()
    }

    /// As those write JSON who escape whatever may be escaped.
    fn in_ascii(text: &str) -> String {
        let mut units = [0; 2];
        let escape = |c: char| match c {
            '/' => "\\/".to_owned(),
            c if c.is_ascii_alphanumeric() => c.to_string(),
            c => c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
        };
        text.chars().map(escape).collect()
    }

    #[test]
    fn a_secret_is_found_however_it_is_commonly_written() {
        let base64 = |before: &str, after: &str| {
            let bytes = format!("{before}{SECRET}{after}");
            [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)]
        };
        let percent = utf8_percent_encode(SECRET, NON_ALPHANUMERIC).to_string();
        // Only what is escaped is in lower case then.
        let lower = percent.split('%').enumerate().map(|(at, part)| match at {
            0 => part.to_owned(),
            _ => format!("%{}{}", part[..2].to_ascii_lowercase(), &part[2..]),
        });
        let mut texts = vec![
            SECRET.to_owned(),
            quoted(SECRET),
            quoted(&quoted(SECRET)),
            quoted(SECRET).replace('/', "\\/"),
            in_ascii(SECRET),
            quoted(&in_ascii(SECRET)),
            percent.clone(),
            lower.collect(),
            percent.replace("%20", "+").replace("%7E", "~"),
        ];
        for before in ["", "u", "us", "user:"] {
            texts.extend(base64(before, ""));
            texts.extend(base64(before, "?"));
        }
        let mask = mask(SECRET);
        for text in texts {
            let masked = mask.text(&format!("a {text} b"));
            assert!(masked.contains("<KEY>"), "{text}: {masked}");
            assert!(!masked.contains("Key") && !masked.contains("S3cr"), "{text}: {masked}");
        }
        // Nothing is left of the letters at its ends, nor of what fills them up.
        for (before, after, left) in [("", "", "<KEY>"), ("u:", "", "dT<KEY>"), ("u:", ":v", "dT<KEY>"), ("abc", "", "YWJj<KEY>")]
        {
            let masked = mask.text(&STANDARD.encode(format!("{before}{SECRET}{after}")));
            let rest = masked.strip_prefix(left).unwrap_or_else(|| panic!("{before} {after}: {masked}"));
            assert_eq!(rest.is_empty(), after.is_empty(), "{before} {after}: {masked}");
        }
        assert_eq!(mask.text("nothing of it"), "nothing of it");
        assert_eq!(mask.bytes([b"\xff", SECRET.as_bytes(), b"\xfe"].concat()), [b"\xff", "<KEY>".as_bytes(), b"\xfe"].concat());
        assert!(!format!("{mask:?}").contains("S3cr"));
    }

    #[test]
    fn each_line_of_one_that_has_several_is_found() {
        let mask = mask("-----BEGIN-----\nMIIabcdef\nq==\n-----END-----");
        assert_eq!(mask.text("it says MIIabcdef."), "it says <KEY>.");
        assert_eq!(mask.text("-----BEGIN-----\nMIIabcdef\nq==\n-----END-----"), "<KEY>");
        assert_eq!(mask.text("q=="), "q==", "as short as a word");
    }

    #[test]
    fn json_stays_json_and_numbers_keep_their_digits() {
        for (secret, text, masked) in [
            ("sesame-open", r#"{"a":1.50,"b":"sesame-open"}"#, r#"{"a":1.50,"b":"<KEY>"}"#),
            ("sesame-open", r#"{"a":1.50,"b":"x\ny"}"#, r#"{"a":1.50,"b":"x\ny"}"#),
            ("sesame-open", r#"{"a":1.50,"b":["\u0073esame-open"]}"#, r#"{"a":1.50,"b":["<KEY>"]}"#),
            ("sesame-open", r#"{"sesame\u002dopen":1}"#, r#"{"<KEY>":1}"#),
            ("123456", r#"{"n":123456,"t":"123456"}"#, r#"{"n":"<KEY>","t":"<KEY>"}"#),
            ("123456", "[91234567]", r#"["9<KEY>7"]"#),
        ] {
            assert_eq!(mask(secret).json(text), masked);
            assert_eq!(mask(secret).body(text.into()), masked.as_bytes());
        }
        assert_eq!(mask("123456").body(b"no json: 123456".to_vec()), b"no json: <KEY>");
    }

    #[test]
    fn many_backslashes_are_no_hard_work() {
        let text = "\\".repeat(1 << 20);
        assert_eq!(mask("sesame-open").text(&text), text);
        assert_eq!(mask("\\\\\\\\\\\\").text(&format!("{}x", "\\".repeat(12))), "<KEY><KEY>x");
    }

    proptest! {
        #[test]
        fn what_was_put_in_is_taken_out(secret in "[ -~ü\n]{6,20}", before in "[ -~]{0,9}", after in "[ -~]{0,9}") {
            let mask = mask(&secret);
            let written = [secret.clone(), quoted(&secret), in_ascii(&secret), utf8_percent_encode(&secret, NON_ALPHANUMERIC).to_string()];
            for written in written {
                prop_assert!(mask.text(&format!("{before}{written}{after}")).contains("<KEY>"), "{}", written);
            }
            // Whatever it stands in, and whatever stands around it.
            let json = serde_json::json!({"k": format!("{before}{secret}{after}"), (secret.clone()): [before]}).to_string();
            let masked = mask.json(&json);
            prop_assert!(serde_json::from_str::<Value>(&masked).is_ok(), "{} {}", json, masked);
            prop_assert!(!serde_json::from_str::<Value>(&masked).unwrap()["k"].as_str().unwrap_or_default().contains(&secret));
        }
    }
}
