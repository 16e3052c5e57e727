//! References inside one document, resolved within bounds. What lies outside of it is not fetched,
//! and what refers to itself ends there.

use serde_json::{Map, Value, json};

use crate::catalog::bounds::{MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH, MAX_SCHEMA_PROPERTIES, Measure};

/// How many references may follow one another.
const CHAIN: usize = 16;
/// How many references deep a schema is written out, from most to least, until it fits.
const DEPTHS: [usize; 5] = [6, 3, 2, 1, 0];
/// How many levels of one schema are written out, all references together.
const MAX_LEVELS: usize = MAX_SCHEMA_DEPTH - 6;
/// How many values one attempt writes.
const MAX_VALUES: usize = 8_000;
/// How many values all attempts of one document write.
const MAX_WORK: usize = 20_000_000;

/// Writes out what a document refers to.
pub(super) struct Expander<'a> {
    root: &'a Value,
    /// What is left of the work.
    work: usize,
    /// What is left of this attempt.
    room: usize,
    /// How many references deep this attempt goes.
    depth: usize,
    /// The references that are being written out.
    open: Vec<String>,
}

impl<'a> Expander<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root, work: MAX_WORK, room: 0, depth: 0, open: Vec::new() }
    }

    /// The value, or what it refers to in this document.
    pub(super) fn resolved(&self, value: &'a Value) -> &'a Value {
        let mut value = value;
        for _ in 0..CHAIN {
            let Some(found) = target(value).and_then(|target| self.at(target)) else { break };
            value = found;
        }
        value
    }

    /// What `write` gives, with as many references written out as the bounds of a schema allow.
    pub(super) fn fitted(&mut self, write: impl Fn(&mut Self) -> Value) -> Value {
        let mut last = Value::Null;
        for depth in DEPTHS {
            (self.depth, self.room) = (depth, MAX_VALUES.min(self.work));
            let began = self.room;
            last = write(self);
            self.work -= began - self.room;
            if self.room > 0 && fits(&last) {
                break;
            }
        }
        last
    }

    /// A schema with its references written out, as far as this attempt goes.
    pub(super) fn expanded(&mut self, schema: &Value) -> Value {
        self.value(schema, MAX_LEVELS)
    }

    fn value(&mut self, value: &Value, levels: usize) -> Value {
        let Some(room) = self.room.checked_sub(1) else { return json!({}) };
        self.room = room;
        match value {
            Value::Object(_) | Value::Array(_) if levels == 0 => json!({}),
            Value::Object(map) => match target(value) {
                Some(target) => self.reference(target, map, levels),
                None => Value::Object(self.members(map, levels - 1)),
            },
            Value::Array(list) => {
                Value::Array(list.iter().map(|inner| self.value(inner, levels - 1)).collect())
            }
            _ => value.clone(),
        }
    }

    fn members(&mut self, map: &Map<String, Value>, levels: usize) -> Map<String, Value> {
        let mut out = Map::new();
        for (key, value) in map {
            // Examples and extensions say nothing that is checked.
            if key.starts_with("x-") || matches!(key.as_str(), "example" | "examples" | "xml") {
                continue;
            }
            if self.room == 0 {
                break;
            }
            out.insert(key.clone(), self.value(value, levels));
        }
        out
    }

    fn reference(&mut self, target: &str, beside: &Map<String, Value>, levels: usize) -> Value {
        let name = target.rsplit('/').next().unwrap_or_default();
        let known = !self.open.iter().any(|open| open == target) && self.open.len() < self.depth;
        let mut out = match self.at(target).filter(|_| known) {
            Some(found) => {
                self.open.push(target.to_owned());
                let out = self.value(found, levels);
                self.open.pop();
                out
            }
            None => json!({ "description": format!("not written out here: {name}") }),
        };
        if let (Some(object), Some(said)) = (out.as_object_mut(), beside.get("description")) {
            object.insert("description".to_owned(), said.clone());
        }
        out
    }

    /// A place in this document; `None` for a place elsewhere.
    fn at(&self, target: &str) -> Option<&'a Value> {
        self.root.pointer(target.strip_prefix('#')?)
    }
}

fn target(value: &Value) -> Option<&str> {
    value.get("$ref").and_then(Value::as_str)
}

fn fits(schema: &Value) -> bool {
    let Measure { depth, properties } = Measure::of(schema);
    depth <= MAX_SCHEMA_DEPTH
        && properties <= MAX_SCHEMA_PROPERTIES
        && serde_json::to_string(schema).is_ok_and(|text| text.len() <= MAX_SCHEMA_BYTES)
}
