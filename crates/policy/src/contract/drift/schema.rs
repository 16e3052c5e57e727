//! Two JSON Schemas compared keyword by keyword: a conservative check of subtyping.
//!
//! Keywords of a schema are conditions that all hold. So where none was tightened, everything that was
//! accepted still is, and where none was loosened, nothing new is. Arguments are contravariant and
//! results covariant, as for functions: a schema that accepts less breaks callers when it is that of
//! the input, and is harmless when it is that of the output. Full containment of JSON Schemas is not
//! decided; what the comparison does not recognise counts as the worst.

use serde_json::{Map, Value};

use super::keyword::{self, Direction};
use super::{Drift, DriftClass};

/// How deep two schemas are compared; what lies deeper counts as unknown.
const MAX_DEPTH: usize = 64;

/// The same thing before and after.
#[derive(Debug, Clone, Copy)]
pub(super) struct Versions<T> {
    pub(super) old: T,
    pub(super) new: T,
}

/// Which of a tool's schemas is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaSide {
    Input,
    Output,
}

/// What kind of place has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangedAspect {
    Type,
    Enum,
    Bound,
    Others,
    Format,
    Unrecognized,
}

pub(super) fn compare(before: &Value, after: &Value, side: SchemaSide, drift: &mut Drift) {
    let place = match side {
        SchemaSide::Input => "input",
        SchemaSide::Output => "output",
    };
    let negated = has_negation(before, 0) || has_negation(after, 0);
    SchemaComparison { side, negated, drift }.schema(before, after, place, 0);
}

pub(super) struct SchemaComparison<'d> {
    side: SchemaSide,
    /// Whether some part of the schemas is about what must not be, so that parts that are referred
    /// to may count the other way round.
    negated: bool,
    drift: &'d mut Drift,
}

/// Keywords under which a schema that accepts more may make the whole accept less.
const NEGATIONS: [&str; 9] = [
    "not", "if", "oneOf", "contains", "dependentSchemas", "propertyNames", "unevaluatedProperties",
    "unevaluatedItems", "$dynamicRef",
];

fn has_negation(schema: &Value, depth: usize) -> bool {
    match schema {
        _ if depth > MAX_DEPTH => true,
        Value::Object(fields) => fields.iter().any(|(key, value)| {
            NEGATIONS.contains(&key.as_str()) || has_negation(value, depth + 1)
        }),
        Value::Array(items) => items.iter().any(|item| has_negation(item, depth + 1)),
        _ => false,
    }
}

impl SchemaComparison<'_> {
    pub(super) fn schema(&mut self, before: &Value, after: &Value, place: &str, depth: usize) {
        if before == after {
            return;
        }
        if depth > MAX_DEPTH {
            return self.unrecognized(place);
        }
        let empty = Map::new();
        match (before, after) {
            (Value::Bool(false), _) => {
                self.changed(Direction::Looser, ChangedAspect::Others, place)
            }
            (_, Value::Bool(false)) => {
                self.changed(Direction::Tighter, ChangedAspect::Others, place)
            }
            (Value::Object(a), Value::Object(b)) => self.object(a, b, place, depth),
            (Value::Bool(true), Value::Object(b)) => self.object(&empty, b, place, depth),
            (Value::Object(a), Value::Bool(true)) => self.object(a, &empty, place, depth),
            _ => self.unrecognized(place),
        }
    }

    fn object(
        &mut self,
        a: &Map<String, Value>,
        b: &Map<String, Value>,
        place: &str,
        depth: usize,
    ) {
        let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
        keys.sort();
        keys.dedup();
        for key in keys.into_iter().filter(|key| a.get(*key) != b.get(*key)) {
            let versions = Versions { old: a.get(key), new: b.get(key) };
            let here = format!("{place}/{key}");
            match key.as_str() {
                "properties" => self.properties(Versions { old: a, new: b }, &here, depth),
                "required" => self.required(Versions { old: a, new: b }, versions, &here),
                "items" | "additionalProperties" => {
                    let open = Value::Bool(true);
                    let (old, new) = (versions.old.unwrap_or(&open), versions.new.unwrap_or(&open));
                    self.schema(old, new, &here, depth + 1);
                }
                "$defs" | "definitions" => self.definitions(versions, &here, depth),
                "anyOf" | "allOf" => self.combined(key, versions, &here, depth),
                _ => keyword::compare(self, key, versions, &here),
            }
        }
    }

    fn properties(
        &mut self,
        Versions { old: a, new: b }: Versions<&Map<String, Value>>,
        place: &str,
        depth: usize,
    ) {
        let empty = Map::new();
        let (Some(old), Some(new)) =
            (map(a.get("properties"), &empty), map(b.get("properties"), &empty))
        else {
            return self.unrecognized(place);
        };
        for (name, before) in old {
            let here = format!("{place}/{name}");
            match new.get(name) {
                Some(after) => self.schema(before, after, &here, depth + 1),
                None => {
                    self.add(&here, ["argument removed", "field removed"], DriftClass::Breaking)
                }
            }
        }
        for name in new.keys().filter(|name| !old.contains_key(*name)) {
            // One that is required is told by `required`.
            if !requires(b, name) || requires(a, name) {
                let what = ["optional argument added", "field added"];
                self.add(&format!("{place}/{name}"), what, DriftClass::Compatible);
            }
        }
    }

    fn required(
        &mut self,
        Versions { old: a, new: b }: Versions<&Map<String, Value>>,
        Versions { old, new }: Versions<Option<&Value>>,
        place: &str,
    ) {
        let (Some(old), Some(new)) = (names(old), names(new)) else {
            return self.unrecognized(place);
        };
        let known = |name: &str| has(a, name) && has(b, name);
        let [tighter, looser] = match self.side {
            SchemaSide::Input => [DriftClass::Breaking, DriftClass::Compatible],
            SchemaSide::Output => [DriftClass::Compatible, DriftClass::Breaking],
        };
        for name in new.iter().filter(|name| !old.contains(*name)) {
            let what = match known(name) {
                true => ["argument made required", "field made certain"],
                false => ["required argument added", "certain field added"],
            };
            self.add(&format!("{place}/{name}"), what, tighter);
        }
        for name in old.iter().filter(|name| !new.contains(*name)) {
            let what = ["argument no longer required", "field no longer certain"];
            self.add(&format!("{place}/{name}"), what, looser);
        }
    }

    /// Schemas that are referred to from elsewhere.
    fn definitions(
        &mut self,
        Versions { old, new }: Versions<Option<&Value>>,
        place: &str,
        depth: usize,
    ) {
        let empty = Map::new();
        let (Some(old), Some(new)) = (map(old, &empty), map(new, &empty)) else {
            return self.unrecognized(place);
        };
        // One that came or went matters where it is referred to, which is another change.
        for (name, before) in old {
            let Some(after) = new.get(name) else { continue };
            let here = format!("{place}/{name}");
            let from = self.drift.changes.len();
            self.schema(before, after, &here, depth + 1);
            let matters = self.drift.changes.iter().skip(from);
            if self.negated && matters.into_iter().any(|c| c.class > DriftClass::Documentation) {
                self.unrecognized(&here);
            }
        }
    }

    fn combined(
        &mut self,
        key: &str,
        Versions { old, new }: Versions<Option<&Value>>,
        place: &str,
        depth: usize,
    ) {
        let (a, b) = (old.and_then(Value::as_array), new.and_then(Value::as_array));
        let any = key == "anyOf";
        match (a, b) {
            (None, Some(_)) if old.is_none() => {
                self.changed(Direction::Tighter, ChangedAspect::Type, place)
            }
            (Some(_), None) if new.is_none() => {
                self.changed(Direction::Looser, ChangedAspect::Type, place)
            }
            (Some(a), Some(b)) if a.len() == b.len() => {
                for (n, (old, new)) in a.iter().zip(b).enumerate() {
                    self.schema(old, new, &format!("{place}/{n}"), depth + 1);
                }
            }
            (Some(a), Some(b)) if b.starts_with(a) => {
                let direction = if any { Direction::Looser } else { Direction::Tighter };
                self.changed(direction, ChangedAspect::Type, place);
            }
            (Some(a), Some(b)) if a.starts_with(b) => {
                let direction = if any { Direction::Tighter } else { Direction::Looser };
                self.changed(direction, ChangedAspect::Type, place);
            }
            _ => self.unrecognized(place),
        }
    }

    /// A condition of this kind was tightened or loosened.
    pub(super) fn changed(&mut self, direction: Direction, aspect: ChangedAspect, place: &str) {
        let (tighter, looser) = match self.side {
            SchemaSide::Input => (DriftClass::Breaking, DriftClass::AuthorityWidening),
            SchemaSide::Output => (DriftClass::Compatible, DriftClass::Breaking),
        };
        let [narrowed, widened] = aspect.words();
        match direction {
            Direction::Tighter => self.drift.add(place, narrowed, tighter),
            Direction::Looser => self.drift.add(place, widened, looser),
        }
    }

    /// Something changed, and what that means is unknown: it counts as the worst.
    pub(super) fn unrecognized(&mut self, place: &str) {
        let class = match self.side {
            SchemaSide::Input => DriftClass::AuthorityWidening,
            SchemaSide::Output => DriftClass::Breaking,
        };
        self.drift.add(place, ChangedAspect::Unrecognized.words()[0], class);
    }

    /// A change that is called otherwise in an input than in an output.
    pub(super) fn add(
        &mut self,
        place: &str,
        [input, output]: [&'static str; 2],
        class: DriftClass,
    ) {
        let what = if self.side == SchemaSide::Input { input } else { output };
        self.drift.add(place, what, class);
    }
}

impl ChangedAspect {
    /// What it is called when it was tightened, and when it was loosened.
    fn words(self) -> [&'static str; 2] {
        match self {
            Self::Type => ["type narrowed", "type widened"],
            Self::Enum => ["allowed value removed", "allowed value added"],
            Self::Bound => ["bound added or tightened", "bound removed or widened"],
            Self::Others => ["closed to other arguments", "open to other arguments"],
            Self::Format => ["form of a text restricted", "form of a text no longer restricted"],
            Self::Unrecognized => ["schema changed in a way that cannot be compared"; 2],
        }
    }
}

fn map<'v>(
    value: Option<&'v Value>,
    empty: &'v Map<String, Value>,
) -> Option<&'v Map<String, Value>> {
    value.map_or(Some(empty), Value::as_object)
}

fn names(value: Option<&Value>) -> Option<std::collections::BTreeSet<&str>> {
    let Some(value) = value else { return Some(std::collections::BTreeSet::new()) };
    value.as_array()?.iter().map(Value::as_str).collect()
}

fn has(schema: &Map<String, Value>, name: &str) -> bool {
    schema.get("properties").and_then(|all| all.get(name)).is_some()
}

fn requires(schema: &Map<String, Value>, name: &str) -> bool {
    names(schema.get("required")).is_some_and(|names| names.contains(name))
}
