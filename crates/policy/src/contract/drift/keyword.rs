//! Compares JSON Schema keywords without subschemas: types, values, bounds, formats.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::Value;

use super::DriftClass;
use super::schema::{ChangedAspect, OldAndNew, SchemaComparison};

/// The direction of a change to a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Tighter,
    Looser,
}

/// The values that `enum` accepts.
enum AcceptedValues {
    /// There is no `enum`.
    All,
    Listed(BTreeSet<String>),
}

/// 2^53: below it, every integer has its own double.
const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;
const JSON_TYPES: [&str; 6] = ["array", "boolean", "null", "number", "object", "string"];

/// Compares a keyword whose value differs between the two versions.
pub(super) fn compare(
    out: &mut SchemaComparison<'_>,
    key: &str,
    OldAndNew { old, new }: OldAndNew<Option<&Value>>,
    path: &str,
) {
    match key {
        "description" | "title" | "examples" | "$comment" | "deprecated" => {
            let what = ["text of the input schema changed", "text of the output schema changed"];
            out.report(path, what, DriftClass::Documentation);
        }
        "default" => out.report(path, ["default changed"; 2], DriftClass::Breaking),
        "type" => match (accepted_types(old), accepted_types(new)) {
            (Some(old), Some(new)) => {
                compare_sets(out, ChangedAspect::Type, OldAndNew { old: &old, new: &new }, path)
            }
            _ => out.report_unrecognized(path),
        },
        "enum" => match (accepted_values(old), accepted_values(new)) {
            (Some(old), Some(new)) => compare_enums(out, OldAndNew { old, new }, path),
            _ => out.report_unrecognized(path),
        },
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
            compare_bound(out, OldAndNew { old, new }, Ordering::Greater, path);
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
            compare_bound(out, OldAndNew { old, new }, Ordering::Less, path);
        }
        "const" | "multipleOf" | "pattern" | "format" => match (old, new) {
            (None, Some(_)) => out.report_change(Direction::Tighter, ChangedAspect::Format, path),
            (Some(_), None) => out.report_change(Direction::Looser, ChangedAspect::Format, path),
            _ => out.report_unrecognized(path),
        },
        "uniqueItems" => match (flag_or_false(old), flag_or_false(new)) {
            (Some(false), Some(true)) => {
                out.report_change(Direction::Tighter, ChangedAspect::Bound, path)
            }
            (Some(true), Some(false)) => {
                out.report_change(Direction::Looser, ChangedAspect::Bound, path)
            }
            (Some(_), Some(_)) => {}
            _ => out.report_unrecognized(path),
        },
        _ => out.report_unrecognized(path),
    }
}

/// Compares a bound. `tighter` is the ordering of the new value against the old one that allows
/// less.
fn compare_bound(
    out: &mut SchemaComparison<'_>,
    OldAndNew { old, new }: OldAndNew<Option<&Value>>,
    tighter: Ordering,
    path: &str,
) {
    let direction = match (old, new) {
        (None, Some(_)) => Direction::Tighter,
        (Some(_), None) => Direction::Looser,
        (Some(old), Some(new)) => {
            let numbers = (old.as_f64(), new.as_f64());
            match numbers.0.zip(numbers.1).and_then(|(old, new)| new.partial_cmp(&old)) {
                Some(order) if order == tighter => Direction::Tighter,
                Some(order) if order == tighter.reverse() => Direction::Looser,
                Some(_) if numbers.0.is_some_and(|number| number.abs() < MAX_EXACT_INTEGER) => {
                    return;
                }
                // Not a number, or a difference that doubles cannot represent.
                _ => return out.report_unrecognized(path),
            }
        }
        (None, None) => return,
    };
    out.report_change(direction, ChangedAspect::Bound, path);
}

/// The accepted types. Every integer is a number, so `number` includes `integer`.
fn accepted_types(value: Option<&Value>) -> Option<BTreeSet<String>> {
    let named: Vec<&str> = match value {
        None => JSON_TYPES.to_vec(),
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

/// The accepted values. `None` if `enum` is not a list.
fn accepted_values(value: Option<&Value>) -> Option<AcceptedValues> {
    match value {
        None => Some(AcceptedValues::All),
        Some(Value::Array(all)) => {
            Some(AcceptedValues::Listed(all.iter().map(Value::to_string).collect()))
        }
        Some(_) => None,
    }
}

fn compare_enums(
    out: &mut SchemaComparison<'_>,
    OldAndNew { old, new }: OldAndNew<AcceptedValues>,
    path: &str,
) {
    use AcceptedValues::{All, Listed};
    match (old, new) {
        (All, Listed(_)) => out.report_change(Direction::Tighter, ChangedAspect::Enum, path),
        (Listed(_), All) => out.report_change(Direction::Looser, ChangedAspect::Enum, path),
        (Listed(old), Listed(new)) => {
            compare_sets(out, ChangedAspect::Enum, OldAndNew { old: &old, new: &new }, path)
        }
        (All, All) => {}
    }
}

fn compare_sets(
    out: &mut SchemaComparison<'_>,
    aspect: ChangedAspect,
    OldAndNew { old, new }: OldAndNew<&BTreeSet<String>>,
    path: &str,
) {
    if !old.is_subset(new) {
        out.report_change(Direction::Tighter, aspect, path);
    }
    if !new.is_subset(old) {
        out.report_change(Direction::Looser, aspect, path);
    }
}

fn flag_or_false(value: Option<&Value>) -> Option<bool> {
    value.map_or(Some(false), Value::as_bool)
}
