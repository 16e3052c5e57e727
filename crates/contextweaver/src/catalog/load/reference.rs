//! Expands `$ref` references within one document, under bounds. References to other documents are
//! not followed, and recursive ones are cut off.
//!
//! Nested references can make a schema exponentially large. So an expansion is tried with a limit on
//! nested references, and repeated with a lower limit until the result is within the bounds of a
//! schema; a budget for the whole document bounds the total work of all attempts.

use serde_json::{Map, Value, json};

use crate::catalog::bounds::{
    MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH, MAX_SCHEMA_PROPERTIES, SchemaSize,
};

/// How many references that point directly at one another are followed.
const MAX_CHAIN: usize = 16;
/// The limits on nested references that are tried, from the highest to the lowest.
const REFERENCE_DEPTHS: [usize; 5] = [6, 3, 2, 1, 0];
/// The most levels of one expanded schema. The arguments object around it takes some more.
const MAX_LEVELS: usize = MAX_SCHEMA_DEPTH - 6;
/// The most values that one attempt writes.
const MAX_VALUES: usize = 8_000;
/// The most values that all attempts for one document write.
const MAX_WORK: usize = 20_000_000;

/// Expands the references of one document.
pub(super) struct ReferenceExpander<'a> {
    root: &'a Value,
    /// How many values may still be written for the document.
    work_left: usize,
    /// How many values may still be written in this attempt.
    values_left: usize,
    /// The limit on nested references in this attempt.
    max_references: usize,
    /// The references that are being expanded, outermost first.
    open_references: Vec<String>,
}

impl<'a> ReferenceExpander<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self {
            root,
            work_left: MAX_WORK,
            values_left: 0,
            max_references: 0,
            open_references: Vec::new(),
        }
    }

    /// The value itself, or the value that it refers to in this document.
    pub(super) fn resolve(&self, value: &'a Value) -> &'a Value {
        let mut value = value;
        for _ in 0..MAX_CHAIN {
            let Some(referenced) = reference_target(value).and_then(|target| self.lookup(target))
            else {
                break;
            };
            value = referenced;
        }
        value
    }

    /// The result of `write` with as many nested references expanded as the bounds of a schema
    /// allow.
    pub(super) fn expand_to_fit(&mut self, write: impl Fn(&mut Self) -> Value) -> Value {
        let mut last = Value::Null;
        for depth in REFERENCE_DEPTHS {
            (self.max_references, self.values_left) = (depth, MAX_VALUES.min(self.work_left));
            let values_before = self.values_left;
            last = write(self);
            self.work_left -= values_before - self.values_left;
            if self.values_left > 0 && is_within_schema_bounds(&last) {
                break;
            }
        }
        last
    }

    /// The schema with its references expanded, within the limits of this attempt.
    pub(super) fn expand(&mut self, schema: &Value) -> Value {
        self.expand_value(schema, MAX_LEVELS)
    }

    fn expand_value(&mut self, value: &Value, levels: usize) -> Value {
        let Some(values_left) = self.values_left.checked_sub(1) else { return json!({}) };
        self.values_left = values_left;
        match value {
            Value::Object(_) | Value::Array(_) if levels == 0 => json!({}),
            Value::Object(map) => match reference_target(value) {
                Some(target) => self.expand_reference(target, map, levels),
                None => Value::Object(self.expand_members(map, levels - 1)),
            },
            Value::Array(list) => Value::Array(
                list.iter().map(|inner| self.expand_value(inner, levels - 1)).collect(),
            ),
            _ => value.clone(),
        }
    }

    fn expand_members(&mut self, map: &Map<String, Value>, levels: usize) -> Map<String, Value> {
        let mut out = Map::new();
        for (key, value) in map {
            // Examples and extensions constrain nothing.
            if key.starts_with("x-") || matches!(key.as_str(), "example" | "examples" | "xml") {
                continue;
            }
            if self.values_left == 0 {
                break;
            }
            out.insert(key.clone(), self.expand_value(value, levels));
        }
        out
    }

    fn expand_reference(
        &mut self,
        target: &str,
        siblings: &Map<String, Value>,
        levels: usize,
    ) -> Value {
        let name = target.rsplit('/').next().unwrap_or_default();
        let may_expand = !self.open_references.iter().any(|open| open == target)
            && self.open_references.len() < self.max_references;
        let mut out = match self.lookup(target).filter(|_| may_expand) {
            Some(referenced) => {
                self.open_references.push(target.to_owned());
                let out = self.expand_value(referenced, levels);
                self.open_references.pop();
                out
            }
            None => json!({ "description": format!("not written out here: {name}") }),
        };
        if let (Some(object), Some(description)) =
            (out.as_object_mut(), siblings.get("description"))
        {
            object.insert("description".to_owned(), description.clone());
        }
        out
    }

    /// The value at a reference into this document; `None` for a reference to another one.
    fn lookup(&self, target: &str) -> Option<&'a Value> {
        self.root.pointer(target.strip_prefix('#')?)
    }
}

fn reference_target(value: &Value) -> Option<&str> {
    value.get("$ref").and_then(Value::as_str)
}

fn is_within_schema_bounds(schema: &Value) -> bool {
    let SchemaSize { depth, properties } = SchemaSize::of(schema);
    depth <= MAX_SCHEMA_DEPTH
        && properties <= MAX_SCHEMA_PROPERTIES
        && serde_json::to_string(schema).is_ok_and(|text| text.len() <= MAX_SCHEMA_BYTES)
}
