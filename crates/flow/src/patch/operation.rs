//! The operations of RFC 6902, read strictly: what is missing or wrong is told with the operation's number. Members that an
//! operation does not know are passed over, as the RFC says.

use super::json::Json;
use super::pointer::Pointer;
use crate::limits::{PATCH_BYTES_MAX, PATCH_OPERATIONS_MAX};
use crate::problem::did_you_mean;
use crate::source::short;
use std::fmt;

/// What is to be done to a document, in order.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Operations(pub(super) Vec<Operation>);

#[derive(Clone, PartialEq, Debug)]
pub struct Operation {
    pub path: Pointer,
    pub act: Act,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Act {
    Add(Json),
    Remove,
    Replace(Json),
    Move { from: Pointer },
    Copy { from: Pointer },
    Test(Json),
}

/// Why a patch cannot be read or applied. Nothing of it was done.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct PatchError {
    /// Which operation, from 0; none if it is about the patch as a whole.
    pub index: Option<usize>,
    pub op: String,
    pub path: String,
    pub why: String,
    pub suggestion: Option<String>,
}

impl PatchError {
    pub(super) fn whole(why: impl Into<String>) -> PatchError {
        PatchError { why: why.into(), ..PatchError::default() }
    }

    pub(super) fn suggest(self, suggestion: Option<String>) -> PatchError {
        PatchError { suggestion, ..self }
    }

    pub(super) fn of(self, index: usize, operation: &Operation) -> PatchError {
        PatchError { index: Some(index), op: operation.act.name().to_owned(), path: operation.path.to_string(), ..self }
    }
}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(index) = self.index {
            write!(f, "operations[{index}]")?;
            if !self.op.is_empty() {
                match &*self.path {
                    "" if OPS.contains(&&*self.op) && !self.why.starts_with("`path`") => {
                        write!(f, " ({} of the whole document)", self.op)?
                    }
                    "" => write!(f, " ({})", short(&self.op))?,
                    path => write!(f, " ({} {})", short(&self.op), short(path))?,
                }
            }
            write!(f, ": ")?;
        }
        f.write_str(&self.why)?;
        self.suggestion.iter().try_for_each(|suggestion| write!(f, "\n  {suggestion}"))
    }
}

impl std::error::Error for PatchError {}

const OPS: [&str; 6] = ["add", "remove", "replace", "move", "copy", "test"];

impl Act {
    pub fn name(&self) -> &'static str {
        match self {
            Act::Add(_) => "add",
            Act::Remove => "remove",
            Act::Replace(_) => "replace",
            Act::Move { .. } => "move",
            Act::Copy { .. } => "copy",
            Act::Test(_) => "test",
        }
    }
}

impl Operations {
    /// A list of operations, JSON or YAML; or a map that has it as its `operations`.
    pub fn read(text: &[u8]) -> Result<Operations, PatchError> {
        if text.len() > PATCH_BYTES_MAX {
            let why = format!("the patch has {} bytes; at most {PATCH_BYTES_MAX} are read", text.len());
            return Err(PatchError::whole(why));
        }
        let read = Json::read(text).map_err(|problem| PatchError::whole(problem.to_string()))?;
        Operations::of(read.get("operations").unwrap_or(&read))
    }

    fn of(list: &Json) -> Result<Operations, PatchError> {
        let Json::List(listed) = list else {
            let why = format!("a patch is a list of operations, not {}", list.kind());
            let example = r#"[{"op": "replace", "path": "/nodes/pay/timeout", "value": "1m"}]"#;
            return Err(PatchError::whole(why).suggest(Some(format!("for example {example}"))));
        };
        if listed.len() > PATCH_OPERATIONS_MAX {
            let why = format!("there are {} operations; there may be {PATCH_OPERATIONS_MAX}", listed.len());
            return Err(PatchError::whole(why));
        }
        listed.iter().enumerate().map(|(index, json)| operation(index, json)).collect::<Result<_, _>>().map(Operations)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Operation> {
        self.0.iter()
    }

    /// Those that are to be done after.
    pub fn extend(&mut self, after: Operations) {
        self.0.extend(after.0);
    }

    /// As JSON on one line, to be kept and read again.
    pub fn text(&self) -> String {
        let one = |operation: &Operation| {
            let mut entries = vec![("op".to_owned(), Json::text(operation.act.name()))];
            let mut entry = |key: &str, value: Json| entries.push((key.to_owned(), value));
            match &operation.act {
                Act::Move { from } | Act::Copy { from } => entry("from", Json::text(from.to_string())),
                _ => {}
            }
            entry("path", Json::text(operation.path.to_string()));
            match &operation.act {
                Act::Add(value) | Act::Replace(value) | Act::Test(value) => entry("value", value.clone()),
                _ => {}
            }
            Json::Map(entries)
        };
        Json::List(self.0.iter().map(one).collect()).compact()
    }
}

fn operation(index: usize, json: &Json) -> Result<Operation, PatchError> {
    let mut known = PatchError { index: Some(index), ..PatchError::default() };
    let Json::Map(_) = json else {
        known.why = format!("an operation is a map with `op` and `path`, not {}", json.kind());
        return Err(known);
    };
    let text = |name: &str, known: &PatchError| match json.get(name) {
        Some(Json::Text(text)) => Ok(text.as_str()),
        Some(other) => Err(PatchError { why: format!("`{name}` is a text, not {}", other.kind()), ..known.clone() }),
        None => Err(PatchError { why: format!("`{name}` is missing"), ..known.clone() }),
    };
    let op = text("op", &known)?;
    known.op = op.to_owned();
    known.path = json.get("path").and_then(Json::as_text).unwrap_or_default().to_owned();
    if !OPS.contains(&op) {
        known.why = format!("there is no operation `{}`", short(op));
        known.suggestion = did_you_mean(op, OPS).or(Some(format!("one of {}", OPS.join(", "))));
        return Err(known);
    }
    let pointer = |name: &str, known: &PatchError| {
        let text = text(name, known)?;
        Pointer::parse(text).map_err(|why| PatchError { why: format!("`{name}`: {why}"), ..known.clone() })
    };
    known.path = text("path", &known)?.to_owned();
    let path = pointer("path", &known)?;
    let value = || match json.get("value") {
        Some(value) => Ok(value.clone()),
        None => Err(PatchError { why: "`value` is missing".to_owned(), ..known.clone() }),
    };
    let act = match op {
        "add" => Act::Add(value()?),
        "remove" => Act::Remove,
        "replace" => Act::Replace(value()?),
        "move" => Act::Move { from: pointer("from", &known)? },
        "copy" => Act::Copy { from: pointer("from", &known)? },
        _ => Act::Test(value()?),
    };
    Ok(Operation { path, act })
}
