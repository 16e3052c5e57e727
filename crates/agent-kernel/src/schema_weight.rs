//! How much work a schema can ask for, found before it is compiled.
//!
//! A server writes the schemas of its tools, so a schema may be made to cost: references that
//! double at each step, thousands of patterns, recursion that visits one value many times over.
//! What is heavier than the bounds here is refused at registration.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The largest schema, in bytes.
const MAX_BYTES: usize = 256 * 1024;
/// The most patterns in one schema.
const MAX_PATTERNS: usize = 200;
/// The most nodes of a schema with its references written out.
const MAX_NODES: u64 = 50_000;
/// The deepest nesting.
const MAX_DEPTH: usize = 64;

/// Keys under which each member of a value is visited once.
const PLAIN: [&str; 5] = ["properties", "items", "additionalProperties", "$defs", "definitions"];

/// Why a schema is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SchemaFault {
    #[error("it is larger than 256 KiB")]
    TooLarge,
    #[error("it holds more than 200 patterns")]
    TooManyPatterns,
    #[error("it refers to itself in several ways at one place")]
    Tangled,
    #[error("it nests deeper than 64 levels")]
    TooDeep,
    #[error("its references, written out, are too many")]
    TooManyNodes,
    #[error("it refers to a place that it does not hold")]
    DanglingReference,
    #[error("its references follow one another more than 64 times")]
    LongChain,
}

/// The nodes of a schema with its references written out.
pub(crate) fn weigh(schema: &Value) -> Result<u64, SchemaFault> {
    if schema.to_string().len() > MAX_BYTES {
        return Err(SchemaFault::TooLarge);
    }
    let mut scale = Scale {
        root: schema,
        known: BTreeMap::new(),
        open: Vec::new(),
        patterns: 0,
        back: 0,
        tangled: false,
    };
    let nodes = scale.value(schema, Place { depth: 0, plain: true })?;
    if scale.patterns > MAX_PATTERNS {
        return Err(SchemaFault::TooManyPatterns);
    }
    if scale.tangled && scale.back > 1 {
        return Err(SchemaFault::Tangled);
    }
    Ok(nodes)
}

/// Where in the schema a walk stands.
#[derive(Clone, Copy)]
struct Place {
    depth: usize,
    /// False once the way led through a key that visits a value again.
    plain: bool,
}

struct Scale<'a> {
    root: &'a Value,
    /// The nodes behind references that were written out before.
    known: BTreeMap<&'a str, u64>,
    /// The references on the way here.
    open: Vec<&'a str>,
    patterns: usize,
    /// References back to something on the way here.
    back: usize,
    /// True when one of these is not on a plain way.
    tangled: bool,
}

impl<'a> Scale<'a> {
    fn value(&mut self, value: &'a Value, place: Place) -> Result<u64, SchemaFault> {
        if place.depth > MAX_DEPTH {
            return Err(SchemaFault::TooDeep);
        }
        let below = Place { depth: place.depth + 1, ..place };
        let nodes = match value {
            Value::Object(fields) => self.object(fields, below)?,
            Value::Array(items) => {
                let mut sum = 0_u64;
                for item in items {
                    sum = sum.saturating_add(self.value(item, below)?);
                }
                sum
            }
            _ => 0,
        };
        if nodes >= MAX_NODES { Err(SchemaFault::TooManyNodes) } else { Ok(nodes + 1) }
    }

    fn object(&mut self, fields: &'a Map<String, Value>, place: Place) -> Result<u64, SchemaFault> {
        let mut nodes = 0_u64;
        // A reference beside other keywords visits the same value twice.
        let alone =
            fields.values().filter(|value| value.is_object() || value.is_array()).count() == 0;
        for (key, value) in fields {
            let here = Place {
                plain: place.plain && (PLAIN.contains(&key.as_str()) || !is_keyword(key)),
                ..place
            };
            nodes = nodes.saturating_add(match (key.as_str(), value) {
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(target)) => {
                    self.reference(target, Place { plain: place.plain && alone, ..place })?
                }
                ("pattern", Value::String(_)) => {
                    self.patterns += 1;
                    1
                }
                ("patternProperties", Value::Object(patterns)) => {
                    self.patterns += patterns.len();
                    self.value(value, here)?
                }
                ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                    self.named(named, here)?
                }
                _ => self.value(value, here)?,
            });
        }
        Ok(nodes)
    }

    /// Members whose keys are names, not keywords.
    fn named(&mut self, named: &'a Map<String, Value>, place: Place) -> Result<u64, SchemaFault> {
        let below = Place { depth: place.depth + 1, ..place };
        let mut nodes = 1_u64;
        for value in named.values() {
            nodes = nodes.saturating_add(self.value(value, below)?);
        }
        Ok(nodes)
    }

    fn reference(&mut self, target: &'a str, place: Place) -> Result<u64, SchemaFault> {
        // A reference to elsewhere is refused where the schema is compiled.
        let Some(pointer) = target.strip_prefix('#') else { return Ok(1) };
        if self.open.contains(&target) || pointer.is_empty() {
            self.back += 1;
            self.tangled |= !place.plain;
            return Ok(1);
        }
        if let (Some(nodes), true) = (self.known.get(target), self.back == 0) {
            return Ok(*nodes);
        }
        let found = self.root.pointer(pointer).ok_or(SchemaFault::DanglingReference)?;
        if self.open.len() > MAX_DEPTH {
            return Err(SchemaFault::LongChain);
        }
        self.open.push(target);
        let nodes = self.value(found, place);
        self.open.pop();
        let nodes = nodes?;
        self.known.insert(target, nodes);
        Ok(nodes)
    }
}

/// Keywords that apply a schema to a value that others apply one to as well.
fn is_keyword(key: &str) -> bool {
    matches!(
        key,
        "allOf"
            | "anyOf"
            | "oneOf"
            | "not"
            | "if"
            | "then"
            | "else"
            | "contains"
            | "prefixItems"
            | "patternProperties"
            | "propertyNames"
            | "dependentSchemas"
            | "dependencies"
            | "unevaluatedItems"
            | "unevaluatedProperties"
            | "additionalItems"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_that_double_are_refused() {
        let mut defs = Map::new();
        for n in 0..60 {
            let next = json!({ "$ref": format!("#/$defs/a{}", n + 1) });
            defs.insert(format!("a{n}"), json!({ "allOf": [next, next] }));
        }
        defs.insert("a60".to_owned(), json!(true));
        assert!(weigh(&json!({ "$ref": "#/$defs/a0", "$defs": defs })).is_err());
    }

    #[test]
    fn recursion_that_visits_a_value_twice_is_refused() {
        let twice =
            json!({ "properties": { "c": { "allOf": [{ "$ref": "#" }, { "$ref": "#" }] } } });
        assert!(weigh(&twice).is_err());
        let beside = json!({
            "properties": { "c": { "$ref": "#" } },
            "patternProperties": { "c": { "$ref": "#" } },
        });
        assert!(weigh(&beside).is_err());
        let sibling = json!({
            "$defs": { "n": { "properties": {
                "c": { "$ref": "#/$defs/n", "properties": { "c": { "$ref": "#/$defs/n" } } },
            } } },
            "$ref": "#/$defs/n",
        });
        assert!(weigh(&sibling).is_err());
    }

    #[test]
    fn trees_and_filters_pass() {
        let tree =
            json!({ "properties": { "children": { "type": "array", "items": { "$ref": "#" } } } });
        assert!(weigh(&tree).is_ok());
        let filter = json!({
            "$defs": { "f": { "type": "object", "properties": {
                "and": { "items": { "$ref": "#/$defs/f" } },
                "or": { "items": { "$ref": "#/$defs/f" } },
                "not": { "$ref": "#/$defs/f" },
            } } },
            "properties": { "filter": { "$ref": "#/$defs/f" } },
        });
        assert_eq!(weigh(&filter).map(|nodes| nodes < 100), Ok(true));
    }

    #[test]
    fn many_patterns_and_large_schemas_are_refused() {
        let many: Map<String, Value> =
            (0..300).map(|n| (format!("p{n}"), json!({ "pattern": "a" }))).collect();
        assert!(weigh(&json!({ "properties": many })).is_err());
        assert!(weigh(&json!({ "description": "x".repeat(300_000) })).is_err());
    }
}
