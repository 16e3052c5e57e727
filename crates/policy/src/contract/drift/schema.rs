//! Compares two JSON Schemas keyword by keyword: a conservative subtype check.
//!
//! The keywords of a schema are a conjunction of conditions. If none was tightened, everything that
//! was accepted still is; if none was loosened, nothing new is accepted. As for functions,
//! arguments are contravariant and results covariant: accepting less breaks callers in an input
//! schema and is harmless in an output schema. Full containment of JSON Schemas is not decided. Any
//! change that is not recognised counts as the most serious class.

use serde_json::{Map, Value};

use super::keyword::{self, Direction};
use super::{Drift, DriftClass};

/// How deeply two schemas are compared. Anything deeper counts as unrecognised.
const MAX_DEPTH: usize = 64;

/// The same part of the schema before and after the change.
#[derive(Debug, Clone, Copy)]
pub(super) struct OldAndNew<T> {
    pub(super) old: T,
    pub(super) new: T,
}

/// Which schema of a tool is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaSide {
    Input,
    Output,
}

/// The aspect of a schema that changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangedAspect {
    Type,
    Enum,
    Bound,
    AdditionalProperties,
    Format,
    Unrecognized,
}

pub(super) fn compare(before: &Value, after: &Value, side: SchemaSide, drift: &mut Drift) {
    let path = match side {
        SchemaSide::Input => "input",
        SchemaSide::Output => "output",
    };
    let has_negated_part = has_negation(before, 0) || has_negation(after, 0);
    SchemaComparison { side, has_negated_part, drift }.compare_schemas(before, after, path, 0);
}

pub(super) struct SchemaComparison<'d> {
    side: SchemaSide,
    /// Whether some part of the schemas is negated. A definition that is referenced from there
    /// counts the other way round.
    has_negated_part: bool,
    drift: &'d mut Drift,
}

/// Keywords under which a subschema that accepts more can make the whole schema accept less.
const NEGATING_KEYWORDS: [&str; 9] = [
    "not", "if", "oneOf", "contains", "dependentSchemas", "propertyNames", "unevaluatedProperties",
    "unevaluatedItems", "$dynamicRef",
];

fn has_negation(schema: &Value, depth: usize) -> bool {
    match schema {
        _ if depth > MAX_DEPTH => true,
        Value::Object(fields) => fields.iter().any(|(key, value)| {
            NEGATING_KEYWORDS.contains(&key.as_str()) || has_negation(value, depth + 1)
        }),
        Value::Array(items) => items.iter().any(|item| has_negation(item, depth + 1)),
        _ => false,
    }
}

impl SchemaComparison<'_> {
    pub(super) fn compare_schemas(
        &mut self,
        before: &Value,
        after: &Value,
        path: &str,
        depth: usize,
    ) {
        if before == after {
            return;
        }
        if depth > MAX_DEPTH {
            return self.report_unrecognized(path);
        }
        let empty = Map::new();
        match (before, after) {
            (Value::Bool(false), _) => {
                self.report_change(Direction::Looser, ChangedAspect::AdditionalProperties, path)
            }
            (_, Value::Bool(false)) => {
                self.report_change(Direction::Tighter, ChangedAspect::AdditionalProperties, path)
            }
            (Value::Object(a), Value::Object(b)) => self.compare_objects(a, b, path, depth),
            (Value::Bool(true), Value::Object(b)) => self.compare_objects(&empty, b, path, depth),
            (Value::Object(a), Value::Bool(true)) => self.compare_objects(a, &empty, path, depth),
            _ => self.report_unrecognized(path),
        }
    }

    fn compare_objects(
        &mut self,
        a: &Map<String, Value>,
        b: &Map<String, Value>,
        path: &str,
        depth: usize,
    ) {
        let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
        keys.sort();
        keys.dedup();
        for key in keys.into_iter().filter(|key| a.get(*key) != b.get(*key)) {
            let versions = OldAndNew { old: a.get(key), new: b.get(key) };
            let here = format!("{path}/{key}");
            match key.as_str() {
                "properties" => self.compare_properties(OldAndNew { old: a, new: b }, &here, depth),
                "required" => self.compare_required(OldAndNew { old: a, new: b }, versions, &here),
                "items" | "additionalProperties" => {
                    let open = Value::Bool(true);
                    let (old, new) = (versions.old.unwrap_or(&open), versions.new.unwrap_or(&open));
                    self.compare_schemas(old, new, &here, depth + 1);
                }
                "$defs" | "definitions" => self.compare_definitions(versions, &here, depth),
                "anyOf" | "allOf" => self.compare_combinations(key, versions, &here, depth),
                _ => keyword::compare(self, key, versions, &here),
            }
        }
    }

    fn compare_properties(
        &mut self,
        OldAndNew { old: a, new: b }: OldAndNew<&Map<String, Value>>,
        path: &str,
        depth: usize,
    ) {
        let empty = Map::new();
        let (Some(old), Some(new)) = (
            object_or_empty(a.get("properties"), &empty),
            object_or_empty(b.get("properties"), &empty),
        ) else {
            return self.report_unrecognized(path);
        };
        for (name, before) in old {
            let here = format!("{path}/{name}");
            match new.get(name) {
                Some(after) => self.compare_schemas(before, after, &here, depth + 1),
                None => {
                    self.report(&here, ["argument removed", "field removed"], DriftClass::Breaking)
                }
            }
        }
        for name in new.keys().filter(|name| !old.contains_key(*name)) {
            // A required property is reported by `compare_required`.
            if !is_required(b, name) || is_required(a, name) {
                let what = ["optional argument added", "field added"];
                self.report(&format!("{path}/{name}"), what, DriftClass::Compatible);
            }
        }
    }

    fn compare_required(
        &mut self,
        OldAndNew { old: a, new: b }: OldAndNew<&Map<String, Value>>,
        OldAndNew { old, new }: OldAndNew<Option<&Value>>,
        path: &str,
    ) {
        let (Some(old), Some(new)) = (name_set(old), name_set(new)) else {
            return self.report_unrecognized(path);
        };
        let declared_in_both = |name: &str| has_property(a, name) && has_property(b, name);
        let [tighter, looser] = match self.side {
            SchemaSide::Input => [DriftClass::Breaking, DriftClass::Compatible],
            SchemaSide::Output => [DriftClass::Compatible, DriftClass::Breaking],
        };
        for name in new.iter().filter(|name| !old.contains(*name)) {
            let what = match declared_in_both(name) {
                true => ["argument made required", "field made certain"],
                false => ["required argument added", "certain field added"],
            };
            self.report(&format!("{path}/{name}"), what, tighter);
        }
        for name in old.iter().filter(|name| !new.contains(*name)) {
            let what = ["argument no longer required", "field no longer certain"];
            self.report(&format!("{path}/{name}"), what, looser);
        }
    }

    /// Compares schemas that are referenced from elsewhere.
    fn compare_definitions(
        &mut self,
        OldAndNew { old, new }: OldAndNew<Option<&Value>>,
        path: &str,
        depth: usize,
    ) {
        let empty = Map::new();
        let (Some(old), Some(new)) = (object_or_empty(old, &empty), object_or_empty(new, &empty))
        else {
            return self.report_unrecognized(path);
        };
        // Added or removed definitions matter only where they are referenced, which is reported
        // there.
        for (name, before) in old {
            let Some(after) = new.get(name) else { continue };
            let here = format!("{path}/{name}");
            let from = self.drift.changes.len();
            self.compare_schemas(before, after, &here, depth + 1);
            let matters = self.drift.changes.iter().skip(from);
            if self.has_negated_part
                && matters.into_iter().any(|c| c.class > DriftClass::Documentation)
            {
                self.report_unrecognized(&here);
            }
        }
    }

    fn compare_combinations(
        &mut self,
        key: &str,
        OldAndNew { old, new }: OldAndNew<Option<&Value>>,
        path: &str,
        depth: usize,
    ) {
        let (a, b) = (old.and_then(Value::as_array), new.and_then(Value::as_array));
        let any = key == "anyOf";
        match (a, b) {
            (None, Some(_)) if old.is_none() => {
                self.report_change(Direction::Tighter, ChangedAspect::Type, path)
            }
            (Some(_), None) if new.is_none() => {
                self.report_change(Direction::Looser, ChangedAspect::Type, path)
            }
            (Some(a), Some(b)) if a.len() == b.len() => {
                for (n, (old, new)) in a.iter().zip(b).enumerate() {
                    self.compare_schemas(old, new, &format!("{path}/{n}"), depth + 1);
                }
            }
            (Some(a), Some(b)) if b.starts_with(a) => {
                let direction = if any { Direction::Looser } else { Direction::Tighter };
                self.report_change(direction, ChangedAspect::Type, path);
            }
            (Some(a), Some(b)) if a.starts_with(b) => {
                let direction = if any { Direction::Tighter } else { Direction::Looser };
                self.report_change(direction, ChangedAspect::Type, path);
            }
            _ => self.report_unrecognized(path),
        }
    }

    /// Reports that a condition on this aspect was tightened or loosened.
    pub(super) fn report_change(
        &mut self,
        direction: Direction,
        aspect: ChangedAspect,
        path: &str,
    ) {
        let (tighter, looser) = match self.side {
            SchemaSide::Input => (DriftClass::Breaking, DriftClass::AuthorityWidening),
            SchemaSide::Output => (DriftClass::Compatible, DriftClass::Breaking),
        };
        let [narrowed, widened] = aspect.descriptions();
        match direction {
            Direction::Tighter => self.drift.add(path, narrowed, tighter),
            Direction::Looser => self.drift.add(path, widened, looser),
        }
    }

    /// Reports a change of unknown meaning, with the most serious class.
    pub(super) fn report_unrecognized(&mut self, path: &str) {
        let class = match self.side {
            SchemaSide::Input => DriftClass::AuthorityWidening,
            SchemaSide::Output => DriftClass::Breaking,
        };
        self.drift.add(path, ChangedAspect::Unrecognized.descriptions()[0], class);
    }

    /// Reports a change that has different descriptions for inputs and for outputs.
    pub(super) fn report(
        &mut self,
        path: &str,
        [input, output]: [&'static str; 2],
        class: DriftClass,
    ) {
        let what = if self.side == SchemaSide::Input { input } else { output };
        self.drift.add(path, what, class);
    }
}

impl ChangedAspect {
    /// The descriptions for tightening and for loosening.
    fn descriptions(self) -> [&'static str; 2] {
        match self {
            Self::Type => ["type narrowed", "type widened"],
            Self::Enum => ["allowed value removed", "allowed value added"],
            Self::Bound => ["bound added or tightened", "bound removed or widened"],
            Self::AdditionalProperties => ["closed to other arguments", "open to other arguments"],
            Self::Format => ["form of a text restricted", "form of a text no longer restricted"],
            Self::Unrecognized => ["schema changed in a way that cannot be compared"; 2],
        }
    }
}

fn object_or_empty<'v>(
    value: Option<&'v Value>,
    empty: &'v Map<String, Value>,
) -> Option<&'v Map<String, Value>> {
    value.map_or(Some(empty), Value::as_object)
}

fn name_set(value: Option<&Value>) -> Option<std::collections::BTreeSet<&str>> {
    let Some(value) = value else { return Some(std::collections::BTreeSet::new()) };
    value.as_array()?.iter().map(Value::as_str).collect()
}

fn has_property(schema: &Map<String, Value>, name: &str) -> bool {
    schema.get("properties").and_then(|all| all.get(name)).is_some()
}

fn is_required(schema: &Map<String, Value>, name: &str) -> bool {
    name_set(schema.get("required")).is_some_and(|names| names.contains(name))
}
