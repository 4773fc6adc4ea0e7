//! What the functions do. Each pays for the bytes and elements it looks at, and for what it builds before it builds it.

use super::error::{Stop, shown};
use super::eval::{Evaluated, Evaluator};
use super::functions::Function;
use super::limits::*;
use super::node::{Binary, Node};
use super::pattern::Pattern;
use super::value::{Key, List, Text, Type, Value};
use std::cmp::Ordering;
use std::collections::BTreeSet;

impl<'a> Evaluator<'a, '_> {
    #[inline(never)]
    pub(crate) fn call(&mut self, node: &Node, function: Function, args: Vec<Value<'a>>) -> Evaluated<'a> {
        use Function::*;
        use Value as V;
        match (function, args.as_slice()) {
            (Size, [V::Text(text)]) => {
                self.budget.read_text(text.len())?;
                Ok(V::Int(text.chars().count() as i64))
            }
            (Size, [V::List(list)]) => Ok(V::Int(list.len() as i64)),
            (Size, [V::Map(map)]) => Ok(V::Int(map.len() as i64)),
            (Contains | StartsWith | EndsWith | Matches, [V::Text(text), V::Text(part)]) => {
                self.search(node, function, text, part)
            }
            (Split, [V::Text(text), V::Text(separator)]) => self.split(text, separator, None),
            (Split, [V::Text(text), V::Text(separator), V::Int(limit)]) => {
                self.split(text, separator, usize::try_from(*limit).ok())
            }
            (Join, [V::List(list)]) => self.join(node, list, ""),
            (Join, [V::List(list), V::Text(separator)]) => self.join(node, list, separator),
            (LowerAscii, [V::Text(text)]) => self.build_text(text.len(), |_| text.to_ascii_lowercase()),
            (UpperAscii, [V::Text(text)]) => self.build_text(text.len(), |_| text.to_ascii_uppercase()),
            (Trim, [V::Text(text)]) => {
                self.budget.read_text(text.len())?;
                let trimmed = text.trim_start();
                let start = text.len() - trimmed.len();
                self.slice(text, start, start + trimmed.trim_end().len())
            }
            (Replace, [V::Text(text), V::Text(old), V::Text(new)]) => self.replace(text, old, new, None),
            (Replace, [V::Text(text), V::Text(old), V::Text(new), V::Int(limit)]) => {
                self.replace(text, old, new, usize::try_from(*limit).ok())
            }
            (Substring, [V::Text(text), V::Int(start)]) => self.substring(node, text, *start, None),
            (Substring, [V::Text(text), V::Int(start), V::Int(end)]) => self.substring(node, text, *start, Some(*end)),
            (Int | Uint | Double | Text | Bool, [value]) => self.convert(node, function, value),
            (Type, [value]) if !matches!(value, V::Wide(_)) => Ok(V::Text(super::value::Text::Borrowed(value.kind().name()))),
            (Dyn, [value]) => Ok(value.clone()),
            (Min | Max, [V::List(list)]) => self.extreme(node, function, list),
            (Min | Max, [_, _, ..]) => {
                let list = List::Built(args.into());
                self.extreme(node, function, &list)
            }
            (Sum, [V::List(list)]) => {
                let mut sum = V::Int(0);
                for element in list.iter() {
                    self.pay(node, 1)?;
                    sum = self.arithmetic(node, Binary::Add, &sum, &element)?;
                }
                Ok(sum)
            }
            (Sort, [V::List(list)]) => self.sort(node, list),
            (Distinct, [V::List(list)]) => self.distinct(node, list),
            (Flatten, [V::List(list)]) => self.flatten(list),
            (Range, [V::Int(count)]) => match count {
                0..=RANGE_MAX => {
                    self.budget.build_list(*count as usize)?;
                    Ok(V::list((0..*count).map(V::Int).collect()))
                }
                _ => Err(self.fail(node, format!("range({count}): the count must lie between 0 and {RANGE_MAX}"))),
            },
            (_, args) => {
                let kinds = args.iter().map(|arg| arg.kind().to_string()).collect::<Vec<_>>().join(", ");
                Err(self.fail(node, format!("`{}` does not take ({kinds})", function.signature().name)))
            }
        }
    }

    /// Text of at most so many bytes, made after they are paid.
    fn build_text(&mut self, bytes: usize, build: impl FnOnce(&mut Self) -> String) -> Evaluated<'a> {
        self.budget.build_text(bytes)?;
        Ok(Value::text(build(self)))
    }

    /// A part of a text: borrowed if the text is.
    fn slice(&mut self, text: &Text<'a>, start: usize, end: usize) -> Evaluated<'a> {
        match text {
            Text::Borrowed(text) => Ok(Value::Text(Text::Borrowed(&text[start..end]))),
            Text::Built(text) => self.build_text(end - start, |_| text[start..end].to_owned()),
        }
    }

    #[inline(never)]
    fn search(&mut self, node: &Node, function: Function, text: &str, part: &str) -> Evaluated<'a> {
        self.budget.read_text(text.len() + part.len())?;
        Ok(Value::Bool(match function {
            Function::Contains => text.contains(part),
            Function::StartsWith => text.starts_with(part),
            Function::EndsWith => text.ends_with(part),
            _ => {
                self.pay(node, PATTERN_COST)?;
                match Pattern::compile(part) {
                    Ok(pattern) => pattern.matches(text, self.budget)?,
                    Err(why) => return Err(self.fail(node, why)),
                }
            }
        }))
    }

    #[inline(never)]
    fn split(&mut self, text: &Text<'a>, separator: &str, limit: Option<usize>) -> Evaluated<'a> {
        self.budget.read_text(text.len())?;
        if limit == Some(0) {
            return Ok(Value::list(Vec::new()));
        }
        // Between all characters, and not before the first or after the last.
        let ends: Vec<usize> = match separator.is_empty() {
            true => text.char_indices().skip(1).map(|(at, _)| at).take(limit.map_or(usize::MAX, |limit| limit - 1)).collect(),
            false => text.match_indices(separator).map(|(at, _)| at).take(limit.map_or(usize::MAX, |limit| limit - 1)).collect(),
        };
        if separator.is_empty() && text.is_empty() {
            return Ok(Value::list(Vec::new()));
        }
        self.budget.build_list(ends.len() + 1)?;
        let mut parts = Vec::with_capacity(ends.len() + 1);
        let mut start = 0;
        for end in ends {
            parts.push(self.slice(text, start, end)?);
            start = end + separator.len();
        }
        parts.push(self.slice(text, start, text.len())?);
        Ok(Value::list(parts))
    }

    #[inline(never)]
    fn join(&mut self, node: &Node, list: &List<'a>, separator: &str) -> Evaluated<'a> {
        let mut joined = String::new();
        for (number, element) in list.iter().enumerate() {
            let Value::Text(text) = &element else {
                let message = format!("`join` needs strings; element {number} is {}", element.kind());
                return Err(self.fail(node, message));
            };
            let separator = if number == 0 { "" } else { separator };
            self.pay(node, 1)?;
            self.budget.build_text(separator.len() + text.len())?;
            joined.push_str(separator);
            joined.push_str(text);
        }
        Ok(Value::text(joined))
    }

    #[inline(never)]
    fn replace(&mut self, text: &str, old: &str, new: &str, limit: Option<usize>) -> Evaluated<'a> {
        self.budget.read_text(text.len())?;
        let count = text.match_indices(old).take(limit.unwrap_or(usize::MAX)).count();
        let bytes = text.len().saturating_add(count.saturating_mul(new.len()));
        self.build_text(bytes, |_| text.replacen(old, new, count))
    }

    /// By characters, from `start` up to, not including, `end`.
    #[inline(never)]
    fn substring(&mut self, node: &Node, text: &Text<'a>, start: i64, end: Option<i64>) -> Evaluated<'a> {
        self.budget.read_text(text.len())?;
        let byte_of = |count: i64| {
            let count = usize::try_from(count).ok()?;
            text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(count)
        };
        let ends = (byte_of(start), end.map_or(Some(text.len()), byte_of));
        match ends {
            (Some(start), Some(end)) if start <= end => self.slice(text, start, end),
            _ => {
                let count = text.chars().count();
                let end = end.map_or(String::new(), |end| format!(", {end}"));
                Err(self.fail(node, format!("substring({start}{end}) is not within a string of {count} characters")))
            }
        }
    }

    #[inline(never)]
    fn convert(&mut self, node: &Node, function: Function, value: &Value<'a>) -> Evaluated<'a> {
        if let Value::Text(text) = value {
            self.budget.read_text(text.len())?;
        }
        // Rust's cast from a double cuts towards zero, as CEL does, but saturates, which CEL does not.
        let converted = match (function, value) {
            (Function::Int, Value::Double(value)) => {
                (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(value).then_some(Value::Int(*value as i64))
            }
            (Function::Uint, Value::Double(value)) => {
                (0.0..18_446_744_073_709_551_616.0).contains(value).then_some(Value::Uint(*value as u64))
            }
            (Function::Int, Value::Text(text)) => text.parse().ok().map(Value::Int),
            (Function::Uint, Value::Text(text)) => text.parse().ok().map(Value::Uint),
            (Function::Double, Value::Text(text)) => text.parse().ok().map(Value::Double),
            (Function::Int, number) => number.integer().and_then(|number| i64::try_from(number).ok()).map(Value::Int),
            (Function::Uint, number) => number.integer().and_then(|number| u64::try_from(number).ok()).map(Value::Uint),
            (Function::Double, Value::Double(value)) => Some(Value::Double(*value)),
            // Asked for, it may lose digits.
            (Function::Double, Value::Wide(digits)) => {
                digits.parse().ok().filter(|value: &f64| value.is_finite()).map(Value::Double)
            }
            (Function::Double, number) => number.integer().map(|number| Value::Double(number as f64)),
            (Function::Bool, Value::Bool(value)) => Some(Value::Bool(*value)),
            (Function::Bool, Value::Text(text)) => match &**text {
                "true" | "True" | "TRUE" | "t" | "1" => Some(Value::Bool(true)),
                "false" | "False" | "FALSE" | "f" | "0" => Some(Value::Bool(false)),
                _ => None,
            },
            (Function::Text, Value::Text(text)) => Some(Value::Text(text.clone())),
            (Function::Text, Value::Bool(value)) => Some(Value::text(value.to_string())),
            (Function::Text, Value::Int(value)) => Some(Value::text(value.to_string())),
            (Function::Text, Value::Uint(value)) => Some(Value::text(value.to_string())),
            (Function::Text, Value::Double(value)) => Some(Value::text(value.to_string())),
            (Function::Text, Value::Wide(digits)) => Some(Value::Text(Text::Borrowed(digits))),
            _ => None,
        };
        match converted {
            Some(value) => Ok(value),
            None => {
                let kind = if matches!(value, Value::Null) { String::new() } else { format!("{} ", value.kind()) };
                Err(self.fail(node, format!("`{}` cannot be made of {kind}{}", function.signature().name, shown(value))))
            }
        }
    }

    #[inline(never)]
    fn extreme(&mut self, node: &Node, function: Function, list: &List<'a>) -> Evaluated<'a> {
        let wanted = if function == Function::Min { Ordering::Less } else { Ordering::Greater };
        let mut best: Option<Value<'a>> = None;
        for element in list.iter() {
            self.pay(node, 1)?;
            // Compared with itself, the first one shows whether it has an order at all.
            let order = self.compare(node, &element, best.as_ref().unwrap_or(&element))?;
            match order {
                None => return Err(self.fail(node, "NaN has no order".into())),
                Some(order) if order == wanted || best.is_none() => best = Some(element),
                Some(_) => {}
            }
        }
        match best {
            Some(best) => Ok(best),
            None => Err(self.fail(node, format!("an empty list has no {}", function.signature().name))),
        }
    }

    #[inline(never)]
    fn sort(&mut self, node: &Node, list: &List<'a>) -> Evaluated<'a> {
        self.budget.build_list(list.len())?;
        let mut sorted: Vec<Value<'a>> = list.iter().collect();
        // All must be of one order, and the comparisons are paid before, so that sorting itself cannot fail.
        let rounds = u64::from(list.len().max(1).ilog2()) + 1;
        for index in 0..sorted.len() {
            let units = self.check_order(node, &sorted[0], &sorted[index])?;
            self.pay(node, units.saturating_mul(rounds))?;
        }
        sorted.sort_by(|a, b| match (a, b) {
            (Value::Text(a), Value::Text(b)) => (**a).cmp(&**b),
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            _ => a.compare_numbers(b).unwrap_or(Ordering::Equal),
        });
        Ok(Value::list(sorted))
    }

    /// What one comparison with the value costs, if it has an order together with the first.
    fn check_order(&mut self, node: &Node, first: &Value<'a>, value: &Value<'a>) -> Result<u64, Box<Stop<'static>>> {
        let number = |kind: Type| matches!(kind, Type::Int | Type::Uint | Type::Double);
        match (first.kind(), value) {
            (kind, Value::Double(value)) if number(kind) && value.is_nan() => Err(self.fail(node, "NaN has no order".into())),
            (kind, value) if number(kind) && number(value.kind()) => Ok(1),
            (Type::Text, Value::Text(text)) => Ok(1 + (text.len() / BYTES_PER_UNIT) as u64),
            (Type::Bool, Value::Bool(_)) => Ok(1),
            (kind, value) => Err(self.fail(node, format!("{kind} and {} have no order", value.kind()))),
        }
    }

    /// The first of each that are equal.
    #[inline(never)]
    fn distinct(&mut self, node: &Node, list: &List<'a>) -> Evaluated<'a> {
        let mut seen = BTreeSet::new();
        let mut others: Vec<Value<'a>> = Vec::new();
        let mut distinct = Vec::new();
        for element in list.iter() {
            self.pay(node, 4)?;
            if let Value::Text(text) = &element {
                self.budget.read_text(text.len())?;
            }
            // Keys are found in a set; lists, maps and fractions only one by one, which is paid.
            let new = match Key::of(&element) {
                Some(key) => seen.insert(key),
                None => {
                    let mut new = true;
                    for other in &others {
                        new = new && !self.equal(node, other, &element, 0)?;
                    }
                    if new {
                        others.push(element.clone());
                    }
                    new
                }
            };
            if new {
                self.budget.build(2 * ELEMENT_BYTES)?;
                distinct.push(element);
            }
        }
        Ok(Value::list(distinct))
    }

    /// One level.
    #[inline(never)]
    fn flatten(&mut self, list: &List<'a>) -> Evaluated<'a> {
        let mut flat = Vec::new();
        for element in list.iter() {
            match element {
                Value::List(inner) => {
                    self.budget.build_list(inner.len())?;
                    flat.extend(inner.iter());
                }
                other => {
                    self.budget.build_list(1)?;
                    flat.push(other);
                }
            }
        }
        Ok(Value::list(flat))
    }
}
