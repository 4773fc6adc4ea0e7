//! What it costs at most to hold an input against a schema, counted before it is done: a schema that refers to itself may ask
//! for twice the work at each level, and the validator would go on for ever. Counted is what the validator would visit, each
//! pair of a schema and a part of the input once, so the count itself costs no more than what it allows. No schema is refused
//! for what it could cost; an input is, for what it does.

use serde_json::{Map, Value};
use std::collections::HashMap;

/// Pairs below one another: every recursion over a schema and an input, here and in the validator, ends there.
const DEPTH_MAX: usize = 500;
const BYTES_PER_UNIT: usize = 32;
/// A pattern is as dear as so many bytes of it are, for each unit of text.
const PATTERN_BYTES_PER_UNIT: usize = 8;
/// A text that has to be a pattern is compiled.
const REGEX_FORMAT_COST: u64 = 5_000;
/// Short lists are compared each with each.
const UNIQUE_COST: u64 = 16;
/// Schemas that one looks through, and through what they lead to, for what is left unevaluated: as often as they are met.
const UNEVALUATED_MAX: u64 = 10_000;

/// Why an input is not looked at.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Dear {
    /// More than the most that was allowed.
    Much,
    /// Too many schemas within one another, or one within itself for the same part of the input.
    Deep,
}

/// A schema, as far as it matters what it leads to.
#[derive(Debug)]
pub(super) struct Plan {
    /// The root first.
    schemas: Vec<Schema>,
}

#[derive(Debug, Default)]
struct Schema {
    /// Its keywords, and what they list.
    own: u64,
    /// Held against the same part of the input; those of them that are tried first and then asked what is wrong.
    here: Vec<usize>,
    tried: Vec<usize>,
    /// If it has such a key.
    dependent: Vec<(String, usize)>,
    properties: HashMap<String, usize>,
    /// Against each value, whose key may match: which of them do is not looked at.
    values: Vec<usize>,
    /// Against each value whose key is none of the properties'.
    other_values: Vec<usize>,
    keys: Vec<usize>,
    /// Units of all patterns for keys.
    key_patterns: u64,
    /// Against each element in its place, and against each of them.
    prefix: Vec<usize>,
    elements: Vec<usize>,
    contains: Vec<usize>,
    /// What nothing else has looked at is: that has to be found out.
    unevaluated: bool,
    unique: bool,
    /// How often a text is gone through, and what each costs beside that.
    texts: u64,
    text_own: u64,
    /// What the values weigh that it is compared with.
    compared: Vec<u64>,
}

impl Plan {
    /// `Err`: a reference leads nowhere, or it would take too long to make the schema ready.
    pub fn new(schema: &Value) -> Result<Plan, String> {
        let mut drawing = Drawing { anchors: HashMap::new(), numbers: HashMap::new(), waiting: Vec::new() };
        drawing.find_anchors(schema);
        drawing.number(schema, schema);
        let mut schemas = Vec::new();
        // What is found on the way is numbered, and drawn in that order.
        while schemas.len() < drawing.waiting.len() {
            let (value, base) = drawing.waiting[schemas.len()];
            schemas.push(drawing.draw(value, base)?);
        }
        let plan = Plan { schemas };
        let mut known = HashMap::new();
        let wide =
            |(number, schema): (usize, &Schema)| schema.unevaluated && plan.breadth(number, &mut known, 0) > UNEVALUATED_MAX;
        if plan.schemas.iter().enumerate().any(wide) {
            return Err(format!("what is left unevaluated hangs on more than {UNEVALUATED_MAX} schemas"));
        }
        Ok(plan)
    }

    /// Schemas that are held against the same part of an input.
    fn breadth(&self, number: usize, known: &mut HashMap<usize, u64>, depth: usize) -> u64 {
        if let Some(breadth) = known.get(&number) {
            return *breadth;
        }
        if depth > DEPTH_MAX {
            return u64::MAX;
        }
        // Within itself it is looked through once.
        known.insert(number, 1);
        let Schema { here, tried, dependent, .. } = &self.schemas[number];
        let below = here.iter().chain(tried).chain(dependent.iter().map(|(_, schema)| schema));
        let breadth = below.fold(1, |sum: u64, below| sum.saturating_add(self.breadth(*below, known, depth + 1)));
        known.insert(number, breadth);
        breadth
    }

    /// What it costs at the most to look at this input, and to tell what is wrong with it.
    pub fn cost(&self, input: &Value, most: u64) -> Result<u64, Dear> {
        let mut parts = Parts::default();
        let root = parts.add(input);
        let mut meter = Meter { plan: self, parts: &parts, known: HashMap::new(), counted: 0, most };
        meter.cost(0, root, 0).map(|cost| cost.told)
    }
}

/// Makes a `Plan`. Values are known by where they lie.
struct Drawing<'a> {
    anchors: HashMap<&'a str, Vec<&'a Value>>,
    numbers: HashMap<*const Value, usize>,
    /// By number, each with the schema that its references are read from.
    waiting: Vec<(&'a Value, &'a Value)>,
}

impl<'a> Drawing<'a> {
    fn find_anchors(&mut self, value: &'a Value) {
        match value {
            Value::Array(values) => values.iter().for_each(|value| self.find_anchors(value)),
            Value::Object(fields) => {
                for key in ["$anchor", "$dynamicAnchor"] {
                    if let Some(Value::String(name)) = fields.get(key) {
                        self.anchors.entry(name).or_default().push(value);
                    }
                }
                // The older way to say it.
                for key in ["$id", "id"] {
                    if let Some(name) = fields.get(key).and_then(Value::as_str).and_then(|id| id.strip_prefix('#')) {
                        self.anchors.entry(name).or_default().push(value);
                    }
                }
                fields.values().for_each(|value| self.find_anchors(value));
            }
            _ => {}
        }
    }

    fn number(&mut self, value: &'a Value, base: &'a Value) -> usize {
        let own_base =
            value.get("$id").or_else(|| value.get("id")).and_then(Value::as_str).is_some_and(|id| !id.starts_with('#'));
        let base = if own_base { value } else { base };
        let next = self.waiting.len();
        let number = *self.numbers.entry(std::ptr::from_ref(value)).or_insert(next);
        if number == next {
            self.waiting.push((value, base));
        }
        number
    }

    fn draw(&mut self, value: &'a Value, base: &'a Value) -> Result<Schema, String> {
        let mut schema = Schema { own: 1, ..Schema::default() };
        let Value::Object(fields) = value else { return Ok(schema) };
        for (key, value) in fields {
            schema.own += 1;
            match key.as_str() {
                "$ref" | "$dynamicRef" | "$recursiveRef" => {
                    let found = self.resolve(value.as_str().unwrap_or_default(), base)?;
                    schema.here.extend(found.into_iter().map(|found| self.number(found, base)));
                }
                "allOf" | "then" | "else" => schema.here.extend(self.several(value, base)),
                "anyOf" | "oneOf" | "not" | "if" => schema.tried.extend(self.several(value, base)),
                "dependentSchemas" | "dependencies" => {
                    let named = value.as_object().into_iter().flatten();
                    // A list of keys, in `dependencies`, is no schema.
                    let schemas = named.filter(|(_, value)| !value.is_array());
                    schema.dependent.extend(schemas.map(|(key, value)| (key.clone(), self.number(value, base))));
                    schema.own += weight(value);
                }
                "properties" => {
                    let named = value.as_object().into_iter().flatten();
                    schema.properties = named.map(|(key, value)| (key.clone(), self.number(value, base))).collect();
                }
                "patternProperties" => {
                    let patterns = value.as_object().into_iter().flatten();
                    for (pattern, value) in patterns {
                        schema.key_patterns += pattern_cost(pattern);
                        schema.values.push(self.number(value, base));
                    }
                }
                "additionalProperties" => schema.other_values.push(self.number(value, base)),
                "unevaluatedProperties" => {
                    schema.values.push(self.number(value, base));
                    schema.unevaluated = true;
                }
                "propertyNames" => schema.keys.push(self.number(value, base)),
                "prefixItems" => schema.prefix.extend(self.several(value, base)),
                "items" if value.is_array() => schema.prefix.extend(self.several(value, base)),
                "items" | "additionalItems" => schema.elements.push(self.number(value, base)),
                "unevaluatedItems" => {
                    schema.elements.push(self.number(value, base));
                    schema.unevaluated = true;
                }
                "contains" => schema.contains.push(self.number(value, base)),
                "uniqueItems" => schema.unique = true,
                "pattern" => schema.texts += pattern_cost(value.as_str().unwrap_or_default()),
                "format" if value == "regex" => schema.text_own = REGEX_FORMAT_COST,
                "format" | "minLength" | "maxLength" | "contentMediaType" | "contentEncoding" => schema.texts += 1,
                "const" => schema.compared.push(weight(value)),
                "enum" => schema.compared.extend(value.as_array().into_iter().flatten().map(weight)),
                "required" | "dependentRequired" => schema.own += weight(value),
                _ => {}
            }
        }
        Ok(schema)
    }

    fn several(&mut self, value: &'a Value, base: &'a Value) -> Vec<usize> {
        match value {
            Value::Array(values) => values.iter().map(|value| self.number(value, base)).collect(),
            value => vec![self.number(value, base)],
        }
    }

    /// Where a reference leads; by a name to all that are called so, of which one is meant.
    fn resolve(&self, reference: &str, base: &'a Value) -> Result<Vec<&'a Value>, String> {
        let nowhere = || format!("`{reference}` leads to nothing in this schema");
        let fragment = reference.strip_prefix('#').ok_or_else(nowhere)?;
        let fragment = decoded(fragment).ok_or_else(nowhere)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return base.pointer(&fragment).map(|found| vec![found]).ok_or_else(nowhere);
        }
        self.anchors.get(fragment.as_str()).cloned().ok_or_else(nowhere)
    }
}

/// `%25` and its kin, as references have them.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
        bytes.push((high * 16 + low) as u8);
    }
    String::from_utf8(bytes).ok()
}

fn units(bytes: usize) -> u64 {
    (bytes / BYTES_PER_UNIT) as u64
}

fn pattern_cost(pattern: &str) -> u64 {
    1 + (pattern.len() / PATTERN_BYTES_PER_UNIT) as u64
}

fn weight(value: &Value) -> u64 {
    match value {
        Value::String(text) => 1 + units(text.len()),
        Value::Array(values) => 1 + values.iter().map(weight).sum::<u64>(),
        Value::Object(fields) => 1 + fields.iter().map(|(key, value)| 1 + units(key.len()) + weight(value)).sum::<u64>(),
        _ => 1,
    }
}

/// An input, its parts numbered: keys are parts, too.
#[derive(Default)]
struct Parts<'a> {
    parts: Vec<Part<'a>>,
}

struct Part<'a> {
    weight: u64,
    kind: PartKind<'a>,
}

enum PartKind<'a> {
    Text,
    List(Vec<usize>),
    /// Keys with their numbers and those of their values.
    Map(&'a Map<String, Value>, Vec<(&'a str, usize, usize)>),
    Other,
}

impl<'a> Parts<'a> {
    fn put(&mut self, weight: u64, kind: PartKind<'a>) -> usize {
        self.parts.push(Part { weight, kind });
        self.parts.len() - 1
    }

    /// As deep as JSON is read.
    fn add(&mut self, value: &'a Value) -> usize {
        let kind = match value {
            Value::String(_) => PartKind::Text,
            Value::Array(values) => PartKind::List(values.iter().map(|value| self.add(value)).collect()),
            Value::Object(fields) => {
                let entry = |(key, value): (&'a String, &'a Value)| {
                    (key.as_str(), self.put(1 + units(key.len()), PartKind::Text), self.add(value))
                };
                PartKind::Map(fields, fields.iter().map(entry).collect())
            }
            _ => PartKind::Other,
        };
        let own = 1 + value.as_str().map_or(0, |text| units(text.len()));
        let below = match &kind {
            PartKind::List(parts) => parts.iter().map(|part| self.parts[*part].weight).sum(),
            PartKind::Map(_, parts) => {
                parts.iter().map(|(_, key, value)| self.parts[*key].weight + self.parts[*value].weight).sum()
            }
            PartKind::Text | PartKind::Other => 0,
        };
        self.put(own + below, kind)
    }
}

/// To say whether it fits; to find out what of it was looked at; and to tell all that is wrong with it.
#[derive(Copy, Clone, Default)]
struct Cost {
    fits: u64,
    marked: u64,
    told: u64,
}

struct Meter<'a> {
    plan: &'a Plan,
    parts: &'a Parts<'a>,
    /// `None`: it is being counted.
    known: HashMap<(usize, usize), Option<Cost>>,
    /// Of all pairs, each alone: the whole is no less.
    counted: u64,
    most: u64,
}

impl Meter<'_> {
    fn cost(&mut self, schema: usize, part: usize, depth: usize) -> Result<Cost, Dear> {
        match self.known.get(&(schema, part)) {
            Some(Some(cost)) => return Ok(*cost),
            Some(None) => return Err(Dear::Deep),
            None if depth > DEPTH_MAX => return Err(Dear::Deep),
            None => self.known.insert((schema, part), None),
        };
        let cost = self.count(schema, part, depth)?;
        if cost.told > self.most || cost.fits > self.most {
            return Err(Dear::Much);
        }
        self.known.insert((schema, part), Some(cost));
        Ok(cost)
    }

    fn count(&mut self, number: usize, part: usize, depth: usize) -> Result<Cost, Dear> {
        let (plan, parts) = (self.plan, self.parts);
        let (schema, here) = (&plan.schemas[number], &parts.parts[part]);
        let own = schema.own.saturating_add(schema.alone(here));
        self.counted = self.counted.saturating_add(own);
        if self.counted > self.most {
            return Err(Dear::Much);
        }
        let mut sum = Sum { cost: Cost { fits: own, marked: own, told: own }, most: self.most };
        for below in &schema.here {
            sum.same(self.cost(*below, part, depth + 1)?)?;
        }
        for below in &schema.tried {
            sum.tried(self.cost(*below, part, depth + 1)?)?;
        }
        match &here.kind {
            PartKind::Text | PartKind::Other => {}
            PartKind::List(elements) => {
                for (element, below) in elements.iter().zip(&schema.prefix) {
                    sum.below(self.cost(*below, *element, depth + 1)?)?;
                }
                for (element, below) in pairs(elements, &schema.elements) {
                    sum.below(self.cost(below, *element, depth + 1)?)?;
                }
                for (element, below) in pairs(elements, &schema.contains) {
                    let cost = self.cost(below, *element, depth + 1)?;
                    sum.tried(cost)?;
                }
            }
            PartKind::Map(fields, entries) => {
                for (_, below) in schema.dependent.iter().filter(|(key, _)| fields.contains_key(key)) {
                    sum.same(self.cost(*below, part, depth + 1)?)?;
                }
                for (key, key_part, value) in entries {
                    let named = schema.properties.get(*key);
                    let others = if named.is_none() { schema.other_values.as_slice() } else { &[] };
                    for below in named.into_iter().chain(&schema.values).chain(others) {
                        sum.below(self.cost(*below, *value, depth + 1)?)?;
                    }
                    for below in &schema.keys {
                        sum.below(self.cost(*below, *key_part, depth + 1)?)?;
                    }
                }
            }
        }
        let Cost { fits, marked, told } = sum.cost;
        let again = if schema.unevaluated { marked } else { 0 };
        Ok(Cost { fits: fits.saturating_add(again), marked, told: told.saturating_add(again) })
    }
}

fn pairs<'a>(parts: &'a [usize], schemas: &'a [usize]) -> impl Iterator<Item = (&'a usize, usize)> {
    schemas.iter().flat_map(move |schema| parts.iter().map(move |part| (part, *schema)))
}

impl Schema {
    /// What it costs for this part of the input, without what it leads to.
    fn alone(&self, part: &Part<'_>) -> u64 {
        let compared: u64 = self.compared.iter().map(|weight| (*weight).min(part.weight)).sum();
        let kind = match &part.kind {
            PartKind::Text => self.text_own + self.texts.saturating_mul(part.weight),
            PartKind::List(_) if self.unique => part.weight * UNIQUE_COST,
            PartKind::Map(_, entries) => entries.len() as u64 * (1 + self.key_patterns),
            PartKind::List(_) | PartKind::Other => 0,
        };
        compared.saturating_add(kind)
    }
}

/// Adds up until it is too much.
struct Sum {
    cost: Cost,
    most: u64,
}

impl Sum {
    fn add(&mut self, fits: u64, marked: u64, told: u64) -> Result<(), Dear> {
        let Cost { fits: before, marked: marked_before, told: told_before } = self.cost;
        self.cost = Cost {
            fits: before.saturating_add(fits),
            marked: marked_before.saturating_add(marked),
            told: told_before.saturating_add(told),
        };
        if self.cost.told > self.most { Err(Dear::Much) } else { Ok(()) }
    }

    /// For the same part of the input.
    fn same(&mut self, cost: Cost) -> Result<(), Dear> {
        self.add(cost.fits, cost.fits.saturating_add(cost.marked), cost.told)
    }

    /// What does not fit is asked once more, for the reason.
    fn tried(&mut self, cost: Cost) -> Result<(), Dear> {
        self.add(cost.fits, cost.fits.saturating_add(cost.marked), cost.fits.saturating_add(cost.told))
    }

    /// For a part of it.
    fn below(&mut self, cost: Cost) -> Result<(), Dear> {
        self.add(cost.fits, cost.fits, cost.told)
    }
}
