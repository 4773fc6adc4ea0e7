//! The values while an expression is evaluated. They borrow the caller's JSON wherever they can, and share what they built,
//! so a clone is always cheap. Numbers: JSON integers are ints, uints where an i64 is too small, all others doubles; but for
//! integers beyond 64 bits, which are only handed on.

use super::node::Literal;
use crate::wide::{self, Seen};
use serde_json::{Map as JsonMap, Value as Json};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Null,
    Bool,
    Int,
    Uint,
    Double,
    /// None of CEL's: an integer beyond 64 bits.
    Wide,
    Text,
    List,
    Map,
}

impl Type {
    /// Those that have a name in CEL.
    pub const ALL: [Type; 8] = [Type::Null, Type::Bool, Type::Int, Type::Uint, Type::Double, Type::Text, Type::List, Type::Map];

    pub const fn name(self) -> &'static str {
        match self {
            Type::Null => "null_type",
            Type::Bool => "bool",
            Type::Int => "int",
            Type::Uint => "uint",
            Type::Double => "double",
            Type::Wide => "an integer beyond 64 bits",
            Type::Text => "string",
            Type::List => "list",
            Type::Map => "map",
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Type::Null { "null" } else { self.name() })
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    /// The digits of an integer beyond 64 bits. It can be handed on and shown; whoever computes with it is told.
    Wide(&'a str),
    Text(Text<'a>),
    List(List<'a>),
    Map(Map<'a>),
}

#[derive(Clone, Debug)]
pub(crate) enum Text<'a> {
    Borrowed(&'a str),
    Built(Rc<str>),
}

impl Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        match self {
            Text::Borrowed(text) => text,
            Text::Built(text) => text,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum List<'a> {
    Json(&'a [Json]),
    Built(Rc<Vec<Value<'a>>>),
}

impl<'a> List<'a> {
    pub fn len(&self) -> usize {
        match self {
            List::Json(list) => list.len(),
            List::Built(list) => list.len(),
        }
    }

    pub fn get(&self, index: usize) -> Option<Value<'a>> {
        match self {
            List::Json(list) => list.get(index).map(Value::of),
            List::Built(list) => list.get(index).cloned(),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Value<'a>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Map<'a> {
    Json(&'a JsonMap<String, Json>),
    Built(Rc<BTreeMap<Key<'a>, Value<'a>>>),
}

impl<'a> Map<'a> {
    pub fn len(&self) -> usize {
        match self {
            Map::Json(map) => map.len(),
            Map::Built(map) => map.len(),
        }
    }

    pub fn get(&self, key: &Key<'_>) -> Option<Value<'a>> {
        match (self, key) {
            (Map::Json(map), Key::Text(text)) => map.get(&**text).map(Value::of),
            (Map::Json(_), _) => None,
            (Map::Built(map), key) => map.get(key).cloned(),
        }
    }

    /// In an order that is the same at every evaluation.
    pub fn entries(&self) -> Box<dyn Iterator<Item = (Key<'a>, Value<'a>)> + '_> {
        match self {
            Map::Json(map) => Box::new(map.iter().map(|(key, value)| (Key::Text(Text::Borrowed(key)), Value::of(value)))),
            Map::Built(map) => Box::new(map.iter().map(|(key, value)| (key.clone(), value.clone()))),
        }
    }

    pub fn text_keys(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Map::Json(map) => Box::new(map.keys().map(String::as_str)),
            Map::Built(map) => {
                Box::new(map.keys().filter_map(|key| if let Key::Text(text) = key { Some(&**text) } else { None }))
            }
        }
    }
}

/// What a map may have as a key. An int and a uint of the same number are the same key.
#[derive(Clone, Debug)]
pub(crate) enum Key<'a> {
    Bool(bool),
    Int(i64),
    Uint(u64),
    Text(Text<'a>),
}

impl<'a> Key<'a> {
    pub fn of(value: &Value<'a>) -> Option<Key<'a>> {
        match value {
            Value::Bool(value) => Some(Key::Bool(*value)),
            Value::Int(value) => Some(Key::Int(*value)),
            Value::Uint(value) => Some(Key::Uint(*value)),
            // The same key as the integer it equals.
            Value::Double(value) => whole(*value).map(|whole| i64::try_from(whole).map_or(Key::Uint(whole as u64), Key::Int)),
            Value::Text(text) => Some(Key::Text(text.clone())),
            Value::Null | Value::Wide(_) | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// How much text it holds.
    pub fn bytes(&self) -> usize {
        if let Key::Text(text) = self { text.len() } else { 0 }
    }

    pub fn into_value(self) -> Value<'a> {
        match self {
            Key::Bool(value) => Value::Bool(value),
            Key::Int(value) => Value::Int(value),
            Key::Uint(value) => Value::Uint(value),
            Key::Text(text) => Value::Text(text),
        }
    }

    fn order(&self) -> (u8, i128, &str) {
        match self {
            Key::Bool(value) => (0, i128::from(*value), ""),
            Key::Int(value) => (1, i128::from(*value), ""),
            Key::Uint(value) => (1, i128::from(*value), ""),
            Key::Text(text) => (2, 0, text),
        }
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Key<'_> {}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Bool(value) => write!(f, "{value}"),
            Key::Int(value) => write!(f, "{value}"),
            Key::Uint(value) => write!(f, "{value}"),
            Key::Text(text) => f.write_str(text),
        }
    }
}

impl<'a> Value<'a> {
    /// Of JSON as `wide` reads it.
    pub fn of(json: &'a Json) -> Value<'a> {
        match json {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(int), _) => Value::Int(int),
                (None, Some(uint)) => Value::Uint(uint),
                (None, None) => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => match wide::seen(text) {
                Seen::Text(text) => Value::Text(Text::Borrowed(text)),
                Seen::Integer(digits) => Value::Wide(digits),
            },
            Json::Array(list) => Value::List(List::Json(list)),
            Json::Object(map) => Value::Map(Map::Json(map)),
        }
    }

    pub fn literal(literal: &'a Literal) -> Value<'a> {
        match literal {
            Literal::Null => Value::Null,
            Literal::Bool(value) => Value::Bool(*value),
            Literal::Int(value) => Value::Int(*value),
            Literal::Uint(value) => Value::Uint(*value),
            Literal::Double(value) => Value::Double(*value),
            Literal::Text(text) => Value::Text(Text::Borrowed(text)),
        }
    }

    pub fn text(text: impl Into<Rc<str>>) -> Value<'a> {
        Value::Text(Text::Built(text.into()))
    }

    pub fn list(list: Vec<Value<'a>>) -> Value<'a> {
        Value::List(List::Built(Rc::new(list)))
    }

    pub fn kind(&self) -> Type {
        match self {
            Value::Null => Type::Null,
            Value::Bool(_) => Type::Bool,
            Value::Int(_) => Type::Int,
            Value::Uint(_) => Type::Uint,
            Value::Double(_) => Type::Double,
            Value::Wide(_) => Type::Wide,
            Value::Text(_) => Type::Text,
            Value::List(_) => Type::List,
            Value::Map(_) => Type::Map,
        }
    }

    /// How two numbers compare, exactly and whatever their types; `None` for what is no number, and for NaN.
    pub fn compare_numbers(&self, other: &Value<'_>) -> Option<Ordering> {
        use Value::*;
        match (self, other) {
            (Int(a), Int(b)) => Some(a.cmp(b)),
            (Int(_) | Uint(_), Int(_) | Uint(_)) => Some(self.integer()?.cmp(&other.integer()?)),
            (Double(a), Double(b)) => a.partial_cmp(b),
            (Int(_) | Uint(_), Double(b)) => compare_integer(self.integer()?, *b),
            (Double(a), Int(_) | Uint(_)) => compare_integer(other.integer()?, *a).map(Ordering::reverse),
            _ => None,
        }
    }

    pub fn integer(&self) -> Option<i128> {
        match self {
            Value::Int(value) => Some(i128::from(*value)),
            Value::Uint(value) => Some(i128::from(*value)),
            _ => None,
        }
    }
}

/// A double that is a whole number within an i64 or a u64.
pub(crate) fn whole(value: f64) -> Option<i128> {
    let fits = value.fract() == 0.0 && (-9_223_372_036_854_775_808.0..18_446_744_073_709_551_616.0).contains(&value);
    fits.then_some(value as i128)
}

/// Exact, where a conversion to double would round the integer.
fn compare_integer(integer: i128, double: f64) -> Option<Ordering> {
    if double.is_nan() {
        return None;
    }
    // Beyond the integers' range, infinities included, the conversion saturates, and the answer is the same.
    let floor = double.floor();
    let below = floor as i128;
    Some(integer.cmp(&below).then(if double > floor { Ordering::Less } else { Ordering::Equal }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_exactly_across_their_types() {
        use Ordering::*;
        use Value::*;
        for (a, b, order) in [
            (Int(1), Double(1.0), Some(Equal)),
            (Int(1), Double(1.5), Some(Less)),
            (Int(-1), Double(-1.5), Some(Greater)),
            (Int(9_007_199_254_740_993), Double(9_007_199_254_740_992.0), Some(Greater)),
            (Int(i64::MAX), Uint(u64::MAX), Some(Less)),
            (Uint(u64::MAX), Double(18_446_744_073_709_551_616.0), Some(Less)),
            (Int(i64::MIN), Double(f64::NEG_INFINITY), Some(Greater)),
            (Double(f64::INFINITY), Uint(u64::MAX), Some(Greater)),
            (Int(0), Double(f64::NAN), None),
            (Int(0), Bool(false), None),
        ] {
            assert_eq!(a.compare_numbers(&b), order, "{a:?} {b:?}");
            assert_eq!(b.compare_numbers(&a), order.map(Ordering::reverse), "{b:?} {a:?}");
        }
    }
}
