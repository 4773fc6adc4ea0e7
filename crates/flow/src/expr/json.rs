//! Values back to JSON, paying for what is copied; and as text, for the errors.

use super::error::{Stop, clipped};
use super::eval::Evaluator;
use super::limits::*;
use super::node::{Form, Literal, Node};
use super::value::{List, Map, Value, double_to_json};
use serde::ser::{Error, Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Map as JsonMap, Value as Json};

/// Errors of the result belong to no place of the expression but its start.
const START: Node = Node { at: 0, form: Form::Literal(Literal::Null) };

impl Evaluator<'_, '_> {
    /// The value as JSON of its own, to stand `depth` deep in a larger one.
    pub(crate) fn json(&mut self, value: &Value<'_>, depth: usize) -> Result<Json, Box<Stop<'static>>> {
        self.budget.build(ELEMENT_BYTES)?;
        match value {
            Value::Null => Ok(Json::Null),
            Value::Bool(value) => Ok(Json::Bool(*value)),
            Value::Int(value) => Ok(Json::from(*value)),
            Value::Uint(value) => Ok(Json::from(*value)),
            Value::Double(value) => match double_to_json(*value) {
                Some(json) => Ok(json),
                None => Err(self.fail(&START, format!("JSON has no number for {value}"))),
            },
            Value::Text(text) => {
                self.budget.build_text(text.len())?;
                Ok(Json::from(&**text))
            }
            Value::List(_) | Value::Map(_) if depth >= VALUE_DEPTH_MAX => {
                Err(self.fail(&START, format!("the result nests deeper than {VALUE_DEPTH_MAX}")))
            }
            Value::List(list) => {
                // A copy is cheaper than a step: four elements for one.
                self.pay(&START, list.len() as u64 / 4)?;
                list.iter().map(|element| self.json(&element, depth + 1)).collect::<Result<_, _>>().map(Json::Array)
            }
            Value::Map(map) => self.json_map(map, depth),
        }
    }

    fn json_map(&mut self, map: &Map<'_>, depth: usize) -> Result<Json, Box<Stop<'static>>> {
        self.pay(&START, map.len() as u64)?;
        let mut json = JsonMap::new();
        for (key, value) in map.entries() {
            self.budget.build_text(key.bytes())?;
            let value = self.json(&value, depth + 1)?;
            if json.insert(key.to_string(), value).is_some() {
                return Err(self.fail(&START, format!("in JSON, the key `{}` would be there twice", clipped(&key.to_string()))));
            }
        }
        Ok(Json::Object(json))
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
            Value::Text(text) => serializer.serialize_str(text),
            Value::List(List::Json(list)) => list.serialize(serializer),
            Value::List(list) => {
                let mut sequence = serializer.serialize_seq(Some(list.len()))?;
                list.iter().try_for_each(|element| sequence.serialize_element(&element))?;
                sequence.end()
            }
            Value::Map(Map::Json(map)) => map.serialize(serializer),
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
