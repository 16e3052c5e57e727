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
}

/// The nodes of a schema with its references written out.
pub(crate) fn weigh(schema: &Value) -> Result<u64, SchemaFault> {
    if schema.to_string().len() > MAX_BYTES {
        return Err(SchemaFault::TooLarge);
    }
    let mut estimate = CostEstimate::new(schema);
    estimate.value(schema, WalkPosition { depth: 0, plain: true })?;
    if estimate.patterns > MAX_PATTERNS {
        return Err(SchemaFault::TooManyPatterns);
    }
    if estimate.tangled && estimate.back > 1 {
        return Err(SchemaFault::Tangled);
    }
    Ok(estimate.nodes)
}

/// Where in the schema a walk stands.
#[derive(Clone, Copy)]
struct WalkPosition {
    depth: usize,
    /// False once the way led through a key that visits a value again.
    plain: bool,
}

/// What a walk over a schema has counted so far. It ends as soon as that is too much: a schema costs
/// no more to look at than the largest that is taken.
struct CostEstimate<'a> {
    root: &'a Value,
    /// The nodes behind references that were written out before.
    known: BTreeMap<&'a str, u64>,
    /// The references on the way here.
    open: Vec<&'a str>,
    /// With the references written out.
    nodes: u64,
    patterns: usize,
    /// References back to something on the way here.
    back: usize,
    /// True when one of these is not on a plain way.
    tangled: bool,
}

impl<'a> CostEstimate<'a> {
    fn new(root: &'a Value) -> Self {
        let (known, open) = (BTreeMap::new(), Vec::new());
        Self { root, known, open, nodes: 0, patterns: 0, back: 0, tangled: false }
    }

    fn count(&mut self, nodes: u64) -> Result<(), SchemaFault> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MAX_NODES { Err(SchemaFault::TooManyNodes) } else { Ok(()) }
    }

    fn value(&mut self, value: &'a Value, place: WalkPosition) -> Result<(), SchemaFault> {
        if place.depth > MAX_DEPTH {
            return Err(SchemaFault::TooDeep);
        }
        self.count(1)?;
        let below = WalkPosition { depth: place.depth + 1, ..place };
        match value {
            Value::Object(fields) => self.object(fields, below),
            Value::Array(items) => items.iter().try_for_each(|item| self.value(item, below)),
            _ => Ok(()),
        }
    }

    fn object(
        &mut self,
        fields: &'a Map<String, Value>,
        place: WalkPosition,
    ) -> Result<(), SchemaFault> {
        // A reference beside other keywords visits the same value twice.
        let alone =
            fields.values().filter(|value| value.is_object() || value.is_array()).count() == 0;
        for (key, value) in fields {
            let here = WalkPosition {
                plain: place.plain && (PLAIN.contains(&key.as_str()) || !is_keyword(key)),
                ..place
            };
            match (key.as_str(), value) {
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(target)) => {
                    self.reference(target, WalkPosition { plain: place.plain && alone, ..place })?;
                }
                ("pattern", Value::String(_)) => {
                    self.patterns += 1;
                    self.count(1)?;
                }
                ("patternProperties", Value::Object(patterns)) => {
                    self.patterns += patterns.len();
                    self.value(value, here)?;
                }
                ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                    self.named(named, here)?;
                }
                _ => self.value(value, here)?,
            }
        }
        Ok(())
    }

    /// Members whose keys are names, not keywords.
    fn named(
        &mut self,
        named: &'a Map<String, Value>,
        place: WalkPosition,
    ) -> Result<(), SchemaFault> {
        self.count(1)?;
        let below = WalkPosition { depth: place.depth + 1, ..place };
        named.values().try_for_each(|value| self.value(value, below))
    }

    fn reference(&mut self, target: &'a str, place: WalkPosition) -> Result<(), SchemaFault> {
        // A reference to elsewhere is refused where the schema is compiled.
        let Some(pointer) = target.strip_prefix('#') else { return self.count(1) };
        if self.open.contains(&target) || pointer.is_empty() {
            self.back += 1;
            self.tangled |= !place.plain;
            return self.count(1);
        }
        // What lies behind a reference back is counted anew at each place: it depends on what is open.
        if let (Some(nodes), true) = (self.known.get(target), self.back == 0) {
            return self.count(*nodes);
        }
        let found = self.root.pointer(pointer).ok_or(SchemaFault::DanglingReference)?;
        let before = self.nodes;
        self.open.push(target);
        let walked = self.value(found, place);
        self.open.pop();
        walked?;
        self.known.insert(target, self.nodes.saturating_sub(before));
        Ok(())
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
    fn a_walk_ends_with_the_first_node_too_many() {
        let wide = vec![json!(0); 49_000];
        let again = vec![json!({ "$ref": "#/$defs/b" }); 6_500];
        // One reference back, after which nothing behind a reference is known in advance.
        let schema = json!({
            "$defs": { "a": { "$ref": "#" }, "b": wide },
            "items": { "prefixItems": again },
        });
        let mut estimate = CostEstimate::new(&schema);
        let walked = estimate.value(&schema, WalkPosition { depth: 0, plain: true });
        assert_eq!((walked, estimate.nodes), (Err(SchemaFault::TooManyNodes), MAX_NODES + 1));
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

    /// A schema inside the given number of nested lists.
    fn nested(lists: usize) -> Value {
        (0..lists).fold(json!(true), |inner, _| json!([inner]))
    }

    #[test]
    fn every_schema_list_and_reference_is_a_node() {
        for (schema, nodes) in [
            (json!(true), 1),
            (json!({}), 1),
            (json!({ "type": "object", "title": "x" }), 3),
            (json!({ "items": {} }), 2),
            (json!({ "allOf": [true, {}] }), 4),
            (json!({ "pattern": "a" }), 2),
            (json!({ "pattern": { "a": 1 } }), 3),
            (json!({ "properties": {} }), 2),
            (json!({ "properties": { "pattern": {}, "b": true } }), 4),
            (json!({ "patternProperties": { "a": {} } }), 3),
            (json!({ "$ref": "https://example.com/s" }), 2),
            (json!({ "$ref": "#" }), 2),
            (json!({ "$ref": "#/$defs/a", "$defs": { "a": { "items": {} } } }), 6),
            (json!({ "$defs": { "a": {} }, "x": { "$ref": "#/$defs/a" } }), 5),
        ] {
            assert_eq!(weigh(&schema), Ok(nodes), "{schema}");
        }
    }

    #[test]
    fn a_schema_has_at_most_256_kib() {
        let sized = |bytes: usize| {
            let around = json!({ "title": "" }).to_string().len();
            weigh(&json!({ "title": "x".repeat(bytes - around) })).err()
        };
        assert_eq!((sized(262_144), sized(262_145)), (None, Some(SchemaFault::TooLarge)));
    }

    #[test]
    fn a_schema_has_at_most_200_patterns_of_both_sorts_together() {
        let patterns = |plain: usize, names: usize| {
            let plain: Vec<Value> = (0..plain).map(|_| json!({ "pattern": "a" })).collect();
            let names: Map<String, Value> =
                (0..names).map(|n| (n.to_string(), json!({}))).collect();
            weigh(&json!({ "oneOf": plain, "patternProperties": names })).err()
        };
        let refused = Some(SchemaFault::TooManyPatterns);
        assert_eq!([patterns(200, 0), patterns(0, 200), patterns(120, 80)], [None; 3]);
        assert_eq!([patterns(201, 0), patterns(0, 201), patterns(120, 81)], [refused; 3]);
    }

    #[test]
    fn a_schema_nests_at_most_64_levels() {
        let deep = Some(SchemaFault::TooDeep);
        assert_eq!((weigh(&nested(64)).err(), weigh(&nested(65)).err()), (None, deep));
        let objects = |levels: usize| {
            weigh(&(0..levels).fold(json!({}), |inner, _| json!({ "items": inner }))).err()
        };
        assert_eq!((objects(64), objects(65)), (None, deep));
        // Properties are a level of their own.
        let properties = |levels: usize| {
            let fold = |inner, _| json!({ "properties": { "a": inner } });
            weigh(&(0..levels).fold(json!({}), fold)).err()
        };
        assert_eq!((properties(32), properties(33)), (None, deep));
    }

    #[test]
    fn a_schema_has_at_most_50_000_nodes_with_its_references_written_out() {
        let wide = |items: usize| weigh(&json!({ "allOf": vec![json!(true); items] }));
        assert_eq!(wide(49_998), Ok(50_000));
        assert_eq!(wide(49_999), Err(SchemaFault::TooManyNodes));
        let reference = json!({ "$ref": "#/$defs/wide" });
        let twice = |items: usize| {
            weigh(&json!({
                "$defs": { "wide": vec![json!(true); items] },
                "allOf": vec![reference.clone(); 3],
            }))
        };
        assert!(twice(12_000).is_ok());
        assert_eq!(twice(13_000), Err(SchemaFault::TooManyNodes));
    }

    #[test]
    fn a_reference_leads_to_a_place_that_is_there() {
        let to = |target: &str| weigh(&json!({ "$defs": { "a": {} }, "$ref": target })).err();
        assert_eq!(
            (to("#/$defs/a"), to("#/$defs/b")),
            (None, Some(SchemaFault::DanglingReference))
        );
        let named = json!({ "properties": { "a": { "$dynamicRef": "#/nowhere" } } });
        assert_eq!(weigh(&named), Err(SchemaFault::DanglingReference));
    }

    #[test]
    fn each_reference_is_a_level_deeper() {
        let chain = |links: usize| {
            let mut defs: Map<String, Value> = (0..links)
                .map(|n| (format!("a{n}"), json!({ "$ref": format!("#/$defs/a{}", n + 1) })))
                .collect();
            defs.insert(format!("a{links}"), json!(true));
            weigh(&json!({ "$defs": defs })).err()
        };
        assert_eq!((chain(62), chain(63)), (None, Some(SchemaFault::TooDeep)));
    }

    #[test]
    fn one_way_back_is_a_tree_and_two_are_tangled_where_a_value_is_visited_again() {
        let back = || json!({ "$ref": "#" });
        let tangled = Some(SchemaFault::Tangled);
        for (schema, fault) in [
            (json!({ "properties": { "a": back(), "b": back() } }), None),
            (json!({ "items": back(), "additionalProperties": back() }), None),
            (json!({ "anyOf": [back(), { "type": "null" }] }), None),
            (json!({ "anyOf": [back(), back()] }), tangled),
            (json!({ "properties": { "a": back() }, "not": back() }), tangled),
            (json!({ "properties": { "a": back(), "b": { "if": back() } } }), tangled),
            (json!({ "properties": { "not": back(), "if": back() } }), None),
            (json!({ "x-own": back(), "items": back() }), None),
            (json!({ "items": { "$ref": "#", "x": {} }, "properties": { "a": back() } }), tangled),
            (json!({ "items": { "$ref": "#", "x": 1 }, "properties": { "a": back() } }), None),
        ] {
            assert_eq!(weigh(&schema).err(), fault, "{schema}");
        }
        for key in [
            "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "contains", "prefixItems",
            "patternProperties", "propertyNames", "dependentSchemas", "dependencies",
            "unevaluatedItems", "unevaluatedProperties", "additionalItems",
        ] {
            let schema = json!({ key: { "x": back() }, "items": back() });
            assert_eq!(weigh(&schema).err(), tangled, "{key}");
        }
    }
}
