//! YAML or JSON text → values that know where they stand. Integers are integers, booleans are those of YAML 1.2, a key
//! occurs once. Anchors, aliases, tags and merge keys are refused: a definition is read as it stands, and cannot grow.
//!
//! JSON is read as YAML, which it is but for one thing: a character written as two `\u` escapes (a surrogate pair), which
//! is rewritten before.

use crate::limits::*;
use crate::problem::{At, Path, Problem};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

#[derive(Clone, PartialEq, Debug)]
pub struct Value {
    pub at: At,
    pub data: Data,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Data {
    Null,
    Bool(bool),
    Int(i64),
    /// The digits of an integer that an i64 does not hold.
    Wide(Arc<str>),
    Float(f64),
    Text(Text),
    List(Vec<Value>),
    Map(Vec<Entry>),
}

#[derive(Clone, PartialEq, Debug)]
pub struct Text {
    pub text: Arc<str>,
    /// How many characters after its place the text begins, if it stands in the file letter for letter.
    pub verbatim: Option<u32>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    pub key: Arc<str>,
    pub key_at: At,
    pub value: Value,
}

impl Value {
    /// With an article, for messages.
    pub fn kind(&self) -> &'static str {
        match &self.data {
            Data::Null => "nothing",
            Data::Bool(_) => "a boolean",
            Data::Int(_) | Data::Wide(_) => "an integer",
            Data::Float(_) => "a number",
            Data::Text(_) => "a text",
            Data::List(_) => "a list",
            Data::Map(_) => "a map",
        }
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        match &self.data {
            Data::Map(entries) => entries.iter().find(|entry| &*entry.key == key).map(|entry| &entry.value),
            _ => None,
        }
    }

    /// Where a JSON Pointer leads to; as far as it leads somewhere.
    pub fn place(&self, pointer: &str) -> &At {
        let mut here = self;
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            let next = match &here.data {
                Data::List(values) => step.parse::<usize>().ok().and_then(|index| values.get(index)),
                _ => here.get(&step),
            };
            let Some(next) = next else { break };
            here = next;
        }
        &here.at
    }

    /// As JSON text, keys in the order of the file.
    pub fn to_json_text(&self) -> String {
        let mut text = String::new();
        self.write_json(&mut text);
        text
    }

    fn write_json(&self, text: &mut String) {
        let comma = |at: usize| if at > 0 { "," } else { "" };
        match &self.data {
            Data::List(values) => {
                text.push('[');
                for (at, value) in values.iter().enumerate() {
                    text.push_str(comma(at));
                    value.write_json(text);
                }
                text.push(']');
            }
            Data::Map(entries) => {
                text.push('{');
                for (at, entry) in entries.iter().enumerate() {
                    text.push_str(comma(at));
                    text.push_str(&serde_json::Value::from(&*entry.key).to_string());
                    text.push(':');
                    entry.value.write_json(text);
                }
                text.push('}');
            }
            Data::Wide(digits) => text.push_str(digits),
            _ => text.push_str(&self.to_json().to_string()),
        }
    }

    pub fn to_json(&self) -> serde_json::Value {
        match &self.data {
            Data::Null => serde_json::Value::Null,
            Data::Bool(value) => (*value).into(),
            Data::Int(value) => (*value).into(),
            Data::Wide(digits) => serde_json::from_str(digits).unwrap_or_default(),
            Data::Float(value) => (*value).into(),
            Data::Text(text) => (*text.text).into(),
            Data::List(values) => values.iter().map(Value::to_json).collect(),
            Data::Map(entries) => entries.iter().map(|entry| (entry.key.to_string(), entry.value.to_json())).collect(),
        }
    }
}

/// The one document of a file.
pub fn parse(source: &[u8]) -> Result<Value, Problem> {
    let mut documents = parse_all(source)?;
    match documents.len() {
        1 => Ok(documents.swap_remove(0)),
        count => {
            let second = &documents[1].at;
            Err(Problem::new(second, format!("there are {count} documents; one is expected here")))
        }
    }
}

/// Every document of a file, at least one; those with nothing in them are left out.
pub fn parse_all(source: &[u8]) -> Result<Vec<Value>, Problem> {
    let start = At { line: 1, column: 1, path: Path::default() };
    if source.len() > SOURCE_BYTES_MAX {
        let message = format!("the file has {} bytes; at most {SOURCE_BYTES_MAX} are read", source.len());
        return Err(Problem::new(&start, message));
    }
    let text = std::str::from_utf8(source).map_err(|error| {
        let before = String::from_utf8_lossy(&source[..error.valid_up_to()]).into_owned();
        let line = before.matches('\n').count() as u32 + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u32 + 1;
        Problem::new(&At { line, column, path: Path::default() }, "the file is not UTF-8 text")
    })?;
    let plain = without_surrogates(text);
    read(&plain).map_err(|problem| if looks_like_json(text) { as_json(text, problem) } else { problem })
}

fn read(text: &str) -> Result<Vec<Value>, Problem> {
    let start = At { line: 1, column: 1, path: Path::default() };
    let mut reader = Reader { events: Parser::new_from_str(text), depth: 0 };
    let mut documents: Vec<Value> = Vec::new();
    while let Some((event, span)) = reader.next()? {
        match event {
            Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing => {}
            first => {
                let value = reader.value(first, span, &Path::default())?;
                if value.data != Data::Null {
                    documents.push(value);
                }
                if documents.len() > DOCUMENTS_MAX {
                    return Err(Problem::new(&start, format!("a file may hold at most {DOCUMENTS_MAX} documents")));
                }
            }
        }
    }
    if documents.is_empty() {
        return Err(Problem::new(&start, "there is nothing in this file"));
    }
    Ok(documents)
}

struct Reader<'a> {
    events: Parser<'a, saphyr_parser::StrInput<'a>>,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<Option<(Event<'a>, Span)>, Problem> {
        self.events.next_event().transpose().map_err(|error| unreadable(&error))
    }

    /// The next event inside a list or a map.
    fn inner(&mut self) -> Result<(Event<'a>, Span), Problem> {
        match self.next()? {
            Some(event) => Ok(event),
            None => Err(Problem::new(&At::default(), "the file ends too early")),
        }
    }

    fn value(&mut self, event: Event<'a>, span: Span, path: &Path) -> Result<Value, Problem> {
        let at = at(span.start, path);
        let refused = |what: &str| {
            Err(Problem::new(&at, format!("{what} are not supported")).suggest("write the value out where it is used"))
        };
        let (anchor, tag) = match &event {
            Event::Alias(_) => return refused("aliases (*name)"),
            Event::Scalar(_, _, anchor, tag) | Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag) => {
                (*anchor, tag.is_some())
            }
            _ => (0, false),
        };
        if anchor > 0 {
            return refused("anchors (&name)");
        }
        if tag {
            return Err(Problem::new(&at, "tags (!name) are not supported").suggest("quote the value if it is meant as text"));
        }
        if self.depth >= SOURCE_DEPTH_MAX {
            return Err(Problem::new(&at, too_deep()));
        }
        self.depth += 1;
        let data = match event {
            Event::Scalar(text, style, ..) => scalar(text, style, span, &at)?,
            Event::SequenceStart(..) => self.list(path)?,
            Event::MappingStart(..) => self.map(path)?,
            other => return Err(Problem::new(&at, format!("the file cannot be read here ({other:?})"))),
        };
        self.depth -= 1;
        Ok(Value { at, data })
    }

    fn list(&mut self, path: &Path) -> Result<Data, Problem> {
        let mut values = Vec::new();
        loop {
            match self.inner()? {
                (Event::SequenceEnd, _) => return Ok(Data::List(values)),
                (event, span) => {
                    let path = path.index(values.len());
                    values.push(self.value(event, span, &path)?);
                }
            }
        }
    }

    fn map(&mut self, path: &Path) -> Result<Data, Problem> {
        let mut entries = Vec::new();
        let mut keys = HashSet::new();
        loop {
            let (event, span) = self.inner()?;
            let key_at = at(span.start, path);
            let key: Arc<str> = match event {
                Event::MappingEnd => return Ok(Data::Map(entries)),
                Event::Scalar(text, ..) => text.into(),
                Event::Alias(_) => return Err(Problem::new(&key_at, "aliases (*name) are not supported")),
                _ => return Err(Problem::new(&key_at, "a key must be a text")),
            };
            let path = path.key(&key);
            let key_at = At { path: path.clone(), ..key_at };
            if &*key == "<<" {
                return Err(Problem::new(&key_at, "merge keys (<<) are not supported").suggest("`defaults` holds for all nodes"));
            }
            if !keys.insert(key.clone()) {
                return Err(Problem::new(&key_at, format!("the key `{key}` occurs twice")));
            }
            let (event, span) = self.inner()?;
            let value = self.value(event, span, &path)?;
            entries.push(Entry { key, key_at, value });
        }
    }
}

fn at(mark: Marker, path: &Path) -> At {
    At { line: mark.line().max(1) as u32, column: mark.col() as u32 + 1, path: path.clone() }
}

const NOT_YAML: &str = "this is not YAML";

fn too_deep() -> String {
    format!("lists and maps lie more than {SOURCE_DEPTH_MAX} deep in each other")
}

fn looks_like_json(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '['])
}

/// A text that begins as JSON and is no YAML is probably meant as JSON.
fn as_json(text: &str, problem: Problem) -> Problem {
    let not_json = if problem.message.starts_with(NOT_YAML) { not_json(text) } else { None };
    not_json.unwrap_or(problem)
}

/// What is wrong with a text as JSON: a file that is called so is held to it.
pub fn not_json(text: &str) -> Option<Problem> {
    let text = text.trim_start_matches('\u{feff}');
    let error = serde_json::from_str::<&serde_json::value::RawValue>(text).err()?;
    // Read as values it is told more plainly.
    let error = serde_json::from_str::<serde_json::Value>(text).err().unwrap_or(error);
    let at = At { line: error.line().max(1) as u32, column: error.column().max(1) as u32, path: Path::default() };
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    Some(if message.starts_with("recursion limit") {
        Problem::new(&at, too_deep())
    } else {
        Problem::new(&at, format!("this is not JSON: {message}"))
    })
}

fn unreadable(error: &ScanError) -> Problem {
    let at = at(*error.marker(), &Path::default());
    let problem = Problem::new(&at, format!("{NOT_YAML}: {}", error.info()));
    match error.info() {
        "while parsing node, found unknown anchor" => {
            Problem::new(&at, "aliases (*name) are not supported").suggest("quote a text that begins with `*`")
        }
        "recursion limit exceeded" => Problem::new(&at, too_deep()),
        "while parsing a quoted scalar, found invalid Unicode character escape code" => {
            let message = "an escape such as \\ud83d is half a character: it comes with its other half, or not at all";
            Problem::new(&at, message)
        }
        "mapping values are not allowed in this context" => problem.suggest("quote a text that holds `: `"),
        _ => problem,
    }
}

/// The core schema of YAML 1.2; whatever is quoted is text.
fn scalar(text: Cow<'_, str>, style: ScalarStyle, span: Span, at: &At) -> Result<Data, Problem> {
    let one_line = span.start.line() == span.end.line();
    let chars = text.chars().count();
    let verbatim = match style {
        ScalarStyle::Plain if one_line && span.len() == chars => Some(0),
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted if one_line && span.len() == chars + 2 => Some(1),
        _ => None,
    };
    if style != ScalarStyle::Plain {
        return Ok(Data::Text(Text { text: text.into(), verbatim }));
    }
    Ok(match &*text {
        "" | "~" | "null" | "Null" | "NULL" => Data::Null,
        "true" | "True" | "TRUE" => Data::Bool(true),
        "false" | "False" | "FALSE" => Data::Bool(false),
        _ => match number(&text) {
            Some(Ok(number)) => number,
            Some(Err(why)) => {
                return Err(Problem::new(at, format!("`{}` {why}", short(&text))).suggest("quote it to make it text"));
            }
            None => Data::Text(Text { text: text.into(), verbatim }),
        },
    })
}

/// None: not written as a number.
fn number(text: &str) -> Option<Result<Data, &'static str>> {
    let range = "does not fit into 64 bits";
    let radix = |digits: &str, radix: u32| -> Option<Result<Data, &'static str>> {
        let legal = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
        legal.then(|| i64::from_str_radix(digits, radix).map(Data::Int).map_err(|_| range))
    };
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    if matches!(text.trim_start_matches(['+', '-']), ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN") {
        return Some(Err("is not a number that JSON knows"));
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Ok(text.parse().map_or_else(|_| wide(text), Data::Int)));
    }
    let float_like = digits.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    match text.parse::<f64>() {
        Ok(value) if float_like && value.is_finite() => Some(Ok(Data::Float(value))),
        Ok(_) if float_like => Some(Err("is too large a number")),
        _ => None,
    }
}

/// As JSON writes it.
fn wide(text: &str) -> Data {
    let sign = if text.starts_with('-') { "-" } else { "" };
    Data::Wide(format!("{sign}{}", text.trim_start_matches(['+', '-']).trim_start_matches('0')).into())
}

/// For messages: the beginning of a text.
pub(crate) fn short(text: &str) -> String {
    const SHOWN_CHARS_MAX: usize = 60;
    let mut shown: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// JSON writes characters beyond U+FFFF as two escapes, which YAML does not know: one of YAML's takes their place.
fn without_surrogates(text: &str) -> Cow<'_, str> {
    let holds_one = looks_like_json(text) && text.as_bytes().windows(3).any(|bytes| matches!(bytes, [b'\\', b'u', b'd' | b'D']));
    // In text that is JSON every backslash stands in a string, and escapes can be told from what they escape.
    if !holds_one || serde_json::from_str::<&serde_json::value::RawValue>(text.trim_start_matches('\u{feff}')).is_err() {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        plain.push_str(before);
        let taken = match surrogate_pair(escape) {
            Some(character) => {
                plain.push_str(&format!("\\U{:08x}", character as u32));
                12
            }
            // A backslash and what it escapes; that is ASCII, or the text would not be JSON.
            None => {
                plain.push_str(&escape[..2]);
                2
            }
        };
        rest = &escape[taken..];
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

fn surrogate_pair(escape: &str) -> Option<char> {
    let unit = |escape: &str| u16::from_str_radix(escape.strip_prefix("\\u")?, 16).ok();
    let units = [unit(escape.get(..6)?)?, unit(escape.get(6..12)?)?];
    let character = char::decode_utf16(units).next()?.ok()?;
    (character as u32 > 0xffff).then_some(character)
}

#[cfg(test)]
mod tests;
