//! Values back to JSON, paying for what is copied; and as text, for the errors.

use super::error::{Stop, clipped};
use super::eval::Evaluator;
use super::limits::*;
use super::node::{Form, Literal, Node};
use super::value::{List, Map, Value};
use crate::wide;
use serde::ser::{Error, Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value as Json;
use serde_json::value::RawValue;
use std::collections::BTreeSet;

/// Errors of the result belong to no place of the expression but its start.
const START: Node = Node { at: 0, form: Form::Literal(Literal::Null) };

impl Evaluator<'_, '_> {
    /// The value as JSON of its own, to stand `depth` deep in a larger one.
    pub(crate) fn json(&mut self, value: &Value<'_>, depth: usize) -> Result<Json, Box<Stop<'static>>> {
        self.weigh(value, depth)?;
        Ok(copied(value))
    }

    /// Pays for the value as for a copy, and refuses what has no form in JSON.
    pub(crate) fn weigh(&mut self, value: &Value<'_>, depth: usize) -> Result<(), Box<Stop<'static>>> {
        self.budget.build(ELEMENT_BYTES)?;
        match value {
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Uint(_) => Ok(()),
            Value::Double(value) if value.is_finite() => Ok(()),
            Value::Double(value) => Err(self.fail(&START, format!("JSON has no number for {value}"))),
            Value::Wide(digits) => self.budget.build_text(digits.len()),
            Value::Text(text) => self.budget.build_text(text.len()),
            Value::List(_) | Value::Map(_) if depth >= VALUE_DEPTH_MAX => {
                Err(self.fail(&START, format!("the result nests deeper than {VALUE_DEPTH_MAX}")))
            }
            Value::List(list) => {
                // A copy is cheaper than a step: four elements for one.
                self.pay(&START, list.len() as u64 / 4)?;
                list.iter().try_for_each(|element| self.weigh(&element, depth + 1))
            }
            Value::Map(map) => self.weigh_map(map, depth),
        }
    }

    fn weigh_map(&mut self, map: &Map<'_>, depth: usize) -> Result<(), Box<Stop<'static>>> {
        self.pay(&START, map.len() as u64)?;
        for (key, value) in map.entries() {
            self.budget.build_text(key.bytes())?;
            self.weigh(&value, depth + 1)?;
        }
        // Only where some keys are texts and some are not can two of them look alike.
        let texts = map.text_keys().count();
        if texts == 0 || texts == map.len() {
            return Ok(());
        }
        let mut seen = BTreeSet::new();
        match map.entries().map(|(key, _)| key.to_string()).find(|key| !seen.insert(key.clone())) {
            Some(key) => Err(self.fail(&START, format!("in JSON, the key `{}` would be there twice", clipped(&key)))),
            None => Ok(()),
        }
    }
}

/// As `wide` reads it.
fn copied(value: &Value<'_>) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Int(value) => Json::from(*value),
        Value::Uint(value) => Json::from(*value),
        Value::Double(value) => Json::from(*value),
        Value::Wide(digits) => Json::from(wide::integer(digits)),
        Value::Text(text) => Json::from(wide::text(text)),
        Value::List(List::Json(list)) => Json::Array(list.to_vec()),
        Value::List(list) => list.iter().map(|element| copied(&element)).collect(),
        Value::Map(Map::Json(map)) => Json::Object((*map).clone()),
        Value::Map(map) => map.entries().map(|(key, value)| (key.to_string(), copied(&value))).collect(),
    }
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Int(value) => serializer.serialize_i64(*value),
            Value::Uint(value) => serializer.serialize_u64(*value),
            Value::Double(value) => serializer.serialize_f64(*value),
            Value::Wide(digits) => {
                let raw = RawValue::from_string((*digits).to_owned());
                raw.map_err(S::Error::custom)?.serialize(serializer)
            }
            Value::Text(text) => serializer.serialize_str(text),
            Value::List(list) => {
                let mut sequence = serializer.serialize_seq(Some(list.len()))?;
                list.iter().try_for_each(|element| sequence.serialize_element(&element))?;
                sequence.end()
            }
            Value::Map(Map::Json(map)) => serializer.collect_map(map.iter().map(|(key, value)| (key, Value::of(value)))),
            Value::Map(map) => {
                let mut entries = serializer.serialize_map(Some(map.len()))?;
                for (key, value) in map.entries() {
                    entries.serialize_entry(&key.to_string(), &value).map_err(S::Error::custom)?;
                }
                entries.end()
            }
        }
    }
}
