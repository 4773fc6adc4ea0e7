//! Numbers, equality and order. Integers are exact and checked; where an integer meets a double, the result is a double,
//! for JSON does not tell 5 from 5.0.

use super::error::Stop;
use super::eval::{Evaluated, Evaluator};
use super::limits::*;
use super::node::{Binary, Node};
use super::value::{Key, Value};
use std::cmp::Ordering;

impl<'a> Evaluator<'a, '_> {
    #[inline(never)]
    pub(crate) fn arithmetic(&mut self, node: &Node, binary: Binary, left: &Value<'a>, right: &Value<'a>) -> Evaluated<'a> {
        use Value::*;
        match (left, right) {
            (Int(_) | Uint(_), Int(_) | Uint(_)) => self.integers(node, binary, left, right),
            (Double(a), Double(b)) => self.doubles(node, binary, *a, *b),
            (Double(a), Int(_) | Uint(_)) => self.doubles(node, binary, *a, right.integer().unwrap_or(0) as f64),
            (Int(_) | Uint(_), Double(b)) => self.doubles(node, binary, left.integer().unwrap_or(0) as f64, *b),
            (Text(a), Text(b)) if binary == Binary::Add => {
                self.budget.build_text(a.len() + b.len())?;
                Ok(Value::text(format!("{}{}", &**a, &**b)))
            }
            (List(a), List(b)) if binary == Binary::Add => {
                self.budget.build_list(a.len() + b.len())?;
                Ok(Value::list(a.iter().chain(b.iter()).collect()))
            }
            _ => {
                let text = matches!((binary, left, right), (Binary::Add, Text(_), _) | (Binary::Add, _, Text(_)));
                let hint = if text { "; make a string of it with string()" } else { "" };
                let (sign, left, right) = (binary.sign(), left.kind(), right.kind());
                Err(self.fail(node, format!("`{sign}` does not go between {left} and {right}{hint}")))
            }
        }
    }

    fn integers(&mut self, node: &Node, binary: Binary, left: &Value<'a>, right: &Value<'a>) -> Evaluated<'a> {
        let (a, b) = (left.integer().unwrap_or(0), right.integer().unwrap_or(0));
        if b == 0 && matches!(binary, Binary::Divide | Binary::Modulo) {
            return Err(self.fail(node, format!("{a} {} 0 has no result", binary.sign())));
        }
        // An i64 or u64 each: no result leaves an i128, but for products of two u64, which are checked.
        let result = match binary {
            Binary::Add => Some(a + b),
            Binary::Subtract => Some(a - b),
            Binary::Multiply => a.checked_mul(b),
            Binary::Divide => Some(a / b),
            _ => Some(a % b),
        };
        let int = result.and_then(|result| i64::try_from(result).ok()).map(Value::Int);
        let uint = result.and_then(|result| u64::try_from(result).ok()).map(Value::Uint);
        let (value, what) = match (left, right) {
            (Value::Int(_), Value::Int(_)) => (int, "the ints"),
            (Value::Uint(_), Value::Uint(_)) => (uint, "the uints"),
            // CEL has no such sum. Here a uint is mostly a JSON number too large for an int.
            _ => (int.or(uint), "the integers"),
        };
        match value {
            Some(value) => Ok(value),
            None => Err(self.fail(node, format!("{a} {} {b} is beyond {what}", binary.sign()))),
        }
    }

    fn doubles(&mut self, node: &Node, binary: Binary, a: f64, b: f64) -> Evaluated<'a> {
        Ok(Value::Double(match binary {
            Binary::Add => a + b,
            Binary::Subtract => a - b,
            Binary::Multiply => a * b,
            Binary::Divide => a / b,
            _ => return Err(self.fail(node, "`%` needs integers, not doubles".into())),
        }))
    }

    /// Whether two values are the same; values of different types, numbers apart, never are.
    pub(crate) fn equal(
        &mut self,
        node: &Node,
        left: &Value<'_>,
        right: &Value<'_>,
        depth: usize,
    ) -> Result<bool, Box<Stop<'static>>> {
        self.pay(node, 1)?;
        if depth > VALUE_DEPTH_MAX {
            return Err(self.fail(node, format!("the values nest deeper than {VALUE_DEPTH_MAX}")));
        }
        match (left, right) {
            (Value::Wide(_), _) | (_, Value::Wide(_)) => {
                Err(self.fail(node, format!("{} and {} cannot be compared", left.kind(), right.kind())))
            }
            (Value::Null, Value::Null) => Ok(true),
            (Value::Bool(a), Value::Bool(b)) => Ok(a == b),
            (Value::Text(a), Value::Text(b)) if a.len() == b.len() => {
                self.budget.read_text(a.len())?;
                Ok(**a == **b)
            }
            (Value::List(a), Value::List(b)) if a.len() == b.len() => {
                for (a, b) in a.iter().zip(b.iter()) {
                    if !self.equal(node, &a, &b, depth + 1)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Value::Map(a), Value::Map(b)) if a.len() == b.len() => {
                for (key, a) in a.entries() {
                    self.pay(node, 1)?;
                    self.budget.read_text(key.bytes())?;
                    let Some(b) = b.get(&key) else { return Ok(false) };
                    if !self.equal(node, &a, &b, depth + 1)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(left.compare_numbers(right) == Some(Ordering::Equal)),
        }
    }

    /// How two values of an order compare; `None` beside a NaN.
    pub(crate) fn compare(
        &mut self,
        node: &Node,
        left: &Value<'_>,
        right: &Value<'_>,
    ) -> Result<Option<Ordering>, Box<Stop<'static>>> {
        use Value::*;
        match (left, right) {
            (Int(_) | Uint(_) | Double(_), Int(_) | Uint(_) | Double(_)) => Ok(left.compare_numbers(right)),
            (Text(a), Text(b)) => {
                self.budget.read_text(a.len().min(b.len()))?;
                Ok(Some((**a).cmp(&**b)))
            }
            (Bool(a), Bool(b)) => Ok(Some(a.cmp(b))),
            _ => Err(self.fail(node, format!("{} and {} have no order", left.kind(), right.kind()))),
        }
    }

    #[inline(never)]
    pub(crate) fn ordered(&mut self, node: &Node, binary: Binary, left: &Value<'a>, right: &Value<'a>) -> Evaluated<'a> {
        let order = self.compare(node, left, right)?;
        Ok(Value::Bool(match binary {
            Binary::Less => order == Some(Ordering::Less),
            Binary::LessEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Binary::Greater => order == Some(Ordering::Greater),
            _ => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        }))
    }

    /// `element in list`, `key in map`.
    #[inline(never)]
    pub(crate) fn contained(&mut self, node: &Node, element: &Value<'a>, container: &Value<'a>) -> Evaluated<'a> {
        match container {
            Value::List(list) => {
                for other in list.iter() {
                    if self.equal(node, element, &other, 0)? {
                        return Ok(Value::Bool(true));
                    }
                }
                Ok(Value::Bool(false))
            }
            Value::Map(map) => {
                let key = Key::of(element);
                self.budget.read_text(key.as_ref().map_or(0, Key::bytes))?;
                Ok(Value::Bool(key.is_some_and(|key| map.get(&key).is_some())))
            }
            other => {
                let hint = if matches!(other, Value::Text(_)) { "; for a part of a string there is `contains`" } else { "" };
                Err(self.fail(node, format!("`in` looks into a list or a map, not into {}{hint}", other.kind())))
            }
        }
    }
}
