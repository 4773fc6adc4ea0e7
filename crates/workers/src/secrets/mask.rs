//! Takes what is secret out of what comes back: as it is, and as it looks in JSON, in an address and in base64. One that was
//! changed in any other way is not known again.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use std::fmt;

/// Shorter pieces are found in any text.
const PIECE_BYTES_MIN: usize = 6;

#[derive(Clone, Default)]
pub struct Mask {
    /// What is looked for, longest first, and what stands there instead.
    pieces: Vec<(Vec<u8>, String)>,
}

impl Mask {
    /// Of what each label stands for; what is as short as a word is left.
    pub fn new(secrets: impl IntoIterator<Item = (String, String)>) -> Mask {
        let mut pieces: Vec<(Vec<u8>, String)> = Vec::new();
        for (label, value) in secrets {
            // What comes back line by line has it so.
            let lines = value.lines().filter(|line| line.len() < value.len());
            for shape in shapes(&value).into_iter().chain(lines.flat_map(shapes)) {
                if shape.len() >= PIECE_BYTES_MIN && !pieces.iter().any(|(piece, _)| *piece == shape) {
                    pieces.push((shape, label.clone()));
                }
            }
        }
        pieces.sort_by_key(|(piece, _)| std::cmp::Reverse(piece.len()));
        Mask { pieces }
    }

    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub fn bytes(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        for (piece, label) in &self.pieces {
            bytes = replaced(bytes, piece, label.as_bytes());
        }
        bytes
    }

    pub fn text(&self, text: &str) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
        String::from_utf8_lossy(&self.bytes(text.as_bytes().to_vec())).into_owned()
    }

    /// A JSON text. Where a secret is written with escapes, the value is written anew without them.
    pub fn json(&self, text: &str) -> String {
        let masked = self.text(text);
        if self.is_empty() || !masked.contains('\\') {
            return masked;
        }
        let Ok(mut value) = serde_json::from_str::<Value>(&masked) else { return masked };
        if self.within(&mut value) { value.to_string() } else { masked }
    }

    /// Whether something was found in the texts of this value.
    fn within(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => {
                let masked = self.text(text);
                let found = masked != *text;
                *text = masked;
                found
            }
            Value::Array(values) => values.iter_mut().fold(false, |found, value| self.within(value) | found),
            Value::Object(entries) => {
                let mut found = false;
                let taken = std::mem::take(entries);
                for (key, mut value) in taken {
                    let masked = self.text(&key);
                    found |= self.within(&mut value) | (masked != key);
                    entries.insert(masked, value);
                }
                found
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.pieces.iter().map(|(_, label)| label)).finish()
    }
}

/// How a secret may look where it comes back.
fn shapes(value: &str) -> Vec<Vec<u8>> {
    let quote = |text: &str| {
        let quoted = serde_json::to_string(text).expect("text is JSON");
        quoted[1..quoted.len() - 1].to_owned()
    };
    // JSON, and JSON that is told as a text in JSON.
    let quoted = quote(value);
    let twice = quote(&quoted);
    let percent = utf8_percent_encode(value, NON_ALPHANUMERIC).to_string();
    // Most leave these as they are.
    let lenient = ["%2D", "%2E", "%5F", "%7E"].into_iter().zip(["-", ".", "_", "~"]);
    let lenient = lenient.fold(percent.clone(), |text, (escape, plain)| text.replace(escape, plain));
    let mut shapes: Vec<Vec<u8>> = [value, &quoted, &twice, &percent, &lenient].map(|text| text.into()).to_vec();
    shapes.extend([percent.to_ascii_lowercase(), lenient.to_ascii_lowercase()].map(String::into_bytes));
    for shift in 0..3 {
        // Behind so many other bytes: what their letters share with them is left out at both ends.
        let mut bytes = vec![0; shift];
        bytes.extend_from_slice(value.as_bytes());
        let last = bytes.len() * 8 / 6;
        let first = (shift * 8).div_ceil(6).min(last);
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            shapes.push(engine.encode(&bytes).into_bytes()[first..last].to_vec());
        }
    }
    shapes
}

fn replaced(bytes: Vec<u8>, piece: &[u8], label: &[u8]) -> Vec<u8> {
    let Some(mut found) = find(&bytes, piece) else { return bytes };
    let (mut out, mut rest) = (Vec::with_capacity(bytes.len()), bytes.as_slice());
    loop {
        out.extend_from_slice(&rest[..found]);
        out.extend_from_slice(label);
        rest = &rest[found + piece.len()..];
        match find(rest, piece) {
            Some(next) => found = next,
            None => break,
        }
    }
    out.extend_from_slice(rest);
    out
}

fn find(bytes: &[u8], piece: &[u8]) -> Option<usize> {
    let first = *piece.first()?;
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|byte| *byte == first) {
        if bytes[from + at..].starts_with(piece) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "s3cr?t/\"key\" ~ü";

    #[test]
    fn a_secret_is_found_however_it_is_commonly_written() {
        let mask = Mask::new([("<KEY>".to_owned(), SECRET.to_owned())]);
        let base64 = |before: &str, after: &str| {
            let bytes = format!("{before}{SECRET}{after}");
            [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)]
        };
        let percent = utf8_percent_encode(SECRET, NON_ALPHANUMERIC).to_string();
        let mut texts = vec![
            format!("a {SECRET} b"),
            serde_json::to_string(&[SECRET]).unwrap(),
            serde_json::to_string(&serde_json::to_string(&[SECRET]).unwrap()).unwrap(),
            format!("?q={percent}&x"),
            percent.to_ascii_lowercase(),
        ];
        for before in ["", "u", "us", "user:"] {
            texts.extend(base64(before, ""));
            texts.extend(base64(before, "?"));
        }
        for text in texts {
            let masked = mask.text(&text);
            assert!(masked.contains("<KEY>"), "{text}: {masked}");
            assert!(!masked.contains("key") && !masked.contains("s3cr"), "{text}: {masked}");
        }
        assert_eq!(mask.text("nothing of it"), "nothing of it");
        assert_eq!(mask.bytes([b"\xff", SECRET.as_bytes(), b"\xfe"].concat()), [b"\xff", "<KEY>".as_bytes(), b"\xfe"].concat());
        assert!(!format!("{mask:?}").contains("s3cr"));
    }

    #[test]
    fn each_line_of_one_that_has_several_is_found() {
        let mask = Mask::new([("<KEY>".to_owned(), "-----BEGIN-----\nMIIabcdef\nq==\n-----END-----".to_owned())]);
        assert_eq!(mask.text("it says MIIabcdef."), "it says <KEY>.");
        assert_eq!(mask.text("-----BEGIN-----\nMIIabcdef\nq==\n-----END-----"), "<KEY>");
        assert_eq!(mask.text("q=="), "q==", "as short as a word");
    }

    #[test]
    fn in_json_it_is_found_behind_escapes_and_numbers_keep_their_digits_elsewhere() {
        let mask = Mask::new([("<KEY>".to_owned(), "sesame-open".to_owned())]);
        for (text, masked) in [
            (r#"{"a":1.50,"b":"sesame-open"}"#, r#"{"a":1.50,"b":"<KEY>"}"#),
            (r#"{"a":1.50,"b":"x\ny"}"#, r#"{"a":1.50,"b":"x\ny"}"#),
            (r#"{"b":["\u0073esame-open"]}"#, r#"{"b":["<KEY>"]}"#),
            (r#"{"sesame\u002dopen":1}"#, r#"{"<KEY>":1}"#),
        ] {
            assert_eq!(mask.json(text), masked);
        }
    }
}
