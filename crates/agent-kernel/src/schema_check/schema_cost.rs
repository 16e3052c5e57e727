//! Estimates how much work a schema can cause, before it is compiled.
//!
//! A server writes the schemas of its tools, so a schema may be hostile: references that double at
//! each step, thousands of patterns, recursion that visits one value many times. A schema that
//! exceeds the bounds here is refused at registration.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::schema_reference::referenced;

/// The largest schema, in bytes.
const MAX_BYTES: usize = 256 * 1024;
/// The most patterns in one schema.
const MAX_PATTERNS: usize = 200;
/// The most nodes of a schema with its references expanded.
const MAX_NODES: u64 = 50_000;
/// The deepest nesting.
const MAX_DEPTH: usize = 64;

/// Keys whose schemas visit each member of a value only once.
const SINGLE_VISIT_KEYS: [&str; 5] =
    ["properties", "items", "additionalProperties", "$defs", "definitions"];

/// Keys whose schemas see what the keywords beside them leave, and how often those visit a value for
/// it besides: `if` is asked whether it holds, and then what it evaluated.
const UNEVALUATED_KEYS: [&str; 2] = ["unevaluatedProperties", "unevaluatedItems"];
const REVISITS: u64 = 2;

/// Why a schema is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SchemaFault {
    #[error("it is larger than 256 KiB")]
    TooLarge,
    #[error("it holds more than 200 patterns")]
    TooManyPatterns,
    #[error("it refers to itself in several ways at one place")]
    AmbiguousRecursion,
    #[error("it nests deeper than 64 levels")]
    TooDeep,
    #[error("its references, written out, are too many")]
    TooManyNodes,
    #[error("it has a reference that is no JSON pointer to a part of it")]
    DanglingReference,
}

/// The number of nodes of a schema with its references expanded. The schema must have no names
/// ([`without_names`](super::schema_reference::without_names)).
///
/// Two bounds are independent. The node count bounds the work per value without recursion.
/// Recursion is harmless when each level moves to a smaller part of the value along single-visit
/// keys. Two or more recursive references on any other path can visit one value in several ways at
/// each level, which is exponential in its depth, so such a schema is refused.
pub(crate) fn expanded_nodes(schema: &Value) -> Result<u64, SchemaFault> {
    if schema.to_string().len() > MAX_BYTES {
        return Err(SchemaFault::TooLarge);
    }
    let mut estimate = CostEstimate::new(schema);
    estimate.walk_value(schema, WalkPosition { depth: 0, single_visit: true })?;
    if estimate.patterns > MAX_PATTERNS {
        return Err(SchemaFault::TooManyPatterns);
    }
    if estimate.has_ambiguous_recursion && estimate.back_references > 1 {
        return Err(SchemaFault::AmbiguousRecursion);
    }
    Ok(estimate.nodes)
}

/// The position of a walk in the schema.
#[derive(Clone, Copy)]
struct WalkPosition {
    depth: usize,
    /// False once the path contains a key that may visit a value again.
    single_visit: bool,
}

/// The counts of a walk over a schema. The walk stops as soon as a bound is exceeded, so the
/// estimate itself costs no more than for the largest accepted schema.
struct CostEstimate<'a> {
    root: &'a Value,
    /// The nodes of the parts that were expanded before, by their address.
    nodes_behind: BTreeMap<*const Value, u64>,
    /// The parts on the current path that references led to, and the whole.
    open_parts: Vec<&'a Value>,
    /// The nodes so far, with references expanded.
    nodes: u64,
    patterns: usize,
    /// The number of references to something on the current path.
    back_references: usize,
    /// True when one of these is not on a single-visit path.
    has_ambiguous_recursion: bool,
}

impl<'a> CostEstimate<'a> {
    fn new(root: &'a Value) -> Self {
        Self {
            root,
            nodes_behind: BTreeMap::new(),
            open_parts: vec![root],
            nodes: 0,
            patterns: 0,
            back_references: 0,
            has_ambiguous_recursion: false,
        }
    }

    fn add_nodes(&mut self, nodes: u64) -> Result<(), SchemaFault> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MAX_NODES { Err(SchemaFault::TooManyNodes) } else { Ok(()) }
    }

    fn walk_value(&mut self, value: &'a Value, position: WalkPosition) -> Result<(), SchemaFault> {
        if position.depth > MAX_DEPTH {
            return Err(SchemaFault::TooDeep);
        }
        self.add_nodes(1)?;
        let child = WalkPosition { depth: position.depth + 1, ..position };
        match value {
            Value::Object(fields) => self.walk_object(fields, child),
            Value::Array(items) => items.iter().try_for_each(|item| self.walk_value(item, child)),
            _ => Ok(()),
        }
    }

    fn walk_object(
        &mut self,
        fields: &'a Map<String, Value>,
        position: WalkPosition,
    ) -> Result<(), SchemaFault> {
        let (nodes_before, references_before) = (self.nodes, self.back_references);
        // A reference next to other applicators visits the same value twice.
        let has_no_applicators =
            fields.values().filter(|value| value.is_object() || value.is_array()).count() == 0;
        for (key, value) in fields {
            let child_position = WalkPosition {
                single_visit: position.single_visit
                    && (SINGLE_VISIT_KEYS.contains(&key.as_str()) || !is_applicator(key)),
                ..position
            };
            match (key.as_str(), value) {
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(target)) => {
                    self.walk_reference(
                        target,
                        WalkPosition {
                            single_visit: position.single_visit && has_no_applicators,
                            ..position
                        },
                    )?;
                }
                ("pattern", Value::String(_)) => {
                    self.patterns += 1;
                    self.add_nodes(1)?;
                }
                ("patternProperties", Value::Object(patterns)) => {
                    self.patterns += patterns.len();
                    self.walk_value(value, child_position)?;
                }
                ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                    self.walk_members(named, child_position)?;
                }
                _ => self.walk_value(value, child_position)?,
            }
        }
        if UNEVALUATED_KEYS.iter().any(|key| fields.contains_key(*key)) {
            // To find what the other keywords evaluated, they visit the value again: so each level
            // of such keywords multiplies the visits, and each level of a recursion does.
            let nodes = self.nodes.saturating_sub(nodes_before);
            self.add_nodes(nodes.saturating_mul(REVISITS))?;
            if self.back_references > references_before {
                self.back_references += 1;
                self.has_ambiguous_recursion = true;
            }
        }
        Ok(())
    }

    /// Walks members whose keys are names, not keywords.
    fn walk_members(
        &mut self,
        named: &'a Map<String, Value>,
        position: WalkPosition,
    ) -> Result<(), SchemaFault> {
        self.add_nodes(1)?;
        let child = WalkPosition { depth: position.depth + 1, ..position };
        named.values().try_for_each(|value| self.walk_value(value, child))
    }

    fn walk_reference(&mut self, target: &str, position: WalkPosition) -> Result<(), SchemaFault> {
        let part = referenced(self.root, target).ok_or(SchemaFault::DanglingReference)?;
        if self.open_parts.iter().any(|open| std::ptr::eq(*open, part)) {
            self.back_references += 1;
            self.has_ambiguous_recursion |= !position.single_visit;
            return self.add_nodes(1);
        }
        // The memo is valid only while there is no recursive reference: with one, the count behind
        // a reference depends on which references are open. The walk stays bounded, since every
        // node counts.
        let address = std::ptr::from_ref(part);
        if let (Some(nodes), true) = (self.nodes_behind.get(&address), self.back_references == 0) {
            return self.add_nodes(*nodes);
        }
        let nodes_before = self.nodes;
        self.open_parts.push(part);
        let walked = self.walk_value(part, position);
        self.open_parts.pop();
        walked?;
        self.nodes_behind.insert(address, self.nodes.saturating_sub(nodes_before));
        Ok(())
    }
}

/// Keywords (applicators) that apply a schema to a value which other keywords may visit too.
fn is_applicator(key: &str) -> bool {
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
mod tests;
