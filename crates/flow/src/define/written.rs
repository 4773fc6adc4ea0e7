//! Expressions and templates as they are written. Where either may stand, a text (or a number) is an expression, and a list
//! or a map is a template.

use super::scalars::wrong;
use super::{Composer, Part, Source};
use crate::problem::Problems;
use crate::source::{Data, Value};
use kernel::ir::Form;

pub fn cel(value: &Value, problems: &mut Problems) -> Option<Source> {
    let mut composer = Composer::new(&value.at);
    match &value.data {
        Data::Text(text) if text.text.trim().is_empty() => {
            problems.say(&value.at, "the expression is empty");
            return None;
        }
        Data::Text(text) => {
            composer.parts.push(Part { at: value.at.clone(), text: text.clone(), start: 0, pointer: String::new() });
            composer.text.push_str(&text.text);
        }
        Data::Bool(_) | Data::Int(_) | Data::Wide(_) | Data::Float(_) => composer.text.push_str(&value.to_json_text()),
        Data::Null | Data::List(_) | Data::Map(_) => {
            wrong(value, "an expression", problems);
            return None;
        }
    }
    Some(composer.cel())
}

pub fn template(value: &Value) -> Source {
    let mut parts = Vec::new();
    place(value, &mut String::new(), &mut parts);
    Source { text: value.to_json_text().into(), form: Form::Template, at: value.at.clone(), parts }
}

pub fn either(value: &Value, problems: &mut Problems) -> Option<Source> {
    match &value.data {
        Data::List(_) | Data::Map(_) => Some(template(value)),
        _ => cel(value, problems),
    }
}

/// The place of every text that holds an expression, or what may be meant as one.
fn place(value: &Value, pointer: &mut String, parts: &mut Vec<Part>) {
    let mut below = |name: &str, value: &Value| {
        let length = pointer.len();
        pointer.push('/');
        pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
        place(value, pointer, parts);
        pointer.truncate(length);
    };
    match &value.data {
        Data::List(values) => values.iter().enumerate().for_each(|(at, value)| below(&at.to_string(), value)),
        Data::Map(entries) => entries.iter().for_each(|entry| below(&entry.key, &entry.value)),
        Data::Text(text) if text.text.contains('$') || text.text.contains("{{") => {
            parts.push(Part { at: value.at.clone(), text: text.clone(), start: 0, pointer: pointer.clone() });
        }
        _ => {}
    }
}
