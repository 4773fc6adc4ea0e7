//! The table of functions: name, how it is called, how many arguments, what it gives. What they do is in `call.rs`.

use super::node::How;
use super::value::Type;
use crate::problem::did_you_mean;
use std::ops::RangeInclusive;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Size,
    Contains,
    StartsWith,
    EndsWith,
    Matches,
    Split,
    Join,
    LowerAscii,
    UpperAscii,
    Trim,
    Replace,
    Substring,
    Int,
    Uint,
    Double,
    Text,
    Bool,
    Type,
    Dyn,
    Min,
    Max,
    Sum,
    Sort,
    Distinct,
    Flatten,
    Range,
}

/// `f(a, b)`, `a.f(b)`, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Global,
    Method,
    Both,
}

pub(crate) struct Signature {
    pub name: &'static str,
    pub function: Function,
    pub style: Style,
    /// The receiver counted.
    pub args: RangeInclusive<usize>,
    /// `None` where it depends on the arguments.
    pub gives: Option<Type>,
}

const fn row(
    name: &'static str,
    function: Function,
    style: Style,
    args: RangeInclusive<usize>,
    gives: Option<Type>,
) -> Signature {
    Signature { name, function, style, args, gives }
}

#[rustfmt::skip]
pub(crate) const FUNCTIONS: [Signature; 26] = [
    row("size",       Function::Size,       Style::Both,   1..=1, Some(Type::Int)),
    row("contains",   Function::Contains,   Style::Method, 2..=2, Some(Type::Bool)),
    row("startsWith", Function::StartsWith, Style::Method, 2..=2, Some(Type::Bool)),
    row("endsWith",   Function::EndsWith,   Style::Method, 2..=2, Some(Type::Bool)),
    row("matches",    Function::Matches,    Style::Both,   2..=2, Some(Type::Bool)),
    row("split",      Function::Split,      Style::Method, 2..=3, Some(Type::List)),
    row("join",       Function::Join,       Style::Method, 1..=2, Some(Type::Text)),
    row("lowerAscii", Function::LowerAscii, Style::Method, 1..=1, Some(Type::Text)),
    row("upperAscii", Function::UpperAscii, Style::Method, 1..=1, Some(Type::Text)),
    row("trim",       Function::Trim,       Style::Method, 1..=1, Some(Type::Text)),
    row("replace",    Function::Replace,    Style::Method, 3..=4, Some(Type::Text)),
    row("substring",  Function::Substring,  Style::Method, 2..=3, Some(Type::Text)),
    row("int",        Function::Int,        Style::Global, 1..=1, Some(Type::Int)),
    row("uint",       Function::Uint,       Style::Global, 1..=1, Some(Type::Uint)),
    row("double",     Function::Double,     Style::Global, 1..=1, Some(Type::Double)),
    row("string",     Function::Text,       Style::Global, 1..=1, Some(Type::Text)),
    row("bool",       Function::Bool,       Style::Global, 1..=1, Some(Type::Bool)),
    row("type",       Function::Type,       Style::Global, 1..=1, Some(Type::Text)),
    row("dyn",        Function::Dyn,        Style::Global, 1..=1, None),
    row("min",        Function::Min,        Style::Both,   1..=9, None),
    row("max",        Function::Max,        Style::Both,   1..=9, None),
    row("sum",        Function::Sum,        Style::Both,   1..=1, None),
    row("sort",       Function::Sort,       Style::Both,   1..=1, Some(Type::List)),
    row("distinct",   Function::Distinct,   Style::Both,   1..=1, Some(Type::List)),
    row("flatten",    Function::Flatten,    Style::Both,   1..=1, Some(Type::List)),
    row("range",      Function::Range,      Style::Global, 1..=1, Some(Type::List)),
];

#[cfg(test)]
pub(crate) const NAMES: [&str; FUNCTIONS.len()] = {
    let mut names = [""; FUNCTIONS.len()];
    let mut at = 0;
    while at < FUNCTIONS.len() {
        names[at] = FUNCTIONS[at].name;
        at += 1;
    }
    names
};

impl Function {
    pub fn signature(self) -> &'static Signature {
        &FUNCTIONS[self as usize]
    }

    /// The function called so, or why there is none and what was meant.
    pub fn find(name: &str, method: bool, args: usize) -> Result<Function, (String, Option<String>)> {
        if How::parse(name).is_some() {
            return Err((format!("`{name}` is a method"), Some(format!("write list.{name}(x, …)"))));
        }
        if name == "has" {
            return Err(("`has` is not a method".into(), Some("write has(input.key)".into())));
        }
        let Some(found) = FUNCTIONS.iter().find(|signature| signature.name == name) else {
            return Err((format!("there is no function `{name}`"), meant(name)));
        };
        match (found.style, method) {
            (Style::Global, true) => return Err((format!("`{name}` is not a method"), Some(format!("write {}", found.usage())))),
            (Style::Method, false) => return Err((format!("`{name}` is a method"), Some(format!("write {}", found.usage())))),
            _ => {}
        }
        if !found.args.contains(&args) {
            let told = args - usize::from(method);
            let message = format!("`{name}` does not take {told} argument{}", if told == 1 { "" } else { "s" });
            return Err((message, Some(format!("write {}", found.usage()))));
        }
        Ok(found.function)
    }
}

impl Signature {
    fn usage(&self) -> &'static str {
        match self.function {
            Function::Size => "size(x) or x.size()",
            Function::Contains => "text.contains(part)",
            Function::StartsWith => "text.startsWith(part)",
            Function::EndsWith => "text.endsWith(part)",
            Function::Matches => "text.matches(pattern)",
            Function::Split => "text.split(separator) or text.split(separator, limit)",
            Function::Join => "list.join() or list.join(separator)",
            Function::LowerAscii => "text.lowerAscii()",
            Function::UpperAscii => "text.upperAscii()",
            Function::Trim => "text.trim()",
            Function::Replace => "text.replace(old, new) or text.replace(old, new, limit)",
            Function::Substring => "text.substring(start) or text.substring(start, end)",
            Function::Int => "int(x)",
            Function::Uint => "uint(x)",
            Function::Double => "double(x)",
            Function::Text => "string(x)",
            Function::Bool => "bool(x)",
            Function::Type => "type(x)",
            Function::Dyn => "dyn(x)",
            Function::Min => "min(list) or min(a, b, …)",
            Function::Max => "max(list) or max(a, b, …)",
            Function::Sum => "sum(list)",
            Function::Sort => "sort(list)",
            Function::Distinct => "distinct(list)",
            Function::Flatten => "flatten(list)",
            Function::Range => "range(count)",
        }
    }
}

/// Names that people bring from other languages, then names that are close.
fn meant(name: &str) -> Option<String> {
    let known = match name {
        "len" | "length" | "count" => Some("size"),
        "toString" | "str" => Some("string"),
        "toLowerCase" | "lower" | "toLower" => Some("lowerAscii"),
        "toUpperCase" | "upper" | "toUpper" => Some("upperAscii"),
        "includes" | "has_key" => Some("in"),
        "any" | "some" => Some("exists"),
        "every" => Some("all"),
        "float" | "number" => Some("double"),
        "regex" | "match" | "test" => Some("matches"),
        "unique" | "uniq" => Some("distinct"),
        "strip" => Some("trim"),
        "typeof" => Some("type"),
        "timestamp" | "duration" => return Some("JSON has no times: compare ISO 8601 texts, or milliseconds as ints".into()),
        _ => None,
    };
    let macros = How::NAMES.iter().map(|(name, _)| *name).chain(["has"]);
    match known {
        Some(known) => Some(format!("did you mean `{known}`?")),
        None => did_you_mean(name, FUNCTIONS.iter().map(|signature| signature.name).chain(macros)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_functions() {
        for (number, signature) in FUNCTIONS.iter().enumerate() {
            assert_eq!(signature.function as usize, number, "{}", signature.name);
            assert!(signature.usage().contains(signature.name));
        }
    }
}
