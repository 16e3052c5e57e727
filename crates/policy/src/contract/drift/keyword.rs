//! Keywords of JSON Schema that stand alone: types, values, bounds, formats.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::Value;

use super::DriftClass;
use super::schema::{ChangedAspect, SchemaComparison, Versions};

/// Whether a condition was tightened or loosened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Tighter,
    Looser,
}

/// Below it every integer is a double of its own.
const EXACT: f64 = 9_007_199_254_740_992.0;
const TYPES: [&str; 6] = ["array", "boolean", "null", "number", "object", "string"];

/// A keyword whose value is not the same before and after.
pub(super) fn compare(
    out: &mut SchemaComparison<'_>,
    key: &str,
    Versions { old, new }: Versions<Option<&Value>>,
    place: &str,
) {
    match key {
        "description" | "title" | "examples" | "$comment" | "deprecated" => {
            let what = ["text of the input schema changed", "text of the output schema changed"];
            out.add(place, what, DriftClass::Documentation);
        }
        "default" => out.add(place, ["default changed"; 2], DriftClass::Breaking),
        "type" => match (types(old), types(new)) {
            (Some(old), Some(new)) => {
                sets(out, ChangedAspect::Type, Versions { old: &old, new: &new }, place)
            }
            _ => out.unrecognized(place),
        },
        "enum" => match (values(old), values(new)) {
            (Ok(old), Ok(new)) => optional_sets(out, Versions { old, new }, place),
            _ => out.unrecognized(place),
        },
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
            bound(out, Versions { old, new }, Ordering::Greater, place);
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
            bound(out, Versions { old, new }, Ordering::Less, place);
        }
        "const" | "multipleOf" | "pattern" | "format" => match (old, new) {
            (None, Some(_)) => out.changed(Direction::Tighter, ChangedAspect::Format, place),
            (Some(_), None) => out.changed(Direction::Looser, ChangedAspect::Format, place),
            _ => out.unrecognized(place),
        },
        "uniqueItems" => match (flag(old), flag(new)) {
            (Some(false), Some(true)) => {
                out.changed(Direction::Tighter, ChangedAspect::Bound, place)
            }
            (Some(true), Some(false)) => {
                out.changed(Direction::Looser, ChangedAspect::Bound, place)
            }
            (Some(_), Some(_)) => {}
            _ => out.unrecognized(place),
        },
        _ => out.unrecognized(place),
    }
}

/// A limit; `tighter` is how its new value compares with the old one where it allows less.
fn bound(
    out: &mut SchemaComparison<'_>,
    Versions { old, new }: Versions<Option<&Value>>,
    tighter: Ordering,
    place: &str,
) {
    let direction = match (old, new) {
        (None, Some(_)) => Direction::Tighter,
        (Some(_), None) => Direction::Looser,
        (Some(old), Some(new)) => {
            let numbers = (old.as_f64(), new.as_f64());
            match numbers.0.zip(numbers.1).and_then(|(old, new)| new.partial_cmp(&old)) {
                Some(order) if order == tighter => Direction::Tighter,
                Some(order) if order == tighter.reverse() => Direction::Looser,
                Some(_) if numbers.0.is_some_and(|number| number.abs() < EXACT) => return,
                // What is no number, or differs beyond what can be compared.
                _ => return out.unrecognized(place),
            }
        }
        (None, None) => return,
    };
    out.changed(direction, ChangedAspect::Bound, place);
}

/// The types that are accepted. An integer is a number, so `number` holds both.
fn types(value: Option<&Value>) -> Option<BTreeSet<String>> {
    let named: Vec<&str> = match value {
        None => TYPES.to_vec(),
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(all)) => all.iter().map(Value::as_str).collect::<Option<_>>()?,
        Some(_) => return None,
    };
    let mut out: BTreeSet<String> = named.into_iter().map(str::to_owned).collect();
    if out.contains("number") {
        out.insert("integer".to_owned());
    }
    Some(out)
}

/// The values that are accepted; `None` for all.
fn values(value: Option<&Value>) -> Result<Option<BTreeSet<String>>, ()> {
    match value {
        None => Ok(None),
        Some(Value::Array(all)) => Ok(Some(all.iter().map(Value::to_string).collect())),
        Some(_) => Err(()),
    }
}

fn optional_sets(
    out: &mut SchemaComparison<'_>,
    Versions { old, new }: Versions<Option<BTreeSet<String>>>,
    place: &str,
) {
    match (old, new) {
        (None, Some(_)) => out.changed(Direction::Tighter, ChangedAspect::Enum, place),
        (Some(_), None) => out.changed(Direction::Looser, ChangedAspect::Enum, place),
        (Some(old), Some(new)) => {
            sets(out, ChangedAspect::Enum, Versions { old: &old, new: &new }, place)
        }
        (None, None) => {}
    }
}

fn sets(
    out: &mut SchemaComparison<'_>,
    aspect: ChangedAspect,
    Versions { old, new }: Versions<&BTreeSet<String>>,
    place: &str,
) {
    if !old.is_subset(new) {
        out.changed(Direction::Tighter, aspect, place);
    }
    if !new.is_subset(old) {
        out.changed(Direction::Looser, aspect, place);
    }
}

fn flag(value: Option<&Value>) -> Option<bool> {
    value.map_or(Some(false), Value::as_bool)
}
