//! The two ways to say no: a `Problem` of the text, found before anything runs, and an `EvalError` of one evaluation.

use super::limits::*;
use super::value::Map;
use serde::Serialize;
use std::fmt;
use std::io::{self, Write};
use thiserror::Error;

/// What is wrong with an expression's or a template's text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct Problem {
    /// Where in a template's JSON, as a JSON pointer; empty in an expression.
    pub path: String,
    /// The byte of the source, or of the template's string, at which it was noticed.
    pub offset: usize,
    pub message: String,
    /// What was probably meant, as a sentence.
    pub suggestion: Option<String>,
}

impl Problem {
    pub(crate) fn new(offset: usize, message: impl Into<String>) -> Problem {
        Problem { path: String::new(), offset, message: message.into(), suggestion: None }
    }

    pub(crate) fn suggest(mut self, suggestion: impl Into<Option<String>>) -> Problem {
        self.suggestion = suggestion.into();
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "{} (at {})", self.message, self.offset)?;
        match &self.suggestion {
            Some(suggestion) => write!(f, "; {suggestion}"),
            None => Ok(()),
        }
    }
}

/// Why an evaluation gave nothing. Deterministic: the same expression over the same values fails with the same words.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum EvalError {
    /// The values are not what the expression expects.
    #[error("{0}")]
    Failed(Box<Failure>),
    /// The budget is spent.
    #[error("{0}")]
    TooCostly(Box<Failure>),
}

impl EvalError {
    pub fn failure(&self) -> &Failure {
        match self {
            EvalError::Failed(failure) | EvalError::TooCostly(failure) => failure,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Where in a template's JSON, as a JSON pointer; empty in an expression.
    pub path: String,
    pub expression: String,
    pub message: String,
    /// The byte of the expression at which it went wrong.
    pub offset: usize,
    /// The values it read, each with its path and shortened: (`input.order`, `{"id":7}`).
    pub read: Vec<(String, String)>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "{}: {}", self.expression, self.message)?;
        for (number, (path, value)) in self.read.iter().enumerate() {
            write!(f, "{} {path} = {value}", if number == 0 { ", where" } else { "," })?;
        }
        Ok(())
    }
}

/// An error on its way up through the evaluator, where it may still be absorbed: what is dear is left to `report`.
#[derive(Debug)]
pub(crate) struct Stop<'a> {
    pub message: String,
    pub offset: u32,
    /// Spent budgets are never absorbed by `&&`, `||`, `all` or `exists`.
    pub too_costly: bool,
    /// The variables of the comprehensions it passed through.
    pub variables: Vec<(String, String)>,
    /// The key that was not there, and where it was looked for.
    pub missing: Option<(String, Map<'a>)>,
}

/// A key for a message, shortened: it may come from a value.
pub(crate) fn clipped(key: &str) -> &str {
    key.char_indices().nth(SUGGESTION_BYTES_MAX).map_or(key, |(end, _)| &key[..end])
}

/// Writes at most `SHOWN_BYTES_MAX`, then refuses, so that the rest of a large value is never looked at.
struct Clipped(Vec<u8>);

impl Write for Clipped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = SHOWN_BYTES_MAX - self.0.len();
        if room == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let taken = bytes.len().min(room);
        self.0.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The value as JSON text, shortened.
pub(crate) fn shown(value: &impl Serialize) -> String {
    let mut clipped = Clipped(Vec::new());
    let whole = serde_json::to_writer(&mut clipped, value).is_ok();
    // The cut may fall inside a character.
    let text = clipped.0.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    format!("{text}{}", if whole { "" } else { "…" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_shown_shortened() {
        assert_eq!(shown(&json!({"amuont": 5})), r#"{"amuont":5}"#);
        assert_eq!(shown(&json!("x".repeat(1_000))).len(), SHOWN_BYTES_MAX + "…".len());
        for pad in 0..4 {
            let long = format!("{}{}", "x".repeat(pad), "ü".repeat(500));
            assert!(shown(&json!(long)).ends_with("ü…"));
        }
        let mut deep = json!(1);
        for _ in 0..2_000 {
            deep = serde_json::Value::Array(vec![deep]);
        }
        assert_eq!(shown(&deep).len(), SHOWN_BYTES_MAX + "…".len());
    }
}
